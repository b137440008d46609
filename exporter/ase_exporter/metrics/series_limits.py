"""Limits how many series one target may have."""

from collections.abc import Mapping, Sequence

from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.water_filling import fill_level


def limit_series(groups: Mapping[str, Sequence[Family]], limit: int) -> list[Family]:
    """The families of all collectors with at most `limit` samples, and a family that counts what was cut.

    groups: collector -> families. Small collectors stay whole; the largest are cut to one common size, and so
    are the largest families within them. The first samples in the order of labels are kept, so that the same
    series stay from scrape to scrape.
    """
    sizes = {name: sum(len(family.samples) for family in families) for name, families in groups.items()}
    kept: list[Family] = []
    cut = OWN.family("ase_exporter_series_cut")
    max_size = fill_level(sizes.values(), limit)
    for name, families in groups.items():
        if sizes[name] <= max_size:
            kept += families
            continue
        max_samples = int(fill_level([len(family.samples) for family in families], int(max_size)))
        shortened = [_shorten(family, max_samples) for family in families]
        kept += [family for family in shortened if family.samples]
        cut.add(sizes[name] - sum(len(family.samples) for family in shortened), name)
    return [*kept, cut] if cut.samples else kept


def _shorten(family: Family, max_samples: int) -> Family:
    if len(family.samples) <= max_samples:
        return family
    samples = sorted(family.samples, key=lambda sample: tuple(sample[0]))[:max_samples]
    return Family(family.name, family.kind, family.help, family.labels, samples, family.created)
