"""Times of which nothing is known: without a scrape, or with scrapes that did not reach the server."""

import math
from dataclasses import dataclass

import numpy as np

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.report.history import Values, binned, over_bins, range_text
from ase_exporter.report.period import LENGTHS, Period

NO_SCRAPE, SERVER_DOWN = "no data", "server down"
# Finer than the charts: a gap of minutes counts, too.
MAX_BINS = 2100
_COUNT = "max(count_over_time(ase_up{%s}[%s]))"
_ANSWERED = "max(sum_over_time(ase_up{%s}[%s]))"


@dataclass(frozen=True, slots=True)
class Gap:
    """Unix times. kind: NO_SCRAPE (the exporter or Prometheus was away) or SERVER_DOWN (the exporter could not read
    it)."""

    start: float
    end: float
    kind: str

    @property
    def seconds(self) -> float:
        """The length of the gap."""
        return self.end - self.start


def resolution(period: Period, scrape: float) -> float:
    """Seconds to which the ends of gaps are known. scrape: seconds between scrapes."""
    fitting = (each for each in LENGTHS if period.seconds / each < MAX_BINS and each >= 2 * scrape)
    return next(fitting, LENGTHS[-1])


def read_gaps(server: Prometheus, selector: str, period: Period, scrape: float) -> list[Gap]:
    """The gaps in a server's data, in order of time."""
    step = resolution(period, scrape)
    fine = Period(period.start, period.end, period.now, step)
    counts, answered = (
        np.nan_to_num(_values(server, query % (selector, range_text(step)), fine))
        for query in (_COUNT, _ANSWERED)
    )
    share = fine.shares
    usual = float(np.median(counts[counts > 0])) if (counts > 0).any() else 1.0
    kinds = np.where(counts < usual * share / 2, 1, np.where(answered < counts / 2, 2, 0))
    # Too short a part of a bin to miss a scrape in; the last scrape may be under way.
    kinds[(share * step < 2 * scrape) & (kinds == 1)] = 0
    return [
        Gap(
            max(float(fine.starts[first]), period.start),
            min(float(fine.starts[last]) + step, period.end),
            kind,
        )
        for first, last, number in _runs(kinds)
        for kind in [NO_SCRAPE if number == 1 else SERVER_DOWN]
    ]


def _values(server: Prometheus, query: str, period: Period) -> Values:
    series = over_bins(server, query, period)
    return binned(series[0], period) if series else np.full(period.count, math.nan)


def _runs(kinds: Values) -> list[tuple[int, int, int]]:
    """First and last place and number of each run of equal numbers but 0."""
    found: list[tuple[int, int, int]] = []
    for place, number in enumerate(int(kind) for kind in kinds):
        if found and found[-1][1:] == (place - 1, number):
            found[-1] = (found[-1][0], place, number)
        elif number:
            found.append((place, place, number))
    return found
