"""The HTML report of a comparison: one file with its plots, without external resources, printable."""

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ase_exporter.compare import report
from ase_exporter.compare.comparison import Comparison, ComparisonRow
from ase_exporter.compare.headline import headline
from ase_exporter.pages.charts import COLOURS, INK, SOFT, WIDTH, Chart, chart, chart_style, label_above
from ase_exporter.pages.render import render
from ase_exporter.pages.text import as_second


def comparison_page(comparison: Comparison) -> str:
    """The report as a complete HTML page."""
    with chart_style():
        charts = [_bars(comparison), *_timelines(comparison), *_distributions(comparison)]
    return render(
        "compare.html",
        title=f"{comparison.selector}: {' / '.join(span.name for span in comparison.spans)}",
        headline=headline(comparison),
        comparison=comparison,
        notes=[*report.findings(comparison), *comparison.warnings],
        tables=report.tables(comparison),
        charts=charts,
        method=report.method(comparison),
    )


def _bars(comparison: Comparison) -> Chart:
    """Bar charts, one per measure, with one bar per window."""
    # Flat rows would only hide the others.
    shown = [
        row
        for row in comparison.rows
        if any(value and abs(value) >= 2 * row.measure.min_difference for value in row.values)
    ]
    columns = 3
    lines = -(-len(shown) // columns)
    figure = Figure(figsize=(WIDTH, 2.3 * lines), layout="constrained")
    for number, row in enumerate(shown):
        axes = figure.add_subplot(lines, columns, number + 1)
        values = [np.nan if value is None else value * _scale(row) for value in row.values]
        colours = [COLOURS[index % len(COLOURS)] for index in range(len(values))]
        bars = axes.bar(range(len(values)), values, color=colours)
        axes.bar_label(bars, [_short(value) for value in values], fontsize=7)
        axes.set_title(textwrap.fill(_title(row), 34), fontsize=8, loc="left")
        axes.set_xticks(range(len(values)), [str(index + 1) for index in range(len(values))])
        axes.margins(y=0.15)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    legend = ", ".join(f"{number} = {span.name}" for number, span in enumerate(comparison.spans, 1))
    return chart(figure, "Each window", f"Value over the whole window. {legend}.")


def _timelines(comparison: Comparison) -> list[Chart]:
    """Samples along time, one chart per measure, with windows shaded and changes marked."""
    origin = min(span.start for span in comparison.spans)
    figures = []
    for title, rows in _groups(comparison).items():
        figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
        axes = figure.add_subplot()
        for number, row in enumerate(rows):
            colour = COLOURS[number % len(COLOURS)]
            label: str | None = row.name or title
            for window in row.windows:
                if window is not None and len(window.values):
                    minutes = (window.times - origin) / 60
                    axes.plot(minutes, window.values * _scale(row), color=colour, linewidth=1, label=label)
                    label = None
        _shade(axes, comparison, origin)
        axes.set_xlabel(f"minutes since {as_second(origin)} UTC")
        axes.set_ylabel("%" if rows[0].measure.unit == "ratio" else "")
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        if len(rows) > 1:
            axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figures.append(chart(figure, title, "Samples along time; dashed lines: changes."))
    return figures


def _distributions(comparison: Comparison) -> list[Chart]:
    """Box plots per window, for measures of the whole server."""
    rows = [row for row in comparison.rows if not row.name and all(window for window in row.windows)]
    if not rows:
        return []
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    for number, row in enumerate(rows):
        axes = figure.add_subplot(1, len(rows), number + 1)
        samples = [window.values * _scale(row) for window in row.windows if window is not None]
        boxes = axes.boxplot(samples, patch_artist=True, widths=0.6, medianprops={"color": INK})
        for index, box in enumerate(boxes["boxes"]):
            box.set_facecolor(COLOURS[index % len(COLOURS)])
        axes.set_title(textwrap.fill(_title(row), 20), fontsize=7, loc="left")
        axes.tick_params(labelsize=7)
    return [
        chart(
            figure,
            "Distributions",
            "One box per window: quartiles of the samples; line: the median.",
        )
    ]


def _groups(comparison: Comparison) -> dict[str, list[ComparisonRow]]:
    groups: dict[str, list[ComparisonRow]] = {}
    for row in comparison.rows:
        if any(row.windows):
            groups.setdefault(row.measure.heading or row.measure.title, []).append(row)
    return groups


def _shade(axes: Axes, comparison: Comparison, origin: float) -> None:
    for number, span in enumerate(comparison.spans):
        start, end = (span.start - origin) / 60, (span.end - origin) / 60
        axes.axvspan(start, end, color=COLOURS[number % len(COLOURS)], alpha=0.07, linewidth=0)
        name = str(number + 1) if len(comparison.spans) > 2 else span.name
        label_above(axes, (start + end) / 2, name, SOFT)
    for mark in comparison.marks:
        axes.axvline((mark.at - origin) / 60, color=SOFT, linewidth=0.8, linestyle="--")


def _scale(row: ComparisonRow) -> float:
    return 100.0 if row.measure.unit == "ratio" else 1.0


def _title(row: ComparisonRow) -> str:
    return f"{row.title}{' (%)' if row.measure.unit == 'ratio' else ''}"


def _short(value: float) -> str:
    if np.isnan(value):
        return ""
    for letter, size in (("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * size:
            return f"{value / size:,.0f} {letter}"
    return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
