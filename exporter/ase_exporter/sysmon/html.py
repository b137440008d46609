"""Reports as one HTML page that loads nothing: headlines as pictures, advice of sp_sysmon and ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from ase_exporter.pages.document import document
from ase_exporter.pages.sparkline import sparkline
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.summary import Figure, summary, version_of
from ase_exporter.sysmon.terminal import change_texts, completeness

_BAR, _BAR_HEIGHT = 260, 14
_BEFORE, _AFTER = "var(--series-8)", "var(--series-1)"
_STYLE = "body { font-size: .94rem; } table { width: 100%; } th, td { vertical-align: middle; }"
_MAX_PAIR = 2


@dataclass(frozen=True, slots=True)
class Brief:
    """What the page shows of one report: little, so that thousands of reports fit into memory."""

    file: str
    server: str
    version: str
    ended: datetime | None
    completeness: str
    complete: bool
    figures: tuple[Figure, ...]
    printed_advice: tuple[str, ...]
    own_advice: tuple[str, ...]


def brief(file: str, report: Report, advice: Sequence[str]) -> Brief:
    """What the page needs of one report; advice: ours, beside that of sp_sysmon."""
    return Brief(
        file,
        report.header.server,
        version_of(report),
        report.header.ended,
        completeness(report),
        report.complete,
        tuple(summary(report)),
        tuple(
            f"{section.name}{f' ({remark.about})' if remark.about else ''}: {remark.text}"
            for section in report.sections
            for remark in section.recommendations
        ),
        tuple(advice),
    )


def as_html(reports: Sequence[Brief], warnings: Sequence[str] = ()) -> str:
    """The whole page: one report, before and after of two, or trends of more. warnings: shown above all."""
    if len(reports) > _MAX_PAIR:
        reports = sorted(reports, key=lambda one: one.ended or datetime.min)
    servers = ", ".join(dict.fromkeys(one.server for one in reports if one.server)) or "sp_sysmon"
    headlines = _trends(reports) if len(reports) > _MAX_PAIR else _bars(reports)
    body = [_about(reports, warnings), "<h2>Headlines</h2>", headlines, _advice(reports)]
    return document(f"sp_sysmon: {servers}", "\n".join(body), _STYLE)


def _about(reports: Sequence[Brief], warnings: Sequence[str]) -> str:
    lines = [f'<p class="warning">{escape(text)}</p>' for text in warnings]
    if len(reports) > _MAX_PAIR:
        incomplete = sum(not one.complete for one in reports)
        first, last = reports[0].ended, reports[-1].ended
        lines.append(f"<p>{len(reports)} reports from {first} to {last}; {incomplete} are not complete.</p>")
        return "\n".join(lines)
    for one in reports:
        style = "" if one.complete else ' class="warning"'
        text = f"{one.file}: {one.server}, {one.version}, ended {one.ended}; {one.completeness}"
        lines.append(f"<p{style}>{escape(text)}</p>")
    return "\n".join(lines)


def _bars(reports: Sequence[Brief]) -> str:
    """A bar for each report; percentages fill a bar of 100, other figures that of the greater one."""
    found = [{figure.name: figure for figure in one.figures} for one in reports]
    units = {figure.name: figure.unit for one in reports for figure in one.figures}
    rows = []
    for name, unit in units.items():
        values = [figures[name].value if name in figures else None for figures in found]
        top = 100.0 if unit == "%" else max((value or 0.0 for value in values), default=0.0)
        texts = change_texts(values[0], values[-1], unit == "%", unit)
        cells = texts if len(values) > 1 else texts[:1]
        rows.append(
            f"<tr><td>{escape(name)}</td>"
            + "".join(f'<td class="number">{escape(text)}</td>' for text in cells)
            + f"<td>{_bar(values, top)}</td></tr>"
        )
    titles = ("before", "after", "change") if len(reports) > 1 else ("value",)
    head = "".join(f'<th class="number">{title}</th>' for title in titles)
    return f"<table><tr><th></th>{head}<th></th></tr>\n" + "\n".join(rows) + "\n</table>"


def _bar(values: Sequence[float | None], top: float) -> str:
    colours = (_BEFORE, _AFTER) if len(values) > 1 else (_AFTER,)
    parts = [
        f'<rect x="0" y="{at * _BAR_HEIGHT}" height="{_BAR_HEIGHT - 2}" fill="{colour}"'
        f' width="{_BAR * min((value or 0.0) / top, 1.0) if top else 0:.1f}"/>'
        for at, (value, colour) in enumerate(zip(values, colours, strict=False))
    ]
    return f'<svg width="{_BAR}" height="{len(values) * _BAR_HEIGHT}" role="img">{"".join(parts)}</svg>'


def _trends(reports: Sequence[Brief]) -> str:
    units = {figure.name: figure.unit for one in reports for figure in one.figures}
    rows = []
    for name, unit in units.items():
        points = [
            (at, figure.value)
            for at, one in enumerate(reports)
            for figure in one.figures
            if figure.name == name
        ]
        low, high = min(value for _, value in points), max(value for _, value in points)
        texts = [f"{value:,.6g} {unit}".strip() for value in (low, high, points[-1][1])]
        cells = "".join(f'<td class="number">{escape(text)}</td>' for text in texts)
        rows.append(
            f"<tr><td>{escape(name)}</td>{cells}<td>{sparkline(points, len(reports) - 1, high)}</td></tr>"
        )
    head = "".join(f'<th class="number">{title}</th>' for title in ("least", "greatest", "last"))
    return f"<table><tr><th></th>{head}<th></th></tr>\n" + "\n".join(rows) + "\n</table>"


def _advice(reports: Sequence[Brief]) -> str:
    """Of the last report."""
    last = reports[-1]
    parts = [
        f"<h2>{title}</h2>\n<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
        for title, texts in (
            ("Recommendations of sp_sysmon", last.printed_advice),
            ("Advice of ase-exporter", last.own_advice),
        )
        if texts
    ]
    return "\n".join(parts)
