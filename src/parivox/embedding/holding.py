"""A folder held by one process, against others that would write to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

__all__ = ["hold"]


def hold(folder: Path, held: ExitStack) -> bool:
    """Hold a folder until `held` is closed, or the process ends in whatever way.

    Parameters
    ----------
    folder
        It must be there.
    held
        Lets go of it.

    Returns
    -------
    bool
        False if another process holds it, or has just removed it. Where a system has no such
        locks, every process may have it.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return True
    try:
        number = os.open(folder, os.O_RDONLY)
        held.callback(os.close, number)
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(number), folder.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
