"""Turns raw server counters into counters that only grow.

A raw counter of the server wraps (an int at 2^31 to 0, or on to negative; an unsigned int at 2^32), is cleared by
a tool, starts again with the server, and its row may vanish and come back at 0. An exported total grows only by
what is known to have happened: if a fall has two explanations, the one with less growth is taken. So rate() gives
the truth or too little, never a spike and never a negative value.

The first reading of a table is the base: totals start at 0 and grow by deltas, so rows that share a series (the
slots of one spinlock) may come and go without distorting their sum. Totals do not start at the raw values: after
wraps and clears a total is ahead of its raw value, and an exporter that restarted from the raw value would show
Prometheus a reset to that value, all of which would count as growth of one scrape. `probe` reads once, so its
totals start at the raw values.

A store that continues another one (`saved`, `restore`) counts from its raw values and totals: what grew between is
counted by the same rules. It may continue an older state of the other one, as long as raw counters only grew since.

How a fall of raw values in a row is explained, in this order:
  restart   monState.StartDate moved (SMP): every row counts from zero.
  reset     the generation column moved: the row counts from zero.
  clear     monState.CountersCleared moved: what fell counts from zero.
  reset     the row had vanished before: what fell counts from zero.
  dip       the row is a sum that the server made, of rows some of which have vanished: no growth.
  wrap      the row's pace makes a wrap plausible, for every column that fell.
  reset     all values of the row fell, or at most half of one is left: what fell counts from zero.
  dip       a value fell a little (rows are read without locks): no growth.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import sub
from typing import Any, Literal, NamedTuple

from ase_exporter.metrics.columns import (
    added,
    cell,
    filled,
    listed,
    minus,
    negative,
    packed,
    row_at,
    same,
    unpacked,
)
from ase_exporter.metrics.families import Family

Width = Literal["int", "unsigned int", "wide"]
Key = tuple[Hashable, ...]
Raw = int | float
SavedTable = dict[str, Any]

EVENT_KINDS = ("clear", "dip", "reset", "restart", "wrap")
# A wrap is plausible if it implies at most this many times the row's last pace, plus some slack.
PACE_TOLERANCE = 8
PACE_SLACK = 1000
# Without a known pace: if it implies growth of at most this share of the counter's range.
NEAR_EDGE = 1 / 1024
# Seconds after which rows and series that are gone are forgotten.
FORGET_AFTER = 6 * 3600.0
MAX_ABSENT_ROWS = 20_000
MAX_IDLE_SERIES = 10_000

_EDGE = {"int": 1 << 31, "unsigned int": 1 << 32}
_MASK = (1 << 32) - 1


class CounterStore:
    """All counters of one target, by table, and what is known of restarts and clears.

    starts_at_raw: totals start at the raw values of the first reading instead of 0.
    created: Unix time at which they started at 0, if known.
    events: how often each kind of fall was met, counted per row (restart: per restart).
    """

    def __init__(
        self,
        max_absent_rows: int = MAX_ABSENT_ROWS,
        max_idle_series: int = MAX_IDLE_SERIES,
        *,
        starts_at_raw: bool = False,
        created: float | None = None,
    ) -> None:
        self.max_absent_rows = max_absent_rows
        self.max_idle_series = max_idle_series
        self.starts_at_raw = starts_at_raw
        self.created = created
        self.events: Counter[str] = Counter()
        self._tables: dict[Hashable, TableCounters] = {}
        # Tables of a restored store that have not been read again yet.
        self._saved_tables: dict[Hashable, SavedTable] = {}
        self._epoch: tuple[object, object] | None = None
        self._restarts = 0
        self._clears = 0

    def observe_epoch(self, started: object, cleared: object, *, instances: int = 1) -> None:
        """Note when the server started and when its counters were cleared (monState, any comparable values).

        With several cluster instances, one may restart alone: a restart then explains falls but implies none.
        """
        if self._epoch is not None:
            if started != self._epoch[0]:
                self.events["restart"] += 1
                if instances == 1:
                    self._restarts += 1
                else:
                    self._clears += 1
            elif cleared != self._epoch[1]:
                self._clears += 1
        self._epoch = (started, cleared)

    def table(self, name: Hashable, widths: Sequence[Width]) -> "TableCounters":
        """The counters of one table; they start again if the widths of its columns have changed."""
        table = self._tables.get(name)
        if table is None or table.widths != tuple(widths):
            table = self._tables[name] = TableCounters(self, tuple(widths))
            saved = self._saved_tables.pop(name, None)
            if saved and saved["widths"] == table.widths:
                table.restore(saved)
        return table

    def saved(
        self, of_table: Callable[[Hashable, "TableCounters | SavedTable"], Any] | None = None
    ) -> dict[str, Any]:
        """The state from which another store continues, made of built-in types, dates and decimals.

        of_table: what to give for each table, instead of its state.
        """
        tables: dict[Hashable, Any] = self._saved_tables | self._tables
        for name, table in tables.items():
            if of_table:
                tables[name] = of_table(name, table)
            elif isinstance(table, TableCounters):
                tables[name] = table.saved()
        return {
            "created": self.created,
            "epoch": self._epoch,
            "restarts": self._restarts,
            "clears": self._clears,
            "events": dict(self.events),
            "tables": tables,
        }

    def restore(self, saved: Mapping[str, Any], shift: float = 0.0) -> None:
        """Continue the store with that state. shift: added to its monotonic times, which end with the boot."""
        # Totals that 0.1 saved do not say when they started.
        self.created = saved.get("created")
        self._epoch = saved["epoch"]
        self._restarts, self._clears = saved["restarts"], saved["clears"]
        self.events = Counter(saved["events"])
        self._tables = {}
        self._saved_tables = {
            name: table
            | {
                "read_at": table["read_at"] + shift,
                "series_read": [at + shift for at in table["series_read"]],
                "absent": {key: (at + shift, row) for key, (at, row) in table["absent"].items()},
            }
            for name, table in saved["tables"].items()
        }

    def families(self) -> list[Family]:
        """The store's own metrics."""
        family = Family(
            "ase_exporter_falls_total",
            "counter",
            "Falls of raw server counters by how they were read: clear, dip, reset, restart or wrap.",
            ("kind",),
        )
        for kind in EVENT_KINDS:
            family.add(self.events[kind], kind)
        rows = Family(
            "ase_exporter_remembered_rows",
            "gauge",
            "Rows whose raw counters are remembered, vanished ones included.",
        )
        rows.add(sum(table.remembered for table in self._tables.values()))
        return [family, rows]


class _Absence(NamedTuple):
    """A vanished row: when it was last seen, and its values then."""

    seen_at: float
    row: tuple[Raw, ...]


class TableCounters:
    """The counters of one table: last raw values per row, totals per series.

    Rows are identified by key, series by number (see `series`). Columns have the order of `widths`.
    reads: number of readings; changed_in: of the last one that differed from the one before. totals: per column, one
    value per series number. changes: per column, grows when its totals change. renumbered: changes when series get
    other numbers. top_rows: if only the top rows have series of their own, those rows and their rank values.
    """

    __slots__ = (
        "_absent",
        "_clears",
        "_generations",
        "_growth",
        "_growth_seconds",
        "_indexes",
        "_keys",
        "_mark",
        "_owners",
        "_read_at",
        "_restarts",
        "_series",
        "_series_read",
        "_shared",
        "_store",
        "_values",
        "_wraps",
        "_zeros",
        "changed_in",
        "changes",
        "reads",
        "renumbered",
        "top_rows",
        "totals",
        "widths",
    )

    def __init__(self, store: CounterStore, widths: tuple[Width, ...]) -> None:
        self.widths = widths
        self.reads = 0
        self.changed_in = 0
        self.renumbered = 0
        self.top_rows: dict[Key, float] = {}
        self.totals: list[Any] = [[] for _ in widths]
        self.changes = [0] * len(widths)
        self._store = store
        self._series: dict[Hashable, int] = {}
        self._series_read: list[float] = []
        # The series number of each row at the last `add`, and whether rows share a series.
        self._owners: Sequence[int] = ()
        self._shared = False
        # The last reading: its keys, the index of each, raw values and growth by column.
        self._keys: Sequence[Key] = ()
        self._indexes: dict[Key, int] = {}
        self._values: list[Any] = [[] for _ in widths]
        self._growth: list[Any] = []
        self._growth_seconds = 0.0
        # The growth of every column that has not changed.
        self._zeros: list[Raw] = []
        self._absent: dict[Key, _Absence] = {}
        self._generations: dict[Key, object] = {}
        self._wraps = any(width != "wide" for width in widths)
        self._read_at = 0.0
        self._mark: tuple[Any, Counter[tuple[Any, ...]]] = (None, Counter())
        self._restarts = store._restarts
        self._clears = store._clears

    def saved(self) -> SavedTable:
        """The state from which `restore` continues."""
        self._note_owners()
        latest, seen = self._mark
        return {
            "widths": self.widths,
            "reads": self.reads,
            "read_at": self._read_at,
            "keys": self._keys,
            "values": [packed(column) for column in self._values],
            # The pace says whether a counter has wrapped, which wide ones never do.
            "growth": [
                [] if width == "wide" else packed(column)
                for width, column in zip(self.widths, self._growth, strict=False)
            ],
            "growth_seconds": self._growth_seconds,
            "absent": {key: tuple(absence) for key, absence in self._absent.items()},
            "generations": self._generations,
            "series": self._series,
            "series_read": self._series_read,
            "totals": [packed(column) for column in self.totals],
            "top_rows": self.top_rows,
            "mark": (latest, dict(seen)),
            "restarts": self._restarts,
            "clears": self._clears,
        }

    def restore(self, saved: SavedTable) -> None:
        """Continue with the state of a table with the same widths."""
        self.reads = self.changed_in = saved["reads"]
        self._read_at = saved["read_at"]
        self._keys = saved["keys"]
        self._indexes = {key: index for index, key in enumerate(self._keys)}
        self._values = list(map(unpacked, saved["values"]))
        self._growth = list(map(unpacked, saved["growth"]))
        self._growth_seconds = saved["growth_seconds"]
        self._absent = {key: _Absence(*absence) for key, absence in saved["absent"].items()}
        self._generations = saved["generations"]
        self._series, self._series_read = saved["series"], saved["series_read"]
        self.totals, self.top_rows = list(map(unpacked, saved["totals"])), saved["top_rows"]
        self.changes = [count + 1 for count in self.changes]
        latest, seen = saved["mark"]
        self._mark = (latest, Counter(seen))
        self._restarts, self._clears = saved["restarts"], saved["clears"]

    @property
    def counts_reading(self) -> bool:
        """Whether the latest reading adds to the totals; the first one does only if they start at raw values."""
        return self.reads > 1 or self._store.starts_at_raw

    @property
    def remembered(self) -> int:
        """Rows remembered, vanished ones included."""
        return len(self._indexes) + len(self._absent)

    def series(self, labels: Hashable) -> int:
        """The number of the series with these labels, which is kept until `renumbered` changes."""
        number = self._series.get(labels)
        if number is None:
            number = self._series[labels] = len(self._series_read)
            self._series_read.append(self._read_at)
            self.totals = [listed(totals) for totals in self.totals]
            for totals in self.totals:
                totals.append(0)
            self.changes = [count + 1 for count in self.changes]
        return number

    def growth(
        self,
        keys: Sequence[Key],
        columns: Sequence[Any],
        now: float,
        generations: Sequence[object] | None = None,
        *,
        sums: bool = False,
    ) -> list[Any]:
        """Take one reading of the table; returns each row's growth since the last reading, per column.

        keys: one per row, without duplicates; fastest if it is the same object as in the last reading.
        columns: raw values per counter column, lists or arrays; None keeps the row's last value.
        now: monotonic seconds. generations: per row, a value that changes when the row's counters start again.
        sums: rows are sums of rows of the server.
        A row that was not in the first reading counts from zero.
        """
        elapsed = now - self._read_at
        self.changed_in = self.reads + 1
        before = self._before(keys, generations)
        whole = [filled(column, old) for column, old in zip(columns, before, strict=True)]
        if not self.reads:
            self._remember(keys, whole, [], generations, now, elapsed)
            if self._store.starts_at_raw:
                return [self._unsigned_column(column, at) for at, column in enumerate(whole)]
            return [[0] * len(keys) for _ in columns]
        if len(self._zeros) != len(keys):
            self._zeros = [0] * len(keys)
        zeros = self._zeros
        deltas = [
            zeros if isinstance(column, list) and same(column, old) else minus(column, old)
            for column, old in zip(whole, before, strict=True)
        ]
        suspects: set[int] = set()
        for width, growth, old in zip(self.widths, deltas, before, strict=True):
            if growth is not zeros:
                suspects.update(negative(growth))
            if width != "wide":
                suspects.update(negative(old))
        if suspects:
            deltas = [growth.copy() if growth is zeros else growth for growth in deltas]
        for index in suspects:
            was, row = row_at(before, index), row_at(whole, index)
            explained = self._explain_fall(keys[index], was, row, elapsed, sums=sums)
            for growth, delta in zip(deltas, explained, strict=True):
                growth[index] = delta
        self._remember(keys, whole, deltas, generations, now, elapsed)
        return deltas

    @property
    def may_repeat(self) -> bool:
        """Whether a reading with the last one's keys and values means that nothing has grown."""
        return self.reads > 0 and (self._restarts, self._clears) == (
            self._store._restarts,
            self._store._clears,
        )

    def repeat(self, now: float) -> None:
        """Take a reading with the last one's keys and values."""
        if len(self._zeros) != len(self._keys):
            self._zeros = [0] * len(self._keys)
        deltas = [self._zeros for _ in self._values]
        self._remember(self._keys, self._values, deltas, None, now, now - self._read_at)

    def add(self, owners: Sequence[int], deltas: Sequence[Any]) -> None:
        """Add the growth of each row to the total of its series. owners: per row, the number of its series."""
        if owners is not self._owners:
            self._note_owners()
            self._owners = owners
            self._shared = len(set(listed(owners))) < len(owners)
        places: Any = owners
        if any(not isinstance(growth, list) for growth in deltas):
            import numpy as np

            places = np.asarray(owners)
        for column, growth in enumerate(deltas):
            if growth is not self._zeros:
                self.totals[column] = added(self.totals[column], places, growth, shared=self._shared)
                self.changes[column] += 1

    def known_series(self) -> list[tuple[Any, int]]:
        """Labels and number of every series."""
        return list(self._series.items())

    def new_events(self, rows: Sequence[Sequence[Any]], time: int, now: float) -> list[Sequence[Any]]:
        """The events that earlier readings did not contain. time: index of their time column.

        Events at the latest known time are compared by their whole row, as more of them may have been added.
        """
        self._read_at = now
        self.reads += 1
        latest, seen = self._mark
        fresh: list[Sequence[Any]] = []
        left = Counter(seen)
        for row in rows:
            at, whole = row[time], tuple(row)
            if at is None or (latest is not None and at < latest):
                continue
            if at == latest and left[whole] > 0:
                left[whole] -= 1
                continue
            fresh.append(row)
        if not fresh:
            return fresh
        self.changed_in = self.reads
        newest = max(row[time] for row in fresh)
        same = Counter(tuple(row) for row in fresh if row[time] == newest)
        self._mark = (newest, seen + same if newest == latest else same)
        return fresh

    def _before(self, keys: Sequence[Key], generations: Sequence[object] | None) -> list[Any]:
        """The values from which each row's growth is counted, by column; zero if it counts from its start."""
        if self._restarts != self._store._restarts:
            self._keys, self._indexes, self._growth = (), {}, []
            self._absent.clear()
            self._generations.clear()
        if keys is self._keys:
            before = self._values
        else:
            indexes = [self._indexes.get(key, -1) for key in keys]
            before = []
            for values in map(listed, self._values):
                # Index -1 stands for zero.
                values = [*values[: len(self._indexes)], 0]
                before.append([values[index] for index in indexes])
            if self._absent:
                for index, key in enumerate(keys):
                    if key in self._absent:
                        for column, value in zip(before, self._absent[key].row, strict=True):
                            column[index] = value
        if generations is not None:
            known = self._generations
            moved = [
                index
                for index, (key, generation) in enumerate(zip(keys, generations, strict=True))
                if known.get(key, generation) != generation
            ]
            if moved:
                before = [listed(column).copy() for column in before]
                for index in moved:
                    for column in before:
                        column[index] = 0
                    self._store.events["reset"] += 1
        return before

    def _explain_fall(
        self, key: Key, before: tuple[Raw, ...], row: tuple[Raw, ...], elapsed: float, *, sums: bool
    ) -> list[Raw]:
        """The growth per column of a row in which values fell or changed their sign."""
        events = self._store.events
        old, new = self._unsigned(before), self._unsigned(row)
        growth = list(map(sub, new, old))
        fallen = [position for position, delta in enumerate(growth) if delta < 0]
        if self.reads:
            events["wrap"] += sum(
                was >= 0 > now <= delta for was, now, delta in zip(before, row, growth, strict=True)
            )
        if not fallen:
            return growth
        if self._clears != self._store._clears:
            events["clear"] += 1
            return [new[at] if at in fallen else delta for at, delta in enumerate(growth)]
        wrapped = {at: self._growth_by_wrap(key, at, old[at], new[at], elapsed) for at in fallen}
        if key not in self._absent and all(delta is not None for delta in wrapped.values()):
            events["wrap"] += len(fallen)
            return [wrapped.get(at) or delta for at, delta in enumerate(growth)]
        all_fell = len(fallen) > 1 and len(fallen) == sum(map(bool, old))
        halved = any(new[at] <= old[at] / 2 for at in fallen)
        if key in self._absent or (not sums and (all_fell or halved)):
            events["reset"] += 1
            return [new[at] if at in fallen else delta for at, delta in enumerate(growth)]
        events["dip"] += 1
        return [max(delta, 0) for delta in growth]

    def _growth_by_wrap(self, key: Key, position: int, old: Raw, new: Raw, elapsed: float) -> Raw | None:
        """The growth from `old` through a wrap to `new`; None if the column cannot wrap or it is not plausible."""
        width = self.widths[position]
        if width == "wide":
            return None
        edge = _EDGE[width] if old < _EDGE[width] else 1 << 32
        limit = edge * NEAR_EDGE
        index = self._indexes.get(key)
        if index is not None and self._growth:
            pace = cell(self._growth[position], index) / self._growth_seconds
            limit = PACE_TOLERANCE * pace * elapsed + PACE_SLACK
        growth = edge - old + new
        return growth if growth <= limit else None

    def _unsigned(self, row: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return tuple(
            value if width == "wide" else int(value) & _MASK
            for value, width in zip(row, self.widths, strict=True)
        )

    def _unsigned_column(self, column: Any, position: int) -> list[Raw]:
        cells = listed(column)
        return cells if self.widths[position] == "wide" else [int(value) & _MASK for value in cells]

    def _remember(
        self,
        keys: Sequence[Key],
        columns: list[Any],
        deltas: list[Any],
        generations: Sequence[object] | None,
        now: float,
        elapsed: float,
    ) -> None:
        if keys is not self._keys:
            indexes = {key: index for index, key in enumerate(keys)}
            for key in indexes.keys() & self._absent.keys():
                del self._absent[key]
            for key in self._indexes.keys() - indexes.keys():
                self._absent[key] = _Absence(self._read_at, row_at(self._values, self._indexes[key]))
            self._keys, self._indexes = keys, indexes
        self._forget_rows(now)
        self._forget_series(now, len(keys))
        if self._wraps:
            self._growth = deltas if elapsed > 0 else []
            self._growth_seconds = elapsed
        if generations is not None:
            self._generations.update(zip(keys, generations, strict=True))
        self._values = columns
        self._read_at = now
        self.reads += 1
        self._restarts = self._store._restarts
        self._clears = self._store._clears

    def _forget_rows(self, now: float) -> None:
        surplus = len(self._absent) - self._store.max_absent_rows
        for key in list(self._absent):
            if surplus <= 0 and now - self._absent[key].seen_at <= FORGET_AFTER:
                break
            del self._absent[key]
            self._generations.pop(key, None)
            surplus -= 1

    def _forget_series(self, now: float, rows: int) -> None:
        """Drop series that have had no row for a long time; the others get new numbers."""
        max_idle = self._store.max_idle_series
        if len(self._series) <= max_idle + rows:
            return
        self._note_owners()
        self._owners = ()
        by_age = sorted(self._series.items(), key=lambda item: self._series_read[item[1]], reverse=True)
        kept = [
            (labels, number)
            for labels, number in by_age[: rows + max_idle // 2]
            if now - self._series_read[number] <= FORGET_AFTER
        ]
        self.renumbered += 1
        self.changes = [count + 1 for count in self.changes]
        self.totals = [[totals[number] for _, number in kept] for totals in map(listed, self.totals)]
        self._series_read = [self._series_read[number] for _, number in kept]
        self._series = {labels: number for number, (labels, _) in enumerate(kept)}

    def _note_owners(self) -> None:
        """Note the time of the last reading for the series of its rows; deferred, as they rarely change."""
        for owner in self._owners:
            self._series_read[owner] = self._read_at
