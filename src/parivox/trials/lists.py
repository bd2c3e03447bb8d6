"""One trial list, read without its scores: who is compared with whom, from which recordings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.attributes import Attribute, parse_attribute
from parivox.data.columns import plain
from parivox.data.recording_names import recording_names_of
from parivox.data.recordings import read_utterances
from parivox.data.requested_groupings import AttributeLookup, attributes_asked, make_groupings
from parivox.data.source_bytes import in_encoding_given
from parivox.data.speakers import read_speakers
from parivox.data.trial_set import check_test_speakers
from parivox.data.trial_values import LABELS
from parivox.data.trials import read_trials
from parivox.errors import ConfigError
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
"""Trials looked at together."""
_MOST = 6
"""Attributes that may define difficulty."""
_USUAL = (("gender", "sex"), ("nationality",))
"""Those of docs/references.md#paper-002, under the names that columns have."""
_OF_SPEAKER = "speaker."


@dataclass(frozen=True, eq=False)
class Agreement:
    """Whether the sides of a trial share the value of an attribute: 1, 0 or -1 for unknown."""

    name: str  # the attribute as the user writes it
    part: AttributeCodes  # where each side has which value
    shared: NDArray[np.int8] | None = None
    """Of an attribute of whole trials, whether each value says that they share it; last, -1."""

    @classmethod
    def of(cls, part: AttributeCodes, trials: TrialSet) -> Agreement:
        """How the values of an attribute are compared."""
        one = part.attribute
        place = part.of_trials.get(trials.key)
        if place is None or place[0] != place[1]:
            return cls(one.text.removeprefix(_OF_SPEAKER), part)
        if one.edges:  # the nearest are alike
            said = [int(i == 0) for i in range(len(part.values))]
        else:
            said = [LABELS.get(value.lower(), -1) for value in part.values]
        if part.values and max(said) < 0:
            msg = (
                f"--grade-by {one.text!r}: holds {', '.join(map(repr, part.values[:3]))} for whole "
                "trials; write yes or no, for shared or not, or give bands of a number, as in "
                f"{one.name}:30"
            )
            raise ConfigError(msg)
        return cls(one.text.removeprefix(_OF_SPEAKER), part, np.array([*said, -1], dtype=np.int8))

    @property
    def of_speaker(self) -> Codes | None:
        """Value of each speaker, -1 for unknown; None where it is not of the speakers."""
        return self.part.of_speaker

    def on(self, trials: TrialSet) -> Callable[[Trials], NDArray[np.int8]]:
        """A function from a partition of trials to this of each trial."""
        sides, shared = self.part.on(trials), self.shared
        if shared is not None:
            return lambda part: shared[sides(part)[0]]
        return lambda part: agreement_codes(*sides(part))


def agreement_codes(one: Codes, other: Codes) -> NDArray[np.int8]:
    """1 where codes are equal, 0 where they differ, -1 where one of them is unknown.

    >>> agreement_codes(np.array([0, 0, -1]), np.array([0, 1, -1])).tolist()
    [1, 0, -1]
    """
    same: NDArray[np.int8] = (one == other).astype(np.int8)
    same[(one < 0) | (other < 0)] = -1
    return same


@dataclass(frozen=True, eq=False)
class TrialList:
    """A list with its speakers and their recordings."""

    trials: TrialSet
    people: Speakers
    recording: NDArray[np.int32]  # of each utterance, as `numbered_recordings` has it
    recordings: RecordingNames  # where that is taken from
    groupings: tuple[Grouping, ...] = ()
    """By what the user asked for; without a choice, by every attribute with 2 to 50 values."""
    agreements: tuple[Agreement, ...] = ()
    """Attributes that define difficulty, the one that weighs most first."""

    @cached_property
    def attributes(self) -> tuple[AttributeCodes, ...]:
        """Every attribute of speakers with 2 to 50 values."""
        every = _sensible(self.people, self.trials)
        return tuple(part for part in every if part.of_speaker is not None)

    @property
    def name(self) -> str:
        """What the file is called."""
        return str(self.trials.provenance[0]["name"])

    def blocks(self) -> Iterator[Trials]:
        """Every trial that contradicts no other, some at a time, in the order of the ids.

        Trials without a test speaker are left out: a list is about who is compared with whom.
        """
        is_unknown = self.trials.utterance_speaker < 0
        lacks_speakers = self.trials.n_without_test_speaker > 0
        with stage("looking at the trials", self.trials.n_trials, "trials") as looking:
            for part in self.trials.partitions():
                for block in part.without_conflicts().blocks(TRIALS_PER_CHUNK):
                    yield block.take(~is_unknown[block.test]) if lacks_speakers else block
                    looking.add(len(block))

    def same_recording(self, block: Trials) -> NDArray[np.int8]:
        """Whether both sides are of one recording: 1, 0, or -1 where it is not known."""
        same = agreement_codes(self.recording.take(block.enrol), self.recording.take(block.test))
        same[block.enrol == block.test] = 1
        return same


@in_encoding_given
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

    They stand beside the trials with `keeps_scores`.

    >>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    >>> one = read_list(trials)
    >>> one.people.ids, one.recording.tolist()
    (('a', 'b'), [0, 0, 1])
    """
    from parivox.options.trials import DescribeOptions  # noqa: PLC0415 - an audit has its own

    asked = DescribeOptions.of(
        by=by, grade_by=grade_by, id=id, columns=columns, encoding=encoding, quotes=quotes
    )
    groups, graded = asked.by, asked.grade_by
    people = None if speakers is None else read_speakers(speakers, id=id, conflicts=conflicts)
    attributes = [*attributes_asked(groups or ()), *parse_difficulty(graded or ())]
    how: dict[str, Any] = {"columns": columns, "conflicts": conflicts, "unscored": True}
    how["keeps_scores"] = keeps_scores
    with stage("reading the list"):
        trials, people = read_with_speakers(source, people, utterances, attributes, **how)
    made: list[Grouping] = []
    if groups is not None or _sensible(people, trials):
        made = make_groupings(people, groups, sets=[trials])
    return list_of(trials, people, groupings=made, grade_by=graded)


def read_with_speakers(
    source: Any, people: Speakers | None, utterances: Any, attributes: list[Attribute], **how: Any
) -> tuple[TrialSet, Speakers]:
    """Read trials and whose they are, be it by their paths or by the table of utterances."""
    table = None if utterances is None else read_utterances(utterances)
    sources: dict[str, Any] = {"speakers": people, "utterances": table, "attributes": attributes}
    trials = read_trials(source, system="", list_="", **sources, **how)
    check_test_speakers(trials, "a list is about who is compared with whom")
    people = trials.people or people
    assert people is not None
    return trials, people


def list_of(
    trials: TrialSet,
    people: Speakers,
    *,
    groupings: Sequence[Grouping] = (),
    grade_by: Sequence[str] | None = None,
) -> TrialList:
    """A list of trials that have been read; models have no recording."""
    hard = usual_difficulty(people, groupings) if grade_by is None else parse_difficulty(grade_by)
    source = AttributeLookup(people, [trials], None, "--grade-by")
    names = recording_names_of(trials)
    return TrialList(
        trials,
        people,
        recordings_in(trials, names),
        names,
        tuple(groupings),
        tuple(Agreement.of(source.values(one), trials) for one in hard),
    )


def _sensible(people: Speakers, trials: TrialSet) -> list[AttributeCodes]:
    """Every attribute of speakers or recordings with 2 to 50 values; perhaps none."""
    return AttributeLookup(people, [trials], None, "--by").sensible(trials.in_use)


def parse_difficulty(names: Sequence[str]) -> list[Attribute]:
    """Read ``--grade-by``: attributes of either side, or of whole trials.

    >>> [one.name for one in parse_difficulty(["gender", "same:device"])]
    ['gender', 'device']
    """
    odd = next((one for one in names if not isinstance(one, str)), None)
    if odd is not None:
        msg = f"--grade-by {odd!r}: is not text; name attributes, as in gender"
        raise ConfigError(msg)
    attributes = [parse_attribute(text.removeprefix("same:"), "--grade-by") for text in names]
    for one in attributes:
        if one.side or "+" in one.text:
            msg = (
                f"--grade-by {one.text!r}: both sides of a trial are compared; name attributes "
                "one by one, as in gender,nationality"
            )
            raise ConfigError(msg)
    lower = [one.text.lower() for one in attributes]
    if len(set(lower)) < len(lower) or len(attributes) > _MOST:
        msg = f"--grade-by names an attribute twice, or more than {_MOST}; name each once"
        raise ConfigError(msg)
    return attributes


def usual_difficulty(people: Speakers, groupings: Sequence[Grouping]) -> list[Attribute]:
    """Attributes that define difficulty where none is named: paper 002's, else the groups'.

    They are of speakers, whatever columns of that name there are elsewhere.
    """
    columns = {plain(name): name for name in reversed(people.attributes.columns)}
    known = [next((columns[word] for word in words if word in columns), "") for words in _USUAL]
    named = [name for name in known if name]
    if not named:
        named = [one for of in groupings if of.of_speaker is not None for one in of.attributes]
    attributes = []
    for name in [one.removeprefix(_OF_SPEAKER) for one in dict.fromkeys(named)][:_MOST]:
        text = f"{_OF_SPEAKER}{name}"
        if name in people.attributes.columns:  # perhaps called what looks like bands
            attributes.append(Attribute(text, name, level="speaker"))
        else:
            attributes.append(parse_attribute(text, "--grade-by"))
    return attributes


def recordings_in(
    trials: TrialSet, names: RecordingNames, *, is_asked: bool = False
) -> NDArray[np.int32]:
    """Recording of each utterance of trials, as `numbered_recordings`; -1 for models."""
    speaker = trials.utterance_speaker[trials.n_models :]
    own = numbered_recordings(names, speaker, is_asked=is_asked)
    return np.concatenate((np.full(trials.n_models, -1, dtype=np.int32), own))


def numbered_recordings(
    found: RecordingNames, speaker: NDArray[np.int32], *, is_asked: bool = False
) -> NDArray[np.int32]:
    """Recording of each utterance: what was recorded at once, of one speaker; -1 for unknown.

    Recordings of two speakers are two, whatever they are called; they are numbered in the order of
    speakers and of their names. Doubtful ones are unknown, unless the user asks for recordings.

    >>> from parivox.data.recording_names import recording_names
    >>> ids = pl.Series(["a/x/1.wav", "a/x/2.wav", "a/y/1.wav", "b.wav"])
    >>> speaker = np.array([0, 0, 0, 1], dtype=np.int32)
    >>> numbered_recordings(recording_names(ids, None, speaker), speaker).tolist()
    [0, 0, 1, -1]
    """
    names = found.names if is_asked else found.trusted
    rank = names.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()
    known = rank >= 0
    key = speaker.astype(np.int64) * (rank.max(initial=0) + 1) + rank
    recording = np.full(len(names), -1, dtype=np.int32)
    recording[known] = np.unique(key[known], return_inverse=True)[1]
    return recording
