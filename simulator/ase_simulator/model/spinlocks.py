"""Spinlock names, the number of slots of each, and the share of grabs that falls on each slot."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from zlib import crc32

import numpy as np

from ase_simulator.model.options import Options
from ase_simulator.model.queueing import Array
from ase_simulator.schema.profiles import parse_level
from ase_simulator.yaml_text import load_yaml

Slots = int | str | dict[str, int | str]

_SKEW = 0.3
_MAX_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Spinlock:
    """One name of spinlocks.yaml, where the fields are explained."""

    name: str
    slots: Slots
    each: dict[str, float]
    hold_ns: float
    skew: float = _SKEW
    scattered: bool = True
    since: str = "0.0"


@cache
def catalogue(version: str) -> tuple[Spinlock, ...]:
    """The spinlocks of every server of that version, those of data caches aside."""
    text = resources.files("ase_simulator.model").joinpath("spinlocks.yaml").read_text("utf-8")
    found = (Spinlock(**row) for row in load_yaml(text))
    return tuple(spinlock for spinlock in found if parse_level(spinlock.since) <= parse_level(version))


def shares(spinlock: Spinlock, options: Options, engines: int, seed: int) -> Array:
    """The share of the grabs that falls on each slot; they add up to 1.

    A hash table of R rows, one spinlock for each N of them, has ceil(R / N) slots; the last one protects what
    is left. With 1031 rows, a ratio of 100 gives 11 slots, and 5 gives 207.
    """
    slots = spinlock.slots
    if isinstance(slots, dict):
        rows, per = slots["rows"], str(slots["per"])
        return _hashed(
            spinlock.name,
            options.run(rows) if isinstance(rows, str) else rows,
            options.run(per),
            spinlock.skew,
            spinlock.scattered,
            seed,
        )
    return spread(spinlock.name, engines if isinstance(slots, str) else slots, spinlock.skew, seed)


@cache
def spread(name: str, slots: int, skew: float, seed: int) -> Array:
    """Shares of plain slots: the k-th busiest has k ** -skew of the busiest (Zipf), in an order by seed."""
    random = np.random.default_rng([seed, crc32(name.encode())])
    return random.permutation(_zipf(slots, skew))


@cache
def _hashed(name: str, rows: int, per: int, skew: float, scattered: bool, seed: int) -> Array:
    """Shares of spinlocks that protect `per` rows each.

    Descriptors that are opened together are adjacent, so that one spinlock protects many of the busiest;
    hashed rows are scattered. Tables of more than _MAX_ROWS rows are modelled by as many.
    """
    if rows > _MAX_ROWS:
        per = max(1, round(per * _MAX_ROWS / rows))
        rows = _MAX_ROWS
    weights = spread(name, rows, skew, seed) if scattered else _zipf(rows, skew)
    return np.add.reduceat(weights, np.arange(0, rows, per))


def _zipf(slots: int, skew: float) -> Array:
    weights = np.arange(1, slots + 1, dtype=np.float64) ** -skew
    shares: Array = weights / weights.sum()
    return shares
