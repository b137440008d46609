"""The turn of a thread to turn rows into text: one at a time.

The GIL allows no more, but threads that wait for the GIL poll for it, and take it from each other within a scrape. Who
waits for an answer of a server must not have the turn.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

held = threading.Lock()
"""Whoever holds it has the turn."""


@contextmanager
def given_up() -> Iterator[None]:
    """Let others have the turn within the block."""
    held.release()
    try:
        yield
    finally:
        held.acquire()
