"""From encoded trials to counts per group: the last step above the waist.

A *cell* is what a rate is computed on: one group of one grouping under one allocation of
nontarget trials (METHODS 2.1). Trials held in memory give exact counts per distinct score;
trials in partitions are counted in :data:`BINS` bins whose lower edges are the thresholds of
the curve, so that every count at such a threshold is exact as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from parivox.core.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.tables.groups import Grouping
    from parivox.tables.trials import TrialSet

    Codes: TypeAlias = NDArray[np.int32]

__all__ = ["ALLOCATIONS", "BINS", "Cells", "Tally", "count_cells", "count_matrices"]

ALLOCATIONS = ("both", "enrol", "test", "either")
BINS = 1 << 16
CHUNK = 1 << 21
_NONE = np.int32(-1)


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
    left_out : integer ndarray of shape (2,)
        Trials that count for no group: of a speaker whose group is unknown; between two groups.
    """

    grouping: Grouping
    allocation: str
    groups: Sequence[Counts]
    pooled: Counts
    speakers: IntArray
    left_out: IntArray


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
        Largest share of one class of a cell's trials in one bin, in [0, 1]: no rate at a
        threshold found on the curve (EER, minimum cost, FNR at an FPR) nor the AUC is further
        than this from the exact one. 0 for exact counts.
    width : float
        Width of a bin, in units of score: means and quantiles of scores are within it.
    """

    everything: Counts
    speakers: int
    cells: list[Cells] = field(default_factory=list)
    bound: float = 0.0
    width: float = 0.0


def placements(
    enrol: Codes, test: Codes, target: NDArray[np.bool_], allocation: str
) -> list[Codes]:
    """Group that each trial counts for, -1 for none; a second array where it counts twice.

    ``enrol`` and ``test`` are the groups of both speakers, -1 where unknown.
    """
    if allocation == "enrol":
        return [enrol]
    if allocation == "test":
        return [test]
    if allocation == "both":
        return [np.where(enrol == test, enrol, _NONE)]
    return [enrol, np.where((enrol == test) | target, _NONE, test)]


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
    exact = trials.n_partitions == 1
    n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
    counter: _Exact | _Binned = (
        _Exact(layout) if exact else _Binned(layout, _edges(trials, thresholds))
    )
    in_use = np.zeros((len(layout) + 1, n_speakers + 1), dtype=np.bool_)  # last: unknown
    left_out = np.zeros((len(layout), 2), dtype=np.int64)
    for part in trials.partitions():
        kept = part if keep_conflicts else part.without_conflicts()
        score, target = kept.score, kept.target
        enrol, test = trials.utterance_speaker[kept.enrol], trials.utterance_speaker[kept.test]
        if exact:
            order = np.argsort(score)
            score, target, enrol, test = score[order], target[order], enrol[order], test[order]
        in_use[0, enrol] = in_use[0, test] = True
        placed = []
        for i, (grouping, rule) in enumerate(layout):
            groups = _of(grouping, enrol), _of(grouping, test)
            placed.append(placements(*groups, target, rule))
            nowhere = np.logical_and.reduce([code < 0 for code in placed[-1]])
            if nowhere.any():
                known = (groups[0] >= 0) & (groups[1] >= 0) & nowhere
                left_out[i] += int((nowhere & ~known).sum()), int(known.sum())
            used = in_use[i + 1]
            for code in placed[-1]:
                for speaker, group in zip((enrol, test), groups, strict=True):
                    inside = group == code
                    inside &= code >= 0
                    used[speaker if inside.all() else speaker[inside]] = True
        counter.add(score, target, placed)
    tally = counter.finish()
    in_use = in_use[:, :-1]
    tally.speakers = int(in_use[0].sum())
    for cells, used, outside in zip(tally.cells, in_use[1:], left_out, strict=True):
        cells.left_out[:] = outside
        cells.speakers[:-1] = np.bincount(
            cells.grouping.of_speaker[:n_speakers][used], minlength=len(cells.groups)
        )
        cells.speakers[-1] = used.sum()
    return tally


def _of(grouping: Grouping, speaker: Codes) -> Codes:
    """Group of each speaker."""
    return np.asarray(grouping.of_speaker, dtype=np.int32)[speaker]


def count_matrices(
    trials: TrialSet, groupings: Sequence[Grouping], thresholds: FloatArray
) -> list[tuple[IntArray, IntArray]]:
    """False accepts and trials of nontarget pairs, by group of either side (METHODS 2.2).

    Returns
    -------
    list of (errors, trials)
        One pair a grouping: integers of shapes ``(threshold, enrol group, test group)`` and
        ``(enrol group, test group)``.
    """
    sizes = [len(grouping.groups) for grouping in groupings]
    errors = [np.zeros((thresholds.size, n * n), dtype=np.int64) for n in sizes]
    totals = [np.zeros(n * n, dtype=np.int64) for n in sizes]
    for part in trials.partitions():
        kept = part.without_conflicts()
        other = ~kept.target
        score = kept.score[other]
        enrol = trials.utterance_speaker[kept.enrol[other]]
        test = trials.utterance_speaker[kept.test[other]]
        accepted = [score >= t for t in thresholds]  # never, where the threshold is NaN
        for i, (grouping, n) in enumerate(zip(groupings, sizes, strict=True)):
            one, two = _of(grouping, enrol), _of(grouping, test)
            # unknown groups count in a cell of their own, which is then left out
            pair = np.where((one < 0) | (two < 0), np.int32(n * n), one * np.int32(n) + two)
            totals[i] += np.bincount(pair, minlength=n * n + 1)[:-1]
            for row, chosen in enumerate(accepted):
                errors[i][row] += np.bincount(pair[chosen], minlength=n * n + 1)[:-1]
    return [
        (wrong.reshape(-1, n, n), total.reshape(n, n))
        for n, wrong, total in zip(sizes, errors, totals, strict=True)
    ]


class _Exact:
    """Counts per distinct score: one sort of the scores, then stable sorts by group."""

    def __init__(self, layout: Sequence[tuple[Grouping, str]]) -> None:
        self.layout = layout
        self.tally = Tally(_EMPTY, 0)

    def add(
        self, score: FloatArray, target: NDArray[np.bool_], placed: Sequence[Sequence[Codes]]
    ) -> None:
        everything = Counts.from_sorted(score, target)
        self.tally.everything = everything
        for (grouping, rule), here in zip(self.layout, placed, strict=True):
            inside = np.logical_or.reduce([code >= 0 for code in here])
            pooled = (
                everything if inside.all() else Counts.from_sorted(score[inside], target[inside])
            )
            groups = _split(score, target, here, len(grouping.groups))
            counts = [np.zeros(n, dtype=np.int64) for n in (len(groups) + 1, 2)]
            self.tally.cells.append(Cells(grouping, rule, groups, pooled, *counts))

    def finish(self) -> Tally:
        return self.tally


def _split(
    score: FloatArray, target: NDArray[np.bool_], codes: Sequence[Codes], n: int
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
        Counts.from_sorted(score[start:end], target[start:end]) for start, end in pairwise(ends)
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

    def add(
        self, score: FloatArray, target: NDArray[np.bool_], placed: Sequence[Sequence[Codes]]
    ) -> None:
        size = self.edges.size
        for start in range(0, score.size, CHUNK):
            part = slice(start, start + CHUNK)
            code = np.searchsorted(self.edges, score[part], side="right") - 1
            code += size * target[part]
            self.all += np.bincount(code, minlength=2 * size).reshape(2, size)
            for i, codes in enumerate(placed):
                here = [group[part] for group in codes]
                inside = np.logical_or.reduce([group >= 0 for group in here])
                self.pooled[i] += np.bincount(code[inside], minlength=2 * size).reshape(2, size)
                flat = self.groups[i].reshape(-1)
                for group in here:
                    cell = (group.astype(np.int64) + 1) * (2 * size) + code
                    np.add.at(flat, cell, 1)

    def finish(self) -> Tally:
        width = float(np.diff(self.edges[1:-1]).max(initial=0.0))
        tally = Tally(self._counts(self.all), 0, bound=_largest_share(self.all), width=width)
        for (grouping, rule), total, pooled in zip(
            self.layout, self.groups, self.pooled, strict=True
        ):
            groups = [self._counts(one) for one in total[1:]]
            counts = [np.zeros(n, dtype=np.int64) for n in (len(groups) + 1, 2)]
            tally.cells.append(Cells(grouping, rule, groups, self._counts(pooled), *counts))
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
    """Largest share of a class of trials in one bin, of the bins that hold both classes.

    In a bin of one class nothing is lost: no threshold inside it beats both of its ends.
    """
    mixed = both[:, both.all(axis=0)]
    total = both.sum(axis=-1)
    return float((mixed.max(axis=-1, initial=0) / np.maximum(total, 1)).max())


_EMPTY = Counts.from_sorted(np.empty(0), np.empty(0, dtype=bool))
