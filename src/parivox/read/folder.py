"""A temporary folder for what does not fit into memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

__all__ = ["Folder"]


class Folder:
    """A temporary folder that is removed when nothing needs it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="parivox-"))
        self.remove = weakref.finalize(self, shutil.rmtree, str(self.path), ignore_errors=True)

    def __truediv__(self, name: str) -> Path:
        return self.path / name
