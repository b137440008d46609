"""The remedies for findings and hot spinlocks, as remedies.yaml lists them, and the steps that they lead to."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Annotated

from annotated_types import Gt, Lt

from ase_exporter.advise.evidence import Evidence
from ase_exporter.config import yaml_files
from ase_exporter.config.fields import Strict
from ase_exporter.diagnosis.catalogue import Bounds, Limit, threshold
from ase_exporter.diagnosis.diagnose import Finding, Subject
from ase_exporter.diagnosis.measures import Measures
from ase_exporter.untrusted.encoders import is_writable, sql_identifier, sql_literal
from ase_exporter.views.figures import shown, size

_FILE = Path(__file__).with_name("remedies.yaml")


@dataclass(frozen=True, kw_only=True, slots=True)
class SpinlockRatio(Strict):
    """An option that sets how many rows one spinlock protects.

    rows: the number of rows, or the option that holds it. ladder: values worth trying, the largest first.
    """

    option: str
    rows: int | str
    ladder: Sequence[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionIncrease(Strict):
    """An option to raise by a factor, or the cache of that name.

    unit_bytes: memory of one unit of the option. each: the option that says how often that much memory is taken.
    """

    option: str
    factor: float
    unit_bytes: int
    each: str | None = None

    def step(self, evidence: Evidence) -> "AdviceStep | None":
        """The statement with its arithmetic; None if the value now is not known."""
        cache = next((each for each in evidence.caches if each.name == self.option), None)
        now = round(cache.size_bytes / self.unit_bytes) if cache else evidence.options.get(self.option)
        times = evidence.options.get(self.each) if self.each else 1
        if not now or not times:
            return None
        wanted = math.ceil(now * self.factor)
        statement = f"exec sp_configure '{self.option}', {wanted}"
        if cache:
            statement = f"exec sp_cacheconfig {sql_literal(self.option)}, '{wanted}M'"
        memory = (wanted - now) * self.unit_bytes * times
        return AdviceStep((statement,), f"from {now:,} to {wanted:,}", memory=memory)


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionLimits(Strict):
    """Limits of cache partitions. pool_pages: the minimum of each pool in each partition, in server pages."""

    max_partitions: int
    pool_pages: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedy(Strict):
    """One entry of `remedies`; the comments in remedies.yaml describe the fields."""

    protects: str
    contention: Limit
    spinlock: str | None = None
    spinlock_class: str | None = None
    ratio: SpinlockRatio | None = None
    increase: OptionIncrease | None = None
    partitions: PartitionLimits | None = None
    static: bool = False
    cautions: Sequence[str] = ()
    switches: Mapping[str, str] = field(default_factory=dict)
    sources: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raises ValueError if alternatives are combined or missing."""
        if (self.spinlock is None) == (self.spinlock_class is None):
            raise ValueError("expected exactly one of spinlock, spinlock_class")
        if sum(way is not None for way in (self.ratio, self.increase, self.partitions)) != 1:
            raise ValueError("expected exactly one of ratio, increase, partitions")

    @property
    def limit(self) -> float:
        """The contention from which action is called for, 0-1."""
        return threshold(self.contention)

    @property
    def target(self) -> float:
        """The contention that is aimed at, 0-1: well below the limit, as the throughput will grow."""
        return min(remedies().target_contention, self.limit / 3)


@dataclass(frozen=True, kw_only=True, slots=True)
class CauseRemedy(Strict):
    """What eases a finding of the diagnosis; the comments in remedies.yaml describe the fields."""

    assumes: str
    when: Mapping[str, Bounds] = field(default_factory=dict)
    sql: Sequence[str] = ()
    increase: OptionIncrease | None = None
    restart: bool = False
    costs: str = ""
    warnings: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raises ValueError if there is nothing to run, or two ways to say it."""
        if (self.increase is None) == (not self.sql):
            raise ValueError("expected exactly one of sql, increase")

    def applies(self, measures: Measures) -> bool:
        """Whether it fits what was measured; not where that is not known."""
        return all(bounds.hold(measures[name].value) for name, bounds in self.when.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class MemscaleFeature(Strict):
    """A Memscale feature. since: the first ASE version that has it."""

    group: str
    name: str
    since: str
    caveat: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RemedyCatalogue(Strict):
    """The content of remedies.yaml."""

    target_contention: Annotated[float, Gt(0), Lt(1)]
    do_not: Sequence[str]
    binding_warnings: Sequence[str]
    single_user_warning: str
    causes: Mapping[str, Sequence[CauseRemedy]]
    remedies: Sequence[Remedy]
    features: Sequence[MemscaleFeature]

    def for_spinlock(self, name: str, spinlock_class: str) -> Remedy | None:
        """The first remedy for a spinlock of that name or class; None if there is none."""
        return next(
            (r for r in self.remedies if name == r.spinlock or spinlock_class == r.spinlock_class), None
        )


@dataclass(frozen=True, slots=True)
class AdviceStep:
    """One thing to do.

    statements: SQL to run, each in a batch of its own. why: the arithmetic. restart: it takes effect at the next start
    of the server. memory: bytes more. locks: tables are locked meanwhile. warnings: what to know before. assumes: on
    what its effect depends. costs: what else it costs. share: of session time that what it eases explains, 0-1, None
    if that is not known; engines: that spin on what it eases.
    """

    statements: tuple[str, ...]
    why: str
    restart: bool = False
    memory: float = 0.0
    locks: bool = False
    warnings: tuple[str, ...] = ()
    assumes: str = ""
    costs: str = ""
    share: float | None = None
    engines: float = 0.0

    @property
    def single_user(self) -> bool:
        return any("single user" in statement for statement in self.statements)

    @property
    def downtime(self) -> bool:
        """Whether it needs a restart or single-user mode."""
        return self.restart or self.single_user

    @property
    def price(self) -> str:
        """What it costs, in words."""
        parts = [
            ("a restart", self.restart),
            ("single-user mode", self.single_user),
            ("locked tables, read from disk again", self.locks),
            (f"{size(self.memory)} of memory", self.memory > 0),
            (self.costs, bool(self.costs)),
        ]
        return ", ".join(name for name, applies in parts if applies) or "nothing: it takes effect at once"

    @property
    def ceiling(self) -> str:
        """What can be gained at most, in words: all the time that what it eases explains."""
        if self.share is not None:
            most = f"at most {shown(self.share, 'ratio')} of session time"
        elif self.engines:
            most = f"at most {shown(self.engines)} engines, which spin"
        else:
            most = "no share of session time is known for it"
        return f"{most}, if {self.assumes}" if self.assumes else most

    def joined(self, other: "AdviceStep") -> "AdviceStep":
        """Both as one step."""
        shares = [each.share for each in (self, other) if each.share is not None]
        return AdviceStep(
            (*self.statements, *other.statements),
            f"{self.why}; {other.why}",
            restart=self.restart or other.restart,
            memory=self.memory + other.memory,
            locks=self.locks or other.locks,
            warnings=tuple(dict.fromkeys((*self.warnings, *other.warnings))),
            share=sum(shares) if shares else None,
            engines=self.engines + other.engines,
        )


def cause_step(remedy: CauseRemedy, finding: Finding, evidence: Evidence) -> AdviceStep | None:
    """The step of a remedy for a finding; None if it needs a name or a value that is not known."""
    if remedy.increase:
        step = remedy.increase.step(evidence)
    else:
        names = _names(finding.subject)
        if not all(name in names for each in remedy.sql for _, name, _, _ in Formatter().parse(each) if name):
            return None
        step = AdviceStep(tuple(each.format(**names) for each in remedy.sql), "")
    if step is None:
        return None
    return replace(
        step,
        restart=remedy.restart,
        warnings=tuple(remedy.warnings),
        assumes=remedy.assumes,
        costs=remedy.costs,
        share=finding.share,
    )


def _names(subject: Subject | None) -> dict[str, str]:
    """What a finding is about, as statements write it; without names that could be more than a name."""
    if subject is None or not is_writable(subject.name):
        return {}
    found = {"literal": sql_literal(subject.name), "identifier": sql_identifier(subject.name)}
    if subject.name.isdigit():
        found["spid"] = subject.name
    database, _, table = subject.name.partition(" ")
    if subject.kind == "table" and table and " " not in table:
        found["table"] = f"{sql_identifier(database)}..{sql_identifier(table)}"
    return found


def matters(grabs: float, engines: float) -> bool:
    """Whether contention matters, at so many grabs per second that burn so many engines."""
    if grabs > threshold("spinlock.min_grabs_per_second"):
        return engines > threshold("spinlock.min_engine_share")
    return grabs > threshold("spinlock.few_grabs_per_second") and engines > threshold(
        "spinlock.few_grabs_engine_share"
    )


@cache
def remedies() -> RemedyCatalogue:
    """The content of remedies.yaml."""
    return yaml_files.load_shipped(_FILE, RemedyCatalogue)
