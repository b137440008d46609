"""One change, found or told by hand, and how it reads."""

import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from ase_exporter.changes.snapshot import Difference, Event, shorten

HOST = "host"
ANNOTATION = "annotation"
Source = Literal["look", "audit", "hand", "verdict"]
# Types of audit events that no look can find, and the kind they become.
_AUDIT_KINDS = dict.fromkeys(("set switch", "dbcc traceon", "dbcc traceoff"), "trace_flag")
# These flags only send output to a session or to the error log.
_HARMLESS_FLAGS = frozenset({"3604", "3605"})
# An event of the audit trail belongs to a difference found at most this much later by another clock.
_CLOCK_SLACK = 5.0


@dataclass(frozen=True, slots=True)
class Change:
    """Something that changed. Times are Unix times.

    target: a target's name, or '' for the machine or an annotation for all. at: when it happened, or was
    first seen. not_before: the last look that did not show it yet; None where `at` is exact. end: where it
    is a region that has been finished. failed: a command that was run and failed.
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
    source: Source = "look"
    tags: tuple[str, ...] = ()
    failed: bool = False

    def describe(self) -> str:
        """One line for people: what, from, to, who, and how sure the time is."""
        if self.kind == ANNOTATION:
            text = f"{self.name} (failed: {self.new})" if self.failed else self.name
        elif self.kind in ("restart", "counters_cleared"):
            text = "server restarted" if self.kind == "restart" else "monitor counters cleared"
        else:
            text = f"{self.kind} {self.name}: {self.old or '(none)'} → {self.new or '(none)'}"
        if self.who:
            text += f", by {self.who}"
        if self.not_before is not None:
            text += f" (seen at {clock(self.at)}, not yet at {clock(self.not_before)})"
        return text

    def json(self) -> dict[str, Any]:
        """As /changes and `ase-exporter changes --format json` give it."""
        return asdict(self) | {"tags": list(self.tags), "text": self.describe()}


def new_id() -> str:
    """An id that no other change has, on any exporter."""
    return secrets.token_hex(8)


def clock(at: float) -> str:
    """A time as text, UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_differences(
    target: str,
    differences: Iterable[Difference],
    *,
    at: float,
    not_before: float,
    moments: dict[str, float],
    events: Iterable[Event] = (),
) -> list[Change]:
    """Changes out of what two looks show and what the audit trail knows about it.

    at, not_before: times of the two looks. Events that no difference explains and that only the audit trail
    knows (trace flags, server options) become changes of their own.
    """
    unused = [event for event in events if event.at > not_before - _CLOCK_SLACK]
    changes = []
    for difference in differences:
        event = next((event for event in unused if _explains(event, difference)), None)
        if event is not None:
            unused.remove(event)
        exact = event.at if event else moments.get(difference.kind)
        when = at if exact is None else min(max(exact, not_before), at)
        changes.append(
            Change(
                id=new_id(),
                target=target,
                kind=difference.kind,
                name=shorten(difference.name),
                old=difference.old,
                new=difference.new,
                at=when,
                not_before=not_before if exact is None else None,
                who=event.who if event else "",
                source="audit" if event else "look",
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
        and (event.at > not_before if event.heard is None else not event.heard)
        and not _HARMLESS_FLAGS & {event.target, event.element}
    ]
    return sorted(changes, key=lambda change: (change.at, change.kind, change.name))


def _explains(event: Event, difference: Difference) -> bool:
    names = {event.target.lower(), event.element.lower()}
    wanted = difference.name.lower().removesuffix(" (run value)")
    return event.new == difference.new and bool(
        {wanted, wanted.partition(": ")[0], wanted.partition(": ")[2]} & names - {""}
    )
