"""Measurements for advice: counters, configuration and diagnosis of a server, from what any view has read of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ase_exporter.catalogue.versions import Version
from ase_exporter.diagnosis.diagnose import Diagnosis
from ase_exporter.diagnosis.measures import NO_DATA, Readings, Rows, SeriesRows

# Metric, and whether its rate is needed -> what advice lacks without it.
_NEEDED = {
    ("ase_spinlock_grabs_total", True): "spinlocks: no step for them",
    ("ase_config_value", False): "configuration options: current settings are not known",
    ("ase_cache_partitions", False): "data caches: no step for them",
    ("ase_cached_object_bytes", False): "cached objects: no table to bind is named",
}

# All metrics that the evidence is made of.
METRICS = frozenset(
    {
        *(metric for metric, _ in _NEEDED),
        *("ase_spinlock_spins_total", "ase_spinlock_waits_total", "ase_tempdb_sessions_assigned"),
        *("ase_cache_size_bytes", "ase_cache_pool_size_bytes", "ase_cache_relaxed_replacement"),
        *("ase_object_logical_reads_total", "ase_table_size_bytes", "ase_config_configured_value"),
    }
)


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
    """The measurements of one server. seconds: of the window over which rates are taken.

    options: run values by name; pending: names of those that a restart changes. missing: what could not be read, with
    the reason. page_size: bytes. engines: 0 if not known. temporary_databases: names, tempdb included. busy:
    how many engines work or spin, None if not known. diagnosis: of the same window, None to look at spinlocks alone.
    """

    version: Version
    seconds: float
    engines: int
    transactions: float | None
    options: Mapping[str, int]
    spinlocks: tuple[SpinlockRates, ...]
    caches: tuple[DataCache, ...] = ()
    objects: tuple[CachedObject, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    page_size: int = 2048
    temporary_databases: frozenset[str] = frozenset({"tempdb"})
    busy: float | None = None
    diagnosis: Diagnosis | None = None
    pending: frozenset[str] = frozenset()

    @property
    def free_bytes(self) -> float | None:
        """The memory left below max memory; None if it is not known. Both options count pages of 2 KB."""
        maximum, used = self.options.get("max memory"), self.options.get("total logical memory")
        return None if not maximum or not used else max(0.0, (maximum - used) * 2048.0)


def evidence_of(
    readings: Readings,
    diagnosis: Diagnosis,
    version: Version,
    seconds: float,
    *,
    page_size: int,
    options: Mapping[str, int] | None = None,
) -> Evidence:
    """What was read of a server, with its diagnosis.

    seconds: of the window. options: run values that count where the metrics lack them.
    """
    measures = diagnosis.measures
    read = {labels["name"]: int(value) for labels, value in readings.values("ase_config_value")}
    configured = ((labels["name"], int(v)) for labels, v in readings.values("ase_config_configured_value"))
    assigned = readings.values("ase_tempdb_sessions_assigned")
    return Evidence(
        version=version,
        seconds=seconds,
        engines=int(measures["engines"].value or 0),
        transactions=measures["transactions"].value,
        options={**(options or {}), **read},
        spinlocks=_spinlocks(readings),
        caches=_caches(readings),
        objects=_objects(readings),
        missing={
            metric: f"{lacks} ({readings.unknown(metric, is_rate=is_rate) or NO_DATA})"
            for (metric, is_rate), lacks in _NEEDED.items()
            if not (readings.rates(metric) if is_rate else readings.values(metric))
        },
        page_size=page_size,
        temporary_databases=frozenset({"tempdb", *(labels["database"] for labels, _ in assigned)}),
        busy=measures["busy"].value,
        diagnosis=diagnosis,
        pending=frozenset(name for name, value in configured if read.get(name, value) != value),
    )


def _sums(rows: Rows, *labels: str) -> dict[tuple[str, ...], float]:
    """Sums by the values of these labels."""
    return SeriesRows.of(rows).sums((), labels)


def _spinlocks(readings: Readings) -> tuple[SpinlockRates, ...]:
    """Spinlocks by name and class. Over the instances of a cluster, they are summed."""
    grabs, spins, waits = (
        _sums(readings.rates(f"ase_spinlock_{what}_total"), "spinlock", "class")
        for what in ("grabs", "spins", "waits")
    )
    return tuple(
        SpinlockRates(key[0], key[1], rate, spins.get(key, 0.0), waits.get(key, 0.0))
        for key, rate in grabs.items()
    )


def _caches(readings: Readings) -> tuple[DataCache, ...]:
    def of(metric: str, cache: str) -> list[float]:
        return [value for labels, value in readings.values(metric) if labels["cache"] == cache]

    names = dict.fromkeys(labels["cache"] for labels, _ in readings.values("ase_cache_partitions"))
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


def _objects(readings: Readings) -> tuple[CachedObject, ...]:
    """Tables with their indexes summed. The catalogue's `rest` is left out: it is no single object."""
    cached = _sums(readings.values("ase_cached_object_bytes"), "database", "object")
    reads = _sums(readings.rates("ase_object_logical_reads_total"), "database", "object")
    caches: dict[tuple[str, ...], str] = {}
    for labels, _ in readings.values("ase_cached_object_bytes"):
        caches.setdefault((labels["database"], labels["object"]), labels["cache"])
    owners = _owners(_sums(readings.values("ase_table_size_bytes"), "database", "object", "owner"))
    return tuple(
        CachedObject(
            key[0],
            key[1],
            caches.get(key, ""),
            reads.get(key, 0.0),
            cached.get(key, 0.0),
            *owners.get(key, ("", 0.0)),
        )
        for key in dict.fromkeys([*reads, *cached])
        if key[1] not in ("", "rest")
    )


def _owners(sizes: Mapping[tuple[str, ...], float]) -> dict[tuple[str, ...], tuple[str, float]]:
    """Owner and size of tables, but of those whose name has several owners: they cannot be told apart."""
    owners = Counter(key[:2] for key in sizes)
    return {key[:2]: (key[2], size) for key, size in sizes.items() if owners[key[:2]] == 1}
