"""Fit thresholds on the trials of some speakers: one for all, and by every rule for each group.

See docs/methods/gates.md#rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.cluster_errors import moments
from parivox.core.crossfit import held_out
from parivox.core.intervals import level, rate_interval
from parivox.core.rates import threshold_at_fnr, threshold_at_fpr
from parivox.core.shrinkage import log_rates, shrunken
from parivox.core.verdict import holm
from parivox.decide.fitting_trials import RATES
from parivox.errors import DataError
from parivox.facts import fact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.core.counts import Counts, FloatArray
    from parivox.core.intervals import Interval
    from parivox.decide.fitting_trials import FittingTrials
    from parivox.decide.threshold_aims import ThresholdAim

    Bools = NDArray[np.bool_]

COMMON, PER_GROUP, BETWEEN = "common", "per group", "between"
RULES = (COMMON, PER_GROUP, BETWEEN)


def reasons_too_small(trials: FittingTrials, aim: ThresholdAim) -> list[str]:
    """Return why a group has no threshold of its own; empty where it may have one.

    In every fit that trials are judged by, it needs speakers enough, and enough trials for the rate
    aimed at.
    """
    reasons = trials.too_few_speakers_reasons()
    rule = aim.operating_point.rule
    if rule not in {"fpr", "fnr"}:
        return reasons
    for group, reason in enumerate(reasons):
        if reason:
            continue
        is_counted = (trials.group == group) & (trials.target == (rule == "fnr"))
        n_by_folds = np.bincount(trials.fold_bits[is_counted], minlength=1 << trials.n_folds)
        all_fold_bits = np.arange(n_by_folds.size)
        fewest = min(
            int(n_by_folds[(all_fold_bits & excluded_folds) == 0].sum())
            for excluded_folds in held_out(trials.n_folds)
        )
        if aim.operating_point.rule_value * fewest < 1:
            reasons[group] = fact(
                "few_trials_to_fit", operating_point=aim.operating_point.text, trials=fewest
            )
    return reasons


class FittedThresholds(NamedTuple):
    """Thresholds of each rule for each group, the last one for people of unknown group."""

    thresholds: FloatArray  # [rule, group + 1], in the order of `RULES`
    kept_shares: FloatArray
    """Share of its difference to the common threshold that `BETWEEN` keeps, [group]."""


def fit_thresholds(
    trials: FittingTrials, aim: ThresholdAim, is_fitted: Bools, max_excluded: int
) -> dict[int, FittedThresholds]:
    """Return the fit without each set of at most so many folds.

    `is_fitted` says which groups may have a threshold of their own.
    """
    all_trials, group_trials = trials.sorted_trials(aim.rates)
    return {
        excluded_folds: _fit(
            trials,
            aim,
            is_fitted,
            excluded_folds,
            all_counts=all_trials.counts_without(excluded_folds),
            group_counts=[group.counts_without(excluded_folds) for group in group_trials],
        )
        for excluded_folds in held_out(trials.n_folds, max_excluded).tolist()
    }


def _fit(
    trials: FittingTrials,
    aim: ThresholdAim,
    is_fitted: Bools,
    excluded_folds: int,
    *,
    all_counts: Counts,
    group_counts: list[Counts],
) -> FittedThresholds:
    """Find the thresholds of every rule without the speakers of the excluded folds."""
    n_groups = len(group_counts)
    common_threshold = aim.common_threshold(all_counts, group_counts)
    reason = aim.operating_point.certain_outcome_reason(all_counts, common_threshold)
    if reason:
        omission = " without some speakers" if excluded_folds else ""
        outcome = "rejected" if common_threshold < 0 else "accepted"
        msg = f"--aim {aim.text}: no threshold applies{omission}: "
        msg += f"too many trials are always {outcome}"
        hint = "replace infinite scores, or give a higher rate"
        raise DataError(msg, hint)
    common = np.full(n_groups, common_threshold)
    per_group = common.copy()
    for group in np.flatnonzero(is_fitted).tolist():
        threshold = float(aim.operating_point.threshold(group_counts[group]))
        if np.isfinite(threshold):
            per_group[group] = threshold
    common_thresholds = np.full(n_groups + 1, common_threshold)
    rates = _group_rates(trials, aim.rates[0], common_thresholds, excluded_folds)
    means, variances = log_rates(np.where(is_fitted, rates.rate, np.nan), rates.n_eff)
    shrinkage = shrunken(means, variances, np.arange(n_groups)[:, None])
    kept_shares = np.where(is_fitted, shrinkage.kept_share, 0)
    between = common + kept_shares * (per_group - common)
    thresholds = np.stack((common, per_group, between))
    unknown_group = np.full(len(RULES), common_threshold)
    return FittedThresholds(np.column_stack((thresholds, unknown_group)), kept_shares)


class ThresholdDifferences(NamedTuple):
    """Whether the threshold of a group is another one than that for all, shape (group,)."""

    p_values: FloatArray
    """That its rates at the common threshold are those aimed at, adjusted for all groups."""
    low: FloatArray
    high: FloatArray
    """Limits of its own threshold, where it is found by one rate."""


def threshold_differences(
    trials: FittingTrials,
    aim: ThresholdAim,
    is_fitted: Bools,
    fit: FittedThresholds,
    confidence: float,
) -> ThresholdDifferences:
    """Hold the rates of each group at the common threshold against those aimed at.

    See docs/methods/gates.md#which-groups-get-a-threshold.
    """
    n_groups = len(trials.groups)
    common, per_group, _ = fit.thresholds
    all_trials, group_trials = trials.sorted_trials(RATES)
    pooled_rates = all_trials.counts_without(0).at(common[:1])
    p_values = []
    for rate in aim.rates:
        # an aim of one rate says which; otherwise, groups should have the rate of all trials
        if len(aim.rates) == 1:
            aimed_rate = aim.operating_point.rule_value
        else:
            aimed_rate = getattr(pooled_rates, rate)[0]
        p_values.append(level(_group_rates(trials, rate, common), aimed_rate))
    adjusted = holm(np.where(is_fitted, p_values, np.nan).ravel()).reshape(-1, n_groups)
    min_p_values = np.where(is_fitted, np.fmin.reduce(adjusted), np.nan)
    low, high = np.full((2, n_groups), np.nan)
    if len(aim.rates) == 1:
        (rate,) = aim.rates
        threshold_at_rate = threshold_at_fpr if rate == "fpr" else threshold_at_fnr
        limits = _group_rates(trials, rate, per_group, confidence=confidence)
        for group in np.flatnonzero(is_fitted & (limits.method != "")).tolist():
            curve = group_trials[group].counts_without(0).curve
            # FPR falls and FNR rises with the threshold, so that limits may come in either order
            low[group], high[group] = sorted(
                float(threshold_at_rate(curve, float(limit[group])))
                for limit in (limits.low, limits.high)
            )
    return ThresholdDifferences(min_p_values, low, high)


def _group_rates(
    trials: FittingTrials,
    rate: str,
    thresholds: FloatArray,
    excluded_folds: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """Return a rate of each group at its threshold, of the speakers outside the excluded folds."""
    is_accepted = trials.score >= thresholds[trials.group]
    is_wrong = is_accepted if rate == "fpr" else ~is_accepted
    clusters = trials.by_group[rate].with_errors(is_wrong, excluded_folds)
    return rate_interval(moments(clusters.cell_range(0, len(trials.groups))), confidence)
