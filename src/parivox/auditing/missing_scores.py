"""Whether target trials without score are more frequent in some groups than chance makes them.

A system that fails on hard trials and gives them no score looks better than it is. Trials of a
speaker are missing together, so that speakers are exchanged among groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.core.beyond_noise import heterogeneity
from parivox.core.noise import floor, gamma_multinomial, null_method, permuted
from parivox.core.tallies import BySpeaker, moments, over
from parivox.read.checks import UNSCORED_OF_CLASS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

MISSING_SCORES = "missing scores"
"""The source of rows on groups whose target trials lack scores more often than by chance."""
_LEVEL = 0.005  # of one list, over all groupings; with it at most 1 in 100 sound lists are named
_MIN_MISSING = 10  # fewer missing trials are not judged
_MIN_DRAWS = 999
_SEED = 0


def add_missing_scores(
    add: Callable[..., None], trials: TrialSet, groupings: Sequence[Grouping]
) -> None:
    """Add the share of target trials without score by group, where it differs by group."""
    n_missing = trials.aside.get(UNSCORED_OF_CLASS[1])
    if n_missing is None or n_missing.sum() < _MIN_MISSING:
        return
    of_speakers = [grouping for grouping in groupings if grouping.of_speaker is not None]
    n_targets = n_missing + _scored_targets(trials, n_missing.size)
    for grouping in of_speakers:
        assert grouping.of_speaker is not None
        speaker_groups = grouping.of_speaker[: n_missing.size]
        tally = _missing_by_speaker(speaker_groups, n_missing, n_targets, len(grouping.groups))
        level = _LEVEL / len(of_speakers)
        p = _p_of_difference(tally, level)
        if not p <= level:
            continue
        group_missing, group_targets = tally.by_cell(tally.errors), tally.by_cell(tally.trials)
        has_targets = group_targets > 0
        add(
            source=MISSING_SCORES,
            grouping=grouping.name,
            group=[grouping.groups[i] for i in np.flatnonzero(has_targets).tolist()],
            item="target trials without score, which differ by group",
            count=group_missing[has_targets].astype(np.int64),
            value=group_missing[has_targets] / group_targets[has_targets],
            note=f"p = {p:.2g}, speakers exchanged among groups",
        )


def _scored_targets(trials: TrialSet, n_speakers: int) -> NDArray[np.int64]:
    """Return the number of target trials that have a score, ``[speaker]``."""
    n_scored = np.zeros(n_speakers, dtype=np.int64)
    for part in trials.partitions():
        kept = part.without_conflicts()
        enrolled = kept.enrol[kept.target.astype(bool)]
        n_scored += np.bincount(trials.utterance_speaker[enrolled], minlength=n_speakers)
    return n_scored


def _missing_by_speaker(
    speaker_groups: NDArray[np.int32],
    n_missing: NDArray[np.int64],
    n_targets: NDArray[np.int64],
    n_groups: int,
) -> BySpeaker:
    """Return missing target trials, as errors, and all of them by speaker and group."""
    speaker = np.flatnonzero((speaker_groups >= 0) & (n_targets > 0))
    speaker = speaker[np.argsort(speaker_groups[speaker], kind="stable")]
    return BySpeaker(
        speaker_groups[speaker], speaker, n_missing[speaker], n_targets[speaker], n_groups
    )


def _p_of_difference(tally: BySpeaker, level: float) -> float:
    """Return the chance that equal shares differ as much between groups; NaN if unknown."""
    rng = np.random.default_rng(_SEED)
    n_draws = max(_MIN_DRAWS, int(np.ceil(4 / level)))
    if null_method(tally) == "permutation":
        null = permuted(tally, None, n_draws, rng)
    else:
        null = gamma_multinomial(moments(tally), n_draws, rng)
    group_targets = tally.by_cell(tally.trials)
    shares = over(tally.by_cell(tally.errors), group_targets)
    difference = heterogeneity(shares, null.rates)
    return float(floor(difference.value, difference.draws).p)
