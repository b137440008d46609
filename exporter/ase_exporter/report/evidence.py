"""The evidence for advice, from the metrics of a server in Prometheus instead of from the server itself."""

from dataclasses import replace

from ase_exporter.advise.evidence import Evidence, evidence_of
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.compare.comparison import INTERVALS_PER_SAMPLE
from ase_exporter.compare.coverage import read_covered
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.errors import UserError
from ase_exporter.report.diagnosing import PrometheusReadings, diagnosed

# Metric -> what advice lacks without it, beside what it lacks wherever the evidence comes from.
_NEEDED = {
    "ase_info": "version: features that later versions have are not named",
    "ase_cache_pool_size_bytes": "page size: taken for 16 KB, the most cautious",
}
# The sizes of ASE's pages.
_PAGE_BYTES = ("2048", "4096", "8192", "16384")


def evidence(prometheus: Prometheus, selector: str, span: Span) -> Evidence:
    """What `advise` needs, as rates over the longest part of a window without a gap, with the settings at its end.

    Less than a server itself says: owners of tables and CPU flags are not metrics. `missing` names what the
    exporter was not configured to read. Raises UserError without data.
    """
    covered = read_covered(prometheus, selector, span)
    if covered.span.seconds < INTERVALS_PER_SAMPLE * covered.interval:
        needed = f"at least {INTERVALS_PER_SAMPLE * covered.interval:.0f} s"
        raise UserError(f"window {span.name}: it has {covered.span.seconds:.0f} s; expected {needed}")
    readings = PrometheusReadings(prometheus, selector, covered.span)
    # Without a version, the oldest: then no feature is offered that the server may not have.
    versions = [labels["version"] for labels, _ in readings.values("ase_info") if labels.get("version")]
    buffers = {labels["io_size"] for labels, _ in readings.values("ase_cache_pool_size_bytes")}
    found = evidence_of(
        readings,
        diagnosed(readings, span),
        parse_version(versions[0] if versions else "12.5"),
        covered.span.seconds,
        # The smallest buffers of any pool are pages.
        page_size=int(next((size for size in _PAGE_BYTES if size in buffers), _PAGE_BYTES[-1])),
    )
    lacks = {name: why for name, why in _NEEDED.items() if not readings.values(name)}
    return replace(found, missing={**found.missing, **lacks})
