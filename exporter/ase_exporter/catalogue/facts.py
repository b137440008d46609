"""What one server has: read once after login, before the plan is made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ase_exporter.catalogue.messages import Reason, unavailable_reason
from ase_exporter.catalogue.versions import Version, parse_version

Query = Callable[[str], Sequence[Sequence[Any]]]

SERVER = "select @@version, @@servername, @@maxpagesize"
CLOCK = "select getdate()"
UTC_CLOCK = "select getutcdate(), getdate()"
# proc_role() also sees roles that are granted through other roles, show_role() does not.
ROLES = ("mon_role", "sa_role", "sso_role", "oper_role", "sybase_ts_role", "replication_role")
OPTIONS = (
    "select c.name, u.value from master..sysconfigures c, master..syscurconfigs u where c.config = u.config"
)
DATABASES = "select dbid, name from master..sysdatabases"
COLUMNS = "select TableName, ColumnName, TypeName from master..monTableColumns"
CACHES = "select CacheName from master..monDataCache"
WAIT_EVENTS = "select WaitEventID, WaitClassID, Description from master..monWaitEventInfo"
WAIT_CLASSES = "select WaitClassID, Description from master..monWaitClassInfo"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the plan depends on.

    tables: types of the columns that really exist, by table and column, as monTableColumns has them.
    tables_reason: why it is empty (no_role without mon_role). roles: active ones.
    options: run values of the configuration by name. utc_offset: the server's clock less UTC.
    page_size: bytes. wait_events: id -> (class, description). caches: names of data caches.
    databases: id -> name.
    """

    version: Version
    server_name: str = ""
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tables_reason: Reason = ""
    roles: frozenset[str] = frozenset()
    options: Mapping[str, int] = field(default_factory=dict)
    utc_offset: timedelta = timedelta()
    page_size: int = 2048
    wait_events: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    caches: frozenset[str] = frozenset()
    databases: Mapping[int, str] = field(default_factory=dict)

    @property
    def cluster(self) -> bool:
        """Cluster Edition: rows of several instances, told apart by InstanceID."""
        return self.version.cluster


def read_facts(query: Query) -> ServerFacts:
    """Ask the server; `query` runs one select and returns its rows.

    An error of the server (any exception with an integer `number`, unless it has a false `usable`) costs only
    the facts it was asked for; all others pass through, as does an error on the very first question.
    """
    version, name, page_size = query(SERVER)[0]
    facts: dict[str, Any] = {
        "version": parse_version(str(version)),
        "server_name": str(name or "").strip(),
        "page_size": int(page_size or 2048),
    }
    facts["utc_offset"] = _utc_offset(query)
    facts["roles"] = frozenset(
        role for role in ROLES if (_first(query, f"select proc_role('{role}')") or (0,))[0]
    )
    facts["options"] = {str(row[0]).strip(): int(row[1] or 0) for row in _rows(query, OPTIONS)[0]}
    facts["databases"] = {int(row[0]): str(row[1]).strip() for row in _rows(query, DATABASES)[0]}
    language = " where Language = 'en_US'" if facts["version"] >= parse_version("15.7") else ""
    rows, reason = _rows(query, COLUMNS + language)
    tables: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        tables.setdefault(str(table).strip(), {})[str(column).strip()] = str(kind).strip().lower()
    facts["tables"], facts["tables_reason"] = tables, reason
    if tables:
        facts["caches"] = frozenset(str(row[0]).strip() for row in _rows(query, CACHES)[0])
        classes = {row[0]: str(row[1]).strip() for row in _rows(query, WAIT_CLASSES + language)[0]}
        facts["wait_events"] = {
            int(row[0]): (classes.get(row[1], str(row[1])), str(row[2]).strip())
            for row in _rows(query, WAIT_EVENTS + language)[0]
        }
    return ServerFacts(**facts)


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
    """The server's clock less UTC, in quarters of an hour; before getutcdate() existed, by our own clock."""
    if row := _first(query, UTC_CLOCK):
        utc, local = row
    else:
        utc = datetime.now(UTC).replace(tzinfo=None)
        local = (_first(query, CLOCK) or (utc,))[0]
    return timedelta(minutes=15 * round((local - utc) / timedelta(minutes=15)))
