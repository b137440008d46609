"""One logged-in connection: its settings, its variables' world, and what functions may ask of it."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ase_simulator.contracts import Description, LoginRequest, Parameter
from ase_simulator.results import Message, Result, Rows, Type
from ase_simulator.schema.catalog import Table
from ase_simulator.sql.compiler import Stored
from ase_simulator.sql.convert import as_type
from ase_simulator.sql.cursors import Cursor
from ase_simulator.sql.describe import describe
from ase_simulator.sql.engine import Engine
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.frames import Frame
from ase_simulator.sql.functions import FUNCTIONS
from ase_simulator.sql.functions.arithmetic import OPERATORS, SPREADS
from ase_simulator.sql.globals import GLOBALS
from ase_simulator.sql.interpreter import Interpreter
from ase_simulator.sql.logins import Login
from ase_simulator.sql.names import ServerNames
from ase_simulator.sql.statements import CreateProcedure
from ase_simulator.sql.values import EngineValue

# What a select of monitoring tables and each of its rows cost a session, in milliseconds of CPU: a fixed price,
# so that a simulated server tells the same at every speed and load of the machine.
STATEMENT_MS = 0.2
ROW_MS = 0.005

if TYPE_CHECKING:
    from ase_simulator.sql.backend import SqlBackend


@dataclass(slots=True)
class Settings:
    """What SET changes."""

    rowcount: int = 0
    nocount: bool = False
    quoted_identifier: bool = False
    textsize: int = 32768
    language: str = "us_english"
    isolation: int = 1
    chained: bool = False
    noexec: bool = False
    parseonly: bool = False
    fmtonly: bool = False
    others: dict[str, str] = field(default_factory=dict)


class SqlSession(ServerNames):
    """ase_simulator.contracts.Session."""

    def __init__(self, backend: "SqlBackend", login: Login, request: LoginRequest, spid: int) -> None:
        super().__init__(backend, login)
        self.request = request
        self.spid = spid
        self.settings = Settings(language=request.language or login.language)
        self.frame = Frame()
        self.procedures: dict[str, CreateProcedure] = {}
        self.error = 0
        self.rowcount = 0
        self.trancount = 0
        self.nestlevel = 0
        self.sqlstatus = 0
        self.status = 0
        self.cursors: dict[str, Cursor] = {}
        self.traceflags: set[str] = set()
        self.killed = False
        self.identity = 0
        self.engine = Engine()
        self._register_functions()
        self.mark_types: Sequence[Type] = ()
        self.frozen: dict[str, list[Mapping[str, object]]] | None = None
        self._closed = False
        self._seen: dict[str, frozenset[tuple[tuple[str, str], ...]]] = {}

    def _register_functions(self) -> None:
        for name, operator in OPERATORS.items():
            self.engine.function(name, operator, pure=True)
        self.engine.function("as_type", as_type, pure=True)
        self.engine.function("current_value", self.variable_value, pure=False)
        self.engine.function("keep_value", self.keep_value, pure=False)
        for name, spread in SPREADS.items():
            self.engine.aggregate(f"f_{name}", spread)
        for name, function in FUNCTIONS.items():
            run: Callable[..., Any] = _bound(function.run, self) if function.session else function.run
            self.engine.function(f"f_{name}", run, pure=function.pure)

    # -- ase_simulator.contracts.Session ----------------------------------------------------------------

    async def execute(self, sql: str, parameters: Sequence[Parameter] = ()) -> AsyncIterator[Result]:
        """Run a batch."""
        async for result in Interpreter(self).batch(sql, parameters):
            yield self._accounted(result)

    async def call(self, procedure: str, parameters: Sequence[Parameter]) -> AsyncIterator[Result]:
        """Run one procedure."""
        async for result in Interpreter(self).remote_call(procedure, parameters):
            yield self._accounted(result)

    def _accounted(self, result: Result) -> Result:
        """A result whose rows are charged to this session when they have been taken."""
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
            self.engine.close()
            self.backend.forget(self)

    def ended(self) -> bool:
        """Whether KILL or a shutdown ended this session: its next batch learns it."""
        return self.killed or not self.server.running

    def check_loaded(self, database: str) -> None:
        """Raises SqlError 937 where LOAD DATABASE holds a database."""
        if database in self.server.loading_databases:
            raise SqlError(937, database)

    def unseen(self, table: str, rows: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
        """Rows of a stateful table that this connection has not been given yet."""
        present = {tuple(sorted((k, str(v)) for k, v in row.items())): row for row in rows}
        before = self._seen.get(table, frozenset())
        self._seen[table] = frozenset(present)
        return [row for key, row in present.items() if key not in before]

    def freeze(self, action: str) -> None:
        """mdaconfig('freeze', 'begin' or 'end'): monitoring tables stand still; raises SqlError 12043, 12044."""
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

    def drop_temporary(self, names: Iterable[str]) -> None:
        """The end of temporary tables."""
        for name in names:
            self.engine.drop(self.temporary.pop(name).handle)

    # -- what compiled queries ask ------------------------------------------------------------------------

    def table(self, database: str, name: str) -> Table | Stored:
        """A table by database and name."""
        stored = self.temporary.get(name)
        if stored is not None:
            return stored
        if database and database not in self.databases():
            raise SqlError(911, database)
        self.check_loaded(database)
        place = database or self.database
        permanent = self.backend.permanent.find(place, name)
        found = permanent.table if permanent else self.backend.catalog.find(name, place)
        if found is None:
            raise SqlError(208, name)
        return found

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
        """The type of the value that came for a `?`; None where there is none yet."""
        return self.mark_types[number] if number < len(self.mark_types) else None

    def variable_value(self, name: str) -> EngineValue:
        """The value of @v or @@v."""
        if name.startswith("@@"):
            return GLOBALS[name.lower()].read(self)
        return self.frame.values[name]

    def keep_value(self, name: str, value: EngineValue) -> EngineValue:
        """Sets @v; gives the value back."""
        self.frame.values[name] = value
        return value

    def now(self) -> datetime:
        """The server's clock."""
        return self.server.now()


def _bound(run: Callable[..., Any], session: SqlSession) -> Callable[..., Any]:
    return lambda *arguments: run(session, *arguments)
