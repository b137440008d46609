"""`compare --around` each switch of the case study gives the printed figures of the run before and the run after it.

Runs of a minute, as in the demo: the replay is recorded ten times as fast, so that a run of 600 simulated seconds takes
60 s, with a scrape every 2 s and a snapshot of the configuration every 10 s.
"""

import math
from collections.abc import Iterator

import pytest
from tests.e2e.simulated_time import Recording, record
from tests.exporter.compare.conftest import prometheus_with

from ase_exporter.catalogue import load_catalogue
from ase_exporter.compare.comparison import Comparison, compare_windows
from ase_exporter.compare.marks import marks_between
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import windows_around
from ase_exporter.config import Module
from ase_exporter.demo.replay import published

RUNS = list(published())
SPEED, RUN_SECONDS, INTERVAL, SNAPSHOTS = 10, 60, 2, 10
COLLECTORS = {"state", "engines", "threads", "spinlocks"}
START = 1_767_225_600.0
SERVER = "MEMSCALE"
SELECTOR = f'instance="{SERVER}"'

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("around")
    module = Module(collectors={name: name in COLLECTORS for name in load_catalogue()[0].collectors})
    recording = record(
        "memscale",
        len(RUNS) * RUN_SECONDS * SPEED,
        interval=INTERVAL * SPEED,
        lag=SPEED,
        snapshots=SNAPSHOTS * SPEED,
        module=module,
    )
    with prometheus_with(real_time(recording), folder) as url, Prometheus(url) as found:
        yield found


def real_time(recording: Recording) -> str:
    """The samples at the times of the replay: a simulated minute takes six seconds."""
    lines = []
    for line in recording.openmetrics(SERVER, START).splitlines():
        if line.startswith("#"):
            lines.append(line)
            continue
        head, value, at = line.rsplit(" ", 2)
        if "_change_" in head and "_timestamp_seconds" in head:
            value = repr(START + (float(value) - START) / SPEED)
        lines.append(f"{head} {value} {START + (float(at) - START) / SPEED}")
    return "\n".join([*lines, ""])


def around(prometheus: Prometheus, number: int) -> Comparison:
    """The comparison around the switches that begin a run."""
    began, now = START + number * RUN_SECONDS, START + len(RUNS) * RUN_SECONDS
    marks = marks_between(prometheus, SELECTOR, began - 1, began + SNAPSHOTS + 5, now)
    assert marks, RUNS[number]
    found, spans = windows_around(
        prometheus, SELECTOR, marks[0], None, now, length=float(RUN_SECONDS), settle=float(INTERVAL)
    )
    return compare_windows(prometheus, SELECTOR, spans, marks=found)


@pytest.mark.parametrize("number", range(1, len(RUNS)), ids=RUNS[1:])
def test_both_windows_have_the_printed_figures(prometheus: Prometheus, number: int) -> None:
    comparison = around(prometheus, number)
    for window, run in enumerate((RUNS[number - 1], RUNS[number])):
        printed = published()[run]
        rows = {(row.key, row.name): row.values[window] for row in comparison.rows}
        assert rows["cpu_busy", ""] == pytest.approx(printed.cpu_busy, abs=0.005)
        # The case study's throughput is per second of the server, and the replay is faster.
        throughput = rows["throughput_per_cpu_unit", ""] or math.nan
        assert throughput == pytest.approx(printed.throughput, rel=0.01)
        for cache, contention in printed.contention.items():
            if contention is not None:
                assert rows["cache_contention", cache] == pytest.approx(contention, abs=0.005)
