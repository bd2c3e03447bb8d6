"""What every id in the tables means, in words: written into ``audit.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.auditing.curves import THINNING
from parivox.auditing.methods import uncertainty
from parivox.core.measures import base_metrics, bias_measures, meta_measures

if TYPE_CHECKING:
    from parivox.auditing.options import Options

__all__ = ["all_definitions"]

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
        "base_metrics": {name: one.says for name, one in base_metrics().items()},
        "bias_measures": {name: one.says for name, one in bias_measures().items()},
        "meta_measures": {
            name: {
                "says": one.says,
                "higher_is_fairer": one.is_higher_fairer,
                "joins_both_rates": one.is_joint,
                "source": one.source,
            }
            for name, one in meta_measures().items()
        },
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
