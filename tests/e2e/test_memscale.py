"""The case study's figures, alerts and verdicts, from a recording of the replay on simulated time.

Simulated server and exporter run as usual, over the wire; the test moves their time and scrapes at exact moments.
Rules are evaluated by promtool, and `ase-exporter compare` asks a real Prometheus that holds the recorded samples.
Nothing here depends on the machine's load. tests/e2e/test_whole_chain.py runs the same chain in real time.
"""

import csv
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.evaluation import EvaluatedSample, Query, evaluate, firing_queries, timeline_of
from tests.e2e.expected_timeline import FiredAlert
from tests.e2e.simulated_time import INTERVAL, Recording, record
from tests.exporter.compare.conftest import running_prometheus
from tests.paths import SHARED

from ase_exporter.compare.comparison import Comparison, ComparisonRow, sweet_spot
from ase_exporter.compare.report import markdown
from ase_exporter.compare.request import Request, answer
from ase_exporter.compare.statistics import WindowDifference
from ase_exporter.demo.replay import CACHES, published

CASE_STUDY = SHARED / "casestudy" / "memscale_runs.csv"
RUNS = list(published())
RUN_SECONDS = 600
SERIES = ("series 1", "series 2")
COLLECTORS = frozenset({"state", "engines", "threads", "spinlocks"})
# The case study prints one digit after the decimal point of a percentage, and of a throughput.
PRINTED_RATIO, PRINTED_THROUGHPUT = 0.0005, 0.05
# The median over the part of a run in which the rules' windows hold nothing of the run before.
MEDIAN = "quantile_over_time(0.5, {series}[8m])"
CPU_BUSY = MEDIAN.format(series="ase:cpu_busy:ratio_rate1m")
THROUGHPUT = MEDIAN.format(series="ase:transactions_per_cpu_unit:ratio_rate1m")
CONTENTION = MEDIAN.format(series='ase:spinlock_contention:ratio_rate1m{class="data_cache"}')
# Unix time at which Prometheus gets the recording.
START = 1_767_225_600.0
SERVER = "MEMSCALE"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def start_of(run: str) -> int:
    """Second of the replay."""
    return RUNS.index(run) * RUN_SECONDS


def end_of(run: str) -> int:
    """Second of the replay: the last evaluation of the rules within the run."""
    return start_of(run) + RUN_SECONDS - INTERVAL


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record("memscale", len(RUNS) * RUN_SECONDS, collectors=COLLECTORS)


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

    def firing(self, alert: str, at: int) -> set[tuple[str, str]]:
        """(severity, subject) of the alerts of that name which fire at a second of the replay."""
        return {
            (each.severity, each.subject)
            for each in self.alerts
            if each.alert == alert and each.fired <= at and (each.resolved is None or at < each.resolved)
        }


@pytest.fixture(scope="module")
def evaluated(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    figures = [(expression, end_of(run)) for expression in (CPU_BUSY, THROUGHPUT, CONTENTION) for run in RUNS]
    queries = [*firing_queries(recording), *figures]
    results = evaluate(recording, tmp_path_factory.mktemp("rules"), queries)
    return Evaluated(results, timeline_of(recording, results))


@pytest.fixture(scope="module")
def comparisons(
    recording: Recording, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Comparison]]:
    """The runs of each series as `ase-exporter compare` sees them."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "recording.txt").write_text(recording.openmetrics(SERVER, START), encoding="utf-8")
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 15s}\n", encoding="utf-8")
    create_blocks(folder / "recording.txt", folder / "data")
    with running_prometheus(folder) as url:
        yield {series: compared(url, series) for series in SERIES}


def create_blocks(openmetrics: Path, data: Path) -> None:
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", openmetrics, data],
        check=True,
        capture_output=True,
    )


def compared(url: str, series: str) -> Comparison:
    windows = [
        f"{run}={START + start_of(run) + INTERVAL}..{START + end_of(run)}"
        for run in RUNS
        if run.startswith(series)
    ]
    return answer(Request(url, [SERVER], windows=windows))


def row(comparison: Comparison, key: str, name: str = "") -> ComparisonRow:
    return next(each for each in comparison.rows if (each.key, each.name) == (key, name))


def step(comparison: Comparison, key: str, run: str, name: str = "") -> WindowDifference:
    """A run against the run before it."""
    number = [span.name for span in comparison.spans].index(run)
    difference = row(comparison, key, name).steps[number - 1]
    assert difference is not None
    return difference


def verdict(comparison: Comparison, key: str, run: str, name: str = "") -> str:
    return step(comparison, key, run, name).verdict


def cpu_busy_fell(comparison: Comparison, run: str) -> bool:
    """That is neither better nor worse by itself: CPU also falls when nothing gets done."""
    difference = step(comparison, "cpu_busy", run)
    assert difference.verdict == "changed"
    return difference.difference < 0


def test_the_published_figures_are_those_of_the_case_study() -> None:
    if not CASE_STUDY.exists():
        pytest.skip(f"no case study at {CASE_STUDY}")
    rows = list(csv.DictReader(CASE_STUDY.open()))
    assert [f"series {row['series']} run {row['run']}" for row in rows] == RUNS
    for row in rows:
        run = published()[f"series {row['series']} run {row['run']}"]
        assert run.cpu_busy == float(row["cpu_busy_pct"]) / 100
        assert run.throughput == float(row["xacts_per_cpu_unit"])
        assert run.contention == {
            cache: float(row[f"{cache.replace(' ', '_')}_contention_pct"]) / 100 for cache in CACHES
        }


@pytest.mark.parametrize("run", RUNS)
def test_contention_and_cpu_busy_are_the_published_figures(evaluated: Evaluated, run: str) -> None:
    printed = published()[run]
    assert evaluated.contention(run) == pytest.approx(printed.contention, abs=PRINTED_RATIO)
    assert evaluated.single(CPU_BUSY, run) == pytest.approx(printed.cpu_busy, abs=PRINTED_RATIO)


@pytest.mark.parametrize("run", RUNS)
def test_throughput_per_cpu_unit_is_the_published_figure(evaluated: Evaluated, run: str) -> None:
    printed = published()[run].throughput
    assert evaluated.single(THROUGHPUT, run) == pytest.approx(printed, abs=PRINTED_THROUGHPUT)


@pytest.mark.parametrize("run", RUNS)
def test_contention_alerts_are_those_that_the_figures_call_for(evaluated: Evaluated, run: str) -> None:
    limits = {"warning": 0.10, "critical": 0.50}
    expected = {
        (severity, cache)
        for cache, ratio in published()[run].contention.items()
        for severity, limit in limits.items()
        if ratio is not None and ratio > limit
    }
    assert evaluated.firing("AseSpinlockContention", end_of(run)) == expected


def test_the_alert_for_the_system_tables_cache_fires_at_the_baseline_and_resolves_with_lldc(
    evaluated: Evaluated,
) -> None:
    firing = [
        (each.fired, each.resolved)
        for each in evaluated.alerts
        if (each.alert, each.severity, each.subject)
        == ("AseSpinlockContention", "critical", "system tables cache")
        and each.fired >= start_of("series 2 run 05")
    ]
    ((fired, resolved),) = firing
    assert start_of("series 2 run 05") < fired < end_of("series 2 run 05")
    assert resolved is not None
    assert start_of("series 2 run 14") < resolved < end_of("series 2 run 14")


def test_the_alert_for_the_log_cache_goes_on_firing(evaluated: Evaluated) -> None:
    last = [each for each in evaluated.alerts if each.subject == "log cache"][-1]
    assert (last.alert, last.severity) == ("AseSpinlockContention", "warning")
    assert last.fired < end_of("series 2 run 13")
    assert last.resolved is None


@pytest.mark.parametrize("series", SERIES)
def test_compare_prints_the_tables_of_the_case_study(comparisons: dict[str, Comparison], series: str) -> None:
    comparison = comparisons[series]
    assert [span.name for span in comparison.spans] == [run for run in RUNS if run.startswith(series)]
    for number, span in enumerate(comparison.spans):
        printed = published()[span.name]
        assert row(comparison, "cpu_busy").values[number] == pytest.approx(
            printed.cpu_busy, abs=PRINTED_RATIO
        )
        for cache, contention in printed.contention.items():
            measured = row(comparison, "cache_contention", cache).values[number]
            assert measured == pytest.approx(contention, abs=PRINTED_RATIO)
        throughput = row(comparison, "throughput_per_cpu_unit").values[number]
        assert throughput == pytest.approx(printed.throughput, abs=PRINTED_THROUGHPUT)


def test_tsx_is_better_but_for_the_default_data_cache(comparisons: dict[str, Comparison]) -> None:
    """The slide says "every measure"; its own table has the default data cache going from 2.1 to 4.0 %."""
    second, run = comparisons["series 2"], "series 2 run 12"
    assert cpu_busy_fell(second, run)
    assert verdict(second, "throughput_per_cpu_unit", run) == "better"
    assert verdict(second, "cache_contention", run, "system tables cache") == "better"
    assert verdict(second, "cache_contention", run, "default data cache") == "worse"


def test_snap_on_top_of_tsx_is_worse_on_every_measure(comparisons: dict[str, Comparison]) -> None:
    second, run = comparisons["series 2"], "series 2 run 13"
    assert not cpu_busy_fell(second, run)
    assert verdict(second, "throughput_per_cpu_unit", run) == "worse"
    assert {verdict(second, "cache_contention", run, cache) for cache in CACHES} == {"worse"}


def test_lldc_is_the_sweet_spot(comparisons: dict[str, Comparison]) -> None:
    second, run = comparisons["series 2"], "series 2 run 14"
    spot = sweet_spot(second)
    assert spot is not None
    assert spot.name == run
    assert cpu_busy_fell(second, run)
    assert verdict(second, "throughput_per_cpu_unit", run) == "better"
    assert verdict(second, "cache_contention", run, "system tables cache") == "better"


def test_lfb_makes_no_difference_or_a_slight_worsening(comparisons: dict[str, Comparison]) -> None:
    """As the slide says. CPU busy, which it does not show, falls by half a point in its own table."""
    second, run = comparisons["series 2"], "series 2 run 15"
    assert {verdict(second, "cache_contention", run, cache) for cache in CACHES} == {"no evidence"}
    assert verdict(second, "throughput_per_cpu_unit", run) in ("no evidence", "worse")


def test_series_one_gained_137_percent_which_is_236_percent_of_before(
    comparisons: dict[str, Comparison],
) -> None:
    gain = row(comparisons["series 1"], "throughput_per_cpu_unit").against_first[0]
    assert gain is not None
    assert gain.relative == pytest.approx(1.365, abs=0.001)
    assert re.search(r"\+136\.5% \(x2\.36\) better", markdown(comparisons["series 1"]))
