"""What every id in the tables means, in words: written into ``audit.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.auditing.curves import THINNING
from parivox.auditing.methods import uncertainty
from parivox.core.meta import MEASURES

if TYPE_CHECKING:
    from parivox.auditing.options import Options

__all__ = ["BASE_METRICS", "BIAS_MEASURES", "all_definitions"]

BASE_METRICS = {
    "fpr": "false positive rate: nontarget trials accepted at the operating point",
    "fnr": "false negative rate: target trials rejected at the operating point",
    "cdet_raw": "detection cost at the operating point",
    "cdet_norm": "detection cost at the operating point over that of deciding without scores",
    "hter": "half total error rate: mean of FPR and FNR at the operating point",
    "act_cdet_norm": "normalised cost at the Bayes threshold of log-likelihood ratios",
    "min_cdet_norm": "smallest normalised cost over all thresholds, at the group's own one",
    "min_cdet_raw": "smallest cost over all thresholds, at the group's own one",
    "eer": "equal error rate, at the group's own threshold",
    "fnr_at_fpr": "FNR where the group's own FPR is held at the stated rate",
    "fpr_at_fnr": "FPR where the group's own FNR is held at the stated rate",
    "auc": "probability that a target trial scores above a nontarget one",
    "dprime": "distance of the mean scores in units of their pooled standard deviation",
    "cllr": "cost of log-likelihood ratios in bits, 1 for a system that knows nothing",
    "min_cllr": "Cllr after the best monotone calibration, the group's own one",
    "cal_loss": "what Cllr loses to calibration: cllr - min_cllr",
    "shift_target": "target scores of the group minus those of the pooled row, in units of score",
    "shift_nontarget": "nontarget scores of the group minus those of the pooled row, likewise",
    "fte": "failure-to-enrol rate: enrolments that failed, of those attempted",
    "fta": "failure-to-acquire rate: test recordings that failed, of those attempted",
    "frr": "false reject rate: as fnr, recordings that could not be acquired being rejected",
    "far": "false accept rate: as fpr, recordings that could not be acquired being rejected",
    "gfrr": "generalised false reject rate: as frr, enrolments that failed being rejected too",
    "gfar": "generalised false accept rate: as far, enrolments that failed being rejected too",
    "seconds": "seconds that a trial took: mean, median and 95 % quantile (within half a percent)",
}
"""Every base metric by its id. Fractions in [0, 1] unless the words say otherwise."""

BIAS_MEASURES = {
    "difference": "group - reference; 0 is par, above it the group fares worse",
    "ratio": "group / reference; 1 is par, above it the group fares worse",
    "neg_log_ratio": "-ln(group / reference); 0 is par, below it the group fares worse",
    "subgroup_bias": (
        "group's cost over the pooled cost, at the threshold of the smallest cost over all trials "
        "(paper 001, eq. 2)"
    ),
    "threshold_bias": (
        "group's cost at that threshold over its own smallest cost; at least 1 by construction, "
        "and larger for small groups (paper 001, eq. 3)"
    ),
    "threshold_bias_cv": (
        "the same with own thresholds found on other speakers of the group: what they would bring; "
        "may be below 1"
    ),
}

BIAS_MEASURES |= {
    f"mean_{measure}": (
        f"unweighted mean of {measure} over the groups of an intersection that share a value of "
        "one attribute, as in group gender=f (paper 001); groups where it is undefined are left "
        "out, and the reason says how many"
    )
    for measure in tuple(BIAS_MEASURES)
}

BIAS_MEASURES["trend"] = (
    "change of the log odds of an error per unit (in definition) of the number that bands are made "
    "of; 0 is none, above it errors rise with the number"
)

META_MEASURES = {
    "tau_log": "spread of ln rates between groups beyond what speakers make of it",
    "var_corrected": "variance of rates between groups beyond what speakers make of it",
    "var_double_corrected": "the same, with how sure it is",
}
"""Meta-measures besides those of :data:`~parivox.core.meta.MEASURES`; lower is fairer."""

FAILURE_RULES = {
    "attempts": "each trial of a recording that failed is one attempt, and a rejection",
    "shares": (
        "rates of comparisons joined with the shares of recordings that failed (ISO/IEC 19795-1): "
        "FRR = FTA + (1 - FTA) FNMR, FAR = (1 - FTA) FMR; generalised ones with FTE likewise"
    ),
}

REFERENCES = {
    "others": "all trials of pooled that are not the group's own",
    "pooled": "all trials that the grouping and allocation place in some group, in one pot",
    "macro": "unweighted mean over the groups",
    "geomean": "geometric mean over the groups",
    "best": "smallest value of the groups",
}

ALLOCATIONS = {
    "both": "a nontarget trial counts for a group if both speakers belong to it",
    "enrol": "a nontarget trial counts for the group of its enrolment speaker",
    "test": "a nontarget trial counts for the group of its test speaker",
    "either": "a nontarget trial counts for the groups of both of its speakers, once for each",
}

ZERO_POLICIES = {
    "none": "rates as counted; a measure that a zero leaves undefined is missing with that reason",
    "jeffreys": "(errors + 0.5) / (trials + 1) for every group and the pooled row",
    "nist": "a zero rate in a denominator is its one-sided 95 % Clopper-Pearson upper bound",
}


def all_definitions(options: Options) -> dict[str, object]:
    """Definitions of everything that an audit with these options shows."""
    return {
        "decision": "a trial is accepted iff its score >= threshold",
        "rows": {
            "pooled": REFERENCES["pooled"],
            "all": "every scored trial of the system and list; operating points are found on it",
            "within": (
                "the same at the same thresholds on the trials of one level only, both sides of "
                "which are in it; pooled and all are then the level's own"
            ),
        },
        "counts": (
            "of files of counts, what takes the trials themselves is missing; groups of few "
            "speakers are withheld, which are then in neither pooled nor any group but in all"
        ),
        "failure_rules": FAILURE_RULES,
        "base_metrics": BASE_METRICS,
        "bias_measures": BIAS_MEASURES,
        "meta_measures": {
            name: {
                "higher_is_fairer": spec.higher_is_fairer,
                "joins_both_rates": spec.joint,
                "source": spec.source,
            }
            for name, spec in MEASURES.items()
        }
        | META_MEASURES,
        "references": REFERENCES,
        "allocations": ALLOCATIONS,
        "zero_policies": ZERO_POLICIES,
        "cost_models": {
            cost.name: {"p_target": list(cost.p_target), "c_miss": cost.c_miss, "c_fa": cost.c_fa}
            for cost in (
                *options.costs,
                *(point.cost for point in options.points() or [] if point.cost is not None),
            )
        },
        "deployed": (
            "the operating point of the decisions that were made: told in a column, or by a "
            "threshold for each trial; where groups have several, none stands in their rows"
        ),
        "score_quantiles": (
            "the smallest score with at least that share of the trials at or below it"
        ),
        "det_thinning": (
            f"points of det.parquet are exact; none left out lies further than {THINNING} probits "
            "from a kept one"
        ),
        "uncertainty": uncertainty(options),
        "left_out": "SFI, CFI, DFI (no source at hand)",
    }
