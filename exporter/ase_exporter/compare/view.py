"""A comparison in one sentence and as a view, with the same figures in all formats."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import filterfalse
from typing import Any

from ase_exporter.compare.comparison import (
    EFFICIENCY,
    SWEET_SPOT_TOLERANCE,
    Comparison,
    ComparisonRow,
    sweet_spot,
)
from ase_exporter.compare.measures import LOAD, Measure
from ase_exporter.compare.statistics import CONFIDENCE, WindowDifference
from ase_exporter.views.chart import time_chart
from ase_exporter.views.figures import UNKNOWN, counted, moment, shown, zone
from ase_exporter.views.view import (
    Cell,
    Chart,
    Items,
    Line,
    Part,
    Plot,
    Section,
    Style,
    Table,
    Verdict,
    View,
    columns,
)

NO_EVIDENCE = "no evidence"
# What is said of other measures, of one and of several.
_OTHERS = {
    "better": ("other is better", "others are better"),
    "worse": ("other is worse", "others are worse"),
    "changed": ("other changed", "others changed"),
    "certain but small": ("other differs by under 1%", "others differ by under 1%"),
}
_STYLES: dict[str, Style] = {"better": "better", "worse": "worse", "changed": "changed"}
# Measures of what users feel; throughput comes last, as it also falls when less is asked for.
EFFECTS = ("response_time", EFFICIENCY, LOAD)
# Measures whose time line is shown.
_TIME_LINES = 4
# The relative difference at the ends of a drawing of intervals is no smaller.
_MIN_REACH = 0.01


def comparison_view(comparison: Comparison, *, everything: bool = False) -> View:
    """What changed beyond chance, by how much and when. everything: the other measures are not folded away."""
    changed, others = changed_rows(comparison)
    names = " / ".join(span.name for span in comparison.spans)
    parts: list[Part] = [
        Verdict(headline(comparison)),
        Line(f"Server {{{comparison.selector}}}, times in {zone(*(span.end for span in comparison.spans))}"),
        Items([*_windows(comparison), *(f"{moment(mark.at)} change {mark}" for mark in comparison.marks)]),
        Items([f"Note: {warning}" for warning in comparison.warnings], "notes"),
    ]
    if changed:
        charts = [_time_line(comparison, row) for row in changed[:_TIME_LINES]]
        tables = _tables(comparison, changed)
        parts += [
            Section("What changed: transactions per CPU unit, then the largest effect", [*tables, *charts])
        ]
    if others:
        title = f"{counted(len(others), 'measure')} without evidence of a difference"
        parts += [Section(title, _tables(comparison, others), folded=not everything)]
    parts.append(Line(method(comparison), "method"))
    return View(f"{comparison.selector}: {names}", parts)


def changed_rows(comparison: Comparison) -> tuple[list[ComparisonRow], list[ComparisonRow]]:
    """The rows that changed beyond chance, throughput per CPU unit before the largest effect, and the others."""

    def changed(row: ComparisonRow) -> bool:
        differences = (*row.steps, *row.against_first)
        return any(each is not None and each.verdict != NO_EVIDENCE for each in differences)

    found = sorted(filter(changed, comparison.rows), key=lambda row: (row.key != EFFICIENCY, -row.size))
    return found, list(filterfalse(changed, comparison.rows))


def headline(comparison: Comparison) -> str:
    """What happened to response time and throughput, or to the first measure that changed; then the others."""
    changed, _ = changed_rows(comparison)
    unjudged = sum(row.against_first[-1] is None for row in comparison.rows)
    if not comparison.is_known:
        return "No measure could be judged: too few samples in a window; see `ase-exporter check`."
    if not changed:
        left = f" {unjudged} could not be judged." if unjudged else ""
        return f"No measure changed beyond chance.{left}"
    main = _main(changed)
    count = Counter(row.verdict for row in comparison.rows if row is not main)
    # Where less gets done, figures that fall are no gain.
    less = main.verdict == "worse" and _fell(comparison)
    words = ("worse",) if less else _OTHERS
    others = [counted(count[verdict], *_OTHERS[verdict]) for verdict in words if count[verdict]]
    if less:
        others.insert(0, f"transactions per second fell by {shown(less, 'ratio')}")
    if count[NO_EVIDENCE]:
        others.append(f"no evidence in {count[NO_EVIDENCE]}")
    sentence = "; ".join([f"{main.title}: {_outcome(main)}", *others])
    if spot := sweet_spot(comparison):
        within = f"within {shown(SWEET_SPOT_TOLERANCE, 'ratio')} of the best throughput per CPU unit"
        sentence += f"; sweet spot: {spot.name}, the earliest {within}"
    return f"{sentence}."


def method(comparison: Comparison) -> str:
    """The method behind the verdicts, in one sentence."""
    return (
        f"Verdicts at {shown(CONFIDENCE, 'ratio', digits=2)} confidence, from samples every {comparison.step:g} s;"
        " intervals by block bootstrap of trimmed means."
    )


def pair_text(row: ComparisonRow) -> str:
    """The last window against the first: both values, the difference, and that at equal load if it says otherwise."""
    before, *_, after = map(row.measure.show, row.values)
    equal = _at_equal_load(row)
    said = f"{before} → {after}, {_interval(row.measure, row.against_first[-1])}"
    return f"{said}; at equal load {equal}" if equal else said


def _main(changed: Sequence[ComparisonRow]) -> ComparisonRow:
    """What users feel first: a loss before a gain."""
    effects = [row for key in EFFECTS for row in changed if row.key == key]
    order = (("worse", effects), ("better", effects), ("better worse changed", changed))
    found = (row for verdicts, rows in order for row in rows if row.verdict in verdicts.split())
    return next(found, changed[0])


def _fell(comparison: Comparison) -> float:
    """The share by which transactions per second fell beyond chance; 0 if they did not."""
    for row in comparison.rows:
        difference = row.against_first[-1]
        if row.key == LOAD and difference and difference.verdict == "worse":
            return -difference.relative
    return 0.0


def _outcome(row: ComparisonRow) -> str:
    first, last = row.values[0], row.values[-1]
    difference = row.against_first[-1]
    if first is None or last is None or difference is None:
        return "no data in one of the windows"
    relative = "" if math.isnan(difference.relative) else f" by {shown(abs(difference.relative), 'ratio')}"
    figures = f"{row.measure.show(first)} -> {row.measure.show(last)}"
    comma = "," if difference.verdict == "certain but small" else ""
    return f"{difference.verdict}{comma}{relative if difference.verdict != NO_EVIDENCE else ''} ({figures})"


def _windows(comparison: Comparison) -> Iterator[str]:
    """The windows, and what they lack."""
    for span in comparison.spans:
        length = "; ".join([f"{span.seconds:,.0f} s", *span.cuts])
        yield f"{span.name}: {moment(span.start)} to {moment(span.end)} ({length})"


def _tables(comparison: Comparison, rows: Sequence[ComparisonRow]) -> list[Part]:
    """The last window against the first; of a series, all windows as well."""
    reach = min(max(_MIN_REACH, *(row.size for row in rows)), 1.0)
    names = [span.name for span in comparison.spans]
    ends = (names[0], names[-1], "difference [interval]")
    scale = f"-{shown(reach, 'ratio')} to +{shown(reach, 'ratio')}"
    heads = columns("Measure", "", *ends, "at equal load", scale, figures=ends, whole=("", "at equal load"))
    effects: list[tuple[str | Cell, ...]] = [
        (
            row.title,
            Cell(row.verdict, style=_STYLES.get(row.verdict, "")),
            *(row.measure.show(row.values[at]) for at in (0, -1)),
            _interval(row.measure, row.against_first[-1]),
            _at_equal_load(row),
            Cell("", plot=_plot(row, reach)),
        )
        for row in rows
    ]
    found: list[Part] = [Table(heads, effects)]
    if len(names) > 2:
        series = Table(columns("Measure", *names), [(row.title, *_steps(row)) for row in rows])
        found.append(Section("Each window, against the first and the one before it", [series]))
    return found


def _steps(row: ComparisonRow) -> Iterator[str]:
    """The value of each window, then how it differs from that of the first, and from the one before."""
    first, *others = map(row.measure.show, row.values)
    yield first
    for value, difference, step in zip(others, row.against_first, row.steps, strict=True):
        yield f"{value}\n{_relative(difference)}\nstep: {step.verdict if step else UNKNOWN}"


def _plot(row: ComparisonRow, reach: float) -> Plot | None:
    """The interval of the last window against the first; differences of -reach and +reach lie at its ends."""
    difference = row.against_first[-1]
    if not difference or not difference.difference or math.isnan(difference.relative):
        return None
    scale = difference.relative / difference.difference / reach
    ends = (difference.low * scale, difference.difference * scale, difference.high * scale)
    low, middle, high = (0.5 + 0.5 * max(-1.0, min(1.0, each)) for each in ends)
    return Plot([(low, high - low)], middle)


def _time_line(comparison: Comparison, row: ComparisonRow) -> Chart:
    """A chart whose title says what its height is."""
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
    return Chart(chart, f"{row.title}, 0 to {row.measure.show(chart.greatest / scale)}")


def _relative(difference: WindowDifference | None) -> str:
    if difference is None:
        return UNKNOWN
    if math.isnan(difference.relative):
        return difference.verdict
    # "+136 %" and "236 % of" are easily confused, so large gains are shown both ways.
    times = f" (x{1 + difference.relative:.2f})" if difference.relative >= 1 else ""
    return f"{shown(100 * difference.relative, 'percent', sign='+')}{times} {difference.verdict}"


def _interval(measure: Measure, difference: WindowDifference | None) -> str:
    """A difference and its interval."""
    if difference is None:
        return UNKNOWN
    ends = (difference.difference, difference.low, difference.high)
    middle, low, high = (measure.show(each, sign="+") for each in ends)
    return f"{middle} [{low} to {high}]"


def _at_equal_load(row: ComparisonRow) -> str:
    """The last window against the first at equal load, with its verdict; '' unless that is another one."""
    difference, equal = row.against_first[-1], row.at_equal_load[-1]
    if equal and difference and equal.verdict != difference.verdict:
        return f"{_interval(row.measure, equal)} {equal.verdict}"
    return ""


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """The whole comparison, in base units."""
    return {
        "headline": headline(comparison),
        "selector": comparison.selector,
        "confidence": CONFIDENCE,
        "step_seconds": comparison.step,
        "windows": comparison.spans,
        "changes": [
            {"at": mark.at, "kind": mark.kind, "name": mark.name, "from": mark.old, "to": mark.new}
            for mark in comparison.marks
        ],
        "warnings": comparison.warnings,
        "rows": [*map(row_data, comparison.rows)],
    }


def row_data(row: ComparisonRow) -> dict[str, Any]:
    """One measure over all windows. Differences lie in low to high at the confidence of the comparison."""
    return {
        "measure": row.key,
        "name": row.name,
        "title": row.title,
        "unit": row.measure.unit,
        "good": row.measure.good,
        "values": row.values,
        "against_previous": [*map(_difference_data, row.steps)],
        "against_first": [*map(_difference_data, row.against_first)],
        "at_equal_load": [*map(_difference_data, row.at_equal_load)],
    }


def _difference_data(difference: WindowDifference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    found = asdict(difference)
    before, after = found.pop("before"), found.pop("after")
    sides = {f"{name}_before": before[name] for name in ("median", "spread", "samples")}
    return found | sides | {f"{name}_after": after[name] for name in ("median", "spread", "samples")}
