"""The server under test, and what it notices of its clients."""

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from tests.simulator.tds.running import Running

from ase_simulator.contracts import Backend, Description, LoginRequest, Parameter, Session
from ase_simulator.results import Message, Result, TransactionState


@dataclass
class Watch:
    """hanging, over: a batch that hangs has begun, has ended."""

    batch: str
    hanging: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


class WatchedSession:
    def __init__(self, session: Session, watch: Watch) -> None:
        self._session = session
        self._watch = watch
        self.spid = session.spid

    @property
    def database(self) -> str:
        return self._session.database

    @property
    def transaction(self) -> TransactionState:
        return self._session.transaction

    async def execute(self, sql: str, parameters: Sequence[Parameter] = ()) -> AsyncIterator[Result]:
        watched = self._watch.batch in sql
        if watched:
            self._watch.hanging.set()
        try:
            async for result in self._session.execute(sql, parameters):
                yield result
        finally:
            if watched:
                self._watch.over.set()

    def call(self, procedure: str, parameters: Sequence[Parameter]) -> AsyncIterator[Result]:
        return self._session.call(procedure, parameters)

    def describe(self, sql: str) -> Description | Message:
        return self._session.describe(sql)

    def close(self) -> None:
        self._session.close()


class WatchedBackend:
    """A backend whose sessions tell the watch."""

    def __init__(self, backend: Backend, watch: Watch) -> None:
        self._backend = backend
        self._watch = watch
        self.name = backend.name
        self.version = backend.version
        self.charset = backend.charset

    def login(self, request: LoginRequest) -> WatchedSession | Message:
        session = self._backend.login(request)
        return session if isinstance(session, Message) else WatchedSession(session, self._watch)


@dataclass
class Target:
    """A running server, its login, the watch over its batches.

    learn: tell a scripted one more answers. missing: types and values that it cannot hold, with the reason.
    """

    server: Running
    user: str
    password: str
    watch: Watch
    learn: Callable[[dict[str, Callable[[], list[Result]]]], None]
    missing: dict[str, str] = field(default_factory=dict)
