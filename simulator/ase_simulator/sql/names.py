"""Names and numbers of databases, objects, logins and roles, as a session sees them."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, cast

from ase_simulator.schema.catalog import Table
from ase_simulator.schema.types import byte_length
from ase_simulator.sql.compiler import Stored
from ase_simulator.sql.functions.strings import like
from ase_simulator.sql.logins import ROLES, Login
from ase_simulator.sql.objects import ObjectNames
from ase_simulator.sql.procedures.registry import PROCEDURES

if TYPE_CHECKING:
    from ase_simulator.sql.backend import SqlBackend
    from ase_simulator.sql.session import SqlSession

TEMPDB = 2
_PAGE_KB = 4
_STANDARD_DATABASES = {
    "master": 1,
    "tempdb": TEMPDB,
    "model": 3,
    "sybsystemdb": 31513,
    "sybsystemprocs": 31514,
    "sybsecurity": 31515,
}
_DATABASE: Mapping[str, object] = {
    "suid": 1,
    "status": 8,
    "version": 35,
    "status2": 0,
    "status3": 0,
    "status4": 0,
}
_OWNERS = {"dbo": 1, "guest": 2, "public": 0}


class ServerNames:
    """The part of a session that answers db_name(), object_id(), suser_name() and their kin."""

    def __init__(self, backend: "SqlBackend", login: Login) -> None:
        self.backend = backend
        self.server = backend.server
        self.profile = backend.profile
        self.login = login
        self.database = login.database
        self.temporary: dict[str, Stored] = {}
        self.objects = ObjectNames(cast("SqlSession", self))

    @property
    def roles(self) -> list[str]:
        """Active roles, in ASE's order."""
        return [role for role in ROLES if role in self.login.roles]

    def databases(self) -> Mapping[str, int]:
        """All databases: name -> dbid."""
        return {str(row["name"]): int(str(row["dbid"])) for row in self.database_rows()}

    def database_rows(self) -> list[Mapping[str, object]]:
        """sysdatabases: the model's databases, and those of every server that it leaves out."""
        rows = list(self.server.table("sysdatabases"))
        present = {row["name"] for row in rows}
        missing = {name: dbid for name, dbid in _STANDARD_DATABASES.items() if name not in present}
        rows += [{**_DATABASE, "name": name, "dbid": dbid} for name, dbid in missing.items()]
        return [self._with_options(row) for row in rows]

    def _with_options(self, row: Mapping[str, object]) -> Mapping[str, object]:
        set_bits, cleared = self.backend.database_options.get(str(row["name"]), (0, 0))
        status = int(str(row.get("status") or 0))
        return {**row, "status": (status | set_bits) & ~cleared}

    def visible_tables(self) -> list[Table]:
        """The tables of the current database."""
        here = [t for t in self.backend.catalog.tables.values() if t.scope in ("each", self.database)]
        return here + [made.table for made in self.backend.permanent.in_database(self.database)]

    def find_table(self, name: str) -> Table | None:
        """A table of the current database by its name, which may have an owner."""
        wanted = name.split(".")[-1]
        return next((table for table in self.visible_tables() if table.name == wanted), None)

    @staticmethod
    def like(value: str, pattern: str) -> bool:
        """Whether a name fits a pattern of LIKE."""
        return bool(like(value, pattern))

    def booted(self) -> datetime:
        """When the server started."""
        row: Mapping[str, object] = next(iter(self.server.table("monState")), {})
        start = row.get("StartDate")
        return start if isinstance(start, datetime) else self.server.now()

    def engines(self) -> int:
        """How many engines there are."""
        return sum(1 for _ in self.server.table("monEngine"))

    def option_run(self, name: str, default: int) -> int:
        """The run value of a configuration option; default where this version lacks it."""
        return next((option.run for option in self.server.options() if option.name == name), default)

    def object_name(self, number: int | None, database: int | None = None) -> str | None:
        """The name of an object, or of a cached statement where the database is 2."""
        if number is None:
            return None
        place = self.database
        if database is not None:
            place = next((name for name, dbid in self.databases().items() if dbid == database), "")
        return self.objects.name(number, place) or self._statement_name(number, database)

    def _statement_name(self, number: int, database: int | None) -> str | None:
        if database != TEMPDB:
            return None
        row = next((r for r in self.server.table("monCachedStatement") if r.get("SSQLID") == number), None)
        return (
            None if row is None else f"*ss{number:010d}_{int(str(row.get('Hashkey') or 0)) % 2**31:010d}ss*"
        )

    def cached_text(self, number: int | None) -> str | None:
        """The text of a statement in the statement cache."""
        for row in self.server.table("monCachedStatement"):
            if row.get("SSQLID") == number:
                return str(row.get("SQLText"))
        return None

    def object_id(self, name: str) -> int | None:
        """The id of `table`, `owner.table` or `database.owner.table`."""
        parts = name.split(".")
        database = parts[0] if len(parts) == 3 and parts[0] else self.database
        return self.objects.number(parts[-1], database)

    def knows_procedure(self, name: str, database: str) -> bool:
        """Whether there is a procedure of that name: the server's own, or one that a client made."""
        return name in PROCEDURES or (database, name) in self.backend.procedures

    def index_name(self, database: int | None, number: int | None, index: int | None) -> str | None:
        """The name of an index; index 0 is the table itself."""
        if number is None or index is None:
            return None
        name = self.object_name(number, database)
        return name if index == 0 or name is None else f"{name}_{index}"

    def column_name(self, number: int | None, column: int | None, database: int | None = None) -> str | None:
        """The name of a column by its number."""
        name = self.object_name(number, database)
        table = self.backend.catalog.tables.get(name or "")
        if table is None or column is None or not 1 <= column <= len(table.columns):
            return None
        return table.columns[column - 1].name

    def column_length(self, table: str | None, column: str | None) -> int | None:
        """The bytes a column takes."""
        found = self.backend.catalog.tables.get((table or "").split(".")[-1])
        definition = found.by_name.get(column or "") if found else None
        return byte_length(definition.type) if definition else None

    def login_name(self, number: int | None) -> str | None:
        """The login of a server user id; without one, this session's."""
        if number is None:
            return self.login.name
        return self.backend.logins.name_of(number)

    def login_number(self, name: str | None) -> int | None:
        """The server user id of a login; without one, this session's."""
        return self.backend.logins.number_of(name.rstrip(" ")) if name else self.login.suid

    def user_name(self, number: int | None) -> str | None:
        """The database user; whoever has sa_role is dbo."""
        if number is None:
            return "dbo" if "sa_role" in self.roles else self.login.name
        named = {value: name for name, value in _OWNERS.items()}
        return named.get(number)

    def user_number(self, name: str | None) -> int | None:
        """The number of a database user."""
        if name is None:
            return 1 if "sa_role" in self.roles else self.login.suid
        return _OWNERS.get(name)

    def role_number(self, name: str | None) -> int | None:
        """The number of a role."""
        return ROLES.get((name or "").rstrip(" "))

    def role_name(self, number: int | None) -> str | None:
        """The name of a role."""
        return next((name for name, value in ROLES.items() if value == number), None)

    def free_pages(self, database: int | None, start: int | None) -> int | None:
        """Unreserved pages of one fragment, as curunreservedpgs() tells."""
        for row in self.server.table("sysusages"):
            if row.get("dbid") == database and row.get("lstart") == start:
                free = row.get("unreservedpgs")
                return int(str(free)) if free is not None else 0
        return 0

    def object_kilobytes(self, name: str) -> tuple[int, int]:
        """Data and index space of a table of the current database, as monCachedObject knows it."""
        number, database = self.object_id(name), self.databases()[self.database]
        return self._kilobytes(database, number, data=True), self._kilobytes(database, number, data=False)

    def _kilobytes(self, database: int, number: int | None, *, data: bool) -> int:
        return sum(
            int(str(row.get("TotalSizeKB") or 0))
            for row in self.server.table("monCachedObject")
            if (row["DBID"], row["ObjectID"]) == (database, number)
            and (int(str(row["IndexID"])) == 0) == data
        )

    def pages_of(self, database: int | None, number: int | None, index: int | None) -> int | None:
        """Pages of a table, or of one of its indexes."""
        if database is None or number is None:
            return None
        sizes = [
            int(str(row.get("TotalSizeKB") or 0))
            for row in self.server.table("monCachedObject")
            if (row["DBID"], row["ObjectID"]) == (database, number) and index in (None, row["IndexID"])
        ]
        return sum(sizes) // _PAGE_KB

    def log_pages(self, action: str | None, database: int | None) -> int | None:
        """lct_admin(): free pages of a database's log."""
        if action not in ("logsegment_freepages", "num_logpages", "reserved_for_rollbacks"):
            return 0
        rows = [row for row in self.server.table("sysusages") if row.get("dbid") == database]
        logs = [row for row in rows if int(str(row.get("segmap") or 0)) & 4]
        column = "unreservedpgs" if action == "logsegment_freepages" else "size"
        return sum(int(str(row.get(column) or 0)) for row in logs)
