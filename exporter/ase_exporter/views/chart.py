"""Charts over time that show their values on hover without a script: lines, and a band for each of their points."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import fmean

from ase_exporter.views.figures import moment, number

WIDTH, HEIGHT = 460, 56
# Points that share a band are drawn as their mean, so that a page does not grow with them.
_BANDS = 230
# Times and values of a line, in the order of the times. A value that is NaN interrupts the line.
Line = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class TimeChart:
    """A chart for the macro `time_chart` of view.html, WIDTH by HEIGHT, which a page stretches.

    lines: points as SVG has them, and the number of their colour. names: of the colours, where there are several.
    bands, spans, gaps: left edge, width and text, of points, of what is shaded, and of what is grey. marks: place and
    text. ticks: texts, evenly spaced. greatest: the value at the upper edge.
    """

    lines: Sequence[tuple[str, int]]
    names: Sequence[str]
    bands: Sequence[tuple[float, float, str]]
    ticks: Sequence[str]
    greatest: float
    spans: Sequence[tuple[float, float, str]]
    gaps: Sequence[tuple[float, float, str]]
    marks: Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class _Point:
    """What a line shows in one band: place and value, and the text of both."""

    place: float
    value: float
    when: str
    text: str


def time_chart(
    lines: Sequence[Line],
    unit: str,
    start: float,
    end: float,
    *,
    names: Sequence[str] = (),
    spans: Iterable[tuple[float, float, str]] = (),
    gaps: Iterable[tuple[float, float, str]] = (),
    marks: Iterable[tuple[float, str]] = (),
) -> TimeChart:
    """The chart of lines from 0 up.

    names: of the lines, each of which then has a colour; without, they follow each other in one colour. start, end: of
    the axis, as the times. spans, gaps: start, end and name. marks: time and text.
    """
    scale = WIDTH / ((end - start) or 1.0)
    top = max((value for _, values in lines for value in values if math.isfinite(value)), default=0.0) or 1.0
    drawn: list[tuple[str, int]] = []
    bands: dict[int, list[_Point]] = {}
    for place, line in enumerate(lines):
        name = f"{names[place]} " if names else ""
        for is_known, run in groupby(zip(*line, strict=True), key=lambda each: math.isfinite(each[1])):
            if not is_known:
                continue
            points = []
            for band, members in groupby(
                run, key=lambda each: int(scale * (each[0] - start) * _BANDS / WIDTH)
            ):
                times, values = zip(*members, strict=True)
                centre = fmean(scale * (at - start) for at in times)
                points.append(_Point(centre, fmean(values), *_said(times, values, name)))
                bands.setdefault(band, []).append(points[-1])
            places = [f"{each.place:.1f},{HEIGHT * (1 - max(each.value, 0.0) / top):.1f}" for each in points]
            # A line of one point is drawn as a dot.
            drawn.append((" ".join(places if len(places) > 1 else places * 2), place + 1 if names else 1))
    shown = [bands[band] for band in sorted(bands)]
    centres = [fmean(each.place for each in points) for points in shown]
    edges = [0.0, *((one + two) / 2 for one, two in pairwise(centres)), float(WIDTH)]
    texts = [
        f"{points[0].when}: {', '.join(each.text for each in points)} {unit}".rstrip() for points in shown
    ]
    # An axis of minutes needs seconds.
    ticks = slice(0, 16) if end - start > 3600 else slice(11, None)

    def placed(named: Iterable[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
        return [(scale * (first - start), scale * (last - first), name) for first, last, name in named]

    return TimeChart(
        lines=drawn,
        names=names,
        bands=[
            (left, right - left, text) for (left, right), text in zip(pairwise(edges), texts, strict=False)
        ],
        ticks=[moment(start + share * (end - start))[ticks] for share in (0.0, 0.5, 1.0)],
        greatest=top,
        spans=placed(spans),
        gaps=placed(gaps),
        marks=[(scale * (at - start), text) for at, text in marks],
    )


def _said(times: Sequence[float], values: Sequence[float], name: str) -> tuple[str, str]:
    """When the points of a band were, and their values."""
    when, text = moment(times[0]), f"{name}{number(min(values), digits=6)}"
    if len(times) > 1:
        when += f" to {moment(times[-1])[11:]}"
        text += f" to {number(max(values), digits=6)}"
    return when, text
