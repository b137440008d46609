"""The metrics of the host, as metrics.csv declares them: labels, help, and the kernel text that they are read from.

A group is one kind of text (`meminfo`, `numastat`…); the key is the line or file in it.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ase_exporter.metrics.families import Family, Sample

_FILE = Path(__file__).with_name("metrics.csv")

# Label values, in the order of the labels -> key of a group -> value; None if the kernel does not tell.
Rows = Mapping[tuple[str, ...], Mapping[str, float | None]]


class _Metric(NamedTuple):
    labels: tuple[str, ...]
    group: str
    key: str
    help: str


@cache
def _metrics() -> dict[str, _Metric]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            row["metric"]: _Metric(tuple(row["labels"].split()), row["group"], row["key"], row["help"])
            for row in csv.DictReader(file)
        }


def declared_names() -> set[str]:
    """The metrics of metrics.csv."""
    return set(_metrics())


@cache
def keys(group: str) -> dict[str, str]:
    """The keys that are read of a group, with their metrics."""
    return {metric.key: name for name, metric in _metrics().items() if metric.group == group}


def family(name: str, samples: Iterable[Sample] = ()) -> Family:
    """A declared metric with these samples."""
    metric = _metrics()[name]
    return Family(
        name, "counter" if name.endswith("_total") else "gauge", metric.help, metric.labels, list(samples)
    )


def declared_value(name: str, value: float) -> Family:
    """A declared metric without labels."""
    return family(name, [((), value)])


def of_group(group: str, rows: Rows) -> Iterator[Family]:
    """The metrics of a group that have a value in some row."""
    for key, name in keys(group).items():
        values = ((labels, row.get(key)) for labels, row in rows.items())
        found = family(name, [(labels, value) for labels, value in values if value is not None])
        if found.samples:
            yield found
