"""Change points and outliers of a series of figures.

An outlier is far from the median of its neighbours, by the deviations of all others. Levels are found by splitting
stretches where that explains most, more often than needed; then the bounds that chance explains are dropped, the
weakest first. Chance is the deviation from the levels, and how much each figure is like the one before it, so that
what goes up and down all day has no levels.
"""

import math
from bisect import insort
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from ase_exporter.compare.statistics import Samples, correlation_of

# Figures on each side of a change.
MIN_SIDE = 5
# Of a change, in standard errors, and of an outlier, in standard deviations: no chance reaches that in thousands of
# places. In so few figures it takes twice as much.
_MIN_ERRORS, _MIN_DEVIATIONS, _FEW = 5.0, 6.0, 20
_NEIGHBOURS = 3
# How many changes are looked for: one in so many figures, at least and at most so many.
_FIGURES_PER_CHANGE, _FEWEST, _MOST = 20, 1, 10
# From the median absolute deviation to the standard deviation of a normal distribution.
_NORMAL = 1.4826
_TINY = 1e-12


def outliers(values: Sequence[float]) -> dict[int, float]:
    """The places of the outliers, and the median of the neighbours of each."""
    smooth = [median(values[max(at - _NEIGHBOURS, 0) : at + _NEIGHBOURS + 1]) for at in range(len(values))]
    distances = [abs(value - usual) for value, usual in zip(values, smooth, strict=True)]
    limit = _limit(_MIN_DEVIATIONS, values) * _NORMAL * median(distances) if distances else 0.0
    return {at: smooth[at] for at, distance in enumerate(distances) if distance > limit + _TINY}


def levels(values: Sequence[float]) -> list[int]:
    """The bounds of the stretches that have one level each, 0 and the end among them."""
    samples = np.array(values, float)
    sums = np.concatenate([[0.0], samples.cumsum()])
    bounds = [0, len(values)]
    candidates = [_best_split(sums, 0, len(values))]
    for _ in range(min(max(_FEWEST, len(values) // _FIGURES_PER_CHANGE), _MOST)):
        gain, at = max(candidates)
        if not gain:
            break
        candidates.remove((gain, at))
        insort(bounds, at)
        place = bounds.index(at)
        candidates += [_best_split(sums, *pair) for pair in pairwise(bounds[place - 1 : place + 2])]
    while len(bounds) > 2:
        lengths = np.diff(bounds)
        means = np.diff(sums[bounds]) / lengths
        error = _long_run_deviation(samples - np.repeat(means, lengths), len(means))
        errors = error * np.sqrt(1 / lengths[:-1] + 1 / lengths[1:])
        strengths = np.abs(np.diff(means)) / (errors + _TINY)
        if strengths.min() > _limit(_MIN_ERRORS, values):
            break
        del bounds[int(strengths.argmin()) + 1]
    return bounds


def _limit(least: float, values: Sequence[float]) -> float:
    return least * (1 + _FEW / len(values))


def _best_split(sums: Samples, start: int, end: int) -> tuple[float, int]:
    """The most that a split of a stretch lowers the sum of squares, and where; 0 if the stretch is too short."""
    at = np.arange(start + MIN_SIDE, end - MIN_SIDE + 1)
    if not len(at):
        return 0.0, 0
    before, after = at - start, end - at
    mean = (sums[end] - sums[start]) / (end - start)
    gains = (sums[at] - sums[start] - mean * before) ** 2 * (1 / before + 1 / after)
    return float(gains.max()), int(at[gains.argmax()])


def _long_run_deviation(rests: Samples, stretches: int) -> float:
    """The standard deviation around the levels, enlarged by how much each figure is like the one before it."""
    correlation = correlation_of(rests)
    variance = float(rests @ rests) / max(len(rests) - stretches, 1)
    return math.sqrt(variance * (1 + correlation) / (1 - correlation))
