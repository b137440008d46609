"""The HTML report of a comparison: what changed by how much, and when; everything else folded. Loads nothing."""

import math

from ase_exporter.compare import report
from ase_exporter.compare.comparison import Comparison, ComparisonRow
from ase_exporter.compare.report import changed_rows, headline
from ase_exporter.pages.render import render
from ase_exporter.pages.time_chart import TimeChart, time_chart

# Measures whose time line is shown.
_TIME_LINES = 4


def comparison_page(comparison: Comparison) -> str:
    """The report as a complete HTML page."""
    changed, others = changed_rows(comparison)
    changed.sort(key=lambda row: row.size, reverse=True)
    reach = min(max((row.size for row in changed), default=0.0), 1.0) or 1.0
    return render(
        "compare.html",
        title=f"{comparison.selector}: {' / '.join(span.name for span in comparison.spans)}",
        headline=headline(comparison),
        comparison=comparison,
        effects=[(row, _places(row, reach)) for row in changed],
        reach=reach,
        charts=[_time_line(comparison, row) for row in changed[:_TIME_LINES]],
        others=len(others),
        report=report,
    )


def _places(row: ComparisonRow, reach: float) -> tuple[float, float, float] | None:
    """Left, middle and right of the interval of the last window against the first in a plot, in % of its width."""
    difference = row.against_first[-1]
    if not difference or not difference.difference or math.isnan(difference.relative):
        return None
    scale = difference.relative / difference.difference / reach
    ends = (difference.low * scale, difference.difference * scale, difference.high * scale)
    low, middle, high = (50 + 50 * max(-1.0, min(1.0, each)) for each in ends)
    return low, middle, high


def _time_line(comparison: Comparison, row: ComparisonRow) -> tuple[str, TimeChart]:
    """A chart and its title, which says what its height is."""
    unit, scale = ("%", 100) if row.measure.unit == "ratio" else ("", 1)
    chart = time_chart(
        [
            (window.times.tolist(), (window.values * scale).tolist())
            for window in row.windows
            if window and len(window.values)
        ],
        unit,
        min(span.start for span in comparison.spans),
        max(span.end for span in comparison.spans),
        spans=[(span.start, span.end, span.name) for span in comparison.spans],
        marks=[(mark.at, str(mark)) for mark in comparison.marks],
    )
    return f"{row.title}, 0 to {row.measure.show(chart.greatest / scale)}", chart
