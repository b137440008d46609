"""One logged-in connection, as functions, system procedures and statements see it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime

from ase_simulator.contracts import LoginRequest, Row
from ase_simulator.model.server import SimulatedServer
from ase_simulator.results import Type
from ase_simulator.schema.catalog import NEWEST, TableDefinition, catalog
from ase_simulator.schema.profiles import Profile
from ase_simulator.sql.errors import SqlError, refusal
from ase_simulator.sql.logins import Login
from ase_simulator.sql.lookup.names import Names
from ase_simulator.sql.lookup.space import SINGLE_USER, check_open
from ase_simulator.sql.state.engine import EmbeddedEngine
from ase_simulator.sql.state.locks import Locker
from ase_simulator.sql.state.server_state import ServerState
from ase_simulator.sql.state.tables import ClientTable
from ase_simulator.sql.state.transactions import Transactions
from ase_simulator.sql.state.variables import Frame, Settings
from ase_simulator.sql.types.values import EngineValue

# Options that must both be on for changes to be recorded, and ch_events.area by the command that made a change.
_AUDIT_SWITCHES = ("auditing", "config history auditing")
# How the names of databases begin that have a user `guest` since their creation.
GUESTS = ("master", "tempdb", "sybsystemdb", "sybsystemprocs")
_AREAS = {
    "sp_configure": "server",
    "sp_engine": "server",
    "dbcc traceon": "server",
    "sp_dboption": "database",
}


class Context(ABC):
    """The state of a session: settings, variables, tables, locks.

    error, rowcount, nestlevel: what the @@variables show. set_roles: what SET ROLE switched.
    """

    def __init__(
        self, server: SimulatedServer, shared: ServerState, login: Login, request: LoginRequest, spid: int
    ) -> None:
        self.server = server
        self.shared = shared
        self.login = login
        self.request = request
        self.spid = spid
        self.temporary: dict[str, ClientTable] = {}
        self.names = Names(server, shared, login, self.temporary)
        self.settings = Settings(
            language=request.language or login.language, system_view=server.faults.system_view
        )
        self.frame = Frame()
        self.error = 0
        self.rowcount = 0
        self.nestlevel = 0
        self.traceflags: set[str] = set()
        self.set_roles: dict[str, bool] = {}
        self.engine = EmbeddedEngine(shared.store.uri)
        self.activity = server.client(spid)
        self.locks = shared.locks
        self.locker = Locker(spid, self.activity, server.now)
        self.locks.add(self.locker)
        self.transactions = Transactions(self.locks, self.locker)
        self._ended = asyncio.Event()
        self._seen: dict[str, frozenset[tuple[tuple[str, str], ...]]] = {}

    @property
    def profile(self) -> Profile:
        return self.shared.catalog.profile

    @property
    def database(self) -> str:
        return self.names.database

    @property
    def trancount(self) -> int:
        return self.transactions.depth

    @property
    def roles(self) -> list[str]:
        """Active roles, in ASE's order."""
        off = self.login.inactive
        return [role for role in self.login.active_roles if self.set_roles.get(role, role not in off)]

    def now(self) -> datetime:
        return self.server.local_now()

    def record_change(
        self, kind: str, target: str, element: str, old: str | None, new: str, mode: str
    ) -> None:
        """Add a configuration change to the history, if it is one and auditing is on."""
        if old == new or not all(map(self.server.run_value, _AUDIT_SWITCHES)):
            return
        self.shared.history.append({
            "area": _AREAS.get(kind, "cache"), "type": kind, "target": target, "element": element, "oldvalue": old,
            "newvalue": new, "mode": mode or None, "timestamp": self.now(), "username": self.login.name,
            "instanceid": int(self.profile.cluster),
        })  # fmt: skip

    def table(self, database: str, name: str) -> TableDefinition | ClientTable:
        stored = self.temporary.get(name)
        if stored is not None:
            return stored
        place = database or self.database
        if place != self.database:
            self.enter(place)
        permanent = self.shared.permanent.find(place, name)
        if permanent is not None:
            return permanent
        tables = catalog(NEWEST) if self.frame.system else self.shared.catalog
        found = tables.find(name, place)
        faults = self.server.faults
        if found is None or name in faults.missing_tables:
            raise refusal("tables", name, SqlError(208, name))
        return found.altered(faults.column_types, faults.missing_columns)

    def enter(self, database: str) -> None:
        """Raises SqlError 911, or if the login cannot use the database: by its state, or as no user of it (916)."""
        row = self.names.database_row(database)
        # One that the scenario gives to a single user is in use.
        option = self.shared.database_options.get(database, (0, 0))[0] & SINGLE_USER
        others = (each.database for spid, each in self.shared.sessions.items() if spid != self.spid)
        check_open(row, owner="sa_role" in self.roles, occupied=not option or database in others)
        known = {self.login.name, "guest"} & self.users_of(database)
        if not known and not self.frame.system and "sa_role" not in self.roles:
            raise SqlError(916, self.login.suid, database)

    def users_of(self, database: str) -> set[str]:
        """A database's users besides dbo: names of logins, and guest."""
        users = self.shared.users.get(database, set())
        open_to_all = database.startswith(GUESTS) or self.names.snapshot.rows("simGuests", "name", database)
        return users | {"guest"} if open_to_all else users

    def unseen(self, table: str, rows: Iterable[Row]) -> list[Row]:
        """Rows of a stateful table that this connection has not received yet."""
        present = {tuple(sorted((k, str(v)) for k, v in row.items())): row for row in rows}
        before = self._seen.get(table, frozenset())
        self._seen[table] = frozenset(present)
        return [row for key, row in present.items() if key not in before]

    async def sleep(self, seconds: float) -> None:
        """Wait that many simulated seconds, or until KILL."""
        sleeping = asyncio.ensure_future(self.server.sleep(seconds))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({sleeping, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            ended.cancel()

    def ended(self) -> bool:
        """Whether KILL or a shutdown ended this session; its next batch fails."""
        return self.locker.killed or not self.server.running

    @abstractmethod
    def variable_type(self, name: str) -> Type:
        """The type of @v or @@v; raises SqlError 137."""

    @abstractmethod
    def variable_value(self, name: str) -> EngineValue:
        """The value of @v or @@v."""
