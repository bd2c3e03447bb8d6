"""Counts of trials as a file: Parquet rows without ids, and in its metadata what they are of.

A row says how many trials have the same groups on both sides, class, score (or lower edge of its
bin), decision, threshold and failure. What trials took is summed up over all of the same groups and
stands in one of their rows, lest it tell single trials. Rows of disjoint trials add up: any rows
with the same keys may stand for their sum.

And tallies of trials as a file: a row says how many trials have the same class, speakers on both
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

KEY, TALLY_KEY = "parivox_counts", "parivox_tally"
"""Under this key the metadata of a Parquet file say that it holds counts, or a tally."""
VERSION = "1"
"""Of both."""
_MAGIC = b"PAR1"
MOST = 1 << 53
"""Trials in one file, so that every sum is exact."""

_KEYS = {
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
SIDES = ("enrol_group", "test_group")
_CELL = ("block", "level", *SIDES)
SUMS = {"count": pl.Int64, "microseconds": pl.Int64, "timed": pl.Int64}
_KINDS = {**_KEYS, **SUMS}
_MAY_LACK = ("value", "threshold")
_FLAGS = ("has value", "has threshold")
_RUN = (*(name for name in _KEYS if name not in _MAY_LACK), *_FLAGS)
"""What tells runs of rows apart, in the order of the rows."""
_BLOCK = 1 << 16
"""Rows, so that all that is made of them stays near the processor."""
_BITS = 62
"""Of a number that tells rows apart."""
_TALLY_KINDS = {
    "target": pl.Boolean,
    "enrol": pl.Int32,
    "test": pl.Int32,
    "side": pl.Int64,
    "step": pl.UInt16,
    "accepted": pl.Int8,
    "trials": pl.Int64,
}
_UNSEALED = "0" * 64
"""In the metadata of a tally, where the hash of the file as it is with this comes to stand."""
TALLY_KEYS = tuple(_TALLY_KINDS)[:-1]
"""Columns that tell rows of a tally apart."""
TALLY_TYPES = {name: pl.Series(dtype=kind).to_numpy().dtype for name, kind in _TALLY_KINDS.items()}


class CountRows:
    """Rows of counts, by the name of the column as in ``_KINDS``.

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
        self.columns = {name: columns[name] for name in _KINDS}
        self._numbered = dict(numbered or {})

    def distinct_numbers(self, name: str) -> Numbered:
        """Scores or thresholds that occur, rising, and the place of each cell; -1 where none is."""
        if name not in self._numbered:
            column = collapse_constant(self.columns[name])
            empty = np.isnan(column)
            if empty.any():
                place = np.full(column.size, -1, dtype=np.int32)
                values, place[~empty] = _numbered(column[~empty])
                self._numbered[name] = values, place
            else:
                self._numbered[name] = _numbered(column)
        return self._numbered[name]

    def with_columns(self, columns: Mapping[str, NDArray[Any]]) -> CountRows:
        """The same rows with other columns."""
        known = {name: one for name, one in self._numbered.items() if name not in columns}
        return CountRows({**self.columns, **columns}, known)

    @classmethod
    def total(cls, parts: Iterable[CountRows]) -> CountRows:
        """The sum of several, which come in turn: each combination once, in a fixed order."""
        waiting: list[_RowRuns] = []
        for one in parts:
            waiting.append(_RowRuns(one))
            if needs_adding_up([*map(len, waiting)]):
                waiting = [_RowRuns(_total(waiting))]
        return _total(waiting)

    def timed_by_cell(self) -> CountRows:
        """The same, what trials took summed up over those of the same groups, in the first row."""
        scored = np.flatnonzero(self.columns["failed"] == 0)
        if not scored.size:
            return self
        keys = np.stack([self.columns[name][scored] for name in _CELL])
        starts = np.append(0, 1 + np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)))
        made = dict(self.columns)
        for name in ("microseconds", "timed"):
            made[name] = np.zeros_like(self.columns[name])
            made[name][scored[starts]] = np.add.reduceat(self.columns[name][scored], starts)
        return CountRows(made)

    def __len__(self) -> int:
        return int(self.columns["count"].size)

    def written(self, header: Mapping[str, Any]) -> bytes:
        """The file: a function of the rows and the header alone."""
        made = [pl.Series(name, self.columns[name], dtype=kind) for name, kind in _KINDS.items()]
        frame = pl.DataFrame(made).with_columns(pl.col(_MAY_LACK).fill_nan(None))
        return _parquet(frame, {KEY: _json(header)})

    def sha256(self, header: Mapping[str, Any]) -> str:
        """Hash of the rows and the header, whatever wrote the file."""
        digest = hashlib.sha256(_json(header).encode())
        for column in self.columns.values():
            digest.update(column.tobytes())
        return digest.hexdigest()


NO_ROWS = CountRows({name: pl.Series(dtype=kind).to_numpy() for name, kind in _KINDS.items()})
"""Those of a file of which nothing but its metadata is read."""


def _numbered(column: FloatArray) -> Numbered:
    """Numbers that occur, rising, and the place of each."""
    if column.size:
        grid = ScoreGrid(float(column.min()), float(column.max()))
        found = grid.index_scores(column) if grid.has_cells else None
        if found is not None:
            return found
    # in the order of their first, which is found in a third of the time that any order takes
    values = np.sort(pl.Series(column).unique(maintain_order=True).to_numpy()) + 0.0
    return values, (EdgeSearch(values).step_indices(column) - 1).astype(np.int32)


class _RowRuns:
    """Rows of counts in little memory: runs of rows that differ in score and threshold alone."""

    def __init__(self, rows: CountRows) -> None:
        columns = dict(rows.columns)
        for name, flag in zip(_MAY_LACK, _FLAGS, strict=True):
            columns[flag] = np.broadcast_to(~np.isnan(collapse_constant(columns[name])), len(rows))
        is_first = np.ones(len(rows), dtype=np.bool_)
        is_first[1:] = False
        for name in _RUN:
            if columns[name].strides != (0,):
                is_first[1:] |= columns[name][1:] != columns[name][:-1]
        starts = np.flatnonzero(is_first)
        self.runs = pl.DataFrame({name: columns[name].take(starts) for name in _RUN})
        self.lengths = np.diff(starts, append=len(rows))
        self.numbered = {name: rows.distinct_numbers(name) for name in _MAY_LACK}
        self.sums = {name: columns[name] for name in SUMS}

    def __len__(self) -> int:
        return int(self.sums["count"].size)


def _total(tables: Sequence[_RowRuns]) -> CountRows:
    """The sum of tables: each combination once, scores and thresholds rising within a run."""
    tables = [one for one in tables if len(one)]
    if not tables:
        return NO_ROWS
    every = pl.concat([one.runs for one in tables])
    runs = every.unique().sort(_RUN).with_row_index("run")
    number = every.join(runs, on=_RUN, how="left", maintain_order="left")["run"].to_numpy()
    ends = np.cumsum([one.lengths.size for one in tables])
    codes = [
        np.repeat(of.astype(np.int64), one.lengths)
        for of, one in zip(np.split(number, ends[:-1]), tables, strict=True)
    ]
    steps, width = [], (runs.height - 1).bit_length()
    for name in _MAY_LACK:
        values = np.unique(np.concatenate([one.numbered[name][0] for one in tables]))
        values = values if values.size else np.array([np.nan])
        bits, distinct = (values.size - 1).bit_length(), None
        if width + bits > _BITS:  # few of so many occur
            distinct, joined = np.unique(np.concatenate(codes), return_inverse=True)
            codes = np.split(joined, np.cumsum([one.size for one in codes])[:-1])
            width = distinct.size.bit_length()
        for code, one in zip(codes, tables, strict=True):
            own, place = one.numbered[name]
            known = np.append(np.searchsorted(values, own), 0)  # the last of none
            for start in range(0, code.size, _BLOCK):
                part = code[start : start + _BLOCK]
                part <<= bits
                part |= known.take(place[start : start + _BLOCK] if place.size > 1 else place)
        width += bits
        steps.append((name, values, bits, distinct))
    names = [
        name for name in SUMS if any(collapse_constant(one.sums[name]).any() for one in tables)
    ]
    found, sums = _summed(codes, 1 << width, [[one.sums[name] for name in names] for one in tables])
    n = found.size
    made = dict.fromkeys(SUMS, np.broadcast_to(np.int64(0), n)) | dict(
        zip(names, sums, strict=True)
    )
    for name, values, bits, distinct in reversed(steps):
        made[name] = values.take(found & ((1 << bits) - 1))
        found >>= bits
        found = found if distinct is None else distinct[found]
    lengths = np.bincount(found, minlength=runs.height)
    for name in _RUN:
        column = runs[name].to_numpy()
        is_same = (column == column[0]).all()
        made[name] = np.broadcast_to(column[0], n) if is_same else np.repeat(column, lengths)
    for name, flag in zip(_MAY_LACK, _FLAGS, strict=True):
        if not collapse_constant(made[flag]).all():
            made[name] = np.where(made[flag], made[name], np.nan)
    return CountRows(made)


def _summed(
    codes: Sequence[NDArray[Any]], size: int, weights: Sequence[Sequence[NDArray[Any]]]
) -> tuple[NDArray[Any], Sequence[NDArray[Any]]]:
    """Codes of some tables that occur, rising, and sums of weights of each."""
    if len(weights[0]) == 1:
        sums = CodeSums(size)
        for code, (weight,) in zip(codes, weights, strict=True):
            sums.add(code, weight)
        found, n = sums.total()
        return found, [n]
    return sum_by_code(
        np.concatenate(codes), size, *map(np.concatenate, zip(*weights, strict=True))
    )


def _json(header: Mapping[str, Any]) -> str:
    return json.dumps(header, ensure_ascii=False, allow_nan=False, sort_keys=True)


def _parquet(frame: pl.DataFrame, metadata: dict[str, str]) -> bytes:
    """A file that is quickly read: its rows are one group, so that no column is copied."""
    file, rows = io.BytesIO(), max(frame.height, 1)
    frame.write_parquet(file, compression="lz4", row_group_size=rows, metadata=metadata)
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


def holds_tally(source: object) -> bool:
    """Whether this is the name of a file that holds a tally."""
    return holds_counts(source, TALLY_KEY)


def read_counts(source: str | os.PathLike[str]) -> tuple[SourceBytes, dict[str, Any], CountRows]:
    """The file, what its metadata say as JSON gives it, and its rows.

    Their numbers are checked, but for the groups and levels that the metadata name.
    """
    content, header, frame = _read(source, KEY, _KINDS)
    columns = _columns(frame)
    _check(frame, columns, content.name)
    return content, header, CountRows(columns)


def _columns(frame: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """Columns, NaN in empty cells; one whose cells are all the same takes no memory."""
    made = {}
    for column in frame.get_columns():
        n, empty = len(column), column.null_count()
        is_same = 0 < n == empty or (
            n > empty == 0 and column[0] == column[-1] and column.min() == column.max()
        )
        if is_same:
            made[column.name] = np.broadcast_to(column.head(1).to_numpy().copy(), n)
        else:
            made[column.name] = column.to_numpy()  # which has NaN in empty cells of numbers
    return made


def lies_between(column: NDArray[Any], low: float, high: float) -> bool:
    """Whether all cells are at least `low` and at most `high`."""
    each = collapse_constant(column)
    return bool(not each.size or (low <= each.min() and each.max() <= high))


def _check(frame: pl.DataFrame, columns: Mapping[str, NDArray[Any]], name: str) -> None:
    """Refuse numbers that no counts have."""
    empty = {one: frame[one].null_count() for one in columns}
    if sum(empty.values()) > sum(empty[one] for one in _MAY_LACK):
        raise damaged(name, "it holds empty cells")
    is_failed = collapse_constant(columns["failed"]) != 0
    good = {
        "a score that is not a number": not any(frame[one].is_nan().any() for one in _MAY_LACK)
        and (np.isnan(collapse_constant(columns["value"])) == is_failed).all(),
        "a failure of no known kind": lies_between(columns["failed"], 0, 2),
        "a decision of no known kind": lies_between(columns["accepted"], -1, 1),
        "a count below 1": lies_between(columns["count"], 1, MOST),
        "impossible times": all(lies_between(columns[one], 0, MOST) for one in SUMS)
        and (lies_between(columns["timed"], 0, 0) or _are_timed_once(frame)),
    }
    for what, is_good in good.items():
        if not is_good:
            raise damaged(name, f"it holds {what}")
    if any(columns[one].sum(dtype=np.float64) > MOST for one in SUMS):
        raise damaged(name, "its counts are too large")


def _are_timed_once(frame: pl.DataFrame) -> bool:
    """Whether no more trials of the same groups are timed than there are."""
    few = (pl.col("timed").sum() <= pl.col("count").sum()).over(_CELL)
    return bool(frame.select(few.all()).item())


def read_tally(
    path: str | os.PathLike[str],
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Columns and header of a tally; who and what its numbers stand for is not checked.

    Raises
    ------
    DataError
        If it is none, is damaged, or was made in another version.
    """
    content, header, frame = _read(path, TALLY_KEY, _TALLY_KINDS)
    if frame.null_count().sum_horizontal().sum():
        raise damaged(content.name, "some cells are empty", TALLY_KEY)
    seal, found = str(header.get("sha256")), content.for_polars
    data = found if isinstance(found, bytes) else found.read_bytes()
    at, view, digest = data.rfind(seal.encode()), memoryview(data), hashlib.sha256()
    for part in (view[:at], _UNSEALED.encode(), view[at + len(seal) :]):
        digest.update(part)
    if digest.hexdigest() != seal:
        raise damaged(content.name, "its bytes are not those that were written", TALLY_KEY)
    return _columns(frame), header


def check_files(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse files of counts and tallies of which one cannot be decoded, before any is read.

    Raises
    ------
    DataError
        If there is one.
    """
    check_decodes(*(UndecodedTable(Path(path).name, "parquet", os.fspath(path)) for path in paths))


def read_header(source: str | os.PathLike[str], key: str = KEY) -> dict[str, Any]:
    """What the metadata of a file say under a key: those of counts, or of a tally.

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
        raise damaged(name, error_summary(error), key) from error
    if not isinstance(header, dict):
        raise damaged(name, "its metadata is not an object", key)
    if header.get(key) != VERSION:
        what, _, again = _WORDS[key]
        msg = (
            f"{name}: {what} of version {header.get(key)!r}, this Parivox reads {VERSION!r}; "
            f"{again}"
        )
        raise DataError(msg)
    return header


def _read(
    source: str | os.PathLike[str], key: str, kinds: Mapping[str, Any]
) -> tuple[SourceBytes, dict[str, Any], pl.DataFrame]:
    """A Parquet file whose metadata say under a key what it holds, with columns of known kinds."""
    content = read_content(source)
    found = content.for_polars
    header = _header(io.BytesIO(found) if isinstance(found, bytes) else found, content.name, key)
    frame = binary_frame(content, "parquet")
    if dict(frame.schema) != kinds:
        raise damaged(content.name, f"its columns are {', '.join(frame.columns)}", key)
    return content, header, frame


_WORDS = {
    KEY: ("counts", "whole counts", "count again"),
    TALLY_KEY: ("a tally", "a whole tally", "make it again"),
}


def damaged(name: str, problem: str, key: str = KEY) -> DataError:
    """What is said of a file of counts, or of a tally, that does not hold what it must."""
    _, whole, again = _WORDS[key]
    return DataError(f"{name}: does not hold {whole} ({problem}); copy it or {again}")


def check_out(path: str | os.PathLike[str], *, key: str = KEY) -> Path:
    """The file to write counts to, if it may be written: a new one, or one with counts in it.

    Or with what another key says.
    """
    text = os.fsdecode(path)
    out, named = Path(text), f"--out {text}"
    what = _WORDS[key][0].removeprefix("a ")
    try:
        if text and out.exists():
            if out.is_dir():
                msg = f"--out {text}: is a folder; name a file, as in day1.counts"
                raise ConfigError(msg)
            if not holds_counts(out, key):
                msg = f"--out {text}: is there and holds no {what}; name a new file"
                raise ConfigError(msg)
        if text and out.parent.is_dir() and os.access(out.parent, os.W_OK | os.X_OK):
            return out
    except (OSError, ValueError) as error:
        raise write_error(named, error) from error
    reason = f"{out.parent} is not a folder that can be written" if text else "names no file"
    raise write_error(named, PermissionError(reason))


def check_both(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """The files to write counts and their tally to, of one name, if they may be written."""
    out = check_out(path)
    beside = out.with_suffix(".tally")
    if beside == out:
        msg = f"--out {out}: is the name of the tally beside it; give another, as in day1.counts"
        raise ConfigError(msg)
    return out, check_out(beside, key=TALLY_KEY)


def write_file(
    path: str | os.PathLike[str], data: bytes, tally: Callable[[Path], None] | None = None
) -> None:
    """Write all of a file of counts, and of the tally beside it if there is one, or nothing."""
    out, beside = (check_out(path), None) if tally is None else check_both(path)
    with explain_write_errors(f"--out {out}"), atomic_file(out) as aside:
        aside.write_bytes(data)
        if tally is not None and beside is not None:
            tally(beside)


def write_over(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of a file or nothing, in place of what is there.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    with explain_write_errors(str(path)), atomic_file(path) as aside:
        aside.write_bytes(data)


def write_tally(
    path: str | os.PathLike[str], columns: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write all of a tally or nothing, in place of what is there; `header` says what it is of.

    Raises
    ------
    ConfigError
        If the file cannot be written.
    """
    made = pl.DataFrame(
        [pl.Series(name, columns[name], kind) for name, kind in _TALLY_KINDS.items()]
    )
    whole = {**header, TALLY_KEY: VERSION, "sha256": _UNSEALED}
    start, unsealed, end = _parquet(made, {TALLY_KEY: _json(whole)}).rpartition(_UNSEALED.encode())
    seal = hashlib.sha256(start + unsealed + end).hexdigest().encode()
    write_over(path, start + seal + end)
