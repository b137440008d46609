"""Healthy servers are quiet: no alert fires, not even an informational one."""

from pathlib import Path

import pytest
from tests.e2e.simulated_time import record, timeline

DAY = 86_400

pytestmark = [pytest.mark.e2e]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", ["idle", "quiet-oltp"])
def test_nothing_fires_in_a_quarter_of_an_hour(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert timeline(record(scenario, 900, monkeypatch), tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize("scenario", ["idle", "quiet-oltp"])
def test_nothing_fires_in_a_day(scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert timeline(record(scenario, DAY, monkeypatch), tmp_path) == []
