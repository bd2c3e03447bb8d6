"""Whether target trials without score are more frequent in some groups than chance makes them.

A system that fails on hard trials and gives them no score looks better than it is. Trials of a
speaker are missing together, so that speakers are exchanged among groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.core.beyond_noise import heterogeneity
from parivox.core.noise import floor, gamma_multinomial, null_method, permuted
from parivox.core.tallies import BySpeaker, moments
from parivox.read.checks import UNSCORED_OF_CLASS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

MISSING_SCORES = "missing scores"
"""The source of rows on groups whose target trials lack scores more often than by chance."""
_LEVEL = 0.01  # of one list, over all groupings
_FEW = 10  # of fewer missing trials nothing is said
_DRAWS = 999
_SEED = 0


def add_missing_scores(
    add: Callable[..., None], trials: TrialSet, groupings: Sequence[Grouping]
) -> None:
    """Add the share of target trials without score by group, where it differs by group."""
    missing = trials.aside.get(UNSCORED_OF_CLASS[1])
    if missing is None or missing.sum() < _FEW:
        return
    by_speaker = [one for one in groupings if one.of_speaker is not None]
    all_targets = missing + _scored_targets(trials, missing.size)
    for grouping in by_speaker:
        assert grouping.of_speaker is not None
        group = grouping.of_speaker[: missing.size]
        tally = _tally(group, missing, all_targets, len(grouping.groups))
        p = _p_of_difference(tally, _LEVEL / len(by_speaker))
        if not p <= _LEVEL / len(by_speaker):
            continue
        lost, of_all = tally.by_cell(tally.errors), tally.by_cell(tally.trials)
        known = of_all > 0
        add(
            source=MISSING_SCORES,
            grouping=grouping.name,
            group=[name for name, is_known in zip(grouping.groups, known, strict=True) if is_known],
            item="target trials without score, which differ by group",
            count=lost[known].astype(np.int64),
            value=lost[known] / of_all[known],
            note=f"p = {p:.2g}, speakers exchanged among groups",
        )


def _scored_targets(trials: TrialSet, n_speakers: int) -> NDArray[np.int64]:
    """Target trials that have a score, by speaker."""
    n = np.zeros(n_speakers, dtype=np.int64)
    for part in trials.partitions():
        kept = part.without_conflicts()
        n += np.bincount(
            trials.utterance_speaker[kept.enrol[kept.target.astype(bool)]], minlength=n_speakers
        )
    return n


def _tally(
    group: NDArray[np.int32],
    missing: NDArray[np.int64],
    all_targets: NDArray[np.int64],
    n_groups: int,
) -> BySpeaker:
    """Missing trials and all of them by speaker and group."""
    speaker = np.flatnonzero((group >= 0) & (all_targets > 0))
    speaker = speaker[np.argsort(group[speaker], kind="stable")]
    return BySpeaker(group[speaker], speaker, missing[speaker], all_targets[speaker], n_groups)


def _p_of_difference(tally: BySpeaker, level: float) -> float:
    """Chance that groups alike differ as much; NaN if it cannot be told."""
    rng = np.random.default_rng(_SEED)
    draws = max(_DRAWS, int(np.ceil(4 / level)))
    if null_method(tally) == "permutation":
        null = permuted(tally, None, draws, rng)
    else:
        null = gamma_multinomial(moments(tally), draws, rng)
    rates = tally.by_cell(tally.errors) / np.maximum(tally.by_cell(tally.trials), 1)
    rates = np.where(tally.by_cell(tally.trials) > 0, rates, np.nan)
    found = heterogeneity(rates, null.rates)
    return float(floor(found.value, found.draws).p)
