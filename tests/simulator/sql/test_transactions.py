"""Transactions, savepoints and NOT NULL on client tables."""

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.results import Rows, TransactionState


@pytest.fixture
def client() -> Client:
    return Client(FakeServer())


def test_monitoring_tables_can_be_read_in_and_after_a_rolled_back_transaction() -> None:
    client = Client(FakeServer(sysprocesses=[{"spid": 5}]))
    read = "select spid from master..sysprocesses"
    assert client.rows(f"begin tran {read}") == [(5,)]
    assert client.rows(f"rollback {read}") == [(5,)]


def test_a_closed_session_rolls_back() -> None:
    client = Client(FakeServer())
    client.rows("create table tempdb..t (a int) begin tran insert tempdb..t values (1) select 1")
    client.session.close()
    assert Client(FakeServer(), backend=client.backend).rows("select count(*) from tempdb..t") == [(0,)]


@pytest.mark.parametrize("table", ["#t", "tempdb..t"])
def test_columns_that_are_never_null_are_told_as_such(client: Client, table: str) -> None:
    client.rows(
        f"create table {table} (a int not null, b int null, c int identity) insert {table} values (1, 2) select 1"
    )

    def nullable(sql: str) -> list[bool]:
        (rows,) = (result for result in client.results(sql) if isinstance(result, Rows))
        return [column.nullable for column in rows.columns]

    assert nullable(f"select * from {table}") == [False, True, False]
    assert nullable(f"select max(a), x.a + 1 from {table} x group by a") == [True, False]
    assert nullable(f"select x.a from {table} y left join {table} x on x.a = y.b") == [True]
    assert client.rows(f"select x.a from {table} y, {table} x where y.b *= x.a") == [(None,)]


def test_a_session_knows_how_its_transaction_goes(client: Client) -> None:
    found = []
    for sql in (
        "begin tran",
        "save tran here",
        "select 1",
        "rollback tran here",
        "commit",
        "begin tran",
        "rollback",
    ):
        client.results(sql)
        found.append(client.session.transaction.name)
    in_progress = ["IN_PROGRESS"] * 4
    assert found == [*in_progress, "SUCCEEDED", "IN_PROGRESS", "ABORTED"]
    client.results("select 1")
    assert client.session.transaction is TransactionState.NONE
