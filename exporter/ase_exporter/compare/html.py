"""The HTML report of a comparison: what changed by how much, and when; everything else folded. Loads nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ase_exporter.compare import report
from ase_exporter.compare.comparison import Comparison, ComparisonRow
from ase_exporter.compare.headline import changed_rows, headline
from ase_exporter.pages.render import render
from ase_exporter.pages.time_chart import TimeChart, time_chart

# Measures whose time line is shown.
_TIME_LINES = 4


@dataclass(frozen=True, slots=True)
class _Effect:
    """A row of the table: the last window against the first. interval: its left, middle and right in the plot, in %."""

    title: str
    values: Sequence[str]
    difference: str
    verdict: str
    at_equal_load: str
    interval: tuple[float, float, float] | None


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
        notes=[*report.findings(comparison), *comparison.warnings],
        ends=(comparison.spans[0], comparison.spans[-1]),
        effects=[_effect(row, reach) for row in changed],
        reach=reach,
        charts=[_time_line(comparison, row) for row in changed[:_TIME_LINES]],
        others=len(others),
        tables=report.tables(comparison),
        method=report.method(comparison),
    )


def _effect(row: ComparisonRow, reach: float) -> _Effect:
    difference, shown = row.against_first[-1], None
    if difference and difference.difference and not math.isnan(difference.relative):
        scale = difference.relative / difference.difference / reach
        ends = (difference.low * scale, difference.difference * scale, difference.high * scale)
        low, middle, high = (50 + 50 * max(-1.0, min(1.0, each)) for each in ends)
        shown = (low, middle, high)
    return _Effect(
        row.title,
        [report.value(row.measure, each) for each in (row.values[0], row.values[-1])],
        report.interval(row.measure, difference),
        row.verdict,
        report.at_equal_load(row),
        shown,
    )


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
