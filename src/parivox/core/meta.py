"""Meta-measures: one number for how a system's groups differ.

See docs/methods/bias-measures.md#meta-measures. This module has those of both error rates at once,
and the list of all; those of one base metric are in `parivox.core.spread`, spread beyond noise in
`parivox.core.beyond_noise`.

They take rates ``[..., group]`` of all groups at one common threshold and return a `MetaValue` of
shape ``[...]``. Groups whose value is NaN are left out of a measure's group set (for measures that
join FPR and FNR: if either is NaN); ``groups`` counts the rest. `alpha`, the weight of FPR in
[0, 1], puts its own axes in front of all others. Which direction is fairer, and which zero policies
apply, stands in `META_MEASURES`.

Zero policies: under ``jeffreys`` pass rates from ``bias.smoothed(errors, trials, "jeffreys")``;
under ``nist`` pass raw rates, and those of ``bias.smoothed(errors, trials, "nist")`` as
`denominator`, which then takes the place of the rates below the fraction bar.

Reasons: ``no_groups``, ``one_group`` (NaN), ``zero_cell`` (NaN: a ratio or logarithm of a group
without errors), ``no_errors`` (no group has errors: Gini 0, means NaN), ``zero_over_zero``
(convention 1), ``zero_reference``, ``undefined_reference``, ``infinite_value``,
``too_few_points``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from parivox.core import spread
from parivox.core.registry import BOTH, UNBOUNDED, UNIT_INTERVAL, MetaMeasure
from parivox.core.spread import GroupSet, MetaValue
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray
    from parivox.core.registry import ZeroPolicy


def fdr(fpr: ArrayLike, fnr: ArrayLike, *, alpha: ArrayLike = 0.5) -> MetaValue:
    """Return the fairness discrepancy rate: 1 - alpha * range(FPR) - (1 - alpha) * range(FNR).

    In [0, 1], higher is fairer. Tends to 1 as rates fall, whatever the disparity. NaN with fewer
    than two groups. docs/methods/bias-measures.md#joint-fpr-and-fnr-in-one-number; de Freitas
    Pereira and Marcel (2022).

    Examples
    --------
    >>> round(float(fdr([0.001, 0.005], [0.02, 0.12], alpha=0.5).value), 9)
    0.948
    """
    fpr_groups, fnr_groups = _shared_groups(fpr, fnr)
    discrepancy_rate = 1 - _weighted_sum(alpha, fpr_groups.range(), fnr_groups.range())
    return fpr_groups.meta(discrepancy_rate, is_joint=True)


def ir(
    fpr: ArrayLike,
    fnr: ArrayLike,
    *,
    alpha: ArrayLike = 0.5,
    denominator: tuple[ArrayLike, ArrayLike] | None = None,
) -> MetaValue:
    """Return the inequity rate: (max/min FPR) ** alpha * (max/min FNR) ** (1 - alpha).

    In [1, inf), lower is fairer. NaN ``zero_cell`` if a term with weight has a smallest rate of 0;
    a term without any errors counts as 1 (``zero_over_zero``). `denominator` has FPR and FNR to
    take the minima of (policy ``nist``).
    docs/methods/bias-measures.md#joint-fpr-and-fnr-in-one-number; NIST (Grother).

    Examples
    --------
    >>> round(float(ir([0.001, 0.004], [0.01, 0.09], alpha=0.5).value), 9)
    6.0
    """
    fpr_groups, fnr_groups = _shared_groups(fpr, fnr)
    denominators = denominator or (fpr, fnr)
    fpr_ratio, fpr_conditions = fpr_groups.worst_to_best(denominators[0])
    fnr_ratio, fnr_conditions = fnr_groups.worst_to_best(denominators[1])
    weight = _alpha_axes(alpha, fpr_ratio)
    # a term without weight counts as 1, even where it is undefined
    with np.errstate(invalid="ignore"):
        terms = np.where(weight > 0, fpr_ratio**weight, 1.0)
        terms = terms * np.where(weight < 1, fnr_ratio ** (1 - weight), 1.0)
    conditions = {
        name: ((weight > 0) & fpr_conditions[name]) | ((weight < 1) & fnr_conditions[name])
        for name in ("zero_cell", "zero_over_zero")
    }
    return fpr_groups.meta(terms, conditions, is_joint=True)


def garbe(fpr: ArrayLike, fnr: ArrayLike, *, alpha: ArrayLike = 0.5) -> MetaValue:
    """Return the Gini aggregation rate: alpha * Gini(FPR) + (1 - alpha) * Gini(FNR).

    In [0, 1], lower is fairer. A rate without any errors counts as Gini 0 (``no_errors``, if it has
    weight). docs/methods/bias-measures.md#measures-of-one-base-metric; Howard et al. (2022).

    Examples
    --------
    >>> round(float(garbe([0.001, 0.003], [0.01, 0.01], alpha=0.5).value), 9)
    0.25
    """
    fpr_groups, fnr_groups = _shared_groups(fpr, fnr)
    aggregation_rate = _weighted_sum(alpha, fpr_groups.gini(), fnr_groups.gini())
    weight = _alpha_axes(alpha, fpr_groups.gini())
    has_no_false_accepts = (weight > 0) & (fpr_groups.high_value == 0)
    has_no_false_rejects = (weight < 1) & (fnr_groups.high_value == 0)
    has_no_errors = has_no_false_accepts | has_no_false_rejects
    return fpr_groups.meta(aggregation_rate, {"no_errors": has_no_errors}, is_joint=True)


def eo_diff(fpr: ArrayLike, fnr: ArrayLike) -> MetaValue:
    """Return the equalised odds difference: the larger of the ranges of TPR and FPR (fairlearn).

    In [0, 1], lower is fairer; TPR = 1 - FNR. NaN with fewer than two groups.
    docs/methods/bias-measures.md#joint-fpr-and-fnr-in-one-number.

    Examples
    --------
    >>> round(float(eo_diff([0.001, 0.005], [0.02, 0.12]).value), 9)
    0.1
    """
    fpr_groups, fnr_groups = _shared_groups(fpr, fnr)
    larger_range = np.maximum(fpr_groups.range(), fnr_groups.range())
    return fpr_groups.meta(larger_range, is_joint=True)


def eo_ratio(fpr: ArrayLike, fnr: ArrayLike) -> MetaValue:
    """Return the equalised odds ratio: the smaller of min/max TPR and min/max FPR (fairlearn).

    In [0, 1], higher is fairer; TPR = 1 - FNR. A ratio with maximum 0 counts as 1
    (``zero_over_zero``). docs/methods/bias-measures.md#joint-fpr-and-fnr-in-one-number.

    Examples
    --------
    >>> round(float(eo_ratio([0.001, 0.005], [0.02, 0.12]).value), 9)
    0.2
    """
    fpr_groups, fnr_groups = _shared_groups(fpr, fnr)
    fpr_ratio, fpr_conditions = fpr_groups.best_to_worst()
    tpr_groups = GroupSet.from_values(1 - np.moveaxis(fnr_groups.values, 0, -1))
    tpr_ratio, tpr_conditions = tpr_groups.best_to_worst()
    conditions = {
        name: is_zero_over_zero | tpr_conditions[name]
        for name, is_zero_over_zero in fpr_conditions.items()
    }
    return fpr_groups.meta(np.minimum(fpr_ratio, tpr_ratio), conditions, is_joint=True)


def au_fdr(
    fdr: ArrayLike,
    fpr: ArrayLike,
    *,
    axis: Literal["linear", "log10"] = "linear",
) -> MetaValue:
    """Return the area under the FDR over pooled false positive rates, divided by their span.

    See docs/methods/bias-measures.md#area-under-fdr.

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
    MetaValue
        In [0, 1], higher is fairer. NaN ``too_few_points`` without two defined points of
        different FPR. Peri et al. (2023).

    Examples
    --------
    >>> round(float(au_fdr([0.99, 0.95, 0.8], [0.001, 0.01, 0.1]).value), 9)
    0.883636364
    """
    if axis not in {"linear", "log10"}:
        msg = f"axis {axis!r} is not known"
        hint = "choose linear or log10"
        raise ConfigError(msg, hint)
    fdr_values, fpr_values = np.broadcast_arrays(
        np.asarray(fdr, dtype=np.float64), np.asarray(fpr, dtype=np.float64)
    )
    is_defined = ~np.isnan(fpr_values) & ~np.isnan(fdr_values)
    if axis == "log10":
        is_defined &= fpr_values > 0
    order = np.argsort(np.where(is_defined, fpr_values, np.inf), axis=-1, kind="stable")
    fpr_rising, fdr_rising, is_used = (
        np.take_along_axis(array, order, axis=-1) for array in (fpr_values, fdr_values, is_defined)
    )
    if axis == "log10":
        fpr_rising = np.log10(np.where(is_used, fpr_rising, 1))
    # points that are left out come last, so that a step is used if its second point is
    step = np.where(is_used[..., 1:], np.diff(fpr_rising), 0)
    mean_fdr = np.where(is_used[..., 1:], fdr_rising[..., 1:] + fdr_rising[..., :-1], 0) / 2
    span = step.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        area = np.where(span > 0, (step * mean_fdr).sum(axis=-1) / span, np.nan)
    # FDR is of operating points, not of groups
    return MetaValue(area[()], None, partial(dict, too_few_points=np.isnan(area)))


def _shared_groups(fpr: ArrayLike, fnr: ArrayLike) -> tuple[GroupSet, GroupSet]:
    """Return both rates on the groups that have both."""
    fpr_values, fnr_values = np.broadcast_arrays(
        np.asarray(fpr, dtype=np.float64), np.asarray(fnr, dtype=np.float64)
    )
    has_both = ~np.isnan(fpr_values) & ~np.isnan(fnr_values)
    return GroupSet.from_values(fpr_values, has_both), GroupSet.from_values(fnr_values, has_both)


def _alpha_axes(alpha: ArrayLike, rates: FloatArray) -> FloatArray:
    """Return the weight of FPR with its axes in front of those of the rates."""
    weight = np.asarray(alpha, dtype=np.float64)
    if not ((weight >= 0) & (weight <= 1)).all():
        msg = f"alpha is {weight.tolist()}"
        hint = "give a number between 0 and 1"
        raise ConfigError(msg, hint)
    return weight.reshape(weight.shape + (1,) * np.ndim(rates))


def _weighted_sum(alpha: ArrayLike, fpr_term: FloatArray, fnr_term: FloatArray) -> FloatArray:
    """Return alpha * FPR term + (1 - alpha) * FNR term."""
    weight = _alpha_axes(alpha, fpr_term)
    return weight * fpr_term + (1 - weight) * fnr_term


# "nist" replaces rates of 0 below a fraction bar only, so that it concerns ratios alone.
_SMOOTHING_POLICIES: tuple[ZeroPolicy, ...] = ("none", "jeffreys")
_RATIO_POLICIES: tuple[ZeroPolicy, ...] = ("none", "jeffreys", "nist")
_PEREIRA = "de Freitas Pereira and Marcel 2022"
_NIST = "NIST (Grother)"
_HOWARD = "Howard 2022"
_HUTIRI = "Hutiri et al. 2023"
_IR8429 = "NIST IR 8429"
_FOUR_FIFTHS = "after the four-fifths rule"
_LUM = "Lum, Zhang and Bower 2022"

META_MEASURES = (
    MetaMeasure(
        id="fdr",
        label="FDR",
        definition="1 minus the weighted sum of the ranges of both rates",
        source=_PEREIRA,
        metric=BOTH,
        extra_input="alpha",
        terms=("fdr_fpd", "fdr_fnd"),
        fairer="higher",
        scale="one",
        bounds=UNIT_INTERVAL,
        zero_policies=_SMOOTHING_POLICIES,
        shown="first",
        compute=fdr,
    ),
    MetaMeasure(
        id="fdr_fpd",
        label="FPD of FDR",
        short="FPD",
        definition="range of FPR: largest minus smallest value",
        source=_PEREIRA,
        metric="fpr",
        bounds=UNIT_INTERVAL,
        zero_policies=_SMOOTHING_POLICIES,
        compute=spread.value_range,
    ),
    MetaMeasure(
        id="fdr_fnd",
        label="FND of FDR",
        short="FND",
        definition="range of FNR: largest minus smallest value",
        source=_PEREIRA,
        metric="fnr",
        bounds=UNIT_INTERVAL,
        zero_policies=_SMOOTHING_POLICIES,
        compute=spread.value_range,
    ),
    MetaMeasure(
        id="ir",
        label="IR",
        definition=(
            "largest FPR divided by smallest FPR, times largest FNR divided by smallest FNR, each "
            "of the two ratios raised to the power of its weight"
        ),
        source=_NIST,
        metric=BOTH,
        extra_input="alpha",
        terms=("ir_fpd", "ir_fnd"),
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIO_POLICIES,
        shown="first",
        compute=ir,
    ),
    MetaMeasure(
        id="ir_fpd",
        label="FPD of IR",
        short="IR, FPR",
        definition="largest FPR divided by smallest FPR",
        source=_NIST,
        metric="fpr",
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIO_POLICIES,
        compute=spread.max_min,
    ),
    MetaMeasure(
        id="ir_fnd",
        label="FND of IR",
        short="IR, FNR",
        definition="largest FNR divided by smallest FNR",
        source=_NIST,
        metric="fnr",
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIO_POLICIES,
        compute=spread.max_min,
    ),
    MetaMeasure(
        id="garbe",
        label="GARBE",
        definition="weighted sum of the Gini coefficients of both rates",
        source=_HOWARD,
        metric=BOTH,
        extra_input="alpha",
        terms=("gini", "gini"),
        bounds=UNIT_INTERVAL,
        zero_policies=_SMOOTHING_POLICIES,
        shown="first",
        compute=garbe,
    ),
    MetaMeasure(
        id="gini",
        label="Gini",
        definition="Gini coefficient over groups, 1 if one group has all errors",
        source=_HOWARD,
        bounds=UNIT_INTERVAL,
        zero_policies=_SMOOTHING_POLICIES,
        compute=spread.gini,
    ),
    MetaMeasure(
        id="nrb",
        label="NRB",
        definition="mean over groups of abs(ln(value / pooled value))",
        source=_HUTIRI,
        extra_input="average",
        takes_logs=True,
        zero_policies=_SMOOTHING_POLICIES,
        compute=spread.nrb,
    ),
    MetaMeasure(
        id="rb",
        label="RB",
        definition="sum over groups of abs(ln(value / pooled value))",
        source=_HUTIRI,
        extra_input="average",
        zero_policies=_SMOOTHING_POLICIES,
        shown="tables",
        compute=spread.rb,
    ),
    MetaMeasure(
        id="max_min",
        label="largest / smallest",
        short="max / min",
        definition="largest value divided by smallest value",
        source=_FOUR_FIFTHS,
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIO_POLICIES,
        shown="quoted",
        compute=spread.max_min,
    ),
    MetaMeasure(
        id="min_max",
        label="smallest / largest",
        short="min / max",
        definition="smallest value divided by largest value",
        source=_FOUR_FIFTHS,
        fairer="higher",
        scale="ratio",
        bounds=UNIT_INTERVAL,
        takes_logs=True,
        zero_policies=_SMOOTHING_POLICIES,
        shown="tables",
        compute=spread.min_max,
    ),
    MetaMeasure(
        id="max_geomean",
        label="largest / geometric mean",
        short="max / geometric mean",
        definition="largest value divided by the geometric mean",
        source=_IR8429,
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIO_POLICIES,
        compute=spread.max_geomean,
    ),
    MetaMeasure(
        id="max_mean",
        label="largest / mean",
        short="max / mean",
        definition="largest value divided by the mean",
        source=_IR8429,
        scale="ratio",
        zero_policies=_SMOOTHING_POLICIES,
        compute=spread.max_mean,
    ),
    MetaMeasure(
        id="sd",
        label="standard deviation",
        short="SD",
        definition="standard deviation over groups",
        source="in common use",
        zero_policies=_SMOOTHING_POLICIES,
        compute=spread.sd,
    ),
    MetaMeasure(
        id="cv",
        label="coefficient of variation",
        short="CV",
        definition="standard deviation over groups divided by the mean over groups",
        source="in common use",
        zero_policies=_SMOOTHING_POLICIES,
        compute=spread.cv,
    ),
    MetaMeasure(
        id="eo_diff",
        label="equalised odds difference",
        short="EO difference",
        definition="the larger of the ranges of TPR and FPR",
        source="fairlearn",
        metric=BOTH,
        bounds=UNIT_INTERVAL,
        zero_policies=_SMOOTHING_POLICIES,
        compute=eo_diff,
    ),
    MetaMeasure(
        id="eo_ratio",
        label="equalised odds ratio",
        short="EO ratio",
        definition="the smaller of two ratios: smallest over largest TPR, and smallest over "
        "largest FPR",
        source="fairlearn",
        metric=BOTH,
        fairer="higher",
        scale="ratio",
        bounds=UNIT_INTERVAL,
        takes_logs=True,
        zero_policies=_SMOOTHING_POLICIES,
        compute=eo_ratio,
    ),
    MetaMeasure(
        id="au_fdr",
        label="area under FDR",
        short="auFDR",
        definition=(
            "area under the FDR curve over pooled false positive rates, divided by the span of "
            "these rates"
        ),
        source="Peri et al. 2023",
        metric=BOTH,
        extra_input="grid",
        fairer="higher",
        scale="one",
        bounds=UNIT_INTERVAL,
        compute=au_fdr,
    ),
    MetaMeasure(
        id="heterogeneity",
        label="heterogeneity",
        short="H",
        definition="variance of rates between groups, relative to the variance expected with equal "
        "rates in all groups",
        extra_input="draws",
        shown="first",
    ),
    MetaMeasure(
        id="tau_log",
        label="tau_log",
        definition="between-group standard deviation of ln rates beyond sampling noise",
        extra_input="draws",
        shown="first",
    ),
    MetaMeasure(
        id="var_corrected",
        label="corrected variance",
        definition="variance of rates between groups beyond sampling noise",
        source=_LUM,
        extra_input="draws",
        bounds=UNBOUNDED,
    ),
    MetaMeasure(
        id="var_double_corrected",
        label="twice-corrected variance",
        definition="like var_corrected, but corrected twice, with an interval from quantiles of "
        "binomial draws",
        source=_LUM,
        extra_input="draws",
        bounds=UNBOUNDED,
    ),
    MetaMeasure(
        id="interaction",
        label="interaction of attributes",
        short="interaction",
        definition="variance of log rates beyond additive effects, relative to the variance "
        "expected if effects are additive",
        extra_input="draws",
    ),
)
"""Every meta-measure, in the order in which tables have them."""
