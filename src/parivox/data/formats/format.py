"""What a format of trials is, the list of them, and what every reader gives: trials in chunks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.data.columns import name_columns
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.columns import RequestedColumns
    from parivox.data.source_bytes import SourceBytes

    Rows = Sequence[int] | NDArray[np.int64]
    """Row of each record, as an editor shows it."""

ENGINE_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
"""What the table engine may raise at a damaged file; its panics are no ``Exception``."""

CERTAIN_FIT = 100
"""What a format says that knows a file by its first bytes or by its header."""
POSSIBLE_FIT = 1
"""What a format says that a file may be in, though nothing shows it: it is named, never taken."""


@frozen
class Chunk:
    """Some rows of a source."""

    frame: pl.DataFrame  # its columns are roles
    rows: Rows
    name: str  # of the source
    columns: Mapping[str, str]  # name of the column in the source, by role

    def __getitem__(self, role: str) -> pl.Series:
        return self.frame[role]

    def __len__(self) -> int:
        return self.frame.height

    def take(self, is_taken: pl.Series) -> Chunk:
        """Those of the rows that are."""
        rows = np.asarray(self.rows)[is_taken.to_numpy()]
        return replace(self, frame=self.frame.filter(is_taken), rows=rows)

    def without_blanks(self) -> Chunk:
        """The rows of which anything is known."""
        if not (self["enrol"].is_null() & self["test"].is_null()).any():
            return self
        return self.take(self.frame.select(~pl.all_horizontal(pl.all().is_null())).to_series())

    def ids(self, role: str) -> pl.Series:
        """Ids of a column, without blanks around them; none may be empty."""
        ids = self[role].cast(pl.String).str.strip_chars()
        self.refuse(ids.is_null() | (ids == ""), role)
        return ids

    def is_empty(self, role: str) -> NDArray[np.bool_]:
        """Which cells of a column are empty."""
        text = self[role].cast(pl.String).str.strip_chars()
        return (text.is_null() | (text == "")).to_numpy()

    def refuse(
        self,
        wrong: pl.Series | NDArray[np.bool_],
        role: str,
        problem: str = "",
        mend: str = "give the id, or remove the row",
    ) -> None:
        """Refuse cells that are wrong, by what the first of them is not: or by its being empty."""
        hits = pl.Series(wrong).arg_true()
        if len(hits):
            cell = self[role][hits[0]]
            text = "" if cell is None else str(cell).strip()
            what = f"{text!r} {problem}" if text else "is empty"
            where = location(self.name, self.rows[hits[0]], self.columns[role])
            msg = f"{where}: {what}; {mend}"
            raise DataError(msg)


@frozen
class Scan:
    """One source of trials, read as often as needed."""

    name: str
    format: str
    columns: dict[str, str]  # name of the column in the file, by role
    ignored: tuple[str, ...]  # columns without a role
    chunks: Callable[[], Iterator[Chunk]]
    content: SourceBytes | None = field(
        default=None, repr=False
    )  # the bytes, if the source has any
    several: tuple[Scan, ...] = field(default=(), repr=False)  # of one list in several files: each

    def location(self, row: int, role: str | None = None) -> str:
        """Where something was found, as messages say it."""
        return location(self.name, row, self.columns[role] if role else "")

    @property
    def files(self) -> tuple[Scan, ...]:
        """Each file by itself."""
        return self.several or (self,)

    @property
    def columns_shown(self) -> str:
        """Which columns there are, for messages."""
        names = [*self.columns.values(), *self.ignored][:8]
        return f" (found: {', '.join(names)})" if names else ""

    def rows_of(self, enrol: str, test: str) -> list[FoundRow]:
        """Every row with this ordered pair of ids, for messages."""
        found: list[FoundRow] = []
        for one in self.files:
            for chunk in one.chunks():
                stripped = (pl.col(c).cast(pl.String).str.strip_chars() for c in ("enrol", "test"))
                hits = chunk.frame.with_columns(row=pl.Series(chunk.rows, dtype=pl.Int64)).filter(
                    pl.all_horizontal(a == b for a, b in zip(stripped, (enrol, test), strict=True))
                )
                found += [FoundRow(one, row.pop("row"), row) for row in hits.iter_rows(named=True)]
        return found


class FoundRow(NamedTuple):
    """One row of a source, for messages."""

    file: Scan
    number: int  # as an editor shows it
    cells: dict[str, object]  # by role

    def location(self, role: str | None = None) -> str:
        """Where it stands, or a cell of it."""
        return self.file.location(self.number, role)

    def beside(self, other: FoundRow) -> str:
        """Where both of two rows stand."""
        return pair_location(self.file.name, self.number, other.file.name, other.number)


def location(name: str, row: Any, column: str = "") -> str:
    """Where something stands in a source, as messages say it."""
    return f"{name}, row {row}, column {column!r}" if column else f"{name}, row {row}"


def pair_location(name: str, row: int, other: str, its_row: int) -> str:
    """Where two rows stand, in one source or in two.

    Examples
    --------
    >>> at_both("a.csv", 2, "a.csv", 5), at_both("a.csv", 2, "b.csv", 5)
    ('a.csv, rows 2 and 5', 'a.csv, row 2 and b.csv, row 5')
    """
    if name == other:
        return f"{name}, rows {row} and {its_row}"
    return f"{location(name, row)} and {location(other, its_row)}"


class Example(NamedTuple):
    """A line of a format, as the documentation shows it."""

    line: str
    written_by: str
    takes: str


@frozen
class Format:
    """A file format of trials."""

    name: str  # as ``--scores-format`` takes it
    label: str  # in words, as ``parivox inspect`` tells it
    # how well the first bytes of a file fit, given the user's columns: `CERTAIN`, 0 for not at all,
    # `MAYBE`, or a number in between. The format that fits best is the file's.
    fits: Callable[[bytes, RequestedColumns], float]
    scan: Callable[[SourceBytes, RequestedColumns], Scan]  # reads it, given the user's columns
    # opens a table of anything in this format; None where columns have no names
    table: Callable[[SourceBytes], NamedColumns] | None = None
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


def starts_with(*starts: bytes) -> Callable[[bytes, RequestedColumns], float]:
    """Whether a file is in a format, by its first bytes."""
    return lambda head, _: CERTAIN_FIT if head.startswith(starts) else 0


def named_format(
    name: str,
    label: str,
    fits: Callable[[bytes, RequestedColumns], float],
    table: Callable[[SourceBytes], NamedColumns],
    examples: tuple[Example, ...] = (),
) -> Format:
    """A format whose columns are known by their names."""

    def scan(content: SourceBytes, columns: RequestedColumns) -> Scan:
        return scan_named_columns(content.name, name, table(content), columns, content)

    return Format(name, label, fits, scan, table, examples=examples)


def scan_named_columns(
    name: str,
    format_: str,
    table: NamedColumns,
    columns: RequestedColumns,
    content: SourceBytes | None = None,
) -> Scan:
    """Trials in a table whose columns have names."""
    places = name_columns(table.names, columns, name)
    for role, location in places.items() if table.types else ():
        column, kind = table.names[location], table.types[location]
        if role != "score" and (not has_text_cells(kind) or kind.is_temporal()):
            msg = (
                f"{name}: column {column!r} ({role}) holds {kind}, neither text nor numbers; "
                "save it as text"
            )
            raise DataError(msg)
    column_names = {role: table.names[position] for role, position in places.items()}
    ignored = tuple(
        one for location, one in enumerate(table.names) if location not in places.values()
    )
    chunks = lambda: (  # noqa: E731 - read as often as asked
        Chunk(frame, rows, name, column_names) for rows, frame in table.chunks(places)
    )
    return Scan(name, format_, column_names, ignored, chunks, content)


def has_text_cells(kind: pl.DataType) -> bool:
    """Whether cells of this type have one text each."""
    return not (kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration))


def error_summary(error: BaseException) -> str:
    """First line of what the table engine says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")


def too_many_cells(name: str, most: int) -> DataError:
    """What is said of a workbook of more cells than are read."""
    return DataError(
        f"{name}: a sheet has more than {most:,} cells, the most that are read of a workbook; "
        "save its table as CSV or Parquet"
    )
