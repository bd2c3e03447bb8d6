"""Sides of telephone calls, of which NIST's models and segments are.

The side is the channel of a call that a segment is taken from. The segment on side a has the id
of the segment; that on side b has it with ``:b`` behind, as NIST writes it elsewhere. Any file
with columns of models, segments and sides, whatever its format, is read like this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from parivox.errors import DataError
from parivox.read.columns import plain
from parivox.read.formats.format import FORMATS
from parivox.read.formats.sample import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.read.columns import Columns
    from parivox.read.formats.format import Rows, Scan


def with_sides(scanned: Scan, asked: Columns) -> Scan:
    """The same trials, their segments told apart by their sides if there is a column of sides.

    A column called side is one where models and segments stand beside it, or where the user
    names it; else it has no role.
    """
    if "side" not in scanned.columns:
        return scanned
    if "side" not in asked.by_role and not _of_segments(scanned):
        roles = {role: name for role, name in scanned.columns.items() if role != "side"}
        return replace(
            scanned,
            columns=roles,
            ignored=(*scanned.ignored, scanned.columns["side"]),
            chunks=lambda: ((rows, chunk.drop("side")) for rows, chunk in scanned.chunks()),
        )

    def chunks() -> Iterator[tuple[Rows, pl.DataFrame]]:
        for rows, chunk in scanned.chunks():
            yield rows, _joined(chunk, rows, scanned)

    return replace(scanned, chunks=chunks)


def _of_segments(scanned: Scan) -> bool:
    """Whether the ids are those of models and segments, by name or by the format."""
    known = FORMATS.get(scanned.format)
    return (known is not None and "side" in known.places) or are_segments(
        *(scanned.columns.get(role, "") for role in ("enrol", "test"))
    )


def are_segments(model: str, segment: str) -> bool:
    """Whether columns of these names hold models and segments, beside which sides may stand.

    Examples
    --------
    >>> are_segments("modelid", "segmentid"), are_segments("model", "recording")
    (True, False)
    """
    return plain(model).startswith("model") and plain(segment).startswith("segment")


def on_side(segment: pl.Series, side: pl.Series) -> pl.Series:
    """Ids of segments on their sides; null where there is no such side.

    Examples
    --------
    >>> on_side(pl.Series(["x", "x", "x"]), pl.Series(["a", "B ", "c"])).to_list()
    ['x', 'x:b', None]
    """
    bare = side.str.strip_chars().str.to_lowercase()
    return pl.select(
        pl.when(bare == "b").then(segment + ":b").when(bare == "a").then(segment)
    ).to_series()


def _joined(chunk: pl.DataFrame, rows: Rows, scanned: Scan) -> pl.DataFrame:
    """The chunk without its sides, which are now in the ids of its segments."""
    if "test" not in chunk.columns:
        return chunk.drop("side")
    text = chunk.with_columns(pl.col("test", "side").cast(pl.String))
    raw = text["side"]
    side = raw.str.strip_chars().str.to_lowercase()
    odd = ~side.is_in(SIDES).fill_null(value=False) & text["test"].is_not_null()
    if odd.any():
        at = int(odd.arg_max() or 0)
        problem = f"{raw[at]!r} is no side of a segment" if side[at] else "is empty"
        msg = f"{scanned.at(int(rows[at]), 'side')}: {problem}; correct it, sides are a and b"
        raise DataError(msg)
    segment = text["test"].str.strip_chars()
    on_b = (side == "b") & (segment != "")
    lost = segment.is_null() & side.is_not_null()  # so the row is not blank, but short of an id
    test = pl.when(on_b).then(segment + ":b").when(lost).then(pl.lit("")).otherwise(text["test"])
    return text.drop("side").with_columns(test=test)
