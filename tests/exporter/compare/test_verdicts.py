"""Automatic verdicts: one per change, when enough time has passed."""

import asyncio
import time
from unittest.mock import patch

from tests.exporter.compare.conftest import History

from ase_exporter.changes.change import ANNOTATION, Change
from ase_exporter.changes.journal import Journal
from ase_exporter.compare import verdicts
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.verdicts import VerdictService
from ase_exporter.config.changes import ChangesConfig, VerdictConfig
from ase_exporter.metrics.families import Family

SETTLE = 30.0
LENGTH = 600.0


def change(number: int, at: float, name: str, kind: str = "option") -> Change:
    return Change(f"id{number}", "ASE1", kind, name, "0", "1", at)


def after_verdicts(
    history: History, changes: list[Change], now: float, *, down: int = 0
) -> tuple[list[Change], list[Family]]:
    """The recent changes in the journal, and the metrics, after the service has run twice.

    down: how often it ran before, while Prometheus did not answer.
    """

    async def rounds() -> tuple[list[Change], list[Family]]:
        journal = Journal(ChangesConfig(), None)
        await journal.start()
        for each in changes:
            await journal.annotate(each)
        config = VerdictConfig(prometheus=history.url, settle=SETTLE, length=LENGTH)
        service = VerdictService(config, journal, lambda: ["ASE1"])
        with patch.object(verdicts, "Prometheus", lambda url: Prometheus("http://127.0.0.1:1")):
            for _ in range(down):
                await service.add_due_verdicts(now)
                assert (len(journal.recent("ASE1")), service.families("ASE1")) == (len(changes), [])
        await service.add_due_verdicts(now)
        await service.add_due_verdicts(now)
        found = journal.recent("ASE1"), service.families("ASE1")
        await journal.stop()
        return found

    return asyncio.run(rounds())


def marks(history: History) -> list[Change]:
    return [change(number, history.starts[number], history.phases[number].name) for number in (1, 2, 3)]


def test_every_change_gets_one_verdict_at_its_mark(history: History) -> None:
    kept, (family,) = after_verdicts(history, marks(history), time.time())
    found = [each for each in kept if "verdict" in each.tags]
    assert [(each.at, each.kind) for each in found] == [(at, ANNOTATION) for at in history.starts[1:]]
    first, second, third = (each.name for each in found)
    # As compare says it.
    assert "Contention of system tables cache: better by" in first
    assert second.endswith("No measure changed beyond chance.")
    assert "Contention of log cache: worse by" in third
    # They are metrics, too.
    by_labels = {
        dict(zip(family.labels, values, strict=True))["name"]: value
        for values, value in family.samples
        if "cpu_busy" in values
    }
    assert -0.06 < by_labels["TSX"] < -0.03
    assert 0.08 < by_labels["busy"] < 0.13
    assert {"better", "worse"} <= {values[-1] for values, _ in family.samples}


def test_changes_made_together_get_one_verdict_when_enough_time_has_passed(history: History) -> None:
    at = history.starts[1]
    together = [change(1, at - 20, "TSX"), change(2, at, "HCB")]
    for now, due in ((at + SETTLE + LENGTH - 1, 0), (time.time(), 1)):
        kept, families = after_verdicts(history, together, now)
        assert (len(kept), len(families)) == (2 + due, due)


def test_a_verdict_that_is_due_while_prometheus_is_away_comes_later(history: History) -> None:
    kept, families = after_verdicts(history, marks(history), time.time(), down=2)
    assert (len(kept), len(families)) == (3 + 3, 1)


def test_annotations_and_cleared_counters_get_no_verdict(history: History) -> None:
    at = history.starts[1]
    harmless = [change(1, at, "Started ALTER", ANNOTATION), change(2, at + 100, "", "counters_cleared")]
    kept, families = after_verdicts(history, harmless, time.time())
    assert (len(kept), families) == (2, [])
