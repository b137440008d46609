"""The turn of a thread to run Python: one thread at a time.

The GIL allows no more, but threads that compete for it hand it over at every call of the driver, thousands of times a
scrape, and a hundred of them get less done together than one alone. A thread that scrapes has the turn, except while it
waits for a server. No thread may wait for the turn while it holds a lock.

Who goes on comes before who begins: where there is more to do than time, some scrapes end in time, and not all of them
late. Of those that begin, the last one has most time left.
"""

import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turn:
    """Whose turn it is. Threads that never take it, of commands and of the event loop, are not concerned."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holder = 0
        # Rank, thread, and what it waits for.
        self._waiting: list[tuple[tuple[bool, int], int, threading.Lock]] = []
        self._numbers = itertools.count()

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread has the turn."""
        return self._holder == threading.get_ident()

    def take(self, *, begins: bool = False) -> None:
        """Wait for the turn. begins: the thread has not had it before for what it does."""
        me = threading.get_ident()
        with self._guard:
            if not self._holder:
                self._holder = me
                return
            number = next(self._numbers)
            mine = threading.Lock()
            mine.acquire()
            heapq.heappush(self._waiting, ((begins, -number if begins else number), me, mine))
        mine.acquire()

    def end(self, thread: int) -> None:
        """End the turn of a thread, unless it has ended. The thread must not use the turn at the same time."""
        with self._guard:
            if self._holder != thread:
                return
            self._holder = 0
            if self._waiting:
                _, self._holder, next_one = heapq.heappop(self._waiting)
                next_one.release()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have the turn within the block, which begins with it."""
        self.take(begins=True)
        try:
            yield
        finally:
            self.end(threading.get_ident())

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Let others have the turn within the block, if the calling thread has it."""
        if not self.is_mine:
            yield
            return
        self.end(threading.get_ident())
        try:
            yield
        finally:
            self.take()


TURN = Turn()
"""The one of the process."""
