"""Turns rows into series: which series the rows of a table belong to, and how their values become samples."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain
from operator import add
from typing import Any, Literal, TypeVar

from ase_exporter.catalogue.labels import LabelValues, RowLabels
from ase_exporter.metrics.columns import negative
from ase_exporter.metrics.counters import Key, Raw, TableCounters, Width
from ase_exporter.metrics.families import LastingSamples, Sample, SeriesLabels

T = TypeVar("T")

# ASE reports "never" as a date before this.
_FIRST_DATE = datetime(1971, 1, 1)

_FOLDS: dict[str, Callable[[Any, Any], Any]] = {"sum": add, "max": max, "min": min}

# The index at which a label is inserted among the label values of a row, and its value.
ByLabel = tuple[int, str]


class RowSeries:
    """The series of a table's rows for a group of metrics, as long as the table has the same rows.

    label_values: per row. row_keys: the key of each row; keys: each key once, and first_rows: the index of its
    first row, None if all keys differ. series: distinct label values.
    """

    def __init__(self, label_values: list[LabelValues], keys: list[Key]) -> None:
        self.label_values = label_values
        self.row_keys = keys
        self.keys, self.first_rows = _unique(keys)
        self.series = list(dict.fromkeys(label_values))
        self._rest: list[LabelValues] | None = None
        self.texts = SeriesTexts(self.series)
        self._numbers: tuple[TableCounters, int, list[int], list[int]] | None = None

    def series_numbers(self, totals: TableCounters) -> tuple[list[int], list[int]]:
        """The series number of each key, and those of `series`."""
        cached = self._numbers
        if cached is None or cached[:2] != (totals, totals.renumbered):
            of_keys = [totals.series(labels) for labels in self.per_key(self.label_values)]
            of_series = [totals.series(labels) for labels in self.series]
            if of_series == of_keys:
                of_series = of_keys
            cached = self._numbers = (totals, totals.renumbered, of_keys, of_series)
        return cached[2:]

    def per_key(self, cells: Sequence[T]) -> Sequence[T]:
        """The cell of each key's first row. cells: one per row."""
        return cells if self.first_rows is None else [cells[row] for row in self.first_rows]

    @cached_property
    def positions(self) -> dict[Key, int]:
        """The index of each key among `keys`."""
        return {key: position for position, key in enumerate(self.keys)}

    def rest(self, rest_of: Callable[[LabelValues], LabelValues]) -> list[LabelValues]:
        """Per row, the label values of the series for rows without one of their own. Made by `rest_of` once."""
        if self._rest is None:
            self._rest = list(map(rest_of, self.label_values))
        return self._rest

    def with_own(self, keys: Collection[Key], rest: list[LabelValues]) -> list[LabelValues]:
        """Label values per row: its own for these keys, those of the rest for all others."""
        if self.first_rows is not None:
            rows = zip(self.row_keys, self.label_values, rest, strict=True)
            return [own if key in keys else other for key, own, other in rows]
        labelled = rest.copy()
        for position in map(self.positions.get, keys):
            if position is not None:
                labelled[position] = self.label_values[position]
        return labelled

    def summed_by_key(self, columns: Sequence[Sequence[Raw | None]]) -> list[list[Raw | None]]:
        """The columns with one row per key: rows that nothing tells apart are summed."""
        positions = self.positions
        summed: list[list[Raw | None]] = []
        for column in columns:
            sums: list[Raw | None] = [None] * len(positions)
            for key, cell in zip(self.row_keys, column, strict=True):
                if cell is not None:
                    sums[positions[key]] = (sums[positions[key]] or 0) + cell
            summed.append(sums)
        return summed


@dataclass(slots=True, eq=False)
class SeriesTexts:
    """Series in order, with the text of their labels, which is kept as long as they are the same."""

    series: list[LabelValues]
    _labels: dict[tuple[ByLabel | None, ...], SeriesLabels] = field(default_factory=dict)

    def labels(self, bys: tuple[ByLabel | None, ...]) -> SeriesLabels:
        """The label values of all series, for each column of a metric with its `by` label if it has one."""
        if bys not in self._labels:
            self._labels[bys] = SeriesLabels(
                [labels if by is None else _insert(by, labels) for by in bys for labels in self.series]
            )
        return self._labels[bys]


@dataclass(frozen=True, slots=True)
class ValueSource:
    """One column of one metric.

    column: its index, None for 1 per row. factor: to the base unit. fold: how gauges of rows with the same
    labels are combined. by: the metric's `by` label for this column. no_negatives: negative gauges mean "unknown",
    as monitoring tables have no other (-1, or an int that has overflowed).
    """

    metric: str
    column: int | None
    factor: float
    fold: Literal["sum", "max", "min"]
    timestamp: bool
    by: ByLabel | None
    no_negatives: bool = False

    def folded(
        self,
        column: Sequence[Any],
        label_values: Sequence[LabelValues],
        utc_seconds: Callable[[datetime], float],
    ) -> list[tuple[LabelValues, float]]:
        """A gauge's value per series in base units, without NULL. Dates become seconds since the epoch."""
        cells = [
            (labels, cell) for labels, cell in zip(label_values, column, strict=True) if cell is not None
        ]
        if self.no_negatives and not self.timestamp:
            cells = [(labels, cell) for labels, cell in cells if cell >= 0]
        if self.timestamp:
            cells = [(labels, utc_seconds(date)) for labels, date in cells if date > _FIRST_DATE]
        fold = _FOLDS[self.fold]
        folded: dict[LabelValues, Raw] = {}
        for labels, cell in cells:
            folded[labels] = fold(folded[labels], cell) if labels in folded else cell
        return list(zip(folded, self.scaled(list(folded.values())), strict=True))

    def is_known(self, column: Sequence[Any]) -> bool:
        """Whether every row of a column without NULL has a value that can be exposed as it is."""
        return not (self.timestamp or (self.no_negatives and negative(column)))

    def scaled(self, values: Sequence[Raw]) -> Sequence[Raw]:
        """Values in base units."""
        factor = self.factor
        return values if factor == 1 else [float(value) * factor for value in values]


# One column of a metric in one reading, in base units: its `by` label; values, and whether they are one for each series
# or else samples of some series.
ColumnValues = tuple[ByLabel | None, Sequence[Any], bool]


def samples_of(columns: Sequence[ColumnValues], texts: SeriesTexts) -> list[Sample] | LastingSamples:
    """The samples of a metric. texts: of its series."""
    bys, values_of_columns, are_whole = zip(*columns, strict=True)
    if False not in are_whole:
        values = values_of_columns[0]
        return LastingSamples(texts.labels(bys), values if len(bys) == 1 else [*chain(*values_of_columns)])
    samples: list[Sample] = []
    for by, values, whole in columns:
        if whole:
            samples += LastingSamples(texts.labels((by,)), values)
        else:
            samples += [(labels if by is None else _insert(by, labels), value) for labels, value in values]
    return samples


@dataclass(slots=True)
class MetricGroup:
    """The metrics of a collector that have the same labels.

    ranked: only top rows have series of their own. last_texts: of the last reading's series, if ranked or of events.
    """

    labels: RowLabels
    ranked: bool
    rows: RowSeries | None = None
    last_texts: SeriesTexts = field(default_factory=lambda: SeriesTexts([]))
    counters: list[ValueSource] = field(default_factory=list)
    gauges: list[ValueSource] = field(default_factory=list)
    widths: list[Width] = field(default_factory=list)

    def texts_of(self, series: list[LabelValues]) -> SeriesTexts:
        """What is kept of these series: the same as in the last reading, if it had the same ones."""
        if self.last_texts.series != series:
            self.last_texts = SeriesTexts(series)
        return self.last_texts


def _insert(by: ByLabel, labels: LabelValues) -> LabelValues:
    index, value = by
    return (*labels[:index], value, *labels[index:])


def _unique(keys: list[Key]) -> tuple[list[Key], list[int] | None]:
    """Each key once, and the index of its first row; None if all keys differ."""
    firsts: dict[Key, int] = {}
    for index, key in enumerate(keys):
        firsts.setdefault(key, index)
    if len(firsts) == len(keys):
        return keys, None
    return list(firsts), list(firsts.values())
