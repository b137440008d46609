"""Sources: the selects of sources.yaml, one for each table, each of bounded length.

Columns that a version lacks are left out, and so are tables; what is missing has a reason.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.catalogue.wait_parts import IDLE, RUNNING_EVENT, wait_parts

# Rows of one answer. More sessions at work than this are counted, not listed.
MAX_ROWS = 2000
_KNOWS_TOP = parse_version("12.5.3")

SESSIONS, STATEMENTS, TEXT = "sessions", "statements", "text"
# What one session has waited for: the group is named after the session, such as `waits 77`.
WAITS = "waits"
MAX_WAITING = 10


def waits_of(spid: int) -> str:
    return f"{WAITS} {spid}"


def waiting_spids(groups: Iterable[str]) -> list[int]:
    """The sessions whose waits are asked for, at most MAX_WAITING of them."""
    found = sorted(int(each.split()[1]) for each in groups if each.startswith(f"{WAITS} "))
    return found[:MAX_WAITING]


@dataclass(frozen=True, slots=True)
class Source:
    """One select. group: what it is read for. columns: those that are selected, the first ones required.

    table: a monitoring table whose columns depend on the version; '' for a system table, whose `sql` is complete.
    more: a column, and what `where` is followed by if the table has it. options: of the server, without which it has
    no rows. required: how many of its columns it needs.
    """

    group: str
    columns: tuple[str, ...]
    table: str = ""
    where: str = ""
    sql: str = ""
    more: tuple[str, str] = ("", "")
    options: tuple[str, ...] = ()
    required: int = 2


@cache
def sources() -> Mapping[str, Source]:
    # The web process imports this module and must not pay for pydantic.
    from ase_exporter.config import yaml_files

    return yaml_files.load_shipped(Path(__file__).with_name("sources.yaml"), dict[str, Source])


# The sources of sessions: the first that can be read is.
PROCESSES = ("processes", "blocking_processes", "system_processes")
_PARTS = {
    "idle": ", ".join(str(event) for event in wait_parts().events_of(IDLE) if event != RUNNING_EVENT),
    "blocks": " or spid in (select blocked from master..sysprocesses where blocked > 0)",
    "holds": " or spid in (select spid from master..syslogshold where spid > 0)",
}
_ASKED = re.compile(r" from master\.\.monProcessWaits where SPID in \(([\d, ]+)\) ")


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """A source, by its name, on one server.

    columns: of its result in order. sql: '' if it cannot be read, for the `reason`.
    """

    name: str
    source: Source
    columns: tuple[str, ...]
    sql: str
    reason: str = ""


def plan_sources(facts: ServerFacts) -> list[PlannedSource]:
    return list(_planned(facts))


def groups_in(statements: Collection[str], facts: ServerFacts) -> set[str]:
    """The groups that statements were sent for."""
    asked = [found[1] for sql in statements if (found := _ASKED.search(sql))]
    waits = {waits_of(int(spid)) for each in asked for spid in each.split(",")}
    return waits | {each.source.group for each in plan_sources(facts) if each.sql in statements}


def _planned(facts: ServerFacts) -> Iterator[PlannedSource]:
    top = f"top {MAX_ROWS} " if facts.version >= _KNOWS_TOP else ""
    for name, source in sources().items():
        if not source.table:
            yield PlannedSource(name, source, source.columns, source.sql.format(top=top, **_PARTS))
            continue
        known = {each.lower(): each for each in facts.tables.get(source.table, {})}
        columns = tuple(each for each in source.columns if each.lower() in known)
        reason = _obstacle(source, facts, known, columns)
        spelled = ", ".join(known[each.lower()] for each in columns)
        condition = source.where + (source.more[1] if source.more[0].lower() in known else "")
        parts = _PARTS | {each: _PARTS[each].replace(" spid in", " SPID in") for each in ("blocks", "holds")}
        where = f" where {condition.format(**parts)}" if condition else ""
        sql = f"select {top}{spelled} from master..{source.table}{where}"
        yield PlannedSource(name, source, columns, "" if reason else sql, reason)


def _obstacle(source: Source, facts: ServerFacts, known: Mapping[str, str], columns: Sequence[str]) -> str:
    if "mon_role" not in facts.roles:
        return "the login lacks mon_role"
    off = [option for option in source.options if facts.options.get(option) == 0]
    if off:
        return f"{' and '.join(off)} {'is' if len(off) == 1 else 'are'} off"
    if not known or columns[: source.required] != tuple(source.columns[: source.required]):
        return f"this server lacks {source.table}, or columns of it"
    return ""
