"""Interfaces between the simulator's packages: `tds` knows Backend and Session, which `sql` and `replay` implement.

The other classes are what `sql` and `model` tell each other.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypedDict

from ase_simulator.results import Message, Result

# One row of a table by column name. To the client a number that is left out is 0, and any other column NULL.
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
    type: str | None
    strategy: str | None
    partitions: int | None


class ServerError(Exception):
    """A failed action, as an ASE message: number, severity, state, text.

    Iterating over rows may raise it too: the result set then ends with its message.
    """

    def __init__(self, number: int, text: str, severity: int = 16, state: int = 1) -> None:
        super().__init__(text)
        self.message = Message(number, severity, state, text)
