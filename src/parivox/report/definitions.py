"""Definitions of every id and method in an audit, in words, as its report shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing import THINNING, Options
from parivox.core.measures import RATE_OF_CLASS, RATES, base_metrics, bias_measures, meta_measures
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing import Audit

FAILURE_RULES = {
    "attempts": "each trial of a failed recording counts as one attempt and as a rejection",
    "shares": (
        "rates of comparisons combined with the shares of failed recordings (ISO/IEC "
        "19795-1): FRR = FTA + (1 - FTA) FNMR, FAR = (1 - FTA) FMR; generalised rates "
        "also include FTE"
    ),
}

REFERENCES = {
    "others": "all trials of the row “pooled”, except the trials of the group",
    "pooled": "all trials that the grouping and allocation assign to a group, taken together",
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
    "none": (
        "observed rates are used; if a zero makes a measure undefined, the measure is left empty, "
        "with the reason"
    ),
    "jeffreys": "(errors + 0.5) / (trials + 1) for every group and the row “pooled”",
    "nist": (
        "a zero rate in a denominator is replaced by its one-sided 95 % Clopper-Pearson upper bound"
    ),
}

_INTERVALS = {
    "speakers": (
        "closed-form intervals over speakers. The variance of FNR is the jackknife variance, for "
        "which each speaker is left out in turn. The variance of FPR is the jackknife variance "
        "over both speakers of a trial, minus the variance of pairs (which would otherwise count "
        "twice), but at least three quarters of the jackknife variance. No variance is below that "
        "of independent trials. The limits are the rates from which the observed rate is t "
        "standard errors away; the standard error is that at the limit, and grows as [rate (1 - "
        "rate)]^0.75. With fewer than 5 errors, the lower limit is at most the lower "
        "Clopper-Pearson limit. With fewer than 5 correct decisions, the upper limit is at least "
        "the upper Clopper-Pearson limit"
    ),
    "bootstrap": (
        "Wilson's interval with the effective sample size from the variance over "
        "replicates, Student's t and S - 1 degrees of freedom for S speakers"
    ),
    "wilson": (
        "Wilson's interval, which treats trials as independent and is far too short if trials are "
        "dependent"
    ),
    "clopper-pearson": (
        "Clopper and Pearson's interval, which treats trials as independent and is far too "
        "short if trials are dependent"
    ),
    "jeffreys": (
        "Jeffreys' interval, which treats trials as independent and is far too short if trials are "
        "dependent"
    ),
}

_THRESHOLDS_OF_RATES = {
    "speakers": (
        "the threshold is treated as fixed, with one exception. If the threshold was set on the "
        "audited trials, limits and standard errors of the rows “all” and “pooled” use the "
        "variance of the rate over replicates in which the threshold is set again (see the column "
        "note). The threshold is treated as fixed for the rate that defines the operating point "
        "and, without replicates, for all rates"
    ),
    "bootstrap": (
        "the threshold of each replicate, if the threshold was set on the audited trials"
    ),
}

_THRESHOLDS_IN_DRAWS = {
    True: "treated as fixed in every replicate",
    False: (
        "set again in every replicate if they were set on the audited trials, "
        "otherwise treated as fixed"
    ),
}


_SPEAKER_BLOCKS = (
    "blocks of speakers of one group each are left out in turn. The variance of FPR is at least "
    "three quarters of this jackknife variance up to 10 degrees of freedom; with more degrees of "
    "freedom, the share falls to one half"
)


_SPOOF_TRIALS = (
    "they count for the group of the claimed speaker under every allocation, never as nontarget "
    "trials; intervals of SFAR are computed like those of FNR, over claimed speakers, for these "
    "attacks; in verdicts all three error types together are one family, and rows of fpr+fnr "
    "cover all three; measures of both rates leave SFAR out"
)
LIMIT_MEASURES = {
    "limit": (
        "the rate and its limit: met if the whole interval is at or below the limit, not_met "
        "if the whole interval is above the limit"
    ),
    "ratio_limit": (
        "the ratio to the first reference and its limit: met and not_met are defined as for "
        "limits of a rate"
    ),
    "speakers_above": (
        "share of speakers whose own FNR exceeds the limit, corrected for noise due to few trials "
        "per speaker"
    ),
    "worst_tenth": "share of all errors that comes from the 10 % of speakers with the most errors",
    "worst_tenth_if_equal": (
        "value expected for worst_tenth if all speakers of the group had the same rate"
    ),
    "locked_out": (
        "share of speakers rejected in all attempts, if all speakers have the same rate and "
        "attempts are independent"
    ),
    "locked_out_people": (
        "share of speakers rejected in all attempts, if rates vary between people as they do "
        "between these speakers, and the attempts of one person are independent"
    ),
    "impostors_in": (
        "share of impostors accepted in at least one of the attempts, if attempts are independent"
    ),
    "attempts_until": (
        "number of attempts after which an impostor has succeeded with probability 0.95, if "
        "attempts are independent"
    ),
}
"""The measures of the table of limits, by id; shares in [0, 1]."""
COMPARISON_MEASURES = {
    "value": "the base metric itself",
    "spread": (
        "variance of the log metric between groups, beyond sampling noise, for groups that meet "
        "the minimums in both systems or lists. Unlike the square of tau_log, the spread is not "
        "cut off at 0, so it can be below 0"
    ),
    "p_more_accurate": (
        "share of replicates in which the pooled value is smaller than in the other system"
    ),
    "p_less_spread": "share of replicates in which the spread is smaller than in the other system",
    "p_both": (
        "share of replicates in which both the pooled value and the spread are smaller than in "
        "the other system"
    ),
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
        Options(**options),
        record["cost_models"],
        in_blocks=record["speaker_blocks"],
        rates=record.get("error_types", RATES),
    )


def all_definitions(
    options: Options,
    cost_models: Mapping[str, Any],
    *,
    in_blocks: bool = False,
    rates: Sequence[str] = RATES,
) -> dict[str, object]:
    """Return definitions of all that an audit with these options shows, of speakers or blocks.

    `rates` are its error rates: with spoof trials, three.
    """
    spoof_definition: dict[str, object] = {}
    if len(rates) > len(RATES):
        spoof_definition["spoof_trials"] = _SPOOF_TRIALS
    llr_definition: dict[str, object] = {}
    if options.llr_base is not None:
        llr_definition["log_likelihood_ratios"] = (
            f"scores are logarithms to base {options.llr_base} of likelihood ratios: for Cllr they "
            f"are multiplied by ln {options.llr_base}; thresholds are in the units of the scores"
        )
    return {
        "decision": "a trial is accepted if and only if its score is at or above the threshold",
        **llr_definition,
        **spoof_definition,
        "rows": {
            "pooled": REFERENCES["pooled"],
            "all": (
                "every scored trial of the system and list; operating points are set on these "
                "trials"
            ),
            "within": (
                "only trials with both sides in one stratum, at the same thresholds; the rows "
                "“pooled” and “all” then refer to this stratum"
            ),
        },
        "counts": (
            "audits of score counts lack all results that need single trials; suppressed "
            "groups with few speakers are included only in the row “all”"
        ),
        "failure_rules": FAILURE_RULES,
        "base_metrics": {
            name: measure.definition
            for name, measure in base_metrics().items()
            if RATE_OF_CLASS.get(measure.trial_class, RATES[0]) in rates
        },
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
            "the operating point at which the decisions were made, read from a decision column or "
            "from a threshold column. If the trials of a group have several thresholds, its row "
            "shows no threshold"
        ),
        "score_quantiles": (
            "the smallest score such that at least the given share of the trials is at or "
            "below this score"
        ),
        "det_thinning": (
            f"points of det.parquet are exact; no omitted point is further than {THINNING} "
            "probits from a kept point"
        ),
        "uncertainty": uncertainty_definitions(options, in_blocks=in_blocks),
        "left_out": "SFI, CFI, DFI (exact formulas not available)",
    }


def uncertainty_definitions(options: Options, *, in_blocks: bool = False) -> dict[str, object]:
    """Return the methods behind everything that states uncertainty, with the values in force.

    They are texts by topic; empty without intervals.
    """
    if not options.intervals:
        return {}
    definitions: dict[str, object] = {
        "sample": (
            "speakers, with all of their trials, are the sampling unit; in nontarget trials, both "
            "speakers count. The recordings of a speaker are not resampled"
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
            "mean of a group's rates with equal weight per stratum, over strata in which "
            "every group has trials of several speakers; intervals as for rates, from the "
            "weighted errors of each speaker"
        )
    if options.compare:
        definitions["comparison"] = {
            "method": (
                "differences and log ratios within each replicate: speakers that both systems or "
                "lists share are resampled together, other speakers separately (column "
                "speakers). Intervals use Student's t with one degree of freedom fewer than the "
                "smaller number of speakers; intervals of meta-measures are widened by the noise "
                "of both values, and meta-measures have no p"
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
            "the threshold is treated as fixed, although it may have been set on the audited trials"
            if options.fixed_threshold or options.interval not in _THRESHOLDS_OF_RATES
            else _THRESHOLDS_OF_RATES[options.interval]
        ),
    }
    if options.interval in {"speakers", "bootstrap"}:
        definitions["zero_errors"] = (
            "if a group has no errors, or only errors, its interval follows the rule of three. The "
            "number of trials is first divided by the design effect of all other groups combined. "
            "If these groups have no design effect, each speaker counts as one trial"
        )
    definitions["blocks"] = (
        "if a list does not fit in memory and has more than 5,000 speakers, the sampling units are "
        "not single speakers but about 1,200 blocks; each block contains speakers of one group "
        "(see the column interval)"
    )
    definitions["columns"] = {
        "deff": "design effect: the variance relative to that of independent trials",
        "n_eff": "effective sample size: number of independent trials with the same information",
        "df": "degrees of freedom, fewer if few speakers have most of the trials or errors",
    }
    if options.pooled_floor:
        definitions["pooled_floor"] = (
            "variances of FNR are raised towards that of the speakers of at least three "
            "other groups, with a weight of two degrees of freedom"
        )
    definitions["ratios"] = (
        "if no speaker is in two groups, ratios to “others”, to “pooled” or to a group use the "
        "MOVER method on the log scale, with the closed-form intervals of both rates; p is the "
        "significance level at which a limit equals 1. The reference “pooled” consists of the "
        "other groups and the group itself, so the ratios to “pooled” and to “others” have the "
        "same p"
        if options.interval == "speakers"
        else "from replicates, like all other bias measures"
    )
    return definitions


def _bootstrap_definitions(options: Options) -> dict[str, object]:
    """Return the methods of what is computed from replicates of the bootstrap over speakers."""
    bins = (
        "exact"
        if not options.bins
        else (
            f"counted in about {options.bins} bins that all groups share and that contain few "
            "trials where errors are rare; rates at given thresholds are exact; the error bound of "
            "other rates is recorded under resolution, bounds, replicates"
        )
    )
    return {
        "bootstrap": {
            "method": (
                "vertex bootstrap: speakers are resampled with replacement; a target trial is "
                "weighted by the number of times that its speaker was drawn, a nontarget trial by "
                "the product of these numbers for both speakers. All systems, lists, groupings and "
                "measures use the same replicates"
            ),
            "strata": (
                "the finest groups of speakers within each list; strata of fewer than 5 "
                "speakers are joined"
            ),
            "replicates": options.replicates,
            "seed": options.seed,
            "thresholds": _THRESHOLDS_IN_DRAWS[options.fixed_threshold],
            "scores": bins,
            "undefined": (
                "replicates without a value are dropped; if more than 5 % are dropped, there is no "
                "interval"
            ),
        },
        "base_metrics": (
            "for all base metrics except rates at operating points, the limits are estimate × "
            "exp(± t × SD of the logarithm), with S - 1 degrees of freedom, where S is the number "
            "of speakers of the class with fewer speakers. The limits of auc are computed from "
            "the limits of 1 - auc. For dprime, cal_loss and score shifts, the limits are estimate "
            "± t × SD"
        ),
        "bias_measures": (
            "for ratios, the limits are estimate × exp(± t × SD of the log ratio), with group and "
            "reference resampled together and S - 1 degrees of freedom for the S speakers of the "
            "group; p = 2 P(T > |ln ratio| / SD). For differences and neg_log_ratio, the limits "
            "are estimate ± t × SD"
        ),
        "mean_bias_measures": (
            "like bias measures, but for the mean over groups in each replicate; the degrees of "
            "freedom are combined from those of the groups (Welch and Satterthwaite); the values "
            "of one attribute form a family"
        ),
        "threshold_bias_cv": (
            "thresholds are set on one half of the group's speakers and used on the other half, "
            "and vice versa, in 20 splits; the interval is as wide as that of threshold_bias"
        ),
        "trend": (
            "logistic regression on the numeric attribute of the speaker (such as age) or, for "
            "nontarget trials, on the mean of the attribute over both speakers; the variance is "
            "the jackknife variance, for which each speaker is left out in turn"
        ),
        "meta_measures": (
            "like base metrics, but on the logarithm of the distance from the value for equal "
            "rates; S is the number of speakers in all groups. Measures of spread are biased "
            "upwards, including in the replicates: the interval shows how much the value varies, "
            "whereas the noise floor shows what chance contributes"
        ),
    }


def _floor_definitions(options: Options) -> dict[str, object]:
    """Return the methods of noise floors and of spread beyond them."""
    return {
        "noise_floors": {
            "what": (
                "the same measure, simulated for these speakers and trials with equal error rates "
                "in all groups: its mean; the value that 95 % of draws do not exceed (for measures "
                "where higher is fairer: do not fall below); and p, the share of draws at least as "
                "unfair as the data (the data count as one draw). For bias measures, all three "
                "refer to the distance from equal rates, in either direction"
            ),
            "fnr": (
                "speakers are exchanged between groups at random (permutation) if all groups have "
                "similar numbers of trials per speaker (at most 2 : 1) and there are at most "
                "20,000 speakers; otherwise, the method is that of fpr"
            ),
            "fpr": (
                "gamma-multinomial: each group's rate is the common rate times a gamma "
                "variable, whose variance reflects the variation between speakers and pairs of "
                "speakers within groups; a multinomial draw then allocates the observed errors to "
                "the groups"
            ),
            "both": "both rates are drawn, independently of each other",
            "draws": options.replicates,
            "zeros": (
                "in measures with logarithms, a group without errors is given half an error; "
                "without a zero policy, such a measure has no p if a group has no errors"
            ),
            "assumes": "variation between speakers is similar in all groups",
            "refused": (
                "there is no noise floor if speakers are in several groups (for example, because "
                "of nontarget trials between groups) or for metrics other than FNR and FPR, "
                "because no valid draws are known. The gamma-multinomial method also requires at "
                "least 20 errors in all, and at least two groups with at least 4 speakers"
            ),
            "not_exceeded": (
                "a value within the floor does not show fairness: with few speakers, large "
                "differences can stay within the floor"
            ),
        },
        "heterogeneity": (
            "sum over groups of w (rate - weighted mean)^2, divided by the number of groups minus "
            "one, with the weight w = 1 / variance of the group's rate over draws with equal "
            "rates. Under equal rates, the value is about 1; its p is that of the test of all "
            "groups together"
        ),
        "interaction": (
            "for groups defined by several attributes: sum of w (ln rate - sum of the "
            "attributes' effects)^2, divided by the degrees of freedom. The weight w is 1 / "
            "variance of ln rate over draws with equal rates. The value is about 1 if effects are "
            "additive. The columns “lowest” and “highest” name the groups furthest below and above "
            "the sum of the effects"
        ),
        "tau_log": (
            "square root of a difference: the variance of ln rates over groups, minus the mean of "
            "this variance over draws with equal rates; 0 if the difference is below 0. tau_log is "
            "about the between-group standard deviation of ln rates beyond noise. A group without "
            "errors is given half an error. The p-value is computed with the uncorrected variance. "
            "The interval contains every spread for which the observed variance lies in the "
            f"central {100 * options.confidence:g} % of the simulated variances. For each "
            "simulated variance, the observed differences are scaled to the spread, and noise is "
            "added"
        ),
        "var_corrected": (
            "variance of the rates over groups minus their mean variance over speakers; the value "
            "may be below 0. The interval is computed as for tau_log, with binomial draws of the "
            "effective trials"
        ),
        "var_double_corrected": (
            "median over binomial draws of the effective trials. In each draw, the variance of the "
            "rates is corrected for two layers of noise: that of the observed rates and that of "
            "the draw. The limits are outer quantiles (Lum, Zhang and Bower 2022)"
        ),
    }


def _verdict_definitions(options: Options) -> dict[str, object]:
    """Return the methods of best guesses, families, minimums and verdicts."""
    minimums = options.minimums
    reference = options.reference[0]
    return {
        "best_guess": {
            "model": (
                "ln rate = common level + effect of each attribute's value + deviation from "
                "additivity + noise of speakers; the spreads of effects and deviations are "
                "integrated out, with half-Cauchy priors of scale 1; for one attribute, all groups "
                "are moved towards the common level"
            ),
            "noise": (
                "the log rate has the mean and variance of ln X, where X has a Beta distribution. "
                "Its parameters are the numbers of effective errors and of effective correct "
                "decisions, each plus one half. The variance of FNR is raised towards that of the "
                "other groups' speakers"
            ),
            "limits": f"{100 * options.confidence:g} % limits, from Student's t distribution",
            "power": (
                "probability of worse or better if the shrinkage estimate of the ratio were true"
            ),
            "is": (
                "the estimate is model-based and shown in addition to the observed value; no "
                "verdict depends on the estimate"
            ),
        },
        "multiplicity": {
            "p_holm": (
                "Holm's adjustment, which controls the probability of any false claim in the family"
            ),
            "p_bh": (
                "Benjamini and Hochberg's adjustment, for screening, which controls the expected "
                "share of false claims"
            ),
            "family": (
                "the groups of one grouping, allocation, stratum, metric, operating point, "
                "measure, reference and zero policy; in verdicts, both error types together. "
                "Two groups, each compared with the other, are one hypothesis"
            ),
            "all_groups": (
                "in verdicts, the row of the system has the p of the heterogeneity test (with two "
                "groups, the p of their ratio) and p_holm for both error types. Each adjusted p is "
                "at least twice the smallest p, because two questions are tested: whether groups "
                "differ, and which groups differ"
            ),
            "confirmatory": (
                "verdicts for the primary grouping at the primary operating point, under the first "
                "allocation. Holm's method limits the probability of any false claim among these "
                "verdicts; all other verdicts are exploratory"
            ),
        },
        "gates": {
            "inference": f"fewer than {minimums.inference} speakers: no interval and no verdict",
            "speakers": f"fewer than {minimums.speakers} speakers: the group is below the minimums",
            "errors": (
                f"fewer than {minimums.errors} effective errors (rate times n_eff): the group is "
                "below the minimums for this rate"
            ),
            "pairs": (
                f"fewer than {minimums.pairs} pairs of speakers: the group is below the minimums "
                "for FPR"
            ),
            "gated": (
                "rows of meta-measures in which gated is true use only the groups that meet the "
                "minimums"
            ),
        },
        "verdicts": {
            "reference": reference,
            "margin": options.margin,
            "equivalent": (
                f"the whole interval of the ratio lies within 1/{options.margin:g} to "
                f"{options.margin:g}, also at {100 * EQUIVALENCE_CONFIDENCE:g} % confidence; each "
                "group is judged by itself"
            ),
            "worse, better": (
                "the group is not equivalent, and p_holm is below "
                f"{1 - options.confidence:.3g}; a group without errors is better only if, in "
                "addition, the upper limit is below 1"
            ),
            "because_of": (
                "a better group is compared again with the other groups, except the worst of them. "
                "If the group is not better in this comparison, the worst group is named. The "
                "worst group is the group without which the remaining groups together have the "
                "lowest rate. In rows for both error types, no group is named if the better group "
                "also has a verdict of worse or better that does not depend on the worst group"
            ),
            "inconclusive": (
                "otherwise: the data do not show whether the group is worse, better or equivalent"
            ),
            "differs": (
                "a group or system with a verdict of worse or better, or a system with a "
                "significant heterogeneity test. The result of the heterogeneity test is stated "
                "with the condition 'assuming that variation between speakers is similar in all "
                "groups' unless Welch's test of ln rates, which needs no such condition, is also "
                "significant"
            ),
        },
    }
