"""Windows of time: as people write them, as changes cut them, and what may be wrong with them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ase_exporter.errors import UserError

_AGO = re.compile(r"now(?:-(\d+(?:\.\d+)?)(s|m|h|d))?")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# How the annotations begin that tell what came of a change.
VERDICT = "Verdict on "


@dataclass(frozen=True, slots=True)
class Span:
    """A window of time, seconds since 1970, with the name that reports give it."""

    name: str
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Mark:
    """A change, as the exporter tells it; id: only where its history was asked, not its metric."""

    at: float
    kind: str
    name: str
    old: str = ""
    new: str = ""
    id: str = ""

    @property
    def is_verdict(self) -> bool:
        """Not a change, but what was thought of one."""
        return self.kind == "annotation" and self.name.startswith(VERDICT)

    def __str__(self) -> str:
        moved = f" {self.old} -> {self.new}" if self.old or self.new else ""
        return f"{self.kind}: {self.name}{moved}"


def parse_time(text: str, now: float) -> float:
    """Seconds since 1970 from 2026-11-21T10:00:00Z (local time without Z), a number of seconds, or now-2h."""
    text = text.strip()
    if match := _AGO.fullmatch(text):
        return now - (float(match[1]) * _SECONDS[match[2]] if match[1] else 0.0)
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UserError(
            f"{text!r}: expected a time such as 2026-11-21T10:00:00Z, 1795255200 or now-2h"
        ) from None


def parse_span(name: str, text: str, now: float) -> Span:
    """A window from A..B."""
    start, dots, end = text.partition("..")
    if not dots:
        raise UserError(f"window {name}: {text!r}: expected START..END")
    span = Span(name, parse_time(start, now), parse_time(end, now))
    if span.seconds <= 0:
        raise UserError(f"window {name}: {text!r}: the end is not after the start")
    return span


def around(
    mark: Mark, marks: Sequence[Mark], now: float, *, length: float, settle: float
) -> tuple[Span, Span]:
    """Before and after a change: up to `length` seconds each, free of other changes, `settle` left out after.

    Marks within `settle` of the change belong to it (several options set at once, the restart they need).
    """
    together = [other.at for other in marks if abs(other.at - mark.at) <= settle] or [mark.at]
    first, last = min(together), max(together)
    earlier = [other.at for other in marks if other.at < first]
    later = [other.at for other in marks if other.at > last]
    start = max(first - length, max(earlier, default=0.0) + settle)
    end = min(last + settle + length, min(later, default=now), now)
    if start >= first or end <= last + settle:
        raise UserError(f"{mark}: no quiet time between it and its neighbours to compare")
    return Span("before", start, first), Span("after", last + settle, end)


def between(marks: Sequence[Mark], whole: Span, *, settle: float) -> list[Span]:
    """The quiet spans of a range that changes cut into runs, each named by the change that began it.

    Changes within `settle` of each other are one cut; that long after a cut is left out.
    """
    cuts: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.at):
        if whole.start <= mark.at <= whole.end:
            if cuts and mark.at - cuts[-1][-1].at <= settle:
                cuts[-1].append(mark)
            else:
                cuts.append([mark])
    starts = [whole.start, *(cut[-1].at + settle for cut in cuts)]
    ends = [*(cut[0].at for cut in cuts), whole.end]
    names = ["start", *(", ".join(str(mark) for mark in cut) for cut in cuts)]
    return [
        Span(name, start, end) for name, start, end in zip(names, starts, ends, strict=True) if end > start
    ]


def objections(spans: Sequence[Span], marks: Sequence[Mark], restarts: Sequence[float]) -> list[str]:
    """What makes windows doubtful: changes and restarts within them, overlaps."""
    found = []
    for span in spans:
        inside = [mark for mark in marks if span.start < mark.at < span.end]
        if inside:
            others = f" and {len(inside) - 1} more" if len(inside) > 1 else ""
            found.append(f"window {span.name} holds a change: {inside[0]}{others}")
        if any(span.start < at < span.end for at in restarts):
            found.append(f"the server was restarted within window {span.name}")
    for index, span in enumerate(spans):
        found += [
            f"windows {span.name} and {other.name} overlap"
            for other in spans[index + 1 :]
            if span.start < other.end and other.start < span.end
        ]
    return found


def clock(at: float) -> str:
    """A time as reports show it, UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
