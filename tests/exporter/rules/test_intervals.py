"""Windows of the rules by scrape interval."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ase_exporter.commands.app import build
from ase_exporter.errors import UserError
from ase_exporter.rules.intervals import adapted, rule_files

RULE = "groups: [{{name: {group}, rules: [{{record: a:b, expr: '{expr}'}}]}}]"


@pytest.mark.parametrize("interval", [5, 15, 30, 60, 300])
def test_every_window_holds_four_scrapes(interval: int) -> None:
    for text in rule_files(interval).values():
        for window, unit in re.findall(r"\[(\d+)([smhd])(?::|\])", text):
            assert int(window) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit] >= 4 * interval


@pytest.mark.parametrize(
    ("interval", "expr", "expected"),
    [
        (15, "rate(x[1m])", "rate(x[1m])"),
        (5, "rate(x[1m])", "rate(x[1m])"),
        (30, "rate(x[1m])", "rate(x[2m])"),
        (60, "rate(x[1m]) + y[10m:15s]", "rate(x[4m]) + y[10m:1m]"),
        (300, "x[1d:5m] - x offset 10m", "x[1d:5m] - x offset 10m"),
    ],
)
def test_windows_grow_where_they_are_too_short(interval: float, expr: str, expected: str) -> None:
    assert expected in adapted(RULE.format(group="g", expr=expr), interval)


def test_the_baseline_before_a_change_is_further_back_at_longer_intervals() -> None:
    text = RULE.format(group="ase_change_baseline", expr="x offset 3m + x offset 7m")
    assert "x offset 4m + x offset 13m" in adapted(text, 60)


def test_windows_that_count_scrapes_grow_with_the_interval() -> None:
    text = RULE.format(
        group="ase_spinlock_alerts", expr="irate(x[1m]) + count_over_time(y[2m]) + z offset 75s"
    )
    assert "irate(x[4m]) + count_over_time(y[8m]) + z offset 5m" in adapted(text, 60)
    assert "irate(x[1m]) + count_over_time(y[2m]) + z offset 75s" in adapted(text, 15)


@pytest.mark.parametrize("interval", [0, 4, 301])
def test_an_interval_that_no_rule_can_serve_is_an_error(interval: float) -> None:
    with pytest.raises(UserError, match=r"--interval: .*: expected 5s to 5m"):
        rule_files(interval)


def test_the_command_writes_rules_for_an_interval_and_names_the_lookback(tmp_path: Path) -> None:
    result = CliRunner().invoke(build(), ["rules", "--interval", "5m", "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert {path.name for path in tmp_path.iterdir()} == rule_files(300).keys()
    assert all("lookback-delta=15m" in path.read_text() for path in tmp_path.iterdir())
