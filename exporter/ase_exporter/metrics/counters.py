"""Turns raw server counters into counters that only grow.

A raw counter of the server wraps (an int at 2^31 to 0, or on to negative; an unsigned int at 2^32), is cleared by
a tool, starts again with the server, and its row may vanish and come back at 0. An exported total grows only by
what is known to have happened: if a fall has two explanations, the one with less growth is taken. So rate() gives
the truth or too little, never a spike and never a negative value.

The first reading of a table is the base: totals start at 0 and grow by deltas, so rows that share a series (the
slots of one spinlock) may come and go without distorting their sum. Totals do not start at the raw values: after
wraps and clears a total is ahead of its raw value, and an exporter that restarted from the raw value would show
Prometheus a reset to that value, all of which would count as growth of one scrape. The scraper
of a capture (`raw_counters`) starts at the raw values, which is what a capture is about.

A store that continues another one (`saved_totals`) counts from its raw values and totals: what grew between is
counted by the same rules. If the other one may have counted after it was saved (a process that was killed), nobody
knows what it exported last. Growth that goes on without a gap comes out the same; a table of which a row fell, or was
not read, starts again at 0, since an exported total that falls to anything else would count as growth. What comes back
of it later is no growth either.

How a reading of a row is explained, in this order (see `epochs` for the first three):
  rebase    another server, or a start that proves nothing: no growth.
  restart   the row's instance started after the last reading, and its counters agree: what fell counts from zero.
  not_young the same, but most counters are not those of so young a server: no growth.
  reset     the generation column moved: the row counts from zero.
and a fall of raw values:
  clear     monState.CountersCleared moved: what fell counts from zero.
  dip       the row is a sum that the server made, of rows some of which have vanished: no growth until it is what it
            was, as they come back, or DIP_LASTS has passed.
  reset     the row had vanished before: what fell counts from zero.
  wrap      the row's pace makes a wrap plausible, for every column that fell.
  reset     all values of the row fell, or at most half of one is left: what fell counts from zero.
  dip       a value fell a little (rows are read without locks): no growth.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add, sub
from typing import Any, Literal, NamedTuple

import msgspec

from ase_exporter.metrics.columns import filled, minus, negative, row_at
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.epochs import (
    Change,
    Count,
    EpochReading,
    Epochs,
    Identity,
    Instance,
    Mark,
    Notice,
    change,
)
from ase_exporter.metrics.families import Family

Width = Literal["int", "unsigned int", "wide"]
Key = tuple[str | int | float | None, ...]
Labels = tuple[str, ...] | str
Raw = int | float
Column = list[Raw]
# Raw values by column, None where they are not known.
Table = Sequence[Sequence[Raw | None]]

EVENT_KINDS = ("clear", "dip", "not_young", "other_server", "reset", "restart", "start_moved", "wrap")
# A wrap is plausible if it implies at most this many times the row's last pace, plus some slack.
PACE_TOLERANCE = 8
PACE_SLACK = 1000
# Without a known pace: if it implies growth of at most this share of the counter's range.
NEAR_EDGE = 1 / 1024
# Seconds for which the value before the dip of a sum is kept.
DIP_LASTS = 300.0
# Seconds after which rows and series that are gone are forgotten.
FORGET_AFTER = 6 * 3600.0
MAX_ABSENT_ROWS = 20_000
MAX_IDLE_SERIES = 10_000
# Rows that were forgotten are recognized by a checksum of their key, of so many rows.
MAX_FORGOTTEN_ROWS = 100_000
# Of events at least so many are remembered, and twice as many as one reading had: a server holds no more.
MIN_REMEMBERED_EVENTS = 5_000

_EDGE = {"int": 1 << 31, "unsigned int": 1 << 32}
_MASK = (1 << 32) - 1


class CounterStore:
    """All counters of one target, by table, and what is known of its server.

    starts_at_raw: totals start at the raw values of the first reading instead of 0.
    on_rebase: called with one line when counters are re-based.
    events: how often each kind of decrease was met, counted per row (restart and re-bases: each once).
    news: how many events were new, and how often rows came, went or got another series.
    """

    def __init__(
        self, *, starts_at_raw: bool = False, on_rebase: Callable[[str], None] = lambda _: None
    ) -> None:
        self.starts_at_raw = starts_at_raw
        self.on_rebase = on_rebase
        self.events: Counter[str] = Counter()
        self.news = 0
        self.epochs = Epochs()
        self.tables: dict[str, TableCounters] = {}

    def identify(
        self, identity: Identity, readings: Mapping[Instance, EpochReading] | None, now: float
    ) -> None:
        """Note who answers after a login. readings: as for `observe`; None if they could not be read."""
        before = self.epochs.identity
        notice = self.epochs.identify(identity)
        if notice:
            self.note(notice, f"{identity} answers in place of {before}")
        if readings:
            self.observe(readings, now)
        elif not notice and (notice := self.epochs.lose()):
            self.note(notice, "the server does not say when it started")

    def observe(self, readings: Mapping[Instance, EpochReading], now: float) -> None:
        """Note when the server's instances started and were cleared (monState). now: monotonic seconds."""
        for instance, notice in self.epochs.observe(readings, now).items():
            of = "" if instance is None else f" of instance {instance}"
            self.note(notice, f"the start{of} has moved, which no restart since the last reading explains")

    def note(self, event: Notice | Literal["not_young"], why: str) -> None:
        """Count what has happened to all rows of an instance; everything but a restart is told."""
        self.events[event] += 1
        if event != "restart":
            self.on_rebase(why)

    def table(self, name: str, widths: Sequence[Width], *, by_instance: bool = False) -> "TableCounters":
        """The counters of one table; they start again if the widths of its columns have changed.

        by_instance: the last part of each key is the InstanceID of the row.
        """
        table = self.tables.get(name)
        if table is None or table.widths != tuple(widths):
            table = self.tables[name] = TableCounters(tuple(widths))
        table.join(self, by_instance=by_instance)
        return table

    @property
    def witnessed(self) -> int:
        """Grows with what no later reading would show again."""
        return self.events.total() + self.news

    def families(self) -> list[Family]:
        """The store's own metrics."""
        resets = [((kind,), float(self.events[kind])) for kind in EVENT_KINDS]
        rows = sum(table.remembered for table in self.tables.values())
        return [
            OWN.family("ase_exporter_resets_total", resets),
            OWN.value("ase_exporter_remembered_rows", rows),
        ]


class Absence(NamedTuple):
    """A vanished row: when it was last seen, and its values then."""

    seen_at: float
    row: tuple[Raw, ...]


class TableCounters(
    msgspec.Struct, array_like=True, dict=True, eq=False, forbid_unknown_fields=True
):  # dict: for what is not saved
    """The counters of one table: last raw values per row, totals per series. Its fields are what `saved_totals` keeps.

    Rows are identified by key, series by number (see `series`). Columns have the order of `widths`.
    reads: number of readings; read_at: monotonic time of the last one; keys, values, growth_of_rows: its rows, their
    raw values and growth by column; growth_seconds: how long that took to grow. absent: rows that have vanished;
    forgotten: checksums of those that are not remembered. generations: per row. labels: of each series, by number;
    series_read: when it was read last. totals: per column, one value per series number. top_rows: if only the top rows
    have series of their own, those rows and their rank values. seen: how often each event was seen in a reading, by
    checksum, the latest last; most_events: of one reading. marks: of each instance when its rows were last read.
    holes: cells that were unknown at the first reading or when they were re-based, by row and index of the column.
    renumbered: changes when series get other numbers.
    """

    widths: tuple[Width, ...]
    reads: Count = 0
    read_at: float = 0.0
    keys: Sequence[Key] = ()
    values: list[Column] = []
    growth_of_rows: list[Column] = []
    growth_seconds: float = 0.0
    absent: dict[Key, Absence] = {}
    forgotten: set[int] = set()
    generations: dict[Key, Key] = {}
    labels: list[Labels] = []
    series_read: list[float] = []
    totals: list[Column] = []
    top_rows: dict[Key, float] = {}
    seen: dict[int, Count] = {}
    most_events: Count = 0
    marks: dict[Instance, Mark] = {}
    holes: set[tuple[Key, Count]] = set()

    def __post_init__(self) -> None:
        """Look up rows and series by what has been restored."""
        self.values = self.values or [[] for _ in self.widths]
        self.totals = self.totals or [[] for _ in self.widths]
        self.renumbered = 0
        # Whether the totals were saved by a process that may have counted on.
        self.may_lag = False
        self._indexes = {key: index for index, key in enumerate(self.keys)}
        self._series = {labels: number for number, labels in enumerate(self.labels)}
        # The series number of each row at the last `add`.
        self._owners: Sequence[int] = ()
        # Whether each series then had one row, in the order of the rows.
        self._one_each = True
        # Of `epochs` when the marks were taken; the instances whose counters were cleared since the last reading.
        self._version = -1
        self._cleared: set[Instance] = set()
        # Sums that are lower than they were, and since when.
        self._dips: dict[Key, float] = {}
        self._last_events: Sequence[Sequence[Any]] = ()

    def join(self, store: CounterStore, *, by_instance: bool) -> None:
        """Belong to this store."""
        self._store = store
        self._by_instance = by_instance

    @property
    def counts_reading(self) -> bool:
        """Whether the latest reading adds to the totals; the first one does only if they start at raw values."""
        return self.reads > 1 or self._store.starts_at_raw

    @property
    def remembered(self) -> int:
        """Rows remembered, vanished ones included."""
        return len(self._indexes) + len(self.absent)

    def series(self, labels: Labels) -> int:
        """The number of the series with these labels, which is kept until `renumbered` changes."""
        number = self._series.get(labels)
        if number is None:
            number = self._series[labels] = len(self.labels)
            self.labels.append(labels)
            self.series_read.append(self.read_at)
            for totals in self.totals:
                totals.append(0)
        return number

    def growth(
        self,
        keys: Sequence[Key],
        columns: Table,
        now: float,
        generations: Sequence[Key] | None = None,
        *,
        sums: bool = False,
    ) -> list[Column]:
        """Take one reading of the table; returns each row's growth since the last reading, per column.

        keys: one per row, without duplicates; fastest if it is the same object as in the last reading.
        columns: raw values per counter column; None keeps the row's last value.
        now: monotonic seconds. generations: per row, a value that changes when the row's counters start again.
        sums: rows are sums of rows of the server.
        A row that was not in the first reading counts from zero, unless it was there once and has been forgotten.
        """
        elapsed = now - self.read_at
        before = self._before(keys, generations)
        whole = [filled(column, old) for column, old in zip(columns, before, strict=True)]
        fallen: list[int] = []
        if self.may_lag and self.reads and not self._goes_on(keys, columns, before, generations):
            fallen = self._fallen(keys, before, whole) if sums else []
            self._start_again(keys)
        self.may_lag = False
        if not self.reads:
            for index in fallen:
                whole = self._wait(keys[index], now, index, before, whole)
            self._note_holes(keys, columns, range(len(keys)))
            deltas: list[Column] = [
                [_unsigned(cell, self.widths[at]) if self._store.starts_at_raw else 0 for cell in column]
                for at, column in enumerate(whole)
            ]
            self._note_marks(keys)
            self._remember(keys, whole, [], generations, now, elapsed)
            return deltas
        before = self._after_epochs(keys, before, whole, columns)
        if self.forgotten:
            before = self._without_forgotten(keys, before, whole, columns)
        if self.holes:
            before = self._without_holes(keys, before, columns)
        deltas = [minus(column, old) for column, old in zip(whole, before, strict=True)]
        suspects: set[int] = set()
        dips, self._dips = self._dips, {}
        for index in [index for index, key in enumerate(keys) if key in dips] if dips else ():
            for growth in deltas:
                growth[index] = min(growth[index], 0)
        for width, growth, old in zip(self.widths, deltas, before, strict=True):
            suspects.update(negative(growth))
            if width != "wide":
                suspects.update(negative(old))
        for index in suspects:
            was, row = row_at(before, index), row_at(whole, index)
            explained = self._explain_fall(keys[index], was, row, elapsed, sums=sums)
            for growth, part in zip(deltas, explained, strict=True):
                growth[index] = part
            since = dips.get(keys[index], now)
            if sums and self._instance(keys[index]) not in self._cleared and now - since <= DIP_LASTS:
                whole = self._wait(keys[index], since, index, before, whole)
        self._remember(keys, whole, deltas, generations, now, elapsed)
        return deltas

    def add(self, owners: Sequence[int], deltas: Sequence[Column]) -> None:
        """Add the growth of each row to the total of its series. owners: per row, the number of its series."""
        if owners is not self._owners:
            self._store.news += owners != self._owners
            self.note_owners()
            self._owners = owners
            self._one_each = owners == list(range(len(owners)))
        for at, (totals, growth) in enumerate(zip(self.totals, deltas, strict=True)):
            if self._one_each and len(totals) == len(owners):
                self.totals[at] = list(map(add, totals, growth))
            elif len(totals) == 1:
                totals[0] += sum(growth)
            else:
                for owner, delta in zip(owners, growth, strict=True):
                    totals[owner] += delta

    def totals_of(self, series: Sequence[int]) -> list[Column]:
        """The totals of these series, by column."""
        if series is self._owners and self._one_each and len(series) == len(self.labels):
            return [totals.copy() for totals in self.totals]
        return [[totals[number] for number in series] for totals in self.totals]

    def known_series(self) -> list[tuple[Any, int]]:
        """Labels and number of every series."""
        return list(self._series.items())

    def new_events(self, rows: Sequence[Sequence[Any]], time: int, now: float) -> list[Sequence[Any]]:
        """The events that earlier readings did not contain. time: index of their time column.

        A server may show an event again: all that it holds to a new connection. Events are told apart by their whole
        row, not by their time, as the server's clock may go back; equal ones by how often they occur in a reading.
        """
        self.read_at = now
        self.reads += 1
        if rows == self._last_events:
            return []
        self._last_events = rows
        fresh: list[Sequence[Any]] = []
        present: Counter[int] = Counter()
        for row in rows:
            if row[time] is not None:
                checksum = _checksum(tuple(row))
                present[checksum] += 1
                if present[checksum] > self.seen.get(checksum, 0):
                    fresh.append(row)
        self._store.news += len(fresh)
        for checksum, count in present.items():
            # The latest ones come last.
            self.seen[checksum] = max(count, self.seen.pop(checksum, 0))
        self.most_events = max(self.most_events, len(rows))
        for checksum in list(self.seen)[: -max(MIN_REMEMBERED_EVENTS, 2 * self.most_events)]:
            del self.seen[checksum]
        return fresh

    def note_owners(self) -> None:
        """Note the time of the last reading for the series of its rows; deferred, as they rarely change."""
        for owner in self._owners:
            self.series_read[owner] = self.read_at

    def _goes_on(
        self, keys: Sequence[Key], columns: Table, before: list[Column], generations: Sequence[Key] | None
    ) -> bool:
        """Whether every row that was known is there and has grown, of every instance that was counting."""
        present = set(keys)
        unknown = {
            (key, at)
            for at, column in enumerate(columns)
            for key, cell in zip(keys, column, strict=True)
            if cell is None
        }
        grew = all(
            _unsigned(new, width) >= _unsigned(old, width)
            for width, column, old_column in zip(self.widths, columns, before, strict=True)
            for new, old in zip(column, old_column, strict=True)
            if new is not None
        )
        return (
            grew
            and self._indexes.keys() <= present
            and not self.absent.keys() & present
            and (not self.forgotten or self._indexes.keys() == present)
            and unknown == self.holes
            and not any(
                change(self.marks.get(each, Mark()), self._mark(each)) for each in self._instances(keys)
            )
            and generations in (None, [self.generations.get(key) for key in keys])
        )

    def _fallen(self, keys: Sequence[Key], before: list[Column], whole: list[Column]) -> list[int]:
        """The rows of which a value is lower than it was, of instances to which nothing has happened."""
        fallen = {
            index
            for width, old, new in zip(self.widths, before, whole, strict=True)
            for index in range(len(keys))
            if _unsigned(new[index], width) < _unsigned(old[index], width)
        }
        happened = {
            each: change(self.marks.get(each, Mark()), self._mark(each)) for each in self._instances(keys)
        }
        return [index for index in fallen if not happened[self._instance(keys[index])]]

    def _wait(
        self, key: Key, since: float, index: int, before: list[Column], whole: list[Column]
    ) -> list[Column]:
        """The values to remember while the sum of this row has dipped: what it was stays."""
        self._dips[key] = since
        whole = [column.copy() for column in whole]
        for column, old in zip(whole, before, strict=True):
            column[index] = max(column[index], old[index])
        return whole

    def _start_again(self, keys: Sequence[Key]) -> None:
        """Have the next reading, with these rows, be the first one, and its totals 0.

        What was known and is not there may come back, and is no new row then.
        """
        for key in (self._indexes.keys() | self.absent.keys()) - set(keys):
            self._forget(key)
        self.reads, self.keys, self._indexes, self.growth_of_rows = 0, (), {}, []
        self.values = [[] for _ in self.widths]
        self.totals = [[0] * len(totals) for totals in self.totals]
        self.absent.clear()
        self.generations.clear()
        self.holes.clear()
        self._dips.clear()

    def _instance(self, key: Key) -> Instance:
        return key[-1] if self._by_instance else None

    def _mark(self, instance: Instance) -> Mark:
        epochs = self._store.epochs
        return epochs.mark(instance) if self._by_instance or epochs.single else epochs.joint_mark()

    def _note_marks(self, keys: Sequence[Key]) -> None:
        instances = self._instances(keys)
        self.marks |= {each: self._mark(each) for each in instances}
        # What has happened to an instance without rows counts when it has some again.
        self._version = self._store.epochs.version if instances >= self.marks.keys() else -1

    def _instances(self, keys: Sequence[Key]) -> set[Instance]:
        return {key[-1] for key in keys} if self._by_instance else {None}

    def _before(self, keys: Sequence[Key], generations: Sequence[Key] | None) -> list[Column]:
        """The values from which each row's growth is counted, by column; zero if it counts from its start."""
        if keys is self.keys:
            before = self.values
        else:
            indexes = [self._indexes.get(key, -1) for key in keys]
            before = []
            for values in self.values:
                # Index -1 stands for zero.
                values = [*values[: len(self._indexes)], 0]
                before.append([values[index] for index in indexes])
            if self.absent:
                for index, key in enumerate(keys):
                    if key in self.absent:
                        for column, value in zip(before, self.absent[key].row, strict=True):
                            column[index] = value
        if generations is not None:
            known = self.generations
            moved = [
                index
                for index, (key, generation) in enumerate(zip(keys, generations, strict=True))
                if known.get(key, generation) != generation
            ]
            if moved:
                before = [column.copy() for column in before]
                for index in moved:
                    for column in before:
                        column[index] = 0
                    self._store.events["reset"] += 1
        return before

    def _note_holes(self, keys: Sequence[Key], columns: Table, rows: Iterable[int]) -> None:
        for at, column in enumerate(columns):
            self.holes |= {(keys[index], at) for index in rows if column[index] is None}

    def _without_holes(self, keys: Sequence[Key], before: list[Column], columns: Table) -> list[Column]:
        """The values from which growth is counted: a cell that was unknown at the base starts at what it has now."""
        before = [column.copy() for column in before]
        for at, (old, new) in enumerate(zip(before, columns, strict=True)):
            for index, key in enumerate(keys):
                if (key, at) in self.holes and (value := new[index]) is not None:
                    self.holes.remove((key, at))
                    old[index] = value
        return before

    def _after_epochs(
        self, keys: Sequence[Key], before: list[Column], whole: list[Column], columns: Table
    ) -> list[Column]:
        """The values from which growth is counted, after restarts, re-bases and clears since the last reading."""
        self._cleared.clear()
        if self._version == self._store.epochs.version:
            return before
        changes: dict[Instance, Change] = {}
        for instance in self._instances(keys):
            happened = change(self.marks.get(instance, Mark()), self._mark(instance))
            if happened == "clear":
                self._cleared.add(instance)
            elif happened:
                changes[instance] = happened
        self._note_marks(keys)
        if not changes:
            return before
        before = [column.copy() for column in before]
        for instance, happened in changes.items():
            rows = [index for index, key in enumerate(keys) if self._instance(key) == instance]
            if happened == "restart" and not self._is_young(instance, keys, rows, before, whole):
                self._store.note(
                    "not_young", "the start is later, but the counters are not those of so young a server"
                )
                happened = changes[instance] = "rebase"
            if happened == "rebase":
                self._note_holes(keys, columns, rows)
            # After a restart, what did not fall has grown by more than the difference, or has not been cleared.
            for old, new, width in zip(before, whole, self.widths, strict=True):
                for index in rows:
                    if happened == "rebase":
                        if keys[index] in self._dips:
                            # It goes on waiting.
                            new[index] = max(old[index], new[index])
                        old[index] = new[index]
                    elif _unsigned(new[index], width) < _unsigned(old[index], width):
                        old[index] = 0
        self._forget_instances(changes, set(keys))
        return before

    def _is_young(
        self,
        instance: Instance,
        keys: Sequence[Key],
        rows: Sequence[int],
        before: list[Column],
        whole: list[Column],
    ) -> bool:
        """Whether most counters of an instance's rows agree with its age: they fell, or are what its pace gives."""
        counted = agreeing = 0
        age = self._store.epochs.age(instance)
        for at, (old, new, width) in enumerate(zip(before, whole, self.widths, strict=True)):
            for index in rows:
                was, now = _unsigned(old[index], width), _unsigned(new[index], width)
                counted += was > 0
                agreeing += was > 0 and (now < was or now <= self._usual_growth(keys[index], at, age))
        return 2 * agreeing >= counted

    def _usual_growth(self, key: Key, position: int, seconds: float) -> float:
        """How much a counter may grow in that time by the row's last pace; 0 if that is not known."""
        index = self._indexes.get(key)
        growth = self.growth_of_rows[position] if self.growth_of_rows else ()
        if index is None or not len(growth) or self.growth_seconds <= 0:
            return 0.0
        pace: float = growth[index] / self.growth_seconds
        return PACE_TOLERANCE * pace * seconds + PACE_SLACK

    def _forget_instances(self, changes: Mapping[Instance, Change], present: set[Key]) -> None:
        """Forget the rows of these instances: what comes back of them is not what it was.

        After a restart, it counts from zero. After a re-base, it may have been there all the time.
        """
        if not self._by_instance and "restart" in changes.values():
            self.forgotten.clear()
        for known in (self._indexes, self.absent, self.generations):
            for key in [key for key in known if self._instance(key) in changes]:
                if changes[self._instance(key)] == "rebase" and key not in present:
                    self._forget(key)
                del known[key]
        self.keys = ()
        self.growth_of_rows = []

    def _forget(self, key: Key) -> None:
        if len(self.forgotten) < MAX_FORGOTTEN_ROWS:
            self.forgotten.add(_checksum(key))

    def _without_forgotten(
        self, keys: Sequence[Key], before: list[Column], whole: list[Column], columns: Table
    ) -> list[Column]:
        """The values from which growth is counted: a row that was forgotten starts at what it has now."""
        if keys is self.keys:
            return before
        known = self._indexes
        unknown = [index for index, key in enumerate(keys) if key not in known and key not in self.absent]
        full = len(self.forgotten) >= MAX_FORGOTTEN_ROWS
        for index in unknown:
            if full or _checksum(keys[index]) in self.forgotten:
                self._note_holes(keys, columns, [index])
                for old, new in zip(before, whole, strict=True):
                    old[index] = new[index]
        return before

    def _explain_fall(
        self, key: Key, before: tuple[Raw, ...], row: tuple[Raw, ...], elapsed: float, *, sums: bool
    ) -> list[Raw]:
        """The growth per column of a row in which values fell or changed their sign."""
        events = self._store.events
        old, new = self._unsigned(before), self._unsigned(row)
        growth = list(map(sub, new, old))
        fallen = [position for position, delta in enumerate(growth) if delta < 0]
        events["wrap"] += sum(
            was >= 0 > now <= delta for was, now, delta in zip(before, row, growth, strict=True)
        )
        if not fallen:
            return growth
        if self._instance(key) in self._cleared:
            events["clear"] += 1
            return [new[at] if at in fallen else delta for at, delta in enumerate(growth)]
        wrapped = {at: self._growth_by_wrap(key, at, old[at], new[at], elapsed) for at in fallen}
        if key not in self.absent and all(delta is not None for delta in wrapped.values()):
            events["wrap"] += len(fallen)
            return [wrapped.get(at) or delta for at, delta in enumerate(growth)]
        all_fell = len(fallen) > 1 and len(fallen) == sum(map(bool, old))
        halved = any(new[at] <= old[at] / 2 for at in fallen)
        if not sums and (key in self.absent or all_fell or halved):
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
        limit = self._usual_growth(key, position, elapsed) or edge * NEAR_EDGE
        growth = edge - old + new
        return growth if growth <= limit else None

    def _unsigned(self, row: tuple[Raw, ...]) -> tuple[Raw, ...]:
        return tuple(map(_unsigned, row, self.widths))

    def _remember(
        self,
        keys: Sequence[Key],
        columns: list[Column],
        deltas: list[Column],
        generations: Sequence[Key] | None,
        now: float,
        elapsed: float,
    ) -> None:
        if keys is not self.keys:
            indexes = {key: index for index, key in enumerate(keys)}
            for key in indexes.keys() & self.absent.keys():
                del self.absent[key]
            for key, index in self._indexes.items():
                if key not in indexes:
                    self.absent[key] = Absence(self.read_at, row_at(self.values, index))
            self.keys, self._indexes = keys, indexes
        self._forget_rows(now)
        self._forget_series(now, len(keys))
        self.growth_of_rows = deltas if elapsed > 0 else []
        self.growth_seconds = elapsed
        if generations is not None:
            self.generations.update(zip(keys, generations, strict=True))
        self.values = columns
        self.read_at = now
        self.reads += 1

    def _forget_rows(self, now: float) -> None:
        surplus = len(self.absent) - MAX_ABSENT_ROWS
        for key in list(self.absent):
            if surplus <= 0 and now - self.absent[key].seen_at <= FORGET_AFTER:
                break
            del self.absent[key]
            self.generations.pop(key, None)
            self._forget(key)
            surplus -= 1

    def _forget_series(self, now: float, rows: int) -> None:
        """Drop series that have had no row for a long time; the others get new numbers."""
        if len(self.labels) <= MAX_IDLE_SERIES + rows:
            return
        self.note_owners()
        self._owners = ()
        by_age = sorted(range(len(self.labels)), key=self.series_read.__getitem__, reverse=True)
        kept = [
            number
            for number in by_age[: rows + MAX_IDLE_SERIES // 2]
            if now - self.series_read[number] <= FORGET_AFTER
        ]
        self.renumbered += 1
        self.totals = [[totals[number] for number in kept] for totals in self.totals]
        self.series_read = [self.series_read[number] for number in kept]
        self.labels = [self.labels[number] for number in kept]
        self._series = {labels: number for number, labels in enumerate(self.labels)}


def _unsigned(value: Raw, width: Width) -> Raw:
    return value if width == "wide" else int(value) & _MASK


def _checksum(row: tuple[Any, ...]) -> int:
    return zlib.crc32(repr(row).encode())
