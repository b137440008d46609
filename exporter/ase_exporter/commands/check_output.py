"""Prints what `ase-exporter check` found."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from ase_exporter.catalogue.gaps import Gap
from ase_exporter.commands.target_check import CollectorFailure, StatementReport, TargetReport
from ase_exporter.untrusted.encoders import sql_identifier
from ase_exporter.untrusted.terminal import PlainConsole

_METRICS_SHOWN = 6
_COLUMNS_SHOWN = 12


def print_check(report: TargetReport) -> None:
    console = PlainConsole(soft_wrap=True)
    facts = report.facts
    console.print(f"{report.name}: {facts.server_name}, ASE {facts.version}")
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


def _series(report: TargetReport) -> Iterator[str]:
    series, cut = report.series
    yield f"A scrape has {series:,} series of the server."
    if cut:
        yield f"  {cut:,} of them are over series_limit and are left out; alerts and the diagnosis lose none"


def _sa_role(report: TargetReport) -> Iterator[str | Text]:
    if "sa_role" not in report.facts.roles:
        return
    yield _heading(f"the login {report.login} has sa_role, which allows everything")
    if report.uses_sa_role:
        yield f"  only {', '.join(report.uses_sa_role)} needs it; everything else needs mon_role"
    else:
        yield "  nothing that is read needs it; mon_role is enough"
    yield _sql(f"revoke role sa_role from {sql_identifier(report.login)}")


def _failures(failures: Sequence[CollectorFailure]) -> Iterator[str | Text]:
    for failure in failures:
        yield _heading(f"reading {', '.join(failure.collectors)} failed: {failure.message}")
        yield from _cost(failure.metrics, failure.collectors)
        if failure.note:
            yield f"  {failure.note}"


def _gaps(gaps: Sequence[Gap]) -> Iterator[str | Text]:
    for gap in gaps:
        yield _heading(gap.cause).append(f" ({gap.note})" if gap.note else "", "not bold")
        yield from _cost(gap.metrics, gap.collectors)
        for remedy in gap.remedies:
            yield _sql(remedy)


def _differences(report: TargetReport) -> Iterator[str | Text]:
    for each in report.mismatches:
        yield _heading(f"{each.table}.{each.column} is {each.type}, expected {each.expected}")
        yield from _cost(each.metrics, (each.collector,))
    if report.unknown:
        count = sum(map(len, report.unknown.values()))
        yield f"\n{count} columns that this exporter does not know: the server is newer, please report them"
        for table, columns in report.unknown.items():
            yield f"  {table}: {_shortened(columns, _COLUMNS_SHOWN)}"


def _closed_databases(report: TargetReport) -> Iterator[str | Text]:
    if report.closed_databases:
        (name, error), *others = report.closed_databases
        more = f" and {len(others)} more" if others else ""
        yield f"\ndatabase {name}{more}: {error}"
        yield "  changes of cache bindings of the objects in it are not seen; everything else is"


def _policy(report: TargetReport) -> Iterator[str | Text]:
    if report.policy:
        yield "\nA policy that suits its dumps, for this target (docs/configuration.md):"
        yield report.policy.rstrip()


def _cost(metrics: Sequence[str], collectors: Sequence[str]) -> Iterator[str]:
    yield f"  costs {len(metrics)} metrics of {', '.join(collectors)}:"
    yield f"  {_shortened(metrics, _METRICS_SHOWN)}"


def _heading(text: str) -> Text:
    return Text(f"\n{text}", "bold")


def _sql(statement: str) -> Text:
    return Text(f"  {statement}", "green")


def _shortened(names: Sequence[str], limit: int) -> str:
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")
