"""Integer counts of trials of each class per score value, and error curves from them.

The narrow waist of the package: readers turn files into `Counts`; all metrics read `Counts` and
the `Curve` cumulated from them, and know no files, tables or names. Counts of disjoint sets of
trials add up. Trials are target or nontarget trials or, where a list has them, spoof trials, which
never count as nontarget.

Axes: ``[..., group, value]`` and ``[..., group, threshold]``; leading axes are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    FloatArray: TypeAlias = NDArray[np.float64]
    IntArray: TypeAlias = NDArray[np.int64]


# Products of trial numbers below this are exact in int64, doubled and summed; larger ones are
# computed with floats.
_MAX_INT64_PRODUCT = 2.0**61
_N_GRID_CELLS = 1 << 16
# Scores at a time, so that all intermediate arrays stay in the processor's cache.
_CHUNK_SIZE = 1 << 16
# A grid helps to search among edges unless some cell is crowded or there are hardly any edges.
_MAX_EDGES_PER_CELL = 8
_MIN_GRID_EDGES = 32
# Many scores are compared with each of so few edges: no step depends on a score, as those of a
# binary search do.
_MAX_COMPARED_EDGES = 16
# NumPy hands longer dot products to threads, which wait for each other.
_SCORES_PER_PASS = 2**13


class ScoreGrid:
    """Even cells from a low to a high score; a higher score is never in a lower cell.

    This holds however scores are rounded. There are no cells where the two scores are equal or
    not finite.
    """

    def __init__(self, low: float, high: float) -> None:
        self.low = low
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            self.scale = np.float64(_N_GRID_CELLS) / np.subtract(high, low)
        self.has_cells = bool(0 < self.scale < np.inf)

    def cell_indices(self, scores: FloatArray) -> NDArray[np.int32]:
        """Return the cell of each score; scores beyond the grid are in its first or last cell."""
        with np.errstate(over="ignore"):
            cells: FloatArray = (scores - self.low) * self.scale
        return cells.clip(0, _N_GRID_CELLS - 1).astype(np.int32)

    def index_scores(self, scores: FloatArray) -> tuple[FloatArray, NDArray[np.int32]] | None:
        """Return the scores that occur, rising, and each one's index; None if two share a cell.

        Examples
        --------
        >>> values, indices = ScoreGrid(0.0, 0.5).index_scores(np.array([0.5, 0.0, 0.25, 0.5]))
        >>> values.tolist(), indices.tolist()
        ([0.0, 0.25, 0.5], [2, 0, 1, 2])
        """
        score_of_cell = np.full(_N_GRID_CELLS, np.nan)
        cell_indices = np.empty(scores.size, dtype=np.int32)
        chunks = [slice(start, start + _CHUNK_SIZE) for start in range(0, scores.size, _CHUNK_SIZE)]
        for chunk in chunks:
            cell_indices[chunk] = self.cell_indices(scores[chunk])
            score_of_cell[cell_indices[chunk]] = scores[chunk]
            # two scores in one cell mostly show in the first chunk, which saves the others
            if chunk is chunks[0] and not np.array_equal(
                score_of_cell.take(cell_indices[chunk]), scores[chunk]
            ):
                return None
        # a later chunk may have overwritten the score of an earlier one
        for chunk in chunks:
            if not np.array_equal(score_of_cell.take(cell_indices[chunk]), scores[chunk]):
                return None
        used_cells = np.flatnonzero(~np.isnan(score_of_cell))
        value_indices = np.zeros(_N_GRID_CELLS, dtype=np.int32)
        value_indices[used_cells] = np.arange(used_cells.size)
        for chunk in chunks:
            cell_indices[chunk] = value_indices.take(cell_indices[chunk])
        return score_of_cell[used_cells] + 0.0, cell_indices  # zero has no sign


class EdgeSearch:
    """Finds how many of some rising edges are at or below each score, as a binary search does.

    An even grid over the edges answers at once, except for the few edges in a score's own cell.

    Examples
    --------
    >>> EdgeSearch(np.array([-np.inf, 0.0, 0.5])).step_indices(
    ...     np.array([-1.0, 0.5, np.inf])
    ... ).tolist()
    [1, 3, 3]
    """

    def __init__(self, edges: FloatArray) -> None:
        self.edges = edges
        finite_edges = edges[np.isfinite(edges)]
        self.grid = ScoreGrid(*finite_edges[[0, -1]] if finite_edges.size else (0.0, 0.0))
        self.max_edges_per_cell = 0
        if edges.size > _MIN_GRID_EDGES and self.grid.has_cells:
            edge_cells = self.grid.cell_indices(edges)
            self.max_edges_per_cell = int(np.bincount(edge_cells).max())
            self.first_edge_indices = np.searchsorted(edge_cells, np.arange(_N_GRID_CELLS))

    def step_indices(self, scores: FloatArray) -> NDArray[np.intp]:
        """Return the number of edges at or below each score, none NaN; shapes (score,)."""
        steps = np.empty(scores.size, dtype=np.intp)
        if scores.size > _CHUNK_SIZE and self.edges.size <= _MAX_COMPARED_EDGES:
            for start in range(0, scores.size, _CHUNK_SIZE):
                chunk = scores[start : start + _CHUNK_SIZE]
                n_passed = np.zeros(chunk.size, dtype=np.uint8)
                for edge in self.edges:
                    n_passed += chunk >= edge
                steps[start : start + _CHUNK_SIZE] = n_passed
            return steps
        if not 0 < self.max_edges_per_cell <= _MAX_EDGES_PER_CELL:
            return np.searchsorted(self.edges, scores, side="right")
        next_edges = np.append(self.edges, np.nan)  # no score reaches NaN
        for start in range(0, scores.size, _CHUNK_SIZE):
            chunk = scores[start : start + _CHUNK_SIZE]
            chunk_steps = self.first_edge_indices.take(self.grid.cell_indices(chunk))
            for _ in range(self.max_edges_per_cell):
                chunk_steps += next_edges.take(chunk_steps) <= chunk
            steps[start : start + _CHUNK_SIZE] = chunk_steps
        return steps


TRIAL_CLASSES = ("nontarget", "target", "spoof")
"""Classes of trials in the order of their codes, in labels and wherever trials have a class."""
NONTARGET, TARGET, SPOOF = range(len(TRIAL_CLASSES))
_LABELS = (-1, NONTARGET, TARGET)
_ARGUMENT_ORDER = (
    "scores come before labels (the reverse of y_true, y_score in scikit-learn); give scores of "
    "0 and 1 as floats"
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
    spoof_accepts : integer ndarray of shape (..., threshold), or None without spoof trials
        Spoof trials accepted.
    n_spoof : integer ndarray of shape (...), or None without spoof trials
        All spoof trials.
    """

    thresholds: FloatArray
    fp: IntArray
    fn: IntArray
    n_target: IntArray
    n_nontarget: IntArray
    spoof_accepts: IntArray | None = None
    n_spoof: IntArray | None = None

    @classmethod
    def from_classes(
        cls, thresholds: FloatArray, errors: Sequence[IntArray], trials: Sequence[IntArray]
    ) -> Curve:
        """Return a curve from errors and trials of each class, in the order of `TRIAL_CLASSES`."""
        (fp, fn, *spoof_accepts), (n_nontarget, n_target, *n_spoof) = errors, trials
        return cls(thresholds, fp, fn, n_target, n_nontarget, *spoof_accepts, *n_spoof)

    @property
    def errors_by_class(self) -> list[IntArray]:
        """Errors of each class that the list has, in the order of `TRIAL_CLASSES`."""
        return [self.fp, self.fn, *([] if self.spoof_accepts is None else [self.spoof_accepts])]

    @property
    def n_by_class(self) -> list[IntArray]:
        """Numbers of trials of each class that the list has, in the order of `TRIAL_CLASSES`."""
        return [self.n_nontarget, self.n_target, *([] if self.n_spoof is None else [self.n_spoof])]

    @property
    def fpr(self) -> FloatArray:
        """False positive rate in [0, 1], shape (..., threshold); NaN without nontargets."""
        return _rate(self.fp, self.n_nontarget)

    @property
    def fnr(self) -> FloatArray:
        """False negative rate in [0, 1], shape (..., threshold); NaN without targets."""
        return _rate(self.fn, self.n_target)

    @property
    def sfar(self) -> FloatArray:
        """Spoof false accept rate in [0, 1], shape (..., threshold); NaN without spoof trials."""
        if self.spoof_accepts is None or self.n_spoof is None:
            return np.full(self.fp.shape, np.nan)
        return _rate(self.spoof_accepts, self.n_spoof)


@dataclass(frozen=True, eq=False)
class Counts:
    """Trials of each class per distinct score (or bin centre).

    Attributes
    ----------
    values : ndarray of shape (value,)
        Scores, strictly rising; may be -inf or +inf at the ends, never NaN.
    target, nontarget : integer ndarrays of shape (..., value)
        Trials with that score.
    spoof : integer ndarray of shape (..., value), or None without spoof trials
        Spoof trials with that score.
    """

    values: FloatArray
    target: IntArray
    nontarget: IntArray
    spoof: IntArray | None = None

    @classmethod
    def from_scores(cls, scores: ArrayLike, labels: ArrayLike) -> Counts:
        """Count trials by score.

        Parameters
        ----------
        scores : array_like of shape (trial,)
            Higher means more alike. Infinite values are allowed, NaN is not.
        labels : array_like of shape (trial,)
            True or 1 for target, False, 0 or -1 for nontarget trials, 2 for spoof trials.

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
        >>> Counts.from_scores([0.9, 0.2, 0.6], [1, 0, 2]).spoof.tolist()
        [0, 1, 0]
        """
        raw_scores, label = np.asarray(scores), np.asarray(labels)
        try:
            score = raw_scores.astype(np.float64)
        except (ValueError, TypeError, OverflowError):
            msg = (
                f"scores are not numbers (found {raw_scores.ravel()[:1].tolist()}): "
                f"{_ARGUMENT_ORDER}"
            )
            raise DataError(msg) from None
        is_bool = [argument.dtype.kind == "b" for argument in (raw_scores, label)]
        may_be_labels = is_bool[0] or (raw_scores.dtype.kind in "iu" and not is_bool[1])
        if may_be_labels and raw_scores.size and np.isin(raw_scores, _LABELS).all():
            msg = (
                f"scores contain only values such as {raw_scores.max()}, which look like labels: "
                f"{_ARGUMENT_ORDER}"
            )
            raise DataError(msg)
        if score.ndim != 1 or score.shape != label.shape:
            msg = "scores and labels are not one-dimensional arrays of the same length"
            hint = f"give arrays of the same length (found shapes {score.shape} and {label.shape})"
            raise DataError(msg, hint)
        if np.isnan(score).any():
            msg = f"score {int(np.isnan(score).argmax())} is NaN"
            hint = "remove trials without a score first"
            raise DataError(msg, hint)
        target = label == 1
        spoof = label == SPOOF
        is_unknown_label = ~(target | spoof | (label == 0) | (label == -1))
        if is_unknown_label.any():
            label_index = int(is_unknown_label.argmax())
            (unknown_label,) = label[label_index : label_index + 1].tolist()
            if isinstance(unknown_label, str):
                msg = f"label {label_index} is {unknown_label!r}; labels are numbers or booleans"
                hint = "give True for target trials, for example numpy.asarray(labels) == 'target'"
                raise DataError(msg, hint)
            msg = (
                f"label {label_index} is {unknown_label!r}; labels are 1 or True (target), 0, -1 "
                "or False (nontarget), 2 (spoof)"
            )
            raise DataError(msg, _ARGUMENT_ORDER)
        order = np.argsort(score)
        trial_class = np.where(spoof, SPOOF, target).astype(np.int8)
        n_classes = SPOOF + 1 if spoof.any() else SPOOF
        return cls.from_sorted(score[order], trial_class[order], n_classes=n_classes)

    @classmethod
    def from_sorted(
        cls,
        score: FloatArray,
        trial_class: NDArray[np.int8 | np.bool_],
        weight: IntArray | None = None,
        *,
        n_classes: int = SPOOF,
    ) -> Counts:
        """Count trials whose scores are already in rising order (no checks).

        Each counts once or, with `weight`, as often as that. Classes are codes of `TRIAL_CLASSES`,
        of which the list has `n_classes`.
        """
        is_first = np.ones(score.size, dtype=np.bool_)
        np.not_equal(score[1:], score[:-1], out=is_first[1:])
        starts = np.flatnonzero(is_first)
        running = np.zeros(score.size + 1, dtype=np.int64)

        def trials_of_class(is_of_class: NDArray[np.bool_]) -> IntArray:
            trials = is_of_class if weight is None else is_of_class * weight
            np.cumsum(trials, dtype=np.int64, out=running[1:])
            return _distances_to_next(running.take(starts), running[-1])

        n_target = trials_of_class(trial_class == TARGET)
        n_spoof = trials_of_class(trial_class == SPOOF) if n_classes > SPOOF else None
        if weight is None:
            n_nontarget = _distances_to_next(starts, score.size)
        else:
            np.cumsum(weight, out=running[1:])
            n_nontarget = _distances_to_next(running.take(starts), running[-1])
        distinct_scores = score.take(starts)
        distinct_scores += 0.0  # makes -0.0 and 0.0 one value with one spelling
        n_nontarget -= n_target
        if n_spoof is not None:
            n_nontarget -= n_spoof
        return cls(distinct_scores, n_target, n_nontarget, n_spoof)

    @classmethod
    def from_classes(cls, values: FloatArray, trials: Sequence[IntArray]) -> Counts:
        """Return counts from those of each class, in the order of `TRIAL_CLASSES`."""
        nontarget, target, *spoof = trials
        return cls(values, target, nontarget, *spoof)

    @property
    def by_class(self) -> list[IntArray]:
        """Trials of each class that the list has, in the order of `TRIAL_CLASSES`."""
        spoof = [] if self.spoof is None else [self.spoof]
        return [self.nontarget, self.target, *spoof]

    @property
    def n_by_class(self) -> list[IntArray]:
        """Numbers of trials of each class that the list has, in the order of `TRIAL_CLASSES`."""
        spoof = [] if self.spoof is None else [self.n_spoof]
        return [self.n_nontarget, self.n_target, *spoof]

    def astype(self, dtype: type[np.int32 | np.int64]) -> Counts:
        """Return the same counts as integers of another type, which must hold them."""
        return Counts(
            self.values,
            self.target.astype(dtype, copy=False),
            self.nontarget.astype(dtype, copy=False),
            None if self.spoof is None else self.spoof.astype(dtype, copy=False),
        )

    def __add__(self, other: Counts) -> Counts:
        """Return the counts of both sets of trials, on the union of their values."""
        values = np.union1d(self.values, other.values)
        self_positions = np.searchsorted(values, self.values)
        other_positions = np.searchsorted(values, other.values)

        def summed(self_trials: IntArray, other_trials: IntArray) -> IntArray:
            leading_shape = np.broadcast_shapes(self_trials.shape[:-1], other_trials.shape[:-1])
            total = np.zeros((*leading_shape, values.size), dtype=np.int64)
            total[..., self_positions] += self_trials
            total[..., other_positions] += other_trials
            return total

        spoof = None
        if self.spoof is not None or other.spoof is not None:
            spoof = summed(self.spoof_or_zeros, other.spoof_or_zeros)
        return Counts(
            values,
            summed(self.target, other.target),
            summed(self.nontarget, other.nontarget),
            spoof,
        )

    @property
    def spoof_or_zeros(self) -> IntArray:
        """Spoof trials with each score, zeros without any, shape (..., value)."""
        return np.zeros_like(self.nontarget) if self.spoof is None else self.spoof

    @cached_property
    def n_target(self) -> IntArray:
        """Target trials, shape (...)."""
        return np.asarray(self.target.sum(axis=-1, dtype=np.int64))

    @cached_property
    def n_nontarget(self) -> IntArray:
        """Nontarget trials, shape (...)."""
        return np.asarray(self.nontarget.sum(axis=-1, dtype=np.int64))

    @cached_property
    def n_spoof(self) -> IntArray:
        """Spoof trials, shape (...)."""
        return np.asarray(self.spoof_or_zeros.sum(axis=-1, dtype=np.int64))

    @cached_property
    def means(self) -> tuple[FloatArray, FloatArray]:
        """Mean score of target and of nontarget trials, shape (...), NaN without any.

        Infinite scores make it infinite, both infinities NaN.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            target_sum = sum_over_trials(self.values, self.target, lambda score: score)
            nontarget_sum = sum_over_trials(self.values, self.nontarget, lambda score: score)
            target_mean = np.asarray(target_sum / self.n_target)
            nontarget_mean = np.asarray(nontarget_sum / self.n_nontarget)
        return target_mean, nontarget_mean

    @cached_property
    def auc(self) -> FloatArray:
        """The probability that a target trial outscores a nontarget trial; see `separation.auc`."""
        most_pairs = float(self.n_target.max(initial=0)) * float(self.n_nontarget.max(initial=0))
        targets_up_to = np.cumsum(self.target, axis=-1, dtype=np.int64)
        if most_pairs < _MAX_INT64_PRODUCT:
            # twice the targets that score more than each nontarget, and once those that score alike
            doubled = 2 * (self.n_target * self.n_nontarget)
            doubled -= 2 * np.vecdot(targets_up_to, self.nontarget)
            doubled += np.vecdot(self.target, self.nontarget, dtype=np.int64)
        else:
            wins = 2 * (self.n_target[..., None] - targets_up_to) + self.target
            doubled = (wins.astype(np.float64) * self.nontarget).sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            areas = doubled / self.n_target / self.n_nontarget / 2
        has_both_classes = (self.n_target > 0) & (self.n_nontarget > 0)
        return np.where(has_both_classes, areas, np.nan)[()]

    @cached_property
    def curve(self) -> Curve:
        """The whole error curve: one threshold per value and +inf (accept nothing)."""
        fp, fn = _counts_above(self.nontarget), _counts_above(self.target)
        np.subtract(self.n_target[..., None], fn, out=fn)
        thresholds = np.concatenate(([np.inf], self.values[::-1]))
        if self.spoof is None:
            return Curve(thresholds, fp, fn, self.n_target, self.n_nontarget)
        spoof_accepts = _counts_above(self.spoof)
        return Curve(
            thresholds, fp, fn, self.n_target, self.n_nontarget, spoof_accepts, self.n_spoof
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the curve: it is half of all numbers or more, and soon computed again."""
        return {name: content for name, content in vars(self).items() if name != "curve"}

    def forget_curve(self) -> None:
        """Give back the memory of the curve, which is computed again on access."""
        vars(self).pop("curve", None)

    def at(self, thresholds: ArrayLike) -> Curve:
        """Return exact error counts at any thresholds, in the order given.

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
        try:
            score_thresholds = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        except (ValueError, TypeError, OverflowError) as error:
            msg = f"thresholds are not numbers ({error})"
            hint = "give numbers on the scale of the scores"
            raise DataError(msg, hint) from error
        return self._at(score_thresholds, np.searchsorted(self.values, score_thresholds))

    def at_steps(self, steps: ThresholdSteps) -> Curve:
        """Return what `at` returns, for thresholds that are looked up for many cells at once."""
        return self._at(steps.thresholds, steps.n_below(self.values))

    def _at(self, score_thresholds: FloatArray, n_rejected_values: NDArray[np.intp]) -> Curve:
        """Return error counts at thresholds, given how many values are below each."""
        # points of the curve are numbered from +inf, so by how many values they accept
        n_accepted_values = self.values.size - n_rejected_values
        fp = _take_points(self.curve.fp, n_accepted_values)
        fn = _take_points(self.curve.fn, n_accepted_values)
        if self.curve.spoof_accepts is None:
            return Curve(score_thresholds, fp, fn, self.n_target, self.n_nontarget)
        spoof_accepts = _take_points(self.curve.spoof_accepts, n_accepted_values)
        return Curve(
            score_thresholds, fp, fn, self.n_target, self.n_nontarget, spoof_accepts, self.n_spoof
        )


class ThresholdSteps(NamedTuple):
    """Thresholds of many cells, looked up among the values of all of them.

    Examples
    --------
    >>> steps = ThresholdSteps.from_values(np.array([0.1, 0.2, 0.9]), np.array([0.2, 0.5]))
    >>> steps.n_below(np.array([0.1, 0.9])).tolist()
    [1, 1]
    """

    thresholds: FloatArray  # [..., threshold]
    values: FloatArray  # rising, those of each cell among them
    n_values_below: NDArray[np.intp]  # [..., threshold]

    @classmethod
    def from_values(cls, values: FloatArray, thresholds: FloatArray) -> ThresholdSteps:
        """Look up the thresholds; NaN is above all values."""
        return cls(thresholds, values, np.searchsorted(values, thresholds))

    def n_below(self, cell_values: FloatArray) -> NDArray[np.intp]:
        """Return how many of the values of a cell are below each threshold."""
        n_below_value = np.append(np.searchsorted(cell_values, self.values), cell_values.size)
        return n_below_value.take(self.n_values_below)


def as_counts(scores: Counts | ArrayLike, labels: ArrayLike | None = None) -> Counts:
    """Return `Counts` unchanged, or count scores and labels."""
    if isinstance(scores, Counts):
        return scores
    if labels is None:
        msg = "labels are missing: give scores and labels, or one Counts object"
        raise DataError(msg)
    return Counts.from_scores(scores, labels)


def sum_over_trials(
    scores: FloatArray, trials: IntArray, function: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return the sum of a function of the score over all trials.

    Scores are ``[value]``, trials with each score ``[..., value]``; a score without trials adds
    nothing, even if the function is infinite. The function takes some of the scores and returns
    the same length, with leading axes if it likes.

    Examples
    --------
    >>> float(sum_over_trials(np.array([1.0, 2.0]), np.array([3, 1]), np.square))
    7.0
    """
    total = np.zeros(trials.shape[:-1])
    # parts that fit the cache: several times faster than one pass over a million values
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, scores.size, _SCORES_PER_PASS):
            score_slice = slice(start, start + _SCORES_PER_PASS)
            trials_of_pass = trials[..., score_slice]
            terms = function(scores[score_slice])
            sums = np.vecdot(trials_of_pass, terms)
            # the sums are quicker to look through, and are not finite unless all terms are
            if not (np.isfinite(sums).all() or np.isfinite(terms).all()):
                sums = np.where(trials_of_pass > 0, trials_of_pass * terms, 0.0).sum(axis=-1)
            total = total + sums
    return total


def _distances_to_next(rising: IntArray, end: int) -> IntArray:
    """Return how far each number is from the next one, and the last one from the end."""
    distances = np.empty(rising.size, dtype=np.int64)
    np.subtract(rising[1:], rising[:-1], out=distances[:-1])
    distances[-1:] = end - rising[-1:]
    return distances


def _counts_above(per_value: IntArray) -> IntArray:
    """Return the trials with at least each threshold's score, from +inf down."""
    total = np.zeros((*per_value.shape[:-1], per_value.shape[-1] + 1), dtype=np.int64)
    # cumulating the copy in place takes a third of the time of cumulating backwards
    total[..., 1:] = per_value[..., ::-1]
    return np.cumsum(total, axis=-1, out=total)


def _take_points(errors: IntArray, index: NDArray[np.intp]) -> IntArray:
    """Return errors at points of a curve: the same points for all cells, or each cell's own."""
    if index.ndim == 1 or errors.ndim == 1:
        return errors[..., index]
    if errors.ndim == index.ndim == 2 and len(errors) == len(index):  # in a third of the time
        return errors[np.arange(len(errors))[:, None], index]
    leading_shape = np.broadcast_shapes(errors.shape[:-1], index.shape[:-1])
    broadcast_errors = np.broadcast_to(errors, (*leading_shape, errors.shape[-1]))
    return np.take_along_axis(
        broadcast_errors, np.broadcast_to(index, (*leading_shape, index.shape[-1])), axis=-1
    )


def _rate(errors: IntArray, trials: IntArray) -> FloatArray:
    """Return errors ``[..., threshold]`` over trials ``[...]``; NaN without trials."""
    if trials.all():  # as almost always: the division then needs no mask
        return np.asarray(errors / trials[..., None])
    with np.errstate(invalid="ignore"):
        return np.where(trials[..., None] > 0, errors / trials[..., None], np.nan)
