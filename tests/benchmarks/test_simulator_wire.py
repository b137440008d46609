"""How fast the simulator serves rows, live and frozen: the ceiling of what a client can be measured to read."""

import socket
import time
from collections.abc import Callable

import pytest
from tests.simulator.tds.raw import HEADER, RawClient
from tests.simulator.tds.running import running
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend

from ase_simulator.contracts import Backend
from ase_simulator.frozen import FrozenBackend
from ase_simulator.results import Column, Result, Rows, Type
from ase_simulator.server import Listener

ROWS = 100_000
ROUNDS = 3
QUERY = "select * from master..monSpinlockActivity"

FIXED = [Type(name) for name in ("tinyint", "int", "bigint", "bigint", "bigint", "int", "int", "smallint")]
FIXED_ROW = (1, 2, 3 << 40, 4 << 40, 5 << 40, 6, 7, 8)


def fixed() -> list[Result]:
    """Columns that are never NULL and of fixed size: one struct a row."""
    return [Rows([Column("c", kind, False) for kind in FIXED], [FIXED_ROW] * ROWS)]


def mixed() -> list[Result]:
    """A nullable string among them, as in most monitoring tables."""
    columns = [Column("c", kind) for kind in (*FIXED, Type("varchar", 30))]
    return [Rows(columns, [(*FIXED_ROW, "default data cache")] * ROWS)]


def live(backend: Backend) -> Backend:
    return backend


@pytest.mark.parametrize("serve", [live, FrozenBackend])
@pytest.mark.parametrize("shape", [fixed, mixed])
def test_rows_a_second(shape: Callable[[], list[Result]], serve: Callable[[Backend], Backend]) -> None:
    backend = ScriptedBackend()
    backend.answers[QUERY] = shape
    best = float("inf")
    with running(lambda: Listener(serve(backend))) as server, RawClient(server.port) as client:
        client.login(USER, PASSWORD, packet_size=16384)
        for _ in range(ROUNDS):
            started = time.perf_counter()
            client.send(client.codec.language(QUERY))
            size = read_reply(client.socket)
            best = min(best, time.perf_counter() - started)
            assert size > ROWS * 30
    print(
        f"\nsimulator wire, {serve.__name__}, {shape.__name__}: {ROWS / best / 1e6:.2f} M rows/s, {best:.3f} s"
    )


def read_reply(connection: socket.socket) -> int:
    """Bytes of one reply, read packet by packet and not looked into."""
    stream = connection.makefile("rb")
    size, last = 0, False
    while not last:
        _, status, length, *_ = HEADER.unpack(stream.read(HEADER.size))
        size += len(stream.read(length - HEADER.size))
        last = bool(status & 1)
    return size
