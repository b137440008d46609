"""Names and numbers of databases, objects, logins and roles, as a session sees them."""

from collections.abc import Mapping

from ase_simulator.contracts import Row, Server
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.logins import ROLES, Login
from ase_simulator.sql.lookup.object_ids import ObjectIds
from ase_simulator.sql.lookup.snapshot import Snapshot
from ase_simulator.sql.state.server_state import ServerState
from ase_simulator.sql.state.tables import ClientTable

TEMPDB = 2
_STANDARD_DATABASES = {
    "master": 1, "tempdb": TEMPDB, "model": 3, "sybsystemdb": 31513, "sybsystemprocs": 31514, "sybsecurity": 31515,
}  # fmt: skip
_DATABASE: Row = {"suid": 1, "status": 8, "version": 35, "status2": 0, "status3": 0, "status4": 0}


class Names:
    """Answers db_name(), object_id(), suser_name() and their kin for one session.

    database: the current one. temporary: the session's temporary tables by name.
    """

    def __init__(
        self, server: Server, shared: ServerState, login: Login, temporary: Mapping[str, ClientTable]
    ) -> None:
        self.database = login.database
        self._server = server
        self._shared = shared
        self._login = login
        self.snapshot = Snapshot(server)
        self._databases: dict[str, int] = {}
        self._temporary = temporary
        self._object_ids = ObjectIds(self.snapshot, shared, temporary)

    def refresh(self) -> None:
        """A new statement begins: tables may have been created or dropped, processes have gone on."""
        self._object_ids.refresh()
        self.snapshot.refresh()
        self._databases = {}

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
        return self._object_ids.name(number, place) or self._statement_name(number, database)

    def _statement_name(self, number: int, database: int | None) -> str | None:
        if database != TEMPDB:
            return None
        for row in self.snapshot.rows("monCachedStatement", "SSQLID", number):
            return f"*ss{number:010d}_{int(str(row.get('Hashkey') or 0)) % 2**31:010d}ss*"
        return None

    def object_id(self, name: str) -> int | None:
        """The id of `table`, `owner.table` or `database.owner.table`."""
        parts = name.split(".")
        database = parts[0] if len(parts) == 3 and parts[0] else self.database
        return self._object_ids.number(parts[-1], database)

    def login_name(self, number: int | None) -> str | None:
        """The login of a server user id; by default this session's."""
        if number is None:
            return self._login.name
        return self._shared.logins.name_of(number)

    def login_number(self, name: str | None) -> int | None:
        """The server user id of a login; by default this session's."""
        return self._shared.logins.number_of(name.rstrip(" ")) if name else self._login.suid

    def role_name(self, number: int | None) -> str | None:
        """The name of a role."""
        return next((name for name, value in ROLES.items() if value == number), None)
