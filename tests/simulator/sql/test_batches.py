"""Batches: several statements, variables, control flow, temporary tables, cursors."""

from datetime import datetime
from itertools import pairwise

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.contracts import Parameter
from ase_simulator.results import (
    Column,
    Disconnect,
    Message,
    OutputParameters,
    ReturnStatus,
    Rows,
    TransactionState,
    Type,
)
from ase_simulator.schema.profiles import profiles
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import Login
from ase_simulator.sql.session import ROW_MS, STATEMENT_MS


@pytest.fixture
def client() -> Client:
    names = ("spid", "blocked", "suid", "cmd")
    rows = [(5, 0, 1, "SELECT"), (6, 5, 3, "UPDATE"), (7, 5, 3, "UPDATE"), (8, 0, 9, "X")]
    return Client(FakeServer(sysprocesses=[dict(zip(names, row, strict=True)) for row in rows]))


def test_a_session_is_charged_for_each_statement_and_row_that_was_taken(client: Client) -> None:
    client.rows("select spid from master..sysprocesses select 1 where 1 = 2 print 'free of charge'")
    server = client.backend.server
    assert isinstance(server, FakeServer)
    (spid, *four), (_, *none) = server.accounts
    assert spid == client.session.spid
    assert four == [1, 4, STATEMENT_MS + 4 * ROW_MS]
    assert none == [1, 0, STATEMENT_MS]


def test_procedures_take_arguments_and_return_output_parameters(client: Client) -> None:
    client.results(
        "create procedure double @n int = 21, @twice int output as select @twice = @n * 2 return 5"
    )
    assert client.rows("declare @t int, @r int exec @r = double @twice = @t output select @t, @r") == [
        (42, 5)
    ]
    assert client.rows("declare @t int exec double 4, @t output select @t") == [(8,)]
    given = [Parameter("@n", Type("int"), 6), Parameter("@twice", Type("int"), None, output=True)]
    assert client.call("double", *given) == [
        ReturnStatus(5),
        OutputParameters([Column("@twice", Type("int"))], [12]),
    ]
    assert client.errors("exec double") == [201]
    assert client.errors("exec double 1, 2, 3") == [8144]


def test_exec_of_text_and_waits(client: Client) -> None:
    assert client.rows("exec ('select ' + '1 as one')") == [(1,)]
    client.results("waitfor delay '00:01:30'")
    assert client.backend.server.slept == [90]  # type: ignore[attr-defined]


def test_a_syntax_error_keeps_the_whole_batch_from_running(client: Client) -> None:
    results = client.results("select 1\nselect 2 +\nfrom")
    assert [(m.number, m.line) for m in results if isinstance(m, Message)] == [(156, 3)]
    assert len(results) == 1


def test_an_unknown_procedure_lets_the_rest_run(client: Client) -> None:
    kinds = [type(result) for result in client.results("exec sp_nosuch select 1")]
    assert kinds == [Message, Rows]


def test_raiserror_and_error_number(client: Client) -> None:
    results = client.results("raiserror 20001 'lost %1!', 'it' select @@error")
    assert isinstance(results[0], Message)
    assert (results[0].number, results[0].severity, results[0].text) == (20001, 16, "lost it")
    assert isinstance(results[1], Rows)
    assert list(results[1].rows) == [(20001,)]


def test_marks_take_their_types_from_columns_and_parameters(client: Client) -> None:
    from ase_simulator.contracts import Description

    sql = "select spid from master..sysprocesses where spid = ? and cmd like ? and loggedindatetime > ?"
    description = client.session.describe(sql)
    assert isinstance(description, Description)
    assert [type_.name for type_ in description.parameters] == ["smallint", "varchar", "datetime"]
    assert [column.name for column in description.columns or ()] == ["spid"]
    call = client.session.describe("exec sp_lock ?, ?")
    assert isinstance(call, Description)
    assert [type_.name for type_ in call.parameters] == ["int", "int"]
    found = client.rows(
        "select cmd from master..sysprocesses where spid = ? or cmd = ?",
        Parameter("", Type("int"), 5),
        Parameter("", Type("varchar", 9), "X"),
    )
    assert found == [("SELECT",), ("X",)]


def test_nameless_parameters_are_the_variables_of_a_batch_in_their_order(client: Client) -> None:
    parameters = [Parameter("", Type("int"), 5), Parameter("", Type("varchar", 9), "two")]
    assert client.rows("select @b, @a, @@nestlevel, @b + 1", *parameters) == [(5, "two", 0, 6)]


def test_exec_in_a_batch_gives_its_output_parameters_to_the_client(client: Client) -> None:
    client.results("create procedure twice @n int, @twice int output as select @twice = 2 * @n")
    results = client.results("declare @found int exec twice 21, @twice = @found output")
    assert results[-1] == OutputParameters([Column("@twice", Type("int"))], [42])
    assert ReturnStatus(0) in results


def test_showplan_names_the_tables_of_a_query_before_its_rows(client: Client) -> None:
    client.results("create table #t (a int) set showplan on")
    results = client.results("\nselect * from #t, master..sysobjects o")
    assert isinstance(results[-1], Rows)
    lines = [result.text.strip() for result in results if isinstance(result, Message)]
    assert lines[0] == "QUERY PLAN FOR STATEMENT 1 (at line 2)."
    assert [after for line, after in pairwise(lines) if line == "FROM TABLE"] == ["#t", "sysobjects"]
    assert client.printed("set showplan off select * from #t") == []


def test_statistics_count_the_reads_of_each_table_after_the_rows(client: Client) -> None:
    client.results("create table #t (a int) insert #t values (1) set statistics io, time on")
    results = client.results("select a from #t")
    assert isinstance(results[0], Rows)
    numbers = [result.number for result in results if isinstance(result, Message)]
    assert numbers == [3615, 3614, 3631, 3612]
    assert client.printed("set statistics time off select a from #t")[0].startswith(
        "Table: #t scan count 1, "
    )
    assert client.printed("set statistics io off select a from #t") == []


def test_fmtonly_gives_the_columns_of_a_query_and_no_rows(client: Client) -> None:
    client.results("create table #t (a int) insert #t values (1)")
    (rows,) = (
        r for r in client.results("set fmtonly on select a from #t set fmtonly off") if isinstance(r, Rows)
    )
    assert ([column.name for column in rows.columns], rows.rows) == (["a"], [])
    assert client.rows("select a from #t") == [(1,)]


def test_syb_quit_ends_the_session(client: Client) -> None:
    results = client.results("if 1 = 1 select syb_quit() select 2")
    assert any(isinstance(result, Disconnect) for result in results)
    assert not any(isinstance(result, Rows) for result in results)


@pytest.fixture
def shop() -> Client:
    return Client(
        FakeServer(
            sysprocesses=[{"spid": 1, "suid": 1, "status": "running"}],
            monProcessSQLText=[{"SPID": 1, "KPID": 7, "LineNumber": 1, "SQLText": "select 1"}],
            monCachedStatement=[{"SSQLID": 12, "SQLText": "select a from t where a < 2"}],
        )
    )


def test_dbcc_prints_what_a_session_runs(shop: Client) -> None:
    assert shop.printed("dbcc sqltext(1)")[0] == "SQL Text: select 1"
    assert shop.printed("exec sp_showplan 1, null, null, null")[0].startswith("QUERY PLAN FOR STATEMENT")


def test_plans_and_texts_of_cached_statements(shop: Client) -> None:
    assert shop.rows("select show_cached_text_long(12)") == [("select a from t where a < 2",)]
    ((plan,),) = shop.rows("select show_cached_plan_in_xml(12, 0, 0)")
    assert "<statementId>12</statementId>" in str(plan)
    assert "select a from t where a < 2" in str(plan)
    assert shop.rows("select show_cached_plan_in_xml(13, 0, 0)") == [(None,)]
    assert shop.rows("select query_text(1), query_text(9)") == [("select 1", None)]


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
    for sql in [
        "begin tran",
        "save tran here",
        "select 1",
        "rollback tran here",
        "commit",
        "begin tran",
        "rollback",
    ]:
        client.results(sql)
        found.append(client.session.transaction.name)
    in_progress = ["IN_PROGRESS"] * 4
    assert found == [*in_progress, "SUCCEEDED", "IN_PROGRESS", "ABORTED"]
    client.results("select 1")
    assert client.session.transaction is TransactionState.NONE


def test_server_variables_have_ases_types_and_values(client: Client) -> None:
    result = client.results("select @@version, @@servername, @@spid")[0]
    assert isinstance(result, Rows)
    assert [column.type.name for column in result.columns] == ["varchar", "varchar", "smallint"]
    assert list(result.rows) == [(profiles()["16.0 SP04"].banner, "ASESIM", client.session.spid)]


@pytest.fixture
def monitored() -> Client:
    names = ("SpinlockName", "SpinlockSlotID", "Grabs", "Spins", "Waits")
    cache, locks = "default data cache", "fglockspins"
    rows = [(cache, 1, 10**12, 500, 10), (cache, 2, 100, 50, 20), (locks, 3, 7, 0, 0)]
    return Client(FakeServer(monSpinlockActivity=[dict(zip(names, row, strict=True)) for row in rows]))


def test_a_monitoring_table_comes_with_the_types_of_its_definition(monitored: Client) -> None:
    result = monitored.results(
        "select * from master..monSpinlockActivity where Waits > 0 order by Waits desc"
    )[0]
    assert isinstance(result, Rows)
    assert [(column.name, column.type) for column in result.columns][:3] == [
        ("Grabs", Type("bigint")),
        ("Spins", Type("bigint")),
        ("Waits", Type("bigint")),
    ]
    assert [row[2] for row in result.rows] == [20, 10]


def test_monitoring_tables_need_mon_role() -> None:
    server = FakeServer(monState=[{}])
    client = Client(server, "guest_login", "x", SqlBackend(server, [Login("guest_login", "x")]))
    rejection = client.results("select * from master..monState")[0]
    assert isinstance(rejection, Message)
    assert (rejection.number, rejection.severity) == (10353, 14)
    assert "'mon_role'" in rejection.text
    assert client.rows("select count(*) from master..monSysLoad") == [(0,)]


@pytest.mark.parametrize(("version", "number"), [("16.0 SP04", 12036), ("15.5", 12052)])
def test_a_switch_that_is_off_gives_an_error_together_with_an_empty_result_set(
    version: str, number: int
) -> None:
    server = FakeServer(version, monEngine=[{"EngineNumber": 0}])
    server.set_option("enable monitoring", 0, "sa")
    rows, notice = Client(server).results("select EngineNumber from master..monEngine")
    assert isinstance(rows, Rows)
    assert list(rows.rows) == []
    assert isinstance(notice, Message)
    assert (notice.number, notice.severity) == (number, 17)
    assert "'monEngine'" in notice.text
    assert "'enable monitoring'" in notice.text


def test_getdate_is_the_servers_clock_in_ticks_of_a_300th_second(client: Client) -> None:
    assert client.value("getdate()") == datetime(2026, 3, 1, 10, 0, 3, 457000)
