"""One thread of a process at a time does what needs the interpreter; those who wait for a server are not in its way.

The GIL does not see to that: the driver gives it away at every row, and each thread that wants it back polls. With
sixty threads at work a scrape then costs three times the CPU that it costs alone, and under load none of them comes
to an end. A turn is taken for a whole scrape and given away while the server is awaited.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A turn that takes longer waits for something, as for rows that trickle: then it counts no more.
LONGEST = 0.1


class _Turn:
    """since: when it was taken last, time.monotonic()."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.since = time.monotonic()


class Turns:
    """The turns of a process."""

    def __init__(self) -> None:
        self._turn = _Turn()
        self._mine = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the turn within the block, but for what is `given`."""
        self._mine.turn = self._next()
        try:
            yield
        finally:
            self._mine.turn.lock.release()
            self._mine.turn = None

    @contextmanager
    def given(self) -> Iterator[None]:
        """Let others have it within the block. Nothing happens in a thread that did not take it."""
        turn = getattr(self._mine, "turn", None)
        if turn is None:
            yield
            return
        turn.lock.release()
        self._mine.turn = None
        try:
            yield
        finally:
            self._mine.turn = self._next()

    def _next(self) -> _Turn:
        while True:
            turn = self._turn
            if not turn.lock.acquire(timeout=LONGEST):
                # Its owner is left behind. Should two threads do so at once, no harm is done.
                if turn is self._turn and time.monotonic() - turn.since > LONGEST:
                    self._turn = _Turn()
            elif turn is self._turn:
                turn.since = time.monotonic()
                return turn
            else:
                turn.lock.release()


turns = Turns()
