"""Statements that cost most between two readings of the caches: by procedure or by hash. Pure.

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
    """One statement over a window. name: a procedure, or the hash of a statement.

    number: of its text in the cache, None of others. window: seconds. uses: executions in it; cpu, elapsed
    (seconds), reads, physical_reads: of all of them, None if the server does not count them. usual_reads, usual_cpu:
    logical reads and CPU seconds of one execution before, None if not known yet. since: Unix time from which on one
    takes MARKED times as much of either, 0 if it does not.
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
    usual_cpu: float | None = None

    def each(self, cost: str) -> float | None:
        total: float | None = getattr(self, cost)
        return total / self.uses if total is not None and self.uses else None

    @property
    def change(self) -> str:
        """How much more it reads, or else how much more CPU it takes, than before, in words; '' if it does not."""
        reads, cpu = self.each("reads"), self.each("cpu")
        if self.since and _is_marked("reads", reads, self.usual_reads):
            return f"{self.usual_reads:.0f} -> {reads:.0f} reads each"
        if self.since and _is_marked("cpu", cpu, self.usual_cpu):
            return f"{_ms(self.usual_cpu)} -> {_ms(cpu)} ms CPU each"
        return ""


# What one execution takes at least if it is marked, divided by MARKED: the server counts CPU time in milliseconds.
_LEAST = {"reads": 1.0, "cpu": 0.002}


def _is_marked(cost: str, now: float | None, usual: float | None) -> bool:
    return now is not None and usual is not None and now >= MARKED * max(usual, _LEAST[cost])


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.1f}"


@dataclass(slots=True)
class _Usual:
    """What one execution takes, as moving averages by cost. since: Unix time since when it takes far more, or 0."""

    of: dict[str, float]
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

    def note(
        self, rows: Mapping[str, Iterable[Mapping[str, Any]]], now: float, at: float
    ) -> list[StatementCost]:
        """The most expensive statements since the last reading, by CPU. now: monotonic; at: Unix time."""
        readings = {each.key: each for each in _readings(rows)}
        before, began = self._last, self._read_at
        self._last, self._read_at = readings, now
        if began is None or now <= began:
            return []
        both = ((each, before[key]) for key, each in readings.items() if key in before)
        grown = filter(None, (_growth(*pair, now - began) for pair in both))
        return _leading([self._compared(each, at) for each in _by_name(grown)])

    def _compared(self, found: StatementCost, at: float) -> StatementCost:
        now = {cost: each for cost in _LEAST if (each := found.each(cost)) is not None}
        if not now or found.uses < MIN_USES:
            return found
        key = f"{found.database} {found.name}"
        usual = self._usual.pop(key, None) or _Usual({})
        marked = [cost for cost, each in now.items() if _is_marked(cost, each, usual.of.get(cost))]
        usual.since = (usual.since or at) if marked else 0.0
        for cost in now.keys() - marked:
            # What is usual stays what it was while it is marked: a bad plan must not become that.
            before = usual.of.setdefault(cost, now[cost])
            usual.of[cost] += (now[cost] - before) * _NEW_WEIGHT
        # The one that has not been seen for longest comes first.
        self._usual[key] = usual
        if len(self._usual) > _MAX_USUAL:
            del self._usual[next(iter(self._usual))]
        return replace(
            found, usual_reads=usual.of.get("reads"), usual_cpu=usual.of.get("cpu"), since=usual.since
        )


def _readings(rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> Iterator[_Reading]:
    for source, columns in _COLUMNS.items():
        for row in rows.get(source, ()):
            totals = {cost: row.get(column) for cost, column in zip(COSTS, columns, strict=True)}
            database = cell_text(row.get("DBName"))
            if source == "cached_statements":
                key = source, row["SSQLID"], row.get("CachedDate")
                name = f"#{row['Hashkey'] & 0xFFFFFFFF:08x}"
                yield _Reading(key, name, database, row["SSQLID"], totals)
            else:
                key = source, row["PlanID"], row.get("CompileDate")
                yield _Reading(key, cell_text(row["ObjectName"]), database, None, totals)


def _growth(now: _Reading, before: _Reading, window: float) -> StatementCost | None:
    """What one plan did; None if it did not run, or was counted from zero again."""
    grown: dict[str, Any] = {}
    for cost in COSTS:
        new, old = now.totals[cost], before.totals[cost]
        growth = None if new is None or old is None or new < old else float(new - old)
        grown[cost] = growth / 1000 if growth and cost in _IN_MILLISECONDS else growth
    uses = grown.pop("uses")
    return StatementCost(now.name, now.database, now.number, window, uses, **grown) if uses else None


def _summed(one: StatementCost, other: StatementCost) -> StatementCost:
    """The cost of both; what the other one says of its change."""
    costs: dict[str, Any] = {}
    for cost in COSTS:
        first, second = getattr(one, cost), getattr(other, cost)
        costs[cost] = None if first is None or second is None else first + second
    return replace(other, **costs)


def _by_name(found: Iterable[StatementCost]) -> Iterable[StatementCost]:
    total: dict[tuple[str, str], StatementCost] = {}
    for each in found:
        key = each.name, each.database
        total[key] = _summed(total[key], each) if key in total else each
    return total.values()


def _leading(found: list[StatementCost]) -> list[StatementCost]:
    chosen: dict[tuple[str, str], StatementCost] = {}
    for cost in COSTS:
        for each in sorted(found, key=lambda each: -(getattr(each, cost) or 0.0))[:MAX_EACH]:
            chosen[each.name, each.database] = each
    return sorted(chosen.values(), key=lambda each: (-(each.cpu or 0.0), -(each.reads or 0.0), each.name))


def cell_text(cell: Any) -> str:
    """What a cell holds, as one line."""
    return one_line(str(cell if cell is not None else "").strip())
