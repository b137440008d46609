"""Statements: growth between readings, proved over generated histories, and changes of what is usual."""

import random
from typing import Any

import pytest

from ase_exporter.sessions.statements import COSTS, MARKED, StatementTracker

START = 1_700_000_000.0


class Cache:
    """A statement cache: plans that run and leave. ran: how often each statement did since the last reading."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.plans: dict[int, dict[str, Any]] = {}
        self.ran: dict[str, int] = {}

    def step(self) -> None:
        """Let some plans run, one leave, one be compiled again, and one come."""
        self.ran = {}
        for number, plan in self.plans.items():
            uses = self.chance.randrange(4)
            for column, each in _EACH.items():
                plan[column] += uses * each
            if uses and number not in self.fresh:
                name = f"#{plan['Hashkey'] & 0xFFFFFFFF:08x}"
                self.ran[name] = self.ran.get(name, 0) + uses

    def look(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of the cache; what comes after counts from here."""
        rows = [dict(plan) for plan in self.plans.values()]
        self.fresh: set[int] = set()
        for _ in range(2):
            number = self.chance.randrange(10_000)
            hashkey = self.chance.choice([7, -9, 1 << 31])
            plan = {"SSQLID": number, "Hashkey": hashkey, "DBName": "a", "CachedDate": number}
            self.plans[number] = plan | dict.fromkeys(_EACH, 0)
            self.fresh.add(number)
        if len(self.plans) > 8:
            del self.plans[next(iter(self.plans))]
        return {"cached_statements": rows}


# What one use adds to the counters of a plan, and to the costs that are shown (seconds for milliseconds).
_EACH = {"UseCount": 1, "TotalCpuTime": 3, "TotalElapsedTime": 7, "TotalLIO": 50, "TotalPIO": 2}
_COST = (1, 0.003, 0.007, 50, 2)


def test_growth_is_what_ran_between_two_readings() -> None:
    for seed in range(20):
        cache, tracker = Cache(seed), StatementTracker()
        for number in range(30):
            found = tracker.note(cache.look(), float(number), START + number)
            known = {each.name: [getattr(each, cost) for cost in COSTS] for each in found}
            for name, uses in cache.ran.items():
                assert known[name] == pytest.approx([uses * each for each in _COST])
            assert known.keys() == cache.ran.keys()
            cache.step()


def test_a_plan_that_is_compiled_again_is_not_compared_with_the_one_before() -> None:
    tracker = StatementTracker()
    assert tracker.note(procedure(uses=100, reads=4000, plan=1), 0.0, START) == []
    assert tracker.note(procedure(uses=3, reads=90, plan=2), 10.0, START + 10) == []
    (found,) = tracker.note(procedure(uses=5, reads=150, plan=2), 20.0, START + 20)
    assert (found.name, found.uses, found.reads, found.window) == ("new_order", 2, 60, 10.0)
    # A counter that has wrapped says nothing, and the others go on.
    (found,) = tracker.note(procedure(uses=9, reads=-(2**31), plan=2), 30.0, START + 30)
    assert (found.uses, found.reads) == (4, None)


def procedure(uses: int, reads: int, plan: int = 1, cpu: int = 0) -> dict[str, list[dict[str, Any]]]:
    totals = {"ExecutionCount": uses, "CPUTime": cpu, "ExecutionTime": uses, "LogicalReads": reads}
    row = {
        "PlanID": plan,
        "ObjectID": 7,
        "ObjectName": "new_order",
        "DBName": "shop",
        "CompileDate": plan,
        "PhysicalReads": 0,
    }
    return {"cached_procedures": [row | totals]}


@pytest.mark.parametrize(
    ("cost", "change"), [("reads", "40 -> 900 reads each"), ("cpu", "40.0 -> 900.0 ms CPU each")]
)
def test_a_bad_plan_is_a_marked_change_until_it_is_gone(cost: str, change: str) -> None:
    tracker, uses, spent = StatementTracker(), 0, 0
    seen: list[str] = []
    since: list[float] = []
    for number, each in enumerate([40] * 10 + [900] * 10 + [40] * 5):
        uses, spent = uses + 10, spent + 10 * each
        steady = {"reads": 10 * number, "cpu": number}
        rows = procedure(uses, **(steady | {cost: spent}))
        for found in tracker.note(rows, number * 10.0, START + number * 10):
            seen.append(found.change)
            since.append(found.since)
    assert seen == [""] * 9 + [change] * 10 + [""] * 5
    assert set(since[9:19]) == {START + 100}
    assert MARKED * 40 < 900


def test_what_a_version_does_not_count_is_absent() -> None:
    tracker = StatementTracker()
    rows = {"cached_statements": [{"SSQLID": 1, "Hashkey": 5, "DBName": "a", "UseCount": 1}]}
    tracker.note(rows, 0.0, START)
    rows["cached_statements"][0]["UseCount"] = 4
    (found,) = tracker.note(rows, 1.0, START)
    assert (found.uses, found.cpu, found.each("reads"), found.change) == (3, None, None, "")
