"""Batches: several statements, variables, control flow, temporary tables, cursors."""

from itertools import pairwise

import pytest
from tests.simulator.sql.fake import Client, FakeServer
from tests.simulator.sql.test_statements import SERVERS

from ase_simulator.contracts import Description, Parameter
from ase_simulator.results import (
    Column,
    Message,
    OutputParameters,
    ReturnStatus,
    Rows,
    Type,
)
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


def test_marks_take_their_types_from_columns_and_parameters(client: Client) -> None:
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


def test_output_parameters_come_to_the_client_from_a_call_and_from_a_batch(client: Client) -> None:
    client.results("create procedure twice @n int, @twice int output as select @twice = 2 * @n")
    given = [Parameter("@n", Type("int"), 6), Parameter("@twice", Type("int"), None, output=True)]
    returned = OutputParameters([Column("@twice", Type("int"))], [12])
    assert client.call("twice", *given) == [ReturnStatus(0), returned]
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
