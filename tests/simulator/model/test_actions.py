"""Actions of administrators and their effects."""

from contextlib import suppress
from typing import Any

import pytest
from tests.simulator.model.worlds import contention, one, rows_of, total

from ase_simulator.contracts import LoginRequest, ServerError
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.model.tables import TABLES


@pytest.fixture
def server() -> SimulatedServer:
    [server] = load_scenario("quiet-oltp", speed=0)
    server.advance(60)
    return server


def _cache(server: SimulatedServer, name: str) -> dict[str, Any]:
    return next(dict(row) for row in rows_of(server, "monDataCache") if row["CacheName"] == name)


def test_a_new_cache_takes_the_reads_of_what_is_bound_to_it(server: SimulatedServer) -> None:
    server.configure_cache("customer cache", size_kb=65536)
    server.bind_cache("customer cache", "orders", "customer")
    server.advance(60)
    assert _cache(server, "customer cache")["LogicalReads"] > 100_000
    server.bind_cache(None, "orders", "customer")
    before = _cache(server, "customer cache")["LogicalReads"]
    server.advance(60)
    assert _cache(server, "customer cache")["LogicalReads"] == before


def test_a_database_binding_holds_for_tables_without_one_of_their_own(server: SimulatedServer) -> None:
    server.configure_cache("all", size_kb=65536)
    server.bind_cache("all", "orders")
    before = {row["CacheName"]: row["LogicalReads"] for row in rows_of(server, "monDataCache")}
    server.advance(60)
    after = {row["CacheName"]: row["LogicalReads"] for row in rows_of(server, "monDataCache")}
    assert after["all"] - before["all"] > 20 * (after["default data cache"] - before["default data cache"])
    assert after["log cache"] > before["log cache"]


def test_partitions_type_and_strategy_of_a_cache_wait_for_the_restart(server: SimulatedServer) -> None:
    server.configure_cache("default data cache", partitions=64, strategy="relaxed")
    assert _cache(server, "default data cache")["CachePartitions"] == 8
    server.restart()
    row = _cache(server, "default data cache")
    assert row["CachePartitions"] == 64
    assert row["ReplacementStrategy"] == "relaxed LRU"
    names = [slot["SpinlockName"] for slot in rows_of(server, "monSpinlockActivity")]
    assert names.count("default data cache") == 64


def test_a_lockless_cache_counts_compare_and_swap_instead_of_spinlock_grabs(server: SimulatedServer) -> None:
    cache = "default data cache"
    before = contention(server, 60, [cache])[cache]
    server.configure_cache(cache, type="lockless")
    server.restart()
    after = contention(server, 60, [cache])[cache]
    row = _cache(server, cache)
    assert row["Type"] == "Lockless Data Cache"
    grabs = sum(r["Grabs"] for r in rows_of(server, "monSpinlockActivity") if r["SpinlockName"] == cache)
    assert row["CASGrabs"] > 20 * grabs
    assert after < before


def test_a_smaller_cache_reads_more_from_disk(server: SimulatedServer) -> None:
    def reads() -> float:
        before = total(server, "monDeviceIO", "Reads")
        server.advance(60)
        return total(server, "monDeviceIO", "Reads") - before

    large = reads()
    server.configure_pool("default data cache", 32, 0)
    server.configure_cache("default data cache", size_kb=1024 * 1024)
    assert reads() > 1.5 * large


# A call of an administrator that is rejected, and changes nothing.
REJECTED: dict[str, tuple[str, dict[str, Any]]] = {
    "a new cache without a size": ("configure_cache", {"name": "new cache"}),
    "a cache too small": ("configure_cache", {"name": "default data cache", "size_kb": 100}),
    "the default cache away": ("configure_cache", {"name": "default data cache", "size_kb": 0}),
    "partitions": ("configure_cache", {"name": "default data cache", "partitions": 3}),
    "strategy": ("configure_cache", {"name": "default data cache", "strategy": "most recent"}),
    "type": ("configure_cache", {"name": "default data cache", "type": "magic"}),
    "a bound cache away": ("configure_cache", {"name": "log cache", "size_kb": 0}),
    "a pool of no cache": ("configure_pool", {"cache": "no cache", "io_size_kb": 32, "size_kb": 1024}),
    "size of I/O": ("configure_pool", {"cache": "default data cache", "io_size_kb": 7, "size_kb": 1024}),
    "size of a pool": ("configure_pool", {"cache": "log cache", "io_size_kb": 32, "size_kb": 9**9}),
    "binding to no cache": ("bind_cache", {"cache": "no cache", "database": "orders"}),
    "binding of no database": ("bind_cache", {"cache": "log cache", "database": "no database"}),
    "engine 0 offline": ("set_engine", {"engine": 0, "online": False}),
    "an engine too many": ("set_engine", {"engine": 8, "online": True}),
    "an engine that is online": ("set_engine", {"engine": 3, "online": True}),
    "no engine": ("set_engine", {"engine": 99, "online": False}),
}


@pytest.mark.parametrize("what", REJECTED)
def test_invalid_calls_are_rejected_and_change_nothing(server: SimulatedServer, what: str) -> None:
    def shown() -> list[Any]:
        return [rows_of(server, table) for table in ("monDataCache", "monCachePool", "monEngine")]

    before, (call, arguments) = shown(), REJECTED[what]
    with pytest.raises(ServerError):
        getattr(server, call)(**arguments)
    assert shown() == before


def test_a_pool_takes_its_memory_from_the_pool_of_the_page_size(server: SimulatedServer) -> None:
    server.configure_pool("tempdb cache", 32, 102400)
    sizes = {
        row["IOBufferSize"]: row["AllocatedKB"]
        for row in rows_of(server, "monCachePool")
        if row["CacheName"] == "tempdb cache"
    }
    assert sizes == {4096: 524288 - 102400, 32768: 102400}


def test_an_engine_taken_offline_leaves_its_work_to_the_others(server: SimulatedServer) -> None:
    server.set_engine(7, False)
    before = {row["EngineNumber"]: row["UserCPUTime"] for row in rows_of(server, "monEngine")}
    server.advance(100)
    after = {row["EngineNumber"]: row["UserCPUTime"] for row in rows_of(server, "monEngine")}
    assert 7 not in after
    assert len(after) == 7
    assert all(after[number] > before[number] for number in after)
    server.set_engine(7, True)
    assert len(list(rows_of(server, "monEngine"))) == 8


def test_a_restart_starts_all_counters_again_and_drops_the_sessions(server: SimulatedServer) -> None:
    dropped = []
    server.on_drop(lambda: dropped.append(True))
    server.attach(LoginRequest("sa", ""))
    server.restart()
    assert dropped == [True]
    assert one(server, "monState")["StartDate"] == server.now()
    for table, column in (
        ("monSpinlockActivity", "Grabs"),
        ("monState", "Transactions"),
        ("monThread", "UserTime"),
    ):
        assert total(server, table, column) == 0
    assert one(server, "monState")["Connections"] == 120


def test_a_session_shows_up_with_what_it_used_and_is_gone_after_the_detach(server: SimulatedServer) -> None:
    spid = server.attach(LoginRequest("probe", "", hostname="mon01", program="check"))
    other = server.attach(LoginRequest("sa", ""))
    server.account(spid, statements=3, rows=70, cpu_ms=12.5)
    rows = {row["SPID"]: row for row in rows_of(server, "monProcess")}
    assert (rows[spid]["Login"], rows[spid]["HostName"], rows[spid]["Application"]) == (
        "probe",
        "mon01",
        "check",
    )
    used = {row["SPID"]: row for row in rows_of(server, "monProcessActivity")}
    assert (used[spid]["CPUTime"], used[spid]["Transactions"], used[other]["CPUTime"]) == (12, 3, 0)
    server.detach(spid)
    server.detach(spid)
    assert spid not in {row["spid"] for row in rows_of(server, "sysprocesses")}
    assert server.attach(LoginRequest("sa", "")) == spid


def test_configuration_changes_are_kept_with_who_and_when(server: SimulatedServer) -> None:
    server.set_option("number of locks", 250_000, "sa")
    entry = list(rows_of(server, "monErrorLog"))[-1]
    text = "The configuration option 'number of locks' has been changed by 'sa' from '200000' to '250000'."
    assert (entry["ErrorMessage"], entry["Time"]) == (text, server.now())


@pytest.mark.parametrize("end", ["minimum", "maximum"])
def test_no_values_of_options_stop_the_server(server: SimulatedServer, end: str) -> None:
    server.set_option("max memory", 2**31 - 1, "sa")
    for option in server.options():
        with suppress(ServerError):
            server.set_option(option.name, getattr(option, end), "sa")
    for _ in range(2):
        server.advance(30)
        assert total(server, "monState", "Transactions") > 0
        for table in TABLES:
            list(rows_of(server, table))
        server.restart()


def test_new_caches_get_the_global_number_of_partitions(server: SimulatedServer) -> None:
    server.set_option("global cache partition number", 16, "sa")
    server.configure_cache("before the restart", size_kb=65536)
    server.restart()
    server.configure_cache("after it", size_kb=65536)
    assert _cache(server, "before the restart")["CachePartitions"] == 1
    assert _cache(server, "after it")["CachePartitions"] == 16
