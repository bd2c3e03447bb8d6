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
"""Rows read at once."""
_STDERR = 2
_PROBE = Path(__file__).with_name("probe.py")
_ONE_AT_A_TIME = Lock()


@contextmanager
def silence_engine() -> Iterator[None]:
    """Drop what the engine writes to standard error: where it panics, it prints a trace."""
    with _ONE_AT_A_TIME:
        try:
            kept = os.dup(_STDERR)
        except OSError:  # it is closed
            yield
            return
        try:
            with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a descriptor is all it is for
                os.dup2(nowhere.fileno(), _STDERR)
            yield
        finally:
            os.dup2(kept, _STDERR)
            os.close(kept)


def _guarded(
    content: SourceBytes, kind: str, job: Callable[[pl.LazyFrame], pl.DataFrame]
) -> pl.DataFrame:
    """What a job makes of the table; damage is an error."""
    source = content.for_polars
    try:
        with silence_engine():
            if kind == "arrow-stream":
                return job(pl.read_ipc_stream(source).lazy())
            return job(lazy_parquet(source) if kind == "parquet" else pl.scan_ipc(source))
    except ENGINE_ERRORS as error:
        raise _unreadable(content.name, kind, error_summary(error)) from error


def lazy_parquet(source: bytes | str | Path) -> pl.LazyFrame:
    """A Parquet file; of a dataset of Hugging Face, classes are by their names."""
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    text = pl.read_parquet_metadata(file).get("huggingface", "{}")
    try:
        features = json.loads(text)["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):  # of no dataset, or damaged
        features = {}
    features = features if isinstance(features, dict) else {}
    return name_classes(pl.scan_parquet(source), features)


def name_classes(frame: Frame, features: Mapping[str, Any]) -> Frame:
    """Names in the place of the codes of classes, as the features of a dataset have them.

    Examples
    --------
    >>> sex = {"sex": {"_type": "ClassLabel", "names": ["f", "m"]}}
    >>> with_classes(pl.DataFrame({"sex": [1, 0, -1]}), sex)["sex"].to_list()
    ['m', 'f', None]
    """
    known = {column: features.get(column) for column in frame.collect_schema().names()}
    return frame.with_columns(
        pl.col(column).replace_strict(
            dict(enumerate(kind["names"])), default=None, return_dtype=pl.String
        )
        for column, kind in known.items()
        if isinstance(kind, dict)
        and kind.get("_type") == "ClassLabel"
        and isinstance(kind.get("names"), list)
    )


def parquet_metadata(file: Path | IO[bytes]) -> dict[str, str]:
    """What the metadata of a Parquet file say, by key; damage raises one of `ENGINE_ERRORS`."""
    with silence_engine():
        return pl.read_parquet_metadata(file)


def binary_frame(content: SourceBytes, kind: str) -> pl.DataFrame:
    """The whole table, which `check_decodes` has decoded."""
    return _guarded(content, kind, lambda lazy: lazy.collect())


def _height(content: SourceBytes, kind: str) -> int:
    return int(_guarded(content, kind, lambda lazy: lazy.select(pl.len()).collect()).item())


class UndecodedTable(NamedTuple):
    """Some rows and columns of a table in Parquet or Arrow, and what it is called."""

    name: str
    kind: str
    source: bytes | str | Path
    columns: Sequence[str] | None = None  # None: all
    rows: range | None = None  # None: all


def check_decodes(*tables: UndecodedTable) -> None:
    """Decode tables in another process first, as damage may end the one that does.

    Of tables without a path there can be one.

    Raises
    ------
    DataError
        If that process aborted, or the engine refused a table there.
    """
    if not sys.executable:
        return
    data = next((one.source for one in tables if isinstance(one.source, bytes)), b"")
    jobs = [
        {
            "kind": one.kind,
            "path": None if isinstance(one.source, bytes) else os.fspath(one.source),
            "columns": None if one.columns is None else [*one.columns],
            "first": 0 if one.rows is None else one.rows.start,
            "last": None if one.rows is None else one.rows.stop,
        }
        for one in tables
    ]
    probe = subprocess.run(  # noqa: S603 - our own file
        [sys.executable, "-P", str(_PROBE)],
        input=json.dumps(jobs).encode() + b"\n" + data,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if probe.returncode >= 0 and probe.returncode != REFUSED_EXIT_CODE:
        return
    reason = f"reading it ended with signal {-probe.returncode}"
    begun = [line for line in probe.stdout.decode(errors="replace").splitlines() if line]
    if probe.returncode == REFUSED_EXIT_CODE:
        places = [i for i, line in enumerate(begun) if line.isdecimal()] or [-1]
        reason = "\n".join(begun[places[-1] + 1 :])
        begun = begun[: places[-1] + 1]
    table = tables[int(begun[-1]) if begun else 0]
    raise _unreadable(table.name, table.kind, error_summary(DataError(reason)))


def _unreadable(name: str, kind: str, reason: str) -> DataError:
    return DataError(
        f"{name}: cannot be read as {kind} ({reason}); it may be truncated, so make or "
        "copy it again"
    )


def _table(kind: str, content: SourceBytes) -> NamedColumns:
    """A table in Parquet or Arrow, of which a million rows are read at once."""
    empty = _guarded(content, kind, lambda lazy: lazy.head(0).collect())
    rows = range(_height(content, kind))
    if content.rows is not None:
        rows = rows[content.rows.first : content.rows.last]
    decoded: set[str] = set()

    def part(first: int, columns: Mapping[str, str]) -> pl.DataFrame:
        if unknown := {*columns.values()} - decoded:
            check_decodes(UndecodedTable(content.name, kind, content.for_polars, [*unknown], rows))
            decoded.update(unknown)
        job = lambda lazy: lazy.slice(first, ROWS_PER_CHUNK).select(**columns).collect()  # noqa: E731
        return _guarded(content, kind, job)

    chunks = partial(_chunks, content.name, empty.columns, rows, part)
    return NamedColumns(empty.columns, chunks, empty.dtypes)


def _chunks(
    source: str,
    names: Sequence[str],
    rows: range,
    part: Callable[[int, Mapping[str, str]], pl.DataFrame],
    places: Mapping[str, int],
) -> Iterator[tuple[Rows, pl.DataFrame]]:
    """Some columns under new names, so many rows at a time; rows count from 1."""
    columns = {name: names[at] for name, at in places.items()}
    with stage(source, len(rows), "rows") as reading:
        for first in rows[::ROWS_PER_CHUNK]:
            chunk = part(first, columns)[: rows.stop - first]
            yield range(first + 1, first + 1 + chunk.height), chunk
            reading.add(chunk.height)


_BINARY = (
    ("parquet", "Parquet", b"PAR1"),
    ("arrow", "Arrow", b"ARROW1"),
    ("arrow-stream", "an Arrow stream", b"\xff\xff\xff\xff"),
)
BINARY = tuple(
    named_format(name, label, starts_with(start), partial(_table, name))
    for name, label, start in _BINARY
)


def dataframe_from(source: Any, name: str) -> pl.DataFrame:
    """A dataframe of a mapping of arrays, or of a dataframe of any library."""
    try:
        if isinstance(source, pl.DataFrame):
            return source
        if isinstance(source, pl.LazyFrame):
            return source.collect()
        if isinstance(source, Mapping):
            _check_no_splits(source, name)
            return pl.DataFrame({str(key): _series(cells) for key, cells in source.items()})
        if hasattr(source, "__arrow_c_stream__"):
            with suppress(ImportError):  # pandas needs pyarrow for this
                return pl.DataFrame(source)
        if hasattr(source, "select_columns") and hasattr(source, "select"):
            return _of_dataset(source)
        if hasattr(source, "columns"):
            return pl.DataFrame({str(c): _series(source[c]) for c in source.columns})
    except (*ENGINE_ERRORS, TypeError) as error:
        msg = f"{name}: cannot be read as columns of one length ({error_summary(error)})"
        raise DataError(msg) from error
    mend = "give a path, a dataframe or a mapping of arrays"
    if hasattr(source, "select_columns"):
        mend = "it gives its rows one by one, so load it without streaming=True"
    msg = f"{name}: type {type(source).__name__} is not a table; {mend}"
    raise DataError(msg)


def _of_dataset(source: Any) -> pl.DataFrame:
    """The columns of a dataset of Hugging Face, without those of audio and other objects."""
    kinds = source.select(range(min(1, len(source)))).to_polars().schema
    flat = [name for name, kind in kinds.items() if not kind.is_nested()]
    found = source.select_columns(flat).to_polars()
    assert isinstance(found, pl.DataFrame)
    return name_classes(found, source.features.to_dict())


def _check_no_splits(source: Mapping[Any, Any], name: str) -> None:
    """Refuse the splits of a dataset, of which one is a table."""
    splits = [str(key) for key, one in source.items() if hasattr(one, "select_columns")]
    if splits:
        msg = (
            f"{name}: holds the splits {', '.join(map(repr, splits))}; give one of them, as in "
            f"dataset[{splits[0]!r}]"
        )
        raise DataError(msg)


def _series(cells: Any) -> pl.Series:
    if isinstance(cells, pl.Series):
        return cells
    array = cells.to_numpy() if hasattr(cells, "to_numpy") else cells
    if getattr(getattr(array, "dtype", None), "kind", "O") == "O":
        return pl.Series(list(array), strict=False)
    return pl.Series(array)


def scan_frame(source: Any, columns: RequestedColumns, name: str) -> Scan:
    """Trials of a dataframe or of a mapping of arrays."""
    frame = dataframe_from(source, name)

    def part(first: int, columns: Mapping[str, str]) -> pl.DataFrame:
        return frame[first : first + ROWS_PER_CHUNK].select(**columns)

    chunks = partial(_chunks, name, frame.columns, range(frame.height), part)
    table = NamedColumns(frame.columns, chunks, frame.dtypes)
    return scan_named_columns(name, "dataframe", table, columns)
