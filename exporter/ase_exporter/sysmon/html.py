"""Reports as one HTML page that loads nothing: headlines as pictures, advice of sp_sysmon and ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ase_exporter.pages.render import render
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.summary import Figure, summary, version_of
from ase_exporter.sysmon.terminal import change_texts, completeness

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


@dataclass(frozen=True, slots=True)
class Headline:
    """A row of the page. texts: its cells. values: of each report, None where it lacks the figure. top: a full bar."""

    name: str
    texts: Sequence[str]
    values: Sequence[float | None]
    top: float


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


def sysmon_page(reports: Sequence[Brief], warnings: Sequence[str] = ()) -> str:
    """The whole page: one report, before and after of two, or trends of more. warnings: shown above all."""
    trends = len(reports) > _MAX_PAIR
    if trends:
        reports = sorted(reports, key=lambda one: one.ended or datetime.min)
        header: tuple[str, ...] = ("least", "greatest", "last")
    else:
        header = ("before", "after", "change") if len(reports) > 1 else ("value",)
    servers = ", ".join(dict.fromkeys(one.server for one in reports if one.server)) or "sp_sysmon"
    last = reports[-1]
    return render(
        "sysmon.html",
        title=f"sp_sysmon: {servers}",
        warnings=warnings,
        reports=reports,
        trends=trends,
        header=header,
        rows=_headlines(reports, trends),
        advice=(
            ("Recommendations of sp_sysmon", last.printed_advice),
            ("Advice of ase-exporter", last.own_advice),
        ),
    )


def _headlines(reports: Sequence[Brief], trends: bool) -> list[Headline]:
    """Each figure of any report. Percentages fill a bar of 100, other figures that of the greatest one."""
    found = [{figure.name: figure.value for figure in one.figures} for one in reports]
    units = {figure.name: figure.unit for one in reports for figure in one.figures}
    rows = []
    for name, unit in units.items():
        values = [figures.get(name) for figures in found]
        known = [value for value in values if value is not None]
        if trends:
            texts = [f"{value:,.6g} {unit}".strip() for value in (min(known), max(known), known[-1])]
        else:
            texts = list(change_texts(values[0], values[-1], unit == "%", unit))
        bar = 100.0 if unit == "%" and not trends else max(known)
        rows.append(Headline(name, texts if len(reports) > 1 else texts[:1], values, bar))
    return rows
