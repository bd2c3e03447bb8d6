"""Thresholds fitted on the trials of some speakers: one for all, and by every rule for each group.

See docs/methods/thresholds.md#rules.
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.core.counts import Counts, FloatArray
    from parivox.core.intervals import Interval
    from parivox.decide.fitting_trials import FittingTrials
    from parivox.decide.threshold_aims import ThresholdAim

    Bools = NDArray[np.bool_]

COMMON, PER_GROUP, BETWEEN = "common", "per group", "between"
RULES = (COMMON, PER_GROUP, BETWEEN)


def reasons_too_small(material: FittingTrials, aim: ThresholdAim) -> list[str]:
    """Why a group has no threshold of its own; empty where it may have one.

    In every fit that trials are judged by, it needs speakers enough, and enough trials for the rate
    aimed at.
    """
    reasons = material.too_few()
    rule = aim.point.rule
    for g in (g for g, why in enumerate(reasons) if not why and rule in {"fpr", "fnr"}):
        bits = material.bits[(material.group == g) & (material.target == (rule == "fnr"))]
        of = np.bincount(bits, minlength=1 << material.folds)
        fewest = min(
            int(of[(np.arange(of.size) & held) == 0].sum()) for held in held_out(material.folds)
        )
        if aim.point.rule_value * fewest < 1:
            reasons[g] = (
                f"{aim.point.text} is below one error in the {fewest} trials left to fit on"
            )
    return reasons


class FittedThresholds(NamedTuple):
    """Thresholds of each rule for each group, the last one for people of unknown group."""

    thresholds: FloatArray  # [rule, group + 1], in the order of `RULES`
    kept: (
        FloatArray  # share of its difference to the common threshold that `BETWEEN` keeps, [group]
    )


def fit_thresholds(
    material: FittingTrials, aim: ThresholdAim, may: Bools, most: int
) -> dict[int, FittedThresholds]:
    """The fit without each set of at most so many folds.

    `may` says which groups may have a threshold of their own.
    """
    together, apart = material.in_order(aim.rates)
    return {
        held: _fit(
            *(material, aim, may, held, together.without(held)),
            [one.without(held) for one in apart],
        )
        for held in held_out(material.folds, most).tolist()
    }


def _fit(
    material: FittingTrials,
    aim: ThresholdAim,
    may: Bools,
    held: int,
    everything: Counts,
    groups: list[Counts],
) -> FittedThresholds:
    """Find the thresholds of every rule without the speakers of the folds held out."""
    n_groups = len(groups)
    common = aim.common_of(everything, groups)
    own = np.full(n_groups, common)
    for g in np.flatnonzero(may).tolist():
        found = float(aim.point.threshold(groups[g]))
        own[g] = found if np.isfinite(found) else common
    rate = _rates_at(material, aim.rates[0], np.full(n_groups + 1, common), held)
    known = log_rates(np.where(may, rate.rate, np.nan), rate.n_eff)
    kept = np.where(may, shrunken(*known, np.arange(n_groups)[:, None]).kept_share, 0)
    each = np.stack((np.full(n_groups, common), own, common + kept * (own - common)))
    return FittedThresholds(np.column_stack((each, np.full(len(RULES), common))), kept)


class ThresholdDifferences(NamedTuple):
    """Whether the threshold of a group is another one than that for all, shape (group,)."""

    p: FloatArray
    """That its rates at the common threshold are those aimed at, adjusted for all groups."""
    low: FloatArray
    high: FloatArray
    """Limits of its own threshold, where it is found by one rate."""


def threshold_differences(
    material: FittingTrials,
    aim: ThresholdAim,
    may: Bools,
    whole: FittedThresholds,
    confidence: float,
) -> ThresholdDifferences:
    """Hold the rates of each group at the common threshold against those aimed at.

    See docs/methods/thresholds.md#told-apart.
    """
    n_groups = len(material.groups)
    common, own, _ = whole.thresholds
    together, apart = material.in_order(RATES)
    p = []
    for rate in aim.rates:
        found = _rates_at(material, rate, common)
        is_aimed = len(aim.rates) == 1
        curve = together.without(0).at(common[:1])
        p.append(level(found, aim.point.rule_value if is_aimed else getattr(curve, rate)[0]))
    adjusted = holm(np.where(may, p, np.nan).ravel()).reshape(-1, n_groups)
    least = np.where(may, np.fmin.reduce(adjusted), np.nan)
    low, high = np.full((2, n_groups), np.nan)
    if len(aim.rates) == 1:
        (rate,) = aim.rates
        at = threshold_at_fpr if rate == "fpr" else threshold_at_fnr
        told = _rates_at(material, rate, own, confidence=confidence)
        for g in np.flatnonzero(may & (told.method != "")).tolist():
            curve = apart[g].without(0).curve
            low[g], high[g] = sorted(
                float(at(curve, float(end[g]))) for end in (told.low, told.high)
            )
    return ThresholdDifferences(least, low, high)


def _rates_at(
    material: FittingTrials,
    rate: str,
    thresholds: FloatArray,
    held: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """A rate of each group at its threshold, of the speakers outside the folds held out."""
    accepted = material.score >= thresholds[material.group]
    tally = material.by_group[rate].with_errors(accepted if rate == "fpr" else ~accepted, held)
    return rate_interval(moments(tally.cell_range(0, len(material.groups))), confidence)
