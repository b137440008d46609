"""The tools changes and compare."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from ase_exporter.compare.comparison import Comparison, ComparisonRow
from ase_exporter.compare.report import changed_rows, findings, headline, method
from ase_exporter.compare.request import Request, answer_from
from ase_exporter.compare.statistics import CONFIDENCE
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import Compared, FoundChanges
from ase_exporter.mcp_server.overview import window
from ase_exporter.mcp_server.sources import Sources

MAX_WINDOWS = 20
MAX_CHANGES = 50
MAX_ROWS = 100


def changes(sources: Sources, arguments: inputs.Changes) -> FoundChanges:
    """What changed on a server and when: options, caches, engines, restarts, the machine, annotations."""
    _, span = window(sources, arguments)
    with sources.connect() as prometheus:
        found = sources.changes(prometheus, arguments.server, span.start, span.end)
        notes = list(prometheus.warnings)
    if sources.exporter is None:
        notes.append(
            "of equal changes within 15 s only the last is known; an exporter's URL (--exporter) has all"
        )
    return FoundChanges.of(
        server=arguments.server,
        window=span,
        changes=found[-arguments.limit :],
        left_out=max(0, len(found) - arguments.limit),
        source="exporter" if sources.exporter else "prometheus",
        notes=notes,
    )


def compare(sources: Sources, arguments: inputs.Compare) -> Compared:
    """Before and after a change, two windows, or runs: each measure with an interval and a verdict.

    Measures that changed beyond chance come first. A verdict says that it changed, not what made it change: look at
    `changes` and `warnings` for others in the same windows.
    """
    ways = (arguments.change, arguments.runs, arguments.before or arguments.after)
    if sum(way is not None for way in ways) != 1:
        raise UserError("expected one of: change; before and after; runs")
    request = Request(
        prometheus="",
        target=arguments.server,
        selector=sources.selector,
        exporter=sources.exporter,
        **arguments.model_dump(exclude={"server", "everything"}),
    )
    with sources.connect() as prometheus:
        comparison = answer_from(prometheus, request)
    if len(comparison.spans) > MAX_WINDOWS:
        raise UserError(
            f"runs: {len(comparison.spans)} windows; expected at most {MAX_WINDOWS}: give a shorter range"
        )
    return _compared(arguments, comparison)


def _compared(arguments: inputs.Compare, comparison: Comparison) -> Compared:
    changed, others = changed_rows(comparison)
    without_data = [row for row in others if not any(row.against_first)]
    unclear = [row for row in others if any(row.against_first)]
    rows = ([*changed, *unclear] if arguments.everything else changed)[:MAX_ROWS]
    said = _numbering(comparison, rows)
    return Compared.of(
        server=arguments.server,
        headline=said(headline(comparison)),
        confidence=CONFIDENCE,
        step_seconds=comparison.step,
        windows=[replace(span, cuts=tuple(map(said, span.cuts))) for span in comparison.spans],
        changes=comparison.marks[:MAX_CHANGES],
        rows=rows,
        rows_without_evidence=len(unclear),
        rows_without_data=len(without_data),
        findings=[said(each) for each in findings(comparison)],
        warnings=[said(each) for each in comparison.warnings],
        method=method(comparison),
    )


def _numbering(comparison: Comparison, rows: Sequence[ComparisonRow]) -> Callable[[str], str]:
    """Puts numbers of changes and rows in place of their names, which others chose, in a sentence of ours."""
    instead = {str(mark): f"changes[{number}]" for number, mark in enumerate(comparison.marks)}
    places = {row.title: f"rows[{number}]" for number, row in enumerate(rows)}
    for row in comparison.rows:
        if row.name:
            instead[row.title] = f"{row.measure.title} ({places.get(row.title, 'a row that is not listed')})"
    # In one pass, so that no name is found in what stands in place of another; the longest that fits is meant.
    names = re.compile("|".join(map(re.escape, sorted(instead, key=len, reverse=True))) or r"\b\B")
    return lambda text: names.sub(lambda found: instead[found[0]], text)
