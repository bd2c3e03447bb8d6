"""Groups of speakers: values of one attribute, bands of a numeric one, or combinations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.tables.speakers import Speakers

__all__ = ["FEW", "MANY", "Grouping", "make_groupings"]

POOLED = "pooled"
FEW, MANY = 2, 50
"""Without a choice, attributes with so many values are grouped by."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Disjoint groups of speakers.

    Attributes
    ----------
    name : str
        Attributes as the user writes them, joined by ``+``; bands as in ``age:18,30``.
    groups : tuple of str
        Values joined by ``+``; texts sorted, numbers and bands rising. Only groups that occur.
    of_speaker : integer ndarray of shape (speaker,)
        Index into `groups`, -1 where it is unknown or no group.
    unused : tuple of str
        Groups of the speaker table that no speaker in use belongs to.
    """

    name: str
    groups: tuple[str, ...]
    of_speaker: NDArray[np.int32]
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Values:
    """One attribute: its values in order, and that of every speaker (-1 for unknown)."""

    name: str
    values: list[str]
    of_speaker: NDArray[np.int64]


def make_groupings(
    speakers: Speakers, by: Sequence[str] | None, *, speakers_in_use: ArrayLike
) -> list[Grouping]:
    """Group speakers.

    Parameters
    ----------
    speakers
        Who they are.
    by
        Groupings as in ``gender``, ``gender+nationality``, ``age:18,30,60`` (a band holds its
        lower edge) or ``gender+age:18``; None for every attribute with 2 to 50 values among the
        speakers in use. Of more than 2 speakers, an attribute that differs for each of them, as
        names and ids do, is then no grouping: its groups would be persons.
    speakers_in_use : array_like of int
        Indices of the speakers that any trial has; only their groups are kept.

    Raises
    ------
    ConfigError
        If an attribute is not known, or bands are asked for something that is not a number.

    Examples
    --------
    >>> from parivox.tables.speakers import read_speakers
    >>> speakers = read_speakers(
    ...     {"id": ["a", "b", "c"], "sex": ["f", "m", "f"], "age": [17, 18, 64]}
    ... )
    >>> [
    ...     g.groups
    ...     for g in make_groupings(speakers, ["age:18,60", "sex"], speakers_in_use=[0, 1, 2])
    ... ]
    [('<18', '18-59', '60+'), ('f', 'm')]
    """
    used = np.asarray(speakers_in_use, dtype=np.int64)
    if by is None:
        every = (_values(speakers, name) for name in speakers.attributes.columns)
        chosen = [[v] for v in every if _is_choice(v, used)]
        if not chosen:
            msg = (
                f"{speakers.name}: no attribute has {FEW} to {MANY} values among the speakers of "
                "these trials (one value for each speaker is no grouping); name one with --by, of "
                f"{', '.join(speakers.attributes.columns) or 'none'}"
            )
            raise DataError(msg)
    else:
        chosen = [[_values(speakers, part) for part in _parts(text)] for text in by]
    made = [_grouping(values, used) for values in chosen]
    names = [one.name.lower() for one in made]
    for one in made:
        if names.count(one.name.lower()) > 1:
            msg = f"--by names {one.name!r} twice; name each grouping once"
            raise ConfigError(msg)
        if one.name == "all" or "pooled" in one.groups:
            msg = (
                f"--by {one.name}: 'all' as a grouping and 'pooled' as a group name rows of the "
                "audit itself; rename that attribute or value"
            )
            raise ConfigError(msg)
    for one in made:
        if not one.groups:
            msg = (
                f"--by {one.name}: is unknown for every speaker of these trials; "
                f"name another attribute of {', '.join(speakers.attributes.columns)}"
            )
            raise DataError(msg)
    return made


def _parts(text: str) -> list[str]:
    parts = [part.strip() for part in text.split("+")]
    if not all(parts) or len({part.lower() for part in parts}) < len(parts):
        msg = f"--by {text!r} names no attribute or one twice; write it as in gender+nationality"
        raise ConfigError(msg)
    return parts


def _values(speakers: Speakers, text: str) -> _Values:
    asked, colon, edges = text.partition(":")
    columns = speakers.attributes.columns
    # An attribute's own name may hold a colon.
    whole = [c for c in columns if c.lower() == text.lower()]
    if whole:
        asked, colon = text, ""
    same = [c for c in columns if c == asked] or [c for c in columns if c.lower() == asked.lower()]
    if len(same) != 1:
        near = get_close_matches(asked.lower(), [c.lower() for c in columns], n=3, cutoff=0.3)
        shown = [c for c in columns if c.lower() in near] or columns[:8]
        told = "may be more than one attribute" if same else "is no attribute"
        msg = (
            f"--by {asked!r} {told} of {speakers.name}; "
            f"nearest: {', '.join(repr(c) for c in shown) or 'it has none'}"
        )
        raise ConfigError(msg)
    cells = speakers.attributes[same[0]].to_list()
    if colon:
        return _bands(asked, edges, cells, speakers.name)
    values = sorted({cell for cell in cells if cell is not None})
    if not any(math.isnan(_number(value)) for value in values):
        values.sort(key=_number)
    place = {value: i for i, value in enumerate(values)}
    return _Values(asked, values, np.array([place.get(cell, -1) for cell in cells], dtype=np.int64))


def _bands(name: str, text: str, cells: list[str | None], table: str) -> _Values:
    ends = [part.strip() for part in text.split(",")]
    edges = [_number(end) for end in ends]
    if any(math.isnan(e) for e in edges) or any(a >= b for a, b in pairwise(edges)):
        msg = f"--by {name}:{text}: edges of bands are rising numbers, as in {name}:18,30,60"
        raise ConfigError(msg)
    numbers = np.array([math.nan if cell is None else _number(cell) for cell in cells])
    for cell, number in zip(cells, numbers, strict=True):
        if cell is not None and math.isnan(number):
            msg = (
                f"--by {name}:{text}: {table} holds {cell!r} for {name}, which is no number; "
                f"use --by {name}"
            )
            raise ConfigError(msg)
    known = numbers[~np.isnan(numbers)]
    whole = all(value.is_integer() for value in (*edges, *known.tolist()))
    between = []
    for (low, start), (high, end) in pairwise(zip(edges, ends, strict=True)):
        last = str(int(high) - 1) if whole else f"<{end}"
        between.append(start if whole and high - low == 1 else f"{start}-{last}")
    band = np.searchsorted(edges, numbers, side="right")
    band[np.isnan(numbers)] = -1
    return _Values(f"{name}:{','.join(ends)}", [f"<{ends[0]}", *between, f"{ends[-1]}+"], band)


def _number(text: str) -> float:
    try:
        found = float(text) if "_" not in text else math.nan
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def _is_choice(values: _Values, used: NDArray[np.int64]) -> bool:
    """Whether an attribute is grouped by where none is named."""
    codes = values.of_speaker[np.unique(used)]
    known = codes[codes >= 0]
    found = np.unique(known).size
    is_name = found == known.size > FEW
    return FEW <= found <= MANY and not is_name


def _grouping(parts: Sequence[_Values], used: NDArray[np.int64]) -> Grouping:
    """Combine attributes; every combination that occurs is a group."""
    code = np.zeros_like(parts[0].of_speaker)
    known = np.ones(code.shape, dtype=bool)
    for part in parts:
        code = code * len(part.values) + part.of_speaker
        known &= part.of_speaker >= 0
    code = np.where(known, code, -1)
    found = np.unique(code[known])
    sizes = [len(part.values) for part in parts]
    places = np.unravel_index(found, sizes)
    named = [
        "+".join(part.values[i] for part, i in zip(parts, at, strict=True))
        for at in zip(*(place.tolist() for place in places), strict=True)
    ]
    name = "+".join(part.name for part in parts)
    if len(set(named)) < len(named):
        twice = next(one for one in named if named.count(one) > 1)
        msg = f"--by {name}: two groups would be named {twice!r}; take the + out of the values"
        raise ConfigError(msg)
    if POOLED in named:
        msg = f"--by {name}: a group is named {POOLED!r}, as the row of all groups is; rename it"
        raise ConfigError(msg)
    kept = np.isin(found, code[used])
    place = np.full(found.size + 1, -1, dtype=np.int32)  # the last entry is for unknown
    place[:-1][kept] = np.arange(kept.sum())
    of_speaker = place[np.where(known, np.searchsorted(found, code), -1)]
    return Grouping(
        name,
        tuple(one for one, is_kept in zip(named, kept.tolist(), strict=True) if is_kept),
        of_speaker,
        tuple(one for one, is_kept in zip(named, kept.tolist(), strict=True) if not is_kept),
    )
