"""How many rows a file of scores has, and how far its scores reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.data.attributes import names_of
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


def extent_of(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    attributes: Iterable[Attribute] = (),
    format: str | None = None,  # noqa: A002 - the option's name
    orientation: str | None = None,
) -> ScoreFileExtent:
    """Read the rows and scores of a file, of which columns may hold attributes.

    Raises
    ------
    DataError
        If it cannot be read, or holds no row.
    """
    asked = RequestedColumns(dict(columns or {}), attributes=names_of(attributes))
    scanned = scan(source, columns=asked, format=format, name="scores")
    rows, low, high = 0, np.inf, -np.inf
    for chunk in scanned.chunks():
        rows += len(chunk)
        if "score" in chunk.columns:
            found = scores(chunk, scanned)
            finite = found[np.isfinite(found)]
            low, high = min(low, finite.min(initial=np.inf)), max(high, finite.max(initial=-np.inf))
    if not rows:
        msg = f"{scanned.name}: holds no trial; give a file with one trial a row"
        raise DataError(msg)
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


def pair_in_two_parts(
    parts: Sequence[FileRows],
    *,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
) -> tuple[str, TrialLocation, TrialLocation] | None:
    """The first pair of recordings that has a score or decision in two parts, and where.

    None if there is none.
    """
    asked = RequestedColumns(dict(columns or {}))
    found = []
    for path in dict.fromkeys(one.path for one in parts):
        own = {one.first: i for i, one in enumerate(parts, 1) if one.path == path}
        first, seen = np.array(sorted(own)), 0
        number = np.array([own[row] for row in sorted(own)])
        for chunk in scan(path, columns=asked, format=format, name="scores").chunks():
            told = [one for one in ("score", "decision") if one in chunk.columns]
            at = np.searchsorted(first, np.arange(seen, seen := seen + len(chunk)), "right") - 1
            sides = {one: chunk[one].cast(pl.String).str.strip_chars() for one in ("enrol", "test")}
            rows = {"row": pl.Series(chunk.rows, dtype=pl.Int64), "part": number[at]}
            table = pl.DataFrame({**sides, "file": [path] * len(chunk), **rows})
            is_told = [chunk[one].cast(pl.String).str.strip_chars() != "" for one in told]
            found.append(table.filter(pl.any_horizontal(False, *is_told)))
    table = pl.concat(found).drop_nulls()
    again = table.filter(pl.col("part").n_unique().over("enrol", "test") > 1)
    if not again.height:
        return None
    enrol, test, *place = again.row(0)
    same = again.filter((pl.col("enrol") == enrol) & (pl.col("test") == test))
    other = same.filter(pl.col("part") != place[-1]).row(0)
    return f"({enrol}, {test})", TrialLocation(*place), TrialLocation(*other[2:])
