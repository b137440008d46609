"""Prints what `ase-exporter check` found."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from ase_exporter.catalogue.gaps import Gap
from ase_exporter.commands.target_check import CollectorFailure, StatementReport, TargetReport
from ase_exporter.untrusted.encoders import sql_identifier
from ase_exporter.untrusted.terminal import PlainConsole, TextLine

_METRICS_SHOWN = 6
_COLUMNS_SHOWN = 12


def print_check(report: TargetReport) -> None:
    console = PlainConsole()
    facts = report.facts
    console.print(TextLine(f"{report.name}: {facts.server_name}, ASE {facts.version}"))
    if not report.gaps and not report.failures and not report.mismatches:
        console.print(f"Nothing is missing. {report.executed} collectors were executed.")
    for line in [*_series(report), *_sa_role(report), *_failures(report.failures), *_gaps(report.gaps)]:
        console.print(line)
    for line in [*_differences(report), *_closed_databases(report), *_policy(report)]:
        console.print(line)


def print_script(report: StatementReport) -> None:
    """Print the statements as a script for isql, with a comment before each."""
    print(f"-- What ase-exporter sends to {report.name}, ASE {report.facts.version}. All of it only reads.")
    for each in report.statements:
        print(f"\n-- {each.title}")
        for sql in each.sql:
            print(f"{sql}\ngo")


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
    yield _sql(f"revoke role sa_role from {sql_identifier(report.login)}")


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
        for remedy in gap.remedies:
            yield _sql(remedy)


def _differences(report: TargetReport) -> Iterator[TextLine]:
    for each in report.mismatches:
        yield _heading(f"{each.table}.{each.column} is {each.type}, expected {each.expected}")
        yield from _cost(each.metrics, (each.collector,))
    if report.unknown:
        count = sum(map(len, report.unknown.values()))
        yield TextLine(
            f"\n{count} columns that this exporter does not know: the server is newer, please report them"
        )
        for table, columns in report.unknown.items():
            yield TextLine(f"  {table}: {_shortened(columns, _COLUMNS_SHOWN)}")


def _closed_databases(report: TargetReport) -> Iterator[TextLine]:
    if report.closed_databases:
        (name, error), *others = report.closed_databases
        more = f" and {len(others)} more" if others else ""
        yield TextLine(f"\ndatabase {name}{more}: {error}")
        yield TextLine("  changes of cache bindings of the objects in it are not seen; everything else is")


def _policy(report: TargetReport) -> Iterator[TextLine]:
    if report.policy:
        yield TextLine("\nA policy that suits its dumps, for this target (docs/configuration.md):")
        yield TextLine(report.policy.rstrip(), whole=True)


def _cost(metrics: Sequence[str], collectors: Sequence[str]) -> Iterator[TextLine]:
    yield TextLine(f"  costs {len(metrics)} metrics of {', '.join(collectors)}:")
    yield TextLine(f"  {_shortened(metrics, _METRICS_SHOWN)}")


def _heading(text: str) -> TextLine:
    return TextLine(f"\n{text}", "bold")


def _sql(statement: str) -> TextLine:
    return TextLine(f"  {statement}", "green", whole=True)


def _shortened(names: Sequence[str], limit: int) -> str:
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")
