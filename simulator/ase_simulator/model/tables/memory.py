"""Procedure cache, statement cache and memory pools."""

from collections.abc import Iterator
from zlib import crc32

from ase_simulator.contracts import Row
from ase_simulator.model.world import World

_MODULES = (
    (1, "Parser", "Parser memory", 0.03),
    (2, "Utilities", "Utility memory", 0.01),
    (5, "Procedural Objects", "Plans of procedures", 0.35),
    (7, "Optimization", "Optimizer memory", 0.05),
    (11, "Execution", "Execution memory", 0.08),
    (23, "Metadata", "Column and index metadata", 0.10),
    (31, "Statement cache", "Statement cache plans", 0.20),
)
_POOLS = (
    "Procedure Object",
    "Kernel Resource",
    "Network Memory",
    "Block Heap Pool",
    "Compression Pool",
)
_STATEMENT_KB = 40
_STATEMENTS = (
    "select bid, ask from instruments where id = @@@V0_INT",
    "update positions set quantity = quantity + @@@V0_INT where account = @@@V1_INT",
    "insert into trades values (@@@V0_INT, @@@V1_INT, @@@V2_NUMERIC)",
    "select * from orders where account = @@@V0_INT and state = @@@V1_VCHAR1",
    "delete from orders where id = @@@V0_INT",
    "select sum(quantity) from positions where account = @@@V0_INT",
)
_PROCEDURES = ("new_order", "fill_order", "settle", "quote", "position_report")


def mon_procedure_cache(world: World) -> Iterator[Row]:
    """One row for the server."""
    yield {}


def _active_pages(world: World, share: float) -> int:
    return int(world.options.run("procedure cache size") * share * 0.6)


def mon_procedure_cache_module_usage(world: World) -> Iterator[Row]:
    """Active and high-water pages of 2 KB by module."""
    for number, name, _, share in _MODULES:
        yield {
            "ModuleID": number,
            "Active": _active_pages(world, share),
            "HWM": int(_active_pages(world, share) * 1.2),
            "NumPagesReused": world.int32(world.counters.flows["compiles"] * share),
            "ModuleName": name,
        }


def mon_procedure_cache_memory_usage(world: World) -> Iterator[Row]:
    """The same by allocator; here each module has one."""
    for number, _, name, share in _MODULES:
        yield {
            "AllocatorID": number * 10,
            "ModuleID": number,
            "Active": _active_pages(world, share),
            "HWM": int(_active_pages(world, share) * 1.2),
            "NumReuseCaused": world.int32(world.counters.flows["compiles"] * share),
            "AllocatorName": name,
        }


def mon_proc_elc(world: World) -> Iterator[Row]:
    """Engine local caches of procedure cache pages, one chunk size per engine."""
    allocations = world.counters.flows["compiles"] / len(world.online)
    for number in world.online:
        yield {
            "EngineID": number,
            "ProcELCAllocs": world.int32(allocations),
            "ProcELCFrees": world.int32(allocations),
        }


def _statement_cache_kb(world: World) -> int:
    return world.options.run("statement cache size") * 2


def mon_statement_cache(world: World) -> Iterator[Row]:
    """One row for the server; no searches if the cache has no memory."""
    size = _statement_cache_kb(world)
    flows = world.counters.flows
    searches = flows["cached_statements"] if size else 0.0
    inserts = min(flows["compiles"], searches)
    held = min(int(inserts), size // _STATEMENT_KB)
    yield {
        "TotalSizeKB": size,
        "UsedSizeKB": held * _STATEMENT_KB,
        "NumStatements": held,
        "NumSearches": world.int32(searches),
        "HitCount": world.int32(searches - inserts),
        "NumInserts": world.int32(inserts),
        "NumRemovals": world.int32(max(inserts - size / _STATEMENT_KB, 0.0)),
        "NumRecompilesPlanFlushes": world.int32(inserts * 0.01),
        "ProcedureCacheSizeKB": world.options.run("procedure cache size") * 2,
    }


def mon_cached_statement(world: World) -> Iterator[Row]:
    """The busiest statements, most used first; SQLText is not a column of ASE but the answer of show_cached_text."""
    if not _statement_cache_kb(world):
        return
    flows = world.counters.flows
    total = sum(1 / rank for rank in range(1, len(_STATEMENTS) + 1))
    per_statement_ms = world.workload.cpu_ms / max(world.workload.drivers()["statements"], 1.0)
    home = world.inventory.own_databases
    database = home[0].name if home else "master"
    for rank, text in enumerate(_STATEMENTS, start=1):
        uses = flows["cached_statements"] / rank / total
        reads = world.workload.drivers()["logical_reads"] / max(world.workload.drivers()["statements"], 1.0)
        cpu = uses * per_statement_ms
        yield {
            "SSQLID": 1_000_000_000 + rank,
            "Hashkey": crc32(text.encode()) - 2**31,
            "DBID": world.inventory.databases[database],
            "UseCount": world.int32(uses),
            "StatementSize": len(text),
            "MaxPlanSizeKB": _STATEMENT_KB,
            "MetricsCount": world.int32(uses),
            "MaxLIO": int(reads * 4) + 1,
            "AvgLIO": int(reads),
            "MaxCpuTime": int(per_statement_ms * 5) + 1,
            "AvgCpuTime": int(per_statement_ms),
            "MaxElapsedTime": int(per_statement_ms * 20) + 1,
            "AvgElapsedTime": int(per_statement_ms * 2),
            "TotalLIO": int(uses * reads),
            "TotalCpuTime": int(cpu),
            "TotalElapsedTime": int(cpu * 2),
            "DBName": database,
            "CachedDate": world.date(world.started),
            "LastUsedDate": world.date(world.seconds),
            "SQLText": text,
        }


def mon_cached_procedures(world: World) -> Iterator[Row]:
    """The workload's procedures, most used first."""
    home = world.inventory.own_databases
    if not home or not world.workload.users:
        return
    flows = world.counters.flows
    total = sum(1 / rank for rank in range(1, len(_PROCEDURES) + 1))
    busy = sum(float(world.counters.engines[kind].sum()) for kind in ("user", "system"))
    for rank, name in enumerate(_PROCEDURES, start=1):
        share = 1 / rank / total
        yield {
            "InstanceID": 0,
            "ObjectID": 500_000_000 + crc32(name.encode()) % 1_000_000_000,
            "OwnerUID": 1,
            "DBID": world.inventory.databases[home[0].name],
            "PlanID": 100 + rank,
            "MemUsageKB": 60 + 8 * rank,
            "CompileDate": world.date(world.started),
            "ObjectName": name,
            "ObjectType": "stored procedure",
            "OwnerName": "dbo",
            "DBName": home[0].name,
            "RequestCnt": world.int32(flows["procedures"] * share),
            "TempdbRemapCnt": 0,
            "AvgTempdbRemapTime": 0,
            "ExecutionCount": world.int32(flows["procedures"] * share),
            "CPUTime": world.int32(busy * share * 0.5 * 1000),
            "ExecutionTime": world.int32(busy * share * 0.9 * 1000),
            "PhysicalReads": world.int32(flows["physical_reads"] * share * 0.5),
            "LogicalReads": world.int32(flows["logical_reads"] * share * 0.5),
            "PhysicalWrites": 0,
            "PagesWritten": 0,
            "Active": "Yes" if rank == 1 else "No",
            "SnapCodegenTime": 0,
            "SnapJITTime": 0,
            "SnapExecutionTime": 0,
            "SnapExecutionCount": 0,
        }


def mon_memory_usage(world: World) -> Iterator[Row]:
    """Allocations and frees by memory pool."""
    for rank, name in enumerate(_POOLS, start=1):
        allocations = world.counters.flows["procedures"] / (rank * 10)
        yield {
            "MemoryPoolName": name,
            "NumAllocs": world.int32(allocations),
            "NumFrees": world.int32(allocations),
            "NumSearches": world.int32(allocations),
        }


TABLES = {
    "monProcedureCache": mon_procedure_cache,
    "monProcedureCacheModuleUsage": mon_procedure_cache_module_usage,
    "monProcedureCacheMemoryUsage": mon_procedure_cache_memory_usage,
    "monProcELC": mon_proc_elc,
    "monStatementCache": mon_statement_cache,
    "monCachedStatement": mon_cached_statement,
    "monCachedProcedures": mon_cached_procedures,
    "monMemoryUsage": mon_memory_usage,
}
