"""Engines, threads, thread pools and what runs on them."""

from collections.abc import Callable, Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.counters import ENGINE_KINDS
from ase_simulator.model.world import World

ENGINE_POOL, BLOCKING_POOL, SYSTEM_POOL = 0, 1, 2
POOLS = {ENGINE_POOL: "syb_default_pool", BLOCKING_POOL: "syb_blocking_pool", SYSTEM_POOL: "syb_system_pool"}
BLOCKING_THREADS = 4
TICKS_PER_SECOND = 10

_FIRST_KTID = 65539
_OSPID = 4711
_POLLS_PER_IDLE_SECOND = 2000.0


def mon_engine(world: World) -> Iterator[Row]:
    """One row per engine online; CPUTime is the sum of the four kinds, in whole seconds each."""
    engines = world.counters.engines
    share = 1 / len(world.online)
    flows = world.counters.flows
    for number in world.online:
        user, system, io, idle = (int(engines[kind][number]) for kind in ENGINE_KINDS)
        polls = (engines["idle"][number] + engines["io"][number]) * _POLLS_PER_IDLE_SECOND
        yield {
            "EngineNumber": number,
            "CurrentKPID": _FIRST_KTID + number,
            "CPUTime": user + system + io + idle,
            "SystemCPUTime": system,
            "UserCPUTime": user,
            "IOCPUTime": io,
            "IdleCPUTime": idle,
            "ContextSwitches": world.int32(flows["switches"] * share),
            "Connections": world.workload.users // len(world.online),
            "Yields": world.int32(polls * 0.1),
            "DiskIOChecks": world.int32(polls),
            "DiskIOPolled": world.int32(polls * 0.5),
            "DiskIOCompleted": world.int32(flows["disk_ios"] * share),
            "HkgcReq": world.int32(flows["deletes"] * share),
            "StartTime": world.date(world.started),
            "ThreadID": number,
            "OSPID": _OSPID,
        }


def sys_engines(world: World) -> Iterator[Row]:
    """sysengines: one row per engine online."""
    for number in world.online:
        yield {
            "engine": number,
            "osprocid": _OSPID,
            "cur_kpid": _FIRST_KTID + number,
            "starttime": world.date(world.started),
        }


def _controllers(world: World) -> list[str]:
    disk, network = (max(world.options.run(f"number of {kind} tasks"), 1) for kind in ("disk", "network"))
    return ["DiskController"] * disk + ["NetController"] * network


def mon_thread(world: World) -> Iterator[Row]:
    """Engine threads, then the blocking pool's, then the signal handler's and the I/O controllers'."""
    uptime = world.seconds - world.started
    engines = world.counters.engines
    runs = world.counters.flows["switches"] / len(world.online)
    for number in world.online:
        yield _thread(
            number,
            ENGINE_POOL,
            uptime,
            float(engines["user"][number]),
            float(engines["system"][number]),
            runs,
        )
    first = max(world.online) + 1
    for index in range(BLOCKING_THREADS):
        yield _thread(first + index, BLOCKING_POOL, uptime, 0.0, 0.0, 0.0)
    first += BLOCKING_THREADS
    yield _thread(first, SYSTEM_POOL, uptime, 0.0, 0.0, 0.0)
    controllers = len(_controllers(world))
    used = world.counters.flows["controller_seconds"] / max(controllers, 1)
    for index in range(controllers):
        yield _thread(first + 1 + index, SYSTEM_POOL, uptime, used * 0.2, used * 0.8, used * 1e5)


def _thread(number: int, pool: int, uptime: float, user: float, system: float, runs: float) -> Row:
    total, busy = int(uptime * TICKS_PER_SECOND), int((user + system) * TICKS_PER_SECOND)
    idle = max(total - busy, 0)
    return {
        "ThreadPoolID": pool,
        "ThreadPoolName": POOLS[pool],
        "State": "Sleeping" if pool == BLOCKING_POOL else "Running",
        "ThreadID": number,
        "TaskRuns": int(runs),
        "TotalTicks": busy + idle,
        "IdleTicks": idle if pool == ENGINE_POOL else 0,
        "SleepTicks": 0 if pool == ENGINE_POOL else idle,
        "BusyTicks": busy,
        "UserTime": int(user * 1000),
        "SystemTime": int(system * 1000),
        "KTID": _FIRST_KTID + number,
        "OSThreadID": 140_000_000_000_000 + number,
        "AltOSThreadID": _OSPID + number,
        "MinorFaults": int(uptime * 0.01),
        "VoluntaryCtxtSwitches": int(max(uptime - user - system, 0.0) * 200),
        "NonVoluntaryCtxtSwitches": int((user + system) * 5),
    }


def mon_thread_pool(world: World) -> Iterator[Row]:
    """The three pools of a threaded kernel."""
    sizes = {
        ENGINE_POOL: len(world.online),
        BLOCKING_POOL: BLOCKING_THREADS,
        SYSTEM_POOL: 1 + len(_controllers(world)),
    }
    for pool, name in POOLS.items():
        yield {
            "ThreadPoolID": pool,
            "Size": sizes[pool],
            "TargetSize": sizes[pool],
            "Tasks": world.workload.users + 20 if pool == ENGINE_POOL else sizes[pool],
            "ThreadPoolName": name,
            "Type": "Engine (Multiplexed)" if pool == ENGINE_POOL else "Run To Completion",
            "IdleTimeout": 100 if pool == ENGINE_POOL else 0,
        }


def mon_task(world: World) -> Iterator[Row]:
    """What runs on each thread: KPIDs on engines, handlers in the system pool."""
    first = max(world.online) + 1 + BLOCKING_THREADS
    names = [
        *((number, ENGINE_POOL, f"KPID {_FIRST_KTID + number}") for number in world.online),
        (first, SYSTEM_POOL, "Signal Handler"),
        *((first + 1 + index, SYSTEM_POOL, name) for index, name in enumerate(_controllers(world))),
    ]
    for thread, pool, name in names:
        yield {
            "KTID": _FIRST_KTID + thread,
            "ThreadID": thread,
            "Name": name,
            "ThreadPoolID": pool,
            "ThreadPoolName": POOLS[pool],
        }


def mon_work_queue(world: World) -> Iterator[Row]:
    """The queues of blocking calls; WaitTime in milliseconds."""
    calls = (world.seconds - world.started) * 0.2
    for name, share in (("syb_blocking_pool", 1.0), ("syb_default_pool", 0.0)):
        yield {
            "MaxLength": 2 if share else 0,
            "TotalRequests": world.int32(calls * share),
            "QueuedRequests": world.int32(calls * share * 0.05),
            "WaitTime": world.int32(calls * share * 0.1),
            "Name": name,
        }


def mon_io_controller(world: World) -> Iterator[Row]:
    """CtlibController, then the disk and network controllers."""
    flows = world.counters.flows
    reads, writes = flows["physical_reads"], flows["physical_writes"]
    received, sent = flows["packets_received"], flows["packets_sent"]
    names = ["CtlibController", *_controllers(world)]
    for number, name in enumerate(names, start=1):
        share = 1 / names.count(name) if name != "CtlibController" else 0.0
        disk = name == "DiskController"
        ins, outs = (reads, writes) if disk else (received, sent)
        events = (ins + outs) * share
        yield {
            "ControllerID": number,
            "KTID": _FIRST_KTID + 500 + number,
            "BlockingPolls": int(events * 0.2),
            "NonBlockingPolls": int(events * 0.9),
            "EventPolls": int(events * 0.25),
            "NonBlockingEventPolls": int(events * 0.03),
            "Events": int(events),
            "EventHWM": 16 if events else 0,
            "Completed": int(events),
            "Reads": int(ins * share),
            "Writes": int(outs * share),
            "Type": name,
        }


_STATISTICS = (
    "percent CPU busy",
    "percent I/O busy",
    "outstanding disk I/Os",
    "disk I/Os per second",
    "run queue length",
    "kernel run queue length",
    "network I/Os per second",
)


def mon_sys_load(world: World) -> Iterator[Row]:
    """Seven statistics per engine; StatisticID 4 is the engine's run queue and 5 the kernel's."""
    rates = world.operation.engine_rates()
    flows = world.operation.flows
    share = 1 / len(world.online)
    for position, number in enumerate(world.online):
        busy = rates["user"][position] + rates["system"][position]
        values = (
            100 * busy,
            100 * rates["io"][position],
            flows["disk_ios"] * share * 0.002,
            flows["disk_ios"] * share,
            world.operation.point.run_queue * share,
            0.0,
            (flows["packets_sent"] + flows["packets_received"]) * share,
        )
        for statistic, (name, value) in enumerate(zip(_STATISTICS, values, strict=True)):
            level = float(value)
            row: Row = {
                "EngineNumber": number,
                "SteadyState": level,
                "Statistic": name,
                "Sample": level,
                "Peak": level,
                "Peak_Time": world.date(world.started),
                "StatisticID": statistic,
            }
            for minutes in (1, 5, 15):
                row[f"Avg_{minutes}min"] = row[f"Max_{minutes}min"] = level
                row[f"Max_{minutes}min_Time"] = world.date(world.started)
            yield row


def mon_sys_worker_thread(world: World) -> Iterator[Row]:
    """Worker threads: configured, and not used by these workloads."""
    total = world.options.run("number of worker processes")
    yield {
        "TotalWorkerThreads": total,
        "TotalWorkerMemory": total * world.options.run("memory per worker process"),
        "MaxParallelDegree": world.options.run("max parallel degree"),
        "MaxScanParallelDegree": world.options.run("max scan parallel degree"),
    }


def _of_threaded_kernel(rows: Callable[[World], Iterator[Row]]) -> Callable[[World], Iterator[Row]]:
    """The rows of a table that is empty in process mode."""
    return lambda world: rows(world) if world.options.threaded_kernel else iter(())


TABLES = {
    "monEngine": mon_engine,
    "sysengines": sys_engines,
    "monThread": _of_threaded_kernel(mon_thread),
    "monThreadPool": _of_threaded_kernel(mon_thread_pool),
    "monTask": _of_threaded_kernel(mon_task),
    "monWorkQueue": _of_threaded_kernel(mon_work_queue),
    "monIOController": _of_threaded_kernel(mon_io_controller),
    "monSysLoad": mon_sys_load,
    "monSysWorkerThread": mon_sys_worker_thread,
}
