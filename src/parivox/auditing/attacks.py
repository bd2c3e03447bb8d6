"""Spoof accepts by attack: counts of every group, rows of the table ``attacks``.

The attack is a key of spoof trials, as the claimed speaker's group is. Verdicts on spoof accepts
hold for the attacks of the list; those that may not hold for others have a note.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.layout import Layout, place_trials
from parivox.auditing.operating_points import NO_TRIALS
from parivox.auditing.speaker_errors import Acceptances
from parivox.core.attacks import MIN_ATTACKS, AttackCounts, ratios_for_other_attacks
from parivox.core.cluster_errors import ErrorsBySpeaker, safe_divide
from parivox.core.key_sums import sum_by_key
from parivox.data.requested_groupings import POOLED
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.bias import ReferenceRatios
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.schema import TableBuilder
    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet
    from parivox.options.limits import Limit

UNKNOWN_ATTACK = "unknown attack"
"""What stands for the attack of spoof trials that have none."""
ATTACK_DEPENDENT = "attack_dependent"
"""Reason code: a verdict may not hold for other attacks."""
EQUAL_WEIGHT = "equal_weight"
"""Value of a verdict: the ratio with equal weight for each attack, where shares of these differ."""
MAX_SHARE_DIFFERENCE = 0.02
"""Difference between groups in the share of an attack from which on rates are standardised."""
TOO_FEW_ATTACKS = "too_few_attacks"
"""Note of ratios of which nothing is said for other attacks."""
_RATIOS = ("ratio", "low", "high", "ratio_without", "standardised_ratio")


class GroupAttacks(NamedTuple):
    """Spoof trials of some groups by attack; those of an unknown attack come last."""

    attacks: tuple[str, ...]
    counts: AttackCounts  # [point, attack, group]
    speakers: IntArray  # [attack, group]: claimed speakers
    speakers_of_groups: IntArray  # [group]
    errors_of_attacks: Mapping[str, ErrorsBySpeaker] = MappingProxyType({})
    """Spoof accepts of the groups by claimed speaker, of each attack that has a limit."""
    speakers_known: bool = True
    """Whether `speakers` are speakers, and not blocks of them."""

    @property
    def known_attacks(self) -> AttackCounts:
        """The counts of known attacks."""
        n_known = len([attack for attack in self.attacks if attack != UNKNOWN_ATTACK])
        return AttackCounts(*(numbers[:, :n_known] for numbers in self.counts))


def count_attacks(
    trials: TrialSet | SpeakerCounts,
    groupings: Sequence[Grouping],
    located_points: Sequence[LocatedPoint],
    within: Sequence[Grouping] = (),
    limited_attacks: Collection[str] = (),
) -> dict[tuple[str, str], GroupAttacks]:
    """Return spoof trials by attack of the groups of each grouping, and of all trials.

    By the names of the grouping, ``all`` for all trials, and of the stratum. Empty if no attack is
    known. `limited_attacks` are counted by claimed speaker, too. In speaker counts of blocks, each
    block stands for a speaker.
    """
    if not trials.attacks:
        return {}
    groupings, within = trials.unit_groupings(groupings), trials.unit_groupings(within)
    layouts = [Layout(None, "", None)]
    for strata in (None, *within):
        layouts += [Layout(grouping, "enrol", strata) for grouping in groupings]
    n_attacks, n_speakers = len(trials.attacks) + 1, trials.utterance_speaker.max(initial=0) + 1
    sums = [
        np.zeros((2, len(located_points), layout.n_cells * n_attacks), dtype=np.int64)
        for layout in layouts
    ]
    speaker_codes: list[list[NDArray[np.int64]]] = [[] for _ in layouts]
    limited = [trials.attacks.index(name) for name in limited_attacks]
    speaker_sums: list[list[_SpeakerSums]] = [[] for _ in layouts]
    for placed in place_trials(trials, layouts):
        acceptances = Acceptances.of_trials(trials, placed, located_points)
        spoof = np.flatnonzero(placed.trials.spoof)
        attack = placed.trials.attack.take(spoof)
        attack = np.where(attack < 0, n_attacks - 1, attack)
        speaker = trials.utterance_speaker.take(placed.trials.enrol.take(spoof))
        for i, trial_cells in placed.cells_by_layout.items():
            cell = trial_cells.cells[0].take(spoof)
            in_cell = np.flatnonzero(cell >= 0)
            entry = cell.take(in_cell).astype(np.int64) * n_attacks + attack.take(in_cell)
            n_trials, errors = acceptances.count_entries(
                entry, spoof.take(in_cell), layouts[i].n_cells * n_attacks, is_of_accepts=True
            )
            sums[i][0] += errors
            sums[i][1] += n_trials
            codes = entry * n_speakers + speaker.take(in_cell)
            speaker_codes[i].append(np.unique(codes))
            if limited:
                is_limited = np.isin(attack.take(in_cell), limited)
                rows = spoof.take(in_cell)[is_limited]
                speaker_sums[i].append(_SpeakerSums.of_rows(codes[is_limited], rows, acceptances))
    # Of all trials, so that the tables of all cells have the same attacks.
    is_known = not any((codes // n_speakers == n_attacks - 1).any() for codes in speaker_codes[0])
    names = trials.attacks if is_known else (*trials.attacks, UNKNOWN_ATTACK)
    attacks_by_cells = {}
    for layout, layout_sums, codes, chunk_sums in zip(
        layouts, sums, speaker_codes, speaker_sums, strict=True
    ):
        name = "all" if layout.grouping is None else layout.grouping.name
        shape = (layout.n_strata, layout.n_cells_per_stratum, n_attacks)
        by_stratum = layout_sums.reshape(*layout_sums.shape[:2], *shape).swapaxes(-1, -2)
        entry, speaker = np.divmod(np.unique(np.concatenate(codes)), n_speakers)
        speakers = np.bincount(entry, minlength=layout.n_cells * n_attacks).reshape(shape)
        cell = np.unique(entry // n_attacks * n_speakers + speaker) // n_speakers
        of_groups = np.bincount(cell, minlength=layout.n_cells).reshape(shape[:2])
        errors_of_attacks = {}
        if limited:
            summed = _SpeakerSums.total(chunk_sums)
            errors_of_attacks = {
                trials.attacks[i]: summed.errors_of_attack(
                    i, (layout.n_cells, n_attacks, n_speakers), in_blocks=trials.people is None
                )
                for i in limited
            }
        for stratum, stratum_name in enumerate(layout.stratum_names()):
            errors, n_trials = by_stratum[:, :, stratum, : len(names)]
            first_cell = stratum * layout.n_cells_per_stratum
            attacks_by_cells[name, stratum_name] = GroupAttacks(
                names,
                AttackCounts(errors, n_trials),
                speakers[stratum].T[: len(names)],
                of_groups[stratum],
                {
                    attack_name: errors_by_speaker.cell_range(
                        first_cell, first_cell + layout.n_cells_per_stratum
                    )
                    for attack_name, errors_by_speaker in errors_of_attacks.items()
                },
                trials.people is not None,
            )
    return attacks_by_cells


class _SpeakerSums(NamedTuple):
    """Spoof trials and accepts by the code of a cell, an attack and a claimed speaker."""

    code: IntArray
    trials: IntArray  # [point, code]
    errors: IntArray

    @classmethod
    def of_rows(
        cls, code: IntArray, rows: NDArray[np.intp], acceptances: Acceptances
    ) -> _SpeakerSums:
        """Return the sums of some spoof trials of one chunk."""
        codes, entry = np.unique(code, return_inverse=True)
        n_trials, errors = acceptances.count_entries(entry, rows, codes.size, is_of_accepts=True)
        return cls(codes, np.broadcast_to(n_trials, errors.shape), errors)

    @classmethod
    def total(cls, chunk_sums: Sequence[_SpeakerSums]) -> _SpeakerSums:
        """Return the sums of all chunks."""
        code, (n_trials, errors) = sum_by_key(
            np.concatenate([sums.code for sums in chunk_sums]),
            np.concatenate([sums.trials for sums in chunk_sums], axis=-1),
            np.concatenate([sums.errors for sums in chunk_sums], axis=-1),
        )
        return cls(code, n_trials, errors)

    def errors_of_attack(
        self, attack: int, shape: tuple[int, int, int], *, in_blocks: bool
    ) -> ErrorsBySpeaker:
        """Return the errors of one attack, with cells, attacks and speakers of this shape."""
        n_cells, n_attacks, n_speakers = shape
        entry, speaker = np.divmod(self.code, n_speakers)
        cell, attack_of_entry = np.divmod(entry, n_attacks)
        is_of_attack = attack_of_entry == attack
        return ErrorsBySpeaker(
            cell[is_of_attack],
            speaker[is_of_attack],
            self.errors[:, is_of_attack],
            self.trials[:, is_of_attack],
            n_cells,
            in_blocks,
        )


class OtherAttacks(NamedTuple):
    """Which ratios of SFAR may not hold for other attacks, each ``[group]``."""

    is_dependent: NDArray[np.bool_]
    low: FloatArray
    high: FloatArray
    """Limits for other attacks; NaN where there are none, as with few attacks."""
    standardised: FloatArray | None = None
    """Ratios with equal weight for each attack; None where all groups have the same shares."""
    has_common_attack: NDArray[np.bool_] | None = None
    """Whether a group and its reference faced any attack both; None where no attack is known."""

    def conditions(self) -> list[dict[str, Any]]:
        """Return what a verdict on each group holds for, as values of a fact."""
        conditions: list[dict[str, Any]] = [
            {ATTACK_DEPENDENT: True} if dependent else {} for dependent in self.is_dependent
        ]
        if self.standardised is None:
            return conditions
        # JSON has no NaN, of groups that have no attack in common
        ratios = [None if np.isnan(ratio) else ratio for ratio in self.standardised.tolist()]
        return [
            condition | {EQUAL_WEIGHT: ratio}
            for condition, ratio in zip(conditions, ratios, strict=True)
        ]


def attack_limits(limits: Sequence[Limit], groupings: Sequence[Grouping]) -> list[Limit]:
    """Return the limits of the SFAR of one attack: a name that is no group is that of an attack."""
    groups = {group for grouping in groupings for group in grouping.groups} | {POOLED}
    return [
        limit
        for limit in limits
        if limit.metric == "sfar" and limit.group and limit.group not in groups
    ]


def ratios_of_other_attacks(
    group_attacks: GroupAttacks | None,
    groups: Sequence[str],
    located_points: Sequence[LocatedPoint],
    ratios: Mapping[tuple[str, str], ReferenceRatios],
    options: Options,
) -> dict[str, OtherAttacks]:
    """Return by operating point which ratios of SFAR may not hold for other attacks.

    `ratios` are those to the first reference, by metric and operating point.
    """
    other_attacks = {}
    for i, located in enumerate(located_points):
        ratio = ratios.get(("sfar", located.point.text))
        if ratio is None or located.reason:
            continue
        low = high = np.full(len(groups), np.nan)
        standardised = has_common_attack = None
        if group_attacks is not None:
            known_counts = group_attacks.known_attacks.at_point(i)
            reference_counts = _reference_counts(known_counts, groups, options.reference[0])
            if (group_attacks.counts.at_point(i).share_differences > MAX_SHARE_DIFFERENCE).any():
                standardised = _standardised_ratios(known_counts, reference_counts)
            has_common_attack = _has_common_attack(
                group_attacks.counts.at_point(i), groups, options.reference[0]
            )
            speakers = group_attacks.speakers_of_groups
            low, high = ratios_for_other_attacks(
                known_counts,
                reference_counts,
                (ratio.low, ratio.high),
                np.minimum(speakers, _reference_sums(speakers, groups, options.reference[0])),
                options.confidence,
            )
        other_attacks[located.point.text] = OtherAttacks(
            ~((low > 1) | (high < 1)), low, high, standardised, has_common_attack
        )
    return other_attacks


def _has_common_attack(
    counts: AttackCounts, groups: Sequence[str], reference: str
) -> NDArray[np.bool_]:
    """Return whether each group and its reference have trials of the same attack, ``[group]``.

    Also for groups without spoof trials, which have no rate. A reference that all groups are part
    of has the attacks of all other groups: those of the group itself are no comparison.
    """
    reference_group = reference if reference in groups else "others"
    reference_trials = _reference_sums(counts.trials, groups, reference_group)
    is_common = ((counts.trials > 0) & (reference_trials > 0)).any(axis=0)
    has_trials = counts.trials.any(axis=0) & reference_trials.any(axis=0)
    return np.asarray(is_common | ~has_trials)


def _standardised_ratios(counts: AttackCounts, reference: AttackCounts) -> FloatArray:
    """Return ratios of SFAR with equal weight for each attack that all groups have, ``[group]``."""
    return safe_divide(
        counts.standardised_rates(counts.common_attacks),
        reference.standardised_rates(counts.common_attacks),
    )


def _reference_counts(counts: AttackCounts, groups: Sequence[str], reference: str) -> AttackCounts:
    """Return the counts that each group is compared with."""
    return AttackCounts(*(_reference_sums(numbers, groups, reference) for numbers in counts))


def _reference_sums(counts: IntArray, groups: Sequence[str], reference: str) -> IntArray:
    """Return the sums over groups that each group is compared with; zeros where it is no sum."""
    total = counts.sum(axis=-1, keepdims=True)
    if reference == "others":
        return np.asarray(total - counts)
    if reference in groups:
        total = counts[..., [[*groups].index(reference)]]
    elif reference != "pooled":
        total = np.zeros_like(total)
    return np.broadcast_to(total, counts.shape)


def add_attack_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    groups: Sequence[str],
    group_attacks: GroupAttacks,
    located_points: Sequence[LocatedPoint],
    other_attacks: Mapping[str, OtherAttacks] = MappingProxyType({}),
    reference: str = "",
) -> None:
    """Add each attack of each group, and then all attacks, at every operating point.

    The row of all attacks names none. It has the limits of the ratio for other attacks, and the
    SFAR with equal weight for each attack.
    """
    n_groups, n_attacks = len(groups), len(group_attacks.attacks)
    undefined = np.full((n_attacks, n_groups), np.nan)
    for i, located in enumerate(located_points):
        counts = group_attacks.counts.at_point(i)
        known_counts = group_attacks.known_attacks.at_point(i)
        other_counts = _reference_counts(counts, groups, reference)
        limits = other_attacks.get(located.point.text)
        standardised, other_standardised = (
            sums.standardised_rates(known_counts.common_attacks)
            for sums in (known_counts, _reference_counts(known_counts, groups, reference))
        )
        errors = _with_total(counts.errors, counts.errors.sum(axis=0))
        trials = _with_total(counts.trials, counts.trials.sum(axis=0))
        speakers = _with_total(group_attacks.speakers, group_attacks.speakers_of_groups)
        rates = {
            "value": _with_total(counts.rates, counts.pooled_rates),
            "reference_value": _with_total(other_counts.rates, other_counts.pooled_rates),
            "ratio": _with_total(
                safe_divide(counts.rates, other_counts.rates),
                safe_divide(counts.pooled_rates, other_counts.pooled_rates),
            ),
            "low": _with_total(undefined, undefined[0] if limits is None else limits.low),
            "high": _with_total(undefined, undefined[0] if limits is None else limits.high),
            "ratio_without": _with_total(
                safe_divide(counts.rates_without, other_counts.rates_without), undefined[0]
            ),
            "standardised": _with_total(undefined, standardised),
            "standardised_ratio": _with_total(
                undefined, safe_divide(standardised, other_standardised)
            ),
        }
        if reference in groups:  # has no ratio to itself
            for name in _RATIOS:
                rates[name][:, [*groups].index(reference)] = np.nan
        if located.reason:
            rates = dict.fromkeys(rates, _with_total(undefined, undefined[0]))
        note, n_known = "", known_counts.trials.shape[0]
        if limits is not None and n_known < MIN_ATTACKS:
            note = fact(TOO_FEW_ATTACKS, attacks=n_known)
        rows.add(
            **audit_keys,
            group=[group for group in groups for _ in range(n_attacks + 1)],
            operating_point=located.point.text,
            attack=[*group_attacks.attacks, ""] * n_groups,
            errors=None if located.reason else errors.T.ravel(),
            trials=trials.T.ravel(),
            speakers=speakers.T.ravel() if group_attacks.speakers_known else None,
            share=_with_total(counts.shares, np.ones(n_groups)).T.ravel(),
            reference=reference,
            **{name: column.T.ravel() for name, column in rates.items()},
            reason=np.where(trials.T.ravel() > 0, located.reason, NO_TRIALS["sfar"]),
            note=[*[""] * n_attacks, note] * n_groups,
        )


def _with_total(by_attack: NDArray[Any], total: NDArray[Any]) -> NDArray[Any]:
    """Return the values of attacks, followed by that of all of them, ``[attack, group]``."""
    return np.concatenate((by_attack, total[None]))
