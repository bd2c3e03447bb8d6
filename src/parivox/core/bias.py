"""Bias measures: each group's base metric against a reference (docs/methods/bias-measures.md).

Values are ``[..., group]``, what they are compared with (`to`: pooled, `reference`, or one
group's values) is ``[...]``; measures give `BiasValue`. One that the data leave undefined is
NaN, one that grows without bound is +-inf; both carry a reason, as do values fixed by
convention:

==================  ====================================================================
reason              meaning
==================  ====================================================================
undefined_value     the group's own value is NaN
undefined_reference the reference is NaN
zero_cell           the logarithm of a group without errors
zero_reference      division by a reference of 0
zero_over_zero      group and reference (or own minimum) are both 0
zero_own_min        division by an own minimum of 0
infinite_value      the group's value, or the reference, is infinite
==================  ====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from parivox.core.registry import UNBOUNDED, ZERO_POLICIES, BiasMeasure
from parivox.core.spread import first_reason
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray
    from parivox.core.registry import ZeroPolicy

Reference: TypeAlias = Literal["macro", "geomean", "best"]
# References that follow from the groups' own values; the others are values of other cells.
_REFERENCES = ("macro", "geomean", "best")


@dataclass(frozen=True, eq=False)
class BiasValue:
    """A measure per group, with the reason where it is undefined, infinite or a convention.

    Attributes
    ----------
    value : float64 of shape (..., group)
    reason : str array of shape (..., group)
        Empty where the value is an ordinary one; computed on access, as replicates need none.
    """

    value: FloatArray
    _conditions: Callable[[], Mapping[str, NDArray[np.bool_]]] = field(repr=False)

    @property
    def flat(self) -> BiasValue:
        """The same without a last axis of length 1, where each group has its own reference."""
        shape = self.value.shape

        def flat_conditions() -> Mapping[str, NDArray[np.bool_]]:
            reasons = self._conditions()
            return {name: np.broadcast_to(holds, shape)[..., 0] for name, holds in reasons.items()}

        return BiasValue(self.value[..., 0], flat_conditions)

    @cached_property
    def reason(self) -> NDArray[np.str_]:
        """The first reason that holds for each value."""
        # conditions may have the shape of the reference, with one group
        conditions = self._conditions()
        return first_reason(list(conditions.values()), list(conditions), self.value.shape)


def smoothed(errors: ArrayLike, trials: ArrayLike, zero: ZeroPolicy = "none") -> FloatArray:
    """Return error rates under a zero policy (docs/methods/bias-measures.md#zeros).

    Parameters
    ----------
    errors, trials : array_like of int
        Shapes broadcast.
    zero : {"none", "jeffreys", "nist"}
        ``none``: errors / trials. ``jeffreys``: (errors + 0.5) / (trials + 1) everywhere, for
        groups and pools alike. ``nist``: zero counts become the one-sided 95 %
        Clopper-Pearson upper bound 1 - 0.05 ** (1 / trials); meant for denominators only, as
        in NIST IR 8429.

    Returns
    -------
    float64
        In [0, 1], lower is better; NaN without trials.

    Examples
    --------
    >>> smoothed([0, 4], [2000, 2000], "jeffreys").tolist()
    [0.0002498750624687656, 0.0022488755622188904]
    """
    if zero not in ZERO_POLICIES:
        msg = f"zero policy {zero!r} is not known"
        hint = f"choose from {', '.join(ZERO_POLICIES)}"
        raise ConfigError(msg, hint)
    error_array, trial_array = (
        np.asarray(errors, dtype=np.float64),
        np.asarray(trials, dtype=np.float64),
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        if zero == "none":
            rate = error_array / trial_array
        elif zero == "jeffreys":
            rate = (error_array + 0.5) / (trial_array + 1)
        else:
            rate = np.where(
                error_array == 0, -np.expm1(np.log(0.05) / trial_array), error_array / trial_array
            )
        return np.where(trial_array > 0, rate, np.nan)[()]


def reference(values: ArrayLike, kind: Reference) -> FloatArray:
    """Return the reference that groups are compared with, from the groups' own values.

    See docs/methods/bias-measures.md#references.

    Parameters
    ----------
    values : array_like of shape (..., group)
        At least 0, lower is better. NaN groups are left out.
    kind : {"macro", "geomean", "best"}
        Unweighted mean, geometric mean (0 if any group is 0), smallest value.

    Returns
    -------
    float64 of shape (...)
        NaN if every group is NaN.

    Examples
    --------
    >>> float(reference([0.02, 0.03], "macro")), float(reference([0.02, 0.03], "best"))
    (0.025, 0.02)
    """
    if kind not in _REFERENCES:
        msg = f"reference {kind!r} is not known"
        hint = f"choose from {', '.join(_REFERENCES)}"
        raise ConfigError(msg, hint)
    group_values = np.asarray(values, dtype=np.float64)
    is_defined = ~np.isnan(group_values)
    n_groups = is_defined.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if kind == "macro":
            reference_values = np.where(is_defined, group_values, 0).sum(axis=-1) / n_groups
        elif kind == "geomean":
            reference_values = np.exp(
                np.log(np.where(is_defined, group_values, 1)).sum(axis=-1) / n_groups
            )
        else:
            reference_values = np.where(is_defined, group_values, np.inf).min(
                axis=-1, initial=np.inf
            )
    return np.where(n_groups > 0, reference_values, np.nan)[()]


def difference(values: ArrayLike, to: ArrayLike) -> BiasValue:
    """Return group minus reference.

    In units of the metric; 0 is fair, positive is worse than the reference.
    docs/methods/bias-measures.md#bias-measures.

    Examples
    --------
    >>> difference([0.5, 0.25], 0.25).value.tolist()
    [0.25, 0.0]
    """
    group_values, reference_values = _align_reference(values, to)
    with np.errstate(invalid="ignore"):
        return _bias_value(group_values - reference_values, group_values, reference_values)


def ratio(values: ArrayLike, to: ArrayLike) -> BiasValue:
    """Return group divided by reference (G2avg ratio of the papers; `subgroup_bias` with costs).

    Of values at least 0, in [0, inf]; 1 is fair, above 1 is worse than the reference. inf for a
    reference of 0, NaN for 0 / 0. Under the policy ``nist`` the reference is the one adjusted by
    `smoothed`. docs/methods/bias-measures.md#bias-measures.

    Examples
    --------
    >>> found = ratio([0.5, 0.0], 0.0)
    >>> found.value.tolist(), found.reason.tolist()
    ([inf, nan], ['zero_reference', 'zero_over_zero'])
    """
    group_values, reference_values = _align_reference(values, to)
    with np.errstate(invalid="ignore", divide="ignore"):
        quotients = group_values / reference_values
    return _bias_value(
        quotients,
        group_values,
        reference_values,
        lambda: {
            "zero_over_zero": (group_values == 0) & (reference_values == 0),
            "zero_reference": (group_values > 0) & (reference_values == 0),
        },
    )


def neg_log_ratio(values: ArrayLike, to: ArrayLike) -> BiasValue:
    """Return minus the natural logarithm of the ratio to the reference.

    Of values at least 0, in [-inf, inf]; 0 is fair, positive means that the group is favoured. +inf
    for a group without errors, -inf for a reference of 0, NaN for 0 / 0.
    docs/methods/bias-measures.md#bias-measures.

    Examples
    --------
    >>> neg_log_ratio([1.0, 0.0], 1.0).reason.tolist()
    ['', 'zero_cell']
    """
    group_values, reference_values = _align_reference(values, to)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_ratios = 0.0 - np.log(group_values / reference_values)
    return _bias_value(
        log_ratios,
        group_values,
        reference_values,
        lambda: {
            "zero_over_zero": (group_values == 0) & (reference_values == 0),
            "zero_cell": (group_values == 0) & (reference_values > 0),
            "zero_reference": (group_values > 0) & (reference_values == 0),
        },
    )


def threshold_bias(costs: ArrayLike, own_minima: ArrayLike) -> BiasValue:
    """Return the cost at the common threshold divided by the group's own minimum cost.

    Of costs and minima ``[..., group]``, at least 0, and no cost below its minimum. In [1, inf];
    1 means that the common threshold costs the group nothing, lower is better. Inflated for small
    groups, whose minimum is taken on the same trials. inf if only the minimum is 0, 1 if both are.
    docs/methods/bias-measures.md#threshold-bias.

    Examples
    --------
    >>> threshold_bias([0.12, 0.04, 0.0], [0.04, 0.0, 0.0]).value.tolist()
    [3.0, inf, 1.0]
    """
    group_costs, group_minima = np.broadcast_arrays(
        np.asarray(costs, dtype=np.float64), np.asarray(own_minima, dtype=np.float64)
    )
    both_zero = (group_costs == 0) & (group_minima == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        quotients = np.where(both_zero, 1.0, group_costs / group_minima)
    # the same cost reached by two sums may differ in its last bit
    quotients = np.where((quotients < 1) & (quotients > 1 - 1e-12), 1.0, quotients)
    return _bias_value(
        quotients,
        group_costs,
        group_minima,
        lambda: {
            "zero_over_zero": both_zero,
            "zero_own_min": (group_costs > 0) & (group_minima == 0),
        },
    )


def _align_reference(values: ArrayLike, to: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return values ``[..., group]`` and references ``[..., 1]``."""
    group_values = np.asarray(values, dtype=np.float64)
    return group_values, np.asarray(to, dtype=np.float64)[..., None]


def _bias_value(
    measure_values: FloatArray,
    group_values: FloatArray,
    reference_values: FloatArray,
    reasons: Callable[[], Mapping[str, NDArray[np.bool_]]] = dict,
) -> BiasValue:
    """Return values with the conditions of their reasons, in order of precedence."""

    def conditions() -> Mapping[str, NDArray[np.bool_]]:
        return {
            "undefined_value": np.isnan(group_values),
            "undefined_reference": np.isnan(reference_values),
            **reasons(),
            "infinite_value": np.isinf(group_values) | np.isinf(reference_values),
        }

    return BiasValue(measure_values, conditions)


_REFERENCE_MEASURES = (
    BiasMeasure(
        id="difference",
        label="difference",
        definition="value of the group minus value of the reference; 0 means equal; above 0, the "
        "group is worse",
        par=0.0,
        is_of_references=True,
        scale="linear",
        bounds=UNBOUNDED,
        compute=difference,
    ),
    BiasMeasure(
        id="ratio",
        label="ratio",
        definition="value of the group divided by value of the reference; 1 means equal; above 1, "
        "the group is worse",
        par=1.0,
        is_of_references=True,
        scale="ratio",
        compute=ratio,
    ),
    BiasMeasure(
        id="neg_log_ratio",
        label="minus log ratio",
        definition="minus the natural logarithm of the ratio; 0 means equal; below 0, the group is "
        "worse",
        par=0.0,
        is_of_references=True,
        scale="linear",
        bounds=UNBOUNDED,
        fairer="higher",
        compute=neg_log_ratio,
    ),
    BiasMeasure(
        id="subgroup_bias",
        label="subgroup bias",
        definition=(
            "cost of the group divided by the pooled cost, at the threshold with the minimum "
            "cost over all trials (paper 001, eq. 2)"
        ),
        par=1.0,
        scale="ratio",
        compute=ratio,
    ),
    BiasMeasure(
        id="threshold_bias",
        label="threshold bias",
        definition=(
            "cost of the group at the threshold with the minimum cost over all trials, divided "
            "by the minimum cost of the group; at least 1 by construction, and larger for small "
            "groups (paper 001, eq. 3)"
        ),
        par=1.0,
        scale="ratio",
        bounds=(1.0, float("inf")),
        compute=threshold_bias,
    ),
    BiasMeasure(
        id="threshold_bias_cv",
        label="threshold bias, cross-fitted",
        definition=(
            "like threshold_bias, but with group-specific thresholds set on other speakers of the "
            "group; may be below 1"
        ),
        par=1.0,
        scale="ratio",
    ),
)
_MEAN_MEASURES = tuple(
    BiasMeasure(
        id=f"mean_{measure.id}",
        label=f"mean {measure.label}",
        definition=(
            f"unweighted mean of the measure '{measure.id}' over the intersectional groups that "
            "share a value of one attribute, such as gender=f (paper 001). Groups in which the "
            "measure is undefined are left out; the column reason then states how many groups are "
            "included"
        ),
        # the mean of ratios is 1 at par, as each ratio is; that of differences 0
        par=measure.par,
        scale=measure.scale,
        bounds=measure.bounds,
        fairer=measure.fairer,
    )
    for measure in _REFERENCE_MEASURES
)
# Computed by the audit from numeric attributes, see docs/methods/verdicts.md#trends.
_TREND = BiasMeasure(
    id="trend",
    label="trend",
    definition=(
        "change in the log odds of an error per unit of the number that defines the bands (the "
        "unit is in the column definition); 0 means no change; above 0, errors become more "
        "frequent as the number rises"
    ),
    par=0.0,
    scale="linear",
    bounds=UNBOUNDED,
    fairer="neither",
)

BIAS_MEASURES = (*_REFERENCE_MEASURES, *_MEAN_MEASURES, _TREND)
"""Every bias measure, in the order in which tables have them."""
