"""A recording, shown again, gives the figures that were on the screen."""

import queue
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.capture.recorded import SPEED
from tests.exporter.capture.recorded import record as record_capture
from tests.exporter.top.feeds import into
from tests.exporter.top.watching import catalogue, one_step, watched

from ase_exporter.capture import stream
from ase_exporter.capture.file import Capture, CaptureHeader, Execution, Failure, Result, dump, load
from ase_exporter.capture.session import Plan
from ase_exporter.capture.stream import CaptureWriter, read_scrapes
from ase_exporter.errors import UserError
from ase_exporter.readings.recording import Recording
from ase_exporter.sessions.session import Session
from ase_exporter.top.feed import ReplayFeed
from ase_exporter.top.frames import Frame, Scene
from ase_exporter.top.text import glyphs
from ase_exporter.top.view import table

HEADER = CaptureHeader("0.1.0", "2026-01-01T00:00:00+00:00", 1, 2.0)


def figures(given: Frame) -> dict[str, Any]:
    """What must be the same; the cost is that of recording, and not of replaying."""
    return {
        **asdict(given.figures),
        "own_cpu": None,
        "state": given.diagnosis.state,
        "options": given.evidence and given.evidence.options,
    }


def recorded(path: Path, scenario: str, *after: float) -> list[Frame]:
    with watched(scenario, record=lambda clock: Recording(path, 2.0, clock)) as watching:
        return [watching.frame(), *(watching.frame(seconds) for seconds in after)]


def replayed(path: Path) -> list[Frame]:
    return list(ReplayFeed(path, catalogue()).frames())


def test_replayed_figures_equal_those_that_were_shown(tmp_path: Path) -> None:
    """Two minutes in which sessions block each other."""
    path = tmp_path / "incident.capture.gz"
    step = one_step("storm", "lock storm", tmp_path)
    # Intervals that differ, and collectors that are not due in every scrape.
    live = recorded(path, step, *[2.0] * 3, 11.0, *[2.0] * 2, 61.0, 2.0)
    again = replayed(path)
    assert [figures(each) for each in again] == [figures(each) for each in live]
    assert live[-1].figures.spinlocks and live[-1].figures.space
    assert [sessions(each) for each in again] == [sessions(each) for each in live]
    assert any(each.blocked_by for each in sessions(live[-1]))
    assert [each.sample.at for each in again] == pytest.approx([each.sample.at for each in live], abs=0.01)
    assert again[0].sample.target == "incident"


def sessions(shown: Frame) -> tuple[Session, ...]:
    return shown.sample.sessions.sessions if shown.sample.sessions else ()


@pytest.mark.slow
def test_changes_outages_and_recoveries_are_shown_again(tmp_path: Path) -> None:
    path = tmp_path / "incident.capture.gz"
    with watched("quiet-oltp", record=lambda clock: Recording(path, 2.0, clock)) as watching:
        live = list(watching.frames(3, 30.0))
        watching.run.ask(lambda: watching.server.set_option("number of locks", 300_000, "sa"))
        live += [watching.frame(30.0) for _ in range(3)]
        watching.run.ask(watching.run.listener.drop)
        watching.run.listener.faults.refuse = True
        live += [watching.frame(30.0) for _ in range(2)]
        watching.run.listener.faults.refuse = False
        live += [watching.frame(30.0) for _ in range(2)]
    again = replayed(path)
    assert [each.diagnosis.state for each in again] == [each.diagnosis.state for each in live]
    assert [bool(each.sample.error) for each in live] == [False] * 6 + [True] * 2 + [False] * 2
    assert [change.name for change in again[-1].sample.changes] == ["number of locks"]
    assert [figures(each) for each in again] == [figures(each) for each in live]


def test_a_capture_of_the_other_command_can_be_shown(tmp_path: Path) -> None:
    path = tmp_path / "mine.capture.gz"
    capture = record_capture("16.0 SP04", "quiet-oltp", Plan(3, 0.25))
    # In the server's time, which passes faster than that of the capture.
    statements = [replace(each, at=(each.at or 0.0) * SPEED) for each in capture.statements]
    path.write_bytes(dump(Capture(capture.header, statements)))
    first, second, third = replayed(path)
    assert first.figures.spinlocks == () and second.figures.spinlocks and third.figures.spinlocks
    assert third.figures.space and third.sample.missing["rep_senders"] == "not recorded"
    scene = Scene(third, glyphs("ascii"), 100)
    for name in ("sessions", "blocking", "statements"):
        assert "this recording has no sessions" in table(name, scene).empty


@pytest.mark.parametrize("scrapes", [0, 1, 2, 5])
def test_a_recorder_that_is_killed_leaves_a_whole_capture(tmp_path: Path, scrapes: int) -> None:
    path = tmp_path / "x.capture.gz"
    writer = CaptureWriter(path, HEADER)
    statements = [
        Execution(number, f"select {number}", 0.1, [], at=2.0 * number) for number in range(1, scrapes + 1)
    ]
    for each in statements:
        writer.add([each])
    # Not closed: what is in the file now is what a kill leaves.
    capture = load(path)
    assert list(capture.statements) == statements and capture.header.scrapes == max(1, scrapes)
    assert [list(found) for found in read_scrapes(path)[1]] == [[each] for each in statements]
    writer.close()


def test_a_recording_ends_before_it_is_too_large_to_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.capture.gz"
    monkeypatch.setattr(stream, "MAX_SIZE", 3000)
    recording = Recording(path, 2.0)
    notes = []
    for _ in range(4):
        recording.recorder.statements = [
            Execution(recording.recorder.scrape, "select 1", 0.1, [Result(["x" * 700])])
        ]
        notes.append(recording.save())
    recording.close()
    assert notes == ["", "", "the recording is full", "the recording is full"]
    assert len(load(path).statements) == 2


def test_a_full_disk_is_a_note_and_not_the_end(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "x.capture.gz", 2.0)
    recording._writer._file.close()
    recording._writer._file = open("/dev/full", "wb", buffering=0)  # noqa: PTH123, SIM115
    recording.recorder.statements = [Execution(1, "select 1", 0.1)]
    assert "No space left on device" in recording.save()
    recording.close()


def test_a_recording_never_overwrites_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.capture.gz"
    path.write_text("kept")
    with pytest.raises(UserError, match="exists already; expected a new file"):
        Recording(path, 2.0)
    assert path.read_text() == "kept"


def test_a_feed_plays_pauses_and_stops(tmp_path: Path) -> None:
    path = tmp_path / "x.capture.gz"
    recorded(path, "idle", 2.0, 2.0, 2.0)
    feed, shown = ReplayFeed(path, catalogue(), interval=0.01), queue.Queue[Frame]()
    feed.pause(True)
    feed.start(into(shown))
    first = shown.get(timeout=60)
    with pytest.raises(queue.Empty):
        shown.get(timeout=0.2)
    feed.pause(False)
    rest = [shown.get(timeout=60) for _ in range(3)]
    feed.stop()
    feed.thread.join(60)
    assert first.figures.spinlocks == () and rest[-1].diagnosis.measures["blocked"].value is not None
    assert not feed.thread.is_alive()


@pytest.mark.parametrize("interval", [2.0, 0.0])
def test_errors_of_logins_are_recorded_without_the_password(interval: float, tmp_path: Path) -> None:
    path = tmp_path / "x.capture.gz"
    statement = Execution(1, "-- login", 0.1, error=Failure("login_failed", 4002, "Login failed."), at=0.0)
    path.write_bytes(dump(Capture(replace(HEADER, interval=interval), [statement])))
    (only,) = replayed(path)
    assert only.diagnosis.sentence.startswith("DOWN: ") and "Login failed." in only.diagnosis.sentence
