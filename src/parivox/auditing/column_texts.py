"""What the columns of an audit's tables hold, in one sentence each.

``Table.describe`` shows them. Columns that mean the same in every table are described once; the
page docs/output.md says more.
"""

from __future__ import annotations

from parivox.auditing.schema import TABLES

_SHARED_TEXTS = {
    "alpha": "weight of the FPR in measures that combine both error types",
    "allocation": "rule that assigns nontarget trials to groups: both, enrol, test or either",
    "best_guess": "estimate that is moved towards those of the other groups; modelled",
    "best_guess_high": "upper limit of best_guess",
    "best_guess_low": "lower limit of best_guess",
    "definition": "cost model, EER rule and the like; empty where there is only one",
    "enrol_group": "group of the enrolment speaker",
    "errors": "number of errors",
    "floor_95": "noise floor: the value that 95 % of draws with equal error rates do not exceed",
    "floor_mean": "noise floor: the mean value of draws with equal error rates",
    "fnr": "false negative rate, a fraction",
    "fpr": "false positive rate, a fraction",
    "group": "values of the grouping, joined by +; pooled: all groups; all: all trials",
    "grouping": "attributes, joined by +; all: no grouping",
    "groups": "number of groups",
    "high": "upper limit of the interval",
    "high_group": "group with the highest value",
    "higher_is_fairer": "direction of the measure",
    "limit": "limit that was given, a rate or a ratio",
    "list": "name of the trial list; empty if there is only one",
    "low": "lower limit of the interval",
    "low_group": "group with the lowest value",
    "measure": "measure of the comparison",
    "metric": "metric: fpr, fnr, eer and others; fpr+fnr: both error types",
    "note": "codes: what a reader of the interval must know, or why there is none",
    "operating_point": "rule that sets the threshold, as it was given",
    "p": "p value of no difference",
    "p_bh": "p value, adjusted for the number of groups by Benjamini and Hochberg",
    "p_holm": "p value, adjusted for the number of groups by Holm",
    "reason": "code: why a value is missing or set by convention",
    "reference": "what the group is compared with: others, pooled, macro, geomean, best, a group",
    "se": "standard error",
    "speakers": "number of speakers",
    "system": "name of the system",
    "test_group": "group of the test speaker",
    "threshold": "score from which on a trial is accepted",
    "trials": "number of trials",
    "value": "value; rates are fractions",
    "values": "numbers and names of the codes in reason, note and gates, as JSON",
    "verdict": "verdict: worse, better, equivalent, inconclusive; of limits met or not_met",
    "within": "stratum, as in channel=app; empty for all trials",
    "zero": "treatment of rates without errors: none, jeffreys or nist",
}
_TABLE_TEXTS = {
    "groups": {
        "deff": "design effect: variance of the rate, divided by that of independent trials",
        "df": "degrees of freedom of the variance",
        "interval": "method of the interval",
        "n_eff": "effective sample size: trials divided by the design effect",
        "nontarget_trials": "number of nontarget trials",
        "target_trials": "number of target trials",
    },
    "meta": {
        "gated": "whether only groups that reach the sample-size minimums are counted",
        "left_out": "groups that are left out for their sample size, as a JSON list",
    },
    "verdicts": {
        "because_of": "worst other group, without which the group is not shown to be better",
        "confirmatory": "whether the verdict belongs to the primary grouping and operating point",
        "gates": "codes of the sample-size minimums that the group does not reach",
        "margin": "equivalence margin: largest ratio that counts as no difference",
        "power": "probability that such a verdict is reached if best_guess is the true ratio",
        "ratio": "error rate of the group, divided by that of the reference",
        "sentence": "verdict in words",
    },
    "comparison": {
        "difference": "value minus other",
        "log_high": "upper limit of log_ratio",
        "log_low": "lower limit of log_ratio",
        "log_ratio": "natural logarithm of value divided by other",
        "other": "value of the other system",
        "other_list": "trial list of the other system",
        "other_system": "name of the other system",
        "speakers": "trials and speakers that both have in common",
    },
    "operating_points": {
        "cdet_norm": "normalised detection cost of all trials",
        "source": "scores on which the threshold was set",
    },
    "data": {
        "count": "number of rows, trials, recordings or speakers",
        "item": "codes of what was read, excluded or noticed",
        "source": "file or step",
    },
    "failures": {
        "cause": "reason of the failure; empty if none is given",
        "failed": "number of recordings that failed",
        "stage": "enrol or acquire",
        "tried": "number of recordings",
    },
    "bins": {
        "nontarget": "nontarget trials from this threshold up to the next one",
        "target": "target trials from this threshold up to the next one",
    },
    "spoof_bins": {
        "spoof": "spoof trials from this threshold up to the next one",
    },
    "bands": {
        "fnr_high": "upper limit of the FNR",
        "fnr_low": "lower limit of the FNR",
        "fnr_ratio_high": "upper limit of the ratio of the FNR to that of all other groups",
        "fnr_ratio_low": "lower limit of the ratio of the FNR to that of all other groups",
        "fpr_high": "upper limit of the FPR",
        "fpr_low": "lower limit of the FPR",
        "fpr_ratio_high": "upper limit of the ratio of the FPR to that of all other groups",
        "fpr_ratio_low": "lower limit of the ratio of the FPR to that of all other groups",
    },
    "searches": {
        "errors": "searches, candidates or persons counted",
        "measure": "what is measured of searches",
        "other_group": "group of the enrolled persons",
        "person": "enrolled person; empty where ids are not told",
        "persons": "number of enrolled persons",
        "rank": "rank, or the place of a person who is not named",
        "trials": "searches, pairs or persons of which errors is a share",
    },
    "offenders": {
        "share": "share of the group's errors",
        "speaker": "id of the speaker",
    },
    "attacks": {
        "attack": "attack of the spoof trials; empty for all attacks",
        "errors": "spoof trials accepted",
        "high": "upper limit of the ratio for other attacks",
        "low": "lower limit of the ratio for other attacks",
        "note": "code: why there are no limits of the ratio for other attacks",
        "ratio": "SFAR of the group, divided by that of the reference",
        "ratio_without": "ratio of all attacks but this one",
        "reference_value": "SFAR of the reference",
        "share": "share of the group's spoof trials",
        "speakers": "number of claimed speakers",
        "standardised": "SFAR with equal weight for each attack that all groups have",
        "standardised_ratio": "ratio of the SFARs with equal weight for each attack",
        "trials": "spoof trials",
        "value": "spoof false accept rate (SFAR), a fraction",
    },
    "pairing": {
        "draws": "rate in each replicate, encoded",
        "fit": "correlation of the draws with the replicates, in [-1, 1]",
        "list_sha256": "hash of the ids and labels of the list",
        "log_se": "standard error of the logarithm of the rate",
        "members": "keyed hash of the speakers of the group",
    },
}


def column_texts(table: str) -> dict[str, str]:
    """Return the description of each column of a table of an audit."""
    own_texts = _TABLE_TEXTS.get(table, {})
    return {
        column: own_texts.get(column) or _SHARED_TEXTS.get(column, "") for column in TABLES[table]
    }
