"""The seams of the simulator: wire -> Backend, Session -> T-SQL front end -> Server, the model.

`tds` knows only Backend and Session; `sql` implements them over a Server; `model` implements Server.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ase_simulator.faults import Faults
from ase_simulator.results import Column, Message, Result, Type


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """What a client says at login, decoded. password: '' where none was sent."""

    user: str
    password: str
    hostname: str = ""
    program: str = ""
    language: str = ""
    charset: str = ""
    library: str = ""
    process: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a call or a prepared statement; name with its @, or '' by position."""

    name: str
    type: Type
    value: object
    output: bool = False


@dataclass(frozen=True, slots=True)
class Description:
    """What a prepared statement takes and, where it can be known without running it, returns."""

    parameters: Sequence[Type]
    columns: Sequence[Column] | None


class Session(Protocol):
    """One logged-in connection. A task that iterates may be cancelled at any await (attention)."""

    @property
    def spid(self) -> int: ...

    @property
    def database(self) -> str: ...

    def execute(self, sql: str, parameters: Sequence[Parameter] = ()) -> AsyncIterator[Result]:
        """Run a batch; `?` marks take the parameters in order, names with @ are variables. Errors: Message."""
        ...

    def call(self, procedure: str, parameters: Sequence[Parameter]) -> AsyncIterator[Result]:
        """Run one procedure (RPC): its results, ReturnStatus, then OutputParameters if there are any."""
        ...

    def describe(self, sql: str) -> Description | Message:
        """What a statement with `?` marks takes and returns, or the error ASE would give."""
        ...

    def close(self) -> None:
        """Give back all that the session holds; it may be called twice."""
        ...


class Backend(Protocol):
    """One simulated server as the wire sees it. Several may live in one process, a port each."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def charset(self) -> str: ...

    def login(self, request: LoginRequest) -> Session | Message:
        """A session, or the error that refuses the login (4002 and its kin)."""
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


class ServerError(Exception):
    """Refusal of an action, as an ASE message: number, severity, state, text.

    Rows may raise it too, while they are read: the result set ends with its message.
    """

    def __init__(self, number: int, text: str, severity: int = 16, state: int = 1) -> None:
        super().__init__(text)
        self.message = Message(number, severity, state, text)


class Server(Protocol):
    """The model of one ASE: counters that grow with simulated time, and the settings that bend them.

    Simulated time runs `speed` times as fast as the wall; every row is as of `now()`.
    """

    faults: Faults  # what the scenario makes its listener do wrong

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
        """Logins that the scenario keeps locked now: nobody gets in by them."""
        ...

    @property
    def loading_databases(self) -> frozenset[str]:
        """Databases that LOAD DATABASE holds now: nobody can use them."""
        ...

    def on_drop(self, callback: Callable[[], None]) -> None:
        """Have a function called whenever all connections are to be dropped."""
        ...

    async def play(self) -> None:
        """Let the scenario's steps begin on time even while nobody asks; ends after the last one."""
        ...

    def now(self) -> datetime:
        """Simulated wall clock of the server, UTC, naive."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that many simulated seconds (waitfor)."""
        ...

    def table(self, name: str) -> Iterable[Mapping[str, object]]:
        """Rows of a mon* or system table at now(), by column name; names that it does not know: no rows.

        Columns left out are NULL to the client. The T-SQL front end picks those that the version has.
        """
        ...

    def options(self) -> Sequence[Option]:
        """All configuration options of this version."""
        ...

    def set_option(self, name: str, value: int | str, login: str) -> Option:
        """sp_configure: the option as it is afterwards; raises ServerError for what ASE refuses."""
        ...

    def configure_cache(
        self,
        name: str,
        *,
        size_kb: int | None = None,
        cache_type: str | None = None,
        strategy: str | None = None,
        partitions: int | None = None,
    ) -> None:
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
        """What sp_sysmon's clear does: sysmonitors to zero, monState.CountersCleared to now."""
        ...

    def restart(self) -> None:
        """All counters from zero, static options take effect, sessions are dropped."""
        ...

    def shutdown(self) -> None:
        """The server ends; its listener refuses until restart()."""
        ...

    def attach(self, request: LoginRequest) -> int:
        """A session begins: its spid, from now on in sysprocesses and the monProcess tables."""
        ...

    def detach(self, spid: int) -> None:
        """That session is over."""
        ...

    def account(self, spid: int, *, statements: int = 0, rows: int = 0, cpu_ms: float = 0.0) -> None:
        """What a session used, for monProcessActivity."""
        ...
