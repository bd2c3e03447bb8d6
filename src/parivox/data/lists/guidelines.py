"""The checks G1 to G15: six guidelines of paper 002, section 5, and nine more; their findings.

See docs/methods/planning.md#checks.

G1 to G4 count a trial for the speaker of its enrolment. G8 is about the attributes that define
difficulty: what nobody named need not be alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.data.lists.design_checks import (
    g11_durations,
    g12_short_recordings,
    g13_impostor_pools,
    g14_returning_enrolments,
    g15_class_ratios,
)
from parivox.data.lists.findings import Check, Finding
from parivox.data.lists.grades import OTHER_RECORDING, hardest, highest
from parivox.data.lists.list_counts import count_list, shares_or_nan, speakers_by_group
from parivox.data.recording_names import RECORDING_COLUMNS
from parivox.data.trial_checks import DUPLICATES
from parivox.facts import fact, joined_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.grouping import Grouping
    from parivox.data.lists.list_counts import (
        Flags,
        Floats,
        ListCounts,
        SpeakerPairCounts,
        TrialsPerSpeaker,
    )
    from parivox.data.lists.manifest import ManifestDesign
    from parivox.data.lists.trial_list import TrialList

MAX_GROUPS_NAMED = 3
"""Groups that are named as the worst."""
_SAME_PREFIXES = ("same:", "same_")
"""How names of what is shared begin: as asked for, and as a graded list has it."""
_TRIAL_PREFIX = "trial."
_NO_GROUPS = "no_groups_in_list", "give_speakers_and_by"


_CHECKS = (
    Check("G1", "check_equal_classes", 0.0),
    Check("G2", "check_nontarget_trials", 500.0, is_least=True),
    Check("G3", "check_equal_trials", 1.0),
    Check("G4", "check_equal_grades", 0.02, is_share=True),
    Check("G5", "check_requested_grades", 0.02, is_share=True),
    Check("G6", "check_variants", 5.0, is_least=True),
    Check("G7", "check_speakers_of_groups", 10.0, is_least=True),
    Check("G8", "check_equal_compositions", 0.02, is_share=True),
    Check("G9", "check_equal_same_recordings", 0.02, is_share=True),
    Check("G10", "check_no_repeated_trials", 0.0),
    Check("G11", "check_equal_durations", 1.3),
    Check("G12", "check_equal_short_recordings", 0.1, is_share=True),
    Check("G13", "check_equal_impostor_speakers", 1.5),
    Check("G14", "check_no_returning_enrolments", 0.0),
    Check("G15", "check_equal_class_ratios", 1.5),
)
CHECKS = {check.id: check for check in _CHECKS}
"""The guidelines of docs/references.md#paper-002, section 5, and nine more, by their ids."""


def guidelines(
    counts: ListCounts,
    checks: Mapping[str, Check],
    *,
    mix: Mapping[str, Mapping[int, float]] | None = None,
    n_lists: int = 1,
    outcomes: str = "",
    is_within_groups: bool = False,
) -> list[Finding]:
    """Return the findings of checks G1 to G15.

    `mix` is the share of trials that is wished for, by label and grade; `n_lists` says how many
    different lists there are, this one and its variants, `outcomes` how far their results differ,
    as facts. With `is_within_groups`, G8 compares the nontarget trials of two speakers of a group.
    """
    return [
        *_speaker_findings(counts.trials_per_speaker, checks),
        _g4_equal_grades(counts, checks["G4"]),
        _g5_wished_mix(counts, mix, checks["G5"]),
        _g6_variants(n_lists, outcomes, checks["G6"]),
        _g7_speakers_by_group(counts, checks["G7"]),
        _g8_nontarget_agreement(counts, checks["G8"], is_within_groups=is_within_groups),
        _g9_same_recordings(counts, checks["G9"]),
        _g10_repeated_trials(counts, checks["G10"]),
        g11_durations(counts, checks["G11"]),
        g12_short_recordings(counts, checks["G12"]),
        g13_impostor_pools(counts, checks["G13"]),
        g14_returning_enrolments(counts, checks["G14"]),
        g15_class_ratios(counts, checks["G15"]),
    ]


def failed_checks(
    trial_list: TrialList, design: ManifestDesign | None = None, *, is_within_groups: bool = False
) -> list[Finding]:
    """Return the checks that a list fails at the usual thresholds, given what its design fixed.

    `is_within_groups` says that false accepts are counted over nontarget trials with both speakers
    in the group.
    """
    mix, n_lists = (None, 1) if design is None else (design.fixed_mix(trial_list), design.n_lists)
    counts = count_list(trial_list)
    findings = guidelines(
        counts, CHECKS, mix=mix, n_lists=n_lists, is_within_groups=is_within_groups
    )
    return [finding for finding in findings if finding.verdict == "fail"]


def _speaker_findings(speakers: TrialsPerSpeaker, checks: Mapping[str, Check]) -> Iterator[Finding]:
    """Yield the findings of checks G1 to G3, which count the trials of each speaker."""
    check_functions = {
        "G1": _g1_equal_classes,
        "G2": _g2_nontarget_trials,
        "G3": _g3_equal_speakers,
    }
    for id_, check_function in check_functions.items():
        if speakers.speaker_indices.size:
            yield check_function(speakers, checks[id_])
        else:  # a log of impostors whom no column names
            yield checks[id_].unchecked("no_trial_of_known_speakers", "name_test_speakers")


def _g1_equal_classes(speakers: TrialsPerSpeaker, check: Check) -> Finding:
    n_unequal = int((speakers.n_target != speakers.n_nontarget).sum())
    return check.finding(
        n_unequal,
        fact(
            "unequal_numbers_of_classes",
            unequal=n_unequal,
            speakers=speakers.speaker_indices.size,
            target=extremes(speakers.n_target),
            nontarget=extremes(speakers.n_nontarget),
        ),
        offenders=n_unequal,
        remedy="draw_pairs_of_both_classes",
    )


def _g2_nontarget_trials(speakers: TrialsPerSpeaker, check: Check) -> Finding:
    n_few = int(check.is_violated(speakers.n_nontarget).sum())
    return check.finding(
        speakers.n_nontarget.min(),
        fact(
            "few_nontarget_trials",
            few=n_few,
            speakers=speakers.speaker_indices.size,
            minimum=check.threshold,
            nontarget=extremes(speakers.n_nontarget),
        ),
        offenders=n_few,
        remedy="draw_more_pairs",
    )


def _g3_equal_speakers(speakers: TrialsPerSpeaker, check: Check) -> Finding:
    n_enrolled = speakers.n_enrolled
    minimum, maximum = int(n_enrolled.min()), int(n_enrolled.max())
    n_speakers_with_usual_number = int(np.unique(n_enrolled, return_counts=True)[1].max())
    return check.finding(
        maximum / minimum if minimum else np.inf,
        fact(
            "trials_for_each_speaker",
            enrolled=extremes(n_enrolled),
            tested=extremes(speakers.n_tested),
        ),
        offenders=n_enrolled.size - n_speakers_with_usual_number,
        remedy="draw_same_number_for_each_speaker",
    )


def _g4_equal_grades(counts: ListCounts, check: Check) -> Finding:
    pair_counts, speakers = counts.pair_counts, counts.trials_per_speaker.speaker_indices
    grade = pair_counts.grade
    is_known = grade > 0
    if not is_known.any():
        return check.unchecked("no_grade_known", "give_speakers_and_utterances")
    n_speakers, n_grades = int(speakers.max()) + 1, int(grade.max()) + 1
    keys = (pair_counts.enrol.astype(np.int64) * 2 + pair_counts.is_target) * n_grades + grade
    trials = pair_counts.trials_by_key(np.where(is_known, keys, -1), n_speakers * 2 * n_grades)
    # of each speaker, class and grade; shares are within a class
    trials = trials.reshape(n_speakers, 2, n_grades)
    speaker_shares = shares_or_nan(trials, trials.sum(axis=2, keepdims=True))
    list_shares = shares_or_nan(trials.sum(axis=0), trials.sum(axis=(0, 2))[:, None])
    gaps = np.nan_to_num(np.abs(speaker_shares - list_shares))
    largest_gaps = gaps.max(axis=(1, 2))[speakers]
    n_offenders = int(check.is_violated(largest_gaps).sum())
    n_unknown = int(pair_counts.n_trials[~is_known].sum())
    facts = "same_share_of_each_grade"
    if largest_gaps.any():
        worst = np.unravel_index(int(gaps.argmax()), gaps.shape)
        facts = fact(
            "shares_of_grades_differ",
            off=n_offenders,
            speakers=speakers.size,
            gap=check.threshold,
            trials="target" if worst[1] else "nontarget",
            grade=int(worst[2]),
            speaker_share=known_share(speaker_shares[worst]),
            list_share=known_share(list_shares[worst[1:]]),
        )
    if n_unknown:
        facts = joined_facts(facts, fact("trials_of_unknown_grade", trials=n_unknown))
    return check.finding(
        largest_gaps.max(),
        facts,
        offenders=n_offenders,
        remedy="draw_same_number_of_each_grade",
    )


def _g5_wished_mix(
    counts: ListCounts, mix: Mapping[str, Mapping[int, float]] | None, check: Check
) -> Finding:
    pair_counts, recording_names = counts.pair_counts, counts.trial_list.recording_names
    if mix is None:
        remedy = fact(
            "give_mix", max_grade=hardest(len(pair_counts.agreement) or 2), target=OTHER_RECORDING
        )
        return check.unchecked("no_mix_wished", remedy)
    largest_gaps, facts, n_offenders = [], [], 0
    for label, label_mix in mix.items():
        label_counts = pair_counts.select(pair_counts.is_target == (label == "target"))
        n_grades = highest(len(pair_counts.agreement)) + 1
        trials = label_counts.trials_by_key(label_counts.grade.astype(np.int64), n_grades)
        shares = shares_or_nan(trials, trials.sum())
        if np.isnan(shares).all():
            return check.unchecked(fact("no_trials_of_class", trials=label), "")
        if label == "target" and recording_names.are_doubtful:
            return check.unchecked(recording_names.unknown_fact, "give_recordings")
        wished_shares = np.array([label_mix.get(grade, 0.0) for grade in range(n_grades)])
        gaps = np.abs(shares - wished_shares)
        largest_gaps.append(gaps.max())
        n_offenders += int(check.is_violated(gaps).sum())
        grades = [
            {
                "grade": grade,
                "share": known_share(shares[grade]),
                "wished": known_share(wished_shares[grade]),
            }
            for grade in range(n_grades)
            if shares[grade] or wished_shares[grade]
        ]
        facts.append(fact("grades_of_trials", trials=label, grades=grades))
    return check.finding(
        max(largest_gaps),
        joined_facts(*facts),
        offenders=n_offenders,
        remedy="build_inclusive_with_mix",
    )


def _g6_variants(n_lists: int, outcomes: str, check: Check) -> Finding:
    if n_lists < 2:
        return check.unchecked("one_list", "give_variants")
    return check.finding(
        n_lists,
        joined_facts(fact("different_lists", lists=n_lists), outcomes or "scores_show_differences"),
        offenders=max(int(check.threshold) - n_lists, 0),
        remedy="draw_more_lists",
    )


def _g7_speakers_by_group(counts: ListCounts, check: Check) -> Finding:
    groupings = counts.trial_list.groupings
    sizes_by_grouping = [
        (grouping, speakers_by_group(pair_counts, len(grouping.groups)))
        for grouping, pair_counts in zip(groupings, counts.pair_counts_by_grouping, strict=True)
    ]
    if not sizes_by_grouping:
        return check.unchecked(*_NO_GROUPS)
    grouping, sizes = min(sizes_by_grouping, key=lambda pair: int(pair[1].min()))
    n_few = sum(int(check.is_violated(group_sizes).sum()) for _, group_sizes in sizes_by_grouping)
    n_groups = sum(group_sizes.size for _, group_sizes in sizes_by_grouping)
    groups_with_sizes = [
        (group, int(size))
        for each_grouping, group_sizes in sizes_by_grouping
        for group, size in zip(each_grouping.groups, group_sizes, strict=True)
    ]
    smallest_first = sorted(groups_with_sizes, key=lambda group_and_size: group_and_size[1])
    smallest = [
        {"group": group, "speakers": size} for group, size in smallest_first[:MAX_GROUPS_NAMED]
    ]
    return check.finding(
        sizes.min(),
        fact(
            "groups_with_few_speakers",
            few=n_few,
            number=n_groups,
            minimum=check.threshold,
            grouping=grouping.name,
            n_groupings=len(sizes_by_grouping),
            smallest=smallest,
        ),
        offenders=n_few,
        remedy="find_speakers_or_merge_groups",
    )


class _GroupShares(NamedTuple):
    """The share of a kind of trials in each group of some grouping."""

    attribute: str  # whose value both sides share; empty for the recording
    grouping: str
    groups: tuple[str, ...]
    shares: Floats


def _g8_nontarget_agreement(counts: ListCounts, check: Check, *, is_within_groups: bool) -> Finding:
    trial_list = counts.trial_list
    group_shares: list[_GroupShares] = []
    for grouping, pair_counts in zip(
        trial_list.groupings, counts.pair_counts_by_grouping, strict=True
    ):
        for agreement, codes in zip(trial_list.agreements, pair_counts.agreement, strict=True):
            is_of_trials = agreement.trial_codes is not None
            if not _is_made_of(grouping, agreement.name, or_by_name=is_of_trials):
                is_included = ~pair_counts.is_target
                if is_within_groups:
                    # no other trial counts in a group's rate: all trials of a group of women share
                    # the gender, and a group of one speaker has no trial
                    is_included &= pair_counts.enrol_group == pair_counts.test_group
                group_shares += _shares_of_groups(
                    agreement.name, grouping, pair_counts, is_included, codes
                )
    if not group_shares:
        names = [agreement.name for agreement in trial_list.agreements]
        reason = _few_groups_reason(trial_list, *names) or (
            "no_difficulty_attribute",
            "give_speakers_and_grade_by",
        )
        return check.unchecked(*reason)
    gap, widest, offenders = _widest_shares(check, group_shares)
    # groups of trials or of one side do not have both speakers of their trials
    groupings_of_trials = {
        grouping.name for grouping in counts.trial_list.groupings if grouping.is_of_trials
    }
    is_of_speakers = widest["grouping"] not in groupings_of_trials
    scope = {"is_within_groups": True} if is_within_groups and is_of_speakers else {}
    return check.finding(
        gap,
        fact("same_value_of_nontarget_trials", **widest, **scope),
        offenders=offenders,
        remedy=fact("fix_share_of_same_value", attribute=widest["attribute"]),
    )


def _g9_same_recordings(counts: ListCounts, check: Check) -> Finding:
    trial_list = counts.trial_list
    group_shares: list[_GroupShares] = []
    for grouping, pair_counts in zip(
        trial_list.groupings, counts.pair_counts_by_grouping, strict=True
    ):
        if not _is_made_of(grouping, *RECORDING_COLUMNS):
            group_shares += _shares_of_groups(
                "", grouping, pair_counts, pair_counts.is_target, pair_counts.same_recording
            )
    if not group_shares:
        reason = _few_groups_reason(trial_list, *RECORDING_COLUMNS) or (
            trial_list.recording_names.unknown_fact
            if trial_list.recording_names.are_doubtful
            else "no_recordings_in_two_groups",
            "give_recordings",
        )
        return check.unchecked(*reason)
    gap, widest, offenders = _widest_shares(check, group_shares)
    return check.finding(
        gap,
        fact("same_recording_target_trials", **widest, **trial_list.recording_names.source_values),
        offenders=offenders,
        remedy="draw_across_recordings",
    )


def _shares_of_groups(
    attribute: str,
    grouping: Grouping,
    pair_counts: SpeakerPairCounts,
    is_included: NDArray[np.bool_],
    codes: Flags,
) -> Iterator[_GroupShares]:
    """Yield the share of code 1 among the codes 1 and 0 of each group, if two groups know it.

    `codes`, -1 for unknown, and `is_included` are of the rows of `pair_counts`.
    """
    n_groups = len(grouping.groups)
    has_group = pair_counts.enrol_group >= 0
    keys = np.where(is_included & has_group, pair_counts.enrol_group * 3 + codes + 1, -1)
    trials = pair_counts.trials_by_key(keys, 3 * n_groups).reshape(n_groups, 3)
    _, n_different, n_same = trials.T
    shares = shares_or_nan(n_same, n_same + n_different)
    if (~np.isnan(shares)).sum() > 1:
        yield _GroupShares(attribute, grouping.name, grouping.groups, shares)


def _widest_shares(
    check: Check, group_shares: Sequence[_GroupShares]
) -> tuple[float, dict[str, Any], int]:
    """Return the widest range of shares: its width, as values, and how many are too wide."""
    gaps = np.array([np.nanmax(group.shares) - np.nanmin(group.shares) for group in group_shares])
    widest = group_shares[int(gaps.argmax())]
    values = {
        "attribute": widest.attribute,
        "grouping": widest.grouping,
        "shares": share_extremes(widest.groups, widest.shares),
    }
    return float(gaps.max()), values, int(check.is_violated(gaps).sum())


def _is_made_of(grouping: Grouping, *names: str, or_by_name: bool = False) -> bool:
    """Whether groups of trials are made of what both sides share, so that they differ in it.

    Of the grade, too; `or_by_name` also counts a grouping by the plain name of what may be shared.
    """
    shared_names = {"grade"}
    for name in names:
        shared_names |= {f"{prefix}{name.lower()}" for prefix in _SAME_PREFIXES}
    if or_by_name:
        shared_names |= {name.lower() for name in names}
    texts = (text.lower().removeprefix(_TRIAL_PREFIX) for text in grouping.attributes)
    return grouping.is_of_trials and not shared_names.isdisjoint(texts)


def _few_groups_reason(trial_list: TrialList, *names: str) -> tuple[str, str] | None:
    """Return why groups cannot be compared in these, if it is for the groups, and what to do."""
    if not trial_list.groupings:
        return _NO_GROUPS
    sizes = [
        len(grouping.groups)
        for grouping in trial_list.groupings
        if not _is_made_of(grouping, *names)
    ]
    if not sizes:
        return "groups_of_what_is_checked", "give_groups_of_speakers"
    return None if max(sizes) > 1 else ("one_group_only", "give_more_groups")


def _g10_repeated_trials(counts: ListCounts, check: Check) -> Finding:
    n_nontarget, n_target = counts.n_reversed
    notes = [note for note in counts.trial_list.trials.data_notes if note.item == DUPLICATES]
    # where a list has scores in another file, that of the list counts
    n_duplicates = max((note.count for note in notes), default=0)
    n_repeated = n_duplicates + n_nontarget + n_target + counts.n_self_trials
    return check.finding(
        n_repeated,
        fact(
            "trials_that_occur_twice",
            duplicates=n_duplicates,
            reversed_target=int(n_target),
            reversed_nontarget=int(n_nontarget),
            same_utterance=int(counts.n_self_trials),
        ),
        offenders=n_repeated,
        remedy="keep_each_pair_once",
    )


def extremes(counts: NDArray[np.integer]) -> list[int]:
    """Return the smallest and the largest of some counts.

    >>> extremes(np.array([3, 1000]))
    [3, 1000]
    """
    return [int(counts.min()), int(counts.max())]


def known_share(share: float) -> float | None:
    """Return a share; None if it is not known."""
    return None if np.isnan(share) else float(share)


def share_extremes(groups: Sequence[str], shares: Floats) -> list[dict[str, Any]]:
    """Return the lowest and the highest share that is known, and whose they are.

    >>> share_extremes(["f", "m", "x"], np.array([0.5, 0.25, np.nan]))
    [{'group': 'm', 'share': 0.25}, {'group': 'f', 'share': 0.5}]
    """
    positions = int(np.nanargmin(shares)), int(np.nanargmax(shares))
    return [{"group": groups[group], "share": float(shares[group])} for group in positions]
