"""Read one trial list without its scores: who is compared with whom, from which recordings.

`read_list` gives a `TrialList`, which checks, descriptions and grades walk over chunk by chunk.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.attributes import Attribute, parse_attribute
from parivox.data.cell_words import LABELS
from parivox.data.columns import plain_name
from parivox.data.recordings import read_utterances
from parivox.data.requested_groupings import AttributeLookup, make_groupings, parsed_attributes
from parivox.data.source_bytes import with_reading_options
from parivox.data.speakers import read_speakers
from parivox.data.trial_set import check_test_speakers
from parivox.data.trials import read_trials
from parivox.errors import ConfigError
from parivox.frozen import frozen
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.grouping import AttributeCodes, Codes, Grouping
    from parivox.data.recording_names import RecordingNames
    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet

TRIALS_PER_CHUNK = 1 << 18
"""Trials that are looked at together."""
_MAX_ATTRIBUTES = 6
"""Attributes that may define difficulty: k of them make 2 ** k grades."""
_USUAL_COLUMNS = (("gender", "sex"), ("nationality",))
"""Attributes of docs/references.md#paper-002, each under the names that columns have for it."""
_SPEAKER_PREFIX = "speaker."


@frozen
class Agreement:
    """Whether the sides of a trial share the value of an attribute: 1, 0 or -1 for unknown."""

    name: str  # the attribute as the user writes it
    attribute_values: AttributeCodes  # where each side has which value
    trial_codes: NDArray[np.int8] | None = None
    """Of an attribute of whole trials, whether each value says that they share it; last, -1."""

    @classmethod
    def from_attribute(cls, attribute_values: AttributeCodes, trials: TrialSet) -> Agreement:
        """Return how the values of an attribute are compared.

        Raises
        ------
        ConfigError
            If none of the values of whole trials says whether the sides share something.
        """
        attribute, values = attribute_values.attribute, attribute_values.values
        # values of whole trials say themselves whether the sides share something
        name = attribute.text.removeprefix(_SPEAKER_PREFIX)
        trial_columns = attribute_values.trial_codes.get(trials.key)
        # columns of their own for both sides are compared, like attributes of speakers
        if trial_columns is None or trial_columns[0] != trial_columns[1]:
            return cls(name, attribute_values)
        if attribute.edges:  # a distance in bands: the nearest are alike
            codes = [int(band == 0) for band in range(len(values))]
        else:
            codes = [LABELS.get(value.lower(), -1) for value in values]
        if values and max(codes) < 0:
            msg = (
                f"--grade-by {attribute.text!r}: the trial column contains "
                f"{', '.join(map(repr, values[:3]))}, but must show whether both sides share a "
                "value"
            )
            hint = (
                "write yes (shared) or no (not shared), or give bands of a number, for example "
                f"{attribute.name}:30"
            )
            raise ConfigError(msg, hint)
        return cls(name, attribute_values, np.array([*codes, -1], dtype=np.int8))

    @property
    def speaker_codes(self) -> Codes | None:
        """Value of each speaker, -1 for unknown; None where it is not of the speakers."""
        return self.attribute_values.speaker_codes

    def code_function(self, trials: TrialSet) -> Callable[[Trials], NDArray[np.int8]]:
        """Return a function from a chunk of trials to the agreement of each: 1, 0 or -1."""
        values_of_sides, trial_codes = self.attribute_values.side_coder(trials), self.trial_codes
        if trial_codes is not None:
            return lambda chunk: trial_codes[values_of_sides(chunk)[0]]
        return lambda chunk: agreement_codes(*values_of_sides(chunk))


def agreement_codes(enrol: Codes, test: Codes) -> NDArray[np.int8]:
    """Return 1 where codes are equal, 0 where they differ, -1 where one of them is unknown.

    >>> agreement_codes(np.array([0, 0, -1]), np.array([0, 1, -1])).tolist()
    [1, 0, -1]
    """
    codes: NDArray[np.int8] = (enrol == test).astype(np.int8)
    codes[(enrol < 0) | (test < 0)] = -1
    return codes


@frozen
class TrialList:
    """A list with its speakers and their recordings."""

    trials: TrialSet
    speakers: Speakers
    recording_indices: NDArray[np.int32]  # of each utterance, as `numbered_recordings` has it
    recording_names: RecordingNames  # where that is taken from
    groupings: tuple[Grouping, ...] = ()
    """By what the user asked for; without a choice, by every attribute with 2 to 50 values."""
    agreements: tuple[Agreement, ...] = ()
    """Attributes that define difficulty, the one that weighs most first."""

    @cached_property
    def attributes(self) -> tuple[AttributeCodes, ...]:
        """Every attribute of speakers with 2 to 50 values."""
        attributes = _attributes_with_few_values(self.speakers, self.trials)
        return tuple(attribute for attribute in attributes if attribute.speaker_codes is not None)

    @property
    def name(self) -> str:
        """What the file is called."""
        return str(self.trials.provenance[0]["name"])

    def chunks(self) -> Iterator[Trials]:
        """Yield every trial that contradicts no other, some at a time, in the order of the ids.

        Trials without a test speaker are left out: a list is about who is compared with whom.
        """
        is_unknown = self.trials.utterance_speaker < 0
        lacks_speakers = self.trials.n_without_test_speaker > 0
        with stage("looking at the trials", self.trials.n_trials, "trials") as progress:
            for partition in self.trials.partitions():
                for chunk in partition.without_conflicts().chunks(TRIALS_PER_CHUNK):
                    yield chunk.take(~is_unknown[chunk.test]) if lacks_speakers else chunk
                    progress.add(len(chunk))

    def same_recording(self, chunk: Trials) -> NDArray[np.int8]:
        """Return whether both sides are of one recording: 1, 0, or -1 where it is not known."""
        recording = self.recording_indices
        codes = agreement_codes(recording.take(chunk.enrol), recording.take(chunk.test))
        codes[chunk.enrol == chunk.test] = 1
        return codes


@with_reading_options
def read_list(
    source: Any,
    *,
    speakers: Any = None,
    utterances: Any = None,
    by: Sequence[str] | str | None = None,
    grade_by: Sequence[str] | str | None = None,
    id: str | None = None,  # noqa: A002 - the command line's word
    columns: Mapping[str, str] | None = None,
    conflicts: str = "error",
    encoding: str | None = None,
    quotes: str | None = None,
    keeps_scores: bool = False,
) -> TrialList:
    """Read a list of trials as `parivox.trials.check` takes it; scores do not count.

    They stand next to the trials with `keeps_scores`.

    >>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    >>> trial_list = read_list(trials)
    >>> trial_list.speakers.ids, trial_list.recording_indices.tolist()
    (('a', 'b'), [0, 0, 1])
    """
    from parivox.options.trials import DescribeOptions  # noqa: PLC0415 - an audit has its own

    options = DescribeOptions.from_keywords(
        by=by, grade_by=grade_by, id=id, columns=columns, encoding=encoding, quotes=quotes
    )
    table = None if speakers is None else read_speakers(speakers, id=id, conflicts=conflicts)
    attributes = [
        *parsed_attributes(options.by or ()),
        *parse_difficulty(options.grade_by or ()),
    ]
    with stage("reading the list"):
        trials, table = read_with_speakers(
            source,
            table,
            utterances,
            attributes,
            columns=columns,
            conflicts=conflicts,
            unscored=True,
            keeps_scores=keeps_scores,
        )
    groupings: list[Grouping] = []
    if options.by is not None or _attributes_with_few_values(table, trials):
        groupings = make_groupings(table, options.by, sets=[trials])
    return new_trial_list(trials, table, groupings=groupings, grade_by=options.grade_by)


def read_with_speakers(
    source: Any,
    speakers: Speakers | None,
    utterances: Any,
    attributes: list[Attribute],
    **options: Any,
) -> tuple[TrialSet, Speakers]:
    """Read trials with their speakers, whom their paths or the table of utterances name."""
    table = None if utterances is None else read_utterances(utterances)
    tables: dict[str, Any] = {"speakers": speakers, "utterances": table, "attributes": attributes}
    trials = read_trials(source, system="", list_="", **tables, **options)
    check_test_speakers(trials, "a list is about who is compared with whom")
    speakers = trials.speaker_table or speakers
    assert speakers is not None
    return trials, speakers


def new_trial_list(
    trials: TrialSet,
    speakers: Speakers,
    *,
    groupings: Sequence[Grouping] = (),
    grade_by: Sequence[str] | None = None,
) -> TrialList:
    """Return the list of trials that have been read; models have no recording."""
    if grade_by is None:
        attributes = usual_difficulty(speakers, groupings)
    else:
        attributes = parse_difficulty(grade_by)
    lookup = AttributeLookup(speakers, [trials], None, "--grade-by")
    names = trials.recording_names
    return TrialList(
        trials,
        speakers,
        utterance_recordings(trials, names),
        names,
        tuple(groupings),
        tuple(
            Agreement.from_attribute(lookup.values(attribute), trials) for attribute in attributes
        ),
    )


def _attributes_with_few_values(speakers: Speakers, trials: TrialSet) -> list[AttributeCodes]:
    """Return every attribute of speakers or recordings with 2 to 50 values; perhaps none."""
    return AttributeLookup(speakers, [trials], None, "--by").sensible(trials.speakers_in_use)


def parse_difficulty(names: Sequence[str]) -> list[Attribute]:
    """Read ``--grade-by``: attributes of either side, or of whole trials.

    >>> [attribute.name for attribute in parse_difficulty(["gender", "same:device"])]
    ['gender', 'device']
    """
    not_text = [name for name in names if not isinstance(name, str)]
    if not_text:
        msg = f"--grade-by {not_text[0]!r}: is not text"
        hint = "name attributes, for example gender"
        raise ConfigError(msg, hint)
    attributes = [parse_attribute(name.removeprefix("same:"), "--grade-by") for name in names]
    for attribute in attributes:
        if attribute.side or "+" in attribute.text:
            msg = (
                f"--grade-by {attribute.text!r}: contains a side or several attributes, but "
                "grades compare one attribute of both sides"
            )
            hint = "name attributes one by one, for example gender,nationality"
            raise ConfigError(msg, hint)
    lower_names = [attribute.text.lower() for attribute in attributes]
    if len(set(lower_names)) < len(lower_names) or len(attributes) > _MAX_ATTRIBUTES:
        msg = f"--grade-by names an attribute twice, or more than {_MAX_ATTRIBUTES} attributes"
        hint = "name fewer attributes, each once"
        raise ConfigError(msg, hint)
    return attributes


def usual_difficulty(speakers: Speakers, groupings: Sequence[Grouping]) -> list[Attribute]:
    """Return the attributes that define difficulty where none is named.

    These are those of paper 002 that the speakers have, else those of the groups. They are of
    speakers, whatever columns of that name there are elsewhere.
    """
    columns = {plain_name(column): column for column in reversed(speakers.attributes.columns)}
    names = []
    for words in _USUAL_COLUMNS:
        usual_columns = [columns[word] for word in words if word in columns]
        names += usual_columns[:1]
    if not names:
        for grouping in groupings:
            if grouping.speaker_codes is not None:
                names += grouping.attributes
    attributes = []
    plain_names = [name.removeprefix(_SPEAKER_PREFIX) for name in dict.fromkeys(names)]
    for name in plain_names[:_MAX_ATTRIBUTES]:
        text = f"{_SPEAKER_PREFIX}{name}"
        if name in speakers.attributes.columns:  # a column may be called what looks like bands
            attributes.append(Attribute(text, name, source="speaker"))
        else:
            attributes.append(parse_attribute(text, "--grade-by"))
    return attributes


def utterance_recordings(
    trials: TrialSet, names: RecordingNames, *, is_asked: bool = False
) -> NDArray[np.int32]:
    """Return the recording of each utterance, as `numbered_recordings`; -1 for models."""
    # models come before utterances, and have several recordings
    speaker = trials.utterance_speaker[trials.n_models :]
    recordings = numbered_recordings(names, speaker, is_asked=is_asked)
    return np.concatenate((np.full(trials.n_models, -1, dtype=np.int32), recordings))


def numbered_recordings(
    recording_names: RecordingNames, speaker: NDArray[np.int32], *, is_asked: bool = False
) -> NDArray[np.int32]:
    """Return the number of the recording of each utterance; -1 for unknown.

    Recordings of two speakers are two, whatever they are called; they are numbered in the order of
    speakers and of their names. Doubtful ones are unknown, unless the user asks for recordings.

    >>> from parivox.data.recording_names import recording_names
    >>> ids = pl.Series(["a/x/1.wav", "a/x/2.wav", "a/y/1.wav", "b.wav"])
    >>> speaker = np.array([0, 0, 0, 1], dtype=np.int32)
    >>> numbered_recordings(recording_names(ids, None, speaker), speaker).tolist()
    [0, 0, 1, -1]
    """
    names = recording_names.names if is_asked else recording_names.trusted
    name_codes = names.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()
    has_name = name_codes >= 0
    keys = speaker.astype(np.int64) * (name_codes.max(initial=0) + 1) + name_codes
    recordings = np.full(len(names), -1, dtype=np.int32)
    recordings[has_name] = np.unique(keys[has_name], return_inverse=True)[1]
    return recordings
