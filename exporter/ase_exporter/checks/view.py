"""What `ase-exporter check` found of a server, as a view."""

import re
from collections.abc import Iterator, Sequence

from ase_exporter.checks.target_check import TargetReport
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.metrics.series_limits import alerts_that_read
from ase_exporter.untrusted.encoders import is_writable, sql_identifier
from ase_exporter.views.figures import counted
from ase_exporter.views.view import Code, Line, Part, Section, View

_METRICS_SHOWN = 6
# The login is no user of a database, or may not read a table of master.
_NO_USER = 916
_NO_SELECT = re.compile(
    r"(?a:SELECT permission denied on object '?([a-zA-Z_]\w{,29})'?, database '?master\b)"
)


def check_view(report: TargetReport) -> View:
    """What is missing, what that costs, and the SQL that fixes it."""
    facts = report.facts
    parts: list[Part] = [Line(f"{report.name}: {facts.server_name}, ASE {facts.version}")]
    if not report.gaps and not report.failures:
        what = "No metric" if report.closed_databases else "Nothing"
        executed = counted(report.executed, "collector was", "collectors were")
        parts.append(Line(f"{what} is missing. {executed} executed."))
    found = (_series, _sa_role, _failures, _gaps, _closed_databases, _script)
    return View(report.name, [*parts, *(part for each in found for part in each(report))])


def _series(report: TargetReport) -> Iterator[Part]:
    series, cut = report.series
    yield Line(f"A scrape has {series:,} series of the server.")
    if cut:
        yield Line(
            f"  {cut:,} of them are over series_limit and are left out; alerts and the diagnosis lose none"
        )


def _sa_role(report: TargetReport) -> Iterator[Part]:
    if "sa_role" in report.facts.roles:
        said = "nothing that is read needs it; mon_role is enough"
        if report.uses_sa_role:
            said = f"only {', '.join(report.uses_sa_role)} needs it; everything else needs mon_role"
        title = f"the login {report.login} has sa_role, which allows everything"
        yield Section(title, [Line(f"  {said}")])


def _failures(report: TargetReport) -> Iterator[Part]:
    for each in report.failures:
        title = f"reading {', '.join(each.collectors)} failed: {each.message}"
        note = [Line(f"  {each.note}")] if each.note else []
        yield Section(title, [*_cost(each.metrics, each.collectors), *note])


def _gaps(report: TargetReport) -> Iterator[Part]:
    for gap in report.gaps:
        note = f" ({gap.note})" if gap.note else ""
        yield Section(f"{gap.cause}{note}", [*_cost(gap.metrics, gap.collectors)])


def _closed_databases(report: TargetReport) -> Iterator[Part]:
    numbers = dict.fromkeys(error.number for _, error in report.closed_databases)
    for number in numbers:
        (name, first), *others = [each for each in report.closed_databases if each[1].number == number]
        more = f" and {len(others)} more" if others else ""
        yield Section(f"database {name}{more}: {first}", [])
    if numbers:
        yield Line("  changes of cache bindings of the objects in it are not seen; everything else is")


def _script(report: TargetReport) -> Iterator[Part]:
    """One script for isql with everything that an administrator can do."""
    if not is_writable(report.login):
        title = f"No SQL for the login {report.login}: its name cannot be written in SQL safely."
        yield Section(title, [])
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
        script = ["use master", "go"]
        for remedy, note in remedies.items():
            script += [*([f"-- {note}"] if note else []), *remedy.splitlines(), "go"]
        yield Section("As an administrator:", [Code(script)])


def _cost(metrics: Sequence[str], collectors: Sequence[str]) -> Iterator[Line]:
    yield Line(f"  costs {counted(len(metrics), 'metric')} of {', '.join(collectors)}:")
    yield Line(f"  {_shortened(metrics, _METRICS_SHOWN)}")
    # Where a part of a metric is lost, the rest is judged.
    names = {metric for metric in metrics if "{" not in metric}
    for kind, blind in (("alerts", alerts_that_read(names)), ("findings", catalogue().that_read(names))):
        if blind:
            yield Line(f"  {kind} that do not see this: {', '.join(blind)}")


def _shortened(names: Sequence[str], limit: int) -> str:
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")
