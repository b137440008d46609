"""A server with one large table that is encoded once and grows in place: clients are measured, not the server.

Run as `python -m tests.benchmarks.table_server ROWS`; prints its port. Everything but the table is answered by
an idle simulated server, so that any client can log in, ask for versions and open transactions.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence

import numpy as np

from ase_simulator.contracts import LoginRequest, Parameter
from ase_simulator.model import load_scenario
from ase_simulator.results import Column, Message, PreEncodedRows, Result, Type, TypeName
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

# The values end each row on the wire, never NULL, so of fixed size: they can be counted up where they stand.
_WIRE = np.dtype([(name, "<i8" if kind == "bigint" else "<i4") for name, kind in VALUES.items()])


class _Growing(dict[object, tuple[int, bytes]]):
    """Encoded rows by kind of client; each read increases every value by about a thousandth."""

    def __init__(self) -> None:
        self._rows: dict[object, np.ndarray] = {}
        self._growth: dict[object, np.ndarray] = {}

    def __setitem__(self, key: object, encoded: tuple[int, bytes]) -> None:
        super().__setitem__(key, encoded)
        count, data = encoded
        stride = len(data) // count
        padded = np.dtype([("head", f"S{stride - _WIRE.itemsize}"), ("values", _WIRE)])
        rows = self._rows[key] = np.frombuffer(bytearray(data), padded)
        self._growth[key] = rows["values"].copy()
        for name in VALUES:
            self._growth[key][name] = rows["values"][name] // 1000 + 1

    def __getitem__(self, key: object) -> tuple[int, bytes]:
        rows, growth = self._rows[key], self._growth[key]
        for name in VALUES:
            rows["values"][name] += growth[name]
        return len(rows), rows.tobytes()


def table(rows: int) -> PreEncodedRows:
    """Names of one length, values of 4 to 12 digits (int: up to 6, so that they do not wrap)."""
    columns = [
        Column(name, Type(kind, 30 if kind == "varchar" else 0), False) for name, kind in LABELS.items()
    ]
    columns += [Column(name, Type(kind), False) for name, kind in VALUES.items()]
    digits = np.random.default_rng(1)
    values = {
        name: (10 ** digits.uniform(4, 12 if kind == "bigint" else 6, rows)).astype(int).tolist()
        for name, kind in VALUES.items()
    }
    content = [
        (row % 128, row, f"default data cache {row % 997:03}", *(values[name][row] for name in VALUES))
        for row in range(rows)
    ]
    return PreEncodedRows(columns, content, encoded=_Growing())


class _Session:
    def __init__(self, session: SqlSession, rows: PreEncodedRows) -> None:
        self._session = session
        self._rows = rows

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)

    async def execute(self, sql: str, parameters: Sequence[Parameter] = ()) -> AsyncIterator[Result]:
        if QUERY in sql:
            yield self._rows
            return
        async for result in self._session.execute(sql, parameters):
            yield result


class _Backend(SqlBackend):
    rows: PreEncodedRows

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
