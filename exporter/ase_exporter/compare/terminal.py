"""A comparison on a terminal: one sentence, then the measures that changed beyond chance, in 80 columns or less.

Each measure has a line of its own for its name, so that no name is cut, however long.
"""

from collections.abc import Iterator

from rich.console import Group, RenderableType

from ase_exporter.compare.comparison import Comparison, ComparisonRow
from ase_exporter.compare.headline import changed_rows, headline
from ase_exporter.compare.report import at_equal_load, findings, interval, method, preface, value
from ase_exporter.pages.text import as_count
from ase_exporter.untrusted.terminal import TextLine

_COLOURS = {"better": "green", "worse": "red", "changed": "yellow", "no evidence": "dim"}


def terminal(comparison: Comparison, *, everything: bool = False) -> RenderableType:
    """A report to print with rich. everything: also the measures without evidence of a difference."""
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
