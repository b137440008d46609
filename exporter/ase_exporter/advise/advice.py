"""Advice on hot spinlocks: their rank by CPU burned, the statements that reduce contention, and a prediction.

Predictions are an approximation, and reports say so. A grab that meets a busy spinlock is a wait, so the contention
c of a spinlock with offered load a (grabs a second times seconds held) is about c = a / (1 + a). Spread over k times
as many spinlocks, each has the load a / k:

    predicted contention = (c / (1 - c) / k) / (1 + c / (1 - c) / k)

Small contention falls in proportion, as SAP says of cache partitions; large contention falls more slowly. The model
spreads grabs evenly: where a few hot rows share one spinlock, less is gained.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

from ase_exporter.advise.bindings import ENGINES_PER_PARTITION, separate_hot_tables
from ase_exporter.advise.evidence import DataCache, Evidence, SpinlockRates
from ase_exporter.advise.remedies import (
    AdviceStep,
    MemscaleFeature,
    OptionIncrease,
    PartitionLimits,
    Remedy,
    SpinlockRatio,
    matters,
    remedies,
    size_text,
)
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.diagnosis.catalogue import threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN

Severity = Literal["severe", "hot", "busy", "quiet"]

# Engines, and the share of all engines, below which nothing that needs a downtime is worth it.
MIN_ENGINES, MIN_SHARE = 0.5, 0.01
# A CPU with this flag has the transactional memory switched off by its microcode.
_TSX_SWITCHED_OFF = "rtm_always_abort"


@dataclass(frozen=True, slots=True)
class SpinlockFinding:
    """The assessment of one spinlock.

    engines: about how many engines spin on it. protects: the data it protects; current: its setting now; both ''
    if unknown.
    """

    spinlock: SpinlockRates
    severity: Severity
    engines: float
    protects: str = ""
    current: str = ""
    steps: tuple[AdviceStep, ...] = ()
    cautions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """Findings, those that burn most CPU first.

    features: Memscale, where it would help; not_offered: features that the host's CPU lacks, with the reason.
    do_not: general rules.
    """

    evidence: Evidence
    findings: tuple[SpinlockFinding, ...]
    features: tuple[MemscaleFeature, ...] = ()
    not_offered: tuple[str, ...] = ()
    do_not: tuple[str, ...] = ()

    @property
    def spinning(self) -> float:
        """About how many engines spin, over all spinlocks."""
        return sum(finding.engines for finding in self.findings)


def advise(evidence: Evidence, seconds_per_spin: float | None = None) -> Advice:
    """Findings on all spinlocks, with steps for those whose contention needs action.

    seconds_per_spin: CPU seconds of one spin; None for the assumed one. No more engines spin than are busy.
    """
    cost = seconds_per_spin or threshold(SECONDS_PER_SPIN)
    spins = sum(spinlock.spins for spinlock in evidence.spinlocks)
    if spins:
        cost = min(cost, _max_spinning(evidence) / spins)
    findings = sorted(
        (_finding(spinlock, evidence, cost) for spinlock in evidence.spinlocks),
        key=lambda finding: finding.engines,
        reverse=True,
    )
    hot_cache = any(f.steps and f.spinlock.spinlock_class == "data_cache" for f in findings)
    features, notes = _features(evidence) if hot_cache else ([], [])
    return Advice(
        evidence=evidence,
        findings=tuple(findings),
        features=tuple(features),
        not_offered=tuple(notes),
        do_not=tuple(remedies().do_not),
    )


def _max_spinning(evidence: Evidence) -> float:
    """Engines that may spin: those that are busy, to the whole seconds in which the server counts their time."""
    most = evidence.engines or math.inf
    if evidence.busy is None:
        return most
    return min(most, evidence.busy + evidence.engines / evidence.seconds)


def predict(contention: float, times: float) -> float:
    """Contention (0-1) if the grabs spread over `times` as many spinlocks; the module docstring has the model."""
    if contention >= 1:
        return 1.0
    load = contention / (1 - contention) / times
    return load / (1 + load)


def _finding(spinlock: SpinlockRates, evidence: Evidence, seconds_per_spin: float) -> SpinlockFinding:
    engines = spinlock.spins * seconds_per_spin
    remedy = remedies().for_spinlock(spinlock.name, spinlock.spinlock_class)
    floor = remedy.limit if remedy else threshold("spinlock.other_warning")
    if not matters(spinlock.grabs, engines):
        return SpinlockFinding(spinlock, "quiet", engines, remedy.protects if remedy else "")
    if spinlock.contention < floor:
        return SpinlockFinding(spinlock, "busy", engines, remedy.protects if remedy else "")
    severity: Severity = "severe" if spinlock.contention >= threshold("spinlock.critical") else "hot"
    if remedy is None:
        return SpinlockFinding(spinlock, severity, engines)
    current, steps = _steps(spinlock, remedy, evidence)
    cautions = list(remedy.cautions)
    if engines < max(MIN_ENGINES, MIN_SHARE * evidence.engines) and any(step.downtime for step in steps):
        steps = [step for step in steps if not step.downtime]
        cautions.append(
            f"about {engines:.2f} engines spin on it: too little for a restart or single-user mode"
        )
    return SpinlockFinding(
        spinlock,
        severity,
        engines,
        remedy.protects,
        current,
        tuple(steps),
        tuple(cautions),
        tuple(remedy.sources),
    )


def _steps(spinlock: SpinlockRates, remedy: Remedy, evidence: Evidence) -> tuple[str, list[AdviceStep]]:
    """The current setting in words, and what to do."""
    if remedy.ratio:
        return _lower_ratio(spinlock, remedy, remedy.ratio, evidence)
    if remedy.increase:
        return _raise_option(remedy, remedy.increase, evidence)
    if remedy.partitions:
        cache = next((cache for cache in evidence.caches if cache.name == spinlock.name), None)
        if cache:
            return _reduce_cache_contention(spinlock, cache, remedy.partitions, evidence)
    return "", []


def _raise_option(
    remedy: Remedy, increase: OptionIncrease, evidence: Evidence
) -> tuple[str, list[AdviceStep]]:
    now = evidence.options.get(increase.option)
    if now is None:
        return f"{increase.option}: unknown", []
    wanted = math.ceil(now * increase.factor)
    memory = (wanted - now) * increase.unit_bytes
    why = f"from {now:,} to {wanted:,}, about {size_text(memory)} more memory; its effect cannot be predicted"
    statement = f"exec sp_configure '{increase.option}', {wanted}"
    return f"{increase.option} = {now:,}", [AdviceStep((statement,), why, restart=remedy.static)]


def _lower_ratio(
    spinlock: SpinlockRates, remedy: Remedy, ratio: SpinlockRatio, evidence: Evidence
) -> tuple[str, list[AdviceStep]]:
    now = evidence.options.get(ratio.option)
    rows = ratio.rows if isinstance(ratio.rows, int) else evidence.options.get(ratio.rows)
    if not now or not rows:
        return f"{ratio.option}: unknown", []
    have = math.ceil(rows / now)
    current = f"{ratio.option} = {now}: ceil({rows:,} / {now}) = {have:,} spinlocks"
    lower = [value for value in ratio.ladder if value < now]
    if not lower:
        return current, []
    target = min(remedies().target_contention, remedy.limit / 3)
    wanted = next(
        (v for v in lower if predict(spinlock.contention, math.ceil(rows / v) / have) <= target), lower[-1]
    )
    get = math.ceil(rows / wanted)
    memory = (get - have) * remedy.memory_bytes
    why = f"ceil({rows:,} / {wanted}) = {get:,} spinlocks instead of {have:,}, about {size_text(memory)} more memory"
    statement = f"exec sp_configure '{ratio.option}', {wanted}"
    return current, [AdviceStep((statement,), why, predict(spinlock.contention, get / have), remedy.static)]


def _reduce_cache_contention(
    spinlock: SpinlockRates, cache: DataCache, limits: PartitionLimits, evidence: Evidence
) -> tuple[str, list[AdviceStep]]:
    """More partitions while they help, then separate caches for the objects that relink most."""
    strategy = "relaxed" if cache.relaxed else "strict"
    current = f"{cache.partitions} partitions, {strategy} LRU, {size_text(cache.size_bytes)}"
    pool_bytes = limits.pool_pages * evidence.page_size
    wanted = _partitions(spinlock, cache, limits.max_partitions, pool_bytes, evidence.engines)
    if wanted > cache.partitions:
        why = (
            f"{wanted} partitions instead of {cache.partitions}: a power of two up to {limits.max_partitions},"
            f" with at least {size_text(pool_bytes)} of each pool in each partition"
        )
        statement = f"exec sp_cacheconfig '{cache.name}', 'cache_partition={wanted}'"
        predicted = predict(spinlock.contention, wanted / cache.partitions)
        return current, [AdviceStep((statement,), why, predicted, restart=True)]
    step = separate_hot_tables(cache, evidence, limits)
    return current, [step] if step else []


def _partitions(
    spinlock: SpinlockRates, cache: DataCache, max_partitions: int, pool_bytes: int, engines: int
) -> int:
    """The smallest number of partitions predicted to reach the target, within the limits of ASE and the engines."""
    limit = min(max_partitions, cache.smallest_pool_bytes / pool_bytes, engines / ENGINES_PER_PARTITION)
    wanted = cache.partitions
    while (
        wanted * 2 <= limit
        and predict(spinlock.contention, wanted / cache.partitions) > remedies().target_contention
    ):
        wanted *= 2
    return wanted


def _features(evidence: Evidence) -> tuple[list[MemscaleFeature], list[str]]:
    """The Memscale features of this version that the host's CPU has, and a note for each that it lacks."""
    offered, notes = [], []
    for feature in remedies().features:
        if evidence.version < parse_version(feature.since):
            continue
        flag, flags = feature.cpu_flag, evidence.cpu_flags
        if flag is None or (flags is not None and flag in flags and _TSX_SWITCHED_OFF not in flags):
            offered.append(feature)
        elif flags is None:
            check = f" Check first that /proc/cpuinfo of the database host lists {flag} (or give it by --cpuinfo)."
            offered.append(replace(feature, caveat=feature.caveat + check))
        else:
            lacks = f"has {_TSX_SWITCHED_OFF}" if flag in flags else f"lacks the flag {flag}"
            notes.append(f"{feature.name}: not offered, as the CPU of the database host {lacks}")
    return offered, notes
