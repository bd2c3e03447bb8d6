"""Every measure: what each is called, what it needs, how it is read, what computes it.

What an entry says is explained in :mod:`parivox.core.registry`. To add one, write a pure function
of counts or of rates ``[..., group]`` and register it:

>>> import numpy as np
>>> from parivox.core.groupset import GroupSet
>>> def spread(values):
...     groups = GroupSet.of(values)
...     return groups.meta(np.sqrt(groups.range()))
>>> measure = MetaMeasure(
...     id="root_range",
...     label="root of the range",
...     says="square root of the largest less the smallest value",
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

from parivox.core import bias, meta, spread
from parivox.core.costs import act_cdet, bayes_threshold, cdet, min_cdet
from parivox.core.eer import eer
from parivox.core.llr import cllr, min_cllr
from parivox.core.rates import fnr_at_fpr, fpr_at_fnr, hter
from parivox.core.registry import (
    BOTH,
    MEASURES,
    RATES,
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

if TYPE_CHECKING:
    from parivox.core.costs import CostModel
    from parivox.core.counts import Counts, FloatArray

__all__ = [
    "BOTH",
    "MEASURES",
    "RATES",
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

_INF = np.inf


class AtThreshold(NamedTuple):
    """A metric, and the threshold that it is at; NaN for several."""

    value: FloatArray
    threshold: FloatArray


def _actual_cost(counts: Counts, *, cost: CostModel) -> AtThreshold:
    """The cost at the Bayes threshold, which is one where the model has one prior."""
    value = act_cdet(counts, cost=cost)
    threshold = bayes_threshold(cost) if len(cost.p_target) == 1 else np.nan
    return AtThreshold(value, np.full(np.shape(value), threshold))


_SHARE = (0.0, 1.0)
_ANY = (-_INF, _INF)

for _metric in (
    BaseMetric(
        id="fpr",
        label="FPR",
        says="false positive rate: nontarget trials accepted at the operating point",
        needs="points",
        of="nontarget",
        bounds=_SHARE,
        compute=attrgetter("fpr"),
    ),
    BaseMetric(
        id="fnr",
        label="FNR",
        says="false negative rate: target trials rejected at the operating point",
        needs="points",
        of="target",
        bounds=_SHARE,
        compute=attrgetter("fnr"),
    ),
    BaseMetric(
        id="cdet_raw",
        label="Cost, not normalised",
        says="detection cost at the operating point",
        needs="points",
        per="cost",
        compute=lambda at, cost: cdet(at, cost, normalised=False),
    ),
    BaseMetric(
        id="cdet_norm",
        label="Cost",
        says="detection cost at the operating point over that of deciding without scores",
        needs="points",
        per="cost",
        compute=cdet,
    ),
    BaseMetric(
        id="hter",
        label="HTER",
        says="half total error rate: mean of FPR and FNR at the operating point",
        needs="points",
        bounds=_SHARE,
        compute=hter,
    ),
    BaseMetric(
        id="act_cdet_norm",
        label="Actual cost",
        says="normalised cost at the Bayes threshold of log-likelihood ratios",
        needs="llr",
        per="cost",
        compute=_actual_cost,
    ),
    BaseMetric(
        id="min_cdet_norm",
        label="Minimum cost",
        says="smallest normalised cost over all thresholds, at the group's own one",
        needs="counts",
        per="cost",
        bounds=_SHARE,
        compute=min_cdet,
    ),
    BaseMetric(
        id="min_cdet_raw",
        label="Minimum cost, not normalised",
        says="smallest cost over all thresholds, at the group's own one",
        needs="counts",
        per="cost",
        field="raw",
        compute=min_cdet,
    ),
    BaseMetric(
        id="eer",
        label="EER",
        says="equal error rate, at the group's own threshold",
        needs="counts",
        per="eer",
        bounds=_SHARE,
        compute=eer,
    ),
    BaseMetric(
        id="fnr_at_fpr",
        label="FNR at own FPR",
        says="FNR where the group's own FPR is held at the stated rate",
        needs="counts",
        per="held",
        of="target",
        bounds=_SHARE,
        compute=fnr_at_fpr,
    ),
    BaseMetric(
        id="fpr_at_fnr",
        label="FPR at own FNR",
        says="FPR where the group's own FNR is held at the stated rate",
        needs="counts",
        per="held",
        of="nontarget",
        bounds=_SHARE,
        compute=fpr_at_fnr,
    ),
    BaseMetric(
        id="auc",
        label="AUC",
        says="probability that a target trial scores above a nontarget one",
        needs="counts",
        scale="one",
        bounds=_SHARE,
        fairer="higher",
        is_error=False,
        compute=auc,
    ),
    BaseMetric(
        id="dprime",
        label="d'",
        says="distance of the mean scores in units of their pooled standard deviation",
        needs="counts",
        scale="linear",
        bounds=_ANY,
        fairer="higher",
        is_error=False,
        compute=dprime,
    ),
    BaseMetric(
        id="cllr",
        label="Cllr",
        says="cost of log-likelihood ratios in bits, 1 for a system that knows nothing",
        needs="llr",
        compute=cllr,
    ),
    BaseMetric(
        id="min_cllr",
        label="minimum Cllr",
        says="Cllr after the best monotone calibration, the group's own one",
        needs="counts",
        bounds=_SHARE,
        is_smooth=True,
        compute=min_cllr,
    ),
    BaseMetric(
        id="cal_loss",
        label="calibration loss",
        says="what Cllr loses to calibration: cllr - min_cllr",
        needs="llr",
        scale="linear",
        made_of=("cllr", "min_cllr"),
        compute=np.subtract,
    ),
    BaseMetric(
        id="shift_target",
        label="shift of target scores",
        says="target scores of the group minus those of the pooled row, in units of score",
        needs="pooled",
        of="target",
        scale="linear",
        bounds=_ANY,
        fairer="neither",
        is_error=False,
    ),
    BaseMetric(
        id="shift_nontarget",
        label="shift of nontarget scores",
        says="nontarget scores of the group minus those of the pooled row, likewise",
        needs="pooled",
        of="nontarget",
        scale="linear",
        bounds=_ANY,
        fairer="neither",
        is_error=False,
    ),
    BaseMetric(
        id="fte",
        label="FTE",
        says="failure-to-enrol rate: enrolments that failed, of those attempted",
        needs="recordings",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="fta",
        label="FTA",
        says="failure-to-acquire rate: test recordings that failed, of those attempted",
        needs="recordings",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="frr",
        label="FRR",
        says="false reject rate: as fnr, recordings that could not be acquired being rejected",
        needs="attempts",
        of="target",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="far",
        label="FAR",
        says="false accept rate: as fpr, recordings that could not be acquired being rejected",
        needs="attempts",
        of="nontarget",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="gfrr",
        label="GFRR",
        says="generalised false reject rate: as frr, enrolments that failed being rejected too",
        needs="attempts",
        of="target",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="gfar",
        label="GFAR",
        says="generalised false accept rate: as far, enrolments that failed being rejected too",
        needs="attempts",
        of="nontarget",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="seconds",
        label="seconds",
        says="seconds that a trial took: mean, median and 95 % quantile (within half a percent)",
        needs="seconds",
        is_error=False,
    ),
):
    register(_metric)

_AGAINST = (
    BiasMeasure(
        id="difference",
        label="difference",
        says="group - reference; 0 is par, above it the group fares worse",
        par=0.0,
        is_of_references=True,
        scale="linear",
        bounds=_ANY,
        compute=bias.difference,
    ),
    BiasMeasure(
        id="ratio",
        label="ratio",
        says="group / reference; 1 is par, above it the group fares worse",
        par=1.0,
        is_of_references=True,
        scale="ratio",
        compute=bias.ratio,
    ),
    BiasMeasure(
        id="neg_log_ratio",
        label="minus log ratio",
        says="-ln(group / reference); 0 is par, below it the group fares worse",
        par=0.0,
        is_of_references=True,
        scale="linear",
        bounds=_ANY,
        fairer="higher",
        compute=bias.neg_log_ratio,
    ),
    BiasMeasure(
        id="subgroup_bias",
        label="subgroup bias",
        says=(
            "group's cost over the pooled cost, at the threshold of the smallest cost over all "
            "trials (paper 001, eq. 2)"
        ),
        par=1.0,
        scale="ratio",
        compute=bias.ratio,
    ),
    BiasMeasure(
        id="threshold_bias",
        label="threshold bias",
        says=(
            "group's cost at that threshold over its own smallest cost; at least 1 by "
            "construction, and larger for small groups (paper 001, eq. 3)"
        ),
        par=1.0,
        scale="ratio",
        bounds=(1.0, _INF),
        compute=bias.threshold_bias,
    ),
    BiasMeasure(
        id="threshold_bias_cv",
        label="threshold bias, cross-fitted",
        says=(
            "the same with own thresholds found on other speakers of the group: what they would "
            "bring; may be below 1"
        ),
        par=1.0,
        scale="ratio",
    ),
)
_MEANS = tuple(
    BiasMeasure(
        id=f"mean_{one.id}",
        label=f"mean {one.label}",
        says=(
            f"unweighted mean of {one.id} over the groups of an intersection that share a value of "
            "one attribute, as in group gender=f (paper 001); groups where it is undefined are "
            "left out, and the reason says how many"
        ),
        par=one.par,
        scale=one.scale,
        bounds=one.bounds,
        fairer=one.fairer,
    )
    for one in _AGAINST
)
_TREND = BiasMeasure(
    id="trend",
    label="trend",
    says=(
        "change of the log odds of an error per unit (in definition) of the number that bands are "
        "made of; 0 is none, above it errors rise with the number"
    ),
    par=0.0,
    scale="linear",
    bounds=_ANY,
    fairer="neither",
)
for _against in (*_AGAINST, *_MEANS, _TREND):
    register(_against)

_SMOOTH: tuple[bias.ZeroPolicy, ...] = ("none", "jeffreys")
_RATIOS: tuple[bias.ZeroPolicy, ...] = ("none", "jeffreys", "nist")
_PEREIRA, _NIST, _HOWARD = (
    "de Freitas Pereira and Marcel 2022",
    "NIST (Grother)",
    "Howard 2022",
)
_HUTIRI, _IR8429, _FOUR_FIFTHS = "Hutiri et al. 2023", "NIST IR 8429", "four-fifths style"
_LUM = "Lum, Zhang and Bower 2022"

for _meta in (
    MetaMeasure(
        id="fdr",
        label="FDR",
        says="1 less the weighted ranges of both rates",
        source=_PEREIRA,
        metric=BOTH,
        takes="alpha",
        fairer="higher",
        scale="one",
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        shown="first",
        compute=meta.fdr,
    ),
    MetaMeasure(
        id="fdr_fpd",
        label="FPD of FDR",
        short="FPD",
        says="range of FPR: its largest less its smallest value",
        source=_PEREIRA,
        metric="fpr",
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        has_p_of_fpr=False,
        compute=meta.fdr_fpd,
    ),
    MetaMeasure(
        id="fdr_fnd",
        label="FND of FDR",
        short="FND",
        says="range of FNR: its largest less its smallest value",
        source=_PEREIRA,
        metric="fnr",
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        compute=meta.fdr_fnd,
    ),
    MetaMeasure(
        id="ir",
        label="IR",
        says="largest over smallest FPR times largest over smallest FNR, each to its weight",
        source=_NIST,
        metric=BOTH,
        takes="alpha",
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        shown="first",
        compute=meta.ir,
    ),
    MetaMeasure(
        id="ir_fpd",
        label="FPD of IR",
        short="IR, FPR",
        says="largest over smallest FPR",
        source=_NIST,
        metric="fpr",
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        compute=meta.ir_fpd,
    ),
    MetaMeasure(
        id="ir_fnd",
        label="FND of IR",
        short="IR, FNR",
        says="largest over smallest FNR",
        source=_NIST,
        metric="fnr",
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        compute=meta.ir_fnd,
    ),
    MetaMeasure(
        id="garbe",
        label="GARBE",
        says="weighted sum of the Gini coefficients of both rates",
        source=_HOWARD,
        metric=BOTH,
        takes="alpha",
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        shown="first",
        compute=meta.garbe,
    ),
    MetaMeasure(
        id="gini",
        label="Gini",
        says="Gini coefficient over groups, 1 if one group has all errors",
        source=_HOWARD,
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        compute=spread.gini,
    ),
    MetaMeasure(
        id="nrb",
        label="NRB",
        says="mean over groups of abs(ln(value / pooled value))",
        source=_HUTIRI,
        takes="average",
        takes_logs=True,
        zero_policies=_SMOOTH,
        compute=spread.nrb,
    ),
    MetaMeasure(
        id="rb",
        label="RB",
        says="sum over groups of abs(ln(value / pooled value))",
        source=_HUTIRI,
        takes="average",
        zero_policies=_SMOOTH,
        shown="tables",
        compute=spread.rb,
    ),
    MetaMeasure(
        id="max_min",
        label="largest / smallest",
        short="max / min",
        says="largest over smallest value",
        source=_FOUR_FIFTHS,
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        shown="quoted",
        compute=spread.max_min,
    ),
    MetaMeasure(
        id="min_max",
        label="smallest / largest",
        short="min / max",
        says="smallest over largest value",
        source=_FOUR_FIFTHS,
        fairer="higher",
        scale="ratio",
        bounds=_SHARE,
        takes_logs=True,
        zero_policies=_SMOOTH,
        shown="tables",
        compute=spread.min_max,
    ),
    MetaMeasure(
        id="max_geomean",
        label="largest / geometric mean",
        short="max / geometric mean",
        says="largest value over the geometric mean",
        source=_IR8429,
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        compute=spread.max_geomean,
    ),
    MetaMeasure(
        id="max_mean",
        label="largest / mean",
        short="max / mean",
        says="largest value over the mean",
        source=_IR8429,
        scale="ratio",
        zero_policies=_SMOOTH,
        has_p_of_fpr=False,
        compute=spread.max_mean,
    ),
    MetaMeasure(
        id="sd",
        label="standard deviation",
        short="SD",
        says="standard deviation over groups",
        source="common",
        zero_policies=_SMOOTH,
        has_p_of_fpr=False,
        compute=spread.sd,
    ),
    MetaMeasure(
        id="cv",
        label="coefficient of variation",
        short="CV",
        says="standard deviation over groups in units of their mean",
        source="common",
        zero_policies=_SMOOTH,
        has_p_of_fpr=False,
        compute=spread.cv,
    ),
    MetaMeasure(
        id="eo_diff",
        label="equalised odds difference",
        short="EO difference",
        says="the larger of the ranges of TPR and FPR",
        source="fairlearn",
        metric=BOTH,
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        compute=meta.eo_diff,
    ),
    MetaMeasure(
        id="eo_ratio",
        label="equalised odds ratio",
        short="EO ratio",
        says="the smaller of smallest over largest TPR and FPR",
        source="fairlearn",
        metric=BOTH,
        fairer="higher",
        scale="ratio",
        bounds=_SHARE,
        takes_logs=True,
        zero_policies=_SMOOTH,
        compute=meta.eo_ratio,
    ),
    MetaMeasure(
        id="au_fdr",
        label="area under FDR",
        short="auFDR",
        says="area under FDR over pooled false positive rates, divided by their span",
        source="Peri et al. 2023",
        metric=BOTH,
        takes="grid",
        fairer="higher",
        scale="one",
        bounds=_SHARE,
        compute=meta.au_fdr,
    ),
    MetaMeasure(
        id="tau_log",
        label="tau_log (spread beyond noise)",
        short="tau_log",
        says="spread of ln rates between groups beyond what speakers make of it",
        takes="draws",
        shown="first",
    ),
    MetaMeasure(
        id="var_corrected",
        label="variance beyond noise",
        short="corrected variance",
        says="variance of rates between groups beyond what speakers make of it",
        source=_LUM,
        takes="draws",
        bounds=_ANY,
    ),
    MetaMeasure(
        id="var_double_corrected",
        label="variance beyond noise, twice corrected",
        short="twice corrected variance",
        says="the same, with how sure it is",
        source=_LUM,
        takes="draws",
        bounds=_ANY,
    ),
):
    register(_meta)
