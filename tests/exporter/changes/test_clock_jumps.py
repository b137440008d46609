"""The times of changes when a clock jumps, daylight saving time begins or ends, or changes share a second."""

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ase_exporter.changes.change import Change, from_differences
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.snapshot import ConfigSnapshot, Difference, Part, Setting, encode
from ase_exporter.clock import Clock
from ase_exporter.compare.windows import Mark, around, changes_together
from ase_exporter.config.changes import ChangesConfig

# The last Sunday of October 2026, 00:59 UTC: a minute later, clocks in Berlin go back from 3:00 to 2:00.
DST_END = 1_792_889_940.0


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


def test_snapshots_without_a_change_in_between_count_for_the_earliest_time() -> None:
    unchanged = replace(snapshot(1e9 + 60 - 3600, 560.0, ""), encoded_parts=None)
    (change,) = changes(snapshot(1e9, 500.0, "5000"), unchanged, snapshot(1e9 + 120 - 3600, 620.0, "9000"))
    assert change.not_before == 1e9 + 60 - 3600


@pytest.mark.parametrize("wrong", [-3600.0, 3600.0])
def test_a_restart_whose_time_is_off_by_an_hour_is_not_taken_for_exact(wrong: float) -> None:
    """Daylight saving time began or ended between the start of the server and the snapshot."""
    difference = Difference("restart", "server", "2026-01-01", "2026-01-02")

    def made(moment: float) -> Change:
        (found,) = from_differences(
            "S", [difference], moments={"restart": moment}, at=1060.0, not_before=1000.0
        )
        return found

    exact = made(1030.0)
    assert (exact.at, exact.not_before) == (1030.0, None)
    change = made(1030.0 + wrong)
    assert (change.at, change.not_before) == (1060.0, 1000.0)


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
    assert os.environ.get("TZ", "") != "Europe/Berlin"


@pytest.mark.usefixtures("zone")
def test_windows_over_the_end_of_daylight_saving_time_are_as_long_as_others() -> None:
    mark = Mark(DST_END + 120, "option", "x", not_before=DST_END + 60)
    before, after = around(mark, [mark], DST_END + 7200, length=3600, settle=60)
    assert (before.end, before.seconds) == (DST_END + 60, 3600)
    assert (after.start, after.seconds) == (DST_END + 180, 3600)


def test_changes_in_the_same_second_are_compared_together() -> None:
    marks = [Mark(1000.0, "option", name, not_before=940.0) for name in "abc"]
    other = Mark(5000.0, "option", "d", not_before=4940.0)
    for settle in (0.0, 60.0):
        for mark in marks:
            assert changes_together(mark, [*marks, other], settle) == marks
            before, after = around(mark, [*marks, other], 9000, length=600, settle=settle)
            assert (before.end, after.start) == (940.0, 1000.0 + settle)
