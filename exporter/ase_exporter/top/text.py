"""Numbers and bars in at most a few characters each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Characters for shares from 0 to 1, the lowest first; for chains, and for the order of rows."""

    levels: str
    branch: str
    separator: str
    ascending: str
    descending: str


UNICODE = Glyphs("▁▂▃▄▅▆▇█", "└ ", " · ", "▲", "▼")
# For terminals and files that are not UTF-8.
ASCII = Glyphs("_.:-=+*#", "`- ", " - ", "^", "v")


def glyphs(encoding: str | None) -> Glyphs:
    try:
        "▁█└·".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def clock(at: float) -> str:
    """A Unix time as the local time of this machine."""
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def level(share: float, characters: Glyphs) -> str:
    """One character for a share from 0 to 1."""
    levels = characters.levels
    return levels[min(len(levels) - 1, max(0, int(share * len(levels))))]


def groups(shares: Sequence[float | None], width: int) -> list[float | None]:
    """At most `width` averages of neighbours, all of the same number of them; None where nothing is known."""
    each = max(1, math.ceil(len(shares) / max(1, width)))
    found: list[float | None] = []
    for start in range(0, len(shares), each):
        known = [share for share in shares[start : start + each] if share is not None]
        found.append(math.fsum(known) / len(known) if known else None)
    return found
