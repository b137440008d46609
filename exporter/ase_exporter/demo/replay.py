"""The runs of the replayed case study: when each was played, and what Prometheus says of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Self

import yaml

from ase_exporter.demo.faster import Pace
from ase_exporter.prometheus import Labels, Prometheus

CACHES = ("default data cache", "system tables cache", "log cache")
RULE_WINDOW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What the case study prints of a run; None where Prometheus has no value.

    cpu_busy: ratio. throughput: committed transactions per CPU unit. contention: ratio by cache.
    """

    cpu_busy: float | None
    throughput: float | None
    contention: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Run:
    """A run in the replay: Unix times of its start and, once it is over, its end."""

    name: str
    features: str
    start: float
    end: float | None = None

    def ended(self, at: float) -> Self:
        """The same run, over at that time."""
        return replace(self, end=at)


def published() -> dict[str, Figures]:
    """The figures of the case study by run."""
    text = (files(__package__) / "published.yaml").read_text(encoding="utf-8")
    return {
        name: Figures(
            busy / 100, throughput, dict(zip(CACHES, (each / 100 for each in contention), strict=True))
        )
        for name, (busy, throughput, *contention) in yaml.safe_load(text).items()
    }


def steady(run: Run, pace: Pace, now: float) -> tuple[float, float] | None:
    """The part of a run whose rule windows hold nothing of the run before; None while it is too short.

    A rule looks back over its window, sees a scrape up to an interval late, and is itself evaluated up to an
    interval later.
    """
    start = run.start + pace.window(RULE_WINDOW_SECONDS) + 2 * pace.scrape_interval
    end = (run.end or now) - pace.scrape_interval
    return (start, end) if end - start >= pace.scrape_interval else None


def measured(prometheus: Prometheus, span: tuple[float, float] | None = None) -> Figures:
    """The median of the recorded series over a span of Unix times, or their value now; PrometheusError.

    A scrape on a busy machine reads one table late, and at the replay's speed late is long: the median takes
    no notice.
    """
    window = "" if span is None else f"[{round((span[1] - span[0]) * 1000)}ms]"
    at = None if span is None else span[1]

    def values(series: str) -> Iterator[tuple[Labels, float]]:
        expr = series if span is None else f"quantile_over_time(0.5, {series}{window})"
        return ((each.labels, each.value) for each in prometheus.query(expr, at))

    def single(series: str) -> float | None:
        return next((value for _, value in values(series)), None)

    contention = {
        labels["spinlock"]: value
        for labels, value in values('ase:spinlock_contention:ratio_rate1m{class="data_cache"}')
    }
    return Figures(
        single("ase:cpu_busy:ratio_rate1m"),
        single("ase:transactions_per_cpu_unit:ratio_rate1m"),
        {cache: contention.get(cache) for cache in CACHES},
    )


def results(prometheus: Prometheus, runs: Sequence[Run], pace: Pace, now: float) -> dict[str, Figures]:
    """The figures of every run that was seen long enough; of a run played twice, the first time."""
    seen: dict[str, Figures] = {}
    for run in runs:
        span = steady(run, pace, now)
        if span and run.name not in seen:
            seen[run.name] = measured(prometheus, span)
    return seen
