"""Which saved totals are deleted at a start."""

import os
from pathlib import Path

from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.saved_totals import encode
from ase_exporter.workers.totals_register import DIRECTORY, MAX_AGE, TotalsRegister

# Any time, a year before that of the clock or a year after it, for instance.
NEWEST = 1_700_000_000.0


def kept(state: Path, ages: dict[str, float]) -> set[str]:
    """The targets whose totals are left at a start, of those that were written so many seconds before NEWEST."""
    (state / DIRECTORY).mkdir()
    for target, age in ages.items():
        file = state / DIRECTORY / f"{target}@default.totals"
        file.write_bytes(encode(CounterStore()))
        os.utime(file, (NEWEST - age, NEWEST - age))
    register = TotalsRegister(state)
    register.close()
    return {target for target in ages if register.of(target)}


def test_a_clock_that_is_far_ahead_does_not_erase_the_totals(tmp_path: Path) -> None:
    assert kept(tmp_path, {"ONE": 0, "TWO": 3600}) == {"ONE", "TWO"}


def test_totals_of_a_target_that_is_not_scraped_any_more_are_deleted(tmp_path: Path) -> None:
    assert kept(tmp_path, {"ONE": 0, "OLD": MAX_AGE + 1, "TWO": MAX_AGE - 1}) == {"ONE", "TWO"}
