"""Reports as JSON, CSV, series of Prometheus, and OpenMetrics with times, for `promtool tsdb`."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

from ase_exporter.errors import UserError
from ase_exporter.metrics.exposition import escape_label, format_number, render_text
from ase_exporter.metrics.families import Family
from ase_exporter.sysmon.metrics import families
from ase_exporter.sysmon.structure import QUALITIES, Header, Remark, Report, Row, Section
from ase_exporter.sysmon.summary import summary
from ase_exporter.untrusted.encoders import csv_lines

CSV_HEADING = "file,server,time,section,instance,path,row,measure,value,quality,report,text,line,column\n"
# It is relative to the present; in a history every sample has its time.
_OF_THE_PRESENT = "ase_sysmon_sample_age_seconds"


def as_json(report: Report) -> dict[str, object]:
    """The whole report: header, sections with rows and text, errors, warnings; lines as in the file."""
    return {
        "header": _header(report.header),
        "complete": report.complete,
        "figures": {quality: report.count(quality) for quality in QUALITIES},
        "discarded_numbers": report.discarded,
        "missing": report.missing,
        "unplaced": _remarks(report.unplaced),
        "contradictions": _remarks(report.contradictions),
        "return_status": report.return_status,
        "sections": [_section(section) for section in report.sections],
        "messages": [
            {"line": message.line, "number": message.number, "level": message.level, "text": message.text}
            for message in report.messages
        ],
        "warnings": _remarks(report.warnings),
    }


def series_entry(file: str, report: Report) -> dict[str, object]:
    """The headlines of one report of a series."""
    return {
        "file": file,
        "server": report.header.server,
        "ended": _time(report.header.ended),
        "complete": report.complete,
        "headlines": {figure.name: figure.value for figure in summary(report)},
    }


def csv_rows(report: Report, file: str = "") -> str:
    """One line per figure; sub-headings are joined by ' / '. time: when the sample ended.

    quality: of the figure; report: whether all of the report is there and nothing contradicts it.
    """
    state = "complete" if report.complete else "incomplete"
    where = (file, report.header.server, _time(report.header.ended) or "")
    return csv_lines(
        (
            *(*where, section.name, section.instance, " / ".join(row.path), row.label),
            *(cell.measure, cell.value, cell.quality, state, cell.text, row.line, cell.column + 1),
        )
        for section, row, cell in report.cells()
    )


def series_text(reports: Iterable[tuple[str, Report]], cells: list[str], files: int) -> str:
    """The series of reports, given with their files. files: how many there are.

    If there are several reports, every series has the labels file, run (its number in the file, from 1) and server.
    """
    found = [(file, report.header.server, families(report, cells)) for file, report in reports]
    if files == 1 and len(found) == 1:
        return render_text(found[0][2])
    merged: dict[str, Family] = {}
    runs: Counter[str] = Counter()
    for file, server, of_report in found:
        runs[file] += 1
        source = {"file": file, "run": str(runs[file]), "server": server}
        for each in of_report:
            names = tuple(sorted({*each.labels, *source}))
            family = merged.setdefault(each.name, Family(each.name, each.kind, each.help, names))
            for values, value in each.samples:
                labels = dict(zip(each.labels, values, strict=True)) | source
                family.add(value, *(labels[name] for name in names))
    return render_text(merged.values())


@dataclass(slots=True)
class OpenMetricsHistory:
    """Collects the series of many reports: two numbers for each point, whatever the reports hold beside.

    cells: as for `families`. labels: for every series; without an instance the server's name is it.
    """

    cells: list[str]
    labels: Mapping[str, str]
    _series: "dict[str, dict[str, array[float]]]" = field(default_factory=dict)

    def add(self, file: str, report: Report) -> None:
        """Add one report; raises UserError for one that does not say when its sample ended."""
        if report.header.ended is None:
            raise UserError(f"{file}: the report does not say when its sample ended")
        ended = report.header.ended.timestamp()
        always = {"instance": report.header.server, **self.labels}
        for family in families(report, self.cells, ended, ended):
            if family.name == _OF_THE_PRESENT:
                continue
            of_metric = self._series.setdefault(family.name, {})
            for values, value in family.samples:
                pairs = sorted({**always, **dict(zip(family.labels, values, strict=True))}.items())
                series = ",".join(f'{name}="{escape_label(text)}"' for name, text in pairs)
                of_metric.setdefault(series, array("d")).extend((ended, value))

    def lines(self) -> Iterator[str]:
        """OpenMetrics, series by series in the order of time; a sample that was added twice counts once."""
        for metric, of_metric in self._series.items():
            yield f"# TYPE {metric} gauge"
            for series, points in of_metric.items():
                values_at = dict(zip(points[::2], points[1::2], strict=True))
                for at, value in sorted(values_at.items()):
                    yield f"{metric}{{{series}}} {format_number(value)} {at}"
        yield "# EOF"


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
        "contradicted": [cell.measure for cell in row.cells if cell.quality == "contradicted"],
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
