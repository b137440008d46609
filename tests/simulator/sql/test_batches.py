"""Batches: several statements, variables, control flow, temporary tables, cursors."""

from itertools import pairwise

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.contracts import Parameter
from ase_simulator.results import (
    Affected,
    Column,
    EnvChange,
    Message,
    OutputParameters,
    ReturnStatus,
    Rows,
    Type,
)
from ase_simulator.sql.session import ROW_MS, STATEMENT_MS


@pytest.fixture
def client() -> Client:
    names = ("spid", "blocked", "suid", "cmd")
    rows = [(5, 0, 1, "SELECT"), (6, 5, 3, "UPDATE"), (7, 5, 3, "UPDATE"), (8, 0, 9, "X")]
    return Client(FakeServer(sysprocesses=[dict(zip(names, row, strict=True)) for row in rows]))


def test_statements_need_no_separator(client: Client) -> None:
    results = client.results(
        "set nocount on use master select 1 select 2;select 3\ngo\nselect 4 declare @a int"
    )
    assert [next(iter(result.rows))[0] for result in results if isinstance(result, Rows)] == [1, 2, 3, 4]
    assert EnvChange("database", "master", "master") in results


def test_a_session_is_charged_for_each_statement_and_row_that_was_taken(client: Client) -> None:
    client.rows("select spid from master..sysprocesses select 1 where 1 = 2 print 'free of charge'")
    server = client.backend.server
    assert isinstance(server, FakeServer)
    (spid, *four), (_, *none) = server.accounts
    assert spid == client.session.spid
    assert four == [1, 4, STATEMENT_MS + 4 * ROW_MS]
    assert none == [1, 0, STATEMENT_MS]


def test_select_into_and_joins_update_from(client: Client) -> None:
    sql = """
        select spid, blocked, n = convert(int, 0) into #p from master..sysprocesses
        update #p set n = w.waiters from #p p, (select blocked b, count(*) waiters from #p group by blocked) w
            where p.spid = w.b
        select spid, n from #p where n > 0
    """
    assert client.rows(sql) == [(5, 2)]
    assert Affected(4) in client.results("select spid into #q from master..sysprocesses")


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
