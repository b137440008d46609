"""Reports of a comparison as Markdown, CSV and JSON, with the same figures as on the terminal."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ase_exporter.compare.comparison import SWEET_SPOT_TOLERANCE, Comparison, ComparisonRow, sweet_spot
from ase_exporter.compare.headline import changed_rows, headline
from ase_exporter.compare.measures import Measure
from ase_exporter.compare.statistics import WindowDifference, WindowStatistics
from ase_exporter.pages.text import as_second
from ase_exporter.untrusted.encoders import csv_lines, markdown_table

NO_DATA = "-"
MEDIAN = ": median ± ½ IQR"
CSV_HEADER = (
    *("measure", "name", "unit", "window", "start", "end", "value"),
    *("median", "spread", "samples", "difference", "low", "high", "verdict"),
)


@dataclass(frozen=True, slots=True)
class ReportTable:
    """One table of a report, with its cells as text."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(comparison: Comparison) -> list[ReportTable]:
    """The tables of a report: one for two windows; values, steps and differences to the first for a series.

    What changed beyond chance comes first.
    """
    changed, others = changed_rows(comparison)
    comparison = replace(comparison, rows=(*changed, *others))
    if len(comparison.spans) == 2:
        return [_pair(comparison)]
    return [_series(comparison), _steps(comparison), _against_first(comparison)]


def markdown(comparison: Comparison) -> str:
    lines = [f"**{headline(comparison)}**", "", *(f"{line}  " for line in preface(comparison))]
    for grid in tables(comparison):
        numbers = range(1, len(grid.header))
        lines += ["", f"### {grid.title}", "", markdown_table([grid.header, *grid.rows], numbers)]
    if comparison.warnings or findings(comparison):
        lines += ["", *(f"- **{finding}**" for finding in findings(comparison))]
        lines += [*(f"- **Note:** {warning}" for warning in comparison.warnings)]
    return "\n".join([*lines, "", method(comparison), ""])


def as_csv(comparison: Comparison) -> str:
    """One line per measure and window, in base units, with the difference to the first window."""
    return csv_lines([CSV_HEADER, *_csv_rows(comparison)])


def _csv_rows(comparison: Comparison) -> Iterator[list[object]]:
    for row in comparison.rows:
        differences = (None, *row.against_first)
        for span, samples, value, difference in zip(
            comparison.spans, row.windows, row.values, differences, strict=True
        ):
            window = _window(row, difference, len(samples.values) if samples else 0)
            tail = (
                [difference.difference, difference.low, difference.high, difference.verdict]
                if difference
                else []
            )
            yield [
                *(row.key, row.name, row.measure.unit, span.name, span.start, span.end, value),
                *(*window, *tail),
            ]


def as_json(comparison: Comparison) -> str:
    """The whole comparison, in base units."""
    content = {
        "headline": headline(comparison),
        "selector": comparison.selector,
        "confidence": comparison.confidence,
        "step_seconds": comparison.step,
        "windows": [
            {"name": span.name, "start": span.start, "end": span.end, "cuts": span.cuts}
            for span in comparison.spans
        ],
        "changes": [
            {"at": mark.at, "kind": mark.kind, "name": mark.name, "from": mark.old, "to": mark.new}
            for mark in comparison.marks
        ],
        "warnings": comparison.warnings,
        "findings": findings(comparison),
        "rows": [
            {
                "measure": row.key,
                "name": row.name,
                "title": row.title,
                "unit": row.measure.unit,
                "good": row.measure.good,
                "values": row.values,
                "against_previous": [_difference(difference) for difference in row.steps],
                "against_first": [_difference(difference) for difference in row.against_first],
                "at_equal_load": [_difference(difference) for difference in row.at_equal_load],
            }
            for row in comparison.rows
        ],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def preface(comparison: Comparison) -> list[str]:
    """Server, windows and what they lack, and the changes in and between them."""
    lines = [f"Server {{{comparison.selector}}}, times in UTC"]
    lines += [
        f"{span.name}: {as_second(span.start)} to {as_second(span.end)}"
        f" ({'; '.join([f'{span.seconds:,.0f} s', *span.cuts])})"
        for span in comparison.spans
    ]
    return lines + [f"change {as_second(mark.at)} {mark}" for mark in comparison.marks]


def findings(comparison: Comparison) -> list[str]:
    """What advise predicted, and conclusions about a series as a whole."""
    spot = sweet_spot(comparison)
    predicted = [comparison.predicted] if comparison.predicted else []
    if spot is None:
        return predicted
    return [
        *predicted,
        f"Sweet spot: {spot.name}, the earliest window within {SWEET_SPOT_TOLERANCE:.0%} of the best throughput"
        " per CPU unit.",
    ]


def method(comparison: Comparison) -> str:
    """The method behind the verdicts, in one sentence."""
    return (
        f"Verdicts at {comparison.confidence:.0%} confidence, from samples every {comparison.step:g} s; intervals by"
        " block bootstrap of trimmed means."
    )


def _pair(comparison: Comparison) -> ReportTable:
    before, after = comparison.spans
    rows = []
    for row in comparison.rows:
        (difference,), (at_equal_load,) = row.steps, row.at_equal_load
        measure = row.measure
        medians = (
            [_median(measure, w) for w in (difference.before, difference.after)]
            if difference
            else [NO_DATA] * 2
        )
        rows.append(
            (
                row.title,
                *(value(measure, figure) for figure in row.values),
                *medians,
                interval(measure, difference),
                _verdict(difference),
                f"{interval(measure, at_equal_load)} {_verdict(at_equal_load)}" if at_equal_load else NO_DATA,
            )
        )
    header = (
        "Measure",
        before.name,
        after.name,
        f"{before.name}{MEDIAN}",
        f"{after.name}{MEDIAN}",
        "difference [interval]",
        "verdict",
        "at equal load",
    )
    return ReportTable(f"{after.name} against {before.name}", header, tuple(rows))


def _series(comparison: Comparison) -> ReportTable:
    rows = [(row.title, *(value(row.measure, figure) for figure in row.values)) for row in comparison.rows]
    return ReportTable(
        "Values over each window", ("Measure", *(s.name for s in comparison.spans)), tuple(rows)
    )


def _steps(comparison: Comparison) -> ReportTable:
    rows = [(row.title, *(_verdict(each) for each in row.steps)) for row in comparison.rows]
    names = [span.name for span in comparison.spans[1:]]
    return ReportTable("Each window against the one before it", ("Measure", *names), tuple(rows))


def _against_first(comparison: Comparison) -> ReportTable:
    rows = [
        (row.title, *(f"{_relative(each)} {_verdict(each)}".strip() for each in row.against_first))
        for row in comparison.rows
    ]
    names = [span.name for span in comparison.spans[1:]]
    title = f"Each window against {comparison.spans[0].name}"
    return ReportTable(title, ("Measure", *names), tuple(rows))


def value(measure: Measure, figure: float | None) -> str:
    """A figure as reports print it."""
    return NO_DATA if figure is None else measure.show(figure)


def _median(measure: Measure, window: WindowStatistics) -> str:
    return f"{measure.show(window.median)} ± {measure.show(window.spread / 2)}"


def _verdict(difference: WindowDifference | None) -> str:
    return difference.verdict if difference else NO_DATA


def _relative(difference: WindowDifference | None) -> str:
    if difference is None or math.isnan(difference.relative):
        return ""
    # "+136 %" and "236 % of" are easily confused, so large gains are shown both ways.
    times = f" (x{1 + difference.relative:.2f})" if difference.relative >= 1 else ""
    return f"{difference.relative:+.1%}{times}"


def interval(measure: Measure, difference: WindowDifference | None) -> str:
    """A difference and its interval as reports print them."""
    if difference is None:
        return NO_DATA
    low, high = measure.show_difference(difference.low), measure.show_difference(difference.high)
    return f"{measure.show_difference(difference.difference)} [{low} to {high}]"


def pair_text(row: ComparisonRow) -> str:
    """The last window against the first: both values, the difference, and that at equal load if it says otherwise."""
    before, after = (value(row.measure, each) for each in (row.values[0], row.values[-1]))
    difference, equal = row.against_first[-1], row.at_equal_load[-1]
    text = f"{before} → {after}, {interval(row.measure, difference)}"
    if equal and difference and equal.verdict != difference.verdict:
        text += f"; at equal load {interval(row.measure, equal)} {equal.verdict}"
    return text


def _difference(difference: WindowDifference | None) -> dict[str, object] | None:
    if difference is None:
        return None
    return {
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "relative": None if math.isnan(difference.relative) else difference.relative,
        "verdict": difference.verdict,
        "median_before": difference.before.median,
        "median_after": difference.after.median,
        "spread_before": difference.before.spread,
        "spread_after": difference.after.spread,
        "samples_before": difference.before.samples,
        "samples_after": difference.after.samples,
    }


def _window(row: ComparisonRow, difference: WindowDifference | None, samples: int) -> list[object]:
    """Median, spread and number of samples of a window, for CSV."""
    described = difference.after if difference else next((d.before for d in row.against_first if d), None)
    return [described.median, described.spread, described.samples] if described else [None, None, samples]
