"""Memory settings of the processes that Parivox starts itself: commands and workers."""

from __future__ import annotations

import contextlib
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's mallopt(3)
_HUGE_PAGE_BYTES, _MADV_HUGEPAGE = 1 << 21, 14  # bytes of a huge page; madvise(2)


def keep_memory() -> None:
    """Keep freed memory for the next array, and place the first 64 MB of the heap in huge pages.

    Otherwise arrays of a megabyte are returned to the system and requested again hundreds of
    times, and the system clears every page again. Larger arrays (from 8 MiB) are still returned:
    kept, they would leave gaps that the next array does not fit.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library: only slower
            _configure_allocator()


def give_back_memory() -> None:
    """Return freed memory to the system, before work that allocates its own, such as Polars."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            import ctypes  # noqa: PLC0415 - only where it is of use

            ctypes.CDLL(None).malloc_trim(0)


def _configure_allocator() -> None:
    import ctypes  # noqa: PLC0415 - only where it is of use

    libc = ctypes.CDLL(None)
    libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
    libc.free.argtypes = libc.sbrk.argtypes = (ctypes.c_void_p,)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    libc.mallopt(_MMAP_THRESHOLD, 1 << 23)
    libc.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    libc.mallopt(_TOP_PAD, 32 * _HUGE_PAGE_BYTES)
    # makes the heap grow, by this and by the padding that _TOP_PAD sets
    address = libc.malloc(2 * _HUGE_PAGE_BYTES)
    start, end = -(-address // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES, libc.sbrk(None)
    if start < end:
        libc.madvise(start, end - start, _MADV_HUGEPAGE)
    libc.free(address)
