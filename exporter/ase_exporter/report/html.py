"""The page of one server."""

from collections.abc import Iterable, Sequence
from html import escape

from ase_exporter.advise.advice import Advice, SpinlockFinding
from ase_exporter.advise.report import PREDICTION
from ase_exporter.compare.comparison import ComparisonRow
from ase_exporter.compare.headline import latest_verdict
from ase_exporter.compare.report import interval, value
from ase_exporter.compare.windows import Mark, clock
from ase_exporter.pages.document import VERDICTS, document
from ase_exporter.report.alerts import AlertHistory
from ase_exporter.report.charts import alert_chart, charts
from ase_exporter.report.effects import MAX_JUDGED, Effect
from ase_exporter.report.forecasts import HORIZON
from ase_exporter.report.history import Hour, mean
from ase_exporter.report.period import DAY, HOUR
from ase_exporter.report.server_report import HourAdvice, ServerReport
from ase_exporter.report.verdict import bin_text, duration, moment, percent, state, verdict

MAX_ALERTS, MAX_SUBJECTS, MAX_GAPS, MAX_MEASURES, MAX_FINDINGS = 40, 3, 40, 6, 5
STYLE = (
    VERDICTS
    + """\
.verdict { font-size: 1.15rem; padding: .7rem 1rem; border-left: 5px solid var(--good); background: var(--panel); }
.verdict.warn { border-color: var(--series-5); }
.verdict.bad { border-color: var(--bad); }
.figures { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
.figures div { background: var(--panel); padding: .5rem .8rem; min-width: 8rem; flex: 1; }
.figures b { display: block; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.figures span, .soft { color: var(--soft); font-size: .85rem; }
td { overflow-wrap: anywhere; min-width: 7rem; }
td.number, td.whole { overflow-wrap: normal; min-width: 0; }
td.whole, .one { white-space: nowrap; }
ul { padding-left: 1.2rem; } td ul { margin: 0; }
pre { background: var(--panel); padding: .5rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.mixed { color: var(--warn); font-weight: 600; }
"""
)


def as_html(report: ServerReport) -> str:
    """The report as a complete page."""
    return document(f"{report.name}: {title_of(report.period.start, report.period.end)}", body(report), STYLE)


def title_of(start: float, end: float) -> str:
    """A period as titles have it."""
    return f"{moment(start)} to {moment(end)} {clock(end)[:4]} UTC"


def body(report: ServerReport) -> str:
    """The content of the page below its title."""
    rated = state(report.worst[0].spinning, report.alerts)
    sections = [
        f'<p class="verdict {rated}">{escape(verdict(report))}</p>',
        _figures(report),
        *charts(report),
        _worst_hours(report.worst),
        _changes(report),
        _alerts(report),
        _advice(report.advice),
        _forecasts(report),
        _gaps(report),
        _method(report),
    ]
    return "\n".join(section for section in sections if section)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
    whole: Sequence[int] = (),
) -> str:
    """A table. header: text. rows: cells of HTML. numbers: the columns of figures; whole: of text never broken."""
    styles = dict.fromkeys(whole, "whole") | dict.fromkeys(numbers, "number")
    classes = [f' class="{styles[column]}"' if column in styles else "" for column in range(len(header))]
    head = "".join(f"<th{style}>{escape(name)}</th>" for style, name in zip(classes, header, strict=True))
    body = "\n".join(
        "<tr>"
        + "".join(f"<td{style}>{cell}</td>" for style, cell in zip(classes, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
    )


def number(figure: float) -> str:
    """A figure for people; a dash for NaN."""
    return "–" if figure != figure else f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:,.1f}"


def _figures(report: ServerReport) -> str:
    history, worst = report.history, report.worst[0]
    known = 1 - report.missing / report.period.seconds
    tiles = [
        ("CPU busy", percent(mean(history.busy)), f"{percent(worst.busy)} in the worst hour"),
        (
            "engine time spinning",
            percent(mean(history.spinning)),
            f"{percent(worst.spinning)} in the worst hour",
        ),
        (
            "transactions per second",
            number(mean(history.transactions)),
            f"{number(worst.transactions)} in the worst hour",
        ),
        (
            "transactions per CPU unit",
            number(mean(history.per_cpu_unit)),
            f"{number(worst.per_cpu_unit)} in the worst hour",
        ),
        (
            "of the period with data",
            percent(known),
            f"{len(report.gaps)} gap{'' if len(report.gaps) == 1 else 's'}",
        ),
    ]
    cells = "".join(f"<div><b>{text}</b>{name}<br><span>{more}</span></div>" for name, text, more in tiles)
    return f'<div class="figures">{cells}</div>'


def _worst_hours(hours: Sequence[Hour]) -> str:
    length = hours[0].seconds
    name = "Worst hours" if length <= HOUR else f"Worst spans of {bin_text(length)}"
    rows = [
        (
            moment(hour.start),
            percent(hour.spinning),
            percent(hour.busy),
            number(hour.transactions),
            number(hour.per_cpu_unit),
            escape(hour.hottest) or "–",
            percent(hour.contention),
        )
        for hour in hours
    ]
    header = (
        "from (UTC)",
        "spinning",
        "CPU busy",
        "trans/s",
        "per CPU unit",
        "hottest spinlock",
        "its contention",
    )
    note = "The most engine time spent spinning first; to the percent alike, the busiest."
    return f"<h2>{name}</h2>\n{table(header, rows, (1, 2, 3, 4, 6), (0,))}\n<p class='method'>{note}</p>"


def _changes(report: ServerReport) -> str:
    harmless = [mark for mark in report.marks if not any(mark in effect.marks for effect in report.effects)]
    parts = ["<h2>Changes and their effect</h2>"]
    if report.effects:
        rows = [(str(place), *_effect_cells(effect)) for place, effect in enumerate(report.effects, 1)]
        parts.append(
            table(
                ("", "when (UTC)", "change", "effect", "before → after, difference [interval]"),
                rows,
                (),
                (0, 1, 3),
            )
        )
        parts.append(
            "<p class='method'>Before against after each change, as <code>ase-exporter compare --around</code> does"
            f" it, at 95 % confidence. The effect is that on throughput per CPU unit; without evidence there, that on"
            f" the other measures. At most {MAX_JUDGED} are judged.</p>"
        )
    else:
        parts.append("<p>No change is recorded in the period.</p>")
    if harmless:
        items = "".join(f"<li>{clock(mark.at)} {escape(str(mark))}</li>" for mark in harmless)
        parts.append(f"<p>Annotations and cleared counters:</p><ul>{items}</ul>")
    return "\n".join(parts)


def _effect_cells(effect: Effect) -> tuple[str, str, str, str]:
    what = "<br>".join(escape(_mark_text(mark)) for mark in effect.marks)
    if effect.comparison is None:
        return _when(effect), what, "not judged", escape(effect.reason)
    judged = effect.judged
    lines = [f"<li>{_judged(row)}</li>" for row in judged[:MAX_MEASURES]]
    if len(judged) > MAX_MEASURES:
        lines.append(f"<li>and {len(judged) - MAX_MEASURES} more changed</li>")
    lines += [f"<li class='soft'>{escape(note)}</li>" for note in effect.comparison.warnings]
    style = effect.outcome.replace(" ", "-")
    measures = f"<ul>{''.join(lines)}</ul>" if lines else "no measure changed beyond chance"
    return _when(effect), what, f'<span class="{style}">{effect.outcome}</span>', measures


def _judged(row: ComparisonRow) -> str:
    before, after = row.values
    difference = row.against_first[-1]
    figures = (
        f"{value(row.measure, before)} → {value(row.measure, after)}, {interval(row.measure, difference)}"
    )
    word = latest_verdict(row)
    (equal,) = row.at_equal_load
    if equal and difference and equal.verdict != difference.verdict:
        figures += f"; at equal load {interval(row.measure, equal)} {equal.verdict}"
    return f'<span class="{word}">{word}</span> {escape(row.title)}: {escape(figures)}'


def _when(effect: Effect) -> str:
    first, last = effect.marks[0].at, effect.at
    return moment(last) if last - first < 60 else f"{moment(first)} to {moment(last)}"


def _mark_text(mark: Mark) -> str:
    if mark.kind == "restart":
        return "server restarted"
    moved = f": {mark.old or '(none)'} → {mark.new or '(none)'}" if mark.old or mark.new else ""
    return f"{mark.kind} {mark.name}{moved}"


def _alerts(report: ServerReport) -> str:
    parts = ["<h2>Alerts</h2>"]
    if not report.alerts:
        text = (
            "No alert fired."
            if report.alerts_recorded
            else "Prometheus has no series ALERTS of any server: whether the alerting rules are loaded is not known."
        )
        return "\n".join([*parts, f"<p>{text}</p>"])
    rows = [_alert_row(alert) for alert in report.alerts[:MAX_ALERTS]]
    header = ("alert", "severity", "about", "fired", "in all", "longest", "until (UTC)")
    parts += [alert_chart(report.alerts, report.period), table(header, rows, (3, 4, 5), (0, 1, 6))]
    if len(report.alerts) > MAX_ALERTS:
        parts.append(f"<p>{len(report.alerts) - MAX_ALERTS} more alerts fired for a shorter time.</p>")
    return "\n".join(parts)


def _alert_row(alert: AlertHistory) -> tuple[str, ...]:
    subjects = [subject for subject in alert.subjects if subject]
    about = ", ".join(subjects[:MAX_SUBJECTS])
    if len(subjects) > MAX_SUBJECTS:
        about += f" and {len(subjects) - MAX_SUBJECTS} more"
    last = "firing" if alert.firing else f"{moment(alert.spells[-1].end)}"
    since = f"; active since {moment(alert.active_since)}" if alert.active_since else ""
    return (
        escape(alert.name),
        f'<span class="{"worse" if alert.severity == "critical" else ""}">{escape(alert.severity)}</span>',
        escape(about),
        f"{len(alert.spells)} ×",
        duration(alert.seconds),
        duration(alert.longest),
        escape(last + since),
    )


def _advice(advice: Sequence[HourAdvice]) -> str:
    parts = ["<h2>What would ease the hottest spinlocks</h2>"]
    for place, each in enumerate(advice):
        which = "the worst hour" if place == 0 else "the worst hour since the last change"
        parts.append(f"<h3>In {which}, {moment(each.hour.start)} UTC</h3>")
        parts += _hour_advice(each)
    unknown = dict.fromkeys(text for each in advice for text in each.unknown)
    if unknown:
        items = "".join(f"<li>{escape(text)}</li>" for text in unknown)
        parts.append(f'<p class="soft">What Prometheus cannot say:</p><ul class="soft">{items}</ul>')
    return "\n".join(parts)


def _hour_advice(each: HourAdvice) -> list[str]:
    parts = []
    if each.later:
        changes = "; ".join(escape(f"{moment(mark.at)} {_mark_text(mark)}") for mark in each.later)
        parts.append(
            f"<p class='soft'>Settings and load are those of that hour. Changed since: {changes}.</p>"
        )
    if each.advice is None:
        return [*parts, "<p>Nothing can be said.</p>"]
    hot = [finding for finding in each.advice.findings if finding.severity in ("severe", "hot")]
    if not hot:
        parts.append("<p>Nothing to do: no spinlock was both contended and busy enough to burn CPU.</p>")
    parts += [_finding(finding) for finding in hot[:MAX_FINDINGS]]
    return parts + _features(each.advice)


def _finding(finding: SpinlockFinding) -> str:
    lock = finding.spinlock
    text = (
        f"<p><b>{escape(lock.name)}</b>: {percent(lock.contention)} contention, about"
        f" {finding.engines:.1f} engines spinning."
    )
    if finding.protects:
        text += f" It protects {escape(finding.protects)}."
    if finding.current:
        text += f" Then: {escape(finding.current)}."
    parts = [f"{text}</p>"]
    if not finding.steps:
        parts.append("<p>No setting that would ease it can be derived from what Prometheus has.</p>")
    for step in finding.steps:
        statements = "\n".join(f"{statement}\ngo" for statement in step.statements)
        predicted = "" if step.predicted is None else f" Predicted contention: {percent(step.predicted)}."
        effective = "at the next start of the server" if step.restart else "at once"
        notes = "".join(f" {warning}." for warning in step.warnings)
        parts.append(
            f"<pre>{escape(statements)}</pre>\n<p>{escape(step.why)}.{predicted} Takes effect {effective}."
            f"{escape(notes)}</p>"
        )
    parts += [f'<p class="soft">{escape(caution)}</p>' for caution in finding.cautions]
    return "\n".join(parts)


def _features(advice: Advice) -> list[str]:
    if not advice.features and not any(finding.steps for finding in advice.findings):
        return []
    items = "".join(
        f"<li>{escape(f'{feature.name} (from {feature.since}): {feature.caveat}')}</li>"
        for feature in advice.features
    )
    memscale = f"<p>Memscale, as the case study found it:</p><ul>{items}</ul>" if items else ""
    return [memscale, f'<p class="method">{escape(PREDICTION)}</p>']


def _forecasts(report: ServerReport) -> str:
    forecasts = report.forecasts
    if not forecasts.watched:
        text = "<p>Not known: Prometheus has no series ase:free:ratio at the end of the period.</p>"
    elif not forecasts.full:
        text = (
            f"<p>None of the {forecasts.watched} resources that are watched (space, logs, connections, locks,"
            f" procedure cache) fills up within {HORIZON / DAY:.0f} days at the pace of the last hours.</p>"
        )
    else:
        rows = [
            (
                escape(each.name),
                percent(each.free),
                duration(each.seconds),
                moment(report.period.end + each.seconds),
            )
            for each in forecasts.full
        ]
        text = table(("what", "free now", "full in", "that is, UTC"), rows, (1, 2))
        text += (
            "<p class='method'>At the pace of the last six hours (data) or of the last hour (the rest).</p>"
        )
    return f"<h2>Forecasts at the end of the period</h2>\n{text}"


def _gaps(report: ServerReport) -> str:
    heading = "<h2>Gaps in the data</h2>"
    precision = f"to {duration(report.resolution.gaps)}"
    if not report.gaps:
        return f"{heading}\n<p>None ({precision}).</p>"
    rows = [
        (moment(gap.start), moment(gap.end), duration(gap.seconds), gap.kind)
        for gap in report.gaps[:MAX_GAPS]
    ]
    note = (
        f"Known {precision}. No data: nothing was scraped. Server down: the exporter could not read the server. Means"
        " and verdicts leave these times out."
    )
    more = f"<p>{len(report.gaps) - MAX_GAPS} more.</p>" if len(report.gaps) > MAX_GAPS else ""
    shown = table(("from (UTC)", "to", "length", "what"), rows, (2,), (0, 1, 3))
    return f"{heading}\n{shown}{more}\n<p class='method'>{note}</p>"


def _method(report: ServerReport) -> str:
    resolution = report.resolution
    return (
        f'<p class="method">From the series that the shipped rules record, in means of {bin_text(report.period.step)};'
        f" scraped every {resolution.scrape:.0f} s; {report.requests} queries. Alerts are known to"
        f" {duration(resolution.alerts)}. All times are UTC. Written {clock(report.period.now)} by ase-exporter.</p>"
    )
