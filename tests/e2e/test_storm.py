"""A login storm, a lock storm, and more engines as the wrong remedy: each is told, and nothing else is."""

from pathlib import Path

import pytest
from tests.e2e.simulated_time import differing, record

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

CACHE = "default data cache"

EXPECTED = {
    # 60 users: quiet.
    "4m": [],
    # 2,000 users since 5m, for over five minutes.
    "10m45s": [f"AseSpinlockContention warning {CACHE}"],
    # Hot rows since 10m: tasks wait for locks for over three minutes.
    "13m": ["AseBlocking warning"],
    # Deadlocks came until 15m, and a rate looks back five minutes.
    "17m": ["AseDeadlocks warning"],
    # 32 engines instead of 16 since 15m: contention again, for over five minutes.
    "20m45s": [f"AseSpinlockContention warning {CACHE}"],
    # 60 users since 20m: all is told to be over.
    "24m": [],
}


def test_each_storm_is_told_in_its_time_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert differing(record("storm", 1500, monkeypatch), tmp_path, EXPECTED) == ""
