"""The shipped rules and PromQL, evaluated over a recording by promtool: Prometheus's own engine at exact times."""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from tests.e2e.expected_timeline import FiredAlert, fired_alerts, seconds_of
from tests.e2e.simulated_time import INTERVAL, RULES, Recording

_RECORD = re.compile(r"record: (\S+)")
_SERIES = re.compile(r"\b(?:ase|dbhost):\w+(?::\w+)*")


def with_sources(*names: str) -> list[Path]:
    """Shipped rule files by name, and those that record what they read."""
    content = {path: path.read_text() for path in RULES}
    chosen: set[Path] = set()
    wanted = {path for path in RULES if path.name in names}
    while wanted - chosen:
        chosen |= wanted
        read = {name for path in chosen for name in _SERIES.findall(content[path])}
        wanted = {path for path in RULES if read & set(_RECORD.findall(content[path]))}
    return sorted(chosen)


# tests/exporter/diagnosis compares the recorded series of the diagnosis, which cost most, with the package over
# generated states.
ALERTING = with_sources(
    *(
        path.name
        for path in RULES
        if path.name.endswith(".alerts.yaml") and path.name != "diagnosis.alerts.yaml"
    )
)
FIRING = 'ALERTS{alertstate="firing"}'
# A query is written as a test that expects no samples: promtool reports what it found instead.
_FAILED_CHECK = re.compile(r'expr: ("(?:[^"\\]|\\.)*"), time: (\S+),\s+exp: ?nil\s+got: ?(.*)')
_SAMPLE = re.compile(r"\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\} (\S+?)(?:, |$)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Query = tuple[str, int]


@dataclass(frozen=True)
class EvaluatedSample:
    """One series of a query's result."""

    labels: Mapping[str, str]
    value: float


def groups_in_order(rules: Iterable[Path] = ALERTING) -> list[str]:
    """Names of the rule groups, recorded series before alerts; promtool's default order is random."""
    paths = sorted(rules, key=lambda path: (path.name.endswith(".alerts.yaml"), path.name))
    return [group["name"] for path in paths for group in yaml.safe_load(path.read_text())["groups"]]


def evaluate(
    recording: Recording,
    directory: Path,
    queries: Iterable[Query],
    rules: Iterable[Path] = ALERTING,
    interval: int = INTERVAL,
) -> dict[Query, list[EvaluatedSample]]:
    """The result of each query (expression, second of the recording), with the shipped or other rules loaded.

    directory: gets promtool's test file. interval: seconds between evaluations of the rules.
    """
    results: dict[Query, list[EvaluatedSample]] = {query: [] for query in queries}
    output = _promtool(recording, directory, results, list(rules), interval)
    for expression, at, samples in _FAILED_CHECK.findall(output):
        results[json.loads(expression), seconds_of(at)] = [
            EvaluatedSample(dict(_LABEL.findall(labels)), float(value))
            for labels, value in _SAMPLE.findall(samples)
        ]
    return results


def firing_queries(recording: Recording) -> list[Query]:
    """What fires, at the end of every scrape interval."""
    return [(FIRING, (number + 1) * INTERVAL) for number in range(recording.scrapes)]


def timeline_of(recording: Recording, results: Mapping[Query, Iterable[EvaluatedSample]]) -> list[FiredAlert]:
    """The alerts that fired, in order of time, from the results of `firing_queries`."""
    observations = [
        (sample.labels, at)
        for (expression, at), samples in results.items()
        if expression == FIRING
        for sample in samples
    ]
    return fired_alerts(observations, INTERVAL, recording.scrapes * INTERVAL)


def timeline(recording: Recording, directory: Path) -> list[FiredAlert]:
    """The alerts that the shipped rules fire over the recording, in order of time."""
    return timeline_of(recording, evaluate(recording, directory, firing_queries(recording)))


def _promtool(
    recording: Recording, directory: Path, queries: Iterable[Query], rules: list[Path], interval: int
) -> str:
    """What promtool prints; empty if no query has a result."""
    checks = [
        {"expr": expression, "eval_time": f"{at}s", "exp_samples": list[object]()}
        for expression, at in queries
    ]
    test = {
        "rule_files": [str(path) for path in rules],
        "evaluation_interval": f"{interval}s",
        "group_eval_order": groups_in_order(rules),
        "tests": [
            {
                "interval": f"{recording.step}s",
                "input_series": list(recording.input_series("server")),
                "promql_expr_test": checks,
            }
        ],
    }
    path = directory / "recording.test.yaml"
    path.write_text(yaml.dump(test, Dumper=yaml.CSafeDumper, width=10**9))
    done = subprocess.run(
        ["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0 or "FAILED:" in output, output
    return output if done.returncode else ""
