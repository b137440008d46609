"""Tables are consistent: sums agree, engines with threads, users with the server."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from tests.simulator.model.worlds import one, rows_of, total

from ase_exporter.catalogue import load_catalogue
from ase_simulator.model import SimulatedServer, load_scenario
from ase_simulator.model.scenario import names
from ase_simulator.model.tables import TABLES
from ase_simulator.sysmon_report.collect import collect
from ase_simulator.sysmon_report.snapshot import Growth, take

# What the exporter exports of tables as counters, and what else counts there.
COUNTERS = {
    (collector.table, column)
    for collector in load_catalogue()[0].collectors.values()
    for name, metric in collector.metrics.items()
    if name.endswith("_total") and collector.table and not collector.events
    for column in metric.all_sources()
}
COUNTERS |= {("monEngine", "CPUTime"), ("monThread", "TotalTicks")}
COUNTERS |= {("monProcessActivity", each) for each in ("Transactions", "WaitTime", "PagesRead")}

# What the server counts, and the tables whose rows add up to it.
SUMS = {
    "LogicalReads": "monDataCache monCachePool monOpenObjectActivity monProcessActivity",
    "PhysicalReads": "monDataCache monCachePool monOpenObjectActivity monProcessActivity monDeviceIO.Reads",
    "PagesRead": "monCachePool monOpenObjectActivity monProcessActivity",
    "PhysicalWrites": "monDataCache monOpenObjectActivity monProcessActivity monDeviceIO.Writes",
    "Transactions": "monProcessActivity",
}


@pytest.fixture
def busy() -> SimulatedServer:
    [server] = load_scenario("quiet-oltp", speed=0)
    server.advance(333.3)
    return server


def test_counters_never_go_back_however_often_they_are_read() -> None:
    [server] = load_scenario("quiet-oltp", speed=0)
    seen = []
    for _ in range(6):
        server.advance(0.37)
        tables = {table: rows_of(server, table) for table, _ in COUNTERS}
        seen.append([sum(row.get(column) or 0 for row in tables[table]) for table, column in COUNTERS])
    for earlier, later in pairwise(seen):
        assert all(old <= new for old, new in zip(earlier, later, strict=True))


def test_engine_seconds_add_up_to_the_time_since_the_start(busy: SimulatedServer) -> None:
    for row in rows_of(busy, "monEngine"):
        kinds = [row[f"{kind}CPUTime"] for kind in ("User", "System", "IO", "Idle")]
        assert row["CPUTime"] == sum(kinds)
        assert row["CPUTime"] == pytest.approx(333, abs=4)


def test_engine_threads_used_the_cpu_that_their_engines_were_busy(busy: SimulatedServer) -> None:
    threads = {row["ThreadID"]: row for row in rows_of(busy, "monThread")}
    for engine in rows_of(busy, "monEngine"):
        thread = threads[engine["ThreadID"]]
        assert thread["UserTime"] / 1000 == pytest.approx(engine["UserCPUTime"], abs=1)
        assert thread["SystemTime"] / 1000 == pytest.approx(engine["SystemCPUTime"], abs=1)
        assert thread["BusyTicks"] + thread["IdleTicks"] + thread["SleepTicks"] == thread["TotalTicks"]


# In every build the first case study and one of sessions that wait; all others in the slow tier.
OFTEN = ("memscale", "storm")


@pytest.mark.parametrize(
    "scenario", [pytest.param(each, marks=() if each in OFTEN else pytest.mark.slow) for each in names()]
)
def test_every_table_counts_the_same_work(scenario: str) -> None:
    """Processes, tables, caches, pools, devices, the server, sysmonitors and sp_sysmon; their rows have one shape."""
    for server in load_scenario(scenario, speed=0):
        start = take(server)
        before = one(server, "monState")
        server.advance(30)
        tables = {name: rows_of(server, name) for name in TABLES}
        for name, rows in tables.items():
            assert len({tuple(row) for row in rows}) <= 1, name
        (state,) = tables["monState"]
        users = server.world.workload.users
        for column, counting in SUMS.items():
            for each in counting.split():
                name, _, other = each.partition(".")
                if users or name != "monProcessActivity":
                    slack = max(30, users) if name == "monProcessActivity" else 30
                    counted = sum(row[other or column] or 0 for row in tables[name])
                    assert counted == pytest.approx(state[column], rel=0.01, abs=slack), (name, column)
        _assert_same_in_sysmonitors(tables)
        _assert_same_in_sp_sysmon(server, Growth(start, take(server)), before, state)


def _assert_same_in_sysmonitors(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    groups: dict[str, list[int]] = defaultdict(list)
    for row in tables["sysmonitors"]:
        groups[row["group_name"]].append(row["value"] % 2**32)
    suffix = "" if groups["spinlock_p"] else "_0"
    for kind, column in (("p", "Grabs"), ("w", "Waits"), ("s", "Spins")):
        shown = [row[column] % 2**32 for row in tables["monSpinlockActivity"]]
        assert groups[f"spinlock_{kind}{suffix}"] == shown
    fields = {
        row["field_name"]: row["value"] % 2**32
        for row in tables["sysmonitors"]
        if row["group_name"] in ("access", "diskio", "network")
    }
    (state,) = tables["monState"]
    sent = sum(row["PacketsSent"] for row in tables["monNetworkIO"])
    for field, counted in {
        "xacts": state["Transactions"], "dwrites": state["PhysicalWrites"], "total_packets_sent": sent
    }.items():  # fmt: skip
        assert fields[field] == pytest.approx(counted, abs=2), field


def _assert_same_in_sp_sysmon(
    server: SimulatedServer, growth: Growth, before: Mapping[str, Any], state: Mapping[str, Any]
) -> None:
    sample = collect(growth, server="", version=server.version, banner="", interval_s=30, cleared=None)
    of_devices = {kind: sum(getattr(each, kind) for each in sample.devices) for kind in ("reads", "writes")}
    for name, found, slack in (
        ("Transactions", sample.transactions, 2),
        ("PhysicalReads", of_devices["reads"], 30),
        ("PhysicalWrites", of_devices["writes"], 30),
    ):
        assert found == pytest.approx(state[name] - before[name], rel=0.01, abs=slack), name


def test_time_waited_for_the_network_and_run_by_users_is_all_the_time_there_was(
    busy: SimulatedServer,
) -> None:
    users = 120
    own = {19, 57, 61, 179, 260}
    waited = sum(row["WaitTime"] for row in rows_of(busy, "monSysWaits") if row["WaitEventID"] not in own)
    ran = total(busy, "monEngine", "UserCPUTime") + total(busy, "monEngine", "SystemCPUTime")
    assert waited + ran == pytest.approx(users * 333.3, rel=0.02)


def test_lock_waits_name_the_same_pairs_in_every_table() -> None:
    [server] = load_scenario("storm", speed=0)
    server.advance(700)
    of_processes = {
        row["SPID"]: row["BlockingSPID"] for row in rows_of(server, "monProcess") if row["BlockingSPID"]
    }
    assert len(of_processes) > 5
    assert of_processes == {
        row["spid"]: row["blocked"] for row in rows_of(server, "sysprocesses") if row["blocked"]
    }
    locks = list(rows_of(server, "monLocks"))
    wanted = {row["SPID"]: row["BlockedBy"] // 2 for row in locks if row["LockState"] == "Requested"}
    assert wanted == of_processes
    held = {row["SPID"] for row in locks if row["BlockedState"] == "Blocking"}
    assert set(of_processes.values()) <= held


def test_pools_add_up_to_their_cache(busy: SimulatedServer) -> None:
    sizes = {row["CacheName"]: row["CacheSize"] for row in rows_of(busy, "monDataCache")}
    for name, size in sizes.items():
        pools = [row for row in rows_of(busy, "monCachePool") if row["CacheName"] == name]
        assert sum(row["AllocatedKB"] for row in pools) == size


def test_clearing_the_monitors_zeroes_sysmonitors_and_leaves_the_monitoring_tables(
    busy: SimulatedServer,
) -> None:
    before = total(busy, "monSpinlockActivity", "Grabs")
    busy.clear_monitors()
    assert not any(row["value"] for row in rows_of(busy, "sysmonitors"))
    assert total(busy, "monSpinlockActivity", "Grabs") == before
    assert one(busy, "monState")["CountersCleared"] == busy.now()


def test_the_same_seed_gives_the_same_world_and_another_seed_another() -> None:
    def grabs(seed: int) -> list[object]:
        [server] = load_scenario("quiet-oltp", speed=0, seed=seed)
        server.advance(100)
        return [row["Grabs"] for row in rows_of(server, "monSpinlockActivity")]

    assert grabs(3) == grabs(3)
    assert grabs(3) != grabs(4)


def test_reading_on_the_way_changes_nothing() -> None:
    [often] = load_scenario("memscale", speed=0)
    [once] = load_scenario("memscale", speed=0)
    for _ in range(20):
        often.advance(95)
        list(often.table("monEngine"))
    once.advance(1900)
    for table, column in (("monState", "Transactions"), ("monThread", "UserTime")):
        assert total(often, table, column) == pytest.approx(total(once, table, column), abs=200)
