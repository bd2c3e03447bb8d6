"""The checks G1 to G10: six guidelines of paper 002, section 5, and four more; their findings.

See docs/methods/trial-lists.md#checks.

G1 to G4 count a trial for the speaker of its enrolment. G8 is about the attributes that define
difficulty: what nobody named need not be alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from parivox.data.recording_names import GIVE_RECORDINGS, RECORDING
from parivox.data.trial_checks import DUPLICATES
from parivox.trials.grades import OTHER_RECORDING, hardest, highest
from parivox.trials.list_counts import shares_or_nan, speakers_by_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.grouping import Grouping
    from parivox.trials.list_counts import (
        Flags,
        Floats,
        ListCounts,
        SpeakerPairCounts,
        TrialsPerSpeaker,
    )
    from parivox.trials.lists import TrialList

    Verdict = Literal["pass", "fail", "not checked", "told"]

MAX_GROUPS_NAMED = 3
"""Groups that are named as the worst."""
_SAME = ("same:", "same_")
"""How names of what is shared begin: as asked for, and as a graded list has it."""
_OF_TRIAL = "trial."
_NO_GROUPS = "there are no groups", "give --speakers and --by"


@dataclass(frozen=True)
class Finding:
    """One line of a check.

    Attributes
    ----------
    id : str
        ``G1`` to ``G10`` for what passes or fails; a word for what is told.
    what : str
    verdict : {"pass", "fail", "not checked", "told"}
    statistic, threshold : float or None
        The figure that decides, and what it is held against.
    offenders : int
        How many speakers, groups or trials are at fault.
    sentence : str
        The figures in words, without ids of speakers.
    mend : str
        What to do; empty where there is nothing to do.
    """

    id: str
    what: str
    verdict: Verdict
    statistic: float | None = None
    threshold: float | None = None
    offenders: int = 0
    sentence: str = ""
    mend: str = ""


class Check(NamedTuple):
    """A guideline, and what its statistic is held against."""

    id: str
    what: str
    threshold: float
    is_least: bool = False  # passes from the threshold on, else up to there
    is_share: bool = False

    def beyond(self, values: Any) -> NDArray[np.bool_]:
        """Which values do not pass."""
        each = np.asarray(values, dtype=np.float64)
        return each < self.threshold if self.is_least else each > self.threshold + 1e-12

    def finding(self, statistic: float, sentence: str, *, offenders: int, mend: str) -> Finding:
        """That the check passes or fails."""
        is_fail = bool(self.beyond(statistic))
        return Finding(
            self.id,
            self.what,
            "fail" if is_fail else "pass",
            float(statistic),
            self.threshold,
            offenders if is_fail else 0,
            sentence,
            mend if is_fail else "",
        )

    def unchecked(self, why: str, mend: str) -> Finding:
        """That the check cannot be made, and why."""
        return Finding(self.id, self.what, "not checked", None, self.threshold, 0, why, mend)


_EVERY = (
    Check("G1", "as many target as nontarget trials for each speaker", 0.0),
    Check("G2", "nontarget trials for each speaker", 500.0, is_least=True),
    Check("G3", "equally many trials for each speaker", 1.0),
    Check("G4", "the same mix of grades for each speaker", 0.02, is_share=True),
    Check("G5", "the mix of grades that was wished for", 0.02, is_share=True),
    Check("G6", "variants of the list", 5.0, is_least=True),
    Check("G7", "speakers in each group", 10.0, is_least=True),
    Check("G8", "nontarget trials alike in all groups", 0.02, is_share=True),
    Check("G9", "trivial target trials alike in all groups", 0.02, is_share=True),
    Check("G10", "no trial twice", 0.0),
)
CHECKS = {one.id: one for one in _EVERY}
"""The guidelines of docs/references.md#paper-002, section 5, and four more, by their ids."""


def guidelines(
    counts: ListCounts,
    checks: Mapping[str, Check],
    *,
    mix: Mapping[str, Mapping[int, float]] | None = None,
    lists: int = 1,
    outcomes: str = "",
) -> list[Finding]:
    """The findings of checks G1 to G10.

    `mix` is the share of trials that is wished for, by label and grade; `lists` says how many
    different lists there are, this one and its variants, `outcomes` how far their results differ.
    """
    return [
        _g1(counts.speakers, checks["G1"]),
        _g2(counts.speakers, checks["G2"]),
        _g3(counts.speakers, checks["G3"]),
        _g4(counts, checks["G4"]),
        _g5(counts, mix, checks["G5"]),
        _g6(lists, outcomes, checks["G6"]),
        _g7(counts, checks["G7"]),
        _g8(counts, checks["G8"]),
        _g9(counts, checks["G9"]),
        _g10(counts, checks["G10"]),
    ]


def _g1(speakers: TrialsPerSpeaker, check: Check) -> Finding:
    unequal = int((speakers.target != speakers.nontarget).sum())
    return check.finding(
        unequal,
        f"{unequal:,} of {speakers.speaker.size:,} speakers enrol in unequal numbers of both: "
        f"{range_of(speakers.target)} target and {range_of(speakers.nontarget)} nontarget trials",
        offenders=unequal,
        mend="draw n pairs of both kinds for each speaker: parivox trials build inclusive",
    )


def _g2(speakers: TrialsPerSpeaker, check: Check) -> Finding:
    few, n = int(check.beyond(speakers.nontarget).sum()), speakers.speaker.size
    return check.finding(
        speakers.nontarget.min(),
        f"{few:,} of {n:,} speakers enrol in fewer than {check.threshold:,.0f}: "
        f"{range_of(speakers.nontarget)}",
        offenders=few,
        mend="draw more pairs for each speaker, or say which error rate so few can show",
    )


def _g3(speakers: TrialsPerSpeaker, check: Check) -> Finding:
    each = speakers.enrolled
    least, most = int(each.min()), int(each.max())
    usual = int(np.unique(each, return_counts=True)[1].max())
    return check.finding(
        most / least if least else np.inf,
        f"{range_of(each)} trials for each enrolling speaker ({range_of(speakers.as_test)} for "
        "each testing one)",
        offenders=each.size - usual,
        mend="draw the same number for each speaker, or weight speakers equally",
    )


def _g4(counts: ListCounts, check: Check) -> Finding:
    cells, speakers = counts.cells, counts.speakers.speaker
    grade = cells.grade
    known = grade > 0
    if not known.any():
        return check.unchecked("no grade is known", "give --speakers and --utterances")
    n, top = int(speakers.max()) + 1, int(grade.max()) + 1
    key = (cells.enrol.astype(np.int64) * 2 + cells.target) * top + grade
    trials = cells.total(np.where(known, key, -1), n * 2 * top).reshape(n, 2, top)
    each = shares_or_nan(trials, trials.sum(axis=2, keepdims=True))
    whole = shares_or_nan(trials.sum(axis=0), trials.sum(axis=(0, 2))[:, None])
    gap = np.nan_to_num(np.abs(each - whole))
    off = gap.max(axis=(1, 2))[speakers]
    offenders, unknown = int(check.beyond(off).sum()), int(cells.count[~known].sum())
    words = "every speaker has the same share of each grade"
    if off.any():
        at = np.unravel_index(int(gap.argmax()), gap.shape)
        words = (
            f"{offenders:,} of {speakers.size:,} speakers have a share of some grade that is more "
            f"than {100 * check.threshold:g} points off that of the list; most so for "
            f"{'target' if at[1] else 'nontarget'} trials of grade {at[2]}: "
            f"{percent(each[at])} against {percent(whole[at[1:]])}"
        )
    return check.finding(
        off.max(),
        words + (f"; {unknown:,} trials of grade n.k." if unknown else ""),
        offenders=offenders,
        mend="draw the same number of each grade for each speaker",
    )


def _g5(counts: ListCounts, mix: Mapping[str, Mapping[int, float]] | None, check: Check) -> Finding:
    cells, recordings = counts.cells, counts.trial_list.recordings
    if mix is None:
        top = hardest(len(cells.shared) or 2)
        mend = f"give one, as in --mix cat{top}=0.5,cat{top - 1}=0.5,target{OTHER_RECORDING}=1"
        return check.unchecked("no mix was wished for", mend)
    off, said, offenders = [], [], 0
    for label, wish in mix.items():
        some = cells.take(cells.target == (label == "target"))
        top = highest(len(cells.shared)) + 1
        trials = some.total(some.grade.astype(np.int64), top)
        share = shares_or_nan(trials, trials.sum())
        if np.isnan(share).all():
            return check.unchecked(f"there are no {label} trials", "")
        if label == "target" and recordings.doubt:
            return check.unchecked(recordings.doubt, GIVE_RECORDINGS)
        wished = np.array([wish.get(i, 0.0) for i in range(top)])
        away = np.abs(share - wished)
        off.append(away.max())
        offenders += int(check.beyond(away).sum())
        shares = ", ".join(
            f"grade {i or 'n.k.'} {percent(share[i])} (wished {percent(wished[i])})"
            for i in range(top)
            if share[i] or wished[i]
        )
        said.append(f"{label} trials of {shares}")
    return check.finding(
        max(off),
        "; ".join(said),
        offenders=offenders,
        mend="parivox trials build inclusive --mix, --target-grades draws that mix",
    )


def _g6(lists: int, outcomes: str, check: Check) -> Finding:
    if lists < 2:
        return check.unchecked(
            "one list was given", "give others that were drawn like it, with --variants"
        )
    return check.finding(
        lists,
        f"{lists:,} different lists; {outcomes or 'with scores, how far their results differ'}",
        offenders=max(int(check.threshold) - lists, 0),
        mend="draw more lists with other seeds, and tell how figures vary over them",
    )


def _g7(counts: ListCounts, check: Check) -> Finding:
    sizes = [
        (grouping, speakers_by_group(cells, len(grouping.groups)))
        for grouping, cells in zip(counts.trial_list.groupings, counts.by, strict=True)
    ]
    if not sizes:
        return check.unchecked(*_NO_GROUPS)
    grouping, each = min(sizes, key=lambda pair: int(pair[1].min()))
    few = sum(int(check.beyond(size).sum()) for _, size in sizes)
    groups = sum(size.size for _, size in sizes)
    worst = [
        f"{grouping.groups[i]} {each[i]:,}"
        for i in np.argsort(each, kind="stable")[:MAX_GROUPS_NAMED]
    ]
    return check.finding(
        each.min(),
        f"{few:,} of {groups:,} groups have fewer than {check.threshold:g} speakers; fewest: "
        + ", ".join(worst),
        offenders=few,
        mend="find more speakers, or merge groups; of so few, no group can be judged",
    )


class _Span(NamedTuple):
    """The share of a kind of trials in each group of some grouping."""

    what: str
    groups: tuple[str, ...]
    share: Floats


def _g8(counts: ListCounts, check: Check) -> Finding:
    trial_list = counts.trial_list
    spans: list[_Span] = []
    for grouping, cells in zip(trial_list.groupings, counts.by, strict=True):
        for agreement, same in zip(trial_list.agreements, cells.shared, strict=True):
            if not _is_of(grouping, agreement.name, itself=agreement.shared is not None):
                what = f"same {agreement.name}"
                spans += _spans(what, grouping, cells, ~cells.target, same)
    if not spans:
        why = _few_groups(trial_list, *(one.name for one in trial_list.agreements)) or (
            "no attribute that defines difficulty is known in two or more groups",
            "give --speakers, and --grade-by",
        )
        return check.unchecked(*why)
    mend = "fix the share of trials with the {} in every group: parivox trials build balanced"
    return _widest(check, spans, "{} in {} of nontarget trials", mend=mend)


def _g9(counts: ListCounts, check: Check) -> Finding:
    trial_list = counts.trial_list
    spans: list[_Span] = []
    for grouping, cells in zip(trial_list.groupings, counts.by, strict=True):
        if not _is_of(grouping, *RECORDING):
            what = "the share of same-recording target trials, which may be easier,"
            spans += _spans(what, grouping, cells, cells.target, cells.recording)
    if not spans:
        why = _few_groups(trial_list, *RECORDING) or (
            trial_list.recordings.doubt
            or "no recordings are known of target trials in two or more groups",
            GIVE_RECORDINGS,
        )
        return check.unchecked(*why)
    mend = "draw target trials across recordings only, or compare groups within one grade"
    source = trial_list.recordings.source.replace("{", "{{").replace("}", "}}")
    return _widest(
        check, spans, f"{{}} ranges from {{}} (recordings identified by the {source})", mend=mend
    )


def _spans(
    what: str, grouping: Grouping, cells: SpeakerPairCounts, some: NDArray[np.bool_], same: Flags
) -> Iterator[_Span]:
    """Of some trials of each group, the share with the same (1, 0, -1 unknown), if two know it."""
    k = len(grouping.groups)
    key = np.where(some & (cells.enrol_group >= 0), cells.enrol_group * 3 + same + 1, -1)
    _, different, alike = cells.total(key, 3 * k).reshape(k, 3).T
    share = shares_or_nan(alike, alike + different)
    if (~np.isnan(share)).sum() > 1:
        yield _Span(what, grouping.groups, share)


def _widest(check: Check, spans: Sequence[_Span], words: str, *, mend: str) -> Finding:
    """A check of whether shares are alike in all groups, in the words of the widest span.

    `words` have a place for what is shared, and for the shares.
    """
    gaps = np.array([np.nanmax(one.share) - np.nanmin(one.share) for one in spans])
    what, groups, share = spans[int(gaps.argmax())]
    return check.finding(
        gaps.max(),
        words.format(what, share_range(groups, share)),
        offenders=int(check.beyond(gaps).sum()),
        mend=mend.format(what),
    )


def _is_of(grouping: Grouping, *names: str, itself: bool = False) -> bool:
    """Whether groups of trials are made of what both sides share, so that they differ in it.

    Of the grade, too; with `itself`, also a grouping by the plain name of what may be shared.
    """
    made = {"grade", *(f"{same}{one.lower()}" for one in names for same in _SAME)}
    if itself:
        made |= {one.lower() for one in names}
    texts = (one.lower().removeprefix(_OF_TRIAL) for one in grouping.attributes)
    return grouping.is_of_trials and not made.isdisjoint(texts)


def _few_groups(trial_list: TrialList, *names: str) -> tuple[str, str] | None:
    """Why groups cannot be compared in these, if it is for the groups, and what to do."""
    if not trial_list.groupings:
        return _NO_GROUPS
    sizes = [len(one.groups) for one in trial_list.groupings if not _is_of(one, *names)]
    if not sizes:
        return "groups are made of what is checked", "give --by with groups of speakers"
    return None if max(sizes) > 1 else ("there is one group only", "give --by with more groups")


def _g10(counts: ListCounts, check: Check) -> Finding:
    nontarget, target = counts.reversed
    notes = [one for one in counts.trial_list.trials.data if one.item == DUPLICATES]
    # of a list beside its scores, those of the list
    duplicates = max((one.count for one in notes), default=0)
    every = duplicates + nontarget + target + counts.itself
    return check.finding(
        every,
        f"{duplicates:,} exact duplicates; {nontarget + target:,} trials whose reverse is there, "
        f"too ({target:,} target, {nontarget:,} nontarget); {counts.itself:,} of an utterance "
        "with itself",
        offenders=every,
        mend="keep each unordered pair once: most systems give it one score",
    )


def failed_checks_sentence(failed: Sequence[str], *, unscored: int = 0, also: bool = False) -> str:
    """Which checks a list fails, by their ids: the same words wherever it is said.

    Of a list some trials of which have no score, only the others were looked at.

    >>> failed_checks_sentence(["G2"]), failed_checks_sentence([])
    ('The list fails G2. parivox trials check tells more.', 'The list fails no check.')
    """
    what = (
        f"The list without its {unscored:,} trials that have no score" if unscored else "The list"
    )
    if not failed:
        return f"{what} fails no check."
    fails = "also fails" if also else "fails"
    return f"{what} {fails} {', '.join(failed)}. parivox trials check tells more."


def percent(share: float) -> str:
    """A share as a percentage with one decimal.

    >>> percent(0.45692), percent(float("nan"))
    ('45.7 %', 'n.k.')
    """
    return "n.k." if np.isnan(share) else f"{100 * share:.1f} %"


def range_of(values: NDArray[np.integer]) -> str:
    """The least and the most of some counts.

    >>> range_of(np.array([3, 1000])), range_of(np.array([5, 5]))
    ('3 to 1,000', '5')
    """
    least, most = int(values.min()), int(values.max())
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def share_range(groups: Sequence[str], share: Floats) -> str:
    """The lowest and the highest share that is known, and whose they are, if they differ.

    >>> share_range(["f", "m", "x"], np.array([0.5, 0.25, np.nan]))
    '25.0 % (m) to 50.0 % (f)'
    """
    low, high = int(np.nanargmin(share)), int(np.nanargmax(share))
    if share[low] == share[high]:
        return f"{percent(share[low])} (every group)"
    return f"{percent(share[low])} ({groups[low]}) to {percent(share[high])} ({groups[high]})"
