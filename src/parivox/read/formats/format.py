"""What a format of trials is, the list of them, and what every reader gives: trials in chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from parivox.errors import DataError
from parivox.read.columns import name_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from parivox.read.columns import Columns
    from parivox.read.content import Content

    Rows = Sequence[int] | NDArray[np.int64]
    """Row of each record of a chunk, as an editor shows it."""

ENGINE_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
"""What the table engine may raise at a damaged file; its panics are no ``Exception``."""

CERTAIN = 100
"""What a format says that knows a file by its first bytes or by its header."""
MAYBE = 1
"""What a format says that a file may be in, though nothing shows it: it is named, never taken."""


@dataclass(frozen=True, eq=False)
class Scan:
    """One source of trials, read as often as needed."""

    name: str
    format: str
    columns: dict[str, str]  # name of the column in the file, by role
    ignored: tuple[str, ...]  # columns without a role
    # gives the rows of a chunk, and a dataframe whose columns are roles
    chunks: Callable[[], Iterator[tuple[Rows, pl.DataFrame]]]
    content: Content | None = field(default=None, repr=False)  # the bytes, if the source has any

    def at(self, row: int, role: str | None = None) -> str:
        """Where something was found, as messages say it."""
        column = f", column {self.columns[role]!r}" if role else ""
        return f"{self.name}: row {row}{column}"

    def rows_of(self, enrol: str, test: str) -> list[tuple[int, dict[str, object]]]:
        """Every row with this ordered pair of ids, for messages."""
        found = []
        for rows, chunk in self.chunks():
            stripped = (pl.col(c).cast(pl.String).str.strip_chars() for c in ("enrol", "test"))
            hits = chunk.with_columns(row=pl.Series(rows, dtype=pl.Int64)).filter(
                pl.all_horizontal(a == b for a, b in zip(stripped, (enrol, test), strict=True))
            )
            found += [(int(row.pop("row")), row) for row in hits.iter_rows(named=True)]
        return found


class Example(NamedTuple):
    """A line of a format, as the documentation shows it."""

    line: str
    written_by: str
    takes: str


@dataclass(frozen=True, eq=False)
class Format:
    """A file format of trials."""

    name: str  # as ``--scores-format`` takes it
    label: str  # in words, as ``parivox inspect`` tells it
    # how well the first bytes of a file fit, given the user's columns: `CERTAIN`, 0 for not at all,
    # `MAYBE`, or a number in between. The format that fits best is the file's.
    fits: Callable[[bytes, Columns], float]
    scan: Callable[[Content, Columns], Scan]  # reads it, given the user's columns
    # opens a table of anything in this format; None where columns have no names
    table: Callable[[Content], NamedColumns] | None = None
    # place of the column of each role, from 0, where columns have no names
    places: Mapping[str, int] = field(default_factory=dict)
    optional: Mapping[str, int] = field(default_factory=dict)  # places of columns that may follow
    label_with_optional: str = ""  # `label` of a file that has these
    rows: str = ""  # what its rows hold, in the words of those who write it
    examples: tuple[Example, ...] = ()


FORMATS: dict[str, Format] = {}
"""Every format by its name."""


def register(one: Format) -> Format:
    """Add a format, which is then found, read, listed and described like all others."""
    FORMATS[one.name] = one
    return one


@dataclass(frozen=True)
class NamedColumns:
    """A table whose columns have names."""

    names: Sequence[str]  # as the file has them
    # given names and places of some columns, gives the rows of a chunk and these columns
    chunks: Callable[[Mapping[str, int]], Iterator[tuple[Rows, pl.DataFrame]]]
    types: Sequence[pl.DataType] = ()  # where columns have types


def starts_with(*starts: bytes) -> Callable[[bytes, Columns], float]:
    """Whether a file is in a format, by its first bytes."""
    return lambda head, _: CERTAIN if head.startswith(starts) else 0


def named(
    name: str,
    label: str,
    fits: Callable[[bytes, Columns], float],
    table: Callable[[Content], NamedColumns],
    examples: tuple[Example, ...] = (),
) -> Format:
    """A format whose columns are known by their names."""

    def scan(content: Content, columns: Columns) -> Scan:
        return scan_named(content.name, name, table(content), columns, content)

    return Format(name, label, fits, scan, table, examples=examples)


def scan_named(
    name: str, format_: str, table: NamedColumns, columns: Columns, content: Content | None = None
) -> Scan:
    """Trials in a table whose columns have names."""
    places = name_columns(table.names, columns, name)
    for role, at in places.items() if table.types else ():
        column, kind = table.names[at], table.types[at]
        if role != "score" and (not is_cell(kind) or kind.is_temporal()):
            msg = (
                f"{name}: column {column!r} ({role}) holds {kind}, neither text nor numbers; "
                "save it as text"
            )
            raise DataError(msg)
    return Scan(
        name,
        format_,
        {role: table.names[at] for role, at in places.items()},
        tuple(one for at, one in enumerate(table.names) if at not in places.values()),
        lambda: table.chunks(places),
        content,
    )


def is_cell(kind: pl.DataType) -> bool:
    """Whether cells of this type have one text each."""
    return not (kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration))


def why(error: BaseException) -> str:
    """First line of what the table engine says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")
