"""Metrics that a CSV file declares, with labels and help: those of the exporter itself, and those of the host.

A file may also say what a metric is read from. A group is one kind of text (`meminfo`, `numastat`…); the key is the
line or file in it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ase_exporter.assets import shipped_rows
from ase_exporter.metrics.families import Family, Kind, Sample

# Label values, in the order of the labels -> key of a group -> value; None if the kernel does not tell.
Rows = Mapping[tuple[str, ...], Mapping[str, float | None]]


class DeclaredMetric(NamedTuple):
    """One line of a file."""

    labels: tuple[str, ...]
    help: str
    group: str
    key: str


class DeclaredMetrics:
    """The metrics of one file, which is read when the first of them is asked for."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._keys: dict[str, dict[str, str]] = {}

    @cached_property
    def by_name(self) -> dict[str, DeclaredMetric]:
        """All of them, in the order of the file."""
        return {
            row["metric"]: DeclaredMetric(
                tuple(row["labels"].split()), row["help"], row.get("group", ""), row.get("key", "")
            )
            for row in shipped_rows(self._file)
        }

    def keys(self, group: str) -> dict[str, str]:
        """The keys that are read of a group, with their metrics."""
        if group not in self._keys:
            of_group = {metric.key: name for name, metric in self.by_name.items() if metric.group == group}
            self._keys[group] = of_group
        return self._keys[group]

    def family(self, name: str, samples: Iterable[Sample] = ()) -> Family:
        """A metric with these samples."""
        metric = self.by_name[name]
        kind: Kind = "counter" if name.endswith("_total") else "gauge"
        return Family(name, kind, metric.help, metric.labels, list(samples))

    def value(self, name: str, value: float) -> Family:
        """A metric without labels."""
        return self.family(name, [((), float(value))])

    def of_group(self, group: str, rows: Rows) -> Iterator[Family]:
        """The metrics of a group that have a value in some row."""
        for key, name in self.keys(group).items():
            values = ((labels, row.get(key)) for labels, row in rows.items())
            found = self.family(name, [(labels, value) for labels, value in values if value is not None])
            if found.samples:
                yield found


OWN = DeclaredMetrics(Path(__file__).with_name("own_metrics.csv"))
"""The exporter's own metrics, about itself and about its reading of a target."""
