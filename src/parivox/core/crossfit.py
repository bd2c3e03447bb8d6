"""Cross-fitting over speakers: folds, and intervals from leaving each fold out.

See docs/methods/gates.md#cross-fitting. A rule that was fitted to some speakers is judged on
others. A trial has two speakers: if they are in folds a and b, the trial is judged by the rule
fitted without either fold. With K folds there are K (K + 1) / 2 such rules, and every trial counts
once.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray


class Limits(NamedTuple):
    """Limits of an interval, shape (...); NaN where undefined."""

    low: FloatArray
    high: FloatArray

    def select(self, index: int) -> Limits:
        """Return the limits at one index of the first axis."""
        return Limits(self.low[index], self.high[index])


def deal(group: ArrayLike, folds: int, seed: int = 0) -> IntArray:
    """Return a random fold for each speaker, with each group spread evenly over the folds.

    Examples
    --------
    >>> fold = deal([0] * 4 + [1] * 6, 5)
    >>> np.bincount(fold).tolist(), np.unique(fold[4:]).tolist()
    ([2, 2, 2, 2, 2], [0, 1, 2, 3, 4])
    """
    groups = np.asarray(group)
    rng = np.random.default_rng(seed)
    # speakers shuffled within groups take the folds in turn, these in random order
    order = np.lexsort((rng.permutation(groups.size), groups))
    fold = np.empty(groups.size, dtype=np.int64)
    fold[order] = rng.permutation(folds)[np.arange(groups.size) % folds]
    return fold


def held_out(folds: int, most: int = 2) -> IntArray:
    """Return every set of at most `most` folds held out together, as bits; the empty set first.

    Examples
    --------
    >>> held_out(3).tolist()
    [0, 1, 2, 4, 3, 5, 6]
    """
    sets = (fold_set for n in range(most + 1) for fold_set in combinations(range(folds), n))
    return np.array([sum(1 << fold for fold in fold_set) for fold_set in sets], dtype=np.int64)


def sides(enrol_folds: ArrayLike, test_folds: ArrayLike) -> IntArray:
    """Return the folds of both speakers of each trial, as bits.

    Examples
    --------
    >>> sides([0, 2], [1, 2]).tolist()
    [3, 4]
    """
    return np.asarray(np.left_shift(1, enrol_folds) | np.left_shift(1, test_folds), dtype=np.int64)


def standard_error(without: ArrayLike) -> FloatArray:
    """Return the standard error of an estimate from its repeats without each fold, (fold, ...).

    See docs/methods/gates.md#intervals-of-a-change.

    Examples
    --------
    >>> round(float(standard_error([0.2, 0.3, 0.3, 0.4])), 4)
    0.1225
    """
    leave_one_out = np.asarray(without, np.float64)
    n_folds = len(leave_one_out)
    variance = (
        (n_folds - 1) / n_folds * ((leave_one_out - leave_one_out.mean(axis=0)) ** 2).sum(axis=0)
    )
    return np.asarray(np.sqrt(variance))[()]


def level_apart(difference: ArrayLike, without: ArrayLike) -> FloatArray:
    """Return the p value of differences from 0, by leaving out each fold in turn.

    See docs/methods/costs.md#test-of-own-calibrators: the T-squared of Hotelling.

    Parameters
    ----------
    difference : array_like of shape (..., number)
    without : array_like of shape (fold, ..., number)
        The same without the speakers of each fold.

    Returns
    -------
    ndarray of shape (...)
        NaN where any is, or nothing varies.

    Examples
    --------
    >>> without = [[1.0, 0.2], [1.1, 0.1], [0.9, 0.3], [1.2, 0.1], [0.8, 0.1]]
    >>> round(float(level_apart([1.0, 0.16], without)), 4)
    0.076
    """
    from scipy.special import fdtrc  # noqa: PLC0415 - takes time to load

    centre, leave_one_out = np.asarray(difference, np.float64), np.asarray(without, np.float64)
    n_folds, n_numbers = len(leave_one_out), centre.shape[-1]
    deviations = leave_one_out - leave_one_out.mean(axis=0)
    covariance = (n_folds - 1) / n_folds * np.einsum("k...i,k...j->...ij", deviations, deviations)
    is_defined = np.isfinite(centre).all(axis=-1) & np.isfinite(covariance).all(axis=(-2, -1))
    # a singular covariance has no inverse: some number does not vary, or two vary alike
    rank = np.linalg.matrix_rank(np.where(is_defined[..., None, None], covariance, 0))
    is_defined &= rank == n_numbers
    safe_covariance = np.where(is_defined[..., None, None], covariance, np.eye(n_numbers))
    t_squared = (centre * np.linalg.solve(safe_covariance, centre[..., None])[..., 0]).sum(axis=-1)
    f_scale = (n_folds - n_numbers) / (n_numbers * (n_folds - 1))
    p_value = fdtrc(n_numbers, n_folds - n_numbers, f_scale * t_squared)
    return np.asarray(np.where(is_defined, p_value, np.nan))[()]


def jackknife(
    value: ArrayLike,
    without: ArrayLike,
    confidence: float = 0.95,
    moved: ArrayLike | None = None,
) -> Limits:
    """Return the interval of a cross-fitted estimate, by leaving out each fold in turn.

    See docs/methods/gates.md#intervals-of-a-change.

    Parameters
    ----------
    value : array_like of shape (...)
    without : array_like of shape (fold, ...)
        The same, fitted and judged again without the speakers of each fold.
    confidence : float in (0, 1)
    moved : array_like of shape (fold, fold, ...), optional
        Change due to the rule fitted without the speakers of the first fold, judged without those
        of the second: its variation with the second is counted once too often. NaN where it is
        not known.

    Returns
    -------
    Limits
        Variance (K - 1) / K times the square sum about the mean, less what is counted twice, at
        most half of it; quantile of t with K - 1 degrees of freedom. NaN where any is.

    Examples
    --------
    >>> found = jackknife(0.3, [0.2, 0.3, 0.3, 0.4])
    >>> round(float(found.low), 4), round(float(found.high), 4)
    (-0.0898, 0.6898)
    >>> moved = np.add.outer([-0.1, 0, 0, 0.1], [0, -0.02, 0, 0.02])
    >>> [round(float(end), 4) for end in jackknife(0.3, [0.2, 0.3, 0.3, 0.4], moved=moved)]
    [-0.0757, 0.6757]
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes time to load

    estimate, leave_one_out = np.asarray(value, np.float64), np.asarray(without, np.float64)
    n_folds = len(leave_one_out)
    variance = standard_error(leave_one_out) ** 2
    if moved is not None:
        moves = np.asarray(moved, np.float64)
        left_out = ~np.isfinite(moves)
        left_out[np.arange(n_folds), np.arange(n_folds)] = True
        squares = np.ma.array(moves, mask=left_out).var(axis=1).filled(0)
        twice_counted = (n_folds - 1) * (n_folds - 2) / n_folds * squares.sum(axis=0)
        variance = np.maximum(variance - twice_counted, variance / 2)
    half_width = stdtrit(n_folds - 1, 0.5 + confidence / 2) * np.sqrt(variance)
    return Limits((estimate - half_width)[()], (estimate + half_width)[()])


def outside(bits: NDArray[np.integer[Any]], held_out_folds: int) -> NDArray[np.bool_]:
    """Return whether the speakers of each trial are all outside the folds that are held out.

    Examples
    --------
    >>> outside(sides([0, 2], [1, 2]), 0b011).tolist()
    [False, True]
    """
    return np.asarray((bits & held_out_folds) == 0)
