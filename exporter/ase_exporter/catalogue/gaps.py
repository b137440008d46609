"""Gaps: what this login cannot read, which metrics are missing for it, and the SQL that fixes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from ase_exporter.assets import shipped_rows
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.load import Catalogue
from ase_exporter.catalogue.model import Collector
from ase_exporter.catalogue.plan import lacks_version
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.untrusted.encoders import is_writable, sql_identifier

_NO_TABLES = "master..monTableColumns, which lists the monitoring tables, cannot be read or is empty"
# Cause, remedies and note of a gap.
_Cause = tuple[str, tuple[str, ...], str]


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
    causes: dict[_Cause, dict[str, Iterable[str]]] = {}
    for name, collector in catalogue.chosen(selection, facts.cluster).items():
        for cause in _causes(collector, facts, login):
            causes.setdefault(cause, {})[name] = collector.metrics
        if lost := _lost_metrics(collector, facts):
            lacks = f"{collector.table} lacks {', '.join(dict.fromkeys(lost.values()))}"
            causes.setdefault((lacks, (), ""), {})[name] = lost
    gaps = [
        Gap(cause, remedies, note, tuple(names), tuple(chain.from_iterable(names.values())))
        for (cause, remedies, note), names in causes.items()
    ]
    return sorted(gaps, key=lambda gap: (not gap.remedies, -len(gap.metrics), gap.cause))


def _lost_metrics(collector: Collector, facts: ServerFacts) -> dict[str, str]:
    """The column that each metric of this version needs and the table, though it is there, lacks.

    A metric of several columns is named with the label value that is lost, unless all are. Labels do not count: the
    catalogue does not say since when tables have them.
    """
    present = {column.lower() for column in facts.tables.get(collector.table or "", ())}
    if not present or lacks_version(collector, facts):
        return {}
    known = [column for column in collector.all_columns() if column.lower() in present]
    lost: dict[str, str] = {}
    for name, metric in collector.metrics.items():
        if metric.since and facts.version < parse_version(metric.since):
            continue
        chosen = metric.for_columns(known)
        absent = {value: column for value, column in chosen.sources().items() if column not in known}
        whole = len(absent) == len(chosen.sources())
        for value, column in absent.items():
            lost[name if whole else f'{name}{{{chosen.by}="{value}"}}'] = column
    return lost


@cache
def _prices() -> dict[str, tuple[str, str]]:
    """The value that switches an option on, '' for a feature that nobody wants for its metrics, and what that costs."""
    rows = shipped_rows(Path(__file__).with_name("prices.csv"))
    return {row["option"]: (row["value"], row["price"]) for row in rows}


def _causes(collector: Collector, facts: ServerFacts, login: str) -> Iterable[_Cause]:
    if lacks_version(collector, facts):
        yield f"needs ASE {collector.since} or later, this is {facts.version}", (), ""
        return
    for role in collector.roles:
        if role not in facts.roles:
            yield (
                f"the login lacks the role {role}",
                (f"grant role {role} to {sql_identifier(login)}",) if is_writable(login) else (),
                _prices().get(role, ("", ""))[1],
            )
    for option in collector.options:
        if facts.options.get(option) == 0:
            value, price = _prices().get(option, ("1", ""))
            cause = f"configuration option '{option}' is off"
            if value:
                yield cause, (f"exec sp_configure '{option}', {value}",), price
            else:
                yield f"{cause}: {price}", (), ""
    listed = facts.tables or "mon_role" in facts.roles
    if collector.table and listed and collector.table not in facts.tables:
        found = f"this server has no table {collector.table}" if facts.tables else _NO_TABLES
        yield found, (), "run installmaster (before 15.0: installmontables) of this very version"
