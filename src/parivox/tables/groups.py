"""Groups of trials: by the values of attributes, bands of numbers, or combinations of them.

An attribute is of a speaker or of a recording, and then each side of a trial has its own value;
or it is of the trial. A grouping gives the group of either side of every trial.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.tables.attributes import Attribute, parse_by
from parivox.tables.formats.scan import ATTRIBUTE, plain
from parivox.tables.values import in_order, sides_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.tables.groups_file import GroupsFile, Recipe
    from parivox.tables.speakers import Speakers
    from parivox.tables.trialset import TrialSet
    from parivox.tables.validation import Trials

    Codes = NDArray[np.int32]
    Sides = tuple[Codes, Codes]

__all__ = ["FEW", "MANY", "Grouping", "make_groupings", "wanted"]

POOLED = "pooled"
FEW, MANY = 2, 50
"""Without a choice, attributes with so many values are grouped by."""
_NAMES = frozenset(("recording", "session", "video", "file", "path"))
_SAME = ("different", "same")


@dataclass(frozen=True, eq=False)
class Grouping:
    """Disjoint groups of either side of a trial.

    Attributes
    ----------
    name : str
        Attributes as the user writes them, joined by ``+``; bands as in ``age:18,30``.
    groups : tuple of str
        Values joined by ``+``; texts sorted, numbers and bands rising. Only groups that occur.
    of_speaker : integer ndarray of shape (speaker,), or None
        Index into `groups`, -1 where it is unknown or no group; None where the group is not the
        speaker's but the recording's or the trial's.
    unused : tuple of str
        Groups of the speaker table that no speaker in use belongs to.
    attributes : tuple of str
        The attributes.
    parts : tuple of tuple of str
        Of each group, its value of each attribute.
    told : tuple of tuple of str
        The values of each attribute in order, of a grouping that a file of counts tells of.
    """

    name: str
    groups: tuple[str, ...]
    of_speaker: Codes | None
    unused: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    told: tuple[tuple[str, ...], ...] = ()
    _values: tuple[_Values, ...] = field(default=(), repr=False)
    _place: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32), repr=False)

    def on(self, trials: TrialSet) -> Callable[[Trials], Sides]:
        """What gives the group of either side of each trial of a partition, -1 for none."""
        if self.of_speaker is not None:
            of_speaker, speaker = self.of_speaker.astype(np.int32), trials.utterance_speaker
            return lambda part: (of_speaker[speaker[part.enrol]], of_speaker[speaker[part.test]])
        if all(part.is_of_utterances for part in self._values):
            of_utterance = self.of_utterance(trials)
            return lambda part: (of_utterance[part.enrol], of_utterance[part.test])
        known = [part.on(trials) for part in self._values]

        def sides(part: Trials) -> Sides:
            codes = [one(part) for one in known]
            enrol, test = (self._group([both[i] for both in codes]) for i in (0, 1))
            return enrol, test

        return sides

    def of_utterance(self, trials: TrialSet) -> Codes:
        """Group of each utterance; not for attributes of trials."""
        return self._group([part.of_utterance(trials) for part in self._values])

    def _group(self, codes: Sequence[Codes]) -> Codes:
        return self._place[_combined(codes, self._values)]

    @property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """Values of each attribute in order: all of those that bands or a groups file make."""
        found = [*self.told]
        for i, part in enumerate(self._values):
            used = {of[i] for of in self.parts}
            is_made = part.raw is not None or part.attribute.edges or part.attribute.side == "same"
            found.append(tuple(one for one in part.values if is_made or one in used))
        return tuple(found)

    @property
    def is_of_trials(self) -> bool:
        """Whether both sides of a trial are always in one group."""
        return any(not part.is_of_utterances for part in self._values)

    def keys(self, trials: TrialSet) -> list[str]:
        """Columns of the trials that the groups are made of."""
        found = [part.of_trials[id(trials)][:2] for part in self._values if part.of_trials]
        return sorted({key for both in found for key in both})

    @property
    def is_of_recordings(self) -> bool:
        """Whether any of its attributes is of the recordings."""
        return any(part.of_row is not None for part in self._values)

    def left_out(self, trials: TrialSet) -> list[tuple[str, str, int]]:
        """Values that the groups file leaves out: attribute, value and how often it occurs."""
        return [one for part in self._values for one in part.left_out(trials)]


@dataclass(frozen=True, eq=False)
class _Values:
    """One attribute: its values in order, and where each speaker, recording or trial has which.

    Codes are indices into `values`, -1 for unknown; those of rows and of trials have one more
    entry at the end, -1, for what is in no row.
    """

    attribute: Attribute
    values: list[str]
    of_speaker: Codes | None = None
    of_row: Codes | None = None
    of_trials: Mapping[int, tuple[str, str, Codes]] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)  # value left out: its code in `raw`
    raw: _Values | None = None

    @property
    def is_of_utterances(self) -> bool:
        return not self.of_trials and not self.attribute.side

    def of_utterance(self, trials: TrialSet) -> Codes:
        if self.of_speaker is not None:
            return self.of_speaker[trials.utterance_speaker]
        assert self.of_row is not None
        if trials.recordings is None:
            return np.full(trials.utterance_speaker.size, -1, dtype=np.int32)
        return trials.recordings.codes(self.of_row)

    def on(self, trials: TrialSet) -> Callable[[Trials], Sides]:
        if self.of_trials:
            one, other, place = self.of_trials[id(trials)]
            raw: Callable[[Trials], Sides] = lambda part: (  # noqa: E731 - one of two forms
                place[part.more[one]],
                place[part.more[other]],
            )
        else:
            of_utterance = self.of_utterance(trials)
            raw = lambda part: (of_utterance[part.enrol], of_utterance[part.test])  # noqa: E731
        side = self.attribute.side
        if not side:
            return raw
        if side == "same":
            return lambda part: _same(*raw(part))
        at = 0 if side == "enrol" else 1
        return lambda part: (raw(part)[at],) * 2

    def left_out(self, trials: TrialSet) -> list[tuple[str, str, int]]:
        """Values that are no group any more, and of how many speakers, utterances or trials."""
        if self.raw is None or not self.removed:
            return []
        if self.of_speaker is not None and self.raw.of_speaker is not None:
            used = np.unique(trials.utterance_speaker)
            codes = [self.raw.of_speaker[used[used >= 0]]]
            unit = "speakers"
        elif self.of_row is not None:
            codes, unit = [self.raw.of_utterance(trials)], "utterances"
        else:
            one, _, place = self.raw.of_trials[id(trials)]
            codes, unit = [place[part.more[one]] for part in trials.partitions()], "trials"
        n = len(self.raw.values)
        count = sum((np.bincount(c[c >= 0], minlength=n) for c in codes), np.zeros(n, dtype=int))
        return [
            (unit, f"{self.attribute.text} {v!r}", int(count[i])) for v, i in self.removed.items()
        ]


def _same(enrol: Codes, test: Codes) -> Sides:
    code = (enrol == test).astype(np.int32)
    code[(enrol < 0) | (test < 0)] = -1
    return code, code


def _combined(codes: Sequence[Codes], parts: Sequence[_Values]) -> NDArray[np.int64]:
    """One number for the values of several attributes; -1 if one of them is unknown."""
    if len(codes) == 1:
        return codes[0].astype(np.int64)
    found = np.zeros(codes[0].shape, dtype=np.int64)
    known = np.ones(codes[0].shape, dtype=bool)
    for code, part in zip(codes, parts, strict=True):
        found = found * len(part.values) + code
        known &= code >= 0
    found[~known] = -1
    return found


def wanted(by: Iterable[str]) -> list[Attribute]:
    """Attributes that groupings are made of, each once."""
    return list(dict.fromkeys(one for text in by for one in parse_by(text)))


def make_groupings(
    speakers: Speakers,
    by: Sequence[str] | None,
    *,
    speakers_in_use: ArrayLike | None = None,
    sets: Sequence[TrialSet] = (),
    file: GroupsFile | None = None,
    option: str = "--by",
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

    Raises
    ------
    ConfigError
        If an attribute is not known or may be one of several, or bands are asked for something
        that is not a number.

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
    if speakers_in_use is None:
        every = np.concatenate([one.utterance_speaker for one in sets])
        speakers_in_use = np.unique(every[every >= 0])
    used = np.asarray(speakers_in_use, dtype=np.int64)
    source = _Source(speakers, sets, file, option)
    if by is None:
        chosen = source.choices(used)
    else:
        chosen = [[source.values(one) for one in parse_by(text, option)] for text in by]
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
        if not one.groups:
            msg = (
                f"{option} {one.name}: is unknown for every "
                f"{'speaker of these trials' if one.of_speaker is not None else 'trial'}; "
                f"name another attribute of {', '.join(source.names()) or 'none'}"
            )
            raise DataError(msg)
    return made


class _Source:
    """Where attributes are looked for: the speakers, their recordings, the trials."""

    def __init__(
        self,
        speakers: Speakers,
        sets: Sequence[TrialSet],
        file: GroupsFile | None,
        option: str,
    ) -> None:
        self.speakers, self.sets, self.file, self.option = speakers, sets, file, option
        tables = [one.recordings.table for one in sets if one.recordings is not None]
        self.table = tables[0] if tables else None

    def names(self) -> list[str]:
        """Every attribute that there is."""
        rows = [] if self.table is None else self.table.attributes.columns
        trials = {key.removeprefix(ATTRIBUTE) for one in self.sets for key in one.levels}
        return [*self.speakers.attributes.columns, *rows, *sorted(trials)]

    def choices(self, used: NDArray[np.int64]) -> list[list[_Values]]:
        """Every attribute of speakers or recordings that has a sensible number of values."""
        own = list(self.speakers.attributes.columns)
        rest = [] if self.table is None else self.table.attributes.columns
        rest = [name for name in rest if plain(name) not in _NAMES]
        both = {name.lower() for name in own} & {name.lower() for name in rest}
        found = []
        for level, columns in (("speaker", own), ("recording", rest)):
            for name in columns:
                text = f"{level}.{name}" if name.lower() in both else name
                part = self.values(Attribute(text, name, level=level))
                if self._is_choice(part, used):
                    found.append([part])
        if not own and not rest:
            msg = (
                "no attribute of anybody is known to group by; give a table of people with "
                "--speakers, one of recordings with --utterances, or name a column of the trials "
                "with --by"
            )
            raise DataError(msg)
        if not found:
            msg = (
                f"{self.speakers.name}: no attribute has {FEW} to {MANY} values among the speakers "
                "of these trials (one value for each speaker is no grouping); name one with --by, "
                f"of {', '.join([*own, *rest]) or 'none'}"
            )
            raise DataError(msg)
        return found

    def _is_choice(self, part: _Values, used: NDArray[np.int64]) -> bool:
        """Whether an attribute is grouped by where none is named."""
        if part.of_speaker is not None:
            codes = part.of_speaker[np.unique(used)]
        else:
            codes = np.concatenate([part.of_utterance(one) for one in self.sets])
        known = codes[codes >= 0]
        found = np.unique(known).size
        is_name = found == known.size > FEW
        return FEW <= found <= MANY and not is_name

    def values(self, attribute: Attribute) -> _Values:
        """An attribute with its values, after what the groups file does to them."""
        found = self._found(attribute)
        recipe = None if self.file is None else self.file.recipe(attribute)
        return found if recipe is None else self._applied(found, recipe)

    def _applied(self, part: _Values, recipe: Recipe) -> _Values:
        recipe.check(part.values)
        values, places, removed = recipe.apply(part.values)
        place = np.array([*places, -1], dtype=np.int32)
        return _Values(
            part.attribute,
            values,
            None if part.of_speaker is None else place[part.of_speaker],
            None if part.of_row is None else place[part.of_row],
            {key: (one, two, place[codes]) for key, (one, two, codes) in part.of_trials.items()},
            {value: part.values.index(value) for value in removed},
            part,
        )

    def _found(self, attribute: Attribute) -> _Values:
        text = attribute.own
        literal = Attribute(attribute.text, text, "", "", attribute.edges)
        # a column may itself be called what could be an attribute with a side or bands
        whole = Attribute(attribute.text, attribute.text)
        for one in dict.fromkeys((whole, literal, attribute)):
            places = self._places(one)
            if one.edges != attribute.edges:  # a column of trials has been put in bands already
                places.pop("trial", None)
            if one.side and len(places) > 1 and self._is_of_whole_trials(one):
                places.pop("trial")  # the sides of which are not told apart
            if places:
                found = [self._read(one, level) for level in places]
                for level, other in zip([*places][1:], found[1:], strict=True):
                    self._agree(one, found[0], other, (next(iter(places)), level), places)
                return found[0]
        raise self._unknown(attribute)

    def _agree(
        self,
        one: Attribute,
        first: _Values,
        other: _Values,
        levels: tuple[str, str],
        places: Mapping[str, str],
    ) -> None:
        """Refuse an attribute of two levels that do not say the same of some trial."""
        differ = next(
            (pair for trials in self.sets for pair in _differences(first, other, trials)), None
        )
        if differ is None:
            return
        both = " and ".join(
            f"{value!r} by {places[level]}" for value, level in zip(differ, levels, strict=True)
        )
        choices = " or ".join(f"{level}.{one.name}" for level in levels)
        msg = (
            f"{self.option} {one.name!r}: is {both} for one side of the same trial; say which is "
            f"meant, {choices}"
        )
        raise ConfigError(msg)

    def _is_of_whole_trials(self, one: Attribute) -> bool:
        """Whether a column of some trials has one value for both sides."""
        return any(sides_of(_key(one))[0] in trials.more for trials in self.sets)

    def _places(self, one: Attribute) -> dict[str, str]:
        """Levels that have the attribute, with the name of what has it."""
        found = {}
        if _column(one.name, self.speakers.attributes.columns):
            found["speaker"] = self.speakers.name
        if self.table is not None and _column(one.name, self.table.attributes.columns):
            found["recording"] = self.table.name
        with_it = [s for s in self.sets if _key(one) in s.levels]
        if with_it:
            found["trial"] = str(with_it[0].provenance[0]["name"])
        return {level: name for level, name in found.items() if one.level in {"", level}}

    def _unknown(self, attribute: Attribute) -> ConfigError:
        asked, columns = attribute.name, self.names()
        shown_as = f"{attribute.level}.{asked}".removeprefix(".")
        twice = [c for c in self.speakers.attributes.columns if c.lower() == asked.lower()][1:]
        near = get_close_matches(asked.lower(), [c.lower() for c in columns], n=3, cutoff=0.3)
        shown = [c for c in columns if c.lower() in near] or columns[:8]
        told = "may be more than one attribute" if twice else "is no attribute"
        where = self.speakers.name
        if self.sets:
            rest = [self.table.name] if self.table is not None else []
            rest += [str(one.provenance[0]["name"]) for one in self.sets]
            where = ", ".join(dict.fromkeys([where, *rest]))
        return ConfigError(
            f"{self.option} {shown_as!r} {told} of {where}; "
            f"nearest: {', '.join(repr(c) for c in shown) or 'none'}"
        )

    def _read(self, one: Attribute, level: str) -> _Values:
        if level == "trial":
            return self._of_trials(one)
        if level == "speaker":
            frame, where = self.speakers.attributes, self.speakers.name
        else:
            assert self.table is not None
            frame, where = self.table.attributes, self.table.name
        column = frame[_column(one.name, frame.columns)]
        values, codes = _coded(one, column, where)
        if one.side == "same":
            values = list(_SAME)
        if level == "speaker":
            return _Values(one, values, of_speaker=codes)
        return _Values(one, values, of_row=codes)

    def _of_trials(self, one: Attribute) -> _Values:
        """An attribute that stands in the rows of every set of trials."""
        key = _key(one)
        for trials in self.sets:
            if key not in trials.levels:
                msg = (
                    f"{self.option} {one.name!r}: {trials.provenance[0]['name']} has no such "
                    "column, but other trials have; group by what all of them have"
                )
                raise ConfigError(msg)
        if one.bands is not None:
            values = one.bands.names(whole=all(s.levels[key].whole for s in self.sets))
        else:
            values = in_order({v for s in self.sets for v in s.levels[key].values or ()})
        place = {value: i for i, value in enumerate(values)}
        found = {}
        for trials in self.sets:
            mine = trials.levels[key].values
            codes = [place[v] for v in mine] if mine is not None else range(len(values))
            keys = self._sides(one, key, trials)
            found[id(trials)] = (*keys, np.array([*codes, -1], dtype=np.int32))
        return _Values(one, list(_SAME) if one.side == "same" else values, of_trials=found)

    def _sides(self, one: Attribute, key: str, trials: TrialSet) -> tuple[str, str]:
        """Keys of the columns of either side."""
        whole, *sides = sides_of(key)
        more = trials.more
        if whole in more:
            if one.side:
                msg = (
                    f"{self.option} {one.text!r}: {one.name!r} is a column of the trials, in which "
                    f"enrolment and test side have one value; use {self.option} {one.name}"
                )
                raise ConfigError(msg)
            return whole, whole
        needed = {"enrol": sides[:1], "test": sides[1:]}.get(one.side, sides)
        for name in needed:
            if name not in more:
                side = "enrolment" if name == sides[0] else "test side"
                msg = (
                    f"{self.option} {one.text!r}: {trials.provenance[0]['name']} has a column of "
                    f"{one.name!r} for one side only, not for the {side}; use enrol.{one.name} or "
                    f"test.{one.name}"
                )
                raise ConfigError(msg)
        return needed[0], needed[-1]


def _differences(first: _Values, other: _Values, trials: TrialSet) -> Iterator[tuple[str, str]]:
    """Values of one side of a trial that two attributes do not agree about, one a partition."""
    place = {value: i for i, value in enumerate({*first.values, *other.values})}
    mine, theirs = (
        np.array([place[v] for v in part.values], dtype=np.int32) for part in (first, other)
    )
    sides = first.on(trials), other.on(trials)
    for part in trials.partitions():
        for a, b in zip(*(side(part) for side in sides), strict=True):
            known = (a >= 0) & (b >= 0)
            odd = np.flatnonzero(mine[a[known]] != theirs[b[known]])
            if odd.size:
                yield first.values[a[known][odd[0]]], other.values[b[known][odd[0]]]


def _key(one: Attribute) -> str:
    ends = "" if one.bands is None else ":" + ",".join(one.bands.ends)
    return ATTRIBUTE + one.name + ends


def _column(asked: str, columns: Sequence[str]) -> str:
    """The column of that name, whatever its case; empty if there is none or more than one."""
    if asked in columns:
        return asked
    same = [c for c in columns if c.lower() == asked.lower()]
    return same[0] if len(same) == 1 else ""


def _coded(one: Attribute, cells: pl.Series, where: str) -> tuple[list[str], Codes]:
    """Values in order and the code of each cell; last, -1 for what has no cell."""
    distinct = cells.drop_nulls().unique(maintain_order=True).to_list()
    if one.bands is not None:
        numbers = one.bands.numbers(distinct, one.text, where)
        values = one.bands.names(whole=bool((numbers % 1 == 0).all()))
        codes = one.bands.of(numbers).tolist()
    else:
        values = in_order(distinct)
        place = {value: i for i, value in enumerate(values)}
        codes = [place[value] for value in distinct]
    found = cells.replace_strict(distinct, codes, default=-1, return_dtype=pl.Int32)
    array = found.fill_null(-1).to_numpy()
    return values, np.append(array, np.int32(-1)).astype(np.int32)


def _grouping(
    parts: Sequence[_Values], used: NDArray[np.int64], sets: Sequence[TrialSet], option: str
) -> Grouping:
    """Combine attributes; every combination that occurs is a group."""
    sizes = [len(part.values) for part in parts]
    total = int(np.prod(sizes, dtype=np.float64))
    name = "+".join(part.attribute.text for part in parts)
    if total > _MOST:
        msg = f"{option} {name}: has {total:,} combinations of values; group by fewer, or by bands"
        raise ConfigError(msg)
    of_speaker: Codes | None = None
    if all(p.of_speaker is not None and not p.attribute.side for p in parts):
        code = _combined([p.of_speaker for p in parts if p.of_speaker is not None], parts)[:-1]
        found, here = np.unique(code[code >= 0]), np.unique(code[used])
        of_speaker = code.astype(np.int32)
    else:
        found = here = _occurring(parts, sets)
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
    place = np.full(total + 1, -1, dtype=np.int32)  # the last entry is for unknown
    place[found[kept]] = np.arange(kept.sum())
    pairs = list(zip(named, values, kept.tolist(), strict=True))
    return Grouping(
        name,
        tuple(one for one, _, is_kept in pairs if is_kept),
        None if of_speaker is None else place[of_speaker],
        tuple(one for one, _, is_kept in pairs if not is_kept),
        tuple(part.attribute.text for part in parts),
        tuple(of for _, of, is_kept in pairs if is_kept),
        _values=tuple(parts),
        _place=place,
    )


def _occurring(parts: Sequence[_Values], sets: Sequence[TrialSet]) -> NDArray[np.int64]:
    """Combinations of values that any utterance or trial has."""
    found: set[int] = set()
    for trials in sets:
        if all(part.is_of_utterances for part in parts):
            codes = [_combined([part.of_utterance(trials) for part in parts], parts)]
            found.update(np.unique(codes[0]).tolist())
            continue
        known = [part.on(trials) for part in parts]
        for whole in trials.partitions():
            for some in (whole, whole.failed):
                if some is not None:
                    both = [one(some) for one in known]
                    for side in (0, 1):
                        code = _combined([one[side] for one in both], parts)
                        found.update(np.unique(code).tolist())
    return np.array(sorted(found - {-1}), dtype=np.int64)


_MOST = 10_000_000
"""Combinations of values that are looked for."""
