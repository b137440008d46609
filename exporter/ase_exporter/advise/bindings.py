"""Caches of their own for the tables that contend most, and the SQL that binds these tables.

Sources: SAP's reference manual, sp_bindcache (run in the database of the object; system tables need single-user
mode; an exclusive table lock; pages in memory are cleared) and sp_cacheconfig; System Administration Guide 2,
"Configuring Data Caches" (1 to 64 partitions, powers of two; minimum sizes).
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from ase_exporter.advise.evidence import CachedObject, DataCache, Evidence
from ase_exporter.advise.remedies import AdviceStep, PartitionLimits

SYSTEM_CACHE = "system tables cache"
KEY_CACHE = "key tables cache"
# System tables get a separate cache if they take at least this share of the reads.
SYSTEM_SHARE = 0.05
# Key tables are moved until this share of the remaining reads has moved.
KEY_SHARE = 0.8
# Size of a new cache in relation to what its objects hold in memory now.
CACHE_HEADROOM = 1.25
MIN_CACHE_MB = 64
# More than one partition for two engines gains little: pages of hot objects still share a partition.
ENGINES_PER_PARTITION = 2

# Their system tables cannot be bound (master), lose the binding (temporary databases), or are needed by every
# session, so that single-user mode would stop the server's work.
_SYSTEM_DATABASES = frozenset(
    {"master", "model", "tempdb", "sybsystemdb", "sybsystemprocs", "sybsecurity", "sybmgmtdb", "dbccdb"}
)
_LOCKS = (
    "sp_bindcache waits for an exclusive table lock, which blocks all users of the table meanwhile, and fails while a"
    " cursor or a read at isolation level 0 is open on it"
)
_CLEARS = "it clears the table's pages from memory: expect physical reads until they are back"
_INDEXES = (
    "the indexes stay where they are; bind each by its name: sp_bindcache CACHE, DATABASE, TABLE, INDEX"
)
_RESTART = "if sp_cacheconfig says that ASE must be restarted, do that before the bindings"
_SINGLE_USER = (
    "system tables can be bound only in single-user mode: nobody else may use the database meanwhile. Plan a downtime;"
    " if a statement fails, still run those that end single-user mode"
)


def separate_hot_tables(cache: DataCache, evidence: Evidence, limits: PartitionLimits) -> AdviceStep | None:
    """Bind the system tables, then the key tables, of a cache to a cache of their own with relaxed LRU."""
    inside = [
        o for o in evidence.objects if o.cache in ("", cache.name) and o.reads > 0 and o.name != "syslogs"
    ]
    total = sum(o.reads for o in inside)
    allowed = [o for o in inside if not _is_excluded(o, evidence)]
    others = {other.name for other in evidence.caches}
    system = [o for o in allowed if o.is_system]
    if system and sum(o.reads for o in system) >= SYSTEM_SHARE * total and SYSTEM_CACHE not in others:
        create, why = _new_cache(SYSTEM_CACHE, system, cache, evidence, limits)
        bind = (line for name, tables in _by_database(system) for line in _bind_system(name, tables))
        why = f"system tables relink pages that user tables need: {why}"
        warnings: tuple[str, ...] = (_SINGLE_USER, _LOCKS, _CLEARS, _INDEXES, _RESTART)
        return AdviceStep((create, *bind, "use master"), why, warnings=warnings)
    users = [o for o in allowed if not o.is_system]
    unknown = sum(1 for o in users if not o.owner)
    key = _heaviest([o for o in users if o.owner], KEY_SHARE)
    if key and KEY_CACHE not in others:
        create, why = _new_cache(KEY_CACHE, key, cache, evidence, limits)
        bind = (
            line
            for name, tables in _by_database(key)
            for line in (f"use {_identifier(name)}", *_bind(KEY_CACHE, tables))
        )
        why = f"most relinking (LRU to MRU) comes from these tables: {why}"
        warnings = (_LOCKS, _CLEARS, _INDEXES, _RESTART, *_left_out(unknown))
        return AdviceStep((create, *bind, "use master"), why, warnings=warnings)
    return None


def floor_power_of_two(number: float) -> int:
    """The largest power of two up to a number, at least 1."""
    return 1 << max(0, math.floor(math.log2(max(1.0, number))))


def _is_excluded(table: CachedObject, evidence: Evidence) -> bool:
    """Whether a table must not be bound: it belongs to the system, or lives only for a while."""
    return (
        table.database in _SYSTEM_DATABASES
        or table.database in evidence.temporary_databases
        or table.name.startswith("#")
    )


def _left_out(unknown: int) -> Iterator[str]:
    if unknown:
        tables, whose = ("table", "its") if unknown == 1 else ("tables", "their")
        yield f"{unknown} {tables} left out: {whose} owner is not known"


def _heaviest(objects: Iterable[CachedObject], share: float) -> list[CachedObject]:
    """The most read objects that together take that share of the reads."""
    ordered = sorted(objects, key=lambda o: o.reads, reverse=True)
    total, taken = sum(o.reads for o in ordered), 0.0
    kept = []
    for each in ordered:
        if taken >= share * total:
            break
        kept.append(each)
        taken += each.reads
    return kept


def _new_cache(
    name: str, objects: Sequence[CachedObject], source: DataCache, evidence: Evidence, limits: PartitionLimits
) -> tuple[str, str]:
    """The statement that creates the cache, and its arithmetic."""
    partitions = floor_power_of_two(min(limits.max_partitions, evidence.engines / ENGINES_PER_PARTITION))
    least = partitions * limits.pool_pages * evidence.page_size
    wanted = sum(o.cached_bytes for o in objects) * CACHE_HEADROOM
    needed = max(MIN_CACHE_MB, math.ceil(max(wanted, least) / 2**20))
    reads = sum(o.reads for o in objects)
    total = sum(o.reads for o in evidence.objects if o.cache in ("", source.name)) or 1.0
    create = f"exec sp_cacheconfig '{name}', '{needed}M', 'mixed', 'relaxed', 'cache_partition={partitions}'"
    why = (
        f"{reads / total:.0%} of the reads of {source.name} go to them; relaxed LRU does not relink."
        f" {needed:,} MB is what they hold in memory now and a quarter more (at least {MIN_CACHE_MB} MB, and"
        f" {limits.pool_pages} pages in each of {partitions} partitions). {_free_memory(evidence)}"
    )
    return create, why


def _by_database(objects: Iterable[CachedObject]) -> list[tuple[str, list[CachedObject]]]:
    found: dict[str, list[CachedObject]] = {}
    for each in objects:
        found.setdefault(each.database, []).append(each)
    return list(found.items())


def _bind_system(database: str, tables: Sequence[CachedObject]) -> Iterator[str]:
    """Bind system tables of one database, in single-user mode."""
    use = f"use {_identifier(database)}"
    for value in ("true", "false"):
        yield "use master"
        yield f"exec sp_dboption {_quoted(database)}, 'single user', {value}"
        yield use
        yield "checkpoint"
        if value == "true":
            yield from _bind(SYSTEM_CACHE, tables)


def _bind(cache: str, tables: Iterable[CachedObject]) -> Iterator[str]:
    for each in tables:
        name = each.name if each.owner in ("", "dbo") else f"{each.owner}.{each.name}"
        yield f"exec sp_bindcache '{cache}', {_quoted(each.database)}, {_quoted(name)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else f"[{name.replace(']', ']]')}]"


def _free_memory(evidence: Evidence) -> str:
    """The memory left below max memory; both options count pages of 2 KB."""
    maximum, used = evidence.options.get("max memory"), evidence.options.get("total logical memory")
    if not maximum or not used:
        return "It needs free memory below max memory; if there is none, make the other cache smaller first"
    free = max(0, maximum - used) // 512
    return f"Free below max memory: {free:,} MB; if that is less, make the other cache smaller first"
