"""Definitions of every id and method in an audit, in words, as its report shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing import THINNING, Options
from parivox.core.measures import base_metrics, bias_measures, meta_measures
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.auditing import Audit

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

_INTERVALS = {
    "speakers": (
        "closed form over speakers. FNR: variance of leaving out each speaker in turn. FPR: the "
        "same with both speakers of a trial, less what a pair of speakers counts twice, and at "
        "least three quarters of it. Never below that of independent trials. Limits: where the "
        "rate lies as many standard errors away as Student's t says, the error growing as [rate "
        "(1 - rate)]^0.75; with fewer than 5 errors no nearer than Clopper-Pearson's"
    ),
    "bootstrap": (
        "Wilson's interval of the trials that the variance over replicates is worth, with "
        "Student's t and one degree of freedom fewer than speakers"
    ),
    "wilson": "Wilson's, which takes trials as independent and is far too short where they are not",
    "clopper-pearson": "Clopper and Pearson's, which takes trials as independent, likewise",
    "jeffreys": "Jeffreys', which takes trials as independent, likewise",
}

_THRESHOLDS_OF_RATES = {
    "speakers": (
        "the threshold as it is; but where it was found on these trials, limits and se of all and "
        "pooled have the variance of the rate over replicates, which find it again. Not the rate "
        "that the point is named by, and not without replicates: note says which"
    ),
    "bootstrap": (
        "the threshold as it is found again in each replicate, if it was found on these trials"
    ),
}

_THRESHOLDS_IN_DRAWS = {
    True: "kept as they are in every replicate",
    False: (
        "found again in every replicate if they were found on these trials, else kept as they are"
    ),
}


_SPEAKER_BLOCKS = (
    "speakers are taken in blocks of one group each, and blocks are left out in turn. Of that the "
    "variance of FPR is at least three quarters only up to 10 degrees of freedom: with more of "
    "them the share falls to one half"
)


LIMIT_MEASURES = {
    "limit": "the rate against the limit: met if its whole interval is at or below, not_met above",
    "ratio_limit": "the ratio to the first reference against the limit, likewise",
    "speakers_above": (
        "share of speakers whose own FNR exceeds the limit, the noise of few trials removed"
    ),
    "worst_tenth": "share of the errors carried by the tenth of speakers with the most errors",
    "worst_tenth_if_equal": "the same if all speakers of the group had one rate",
    "locked_out": (
        "share of people rejected in all attempts, if attempts are independent and people alike"
    ),
    "locked_out_people": (
        "the same if people differ as these speakers do, each person's attempts being independent"
    ),
    "impostors_in": "share of impostors accepted in one of the attempts, if these are independent",
    "attempts_until": (
        "attempts after which an impostor has succeeded with probability 0.95, if these are "
        "independent"
    ),
}
"""The measures of the table of limits, by id; shares in [0, 1]."""
COMPARISON_MEASURES = {
    "value": "the base metric itself",
    "spread": (
        "variance over groups of the metric's logarithm, less what the speakers drawn make of it; "
        "of the groups that pass the gates in both; may be below 0: tau_log squared, but not cut "
        "off"
    ),
    "p_more_accurate": "share of replicates in which the pooled value is smaller than the other's",
    "p_less_spread": "share of replicates in which the spread is smaller than the other's",
    "p_both": "share of replicates in which both are",
}
"""Measures of ``comparison.csv`` besides those of ``bias.csv`` and ``meta.csv``."""


def definitions(audit: Audit) -> dict[str, Any]:
    """Return the definitions of all that an audit shows; an audit of 0.1 or 0.2 holds its own."""
    record = audit.record
    if "definitions" in record:
        return dict(record["definitions"])
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in record["options"].items()
        if name in Options.__dataclass_fields__
    }
    return all_definitions(
        Options(**options), record["cost_models"], in_blocks=record["speaker_blocks"]
    )


def all_definitions(
    options: Options, cost_models: Mapping[str, Any], *, in_blocks: bool = False
) -> dict[str, object]:
    """Return definitions of all that an audit with these options shows, of speakers or blocks."""
    llr_definition: dict[str, object] = {}
    if options.llr_base is not None:
        llr_definition["log_likelihood_ratios"] = (
            f"scores are logarithms to base {options.llr_base} of likelihood ratios: for Cllr they "
            f"are multiplied by ln {options.llr_base}; thresholds are in the units of the scores"
        )
    return {
        "decision": "a trial is accepted iff its score >= threshold",
        **llr_definition,
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
        "base_metrics": {name: measure.definition for name, measure in base_metrics().items()},
        "bias_measures": {name: measure.definition for name, measure in bias_measures().items()},
        "meta_measures": {
            name: {
                "says": measure.definition,
                "higher_is_fairer": measure.is_higher_fairer,
                "joins_both_rates": measure.is_joint,
                "source": measure.source,
            }
            for name, measure in meta_measures().items()
        },
        "references": REFERENCES,
        "allocations": ALLOCATIONS,
        "zero_policies": ZERO_POLICIES,
        "cost_models": cost_models,
        "deployed": (
            "the operating point of the decisions that were made: from a column, or from a "
            "threshold for each trial; rows of groups with several thresholds have none"
        ),
        "score_quantiles": (
            "the smallest score with at least that share of the trials at or below it"
        ),
        "det_thinning": (
            f"points of det.parquet are exact; none left out lies further than {THINNING} probits "
            "from a kept one"
        ),
        "uncertainty": uncertainty_definitions(options, in_blocks=in_blocks),
        "left_out": "SFI, CFI, DFI (no source at hand)",
    }


def uncertainty_definitions(options: Options, *, in_blocks: bool = False) -> dict[str, object]:
    """Return the methods behind everything that states uncertainty, with the values in force.

    They are texts by topic; empty without intervals.
    """
    if not options.intervals:
        return {}
    definitions: dict[str, object] = {
        "sample": (
            "speakers of a wider population, with all of their trials; both speakers of a "
            "nontarget trial count. The recordings of a speaker are not a sample of their own"
        ),
        **_rate_definitions(options),
        **_bootstrap_definitions(options),
        **_floor_definitions(options),
        **_verdict_definitions(options),
        "limits": LIMIT_MEASURES,
    }
    if in_blocks and options.interval == "speakers":
        definitions["rates_of_blocks"] = _SPEAKER_BLOCKS
    if options.standardise:
        definitions["standardised"] = (
            "mean of a group's rates in the strata, each of the same weight, over the strata in "
            "which every group has trials of several speakers; intervals as of rates, of the "
            "weighted errors of each speaker"
        )
    if options.compare:
        definitions["comparison"] = {
            "method": (
                "differences and log ratios of both within each replicate: speakers whom both have "
                "are drawn together, others apart; the column speakers says which. Intervals by "
                "Student's t, with the fewer of both's speakers less one; those of meta-measures "
                "are stretched by what noise adds to either, and have no p"
            ),
            "measures": COMPARISON_MEASURES,
        }
    return definitions


def _rate_definitions(options: Options) -> dict[str, object]:
    """Return the methods of rates at operating points and their ratios."""
    definitions: dict[str, object] = {
        "confidence": options.confidence,
        "rates": _INTERVALS[options.interval],
        "rates_at": (
            "the threshold as it is: that it was found on these trials is not counted in"
            if options.fixed_threshold or options.interval not in _THRESHOLDS_OF_RATES
            else _THRESHOLDS_OF_RATES[options.interval]
        ),
    }
    if options.interval in {"speakers", "bootstrap"}:
        definitions["zero_errors"] = (
            "without errors, or with nothing but errors: the rule of 3, of trials divided by the "
            "design effect of the other groups together, or, if these have none, with each "
            "speaker as one trial"
        )
    definitions["blocks"] = (
        "of lists that do not fit in memory with more than 5,000 speakers: some 1,000 blocks of "
        "speakers of one group each take the place of the speakers; interval says so"
    )
    definitions["columns"] = {
        "deff": "design effect: the variance in units of that of independent trials",
        "n_eff": "effective sample size: number of independent trials with the same information",
        "df": "degrees of freedom: fewer where few speakers have most of the trials or errors",
    }
    if options.pooled_floor:
        definitions["pooled_floor"] = (
            "variances of FNR are drawn up to what the speakers of at least three other groups "
            "show, by a weight of two degrees of freedom"
        )
    definitions["ratios"] = (
        "to others, pooled or a group, if no speaker is in two groups: MOVER on the log scale, "
        "from the closed-form intervals of both rates; p is the level at which 1 is a limit. "
        "Pooled is others with the group's own share of trials put back, and has their p"
        if options.interval == "speakers"
        else "from replicates, as all other bias measures"
    )
    return definitions


def _bootstrap_definitions(options: Options) -> dict[str, object]:
    """Return the methods of what is computed from replicates of the bootstrap over speakers."""
    bins = (
        "exact"
        if not options.bins
        else (
            f"counted in about {options.bins} bins shared by all groups, dense where errors are "
            "rare; rates at given thresholds are exact, others no further off than resolution, "
            "bounds, replicates says"
        )
    )
    return {
        "bootstrap": {
            "method": (
                "vertex bootstrap: speakers are drawn with replacement; a target trial weighs as "
                "often as its speaker was drawn, a nontarget trial as the product of both. One "
                "draw serves all systems, lists, groupings and measures"
            ),
            "strata": (
                "the finest groups that speakers belong to, within the lists that they are in; "
                "strata of fewer than 5 speakers are joined"
            ),
            "replicates": options.replicates,
            "seed": options.seed,
            "thresholds": _THRESHOLDS_IN_DRAWS[options.fixed_threshold],
            "scores": bins,
            "undefined": "replicates without a value are dropped; above 5 % there is no interval",
        },
        "base_metrics": (
            "all but rates at operating points: estimate times exp(-+ t sd of the logarithm), t "
            "with one degree of freedom fewer than speakers of the class that has fewer; of 1 - "
            "auc likewise; dprime, cal_loss and score shifts without logarithms"
        ),
        "bias_measures": (
            "ratios: estimate times exp(-+ t sd of the log ratio), group and reference drawn "
            "together, t with one degree of freedom fewer than speakers of the group; p = 2 P(T > "
            "|ln ratio| / sd). Differences and neg_log_ratio without logarithms"
        ),
        "mean_bias_measures": (
            "as bias measures, of the mean over groups in each replicate; degrees of freedom by "
            "Welch and Satterthwaite, from those of the groups; families are the values of one "
            "attribute"
        ),
        "threshold_bias_cv": (
            "own thresholds found on one half of the group's speakers and used on the other, and "
            "the reverse, over 20 splits; interval as wide as that of threshold_bias"
        ),
        "trend": (
            "logistic regression on the number of the speaker, or the mean of both; variance of "
            "leaving out each speaker in turn"
        ),
        "meta_measures": (
            "as base metrics, on the logarithm of the distance from what is fair, with the "
            "speakers of all groups. Measures of spread are biased upwards, in replicates too, so "
            "the interval says how much the value varies, the floor what it means"
        ),
    }


def _floor_definitions(options: Options) -> dict[str, object]:
    """Return the methods of noise floors and of spread beyond them."""
    return {
        "noise_floors": {
            "what": (
                "the same measure of rates of a system that treats all groups alike, on these "
                "speakers and trials: mean, what 95 % of draws do not exceed, and p, the share of "
                "draws at least as unfair, the data among them. Of bias measures the distance from "
                "par, to either side"
            ),
            "fnr": (
                "speakers change groups at random (permutation) if all groups have about as many "
                "trials to a speaker, up to 2 : 1, and up to 20,000 speakers; else as fpr"
            ),
            "fpr": (
                "gamma-multinomial: each group's rate is the common one times a gamma variable, "
                "whose variance is what speakers and pairs of speakers within groups show; the "
                "errors found are dealt out anew"
            ),
            "both": "draws of both rates, independent of each other",
            "draws": options.replicates,
            "zeros": (
                "half an error in the place of none, where a measure takes logarithms; no p for "
                "such a measure as counted where a group has no errors"
            ),
            "assumes": "variation between speakers is similar in all groups",
            "refused": (
                "gamma-multinomial: fewer than 20 errors in all, or fewer than two groups of 4 "
                "speakers. Everywhere: a speaker in several groups, as nontarget trials between "
                "groups make them; metrics other than FNR and FPR, as no valid draws are known"
            ),
            "not_exceeded": "is no proof of fairness: with few speakers little can be seen",
        },
        "heterogeneity": (
            "sum of w (rate - weighted mean)^2 over groups less one, w = 1 / variance of the "
            "group's rate over draws of a fair system: about 1 for a fair system; its p is that of "
            "all groups at once"
        ),
        "interaction": (
            "of groups by several attributes: sum of w (ln rate - what the attributes add up to)^2 "
            "over degrees of freedom, w = 1 / variance of ln rate over draws of a fair system: "
            "about 1 where attributes multiply rates independently of each other; least and most: "
            "the groups furthest below and above"
        ),
        "tau_log": (
            "square root of the variance of ln rates over groups less its mean over draws of a "
            "fair system, at least 0: about the standard deviation of ln rates between groups "
            "beyond noise; half an error in the place of none; p of the uncorrected variance. "
            "Interval: every spread, along the direction in which the groups were seen to differ, "
            "at which draws of a fair system's noise have the observed variance in their middle"
        ),
        "var_corrected": (
            "variance of the rates over groups less their mean variance over speakers; may be "
            "below 0. Interval as of tau_log, with binomial draws of as many trials as the rates "
            "are worth"
        ),
        "var_double_corrected": (
            "median and, as limits, outer quantiles of the same from binomial draws of as many "
            "trials as the rates are worth, both layers of noise taken off (Lum, Zhang and Bower "
            "2022)"
        ),
    }


def _verdict_definitions(options: Options) -> dict[str, object]:
    """Return the methods of best guesses, families, minimums and verdicts."""
    minimums = options.minimums
    reference = options.reference[0]
    return {
        "best_guess": {
            "model": (
                "ln rate = common level + effect of each attribute's value + what these do not add "
                "up to + noise of speakers; the spreads of both are integrated over, half-Cauchy "
                "of scale 1; of one attribute, all groups are drawn to the common level"
            ),
            "noise": (
                "ln of a Beta variable of the effective errors, half an error added; of FNR the "
                "variance is drawn up to that of the other groups' speakers"
            ),
            "limits": f"{100 * options.confidence:g} %, by a quantile of t",
            "power": "chance of worse or better if the best guess of the ratio were the truth",
            "is": "model-based, in addition to the observed value; no verdict depends on it",
        },
        "multiplicity": {
            "p_holm": "Holm: chance of any false claim in the family",
            "p_bh": "Benjamini and Hochberg: share of false claims among those made, for screens",
            "family": (
                "the groups of one grouping, allocation, level, metric, operating point, measure, "
                "reference and zero policy; in verdicts both error types together. Two groups, "
                "each against the other, are one hypothesis"
            ),
            "all_groups": (
                "in verdicts a row of the system has p of heterogeneity (of two groups, that of "
                "their ratio), p_holm for both error types; none of either is below twice the "
                "smallest of all, as it is asked at once whether groups differ and which do"
            ),
            "confirmatory": (
                "verdicts by the primary grouping at its operating point, under the first "
                "allocation: chance of any false claim among them; all else is exploratory"
            ),
        },
        "gates": {
            "inference": f"fewer than {minimums.inference} speakers: no interval and no verdict",
            "speakers": f"fewer than {minimums.speakers} speakers: not among the gated groups",
            "errors": (
                f"fewer than {minimums.errors} effective errors (rate times n_eff): likewise, "
                "of rates"
            ),
            "pairs": f"fewer than {minimums.pairs} pairs of speakers: likewise, of all but FNR",
            "gated": "rows of meta-measures with gated true take the groups that lack nothing",
        },
        "verdicts": {
            "reference": reference,
            "margin": options.margin,
            "equivalent": (
                f"the ratio's whole interval is from 1/{options.margin:g} to {options.margin:g}, "
                f"also at {100 * EQUIVALENCE_CONFIDENCE:g} %, each group by itself"
            ),
            "worse, better": (
                f"else, if p_holm is below {1 - options.confidence:.3g}; without errors, if the "
                "upper limit is below 1"
            ),
            "because_of": (
                "of a group that is better: the one without which all together, or the mean group, "
                "have the lowest rate, if it is not better by the same rules without that one; of "
                "both errors, if the group differs in nothing else"
            ),
            "inconclusive": "else; it says that nothing is known, not that nothing is there",
            "differs": (
                "a group or system that is worse or better in anything, or all groups at once; "
                "these with the reason 'if variation between speakers is similar in all groups', "
                "unless Welch's test "
                "of ln rates shows it, too, which does not take them to"
            ),
        },
    }
