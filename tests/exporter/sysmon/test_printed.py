"""What a procedure prints, through FreeTDS, from a simulated server."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from tests.simulator.sql.fake import FakeServer
from tests.simulator.tds.running import running

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend

Result = TypeVar("Result")


class Client:
    """A connection; nothing of the driver runs on the main thread."""

    def __init__(self, pool: ThreadPoolExecutor, port: int) -> None:
        self._pool = pool
        endpoint = Endpoint("127.0.0.1", port)
        self._connection = self._do(
            lambda: Connection.open(endpoint, "sa", "", deadline=time.monotonic() + 60)
        )

    def printed(self, sql: str, seconds: float = 60.0) -> list[str]:
        return self._do(lambda: self._connection.query_messages(sql, time.monotonic() + seconds))

    def close(self) -> None:
        self._do(self._connection.close)

    def _do(self, call: Callable[[], Result]) -> Result:
        return self._pool.submit(call).result(90)


class Sleepy(FakeServer):
    """It really waits."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@pytest.fixture
def client() -> Iterator[Client]:
    with running(lambda: Listener(SqlBackend(Sleepy()))) as listening, ThreadPoolExecutor(1) as pool:
        opened = Client(pool, listening.port)
        yield opened
        opened.close()


def test_lines_come_in_their_order_and_result_sets_are_passed_over(client: Client) -> None:
    batch = "print 'first' select 1 print ' ' select 2 select 3 print '  last    0.0 %'"
    assert client.printed(batch) == ["first", " ", "  last    0.0 %"]


def test_a_thousand_lines_are_all_there(client: Client) -> None:
    batch = "declare @i int select @i = 0 while @i < 1000 begin print 'a line' select @i = @i + 1 end"
    assert client.printed(batch) == ["a line"] * 1000


def test_an_error_that_comes_first_is_raised(client: Client) -> None:
    with pytest.raises(DatabaseError) as refused:
        client.printed("select * from nosuchtable")
    assert refused.value.number == 208


def test_an_error_in_the_middle_keeps_what_was_printed_before(client: Client) -> None:
    lines = client.printed("print 'before' select 1 raiserror 30001 'no such counter' print 'after'")
    assert lines[0] == "before"
    assert "Msg 30001, Level 16, State 1:" in lines


def test_a_silent_server_is_left_at_the_deadline(client: Client) -> None:
    with pytest.raises(DatabaseError) as late:
        client.printed("print 'x' waitfor delay '00:10:00'", seconds=1.0)
    assert late.value.kind == "deadline"
