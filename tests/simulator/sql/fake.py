"""A fake server with given tables, and a client that collects results."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from ase_simulator.contracts import ClientState, LoginRequest, Option, Row, Server, ServerError
from ase_simulator.faults import Faults
from ase_simulator.results import Message, Result, Rows
from ase_simulator.schema.types import NATIONAL_BYTES
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession

# One event loop for all: a new one would start a thread for each batch.
RUNNER = asyncio.Runner()
BOOT = datetime(2026, 3, 1, 8, 0, 0)


_MOST = 2**31 - 1
_OPTIONS: dict[str, tuple[int, str, str, bool, int, int, int]] = {
    "enable monitoring": (356, "Monitoring", "switch", False, 0, 1, 1),
    "enable spinlock monitoring": (357, "Monitoring", "switch", False, 0, 1, 1),
    "wait event timing": (358, "Monitoring", "switch", False, 0, 1, 1),
    "lock address spinlock ratio": (423, "Lock Manager", "ratio", True, 1, _MOST, 100),
    "number of open objects": (408, "Meta-Data Caches", "number", False, 100, _MOST, 500),
    "number of open databases": (263, "Meta-Data Caches", "number", False, 5, _MOST, 12),
}


def _option(
    name: str, number: int, section: str, unit: str, static: bool, low: int, high: int, value: int
) -> Option:
    return Option(number, name, section, unit, static, low, high, value, value, value)


class FakeServer:
    """ase_simulator.contracts.Server over plain lists; calls that change it are kept in `calls`."""

    def __init__(self, version: str = "16.0 SP04", **tables: Sequence[Row]) -> None:
        self.name = "ASESIM"
        self.version = version
        self.tables = tables
        self.clock = BOOT + timedelta(hours=2, seconds=3, milliseconds=456)
        self.running = True
        self.locked_logins: frozenset[str] = frozenset()
        self.calls: list[tuple[object, ...]] = []
        self.accounts: list[tuple[int, int, int, float]] = []
        self.slept: list[float] = []
        self.states: dict[int, ClientState] = {}
        self.faults = Faults()
        self._options = {name: _option(name, *facts) for name, facts in _OPTIONS.items()}

    def now(self) -> datetime:
        return self.clock

    def local_now(self) -> datetime:
        return self.clock

    def on_drop(self, callback: Callable[[], None]) -> None:
        pass

    async def play(self) -> None:
        pass

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def table(self, name: str) -> Iterable[Row]:
        return self.tables.get(name, [])

    def options(self) -> Sequence[Option]:
        return list(self._options.values())

    def set_option(self, name: str, value: int | str, login: str) -> Option:
        option = self._options[name]
        if not isinstance(value, int) or not option.minimum <= value <= option.maximum:
            raise ServerError(17811, f"The value is not legal for configuration option '{name}'.")
        fields = {field: getattr(option, field) for field in option.__dataclass_fields__}
        fields["configured"] = value
        if not option.static:
            fields["run"] = value
        self._options[name] = Option(**fields)
        self.calls.append(("set_option", name, value, login))
        return self._options[name]

    def configure_cache(self, name: str, **settings: object) -> None:
        self.calls.append(("configure_cache", name, settings))

    def configure_pool(self, cache: str, io_size_kb: int, size_kb: int) -> None:
        self.calls.append(("configure_pool", cache, io_size_kb, size_kb))

    def bind_cache(self, cache: str | None, database: str, object_name: str | None = None) -> None:
        self.calls.append(("bind_cache", cache, database, object_name))

    def set_engine(self, engine: int, online: bool) -> None:
        self.calls.append(("set_engine", engine, online))

    def clear_monitors(self) -> None:
        self.calls.append(("clear_monitors",))

    def restart(self) -> None:
        self.calls.append(("restart",))

    def shutdown(self) -> None:
        self.running = False
        self.calls.append(("shutdown",))

    def attach(self, request: LoginRequest) -> int:
        self.calls.append(("attach", request.user))
        return 20 + len(self.calls)

    def client(self, spid: int) -> ClientState:
        return self.states.setdefault(spid, ClientState())

    def detach(self, spid: int) -> None:
        self.calls.append(("detach", spid))

    def account(self, spid: int, *, statements: int = 0, rows: int = 0, cpu_ms: float = 0.0) -> None:
        self.accounts.append((spid, statements, rows, cpu_ms))


class Client:
    """A client whose calls run to completion."""

    def __init__(
        self, server: Server, user: str = "sa", password: str = "", backend: SqlBackend | None = None
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

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of the last result set; fails on any error."""
        results = self.results(sql)
        errors = [result for result in results if isinstance(result, Message) and result.severity > 10]
        assert not errors, errors
        sets = [result for result in results if isinstance(result, Rows)]
        return [tuple(row) for row in sets[-1].rows]

    def columns(self, sql: str) -> list[str]:
        """The names of the columns of the first result set."""
        return next(
            [each.name for each in rows.columns] for rows in self.results(sql) if isinstance(rows, Rows)
        )

    def value(self, expression: str) -> object:
        """The value of one expression."""
        return self.rows(f"select {expression}")[0][0]

    def type(self, expression: str) -> str:
        """The type of one expression, as DDL writes it."""
        sets = [result for result in self.results(f"select {expression}") if isinstance(result, Rows)]
        type_ = sets[0].columns[0].type
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
