"""Details of one spinlock (what it protects, what eases it, from `advise`), of a data cache, or of a session."""

from collections.abc import Callable, Iterator, Mapping

from rich.text import Text

from ase_exporter.advise.advice import advise
from ase_exporter.advise.view import spinlock_parts
from ase_exporter.sessions.blocking import Link, blocking_trees, whole_trees
from ase_exporter.sessions.session import Snapshot
from ase_exporter.top.figures import DATA_CACHE
from ase_exporter.top.frames import Scene, change_flags
from ase_exporter.top.text import count, sparkline
from ase_exporter.top.view import TREND_FLOOR, contention_trend, described, in_tree
from ase_exporter.views.figures import shown
from ase_exporter.views.terminal import texts

# Frames of the sparkline.
LENGTH = 60
# Events of a session.
MAX_WAITS = 12


def spinlock_lines(scene: Scene, name: str) -> Iterator[Text]:
    """What the spinlock protects, how contended it is, and what eases it."""
    yield Text(f"Spinlock {name}", style="bold")
    found = next((each for each in scene.figures.spinlocks if each.name == name), None)
    if found is None:
        yield Text("It does not spin in this interval.")
        return
    yield Text(
        f"{shown(found.contention, 'ratio')} contention, {shown(found.cpu, 'ratio')} of the CPU"
        f" (about {found.engines or 0:.1f} engines)"
    )
    yield Text(f"{count(found.grabs)} grabs/s, {count(found.waits)} waits/s, {count(found.spins)} spins/s")
    values = contention_trend(scene, name, LENGTH)
    known = [value for value in values if value is not None]
    line = sparkline(values, scene.glyphs, TREND_FLOOR, change_flags(scene, LENGTH))
    yield Text(
        f"{line}  {shown(min(known, default=None), 'ratio')} to {shown(max(known, default=None), 'ratio')}"
    )
    yield Text()
    # But for the objects in the caches, which are too expensive to read every time.
    advised = advise(scene.frame.evidence).findings if scene.frame.evidence else ()
    finding = next((each for each in advised if each.spinlock.name == name), None)
    if finding is None:
        yield Text("No advice: the server is not known yet.")
        return
    yield from map(Text, texts(spinlock_parts(finding)))
    if not finding.steps or found.spinlock_class == DATA_CACHE:
        yield Text(
            f"Run: ase-exporter advise --target {scene.frame.sample.target}"
            " (it also reads the objects in the caches, and names tables to move)",
            style="dim",
        )
    yield Text("Do not add engines: each of them would spin, too.", style="dim")


def cache_lines(scene: Scene, name: str) -> Iterator[Text]:
    """The cache's figures and pools, then its spinlock."""
    yield Text(f"Cache {name}", style="bold")
    found = next((each for each in scene.figures.caches if each.name == name), None)
    if found is None:
        yield Text("It is not known in this interval.")
        return
    for title, value in described("caches", found):
        yield Text(f"{title:<12}{value}")
    yield Text(f"{count(found.partitions)} partitions, {found.strategy}")
    for pool in found.pools:
        reads, stalls = count(pool.physical_reads), count(pool.stalls)
        yield Text(f"  pool {pool.io_size}: {shown(pool.size, 'bytes')}, {reads} reads/s, {stalls} stalls/s")
    yield Text()
    yield from spinlock_lines(scene, name)


def session_lines(scene: Scene, spid: str) -> Iterator[Text]:
    """All that is known of a session, and the chain of blockers in which it is."""
    snapshot = scene.frame.sample.sessions
    found = next((each for each in snapshot.sessions if str(each.spid) == spid), None) if snapshot else None
    yield Text(f"Session {spid}", style="bold")
    if found is None or snapshot is None:
        yield Text("It is not at work now, and blocks nobody.")
        yield from map(Text, _waits(snapshot, int(spid)) if snapshot else ())
        return
    for title, value in described("sessions", Link(found, 0, 0)):
        yield Text(f"{title:<12}{value}")
    yield Text()
    yield from map(Text, _waits(snapshot, found.spid))
    trees = whole_trees(blocking_trees(snapshot.sessions))
    tree = next((each for each in trees if any(link.session.spid == found.spid for link in each)), [])
    for link in tree:
        each = link.session
        what = f"{each.login} {each.statement} ({each.doing}) for {shown(each.seconds, 'seconds')} on {each.object}"
        yield Text(f"{in_tree(link, scene)}: {what}", style="bold" if each.spid == found.spid else "")
    if tree and not found.blocked_by:
        yield Text(
            f"To end it, if nothing else helps: kill {found.spid} (its transaction is rolled back)",
            style="dim",
        )


def _waits(snapshot: Snapshot, spid: int) -> Iterator[str]:
    found = snapshot.waits_of(spid)
    if found is None:
        yield f"waits: {snapshot.missing.get('session_waits') or 'none, or not read yet'}"
    else:
        recent = "at the next" if found.window is None else f"in {shown(found.window, 'seconds')}"
        yield f"{'waited for':<40} {recent:>11} {'since login':>11} {'waits':>9}"
        for each in found.events[:MAX_WAITS]:
            times = f"{shown(each.recent, 'seconds'):>11} {shown(each.seconds, 'seconds'):>11} {count(each.waits):>9}"
            yield f"{each.event:<40.40} {times} {each.doing.replace('_', ' ')}"
    yield ""


# By part: what is known of the row of that key.
LINES: Mapping[str, Callable[[Scene, str], Iterator[Text]]] = {
    "spinlocks": spinlock_lines,
    "caches": cache_lines,
    "sessions": session_lines,
    "blocking": session_lines,
}
OF_SESSIONS = ("sessions", "blocking")
