"""Change impact shows true figures soon after a change, beside neighbours, and without any: a known history."""

import time
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from dashboards.change import CHANGE_IMPACT
from tests.dashboards.variables import resolved, substituted
from tests.exporter.compare.recorded import SERVER, Detected, Recorded, Work, stored

pytestmark = [pytest.mark.e2e]

TRANSACTIONS = "Transactions per second (the load)"
CONTENTION = "Spinlock contention of caches (good: down)"
CHOSEN = {"job": ".+", "instance": SERVER, "host_job": ".+", "host": ".+", "__rate_interval": "1m"}
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


def ask(url: str, query: str, at: float) -> list[dict[str, list[str]]]:
    answer = httpx2.get(f"{url}/api/v1/query", params={"query": query, "time": f"{at:.3f}"}, trust_env=False)
    assert answer.is_success, (query, answer.text)
    result: list[dict[str, list[str]]] = answer.json()["data"]["result"]
    return result


@pytest.fixture
def life() -> Recorded:
    """A change half an hour before the end, made 20 s before it was found."""
    end = time.time() // 60 * 60 - 60
    made = end - 1800
    return Recorded(
        end - 5400,
        end,
        [Work(end - 5400, 0.065, BEFORE), Work(made, 0.58, AFTER)],
        [Detected(made + 20, made - 40, "enable mem scale")],
        interval=15.0,
    )


@pytest.mark.parametrize("seconds", [75, 120, 600, 1500])
def test_the_figures_are_those_of_the_server_however_soon(
    life: Recorded, seconds: int, tmp_path: Path
) -> None:
    seen = life.changes[0].at
    with stored(replace(life, end=seen + seconds), tmp_path) as url:
        at = seen + seconds
        settle = "20" if seconds < 100 else "60"
        before, after, difference = figures(url, TRANSACTIONS, at, settle=settle)
        assert (before, after) == pytest.approx((BEFORE, AFTER), rel=0.01)
        assert difference == pytest.approx(AFTER / BEFORE - 1, abs=0.01)
        assert figures(url, CONTENTION, at, settle=settle)[:2] == pytest.approx([0.065, 0.58], rel=0.01)


@pytest.mark.parametrize("seconds", [10, 60])
def test_while_the_change_settles_there_is_no_figure_instead_of_a_wrong_one(
    life: Recorded, seconds: int, tmp_path: Path
) -> None:
    at = life.changes[0].at + seconds
    with stored(replace(life, end=at), tmp_path) as url:
        choose = {} if seconds == 60 else {"change": f"{life.changes[0].at:.3f}"}
        before, after, difference = figures(url, TRANSACTIONS, at, **choose)
        assert before == pytest.approx(BEFORE, rel=0.01)
        assert (after, difference) == (None, None)


def test_neighbours_are_in_neither_window(life: Recorded, tmp_path: Path) -> None:
    end, made = life.end, life.end - 1800
    work = [
        Work(end - 5400, 0.9, 50_000),
        Work(made - 300, 0.065, BEFORE),
        Work(made, 0.58, AFTER),
        Work(made + 400, 0.9, 50_000),
        Work(made + 700, 0.1, 60_000),
    ]
    # The first and the third have the same labels: in the metric, the third hides the first.
    changes = [
        Detected(made - 290, made - 310, "TSX"),
        Detected(made + 5, made - 15, "SNAP"),
        Detected(made + 430, made + 390, "TSX"),
        Detected(made + 720, made + 690, "LFB"),
    ]
    with stored(replace(life, work=work, changes=changes), tmp_path) as url:
        for settle in ("5", "60"):
            before, after, _ = figures(url, TRANSACTIONS, end, settle=settle, change=f"{changes[1].at:.3f}")
            assert (before, after) == pytest.approx((BEFORE, AFTER), rel=0.01)


def test_changes_that_nothing_separates_are_compared_together(life: Recorded, tmp_path: Path) -> None:
    made = life.end - 1800
    work = [*life.work, Work(made + 60, 0.3, 200_000), Work(made + 110, 0.2, 90_000)]
    changes = [
        Detected(made + 20, made - 40, "TSX"),
        Detected(made + 80, made + 20, "SNAP"),
        Detected(made + 140, made + 80, "LFB"),
    ]
    with stored(replace(life, work=work, changes=changes), tmp_path) as url:
        for change in changes:
            before, after, _ = figures(url, TRANSACTIONS, life.end, change=f"{change.at:.3f}")
            assert (before, after) == pytest.approx((BEFORE, 90_000), rel=0.01)


def test_rates_are_divided_by_the_time_that_exists(life: Recorded, tmp_path: Path) -> None:
    """The server is known for five minutes before the change only, and was restarted half an hour after it."""
    made = life.end - 1800
    late = replace(life, start=made - 300, work=[Work(made - 300, 0.065, BEFORE), life.work[1]])
    with stored(late, tmp_path) as url:
        before, after, _ = figures(url, TRANSACTIONS, life.end, window="3600")
        assert (before, after) == pytest.approx((BEFORE, AFTER), rel=0.01)


@pytest.mark.parametrize("server", [SERVER, "no such server", ""])
def test_without_a_change_every_query_is_valid(life: Recorded, server: str, tmp_path: Path) -> None:
    with stored(replace(life, changes=[]), tmp_path) as url:
        values = resolved(url, CHANGE_IMPACT, life.end, CHOSEN | {"instance": server})
        for panel in CHANGE_IMPACT["panels"]:
            for target in panel.get("targets", []):
                ask(url, substituted(target["expr"], values), life.end)
