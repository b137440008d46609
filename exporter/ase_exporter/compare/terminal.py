"""A comparison on a terminal: one sentence, then the measures that changed beyond chance, in 80 columns or less.

Each measure has a line of its own for its name, so that no name is cut, however long.
"""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from ase_exporter.compare.comparison import Comparison, ComparisonRow
from ase_exporter.compare.headline import changed_rows, headline
from ase_exporter.compare.report import findings, interval, method, preface, value

_COLOURS = {"better": "green", "worse": "red", "changed": "yellow", "no evidence": "dim"}


def terminal(comparison: Comparison, *, everything: bool = False) -> RenderableType:
    """A report to print with rich. everything: also the measures without evidence of a difference."""
    changed, others = changed_rows(comparison)
    lines = [Text(headline(comparison), style="bold"), Text()]
    lines += [Text(line) for line in preface(comparison)]
    for row in (*changed, *(others if everything else ())):
        lines += [Text(), *_block(comparison, row)]
    if others and not everything:
        lines += [Text(), Text(f"No evidence in {len(others)} more measures: --all lists them.", style="dim")]
    lines += [Text(), *(Text(f"Note: {warning}", style="yellow") for warning in comparison.warnings)]
    lines += [Text(finding) for finding in findings(comparison)]
    return Group(*lines, Text(method(comparison), style="dim"))


def _block(comparison: Comparison, row: ComparisonRow) -> Iterator[Text]:
    yield Text(f"{row.title}: {row.verdict}", style=_COLOURS.get(row.verdict, ""))
    if len(comparison.spans) == 2:
        yield from _pair(row)
    else:
        yield from _series([span.name for span in comparison.spans], row)


def _pair(row: ComparisonRow) -> Iterator[Text]:
    before, after = (value(row.measure, each) for each in row.values)
    yield Text(f"  {before} -> {after}   {interval(row.measure, row.steps[0])}")
    (equal,) = row.at_equal_load
    if equal and row.steps[0] and equal.verdict != row.steps[0].verdict:
        yield Text(f"  at equal load: {interval(row.measure, equal)} {equal.verdict}")


def _series(names: Sequence[str], row: ComparisonRow) -> Iterator[Text]:
    for name, figure, step in zip(names, row.values, (None, *row.steps), strict=True):
        yield Text(f"  {name}")
        difference = f"   {interval(row.measure, step)} {step.verdict}" if step else ""
        yield Text(f"    {value(row.measure, figure)}{difference}")
