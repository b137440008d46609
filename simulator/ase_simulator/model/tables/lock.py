"""Locks held and requested, deadlocks and lock timeouts."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.processes import FIRST_USER_KPID, Process, process_snapshot
from ase_simulator.model.sessions import FIRST_USER_SPID
from ase_simulator.model.world import World

_MAX_HOLDERS = 200


def mon_locks(world: World) -> Iterator[Row]:
    """Locks that working users hold and blocked users request; each named blocker holds the requested row."""
    found = [
        process for process in process_snapshot(world).users() if process.table and process.wait_event != 250
    ]
    by_spid = {process.spid: process for process in found}
    wanted = [process for process in found if process.blocked_by]
    blocking = {process.blocked_by: process for process in wanted}
    number = 0
    for process in found[:_MAX_HOLDERS] + [
        by_spid[s] for s in blocking if by_spid[s] not in found[:_MAX_HOLDERS]
    ]:
        number += 1
        yield _lock(world, process, process, number, "Granted", "exclusive intent", "TABLE")
        if process.spid in blocking:
            number += 1
            yield _lock(world, process, blocking[process.spid], number, "Granted", "exclusive", "ROW")
    for process in wanted:
        number += 1
        yield _lock(world, process, process, number, "Requested", "exclusive", "ROW")
    yield from _client_locks(world)


def _client_locks(world: World) -> Iterator[Row]:
    """Locks of the sessions of clients on the tables that clients created."""
    names = {number: name for name, number in world.inventory.databases.items()}
    for process in process_snapshot(world).processes:
        for lock in process.client.state.locks if process.client else ():
            yield {
                "InstanceID": 0,
                "SPID": process.spid,
                "KPID": process.kpid,
                "DBID": lock.database_id,
                "ParentSPID": 0,
                "LockID": process.spid * 2,
                "Context": 0,
                "ObjectID": lock.object_id,
                "LockState": "Requested" if lock.requested else "Granted",
                "LockType": lock.kind,
                "LockLevel": "ROW" if lock.row else "TABLE",
                "WaitTime": process.waiting_s if lock.requested else None,
                "PageNumber": lock.row // 50 + 1 if lock.row else None,
                "RowNumber": lock.row % 50 if lock.row else None,
                "BlockedState": "Blocked" if lock.requested else "Blocking" if lock.blocking else "",
                "BlockedBy": process.blocked_by * 2 if lock.requested else None,
                "SourceCodeID": "",
                "DBName": names.get(lock.database_id),
                "PartitionID": lock.object_id,
            }


def _lock(world: World, process: Process, on: Process, number: int, state: str, kind: str, level: str) -> Row:
    assert on.table is not None
    requested = state == "Requested"
    row = level == "ROW"
    blocker = on.blocked_by or on.spid
    return {
        "InstanceID": 0,
        "SPID": process.spid,
        "KPID": process.kpid,
        "DBID": on.table.database_id,
        "ParentSPID": 0,
        "LockID": process.spid * 2,
        "Context": 0,
        "ObjectID": on.table.object_id,
        "LockState": state,
        "LockType": kind,
        "LockLevel": level,
        "WaitTime": process.waiting_s if requested else None,
        "PageNumber": 1000 + blocker % 5000 if row else None,
        "RowNumber": blocker % 40 if row else None,
        "BlockedState": "Blocked" if requested else "Blocking" if row else "",
        "BlockedBy": process.blocked_by * 2 if requested else None,
        "SourceCodeID": "",
        "DBName": on.table.object.database,
        "PartitionID": on.table.partition_id(0),
    }


def sys_locks(world: World) -> Iterator[Row]:
    """syslocks: the same locks with the numeric types of that table."""
    types = {
        ("exclusive", "TABLE"): 1,
        ("shared", "TABLE"): 2,
        ("exclusive intent", "TABLE"): 3,
        ("shared intent", "TABLE"): 4,
        ("exclusive", "ROW"): 8,
        ("shared", "ROW"): 9,
    }
    for lock in mon_locks(world):
        kind = types[str(lock["LockType"]), str(lock["LockLevel"])]
        yield {
            "id": lock["ObjectID"],
            "dbid": lock["DBID"],
            "page": lock["PageNumber"] or 0,
            "type": kind
            + (256 if lock["BlockedState"] == "Blocking" else 0)
            + (1024 if lock["LockState"] == "Requested" else 0),
            "spid": lock["SPID"],
            "row": lock["RowNumber"] or 0,
            "loid": lock["LockID"],
            "partitionid": lock["PartitionID"],
        }


def mon_dead_lock(world: World) -> Iterator[Row]:
    """Two rows per deadlock: each of the two held what the other wanted."""
    users = max(world.workload.users, 2)
    if not world.inventory.tables:
        return
    kept = world.options.run("deadlock pipe max messages") // 2
    for number, second in world.events("deadlocks", kept):
        table = world.inventory.tables[number % len(world.inventory.tables)]
        first = FIRST_USER_SPID + number % users
        other = FIRST_USER_SPID + (number + 1) % users
        for held, waiting in ((first, other), (other, first)):
            yield {
                "DeadlockID": number,
                "VictimKPID": FIRST_USER_KPID + other - FIRST_USER_SPID,
                "ResolveTime": world.date(second),
                "ObjectDBID": table.database_id,
                "PageNumber": 1000 + number % 5000,
                "RowNumber": number % 40,
                "HeldFamilyID": held,
                "HeldSPID": held,
                "HeldKPID": FIRST_USER_KPID + held - FIRST_USER_SPID,
                "HeldBatchID": number,
                "WaitFamilyID": waiting,
                "WaitSPID": waiting,
                "WaitKPID": FIRST_USER_KPID + waiting - FIRST_USER_SPID,
                "ObjectName": table.object.name,
                "HeldUserName": world.workload.login,
                "HeldApplName": world.workload.program,
                "WaitUserName": world.workload.login,
                "ObjectID": table.object_id,
                "WaitBatchID": number,
                "ObjectDBName": table.object.database,
                "WaitApplName": world.workload.program,
            }


def mon_lock_timeout(world: World) -> Iterator[Row]:
    """One row per lock wait that timed out."""
    users = max(world.workload.users, 2)
    if not world.inventory.tables:
        return
    kept = world.options.run("lock timeout pipe max messages")
    for number, second in world.events("lock_timeouts", kept):
        table = world.inventory.tables[number % len(world.inventory.tables)]
        held, waiting = number % users, (number + 1) % users
        yield {
            "ObjectID": table.object_id,
            "DBID": table.database_id,
            "PageNumber": 1000 + number % 5000,
            "RowNumber": number % 40,
            "ExpiredAtTime": world.date(second),
            "HeldSPID": FIRST_USER_SPID + held,
            "HeldKPID": FIRST_USER_KPID + held,
            "WaitSPID": FIRST_USER_SPID + waiting,
            "WaitKPID": FIRST_USER_KPID + waiting,
        }


TABLES = {
    "monLocks": mon_locks,
    "syslocks": sys_locks,
    "monDeadLock": mon_dead_lock,
    "monLockTimeout": mon_lock_timeout,
}
