"""`top` beside `serve` and Prometheus on one server: the same figures over the same minute.

ASE counts the CPU time of engines in whole seconds, and the simulator's engines, which are equally busy, count them at
nearly the same time. One window of 15 seconds or a minute is therefore only exact to a point or two, whoever takes it;
averages over the windows of a minute are exact.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from math import fsum
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.running import Running, running

from ase_exporter.demo.scaling import Pace

# Half a point of a ratio.
TOLERANCE = 0.005
MINUTE = 60.0
# Seconds in which both have windows that are full; top's are the shorter ones.
WARM_UP = 15.5
GUILTY = "system tables cache"

Sample = dict[str, Any]


def contention(sample: Sample, name: str) -> float:
    (found,) = (each for each in sample["spinlocks"] if each["name"] == name)
    return float(found["contention"])


# By recording rule.
FIGURES: dict[str, Callable[[Sample], float]] = {
    "ase:cpu_busy:ratio_rate1m": lambda sample: sample["cpu_busy"],
    "ase:cpu_spinning:ratio_rate1m": lambda sample: sample["spinning"],
    f'ase:spinlock_contention:ratio_rate1m{{spinlock="{GUILTY}"}}': lambda sample: contention(sample, GUILTY),
    'ase:spinlock_contention:ratio_rate1m{spinlock="default data cache"}': lambda sample: contention(
        sample, "default data cache"
    ),
}


def watch(directory: Path, pace: Pace) -> Iterator[Sample]:
    """What `top --json` says for a minute of the server's time, once its windows are full."""
    command = [sys.executable, "-m", "ase_exporter", "top", "--json", "--interval=1"]
    with subprocess.Popen(
        [*command, f"--config.file={directory / 'exporter.yml'}"], stdout=subprocess.PIPE, text=True
    ) as top:
        assert top.stdout
        # A sample each second, until it is asked to end.
        for number, line in enumerate(top.stdout):
            if number > max(WARM_UP, pace.window(MINUTE)):
                yield json.loads(line)
            if number > max(WARM_UP, pace.window(MINUTE)) + MINUTE / pace.speed:
                top.terminate()
                return


@pytest.mark.e2e
@pytest.mark.parametrize(
    "pace",
    [
        pytest.param(Pace(4.0, 1.0), marks=pytest.mark.alone, id="a minute in 15 seconds"),
        pytest.param(Pace(1.0, 5.0), marks=pytest.mark.slow, id="a minute"),
    ],
)
def test_top_says_what_prometheus_says_of_the_same_minute(tmp_path: Path, pace: Pace) -> None:
    with running(tmp_path, pace) as run:
        samples = list(watch(tmp_path, pace))
        assert {sample["hottest"] for sample in samples} == {GUILTY}
        differences = {}
        for rule, figure in FIGURES.items():
            shown = fsum(figure(sample) for sample in samples) / len(samples)
            differences[rule] = shown - recorded(run, rule, pace)
        print({rule: f"{100 * difference:.3f} points" for rule, difference in differences.items()})
        assert all(abs(each) < TOLERANCE for each in differences.values()), differences
        throughput = fsum(sample["throughput"] for sample in samples) / len(samples)
        expected = recorded(run, "ase:transactions_per_cpu_unit:ratio_rate1m", pace)
        assert throughput == pytest.approx(expected, rel=0.02)


def recorded(run: Running, rule: str, pace: Pace) -> float:
    """The average of a recording rule over the minute that has just passed."""
    (sample,) = run.prometheus.query(f"avg_over_time({rule}[{MINUTE / pace.speed:g}s])")
    return sample.value
