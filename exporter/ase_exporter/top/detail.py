"""Details of one session."""

from collections.abc import Iterator

from rich.text import Text

from ase_exporter.sessions.blocking import Link, blocking_trees, whole_trees
from ase_exporter.sessions.session import Snapshot
from ase_exporter.top.frames import Scene
from ase_exporter.top.view import described, in_tree
from ase_exporter.views.figures import short, shown

# Events of a session.
MAX_WAITS = 12


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
            times = f"{shown(each.recent, 'seconds'):>11} {shown(each.seconds, 'seconds'):>11} {short(each.waits):>9}"
            yield f"{each.event:<40.40} {times} {each.doing.replace('_', ' ')}"
    yield ""
