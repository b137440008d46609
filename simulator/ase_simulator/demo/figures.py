"""The figures of the case study: those that it prints of each run, and those that Prometheus measured."""

from importlib.resources import files
from typing import Final

from ase_exporter.compare.prometheus import Prometheus
from ase_simulator.demo.scaling import Pace
from ase_simulator.yaml_text import load_yaml

RULE_WINDOW_SECONDS = 60.0
CACHES: Final = ("default data cache", "system tables cache", "log cache")
CPU_BUSY, THROUGHPUT = "CPU busy", "transactions per CPU unit"
SERIES = {
    CPU_BUSY: ("ase:cpu_busy:ratio_rate1m", 100),
    THROUGHPUT: ("ase:transactions_per_cpu_unit:ratio_rate1m", 1),
    **{cache: (f'ase:spinlock_contention:ratio_rate1m{{spinlock="{cache}"}}', 100) for cache in CACHES},
}
"""Figure -> the recorded series that has it, and the factor to what is printed: ratios are printed as percentages."""


def published() -> dict[str, dict[str, float]]:
    """Return the figures of the case study, as printed, by run name."""
    runs = load_yaml(files(__package__).joinpath("figures.yaml").read_text(encoding="utf-8"))
    return {name: dict(zip(SERIES, values, strict=True)) for name, values in runs.items()}


def steady(start: float, end: float, pace: Pace) -> tuple[float, float] | None:
    """Return the span of a run in which rule windows do not reach into the run before; None if too short.

    A rule covers its window, may see a scrape up to one interval late, and may be evaluated one interval later.
    """
    first = start + pace.window(RULE_WINDOW_SECONDS) + 2 * pace.scrape_interval
    last = end - pace.scrape_interval
    return (first, last) if last - first >= pace.scrape_interval else None


def measured(prometheus: Prometheus, span: tuple[float, float]) -> dict[str, float | None]:
    """Return the median of each figure over a span of Unix times, None without a value. Raises PrometheusError.

    The median, because on a busy machine a scrape may read one table late, and the replay's speed magnifies the
    error.
    """
    start, end = span
    window = f"[{round((end - start) * 1000)}ms]"
    found: dict[str, float | None] = {}
    for figure, (series, factor) in SERIES.items():
        values = prometheus.query(f"quantile_over_time(0.5, {series}{window})", end)
        found[figure] = values[0].value * factor if values else None
    return found
