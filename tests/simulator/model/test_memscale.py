"""The memscale scenario shows the figures of the Memscale case study, from counters alone."""

import csv

import pytest
from tests.paths import SHARED
from tests.simulator.model.worlds import rows_of

from ase_simulator.model import SimulatedServer, load_scenario

# CPU busy %, committed transactions per CPU unit, contention % of: default data cache, system tables cache,
# log cache (the case study's appendix B)
FIGURES = [
    (89.70, 97.3, 2.10, 85.80, 2.30),
    (82.00, 230.1, 66.00, 28.50, 10.40),
    (84.80, 198.6, 66.70, 0.00, 10.80),
    (89.40, 91.1, 2.10, 85.60, 4.10),
    (86.30, 108.6, 4.00, 57.90, 3.10),
    (86.70, 102.6, 37.50, 91.60, 10.70),
    (82.70, 155.8, 0.40, 0.00, 12.30),
    (82.20, 152.2, 0.40, 0.00, 12.30),
    (81.70, 124.1, 0.20, 0.00, 15.90),
    (82.20, 159.7, 0.30, 0.00, 12.80),
]
CACHES = ("default data cache", "system tables cache", "log cache")
RUN_SECONDS = 600
PUBLISHED = SHARED / "casestudy/memscale_runs.csv"


def _totals(server: SimulatedServer) -> dict[str, float]:
    totals = {"transactions": 0.0, "busy": 0.0, "ticks": 0.0, "cpu": 0.0}
    for row in rows_of(server, "monState"):
        totals["transactions"] = row["Transactions"]
    for row in rows_of(server, "monEngine"):
        totals["busy"] += row["UserCPUTime"] + row["SystemCPUTime"]
        totals["ticks"] += row["CPUTime"]
    for row in rows_of(server, "monThread"):
        totals["cpu"] += (row["UserTime"] + row["SystemTime"]) / 1000
    for row in rows_of(server, "monSpinlockActivity"):
        for column in ("Grabs", "Waits"):
            key = f"{column} {row['SpinlockName']}"
            totals[key] = totals.get(key, 0.0) + row[column]
    return totals


def _figures(before: dict[str, float], after: dict[str, float]) -> tuple[float, ...]:
    delta = {key: after[key] - before[key] for key in after}
    return (
        100 * delta["busy"] / delta["ticks"],
        delta["transactions"] / delta["cpu"],
        *(100 * delta[f"Waits {cache}"] / delta[f"Grabs {cache}"] for cache in CACHES),
    )


@pytest.fixture(scope="module")
def measured() -> list[tuple[float, ...]]:
    [server] = load_scenario("memscale", speed=0)
    runs = []
    for _ in FIGURES:
        server.advance(60)
        before = _totals(server)
        server.advance(RUN_SECONDS - 120)
        runs.append(_figures(before, _totals(server)))
        server.advance(60)
    return runs


def _assert_close(found: tuple[float, ...], wanted: tuple[float, ...]) -> None:
    busy, per_unit, *contentions = found
    assert busy == pytest.approx(wanted[0], abs=0.5)
    assert per_unit == pytest.approx(wanted[1], rel=0.01)
    assert contentions == pytest.approx(wanted[2:], abs=0.5)


@pytest.mark.parametrize("run", range(len(FIGURES)))
def test_each_run_shows_the_busy_throughput_and_contention_of_the_case_study(
    measured: list[tuple[float, ...]], run: int
) -> None:
    _assert_close(measured[run], FIGURES[run])


def test_the_figures_above_are_the_published_ones(measured: list[tuple[float, ...]]) -> None:
    if not PUBLISHED.exists():
        pytest.skip("../shared/casestudy is not here")
    with PUBLISHED.open() as file:
        rows = [tuple(float(value) for value in list(row.values())[5:]) for row in csv.DictReader(file)]
    assert rows == FIGURES
    for found, wanted in zip(measured, rows, strict=True):
        _assert_close(found, wanted)
