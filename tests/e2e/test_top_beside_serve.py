"""`top` beside `serve` and Prometheus on one server: the same figures over the same minute, and what top costs."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.running import Running, running

from ase_exporter.demo.scaling import Pace

# In points: half a point of a ratio.
TOLERANCE = 0.005
MINUTE = 60.0
SCRAPES = 4
RATIOS = {
    "ase:cpu_busy:ratio_rate1m": "cpu_busy",
    "ase:cpu_spinning:ratio_rate1m": "spinning",
}


def once(run: Running, directory: Path, seconds: float) -> dict[str, Any]:
    """What `top` says of that many seconds."""
    command = [sys.executable, "-m", "ase_exporter", "top", "--once", "--json", f"--interval={seconds:g}"]
    ended = subprocess.run(
        [*command, f"--config.file={directory / 'exporter.yml'}"], capture_output=True, text=True, check=True
    )
    content: dict[str, Any] = json.loads(ended.stdout)
    return content


def await_scrapes(run: Running) -> None:
    """Wait for a few scrapes: rules divide rates that are evaluated at different moments, which must all be whole
    windows when top has ended."""
    limit = time.monotonic() + 60
    while not run.prometheus.query(f"count_over_time(ase_up[1h]) > {SCRAPES}"):
        assert time.monotonic() < limit
        time.sleep(0.2)


def recorded(run: Running, rule: str) -> float:
    (sample,) = run.prometheus.query(rule)
    return sample.value


@pytest.mark.e2e
@pytest.mark.parametrize(
    "pace",
    [
        pytest.param(Pace(4.0, 1.0), marks=pytest.mark.alone, id="a minute in 15 seconds"),
        pytest.param(Pace(1.0, 5.0), marks=pytest.mark.slow, id="a minute, scraped every 5 seconds"),
    ],
)
def test_top_says_what_prometheus_says_of_the_same_minute(tmp_path: Path, pace: Pace) -> None:
    with running(tmp_path, pace) as run:
        await_scrapes(run)
        found = once(run, tmp_path, MINUTE / pace.speed)
        print({name: (found[name], recorded(run, rule)) for rule, name in RATIOS.items()})
        for rule, name in RATIOS.items():
            assert found[name] == pytest.approx(recorded(run, rule), abs=TOLERANCE), rule
        spinlocks = {each["name"]: each for each in found["spinlocks"]}
        contention = {
            sample.labels["spinlock"]: sample.value
            for sample in run.prometheus.query("ase:spinlock_contention:ratio_rate1m")
        }
        assert contention["system tables cache"] > 0.8
        for name, value in contention.items():
            assert spinlocks[name]["contention"] == pytest.approx(value, abs=TOLERANCE), name
        (hottest,) = run.prometheus.query("ase:spinlock_hottest_contention:ratio_rate1m")
        assert found["hottest"] == hottest.labels["spinlock"] == "system tables cache"
        throughput = recorded(run, "ase:transactions_per_cpu_unit:ratio_rate1m")
        assert found["throughput"] == pytest.approx(throughput, rel=0.02)
