"""The case study's perf counts, replayed through collector and rules, give its published measures."""

import csv
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
import yaml
from tests.exporter.host.perf_stand_in import StandIn, wait
from tests.paths import REPOSITORY, SHARED

from ase_exporter.host.perf import PerfCollector

CASE = SHARED / "casestudy"
SETUPS = ("no_thp_no_hp", "thp_only", "hp_2mb", "hp_1gb")
BROADWELL = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 79\n"
INTERVAL = 15
STEPS = 8

# measure in the case study -> rule
RULES = {
    "total TLB misses (ratio of dTLB-loads)": "dbhost:tlb_misses:ratio_rate1m",
    "instructions per cycle": "dbhost:instructions_per_cycle:ratio_rate1m",
    "total cycles waited (ratio of cycles)": "dbhost:cycles_waited:ratio_rate1m",
    "total main memory reads per second": "dbhost:main_memory_reads:rate1m",
}


def counted(event: str, at_least: float, perf: PerfCollector) -> bool:
    """Whether perf's counts of an event have been read up to that number."""
    return perf.tallies[event].total >= at_least


def table(name: str, key: str) -> dict[str, dict[str, str]]:
    with (CASE / name).open(newline="") as file:
        return {row[key]: row for row in csv.DictReader(file)}


def printed(text: str) -> tuple[float, float]:
    """A published measure and its tolerance: half its last digit, or 0.01 % for a rate."""
    number = float(text.rstrip("%"))
    scale = 0.01 if text.endswith("%") else 1
    if number > 1000:
        return number, number * 1e-4
    digits = len(text.rstrip("%").partition(".")[2])
    return number * scale, 0.5 * 10**-digits * scale * 1.0001


@pytest.mark.shared
@pytest.mark.parametrize("setup", SETUPS)
def test_the_published_measures_are_reproduced(stand_in: StandIn, tmp_path: Path, setup: str) -> None:
    """A stand-in for perf prints the case study's counts, spread evenly over its run."""
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool (Debian: prometheus)")
    counts = {event: int(row[setup]) for event, row in table("hugepages_perf.csv", "event").items()}
    expected = table("hugepages_derived_expected.csv", "measure")
    share = INTERVAL / counts.pop("elapsed_seconds")
    lines = []
    for step in range(1, STEPS + 1):
        lines += ["STEP"]
        lines += [
            f"{step * INTERVAL:16.9f},{round(count * share)},,{event},1,100.00,,"
            for event, count in counts.items()
        ]
    stand_in.play(*lines)
    collector = stand_in.collector(proc__cpuinfo=BROADWELL)
    series: dict[str, list[float]] = {}
    last = list(counts)[-1]
    for step in range(1, STEPS + 1):
        stand_in.step()
        whole = step * round(counts[last] * share)
        seen = wait(collector, partial(counted, last, whole))
        for name, value in seen.items():
            if "_total" in name:
                series.setdefault(name, []).append(value)
    assert {f"dbhost_perf_events_total{{{event}}}" for event in counts} <= series.keys()

    tests = {
        "rule_files": [str(REPOSITORY / "alerts" / "rules" / "host.rules.yaml")],
        "evaluation_interval": f"{INTERVAL}s",
        "tests": [
            {
                "interval": f"{INTERVAL}s",
                "input_series": [
                    {"series": in_promql(name), "values": " ".join(map(repr, steps))}
                    for name, steps in series.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": f"abs({rule} - {value!r}) <= bool {tolerance!r}",
                        "eval_time": f"{INTERVAL * (STEPS - 1)}s",
                        "exp_samples": [{"labels": "{}", "value": 1}],
                    }
                    for measure, rule in RULES.items()
                    for value, tolerance in [printed(expected[measure][setup])]
                ],
            }
        ],
    }
    file = tmp_path / "case.yaml"
    file.write_text(yaml.safe_dump(tests))
    ran = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def in_promql(name: str) -> str:
    """`metric{event}` as a series of PromQL."""
    metric, brace, event = name.partition("{")
    return f'{metric}{{event="{event.rstrip("}")}"}}' if brace else metric
