"""Limits the memory that glibc's malloc and the garbage collector keep between scrapes."""

import ctypes
import gc
import math
import time

_ARENA_MAX = -8

# One thread at a time runs anyway; an arena per thread would keep the peak of each of them.
ARENAS = 2
# New objects, less freed ones, before the garbage collector runs. The objects of a scrape are soon freed without it;
# with the default threshold it would go through them twenty times.
GC_THRESHOLD = 50_000
# Seconds between trims: while targets log in one after the other, the next one reuses the heap of the last.
TRIM_PAUSE = 1.0

_trimmed = -math.inf


def settle() -> None:
    """Limit malloc's arenas. Does nothing with a C library other than glibc."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_ARENA_MAX, ARENAS)


def collect_rarely() -> None:
    """Raise the garbage collector's threshold, for a worker.

    The web process keeps the default: every request leaves reference cycles, which would add up to 7 MiB.
    """
    gc.set_threshold(GC_THRESHOLD)


def give_back() -> None:
    """Return free memory to the kernel, after a start or a login, which need much that is never needed again.

    The objects that exist now are long-lived and are excluded from garbage collection: with hundreds of targets,
    going through them would stop all threads for a second, again and again.
    """
    global _trimmed  # per process, as the heap is
    gc.collect()
    gc.freeze()
    if time.monotonic() - _trimmed > TRIM_PAUSE and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
        _trimmed = time.monotonic()
