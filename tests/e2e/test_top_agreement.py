"""The figures of `top`, `compare`, `report`, boards and recording rules are equal for the same samples.

By Prometheus's own engine.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from dashboards.common import SPINNING_CPU
from dashboards.queries import several
from tests.e2e.evaluation import evaluate, with_sources
from tests.e2e.simulated_time import INTERVAL, Recording, record
from tests.exporter.simulated import reading
from tests.exporter.top.watching import one_step

from ase_exporter.compare.measures import measures
from ase_exporter.diagnosis.promql import window_of
from ase_exporter.readings.samples import LabelValues, MetricSeries, Reading, Sample
from ase_exporter.report.history import AVERAGES
from ase_exporter.top.figures import Row
from ase_exporter.top.frames import Frame, frame

pytestmark = pytest.mark.e2e

# What top shows of rows by their names, or of the server.
Shown = Callable[[Frame], dict[str, float]]
COLLECTORS = {"state", "engines", "threads", "spinlocks", "data_caches"}
SCRAPES = 7
# A range of a minute holds four samples, 15 s apart.
IN_A_MINUTE = 4
# Of the one server, and seconds: what `compare` is asked for.
ALL, MINUTE = 'instance=~".*"', window_of(60.0)


def sample(recording: Recording, first: int, last: int) -> Sample:
    """What top would have read at two scrapes of a recording."""
    readings: dict[str, dict[int, dict[LabelValues, float]]] = {}
    labels = {}
    for (name, names, values), numbers in recording.series.items():
        labels[name] = names
        for scrape in (first, last):
            value = numbers[scrape] if scrape < len(numbers) else None
            if value is not None:
                readings.setdefault(name, {first: {}, last: {}})[scrape][values] = value
    series = {
        name: MetricSeries(
            tuple(Reading(float(at * INTERVAL), labels[name], both[at]) for at in (first, last))
        )
        for name, both in readings.items()
    }
    return Sample("server", 0.0, 0.0, float(INTERVAL), series=series)


def of_spinlocks(value: Callable[[Row], float | None]) -> Shown:
    return lambda found: {each.name: value(each) or 0.0 for each in found.figures.spinlocks}


def of_server(measure: str) -> Shown:
    def values(found: Frame) -> dict[str, float]:
        number = found.diagnosis.measures[measure].value
        return {} if number is None else {"": number}

    return values


def recorded_spinning(found: Frame) -> dict[str, float]:
    """Top counts all spins; ase:spinlock_spins:rate1m leaves out those that spin at most 5,000 times a second."""
    locks = found.figures.spinlocks
    left_out = (each for each in locks if each.spinlock_class != "data_cache" and each.spins <= 5000)
    return {"": (found.figures.spinning or 0.0) - sum(each.cpu or 0.0 for each in left_out)}


def drawn(expr: str) -> str:
    """A board's expression over the same minute, of all servers."""
    return expr.replace("$selector,", "").replace("$selector", "").replace("$__rate_interval", "1m")


# By recording rule, or expression of a board: the label that names a row, and the same figures of top.
RULES: dict[str, tuple[str, Shown]] = {
    "ase:cpu_busy:ratio_rate1m": ("", of_server("busy_share")),
    "ase:cpu_spinning:ratio_rate1m": ("", recorded_spinning),
    "ase:cpu_units:rate1m": ("", of_server("cpu_units")),
    "ase:transactions:rate1m": ("", of_server("transactions")),
    "ase:transactions_per_cpu_unit:ratio_rate1m": ("", of_server("throughput")),
    "ase:spinlock_contention:ratio_rate1m": ("spinlock", of_spinlocks(lambda each: each.contention)),
    "ase:spinlock_spins:rate1m": ("spinlock", of_spinlocks(lambda each: each.spins)),
}
# The same figures by measure of `compare`.
COMPARED = {
    "cpu_busy": RULES["ase:cpu_busy:ratio_rate1m"],
    "transactions": RULES["ase:transactions:rate1m"],
    "throughput_per_cpu_unit": RULES["ase:transactions_per_cpu_unit:ratio_rate1m"],
    "spin_share": ("", of_server("spinning_share")),
    "cache_contention": RULES["ase:spinlock_contention:ratio_rate1m"],
}
# By mean of `report`, over one evaluation.
REPORTED = {
    "busy": RULES["ase:cpu_busy:ratio_rate1m"],
    "spinning": RULES["ase:cpu_spinning:ratio_rate1m"],
    "transactions": RULES["ase:transactions:rate1m"],
    "cpu_units": RULES["ase:cpu_units:rate1m"],
}
HOTTEST = "ase:spinlock_hottest_contention:ratio_rate1m"
BURNT = drawn(several(SPINNING_CPU.queries)[0].expr)
# Prometheus extrapolates to the ends of the range, from 45 s to a minute; ratios are the same, but for what spins: the
# rule divides by the time of engines, which comes in whole seconds, and the diagnosis by their number.
RATES = {
    "ase:cpu_spinning:ratio_rate1m",
    "ase:cpu_units:rate1m",
    "ase:transactions:rate1m",
    "ase:spinlock_spins:rate1m",
    *(measures()[key].promql(ALL, MINUTE) for key in ("transactions", "spin_share")),
    *(AVERAGES[key] % (ALL, "14s") for key in ("spinning", "transactions", "cpu_units")),
}


def shares(parts: dict[str, float]) -> dict[str, float]:
    return {name: part / sum(parts.values()) for name, part in parts.items()}


@pytest.mark.parametrize(
    ("scenario", "step"),
    [("memscale", "series 2 run 05"), ("memscale", "series 2 run 14"), ("storm", "wrong remedy")],
)
def test_figures_equal_the_recording_rules(tmp_path: Path, scenario: str, step: str) -> None:
    recording = record(one_step(scenario, step, tmp_path), SCRAPES * INTERVAL, module=reading(*COLLECTORS))
    seen = frame(sample(recording, SCRAPES - IN_A_MINUTE, SCRAPES - 1))
    shown = seen.figures
    at = SCRAPES * INTERVAL
    asked = RULES | {measures()[key].promql(ALL, MINUTE): figure for key, figure in COMPARED.items()}
    asked |= {AVERAGES[key] % (ALL, "14s"): figure for key, figure in REPORTED.items()}
    assert REPORTED.keys() == AVERAGES.keys()
    queries = [(rule, at) for rule in (*asked, HOTTEST, BURNT)]
    recorded = evaluate(recording, tmp_path, queries, with_sources("cpu.alerts.yaml"))
    for rule, (label, of) in asked.items():
        expected = {each.labels.get(label, ""): each.value for each in recorded[rule, at]}
        assert expected, rule
        rel, absolute = (0.05, None) if rule in RATES else (None, 1e-9)
        # Rules leave out spinlocks that hardly spin.
        found = {name: value for name, value in of(seen).items() if name in expected}
        assert found == pytest.approx(expected, rel=rel, abs=absolute), rule
    (hottest,) = recorded[HOTTEST, at]
    assert shown.hottest and shown.hottest.name == hottest.labels["spinlock"]
    # Not of exactly the same samples: the rule takes the spinning share of the evaluation before.
    burnt = {each.labels["spinlock"]: each.value for each in recorded[BURNT, at]}
    spun = {each.name: each.cpu or 0.0 for each in shown.spinlocks if each.name in burnt}
    assert shares(spun) == pytest.approx(shares(burnt), abs=1e-5)
