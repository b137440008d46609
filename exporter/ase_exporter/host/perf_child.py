"""`perf stat` as a supervised child: started, read, restarted with backoff, and never left behind.

perf counts for as long as the command that it is given runs. Ours is `cat` on a pipe from us: when we close
the pipe, or die in whatever way, cat ends, and perf with it.
"""

import contextlib
import os
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ase_exporter.host.perf_output import HINTS, Count, Problem, diagnose, parse_count, refused_event

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 300.0
_GRACE = 2.0
_PROSE_LINES = 20


@dataclass(slots=True)
class Tally:
    """What one event came to: total only grows; running: share of the last interval it had a counter."""

    total: float = 0.0
    running: float = 0.0
    counting: bool = False
    problem: Problem | None = None


@dataclass(slots=True)
class Tallies:
    """All events, and the child's own state. problem: why nothing is counted, None while perf counts."""

    events: dict[str, Tally]
    counted_seconds: float = 0.0
    starts: int = 0
    last_interval: float | None = None
    problem: Problem | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)


class PerfChild:
    """Keeps `perf stat` running from `start` to `close`; `tallies` is guarded by its condition `changed`."""

    def __init__(
        self,
        command: Callable[[list[str]], list[str] | Problem],
        expressions: dict[str, str],
        interval: float,
        paranoid: Callable[[], int | None],
    ) -> None:
        """command: perf's expressions -> the command line, or why there is none now; expressions: name ->
        expression; interval: seconds; paranoid: reads kernel.perf_event_paranoid."""
        self._command = command
        self._expressions = dict(expressions)
        self._printed = {_printed(expression): name for name, expression in expressions.items()}
        self._interval = interval
        self._paranoid = paranoid
        self.tallies = Tallies({name: Tally() for name in expressions})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="perf", daemon=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start counting, once."""
        if not self._thread.is_alive() and not self._stop.is_set():
            self._thread.start()

    def close(self) -> None:
        """End perf and wait for it. May be called twice, and before start."""
        self._stop.set()
        if not self._thread.is_alive():
            return
        if (process := self._process) is not None:
            _close_pipe(process)
            self._thread.join(_GRACE)
            if self._thread.is_alive():
                process.kill()
        self._thread.join()

    def _supervise(self) -> None:
        wait = _FIRST_WAIT
        while not self._stop.is_set():
            before = self.tallies.last_interval
            prose = self._run()
            if self._stop.is_set():
                return
            if self.tallies.last_interval != before:
                wait = _FIRST_WAIT
            if self._drop_refused(prose):
                continue
            self._stop.wait(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _run(self) -> str:
        """Run perf until it ends; what it said beside counts."""
        if not self._expressions:
            self._report(Problem("no_events", HINTS["no_events"]))
            return ""
        command = self._command(list(self._expressions.values()))
        if isinstance(command, Problem):
            self._report(command)
            return ""
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
            )
        except FileNotFoundError:
            self._report(Problem("no_binary", HINTS["no_binary"]))
            return ""
        except OSError as error:
            self._report(Problem("failed", f"perf cannot be started: {error.strerror}"))
            return ""
        self._process = process
        self.tallies.starts += 1
        if self._stop.is_set():  # closed between the check and the start
            _close_pipe(process)
        prose: deque[str] = deque(maxlen=_PROSE_LINES)
        silent = not self._read(process, prose)
        _end(process)
        said = "\n".join(prose)
        if not self._stop.is_set():
            problem = Problem("silent", HINTS["silent"]) if silent else diagnose(said, self._paranoid())
            self._report(problem)
        return said

    def _read(self, process: subprocess.Popen[bytes], prose: deque[str]) -> bool:
        """Read until the end; False if perf stays silent for three intervals and more."""
        assert process.stderr is not None
        patience = max(3 * self._interval, 10.0)
        poll = select.poll()
        poll.register(process.stderr, select.POLLIN | select.POLLHUP)
        rest = b""
        seen = 0.0
        while poll.poll(patience * 1000):
            data = os.read(process.stderr.fileno(), 1 << 16)
            if not data:
                return True
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "replace")
                if (count := parse_count(text)) is None:
                    prose.append(text)
                else:
                    self._add(count, seen)
                    seen = count.time
        return False

    def _add(self, count: Count, seen: float) -> None:
        name = self._printed.get(count.event) or self._printed.get(count.event.rpartition(":")[0])
        if name is None:
            return
        with self.tallies.changed:
            tally = self.tallies.events[name]
            tally.counting = count.value is not None
            tally.running = count.running
            tally.total += count.value or 0.0
            tally.problem = None if count.reason is None else Problem(count.reason, HINTS[count.reason])
            if count.time != seen:
                self.tallies.counted_seconds += count.time - seen
                self.tallies.last_interval = time.monotonic()
                self.tallies.problem = None
            self.tallies.changed.notify_all()

    def _report(self, problem: Problem) -> None:
        with self.tallies.changed:
            self.tallies.problem = problem
            for tally in self.tallies.events.values():
                tally.counting = False
                tally.running = 0.0
            self.tallies.changed.notify_all()

    def _drop_refused(self, prose: str) -> bool:
        """Leave out the event that perf refused to start with; False if it was none of ours."""
        refused = refused_event(prose)
        if refused is None:
            return False
        expression, problem = refused
        for name, own in self._expressions.items():
            if own == expression:
                del self._expressions[name]
                with self.tallies.changed:
                    self.tallies.events[name].problem = problem
                return True
        return False


def _printed(expression: str) -> str:
    """How perf names an event in its output: by `name=` if it has one."""
    for part in expression.strip("/").split("/")[-1].split(","):
        if part.startswith("name="):
            return part.removeprefix("name=")
    return expression


def _close_pipe(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """See perf off: it ends as its pipe closes; one that does not is ended."""
    _close_pipe(process)
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    assert process.stderr is not None
    process.stderr.close()
