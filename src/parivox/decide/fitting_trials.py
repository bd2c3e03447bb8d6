"""Prepare the trials of one system for fitting, with their speakers dealt into folds.

Thresholds and calibrators are fitted without some folds of speakers and judged on these
(docs/methods/gates.md#cross-fitting). A set of folds is an integer, each fold a bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing import read_one_system
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker
from parivox.core.counts import Counts
from parivox.core.crossfit import deal, held_out, outside, sides
from parivox.core.key_sums import index_codes
from parivox.data.trial_set import CommonTrials, TrialSet, check_test_speakers
from parivox.data.units import finest_groups
from parivox.errors import ConfigError, DataError, name_hint
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

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


def check_groups(groups: ArrayLike, n_trials: int, known_groups: Sequence[str]) -> None:
    """Refuse groups that are not one for each trial, or not known; None stands for unknown."""
    names = np.asarray(groups, dtype=object)
    if names.shape != (n_trials,):
        msg = f"groups and scores have different lengths ({names.size} and {n_trials})"
        hint = "give one group for each score"
        raise DataError(msg, hint)
    known_names = [name for name in known_groups if name != EVERYONE]
    for name in dict.fromkeys(names.tolist()):
        if name is not None and name not in known_names:
            hint = name_hint(str(name), known_names)
            msg = f"groups: {name!r} is not known; {hint}"
            hint = "use None for an unknown group"
            raise DataError(msg, hint)


class ClusteredTrials(NamedTuple):
    """Trials of one class by speaker, or pair of speakers, and cell: a cluster is one of each."""

    rows: NDArray[np.intp]  # of these trials
    cluster_of_trial: NDArray[np.integer]
    clusters: ErrorsBySpeaker | ErrorsByPair  # without errors
    fold_bits: IntArray  # folds of the speakers of each cluster

    @classmethod
    def from_trials(
        cls,
        rows: NDArray[np.intp],
        cell: NDArray[np.integer],
        speakers: Sequence[IntArray],
        fold: IntArray,
        n_cells: int,
    ) -> ClusteredTrials:
        """Count trials by cell and by one speaker, or two who are in order."""
        n_speakers = fold.size
        n_keys = n_speakers ** len(speakers)
        speaker_key = speakers[0]
        if len(speakers) > 1:
            speaker_key = speakers[0] * n_speakers + speakers[1]
        keys, cluster_of_trial = index_codes(cell * n_keys + speaker_key, n_cells * n_keys)
        cluster_cell, cluster_key = np.divmod(keys, n_keys)
        no_errors = np.zeros(keys.size, dtype=np.int64)
        n_trials = np.bincount(cluster_of_trial, minlength=keys.size)
        if len(speakers) == 1:
            speaker_clusters = ErrorsBySpeaker(
                cluster_cell, cluster_key, no_errors, n_trials, n_cells
            )
            return cls(rows, cluster_of_trial, speaker_clusters, 1 << fold[cluster_key])
        first_speaker, second_speaker = np.divmod(cluster_key, n_speakers)
        pair_clusters = ErrorsByPair(
            cluster_cell, first_speaker, second_speaker, no_errors, n_trials, n_cells
        )
        fold_bits = (1 << fold[first_speaker]) | (1 << fold[second_speaker])
        return cls(rows, cluster_of_trial, pair_clusters, fold_bits)

    def with_errors(
        self, is_wrong: Bools, excluded_folds: int = 0
    ) -> ErrorsBySpeaker | ErrorsByPair:
        """Return the clusters outside the excluded folds, with the trials that went wrong."""
        errors = np.bincount(
            self.cluster_of_trial[is_wrong[self.rows]], minlength=self.clusters.cell.size
        )
        if not excluded_folds:
            return self.clusters.select(errors=errors)
        is_included = outside(self.fold_bits, excluded_folds)
        return self.clusters.select(is_included, errors=errors[is_included])


class SortedTrials(NamedTuple):
    """Trials in the order of their scores, with the folds of both speakers as bits."""

    score: FloatArray
    target: Bools
    fold_bits: NDArray[np.uint16]

    @classmethod
    def from_trials(cls, score: FloatArray, target: Bools, fold_bits: IntArray) -> SortedTrials:
        """Put trials in order."""
        order = np.argsort(score, kind="stable")
        return cls(score[order], target[order], fold_bits[order].astype(np.uint16))

    def counts_without(self, excluded_folds: int) -> Counts:
        """Return counts of the trials of no speaker in the excluded folds."""
        is_included = outside(self.fold_bits, excluded_folds)
        return Counts.from_sorted(self.score[is_included], self.target[is_included])


@dataclass(frozen=True, eq=False)
class FittingTrials:
    """Trials of one list with their folds."""

    score: FloatArray  # shape (trial,)
    target: Bools
    speakers: tuple[IntArray, IntArray]  # of both sides
    group: NDArray[np.int32]  # those of unknown group come last, as one more
    fold_bits: IntArray  # folds of both speakers
    groups: tuple[str, ...]
    n_folds: int
    by_group: dict[str, ClusteredTrials]  # of each rate, the trials in which it is erred
    pooled: dict[str, ClusteredTrials]
    n_enrolled: IntArray
    """Speakers whose group it is, with nontarget and with target trials, ``[class, group, fold]``.
    """

    @classmethod
    def from_arrays(
        cls,
        score: FloatArray,
        target: Bools,
        speakers: tuple[IntArray, IntArray],
        owner: IntArray,
        group: NDArray[np.int32],
        fold: IntArray,
        groups: tuple[str, ...],
    ) -> FittingTrials:
        """Count trials by the speakers who take part in them.

        `speakers` are those of both sides, `owner` the one whose group counts, which is -1 for
        none, and `fold` is that of each speaker.
        """
        n_groups, n_folds = len(groups), int(fold.max(initial=0)) + 1
        group = np.where(group < 0, n_groups, group).astype(np.int32)
        first_speaker, second_speaker = np.minimum(*speakers), np.maximum(*speakers)
        by_group, pooled = {}, {}
        n_enrolled = np.zeros((2, n_groups + 1, n_folds), dtype=np.int64)
        for label, rate in enumerate(("fpr", "fnr")):
            rows = np.flatnonzero(target == bool(label))
            speakers_of_rows = [first_speaker[rows]]
            if rate == "fpr":
                speakers_of_rows.append(second_speaker[rows])
            cell = group[rows].astype(np.int64)
            by_group[rate] = ClusteredTrials.from_trials(
                rows, cell, speakers_of_rows, fold, n_groups + 1
            )
            pooled[rate] = ClusteredTrials.from_trials(
                rows, np.zeros_like(cell), speakers_of_rows, fold, 1
            )
            keys = np.unique(cell * fold.size + owner[rows])  # group and speaker, each once
            enrolled_group, enrolled_speaker = np.divmod(keys, fold.size)
            np.add.at(n_enrolled[label], (enrolled_group, fold[enrolled_speaker]), 1)
        return cls(
            score=score,
            target=target,
            speakers=speakers,
            group=group,
            fold_bits=sides(fold[first_speaker], fold[second_speaker]),
            groups=groups,
            n_folds=n_folds,
            by_group=by_group,
            pooled=pooled,
            n_enrolled=n_enrolled[:, :n_groups],
        )

    def sorted_trials(self, rates: Sequence[str]) -> tuple[SortedTrials, list[SortedTrials]]:
        """Return all trials that count for these rates, and those of each group."""
        is_included = np.isin(self.target, [rate == "fnr" for rate in rates])
        masks = [is_included, *(is_included & (self.group == g) for g in range(len(self.groups)))]
        all_trials, *group_trials = (
            SortedTrials.from_trials(self.score[mask], self.target[mask], self.fold_bits[mask])
            for mask in masks
        )
        return all_trials, group_trials

    def too_few_speakers_reasons(self) -> list[str]:
        """Return why too few speakers of a group are left in some fit; empty for enough.

        In every fit that trials are judged by, it needs `MIN_SPEAKERS` of its own with trials of
        either class.
        """
        is_included = np.array(
            [
                [not excluded_folds >> fold & 1 for fold in range(self.n_folds)]
                for excluded_folds in held_out(self.n_folds)
            ]
        )
        # [class, group, fit], of which the worst class and fit counts
        n_speakers = (self.n_enrolled[:, :, None] * is_included).sum(axis=-1).min(axis=(0, 2))
        return [
            fact("few_speakers_to_fit", speakers=n, needed=MIN_SPEAKERS) if n < MIN_SPEAKERS else ""
            for n in n_speakers.tolist()
        ]


def read_inputs(
    scores: Any, options: HeldOutOptions
) -> tuple[TrialSet, Sequence[TrialSet], Grouping]:
    """Read the trials, the same with other scores if there are any, and the one grouping."""
    hint = "so none can be held out; give the scores"
    inputs = read_one_system(scores, options, hint, **{NORMALISED: options.normalised})
    trial_sets = [trials.identified for trials in inputs.trial_sets if trials.identified]
    for trials in trial_sets:
        check_test_speakers(trials, "to hold out speakers, all speakers must be known")
        if not trials.is_scored:
            msg = f"{trials.name}: contains decisions without scores"
            hint = "give a file with scores"
            raise DataError(msg, hint)
        if trials.whole_list is None:
            msg = f"{trials.name}: {trials.n_trials:,} trials are too many to fit in memory"
            hint = "use the trials of fewer speakers"
            raise ConfigError(msg, hint)
    if len(trial_sets) > 1 and CommonTrials.of(trial_sets).is_restricted(0, 1):
        msg = (
            f"--normalised {trial_sets[1].name}: the trials differ from those of "
            f"{trial_sets[0].name}"
        )
        hint = "give the same trials with other scores"
        raise DataError(msg, hint)
    (grouping,) = inputs.groupings
    return trial_sets[0], trial_sets[1:], grouping


def consistent_trials(trial_set: TrialSet) -> Trials:
    """Return the trials that contradict nothing."""
    (partition,) = trial_set.partitions()  # one, as they are held in memory
    return partition.without_conflicts()


def trials_with_folds(
    trial_set: TrialSet, grouping: Grouping, options: HeldOutOptions
) -> FittingTrials:
    """Return the trials with their folds."""
    trials, utterance_speaker = consistent_trials(trial_set), trial_set.utterance_speaker
    speakers = (
        utterance_speaker[trials.enrol].astype(np.int64),
        utterance_speaker[trials.test].astype(np.int64),
    )
    side = 0 if options.side == "enrol" else 1
    group = grouping.side_coder(trial_set)(trials)[side]
    used_speakers = trial_set.speakers_in_use
    fold = np.zeros(int(used_speakers.max()) + 1, dtype=np.int64)
    # dealt within the finest groups, so that every fold has speakers of each
    finest = finest_groups([grouping], fold.size)
    fold[used_speakers] = deal(finest[used_speakers], options.folds, options.seed)
    return FittingTrials.from_arrays(
        trials.score, trials.target, speakers, speakers[side], group, fold, grouping.groups
    )
