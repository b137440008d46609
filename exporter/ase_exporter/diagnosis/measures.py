"""Measures: numbers of one server with their provenance, or why they are not known."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import Protocol, Self

from ase_exporter.diagnosis.catalogue import MeasureDefinition, Selection, Unit, catalogue, threshold
from ase_exporter.rules.parameters import parameters
from ase_exporter.views.figures import shown

Labels = Mapping[str, str]
Rows = Iterable[tuple[Labels, float]]
NO_BASELINE = "no history"
NO_DATA = "no data"
# What a number is open by and is not said.
_SMALL_SPREAD = 0.01


@dataclass(frozen=True, slots=True)
class SeriesRows:
    """Rows as columns: names of labels, their values in each series, and its number. There are thousands a scrape."""

    names: tuple[str, ...]
    series: Sequence[tuple[str, ...]]
    numbers: Sequence[float]

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """The same rows; a series without a label has '' for it."""
        found = list(rows)
        names = tuple(dict.fromkeys(name for labels, _ in found for name in labels))
        series = [tuple([labels.get(name, "") for name in names]) for labels, _ in found]
        return cls(names, series, [number for _, number in found])

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[tuple[dict[str, str], float]]:
        for values, number in zip(self.series, self.numbers, strict=True):
            yield dict(zip(self.names, values, strict=True)), number

    def sums(self, where: Sequence[tuple[str, str]], by: Sequence[str]) -> dict[tuple[str, ...], float]:
        """The sums of the series that fit all limits (label, text), by the values of these labels."""
        rows = self.fitting(where)
        if not by:
            return {(): sum([self.numbers[row] for row in rows])} if rows else {}
        keys = list(zip(*map(self._column, by), strict=True))
        found: dict[tuple[str, ...], float] = {}
        for row in rows:
            key = keys[row]
            found[key] = found.get(key, 0.0) + self.numbers[row]
        return found

    def fitting(self, where: Sequence[tuple[str, str]]) -> Sequence[int]:
        """The indexes of the series that fit all limits."""
        rows: Sequence[int] = range(len(self))
        for label, text in where:
            column = self._column(label)
            fitting = {value for value in set(column) if _fits(text, value)}
            rows = [row for row in rows if column[row] in fitting]
        return rows

    def _column(self, label: str) -> list[str]:
        if label not in self.names:
            return [""] * len(self)
        at = self.names.index(label)
        return [values[at] for values in self.series]


class Readings(Protocol):
    """What was read of a server over a window."""

    @property
    def source(self) -> str:
        """Where the readings come from, and over which window, for people."""

    @property
    def at(self) -> float:
        """The end of the window, Unix time; 0 where it is not known."""

    @property
    def in_steps(self) -> bool:
        """Whether counters grow in the steps of ASE's columns, such as whole seconds of CPU."""

    def values(self, metric: str, *, lasting: bool = False) -> Rows:
        """The value of each series of a gauge. lasting: what has held for the whole window, not for a moment."""

    def rates(self, metric: str) -> Rows:
        """The growth per second of each series of a counter."""

    def window(self, metric: str) -> float:
        """Over how long the rates of a counter are; 0 if it has none."""

    def unknown(self, metric: str, *, is_rate: bool) -> str:
        """Why a metric is not known, for example an option that is off; '' if its collector was read."""


@dataclass(frozen=True, slots=True)
class FixedReadings:
    """What is known from the beginning. lacks: why nothing else is. gauges, counters: rows by metric.

    seconds: over which the rates of counters are.
    """

    source: str
    lacks: str
    gauges: Mapping[str, Rows] = field(default_factory=dict)
    counters: Mapping[str, Rows] = field(default_factory=dict)
    seconds: float = 0.0
    at: float = 0.0
    in_steps: bool = False

    def values(self, metric: str, *, lasting: bool = False) -> Rows:
        return self.gauges.get(metric, [])

    def rates(self, metric: str) -> Rows:
        return self.counters.get(metric, [])

    def window(self, metric: str) -> float:
        return self.seconds

    def unknown(self, metric: str, *, is_rate: bool) -> str:
        return "" if metric in (self.counters if is_rate else self.gauges) else self.lacks


NO_READINGS = FixedReadings("nothing was read", NO_DATA)


@dataclass(frozen=True, slots=True)
class Measure:
    """One number. value: None if it is not known, for the reason `unknown`. subject: of the row that counted.

    metrics: what it was calculated from. spread: by how much the step of the counters leaves the value open, to either
    side.
    """

    name: str
    title: str
    unit: Unit
    value: float | None
    unknown: str = ""
    subject: str = ""
    metrics: tuple[str, ...] = ()
    spread: float = 0.0

    @property
    def text(self) -> str:
        if self.value is None:
            return "?"
        spread = f" ± {shown(self.spread, self.unit)}" if self.spread >= _SMALL_SPREAD else ""
        return shown(self.value, self.unit) + spread


Measures = Mapping[str, Measure]


def read_measures(readings: Readings, baseline: Mapping[str, float] | None = None) -> dict[str, Measure]:
    """All measures of findings.yaml.

    baseline: the usual value of measures, None or without a name where it is not known.
    """
    found: dict[str, Measure] = {}
    evaluation = Evaluation(readings)
    for name, definition in catalogue().measures.items():
        if definition.compared:
            found[name] = _compared(name, definition, found[definition.compared], baseline or {})
        else:
            found[name] = evaluation.measure(name, definition)
        # Tables are read one after the other, and some factors are assumed: a part may seem larger than its whole.
        whole = found[definition.at_most].value if definition.at_most else None
        if whole is not None and (found[name].value or 0.0) > whole:
            found[name] = replace(found[name], value=whole)
    return found


def wait_seconds(readings: Readings) -> tuple[dict[str, float], str]:
    """Seconds waited per second by part of the account; why they are not known, or ''."""
    metric = "ase_wait_seconds_total"
    if unknown := readings.unknown(metric, is_rate=True):
        return {}, unknown
    if not (rows := list(readings.rates(metric))):
        return {}, NO_DATA
    known = catalogue()
    found = {name: 0.0 for name, part in known.account.items() if part.events or part.classes}
    for labels, rate in rows:
        part = known.part_of(labels.get("event_id", ""), labels.get("class", ""))
        if part is not None:
            found[part] += rate
    return found, ""


def _compared(
    name: str, definition: MeasureDefinition, now: Measure, baseline: Mapping[str, float]
) -> Measure:
    usual = baseline.get(now.name)
    value = None if now.value is None else definition.unusual
    if now.value is not None and usual is not None:
        if definition.risen:
            value = max(0.0, now.value - usual)
        elif definition.fallen:
            least = threshold(definition.at_least or "0")
            value = max(0.0, 1 - now.value / usual) if usual > least else 0.0
        else:
            value = above(now.value, usual)
    unknown = now.unknown or (NO_BASELINE if value is None else "")
    return Measure(name, definition.title, definition.unit, value, unknown, metrics=now.metrics)


def above(value: float, other: float) -> float | None:
    """The share of a value that is above another one, 0-1; None where the other is nothing.

    Nothing is no usual: the server was idle, or did less than its counters resolve.
    """
    if not value:
        return 0.0
    return max(0.0, 1 - other / value) if other > 0 else None


class Evaluation:
    """Calculates measures of one server, of which many look at the same series: each is read once."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings
        self._rows: dict[tuple[object, ...], SeriesRows] = {}
        self._sums: dict[tuple[object, ...], dict[tuple[str, ...], float]] = {}

    def measure(self, name: str, definition: MeasureDefinition) -> Measure:
        """One that is not compared with what is usual."""
        found = partial(Measure, name, definition.title, definition.unit, metrics=_metrics(name))
        for selection in definition.needed:
            unknown = self._unknown(selection, rare=definition.rare)
            if unknown and (not selection.instead or self._unknown(selection.instead, rare=definition.rare)):
                return found(None, unknown)
        rows = self.rows_of(definition)
        if not rows:
            return found(definition.empty)
        if definition.events:
            seconds = self._readings.window(definition.rate or "")
            factor = seconds / threshold(definition.times or "1")
            rows = {key: value for key, value in rows.items() if round(factor * value) >= definition.events}
            if not rows:
                return found(0.0)
        if definition.ago:
            return found(max(0.0, self._readings.at - max(rows.values())))
        if definition.keep == "sum":
            return found(math.fsum(rows.values()), spread=self._spread(definition))
        key, value = (max if definition.keep == "max" else min)(rows.items(), key=lambda row: row[1])
        return found(value, subject=" ".join(key))

    def _unknown(self, selection: Selection, *, rare: bool) -> str:
        """Why a selection is not known; '' if it is."""
        unknown = self._readings.unknown(selection.metric, is_rate=selection.rate is not None)
        return unknown or ("" if rare or self._all_rows(selection) else NO_DATA)

    def _spread(self, definition: MeasureDefinition) -> float:
        """Two standard deviations of a share whose counters grow in steps: each is off by up to one at either end."""
        if not definition.step or definition.per is None or not self._readings.in_steps:
            return 0.0
        stepped = definition if definition.metric == definition.per.metric else definition.per
        rows = len(self._all_rows(stepped).fitting(tuple((stepped.where or {}).items())))
        whole = math.fsum(self._grouped(definition.per, ()).values()) * self._readings.window(stepped.metric)
        return 2 * definition.step * math.sqrt(rows / 6) / whole if whole else 0.0

    def rows_of(self, definition: MeasureDefinition) -> dict[tuple[str, ...], float]:
        """The rows that count, by the values of their labels."""
        # Only sums are taken over all series: the largest of a gauge is the largest series.
        separate = definition.keep != "sum" and not definition.by
        rows = self._grouped(definition, definition.by, separate=separate)
        for other in filter(None, (definition.per, definition.beside)):
            others = self._grouped(other, definition.by)
            floor = threshold(other.at_least) if other.at_least is not None else None
            kept = {key: value for key, value in others.items() if floor is None or value >= floor}
            divided = other is definition.per
            rows = {
                key: value / kept[key] if divided else value
                for key, value in rows.items()
                if key in kept and (kept[key] > 0 or not divided)
            }
        times = threshold(definition.times) if definition.times is not None else 1.0
        # Numerator and denominator are read one after the other: a share may seem larger than its whole.
        most = 1.0 if definition.unit == "ratio" else math.inf
        rows = {key: min(most, value * times) for key, value in rows.items()}
        return {key: 1 - value for key, value in rows.items()} if definition.one_minus else rows

    def _grouped(
        self, selection: Selection, by: Sequence[str], *, separate: bool = False
    ) -> Mapping[tuple[str, ...], float]:
        """The sums of a selection by the values of these labels; separate: of each series alone."""
        rows = self._all_rows(selection)
        if selection.instead and not rows:
            return self._grouped(selection.instead, by)
        where = tuple((selection.where or {}).items())
        asked = (selection.metric, selection.lasting, selection.of_account, where, tuple(by), separate)
        if asked not in self._sums:
            self._sums[asked] = (
                {(str(row),): rows.numbers[row] for row in rows.fitting(where)}
                if separate
                else rows.sums(where, by)
            )
        return self._sums[asked]

    def _all_rows(self, selection: Selection) -> SeriesRows:
        asked = (selection.metric, selection.lasting, selection.of_account)
        if asked not in self._rows:
            readings = self._readings
            rows = (
                readings.rates(selection.rate)
                if selection.rate
                else readings.values(selection.metric, lasting=selection.lasting)
            )
            if selection.of_account:
                part_of = catalogue().part_of
                rows = [row for row in rows if part_of(row[0].get("event_id", ""), row[0].get("class", ""))]
            self._rows[asked] = rows if isinstance(rows, SeriesRows) else SeriesRows.of(rows)
        return self._rows[asked]


@cache
def _metrics(name: str) -> tuple[str, ...]:
    """What a measure of the catalogue may be calculated from."""
    return tuple(each.metric for each in catalogue().measures[name].selections)


@lru_cache(maxsize=4096)
def _fits(text: str, value: str) -> bool:
    """Whether a label's value fits a limit of `where`."""
    return bool(re.fullmatch(pattern(text), value)) != text.startswith("!")


@cache
def pattern(text: str) -> str:
    """The regular expression of a limit of `where`, with the parameters that it names."""
    return re.sub(r"<<(.+?)>>", lambda match: parameters()[match[1]], text.removeprefix("!"))
