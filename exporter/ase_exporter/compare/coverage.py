"""Which part of a window a server was seen in.

`rate` divides what a counter has grown by the whole window, and so by time of which there are no scrapes. Figures are
therefore taken over a stretch without a gap, and the window says what it has lost.
"""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ase_exporter.compare.prometheus import KNOWN_FOR, Prometheus, Series, range_text
from ase_exporter.compare.statistics import Samples
from ase_exporter.compare.windows import Span, cut
from ase_exporter.errors import NoDataError, UserError, expected_names
from ase_exporter.untrusted.encoders import promql

# A stretch ends where scrapes are missing for more than that many intervals.
MAX_GAP = 3.5
# To either end of its window, `rate` extrapolates over that many intervals.
EXTRAPOLATED = 1.1
# Seconds before a window in which a scrape shows that its counters did not begin in it.
LOOKBACK = 300.0
SWITCH_ON_SCRAPES = "it has to scrape ase-exporter (`ase-exporter setup` writes prometheus.yml)"
_READ = "ase_up|ase_start_timestamp_seconds|ase_transactions_total"


@dataclass(frozen=True, slots=True)
class Coverage:
    """A window with the times of its scrapes that were answered, in order, and of some shortly before it.

    interval: seconds between two scrapes. begins: indexes of the first scrape, and of those before which growth was
    lost: the server was restarted, or the exporter counted from zero. servers: how many there are.
    """

    span: Span
    times: Samples
    interval: float
    begins: NDArray[np.int64]
    servers: int = 1

    def stretch(self) -> "Coverage | None":
        """The longest part of the window without a gap; None if no two scrapes belong together."""
        first = int(np.searchsorted(self.times, self.span.start))
        if len(self.times) - first < 2:
            return None
        gaps = np.flatnonzero(np.diff(self.times) > MAX_GAP * self.interval) + 1
        breaks = np.union1d(gaps, self.begins)
        firsts = np.append(first, breaks[breaks > first])
        lasts = np.append(firsts[1:], len(self.times)) - 1
        chosen = int(np.argmax(self.times[lasts] - self.times[firsts]))
        start, end = float(self.times[firsts[chosen]]), float(self.times[lasts[chosen]])
        if end <= start:
            return None
        span, reach = self.span, EXTRAPOLATED * self.interval
        # `rate` extrapolates no counter to a time before it was zero.
        if start - span.start > (0 if firsts[chosen] in self.begins else reach):
            cause = "a gap or a restart" if firsts[chosen] > first else "no data"
            span = cut(span, start=start, reason=f"{cause} before")
        if span.end - end > reach:
            cause = "a gap or a restart" if lasts[chosen] < lasts[-1] else "no data"
            span = cut(span, end=end, reason=f"{cause} after")
        return replace(self, span=span)

    def covers(self, ends: Samples, width: float) -> NDArray[np.bool_]:
        """The ranges of a width, by their ends, for which `rate` is the growth of the whole range.

        Scrapes are near enough to both ends that it extrapolates to them, and no growth was lost in between.
        """
        first = np.searchsorted(self.times, ends - width, side="right")
        last = np.searchsorted(self.times, ends, side="right") - 1
        known = last > first
        first, last = np.where(known, first, 0), np.where(known, last, 0)
        reach = EXTRAPOLATED * (self.times[last] - self.times[first]) / np.maximum(last - first, 1)
        known &= self.times[first] - (ends - width) <= reach
        known &= ends - self.times[last] <= reach
        whole: NDArray[np.bool_] = np.searchsorted(self.begins, first) == np.searchsorted(
            self.begins, last, side="right"
        )
        return known & whole


def read_coverage(prometheus: Prometheus, selector: str, span: Span) -> Coverage:
    """The scrapes of a window, of a server or of a host alone."""
    found: defaultdict[str, list[Series]] = defaultdict(list)
    start = span.start - LOOKBACK
    for series in prometheus.recorded(f'{{__name__=~"{_READ}", {selector}}}', start, span.end):
        found[series.labels.get("__name__", "")].append(series)
    # A host without a target has no ase_up.
    up = found["ase_up"] or prometheus.recorded(f"dbhost_memory_bytes{{{selector}}}", start, span.end)
    times = np.unique(np.concatenate([np.empty(0), *(each.times[each.values > 0] for each in up)]))
    lost = [each.times[1:][np.diff(each.values) < 0] for each in found["ase_transactions_total"]]
    lost += [each.times[1:][np.diff(each.values) != 0] for each in found["ase_start_timestamp_seconds"]]
    begins = np.union1d([0], np.searchsorted(times, np.concatenate([np.empty(0), *lost])))
    steps = np.diff(times[times >= span.start])
    interval = float(np.median(steps)) if len(steps) else span.seconds
    servers = {(each.labels.get("job"), each.labels.get("instance")) for each in up}
    return Coverage(span, times, interval, begins, len(servers))


def read_covered(prometheus: Prometheus, selector: str, span: Span) -> Coverage:
    """The longest part of a window in which one server was scraped without a gap. Raises UserError if there is none."""
    seen = read_coverage(prometheus, selector, span)
    covered = seen.stretch()
    if covered is None or seen.servers > 1:
        require_one_server(prometheus, selector, span)
    if covered is None:
        raise NoDataError(f"window {span.name}: {{{selector}}} has not answered two scrapes in a row in it")
    return covered


def require_one_server(prometheus: Prometheus, selector: str, span: Span) -> None:
    """Raise NoDataError without data in a window, UserError for a server that has none at all, or several servers."""
    seconds = max(1, round(span.seconds))
    # A host without a target has no ase_up series.
    server, host = f"ase_up{{{selector}}}[{seconds}s]", f"dbhost_memory_bytes{{{selector}}}[{seconds}s]"
    found = prometheus.query(f"last_over_time({server}) or on (instance) last_over_time({host})", span.end)
    if not found:
        # One that is there, but not in the window, is no mistake in the name.
        others = f"group by (instance) (last_over_time(ase_up[{range_text(KNOWN_FOR)}]))"
        seen = [*prometheus.query(others, span.end), *prometheus.query(others)]
        known = sorted({each.labels.get("instance", "") for each in seen})
        name = selector.removeprefix('instance="').partition('"')[0]
        missing = f"window {span.name}: Prometheus has no data of {{{selector}}} in it"
        if known and selector not in {f"instance={promql(each)}" for each in known}:
            raise UserError(f"{missing}; {expected_names(name, known)}")
        raise NoDataError(f"{missing}; {SWITCH_ON_SCRAPES}")
    if len(found) > 1:
        raise UserError(f"{{{selector}}}: matches {len(found)} servers, expected one")
