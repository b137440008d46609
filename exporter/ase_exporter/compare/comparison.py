"""Windows of time compared, measure by measure.

    with Prometheus("http://127.0.0.1:9090") as prometheus:
        result = compare_windows(prometheus, 'instance="ASE1"', [before, after])
        for row in result.rows:
            print(row.title, row.values, row.steps[-1].verdict)

Each window is told twice: by its value over the whole window (parts rated over the window, then divided, as
sp_sysmon does over its sample), and by samples along it, from which medians, spreads and the interval of the
difference come (see `statistics`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ase_exporter.compare.measures import LOAD, Measure, measures
from ase_exporter.compare.statistics import FEWEST_SAMPLES, Difference, Samples, compare
from ase_exporter.compare.windows import Mark, Span, objections
from ase_exporter.errors import UserError
from ase_exporter.prometheus import Labels, Prometheus

# A sample is rated over this many scrape intervals: rate() needs two scrapes within its range, wherever it falls.
INTERVALS_PER_SAMPLE = 2.5
# Loads that differ by more than this make a difference in other measures doubtful.
LOAD_TOLERANCE = 0.1
MOST_SAMPLES = 500
# A window this close to the best of a series is as good as the best.
AS_GOOD = 0.05
EFFICIENCY = "throughput_per_cpu_unit"


@dataclass(frozen=True, slots=True)
class Track:
    """One row of one window: times and values of its samples, and its value over the whole window (or None)."""

    times: Samples
    values: Samples
    whole: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One measure, or one cache's or spinlock's share of it, over all windows.

    tracks: one a window, None where it has no data. steps: window i + 1 against window i; against_first: window
    i + 1 against the first; at_like_load: as against_first, from samples of like load only. None where there
    are too few samples.
    """

    key: str
    measure: Measure
    name: str
    tracks: tuple[Track | None, ...]
    steps: tuple[Difference | None, ...]
    against_first: tuple[Difference | None, ...]
    at_like_load: tuple[Difference | None, ...]

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"{self.measure.title} {self.name}".strip()

    @property
    def values(self) -> tuple[float | None, ...]:
        """The value over the whole of each window."""
        return tuple(track.whole if track else None for track in self.tracks)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came out. warnings: why something in it may be doubted; marks: changes in and between the windows."""

    selector: str
    spans: tuple[Span, ...]
    rows: tuple[Row, ...]
    confidence: float
    step: float
    warnings: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = field(default=())


def compare_windows(
    prometheus: Prometheus,
    selectors: str | Sequence[str],
    spans: Sequence[Span],
    *,
    keys: Sequence[str] | None = None,
    confidence: float = 0.95,
    step: float | None = None,
    marks: Sequence[Mark] = (),
    progress: Callable[[str, int, int], None] = lambda title, done, total: None,
) -> Comparison:
    """Compare windows of one server, or the windows of several (a selector a window).

    selectors: label matchers, for example 'instance="ASE1"'. keys: of measures.yaml, all by default. step:
    seconds between samples; by default what the scrape interval and MOST_SAMPLES allow. progress: called with
    the measure's title, how many are done, and how many there are. Raises UserError where nothing can be said.
    """
    if len(spans) < 2:
        raise UserError("two windows at least are needed to compare")
    chosen = [selectors] * len(spans) if isinstance(selectors, str) else list(selectors)
    intervals = [_scrape_interval(prometheus, s, span) for s, span in zip(chosen, spans, strict=True)]
    interval = max(intervals)
    step = max(step or interval, max(span.seconds for span in spans) / MOST_SAMPLES)
    width = max(INTERVALS_PER_SAMPLE * interval, step)
    for span in spans:
        _refuse_short(span, step, width)
    wanted = [key for key in measures() if keys is None or key in keys]
    tracks: dict[str, dict[str, list[Track | None]]] = {}
    for done, key in enumerate(wanted):
        measure = measures()[key]
        progress(measure.title, done, len(wanted))
        found = [
            _tracks(prometheus, measure, selector, span, step, width)
            for selector, span in zip(chosen, spans, strict=True)
        ]
        names = _names(found)
        tracks[key] = {name: [window.get(name) for window in found] for name in names}
    progress("", len(wanted), len(wanted))
    load = tracks.get(LOAD, {}).get("", [None] * len(spans))
    rows = tuple(
        _row(key, measures()[key], name, row, load, confidence)
        for key in wanted
        for name, row in tracks[key].items()
    )
    warnings = [
        *objections(spans, marks, _restarts(prometheus, chosen, spans)),
        *_gaps(spans, load, step),
        *_load_notes(spans, load),
    ]
    return Comparison(
        selector=chosen[0],
        spans=tuple(spans),
        rows=rows,
        confidence=confidence,
        step=step,
        warnings=tuple(warnings),
        marks=tuple(marks),
    )


def sweet_spot(comparison: Comparison) -> Span | None:
    """Of a series: the earliest window within AS_GOOD of the best throughput per CPU unit; None without figures.

    What comes after it costs effort for little gain.
    """
    row = next((row for row in comparison.rows if row.key == EFFICIENCY), None)
    known = [value for value in row.values if value is not None] if row else []
    if row is None or len(comparison.spans) < 3 or not known:
        return None
    enough = max(known) * (1 - AS_GOOD)
    return next(
        span
        for span, value in zip(comparison.spans, row.values, strict=True)
        if value is not None and value >= enough
    )


def _scrape_interval(prometheus: Prometheus, selector: str, span: Span) -> float:
    seconds = max(1, round(span.seconds))
    # A host without a target has no ase_up.
    server, host = f"ase_up{{{selector}}}[{seconds}s]", f"dbhost_memory_bytes{{{selector}}}[{seconds}s]"
    query = f"count_over_time({server}) or on (instance) count_over_time({host})"
    counts = prometheus.query(query, span.end)
    if not counts:
        others = f"group by (instance) (last_over_time(ase_up[{seconds}s]))"
        known = sorted(each.labels.get("instance", "") for each in prometheus.query(others, span.end))
        but = f"only of instance {', '.join(known)}" if known else "nor of any other server"
        raise UserError(f"window {span.name}: Prometheus has no data of {{{selector}}} there, {but}")
    if len(counts) > 1:
        raise UserError(f"{{{selector}}}: matches {len(counts)} servers, expected one")
    return seconds / max(1.0, counts[0].value)


def _refuse_short(span: Span, step: float, width: float) -> None:
    needed = (FEWEST_SAMPLES - 1) * step + width
    if span.seconds < needed:
        raise UserError(
            f"window {span.name}: {span.seconds:.0f} s are too short, at least {needed:.0f} s are needed"
        )


def _tracks(
    prometheus: Prometheus, measure: Measure, selector: str, span: Span, step: float, width: float
) -> dict[str, Track]:
    """The rows of one measure in one window by name."""
    whole = {
        _name(measure, sample.labels): sample.value
        for sample in prometheus.query(measure.promql(selector, span.seconds), span.end)
    }
    ranking = measure.ranking(selector, span.seconds)
    if ranking:
        ranks = {
            _name(measure, sample.labels): sample.value for sample in prometheus.query(ranking, span.end)
        }
        kept = sorted(whole, key=lambda name: ranks.get(name, 0.0), reverse=True)[: measure.top]
        whole = {name: whole[name] for name in kept}
    found = {}
    # The first sample's range begins with the window: none looks at what was before.
    for series in prometheus.over(measure.promql(selector, width), span.start + width, span.end, step):
        name = _name(measure, series.labels)
        sound = np.isfinite(series.values)
        if name in whole:
            found[name] = Track(series.times[sound], series.values[sound], whole[name])
    return found


def _name(measure: Measure, labels: Labels) -> str:
    return labels.get(measure.by, "") if measure.by else ""


def _names(found: Sequence[dict[str, Track]]) -> list[str]:
    """All names, in the order in which they first come up."""
    return list(dict.fromkeys(name for window in found for name in window))


def _row(
    key: str,
    measure: Measure,
    name: str,
    tracks: Sequence[Track | None],
    load: Sequence[Track | None],
    confidence: float,
) -> Row:
    def difference(before: Track | None, after: Track | None) -> Difference | None:
        if before is None or after is None or min(len(before.values), len(after.values)) < FEWEST_SAMPLES:
            return None
        return compare(
            before.values, after.values, good=measure.good, smallest=measure.smallest, confidence=confidence
        )

    later = range(1, len(tracks))
    like = [_at_like_load(tracks[0], tracks[i], load[0], load[i]) for i in later]
    return Row(
        key=key,
        measure=measure,
        name=name,
        tracks=tuple(tracks),
        steps=tuple(difference(tracks[i - 1], tracks[i]) for i in later),
        against_first=tuple(difference(tracks[0], tracks[i]) for i in later),
        at_like_load=tuple(difference(*pair) if pair and key != LOAD else None for pair in like),
    )


def _at_like_load(
    before: Track | None, after: Track | None, load_before: Track | None, load_after: Track | None
) -> tuple[Track, Track] | None:
    """The samples of both windows whose load lies where the loads overlap."""
    if not (before and after and load_before and load_after):
        return None
    low = max(load_before.values.min(), load_after.values.min())
    high = min(load_before.values.max(), load_after.values.max())
    return _of_load(before, load_before, low, high), _of_load(after, load_after, low, high)


def _of_load(track: Track, load: Track, low: float, high: float) -> Track:
    fitting = load.times[(load.values >= low) & (load.values <= high)]
    kept = np.isin(track.times, fitting)
    return Track(track.times[kept], track.values[kept], None)


def _restarts(prometheus: Prometheus, selectors: Sequence[str], spans: Sequence[Span]) -> list[float]:
    found = []
    for selector, span in zip(selectors, spans, strict=True):
        seconds = max(1, round(span.seconds))
        query = f"max_over_time(ase_start_timestamp_seconds{{{selector}}}[{seconds}s])"
        found += [sample.value for sample in prometheus.query(query, span.end)]
    return found


def _gaps(spans: Sequence[Span], load: Sequence[Track | None], step: float) -> list[str]:
    if not any(load):  # a host without a target has no load to be missing
        return []
    found = []
    for span, track in zip(spans, load, strict=True):
        got = len(track.times) if track else 0
        expected = int(span.seconds / step)
        if got < 0.8 * expected:
            found.append(f"window {span.name} has gaps: {got} of about {expected} samples")
    return found


def _load_notes(spans: Sequence[Span], load: Sequence[Track | None]) -> list[str]:
    first = load[0]
    if first is None or not first.whole:
        return []
    return [
        f"load differs: {track.whole:,.0f} transactions/s in window {span.name}, {first.whole:,.0f} in"
        f" {spans[0].name}; see the comparison at like load"
        for span, track in list(zip(spans, load, strict=True))[1:]
        if track and track.whole is not None and abs(track.whole / first.whole - 1) > LOAD_TOLERANCE
    ]
