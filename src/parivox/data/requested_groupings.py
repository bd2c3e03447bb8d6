"""Groupings as users ask for them: where each attribute stands, and which groups occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.data.attributes import (
    Attribute,
    AttributeCoder,
    distinct_numbers,
    parse_by,
    side_keys,
    sorted_values,
)
from parivox.data.columns import ATTRIBUTE_PREFIX, plain_name
from parivox.data.grouping import SAME_VALUES, AttributeCodes, Grouping, combination_codes
from parivox.data.speakers import matching_column
from parivox.errors import ConfigError, DataError, name_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.data.grouping import Codes
    from parivox.data.groups_file import GroupsFile
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet

POOLED = "pooled"
MAX_COMBINATIONS = 10_000_000
"""Combinations of values that are looked for."""
MAX_GROUPS = 1_000
"""Groups of one audit: it compares each with each, and each has a curve."""
MIN_DEFAULT_VALUES, MAX_DEFAULT_VALUES = 2, 50
"""Without a choice, attributes with so many values are grouped by."""
DEFAULT_GROUPINGS = f"every attribute with {MIN_DEFAULT_VALUES} to {MAX_DEFAULT_VALUES} values"
"""Who chose the groupings without a choice, as an audit records it."""
_FILE_COLUMN_NAMES = frozenset(("recording", "session", "video", "file", "path"))


def parsed_attributes(by: Iterable[str], option: str = "--by") -> list[Attribute]:
    """Attributes that groupings are made of, each once."""
    return list(dict.fromkeys(attribute for text in by for attribute in parse_by(text, option)))


def requested_values(conditions: Iterable[str]) -> dict[str, list[str]]:
    """Values that trials are to have, by grouping.

    Examples
    --------
    >>> requested_values(["grade=3", "gender=f", "grade=4"])
    {'grade': ['3', '4'], 'gender': ['f']}
    """
    wanted_values: dict[str, list[str]] = {}
    for text in conditions:
        grouping, _, value = (word.strip() for word in text.partition("="))
        if not grouping or not value:
            msg = f"--only {text!r} is not ATTRIBUTE=VALUE, for example --only grade=4"
            raise ConfigError(msg)
        wanted_values.setdefault(grouping, []).append(value)
    return wanted_values


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

    `by` names groupings as in ``gender``, ``gender+nationality``, ``age:18,30,60`` (a band contains
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
        speakers_in_use = np.unique(np.concatenate([trials.speakers_in_use for trials in sets]))
    used_speakers = np.asarray(speakers_in_use, dtype=np.int64)
    lookup = AttributeLookup(speakers, sets, file, option)
    if by is None:
        attribute_lists = lookup.choices(used_speakers)
    else:
        attribute_lists = [
            [lookup.values(attribute) for attribute in lookup.named(text)] for text in by
        ]
    groupings = [
        _combined_grouping(attributes, used_speakers, sets, option)
        for attributes in attribute_lists
    ]
    names = [grouping.name.lower() for grouping in groupings]
    for grouping in groupings:
        if names.count(grouping.name.lower()) > 1:
            msg = f"{option} names {grouping.name!r} twice"
            hint = "name each grouping once"
            raise ConfigError(msg, hint)
        if grouping.name == "all" or POOLED in grouping.groups:
            msg = (
                f"{option} {grouping.name}: the grouping name 'all' and the group name 'pooled' "
                "are reserved"
            )
            hint = "rename the attribute or the value"
            raise ConfigError(msg, hint)
        if not grouping.groups and not may_lack:
            holder = "speaker of these trials" if grouping.speaker_codes is not None else "trial"
            msg = f"{option} {grouping.name}: is unknown for every {holder}"
            hint = f"choose another attribute (available: {', '.join(lookup.names()) or 'none'})"
            raise DataError(msg, hint)
    return groupings


def _combined_grouping(
    attributes: Sequence[AttributeCodes],
    used_speakers: NDArray[np.int64],
    sets: Sequence[TrialSet],
    option: str,
) -> Grouping:
    """Combine attributes; every combination that occurs is a group."""
    sizes = [len(attribute.values) for attribute in attributes]
    total = int(np.prod(sizes, dtype=np.float64))
    name = "+".join(attribute.attribute.text for attribute in attributes)
    if total > MAX_COMBINATIONS:
        msg = f"{option} {name}: has {total:,} combinations of values, too many to count"
        hint = "group by attributes with fewer values, or by bands"
        raise ConfigError(msg, hint)
    speaker_codes: Codes | None = None
    if all(
        attribute.speaker_codes is not None and not attribute.attribute.side
        for attribute in attributes
    ):
        combination = combination_codes(
            [
                attribute.speaker_codes
                for attribute in attributes
                if attribute.speaker_codes is not None
            ],
            attributes,
        )[:-1]
        combinations, n_speakers = np.unique(combination[combination >= 0], return_counts=True)
        used_combinations = np.unique(combination[used_speakers])
        speaker_codes = combination.astype(np.int32)
    else:
        combinations = used_combinations = n_speakers = _occurring_combinations(
            attributes, sets
        )  # none is unused
    value_indices = (
        [indices.tolist() for indices in np.unravel_index(combinations, sizes)]
        if combinations.size
        else [[]]
    )
    values = [
        tuple(attribute.values[index] for attribute, index in zip(attributes, indices, strict=True))
        for indices in zip(*value_indices, strict=True)
    ]
    group_names = ["+".join(group_name) for group_name in values]
    if len(set(group_names)) < len(group_names):
        repeated_name = next(
            group_name for group_name in group_names if group_names.count(group_name) > 1
        )
        msg = f"{option} {name}: two groups would be named {repeated_name!r}"
        hint = "remove the + from the values"
        raise ConfigError(msg, hint)
    if POOLED in group_names:
        msg = (
            f"{option} {name}: a group is named {POOLED!r}, a name that is reserved for all "
            "groups together"
        )
        hint = "rename the group"
        raise ConfigError(msg, hint)
    is_kept_combination = np.isin(combinations, used_combinations)
    if is_kept_combination.sum() > MAX_GROUPS:
        msg = f"{option} {name}: has {is_kept_combination.sum():,} groups, more than {MAX_GROUPS:,}"
        hint = "group by fewer values, by bands of a number, or merge values with --groups"
        raise ConfigError(msg, hint)
    group_index = np.full(total + 1, -1, dtype=np.int32)  # the last entry is for unknown
    group_index[combinations[is_kept_combination]] = np.arange(is_kept_combination.sum())
    group_rows = list(
        zip(group_names, values, is_kept_combination.tolist(), n_speakers.tolist(), strict=True)
    )
    return Grouping(
        name,
        tuple(group_name for group_name, _, is_kept, _ in group_rows if is_kept),
        None if speaker_codes is None else group_index[speaker_codes],
        {group_name: n for group_name, _, is_kept, n in group_rows if not is_kept},
        tuple(attribute.attribute.text for attribute in attributes),
        tuple(values_of_group for _, values_of_group, is_kept, _ in group_rows if is_kept),
        _attribute_codes=tuple(attributes),
        _combination_groups=group_index,
    )


def _occurring_combinations(
    attributes: Sequence[AttributeCodes], sets: Sequence[TrialSet]
) -> NDArray[np.int64]:
    """Combinations of values that any utterance or trial has."""
    combinations: set[int] = set()
    for trials in sets:
        if all(attribute.is_of_utterances for attribute in attributes):
            codes = [
                combination_codes(
                    [attribute.utterance_codes(trials) for attribute in attributes], attributes
                )
            ]
            combinations.update(np.unique(codes[0]).tolist())
            continue
        coders = [attribute.side_coder(trials) for attribute in attributes]
        for partition in trials.partitions():
            for rows in (partition, partition.failed):
                if rows is not None:
                    attribute_sides = [coder(rows) for coder in coders]
                    for side in (0, 1):
                        combination = combination_codes(
                            [coder[side] for coder in attribute_sides], attributes
                        )
                        combinations.update(np.unique(combination).tolist())
    return np.array(sorted(combinations - {-1}), dtype=np.int64)


class AttributeLookup:
    """Where attributes are looked for: the speakers, their recordings, the trials."""

    def __init__(
        self,
        speakers: Speakers,
        sets: Sequence[TrialSet],
        groups_file: GroupsFile | None,
        option: str,
    ) -> None:
        self.speakers, self.sets, self.file, self.option = speakers, sets, groups_file, option
        tables = [trials.recordings.table for trials in sets if trials.recordings is not None]
        self.table = tables[0] if tables else None

    @property
    def _of_recordings(self) -> list[str]:
        return [] if self.table is None else self.table.attributes.columns

    def names(self) -> list[str]:
        """Every attribute that there is."""
        trial_columns = {
            key.removeprefix(ATTRIBUTE_PREFIX)
            for trial_set in self.sets
            for key in trial_set.attribute_values
        }
        return [*self.speakers.attributes.columns, *self._of_recordings, *sorted(trial_columns)]

    def sensible(self, used_speakers: NDArray[np.int64]) -> list[AttributeCodes]:
        """Every attribute of speakers or recordings that has a sensible number of values."""
        speaker_columns, recording_columns = self._columns()
        shared_names = {name.lower() for name in speaker_columns} & {
            name.lower() for name in recording_columns
        }
        groupable = []
        for source, columns in (("speaker", speaker_columns), ("recording", recording_columns)):
            for name in columns:
                text = f"{source}.{name}" if name.lower() in shared_names else name
                attribute = self.values(Attribute(text, name, source=source))
                if attribute.speaker_codes is not None:
                    codes = attribute.speaker_codes[np.unique(used_speakers)]
                else:
                    codes = np.concatenate(
                        [attribute.utterance_codes(trials) for trials in self.sets]
                    )
                known_codes = codes[codes >= 0]
                n_values = np.unique(known_codes).size
                is_name = n_values == known_codes.size > MIN_DEFAULT_VALUES
                if MIN_DEFAULT_VALUES <= n_values <= MAX_DEFAULT_VALUES and not is_name:
                    groupable.append(attribute)
        return groupable

    def _columns(self) -> tuple[list[str], list[str]]:
        """Attributes of speakers and of recordings that have a name to be grouped by."""
        speaker_columns = [name for name in self.speakers.attributes.columns if plain_name(name)]
        return speaker_columns, [
            name
            for name in self._of_recordings
            if plain_name(name) not in {"", *_FILE_COLUMN_NAMES}
        ]

    def choices(self, used_speakers: NDArray[np.int64]) -> list[list[AttributeCodes]]:
        """What to group by where nothing is named."""
        speaker_columns, recording_columns = self._columns()
        groupable = self.sensible(used_speakers)
        for attribute in groupable:
            table = (
                self.speakers if attribute.row_codes is None or self.table is None else self.table
            )
            columns = speaker_columns if table is self.speakers else recording_columns
            same_names = [
                column for column in columns if column.lower() == attribute.attribute.name.lower()
            ]
            if len(same_names) > 1:  # which would be two groupings of one name
                msg = (
                    f"{table.name}: columns {same_names[0]!r} and {same_names[1]!r} differ in "
                    "upper and lower "
                    "case only"
                )
                hint = "rename one of them, or choose one with --by"
                raise DataError(msg, hint)
        if not speaker_columns and not recording_columns:
            msg = "there is no attribute to group by"
            hint = (
                "give a speaker table with --speakers or an utterance table with --utterances, or "
                "name a column of the trials with --by"
            )
            raise DataError(msg, hint)
        if not groupable:
            msg = (
                f"{self.speakers.name}: no attribute has {MIN_DEFAULT_VALUES} to "
                f"{MAX_DEFAULT_VALUES} values among the speakers "
                "of these trials (one value for each speaker is not a grouping)"
            )
            hint = (
                "choose one with --by (available: "
                f"{', '.join([*speaker_columns, *recording_columns]) or 'none'})"
            )
            raise DataError(msg, hint)
        return [[attribute] for attribute in groupable]

    def named(self, grouping: str) -> list[Attribute]:
        """The attributes of a grouping, which a column's own name may look like."""
        if grouping in {*self.speakers.attributes.columns, *self._of_recordings}:
            return [Attribute(grouping, grouping)]
        return parse_by(grouping, self.option)

    def values(self, attribute: Attribute) -> AttributeCodes:
        """An attribute with its values, after what the groups file does to them."""
        attribute_codes = self._codes_of_level(attribute)
        definition = None if self.file is None else self.file.definition(attribute)
        if definition is None:
            return attribute_codes
        definition.refuse_empty_groups(attribute_codes.values)
        values, group_indices, excluded = definition.grouped(attribute_codes.values)
        group_index = np.array([*group_indices, -1], dtype=np.int32)
        return AttributeCodes(
            attribute_codes.attribute,
            values,
            None
            if attribute_codes.speaker_codes is None
            else group_index[attribute_codes.speaker_codes],
            None if attribute_codes.row_codes is None else group_index[attribute_codes.row_codes],
            {
                key: (enrol_key, test_key, group_index[codes])
                for key, (enrol_key, test_key, codes) in attribute_codes.trial_codes.items()
            },
            {value: attribute_codes.values.index(value) for value in excluded},
            attribute_codes,
        )

    def _codes_of_level(self, attribute: Attribute) -> AttributeCodes:
        text = attribute.text_without_bands
        literal_attribute = Attribute(attribute.text, text, "", "", attribute.edges)
        # a column may itself be called what could be an attribute with a side or bands
        column_attribute = Attribute(attribute.text, attribute.text)
        for candidate in dict.fromkeys((column_attribute, literal_attribute, attribute)):
            sources = self._places(candidate)
            if (
                candidate.edges != attribute.edges
            ):  # a column of trials has been put in bands already
                sources.pop("trial", None)
            of_whole_trials = any(
                side_keys(_trial_column_key(candidate))[0] in trials.extra_columns
                for trials in self.sets
            )
            if candidate.side and len(sources) > 1 and of_whole_trials:
                sources.pop("trial")  # the sides of which are not told apart
            if sources:
                codes_by_source = [self._read(candidate, source) for source in sources]
                for source, second_codes in zip([*sources][1:], codes_by_source[1:], strict=True):
                    self._agree(
                        candidate,
                        codes_by_source[0],
                        second_codes,
                        (next(iter(sources)), source),
                        sources,
                    )
                return codes_by_source[0]
        raise self._unknown(attribute)

    def _agree(
        self,
        attribute: Attribute,
        codes: AttributeCodes,
        further_codes: AttributeCodes,
        levels: tuple[str, str],
        places: Mapping[str, str],
    ) -> None:
        """Refuse an attribute of two levels that do not say the same of some trial."""
        value_pair = next(
            (pair for trials in self.sets for pair in _disagreements(codes, further_codes, trials)),
            None,
        )
        if value_pair is None:
            return
        meanings = " and ".join(
            f"{value!r} by {places[level]}" for value, level in zip(value_pair, levels, strict=True)
        )
        choices = " or ".join(f"{level}.{attribute.name}" for level in levels)
        msg = (
            f"{self.option} {attribute.name!r}: has two values for one side of a trial, {meanings}"
        )
        hint = f"choose {choices}"
        raise ConfigError(msg, hint)

    def _places(self, attribute: Attribute) -> dict[str, str]:
        """Levels that have the attribute, with the name of what has it."""
        places, key = {}, _trial_column_key(attribute)
        if matching_column(attribute.name, self.speakers.attributes.columns):
            places["speaker"] = self.speakers.name
        if self.table is not None and matching_column(attribute.name, self._of_recordings):
            places["recording"] = self.table.name
        for trials in [s for s in self.sets if key in s.attribute_values][:1]:
            # the file that has the column: the scores or, if these have none, the trial list
            roles = side_keys(ATTRIBUTE_PREFIX + attribute.name)
            files = [file for file in trials.provenance if file["role"] in {"scores", "trials"}]
            having = [file for file in files if any(role in file["columns"] for role in roles)]
            places["trial"] = str((having or files)[0]["name"])
        return {level: name for level, name in places.items() if attribute.source in {"", level}}

    def _unknown(self, attribute: Attribute) -> ConfigError:
        name, columns = attribute.name, self.names()
        shown_as = f"{attribute.source}.{name}".removeprefix(".")
        twice = [c for c in self.speakers.attributes.columns if c.lower() == name.lower()][1:]
        problem = "has several columns for attribute" if twice else "unknown attribute"
        file_names = self.speakers.name
        if self.sets:
            names = [file_names, *([self.table.name] if self.table is not None else [])]
            file_names = ", ".join(
                dict.fromkeys([*names, *(trial_set.name for trial_set in self.sets)])
            )
        remedy = name_hint(name, columns)
        if not remedy.startswith("did") and not self.speakers.provenance:
            remedy = "add the speaker table that contains it, with --speakers FILE"
            if self.table is not None and self.table.provenance.get("format") == "kaldi":
                remedy += "; the Kaldi folder can also be given there"
        msg = f"{self.option}: {problem} {shown_as!r} (searched {file_names})"
        return ConfigError(msg, remedy)

    def _read(self, attribute: Attribute, level: str) -> AttributeCodes:
        if level == "trial":
            return self._of_trials(attribute)
        table = self.speakers if level == "speaker" or self.table is None else self.table
        column = table.attributes[matching_column(attribute.name, table.attributes.columns)]
        coder = AttributeCoder(attribute)
        codes = coder.codes(column, table.name)
        levels, positions = coder.ordered_values()
        codes = np.append(positions[codes], np.int32(-1))
        values = list(SAME_VALUES if attribute.side == "same" else levels.values or ())
        numbers = None
        if attribute.bands is not None:
            numbers = attribute.bands.parse_cells(column.to_list(), attribute.text, table.name)
            values = values or attribute.bands.band_names(levels.numbers)
        if level == "recording":
            return AttributeCodes(attribute, values, row_codes=codes, banded_numbers=levels.numbers)
        return AttributeCodes(
            attribute, values, speaker_codes=codes, numbers=numbers, banded_numbers=levels.numbers
        )

    def _of_trials(self, attribute: Attribute) -> AttributeCodes:
        """An attribute that stands in the rows of every set of trials."""
        key = _trial_column_key(attribute)
        for trials in self.sets:
            if key not in trials.attribute_values:
                msg = (
                    f"{self.option} {attribute.name!r}: {trials.name} has no such column, but "
                    "other trials do"
                )
                hint = "group by an attribute that all of them have"
                raise ConfigError(msg, hint)
        banded = distinct_numbers(
            np.concatenate([s.attribute_values[key].numbers for s in self.sets])
        )
        if attribute.bands is not None:
            values = attribute.bands.band_names(banded)
        else:
            values = sorted_values(
                {v for s in self.sets for v in s.attribute_values[key].values or ()}
            )
        positions = {value: i for i, value in enumerate(values)}
        codes_by_trials = {}
        for trials in self.sets:
            set_values = trials.attribute_values[key].values
            codes = (
                [positions[v] for v in set_values] if set_values is not None else range(len(values))
            )
            keys = self._sides(attribute, key, trials)
            codes_by_trials[trials.key] = (*keys, np.array([*codes, -1], dtype=np.int32))
        values = list(SAME_VALUES) if attribute.side == "same" else values
        return AttributeCodes(attribute, values, trial_codes=codes_by_trials, banded_numbers=banded)

    def _sides(self, attribute: Attribute, key: str, trials: TrialSet) -> tuple[str, str]:
        """Keys of the columns of either side."""
        key_of_both, *keys_by_side = side_keys(key)
        extra_columns = trials.extra_columns
        if key_of_both in extra_columns:
            if attribute.side:
                msg = (
                    f"{self.option} {attribute.text!r}: {attribute.name!r} is a column of the "
                    "trials, with one value for both sides"
                )
                hint = f"use {self.option} {attribute.name}"
                raise ConfigError(msg, hint)
            return key_of_both, key_of_both
        used_keys = {"enrol": keys_by_side[:1], "test": keys_by_side[1:]}.get(
            attribute.side, keys_by_side
        )
        for name in used_keys:
            if name not in extra_columns:
                side = "enrolment" if name == keys_by_side[0] else "test side"
                msg = (
                    f"{self.option} {attribute.text!r}: {trials.name} has a column of "
                    f"{attribute.name!r} for one side only, not for the {side}"
                )
                hint = f"use enrol.{attribute.name} or test.{attribute.name}"
                raise ConfigError(msg, hint)
        return used_keys[0], used_keys[-1]


def _disagreements(
    codes: AttributeCodes, further_codes: AttributeCodes, trials: TrialSet
) -> Iterator[tuple[str, str]]:
    """Values of one side of a trial that two attributes do not agree about, one a partition."""
    positions = {value: i for i, value in enumerate({*codes.values, *further_codes.values})}
    position_of_code, position_of_further_code = (
        np.array([positions[value] for value in attribute.values], dtype=np.int32)
        for attribute in (codes, further_codes)
    )
    sides = codes.side_coder(trials), further_codes.side_coder(trials)
    for partition in trials.partitions():
        for a, b in zip(*(side(partition) for side in sides), strict=True):
            is_known = (a >= 0) & (b >= 0)
            differing = np.flatnonzero(
                position_of_code[a[is_known]] != position_of_further_code[b[is_known]]
            )
            if differing.size:
                row = np.flatnonzero(is_known)[differing[0]]
                yield codes.values[a[row]], further_codes.values[b[row]]


def _trial_column_key(attribute: Attribute) -> str:
    return ATTRIBUTE_PREFIX + attribute.name + attribute.band_suffix
