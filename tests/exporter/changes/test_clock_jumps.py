"""The times of changes when a clock jumps, daylight saving time begins or ends, or changes share a second."""

import asyncio
import time
from pathlib import Path

import pytest
from tests.exporter.clocks import ShiftedClock

from ase_exporter.changes.change import ANNOTATION, Change, from_differences, new_id
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import ConfigSnapshot, Difference, Part, Setting, encode
from ase_exporter.changes.store import ChangeFilter
from ase_exporter.clock import Clock
from ase_exporter.config.changes import ChangesConfig


def snapshot(at: float, monotonic: float, value: str) -> ConfigSnapshot:
    parts = {"option": Part("option", "sysconfigures", {"number of locks": {"": Setting(value)}})}
    return ConfigSnapshot(at, encode(parts), monotonic=monotonic)


def changes(*snapshots: ConfigSnapshot) -> list[Change]:
    """What the journal makes of snapshots that follow each other."""

    async def taken() -> list[Change]:
        journal = Journal(ChangesConfig(), None, clock=Clock(time.monotonic, lambda: snapshots[-1].at))
        for each in snapshots:
            journal.on_snapshot("PROD", each)
            journal._take_pending()
        return journal.recent("PROD")

    return asyncio.run(taken())


@pytest.mark.parametrize("jump", [0.0, -3600.0, 3600.0, -59.0, 7 * 86400.0])
def test_a_jump_of_our_clock_between_two_snapshots_leaves_the_time_of_the_change_right(jump: float) -> None:
    """A minute has passed by the monotonic clock, whatever the wall clock says."""
    (change,) = changes(snapshot(1e9, 500.0, "5000"), snapshot(1e9 + 60 + jump, 560.0, "9000"))
    assert change.at == 1e9 + 60 + jump
    assert change.not_before == pytest.approx(change.at - 60)


@pytest.mark.parametrize("wrong", [-3600.0, 3600.0])
def test_a_restart_whose_time_is_off_by_an_hour_is_not_taken_for_exact(wrong: float) -> None:
    """Daylight saving time began or ended between the start of the server and the snapshot."""
    difference = Difference("restart", "server", "2026-01-01", "2026-01-02")

    def made(moment: float) -> Change:
        restarted = ConfigSnapshot(1060.0, b"", moments={"restart": moment})
        (found,) = from_differences("S", [difference], restarted, not_before=1000.0)
        return found

    exact = made(1030.0)
    assert (exact.at, exact.not_before) == (1030.0, None)
    change = made(1030.0 + wrong)
    assert (change.at, change.not_before) == (1060.0, 1000.0)


def test_a_clock_that_is_far_ahead_does_not_erase_the_history(tmp_path: Path) -> None:
    shifted = ShiftedClock()

    async def story() -> list[Change]:
        journal = Journal(ChangesConfig(), tmp_path, clock=shifted.clock)
        await journal.start()
        await journal.annotate(Change(new_id(), "", ANNOTATION, "patch", "", "", shifted.clock.time()))
        shifted.jump = 5000 * 86400.0
        await journal._in_store(journal._prune)
        found = await journal.find(ChangeFilter())
        await journal.stop()
        return found

    assert len(asyncio.run(story())) == 1
