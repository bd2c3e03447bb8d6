"""Groups of trials: by the values of attributes, bands of numbers, or combinations of them.

An attribute is of a speaker or of a recording, and then each side of a trial has its own value;
or it is of the trial. A grouping gives the group of either side of every trial.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.data.attribute_warnings import attribute_warnings, number_warnings
from parivox.data.attributes import finite_number
from parivox.data.value_warnings import (
    RANGE_OF_NUMBERS,
    DataWarning,
    distant_number_warnings,
    value_warnings,
)
from parivox.facts import fact
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import Attribute
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet

    Codes = NDArray[np.int32]
    Sides = tuple[Codes, Codes]

SAME_VALUES = ("different", "same")
"""Values of ``same:x``."""


class ExcludedValue(NamedTuple):
    """A value of an attribute that the groups file leaves out."""

    unit: str  # whose value it is: ``speakers``, ``utterances`` or ``trials``
    attribute: str
    value: str
    n_units: int  # how many of them have it

    @property
    def item(self) -> str:
        """What is left out, as a fact."""
        return fact(
            "left_out_by_groups_file", unit=self.unit, attribute=self.attribute, value=self.value
        )


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
            attribute_codes.is_of_utterances for attribute_codes in self._attribute_codes
        ):
            utterance_codes = self.utterance_codes(trials)
            return lambda trials_part: (
                utterance_codes.take(trials_part.enrol),
                utterance_codes.take(trials_part.test),
            )
        attribute_coders = [
            attribute_codes.side_coder(trials) for attribute_codes in self._attribute_codes
        ]

        def sides(trials_part: Trials) -> Sides:
            codes = [coder(trials_part) for coder in attribute_coders]
            enrol, test = (self._group_codes([side_pair[i] for side_pair in codes]) for i in (0, 1))
            return enrol, test

        return sides

    def utterance_codes(self, trials: TrialSet) -> Codes:
        """Group of each utterance; not for attributes of trials."""
        if self.speaker_codes is not None:
            return trials.utterance_codes(self.speaker_codes)
        return self._group_codes(
            [attribute.utterance_codes(trials) for attribute in self._attribute_codes]
        )

    def side_codes(self, trials: TrialSet, side: str) -> Codes | None:
        """Group of each utterance as the enrolment, or as the test recording, of a trial.

        None where it takes the other side, or the trial, to tell.
        """
        for attribute in self._attribute_codes:
            if attribute.trial_codes or attribute.attribute.side not in {"", side}:
                return None
        return self.utterance_codes(trials)

    def _group_codes(self, codes: Sequence[Codes]) -> Codes:
        return self._combination_groups[combination_codes(codes, self._attribute_codes)]

    def utterance_values(self, trials: TrialSet) -> list[Codes]:
        """Value of each utterance by each attribute: what the groups of both sides follow from."""
        if not self._attribute_codes and self.speaker_codes is not None:
            return [trials.utterance_codes(self.speaker_codes)]
        return [attribute.utterance_codes(trials) for attribute in self._attribute_codes]

    @property
    def attribute_values(self) -> tuple[tuple[str, ...], ...]:
        """Values of each attribute in order: all of those that bands or a groups file make."""
        ordered = [*self.counted_values]
        for i, attribute in enumerate(self._attribute_codes):
            used_values = {group[i] for group in self.group_values}
            is_made = (
                attribute.ungrouped is not None
                or attribute.attribute.edges
                or attribute.attribute.side == "same"
            )
            ordered.append(
                tuple(value for value in attribute.values if is_made or value in used_values)
            )
        return tuple(ordered)

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
            attribute.speaker_codes
            for attribute in self._attribute_codes
            if attribute.speaker_codes is not None
        ]

    def data_warnings(self) -> Iterator[DataWarning]:
        """What is odd about the values of its attributes, and the range of those in bands."""
        attribute_codes = self._attribute_codes or (None,) * len(self.attributes)
        for text, attribute, values in zip(
            self.attributes, attribute_codes, self.attribute_values, strict=True
        ):
            numbers = np.array([finite_number(value) for value in values])
            if (
                attribute is not None
                and (banded_numbers := (attribute.ungrouped or attribute).banded_numbers).size
            ):
                name = attribute.attribute.name
                note = fact(
                    "number_range",
                    low=float(banded_numbers.min()),
                    high=float(banded_numbers.max()),
                )
                what = fact(RANGE_OF_NUMBERS, attribute=name)
                yield DataWarning(what, int(banded_numbers.size), note)
                yield from distant_number_warnings(name, banded_numbers)
                yield from number_warnings(name, banded_numbers)
            elif np.isnan(numbers).any():
                yield from value_warnings(text, values)
                yield from attribute_warnings(text, values)
            else:
                yield from distant_number_warnings(text, numbers)
                yield from number_warnings(text, numbers)

    @property
    def is_of_trials(self) -> bool:
        """Whether both sides of a trial are always in one group."""
        return any(not attribute.is_of_utterances for attribute in self._attribute_codes)

    def trial_columns(self, trials: TrialSet) -> list[str]:
        """Columns of the trials that the groups are made of."""
        column_pairs = [
            attribute.trial_codes[trials.key][:2]
            for attribute in self._attribute_codes
            if attribute.trial_codes
        ]
        return sorted({key for pair in column_pairs for key in pair})

    def excluded_values(self, trials: TrialSet) -> list[ExcludedValue]:
        """Values that the groups file leaves out."""
        return [
            excluded
            for attribute in self._attribute_codes
            for excluded in attribute.excluded_values(trials)
        ]


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
    # code in `ungrouped` of each value left out
    excluded_codes: Mapping[str, int] = field(default_factory=dict)
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
        """Return what gives the values of both sides of the trials of a partition."""
        both_sides = self._raw_side_coder(trials)
        side = self.attribute.side
        if not side:
            return both_sides
        if side == "same":
            return lambda partition: _same_value(*both_sides(partition))
        # the value of one side stands for the whole trial, so both sides get it
        side_index = 0 if side == "enrol" else 1
        return lambda partition: (both_sides(partition)[side_index],) * 2

    def _raw_side_coder(self, trials: TrialSet) -> Callable[[Trials], Sides]:
        """Return what gives each side its own value, whatever `Attribute.side` asks for."""
        if self.trial_codes:
            enrol_column, test_column, final_code = self.trial_codes[trials.key]
            return lambda partition: (
                final_code[partition.extra_columns[enrol_column]],
                final_code[partition.extra_columns[test_column]],
            )
        utterance_codes = self.utterance_codes(trials)
        return lambda partition: (
            utterance_codes[partition.enrol],
            utterance_codes[partition.test],
        )

    def excluded_values(self, trials: TrialSet) -> list[ExcludedValue]:
        """Values that are no group any more, and of how many speakers, utterances or trials."""
        if self.ungrouped is None or not self.excluded_codes:
            return []
        if self.speaker_codes is not None and self.ungrouped.speaker_codes is not None:
            speakers_in_use = trials.speakers_in_use
            codes = [self.ungrouped.speaker_codes[speakers_in_use]]
            unit = "speakers"
        elif self.row_codes is not None:
            codes, unit = [self.ungrouped.utterance_codes(trials)], "utterances"
        else:
            enrol_column, _, final_code = self.ungrouped.trial_codes[trials.key]
            codes, unit = (
                [
                    final_code[partition.extra_columns[enrol_column]]
                    for partition in trials.partitions()
                ],
                "trials",
            )
        n_values = len(self.ungrouped.values)
        count = sum(
            (
                np.bincount(value_codes[value_codes >= 0], minlength=n_values)
                for value_codes in codes
            ),
            np.zeros(n_values, dtype=int),
        )
        return [
            ExcludedValue(unit, self.attribute.text, excluded, int(count[code]))
            for excluded, code in self.excluded_codes.items()
        ]


def _same_value(enrol: Codes, test: Codes) -> Sides:
    code = (enrol == test).astype(np.int32)
    code[(enrol < 0) | (test < 0)] = -1
    return code, code


def combination_codes(
    codes: Sequence[Codes], attributes: Sequence[AttributeCodes]
) -> NDArray[np.int64]:
    """One number for the values of several attributes; -1 if one of them is unknown."""
    if len(codes) == 1:
        return codes[0].astype(np.int64)
    combination = np.zeros(codes[0].shape, dtype=np.int64)
    is_known = np.ones(codes[0].shape, dtype=bool)
    for value_codes, attribute in zip(codes, attributes, strict=True):
        combination = combination * len(attribute.values) + value_codes
        is_known &= value_codes >= 0
    combination[~is_known] = -1
    return combination
