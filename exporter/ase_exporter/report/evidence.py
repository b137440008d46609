"""Advice on an hour of the past: its evidence comes from series in Prometheus, and lacks what they do not say."""

from ase_exporter.advise.advice import Advice, advise
from ase_exporter.advise.evidence import Evidence, Samples, evidence_from_samples
from ase_exporter.catalogue.versions import Version, parse_version
from ase_exporter.compare.prometheus import Labels, Prometheus
from ase_exporter.report.history import range_text

# Growth over the hour.
COUNTERS = (
    "ase_transactions_total",
    "ase_spinlock_grabs_total",
    "ase_spinlock_spins_total",
    "ase_spinlock_waits_total",
)
# The last value in the hour.
GAUGES = (
    "ase_engines",
    "ase_cache_partitions",
    "ase_cache_size_bytes",
    "ase_cache_relaxed_replacement",
    "ase_cache_pool_size_bytes",
    "ase_config_value",
    "ase_info",
)
# The sizes of ASE's pages. A server's is that of the smallest buffers of its caches.
_PAGE_SIZES = (2048, 4096, 8192, 16384)
NOT_IN_PROMETHEUS = {
    "objects": "which tables cause the contention is known on the server alone: ase-exporter advise",
    "CPU of the host": "whether it offers transactional memory: ase-exporter advise --cpuinfo FILE",
}


def advice_at(
    server: Prometheus, selector: str, start: float, seconds: float
) -> tuple[Advice | None, tuple[str, ...]]:
    """Advice on the time from `start`, and what could not be known; no advice without spinlocks."""
    samples = _samples(server, selector, start, seconds)
    if not samples.get("ase_spinlock_grabs_total"):
        return None, ("spinlocks: Prometheus has none of that hour",)
    evidence, unknown = _evidence(samples, seconds)
    return advise(evidence), unknown


def _samples(server: Prometheus, selector: str, start: float, seconds: float) -> Samples:
    """Samples by metric, as a scrape would give them: growth of counters over the time, last values of gauges."""
    width, end = range_text(seconds), start + seconds
    found = {
        name: [
            (sample.labels, sample.value)
            for sample in server.query(
                f"sum by (spinlock, class) (increase({name}{{{selector}}}[{width}]))", end
            )
        ]
        for name in COUNTERS
    }
    gauges = f'last_over_time({{__name__=~"{"|".join(GAUGES)}", {selector}}}[{width}])'
    for sample in server.query(gauges, end):
        found.setdefault(sample.labels["__name__"], []).append((sample.labels, sample.value))
    return found


def _evidence(samples: Samples, seconds: float) -> tuple[Evidence, tuple[str, ...]]:
    options = {labels["name"]: int(value) for labels, value in samples.get("ase_config_value", ())}
    version, page_size = _version(samples), _page_size(samples)
    missing = dict(NOT_IN_PROMETHEUS)
    if version is None:
        missing["version"] = "no series ase_info: Memscale features are left out"
    if page_size is None:
        missing["page size"] = "no series of cache pools: taken for 16 KB, the most cautious"
    if not options:
        missing["options"] = "no series ase_config_value: current settings are unknown"
    evidence = evidence_from_samples(
        samples,
        seconds,
        version=version or Version((0, 0, 0, 0, 0)),
        options=options,
        page_size=page_size or _PAGE_SIZES[-1],
        missing=missing,
    )
    return evidence, tuple(f"{what}: {why}" for what, why in missing.items())


def _version(samples: Samples) -> Version | None:
    banners = [labels.get("banner", "") for labels, _ in samples.get("ase_info", ())]
    try:
        return parse_version(banners[-1]) if banners else None
    except ValueError:
        return None


def _page_size(samples: Samples) -> int | None:
    sizes = [_io_size(labels) for labels, _ in samples.get("ase_cache_pool_size_bytes", ())]
    return min((size for size in sizes if size in _PAGE_SIZES), default=None)


def _io_size(labels: Labels) -> int:
    text = labels.get("io_size", "")
    return int(text) if text.isdigit() else 0
