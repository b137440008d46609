"""Figures of one interval for the tables of top; what judges the server comes from its diagnosis.

Ratios are 0-1, rates per second, sizes bytes. Rates of most counters are of up to `samples.WINDOW` seconds. What the
sample lacks is None or an empty table, never 0. Over the instances of a cluster, parts are summed before they are
divided.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ase_exporter.advise.evidence import SpinlockRates, spinlock_rates, sums_by
from ase_exporter.diagnosis.catalogue import catalogue as diagnosis_catalogue
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN, Diagnosis
from ase_exporter.scraping.budget import SESSION_CPU
from ase_exporter.top.samples import Sample

BUSY = ("user", "system")
DATA_CACHE = "data_cache"
_LIMITS = {DATA_CACHE: "spinlock.cache_warning", "descriptor": "spinlock.descriptor_warning"}


@dataclass(frozen=True, slots=True)
class Spinlock(SpinlockRates):
    """One spinlock name.

    cpu: share of all engine time that spins on it (an estimate); engines: the same as a number of engines.
    """

    cpu: float | None = None
    engines: float | None = None

    @property
    def contended(self) -> bool:
        """Whether it is over the limit of its class, with enough spins to matter."""
        limit = _LIMITS.get(
            self.spinlock_class.rpartition("_descriptor")[1].strip("_") or self.spinlock_class
        )
        return self.contention >= threshold(limit or "spinlock.other_warning") and self.spins >= threshold(
            "diagnosis.contended_spins"
        )


@dataclass(frozen=True, slots=True)
class Engine:
    """busy: share of its time in user and system mode, None if its counters have not moved yet."""

    name: str
    busy: float | None


@dataclass(frozen=True, slots=True)
class Pool:
    """A buffer pool of a cache. io_size: as the server has it, such as 16K."""

    io_size: str
    size: float
    physical_reads: float | None
    stalls: float | None


@dataclass(frozen=True, slots=True)
class Cache:
    """A data cache. hits: share of searches that read nothing from disk. contention: of its spinlock."""

    name: str
    size: float | None
    partitions: float | None
    strategy: str
    searches: float | None
    hits: float | None
    physical_reads: float | None
    physical_writes: float | None
    stalls: float | None
    contention: float | None
    relaxed: bool = False
    pools: tuple[Pool, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait event. seconds: waited per second, by all tasks together. each: seconds of one wait."""

    event: str
    wait_class: str
    waits: float
    seconds: float
    each: float | None


@dataclass(frozen=True, slots=True)
class Device:
    """A device. latency: seconds of one I/O."""

    name: str
    reads: float
    writes: float
    ios: float
    latency: float | None


@dataclass(frozen=True, slots=True)
class Space:
    """Space of a database by use: data, log or mixed."""

    database: str
    use: str
    size: float
    free: float

    @property
    def used(self) -> float:
        """Share in use, 0-1."""
        return 1.0 - self.free / self.size


@dataclass(frozen=True, slots=True)
class OwnCost:
    """What top costs this server. cpu: share of one engine that its session used; None if that is not known.

    statement_share: share of the time in which a statement of it ran. budget: the limit of the share, None without.
    stretched: collectors that are read less often to keep it, with how many times their interval.
    """

    cpu: float | None
    statement_share: float | None
    budget: float | None
    stretched: dict[str, float]


@dataclass(frozen=True, slots=True)
class Figures:
    """One server. seconds: the window of CPU, spins, transactions and waits; 0 while that is too short.

    cpu_units: CPU seconds per second; throughput: transactions per CPU unit; spinning: share of all engine time.
    oldest_transaction: seconds, and its database.
    """

    seconds: float
    cpu_busy: float | None
    spinning: float | None
    cpu_units: float | None
    transactions: float | None
    throughput: float | None
    run_queue: float | None
    connections: float | None
    engines: tuple[Engine, ...]
    spinlocks: tuple[Spinlock, ...]
    caches: tuple[Cache, ...]
    waits: tuple[Wait, ...]
    blocked_processes: float | None
    max_block: float | None
    oldest_transaction: tuple[float, str] | None
    devices: tuple[Device, ...]
    spaces: tuple[Space, ...]
    logs_full: tuple[str, ...]
    cost: OwnCost

    @property
    def hottest(self) -> Spinlock | None:
        """The spinlock that burns most CPU; None if none spins."""
        return self.spinlocks[0] if self.spinlocks and self.spinlocks[0].spins > 0 else None


def figures(sample: Sample, diagnosis: Diagnosis) -> Figures:
    """All figures of a sample and its diagnosis."""
    engine_time = sample.rates("ase_engine_cpu_seconds_total")
    measures, account = diagnosis.measures, diagnosis.account
    all_time, busy = measures["engine_time"].value, measures["busy"].value
    units = _sum(sample.rates("ase_thread_cpu_seconds_total")) or busy
    transactions = measures["transactions"].value
    spins = measures["spins"].value
    seconds_per_spin = threshold(SECONDS_PER_SPIN)
    if busy is not None and spins:
        # No more engines spin than are busy.
        most = min(busy, measures["engines"].value or busy)
        seconds_per_spin = min(seconds_per_spin, most / spins)
    spinlocks = _spinlocks(sample, all_time, seconds_per_spin)
    spinning = account.parts.get("spinning")
    return Figures(
        seconds=sample.window("ase_engine_cpu_seconds_total"),
        cpu_busy=measures["busy_share"].value,
        spinning=spinning / all_time if spinning is not None and all_time else None,
        cpu_units=units,
        transactions=transactions,
        throughput=transactions / units if transactions is not None and units else None,
        run_queue=measures["run_queue"].value,
        connections=_sum(sample.values("ase_connections")),
        engines=_engines(engine_time) if all_time is not None else (),
        spinlocks=spinlocks,
        caches=_caches(sample, {spinlock.name: spinlock.contention for spinlock in spinlocks}),
        waits=_waits(sample),
        blocked_processes=measures["blocked"].value,
        max_block=measures["max_block"].value,
        oldest_transaction=_oldest_transaction(sample),
        devices=_devices(sample),
        spaces=_spaces(sample),
        logs_full=tuple(
            labels["database"] for labels, full in sample.values("ase_database_log_full") if full
        ),
        cost=_cost(sample),
    )


Samples = Sequence[tuple[dict[str, str], float]]


def _sum(samples: Samples) -> float | None:
    return math.fsum(value for _, value in samples) if samples else None


def _one(samples: Samples, label: str) -> dict[str, float]:
    return {key[0]: value for key, value in sums_by(samples, label).items()}


def _spinlocks(sample: Sample, all_time: float | None, seconds_per_spin: float) -> tuple[Spinlock, ...]:
    """Spinlocks by CPU burnt, the hottest first. Those that do not spin are left out, but for data caches."""
    found = [
        Spinlock(
            **asdict(each),
            cpu=each.spins * seconds_per_spin / all_time if all_time else None,
            engines=each.spins * seconds_per_spin,
        )
        for each in spinlock_rates(sample)
        if each.spinlock_class == DATA_CACHE or each.spins > 0
    ]
    return tuple(sorted(found, key=lambda spinlock: (-spinlock.spins, -spinlock.grabs, spinlock.name)))


def _engines(engine_time: Samples) -> tuple[Engine, ...]:
    everything = sums_by(engine_time, "instance_id", "engine")
    busy = sums_by([each for each in engine_time if each[0]["mode"] in BUSY], "instance_id", "engine")
    in_order = sorted(everything, key=lambda key: (_number(key[0]), _number(key[1])))
    return tuple(
        Engine(
            f"{key[0]}/{key[1]}" if key[0] else key[1],
            busy.get(key, 0.0) / everything[key] if everything[key] else None,
        )
        for key in in_order
    )


def _number(text: str) -> float:
    return int(text) if text.isdigit() else -1


def _caches(sample: Sample, contention: dict[str, float]) -> tuple[Cache, ...]:
    def rates(name: str) -> dict[str, float]:
        return _one(sample.rates(f"ase_cache_{name}_total"), "cache")

    info = {labels["cache"]: labels for labels, _ in sample.values("ase_cache_info")}
    pools = _one(sample.values("ase_cache_pool_size_bytes"), "cache")
    sizes = pools | _one(sample.values("ase_cache_size_bytes"), "cache")
    partitions = {labels["cache"]: value for labels, value in sample.values("ase_cache_partitions")}
    relaxed = _one(sample.values("ase_cache_relaxed_replacement"), "cache")
    searches, reads = rates("searches"), rates("physical_reads")
    writes, stalls = rates("physical_writes"), rates("stalls")
    found = [
        Cache(
            name=name,
            size=sizes.get(name),
            partitions=partitions.get(name),
            strategy=info[name].get("strategy", ""),
            searches=searches.get(name),
            hits=_hits(searches.get(name), reads.get(name)),
            physical_reads=reads.get(name),
            physical_writes=writes.get(name),
            stalls=stalls.get(name),
            contention=contention.get(name),
            relaxed=bool(relaxed.get(name)),
            pools=_pools(sample, name),
        )
        for name in info
    ]
    return tuple(sorted(found, key=lambda cache: (-(cache.contention or 0.0), -(cache.searches or 0.0))))


def _pools(sample: Sample, cache: str) -> tuple[Pool, ...]:
    def of(samples: Samples) -> dict[str, float]:
        return _one([each for each in samples if each[0]["cache"] == cache], "io_size")

    reads = of(sample.rates("ase_cache_pool_physical_reads_total"))
    stalls = of(sample.rates("ase_cache_pool_stalls_total"))
    sizes = of(sample.values("ase_cache_pool_size_bytes"))
    return tuple(Pool(name, size, reads.get(name), stalls.get(name)) for name, size in sizes.items())


def _hits(searches: float | None, reads: float | None) -> float | None:
    return max(0.0, 1.0 - reads / searches) if searches and reads is not None else None


def _waits(sample: Sample) -> tuple[Wait, ...]:
    if not sample.window("ase_wait_seconds_total"):
        return ()
    seconds = sums_by(sample.rates("ase_wait_seconds_total"), "event", "class", "event_id")
    counts = sums_by(sample.rates("ase_waits_total"), "event", "class", "event_id")
    found = [
        Wait(key[0], key[1], counts.get(key, 0.0), rate, rate / counts[key] if counts.get(key) else None)
        for key, rate in seconds.items()
        if rate > 0 and diagnosis_catalogue().part_of(key[2], key[1])
    ]
    return tuple(sorted(found, key=lambda wait: -wait.seconds))


def _oldest_transaction(sample: Sample) -> tuple[float, str] | None:
    """Age and database of the oldest open transaction."""
    found = sample.values("ase_database_oldest_transaction_seconds")
    return max(((seconds, labels["database"]) for labels, seconds in found), default=None)


def _devices(sample: Sample) -> tuple[Device, ...]:
    ios = sums_by(sample.rates("ase_device_ios_total"), "device", "operation")
    seconds = _one(sample.rates("ase_device_io_seconds_total"), "device")
    found = []
    for name in dict.fromkeys(device for device, _ in ios):
        of = {operation: rate for (device, operation), rate in ios.items() if device == name}
        total = math.fsum(of.values())
        latency = seconds[name] / total if total and name in seconds else None
        reads = of.get("read", 0.0) + of.get("apf_read", 0.0)
        found.append(Device(name, reads, of.get("write", 0.0), total, latency))
    return tuple(sorted(found, key=lambda device: -device.ios))


def _spaces(sample: Sample) -> tuple[Space, ...]:
    """Space by database and use, the fullest first."""
    free = sums_by(sample.values("ase_database_free_bytes"), "database", "use")
    sizes = sums_by(sample.values("ase_database_size_bytes"), "database", "use")
    found = [
        Space(key[0], key[1], size, free[key]) for key, size in sizes.items() if size > 0 and key in free
    ]
    return tuple(sorted(found, key=lambda space: -space.used))


def _cost(sample: Sample) -> OwnCost:
    cpu = sample.series.get(SESSION_CPU)
    used = _sum(sample.rates(SESSION_CPU)) if cpu and cpu.before else None
    return OwnCost(used, sample.statement_share, sample.budget, dict(sample.stretched))
