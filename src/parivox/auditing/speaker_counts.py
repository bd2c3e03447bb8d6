"""Counting of trials by who takes part in them: of a list, or of one shard of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.layout import Layout, place_trials
from parivox.core.counts import EdgeSearch
from parivox.data.speaker_counts import (
    MAX_SIDE_COMBINATIONS,
    MAX_THRESHOLDS,
    SpeakerCounts,
    SpeakerCountSums,
    n_side_combinations,
)
from parivox.data.trial_checks import ACQUIRE, ENROL
from parivox.data.trial_set import N_SCORE_PIECES
from parivox.data.units import block_groups
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet


def count_by_speaker(
    trials: TrialSet,
    thresholds: FloatArray,
    groupings: Sequence[Grouping] = (),
    block: NDArray[np.int32] | None = None,
    *,
    scored: bool = True,
) -> SpeakerCounts:
    """Add up the trials of one list that contradict nothing, by who takes part in them.

    Parameters
    ----------
    thresholds : float64 ndarray of shape (threshold,)
        Rising; at most `MAX_THRESHOLDS`.
    groupings
        What cells are to be made of: each once.
    block
        Of each speaker of the table, all of them of one group by any grouping of speakers; without
        it, each stands for itself.
    scored
        Whether trials with a score are added up; else those of recordings that failed, alone.

    Raises
    ------
    ConfigError
        If there are too many thresholds, or more combinations of groups than can be numbered.
    """
    speakers = trials.speaker_table
    assert speakers is not None
    unit_of_speaker = np.arange(len(speakers.ids), dtype=np.int32) if block is None else block
    n_units = int(unit_of_speaker.max(initial=-1)) + 1
    unit_of_utterance = np.append(unit_of_speaker, np.int32(n_units))[
        trials.utterance_speaker
    ]  # the last one: unknown
    stages = () if trials.failures is None else (ACQUIRE, ENROL)
    trial_groupings = [grouping for grouping in groupings if grouping.speaker_codes is None]
    sizes = [len(grouping.groups) + 1 for grouping in trial_groupings]
    if thresholds.size > MAX_THRESHOLDS or n_side_combinations(groupings) > MAX_SIDE_COMBINATIONS:
        msg = (
            f"speaker counts at {thresholds.size} thresholds by {len(trial_groupings)} groupings "
            "of recordings and trials are too large"
        )
        hint = f"give at most {MAX_THRESHOLDS} thresholds, and fewer groupings"
        raise ConfigError(msg, hint)
    sums, failed = (
        SpeakerCountSums(n_units, groupings, thresholds.size, len(trials.attacks)) for _ in range(2)
    )
    steps = EdgeSearch(thresholds)
    layouts = [Layout(grouping, "both", None) for grouping in trial_groupings]
    for partition in place_trials(trials, layouts, failed=stages, scored=scored):
        partition_trials = partition.trials.by_claim()
        side = np.broadcast_to(np.int64(0), len(partition_trials))
        for grouping, size in zip(trial_groupings, sizes, strict=True):
            for group in partition.groups_of_sides(grouping):
                side = side * size + group + 1
        accepted = np.broadcast_to(np.int8(-1), len(partition_trials))
        rows: dict[str, NDArray[Any]] = {
            "trial_class": partition_trials.trial_class,
            "attack": partition_trials.attack,
            "enrol_unit": unit_of_utterance.take(partition_trials.enrol),
            "test_unit": unit_of_utterance.take(partition_trials.test),
            "side_groups": side,
            "step": partition_trials.extra_columns["failed"].astype(np.uint16)
            if partition.are_failed
            else steps.step_indices(partition_trials.score).astype(np.uint16),
            "accepted": trials.decisions(partition_trials)
            if trials.has_decisions and not partition.are_failed
            else accepted,
        }
        if "count" in partition_trials.extra_columns:
            rows["trials"] = partition_trials.extra_columns["count"]
        (failed if partition.are_failed else sums).add(rows)
    used = trials.speakers_in_use
    is_used = np.zeros(n_units, dtype=np.bool_)
    is_used[unit_of_speaker[used]] = True
    unit_groupings: list[Grouping] = []
    for grouping in groupings:
        if grouping.speaker_codes is not None:
            group = block_groups(grouping.speaker_codes, unit_of_speaker, used)
            grouping = replace(grouping, speaker_codes=group)  # noqa: PLW2901 - the same by unit
        unit_groupings.append(grouping)
    keys_of_units = np.zeros((n_units, N_SCORE_PIECES), dtype=np.int64)
    keys = trials.score_keys
    np.add.at(keys_of_units, unit_of_speaker[: keys.shape[1]], keys.T)
    failed_rows = failed.total()
    return SpeakerCounts(
        thresholds,
        is_used,
        keys_of_units.T.copy(),
        tuple(unit_groupings),
        block is not None,
        speakers.content_sha256,
        (trials.content_sha256,),
        sums.total(),
        failed_rows if failed_rows["trials"].size else None,
        attacks=trials.attacks,
    )


def with_failed_trials(trials: TrialSet, speaker_counts: SpeakerCounts) -> SpeakerCounts:
    """Speaker counts of a file, with the trials of failed recordings, which no file holds."""
    if trials.failures is None:
        return speaker_counts
    failed_only = count_by_speaker(
        trials, speaker_counts.thresholds, speaker_counts.groupings, scored=False
    )
    return replace(speaker_counts, failed=failed_only.failed)
