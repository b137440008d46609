"""The knowledge in remedies.yaml, typed."""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Annotated, Self

from pydantic import Field, model_validator

from ase_exporter import yamlfile
from ase_exporter.settings import Model


class Ratio(Model):
    """An option that sets how many rows one spinlock guards."""

    option: str
    rows: int | str
    ladder: Sequence[int]


class Grow(Model):
    """An option to raise by a factor; unit_bytes: memory of one unit of it."""

    option: str
    factor: float
    unit_bytes: int


class Partitions(Model):
    """Cache partitions: the most there can be, and the least memory of a pool in each."""

    most: int
    pool_bytes: int


class Remedy(Model):
    """One entry; see the comments in remedies.yaml."""

    guards: str
    contention: float
    spinlock: str | None = None
    spinlock_class: str | None = Field(default=None, alias="class")
    ratio: Ratio | None = None
    grow: Grow | None = None
    partitions: Partitions | None = None
    static: bool = False
    memory_bytes: int = 0
    cautions: Sequence[str] = ()
    sources: Sequence[str] = ()

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.spinlock is None) == (self.spinlock_class is None):
            raise ValueError("expected exactly one of spinlock, class")
        if sum(way is not None for way in (self.ratio, self.grow, self.partitions)) != 1:
            raise ValueError("expected exactly one of ratio, grow, partitions")
        return self


class Feature(Model):
    """A Memscale feature, offered with its caveat."""

    group: str
    name: str
    since: str
    caveat: str


class Remedies(Model):
    """The whole file."""

    seconds_per_spin: Annotated[float, Field(gt=0)]
    min_grabs_per_second: float
    min_spins_per_second: float
    target_contention: Annotated[float, Field(gt=0, lt=1)]
    do_not: Sequence[str]
    remedies: Sequence[Remedy]
    features: Sequence[Feature]

    def for_spinlock(self, name: str, spinlock_class: str) -> Remedy | None:
        """The first entry that fits a spinlock by name or class."""
        return next(
            (r for r in self.remedies if name == r.spinlock or spinlock_class == r.spinlock_class), None
        )


@cache
def remedies() -> Remedies:
    """What the package knows."""
    text = (resources.files(__package__) / "remedies.yaml").read_text(encoding="utf-8")
    return yamlfile.parse(text, Remedies, "remedies.yaml")
