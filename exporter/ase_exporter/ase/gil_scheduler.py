"""The GIL scheduler: of all threads that scrape, one at a time runs Python code; the others wait for servers.

The GIL alone does not achieve that: the driver releases it at every row, and every waiting thread polls for it.
With sixty busy threads a scrape then costs three times the CPU that it costs alone. So a thread holds the turn
for a whole scrape and releases it while it waits for the server. The next turn goes to the scrape that began
first: if there is too little CPU for all, some scrapes end in time, where otherwise all would be late.
"""

import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ase_exporter.ase.watchdog import SYSTEM_WATCHDOG

# A thread that holds the turn longer waits for something, such as rows that trickle in; it loses the turn then.
MAX_HOLD_SECONDS = 0.1


@dataclass(order=True, slots=True)
class _Turn:
    """The place of one thread in the queue.

    order: when its scrape began. waiting: for the turn, so not for a server. moved: when it last got or released
    the turn. granted: locked while the thread waits.
    """

    order: int
    waiting: bool = field(default=False, compare=False)
    moved: float = field(default_factory=time.monotonic, compare=False)
    granted: threading.Lock = field(default_factory=threading.Lock, compare=False)


class GilScheduler:
    """Grants the turn to one thread of the process at a time."""

    def __init__(self, max_hold: float = MAX_HOLD_SECONDS) -> None:
        self._max_hold = max_hold
        self._changing = threading.Lock()
        self._orders = itertools.count()
        self._queue: list[_Turn] = []
        self._owner: _Turn | None = None
        self._since = 0.0
        # Whether the watchdog will look if the owner has held the turn for too long.
        self._watched = False
        self._of_thread: dict[int, _Turn] = {}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the turn within the block, except where it is `released`."""
        thread = threading.get_ident()
        turn = self._of_thread[thread] = _Turn(next(self._orders))
        self._wait(turn)
        try:
            yield
        finally:
            del self._of_thread[thread]
            self._release(turn)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Let other threads have the turn within the block. Does nothing in a thread that does not hold it."""
        turn = self._of_thread.get(threading.get_ident())
        if turn is None:
            yield
            return
        self._release(turn)
        try:
            yield
        finally:
            self._wait(turn)

    def seconds_at_one_call(self, thread: int | None) -> float:
        """How long a thread, by its ident, has been in one call other than the wait for its turn."""
        turn = self._of_thread.get(thread or 0)
        return 0.0 if turn is None or turn.waiting else time.monotonic() - turn.moved

    def _wait(self, turn: _Turn) -> None:
        with self._changing:
            if self._owner is None:
                self._grant(turn)
                return
            turn.waiting = True
            turn.granted.acquire()
            heapq.heappush(self._queue, turn)
            watched, self._watched = self._watched, True
        if not watched:
            try:
                self._watch()
            except RuntimeError:
                # Without a thread for the watchdog, no call of the driver begins that could last.
                self._watched = False
        with turn.granted:
            pass

    def _watch(self) -> None:
        SYSTEM_WATCHDOG.at(time.monotonic() + self._max_hold, self._check_owner)

    def _check_owner(self) -> None:
        """Called by the watchdog while threads wait, which would cost them the more CPU the more they are."""
        with self._changing:
            if time.monotonic() - self._since > self._max_hold:
                # The owner goes on without the turn.
                self._grant_next()
            self._watched = watched = bool(self._queue)
        if watched:
            self._watch()

    def _release(self, turn: _Turn) -> None:
        turn.moved = time.monotonic()
        with self._changing:
            if self._owner is turn:
                self._grant_next()

    def _grant_next(self) -> None:
        self._owner = None
        if self._queue:
            turn = heapq.heappop(self._queue)
            self._grant(turn)
            turn.granted.release()

    def _grant(self, turn: _Turn) -> None:
        turn.waiting = False
        self._owner = turn
        self._since = turn.moved = time.monotonic()


gil_scheduler = GilScheduler()
