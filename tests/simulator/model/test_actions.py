"""Actions of administrators and their effects."""

import asyncio
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


def _number(refused: "pytest.ExceptionInfo[ServerError]") -> int:
    return refused.value.message.number


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
    server.configure_cache(cache, cache_type="lockless")
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


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "new cache"},
        {"name": "default data cache", "size_kb": 100},
        {"name": "default data cache", "size_kb": 0},
        {"name": "default data cache", "partitions": 3},
        {"name": "default data cache", "strategy": "most recent"},
        {"name": "default data cache", "cache_type": "magic"},
        {"name": "log cache", "size_kb": 0},
    ],
)
def test_invalid_cache_settings_are_rejected(server: SimulatedServer, settings: dict[str, Any]) -> None:
    before = list(rows_of(server, "monDataCache"))
    with pytest.raises(ServerError):
        server.configure_cache(**settings)
    assert list(rows_of(server, "monDataCache")) == before


@pytest.mark.parametrize(
    "pool", [("no cache", 32, 1024), ("default data cache", 7, 1024), ("log cache", 32, 9**9)]
)
def test_invalid_pool_settings_are_rejected(server: SimulatedServer, pool: tuple[str, int, int]) -> None:
    with pytest.raises(ServerError):
        server.configure_pool(*pool)


def test_a_pool_takes_its_memory_from_the_pool_of_the_page_size(server: SimulatedServer) -> None:
    server.configure_pool("tempdb cache", 32, 102400)
    sizes = {
        row["IOBufferSize"]: row["AllocatedKB"]
        for row in rows_of(server, "monCachePool")
        if row["CacheName"] == "tempdb cache"
    }
    assert sizes == {4096: 524288 - 102400, 32768: 102400}


def test_binding_to_an_unknown_cache_or_database_is_rejected(server: SimulatedServer) -> None:
    with pytest.raises(ServerError):
        server.bind_cache("no cache", "orders", "customer")
    with pytest.raises(ServerError) as refused:
        server.bind_cache("log cache", "no database")
    assert _number(refused) == 911


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


@pytest.mark.parametrize(("engine", "online"), [(0, False), (8, True), (3, True), (99, False)])
def test_invalid_engine_numbers_are_rejected(server: SimulatedServer, engine: int, online: bool) -> None:
    with pytest.raises(ServerError):
        server.set_engine(engine, online)


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


def test_the_listener_refuses_connections_between_shutdown_and_restart(server: SimulatedServer) -> None:
    server.shutdown()
    assert not server.running
    assert server.faults.refuse
    server.restart()
    assert server.running
    assert not server.faults.refuse


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


def test_sleepers_wake_when_simulated_time_has_passed() -> None:
    async def scene() -> list[str]:
        [server] = load_scenario("idle", speed=0)
        woken: list[str] = []

        async def sleeper(name: str, seconds: float) -> None:
            await server.sleep(seconds)
            woken.append(name)

        tasks = [asyncio.create_task(sleeper("late", 10)), asyncio.create_task(sleeper("early", 3))]
        await asyncio.sleep(0)
        server.advance(5)
        await tasks[1]
        assert not tasks[0].done()
        server.advance(5)
        await tasks[0]
        return woken

    assert asyncio.run(scene()) == ["early", "late"]


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
