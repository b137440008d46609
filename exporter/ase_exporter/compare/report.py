"""A comparison in one sentence, and as text for terminals, as tables and as JSON, with the same figures in all."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import filterfalse

from rich.console import Group, RenderableType

from ase_exporter.compare.comparison import (
    EFFICIENCY,
    SWEET_SPOT_TOLERANCE,
    Comparison,
    ComparisonRow,
    sweet_spot,
)
from ase_exporter.compare.measures import LOAD, Measure
from ase_exporter.compare.statistics import CONFIDENCE, WindowDifference, WindowStatistics
from ase_exporter.pages.text import as_count, as_second
from ase_exporter.untrusted.terminal import TextLine

NO_DATA = "-"
NO_EVIDENCE = "no evidence"
# What is said of other measures, of one and of several.
_OTHERS = {
    "better": ("other is better", "others are better"),
    "worse": ("other is worse", "others are worse"),
    "changed": ("other changed", "others changed"),
}
# Measures of what users feel; throughput comes last, as it also falls when less is asked for.
EFFECTS = ("response_time", EFFICIENCY, LOAD)
_COLOURS = {"better": "green", "worse": "red", "changed": "yellow", NO_EVIDENCE: "dim"}


@dataclass(frozen=True, slots=True)
class ReportTable:
    """One table of a report, with its cells as text."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def changed_rows(comparison: Comparison) -> tuple[list[ComparisonRow], list[ComparisonRow]]:
    """The rows that changed beyond chance in any window, throughput per CPU unit first, and the others."""

    def changed(row: ComparisonRow) -> bool:
        differences = (*row.steps, *row.against_first)
        return any(each is not None and each.verdict != NO_EVIDENCE for each in differences)

    ordered = sorted(comparison.rows, key=lambda row: row.key != EFFICIENCY)
    return list(filter(changed, ordered)), list(filterfalse(changed, ordered))


def headline(comparison: Comparison) -> str:
    """What happened to response time and throughput, or to the first measure that changed; then the others."""
    changed, _ = changed_rows(comparison)
    unjudged = sum(row.against_first[-1] is None for row in comparison.rows)
    if unjudged == len(comparison.rows):
        return "No measure could be judged: too few samples in a window."
    if not changed:
        left = f" {unjudged} could not be judged." if unjudged else ""
        return f"No measure changed beyond chance.{left}"
    main = _main(changed)
    count = Counter(row.verdict for row in comparison.rows if row is not main)
    # Where less gets done, figures that fall are no gain.
    less = main.verdict == "worse" and _fell(comparison)
    words = ("worse",) if less else ("better", "worse", "changed")
    others = [as_count(count[verdict], *_OTHERS[verdict]) for verdict in words if count[verdict]]
    if less:
        others.insert(0, f"transactions per second fell by {less:.1%}")
    if count[NO_EVIDENCE]:
        others.append(f"no evidence in {count[NO_EVIDENCE]}")
    sentence = "; ".join([f"{main.title}: {_outcome(main)}", *others])
    spot = sweet_spot(comparison)
    return f"{sentence}; sweet spot: {spot.name}." if spot else f"{sentence}."


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
    relative = "" if math.isnan(difference.relative) else f" by {abs(difference.relative):.1%}"
    figures = f"{row.measure.show(first)} -> {row.measure.show(last)}"
    return f"{difference.verdict}{relative if difference.verdict != NO_EVIDENCE else ''} ({figures})"


def tables(comparison: Comparison) -> list[ReportTable]:
    """The tables of a report: one for two windows; values, steps and differences to the first for a series.

    What changed beyond chance comes first.
    """
    changed, others = changed_rows(comparison)
    comparison = replace(comparison, rows=(*changed, *others))
    if len(comparison.spans) == 2:
        return [_pair(comparison)]
    names = [span.name for span in comparison.spans]
    grids: tuple[tuple[str, list[str], Callable[[ComparisonRow], Iterable[str]]], ...] = (
        ("Values over each window", names, _values),
        ("Each window against the one before it", names[1:], lambda row: map(_verdict, row.steps)),
        (f"Each window against {names[0]}", names[1:], lambda row: map(_relative, row.against_first)),
    )
    return [
        ReportTable(title, ("Measure", *columns), tuple((row.title, *cells(row)) for row in comparison.rows))
        for title, columns, cells in grids
    ]


def terminal(comparison: Comparison, *, everything: bool = False) -> RenderableType:
    """The report to print with rich, in 80 columns or less: the sentence, then the measures that changed beyond chance.

    Each measure has a line of its own for its name, so that no name is cut. everything: also the measures without
    evidence of a difference.
    """
    changed, others = changed_rows(comparison)
    lines = [TextLine(headline(comparison), "bold"), TextLine("")]
    lines += [TextLine(line) for line in preface(comparison)]
    for row in (*changed, *(others if everything else ())):
        lines += [TextLine(""), *_block(comparison, row)]
    if others and not everything:
        lines += [
            TextLine(""),
            TextLine(f"No evidence in {as_count(len(others), 'more measure')}: see --all.", "dim"),
        ]
    lines += [TextLine(""), *(TextLine(f"Note: {warning}", "yellow") for warning in comparison.warnings)]
    lines += [TextLine(finding) for finding in findings(comparison)]
    return Group(*lines, TextLine(method(comparison), "dim"))


def _block(comparison: Comparison, row: ComparisonRow) -> Iterator[TextLine]:
    yield TextLine(f"{row.title}: {row.verdict}", _COLOURS.get(row.verdict, ""))
    if len(comparison.spans) == 2:
        before, after = (value(row.measure, each) for each in row.values)
        yield TextLine(f"  {before} -> {after}   {interval(row.measure, row.steps[0])}")
        if equal := at_equal_load(row):
            yield TextLine(f"  at equal load: {equal}")
        return
    for span, figure, step in zip(comparison.spans, row.values, (None, *row.steps), strict=True):
        yield TextLine(f"  {span.name}")
        difference = f"   {interval(row.measure, step)} {step.verdict}" if step else ""
        yield TextLine(f"    {value(row.measure, figure)}{difference}")


def as_json(comparison: Comparison) -> str:
    """The whole comparison, in base units."""
    content = {
        "headline": headline(comparison),
        "selector": comparison.selector,
        "confidence": CONFIDENCE,
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
                "against_previous": [*map(_difference, row.steps)],
                "against_first": [*map(_difference, row.against_first)],
                "at_equal_load": [*map(_difference, row.at_equal_load)],
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
    """Conclusions about a series as a whole."""
    if spot := sweet_spot(comparison):
        within = f"within {SWEET_SPOT_TOLERANCE:.0%} of the best throughput per CPU unit"
        return [f"Sweet spot: {spot.name}, the earliest window {within}."]
    return []


def method(comparison: Comparison) -> str:
    """The method behind the verdicts, in one sentence."""
    return (
        f"Verdicts at {CONFIDENCE:.0%} confidence, from samples every {comparison.step:g} s; intervals by"
        " block bootstrap of trimmed means."
    )


def _pair(comparison: Comparison) -> ReportTable:
    names = [span.name for span in comparison.spans]
    medians = (f"{name}: median ± ½ IQR" for name in names)
    header = ("Measure", *names, *medians, "difference [interval]", "verdict", "at equal load")
    rows = tuple(tuple(_pair_cells(row)) for row in comparison.rows)
    return ReportTable(f"{names[1]} against {names[0]}", header, rows)


def _pair_cells(row: ComparisonRow) -> Iterator[str]:
    (difference,), (at_equal_load,) = row.steps, row.at_equal_load
    yield row.title
    yield from _values(row)
    for window in (difference.before, difference.after) if difference else (None, None):
        yield _median(row.measure, window) if window else NO_DATA
    yield interval(row.measure, difference)
    yield _verdict(difference)
    yield f"{interval(row.measure, at_equal_load)} {_verdict(at_equal_load)}" if at_equal_load else NO_DATA


def _values(row: ComparisonRow) -> list[str]:
    return [value(row.measure, figure) for figure in row.values]


def value(measure: Measure, figure: float | None) -> str:
    """A figure as reports print it."""
    return NO_DATA if figure is None else measure.show(figure)


def _median(measure: Measure, window: WindowStatistics) -> str:
    return f"{measure.show(window.median)} ± {measure.show(window.spread / 2)}"


def _verdict(difference: WindowDifference | None) -> str:
    return difference.verdict if difference else NO_DATA


def _relative(difference: WindowDifference | None) -> str:
    if difference is None or math.isnan(difference.relative):
        return _verdict(difference)
    # "+136 %" and "236 % of" are easily confused, so large gains are shown both ways.
    times = f" (x{1 + difference.relative:.2f})" if difference.relative >= 1 else ""
    return f"{difference.relative:+.1%}{times} {difference.verdict}"


def interval(measure: Measure, difference: WindowDifference | None) -> str:
    """A difference and its interval as reports print them."""
    if difference is None:
        return NO_DATA
    low, high = measure.show_difference(difference.low), measure.show_difference(difference.high)
    return f"{measure.show_difference(difference.difference)} [{low} to {high}]"


def pair_text(row: ComparisonRow) -> str:
    """The last window against the first: both values, the difference, and that at equal load if it says otherwise."""
    before, *_, after = _values(row)
    equal = at_equal_load(row)
    said = f"{before} → {after}, {interval(row.measure, row.against_first[-1])}"
    return f"{said}; at equal load {equal}" if equal else said


def at_equal_load(row: ComparisonRow) -> str:
    """The last window against the first at equal load, with its verdict; '' unless that is another one."""
    difference, equal = row.against_first[-1], row.at_equal_load[-1]
    if equal and difference and equal.verdict != difference.verdict:
        return f"{interval(row.measure, equal)} {equal.verdict}"
    return ""


def _difference(difference: WindowDifference | None) -> dict[str, object] | None:
    if difference is None:
        return None
    content: dict[str, object] = {name: getattr(difference, name) for name in ("difference", "low", "high")}
    content["relative"] = None if math.isnan(difference.relative) else difference.relative
    content["verdict"] = difference.verdict
    for name in ("median", "spread", "samples"):
        content[f"{name}_before"] = getattr(difference.before, name)
        content[f"{name}_after"] = getattr(difference.after, name)
    return content
