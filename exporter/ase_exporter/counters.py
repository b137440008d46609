"""Raw server counters turned into ever-growing ones.

A raw counter of the server wraps (an int at 2^31 to 0, or on to negative; an unsigned int at 2^32), is
cleared by a tool, starts anew with the server, and its row may vanish and come back at 0. Exported totals
only grow, by what is known to have happened: where two readings are possible, the smaller growth is taken,
so rate() over them gives the truth or too little, never a spike and never a negative.

The first reading of a table is the base: totals begin at 0 and grow by deltas, so rows that share a series
(the slots of one spinlock) may come and go without bending their sum. They do not begin with the raw values:
after wraps and clears a total is ahead of its raw value, and an exporter that started anew from the raw value
would show Prometheus a reset to it, all of which would count as growth of one scrape. A reset to 0 costs only
the growth while nobody looked.

How a fall of raw values in a row is read, in this order:
  restart   monState.StartDate moved (SMP): every row counts from zero.
  reset     the generation column moved: the row counts from zero.
  clear     monState.CountersCleared moved: what fell counts from zero.
  reset     the row had vanished before: what fell counts from zero.
  wrap      the row's pace makes the way over the edge plausible, for every column that fell.
  reset     all values of the row fell, or at most half of one is left: what fell counts from zero.
  dip       a value fell a little (rows are read without locks): no growth.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from operator import sub
from typing import Any, Literal, NamedTuple

from ase_exporter.families import Family
from ase_exporter.table import added, cell, filled, listed, minus, negative, row_at

Width = Literal["int", "unsigned int", "wide"]
Key = tuple[Hashable, ...]
Raw = int | float

EVENT_KINDS = ("clear", "dip", "reset", "restart", "wrap")
PACE_TOLERANCE = 8
PACE_SLACK = 1000
# Where no pace is known yet: the share of the edge that a way over it may have.
NEAR_EDGE = 1 / 1024
FORGET_AFTER = 6 * 3600.0
MOST_ABSENT_ROWS = 20_000
MOST_IDLE_SERIES = 10_000

_EDGE = {"int": 1 << 31, "unsigned int": 1 << 32}
_MASK = (1 << 32) - 1


class CounterStore:
    """All counters of one target: a ledger per table, and what is known of restarts and clears.

    events: how often each kind of event was met, counted per row (restart: per restart).
    """

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self._ledgers: dict[Hashable, Ledger] = {}
        self._epoch: tuple[object, object] | None = None
        self._restarts = 0
        self._clears = 0

    def observe_epoch(self, started: object, cleared: object, *, instances: int = 1) -> None:
        """Tell when the server started and when its counters were cleared (monState, any comparable values).

        With several cluster instances one may restart alone, so a restart then only explains falls.
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

    def ledger(self, name: Hashable, widths: Sequence[Width]) -> "Ledger":
        """The ledger of one table's counter columns; begun anew when the columns' widths changed."""
        ledger = self._ledgers.get(name)
        if ledger is None or ledger.widths != tuple(widths):
            ledger = self._ledgers[name] = Ledger(self, tuple(widths))
        return ledger

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
        rows.add(sum(ledger.remembered for ledger in self._ledgers.values()))
        return [family, rows]


class _Absence(NamedTuple):
    """A row that is gone: when it was last seen, and its values then."""

    seen_at: float
    row: tuple[Raw, ...]


class Ledger:
    """The counters of one table: last raw values per row, totals per series.

    A row is known by its key, a series by its number (see `series`). Columns keep the order of `widths`.
    members: rows with series of their own where only the top ones have them, with their standing.
    renumbered: moves when series get other numbers.
    """

    __slots__ = (
        "_absent",
        "_clears",
        "_generations",
        "_grown",
        "_grown_seconds",
        "_keys",
        "_mark",
        "_owners",
        "_places",
        "_read_at",
        "_restarts",
        "_series",
        "_series_read",
        "_shared",
        "_store",
        "_values",
        "_wraps",
        "members",
        "reads",
        "renumbered",
        "totals",
        "widths",
    )

    def __init__(self, store: CounterStore, widths: tuple[Width, ...]) -> None:
        self.widths = widths
        self.reads = 0
        self.renumbered = 0
        self.members: dict[Key, float] = {}
        self.totals: list[Any] = [[] for _ in widths]
        self._store = store
        self._series: dict[Hashable, int] = {}
        self._series_read: list[float] = []
        # Who was counted for last, and whether some rows share a series.
        self._owners: Sequence[int] = ()
        self._shared = False
        # The reading before: its keys, where each stands, raw values and growth by columns.
        self._keys: Sequence[Key] = ()
        self._places: dict[Key, int] = {}
        self._values: list[Any] = [[] for _ in widths]
        self._grown: list[Any] = []
        self._grown_seconds = 0.0
        self._absent: dict[Key, _Absence] = {}
        self._generations: dict[Key, object] = {}
        self._wraps = any(width != "wide" for width in widths)
        self._read_at = 0.0
        self._mark: tuple[Any, Counter[tuple[Any, ...]]] = (None, Counter())
        self._restarts = store._restarts
        self._clears = store._clears

    @property
    def remembered(self) -> int:
        """Rows held, vanished ones included."""
        return len(self._places) + len(self._absent)

    def series(self, labels: Hashable) -> int:
        """The number of the series with these labels, the same until it is forgotten."""
        number = self._series.get(labels)
        if number is None:
            number = self._series[labels] = len(self._series_read)
            self._series_read.append(self._read_at)
            self.totals = [listed(totals) for totals in self.totals]
            for totals in self.totals:
                totals.append(0)
        return number

    def grow(
        self,
        keys: Sequence[Key],
        columns: Sequence[Any],
        now: float,
        generations: Sequence[object] | None = None,
    ) -> list[Any]:
        """Take one reading of the table; what each row grew by since the reading before, per column.

        keys: one per row, different from each other; quickest where they are the very object of the reading
        before. columns: raw values per counter column, lists or arrays; None keeps the row's last value.
        now: seconds of any steady clock. generations: per row, a value that moves when the row's counters
        start anew. A row that a later reading is the first to bring counts from zero.
        """
        elapsed = now - self._read_at
        before = self._before(keys, generations)
        whole = [filled(column, old) for column, old in zip(columns, before, strict=True)]
        if not self.reads:
            self._remember(keys, whole, [], generations, now, elapsed)
            return [[0] * len(keys) for _ in columns]
        deltas = [minus(column, old) for column, old in zip(whole, before, strict=True)]
        suspects: set[int] = set()
        for width, growth, old in zip(self.widths, deltas, before, strict=True):
            suspects.update(negative(growth))
            if width != "wide":
                suspects.update(negative(old))
        for index in suspects:
            was, row = row_at(before, index), row_at(whole, index)
            for growth, delta in zip(deltas, self._mended(keys[index], was, row, elapsed), strict=True):
                growth[index] = delta
        self._remember(keys, whole, deltas, generations, now, elapsed)
        return deltas

    def book(self, owners: Sequence[int], deltas: Sequence[Any]) -> None:
        """Add what the rows grew by to the totals of the series (one number per row) that they count for."""
        if owners is not self._owners:
            self._note_owners()
            self._owners = owners
            self._shared = len(set(owners)) < len(owners)
        self.totals = [
            added(totals, owners, growth, shared=self._shared)
            for totals, growth in zip(self.totals, deltas, strict=True)
        ]

    def known_series(self) -> list[tuple[Any, int]]:
        """Labels and number of every series."""
        return list(self._series.items())

    def unseen(self, rows: Sequence[Sequence[Any]], time: int, now: float) -> list[Sequence[Any]]:
        """Those events that earlier readings did not bring; `time` is the place of their time column.

        Events of the latest known time are told apart by their whole row: more of the kind may have come.
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
        newest = max((row[time] for row in fresh), default=latest)
        same = Counter(tuple(row) for row in fresh if row[time] == newest)
        self._mark = (newest, seen + same if newest == latest else same)
        return fresh

    def _before(self, keys: Sequence[Key], generations: Sequence[object] | None) -> list[Any]:
        """The values that each row's growth is counted from, by columns; zeros where from its start."""
        if self._restarts != self._store._restarts:
            self._keys, self._places, self._grown = (), {}, []
            self._absent.clear()
            self._generations.clear()
        if keys is self._keys:
            before = self._values
        else:
            places = [self._places.get(key, -1) for key in keys]
            before = []
            for values in map(listed, self._values):
                # What place -1 stands for.
                values = [*values[: len(self._places)], 0]
                before.append([values[place] for place in places])
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

    def _mended(self, key: Key, before: tuple[Raw, ...], row: tuple[Raw, ...], elapsed: float) -> list[Raw]:
        """What a row grew by of which values fell, or had passed the sign; per column."""
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
        over = {at: self._way_over(key, at, old[at], new[at], elapsed) for at in fallen}
        if key not in self._absent and all(way is not None for way in over.values()):
            events["wrap"] += len(fallen)
            return [over.get(at) or delta for at, delta in enumerate(growth)]
        all_fell = len(fallen) > 1 and len(fallen) == sum(map(bool, old))
        if key in self._absent or all_fell or any(new[at] <= old[at] / 2 for at in fallen):
            events["reset"] += 1
            return [new[at] if at in fallen else delta for at, delta in enumerate(growth)]
        events["dip"] += 1
        return [max(delta, 0) for delta in growth]

    def _way_over(self, key: Key, position: int, old: Raw, new: Raw, elapsed: float) -> Raw | None:
        """From `old` over the edge to `new`, if the column has one and the row's pace makes it plausible."""
        width = self.widths[position]
        if width == "wide":
            return None
        edge = _EDGE[width] if old < _EDGE[width] else 1 << 32
        limit = edge * NEAR_EDGE
        place = self._places.get(key)
        if place is not None and self._grown:
            pace = cell(self._grown[position], place) / self._grown_seconds
            limit = PACE_TOLERANCE * pace * elapsed + PACE_SLACK
        way = edge - old + new
        return way if way <= limit else None

    def _unsigned(self, row: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return tuple(
            value if width == "wide" else int(value) & _MASK
            for value, width in zip(row, self.widths, strict=True)
        )

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
            places = {key: place for place, key in enumerate(keys)}
            for key in places.keys() & self._absent.keys():
                del self._absent[key]
            for key in self._places.keys() - places.keys():
                self._absent[key] = _Absence(self._read_at, row_at(self._values, self._places[key]))
            self._keys, self._places = keys, places
        self._forget_rows(now)
        self._forget_series(now, len(keys))
        if self._wraps:
            self._grown = deltas if elapsed > 0 else []
            self._grown_seconds = elapsed
        if generations is not None:
            self._generations.update(zip(keys, generations, strict=True))
        self._values = columns
        self._read_at = now
        self.reads += 1
        self._restarts = self._store._restarts
        self._clears = self._store._clears

    def _forget_rows(self, now: float) -> None:
        surplus = len(self._absent) - MOST_ABSENT_ROWS
        for key in list(self._absent):
            if surplus <= 0 and now - self._absent[key].seen_at <= FORGET_AFTER:
                break
            del self._absent[key]
            self._generations.pop(key, None)
            surplus -= 1

    def _forget_series(self, now: float, rows: int) -> None:
        """Drop series that no row has counted for in a long time; numbers of series change."""
        if len(self._series) <= MOST_IDLE_SERIES + rows:
            return
        self._note_owners()
        by_age = sorted(self._series.items(), key=lambda item: self._series_read[item[1]], reverse=True)
        kept = [
            (labels, number)
            for labels, number in by_age[: rows + MOST_IDLE_SERIES // 2]
            if now - self._series_read[number] <= FORGET_AFTER
        ]
        self.renumbered += 1
        self.totals = [[totals[number] for _, number in kept] for totals in map(listed, self.totals)]
        self._series_read = [self._series_read[number] for _, number in kept]
        self._series = {labels: number for number, (labels, _) in enumerate(kept)}

    def _note_owners(self) -> None:
        """Say of the series that were counted for last when that was; put off, as they are mostly the same."""
        for owner in self._owners:
            self._series_read[owner] = self._read_at
        self._owners = ()
