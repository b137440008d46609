"""The period of a report, and the bins of time that its figures are means of.

Bins lie on multiples of their length since 1970 (UTC), so that two reports on the same days have the same bins. Their
length bounds the work of Prometheus: no period has more than MAX_BINS.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ase_exporter.config.times import moment_option
from ase_exporter.errors import UserError

HOUR, DAY = 3600.0, 86_400.0
MIN_SECONDS, MAX_SECONDS = HOUR, 400 * DAY
MAX_BINS = 750
LENGTHS = (300.0, 600.0, 900.0, 1800.0, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)


@dataclass(frozen=True, slots=True)
class Period:
    """Unix times; end is at most `now`. step: seconds of a bin."""

    start: float
    end: float
    now: float
    step: float

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def first(self) -> float:
        """The start of the first bin: the start of the period, or shortly before it."""
        return self.start // self.step * self.step

    @property
    def count(self) -> int:
        return math.ceil((self.end - self.first) / self.step)

    @property
    def starts(self) -> NDArray[np.float64]:
        return self.first + self.step * np.arange(self.count, dtype=np.float64)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of each bin that lies in the period, 0-1: the first one and the last one may lie in it in part."""
        starts = self.starts
        inside = np.minimum(starts + self.step, self.end) - np.maximum(starts, self.start)
        shares: NDArray[np.float64] = np.maximum(inside, 0.0) / self.step
        return shares

    @property
    def hour(self) -> float:
        """Seconds of the hours that are ranked: a bin where bins are longer than an hour."""
        return max(HOUR, self.step)


@dataclass(frozen=True, slots=True)
class Range:
    """The options --since and --until, as given."""

    start: str | None = None
    end: str | None = None

    def period(self, now: float, scrape: float = 0) -> Period:
        """The period at a time. scrape: seconds between scrapes; a bin holds two or more. Raises UserError."""
        start = moment_option("--since", self.start, now) if self.start else None
        until = min(now, moment_option("--until", self.end, now, start) if self.end else now)
        since = until - 7 * DAY if start is None else start
        if until <= since:
            raise UserError("--since: the period ends before it begins, or lies in the future")
        if not MIN_SECONDS <= until - since <= MAX_SECONDS:
            given = f"a period of {until - since:,.0f} s"
            raise UserError(f"--since: {given}: expected 1h to {MAX_SECONDS / DAY:g}d")
        return Period(since, until, now, bin_length(until - since, scrape))


def bin_length(seconds: float, scrape: float = 0, max_bins: int = MAX_BINS) -> float:
    """The shortest length of bins that gives less than max_bins and two scrapes in each."""
    fitting = (each for each in LENGTHS if seconds / each < max_bins and each >= 2 * scrape)
    return next(fitting, LENGTHS[-1])
