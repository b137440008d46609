"""The recording rules say what the package says, of every generated state."""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
import yaml
from alerts.diagnosis_rules import ACCOUNT, FIRST, RANK
from dashboards.common import verdict
from tests.exporter.diagnosis.states import NUMBERS, State, by_collector, generated
from tests.needs import needs_prometheus
from tests.paths import REPOSITORY

from ase_exporter.diagnosis.diagnose import diagnose

RULES = REPOSITORY / "alerts" / "rules" / "diagnosis.alerts.yaml"
TOGETHER = 20
SCRAPES = 7
# The scrape after which the rules are looked at.
EVALUATED = 6
_SAMPLE = re.compile(r"\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\} (\S+?)(?:, |$)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_GOT = re.compile(r'expr: ("(?:[^"\\]|\\.)*"), time: \S+,\s+exp: ?nil\s+got: ?(.*)')


def batched(items: Iterable[tuple[str, State]], size: int) -> Iterable[Sequence[tuple[str, State]]]:
    """Groups of so many."""
    listed = list(items)
    return [listed[start : start + size] for start in range(0, len(listed), size)]


def input_series(instance: str, state: State) -> Iterable[dict[str, str]]:
    """The scrapes of a state in promtool's notation."""
    for metric, labels, value in state.known():
        pairs = "".join(f',{name}="{text}"' for name, text in labels)
        notation = f"{value:.17g}x{SCRAPES}"
        if metric in state.momentary:
            notation = f"0x{EVALUATED - 1} {value:.17g}x{SCRAPES - EVALUATED}"
        if metric.endswith("_total"):
            # promtool adds once a step, which is the interval of scrapes.
            notation = f"0+{15 * value:.17g}x{SCRAPES}"
        yield {"series": f'{metric}{{job="ase",instance="{instance}"{pairs}}}', "values": notation}
    for collector in (
        {*by_collector(state), "locks", "oldest_transactions", "error_log"} - state.switched_off - {""}
    ):
        series = f'ase_exporter_collector_success{{job="ase",instance="{instance}",collector="{collector}"}}'
        yield {"series": series, "values": f"1x{SCRAPES}"}


def recorded(
    states: Mapping[str, State], folder: Path, queries: Iterable[str]
) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The results of queries over the recording rules."""
    checks = [
        {"expr": query, "eval_time": f"{15 * EVALUATED}s", "exp_samples": list[object]()} for query in queries
    ]
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": f"{15 * EVALUATED}s",
        "group_eval_order": ["ase_diagnosis_baseline", "ase_diagnosis"],
        # promtool holds few samples in memory.
        "tests": [
            {
                "interval": "15s",
                "input_series": [each for name, state in group for each in input_series(name, state)],
                "promql_expr_test": checks,
            }
            for group in batched(states.items(), TOGETHER)
        ],
    }
    path = folder / "states.test.yaml"
    path.write_text(yaml.dump(test, Dumper=yaml.CSafeDumper, width=10**9))
    done = subprocess.run(
        ["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for query, samples in _GOT.findall(done.stdout + done.stderr):
        found.setdefault(json.loads(query), []).extend(
            (dict(_LABEL.findall(labels)), float(value)) for labels, value in _SAMPLE.findall(samples)
        )
    assert found, done.stdout + done.stderr
    return found


@needs_prometheus
@pytest.mark.parametrize("number", NUMBERS)
def test_the_rules_say_what_the_package_says(number: int, tmp_path: Path) -> None:
    states = {f"server{seed}": generated(seed) for seed in range(number)}
    found = recorded(states, tmp_path, [FIRST, RANK, ACCOUNT])
    first = {labels["instance"]: (labels["finding"], labels["word"]) for labels, _ in found[FIRST]}
    # The State panels show the word of this series.
    (panel,) = verdict().queries
    assert f"max by (word) ({FIRST}{{$selector}})" in panel.expr
    ranks = {(labels["instance"], labels["finding"]): value for labels, value in found[RANK] if value > -0.5}
    parts = {(labels["instance"], labels["part"]): value for labels, value in found[ACCOUNT]}
    said: dict[str, int] = {}
    for name, state in states.items():
        expected = diagnose(state)
        said[expected.state] = said.get(expected.state, 0) + 1
        assert {
            part: seconds for (server, part), seconds in parts.items() if server == name
        } == pytest.approx(dict(expected.account.parts)), name
        assert {
            finding: rank for (server, finding), rank in ranks.items() if server == name
        } == pytest.approx({each.name: each.rank for each in expected.findings}), name
        assert first.get(name) == (expected.state, expected.word), name
    # The states are worth comparing: many findings come first in some of them.
    assert len(said) > min(25, number // 3), said
