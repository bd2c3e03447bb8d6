"""From encoded trials to counts per group: the last step above the waist.

A *cell* is what a rate is computed on: one group of one grouping under one allocation of
nontarget trials (METHODS 2.1). Trials held in memory give exact counts per distinct score;
trials in partitions are counted in :data:`BINS` bins whose lower edges are the thresholds of
the curve, so that every count at such a threshold is exact as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.tables.groups import Grouping
    from parivox.tables.trials import Trials, TrialSet

__all__ = ["ALLOCATIONS", "BINS", "Cells", "Tally", "count_cells", "count_matrix"]

ALLOCATIONS = ("both", "enrol", "test", "either")
BINS = 1 << 16
CHUNK = 1 << 21


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of each group of one grouping under one allocation.

    Attributes
    ----------
    groups : sequence of Counts
        One per group of the grouping, each on its own scores.
    pooled : Counts
        Every trial that the grouping and allocation place in some group, once.
    speakers : integer ndarray of shape (group + 1,)
        Speakers of the group who take part in one of its trials; last, of all groups.
    """

    grouping: Grouping
    allocation: str
    groups: Sequence[Counts]
    pooled: Counts
    speakers: IntArray


@dataclass(eq=False)
class Tally:
    """All counts of one system on one list.

    Attributes
    ----------
    everything : Counts
        Every scored trial.
    speakers : int
        Speakers who take part in one of them.
    cells : list of Cells
    bound : float
        Largest share of one class of trials in one bin, in [0, 1]: no rate read off the curve
        at the best threshold is further than this from the exact one. 0 for exact counts.
    """

    everything: Counts
    speakers: int
    cells: list[Cells] = field(default_factory=list)
    bound: float = 0.0


class Sides(NamedTuple):
    """Group of either side of each trial; -1 where it is unknown."""

    enrol: NDArray[np.int32]
    test: NDArray[np.int32]


def sides(grouping: Grouping, trials: Trials, speaker: NDArray[np.int32]) -> Sides:
    """Groups of the two speakers of each trial."""
    # the extra entry at the end is what speaker -1 (unknown) looks up
    group = np.append(np.asarray(grouping.of_speaker, dtype=np.int32), np.int32(-1))
    of_utterance = group[speaker]
    return Sides(of_utterance[trials.enrol], of_utterance[trials.test])


def placements(
    side: Sides, target: NDArray[np.bool_], allocation: str
) -> list[NDArray[np.int32]]:
    """Group that each trial counts for, -1 for none; a second array where it counts twice."""
    enrol, test = side
    if allocation == "enrol":
        return [enrol]
    if allocation == "test":
        return [test]
    if allocation == "both":
        return [np.where(enrol == test, enrol, np.int32(-1))]
    again = np.where((enrol == test) | target, np.int32(-1), test)
    return [enrol, again]


def count_cells(
    trials: TrialSet,
    groupings: Sequence[Grouping],
    allocations: Sequence[str],
    *,
    thresholds: Iterable[float] = (),
    keep_conflicts: bool = False,
) -> Tally:
    """Count the trials of one system and list, per group and score.

    Parameters
    ----------
    trials
        Encoded trials, in one partition (exact counts) or several (binned).
    groupings, allocations
        What the cells are.
    thresholds
        Score values that must be thresholds of binned counts too.
    keep_conflicts
        Count the contradicting rows as well, which are otherwise set aside.
    """
    layout = [(grouping, rule) for grouping in groupings for rule in allocations]
    if trials.n_partitions == 1:
        counter: _Exact | _Binned = _Exact(layout)
    else:
        counter = _Binned(layout, _edges(trials, thresholds))
    in_use = np.zeros((len(layout) + 1, _n_speakers(trials) + 1), dtype=bool)
    for part in trials.partitions():
        kept = part if keep_conflicts else part.without_conflicts()
        placed = []
        for used, (grouping, rule) in zip(in_use[1:], layout, strict=True):
            side = sides(grouping, kept, trials.utterance_speaker)
            placed.append(placements(side, kept.target, rule))
            for utterances, group in zip((kept.enrol, kept.test), side, strict=True):
                for code in placed[-1]:
                    inside = (code >= 0) & (group == code)
                    used[trials.utterance_speaker[utterances[inside]]] = True
        for utterances in (kept.enrol, kept.test):
            in_use[0, trials.utterance_speaker[utterances]] = True
        counter.add(kept, placed)
    tally = counter.finish()
    tally.speakers = int(in_use[0, :-1].sum())
    for cells, used in zip(tally.cells, in_use[1:], strict=True):
        of_speaker = np.asarray(cells.grouping.of_speaker)
        mine = of_speaker[: used.size - 1][used[:-1]]
        cells.speakers[:-1] = np.bincount(mine, minlength=len(cells.groups))
        cells.speakers[-1] = mine.size
    return tally


def count_matrix(
    trials: TrialSet, grouping: Grouping, thresholds: FloatArray
) -> tuple[IntArray, IntArray]:
    """False accepts and trials of nontarget pairs, by group of either side (METHODS 2.2).

    Returns
    -------
    errors : integer ndarray of shape (threshold, enrol group, test group)
    trials : integer ndarray of shape (enrol group, test group)
    """
    n = len(grouping.groups)
    errors = np.zeros((thresholds.size, n * n), dtype=np.int64)
    total = np.zeros(n * n, dtype=np.int64)
    for part in trials.partitions():
        kept = part.without_conflicts()
        side = sides(grouping, kept, trials.utterance_speaker)
        known = ~kept.target & (side.enrol >= 0) & (side.test >= 0)
        pair = (side.enrol * np.int32(n) + side.test)[known]
        score = kept.score[known]
        total += np.bincount(pair, minlength=n * n)
        for row, threshold in zip(errors, thresholds, strict=True):
            if not np.isnan(threshold):
                row += np.bincount(pair[score >= threshold], minlength=n * n)
    return errors.reshape(-1, n, n), total.reshape(n, n)


class _Exact:
    """Counts per distinct score: one sort of the scores, then stable sorts by group."""

    def __init__(self, layout: Sequence[tuple[Grouping, str]]) -> None:
        self.layout = layout
        self.tally = Tally(_EMPTY, 0)

    def add(self, trials: Trials, placed: Sequence[Sequence[NDArray[np.int32]]]) -> None:
        order = np.argsort(trials.score)
        score, target = trials.score[order], trials.target[order]
        everything = Counts.from_sorted(score, target)
        self.tally.everything = everything
        for (grouping, rule), codes in zip(self.layout, placed, strict=True):
            here = [code[order] for code in codes]
            inside = np.logical_or.reduce([code >= 0 for code in here])
            pooled = (
                everything if inside.all() else Counts.from_sorted(score[inside], target[inside])
            )
            groups = _split(score, target, here, len(grouping.groups))
            speakers = np.zeros(len(groups) + 1, dtype=np.int64)
            self.tally.cells.append(Cells(grouping, rule, groups, pooled, speakers))

    def finish(self) -> Tally:
        return self.tally


def _split(
    score: FloatArray, target: NDArray[np.bool_], codes: Sequence[NDArray[np.int32]], n: int
) -> list[Counts]:
    """Counts of each group, from trials in rising order of score."""
    if len(codes) == 2:  # a trial may count for two groups: merge keeps the order of scores
        index = np.concatenate((np.arange(score.size), np.arange(score.size)))
        code = np.concatenate(codes)
        rank = np.argsort(index, kind="stable")
        code, score, target = code[rank], score[index[rank]], target[index[rank]]
    else:
        code = codes[0]
    by_group = np.argsort(code.astype(np.int16 if n < 1 << 15 else np.int32), kind="stable")
    ends = np.cumsum(np.bincount(code + 1, minlength=n + 1))
    score, target = score[by_group], target[by_group]
    return [
        Counts.from_sorted(score[start:end], target[start:end])
        for start, end in zip(ends[:-1], ends[1:], strict=True)
    ]


class _Binned:
    """Counts per bin: one bincount per partition and cell layout."""

    def __init__(self, layout: Sequence[tuple[Grouping, str]], edges: FloatArray) -> None:
        self.layout, self.edges = layout, edges
        self.all = np.zeros((2, edges.size), dtype=np.int64)
        self.pooled = [np.zeros((2, edges.size), dtype=np.int64) for _ in layout]
        self.groups = [
            np.zeros((len(grouping.groups) + 1, 2, edges.size), dtype=np.int32)
            for grouping, _ in layout
        ]

    def add(self, trials: Trials, placed: Sequence[Sequence[NDArray[np.int32]]]) -> None:
        size = self.edges.size
        for start in range(0, trials.score.size, CHUNK):
            part = slice(start, start + CHUNK)
            score, target = trials.score[part], trials.target[part]
            code = np.searchsorted(self.edges, score, side="right") - 1 + size * target
            self.all += np.bincount(code, minlength=2 * size).reshape(2, size)
            for total, pooled, codes in zip(self.groups, self.pooled, placed, strict=True):
                here = [group[part] for group in codes]
                inside = np.logical_or.reduce([group >= 0 for group in here])
                pooled += np.bincount(code[inside], minlength=2 * size).reshape(2, size)
                flat = total.reshape(-1)
                for group in here:
                    cell = (group.astype(np.int64) + 1) * (2 * size) + code
                    np.add.at(flat, cell, 1)

    def finish(self) -> Tally:
        tally = Tally(self._counts(self.all), 0, bound=_largest_share(self.all))
        for (grouping, rule), total, pooled in zip(
            self.layout, self.groups, self.pooled, strict=True
        ):
            groups = [self._counts(one) for one in total[1:]]
            speakers = np.zeros(len(groups) + 1, dtype=np.int64)
            tally.cells.append(Cells(grouping, rule, groups, self._counts(pooled), speakers))
            tally.bound = max(tally.bound, *(_largest_share(one) for one in total[1:]))
        return tally

    def _counts(self, both: IntArray) -> Counts:
        used = both.any(axis=0)
        nontarget, target = both[:, used].astype(np.int64)
        return Counts(self.edges[used], target, nontarget)


def _edges(trials: TrialSet, thresholds: Iterable[float]) -> FloatArray:
    """Lower bin edges: an even grid over the finite scores, the infinities, and thresholds."""
    low, high = trials.score_range
    grid = np.linspace(low, high, BINS)
    extra = np.array([t for t in thresholds if not np.isnan(t)], dtype=np.float64)
    return np.unique(np.concatenate(([-np.inf], grid, [np.inf], extra)))


def _largest_share(both: IntArray) -> float:
    """Largest share of a class of trials that falls into one bin."""
    total = both.sum(axis=-1)
    return float((both.max(axis=-1) / np.maximum(total, 1)).max())


def _n_speakers(trials: TrialSet) -> int:
    return int(trials.utterance_speaker.max(initial=-1)) + 1


_EMPTY = Counts.from_sorted(np.empty(0), np.empty(0, dtype=bool))
