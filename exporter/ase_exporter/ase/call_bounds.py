"""Bounds of one call of the driver: a deadline, and the bytes that it may read."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pyodbc

from ase_exporter.ase.database_error import DatabaseError, query_error
from ase_exporter.ase.driver_socket import DriverSocket
from ase_exporter.ase.timing import TIMING
from ase_exporter.ase.watchdog import Watchdog

# Seconds between two checks of the bytes.
_CHECK_INTERVAL = 0.02

# Raised by pyodbc for impossible values: an hour 77, a length beyond all memory.
_UNREADABLE = (ValueError, ArithmeticError, MemoryError)


@dataclass(slots=True)
class CallBounds:
    """Bounds a call of the driver by a deadline and in bytes; its errors become DatabaseError.

    At `limit` the call is cancelled, `cancel_grace` later its socket is shut down, at last the watchdog gives up.
    max_bytes: that the driver may read.
    Must not enclose a wait for the GIL scheduler, whose length depends on other threads.
    """

    driver_socket: DriverSocket
    watchdog: Watchdog
    cancel: Callable[[], None]
    limit: float
    cancel_grace: float
    max_bytes: int
    _first: int | None = None
    _flooded: bool = False
    # What was done at the limit and after it: 1: cancelled, 2: shut down, 3: given up.
    _steps: int = 0
    _ended: bool = False
    _unschedule: Callable[[], None] = lambda: None

    def __enter__(self) -> None:
        self._schedule()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._ended = True
        # Waits for a step that is being taken.
        self._unschedule()
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
        shut_down_at = self.limit + self.cancel_grace
        return (self.limit, shut_down_at, shut_down_at + TIMING.stuck_after, math.inf)[self._steps]

    def _act(self) -> None:
        """Called by the watchdog, so after the call has lasted for a while."""
        if self._ended:
            return
        try:
            if not self._flooded:
                self._check_bytes()
            if self.watchdog.clock.monotonic() >= self._step_at():
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
