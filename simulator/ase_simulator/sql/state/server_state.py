"""What all sessions of one simulated server share."""

from dataclasses import dataclass, field

from ase_simulator.schema.catalog import Catalog
from ase_simulator.sql.logins import Logins
from ase_simulator.sql.state.config_history import ConfigHistory
from ase_simulator.sql.state.tables import PermanentTables
from ase_simulator.sql.syntax.statements import CreateProcedure


@dataclass(slots=True)
class ServerState:
    """Logins, client objects and settings of one server.

    object_ids: ids of the catalog's tables by name. procedures: client procedures by database and name.
    databases: dbids of the databases that clients created.
    database_options: database -> bits of sysdatabases.status that sp_dboption set and cleared.
    max_used: sp_monitorconfig's Max_Used by option.
    sessions, killed: spids that are logged in, and those of them that KILL ended.
    """

    catalog: Catalog
    charset: str
    logins: Logins
    object_ids: dict[str, int]
    system_procedures: frozenset[str]
    permanent: PermanentTables = field(default_factory=PermanentTables)
    procedures: dict[tuple[str, str], CreateProcedure] = field(default_factory=dict)
    history: ConfigHistory = field(default_factory=ConfigHistory)
    databases: dict[str, int] = field(default_factory=dict)
    database_options: dict[str, tuple[int, int]] = field(default_factory=dict)
    max_used: dict[str, int] = field(default_factory=dict)
    sessions: set[int] = field(default_factory=set)
    killed: set[int] = field(default_factory=set)
