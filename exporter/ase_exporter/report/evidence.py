"""Advice on an hour of the past, from metrics."""

from ase_exporter.advise.advice import Advice, advise
from ase_exporter.analysis.evidence import NoSpinlocksError, evidence
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span

NOT_IN_PROMETHEUS = (
    "CPU of the host: whether it offers transactional memory: ase-exporter advise --cpuinfo FILE"
)


def advice_at(
    server: Prometheus, selector: str, start: float, seconds: float
) -> tuple[Advice | None, tuple[str, ...]]:
    """Advice on the time from `start`, and what could not be known; no advice without spinlocks."""
    try:
        found = evidence(server, selector, Span("the worst hour", start, start + seconds))
    except NoSpinlocksError:
        return None, ("spinlocks: Prometheus has none of that hour",)
    return advise(found), (NOT_IN_PROMETHEUS, *found.missing.values())
