"""Meta-measures: one number for how a system's groups differ (METHODS 3.2).

Arrays are ``[..., group]``. Groups whose value is NaN are left out of a measure's group set
(for measures that join FPR and FNR: if either is NaN); ``groups`` counts the rest. `alpha`, the
weight of FPR, puts its own axes in front of all others. Which direction is fairer, and which
zero policies apply, stands in :data:`MEASURES`.

Zero policies: under ``jeffreys`` pass rates from ``bias.smoothed(errors, trials, "jeffreys")``;
under ``nist`` pass raw rates, and those of ``bias.smoothed(errors, trials, "nist")`` as
`denominator`, which then takes the place of the rates below the fraction bar.

Reasons: ``no_groups``, ``one_group`` (NaN), ``zero_cell`` (NaN: a ratio or logarithm of a group
without errors), ``no_errors`` (no group has errors: Gini 0, means NaN), ``zero_over_zero``
(convention 1), ``zero_reference``, ``undefined_reference``, ``infinite_value``,
``too_few_points``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

__all__ = [
    "MEASURES",
    "MeasureSpec",
    "Meta",
    "au_fdr",
    "cv",
    "eo_diff",
    "eo_ratio",
    "fdr",
    "fdr_fnd",
    "fdr_fpd",
    "garbe",
    "gini",
    "ir",
    "ir_fnd",
    "ir_fpd",
    "max_geomean",
    "max_mean",
    "max_min",
    "min_max",
    "nrb",
    "rb",
    "sd",
]


@dataclass(frozen=True, eq=False)
class Meta:
    """A meta-measure with its witnesses and its reason.

    Attributes
    ----------
    value : float64 of shape (...)
    low, high : int64 of shape (...)
        Groups with the lowest and the highest value, the first of equals; -1 without groups
        and for measures that join two rates.
    groups : int64 of shape (...)
        How many groups were used; -1 for `au_fdr`, which sees no groups.
    reason : str array of shape (...)
        Why the value is undefined, infinite or a convention; else empty.
    """

    value: FloatArray
    low: IntArray
    high: IntArray
    groups: IntArray
    reason: NDArray[np.str_]


@dataclass(frozen=True)
class MeasureSpec:
    """What a meta-measure needs and how to read it.

    Attributes
    ----------
    id : str
    joint : bool
        Takes FPR and FNR; else one base metric.
    metric : str
        The one metric it is for (``fpr``, ``fnr``, ``fpr+fnr``), or empty: any metric that is
        at least 0 and lower for better.
    uses_alpha, uses_average : bool
        Takes the keyword `alpha`; takes the pooled value as second argument.
    higher_is_fairer : bool
    zero_policies : tuple of str
        Policies under which its value can differ.
    function : callable
    source : str
    """

    id: str
    joint: bool
    metric: str
    uses_alpha: bool
    uses_average: bool
    higher_is_fairer: bool
    zero_policies: tuple[str, ...]
    function: Callable[..., Meta]
    source: str


def fdr(fpr: ArrayLike, fnr: ArrayLike, *, alpha: ArrayLike = 0.5) -> Meta:
    """Fairness discrepancy rate: 1 - alpha * range(FPR) - (1 - alpha) * range(FNR).

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
    groups = _GroupSet.of(fpr)
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


def gini(values: ArrayLike, *, normalised: bool = True) -> Meta:
    """Gini coefficient over groups: mean absolute difference in units of twice the mean.

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
    groups = _GroupSet.of(values)
    value = groups.gini()
    if not normalised:
        with np.errstate(invalid="ignore", divide="ignore"):
            value = value * (groups.n - 1) / groups.n
    return groups.meta(value, np.where(groups.high_value == 0, "no_errors", ""))


def nrb(values: ArrayLike, average: ArrayLike) -> Meta:
    """Normalised reliability bias: mean over groups of abs(ln(value / average)).

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
        (``zero_reference``) of 0. 000; Hutiri et al. (2023).

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
    groups = _GroupSet.of(values)
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
    groups = _GroupSet.of(values)
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
    groups = _GroupSet.of(values)
    return groups.meta(*groups.best_to_worst())


def max_geomean(values: ArrayLike, *, denominator: ArrayLike | None = None) -> Meta:
    """Largest value divided by the geometric mean of all (MERG).

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
    groups = _GroupSet.of(values)
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
    groups = _GroupSet.of(values)
    return groups.per_mean(groups.high_value)


def sd(values: ArrayLike, *, ddof: int = 1) -> Meta:
    """Standard deviation over groups, with n - 1 below the sum of squares by default.

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
    groups = _GroupSet.of(values)
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
    groups = _GroupSet.of(values)
    return groups.per_mean(groups.sd(ddof))


def eo_diff(fpr: ArrayLike, fnr: ArrayLike) -> Meta:
    """Equalised odds difference: the larger of the ranges of TPR and FPR (fairlearn).

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
    of_tpr, why_tpr = _GroupSet.of(1 - q.values).best_to_worst()
    reason = _first_reason(why_fpr, why_tpr, first="zero_over_zero")
    return _joined(np.minimum(of_fpr, of_tpr), f, reason)


def au_fdr(
    fdr: ArrayLike,
    fpr: ArrayLike,
    *,
    axis: Literal["linear", "log10"] = "linear",
) -> Meta:
    """Area under the FDR over pooled false positive rates, divided by their span.

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
    value = np.full(height.shape[:-1], np.nan)
    for cell in np.ndindex(value.shape):
        x, y = place[cell], height[cell]
        defined = ~np.isnan(x) & ~np.isnan(y) & ((axis == "linear") | (x > 0))
        order = np.argsort(x[defined], kind="stable")
        x, y = x[defined][order], y[defined][order]
        x = np.log10(x) if axis == "log10" else x
        if x.size and x[-1] > x[0]:
            value[cell] = np.trapezoid(y, x) / (x[-1] - x[0])
    none = np.full(value.shape, -1, dtype=np.int64)
    reason = np.where(np.isnan(value), "too_few_points", "")
    return Meta(value[()], none[()], none[()], none[()], reason[()])


@dataclass(frozen=True, eq=False)
class _GroupSet:
    """Values with the groups that count, and their extremes."""

    values: FloatArray
    used: NDArray[np.bool_]
    n: IntArray
    low: IntArray
    high: IntArray
    low_value: FloatArray
    high_value: FloatArray

    @classmethod
    def of(cls, values: ArrayLike, used: NDArray[np.bool_] | None = None) -> _GroupSet:
        x = np.atleast_1d(np.asarray(values, dtype=np.float64))
        used = ~np.isnan(x) if used is None else used
        n = np.asarray(used.sum(axis=-1), dtype=np.int64)
        if x.shape[-1] == 0:
            nowhere, nothing = np.full(n.shape, -1), np.full(n.shape, np.nan)
            return cls(x, used, n, nowhere, nowhere, nothing, nothing)
        from_below, from_above = np.where(used, x, np.inf), np.where(used, x, -np.inf)
        smallest, largest = from_below.min(axis=-1), from_above.max(axis=-1)
        # among used groups that are all infinite the first one is the lowest
        lowest = np.where(
            np.isinf(smallest), np.argmax(used, axis=-1), np.argmin(from_below, axis=-1)
        )
        return cls(
            np.where(used, x, np.nan),
            used,
            n,
            np.where(n > 0, lowest, -1),
            np.where(n > 0, np.argmax(from_above, axis=-1), -1),
            np.where(n > 0, smallest, np.nan),
            np.where(n > 0, largest, np.nan),
        )

    def range(self) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return self.high_value - self.low_value

    def worst_to_best(self, below: ArrayLike) -> tuple[FloatArray, NDArray[np.str_]]:
        """Largest value over the smallest of `below`."""
        smallest = _GroupSet.of(below, self.used).low_value
        empty = self.high_value == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(empty, 1.0, self.high_value / smallest)
        reason = np.select([empty, smallest == 0], ["zero_over_zero", "zero_cell"], default="")
        return np.where(reason == "zero_cell", np.nan, value), reason

    def best_to_worst(self) -> tuple[FloatArray, NDArray[np.str_]]:
        empty = self.high_value == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(empty, 1.0, self.low_value / self.high_value)
        return value, np.where(empty, "zero_over_zero", "")

    def gini(self) -> FloatArray:
        """Normalised Gini; 0 if all values are 0.

        With sorted values the sum of all absolute differences is a sum over gaps, each passed
        by k * (n - k) pairs: no term is negative, so equal values give exactly 0.
        """
        rising = np.sort(self.values, axis=-1)
        k = np.arange(1, rising.shape[-1])
        n = self.n[..., None]
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = np.where(k < n, k * (n - k) * np.diff(rising, axis=-1), 0).sum(axis=-1)
            total = np.where(self.used, self.values, 0).sum(axis=-1)
            value = gaps / ((self.n - 1) * total)
        return np.where(total == 0, 0.0, np.minimum(value, 1.0))

    def mean(self) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(self.used, self.values, 0).sum(axis=-1) / self.n)

    def sd(self, ddof: int) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.where(self.used, self.values - self.mean()[..., None], 0)
            return np.where(self.n > ddof, np.sqrt((off**2).sum(axis=-1) / (self.n - ddof)), np.nan)

    def per_mean(self, numerator: FloatArray) -> Meta:
        mean = self.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(mean == 0, np.nan, numerator / mean)
        return self.meta(value, np.where(mean == 0, "no_errors", ""))

    def meta(self, value: FloatArray, reason: NDArray[np.str_] | str = "") -> Meta:
        """The result, with the reasons that hold for every measure put first."""
        infinite = np.isinf(self.values).any(axis=-1) & ~np.isfinite(value)
        reason = np.select(
            [self.n == 0, self.n == 1, np.asarray(reason) != "", infinite],
            ["no_groups", "one_group", reason, "infinite_value"],
            default="",
        )
        value = np.where(self.n > 1, value, np.nan)
        return Meta(value[()], self.low[()], self.high[()], self.n[()], reason[()])


def _joint(fpr: ArrayLike, fnr: ArrayLike) -> tuple[_GroupSet, _GroupSet]:
    """Both rates on the groups that have both."""
    f, q = np.broadcast_arrays(np.asarray(fpr, dtype=np.float64), np.asarray(fnr, dtype=np.float64))
    both = ~np.isnan(f) & ~np.isnan(q)
    return _GroupSet.of(f, both), _GroupSet.of(q, both)


def _joined(value: FloatArray, groups: _GroupSet, reason: NDArray[np.str_] | str = "") -> Meta:
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


def _specs() -> dict[str, MeasureSpec]:
    plain, smooth, ratios = ("none",), ("none", "jeffreys"), ("none", "jeffreys", "nist")
    pereira, nist, howard = "de Freitas Pereira and Marcel 2022", "NIST (Grother)", "Howard 2022"
    hutiri, ir8429, fairlearn = "Hutiri et al. 2023", "NIST IR 8429", "fairlearn"
    both = "fpr+fnr"
    rows: tuple[tuple[Callable[..., Meta], str, str, bool, tuple[str, ...], str], ...] = (
        # function, metric, takes (a: alpha, r: average), higher is fairer, policies, source
        (fdr, both, "a", True, plain, pereira),
        (fdr_fpd, "fpr", "", False, plain, pereira),
        (fdr_fnd, "fnr", "", False, plain, pereira),
        (ir, both, "a", False, ratios, nist),
        (ir_fpd, "fpr", "", False, ratios, nist),
        (ir_fnd, "fnr", "", False, ratios, nist),
        (garbe, both, "a", False, plain, howard),
        (gini, "", "", False, plain, howard),
        (nrb, "", "r", False, smooth, hutiri),
        (rb, "", "r", False, smooth, hutiri),
        (max_min, "", "", False, ratios, "four-fifths style"),
        (min_max, "", "", True, smooth, "four-fifths style"),
        (max_geomean, "", "", False, ratios, ir8429),
        (max_mean, "", "", False, smooth, ir8429),
        (sd, "", "", False, plain, "common"),
        (cv, "", "", False, plain, "common"),
        (eo_diff, both, "", False, plain, fairlearn),
        (eo_ratio, both, "", True, plain, fairlearn),
        (au_fdr, both, "a", True, plain, "Peri et al. 2023"),
    )
    return {
        function.__name__: MeasureSpec(
            id=function.__name__,
            joint=metric == both,
            metric=metric,
            uses_alpha=takes == "a",
            uses_average=takes == "r",
            higher_is_fairer=fairer,
            zero_policies=policies,
            function=function,
            source=source,
        )
        for function, metric, takes, fairer, policies, source in rows
    }


MEASURES: dict[str, MeasureSpec] = _specs()
