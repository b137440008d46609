"""From rows to families: one collector, compiled for the columns that one server has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any, Literal

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.labels import INSTANCE_LABEL, Labels, Row, Texts
from ase_exporter.catalogue.model import UNITS, Collector, Label, Metric
from ase_exporter.catalogue.ranking import choose, shares
from ase_exporter.counters import CounterStore, Key, Ledger, Raw, Width
from ase_exporter.errors import UnreadableError
from ase_exporter.families import Family, Layout, Samples
from ase_exporter.table import Table, listed, same

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


class _Rows:
    """What the rows of a table mean to a group of metrics, for as long as the table shows the same rows.

    texts: label values per row. keys: what tells rows apart, each once, and `all_keys` as they come; firsts: the
    first row of each key, None where all differ. series: label values, each once.
    """

    def __init__(self, texts: list[Texts], keys: list[Key]) -> None:
        self.texts = texts
        self.all_keys = keys
        self.keys, self.firsts = _unique(keys)
        self.series = list(dict.fromkeys(texts))
        self._layouts: dict[tuple[int, str] | None, Layout] = {}
        self._numbered: tuple[Ledger, int, bool, Any, Any] | None = None

    def numbers(self, ledger: Ledger, *, arrays: bool) -> tuple[Any, Any]:
        """The series that each key counts for, and those of `series`, by number."""
        known, valid = self._numbered, (ledger, ledger.renumbered, arrays)
        if known is None or known[:3] != valid:
            owners: Any = [ledger.series(text) for text in self.singles(self.texts)]
            numbers: Any = [ledger.series(text) for text in self.series]
            if arrays:
                import numpy as np

                owners, numbers = np.array(owners), np.array(numbers)
            known = self._numbered = (*valid, owners, numbers)
        return known[3:]

    def singles(self, cells: list[Any]) -> list[Any]:
        """Of one cell per row, those of the first row of each key."""
        return cells if self.firsts is None else [cells[first] for first in self.firsts]

    def layout(self, by: tuple[int, str] | None) -> Layout:
        """How the samples of all series are written. by: place and value of one more label."""
        if by not in self._layouts:
            self._layouts[by] = Layout(
                self.series if by is None else [_with(by, text) for text in self.series]
            )
        return self._layouts[by]


@dataclass(slots=True)
class _Group:
    """Metrics of a collector with the same labels. ranked: only its top rows have series of their own."""

    labels: Labels
    ranked: bool
    rows: _Rows | None = None
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
        self._key_places = [
            self._indexes[column]
            for column in dict.fromkeys([*own, *collector.key, "InstanceID"])
            if column in columns
        ]
        self._last: list[Any] | None = None
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

    @property
    def gives_a_series_a_row(self) -> bool:
        """Whether there is much to write for every row: then it pays to have the rows as arrays."""
        labelled = {place for group in self._groups.values() for place in group.labels.places}
        ranked = any(group.ranked for group in self._groups.values())
        return not ranked and self._event_time is None and labelled.issuperset(self._key_places)

    def families(self, rows: Table | Sequence[Row], counters: CounterStore, now: float) -> list[Family]:
        """The families of one reading; those without samples are left out. now: seconds.

        UnreadableError, with nothing counted, if the rows are not those of the statement.
        """
        table = rows if isinstance(rows, Table) else Table.of_rows(rows, len(self._columns))
        self._verify(table)
        if self._collector.epoch and len(table):
            started = table.listed(self._indexes[self._collector.epoch.started])
            cleared = table.listed(self._indexes[self._collector.epoch.cleared])
            counters.observe_epoch(tuple(started), tuple(cleared), instances=len(table))
        made = {
            name: Family(name, "counter" if name.endswith("_total") else "gauge", text, labels)
            for name, (text, labels) in self._heads.items()
        }
        if self._event_time is None and not self._shows_the_same_rows(table):
            for group in self._groups.values():
                group.rows = _Rows(group.labels.texts(table), table.rows(self._key_places))
        for key, group in self._groups.items():
            ledger = counters.ledger((self.name, key), group.widths)
            if self._event_time is None:
                self._read(group, ledger, table, now, made)
            else:
                unseen = ledger.unseen(table.rows(), self._event_time, now)
                _count_events(group, ledger, Table.of_rows(unseen, len(self._columns)), made)
        return [family for family in made.values() if family.samples]

    def _verify(self, table: Table) -> None:
        # Checked before anything is counted: a counter that held a text once would be wrong for ever.
        if len(table.columns) < len(self._columns):
            raise UnreadableError(
                f"{self.name}: {len(table.columns)} columns instead of {len(self._columns)}"
            )
        for place, kinds in self._kinds.items():
            if not kinds.issuperset(_types(table.columns[place])):
                raise UnreadableError(
                    f"{self.name}: column {list(self._columns)[place]} holds something else"
                )

    def _shows_the_same_rows(self, table: Table) -> bool:
        """Whether labels and keys are those of the reading before, row by row: mostly they are."""
        places = {
            *self._key_places,
            *(place for group in self._groups.values() for place in group.labels.places),
        }
        last, self._last = self._last, [len(table), *(table.columns[place] for place in sorted(places))]
        return last is not None and last[0] == len(table) and all(map(same, last[1:], self._last[1:]))

    def _read(
        self, group: _Group, ledger: Ledger, table: Table, now: float, made: Mapping[str, Family]
    ) -> None:
        rows = group.rows
        assert rows is not None
        columns = [_column(table, value) for value in group.counters]
        texts, series = rows.texts, rows.series
        numbers: Any = []
        if group.counters or group.ranked:
            merged = columns if rows.firsts is None else _merged(rows.all_keys, columns)
            deltas = ledger.grow(rows.keys, merged, now, self._generations(table, rows))
            if group.ranked:
                booked, texts = self._rank(group, ledger, table, rows, deltas)
                series = list(dict.fromkeys(texts))
                ledger.book([ledger.series(text) for text in rows.singles(booked)], deltas)
                numbers = [ledger.series(text) for text in series]
            else:
                arrays = any(not isinstance(column, list) for column in merged)
                owners, numbers = rows.numbers(ledger, arrays=arrays)
                ledger.book(owners, deltas)
        for value, column, totals in zip(group.counters, columns, ledger.totals, strict=True):
            if isinstance(totals, list) or group.ranked:
                pairs = [(text, totals[number]) for text, number in zip(series, numbers, strict=True)]
                if isinstance(column, list) and None in column:
                    known = {text for text, cell in zip(texts, column, strict=True) if cell is not None}
                    pairs = [(text, total) for text, total in pairs if text in known]
                _emit(made[value.metric], value, pairs)
            else:
                _emit_many(made[value.metric], value, rows, totals[numbers])
        for value in group.gauges:
            column = _column(table, value)
            if isinstance(column, list) or group.ranked or len(series) < len(table):
                _emit(
                    made[value.metric], value, _folded(value, listed(column), texts, self._facts.utc_offset)
                )
            else:
                _emit_many(made[value.metric], value, rows, column)

    def _generations(self, table: Table, rows: _Rows) -> list[object] | None:
        return None if self._generation is None else rows.singles(table.listed(self._generation))

    def _rank(
        self, group: _Group, ledger: Ledger, table: Table, rows: _Rows, deltas: Sequence[Any]
    ) -> tuple[list[Texts], list[Texts]]:
        """Series per row: for what grew since the last reading, and for what is shown from now on.

        A row that rises to a series of its own brings no growth along: until now it belonged to the rest.
        """
        growth = {value.column: listed(delta) for value, delta in zip(group.counters, deltas, strict=True)}
        if ledger.reads == 1:
            growth = {}
        values = (*group.counters, *group.gauges)
        places = self._ranked_by or [value.column for value in values if value.column is not None]
        cost = [growth.get(place) or rows.singles(table.listed(place)) for place in places]
        ranked = dict(zip(rows.keys, shares(cost), strict=True))
        members = choose(ledger.members, ranked, self._top)
        before = ledger.members if ledger.reads > 1 else members
        ledger.members = members
        rest = [group.labels.rest(text, INSTANCE_LABEL) for text in rows.texts]
        labelled = list(zip(rows.all_keys, rows.texts, rest, strict=True))
        booked = [text if key in before else other for key, text, other in labelled]
        shown = [text if key in members else other for key, text, other in labelled]
        return booked, shown


def _count_events(group: _Group, ledger: Ledger, table: Table, made: Mapping[str, Family]) -> None:
    """Book each event once; what the pipe held at the first reading is the base, and counts nothing.

    A kind of event that is new is shown as 0 first: rate() does not see what a series begins with.
    """
    known = {number for _, number in ledger.known_series()}
    owners = [ledger.series(text) for text in group.labels.texts(table)]
    if ledger.reads > 1:
        ledger.book(owners, [[cell or 0 for cell in _column(table, value)] for value in group.counters])
    for value, totals in zip(group.counters, ledger.totals, strict=True):
        cells = [(text, totals[number] if number in known else 0) for text, number in ledger.known_series()]
        _emit(made[value.metric], value, cells)


def _folded(
    value: _Value, column: Sequence[Any], texts: Sequence[Texts], utc_offset: timedelta
) -> list[tuple[Texts, Raw]]:
    """A gauge's value per series."""
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
        by = value.by
        cells = [(_with(by, text), number) for text, number in cells]
    family.extend(list(cells))


def _emit_many(family: Family, value: _Value, rows: _Rows, values: Any) -> None:
    """One value per series of a large table, as an array."""
    if value.factor != 1:
        values = values.astype(float) * value.factor
    family.extend(Samples(rows.layout(value.by), values))


def _with(by: tuple[int, str], texts: Texts) -> Texts:
    """Label values with one more in its place."""
    place, extra = by
    return (*texts[:place], extra, *texts[place:])


def _unique(keys: list[Key]) -> tuple[list[Key], list[int] | None]:
    """Each key once, and the first row of each; None if all differ."""
    firsts: dict[Key, int] = {}
    for index, key in enumerate(keys):
        firsts.setdefault(key, index)
    if len(firsts) == len(keys):
        return keys, None
    return list(firsts), list(firsts.values())


def _merged(keys: Sequence[Key], columns: Sequence[Any]) -> list[list[Raw | None]]:
    """The columns with rows of the same key, which nothing tells apart, summed."""
    order: dict[Key, int] = {}
    for key in keys:
        order.setdefault(key, len(order))
    merged: list[list[Raw | None]] = []
    for column in map(listed, columns):
        sums: list[Raw | None] = [None] * len(order)
        for key, cell in zip(keys, column, strict=True):
            if cell is not None:
                sums[order[key]] = (sums[order[key]] or 0) + cell
        merged.append(sums)
    return merged


def _column(table: Table, value: _Value) -> Any:
    """What a metric is read from: an array, or else a list."""
    if value.column is None:
        return [1] * len(table)
    column = table.columns[value.column]
    return column if hasattr(column, "dtype") else listed(column)


def _types(column: Any) -> Iterable[type]:
    """The types of all cells."""
    if isinstance(column, list):
        return set(map(type, column))
    return (float,) if hasattr(column, "dtype") else (str,)


def _factor(unit: str, facts: ServerFacts) -> float:
    return facts.page_size if unit == "server pages" else UNITS[unit][0]


def help_text(collector: Collector, metric: Metric) -> str:
    """The metric's help with its source."""
    if not collector.table:
        return metric.help
    columns = ", ".join(metric.sources().values())
    return f"{metric.help} ({collector.table}{'.' + columns if columns else ''})"
