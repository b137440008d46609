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
    return datetime.fromtimestamp(at, UTC).strftime("%a %d %b %H:%M")


def as_second(at: float) -> str:
    """A Unix time to the second, in UTC: 2026-01-12 10:00:00."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def as_count(number: int, noun: str, plural: str = "") -> str:
    """A number of things: 1 change, 2 changes. plural: if it is not noun + s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
