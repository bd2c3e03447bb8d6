"""A file that appears when it is whole, made of parts that outlive an interruption."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.tables.formats.scan import ENGINE_ERRORS, why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = ["Parts"]

ROWS = 1 << 18
"""Rows of a row group."""


class Parts:
    """Parts of a Parquet file, kept in ``OUT.parts`` beside it until it is whole.

    Parameters
    ----------
    out
        The file.
    plan
        What it is made of, as JSON can hold it. Parts that an interrupted run of the same plan
        left are taken over; those of another plan are removed.
    overwrite
        Whether the file may be there already.

    Raises
    ------
    ConfigError
        If the file is there, or is no file.
    """

    def __init__(self, out: Path, plan: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self.check(out, overwrite=overwrite)
        self.out = out
        self.folder = out.with_name(f"{out.name}.parts")
        self.plan = json.dumps(plan, sort_keys=True, ensure_ascii=False)
        with self._writing():
            told = self.folder / "plan.json"
            if not (told.exists() and told.read_text(encoding="utf-8") == self.plan):
                aside = self.folder / ".plan"
                if self.folder.exists():
                    self._check_ours(told, aside)
                    shutil.rmtree(self.folder)
                self.folder.mkdir(parents=True)
                aside.write_text(self.plan, encoding="utf-8")
                aside.replace(told)

    def _check_ours(self, *told: Path) -> None:
        """Refuse a folder of this name that is not of an earlier run."""
        if any(self.folder.iterdir()) and not any(path.exists() for path in told):
            msg = f"--out {self.out}: {self.folder} holds other files; name another file"
            raise ConfigError(msg)

    @staticmethod
    def check(out: Path, *, overwrite: bool) -> None:
        """Refuse a file that is there, unless it may be; refuse a folder."""
        if out.is_dir():
            msg = f"--out {out}: is a folder; name a file, as in {out / 'scores.parquet'}"
            raise ConfigError(msg)
        if out.exists() and not overwrite:
            msg = f"--out {out}: is there already; give --overwrite to replace it, or another name"
            raise ConfigError(msg)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def _part(self, number: int) -> Path:
        return self.folder / f"{number:06d}.parquet"

    def has(self, number: int) -> bool:
        """Whether a part is there."""
        return self._part(number).exists()

    def write(self, number: int, frame: pl.DataFrame) -> None:
        """Write a part; it is there wholly or not at all."""
        path = self._part(number)
        aside = path.with_suffix(".aside")
        with self._writing():
            frame.write_parquet(aside, compression="uncompressed")
            aside.replace(path)

    def read(self, number: int) -> pl.LazyFrame:
        """A part that is there."""
        return pl.scan_parquet(self._part(number), glob=False)

    def finish(
        self, number: int, last: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda whole: whole
    ) -> None:
        """Join so many parts into the file, and remove them.

        The same parts give the same bytes: row groups of one size, no time, no name of a machine.
        """
        aside = self.folder / "whole.parquet"
        with self._writing():
            whole = pl.scan_parquet([self._part(n) for n in range(number)], glob=False)
            last(whole).sink_parquet(
                aside,
                compression="zstd",
                compression_level=3,
                row_group_size=ROWS,
                maintain_order=True,
                metadata={"parivox": self.plan},
            )
            with aside.open("rb") as file:
                os.fsync(file.fileno())
            aside.replace(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Say in a sentence what cannot be written; what is there stays."""
        try:
            yield
        except ENGINE_ERRORS as error:
            told = getattr(error, "strerror", None) or why(error)
            msg = (
                f"--out {self.out}: cannot be written ({told}); mend that, or name another file: "
                "what was scored is kept, and the same command goes on from there"
            )
            raise DataError(msg) from error
