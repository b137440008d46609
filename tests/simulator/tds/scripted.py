"""A backend that answers known texts with scripted results of every type."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date

from tests.simulator.tds.type_cases import TYPES

from ase_simulator.contracts import LoginRequest, ServerError
from ase_simulator.results import Column, Message, Result, Rows, Type

USER = "sa"
PASSWORD = "sécret-1"

# The last ones are bounds that no literal of T-SQL has.
ALL_TYPES: list[tuple[Type, object]] = [
    *((case.type, case.padded) for case in TYPES),
    (Type("int"), -2147483648),
    (Type("bigint"), -9223372036854775808),
    (Type("float"), -2.25e100),
    (Type("date"), date(1, 1, 1)),
    (Type("unichar", 4), "ab\u20ac "),
    (Type("univarchar", 30), "Straße \U0001f600"),
    (Type("image"), bytes(range(256))),
]


def all_types(*, nullable: bool, null: bool = False) -> Rows:
    """One row with a column of every type."""
    columns = [
        Column(f"c{i}_{kind.name.replace(' ', '_')}", kind, nullable) for i, (kind, _) in enumerate(ALL_TYPES)
    ]
    row = [None if null and kind.name != "bit" else value for kind, value in ALL_TYPES]
    return Rows(columns, [row])


def numbers_that_fail(count: int) -> Iterator[tuple[int]]:
    """A number of rows, then an error."""
    yield from ((n,) for n in range(count))
    raise ServerError(3607, "Divide by zero occurred.")


def numbers(count: int) -> Rows:
    columns = [
        Column("n", Type("int"), False),
        Column("name", Type("varchar", 30)),
        Column("g", Type("bigint")),
    ]
    return Rows(columns, ((n, f"row {n}", n << 20) for n in range(count)))


class ScriptedSession:
    def __init__(self, backend: "ScriptedBackend", spid: int) -> None:
        self.spid = spid
        self.database = "master"
        self._backend = backend
        backend.open_sessions += 1
        self._open = True

    def close(self) -> None:
        if self._open:
            self._open = False
            self._backend.open_sessions -= 1

    async def execute(self, sql: str) -> AsyncIterator[Result]:
        self._backend.heard.append(sql)
        words = sql.strip()
        if words in self._backend.answers:
            for result in self._backend.answers[words]():
                yield result
            return
        if words == "select @@spid":
            yield Rows([Column("", Type("smallint"), False)], [(self.spid,)])
        elif words == "hang" or words.startswith("waitfor"):
            self._backend.hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                self._backend.released.set()
        elif wanted := re.fullmatch(r"numbers (\d{1,7})", words, re.ASCII):
            yield numbers(int(wanted[1]))


class ScriptedBackend:
    """answers: batch text to results, looked at first. heard: batches of clients, in their order."""

    name = "SCRIPTED"
    version = "16.0 SP04"
    charset = "utf8"

    def __init__(self, password: str = PASSWORD) -> None:
        self.password = password
        self.answers: dict[str, Callable[[], list[Result]]] = {
            "types": lambda: [all_types(nullable=False)],
            "types nullable": lambda: [all_types(nullable=True)],
            "types null": lambda: [all_types(nullable=True, null=True)],
        }
        self.heard: list[str] = []
        self.logins: list[LoginRequest] = []
        self.open_sessions = 0
        self.hanging = asyncio.Event()
        self.released = asyncio.Event()
        self._spid = 10

    def login(self, request: LoginRequest) -> ScriptedSession | Message:
        self.logins.append(request)
        if (request.user, request.password) != (USER, self.password):
            return Message(4002, 14, 1, "Login failed.\n")
        self._spid += 1
        return ScriptedSession(self, self._spid)
