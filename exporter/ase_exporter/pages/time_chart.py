"""Charts over time that show their values on hover without a script: lines, and a band for each of their points."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from statistics import fmean

WIDTH, HEIGHT = 460, 56
# Points that share a band are drawn as their mean, so that a page does not grow with them.
_BANDS = 230
_EPOCH = datetime(1970, 1, 1)
# Times and values of a line, in the order of the times.
Line = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class TimeChart:
    """A chart for the macro `time_chart` of parts.html, WIDTH by HEIGHT, which a page stretches.

    lines: points as SVG has them. bands, spans: left edge, width and text, of points and of what is shaded. marks:
    place and text. ticks: texts, evenly spaced. greatest: the value at the upper edge.
    """

    lines: Sequence[str]
    bands: Sequence[tuple[float, float, str]]
    ticks: Sequence[str]
    greatest: float
    spans: Sequence[tuple[float, float, str]]
    marks: Sequence[tuple[float, str]]


def time_chart(
    lines: Sequence[Line],
    unit: str,
    start: float,
    end: float,
    *,
    spans: Iterable[tuple[float, float, str]] = (),
    marks: Iterable[tuple[float, str]] = (),
) -> TimeChart:
    """The chart of lines that follow each other, from 0 up, with a gap between them.

    start, end: of the axis, as the times. spans: start, end and name. marks: time and text.
    """
    scale = WIDTH / ((end - start) or 1.0)
    top = max((max(values) for _, values in lines), default=0.0) or 1.0
    centres: list[float] = []
    texts, drawn = [], []
    for times, values in lines:
        places = [scale * (at - start) for at in times]
        points = []
        for _, members in groupby(range(len(places)), key=lambda at: int(places[at] * _BANDS / WIDTH)):
            band = list(members)
            each = [values[at] for at in band]
            centres.append(fmean(places[at] for at in band))
            points.append(f"{centres[-1]:.1f},{HEIGHT * (1 - max(fmean(each), 0.0) / top):.1f}")
            text = f"{wall_clock(times[band[0]]):%Y-%m-%d %H:%M:%S}: {min(each):,.6g}"
            if len(band) > 1:
                text += (
                    f" to {max(each):,.6g}, {len(band)} values until {wall_clock(times[band[-1]]):%H:%M:%S}"
                )
            texts.append(f"{text} {unit}")
        drawn.append(" ".join(points))
    edges = [0.0, *((one + two) / 2 for one, two in pairwise(centres)), float(WIDTH)]
    # An axis of minutes needs seconds.
    form = "%Y-%m-%d %H:%M" if end - start > 3600 else "%H:%M:%S"
    return TimeChart(
        drawn,
        [(left, right - left, text) for (left, right), text in zip(pairwise(edges), texts, strict=False)],
        [f"{wall_clock(start + share * (end - start)):{form}}" for share in (0.0, 0.5, 1.0)],
        top,
        [(scale * (first - start), scale * (last - first), name) for first, last, name in spans],
        [(scale * (at - start), text) for at, text in marks],
    )


def wall_seconds(moment: datetime) -> float:
    """Seconds since 1970 of a wall clock without a zone: the reverse of `wall_clock`."""
    return (moment - _EPOCH).total_seconds()


def wall_clock(at: float) -> datetime:
    """The wall clock at a time in seconds since 1970, without a zone: UTC, if the time is a Unix time."""
    return _EPOCH + timedelta(seconds=at)
