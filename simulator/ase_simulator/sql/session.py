"""One logged-in connection, as tds sees it: batches, calls, prepared statements, its end."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ase_simulator.contracts import Description, LoginRequest, Parameter, Server
from ase_simulator.results import Message, Result, Rows, Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.execute.calls import completed, function_value
from ase_simulator.sql.execute.describe import describe
from ase_simulator.sql.execute.interpreter import Interpreter
from ase_simulator.sql.execute.target import create_table
from ase_simulator.sql.functions import FUNCTIONS
from ase_simulator.sql.functions.arithmetic import OPERATORS, STATISTICAL_AGGREGATES
from ase_simulator.sql.functions.globals import GLOBALS
from ase_simulator.sql.logins import Login
from ase_simulator.sql.lookup.server_facts import boot_time
from ase_simulator.sql.state.server_state import ServerState
from ase_simulator.sql.types.convert import as_type
from ase_simulator.sql.types.rules import DATETIME, INT
from ase_simulator.sql.types.values import EngineValue, microseconds

_MONITOR_COLUMNS = (
    "cpu_busy", "io_busy", "idle", "pack_received", "pack_sent", "pack_errors", "total_read", "total_write",
    "total_errors", "connections",
)  # fmt: skip
# CPU milliseconds charged to a session per select and per row: fixed, so that a simulated server shows the
# same figures at every speed and under every load of the machine.
_AWAITING_COMMAND = 250
STATEMENT_MS = 0.2
ROW_MS = 0.005


class SqlSession(Context):
    """ase_simulator.contracts.Session."""

    def __init__(
        self, server: Server, shared: ServerState, login: Login, request: LoginRequest, spid: int
    ) -> None:
        super().__init__(server, shared, login, request, spid)
        self._closed = False
        self._register_functions()
        self._install()

    def _install(self) -> None:
        """The first session creates master..spt_monitor, in which sp_monitor keeps the figures that it saw last."""
        if self.shared.permanent.find("master", "spt_monitor") is not None:
            return
        columns = [("lastrun", DATETIME), *((name, INT) for name in _MONITOR_COLUMNS)]
        made = create_table(self, "master", "spt_monitor", columns)
        values = ", ".join([str(microseconds(boot_time(self.server))), *("0" for _ in _MONITOR_COLUMNS)])
        self.engine.run(f"INSERT INTO {made.handle} VALUES ({values})")
        made.next_row = 2

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

    # -- used by compiled queries -------------------------------------------------------------------------

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

    def variable_value(self, name: str) -> EngineValue:
        """The value of @v or @@v."""
        if name.startswith("@@"):
            return GLOBALS[name.lower()].read(self)
        return self.frame.values[name]

    def keep_value(self, name: str, value: EngineValue) -> EngineValue:
        """Set @v and return the value."""
        self.frame.values[name] = value
        return value


def _bound(run: Callable[..., Any], session: SqlSession) -> Callable[..., Any]:
    return lambda *arguments: run(session, *arguments)
