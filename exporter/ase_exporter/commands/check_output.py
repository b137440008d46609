"""Prints what `ase-exporter check` found."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape

from ase_exporter.catalogue.gaps import Gap
from ase_exporter.commands.target_check import CollectorFailure, StatementReport, TargetReport

_METRICS_SHOWN = 6
_COLUMNS_SHOWN = 12


def print_check(report: TargetReport) -> None:
    console = Console(highlight=False)
    facts = report.facts
    console.print(f"{escape(report.name)}: {escape(facts.server_name)}, ASE {facts.version}")
    if not report.gaps and not report.failures and not report.mismatches:
        console.print(f"Nothing is missing. {report.executed} collectors were executed.")
    for line in [*_sa_role(report), *_failures(report.failures), *_gaps(report.gaps)]:
        console.print(line, soft_wrap=True)
    for line in [*_differences(report), *_closed_databases(report)]:
        console.print(line, soft_wrap=True)


def print_script(report: StatementReport) -> None:
    """Print the statements as a script for isql, with a comment before each."""
    print(f"-- What ase-exporter sends to {report.name}, ASE {report.facts.version}. All of it only reads.")
    for each in report.statements:
        print(f"\n-- {each.title}")
        for sql in each.sql:
            print(f"{sql}\ngo")


def _sa_role(report: TargetReport) -> Iterator[str]:
    if "sa_role" not in report.facts.roles:
        return
    yield f"\n[bold]the login {escape(report.login)} has sa_role, which allows everything[/bold]"
    if report.uses_sa_role:
        yield f"  only {', '.join(report.uses_sa_role)} needs it; everything else needs mon_role"
    else:
        yield "  nothing that is read needs it; mon_role is enough"
    yield f"  [green]revoke role sa_role from {escape(report.login)}[/green]"


def _failures(failures: Sequence[CollectorFailure]) -> Iterator[str]:
    for failure in failures:
        yield f"\n[bold]reading {', '.join(failure.collectors)} failed: {escape(failure.message)}[/bold]"
        yield from _cost(failure.metrics, failure.collectors)
        if failure.note:
            yield f"  {escape(failure.note)}"


def _gaps(gaps: Sequence[Gap]) -> Iterator[str]:
    for gap in gaps:
        yield f"\n[bold]{escape(gap.cause)}[/bold]" + (f" ({escape(gap.note)})" if gap.note else "")
        yield from _cost(gap.metrics, gap.collectors)
        for remedy in gap.remedies:
            yield f"  [green]{escape(remedy)}[/green]"


def _differences(report: TargetReport) -> Iterator[str]:
    for each in report.mismatches:
        yield f"\n[bold]{each.table}.{each.column} is {escape(each.type)}, expected {each.expected}[/bold]"
        yield from _cost(each.metrics, (each.collector,))
    if report.unknown:
        count = sum(map(len, report.unknown.values()))
        yield f"\n{count} columns that this exporter does not know: the server is newer, please report them"
        for table, columns in report.unknown.items():
            yield f"  {escape(table)}: {escape(_shortened(columns, _COLUMNS_SHOWN))}"


def _closed_databases(report: TargetReport) -> Iterator[str]:
    if report.closed_databases:
        (name, error), *others = report.closed_databases
        more = f" and {len(others)} more" if others else ""
        yield f"\ndatabase {escape(name)}{more}: {escape(str(error))}"
        yield "  changes of cache bindings of the objects in it are not seen; everything else is"


def _cost(metrics: Sequence[str], collectors: Sequence[str]) -> Iterator[str]:
    yield f"  costs {len(metrics)} metrics of {', '.join(collectors)}:"
    yield f"  {_shortened(metrics, _METRICS_SHOWN)}"


def _shortened(names: Sequence[str], limit: int) -> str:
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")
