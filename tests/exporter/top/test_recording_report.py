"""A report on a recording has what was recorded, as a page that loads nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.exporter.capture.recorded import SPEED
from tests.exporter.capture.recorded import record as record_capture
from tests.exporter.commands.command_line import Run
from tests.exporter.top.watching import catalogue, one_step, watched

from ase_exporter.capture.file import dump
from ase_exporter.capture.session import Plan
from ase_exporter.diagnosis.load_profile import COUNTERS, LoadCounter, load_profile
from ase_exporter.errors import UserError
from ase_exporter.top import recording_report
from ase_exporter.top.recording import Recording, ReplayFeed
from ase_exporter.top.samples import Sample


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a minute in which sessions block each other."""
    folder = tmp_path_factory.mktemp("recording")
    path = folder / "incident.capture.gz"
    step = one_step("storm", "lock storm", folder)
    with watched(step, record=lambda clock: Recording(path, 2.0, clock)) as watching:
        watching.frame()
        for seconds in (*[2.0] * 8, 11.0, 11.0, 20.0):
            watching.frame(seconds)
    return path


def test_load_is_the_growth_of_the_counters(storm: Path) -> None:
    feed = ReplayFeed(storm, catalogue())
    samples = [sample for sample, _ in feed.moments()]
    _, _, rates = recording_report.read_recording(feed)
    for counter in COUNTERS:
        first, last = (_total(each, counter) for each in (samples[0], samples[-1]))
        seconds = samples[-1].series[counter.metric].last.at - samples[0].series[counter.metric].last.at
        assert rates[counter.title] == pytest.approx((last - first) / seconds), counter
    shown = {each.title: each for each in load_profile(rates)}
    assert shown["transactions"].per_transaction == 1.0
    assert 0 < (shown["CPU seconds"].per_second or 0.0) < 16


def _total(sample: Sample, counter: LoadCounter) -> float:
    """Of a counter at a moment; of CPU time that of two modes out of three."""
    modes = ("user", "system") if counter.title == "CPU seconds" else (None, *counter.modes)
    return sum(value for labels, value in sample.values(counter.metric) if labels.get("mode") in modes)


def test_what_is_not_known_is_not_shown_as_nothing() -> None:
    assert all(each.per_second is each.per_transaction is None for each in load_profile({}))
    (reads,) = [each for each in load_profile({"logical reads": 5.0}) if each.title == "logical reads"]
    assert (reads.per_second, reads.per_transaction) == (5.0, None)
    assert load_profile({COUNTERS[0].title: 0.0})[0].per_transaction is None


def test_the_page_names_statements_objects_and_blockers(run: Run, tmp_path: Path, storm: Path) -> None:
    output = tmp_path / "report.html"
    done = run("report", "--recording", str(storm), "--output", str(output))
    assert done.returncode == 0, done.stderr
    page = output.read_text()
    for shown in (
        "new_order",
        "shop..stock",
        "exclusive row",
        "waiting for a lock",
        "shop_log01",
        "per transaction",
    ):
        assert shown in page, shown
    assert "Not known" not in page and "http" not in page.partition("</style>")[2]


def test_a_capture_has_no_sessions_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.capture.gz"
    capture = record_capture("16.0 SP04", "quiet-oltp", Plan(3, 0.25))
    # In the server's time, which passes faster than that of the capture.
    statements = [replace(each, at=(each.at or 0.0) * SPEED) for each in capture.statements]
    path.write_bytes(dump(replace(capture, statements=statements)))
    assert "this recording has no sessions" in recording_report.recording_page(path, catalogue())
    short = tmp_path / "short.capture.gz"
    first = [each for each in statements if each.scrape <= 1]
    short.write_bytes(dump(replace(capture, header=replace(capture.header, scrapes=1), statements=first)))
    with pytest.raises(UserError, match="two samples or more"):
        recording_report.recording_page(short, catalogue())


@pytest.mark.parametrize("more", [["--fleet"], ["--target", "A"], ["--prometheus", "http://127.0.0.1:9"]])
def test_a_recording_is_read_alone(run: Run, storm: Path, more: list[str]) -> None:
    done = run("report", "--recording", str(storm), *more)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "--recording: is read alone" in done.stderr
