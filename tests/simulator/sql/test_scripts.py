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


def test_syb_quit_ends_the_session(client: Client) -> None:
    results = client.results("if 1 = 1 select syb_quit() select 2")
    assert any(isinstance(result, Disconnect) for result in results)
    assert not any(isinstance(result, Rows) for result in results)


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


def test_a_procedure_has_temporary_tables_of_its_own(client: Client) -> None:
    client.results("create procedure inner_one as select 2 a into #w select a from #w")
    client.results("create procedure outer_one as select 1 a into #w exec inner_one select a from #w")
    answers = [list(result.rows) for result in client.results("exec outer_one") if isinstance(result, Rows)]
    assert [[tuple(row) for row in rows] for rows in answers] == [[(2,)], [(1,)]]
    assert client.errors("select 1 a into #w select 2 a into #w") == [2714]


def test_sp_monitor_keeps_its_last_figures_in_a_table(client: Client) -> None:
    client.results("update master..spt_monitor set cpu_busy = 0, lastrun = '2026-03-01 09:00'")
    assert client.rows("select convert(varchar(5), lastrun, 108), cpu_busy from master..spt_monitor") == [
        ("09:00", 0)
    ]
    last_run = next(result for result in client.results("exec sp_monitor") if isinstance(result, Rows))
    assert str(next(iter(last_run.rows))[0]) == "2026-03-01 09:00:00"
    assert client.rows("select convert(varchar(5), lastrun, 108) from master..spt_monitor") == [("10:00",)]
