"""Warnings on the spoof trials of a list: few claims of an attack, attacks that differ by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.attacks import MAX_SHARE_DIFFERENCE, UNKNOWN_ATTACK
from parivox.core.cluster_errors import safe_divide
from parivox.core.counts import SPOOF
from parivox.data.value_warnings import DataWarning
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.attacks import GroupAttacks
    from parivox.auditing.cell_counts import GroupCounts
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet

_MIN_CLAIMED_SPEAKERS = 5
"""Claimed speakers of an attack."""
_MAX_SPOOF_SHARE_DIFFERENCE = 0.05
"""Difference between groups in the share of spoof trials from which on SASV-EERs differ by it."""


def spoof_warnings(
    trials: TrialSet | SpeakerCounts,
    identified: TrialSet | None,
    attacks: Mapping[tuple[str, str], GroupAttacks],
) -> Iterator[DataWarning]:
    """Yield what is odd about spoof trials.

    Parameters
    ----------
    trials
        All trials of a list, or speaker counts of them.
    identified
        The same with their recordings; None where these are not known.
    attacks
        Spoof trials by attack of each grouping and stratum; empty if no attack is known.

    Yields
    ------
    DataWarning
    """
    if trials.n_classes == SPOOF:
        return
    n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
    is_claimed, is_target_speaker = np.zeros((2, n_speakers), dtype=np.bool_)
    n_without_attack = 0
    for partition, _ in trials.partitions_by_layout(()):
        valid_trials = partition.without_conflicts()
        speaker = trials.utterance_speaker.take(valid_trials.enrol)
        is_target_speaker[speaker[valid_trials.target]] = True
        spoof_trials = valid_trials.take(valid_trials.spoof)
        is_claimed[trials.utterance_speaker.take(spoof_trials.enrol)] = True
        trials_of_row = spoof_trials.extra_columns.get(
            "count", np.ones(len(spoof_trials), np.int64)
        )
        n_without_attack += int(trials_of_row[spoof_trials.attack < 0].sum())
    if n_without_attack:
        yield DataWarning("spoof_trials_without_attack", n_without_attack)
    n_without_target = int((is_claimed & ~is_target_speaker).sum())
    if n_without_target and trials.people is not None:
        note = "claimed_speakers_may_be_other_people"
        yield DataWarning("claimed_speakers_without_target_trials", n_without_target, note)
    n_shared = 0 if identified is None else _n_recordings_of_several_claims(identified)
    if n_shared:
        yield DataWarning("spoofed_recordings_of_several_claims", n_shared, "claims_are_dependent")
    if attacks:
        yield from _attack_warnings(attacks)


def _n_recordings_of_several_claims(trials: TrialSet) -> int:
    """Return the number of recordings in spoof trials of several claimed speakers."""
    n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
    claim_codes = []
    for partition in trials.partitions():
        valid_trials = partition.without_conflicts()
        spoof_trials = valid_trials.take(valid_trials.spoof)
        claimed_speakers = trials.utterance_speaker.take(spoof_trials.enrol)
        codes = spoof_trials.test.astype(np.int64) * n_speakers + claimed_speakers
        claim_codes.append(np.unique(codes))
    recordings = np.unique(np.concatenate(claim_codes)) // n_speakers
    return int((np.unique(recordings, return_counts=True)[1] > 1).sum())


def share_warnings(group_counts: Sequence[GroupCounts]) -> Iterator[DataWarning]:
    """Yield the groupings whose groups have so unequal shares of spoof trials that EERs differ.

    Yields
    ------
    DataWarning
    """
    if not group_counts:
        return
    first_allocation = group_counts[0].allocation
    for cells in group_counts:
        if cells.stratum.name or cells.allocation != first_allocation:
            continue
        spoof = np.array([int(cell.n_spoof) for cell in cells.counts])
        nontarget = np.array([int(cell.n_nontarget) for cell in cells.counts])
        shares = safe_divide(spoof, np.where(nontarget > 0, spoof + nontarget, 0))
        difference = float(np.fmax.reduce(shares) - np.fmin.reduce(shares))
        if spoof.any() and difference > _MAX_SPOOF_SHARE_DIFFERENCE:
            yield DataWarning(
                fact("groups_with_unequal_spoof_shares", grouping=cells.grouping.name),
                int(np.isfinite(shares).sum()),
                fact("sasv_eers_not_comparable", difference=difference),
            )


def _attack_warnings(attacks: Mapping[tuple[str, str], GroupAttacks]) -> Iterator[DataWarning]:
    """Yield which attacks have few claimed speakers, and how the attacks of groups differ."""
    all_attacks = attacks["all", ""]
    rare_attacks = [
        attack
        for attack, n_speakers in zip(
            all_attacks.attacks, all_attacks.speakers[:, 0].tolist(), strict=True
        )
        if n_speakers < _MIN_CLAIMED_SPEAKERS and attack != UNKNOWN_ATTACK
    ]
    if not all_attacks.speakers_known:  # blocks have more speakers each
        rare_attacks = []
    if rare_attacks:
        note = fact("attacks_named", attacks=rare_attacks)
        yield DataWarning(
            fact("attacks_of_few_speakers", speakers=_MIN_CLAIMED_SPEAKERS),
            len(rare_attacks),
            note,
        )
    for (grouping, stratum), group_attacks in attacks.items():
        if stratum or grouping == "all":
            continue
        differences = group_attacks.counts.at_point(0).share_differences
        n_unequal = int((differences > MAX_SHARE_DIFFERENCE).sum())
        if n_unequal:
            yield DataWarning(
                fact("attacks_of_unequal_shares", grouping=grouping),
                n_unequal,
                fact("attack_shares_differ", difference=float(np.fmax.reduce(differences))),
            )
