"""Before and after a change that was found late, or has neighbours or a restart beside it: the true figures."""

import time
from pathlib import Path

import pytest
from tests.exporter.compare.recorded import SERVER, Detected, Recorded, Work, stored

from ase_exporter.analysis.predicted import answer
from ase_exporter.compare.comparison import Comparison
from ase_exporter.compare.request import Request

LENGTH, SETTLE = 240.0, 15.0


def around(recorded: Recorded, folder: Path, text: str, **options: float) -> Comparison:
    request = {"length": LENGTH, "settle": SETTLE} | options
    with stored(folder, recorded) as url:
        return answer(Request(url, [SERVER], change=text, **request))  # type: ignore[arg-type]


def contention(comparison: Comparison) -> list[float]:
    (row,) = [row for row in comparison.rows if row.key == "cache_contention"]
    return [value or 0.0 for value in row.values]


@pytest.fixture
def now() -> float:
    """A whole minute, a little while ago."""
    return time.time() // 60 * 60 - 300


def test_before_ends_when_the_change_was_not_there_yet(now: float, tmp_path: Path) -> None:
    made, found = now - 600, now - 569
    recorded = Recorded(
        now - 1200,
        now,
        [Work(now - 1200, 0.065), Work(made, 0.58)],
        [Detected(found, found - 60, "enable mem scale")],
    )
    assert contention(around(recorded, tmp_path, "mem scale")) == pytest.approx([0.065, 0.58], rel=0.01)


@pytest.mark.parametrize(
    ("change", "figures", "neighbour"), [("TSX", [0.021, 0.040], "SNAP"), ("SNAP", [0.040, 0.375], "TSX")]
)
def test_windows_end_where_a_neighbour_may_have_been_made(
    now: float, tmp_path: Path, change: str, figures: list[float], neighbour: str
) -> None:
    recorded = Recorded(
        now - 1200,
        now,
        [Work(now - 1200, 0.021), Work(now - 660, 0.040), Work(now - 510, 0.375)],
        [Detected(now - 630, now - 690, "TSX"), Detected(now - 490, now - 530, "SNAP")],
    )
    result = around(recorded, tmp_path, change)
    assert contention(result) == pytest.approx(figures, rel=0.01)
    assert any(neighbour in cut for span in result.spans for cut in span.cuts)


def test_the_difference_is_that_of_the_two_figures_and_inside_its_interval(
    now: float, tmp_path: Path
) -> None:
    peaks = [
        Work(now - 600 + 60 * n + part, level) for n in range(10) for part, level in ((0, 0.9), (8, 0.04))
    ]
    recorded = Recorded(
        now - 1200,
        now,
        [Work(now - 1200, 0.021), *peaks],
        [Detected(now - 595, now - 605, "TSX")],
    )
    (row,) = [row for row in around(recorded, tmp_path, "TSX").rows if row.key == "cache_contention"]
    before, after = row.values
    (difference,) = row.steps
    assert difference is not None and before is not None and after is not None
    assert difference.difference == pytest.approx(after - before)
    assert difference.low <= difference.difference <= difference.high


def test_a_change_made_back_and_made_again_is_a_neighbour_each_time(now: float, tmp_path: Path) -> None:
    times = [now - 1000, now - 750, now - 500]
    recorded = Recorded(
        now - 1300,
        now - 100,
        [Work(now - 1300, 0.1), Work(times[0], 0.5), Work(times[1], 0.1), Work(times[2], 0.5)],
        [Detected(at + 5, at - 5, "TSX", new=str(n % 2)) for n, at in enumerate(times, 1)],
    )
    result = around(recorded, tmp_path, "TSX 0 -> 0", length=600)
    assert contention(result) == pytest.approx([0.5, 0.1], rel=0.01)


def test_an_annotation_and_cleared_counters_end_no_window(now: float, tmp_path: Path) -> None:
    recorded = Recorded(
        now - 1200,
        now,
        [Work(now - 1200, 0.1), Work(now - 600, 0.2)],
        [
            Detected(now - 700, now - 700, "Started the batch", kind="annotation"),
            Detected(now - 595, now - 605, "TSX"),
            Detected(now - 500, now - 500, "server", kind="counters_cleared"),
        ],
    )
    result = around(recorded, tmp_path, "TSX")
    assert [span.cuts for span in result.spans] == [(), ()]
    assert any("Started the batch" in warning for warning in result.warnings)


def test_windows_stop_at_restarts_and_at_time_without_the_server(now: float, tmp_path: Path) -> None:
    """Changes are not watched here: the restart is known from the server's start time."""
    recorded = Recorded(
        now - 1300,
        now,
        [Work(now - 1300, 0.1, 500), Work(now - 900, 0.1, 1000), Work(now - 600, 0.2, 1500)],
        [Detected(now - 595, now - 605, "TSX")],
        booted=[now - 900],
        gaps=[(now - 960, now - 880)],
    )
    result = around(recorded, tmp_path, "TSX", length=600)
    (row,) = [row for row in result.rows if row.key == "transactions"]
    assert row.values == pytest.approx((1000, 1500), rel=0.01)
    assert any("restart" in cut for cut in result.spans[0].cuts)


def test_a_server_that_is_watched_for_a_short_time_has_its_true_rate(now: float, tmp_path: Path) -> None:
    recorded = Recorded(
        now - 800,
        now,
        [Work(now - 800, 0.1, 1000), Work(now - 600, 0.2, 1500)],
        [Detected(now - 595, now - 605, "TSX")],
    )
    result = around(recorded, tmp_path, "TSX", length=1800)
    (row,) = [row for row in result.rows if row.key == "transactions"]
    assert row.values == pytest.approx((1000, 1500), rel=0.01)
    assert any("no data before" in cut for cut in result.spans[0].cuts)
