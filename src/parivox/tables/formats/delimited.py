"""CSV and TSV with a header."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import polars as pl

from parivox.errors import DataError
from parivox.tables.formats.raw import Raw, decoded
from parivox.tables.roles import known_header, match_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.tables.compression import File
    from parivox.tables.formats.raw import Sample

__all__ = ["NAME", "fits", "frame_of", "read", "separator_of"]

NAME = "csv"
SEPARATORS = (",", "\t", ";")


def fits(sample: Sample) -> bool:
    """Whether the first line names columns that are known."""
    return known_header(_header(sample.first_line))


def read(file: File, sample: Sample, columns: Mapping[str, str] | None) -> Raw:
    """Read trials from columns with names."""
    header = _header(sample.first_line)
    roles = match_columns(file.name, header, columns)
    frame = frame_of(file, sample)
    return Raw(
        file.name,
        frame.lazy().select(pl.col(column).alias(role) for role, column in roles.items()),
        NAME,
        sample.first_row + 1,
        dict(roles),
        file.compression,
        file.sha256,
        tuple(column for column in header if column not in roles.values()),
    )


def frame_of(file: File, sample: Sample) -> pl.DataFrame:
    """Every cell of a table as text; blank lines are rows without cells."""
    header = _header(sample.first_line)
    separator = separator_of(sample.first_line)
    content = file.content
    try:
        frame = pl.read_csv(
            content,
            separator=separator,
            has_header=False,
            skip_lines=sample.first_row,
            new_columns=[f"{i}" for i in range(len(header))],
            schema={f"{i}": pl.String for i in range(len(header))},
        )
    except pl.exceptions.PolarsError as error:
        raise _misshapen(file, separator, len(header)) from error
    if frame.width != len(header):
        raise _misshapen(file, separator, len(header))
    return frame.rename(dict(zip(frame.columns, header, strict=True)))


def separator_of(line: str) -> str:
    """The separator that a line has most of; a blank if it has none."""
    return max((*SEPARATORS, " "), key=lambda separator: (line.count(separator), separator == ","))


def _header(line: str) -> list[str]:
    fields = next(csv.reader([line], delimiter=separator_of(line)), [])
    return [field.strip() for field in fields]


def _misshapen(file: File, separator: str, width: int) -> DataError:
    """The sentence for the first row that has too many cells, or cannot be read."""
    text = decoded(file.name, file.content)
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            cells = next(csv.reader([line], delimiter=separator, strict=True), [])
        except csv.Error as error:
            return DataError(f"{file.name}, row {number}: {error}; mend the quotes of that row")
        if len(cells) > width:
            return DataError(
                f"{file.name}, row {number}: has {len(cells)} cells where the header has {width}; "
                "mend that row"
            )
    return DataError(f"{file.name}: cannot be read as a table; check its quotes")
