"""Result tables: tidy, typed, with fixed columns, for any dataframe library.

Undefined numbers are null, never NaN; infinite ones are kept.
"""

from __future__ import annotations

import io
import json
import re
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, overload

import numpy as np
import polars as pl

from parivox.arguments import check_path, shown_value
from parivox.errors import ConfigError, DataError, name_hint, printable
from parivox.renamed import warn_of_new_name
from parivox.runtime.disk import explain_write_errors

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_POLARS_TYPES = {"str": pl.String, "int": pl.Int64, "bool": pl.Boolean}
_MAX_ROWS_SHOWN = 20
_MAX_ROWS_AT_ONCE = 50_000
"""Rows of a table of which all columns are written as JSON at once."""
_MAX_HEADER_BYTES = 1 << 16  # of a header
_FORMULA = r"^[=+\-@\t\r\n]"
_INNER_FORMULA = r"(?s)(.[;\t\r\n]\"*)([=+\-@])"
_CONTROL_CHARACTERS = [*map(chr, (*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0)))]
_UNSAFE_TEXT = rf"{_FORMULA}|{_INNER_FORMULA}|[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x{{9F}}]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


_CELL_TYPES = (str, bool, int, float, np.number, np.bool_, type(None))

NAMING_COLUMNS = frozenset(
    [
        "allocation",
        "condition",
        "definition",
        "enrol_group",
        "group",
        "grouping",
        "list",
        "measure",
        "metric",
        "operating_point",
        "reference",
        "rule",
        "system",
        "test_group",
        "zero",
    ]
)
"""Columns whose values are names: one that no row has is a mistake."""
CODES = {
    "verdict": (
        "worse", "better", "equivalent", "inconclusive", "differs", "met", "not_met",
    ),
    "outcome": ("pass", "fail", "inconclusive", "not_applicable"),
}  # fmt: skip
"""Columns of codes, each of which may be of no row."""


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
    >>> table.filter(group="f").rows()
    [{'group': 'f', 'value': 0.5}]
    >>> table["value"].to_list(), table[["group"]].columns
    ([0.5, None], ('group',))
    """

    def __init__(
        self,
        frame: pl.DataFrame | None,
        packed_chunks: Sequence[bytes] = (),
        column_texts: Mapping[str, str] | None = None,
    ) -> None:
        self._known_frame = frame
        self._packed_chunks = packed_chunks
        self._column_texts = column_texts or {}

    @classmethod
    def of(cls, cells: Mapping[str, Sequence[Any]], columns: Mapping[str, str]) -> Table:
        """Build a table from lists of one length, and columns in order as str, float, int or bool.

        None or NaN is undefined, ``"inf"`` and ``"-inf"`` are numbers.
        """
        lengths = {name: len(cells[name]) for name in columns}
        if len(set(lengths.values())) > 1:
            msg = f"columns of a table have different lengths ({lengths})"
            hint = "give columns of the same length"
            raise DataError(msg, hint)
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
            msg = f"{path}: cannot be read as Parquet ({reason})"
            hint = "audit again"
            raise DataError(msg, hint) from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write CSV or Parquet, by the ending of the name.

        CSV is what spreadsheets open, and they take a text that begins with ``=``, ``+``, ``-``,
        ``@``, a tab or a line end for a formula. Unless it is a number, such a text is written
        there with an apostrophe before it; so is what begins like this behind a semicolon, a tab or
        a line end, where some of them split a row. Control characters, which a terminal obeys, are
        spelt out. Parquet keeps every text unchanged.
        """
        check_path(path, "path")
        path = Path(path)
        with explain_write_errors(str(path)):
            self.write_file(path)

    def write_file(self, path: Path) -> None:
        """Write the file as `write` does; errors of the system are left to the caller."""
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

    def filter(self, **values: object) -> Table:
        """Return the rows whose columns contain these values.

        Parameters
        ----------
        **values
            For each column the value, or a list of values; None means undefined.

        Raises
        ------
        ConfigError
            If there is no such column, or a value that names something, such as a group or a
            metric, does not occur in the table.

        Examples
        --------
        >>> columns = {"group": "str", "value": "float"}
        >>> table = Table.of({"group": ["f", "m", "x"], "value": [0.5, None, 0.1]}, columns)
        >>> table.filter(group=["f", "x"])["value"].to_list()
        [0.5, 0.1]
        >>> table.filter(group="w")
        Traceback (most recent call last):
        parivox.errors.ConfigError: group='w': no row has this value; available: f, m, x
        """
        for name, choice in values.items():
            column = self[name]
            for choice_value in _choices(choice):
                _check_choice(column, choice_value)
        return self.subset(**values)

    def subset(self, **values: object) -> Table:
        """Return the rows whose columns contain these values, which need not occur.

        As `filter`, for code that asks for what may or may not be there.
        """
        if not values:
            return self
        cells = [value for choice in values.values() for value in _choices(choice)]
        if not all(isinstance(value, _CELL_TYPES) for value in cells):
            raise _comparison_error(values)
        try:
            rows = self._frame.filter(
                reduce(or_, (pl.col(name).eq_missing(pl.lit(value)) for value in _choices(choice)))
                for name, choice in values.items()
            )
        except (pl.exceptions.PolarsError, OverflowError) as error:
            raise _comparison_error(values) from error
        return Table(rows, (), self._column_texts)

    def where(self, **values: object) -> Table:
        """Return the same as `subset`: the name of `filter` before release 0.3."""
        warn_of_new_name("Table.where", "filter")
        return self.subset(**values)

    def describe(self) -> Table:
        """Return what each column contains: its name, its kind of values, a description.

        Examples
        --------
        >>> Table.of({"group": ["f"]}, {"group": "str"}).describe().rows()
        [{'column': 'group', 'kind': 'text', 'description': ''}]
        """
        texts = [self._column_texts.get(name, "") for name in self.columns]
        kinds = [_kind_text(dtype) for dtype in self._frame.dtypes]
        cells = {"column": self.columns, "kind": kinds, "description": texts}
        return Table.of(cells, dict.fromkeys(cells, "str"))

    def described(self, column_texts: Mapping[str, str]) -> Table:
        """Return the same table, with a description for each column."""
        return Table(self._known_frame, self._packed_chunks, column_texts)

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
        opening, texts_of_numbers = "{", pl.DataFrame()
        if self._frame.height <= _MAX_ROWS_AT_ONCE:  # all columns at once take little memory
            texts_of_numbers = self._frame.select(_joined_numbers(pl.col(pl.Float64, pl.Int64)))
        for column in self._frame:
            yield f"{opening}{_json(column.name)}: ["
            is_joined = column.name in texts_of_numbers.columns
            yield _json_cells(column, texts_of_numbers[column.name].item() if is_joined else None)
            yield "]"
            opening = ", "
        yield "}" if self._frame.width else "{}"

    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars dataframe."""
        return self._frame

    def to_pandas(self) -> Any:
        """The table as a pandas dataframe; undefined numbers are NaN, undefined counts NA."""
        try:
            import pandas as pd  # noqa: PLC0415 - an optional dependency
        except ImportError as error:
            msg = "dataframes of pandas need pandas: pip install pandas, or use .to_polars()"
            raise ConfigError(msg) from error
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

    @overload
    def __getitem__(self, name: str) -> pl.Series: ...

    @overload
    def __getitem__(self, name: list[str]) -> Table: ...

    def __getitem__(self, name: str | list[str]) -> pl.Series | Table:
        """Return a column by name as a series of Polars, or a table of several columns."""
        names = name if isinstance(name, list) else [name]
        for column_name in names:
            if not isinstance(column_name, str) or column_name not in self.columns:
                raise self._unknown_column_error(column_name)
        if isinstance(name, list):
            return Table(self._frame.select(names), (), self._column_texts)
        return self._frame[name]

    def _unknown_column_error(self, name: object) -> ConfigError:
        """Return that there is no such column; of a value, how to have its rows."""
        columns_with_value = [
            column.name
            for column in self._frame
            if column.dtype == pl.String and isinstance(name, str) and name in column
        ]
        if columns_with_value:
            column_name = columns_with_value[0]
            remedy = f"it is a {column_name}: write .filter({column_name}={name!r})"
        else:
            remedy = name_hint(name if isinstance(name, str) else "", self.columns)
        named = repr(name) if isinstance(name, str) else shown_value(name)
        msg = f"the table has no column {named}"
        return ConfigError(msg, remedy)

    if not TYPE_CHECKING:  # type checkers would take any attribute for one

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an error that says where a method of dataframes, or a column, is found."""
            if name.startswith("_"):  # what Python and notebooks look for
                raise AttributeError(name)
            remedy = f"write .to_pandas().{name} or .to_polars().{name}"
            if name in self.columns:
                remedy = f"write [{name!r}]"
            msg = f"a table of an audit has no attribute {name!r}; {remedy}"
            raise AttributeError(msg, name=name, obj=self)

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.columns]

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


def _choices(choice: object) -> list[object]:
    """Return one value, or several, as a list."""
    choices = [*choice] if isinstance(choice, (list, tuple, set, frozenset)) else [choice]
    if not choices:
        msg = "a column is compared with an empty list"
        hint = "give at least one value"
        raise ConfigError(msg, hint)
    return choices


def _comparison_error(values: Mapping[str, object]) -> ConfigError:
    """Return that a column cannot be compared with what was given."""
    comparisons = ", ".join(f"{name}={shown_value(value)}" for name, value in values.items())
    msg = f"{comparisons}: a column cannot contain such values"
    hint = "see .describe() for the values of each column"
    return ConfigError(msg, hint)


def _check_choice(column: pl.Series, choice: object) -> None:
    """Refuse a value of another kind than the column, and a name that no row has."""
    is_text = column.dtype == pl.String
    is_number = isinstance(choice, (int, float, np.number))
    if choice is not None and not (isinstance(choice, str) if is_text else is_number):
        msg = f"{column.name}={choice!r}: the column contains {_kind_text(column.dtype)}"
        hint = "give a value of this kind"
        raise ConfigError(msg, hint)
    known_codes = CODES.get(column.name, ())
    is_checked = (column.name in NAMING_COLUMNS or known_codes) and len(column) > 0
    if is_text and is_checked and choice not in known_codes and choice not in column:
        known_names = [*known_codes] or column.unique(maintain_order=True).to_list()
        hint = name_hint(str(choice), [name for name in known_names if name])
        msg = f"{column.name}={choice!r}: no row has this value"
        raise ConfigError(msg, hint)


def _kind_text(dtype: pl.DataType) -> str:
    """Return what a column contains, in a word or two."""
    if dtype.is_integer():
        return "whole numbers"
    if dtype.is_numeric():
        return "numbers"
    return "true or false" if dtype == pl.Boolean else "text"


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


def _joined_numbers(columns: pl.Expr) -> pl.Expr:
    """Numbers as JSON has them but for infinities; Polars writes them faster than Python."""
    return columns.cast(pl.String).fill_null("null").str.join(", ")


def _json_cells(column: pl.Series, numbers: str | None) -> str:
    """A column as JSON has it, without brackets; `numbers` is its `_joined_numbers`, if known."""
    if column.dtype not in {pl.Float64, pl.Int64}:
        values = column.to_list()
        texts = {value: _json(value) for value in set(values)}  # few, of which each stands often
        return ", ".join(map(texts.__getitem__, values))
    if numbers is None:
        numbers = str(column.to_frame().select(_joined_numbers(pl.all())).item())
    return re.sub("-?inf", r'"\g<0>"', numbers) if "inf" in numbers else numbers


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _html_cell(cell: object) -> str:
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
