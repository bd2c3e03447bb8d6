"""Warnings on the design of a list, or on its scores by group, that change what an audit shows.

Each warning is a row of the table ``data`` and a limitation of the report. How often each one is
wrong on sound lists was simulated (docs/coverage.md#data-warnings).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.layout import MAX_CACHED_GROUPINGS
from parivox.core.key_sums import count_distinct
from parivox.core.separation import auc
from parivox.data.value_warnings import DataWarning
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import CellCounts
    from parivox.auditing.layout import Codes
    from parivox.core.counts import Counts
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

# Fewer trials, speakers, recordings or scores than these are not judged.
_MIN_TRIALS = 20
"""Nontarget trials of known groups."""
_MIN_SPEAKERS, _N_BUSY_SPEAKERS, _MIN_BUSY_SHARE = 10, 2, 0.8
"""Speakers of a list; of so many of them the share of trials from which on they make the list."""
_MIN_CLASS_TRIALS, _MIN_REVERSED_ERRORS = 10, 4.0
"""Trials of either class; standard errors of the AUC below 1/2."""
_MIN_RECORDINGS, _MIN_FOLLOWING_SHARE = 20, 0.98
"""Recordings; share of them whose attribute follows from the group."""
_MAX_VALUES = 20
_MIN_DISTINCT_SCORES, _N_COMPARED_TRIALS, _MAX_NEAR_RANKS, _MAX_NEAR_RANK_SHARE, _MIN_NEAR_SHARE = (
    20,
    5000,
    2,
    0.002,
    0.9,
)
"""Distinct scores; trials that are compared; how far a rank moves, and as a share of them, between
scores that are nearly the same; share of trials whose rank moves no further."""
_MAX_LOG_TRIALS, _MIN_DISTINCT_SHARE, _MIN_REPEATED_SHARE = 5_000_000, 0.5, 0.1
"""Trials of a log; distinct scores, and trials that occur again, as shares of all."""
_CHANCE_AUC = 0.5
_TRIALS_AT_ONCE = 1 << 16
"""Trials of which the groups are compared at once."""


def list_warnings(trials: TrialSet, groupings: Sequence[Grouping]) -> Iterator[DataWarning]:
    """Yield what the pairs of a list do not show: few speakers, or impostors of one kind only.

    Parameters
    ----------
    trials
        All trials of a list.
    groupings
        Only groupings of speakers are checked.

    Yields
    ------
    DataWarning
    """
    n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
    by_speaker = np.zeros((2, n_speakers), dtype=np.int64)
    of_speakers = [grouping for grouping in groupings if grouping.speaker_codes is not None]
    n_between = np.zeros(len(of_speakers), dtype=np.int64)
    is_within_tested = np.zeros(len(of_speakers), dtype=np.bool_)

    @lru_cache(maxsize=MAX_CACHED_GROUPINGS)
    def group_of_utterance(grouping_index: int) -> Codes:
        return trials.utterance_codes(_speaker_codes(of_speakers[grouping_index]))

    for partition in trials.partitions():
        without_conflicts = partition.without_conflicts()
        is_target, is_nontarget = without_conflicts.target, without_conflicts.nontarget
        enrolled = trials.utterance_speaker.take(without_conflicts.enrol)
        for label, is_of_class in enumerate((is_nontarget, is_target)):
            known_speakers = enrolled[is_of_class & (enrolled >= 0)]
            by_speaker[label] += np.bincount(known_speakers, minlength=n_speakers)
        for start in range(0, is_nontarget.size, _TRIALS_AT_ONCE):
            chunk = slice(start, start + _TRIALS_AT_ONCE)
            # one trial within a group is enough, and most lists begin with some
            for grouping_index in np.flatnonzero(~is_within_tested).tolist():
                code = group_of_utterance(grouping_index)
                enrol_group = code.take(without_conflicts.enrol[chunk])
                test_group = code.take(without_conflicts.test[chunk])
                known_pairs = is_nontarget[chunk] & (enrol_group >= 0) & (test_group >= 0)
                is_between = enrol_group != test_group
                is_within_tested[grouping_index] = bool((known_pairs & ~is_between).any())
                n_between[grouping_index] += int((known_pairs & is_between).sum())
    yield from _busy_speakers(by_speaker)
    for grouping_index in np.flatnonzero(~is_within_tested).tolist():
        grouping, n_trials = of_speakers[grouping_index], int(n_between[grouping_index])
        if n_trials >= _MIN_TRIALS and len(grouping.groups) > 1:
            yield DataWarning(
                fact("nontarget_trials_between_groups", grouping=grouping.name),
                n_trials,
                "same_group_not_tested",
            )


def recording_warnings(trials: TrialSet, groupings: Sequence[Grouping]) -> Iterator[DataWarning]:
    """Yield the attributes of recordings that follow from the group of the speaker.

    A difference between such groups may be one between their recordings.
    """
    if trials.recordings is None:
        return
    table = trials.recordings.table.attributes
    for grouping in groupings:
        if grouping.speaker_codes is None or len(grouping.groups) < 2:
            continue
        group = trials.utterance_codes(_speaker_codes(grouping))
        for attribute in table.columns:
            column = table[attribute]
            values = column.drop_nulls().unique().sort()
            if attribute in grouping.attributes or not 2 <= len(values) <= _MAX_VALUES:
                continue
            row_codes = column.rank("dense").fill_null(0).to_numpy().astype(np.int32) - 1
            value_code = trials.recordings.utterance_codes(row_codes)
            if _follows_from_group(group, value_code, len(grouping.groups), len(values)):
                names = {"attribute": attribute, "grouping": grouping.name}
                yield DataWarning(
                    fact("recordings_follow_group", **names),
                    int(((group >= 0) & (value_code >= 0)).sum()),
                    fact("may_be_by_attribute", **names),
                )


def reversed_scores(cells: CellCounts) -> Iterator[tuple[str, DataWarning]]:
    """Yield the groups whose scores run the wrong way, although those of all trials do not.

    Yields
    ------
    tuple of str and DataWarning
        The grouping, and the group with its number of trials.
    """
    for group_counts in cells.group_counts:
        if group_counts.stratum.name or group_counts.allocation != cells.group_counts[0].allocation:
            continue
        for group, counts in zip(group_counts.grouping.groups, group_counts.counts, strict=True):
            is_reversed = _is_reversed(counts)
            counts.forget_curve()  # the curves of all groups would fill memory
            if is_reversed:
                yield (
                    group_counts.grouping.name,
                    DataWarning(
                        fact("group_with_reversed_scores", group=group),
                        int(counts.n_target + counts.n_nontarget),
                        "signs_or_labels_of_group_may_be_turned",
                    ),
                )


def same_scores(first_trials: TrialSet, second_trials: TrialSet) -> str:
    """Return whether two systems give the trials of a list the same scores, perhaps on two scales.

    Ranks of up to some thousand trials are compared, so that any rising change of scale counts as
    none. Two systems of one kind differ by far more: at a correlation of .99 by one rank in ten.

    Returns
    -------
    str
        A code: ``same_scores``, ``same_scores_on_another_scale``, ``nearly_same_scores``, or
        nothing: also where the trials are not the same.
    """
    first, second = _comparable_scores(first_trials, second_trials)
    if min(np.unique(first).size, np.unique(second).size) < _MIN_DISTINCT_SCORES:
        return ""
    if np.array_equal(first, second):
        return "same_scores"
    moved = np.abs(_ranks(first) - _ranks(second))
    if not moved.any():
        return "same_scores_on_another_scale"
    is_near = moved <= max(_MAX_NEAR_RANKS, _MAX_NEAR_RANK_SHARE * first.size)
    return "nearly_same_scores" if is_near.mean() >= _MIN_NEAR_SHARE else ""


def repeated_calls(trials: TrialSet, all_counts: Counts) -> Iterator[DataWarning]:
    """Yield how many trials have the speakers and the exact score of another trial.

    The calls of two logs may overlap although each has an id of its own. Scores that are rounded
    so much that many coincide cannot show it. `all_counts` are those of all trials, perhaps in
    bins.
    """
    if trials.n_trials > _MAX_LOG_TRIALS:
        return
    # counted already: a repeated trial repeats a score, or a bin
    n_repeated_scores = trials.n_trials - all_counts.values.size
    if n_repeated_scores <= _MIN_REPEATED_SHARE * (all_counts.n_target + all_counts.n_nontarget):
        return
    partitions = zip(*_call_columns(trials), strict=True)
    columns = [np.concatenate(parts_of_column) for parts_of_column in partitions]
    scores = columns[-1]
    distinct_scores, n_by_score = count_distinct(scores)
    if scores.size < _MIN_TRIALS or distinct_scores.size < _MIN_DISTINCT_SHARE * scores.size:
        return
    if scores.size - distinct_scores.size <= _MIN_REPEATED_SHARE * scores.size:
        return  # a repeated trial repeats a score
    # only trials that share their score, which are few, can be repeated
    shared_scores = np.append(distinct_scores[n_by_score > 1], np.nan)
    is_shared = shared_scores[np.searchsorted(shared_scores[:-1], scores)] == scores
    columns = [column[is_shared] for column in columns]
    order = np.lexsort(columns)  # by which equal trials become neighbours
    enrol, test, trial_class, score = (column[order] for column in columns)
    is_repeated = (enrol[1:] == enrol[:-1]) & (test[1:] == test[:-1])
    is_repeated &= (trial_class[1:] == trial_class[:-1]) & (score[1:] == score[:-1])
    n_repeated = int(is_repeated.sum())
    if n_repeated > _MIN_REPEATED_SHARE * scores.size:
        yield DataWarning(
            "trials_with_speakers_and_score_of_others",
            n_repeated,
            "same_calls_with_other_ids",
        )


def _call_columns(trials: TrialSet) -> Iterator[tuple[NDArray[np.generic], ...]]:
    """Yield the speakers, class and score of the trials of each partition."""
    for partition in trials.partitions():
        without_conflicts = partition.without_conflicts()
        sides = (
            trials.utterance_speaker.take(side)
            for side in (without_conflicts.enrol, without_conflicts.test)
        )
        yield *sides, without_conflicts.trial_class, without_conflicts.score


def _comparable_scores(
    first_trials: TrialSet, second_trials: TrialSet
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores of up to some thousand trials; empty where the trials are not the same."""
    no_scores = np.empty(0)
    if first_trials.n_trials != second_trials.n_trials or len(first_trials.utterance_ids) != len(
        second_trials.utterance_ids
    ):
        return no_scores, no_scores
    step = max(1, first_trials.n_trials // _N_COMPARED_TRIALS)
    first_scores, second_scores = [no_scores], [no_scores]
    for first_partition, second_partition in zip(
        first_trials.partitions(), second_trials.partitions(), strict=False
    ):
        first_rows = first_partition.without_conflicts()
        second_rows = second_partition.without_conflicts()
        for side in ("enrol", "test"):
            if not np.array_equal(getattr(first_rows, side), getattr(second_rows, side)):
                return no_scores, no_scores
        first_scores.append(first_rows.score[::step])
        second_scores.append(second_rows.score[::step])
    return np.concatenate(first_scores), np.concatenate(second_scores)


def _ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each score, the mean rank where scores are equal."""
    _, score_index, n_equal = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(n_equal) - (n_equal - 1) / 2)[score_index])


def _speaker_codes(grouping: Grouping) -> NDArray[np.int32]:
    """Return the group of each speaker of a grouping of speakers."""
    assert grouping.speaker_codes is not None
    return grouping.speaker_codes


def _busy_speakers(by_speaker: NDArray[np.int64]) -> Iterator[DataWarning]:
    """Yield the classes of which two enrolled speakers make most of the trials."""
    for kind, n_trials in zip(("nontarget", "target"), by_speaker, strict=True):
        trials_of_speakers = n_trials[n_trials > 0]
        total = int(trials_of_speakers.sum())
        busiest = int(np.sort(trials_of_speakers)[-_N_BUSY_SPEAKERS:].sum())
        if trials_of_speakers.size >= _MIN_SPEAKERS and busiest >= _MIN_BUSY_SHARE * total:
            yield DataWarning(
                fact("trials_of_few_speakers", trials=kind, speakers=_N_BUSY_SPEAKERS),
                busiest,
                fact(
                    "share_of_few_speakers", share=busiest / total, speakers=trials_of_speakers.size
                ),
            )


def _follows_from_group(
    group: NDArray[np.int32], value_code: NDArray[np.int32], n_groups: int, n_values: int
) -> bool:
    """Return whether recordings of each group have nearly all one value, not the same in all."""
    is_known = (group >= 0) & (value_code >= 0)
    if is_known.sum() < _MIN_RECORDINGS:
        return False
    cells = group[is_known].astype(np.int64) * n_values + value_code[is_known]
    table = np.bincount(cells, minlength=n_groups * n_values).reshape(n_groups, n_values)
    in_use = table[table.sum(axis=1) > 0]
    most_frequent = in_use.argmax(axis=1)
    return bool(
        len(in_use) > 1
        and in_use.max(axis=1).sum() >= _MIN_FOLLOWING_SHARE * in_use.sum()
        and np.unique(most_frequent).size > 1
    )


def _is_reversed(counts: Counts) -> bool:
    """Return whether target trials score below nontarget trials, beyond chance."""
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    if min(n_target, n_nontarget) < _MIN_CLASS_TRIALS:
        return False
    # standard error of the AUC of scores that do not tell the classes apart (Mann and Whitney)
    error = math.sqrt((n_target + n_nontarget + 1) / (12 * n_target * n_nontarget))
    return float(auc(counts)) < _CHANCE_AUC - _MIN_REVERSED_ERRORS * error
