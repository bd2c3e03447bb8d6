"""Score counts as rows in memory, and their sum.

A row says how many trials have the same groups on both sides, class, score (or lower edge of its
bin), decision, threshold and failure. What trials took is summed up over all of the same groups and
stands in one of their rows, lest it tell single trials. Rows of disjoint trials add up: any rows
with the same keys may stand for their sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from parivox.core.cluster_errors import CodeSums, collapse_constant, needs_adding_up, sum_by_code
from parivox.core.counts import EdgeSearch, ScoreGrid
from parivox.data.counts_file import (
    COLUMN_DTYPES,
    MAX_TRIALS,
    NULLABLE_COLUMNS,
    SCORE_COUNTS,
    SIDE_COLUMNS,
    SUM_COLUMNS,
    damaged_file_error,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray

    Numbered: TypeAlias = tuple[FloatArray, NDArray[np.int32]]

_COLUMN_DTYPES = COLUMN_DTYPES[SCORE_COUNTS]
_CELL_COLUMNS = ("layout", "stratum", *SIDE_COLUMNS)
_PRESENCE_FLAGS = ("has score", "has threshold")
_RUN_COLUMNS = (
    *(name for name in _COLUMN_DTYPES if name not in {*NULLABLE_COLUMNS, *SUM_COLUMNS}),
    *_PRESENCE_FLAGS,
)
"""What tells runs of rows apart, in the order of the rows."""
_CHUNK_ROWS = 1 << 16
"""Rows, so that all that is made of them stays near the processor."""
_MAX_CODE_BITS = 62
"""Of a number that tells rows apart."""


class CountRows:
    """Rows of counts, by the name of the column as in ``_COLUMN_DTYPES``.

    They tell layout, stratum, groups and class of the trials, how they failed, their score or the
    lower edge of its bin, decision and threshold; how many they are, the sum of what they took, and
    of how many that is. NaN stands for no score and no threshold, -1 for no group, stratum or
    decision.
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        numbered: Mapping[str, Numbered] | None = None,
    ) -> None:
        self.columns = {name: columns[name] for name in _COLUMN_DTYPES}
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
        return int(self.columns["trials"].size)


NO_ROWS = CountRows({name: np.empty(0, dtype=dtype) for name, dtype in _COLUMN_DTYPES.items()})
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
        for name, flag in zip(NULLABLE_COLUMNS, _PRESENCE_FLAGS, strict=True):
            columns[flag] = np.broadcast_to(~np.isnan(collapse_constant(columns[name])), len(rows))
        is_first = np.ones(len(rows), dtype=np.bool_)
        is_first[1:] = False
        for name in _RUN_COLUMNS:
            if columns[name].strides != (0,):
                is_first[1:] |= columns[name][1:] != columns[name][:-1]
        starts = np.flatnonzero(is_first)
        self.runs = pl.DataFrame({name: columns[name].take(starts) for name in _RUN_COLUMNS})
        self.lengths = np.diff(starts, append=len(rows))
        self.numbered = {name: rows.distinct_numbers(name) for name in NULLABLE_COLUMNS}
        self.sums = {name: columns[name] for name in SUM_COLUMNS}

    def __len__(self) -> int:
        return int(self.sums["trials"].size)


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
    for name in NULLABLE_COLUMNS:
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
        for name in SUM_COLUMNS
        if any(collapse_constant(table.sums[name]).any() for table in tables)
    ]
    combinations, sums = _summed_by_code(
        codes, 1 << width, [[table.sums[name] for name in names] for table in tables]
    )
    n_rows = combinations.size
    columns = dict.fromkeys(SUM_COLUMNS, np.broadcast_to(np.int64(0), n_rows)) | dict(
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
    for name, flag in zip(NULLABLE_COLUMNS, _PRESENCE_FLAGS, strict=True):
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


def check_rows(rows: CountRows, name: str) -> None:
    """Refuse numbers that no counts of trials have.

    Raises
    ------
    DataError
        If there are any, naming the file.
    """
    columns = rows.columns
    is_failed = collapse_constant(columns["failed"]) != 0
    conditions = {
        "a score that is not a number": (
            np.isnan(collapse_constant(columns["score"])) == is_failed
        ).all(),
        "a failure of no known kind": lies_between(columns["failed"], 0, 2),
        "a decision of no known kind": lies_between(columns["accepted"], -1, 1),
        "a count below 1": lies_between(columns["trials"], 1, MAX_TRIALS),
        "impossible times": all(
            lies_between(columns[sum_name], 0, MAX_TRIALS) for sum_name in SUM_COLUMNS
        )
        and (lies_between(columns["timed"], 0, 0) or _are_timed_once(columns)),
    }
    for problem, is_good in conditions.items():
        if not is_good:
            raise damaged_file_error(name, f"it holds {problem}", SCORE_COUNTS)
    if any(columns[sum_name].sum(dtype=np.float64) > MAX_TRIALS for sum_name in SUM_COLUMNS):
        raise damaged_file_error(name, "its counts are too large", SCORE_COUNTS)


def lies_between(column: NDArray[Any], low: float, high: float) -> bool:
    """Whether all cells are at least `low` and at most `high`."""
    distinct = collapse_constant(column)
    return bool(not distinct.size or (low <= distinct.min() and distinct.max() <= high))


def _are_timed_once(columns: Mapping[str, NDArray[Any]]) -> bool:
    """Whether no more trials of the same groups are timed than there are."""
    cells = pl.DataFrame({name: columns[name] for name in (*_CELL_COLUMNS, "trials", "timed")})
    sums = cells.group_by(_CELL_COLUMNS).sum()
    return bool((sums["timed"] <= sums["trials"]).all())
