"""glibc's malloc, set for a process that wants the same memory again at every scrape."""

import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

# What is free at the end of the heap is kept up to this: to give it back and fetch it again for each column of a
# large table takes longer than to fill it.
KEPT = 16 << 20
# Larger pieces, answers of many megabytes, are the kernel's, and go back to it.
LARGE = 8 << 20
# Threads take turns anyway; an arena for each would keep what each of them once needed.
ARENAS = 2


def settle() -> None:
    """Set it for this process. Another C library is left as it is."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        for parameter, value in ((_TRIM_THRESHOLD, KEPT), (_MMAP_THRESHOLD, LARGE), (_ARENA_MAX, ARENAS)):
            mallopt(parameter, value)


def give_back() -> None:
    """Return what is free to the kernel: after a start, which needs much that is never needed again."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)
