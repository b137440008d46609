"""Before and after a change that was found late, or has neighbours or a restart beside it: the true figures."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.exporter.compare.conftest import Detected, Recorded, Work, prometheus_with
from tests.exporter.compare.test_comparison import row

from ase_exporter.compare.comparison import Comparison
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import Request, answer
from ase_exporter.errors import NoDataError

LENGTH, SETTLE = 240.0, 15.0
MEASURES = ["cache_contention", "transactions"]
# Seconds between the changes of a server that is switched back and forth.
SWITCHED = (1000, 750, 500)
Around = Callable[..., Comparison]


def lives(now: float) -> Iterator[Recorded]:
    """What servers did up to now, one for each test."""

    def life(name: str, work: list[Work], *changes: Detected, end: float = now, **other: Any) -> Recorded:
        return Recorded(work[0].since, end, work, changes, server=name, **other)

    tsx = Detected(now - 595, now - 605, "TSX")
    memscale = Detected(now - 569, now - 629, "enable mem scale")
    yield life("late", [Work(now - 1200, 0.065), Work(now - 600, 0.58)], memscale)
    yield life(
        "neighbours",
        [Work(now - 1200, 0.021), Work(now - 660, 0.040), Work(now - 510, 0.375)],
        Detected(now - 630, now - 690, "TSX"),
        Detected(now - 490, now - 530, "SNAP"),
    )
    minutes = [now - 600 + 60 * number for number in range(10)]
    peaks = [Work(at + part, level) for at in minutes for part, level in ((0, 0.9), (8, 0.04))]
    yield life("peaks", [Work(now - 1200, 0.021), *peaks], tsx)
    first, second, third = (now - ago for ago in SWITCHED)
    yield life(
        "switched",
        [Work(now - 1300, 0.1), Work(first, 0.5), Work(second, 0.1), Work(third, 0.5)],
        *(Detected(now - ago + 5, now - ago - 5, "TSX", new=str(n % 2)) for n, ago in enumerate(SWITCHED, 1)),
        end=now - 100,
    )
    yield life(
        "annotated",
        [Work(now - 1200, 0.1), Work(now - 600, 0.2)],
        Detected(now - 700, now - 700, "Started the batch", kind="annotation"),
        Detected(now - 650, now - 650, "SPINS: incident 20260511T100000Z-annotated", kind="annotation"),
        tsx,
        Detected(now - 500, now - 500, "server", kind="counters_cleared"),
    )
    # Changes are not watched here: the restart is known from the server's start time.
    yield life(
        "restarted",
        [Work(now - 1300, 0.1, 500), Work(now - 900, 0.1, 1000), Work(now - 600, 0.2, 1500)],
        tsx,
        booted=[now - 900],
        gaps=[(now - 960, now - 880)],
    )
    # Down for longer than the windows are long.
    yield life(
        "down",
        [Work(now - 2400, 0.1, 1000), Work(now - 900, 0.1, 0), Work(now - 600, 0.2, 1500)],
        Detected(now - 600, now - 600, "server", kind="restart"),
        booted=[now - 600],
        gaps=[(now - 900, now - 590)],
    )
    yield life("young", [Work(now - 800, 0.1, 1000), Work(now - 600, 0.2, 1500)], tsx)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """The servers' lives, which end on a whole minute, a little while ago."""
    now = time.time() // 60 * 60 - 300
    samples = (line for life in lives(now) for line in life.lines())
    with prometheus_with(samples, tmp_path_factory.mktemp("lives")) as url, Prometheus(url) as prometheus:
        yield prometheus


@pytest.fixture
def around(recorded: Prometheus) -> Around:
    """The comparison around a change of a server."""
    return lambda server, text, length=LENGTH: answer(
        recorded, Request(server, change=text, length=length, settle=SETTLE, measures=MEASURES)
    )


@pytest.mark.parametrize(
    ("server", "change", "length", "figures"),
    [
        # Before ends when the change was not there yet.
        ("late", "mem scale", LENGTH, (0.065, 0.58)),
        # A change that is made back and made again is a neighbour each time.
        ("switched", "TSX 0 -> 0", 600.0, (0.5, 0.1)),
        # Windows end where a neighbour may have been made.
        ("neighbours", "TSX", LENGTH, (0.021, 0.040)),
        ("neighbours", "SNAP", LENGTH, (0.040, 0.375)),
    ],
)
def test_contention_is_that_before_and_after(
    around: Around, server: str, change: str, length: float, figures: tuple[float, float]
) -> None:
    result = around(server, change, length)
    assert row(result, "cache_contention", "log cache").values == pytest.approx(figures, rel=0.01)
    neighbour = {"TSX": "SNAP", "SNAP": "TSX"}.get(change, "")
    assert any(neighbour in cut for span in result.spans for cut in span.cuts) or not neighbour


def test_the_difference_is_that_of_the_two_figures_and_inside_its_interval(around: Around) -> None:
    found = row(around("peaks", "TSX"), "cache_contention", "log cache")
    (before, after), (difference,) = found.values, found.steps
    assert difference is not None and before is not None and after is not None
    assert difference.difference == pytest.approx(after - before)
    assert difference.low <= difference.difference <= difference.high


def test_before_a_restart_is_before_the_outage(around: Around) -> None:
    result = around("down", "server 0 -> 1")
    assert row(result, "transactions").values == pytest.approx((1000, 1500), rel=0.01)
    assert [span.cuts for span in result.spans] == [(), ()]


@pytest.mark.parametrize("mark", ["TSX", "Started the batch"])
def test_an_annotation_and_cleared_counters_end_no_window_and_an_incident_is_no_change(
    mark: str, around: Around
) -> None:
    result = around("annotated", mark)
    cuts = [cut for span in result.spans for cut in span.cuts]
    assert bool(cuts) == (mark != "TSX") and not any("incident" in text for text in (*cuts, *result.warnings))
    assert mark != "TSX" or any("Started the batch" in warning for warning in result.warnings)


def test_a_server_without_data_in_a_window_is_no_wrong_name(recorded: Prometheus) -> None:
    windows = Request("young", before="now-30m..now-25m", after="now-10m..now-6m", measures=MEASURES)
    with pytest.raises(NoDataError, match=r"no data of \{instance=\"young\"\} in it; it has to scrape"):
        answer(recorded, windows)


@pytest.mark.parametrize(
    ("server", "length", "cut"), [("restarted", 600.0, "restart"), ("young", 1800.0, "no data before")]
)
def test_windows_stop_at_restarts_and_at_time_without_the_server(
    around: Around, server: str, length: float, cut: str
) -> None:
    result = around(server, "TSX", length)
    assert row(result, "transactions").values == pytest.approx((1000, 1500), rel=0.01)
    assert any(cut in each for each in result.spans[0].cuts)
