"""What one transaction demands of the caches and of each spinlock."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from ase_simulator.model import spinlocks
from ase_simulator.model.caches import Caches
from ase_simulator.model.inventory import Inventory
from ase_simulator.model.options import Options
from ase_simulator.model.queueing import Array
from ase_simulator.model.workload import Effect, Workload
from ase_simulator.schema.profiles import parse_level

LOCKLESS_GRABS = 0.03
"""Share of a cache's spinlock grabs that remain when it is lockless; the others become compare-and-swap."""

LOCKLESS_HOLD = 0.2
"""Factor on the hold time of the grabs that remain."""

_BUFFER_GRABS = 1.1
_BUFFER_HOLD_NS = 15.0


@dataclass(slots=True)
class CacheDemand:
    """Per transaction, of one cache.

    grabs, cas_grabs: of its spinlocks and by compare-and-swap. objects: position of a table -> logical and
    physical reads. data_write_share, log_write_share: its part of all writes of that kind.
    """

    searches: float = 0.0
    physical_reads: float = 0.0
    grabs: float = 0.0
    cas_grabs: float = 0.0
    data_write_share: float = 0.0
    log_write_share: float = 0.0
    objects: dict[int, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """The spinlocks of one name: each one's share of the grabs, and grabs per transaction and per second."""

    name: str
    shares: Array
    per_transaction: float
    per_second: float
    hold_ns: float


def cache_demands(
    workload: Workload, caches: Caches, inventory: Inventory, units: dict[str, float]
) -> dict[str, CacheDemand]:
    """The demand on each cache, given the bindings.

    A cache smaller than its tables holds each table in proportion to its reads; of the rest, `cold` is
    read from disk. units: of each driver per transaction.
    """
    found = {cache.name: CacheDemand() for cache in caches.all()}
    placed = [(table, caches.of(table.object.database, table.object.name)) for table in inventory.tables]
    total_reads = sum(entry.reads for entry in workload.objects) or 1.0
    for table, name in placed:
        entry, demand = table.object, found[name]
        reads = units["logical_reads"] * entry.reads / total_reads
        claim = entry.reads / (sum(t.object.reads for t, n in placed if n == name) or 1.0)
        cached = min(caches.run[name].size_kb * claim / (entry.size_mb * 1024), 1.0)
        misses = reads * entry.cold * (1.0 - cached)
        demand.searches += reads
        demand.physical_reads += misses
        data, log = workload.write_shares(entry)
        demand.data_write_share += data
        demand.log_write_share += log
        demand.objects[table.position] = (reads, misses)
    for cache in caches.all():
        demand, work = found[cache.name], workload.cache_work(cache.name)
        grabs = demand.searches * (work.grabs + (0.0 if cache.relaxed else work.relink_grabs))
        demand.cas_grabs = grabs * (1 - LOCKLESS_GRABS) if cache.lockless else 0.0
        demand.grabs = grabs - demand.cas_grabs
    return found


def groups(
    workload: Workload,
    options: Options,
    caches: Caches,
    demands: dict[str, CacheDemand],
    per_transaction: dict[str, float],
    engines: int,
    effects: list[Effect],
    seed: int,
) -> list[Group]:
    """Every spinlock name with its slots: those of the caches first."""
    return [
        *_cache_groups(workload, caches, demands, effects, seed),
        *(_buffer_groups(workload, caches, demands, seed) if parse_level(options.version) >= (16,) else ()),
        *_plain_groups(workload, options, per_transaction, engines, effects, seed),
    ]


def _held(name: str, hold_ns: float, effects: list[Effect]) -> float:
    return hold_ns * prod(effect.hold.get(name, 1.0) for effect in effects)


def _cache_groups(
    workload: Workload,
    caches: Caches,
    demands: dict[str, CacheDemand],
    effects: list[Effect],
    seed: int,
) -> Iterator[Group]:
    for cache in caches.all():
        work = workload.cache_work(cache.name)
        hold = _held(cache.name, work.hold_ns, effects)
        if cache.lockless:
            hold *= LOCKLESS_HOLD * prod(effect.lockless_hold.get(cache.name, 1.0) for effect in effects)
        shares = spinlocks.spread(cache.name, cache.partitions, work.skew, seed)
        yield Group(cache.name, shares, demands[cache.name].grabs, 1.0, hold)


def _buffer_groups(
    workload: Workload, caches: Caches, demands: dict[str, CacheDemand], seed: int
) -> Iterator[Group]:
    for cache in caches.all():
        skew = workload.cache_work(cache.name).skew
        shares = spinlocks.spread(cache.name, cache.partitions, skew, seed)
        grabs = demands[cache.name].searches * _BUFFER_GRABS
        yield Group(f"bufspin {cache.name}", shares, grabs, 1.0, _BUFFER_HOLD_NS)


def _plain_groups(
    workload: Workload,
    options: Options,
    per_transaction: dict[str, float],
    engines: int,
    effects: list[Effect],
    seed: int,
) -> Iterator[Group]:
    for entry in spinlocks.catalogue(options.version):
        change = workload.spinlocks.get(entry.name)
        if change:
            entry = replace(entry, **change.model_dump(exclude_none=True))
        shares = spinlocks.shares(entry, options, engines, seed)
        grabs = sum(per_transaction[key] * each for key, each in entry.each.items() if key != "second")
        hold = _held(entry.name, entry.hold_ns, effects)
        yield Group(entry.name, shares, grabs, entry.each.get("second", 0.0), hold)
