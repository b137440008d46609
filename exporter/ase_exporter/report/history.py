"""What a server did over a period: means by bin of time, from the recorded series of the shipped rules.

Recorded series are few, whatever the number of engines and spinlocks, and their parts (grabs, waits) are there beside
the ratios: contention over any time is the sum of the waits / the sum of the grabs.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ase_exporter.compare.prometheus import Prometheus, Series
from ase_exporter.errors import UserError
from ase_exporter.report.period import Period
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
_SUM = "sum by (spinlock) (sum_over_time(ase:spinlock_%s:rate1m{%s}[%s]))"


@dataclass(frozen=True, slots=True)
class SpinlockHistory:
    """One spinlock name. grabs, spins, waits: sums of samples of a rate by bin; only their ratios mean something."""

    name: str
    grabs: Values
    spins: Values
    waits: Values

    @property
    def contention(self) -> Values:
        """Waits / grabs by bin, 0-1; NaN without data."""
        return self.waits / np.where(self.grabs > 0, self.grabs, np.nan)

    def contention_in(self, bins: slice) -> float:
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
    """Means over an hour, or over a longer bin. start: Unix time. hottest: the spinlock that spun most, '' if none."""

    start: float
    seconds: float
    busy: float
    spinning: float
    transactions: float
    per_cpu_unit: float
    hottest: str = ""
    contention: float = float("nan")

    @property
    def rank(self) -> tuple[float, float]:
        """By which the worst hour is found: time spent spinning to the percent, then CPU busy."""
        return round(self.spinning, 2) if np.isfinite(self.spinning) else 0.0, self.busy


def read_server_history(server: Prometheus, selector: str, period: Period) -> ServerHistory:
    """The history of a server. Raises UserError if the recording rules have left no series."""
    width = range_text(period.step)
    found = {name: only_series(server, query % (selector, width), period) for name, query in AVERAGES.items()}
    if np.isnan(found["busy"]).all():
        raise UserError(
            f"Prometheus has no series ase:cpu_busy:ratio_rate1m of {{{selector}}} in the period; it is recorded by the"
            " shipped rules (ase-exporter rules --output DIR)"
        )
    return ServerHistory(period, **found, spinlocks=_spinlocks(server, selector, period, width))


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


def hours(history: ServerHistory) -> list[Hour]:
    """The hours in which there are data, in order of time."""
    each = round(history.period.hour / history.period.step)
    offset = round(history.period.first % history.period.hour / history.period.step)
    found = []
    for first in range(-offset, history.period.count, each):
        bins = slice(max(first, 0), first + each)
        if np.isfinite(history.busy[bins]).any():
            found.append(_hour(history, bins))
    return found


def worst(ranked: list[Hour], number: int) -> list[Hour]:
    """The worst hours, the worst first."""
    return sorted(ranked, key=lambda hour: hour.rank, reverse=True)[:number]


def mean(values: Values) -> float:
    """The mean without NaN; NaN if nothing is left."""
    sound = values[np.isfinite(values)]
    return float(sound.mean()) if len(sound) else float("nan")


def range_text(seconds: float) -> str:
    """A duration in PromQL."""
    return f"{max(1, round(seconds))}s"


def over_bins(server: Prometheus, query: str, period: Period) -> list[Series]:
    """A query over ranges of a bin's length, at the end of each bin."""
    first = period.first + period.step
    return server.over(query, first, first + (period.count - 1) * period.step, period.step)


def binned(series: Series, period: Period) -> Values:
    """The values of a series by bin, NaN where it has none."""
    return series.on_grid(period.first + period.step, period.step, period.count)


def only_series(server: Prometheus, query: str, period: Period) -> Values:
    """The values by bin of a query that gives one series, NaN where it gives none."""
    series = over_bins(server, query, period)
    return binned(series[0], period) if series else np.full(period.count, np.nan)


def _spinlocks(server: Prometheus, selector: str, period: Period, width: str) -> tuple[SpinlockHistory, ...]:
    hot = f"topk({TOP_IN_BIN}, {_SUM % ('spins', selector, width)})"
    spins = _by_name(over_bins(server, hot, period), period)
    names = sorted(spins, key=lambda name: float(np.nansum(spins[name])), reverse=True)[:TOP]
    if not names:
        return ()
    # What Python escapes, RE2 takes for itself.
    chosen = f"{selector}, spinlock=~{promql('|'.join(map(re.escape, names)))}"
    grabs, waits = (
        _by_name(over_bins(server, _SUM % (what, chosen, width), period), period)
        for what in ("grabs", "waits")
    )
    nothing = np.full(period.count, np.nan)
    return tuple(
        SpinlockHistory(name, grabs.get(name, nothing), spins[name], waits.get(name, nothing))
        for name in names
    )


def _by_name(series: list[Series], period: Period) -> Mapping[str, Values]:
    return {each.labels.get("spinlock", ""): binned(each, period) for each in series}


def _hour(history: ServerHistory, bins: slice) -> Hour:
    start = float(history.period.starts[bins][0])
    spun = [(float(np.nansum(each.spins[bins])), each) for each in history.spinlocks]
    spins, hottest = max(spun, key=lambda pair: pair[0], default=(0.0, None))
    transactions, units = mean(history.transactions[bins]), mean(history.cpu_units[bins])
    return Hour(
        start=start // history.period.hour * history.period.hour,
        seconds=history.period.hour,
        busy=mean(history.busy[bins]),
        spinning=mean(history.spinning[bins]),
        transactions=transactions,
        per_cpu_unit=transactions / units if units > 0 else float("nan"),
        hottest=hottest.name if hottest and spins > 0 else "",
        contention=hottest.contention_in(bins) if hottest and spins > 0 else float("nan"),
    )
