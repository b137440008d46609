"""Adapts the shipped rules to a scrape interval: their windows must hold enough scrapes.

A window holds at least four scrapes, so that one may be missed, and one of which only the last counts holds two. What
must last (`for`) is seen by two, so that one bad scrape does not fire. The contention of spinlocks between two scrapes
is judged by two intervals, if they are long. Names of recorded series stay, so dashboards and alerts need no change:
`rate1m` then looks back further than a minute. Thresholds stay, too.
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
# Of which the last one counts, in intervals: one may be missed, and the next one late.
LAST = 2.5
# `for` in intervals, at least, if there is any.
LASTING = 1.2
# Seconds in which what is recorded between two scrapes is seen often enough, if they hold two intervals.
SEEN = 600.0
# What fills up within these seconds is told in time by the shipped rules.
FAST = 900.0
# Prometheus forgets a sample of a series after this time, unless --query.lookback-delta says more.
LOOKBACK = 300.0

_BASELINE = "ase_change_baseline"
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}
_PART = re.compile(r"(\d+)(ms|[smhdwy])")
DURATION = r"(?:\d+(?:ms|[smhdwy]))+"
_RANGE = re.compile(rf"\[({DURATION})(?::({DURATION}))?\]")
_OFFSET = re.compile(rf"\boffset ({DURATION})")
# Each comes as a whole: an offset that clears its window must do so when the window grows.
_LAST = r'\blast_over_time\((?:[^()\[\]"]|"[^"]*")*'
_BETWEEN = r"\base:spinlock(?:_\w+:(?:ratio_)?irate1m|s_recorded:count)(?:\{[^}]*\})?"
_LOOKING_BACK = re.compile(
    rf"({_LAST})?({_BETWEEN})?{_RANGE.pattern}(?:\s+{_OFFSET.pattern})?|({_BETWEEN}\s+)?{_OFFSET.pattern}"
)


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
    content = assets.load_yaml(text)
    for group in content["groups"]:
        for rule in group["rules"]:
            if seconds_of(rule.get("for", "0s")) and not re.search(_BETWEEN, rule["expr"]):
                rule["for"] = _longer(rule["for"], LASTING * interval)
            rule["expr"] = _expression(rule["expr"], interval, baseline=group["name"] == _BASELINE)
    every = _text(interval)
    header = f"# The shipped rules for scrapes every {every}: ase-exporter write rules --interval {every}\n"
    # AseFullSoon needs two windows in turn.
    if (blind := 2 * SCRAPES_PER_WINDOW * interval) > FAST:
        header += f"# What fills up within {_text(blind)} is not told before it is full.\n"
    if 2 * interval > LOOKBACK:
        header += f"# Prometheus must be started with --query.lookback-delta={_text(3 * interval)}.\n"
    return header + dump(content)


def _expression(expr: str, interval: float, *, baseline: bool) -> str:
    window = SCRAPES_PER_WINDOW * interval
    # Until a change is known: the interval of snapshots, and two scrapes.
    lag = 120 + 2 * interval
    # The windows of medians and of rates before it, and a minute in which the change takes effect.
    lags = {"3m": lag, "7m": lag + 2 * window + 60} if baseline else {}

    def longer(match: re.Match[str]) -> str:
        last, between, range_, step, moved, known, moved_alone = match.groups("")
        offset, found = moved or moved_alone, known.strip()
        least = lags.get(offset, LASTING * interval if known else 2 * interval)
        if range_:
            long = LAST * interval if last else min(window, max(SEEN, 2 * interval)) if between else window
            found = _longer(range_, long)
            if offset and seconds_of(offset) >= seconds_of(range_):
                least = max(least, seconds_of(found))
            found = (
                f"{last}{between}[{found}:{_longer(step, interval)}]" if step else f"{last}{between}[{found}]"
            )
        return " ".join(filter(None, [found, offset and f"offset {_longer(offset, least)}"]))

    return _LOOKING_BACK.sub(longer, expr)


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


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)
