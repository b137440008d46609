"""Measures of counters whose rates are known: also which waits count, and what a spin costs."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.exporter.compare.conftest import prometheus_with, typed

from ase_exporter.compare.measures import measures
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN
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
    samples: dict[str, list[str]] = {}
    for (name, labels), rate in rates.items():
        for step in range(41):
            line = f"{name}{{{SELECTOR},{labels}}} {rate * 15 * step} {end - 600 + 15 * step}"
            samples.setdefault(name, []).append(line.replace(",}", "}"))
    folder: Path = tmp_path_factory.mktemp("past")
    with prometheus_with(typed(samples), folder) as url, Prometheus(url) as found:
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
    found = prometheus.query(measures()[key].promql(SELECTOR, 300.0), end)
    assert sorted(each.value for each in found) == pytest.approx(sorted(expected))


def test_a_report_tells_the_waits_of_sessions_with_work(past: tuple[Prometheus, float]) -> None:
    prometheus, end = past
    found = ProfileReader(prometheus, SELECTOR, Span("of it", end - 600, end), 15).table("waits").rows
    assert [(names, round(value, 6)) for names, value in found] == [
        ((f"event {number}",), float(rate)) for number, _, rate, busy in WAITS if busy
    ]
