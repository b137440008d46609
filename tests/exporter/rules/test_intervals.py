"""Windows of the rules by scrape interval."""

import re
from pathlib import Path

import pytest
from tests.exporter.commands.command_line import Run

from ase_exporter.assets import load_yaml
from ase_exporter.errors import UserError
from ase_exporter.rules.intervals import adapted, rule_files, seconds_of

RULE = "groups: [{{name: {group}, rules: [{{record: a:b, expr: '{expr}'}}]}}]"
WINDOWS = load_yaml(Path(__file__).with_name("intervals.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("interval", [5, 15, 30, 60, 300])
def test_every_window_holds_four_scrapes_or_two_if_fewer_count(interval: int) -> None:
    for text in rule_files(interval).values():
        for last, recorded, window in re.findall(
            r'(last_over_time\((?:[^()[\]"]|"[^"]*")*)?(ase:spinlock[\w:]*(?:irate1m|count)(?:\{[^}]*\})?)?\[(\d+[smhd])(?::|\])',
            text,
        ):
            assert seconds_of(window) >= (2.5 if last else 2 if recorded else 4) * interval


@pytest.mark.parametrize(("interval", "expr", "expected"), WINDOWS)
def test_windows_grow_where_they_are_too_short(interval: float, expr: str, expected: str) -> None:
    assert expected in adapted(RULE.format(group="g", expr=expr), interval)


def test_the_baseline_before_a_change_is_further_back_at_longer_intervals() -> None:
    text = RULE.format(group="ase_change_baseline", expr="x offset 3m + x offset 7m")
    assert "x offset 4m + x offset 13m" in adapted(text, 60)


def test_what_must_last_is_seen_by_two_scrapes() -> None:
    contended = "ase:spinlock_contention:ratio_irate1m"
    rules = [("x", "90s"), ("x", "0s"), (contended, "1m")]
    text = ", ".join(f"{{alert: A, expr: '{expr}', for: {lasts}}}" for expr, lasts in rules)
    (group,) = load_yaml(adapted(f"groups: [{{name: g, rules: [{text}]}}]", 300))["groups"]
    assert [rule["for"] for rule in group["rules"]] == ["6m", "0s", "1m"]


@pytest.mark.parametrize("interval", [0, 4, 301])
def test_an_interval_that_no_rule_can_serve_is_an_error(interval: float) -> None:
    with pytest.raises(UserError, match=r"--interval: .*: expected 5s to 5m"):
        rule_files(interval)


def test_the_command_writes_rules_for_an_interval_and_names_the_lookback(run: Run, tmp_path: Path) -> None:
    result = run("write", "rules", "--interval=5m", f"--output={tmp_path}")
    assert result.returncode == 0, result.stderr
    assert {path.name for path in tmp_path.iterdir()} == rule_files(300).keys()
    for path in tmp_path.iterdir():
        assert "lookback-delta=15m" in path.read_text()
        assert "What fills up within 40m is not told before it is full." in path.read_text()
