"""Time windows: parsed from text, derived from changes, and warnings about them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from ase_exporter.changes.change import ANNOTATION, Change
from ase_exporter.config.times import moment_option
from ase_exporter.errors import NoDataError, UserError


@dataclass(frozen=True, slots=True)
class Span:
    """A time window in Unix seconds, with its name in reports. cuts: why it is shorter than it might be."""

    name: str
    start: float
    end: float
    cuts: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return self.end - self.start


def parse_span(name: str, text: str, now: float) -> Span:
    """A window from START..END, moments as `times.parse_moment` takes them. Raises UserError."""
    start, dots, end = text.partition("..")
    if not dots:
        raise UserError(f"window {name}: {text!r}: expected START..END")
    option = f"window {name}"
    since = moment_option(option, start, now)
    span = Span(name, since, moment_option(option, end, now, since))
    if span.seconds <= 0:
        raise UserError(f"window {name}: {text!r}: expected START before END")
    return span


def around(
    mark: Change, marks: Sequence[Change], now: float, *, length: float, settle: float
) -> tuple[Span, Span]:
    """Windows before and after a change, up to `length` seconds each, without other changes in them.

    "Before" ends when the change was not there yet; "after" begins `settle` seconds after it was seen. Changes that
    follow each other within `settle` seconds are compared together (several options set at once, the restart they
    need). Raises NoDataError if neighbours leave no time.
    """
    causes = [other for other in marks if not other.is_incident]
    relevant = [other for other in causes if not other.is_harmless or mark.kind == ANNOTATION]
    (together,) = (group for group in groups_of_changes({mark, *relevant}, settle) if mark in group)
    first, last = _extent(together)
    others = [other for other in relevant if other not in together]
    earlier = [other for other in others if other.at < first]
    later = [other for other in others if other.earliest > last]
    previous = max(earlier, key=lambda other: other.at, default=None)
    following = min(later, key=lambda other: other.earliest, default=None)
    before = Span("before", first - length, first)
    if previous and previous.at + settle > before.start:
        before = cut(before, start=previous.at + settle, reason=f"after {previous}")
    after = Span("after", last + settle, last + settle + length)
    if following and following.earliest < after.end:
        after = cut(after, end=following.earliest, reason=f"before {following}")
    if now < after.end:
        after = cut(after, end=now, reason="up to now")
    for span, neighbour in ((before, previous), (after, following)):
        if span.seconds <= 0:
            cause = f"between it and {neighbour}" if neighbour else f"for {span.name}"
            raise NoDataError(f"{mark}: no time {cause} to compare")
    return before, after


def groups_of_changes(marks: Iterable[Change], settle: float) -> list[list[Change]]:
    """The changes in groups, in order of time: each of a group follows another of it within `settle` seconds."""
    groups: list[list[Change]] = []
    reached = -math.inf
    for mark in sorted(marks, key=lambda mark: mark.earliest):
        if mark.earliest - reached > settle:
            groups.append([])
        groups[-1].append(mark)
        reached = max(reached, mark.at)
    return [sorted(group, key=lambda mark: (mark.at, str(mark), mark.id)) for group in groups]


def cut(span: Span, *, start: float | None = None, end: float | None = None, reason: str) -> Span:
    """The part of a window from start to end, with the reason for what is lost."""
    start, end = span.start if start is None else start, span.end if end is None else end
    lost = span.seconds - (end - start)
    return Span(span.name, start, end, (*span.cuts, f"{lost:,.0f} s less: {reason}"))


def _extent(marks: Sequence[Change]) -> tuple[float, float]:
    return min(mark.earliest for mark in marks), max(mark.at for mark in marks)


def between(marks: Sequence[Change], range_: Span, *, settle: float) -> list[Span]:
    """The windows between the changes in a range, each named by the change that began it.

    Changes within `settle` seconds of each other count as one. The `settle` seconds after a change are left out.
    """
    causes = [mark for mark in marks if not mark.is_incident]
    inside = [mark for mark in causes if range_.start <= mark.earliest and mark.at <= range_.end]
    groups = groups_of_changes(inside, settle)
    starts = [range_.start, *(group[-1].at + settle for group in groups)]
    ends = [*(_extent(group)[0] for group in groups), range_.end]
    names = ["start", *(", ".join(str(mark) for mark in group) for group in groups)]
    return [
        Span(name, start, end) for name, start, end in zip(names, starts, ends, strict=True) if end > start
    ]


def window_warnings(spans: Sequence[Span], marks: Sequence[Change]) -> list[str]:
    """Warnings about windows: changes within them, and overlaps."""
    found = []
    for span in spans:
        causes = (mark for mark in marks if not mark.is_incident)
        inside = [mark for mark in causes if span.start < mark.at and mark.earliest < span.end]
        if inside:
            others = f" and {len(inside) - 1} more" if len(inside) > 1 else ""
            found.append(f"window {span.name} contains a change: {inside[0]}{others}")
    found += [
        f"windows {span.name} and {other.name} overlap"
        for span, other in combinations(spans, 2)
        if span.start < other.end and other.start < span.end
    ]
    return found
