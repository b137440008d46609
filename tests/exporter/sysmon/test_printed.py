"""What a procedure prints, through FreeTDS, from a simulated server."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest
from tests.simulator.sql.fake import FakeServer
from tests.simulator.tds.running import running

from ase_exporter.ase.connection import Connection, DatabaseError, Endpoint
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend

Printed = Callable[..., list[str]]


class Sleepy(FakeServer):
    """It really waits."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@pytest.fixture
def printed() -> Iterator[Printed]:
    """What a batch prints within some seconds."""
    with running(lambda: Listener(SqlBackend(Sleepy()))) as listening:
        endpoint = Endpoint("127.0.0.1", listening.port)
        client = Connection.open(endpoint, "sa", "", deadline=time.monotonic() + 60)
        yield lambda sql, seconds=60.0: client.query_messages(sql, time.monotonic() + seconds)
        client.close()


def test_lines_come_in_their_order_and_result_sets_are_passed_over(printed: Printed) -> None:
    batch = "print 'first' select 1 print ' ' select 2 select 3 print '  last    0.0 %'"
    assert printed(batch) == ["first", " ", "  last    0.0 %"]


def test_a_thousand_lines_are_all_there(printed: Printed) -> None:
    batch = "declare @i int select @i = 0 while @i < 1000 begin print 'a line' select @i = @i + 1 end"
    assert printed(batch) == ["a line"] * 1000


def test_an_error_that_comes_first_is_raised(printed: Printed) -> None:
    with pytest.raises(DatabaseError) as refused:
        printed("select * from nosuchtable")
    assert refused.value.number == 208


def test_an_error_in_the_middle_keeps_what_was_printed_before(printed: Printed) -> None:
    lines = printed("print 'before' select 1 raiserror 30001 'no such counter' print 'after'")
    assert lines[0] == "before"
    assert "Msg 30001, Level 16, State 1:" in lines


def test_a_silent_server_is_left_at_the_deadline(printed: Printed) -> None:
    with pytest.raises(DatabaseError) as late:
        printed("print 'x' waitfor delay '00:10:00'", seconds=1.0)
    assert late.value.kind == "deadline"
