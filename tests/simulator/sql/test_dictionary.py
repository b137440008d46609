"""The dictionary of every version adds up: joins that DBAs make, sums, and every value within its type."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from ase_simulator.contracts import LoginRequest
from ase_simulator.model import load_scenario
from ase_simulator.results import Message, Rows
from ase_simulator.schema.profiles import profiles
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.session import SqlSession
from ase_simulator.tds.capabilities import Capabilities
from ase_simulator.tds.dialect import Dialect
from ase_simulator.tds.fields import LITTLE_ENDIAN, Layout
from ase_simulator.tds.rows import RowFormat

WITHOUT_A_MATCH = {
    "a fragment without its database": "sysusages u where not exists "
    "(select 1 from sysdatabases d where d.dbid = u.dbid)",
    "a process without its database": "sysprocesses p where not exists "
    "(select 1 from sysdatabases d where d.dbid = p.dbid)",
    "an open database that is none": "monOpenDatabases o where not exists "
    "(select 1 from sysdatabases d where d.dbid = o.DBID and d.name = o.DBName)",
    "a monitored process that is none": "monProcess m where not exists "
    "(select 1 from sysprocesses p where p.spid = m.SPID and p.kpid = m.KPID)",
    "a wait event without its class": "monWaitEventInfo e where not exists "
    "(select 1 from monWaitClassInfo c where c.WaitClassID = e.WaitClassID)",
    "a wait without its event": "monSysWaits w where not exists "
    "(select 1 from monWaitEventInfo e where e.WaitEventID = w.WaitEventID)",
    "a column of no table": "monTableColumns c where not exists "
    "(select 1 from monTables t where t.TableID = c.TableID and t.TableName = c.TableName)",
    "an option of no section": "sysconfigures c where parent > 0 and not exists "
    "(select 1 from sysconfigures s where s.config = c.parent)",
    "a run value of no option": "syscurconfigs r where not exists "
    "(select 1 from sysconfigures c where c.config = r.config)",
}
TWICE = {
    "database": "sysdatabases group by dbid",
    "device": "sysdevices group by name",
    "spid": "sysprocesses group by spid",
    "object": "sysobjects group by id",
    "name of an object": "sysobjects group by name",
    "column": "syscolumns group by id, colid",
    "engine": "monEngine group by EngineNumber",
    "cache": "monDataCache group by CacheName",
    "wait event": "monWaitEventInfo group by WaitEventID",
    "monitoring table": "monTables group by TableName",
}


class Server:
    """A server of one version and a session on it."""

    def __init__(self, version: str, speed: float = 1.0) -> None:
        (self.model,) = load_scenario("quiet-oltp", version=version, speed=speed)
        self.backend = SqlBackend(self.model)
        session = self.backend.login(LoginRequest("sa", "", "host", "test"))
        assert isinstance(session, SqlSession)
        self._session = session

    def answer(self, sql: str) -> list[Rows]:
        async def ask() -> list[Rows]:
            found = []
            async for result in self._session.execute(sql):
                assert not isinstance(result, Message) or result.severity <= 10, (sql, result)
                if isinstance(result, Rows):
                    result.rows = list(result.rows)
                    found.append(result)
            return found

        return asyncio.run(ask())

    def rows(self, sql: str) -> Sequence[Any]:
        return [tuple(row) for row in self.answer(sql)[-1].rows]


@pytest.fixture(scope="module", params=list(profiles()))
def server(request: pytest.FixtureRequest) -> Server:
    return Server(request.param)


@pytest.mark.parametrize("what", WITHOUT_A_MATCH)
def test_nothing_is_without_a_match(server: Server, what: str) -> None:
    assert server.rows(f"select count(*) from {WITHOUT_A_MATCH[what]}") == [(0,)]


@pytest.mark.parametrize("what", TWICE)
def test_nothing_is_there_twice(server: Server, what: str) -> None:
    assert server.rows(f"select count(*) n from {TWICE[what]} having count(*) > 1") == []


def test_every_fragment_lies_on_one_device(server: Server) -> None:
    if "12.5" in server.backend.version:
        join = "u.vstart between d.low and d.high"
    else:
        join = "u.vdevno = d.vdevno"
    found = server.rows(
        f"select count(*), (select count(*) from sysusages) from sysusages u, sysdevices d where {join} "
        "and d.cntrltype = 0"
    )
    assert found[0][0] == found[0][1] > 0


def test_fragments_of_a_database_follow_each_other(server: Server) -> None:
    fragments = server.rows("select dbid, lstart, size, unreservedpgs from sysusages order by dbid, lstart")
    ends: dict[int, int] = {}
    for database, start, size, free in fragments:
        assert start == ends.get(database, 0)
        assert 0 <= free <= size
        ends[database] = start + size


def test_the_log_is_no_larger_than_its_fragments_and_its_free_part_no_larger_than_the_log(
    server: Server,
) -> None:
    for database, size in server.rows(
        "select dbid, sum(case when segmap & 4 = 4 then size else 0 end) from sysusages"
        " where db_name(dbid) <> 'tempdb_ase2' group by dbid"
    ):
        pages, free, reserved = server.rows(
            f"select lct_admin('num_logpages', {database}), lct_admin('logsegment_freepages', {database}), "
            f"lct_admin('reserved_for_rollbacks', {database})"
        )[0]
        assert 0 <= reserved <= free
        assert 0 < pages <= size - free


def test_databases_whose_log_is_mixed_with_data_say_so(server: Server) -> None:
    mixed = "select distinct db_name(dbid) from sysusages where segmap = 7 order by 1"
    flagged = server.rows("select name from sysdatabases where status2 & 32768 = 32768 order by name")
    assert flagged == server.rows(mixed)
    assert {name for (name,) in flagged} >= {"master", "model", "tempdb"}
    assert server.rows("select name from sysdatabases where status3 & 256 = 256") == []


def test_a_device_holds_no_more_than_it_has(server: Server) -> None:
    version = int(str(server.rows("select @@version_number")[0][0]))
    place = "u.vstart between d.low and d.high" if version < 15000 else "u.vdevno = d.vdevno"
    over = (
        "select d.name from sysdevices d, sysusages u where d.status & 2 = 2 and "
        f"{place} group by d.name, d.low, d.high "
        "having sum(u.size) * (@@maxpagesize / @@pagesize) > d.high - d.low + 1"
    )
    assert server.rows(over) == []


def test_no_resource_is_used_beyond_its_limit(server: Server) -> None:
    for name, free, active, percent, most, *_ in server.rows("sp_monitorconfig 'all'"):
        assert 0 <= float(percent) <= 100, name
        assert min(free, active) >= 0 and most >= active, name


def test_rows_are_those_of_the_instance(server: Server) -> None:
    columns = [column.name for column in server.answer("select * from monEngine")[-1].columns]
    if "InstanceID" in columns:
        assert server.rows("select distinct InstanceID - @@instanceid from monEngine") == [(0,)]


def test_every_value_of_every_table_fits_its_type(server: Server) -> None:
    dialect = Dialect(Layout(LITTLE_ENDIAN), "utf-8", Capabilities(b"\xff" * 14, b"\0" * 10))
    for table in server.backend.shared.catalog.tables.values():
        home = "master" if table.scope == "each" else table.scope
        (rows,) = server.answer(f"select * from {home}..{table.name}")
        encoded = RowFormat(rows.columns, dialect)
        for row in rows.rows:
            assert encoded.write(row), table.name


@pytest.mark.parametrize("version", ["12.5.4", "16.0 SP04"])
def test_busy_and_idle_ticks_make_up_the_time_of_the_engines(version: str) -> None:
    stopped = Server(version, speed=0.0)
    stopped.model.advance(100)
    ((busy, user, system, io, idle),) = stopped.rows(
        "select @@cpu_busy, @@user_busy, @@system_busy, @@io_busy, @@idle"
    )
    ((seconds, engines),) = stopped.rows("select sum(CPUTime), count(*) from monEngine")
    assert busy == user + system > 0
    assert abs(seconds * 10 - (busy + io + idle)) <= 40 * engines, (
        "each engine's four figures are whole seconds"
    )


def test_databases_of_clients_have_a_date(server: Server) -> None:
    server.answer("create database dated")
    assert server.rows("select name from sysdatabases where crdate is null") == []
    server.answer("drop database dated")
