"""Contention and advice over a recorded story: one definition, whether rules record it or `compare` asks for it."""

import re
from collections.abc import Iterator

import pytest
from tests.exporter.story import GUILTY, HARMLESS, HOTTEST, LATER, SERVER, Story
from tests.paths import REPOSITORY

from ase_exporter.advise.advice import advise
from ase_exporter.assets import load_yaml
from ase_exporter.compare.measures import measures
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import server_selector
from ase_exporter.compare.windows import Span
from ase_exporter.report.evidence import evidence

pytestmark = pytest.mark.e2e
RULES = REPOSITORY / "alerts" / "rules"
# Seconds over which the rules take rates.
WIDTH = 60.0


@pytest.fixture
def prometheus(story: Story) -> Iterator[Prometheus]:
    with Prometheus(story.url) as found:
        yield found


def rule(name: str) -> str:
    """The expression of a recording rule over raw metrics: recorded series replaced by their own expressions."""
    recorded = {
        each["record"]: each["expr"]
        for path in RULES.glob("*.rules.yaml")
        for group in load_yaml(path.read_text())["groups"]
        for each in group["rules"]
    }

    def replaced(match: re.Match[str]) -> str:
        return f"({rule(match[0])})"

    return re.sub(r"ase:[a-z_0-9:]+(?!\{)\b", replaced, str(recorded[name]))


CPU_UNITS = "sum without (thread, pool, mode) (rate(ase_thread_cpu_seconds_total[1m]))"


@pytest.mark.parametrize(
    ("key", "recorded", "least"),
    [
        ("cache_contention", rule("ase:spinlock_contention:ratio_rate1m"), 300),
        ("throughput_per_cpu_unit", f"rate(ase_transactions_total[1m]) / {CPU_UNITS}", 100),
    ],
)
def test_a_measure_is_that_of_the_recording_rule(
    prometheus: Prometheus, story: Story, key: str, recorded: str, least: int
) -> None:
    times = story.start + 300, story.end, 15
    ours = prometheus.over(measures()[key].promql(server_selector(SERVER), WIDTH), *times)
    expected = {each.labels.get("spinlock", ""): each for each in prometheus.over(recorded, *times)}
    compared = 0
    for series in ours:
        other = expected[series.labels.get("spinlock", "")]
        theirs = dict(zip(other.times, other.values, strict=True))
        for at, value in zip(series.times, series.values, strict=True):
            assert value == pytest.approx(theirs[at], rel=1e-9)
            compared += 1
    assert compared > least


def test_advice_is_what_a_live_server_would_get(prometheus: Prometheus, story: Story) -> None:
    window = Span("window", story.at(GUILTY) + 60, story.at(LATER))
    found = evidence(prometheus, server_selector(SERVER), window)
    hottest = advise(found).findings[0]
    assert (hottest.spinlock.name, hottest.severity) == (HOTTEST, "severe")
    assert "cache_partition=" in hottest.steps[0].statements[0]
    assert (str(found.version), found.engines, found.page_size) == ("16.0 SP03 PL08", 128, 4096)
    assert found.options[HARMLESS] == 2_500_000
    assert {cache.name: cache.partitions for cache in found.caches}[HOTTEST] == 4
    assert set(found.missing) == {"ase_cached_object_bytes"}
