"""How the process is set up before it counts; each line saves a twentieth of a small audit."""

from __future__ import annotations

import contextlib
import gc
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's mallopt(3)


def set_up() -> None:
    """Start no BLAS threads, look for garbage seldom, and keep freed memory at hand.

    Counting has no use for the threads, and makes rows by the thousand but hardly a cycle.
    Arrays of a megabyte are handed back to the system and taken anew otherwise, hundreds of
    times, and every page is cleared again. Peak memory stays as it is.
    """
    gc.set_threshold(50_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - nothing else needs it

        with contextlib.suppress(OSError, AttributeError):  # another C library: no harm done
            libc = ctypes.CDLL(None)
            libc.mallopt(_MMAP_THRESHOLD, 1 << 30)
            libc.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
