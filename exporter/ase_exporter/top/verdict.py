"""The verdict: whether a server works, spins, waits or idles, in one sentence for people."""

from dataclasses import dataclass
from typing import Literal

from ase_exporter.advise.remedies import remedies
from ase_exporter.rules.thresholds import BLOCKED, SATURATED, SPINNING_WARNING
from ase_exporter.top.figures import Figures, Spinlock
from ase_exporter.top.samples import Sample

State = Literal["down", "unknown", "starting", "spins", "contended", "waits", "saturated", "works", "idle"]
# The worst first: the order of the list of servers.
ORDER: tuple[State, ...] = (
    "down",
    "unknown",
    "spins",
    "contended",
    "waits",
    "saturated",
    "works",
    "idle",
    "starting",
)
# Below this CPU busy and without blocked processes a server is idle.
IDLE = 0.02


@dataclass(frozen=True, slots=True)
class Verdict:
    """state: for colours and order. text: one sentence, the most important words first."""

    state: State
    text: str


def verdict(sample: Sample, figures: Figures) -> Verdict:
    """What the last interval says."""
    if sample.error:
        return Verdict("down", f"DOWN: {sample.error}")
    if figures.cpu_busy is None:
        if reason := sample.missing.get("engines"):
            text = f"UNKNOWN: engines cannot be read ({reason}): ase-exporter check says how to fix it"
            return Verdict("unknown", text)
        return Verdict("starting", "Waiting for a few seconds of samples: figures are differences.")
    for judge in (_spins, _contended, _waits, _saturated):
        if found := judge(figures):
            return found
    return _works(figures, sample)


def contended(spinlock: Spinlock) -> bool:
    """Whether the contention needs action: over the threshold of `advise`, with enough grabs and spins."""
    known = remedies()
    remedy = known.for_spinlock(spinlock.name, spinlock.spinlock_class)
    limit = remedy.contention if remedy else 0.1
    return spinlock.contention >= limit and known.matters(
        spinlock.grabs, spinlock.spins * known.seconds_per_spin
    )


def _spins(figures: Figures) -> Verdict | None:
    if figures.spinning is None or figures.hottest is None or figures.spinning < SPINNING_WARNING:
        return None
    hottest = figures.hottest
    return Verdict(
        "spins",
        f"SPINS: {figures.spinning:.0%} of the CPU, most of it on {hottest.name}"
        f" ({hottest.contention:.1%} contention)",
    )


def _contended(figures: Figures) -> Verdict | None:
    hot = next((spinlock for spinlock in figures.spinlocks if contended(spinlock)), None)
    if hot is None:
        return None
    text = f"CONTENDED: works, but {hot.name} has {hot.contention:.1%} contention"
    return Verdict("contended", text)


def _waits(figures: Figures) -> Verdict | None:
    if not figures.blocked_long or figures.blocked_long < BLOCKED:
        return None
    longest = f", for up to {figures.max_block:.0f} s" if figures.max_block else ""
    roots = root_blockers(figures)
    most = f"; most by spid {roots[0][0]} ({roots[0][1]})" if roots else ""
    count = figures.blocked_processes or figures.blocked_long
    return Verdict("waits", f"WAITS: {count:.0f} process{'es' * (count != 1)} blocked{longest}{most}")


def root_blockers(figures: Figures) -> list[tuple[str, int]]:
    """The processes that block others and are not blocked, with how many they block, the worst first."""
    blocked_by = {each.spid: each.blocked_by for each in figures.blocked}
    counts: dict[str, int] = {}
    for spid in blocked_by:
        root, seen = spid, {spid}
        while root in blocked_by and blocked_by[root] not in seen:
            root = blocked_by[root]
            seen.add(root)
        counts[root] = counts.get(root, 0) + 1
    return sorted(counts.items(), key=lambda each: -each[1])


def _saturated(figures: Figures) -> Verdict | None:
    if figures.cpu_busy is None or figures.cpu_busy < SATURATED:
        return None
    return Verdict(
        "saturated", f"WORKS at its limit: engines {figures.cpu_busy:.1%} busy, little of it spinning"
    )


def _works(figures: Figures, sample: Sample) -> Verdict:
    spinning = (
        f"{figures.spinning:.1%} of the CPU spins"
        if figures.spinning is not None
        else f"spinlocks cannot be read ({sample.missing.get('spinlocks', 'no answer')})"
    )
    if (figures.cpu_busy or 0.0) < IDLE:
        return Verdict("idle", f"IDLE: engines {figures.cpu_busy:.1%} busy, {spinning}")
    return Verdict("works", f"WORKS: engines {figures.cpu_busy:.1%} busy, {spinning}")
