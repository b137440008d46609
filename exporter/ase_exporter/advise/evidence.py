"""What advice rests on: two readings of a server, some seconds apart, through the catalogue.

So advice sees the counters as the exporter does: unwrapped, on every version, with mon_role alone.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ase_exporter.catalogue import Catalogue, PlannedCollector, ServerFacts, plan, read_facts
from ase_exporter.catalogue.versions import Version
from ase_exporter.counters import CounterStore
from ase_exporter.errors import UserError
from ase_exporter.families import Family

COLLECTORS = ("state", "spinlocks", "engines", "data_caches", "cache_pools", "cached_objects", "objects")
# Advice on bindings looks at more objects than a scrape would.
TOP_OBJECTS = 200

Query = Callable[[str], Sequence[Sequence[object]]]


@dataclass(frozen=True, slots=True)
class Spinlock:
    """One spinlock name over the time between the readings: grabs, spins and waits per second."""

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
class Cache:
    """One data cache. smallest_pool_bytes: of its memory pools."""

    name: str
    size_bytes: float
    partitions: int
    relaxed: bool
    smallest_pool_bytes: float


@dataclass(frozen=True, slots=True)
class DatabaseObject:
    """A table with its indexes. cache: where it is cached, '' if unknown; reads: logical, per second."""

    database: str
    name: str
    cache: str
    reads: float
    cached_bytes: float

    @property
    def is_system(self) -> bool:
        """A system table, by its name."""
        return self.name.startswith("sys") and self.name != "syslogs"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A server as `advise` looks at it. missing: what could not be read, with the reason."""

    version: Version
    seconds: float
    engines: int
    transactions: float
    options: Mapping[str, int]
    spinlocks: tuple[Spinlock, ...]
    caches: tuple[Cache, ...] = ()
    objects: tuple[DatabaseObject, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


def gather(
    query: Query, catalogue: Catalogue, seconds: float, wait: Callable[[float], None] = time.sleep
) -> Evidence:
    """Read a server twice. `query` runs one select; `wait` passes the time between, for progress or tests.

    Raises UserError where there are no spinlocks to be read.
    """
    facts = read_facts(query)
    chosen = {name: name in COLLECTORS for name in catalogue.collectors}
    planned = [c for c in plan(catalogue, facts, chosen, TOP_OBJECTS) if c.name in COLLECTORS]
    counters = CounterStore()
    ready = [collector for collector in planned if collector.available]
    if not any(collector.name == "spinlocks" for collector in ready):
        refused = next((collector for collector in planned if collector.name == "spinlocks"), None)
        why = (
            f"{refused.detail} (ase-exporter check says what mends it)" if refused else "not in the catalogue"
        )
        raise UserError(f"spinlocks cannot be read: {why}")
    began = _server_clock(query)
    _read(ready, query, counters)
    wait(seconds)
    ended = _server_clock(query)
    samples = _read(ready, query, counters)
    elapsed = max(1.0, (ended - began).total_seconds())
    missing = {collector.name: collector.detail for collector in planned if not collector.available}
    return _evidence(facts, samples, elapsed, missing)


def _server_clock(query: Query) -> datetime:
    """The server's own clock: rates are per second of its time."""
    now = query("select getdate()")[0][0]
    if not isinstance(now, datetime):
        raise UserError("the server does not tell its time")
    return now


Samples = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]


def _read(planned: Sequence[PlannedCollector], query: Query, counters: CounterStore) -> Samples:
    found: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for collector in planned:
        results = [query(sql) for sql in collector.statements]
        family: Family
        for family in collector.families(results, counters, time.monotonic()):
            found[family.name] = [
                (dict(zip(family.labels, values, strict=True)), value) for values, value in family.samples
            ]
    return found


def _evidence(facts: ServerFacts, samples: Samples, elapsed: float, missing: Mapping[str, str]) -> Evidence:
    return Evidence(
        version=facts.version,
        seconds=elapsed,
        engines=int(
            sum(v for labels, v in samples.get("ase_engines", ()) if labels.get("state") == "online")
        ),
        transactions=sum(value for _, value in samples.get("ase_transactions_total", ())) / elapsed,
        options=facts.options,
        spinlocks=_spinlocks(samples, elapsed),
        caches=_caches(samples),
        objects=_objects(samples, elapsed),
        missing=missing,
    )


def _spinlocks(samples: Samples, elapsed: float) -> tuple[Spinlock, ...]:
    rates = {
        what: {labels["spinlock"]: value / elapsed for labels, value in samples[f"ase_spinlock_{what}_total"]}
        for what in ("grabs", "spins", "waits")
    }
    return tuple(
        Spinlock(
            labels["spinlock"],
            labels.get("class", ""),
            *(rates[what].get(labels["spinlock"], 0.0) for what in ("grabs", "spins", "waits")),
        )
        for labels, _ in samples["ase_spinlock_grabs_total"]
    )


def _caches(samples: Samples) -> tuple[Cache, ...]:
    def of(metric: str, cache: str) -> list[float]:
        return [value for labels, value in samples.get(metric, ()) if labels["cache"] == cache]

    names = [labels["cache"] for labels, _ in samples.get("ase_cache_partitions", ())]
    return tuple(
        Cache(
            name=name,
            size_bytes=sum(of("ase_cache_size_bytes", name)) or sum(of("ase_cache_pool_size_bytes", name)),
            partitions=int(max(of("ase_cache_partitions", name))),
            relaxed=any(of("ase_cache_relaxed_replacement", name)),
            smallest_pool_bytes=min(of("ase_cache_pool_size_bytes", name), default=0.0),
        )
        for name in names
    )


def _objects(samples: Samples, elapsed: float) -> tuple[DatabaseObject, ...]:
    """Tables with their indexes summed; the catalogue's `rest` is nobody's."""
    caches: dict[tuple[str, str], str] = {}
    cached: dict[tuple[str, str], float] = {}
    for labels, value in samples.get("ase_cached_object_bytes", ()):
        key = (labels["database"], labels["object"])
        caches.setdefault(key, labels["cache"])
        cached[key] = cached.get(key, 0.0) + value
    reads: dict[tuple[str, str], float] = {}
    for labels, value in samples.get("ase_object_logical_reads_total", ()):
        key = (labels["database"], labels["object"])
        reads[key] = reads.get(key, 0.0) + value / elapsed
    return tuple(
        DatabaseObject(*key, caches.get(key, ""), reads.get(key, 0.0), cached.get(key, 0.0))
        for key in dict.fromkeys([*reads, *cached])
        if key[1] not in ("", "rest")
    )
