"""Charts over time that show their values on hover without a script: a line, and a band for each of its points."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from statistics import fmean

WIDTH, HEIGHT = 460, 56
# Points that share a band are drawn as their mean, so that a page does not grow with them.
_BANDS = 230
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class TimeChart:
    """points: of the line, as SVG has them. bands: left edge, width and text. ticks: place, text and its anchor."""

    points: str
    bands: Sequence[tuple[float, float, str]]
    ticks: Sequence[tuple[float, str, str]]


def time_chart(
    times: Sequence[float], values: Sequence[float], unit: str, start: float, end: float
) -> TimeChart:
    """The chart of values in the order of their times, from 0 up. start, end: of the axis, as the times."""
    length = (end - start) or 1.0
    top = max(values) or 1.0
    places = [WIDTH * (at - start) / length for at in times]
    centres, points, texts = [], [], []
    for _, members in groupby(range(len(places)), key=lambda at: int(places[at] * _BANDS / WIDTH)):
        band = list(members)
        each = [values[at] for at in band]
        centres.append(fmean(places[at] for at in band))
        points.append(f"{centres[-1]:.1f},{HEIGHT * (1 - max(fmean(each), 0.0) / top):.1f}")
        text = f"{wall_clock(times[band[0]]):%Y-%m-%d %H:%M:%S}: {min(each):,.6g}"
        if len(band) > 1:
            text += f" to {max(each):,.6g}, {len(band)} values until {wall_clock(times[band[-1]]):%H:%M:%S}"
        texts.append(f"{text} {unit}")
    edges = [0.0, *((one + two) / 2 for one, two in pairwise(centres)), float(WIDTH)]
    ticks = [
        (WIDTH * share, f"{wall_clock(start + share * length):%Y-%m-%d %H:%M}", anchor)
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    ]
    bands = [(left, right - left, text) for (left, right), text in zip(pairwise(edges), texts, strict=True)]
    return TimeChart(" ".join(points), bands, ticks)


def wall_seconds(moment: datetime) -> float:
    """Seconds since 1970 of a wall clock without a zone: the reverse of `wall_clock`."""
    return (moment - _EPOCH).total_seconds()


def wall_clock(at: float) -> datetime:
    """The wall clock at a time in seconds since 1970, without a zone."""
    return _EPOCH + timedelta(seconds=at)
