"""Lines of fields between blanks, without a header: what VoxCeleb's and Kaldi's files are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from parivox.errors import DataError
from parivox.tables.formats.raw import Raw, decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parivox.tables.compression import File
    from parivox.tables.formats.raw import Sample

__all__ = ["Lines"]


@dataclass(frozen=True)
class Lines:
    """A format of lines with a fixed number of fields.

    Attributes
    ----------
    NAME : str
    roles : tuple of str
        Role of each field, in order.
    fits : callable
        Whether a sample looks like it.
    """

    NAME: str
    roles: tuple[str, ...]
    fits: Callable[[Sample], bool]

    def read(self, file: File, sample: Sample, columns: Mapping[str, str] | None) -> Raw:
        """Read trials from lines of fields."""
        if columns:
            msg = f"{file.name}: has no header, so --columns cannot name its columns; leave it out"
            raise DataError(msg)
        frame = self._frame(file, sample)
        width = len(self.roles)
        return Raw(
            file.name,
            frame.lazy().select(pl.col(f"{i}").alias(role) for i, role in enumerate(self.roles)),
            self.NAME,
            sample.first_row,
            {role: f"{i + 1} of {width}" for i, role in enumerate(self.roles)},
            file.compression,
            file.sha256,
        )

    def _frame(self, file: File, sample: Sample) -> pl.DataFrame:
        width = len(self.roles)
        separator = "\t" if "\t" in sample.first_line else " "
        if sample.first_line.count(separator) == width - 1:
            try:
                frame = pl.read_csv(
                    file.content,
                    separator=separator,
                    has_header=False,
                    skip_lines=sample.first_row - 1,
                    quote_char=None,
                    schema={f"{i}": pl.String for i in range(width)},
                )
            except pl.exceptions.PolarsError:
                frame = None
            else:
                # a doubled blank shows as an empty cell: read such files the careful way
                blank = pl.all_horizontal(pl.all().is_null())
                partly = pl.any_horizontal(pl.all().is_null() | (pl.all() == "")) & ~blank
                if frame.width == width and not frame.select(partly.any()).item():
                    return frame
        return self._carefully(file, sample)

    def _carefully(self, file: File, sample: Sample) -> pl.DataFrame:
        """Split line by line, and point at the first line of another shape."""
        width = len(self.roles)
        rows = []
        lines = decoded(file.name, file.content).splitlines()[sample.first_row - 1 :]
        for number, line in enumerate(lines, start=sample.first_row):
            fields = line.split()
            if fields and len(fields) != width:
                msg = (
                    f"{file.name}, row {number}: has {len(fields)} fields where "
                    f"'{' '.join(self.roles)}' has {width}; mend that row, or name the format with "
                    "--scores-format"
                )
                raise DataError(msg)
            rows.append(fields or [None] * width)
        return pl.DataFrame(
            rows, schema={f"{i}": pl.String for i in range(width)}, orient="row"
        )
