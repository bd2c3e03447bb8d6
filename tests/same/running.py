"""Run a frozen audit and gather what comes out of it."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from tests.same.cases import CASES, Room
from tests.same.forms import forms

from parivox.auditing.private import PRIVATE
from parivox.runtime.task_sharing import MIN_SHARED_WORK

__all__ = ["run"]


def run(name: str, n_workers: int | None = None) -> tuple[dict[str, str], float]:
    """Texts of everything that comes out of a frozen audit; seconds of the processor.

    With a number of workers, these share all audits and reports, however small.
    """
    started, home = time.process_time(), Path.cwd()
    folder = Path(tempfile.mkdtemp(prefix="same-"))
    path = list(sys.path)
    try:
        room = Room(folder, n_workers)
        least_work = dict.fromkeys(MIN_SHARED_WORK, 0) if n_workers else {}
        with (
            patch.dict(MIN_SHARED_WORK, least_work),
            patch.object(secrets, "token_bytes", lambda size: bytes(range(size))),
        ):
            CASES[name](room)
        return {
            form_name: text
            for file in sorted(room.out.rglob("*"))
            if file.is_file() and file.name not in {"SHA256SUMS", PRIVATE}
            for form_name, text in forms(
                file.relative_to(room.out).as_posix(),
                file.read_bytes(),
                without_sums=room.has_computed_inputs,
            ).items()
        }, time.process_time() - started
    finally:
        sys.path[:] = path
        os.chdir(home)
        shutil.rmtree(folder)
