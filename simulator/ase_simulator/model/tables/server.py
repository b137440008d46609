"""The server as a whole: engines, threads, waits, load, replication agents, its error log and scenario."""

from collections.abc import Iterator
from typing import Any

from ase_simulator.model.counters import ENGINE_KINDS
from ase_simulator.model.processes import lock_waits
from ase_simulator.model.world import World
from ase_simulator.schema.profiles import parse_level

Names = dict[str, Any]

ENGINE_POOL, BLOCKING_POOL, SYSTEM_POOL = 0, 1, 2
POOLS = {ENGINE_POOL: "syb_default_pool", BLOCKING_POOL: "syb_blocking_pool", SYSTEM_POOL: "syb_system_pool"}
BLOCKING_THREADS = 4
TICKS_PER_SECOND = 10

_FIRST_KTID = 65539
_FIRST_REP_AGENT_SPID = 900
_LOCK_WAIT_THRESHOLD = 5
_STATISTICS = (
    "percent CPU busy",
    "percent I/O busy",
    "outstanding disk I/Os",
    "disk I/Os per second",
    "run queue length",
    "kernel run queue length",
    "network I/Os per second",
)


def engines(world: World) -> Iterator[Names]:
    """Each engine online: seconds by kind, whole for an int column."""
    for number in world.online:
        seconds = {kind: world.counters.engines[kind][number] for kind in ENGINE_KINDS}
        if parse_level(world.version) < (15, 5):
            # Without the column IOCPUTime, an engine that waits for I/Os is idle.
            seconds |= {"idle": seconds["idle"] + seconds["io"], "io": 0.0}
        whole = {kind: int(value) for kind, value in seconds.items()}
        yield {"number": number, "seconds": seconds, "whole": whole, "ktid": _FIRST_KTID + number}


def _controllers(world: World) -> list[str]:
    disk, network = (max(world.options.run(f"number of {kind} tasks"), 1) for kind in ("disk", "network"))
    return ["DiskController"] * disk + ["NetController"] * network


def threads(world: World) -> Iterator[Names]:
    """Engine threads, then the blocking pool's, then the signal handler's and the I/O controllers'."""
    seconds = world.counters.engines
    runs = world.counters.flows["switches"] / len(world.online)
    for number in world.online:
        user, system = float(seconds["user"][number]), float(seconds["system"][number])
        yield _thread(world, number, ENGINE_POOL, user, system, runs)
    first = max(world.online) + 1
    for index in range(BLOCKING_THREADS):
        yield _thread(world, first + index, BLOCKING_POOL)
    first += BLOCKING_THREADS
    yield _thread(world, first, SYSTEM_POOL)
    controllers = len(_controllers(world))
    used = world.counters.flows["controller_seconds"] / max(controllers, 1)
    for index in range(controllers):
        yield _thread(world, first + 1 + index, SYSTEM_POOL, used * 0.2, used * 0.8, used * 1e5)


def _thread(
    world: World, number: int, pool: int, user: float = 0.0, system: float = 0.0, runs: float = 0.0
) -> Names:
    uptime = world.seconds - world.started
    busy = int((user + system) * TICKS_PER_SECOND)
    return {
        "number": number,
        "ktid": _FIRST_KTID + number,
        "pool": pool,
        "pool_name": POOLS[pool],
        "uptime": uptime,
        "user": user,
        "system": system,
        "runs": runs,
        "busy": busy,
        "idle": max(int(uptime * TICKS_PER_SECOND) - busy, 0),
    }


def thread_pools(world: World) -> Iterator[Names]:
    """The three pools of a threaded kernel."""
    sizes = (len(world.online), BLOCKING_THREADS, 1 + len(_controllers(world)))
    for (pool, name), size in zip(POOLS.items(), sizes, strict=True):
        yield {"pool": pool, "name": name, "size": size, "engines": pool == ENGINE_POOL}


def tasks(world: World) -> Iterator[Names]:
    """What runs on each thread: KPIDs on engines, handlers in the system pool."""
    for number in world.online:
        yield _task(number, ENGINE_POOL, f"KPID {_FIRST_KTID + number}")
    handlers = ["Signal Handler", *_controllers(world)]
    for number, name in enumerate(handlers, max(world.online) + 1 + BLOCKING_THREADS):
        yield _task(number, SYSTEM_POOL, name)


def _task(thread: int, pool: int, name: str) -> Names:
    ktid = _FIRST_KTID + thread
    return {"thread": thread, "ktid": ktid, "name": name, "pool": pool, "pool_name": POOLS[pool]}


def io_controllers(world: World) -> Iterator[Names]:
    """CtlibController, which does nothing, then the disk and network controllers with what went in and out."""
    flows = world.counters.flows
    names = ["CtlibController", *_controllers(world)]
    for number, name in enumerate(names, start=1):
        share = 1 / names.count(name) if name != "CtlibController" else 0.0
        kinds = ("packets_received", "packets_sent")
        if name == "DiskController":
            kinds = ("physical_reads", "physical_writes")
        ins, outs = (flows[kind] for kind in kinds)
        events = (ins + outs) * share
        yield {
            "number": number,
            "ktid": _FIRST_KTID + 500 + number,
            "name": name,
            "events": events,
            "ins": ins * share,
            "outs": outs * share,
        }


def loads(world: World) -> Iterator[Names]:
    """Seven statistics per engine; number 4 is the engine's run queue and 5 the kernel's."""
    rates, flows = world.operation.engine_rates, world.operation.flows
    share = 1 / len(world.online)
    for position, engine in enumerate(world.online):
        values = (
            100 * (rates["user"][position] + rates["system"][position]),
            100 * rates["io"][position],
            flows["disk_ios"] * share * 0.002,
            flows["disk_ios"] * share,
            world.operation.point.run_queue * share,
            0.0,
            (flows["packets_sent"] + flows["packets_received"]) * share,
        )
        for number, (name, value) in enumerate(zip(_STATISTICS, values, strict=True)):
            yield {"engine": engine, "number": number, "name": name, "level": float(value)}


def state(world: World) -> Iterator[Names]:
    """The server, with the number of processes that have waited for a lock for long."""
    yield {"threshold": _LOCK_WAIT_THRESHOLD, "lock_waits": lock_waits(world, _LOCK_WAIT_THRESHOLD)}


def rep_agents(world: World) -> Iterator[Names]:
    """The replication agent of each replicated database, and its part of the log records."""
    homes = world.inventory.own_databases
    for number, database in enumerate(homes, _FIRST_REP_AGENT_SPID):
        if database.replicated and database.name not in world.rep_agents_stopped:
            dbid = world.inventory.databases[database.name]
            yield {"spid": number, "number": dbid, "name": database.name, "share": 1 / len(homes)}


def spinlocks(world: World) -> Iterator[Names]:
    """Each spinlock; the slot numbers run through all spinlocks of the server."""
    counters = world.counters
    columns = (counters.grabs.tolist(), counters.spins.tolist(), counters.waits.tolist())
    for slot, (name, grabs, spins, waited) in enumerate(zip(counters.names, *columns, strict=True)):
        yield {"slot": slot, "name": name, "grabs": grabs, "spins": spins, "waits": waited}
