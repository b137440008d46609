"""A report as JSON."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from ase_exporter.sysmon.structure import Remark, Report, ReportRow


def report_json(report: Report) -> dict[str, Any]:
    """The whole report: header, sections with rows and text, errors, warnings; lines as in the file."""
    return {
        "header": {name: _plain(value) for name, value in asdict(report.header).items()},
        "complete": report.complete,
        "figures": sum(1 for _ in report.cells()),
        "missing": report.missing,
        "unread": list(map(_remark, report.unread)),
        "contradictions": list(map(_remark, report.contradictions)),
        "return_status": report.return_status,
        "sections": [
            {
                "name": section.name,
                "instance": section.instance,
                "line": section.line,
                "rows": list(map(_row, section.rows)),
                "recommendations": list(map(asdict, section.recommendations)),
                "remarks": list(map(_remark, section.remarks)),
            }
            for section in report.sections
        ],
        "messages": list(map(asdict, report.messages)),
        "warnings": list(map(_remark, report.warnings)),
    }


def _row(row: ReportRow) -> dict[str, Any]:
    return {
        "path": row.path,
        "row": row.label,
        "line": row.line,
        "cells": {cell.measure: cell.value for cell in row.cells},
        "overflow": row.overflow,
        "wrapped": [cell.measure for cell in row.cells if cell.wrapped],
    }


def _remark(remark: Remark) -> dict[str, Any]:
    return {"line": remark.line, "text": remark.text}


def _plain(value: Any) -> Any:
    """Times as ISO 8601 without a zone, the interval in seconds."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value
