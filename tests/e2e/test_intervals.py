"""The rules give the same series at any scrape interval, at sample times that are in step with nothing."""

from functools import cache
from pathlib import Path

import pytest
from tests.e2e.evaluation import evaluate
from tests.e2e.simulated_time import RULES, Recording, record

from ase_exporter.rules.intervals import rule_files

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1800)]

SECONDS = 1500
RECORDED = 'count by (__name__) ({__name__=~"(ase|dbhost):.+"})'


@cache
def recorded(interval: int) -> Recording:
    # Ten seconds before the end of each interval: never at an evaluation.
    return record("memscale", SECONDS, interval=interval, lag=10)


def series(recording: Recording, directory: Path, rules: list[Path]) -> dict[str, float]:
    """The number of series by recorded name, at the end."""
    query = RECORDED, SECONDS
    directory.mkdir(exist_ok=True)
    return {
        sample.labels["__name__"]: sample.value
        for sample in evaluate(recording, directory, [query], rules)[query]
    }


def adapted(interval: int, directory: Path) -> list[Path]:
    directory.mkdir()
    for name, text in rule_files(interval).items():
        (directory / name).write_text(text, encoding="utf-8")
    return sorted(directory.iterdir())


@pytest.mark.parametrize("interval", [30, 60])
def test_rules_for_an_interval_give_all_series_of_the_shipped_ones(interval: int, tmp_path: Path) -> None:
    expected = set(series(recorded(15), tmp_path / "shipped", RULES))
    assert len(expected) > 25
    rules = adapted(interval, tmp_path / "rules")
    assert set(series(recorded(interval), tmp_path / "adapted", rules)) == expected


def test_the_shipped_rules_lose_most_series_at_a_minute(tmp_path: Path) -> None:
    expected = set(series(recorded(15), tmp_path / "15", RULES))
    assert len(set(series(recorded(60), tmp_path / "60", RULES))) < len(expected) / 2
