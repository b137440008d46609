"""Limits how many series one target may have, by importance: what alerts and the diagnosis read is never cut."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from ase_exporter.assets import shipped_rows
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family

# What the others get of the limit, however much alerts read: small collectors are then whole.
_OTHERS = 0.2


def limit_series(groups: Mapping[str, Sequence[Family]], limit: int) -> list[Family]:
    """The families of all collectors with at most `limit` samples and one at least, and one that counts what was cut.

    groups: collector -> families. What alerts and the diagnosis read stays whole, even above the limit. What is left,
    or a fifth of the limit, goes to metrics of dashboards, then to the others. Within each of these, small collectors
    stay whole; the largest are cut to one common size, and so are the largest families within them. The first samples
    in the order of labels are kept, so that the same series stay from scrape to scrape.
    """
    shown = [family for families in groups.values() for family in families if family.samples]
    if _size(shown) <= limit:
        return shown
    kept = {id(family): family for families in groups.values() for family in families}
    needed = _size(family for family in kept.values() if _rank(family) == "alerts")
    left = max(limit - needed, _OTHERS * limit)
    for rank in ("dashboards", ""):
        ranked = [[family for family in families if _rank(family) == rank] for families in groups.values()]
        level = fill_level(map(_size, ranked), left)
        for chosen in ranked:
            kept.update({id(family): short for family, short in _shortened(chosen, level)})
            left -= _size(kept[id(family)] for family in chosen)
    cut = OWN.family("ase_exporter_series_cut")
    for name, families in groups.items():
        if missing := _size(families) - _size(kept[id(family)] for family in families):
            cut.add(missing, name)
    return [family for family in [*kept.values(), cut] if family.samples]


def fill_level(sizes: Iterable[float], limit: float) -> float:
    """The level for which all sizes, each capped at it, sum to the limit; infinity if they sum to less."""
    ordered, left = sorted(sizes), max(0.0, limit)
    for index, size in enumerate(ordered):
        level = left / (len(ordered) - index)
        if size > level:
            return level
        left -= size
    return math.inf


def _size(families: Iterable[Family]) -> int:
    return sum(len(family.samples) for family in families)


def _rank(family: Family) -> str:
    """Who reads a metric: "alerts", "dashboards" or, as with custom metrics, nobody that is known ("")."""
    return _importance().get(family.name, ("", ""))[0]


def alerts_that_read(metrics: Iterable[str]) -> list[str]:
    """The names of the alerts that need any of these metrics."""
    return sorted({alert for name in metrics for alert in _importance().get(name, ("", ""))[1].split()})


@cache
def _importance() -> dict[str, tuple[str, str]]:
    """Who reads a metric, and in which alerts."""
    rows = shipped_rows(Path(__file__).with_name("importance.csv"))
    return {row["metric"]: (row["read_by"], row["alerts"]) for row in rows}


def _shortened(families: Sequence[Family], level: float) -> Iterable[tuple[Family, Family]]:
    """Each family, and what is kept of it so that all together have at most `level` samples."""
    if _size(families) > level:
        most = int(fill_level([len(family.samples) for family in families], int(level)))
        for family in families:
            if len(family.samples) > most:
                samples = sorted(family.samples, key=lambda sample: tuple(sample[0]))[:most]
                yield family, replace(family, samples=samples)
