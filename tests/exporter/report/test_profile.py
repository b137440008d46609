"""The tables of a server over a window, of a Prometheus whose content is known."""

import time
from pathlib import Path

import pytest
from tests.exporter.compare.conftest import prometheus_with, typed
from tests.needs import needs_prometheus

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.report.profile import ProfileReader

NAME = "ase_wait_seconds_total"
# Number, class, seconds per second, and whether a session with work waits so.
WAITS = [
    ("54", "waiting for a disk write to complete", 3, True),
    ("259", "waiting for internal system event", 2, True),
    ("9998", "a class that no catalogue knows", 1, True),
    ("250", "waiting for input from the network", 900, False),
    ("61", "waiting for a disk read to complete", 800, False),
    ("9999", "waiting for internal system event", 700, False),
]


@pytest.mark.e2e
@needs_prometheus
def test_waits_are_those_of_sessions_with_work(tmp_path: Path) -> None:
    end = time.time() // 15 * 15 - 60
    lines = [
        f'{NAME}{{instance="ONE",event_id="{number}",event="event {number}",class="{kind}"}} {rate * 15 * step}'
        f" {end - 3600 + 15 * step}"
        for number, kind, rate, _ in WAITS
        for step in range(241)
    ]
    with prometheus_with(typed({NAME: lines}), tmp_path) as url:
        reader = ProfileReader(Prometheus(url), 'instance="ONE"', Span("hour", end - 3600, end), 15)
        found = reader.table("waits").rows
    assert [(name, round(value, 6)) for name, value in found] == [
        (f"event {number}", rate) for number, _, rate, busy in WAITS if busy
    ]
