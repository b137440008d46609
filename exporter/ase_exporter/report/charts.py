"""The charts of a report: lines over the period with its changes and gaps, and alerts as bars.

They are inline SVG, drawn by matplotlib (the extra `report`) in the colours of the light theme; in the SVG these become
the variables of the page's style sheet.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, Locator
from numpy.typing import NDArray

from ase_exporter.pages.text import as_duration
from ase_exporter.report.alerts import AlertHistory
from ase_exporter.report.history import Values
from ase_exporter.report.period import Period
from ase_exporter.report.server_report import ServerReport

# Okabe and Ito's palette: distinguishable for colour-blind readers, and in grey.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#b8860b", "#666666")
INK, SOFT, LINE = "#222222", "#5c5c5c", "#dddddd"
WIDTH = 9.0
_VARIABLES = {
    **{colour: f"var(--series-{number})" for number, colour in enumerate(COLOURS, 1)},
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
}
_COLOUR = re.compile("|".join(_VARIABLES))
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ase-exporter",
    "font.family": "sans-serif",
    "font.size": 9,
    # A name with two $ is no formula.
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}
MAX_LINES = 5
# A spinlock with less contention all the time tells nothing.
MIN_CONTENTION = 0.01
MAX_BARS = 20
_SEVERITY = {"critical": COLOURS[1], "warning": COLOURS[4], "info": COLOURS[5]}
_LABEL_LENGTH = 28
# strftime formats for axis ticks, coarsest first: year, month, day, hour, minute, second.
_FORMATS = ["%Y", "%b %Y", "%a %d", "%H:%M", "%H:%M", "%H:%M:%S"]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart for the macro `chart` of parts.html. svg: drawn by matplotlib, which has escaped the text in it."""

    title: str
    svg: Markup
    caption: str


@contextmanager
def chart_style() -> Iterator[None]:
    with mpl.rc_context(_STYLE):
        yield


def charts(report: ServerReport) -> list[Chart]:
    """CPU, contention and throughput over the period, each with the changes; without those that would be empty."""
    history = report.history
    means = f"Means of {as_duration(report.period.step)}; dashed: changes by number; grey: no data."
    contended = [
        each for each in history.spinlocks if np.nanmax(each.contention, initial=0.0) >= MIN_CONTENTION
    ]
    spinlocks = [(each.name, each.contention * 100) for each in contended[:MAX_LINES]]
    cpu = [("busy", history.busy * 100), ("of that: spinning", history.spinning * 100)]
    wanted: list[tuple[str, str, list[tuple[str, Values]]]] = [
        ("CPU of the engines", "% of engine time", cpu),
        ("Contention of the spinlocks that spin most", "% of grabs that wait", spinlocks),
        ("Throughput per CPU unit", "transactions per CPU second", [("", history.per_cpu_unit)]),
        ("Transactions", "per second", [("", history.transactions)]),
    ]
    found = []
    with chart_style():
        for title, unit, lines in wanted:
            drawn = [(name, values) for name, values in lines if np.isfinite(values).any()]
            caption = f"{means} Spinning is an estimate: 10 ns a spin." if lines is cpu else means
            if drawn:
                figure = _figure(report, drawn, unit, fill=lines is cpu)
                found.append(_chart(figure, title, caption))
    return found


def alert_chart(alerts: Sequence[AlertHistory], period: Period) -> Chart:
    shown = list(alerts)[:MAX_BARS]
    with chart_style():
        figure = Figure(figsize=(WIDTH, 0.6 + 0.24 * len(shown)), layout="constrained")
        axes = figure.add_subplot()
        for row, alert in enumerate(shown):
            bars = [(_day(spell.start), spell.seconds / 86400) for spell in alert.spells]
            colour = _SEVERITY.get(alert.severity, SOFT)
            axes.broken_barh(bars, (row - 0.35, 0.7), facecolors=colour, edgecolors=colour, linewidth=0.8)
        axes.set_yticks(range(len(shown)), [_short(alert.name) for alert in shown])
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        _dates(axes, period)
        return _chart(figure, "When they fired", "Orange-red: critical; yellow: warning; blue: info.")


def _chart(figure: Figure, title: str, caption: str) -> Chart:
    """A figure as inline SVG, with its title and caption."""
    out = io.StringIO()
    with warnings.catch_warnings():
        # The browser's fonts count, not matplotlib's.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = _METADATA.sub("", svg[svg.index("<svg") :])
    svg = _COLOUR.sub(lambda colour: _VARIABLES[colour[0]], svg)
    return Chart(title, Markup(svg), caption)


def _figure(report: ServerReport, drawn: Sequence[tuple[str, Values]], unit: str, *, fill: bool) -> Figure:
    """Lines by name over the period. fill: the area below them, too."""
    period = report.period
    days = np.array([_day(at) for at in period.starts + period.step / 2])
    figure = Figure(figsize=(WIDTH, 2.4))
    # The same margins in all charts, so that their days lie below each other.
    figure.subplots_adjust(left=0.09, right=0.96, top=0.83, bottom=0.12)
    axes = figure.add_subplot()
    for number, (name, values) in enumerate(drawn):
        axes.plot(days, values, color=COLOURS[number], linewidth=1.1, label=_short(name))
        alone = isolated(values)
        axes.plot(days[alone], values[alone], color=COLOURS[number], marker=".", linestyle="none")
        if fill:
            known = np.isfinite(values)
            colour = COLOURS[number]
            axes.fill_between(days, 0, values, where=known.tolist(), color=colour, alpha=0.18, linewidth=0)
    _mark(axes, report)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    _dates(axes, period)
    if len(drawn) > 1:
        legend = axes.legend(fontsize=7, frameon=False, ncols=MAX_LINES, loc="lower right", borderpad=0)
        legend.set_bbox_to_anchor((1.0, 1.07), axes.transAxes)
    return figure


def isolated(values: Values) -> NDArray[np.bool_]:
    """Which values have no neighbour: no line would show them."""
    known = np.isfinite(values)
    edges = np.concatenate(([False], known, [False]))
    found: NDArray[np.bool_] = known & ~edges[:-2] & ~edges[2:]
    return found


def _mark(axes: Axes, report: ServerReport) -> None:
    for gap in report.gaps:
        axes.axvspan(_day(gap.start), _day(gap.end), color=SOFT, alpha=0.25, linewidth=0)
    for number, effect in enumerate(report.effects, 1):
        axes.axvline(_day(effect.at), color=SOFT, linewidth=0.8, linestyle="--")
        place: Any = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
        axes.text(_day(effect.at), 1.0, str(number), fontsize=7, color=INK, **place)


def _dates(axes: Axes, period: Period) -> None:
    # matplotlib's dates have no types.
    locate: Callable[..., Locator] = AutoDateLocator
    formatted: Callable[..., Formatter] = ConciseDateFormatter
    locator = locate(tz=UTC)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(
        formatted(locator, tz=UTC, formats=_FORMATS, zero_formats=_FORMATS, show_offset=False)
    )
    axes.set_xlim(_day(period.start), _day(period.end))


def _day(at: float) -> float:
    to_number: Callable[[datetime], float] = date2num
    return float(to_number(datetime.fromtimestamp(at, UTC)))


def _short(name: str) -> str:
    """A name in a chart. A leading _ would hide its line from the legend."""
    text = name if len(name) <= _LABEL_LENGTH else name[: _LABEL_LENGTH - 1] + "…"
    return text.lstrip("_") or "?"
