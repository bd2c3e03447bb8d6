"""Whether trials without score are more frequent in some groups than chance makes them.

A system that fails on hard trials and gives them no score looks better than it is. Trials of a
speaker are missing together, so that speakers are exchanged among groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.core.cluster_errors import ErrorsBySpeaker, moments, safe_divide
from parivox.data.trial_checks import UNSCORED_OF_CLASS, UNSCORED_TESTS
from parivox.facts import fact, joined_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

MISSING_SCORES = "missing scores"
"""The source of rows on groups whose trials lack scores more often than by chance."""
MISSING_TARGETS = "missing_target_scores_differ"
MISSING_NONTARGETS = "missing_nontarget_scores_differ"
_MAX_P = 0.0025  # of one list and class, over all groupings; with it at most 1 in 100 are named
_MIN_MISSING = 10  # fewer missing trials are not judged
_MIN_DRAWS = 999
_SEED = 0
# A nontarget trial counts for both speakers, so that a share follows its own speaker and those it
# is tested with, who may be in the same group: up to twice the deviation of one speaker alone.
_DEVIATION_OF_PAIRS = 2


def add_missing_scores(
    add: Callable[..., None], trials: TrialSet, groupings: Sequence[Grouping]
) -> None:
    """Add the share of trials of a class without score by group, where it differs by group."""
    missing_nontargets, missing_targets = (
        trials.counts_by_speaker.get(trial_item) for trial_item in UNSCORED_OF_CLASS
    )
    missing_of_test_speakers = trials.counts_by_speaker.get(UNSCORED_TESTS)
    if missing_targets is not None and missing_targets.sum() >= _MIN_MISSING:
        n_targets = missing_targets + _scored_trials(trials, missing_targets.size, is_target=True)
        _add_differences(add, groupings, missing_targets, n_targets, is_target=True)
    if (
        missing_nontargets is None
        or missing_of_test_speakers is None
        or missing_nontargets.sum() < _MIN_MISSING
    ):
        return
    missing_of_both_speakers = missing_nontargets + missing_of_test_speakers
    n_nontargets = missing_of_both_speakers + _scored_trials(
        trials, missing_of_both_speakers.size, is_target=False
    )
    _add_differences(add, groupings, missing_of_both_speakers, n_nontargets, is_target=False)


def _add_differences(
    add: Callable[..., None],
    groupings: Sequence[Grouping],
    n_missing: NDArray[np.int64],
    n_trials: NDArray[np.int64],
    *,
    is_target: bool,
) -> None:
    """Add a row for each group of groupings by which missing scores of a class differ."""
    of_speakers = [grouping for grouping in groupings if grouping.speaker_codes is not None]
    for grouping in of_speakers:
        assert grouping.speaker_codes is not None
        speaker_groups = grouping.speaker_codes[: n_missing.size]
        missing_by_speaker = _missing_by_speaker(
            speaker_groups, n_missing, n_trials, len(grouping.groups)
        )
        max_p = _MAX_P / len(of_speakers)
        p = _p_of_difference(missing_by_speaker, max_p, 1 if is_target else _DEVIATION_OF_PAIRS)
        if not p <= max_p:
            continue
        group_missing, group_trials = (
            missing_by_speaker.sum_by_cell(missing_by_speaker.errors),
            missing_by_speaker.sum_by_cell(missing_by_speaker.trials),
        )
        has_trials = group_trials > 0
        add(
            source=MISSING_SCORES,
            grouping=grouping.name,
            group=[grouping.groups[i] for i in np.flatnonzero(has_trials).tolist()],
            item=MISSING_TARGETS if is_target else MISSING_NONTARGETS,
            count=group_missing[has_trials].astype(np.int64),
            value=group_missing[has_trials] / group_trials[has_trials],
            note=joined_facts(
                "" if is_target else "counted_for_both_speakers",
                fact("p_of_exchanged_speakers", p=float(p)),
            ),
        )


def _scored_trials(trials: TrialSet, n_speakers: int, *, is_target: bool) -> NDArray[np.int64]:
    """Return the number of trials of a class that have a score, ``[speaker]``.

    Target trials count for their enrolment speaker, nontarget trials for both speakers.
    """
    n_scored = np.zeros(n_speakers, dtype=np.int64)
    for partition in trials.partitions():
        without_conflicts = partition.without_conflicts()
        is_counted = without_conflicts.trial_class == int(is_target)
        sides = [without_conflicts.enrol]
        if not is_target:
            sides.append(without_conflicts.test)
        for utterances in sides:
            speaker = trials.utterance_speaker[utterances[is_counted]]
            n_scored += np.bincount(speaker[speaker >= 0], minlength=n_speakers)
    return n_scored


def _missing_by_speaker(
    speaker_groups: NDArray[np.int32],
    n_missing: NDArray[np.int64],
    n_trials: NDArray[np.int64],
    n_groups: int,
) -> ErrorsBySpeaker:
    """Return missing trials, as errors, and all of them by speaker and group."""
    speaker = np.flatnonzero((speaker_groups >= 0) & (n_trials > 0))
    speaker = speaker[np.argsort(speaker_groups[speaker], kind="stable")]
    return ErrorsBySpeaker(
        speaker_groups[speaker], speaker, n_missing[speaker], n_trials[speaker], n_groups
    )


def _p_of_difference(missing_by_speaker: ErrorsBySpeaker, max_p: float, deviation: float) -> float:
    """Return the chance that equal shares differ as much between groups; NaN if unknown.

    Shares deviate by `deviation` times what exchanging speakers shows.
    """
    from parivox.core.beyond_noise import heterogeneity  # noqa: PLC0415 - if scores are missing
    from parivox.core.noise import (  # noqa: PLC0415 - likewise
        floor,
        gamma_multinomial,
        null_method,
        permuted,
    )

    rng = np.random.default_rng(_SEED)
    n_draws = max(_MIN_DRAWS, int(np.ceil(4 / max_p)))
    if null_method(missing_by_speaker) == "permutation":
        equal_rates = permuted(missing_by_speaker, None, n_draws, rng)
    else:
        equal_rates = gamma_multinomial(moments(missing_by_speaker), n_draws, rng)
    shares = safe_divide(
        missing_by_speaker.sum_by_cell(missing_by_speaker.errors),
        missing_by_speaker.sum_by_cell(missing_by_speaker.trials),
    )
    difference = heterogeneity(shares, equal_rates.rates)
    return float(floor(difference.value / deviation**2, difference.draws).p)
