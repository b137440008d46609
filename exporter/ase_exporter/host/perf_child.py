"""Supervises `perf stat` as a child process: starts it, reads its output, restarts it with backoff.

perf counts while the command that it is given runs. That command is `cat`, reading a pipe from this process: when
the pipe is closed, or this process dies in any way, cat ends and so does perf.
"""

import contextlib
import os
import re
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ase_exporter.host import perf_output
from ase_exporter.host.perf_output import EventCount, PerfProblem, problem

_MIN_BACKOFF = 1.0
_MAX_BACKOFF = 300.0
_EXIT_GRACE = 2.0
_MAX_MESSAGE_LINES = 20


@dataclass(slots=True)
class EventTally:
    """Counts of one event. total never decreases; running: share of the last interval with a counter."""

    total: float = 0.0
    running: float = 0.0
    counting: bool = False
    problem: PerfProblem | None = None


@dataclass(slots=True)
class PerfState:
    """All events, and the state of the child. problem: why nothing is counted, None while perf counts."""

    events: dict[str, EventTally]
    counted_seconds: float = 0.0
    starts: int = 0
    last_interval: float | None = None
    problem: PerfProblem | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)


class PerfChild:
    """Keeps `perf stat` running from `start` to `close`. Hold `state.changed` to read `state`."""

    def __init__(
        self,
        command: Callable[[list[str]], list[str]],
        expressions: dict[str, str],
        interval: float,
        paranoid: Callable[[], int | None],
    ) -> None:
        """command: perf expressions -> command line; expressions: event name -> perf expression; interval: seconds;
        paranoid: reads kernel.perf_event_paranoid."""
        self._command = command
        self._expressions = dict(expressions)
        self._printed = {_printed(expression): name for name, expression in expressions.items()}
        self._interval = interval
        self._paranoid = paranoid
        self.state = PerfState({name: EventTally() for name in expressions})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="perf", daemon=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start counting. Later calls do nothing."""
        if not self._thread.is_alive() and not self._stop.is_set():
            self._thread.start()

    def close(self) -> None:
        """Stop perf and wait for it. May be called twice, and before start."""
        self._stop.set()
        if not self._thread.is_alive():
            return
        if (process := self._process) is not None:
            _close_pipe(process)
            self._thread.join(_EXIT_GRACE)
            if self._thread.is_alive():
                process.kill()
        self._thread.join()

    def _supervise(self) -> None:
        wait = _MIN_BACKOFF
        while not self._stop.is_set():
            before = self.state.last_interval
            messages = self._run()
            if self._stop.is_set():
                return
            if self.state.last_interval != before:
                wait = _MIN_BACKOFF
            if self._drop_rejected(messages):
                continue
            self._stop.wait(wait)
            wait = min(2 * wait, _MAX_BACKOFF)

    def _start(self) -> "subprocess.Popen[bytes] | PerfProblem":
        """Start perf, or say why that is not possible."""
        if not self._expressions:
            return problem("no_events")
        try:
            return subprocess.Popen(
                self._command(list(self._expressions.values())),
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

    def _run(self) -> str:
        """Run perf until it ends; return its messages (output other than counts)."""
        process = self._start()
        if isinstance(process, PerfProblem):
            self._report(process)
            return ""
        self._process = process
        self.state.starts += 1
        if self._stop.is_set():  # closed between the check and the start
            _close_pipe(process)
        lines: deque[str] = deque(maxlen=_MAX_MESSAGE_LINES)
        silent = not self._read(process, lines)
        _end(process)
        messages = "\n".join(lines)
        if not self._stop.is_set():
            self._report(problem("silent") if silent else perf_output.explain(messages, self._paranoid()))
        return messages

    def _read(self, process: subprocess.Popen[bytes], messages: deque[str]) -> bool:
        """Read until the end of output; return False if perf is silent for three intervals (at least 10 s)."""
        assert process.stderr is not None
        timeout = max(3 * self._interval, 10.0)
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
                if (count := perf_output.parse_count(text)) is None:
                    messages.append(text)
                else:
                    self._add(count, previous)
                    previous = count.time
        return False

    def _add(self, count: EventCount, previous: float) -> None:
        name = self._printed.get(count.event) or self._printed.get(count.event.rpartition(":")[0])
        if name is None:
            return
        with self.state.changed:
            tally = self.state.events[name]
            tally.counting = count.value is not None
            tally.running = count.running
            tally.total += count.value or 0.0
            tally.problem = None if count.reason is None else problem(count.reason)
            if count.time != previous:
                self.state.counted_seconds += count.time - previous
                self.state.last_interval = time.monotonic()
                self.state.problem = None
            self.state.changed.notify_all()

    def _report(self, found: PerfProblem) -> None:
        with self.state.changed:
            self.state.problem = found
            for tally in self.state.events.values():
                tally.counting = False
                tally.running = 0.0
            self.state.changed.notify_all()

    def _drop_rejected(self, messages: str) -> bool:
        """Remove the event that perf rejected; return False if the messages name no known event."""
        expression, why = perf_output.rejected_event(messages) or ("", None)
        name = next((name for name, own in self._expressions.items() if own == expression), None)
        if name is None:
            return False
        del self._expressions[name]
        with self.state.changed:
            self.state.events[name].problem = why
        return True


def _printed(expression: str) -> str:
    """Return the name that perf prints for an event: its `name=` if it has one."""
    named = re.search(r"[/,]name=([^,/]*)", expression)
    return named[1] if named else expression


def _close_pipe(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe, which ends perf; terminate and then kill it if it does not end."""
    _close_pipe(process)
    for stop in (process.terminate, process.kill):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_EXIT_GRACE)
            break
        stop()
    process.wait()
    assert process.stderr is not None
    process.stderr.close()
