"""The vldb scenario: tuned step by step through the server's own calls, it shows the figures of the case study."""

import csv

import pytest
from tests.paths import DOCS, SHARED
from tests.simulator.model.vldb_story import Stage, rows, stages
from tests.simulator.model.worlds import contention, rows_of

from ase_simulator.model import load_scenario

PUBLISHED = SHARED / "casestudy/vldb_tuning_steps.csv"

PAGE = DOCS / "case-studies.md"

ADDRESS = ["addrlockspins"]
DESCRIPTORS = ["Des Upd Spinlocks", "Ides Spinlocks"]
DEFAULT = ["default data cache"]
NAMED = ["default data cache", "system tables cache", "key tables cache"]

# The bottleneck's spinlocks, contention % from and to, elapsed seconds of the batch
STEPS = [
    (ADDRESS, 50, 90, None),
    (DESCRIPTORS, 30, 40, None),
    (DEFAULT, None, None, 180),
    (DEFAULT, None, None, 90),
    (NAMED, 10, 15, 60),
]


@pytest.fixture(scope="module")
def story() -> list[Stage]:
    return stages()


# Of each stage: contention by spinlock, elapsed seconds of the batch, its status.
Measured = list[tuple[dict[str, float], float, str]]


@pytest.fixture(scope="module")
def measured(story: list[Stage]) -> Measured:
    return [(stage.contention, stage.elapsed, stage.status) for stage in story]


def test_the_page_shows_the_measured_figures(story: list[Stage]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [row for row in rows(story) if f"| {row} |" not in page] == []


def test_the_untuned_batch_is_aborted_after_five_minutes_on_the_address_lock_spinlocks(
    measured: Measured,
) -> None:
    found, elapsed, status = measured[0]
    assert status == "aborted"
    assert elapsed > 300
    assert 45 <= found["addrlockspins"] <= 95


def test_finer_address_locks_bring_it_under_five_minutes_and_the_descriptors_to_light(
    measured: Measured,
) -> None:
    found, elapsed, status = measured[1]
    assert status == "done"
    assert 240 <= elapsed < 300
    for name in DESCRIPTORS:
        assert 25 <= found[name] <= 45


@pytest.mark.parametrize("step", [2, 3, 4])
def test_each_further_fix_brings_the_elapsed_time_of_the_case_study(measured: Measured, step: int) -> None:
    _, elapsed, status = measured[step]
    assert status == "done"
    assert elapsed == pytest.approx(STEPS[step][3], rel=0.2)


@pytest.mark.parametrize("step", [2, 3])
def test_then_the_default_data_cache_is_the_bottleneck(measured: Measured, step: int) -> None:
    assert measured[step][0]["default data cache"] > 15


def test_at_the_end_the_named_caches_are_left_with_ten_to_fifteen_percent(measured: Measured) -> None:
    found = {name: measured[4][0][name] for name in NAMED}
    assert 10 <= max(found.values()) <= 15
    assert all(5 <= value <= 20 for value in found.values())


def test_the_steps_above_are_the_published_ones() -> None:
    if not PUBLISHED.exists():
        pytest.skip("../shared/casestudy is not here")
    with PUBLISHED.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(STEPS)
    for row, (_, low, high, elapsed) in zip(rows, STEPS, strict=True):
        assert row["contention_pct_low"] == ("" if low is None else str(low))
        assert row["contention_pct_high"] == ("" if high is None else str(high))
        if elapsed is not None:
            assert row["elapsed_seconds_about"] == str(elapsed)


def test_a_longer_ratio_brings_the_contention_back() -> None:
    [server] = load_scenario("vldb", speed=0)
    server.set_option("lock address spinlock ratio", 5, "sa")
    fine = contention(server, 30, ADDRESS)["addrlockspins"]
    server.set_option("lock address spinlock ratio", 1031, "sa")
    coarse = contention(server, 30, ADDRESS)["addrlockspins"]
    assert fine < 10 < 90 < coarse


def test_with_the_default_hash_table_a_ratio_gives_the_number_of_spinlocks_of_the_manual() -> None:
    [server] = load_scenario("vldb", speed=0)
    for ratio, slots in ((100, 11), (5, 207), (1031, 1), (1, 1031)):
        server.set_option("lock address spinlock ratio", ratio, "sa")
        names = [row["SpinlockName"] for row in rows_of(server, "monSpinlockActivity")]
        assert names.count("addrlockspins") == slots
