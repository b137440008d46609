"""What came first in spans of time, from the recorded findings."""

import time
from pathlib import Path

import pytest
from tests.exporter.compare.conftest import prometheus_with, typed
from tests.needs import needs_prometheus

from ase_exporter.analysis.diagnosing import found_by_span
from ase_exporter.compare.prometheus import Prometheus

RANK, FIRST = "ase:diagnosis_finding:rank", "ase:diagnosis_first:rank"
NOW = time.time() // 60 * 60 - 60


@pytest.mark.e2e
@needs_prometheus
@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        # It spins from minute 90 on.
        (120, [(0, "works"), (60, "spinning")]),
        (110, [(0, "works"), (60, "spinning")]),
        (130, [(0, "works"), (60, "spinning"), (120, "spinning")]),
        (40, [(0, "works")]),
        (95, [(0, "works"), (60, "spinning")]),
        (85, [(0, "works"), (60, "works")]),
    ],
)
def test_the_last_span_is_judged_though_it_is_shorter(
    minutes: int, expected: list[tuple[int, str]], tmp_path: Path
) -> None:
    start = NOW - 130 * 60
    samples: dict[str, list[str]] = {RANK: [], FIRST: []}
    for minute in range(131):
        word = "spinning" if minute > 90 else "works"
        rank = 0.5 if minute > 90 else -2
        labels = f'instance="ONE",finding="{word}",word="{word.upper()}"'
        for name in (RANK, FIRST):
            samples[name].append(f"{name}{{{labels}}} {rank} {start + 60 * minute}")
    with prometheus_with(typed(samples), tmp_path) as url:
        end = start + 60 * minutes
        found = found_by_span(Prometheus(url), 'instance="ONE"', start, end, 3600)["ONE"]
    assert [(round((each.start - start) / 60), each.finding) for each in found] == expected
