"""Data caches, their pools and what they hold."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.caches import Cache, Pool
from ase_simulator.model.operation import CACHE_COLUMNS
from ase_simulator.model.world import World

_LARGE_POOL_READS = 0.01


def _counts(world: World, cache: Cache) -> dict[str, float]:
    return dict(zip(CACHE_COLUMNS, world.counters.caches[cache.name].tolist(), strict=True))


def mon_data_cache(world: World) -> Iterator[Row]:
    """One row per named cache."""
    for cache in world.caches.all():
        count = _counts(world, cache)
        yield {
            "CacheID": cache.id,
            "RelaxedReplacement": int(cache.relaxed),
            "BufferPools": len(cache.pools),
            "CacheSearches": world.int32(count["searches"]),
            "PhysicalReads": world.int32(count["physical_reads"] - count["apf_reads"]),
            "LogicalReads": world.int32(count["searches"]),
            "PhysicalWrites": world.int32(count["physical_writes"]),
            "CachePartitions": cache.partitions,
            "CacheName": cache.name,
            "Type": cache.type,
            "CacheSize": cache.size_kb,
            "ReplacementStrategy": cache.strategy,
            "APFReads": world.int32(count["apf_reads"]),
            "Overhead": cache.size_kb // 20,
            "CASGrabs": int(count["cas_grabs"]),
            "CASSpins": int(count["cas_spins"]),
            "CASWaits": int(count["cas_waits"]),
        }


def mon_cache_pool(world: World) -> Iterator[Row]:
    """One row per pool; IOBufferSize in bytes, WashSize and AllocatedKB in KB.

    Prefetch uses the largest buffers; the pools of a cache add up to the cache.
    """
    for cache in world.caches.all():
        count = _counts(world, cache)
        for size, pool in cache.pools.items():
            yield _pool(world, cache, size, pool, count)


def _pool(world: World, cache: Cache, size: int, pool: Pool, count: dict[str, float]) -> Row:
    large = [io_size for io_size in cache.pools if io_size != world.inventory.page_kb]
    is_main = size == world.inventory.page_kb
    apf = count["apf_reads"] if (large and size == max(large)) or (is_main and not large) else 0.0
    reads = (count["physical_reads"] - count["apf_reads"]) if is_main else 0.0
    large_share = _LARGE_POOL_READS if large else 0.0
    share = 1 - large_share if is_main else large_share / len(large)
    searches = count["searches"] * share
    return {
        "CacheID": cache.id,
        "IOBufferSize": size * 1024,
        "AllocatedKB": pool.size_kb,
        "PhysicalReads": world.int32(reads),
        "PagesTouched": int(min(_used_kb(world, cache) * share, pool.size_kb)) // world.inventory.page_kb,
        "PagesRead": world.int32(reads + apf * (size // world.inventory.page_kb)),
        "BuffersToMRU": 0 if cache.relaxed else world.int32(searches * 0.4),
        "BuffersToLRU": world.int32(apf * 0.5),
        "CacheName": cache.name,
        "LogicalReads": world.int32(searches),
        "PhysicalWrites": world.int32(count["physical_writes"] if is_main else 0.0),
        "APFReads": world.int32(apf),
        "APFPercentage": pool.apf_percent,
        "WashSize": pool.wash_kb,
    }


def _cached(world: World, cache: Cache) -> dict[int, float]:
    """Position of a table -> KB of it in the cache, by its share of the reads."""
    tables = [
        t for t in world.inventory.tables if world.caches.of(t.object.database, t.object.name) == cache.name
    ]
    reads = sum(table.object.reads for table in tables) or 1.0
    return {
        table.position: min(table.object.size_mb * 1024, cache.size_kb * table.object.reads / reads)
        for table in tables
    }


def _used_kb(world: World, cache: Cache) -> float:
    return sum(_cached(world, cache).values())


def mon_cached_object(world: World) -> Iterator[Row]:
    """One row per table and index in a cache."""
    for cache in world.caches.all():
        for position, cached in _cached(world, cache).items():
            table = world.inventory.tables[position]
            for index in table.indexes:
                share = (
                    1.0 if len(table.indexes) == 1 else 0.5 if index == 0 else 0.5 / (len(table.indexes) - 1)
                )
                yield {
                    "CacheID": cache.id,
                    "DBID": table.database_id,
                    "IndexID": index,
                    "PartitionID": table.partition_id(index),
                    "CachedKB": int(cached * share),
                    "CacheName": cache.name,
                    "ObjectID": table.object_id,
                    "DBName": table.object.database,
                    "ObjectName": table.object.name,
                    "PartitionName": f"{table.object.name}_{table.partition_id(index)}",
                    "ObjectType": f"{table.object.kind} table",
                    "TotalSizeKB": int(table.object.size_mb * 1024 * share),
                }


def sys_cache_info(world: World) -> Iterator[Row]:
    """syscacheinfo: one row per named cache as configured and as it runs; sizes and overhead in MB."""
    for cache in world.caches.all():
        configured = world.caches.configured(cache.name)
        yield {
            "cache_name": cache.name,
            "cache_type": cache.type,
            "config_size": configured.size_kb / 1024,
            "run_size": cache.size_kb / 1024,
            "config_replacement": configured.strategy,
            "run_replacement": cache.strategy,
            "config_partitions": configured.partitions,
            "run_partitions": cache.partitions,
            "overhead": cache.size_kb / 20 / 1024,
            "cacheid": cache.id,
        }


def sys_pool_info(world: World) -> Iterator[Row]:
    """syspoolinfo: one row per pool; sizes in MB, wash size in KB, both as text where ASE has text."""
    for cache in world.caches.all():
        for pool in cache.pools.values():
            yield {
                "cache_name": cache.name,
                "io_size": str(pool.io_size_kb),
                "config_size": pool.size_kb / 1024,
                "run_size": pool.size_kb / 1024,
                "apf_percent": pool.apf_percent,
                "wash_size": str(pool.wash_kb),
                "cacheid": cache.id,
            }


def sim_cache_bindings(world: World) -> Iterator[Row]:
    """Cache bindings; ObjectName is NULL for a whole database. No ASE has this table."""
    for (database, name), cache in world.caches.bindings().items():
        yield {"CacheName": cache, "DBName": database, "ObjectName": name}


TABLES = {
    "syscacheinfo": sys_cache_info,
    "syspoolinfo": sys_pool_info,
    "simCacheBindings": sim_cache_bindings,
    "monDataCache": mon_data_cache,
    "monCachePool": mon_cache_pool,
    "monCachedObject": mon_cached_object,
}
