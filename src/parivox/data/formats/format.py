"""The description of a format of trials, the list of formats, and what readers give: chunks."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.core.counts import SPOOF
from parivox.data.cell_words import LABELS
from parivox.data.columns import column_positions
from parivox.data.content_roles import MAX_ROWS, roles_by_content
from parivox.data.search_columns import identification_form, needs_gallery_error
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.columns import RequestedColumns
    from parivox.data.source_bytes import SourceBytes

    Rows = Sequence[int] | NDArray[np.int64]
    """Row of each record, counted from 1 as in an editor."""

ENGINE_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)
"""Errors of the table engine at a damaged file; its panics are no ``Exception``."""

_DECISION_WORDS = ["accept", "accepted", "reject", "rejected"]
_DECISION_START = re.compile(rb"(?i)accept|reject")
_SPOOF_WORDS = [word for word, trial_class in LABELS.items() if trial_class == SPOOF]
_SPOOF_START = re.compile(rb"(?i)spoof")
_MAX_PEEKED_ROWS = 10_000
"""Rows that show whether a column contains decisions, or labels."""

CERTAIN_FIT = 100
"""Fit of a format that recognises a file by its first bytes or by its header."""
POSSIBLE_FIT = 1
"""Fit of a format that a file may have without evidence: messages name it, nothing chooses it."""


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

    def select(self, is_selected: pl.Series) -> Chunk:
        """Return the selected rows."""
        rows = np.asarray(self.rows)[is_selected.to_numpy()]
        return replace(self, frame=self.frame.filter(is_selected), rows=rows)

    def without_blanks(self) -> Chunk:
        """Return the rows in which any cell is known."""
        if not (self["enrol"].is_null() & self["test"].is_null()).any():
            return self
        return self.select(self.frame.select(~pl.all_horizontal(pl.all().is_null())).to_series())

    def ids(self, role: str) -> pl.Series:
        """Return the ids of a column, without blanks around them; refuse empty ones."""
        ids = self[role].cast(pl.String).str.strip_chars()
        self.refuse(ids.is_null() | (ids == ""), role)
        return ids

    def is_empty(self, role: str) -> NDArray[np.bool_]:
        """Return for each row whether its cell in a column is empty."""
        text = self[role].cast(pl.String).str.strip_chars()
        return (text.is_null() | (text == "")).to_numpy()

    def refuse(
        self,
        is_wrong: pl.Series | NDArray[np.bool_],
        role: str,
        problem: str = "",
        remedy: str = "give the id, or remove the row",
    ) -> None:
        """Raise an error that quotes the first wrong cell, if any is wrong."""
        positions = pl.Series(is_wrong).arg_true()
        if len(positions):
            cell = self[role][positions[0]]
            text = "" if cell is None else str(cell).strip()
            problem_text = f"{text!r} {problem}" if text else "is empty"
            cell_location = location(self.name, self.rows[positions[0]], self.columns[role])
            msg = f"{cell_location}: {problem_text}"
            raise DataError(msg, remedy)


@frozen
class Scan:
    """One source of trials, which can be read several times."""

    name: str
    format: str
    columns: dict[str, str]  # name of the column in the file, by role
    ignored: tuple[str, ...]  # columns without a role
    chunks: Callable[[], Iterator[Chunk]]
    # the bytes, if the source has any
    content: SourceBytes | None = field(default=None, repr=False)
    # the scan of each file, if the list is in several files
    file_scans: tuple[Scan, ...] = field(default=(), repr=False)
    by_content: tuple[str, ...] = ()  # roles whose columns are known by what they hold

    def location(self, row: int, role: str | None = None) -> str:
        """Return the place of a row, or of a cell of it, as messages name it."""
        return location(self.name, row, self.columns[role] if role else "")

    @property
    def files(self) -> tuple[Scan, ...]:
        """Return a scan of each file."""
        return self.file_scans or (self,)

    @property
    def found_columns_text(self) -> str:
        """Return the names of the columns that were found, for messages."""
        names = [*self.columns.values(), *self.ignored][:8]
        return f" (found: {', '.join(names)})" if names else ""

    def matching_rows(self, enrol: str, test: str) -> list[FoundRow]:
        """Return every row with this ordered pair of ids, for messages."""
        found_rows: list[FoundRow] = []
        enrol_id, test_id = (
            pl.col(role).cast(pl.String).str.strip_chars() for role in ("enrol", "test")
        )
        for file_scan in self.files:
            for chunk in file_scan.chunks():
                numbered = chunk.frame.with_columns(row=pl.Series(chunk.rows, dtype=pl.Int64))
                matches = numbered.filter(enrol_id == enrol, test_id == test)
                found_rows += [
                    FoundRow(file_scan, cells.pop("row"), cells)
                    for cells in matches.iter_rows(named=True)
                ]
        return found_rows


class FoundRow(NamedTuple):
    """One row of a source, for messages."""

    file: Scan
    number: int  # as an editor shows it
    cells: dict[str, object]  # by role

    def location(self, role: str | None = None) -> str:
        """Return the place of the row, or of a cell of it."""
        return self.file.location(self.number, role)

    def location_with(self, other_row: FoundRow) -> str:
        """Return the places of this row and another one."""
        return pair_location(self.file.name, self.number, other_row.file.name, other_row.number)


def location(name: str, row: Any, column: str = "") -> str:
    """Return the place of a row, or of a cell of it, in a source, as messages name it."""
    return f"{name}, row {row}, column {column!r}" if column else f"{name}, row {row}"


def pair_location(name: str, row: int, other_name: str, other_row: int) -> str:
    """Return the places of two rows, in one source or in two.

    Examples
    --------
    >>> pair_location("a.csv", 2, "a.csv", 5), pair_location("a.csv", 2, "b.csv", 5)
    ('a.csv, rows 2 and 5', 'a.csv, row 2 and b.csv, row 5')
    """
    if name == other_name:
        return f"{name}, rows {row} and {other_row}"
    return f"{location(name, row)} and {location(other_name, other_row)}"


class Example(NamedTuple):
    """A line of a format, as the documentation shows it."""

    line: str
    written_by: str
    columns: str


@frozen
class Format:
    """A file format of trials."""

    name: str  # as ``--scores-format`` takes it
    label: str  # in words, for ``parivox inspect``
    # how well the first bytes of a file fit, given the user's columns: `CERTAIN_FIT`, 0 for not at
    # all, `POSSIBLE_FIT`, or a number in between; a file has the format that fits best
    fits: Callable[[bytes, RequestedColumns], float]
    scan: Callable[[SourceBytes, RequestedColumns], Scan]  # reads it, given the user's columns
    # opens a table of anything in this format; None where columns have no names
    table: Callable[[SourceBytes], NamedColumns] | None = None
    # position of the column of each role, from 0, where columns have no names
    positions: Mapping[str, int] = field(default_factory=dict)
    # positions of columns that may follow
    optional_positions: Mapping[str, int] = field(default_factory=dict)
    label_with_optional: str = ""  # `label` of a file that has these
    rows: str = ""  # content of its rows, in the words of the tool that writes them
    examples: tuple[Example, ...] = ()


FORMATS: dict[str, Format] = {}
"""Every format by its name."""


def register(new_format: Format) -> Format:
    """Add a format, which is then detected, read, listed and described like all others."""
    FORMATS[new_format.name] = new_format
    return new_format


@frozen
class NamedColumns:
    """A table whose columns have names."""

    names: Sequence[str]  # as the file has them
    # from positions by new name of some columns to chunks: row numbers and these columns
    chunks: Callable[[Mapping[str, int]], Iterator[tuple[Rows, pl.DataFrame]]]
    types: Sequence[pl.DataType] = ()  # where columns have types


def starts_with(*starts: bytes) -> Callable[[bytes, RequestedColumns], float]:
    """Return the fit function of a format that is recognised by its first bytes."""
    return lambda head, _: CERTAIN_FIT if head.startswith(starts) else 0


def named_format(
    name: str,
    label: str,
    fits: Callable[[bytes, RequestedColumns], float],
    open_table: Callable[[SourceBytes], NamedColumns],
    examples: tuple[Example, ...] = (),
) -> Format:
    """Return a format whose columns have names."""

    def scan(content: SourceBytes, columns: RequestedColumns) -> Scan:
        return scan_named_columns(content.name, name, open_table(content), columns, content)

    return Format(name, label, fits, scan, open_table, examples=examples)


def scan_named_columns(
    name: str,
    format_: str,
    table: NamedColumns,
    columns: RequestedColumns,
    content: SourceBytes | None = None,
) -> Scan:
    """Return the trials of a table whose columns have names."""
    if not columns.by_role and identification_form(table.names):
        raise needs_gallery_error(name)
    positions = column_positions(table.names, columns, name)
    content_roles = _content_roles(table, positions, columns)
    if content_roles:
        completed_columns = replace(columns, by_role={**columns.by_role, **content_roles})
        positions = column_positions(table.names, completed_columns, name)
    # a text without such a word at its beginning is not read twice to look for decisions
    if content is None or not content.encoding or _DECISION_START.search(content.head):
        positions |= _decision_position(table, positions)
    class_position: dict[str, int] = {}
    if content is None or not content.encoding or _SPOOF_START.search(content.head):
        class_position = _class_position(table, positions)
        positions |= class_position
    if table.types:
        for role, position in positions.items():
            column, dtype = table.names[position], table.types[position]
            if role != "score" and (not has_text_cells(dtype) or dtype.is_temporal()):
                msg = (
                    f"{name}: column {column!r} ({role}) contains {dtype}, neither text nor numbers"
                )
                hint = "save it as text"
                raise DataError(msg, hint)
    column_names = {role: table.names[position] for role, position in positions.items()}
    used_positions = set(positions.values())
    ignored = tuple(
        column for position, column in enumerate(table.names) if position not in used_positions
    )
    chunks = lambda: (  # noqa: E731 - can be called again
        Chunk(frame, rows, name, column_names) for rows, frame in table.chunks(positions)
    )
    by_content = tuple(role for role in column_names if role in {**content_roles, **class_position})
    return Scan(name, format_, column_names, ignored, chunks, content, by_content=by_content)


def _content_roles(
    table: NamedColumns, positions: Mapping[str, int], columns: RequestedColumns
) -> dict[str, str]:
    """Return the columns of roles that names leave open, by role."""
    text_positions = [
        position
        for position in range(len(table.names))
        if not table.types or has_text_cells(table.types[position])
    ]
    is_open = not {"enrol", "test"} <= positions.keys() or (
        not {"score", "decision"} & positions.keys() and set(text_positions) > {*positions.values()}
    )
    if not is_open or len(set(table.names)) < len(table.names):
        return {}
    for _, frame in table.chunks({f"f{position}": position for position in text_positions}):
        cells = frame.head(MAX_ROWS).select(pl.all().cast(pl.String).str.strip_chars())
        names = {f"f{position}": table.names[position] for position in text_positions}
        cells = cells.with_columns(pl.all().replace("", None)).rename(names)
        return roles_by_content(cells.filter(~pl.all_horizontal(pl.all().is_null())), columns)
    return {}


def _decision_position(table: NamedColumns, positions: Mapping[str, int]) -> dict[str, int]:
    """The only column without a role whose cells are all Accept or Reject, whatever its name."""
    if "decision" in positions or "score" not in positions:
        return {}
    columns = _columns_of_words(table, positions, _DECISION_WORDS)
    return {"decision": columns[0]} if len(columns) == 1 else {}


def _class_position(table: NamedColumns, positions: Mapping[str, int]) -> dict[str, int]:
    """The only column without a role whose cells are all labels, some of them of spoof trials."""
    if "label" in positions or not {"enrol", "test"} <= positions.keys():
        return {}
    columns = _columns_of_words(table, positions, [*LABELS], _SPOOF_WORDS)
    return {"label": columns[0]} if len(columns) == 1 else {}


def _columns_of_words(
    table: NamedColumns,
    positions: Mapping[str, int],
    words: Sequence[str],
    needed_words: Sequence[str] = (),
) -> list[int]:
    """Return the columns without a role of which all first cells are some words.

    With `needed_words`, one of these must be among the cells.
    """
    free = [i for i in range(len(table.names)) if i not in positions.values()]
    if not free:
        return []
    for _, frame in table.chunks({f"f{i}": i for i in free}):
        cells = (
            frame.head(_MAX_PEEKED_ROWS)
            .select(pl.col(pl.String))
            .select(pl.all().str.strip_chars().str.to_lowercase())
        )
        return [
            int(cell.name.removeprefix("f"))
            for cell in cells
            if len(known := cell.drop_nulls())
            and known.is_in([*words]).all()
            and (not needed_words or known.is_in([*needed_words]).any())
        ]
    return []


def has_text_cells(dtype: pl.DataType) -> bool:
    """Whether a cell of this type can be written as one text."""
    return not (dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration))


def error_summary(error: BaseException) -> str:
    """Return the first line of an error of the table engine."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:")


def too_many_cells(name: str, max_cells: int) -> DataError:
    """Return the error for a workbook with more cells than are read."""
    msg = f"{name}: a sheet has more than {max_cells:,} cells, the limit for workbooks"
    hint = "save its table as CSV or Parquet"
    return DataError(msg, hint)
