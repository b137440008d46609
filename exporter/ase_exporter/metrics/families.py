"""Metric families as data: what every collector yields and `exposition` renders."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

Kind = Literal["counter", "gauge", "unknown"]
Sample = tuple[Sequence[str], float]


@dataclass(slots=True)
class Family:
    """One metric with all its samples. Raises ValueError if name, kind and labels do not fit together.

    name: as users query it, so counters end in `_total`; base units (seconds, bytes, ratios 0-1).
    help: one sentence that names the source (MDA column, file, report row).
    labels: label names, sorted, as exposed.
    samples: (label values in the order of `labels`, value); a list, or `LastingSamples`.
    read_at: monotonic time at which its table was read, if known: those of one scrape are read one after the other.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    samples: "list[Sample] | LastingSamples" = field(default_factory=list)
    read_at: float | None = None

    def __post_init__(self) -> None:
        _check(self.name, self.kind, self.labels)

    def add(self, value: float, *label_values: str) -> None:
        """Append one sample to a list; label values come in the order of `labels`."""
        assert isinstance(self.samples, list)
        self.samples.append((label_values, value))


@lru_cache(maxsize=2048)
def _check(name: str, kind: str, labels: tuple[str, ...]) -> None:
    if list(labels) != sorted(labels):
        raise ValueError(f"{name}: labels must be sorted, not {labels}")
    if (kind == "counter") != name.endswith("_total"):
        raise ValueError(f"{name}: counters, and only counters, have a name that ends in _total")


@dataclass(slots=True, eq=False)
class SeriesLabels:
    """The label values of many series, which stay the same from scrape to scrape.

    templates: a cache for `exposition`: the text of all samples, by metric name, label names and format of the numbers.
    """

    values: Sequence[Sequence[str]]
    templates: dict[tuple[str, tuple[str, ...], str], str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class LastingSamples:
    """Samples of series that last: their label values, and one value for each."""

    series: SeriesLabels
    values: Sequence[float]

    def __len__(self) -> int:
        return len(self.series.values)

    def __iter__(self) -> Iterator[Sample]:
        return zip(self.series.values, self.values, strict=True)
