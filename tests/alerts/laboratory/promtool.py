"""Evaluates the rules step by step over time lines, by promtool or vmalert-tool: which alerts fire, and when.

Several time lines of a family run in one test, as jobs of one Prometheus. promtool refuses queries of over 10,000
samples, which limits their number. A rule that fails with an error fails all.
"""

import os
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from tests.alerts.laboratory.lines import INTERVALS, SLOWER, TimeLine, input_series
from tests.e2e.evaluation import groups_in_order
from tests.paths import REPOSITORY

from ase_exporter.rules.intervals import adapted

# Neither the diagnosis nor dashboards have alerts. Days are long, and have no series of the rest.
LEFT_OUT = {"diagnosis", "dashboards"}
LEFT_OUT_OF_DAYS = {"caches", "changes", "devices", "host", "spinlocks"}
ASKED_EVERY = {"hours": 30, "days": 60, "minute": 60, "five minutes": 60}
# How many seconds of time lines run together; longer ones run alone.
TOGETHER = {"hours": 10 * 3600, "days": 24 * 3600, "minute": 24 * 3600, "five minutes": 24 * 3600}
QUERY = 'ALERTS{alertstate="firing",severity=~"warning|critical"}'

# Alert -> [(start, end) of each time it fired], in seconds.
Firings = dict[str, list[tuple[float, float]]]

_CHECK = re.compile(r"time: ([\ddhms]+),\n +exp:.*\n +got: (.*)")
_ALERT = re.compile(r'\{__name__="ALERTS", [^}]*?\balertname="(\w+)"[^}]*?\bjob="(\w+)"')


class RulesError(Exception):
    """promtool could not evaluate the rules; the message is what it said."""


def fired(
    lines: Sequence[TimeLine], rules: Path = REPOSITORY / "alerts", tool: str = "promtool"
) -> dict[str, Firings]:
    """What fired in each time line, by title. rules: the folder of `rules`; tool: the program."""
    return {title: firings for some in batches(lines) for title, firings in _evaluated(some, rules, tool)}


def batches(lines: Iterable[TimeLine]) -> Iterator[Sequence[TimeLine]]:
    """The time lines, those of a family in batches that can run together."""
    for family, limit in TOGETHER.items():
        batch: list[TimeLine] = []
        for line in sorted((each for each in lines if each.family == family), key=lambda line: line.lasts):
            if batch and line.lasts * (len(batch) + 1) > limit:
                yield batch
                batch = []
            batch.append(line)
        if batch:
            yield batch


def _evaluated(lines: Sequence[TimeLine], rules: Path, tool: str) -> Iterator[tuple[str, Firings]]:
    step = ASKED_EVERY[lines[0].family]
    end = max(line.lasts for line in lines)
    times = [step * count for count in range(1, int(end / step) + 1)]
    with tempfile.TemporaryDirectory() as directory:
        files = list(_rule_files(rules / "rules", lines[0].family, Path(directory)))
        by_time = _by_time(_said(_test(lines, files, times), tool))
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


def _rule_files(rules: Path, family: str, directory: Path) -> Iterator[Path]:
    """Write the rules for a family into a directory."""
    left_out = LEFT_OUT | (LEFT_OUT_OF_DAYS if family == "days" else set())
    for path in sorted(rules.glob("*.yaml")):
        if path.name.partition(".")[0] not in left_out:
            text = path.read_text()
            written = directory / path.name
            written.write_text(adapted(text, INTERVALS[family]) if family in SLOWER else text)
            yield written


def _test(lines: Sequence[TimeLine], files: Sequence[Path], times: Sequence[int]) -> dict[str, Any]:
    family = lines[0].family
    interval = INTERVALS[family]
    return {
        "rule_files": list(map(str, files)),
        "evaluation_interval": f"{min(interval, 60)}s",
        "group_eval_order": groups_in_order(files),
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


def _said(test: dict[str, Any], tool: str) -> str:
    """What the tool reports: each query expects nothing, so that it prints what it found."""
    text = yaml.dump(test, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), width=1e9)
    arguments = ["test", "rules"]
    if "vmalert" in Path(tool).name:
        text = text.replace("promql_expr_test:", "metricsql_expr_test:")
        arguments = ["unittest", "--disableAlertgroupLabel"]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "laboratory.test.yaml"
        path.write_text(text)
        file = f"--files={path}" if arguments[0] == "unittest" else str(path)
        done = subprocess.run(
            [tool, *arguments, file],
            capture_output=True,
            text=True,
            env=os.environ | {"TMPDIR": directory},
        )
    said = done.stdout + done.stderr
    if not re.search("SUCCESS|FAILED", said):
        raise RulesError(said[-500:])
    if errors := re.findall(r"^.*\berr: .*|^error .*|failed to parse.{99}", said, re.MULTILINE):
        raise RulesError("\n".join(errors[:5]))
    return said


def _by_time(said: str) -> dict[float, set[tuple[str, str]]]:
    """(alert, job) of what fires at each time."""
    return {
        _seconds(time): {(alert, job) for alert, job in _ALERT.findall(got)}
        for time, got in _CHECK.findall(said)
    }


def _seconds(duration: str) -> float:
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    return float(sum(int(count) * units[unit] for count, unit in re.findall(r"(\d+)([dhms])", duration)))


def _periods(times: Sequence[float], step: float) -> Iterator[tuple[float, float]]:
    start = before = times[0]
    for time in times[1:]:
        if time - before > step:
            yield start, before
            start = time
        before = time
    yield start, before
