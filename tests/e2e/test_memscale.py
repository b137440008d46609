"""The case study's figures, alerts and verdicts, from a recording of the replay on simulated time.

Simulated server and exporter run as usual, over the wire; the test moves their time and scrapes at exact moments.
Rules are evaluated by promtool, and `ase-exporter compare` asks a real Prometheus that holds the recorded samples.
Nothing here depends on the machine's load. Of every build, a picture of top has the contention of one run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.e2e.evaluation import EvaluatedSample, Query, evaluate, firing_queries, timeline_of, with_sources
from tests.e2e.expected_timeline import FiredAlert
from tests.e2e.simulated_time import Recording, record
from tests.exporter.compare.conftest import prometheus_with

from ase_exporter.compare.comparison import Comparison, ComparisonRow, compare_windows, sweet_spot
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import server_selector
from ase_exporter.compare.statistics import WindowDifference
from ase_exporter.compare.view import comparison_view
from ase_exporter.compare.windows import Span
from ase_exporter.rules.intervals import adapted
from ase_exporter.views.page import page
from ase_simulator.demo import figures
from ase_simulator.demo.figures import CACHES, published

RUNS = list(published())
RUN_SECONDS = 600
# Seconds between scrapes: fewer than the shipped rules expect, which `ase-exporter write rules --interval 50s` adapts.
INTERVAL = 50
SERIES = ("series 1", "series 2")
COLLECTORS = frozenset({"state", "engines", "threads", "spinlocks"})
# The case study prints one digit after the decimal point of a percentage, and of a throughput.
PRINTED_RATIO, PRINTED_THROUGHPUT = 0.0005, 0.05
# The median over the part of a run in which the rules' windows hold nothing of the run before.
MEDIAN = "quantile_over_time(0.5, {series}[3m])"
CPU_BUSY = MEDIAN.format(series="ase:cpu_busy:ratio_rate1m")
THROUGHPUT = MEDIAN.format(series="ase:transactions_per_cpu_unit:ratio_rate1m")
CONTENTION = MEDIAN.format(series='ase:spinlock_contention:ratio_rate1m{class="data_cache"}')
LISTED = "ase:spinlock_contended:ratio"
# Unix time at which Prometheus gets the recording.
START = 1_767_225_600.0
SERVER = "MEMSCALE"

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(900)]


def contention_of(run: str) -> dict[str, float]:
    """What the case study prints of a run, as ratios by cache."""
    return {cache: published()[run][cache] / 100 for cache in CACHES}


def start_of(run: str) -> int:
    """Second of the replay."""
    return RUNS.index(run) * RUN_SECONDS


def end_of(run: str) -> int:
    """Second of the replay: the last evaluation of the rules within the run."""
    return start_of(run) + RUN_SECONDS - INTERVAL


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record("memscale", len(RUNS) * RUN_SECONDS, collectors=COLLECTORS, interval=INTERVAL)


@dataclass(frozen=True)
class Evaluated:
    """What the shipped rules make of the recording."""

    results: dict[Query, list[EvaluatedSample]]
    alerts: list[FiredAlert]

    def single(self, expression: str, run: str) -> float:
        (sample,) = self.results[expression, end_of(run)]
        return sample.value

    def contention(self, run: str) -> dict[str, float]:
        """By cache."""
        samples = self.results[CONTENTION, end_of(run)]
        by_spinlock = {sample.labels["spinlock"]: sample.value for sample in samples}
        return {cache: by_spinlock[cache] for cache in CACHES}

    def listed(self, run: str) -> set[str]:
        """The contended spinlocks."""
        return {sample.labels["spinlock"] for sample in self.results[LISTED, end_of(run)]}

    def firing(self, alert: str, at: int) -> set[str]:
        """Severities of the alerts of that name which fire at a second of the replay."""
        return {
            each.severity
            for each in self.alerts
            if each.alert == alert and each.fired <= at and (each.resolved is None or at < each.resolved)
        }


@pytest.fixture(scope="module")
def evaluated(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    figures = [
        (expression, end_of(run)) for expression in (CPU_BUSY, THROUGHPUT, CONTENTION, LISTED) for run in RUNS
    ]
    queries = [*firing_queries(recording), *figures]
    folder, rules = tmp_path_factory.mktemp("rules"), []
    for shipped in with_sources("cpu.rules.yaml", "spinlocks.alerts.yaml"):
        rules.append(folder / shipped.name)
        rules[-1].write_text(adapted(shipped.read_text(), INTERVAL))
    results = evaluate(recording, folder, queries, rules, INTERVAL)
    return Evaluated(results, timeline_of(recording, results))


@pytest.fixture(scope="module")
def comparisons(
    recording: Recording, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Comparison]]:
    """The runs of each series as `ase-exporter compare` sees them."""
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus_with(recording.lines(SERVER, START), folder) as url:
        yield {series: compared(url, series) for series in SERIES}


def compared(url: str, series: str) -> Comparison:
    spans = [
        Span(run, START + start_of(run) + INTERVAL, START + end_of(run))
        for run in RUNS
        if run.startswith(series)
    ]
    with Prometheus(url) as prometheus:
        return compare_windows(prometheus, server_selector(SERVER), spans)


def row(comparison: Comparison, key: str, name: str = "") -> ComparisonRow:
    return next(each for each in comparison.rows if (each.key, each.name) == (key, name))


def step(comparison: Comparison, key: str, run: str, name: str = "") -> WindowDifference:
    """A run against the run before it."""
    number = [span.name for span in comparison.spans].index(run)
    difference = row(comparison, key, name).steps[number - 1]
    assert difference is not None
    return difference


@pytest.mark.parametrize("run", RUNS)
def test_recorded_series_are_the_published_figures(evaluated: Evaluated, run: str) -> None:
    printed = published()[run]
    assert evaluated.contention(run) == pytest.approx(contention_of(run), abs=PRINTED_RATIO)
    busy, throughput = evaluated.single(CPU_BUSY, run), evaluated.single(THROUGHPUT, run)
    assert busy == pytest.approx(printed[figures.CPU_BUSY] / 100, abs=PRINTED_RATIO)
    assert throughput == pytest.approx(printed[figures.THROUGHPUT], abs=PRINTED_THROUGHPUT)


@pytest.mark.parametrize("run", RUNS)
def test_contention_is_listed_and_fires_where_the_figures_call_for_it(evaluated: Evaluated, run: str) -> None:
    printed = contention_of(run)
    assert evaluated.listed(run) == {cache for cache, ratio in printed.items() if ratio > 0.10}
    assert evaluated.firing("AseSpinlockContention", end_of(run)) == {
        severity
        for severity, limit in (("warning", 0.10), ("critical", 0.50))
        if max(printed.values()) > limit
    }


# Run of series 2 -> whether CPU busy fell, verdicts on throughput, and on the contention of each cache. The slide says
# that TSX made "every measure" better; its own table has the default data cache going from 2.1 to 4.0 %. LFB made no
# difference, or a slight worsening; CPU busy, which that slide does not show, falls by half a point in its own table.
SYSTEM, DEFAULT = "system tables cache", "default data cache"
VERDICTS: dict[str, tuple[bool, set[str], dict[str, str]]] = {
    "TSX: series 2 run 12": (True, {"better"}, {SYSTEM: "better", DEFAULT: "worse"}),
    "SNAP: series 2 run 13": (False, {"worse"}, dict.fromkeys(CACHES, "worse")),
    "LLDC: series 2 run 14": (True, {"better"}, {SYSTEM: "better"}),
    "LFB: series 2 run 15": (True, {"no evidence", "worse"}, dict.fromkeys(CACHES, "no evidence")),
}


@pytest.mark.parametrize("switch", VERDICTS)
def test_verdicts_are_those_of_the_case_study(comparisons: dict[str, Comparison], switch: str) -> None:
    second, run = comparisons["series 2"], switch.partition(": ")[2]
    fell, throughput, caches = VERDICTS[switch]
    # CPU busy is neither better nor worse by itself: it also falls when nothing gets done.
    busy = step(second, "cpu_busy", run)
    assert (busy.verdict, busy.difference < 0) == ("changed", fell)
    assert step(second, "throughput_per_cpu_unit", run).verdict in throughput
    assert {cache: step(second, "cache_contention", run, cache).verdict for cache in caches} == caches


def test_lldc_is_the_sweet_spot(comparisons: dict[str, Comparison]) -> None:
    spot = sweet_spot(comparisons["series 2"])
    assert spot is not None and spot.name == "series 2 run 14"


def test_series_one_gained_137_percent_which_is_236_percent_of_before(
    comparisons: dict[str, Comparison],
) -> None:
    gain = row(comparisons["series 1"], "throughput_per_cpu_unit").against_first[0]
    assert gain is not None
    assert gain.relative == pytest.approx(1.365, abs=0.001)
    assert re.search(r"\+136\.5% \(x2\.36\) better", page(comparison_view(comparisons["series 1"])))
