"""What a server did over a period: means by bin of time, from the recorded series of the shipped rules, and gaps.

Recorded series are few, whatever the number of engines and spinlocks, and their parts (grabs, waits) are there beside
the ratios: contention over any time is the sum of the waits / the sum of the grabs.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ase_exporter.compare.prometheus import Prometheus, Series, range_text
from ase_exporter.compare.windows import Span
from ase_exporter.errors import NoDataError
from ase_exporter.report.past_diagnosis import FoundInSpan
from ase_exporter.report.period import Period, bin_length
from ase_exporter.untrusted.encoders import promql

Values = NDArray[np.float64]

# Spinlocks that are read: the ones that spin most in any bin, and of these the ones that spin most of all.
TOP_IN_BIN, TOP = 5, 12
# Of each bin, summed or averaged over the instances of a cluster.
AVERAGES = {
    "busy": "avg(avg_over_time(ase:cpu_busy:ratio_rate1m{%s}[%s]))",
    "spinning": "avg(avg_over_time(ase:cpu_spinning:ratio_rate1m{%s}[%s]))",
    "transactions": "sum(avg_over_time(ase:transactions:rate1m{%s}[%s]))",
    "cpu_units": "sum(avg_over_time(ase:cpu_units:rate1m{%s}[%s]))",
}
_SPINS = "sum by (spinlock) (sum_over_time(ase:spinlock_spins:rate1m{%s}[%s]))"
# The rules record no waits.
_RATE = "sum by (spinlock) (rate(ase_spinlock_WHAT_total{%s}[%s]))"

# Names of gaps: the exporter or Prometheus was away; the exporter could not read the server; some scrapes are missing.
NO_SCRAPE, SERVER_DOWN, THIN = "no data", "server down", "scrapes missing"
# Finer than the charts: a gap of minutes counts, too.
_FINE_BINS = 2100
# What a bin may lack, as scrapes and as a share of them: its mean is hardly changed.
_SPARE, _SPARE_SHARE = 2, 0.02
_COUNT = "max(count_over_time(ase_up{%s}[%s]))"
_ANSWERED = "max(sum_over_time(ase_up{%s}[%s]))"


@dataclass(frozen=True, slots=True, eq=False)
class SpinlockHistory:
    """One spinlock name. spins: sums of samples of a rate by bin, to compare. grabs, waits: per second."""

    name: str
    grabs: Values
    spins: Values
    waits: Values

    @property
    def contention(self) -> Values:
        """Waits / grabs by bin, 0-1; NaN without data."""
        return self.waits / np.where(self.grabs > 0, self.grabs, np.nan)

    def contention_in(self, bins: NDArray[np.bool_]) -> float:
        """Waits / grabs over several bins, 0-1; NaN without data."""
        grabs = np.nansum(self.grabs[bins])
        return float(np.nansum(self.waits[bins]) / grabs) if grabs > 0 else float("nan")


@dataclass(frozen=True, slots=True)
class ServerHistory:
    """Means by bin; NaN where there are no data.

    busy, spinning: shares of engine time, 0-1. transactions: per second. cpu_units: CPU seconds per second.
    spinlocks: the one that spins most first.
    """

    period: Period
    busy: Values
    spinning: Values
    transactions: Values
    cpu_units: Values
    spinlocks: tuple[SpinlockHistory, ...] = ()

    @property
    def per_cpu_unit(self) -> Values:
        """Transactions per CPU unit by bin."""
        return self.transactions / np.where(self.cpu_units > 0, self.cpu_units, np.nan)


@dataclass(frozen=True, slots=True)
class Hour:
    """Means over an hour, or over a longer bin. start: Unix time. hottest: the spinlock that spun most, '' if none.

    found: what came first in it, by the recorded diagnosis; None if that is not recorded.
    """

    start: float
    seconds: float
    busy: float
    spinning: float
    transactions: float
    per_cpu_unit: float
    hottest: str = ""
    contention: float = float("nan")
    found: FoundInSpan | None = None

    @property
    def rank(self) -> tuple[float, float]:
        """Sort key of the worst hour: the rank of its first finding to the percent, then CPU busy."""
        return round(self.found.rank, 2) if self.found else -math.inf, self.busy


def read_server_history(server: Prometheus, selector: str, period: Period) -> ServerHistory:
    """The history of a server. Raises NoDataError if the recording rules have left no series."""
    found = {name: only_series(server, query, selector, period) for name, query in AVERAGES.items()}
    if np.isnan(found["busy"]).all():
        raise NoDataError(
            f"Prometheus has no series ase:cpu_busy:ratio_rate1m of {{{selector}}} in the period; it is recorded by the"
            " shipped rules (ase-exporter write rules --output DIR), if `ase-exporter check` misses no metric for it"
        )
    return ServerHistory(period, **found, spinlocks=_spinlocks(server, selector, period))


def without_edges(
    history: ServerHistory, gaps: Iterable[tuple[float, float]], window: float
) -> ServerHistory:
    """The history without the rates of bins that overlap a gap, or that follow it within the rules' window.

    There a rate is an average over less time than it is divided by, and too small. Ratios are right: both of their
    parts are. gaps: start and end. window: seconds that the rates of the rules look back.
    """
    starts = history.period.starts
    sound = np.ones(history.period.count, dtype=bool)
    for start, end in gaps:
        sound &= (starts + history.period.step <= start) | (starts >= end + window)
    return replace(
        history,
        transactions=np.where(sound, history.transactions, np.nan),
        cpu_units=np.where(sound, history.cpu_units, np.nan),
    )


def gap_resolution(period: Period, scrape: float) -> float:
    """Seconds to which the ends of gaps are known. scrape: seconds between scrapes."""
    return bin_length(period.seconds, scrape, _FINE_BINS)


def read_gaps(server: Prometheus, selector: str, period: Period, scrape: float) -> list[Span]:
    """The gaps in a server's data, named NO_SCRAPE or SERVER_DOWN, and times named THIN, in order of time."""
    step = gap_resolution(period, scrape)
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


def hours(history: ServerHistory, diagnosed: Iterable[FoundInSpan] = ()) -> list[Hour]:
    """The hours in which there are data, in order of time. diagnosed: what came first, by hour."""
    by_start = {round(each.start): each for each in diagnosed}
    length = history.period.hour
    starts = history.period.starts // length * length
    found = []
    for start in map(float, np.unique(starts)):
        bins = starts == start
        if np.isfinite(history.busy[bins]).any():
            found.append(_hour(history, start, bins, by_start.get(round(start))))
    return found


def mean(values: Values) -> float:
    """The mean without NaN; NaN if nothing is left."""
    sound = values[np.isfinite(values)]
    return float(sound.mean()) if len(sound) else float("nan")


def binned(series: Series, period: Period) -> Values:
    """The values of a series by bin, NaN where it has none."""
    found = np.full(period.count, np.nan)
    places = np.rint((series.times - period.first) / period.step).astype(int) - 1
    # VictoriaMetrics may answer with a point more at either end.
    inside = (places >= 0) & (places < period.count)
    found[places[inside]] = series.values[inside]
    return found


def by_label(
    server: Prometheus, query: str, label: str, selector: str, period: Period
) -> Mapping[str, Values]:
    """The values by bin of each series of a query over ranges of a bin's length. query: with %s for both."""
    first, filled = period.first + period.step, query % (selector, range_text(period.step))
    found = server.over(filled, first, first + (period.count - 1) * period.step, period.step)
    return {each.labels.get(label, ""): binned(each, period) for each in found}


def only_series(server: Prometheus, query: str, selector: str, period: Period) -> Values:
    """The values by bin of a query that gives one series, NaN where it gives none."""
    return by_label(server, query, "", selector, period).get("", np.full(period.count, np.nan))


def _spinlocks(server: Prometheus, selector: str, period: Period) -> tuple[SpinlockHistory, ...]:
    hot = f"topk({TOP_IN_BIN}, {_SPINS})"
    spins = by_label(server, hot, "spinlock", selector, period)
    names = sorted(spins, key=lambda name: float(np.nansum(spins[name])), reverse=True)[:TOP]
    if not names:
        return ()
    # What Python escapes, RE2 takes for itself.
    chosen = f"{selector}, spinlock=~{promql('|'.join(map(re.escape, names)))}"
    grabs, waits = (
        by_label(server, _RATE.replace("WHAT", what), "spinlock", chosen, period)
        for what in ("grabs", "waits")
    )
    nothing = np.full(period.count, np.nan)
    return tuple(
        SpinlockHistory(each, grabs.get(each, nothing), spins[each], waits.get(each, nothing))
        for each in names
    )


def _hour(history: ServerHistory, start: float, bins: NDArray[np.bool_], found: FoundInSpan | None) -> Hour:
    """The hour that begins then. bins: whether each of them is in it."""
    spun = {each: float(np.nansum(each.spins[bins])) for each in history.spinlocks}
    hottest = max(spun, key=spun.__getitem__) if any(spun.values()) else None
    transactions, units = mean(history.transactions[bins]), mean(history.cpu_units[bins])
    return Hour(
        start=start,
        seconds=history.period.hour,
        busy=mean(history.busy[bins]),
        spinning=mean(history.spinning[bins]),
        transactions=transactions,
        per_cpu_unit=transactions / units if units > 0 else float("nan"),
        hottest=hottest.name if hottest else "",
        contention=hottest.contention_in(bins) if hottest else float("nan"),
        found=found,
    )
