"""The evidence for advice, from the metrics of a server in Prometheus instead of from the server itself."""

from collections import defaultdict
from dataclasses import replace

from ase_exporter.advise.evidence import Evidence, evidence_of
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.compare.comparison import INTERVALS_PER_SAMPLE
from ase_exporter.compare.coverage import read_covered
from ase_exporter.compare.prometheus import Labels, Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.errors import UserError

COUNTERS = (
    "ase_spinlock_grabs_total",
    "ase_spinlock_spins_total",
    "ase_spinlock_waits_total",
    "ase_transactions_total",
    "ase_engine_cpu_seconds_total",
    "ase_object_logical_reads_total",
)
GAUGES = (
    "ase_connections",
    "ase_engines",
    "ase_run_queue_length",
    "ase_info",
    "ase_config_value",
    "ase_cache_partitions",
    "ase_cache_size_bytes",
    "ase_cache_relaxed_replacement",
    "ase_cache_pool_size_bytes",
    "ase_cached_object_bytes",
    "ase_tempdb_sessions_assigned",
)


# Gauge -> what advice lacks without it.
_NEEDED = {
    "ase_info": "version: features that later versions have are not named",
    "ase_config_value": "configuration options: current settings are not known",
    "ase_cache_partitions": "data caches: no step for them",
    "ase_cache_pool_size_bytes": "page size: taken for 16 KB, the most cautious",
    "ase_cached_object_bytes": "cached objects (collector cached_objects): no table to bind is named",
}
# The sizes of ASE's pages.
_PAGE_BYTES = (2048, 4096, 8192, 16384)


def evidence(prometheus: Prometheus, selector: str, span: Span) -> Evidence:
    """What `advise` needs, as rates over the longest part of a window without a gap, with the settings at its end.

    Less than a server itself says: owners of tables and CPU flags are not metrics. `missing` names what the
    exporter was not configured to read. Raises UserError without data or without spinlocks.
    """
    covered = read_covered(prometheus, selector, span)
    span = covered.span
    if span.seconds < INTERVALS_PER_SAMPLE * covered.interval:
        needed = f"at least {INTERVALS_PER_SAMPLE * covered.interval:.0f} s"
        raise UserError(f"window {span.name}: it has {span.seconds:.0f} s; expected {needed}")
    samples: defaultdict[str, list[tuple[Labels, float]]] = defaultdict(list)
    window = f"[{max(1, round(span.seconds))}s]"
    for name in COUNTERS:
        for sample in prometheus.query(f"rate({name}{{{selector}}}{window})", span.end):
            samples[name].append((sample.labels, sample.value))
    matcher = f'__name__=~"{"|".join(GAUGES)}", {selector}'
    for sample in prometheus.query(f"last_over_time({{{matcher}}}{window})", span.end):
        samples[sample.labels["__name__"]].append((sample.labels, sample.value))
    if not samples["ase_spinlock_grabs_total"]:
        reason = "Prometheus has no spinlocks of it (ase-exporter check says why)"
        raise UserError(f"{{{selector}}}: {reason}")
    buffers = [_size(labels["io_size"]) for labels, _ in samples["ase_cache_pool_size_bytes"]]
    return replace(
        evidence_of(samples, span.seconds, parse_version(_version(samples["ase_info"]))),
        options={labels["name"]: int(value) for labels, value in samples["ase_config_value"]},
        missing={name: why for name, why in _NEEDED.items() if not samples[name]},
        # The smallest buffers of any pool are pages.
        page_size=min((size for size in buffers if size in _PAGE_BYTES), default=_PAGE_BYTES[-1]),
        temporary_databases=frozenset(
            {"tempdb", *(labels["database"] for labels, _ in samples["ase_tempdb_sessions_assigned"])}
        ),
    )


def _version(info: list[tuple[Labels, float]]) -> str:
    """The version of the server; without one, the oldest: then no feature is offered that it may not have."""
    return next((labels["version"] for labels, _ in info if labels.get("version")), "12.5")


def _size(text: str) -> int:
    return int(text) if text.isdecimal() else 0
