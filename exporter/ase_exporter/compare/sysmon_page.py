"""Reports as one HTML page that loads nothing: headlines as pictures, advice of sp_sysmon and ours."""

from collections.abc import Sequence
from dataclasses import dataclass

from ase_exporter.compare.sysmon_trends import Trends
from ase_exporter.pages.render import render
from ase_exporter.pages.time_chart import TimeChart, time_chart
from ase_exporter.sysmon.difference import headline_changes
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.summary import version_of
from ase_exporter.sysmon.terminal import change_texts, completeness


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row of the page. texts: its cells. values: bars, of which `top` is a full one. chart: in place of bars."""

    name: str
    texts: Sequence[str]
    values: Sequence[float | None] = ()
    top: float = 1.0
    chart: TimeChart | None = None


def sysmon_page(
    reports: Sequence[tuple[str, Report]],
    trends: Trends | None = None,
    *,
    findings: Sequence[str] = (),
    configuration: Sequence[str] = (),
    warnings: Sequence[str] = (),
    advice: Sequence[str] = (),
) -> str:
    """The whole page: one report, before and after of two, or the trends of more, of which `reports` has the last.

    reports: with their files. advice: ours on the last report.
    """
    printed = [
        f"{section.name}{f' ({remark.about})' if remark.about else ''}: {remark.text}"
        for section in reports[-1][1].sections
        for remark in section.recommendations
    ]
    names = [one.server for one in trends.series()] if trends else [one.header.server for _, one in reports]
    columns = ("before", "after", "change") if len(reports) > 1 else ("value",)
    return render(
        "sysmon.html",
        title=f"sp_sysmon: {', '.join(dict.fromkeys(filter(None, names))) or 'no name'}",
        warnings=warnings,
        findings=findings,
        configuration=configuration,
        reports=[(file, one, version_of(one), completeness(one)) for file, one in reports],
        trends=trends,
        header=("least", "greatest", "last") if trends else columns,
        rows=_trend_rows(trends) if trends else _rows([one for _, one in reports]),
        advice=(("Recommendations of sp_sysmon", printed), ("Advice of ase-exporter", advice)),
    )


def _rows(reports: Sequence[Report]) -> list[PageRow]:
    """Each headline of one report or two. Percentages fill a bar of 100, other figures that of the greatest one."""
    rows = []
    for change in headline_changes(reports[:1], reports[-1:]):
        values = (change.before, change.after)[: len(reports)]
        top = 100.0 if change.in_points else max(value for value in values if value is not None)
        rows.append(PageRow(change.name, change_texts(change)[: 2 * len(reports) - 1], values, top))
    return rows


def _trend_rows(trends: Trends) -> list[PageRow]:
    """Each headline of each server, with its chart; all charts have one axis."""
    found = trends.series()
    start = min((series.times[0] for series in found), default=0.0)
    end = max((series.times[-1] for series in found), default=0.0)
    several = len({series.server for series in found}) > 1
    return [
        PageRow(
            f"{each.server}: {each.name}" if several else each.name,
            list(map(each.text, (min(each.values), max(each.values), each.values[-1]))),
            chart=time_chart([(each.times, each.values)], each.unit, start, end),
        )
        for each in found
    ]
