"""Every measure: its name, what it needs, how it is read, and the function that computes it.

The fields of an entry are explained in `parivox.core.registry`. Base metrics are listed here, bias
measures in `parivox.core.bias.BIAS_MEASURES`, meta-measures in
`parivox.core.meta.META_MEASURES`. To add one, write a pure function of counts or of rates
``[..., group]``, and add an entry to one of these lists; or, from outside, register it:

>>> import numpy as np
>>> from parivox.core.spread import GroupSet
>>> def spread(values):
...     groups = GroupSet.from_values(values)
...     return groups.meta(np.sqrt(groups.range()))
>>> measure = MetaMeasure(
...     id="root_range",
...     label="root of the range",
...     definition="square root of the largest less the smallest value",
...     compute=spread,
... )
>>> register(measure).fairer
'lower'
>>> _ = MEASURES.pop("root_range")
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.bias import BIAS_MEASURES
from parivox.core.costs import act_cdet, bayes_threshold, cdet, min_cdet
from parivox.core.eer import eer
from parivox.core.llr import cllr, min_cllr
from parivox.core.meta import META_MEASURES
from parivox.core.rates import fnr_at_fpr, fpr_at_fnr, hter
from parivox.core.registry import (
    ALL_RATES,
    BOTH,
    ERROR_TYPES,
    IDENTIFICATION_RATES,
    MEASURES,
    RATE_OF_CLASS,
    RATES,
    UNBOUNDED,
    UNIT_INTERVAL,
    BaseMetric,
    BiasMeasure,
    Measure,
    MetaMeasure,
    base_metric,
    base_metrics,
    bias_measures,
    meta_measures,
    register,
)
from parivox.core.separation import auc, dprime
from parivox.core.spoof import sasv_eer, spf_eer

if TYPE_CHECKING:
    from parivox.core.costs import CostModel
    from parivox.core.counts import Counts, FloatArray

__all__ = [
    "ALL_RATES",
    "BOTH",
    "ERROR_TYPES",
    "IDENTIFICATION_RATES",
    "MEASURES",
    "RATES",
    "RATE_OF_CLASS",
    "BaseMetric",
    "BiasMeasure",
    "Measure",
    "MetaMeasure",
    "base_metric",
    "base_metrics",
    "bias_measures",
    "meta_measures",
    "register",
]


# A metric may return its threshold in addition to its value.
class LocatedMetric(NamedTuple):
    """A metric and its threshold; NaN where it has several."""

    value: FloatArray
    threshold: FloatArray


def _actual_cost(counts: Counts, *, cost: CostModel, base: float) -> LocatedMetric:
    """Return the cost at the Bayes threshold; a model with several priors has no one threshold."""
    mean_cost = act_cdet(counts, cost=cost, base=base)
    threshold = bayes_threshold(cost, base) if len(cost.p_target) == 1 else np.nan
    return LocatedMetric(mean_cost, np.full(np.shape(mean_cost), threshold))


_BASE_METRICS = (
    BaseMetric(
        id="fpr",
        label="FPR",
        definition="false positive rate: nontarget trials accepted at the operating point",
        needs="points",
        trial_class="nontarget",
        bounds=UNIT_INTERVAL,
        compute=attrgetter("fpr"),
    ),
    BaseMetric(
        id="fnr",
        label="FNR",
        definition="false negative rate: target trials rejected at the operating point",
        needs="points",
        trial_class="target",
        bounds=UNIT_INTERVAL,
        compute=attrgetter("fnr"),
    ),
    BaseMetric(
        id="sfar",
        label="SFAR",
        definition="spoof false accept rate: spoof trials accepted at the operating point",
        needs="points",
        trial_class="spoof",
        bounds=UNIT_INTERVAL,
        compute=attrgetter("sfar"),
    ),
    BaseMetric(
        id="cdet_raw",
        label="Cost, not normalised",
        definition="detection cost at the operating point",
        needs="points",
        computed_per="cost",
        compute=lambda curve, cost: cdet(curve, cost, normalised=False),
    ),
    BaseMetric(
        id="cdet_norm",
        label="Cost",
        definition=(
            "detection cost at the operating point, divided by the cost of deciding without scores"
        ),
        needs="points",
        computed_per="cost",
        compute=cdet,
    ),
    BaseMetric(
        id="hter",
        label="HTER",
        definition="half total error rate: mean of FPR and FNR at the operating point",
        needs="points",
        bounds=UNIT_INTERVAL,
        compute=hter,
    ),
    BaseMetric(
        id="act_cdet_norm",
        label="Actual cost",
        definition="normalised cost at the Bayes threshold of log-likelihood ratios",
        needs="llr",
        computed_per="cost",
        compute=_actual_cost,
    ),
    BaseMetric(
        id="min_cdet_norm",
        label="Minimum cost",
        definition="minimum normalised cost over all thresholds of the group",
        needs="counts",
        computed_per="cost",
        bounds=UNIT_INTERVAL,
        compute=min_cdet,
    ),
    BaseMetric(
        id="min_cdet_raw",
        label="Minimum cost, not normalised",
        definition="minimum cost, not normalised, over all thresholds of the group",
        needs="counts",
        computed_per="cost",
        field="raw",
        compute=min_cdet,
    ),
    BaseMetric(
        id="eer",
        label="EER",
        definition="equal error rate, at the group's own threshold",
        needs="counts",
        computed_per="eer",
        bounds=UNIT_INTERVAL,
        compute=eer,
    ),
    BaseMetric(
        id="spf_eer",
        label="SPF-EER",
        definition="equal error rate of target against spoof trials, at the group's own threshold",
        needs="counts",
        trial_class="spoof",
        bounds=UNIT_INTERVAL,
        compute=spf_eer,
    ),
    BaseMetric(
        id="sasv_eer",
        label="SASV-EER",
        definition="equal error rate of target against nontarget and spoof trials, at the group's "
        "own threshold, as many of each as the group has or at the share of spoof trials in the "
        "list",
        needs="counts",
        computed_per="spoof_share",
        trial_class="spoof",
        bounds=UNIT_INTERVAL,
        compute=sasv_eer,
    ),
    BaseMetric(
        id="fnr_at_fpr",
        label="FNR at own FPR",
        definition="FNR at the group's own threshold for the stated FPR",
        needs="counts",
        computed_per="held",
        trial_class="target",
        bounds=UNIT_INTERVAL,
        compute=fnr_at_fpr,
    ),
    BaseMetric(
        id="fpr_at_fnr",
        label="FPR at own FNR",
        definition="FPR at the group's own threshold for the stated FNR",
        needs="counts",
        computed_per="held",
        trial_class="nontarget",
        bounds=UNIT_INTERVAL,
        compute=fpr_at_fnr,
    ),
    BaseMetric(
        id="auc",
        label="AUC",
        definition="probability that a target trial scores above a nontarget trial",
        needs="counts",
        scale="one",
        bounds=UNIT_INTERVAL,
        fairer="higher",
        is_error=False,
        compute=auc,
    ),
    BaseMetric(
        id="dprime",
        label="d'",
        definition="distance between the mean scores of target and nontarget trials, divided by "
        "their pooled standard deviation",
        needs="counts",
        scale="linear",
        bounds=UNBOUNDED,
        fairer="higher",
        is_error=False,
        compute=dprime,
    ),
    BaseMetric(
        id="cllr",
        label="Cllr",
        definition="cost of log-likelihood ratios in bits; 1 for scores without information",
        needs="llr",
        compute=cllr,
    ),
    BaseMetric(
        id="min_cllr",
        label="minimum Cllr",
        definition="Cllr after the best monotone calibration for the group",
        needs="counts",
        bounds=UNIT_INTERVAL,
        is_smooth=True,
        compute=min_cllr,
    ),
    BaseMetric(
        id="cal_loss",
        label="calibration loss",
        definition="calibration loss: cllr - min_cllr; intervals are corrected for optimism",
        needs="llr",
        scale="linear",
        is_optimistic=True,
        components=("cllr", "min_cllr"),
        compute=np.subtract,
    ),
    # The audit computes the rest itself, from other cells, failures or times besides counts.
    BaseMetric(
        id="shift_target",
        label="shift of target scores",
        definition="mean or quantile of the group's target scores, minus that of the row "
        "“pooled”, in units of score",
        needs="pooled",
        trial_class="target",
        scale="linear",
        bounds=UNBOUNDED,
        fairer="neither",
        is_error=False,
    ),
    BaseMetric(
        id="shift_nontarget",
        label="shift of nontarget scores",
        definition="mean or quantile of the group's nontarget scores, minus that of the row "
        "“pooled”, in units of score",
        needs="pooled",
        trial_class="nontarget",
        scale="linear",
        bounds=UNBOUNDED,
        fairer="neither",
        is_error=False,
    ),
    BaseMetric(
        id="fte",
        label="FTE",
        definition="failure-to-enrol rate: failed enrolments divided by attempted enrolments",
        needs="recordings",
        source="ISO/IEC 19795-1",
        bounds=UNIT_INTERVAL,
    ),
    BaseMetric(
        id="fta",
        label="FTA",
        definition=(
            "failure-to-acquire rate: failed test recordings divided by attempted test recordings"
        ),
        needs="recordings",
        source="ISO/IEC 19795-1",
        bounds=UNIT_INTERVAL,
    ),
    BaseMetric(
        id="frr",
        label="FRR",
        definition="false reject rate: like fnr, with failures to acquire counted as rejections",
        needs="attempts",
        trial_class="target",
        source="ISO/IEC 19795-1",
        bounds=UNIT_INTERVAL,
    ),
    BaseMetric(
        id="far",
        label="FAR",
        definition="false accept rate: like fpr, with failures to acquire counted as rejections",
        needs="attempts",
        trial_class="nontarget",
        source="ISO/IEC 19795-1",
        bounds=UNIT_INTERVAL,
    ),
    BaseMetric(
        id="gfrr",
        label="GFRR",
        definition=(
            "generalised false reject rate: like frr, with failures to enrol counted as well"
        ),
        needs="attempts",
        trial_class="target",
        source="ISO/IEC 19795-1",
        bounds=UNIT_INTERVAL,
    ),
    BaseMetric(
        id="gfar",
        label="GFAR",
        definition=(
            "generalised false accept rate: like far, with failures to enrol counted as well"
        ),
        needs="attempts",
        trial_class="nontarget",
        source="ISO/IEC 19795-1",
        bounds=UNIT_INTERVAL,
    ),
    BaseMetric(
        id="seconds",
        label="seconds",
        definition="time of a trial in seconds: mean, median and 95 % quantile (within half "
        "a percent)",
        needs="seconds",
        is_error=False,
    ),
)

# Tables have measures in this order; bias measures and meta-measures follow base metrics.
for _measure in (*_BASE_METRICS, *BIAS_MEASURES, *META_MEASURES):
    register(_measure)
