"""Score counts as rows in memory, and their sum.

A row says how many trials have the same groups on both sides, class, score (or lower edge of its
bin), decision, threshold and failure. What trials took is summed up over all of the same groups and
stands in one of their rows, lest it tell single trials. Rows of disjoint trials add up: any rows
with the same keys may represent their sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from parivox.core.counts import SPOOF, EdgeSearch, ScoreGrid
from parivox.core.key_sums import collapse_constant, needs_adding_up, sum_rows
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
"""What tells rows apart before scores and thresholds do, in the order of the rows."""


class CountRows:
    """Rows of counts, by the name of the column as in ``_COLUMN_DTYPES``.

    They tell layout, stratum, groups and class of the trials, how they failed, their score or the
    lower edge of its bin, decision and threshold; how many they are, the sum of what they took, and
    of how many that is. NaN means no score and no threshold, -1 no group, stratum or
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
        waiting: list[CountRows] = []
        for rows in row_parts:
            waiting.append(rows)
            if needs_adding_up([*map(len, waiting)]):
                waiting = [_sum_of(waiting)]
        return _sum_of(waiting)

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


def _sum_of(tables: Sequence[CountRows]) -> CountRows:
    """The sum of tables: each combination once, scores and thresholds rising within the others."""
    tables = [table for table in tables if len(table)]
    if not tables:
        return NO_ROWS
    coded_tables: list[dict[str, NDArray[Any]]] = [dict(table.columns) for table in tables]
    distinct_numbers: dict[str, FloatArray] = {}
    for name, flag in zip(NULLABLE_COLUMNS, _PRESENCE_FLAGS, strict=True):
        numbered = [table.distinct_numbers(name) for table in tables]
        distinct = np.unique(np.concatenate([numbers for numbers, _ in numbered]))
        distinct_numbers[name] = np.append(np.nan, distinct)
        for columns, (numbers, positions) in zip(coded_tables, numbered, strict=True):
            # the last code, 0, is that of empty cells, whose position is -1
            codes = np.append(np.searchsorted(distinct, numbers) + 1, 0).astype(np.int32)
            n_rows = columns[name].size
            columns[name] = _to_length(codes.take(positions), n_rows)
            columns[flag] = _to_length((positions >= 0).astype(np.int8), n_rows)
    total = sum_rows(coded_tables, [*_RUN_COLUMNS, *NULLABLE_COLUMNS])
    for name in NULLABLE_COLUMNS:
        codes = total[name]
        numbers = distinct_numbers[name].take(collapse_constant(codes))
        total[name] = _to_length(numbers, codes.size)
    return CountRows(total)


def _to_length(cells: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """A column of so many rows, of which a single cell represents all."""
    return np.broadcast_to(cells, n_rows) if cells.size == 1 else cells


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
        "trials of no known class": lies_between(columns["trial_class"], 0, SPOOF),
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
            raise damaged_file_error(name, f"it contains {problem}", SCORE_COUNTS)
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
