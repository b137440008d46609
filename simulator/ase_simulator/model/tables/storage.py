"""What is stored and where: databases, devices, tables with their indexes, data caches."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from ase_simulator.model.caches import Cache
from ase_simulator.model.inventory import Device, WorkloadTable
from ase_simulator.model.operation import CACHE_COLUMNS, OBJECT_COLUMNS
from ase_simulator.model.sessions import FIRST_USER_SPID
from ase_simulator.model.world import Fill, World
from ase_simulator.schema.profiles import parse_level

Names = dict[str, Any]

_MODEL_MB = 4
_MAX_DEVICE_MB = 32 * 1024  # before 15.0
_DATA_AND_SYSTEM, _LOG_ONLY, _ALL_SEGMENTS = 3, 4, 7
_LARGE_POOL_READS = 0.01


def caches(world: World) -> Iterator[Names]:
    """Each named cache as it runs and as it is configured; count: its counters."""
    for cache in world.caches.all():
        count = dict(zip(CACHE_COLUMNS, world.counters.caches[cache.name].tolist(), strict=True))
        yield {"cache": cache, "count": count, "configured": world.caches.start[cache.name]}


def pools(world: World) -> Iterator[Names]:
    """Each pool; size in KB. Prefetch uses the largest buffers; the pools of a cache add up to the cache."""
    page_kb = world.inventory.page_kb
    for names in caches(world):
        cache, count = names["cache"], names["count"]
        large = [size for size in cache.pools if size != page_kb]
        large_share = _LARGE_POOL_READS if large else 0.0
        used_kb = sum(_cached(world, cache).values())
        for size, pool in cache.pools.items():
            main = size == page_kb
            share = 1 - large_share if main else large_share / len(large)
            yield names | {
                "size": size,
                "pool": pool,
                "main": main,
                "apf": count["apf_reads"] if (large and size == max(large)) or (main and not large) else 0.0,
                "reads": (count["physical_reads"] - count["apf_reads"]) if main else 0.0,
                "searches": count["searches"] * share,
                "used_kb": min(used_kb * share, pool.size_kb),
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


def cached_objects(world: World) -> Iterator[Names]:
    """Each table and index in a cache: half of a table's pages are those of its indexes."""
    for cache in world.caches.all():
        for position, cached in _cached(world, cache).items():
            table = world.inventory.tables[position]
            others = len(table.indexes) - 1
            for index in table.indexes:
                share = 1.0 if not others else 0.5 if index == 0 else 0.5 / others
                yield {"cache": cache, "table": table, "index": index, "cached": cached, "share": share}


def indexes(world: World) -> Iterator[Names]:
    """Each table (index 0) and index. count: its counters; n: the same as int columns; data: is it the table."""
    for table in world.inventory.tables:
        for index in table.indexes:
            count = _index_counts(world, table)
            yield {
                "table": table,
                "index": index,
                "data": index == 0,
                "count": count,
                "n": {name: world.int32(value) for name, value in count.items()},
                "used": world.date(world.seconds) if count["logical_reads"] >= 1 else None,
            }


def _index_counts(world: World, table: WorkloadTable) -> dict[str, float]:
    """The counters of one index: reads are split evenly, row changes and locks belong to the data."""
    count = dict(zip(OBJECT_COLUMNS, world.counters.objects[table.position].tolist(), strict=True))
    for name in ("logical_reads", "physical_reads", "apf_reads", "physical_writes", "pages_read"):
        count[name] /= len(table.indexes)
    return count


def databases(world: World) -> Iterator[Names]:
    """Each database; share: its part of the transactions."""
    own = {database.name: database for database in world.inventory.own_databases}
    for name, number in world.inventory.databases.items():
        home = own.get(name)
        before = home.log_dumped_hours_ago if home else None
        log_dumped = world.log_dumps.get(name, None if before is None else -3600 * before)
        status, status2, status3 = world.database_status.get(name, (0, 0, 0))
        yield {
            "name": name,
            "number": number,
            "own": name in own,
            "share": 1 / len(own) if name in own else 0.0,
            "loading": name in world.loading,
            "status": status,
            "status2": status2,
            "status3": status3,
            "good_dump": _since_start(world, home.dumped_hours_ago if home else None),
            "dump_time": timedelta(hours=home.dump_hours if home else 0),
            "failed_dump": _since_start(world, home.dump_failed_hours_ago if home else None),
            "log_dumped": None
            if log_dumped is None or log_dumped < world.started
            else world.date(log_dumped),
        }


def _since_start(world: World, hours_ago: float | None) -> datetime | None:
    """The date so many hours before the scenario; None if the server did not run then."""
    seconds = None if hours_ago is None else -3600 * hours_ago
    return world.date(seconds) if seconds is not None and seconds >= world.started else None


def devices(world: World) -> Iterator[Names]:
    """Each device. low: its first virtual page; taken: MB of all devices in its folder."""
    taken: dict[str, int] = {}
    for device in world.inventory.devices:
        folder = device.path.rpartition("/")[0]
        taken[folder] = taken.get(folder, 0) + device.size_mb
    for device in world.inventory.devices:
        low, size_mb = _first_page(world, device.number), _size_mb(world, device)
        full = taken[device.path.rpartition("/")[0]]
        yield {"device": device, "low": low, "size_mb": size_mb, "taken": full}


def _first_page(world: World, device: int) -> int:
    """The first virtual page of a device, which before 15.0 has the device's number in its highest byte."""
    return device << 24 if parse_level(world.version) < (15,) else 0


def _size_mb(world: World, device: Device) -> int:
    return min(device.size_mb, _MAX_DEVICE_MB) if parse_level(world.version) < (15,) else device.size_mb


def device_traffic(world: World) -> Iterator[Names]:
    """Reads, prefetch reads, writes and milliseconds of reads of each device: its database's, divided over devices of
    its kind."""
    read = ("physical_reads", "apf_reads", "physical_writes", "read_ms")
    columns = [OBJECT_COLUMNS.index(name) for name in read]
    totals: dict[tuple[str, bool], Any] = {}
    for table in world.inventory.tables:
        key = (table.object.database, table.object.kind == "log")
        totals[key] = totals.get(key, 0.0) + world.counters.objects[table.position][columns]
    same = Counter((device.database, device.log) for device in world.inventory.devices)
    for device in world.inventory.devices:
        key = (device.database, device.log)
        reads, apf, writes, read_ms = (
            (totals[key] / same[key]).tolist() if key in totals else [0.0] * len(read)
        )
        yield {"device": device, "reads": reads, "apf": apf, "writes": writes, "read_ms": read_ms}


def io_queues(world: World) -> Iterator[Names]:
    """Each device and kind of I/O that it can have."""
    own = {database.name for database in world.inventory.own_databases}
    for names in device_traffic(world):
        device = names["device"]
        tempdb = device.database == "tempdb"
        main = f"{'Tempdb' if tempdb else 'User'} {'Log' if device.log else 'Data'}"
        busy = tempdb or device.database in own
        for kind, share in ([(main, 1.0)] if busy else []) + [("System", 0.0 if busy else 1.0)]:
            yield names | {"kind": kind, "share": share}


def device_segments(world: World) -> Iterator[Names]:
    """Each device and segment (0 system, 1 default, 2 logsegment) on it."""
    for names in device_traffic(world):
        for segment in (2,) if names["device"].log else (0, 1):
            yield names | {"segment": segment}


def usages(world: World) -> Iterator[Names]:
    """Each fragment: a database fills its devices, in their order; `model` has the end of master's."""
    own = {database.name for database in world.inventory.own_databases}
    start: dict[str, int] = {}
    for device in world.inventory.devices:
        shares = {device.database: _size_mb(world, device)}
        if device.database == "master":
            shares = {"master": shares["master"] - _MODEL_MB, "model": _MODEL_MB}
        place = _first_page(world, device.number)
        for database, size_mb in shares.items():
            pages = size_mb * 1024 // world.inventory.page_kb
            fill = world.fills.get((database, device.log), Fill())
            yield {
                "device": device,
                "database": world.inventory.databases[database],
                "segmap": _LOG_ONLY if device.log else _DATA_AND_SYSTEM if database in own else _ALL_SEGMENTS,
                "lstart": start.get(database, 0),
                "pages": pages,
                "place": place,
                "free": int(pages * (1 - fill.at(world.seconds))),
            }
            start[database] = start.get(database, 0) + pages
            place += size_mb * 512


def logs_hold(world: World) -> Iterator[Names]:
    """The oldest open transaction of each busy database, and its replication marker; then those of clients."""
    from_users = world.workload.users > 0 and world.operation.point.throughput > 0
    for database in world.inventory.own_databases:
        oldest = {
            "dbid": world.inventory.databases[database.name],
            "spid": 1020,
            "page": 1000 + int(world.seconds) % 100000,
            "xactid": b"\x00\x00\x03\xe8\x00\x01",
            "starttime": world.date(max(world.seconds - 2, world.started)),
            "name": "$user_transaction",
            "xloid": 2040,
        }
        if from_users:
            yield oldest
        if database.replicated:
            point = {"spid": 0, "name": "$replication_truncation_point", "xloid": 0}
            if database.name in world.rep_agents_stopped:
                point["starttime"] = world.date(world.rep_agents_stopped[database.name])
            yield oldest | point
    yield from _oldest_of_clients(world)


def _oldest_of_clients(world: World) -> Iterable[Names]:
    """The oldest open transaction of a client in each database."""
    found: dict[int, Names] = {}
    for row in sorted(_client_transactions(world), key=lambda row: str(row["starttime"])):
        number, spid = row["masterdbid"], row["spid"]
        held = {"dbid": number, "spid": spid, "page": 1000 + spid, "xactid": spid.to_bytes(6, "big")}
        held |= {"starttime": row["starttime"], "name": row["xactname"], "xloid": 2 * spid}
        found.setdefault(number, held)
    return found.values()


def transactions(world: World) -> Iterator[Names]:
    """The open transactions: those of clients, and the oldest of the workload's in each database."""
    yield from _client_transactions(world)
    for row in logs_hold(world):
        if row["spid"] >= FIRST_USER_SPID:
            yield _transaction(1020, row["dbid"], row["starttime"], row["name"]) | {
                "xactkey": bytes(8) + (1020).to_bytes(6, "big"),
                "spid": row["spid"],
                "loid": row["xloid"],
            }


def _client_transactions(world: World) -> Iterator[Names]:
    for client in world.sessions.clients.values():
        if client.state.began is not None:
            state = client.state
            yield _transaction(client.spid, state.database_id, state.began, state.transaction)


def _transaction(spid: int, database: int | None, began: datetime | None, name: str) -> Names:
    return {
        "xactkey": spid.to_bytes(14, "big"),
        "starttime": began,
        "spid": spid,
        "masterdbid": database,
        "loid": 2 * spid,
        "namelen": len(name),
        "xactname": name,
    }
