"""A watchdog thread; it bounds calls that block inside the driver, by a deadline and by the bytes that they read."""

import logging
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter

import pyodbc

from ase_exporter.ase.call_record import call_record
from ase_exporter.ase.cost import Cost
from ase_exporter.ase.database_error import NO_THREAD, DatabaseError, query_error
from ase_exporter.ase.driver_socket import DriverSocket
from ase_exporter.ase.timing import TIMING
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.turn import TURN

log = logging.getLogger(__name__)

# Seconds between two checks of the bytes.
_CHECK_INTERVAL = 0.02
# Seconds between two looks at the timers, unless one is due earlier than was known.
_MIN_WAIT = 0.01
# Raised by pyodbc for impossible values: an hour 77, a length beyond all memory.
_UNREADABLE = (ValueError, ArithmeticError, MemoryError)


class _Timer:
    """An action, and when it is due. Its lock is held while it runs, and is no other's. others: all, itself too."""

    __slots__ = ("_action", "_lock", "_others", "due")

    def __init__(self, due: float, action: Callable[[], None], others: "set[_Timer]") -> None:
        self.due = due
        self._others = others
        self._action: Callable[[], None] | None = action
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """Have the action not run. Waits for its end if it does; a timer cannot cancel itself."""
        self._others.discard(self)
        with self._lock:
            self._action = None

    def run(self) -> None:
        with self._lock:
            if self._action:
                self._action()


class Watchdog:
    """Calls actions at given times of its clock unless they are cancelled before. Has one thread.

    All calls of all targets begin and end with a timer, and nearly all end before it is due. So what begins and ends
    one is cheap: they are in a set, without a lock that would be handed from thread to thread and without an order.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        # Called when the driver does not come back though its socket is shut down.
        self.give_up: Callable[[], None] = lambda: None
        # Changed and copied by single steps of the interpreter.
        self._timers: set[_Timer] = set()
        # When the thread looks at them again, unless it is woken.
        self._looks_at = math.inf
        self._wake = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        """Schedule `action` for `when` (clock.monotonic); returns a function that cancels it.

        Actions must not block. An error of one is logged. Raises DatabaseError if there is no thread for the first one.
        """
        if self._thread is None:
            self._start()
        timer = _Timer(when, action, self._timers)
        self._timers.add(timer)
        if when < self._looks_at:
            # Only for the earliest action: waking the thread costs a scrape two context switches.
            self._wake.set()
        return timer.cancel

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    raise DatabaseError("internal", NO_THREAD) from None
                self._thread = thread

    @contextmanager
    def guard(self, *steps: tuple[float, Callable[[], None]]) -> Iterator[None]:
        """Schedule each (when, action) within the block; the end of the block cancels all of them."""
        cancels = [self.at(when, action) for when, action in steps]
        try:
            yield
        finally:
            for cancel in cancels:
                cancel()

    def _run(self) -> None:
        while True:
            # Whatever is added from here on wakes the thread.
            self._wake.clear()
            self._looks_at = math.inf
            self._run_due()
            if timers := self._timers.copy():
                now = self.clock.monotonic()
                self._looks_at = max(min(timer.due for timer in timers), now + _MIN_WAIT)
                # While the thread waits, it keeps nothing of a call that has ended.
                timers.clear()
                self._wake.wait(self._looks_at - now)
            else:
                self._wake.wait()

    def _run_due(self) -> None:
        now = self.clock.monotonic()
        due = [timer for timer in self._timers.copy() if timer.due <= now]
        for timer in sorted(due, key=attrgetter("due")):
            self._timers.discard(timer)
            try:
                timer.run()
            except Exception:
                # Out of threads or descriptors: the other deadlines must be kept.
                log.exception("a deadline could not be enforced")


# Shared by all connections of the process that use the system clock.
SYSTEM_WATCHDOG = Watchdog()


@dataclass(slots=True)
class CallBounds:
    """Bounds a call of the driver by a deadline and in bytes; its errors become DatabaseError.

    At `limit` the call is cancelled, `cancel_grace` later its socket is shut down, at last the watchdog gives up. A
    call that lasts waits for the server, and ends the turn of its thread meanwhile.
    cost: gets the time of the call. max_bytes: that the driver may read.
    """

    driver_socket: DriverSocket
    watchdog: Watchdog
    cost: Cost
    cancel: Callable[[], None]
    limit: float
    max_bytes: int
    _first: int | None = None
    _flooded: bool = False
    # What was done at the limit and after it: 1: cancelled, 2: shut down, 3: given up.
    _steps: int = 0
    _ended: bool = False
    _unschedule: Callable[[], None] = lambda: None
    _began: float = 0.0
    # The thread of the call, if it has the turn.
    _thread: int = 0

    def __enter__(self) -> None:
        call_record.mark(in_call=True)
        self._began = self.watchdog.clock.monotonic()
        self._thread = threading.get_ident() if TURN.is_mine else 0
        self._schedule()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._ended = True
        call_record.mark(in_call=False)
        self.cost.statement_seconds += self.watchdog.clock.monotonic() - self._began
        # Waits for a step that is being taken.
        self._unschedule()
        if self._thread and not TURN.is_mine:
            TURN.take()
        if isinstance(error, pyodbc.Error):
            if not self._flooded and not self._steps:
                raise query_error(str(error.args[-1])) from None
        elif isinstance(error, _UNREADABLE):
            raise DatabaseError("lost", f"an answer that cannot be read: {error}") from None
        elif error is not None:
            return
        if self._flooded:
            raise DatabaseError("lost", "the server sends messages without end") from None
        if self._steps:
            # The driver may report the cut as an error, or take it for the end of the result.
            raise DatabaseError(
                "deadline", "the statement did not end in time", usable=self._steps < 2
            ) from None

    def _schedule(self) -> None:
        """Have the watchdog act at the next check or step: one timer for a call, as nearly all end before it."""
        due = self._step_at()
        if not self._flooded:
            due = min(due, self.watchdog.clock.monotonic() + _CHECK_INTERVAL)
        if due < math.inf:
            self._unschedule = self.watchdog.at(due, self._act)

    def _step_at(self) -> float:
        shut_down_at = self.limit + TIMING.cancel_grace
        return (self.limit, shut_down_at, shut_down_at + TIMING.stuck_after, math.inf)[self._steps]

    def _act(self) -> None:
        """Called by the watchdog, so after the call has lasted for a while."""
        if self._ended:
            return
        try:
            if self._thread:
                TURN.end(self._thread)
            if not self._flooded:
                self._check_bytes()
            late = self.watchdog.clock.monotonic() - self._step_at()
            if late > TIMING.starved_after and self._steps == 2:
                # The process gets no CPU, which says nothing about the driver.
                self.limit += late + TIMING.stuck_after
            elif late >= 0:
                self._steps += 1
                self._take_step()
        finally:
            self._schedule()

    def _take_step(self) -> None:
        if self._steps == 1:
            # After a flood, the driver manager reads thousands of messages, which a cancel would free: a crash.
            if not self._flooded:
                self.cancel()
        elif self._steps == 2:
            self.driver_socket.shut_down()
        else:
            self.watchdog.give_up()

    def _check_bytes(self) -> None:
        # What waits in the kernel has not been read.
        read = self.driver_socket.received() - self.driver_socket.waiting()
        self._first = read if self._first is None else self._first
        if read - self._first > self.max_bytes:
            self._flooded = True
            self.driver_socket.shut_down()
