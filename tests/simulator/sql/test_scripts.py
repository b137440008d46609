"""T-SQL of other people's scripts: procedures in other databases, table clauses, DBCC, functions about sessions."""

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.results import Disconnect, Rows


@pytest.fixture
def client() -> Client:
    return Client(
        FakeServer(
            sysprocesses=[{"spid": 1, "suid": 1, "status": "running"}],
            sysdatabases=[
                {"name": "master", "dbid": 1, "status": 8},
                {"name": "shop", "dbid": 4, "status": 8},
            ],
            sysusages=[{"dbid": 4, "size": 5120}, {"dbid": 4, "size": 2560}, {"dbid": 1, "size": 256}],
            monProcessSQLText=[{"SPID": 1, "KPID": 7, "LineNumber": 1, "SQLText": "select 1"}],
            monCachedStatement=[{"SSQLID": 12, "SQLText": "select a from t where a < 2"}],
        )
    )


def test_a_procedure_runs_in_the_database_that_the_call_names(client: Client) -> None:
    client.results("use sybsystemprocs")
    client.results("create procedure dbo.sp_here as select db_name()")
    assert client.errors("exec sp_procxmode 'dbo.sp_here', 'anymode'") == []
    client.results("use master")
    assert client.rows("exec shop..sp_here") == [("shop",)]
    assert client.rows("exec shop.dbo.sp_here") == [("shop",)]
    assert client.rows("exec sp_here") == [("master",)]
    assert client.rows("select db_name()") == [("master",)]
    assert client.errors("exec nowhere..sp_here") == [911]


def test_clauses_of_procedures_and_tables(client: Client) -> None:
    assert client.errors("create procedure owned with execute as owner as select 1") == []
    assert client.errors("create procedure owned2 with recompile as select 1") == []
    assert client.rows("exec owned") == [(1,)]
    client.results(
        "create table #t (a int null, b varchar(5) null, constraint k primary key clustered (a) "
        "with max_rows_per_page = 0, reservepagegap = 0,) lock datarows "
        "with exp_row_size = 0, identity_gap = 0 on [default] insert #t values (1, 'x')"
    )
    assert client.rows("select * from #t") == [(1, "x")]


def test_an_open_comment_is_an_error_of_its_own(client: Client) -> None:
    assert client.errors("select 1 /* print 'x'") == [113]


def test_sums_of_wide_numbers_can_be_sorted_by_their_alias(client: Client) -> None:
    sql = (
        "select d.name, ceiling(sum(u.size) * 4096 / 1048576.0) as mb, d.status from master..sysdatabases d "
        "join master..sysusages u on d.dbid = u.dbid group by d.name, d.status order by mb desc"
    )
    assert [(name, int(str(mb))) for name, mb, _ in client.rows(sql)] == [("shop", 30), ("master", 1)]
    union = (
        "select convert(numeric(38), 3) n union all select convert(numeric(38), 20) "
        "union all select convert(numeric(38), 100) order by n desc"
    )
    assert [int(str(row[0])) for row in client.rows(union)] == [100, 20, 3]


def test_syb_quit_ends_the_session(client: Client) -> None:
    results = client.results("if 1 = 1 select syb_quit() select 2")
    assert any(isinstance(result, Disconnect) for result in results)
    assert not any(isinstance(result, Rows) for result in results)


def test_contexts_of_a_session(client: Client) -> None:
    assert client.rows("select set_appcontext('a', 'x', 'one'), get_appcontext('a', 'x')") == [(0, "one")]
    assert client.rows("select set_appcontext('a', 'x', 'two')") == [(-1,)]
    assert client.rows("select rm_appcontext('a', 'x'), get_appcontext('a', 'x')") == [(0, None)]


def test_dbcc_prints_what_a_session_runs(client: Client) -> None:
    assert client.printed("dbcc sqltext(1)")[0] == "SQL Text: select 1"
    assert client.printed("exec sp_showplan 1, null, null, null")[0].startswith("QUERY PLAN FOR STATEMENT")
    assert client.rows("dbcc istraceon(3604) select case when @@error = 0 then 1 else 0 end") == [(0,)]
    assert client.rows(
        "dbcc traceon(3604) dbcc istraceon(3604) select case when @@error = 0 then 1 else 0 end"
    ) == [(1,)]
    assert client.errors("dbcc stacktrace(1)") == []
    for command in ("object_stats(init_locks)", "prsqlcache(12, 1)", "checkdb(shop)"):
        assert client.errors(f"dbcc {command}") == [20999]
    assert client.errors("dbcc set_scope_in_cluster('cluster')") == [2526]
    assert client.errors("set proc_return_status off") == []


def test_plans_and_texts_of_cached_statements(client: Client) -> None:
    assert client.rows("select show_cached_text_long(12)") == [("select a from t where a < 2",)]
    ((plan,),) = client.rows("select show_cached_plan_in_xml(12, 0, 0)")
    assert "<statementId>12</statementId>" in str(plan)
    assert "select a from t where a < 2" in str(plan)
    assert client.rows("select show_cached_plan_in_xml(13, 0, 0)") == [(None,)]
    assert client.rows("select query_text(1), query_text(9)") == [("select 1", None)]


def test_listeners_and_procedures_of_administration(client: Client) -> None:
    assert [str(row[0]).rstrip() for row in client.rows("select net_type from master..syslisteners")] == [
        "tcp"
    ]
    for procedure in (
        "sp_tempdb 'show'",
        "sp_help_resource_limit",
        "sp_hidetext 'sp_here'",
    ):
        assert client.errors(f"exec {procedure}") == []


def test_a_procedure_has_temporary_tables_of_its_own(client: Client) -> None:
    client.results("create procedure inner_one as select 2 a into #w select a from #w")
    client.results("create procedure outer_one as select 1 a into #w exec inner_one select a from #w")
    answers = [list(result.rows) for result in client.results("exec outer_one") if isinstance(result, Rows)]
    assert [[tuple(row) for row in rows] for rows in answers] == [[(2,)], [(1,)]]
    assert client.errors("select 1 a into #w select 2 a into #w") == [2714]


def test_every_table_has_a_row_in_sysindexes(client: Client) -> None:
    client.results("create table kept (a int)")
    sql = (
        "select o.name, count(i.id) from sysobjects o, sysindexes i where o.id *= i.id and i.indid < 2 "
        "and o.type in ('U', 'S') group by o.name having count(i.id) != 1"
    )
    assert client.rows(sql) == []


def test_procedures_that_other_procedures_call(client: Client) -> None:
    sql = (
        "declare @s varchar(30), @d varchar(30), @o varchar(30), @t varchar(30) "
        "exec sp_namecrack 'shop.dbo.t', ' ', @d out, @o out, @t out select @s, @d, @o, @t"
    )
    assert client.rows(sql) == [(None, "shop", "dbo", "t")]
    assert client.rows("declare @m varchar(255) exec sp_getmessage 17410, @m out select @m") == [
        ("Configuration option doesn't exist.",)
    ]
    client.results("select name, dbid into #f from master..sysdatabases where name in ('master', 'shop')")
    assert client.rows("exec sp_autoformat #f") == [("master", 1), ("shop", 4)]
    assert client.rows("exec sp_autoformat '#f', 'name', 'where dbid > 0', 'order by name desc'") == [
        ("shop",),
        ("master",),
    ]
    for procedure in ("sp_addthreshold shop, logsegment, 200, p", "sp_shmdumpconfig"):
        assert client.errors(f"exec {procedure}") == [20999]
    assert client.errors("exec sp_metrics 'flush'") == []


def test_sp_monitor_keeps_its_last_figures_in_a_table(client: Client) -> None:
    client.results("update master..spt_monitor set cpu_busy = 0, lastrun = '2026-03-01 09:00'")
    assert client.rows("select convert(varchar(5), lastrun, 108), cpu_busy from master..spt_monitor") == [
        ("09:00", 0)
    ]
    last_run = next(result for result in client.results("exec sp_monitor") if isinstance(result, Rows))
    assert str(next(iter(last_run.rows))[0]) == "2026-03-01 09:00:00"
    assert client.rows("select convert(varchar(5), lastrun, 108) from master..spt_monitor") == [("10:00",)]
