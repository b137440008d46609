"""What all sessions of one simulated server share."""

from dataclasses import dataclass, field
from typing import Protocol

from ase_simulator.contracts import Row
from ase_simulator.schema.catalog import Catalog
from ase_simulator.sql.logins import Logins
from ase_simulator.sql.state.engine import SharedStore
from ase_simulator.sql.state.locks import Locks
from ase_simulator.sql.state.tables import ClientTables


class Killable(Protocol):
    """A session that KILL can end."""

    def kill(self) -> None: ...

    @property
    def database(self) -> str: ...


@dataclass(slots=True)
class ServerState:
    """Logins, client objects and settings of one server.

    object_ids: ids of the catalog's tables by name. history: the rows of sybsecurity..ch_events, oldest first.
    database_options: database -> bits of sysdatabases.status that sp_dboption set and cleared.
    users: names of logins, or guest, by database. readers: who may select from a system table, by database and
    table, once GRANT or REVOKE has named it.
    max_used: sp_monitorconfig's Max_Used by option.
    sessions: who is logged in, by spid.
    """

    catalog: Catalog
    charset: str
    logins: Logins
    object_ids: dict[str, int]
    system_procedures: frozenset[str]
    permanent: ClientTables = field(default_factory=ClientTables)
    history: list[Row] = field(default_factory=list)
    database_options: dict[str, tuple[int, int]] = field(default_factory=dict)
    users: dict[str, set[str]] = field(default_factory=dict)
    readers: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    max_used: dict[str, int] = field(default_factory=dict)
    store: SharedStore = field(default_factory=SharedStore)
    locks: Locks = field(default_factory=Locks)
    sessions: dict[int, Killable] = field(default_factory=dict)
