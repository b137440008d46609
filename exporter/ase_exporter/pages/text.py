"""Figures and times as reports and pages show them. What is not known (NaN) is a dash."""

import math
from datetime import UTC, datetime

UNKNOWN = "–"


def as_percent(share: float) -> str:
    """A share (0-1) with one decimal: 12.3 %."""
    return f"{share * 100:.1f} %" if math.isfinite(share) else UNKNOWN


def as_figure(value: float) -> str:
    """A number with thousands separators, and one decimal below 100."""
    if not math.isfinite(value):
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"


def as_precise(value: float) -> str:
    """A number of any size with three digits or more, for small ones beside large ones: 12,345, 4.00, 0.00123."""
    return f"{value:,.0f}" if abs(value) >= 100 or not value else f"{value:.3g}"


def as_duration(seconds: float) -> str:
    """A duration in its two largest units: 40 s, 12 min, 2 h 5 min, 3 d 4 h."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    days, rest = divmod(minutes, 1440)
    hours, left = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h" if hours else f"{days} d"
    if hours:
        return f"{hours} h {left} min" if left else f"{hours} h"
    return f"{left} min"


def as_minute(at: float) -> str:
    """A Unix time to the minute, without its year, in UTC: Mon 12 Jan 10:00."""
    return _in_utc(at, "%a %d %b %H:%M")


def as_second(at: float) -> str:
    """A Unix time to the second, in UTC: 2026-01-12 10:00:00."""
    return _in_utc(at, "%Y-%m-%d %H:%M:%S")


def _in_utc(at: float, form: str) -> str:
    """A time in that form; `-` for a number of others that is no time of a calendar."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):
        return "-"


def as_short(number: float) -> str:
    """A finite number in at most five characters: 6, 0.12, 7.50, 812, 1.2k, 43.1M."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        # What would be rounded to a thousand of a unit is one of the next.
        if abs(number) >= size * 0.9995:
            scaled = number / size
            return f"{scaled:.0f}{unit}" if abs(scaled) >= 99.95 else f"{scaled:.1f}{unit}"
    if abs(number) >= 99.95 or number == int(number):
        return f"{number:.0f}"
    return f"{number:.1f}" if abs(number) >= 9.95 else f"{number:.2f}"


def as_count(number: int, noun: str, plural: str = "") -> str:
    """A number of things: 1 change, 2 changes. plural: if it is not noun + s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
