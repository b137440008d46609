"""Measurements for advice: counters and configuration of a server, read twice through the catalogue.

Advice therefore sees counters as the exporter does: unwrapped, on every version, with mon_role alone.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ase_exporter.catalogue import Catalogue, PlannedCollector, ServerFacts, plan, read_facts
from ase_exporter.catalogue.versions import Version
from ase_exporter.errors import UserError
from ase_exporter.metrics.counters import CounterStore
from ase_exporter.metrics.families import Family

# Temporary databases: the system's, and those that users have created (256) or that belong to an instance of a
# cluster (0x20000000).
TEMPORARY_DATABASES = "select name from master..sysdatabases where dbid = 2 or status3 & 536871168 != 0"
OWNERS = (
    "select DBName, ObjectName, OwnerName, sum(convert(float, TotalSizeKB)) from master..monCachedObject"
    " group by DBName, ObjectName, OwnerName"
)
COLLECTORS = (
    "state",
    "spinlocks",
    "engines",
    "run_queues",
    "data_caches",
    "cache_pools",
    "cached_objects",
    "objects",
)
# Advice on bindings needs more objects than a scrape exports.
TOP_OBJECTS = 200

Query = Callable[[str], Sequence[Sequence[object]]]


@dataclass(frozen=True, slots=True)
class SpinlockRates:
    """Grabs, spins and waits of one spinlock name, per second (monSpinlockActivity)."""

    name: str
    spinlock_class: str
    grabs: float
    spins: float
    waits: float

    @property
    def contention(self) -> float:
        """Waits / grabs, 0-1."""
        return self.waits / self.grabs if self.grabs else 0.0


@dataclass(frozen=True, slots=True)
class DataCache:
    """One data cache. smallest_pool_bytes: the size of its smallest memory pool."""

    name: str
    size_bytes: float
    partitions: int
    relaxed: bool
    smallest_pool_bytes: float


@dataclass(frozen=True, slots=True)
class CachedObject:
    """A table with its indexes.

    cache: where it is cached, '' if unknown. reads: logical reads per second. owner: '' if unknown or ambiguous.
    size_bytes: in memory and on disk, 0 if unknown.
    """

    database: str
    name: str
    cache: str
    reads: float
    cached_bytes: float
    owner: str = ""
    size_bytes: float = 0.0

    @property
    def is_system(self) -> bool:
        """A system table, by its name."""
        return self.name.startswith("sys") and self.name != "syslogs"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The measurements of one server. seconds: between the two reads, on the server's clock.

    options: run values by name. missing: collectors that could not be read, with the reason. page_size: bytes.
    temporary_databases: names, tempdb included. cpu_flags: of the database host. busy: how many engines work or spin.
    connections: open ones; run_queue: tasks that wait for an engine. All of these are None if they are not known.
    """

    version: Version
    seconds: float
    engines: int
    transactions: float
    options: Mapping[str, int]
    spinlocks: tuple[SpinlockRates, ...]
    caches: tuple[DataCache, ...] = ()
    objects: tuple[CachedObject, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    page_size: int = 2048
    temporary_databases: frozenset[str] = frozenset({"tempdb"})
    cpu_flags: frozenset[str] | None = None
    busy: float | None = None
    connections: float | None = None
    run_queue: float | None = None

    @property
    def free_bytes(self) -> float | None:
        """The memory left below max memory; None if it is not known. Both options count pages of 2 KB."""
        maximum, used = self.options.get("max memory"), self.options.get("total logical memory")
        return None if not maximum or not used else max(0.0, (maximum - used) * 2048.0)


def gather(
    query: Query,
    catalogue: Catalogue,
    seconds: float,
    wait: Callable[[float], None] = time.sleep,
    cpu_flags: frozenset[str] | None = None,
) -> Evidence:
    """Read a server twice, `seconds` apart.

    query: runs one select. wait: waits between the reads; replaced to show progress, or in tests. cpu_flags: of the
    database host, None if they are not known. Raises UserError if spinlocks cannot be read.
    """
    facts = read_facts(query)
    chosen = {name: name in COLLECTORS for name in catalogue.collectors}
    planned = [c for c in plan(catalogue, facts, chosen, TOP_OBJECTS) if c.name in COLLECTORS]
    counters = CounterStore()
    ready = [collector for collector in planned if collector.available]
    if not any(collector.name == "spinlocks" for collector in ready):
        unavailable = next((collector for collector in planned if collector.name == "spinlocks"), None)
        why = (
            f"{unavailable.detail} (ase-exporter check says how to fix it)"
            if unavailable
            else "not in the catalogue"
        )
        raise UserError(f"spinlocks cannot be read: {why}")
    began, times = _server_clock(query), dict[str, datetime]()
    _read(ready, query, counters, began, times)
    wait(seconds)
    ended = _server_clock(query)
    samples = _read(ready, query, counters, began, times)
    missing = {collector.name: collector.detail for collector in planned if not collector.available}
    owners = _owners(query, facts) if any(collector.name == "cached_objects" for collector in ready) else {}
    temporary = frozenset(str(row[0]).strip() for row in query(TEMPORARY_DATABASES))
    return replace(
        evidence_of(samples, _seconds(began, ended), facts.version, owners),
        options=facts.options,
        missing=missing,
        page_size=facts.page_size,
        temporary_databases=temporary,
        cpu_flags=cpu_flags,
    )


def _server_clock(query: Query) -> datetime:
    """The time on the server's clock, by which rates are calculated."""
    now = query("select getdate()")[0][0]
    if not isinstance(now, datetime):
        raise UserError("getdate(): expected a date and time from the server")
    return now


Samples = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]


def _read(
    planned: Sequence[PlannedCollector],
    query: Query,
    counters: CounterStore,
    began: datetime,
    times: dict[str, datetime],
) -> Samples:
    """Gauges, and the growth of counters per second since `times`, else since `began`; notes the times of this reading.

    Each metric has its own, as tables are read one after the other, and some take seconds.
    """
    found: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for collector in planned:
        read_at = _server_clock(query)
        results = [query(sql) for sql in collector.statements]
        family: Family
        for family in collector.families(results, counters, time.monotonic()):
            since = times.get(family.name, began) if family.kind == "counter" else read_at
            times[family.name] = read_at
            seconds = _seconds(since, read_at)
            found[family.name] = [
                (dict(zip(family.labels, values, strict=True)), value / seconds)
                for values, value in family.samples
            ]
    return found


def _seconds(began: datetime, ended: datetime) -> float:
    """Seconds between two readings, at least one."""
    return max(1.0, (ended - began).total_seconds())


# Owner and size in bytes by database and object.
Owners = Mapping[tuple[str, str], tuple[str, float]]
NO_OWNERS: Owners = {}


def _owners(query: Query, facts: ServerFacts) -> Owners:
    """The owners of tables, but of those whose name has several: they cannot be told apart."""
    if not {"OwnerName", "TotalSizeKB"} <= facts.tables.get("monCachedObject", {}).keys():
        return {}
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for database, name, owner, kilobytes in query(OWNERS):
        size = float(str(kilobytes or 0)) * 1024
        found.setdefault((_text(database), _text(name)), []).append((_text(owner), size))
    return {key: owners[0] for key, owners in found.items() if len(owners) == 1}


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def evidence_of(samples: Samples, elapsed: float, version: Version, owners: Owners = NO_OWNERS) -> Evidence:
    """What the samples of metrics say, without options.

    samples: by metric; gauges as they are, counters as their growth per second.
    """
    cpu = [
        value
        for labels, value in samples.get("ase_engine_cpu_seconds_total", ())
        if labels.get("mode") in ("user", "system")
    ]
    return Evidence(
        version=version,
        seconds=elapsed,
        engines=int(
            sum(v for labels, v in samples.get("ase_engines", ()) if labels.get("state") == "online")
        ),
        transactions=sum(value for _, value in samples.get("ase_transactions_total", ())),
        busy=sum(cpu) if cpu else None,
        connections=_sum(samples.get("ase_connections", ())),
        run_queue=_sum(samples.get("ase_run_queue_length", ())),
        options={},
        spinlocks=_spinlocks(samples),
        caches=_caches(samples),
        objects=_objects(samples, owners),
    )


def _sum(rows: Sequence[tuple[Mapping[str, str], float]]) -> float | None:
    return sum(value for _, value in rows) if rows else None


def _spinlocks(samples: Samples) -> tuple[SpinlockRates, ...]:
    rates = {
        what: {labels["spinlock"]: value for labels, value in samples[f"ase_spinlock_{what}_total"]}
        for what in ("grabs", "spins", "waits")
    }
    return tuple(
        SpinlockRates(
            labels["spinlock"],
            labels.get("class", ""),
            *(rates[what].get(labels["spinlock"], 0.0) for what in ("grabs", "spins", "waits")),
        )
        for labels, _ in samples["ase_spinlock_grabs_total"]
    )


def _caches(samples: Samples) -> tuple[DataCache, ...]:
    def of(metric: str, cache: str) -> list[float]:
        return [value for labels, value in samples.get(metric, ()) if labels["cache"] == cache]

    names = [labels["cache"] for labels, _ in samples.get("ase_cache_partitions", ())]
    return tuple(
        DataCache(
            name=name,
            size_bytes=sum(of("ase_cache_size_bytes", name)) or sum(of("ase_cache_pool_size_bytes", name)),
            partitions=int(max(of("ase_cache_partitions", name))),
            relaxed=any(of("ase_cache_relaxed_replacement", name)),
            smallest_pool_bytes=min(of("ase_cache_pool_size_bytes", name), default=0.0),
        )
        for name in names
    )


def _objects(samples: Samples, owners: Owners) -> tuple[CachedObject, ...]:
    """Tables with their indexes summed. The catalogue's `rest` is left out: it is no single object."""
    caches: dict[tuple[str, str], str] = {}
    cached: dict[tuple[str, str], float] = {}
    for labels, value in samples.get("ase_cached_object_bytes", ()):
        key = (labels["database"], labels["object"])
        caches.setdefault(key, labels["cache"])
        cached[key] = cached.get(key, 0.0) + value
    reads: dict[tuple[str, str], float] = {}
    for labels, value in samples.get("ase_object_logical_reads_total", ()):
        key = (labels["database"], labels["object"])
        reads[key] = reads.get(key, 0.0) + value
    return tuple(
        CachedObject(
            *key, caches.get(key, ""), reads.get(key, 0.0), cached.get(key, 0.0), *owners.get(key, ("", 0.0))
        )
        for key in dict.fromkeys([*reads, *cached])
        if key[1] not in ("", "rest")
    )
