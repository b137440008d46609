"""Perf collector: CPU events counted by `perf stat` (TLB misses, cycles, memory reads, page faults).

perf counts while the command that it is given runs. That command is `cat`, reading a pipe from this process: when
the pipe is closed, or this process dies in any way, cat ends and so does perf. A thread reads what perf prints, and
starts it again a while after it ended. A reason for not counting becomes a label of a metric, never an error.
"""

import contextlib
import os
import re
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ase_exporter.config.host import Perf, perf_profiles
from ase_exporter.host.declared import family, of_group
from ase_exporter.host.files import list_names, read_int, read_kernel_text
from ase_exporter.metrics.families import Family

_RESTART_SECONDS = 60.0
_EXIT_SECONDS = 2.0
_MAX_MESSAGE_LINES = 20

_PMU_EVENT = re.compile(r"([\w.-]+)/([^/]*)/(\w*)")
# An expression of an event has commas, which perf does not quote.
_COUNT = re.compile(
    r"\s*([\d.]+),(<not \w+>|[\d.]+),([^,]*),([\w.-]+/[^/]*/\w*|'[^']*'|[^,]*),(\d*),([\d.]*)(?:,.*)?"
)
_SYNTAX_ERROR = re.compile(r"(?:event syntax error|invalid or unsupported event): '([^']*)'")
_OPEN_ERROR = re.compile(r"for event \(([^)]*)\)|The (\S+) event is not supported")
_DENIED = ("Access to performance monitoring", "You may not have permission", "Operation not permitted")
_MISSING = ("not found for kernel", "is not installed", "exec: perf")
_NO_TRACING = ("can't access trace events", "No permissions to read")
_HINTS = {
    "no_binary": "install perf for this kernel (Debian: linux-perf, RHEL: perf)",
    "no_permission": "give CAP_PERFMON (CAP_SYS_ADMIN before 5.8); in a container, lift seccomp's ban too",
    "paranoid": "sysctl kernel.perf_event_paranoid=0, or give CAP_PERFMON (CAP_SYS_ADMIN before 5.8)",
    "not_supported": "this CPU, or the virtual machine around it, does not count the event",
    "not_counted": "the event got no counter in the last interval",
    "not_printed": "perf prints no line of that name",
    "unknown_event": "perf does not know the event on this kernel and CPU; see perf list",
    "no_events": "no event is left to count",
    "silent": "perf gave no interval in time and was ended",
    "failed": "perf ended by itself",
}


class PerfProblem(NamedTuple):
    """Why perf or one event does not count; hint: one line on what to do."""

    reason: str
    hint: str


def problem(reason: str) -> PerfProblem:
    """The problem of that reason, with its usual hint."""
    return PerfProblem(reason, _HINTS[reason])


class EventCount(NamedTuple):
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


def parse_count(line: str) -> EventCount | None:
    """Parse one line of `perf stat -x, -I MS`; None if it is a message.

    Fields: time, value, unit, event, runtime in ns, percent running, two fields of a derived metric.
    """
    if not (match := _COUNT.fullmatch(line.rstrip())):
        return None
    time, value, unit, event, _, percent = match.groups()
    try:
        if value.startswith("<not "):
            reason = "not_supported" if value == "<not supported>" else "not_counted"
            return EventCount(float(time), event, None, 0.0, reason)
        factor = 1e-3 if unit == "msec" else 1
        return EventCount(float(time), event, float(value) * factor, float(percent) / 100)
    except ValueError:
        return None


def rejected_event(messages: str) -> tuple[str, PerfProblem] | None:
    """Return the event that perf rejected at start (its expression as given) and why."""
    match = _SYNTAX_ERROR.search(messages)
    if match is None:
        # What is denied is denied for all events, of which perf names one.
        denied = any(text in messages for text in _DENIED)
        refused = None if denied else _OPEN_ERROR.search(messages)
        return (refused[1] or refused[2], problem("not_supported")) if refused else None
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


@dataclass(slots=True)
class EventTally:
    """Counts of one event. total never decreases; running: share of the last interval with a counter.

    pmus: the units that counted it in the interval that ended at `time`: one for each kind of core.
    """

    total: float = 0.0
    running: float = 0.0
    counting: bool = False
    problem: PerfProblem | None = None
    pmus: int = 0
    time: float | None = None

    def add(self, count: EventCount) -> None:
        """Add what one unit counted; those of one interval are summed, and one that counts is enough."""
        if count.time != self.time:
            self.time, self.pmus, self.running, self.counting = count.time, 0, 0.0, False
        if count.value is not None:
            self.pmus += 1
            self.running += (count.running - self.running) / self.pmus
            self.total += count.value
            self.counting = True
        self.problem = problem(count.reason) if count.reason and not self.counting else None


class PerfCollector:
    """Runs `perf stat` from the first `collect` to `close`. Hold `changed` to read its attributes.

    tallies: by the name of the event. counted_seconds: total length of the intervals. last_interval: when perf printed
    one (monotonic clock). problem: why nothing is counted, None while perf counts.
    """

    def __init__(self, config: Perf, procfs: str, sysfs: str) -> None:
        self._paranoid_file = f"{procfs}/sys/kernel/perf_event_paranoid"
        self._config = config
        self._profile, self._expressions = choose_profile(procfs, sysfs)
        self.tallies = {name: EventTally() for name in self._expressions}
        self.counted_seconds = 0.0
        self.starts = 0
        self.last_interval: float | None = None
        self.problem: PerfProblem | None = None
        self.changed = threading.Condition()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="perf", daemon=True)
        self._process: subprocess.Popen[bytes] | None = None

    def collect(self) -> Iterator[Family]:
        """Yield counts so far and reasons for not counting. The first call starts perf."""
        if not self._thread.is_alive() and not self._closed.is_set():
            self._thread.start()
        with self.changed:
            families = list(self._families())
        yield from families

    def close(self) -> None:
        """Stop perf and wait for it. May be called twice, and before the first `collect`."""
        with self.changed:
            self._closed.set()
        if not self._thread.is_alive():
            return
        if (process := self._process) is not None:
            _close_pipe(process)
            self._thread.join(_EXIT_SECONDS)
            if self._thread.is_alive():
                process.kill()
        self._thread.join()

    def _families(self) -> Iterator[Family]:
        events: dict[tuple[str, ...], dict[str, float]] = {}
        for name, tally in self.tallies.items():
            counted = {"total": tally.total, "running": tally.running, "pmus": tally.pmus}
            events[name,] = {"counting": tally.counting, **(counted if tally.counting or tally.total else {})}
        yield from of_group("perf_event", events)
        problems = [(name, tally.problem) for name, tally in self.tallies.items() if tally.problem]
        yield family(
            "dbhost_perf_event_problem", [((name, why.hint, why.reason), 1) for name, why in problems]
        )
        if self.problem:
            yield family("dbhost_perf_problem", [((self.problem.hint, self.problem.reason), 1)])
        last = self.last_interval
        numbers = {
            "up": last is not None and self.problem is None,
            "starts": self.starts,
            "counted": self.counted_seconds,
            "age": None if last is None else time.monotonic() - last,
            "paranoid": read_int(self._paranoid_file),
        }
        yield from of_group("perf", {(): numbers})
        yield family("dbhost_perf_profile_info", [((self._profile,), 1)])

    def _run(self) -> None:
        while not self._closed.is_set():
            messages = self._count()
            if not self._drop_rejected(messages):
                self._closed.wait(_RESTART_SECONDS)

    def _count(self) -> str:
        """Run perf until it ends; return its messages (output other than counts)."""
        process = self._start()
        if isinstance(process, PerfProblem):
            self._report(process)
            return ""
        messages: deque[str] = deque(maxlen=_MAX_MESSAGE_LINES)
        silent = not self._read(process, messages)
        _end(process)
        text = "\n".join(messages)
        if not self._closed.is_set():
            paranoid = read_int(self._paranoid_file)
            self._report(problem("silent") if silent else explain(text, paranoid))
        return text

    def _start(self) -> "subprocess.Popen[bytes] | PerfProblem":
        """Start perf, or say why that is not possible."""
        if not self._expressions:
            return problem("no_events")
        events = [word for expression in self._expressions.values() for word in ("-e", expression)]
        interval = str(round(self._config.interval * 1000))
        try:
            process = subprocess.Popen(
                [self._config.binary, "stat", "-a", "-x,", "-I", interval, *events, "--", "cat"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
            )
        except FileNotFoundError:
            return problem("no_binary")
        except OSError as error:
            return PerfProblem("failed", f"perf cannot be started: {error.strerror}")
        with self.changed:
            self._process = process
            self.starts += 1
            if self._closed.is_set():  # between the check and the start
                _close_pipe(process)
        return process

    def _read(self, process: subprocess.Popen[bytes], messages: deque[str]) -> bool:
        """Read until the end of output; return False if perf is silent for three intervals (at least 10 s)."""
        assert process.stderr is not None
        timeout = max(3 * self._config.interval, 10.0)
        poll = select.poll()
        poll.register(process.stderr, select.POLLIN | select.POLLHUP)
        rest = b""
        previous = 0.0
        while poll.poll(timeout * 1000):
            data = os.read(process.stderr.fileno(), 1 << 16)
            if not data:
                return True
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "replace")
                if (count := parse_count(text)) is None:
                    messages.append(text)
                else:
                    self._add(count, previous)
                    previous = count.time
        return False

    def _add(self, count: EventCount, previous: float) -> None:
        """Add an event's count. previous: the time of the line before, which is the same within an interval."""
        name = next((each for each in _names(count.event) if each in self.tallies), None)
        with self.changed:
            if count.time != previous:
                self.counted_seconds += count.time - previous
                self.last_interval = time.monotonic()
                self.problem = None
                missing = [
                    each for each in self.tallies.values() if each.time != previous and not each.problem
                ]
                for tally in missing if previous else ():
                    tally.problem, tally.counting = problem("not_printed"), False
            if name is not None:
                self.tallies[name].add(count)
            self.changed.notify_all()

    def _report(self, found: PerfProblem) -> None:
        with self.changed:
            self.problem = found
            for tally in self.tallies.values():
                tally.counting, tally.running, tally.time = False, 0.0, None
            self.changed.notify_all()

    def _drop_rejected(self, messages: str) -> bool:
        """Remove the event that perf rejected; return False if the messages name no known event."""
        expression, why = rejected_event(messages) or ("", None)
        # perf replaces the start and the end of long ones by dots.
        part = expression.strip(".")
        own = [each for each in _names(expression) if each in self._expressions][:1] or [
            name for name, text in self._expressions.items() if part and part in text
        ]
        if len(own) != 1:
            return False
        del self._expressions[own[0]]
        with self.changed:
            self.tallies[own[0]].problem = why
        return True


def choose_profile(procfs: str, sysfs: str) -> tuple[str, dict[str, str]]:
    """The profile of the CPU (`kernel`: generic events, of others), and perf's expressions of its events."""
    known = perf_profiles()
    cpu = parse_cpu(read_kernel_text(f"{procfs}/cpuinfo") or "")
    matching = (n for n, p in known.profiles.items() for m in p.models if cpu == (p.vendor, p.family, m))
    name = next(matching, "kernel")
    if name == "kernel":
        offered = set(list_names(f"{sysfs}/bus/event_source/devices/cpu/events"))
        raw: Mapping[str, str] = {event: f"cpu/{event}/" for event in known.kernel if event in offered}
    else:
        raw = known.profiles[name].events
    expressions = {**known.common, **raw}
    return name, {event: _named(event, text) for event, text in expressions.items()}


def parse_cpu(cpuinfo: str) -> tuple[str, int, int] | None:
    """Return vendor, family and model of the first CPU; None if cpuinfo lacks them (not x86)."""
    fields = dict(re.findall(r"^(vendor_id|cpu family|model)\s*:\s*(\S+)$", cpuinfo, re.MULTILINE))
    if len(fields) < 3:
        return None
    return fields["vendor_id"], int(fields["cpu family"]), int(fields["model"])


def _named(event: str, expression: str) -> str:
    """Add `name=` to a PMU event: without it perf prints the expression, whose commas split the line."""
    match = _PMU_EVENT.fullmatch(expression)
    return f"{match[1]}/{match[2]},name={event}/{match[3]}" if match else expression


def _printed(expression: str) -> str:
    """The name of an event: its `name=` if it has one."""
    named = re.search(r"(?:^|[/,])name=([^,/]*)", expression)
    return (named[1] if named else expression).strip("'\"")


def _names(printed: str) -> Iterator[str]:
    """What an event may be called by us that perf prints so: with modifiers, quotes, and the unit that counts it.

    perf names the unit where there are several, as with two kinds of cores (cpu_core/cycles/), and on others than x86
    (armv8_pmuv3_0/cycles/).
    """
    text = printed.strip("'\"")
    unit = _PMU_EVENT.fullmatch(text)
    for name in (text, _printed(unit[2]) if unit else _printed(text)):
        yield from (name, name.rpartition(":")[0])


def _close_pipe(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe, which ends perf, and kill it if it does not end."""
    _close_pipe(process)
    try:
        process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stderr is not None
    process.stderr.close()
