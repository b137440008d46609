"""Executes the options of `ase-exporter compare`: from options to windows, from windows to a comparison."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ase_exporter.changes.change import Change
from ase_exporter.compare.comparison import Comparison, compare_windows
from ase_exporter.compare.marks import marks_between, marks_from_exporter, with_restarts
from ase_exporter.compare.measures import measures
from ase_exporter.compare.prometheus import KNOWN_FOR, Prometheus, range_text
from ase_exporter.compare.windows import Span, around, between, parse_span
from ase_exporter.errors import UserError
from ase_exporter.untrusted.encoders import promql


@dataclass(frozen=True, slots=True)
class Request:
    """The options of `ase-exporter compare`, as given."""

    target: str
    selector: str = ""
    exporter: str | None = None
    before: str | None = None
    after: str | None = None
    change: str | None = None
    runs: str | None = None
    length: float = 1800.0
    settle: float = 60.0
    measures: Sequence[str] | None = None


def answer(server: Prometheus, request: Request) -> Comparison:
    """The comparison that the options ask for, from that server. Raises UserError."""
    for key in request.measures or ():
        if key not in measures():
            raise UserError(f"--measure: {key}: expected one of {', '.join(measures())}")
    pair = request.before is not None or request.after is not None
    if sum((pair, request.change is not None, request.runs is not None)) != 1:
        raise UserError("expected one of: --before and --after, --around, --runs")
    if pair and (request.before is None or request.after is None):
        raise UserError("--before and --after: expected both")
    now = time.time()
    given = {"before": request.before, "after": request.after, "runs": request.runs}
    spans = [parse_span(name, text, now) for name, text in given.items() if text is not None]
    known = marks_from_exporter(request.exporter, request.target) if request.exporter else None
    selector = server_selector(instance_named(server, request.target), request.selector)
    marks = marks_between(server, selector, now - KNOWN_FOR, now, now) if known is None else known
    if request.change is not None:
        mark = _find(marks, request.change)
        marks, spans = windows_around(
            server, selector, mark, known, now, length=request.length, settle=request.settle
        )
    elif request.runs is not None:
        spans = between(marks, spans[0], settle=request.settle)
    return compare_windows(server, selector, spans, keys=request.measures, marks=marks)


def windows_around(
    server: Prometheus,
    selector: str,
    mark: Change,
    marks: Sequence[Change] | None,
    now: float,
    *,
    length: float,
    settle: float,
) -> tuple[list[Change], list[Span]]:
    """The changes near a change, and the windows before and after it, without restarts.

    marks: all changes; None to read them from Prometheus. Raises UserError if neighbours leave no time.
    """
    # Changes made together with it may lie well outside of the windows' lengths.
    start, end = mark.earliest - 2 * length, mark.at + 2 * (settle + length)
    near = with_restarts(server, selector, start, end, now, marks)
    if all((other.at, str(other)) != (mark.at, str(mark)) for other in near):
        near.append(mark)
    return near, list(around(mark, near, now, length=length, settle=settle))


def server_selector(target: str, more: str = "") -> str:
    """Label matchers of a server: its `instance`, and more of them."""
    return ", ".join(part for part in (f"instance={promql(target)}", more) if part)


def instance_named(prometheus: Prometheus, name: str) -> str:
    """The `instance` of a server: that of the name or, where none has it, of the server that calls itself so."""
    age = f"[{range_text(KNOWN_FOR)}]"
    named = f'last_over_time({{__name__=~"ase_up|dbhost_memory_bytes", instance={promql(name)}}}{age})'
    called = f"last_over_time(ase_info{{server_name={promql(name)}}}{age})"
    found = {
        each.labels.get("instance", "")
        for each in prometheus.query(f"group by (instance) ({named} or {called})")
    }
    return found.pop() if len(found) == 1 else name


def _words(text: str) -> str:
    """Without the signs between the words of a change, which differ from list to list."""
    return " ".join(re.sub(r"(:|->|→)(?=\s|$)", " ", text).split())


def _find(marks: list[Change], text: str) -> Change:
    words = _words(text)
    found = [mark for mark in marks if text == mark.id] or [
        mark for mark in marks if words in _words(str(mark))
    ]
    if not found:
        newest = "; the newest: " + ", ".join(map(str, marks[-3:])) if marks else "; none is recorded"
        raise UserError(f"--around: no recorded change of the last 30 days contains {text!r}{newest}")
    return found[-1]
