"""Prints what `ase-exporter check` found."""

import re
from collections.abc import Iterator, Sequence

from rich.text import Text

from ase_exporter.catalogue.gaps import Gap
from ase_exporter.checks.target_check import CollectorFailure, TargetReport
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.metrics.series_limits import alerts_that_read
from ase_exporter.pages.text import as_count
from ase_exporter.untrusted.encoders import is_writable, sql_identifier
from ase_exporter.untrusted.terminal import PlainConsole, TextLine

_METRICS_SHOWN = 6
_COLUMNS_SHOWN = 12
# The login is no user of a database, or may not read a table of master.
_NO_USER = 916
_NO_SELECT = re.compile(
    r"(?a:SELECT permission denied on object '?([a-zA-Z_]\w{,29})'?, database '?master\b)"
)


def print_check(report: TargetReport) -> None:
    console = PlainConsole()
    facts = report.facts
    console.print(TextLine(f"{report.name}: {facts.server_name}, ASE {facts.version}"))
    if not report.gaps and not report.failures and not report.mismatches:
        what = "No metric" if report.closed_databases else "Nothing"
        executed = as_count(report.executed, "collector was", "collectors were")
        console.print(f"{what} is missing. {executed} executed.")
    for line in [*_series(report), *_sa_role(report), *_failures(report.failures), *_gaps(report.gaps)]:
        console.print(line)
    for line in [*_differences(report), *_closed_databases(report), *_script(report)]:
        console.print(line)


def _series(report: TargetReport) -> Iterator[TextLine]:
    series, cut = report.series
    yield TextLine(f"A scrape has {series:,} series of the server.")
    if cut:
        yield TextLine(
            f"  {cut:,} of them are over series_limit and are left out; alerts and the diagnosis lose none"
        )


def _sa_role(report: TargetReport) -> Iterator[TextLine]:
    if "sa_role" not in report.facts.roles:
        return
    yield _heading(f"the login {report.login} has sa_role, which allows everything")
    if report.uses_sa_role:
        yield TextLine(f"  only {', '.join(report.uses_sa_role)} needs it; everything else needs mon_role")
    else:
        yield TextLine("  nothing that is read needs it; mon_role is enough")


def _failures(failures: Sequence[CollectorFailure]) -> Iterator[TextLine]:
    for failure in failures:
        yield _heading(f"reading {', '.join(failure.collectors)} failed: {failure.message}")
        yield from _cost(failure.metrics, failure.collectors)
        if failure.note:
            yield TextLine(f"  {failure.note}")


def _gaps(gaps: Sequence[Gap]) -> Iterator[TextLine]:
    for gap in gaps:
        note = (f" ({gap.note})", "") if gap.note else ""
        yield TextLine(Text.assemble((f"\n{gap.cause}", "bold"), note))
        yield from _cost(gap.metrics, gap.collectors)


def _differences(report: TargetReport) -> Iterator[TextLine]:
    for each in report.mismatches:
        yield _heading(f"{each.table}.{each.column} is {each.type}, expected {each.expected}")
        yield from _cost(each.metrics, (each.collector,))
    if report.unknown:
        count = sum(map(len, report.unknown.values()))
        yield TextLine(
            f"\n{as_count(count, 'column')} that this exporter does not know: the server is newer, please report this"
        )
        for table, columns in report.unknown.items():
            yield TextLine(f"  {table}: {_shortened(columns, _COLUMNS_SHOWN)}")


def _closed_databases(report: TargetReport) -> Iterator[TextLine]:
    numbers = dict.fromkeys(error.number for _, error in report.closed_databases)
    for number in numbers:
        (name, first), *others = [each for each in report.closed_databases if each[1].number == number]
        more = f" and {len(others)} more" if others else ""
        yield TextLine(f"\ndatabase {name}{more}: {first}")
    if numbers:
        yield TextLine("  changes of cache bindings of the objects in it are not seen; everything else is")


def _script(report: TargetReport) -> Iterator[TextLine]:
    """One script for isql with everything that an administrator can do."""
    if not is_writable(report.login):
        yield TextLine(f"\nNo SQL for the login {report.login}: its name cannot be written in SQL safely.")
        return
    login = sql_identifier(report.login)
    remedies = {remedy: gap.note for gap in report.gaps for remedy in gap.remedies}
    for refused in filter(None, (_NO_SELECT.search(failure.message) for failure in report.failures)):
        remedies[f"grant select on {sql_identifier(refused[1])} to mon_role"] = ""
    if "sa_role" in report.facts.roles:
        remedies[f"revoke role sa_role from {login}"] = ""
    for name, error in report.closed_databases:
        if error.number == _NO_USER:
            sql = f"exec {sql_identifier(name)}..sp_adduser {login}"
            remedies[sql] = "for changes of bindings alone; lets the login read there what public may"
    if remedies:
        yield TextLine("\nAs an administrator:")
        yield _sql("use master\ngo")
        for remedy, note in remedies.items():
            yield _sql(f"-- {note}\n{remedy}\ngo" if note else f"{remedy}\ngo")


def _cost(metrics: Sequence[str], collectors: Sequence[str]) -> Iterator[TextLine]:
    yield TextLine(f"  costs {as_count(len(metrics), 'metric')} of {', '.join(collectors)}:")
    yield TextLine(f"  {_shortened(metrics, _METRICS_SHOWN)}")
    names = {metric.partition("{")[0] for metric in metrics}
    for kind, blind in (("alerts", alerts_that_read(names)), ("findings", catalogue().that_read(names))):
        if blind:
            yield TextLine(f"  {kind} that do not see this: {', '.join(blind)}")


def _heading(text: str) -> TextLine:
    return TextLine(f"\n{text}", "bold")


def _sql(statement: str) -> TextLine:
    return TextLine(statement, "green", whole=True)


def _shortened(names: Sequence[str], limit: int) -> str:
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")
