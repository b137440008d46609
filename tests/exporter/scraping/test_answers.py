"""Results that are swapped, shifted, renamed or of other types never become series, and the log says so."""

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from tests.exporter.clocks import ShiftedClock
from tests.exporter.simulated import run

from ase_exporter.ase.cost import Cost
from ase_exporter.catalogue import PlannedCollector, ServerFacts, load_catalogue, plan, read_facts
from ase_exporter.config import Module
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.scraping.budget import Budget
from ase_exporter.scraping.module_collector import ModuleCollector
from ase_exporter.scraping.result import ScrapeResult

CATALOGUE, _ = load_catalogue()


class FakeRow(tuple[Any, ...]):
    """A row as pyodbc gives it."""

    cursor_description: Sequence[tuple[Any, ...]]


Answer = list[FakeRow]


def answer(rows: Sequence[Sequence[Any]], description: Sequence[tuple[Any, ...]]) -> Answer:
    made = [FakeRow(row) for row in rows]
    for row in made:
        row.cursor_description = description
    return made


class Answers:
    """A session that gives recorded answers. spoil: what becomes of the answers to a batch, or to one select."""

    def __init__(self, recorded: dict[str, Answer]) -> None:
        self.recorded = recorded
        self.cost = Cost()
        self.spoil: Callable[[list[Answer]], list[Answer]] = list
        self.spoil_alone: Callable[[list[Answer]], list[Answer]] = list

    def query_batch(self, selects: Sequence[str], _: object) -> Iterator[Answer]:
        yield from self.spoil([self.recorded[sql] for sql in selects])

    def query(self, sql: str, _: float) -> list[Any]:
        if sql not in self.recorded:
            return [(int(sql.removeprefix("select ")),)]
        return self.spoil_alone([self.recorded[sql]])[0]


@pytest.fixture(scope="module")
def recorded() -> tuple[ServerFacts, dict[str, Answer]]:
    """What a server answers to each select of the default collectors."""
    with run("16.0 SP04", "quiet-oltp", speed=0.0) as server, server.login("monitor") as query:
        facts = read_facts(query)
        answers = {}
        for planned in plan(CATALOGUE, facts):
            if sql := planned.statement:
                rows: Any = query(sql)
                answers[sql] = answer(rows, rows[0].cursor_description if rows else ())
    return facts, answers


def swap_columns(one: Answer, first: int, second: int) -> Answer:
    def swapped(cells: Sequence[Any]) -> tuple[Any, ...]:
        changed = list(cells)
        changed[first], changed[second] = changed[second], changed[first]
        return tuple(changed)

    return answer([swapped(row) for row in one], swapped(one[0].cursor_description))


def rename(one: Answer, at: int, name: str) -> Answer:
    description = list(one[0].cursor_description)
    description[at] = (name, *description[at][1:])
    return answer(one, description)


def retype(one: Answer, at: int) -> Answer:
    """Numbers where texts or dates were, and texts where numbers were."""

    def other(cell: Any) -> Any:
        if cell is None:
            return None
        return f"x{cell}" if isinstance(cell, (int, float, Decimal)) else 7

    description = list(one[0].cursor_description)
    description[at] = (description[at][0], type(other(one[0][at])), *description[at][2:])
    return answer([(*row[:at], other(row[at]), *row[at + 1 :]) for row in one], description)


def drop(one: Answer, at: int) -> Answer:
    def without(cells: Sequence[Any]) -> tuple[Any, ...]:
        return (*cells[:at], *cells[at + 1 :])

    return answer([without(row) for row in one], without(one[0].cursor_description))


def spoiled(chance: random.Random) -> Callable[[list[Answer]], list[Answer]]:
    """A random way to spoil answers of which at least one has rows."""
    kinds = ("swap", "shift", "columns", "rename", "drop", "repeat", "type")
    kind, seed = chance.choice(kinds), chance.random()

    def spoil(answers: list[Answer]) -> list[Answer]:
        dice, changed = random.Random(seed), list(answers)
        full = [at for at, each in enumerate(changed) if each]
        if not full:
            return changed
        at = dice.choice(full)
        width = len(changed[at][0])
        match kind:
            case "swap":
                other = dice.randrange(len(changed))
                changed[at], changed[other] = changed[other], changed[at]
            case "shift":
                by = dice.randrange(len(changed))
                changed = changed[by:] + changed[:by]
            case "repeat":
                changed = [*changed[:at], changed[at], *changed[at:]][: len(changed)]
            case "columns" if width > 1:
                changed[at] = swap_columns(changed[at], *dice.sample(range(width), 2))
            case "type":
                changed[at] = retype(changed[at], dice.randrange(width))
            case "drop" if width > 1:
                changed[at] = drop(changed[at], dice.randrange(width))
            case _:
                changed[at] = rename(changed[at], dice.randrange(width), dice.choice(["Waits", "x", ""]))
        return changed

    return spoil


def series(result: ScrapeResult) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (family.name, tuple(labels)): value
        for families in result.collected.values()
        for family in families
        for labels, value in family.samples
    }


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_spoiled_answers_give_no_wrong_series(
    recorded: tuple[ServerFacts, dict[str, Answer]], caplog: pytest.LogCaptureFixture, count: int
) -> None:
    facts, answers = recorded
    session, chance = Answers(answers), random.Random(33)
    counters = CounterStore(starts_at_raw=True)
    collector = ModuleCollector("ONE", Module(), Budget(None), 60.0, counters=counters)
    collector.make_plan(CATALOGUE, facts)

    def read() -> ScrapeResult:
        result = ScrapeResult(deadline=float("inf"))
        # No collector is left out because it was read a moment ago.
        collector._last.clear()
        collector.read(result, session)  # type: ignore[arg-type]
        return result

    truth = series(read())
    assert len(truth) > 500
    lost = 0
    for number in range(count):
        session.spoil = spoiled(chance)
        session.spoil_alone = spoiled(chance) if chance.random() < 0.3 else list
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            result = read()
        found = series(result)
        assert found.items() <= truth.items(), number
        unread = [name for name, outcome in result.outcomes.items() if outcome.reason]
        assert unread or len(found) == len(truth)
        lost += bool(unread)
        if unread:
            assert caplog.records
        session.spoil = session.spoil_alone = list
        assert series(read()) == truth, number
    assert lost > count / 10


def test_each_table_of_a_batch_has_its_own_time(recorded: tuple[ServerFacts, dict[str, Answer]]) -> None:
    facts, answers = recorded
    shifted = ShiftedClock()
    session = Answers(answers)
    collector = ModuleCollector("ONE", Module(), Budget(None), 60.0, shifted.clock)
    collector.make_plan(CATALOGUE, facts)

    def slowly(batch: list[Answer]) -> Iterator[Answer]:
        for each in batch:
            shifted.ahead += 3.0
            yield each

    session.spoil = slowly  # type: ignore[assignment]  # a batch is only read in order
    collector.read(result := ScrapeResult(deadline=float("inf")), session)  # type: ignore[arg-type]
    times = sorted({family.read_at or 0.0 for families in result.collected.values() for family in families})
    assert len(times) > 10
    assert all(later - earlier >= 3.0 for earlier, later in pairwise(times))


def test_these_answers_find_an_exporter_that_reads_by_position(
    recorded: tuple[ServerFacts, dict[str, Answer]],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PlannedCollector, "mismatch", lambda *_: "")
    with pytest.raises(AssertionError):
        test_spoiled_answers_give_no_wrong_series(recorded, caplog, 50)
