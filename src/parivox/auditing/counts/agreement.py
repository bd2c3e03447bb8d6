"""Whether score counts and speaker counts are of the same trials, group by group."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.layout import Layout, groups_of_trials
from parivox.core.counts import NONTARGET, TARGET
from parivox.core.key_sums import sum_rows
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.layout import Sides
    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_checks import Trials

    Rows = Mapping[str, NDArray[Any]]

_KEYS = ("enrol_group", "test_group", "trial_class", "accepted", "step")
_N_CELL_KEYS = 3
_SCORE_COUNTS, _SPEAKER_COUNTS = "score_counts", "speaker_counts"
_SUMS = (_SCORE_COUNTS, _SPEAKER_COUNTS)
_CLASS_WORDS = {NONTARGET: "nontarget", TARGET: "target"}


def check_same_trials(counts: TrialCounts, several_counts: Sequence[SpeakerCounts]) -> None:
    """Refuse speaker counts whose groups or errors are not those of the score counts.

    Errors are compared at every threshold of the speaker counts that is an edge of the score
    counts, so that rates and their intervals describe the same trials.

    Parameters
    ----------
    several_counts
        By the groupings of the score counts, then by those of the strata. Each has the groups that
        its own file knows: added up, a speaker without a group in one file takes that of another.

    Raises
    ------
    DataError
        If they differ, with the first group that does.
    """
    counted_at = sorted({*chain(*(part.thresholds.tolist() for part in several_counts))})
    thresholds = np.array([*filter(counts.is_exact_at, counted_at)], dtype=np.float64)
    n_more_files = len(several_counts) - 1
    more = f" and {n_more_files} more" if n_more_files else ""
    names = f"{counts.name} and {several_counts[0].name}{more}"
    layouts = [Layout(grouping, "both", None) for grouping in counts.groupings]
    layouts += [Layout(None, "", grouping) for grouping in counts.within]
    for index, layout in enumerate(layouts):
        score_rows, _ = next(counts.partitions_by_layout([layout]))
        grouping = layout.grouping or layout.within
        assert grouping is not None
        sides = counts.side_coder(grouping)(score_rows)
        tables = [_rows(score_rows, sides, _SCORE_COUNTS, thresholds)]
        for speaker_counts in several_counts:
            speaker_rows, _ = next(speaker_counts.partitions_by_layout(()))
            sides = speaker_counts.side_coder(speaker_counts.groupings[index])(speaker_rows)
            if layout.grouping is None:  # a stratum holds the trials whose sides are both in it
                sides = (groups_of_trials(*sides, "both")[0],) * 2
            tables.append(_rows(speaker_rows, sides, _SPEAKER_COUNTS, thresholds))
        totals = sum_rows(tables, _KEYS)
        # first by group and class, then by decision and by score
        for n_keys in range(_N_CELL_KEYS, len(_KEYS) + 1):
            _check_sums(totals, _KEYS[:n_keys], grouping, names, thresholds)


def _rows(trials: Trials, sides: Sides, name: str, thresholds: FloatArray) -> Rows:
    """Trials of one of the files by what they are compared by."""
    zeros = np.zeros(len(trials), dtype=np.int64)
    step = np.searchsorted(thresholds, trials.score, side="right")
    key_columns = (*sides, trials.trial_class, trials.extra_columns["accepted"], step)
    sums = {**dict.fromkeys(_SUMS, zeros), name: trials.extra_columns["count"]}
    return {**dict(zip(_KEYS, key_columns, strict=True)), **sums}


def _check_sums(
    totals: Rows,
    keys: Sequence[str],
    grouping: Grouping,
    names: str,
    thresholds: FloatArray,
) -> None:
    sums = sum_rows([{name: totals[name] for name in (*keys, *_SUMS)}], keys)
    differs = np.flatnonzero(sums[_SCORE_COUNTS] != sums[_SPEAKER_COUNTS])
    if not differs.size:
        return
    row = {name: int(sums[name][differs[0]]) for name in keys}
    n_trials = [int(sums[name][differs[0]]) for name in _SUMS]
    decision = {0: "rejected ", 1: "accepted "}.get(row.get("accepted", -1), "")
    condition = ""
    if "step" in row:
        # lower scores are as frequent in both files, so the errors at this threshold differ
        is_below = sums["step"] <= row["step"]
        for name in keys[:-1]:
            is_below &= sums[name] == row[name]
        n_trials = [int(sums[name][is_below].sum()) for name in _SUMS]
        condition = f" with scores below {thresholds[row['step']]:g}"
    groups = dict.fromkeys(
        grouping.groups[row[side]] if row[side] >= 0 else "no group"
        for side in ("enrol_group", "test_group")
    )
    kind = _CLASS_WORDS.get(row["trial_class"], "spoof")
    msg = (
        f"{names}: the number of {decision}{kind} trials of "
        f"{' and '.join(groups)} ({grouping.name}){condition} differs ({n_trials[0]:,} and "
        f"{n_trials[1]:,})"
    )
    hint = "give the speaker counts that were counted together with the score counts"
    raise DataError(msg, hint)
