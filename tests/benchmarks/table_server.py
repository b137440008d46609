"""A server with one large table whose values all grow.

Run as `python -m tests.benchmarks.table_server ROWS`; prints its port. Everything but the table is answered by
an idle simulated server, so that any client can log in, ask for versions and open transactions.
"""

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Iterator, Sequence

from ase_simulator.contracts import LoginRequest
from ase_simulator.model import load_scenario
from ase_simulator.results import Column, Message, Result, Rows, Type, TypeName
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import FULL, Login
from ase_simulator.sql.session import SqlSession

TABLE = "monBenchmark"
USER, PASSWORD = "bench", "as good as any"
LABELS: dict[str, TypeName] = {"engine": "tinyint", "slot": "int", "name": "varchar"}
VALUES: dict[str, TypeName] = {
    f"ase_benchmark_{letter}": "bigint" if letter in "abcd" else "int" for letter in "abcdef"
}
QUERY = f"select {', '.join([*LABELS, *VALUES])} from master..{TABLE}"


class _Growing:
    """Rows by number; each read increases every value by about a thousandth.

    Names have one length, values 4 to 12 digits (int: up to 6, so that they do not wrap).
    """

    def __init__(self, rows: int) -> None:
        digits = random.Random(1)
        self._reads = 0
        self._values = [
            [int(10 ** digits.uniform(4, 12 if kind == "bigint" else 6)) for kind in VALUES.values()]
            for _ in range(rows)
        ]

    def __iter__(self) -> Iterator[Sequence[object]]:
        self._reads += 1
        for row, values in enumerate(self._values):
            grown = [value + self._reads * (value // 1000 + 1) for value in values]
            yield (row % 128, row, f"default data cache {row % 997:03}", *grown)


def table(rows: int) -> Rows:
    columns = [
        Column(name, Type(kind, 30 if kind == "varchar" else 0), False) for name, kind in LABELS.items()
    ]
    columns += [Column(name, Type(kind), False) for name, kind in VALUES.items()]
    return Rows(columns, _Growing(rows))


class _Session:
    def __init__(self, session: SqlSession, rows: Rows) -> None:
        self._session = session
        self._rows = rows

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)

    async def execute(self, sql: str) -> AsyncIterator[Result]:
        if QUERY in sql:
            yield self._rows
            return
        async for result in self._session.execute(sql):
            yield result


class _Backend(SqlBackend):
    rows: Rows

    def login(self, request: LoginRequest) -> SqlSession | Message:
        session = super().login(request)
        return session if isinstance(session, Message) else _Session(session, self.rows)  # type: ignore[return-value]


async def _serve(rows: int) -> None:
    backend = _Backend(load_scenario("idle")[0], [Login(USER, PASSWORD, roles=list(FULL))])
    backend.rows = table(rows)
    async with Listener(backend) as listener:
        print(listener.address[1], flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
