"""Changes get their verdicts by themselves, once each, when enough time has passed."""

import asyncio
import time

from tests.exporter.compare.conftest import History

from ase_exporter.changes.change import ANNOTATION, Change
from ase_exporter.changes.config import ChangesConfig
from ase_exporter.changes.journal import Journal
from ase_exporter.compare.config import VerdictConfig
from ase_exporter.compare.judge import Judge
from ase_exporter.families import Family

SETTLE = 30.0
LENGTH = 600.0


def change(number: int, at: float, name: str, kind: str = "option") -> Change:
    return Change(f"id{number}", "ASE1", kind, name, "0", "1", at)


def judged(
    history: History, changes: list[Change], now: float, *, url: str = ""
) -> tuple[list[Change], list[Family]]:
    """All that the journal holds, and the metrics, after two rounds of the judge."""

    async def rounds() -> tuple[list[Change], list[Family]]:
        journal = Journal(ChangesConfig(), None)
        await journal.start()
        for each in changes:
            await journal.annotate(each)
        config = VerdictConfig(prometheus=url or history.url, settle=SETTLE, length=LENGTH)
        judge = Judge(config, journal, lambda: ["ASE1"])
        await judge.judge_due(now)
        await judge.judge_due(now)
        found = journal.recent("ASE1"), judge.families("ASE1")
        await journal.stop()
        return found

    return asyncio.run(rounds())


def marks(history: History) -> list[Change]:
    return [change(number, history.starts[number], history.phases[number].name) for number in (1, 2, 3)]


def test_every_change_gets_one_verdict_at_its_mark(history: History) -> None:
    kept, _ = judged(history, marks(history), time.time())
    verdicts = [each for each in kept if "verdict" in each.tags]
    assert [each.at for each in verdicts] == history.starts[1:]
    assert all(each.kind == ANNOTATION for each in verdicts)
    first, second, third = (each.name for each in verdicts)
    assert "better: CPU busy" in first
    assert "Contention of system tables cache" in first.split("worse")[0]
    assert "better" not in second
    assert "no evidence in" in second
    assert "worse: CPU busy" in third


def test_the_verdicts_are_metrics_too(history: History) -> None:
    _, (family,) = judged(history, marks(history), time.time())
    by_labels = {
        dict(zip(family.labels, values, strict=True))["name"]: value
        for values, value in family.samples
        if "cpu_busy" in values
    }
    assert -0.06 < by_labels["TSX"] < -0.03
    assert 0.08 < by_labels["busy"] < 0.13
    verdicts = {values[-1] for values, _ in family.samples}
    assert {"better", "worse"} <= verdicts


def test_a_change_is_not_judged_before_enough_time_has_passed(history: History) -> None:
    soon = history.starts[1] + SETTLE + LENGTH - 1
    kept, families = judged(history, marks(history)[:1], soon)
    assert [each.name for each in kept] == ["TSX"]
    assert families == []


def test_changes_made_together_are_judged_once(history: History) -> None:
    at = history.starts[1]
    together = [change(1, at - 20, "TSX"), change(2, at, "HCB")]
    kept, _ = judged(history, together, time.time())
    assert len([each for each in kept if "verdict" in each.tags]) == 1


def test_without_prometheus_there_is_no_verdict_and_no_error(history: History) -> None:
    kept, families = judged(history, marks(history), time.time(), url="http://127.0.0.1:1")
    assert len(kept) == 3
    assert families == []


def test_annotations_and_cleared_counters_are_not_judged(history: History) -> None:
    at = history.starts[1]
    harmless = [change(1, at, "Started ALTER", ANNOTATION), change(2, at + 100, "", "counters_cleared")]
    kept, _ = judged(history, harmless, time.time())
    assert len(kept) == 2
