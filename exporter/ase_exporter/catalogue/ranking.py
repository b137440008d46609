"""Ranking: which rows of a large table get series of their own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ase_exporter.metrics.columns import listed
from ase_exporter.metrics.counters import Key

# A row that was expensive keeps its series for a while: each reading without cost halves its rank value.
_DECAY = 0.5


def shares(columns: Sequence[Any]) -> Any:
    """Per row, its largest share (0-1) in any of the columns, so that units do not matter: an array if all are."""
    if columns and not any(isinstance(column, list) for column in columns):
        return _shares_of_arrays(columns)
    lists = [listed(column) for column in columns]
    best: list[float] = [0.0] * (len(lists[0]) if lists else 0)
    for column in lists:
        total = sum(float(cell) for cell in column if cell)
        if total > 0:
            best = [max(share, float(cell or 0) / total) for share, cell in zip(best, column, strict=True)]
    return best


def _shares_of_arrays(columns: Sequence[Any]) -> Any:
    import numpy as np

    best = np.zeros(len(columns[0]))
    for column in columns:
        # Added one after the other, as Python does: the order decides on the last digit.
        total = float(np.cumsum(column, dtype=float)[-1]) if len(column) else 0.0
        if total > 0:
            np.maximum(best, column / total, out=best)
    return best


def leading(values: Any, limit: int, others: Iterable[int | None] = ()) -> list[tuple[int, float]]:
    """Index and value of all that are among the `limit` largest, with those as large as the last, in order.

    values: a list or an array. others: indexes that are added, whatever their value; None is left out.
    """
    if isinstance(values, list) or len(values) <= limit:
        return list(enumerate(listed(values)))
    import numpy as np

    least = np.partition(values, -limit)[-limit]
    indexes = {*np.flatnonzero(values >= least).tolist(), *(index for index in others if index is not None)}
    return [(index, float(values[index])) for index in sorted(indexes)]


def choose(previous: Mapping[Key, float], ranked: Mapping[Key, float], limit: int) -> dict[Key, float]:
    """The at most `limit` rows with series of their own from now on, with their rank values.

    previous: the result for the last reading. ranked: shares of the present rows.
    """
    rank = dict(ranked)
    for key, value in previous.items():
        if key in rank:
            rank[key] = max(rank[key], value * _DECAY)
    best = sorted(rank, key=lambda key: (-rank[key], key not in previous))[:limit]
    return {key: rank[key] for key in best}
