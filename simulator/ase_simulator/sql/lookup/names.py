"""Names and numbers of databases, objects, logins and roles, as a session sees them."""

import zlib
from collections.abc import Mapping

from ase_simulator.contracts import Row
from ase_simulator.model.server import SimulatedServer
from ase_simulator.schema.catalog import Catalog
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.logins import ROLES, Login
from ase_simulator.sql.lookup.snapshot import Snapshot
from ase_simulator.sql.state.server_state import ServerState
from ase_simulator.sql.state.tables import ClientTable

TEMPDB = 2
_STANDARD_DATABASES = {
    "master": 1, "tempdb": TEMPDB, "model": 3, "sybsystemdb": 31513, "sybsystemprocs": 31514, "sybsecurity": 31515,
}  # fmt: skip
_DATABASE: Row = {"suid": 1, "status": 8, "version": 35, "instanceid": None, "inrowlen": None}


# Fixed ids of ASE.
_FIXED = {
    "sysobjects": 1, "sysindexes": 2, "syscolumns": 3, "systypes": 4, "sysprocedures": 5, "syscomments": 6,
    "syssegments": 7, "syslogs": 8, "sysprotects": 9, "sysusers": 10, "sysalternates": 11, "sysdepends": 12,
    "syskeys": 13, "sysreferences": 15, "systabstats": 23, "sysattributes": 21, "syspartitions": 28,
    "systhresholds": 20, "sysconstraints": 18, "sysroles": 19,
}  # fmt: skip
_FIRST_SYSTEM = 30
_FIRST_MONITORING = 1_420_529_063
_STEP = 32_000_114
_MAX_ID = 2_147_000_000


def catalog_object_ids(catalog: Catalog) -> dict[str, int]:
    """Ids of the tables that every server has."""
    others = [t.name for t in catalog.tables.values() if not t.monitoring and t.name not in _FIXED]
    numbers = dict(_FIXED) | {name: _FIRST_SYSTEM + place for place, name in enumerate(others)}
    for place, table in enumerate(catalog.monitoring_tables()):
        numbers[table.name] = (_FIRST_MONITORING + place * _STEP) % _MAX_ID
    return numbers


class Names:
    """Answers db_name(), object_id(), suser_name() and their kin for one session.

    database: the current one. temporary: the session's temporary tables by name.
    """

    def __init__(
        self, server: SimulatedServer, shared: ServerState, login: Login, temporary: Mapping[str, ClientTable]
    ) -> None:
        self.database = login.database
        self._server = server
        self._shared = shared
        self._login = login
        self.snapshot = Snapshot(server)
        self._databases: dict[str, int] = {}
        self._temporary = temporary
        self._objects: dict[int, str] = {}

    def refresh(self) -> None:
        """A new statement begins: tables may have been created or dropped, processes have gone on."""
        self.snapshot.refresh()
        self._databases, self._objects = {}, {}

    def databases(self) -> Mapping[str, int]:
        """All databases, name -> dbid, as they were when the statement first asked for them."""
        if not self._databases:
            self._databases = {str(row["name"]): int(str(row["dbid"])) for row in self.database_rows()}
        return self._databases

    def database_rows(self) -> list[Row]:
        """sysdatabases: the model's databases, and the standard ones that it lacks."""
        rows = list(self._server.table("sysdatabases"))
        present = {row["name"] for row in rows}
        missing = {name: dbid for name, dbid in _STANDARD_DATABASES.items() if name not in present}
        created = rows[0].get("crdate") if rows else None
        rows += [
            {**_DATABASE, "name": name, "dbid": dbid, "crdate": created} for name, dbid in missing.items()
        ]
        return [self._with_options(row) for row in rows]

    def database_row(self, name: str) -> Row:
        """The row of sysdatabases; raises SqlError 911."""
        found = next((row for row in self.database_rows() if row["name"] == name), None)
        if found is None:
            raise SqlError(911, name)
        return found

    def _with_options(self, row: Row) -> Row:
        set_bits, cleared = self._shared.database_options.get(str(row["name"]), (0, 0))
        status = int(str(row.get("status") or 0))
        return {**row, "status": (status | set_bits) & ~cleared}

    def object_name(self, number: int | None, database: int | None = None) -> str | None:
        """The name of an object, or of a cached statement where the database is 2."""
        if number is None:
            return None
        place = self.database
        if database is not None:
            place = next((name for name, dbid in self.databases().items() if dbid == database), "")
        for row in self.snapshot.rows("sysobjects", "id", number):
            if row["database"] == place:
                return str(row["name"])
        if not self._objects:
            self._objects = {value: name for name, value in self._shared.object_ids.items()}
            self._objects |= {made.number: made.name for made in self._shared.permanent.by_name.values()}
        if number in self._objects or database != TEMPDB:
            return self._objects.get(number)
        for row in self.snapshot.rows("monCachedStatement", "SSQLID", number):
            return f"*ss{number:010d}_{int(str(row.get('Hashkey') or 0)) % 2**31:010d}ss*"
        return None

    def object_id(self, name: str) -> int | None:
        """The id of `table`, `owner.table` or `database.owner.table`."""
        parts = name.split(".")
        database, name = parts[0] if len(parts) == 3 and parts[0] else self.database, parts[-1]
        for row in self.snapshot.rows("sysobjects", "name", name):
            if row["database"] == database:
                return int(str(row["id"]))
        made = self._temporary.get(name) or self._shared.permanent.find(database, name)
        if made is not None:
            return made.number
        if self._shared.catalog.find(name, database) is not None:
            return self._shared.object_ids[name]
        # A stable id for procedures, which have none.
        return zlib.crc32(name.encode()) >> 1 if name in self._shared.system_procedures else None

    def login_name(self, number: int | None) -> str | None:
        """The login of a server user id; by default this session's."""
        if number is None:
            return self._login.name
        return self._shared.logins.name_of(number)

    def login_number(self, name: str | None) -> int | None:
        """The server user id of a login; by default this session's."""
        return self._shared.logins.number_of(name.rstrip(" ")) if name else self._login.suid

    def role_name(self, number: int | None) -> str | None:
        return next((name for name, value in ROLES.items() if value == number), None)
