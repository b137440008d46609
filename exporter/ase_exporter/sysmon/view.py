"""Reports of sp_sysmon as views and as JSON, and two of them side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import groupby
from typing import Any

from ase_exporter.sysmon.difference import Change, changes, configuration_changes, headline_changes
from ase_exporter.sysmon.findings import obstacles, pair_findings
from ase_exporter.sysmon.metrics import cleared_counters
from ase_exporter.sysmon.structure import (
    COUNT,
    PER_SEC,
    PER_XACT,
    PERCENT_OF_TOTAL,
    Report,
    ReportRow,
    ReportSection,
)
from ase_exporter.views.figures import UNKNOWN, counted, shown
from ase_exporter.views.view import Items, Line, Part, Section, Table, View, columns

_TIMES_FROM = 10
_NAMED_PARTS = 3
_STANDARD = (PER_SEC, PER_XACT, COUNT, PERCENT_OF_TOTAL)
_OTHER = "value"


def sysmon_view(report: Report) -> View:
    """Every row as the report has it, its sub-headings made explicit."""
    parts: list[Part] = [*_summary("report", report)]
    for section in report.sections:
        title = f"{section.name} ({section.instance})" if section.instance else section.name
        advice = [Line(each.text, "soft") for each in section.advice]
        parts.append(Section(title, [*_tables(section), *advice]))
    parts += [
        Line(f"line {each.line}: server error {each.number}: {each.text}", "worse")
        for each in report.messages
    ]
    remarks = [*report.warnings, *report.unread, *report.contradictions]
    return View("", [*parts, *(Line(f"line {each.line}: {each.text}", "notes") for each in remarks)])


def report_json(report: Report) -> dict[str, Any]:
    """The whole report, with lines as in the file; times in ISO 8601 without a zone, the interval in seconds."""
    found = asdict(report)
    header = {
        name: value.total_seconds() if isinstance(value, timedelta) else value
        for name, value in found.pop("header").items()
    }
    for times in ("started", "ended", "cleared"):
        header[times] = str(header[times]) if header[times] else None
    for section, read in zip(found["sections"], report.sections, strict=True):
        section["rows"] = [
            {
                "path": row.path,
                "row": row.label,
                "line": row.line,
                "cells": {cell.measure: cell.value for cell in row.cells},
                "overflow": row.overflow,
                "wrapped": [cell.measure for cell in row.cells if cell.wrapped],
            }
            for row in read.rows
        ]
    del found["ended"]
    return {"header": header, "complete": report.complete, "figures": sum(1 for _ in report.cells()), **found}


def difference_view(before: Report, after: Report, top: int) -> View:
    """Two reports: findings first, then headlines, configuration and the changes. top: how many of them, 0 for all."""
    found = changes(before, after)
    rows = found[: top or None]
    figures = ("before", "after", "change")
    heads = columns("Section", "Row", "Measure", *figures, figures=figures)
    cells = [(each.section, each.name, each.measure, *change_cells(each)) for each in rows]
    findings = pair_findings(before, after)
    headlines = [(line.name, *change_cells(line)) for line in headline_changes(before, after)]
    configuration = configuration_changes(before, after)
    count = f"{len(rows)} of {len(found)} changed figures, the most relevant first; rates are per second"
    return View(
        "",
        [
            *_summary("before", before),
            *_summary("after", after),
            *(Line(f"warning: {each}", "notes") for each in obstacles(before, after)),
            Section("Findings", [Items(findings)]),
            *([] if findings else [Line("  nothing is found, before or after")]),
            Section("", [Table(columns("Headline", *figures, figures=figures), headlines)]),
            Section("Configuration", [Items(configuration)]),
            Section("", [Table(heads, cells), Line(count, "soft")]),
        ],
    )


def completeness(report: Report) -> str:
    """One line: whether the report is complete, or why it is not."""
    if report.complete:
        return f"complete, {sum(1 for _ in report.cells())} figures"
    reasons = [] if report.ended else ["no End of Report line"]
    if report.missing:
        more = len(report.missing) - _NAMED_PARTS
        named = ", ".join(report.missing[:_NAMED_PARTS]) + (f" and {more} more" if more > 0 else "")
        reasons.append(f"missing: {named}")
    for remarks, what in ((report.unread, "unread line"), (report.contradictions, "contradiction")):
        if remarks:
            first = f"first in line {remarks[0].line}: {remarks[0].text}"
            reasons.append(f"{counted(len(remarks), what)}, {first}")
    return f"NOT COMPLETE: {'; '.join(reasons)}"


def change_cells(change: Change) -> tuple[str, str, str]:
    """Before, after and change of one line of the comparison."""
    before, after = change.before, change.after
    cells = [
        UNKNOWN if value is None else f"{shown(value, digits=10)} {change.unit}".strip()
        for value in (before, after)
    ]
    if before is None or after is None:
        difference = "new" if before is None else "gone"
    elif change.in_points:
        difference = shown(after - before, "points", sign="+")
    elif before and abs(after / before) >= _TIMES_FROM:
        difference = f"{after / before:,.0f} times"
    elif before:
        difference = shown(100 * (after - before) / abs(before), "percent", sign="+")
    else:
        difference = shown(after - before, digits=10, sign="+")
    return cells[0], cells[1], difference


def _tables(section: ReportSection) -> Iterator[Table]:
    """The rows of a section. Columns are the usual four and one for odd figures, or a table's own where it has such."""
    own: dict[tuple[str, ...], dict[str, None]] = {}
    for row in section.rows:
        own.setdefault(row.path[:1], {}).update(dict.fromkeys(cell.measure for cell in row.cells))
    measures_of = {
        table: tuple(measures) if len(set(measures) - set(_STANDARD)) > 1 and table else (*_STANDARD, _OTHER)
        for table, measures in own.items()
    }
    for measures, rows in groupby(section.rows, lambda row: measures_of[row.path[:1]]):
        yield _rows(list(rows), measures)


def _rows(rows: Sequence[ReportRow], measures: tuple[str, ...]) -> Table:
    cells = []
    for row in rows:
        texts = {cell.measure: cell.text for cell in row.cells} | dict.fromkeys(row.overflow, "****")
        for measure in [measure for measure in texts if measure not in measures]:
            texts[_OTHER] = texts.pop(measure)
        cells.append((row.name, *(texts.get(measure, "") for measure in measures)))
    return Table(columns("", *measures, figures=measures), cells)


def _summary(name: str, report: Report) -> tuple[Line, Line]:
    header = report.header
    parts = [
        header.server,
        f"{header.started} - {header.ended}" if header.started else "",
        f"{header.interval.total_seconds():.0f} s" if header.interval else "",
        header.mode + (" (counters were cleared)" if cleared_counters(report) else ""),
        header.version,
    ]
    return Line(f"{name}: {', '.join(filter(None, parts))}"), Line(f"  {completeness(report)}")
