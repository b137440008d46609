"""Details of one spinlock (what it protects, what eases it, from `advise`) or of one data cache."""

from collections.abc import Iterator

from rich.text import Text

from ase_exporter.advise.advice import SpinlockFinding, advise
from ase_exporter.advise.report import finding_lines
from ase_exporter.top.figures import Cache
from ase_exporter.top.frames import Frame
from ase_exporter.top.scene import Scene, change_flags
from ase_exporter.top.text import count, percent, size, sparkline
from ase_exporter.top.view import TREND_FLOOR, contention_trend

# Frames of the sparkline.
LENGTH = 60


def spinlock_lines(scene: Scene, name: str) -> Iterator[Text]:
    """What the spinlock protects, how contended it is, and what eases it."""
    found = next((each for each in scene.figures.spinlocks if each.name == name), None)
    yield Text(f"Spinlock {name}", style="bold")
    if found is None:
        yield Text("It does not spin in this interval.")
        return
    yield Text(
        f"{percent(found.contention)} contention, {percent(found.cpu)} of the CPU"
        f" (about {found.engines or 0:.1f} engines)"
    )
    yield Text(f"{count(found.grabs)} grabs/s, {count(found.waits)} waits/s, {count(found.spins)} spins/s")
    yield _trend(scene, name)
    yield Text()
    finding = _finding(scene.frame, name)
    if finding is None:
        yield Text("No advice: the server is not known yet.")
        return
    yield from map(Text, finding_lines(finding))
    if not finding.steps or found.spinlock_class == "data_cache":
        yield Text(
            f"Run: ase-exporter advise --target {scene.frame.sample.target}"
            " (it also reads the objects in the caches, and names tables to move)",
            style="dim",
        )
    yield Text("Do not add engines: each of them would spin, too.", style="dim")


def _trend(scene: Scene, name: str) -> Text:
    values = contention_trend(scene, name, LENGTH)
    known = [value for value in values if value is not None]
    line = sparkline(values, scene.glyphs, TREND_FLOOR, change_flags(scene, LENGTH))
    return Text(f"{line}  {percent(min(known, default=None))} to {percent(max(known, default=None))}")


def _finding(frame: Frame, name: str) -> SpinlockFinding | None:
    """What `advise` says of it, but for the objects in the caches, which are too expensive to read every time."""
    findings = advise(frame.evidence).findings if frame.evidence else ()
    return next((each for each in findings if each.spinlock.name == name), None)


def cache_lines(scene: Scene, name: str) -> Iterator[Text]:
    """The cache's figures and pools, then its spinlock."""
    found = next((each for each in scene.figures.caches if each.name == name), None)
    yield Text(f"Cache {name}", style="bold")
    if found is None:
        yield Text("It is not known in this interval.")
        return
    yield from _cache(found)
    yield Text()
    yield from spinlock_lines(scene, name)


def _cache(found: Cache) -> Iterator[Text]:
    yield Text(f"{size(found.size)}, {count(found.partitions)} partitions, {found.strategy}")
    yield Text(
        f"{percent(found.hits)} hits of {count(found.searches)} searches/s, {count(found.physical_reads)} reads/s,"
        f" {count(found.physical_writes)} writes/s, {count(found.stalls)} stalls/s"
    )
    for pool in found.pools:
        yield Text(
            f"  pool {pool.io_size}: {size(pool.size)}, {count(pool.physical_reads)} reads/s,"
            f" {count(pool.stalls)} stalls/s"
        )
