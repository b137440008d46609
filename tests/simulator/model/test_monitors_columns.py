"""Columns and tables that other monitors read, by version and edition."""

import pytest

from ase_simulator.model import load_scenario
from ase_simulator.schema.catalog import catalog


@pytest.mark.parametrize(
    ("version", "table", "present", "absent"),
    [
        ("12.5.4", "monProcessObject", {"TableSize"}, {"PartitionSize"}),
        ("15.0.3", "monProcessObject", {"PartitionSize"}, {"TableSize"}),
        ("15.7 SP138", "monCachedStatement", {"SystemCatalogUpdate"}, {"SystemCatalogUpdates"}),
        ("15.7 SP138", "monOpenObjectActivity", {"LockWaits"}, {"PhysicalLocks", "MaxServiceTime"}),
        (
            "15.7 SP138 CE",
            "monOpenObjectActivity",
            {"PhysicalLocks", "AvgServiceTime", "MaxServiceTime"},
            set(),
        ),
        ("15.7 SP138", "monDeviceSpaceUsage", {"FileSystemSizeMB", "FileSystemFreeMB"}, set()),
    ],
)
def test_columns_of_versions(version: str, table: str, present: set[str], absent: set[str]) -> None:
    columns = catalog(version).tables[table].by_name.keys()
    assert present <= columns
    assert not absent & columns


def test_tables_of_versions() -> None:
    assert "monDeviceSpaceUsage" not in catalog("15.5").tables
    assert "monThresholdEvent" not in catalog("15.7 SP138").tables
    assert "monThresholdEvent" in catalog("16.0 GA").tables


def test_devices_fit_their_file_systems() -> None:
    (server,) = load_scenario("quiet-oltp", version="16.0 SP04", speed=0)
    devices = {row["VDevNo"]: row for row in server.table("monDeviceSpaceUsage")}
    known = {row["vdevno"]: row for row in server.table("sysdevices") if row["cntrltype"] == 0}
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
