"""How many rows a file of scores has, and how far its scores reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.errors import DataError
from parivox.read.cells import scores
from parivox.read.columns import Columns
from parivox.read.formats import scan

if TYPE_CHECKING:
    from collections.abc import Mapping


class Extent(NamedTuple):
    """Of a file of scores."""

    rows: int
    low: float  # of finite scores
    high: float
    sha256: str  # of its bytes


def extent_of(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    orientation: str | None = None,
) -> Extent:
    """Read the rows and scores of a file.

    Raises
    ------
    DataError
        If it cannot be read, or holds no row.
    """
    scanned = scan(source, columns=Columns(dict(columns or {})), format=format, name="scores")
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
    return Extent(rows, float(low), float(high), scanned.content.sha256)
