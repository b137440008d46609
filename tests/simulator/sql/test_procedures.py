"""System procedures show and change the model as in ASE."""

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.contracts import LoginRequest
from ase_simulator.model import load_scenario
from ase_simulator.results import Disconnect, Message, ReturnStatus, Rows
from ase_simulator.sql.backend import SqlBackend
from ase_simulator.sql.logins import Login
from ase_simulator.sql.procedures import PROCEDURES, procedure


@pytest.fixture
def client() -> Client:
    return Client(FakeServer())


@pytest.fixture
def live() -> Client:
    """A session with the model of the memscale scenario and a stopped clock."""
    (server,) = load_scenario("memscale", seed=3, speed=0.0)
    server.advance(30)
    return Client(server)


def _sets(client: Client, sql: str) -> list[list[tuple[object, ...]]]:
    return [[tuple(row) for row in each.rows] for each in client.sets(sql)]


def test_every_option_is_listed_by_group(live: Client) -> None:
    listed = [str(row[0]).strip() for rows in _sets(live, "sp_configure") for row in rows]
    options = live.backend.server.options()
    assert sorted(listed) == sorted(option.name[:30] for option in options)
    assert len(listed) > 100


def test_the_options_of_a_group_are_listed_as_a_published_12_5_4_lists_them() -> None:
    client = Client(load_scenario("idle", version="12.5.4", speed=0.0)[0])
    listed = [str(row[0]).strip() for rows in _sets(client, "sp_configure 'Monitoring'") for row in rows]
    # The output has the other options of this group, and 15.0.1 has no more.
    assert not {"enable stmt cache monitoring", "lock timeout pipe active"} & set(listed)
    assert {"SQL batch capture", "wait event timing", "statement pipe max messages"} <= set(listed)
    assert len(listed) == 19


def test_sp_configure_of_15_7_has_the_widths_and_texts_of_a_published_session() -> None:
    client = Client(load_scenario("idle", version="15.7 ESD#2", speed=0.0)[0])
    results = client.results("sp_configure 'number of devices', 15")
    (rows,) = [result for result in results if isinstance(result, Rows)]
    assert [column.type.length for column in rows.columns] == [30, 20, 11, 20, 20, 20, 20]
    texts = " ".join(result.text for result in results if isinstance(result, Message))
    assert "ASE need not be rebooted since the option is dynamic." in texts


def test_caches_pools_and_bindings_are_shown_and_changed(live: Client) -> None:
    live.results("sp_cacheconfig 'reports cache', '200M'")
    live.results("sp_cacheconfig 'reports cache', 'cache_partition=8', relaxed")
    overview, pools = _sets(live, "sp_cacheconfig 'reports cache'")
    assert overview[0][:3] == ("reports cache", "Active", "Mixed")
    assert str(overview[0][3]).strip() == "200.00 Mb"
    assert pools[0][0] == "    4 Kb"
    row = "select config_partitions, config_replacement from master..syscacheinfo where cache_name = 'reports cache'"
    assert live.rows(row) == [(8, "relaxed LRU")]

    live.results("sp_poolconfig 'orders cache', '512M', '16K'")
    of_cache = "from master..monCachePool where CacheName = 'orders cache' order by 1"
    sizes = f"select IOBufferSize/1024, AllocatedKB/1024 {of_cache}"
    assert live.rows(sizes)[-1] == (16, 512)
    live.results("sp_bindcache 'orders cache', trading, trades")
    bound = _sets(live, "sp_helpcache 'orders cache'")[1]
    assert ("orders cache", "trading.dbo.trades", "table", None, "V") in bound
    live.results("sp_unbindcache trading, trades")
    assert "trading.dbo.trades" not in [row[1] for row in _sets(live, "sp_helpcache 'orders cache'")[1]]


def test_processes_locks_and_resources_are_those_of_the_tables(live: Client) -> None:
    (row,) = live.rows("sp_who '1020'")
    assert (row[1], str(row[3]).strip(), str(row[7]).strip()) == (1020, "trader", "trading")
    assert len(live.rows("sp_who")) == live.value("count(*) from master..sysprocesses")

    spid = live.value("min(spid) from master..syslocks")
    rows = live.rows(f"sp_lock {spid}")
    assert {row[1] for row in rows} == {spid}
    assert {"Ex_intent"} <= {row[3] for row in rows}

    (row,) = live.rows("sp_monitorconfig 'number of locks'")
    locks = live.value("count(*) from master..syslocks")
    run = live.value("value from master..syscurconfigs where comment = 'number of locks'")
    assert (row[0], row[2], row[1]) == ("number of locks", locks, run - locks)  # type: ignore[operator]


def test_sp_helpdb_and_related_procedures_return_rows(live: Client) -> None:
    (database, fragments, log) = _sets(live, "sp_helpdb trading")
    assert database[0][0] == "trading"
    assert str(fragments[-1][2]).strip() == "log only"
    assert "log only free kbytes" in str(log[0][0])
    for sql in ("sp_dboption", "sp_datatype_info", "sp_datatype_info 12", "sp_helpcache",
                "sp_spaceused", "sp_displaylogin", "sp_engine 'status'", "sp_configure 'memory'",
                "sp_showplan 1020, null, null, null"):  # fmt: skip
        results = live.results(sql)
        assert results[-1] in (ReturnStatus(0), ReturnStatus(1))
        assert not [r for r in results if isinstance(r, Message) and r.severity > 10], sql


def test_sp_spaceused_adds_up_what_is_allocated(live: Client) -> None:
    live.results("use trading")
    sizes = "from master..monCachedObject where DBName = 'trading' and ObjectName = 'trades'"
    (row,) = live.rows("sp_spaceused trades")
    assert row[1] == f"{live.value(f'sum(TotalSizeKB) {sizes}')} KB"
    pages = live.value("reserved_pages(db_id(), object_id('trades'))")
    assert pages == live.value(f"sum(TotalSizeKB) / 4 {sizes}")


def test_a_failed_login_gets_4002(client: Client) -> None:
    backend = client.backend
    client.results("sp_locklogin ase_exporter, 'lock'")
    for user, password in (("sa", "wrong"), ("nobody", ""), ("ase_exporter", "exporter")):
        rejection = backend.login(LoginRequest(user, password))
        assert isinstance(rejection, Message)
        assert (rejection.number, rejection.severity) == (4002, 14)
    client.results("exec sp_locklogin ase_exporter, 'unlock'")
    assert not isinstance(backend.login(LoginRequest("ase_exporter", "exporter")), Message)


def test_other_sessions_get_6002_after_a_shutdown() -> None:
    server = FakeServer()
    backend = SqlBackend(server, [Login("sa", "", roles=["sa_role"])])
    first, other = Client(server, backend=backend), Client(server, backend=backend)
    assert Disconnect() in first.results("shutdown")
    assert not server.running
    told = other.results("select 1")
    assert [m.number for m in told if isinstance(m, Message)] == [6002]
    assert told[-1] == Disconnect()
    rejection = backend.login(LoginRequest("sa", ""))
    assert isinstance(rejection, Message)
    assert rejection.number == 6002


def test_every_procedure_that_is_a_script_parses() -> None:
    assert all(procedure(name).name == name for name in PROCEDURES)
