"""Statements that cost most between two readings, by procedure or by hash. Pure.

Each statement is compared with what it was like before: a bad plan reads more pages in each execution.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ase_exporter.untrusted.entry import one_line

# Statements of one reading: the leading ones by each cost.
MAX_EACH = 20
# Executions without which the cost of one says little, and the growth from which on it is a change.
MIN_USES, MARKED = 5.0, 3.0
# The weight of a new reading in what is usual, and the number of statements of which that is kept.
_NEW_WEIGHT, _MAX_USUAL = 0.1, 5000

COSTS = ("uses", "cpu", "elapsed", "reads", "physical_reads")
_COLUMNS = {
    "cached_statements": ("UseCount", "TotalCpuTime", "TotalElapsedTime", "TotalLIO", "TotalPIO"),
    "cached_procedures": ("ExecutionCount", "CPUTime", "ExecutionTime", "LogicalReads", "PhysicalReads"),
}
_IN_MILLISECONDS = ("cpu", "elapsed")


@dataclass(frozen=True, slots=True)
class StatementCost:
    """One statement over a window. name: database and procedure, or the hash of a cached statement.

    number: of its text in the cache, None of procedures. window: seconds. uses: executions in it; cpu, elapsed
    (seconds), reads, physical_reads: of all of them, None if the server does not count them. usual_reads: logical reads
    of one execution before, None if not known yet. since: Unix time from which on one takes MARKED times as many, 0 if
    it does not.
    """

    name: str
    database: str
    number: int | None
    window: float
    uses: float
    cpu: float | None
    elapsed: float | None
    reads: float | None
    physical_reads: float | None
    usual_reads: float | None = None
    since: float = 0.0

    def each(self, cost: str) -> float | None:
        """The cost of one execution."""
        total: float | None = getattr(self, cost)
        return total / self.uses if total is not None and self.uses else None

    @property
    def change(self) -> str:
        """How much more it reads than before, in words; '' if it does not."""
        now = self.each("reads")
        if not self.since or now is None or self.usual_reads is None:
            return ""
        return f"{self.usual_reads:.0f} -> {now:.0f} reads each"


@dataclass(slots=True)
class _Usual:
    """Logical reads of one execution, as a moving average. since: Unix time since when it takes far more, or 0."""

    reads: float
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class _Reading:
    """The totals of one plan by cost, as the server has them. key: a plan that is compiled again has another."""

    key: tuple[Any, ...]
    name: str
    database: str
    number: int | None
    totals: Mapping[str, int | None]


class StatementTracker:
    """Takes readings of the caches, and says what grew between two of them."""

    def __init__(self) -> None:
        self._last: dict[tuple[Any, ...], _Reading] = {}
        self._read_at: float | None = None
        self._usual: dict[str, _Usual] = {}

    def forget(self) -> None:
        """Forget all readings: another server may answer."""
        self.__init__()  # type: ignore[misc]

    def note(
        self, rows: Mapping[str, Iterable[Mapping[str, Any]]], now: float, at: float
    ) -> list[StatementCost]:
        """The most expensive statements since the last reading, by CPU. now: monotonic; at: Unix time."""
        readings = {each.key: each for each in _readings(rows)}
        before, began = self._last, self._read_at
        self._last, self._read_at = readings, now
        if began is None or now <= began:
            return []
        grown: dict[tuple[str, str], StatementCost] = {}
        for key, reading in readings.items():
            found = _growth(reading, before[key], now - began) if key in before else None
            if found:
                own = found.name, found.database
                grown[own] = summed(grown[own], found) if own in grown else found
        return _leading([self._compared(each, at) for each in grown.values()])

    def _compared(self, found: StatementCost, at: float) -> StatementCost:
        now = found.each("reads")
        if now is None or found.uses < MIN_USES:
            return found
        key = f"{found.database} {found.name}"
        usual = self._usual.pop(key, None) or _Usual(now)
        if now >= MARKED * max(usual.reads, 1.0):
            # What is usual stays what it was: a bad plan must not become that.
            usual.since = usual.since or at
        else:
            usual.since = 0.0
            usual.reads += (now - usual.reads) * _NEW_WEIGHT
        # The one that has not been seen for longest comes first.
        self._usual[key] = usual
        if len(self._usual) > _MAX_USUAL:
            del self._usual[next(iter(self._usual))]
        return replace(found, usual_reads=usual.reads, since=usual.since)


def _readings(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Iterator[_Reading]:
    for source, columns in _COLUMNS.items():
        for row in rows.get(source, ()):
            totals = {cost: row.get(column) for cost, column in zip(COSTS, columns, strict=True)}
            database = _text(row.get("DBName"))
            if source == "cached_statements":
                key = source, row["SSQLID"], row.get("CachedDate")
                yield _Reading(key, f"#{row['Hashkey'] & 0xFFFFFFFF:08x}", database, row["SSQLID"], totals)
            else:
                key = source, row["PlanID"], row.get("CompileDate")
                yield _Reading(key, _text(row["ObjectName"]), database, None, totals)


def _growth(now: _Reading, before: _Reading, window: float) -> StatementCost | None:
    """What one plan did; None if it did not run, or was counted from zero again."""
    grown: dict[str, Any] = {}
    for cost in COSTS:
        new, old = now.totals[cost], before.totals[cost]
        growth = None if new is None or old is None or new < old else float(new - old)
        grown[cost] = growth / 1000 if growth and cost in _IN_MILLISECONDS else growth
    uses = grown.pop("uses")
    return StatementCost(now.name, now.database, now.number, window, uses, **grown) if uses else None


def summed(one: StatementCost, other: StatementCost) -> StatementCost:
    """The cost of both; what the other one says of its change."""
    costs: dict[str, Any] = {}
    for cost in COSTS:
        first, second = getattr(one, cost), getattr(other, cost)
        costs[cost] = None if first is None or second is None else first + second
    return replace(other, **costs)


def _leading(found: list[StatementCost]) -> list[StatementCost]:
    chosen: dict[tuple[str, str], StatementCost] = {}
    for cost in COSTS:
        for each in sorted(found, key=lambda each: -(getattr(each, cost) or 0.0))[:MAX_EACH]:
            chosen[each.name, each.database] = each
    return sorted(chosen.values(), key=lambda each: (-(each.cpu or 0.0), -(each.reads or 0.0), each.name))


def _text(cell: Any) -> str:
    return one_line(str(cell if cell is not None else "").strip())
