"""What every reader makes of a file: columns by role, and what messages need to point at it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from parivox.errors import DataError

if TYPE_CHECKING:
    import polars as pl

    from parivox.tables.compression import File

__all__ = ["Raw", "Sample", "decoded"]


@dataclass(frozen=True, eq=False)
class Raw:
    """Trials as a file holds them.

    Attributes
    ----------
    name : str
        The file, for messages.
    frame : LazyFrame
        Columns enrol, test and, where there are any, score, label, enrol_speaker, test_speaker.
    format : str
    first_row : int
        What to add to a row's place in the frame to get the row that an editor shows.
    columns : dict
        Own name of each role's column, or its number.
    compression, sha256 : str
        Of the file as stored; empty for tables in memory.
    ignored : tuple of str
        Columns that have no role.
    """

    name: str
    frame: pl.LazyFrame
    format: str
    first_row: int
    columns: dict[str, str]
    compression: str = ""
    sha256: str = ""
    ignored: tuple[str, ...] = field(default=())

    def at(self, row: int, role: str | None = None) -> str:
        """File, row and column, as a message begins."""
        where = f"{self.name}, row {row + self.first_row}"
        return where if role is None else f"{where}, column {self.columns.get(role, role)}"


@dataclass(frozen=True)
class Sample:
    """The beginning of a text file, to find its format by."""

    name: str
    lines: tuple[str, ...]
    first_row: int

    @classmethod
    def of(cls, file: File, *, size: int = 1 << 16) -> Sample:
        """Take whole lines from the first bytes of a file."""
        head = file.content[:size]
        if len(file.content) > size and b"\n" in head:
            head = head[: head.rindex(b"\n")]
        text = decoded(file.name, head)
        every = text.splitlines()
        full = [i for i, line in enumerate(every) if line.strip()]
        if not full:
            msg = f"{file.name}: begins with {len(every)} blank lines; give a table of trials"
            raise DataError(msg)
        return cls(file.name, tuple(every[i] for i in full), full[0] + 1)

    @property
    def first_line(self) -> str:
        """The first line that is not blank."""
        return self.lines[0]

    @cached_property
    def fields(self) -> list[list[str]]:
        """Fields of every line, between blanks."""
        return [line.split() for line in self.lines]

    def shape(self) -> set[int]:
        """Numbers of fields that lines have."""
        return {len(fields) for fields in self.fields}

    def are_numbers(self, place: int) -> bool:
        """Whether a field is a number on every line that has it."""
        return all(is_number(fields[place]) for fields in self.fields if len(fields) > place)


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    return bool(re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?|nan", text, re.I))


def decoded(name: str, content: bytes) -> str:
    """Text of UTF-8 bytes, or the sentence that says where they are not."""
    if b"\x00" in content:
        msg = f"{name}: is not text (it holds zero bytes); give CSV, TSV, Kaldi, Parquet or Arrow"
        raise DataError(msg)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        msg = (
            f"{name}, row {row}: byte {content[error.start]:#04x} is not UTF-8 text; save the file as "
            "UTF-8"
        )
        raise DataError(msg) from error
