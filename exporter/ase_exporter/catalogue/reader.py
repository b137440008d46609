"""From rows to families: one collector, compiled for the columns that one server has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any, Literal

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.labels import INSTANCE_LABEL, Labels, Picker, Row, Texts, picker
from ase_exporter.catalogue.model import UNITS, Collector, Label, Metric
from ase_exporter.catalogue.ranking import choose, shares
from ase_exporter.counters import CounterStore, Key, Ledger, Raw, Width
from ase_exporter.errors import UnreadableError
from ase_exporter.families import Family

_NUMBERS: frozenset[type] = frozenset((int, float, bool, Decimal, NoneType))
_DATES: frozenset[type] = frozenset((datetime, NoneType))
_EPOCH = datetime(1970, 1, 1)
# Dates before this stand for "never".
_FIRST_DATE = datetime(1971, 1, 1)
_WIDTHS: dict[str, Width] = {
    "int": "int",
    "intn": "int",
    "smallint": "int",
    "tinyint": "int",
    "unsigned int": "unsigned int",
    "uint": "unsigned int",
    "uintn": "unsigned int",
}


@dataclass(frozen=True, slots=True)
class _Value:
    """One column of one metric.

    column: its place, None for 1 per row. by: place and value of the metric's `by` label.
    """

    metric: str
    column: int | None
    factor: float
    fold: Literal["sum", "max", "min"]
    timestamp: bool
    by: tuple[int, str] | None


@dataclass(slots=True)
class _Group:
    """Metrics of a collector with the same labels. ranked: only its top rows have series of their own."""

    labels: Labels
    ranked: bool
    counters: list[_Value] = field(default_factory=list)
    gauges: list[_Value] = field(default_factory=list)
    widths: list[Width] = field(default_factory=list)


class Reader:
    """Reads the result of one collector's statement.

    columns: the select's columns in order, with their ASE types. top: how many rows get series of their own
    where the collector has a ranking.
    """

    def __init__(
        self, name: str, collector: Collector, columns: Mapping[str, str], facts: ServerFacts, top: int
    ) -> None:
        self.name = name
        self._collector = collector
        self._columns = columns
        self._facts = facts
        self._top = top
        self._indexes = {column: index for index, column in enumerate(columns)}
        own = [label.column for label in collector.labels.values()]
        self._pick_key: Picker = picker(
            [
                self._indexes[column]
                for column in dict.fromkeys([*own, *collector.key, "InstanceID"])
                if column in columns
            ]
        )
        self._generation = self._indexes.get(collector.generation or "")
        self._event_time = self._indexes.get(collector.events or "")
        self._ranked_by = [
            self._indexes[c] for c in (collector.top.by if collector.top else ()) if c in columns
        ]
        self._heads: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._groups: dict[tuple[tuple[str, str], ...], _Group] = {}
        for metric_name, metric in collector.metrics.items():
            self._add_metric(metric_name, metric.for_columns(columns))
        self._kinds = dict.fromkeys(self._ranked_by, _NUMBERS)
        for group in self._groups.values():
            for value in (*group.counters, *group.gauges):
                if value.column is not None:
                    self._kinds[value.column] = _DATES if value.timestamp else _NUMBERS
        if self._event_time is not None:
            self._kinds[self._event_time] = _DATES

    def _add_metric(self, name: str, metric: Metric) -> None:
        labels = {**({} if metric.total else self._collector.labels), **metric.labels}
        if self._facts.cluster and "InstanceID" in self._columns:
            labels[INSTANCE_LABEL] = Label(column="InstanceID")
        labels = {
            key: label
            for key, label in labels.items()
            if label.column in self._columns or label.absent is not None
        }
        group = self._group(labels, ranked=self._collector.top is not None and not metric.total)
        names = group.labels.names
        everything = tuple(sorted([*names, metric.by])) if metric.by else names
        self._heads[name] = (help_text(self._collector, metric), everything)
        counter = name.endswith("_total")
        sources: Mapping[str, str | None] = metric.sources() or {"": None}
        facts_in_labels = not metric.count and not metric.sources()
        for extra, column in sources.items():
            if column is not None and column not in self._columns:
                continue
            value = _Value(
                name,
                None if column is None else self._indexes[column],
                _factor(metric.unit, self._facts),
                "max" if facts_in_labels else metric.fold,
                metric.unit == "timestamp",
                (everything.index(metric.by), extra) if metric.by else None,
            )
            (group.counters if counter else group.gauges).append(value)
            if counter:
                group.widths.append(_WIDTHS.get(self._columns.get(column or "", ""), "wide"))

    def _group(self, labels: Mapping[str, Label], ranked: bool) -> _Group:
        key = tuple(sorted((name, label.column) for name, label in labels.items()))
        if key not in self._groups:
            self._groups[key] = _Group(Labels(labels, self._indexes, self._facts), ranked)
        return self._groups[key]

    def families(self, rows: Sequence[Row], counters: CounterStore, now: float) -> list[Family]:
        """The families of one reading; those without samples are left out. now: seconds.

        UnreadableError, with nothing counted, if the rows are not those of the statement.
        """
        self._verify(rows)
        if self._collector.epoch and rows:
            started = self._indexes[self._collector.epoch.started]
            cleared = self._indexes[self._collector.epoch.cleared]
            counters.observe_epoch(
                tuple(row[started] for row in rows), tuple(row[cleared] for row in rows), instances=len(rows)
            )
        made = {
            name: Family(name, "counter" if name.endswith("_total") else "gauge", text, labels)
            for name, (text, labels) in self._heads.items()
        }
        for key, group in self._groups.items():
            ledger = counters.ledger((self.name, key), group.widths)
            if self._event_time is None:
                self._read(group, ledger, rows, now, made)
            else:
                _count_events(group, ledger, ledger.unseen(rows, self._event_time, now), made)
        return [family for family in made.values() if family.samples]

    def _verify(self, rows: Sequence[Row]) -> None:
        # Checked before anything is counted: a counter that held a text once would be wrong for ever.
        if rows and len(rows[0]) < len(self._columns):
            raise UnreadableError(f"{self.name}: {len(rows[0])} columns instead of {len(self._columns)}")
        for place, kinds in self._kinds.items():
            if not kinds.issuperset(map(type, [row[place] for row in rows])):
                raise UnreadableError(
                    f"{self.name}: column {list(self._columns)[place]} holds something else"
                )

    def _read(
        self, group: _Group, ledger: Ledger, rows: Sequence[Row], now: float, made: Mapping[str, Family]
    ) -> None:
        texts = group.labels.texts(rows)
        columns = [_column(rows, value) for value in group.counters]
        if group.counters or group.ranked:
            keys: Sequence[Key] = list(map(self._pick_key, rows))
            unique, merged, firsts = _unique(keys, columns)
            deltas = ledger.grow(unique, merged, now, self._generations(rows, firsts))
            booked = texts
            if group.ranked:
                booked, texts = self._rank(group, ledger, rows, keys, texts, deltas, firsts)
            owners = [ledger.series(text) for text in booked]
            ledger.book(owners if firsts is None else [owners[first] for first in firsts], deltas)
        numbered = [(text, ledger.series(text)) for text in dict.fromkeys(texts)] if group.counters else []
        for value, column, totals in zip(group.counters, columns, ledger.totals, strict=True):
            shown = numbered
            if None in column:
                known = {text for text, cell in zip(texts, column, strict=True) if cell is not None}
                shown = [(text, number) for text, number in numbered if text in known]
            _emit(made[value.metric], value, [(text, totals[number]) for text, number in shown])
        for value in group.gauges:
            _emit(made[value.metric], value, _folded(value, rows, texts, self._facts.utc_offset))

    def _generations(self, rows: Sequence[Row], firsts: list[int] | None) -> list[object] | None:
        if self._generation is None:
            return None
        cells = [row[self._generation] for row in rows]
        return cells if firsts is None else [cells[first] for first in firsts]

    def _rank(
        self,
        group: _Group,
        ledger: Ledger,
        rows: Sequence[Row],
        keys: Sequence[Key],
        texts: Sequence[Texts],
        deltas: Sequence[Sequence[Raw]],
        firsts: list[int] | None,
    ) -> tuple[list[Texts], list[Texts]]:
        """Series per row: for what grew since the last reading, and for what is shown from now on.

        A row that rises to a series of its own brings no growth along: until now it belonged to the rest.
        """
        singles = rows if firsts is None else [rows[first] for first in firsts]
        single_keys = keys if firsts is None else [keys[first] for first in firsts]
        growth = {value.column: delta for value, delta in zip(group.counters, deltas, strict=True)}
        if ledger.reads == 1:
            growth = {}
        values = (*group.counters, *group.gauges)
        places = self._ranked_by or [value.column for value in values if value.column is not None]
        cost = [growth.get(place) or [row[place] for row in singles] for place in places]
        ranked = dict(zip(single_keys, shares(cost), strict=True))
        members = choose(ledger.members, ranked, self._top)
        before = ledger.members if ledger.reads > 1 else members
        ledger.members = members
        rest = [group.labels.rest(text, INSTANCE_LABEL) for text in texts]
        booked = [
            text if key in before else other for key, text, other in zip(keys, texts, rest, strict=True)
        ]
        shown = [
            text if key in members else other for key, text, other in zip(keys, texts, rest, strict=True)
        ]
        return booked, shown


def _count_events(group: _Group, ledger: Ledger, rows: Sequence[Row], made: Mapping[str, Family]) -> None:
    """Book each event once; what the pipe held at the first reading is the base, and counts nothing.

    A kind of event that is new is shown as 0 first: rate() does not see what a series begins with.
    """
    known = {number for _, number in ledger.known_series()}
    owners = [ledger.series(text) for text in group.labels.texts(rows)]
    if ledger.reads > 1:
        ledger.book(owners, [[cell or 0 for cell in _column(rows, value)] for value in group.counters])
    for value, totals in zip(group.counters, ledger.totals, strict=True):
        cells = [(text, totals[number] if number in known else 0) for text, number in ledger.known_series()]
        _emit(made[value.metric], value, cells)


def _folded(
    value: _Value, rows: Sequence[Row], texts: Sequence[Texts], utc_offset: timedelta
) -> list[tuple[Texts, Raw]]:
    """A gauge's value per series."""
    column = _column(rows, value)
    cells = [(text, cell) for text, cell in zip(texts, column, strict=True) if cell is not None]
    if value.timestamp:
        cells = [
            (text, (date - utc_offset - _EPOCH).total_seconds()) for text, date in cells if date > _FIRST_DATE
        ]
    folded: dict[Texts, Raw] = {}
    for text, cell in cells:
        if text not in folded:
            folded[text] = cell
        elif value.fold == "sum":
            folded[text] += cell
        else:
            folded[text] = max(folded[text], cell) if value.fold == "max" else min(folded[text], cell)
    return list(folded.items())


def _emit(family: Family, value: _Value, cells: Sequence[tuple[Texts, Raw]]) -> None:
    if value.factor != 1:
        factor = value.factor
        cells = [(text, float(number) * factor) for text, number in cells]
    if value.by is not None:
        place, extra = value.by
        cells = [((*text[:place], extra, *text[place:]), number) for text, number in cells]
    family.samples.extend(cells)


def _unique(
    keys: Sequence[Key], columns: Sequence[Sequence[Raw | None]]
) -> tuple[Sequence[Key], Sequence[Sequence[Raw | None]], list[int] | None]:
    """Rows that nothing tells apart, summed; third: the first row of each key, None if all differ."""
    order: dict[Key, int] = {}
    for key in keys:
        order.setdefault(key, len(order))
    if len(order) == len(keys):
        return keys, columns, None
    merged: list[list[Raw | None]] = []
    for column in columns:
        sums: list[Raw | None] = [None] * len(order)
        for key, cell in zip(keys, column, strict=True):
            if cell is not None:
                sums[order[key]] = (sums[order[key]] or 0) + cell
        merged.append(sums)
    firsts: dict[Key, int] = {}
    for index, key in enumerate(keys):
        firsts.setdefault(key, index)
    return list(order), merged, list(firsts.values())


def _column(rows: Sequence[Row], value: _Value) -> list[Any]:
    place = value.column
    return [1] * len(rows) if place is None else [row[place] for row in rows]


def _factor(unit: str, facts: ServerFacts) -> float:
    return facts.page_size if unit == "server pages" else UNITS[unit][0]


def help_text(collector: Collector, metric: Metric) -> str:
    """The metric's help with its source."""
    if not collector.table:
        return metric.help
    columns = ", ".join(metric.sources().values())
    return f"{metric.help} ({collector.table}{'.' + columns if columns else ''})"
