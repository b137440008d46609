"""Runs of the replayed case study: when each began, its published figures, and those that Prometheus measured."""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Self

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_exporter.assets import load_yaml
from ase_exporter.compare.prometheus import Labels, Prometheus
from ase_exporter.demo.scaling import Pace

CACHES = ("default data cache", "system tables cache", "log cache")
RULE_WINDOW_SECONDS = 60.0
POLL_SECONDS = 0.25
TIMEOUT_SECONDS = 5.0
STEP_QUERY = "select StepName, SecondsInStep from master..simScenario"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of a run that the case study prints; None if Prometheus has no value.

    cpu_busy: ratio. throughput: committed transactions per CPU unit. contention: ratio by cache.
    """

    cpu_busy: float | None
    throughput: float | None
    contention: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the replay. start, end: Unix times; end is None while it goes on."""

    name: str
    features: str
    start: float
    end: float | None = None


def published() -> dict[str, RunFigures]:
    """Return the figures of the case study by run name."""
    text = (files(__package__) / "published_figures.yaml").read_text(encoding="utf-8")
    return {
        name: RunFigures(
            busy / 100, throughput, dict(zip(CACHES, (each / 100 for each in contention), strict=True))
        )
        for name, (busy, throughput, *contention) in load_yaml(text).items()
    }


def steady(run: Run, pace: Pace, now: float) -> tuple[float, float] | None:
    """Return the span of a run in which rule windows do not reach into the run before; None if too short.

    A rule covers its window, may see a scrape up to one interval late, and may be evaluated one interval later.
    """
    start = run.start + pace.window(RULE_WINDOW_SECONDS) + 2 * pace.scrape_interval
    end = (run.end or now) - pace.scrape_interval
    return (start, end) if end - start >= pace.scrape_interval else None


def measured(prometheus: Prometheus, span: tuple[float, float] | None = None) -> RunFigures:
    """Return the median of the recorded series over a span of Unix times, or their current value.

    The median, because on a busy machine a scrape may read one table late, and the replay's speed magnifies the
    error. Raises PrometheusError.
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
    return RunFigures(
        single("ase:cpu_busy:ratio_rate1m"),
        single("ase:transactions_per_cpu_unit:ratio_rate1m"),
        {cache: contention.get(cache) for cache in CACHES},
    )


def results(prometheus: Prometheus, runs: Sequence[Run], pace: Pace, now: float) -> dict[str, RunFigures]:
    """Return the figures of every run that lasted long enough; of a repeated run, those of the first time."""
    figures: dict[str, RunFigures] = {}
    for run in runs:
        span = steady(run, pace, now)
        if span and run.name not in figures:
            figures[run.name] = measured(prometheus, span)
    return figures


class Scenario:
    """Follows a scenario in a background thread while the block is active.

    speed: simulated seconds per real second, to convert the server's time.
    """

    def __init__(self, endpoint: Endpoint, user: str, password: str, speed: float) -> None:
        self._endpoint = endpoint
        self._login = (user, password)
        self._speed = speed
        self._runs: list[Run] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT_SECONDS)

    def runs(self) -> list[Run]:
        """Return the runs so far, in order; the last one has not ended."""
        return list(self._runs)

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                connection = Connection.open(
                    self._endpoint, *self._login, deadline=time.monotonic() + TIMEOUT_SECONDS, program="demo"
                )
            except DatabaseError:
                self._stop.wait(POLL_SECONDS)
                continue
            try:
                while not self._stop.wait(POLL_SECONDS):
                    for step, seconds in connection.query(STEP_QUERY, time.monotonic() + TIMEOUT_SECONDS):
                        self._note(str(step), float(str(seconds)))
            except DatabaseError:
                continue
            finally:
                connection.close()

    def _note(self, step: str, seconds_in_step: float) -> None:
        start = time.time() - seconds_in_step / self._speed
        name, _, features = step.partition(": ")
        if self._runs and self._runs[-1].name == name:
            return
        if self._runs:
            self._runs[-1] = replace(self._runs[-1], end=start)
        self._runs.append(Run(name, features, start))
