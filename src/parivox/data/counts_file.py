"""Counts of trials as a file: Parquet rows without ids, and in its metadata what they are of.

A row says how many trials have the same groups on both sides, class, score (or lower edge of its
bin), decision, threshold and failure. What trials took is summed up over all of the same groups and
stands in one of their rows, lest it tell single trials. Rows of disjoint trials add up: any rows
with the same keys may stand for their sum.

And speaker counts as a file: a row says how many trials have the same class, speakers on both
sides, groups, step (number of thresholds at or below the score) and decision. It holds no ids, but
who a number is can be told by whoever has the table of speakers: that file is personal data, and
not for others.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from parivox.core.cluster_errors import CodeSums, collapse_constant, needs_adding_up, sum_by_code
from parivox.core.counts import EdgeSearch, ScoreGrid
from parivox.data.formats.dataframes import (
    UndecodedTable,
    binary_frame,
    check_decodes,
    parquet_metadata,
)
from parivox.data.formats.format import ENGINE_ERRORS, error_summary
from parivox.data.source_bytes import read_content
from parivox.errors import ConfigError, DataError
from parivox.runtime.disk import atomic_file, explain_write_errors, write_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray
    from parivox.data.source_bytes import SourceBytes

    Numbered: TypeAlias = tuple[FloatArray, NDArray[np.int32]]

NamedFiles: TypeAlias = "list[tuple[tuple[str, str] | None, str | os.PathLike[str]]]"
"""Files with the system and list that the user names, None where they are not named."""

KEY, SPEAKER_COUNTS_KEY = "parivox_counts", "parivox_tally"
"""Under this key the metadata of a Parquet file say that it holds counts, or speaker counts."""
VERSION = "1"
"""Of both."""
_MAGIC = b"PAR1"
MAX_TRIALS = 1 << 53
"""Trials in one file, so that every sum is exact."""

_KEY_TYPES = {
    "block": pl.Int32,
    "level": pl.Int32,
    "enrol_group": pl.Int32,
    "test_group": pl.Int32,
    "target": pl.Boolean,
    "failed": pl.Int8,
    "value": pl.Float64,
    "accepted": pl.Int8,
    "threshold": pl.Float64,
}
SIDE_COLUMNS = ("enrol_group", "test_group")
_CELL_COLUMNS = ("block", "level", *SIDE_COLUMNS)
SUM_TYPES = {"count": pl.Int64, "microseconds": pl.Int64, "timed": pl.Int64}
_COLUMN_TYPES = {**_KEY_TYPES, **SUM_TYPES}
_NULLABLE = ("value", "threshold")
_PRESENCE_FLAGS = ("has value", "has threshold")
_RUN_COLUMNS = (*(name for name in _KEY_TYPES if name not in _NULLABLE), *_PRESENCE_FLAGS)
"""What tells runs of rows apart, in the order of the rows."""
_CHUNK_ROWS = 1 << 16
"""Rows, so that all that is made of them stays near the processor."""
_MAX_CODE_BITS = 62
"""Of a number that tells rows apart."""
_SPEAKER_COUNTS_TYPES = {
    "target": pl.Boolean,
    "enrol": pl.Int32,
    "test": pl.Int32,
    "side": pl.Int64,
    "step": pl.UInt16,
    "accepted": pl.Int8,
    "trials": pl.Int64,
}
_UNSEALED = "0" * 64
"""In the metadata of speaker counts, where the hash of the file comes to stand."""
SPEAKER_COUNTS_COLUMNS = tuple(_SPEAKER_COUNTS_TYPES)[:-1]
"""Columns that tell rows of speaker counts apart."""
SPEAKER_COUNTS_TYPES = {
    name: pl.Series(dtype=kind).to_numpy().dtype for name, kind in _SPEAKER_COUNTS_TYPES.items()
}


class CountRows:
    """Rows of counts, by the name of the column as in ``_COLUMN_TYPES``.

    They tell block, level, groups and class of the trials, how they failed, their score or the
    lower edge of its bin, decision and threshold; how many they are, the sum of what they took, and
    of how many that is. NaN stands for no score and no threshold, -1 for no group, level or
    decision.
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        numbered: Mapping[str, Numbered] | None = None,
    ) -> None:
        self.columns = {name: columns[name] for name in _COLUMN_TYPES}
        self._numbered = dict(numbered or {})

    def distinct_numbers(self, name: str) -> Numbered:
        """Scores or thresholds that occur, rising, and the place of each cell; -1 where none is."""
        if name not in self._numbered:
            column = collapse_constant(self.columns[name])
            is_empty = np.isnan(column)
            if is_empty.any():
                positions = np.full(column.size, -1, dtype=np.int32)
                distinct, positions[~is_empty] = _distinct_and_positions(column[~is_empty])
                self._numbered[name] = distinct, positions
            else:
                self._numbered[name] = _distinct_and_positions(column)
        return self._numbered[name]

    def with_columns(self, columns: Mapping[str, NDArray[Any]]) -> CountRows:
        """The same rows with other columns."""
        numbers = {
            name: distinct_and_positions
            for name, distinct_and_positions in self._numbered.items()
            if name not in columns
        }
        return CountRows({**self.columns, **columns}, numbers)

    @classmethod
    def total(cls, row_parts: Iterable[CountRows]) -> CountRows:
        """The sum of several, which come in turn: each combination once, in a fixed order."""
        tables: list[_RowRuns] = []
        for rows in row_parts:
            tables.append(_RowRuns(rows))
            if needs_adding_up([*map(len, tables)]):
                tables = [_RowRuns(_total_of_runs(tables))]
        return _total_of_runs(tables)

    def timed_by_cell(self) -> CountRows:
        """The same, what trials took summed up over those of the same groups, in the first row."""
        scored = np.flatnonzero(self.columns["failed"] == 0)
        if not scored.size:
            return self
        keys = np.stack([self.columns[name][scored] for name in _CELL_COLUMNS])
        starts = np.append(0, 1 + np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)))
        columns = dict(self.columns)
        for name in ("microseconds", "timed"):
            columns[name] = np.zeros_like(self.columns[name])
            columns[name][scored[starts]] = np.add.reduceat(self.columns[name][scored], starts)
        return CountRows(columns)

    def __len__(self) -> int:
        return int(self.columns["count"].size)

    def written(self, header: Mapping[str, Any]) -> bytes:
        """The file: a function of the rows and the header alone."""
        series = [
            pl.Series(name, self.columns[name], dtype=kind) for name, kind in _COLUMN_TYPES.items()
        ]
        frame = pl.DataFrame(series).with_columns(pl.col(_NULLABLE).fill_nan(None))
        return _parquet(frame, {KEY: _json_text(header)})

    def sha256(self, header: Mapping[str, Any]) -> str:
        """Hash of the rows and the header, whatever wrote the file."""
        digest = hashlib.sha256(_json_text(header).encode())
        for column in self.columns.values():
            digest.update(column.tobytes())
        return digest.hexdigest()


NO_ROWS = CountRows(
    {name: pl.Series(dtype=kind).to_numpy() for name, kind in _COLUMN_TYPES.items()}
)
"""Those of a file of which nothing but its metadata is read."""


def _distinct_and_positions(column: FloatArray) -> Numbered:
    """Numbers that occur, rising, and the place of each."""
    if column.size:
        grid = ScoreGrid(float(column.min()), float(column.max()))
        numbered = grid.index_scores(column) if grid.has_cells else None
        if numbered is not None:
            return numbered
    # in the order of their first, which is found in a third of the time that any order takes
    distinct = np.sort(pl.Series(column).unique(maintain_order=True).to_numpy()) + 0.0
    return distinct, (EdgeSearch(distinct).step_indices(column) - 1).astype(np.int32)


class _RowRuns:
    """Rows of counts in little memory: runs of rows that differ in score and threshold alone."""

    def __init__(self, rows: CountRows) -> None:
        columns = dict(rows.columns)
        for name, flag in zip(_NULLABLE, _PRESENCE_FLAGS, strict=True):
            columns[flag] = np.broadcast_to(~np.isnan(collapse_constant(columns[name])), len(rows))
        is_first = np.ones(len(rows), dtype=np.bool_)
        is_first[1:] = False
        for name in _RUN_COLUMNS:
            if columns[name].strides != (0,):
                is_first[1:] |= columns[name][1:] != columns[name][:-1]
        starts = np.flatnonzero(is_first)
        self.runs = pl.DataFrame({name: columns[name].take(starts) for name in _RUN_COLUMNS})
        self.lengths = np.diff(starts, append=len(rows))
        self.numbered = {name: rows.distinct_numbers(name) for name in _NULLABLE}
        self.sums = {name: columns[name] for name in SUM_TYPES}

    def __len__(self) -> int:
        return int(self.sums["count"].size)


def _total_of_runs(tables: Sequence[_RowRuns]) -> CountRows:
    """The sum of tables: each combination once, scores and thresholds rising within a run."""
    tables = [table for table in tables if len(table)]
    if not tables:
        return NO_ROWS
    all_runs = pl.concat([table.runs for table in tables])
    runs = all_runs.unique().sort(_RUN_COLUMNS).with_row_index("run")
    run_number = all_runs.join(runs, on=_RUN_COLUMNS, how="left", maintain_order="left")[
        "run"
    ].to_numpy()
    ends = np.cumsum([table.lengths.size for table in tables])
    codes = [
        np.repeat(run_codes.astype(np.int64), table.lengths)
        for run_codes, table in zip(np.split(run_number, ends[:-1]), tables, strict=True)
    ]
    steps, width = [], (runs.height - 1).bit_length()
    for name in _NULLABLE:
        distinct_values = np.unique(np.concatenate([table.numbered[name][0] for table in tables]))
        distinct_values = distinct_values if distinct_values.size else np.array([np.nan])
        bits, distinct = (distinct_values.size - 1).bit_length(), None
        if width + bits > _MAX_CODE_BITS:  # few of so many occur
            distinct, joined_codes = np.unique(np.concatenate(codes), return_inverse=True)
            codes = np.split(joined_codes, np.cumsum([table.size for table in codes])[:-1])
            width = distinct.size.bit_length()
        for code, table in zip(codes, tables, strict=True):
            table_values, positions = table.numbered[name]
            value_code = np.append(
                np.searchsorted(distinct_values, table_values), 0
            )  # the last of none
            for start in range(0, code.size, _CHUNK_ROWS):
                code_chunk = code[start : start + _CHUNK_ROWS]
                code_chunk <<= bits
                code_chunk |= value_code.take(
                    positions[start : start + _CHUNK_ROWS] if positions.size > 1 else positions
                )
        width += bits
        steps.append((name, distinct_values, bits, distinct))
    names = [
        name
        for name in SUM_TYPES
        if any(collapse_constant(table.sums[name]).any() for table in tables)
    ]
    combinations, sums = _summed_by_code(
        codes, 1 << width, [[table.sums[name] for name in names] for table in tables]
    )
    n_rows = combinations.size
    columns = dict.fromkeys(SUM_TYPES, np.broadcast_to(np.int64(0), n_rows)) | dict(
        zip(names, sums, strict=True)
    )
    for name, distinct_values, bits, distinct in reversed(steps):
        columns[name] = distinct_values.take(combinations & ((1 << bits) - 1))
        combinations >>= bits
        combinations = combinations if distinct is None else distinct[combinations]
    lengths = np.bincount(combinations, minlength=runs.height)
    for name in _RUN_COLUMNS:
        column = runs[name].to_numpy()
        is_same = (column == column[0]).all()
        columns[name] = (
            np.broadcast_to(column[0], n_rows) if is_same else np.repeat(column, lengths)
        )
    for name, flag in zip(_NULLABLE, _PRESENCE_FLAGS, strict=True):
        if not collapse_constant(columns[flag]).all():
            columns[name] = np.where(columns[flag], columns[name], np.nan)
    return CountRows(columns)


def _summed_by_code(
    codes: Sequence[NDArray[Any]], size: int, weights: Sequence[Sequence[NDArray[Any]]]
) -> tuple[NDArray[Any], Sequence[NDArray[Any]]]:
    """Codes of some tables that occur, rising, and sums of weights of each."""
    if len(weights[0]) == 1:
        sums = CodeSums(size)
        for code, (weight,) in zip(codes, weights, strict=True):
            sums.add(code, weight)
        occurring, total = sums.total()
        return occurring, [total]
    return sum_by_code(
        np.concatenate(codes), size, *map(np.concatenate, zip(*weights, strict=True))
    )


def _json_text(header: Mapping[str, Any]) -> str:
    return json.dumps(header, ensure_ascii=False, allow_nan=False, sort_keys=True)


def _parquet(frame: pl.DataFrame, metadata: dict[str, str]) -> bytes:
    """A file that is quickly read: its rows are one group, so that no column is copied."""
    file, group_size = io.BytesIO(), max(frame.height, 1)
    frame.write_parquet(file, compression="lz4", row_group_size=group_size, metadata=metadata)
    return file.getvalue()


def holds_counts(source: object, key: str = KEY) -> bool:
    """Whether this is the name of a file of counts, or of what another key says.

    Of what is none, nothing else is said.
    """
    if not isinstance(source, (str, os.PathLike)):
        return False
    try:
        if not os.path.isfile(source):  # noqa: PTH113 - any text; a pipe can be read but once
            return False
        with open(source, "rb") as file:  # noqa: PTH123 - likewise
            if file.read(4) != _MAGIC:
                return False
            # without its rows, since the table engine reads all of an open file
            file.seek(-8, os.SEEK_END)
            size = int.from_bytes(file.read(4), "little")
            file.seek(-8 - size, os.SEEK_END)
            return key in parquet_metadata(io.BytesIO(_MAGIC + file.read()))
    except ENGINE_ERRORS:
        return False


def is_cut_off(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as one in Parquet and does not end as one."""
    with open(path, "rb") as file:  # noqa: PTH123 - any text
        start = file.read(len(_MAGIC))
        file.seek(-min(len(start), len(_MAGIC)), os.SEEK_END)
        return start == _MAGIC != file.read()


def holds_speaker_counts(source: object) -> bool:
    """Whether this is the name of a file that holds speaker counts."""
    return holds_counts(source, SPEAKER_COUNTS_KEY)


def read_counts(source: str | os.PathLike[str]) -> tuple[SourceBytes, dict[str, Any], CountRows]:
    """The file, what its metadata say as JSON gives it, and its rows.

    Their numbers are checked, but for the groups and levels that the metadata name.
    """
    content, header, frame = _read_parquet(source, KEY, _COLUMN_TYPES)
    columns = _compact_columns(frame)
    _refuse_impossible_rows(frame, columns, content.name)
    return content, header, CountRows(columns)


def _compact_columns(frame: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """Columns, NaN in empty cells; one whose cells are all the same takes no memory."""
    columns = {}
    for column in frame.get_columns():
        n_cells, n_empty = len(column), column.null_count()
        is_same = 0 < n_cells == n_empty or (
            n_cells > n_empty == 0 and column[0] == column[-1] and column.min() == column.max()
        )
        if is_same:
            columns[column.name] = np.broadcast_to(column.head(1).to_numpy().copy(), n_cells)
        else:
            columns[column.name] = column.to_numpy()  # which has NaN in empty cells of numbers
    return columns


def lies_between(column: NDArray[Any], low: float, high: float) -> bool:
    """Whether all cells are at least `low` and at most `high`."""
    distinct = collapse_constant(column)
    return bool(not distinct.size or (low <= distinct.min() and distinct.max() <= high))


def _refuse_impossible_rows(
    frame: pl.DataFrame, columns: Mapping[str, NDArray[Any]], name: str
) -> None:
    """Refuse numbers that no counts have."""
    n_empty = {column_name: frame[column_name].null_count() for column_name in columns}
    if sum(n_empty.values()) > sum(n_empty[column_name] for column_name in _NULLABLE):
        raise damaged_file_error(name, "it holds empty cells")
    is_failed = collapse_constant(columns["failed"]) != 0
    conditions = {
        "a score that is not a number": not any(
            frame[column_name].is_nan().any() for column_name in _NULLABLE
        )
        and (np.isnan(collapse_constant(columns["value"])) == is_failed).all(),
        "a failure of no known kind": lies_between(columns["failed"], 0, 2),
        "a decision of no known kind": lies_between(columns["accepted"], -1, 1),
        "a count below 1": lies_between(columns["count"], 1, MAX_TRIALS),
        "impossible times": all(
            lies_between(columns[column_name], 0, MAX_TRIALS) for column_name in SUM_TYPES
        )
        and (lies_between(columns["timed"], 0, 0) or _are_timed_once(frame)),
    }
    for problem, is_good in conditions.items():
        if not is_good:
            raise damaged_file_error(name, f"it holds {problem}")
    if any(columns[column_name].sum(dtype=np.float64) > MAX_TRIALS for column_name in SUM_TYPES):
        raise damaged_file_error(name, "its counts are too large")


def _are_timed_once(frame: pl.DataFrame) -> bool:
    """Whether no more trials of the same groups are timed than there are."""
    is_possible = (pl.col("timed").sum() <= pl.col("count").sum()).over(_CELL_COLUMNS)
    return bool(frame.select(is_possible.all()).item())


def read_speaker_counts(
    path: str | os.PathLike[str],
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Columns and header of speaker counts; who and what their numbers stand for is not checked.

    Raises
    ------
    DataError
        If it is none, is damaged, or was made in another version.
    """
    content, header, frame = _read_parquet(path, SPEAKER_COUNTS_KEY, _SPEAKER_COUNTS_TYPES)
    if frame.null_count().sum_horizontal().sum():
        raise damaged_file_error(content.name, "some cells are empty", SPEAKER_COUNTS_KEY)
    seal, engine_source = str(header.get("sha256")), content.for_polars
    payload = engine_source if isinstance(engine_source, bytes) else engine_source.read_bytes()
    seal_start, view, digest = payload.rfind(seal.encode()), memoryview(payload), hashlib.sha256()
    for piece in (view[:seal_start], _UNSEALED.encode(), view[seal_start + len(seal) :]):
        digest.update(piece)
    if digest.hexdigest() != seal:
        raise damaged_file_error(
            content.name, "its bytes are not those that were written", SPEAKER_COUNTS_KEY
        )
    return _compact_columns(frame), header


def check_files(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse files of counts and speaker counts of which one cannot be decoded, before any is read.

    Raises
    ------
    DataError
        If there is one.
    """
    check_decodes(*(UndecodedTable(Path(path).name, "parquet", os.fspath(path)) for path in paths))


def read_header(source: str | os.PathLike[str], key: str = KEY) -> dict[str, Any]:
    """What the metadata of a file say under a key: those of counts, or of speaker counts.

    Raises
    ------
    DataError
        If it is none, is damaged, or was made in another version.
    """
    return _header(Path(source), Path(source).name, key)


def _header(file: Path | io.BytesIO, name: str, key: str) -> dict[str, Any]:
    try:
        header = json.loads(parquet_metadata(file)[key])
    except (*ENGINE_ERRORS, KeyError, RecursionError) as error:
        raise damaged_file_error(name, error_summary(error), key) from error
    if not isinstance(header, dict):
        raise damaged_file_error(name, "its metadata is not an object", key)
    if header.get(key) != VERSION:
        noun, _, remedy = _FILE_WORDS[key]
        msg = (
            f"{name}: {noun} of version {header.get(key)!r}, this Parivox reads {VERSION!r}; "
            f"{remedy}"
        )
        raise DataError(msg)
    return header


def _read_parquet(
    source: str | os.PathLike[str], key: str, kinds: Mapping[str, Any]
) -> tuple[SourceBytes, dict[str, Any], pl.DataFrame]:
    """A Parquet file whose metadata say under a key what it holds, with columns of known kinds."""
    content = read_content(source)
    engine_source = content.for_polars
    header = _header(
        io.BytesIO(engine_source) if isinstance(engine_source, bytes) else engine_source,
        content.name,
        key,
    )
    frame = binary_frame(content, "parquet")
    if dict(frame.schema) != kinds:
        raise damaged_file_error(content.name, f"its columns are {', '.join(frame.columns)}", key)
    return content, header, frame


_FILE_WORDS = {
    KEY: ("counts", "whole counts", "count again"),
    SPEAKER_COUNTS_KEY: ("a tally", "a whole tally", "make it again"),
}


def damaged_file_error(name: str, problem: str, key: str = KEY) -> DataError:
    """What is said of a file of counts, or of speaker counts, that lacks what it must hold."""
    _, expected, remedy = _FILE_WORDS[key]
    return DataError(f"{name}: does not hold {expected} ({problem}); copy it or {remedy}")


def check_output(path: str | os.PathLike[str], *, key: str = KEY) -> Path:
    """The file to write counts to, if it may be written: a new one, or one with counts in it.

    Or with what another key says.
    """
    text = os.fsdecode(path)
    out, option_text = Path(text), f"--out {text}"
    noun = _FILE_WORDS[key][0].removeprefix("a ")
    try:
        if text and out.exists():
            if out.is_dir():
                msg = f"--out {text}: is a folder; name a file, as in day1.counts"
                raise ConfigError(msg)
            if not holds_counts(out, key):
                msg = f"--out {text}: is there and holds no {noun}; name a new file"
                raise ConfigError(msg)
        if text and out.parent.is_dir() and os.access(out.parent, os.W_OK | os.X_OK):
            return out
    except (OSError, ValueError) as error:
        raise write_error(option_text, error) from error
    reason = f"{out.parent} is not a folder that can be written" if text else "names no file"
    raise write_error(option_text, PermissionError(reason))


def check_both_counts(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Files of one name for counts and their speaker counts, if they may be written."""
    out = check_output(path)
    speaker_counts_path = out.with_suffix(".tally")
    if speaker_counts_path == out:
        msg = f"--out {out}: is the name of the tally beside it; give another, as in day1.counts"
        raise ConfigError(msg)
    return out, check_output(speaker_counts_path, key=SPEAKER_COUNTS_KEY)


def write_file(
    path: str | os.PathLike[str], data: bytes, speaker_counts: Callable[[Path], None] | None = None
) -> None:
    """Write a file of counts, and the speaker counts beside it if there are any, or nothing."""
    out, speaker_counts_path = (
        (check_output(path), None) if speaker_counts is None else check_both_counts(path)
    )
    with explain_write_errors(f"--out {out}"), atomic_file(out) as temporary:
        temporary.write_bytes(data)
        if speaker_counts is not None and speaker_counts_path is not None:
            speaker_counts(speaker_counts_path)


def write_over(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of a file or nothing, in place of what is there.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    with explain_write_errors(str(path)), atomic_file(path) as temporary:
        temporary.write_bytes(data)


def write_speaker_counts(
    path: str | os.PathLike[str], columns: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write all speaker counts or nothing, in place of what is there; `header` says of what.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    frame = pl.DataFrame(
        [pl.Series(name, columns[name], kind) for name, kind in _SPEAKER_COUNTS_TYPES.items()]
    )
    full_header = {**header, SPEAKER_COUNTS_KEY: VERSION, "sha256": _UNSEALED}
    before_seal, unsealed, after_seal = _parquet(
        frame, {SPEAKER_COUNTS_KEY: _json_text(full_header)}
    ).rpartition(_UNSEALED.encode())
    seal = hashlib.sha256(before_seal + unsealed + after_seal).hexdigest().encode()
    write_over(path, before_seal + seal + after_seal)
