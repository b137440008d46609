"""glibc's malloc, set for a process that wants the same memory again at every scrape."""

import ctypes
import gc
import math
import time

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

# What is free at the end of the heap is kept up to this: to give it back and fetch it again for each column of a
# large table takes longer than to fill it.
KEPT = 16 << 20
# Larger pieces, answers of many megabytes, are the kernel's, and go back to it.
LARGE = 8 << 20
# Threads take turns anyway; an arena for each would keep what each of them once needed.
ARENAS = 2
# What a scrape makes is soon gone by itself; the garbage collector, which looks for rings among what is new, need not
# look at it twenty times until then. New objects, less those that are gone, before it looks.
YOUNG = 50_000
# Where one target after the other logs in, the heap of the last is the next one's: seconds between trims.
TRIM_PAUSE = 1.0

_trimmed = -math.inf


def settle() -> None:
    """Set it for this process. Another C library is left as it is."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        for parameter, value in ((_TRIM_THRESHOLD, KEPT), (_MMAP_THRESHOLD, LARGE), (_ARENA_MAX, ARENAS)):
            mallopt(parameter, value)


def collect_rarely() -> None:
    """Set the garbage collector for a worker. The front is left as it is: each of its requests leaves rings, which
    would take 7 MiB until it looks."""
    gc.set_threshold(YOUNG)


def give_back() -> None:
    """Return what is free to the kernel: after a start, or a login, which need much that is never needed again.

    What is there from now on is to stay, and the garbage collector need not look at it ever again: with hundreds of
    targets it would stop them all for a second, again and again.
    """
    global _trimmed  # of the process, as is its heap
    gc.collect()
    gc.freeze()
    if time.monotonic() - _trimmed > TRIM_PAUSE and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
        _trimmed = time.monotonic()
