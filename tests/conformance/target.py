"""The server under test, and what it notices of its clients."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

from tests.simulator.tds.running import Running

from ase_simulator.results import Result
from ase_simulator.sql.session import SqlSession


@dataclass
class Watch:
    """hanging, over: a batch that hangs has begun, has ended."""

    batch: str
    hanging: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """All sessions tell the watch."""
    execute = SqlSession.execute

    async def watched_execute(session: SqlSession, sql: str) -> AsyncIterator[Result]:
        is_it = watch.batch in sql
        if is_it:
            watch.hanging.set()
        try:
            async for result in execute(session, sql):
                yield result
        finally:
            if is_it:
                watch.over.set()

    with patch.object(SqlSession, "execute", watched_execute):
        yield


@dataclass
class Target:
    """A running server, its login, the watch over its batches."""

    server: Running
    user: str
    password: str
    watch: Watch
