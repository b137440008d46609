"""The shipped rules and PromQL, evaluated over a recording by promtool: Prometheus's own engine at exact times."""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from tests.alerts.shipped import content
from tests.e2e.expected_timeline import SUBJECT_LABELS, FiredAlert, periods
from tests.e2e.simulated_time import INTERVAL, RULES, Recording

from ase_exporter.rules.intervals import seconds_of

_RECORD = re.compile(r"record: (\S+)")
_SERIES = re.compile(r"\b(?:ase|dbhost):\w+(?::\w+)*")


def with_sources(*names: str) -> list[Path]:
    """Shipped rule files by name, and those that record what they read."""
    text = {path: path.read_text() for path in RULES}
    chosen: set[Path] = set()
    wanted = {path for path in RULES if path.name in names}
    while wanted - chosen:
        chosen |= wanted
        read = {name for path in chosen for name in _SERIES.findall(text[path])}
        wanted = {path for path in RULES if read & set(_RECORD.findall(text[path]))}
    return sorted(chosen)


ALERTING = with_sources(*(path.name for path in RULES if path.name.endswith(".alerts.yaml")))
FIRING = 'ALERTS{alertstate="firing"}'
# A query is written as a test that expects no samples: promtool reports what it found instead.
_FAILED_CHECK = re.compile(r'expr: ("(?:[^"\\]|\\.)*"), time: (\S+),\s+exp:.*\s+got: ?(.*)')
_SAMPLE = re.compile(r"\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\} (\S+?)(?:, |$)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

_ERROR = re.compile(r"^.*\berr: .*|^error .*|failed to parse.{99}", re.MULTILINE)

Query = tuple[str, int]


@dataclass(frozen=True)
class EvaluatedSample:
    """One series of a query's result."""

    labels: Mapping[str, str]
    value: float


Results = dict[Query, list[EvaluatedSample]]


def evaluate(
    recording: Recording,
    directory: Path,
    queries: Iterable[Query],
    rules: Iterable[Path] = ALERTING,
    interval: int = INTERVAL,
) -> Results:
    """The result of each query (expression, second of the recording), with the shipped or other rules loaded.

    directory: gets promtool's test file. interval: seconds between evaluations of the rules.
    """
    series = recording.input_series("server")
    return evaluate_series(series, recording.step, directory, queries, list(rules), interval)


def evaluate_series(
    series: Iterable[Mapping[str, str]],
    step: int,
    directory: Path,
    queries: Iterable[Query],
    rules: Sequence[Path],
    interval: int,
) -> Results:
    """The same of series in promtool's notation. step: seconds between their samples."""
    results: Results = {query: [] for query in queries}
    checks = [{"expr": expression, "eval_time": f"{at}s", "exp_samples": []} for expression, at in results]
    test = {
        "interval": f"{step}s",
        "input_series": list(series),
        "promql_expr_test": checks,
        # Some versions of the tools evaluate no rules without one.
        "alert_rule_test": [{"alertname": "None", "eval_time": checks[-1]["eval_time"]}],
    }
    # Recorded series before alerts: promtool's default order is random.
    paths = sorted(rules, key=lambda path: (path.name.endswith(".alerts.yaml"), path.name))
    file = {
        "rule_files": list(map(str, rules)),
        "evaluation_interval": f"{interval}s",
        "group_eval_order": [group["name"] for path in paths for group in content(path)["groups"]],
        "tests": [test],
    }
    for expression, at, samples in _FAILED_CHECK.findall(_said(file, directory)):
        results[json.loads(expression), int(seconds_of(at))] = [
            EvaluatedSample(dict(_LABEL.findall(labels)), float(value))
            for labels, value in _SAMPLE.findall(samples)
        ]
    return results


def _said(test: Mapping[str, object], directory: Path) -> str:
    """What promtool prints. Raises AssertionError if it could not evaluate something."""
    path = directory / "series.test.yaml"
    path.write_text(yaml.dump(test, Dumper=yaml.CSafeDumper, width=10**9))
    command = ["promtool", "test", "rules", str(path)]
    environment = os.environ | {"TMPDIR": str(directory)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    output = done.stdout + done.stderr
    assert re.search("SUCCESS|FAILED", output), output[-500:]
    assert not _ERROR.search(output), _ERROR.findall(output)[:5]
    return output


def firing_queries(recording: Recording) -> list[Query]:
    """What fires, at the end of every scrape interval."""
    return [(FIRING, (number + 1) * recording.interval) for number in range(recording.scrapes)]


def timeline_of(recording: Recording, results: Mapping[Query, Iterable[EvaluatedSample]]) -> list[FiredAlert]:
    """The alerts that fired, in order of time, from the results of `firing_queries`."""
    times: dict[tuple[str, str, str], set[int]] = {}
    for (expression, at), samples in results.items():
        for labels in (sample.labels for sample in samples if expression == FIRING):
            subject = next((labels[name] for name in SUBJECT_LABELS if name in labels), "")
            times.setdefault((labels["alertname"], labels["severity"], subject), set()).add(at)
    interval, end = recording.interval, recording.scrapes * recording.interval
    found = [
        FiredAlert(period[0], period[-1] + interval if period[-1] < end else None, *key)
        for key, seconds in times.items()
        for period in periods(sorted(seconds), interval)
    ]
    return sorted(found, key=FiredAlert.sort_key)


def timeline(recording: Recording, directory: Path) -> list[FiredAlert]:
    """The alerts that the shipped rules fire over the recording, in order of time."""
    return timeline_of(recording, evaluate(recording, directory, firing_queries(recording)))
