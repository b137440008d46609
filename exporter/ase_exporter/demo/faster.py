"""The shipped configuration with its durations shortened as simulated time runs faster than the clock.

A simulated minute at speed 60 is one second: `for: 5m` becomes 5 s, `rate(…[1m])` looks back 1 s, but never
over fewer than four scrapes. Names of recorded series and ratios stay; rates count per second of the clock.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

SCRAPES_PER_WINDOW = 4
OTHERS_INTERVAL = 5.0
"""Seconds between scrapes of what is not simulated: no faster than anybody needs."""

UNHURRIED = 2.0
HURRIED_COLLECTORS = ["state", "engines", "threads", "spinlocks"]
"""What is scraped at intervals below UNHURRIED seconds: simulator and exporter share a small machine then."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_PART = re.compile(r"(\d+)(ms|[smhdwy])")
_DURATION = re.compile(r"(?:\d+(?:ms|[smhdwy]))+")
_IN_PROMQL = re.compile(r"(?<=\[)[^\]]+(?=\])|(?<=\boffset )\S+")


@dataclass(frozen=True, slots=True)
class Pace:
    """speed: simulated seconds per second; scrape_interval: seconds of the clock between scrapes."""

    speed: float
    scrape_interval: float

    def window(self, simulated: float) -> float:
        """A range of simulated seconds in seconds of the clock, long enough for a rate."""
        return max(simulated / self.speed, SCRAPES_PER_WINDOW * self.scrape_interval)


def rules(text: str, pace: Pace) -> str:
    """A Prometheus rule file at that pace."""
    content = yaml.safe_load(text)
    for group in content["groups"]:
        # Faster, what is usual is not waited for longer than for the rest.
        if pace.speed > 1:
            group.pop("interval", None)
        for rule in group["rules"]:
            rule["expr"] = _IN_PROMQL.sub(lambda part: _shorten_windows(part[0], pace), rule["expr"])
            _shorten(rule, ("for", "keep_firing_for"), lambda simulated: simulated / pace.speed)
    return yaml.safe_dump(content, sort_keys=False)


def alertmanager(text: str, pace: Pace, templates: str) -> str:
    """An Alertmanager configuration at that pace, texts from `templates`; repetitions keep their interval."""
    content = yaml.safe_load(text) | {"templates": [templates]}

    def shorten(route: dict[str, Any]) -> None:
        _shorten(
            route,
            ("group_wait", "group_interval"),
            lambda simulated: max(simulated / pace.speed, pace.scrape_interval),
        )
        for child in route.get("routes", []):
            shorten(child)

    shorten(content["route"])
    return yaml.safe_dump(content, sort_keys=False)


def prometheus(text: str, pace: Pace, rule_files: str) -> str:
    """A Prometheus configuration at that pace, with rules from `rule_files`."""
    content = yaml.safe_load(text)
    interval = duration(pace.scrape_interval)
    content["global"] |= {"scrape_interval": interval, "evaluation_interval": interval}
    for job in content["scrape_configs"]:
        if job["job_name"] != "ase":
            job["scrape_interval"] = duration(max(pace.scrape_interval, OTHERS_INTERVAL))
        elif pace.scrape_interval < UNHURRIED:
            job["params"] = {"collect[]": HURRIED_COLLECTORS}
    content["rule_files"] = [rule_files]
    return yaml.safe_dump(content, sort_keys=False)


def duration(seconds: float) -> str:
    """Seconds as Prometheus writes a duration."""
    return f"{max(1, round(seconds * 1000))}ms"


def seconds(text: str) -> float:
    """A Prometheus duration such as 1h30m in seconds."""
    return sum(int(count) * _UNITS[unit] for count, unit in _PART.findall(text))


def _shorten_windows(selection: str, pace: Pace) -> str:
    return _DURATION.sub(lambda each: duration(pace.window(seconds(each[0]))), selection)


def _shorten(rule: dict[str, Any], keys: tuple[str, ...], shorter: Callable[[float], float]) -> None:
    for key in keys:
        if key in rule:
            rule[key] = duration(shorter(seconds(rule[key])))
