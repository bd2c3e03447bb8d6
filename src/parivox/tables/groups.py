"""Groups of speakers: values of an attribute, bands of a number, and combinations of them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.tables.speakers import Speakers

__all__ = ["Grouping", "make_groupings"]

MOST_VALUES = 50
"""An attribute with more values than this is not grouped by unless it is named."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """A way to group speakers.

    Attributes
    ----------
    name : str
        Attribute names as the table spells them, joined by ``+``.
    groups : tuple of str
        Values joined by ``+``; only groups that have speakers in use.
    of_speaker : int32 ndarray of shape (speaker,)
        Group of each speaker; -1 where it is unknown or not in use.
    absent : tuple of str
        Groups of the speaker table that have no speaker in use.
    """

    name: str
    groups: tuple[str, ...]
    of_speaker: NDArray[np.int32]
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Part:
    """One attribute of a grouping: its values in order and each speaker's place among them."""

    name: str
    values: list[str]
    place: NDArray[np.int32]


def make_groupings(
    speakers: Speakers, by: Sequence[str] | None, *, speakers_in_use: NDArray[np.intp]
) -> list[Grouping]:
    """Group the speakers.

    Parameters
    ----------
    speakers
        All speakers of the table.
    by
        ``gender``, ``gender+nationality``, ``age:18,30,60``; None for every attribute with 2 to
        50 values among the speakers in use.
    speakers_in_use
        Places of the speakers that take part in trials.

    Raises
    ------
    ConfigError
        If there is no such attribute, or nothing to group by.
    DataError
        If a value to be cut into bands is not a number.
    """
    used = np.zeros(len(speakers.ids), dtype=bool)
    used[speakers_in_use] = True
    texts = _by_itself(speakers, used) if by is None else by
    groupings = [_grouping(speakers, text, used) for text in texts]
    names = [grouping.name for grouping in groupings]
    for name in names:
        if names.count(name) > 1:
            msg = f"--by {name} is named twice; name each grouping once"
            raise ConfigError(msg)
        if name == "all":
            msg = "--by all: 'all' names the row of every trial; rename that attribute"
            raise ConfigError(msg)
    return groupings


def _by_itself(speakers: Speakers, used: NDArray[np.bool_]) -> list[str]:
    """Attributes with 2 to 50 values; one value a speaker is a name, not an attribute."""
    frame = speakers.attributes.filter(pl.Series(used))
    chosen = []
    for column in frame.columns:
        n = frame[column].drop_nulls().n_unique()
        if 2 <= n <= MOST_VALUES and (n < frame.height or n == 2):
            chosen.append(column)
    if not chosen:
        msg = (
            f"{speakers.name}: no attribute has 2 to {MOST_VALUES} values among the speakers of these "
            f"trials; say what to group by with --by (columns: {', '.join(frame.columns) or 'none'})"
        )
        raise ConfigError(msg)
    return chosen


def _grouping(speakers: Speakers, text: str, used: NDArray[np.bool_]) -> Grouping:
    parts = [_part(speakers, word.strip(), text) for word in _words(speakers, text)]
    sizes = [len(part.values) for part in parts]
    code = np.zeros(used.size, dtype=np.int64)
    known = np.ones(used.size, dtype=bool)
    for part, size in zip(parts, sizes, strict=True):
        code = code * size + part.place
        known &= part.place >= 0
    names = ["+".join(values) for values in product(*(part.values for part in parts))]
    code[~known] = -1
    present = np.unique(code[known & used])
    of_code = np.full(len(names) + 1, -1, dtype=np.int32)
    of_code[present] = np.arange(present.size)
    of_speaker = np.where(used, of_code[code], np.int32(-1)).astype(np.int32)
    absent = [names[i] for i in np.unique(code[known]) if of_code[i] < 0]
    groups = tuple(names[i] for i in present)
    if "pooled" in groups:
        msg = f"--by {text}: a group is called 'pooled', which names the row of all groups; rename it"
        raise ConfigError(msg)
    if not groups:
        msg = f"--by {text}: no speaker of these trials has a known value; group by something else"
        raise DataError(msg)
    return Grouping("+".join(part.name for part in parts), groups, of_speaker, tuple(absent))


def _words(speakers: Speakers, text: str) -> list[str]:
    """Parts of a combination; a column's own name may hold a plus sign."""
    if text.lower() in (column.lower() for column in speakers.attributes.columns):
        return [text]
    return text.split("+")


def _part(speakers: Speakers, word: str, text: str) -> _Part:
    columns = speakers.attributes.columns
    column, edges = _column(columns, word), None
    if column is None and ":" in word:
        name, _, cut = word.rpartition(":")
        column, edges = _column(columns, name.strip()), _edges(cut, text)
    if column is None:
        near = get_close_matches(word.lower(), [c.lower() for c in columns], n=3, cutoff=0.4)
        nearest = [c for c in columns if c.lower() in near] or columns
        msg = (
            f"--by {text}: {speakers.name} has no attribute {word!r}; nearest: {', '.join(nearest)}"
        )
        raise ConfigError(msg)
    cells = speakers.attributes[column]
    if edges is not None:
        return _bands(speakers, column, edges, word)
    values = cells.drop_nulls().unique().sort().to_list()
    return _Part(column, values, _places(cells, values))


def _column(columns: Sequence[str], word: str) -> str | None:
    return next(
        (c for c in columns if c == word),
        next((c for c in columns if c.lower() == word.lower()), None),
    )


def _places(cells: pl.Series, values: list[str]) -> NDArray[np.int32]:
    place = cells.cast(pl.Enum(values)).to_physical().cast(pl.Int32).fill_null(-1)
    return place.to_numpy().astype(np.int32)


def _edges(cut: str, text: str) -> list[float]:
    try:
        edges = [float(edge) for edge in cut.split(",")]
    except ValueError:
        edges = []
    if not edges or any(not low < high for low, high in zip(edges, edges[1:], strict=False)):
        msg = f"--by {text}: {cut!r} are not rising numbers to cut at, as in age:18,30,60"
        raise ConfigError(msg)
    return edges


def _bands(speakers: Speakers, column: str, edges: list[float], word: str) -> _Part:
    """Cut a numeric attribute into bands; the lower edge belongs to the band."""
    cells = speakers.attributes[column]
    numbers = cells.cast(pl.Float64, strict=False)
    odd = (numbers.is_null() | numbers.is_nan()) & cells.is_not_null()
    if odd.any():
        at = int(odd.arg_max() or 0)
        msg = (
            f"{speakers.name}, row {speakers.rows[at]}, column {column}: {cells[at]!r} is not a number, "
            f"so it cannot be cut into bands; mend it, or group by {column} alone"
        )
        raise DataError(msg)
    whole = all(edge.is_integer() for edge in edges) and (numbers.drop_nulls() % 1 == 0).all()
    low = [f"{edge:g}" for edge in edges]
    if whole:
        between = [f"{a}-{int(b) - 1}" if int(b) - 1 > float(a) else a for a, b in zip(low, edges[1:], strict=False)]
    else:
        between = [f"{a}-<{b}" for a, b in zip(low, low[1:], strict=False)]
    values = [f"<{low[0]}", *between, f"{low[-1]}+"]
    place = np.searchsorted(edges, numbers.fill_null(0).to_numpy(), side="right").astype(np.int32)
    place[numbers.is_null().to_numpy()] = -1
    return _Part(f"{column}:{word.rpartition(':')[2]}", values, place)
