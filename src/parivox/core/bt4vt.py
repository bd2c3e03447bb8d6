"""The rules of bt4vt 1.0.1, for comparison with numbers published through it.

They differ from the exact rules in four ways; nothing is rounded in either.

* The error curve is cut: it starts at the last threshold with FPR 0 and ends at the first
  one with FNR 0 (scikit-learn's ``det_curve`` does so).
* A group's rates and cost at the overall threshold are those of the point of the group's own
  cut curve whose threshold lies *nearest*. A small group without false accepts there may be
  read off far from the threshold (mexico_m on VoxCeleb1-H: FNR 0.089 where it is 0.248).
* Among equal minima the smallest threshold counts (the exact rules take the largest).
* Differences, costs and minima are compared as floats, which can break ties of integers.

Each function takes the `parivox.core.counts.Counts` of one cell (no leading axes) and
repeats bt4vt's order of float operations, so that values agree to the last digit. bt4vt
refuses infinite scores and cells with one class only; here the latter are NaN. bt4vt prints
the EER in per cent and costs raw, that is, not normalised. Cost models have one prior; bt4vt
averages none. Lower is better throughout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from parivox.core.counts import Curve
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from parivox.core.costs import CostModel
    from parivox.core.counts import Counts, FloatArray

Rate = TypeVar("Rate", float, "FloatArray")


class LocatedValue(NamedTuple):
    """A value and the threshold of the curve point that it was read from."""

    value: float
    threshold: float


class CurvePoint(NamedTuple):
    """Error rates of one curve point, and that point's threshold."""

    fpr: float
    fnr: float
    threshold: float


def bt4vt_curve(counts: Counts) -> Curve:
    """Return the cut error curve of one cell, as scikit-learn's ``det_curve`` gives it.

    Values that no trial of the cell has are left out first. Thresholds fall (``det_curve`` lists
    the same points in rising order), from the last one with FPR 0 to the first one with FNR 0. The
    curve starts with +inf only where the highest score is a nontarget's. Without targets or
    nontargets it has no points. As in scikit-learn 1.7 to 1.9 with ``drop_intermediate=False``,
    which is what bt4vt uses.

    Examples
    --------
    >>> from parivox.core.counts import Counts
    >>> curve = bt4vt_curve(Counts.from_scores([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]))
    >>> curve.thresholds.tolist(), curve.fpr.tolist(), curve.fnr.tolist()
    ([0.8, 0.4, 0.35], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0])
    """
    if counts.target.ndim != 1:
        msg = "the rules of bt4vt need the counts of a single group"
        hint = f"give the groups one by one (found shape {counts.target.shape})"
        raise DataError(msg, hint)
    full_curve = counts.curve
    if counts.n_target == 0 or counts.n_nontarget == 0:
        kept_points = np.arange(0)
    else:
        # "accept nothing" is a point of the curve, too
        occurs = np.concatenate(([True], (counts.target + counts.nontarget)[::-1] > 0))
        kept_points = np.flatnonzero(occurs)
        start = np.searchsorted(full_curve.fp[kept_points], 0, side="right") - 1
        end = int(np.argmax(full_curve.fn[kept_points] == 0))
        kept_points = kept_points[start : end + 1]
    return Curve(
        full_curve.thresholds[kept_points],
        full_curve.fp[kept_points],
        full_curve.fn[kept_points],
        full_curve.n_target,
        full_curve.n_nontarget,
    )


def bt4vt_eer(counts: Counts) -> LocatedValue:
    """Return the equal error rate: the larger rate at the point where both are nearest.

    In [0, 1], at the cell's own threshold; 100 times the value is what bt4vt prints.

    Examples
    --------
    >>> from parivox.core.counts import Counts
    >>> bt4vt_eer(Counts.from_scores([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]))
    LocatedValue(value=0.5, threshold=0.4)
    """
    fpr, fnr, thresholds = _rising_rates(counts)
    if not thresholds.size:
        return LocatedValue(np.nan, np.nan)
    nearest_index = np.argmin(np.abs(fnr - fpr))
    return LocatedValue(
        float(max(fpr[nearest_index], fnr[nearest_index])), float(thresholds[nearest_index])
    )


def bt4vt_min_cdet(counts: Counts, *, cost: CostModel) -> LocatedValue:
    """Return the smallest raw detection cost on the cut curve, at the smallest such threshold.

    At least 0. In bt4vt, counts are of all trials of the system: the threshold is then used for
    every group.

    Examples
    --------
    >>> from parivox.core.costs import parse_cost
    >>> from parivox.core.counts import Counts
    >>> counts = Counts.from_scores([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    >>> bt4vt_min_cdet(counts, cost=parse_cost("0.5,1,1"))
    LocatedValue(value=0.25, threshold=0.35)
    """
    fpr, fnr, thresholds = _rising_rates(counts)
    if not thresholds.size:
        return LocatedValue(np.nan, np.nan)
    cdet = _cdet(fpr, fnr, cost)
    cheapest_index = np.argmin(cdet)
    return LocatedValue(float(cdet[cheapest_index]), float(thresholds[cheapest_index]))


def bt4vt_rates_at(counts: Counts, threshold: float) -> CurvePoint:
    """Return the error rates at the point of the cut curve whose threshold is nearest.

    In [0, 1]. Among equally near points the smaller threshold counts. With +inf, a curve that does
    not hold +inf is read at its *smallest* threshold, since all its points are as far.

    Examples
    --------
    >>> from parivox.core.counts import Counts
    >>> bt4vt_rates_at(Counts.from_scores([0.9, 0.5, 0.1], [1, 1, 0]), 0.9)
    CurvePoint(fpr=0.0, fnr=0.0, threshold=0.5)
    """
    fpr, fnr, thresholds = _rising_rates(counts)
    if not thresholds.size:
        return CurvePoint(np.nan, np.nan, np.nan)
    with np.errstate(invalid="ignore"):  # inf - inf is NaN, which argmin takes for the smallest
        nearest_index = np.argmin(np.abs(thresholds - threshold))
    return CurvePoint(
        float(fpr[nearest_index]), float(fnr[nearest_index]), float(thresholds[nearest_index])
    )


def bt4vt_cdet_at(counts: Counts, threshold: float, *, cost: CostModel) -> LocatedValue:
    """Return the raw detection cost at the point of the cut curve whose threshold is nearest.

    At least 0. In bt4vt, `threshold` is that of `bt4vt_min_cdet` over all trials, and counts
    are one group's.

    Examples
    --------
    >>> from parivox.core.costs import parse_cost
    >>> from parivox.core.counts import Counts
    >>> counts = Counts.from_scores([0.9, 0.5, 0.7, 0.1], [1, 1, 0, 0])
    >>> bt4vt_cdet_at(counts, 0.75, cost=parse_cost("0.5,1,1"))
    LocatedValue(value=0.5, threshold=0.7)
    """
    fpr, fnr, nearest = bt4vt_rates_at(counts, threshold)
    return LocatedValue(_cdet(fpr, fnr, cost), nearest)


def bt4vt_eer_ratio(group: float, overall: float) -> float:
    """Return the ratio of two EERs, taken between percentages as bt4vt does.

    The last digit may differ from ``group / overall``. Ratios of costs need no such care.

    Examples
    --------
    >>> bt4vt_eer_ratio(0.03, 0.02)
    1.5
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(group * 100) / np.float64(overall * 100))


def _rising_rates(counts: Counts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return FPR, FNR and thresholds in the order in which bt4vt scans them."""
    curve = bt4vt_curve(counts)
    return curve.fpr[::-1], curve.fnr[::-1], curve.thresholds[::-1]


def _cdet(fpr: Rate, fnr: Rate, cost: CostModel) -> Rate:
    """Return the raw detection cost, in bt4vt's order of float operations."""
    if len(cost.p_target) > 1:
        msg = (
            f"cost {cost.name} is a mean over priors {cost.p_target}, which bt4vt does not support"
        )
        hint = "give one prior, for example '0.05,1,1'"
        raise ConfigError(msg, hint)
    # factors in bt4vt's order, so that results agree to the last digit
    (p_target,) = cost.p_target
    return fnr * cost.c_miss * p_target + fpr * cost.c_fa * (1 - p_target)
