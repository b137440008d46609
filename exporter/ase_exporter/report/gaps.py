"""Times of which nothing is known: without a scrape, or with scrapes that did not reach the server."""

from itertools import groupby

import numpy as np

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.report.history import only_series
from ase_exporter.report.period import Period, bin_length

# Names of gaps: the exporter or Prometheus was away; the exporter could not read the server; some scrapes are missing.
NO_SCRAPE, SERVER_DOWN, THIN = "no data", "server down", "scrapes missing"
# Finer than the charts: a gap of minutes counts, too.
MAX_BINS = 2100
# What a bin may lack, as scrapes and as a share of them: its mean is hardly changed.
_SPARE, _SPARE_SHARE = 2, 0.02
_COUNT = "max(count_over_time(ase_up{%s}[%s]))"
_ANSWERED = "max(sum_over_time(ase_up{%s}[%s]))"


def resolution(period: Period, scrape: float) -> float:
    """Seconds to which the ends of gaps are known. scrape: seconds between scrapes."""
    return bin_length(period.seconds, scrape, MAX_BINS)


def read_gaps(server: Prometheus, selector: str, period: Period, scrape: float) -> list[Span]:
    """The gaps in a server's data, named NO_SCRAPE or SERVER_DOWN, and times named THIN, in order of time."""
    step = resolution(period, scrape)
    fine = Period(period.start, period.end, period.now, step)
    counts, answered = (
        np.nan_to_num(only_series(server, query, selector, fine)) for query in (_COUNT, _ANSWERED)
    )
    share = fine.shares
    usual = float(np.median(counts[counts > 0])) if (counts > 0).any() else 1.0
    lost = counts < usual * share / 2
    # Too short a part of a bin to miss a scrape in; the last scrape may be under way.
    lost &= share * step >= 2 * scrape
    names = np.where(lost, NO_SCRAPE, np.where(answered < counts / 2, SERVER_DOWN, ""))
    names = np.where(
        (names == "") & (answered < usual * share - max(_SPARE, _SPARE_SHARE * usual)), THIN, names
    )
    found = []
    for name, bins in groupby(zip(map(str, names), fine.starts, strict=True), key=lambda pair: pair[0]):
        starts = [float(start) for _, start in bins]
        if name:
            found.append(Span(name, max(starts[0], period.start), min(starts[-1] + step, period.end)))
    return found
