"""Figures as text: numbers, bars and sparklines, in at most a few characters each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ase_exporter.views.figures import short

ABSENT = "-"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Characters for shares from 0 to 1, the lowest first; for a change in a sparkline, and for the order of rows."""

    levels: str
    mark: str
    branch: str
    separator: str
    ascending: str
    descending: str


UNICODE = Glyphs("▁▂▃▄▅▆▇█", "┃", "└ ", " · ", "▲", "▼")
# For terminals and files that are not UTF-8.
ASCII = Glyphs("_.:-=+*#", "|", "`- ", " - ", "^", "v")


def glyphs(encoding: str | None) -> Glyphs:
    try:
        "▁█┃└·".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def percent(ratio: float | None) -> str:
    """A ratio as a percentage with one decimal."""
    return ABSENT if ratio is None else f"{ratio:.1%}"


def count(number: float | None) -> str:
    """A number as `short` writes it, if it is known."""
    return ABSENT if number is None or not math.isfinite(number) else short(number)


def size(number: float | None) -> str:
    """Bytes as 512K, 1.5G."""
    if number is None:
        return ABSENT
    for bytes_, unit in ((2**40, "T"), (2**30, "G"), (2**20, "M")):
        if number >= bytes_:
            scaled = number / bytes_
            return f"{scaled:,.0f}{unit}" if scaled >= 99.95 else f"{scaled:.1f}{unit}"
    return f"{number / 1024:.0f}K"


def duration(seconds: float | None) -> str:
    """Seconds as 12 us, 3.4 ms, 8 s, 2m05s, 3h10m."""
    if seconds is None:
        return ABSENT
    if 0 < seconds < 1:
        return f"{seconds * 1e3:.1f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"
    if seconds < 60:
        return f"{seconds:.0f}s" if seconds == int(seconds) else f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"


def clock(at: float) -> str:
    """A Unix time as the local time of this machine."""
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def level(share: float, characters: Glyphs) -> str:
    """One character for a share from 0 to 1."""
    levels = characters.levels
    return levels[min(len(levels) - 1, max(0, int(share * len(levels))))]


def sparkline(
    values: Sequence[float | None], characters: Glyphs, floor: float, marks: Sequence[bool] = ()
) -> str:
    """One character for each value, scaled to the highest one, or to `floor` if that is higher.

    marks: where a change was seen, which takes the place of the value.
    """
    top = max([floor, *(value for value in values if value is not None)])
    found = [" " if value is None else level(value / top, characters) for value in values]
    for index, marked in enumerate(marks):
        if marked:
            found[index] = characters.mark
    return "".join(found)


def groups(shares: Sequence[float | None], width: int) -> list[float | None]:
    """At most `width` averages of neighbours, all of the same number of them; None where nothing is known."""
    each = max(1, math.ceil(len(shares) / max(1, width)))
    found: list[float | None] = []
    for start in range(0, len(shares), each):
        known = [share for share in shares[start : start + each] if share is not None]
        found.append(math.fsum(known) / len(known) if known else None)
    return found
