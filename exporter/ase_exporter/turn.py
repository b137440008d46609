"""The turn of a thread to run Python: one thread at a time.

The GIL allows no more, but threads that compete for it hand it over at every call of the driver, thousands of times a
scrape, and a hundred of them get less done together than one alone. A thread that scrapes has the turn, except while it
waits for a server. No thread may wait for the turn while it holds a lock.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turn:
    """Whose turn it is. Threads that never take it, of commands and of the event loop, are not concerned."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder = 0

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread has the turn."""
        return self._holder == threading.get_ident()

    def take(self) -> None:
        """Wait for the turn."""
        self._lock.acquire()
        self._holder = threading.get_ident()

    def end(self, thread: int) -> None:
        """End the turn of a thread, unless it has ended. The thread must not use the turn at the same time."""
        if self._holder == thread:
            self._holder = 0
            self._lock.release()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have the turn within the block."""
        self.take()
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
