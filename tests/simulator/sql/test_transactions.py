"""Transactions, savepoints and NOT NULL on client tables."""

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.results import Rows, TransactionState


@pytest.fixture
def client() -> Client:
    return Client(FakeServer())


@pytest.mark.parametrize("table", ["#t", "tempdb..t"])
def test_rollback_undoes_the_changes_of_a_transaction(client: Client, table: str) -> None:
    client.rows(f"create table {table} (a int) insert {table} values (1) select @@trancount")
    client.rows(f"begin tran insert {table} values (2) update {table} set a = a + 10 select 1")
    assert client.rows(f"select a, @@trancount from {table} order by a") == [(11, 1), (12, 1)]
    assert client.rows(f"rollback select a, @@trancount from {table}") == [(1, 0)]


@pytest.mark.parametrize("table", ["#t", "tempdb..t"])
def test_commit_keeps_the_changes(client: Client, table: str) -> None:
    client.rows(f"create table {table} (a int) begin tran insert {table} values (2) commit select 1")
    assert client.rows(f"rollback select a from {table}") == [(2,)]


def test_an_inner_commit_does_not_end_the_transaction(client: Client) -> None:
    sql = "create table #t (a int) begin tran begin tran insert #t values (1) commit rollback"
    assert client.rows(f"{sql} select count(*), @@trancount from #t") == [(0, 0)]


@pytest.mark.parametrize("table", ["#t", "tempdb..t"])
def test_rollback_to_a_savepoint_keeps_earlier_changes(client: Client, table: str) -> None:
    sql = f"""
        create table {table} (a int)
        begin tran outer_one insert {table} values (1)
        save tran here insert {table} values (2) rollback tran here
        insert {table} values (3) commit
        select a from {table} order by a
    """
    assert client.rows(sql) == [(1,), (3,)]


def test_rollback_by_the_name_of_the_transaction_undoes_it(client: Client) -> None:
    sql = "create table #t (a int) begin tran one save tran two insert #t values (1) rollback tran one"
    assert client.rows(f"{sql} select count(*), @@trancount from #t") == [(0, 0)]


def test_rollback_to_an_unknown_name_is_an_error(client: Client) -> None:
    assert client.errors("begin tran rollback tran nowhere") == [6401]


def test_temporary_tables_of_a_transaction_end_with_its_rollback(client: Client) -> None:
    client.rows("begin tran create table #t (a int) select 1")
    assert client.errors("rollback select * from #t") == [208]
    assert client.rows("create table #t (b int) insert #t values (7) select b from #t") == [(7,)]


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


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ("insert #k values (null, 1)", 515),
        ("insert #k (b) values (1)", 233),
        ("insert #k select null, 1", 515),
        ("update #k set a = null", 515),
    ],
)
def test_a_column_that_is_not_null_takes_no_null(client: Client, change: str, number: int) -> None:
    table = "create table #k (a int not null, b int null) insert #k values (1, null)"
    assert client.errors(f"{table} {change}") == [number]
    assert client.rows("select a, b from #k") == [(1, None)]


UNIQUE = [
    "create table {} (a int primary key, b int null)",
    "create table {} (a int null unique, b int null)",
    "create table {} (a int null, b int null, constraint k unique nonclustered (a))",
    "create table {} (a int null, b int null) create unique clustered index k on {} (a desc)",
]


@pytest.mark.parametrize("table", ["#t", "tempdb..t"])
@pytest.mark.parametrize("create", UNIQUE)
def test_a_duplicate_key_is_refused_and_changes_nothing(client: Client, table: str, create: str) -> None:
    client.rows(
        create.replace("{}", table) + f" insert {table} values (1, 1) insert {table} values (2, 2) select 1"
    )
    assert client.errors(f"insert {table} select a + 1, 9 from {table}") == [2601]
    assert client.errors(f"update {table} set a = 2") == [2601]
    assert client.rows(f"select a, b from {table} order by a") == [(1, 1), (2, 2)]
    assert client.rows(f"update {table} set a = a + 1 select a from {table} order by a") == [(2,), (3,)]


@pytest.mark.parametrize("table", ["#t", "tempdb..t"])
def test_a_row_that_fails_a_check_is_refused(client: Client, table: str) -> None:
    client.rows(f"create table {table} (a int null check (a > 0), b int null, check (b >= a)) select 1")
    assert client.errors(f"insert {table} values (0, 1)") == [548]
    assert client.errors(f"insert {table} values (2, 1)") == [548]
    assert client.rows(
        f"insert {table} values (null, 1) insert {table} values (1, 1) select count(*) from {table}"
    ) == [(2,)]
    assert client.errors(f"update {table} set b = 0 where a = 1") == [548]


def test_a_unique_index_needs_unique_rows_and_can_be_dropped(client: Client) -> None:
    client.rows("create table #t (a int) insert #t values (1) insert #t values (1) select 1")
    assert client.errors("create unique index k on #t (a)") == [1505]
    client.rows("delete #t create unique index k on #t (a) drop index #t.k select 1")
    assert client.rows("insert #t values (1) insert #t values (1) select count(*) from #t") == [(2,)]


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
