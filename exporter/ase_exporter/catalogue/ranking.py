"""Ranking: which rows of a large table get series of their own."""

from collections.abc import Mapping, Sequence

from ase_exporter.metrics.counters import Key, Raw

# A row that was expensive keeps its series for a while: each reading without cost halves its rank value.
_DECAY = 0.5


def shares(columns: Sequence[Sequence[Raw | None]]) -> list[float]:
    """Per row, its largest share (0-1) in any of the columns, so that units do not matter."""
    best: list[float] = [0.0] * (len(columns[0]) if columns else 0)
    for column in columns:
        total = sum(float(cell) for cell in column if cell)
        if total > 0:
            best = [max(share, float(cell or 0) / total) for share, cell in zip(best, column, strict=True)]
    return best


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
