"""A report as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from ase_exporter.sysmon.structure import Header, Remark, Report, Row, Section


def as_json(report: Report) -> dict[str, object]:
    """The whole report: header, sections with rows and text, errors, warnings; lines as in the file."""
    return {
        "header": _header(report.header),
        "complete": report.complete,
        "figures": sum(1 for _ in report.cells()),
        "missing": report.missing,
        "unread": _remarks(report.unread),
        "contradictions": _remarks(report.contradictions),
        "return_status": report.return_status,
        "sections": [_section(section) for section in report.sections],
        "messages": [
            {"line": message.line, "number": message.number, "level": message.level, "text": message.text}
            for message in report.messages
        ],
        "warnings": _remarks(report.warnings),
    }


def _header(header: Header) -> dict[str, object]:
    found = asdict(header)
    interval = found.pop("interval")
    seconds = interval.total_seconds() if interval is not None else None
    times = {name: _time(found[name]) for name in ("started", "ended", "cleared")}
    return {**found, **times, "interval_seconds": seconds}


def _remarks(remarks: Sequence[Remark]) -> list[dict[str, object]]:
    return [{"line": remark.line, "text": remark.text} for remark in remarks]


def _section(section: Section) -> dict[str, object]:
    return {
        "name": section.name,
        "instance": section.instance,
        "line": section.line,
        "rows": [_row(row) for row in section.rows],
        "recommendations": [
            f"{remark.about}: {remark.text}" if remark.about else remark.text
            for remark in section.recommendations
        ],
        "remarks": [remark.text for remark in section.remarks],
    }


def _row(row: Row) -> dict[str, object]:
    flaws = {
        "overflow": list(row.overflow),
        "wrapped": [cell.measure for cell in row.cells if cell.wrapped],
    }
    return {
        "path": list(row.path),
        "row": row.label,
        "line": row.line,
        "cells": {cell.measure: cell.value for cell in row.cells},
        **{flaw: measures for flaw, measures in flaws.items() if measures},
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat(sep=" ") if moment else None
