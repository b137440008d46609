"""Parses the output of `perf stat -x, -I`: counts are lines of fields, problems are messages."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ase_exporter.assets import shipped_rows

_SYNTAX_ERROR = re.compile(r"event syntax error: '([^']*)'")
_DENIED = ("Access to performance monitoring", "You may not have permission", "Operation not permitted")
_MISSING = ("not found for kernel", "is not installed", "exec: perf")
_NO_TRACING = ("can't access trace events", "No permissions to read")


@dataclass(frozen=True, slots=True)
class EventCount:
    """One event in one interval.

    time: seconds since perf started; event: name as printed by perf; value: occurrences in the interval (seconds
    if the event is a time), scaled up by perf if the event was multiplexed, None if it was not counted; running:
    share of the interval in which the event had a counter (0-1); reason: why there is no value.
    """

    time: float
    event: str
    value: float | None
    running: float
    reason: str | None = None


# Why perf or one of its events does not count, and what to do.
_HINTS = {row["reason"]: row["hint"] for row in shipped_rows(Path(__file__).with_name("perf_hints.csv"))}


class PerfProblem(NamedTuple):
    """Why perf or one event does not count; hint: one line on what to do."""

    reason: str
    hint: str


def problem(reason: str) -> PerfProblem:
    """The problem of that reason, with its usual hint."""
    return PerfProblem(reason, _HINTS[reason])


def parse_count(line: str) -> EventCount | None:
    """Parse one line of `perf stat -x, -I MS`; None if it is a message.

    Fields: time, value, unit, event, runtime in ns, percent running, two fields of a derived metric.
    """
    fields = line.strip().split(",")
    if len(fields) < 6:
        return None
    time, value, unit, event, _, percent = fields[:6]
    try:
        running = float(percent) / 100
        if value.startswith("<not "):
            reason = "not_supported" if value == "<not supported>" else "not_counted"
            return EventCount(float(time), event, None, 0.0, reason)
        return EventCount(float(time), event, float(value) * (1e-3 if unit == "msec" else 1), running)
    except ValueError:
        return None


def rejected_event(messages: str) -> tuple[str, PerfProblem] | None:
    """Return the event that perf rejected at start (its expression as given) and why."""
    match = _SYNTAX_ERROR.search(messages)
    if match is None:
        return None
    if any(text in messages for text in _NO_TRACING):
        hint = "make /sys/kernel/tracing readable: mount -o remount,mode=755"
        return match[1], PerfProblem("no_permission", hint)
    return match[1], problem("unknown_event")


def explain(messages: str, paranoid: int | None) -> PerfProblem:
    """Return why perf ended, from its messages; paranoid: kernel.perf_event_paranoid, None if unknown."""
    if any(text in messages for text in _MISSING):
        return problem("no_binary")
    if any(text in messages for text in _DENIED):
        return problem("paranoid" if paranoid is not None and paranoid > 0 else "no_permission")
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    return PerfProblem("failed", lines[0][:200] if lines else _HINTS["failed"])
