"""Processes and what they do: activity, waits, locks; the pipes of their conflicts."""

from collections.abc import Iterator
from typing import Any

from ase_simulator.model.processes import FIRST_USER_KPID, Process, process_snapshot
from ase_simulator.model.sessions import FIRST_USER_SPID
from ase_simulator.model.world import World

Names = dict[str, Any]

_MAX_HOLDERS = 200
_IDLE = 250
_KPID = FIRST_USER_KPID - FIRST_USER_SPID
_SLEEPS = ("19", "57", "61", "179", "260")
_READS = ("logical_reads", "single_reads", "apf_reads", "pages_read", "physical_writes")
_TEXTS = {
    "SELECT": "select * from {} where id = 4711",
    "UPDATE": "update {} set quantity = 1 where id = 4711",
    "INSERT": "insert into {} (id) values (4711)",
}
_LOCK_TYPES = {
    ("exclusive", "TABLE"): 1,
    ("shared", "TABLE"): 2,
    ("exclusive intent", "TABLE"): 3,
    ("shared intent", "TABLE"): 4,
    ("exclusive", "ROW"): 8,
    ("shared", "ROW"): 9,
}


def users(world: World) -> Iterator[Names]:
    """Every process with its usage. number: transactions; own: is it a user of the workload."""
    for process in process_snapshot(world).processes:
        used = _used(world, process)
        yield {
            "process": process,
            "used": used,
            "number": used["transactions"],
            "own": process.user >= 0,
            "locks": _locks_held(process),
        }


def connections(world: World) -> Iterator[Names]:
    """The processes that came over the network, with their usage."""
    return (names for names in users(world) if names["process"].login)


def _used(world: World, process: Process) -> dict[str, float]:
    """Usage of a process since its login; over all users each column adds up to the server's."""
    used: dict[str, float] = dict.fromkeys(("transactions", "cpu_ms", "wait_ms", "rollbacks", *_READS), 0.0)
    client = world.sessions.clients.get(process.spid)
    if process.user >= 0:
        transactions, cpu, wait = world.counters.sessions[process.user].tolist()
        total = world.counters.flows["transaction"]
        share = transactions / total if total else 0.0
        used |= {"transactions": transactions, "cpu_ms": cpu * 1000, "wait_ms": wait * 1000}
        used |= {name: world.counters.flows[name] * share for name in _READS}
    elif client:
        waited = sum(seconds for event, (_, seconds) in client.state.waits.items() if event != _IDLE)
        used |= {"transactions": client.statements, "cpu_ms": client.cpu_ms, "logical_reads": client.rows}
        used |= {"wait_ms": waited * 1000, "rollbacks": client.state.rollbacks}
    return used


def _locks_held(process: Process) -> int:
    if process.client:
        return sum(not lock.requested for lock in process.client.state.locks)
    return 4 if process.user >= 0 and process.wait_event != _IDLE else 0


def process_waits(world: World) -> Iterator[Names]:
    """Waits of each client, then of each user by event, the events' shares those of the server."""
    flows = world.counters.flows
    total = flows["transaction"]
    for process in process_snapshot(world).processes:
        for number, (waits, waited) in process.client.state.waits.items() if process.client else ():
            yield {"process": process, "event": number, "waits": waits, "ms": int(waited * 1000)}
    kinds = [name.split()[1] for name in flows if name.startswith("waits ")]
    events = [
        (int(kind), flows[f"waits {kind}"], flows[f"wait seconds {kind}"])
        for kind in kinds
        if kind not in _SLEEPS
    ]
    for process in process_snapshot(world).users():
        share = world.counters.sessions[process.user][0] / total if total else 0.0
        for event, count, seconds in events:
            if count * share >= 1:
                waits, waited = world.int32(count * share), world.int32(seconds * share * 1000)
                yield {"process": process, "event": event, "waits": waits, "ms": waited}


def working(world: World) -> Iterator[Names]:
    """The users of the workload that now run a statement, and its text."""
    for process in process_snapshot(world).users():
        if process.wait_event != _IDLE and process.table:
            text = _TEXTS.get(process.command, "exec new_order 4711").format(process.table.object.name)
            yield {"process": process, "table": process.table, "text": text}


def texts(world: World) -> Iterator[Names]:
    """The statements of clients and of the workload's users."""
    for process in process_snapshot(world).processes:
        if process.client and process.client.state.sql:
            yield {"process": process, "text": process.client.state.sql}
    yield from working(world)


def executing(world: World) -> Iterator[Names]:
    """The users that now execute a procedure, with that procedure."""
    from ase_simulator.model.tables import TABLES

    plans = list(TABLES["monCachedProcedures"](world))
    for names in working(world):
        if names["process"].command == "EXECUTE" and plans:
            yield names | {"plan": plans[names["process"].user % len(plans)]}


def locks(world: World) -> Iterator[Names]:
    """Locks that users hold and blocked users request; each named blocker, even if idle, holds the requested row."""
    found = [names["process"] for names in working(world)]
    by_spid = {process.spid: process for process in process_snapshot(world).users()}
    wanted = [process for process in found if process.blocked_by]
    blocking = {process.blocked_by: process for process in wanted}
    holders = found[:_MAX_HOLDERS]
    for process in holders + [by_spid[spid] for spid in blocking if by_spid[spid] not in holders]:
        yield _lock(process, process, "Granted", "exclusive intent", "TABLE")
        if process.spid in blocking:
            yield _lock(process, blocking[process.spid], "Granted", "exclusive", "ROW")
    for process in wanted:
        yield _lock(process, process, "Requested", "exclusive", "ROW")
    for process in holders[:1]:
        held = _lock(process, process, "Granted", "exclusive", "ROW") | {"blocking": False}
        for number in range(world.workload.held_locks):
            yield held | {"page": 100_000 + number // 40, "row": number % 40}
    yield from _client_locks(world)


def _lock(process: Process, on: Process, state: str, kind: str, level: str) -> Names:
    assert on.table is not None
    blocker = on.blocked_by or on.spid
    place = (1000 + blocker % 5000, blocker % 40) if level == "ROW" else (None, None)
    return _located(process, kind, level, place) | {
        "database_id": on.table.database_id,
        "database": on.table.object.database,
        "object_id": on.table.object_id,
        "partition_id": on.table.partition_id(0),
        "requested": state == "Requested",
        "blocking": level == "ROW" and state == "Granted",
    }


def _located(process: Process, kind: str, level: str, place: tuple[int | None, int | None]) -> Names:
    """place: page and row."""
    page, row = place
    type_ = _LOCK_TYPES[kind, level]
    return {"process": process, "kind": kind, "level": level, "type": type_, "page": page, "row": row}


def _client_locks(world: World) -> Iterator[Names]:
    """Locks of the sessions of clients on the tables that clients created."""
    names = {number: name for name, number in world.inventory.databases.items()}
    for process in process_snapshot(world).processes:
        for lock in process.client.state.locks if process.client else ():
            place = (lock.row // 50 + 1, lock.row % 50) if lock.row else (None, None)
            yield _located(process, lock.kind, "ROW" if lock.row else "TABLE", place) | {
                "database_id": lock.database_id,
                "database": names.get(lock.database_id),
                "object_id": lock.object_id,
                "partition_id": lock.object_id,
                "requested": lock.requested,
                "blocking": lock.blocking,
            }


def deadlocks(world: World) -> Iterator[Names]:
    """Two rows for each deadlock: each of the two held what the other wanted."""
    for number, second, first, other in _conflicts(world, "deadlocks", "deadlock", 2):
        for held, waiting in ((first, other), (other, first)):
            yield _conflict(world, number, second, held, waiting) | {"victim_kpid": other + _KPID}


def lock_timeouts(world: World) -> Iterator[Names]:
    """Each lock wait that timed out."""
    for number, second, held, waiting in _conflicts(world, "lock_timeouts", "lock timeout", 1):
        yield _conflict(world, number, second, held, waiting)


def _conflicts(world: World, flow: str, pipe: str, rows: int) -> Iterator[tuple[int, float, int, int]]:
    """Number, second and the two spids of the latest events; rows: how many of its pipe each takes."""
    count = max(world.workload.users, 2)
    if world.inventory.tables:
        for number, second in world.events(flow, world.options.run(f"{pipe} pipe max messages") // rows):
            yield number, second, FIRST_USER_SPID + number % count, FIRST_USER_SPID + (number + 1) % count


def _conflict(world: World, number: int, second: float, held: int, waiting: int) -> Names:
    return {
        "number": number,
        "second": second,
        "table": world.inventory.tables[number % len(world.inventory.tables)],
        "held": held,
        "held_kpid": held + _KPID,
        "waiting": waiting,
        "waiting_kpid": waiting + _KPID,
    }
