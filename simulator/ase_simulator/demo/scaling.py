"""Scales the durations of the shipped configuration to a simulator that runs faster than real time.

At speed 60 a simulated minute takes one second: `for: 5m` becomes 5 s and `rate(…[1m])` a window of 1 s, but never
fewer than four scrapes. Names of recorded series and ratios are unchanged; rates are per second of real time.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from ase_exporter.rules.intervals import DURATION, seconds_of
from ase_simulator.yaml_text import load_yaml

MIN_SCRAPES_PER_WINDOW = 4
MIN_INTERVAL_OF_OTHER_JOBS = 5.0
"""Minimum seconds between scrapes of jobs other than the simulated server."""

FULL_SCRAPE_INTERVAL = 2.0
FAST_COLLECTORS = ["state", "engines", "threads", "spinlocks", "changes"]
"""Collectors scraped at intervals below FULL_SCRAPE_INTERVAL seconds, to fit on a small machine."""

_IN_PROMQL = re.compile(r"(?<=\[)[^\]]+(?=\])|(?<=\boffset )\S+")


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the demo runs. speed: simulated seconds per real second; scrape_interval: real seconds."""

    speed: float
    scrape_interval: float

    def window(self, simulated: float) -> float:
        """Return the real seconds of a range of simulated seconds, at least MIN_SCRAPES_PER_WINDOW scrapes."""
        return max(simulated / self.speed, MIN_SCRAPES_PER_WINDOW * self.scrape_interval)


def scaled_rules(text: str, pace: Pace) -> str:
    """Return a Prometheus rule file with durations scaled to the pace."""
    content = load_yaml(text)
    for group in content["groups"]:
        # At speed, rarely evaluated groups (baselines) are evaluated as often as all others.
        if pace.speed > 1:
            group.pop("interval", None)
        for rule in group["rules"]:
            rule["expr"] = _IN_PROMQL.sub(lambda part: _scale_windows(part[0], pace), rule["expr"])
            _scale(rule, ("for", "keep_firing_for"), lambda simulated: simulated / pace.speed)
    return yaml.safe_dump(content, sort_keys=False)


def scaled_alertmanager(text: str, pace: Pace, templates: str) -> str:
    """Return an Alertmanager configuration scaled to the pace, with `templates`; repeat_interval is kept."""
    content = load_yaml(text) | {"templates": [templates]}

    def scale_route(route: dict[str, Any]) -> None:
        _scale(
            route,
            ("group_wait", "group_interval"),
            lambda simulated: max(simulated / pace.speed, pace.scrape_interval),
        )
        for child in route.get("routes", []):
            scale_route(child)

    scale_route(content["route"])
    return yaml.safe_dump(content, sort_keys=False)


def scaled_prometheus(text: str, pace: Pace, rule_files: str) -> str:
    """Return a Prometheus configuration scaled to the pace, with rules from `rule_files`."""
    content = load_yaml(text)
    interval = ms(pace.scrape_interval)
    content["global"] |= {"scrape_interval": interval, "evaluation_interval": interval}
    for job in content["scrape_configs"]:
        if job["job_name"] != "ase":
            job["scrape_interval"] = ms(max(pace.scrape_interval, MIN_INTERVAL_OF_OTHER_JOBS))
        elif pace.scrape_interval < FULL_SCRAPE_INTERVAL:
            job["params"] = {"collect[]": FAST_COLLECTORS}
        for discovery in job.get("http_sd_configs", []):
            # The exporter starts after Prometheus.
            discovery["refresh_interval"] = "1s"
    content["rule_files"] = [rule_files]
    return yaml.safe_dump(content, sort_keys=False)


def ms(seconds: float) -> str:
    """Seconds as a Prometheus duration in ms."""
    return f"{max(1, round(seconds * 1000))}ms"


def _scale_windows(selection: str, pace: Pace) -> str:
    return re.sub(DURATION, lambda each: ms(pace.window(seconds_of(each[0]))), selection)


def _scale(rule: dict[str, Any], keys: tuple[str, ...], scale: Callable[[float], float]) -> None:
    for key in keys:
        if key in rule:
            rule[key] = ms(scale(seconds_of(rule[key])))
