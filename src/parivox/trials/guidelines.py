"""The checks G1 to G10: six guidelines of paper 002, section 5, and four more; their findings.

See docs/methods/trial-lists.md#checks.

G1 to G4 count a trial for the speaker of its enrolment. G8 is about the attributes that define
difficulty: what nobody named need not be alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from parivox.trials.counts import share_of, speakers_by_group
from parivox.trials.grades import hardest
from parivox.trials.lists import RECORDING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.read.grouping import Grouping
    from parivox.trials.counts import Cells, Flags, Floats, ListCounts, SpeakerCounts
    from parivox.trials.lists import TrialList

    Verdict = Literal["pass", "fail", "not checked", "told"]

CHECKS = {
    "G1": "as many target as nontarget trials for each speaker",
    "G2": "nontarget trials for each speaker",
    "G3": "equally many trials for each speaker",
    "G4": "the same mix of grades for each speaker",
    "G5": "the mix of grades that was wished for",
    "G6": "variants of the list",
    "G7": "speakers in each group",
    "G8": "nontarget trials alike in all groups",
    "G9": "trivial target trials alike in all groups",
    "G10": "no trial twice",
}
"""The guidelines of docs/references.md#paper-002, section 5, and four more, by their ids."""
THRESHOLDS = {
    "G1": 0.0,
    "G2": 500.0,
    "G3": 1.0,
    "G4": 0.02,
    "G5": 0.02,
    "G6": 5.0,
    "G7": 10.0,
    "G8": 0.02,
    "G9": 0.02,
    "G10": 0.0,
}
"""What each statistic is held against: G2, G6 and G7 pass from there on, others up to there."""
AT_LEAST = {"G2", "G6", "G7"}
"""Checks that pass from their threshold on."""
SHOWN = 3
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


def guidelines(
    counts: ListCounts,
    thresholds: Mapping[str, float],
    *,
    duplicates: int,
    mix: Mapping[int, float] | None = None,
    lists: int = 1,
) -> list[Finding]:
    """The findings of checks G1 to G10.

    `duplicates` are rows that repeat another; `mix` is the share of nontarget trials that is wished
    for, by grade; `lists` says how many different lists there are, this one and its variants.
    """
    level = _Thresholds(thresholds)
    return [
        _g1(counts.speakers, level),
        _g2(counts.speakers, level),
        _g3(counts.speakers, level),
        _g4(counts, level),
        _g5(counts.cells, mix, level),
        _g6(lists, level),
        _g7(counts, level),
        _g8(counts, level),
        _g9(counts, level),
        _g10(counts, duplicates, level),
    ]


class _Thresholds:
    """Thresholds of the checks, and findings made with them."""

    def __init__(self, thresholds: Mapping[str, float]) -> None:
        self.thresholds = thresholds

    def __getitem__(self, check: str) -> float:
        return self.thresholds[check]

    def beyond(self, check: str, values: Any) -> NDArray[np.bool_]:
        """Which values do not pass."""
        at = self.thresholds[check]
        each = np.asarray(values, dtype=np.float64)
        return each < at if check in AT_LEAST else each > at + 1e-12

    def finding(
        self, check: str, statistic: float, sentence: str, *, offenders: int, mend: str
    ) -> Finding:
        """A check that passes or fails."""
        is_fail = bool(self.beyond(check, statistic))
        return Finding(
            check,
            CHECKS[check],
            "fail" if is_fail else "pass",
            float(statistic),
            self.thresholds[check],
            offenders if is_fail else 0,
            sentence,
            mend if is_fail else "",
        )

    def unchecked(self, check: str, why: str, mend: str) -> Finding:
        """A check that cannot be made, and why."""
        threshold = self.thresholds[check]
        return Finding(check, CHECKS[check], "not checked", None, threshold, 0, why, mend)


def _g1(speakers: SpeakerCounts, level: _Thresholds) -> Finding:
    unequal = int((speakers.target != speakers.nontarget).sum())
    return level.finding(
        "G1",
        unequal,
        f"{unequal:,} of {speakers.speaker.size:,} speakers enrol in unequal numbers of both: "
        f"{range_of(speakers.target)} target and {range_of(speakers.nontarget)} nontarget trials",
        offenders=unequal,
        mend="draw n pairs of both kinds for each speaker: parivox trials build inclusive",
    )


def _g2(speakers: SpeakerCounts, level: _Thresholds) -> Finding:
    few = int(level.beyond("G2", speakers.nontarget).sum())
    return level.finding(
        "G2",
        speakers.nontarget.min(),
        f"{few:,} of {speakers.speaker.size:,} speakers enrol in fewer than {level['G2']:,.0f}: "
        f"{range_of(speakers.nontarget)}",
        offenders=few,
        mend="draw more pairs for each speaker, or say which error rate so few can show",
    )


def _g3(speakers: SpeakerCounts, level: _Thresholds) -> Finding:
    each = speakers.enrolled
    least, most = int(each.min()), int(each.max())
    usual = int(np.unique(each, return_counts=True)[1].max())
    return level.finding(
        "G3",
        most / least if least else np.inf,
        f"{range_of(each)} trials for each enrolling speaker ({range_of(speakers.as_test)} for "
        "each testing one)",
        offenders=each.size - usual,
        mend="draw the same number for each speaker, or weight speakers equally",
    )


def _g4(counts: ListCounts, level: _Thresholds) -> Finding:
    cells, speakers = counts.cells, counts.speakers.speaker
    grade = cells.grade
    known = grade > 0
    if not known.any():
        return level.unchecked("G4", "no grade is known", "give --speakers and --utterances")
    n, top = int(speakers.max()) + 1, int(grade.max()) + 1
    key = (cells.enrol.astype(np.int64) * 2 + cells.target) * top + grade
    trials = cells.total(np.where(known, key, -1), n * 2 * top).reshape(n, 2, top)
    each = share_of(trials, trials.sum(axis=2, keepdims=True))
    whole = share_of(trials.sum(axis=0), trials.sum(axis=(0, 2))[:, None])
    gap = np.nan_to_num(np.abs(each - whole))
    off = gap.max(axis=(1, 2))[speakers]
    offenders, unknown = int(level.beyond("G4", off).sum()), int(cells.count[~known].sum())
    words = "every speaker has the same share of each grade"
    if off.any():
        at = np.unravel_index(int(gap.argmax()), gap.shape)
        words = (
            f"{offenders:,} of {speakers.size:,} speakers have a share of some grade that is more "
            f"than {100 * level['G4']:g} points off that of the list; most so for "
            f"{'target' if at[1] else 'nontarget'} trials of grade {at[2]}: "
            f"{percent(each[at])} against {percent(whole[at[1:]])}"
        )
    return level.finding(
        "G4",
        off.max(),
        words + (f"; {unknown:,} trials of grade n.k." if unknown else ""),
        offenders=offenders,
        mend="draw the same number of each grade for each speaker",
    )


def _g5(cells: Cells, mix: Mapping[int, float] | None, level: _Thresholds) -> Finding:
    if mix is None:
        top = hardest(len(cells.shared) or 2)
        mend = f"give one, as in --mix cat{top}=0.5,cat{top - 1}=0.5"
        return level.unchecked("G5", "no mix was wished for", mend)
    other = cells.take(~cells.target)
    top = hardest(len(cells.shared)) + 1
    trials = other.total(other.grade.astype(np.int64), top)
    share = share_of(trials, trials.sum())
    if np.isnan(share).all():
        return level.unchecked("G5", "there are no nontarget trials", "")
    wished = np.array([mix.get(i, 0.0) for i in range(top)])
    off = np.abs(share - wished)
    shares = ", ".join(
        f"grade {i or 'n.k.'} {percent(share[i])} (wished {percent(wished[i])})"
        for i in range(top)
        if share[i] or wished[i]
    )
    return level.finding(
        "G5",
        off.max(),
        f"nontarget trials of {shares}",
        offenders=int(level.beyond("G5", off).sum()),
        mend="parivox trials build inclusive --mix draws that mix",
    )


def _g6(lists: int, level: _Thresholds) -> Finding:
    if lists < 2:
        return level.unchecked(
            "G6", "one list was given", "give others that were drawn like it, with --variants"
        )
    return level.finding(
        "G6",
        lists,
        f"{lists:,} different lists",
        offenders=max(int(level["G6"]) - lists, 0),
        mend="draw more lists with other seeds, and tell how figures vary over them",
    )


def _g7(counts: ListCounts, level: _Thresholds) -> Finding:
    sizes = [
        (grouping, speakers_by_group(cells, len(grouping.groups)))
        for grouping, cells in zip(counts.trial_list.groupings, counts.by, strict=True)
    ]
    if not sizes:
        return level.unchecked("G7", *_NO_GROUPS)
    grouping, each = min(sizes, key=lambda pair: int(pair[1].min()))
    few = sum(int(level.beyond("G7", size).sum()) for _, size in sizes)
    groups = sum(size.size for _, size in sizes)
    worst = [f"{grouping.groups[i]} {each[i]:,}" for i in np.argsort(each, kind="stable")[:SHOWN]]
    return level.finding(
        "G7",
        each.min(),
        f"{few:,} of {groups:,} groups have fewer than {level['G7']:g} speakers; fewest: "
        + ", ".join(worst),
        offenders=few,
        mend="find more speakers, or merge groups; of so few, no group can be judged",
    )


class _Span(NamedTuple):
    """The share of a kind of trials in each group of some grouping."""

    what: str
    groups: tuple[str, ...]
    share: Floats


def _g8(counts: ListCounts, level: _Thresholds) -> Finding:
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
        return level.unchecked("G8", *why)
    mend = "fix the share of trials with the {} in every group: parivox trials build balanced"
    return _widest("G8", spans, "nontarget", level, mend=mend)


def _g9(counts: ListCounts, level: _Thresholds) -> Finding:
    trial_list = counts.trial_list
    spans: list[_Span] = []
    for grouping, cells in zip(trial_list.groupings, counts.by, strict=True):
        if not _is_of(grouping, *RECORDING):
            what = "both sides from one recording"
            spans += _spans(what, grouping, cells, cells.target, cells.recording)
    if not spans:
        why = _few_groups(trial_list, *RECORDING) or (
            "no recordings are known of target trials in two or more groups",
            "give --utterances with a column recording",
        )
        return level.unchecked("G9", *why)
    mend = "draw target trials across recordings only, or compare groups within one grade"
    return _widest("G9", spans, "target", level, mend=mend)


def _spans(
    what: str, grouping: Grouping, cells: Cells, some: NDArray[np.bool_], same: Flags
) -> Iterator[_Span]:
    """Of some trials of each group, the share with the same (1, 0, -1 unknown), if two know it."""
    k = len(grouping.groups)
    key = np.where(some & (cells.enrol_group >= 0), cells.enrol_group * 3 + same + 1, -1)
    _, different, alike = cells.total(key, 3 * k).reshape(k, 3).T
    share = share_of(alike, alike + different)
    if (~np.isnan(share)).sum() > 1:
        yield _Span(what, grouping.groups, share)


def _widest(
    check: str, spans: Sequence[_Span], label: str, level: _Thresholds, *, mend: str
) -> Finding:
    """A check of whether shares are alike in all groups, in the words of the widest span."""
    gaps = np.array([np.nanmax(one.share) - np.nanmin(one.share) for one in spans])
    what, groups, share = spans[int(gaps.argmax())]
    return level.finding(
        check,
        gaps.max(),
        f"{what} in {share_range(groups, share)} of {label} trials",
        offenders=int(level.beyond(check, gaps).sum()),
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


def _g10(counts: ListCounts, duplicates: int, level: _Thresholds) -> Finding:
    nontarget, target = counts.reversed
    every = duplicates + nontarget + target + counts.itself
    return level.finding(
        "G10",
        every,
        f"{duplicates:,} exact duplicates; {nontarget + target:,} trials whose reverse is there, "
        f"too ({target:,} target, {nontarget:,} nontarget); {counts.itself:,} of an utterance "
        "with itself",
        offenders=every,
        mend="keep each unordered pair once: most systems give it one score",
    )


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
