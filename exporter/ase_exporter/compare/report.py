"""A comparison as text: terminal, Markdown, CSV and JSON. Figures are the same in all."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ase_exporter.compare.comparison import AS_GOOD, Comparison, Row, sweet_spot
from ase_exporter.compare.measures import Measure
from ase_exporter.compare.statistics import Difference, Window
from ase_exporter.compare.windows import clock

_COLOURS = {"better": "green", "worse": "red", "changed": "yellow", "no evidence": "dim"}
NO_DATA = "-"
MEDIAN = ": median ± ½ IQR"
CSV_HEADER = (
    *("measure", "name", "unit", "window", "start", "end", "value"),
    *("median", "spread", "samples", "difference", "low", "high", "verdict"),
)


@dataclass(frozen=True, slots=True)
class Grid:
    """One table of a report, in words. The last `verdicts` columns hold verdicts."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(comparison: Comparison) -> list[Grid]:
    """The tables: values of each window, then what they say; for two windows all in one."""
    if len(comparison.spans) == 2:
        return [_pair(comparison)]
    return [_series(comparison), _steps(comparison), _against_first(comparison)]


def terminal(comparison: Comparison, width: int) -> RenderableType:
    """For rich, on a terminal of that many columns."""
    parts: list[RenderableType] = [Text(line) for line in _preface(comparison)]
    for grid in (_fitting(grid, width) for grid in grids(comparison)):
        table = Table(title=grid.title, title_justify="left")
        for number, name in enumerate(grid.header):
            table.add_column(Text(name), justify="left" if number == 0 else "right")
        for row in grid.rows:
            table.add_row(*(Text(cell, style=_colour(cell)) for cell in row))
        parts.append(table)
    parts += [Text(finding, style="bold") for finding in findings(comparison)]
    parts += [Text(f"Note: {warning}", style="yellow") for warning in comparison.warnings]
    return Group(*parts, Text(method(comparison), style="dim"))


def _fitting(grid: Grid, width: int) -> Grid:
    """Without the columns that say nothing and, where it is too wide all the same, without the medians."""
    columns = list(zip(grid.header, *grid.rows, strict=True))
    columns = [column for column in columns if set(column[1:]) != {NO_DATA}]
    # Three characters between columns, and a rule at either side.
    if sum(max(map(len, column)) + 3 for column in columns) + 1 > width:
        columns = [column for column in columns if not column[0].endswith(MEDIAN)]
    header, *rows = zip(*columns, strict=True)
    return Grid(grid.title, header, tuple(rows))


def markdown(comparison: Comparison) -> str:
    """For a ticket or a page."""
    lines = [f"{line}  " for line in _preface(comparison)]
    for grid in grids(comparison):
        rule = ["---", *["---:"] * (len(grid.header) - 1)]
        lines += ["", f"### {grid.title}", ""]
        lines += [_pipes(row) for row in (grid.header, rule, *grid.rows)]
    if comparison.warnings or findings(comparison):
        lines += ["", *(f"- **{finding}**" for finding in findings(comparison))]
        lines += [*(f"- **Note:** {warning}" for warning in comparison.warnings)]
    return "\n".join([*lines, "", method(comparison), ""])


def as_csv(comparison: Comparison) -> str:
    """One line a measure and window, in base units, with the difference to the first window."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for row in comparison.rows:
        differences = (None, *row.against_first)
        for span, track, value, difference in zip(
            comparison.spans, row.tracks, row.values, differences, strict=True
        ):
            window = _window(row, difference, len(track.values) if track else 0)
            tail = (
                [difference.difference, difference.low, difference.high, difference.verdict]
                if difference
                else []
            )
            writer.writerow(
                [row.key, row.name, row.measure.unit, span.name, span.start, span.end, value, *window, *tail]
            )
    return out.getvalue()


def as_json(comparison: Comparison) -> str:
    """All of it, in base units."""
    content = {
        "selector": comparison.selector,
        "confidence": comparison.confidence,
        "step_seconds": comparison.step,
        "windows": [{"name": span.name, "start": span.start, "end": span.end} for span in comparison.spans],
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
                "at_like_load": [_difference(difference) for difference in row.at_like_load],
            }
            for row in comparison.rows
        ],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _preface(comparison: Comparison) -> list[str]:
    lines = [f"Server {{{comparison.selector}}}, times in UTC"]
    lines += [
        f"{span.name}: {clock(span.start)} to {clock(span.end)} ({span.seconds:,.0f} s)"
        for span in comparison.spans
    ]
    return lines + [f"change {clock(mark.at)} {mark}" for mark in comparison.marks]


def findings(comparison: Comparison) -> list[str]:
    """What a series says as a whole."""
    spot = sweet_spot(comparison)
    if spot is None:
        return []
    return [
        f"Sweet spot: {spot.name}, the earliest window within {AS_GOOD:.0%} of the best throughput per CPU unit."
    ]


def method(comparison: Comparison) -> str:
    """How the verdicts were come by, in a sentence."""
    return (
        f"Verdicts at {comparison.confidence:.0%} confidence; samples every {comparison.step:g} s; intervals by"
        " block bootstrap of trimmed means."
    )


def _pair(comparison: Comparison) -> Grid:
    before, after = comparison.spans
    rows = []
    for row in comparison.rows:
        (difference,), (like,) = row.steps, row.at_like_load
        measure = row.measure
        medians = (
            [_median(measure, w) for w in (difference.before, difference.after)]
            if difference
            else [NO_DATA] * 2
        )
        rows.append(
            (
                row.title,
                *(_value(measure, value) for value in row.values),
                *medians,
                _interval(measure, difference),
                _verdict(difference),
                f"{_interval(measure, like)} {_verdict(like)}" if like else NO_DATA,
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
        "at like load",
    )
    return Grid(f"{after.name} against {before.name}", header, tuple(rows))


def _series(comparison: Comparison) -> Grid:
    rows = [(row.title, *(_value(row.measure, value) for value in row.values)) for row in comparison.rows]
    return Grid("Values over each window", ("Measure", *(s.name for s in comparison.spans)), tuple(rows))


def _steps(comparison: Comparison) -> Grid:
    rows = [(row.title, *(_verdict(each) for each in row.steps)) for row in comparison.rows]
    names = [span.name for span in comparison.spans[1:]]
    return Grid("Each window against the one before it", ("Measure", *names), tuple(rows))


def _against_first(comparison: Comparison) -> Grid:
    rows = [
        (row.title, *(f"{_relative(each)} {_verdict(each)}".strip() for each in row.against_first))
        for row in comparison.rows
    ]
    names = [span.name for span in comparison.spans[1:]]
    title = f"Each window against {comparison.spans[0].name}"
    return Grid(title, ("Measure", *names), tuple(rows))


def _value(measure: Measure, value: float | None) -> str:
    return NO_DATA if value is None else measure.show(value)


def _median(measure: Measure, window: Window) -> str:
    return f"{measure.show(window.median)} ± {measure.show(window.spread / 2)}"


def _verdict(difference: Difference | None) -> str:
    return difference.verdict if difference else NO_DATA


def _relative(difference: Difference | None) -> str:
    if difference is None or math.isnan(difference.relative):
        return ""
    # "+136 %" and "236 % of" are easily mixed up: where it matters, both stand there.
    times = f" (x{1 + difference.relative:.2f})" if difference.relative >= 1 else ""
    return f"{difference.relative:+.1%}{times}"


def _interval(measure: Measure, difference: Difference | None) -> str:
    if difference is None:
        return NO_DATA
    low, high = measure.show_difference(difference.low), measure.show_difference(difference.high)
    return f"{measure.show_difference(difference.difference)} [{low} to {high}]"


def _difference(difference: Difference | None) -> dict[str, object] | None:
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


def _window(row: Row, difference: Difference | None, samples: int) -> list[object]:
    """Median, spread and number of samples of a window for the CSV."""
    described = difference.after if difference else next((d.before for d in row.against_first if d), None)
    return [described.median, described.spread, described.samples] if described else [None, None, samples]


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _colour(cell: str) -> str:
    return next((colour for verdict, colour in _COLOURS.items() if cell.endswith(verdict)), "")
