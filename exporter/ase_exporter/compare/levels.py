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
_MAX_CORRELATION = 0.95
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
        means = [(sums[end] - sums[start]) / (end - start) for start, end in pairwise(bounds)]
        error = _long_run_deviation(values, bounds, means)
        strengths = []
        for at in range(1, len(bounds) - 1):
            before, after = bounds[at] - bounds[at - 1], bounds[at + 1] - bounds[at]
            step = abs(means[at] - means[at - 1])
            strengths.append(step / (error * math.sqrt(1 / before + 1 / after) + _TINY))
        if min(strengths) > _limit(_MIN_ERRORS, values):
            break
        del bounds[strengths.index(min(strengths)) + 1]
    return bounds


def _limit(least: float, values: Sequence[float]) -> float:
    return least * (1 + _FEW / len(values))


def _best_split(sums: Sequence[float], start: int, end: int) -> tuple[float, int]:
    """By how much the best split of a stretch lowers the sum of squares, and where it is; 0 if it is too short."""
    mean = (sums[end] - sums[start]) / max(end - start, 1)
    return max(
        (
            ((sums[at] - sums[start] - mean * (at - start)) ** 2 * (1 / (at - start) + 1 / (end - at)), at)
            for at in range(start + MIN_SIDE, end - MIN_SIDE + 1)
        ),
        default=(0.0, 0),
    )


def _long_run_deviation(values: Sequence[float], bounds: Sequence[int], means: Sequence[float]) -> float:
    """The standard deviation around the levels, enlarged by how much each figure is like the one before it."""
    rests = [
        value - mean
        for (start, end), mean in zip(pairwise(bounds), means, strict=True)
        for value in values[start:end]
    ]
    power = math.fsum(rest * rest for rest in rests)
    follows = math.fsum(one * two for one, two in pairwise(rests))
    raw = follows / power if power else 0.0
    # Short series show too little of it (Kendall).
    correlation = min(max(raw + (1 + 3 * raw) / len(values), 0.0), _MAX_CORRELATION)
    variance = power / max(len(values) - len(means), 1)
    return math.sqrt(variance * (1 + correlation) / (1 - correlation))
