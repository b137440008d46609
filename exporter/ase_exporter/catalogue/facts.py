"""ServerFacts: version, tables, roles and options of one server, read after login and used by the plan."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, cast

from ase_exporter.ase.database_error import known_of_message
from ase_exporter.catalogue.versions import Version, parse_version
from ase_exporter.metrics.epochs import EpochReading, Identity, Instance

Query = Callable[[str], Sequence[Sequence[Any]]]
# Why a collector is not available; '' if it is.
Reason = Literal[
    "",
    "no_role",
    "switched_off",
    "table_missing",
    "version",
    "columns_missing",
    "database_loading",
    "server_shutdown",
    "error",
]

SERVER = "select @@version, @@servername, @@maxpagesize"
# Who checked the password: ase, ldap, pam, kerberos. Unknown before 12.5.4.
MECHANISM = "select @@authmech"
# The installation, whatever host it runs on.
NODE = "select @@nodeid"
CLOCK = "select getdate()"
UTC_CLOCK = "select getutcdate(), getdate()"
# proc_role() also sees roles that are granted through other roles, show_role() does not.
ACTIVATE = "set role mon_role on"
ROLES = ("mon_role", "sa_role", "sso_role", "oper_role", "sybase_ts_role", "replication_role")
OPTIONS = (
    "select c.name, u.value from master..sysconfigures c, master..syscurconfigs u where c.config = u.config"
)
# status3 & 256: a temporary database that users created (Reference Manual: Tables, sysdatabases).
DATABASES = "select dbid, name, status3 from master..sysdatabases"
_TEMPORARY = 256
COLUMNS = "select TableName, ColumnName, TypeName from master..monTableColumns"
# What the tables have. After an EBF without installmaster, monTableColumns lists columns that they lack (Msg 207).
PROXY_COLUMNS = (
    "select o.name, c.name from master..sysobjects o, master..syscolumns c"
    " where c.id = o.id and o.name like 'mon%'"
)
CACHES = "select CacheName from master..monDataCache"
WAIT_EVENTS = "select WaitEventID, WaitClassID, Description from master..monWaitEventInfo"
WAIT_CLASSES = "select WaitClassID, Description from master..monWaitClassInfo"


_EPOCH = datetime(1970, 1, 1)
# More dates are not remembered: the start, and a few of each database.
_MAX_DATES = 10_000


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the plan depends on.

    tables: column types by table and column, from monTableColumns and syscolumns. tables_reason: why there are
    none (no_role without mon_role). roles: the active ones. options: run values of the configuration, by name.
    utc_offset: the server's local time minus UTC. page_size: bytes. wait_events: id -> (class, description).
    authentication: @@authmech. caches: names of data caches. databases: id -> name. temporary_databases: names,
    tempdb included. incomplete: a select did not end in time. utc_times: converted dates, which are kept from one
    reading of the facts to the next: when the server's offset changes at the change to daylight saving time, its
    start must not move.
    """

    version: Version
    server_name: str = ""
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tables_reason: Reason = ""
    roles: frozenset[str] = frozenset()
    options: Mapping[str, int] = field(default_factory=dict)
    utc_offset: timedelta = timedelta()
    page_size: int = 2048
    authentication: str = ""
    wait_events: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    caches: frozenset[str] = frozenset()
    databases: Mapping[int, str] = field(default_factory=dict)
    temporary_databases: frozenset[str] = frozenset({"tempdb"})
    incomplete: bool = False
    utc_times: dict[datetime, float] = field(default_factory=dict, compare=False)

    @property
    def cluster(self) -> bool:
        """Cluster Edition: rows of several instances, told apart by InstanceID."""
        return self.version.cluster

    def utc_seconds(self, date: datetime) -> float:
        """A date of the server in seconds since the epoch."""
        known = self.utc_times
        # The date that has not been used for longest comes first. A date minus the offset may be later than any date.
        known[date] = known.pop(date, (date - _EPOCH - self.utc_offset).total_seconds())
        if len(known) > _MAX_DATES:
            del known[next(iter(known))]
        return known[date]


def read_facts(query: Query, previous: ServerFacts | None = None) -> ServerFacts:
    """Read the facts. query: runs one select and returns its rows. previous: replaces what cannot be read in time.

    A server error (an exception with an integer `number`, unless its `usable` is false) costs only the facts of
    that select, and so does a timeout (a usable exception without a number) of a select that may meet locks. All
    other exceptions are passed on, and so is a server error in the first select.
    """
    version, name, page_size = query(SERVER)[0]
    facts: dict[str, Any] = {
        "version": parse_version(str(version)),
        "server_name": str(name or "").strip(),
        "page_size": int(page_size or 2048),
    }
    facts["authentication"] = str((_first(query, MECHANISM) or ("",))[0] or "").strip().lower()
    facts["utc_offset"] = _utc_offset(query)
    if previous:
        facts["utc_times"] = previous.utc_times

    def is_active(role: str) -> bool:
        return bool((_first(query, f"select proc_role('{role}')") or (0,))[0])

    roles = set(filter(is_active, ROLES))
    # Granted, but not active from the login on; without the grant this is refused.
    if "mon_role" not in roles and not _rows(query, ACTIVATE)[1] and is_active("mon_role"):
        roles.add("mon_role")
    facts["roles"] = frozenset(roles)
    facts["incomplete"] = False
    options, databases = _rows_in_time(query, OPTIONS), _rows_in_time(query, DATABASES)
    facts["options"] = {str(name).strip(): int(value or 0) for name, value in options or ()}
    facts["databases"] = {int(number): str(name).strip() for number, name, *_ in databases or ()}
    marked = {str(name).strip() for _, name, status in databases or () if int(status or 0) & _TEMPORARY}
    known = previous.temporary_databases if previous and not databases else ()
    facts["temporary_databases"] = frozenset({"tempdb", *marked, *known})
    for name, found in (("options", options), ("databases", databases)):
        if found is None:
            facts |= {name: getattr(previous, name, {}), "incomplete": True}
    language = " where Language = 'en_US'" if facts["version"] >= parse_version("15.7") else ""
    rows, reason = _rows(query, COLUMNS + language)
    if not rows and reason != "no_role" and language:
        # The table of an older version, left by an upgrade without installmaster, has no languages.
        language = ""
        rows, reason = _rows(query, COLUMNS)
    tables: Mapping[str, Mapping[str, str]] = {}
    facts["tables_reason"] = reason
    if rows:
        proxy_columns = _rows_in_time(query, PROXY_COLUMNS)
        facts["incomplete"] |= proxy_columns is None
        tables = _tables(_stripped(rows), _stripped(proxy_columns or ()))
        facts["caches"] = frozenset(str(row[0]).strip() for row in _rows(query, CACHES)[0])
        classes = {row[0]: str(row[1]).strip() for row in _rows(query, WAIT_CLASSES + language)[0]}
        facts["wait_events"] = {
            int(row[0]): (classes.get(row[1], str(row[1])), str(row[2]).strip())
            for row in _rows(query, WAIT_EVENTS + language)[0]
        }
    return ServerFacts(**facts, tables=tables)


def read_identity(query: Query, facts: ServerFacts) -> tuple[Identity, dict[Instance, EpochReading] | None]:
    """Who answers, and since when each of its instances has been counting; None if that cannot be read.

    The nodes of a cluster answer in turn, so that neither name nor node tells clusters apart.
    """
    identity = Identity()
    if not facts.cluster:
        node = (_first(query, NODE) or (None,))[0]
        identity = Identity(
            facts.server_name, node.hex() if isinstance(node, bytes) else str(node or "").strip()
        )
    columns = {column.lower(): column for column in facts.tables.get("monState", {})}
    wanted = ["StartDate", "CountersCleared", *(["InstanceID"] if facts.cluster else [])]
    if not all(column.lower() in columns for column in wanted):
        return identity, None
    spelled = ", ".join(columns[column.lower()] for column in wanted)
    rows, _ = _rows(query, f"select ReadAt = getdate(), {spelled} from master..monState")
    seconds = [
        [server_seconds(cell) if isinstance(cell, datetime) else None for cell in row[:3]] for row in rows
    ]
    readings = {
        row[3] if facts.cluster else None: EpochReading(started, cleared, read_at)
        for row, (read_at, started, cleared) in zip(rows, seconds, strict=True)
        if read_at is not None and started is not None
    }
    return identity, readings or None


def unavailable_reason(number: int | None) -> Reason:
    """Why a collector is not available, by the message of its query; '' if the message has another cause."""
    return cast(Reason, known_of_message(number, "reason"))


def server_seconds(date: datetime) -> float:
    """A date of the server in seconds of its own clock."""
    return (date - _EPOCH).total_seconds()


def _stripped(rows: Sequence[Sequence[Any]]) -> tuple[tuple[str, ...], ...]:
    return tuple([tuple([str(cell).strip() for cell in row]) for row in rows])


# Servers of one version have the same tables, which take 90 kB.
@lru_cache(maxsize=8)
def _tables(
    listed: tuple[tuple[str, ...], ...], proxy_columns: tuple[tuple[str, ...], ...]
) -> Mapping[str, Mapping[str, str]]:
    """Column types by table and column, as listed; a table with proxy columns has only these, by their names."""
    tables: dict[str, dict[str, str]] = {}
    for table, column, kind in listed:
        tables.setdefault(table, {})[column] = kind.lower()
    names: dict[str, dict[str, str]] = {}
    for table, column in proxy_columns:
        names.setdefault(table, {})[column.lower()] = column
    return {
        table: {names[table][c.lower()]: kind for c, kind in columns.items() if c.lower() in names[table]}
        if table in names
        else columns
        for table, columns in tables.items()
    }


def _rows_in_time(query: Query, sql: str) -> Sequence[Sequence[Any]] | None:
    """The rows of a select that may meet locks; None after a timeout."""
    try:
        return _rows(query, sql)[0]
    except Exception as error:
        if getattr(error, "number", 0) is None and getattr(error, "usable", False):
            return None
        raise


def _rows(query: Query, sql: str) -> tuple[Sequence[Sequence[Any]], Reason]:
    try:
        return query(sql), ""
    except Exception as error:
        number = getattr(error, "number", None)
        if not isinstance(number, int) or not getattr(error, "usable", True):
            raise
        return (), unavailable_reason(number) or "error"


def _first(query: Query, sql: str) -> Sequence[Any] | None:
    rows, _ = _rows(query, sql)
    return rows[0] if rows else None


def _utc_offset(query: Query) -> timedelta:
    """The server's local time minus UTC, in quarters of an hour; without getutcdate(), by the exporter's clock."""
    if row := _first(query, UTC_CLOCK):
        utc, local = row
    else:
        utc = datetime.now(UTC).replace(tzinfo=None)
        local = (_first(query, CLOCK) or (utc,))[0]
    return timedelta(minutes=15 * round((local - utc) / timedelta(minutes=15)))
