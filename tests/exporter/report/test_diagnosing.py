"""What came first in spans of time, from the recorded findings."""

import time
from collections.abc import Iterator

import pytest
from tests.exporter.compare.conftest import prometheus_with, typed

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.report.diagnosing import found_by_span

RANK, FIRST = "ase_diagnosis_rank", "ase_diagnosis_first_info"
START = time.time() // 60 * 60 - 131 * 60


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus with two hours of a server that spins from minute 91 on."""
    samples: dict[str, list[str]] = {RANK: [], FIRST: []}
    for minute in range(131):
        word, rank = ("spinning", 0.5) if minute > 90 else ("works", -2)
        labels = f'instance="ONE",finding="{word}",word="{word.upper()}"'
        for name in (RANK, FIRST):
            samples[name].append(f"{name}{{{labels}}} {rank} {START + 60 * minute}")
    with prometheus_with(typed(samples), tmp_path_factory.mktemp("findings")) as found:
        yield found


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (120, [(0, "works"), (60, "spinning")]),
        (110, [(0, "works"), (60, "spinning")]),
        (130, [(0, "works"), (60, "spinning"), (120, "spinning")]),
        (40, [(0, "works")]),
        (95, [(0, "works"), (60, "spinning")]),
        (85, [(0, "works"), (60, "works")]),
    ],
)
def test_the_last_span_is_judged_though_it_is_shorter(
    url: str, minutes: int, expected: list[tuple[int, str]]
) -> None:
    with Prometheus(url) as server:
        found = found_by_span(server, 'instance="ONE"', START, START + 60 * minutes, 3600)["ONE"]
    assert [(round((each.start - START) / 60), each.finding) for each in found] == expected
