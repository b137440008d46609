"""Caches of their own for the tables that contend most, and the SQL that binds these tables.

Sources: SAP's reference manual, sp_bindcache (run in the database of the object; system tables need single-user
mode; an exclusive table lock; pages in memory are cleared) and sp_cacheconfig; System Administration Guide 2,
"Configuring Data Caches" (1 to 64 partitions, powers of two; minimum sizes).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ase_exporter.advise.evidence import CachedObject, DataCache, Evidence
from ase_exporter.advise.remedies import AdviceStep, PartitionLimits, remedies
from ase_exporter.untrusted.encoders import is_writable, sql_identifier, sql_literal
from ase_exporter.views.figures import shown, size

SYSTEM_CACHE = "system tables cache"
KEY_CACHE = "key tables cache"
# System tables get a separate cache if they take at least this share of the reads.
SYSTEM_SHARE = 0.05
# Key tables that are considered.
MAX_BOUND = 8
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


def separate_hot_tables(cache: DataCache, evidence: Evidence, limits: PartitionLimits) -> AdviceStep | None:
    """Bind the system tables, then the key tables, of a cache to a cache of their own; None if that does not help."""
    inside = [
        o for o in evidence.objects if o.cache in ("", cache.name) and o.reads > 0 and o.name != "syslogs"
    ]
    total = sum(o.reads for o in inside)
    allowed = [o for o in inside if not _is_excluded(o, evidence)]
    others = {other.name for other in evidence.caches}
    system = [o for o in allowed if o.is_system]
    if system and sum(o.reads for o in system) >= SYSTEM_SHARE * total and SYSTEM_CACHE not in others:
        placed = _Placement(system, cache, total, evidence, limits)
        bind = (line for name, tables in _by_database(system) for line in _bind_system(name, tables))
        why = "system tables relink pages that user tables need"
        return placed.step(SYSTEM_CACHE, bind, why, first=remedies().single_user_warning)
    users = [o for o in allowed if not o.is_system]
    known = sorted((o for o in users if o.owner), key=lambda o: -o.reads)
    if not known or KEY_CACHE in others:
        return None
    placed = min(_choices(known[:MAX_BOUND], cache, total, evidence, limits), key=lambda each: each.busier)
    bind = (
        line
        for name, tables in _by_database(placed.tables)
        for line in (f"use {sql_identifier(name)}", *_bind(KEY_CACHE, tables))
    )
    why = "of the tables that are read most, those that divide the reads best"
    return placed.step(KEY_CACHE, bind, why, last=_left_out(len(users) - len(known)))


@dataclass(frozen=True, slots=True)
class _Placement:
    """Tables in a cache of their own, beside the one that they are in now, of which `total` is read per second."""

    tables: Sequence[CachedObject]
    source: DataCache
    total: float
    evidence: Evidence
    limits: PartitionLimits

    @property
    def partitions(self) -> int:
        """The largest power of two that is useful."""
        most = min(self.limits.max_partitions, self.evidence.engines / ENGINES_PER_PARTITION)
        return 1 << max(0, math.floor(math.log2(max(1.0, most))))

    @property
    def megabytes(self) -> int:
        """What the tables hold in memory now and a quarter more, but no more than all of them."""
        wanted = sum(min(o.cached_bytes * CACHE_HEADROOM, o.size_bytes or math.inf) for o in self.tables)
        least = self.partitions * self.limits.pool_pages * self.evidence.page_size
        return max(MIN_CACHE_MB, math.ceil(max(wanted, least) / 2**20))

    @property
    def share(self) -> float:
        """Its share of the reads of the source, 0-1."""
        return sum(o.reads for o in self.tables) / (self.total or 1.0)

    @property
    def busier(self) -> float:
        """Reads of a partition in the busier of both caches afterwards, of those of one now."""
        return max(1 - self.share, self.share * self.source.partitions / self.partitions)

    def step(
        self, name: str, bind: Iterable[str], why: str, *, first: str = "", last: str = ""
    ) -> AdviceStep | None:
        """The step, unless all reads only move. first, last: warnings before and after those of all bindings."""
        if self.busier >= 1:
            return None
        # Where all pages stay in memory, relaxed LRU does not relink; else it evicts the wrong ones.
        whole = sum(o.size_bytes or math.inf for o in self.tables)
        strategy = "relaxed" if whole <= self.megabytes * 2**20 else "strict"
        options = f"'{self.megabytes}M', 'mixed', '{strategy}', 'cache_partition={self.partitions}'"
        free, share = self.evidence.free_bytes, shown(self.share, "ratio", digits=2)
        reason = (
            f"{why}: {share} of the reads of {self.source.name} go to them, {strategy} LRU."
            f" {self.megabytes:,} MB is what they hold in memory now and a quarter more, at most all of them (at"
            f" least {MIN_CACHE_MB} MB, and {self.limits.pool_pages} pages in each of {self.partitions} partitions)."
            + ("" if free is None else f" Free below max memory: {size(free)}")
        )
        statements = (f"exec sp_cacheconfig '{name}', {options}", *bind, "use master")
        warnings = tuple(filter(None, (first, *remedies().binding_warnings, last)))
        memory = self.megabytes * 2.0**20
        return AdviceStep(statements, reason, memory=memory, locks=True, warnings=warnings)


def _choices(
    tables: Sequence[CachedObject],
    cache: DataCache,
    total: float,
    evidence: Evidence,
    limits: PartitionLimits,
) -> Iterator[_Placement]:
    """The table that is read most, then with each further one for which memory is free, if that is known."""
    free = math.inf if evidence.free_bytes is None else evidence.free_bytes
    kept: list[CachedObject] = []
    for each in tables:
        placed = _Placement([*kept, each], cache, total, evidence, limits)
        if not kept or placed.megabytes * 2**20 <= free:
            kept.append(each)
            yield placed


def _is_excluded(table: CachedObject, evidence: Evidence) -> bool:
    """Whether a table must not be bound: it belongs to the system, lives only for a while, or has a name to refuse."""
    owner = table.owner or "dbo"
    return (
        not all(map(is_writable, (table.database, owner, table.name, f"{owner}.{table.name}")))
        # sp_bindcache takes what a dot or a bracket divides for an owner and a table.
        or not {".", "[", "]", '"'}.isdisjoint(owner + table.name)
        or table.database in _SYSTEM_DATABASES
        or table.database in evidence.temporary_databases
        or table.name.startswith("#")
    )


def _left_out(unknown: int) -> str:
    tables, whose = ("table", "its") if unknown == 1 else ("tables", "their")
    return f"{unknown} {tables} left out: {whose} owner is not known" if unknown else ""


def _by_database(objects: Iterable[CachedObject]) -> list[tuple[str, list[CachedObject]]]:
    found: defaultdict[str, list[CachedObject]] = defaultdict(list)
    for each in objects:
        found[each.database].append(each)
    return list(found.items())


def _bind_system(database: str, tables: Sequence[CachedObject]) -> Iterator[str]:
    """Bind system tables of one database, in single-user mode."""
    use = f"use {sql_identifier(database)}"
    for value in ("true", "false"):
        yield "use master"
        yield f"exec sp_dboption {sql_literal(database)}, 'single user', {value}"
        yield use
        yield "checkpoint"
        if value == "true":
            yield from _bind(SYSTEM_CACHE, tables)


def _bind(cache: str, tables: Iterable[CachedObject]) -> Iterator[str]:
    for each in tables:
        name = each.name if each.owner in ("", "dbo") else f"{each.owner}.{each.name}"
        yield f"exec sp_bindcache '{cache}', {sql_literal(each.database)}, {sql_literal(name)}"
