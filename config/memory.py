"""Keeping a server's memory small and level: how its heap is laid out, and what the collector looks through.

Threads get a heap each from the C library, and each of the heaps grows to the most that its thread ever needed at once.
Python runs one thread at a time, so one heap serves them all; and a large block, the text of a page, is mapped by
itself and given back when it is freed, where it would leave a hole. What lies free between blocks that are in use
stays with the process unless it is asked to give it back: a worker that serves for weeks would keep the most that it
ever needed, and the holes that this left.

What was loaded at the start stays to the end, so the collector need not look through it: its full turns are short
then, come often, and what refers to itself in a circle does not pile up until one comes.
"""

import ctypes
import gc

# Numbers of parameters, from glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_LARGE_BYTES = 131_072
_KEPT_FREE_BYTES = 262_144


def keep_one_heap() -> bool:
    """Have all threads that start from now on allocate from one heap; False where the C library has no such setting."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = {_ARENA_MAX: 1, _MMAP_THRESHOLD: _LARGE_BYTES, _TRIM_THRESHOLD: _KEPT_FREE_BYTES}
    return all(mallopt(parameter, value) == 1 for parameter, value in settings.items())


def give_back() -> bool:
    """Return the pages that lie free in the heap to the system; False where the C library cannot."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True


def keep_what_is_loaded() -> None:
    """Take everything that is there now for permanent."""
    gc.collect()
    gc.freeze()
