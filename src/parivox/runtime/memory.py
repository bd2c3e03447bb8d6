"""Memory of the processes that are Parivox's own: commands and workers."""

from __future__ import annotations

import contextlib
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's mallopt(3)
_HUGE, _MADV_HUGEPAGE = 1 << 21, 14  # bytes of a huge page; madvise(2)


def keep_memory() -> None:
    """Keep freed memory at hand, and take the heap's first 64 MB in huge pages.

    Arrays of a megabyte are handed back to the system and taken anew otherwise, hundreds of
    times, and every page is cleared again. Larger ones are handed back: kept, they would leave
    gaps that the next one does not fit.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library: no harm done
            _keep()


def give_back_memory() -> None:
    """Hand freed memory to the system: what comes next takes its own, as tables of Polars do."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            import ctypes  # noqa: PLC0415 - only where it is of use

            ctypes.CDLL(None).malloc_trim(0)


def _keep() -> None:
    import ctypes  # noqa: PLC0415 - only where it is of use

    libc = ctypes.CDLL(None)
    libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
    libc.free.argtypes = libc.sbrk.argtypes = (ctypes.c_void_p,)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    libc.mallopt(_MMAP_THRESHOLD, 1 << 23)
    libc.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    libc.mallopt(_TOP_PAD, 32 * _HUGE)
    block = libc.malloc(2 * _HUGE)  # for which the heap grows, and by that much more
    start, end = -(-block // _HUGE) * _HUGE, libc.sbrk(None)
    if start < end:
        libc.madvise(start, end - start, _MADV_HUGEPAGE)
    libc.free(block)
