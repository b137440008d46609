"""Evaluates the rules step by step over time lines, by promtool: which alerts fire, and when.

Several time lines of a family run in one test, as jobs of one Prometheus. promtool refuses queries of over 10,000
samples, which limits their number. A rule that fails with an error fails all.
"""

import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import yaml
from tests.alerts.laboratory.lines import INTERVALS, TimeLine, input_series
from tests.paths import REPOSITORY

# Neither the diagnosis nor dashboards have alerts. Days are long, and have no series of the rest.
LEFT_OUT = {"diagnosis", "dashboards"}
LEFT_OUT_OF_DAYS = {"caches", "changes", "devices", "host", "spinlocks"}
ASKED_EVERY = {"hours": 30, "days": 60, "minute": 60}
# How many time lines run together; long ones alone.
TOGETHER = {"hours": 4, "days": 2, "minute": 4}
LONG = 15 * 3600
QUERY = 'ALERTS{alertstate="firing",severity=~"warning|critical"}'

# Alert -> [(start, end) of each time it fired], in seconds.
Firings = dict[str, list[tuple[float, float]]]

_CHECK = re.compile(r"time: ([\dhms]+),\n +exp:.*\n +got: (.*)")
_ALERT = re.compile(r'\{__name__="ALERTS", alertname="(\w+)"[^}]*?\bjob="(\w+)"')


class RulesError(Exception):
    """promtool could not evaluate the rules; the message is what it said."""


def fired(lines: Iterable[TimeLine], rules: Path = REPOSITORY / "alerts") -> dict[str, Firings]:
    """What fired in each time line, by title. rules: the folder of `rules` and `rules-60s`."""
    groups: dict[tuple[str, bool], list[TimeLine]] = defaultdict(list)
    for line in lines:
        groups[line.family, line.lasts > LONG].append(line)
    return {
        title: firings
        for (family, long), group in groups.items()
        for some in batched(group, 1 if long else TOGETHER[family])
        for title, firings in _evaluated(family, some, rules)
    }


def batched(lines: Sequence[TimeLine], size: int) -> Iterator[Sequence[TimeLine]]:
    """The time lines in batches."""
    return (lines[start : start + size] for start in range(0, len(lines), size))


def _evaluated(family: str, lines: Sequence[TimeLine], rules: Path) -> Iterator[tuple[str, Firings]]:
    step = ASKED_EVERY[family]
    end = max(line.lasts for line in lines)
    by_time = _by_time(_said(family, lines, rules, [step * count for count in range(1, int(end / step) + 1)]))
    for number, line in enumerate(lines):
        job = _job(number)
        moments: dict[str, list[float]] = defaultdict(list)
        for time, found in by_time.items():
            if time <= line.lasts:
                for alert in {alert for alert, its_job in found if its_job == job}:
                    moments[alert].append(time)
        yield line.title, {alert: list(_periods(times, step)) for alert, times in moments.items()}


def _job(number: int) -> str:
    return f"t{number:03}"


def _said(family: str, lines: Sequence[TimeLine], rules: Path, times: Sequence[int]) -> str:
    interval = INTERVALS[family]
    folder = rules / ("rules-60s" if family == "minute" else "rules")
    left_out = LEFT_OUT | (LEFT_OUT_OF_DAYS if family == "days" else set())
    test = {
        "rule_files": [
            str(path) for path in sorted(folder.glob("*.yaml")) if path.name.partition(".")[0] not in left_out
        ],
        "evaluation_interval": f"{interval}s",
        "tests": [
            {
                "interval": f"{interval}s",
                "input_series": [
                    series for number, line in enumerate(lines) for series in input_series(line, _job(number))
                ],
                "promql_expr_test": [
                    {"expr": QUERY, "eval_time": f"{time}s", "exp_samples": []} for time in times
                ],
                # Without one, promtool evaluates no rules.
                "alert_rule_test": [{"alertname": "None", "eval_time": f"{times[-1]}s"}],
            }
        ],
    }
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "laboratory.test.yaml"
        path.write_text(yaml.dump(test, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), width=1e9))
        done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True)
    said = done.stdout + done.stderr
    if errors := re.findall(r"^.*\berr: .*|^error .*", said, re.MULTILINE):
        raise RulesError("\n".join(errors[:5]))
    return said


def _by_time(said: str) -> dict[float, set[tuple[str, str]]]:
    """(alert, job) of what fires at each time."""
    return {
        _seconds(time): {(alert, job) for alert, job in _ALERT.findall(got)}
        for time, got in _CHECK.findall(said)
    }


def _seconds(duration: str) -> float:
    units = {"h": 3600, "m": 60, "s": 1}
    return float(sum(int(count) * units[unit] for count, unit in re.findall(r"(\d+)([hms])", duration)))


def _periods(times: Sequence[float], step: float) -> Iterator[tuple[float, float]]:
    start = before = times[0]
    for time in times[1:]:
        if time - before > step:
            yield start, before
            start = time
        before = time
    yield start, before
