"""Charts as inline SVG, drawn by matplotlib (the extra `report`), in the colours of the page's theme.

A chart is drawn in the colours of the light theme; in the SVG they become the variables of the page's style sheet.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart for the macro `chart` of parts.html. svg: drawn by matplotlib, which has escaped the text in it."""

    title: str
    svg: Markup
    caption: str


@contextmanager
def chart_style() -> Iterator[None]:
    """Draw in the common style inside the block."""
    with mpl.rc_context(_STYLE):
        yield


def label_above(axes: Axes, at: float, text: str, colour: str) -> None:
    """Write a text above a place on the horizontal axis."""
    above = axes.get_xaxis_transform()
    axes.text(at, 1.0, text, transform=above, ha="center", va="bottom", fontsize=7, color=colour)


def chart(figure: Figure, title: str, caption: str) -> Chart:
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
