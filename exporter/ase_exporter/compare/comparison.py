"""The comparison of time windows, measure by measure.

Each window has two descriptions. Its value is calculated over the whole window: rates over the window, then divided, as
sp_sysmon does over its sample. Its samples along time give medians, spreads and the interval of the difference (see
`statistics`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ase_exporter.changes.change import Change
from ase_exporter.compare.coverage import Coverage, read_covered
from ase_exporter.compare.measures import LOAD, Measure, measures
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.statistics import MIN_SAMPLES, Samples, WindowDifference, compare
from ase_exporter.compare.windows import Span, window_warnings
from ase_exporter.diagnosis.promql import window_of
from ase_exporter.errors import NoDataError, UserError

# Range of a sample in scrape intervals: wherever it falls, it must contain the two scrapes that rate() needs.
INTERVALS_PER_SAMPLE = 2.5
# Relative difference in load from which other measures are hard to compare, and a warning is given.
LOAD_TOLERANCE = 0.1
MAX_SAMPLES = 500
# The sweet spot is the earliest window of a series within this share of the best.
SWEET_SPOT_TOLERANCE = 0.05
EFFICIENCY = "throughput_per_cpu_unit"


@dataclass(frozen=True, slots=True)
class WindowSamples:
    """One row in one window. overall: the value over the whole window, or None."""

    times: Samples
    values: Samples
    overall: float | None


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One measure over all windows, or its part for one cache or spinlock.

    windows: one entry per window, None without data. steps: window i + 1 against window i. against_first: window
    i + 1 against the first. at_equal_load: as against_first, but only with samples from the range of load that both
    windows have. Differences are None where there are too few samples.
    """

    key: str
    measure: Measure
    name: str
    windows: tuple[WindowSamples | None, ...]
    steps: tuple[WindowDifference | None, ...]
    against_first: tuple[WindowDifference | None, ...]
    at_equal_load: tuple[WindowDifference | None, ...]

    @property
    def title(self) -> str:
        return f"{self.measure.title} {self.name}".strip()

    @property
    def values(self) -> tuple[float | None, ...]:
        """The overall value of each window."""
        return tuple(window.overall if window else None for window in self.windows)

    @property
    def verdict(self) -> str:
        """The verdict on the last window against the first; "no data" if there is none."""
        difference = self.against_first[-1]
        return difference.verdict if difference else "no data"

    @property
    def size(self) -> float:
        """The largest difference to the first window, as a share of its value; infinite where that is 0."""
        known = [each.relative for each in self.against_first if each and each.difference]
        return max((math.inf if math.isnan(each) else abs(each) for each in known), default=0.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result. warnings: reasons to doubt it. marks: the changes in and between the windows."""

    selector: str
    spans: tuple[Span, ...]
    rows: tuple[ComparisonRow, ...]
    step: float
    warnings: tuple[str, ...] = ()
    marks: tuple[Change, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether any measure could be judged."""
        return any(row.against_first[-1] for row in self.rows)


def compare_windows(
    prometheus: Prometheus,
    selector: str,
    spans: Sequence[Span],
    *,
    keys: Sequence[str] | None = None,
    marks: Sequence[Change] = (),
) -> Comparison:
    """Compare windows of one server.

    selector: label matchers, for example 'instance="ASE1"'. keys: measures of measures.yaml, by default all. marks:
    changes; only those in and between the windows count. A sample is taken every scrape interval, or less often if that
    gives over MAX_SAMPLES. Of each window, the longest part without a gap is compared. Raises UserError if the windows
    cannot be compared.
    """
    if len(spans) < 2:
        raise UserError("expected at least two windows to compare")
    start, end = min(span.start for span in spans), max(span.end for span in spans)
    marks = [mark for mark in marks if start <= mark.at and mark.earliest <= end]
    covered = [read_covered(prometheus, selector, span) for span in spans]
    spans = [each.span for each in covered]
    interval = max(each.interval for each in covered)
    step = max(interval, max(span.seconds for span in spans) / MAX_SAMPLES)
    width = max(INTERVALS_PER_SAMPLE * interval, step)
    needed = (MIN_SAMPLES - 1) * step + width
    for span in spans:
        if span.seconds < needed:
            error = NoDataError if span.cuts else UserError
            has = f"it has {span.seconds:.0f} s{''.join(f' ({cut})' for cut in span.cuts)}"
            raise error(f"window {span.name}: {has}; expected at least {needed:.0f} s")
    wanted = {key: each for key, each in measures().items() if keys is None or key in keys}
    windows: dict[str, dict[str, list[WindowSamples | None]]] = {}
    for key, measure in wanted.items():
        found = [read_window(prometheus, measure, selector, each, step, width) for each in covered]
        names = dict.fromkeys(name for window in found for name in window)
        windows[key] = {name: [window.get(name) for window in found] for name in names}
    load = windows.get(LOAD, {}).get("", [None] * len(spans))
    rows = tuple(
        _row(key, measure, name, row, load)
        for key, measure in wanted.items()
        for name, row in windows[key].items()
    )
    return Comparison(
        selector=selector,
        spans=tuple(spans),
        rows=rows,
        step=step,
        warnings=(*window_warnings(spans, marks), *_load_warnings(spans, load, rows)),
        marks=tuple(marks),
    )


def sweet_spot(comparison: Comparison) -> Span | None:
    """The earliest window of a series within SWEET_SPOT_TOLERANCE of the best throughput per CPU unit.

    Later steps cost effort for little gain. None for fewer than three windows, or without data.
    """
    values = next((row.values for row in comparison.rows if row.key == EFFICIENCY), ())
    known = [
        (value, span) for value, span in zip(values, comparison.spans, strict=False) if value is not None
    ]
    if len(comparison.spans) < 3 or not known:
        return None
    enough = max(value for value, _ in known) * (1 - SWEET_SPOT_TOLERANCE)
    return next(span for value, span in known if value >= enough)


def read_window(
    prometheus: Prometheus, measure: Measure, selector: str, covered: Coverage, step: float, width: float
) -> dict[str, WindowSamples]:
    """The rows of one measure in one window by name: a sample every `step` seconds over the `width` before it.

    Samples over a time that scrapes do not cover are left out.
    """
    # Without a label there is one row, without a name.
    span, by = covered.span, "".join(measure.by)

    def at_end(query: str) -> dict[str, float]:
        return {each.labels.get(by, ""): each.value for each in prometheus.query(query, span.end)}

    whole = window_of(span.seconds)
    overall = at_end(measure.promql(selector, whole))
    if ranking := measure.ranking(selector, whole):
        ranks = at_end(ranking)
        kept = sorted(overall, key=lambda name: ranks.get(name, 0.0), reverse=True)[: measure.top]
        overall = {name: overall[name] for name in kept}
    found = {}
    # The first sample's range begins with the window, so that no sample includes time before it.
    for series in prometheus.over(
        measure.promql(selector, window_of(width)), span.start + width, span.end, step
    ):
        name = series.labels.get(by, "")
        sound = np.isfinite(series.values) & covered.covers(series.times, width)
        if name in overall:
            found[name] = WindowSamples(series.times[sound], series.values[sound], overall[name])
    return found


def _row(
    key: str,
    measure: Measure,
    name: str,
    windows: Sequence[WindowSamples | None],
    load: Sequence[WindowSamples | None],
) -> ComparisonRow:
    def difference(before: WindowSamples | None, after: WindowSamples | None) -> WindowDifference | None:
        if before is None or after is None or min(len(before.values), len(after.values)) < MIN_SAMPLES:
            return None
        figures = None
        if before.overall is not None and after.overall is not None:
            figures = before.overall, after.overall
        return compare(
            before.values,
            after.values,
            good=measure.good,
            min_difference=measure.min_difference,
            min_share=measure.min_share,
            figures=figures,
        )

    first, *later = windows
    steps = tuple(difference(*pair) for pair in pairwise(windows))
    equal = [_at_equal_load(first, each, load[0], own) for each, own in zip(later, load[1:], strict=True)]
    return ComparisonRow(
        key=key,
        measure=measure,
        name=name,
        windows=tuple(windows),
        steps=steps,
        against_first=(steps[0], *(difference(first, each) for each in later[1:])),
        at_equal_load=tuple(difference(*pair) if pair and key != LOAD else None for pair in equal),
    )


def _at_equal_load(
    before: WindowSamples | None,
    after: WindowSamples | None,
    load_before: WindowSamples | None,
    load_after: WindowSamples | None,
) -> tuple[WindowSamples, WindowSamples] | None:
    """The samples of both windows whose load is in the range that both windows have."""
    if not (before and after and load_before and load_after):
        return None
    low = max(load_before.values.min(), load_after.values.min())
    high = min(load_before.values.max(), load_after.values.max())

    def within(window: WindowSamples, load: WindowSamples) -> WindowSamples:
        kept = np.isin(window.times, load.times[(load.values >= low) & (load.values <= high)])
        return WindowSamples(window.times[kept], window.values[kept], None)

    return within(before, load_before), within(after, load_after)


def _load_warnings(
    spans: Sequence[Span], load: Sequence[WindowSamples | None], rows: Sequence[ComparisonRow]
) -> list[str]:
    first = load[0]
    if first is None or not first.overall:
        return []
    equal = "verdicts hold at equal load, too, unless a measure says otherwise"
    unequal = "too few samples have equal load to compare by them"
    return [
        f"load differs: {window.overall:,.0f} transactions/s in window {span.name}, {first.overall:,.0f} in"
        f" {spans[0].name}; {equal if any(row.at_equal_load[place] for row in rows) else unequal}"
        for place, (span, window) in enumerate(zip(spans[1:], load[1:], strict=True))
        if window and window.overall is not None and abs(window.overall / first.overall - 1) > LOAD_TOLERANCE
    ]
