"""One logged-in connection: settings, variables, tables, and the context of everything that runs in it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from ase_simulator.contracts import Description, LoginRequest, Parameter, Row, Server
from ase_simulator.results import Message, Result, Rows, TransactionState, Type
from ase_simulator.schema.catalog import NEWEST, TableDefinition, catalog
from ase_simulator.schema.profiles import Profile
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.execute.calls import completed, function_value
from ase_simulator.sql.execute.describe import describe
from ase_simulator.sql.execute.interpreter import Interpreter
from ase_simulator.sql.execute.target import create_table, drop_table
from ase_simulator.sql.functions import FUNCTIONS
from ase_simulator.sql.functions.arithmetic import OPERATORS, STATISTICAL_AGGREGATES
from ase_simulator.sql.functions.globals import GLOBALS
from ase_simulator.sql.logins import Login
from ase_simulator.sql.lookup.names import Names
from ase_simulator.sql.lookup.server_facts import boot_time, run_value
from ase_simulator.sql.state.cursors import DeclaredCursor
from ase_simulator.sql.state.engine import EmbeddedEngine
from ase_simulator.sql.state.locks import Locker
from ase_simulator.sql.state.server_state import ServerState
from ase_simulator.sql.state.settings import Settings
from ase_simulator.sql.state.tables import ClientTable
from ase_simulator.sql.state.transactions import Transactions
from ase_simulator.sql.state.variables import Frame
from ase_simulator.sql.syntax.statements import CreateProcedure
from ase_simulator.sql.types.convert import as_type
from ase_simulator.sql.types.rules import DATETIME, INT
from ase_simulator.sql.types.values import EngineValue, microseconds

_MONITOR_COLUMNS = (
    "cpu_busy", "io_busy", "idle", "pack_received", "pack_sent", "pack_errors", "total_read", "total_write",
    "total_errors", "connections",
)  # fmt: skip
# Options that must both be on for changes to be recorded, and ch_events.area by the command that made a change.
_AUDIT_SWITCHES = ("auditing", "config history auditing")
_AREAS = {
    "sp_configure": "server",
    "sp_engine": "server",
    "dbcc traceon": "server",
    "sp_dboption": "database",
}
# CPU milliseconds charged to a session per select and per row: fixed, so that a simulated server shows the
# same figures at every speed and under every load of the machine.
_AWAITING_COMMAND = 250
STATEMENT_MS = 0.2
ROW_MS = 0.005


class SqlSession:
    """ase_simulator.contracts.Session, and the context of everything that runs in it."""

    def __init__(
        self, server: Server, shared: ServerState, login: Login, request: LoginRequest, spid: int
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
        self.procedures: dict[str, CreateProcedure] = {}
        self.error = 0
        self.rowcount = 0
        self.nestlevel = 0
        self.sqlstatus = 0
        self.status = 0
        self.identity = 0
        self.cursors: dict[str, DeclaredCursor] = {}
        self.traceflags: set[str] = set()
        self.engine = EmbeddedEngine(shared.store.uri)
        self.activity = server.client(spid)
        self.locks = shared.locks
        self.locker = Locker(spid, self.activity, server.now)
        self.locks.add(self.locker)
        self.transactions = Transactions(self.locks, self.locker)
        self._ended = asyncio.Event()
        self._register_functions()
        self.mark_types: Sequence[Type] = ()
        self.frozen: dict[str, list[Row]] | None = None
        self._closed = False
        self._install()
        self._seen: dict[str, frozenset[tuple[tuple[str, str], ...]]] = {}

    def _install(self) -> None:
        """The first session creates master..spt_monitor, in which sp_monitor keeps the figures that it saw last."""
        if self.shared.permanent.find("master", "spt_monitor") is not None:
            return
        columns = [("lastrun", DATETIME), *((name, INT) for name in _MONITOR_COLUMNS)]
        made = create_table(self, "master", "spt_monitor", columns)
        values = ", ".join([str(microseconds(boot_time(self.server))), *("0" for _ in _MONITOR_COLUMNS)])
        self.engine.run(f"INSERT INTO {made.handle} VALUES ({values})")
        made.next_row = 2

    @property
    def profile(self) -> Profile:
        """The version's facts."""
        return self.shared.catalog.profile

    @property
    def database(self) -> str:
        """The current database."""
        return self.names.database

    @property
    def transaction(self) -> TransactionState:
        """What the last statement left of the transaction."""
        return self.transactions.state

    @property
    def trancount(self) -> int:
        """How many transactions are nested."""
        return self.transactions.depth

    @property
    def lock_timeout(self) -> float | None:
        """How long the session waits for a lock; None for ever."""
        return self.locker.timeout

    @property
    def roles(self) -> list[str]:
        """Active roles, in ASE's order."""
        return self.login.active_roles

    def _register_functions(self) -> None:
        for name, operator in OPERATORS.items():
            self.engine.function(name, operator, pure=True)
        self.engine.function("as_type", as_type, pure=True)
        self.engine.function("current_value", self.variable_value, pure=False)
        self.engine.function("keep_value", self.keep_value, pure=False)
        self.engine.function("client_function", self._run_function, pure=False)
        for name, spread in STATISTICAL_AGGREGATES.items():
            self.engine.aggregate(f"f_{name}", spread)
        for name, function in FUNCTIONS.items():
            run: Callable[..., Any] = _bound(function.run, self) if function.session else function.run
            self.engine.function(f"f_{name}", run, pure=function.pure)

    def _run_function(self, name: str, *values: EngineValue) -> EngineValue:
        """The value of a SQL function, which runs within the query that calls it."""
        made = self.client_function(name)
        assert made is not None
        with self.engine.nested():
            return completed(function_value(Interpreter(self), made, values))

    # -- ase_simulator.contracts.Session ----------------------------------------------------------------

    async def execute(self, sql: str, parameters: Sequence[Parameter] = ()) -> AsyncIterator[Result]:
        """Run a batch."""
        with self._working():
            async for result in Interpreter(self).batch(sql, parameters):
                yield self._accounted(result)

    async def call(self, procedure: str, parameters: Sequence[Parameter]) -> AsyncIterator[Result]:
        """Run one procedure."""
        with self._working():
            async for result in Interpreter(self).remote_call(procedure, parameters):
                yield self._accounted(result)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """The process tables show that the session runs a batch, and then that it waits for the next."""
        activity = self.activity
        activity.wait(0, self.server.now())
        activity.command = "SELECT"
        try:
            yield
        finally:
            activity.wait(_AWAITING_COMMAND, self.server.now())
            activity.command, activity.sql = "AWAITING COMMAND", ""
            activity.database = self.database
            activity.database_id = self.names.databases().get(self.database, 1)

    def _accounted(self, result: Result) -> Result:
        """A result whose rows are charged to this session after the client read them."""
        if isinstance(result, Rows):
            result.rows = self._charged(result.rows)
        return result

    def _charged(self, rows: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
        taken = 0
        for row in rows:
            taken += 1
            yield row
        self.server.account(self.spid, statements=1, rows=taken, cpu_ms=STATEMENT_MS + taken * ROW_MS)

    def describe(self, sql: str) -> Description | Message:
        """What a statement takes and returns."""
        return describe(self, sql)

    def close(self) -> None:
        """Give back all that the session holds."""
        if not self._closed:
            self._closed = True
            self.transactions.rollback()
            self.locks.remove(self.spid)
            self.engine.close()
            if not self.locker.killed:
                del self.shared.sessions[self.spid]
                self.server.detach(self.spid)

    def kill(self) -> None:
        """KILL: what waits or sleeps ends at once, and so does the session; a running statement ends first."""
        self.locker.killed = True
        idle = self.activity.command == "AWAITING COMMAND"
        self._ended.set()
        if idle:
            self.transactions.rollback()
        del self.shared.sessions[self.spid]
        self.server.detach(self.spid)
        self.locks.wake()

    def ended(self) -> bool:
        """Whether KILL or a shutdown ended this session; its next batch fails."""
        return self.locker.killed or not self.server.running

    async def sleep(self, seconds: float) -> None:
        """Wait that many simulated seconds, or until KILL."""
        sleeping = asyncio.ensure_future(self.server.sleep(seconds))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({sleeping, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            ended.cancel()

    def check_loaded(self, database: str) -> None:
        """Raises SqlError 937 if LOAD DATABASE holds the database."""
        if database in self.server.loading_databases:
            raise SqlError(937, database)

    def unseen(self, table: str, rows: Iterable[Row]) -> list[Row]:
        """Rows of a stateful table that this connection has not received yet."""
        present = {tuple(sorted((k, str(v)) for k, v in row.items())): row for row in rows}
        before = self._seen.get(table, frozenset())
        self._seen[table] = frozenset(present)
        return [row for key, row in present.items() if key not in before]

    def freeze(self, action: str) -> None:
        """mdaconfig('freeze', 'begin' or 'end'): monitoring tables stop changing; raises SqlError 12043, 12044."""
        if action == "begin":
            if self.frozen is not None:
                raise SqlError(12043)
            self.frozen = {}
        elif action == "end":
            if self.frozen is None:
                raise SqlError(12044)
            self.frozen = None
        else:
            raise SqlError(102, action)

    def record_change(
        self, kind: str, target: str, element: str, old: str | None, new: str, mode: str
    ) -> None:
        """Add a configuration change to the history, if it is one and auditing is on."""
        if old == new or not all(run_value(self.server, switch, 0) for switch in _AUDIT_SWITCHES):
            return
        self.shared.history.append({
            "area": _AREAS.get(kind, "cache"), "type": kind, "target": target, "element": element, "oldvalue": old,
            "newvalue": new, "mode": mode or None, "timestamp": self.now(), "username": self.login.name,
            "instanceid": int(self.profile.cluster),
        })  # fmt: skip

    def drop_temporary(self, names: Iterable[str]) -> None:
        """Drop temporary tables; a caller's table that one hid is seen again."""
        for name in list(names):
            drop_table(self, "", name)

    # -- used by compiled queries -------------------------------------------------------------------------

    def table(self, database: str, name: str) -> TableDefinition | ClientTable:
        """A table by database and name."""
        stored = self.temporary.get(name)
        if stored is not None:
            return stored
        if database and database not in self.names.databases():
            raise SqlError(911, database)
        self.check_loaded(database)
        place = database or self.database
        permanent = self.shared.permanent.find(place, name)
        if permanent is not None:
            return permanent
        tables = catalog(NEWEST) if self.frame.system else self.shared.catalog
        found = tables.find(name, place)
        if found is None:
            raise SqlError(208, name)
        faults = self.server.faults
        return found.with_types(faults.column_types).without(faults.missing_columns)

    def client_function(self, name: str) -> CreateProcedure | None:
        """The SQL function of that name in its database or the current one or, for `sp_…`, in sybsystemprocs."""
        place, _, name = name.rpartition("..")
        places = [place or self.database, *(["sybsystemprocs", "master"] if name.startswith("sp_") else [])]
        made = self.shared.procedures
        return next(
            (
                found
                for place in places
                for (owner, known), found in made.items()
                if owner == place and known.lower() == name.lower() and found.returns is not None
            ),
            None,
        )

    def variable_type(self, name: str) -> Type:
        """The type of @v or @@v."""
        if name.startswith("@@"):
            found = GLOBALS.get(name.lower())
            if found is None:
                raise SqlError(137, name)
            return found.type
        if name not in self.frame.types:
            raise SqlError(137, name)
        return self.frame.types[name]

    def mark_type(self, number: int) -> Type | None:
        """The type of the value of a `?`; None if it is not known yet."""
        return self.mark_types[number] if number < len(self.mark_types) else None

    def variable_value(self, name: str) -> EngineValue:
        """The value of @v or @@v."""
        if name.startswith("@@"):
            return GLOBALS[name.lower()].read(self)
        return self.frame.values[name]

    def keep_value(self, name: str, value: EngineValue) -> EngineValue:
        """Set @v and return the value."""
        self.frame.values[name] = value
        return value

    def now(self) -> datetime:
        """The server's clock."""
        return self.server.local_now() + self.server.faults.daylight_saving


def _bound(run: Callable[..., Any], session: SqlSession) -> Callable[..., Any]:
    return lambda *arguments: run(session, *arguments)
