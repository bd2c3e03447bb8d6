"""Meta-measures of how one base metric differs between groups (docs/methods/meta-measures.md).

Part of :mod:`parivox.core.meta`, which states the rules for all meta-measures and joins two rates;
:mod:`parivox.core.measures` lists every measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.core.groupset import GroupSet, Meta

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["cv", "gini", "max_geomean", "max_mean", "max_min", "min_max", "nrb", "rb", "sd"]


def gini(values: ArrayLike, *, normalised: bool = True) -> Meta:
    """Gini coefficient over groups: mean absolute difference in units of twice the mean.

    See docs/methods/meta-measures.md#garbe-and-gini.

    Parameters
    ----------
    values : array_like of shape (..., group)
        At least 0.
    normalised : bool
        Multiply by n / (n - 1), so that all errors in one group make 1.

    Returns
    -------
    Meta
        In [0, 1], lower is fairer; unchanged if all values are scaled. 0 with ``no_errors`` if
        all are 0. Howard et al. (2022).

    Examples
    --------
    >>> float(gini([0.25, 0.75]).value), float(gini([0.0, 0.0, 0.5]).value)
    (0.5, 1.0)
    """
    groups = GroupSet.of(values)
    value = groups.gini()
    if not normalised:
        with np.errstate(invalid="ignore", divide="ignore"):
            value = value * (groups.n - 1) / groups.n
    return groups.meta(value, np.where(groups.high_value == 0, "no_errors", ""))


def nrb(values: ArrayLike, average: ArrayLike) -> Meta:
    """Normalised reliability bias: mean over groups of abs(ln(value / average)).

    See docs/methods/meta-measures.md#nrb.

    Parameters
    ----------
    values : array_like of shape (..., group)
        At least 0.
    average : array_like of shape (...)
        Reference, usually the pooled value.

    Returns
    -------
    Meta
        In [0, inf), lower is fairer. NaN with a group (``zero_cell``) or average
        (``zero_reference``) of 0. Hutiri et al. (docs/references.md#paper-000; 2023).

    Examples
    --------
    >>> round(float(nrb([0.01, 0.04], 0.02).value), 9)
    0.693147181
    """
    total = rb(values, average)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(total.groups > 0, total.value / total.groups, np.nan)
    return Meta(mean[()], total.low, total.high, total.groups, total.reason)


def rb(values: ArrayLike, average: ArrayLike) -> Meta:
    """Reliability bias: sum over groups of abs(ln(value / average)); see :func:`nrb`.

    Examples
    --------
    >>> round(float(rb([0.01, 0.04], 0.02).value), 9)
    1.386294361
    """
    groups = GroupSet.of(values)
    ref = np.broadcast_to(np.asarray(average, dtype=np.float64), groups.n.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.abs(np.log(groups.values / ref[..., None]))
    value = np.where(groups.used, logs, 0).sum(axis=-1)
    reason = np.select(
        [np.isnan(ref), ref == 0, groups.low_value == 0],
        ["undefined_reference", "zero_reference", "zero_cell"],
        default="",
    )
    return groups.meta(np.where(reason == "", value, np.nan), reason)


def max_min(values: ArrayLike, *, denominator: ArrayLike | None = None) -> Meta:
    """Largest divided by smallest value.

    See docs/methods/meta-measures.md#ratios-of-extremes.

    Parameters
    ----------
    values : array_like of shape (..., group)
        At least 0.
    denominator : array_like of shape (..., group), optional
        Values to take the minimum of (policy ``nist``).

    Returns
    -------
    Meta
        In [1, inf), lower is fairer; unchanged if all values are scaled. NaN ``zero_cell`` if
        only the smallest is 0, 1 with ``zero_over_zero`` if all are.

    Examples
    --------
    >>> found = max_min([0.0, 0.5])
    >>> float(found.value), str(found.reason)
    (nan, 'zero_cell')
    """
    groups = GroupSet.of(values)
    return groups.meta(*groups.worst_to_best(values if denominator is None else denominator))


def min_max(values: ArrayLike) -> Meta:
    """Smallest divided by largest value (four-fifths style).

    Parameters
    ----------
    values : array_like of shape (..., group)
        At least 0.

    Returns
    -------
    Meta
        In [0, 1], higher is fairer. 1 with ``zero_over_zero`` if all are 0.

    Examples
    --------
    >>> float(min_max([0.25, 0.5]).value)
    0.5
    """
    groups = GroupSet.of(values)
    return groups.meta(*groups.best_to_worst())


def max_geomean(values: ArrayLike, *, denominator: ArrayLike | None = None) -> Meta:
    """Largest value divided by the geometric mean of all (MERG).

    See docs/methods/meta-measures.md#ratios-of-extremes.

    Parameters
    ----------
    values : array_like of shape (..., group)
        At least 0.
    denominator : array_like of shape (..., group), optional
        Values to take the geometric mean of (policy ``nist``); it can then lie above the
        largest value.

    Returns
    -------
    Meta
        In [1, inf), lower is fairer; unchanged if all values are scaled. NaN ``zero_cell`` if
        any is 0, ``no_errors`` if all are. NIST IR 8429.

    Examples
    --------
    >>> round(float(max_geomean([0.01, 0.04]).value), 9)
    2.0
    """
    groups = GroupSet.of(values)
    below = groups.values if denominator is None else np.asarray(denominator, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.exp(np.log(np.where(groups.used, below, 1)).sum(axis=-1) / groups.n)
        value = groups.high_value / mean
    reason = np.select([groups.high_value == 0, mean == 0], ["no_errors", "zero_cell"], default="")
    return groups.meta(np.where(reason == "", value, np.nan), reason)


def max_mean(values: ArrayLike) -> Meta:
    """Largest value divided by the unweighted mean of all (MERA).

    Parameters
    ----------
    values : array_like of shape (..., group)
        At least 0.

    Returns
    -------
    Meta
        In [1, groups], lower is fairer. NaN ``no_errors`` if all are 0. NIST IR 8429.

    Examples
    --------
    >>> float(max_mean([0.25, 0.75]).value)
    1.5
    """
    groups = GroupSet.of(values)
    return groups.per_mean(groups.high_value)


def sd(values: ArrayLike, *, ddof: int = 1) -> Meta:
    """Standard deviation over groups, with n - 1 below the sum of squares by default.

    See docs/methods/meta-measures.md#standard-deviation.

    Parameters
    ----------
    values : array_like of shape (..., group)
    ddof : int
        Groups minus `ddof` divide the sum of squares.

    Returns
    -------
    Meta
        In units of the metric, in [0, inf), lower is fairer.

    Examples
    --------
    >>> float(sd([0.5, 1.5], ddof=0).value)
    0.5
    """
    groups = GroupSet.of(values)
    return groups.meta(groups.sd(ddof))


def cv(values: ArrayLike, *, ddof: int = 1) -> Meta:
    """Coefficient of variation over groups: :func:`sd` divided by the unweighted mean.

    Parameters
    ----------
    values : array_like of shape (..., group)
        At least 0.
    ddof : int
        As in :func:`sd`.

    Returns
    -------
    Meta
        In [0, inf), lower is fairer. NaN ``no_errors`` if all are 0.

    Examples
    --------
    >>> float(cv([0.5, 1.5], ddof=0).value)
    0.5
    """
    groups = GroupSet.of(values)
    return groups.per_mean(groups.sd(ddof))
