"""Headlines of sp_sysmon reports: what happened when over many, on the terminal and on a page that loads nothing."""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from ase_exporter.compare.levels import levels, outliers
from ase_exporter.pages.render import render
from ase_exporter.pages.time_chart import TimeChart, time_chart, wall_clock, wall_seconds
from ase_exporter.sysmon.difference import headline_changes, weight_of
from ase_exporter.sysmon.structure import Report
from ase_exporter.sysmon.summary import Unit, figure_text, summary, version_of
from ase_exporter.sysmon.terminal import change_texts, completeness, print_list
from ase_exporter.untrusted.terminal import PlainConsole, TextLine, WordTable

# Of events: the least weight, and how many of one time are named.
_MIN_CHANGE, _MIN_OUTLIER, _NAMED = 0.1, 0.25, 3
# More of them are no exceptions: a batch every night is one in 24.
_MAX_OUTLIERS = 0.03


@dataclass(slots=True)
class Series:
    """One headline of one server in the order of time. reports: the places of the reports in `Trends.files`.

    times: seconds of the server's wall clock, see `pages.time_chart.wall_clock`.
    """

    server: str
    name: str
    unit: Unit
    times: "array[float]" = field(default_factory=lambda: array("d"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    reports: "array[int]" = field(default_factory=lambda: array("I"))

    def text(self, value: float) -> str:
        """One of its values with its unit."""
        return f"{value:,.6g} {self.unit}".strip()

    def sort(self) -> None:
        """Put the points in the order of time."""
        order = sorted(range(len(self.times)), key=self.times.__getitem__)
        self.times = array("d", [self.times[at] for at in order])
        self.values = array("d", [self.values[at] for at in order])
        self.reports = array("I", [self.reports[at] for at in order])


class Trends:
    """Collects reports. incomplete: how many of them are not complete; undated: how many others lack their time."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.incomplete = self.undated = 0
        self._series: dict[tuple[str, str], Series] = {}

    def add(self, file: str, report: Report) -> None:
        """Add one report, if it says when its sample ended."""
        if report.header.ended is None:
            self.undated += 1
            return
        self.incomplete += not report.complete
        at = wall_seconds(report.header.ended)
        for figure in summary(report, everything=True):
            key = (report.header.server, figure.name)
            series = self._series.setdefault(key, Series(*key, figure.unit))
            series.times.append(at)
            series.values.append(figure.value)
            series.reports.append(len(self.files))
        self.files.append(file)

    def series(self) -> list[Series]:
        """All headlines that are ever above 0, server by server."""
        found = [one for one in self._series.values() if any(one.values)]
        for one in found:
            one.sort()
        servers = list(dict.fromkeys(one.server for one in found))
        return sorted(found, key=lambda one: servers.index(one.server))


@dataclass(frozen=True, slots=True)
class _Event:
    """A change for good, or an outlier, of one series. at: its first point. usual: before it, or around it."""

    series: Series
    at: int
    usual: float
    value: float
    lasting: bool

    @property
    def weight(self) -> float:
        return weight_of(self.usual, self.value, self.series.unit == "%")


def trend_findings(trends: Trends) -> list[str]:
    """Changes for good, then outliers, one sentence for each time, the most relevant first."""
    by_time: defaultdict[tuple[bool, str, float], list[_Event]] = defaultdict(list)
    for series in trends.series():
        for event in _events(series):
            by_time[event.lasting, series.server, series.times[event.at]].append(event)
    groups = [sorted(group, key=lambda event: -event.weight) for group in by_time.values()]
    groups.sort(key=lambda group: (not group[0].lasting, -group[0].weight))
    return [_sentence(group, trends.files) for group in groups]


def _events(series: Series) -> Iterator[_Event]:
    values = list(series.values)
    found = [_Event(series, at, usual, values[at], False) for at, usual in outliers(values).items()]
    alone = [event for event in found if event.weight >= _MIN_OUTLIER]
    if len(alone) <= max(1.0, _MAX_OUTLIERS * len(values)):
        yield from alone
        for event in alone:
            values[event.at] = event.usual
    bounds = levels(values)
    for start, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        event = _Event(series, at, fmean(values[start:at]), fmean(values[at:end]), True)
        if event.weight >= _MIN_CHANGE:
            yield event


def _sentence(events: Sequence[_Event], files: Sequence[str]) -> str:
    """What happened at one time on one server."""
    first = events[0]
    when = f"{wall_clock(first.series.times[first.at]):%Y-%m-%d %H:%M}"
    texts = []
    for event in events[:_NAMED]:
        usual, value = (figure_text(figure, event.series.unit) for figure in (event.usual, event.value))
        both = f"{usual} -> {value}" if event.lasting else f"{value}, around it {usual}"
        texts.append(f"{event.series.name} {both}")
    more = f"; {len(events) - _NAMED} more" if len(events) > _NAMED else ""
    kind = "changed for good from" if first.lasting else "outlier at"
    return f"{first.series.server} {kind} {when} ({files[first.series.reports[first.at]]}): {'; '.join(texts)}{more}"


def print_trends(trends: Trends, findings: Sequence[str]) -> None:
    """What happened over many reports, then the least, mean, greatest and last value of each headline."""
    out = PlainConsole()
    undated = f"; {trends.undated} more do not say when their sample ended" if trends.undated else ""
    complete = f"{trends.incomplete} of them not complete" if trends.incomplete else "all complete"
    out.print(TextLine(f"{len(trends.files)} reports, {complete}{undated}"))
    print_list(out, "Findings", findings or ["no headline changed for good, and no report stands out"])
    rows = []
    for series in trends.series():
        values = series.values
        texts = map(series.text, (min(values), fmean(values), max(values), values[-1]))
        rows.append((series.server, series.name, *texts))
    titles = ("Server", "Headline", "least", "mean", "greatest", "last")
    out.print("", WordTable(titles, rows, range(2, 6)), sep="\n")


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
