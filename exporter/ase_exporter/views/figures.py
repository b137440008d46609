"""The one formatter of numbers, and that of times. What is not known (None, NaN, infinite) is a dash."""

import math
import time
from datetime import UTC, datetime, tzinfo
from typing import Literal

Unit = Literal[
    "ratio", "percent", "points", "seconds", "bytes", "per_second", "per_minute", "count", "engines", "plain"
]
UNKNOWN = "-"
# Below it, so many zeros would follow the point that nobody counts them.
_SMALL = 1e-5
_SIZES = ((2**40, "TB"), (2**30, "GB"), (2**20, "MB"), (2**10, "KB"))


def shown(value: float | None, unit: Unit = "plain", *, digits: int = 3, sign: str = "") -> str:
    """A value of a unit. ratio: 0-1, shown as a percentage; percent, points: 0-100.

    digits: how many are shown of small numbers, as of large ones; of a percentage, one less behind the point, with one
    digit at least. sign: "+" to show that of a difference, whose ratios differ by percentage points.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    match unit:
        case "ratio":
            return f"{100 * value:{sign}z,.{digits - 2}f}{' pp' if sign else '%'}"
        case "percent":
            return f"{value:{sign}z,.{digits - 2}f}%"
        case "points":
            return f"{value:{sign}z.{digits - 2}f} points"
        case "seconds":
            return duration(value)
        case "bytes":
            return size(value)
        case _:
            return number(value, digits=digits, sign=sign)


def number(value: float, *, digits: int = 3, sign: str = "") -> str:
    """With thousands separators and as many digits at least, but no zeros at the end: 12,345, 12.3, 4, 0.00123."""
    if value == int(value):
        return f"{value:{sign}z,.0f}"
    if abs(value) < _SMALL:
        return f"{value:{sign}.{digits}g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:{sign},.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def short(value: float | None) -> str:
    """A number in at most five characters: 6, 0.12, 7.50, 812, 1.2k, 43.1M."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        # What would be rounded to a thousand of a unit is one of the next.
        if abs(value) >= scale * 0.9995:
            scaled = value / scale
            return f"{scaled:.0f}{unit}" if abs(scaled) >= 99.95 else f"{scaled:.1f}{unit}"
    if abs(value) >= 99.95 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"


def size(count: float) -> str:
    """A number of bytes: 64 KB, 1.5 GB."""
    scale, unit = next((each for each in _SIZES if count >= each[0]), (1, "bytes"))
    return f"{count / scale:,.1f}".removesuffix(".0") + f" {unit}"


def duration(seconds: float) -> str:
    """A duration in its two largest units: 12 ms, 40 s, 12 min, 2 h 5 min, 3 d 4 h."""
    if seconds < 1:
        return f"{number(1000 * seconds)} ms" if seconds else "0 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    days, rest = divmod(round(seconds / 60), 1440)
    hours, minutes = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (0 if days else minutes, "min")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things: 1 change, 2 changes. plural: if it is not noun + s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def moment(at: float) -> str:
    """A Unix time to the second, in this machine's zone: 2026-01-12 10:00:00."""
    return _in(None, at, "%Y-%m-%d %H:%M:%S")


def minute(at: float) -> str:
    """A Unix time to the minute, where the year is said elsewhere, in this machine's zone: Mon 12 Jan 10:00."""
    return _in(None, at, "%a %d %b %H:%M")


def iso(at: float) -> str:
    """A Unix time for programs, in UTC: 2026-01-12T10:00:00Z."""
    return _in(UTC, at, "%Y-%m-%dT%H:%M:%SZ")


def zone(*moments: float) -> str:
    """The name of this machine's zone at these Unix times: CET, or CET/CEST where its clocks change in between."""
    names = (_in(None, at, "%Z") for at in moments or [time.time()])
    return "/".join(dict.fromkeys(name for name in names if name != UNKNOWN))


def _in(where: tzinfo | None, at: float, form: str) -> str:
    """A time of that zone, of this machine for None; a dash for a number of others that is no time of a calendar."""
    try:
        return datetime.fromtimestamp(at, UTC).astimezone(where).strftime(form)
    except (ValueError, OverflowError, OSError):
        return UNKNOWN
