"""Gaps: what this login cannot read, which metrics are missing for it, and the SQL that fixes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.load import Catalogue
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.plan import is_chosen, is_of_other_edition, lacks_version
from ase_exporter.untrusted.encoders import sql_identifier

# Suggested values of options that are sizes.
_SIZES = {
    "deadlock pipe max messages": 500,
    "errorlog pipe max messages": 200,
    "lock timeout pipe max messages": 500,
    "statement cache size": 25_000,
    "statement pipe max messages": 10_000,
}
_NOTES = {
    "sa_role": "allows everything: better not granted to a login that only monitors",
    "enable monitoring": "the master switch of all monitoring tables",
    "enable spinlock monitoring": "costs about 1 % on a busy server",
    "statement cache size": "in pages of 2 KB",
    "per object statistics active": "counts every access of every object",
    "statement statistics active": "counts every statement",
}


@dataclass(frozen=True, slots=True)
class Gap:
    """One missing prerequisite.

    cause: one line. remedies: SQL for an administrator, empty if only another version helps. note: what to know
    before running it. collectors, metrics: what cannot be read.
    """

    cause: str
    remedies: tuple[str, ...]
    note: str
    collectors: tuple[str, ...]
    metrics: tuple[str, ...]


def find_gaps(
    catalogue: Catalogue,
    facts: ServerFacts,
    selection: Mapping[str, bool] | None = None,
    login: str = "LOGIN",
) -> list[Gap]:
    """Everything that keeps enabled collectors from being read; what costs the most metrics comes first.

    selection: as for `plan`. login: the exporter's login name, for the SQL. A collector is listed under each of
    its causes, so that fixing one does not reveal the next.
    """
    wanted = {
        name: collector
        for name, collector in catalogue.collectors.items()
        if is_chosen(name, collector, selection) and not is_of_other_edition(collector, facts)
    }
    causes: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for name, collector in wanted.items():
        for cause in _causes(collector, facts, login):
            causes.setdefault(cause, []).append(name)
    gaps = [
        Gap(
            cause,
            remedies,
            note,
            tuple(names),
            tuple(metric for name in names for metric in wanted[name].metrics),
        )
        for (cause, remedies, note), names in causes.items()
    ]
    return sorted(gaps, key=lambda gap: (not gap.remedies, -len(gap.metrics), gap.cause))


def _causes(
    collector: Collector, facts: ServerFacts, login: str
) -> Iterable[tuple[str, tuple[str, ...], str]]:
    if lacks_version(collector, facts):
        yield f"needs ASE {collector.since} or later, this is {facts.version}", (), ""
        return
    for role in collector.roles:
        if role not in facts.roles:
            yield (
                f"the login lacks the role {role}",
                (f"grant role {role} to {sql_identifier(login)}",),
                _NOTES.get(role, ""),
            )
    for option in collector.options:
        if facts.options.get(option) == 0:
            setting = f"exec sp_configure '{option}', {_SIZES.get(option, 1)}"
            yield f"configuration option '{option}' is off", (setting,), _NOTES.get(option, "")
    if collector.table and facts.tables and collector.table not in facts.tables:
        note = "run installmaster (before 15.0: installmontables) of this very version"
        yield f"this server has no table {collector.table}", (), note
