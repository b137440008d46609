"""Interfaces between the simulator's packages: tds -> Backend, Session -> sql -> Server -> model.

`tds` knows only Backend and Session; `sql` implements them over a Server; `model` implements Server.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypedDict, Unpack

from ase_simulator.faults import Faults
from ase_simulator.results import Message, Result, TransactionState

# One row of a table by column name. Columns left out are NULL to the client.
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A decoded login record. password: '' if none was sent. encrypted: it came encrypted."""

    user: str
    password: str
    hostname: str = ""
    program: str = ""
    language: str = ""
    charset: str = ""
    library: str = ""
    process: str = ""
    address: str = ""
    encrypted: bool = False


class Session(Protocol):
    """One logged-in connection. A task that iterates may be cancelled at any await (attention)."""

    @property
    def spid(self) -> int: ...

    @property
    def database(self) -> str: ...

    @property
    def transaction(self) -> TransactionState: ...

    def execute(self, sql: str) -> AsyncIterator[Result]:
        """Run a batch. Errors: Message."""
        ...

    def close(self) -> None:
        """Release the session's resources. Calling it again has no effect."""
        ...


class Backend(Protocol):
    """One simulated server as `tds` sees it. A process may serve several, one per port."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def charset(self) -> str: ...

    def login(self, request: LoginRequest) -> Session | Message:
        """A session, or the error of a failed login (for example 4002)."""
        ...


@dataclass(frozen=True, slots=True)
class Option:
    """A configuration option as sysconfigures and syscurconfigs show it.

    minimum, maximum, default, configured, run: in its own unit; static: takes effect at restart.
    text: the value of an option that holds a string, else ''.
    """

    number: int
    name: str
    section: str
    unit: str
    static: bool
    minimum: int
    maximum: int
    default: int
    configured: int
    run: int
    memory_used: int = 0
    text: str = ""


@dataclass(slots=True)
class ClientLock:
    """A lock that a client session holds or, while `requested`, waits for.

    kind: as monLocks.LockType; row: 0 for the whole table. blocking: another session waits for it.
    """

    database_id: int
    object_id: int
    kind: str
    row: int = 0
    requested: bool = False
    blocking: bool = False


@dataclass(slots=True)
class ClientState:
    """What a client session does at present, as the process and lock tables show it.

    command: as monProcess.Command; sql: the text of its batch. wait_event: 0 while it runs; wait_since: when its wait
    began. transaction, began: name and start of its open transaction, '' and None without one. waits: number and
    seconds of its finished waits by event. names: what SET clientname and its kin gave it.
    """

    database: str = "master"
    database_id: int = 1
    command: str = "AWAITING COMMAND"
    sql: str = ""
    wait_event: int = 250
    wait_since: datetime | None = None
    blocked_by: int = 0
    transaction: str = ""
    began: datetime | None = None
    transactions: int = 0
    rollbacks: int = 0
    locks: list[ClientLock] = field(default_factory=list)
    waits: dict[int, tuple[int, float]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def wait(self, event: int, now: datetime) -> None:
        """Start to wait for an event, or to run with event 0; what it waited for until now is counted."""
        if self.wait_event and self.wait_since is not None:
            count, seconds = self.waits.get(self.wait_event, (0, 0.0))
            passed = max((now - self.wait_since).total_seconds(), 0.0)
            self.waits[self.wait_event] = count + 1, seconds + passed
        self.wait_event, self.wait_since = event, now if event else None


class CacheChange(TypedDict, total=False):
    """Settings of a named cache that change."""

    size_kb: int | None
    cache_type: str | None
    strategy: str | None
    partitions: int | None


class ServerError(Exception):
    """A failed action, as an ASE message: number, severity, state, text.

    Iterating over rows may raise it too: the result set then ends with its message.
    """

    def __init__(self, number: int, text: str, severity: int = 16, state: int = 1) -> None:
        super().__init__(text)
        self.message = Message(number, severity, state, text)


class Server(Protocol):
    """The model of one ASE: counters that grow with simulated time, and its settings.

    Simulated time runs `speed` times as fast as real time; rows show the state at `now()`.
    """

    faults: Faults  # faults of its listener, set by the scenario

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Profile key, for example "16.0 SP04"."""
        ...

    @property
    def running(self) -> bool:
        """False from a shutdown until the restart."""
        ...

    @property
    def locked_logins(self) -> frozenset[str]:
        """Logins that the scenario locks at present."""
        ...

    def on_drop(self, callback: Callable[[], None]) -> None:
        """Register a function that is called when all connections must be dropped."""
        ...

    async def play(self) -> None:
        """Start the scenario's steps on time, even without requests. Returns after the last one."""
        ...

    def now(self) -> datetime:
        """Simulated wall clock of the server, UTC, naive."""
        ...

    def local_now(self) -> datetime:
        """The same in the server's time zone, as dates in tables are."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that many simulated seconds (waitfor)."""
        ...

    def table(self, name: str) -> Iterable[Row]:
        """Rows of a mon* or system table at now(), by column name; no rows for unknown names.

        Columns left out are NULL to the client. `sql` selects the columns that the version has.
        """
        ...

    def options(self) -> Sequence[Option]:
        """All configuration options of this version."""
        ...

    def set_option(self, name: str, value: int | str, login: str) -> Option:
        """sp_configure: returns the changed option; raises ServerError if ASE rejects the value."""
        ...

    def configure_cache(self, name: str, **change: Unpack[CacheChange]) -> None:
        """sp_cacheconfig: only the given settings change; raises ServerError."""
        ...

    def configure_pool(self, cache: str, io_size_kb: int, size_kb: int) -> None:
        """sp_poolconfig; raises ServerError."""
        ...

    def bind_cache(self, cache: str | None, database: str, object_name: str | None = None) -> None:
        """sp_bindcache, or sp_unbindcache with cache None; raises ServerError."""
        ...

    def set_engine(self, engine: int, online: bool) -> None:
        """sp_engine; raises ServerError."""
        ...

    def clear_monitors(self) -> None:
        """sp_sysmon's clear: sets sysmonitors to zero and monState.CountersCleared to now."""
        ...

    def restart(self) -> None:
        """All counters from zero, static options take effect, sessions are dropped."""
        ...

    def shutdown(self) -> None:
        """Shut down; the listener rejects connections until restart()."""
        ...

    def attach(self, request: LoginRequest) -> int:
        """Start a session: returns its spid, which sysprocesses and the monProcess tables now show."""
        ...

    def client(self, spid: int) -> ClientState:
        """What that session does, which its owner keeps up to date."""
        ...

    def detach(self, spid: int) -> None:
        """That session is over."""
        ...

    def account(self, spid: int, *, statements: int = 0, rows: int = 0, cpu_ms: float = 0.0) -> None:
        """Add to a session's usage, which monProcessActivity shows."""
        ...
