"""Deadlines for calls that block inside the driver: one thread a process, which acts when time is up."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watchdog:
    """Calls actions at given times (time.monotonic) unless they are called off before."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int]] = []
        self._actions: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        """Have `action` called at `when`; returns what calls it off. Actions must not block or raise."""
        with self._changed:
            number = next(self._numbers)
            self._actions[number] = action
            heapq.heappush(self._due, (when, number))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                self._thread.start()
            if self._due[0][1] == number:
                # Only for what comes first: each call of the thread costs a scrape two changes of threads.
                self._changed.notify()
        return lambda: self._forget(number)

    @contextmanager
    def guard(self, *steps: tuple[float, Callable[[], None]]) -> Iterator[None]:
        """Within the block each (when, action) is armed; after it, all are off."""
        offs = [self.at(when, action) for when, action in steps]
        try:
            yield
        finally:
            for off in offs:
                off()

    def _forget(self, number: int) -> None:
        # The heap entry stays until the thread looks: cheaper than searching, and it finds nothing to do.
        with self._changed:
            self._actions.pop(number, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._wait()
                _, number = heapq.heappop(self._due)
                # Under the lock, so that an action that was called off is certain not to come later.
                self._actions.pop(number)()

    def _wait(self) -> None:
        """Until something is due. What was called off is thrown away unseen: to be woken for each would cost a
        scrape more than what it reads."""
        while True:
            while self._due and self._due[0][1] not in self._actions:
                heapq.heappop(self._due)
            left = self._due[0][0] - time.monotonic() if self._due else None
            if left is not None and left <= 0:
                return
            self._changed.wait(left)
