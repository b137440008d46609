"""Healthy servers are quiet: no alert fires, not even an informational one."""

from pathlib import Path

import pytest
from tests.e2e.evaluation import timeline
from tests.e2e.simulated_time import record

DAY = 86_400

pytestmark = [pytest.mark.e2e]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("scenario", ["idle", "quiet-oltp"])
def test_nothing_fires_in_a_quarter_of_an_hour(scenario: str, tmp_path: Path) -> None:
    assert timeline(record(scenario, 900), tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize("scenario", ["idle", "quiet-oltp"])
def test_nothing_fires_in_a_day(scenario: str, tmp_path: Path) -> None:
    assert timeline(record(scenario, DAY), tmp_path) == []
