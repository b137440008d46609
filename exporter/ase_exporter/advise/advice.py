"""Advice on what the diagnosis finds, spinlocks and everything else: statements that ease it, by predicted gain."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ase_exporter.advise.bindings import ENGINES_PER_PARTITION, separate_hot_tables
from ase_exporter.advise.evidence import DataCache, Evidence, SpinlockRates
from ase_exporter.advise.gain import Load, Slots
from ase_exporter.advise.remedies import (
    AdviceStep,
    MemscaleFeature,
    PartitionLimits,
    Remedy,
    SpinlockRatio,
    cause_step,
    matters,
    remedies,
    size_text,
)
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.diagnosis.catalogue import catalogue, threshold
from ase_exporter.diagnosis.diagnose import SECONDS_PER_SPIN, Diagnosis, Finding
from ase_exporter.untrusted.encoders import is_writable, sql_literal

Severity = Literal["severe", "hot", "busy", "quiet"]

# Engines, and the share of all engines, below which nothing that needs a downtime is worth it.
MIN_ENGINES, MIN_SHARE = 0.5, 0.01
# Findings of the diagnosis whose remedies are those of the hot spinlocks.
_ABOUT_SPINLOCKS = ("spinning", "contended")
# A step that needs less memory than this is given even where free memory is not known.
_NOTICED_BYTES = 2**20


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

    @property
    def is_hot(self) -> bool:
        """Whether it needs action."""
        return self.severity in ("severe", "hot")

    @property
    def gain(self) -> float:
        """Engines that its steps free, by prediction; 0 without one."""
        return max((step.gain.engines for step in self.steps if step.gain), default=0.0)


@dataclass(frozen=True, slots=True)
class Cause:
    """One finding of the diagnosis, and what eases it. spinlocks: those that are hot, if it is about spinlocks.

    explains: seconds per second of session time.
    """

    finding: Finding
    explains: float
    steps: tuple[AdviceStep, ...] = ()
    cautions: tuple[str, ...] = ()
    spinlocks: tuple[SpinlockFinding, ...] = ()

    @property
    def gain(self) -> float:
        """Seconds per second that its best step recovers at most; without a prediction, all that it explains."""
        steps = [*self.steps, *(step for each in self.spinlocks for step in each.steps)]
        return max((step.gain.sessions for step in steps if step.gain), default=self.explains)


@dataclass(frozen=True, slots=True)
class Advice:
    """causes: what the diagnosis found, what stops work and then the largest predicted gain first.

    findings: spinlocks, those that burn most CPU first. features: Memscale, where it would help. do_not: general rules.
    """

    evidence: Evidence
    findings: tuple[SpinlockFinding, ...]
    causes: tuple[Cause, ...] = ()
    features: tuple[MemscaleFeature, ...] = ()
    do_not: tuple[str, ...] = ()

    @property
    def hot(self) -> list[SpinlockFinding]:
        """The spinlocks that need action, the largest predicted gain first."""
        return _by_gain(self.findings)

    @property
    def steps(self) -> Iterator[AdviceStep]:
        """All that is advised."""
        yield from (step for cause in self.causes for step in cause.steps)
        yield from (step for finding in self.hot for step in finding.steps)

    @property
    def spinning(self) -> float:
        """About how many engines spin, over all spinlocks."""
        return sum(finding.engines for finding in self.findings)


def advise(evidence: Evidence) -> Advice:
    """What eases the findings of the diagnosis, and all spinlocks whose contention needs action.

    No more engines spin than are busy.
    """
    cost = _cost(evidence.diagnosis) or threshold(SECONDS_PER_SPIN)
    spins = sum(spinlock.spins for spinlock in evidence.spinlocks)
    if spins:
        cost = min(cost, _max_spinning(evidence) / spins)
    load = Load(evidence, cost)
    found = [_finding(spinlock, evidence, cost, load) for spinlock in evidence.spinlocks]
    found.sort(key=lambda finding: -finding.engines)
    findings = [_worth_its_price(finding, evidence, load) for finding in _together(found, load)]
    hot_cache = any(f.steps and f.spinlock.spinlock_class == "data_cache" for f in findings)
    features = [each for each in remedies().features if evidence.version >= parse_version(each.since)]
    return Advice(
        evidence=evidence,
        findings=tuple(findings),
        causes=tuple(_causes(evidence, findings, load)),
        features=tuple(features) if hot_cache else (),
        do_not=tuple(remedies().do_not),
    )


def _cost(diagnosis: Diagnosis | None) -> float:
    """CPU seconds of one spin, so that as many engines spin as the diagnosis says; 0 if it does not know."""
    measures = diagnosis.measures if diagnosis else {}
    if not measures or not (spins := measures["spins"].value):
        return 0.0
    return (measures["spinning_share"].value or 0.0) * (measures["engines"].value or 0.0) / spins


def _causes(evidence: Evidence, spinlocks: Sequence[SpinlockFinding], load: Load) -> list[Cause]:
    if evidence.diagnosis is None:
        return []
    hot = tuple(_by_gain(spinlocks))
    found: list[Cause] = []
    # The first finding of each part of the account that explains all of it.
    whole: dict[str, Finding] = {}
    for finding in evidence.diagnosis.findings:
        part = catalogue().findings[finding.name].whole_part
        first = whole.setdefault(part, finding) if part else finding
        explains = (finding.share or 0.0) * evidence.diagnosis.account.sessions
        if finding.name in _ABOUT_SPINLOCKS:
            found.append(Cause(finding, explains, spinlocks=hot))
        elif first is finding:
            steps, cautions = _eased(finding, evidence, evidence.diagnosis, load)
            found.append(Cause(finding, explains, steps, cautions))
        else:
            found.append(Cause(finding, 0.0, cautions=(f"ease {first.word} first: it is the same time",)))
    return sorted(found, key=lambda each: (-(each.finding.rank // 1), -each.gain, -each.finding.rank))


def _eased(
    finding: Finding, evidence: Evidence, diagnosis: Diagnosis, load: Load
) -> tuple[tuple[AdviceStep, ...], tuple[str, ...]]:
    """What to do, and what is not worth its price."""
    steps, cautions = [], []
    part = catalogue().findings[finding.name].part
    for remedy in remedies().causes.get(finding.name, ()):
        if not remedy.applies(diagnosis.measures):
            continue
        gain = None
        if part and finding.share is not None:
            gain = load.relief(diagnosis.account, part, finding.share * remedy.recovers)
        step = cause_step(remedy, finding.subject, evidence, gain)
        if step is None:
            continue
        if why_not := _why_not(step, evidence, diagnosis.account.sessions):
            cautions.append(f"not advised: {step.statements[0]}: {why_not}")
        else:
            steps.append(step)
    return tuple(steps), tuple(cautions)


def _by_gain(findings: Sequence[SpinlockFinding]) -> list[SpinlockFinding]:
    """The spinlocks that need action, the largest predicted gain first."""
    return sorted((each for each in findings if each.is_hot), key=lambda each: -each.gain)


def _max_spinning(evidence: Evidence) -> float:
    """Engines that may spin: those that are busy, to the whole seconds in which the server counts their time."""
    busy = math.inf if evidence.busy is None else evidence.busy + evidence.engines / evidence.seconds
    return min(evidence.engines or math.inf, busy)


def _finding(
    spinlock: SpinlockRates, evidence: Evidence, seconds_per_spin: float, load: Load
) -> SpinlockFinding:
    engines = spinlock.spins * seconds_per_spin
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
    current, steps = _steps(spinlock, remedy, evidence, load)
    cautions, sources = tuple(remedy.cautions), tuple(remedy.sources)
    return replace(found, current=current, steps=tuple(steps), cautions=cautions, sources=sources)


def _together(findings: Sequence[SpinlockFinding], load: Load) -> list[SpinlockFinding]:
    """Merge the steps of spinlocks that limit the throughput together: alone, each only moves the spinning."""
    limits = [
        each for each in findings if each.engines >= MIN_ENGINES and each.steps and each.steps[0].changes
    ]
    if len(limits) < 2 or not load.limit(limits[0].steps[0].changes):
        return list(findings)
    step = limits[0].steps[0]
    for each in limits[1:]:
        changes = {**step.changes, **each.steps[0].changes}
        step = step.joined(each.steps[0], load.gain(changes))
    with_first = f"together with {limits[0].spinlock.name}: alone it would only move the spinning"
    joined = {each.spinlock.name: replace(each, steps=(), cautions=(with_first,)) for each in limits[1:]}
    joined[limits[0].spinlock.name] = replace(limits[0], steps=(step,))
    return [joined.get(each.spinlock.name, each) for each in findings]


def _worth_its_price(finding: SpinlockFinding, evidence: Evidence, load: Load) -> SpinlockFinding:
    """The finding without the steps that are not, each of which becomes a caution."""
    steps, cautions = [], list(finding.cautions)
    for step in finding.steps:
        gained = step.gain.engines if step.gain else finding.engines
        if why_not := _why_not(step, evidence, evidence.engines, gained) or _why_only_moved(step, load):
            cautions.append(f"not advised: {step.statements[0]}: {why_not}")
        else:
            steps.append(step)
    return replace(finding, steps=tuple(steps), cautions=tuple(cautions))


def _why_not(step: AdviceStep, evidence: Evidence, whole: float, gained: float | None = None) -> str:
    """Why a step is not worth its price, or ''.

    gained: engines, or sessions if it is not given; whole: of how many. What it gains may not be known.
    """
    free = evidence.free_bytes
    if free is None and step.memory >= _NOTICED_BYTES:
        return f"it needs {size_text(step.memory)}, and how much is free below max memory is not known"
    if free is not None and step.memory > free:
        return f"it needs {size_text(step.memory)}, and {size_text(free)} are free below max memory"
    least, unit = MIN_SHARE * whole, "sessions" if gained is None else "engines"
    if gained is not None:
        least = max(MIN_ENGINES, least)
    elif step.gain is not None:
        gained = step.gain.sessions
    if gained is None:
        return ""
    if gained <= 0:
        return "the prediction is that it makes things worse"
    if step.downtime and gained < least:
        return (
            f"it frees about {gained:.2f} of {whole:.0f} {unit}: too little for a restart or single-user mode"
        )
    return ""


def _why_only_moved(step: AdviceStep, load: Load) -> str:
    """That another spinlock would take up what a step frees, or ''."""
    other = load.limit(step.changes) if step.gain else ""
    return f"{other} limits the throughput, and would spin more instead: ease that first" if other else ""


def _steps(
    spinlock: SpinlockRates, remedy: Remedy, evidence: Evidence, load: Load
) -> tuple[str, list[AdviceStep]]:
    """The current setting in words, and what to do."""
    if remedy.ratio:
        return _lower_ratio(spinlock, remedy, remedy.ratio, evidence, load)
    if remedy.increase:
        option, step = remedy.increase.option, remedy.increase.step(evidence)
        if step is None:
            return f"{option}: unknown", []
        return f"{option} = {evidence.options[option]:,}", [replace(step, restart=remedy.static)]
    cache = next((cache for cache in evidence.caches if cache.name == spinlock.name), None)
    if remedy.partitions and cache:
        return _reduce_cache_contention(cache, remedy.partitions, evidence, load)
    return "", []


def _lower_ratio(
    spinlock: SpinlockRates, remedy: Remedy, ratio: SpinlockRatio, evidence: Evidence, load: Load
) -> tuple[str, list[AdviceStep]]:
    now = evidence.options.get(ratio.option)
    rows = ratio.rows if isinstance(ratio.rows, int) else evidence.options.get(ratio.rows)
    if not now or not rows:
        return f"{ratio.option}: unknown", []
    have = math.ceil(rows / now)
    current = f"{ratio.option} = {now}: ceil({rows:,} / {now}) = {have:,} spinlocks"
    target = min(remedies().target_contention, remedy.limit / 3)
    for wanted in (value for value in ratio.ladder if value < now):
        get = math.ceil(rows / wanted)
        changes = {spinlock.name: [Slots(times=get / have)]}
        gain = load.gain(changes)
        if (gain.contention or 0.0) <= target or wanted == ratio.ladder[-1]:
            why = f"ceil({rows:,} / {wanted}) = {get:,} spinlocks instead of {have:,}"
            statement = f"exec sp_configure '{ratio.option}', {wanted}"
            memory = (get - have) * remedy.memory_bytes
            return current, [AdviceStep((statement,), why, changes, gain, remedy.static, memory)]
    return current, []


def _reduce_cache_contention(
    cache: DataCache, limits: PartitionLimits, evidence: Evidence, load: Load
) -> tuple[str, list[AdviceStep]]:
    """More partitions while they help, then separate caches for the objects that relink most."""
    strategy = "relaxed" if cache.relaxed else "strict"
    current = f"{cache.partitions} partitions, {strategy} LRU, {size_text(cache.size_bytes)}"
    pool_bytes = limits.pool_pages * evidence.page_size
    most = min(
        limits.max_partitions,
        cache.smallest_pool_bytes / pool_bytes,
        evidence.engines / ENGINES_PER_PARTITION,
    )
    wanted, changes, gain = cache.partitions, dict[str, Sequence[Slots]](), None
    while wanted * 2 <= most and (gain is None or (gain.contention or 0.0) > remedies().target_contention):
        wanted *= 2
        changes = {cache.name: [Slots(times=wanted / cache.partitions)]}
        gain = load.gain(changes)
    if gain and is_writable(cache.name):
        why = (
            f"{wanted} partitions instead of {cache.partitions}: a power of two up to {limits.max_partitions},"
            f" with at least {size_text(pool_bytes)} of each pool in each partition"
        )
        statement = f"exec sp_cacheconfig {sql_literal(cache.name)}, 'cache_partition={wanted}'"
        return current, [AdviceStep((statement,), why, changes, gain, restart=True)]
    step = separate_hot_tables(cache, evidence, limits, load.gain)
    return current, [step] if step else []
