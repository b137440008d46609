"""Interfaces of a session for functions, system procedures and statements, narrowest first."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from ase_simulator.contracts import ClientState, LoginRequest, Row, Server
from ase_simulator.results import TransactionState, Type
from ase_simulator.schema.catalog import TableDefinition
from ase_simulator.schema.profiles import Profile
from ase_simulator.sql.logins import Login
from ase_simulator.sql.lookup.names import Names
from ase_simulator.sql.state.cursors import DeclaredCursor
from ase_simulator.sql.state.engine import EmbeddedEngine
from ase_simulator.sql.state.locks import Locker, Locks
from ase_simulator.sql.state.server_state import ServerState
from ase_simulator.sql.state.settings import Settings
from ase_simulator.sql.state.tables import ClientTable
from ase_simulator.sql.state.transactions import Transactions
from ase_simulator.sql.state.variables import Frame
from ase_simulator.sql.syntax.statements import CreateProcedure
from ase_simulator.sql.types.values import EngineValue


class FunctionContext(Protocol):
    """For functions, @@globals and system tables."""

    server: Server
    shared: ServerState
    login: Login
    request: LoginRequest
    names: Names
    settings: Settings
    spid: int
    error: int
    rowcount: int
    nestlevel: int
    sqlstatus: int
    status: int
    identity: int

    @property
    def profile(self) -> Profile:
        """The version's facts."""
        ...

    @property
    def database(self) -> str:
        """The current database."""
        ...

    @property
    def trancount(self) -> int:
        """How many transactions are nested."""
        ...

    @property
    def transaction(self) -> TransactionState:
        """What the last statement left of the transaction."""
        ...

    @property
    def lock_timeout(self) -> float | None:
        """How long the session waits for a lock; None for ever."""
        ...

    @property
    def roles(self) -> Sequence[str]:
        """Active roles, in ASE's order."""
        ...

    def now(self) -> datetime:
        """The server's clock."""
        ...

    def freeze(self, action: str) -> None:
        """mdaconfig('freeze', 'begin' or 'end'): monitoring tables stop changing; raises SqlError 12043, 12044."""
        ...


class ProcedureContext(FunctionContext, Protocol):
    """For system procedures and administration commands."""

    traceflags: set[str]

    def variable_value(self, name: str) -> EngineValue:
        """The value of @v or @@v."""
        ...

    def record_change(
        self, kind: str, target: str, element: str, old: str | None, new: str, mode: str
    ) -> None:
        """Add a configuration change to the history, if it is one and auditing is on."""
        ...


class StatementContext(ProcedureContext, Protocol):
    """For the execution of statements."""

    engine: EmbeddedEngine
    frame: Frame
    transactions: Transactions
    activity: ClientState
    locks: Locks
    locker: Locker
    temporary: dict[str, ClientTable]
    procedures: dict[str, CreateProcedure]
    cursors: dict[str, DeclaredCursor]
    mark_types: Sequence[Type]
    frozen: dict[str, list[Row]] | None

    def table(self, database: str, name: str) -> TableDefinition | ClientTable:
        """A table by its database ('' for the current one) and name; raises SqlError 208, 911, 937."""
        ...

    def client_function(self, name: str) -> CreateProcedure | None:
        """The SQL function of that name (any case), which may be `database..name`."""
        ...

    def variable_type(self, name: str) -> Type:
        """The type of @v or @@v; raises SqlError 137."""
        ...

    def mark_type(self, number: int) -> Type | None:
        """The type of the value of a `?`; None if it is not known yet."""
        ...

    def check_loaded(self, database: str) -> None:
        """Raises SqlError 937 if LOAD DATABASE holds the database."""
        ...

    def unseen(self, table: str, rows: Iterable[Row]) -> list[Row]:
        """Rows of a stateful table that this connection has not received yet."""
        ...

    def drop_temporary(self, names: Iterable[str]) -> None:
        """Drop temporary tables; a caller's table that one hid is seen again."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that many simulated seconds, or until KILL."""
        ...

    def ended(self) -> bool:
        """Whether KILL or a shutdown ended this session."""
        ...
