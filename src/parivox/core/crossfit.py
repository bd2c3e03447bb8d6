"""Cross-fitting over speakers: folds, and what leaving each out tells of chance.

See docs/methods/thresholds.md#cross-fitting. A rule that was made on some speakers is judged on
others. A trial has two, so that one whose speakers are in folds a and b is judged by what was made
without either fold: of K folds there are K (K + 1) / 2 such rules, and every trial counts once.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray


class Limits(NamedTuple):
    """Limits of an interval, shape (...); NaN where nothing is known."""

    low: FloatArray
    high: FloatArray

    def select(self, index: int) -> Limits:
        """Those at one index of the first axis."""
        return Limits(self.low[index], self.high[index])


def deal(group: ArrayLike, folds: int, seed: int = 0) -> IntArray:
    """The fold of each speaker, at random: as many of each group in every fold as can be.

    Examples
    --------
    >>> fold = deal([0] * 4 + [1] * 6, 5)
    >>> np.bincount(fold).tolist(), np.unique(fold[4:]).tolist()
    ([2, 2, 2, 2, 2], [0, 1, 2, 3, 4])
    """
    of = np.asarray(group)
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.permutation(of.size), of))
    fold = np.empty(of.size, dtype=np.int64)
    fold[order] = rng.permutation(folds)[np.arange(of.size) % folds]
    return fold


def held_out(folds: int, most: int = 2) -> IntArray:
    """Every set of at most so many folds that are held out together, as bits; of none first.

    Examples
    --------
    >>> held_out(3).tolist()
    [0, 1, 2, 4, 3, 5, 6]
    """
    sets = (some for n in range(most + 1) for some in combinations(range(folds), n))
    return np.array([sum(1 << fold for fold in some) for some in sets], dtype=np.int64)


def sides(one: ArrayLike, other: ArrayLike) -> IntArray:
    """The folds of both speakers of each trial, as bits.

    Examples
    --------
    >>> sides([0, 2], [1, 2]).tolist()
    [3, 4]
    """
    return np.asarray(np.left_shift(1, one) | np.left_shift(1, other), dtype=np.int64)


def standard_error(without: ArrayLike) -> FloatArray:
    """Standard error of what was made and judged anew without each fold, shape (fold, ...).

    See docs/methods/thresholds.md#intervals.

    Examples
    --------
    >>> round(float(standard_error([0.2, 0.3, 0.3, 0.4])), 4)
    0.1225
    """
    again = np.asarray(without, np.float64)
    n = len(again)
    variance = (n - 1) / n * ((again - again.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(variance))[()]


def level_apart(difference: ArrayLike, without: ArrayLike) -> FloatArray:
    """Level at which differences are told from nothing, by leaving out each fold in turn.

    See docs/methods/calibration.md#told-apart: the T-squared of Hotelling.

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

    centre, again = np.asarray(difference, np.float64), np.asarray(without, np.float64)
    n, m = len(again), centre.shape[-1]
    off = again - again.mean(axis=0)
    covariance = (n - 1) / n * np.einsum("k...i,k...j->...ij", off, off)
    is_told = np.isfinite(centre).all(axis=-1) & np.isfinite(covariance).all(axis=(-2, -1))
    is_told &= np.linalg.matrix_rank(np.where(is_told[..., None, None], covariance, 0)) == m
    safe = np.where(is_told[..., None, None], covariance, np.eye(m))
    t2 = (centre * np.linalg.solve(safe, centre[..., None])[..., 0]).sum(axis=-1)
    p = fdtrc(m, n - m, (n - m) / (m * (n - 1)) * t2)
    return np.asarray(np.where(is_told, p, np.nan))[()]


def jackknife(
    value: ArrayLike,
    without: ArrayLike,
    confidence: float = 0.95,
    moved: ArrayLike | None = None,
) -> Limits:
    """Interval of what was cross-fitted, by leaving out each fold of speakers in turn.

    See docs/methods/thresholds.md#intervals.

    Parameters
    ----------
    value : array_like of shape (...)
    without : array_like of shape (fold, ...)
        The same, made and judged anew without the speakers of each fold.
    confidence : float in (0, 1)
    moved : array_like of shape (fold, fold, ...), optional
        How much of that is due to what was made without the speakers of the first fold, judged
        without those of the second: how it varies with the second is counted once too often. NaN
        where that is not known.

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

    centre, again = np.asarray(value, np.float64), np.asarray(without, np.float64)
    n = len(again)
    variance = standard_error(again) ** 2
    if moved is not None:
        others = np.asarray(moved, np.float64)
        left_out = ~np.isfinite(others)
        left_out[np.arange(n), np.arange(n)] = True
        squares = np.ma.array(others, mask=left_out).var(axis=1).filled(0)
        twice = (n - 1) * (n - 2) / n * squares.sum(axis=0)
        variance = np.maximum(variance - twice, variance / 2)
    reach = stdtrit(n - 1, 0.5 + confidence / 2) * np.sqrt(variance)
    return Limits((centre - reach)[()], (centre + reach)[()])


def outside(bits: NDArray[np.integer[Any]], held: int) -> NDArray[np.bool_]:
    """Whether the speakers of each trial are all outside the folds that are held out.

    Examples
    --------
    >>> outside(sides([0, 2], [1, 2]), 0b011).tolist()
    [False, True]
    """
    return np.asarray((bits & held) == 0)
