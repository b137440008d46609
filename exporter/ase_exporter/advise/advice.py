"""Advice on what the diagnosis finds, spinlocks and all else: statements, by the time that each finding explains."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from ase_exporter.advise.bindings import ENGINES_PER_PARTITION, separate_hot_tables
from ase_exporter.advise.evidence import DataCache, Evidence, SpinlockRates
from ase_exporter.advise.remedies import (
    AdviceStep,
    MemscaleFeature,
    PartitionLimits,
    Remedy,
    SpinlockRatio,
    cause_step,
    matters,
    remedies,
)
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.diagnosis.catalogue import catalogue, threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN, Diagnosis, Finding
from ase_exporter.untrusted.encoders import is_writable, sql_literal
from ase_exporter.views.figures import counted, shown, size

Severity = Literal["severe", "hot", "busy", "quiet"]

# Engines, and the share of all engines or of session time, below which nothing that needs a downtime is worth it.
MIN_ENGINES, MIN_SHARE = 0.5, 0.01
# Findings of the diagnosis whose remedies are those of the hot spinlocks.
_ABOUT_SPINLOCKS = ("spinning", "spinning_grown", "contended")
_SET = re.compile(r"exec sp_configure '([^']+)', (\d+)")
# A step that needs less memory than this is given even where free memory is not known.
_NOTICED_BYTES = 2**20
# Memory of one more spinlock, about.
_SPINLOCK_BYTES = 256


@dataclass(frozen=True, slots=True)
class SpinlockFinding:
    """The assessment of one spinlock.

    engines: about how many engines spin on it. protects: the data it protects; current: its setting now; both '' if
    unknown.
    """

    spinlock: SpinlockRates
    severity: Severity
    engines: float
    protects: str = ""
    current: str = ""
    steps: tuple[AdviceStep, ...] = ()
    cautions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def is_hot(self) -> bool:
        """Whether it needs action."""
        return self.severity in ("severe", "hot")


@dataclass(frozen=True, slots=True)
class Cause:
    """One finding of the diagnosis, and what eases it. spinlocks: those that are hot, if it is about spinlocks."""

    finding: Finding
    steps: tuple[AdviceStep, ...] = ()
    cautions: tuple[str, ...] = ()
    spinlocks: tuple[SpinlockFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """causes: what the diagnosis found: what stops work, then what explains most session time.

    findings: spinlocks, those that burn most CPU first. features: Memscale, where it would help. do_not: general rules.
    """

    evidence: Evidence
    findings: tuple[SpinlockFinding, ...]
    causes: tuple[Cause, ...] = ()
    features: tuple[MemscaleFeature, ...] = ()
    do_not: tuple[str, ...] = ()

    @property
    def hot(self) -> list[SpinlockFinding]:
        """The spinlocks that need action."""
        return [each for each in self.findings if each.is_hot]

    @property
    def is_known(self) -> bool:
        """Whether enough was read for advice."""
        return self.evidence.diagnosis is None or self.evidence.diagnosis.is_known

    @property
    def spinning(self) -> float:
        """About how many engines spin, over all spinlocks."""
        return sum(finding.engines for finding in self.findings)


def advise(evidence: Evidence) -> Advice:
    """What eases the findings of the diagnosis, and all spinlocks whose contention needs action.

    No more engines spin than are busy.
    """
    known = evidence.diagnosis.seconds_per_spin if evidence.diagnosis else None
    cost = threshold(SECONDS_PER_SPIN) if known is None else known
    spins = sum(spinlock.spins for spinlock in evidence.spinlocks)
    if spins:
        cost = min(cost, _max_spinning(evidence) / spins)
    found = [_finding(spinlock, evidence, cost, spins) for spinlock in evidence.spinlocks]
    found.sort(key=lambda finding: -finding.engines)
    findings = []
    for finding in _together(found, evidence):
        steps, cautions = _worthwhile(finding.steps, evidence)
        findings.append(replace(finding, steps=steps, cautions=(*finding.cautions, *cautions)))
    hot_cache = any(f.steps and f.spinlock.spinlock_class == "data_cache" for f in findings)
    features = [each for each in remedies().features if evidence.version >= parse_version(each.since)]
    return Advice(
        evidence=evidence,
        findings=tuple(findings),
        causes=tuple(_causes(evidence, findings)),
        features=tuple(features) if hot_cache else (),
        do_not=tuple(remedies().do_not),
    )


def _max_spinning(evidence: Evidence) -> float:
    """Engines that may spin: those that are busy, to the whole seconds in which the server counts their time."""
    busy = math.inf if evidence.busy is None else evidence.busy + evidence.engines / evidence.seconds
    return min(evidence.engines or math.inf, busy)


def _causes(evidence: Evidence, spinlocks: Sequence[SpinlockFinding]) -> list[Cause]:
    if evidence.diagnosis is None:
        return []
    hot = tuple(each for each in spinlocks if each.is_hot)
    found: list[Cause] = []
    # The first finding of each part of the account that explains all of it.
    whole: dict[str, Finding] = {}
    for finding in evidence.diagnosis.findings:
        known = catalogue().findings[finding.name]
        part = None if known.times else known.part
        first = whole.setdefault(part, finding) if part else finding
        if finding.name in _ABOUT_SPINLOCKS:
            found.append(Cause(finding, spinlocks=hot))
        elif first is finding:
            found.append(Cause(finding, *_eased(finding, evidence, evidence.diagnosis)))
        else:
            found.append(Cause(finding, cautions=(f"ease {first.word} first: it is the same time",)))
    # What stops work, then what explains most session time.
    return sorted(found, key=lambda each: (each.finding.rank // 1, each.finding.share or 0.0), reverse=True)


def _eased(
    finding: Finding, evidence: Evidence, diagnosis: Diagnosis
) -> tuple[tuple[AdviceStep, ...], tuple[str, ...]]:
    """What to do, and what is not worth its price."""
    fitting = (each for each in remedies().causes.get(finding.name, ()) if each.applies(diagnosis.measures))
    return _worthwhile(filter(None, (cause_step(each, finding, evidence) for each in fitting)), evidence)


def _finding(spinlock: SpinlockRates, evidence: Evidence, cost: float, spins: float) -> SpinlockFinding:
    """One spinlock. cost: CPU seconds of one spin. spins: of all spinlocks, per second."""
    engines = spinlock.spins * cost
    remedy = remedies().for_spinlock(spinlock.name, spinlock.spinlock_class)
    floor = remedy.limit if remedy else threshold("spinlock.other_warning")
    severity: Severity = "severe" if spinlock.contention >= threshold("spinlock.critical") else "hot"
    if not matters(spinlock.grabs, engines):
        severity = "quiet"
    elif spinlock.contention < floor:
        severity = "busy"
    found = SpinlockFinding(spinlock, severity, engines, remedy.protects if remedy else "")
    if remedy is None or not found.is_hot:
        return found
    current, step = _step(spinlock, remedy, evidence)
    all_spinning = evidence.diagnosis.account.caused("spinning") if evidence.diagnosis else None
    share = None if all_spinning is None or not spins else all_spinning * spinlock.spins / spins
    return replace(
        found,
        current=current,
        steps=(replace(step, share=share, engines=engines),) if step else (),
        cautions=(
            *(text for option, text in remedy.switches.items() if evidence.options.get(option) == 0),
            *remedy.cautions,
        ),
        sources=tuple(remedy.sources),
    )


def _together(findings: Sequence[SpinlockFinding], evidence: Evidence) -> list[SpinlockFinding]:
    """Merge the steps of spinlocks that limit a saturated server together: alone, each only moves the spinning."""
    busy = evidence.engines if evidence.busy is None else evidence.busy
    limits = [each for each in findings if each.engines >= MIN_ENGINES and each.steps]
    if len(limits) < 2 or busy < evidence.engines * threshold("cpu.saturated"):
        return list(findings)
    first, *others = limits
    joined = reduce(AdviceStep.joined, (each.steps[0] for each in limits))
    caution = f"together with {first.spinlock.name}: alone it would only move the spinning"
    merged = {each.spinlock.name: replace(each, steps=(), cautions=(caution,)) for each in others}
    merged[first.spinlock.name] = replace(first, steps=(joined,))
    return [merged.get(each.spinlock.name, each) for each in findings]


def _worthwhile(
    steps: Iterable[AdviceStep], evidence: Evidence
) -> tuple[tuple[AdviceStep, ...], tuple[str, ...]]:
    """What to do, and what is not worth its price."""
    judged = [(step, _why_not(step, evidence)) for step in steps]
    cautions = (f"not advised: {step.statements[0]}: {why}" for step, why in judged if why)
    return tuple(step for step, why in judged if not why), tuple(cautions)


def _why_not(step: AdviceStep, evidence: Evidence) -> str:
    """Why a step is not worth its price, or ''."""
    options = [_SET.fullmatch(statement) for statement in step.statements]
    if all(each and evidence.options.get(each[1]) == int(each[2]) for each in options):
        return "it is set"
    if all(each and each[1] in evidence.pending for each in options):
        return "the next restart changes it to another value already"
    free = evidence.free_bytes
    if free is None and step.memory >= _NOTICED_BYTES:
        return f"it needs {size(step.memory)}, and how much is free below max memory is not known"
    if free is not None and step.memory > free:
        return f"it needs {size(step.memory)}, and {size(free)} are free below max memory"
    if not step.downtime:
        return ""
    if step.engines:
        eased = f"about {shown(step.engines)} of {counted(evidence.engines, 'engine')} spin on it"
        little = step.engines < max(MIN_ENGINES, MIN_SHARE * evidence.engines)
    else:
        eased, little = step.ceiling, step.share is not None and step.share < MIN_SHARE
    return f"{eased}: too little for a restart or single-user mode" if little else ""


def _step(spinlock: SpinlockRates, remedy: Remedy, evidence: Evidence) -> tuple[str, AdviceStep | None]:
    """The current setting in words, and what to do."""
    if remedy.ratio:
        return _lower_ratio(spinlock, remedy, remedy.ratio, evidence)
    if remedy.increase:
        option, step = remedy.increase.option, remedy.increase.step(evidence)
        if step is None:
            return f"{option}: unknown", None
        return f"{option} = {evidence.options[option]:,}", replace(
            step, restart=step.restart or remedy.static
        )
    cache = next((cache for cache in evidence.caches if cache.name == spinlock.name), None)
    if remedy.partitions and cache:
        return _reduce_cache_contention(spinlock, cache, remedy.target, remedy.partitions, evidence)
    return "", None


def _lower_ratio(
    spinlock: SpinlockRates, remedy: Remedy, ratio: SpinlockRatio, evidence: Evidence
) -> tuple[str, AdviceStep | None]:
    """Lower a ratio as far as the contention needs, as if grabs were spread evenly over the spinlocks of the name."""
    now = evidence.options.get(ratio.option)
    rows = ratio.rows if isinstance(ratio.rows, int) else evidence.options.get(ratio.rows)
    if not now or not rows:
        return f"{ratio.option}: unknown", None
    have = math.ceil(rows / now)
    current = f"{ratio.option} = {now}: ceil({rows:,} / {now}) = {counted(have, 'spinlock')}"
    lower = [value for value in ratio.ladder if value < now]
    if not lower:
        return current, None
    after = {value: spinlock.contention * have / math.ceil(rows / value) for value in lower}
    wanted = next((value for value in lower if after[value] <= remedy.target), lower[-1])
    get = math.ceil(rows / wanted)
    why = f"ceil({rows:,} / {wanted}) = {counted(get, 'spinlock')} instead of {have:,}"
    statement = f"exec sp_configure '{ratio.option}', {wanted}"
    memory = (get - have) * _SPINLOCK_BYTES
    return current, AdviceStep((statement,), why, restart=remedy.static, memory=memory)


def _reduce_cache_contention(
    spinlock: SpinlockRates, cache: DataCache, target: float, limits: PartitionLimits, evidence: Evidence
) -> tuple[str, AdviceStep | None]:
    """More partitions until the target is reached, then separate caches for the objects that relink most."""
    strategy = "relaxed" if cache.relaxed else "strict"
    current = f"{counted(cache.partitions, 'partition')}, {strategy} LRU, {size(cache.size_bytes)}"
    pool_bytes = limits.pool_pages * evidence.page_size
    most = min(
        limits.max_partitions,
        cache.smallest_pool_bytes / pool_bytes,
        evidence.engines / ENGINES_PER_PARTITION,
    )
    wanted = cache.partitions
    while wanted * 2 <= most and spinlock.contention * cache.partitions / wanted > target:
        wanted *= 2
    if wanted == cache.partitions or not is_writable(cache.name):
        return current, separate_hot_tables(cache, evidence, limits)
    why = (
        f"{wanted} partitions instead of {cache.partitions}: a power of two up to {limits.max_partitions},"
        f" with at least {size(pool_bytes)} of each pool in each partition"
    )
    statement = f"exec sp_cacheconfig {sql_literal(cache.name)}, 'cache_partition={wanted}'"
    return current, AdviceStep((statement,), why, restart=True)
