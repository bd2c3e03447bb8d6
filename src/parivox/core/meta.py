"""Meta-measures: one number for how a system's groups differ (docs/methods/meta-measures.md).

Arrays are ``[..., group]``. Groups whose value is NaN are left out of a measure's group set
(for measures that join FPR and FNR: if either is NaN); ``groups`` counts the rest. `alpha`, the
weight of FPR, puts its own axes in front of all others. Which direction is fairer, and which
zero policies apply, stands in :mod:`parivox.core.measures`.

Zero policies: under ``jeffreys`` pass rates from ``bias.smoothed(errors, trials, "jeffreys")``;
under ``nist`` pass raw rates, and those of ``bias.smoothed(errors, trials, "nist")`` as
`denominator`, which then takes the place of the rates below the fraction bar.

Reasons: ``no_groups``, ``one_group`` (NaN), ``zero_cell`` (NaN: a ratio or logarithm of a group
without errors), ``no_errors`` (no group has errors: Gini 0, means NaN), ``zero_over_zero``
(convention 1), ``zero_reference``, ``undefined_reference``, ``infinite_value``,
``too_few_points``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from parivox.core.spread import GroupSet, Meta, max_min
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray

__all__ = [
    "Meta",
    "au_fdr",
    "eo_diff",
    "eo_ratio",
    "fdr",
    "fdr_fnd",
    "fdr_fpd",
    "garbe",
    "ir",
    "ir_fnd",
    "ir_fpd",
]


def fdr(fpr: ArrayLike, fnr: ArrayLike, *, alpha: ArrayLike = 0.5) -> Meta:
    """Fairness discrepancy rate: 1 - alpha * range(FPR) - (1 - alpha) * range(FNR).

    See docs/methods/meta-measures.md#fdr.

    Parameters
    ----------
    fpr, fnr : array_like of shape (..., group)
        Rates of all groups at one common threshold.
    alpha : array_like in [0, 1]
        Weight of FPR; its axes come first in the result.

    Returns
    -------
    Meta
        In [0, 1], higher is fairer. Tends to 1 as rates fall, whatever the disparity. NaN
        with fewer than two groups. de Freitas Pereira and Marcel (2022).

    Examples
    --------
    >>> round(float(fdr([0.001, 0.005], [0.02, 0.12], alpha=0.5).value), 9)
    0.948
    """
    f, q = _joint(fpr, fnr)
    value = 1 - _weighted(alpha, f.range(), q.range())
    return _joined(value, f)


def fdr_fpd(fpr: ArrayLike) -> Meta:
    """FPR term of the FDR: largest minus smallest rate.

    Parameters
    ----------
    fpr : array_like of shape (..., group)

    Returns
    -------
    Meta
        In [0, 1], lower is fairer. NaN with fewer than two groups.

    Examples
    --------
    >>> round(float(fdr_fpd([0.001, 0.005]).value), 9)
    0.004
    """
    groups = GroupSet.of(fpr)
    return groups.meta(groups.range())


def fdr_fnd(fnr: ArrayLike) -> Meta:
    """FNR term of the FDR: largest minus smallest rate; see :func:`fdr_fpd`.

    Examples
    --------
    >>> round(float(fdr_fnd([0.02, 0.12]).value), 9)
    0.1
    """
    return fdr_fpd(fnr)


def ir(
    fpr: ArrayLike,
    fnr: ArrayLike,
    *,
    alpha: ArrayLike = 0.5,
    denominator: tuple[ArrayLike, ArrayLike] | None = None,
) -> Meta:
    """Inequity rate: (max/min FPR) ** alpha * (max/min FNR) ** (1 - alpha).

    See docs/methods/meta-measures.md#ir.

    Parameters
    ----------
    fpr, fnr : array_like of shape (..., group)
        Rates of all groups at one common threshold.
    alpha : array_like in [0, 1]
        Weight of FPR; its axes come first in the result.
    denominator : pair of array_like of shape (..., group), optional
        Rates to take the minima of (policy ``nist``).

    Returns
    -------
    Meta
        In [1, inf), lower is fairer. NaN ``zero_cell`` if a term with weight has a smallest
        rate of 0; a term without any errors counts as 1 (``zero_over_zero``). NIST (Grother).

    Examples
    --------
    >>> round(float(ir([0.001, 0.004], [0.01, 0.09], alpha=0.5).value), 9)
    6.0
    """
    f, q = _joint(fpr, fnr)
    below = denominator or (fpr, fnr)
    (of_fpr, why_fpr), (of_fnr, why_fnr) = (
        group_set.worst_to_best(rates) for group_set, rates in zip((f, q), below, strict=True)
    )
    weight = _leading(alpha, of_fpr)
    with np.errstate(invalid="ignore"):
        terms = np.where(weight > 0, of_fpr**weight, 1.0)
        terms = terms * np.where(weight < 1, of_fnr ** (1 - weight), 1.0)
    none = np.full_like(why_fpr, "")
    reason = _first_reason(
        np.where(weight > 0, why_fpr, none), np.where(weight < 1, why_fnr, none), first="zero_cell"
    )
    return _joined(terms, f, reason)


def ir_fpd(fpr: ArrayLike, *, denominator: ArrayLike | None = None) -> Meta:
    """FPR term of the IR: largest divided by smallest rate; see :func:`max_min`.

    Examples
    --------
    >>> round(float(ir_fpd([0.001, 0.004]).value), 9)
    4.0
    """
    return max_min(fpr, denominator=denominator)


def ir_fnd(fnr: ArrayLike, *, denominator: ArrayLike | None = None) -> Meta:
    """FNR term of the IR: largest divided by smallest rate; see :func:`max_min`.

    Examples
    --------
    >>> round(float(ir_fnd([0.01, 0.09]).value), 9)
    9.0
    """
    return max_min(fnr, denominator=denominator)


def garbe(fpr: ArrayLike, fnr: ArrayLike, *, alpha: ArrayLike = 0.5) -> Meta:
    """Gini aggregation rate: alpha * Gini(FPR) + (1 - alpha) * Gini(FNR).

    See docs/methods/meta-measures.md#garbe-and-gini.

    Parameters
    ----------
    fpr, fnr : array_like of shape (..., group)
        Rates of all groups at one common threshold.
    alpha : array_like in [0, 1]
        Weight of FPR; its axes come first in the result.

    Returns
    -------
    Meta
        In [0, 1], lower is fairer. A rate without any errors counts as Gini 0
        (``no_errors``, if it has weight). Howard et al. (2022).

    Examples
    --------
    >>> round(float(garbe([0.001, 0.003], [0.01, 0.01], alpha=0.5).value), 9)
    0.25
    """
    f, q = _joint(fpr, fnr)
    value = _weighted(alpha, f.gini(), q.gini())
    weight = _leading(alpha, f.gini())
    silent = ((weight > 0) & (f.high_value == 0)) | ((weight < 1) & (q.high_value == 0))
    return _joined(value, f, np.where(silent, "no_errors", ""))


def eo_diff(fpr: ArrayLike, fnr: ArrayLike) -> Meta:
    """Equalised odds difference: the larger of the ranges of TPR and FPR (fairlearn).

    See docs/methods/meta-measures.md#equalised-odds.

    Parameters
    ----------
    fpr, fnr : array_like of shape (..., group)
        Rates of all groups at one common threshold; TPR = 1 - FNR.

    Returns
    -------
    Meta
        In [0, 1], lower is fairer. NaN with fewer than two groups.

    Examples
    --------
    >>> round(float(eo_diff([0.001, 0.005], [0.02, 0.12]).value), 9)
    0.1
    """
    f, q = _joint(fpr, fnr)
    return _joined(np.maximum(f.range(), q.range()), f)


def eo_ratio(fpr: ArrayLike, fnr: ArrayLike) -> Meta:
    """Equalised odds ratio: the smaller of min/max TPR and min/max FPR (fairlearn).

    See docs/methods/meta-measures.md#equalised-odds.

    Parameters
    ----------
    fpr, fnr : array_like of shape (..., group)
        Rates of all groups at one common threshold; TPR = 1 - FNR.

    Returns
    -------
    Meta
        In [0, 1], higher is fairer. A ratio with maximum 0 counts as 1
        (``zero_over_zero``).

    Examples
    --------
    >>> round(float(eo_ratio([0.001, 0.005], [0.02, 0.12]).value), 9)
    0.2
    """
    f, q = _joint(fpr, fnr)
    of_fpr, why_fpr = f.best_to_worst()
    of_tpr, why_tpr = GroupSet.of(1 - q.values).best_to_worst()
    reason = _first_reason(why_fpr, why_tpr, first="zero_over_zero")
    return _joined(np.minimum(of_fpr, of_tpr), f, reason)


def au_fdr(
    fdr: ArrayLike,
    fpr: ArrayLike,
    *,
    axis: Literal["linear", "log10"] = "linear",
) -> Meta:
    """Area under the FDR over pooled false positive rates, divided by their span.

    See docs/methods/meta-measures.md#area-under-fdr.

    Parameters
    ----------
    fdr : array_like of shape (..., point)
        FDR at each operating point.
    fpr : array_like of shape (..., point)
        Pooled (or all) FPR at each operating point, in any order; shapes broadcast.
    axis : {"linear", "log10"}
        Scale of FPR; on ``log10`` points with FPR 0 are left out.

    Returns
    -------
    Meta
        In [0, 1], higher is fairer. NaN ``too_few_points`` without two defined points of
        different FPR. Peri et al. (2023).

    Examples
    --------
    >>> round(float(au_fdr([0.99, 0.95, 0.8], [0.001, 0.01, 0.1]).value), 9)
    0.883636364
    """
    if axis not in {"linear", "log10"}:
        msg = f"axis is {axis!r}; it is linear or log10"
        raise ConfigError(msg)
    height, place = np.broadcast_arrays(
        np.asarray(fdr, dtype=np.float64), np.asarray(fpr, dtype=np.float64)
    )
    defined = ~np.isnan(place) & ~np.isnan(height) & ((axis == "linear") | (place > 0))
    order = np.argsort(np.where(defined, place, np.inf), axis=-1, kind="stable")
    x, y, kept = (np.take_along_axis(a, order, axis=-1) for a in (place, height, defined))
    x = np.log10(np.where(kept, x, 1)) if axis == "log10" else x
    # the points that are left out come last, so that neighbours are both defined or are not told
    step = np.where(kept[..., 1:], np.diff(x), 0)
    middle = np.where(kept[..., 1:], y[..., 1:] + y[..., :-1], 0) / 2
    span = step.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(span > 0, (step * middle).sum(axis=-1) / span, np.nan)
    none = np.full(value.shape, -1, dtype=np.int64)
    reason = np.where(np.isnan(value), "too_few_points", "")
    return Meta(value[()], none[()], none[()], none[()], reason[()])


def _joint(fpr: ArrayLike, fnr: ArrayLike) -> tuple[GroupSet, GroupSet]:
    """Both rates on the groups that have both."""
    f, q = np.broadcast_arrays(np.asarray(fpr, dtype=np.float64), np.asarray(fnr, dtype=np.float64))
    both = ~np.isnan(f) & ~np.isnan(q)
    return GroupSet.of(f, both), GroupSet.of(q, both)


def _joined(value: FloatArray, groups: GroupSet, reason: NDArray[np.str_] | str = "") -> Meta:
    """Result of a measure on two rates: no witnesses, and `alpha` axes in front."""
    found = groups.meta(value, reason)
    none = np.full(np.shape(value), -1, dtype=np.int64)
    n = np.broadcast_to(found.groups, np.shape(value))
    return Meta(found.value, none[()], none[()], n[()], found.reason)


def _leading(alpha: ArrayLike, like: FloatArray) -> FloatArray:
    weight = np.asarray(alpha, dtype=np.float64)
    if not ((weight >= 0) & (weight <= 1)).all():
        msg = f"alpha is {weight.tolist()}; it must lie between 0 and 1"
        raise ConfigError(msg)
    return weight.reshape(weight.shape + (1,) * np.ndim(like))


def _weighted(alpha: ArrayLike, of_fpr: FloatArray, of_fnr: FloatArray) -> FloatArray:
    weight = _leading(alpha, of_fpr)
    return weight * of_fpr + (1 - weight) * of_fnr


def _first_reason(
    one: NDArray[np.str_], other: NDArray[np.str_], *, first: str
) -> NDArray[np.str_]:
    """Either reason, the one named `first` before any other."""
    return np.where((one == first) | (other == ""), one, other)
