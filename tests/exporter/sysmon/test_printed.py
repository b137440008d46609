"""What a procedure prints, through FreeTDS, from a simulated server."""

import time
from collections.abc import Callable, Iterator

import pytest
from tests.simulator.sql.fake import FakeServer
from tests.simulator.tds.running import running

from ase_exporter.ase.connection import Connection, Endpoint
from ase_simulator.server import Listener
from ase_simulator.sql.backend import SqlBackend

Printed = Callable[[str], list[str]]


@pytest.fixture
def printed() -> Iterator[Printed]:
    """What a batch prints."""
    with running(lambda: Listener(SqlBackend(FakeServer()))) as listening:
        endpoint = Endpoint("127.0.0.1", listening.port)
        client = Connection.open(endpoint, "sa", "", deadline=time.monotonic() + 60)
        yield lambda sql: client.query_messages(sql, time.monotonic() + 60)
        client.close()


def test_lines_come_in_their_order_and_result_sets_are_passed_over(printed: Printed) -> None:
    batch = "print 'first' select 1 print ' ' select 2 select 3 print '  last    0.0 %'"
    assert printed(batch) == ["first", " ", "  last    0.0 %"]


def test_an_error_in_the_middle_keeps_what_was_printed_before(printed: Printed) -> None:
    lines = printed("print 'before' select 1 raiserror 30001 'no such counter' print 'after'")
    assert lines[0] == "before"
    assert "Msg 30001, Level 16, State 1:" in lines
