"""One thread of a process at a time does what needs the interpreter; those who wait for a server are not in its way.

The GIL does not see to that: the driver gives it away at every row, and each thread that wants it back polls. With
sixty threads at work a scrape then costs three times the CPU that it costs alone. A turn is taken for a whole scrape
and given away while the server is awaited; the next is whoever began first. So when there is too little CPU for all,
some come to an end in time, where otherwise all would be late.
"""

import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A turn that takes longer waits for something, as for rows that trickle: then the others no longer wait for it.
LONGEST = 0.1


class _Turn:
    """One thread's stake. order: of the beginning; waiting: for the turn, so not for a server; moved: when it got
    it or gave it away the last time."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.waiting = False
        self.moved = time.monotonic()
        self.come = threading.Lock()

    def __lt__(self, other: "_Turn") -> bool:
        return self.order < other.order


class Turns:
    """The turns of a process."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._orders = itertools.count()
        self._queue: list[_Turn] = []
        self._owner: _Turn | None = None
        self._since = 0.0
        self._of_thread: dict[int, _Turn] = {}

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the turn within the block, but for what is `given`."""
        thread = threading.get_ident()
        turn = self._of_thread[thread] = _Turn(next(self._orders))
        self._wait(turn)
        try:
            yield
        finally:
            del self._of_thread[thread]
            self._pass_on(turn)

    @contextmanager
    def given(self) -> Iterator[None]:
        """Let others have it within the block. Nothing happens in a thread that did not take it."""
        turn = self._of_thread.get(threading.get_ident())
        if turn is None:
            yield
            return
        self._pass_on(turn)
        try:
            yield
        finally:
            self._wait(turn)

    def stands_still(self, thread: int | None) -> float:
        """For how many seconds a thread, by its ident, has been at one thing that is not the wait for its turn."""
        turn = self._of_thread.get(thread or 0)
        return 0.0 if turn is None or turn.waiting else time.monotonic() - turn.moved

    def _wait(self, turn: _Turn) -> None:
        with self._changing:
            if self._owner is None:
                self._own(turn)
                return
            turn.waiting = True
            turn.come.acquire()
            heapq.heappush(self._queue, turn)
        while not turn.come.acquire(timeout=LONGEST):
            with self._changing:
                if time.monotonic() - self._since > LONGEST:
                    # Its owner is left behind.
                    self._next()
        turn.come.release()

    def _pass_on(self, turn: _Turn) -> None:
        turn.moved = time.monotonic()
        with self._changing:
            if self._owner is turn:
                self._next()

    def _next(self) -> None:
        self._owner = None
        if self._queue:
            turn = heapq.heappop(self._queue)
            self._own(turn)
            turn.come.release()

    def _own(self, turn: _Turn) -> None:
        turn.waiting = False
        self._owner = turn
        self._since = turn.moved = time.monotonic()


turns = Turns()
