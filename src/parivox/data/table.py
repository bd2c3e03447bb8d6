"""Result tables: tidy, typed, with fixed columns, for any dataframe library.

Undefined numbers are null, never NaN; infinite ones are kept.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.errors import DataError, printable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_POLARS_TYPES = {"str": pl.String, "int": pl.Int64, "bool": pl.Boolean}
_MAX_ROWS_SHOWN = 20
_MAX_HEADER_BYTES = 1 << 16  # of a header
_FORMULA = r"^[=+\-@\t\r\n]"
_INNER_FORMULA = r"(?s)(.[;\t\r\n]\"*)([=+\-@])"
_CONTROL_CHARACTERS = [*map(chr, (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0)))]
_UNSAFE_TEXT = rf"{_FORMULA}|{_INNER_FORMULA}|[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x{{9F}}]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


class CodedColumn(NamedTuple):
    """A column as codes into its values, -1 for undefined."""

    codes: NDArray[np.integer[Any]]
    values: Sequence[str | bool]


class Table:
    """A result table.

    Any library that reads the Arrow PyCapsule interface takes it as it is.

    Examples
    --------
    >>> columns = {"group": "str", "value": "float"}
    >>> table = Table.of({"group": ["f", "m"], "value": [0.5, None]}, columns)
    >>> len(table), table.columns
    (2, ('group', 'value'))
    >>> table.where(group="f").rows()
    [{'group': 'f', 'value': 0.5}]
    """

    def __init__(self, frame: pl.DataFrame | None, packed_chunks: Sequence[bytes] = ()) -> None:
        self._known_frame = frame
        self._packed_chunks = packed_chunks

    @classmethod
    def of(cls, cells: Mapping[str, Sequence[Any]], columns: Mapping[str, str]) -> Table:
        """Build a table from lists of one length, and columns in order as str, float, int or bool.

        None or NaN is undefined, ``"inf"`` and ``"-inf"`` are numbers.
        """
        lengths = {name: len(cells[name]) for name in columns}
        if len(set(lengths.values())) > 1:
            msg = f"columns of a table have different lengths ({lengths}); give one length"
            raise DataError(msg)
        series = []
        for name, kind in columns.items():
            if kind == "float":  # an array makes None NaN, and text a number
                array = np.array(cells[name], dtype=np.float64)
                series.append(pl.Series(name, array, nan_to_null=True))
            else:
                series.append(pl.Series(name, cells[name], dtype=_POLARS_TYPES[kind]))
        return cls(pl.DataFrame(series))

    @classmethod
    def of_arrays(cls, columns: Mapping[str, NDArray[Any] | CodedColumn]) -> Table:
        """Build a table of any columns from arrays of one length: for tables of trials."""
        series = {}
        for name, cells in columns.items():
            if isinstance(cells, CodedColumn):
                values = pl.Series([*cells.values, None])
                positions = np.where(cells.codes < 0, len(cells.values), cells.codes)
                series[name] = values.gather(positions)
            else:
                series[name] = pl.Series(cells)
        return cls(pl.DataFrame(series))

    @classmethod
    def joined(cls, tables: Sequence[Table]) -> Table:
        """Rows of several tables; what one of them lacks is undefined there."""
        return cls(pl.concat([table.to_polars() for table in tables], how="diagonal"))

    def packed(self) -> bytes:
        """The table in little room."""
        buffer = io.BytesIO()
        self._frame.write_ipc(buffer, compression="zstd")
        return buffer.getvalue()

    @classmethod
    def from_packed(cls, chunks: Sequence[bytes]) -> Table:
        """The rows of tables that were packed; they stay so until somebody looks at them."""
        return cls(None, chunks)

    @property
    def _frame(self) -> pl.DataFrame:
        """The rows, which are kept unpacked from now on."""
        if self._known_frame is None:
            self._known_frame, self._packed_chunks = self._unpacked(), ()
        return self._known_frame

    def _unpacked(self) -> pl.DataFrame:
        """The rows, which are not kept if they are packed."""
        if self._known_frame is not None:
            return self._known_frame
        return pl.concat([pl.read_ipc(io.BytesIO(chunk)) for chunk in self._packed_chunks])

    @classmethod
    def empty(cls, columns: Mapping[str, str]) -> Table:
        """Build a table without rows."""
        return cls.of({name: [] for name in columns}, columns)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Table:
        """Read a Parquet file that `write` wrote."""
        from parivox.data.formats.dataframes import silence_engine  # noqa: PLC0415 - for reading only

        try:
            with silence_engine():
                return cls(pl.read_parquet(Path(path).read_bytes()))
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            msg = f"{path}: cannot be read as Parquet ({reason}); write the audit again"
            raise DataError(msg) from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write CSV or Parquet, by the ending of the name.

        CSV is what spreadsheets open, and they take a text that begins with ``=``, ``+``, ``-``,
        ``@``, a tab or a line end for a formula. Unless it is a number, such a text is written
        there with an apostrophe before it; so is what begins like this behind a semicolon, a tab or
        a line end, where some of them split a row. Control characters, which a terminal obeys, are
        spelt out. Parquet holds every text as it is.
        """
        path = Path(path)
        frame = self._unpacked()
        if path.suffix == ".parquet":
            frame.write_parquet(path)
        else:
            text = pl.col(pl.String)
            has_odd_text = frame.select(text.unique().str.contains(_UNSAFE_TEXT).any())
            odd_columns = [column.name for column in has_odd_text if column.item()]
            if odd_columns:
                frame = frame.with_columns(_spreadsheet_safe(odd_columns))
            frame = frame.with_columns(text.replace("", None))  # which would be written as ""
            names = [f"'{name}" if re.match(_FORMULA, name) else name for name in frame.columns]
            frame.rename(dict(zip(frame.columns, names, strict=True))).write_csv(path)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._frame.columns)

    def where(self, **values: object) -> Table:
        """Rows whose columns hold these values; None stands for undefined."""
        if not values:
            return self
        conditions = [pl.col(name).eq_missing(pl.lit(wanted)) for name, wanted in values.items()]
        return Table(self._frame.filter(*conditions))

    def renamed(
        self, column: str, names: Mapping[Any, str], *, by: str = "", to: str = ""
    ) -> Table:
        """Texts of a column as `names` say, in its place or in that of a new one, `to`.

        With `by`, names are of pairs: the text in that column, and that in this one.

        Examples
        --------
        >>> table = Table.of({"group": ["f", "m"]}, {"group": "str"})
        >>> table.renamed("group", {"f": "women"}).to_dict()
        {'group': ['women', 'm']}
        """
        key_columns = [pl.col(name) for name in (by, column) if name]
        keys = {"\0".join(key) if by else key: label for key, label in names.items()}
        renamed_column = pl.concat_str(key_columns, separator="\0").replace_strict(
            keys, default=pl.col(column), return_dtype=pl.String
        )
        return Table(
            self._frame.with_columns(
                (renamed_column if keys else pl.col(column)).alias(to or column)
            )
        )

    def rows(self) -> list[dict[str, Any]]:
        """Every row as a dictionary."""
        return self._frame.rows(named=True)

    def to_dict(self) -> dict[str, list[Any]]:
        """Every column as a list."""
        return self._frame.to_dict(as_series=False)

    def to_json(self) -> str:
        """Every column as a list, in one line of JSON; infinite values as "inf" and "-inf".

        Examples
        --------
        >>> Table.of({"value": [0.5, None, "inf"]}, {"value": "float"}).to_json()
        '{"value": [0.5, null, "inf"]}'
        """
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """What `to_json` gives, a column at a time."""
        opening = "{"
        for column in self._frame:
            yield f"{opening}{_json(column.name)}: ["
            yield _json_cells(column)
            yield "]"
            opening = ", "
        yield "}" if self._frame.width else "{}"

    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars dataframe."""
        return self._frame

    def to_pandas(self) -> Any:
        """The table as a pandas dataframe; undefined numbers are NaN, undefined counts NA."""
        import pandas as pd  # noqa: PLC0415 - an optional dependency

        columns = {}
        for column in self._frame:
            if column.dtype == pl.Int64 and column.null_count():
                columns[column.name] = pd.array(column.to_list(), dtype="Int64")
            elif column.dtype.is_numeric():
                columns[column.name] = column.to_numpy()
            else:
                columns[column.name] = pd.Series(column.to_list(), dtype=object)
        return pd.DataFrame(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self._frame.height

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._frame.iter_rows(named=True)

    def __repr__(self) -> str:
        return repr(self._frame)

    def _repr_html_(self) -> str:
        from html import escape  # noqa: PLC0415 - for notebooks

        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_html_cell(cell))}</td>" for cell in row) + "</tr>"
            for row in self._frame.head(_MAX_ROWS_SHOWN).iter_rows()
        )
        n_hidden = len(self) - _MAX_ROWS_SHOWN
        foot = f"<p>and {n_hidden:,} more rows</p>" if n_hidden > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def columns_in(path: Path) -> tuple[str, ...]:
    """Names of the columns of a CSV or Parquet file, by the ending of the name; none if unknown."""
    from parivox.data.formats.dataframes import silence_engine  # noqa: PLC0415 - likewise
    from parivox.data.formats.format import ENGINE_ERRORS  # noqa: PLC0415 - for reading only

    try:
        with silence_engine(), path.open(encoding="utf-8") as file:
            if path.suffix.lower() == ".parquet":
                return tuple(pl.read_parquet_schema(path))
            return tuple(file.readline(_MAX_HEADER_BYTES).rstrip("\n").split(","))
    except ENGINE_ERRORS:
        return ()


def _spreadsheet_safe(names: Sequence[str]) -> pl.Expr:
    """Columns of text that spreadsheets take for no formula, nor terminals for a command."""
    text = pl.col(names)
    is_formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    inside = text.str.replace_all(_INNER_FORMULA, "${1}'${2}")
    safe = pl.when(is_formula).then("'" + inside).otherwise(inside)
    return safe.str.replace_many(
        _CONTROL_CHARACTERS, [*map(printable, _CONTROL_CHARACTERS)]
    ).name.keep()


def _json_cells(column: pl.Series) -> str:
    """A column as JSON has it, without brackets."""
    if column.dtype not in {pl.Float64, pl.Int64}:
        values = column.to_list()
        texts = {value: _json(value) for value in set(values)}  # few, of which each stands often
        return ", ".join(map(texts.__getitem__, values))
    # Polars writes numbers many times faster than Python
    numbers = column.cast(pl.String).fill_null("null").str.join(", ").item()
    return re.sub("-?inf", r'"\g<0>"', numbers)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _html_cell(cell: object) -> str:
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
