"""Groupings as users ask for them: where each attribute stands, and which groups occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.data.attributes import (
    Attribute,
    AttributeCoder,
    distinct_numbers,
    in_order,
    parse_by,
    sides_of,
)
from parivox.data.columns import ATTRIBUTE, plain
from parivox.data.grouping import SAME, AttributeCodes, Grouping, combined
from parivox.data.speakers import column_named
from parivox.errors import ConfigError, DataError, name_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.data.grouping import Codes
    from parivox.data.groups_file import GroupsFile
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet

POOLED = "pooled"
MOST = 10_000_000
"""Combinations of values that are looked for."""
MOST_GROUPS = 1_000
"""Groups of one audit: it compares each with each, and each has a curve."""
FEW, MANY = 2, 50
"""Without a choice, attributes with so many values are grouped by."""
_NAMES = frozenset(("recording", "session", "video", "file", "path"))


def attributes_asked(by: Iterable[str], option: str = "--by") -> list[Attribute]:
    """Attributes that groupings are made of, each once."""
    return list(dict.fromkeys(one for text in by for one in parse_by(text, option)))


def values_asked(only: Iterable[str]) -> dict[str, list[str]]:
    """Values that trials are to have, by grouping.

    Examples
    --------
    >>> values_asked(["grade=3", "gender=f", "grade=4"])
    {'grade': ['3', '4'], 'gender': ['f']}
    """
    found: dict[str, list[str]] = {}
    for text in only:
        grouping, _, value = (word.strip() for word in text.partition("="))
        if not grouping or not value:
            msg = f"--only {text!r} is not ATTRIBUTE=VALUE, as in --only grade=4"
            raise ConfigError(msg)
        found.setdefault(grouping, []).append(value)
    return found


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
    """Group trials by attributes of their speakers, of their recordings or of themselves.

    `by` names groupings as in ``gender``, ``gender+nationality``, ``age:18,30,60`` (a band holds
    its lower edge), ``enrol.language`` or ``same:device``. None is for every attribute of speakers
    or recordings with 2 to 50 values among those in use; of more than 2 speakers, an attribute that
    differs for each of them, as names and ids do, is then no grouping: its groups would be persons.

    Only groups of speakers in use are kept, by default those of any trial. With `may_lack`, a
    grouping may be of no group: what is unknown in one file may be known in others. Messages say
    that the groupings were given with `option`.

    Examples
    --------
    >>> from parivox.data.speakers import read_speakers
    >>> speakers = read_speakers(
    ...     {"id": ["a", "b", "c"], "sex": ["f", "m", "f"], "age": [17, 18, 64]}
    ... )
    >>> made = make_groupings(speakers, ["age:18,60", "sex"], speakers_in_use=[0, 1, 2])
    >>> [grouping.groups for grouping in made]
    [('<18', '18-59', '60+'), ('f', 'm')]
    """
    if speakers_in_use is None:
        speakers_in_use = np.unique(np.concatenate([one.speakers_in_use for one in sets]))
    used = np.asarray(speakers_in_use, dtype=np.int64)
    source = AttributeLookup(speakers, sets, file, option)
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
        if one.name == "all" or POOLED in one.groups:
            msg = (
                f"{option} {one.name}: 'all' as a grouping and 'pooled' as a group name rows of "
                "the audit itself; rename that attribute or value"
            )
            raise ConfigError(msg)
        if not one.groups and not may_lack:
            whose = "speaker of these trials" if one.speaker_codes is not None else "trial"
            msg = (
                f"{option} {one.name}: is unknown for every {whose}; "
                f"name another attribute of {', '.join(source.names()) or 'none'}"
            )
            raise DataError(msg)
    return made


def _grouping(
    parts: Sequence[AttributeCodes], used: NDArray[np.int64], sets: Sequence[TrialSet], option: str
) -> Grouping:
    """Combine attributes; every combination that occurs is a group."""
    sizes = [len(part.values) for part in parts]
    total = int(np.prod(sizes, dtype=np.float64))
    name = "+".join(part.attribute.text for part in parts)
    if total > MOST:
        msg = f"{option} {name}: has {total:,} combinations of values; group by fewer, or by bands"
        raise ConfigError(msg)
    of_speaker: Codes | None = None
    if all(p.speaker_codes is not None and not p.attribute.side for p in parts):
        code = combined([p.speaker_codes for p in parts if p.speaker_codes is not None], parts)[:-1]
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
        _attribute_codes=tuple(parts),
        _combination_groups=place,
    )


def _occurring(parts: Sequence[AttributeCodes], sets: Sequence[TrialSet]) -> NDArray[np.int64]:
    """Combinations of values that any utterance or trial has."""
    found: set[int] = set()
    for trials in sets:
        if all(part.is_of_utterances for part in parts):
            codes = [combined([part.utterance_codes(trials) for part in parts], parts)]
            found.update(np.unique(codes[0]).tolist())
            continue
        known = [part.side_coder(trials) for part in parts]
        for whole in trials.partitions():
            for some in (whole, whole.failed):
                if some is not None:
                    both = [one(some) for one in known]
                    for side in (0, 1):
                        code = combined([one[side] for one in both], parts)
                        found.update(np.unique(code).tolist())
    return np.array(sorted(found - {-1}), dtype=np.int64)


class AttributeLookup:
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

    @property
    def _of_recordings(self) -> list[str]:
        return [] if self.table is None else self.table.attributes.columns

    def names(self) -> list[str]:
        """Every attribute that there is."""
        trials = {key.removeprefix(ATTRIBUTE) for one in self.sets for key in one.attribute_values}
        return [*self.speakers.attributes.columns, *self._of_recordings, *sorted(trials)]

    def sensible(self, used: NDArray[np.int64]) -> list[AttributeCodes]:
        """Every attribute of speakers or recordings that has a sensible number of values."""
        own, rest = self._columns()
        both = {name.lower() for name in own} & {name.lower() for name in rest}
        found = []
        for level, columns in (("speaker", own), ("recording", rest)):
            for name in columns:
                text = f"{level}.{name}" if name.lower() in both else name
                part = self.values(Attribute(text, name, source=level))
                if part.speaker_codes is not None:
                    codes = part.speaker_codes[np.unique(used)]
                else:
                    codes = np.concatenate([part.utterance_codes(one) for one in self.sets])
                known = codes[codes >= 0]
                n_values = np.unique(known).size
                is_name = n_values == known.size > FEW
                if FEW <= n_values <= MANY and not is_name:
                    found.append(part)
        return found

    def _columns(self) -> tuple[list[str], list[str]]:
        """Attributes of speakers and of recordings that have a name to be grouped by."""
        own = [name for name in self.speakers.attributes.columns if plain(name)]
        return own, [name for name in self._of_recordings if plain(name) not in {"", *_NAMES}]

    def choices(self, used: NDArray[np.int64]) -> list[list[AttributeCodes]]:
        """What to group by where nothing is named."""
        own, rest = self._columns()
        found = self.sensible(used)
        for part in found:
            table = self.speakers if part.row_codes is None or self.table is None else self.table
            columns = own if table is self.speakers else rest
            same = [c for c in columns if c.lower() == part.attribute.name.lower()]
            if len(same) > 1:  # which would be two groupings of one name
                msg = (
                    f"{table.name}: columns {same[0]!r} and {same[1]!r} differ in upper and lower "
                    "case only; rename one, or name one with --by"
                )
                raise DataError(msg)
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
                "of these trials (one value for each speaker is not a grouping); name one with "
                "--by, "
                f"of {', '.join([*own, *rest]) or 'none'}"
            )
            raise DataError(msg)
        return [[part] for part in found]

    def named(self, grouping: str) -> list[Attribute]:
        """The attributes of a grouping, which a column's own name may look like."""
        if grouping in {*self.speakers.attributes.columns, *self._of_recordings}:
            return [Attribute(grouping, grouping)]
        return parse_by(grouping, self.option)

    def values(self, attribute: Attribute) -> AttributeCodes:
        """An attribute with its values, after what the groups file does to them."""
        part = self._found(attribute)
        recipe = None if self.file is None else self.file.definition(attribute)
        if recipe is None:
            return part
        recipe.refuse_empty_groups(part.values)
        values, places, removed = recipe.grouped(part.values)
        place = np.array([*places, -1], dtype=np.int32)
        return AttributeCodes(
            part.attribute,
            values,
            None if part.speaker_codes is None else place[part.speaker_codes],
            None if part.row_codes is None else place[part.row_codes],
            {key: (one, two, place[codes]) for key, (one, two, codes) in part.trial_codes.items()},
            {value: part.values.index(value) for value in removed},
            part,
        )

    def _found(self, attribute: Attribute) -> AttributeCodes:
        text = attribute.text_without_bands
        literal = Attribute(attribute.text, text, "", "", attribute.edges)
        # a column may itself be called what could be an attribute with a side or bands
        whole = Attribute(attribute.text, attribute.text)
        for one in dict.fromkeys((whole, literal, attribute)):
            places = self._places(one)
            if one.edges != attribute.edges:  # a column of trials has been put in bands already
                places.pop("trial", None)
            of_whole_trials = any(
                sides_of(_key(one))[0] in trials.extra_columns for trials in self.sets
            )
            if one.side and len(places) > 1 and of_whole_trials:
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
        first: AttributeCodes,
        other: AttributeCodes,
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

    def _places(self, one: Attribute) -> dict[str, str]:
        """Levels that have the attribute, with the name of what has it."""
        found = {}
        if column_named(one.name, self.speakers.attributes.columns):
            found["speaker"] = self.speakers.name
        if self.table is not None and column_named(one.name, self._of_recordings):
            found["recording"] = self.table.name
        for trials in [s for s in self.sets if _key(one) in s.attribute_values][:1]:
            # the file that has the column: the scores or, if these have none, the trial list
            roles = sides_of(ATTRIBUTE + one.name)
            files = [file for file in trials.provenance if file["role"] in {"scores", "trials"}]
            having = [file for file in files if any(role in file["columns"] for role in roles)]
            found["trial"] = str((having or files)[0]["name"])
        return {level: name for level, name in found.items() if one.source in {"", level}}

    def _unknown(self, attribute: Attribute) -> ConfigError:
        asked, columns = attribute.name, self.names()
        shown_as = f"{attribute.source}.{asked}".removeprefix(".")
        twice = [c for c in self.speakers.attributes.columns if c.lower() == asked.lower()][1:]
        problem = "has several columns for attribute" if twice else "unknown attribute"
        where = self.speakers.name
        if self.sets:
            names = [where, *([self.table.name] if self.table is not None else [])]
            where = ", ".join(dict.fromkeys([*names, *(one.name for one in self.sets)]))
        mend = name_hint(asked, columns)
        if not mend.startswith("did") and not self.speakers.provenance:
            mend = "add the speaker table that contains it, with --speakers FILE"
            if self.table is not None and self.table.provenance.get("format") == "kaldi":
                mend += ", as which Kaldi's folder may be given again"
        return ConfigError(f"{self.option}: {problem} {shown_as!r} (searched {where}); {mend}")

    def _read(self, one: Attribute, level: str) -> AttributeCodes:
        if level == "trial":
            return self._of_trials(one)
        table = self.speakers if level == "speaker" or self.table is None else self.table
        column = table.attributes[column_named(one.name, table.attributes.columns)]
        coder = AttributeCoder(one)
        codes = coder.codes(column, table.name)
        levels, place = coder.ordered_values()
        codes = np.append(place[codes], np.int32(-1))
        values, numbers = list(SAME if one.side == "same" else levels.values or ()), None
        if one.bands is not None:
            numbers = one.bands.parse_cells(column.to_list(), one.text, table.name)
            values = values or one.bands.band_names(levels.numbers)
        if level == "recording":
            return AttributeCodes(one, values, row_codes=codes, banded_numbers=levels.numbers)
        return AttributeCodes(
            one, values, speaker_codes=codes, numbers=numbers, banded_numbers=levels.numbers
        )

    def _of_trials(self, one: Attribute) -> AttributeCodes:
        """An attribute that stands in the rows of every set of trials."""
        key = _key(one)
        for trials in self.sets:
            if key not in trials.attribute_values:
                msg = (
                    f"{self.option} {one.name!r}: {trials.name} has no such "
                    "column, but other trials have; group by what all of them have"
                )
                raise ConfigError(msg)
        banded = distinct_numbers(
            np.concatenate([s.attribute_values[key].numbers for s in self.sets])
        )
        if one.bands is not None:
            values = one.bands.band_names(banded)
        else:
            values = in_order({v for s in self.sets for v in s.attribute_values[key].values or ()})
        place = {value: i for i, value in enumerate(values)}
        found = {}
        for trials in self.sets:
            mine = trials.attribute_values[key].values
            codes = [place[v] for v in mine] if mine is not None else range(len(values))
            keys = self._sides(one, key, trials)
            found[trials.key] = (*keys, np.array([*codes, -1], dtype=np.int32))
        values = list(SAME) if one.side == "same" else values
        return AttributeCodes(one, values, trial_codes=found, banded_numbers=banded)

    def _sides(self, one: Attribute, key: str, trials: TrialSet) -> tuple[str, str]:
        """Keys of the columns of either side."""
        whole, *sides = sides_of(key)
        more = trials.extra_columns
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
                    f"{self.option} {one.text!r}: {trials.name} has a column of "
                    f"{one.name!r} for one side only, not for the {side}; use enrol.{one.name} or "
                    f"test.{one.name}"
                )
                raise ConfigError(msg)
        return needed[0], needed[-1]


def _differences(
    first: AttributeCodes, other: AttributeCodes, trials: TrialSet
) -> Iterator[tuple[str, str]]:
    """Values of one side of a trial that two attributes do not agree about, one a partition."""
    place = {value: i for i, value in enumerate({*first.values, *other.values})}
    mine, theirs = (
        np.array([place[v] for v in part.values], dtype=np.int32) for part in (first, other)
    )
    sides = first.side_coder(trials), other.side_coder(trials)
    for part in trials.partitions():
        for a, b in zip(*(side(part) for side in sides), strict=True):
            known = (a >= 0) & (b >= 0)
            odd = np.flatnonzero(mine[a[known]] != theirs[b[known]])
            if odd.size:
                yield first.values[a[known][odd[0]]], other.values[b[known][odd[0]]]


def _key(one: Attribute) -> str:
    return ATTRIBUTE + one.name + one.band_suffix
