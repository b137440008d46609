"""One logged-in connection, as tds sees it: batches, and its end."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ase_simulator.contracts import LoginRequest
from ase_simulator.model.server import SimulatedServer
from ase_simulator.results import Result, Rows, Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError, refusal
from ase_simulator.sql.execute.interpreter import Interpreter
from ase_simulator.sql.functions import FUNCTIONS
from ase_simulator.sql.functions.arithmetic import OPERATORS
from ase_simulator.sql.functions.globals import GLOBALS
from ase_simulator.sql.logins import Login
from ase_simulator.sql.state.server_state import ServerState
from ase_simulator.sql.types.convert import as_type
from ase_simulator.sql.types.values import EngineValue

_AWAITING_COMMAND = 250
# CPU milliseconds charged to a session per select and per row: fixed, so that a simulated server shows the
# same figures at every speed and under every load of the machine.
STATEMENT_MS = 0.2
ROW_MS = 0.005


class SqlSession(Context):
    """ase_simulator.contracts.Session."""

    def __init__(
        self, server: SimulatedServer, shared: ServerState, login: Login, request: LoginRequest, spid: int
    ) -> None:
        super().__init__(server, shared, login, request, spid)
        self._closed = False
        self._register_functions()

    def _register_functions(self) -> None:
        for name, operator in OPERATORS.items():
            self.engine.function(name, operator, pure=True)
        self.engine.function("as_type", as_type, pure=True)
        self.engine.function("current_value", self.variable_value, pure=False)
        self.engine.function("keep_value", self.keep_value, pure=False)
        for name, function in FUNCTIONS.items():
            run: Callable[..., Any] = _bound(function.run, self) if function.session else function.run
            self.engine.function(f"f_{name}", run, pure=function.pure)

    # -- ase_simulator.contracts.Session ----------------------------------------------------------------

    async def execute(self, sql: str) -> AsyncIterator[Result]:
        with self._working():
            async for result in Interpreter(self).batch(sql):
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

    def close(self) -> None:
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
        if name.startswith("@@"):
            found = GLOBALS.get(name.lower())
            if found is None:
                raise refusal("variables", name.lower(), SqlError(137, name))
            return found.type
        if name not in self.frame.types:
            raise SqlError(137, name)
        return self.frame.types[name]

    def variable_value(self, name: str) -> EngineValue:
        if name.startswith("@@"):
            return GLOBALS[name.lower()].read(self)
        return self.frame.values[name]

    def keep_value(self, name: str, value: EngineValue) -> EngineValue:
        self.frame.values[name] = value
        return value


def _bound(run: Callable[..., Any], session: SqlSession) -> Callable[..., Any]:
    return lambda *arguments: run(session, *arguments)
