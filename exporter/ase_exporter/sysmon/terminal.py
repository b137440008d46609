"""Reports and comparisons on the terminal."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from ase_exporter.pages.text import as_count
from ase_exporter.sysmon.difference import Change, headline_changes
from ase_exporter.sysmon.metrics import cleared_counters
from ase_exporter.sysmon.structure import COUNT, PER_SEC, PER_XACT, PERCENT_OF_TOTAL, Report, Row, Section
from ase_exporter.untrusted.terminal import PlainConsole, TextLine, WordTable

_NAME_WIDTH, _FIGURE_WIDTH = 60, 10
_TIMES_FROM = 10
_NAMED_PARTS = 3
_TWO_SIDES = ("before", "after", "change")
_STANDARD = (PER_SEC, PER_XACT, COUNT, PERCENT_OF_TOTAL)
_OTHER = "value"


def print_report(report: Report) -> None:
    """Every row as the report has it, its sub-headings made explicit."""
    out = PlainConsole()
    out.print(*_summary("report", report), sep="\n")
    for section in report.sections:
        title = f"{section.name} ({section.instance})" if section.instance else section.name
        out.print(TextLine(f"\n{title}", "bold"))
        for table in _tables(section):
            out.print(table)
        for advice in section.recommendations:
            out.print(TextLine(f"  - {advice.about + ': ' if advice.about else ''}{advice.text}"))
    for message in report.messages:
        out.print(TextLine(f"line {message.line}: server error {message.number}: {message.text}", "red"))
    for warning in [*report.warnings, *report.unread, *report.contradictions]:
        out.print(TextLine(f"line {warning.line}: {warning.text}", "yellow"))


def print_comparison(
    before: Report,
    after: Report,
    shown: Sequence[Change],
    of: int,
    *,
    warnings: Sequence[str] = (),
    findings: Sequence[str] = (),
    configuration: Sequence[str] = (),
) -> None:
    """Two reports: findings first, then headlines, configuration and the changes; of: how many there are."""
    out = PlainConsole()
    for name, report in (("before", before), ("after", after)):
        out.print(*_summary(name, report), sep="\n")
    for warning in warnings:
        out.print(TextLine(f"warning: {warning}", "yellow"))
    _print_list(out, "Findings", findings or ["no headline is better or worse"])
    headlines = [(line.name, *change_texts(line)) for line in headline_changes(before, after)]
    out.print("", WordTable(("Headline", *_TWO_SIDES), headlines, range(1, 4)), sep="\n")
    _print_list(out, "Configuration", configuration)
    rows = [(each.section, each.name, each.measure, *change_texts(each)) for each in shown]
    table = WordTable(("Section", "Row", "Measure", *_TWO_SIDES), rows, range(3, 6))
    count = f"{len(shown)} of {of} changed figures, the most relevant first; rates are per second"
    out.print("", table, TextLine(count, "dim"), sep="\n")


def _print_list(out: PlainConsole, title: str, texts: Sequence[str]) -> None:
    """Sentences under a title, if there are any."""
    if texts:
        out.print(TextLine(f"\n{title}", "bold"), *(TextLine(f"  - {text}") for text in texts), sep="\n")


def _tables(section: Section) -> Iterator[WordTable]:
    """The rows of a section. Columns are the usual four and one for odd figures, or a table's own where it has such."""
    own: dict[tuple[str, ...], dict[str, None]] = {}
    for row in section.rows:
        own.setdefault(row.path[:1], {}).update(dict.fromkeys(cell.measure for cell in row.cells))
    columns = {
        table: tuple(measures) if len(set(measures) - set(_STANDARD)) > 1 and table else (*_STANDARD, _OTHER)
        for table, measures in own.items()
    }
    for measures, rows in groupby(section.rows, lambda row: columns[row.path[:1]]):
        yield _rows(list(rows), measures)


def _rows(rows: Sequence[Row], measures: tuple[str, ...]) -> WordTable:
    shown = []
    for row in rows:
        texts = {cell.measure: cell.text for cell in row.cells} | dict.fromkeys(row.overflow, "****")
        for measure in [measure for measure in texts if measure not in measures]:
            texts[_OTHER] = texts.pop(measure)
        shown.append((" / ".join((*row.path, row.label)), *(texts.get(measure, "") for measure in measures)))
    wide = (_NAME_WIDTH, *(_FIGURE_WIDTH for _ in measures))
    return WordTable(("", *measures), shown, range(1, len(wide)), wide)


def _summary(name: str, report: Report) -> tuple[TextLine, TextLine]:
    header = report.header
    parts = [
        header.server,
        f"{header.started} - {header.ended}" if header.started else "",
        f"{header.interval.total_seconds():.0f} s" if header.interval else "",
        header.mode + (" (counters were cleared)" if cleared_counters(report) else ""),
        header.version,
    ]
    return TextLine(f"{name}: " + ", ".join(part for part in parts if part)), TextLine(
        f"  {completeness(report)}"
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
            reasons.append(f"{as_count(len(remarks), what)}, {first}")
    return f"NOT COMPLETE: {'; '.join(reasons)}"


def change_texts(change: Change) -> tuple[str, str, str]:
    """Before, after and change of one line of the comparison."""
    before, after = change.before, change.after
    texts = ["-" if value is None else f"{value:,.10g} {change.unit}".strip() for value in (before, after)]
    if before is None or after is None:
        difference = "new" if before is None else "gone"
    elif change.in_points:
        difference = f"{after - before:+.1f} points"
    elif before and abs(after / before) >= _TIMES_FROM:
        difference = f"{after / before:,.0f} times"
    elif before:
        difference = f"{(after - before) / abs(before):+.1%}"
    else:
        difference = f"{after - before:+,.10g}"
    return texts[0], texts[1], difference
