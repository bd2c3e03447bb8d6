"""Decisions of a log by day, as they are read: one day may be wrong although all others are right.

A log gives the day in a column of its own, which an audit need not group by. Its decisions are
counted while the rows are read; whether those of a day contradict the labels is for the audit to
say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.core.counts import SPOOF, TARGET
from parivox.data.columns import ATTRIBUTE_PREFIX, plain_name
from parivox.data.trial_values import labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk, Scan

_DAY_NAMES = frozenset(
    ("day", "date", "time", "datetime", "timestamp", "calldate", "calltime", "created", "createdat")
)
"""Names of a column with the time of a call, as `parivox.data.columns.plain_name` spells them."""
_MAX_DAYS = 10_000
_DATE_LENGTH = 10  # of a date such as 2026-11-22, which a time may follow


def day_columns(scan: Scan) -> tuple[str, ...]:
    """Return the column that gives the day of each decision, if one column does."""
    if "decision" not in scan.columns:
        return ()
    day_names = tuple(name for name in scan.ignored if plain_name(name) in _DAY_NAMES)
    return day_names if len(day_names) == 1 else ()


class DecisionsByDay:
    """Accepted and rejected trials of each class and day.

    Parameters
    ----------
    columns
        Column that gives the day, if any; see `day_columns`.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._roles = [ATTRIBUTE_PREFIX + name for name in columns]
        self._counts: dict[str, NDArray[np.int64]] = {}

    def add(self, chunk: Chunk, accepted: NDArray[np.int8]) -> None:
        """Count the rows of a chunk whose label or whose speakers tell their class.

        `accepted` is 1 for accepted and 0 for rejected trials, -1 where that is unknown.
        """
        is_target = _is_target(chunk)
        for role in self._roles:
            if is_target is None or role not in chunk.columns or len(self._counts) > _MAX_DAYS:
                continue
            day = chunk[role].cast(pl.String).str.strip_chars().str.slice(0, _DATE_LENGTH)
            rows = pl.DataFrame({"day": day, "target": is_target, "accepted": accepted})
            is_known = pl.col("day").is_not_null() & pl.col("target").is_not_null()
            decided_rows = rows.filter((pl.col("accepted") >= 0) & is_known)
            counts = decided_rows.group_by("day", "target", "accepted").len()
            for name, target, decision, count in counts.iter_rows():
                day_counts = self._counts.setdefault(name, np.zeros((2, 2), dtype=np.int64))
                day_counts[int(target), decision] += count

    def counts(self) -> dict[str, NDArray[np.int64]]:
        """Return trials of each day, ``[nontarget or target, rejected or accepted]``."""
        return dict(sorted(self._counts.items()))


def _is_target(chunk: Chunk) -> pl.Series | None:
    """Return whether each row is a target trial, null for spoof; None where only ids tell."""
    if "label" in chunk.columns:
        codes = pl.Series(labels(chunk))
        return pl.select(pl.when(codes != SPOOF).then(codes == TARGET)).to_series()
    if {"enrol_speaker", "test_speaker"} <= chunk.columns.keys():
        sides = (chunk[f"{side}_speaker"].cast(pl.String) for side in ("enrol", "test"))
        enrol, test = (side.str.strip_chars() for side in sides)
        return (enrol == test).fill_null(value=False)
    return None
