"""Batches: several statements, variables, control flow, temporary tables, cursors."""

from decimal import Decimal
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


def test_variables_loops_and_conditions(client: Client) -> None:
    sql = """
        declare @i int, @s varchar(20) select @i = 3, @s = ''
        while @i > 0 begin
            set @i = @i - 1
            if @i = 1 continue
            select @s = @s + convert(varchar, @i)
            if exists (select 1 from master..sysprocesses where spid = 99) break else print 'at %1!', @i
        end
        select @i, ltrim(@s)
    """
    assert client.rows(sql) == [(0, "20")]
    assert client.printed(sql) == ["at 2", "at 0"]


def test_an_assignment_sees_the_value_set_by_the_previous_row(client: Client) -> None:
    sql = "declare @s varchar(40) select @s = @s + convert(varchar, spid) + ',' from master..sysprocesses select @s"
    assert client.rows(sql) == [("5,6,7,8,",)]


def test_goto_return_and_case(client: Client) -> None:
    assert client.printed("goto there print 'no' there: print 'yes' return print 'never'") == ["yes"]
    sql = "select case blocked when 0 then 'free' else 'waits' end, count(*) from master..sysprocesses group by blocked"
    assert client.rows(sql) == [("free", 2), ("waits", 2)]


def test_temporary_tables_live_with_their_session(client: Client) -> None:
    sql = """
        create table #t (id int identity, name varchar(10) null, at datetime default getdate())
        insert #t (name) values ("one") insert into #t (name) select 'two' union all select 'three'
        update #t set name = upper(name) where id > 1
        delete from #t where name = 'TWO'
        select id, name, datediff(dd, at, getdate()) from #t order by id
    """
    assert client.rows(sql) == [(1, "one", 0), (3, "THREE", 0)]
    assert client.rows("select sum(id) from #t") == [(4,)]
    other = Client(client.backend.server, backend=client.backend)
    assert other.errors("select * from #t") == [208]
    assert client.errors("truncate table #t drop table #t select * from #t") == [208]


def test_permanent_tables_are_shared_by_all_sessions(client: Client) -> None:
    client.results(
        "create table tempdb..history (n int, what varchar(9)) insert tempdb..history values (1, 'a')"
    )
    other = Client(client.backend.server, backend=client.backend)
    assert other.rows("update tempdb..history set n = n + 1 select * from tempdb..history") == [(2, "a")]
    assert other.errors("create table tempdb..history (n int)") == [2714]


def test_select_into_and_joins_update_from(client: Client) -> None:
    sql = """
        select spid, blocked, n = convert(int, 0) into #p from master..sysprocesses
        update #p set n = w.waiters from #p p, (select blocked b, count(*) waiters from #p group by blocked) w
            where p.spid = w.b
        select spid, n from #p where n > 0
    """
    assert client.rows(sql) == [(5, 2)]
    assert Affected(4) in client.results("select spid into #q from master..sysprocesses")


def test_old_outer_joins_keep_what_has_no_match(client: Client) -> None:
    sql = "select p.spid, l.name from master..sysprocesses p, master..syslogins l where p.suid {} l.suid order by 1"
    assert client.rows(sql.format("*=")) == [(5, "sa"), (6, "ase_exporter"), (7, "ase_exporter"), (8, None)]
    assert len(client.rows(sql.format("="))) == 3
    flipped = "select p.spid from master..syslogins l, master..sysprocesses p where l.suid =* p.suid and l.name = 'sa'"
    assert len(client.rows(flipped)) == 4


@pytest.mark.parametrize(
    "decoration",
    ["holdlock", "noholdlock", "(index 1 prefetch 16)", "at isolation read uncommitted", "at isolation 0",
     "plan '(use optgoal allrows_dss)'", "for read only", "p (index i)"],
)  # fmt: skip
def test_hints_are_ignored(client: Client, decoration: str) -> None:
    assert client.rows(f"select count(*) from master..sysprocesses {decoration}") == [(4,)]


def test_rowcount_and_top_limit(client: Client) -> None:
    assert len(client.rows("select top 2 spid from master..sysprocesses")) == 2
    assert len(client.rows("set rowcount 3 select spid from master..sysprocesses")) == 3
    assert len(client.rows("set rowcount 0 select spid from master..sysprocesses")) == 4
    assert client.rows("select spid from master..sysprocesses where spid > 6 select @@rowcount") == [(2,)]


def test_quoted_identifier_decides_what_double_quotes_mean(client: Client) -> None:
    assert client.rows('select "spid" from master..sysprocesses where spid = 5') == [("spid",)]
    assert client.rows('select "a b" = spid from master..sysprocesses where spid = 5') == [(5,)]
    client.results("set quoted_identifier on")
    assert client.rows('select "spid" from master..sysprocesses where spid = 5') == [(5,)]


def test_cursors_fetch_row_by_row(client: Client) -> None:
    sql = """
        declare c cursor for select spid from master..sysprocesses where blocked > 0 for read only
        declare @s int open c fetch c into @s
        while @@sqlstatus = 0 begin print "%1!", @s fetch c into @s end
        close c deallocate cursor c
    """
    assert client.printed(sql) == ["6", "7"]


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


@pytest.mark.parametrize(
    ("sql", "number"),
    [("set nosuch on", 155), ("declare @a int declare @a int", 134), ("break", 135), ("drop table #x", 3701),
     ("delete master..sysprocesses", 259), ("select 'open", 105), ("kill 4711", 6106), ("dbcc nosuch", 2526),
     ("waitfor delay 'soon'", 148), ("if 1 = 1", 102), ("begin select 1", 102), ("use nosuch", 911),
     ("select * from master..sysprocesses where spid = ?", 102)],
)  # fmt: skip
def test_statement_errors(client: Client, sql: str, number: int) -> None:
    assert client.errors(sql) == [number]


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


def test_sa_creates_and_drops_databases(client: Client) -> None:
    client.results("create database d1 create table d1..t (a int)")
    assert client.errors("create database d1") == [1801]
    assert client.errors("use d1 drop database d1") == [3702]
    client.results("use master drop database d1")
    assert client.value("db_id('d1')") is None
    assert client.errors("drop database d1") == [3701]
    assert client.errors("drop database master") == [3702]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("convert(unsigned bigint, '18446744073709551615')", 2**64 - 1),
        ("convert(unsigned bigint, '18446744073709551614') + 1", 2**64 - 1),
        ("convert(unsigned bigint, '18446744073709551615') / 5", (2**64 - 1) // 5),
        (
            "convert(numeric(38, 0), '12345678901234567890123456789012345678') / 1",
            Decimal("12345678901234567890123456789012345678"),
        ),
        ("convert(numeric(38, 4), 1234567890123456789)", Decimal("1234567890123456789.0000")),
    ],
)
def test_numbers_beyond_a_real_keep_every_digit(client: Client, expression: str, value: object) -> None:
    assert client.value(expression) == value


def test_an_unsigned_bigint_overflows_beyond_its_range(client: Client) -> None:
    assert client.errors("select convert(unsigned bigint, '18446744073709551615') + 1") == [3606]


def test_a_char_that_may_be_null_is_kept_without_padding(client: Client) -> None:
    client.results("create table #t (a char(5) null, b char(5), c binary(3) null)")
    assert client.rows("insert #t values ('x', 'x', 0x01) select * from #t") == [("x", "x    ", b"\x01")]


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


def test_a_default_may_stand_in_brackets(client: Client) -> None:
    client.results("create table #t (a int default(1 - (2)) null, b int default (7) not null, c int)")
    client.results("insert #t (c) values (1)")
    assert client.rows("select b, c from #t") == [(7, 1)]


def test_fmtonly_gives_the_columns_of_a_query_and_no_rows(client: Client) -> None:
    client.results("create table #t (a int) insert #t values (1)")
    (rows,) = (
        r for r in client.results("set fmtonly on select a from #t set fmtonly off") if isinstance(r, Rows)
    )
    assert ([column.name for column in rows.columns], rows.rows) == (["a"], [])
    assert client.rows("select a from #t") == [(1,)]


@pytest.mark.parametrize("what", ["view v as select 1 a", "trigger t on x for insert as select 1"])
def test_views_and_triggers_are_refused(client: Client, what: str) -> None:
    assert client.errors(f"create {what}") == [20999]
