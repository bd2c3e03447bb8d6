"""The checks G1 to G10: six guidelines of paper 002, section 5, and four more.

See docs/methods/trial-lists.md#checks.

G1 to G4 count a trial for the speaker of its enrolment. G8 is about the attributes that define
difficulty: what nobody named need not be alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.trials.counts import share_of, speakers_by_group
from parivox.trials.findings import CHECKS, Finding, percent, range_of, share_range
from parivox.trials.grades import hardest
from parivox.trials.lists import RECORDING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.read.grouping import Grouping
    from parivox.trials.counts import Cells, ListCounts, SpeakerCounts
    from parivox.trials.lists import TrialList

    Floats = NDArray[np.float64]

SHOWN = 3
"""Groups that are named as the worst."""
_AT_LEAST = {"G2", "G6", "G7"}
_SAME = ("same:", "same_")
"""How names of what is shared begin: as asked for, and as a graded list has it."""
_OF_TRIAL = "trial."
_NO_GROUPS = "there are no groups"
_GIVE_GROUPS = "give --speakers and --by"


def guidelines(
    found: TrialList,
    counted: ListCounts,
    speakers: SpeakerCounts,
    thresholds: Mapping[str, float],
    *,
    duplicates: int,
    mix: Mapping[int, float] | None = None,
    lists: int = 1,
) -> list[Finding]:
    """The findings of checks G1 to G10.

    Parameters
    ----------
    found, counted, takers
        The list, added up, and its speakers.
    thresholds
        Of each check.
    duplicates
        Rows that say once more what another says.
    mix
        The share of nontarget trials that is wished for, by grade.
    lists
        How many different lists there are, this one and its variants.
    """
    level = _Thresholds(thresholds)
    return [
        _g1(speakers, level),
        _g2(speakers, level),
        _g3(speakers, level),
        _g4(counted.cells, speakers, level),
        _g5(counted.cells, mix, level),
        _g6(lists, level),
        _g7(found, counted, level),
        _g8(found, counted, level),
        _g9(found, counted, level),
        _g10(counted, duplicates, level),
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
        return each < at if check in _AT_LEAST else each > at + 1e-12

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
    usual = np.unique(each, return_counts=True)
    offenders = each.size - int(usual[1].max())
    return level.finding(
        "G3",
        most / least if least else np.inf,
        f"{range_of(each)} trials for each enrolling speaker ({range_of(speakers.as_test)} for "
        "each testing one)",
        offenders=offenders,
        mend="draw the same number for each speaker, or weight speakers equally",
    )


def _g4(cells: Cells, speakers: SpeakerCounts, level: _Thresholds) -> Finding:
    grade = cells.grade
    known = grade > 0
    if not known.any():
        return level.unchecked("G4", "no grade is known", "give --speakers and --utterances")
    n, top = int(speakers.speaker.max()) + 1, int(grade.max()) + 1
    key = (cells.enrol.astype(np.int64) * 2 + cells.target) * top + grade
    trials = cells.total(np.where(known, key, -1), n * 2 * top).reshape(n, 2, top)
    each = share_of(trials, trials.sum(axis=2, keepdims=True))
    whole = share_of(trials.sum(axis=0), trials.sum(axis=(0, 2))[:, None])
    gap = np.nan_to_num(np.abs(each - whole))
    off = gap.max(axis=(1, 2))[speakers.speaker]
    many, lost = int(level.beyond("G4", off).sum()), int(cells.count[~known].sum())
    words = "every speaker has the same share of each grade"
    if off.any():
        at = np.unravel_index(int(gap.argmax()), gap.shape)
        words = (
            f"{many:,} of {speakers.speaker.size:,} speakers have a share of some grade that is "
            f"more than {100 * level['G4']:g} points off that of the list; most so for "
            f"{'target' if at[1] else 'nontarget'} trials of grade {at[2]}: "
            f"{percent(each[at])} against {percent(whole[at[1:]])}"
        )
    return level.finding(
        "G4",
        off.max(),
        words + (f"; {lost:,} trials of grade n.k." if lost else ""),
        offenders=many,
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
    told = ", ".join(
        f"grade {i or 'n.k.'} {percent(share[i])} (wished {percent(wished[i])})"
        for i in range(top)
        if share[i] or wished[i]
    )
    return level.finding(
        "G5",
        off.max(),
        f"nontarget trials of {told}",
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


def _g7(found: TrialList, counted: ListCounts, level: _Thresholds) -> Finding:
    sizes = [
        (one, speakers_by_group(cells, len(one.groups)))
        for one, cells in zip(found.groupings, counted.by, strict=True)
    ]
    if not sizes:
        return level.unchecked("G7", _NO_GROUPS, _GIVE_GROUPS)
    grouping, each = min(sizes, key=lambda pair: int(pair[1].min()))
    few = sum(int(level.beyond("G7", size).sum()) for _, size in sizes)
    groups = sum(size.size for _, size in sizes)
    worst = [(grouping.groups[i], each[i]) for i in np.argsort(each, kind="stable")[:SHOWN]]
    return level.finding(
        "G7",
        each.min(),
        f"{few:,} of {groups:,} groups have fewer than {level['G7']:g} speakers; fewest: "
        + ", ".join(f"{name} {value:,}" for name, value in worst),
        offenders=few,
        mend="find more speakers, or merge groups; of so few, no group can be judged",
    )


def _g8(found: TrialList, counted: ListCounts, level: _Thresholds) -> Finding:
    spans = list(_spans_of_attributes(found, counted))
    if not spans:
        why = _few_groups(found, *(one.name for one in found.agreements)) or (
            "no attribute that defines difficulty is known in two or more groups",
            "give --speakers, and --grade-by",
        )
        return level.unchecked("G8", *why)
    gaps = np.array([np.nanmax(share) - np.nanmin(share) for *_, share in spans])
    attribute, groups, share = spans[int(gaps.argmax())]
    return level.finding(
        "G8",
        gaps.max(),
        f"same {attribute} in {share_range(groups, share)} of nontarget trials",
        offenders=int(level.beyond("G8", gaps).sum()),
        mend=f"fix the share of trials with the same {attribute} in every group: parivox trials "
        "build balanced",
    )


def _spans_of_attributes(
    found: TrialList, counted: ListCounts
) -> Iterator[tuple[str, tuple[str, ...], Floats]]:
    """Share of nontarget trials with the same value, of every attribute and grouping."""
    for one, cells in zip(found.groupings, counted.by, strict=True):
        for agreement, same in zip(found.agreements, cells.shared, strict=True):
            if _is_of(one, agreement.name, itself=agreement.shared is not None):
                continue
            share = _same_share(cells, ~cells.target, same, len(one.groups))
            if (~np.isnan(share)).sum() > 1:
                yield agreement.name, one.groups, share


def _same_share(cells: Cells, some: NDArray[np.bool_], same: NDArray[np.int8], k: int) -> Floats:
    """Of some trials of each group, the share in which something is the same: 1, 0, -1 unknown."""
    key = np.where(some & (cells.enrol_group >= 0), cells.enrol_group * 3 + same + 1, -1)
    _, different, alike = cells.total(key, 3 * k).reshape(k, 3).T
    return share_of(alike, alike + different)


def _is_of(grouping: Grouping, *names: str, itself: bool = False) -> bool:
    """Whether the groups of trials are made of what both sides share, or of the grade.

    Such groups differ in it by definition.

    Parameters
    ----------
    grouping, names
        The grouping, and what may be shared.
    itself
        Whether a grouping by the plain name is one of these, too.
    """
    made = {"grade", *(f"{same}{one.lower()}" for one in names for same in _SAME)}
    if itself:
        made |= {one.lower() for one in names}
    texts = (one.lower().removeprefix(_OF_TRIAL) for one in grouping.attributes)
    return grouping.is_of_trials and not made.isdisjoint(texts)


def _few_groups(found: TrialList, *names: str) -> tuple[str, str] | None:
    """Why groups cannot be compared in these, if it is for the groups, and what to do."""
    if not found.groupings:
        return _NO_GROUPS, _GIVE_GROUPS
    sizes = [len(one.groups) for one in found.groupings if not _is_of(one, *names)]
    if not sizes:
        return "groups are made of what is checked", "give --by with groups of speakers"
    return None if max(sizes) > 1 else ("there is one group only", "give --by with more groups")


def _g9(found: TrialList, counted: ListCounts, level: _Thresholds) -> Finding:
    spans = []
    for one, cells in zip(found.groupings, counted.by, strict=True):
        if _is_of(one, *RECORDING):
            continue
        share = _same_share(cells, cells.target, cells.recording, len(one.groups))
        if (~np.isnan(share)).sum() > 1:
            spans.append((one.groups, share))
    if not spans:
        why = _few_groups(found, *RECORDING) or (
            "no recordings are known of target trials in two or more groups",
            "give --utterances with a column recording",
        )
        return level.unchecked("G9", *why)
    gaps = np.array([np.nanmax(share) - np.nanmin(share) for _, share in spans])
    groups, share = spans[int(gaps.argmax())]
    return level.finding(
        "G9",
        gaps.max(),
        f"both sides from one recording in {share_range(groups, share)} of target trials",
        offenders=int(level.beyond("G9", gaps).sum()),
        mend="draw target trials across recordings only, or compare groups within one grade",
    )


def _g10(counted: ListCounts, duplicates: int, level: _Thresholds) -> Finding:
    nontarget, target = counted.reversed
    every = duplicates + nontarget + target + counted.itself
    return level.finding(
        "G10",
        every,
        f"{duplicates:,} exact duplicates; {nontarget + target:,} trials whose reverse is there, "
        f"too ({target:,} target, {nontarget:,} nontarget); {counted.itself:,} of an utterance "
        "with itself",
        offenders=every,
        mend="keep each unordered pair once: most systems give it one score",
    )
