"""Meta-measures of how one base metric differs between groups.

See docs/methods/bias-measures.md#meta-measures. They take the values of groups, ``[..., group]``,
of which NaN leaves a group out, and give a `MetaValue` of shape ``[...]``. All but `sd` and
`value_range` are of values that are at least 0 and better if lower, and do not change if all values
are scaled.

`GroupSet` is what they are computed from: the groups that have the metric, and their
extremes. `parivox.core.meta` states the rules for all meta-measures and joins two rates;
`parivox.core.measures` lists every measure.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

    Conditions = Mapping[str, NDArray[np.bool_]]  # where each reason holds, the first ones first


@dataclass(frozen=True, eq=False)
class MetaValue:
    """A meta-measure with its witnesses and its reason, of shape (...).

    All but the value is computed on access, as replicates need none of it.
    """

    value: FloatArray
    _groups: GroupSet | None = field(repr=False)
    """The groups that were used; None for `au_fdr`, which sees no groups."""
    _conditions: Callable[[], Conditions] = field(repr=False)
    _has_witnesses: bool = field(default=True, repr=False)
    """Whether one group has the lowest value: not of measures that join two rates."""

    @cached_property
    def low(self) -> IntArray:
        """Group with the lowest value, the first of equals.

        It is -1 without groups and for measures that join two rates.
        """
        return self._witness("low_value")

    @cached_property
    def high(self) -> IntArray:
        """Group with the highest value, as `low`."""
        return self._witness("high_value")

    @cached_property
    def groups(self) -> IntArray:
        """How many groups were used; -1 for `au_fdr`, which sees no groups."""
        if self._groups is None:
            return self._without_group()
        return np.broadcast_to(self._groups.n_groups, np.shape(self.value))[()]

    @cached_property
    def reason(self) -> NDArray[np.str_]:
        """Why the value is undefined, infinite or a convention; else empty."""
        conditions = self._conditions()
        shape = np.shape(self.value)
        return first_reason(list(conditions.values()), list(conditions), shape)[()]

    def _witness(self, extreme: Literal["low_value", "high_value"]) -> IntArray:
        if self._groups is None or not self._has_witnesses:
            return self._without_group()
        return self._groups.first_group_with(getattr(self._groups, extreme))[()]

    def _without_group(self) -> IntArray:
        return np.full(np.shape(self.value), -1, dtype=np.int64)[()]


def first_reason(
    holds: Sequence[NDArray[np.bool_]],
    reasons: Sequence[NDArray[np.str_] | str],
    shape: tuple[int, ...] | None = None,
) -> NDArray[np.str_]:
    """Return the first reason that holds for each value, else empty.

    The conditions broadcast to `shape`, by default to one another.

    Examples
    --------
    >>> first_reason([np.array([True, False]), np.array([True, True])], ["one", "other"]).tolist()
    ['one', 'other']
    """
    # from the last reason to the first, which overwrites the others
    first_reasons = np.zeros(np.broadcast(*holds).shape if shape is None else shape, dtype="<U1")
    for condition, reason in zip(reversed(holds), reversed(reasons), strict=True):
        if condition.any():
            first_reasons = np.where(condition, reason, first_reasons)
    return first_reasons


@frozen
class GroupSet:
    """Values of the groups that count, and their extremes.

    Groups come first, ``[group, ...]``: there are few of them and many draws, and sums over the
    first axis take a tenth of the time.
    """

    values: FloatArray
    """NaN where a group does not count."""
    used: NDArray[np.bool_]
    n_groups: IntArray
    low_value: FloatArray
    high_value: FloatArray

    @classmethod
    def from_values(cls, values: ArrayLike, used: NDArray[np.bool_] | None = None) -> GroupSet:
        """Return the set of values ``[..., group]``; by default all groups that are not NaN."""
        group_values = _groups_first(np.atleast_1d(np.asarray(values, dtype=np.float64)))
        if used is None:
            used = ~np.isnan(group_values)
        else:
            used = _groups_first(used)
            group_values = np.where(used, group_values, np.nan)
        low_value = high_value = np.full(group_values.shape[1:], np.nan)
        if len(group_values):
            low_value = np.asarray(np.fmin.reduce(group_values, axis=0, initial=np.nan))
            high_value = np.asarray(np.fmax.reduce(group_values, axis=0, initial=np.nan))
        n_groups = np.asarray(used.sum(axis=0), dtype=np.int64)
        return cls(group_values, used, n_groups, low_value, high_value)

    def first_group_with(self, extreme: FloatArray) -> IntArray:
        """Return the first group that has a value; -1 without groups."""
        if not len(self.values):
            return np.full(self.n_groups.shape, -1)
        return np.where(self.n_groups > 0, (self.values == extreme).argmax(axis=0), -1)

    def range(self) -> FloatArray:
        """Return the largest minus the smallest value."""
        with np.errstate(invalid="ignore"):
            return self.high_value - self.low_value

    def worst_to_best(self, denominator: ArrayLike) -> tuple[FloatArray, Conditions]:
        """Return the largest value over the smallest of `denominator`, ``[..., group]``."""
        smallest = GroupSet.from_values(denominator, np.moveaxis(self.used, 0, -1)).low_value
        has_no_errors = self.high_value == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            quotient = np.where(has_no_errors, 1.0, self.high_value / smallest)
        has_zero_cell = ~has_no_errors & (smallest == 0)
        conditions = {"zero_over_zero": has_no_errors, "zero_cell": has_zero_cell}
        return np.where(has_zero_cell, np.nan, quotient), conditions

    def best_to_worst(self) -> tuple[FloatArray, Conditions]:
        """Return the smallest over the largest value; 1 if all are 0."""
        has_no_errors = self.high_value == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            quotient = np.where(has_no_errors, 1.0, self.low_value / self.high_value)
        return quotient, {"zero_over_zero": has_no_errors}

    def gini(self) -> FloatArray:
        """Return the normalised Gini coefficient; 0 if all values are 0.

        With sorted values the sum of all absolute differences is a sum over gaps, each passed
        by k * (n - k) pairs: no term is negative, so equal values give exactly 0.
        """
        # groups that do not count are NaN, which sorts last
        rising_values = np.sort(np.moveaxis(self.values, 0, -1), axis=-1)
        rank = np.arange(1, rising_values.shape[-1])
        n_used = self.n_groups[..., None]
        total = self.total()
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = rank * (n_used - rank) * np.diff(rising_values, axis=-1)
            differences = np.where(rank < n_used, gaps, 0).sum(axis=-1)
            coefficient = differences / ((self.n_groups - 1) * total)
        return np.where(total == 0, 0.0, np.minimum(coefficient, 1.0))

    def total(self) -> FloatArray:
        """Return the sum of the values."""
        return np.asarray(np.where(self.used, self.values, 0).sum(axis=0))

    def mean(self) -> FloatArray:
        """Return the unweighted mean."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.total() / self.n_groups

    def sd(self, ddof: int) -> FloatArray:
        """Return the standard deviation with n - `ddof` below the sum of squares."""
        with np.errstate(invalid="ignore", divide="ignore"):
            deviations = np.where(self.used, self.values - self.mean(), 0)
            return np.where(
                self.n_groups > ddof,
                np.sqrt((deviations**2).sum(axis=0) / (self.n_groups - ddof)),
                np.nan,
            )

    def per_mean(self, numerator: FloatArray) -> MetaValue:
        """Return a number in units of the mean; NaN if all values are 0."""
        mean = self.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            quotient = np.where(mean == 0, np.nan, numerator / mean)
        return self.meta(quotient, {"no_errors": mean == 0})

    def meta(
        self, value: FloatArray, conditions: Conditions | None = None, *, is_joint: bool = False
    ) -> MetaValue:
        """Return the value of a measure, the reasons that hold for every measure put first.

        A measure that joins two rates names no lowest or highest group, as these may differ
        between the rates.
        """
        defined_value = np.where(self.n_groups > 1, value, np.nan)
        # no function within this one, so that a value can be pickled
        all_conditions = partial(self._conditions, value, conditions or {})
        return MetaValue(defined_value[()], self, all_conditions, _has_witnesses=not is_joint)

    def _conditions(self, value: FloatArray, own_conditions: Conditions) -> Conditions:
        """Return where each reason holds: those of every measure, and those of this one."""
        # a measure of one group, or none, is undefined whatever its own reasons
        return {
            "no_groups": self.n_groups == 0,
            "one_group": self.n_groups == 1,
            **own_conditions,
            "infinite_value": ~np.isfinite(value) & np.isinf(self.values).any(axis=0),
        }


def _groups_first(group_values: NDArray[Any]) -> NDArray[Any]:
    """Return values ``[..., group]`` as ``[group, ...]``, in that order in memory."""
    return np.ascontiguousarray(group_values.transpose(-1, *range(group_values.ndim - 1)))


def _undefined_where(conditions: Conditions, value: FloatArray) -> FloatArray:
    """Return the value, NaN where any of the conditions holds."""
    return np.where(np.logical_or.reduce(list(conditions.values())), np.nan, value)


def gini(values: ArrayLike, *, normalised: bool = True) -> MetaValue:
    """Return the Gini coefficient over groups: mean absolute difference in units of twice the mean.

    In [0, 1], lower is fairer; 0 with ``no_errors`` if all values are 0. `normalised` multiplies by
    n / (n - 1), so that all errors in one group make 1.
    docs/methods/bias-measures.md#measures-of-one-base-metric; Howard et al. (2022).

    Examples
    --------
    >>> float(gini([0.25, 0.75]).value), float(gini([0.0, 0.0, 0.5]).value)
    (0.5, 1.0)
    """
    groups = GroupSet.from_values(values)
    coefficient = groups.gini()
    if not normalised:
        with np.errstate(invalid="ignore", divide="ignore"):
            coefficient = coefficient * (groups.n_groups - 1) / groups.n_groups
    return groups.meta(coefficient, {"no_errors": groups.high_value == 0})


def nrb(values: ArrayLike, average: ArrayLike) -> MetaValue:
    """Return the normalised reliability bias: mean over groups of abs(ln(value / average)).

    In [0, inf), lower is fairer. `average` is the reference of shape ``[...]``, usually the pooled
    value. NaN with a group (``zero_cell``) or average (``zero_reference``) of 0.
    docs/methods/bias-measures.md#measures-of-one-base-metric; Hutiri et al.
    (docs/references.md#paper-000; 2023).

    Examples
    --------
    >>> round(float(nrb([0.01, 0.04], 0.02).value), 9)
    0.693147181
    """
    total = rb(values, average)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(total.groups > 0, total.value / total.groups, np.nan)
    return replace(total, value=mean[()])


def rb(values: ArrayLike, average: ArrayLike) -> MetaValue:
    """Return the reliability bias: sum over groups of abs(ln(value / average)); see `nrb`.

    Examples
    --------
    >>> round(float(rb([0.01, 0.04], 0.02).value), 9)
    1.386294361
    """
    groups = GroupSet.from_values(values)
    reference = np.broadcast_to(np.asarray(average, dtype=np.float64), groups.n_groups.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.abs(np.log(groups.values / reference))
    # a group without errors makes the sum infinite, which is given as undefined below
    total = np.where(groups.used, logs, 0).sum(axis=0)
    conditions = {
        "undefined_reference": np.isnan(reference),
        "zero_reference": reference == 0,
        "zero_cell": groups.low_value == 0,
    }
    return groups.meta(_undefined_where(conditions, total), conditions)


def value_range(values: ArrayLike) -> MetaValue:
    """Return the largest minus the smallest value: of FPR and of FNR a term of the FDR.

    In units of the metric, lower is fairer.
    docs/methods/bias-measures.md#joint-fpr-and-fnr-in-one-number.

    Examples
    --------
    >>> round(float(value_range([0.001, 0.005]).value), 9)
    0.004
    """
    groups = GroupSet.from_values(values)
    return groups.meta(groups.range())


def max_min(values: ArrayLike, *, denominator: ArrayLike | None = None) -> MetaValue:
    """Return the largest divided by the smallest value.

    In [1, inf), lower is fairer. NaN ``zero_cell`` if only the smallest is 0, 1 with
    ``zero_over_zero`` if all are. `denominator` has values to take the minimum of (policy
    ``nist``). docs/methods/bias-measures.md#measures-of-one-base-metric.

    Examples
    --------
    >>> found = max_min([0.0, 0.5])
    >>> float(found.value), str(found.reason)
    (nan, 'zero_cell')
    """
    groups = GroupSet.from_values(values)
    return groups.meta(*groups.worst_to_best(values if denominator is None else denominator))


def min_max(values: ArrayLike) -> MetaValue:
    """Return the smallest divided by the largest value (four-fifths style).

    In [0, 1], higher is fairer. 1 with ``zero_over_zero`` if all are 0.

    Examples
    --------
    >>> float(min_max([0.25, 0.5]).value)
    0.5
    """
    groups = GroupSet.from_values(values)
    return groups.meta(*groups.best_to_worst())


def max_geomean(values: ArrayLike, *, denominator: ArrayLike | None = None) -> MetaValue:
    """Return the largest value divided by the geometric mean of all (MERG).

    In [1, inf), lower is fairer. NaN ``zero_cell`` if any is 0, ``no_errors`` if all are.
    `denominator` has values to take the geometric mean of (policy ``nist``), which can then lie
    above the largest value. docs/methods/bias-measures.md#measures-of-one-base-metric; NIST IR
    8429.

    Examples
    --------
    >>> round(float(max_geomean([0.01, 0.04]).value), 9)
    2.0
    """
    groups = GroupSet.from_values(values)
    denominators = groups.values
    if denominator is not None:
        denominators = _groups_first(np.asarray(denominator, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        geometric_mean = np.exp(
            np.log(np.where(groups.used, denominators, 1)).sum(axis=0) / groups.n_groups
        )
        quotient = groups.high_value / geometric_mean
    conditions = {"no_errors": groups.high_value == 0, "zero_cell": geometric_mean == 0}
    return groups.meta(_undefined_where(conditions, quotient), conditions)


def max_mean(values: ArrayLike) -> MetaValue:
    """Return the largest value divided by the unweighted mean of all (MERA).

    In [1, groups], lower is fairer. NaN ``no_errors`` if all are 0. NIST IR 8429.

    Examples
    --------
    >>> float(max_mean([0.25, 0.75]).value)
    1.5
    """
    groups = GroupSet.from_values(values)
    return groups.per_mean(groups.high_value)


def sd(values: ArrayLike, *, ddof: int = 1) -> MetaValue:
    """Return the standard deviation over groups, with n - `ddof` below the sum of squares.

    In units of the metric, in [0, inf), lower is fairer.
    docs/methods/bias-measures.md#measures-of-one-base-metric.

    Examples
    --------
    >>> float(sd([0.5, 1.5], ddof=0).value)
    0.5
    """
    groups = GroupSet.from_values(values)
    return groups.meta(groups.sd(ddof))


def cv(values: ArrayLike, *, ddof: int = 1) -> MetaValue:
    """Return the coefficient of variation over groups: `sd` divided by the unweighted mean.

    In [0, inf), lower is fairer. NaN ``no_errors`` if all are 0.

    Examples
    --------
    >>> float(cv([0.5, 1.5], ddof=0).value)
    0.5
    """
    groups = GroupSet.from_values(values)
    return groups.per_mean(groups.sd(ddof))
