"""Which rows of a large table get series of their own."""

from collections.abc import Mapping, Sequence

from ase_exporter.counters import Key, Raw

# A row that was costly keeps its series for a while: each reading without cost halves its standing.
_FADING = 0.5


def shares(columns: Sequence[Sequence[Raw | None]]) -> list[float]:
    """Per row, the largest share that it has in any of the columns; 0-1, so that units do not matter."""
    best: list[float] = [0.0] * (len(columns[0]) if columns else 0)
    for column in columns:
        whole = sum(float(cell) for cell in column if cell)
        if whole > 0:
            best = [max(share, float(cell or 0) / whole) for share, cell in zip(best, column, strict=True)]
    return best


def choose(members: Mapping[Key, float], ranked: Mapping[Key, float], limit: int) -> dict[Key, float]:
    """The rows with series of their own from now on, with their standing; at most `limit`.

    members: those of the reading before. ranked: shares of the present rows.
    """
    standing = dict(ranked)
    for key, share in members.items():
        if key in standing:
            standing[key] = max(standing[key], share * _FADING)
    best = sorted(standing, key=lambda key: (-standing[key], key not in members))[:limit]
    return {key: standing[key] for key in best}
