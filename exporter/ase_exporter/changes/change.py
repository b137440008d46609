"""One change, detected or annotated by a user, and its text."""

import re
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec

from ase_exporter.changes.snapshot import AT_RESTART, ConfigSnapshot, Difference, Event, shorten
from ase_exporter.views.figures import UNKNOWN, iso

HOST = "host"
ANNOTATION = "annotation"
# Kinds of changes that do not affect how the server works.
_HARMLESS_KINDS = (ANNOTATION, "counters_cleared")
# docs/changes.md describes them.
_SERVER_KINDS = (
    "option",
    "cache",
    "binding",
    "engine",
    "thread_pool",
    "database",
    "version",
    "restart",
    "counters_cleared",
    "trace_flag",
)
_HOST_KINDS = ("thp", "hugepages", "cpus", "memory", "kernel", "numa_balancing", "restart")
KINDS = frozenset({ANNOTATION, *_SERVER_KINDS, *_HOST_KINDS})
# Where a change comes from: two snapshots, the audit trail, a user, a comparison of before and after, or an incident.
ChangeSource = Literal["snapshot", "audit", "user", "verdict", "incident"]
# Types of audit events that no snapshot shows, and the kind of change they become.
_AUDIT_KINDS = dict.fromkeys(("set switch", "dbcc traceon", "dbcc traceoff"), "trace_flag")
# Trace flags that only send output to a session or to the error log.
_HARMLESS_FLAGS = frozenset({"3604", "3605"})
# Kinds whose value is a time by the server's clock, in its zone: that of the change says it in ours.
_DATED = ("restart", "counters_cleared")
# What an annotation of an incident begins with: the metric has no sources.
_OF_INCIDENT = re.compile(r"[A-Z ]+: incident [0-9]{8}T[0-9]{6}Z-")
# Tolerance in seconds between the server's clock and ours when an audit event is matched to a difference.
_CLOCK_SLACK = 5.0


@dataclass(frozen=True, slots=True)
class Change:
    """Something that changed. Times are Unix times.

    id: '' if it comes from the metric, which has no ids. target: a target's name, or '' for the host or an annotation
    for all targets. at: when it happened, or was first seen. not_before: time of the last snapshot that did not show
    it; None if `at` is exact. end: the end of a finished region. failed: the annotated command failed.
    """

    id: str
    target: str
    kind: str
    name: str
    old: str
    new: str
    at: float
    not_before: float | None = None
    end: float | None = None
    who: str = ""
    source: ChangeSource = "snapshot"
    tags: tuple[str, ...] = ()
    failed: bool = False

    def describe(self) -> str:
        """One line of text: what changed, from, to, by whom, and how exact the time is."""
        text = f"{self.name} (failed: {self.new})" if self.failed else ""
        text = text or self.brief
        if self.who:
            text += f", by {self.who}"
        if self.not_before is not None:
            text += f" (seen at {iso(self.at)}, not yet at {iso(self.not_before)})"
        return text

    @property
    def brief(self) -> str:
        """The change in a few words: option max memory: 1 → 2."""
        if self.kind == ANNOTATION:
            return self.name
        if self.kind in _DATED:
            return "server restarted" if self.kind == "restart" else "monitor counters cleared"
        return f"{self.kind} {self.name}: {self.old or '(none)'} → {self.new or '(none)'}"

    @property
    def is_harmless(self) -> bool:
        """Whether it does not affect how the server works: it ends no window of a comparison."""
        return self.kind in _HARMLESS_KINDS or self.name.endswith(AT_RESTART)

    @property
    def is_incident(self) -> bool:
        """Whether it is no change, but what one may have led to."""
        return self.kind == ANNOTATION and bool(_OF_INCIDENT.match(self.name))

    @property
    def earliest(self) -> float:
        """The earliest time at which it may have happened."""
        return self.at if self.not_before is None else min(self.not_before, self.at)

    @property
    def ref(self) -> str:
        """What `ase-exporter compare --around` finds it by."""
        return self.id or str(self)

    def __str__(self) -> str:
        moved = f" {self.old} -> {self.new}" if self.old or self.new else ""
        return f"{self.kind}: {self.name}{moved}"

    def json(self) -> dict[str, Any]:
        """The JSON object of /changes and `ase-exporter changes --format json`."""
        return asdict(self) | {"tags": list(self.tags), "text": self.describe()}


def annotation(
    text: str, at: float, *, target: str, who: str, tags: tuple[str, ...], change_id: str = ""
) -> Change:
    """A user's annotation at a Unix time, with an id of its own unless one is given."""
    return Change(
        change_id or new_id(), target, ANNOTATION, text, "", "", at, who=who, source="user", tags=tags
    )


def new_id() -> str:
    """A random id, unique across exporters."""
    return secrets.token_hex(8)


def checked(fields: object) -> Change:
    """The change that a file or another exporter tells of. Raises ValueError, also for times that cannot be shown."""
    change = msgspec.convert(fields, Change)
    if any(iso(at) == UNKNOWN for at in (change.at, change.end or 0.0, change.not_before or 0.0)):
        raise ValueError("a time that no calendar has")
    return change


def from_differences(
    target: str, differences: Iterable[Difference], snapshot: ConfigSnapshot, not_before: float
) -> list[Change]:
    """Changes from the differences of a snapshot to the one before, completed from the audit trail.

    not_before: the time of the one before. An event of a type that no snapshot shows (a trace flag) becomes a change
    itself.
    """
    at, last_read = snapshot.at, snapshot.last_read
    oldest = min([not_before, *last_read.values()])
    unused = [event for event in snapshot.events if event.at > oldest - _CLOCK_SLACK]
    changes = []
    for difference in differences:
        earliest = min(not_before, last_read.get(difference.part, not_before))
        event = next((event for event in unused if _explains(event, difference)), None)
        if event is not None:
            unused.remove(event)
        exact = event.at if event else snapshot.moments.get(difference.kind)
        # The server's clock may have jumped, or daylight saving time have begun, since then.
        if exact is not None and not earliest - _CLOCK_SLACK <= exact <= at + _CLOCK_SLACK:
            exact = None
        when = at if exact is None else min(max(exact, earliest), at)
        changes.append(
            Change(
                id=new_id(),
                target=target,
                kind=difference.kind,
                name=shorten(difference.name),
                old=difference.old if difference.kind not in _DATED else "",
                new=difference.new if difference.kind not in _DATED else "",
                at=when,
                not_before=earliest if exact is None else None,
                who=event.who if event else "",
                source="audit" if event else "snapshot",
            )
        )
    changes += [
        Change(
            id=new_id(),
            target=target,
            kind=_AUDIT_KINDS[event.type],
            name=shorten(event.element or event.target),
            old=shorten(event.old),
            new=shorten(event.new),
            at=min(event.at, at),
            who=event.who,
            source="audit",
        )
        for event in unused
        if event.type in _AUDIT_KINDS
        and (event.at > not_before if event.seen_before is None else not event.seen_before)
        and not _HARMLESS_FLAGS & {event.target, event.element}
    ]
    return sorted(changes, key=lambda change: (change.at, change.kind, change.name))


def _explains(event: Event, difference: Difference) -> bool:
    names = {event.target.lower(), event.element.lower()}
    wanted = difference.name.lower().removesuffix(" (run value)").removesuffix(AT_RESTART)
    return event.new == difference.new and bool(
        {wanted, wanted.partition(": ")[0], wanted.partition(": ")[2]} & names - {""}
    )
