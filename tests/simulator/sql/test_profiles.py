"""Each version has its own tables, columns and types."""

import pytest
from tests.simulator.sql.fake import Client, FakeServer

from ase_simulator.model import load_scenario
from ase_simulator.schema.catalog import catalog
from ase_simulator.schema.profiles import parse_level, profiles

KEYS = list(profiles())


def _columns(key: str, table: str) -> set[str]:
    found = catalog(key).tables.get(table)
    return {column.name for column in found.columns} if found else set()


def test_there_is_a_profile_for_every_version_in_the_field() -> None:
    assert KEYS == [
        "12.5.4", "15.0.3", "15.5", "15.7 ESD#2", "15.7 SP110", "15.7 SP138", "15.7 SP138 CE",
        "16.0 GA", "16.0 SP02", "16.0 SP03", "16.0 SP04", "16.1",
    ]  # fmt: skip
    smp = [profile.level for profile in profiles().values() if not profile.cluster]
    assert smp == sorted(smp)


# Column, or table -> the first version that has it, and the first of a line of releases that has not.
LIVES = {
    "monSpinlockActivity.Grabs": ("15.7 ESD#2", ""),
    "monSpinlockActivity.SpinlockSlotID": ("15.7 SP110", ""),
    "monThread.BusyTicks": ("15.7 ESD#2", ""),
    "monDataCache.CacheSearches": ("12.5.4", ""),
    "monDataCache.ReplacementStrategy": ("15.7 ESD#2", ""),
    "monDataCache.CASGrabs": ("16.0 SP02", ""),
    "monState.Transactions": ("15.0.3", ""),
    "monState.Selects": ("15.7 SP110", ""),
    "monState.SnapsExecuted": ("16.0 SP02", ""),
    "monWaitEventInfo.Language": ("15.7 ESD#2", ""),
    "sysdevices.vdevno": ("15.0.3", ""),
    "monProcessObject.TableSize": ("12.5.4", "15.0.3"),
    "monProcessObject.PartitionSize": ("15.0.3", ""),
    "monCachedStatement.SystemCatalogUpdate": ("15.0.3", ""),
    "monOpenObjectActivity.LockWaits": ("12.5.4", ""),
    "monDeviceSpaceUsage": ("15.7 ESD#2", ""),
    "monDeviceSpaceUsage.FileSystemSizeMB": ("15.7 ESD#2", ""),
    "monDeviceSpaceUsage.FileSystemFreeMB": ("15.7 ESD#2", ""),
    "monThresholdEvent": ("16.0 GA", ""),
}


@pytest.mark.parametrize("what", LIVES)
def test_a_table_or_column_comes_and_goes_with_its_version(what: str) -> None:
    table, _, column = what.partition(".")
    smp = [key for key in KEYS if not profiles()[key].cluster]
    having = [key for key in smp if (column in _columns(key, table) if column else _columns(key, table))]
    first, gone = LIVES[what]
    assert having == smp[smp.index(first) : smp.index(gone) if gone else None]


def test_a_column_added_in_two_release_lines_is_absent_in_between() -> None:
    having = [key for key in KEYS if "HkgcReq" in _columns(key, "monEngine")]
    assert "15.7 SP138" in having
    assert "16.0 GA" not in having
    assert "16.0 SP02" in having


def test_before_15_0_there_is_no_bigint() -> None:
    types = {column.type.name for table in catalog("12.5.4").tables.values() for column in table.columns}
    assert "bigint" not in types


def test_only_the_cluster_edition_has_instances_in_its_system_tables() -> None:
    assert "instanceid" in _columns("15.7 SP138 CE", "sysprocesses")
    assert "instanceid" not in _columns("15.7 SP138", "sysprocesses")
    assert "monWorkload" in catalog("15.7 SP138 CE").tables
    assert "monWorkload" not in catalog("15.7 SP138").tables
    locks = {"PhysicalLocks", "AvgServiceTime", "MaxServiceTime"}
    assert locks <= _columns("15.7 SP138 CE", "monOpenObjectActivity")
    assert not locks & _columns("15.7 SP138", "monOpenObjectActivity")
    assert "SystemCatalogUpdates" not in _columns("15.7 SP138", "monCachedStatement")
    client = Client(FakeServer("15.7 SP138 CE"))
    assert client.value("@@instanceid") == 1
    assert "Cluster Edition" in str(client.value("@@version"))


def test_levels_compare_as_versions_do() -> None:
    assert parse_level("15.7.SP100") > parse_level("15.7.ESD2")
    assert parse_level("16.0.SP02PL02") > parse_level("16.0.SP02")
    assert parse_level("12.5.0.3") < parse_level("12.5.4")


def test_devices_fit_their_file_systems() -> None:
    (server,) = load_scenario("quiet-oltp", version="16.0 SP04", speed=0)
    devices = {row["VDevNo"]: row for row in server.table("monDeviceSpaceUsage")}
    known = {row["vdevno"]: row for row in server.table("sysdevices") if not row.get("cntrltype")}
    assert {number: row["LogicalName"] for number, row in devices.items()} == {
        number: row["name"] for number, row in known.items()
    }
    used: dict[str, int] = {}
    for row in devices.values():
        folder = str(row["PhysicalName"]).rpartition("/")[0]
        used[folder] = used.get(folder, 0) + int(str(row["DeviceSizeMB"]))
    for row in devices.values():
        size, free = int(str(row["FileSystemSizeMB"])), int(str(row["FileSystemFreeMB"]))
        assert size - free == used[str(row["PhysicalName"]).rpartition("/")[0]]
        assert free > 0


def test_an_instance_keeps_the_physical_locks_that_no_other_one_asks_for() -> None:
    (server,) = load_scenario("quiet-oltp", version="15.7 SP138 CE", speed=0)
    server.advance(60)
    rows = list(server.table("monOpenObjectActivity"))
    assert sum(int(str(row["PhysicalLocks"])) for row in rows) > 0
    assert all(row["PhysicalLocks"] == row["PhysicalLocksRetained"] for row in rows)
