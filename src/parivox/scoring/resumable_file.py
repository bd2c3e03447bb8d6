"""A file that appears when it is whole, made of parts that outlive an interruption."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from parivox.data.formats.format import ENGINE_ERRORS
from parivox.errors import ConfigError, DataError
from parivox.runtime.disk import HIDDEN_PREFIX, atomic_file, explain_write_errors, lock_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROWS = 1 << 18
"""Rows of a row group."""


class ResumableFile:
    """Parts of a Parquet file `out`, kept in ``OUT.parts`` beside it until it is whole.

    The plan is what it is made of, as JSON can hold it: parts that an interrupted run of the same
    plan left are taken over; those of another plan are removed. Within ``with``, the folder is held
    against other runs; it is removed if it ends without a part.
    """

    def __init__(self, out: Path, plan: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self.check(out, overwrite=overwrite)
        self.out = out
        self.folder = self.folder_of(out)
        self.plan = json.dumps(plan, sort_keys=True, ensure_ascii=False)
        self.overwrite, self.is_whole = overwrite, False
        self._lock = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Hold the folder, and take over what an interrupted run of the same plan left in it."""
        with contextlib.ExitStack() as lock:
            with self.writing():
                self.folder.mkdir(parents=True, exist_ok=True)
                if not lock_folder(self.folder, lock):
                    msg = f"--out {self.out}: another run is writing this file"
                    hint = "wait until it has finished, or name another file"
                    raise DataError(msg, hint)
                self.check(self.out, overwrite=self.overwrite)  # it may have appeared since
                self._take_over()
            self._lock = lock.pop_all()
        return self

    def _take_over(self) -> None:
        """Empty the folder, unless it is of the same plan, or of no run at all."""
        plan = self.folder / "plan.json"
        if plan.exists() and plan.read_text(encoding="utf-8", errors="replace") == self.plan:
            return
        earlier_files = [
            path for path in self.folder.iterdir() if not path.name.startswith(HIDDEN_PREFIX)
        ]
        if earlier_files and not plan.exists():
            msg = f"--out {self.out}: {self.folder} contains other files"
            hint = "name another file"
            raise ConfigError(msg, hint)
        for path in sorted(
            earlier_files, key=lambda file: file == plan
        ):  # last, as it tells what they are
            path.unlink()
        with atomic_file(plan) as aside:
            aside.write_text(self.plan, encoding="utf-8", newline="\n")

    def __exit__(self, *_: object) -> None:
        """Let go of the folder, and remove it if the file is whole, or no part is."""
        if self.is_whole or not any(self.folder.glob("[0-9]*.parquet")):
            with contextlib.suppress(OSError):
                # its plan last: ended in between, it is still known as ours
                for path in sorted(
                    self.folder.iterdir(), key=lambda file: file.name == "plan.json"
                ):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                self.folder.rmdir()
        self._lock.close()

    def __getstate__(self) -> dict[str, Any]:
        """For a worker, which does not hold the folder."""
        return vars(self) | {"_lock": contextlib.ExitStack()}

    @staticmethod
    def check(out: Path, *, overwrite: bool, inputs: Mapping[str, Any] | None = None) -> None:
        """Refuse a file that is there, unless it is of scores and may go; a folder; what is read.

        `inputs` are what is read, by the name that messages call it; what is no path does not
        count.
        """
        if out.is_dir():
            msg = f"--out {out}: is a folder"
            hint = f"name a file, for example {out / 'scores.parquet'}"
            raise ConfigError(msg, hint)
        for input_name, source in (inputs or {}).items():
            if isinstance(source, (str, os.PathLike)) and _would_replace(out, Path(source)):
                msg = f"--out {out}: would replace {input_name}, which is an input"
                hint = "name another file"
                raise ConfigError(msg, hint)
        if out.exists() and not _is_ours(out):
            msg = f"--out {out}: already exists, and does not contain scores written by Parivox"
            hint = "name another file"
            raise ConfigError(msg, hint)
        if out.exists() and not overwrite:
            msg = f"--out {out}: already exists"
            hint = "replace the file with --overwrite, or give another name"
            raise ConfigError(msg, hint)

    @staticmethod
    def folder_of(out: Path) -> Path:
        """Where the parts of a file are."""
        return out.with_name(f"{out.name}.parts")

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def path_of(self, number: int, slice_number: int | None = None) -> Path:
        """Where a part is, or a piece of one."""
        piece_suffix = "" if slice_number is None else f"-{slice_number:06d}"
        return self.folder / f"{number:06d}{piece_suffix}.parquet"

    def has(self, number: int, slice_number: int | None = None) -> bool:
        """Whether a part is there, or a piece of one."""
        return self.path_of(number, slice_number).exists()

    def write(self, frame: pl.DataFrame, number: int, slice_number: int | None = None) -> None:
        """Write a part, or a piece of one; it is there wholly or not at all."""
        with self.writing(), atomic_file(self.path_of(number, slice_number)) as aside:
            frame.write_parquet(aside, compression="uncompressed")

    def read(self, number: int, slice_number: int | None = None) -> pl.LazyFrame:
        """A part that is there, or a piece of one."""
        return pl.scan_parquet(self.path_of(number, slice_number), glob=False)

    def forget(self, number: int) -> None:
        """Remove the pieces of a part."""
        for path in self.folder.glob(f"{number:06d}-*.parquet"):
            path.unlink()

    def finish(
        self, n_parts: int, transform: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda whole: whole
    ) -> None:
        """Join so many parts into the file; they are removed when the folder is let go.

        The same parts give the same bytes: row groups of one size, no time, no name of a machine.
        """
        with self.writing(), atomic_file(self.out) as aside:
            whole = pl.scan_parquet([self.path_of(n) for n in range(n_parts)], glob=False)
            transform(whole).sink_parquet(
                aside,
                # Fixed settings: the same parts give the same bytes on every machine.
                compression="zstd",
                compression_level=3,
                row_group_size=ROWS,
                maintain_order=True,
                metadata={"parivox": self.plan},
            )
        self.is_whole = True

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Say in a sentence what cannot be written; what is there stays."""
        progress_note = ": what was scored is kept, and the same command goes on from there"
        return explain_write_errors(f"--out {self.out}", kept_note=progress_note)


def _would_replace(out: Path, source: Path) -> bool:
    """Whether a file is one that is read, or lies in a folder that is and is no file of scores."""
    if not out.exists() or not source.exists():
        return False
    if not source.is_dir():
        return out.samefile(source)
    return source.resolve() in out.resolve().parents and not _is_ours(out)


def _is_ours(file: Path) -> bool:
    """Whether a file is one of scores, or holds nothing."""
    try:
        return not file.stat().st_size or "parivox" in pl.read_parquet_metadata(file)
    except (*ENGINE_ERRORS, OSError):
        return False
