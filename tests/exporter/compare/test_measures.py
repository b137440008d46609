"""Measures of counters whose rates are known: also which waits count, and what a spin costs."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from tests.exporter.compare.conftest import HISTORY_BEFORE, prometheus_with
from tests.exporter.diagnosis.states import generated

from ase_exporter.compare.measures import measures
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.catalogue import catalogue, threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN
from ase_exporter.diagnosis.measures import Evaluation, read_measures
from ase_exporter.diagnosis.promql import rows_query, window_of
from ase_exporter.report.profile import ProfileReader

SELECTOR = 'instance="ONE"'
# Number, class, seconds per second, and whether a session with work waits so.
WAITS = [
    ("54", "waiting for a disk write to complete", 3, True),
    ("259", "waiting for internal system event", 2, True),
    ("9998", "a class that no catalogue knows", 1, True),
    ("250", "waiting for input from the network", 900, False),
    ("61", "waiting for a disk read to complete", 800, False),
    ("9999", "waiting for internal system event", 700, False),
]
TRANSACTIONS, BUSY, SPINS = 100.0, 2.0, 1e7
DEADLOCKS, READS, PHYSICAL_READS = 0.5, 5000.0, 300.0
# By cache: searches, and reads from disk. Of a device: I/O by kind, and seconds of it.
CACHES = {"default data cache": (4000.0, 1000.0), "log cache": (500.0, 5.0)}
DEVICE_IOS, DEVICE_SECONDS = {"read": 200.0, "write": 50.0}, 1.5


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, float]]:
    """A Prometheus with ten minutes of waits, and their end."""
    end = time.time() // 15 * 15 - 60
    rates = {
        **{
            ("ase_wait_seconds_total", f'event_id="{number}",event="event {number}",class="{kind}"'): rate
            for number, kind, rate, _ in WAITS
        },
        ("ase_transactions_total", ""): TRANSACTIONS,
        ("ase_engine_cpu_seconds_total", 'engine="0",mode="user"'): BUSY,
        ("ase_engine_cpu_seconds_total", 'engine="0",mode="idle"'): BUSY,
        ("ase_spinlock_spins_total", 'spinlock="one",class="lock"'): SPINS,
        ("ase_thread_cpu_seconds_total", 'thread="0",mode="user"'): BUSY / 2,
        ("ase_deadlocks_total", ""): DEADLOCKS,
        ("ase_logical_reads_total", ""): READS,
        ("ase_physical_reads_total", ""): PHYSICAL_READS,
        ("ase_device_io_seconds_total", 'device="data"'): DEVICE_SECONDS,
    }
    for name, (searches, misses) in CACHES.items():
        rates["ase_cache_searches_total", f'cache="{name}"'] = searches
        rates["ase_cache_physical_reads_total", f'cache="{name}"'] = misses
    for kind, ios in DEVICE_IOS.items():
        rates["ase_device_ios_total", f'device="data",operation="{kind}"'] = ios
    samples = []
    for step in range(41):
        at = end - 600 + 15 * step
        samples.append(f'ase_engines{{{SELECTOR},state="online"}} {2 * BUSY} {at}')
        for (name, labels), rate in rates.items():
            pairs = f"{SELECTOR},{labels}".rstrip(",")
            samples.append(f"{name}{{{pairs}}} {rate * 15 * step} {at}")
    folder: Path = tmp_path_factory.mktemp("past")
    with prometheus_with(samples, folder) as url, Prometheus(url) as found:
        yield found, end


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("wait_time", [1000 * sum(rate for _, _, rate, counts in WAITS if counts) / TRANSACTIONS]),
        ("waits_by_class", [1000 * rate / TRANSACTIONS for _, _, rate, counts in WAITS if counts]),
        (
            "response_time",
            [1000 * (sum(rate for _, _, rate, counts in WAITS if counts) + BUSY) / TRANSACTIONS],
        ),
        ("spin_share", [SPINS * threshold(SECONDS_PER_SPIN) / (2 * BUSY)]),
        ("spins", [SPINS / TRANSACTIONS]),
        ("cpu_busy", [0.5]),
        ("throughput_per_cpu_unit", [TRANSACTIONS / (BUSY / 2)]),
        ("transactions", [TRANSACTIONS]),
        ("deadlocks", [DEADLOCKS]),
        ("logical_reads", [READS / TRANSACTIONS]),
        ("physical_reads", [PHYSICAL_READS / TRANSACTIONS]),
        ("io_time", [1000 * DEVICE_SECONDS / sum(DEVICE_IOS.values())]),
        ("cache_hits", [1 - misses / searches for searches, misses in CACHES.values()]),
    ],
)
def test_measures_are_what_was_counted(
    past: tuple[Prometheus, float], key: str, expected: list[float]
) -> None:
    prometheus, end = past
    found = prometheus.query(measures()[key].promql(SELECTOR, window_of(300.0)), end)
    assert sorted(each.value for each in found) == pytest.approx(sorted(expected))


@pytest.mark.parametrize("number", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_prometheus_calculates_what_is_calculated_of_readings(number: int, tmp_path: Path) -> None:
    """Every measure of the diagnosis and of `compare`, of generated states."""
    states = {f'instance="server{seed}"': generated(seed) for seed in range(number)}
    end = time.time() // 15 * 15 - 60
    samples = []
    for selector, state in states.items():
        for metric, labels, value in state.known():
            series = ",".join([selector, *(f'{label}="{text}"' for label, text in labels)])
            for step in (0, 1):
                shown = HISTORY_BEFORE + value * 16 * step if metric.endswith("_total") else value
                if metric in state.momentary:
                    shown *= step
                samples.append(f"{metric}{{{series}}} {shown!r} {end - 16 + 16 * step}")
    compared = {
        name: each for name, each in measures().items() if not (each.figure or each.plus or each.of_server)
    }
    asked = {name: each for name, each in catalogue().measures.items() if not each.compared} | compared
    seen = set()
    with prometheus_with(samples, tmp_path) as url, Prometheus(url) as prometheus:
        for (selector, state), (name, measure) in product(states.items(), asked.items()):
            # Without labels, the largest is that of each series.
            measure = replace(measure, keep="sum")
            expected = Evaluation(state).rows_of(measure)
            if measure.at_most:
                whole = read_measures(state)[measure.at_most].value
                expected = {key: min(value, whole) for key, value in expected.items() if whole is not None}
            answer = prometheus.query(rows_query(measure, selector, window_of(17.0)), end)
            found = {tuple(each.labels.get(label, "") for label in measure.by): each.value for each in answer}
            assert found == pytest.approx(expected, rel=1e-4, abs=1e-6), (name, selector)
            seen |= {name} if found else set()
    assert len(seen) > 0.8 * len(asked)


def test_a_report_tells_the_waits_of_sessions_with_work(past: tuple[Prometheus, float]) -> None:
    prometheus, end = past
    found = ProfileReader(prometheus, SELECTOR, Span("of it", end - 600, end), 15).table("waits").rows
    assert [(names, round(value, 6)) for names, value in found] == [
        ((f"event {number}",), float(rate)) for number, _, rate, busy in WAITS if busy
    ]
