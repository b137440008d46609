"""Evidence weighed: which spinlocks burn CPU, what eases each, and what that should bring.

The arithmetic of predictions (an approximation, and said to be one wherever it is shown): a grab that meets a
busy spinlock is a wait, so contention c of a spinlock with offered load a (grabs a second times seconds held)
is about c = a / (1 + a). Spread over k times as many spinlocks, each has the load a / k, so

    predicted contention = (c / (1 - c) / k) / (1 + c / (1 - c) / k)

Small contention falls in proportion, as SAP says of cache partitions; large contention falls more slowly. It
takes grabs to be spread evenly: where a few hot rows share one spinlock, less is gained.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ase_exporter.advise.evidence import Cache, DatabaseObject, Evidence, Spinlock
from ase_exporter.advise.remedies import Feature, Partitions, Ratio, Remedy, remedies
from ase_exporter.catalogue.versions import parse_version

Severity = Literal["severe", "hot", "busy", "quiet"]

SEVERE = 0.5
# Beyond one partition for two engines, pages of hot objects meet in the same partition all the same.
ENGINES_PER_PARTITION = 2
SYSTEM_CACHE = "system tables cache"
KEY_CACHE = "key tables cache"
# System tables are worth a cache of their own from this share of the reads on.
SYSTEM_SHARE = 0.05
# Key tables are moved until this share of the remaining reads has moved.
KEY_SHARE = 0.8
ROOM = 1.25
LEAST_CACHE_MB = 64


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do. statements: to be run as they stand; why: the arithmetic; predicted: contention after it,
    where that can be said; restart: it takes effect at the next start only."""

    statements: tuple[str, ...]
    why: str
    predicted: float | None = None
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One spinlock that matters, or that looks as if it did. engines: how many it keeps spinning, about."""

    spinlock: Spinlock
    severity: Severity
    engines: float
    guards: str = ""
    present: str = ""
    steps: tuple[Step, ...] = ()
    cautions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """All of it, the dearest spinlock first. features: Memscale, where it would help; do_not: for everybody."""

    evidence: Evidence
    findings: tuple[Finding, ...]
    features: tuple[Feature, ...] = ()
    do_not: tuple[str, ...] = ()

    @property
    def spinning(self) -> float:
        """Engines that all spinlocks together keep spinning, about."""
        return sum(finding.engines for finding in self.findings)


def advise(evidence: Evidence) -> Advice:
    """Rank the spinlocks by the CPU they burn and say what eases those that call for it."""
    findings = sorted(
        (_finding(spinlock, evidence) for spinlock in evidence.spinlocks),
        key=lambda finding: finding.engines,
        reverse=True,
    )
    hot_cache = any(f.steps and f.spinlock.spinlock_class == "data_cache" for f in findings)
    features = [f for f in remedies().features if evidence.version >= parse_version(f.since)]
    return Advice(
        evidence=evidence,
        findings=tuple(findings),
        features=tuple(features) if hot_cache else (),
        do_not=tuple(remedies().do_not),
    )


def predict(contention: float, times: float) -> float:
    """Contention (0-1) once the grabs are spread over `times` as many spinlocks; see the module's text."""
    if contention >= 1:
        return 1.0
    load = contention / (1 - contention) / times
    return load / (1 + load)


def _finding(spinlock: Spinlock, evidence: Evidence) -> Finding:
    known = remedies()
    engines = spinlock.spins * known.seconds_per_spin
    remedy = known.for_spinlock(spinlock.name, spinlock.spinlock_class)
    floor = remedy.contention if remedy else 0.1
    if spinlock.grabs < known.min_grabs_per_second or spinlock.spins < known.min_spins_per_second:
        return Finding(spinlock, "quiet", engines, remedy.guards if remedy else "")
    if spinlock.contention < floor:
        return Finding(spinlock, "busy", engines, remedy.guards if remedy else "")
    severity: Severity = "severe" if spinlock.contention >= SEVERE else "hot"
    if remedy is None:
        return Finding(spinlock, severity, engines)
    present, steps = _steps(spinlock, remedy, evidence)
    return Finding(
        spinlock,
        severity,
        engines,
        remedy.guards,
        present,
        tuple(steps),
        tuple(remedy.cautions),
        tuple(remedy.sources),
    )


def _steps(spinlock: Spinlock, remedy: Remedy, evidence: Evidence) -> tuple[str, list[Step]]:
    """The present setting in words, and what to do."""
    if remedy.ratio:
        return _lower_ratio(spinlock, remedy, remedy.ratio, evidence)
    if remedy.grow:
        option = remedy.grow.option
        now = evidence.options.get(option)
        if now is None:
            return f"{option}: unknown", []
        wanted = math.ceil(now * remedy.grow.factor)
        memory = (wanted - now) * remedy.grow.unit_bytes
        why = f"from {now:,} to {wanted:,}, about {_bytes(memory)} more memory; how much it helps cannot be predicted"
        statement = f"sp_configure '{option}', {wanted}"
        return f"{option} = {now:,}", [Step((statement,), why, restart=remedy.static)]
    if remedy.partitions:
        cache = next((cache for cache in evidence.caches if cache.name == spinlock.name), None)
        if cache:
            return _ease_cache(spinlock, cache, remedy.partitions, evidence)
    return "", []


def _lower_ratio(
    spinlock: Spinlock, remedy: Remedy, ratio: Ratio, evidence: Evidence
) -> tuple[str, list[Step]]:
    now = evidence.options.get(ratio.option)
    rows = ratio.rows if isinstance(ratio.rows, int) else evidence.options.get(ratio.rows)
    if not now or not rows:
        return f"{ratio.option}: unknown", []
    have = math.ceil(rows / now)
    present = f"{ratio.option} = {now}: ceil({rows:,} / {now}) = {have:,} spinlocks"
    lower = [value for value in ratio.ladder if value < now]
    if not lower:
        return present, []
    target = min(remedies().target_contention, remedy.contention / 3)
    wanted = next(
        (v for v in lower if predict(spinlock.contention, math.ceil(rows / v) / have) <= target), lower[-1]
    )
    get = math.ceil(rows / wanted)
    memory = (get - have) * remedy.memory_bytes
    why = f"ceil({rows:,} / {wanted}) = {get:,} spinlocks instead of {have:,}, about {_bytes(memory)} more memory"
    statement = f"sp_configure '{ratio.option}', {wanted}"
    return present, [Step((statement,), why, predict(spinlock.contention, get / have), remedy.static)]


def _ease_cache(
    spinlock: Spinlock, cache: Cache, limits: Partitions, evidence: Evidence
) -> tuple[str, list[Step]]:
    """More partitions while they help, then caches of their own for what relinks most."""
    strategy = "relaxed" if cache.relaxed else "strict"
    present = f"{cache.partitions} partitions, {strategy} LRU, {_bytes(cache.size_bytes)}"
    wanted = _partitions(spinlock, cache, limits, evidence.engines)
    if wanted > cache.partitions:
        why = (
            f"{wanted} partitions instead of {cache.partitions}: a power of two up to {limits.most}, with at least"
            f" {_bytes(limits.pool_bytes)} of each pool in each partition"
        )
        statement = f"sp_cacheconfig '{cache.name}', 'cache_partition={wanted}'"
        predicted = predict(spinlock.contention, wanted / cache.partitions)
        return present, [Step((statement,), why, predicted, restart=True)]
    step = _separate(cache, evidence)
    return present, [step] if step else []


def _partitions(spinlock: Spinlock, cache: Cache, limits: Partitions, engines: int) -> int:
    """The fewest partitions that should bring the target, within what ASE and the engines allow."""
    most = min(limits.most, cache.smallest_pool_bytes / limits.pool_bytes, engines / ENGINES_PER_PARTITION)
    wanted = cache.partitions
    while (
        wanted * 2 <= most
        and predict(spinlock.contention, wanted / cache.partitions) > remedies().target_contention
    ):
        wanted *= 2
    return wanted


def _separate(cache: Cache, evidence: Evidence) -> Step | None:
    """Bind the system tables, then the key tables, to a cache of their own with relaxed LRU."""
    inside = [
        o for o in evidence.objects if o.cache in ("", cache.name) and o.reads > 0 and o.name != "syslogs"
    ]
    total = sum(o.reads for o in inside)
    system = [o for o in inside if o.is_system]
    others = {other.name for other in evidence.caches}
    if system and sum(o.reads for o in system) >= SYSTEM_SHARE * total and SYSTEM_CACHE not in others:
        return _bind(
            SYSTEM_CACHE, system, cache, evidence, "system tables relink pages that user tables need"
        )
    users = sorted((o for o in inside if not o.is_system), key=lambda o: o.reads, reverse=True)
    key = _heaviest(users, KEY_SHARE)
    if key and KEY_CACHE not in others:
        return _bind(KEY_CACHE, key, cache, evidence, "most relinking (LRU to MRU) comes from these tables")
    return None


def _heaviest(objects: Sequence[DatabaseObject], share: float) -> list[DatabaseObject]:
    total, taken = sum(o.reads for o in objects), 0.0
    kept = []
    for each in objects:
        if taken >= share * total:
            break
        kept.append(each)
        taken += each.reads
    return kept


def _bind(name: str, objects: Sequence[DatabaseObject], source: Cache, evidence: Evidence, why: str) -> Step:
    reads = sum(o.reads for o in objects)
    total = sum(o.reads for o in evidence.objects if o.cache in ("", source.name)) or 1.0
    needed = max(LEAST_CACHE_MB, math.ceil(sum(o.cached_bytes for o in objects) * ROOM / 2**20))
    partitions = 2 ** max(0, math.floor(math.log2(max(1.0, evidence.engines / ENGINES_PER_PARTITION))))
    create = f"sp_cacheconfig '{name}', '{needed}M', 'mixed', 'relaxed', 'cache_partition={partitions}'"
    bind = [f"sp_bindcache '{name}', '{o.database}', '{o.name}'" for o in objects]
    text = (
        f"{why}: {reads / total:.0%} of the reads of {source.name} go to them; relaxed LRU does not relink."
        f" {needed:,} MB: what they hold in memory now and a quarter more (at least {LEAST_CACHE_MB} MB)."
        f" {_free_memory(evidence)}"
    )
    return Step((create, *bind), text, None, restart=False)


def _free_memory(evidence: Evidence) -> str:
    """What is left beneath max memory; both options count pages of 2 KB."""
    most, used = evidence.options.get("max memory"), evidence.options.get("total logical memory")
    if not most or not used:
        return (
            "Memory beneath max memory must be free for it; if it is not, make the other cache smaller first"
        )
    free = max(0, most - used) // 512
    return f"Free beneath max memory: {free:,} MB; if that is less, make the other cache smaller first"


def _bytes(count: float) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,.0f} bytes"
