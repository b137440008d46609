"""Adapts the shipped rules to a scrape interval: their windows must hold enough scrapes.

A window holds at least four scrapes, so that one may be missed. Names of recorded series stay, so dashboards and alerts
need no change: `rate1m` then looks back further than a minute. Thresholds and `for` stay, too.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import yaml

from ase_exporter import assets
from ase_exporter.errors import UserError

# Seconds. The shipped rules are for SHIPPED_INTERVAL; shorter intervals need no other windows.
SHIPPED_INTERVAL = 15.0
MIN_INTERVAL, MAX_INTERVAL = 5.0, 300.0
SCRAPES_PER_WINDOW = 4
# Prometheus forgets a sample of a series after this time, unless --query.lookback-delta says more.
LOOKBACK = 300.0

_BASELINE = "ase_change_baseline"
# These count intervals between scrapes: all their windows grow with the interval.
_COUNTING = "ase_spinlock_alerts"
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}
_PART = re.compile(r"(\d+)(ms|[smhdwy])")
DURATION = r"(?:\d+(?:ms|[smhdwy]))+"
_RANGE = re.compile(rf"\[({DURATION})(?::({DURATION}))?\]")
_OFFSET = re.compile(rf"\boffset ({DURATION})")


def rule_files(interval: float, own: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The shipped rules by file name, for scrapes every `interval` seconds. Raises UserError.

    own: texts that replace shipped ones, by file name.
    """
    if not MIN_INTERVAL <= interval <= MAX_INTERVAL:
        raise UserError(f"--interval: {interval:g}s: expected {MIN_INTERVAL:g}s to {MAX_INTERVAL / 60:g}m")
    shipped = {
        path.name: path.read_text(encoding="utf-8") for path in assets.directory("rules").glob("*.yaml")
    }
    return {name: adapted(text, interval) for name, text in sorted({**shipped, **own}.items())}


def adapted(text: str, interval: float) -> str:
    """A rule file for scrapes every `interval` seconds."""
    if interval <= SHIPPED_INTERVAL:
        return text
    content = yaml.safe_load(text)
    for group in content["groups"]:
        for rule in group["rules"]:
            if group["name"] == _COUNTING:
                rule["expr"] = _stretched(rule["expr"], interval / SHIPPED_INTERVAL)
            else:
                rule["expr"] = _expression(rule["expr"], interval, baseline=group["name"] == _BASELINE)
    every = _text(interval)
    header = f"# The shipped rules for scrapes every {every}: ase-exporter rules --interval {every}\n"
    if 2 * interval > LOOKBACK:
        header += f"# Prometheus must be started with --query.lookback-delta={_text(3 * interval)}.\n"
    return header + dump(content)


def _expression(expr: str, interval: float, *, baseline: bool) -> str:
    window = SCRAPES_PER_WINDOW * interval
    # Until a change is known: the interval of snapshots, and two scrapes.
    lag = 120 + 2 * interval
    # The windows of medians and of rates before it, and a minute in which the change takes effect.
    lags = {"3m": lag, "7m": lag + 2 * window + 60} if baseline else {}

    def range_(match: re.Match[str]) -> str:
        step = f":{_longer(match[2], interval)}" if match[2] else ""
        return f"[{_longer(match[1], window)}{step}]"

    def offset(match: re.Match[str]) -> str:
        return f"offset {_longer(match[1], lags.get(match[1], 2 * interval))}"

    return _OFFSET.sub(offset, _RANGE.sub(range_, expr))


def _stretched(expr: str, factor: float) -> str:
    ranges = _RANGE.sub(lambda match: f"[{_text(factor * seconds_of(match[1]))}]", expr)
    return _OFFSET.sub(lambda match: f"offset {_text(factor * seconds_of(match[1]))}", ranges)


def _longer(duration: str, seconds: float) -> str:
    return duration if seconds_of(duration) >= seconds else _text(seconds)


def seconds_of(duration: str) -> float:
    """Seconds of a Prometheus duration such as 1h30m."""
    return sum(int(count) * _UNITS[unit] for count, unit in _PART.findall(duration))


def _text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m" if not rest else f"{round(seconds)}s"


def dump(content: Any) -> str:
    """YAML as rule files are written."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=150)


class _Dumper(yaml.SafeDumper):
    """Writes multi-line text in block style and indents list items as yamllint expects."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)
