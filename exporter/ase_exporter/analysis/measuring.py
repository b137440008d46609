"""Measures of a server from Prometheus, as `compare` and the recording rules define them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ase_exporter.advise.advice import Advice
from ase_exporter.advise.advice import advise as weigh
from ase_exporter.analysis.evidence import evidence
from ase_exporter.changes.change import Change
from ase_exporter.compare.comparison import (
    INTERVALS_PER_SAMPLE,
    MAX_SAMPLES,
    Comparison,
    compare_windows,
    read_window,
)
from ase_exporter.compare.coverage import read_coverage, scrape_interval
from ase_exporter.compare.marks import marks_from_exporter, with_restarts
from ase_exporter.compare.measures import measures
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.request import Request, server_selector, windows_of
from ase_exporter.compare.windows import Span
from ase_exporter.config.times import parse_moment
from ase_exporter.errors import UserError

Moment = float | str | datetime
"""Unix seconds, a datetime with a time zone, or text such as now-2h (as the options of `compare` take it)."""

Table = dict[str, NDArray[Any]]
"""Columns of equal length by name; times are Unix seconds, ratios 0-1."""

CONTENTION = ("cache_contention", "spinlock_contention")
# Seconds. The range of the recording rules' rates (rate1m).
WIDTH = 60.0


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """One measure along time.

    title, unit: as in reports; ratios are 0-1. times: shape (n,), Unix seconds. values: by name ('' where there is
    only one row), each of shape (n,), NaN where there is no sample.
    """

    title: str
    unit: str
    times: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]


def measure(
    prometheus: Prometheus,
    server: str,
    key: str | Sequence[str],
    start: Moment,
    end: Moment,
    *,
    step: float | None = None,
    width: float = WIDTH,
    top: int | None = None,
    selector: str = "",
) -> TimeSeries:
    """One measure of `compare` along time.

    server: its `instance` label. key: of measures.yaml, for example cpu_busy, or several of one unit. step: seconds
    between values, by default the scrape interval. width: each value is over that many seconds before it, at least 2.5
    scrape intervals. top: the rows with most (of measures with a row per spinlock). selector: more label matchers.
    Raises UserError for an unknown measure, a bad time, and a window without data.
    """
    keys = [key] if isinstance(key, str) else key
    for each in keys:
        _require_measure(each)
    matchers, span = server_selector(server, selector), _span(start, end)
    scrape_interval(prometheus, matchers, span)
    coverage = read_coverage(prometheus, matchers, span)
    step = max(step or coverage.interval, span.seconds / MAX_SAMPLES)
    width = max(width, INTERVALS_PER_SAMPLE * coverage.interval)
    if span.seconds < width:
        raise UserError(f"window: it has {span.seconds:.0f} s; expected at least {width:.0f} s")
    rows = {}
    for each in keys:
        known = measures()[each]
        chosen = replace(known, top=top) if top and known.rank else known
        for name, row in read_window(prometheus, chosen, matchers, coverage, step, width).items():
            rows[name] = (row.times, row.values)
    first = measures()[keys[0]]
    times = np.unique(np.concatenate([at for at, _ in rows.values()] or [np.empty(0)]))
    values = {name: np.full(len(times), np.nan) for name in rows}
    for name, (at, found) in rows.items():
        values[name][np.searchsorted(times, at)] = found
    return TimeSeries(first.title if len(keys) == 1 else "Contention", first.unit, times, values)


def contention(
    prometheus: Prometheus, server: str, start: Moment, end: Moment, *, top: int = 10, selector: str = ""
) -> TimeSeries:
    """Contention of spinlocks along time, as ase:spinlock_contention:ratio_rate1m: waits / grabs, 0-1, by name.

    All data caches, and the `top` other spinlocks by spins. Arguments and errors as of `measure`.
    """
    return measure(prometheus, server, CONTENTION, start, end, top=top, selector=selector)


def advise(prometheus: Prometheus, server: str, start: Moment, end: Moment, *, selector: str = "") -> Advice:
    """What `ase-exporter advise` says, from metrics: rates over the window, settings at its end.

    Raises UserError for a bad time, and without data.
    """
    return weigh(evidence(prometheus, server_selector(server, selector), _span(start, end)))


def marks(
    prometheus: Prometheus,
    server: str,
    start: Moment,
    end: Moment,
    *,
    exporter: str | None = None,
    selector: str = "",
) -> list[Change]:
    """The recorded changes and restarts of a server in order of time, as objects.

    exporter: URL of an exporter, to read its history instead of the metric in Prometheus.
    """
    span, found = _span(start, end), None
    if exporter:
        found = [mark for mark in marks_from_exporter(exporter, server) if span.start <= mark.at <= span.end]
    matchers = server_selector(server, selector)
    return with_restarts(prometheus, matchers, span.start, span.end, time.time(), found)


def changes(prometheus: Prometheus, server: str, start: Moment, end: Moment, *, selector: str = "") -> Table:
    """The recorded changes and restarts of a server, in order of time.

    Columns: at (when it happened, or was first seen), not_before (when it was not there yet; NaN if `at` is exact),
    kind, name, old, new.
    """
    found = marks(prometheus, server, start, end, selector=selector)
    times = {name: np.array([getattr(mark, name) for mark in found], float) for name in ("at", "not_before")}
    texts = {name: _texts([getattr(mark, name) for mark in found]) for name in ("kind", "name", "old", "new")}
    return times | texts


def windows(prometheus: Prometheus, server: str, **options: Any) -> list[Span]:
    """Windows to compare, by the rules of `ase-exporter compare`.

    options: fields of `Request`. Give one of: before and after, each START..END; change, the id or text of a recorded
    change, for a window before and one after it; runs, a range that is split by its changes. length, settle: seconds,
    around a change, by default 30 minutes and one. Windows stop at other changes and at restarts; `compare` leaves out
    times without data. Raises UserError if there is no such change or no time.
    """
    return windows_of(prometheus, Request(str(prometheus.url), server, **options), time.time())[1]


def compare(
    prometheus: Prometheus,
    server: str,
    spans: Sequence[Span],
    *,
    keys: Sequence[str] | None = None,
    selector: str = "",
) -> Comparison:
    """Compare windows measure by measure, with intervals and verdicts; `differences` makes a table of it.

    spans: from `windows`, two or more. keys: of measures.yaml, by default all. Raises UserError if they cannot be
    compared.
    """
    for key in keys or ():
        _require_measure(key)
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    found = marks(prometheus, server, start, end, selector=selector)
    matchers = server_selector(server, selector)
    return compare_windows(prometheus, matchers, spans, keys=keys, marks=found)


def differences(comparison: Comparison) -> Table:
    """The last window against the first, a row per measure (and spinlock, cache, ...).

    Columns: measure, name, unit, before, after (values over the whole windows), difference with the interval low to
    high, relative (difference / before), verdict (better, worse, changed, no evidence, or '' without data).
    """
    rows = comparison.rows
    found = [row.against_first[-1] for row in rows]

    def numbers(name: str) -> NDArray[np.float64]:
        return np.array([getattr(each, name) if each else np.nan for each in found], float)

    return {
        "measure": _texts([row.key for row in rows]),
        "name": _texts([row.name for row in rows]),
        "unit": _texts([row.measure.unit for row in rows]),
        "before": np.array([row.values[0] for row in rows], float),
        "after": np.array([row.values[-1] for row in rows], float),
        **{name: numbers(name) for name in ("difference", "low", "high", "relative")},
        "verdict": _texts([each.verdict if each else "" for each in found]),
    }


def moment(at: Moment, name: str = "time") -> float:
    """Unix seconds. Raises UserError for text that is no time, and for a datetime without a time zone."""
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise UserError(f"{name}: {at.isoformat()}: expected a datetime with a time zone")
        return at.timestamp()
    try:
        return parse_moment(at, time.time()) if isinstance(at, str) else float(at)
    except ValueError as error:
        raise UserError(f"{name}: {at!r}: {error}") from None


def _span(start: Moment, end: Moment) -> Span:
    span = Span("window", moment(start, "start"), moment(end, "end"))
    if not span.seconds > 0:
        raise UserError("end: expected a time after the start")
    return span


def _require_measure(key: str) -> None:
    if key not in measures():
        raise UserError(f"measure: {key}: expected one of {', '.join(measures())}")


def _texts(found: Sequence[str]) -> NDArray[np.object_]:
    return np.array(found, dtype=object)
