"""Sources: the selects that sessions and statements are made from, one for each table, each of bounded length.

Columns that a version lacks are left out, and so are tables; what is missing has a reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.catalogue.wait_parts import IDLE, RUNNING_EVENT, wait_parts

# Rows of one answer. More sessions at work than this are counted, not listed.
MAX_ROWS = 2000
_KNOWS_TOP = parse_version("12.5.3")

SESSIONS, STATEMENTS, TEXT = "sessions", "statements", "text"


@dataclass(frozen=True, slots=True)
class Source:
    """One select. group: what it is read for. columns: those that are selected, the first ones required.

    table: a monitoring table whose columns depend on the version; '' for a system table, whose `sql` is complete.
    more: a column, and what `where` is followed by if the table has it. options: of the server, without which it has
    no rows. required: how many of its columns it needs.
    """

    name: str
    group: str
    columns: Sequence[str]
    table: str = ""
    where: str = ""
    sql: str = ""
    more: tuple[str, str] = ("", "")
    options: Sequence[str] = ()
    required: int = 2


_IDLE_EVENTS = ", ".join(str(event) for event in wait_parts().events_of(IDLE) if event != RUNNING_EVENT)
# Beside sessions at work: those that block others, and those whose transaction keeps a log from being truncated.
_BLOCKS = " or {spid} in (select blocked from master..sysprocesses where blocked > 0)"
_HOLDS = " or {spid} in (select spid from master..syslogshold where spid > 0)"

# The sources of sessions: the first that can be read is. A login may be refused syslogshold, or lack mon_role.
PROCESSES = ("processes", "blocking_processes", "system_processes")
_PROCESS = (
    "SPID", "KPID", "WaitEventID", "SecondsWaiting", "BlockingSPID", "Login", "Application", "Command", "DBName",
    "HostName", "LineNumber",
)  # fmt: skip


def _processes(name: str, more: str) -> Source:
    where = f"SPID <> @@spid and (WaitEventID not in ({_IDLE_EVENTS}){more.format(spid='SPID')})"
    return Source(name, SESSIONS, _PROCESS, "monProcess", where, options=("enable monitoring",), required=9)


SOURCES = (
    _processes("processes", _BLOCKS + _HOLDS),
    _processes("blocking_processes", _BLOCKS),
    Source(
        "system_processes",
        SESSIONS,
        (
            "SPID", "KPID", "Status", "SecondsWaiting", "BlockingSPID", "Login", "Application", "Command", "DBName",
            "HostName",
        ),
        sql="select {top}spid, kpid, status, time_blocked, blocked, login = suser_name(suid), program_name, cmd,"
        " database_name = db_name(dbid), hostname from master..sysprocesses"
        " where suid > 0 and spid <> @@spid and (status <> 'recv sleep'" + _BLOCKS.format(spid="spid") + ")",
    ),
    Source(
        "transactions",
        SESSIONS,
        ("spid", "database_id", "seconds"),
        sql="select {top}spid, database_id = dbid, seconds = datediff(ss, starttime, getdate())"
        " from master..syslogshold where spid > 0",
    ),
    Source(
        "executing",
        SESSIONS,
        ("SPID", "KPID", "DBID", "ProcedureID", "LineNumber", "CpuTime", "WaitTime", "LogicalReads", "PhysicalReads"),
        "monProcessStatement",
        options=("enable monitoring", "statement statistics active"),
    ),
    Source(
        "procedures",
        SESSIONS,
        ("SPID", "KPID", "ObjectName", "DBName", "LineNumber", "ContextID"),
        "monProcessProcedures",
        options=("enable monitoring", "statement statistics active"),
        required=3,
    ),
    Source(
        "objects",
        SESSIONS,
        ("SPID", "KPID", "DBID", "ObjectID", "ObjectName", "DBName", "LogicalReads"),
        "monProcessObject",
        options=("enable monitoring", "per object statistics active"),
        required=5,
    ),
    Source(
        "locks",
        SESSIONS,
        ("SPID", "KPID", "DBID", "ObjectID", "LockState", "LockType", "LockLevel", "WaitTime", "DBName"),
        "monLocks",
        "LockState = 'Requested'",
        more=("BlockedState", " or BlockedState = 'Blocking'"),
        options=("enable monitoring",),
        required=6,
    ),
    Source(
        "cached_statements",
        STATEMENTS,
        (
            "SSQLID", "Hashkey", "DBName", "UseCount", "TotalCpuTime", "TotalElapsedTime", "TotalLIO", "TotalPIO",
            "LockWaitTime", "CachedDate",
        ),
        "monCachedStatement",
        "LastUsedDate > dateadd(mi, -10, getdate())",
        options=("enable monitoring", "enable stmt cache monitoring", "statement cache size"),
    ),
    Source(
        "cached_procedures",
        STATEMENTS,
        (
            "PlanID", "ObjectID", "ObjectName", "DBName", "ExecutionCount", "CPUTime", "ExecutionTime", "LogicalReads",
            "PhysicalReads", "CompileDate",
        ),
        "monCachedProcedures",
        "ObjectType <> 'trigger' and ExecutionCount > 0",
        options=("enable monitoring", "statement statistics active"),
        required=5,
    ),
    Source(
        "texts",
        TEXT,
        ("SPID", "KPID", "BatchID", "LineNumber", "SequenceInLine", "SQLText"),
        "monProcessSQLText",
        options=("enable monitoring", "max SQL text monitored"),
        required=6,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlannedSource:
    """A source on one server. columns: of its result in order. sql: '' if it cannot be read, for the `reason`."""

    source: Source
    columns: tuple[str, ...]
    sql: str
    reason: str = ""


def plan_sources(facts: ServerFacts) -> list[PlannedSource]:
    """All sources on one server."""
    return list(_planned(facts))


def _planned(facts: ServerFacts) -> Iterator[PlannedSource]:
    top = f"top {MAX_ROWS} " if facts.version >= _KNOWS_TOP else ""
    for source in SOURCES:
        if not source.table:
            yield PlannedSource(source, tuple(source.columns), source.sql.format(top=top))
            continue
        known = {name.lower(): name for name in facts.tables.get(source.table, {})}
        columns = tuple(name for name in source.columns if name.lower() in known)
        reason = _obstacle(source, facts, known, columns)
        spelled = ", ".join(known[name.lower()] for name in columns)
        condition = source.where + (source.more[1] if source.more[0].lower() in known else "")
        where = f" where {condition}" if condition else ""
        sql = f"select {top}{spelled} from master..{source.table}{where}"
        yield PlannedSource(source, columns, "" if reason else sql, reason)


def _obstacle(source: Source, facts: ServerFacts, known: Mapping[str, str], columns: Sequence[str]) -> str:
    if "mon_role" not in facts.roles:
        return "the login lacks mon_role"
    off = [option for option in source.options if facts.options.get(option) == 0]
    if off:
        return f"{' and '.join(off)} {'is' if len(off) == 1 else 'are'} off"
    if not known or columns[: source.required] != tuple(source.columns[: source.required]):
        return f"this server lacks {source.table}, or columns of it"
    return ""
