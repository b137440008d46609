"""Maps the rows of one collector to metric families, compiled for the columns that one server has."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import NoneType
from typing import Any

from ase_exporter.catalogue.facts import ServerFacts, server_seconds
from ase_exporter.catalogue.labels import INSTANCE_LABEL, RowLabels
from ase_exporter.catalogue.model import UNITS, Collector, Label, Metric
from ase_exporter.catalogue.ranking import choose, shares
from ase_exporter.catalogue.row_series import ColumnValues, MetricGroup, RowSeries, ValueSource, samples_of
from ase_exporter.errors import UnreadableError
from ase_exporter.metrics.columns import Columns, Row
from ase_exporter.metrics.counters import CounterStore, Key, Raw, TableCounters, Width
from ase_exporter.metrics.epochs import EpochReading, Instance
from ase_exporter.metrics.families import Family, LastingSamples, Sample

# Called with a description of the columns that cannot be read, before anything is counted; may raise.
OnUnreadable = Callable[[str], None]

_NUMBERS: frozenset[type] = frozenset((int, float, bool, Decimal, NoneType))
_PLAIN = frozenset((str, int, NoneType))
_DATES: frozenset[type] = frozenset((datetime, NoneType))
_TEXTS: frozenset[type] = frozenset((str, NoneType))
_EXPECTED = {_NUMBERS: "numbers", _DATES: "dates", _TEXTS: "texts"}
# No type of ASE that counts reaches it. A counter that once had such a number, or NaN, would be wrong for ever.
_MAX_NUMBER = float(1 << 64)
_WIDTHS: dict[str, Width] = {
    "int": "int",
    "intn": "int",
    "smallint": "int",
    "tinyint": "int",
    "unsigned int": "unsigned int",
    "uint": "unsigned int",
    "uintn": "unsigned int",
}


# The server's time of the reading, beside the start of the server and the last clearing of its counters.
READ_AT = "ReadAt"


class RowMapper:
    """Maps the result of one collector's statement to families.

    columns: the select's columns in order, with their ASE types. top: how many rows get series of their own if
    the collector ranks its rows. grouped: each row is a sum made by the server.
    """

    def __init__(
        self,
        name: str,
        collector: Collector,
        columns: Mapping[str, str],
        facts: ServerFacts,
        top: int,
        *,
        grouped: bool = False,
    ) -> None:
        self.name = name
        self._grouped = grouped
        self._collector = collector
        self.columns = columns
        self._facts = facts
        self._top = top
        self._indexes = {column: index for index, column in enumerate(columns)}
        # What is renamed keeps its key: under a new one, all that it has ever counted would be growth.
        names = collector.names if columns.keys() >= {*collector.key} else []
        own = [label.column for label in collector.labels.values() if label.column not in names]
        self._key_indexes = [
            self._indexes[column]
            for column in dict.fromkeys([*own, *collector.key, "InstanceID"])
            if column in columns
        ]
        self._generation = self._indexes.get(collector.generation or "")
        self._event_time = self._indexes.get(collector.events or "")
        self._ranked_by = [self._indexes[column] for column in collector.top if column in columns]
        # Help text and label names of each metric.
        self._heads: dict[str, tuple[str, tuple[str, ...]]] = {}
        # By a name that is the same in each process, under which the counters of the group are saved.
        self._groups: dict[str, MetricGroup] = {}
        # The last part of a row's key is then its instance.
        self._by_instance = facts.cluster and "InstanceID" in columns
        for metric_name, metric in collector.metrics.items():
            self._add_metric(metric_name, metric.for_columns(columns))
        # The columns that labels and keys are made from, and their values as long as they stay the same.
        self._identity = frozenset(self._key_indexes).union(
            *(group.labels.indexes for group in self._groups.values())
        )
        self._last_rows: tuple[int, list[Sequence[Any]]] | None = None
        self._types = dict.fromkeys(self._ranked_by, _NUMBERS)
        for group in self._groups.values():
            for value in (*group.counters, *group.gauges):
                if value.column is not None:
                    self._types[value.column] = _DATES if value.timestamp else _NUMBERS
        epoch = collector.epoch
        dates = (epoch.started, epoch.cleared, READ_AT) if epoch else ()
        indexes = (self._event_time, *map(self._indexes.get, dates))
        self._types |= dict.fromkeys([index for index in indexes if index is not None], _DATES)
        for index in self._identity - self._types.keys():
            kind = list(columns.values())[index]
            if "char" in kind or "int" in kind:
                self._types[index] = _TEXTS if "char" in kind else _NUMBERS

    def families(
        self,
        rows: Sequence[Row],
        counters: CounterStore,
        now: float,
        on_unreadable: OnUnreadable | None = None,
    ) -> list[Family]:
        """The families of one reading, empty ones for what the server has and gave no row of. now: monotonic seconds.

        If `on_unreadable` is given and returns, columns that cannot be read count as NULL. Raises UnreadableError,
        with nothing counted, for others, another number of columns, and labels and keys of another type.
        """
        table = self._readable(Columns.of_rows(rows, len(self.columns)), on_unreadable)
        if readings := self._epochs(table):
            counters.observe(readings, now)
        found: dict[str, list[Sample] | LastingSamples] = {}
        rows_read = len(table), [table.columns[index] for index in self._identity]
        if self._event_time is None and rows_read != self._last_rows:
            # Mostly, labels and keys equal those of the last reading, row by row.
            self._last_rows = rows_read
            for group in self._groups.values():
                group.rows = RowSeries(group.labels.values(table), _keys(table, self._key_indexes))
        for name, group in self._groups.items():
            totals = counters.table(name, group.widths, by_instance=self._by_instance)
            if self._event_time is None:
                found |= self._map_rows(group, totals, table, now)
            else:
                # The pipe returns the same messages until there are others.
                events = totals.new_events(table.rows(), self._event_time, now)
                found |= _count_events(group, totals, Columns.of_rows(events, len(self.columns)))
        return [
            Family(name, "counter" if name.endswith("_total") else "gauge", text, labels, found[name])
            for name, (text, labels) in self._heads.items()
            if name in found
        ]

    def _epochs(self, table: Columns) -> dict[Instance, EpochReading]:
        """When each instance has started, if the table says so."""
        epoch = self._collector.epoch
        if epoch is None or not {epoch.started, READ_AT} <= self._indexes.keys():
            return {}
        unknown = [None] * len(table)

        def cells(column: str) -> Sequence[Any]:
            return table.columns[self._indexes[column]] if column in self._indexes else unknown

        instances = cells("InstanceID") if self._by_instance else unknown
        rows = zip(instances, cells(epoch.started), cells(epoch.cleared), cells(READ_AT), strict=True)
        # An unknown time of the start is not another start.
        return {
            instance: EpochReading(
                server_seconds(started), cleared and server_seconds(cleared), server_seconds(at)
            )
            for instance, started, cleared, at in rows
            if started is not None and at is not None
        }

    def _add_metric(self, name: str, metric: Metric) -> None:
        labels = {**({} if metric.total else self._collector.labels), **metric.labels}
        if self._facts.cluster and "InstanceID" in self.columns:
            labels[INSTANCE_LABEL] = Label(column="InstanceID")
        labels = {
            key: label
            for key, label in labels.items()
            if label.column in self.columns or label.absent is not None
        }
        group = self._group(labels, ranked=bool(self._collector.top) and not metric.total)
        names = group.labels.names
        all_names = tuple(sorted([*names, metric.by])) if metric.by else names
        self._heads[name] = (help_text(self._collector, metric), all_names)
        counter = name.endswith("_total")
        sources: Mapping[str, str | None] = metric.sources() or {"": None}
        facts_in_labels = not metric.count and not metric.sources()
        for by_value, column in sources.items():
            if column is not None and column not in self.columns:
                continue
            value = ValueSource(
                name,
                None if column is None else self._indexes[column],
                self._facts.page_size if metric.unit == "server pages" else UNITS[metric.unit][0],
                "max" if facts_in_labels else metric.fold,
                metric.unit == "timestamp",
                (all_names.index(metric.by), by_value) if metric.by else None,
                no_negatives=self._collector.table is not None,
            )
            (group.counters if counter else group.gauges).append(value)
            if counter:
                group.widths.append(_WIDTHS.get(self.columns.get(column or "", ""), "wide"))

    def _group(self, labels: Mapping[str, Label], ranked: bool) -> MetricGroup:
        of_labels = sorted(f"{name}={label.column}" for name, label in labels.items())
        key = " ".join([self.name, *of_labels, *self._collector.names])
        if key not in self._groups:
            self._groups[key] = MetricGroup(RowLabels(labels, self._indexes, self._facts), ranked)
        return self._groups[key]

    def _readable(self, table: Columns, on_unreadable: OnUnreadable | None) -> Columns:
        """The table with plain numbers, and NULL for impossible ones and in columns of another type than expected."""
        # Checked before anything is counted: a counter that once held a text would be wrong for ever.
        if len(table.columns) < len(self.columns):
            raise UnreadableError(f"{self.name}: {len(table.columns)} columns instead of {len(self.columns)}")
        columns, with_null, unreadable = list(table.columns), set[int](), []
        for index, types in self._types.items():
            found = set(map(type, columns[index]))
            if Decimal in found:
                columns[index] = list(map(_plain_number, columns[index]))
            if not types.issuperset(found):
                columns[index] = [None] * len(table)
                wrong = ", ".join(sorted(kind.__name__ for kind in found - types))
                problem = f"column {list(self.columns)[index]} holds {wrong}, expected {_EXPECTED[types]}"
                if on_unreadable is None or index in self._identity:
                    raise UnreadableError(f"{self.name}: {problem}")
                unreadable.append(problem)
                with_null.add(index)
            elif types is _NUMBERS and not found.isdisjoint((float, Decimal)):
                # NULL in place of NaN and of what no counter reaches.
                cells = columns[index]
                columns[index] = [c if c is not None and abs(c) < _MAX_NUMBER else None for c in cells]
                found = set(map(type, columns[index]))
            if NoneType in found:
                with_null.add(index)
        if unreadable and on_unreadable:
            on_unreadable(f"{self.name}: {'; '.join(unreadable)}")
        return Columns(columns, len(table), with_null)

    def _map_rows(
        self, group: MetricGroup, totals: TableCounters, table: Columns, now: float
    ) -> dict[str, list[Sample] | LastingSamples]:
        """The samples of one group of metrics."""
        rows = group.rows
        assert rows is not None
        columns = [_column(table, value) for value in group.counters]
        label_values, texts = rows.label_values, rows.texts
        numbers: list[int] = []
        if group.counters or group.ranked:
            unique = columns if rows.first_rows is None else rows.summed_by_key(columns)
            generations = None if self._generation is None else rows.per_key(_keys(table, [self._generation]))
            deltas = totals.growth(rows.keys, unique, now, generations, sums=self._grouped)
            if group.ranked:
                previous = self._rank(totals, group, table, rows, deltas)
                rest = rows.rest(lambda labels: group.labels.rest(labels, INSTANCE_LABEL))
                label_values = rows.with_own(totals.top_rows, rest)
                texts = group.texts_of(list(dict.fromkeys(label_values)))
                counted_for = rows.with_own(previous, rest)
                totals.add([totals.series(labels) for labels in rows.per_key(counted_for)], deltas)
                numbers = [totals.series(labels) for labels in texts.series]
            else:
                owners, numbers = rows.series_numbers(totals)
                totals.add(owners, deltas)
        found: defaultdict[str, list[ColumnValues]] = defaultdict(list)
        for value, column, counted_so_far in zip(
            group.counters, columns, totals.totals_of(numbers), strict=True
        ):
            each = value.scaled(counted_so_far)
            if value.column in table.with_null:
                pairs = zip(label_values, column, strict=True)
                known = {labels for labels, cell in pairs if cell is not None}
                counted = zip(texts.series, each, strict=True)
                shown = [sample for sample in counted if sample[0] in known]
                found[value.metric].append((value.by, shown, False))
            else:
                found[value.metric].append((value.by, each, True))
        for value in group.gauges:
            column = _column(table, value)
            if (
                not group.ranked
                and len(rows.series) == len(column)
                and value.column not in table.with_null
                and value.is_known(column)
            ):
                found[value.metric].append((value.by, value.scaled(column), True))
            else:
                folded = value.folded(column, label_values, self._facts.utc_seconds)
                found[value.metric].append((value.by, folded, False))
        return {name: samples_of(columns, texts) for name, columns in found.items()}

    def _rank(
        self,
        totals: TableCounters,
        group: MetricGroup,
        table: Columns,
        rows: RowSeries,
        deltas: Sequence[list[Raw]],
    ) -> Collection[Key]:
        """Choose the rows that have series of their own from now on; returns those that had them until now.

        A row that gets series of its own starts there from zero: until now its growth belonged to `rest`.
        """
        growth = {value.column: delta for value, delta in zip(group.counters, deltas, strict=True)}
        if totals.reads == 1:
            growth = {}
        values = (*group.counters, *group.gauges)
        ranked_by = self._ranked_by or [value.column for value in values if value.column is not None]
        costs = [
            growth[index] if growth.get(index) else rows.per_key(table.columns[index]) for index in ranked_by
        ]
        before = totals.top_rows
        ranked = dict(zip(rows.keys, shares(costs), strict=True))
        totals.top_rows = choose(before, ranked, self._top)
        return before if totals.reads > 1 else totals.top_rows


def _count_events(
    group: MetricGroup, totals: TableCounters, table: Columns
) -> dict[str, list[Sample] | LastingSamples]:
    """Count each event once. Events in the pipe at the first reading count only if totals start at raw values.

    A new kind of event is exposed as 0 first, as rate() does not see the first value of a series.
    """
    known = {number for _, number in totals.known_series()}
    owners = [totals.series(labels) for labels in group.labels.values(table)]
    if totals.counts_reading:
        totals.add(owners, [[cell or 0 for cell in _column(table, value)] for value in group.counters])
    series = totals.known_series()
    texts = group.texts_of([labels for labels, _ in series])
    found: defaultdict[str, list[ColumnValues]] = defaultdict(list)
    for value, column_totals in zip(group.counters, totals.totals, strict=True):
        each = [column_totals[number] if number in known or totals.reads == 1 else 0 for _, number in series]
        found[value.metric].append((value.by, value.scaled(each), True))
    return {name: samples_of(columns, texts) for name, columns in found.items()}


def _keys(rows: Columns, indexes: Sequence[int]) -> list[Key]:
    """The key of each row, of texts and numbers alone, so that it can be saved."""
    columns = [[cell if type(cell) in _PLAIN else str(cell) for cell in rows.columns[at]] for at in indexes]
    return list(zip(*columns, strict=True)) if columns else [()] * len(rows)


def _column(table: Columns, value: ValueSource) -> Sequence[Any]:
    """The column of a value; 1 per row if it counts rows."""
    return [1] * len(table) if value.column is None else table.columns[value.column]


def _plain_number(cell: Any) -> Any:
    """A Decimal as int if it is whole, else float, so that it may be calculated with either."""
    if not isinstance(cell, Decimal):
        return cell
    return int(cell) if cell == cell.to_integral_value() else float(cell)


def is_narrow(kind: str) -> bool:
    """Whether counters of an ASE type wrap."""
    return _WIDTHS.get(kind, "wide") != "wide"


def help_text(collector: Collector, metric: Metric) -> str:
    """The metric's help with its source."""
    if not collector.table:
        return metric.help
    columns = ", ".join(metric.sources().values())
    return f"{metric.help} ({collector.table}{'.' + columns if columns else ''})"
