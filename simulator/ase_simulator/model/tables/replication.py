"""The replication agent of each replicated database, while `enable rep agent threads` is on."""

from collections.abc import Callable, Iterable, Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.world import World

_FIRST_SPID = 900
_RECORD_BYTES = 180


def _agents(world: World) -> Iterator[tuple[Row, float]]:
    """Ids of each agent and its part of the log records."""
    if not world.options.run("enable rep agent threads"):
        return
    homes = world.inventory.own_databases
    for number, database in enumerate(homes):
        if database.replicated and database.name not in world.rep_agents_stopped:
            spid = _FIRST_SPID + number
            yield (
                {"InstanceID": 0, "DBID": world.inventory.databases[database.name], "SPID": spid},
                1 / len(homes),
            )


def mon_rep_log_activity(world: World) -> Iterator[Row]:
    """Log records that the agents scanned."""
    flows = world.counters.flows
    for ids, share in _agents(world):
        count = {name: int(value * share) for name, value in flows.items()}
        yield ids | {
            "LogRecordsScanned": count["log_records"],
            "LogRecordsProcessed": int(flows["log_records"] * share * 0.8),
            "NumberOfScans": count["log_writes"],
            "TotalTimeForLogScans": int(flows["log_records"] * share * 0.002),
            "Updates": count["updates"],
            "Inserts": count["inserts"],
            "Deletes": count["deletes"],
            "CLRs": count["rollbacks"],
            "Checkpoints": int((world.seconds - world.started) / 60),
            "BeginTransaction": count["transaction"],
            "CommitTransaction": int((flows["transaction"] - flows["rollbacks"]) * share),
            "AbortedTransaction": count["rollbacks"],
            "NumberOfLogExtentions": count["waits 54"],
            "NumberOfSchemasReused": count["inserts"],
            "NumberOfMempoolAllocates": count["log_records"],
            "NumberOfMempoolFrees": count["log_records"],
        }


def mon_rep_scanners(world: World) -> Iterator[Row]:
    """The scanner task of each agent."""
    flows = world.counters.flows
    for ids, share in _agents(world):
        yield ids | {
            "ScannerSPID": ids["SPID"],
            "LogRecordsScanned": int(flows["log_records"] * share),
            "LogRecordsProcessed": int(flows["log_records"] * share * 0.8),
            "NumberOfTruncPointRequested": world.int32(flows["transaction"] * share / 1000),
            "NumberOfTruncPointMoved": world.int32(flows["transaction"] * share / 1000),
        }


def mon_rep_senders(world: World) -> Iterator[Row]:
    """The sender task of each agent."""
    flows = world.counters.flows
    for ids, share in _agents(world):
        commands = flows["log_records"] * share * 0.8
        yield ids | {
            "SenderSPID": ids["SPID"],
            "NumberOfBytesSent": int(commands * _RECORD_BYTES),
            "SleepsOnEmptyQueue": world.int32(flows["log_writes"] * share),
            "NumberOfQueueFlushes": world.int32(commands / 50),
            "SleepTimeOnEmptyQueue": int(flows["log_writes"] * share * 3),
            "NumberOfCmdsProcessed": int(commands),
        }


def mon_rep_scanners_total_time(world: World) -> Iterator[Row]:
    """Where the scanners' time went, in milliseconds."""
    flows = world.counters.flows
    for ids, share in _agents(world):
        records = flows["log_records"] * share
        yield ids | {
            "LogRecProcessed": int(records * 0.8),
            "BytesPacked": int(records * _RECORD_BYTES),
            "TotalTime": int(records * 0.01),
            "ScanTime": int(records * 0.002),
            "ProcessTime": int(records * 0.005),
            "SchemaLookupsTime": int(records * 0.0005),
            "PackTime": int(records * 0.002),
            "QueueingTime": int(records * 0.0005),
            "WaitsOnSenderThread": world.int32(records / 200),
            "WaitTimeOnSenderThread": int(records / 100),
        }


def mon_rep_truncation_point(world: World) -> Iterator[Row]:
    """The task that moves the truncation point."""
    flows = world.counters.flows
    names = {number: name for name, number in world.inventory.databases.items()}
    for ids, share in _agents(world):
        moved = int(flows["transaction"] * share / 1000)
        yield ids | {
            "TruncpointsProcessed": moved,
            "TotalProcessingTime": moved * 2,
            "IdleTime": int((world.seconds - world.started) * 900),
            "NumberOfWakeups": moved,
            "TruncpointsRequested": moved,
            "TruncpointsConfirmed": moved,
            "DBName": names[int(str(ids["DBID"]))],
        }


def mon_rep_memory_statistics(world: World) -> Iterator[Row]:
    """Memory of each agent, in bytes."""
    flows = world.counters.flows
    pool = world.options.run("replication agent memory size") * 2048
    names = {number: name for name, number in world.inventory.databases.items()}
    for ids, share in _agents(world):
        allocated = int(flows["log_records"] * share)
        yield ids | {
            "AllocatedMemory": pool // 20,
            "NumberOfAllocs": allocated,
            "NumberOfFrees": allocated,
            "MemoryPoolConfiguredSize": pool,
            "MemoryPoolUsageSize": pool // 20,
            "MemoryPoolFreeSize": pool - pool // 20,
            "DBName": names[int(str(ids["DBID"]))],
        }


TABLES: dict[str, Callable[[World], Iterable[Row]]] = {
    "monRepLogActivity": mon_rep_log_activity,
    "monRepScanners": mon_rep_scanners,
    "monRepSenders": mon_rep_senders,
    "monRepScannersTotalTime": mon_rep_scanners_total_time,
    "monRepTruncationPoint": mon_rep_truncation_point,
    "monRepMemoryStatistics": mon_rep_memory_statistics,
}
