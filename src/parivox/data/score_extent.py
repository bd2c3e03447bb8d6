"""How many rows a file of scores has, and how far its scores reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.data.attributes import column_names
from parivox.data.columns import RequestedColumns
from parivox.data.formats import scan
from parivox.data.trial_values import scores
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.data.attributes import Attribute
    from parivox.data.source_bytes import FileRows


class ScoreFileExtent(NamedTuple):
    """Of a file of scores."""

    columns: frozenset[str]  # those that have a role
    n_rows: int
    lowest_score: float  # of finite scores
    highest_score: float
    sha256: str  # of its bytes


def score_file_extent(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    attributes: Iterable[Attribute] = (),
    format: str | None = None,  # noqa: A002 - the option's name
    orientation: str | None = None,
) -> ScoreFileExtent:
    """Read the rows and scores of a file, of which columns may contain attributes.

    Raises
    ------
    DataError
        If it cannot be read, or contains no row.
    """
    requested = RequestedColumns(dict(columns or {}), attributes=column_names(attributes))
    scanned = scan(source, columns=requested, format=format, name="scores")
    rows, low, high = 0, np.inf, -np.inf
    for chunk in scanned.chunks():
        rows += len(chunk)
        if "score" in chunk.columns:
            chunk_scores = scores(chunk, scanned)
            finite = chunk_scores[np.isfinite(chunk_scores)]
            low, high = min(low, finite.min(initial=np.inf)), max(high, finite.max(initial=-np.inf))
    if not rows:
        msg = f"{scanned.name}: contains no trials"
        hint = "give a file with one trial per row"
        raise DataError(msg, hint)
    if low > high:
        low = high = 0.0
    if orientation == "distance":
        low, high = -high, -low
    assert scanned.content is not None
    roles, sha256 = frozenset(scanned.columns), scanned.content.sha256
    return ScoreFileExtent(roles, rows, float(low), float(high), sha256)


class TrialLocation(NamedTuple):
    """Where a trial stands."""

    path: str  # its path
    row: int  # as an editor shows it
    shard: int  # counted from 1


def pair_in_two_shards(
    shards: Sequence[Sequence[FileRows]],
    *,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
) -> tuple[str, TrialLocation, TrialLocation] | None:
    """The first pair of recordings that has a score or decision in two parts, and where.

    None if there is none.
    """
    requested = RequestedColumns(dict(columns or {}))
    tables = []
    shard_by_file_row: dict[str, dict[int, int]] = {}
    for number, shard in enumerate(shards, 1):
        for file_rows in shard:
            shard_by_file_row.setdefault(file_rows.path, {})[file_rows.first] = number
    for path, shard_of_row in shard_by_file_row.items():
        first_rows, n_seen = np.array(sorted(shard_of_row)), 0
        shard_numbers = np.array([shard_of_row[row] for row in sorted(shard_of_row)])
        for chunk in scan(path, columns=requested, format=format, name="scores").chunks():
            outcome_columns = [shard for shard in ("score", "decision") if shard in chunk.columns]
            position = (
                np.searchsorted(
                    first_rows, np.arange(n_seen, n_seen := n_seen + len(chunk)), "right"
                )
                - 1
            )
            sides = {
                shard: chunk[shard].cast(pl.String).str.strip_chars() for shard in ("enrol", "test")
            }
            rows = {"row": pl.Series(chunk.rows, dtype=pl.Int64), "part": shard_numbers[position]}
            table = pl.DataFrame({**sides, "file": [path] * len(chunk), **rows})
            has_outcome = [
                chunk[shard].cast(pl.String).str.strip_chars() != "" for shard in outcome_columns
            ]
            tables.append(table.filter(pl.any_horizontal(False, *has_outcome)))
    table = pl.concat(tables).drop_nulls()
    repeated = table.filter(pl.col("part").n_unique().over("enrol", "test") > 1)
    if not repeated.height:
        return None
    enrol, test, *first_location = repeated.row(0)
    same_pair = repeated.filter((pl.col("enrol") == enrol) & (pl.col("test") == test))
    second_location = same_pair.filter(pl.col("part") != first_location[-1]).row(0)
    return f"({enrol}, {test})", TrialLocation(*first_location), TrialLocation(*second_location[2:])
