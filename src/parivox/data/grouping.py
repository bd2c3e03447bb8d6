"""Groups of trials: by the values of attributes, bands of numbers, or combinations of them.

An attribute is of a speaker or of a recording, and then each side of a trial has its own value;
or it is of the trial. A grouping gives the group of either side of every trial.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from parivox.data.attribute_warnings import attribute_warnings, number_warnings
from parivox.data.attributes import number
from parivox.data.value_warnings import RANGE_OF_NUMBERS, DataWarning, odd_numbers, odd_values
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import Attribute
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet

    Codes = NDArray[np.int32]
    Sides = tuple[Codes, Codes]

SAME = ("different", "same")
"""Values of ``same:x``."""


@frozen
class Grouping:
    """Disjoint groups of either side of a trial."""

    name: str  # attributes as the user writes them, joined by ``+``; bands as in ``age:18,30``
    # values joined by ``+``; texts sorted, numbers and bands rising. Only groups that occur.
    groups: tuple[str, ...]
    # shape (speaker,): index into `groups`, -1 where it is unknown or no group; None where
    # the group is not the speaker's but the recording's or the trial's.
    speaker_codes: Codes | None
    # groups of the speaker table that no trial has anyone of, and how many speakers each has
    unused_groups: Mapping[str, int] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()  # the attributes
    group_values: tuple[tuple[str, ...], ...] = ()  # of each group, its value of each attribute
    # the values of each attribute in order, of a grouping that a file of counts tells of
    counted_values: tuple[tuple[str, ...], ...] = ()
    _attribute_codes: tuple[AttributeCodes, ...] = field(default=(), repr=False)
    _combination_groups: Codes = field(
        default_factory=lambda: np.empty(0, dtype=np.int32), repr=False
    )

    def side_coder(self, trials: TrialSet) -> Callable[[Trials], Sides]:
        """What gives the group of either side of each trial of a partition, -1 for none."""
        if self.speaker_codes is not None or all(
            part.is_of_utterances for part in self._attribute_codes
        ):
            of = self.utterance_codes(trials)
            return lambda part: (of.take(part.enrol), of.take(part.test))
        known = [part.side_coder(trials) for part in self._attribute_codes]

        def sides(part: Trials) -> Sides:
            codes = [one(part) for one in known]
            enrol, test = (self._group_codes([both[i] for both in codes]) for i in (0, 1))
            return enrol, test

        return sides

    def utterance_codes(self, trials: TrialSet) -> Codes:
        """Group of each utterance; not for attributes of trials."""
        if self.speaker_codes is not None:
            return trials.utterance_codes(self.speaker_codes)
        return self._group_codes([part.utterance_codes(trials) for part in self._attribute_codes])

    def side_codes(self, trials: TrialSet, side: str) -> Codes | None:
        """Group of each utterance as the enrolment, or as the test recording, of a trial.

        None where it takes the other side, or the trial, to tell.
        """
        for part in self._attribute_codes:
            if part.trial_codes or part.attribute.side not in {"", side}:
                return None
        return self.utterance_codes(trials)

    def _group_codes(self, codes: Sequence[Codes]) -> Codes:
        return self._combination_groups[combined(codes, self._attribute_codes)]

    def utterance_values(self, trials: TrialSet) -> list[Codes]:
        """Value of each utterance by each attribute: what the groups of both sides follow from."""
        if not self._attribute_codes and self.speaker_codes is not None:
            return [trials.utterance_codes(self.speaker_codes)]
        return [part.utterance_codes(trials) for part in self._attribute_codes]

    @property
    def attribute_values(self) -> tuple[tuple[str, ...], ...]:
        """Values of each attribute in order: all of those that bands or a groups file make."""
        found = [*self.counted_values]
        for i, part in enumerate(self._attribute_codes):
            used = {of[i] for of in self.group_values}
            is_made = (
                part.ungrouped is not None or part.attribute.edges or part.attribute.side == "same"
            )
            found.append(tuple(one for one in part.values if is_made or one in used))
        return tuple(found)

    @property
    def speaker_numbers(self) -> NDArray[np.float64] | None:
        """The number of each speaker that the groups are bands of; None if they are not."""
        if len(self._attribute_codes) != 1 or self._attribute_codes[0].attribute.side:
            return None
        return self._attribute_codes[0].numbers

    @property
    def speaker_values(self) -> list[Codes]:
        """Of each of its attributes that is of speakers, the value of all speakers of the table."""
        return [
            part.speaker_codes for part in self._attribute_codes if part.speaker_codes is not None
        ]

    def data_warnings(self) -> Iterator[DataWarning]:
        """What is odd about the values of its attributes, and the range of those in bands."""
        parts = self._attribute_codes or (None,) * len(self.attributes)
        for text, part, values in zip(self.attributes, parts, self.attribute_values, strict=True):
            numbers = np.array([number(value) for value in values])
            if part is not None and (banded := (part.ungrouped or part).banded_numbers).size:
                name, note = part.attribute.name, f"from {banded.min():g} to {banded.max():g}"
                yield DataWarning(f"{RANGE_OF_NUMBERS} {name!r}", int(banded.size), note)
                yield from odd_numbers(name, banded)
                yield from number_warnings(name, banded)
            elif np.isnan(numbers).any():
                yield from odd_values(text, values)
                yield from attribute_warnings(text, values)
            else:
                yield from odd_numbers(text, numbers)
                yield from number_warnings(text, numbers)

    @property
    def is_of_trials(self) -> bool:
        """Whether both sides of a trial are always in one group."""
        return any(not part.is_of_utterances for part in self._attribute_codes)

    def trial_columns(self, trials: TrialSet) -> list[str]:
        """Columns of the trials that the groups are made of."""
        found = [
            part.trial_codes[trials.key][:2] for part in self._attribute_codes if part.trial_codes
        ]
        return sorted({key for both in found for key in both})

    @property
    def is_of_recordings(self) -> bool:
        """Whether any of its attributes is of the recordings."""
        return any(part.row_codes is not None for part in self._attribute_codes)

    def excluded_values(self, trials: TrialSet) -> list[tuple[str, str, int]]:
        """Values that the groups file leaves out: attribute, value and how often it occurs."""
        return [one for part in self._attribute_codes for one in part.excluded_values(trials)]


@frozen
class AttributeCodes:
    """One attribute: its values in order, and where each speaker, recording or trial has which.

    Codes are indices into `values`, -1 for unknown; those of rows and of trials have one more
    entry at the end, -1, for what is in no row.
    """

    attribute: Attribute
    values: list[str]
    speaker_codes: Codes | None = None
    row_codes: Codes | None = None
    trial_codes: Mapping[tuple[str, str], tuple[str, str, Codes]] = field(default_factory=dict)
    excluded_codes: Mapping[str, int] = field(
        default_factory=dict
    )  # value left out: its code in `raw`
    ungrouped: AttributeCodes | None = None
    numbers: NDArray[np.float64] | None = None  # of each speaker, where bands were made of them
    # distinct numbers that bands were made of, wherever they stand
    banded_numbers: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def is_of_utterances(self) -> bool:
        """Whether each utterance has a value of its own."""
        return not self.trial_codes and not self.attribute.side

    def utterance_codes(self, trials: TrialSet) -> Codes:
        """Value of each utterance."""
        if self.speaker_codes is not None:
            return trials.utterance_codes(self.speaker_codes)
        assert self.row_codes is not None
        if trials.recordings is None:
            return np.full(trials.utterance_speaker.size, -1, dtype=np.int32)
        return trials.recordings.utterance_codes(self.row_codes)

    def side_coder(self, trials: TrialSet) -> Callable[[Trials], Sides]:
        """What gives the values of either side of each trial of a partition."""
        if self.trial_codes:
            one, other, place = self.trial_codes[trials.key]
            raw: Callable[[Trials], Sides] = lambda part: (  # noqa: E731 - one of two forms
                place[part.extra_columns[one]],
                place[part.extra_columns[other]],
            )
        else:
            of_utterance = self.utterance_codes(trials)
            raw = lambda part: (of_utterance[part.enrol], of_utterance[part.test])  # noqa: E731
        side = self.attribute.side
        if not side:
            return raw
        if side == "same":
            return lambda part: _same_value(*raw(part))
        at = 0 if side == "enrol" else 1
        return lambda part: (raw(part)[at],) * 2

    def excluded_values(self, trials: TrialSet) -> list[tuple[str, str, int]]:
        """Values that are no group any more, and of how many speakers, utterances or trials."""
        if self.ungrouped is None or not self.excluded_codes:
            return []
        if self.speaker_codes is not None and self.ungrouped.speaker_codes is not None:
            used = trials.speakers_in_use
            codes = [self.ungrouped.speaker_codes[used]]
            unit = "speakers"
        elif self.row_codes is not None:
            codes, unit = [self.ungrouped.utterance_codes(trials)], "utterances"
        else:
            one, _, place = self.ungrouped.trial_codes[trials.key]
            codes, unit = [place[part.extra_columns[one]] for part in trials.partitions()], "trials"
        n = len(self.ungrouped.values)
        count = sum((np.bincount(c[c >= 0], minlength=n) for c in codes), np.zeros(n, dtype=int))
        return [
            (unit, f"{self.attribute.text} {v!r}", int(count[i]))
            for v, i in self.excluded_codes.items()
        ]


def _same_value(enrol: Codes, test: Codes) -> Sides:
    code = (enrol == test).astype(np.int32)
    code[(enrol < 0) | (test < 0)] = -1
    return code, code


def combined(codes: Sequence[Codes], parts: Sequence[AttributeCodes]) -> NDArray[np.int64]:
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
