"""Batches: what a session is charged for, and how it ends."""

import pytest
from tests.simulator.sql.fake import Client, FakeServer
from tests.simulator.sql.test_statements import SERVERS

from ase_simulator.results import Message, Rows
from ase_simulator.sql.session import ROW_MS, STATEMENT_MS


@pytest.fixture
def client() -> Client:
    return Client(FakeServer(**SERVERS["processes"]))


def test_a_session_is_charged_for_each_statement_and_row_that_was_taken(client: Client) -> None:
    client.rows("select spid from master..sysprocesses select 1 where 1 = 2 print 'free of charge'")
    server = client.backend.server
    assert isinstance(server, FakeServer)
    (spid, *four), (_, *none) = server.accounts
    assert spid == client.session.spid
    assert four == [1, 4, STATEMENT_MS + 4 * ROW_MS]
    assert none == [1, 0, STATEMENT_MS]


def test_waitfor_sleeps_on_the_servers_clock(client: Client) -> None:
    client.results("waitfor delay '00:01:30'")
    assert client.backend.server.slept == [90]  # type: ignore[attr-defined]


def test_a_closed_session_rolls_back() -> None:
    client = Client(FakeServer())
    client.rows("create table tempdb..t (a int) begin tran insert tempdb..t values (1) select 1")
    client.session.close()
    assert Client(FakeServer(), backend=client.backend).rows("select count(*) from tempdb..t") == [(0,)]


@pytest.mark.parametrize(("version", "number"), [("16.0 SP04", 12036), ("15.5", 12052)])
def test_a_switch_that_is_off_gives_an_error_together_with_an_empty_result_set(
    version: str, number: int
) -> None:
    server = FakeServer(version, monEngine=[{"EngineNumber": 0}])
    server.set_option("enable monitoring", 0, "sa")
    rows, notice = Client(server).results("select EngineNumber from master..monEngine")
    assert isinstance(rows, Rows)
    assert isinstance(notice, Message) and list(rows.rows) == []
    assert (notice.number, notice.severity) == (number, 17)
    assert "'monEngine'" in notice.text
    assert "'enable monitoring'" in notice.text
