"""What in the design of a list, or in its scores by group, changes what an audit shows.

Each warning is a row of the table ``data`` and a limitation of the report; how often it is wrong
on sound lists was simulated (docs/coverage.md#data-warnings).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.separation import auc
from parivox.read.oddities import Odd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import CellCounts
    from parivox.core.counts import Counts
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

_MIN_TRIALS = 20
"""Nontarget trials of known groups without which their pairs of groups are not judged."""
_MIN_SPEAKERS, _N_BUSY, _BUSY_SHARE = 10, 2, 0.8
"""Speakers of a list; of so many of them the share of trials from which on they make the list."""
_MIN_CLASS, _REVERSED_ERRORS = 10, 4.0
"""Trials of either class; standard errors of the AUC below 1/2."""
_MIN_RECORDINGS, _FOLLOWS = 20, 0.98
"""Recordings; share of them whose attribute follows from the group."""
_MAX_VALUES = 20
_MIN_DISTINCT, _N_QUANTILES, _SAME_SHAPE = 20, 1001, 1e-3
"""Distinct scores; quantiles that are compared; deviation, in spreads, of the same scores."""
_CHANCE = 0.5


def list_warnings(trials: TrialSet, groupings: Sequence[Grouping]) -> Iterator[Odd]:
    """Tell what the pairs of a list do not show: few speakers, or impostors of one kind only.

    Parameters
    ----------
    trials
        All trials of a list.
    groupings
        Those of speakers are looked at.

    Yields
    ------
    Odd
    """
    n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
    by_speaker = np.zeros((2, n_speakers), dtype=np.int64)
    of_speakers = [grouping for grouping in groupings if grouping.of_speaker is not None]
    codes = [trials.of_utterances(_codes(grouping)) for grouping in of_speakers]
    within_between = np.zeros((len(of_speakers), 2), dtype=np.int64)
    for part in trials.partitions():
        kept = part.without_conflicts()
        is_target = kept.target.astype(bool)
        enrolled = trials.utterance_speaker.take(kept.enrol)
        for label, chosen in enumerate((~is_target, is_target)):
            known = enrolled[chosen & (enrolled >= 0)]
            by_speaker[label] += np.bincount(known, minlength=n_speakers)
        for place, code in enumerate(codes):
            enrol_group, test_group = code.take(kept.enrol), code.take(kept.test)
            known_pairs = ~is_target & (enrol_group >= 0) & (test_group >= 0)
            n_within = int((known_pairs & (enrol_group == test_group)).sum())
            within_between[place] += n_within, int(known_pairs.sum()) - n_within
    yield from _busy_speakers(by_speaker)
    for grouping, (n_within, n_between) in zip(of_speakers, within_between.tolist(), strict=True):
        if n_within == 0 and n_between >= _MIN_TRIALS and len(grouping.groups) > 1:
            yield Odd(
                f"nontarget trials, all between groups of {grouping.name!r}",
                n_between,
                "false accepts of impostors of the same group are not tested",
            )


def recording_warnings(trials: TrialSet, groupings: Sequence[Grouping]) -> Iterator[Odd]:
    """Tell which attributes of recordings follow from the group of the speaker.

    A difference between such groups may be one between their recordings.
    """
    if trials.recordings is None:
        return
    table = trials.recordings.table.attributes
    for grouping in groupings:
        if grouping.of_speaker is None or len(grouping.groups) < 2:
            continue
        group = trials.of_utterances(_codes(grouping))
        for attribute in table.columns:
            column = table[attribute]
            values = column.drop_nulls().unique().sort()
            if attribute in grouping.attributes or not 2 <= len(values) <= _MAX_VALUES:
                continue
            row_codes = column.rank("dense").fill_null(0).to_numpy().astype(np.int32) - 1
            value = trials.recordings.codes(row_codes)
            if _follows(group, value, len(grouping.groups), len(values)):
                yield Odd(
                    f"recordings whose {attribute!r} follows from {grouping.name!r}",
                    int(((group >= 0) & (value >= 0)).sum()),
                    f"a difference by {grouping.name} may be one by {attribute}",
                )


def reversed_scores(cells: CellCounts) -> Iterator[tuple[str, Odd]]:
    """Tell of which groups the scores run the wrong way, although those of all trials do not.

    Yields
    ------
    tuple of str and Odd
        The grouping, and the group with its number of trials.
    """
    for of_grouping in cells.cells:
        if of_grouping.level.name or of_grouping.allocation != cells.cells[0].allocation:
            continue
        for group, counts in zip(of_grouping.grouping.groups, of_grouping.groups, strict=True):
            if _is_reversed(counts):
                yield (
                    of_grouping.grouping.name,
                    Odd(
                        f"trials of {group} whose target trials score below its nontarget trials",
                        int(counts.n_target + counts.n_nontarget),
                        "signs or labels of this group may be turned",
                    ),
                )


def same_scores(one: Counts, other: Counts) -> str:
    """Tell whether two systems have the same scores, but perhaps for their scale.

    Returns
    -------
    str
        ``the same scores``, ``the same scores on another scale``, or nothing.
    """
    sizes = [(int(counts.n_target), int(counts.n_nontarget)) for counts in (one, other)]
    if sizes[0] != sizes[1] or min(one.values.size, other.values.size) < _MIN_DISTINCT:
        return ""
    first, second = (_quantiles(counts) for counts in (one, other))
    known = np.isfinite(first) & np.isfinite(second)
    first, second = first[known], second[known]
    spread = float(np.std(first))
    if not spread or not np.std(second):
        return ""
    if np.abs(first - second).max() <= _SAME_SHAPE * spread:
        return "the same scores"
    slope, intercept = np.polyfit(first, second, 1)
    residual = np.abs(slope * first + intercept - second).max()
    is_same = slope > 0 and residual <= _SAME_SHAPE * float(np.std(second))
    return "the same scores on another scale" if is_same else ""


def _codes(grouping: Grouping) -> NDArray[np.int32]:
    """Return the group of each speaker of a grouping of speakers."""
    assert grouping.of_speaker is not None
    return grouping.of_speaker


def _busy_speakers(by_speaker: NDArray[np.int64]) -> Iterator[Odd]:
    """Tell whether two enrolled speakers make most of the trials of a class."""
    for kind, n_trials in zip(("nontarget", "target"), by_speaker, strict=True):
        in_use = n_trials[n_trials > 0]
        total = int(in_use.sum())
        busiest = int(np.sort(in_use)[-_N_BUSY:].sum())
        if in_use.size >= _MIN_SPEAKERS and busiest >= _BUSY_SHARE * total:
            yield Odd(
                f"{kind} trials of {_N_BUSY} enrolled speakers alone",
                busiest,
                f"{100 * busiest / total:.0f} % of those of {in_use.size} speakers",
            )


def _follows(
    group: NDArray[np.int32], value: NDArray[np.int32], n_groups: int, n_values: int
) -> bool:
    """Whether nearly all recordings of each group have one value, which differs between groups."""
    known = (group >= 0) & (value >= 0)
    if known.sum() < _MIN_RECORDINGS:
        return False
    cells = group[known].astype(np.int64) * n_values + value[known]
    table = np.bincount(cells, minlength=n_groups * n_values).reshape(n_groups, n_values)
    in_use = table[table.sum(axis=1) > 0]
    commonest = in_use.argmax(axis=1)
    return bool(
        len(in_use) > 1
        and in_use.max(axis=1).sum() >= _FOLLOWS * in_use.sum()
        and np.unique(commonest).size > 1
    )


def _is_reversed(counts: Counts) -> bool:
    """Whether target trials score below nontarget trials, beyond chance."""
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    if min(n_target, n_nontarget) < _MIN_CLASS:
        return False
    error = math.sqrt((n_target + n_nontarget + 1) / (12 * n_target * n_nontarget))
    return float(auc(counts)) < _CHANCE - _REVERSED_ERRORS * error


def _quantiles(counts: Counts) -> NDArray[np.float64]:
    """Return scores at even ranks of each class, the lowest and the highest included."""
    parts = []
    for n_trials in (counts.target, counts.nontarget):
        up_to = np.cumsum(n_trials)
        ranks = np.linspace(1, up_to[-1], _N_QUANTILES).astype(np.int64)
        parts.append(counts.values[np.searchsorted(up_to, ranks)])
    return np.concatenate(parts)
