"""Groupings as users ask for them: every combination of values that occurs is a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError, DataError
from parivox.read.attributes import parse_by
from parivox.read.grouping import Grouping, combined
from parivox.read.lookup import Lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.read.attributes import Attribute
    from parivox.read.grouping import Codes, OfAttribute
    from parivox.read.groups_file import GroupsFile
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

__all__ = ["make_groupings", "wanted"]

POOLED = "pooled"
MOST = 10_000_000
"""Combinations of values that are looked for."""
MOST_GROUPS = 1_000
"""Groups of one grouping: an audit compares each with each, and each has a curve."""


def wanted(by: Iterable[str], option: str = "--by") -> list[Attribute]:
    """Attributes that groupings are made of, each once."""
    return list(dict.fromkeys(one for text in by for one in parse_by(text, option)))


def make_groupings(
    speakers: Speakers,
    by: Sequence[str] | None,
    *,
    speakers_in_use: ArrayLike | None = None,
    sets: Sequence[TrialSet] = (),
    file: GroupsFile | None = None,
    option: str = "--by",
    may_lack: bool = False,
) -> list[Grouping]:
    """Group trials.

    Parameters
    ----------
    speakers
        Who they are of.
    by
        Groupings as in ``gender``, ``gender+nationality``, ``age:18,30,60`` (a band holds its
        lower edge), ``enrol.language`` or ``same:device``; None for every attribute of speakers
        or recordings with 2 to 50 values among those in use. Of more than 2 speakers, an
        attribute that differs for each of them, as names and ids do, is then no grouping: its
        groups would be persons.
    speakers_in_use : array_like of int
        Indices of the speakers that any trial has; only their groups are kept. By default those
        of `sets`.
    sets
        The trials, whose columns and recordings may have attributes too.
    file
        What groups are made of the values of some attributes.
    option
        What the groupings were given with, for messages.
    may_lack
        Whether a grouping may be of no group: what is unknown in one file may be known in others.

    Raises
    ------
    ConfigError
        If an attribute is not known or may be one of several, bands are asked for something
        that is not a number, or there are more groups than can be compared.

    Examples
    --------
    >>> from parivox.read.speakers import read_speakers
    >>> speakers = read_speakers(
    ...     {"id": ["a", "b", "c"], "sex": ["f", "m", "f"], "age": [17, 18, 64]}
    ... )
    >>> [
    ...     g.groups
    ...     for g in make_groupings(speakers, ["age:18,60", "sex"], speakers_in_use=[0, 1, 2])
    ... ]
    [('<18', '18-59', '60+'), ('f', 'm')]
    """
    if speakers_in_use is None:
        each = [one.in_use for one in sets]
        speakers_in_use = np.unique(np.concatenate(each))
    used = np.asarray(speakers_in_use, dtype=np.int64)
    source = Lookup(speakers, sets, file, option)
    if by is None:
        chosen = source.choices(used)
    else:
        chosen = [[source.values(one) for one in source.named(text)] for text in by]
    made = [_grouping(parts, used, sets, option) for parts in chosen]
    names = [one.name.lower() for one in made]
    for one in made:
        if names.count(one.name.lower()) > 1:
            msg = f"{option} names {one.name!r} twice; name each grouping once"
            raise ConfigError(msg)
        if one.name == "all" or "pooled" in one.groups:
            msg = (
                f"{option} {one.name}: 'all' as a grouping and 'pooled' as a group name rows of "
                "the audit itself; rename that attribute or value"
            )
            raise ConfigError(msg)
    for one in made:
        if not one.groups and not may_lack:
            msg = (
                f"{option} {one.name}: is unknown for every "
                f"{'speaker of these trials' if one.of_speaker is not None else 'trial'}; "
                f"name another attribute of {', '.join(source.names()) or 'none'}"
            )
            raise DataError(msg)
    return made


def _grouping(
    parts: Sequence[OfAttribute], used: NDArray[np.int64], sets: Sequence[TrialSet], option: str
) -> Grouping:
    """Combine attributes; every combination that occurs is a group."""
    sizes = [len(part.values) for part in parts]
    total = int(np.prod(sizes, dtype=np.float64))
    name = "+".join(part.attribute.text for part in parts)
    if total > MOST:
        msg = f"{option} {name}: has {total:,} combinations of values; group by fewer, or by bands"
        raise ConfigError(msg)
    of_speaker: Codes | None = None
    if all(p.of_speaker is not None and not p.attribute.side for p in parts):
        code = combined([p.of_speaker for p in parts if p.of_speaker is not None], parts)[:-1]
        found, speakers_of = np.unique(code[code >= 0], return_counts=True)
        here = np.unique(code[used])
        of_speaker = code.astype(np.int32)
    else:
        found = here = speakers_of = _occurring(parts, sets)  # none is unused
    places = [at.tolist() for at in np.unravel_index(found, sizes)] if found.size else [[]]
    values = [
        tuple(part.values[i] for part, i in zip(parts, at, strict=True))
        for at in zip(*places, strict=True)
    ]
    named = ["+".join(one) for one in values]
    if len(set(named)) < len(named):
        twice = next(one for one in named if named.count(one) > 1)
        msg = f"{option} {name}: two groups would be named {twice!r}; take the + out of the values"
        raise ConfigError(msg)
    if POOLED in named:
        msg = (
            f"{option} {name}: a group is named {POOLED!r}, as the row of all groups is; rename it"
        )
        raise ConfigError(msg)
    kept = np.isin(found, here)
    if kept.sum() > MOST_GROUPS:
        msg = (
            f"{option} {name}: has {kept.sum():,} groups, more than {MOST_GROUPS:,}; group by "
            "fewer values, by bands of a number, or merge values with --groups"
        )
        raise ConfigError(msg)
    place = np.full(total + 1, -1, dtype=np.int32)  # the last entry is for unknown
    place[found[kept]] = np.arange(kept.sum())
    pairs = list(zip(named, values, kept.tolist(), speakers_of.tolist(), strict=True))
    return Grouping(
        name,
        tuple(one for one, _, is_kept, _ in pairs if is_kept),
        None if of_speaker is None else place[of_speaker],
        {one: n for one, _, is_kept, n in pairs if not is_kept},
        tuple(part.attribute.text for part in parts),
        tuple(of for _, of, is_kept, _ in pairs if is_kept),
        _values=tuple(parts),
        _place=place,
    )


def _occurring(parts: Sequence[OfAttribute], sets: Sequence[TrialSet]) -> NDArray[np.int64]:
    """Combinations of values that any utterance or trial has."""
    found: set[int] = set()
    for trials in sets:
        if all(part.is_of_utterances for part in parts):
            codes = [combined([part.of_utterance(trials) for part in parts], parts)]
            found.update(np.unique(codes[0]).tolist())
            continue
        known = [part.on(trials) for part in parts]
        for whole in trials.partitions():
            for some in (whole, whole.failed):
                if some is not None:
                    both = [one(some) for one in known]
                    for side in (0, 1):
                        code = combined([one[side] for one in both], parts)
                        found.update(np.unique(code).tolist())
    return np.array(sorted(found - {-1}), dtype=np.int64)
