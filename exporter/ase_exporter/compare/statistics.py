"""Statistics of the difference between two windows: its size, its interval, and a verdict.

Samples of a server are correlated in time, so ordinary tests report a difference far too often. The method:

1. Location of a window: its trimmed mean (the highest and lowest eighth left out). One or two spikes do not move
   it, and it needs fewer samples than a median to detect the same difference.
2. Variance of the location: circular block bootstrap. The block length follows from the lag-1 correlation r of the
   window (corrected for its bias in short series) as for an AR(1) process: (2r / (1 - r)) ** (2/3) * n ** (1/3), at
   most n / 4. The part of the variance that blocks of that length miss is added by the same AR(1) model.
3. Interval: difference +- Student's t with as many degrees of freedom as there are independent blocks
   (Welch-Satterthwaite). Where the figures over the whole windows are known, their difference is the one reported,
   and the interval reaches from the smaller to the larger of both differences, so that it contains the reported one.
4. Verdict: better or worse if the interval at CONFIDENCE excludes zero and the difference is at least the
   measure's minimum, else no evidence; certain but small if it is less than a share of what was before.

On pairs without a difference, verdicts other than "no evidence" occur in at most about
1 - CONFIDENCE of all cases (tests check this for independent and for AR(1) noise).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]
Verdict = Literal["better", "worse", "no evidence", "changed", "certain but small"]
Good = Literal["higher", "lower", "neither"]

CONFIDENCE = 0.95
MIN_SAMPLES = 8
TRIM = 1 / 8
RESAMPLES = 2000
_MAX_CORRELATION = 0.95
# Steps of the integral over Student's t.
_ANGLES = 5001


@dataclass(frozen=True, slots=True)
class WindowStatistics:
    """One window of a measure. spread: interquartile range. correlation: lag-1 autocorrelation, bias-corrected."""

    samples: int
    median: float
    location: float
    spread: float
    correlation: float


@dataclass(frozen=True, slots=True)
class WindowDifference:
    """After against before. difference, low, high: in the measure's unit. relative: to before, NaN if that is 0.

    difference: of the figures over the whole windows, else of the locations.
    """

    before: WindowStatistics
    after: WindowStatistics
    difference: float
    low: float
    high: float
    relative: float
    verdict: Verdict


def compare(
    before: Samples,
    after: Samples,
    *,
    good: Good,
    min_difference: float = 0.0,
    min_share: float = 0.0,
    seed: int = 0,
    figures: tuple[float, float] | None = None,
) -> WindowDifference:
    """Compare two windows of one measure, given by samples in order of time, without NaN.

    good: which direction is an improvement. min_difference, min_share: smaller differences, also as a share of what
    was before, are never called better or worse.
    figures: the values over the whole windows, if they are known.
    Raises ValueError if a window has fewer than MIN_SAMPLES samples.
    """
    for name, window in (("before", before), ("after", after)):
        if len(window) < MIN_SAMPLES:
            raise ValueError(f"{len(window)} samples {name}; expected at least {MIN_SAMPLES}")
    generator = np.random.default_rng(seed)
    first, second = _describe(before), _describe(after)
    typical = second.location - first.location
    base, difference = (first.location, typical) if figures is None else (figures[0], figures[1] - figures[0])
    variances, freedoms = np.array(
        [_variance(before, first.correlation, generator), _variance(after, second.correlation, generator)]
    ).T
    total = variances.sum()
    # Welch and Satterthwaite.
    freedom = total**2 / (variances**2 / freedoms).sum() if total else freedoms.sum()
    reach = _student(CONFIDENCE, freedom) * math.sqrt(total)
    low, high = min(difference, typical) - reach, max(difference, typical) + reach
    return WindowDifference(
        before=first,
        after=second,
        difference=difference,
        low=low,
        high=high,
        relative=difference / abs(base) if base else math.nan,
        verdict=_verdict(difference, low, high, good, min_difference, min_share * abs(base)),
    )


def trimmed_mean(samples: Samples, axis: int = -1) -> Samples:
    """The mean without the lowest and highest TRIM of the samples."""
    count = samples.shape[axis]
    cut = int(count * TRIM)
    ordered = np.sort(samples, axis=axis)
    kept: Samples = np.take(ordered, range(cut, count - cut), axis=axis).mean(axis=axis)
    return kept


def _describe(samples: Samples) -> WindowStatistics:
    low, median, high = (float(value) for value in np.quantile(samples, (0.25, 0.5, 0.75)))
    return WindowStatistics(
        samples=len(samples),
        median=median,
        location=float(trimmed_mean(samples)),
        spread=high - low,
        correlation=_correlation(samples.tolist()),
    )


def _variance(samples: Samples, correlation: float, generator: np.random.Generator) -> tuple[float, float]:
    """The variance of the window's location, and its degrees of freedom."""
    count = len(samples)
    wanted = math.ceil((2 * correlation / (1 - correlation)) ** (2 / 3) * count ** (1 / 3))
    block = max(1, min(wanted, count // 4))
    blocks = math.ceil(count / block)
    starts = generator.integers(0, count, (RESAMPLES, blocks))
    picks = (starts[:, :, None] + np.arange(block)) % count
    resampled = samples[picks.reshape(RESAMPLES, -1)[:, :count]]
    variance = float(trimmed_mean(resampled, axis=1).var())
    variance *= count / (count - block) * _variance_ratio(correlation, block)
    return variance, max(1.0, count / block - 1)


def _variance_ratio(correlation: float, block: int) -> float:
    """The variance of the mean of an AR(1) process, relative to what blocks of that length show of it."""
    shown = 1 + 2 * sum((1 - lag / block) * correlation**lag for lag in range(1, block))
    return (1 + correlation) / (1 - correlation) / shown


def _student(confidence: float, freedom: float) -> float:
    """Two-sided quantile of Student's t: over the angle atan(t / sqrt(freedom)), its density has no tails."""
    angles = np.linspace(0.0, math.pi / 2, _ANGLES)
    heights = np.cos(angles) ** (freedom - 1)
    areas = np.cumsum(heights[1:] + heights[:-1])
    angle = np.interp(confidence * areas[-1], areas, angles[1:])
    return math.sqrt(freedom) * math.tan(angle)


def _verdict(
    difference: float, low: float, high: float, good: Good, min_difference: float, large: float
) -> Verdict:
    if low <= 0 <= high or abs(difference) < min_difference:
        return "no evidence"
    if abs(difference) < large:
        return "certain but small"
    if good == "neither":
        return "changed"
    return "better" if (difference > 0) == (good == "higher") else "worse"


def _correlation(values: Sequence[float]) -> float:
    """Lag-1 autocorrelation, from 0 to _MAX_CORRELATION, corrected for its bias in short series (Kendall)."""
    mean = math.fsum(values) / len(values)
    centred = [value - mean for value in values]
    power = sum(rest * rest for rest in centred)
    if power == 0:
        return 0.0
    raw = sum(one * other for one, other in pairwise(centred)) / power
    return min(max(raw + (1 + 3 * raw) / len(values), 0.0), _MAX_CORRELATION)
