"""Change points and outliers of a series of figures.

An outlier is far from the median of its neighbours, by the deviations of all others. Levels are found by splitting
stretches where that explains most, more often than needed; then the bounds that chance explains are dropped, the
weakest first. Chance is the deviation from the levels, and how much each figure is like the one before it, so that
what goes up and down all day has no levels.
"""

import math
from bisect import insort
from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import median

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
MAX_CORRELATION = 0.95


def outliers(values: Sequence[float]) -> dict[int, float]:
    """The places of the outliers, and the median of the neighbours of each."""
    smooth = [median(values[max(at - _NEIGHBOURS, 0) : at + _NEIGHBOURS + 1]) for at in range(len(values))]
    distances = [abs(value - usual) for value, usual in zip(values, smooth, strict=True)]
    limit = _limit(_MIN_DEVIATIONS, values) * _NORMAL * median(distances) if distances else 0.0
    return {at: smooth[at] for at, distance in enumerate(distances) if distance > limit + _TINY}


def levels(values: Sequence[float]) -> list[int]:
    """The bounds of the stretches that have one level each, 0 and the end among them."""
    sums = [0.0, *accumulate(values)]
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
        deviation = _long_run_deviation(values, sums, bounds)
        triples = zip(bounds, bounds[1:], bounds[2:], strict=False)
        strengths = [_strength(sums, deviation, *triple) for triple in triples]
        weakest = min(strengths)
        if weakest > _limit(_MIN_ERRORS, values):
            break
        del bounds[strengths.index(weakest) + 1]
    return bounds


def _limit(least: float, values: Sequence[float]) -> float:
    return least * (1 + _FEW / len(values))


def _mean(sums: Sequence[float], start: int, end: int) -> float:
    return (sums[end] - sums[start]) / (end - start)


def _best_split(sums: Sequence[float], start: int, end: int) -> tuple[float, int]:
    """The most that a split of a stretch lowers the sum of squares, and where; 0 if the stretch is too short."""
    best, place = 0.0, 0
    for at in range(start + MIN_SIDE, end - MIN_SIDE + 1):
        # Of the sums on both sides, that explain the more the further apart their means are.
        apart = _mean(sums, start, at) - _mean(sums, at, end)
        gain = apart**2 * (at - start) * (end - at) / (end - start)
        if gain > best:
            best, place = gain, at
    return best, place


def _strength(sums: Sequence[float], deviation: float, start: int, at: int, end: int) -> float:
    """The step between two stretches, in standard errors."""
    error = deviation * math.sqrt(1 / (at - start) + 1 / (end - at))
    return abs(_mean(sums, at, end) - _mean(sums, start, at)) / (error + _TINY)


def _long_run_deviation(values: Sequence[float], sums: Sequence[float], bounds: Sequence[int]) -> float:
    """The standard deviation around the levels, enlarged by how much each figure is like the one before it."""
    levelled = [(pair, _mean(sums, *pair)) for pair in pairwise(bounds)]
    rests = [value - mean for (start, end), mean in levelled for value in values[start:end]]
    correlation = correlation_of(rests)
    variance = sum(rest * rest for rest in rests) / max(len(rests) - len(levelled), 1)
    return math.sqrt(variance * (1 + correlation) / (1 - correlation))


def correlation_of(values: Sequence[float]) -> float:
    """Lag-1 autocorrelation, from 0 to MAX_CORRELATION, corrected for its bias in short series (Kendall)."""
    mean = math.fsum(values) / len(values)
    centred = [value - mean for value in values]
    power = sum(rest * rest for rest in centred)
    if power == 0:
        return 0.0
    raw = sum(one * other for one, other in pairwise(centred)) / power
    return min(max(raw + (1 + 3 * raw) / len(values), 0.0), MAX_CORRELATION)
