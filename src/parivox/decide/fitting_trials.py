"""The trials of one system that something is fitted on, with speakers dealt into folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing import finest_groups, read_one_system
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, index_codes
from parivox.core.counts import Counts
from parivox.core.crossfit import deal, held_out, outside, sides
from parivox.data.trial_set import CommonTrials, TrialSet, check_test_speakers
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_checks import Trials
    from parivox.options.decide import HeldOutOptions

    Bools = NDArray[np.bool_]

NORMALISED = "normalised"
EVERYONE = "everyone"
RATES = ("fpr", "fnr")
MIN_SPEAKERS = 5
"""Enrolled speakers with trials of either class that what is a group's own is fitted on."""


class ClusteredTrials(NamedTuple):
    """Trials of one class by who takes part in them, in cells."""

    rows: NDArray[np.intp]  # of these trials
    entry: NDArray[np.integer]  # that each counts in
    tally: ErrorsBySpeaker | ErrorsByPair  # without errors
    bits: IntArray  # folds of the speakers of each entry

    @classmethod
    def of(
        cls,
        rows: NDArray[np.intp],
        cell: NDArray[np.integer],
        who: Sequence[IntArray],
        fold: IntArray,
        n_cells: int,
    ) -> ClusteredTrials:
        """Tally trials by cell and by one speaker, or two who are in order."""
        n = fold.size
        size = n ** len(who)
        person = who[0] if len(who) == 1 else who[0] * n + who[1]
        codes, entry = index_codes(cell * size + person, n_cells * size)
        at, number = np.divmod(codes, size)
        none = np.zeros(codes.size, dtype=np.int64)
        counts = (none, np.bincount(entry, minlength=codes.size), n_cells)
        if len(who) == 1:
            return cls(rows, entry, ErrorsBySpeaker(at, number, *counts), 1 << fold[number])
        one, other = np.divmod(number, n)
        bits = (1 << fold[one]) | (1 << fold[other])
        return cls(rows, entry, ErrorsByPair(at, one, other, *counts), bits)

    def with_errors(self, wrong: Bools, held: int = 0) -> ErrorsBySpeaker | ErrorsByPair:
        """The tally of those outside the folds held out, with the trials that went wrong."""
        errors = np.bincount(self.entry[wrong[self.rows]], minlength=self.tally.cell.size)
        if not held:
            return self.tally.select(errors=errors)
        kept = outside(self.bits, held)
        return self.tally.select(kept, errors=errors[kept])


class SortedTrials(NamedTuple):
    """Trials in the order of their scores, with the folds of both speakers as bits."""

    score: FloatArray
    target: Bools
    bits: NDArray[np.uint16]

    @classmethod
    def of(cls, score: FloatArray, target: Bools, bits: IntArray) -> SortedTrials:
        """Put trials in order."""
        order = np.argsort(score, kind="stable")
        return cls(score[order], target[order], bits[order].astype(np.uint16))

    def without(self, held: int) -> Counts:
        """Counts of the trials of no speaker in the folds held out."""
        kept = outside(self.bits, held)
        return Counts.from_sorted(self.score[kept], self.target[kept])


@dataclass(frozen=True, eq=False)
class FittingTrials:
    """Trials of one list with their folds."""

    score: FloatArray  # shape (trial,)
    target: Bools
    group: NDArray[np.int32]  # those of unknown group come last, as one more
    bits: IntArray  # folds of both speakers
    groups: tuple[str, ...]
    folds: int
    by_group: dict[str, ClusteredTrials]  # of each rate, the trials in which it is erred
    everyone: dict[str, ClusteredTrials]
    enrolled: IntArray
    """Speakers whose group it is, with nontarget and with target trials, ``[class, group, fold]``.
    """

    @classmethod
    def of(
        cls,
        score: FloatArray,
        target: Bools,
        speakers: tuple[IntArray, IntArray],
        owner: IntArray,
        group: NDArray[np.int32],
        fold: IntArray,
        groups: tuple[str, ...],
    ) -> FittingTrials:
        """Tally who is behind the trials.

        `speakers` are those of both sides, `owner` the one whose group, -1 for none, is asked for.
        """
        n_groups, folds = len(groups), int(fold.max(initial=0)) + 1
        group = np.where(group < 0, n_groups, group).astype(np.int32)
        one, other = np.minimum(*speakers), np.maximum(*speakers)
        by_group, everyone = {}, {}
        enrolled = np.zeros((2, n_groups + 1, folds), dtype=np.int64)
        for rate, is_target in (("fpr", False), ("fnr", True)):
            rows = np.flatnonzero(target == is_target)
            who = (one[rows],) if is_target else (one[rows], other[rows])
            cell = group[rows].astype(np.int64)
            by_group[rate] = ClusteredTrials.of(rows, cell, who, fold, n_groups + 1)
            everyone[rate] = ClusteredTrials.of(rows, np.zeros_like(cell), who, fold, 1)
            known = np.unique(cell * fold.size + owner[rows])
            np.add.at(enrolled[int(is_target)], (known // fold.size, fold[known % fold.size]), 1)
        return cls(
            *(score, target, group, sides(fold[one], fold[other]), groups, folds),
            *(by_group, everyone, enrolled[:, :n_groups]),
        )

    def in_order(self, rates: Sequence[str]) -> tuple[SortedTrials, list[SortedTrials]]:
        """All trials in which such rates are told, and those of each group."""
        every = np.isin(self.target, [rate == "fnr" for rate in rates])
        chosen = [every, *(every & (self.group == g) for g in range(len(self.groups)))]
        everything, *groups = (
            SortedTrials.of(self.score[rows], self.target[rows], self.bits[rows]) for rows in chosen
        )
        return everything, groups

    def too_few(self) -> list[str]:
        """Why too few speakers of a group are left in some fit; empty where they are enough.

        In every fit that trials are judged by, it needs `FEWEST` of its own with trials of either
        class.
        """
        inside = np.array(
            [[not held >> k & 1 for k in range(self.folds)] for held in held_out(self.folds)]
        )
        speakers = (self.enrolled[:, :, None] * inside).sum(axis=-1).min(axis=(0, 2))
        return [
            f"{n} of its speakers are left to fit on, {MIN_SPEAKERS} needed"
            if n < MIN_SPEAKERS
            else ""
            for n in speakers.tolist()
        ]


def read_inputs(
    scores: Any, asked: HeldOutOptions
) -> tuple[TrialSet, Sequence[TrialSet], Grouping]:
    """The trials, the same with other scores if there are any, and the one grouping."""
    why = "of whom some are held out; give the scores"
    read = read_one_system(scores, asked, why, **{NORMALISED: asked.normalised})
    sets = [one for one in read.trial_sets if isinstance(one, TrialSet)]
    for one in sets:
        check_test_speakers(one, "all speakers must be known to hold some of them out")
        if not one.is_scored:
            msg = f"{one.name}: holds decisions without scores; give scores"
            raise DataError(msg)
        if not one.is_held:
            why = "too many to hold in memory; take those of some speakers"
            msg = f"{one.name}: {one.n_trials:,} trials are {why}"
            raise ConfigError(msg)
    if len(sets) > 1 and CommonTrials.of(sets).is_restricted(0, 1):
        msg = (
            f"--normalised {sets[1].name}: its trials are not those of {sets[0].name}; give the "
            "same trials with other scores"
        )
        raise DataError(msg)
    (grouping,) = read.groupings
    return sets[0], sets[1:], grouping


def consistent_trials(chosen: TrialSet) -> Trials:
    """The trials that contradict nothing."""
    (part,) = chosen.partitions()
    return part.without_conflicts()


def fitting_trials_of(chosen: TrialSet, grouping: Grouping, asked: HeldOutOptions) -> FittingTrials:
    """The trials with their folds."""
    part, speaker = consistent_trials(chosen), chosen.utterance_speaker
    both = speaker[part.enrol].astype(np.int64), speaker[part.test].astype(np.int64)
    at = 0 if asked.side == "enrol" else 1
    group = grouping.on(chosen)(part)[at]
    used = chosen.in_use
    fold = np.zeros(int(used.max()) + 1, dtype=np.int64)
    fold[used] = deal(finest_groups([grouping], fold.size)[used], asked.folds, asked.seed)
    return FittingTrials.of(part.score, part.target, both, both[at], group, fold, grouping.groups)
