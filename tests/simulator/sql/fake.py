"""A fake server with given tables, and a client that collects results."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from ase_simulator.contracts import LoginRequest, Row
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.model.timeline import Timeline
from ase_simulator.results import Message, Result, Rows
from ase_simulator.schema.types import NATIONAL_BYTES
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

# One event loop for all: a new one would start a thread for each batch.
RUNNER = asyncio.Runner()
BOOT = datetime(2026, 3, 1, 8, 0, 0)


class FakeServer(SimulatedServer):
    """A server whose clock stands still two hours after its start, with the given tables and no others."""

    def __init__(self, version: str = "16.0 SP04", **tables: Sequence[Row]) -> None:
        [idle] = load_scenario("idle", speed=0, version=version, start=BOOT)
        super().__init__(idle.world, Timeline((), repeat=False))
        self.advance(timedelta(hours=2, seconds=3, milliseconds=456).total_seconds())
        self.tables = tables
        self.accounts: list[tuple[int, int, int, float]] = []
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def table(self, name: str, columns: tuple[str, ...] | None = None) -> Iterable[Row]:
        return self.tables.get(name, [])

    def account(self, spid: int, *, statements: int = 0, rows: int = 0, cpu_ms: float = 0.0) -> None:
        self.accounts.append((spid, statements, rows, cpu_ms))


class Client:
    """A client whose calls run to completion."""

    def __init__(
        self, server: SimulatedServer, user: str = "sa", password: str = "", backend: SqlBackend | None = None
    ):
        self.backend = backend or SqlBackend(server)
        session = self.backend.login(LoginRequest(user, password, hostname="apphost", program="pytest"))
        assert isinstance(session, SqlSession), session
        self.session = session

    def results(self, sql: str) -> list[Result]:
        """All results of a batch; row sets are read at once, as the wire does."""
        return RUNNER.run(self._collect(self.session.execute(sql)))

    @staticmethod
    async def _collect(stream) -> list[Result]:  # type: ignore[no-untyped-def]
        return [
            Rows(result.columns, [tuple(row) for row in result.rows]) if isinstance(result, Rows) else result
            async for result in stream
        ]

    def sets(self, sql: str) -> list[Rows]:
        """The result sets; fails on any error."""
        results = self.results(sql)
        errors = [result for result in results if isinstance(result, Message) and result.severity > 10]
        assert not errors, errors
        return [result for result in results if isinstance(result, Rows)]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of the last result set; fails on any error."""
        return [tuple(row) for row in self.sets(sql)[-1].rows]

    def columns(self, sql: str) -> list[str]:
        """The names of the columns of the first result set."""
        return [each.name for each in self.sets(sql)[0].columns]

    def value(self, expression: str) -> object:
        """The value of one expression."""
        return self.rows(f"select {expression}")[0][0]

    def type(self, expression: str) -> str:
        """The type of one expression, as DDL writes it."""
        type_ = self.sets(f"select {expression}")[0].columns[0].type
        if type_.name in ("numeric", "decimal"):
            return f"{type_.name}({type_.precision},{type_.scale})"
        width = type_.length // (NATIONAL_BYTES if type_.name in ("nchar", "nvarchar") else 1)
        return f"{type_.name}({width})" if width else type_.name

    def errors(self, sql: str) -> list[int]:
        """The numbers of a batch's errors."""
        return [m.number for m in self.results(sql) if isinstance(m, Message) and m.severity > 10]

    def printed(self, sql: str) -> list[str]:
        """The texts of a batch's messages up to severity 10."""
        return [m.text for m in self.results(sql) if isinstance(m, Message) and m.severity <= 10]
