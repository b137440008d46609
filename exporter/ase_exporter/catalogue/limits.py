"""A bound on how many series one target may have."""

from collections.abc import Mapping, Sequence

from ase_exporter.families import Family


def limit_series(groups: Mapping[str, Sequence[Family]], limit: int) -> list[Family]:
    """The families of all collectors with at most `limit` samples in all, and a family that says what was
    cut.

    Small collectors stay whole; the largest ones are cut to the same size, and within one its largest
    families.
    What is kept are the first samples by labels, so that the same series stay from scrape to scrape.
    """
    sizes = {name: sum(len(family.samples) for family in families) for name, families in groups.items()}
    kept: list[Family] = []
    cut = Family(
        "ase_exporter_series_cut",
        "gauge",
        "Series of a collector that are left out to keep the target's limit.",
        ("collector",),
    )
    most = _level(list(sizes.values()), limit)
    for name, families in groups.items():
        if sizes[name] <= most:
            kept += families
            continue
        most_each = _level([len(family.samples) for family in families], most)
        shortened = [_shorten(family, most_each) for family in families]
        kept += [family for family in shortened if family.samples]
        cut.add(sizes[name] - sum(len(family.samples) for family in shortened), name)
    return [*kept, cut] if cut.samples else kept


def _level(sizes: Sequence[int], limit: int) -> int:
    """The largest n for which all sizes, each capped at n, sum to at most the limit."""
    if sum(sizes) <= limit:
        return max(sizes, default=0)
    left, remaining = limit, len(sizes)
    for size in sorted(sizes):
        if size * remaining > left:
            break
        left -= size
        remaining -= 1
    return left // remaining


def _shorten(family: Family, most: int) -> Family:
    if len(family.samples) <= most:
        return family
    samples = sorted(family.samples, key=lambda sample: tuple(sample[0]))[:most]
    return Family(family.name, family.kind, family.help, family.labels, samples)
