"""Dashboard of the opt-in details of one server: objects, statements, procedures, processes, engines, devices."""

from dashboards import common
from dashboards.layout import dashboard
from dashboards.panels import Panel, Row, TimeSeries
from dashboards.queries import Query, rate


def _top(
    title: str,
    description: str,
    collector: str,
    expr: str,
    legend: str,
    *,
    unit: str = "count:/s",
    empty: str = "",
    width: int = 8,
) -> TimeSeries:
    """Return a graph of the ten largest series of an opt-in collector."""
    return TimeSeries(
        title=title,
        description=f"{description} (collector {collector}).",
        unit=unit,
        queries=[Query(f"topk(10, {expr})", legend)],
        empty=f"Not collected (yet): the collector {collector} is opt-in; set it to true in the module{empty}",
        width=width,
    )


def _per(counter: str, uses: str) -> str:
    return f"{rate(counter)} / ({rate(uses)} > 0)"


OBJECT = "{{database}} {{object}} {{index}}"
PARTITION = OBJECT + " {{partition}}"
PROCEDURE = "{{database}} {{procedure}}"
STATEMENT = "{{database}} {{statement}}"
PROCESS = "{{spid}} {{login}} {{application}}"
SEGMENT = "{{database}} {{segment}} device {{device_number}}"

PANELS: list[Panel] = [
    Row("Tables and indexes"),
    _top(
        "Logical reads by object",
        "Buffers read from cache. The objects that take the cache's spinlock most often. Source: "
        "monOpenObjectActivity.LogicalReads",
        "objects",
        rate("ase_object_logical_reads_total"),
        OBJECT,
    ),
    _top(
        "Reads from disk by object",
        "Buffers read from disk, those of prefetch included. Source: monOpenObjectActivity.PhysicalReads",
        "objects",
        rate("ase_object_physical_reads_total"),
        OBJECT,
    ),
    _top(
        "Writes to disk by object",
        "Buffers written to disk. Source: monOpenObjectActivity.PhysicalWrites",
        "objects",
        rate("ase_object_physical_writes_total"),
        OBJECT,
    ),
    _top(
        "Rows changed by object",
        "Rows inserted, updated and deleted. Source: monOpenObjectActivity.RowsInserted, RowsUpdated, "
        "RowsDeleted",
        "objects",
        f"sum by (database, object, index, operation) ({rate('ase_object_rows_total')})",
        OBJECT + " {{operation}}",
    ),
    _top(
        "Lock waits by object (good: none)",
        "Share of lock requests that waited. Source: monOpenObjectActivity.LockWaits, LockRequests",
        "objects",
        _per("ase_object_lock_waits_total", "ase_object_lock_requests_total"),
        OBJECT,
        unit="percentunit",
    ),
    _top(
        "Time waited for locks by object (good: 0)",
        "Seconds waited per second. Source: monOpenObjectActivity.SharedLockWaitTime and its kin",
        "objects",
        f"sum by (database, object, index) ({rate('ase_object_lock_wait_seconds_total')})",
        OBJECT,
        unit="short",
    ),
    _top(
        "Memory of objects in caches",
        "Memory of each object in its cache: what to bind to a cache of its own. Source: "
        "monCachedObject.CachedKB",
        "cached_objects",
        "ase_cached_object_bytes{$selector}",
        "{{cache}} " + OBJECT,
        unit="bytes",
    ),
    _top(
        "Logical reads by partition",
        "Buffers read from cache. Source: monOpenPartitionActivity.LogicalReads",
        "partitions",
        rate("ase_partition_logical_reads_total"),
        PARTITION,
    ),
    _top(
        "Compressed rows by table and operation",
        "Rows compressed and decompressed. Source: monTableCompression",
        "compression",
        f"sum by (database, table, operation) ({rate('ase_compression_rows_total')})",
        "{{database}} {{table}} {{operation}}",
    ),
    Row("Statements and procedures"),
    _top(
        "CPU by cached statement",
        "CPU seconds per second; the statement is known by its hash, never by its text. Source: "
        "monCachedStatement.TotalCpuTime",
        "cached_statements",
        rate("ase_statement_cpu_seconds_total"),
        STATEMENT,
        unit="short",
    ),
    _top(
        "Time per execution of statements",
        "Elapsed time of an execution. Source: monCachedStatement.TotalElapsedTime, UseCount",
        "cached_statements",
        _per("ase_statement_seconds_total", "ase_statement_uses_total"),
        STATEMENT,
        unit="s",
    ),
    _top(
        "Logical reads per execution of statements",
        "Buffers read from cache per execution; a rise: the plan changed. Source: "
        "monCachedStatement.TotalLIO, UseCount",
        "cached_statements",
        _per("ase_statement_logical_reads_total", "ase_statement_uses_total"),
        STATEMENT,
        unit="short",
    ),
    _top(
        "Sorts that went to disk (good: none)",
        "Sorts that did not fit into memory. Source: monCachedStatement.SortSpilledCount",
        "cached_statements",
        rate("ase_statement_spilled_sorts_total"),
        STATEMENT,
    ),
    _top(
        "Lock waits by statement (good: 0)",
        "Times that a statement waited for a lock. Source: monCachedStatement.LockWaits",
        "cached_statements",
        rate("ase_statement_lock_waits_total"),
        STATEMENT,
    ),
    _top(
        "CPU by procedure",
        "CPU seconds per second. Source: monCachedProcedures.CPUTime",
        "cached_procedures",
        rate("ase_procedure_cpu_seconds_total"),
        PROCEDURE,
        unit="short",
    ),
    _top(
        "Time per execution of procedures",
        "Elapsed time of an execution. Source: monCachedProcedures.ExecutionTime, ExecutionCount",
        "cached_procedures",
        _per("ase_procedure_seconds_total", "ase_procedure_executions_total"),
        PROCEDURE,
        unit="s",
    ),
    _top(
        "Logical reads by procedure",
        "Buffers read from cache. Source: monCachedProcedures.LogicalReads",
        "cached_procedures",
        rate("ase_procedure_logical_reads_total"),
        PROCEDURE,
    ),
    _top(
        "Memory of plans by procedure",
        "Memory of all its plans in the procedure cache. Source: monCachedProcedures.MemUsageKB",
        "cached_procedures",
        "ase_procedure_memory_bytes{$selector}",
        PROCEDURE,
        unit="bytes",
    ),
    Row("Processes"),
    _top(
        "CPU by process",
        "CPU seconds per second. Source: monProcessActivity.CPUTime",
        "process_activity",
        rate("ase_process_cpu_seconds_total"),
        PROCESS,
        unit="short",
    ),
    _top(
        "Logical reads by process",
        "Buffers read from cache. Source: monProcessActivity.LogicalReads",
        "process_activity",
        rate("ase_process_logical_reads_total"),
        PROCESS,
    ),
    _top(
        "Locks held by process",
        "Locks held now. Source: monProcessActivity.LocksHeld",
        "process_activity",
        "ase_process_locks{$selector}",
        PROCESS,
        unit="none",
    ),
    _top(
        "Time waited by process",
        "Seconds waited per second, client waits included. Source: monProcessActivity.WaitTime",
        "process_activity",
        rate("ase_process_wait_seconds_total"),
        PROCESS,
        unit="short",
    ),
    _top(
        "Time waited by process and event",
        "Seconds waited per second. Source: monProcessWaits.WaitTime",
        "process_waits",
        rate("ase_process_event_wait_seconds_total"),
        "{{spid}} {{event}}",
        unit="short",
    ),
    _top(
        "Memory by process",
        "Memory of each process. Source: monProcessActivity.MemUsageKB",
        "process_activity",
        "ase_process_memory_bytes{$selector}",
        PROCESS,
        unit="bytes",
    ),
    _top(
        "Waits for locks that timed out (good: 0)",
        "By database and kind of lock. Source: monLockTimeout",
        "lock_timeouts",
        f"sum by (database, lock) ({rate('ase_lock_timeouts_total')})",
        "{{database}} {{lock}}",
        empty="; or none timed out",
        width=12,
    ),
    _top(
        "Lock waits in deadlocks (good: 0)",
        "By database and object. Source: monDeadLock",
        "deadlock_pipe",
        f"sum by (database, object) ({rate('ase_deadlock_waits_total')})",
        "{{database}} {{object}}",
        empty="; or there was no deadlock",
        width=12,
    ),
    Row("Devices, engines, threads, memory"),
    _top(
        "Time per I/O by device, use (good: < 30 ms)",
        "Slow log writes slow down every commit. Source: monIOQueue.IOTime, IOs",
        "io_queue_devices",
        _per("ase_device_queue_seconds_total", "ase_device_queue_ios_total"),
        "{{device}} {{io}}",
        unit="s",
    ),
    _top(
        "Reads from disk by segment",
        "Buffers read from disk. Source: monDeviceSegmentIO.PhysicalReads",
        "device_segments",
        rate("ase_device_segment_physical_reads_total"),
        SEGMENT,
    ),
    _top(
        "Space used by segment",
        "Space in use on each device. Source: monDeviceSegmentUsage.PagesUsed",
        "device_segment_usage",
        "ase_device_segment_used_bytes{$selector}",
        SEGMENT,
        unit="bytes",
    ),
    _top(
        "Connections by engine (good: spread evenly)",
        "Connections that each engine handles. Source: monEngine.Connections",
        "engine_details",
        "ase_engine_connections{$selector}",
        "engine {{engine}}",
        unit="none",
    ),
    _top(
        "Task switches by engine",
        "Task switches of the busiest engines. Source: monEngine.ContextSwitches",
        "engine_details",
        rate("ase_engine_context_switches_total"),
        "engine {{engine}}",
    ),
    _top(
        "Involuntary switches by thread (good: near 0)",
        "Times that the operating system preempted the thread. Source: monThread.NonVoluntaryCtxtSwitches",
        "thread_details",
        rate("ase_thread_context_switches_total", ',cause!="voluntary"'),
        "{{pool}} {{thread}}",
    ),
    _top(
        "Memory pools: used (good: steady)",
        "Memory of the pools in use. A pool that only grows is a leak. Source: monMemoryUsage.UsedSize",
        "memory_pools",
        "ase_memory_pool_used_bytes{$selector}",
        "{{pool}}",
        unit="bytes",
    ),
    _top(
        "Memory pools: allocations",
        "Allocations of the busiest pools. Source: monMemoryUsage.NumAllocs",
        "memory_pools",
        rate("ase_memory_pool_allocations_total"),
        "{{pool}}",
    ),
    _top(
        "Memory pools: waits (good: 0)",
        "Allocations that had to wait. Source: monMemoryUsage.NumSleeps",
        "memory_pools",
        rate("ase_memory_pool_sleeps_total"),
        "{{pool}}",
    ),
    common.not_collected(
        "memory_pools|objects|cached_.*|partitions|compression|process_.*|lock_timeouts|deadlock_pipe|io_queue_devices"
        "|device_segment.*|engine_details|thread_details"
    ),
]

DETAILS = dashboard(
    uid="ase-details",
    title="ASE details (opt-in)",
    description="Objects, statements, procedures and processes of one server, from the collectors that are off by "
    "default.",
    panels=PANELS,
    one_server=True,
)
