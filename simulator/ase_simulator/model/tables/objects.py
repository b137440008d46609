"""Activity of tables, indexes and partitions."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.inventory import WorkloadTable
from ase_simulator.model.operation import OBJECT_COLUMNS
from ase_simulator.model.world import World


def _counts(world: World, table: WorkloadTable, index: int) -> dict[str, float]:
    """The counters of one index: reads are split evenly, row changes and locks belong to the data."""
    row = world.counters.objects[table.position].tolist()
    count = dict(zip(OBJECT_COLUMNS, row, strict=True))
    for name in ("logical_reads", "physical_reads", "apf_reads", "physical_writes", "pages_read"):
        count[name] /= len(table.indexes)
    return count


def _identity(table: WorkloadTable, index: int) -> Row:
    return {
        "InstanceID": 0,
        "DBID": table.database_id,
        "ObjectID": table.object_id,
        "IndexID": index,
        "DBName": table.object.database,
        "ObjectName": table.object.name,
    }


def mon_open_object_activity(world: World) -> Iterator[Row]:
    """One row per table (IndexID 0) and index; lock columns are NULL for nonclustered indexes."""
    now, started = world.date(world.seconds), world.date(world.started)
    for table in world.inventory.tables:
        for index in table.indexes:
            count = _counts(world, table, index)
            n = {name: world.int32(value) for name, value in count.items()}
            data = index == 0
            used = now if count["logical_reads"] >= 1 else None
            yield _identity(table, index) | {
                "LogicalReads": n["logical_reads"],
                "PhysicalReads": world.int32(count["physical_reads"] - count["apf_reads"]),
                "APFReads": n["apf_reads"],
                "PagesRead": n["pages_read"],
                "PhysicalWrites": n["physical_writes"],
                "PagesWritten": n["physical_writes"],
                "RowsInserted": n["inserts"] if data else 0,
                "RowsDeleted": n["deletes"] if data else 0,
                "RowsUpdated": n["updates"] if data else 0,
                "Operations": n["operations"] if data else 0,
                "LockRequests": n["lock_requests"] if data else None,
                "LockWaits": n["lock_waits"] if data else None,
                "OptSelectCount": world.int32(count["operations"] * 0.002),
                "LastOptSelectDate": used,
                "UsedCount": n["operations"],
                "LastUsedDate": used,
                "HkgcRequests": n["deletes"] if data else 0,
                "SharedLockWaitTime": world.int32(count["lock_waits"] * 2.0) if data else None,
                "ExclusiveLockWaitTime": world.int32(count["lock_waits"] * 5.0) if data else None,
                "UpdateLockWaitTime": world.int32(count["lock_waits"] * 1.0) if data else None,
                "ObjectCacheDate": started,
                "IOSize1Page": world.int32(count["physical_reads"] - count["apf_reads"]),
                "IOSize8Pages": n["apf_reads"],
                "Scans": world.int32(count["operations"] * 0.01) if data else 0,
                "LastScanDate": used if data else None,
                "Updates": n["updates"] if data else 0,
                "LastUpdateDate": now if data and count["updates"] >= 1 else None,
                "Inserts": n["inserts"] if data else 0,
                "LastInsertDate": now if data and count["inserts"] >= 1 else None,
                "Deletes": n["deletes"] if data else 0,
                "LastDeleteDate": now if data and count["deletes"] >= 1 else None,
                "MaxInsRowsInXact": 10 if data and count["inserts"] >= 1 else 0,
                "MaxDelRowsInXact": 2 if data and count["deletes"] >= 1 else 0,
                "MaxUpdRowsInXact": 10 if data and count["updates"] >= 1 else 0,
                **(_physical_locks(n["physical_reads"]) if world.version.endswith(" CE") else {}),
            }


def _physical_locks(pages: int) -> Row:
    """The Cluster Edition's locks of cached pages: no other instance asks for a page, so that all are retained."""
    others = (
        "PhysicalLocksRetainWaited", "PhysicalLocksDeadlocks", "PhysicalLocksWaited", "PhysicalLocksPageTransfer",
        "TransferReqWaited", "TotalServiceRequests", "PhysicalLocksDowngraded", "PagesTransferred",
        "ClusterPageWrites",
    )  # fmt: skip
    return {"PhysicalLocks": pages, "PhysicalLocksRetained": pages, **dict.fromkeys(others, 0)}


def mon_open_partition_activity(world: World) -> Iterator[Row]:
    """One row per partition: every index has one."""
    now = world.date(world.seconds)
    for table in world.inventory.tables:
        for index in table.indexes:
            count = _counts(world, table, index)
            n = {name: world.int32(value) for name, value in count.items()}
            used = now if count["logical_reads"] >= 1 else None
            partition = table.partition_id(index)
            yield _identity(table, index) | {
                "PartitionID": partition,
                "PartitionName": f"{table.object.name}_{partition}",
                "LogicalReads": n["logical_reads"],
                "PhysicalReads": world.int32(count["physical_reads"] - count["apf_reads"]),
                "APFReads": n["apf_reads"],
                "PagesRead": n["pages_read"],
                "PhysicalWrites": n["physical_writes"],
                "PagesWritten": n["physical_writes"],
                "RowsInserted": n["inserts"] if index == 0 else 0,
                "RowsDeleted": n["deletes"] if index == 0 else 0,
                "RowsUpdated": n["updates"] if index == 0 else 0,
                "OptSelectCount": world.int32(count["operations"] * 0.002),
                "LastOptSelectDate": used,
                "UsedCount": n["operations"],
                "LastUsedDate": used,
                "HkgcRequests": n["deletes"] if index == 0 else 0,
            }


def mon_table_compression(world: World) -> Iterator[Row]:
    """One row per user table; none of these workloads compresses."""
    for table in world.inventory.tables:
        if table.object.kind == "user":
            yield {
                "DBID": table.database_id,
                "ObjectID": table.object_id,
                "PartitionID": table.partition_id(0),
                "TableName": table.object.name,
            }


def sys_objects(world: World) -> Iterator[Row]:
    """The tables of the workload as sysobjects of their databases shows them; `database` names which."""
    for table in world.inventory.tables:
        entry = table.object
        yield {
            "database": entry.database,
            "name": entry.name,
            "id": table.object_id,
            "type": "U" if entry.kind == "user" else "S",
            "crdate": world.date(world.started),
        }


TABLES = {
    "monOpenObjectActivity": mon_open_object_activity,
    "monOpenPartitionActivity": mon_open_partition_activity,
    "monTableCompression": mon_table_compression,
    "sysobjects": sys_objects,
}
