"""Scaling of the shipped configuration to the pace of a replay."""

import pytest
import yaml

from ase_exporter.assets import load_yaml
from ase_simulator.demo import scaling

PACE = scaling.Pace(speed=60, scrape_interval=0.25)


def rule(text: str) -> dict[str, str]:
    content = load_yaml(scaling.scaled_rules(text, PACE))
    return dict(content["groups"][0]["rules"][0])


@pytest.mark.parametrize(
    ("window", "shorter"),
    [("[10m]", "[10000ms]"), ("[1m]", "[1000ms]"), ("[15s]", "[1000ms]"), ("[1h30m:1m]", "[90000ms:1000ms]")],
)
def test_windows_shrink_with_speed_but_hold_four_scrapes(window: str, shorter: str) -> None:
    text = f"groups: [{{name: g, rules: [{{record: a:b, expr: 'rate(x{window})'}}]}}]"
    assert rule(text)["expr"] == f"rate(x{shorter})"


def test_names_and_numbers_in_expressions_stay() -> None:
    expr = 'ase:spinlock_contention:ratio_rate1m{spinlock="a 5m b"} > 10 and x offset 1h'
    text = yaml.safe_dump({"groups": [{"name": "g", "rules": [{"record": "a:b", "expr": expr}]}]})
    assert rule(text)["expr"] == expr.replace("offset 1h", "offset 60000ms")


def test_for_shrinks_with_speed() -> None:
    text = "groups: [{name: g, interval: 30s, rules: [{alert: A, expr: x, for: 5m}]}]"
    assert rule(text)["for"] == "5000ms"


@pytest.mark.parametrize(("speed", "interval"), [(1.0, "5m"), (60.0, None)])
def test_group_intervals_are_kept_in_real_time_only(speed: float, interval: str | None) -> None:
    text = "groups: [{name: g, interval: 5m, rules: [{record: a, expr: x}]}]"
    (group,) = load_yaml(scaling.scaled_rules(text, scaling.Pace(speed, 1.0)))["groups"]
    assert group.get("interval") == interval


def test_nested_routes_shrink_too() -> None:
    text = "route: {group_wait: 30s, routes: [{group_interval: 1m, repeat_interval: 4h}]}"
    route = load_yaml(scaling.scaled_alertmanager(text, PACE, "x.tmpl"))["route"]
    assert route == {"group_wait": "500ms", "routes": [{"group_interval": "1000ms", "repeat_interval": "4h"}]}
