"""A watchdog thread: bounds calls that block inside the driver by acting when their time is up."""

import heapq
import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from ase_exporter.clock import SYSTEM_CLOCK, Clock

log = logging.getLogger(__name__)


class Watchdog:
    """Calls actions at given times of its clock unless they are cancelled before. Has one thread."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        # Called when the driver does not come back though its socket is shut down. Workers watch that themselves.
        self.give_up: Callable[[], None] = lambda: None
        self._due: list[tuple[float, int]] = []
        self._actions: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        """Schedule `action` for `when` (clock.monotonic); returns a function that cancels it.

        Actions must not block. An error of one is logged. Raises RuntimeError if there is no thread for the first one.
        """
        with self._lock:
            number = next(self._numbers)
            self._actions[number] = action
            heapq.heappush(self._due, (when, number))
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                thread.start()
                self._thread = thread
            if self._due[0][1] == number:
                # Only for the earliest action: waking the thread costs a scrape two context switches.
                self._changed.notify()
        return partial(self._cancel, number)

    @contextmanager
    def guard(self, *steps: tuple[float, Callable[[], None]]) -> Iterator[None]:
        """Schedule each (when, action) within the block; the end of the block cancels all of them."""
        cancels = [self.at(when, action) for when, action in steps]
        try:
            yield
        finally:
            for cancel in cancels:
                cancel()

    def _cancel(self, number: int) -> None:
        # The heap entry stays until the thread comes across it, which is cheaper than searching for it.
        with self._lock:
            self._actions.pop(number, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._wait()
                _, number = heapq.heappop(self._due)
                # Under the lock, so that a cancelled action cannot run afterwards.
                try:
                    self._actions.pop(number)()
                except Exception:
                    # Out of threads or descriptors: the other deadlines must be kept.
                    log.exception("a deadline could not be enforced")

    def _wait(self) -> None:
        """Wait until an action is due. Cancelled ones are dropped here, without a wake-up for each of them."""
        while True:
            while self._due and self._due[0][1] not in self._actions:
                heapq.heappop(self._due)
            left = self._due[0][0] - self.clock.monotonic() if self._due else None
            if left is not None and left <= 0:
                return
            self._changed.wait(left)


# Shared by all connections of the process that use the system clock.
SYSTEM_WATCHDOG = Watchdog()
