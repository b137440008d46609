"""Change impact shows true figures soon after a change, beside neighbours, and without any: a known history."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from dashboards.change import CHANGE_IMPACT
from tests.dashboards.variables import ask, resolved, substituted
from tests.exporter.compare.conftest import Detected, Recorded, Work, prometheus_with

pytestmark = [pytest.mark.e2e]

TRANSACTIONS = "Transactions per second (good: up)"
CONTENTION = "Spinlock contention of data caches (good: down)"
CHOSEN = {"job": ".+", "host_job": ".+", "host": ".+", "__rate_interval": "1m"}
BEFORE, AFTER = 106_995.0, 162_222.0


def figures(url: str, title: str, at: float, **given: str) -> list[float | None]:
    """The values of a panel's queries; None for a query without a result."""
    values = resolved(url, CHANGE_IMPACT, at, CHOSEN | given)
    (panel,) = [panel for panel in CHANGE_IMPACT["panels"] if panel["title"] == title]
    found: list[float | None] = []
    for target in panel["targets"]:
        result = ask(url, substituted(target["expr"], values), at)
        found.append(float(result[0]["value"][1]) if result else None)
    return found


END = time.time() // 60 * 60 - 60
MADE = END - 1800
# A change half an hour before the end, made 20 s before it was found.
LIFE = Recorded(
    END - 5400,
    END,
    [Work(END - 5400, 0.065, BEFORE), Work(MADE, 0.58, AFTER)],
    [Detected(MADE + 20, MADE - 40, "enable mem scale")],
    interval=15.0,
)
FOUND = LIFE.changes[0].at
SOON, TOO_SOON = (75, 120, 600, 1500), (10, 60)
NEIGHBOURS = replace(
    LIFE,
    work=[
        Work(END - 5400, 0.9, 50_000),
        Work(MADE - 300, 0.065, BEFORE),
        Work(MADE, 0.58, AFTER),
        Work(MADE + 400, 0.9, 50_000),
        Work(MADE + 700, 0.1, 60_000),
    ],
    # The first and the third have the same labels: in the metric, the third hides the first.
    changes=[
        Detected(MADE - 290, MADE - 310, "TSX"),
        Detected(MADE + 5, MADE - 15, "SNAP"),
        Detected(MADE + 430, MADE + 390, "TSX"),
        Detected(MADE + 720, MADE + 690, "LFB"),
    ],
)
TOGETHER = replace(
    LIFE,
    work=[*LIFE.work, Work(MADE + 60, 0.3, 200_000), Work(MADE + 110, 0.2, 90_000)],
    changes=[
        Detected(MADE + 20, MADE - 40, "TSX"),
        Detected(MADE + 80, MADE + 20, "SNAP"),
        Detected(MADE + 140, MADE + 80, "LFB"),
    ],
)
LIVES = {
    **{f"ended after {seconds}": replace(LIFE, end=FOUND + seconds) for seconds in (*SOON, *TOO_SOON)},
    "neighbours": NEIGHBOURS,
    "together": TOGETHER,
    # Known for five minutes before the change only.
    "late": replace(LIFE, start=MADE - 300, work=[Work(MADE - 300, 0.065, BEFORE), LIFE.work[1]]),
    "unchanged": replace(LIFE, changes=[]),
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that holds all these lives, each under its own name."""
    lives = (replace(life, server=name) for name, life in LIVES.items())
    samples = (line for life in lives for line in life.lines())
    with prometheus_with(samples, tmp_path_factory.mktemp("lives")) as found:
        yield found


@pytest.mark.parametrize("seconds", SOON)
def test_the_figures_are_those_of_the_server_however_soon(url: str, seconds: int) -> None:
    given = {"instance": f"ended after {seconds}", "settle": "20" if seconds < 100 else "60"}
    before, after, difference = figures(url, TRANSACTIONS, FOUND + seconds, **given)
    assert (before, after) == pytest.approx((BEFORE, AFTER), rel=0.01)
    assert difference == pytest.approx(AFTER / BEFORE - 1, abs=0.01)
    assert figures(url, CONTENTION, FOUND + seconds, **given)[:2] == pytest.approx([0.065, 0.58], rel=0.01)


@pytest.mark.parametrize("seconds", TOO_SOON)
def test_while_the_change_settles_there_is_no_figure_instead_of_a_wrong_one(url: str, seconds: int) -> None:
    given = {"instance": f"ended after {seconds}"} | ({} if seconds == 60 else {"change": f"{FOUND:.3f}"})
    before, after, difference = figures(url, TRANSACTIONS, FOUND + seconds, **given)
    assert before == pytest.approx(BEFORE, rel=0.01)
    assert (after, difference) == (None, None)


@pytest.mark.parametrize("settle", ["5", "60"])
def test_neighbours_are_in_neither_window(url: str, settle: str) -> None:
    change = f"{NEIGHBOURS.changes[1].at:.3f}"
    before, after, _ = figures(url, TRANSACTIONS, END, instance="neighbours", settle=settle, change=change)
    assert (before, after) == pytest.approx((BEFORE, AFTER), rel=0.01)


@pytest.mark.parametrize("number", range(3))
def test_changes_that_nothing_separates_are_compared_together(url: str, number: int) -> None:
    change = f"{TOGETHER.changes[number].at:.3f}"
    before, after, _ = figures(url, TRANSACTIONS, END, instance="together", change=change)
    assert (before, after) == pytest.approx((BEFORE, 90_000), rel=0.01)


def test_rates_are_divided_by_the_time_that_exists(url: str) -> None:
    before, after, _ = figures(url, TRANSACTIONS, END, instance="late", window="3600")
    assert (before, after) == pytest.approx((BEFORE, AFTER), rel=0.01)


@pytest.mark.parametrize("server", ["unchanged", "no such server", ""])
def test_without_a_change_every_query_is_valid(url: str, server: str) -> None:
    values = resolved(url, CHANGE_IMPACT, END, CHOSEN | {"instance": server})
    for panel in CHANGE_IMPACT["panels"]:
        for target in panel.get("targets", []):
            ask(url, substituted(target["expr"], values), END)
