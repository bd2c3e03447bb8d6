"""Typed columns with names: Parquet, Arrow, dataframes of any library, mappings of arrays."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

import polars as pl

from parivox.data.formats.format import (
    ENGINE_ERRORS,
    NamedColumns,
    error_summary,
    named_format,
    scan_named_columns,
    starts_with,
)
from parivox.data.formats.json_document import rows_by_speaker
from parivox.data.formats.probe import REFUSED_EXIT_CODE
from parivox.errors import DataError
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parivox.data.columns import RequestedColumns
    from parivox.data.formats.format import Rows, Scan
    from parivox.data.source_bytes import SourceBytes

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

ROWS_PER_CHUNK = 1_000_000
"""Rows read at a time."""
_STDERR_DESCRIPTOR = 2
# run as a file, so that it imports the table engine and nothing of Parivox
_PROBE = Path(__file__).with_name("probe.py")
# descriptors are those of the whole process, so threads must take turns
_STDERR_LOCK = Lock()


@contextmanager
def silence_engine() -> Iterator[None]:
    """Discard what the engine writes to standard error: if it panics, it prints a trace."""
    with _STDERR_LOCK:
        try:
            saved_descriptor = os.dup(_STDERR_DESCRIPTOR)
        except OSError:  # it is closed
            yield
            return
        try:
            with open(os.devnull, "wb") as null_device:  # noqa: PTH123 - only for its descriptor
                os.dup2(null_device.fileno(), _STDERR_DESCRIPTOR)
            yield
        finally:
            os.dup2(saved_descriptor, _STDERR_DESCRIPTOR)
            os.close(saved_descriptor)


def _read_guarded(
    content: SourceBytes, kind: str, query: Callable[[pl.LazyFrame], pl.DataFrame]
) -> pl.DataFrame:
    """Return the result of a query; raise one sentence if the table is damaged."""
    source = content.for_polars
    try:
        with silence_engine():
            if kind == "arrow-stream":
                return query(pl.read_ipc_stream(source).lazy())
            return query(lazy_parquet(source) if kind == "parquet" else pl.scan_ipc(source))
    except ENGINE_ERRORS as error:
        raise _damage_error(content.name, kind, error_summary(error)) from error


def lazy_parquet(source: bytes | str | Path) -> pl.LazyFrame:
    """Return a Parquet file; class codes of a Hugging Face dataset are replaced by names."""
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    metadata = pl.read_parquet_metadata(file).get("huggingface", "{}")
    try:
        features = json.loads(metadata)["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):  # not a dataset, or damaged
        features = {}
    features = features if isinstance(features, dict) else {}
    return name_classes(pl.scan_parquet(source), features)


def name_classes(frame: Frame, features: Mapping[str, Any]) -> Frame:
    """Replace codes of classes by their names, which the features of a dataset contain.

    Examples
    --------
    >>> sex = {"sex": {"_type": "ClassLabel", "names": ["f", "m"]}}
    >>> name_classes(pl.DataFrame({"sex": [1, 0, -1]}), sex)["sex"].to_list()
    ['m', 'f', None]
    """
    feature_by_column = {column: features.get(column) for column in frame.collect_schema().names()}
    return frame.with_columns(
        pl.col(column).replace_strict(
            dict(enumerate(feature["names"])), default=None, return_dtype=pl.String
        )
        for column, feature in feature_by_column.items()
        if isinstance(feature, dict)
        and feature.get("_type") == "ClassLabel"
        and isinstance(feature.get("names"), list)
    )


def parquet_metadata(file: Path | IO[bytes]) -> dict[str, str]:
    """Return the metadata of a Parquet file; damage raises one of `ENGINE_ERRORS`."""
    with silence_engine():
        return pl.read_parquet_metadata(file)


def binary_frame(content: SourceBytes, kind: str) -> pl.DataFrame:
    """Return the whole table; call `check_decodes` first."""
    return _read_guarded(content, kind, lambda lazy: lazy.collect())


def _row_count(content: SourceBytes, kind: str) -> int:
    return int(_read_guarded(content, kind, lambda lazy: lazy.select(pl.len()).collect()).item())


class UndecodedTable(NamedTuple):
    """Some rows and columns of a table in Parquet or Arrow, and its name in messages."""

    name: str
    kind: str
    source: bytes | str | Path
    columns: Sequence[str] | None = None  # None: all
    rows: range | None = None  # None: all


def probe_process(script: Path, request: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run the script that decodes tables; return its exit code and output."""
    return subprocess.run(  # noqa: S603 - a file of this package
        [sys.executable, "-P", str(script)],
        input=request,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )


def check_decodes(*tables: UndecodedTable) -> None:
    """Decode tables in another process, because damage may end the process that decodes.

    Only one of the tables may be bytes instead of a path.

    Raises
    ------
    DataError
        If that process aborted, or the engine refused a table there.
    """
    if not sys.executable:
        return
    stream_bytes = next((table.source for table in tables if isinstance(table.source, bytes)), b"")
    jobs = [
        {
            "kind": table.kind,
            "path": None if isinstance(table.source, bytes) else os.fspath(table.source),
            "columns": None if table.columns is None else [*table.columns],
            "first": 0 if table.rows is None else table.rows.start,
            "last": None if table.rows is None else table.rows.stop,
        }
        for table in tables
    ]
    probe = probe_process(_PROBE, json.dumps(jobs).encode() + b"\n" + stream_bytes)
    if probe.returncode >= 0 and probe.returncode != REFUSED_EXIT_CODE:
        return
    reason = f"reading it ended with signal {-probe.returncode}"
    started = [line for line in probe.stdout.decode(errors="replace").splitlines() if line]
    if probe.returncode == REFUSED_EXIT_CODE:
        # the probe printed the index of each table it began, then the words of the engine
        number_lines = [i for i, line in enumerate(started) if line.isdecimal()] or [-1]
        reason = "\n".join(started[number_lines[-1] + 1 :])
        started = started[: number_lines[-1] + 1]
    damaged_table = tables[int(started[-1]) if started else 0]
    raise _damage_error(damaged_table.name, damaged_table.kind, error_summary(DataError(reason)))


def _damage_error(name: str, kind: str, reason: str) -> DataError:
    msg = f"{name}: cannot be read as {kind} ({reason})"
    hint = "create or copy the file again: it may be truncated"
    return DataError(msg, hint)


def _table(kind: str, content: SourceBytes) -> NamedColumns:
    """Open a table in Parquet or Arrow, which is read in chunks."""
    # no rows: names and types of columns without decoding the table
    header = _read_guarded(content, kind, lambda lazy: lazy.head(0).collect())
    rows = range(_row_count(content, kind))
    decoded: set[str] = set()
    if content.rows is not None:
        rows = rows[content.rows.first : content.rows.last]
        if content.rows.decoded_sha256 == content.sha256:
            decoded.update(header.columns)

    def read_chunk(first: int, columns: Mapping[str, str]) -> pl.DataFrame:
        if undecoded := {*columns.values()} - decoded:
            check_decodes(
                UndecodedTable(content.name, kind, content.for_polars, [*undecoded], rows)
            )
            decoded.update(undecoded)
        query = lambda lazy: lazy.slice(first, ROWS_PER_CHUNK).select(**columns).collect()  # noqa: E731
        return _read_guarded(content, kind, query)

    chunks = partial(_chunks, content.name, header.columns, rows, read_chunk)
    return NamedColumns(header.columns, chunks, header.dtypes)


def _chunks(
    source: str,
    names: Sequence[str],
    rows: range,
    read_chunk: Callable[[int, Mapping[str, str]], pl.DataFrame],
    positions: Mapping[str, int],
) -> Iterator[tuple[Rows, pl.DataFrame]]:
    """Yield chunks of some columns under new names, with rows counted from 1."""
    columns = {name: names[position] for name, position in positions.items()}
    with stage(source, len(rows), "rows") as reading:
        for first_row in rows[::ROWS_PER_CHUNK]:
            chunk = read_chunk(first_row, columns)[: rows.stop - first_row]
            yield range(first_row + 1, first_row + 1 + chunk.height), chunk
            reading.add(chunk.height)


_BINARY_FORMATS = (
    ("parquet", "Parquet", b"PAR1"),
    ("arrow", "Arrow", b"ARROW1"),
    ("arrow-stream", "an Arrow stream", b"\xff\xff\xff\xff"),
)
BINARY = tuple(
    named_format(name, label, starts_with(start), partial(_table, name))
    for name, label, start in _BINARY_FORMATS
)


def dataframe_from(source: Any, name: str) -> pl.DataFrame:
    """Return a dataframe from arrays by name, from rows, or from a dataframe of any library."""
    try:
        frame = _frame_of_columns(source, name)
        if frame is None:
            frame = _frame_of_library(source)
    except DataError:
        raise
    # rows of any library are made only now, which may fail with any error of that library
    except (Exception, pl.exceptions.PanicException) as error:
        msg = f"{name}: cannot be read as columns of the same length ({error_summary(error)})"
        raise DataError(msg) from error
    if frame is not None:
        return frame
    remedy = "give a path, a dataframe or a mapping of arrays"
    if hasattr(source, "select_columns"):
        remedy = "load the dataset without streaming=True"
    msg = f"{name}: type {type(source).__name__} is not a table"
    raise DataError(msg, remedy)


def _frame_of_columns(source: Any, name: str) -> pl.DataFrame | None:
    """Return the dataframe of objects of Python and NumPy; None for those of other libraries."""
    if isinstance(source, Mapping):
        _check_no_splits(source, name)
        if rows := rows_by_speaker(source):
            return pl.DataFrame(rows, infer_schema_length=None)
        return pl.DataFrame({str(key): _series(cells) for key, cells in source.items()})
    if field_names := getattr(getattr(source, "dtype", None), "names", None):
        return pl.DataFrame({column: _series(source[column]) for column in field_names})
    if _are_rows(source):
        return pl.DataFrame(list(source), infer_schema_length=None)
    if hasattr(source, "dtype"):  # an array, or one column of a dataframe
        raise _no_ids_error(source, name)
    return None


def _frame_of_library(source: Any) -> pl.DataFrame | None:
    """Return the dataframe of an object of any library; None if it is no table."""
    if isinstance(source, pl.DataFrame):
        return source
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return _frame_of_library(source.collect())
    source = _with_index_columns(source)
    if hasattr(source, "__arrow_c_stream__"):
        with suppress(ImportError):  # pandas needs pyarrow for this
            return pl.DataFrame(source)
    if hasattr(source, "select_columns") and hasattr(source, "select"):
        return _frame_of_dataset(source)
    if hasattr(source, "columns"):
        return pl.DataFrame({str(column): _series(source[column]) for column in source.columns})
    return None


def _are_rows(source: Any) -> bool:
    """Return whether this is a list of rows, each a mapping from columns to cells."""
    return (
        isinstance(source, (list, tuple))
        and len(source) > 0
        and all(isinstance(row, Mapping) for row in source)
    )


def _no_ids_error(array: Any, name: str) -> DataError:
    """Return why an array without names of columns is no table, and what takes it."""
    remedy = "give a dataframe, or a mapping from names of columns to arrays"
    if name != "speakers":
        remedy = (
            f"{remedy} with ids of both sides; give arrays of scores and labels without ids to "
            "pv.metrics(scores, labels, groups)"
        )
    msg = f"{name}: an array of type {type(array).__name__} has no column names"
    return DataError(msg, remedy)


def _with_index_columns(source: Any) -> Any:
    """Return a dataframe of pandas with the named levels of its index as columns."""
    index_names = getattr(getattr(source, "index", None), "names", ())
    levels = [level for level in index_names if level is not None and level not in source.columns]
    return source.reset_index(level=levels) if levels else source


def _frame_of_dataset(source: Any) -> pl.DataFrame:
    """Return the columns of a Hugging Face dataset, without audio and other objects."""
    schema = source.select(range(min(1, len(source)))).to_polars().schema
    flat_columns = [name for name, dtype in schema.items() if not dtype.is_nested()]
    frame = source.select_columns(flat_columns).to_polars()
    assert isinstance(frame, pl.DataFrame)
    return name_classes(frame, source.features.to_dict())


def _check_no_splits(source: Mapping[Any, Any], name: str) -> None:
    """Refuse a mapping of splits of a dataset: only one split is a table."""
    splits = [str(key) for key, split in source.items() if hasattr(split, "select_columns")]
    if splits:
        msg = f"{name}: contains the splits {', '.join(map(repr, splits))}"
        hint = f"give one of them, for example dataset[{splits[0]!r}]"
        raise DataError(msg, hint)


def _series(cells: Any) -> pl.Series:
    if isinstance(cells, pl.Series):
        return cells
    array = cells.to_numpy() if hasattr(cells, "to_numpy") else cells
    if getattr(getattr(array, "dtype", None), "kind", "O") == "O":
        return pl.Series(list(array), strict=False)
    return pl.Series(array)


def scan_frame(source: Any, columns: RequestedColumns, name: str) -> Scan:
    """Return the trials of a dataframe or of a mapping of arrays."""
    frame = dataframe_from(source, name)

    def read_chunk(first_row: int, columns: Mapping[str, str]) -> pl.DataFrame:
        return frame[first_row : first_row + ROWS_PER_CHUNK].select(**columns)

    chunks = partial(_chunks, name, frame.columns, range(frame.height), read_chunk)
    table = NamedColumns(frame.columns, chunks, frame.dtypes)
    return scan_named_columns(name, "dataframe", table, columns)
