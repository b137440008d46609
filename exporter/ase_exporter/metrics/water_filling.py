"""Water-filling: shares a limit fairly by capping the largest at one common level."""

import math
from collections.abc import Iterable


def fill_level(sizes: Iterable[float], limit: float) -> float:
    """The level for which all sizes, each capped at it, sum to the limit; infinity if they sum to less."""
    ordered, left = sorted(sizes), max(0.0, limit)
    for index, size in enumerate(ordered):
        level = left / (len(ordered) - index)
        if size > level:
            return level
        left -= size
    return math.inf
