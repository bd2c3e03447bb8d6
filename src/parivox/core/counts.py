"""The waist: integer counts of target and nontarget trials per score value.

Everything above this module turns files into `Counts`; everything below reads
`Counts` and the `Curve` cumulated from them, and knows no files, tables or
names. Counts of disjoint sets of trials add up.

Axes: ``[..., group, value]`` and ``[..., group, threshold]``; leading axes are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    FloatArray: TypeAlias = NDArray[np.float64]
    IntArray: TypeAlias = NDArray[np.int64]


_CELLS = 1 << 16
_AT_ONCE = 1 << 16
"""Scores, so that all that is made of them stays near the processor."""
_CROWDED, _FEW = 8, 32
_STRETCH = 2**13  # longer ones are handed to threads, which wait for each other


class ScoreGrid:
    """Even cells from a low number to a high one: a higher one is in no lower cell.

    Whatever is rounded. There are none where the two are the same, or not finite.
    """

    def __init__(self, low: float, high: float) -> None:
        self.low = low
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            self.scale = np.float64(_CELLS) / np.subtract(high, low)
        self.has_cells = bool(0 < self.scale < np.inf)

    def cell_indices(self, scores: FloatArray) -> NDArray[np.int32]:
        """Cell of each score, the first or the last of those that lie beyond."""
        with np.errstate(over="ignore"):
            cells: FloatArray = (scores - self.low) * self.scale
        return cells.clip(0, _CELLS - 1).astype(np.int32)

    def index_scores(self, scores: FloatArray) -> tuple[FloatArray, NDArray[np.int32]] | None:
        """Scores that occur, rising, and the place of each; None where two share a cell.

        Examples
        --------
        >>> values, place = ScoreGrid(0.0, 0.5).index_scores(np.array([0.5, 0.0, 0.25, 0.5]))
        >>> values.tolist(), place.tolist()
        ([0.0, 0.25, 0.5], [2, 0, 1, 2])
        """
        found, cell = np.full(_CELLS, np.nan), np.empty(scores.size, dtype=np.int32)
        parts = [slice(start, start + _AT_ONCE) for start in range(0, scores.size, _AT_ONCE)]
        for here in parts:
            cell[here] = self.cell_indices(scores[here])
            found[cell[here]] = scores[here]
            if here is parts[0] and not np.array_equal(found.take(cell[here]), scores[here]):
                return None
        if not all(np.array_equal(found.take(cell[here]), scores[here]) for here in parts):
            return None
        used = np.flatnonzero(~np.isnan(found))
        number = np.zeros(_CELLS, dtype=np.int32)
        number[used] = np.arange(used.size)
        for here in parts:
            cell[here] = number.take(cell[here])
        return found[used] + 0.0, cell  # zero has no sign


class EdgeSearch:
    """How many of some rising edges are at or below each score: what a binary search finds.

    An even grid over the edges tells it at once, but for the few edges in a score's own cell.

    Examples
    --------
    >>> EdgeSearch(np.array([-np.inf, 0.0, 0.5])).step_indices(
    ...     np.array([-1.0, 0.5, np.inf])
    ... ).tolist()
    [1, 3, 3]
    """

    def __init__(self, edges: FloatArray) -> None:
        self.edges = edges
        inside = edges[np.isfinite(edges)]
        self.grid = ScoreGrid(*inside[[0, -1]] if inside.size else (0.0, 0.0))
        self.max_edges_per_cell = 0
        if edges.size > _FEW and self.grid.has_cells:
            cell = self.grid.cell_indices(edges)
            self.max_edges_per_cell = int(np.bincount(cell).max())
            self.first_edge_indices = np.searchsorted(cell, np.arange(_CELLS))

    def step_indices(self, scores: FloatArray) -> NDArray[np.intp]:
        """Steps of scores, none of which is NaN; shapes (score,)."""
        if not 0 < self.max_edges_per_cell <= _CROWDED:
            return np.searchsorted(self.edges, scores, side="right")
        found = np.empty(scores.size, dtype=np.intp)
        above = np.append(self.edges, np.nan)  # which nothing reaches
        for start in range(0, scores.size, _AT_ONCE):
            some = scores[start : start + _AT_ONCE]
            at = self.first_edge_indices.take(self.grid.cell_indices(some))
            for _ in range(self.max_edges_per_cell):
                at += above.take(at) <= some
            found[start : start + _AT_ONCE] = at
        return found


_LABELS = (-1, 0, 1)
_ORDER = (
    "scores come first and labels second, unlike scikit-learn's y_true, y_score; scores of 0 and 1 "
    "are given as floats"
)


@dataclass(frozen=True, eq=False)
class Curve:
    """Error counts at thresholds; a trial is accepted iff its score >= threshold.

    Attributes
    ----------
    thresholds : ndarray of shape (threshold,), or (..., threshold) if they differ
        Falling. A whole curve starts with +inf (accept nothing) and ends with the lowest
        score (accept everything); trials of equal score move together.
    fp, fn : integer ndarrays of shape (..., threshold)
        Nontarget trials accepted, target trials rejected.
    n_target, n_nontarget : integer ndarrays of shape (...)
        All target and nontarget trials.
    """

    thresholds: FloatArray
    fp: IntArray
    fn: IntArray
    n_target: IntArray
    n_nontarget: IntArray

    @property
    def fpr(self) -> FloatArray:
        """False positive rate in [0, 1], shape (..., threshold); NaN without nontargets."""
        return _rate(self.fp, self.n_nontarget)

    @property
    def fnr(self) -> FloatArray:
        """False negative rate in [0, 1], shape (..., threshold); NaN without targets."""
        return _rate(self.fn, self.n_target)


@dataclass(frozen=True, eq=False)
class Counts:
    """Target and nontarget trials per distinct score (or bin centre).

    Attributes
    ----------
    values : ndarray of shape (value,)
        Scores, strictly rising; may be -inf or +inf at the ends, never NaN.
    target, nontarget : integer ndarrays of shape (..., value)
        Trials with that score.
    """

    values: FloatArray
    target: IntArray
    nontarget: IntArray

    @classmethod
    def from_scores(cls, scores: ArrayLike, labels: ArrayLike) -> Counts:
        """Count trials by score.

        Parameters
        ----------
        scores : array_like of shape (trial,)
            Higher means more alike. Infinite values are allowed, NaN is not.
        labels : array_like of shape (trial,)
            True or 1 for target, False, 0 or -1 for nontarget trials.

        Raises
        ------
        DataError
            If the shapes differ, a score is NaN or a label is none of these; or if scores are
            whole numbers that are labels, too, so that nothing shows which of the two they are.

        Examples
        --------
        >>> counts = Counts.from_scores([0.9, 0.2, 0.2], [1, 1, 0])
        >>> counts.values.tolist(), counts.target.tolist(), counts.nontarget.tolist()
        ([0.2, 0.9], [1, 1], [1, 0])
        """
        given, label = np.asarray(scores), np.asarray(labels)
        try:
            score = given.astype(np.float64)
        except ValueError:
            msg = f"scores are not numbers, as {given.ravel()[:1].tolist()}: {_ORDER}"
            raise DataError(msg) from None
        is_bool = [one.dtype.kind == "b" for one in (given, label)]
        may_be_labels = is_bool[0] or (given.dtype.kind in "iu" and not is_bool[1])
        if may_be_labels and given.size and np.isin(given, _LABELS).all():
            msg = f"scores hold {given.max()} and the like alone, as labels do: {_ORDER}"
            raise DataError(msg)
        if score.ndim != 1 or score.shape != label.shape:
            msg = (
                f"scores and labels must be flat and of one length; found shapes {score.shape} "
                f"and {label.shape}"
            )
            raise DataError(msg)
        if np.isnan(score).any():
            msg = f"score {int(np.isnan(score).argmax())} is NaN; leave such trials out first"
            raise DataError(msg)
        target = label == 1
        odd = ~(target | (label == 0) | (label == -1))
        if odd.any():
            at = int(odd.argmax())
            (found,) = label[at : at + 1].tolist()
            msg = (
                f"label {at} is {found!r}; labels are 1 or True (target), 0, -1 or False; {_ORDER}"
            )
            raise DataError(msg)
        order = np.argsort(score)
        return cls.from_sorted(score[order], target[order])

    @classmethod
    def from_sorted(
        cls, score: FloatArray, target: NDArray[np.bool_], weight: IntArray | None = None
    ) -> Counts:
        """Count trials whose scores are already in rising order (no checks).

        Each counts once or, with `weight`, as often as that.
        """
        is_first = np.ones(score.size, dtype=np.bool_)
        np.not_equal(score[1:], score[:-1], out=is_first[1:])
        first = np.flatnonzero(is_first)
        running = np.zeros(score.size + 1, dtype=np.int64)
        np.cumsum(target if weight is None else target * weight, dtype=np.int64, out=running[1:])
        n_target = _to_next(running.take(first), running[-1])
        if weight is None:
            n = _to_next(first, score.size)
        else:
            np.cumsum(weight, out=running[1:])
            n = _to_next(running.take(first), running[-1])
        values = score.take(first)
        values += 0.0  # which makes -0.0 and 0.0 one value with one spelling
        n -= n_target
        return cls(values, n_target, n)

    def __add__(self, other: Counts) -> Counts:
        """Counts of both sets of trials, on the union of their values."""
        values = np.union1d(self.values, other.values)
        here, there = (np.searchsorted(values, c.values) for c in (self, other))
        summed = []
        for mine, theirs in ((self.target, other.target), (self.nontarget, other.nontarget)):
            lead = np.broadcast_shapes(mine.shape[:-1], theirs.shape[:-1])
            total = np.zeros((*lead, values.size), dtype=np.int64)
            total[..., here] += mine
            total[..., there] += theirs
            summed.append(total)
        return Counts(values, *summed)

    @cached_property
    def n_target(self) -> IntArray:
        """Target trials, shape (...)."""
        return np.asarray(self.target.sum(axis=-1, dtype=np.int64))

    @cached_property
    def n_nontarget(self) -> IntArray:
        """Nontarget trials, shape (...)."""
        return np.asarray(self.nontarget.sum(axis=-1, dtype=np.int64))

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        """Mean score of target and of nontarget trials, shape (...), NaN without any.

        Infinite scores make it infinite, both infinities NaN.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            of_target, of_nontarget = (
                np.asarray(sum_over_trials(self.values, trials, lambda v: v) / total)
                for trials, total in (
                    (self.target, self.n_target),
                    (self.nontarget, self.n_nontarget),
                )
            )
        return of_target, of_nontarget

    @cached_property
    def curve(self) -> Curve:
        """The whole error curve: one threshold per value and +inf (accept nothing)."""
        fp, fn = _above(self.nontarget), _above(self.target)
        np.subtract(self.n_target[..., None], fn, out=fn)
        thresholds = np.concatenate(([np.inf], self.values[::-1]))
        return Curve(thresholds, fp, fn, self.n_target, self.n_nontarget)

    def forget_curve(self) -> None:
        """Give back the room of the curve, which is computed anew when it is asked for."""
        vars(self).pop("curve", None)

    def at(self, thresholds: ArrayLike) -> Curve:
        """Exact error counts at any thresholds, in the order given.

        See docs/methods/rates.md#rates-at-a-threshold.

        Parameters
        ----------
        thresholds : array_like of shape (threshold,) or (..., threshold)
            The same for all cells, or those of each cell (of each replicate): then leading axes
            broadcast against those of the counts. NaN accepts nothing.

        Examples
        --------
        >>> counts = Counts.from_scores([0.9, 0.2, 0.4], [1, 1, 0])
        >>> point = counts.at([0.4])
        >>> point.fp.tolist(), point.fn.tolist()
        ([1], [1])
        >>> counts.at([[0.4], [0.9]]).fp.tolist()
        [[1], [0]]
        """
        t = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        accepted = self.values.size - np.searchsorted(self.values, t, side="left")
        fp, fn = (_at(errors, accepted) for errors in (self.curve.fp, self.curve.fn))
        return Curve(t, fp, fn, self.n_target, self.n_nontarget)


def as_counts(scores: Counts | ArrayLike, labels: ArrayLike | None = None) -> Counts:
    """Counts as they are, or counted from scores and labels."""
    if isinstance(scores, Counts):
        return scores
    if labels is None:
        msg = "labels are missing: give scores and labels, or one Counts object"
        raise DataError(msg)
    return Counts.from_scores(scores, labels)


def sum_over_trials(
    values: FloatArray, trials: IntArray, of: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Sum of a function of the score over all trials.

    Of scores ``[value]`` and trials with each, ``[..., value]``; a score without trials adds
    nothing, even if `of` is infinite. `of` takes a stretch of the scores and returns the same
    length, with leading axes if it likes.

    Examples
    --------
    >>> float(sum_over_trials(np.array([1.0, 2.0]), np.array([3, 1]), np.square))
    7.0
    """
    total = np.zeros(trials.shape[:-1])
    # stretches that fit the cache: several times faster than one pass over a million values
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, values.size, _STRETCH):
            stretch = slice(start, start + _STRETCH)
            n, each = trials[..., stretch], of(values[stretch])
            if np.isfinite(each).all():
                total = total + np.vecdot(n, each)
            else:
                total = total + np.where(n > 0, n * each, 0.0).sum(axis=-1)
    return total


def _to_next(rising: IntArray, end: int) -> IntArray:
    """How far each number is from the next one, the last from the end."""
    found = np.empty(rising.size, dtype=np.int64)
    np.subtract(rising[1:], rising[:-1], out=found[:-1])
    found[-1:] = end - rising[-1:]
    return found


def _above(per_value: IntArray) -> IntArray:
    """Trials with at least each threshold's score, from +inf down."""
    total = np.empty((*per_value.shape[:-1], per_value.shape[-1] + 1), dtype=np.int64)
    total[..., 0] = 0
    np.cumsum(per_value[..., ::-1], axis=-1, dtype=np.int64, out=total[..., 1:])
    return total


def _at(errors: IntArray, index: NDArray[np.intp]) -> IntArray:
    """Errors at points of a curve: the same of each cell, or its own."""
    if index.ndim == 1 or errors.ndim == 1:
        return errors[..., index]
    lead = np.broadcast_shapes(errors.shape[:-1], index.shape[:-1])
    whole = np.broadcast_to(errors, (*lead, errors.shape[-1]))
    return np.take_along_axis(whole, np.broadcast_to(index, (*lead, index.shape[-1])), axis=-1)


def _rate(errors: IntArray, trials: IntArray) -> FloatArray:
    if trials.all():  # as almost always
        return np.asarray(errors / trials[..., None])
    with np.errstate(invalid="ignore"):
        return np.where(trials[..., None] > 0, errors / trials[..., None], np.nan)
