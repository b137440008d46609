"""The report on one server as a view."""

from collections.abc import Iterable, Iterator

import numpy as np

from ase_exporter.compare.view import pair_text
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN
from ase_exporter.report.effects import MAX_JUDGED, Effect
from ase_exporter.report.history import Hour, Values, gap_resolution, mean
from ase_exporter.report.profile import LoadRow, ProfileTable
from ase_exporter.report.server_report import MAX_FINDINGS, ServerReport
from ase_exporter.views.chart import time_chart
from ase_exporter.views.figures import duration, minute, moment, number, shown, zone
from ase_exporter.views.view import (
    Cell,
    Chart,
    Items,
    Line,
    Part,
    Section,
    Style,
    Table,
    Verdict,
    View,
    columns,
)

MAX_LINES = 5
# A spinlock with less contention all the time tells nothing.
MIN_CONTENTION = 0.01
MAX_ROWS, MAX_MEASURES, MAX_MARKS = 40, 6, 12
_OUTCOMES: dict[str, Style] = {"better": "better", "worse": "worse", "mixed": "changed"}


def report_view(report: ServerReport) -> View:
    """Everything that is known of the server in the period, what matters most first."""
    start, end = report.period.start, report.period.end
    period_zone = zone(start, end)
    return View(
        f"{report.name}: {minute(start)} to {minute(end)} {moment(end)[:4]} {period_zone}",
        [
            Verdict(report.verdict, report.level),
            _figures(report),
            *_charts(report),
            _worst_hours(report.worst),
            _load(report.load),
            *map(_table, report.tables.values()),
            Line(
                "Means over the period of rates over some minutes; statements, procedures, objects and errors are what"
                " was counted in it, space is that of its end. Only what the exporter has read.",
                "method",
            ),
            Section("Changes and their effect", [*_effects(report)]),
            Section("What would ease it", [*_to_ease(report)]),
            Section("Gaps in the data", [*_gaps(report)]),
            Line(
                f"From the series that the shipped rules record, in means of {duration(report.period.step)}; scraped"
                f" every {report.scrape:.0f} s; {report.requests} queries. Times are {period_zone}. Written"
                f" {moment(report.period.now)} by ase-exporter.",
                "method",
            ),
        ],
    )


def _figures(report: ServerReport) -> Table:
    """The main figures, over the whole period and in its worst hour. Transactions are those of the load below."""
    history, worst = report.history, report.worst[0]
    transactions = report.load[0].per_second
    rows = [
        ("CPU busy", shown(mean(history.busy), "ratio"), shown(worst.busy, "ratio")),
        ("engine time spinning", shown(mean(history.spinning), "ratio"), shown(worst.spinning, "ratio")),
        ("transactions per second", shown(transactions), shown(worst.transactions)),
        ("transactions per CPU unit", shown(mean(history.per_cpu_unit)), shown(worst.per_cpu_unit)),
    ]
    figures = ("mean", "in the worst hour")
    return Table(columns("", *figures, figures=figures), rows)


def _charts(report: ServerReport) -> list[Chart]:
    """CPU, contention and throughput over the period, each with the changes; without those that would be empty."""
    history = report.history
    means = f"Means of {duration(report.period.step)}; dashed: changes by number; grey: no data."
    estimate = f"{means} Spinning is an estimate: {number(threshold(SECONDS_PER_SPIN) * 1e9)} ns a spin."
    contended = [
        each for each in history.spinlocks if np.nanmax(each.contention, initial=0.0) >= MIN_CONTENTION
    ]
    spinlocks = {each.name: each.contention * 100 for each in contended[:MAX_LINES]}
    cpu = {"busy": history.busy * 100, "of that: spinning": history.spinning * 100}
    wanted: list[tuple[str, str, dict[str, Values], str]] = [
        ("CPU of the engines", "%", cpu, estimate),
        ("Contention of the spinlocks that spin most, grabs that wait", "%", spinlocks, means),
        ("Transactions per CPU unit", "", {"": history.per_cpu_unit}, means),
        ("Transactions", "per second", {"": history.transactions}, means),
    ]
    found = [_chart(report, *each) for each in wanted]
    return [each for each in found if each.chart.lines]


def _chart(report: ServerReport, title: str, unit: str, lines: dict[str, Values], caption: str) -> Chart:
    period = report.period
    times = (period.starts + period.step / 2).tolist()
    known = {name: values for name, values in lines.items() if np.isfinite(values).any()}
    chart = time_chart(
        [(times, values.tolist()) for values in known.values()],
        unit,
        period.start,
        period.end,
        names=list(known) if len(lines) > 1 or "" not in lines else (),
        gaps=[(gap.start, gap.end, gap.name) for gap in report.gaps],
        marks=[(effect.at, ", ".join(map(str, effect.marks))) for effect in report.effects],
    )
    return Chart(chart, f"{title}, 0 to {shown(chart.greatest)} {unit}".rstrip(), caption, numbered=True)


def _worst_hours(hours: tuple[Hour, ...]) -> Section:
    figures = ("spinning", "CPU busy", "trans/s", "per CPU unit")
    titles = ("from", "finding", *figures, "hottest spinlock", "its contention")
    heads = columns(*titles, figures=(*figures, "its contention"), whole=("from",))
    rows = [
        (
            minute(hour.start),
            hour.found.word if hour.found else "-",
            shown(hour.spinning, "ratio"),
            shown(hour.busy, "ratio"),
            shown(hour.transactions),
            shown(hour.per_cpu_unit),
            hour.hottest or "-",
            shown(hour.contention, "ratio"),
        )
        for hour in hours
    ]
    length = hours[0].seconds
    how = Line("The highest rank of the first finding first; to the percent alike, the busiest.", "method")
    title = "Worst hours" if length <= 3600 else f"Worst spans of {duration(length)}"
    return Section(title, [Table(heads, rows), how])


def _load(rows: Iterable[LoadRow]) -> Section:
    figures = ("per second", "per transaction")
    cells = [(each.title, shown(each.per_second), shown(each.per_transaction)) for each in rows]
    return Section("Load", [Table(columns("", *figures, figures=figures), cells)])


def _table(table: ProfileTable) -> Section:
    empty = f"Not known: {table.reason}." if table.reason else "None."
    heads = columns(table.what, table.unit, figures=(table.unit,))
    rows = [(" ".join(filter(None, names)), shown(value, table.form)) for names, value in table.rows]
    return Section(table.title, [Table(heads, rows, empty=empty)])


def _effects(report: ServerReport) -> Iterator[Part]:
    titles = ("", "when", "change", "effect", "before → after, difference [interval]")
    rows = [
        (
            str(place),
            _when(effect),
            "\n".join(_first([mark.brief for mark in effect.marks], MAX_MARKS, "more: ase-exporter changes")),
            Cell(effect.outcome, style=_OUTCOMES.get(effect.outcome, "")),
            _judged(effect),
        )
        for place, effect in enumerate(report.effects, 1)
    ]
    heads = columns(*titles, whole=("", "when", "effect"))
    yield Table(heads, rows, empty="No change is recorded in the period.")
    if rows:
        yield Line(
            "Before against after each change, as ase-exporter compare --around does it, at 95 % confidence. The effect"
            " is that on throughput per CPU unit; without evidence there, that on the other measures. At most"
            f" {MAX_JUDGED} are judged.",
            "method",
        )
    if report.harmless:
        yield Line("Annotations, cleared counters, and what takes effect at the next restart:")
        yield Items([f"{moment(mark.at)} {mark}" for mark in report.harmless])


def _when(effect: Effect) -> str:
    first = effect.marks[0].at
    return f"{minute(first)} to {minute(effect.at)}" if effect.at - first >= 60 else minute(effect.at)


def _judged(effect: Effect) -> str:
    if effect.comparison is None:
        return effect.reason
    told = [f"{row.verdict} {row.title}: {pair_text(row)}" for row in effect.judged]
    lines = [*_first(told, MAX_MEASURES, "more changed"), *effect.comparison.warnings]
    return "\n".join(lines) or "no measure changed beyond chance"


def _first(texts: list[str], most: int, what: str) -> list[str]:
    """The first texts, and how many more there are."""
    return [*texts[:most], *([f"and {len(texts) - most} {what}"] if len(texts) > most else [])]


def _to_ease(report: ServerReport) -> Iterator[Part]:
    hour, diagnosis = report.to_ease.hour, report.to_ease.diagnosis
    marks = [f"{minute(mark.at)} {mark.brief}" for mark in report.to_ease.later]
    since = f"; changed since: {'; '.join(_first(marks, MAX_MARKS, 'more'))}" if marks else ""
    yield Line(f"Found in the hour from {minute(hour.start)}{since}.", "soft")
    for finding in diagnosis.findings[:MAX_FINDINGS]:
        known = finding.definition
        gains = (
            "" if finding.share is None else f"gains at most {shown(finding.share, 'ratio')} of session time"
        )
        expected = f"expect: {known.expect}" if known and known.expect else ""
        yield Section(
            finding.sentence, [Items([*(known.next if known else ()), *filter(None, (gains, expected))])]
        )
    if not diagnosis.findings:
        yield Line(f"{diagnosis.word}: nothing was found.")
    if diagnosis.not_judged:
        yield Line(f"{diagnosis.not_judged}.", "soft")
    yield Line(
        "ase-exporter advise watches the server and writes the statements, their arithmetic and price.",
        "soft",
    )


def _gaps(report: ServerReport) -> Iterator[Part]:
    known = duration(gap_resolution(report.period, report.scrape))
    titles = ("from", "to", "length", "what")
    rows = [
        (minute(gap.start), minute(gap.end), duration(gap.seconds), gap.name)
        for gap in report.gaps[:MAX_ROWS]
    ]
    yield Table(columns(*titles, figures=("length",), whole=titles), rows, empty=f"None (to {known}).")
    if (more := len(report.gaps) - MAX_ROWS) > 0:
        yield Line(f"{more} more.")
    if rows:
        yield Line(
            f"Known to {known}. No data: nothing was scraped. Server down: the exporter could not read the server."
            " Means and verdicts leave these times out.",
            "method",
        )
