"""Healthy servers are quiet: no alert fires, not even an informational one."""

from pathlib import Path

import pytest
from tests.e2e.simulated_time import firing, record

DAY = 86_400

pytestmark = [pytest.mark.e2e]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", ["idle", "quiet-oltp"])
def test_nothing_fires_in_a_quarter_of_an_hour(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert firing(record(scenario, 900, monkeypatch), tmp_path) == ""


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize("scenario", ["idle", "quiet-oltp"])
def test_nothing_fires_in_a_day(scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert firing(record(scenario, DAY, monkeypatch), tmp_path) == ""


@pytest.mark.timeout(300)
def test_a_server_in_trouble_is_not_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = firing(record("memscale", 600, monkeypatch), tmp_path)
    assert 'alertname="AseSpinlockContention"' in said
    assert 'spinlock="system tables cache"' in said
