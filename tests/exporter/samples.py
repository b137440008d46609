"""Samples of metric families as tests compare them."""

from collections.abc import Iterable

from ase_exporter.metrics.families import Family
from ase_exporter.scraping.result import ScrapeResult

Samples = dict[str, dict[tuple[str, ...], float]]


def by_name(families: Iterable[Family]) -> Samples:
    """The samples of each family by the values of its labels."""
    return {family.name: {tuple(labels): value for labels, value in family.samples} for family in families}


def exported(result: ScrapeResult, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a metric in the answer to a caller; empty without the metric."""
    return by_name(result.all_families(stuck=False)).get(name, {})
