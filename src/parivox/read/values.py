"""Values of attributes that stand in the rows of trials: numbered as they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.attributes import UNKNOWN, number
from parivox.read.columns import ATTRIBUTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.read.attributes import Attribute
    from parivox.read.formats.format import Scan

__all__ = ["MOST", "Levels", "Values", "columns_of", "in_order", "sides_of", "whole_of"]

MOST = 10_000
"""An attribute of trials with more values is no grouping; its numbers may be put in bands."""


class Values:
    """One attribute's values in the rows of trials, of both sides if each has its own column.

    Parameters
    ----------
    attribute
        What the user asked for; its bands, if any, are made while reading.
    """

    def __init__(self, attribute: Attribute) -> None:
        self.attribute, self.bands = attribute, attribute.bands
        self.whole = True
        self._type = pl.Categorical(pl.Categories.random())
        self._kept = pl.Series([], dtype=self._type)  # the engine forgets what no column uses
        self._code: list[int] = []
        self._place: dict[str, int] = {}

    def codes(self, column: pl.Series, role: str, scan: Scan) -> NDArray[np.int32]:
        """Code of each cell, -1 where it is unknown."""
        text = column if column.dtype == pl.String else column.cast(pl.String)
        physical = text.cast(self._type).to_physical()
        codes = physical.cast(pl.Int64).fill_null(-1).to_numpy()
        top = int(codes.max(initial=-1)) + 1
        if top > len(self._code):
            self._learn(codes, text, top, role, scan)
        return np.take(np.array([*self._code, -1], dtype=np.int32), codes)

    def _learn(
        self, codes: NDArray[np.int64], text: pl.Series, top: int, role: str, scan: Scan
    ) -> None:
        """Number the texts that the engine numbered anew."""
        fresh = np.flatnonzero(codes >= len(self._code))[::-1]
        seen = np.full(top - len(self._code), -1, dtype=np.int64)
        seen[codes[fresh] - len(self._code)] = fresh
        texts = ["" if at < 0 else str(text[at] or "").strip() for at in seen.tolist()]
        if self.bands is not None:
            cells = [None if cell.lower() in UNKNOWN else cell for cell in texts]
            numbers = self.bands.numbers(cells, self.attribute.text, scan.name)
            self.whole &= bool((numbers[~np.isnan(numbers)] % 1 == 0).all())
            self._code += self.bands.of(numbers).tolist()
            return
        for cell in texts:
            unknown = cell.lower() in UNKNOWN
            self._code.append(-1 if unknown else self._place.setdefault(cell, len(self._place)))
        if len(self._place) > MOST:
            name = self.attribute.name
            msg = (
                f"{scan.name}: column {scan.columns[role]!r} has more than {MOST:,} values, so no "
                f"trials can be grouped by it; if they are numbers, give bands, as in {name}:1,30"
            )
            raise DataError(msg)

    def finish(self) -> tuple[Levels, NDArray[np.int32]]:
        """The values in order, and the place of each code among them; last, of -1."""
        if self.bands is not None:
            n = len(self.bands.edges) + 1
            return Levels(None, whole=self.whole), np.array([*range(n), -1], dtype=np.int32)
        values = in_order(self._place)
        place = {value: i for i, value in enumerate(values)}
        ranks = [place[value] for value in self._place]
        return Levels(tuple(values), whole=True), np.array([*ranks, -1], dtype=np.int32)


def columns_of(attributes: Sequence[Attribute], scan: Scan) -> Iterator[tuple[str, str, Attribute]]:
    """Key of ``Trials.more``, role of the column and attribute, of each that stands in a file."""
    told = set()
    for attribute in attributes:
        ends = "" if attribute.bands is None else ":" + ",".join(attribute.bands.ends)
        for name in (attribute.own, attribute.name):
            for side in ("", "enrol.", "test."):
                role = f"{ATTRIBUTE}{side}{name}"
                if role in scan.columns and role + ends not in told:
                    told.add(role + ends)
                    yield role + ends, role, attribute


def sides_of(key: str) -> list[str]:
    """Keys of an attribute's columns: of the whole trial, of its enrolment, of its test side."""
    return [ATTRIBUTE + side + key.removeprefix(ATTRIBUTE) for side in ("", "enrol.", "test.")]


def whole_of(key: str) -> str:
    """The key of the whole trial for that of either side.

    Examples
    --------
    >>> whole_of("@enrol.sex"), whole_of("@device")
    ('@sex', '@device')
    """
    for side in ("enrol.", "test."):
        if key.startswith(ATTRIBUTE + side):
            return ATTRIBUTE + key.removeprefix(ATTRIBUTE + side)
    return key


class Levels:
    """Values of an attribute in order, or None where they are bands.

    ``whole`` tells whether each number in the bands was a whole one.
    """

    def __init__(self, values: tuple[str, ...] | None, *, whole: bool) -> None:
        self.values, self.whole = values, whole


def in_order(values: Sequence[str] | dict[str, int] | set[str]) -> list[str]:
    """Values in rising order: as numbers if all of them are, else as text."""
    rising = sorted(values)
    numbers = {value: number(value) for value in rising}
    if all(one == one for one in numbers.values()):  # noqa: PLR0124 - NaN is not itself
        rising.sort(key=lambda value: numbers[value])
    return rising
