"""Sentences of the catalogue on what an audit has found, as its summary and tables say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.report.sentence_template import SentenceTemplate

if TYPE_CHECKING:
    from collections.abc import Mapping


def _other_groups_inconclusive(values: Mapping[str, Any]) -> str:
    n_groups = values["groups"]
    others = "group is" if n_groups == 1 else f"{n_groups} groups are"
    return f"the other {others} inconclusive"


SUMMARY_SENTENCES: dict[str, SentenceTemplate] = {
    # audit_queries
    "confirmatory_on_conditions": SentenceTemplate(
        "confirmatory if the conditions under Confidence hold"
    ),
    "measures_without_spoof_accepts": SentenceTemplate(
        "These measures do not include spoof accepts"
    ),
    "interval_may_be_too_narrow": SentenceTemplate(
        "the interval may be too narrow, as there are few speakers or large differences between "
        "speakers"
    ),
    "not_under_represented": SentenceTemplate("groups that are not under-represented"),
    "interval_includes_threshold": SentenceTemplate(
        "the interval also accounts for setting the threshold on these trials; intervals of groups "
        "do not"
    ),
    "not_under_represented_in_any": SentenceTemplate(
        "groups that are not under-represented in any system"
    ),
    # caveats
    "of_trials_of_known_speakers": SentenceTemplate(
        "only trials whose speakers are known are counted"
    ),
    "scores_of_shared_recordings_dependent": SentenceTemplate(
        "scores of trials that share a recording are dependent"
    ),
    "groups_weighed_unequally": SentenceTemplate(
        "thresholds, costs and calibration over all trials weigh the groups unequally"
    ),
    # charts groups
    "speakers_and_trials": SentenceTemplate("Speakers and trials by group"),
    # charts measures
    "horizontal_pooled_rate": SentenceTemplate("Horizontal: pooled error rate"),
    # criteria
    "paper_criteria": SentenceTemplate(
        "FFMC.1 has no verdict: the paper names no limit. FFMC.2 is of definitions, FFMC.3 of "
        "these trials. In brackets: noise floor (95 %); p for each measure by itself"
    ),
    "criterion_without_floors": SentenceTemplate(
        "FFMC.4 more than chance: unknown, as the audit has no noise floors"
    ),
    # disagreements
    "fdr_depends_on_larger_rate": SentenceTemplate(
        "FDR depends on the largest difference between groups in each error rate, so the larger "
        "of FNR and FPR dominates the measure"
    ),
    "ir_depends_on_small_rate": SentenceTemplate(
        "IR depends on the largest ratio between groups in each error rate, so one group with a "
        "small rate dominates the measure"
    ),
    "garbe_depends_on_spread": SentenceTemplate(
        "GARBE depends on the spread of rates over all groups, relative to the mean rate"
    ),
    "groups_of_disagreements": SentenceTemplate(
        "The comparison below covers only groups with {condition}: {groups}",
        {"groups": "f, m", "condition": "both error rates"},
    ),
    "groups_with_both_rates": SentenceTemplate("both error rates"),
    "groups_with_enough_data": SentenceTemplate(
        "enough data (not under-represented) for FNR and FPR{in_systems}",
        {"in_systems": " in all systems"},
    ),
    "error_types_rank_oppositely": SentenceTemplate(
        "The two error types rank the groups in largely opposite order: {groups} (Kendall's tau "
        "{tau:.2f} over {n_groups} groups; -1 means the opposite order, 1 the same order)",
        {
            "groups": "f has the highest false reject rate, m the highest false accept rate",
            "tau": -0.9,
            "n_groups": 4,
        },
    ),
    "scores_of_groups_shifted": SentenceTemplate(
        "A common threshold has this effect if the scores of groups are shifted: groups with lower "
        "scores have more false rejects and fewer false accepts. A single number for both error "
        "types hides this effect"
    ),
    "error_types_affect_different_groups": SentenceTemplate(
        "The two error types affect different groups: {groups}. A single number for both error "
        "types hides this difference",
        {"groups": "f has the highest false reject rate, m has the highest false accept rate"},
    ),
    "may_be_due_to_chance": SentenceTemplate(
        "{group} (which may be due to chance)", {"group": "f has the highest false reject rate"}
    ),
    "differences_and_ratios_disagree": SentenceTemplate(
        "Differences and ratios disagree: in percentage points, {metric_of_differences} "
        "varies more ({differences}); in ratios, {metric_of_ratios} varies more ({ratios})",
        {
            "metric_of_differences": "FNR",
            "differences": "2.0 % to 5.0 %",
            "metric_of_ratios": "FPR",
            "ratios": "0.5 % to 2.0 %",
        },
    ),
    "measures_of_differences": SentenceTemplate(
        "Small rates have small differences, but can have large ratios. Measures based on "
        "differences (FDR) are therefore dominated by the larger of FNR and FPR, whereas measures "
        "based on ratios (IR, GARBE) depend equally on both"
    ),
    "base_metrics_disagree": SentenceTemplate(
        "Base metrics disagree: {highest_eer}, at its group-specific threshold; at the common "
        "threshold {highest_rates}",
        {
            "highest_eer": "f has the highest EER (2.10 %)",
            "highest_rates": "m has the highest FNR",
        },
    ),
    "eer_and_common_threshold": SentenceTemplate(
        "EER measures how well the scores of a group separate target from nontarget trials; the "
        "rates show the effect of the common threshold"
    ),
    "highest_eer": SentenceTemplate(
        "{group} has the highest EER ({eer})", {"group": "f", "eer": "2.10 %"}
    ),
    "highest_eer_perhaps_by_chance": SentenceTemplate(
        "{group} has the highest EER ({eer}, which may be due to chance)",
        {"group": "f", "eer": "2.10 %"},
    ),
    "p_values_close_to_limit": SentenceTemplate(
        "The p-values lie close to 0.05 on either side and are similar evidence"
    ),
    "joint_measures_disagree": SentenceTemplate(
        "Joint measures disagree on whether the differences exceed chance ({p_values}). One "
        "reason: {reasons}.{closeness}",
        {
            "p_values": "FDR p = 0.04, IR p = 0.06",
            "reasons": "FDR depends on the largest difference",
            "closeness": " The p-values lie close to 0.05 on either side",
        },
    ),
    "effect_of_small_groups": SentenceTemplate(
        "{measure} has {p_of_all} for all {n_groups} groups, but {p_of_large} for the "
        "{n_large_groups} groups that meet the minimums{group_names}",
        {
            "measure": "FDR",
            "p_of_all": "p = 0.01",
            "n_groups": 8,
            "p_of_large": "p = 0.2",
            "n_large_groups": 5,
            "group_names": "",
        },
    ),
    "small_groups_change_conclusion": SentenceTemplate(
        "Small groups change the conclusion: {measures}. The error rates of small groups depend "
        "on chance, so rely on the groups that meet the minimums. The groups that meet the "
        "minimums show nothing about the small groups",
        {"measures": "FDR has p = 0.01 for all 8 groups"},
    ),
    "measures_rank_systems_differently": SentenceTemplate(
        "By {grouping}{groups}, measures rank {systems} differently: {ranks}. {explanations}. "
        "With fewer errors overall, differences become smaller, but ratios can become larger. The "
        "values are observed and not tested against chance",
        {
            "grouping": "gender",
            "groups": "",
            "systems": "V2, L",
            "ranks": "V2 by FDR; L by IR",
            "explanations": "FDR depends on the largest difference between groups in each rate",
        },
    ),
    "highest_false_reject_rate": SentenceTemplate(
        "{group} has the highest false reject rate", {"group": "f"}
    ),
    "highest_false_accept_rate": SentenceTemplate(
        "{group} has the highest false accept rate", {"group": "m"}
    ),
    # findings
    "trials_of_speakers": SentenceTemplate(
        "{target_trials:,} target and {nontarget_trials:,} nontarget trials{speakers}. {metrics}",
        {
            "target_trials": 1200,
            "nontarget_trials": 9000,
            "speakers": " of 40 speakers",
            "metrics": "EER 1.20 % (convex hull)",
        },
    ),
    "all_findings_exploratory": SentenceTemplate(
        "all findings about groups are exploratory, as the primary operating point has no "
        "threshold: confirm them on new speakers"
    ),
    "confirmatory_verdicts": SentenceTemplate(
        "the verdicts by {primary} are confirmatory only if variation between speakers is similar "
        "in all groups and this analysis was chosen before the data were seen. Parivox cannot "
        "check when the analysis was chosen. If both conditions hold and error rates are equal in "
        "all groups, up to about {errors:.3g} in 100 such audits of a system would still call one "
        "of these groups worse or better. All other findings about groups are exploratory: "
        "confirm them on new speakers",
        {"primary": "gender at fpr=0.01", "errors": 5},
    ),
    "system_comparisons_exploratory": SentenceTemplate(
        "Comparisons of systems are also exploratory and have separate p-values"
    ),
    "attributes_do_not_add_up": SentenceTemplate(
        "{metric} at {operating_point} is not the sum of the effects of the attributes of "
        "{grouping} (adjusted {p}): {highest} is furthest above the sum, {lowest} furthest below",
        {
            "metric": "FPR",
            "operating_point": "fpr=0.01",
            "grouping": "gender",
            "p": "p = 0.021",
            "highest": "f+USA",
            "lowest": "m+UK",
        },
    ),
    "shrinkage_not_used": SentenceTemplate(
        "With few data, ratios of groups found worse or better tend to be too far from 1; "
        "verdicts do not use the shrinkage estimate"
    ),
    "minimums": SentenceTemplate(
        "fewer than {speakers} speakers, {errors} effective errors or {pairs} pairs of speakers",
        {"speakers": 10, "errors": 5, "pairs": 45},
    ),
    "x_is_counted_threshold": SentenceTemplate(
        "where X is one of {thresholds}", {"thresholds": "0.5, 0.6"}
    ),
    "no_threshold_no_rates": SentenceTemplate(
        "No error rates: no operating point has a threshold ({reasons}). Set a threshold with "
        "--operating-point threshold=X{remedy}",
        {"reasons": "too many trials are rejected", "remedy": ""},
    ),
    "no_threshold_of_decisions": SentenceTemplate(
        "No error rates: no operating point has a threshold ({reasons}). Leave out "
        "--operating-point: decisions are audited as they were made",
        {"reasons": "there are no scores"},
    ),
    "grouped_by_default": SentenceTemplate(
        "No --by given: grouped by {groupings} ({chosen_by})",
        {"groupings": "gender", "chosen_by": "all attributes"},
    ),
    "no_intervals_given": SentenceTemplate("--no-intervals was given"),
    "no_contradictory_rows": SentenceTemplate("No contradictory rows were excluded"),
    "metrics_without_and_with_rows": SentenceTemplate(
        "metrics without / with these rows: {metrics}", {"metrics": "EER 1.2 % / 1.3 %"}
    ),
    "contradictory_rows_excluded": SentenceTemplate(
        "{rows:,} contradictory rows excluded{effect}", {"rows": 120, "effect": ""}
    ),
    "no_eer_interval": SentenceTemplate(
        "there is no interval, or the EER is 0, for {groups}", {"groups": "f, m"}
    ),
    "eer_of_pair": SentenceTemplate(
        "the EER of {harder} is {ratio} times that of {easier} {interval}, {p}",
        {"harder": "f", "ratio": "1.4", "easier": "m", "interval": "[1.1, 1.8]", "p": "p = 0.021"},
    ),
    "no_eer_differs": SentenceTemplate(
        "no group of {groups} is shown to differ in EER from {reference}",
        {"groups": 8, "reference": "all other groups combined"},
    ),
    "some_eers_differ": SentenceTemplate(
        lambda values: (
            f"{values['n_groups']} of {values['all_groups']} groups "
            f"{'differs' if values['n_groups'] == 1 else 'differ'} in EER from "
            f"{values['reference']}"
        ),
        {"n_groups": 2, "all_groups": 8, "reference": "all other groups combined"},
    ),
    "more_that_differ": SentenceTemplate("and {more} more that differ", {"more": 2}),
    "rate_limit": SentenceTemplate(
        "Limit of {limit:g} % on {rate}{at_point}",
        {"limit": 5, "rate": "FNR", "at_point": " at fpr=0.01"},
    ),
    "ratio_limit": SentenceTemplate(
        "Limit of {limit} on {metric}{at_point}",
        {
            "limit": "1.5 times that of all other groups combined",
            "metric": "FNR",
            "at_point": " at fpr=0.01",
        },
    ),
    "worst_tenth": SentenceTemplate(
        "At {point}, the 10 % of speakers with the most false rejects account for {share} of all "
        "false rejects; {expected_share} would be expected if all speakers had the same rate",
        {"point": "fpr=0.01", "share": "45 %", "expected_share": "22 %"},
    ),
    "trend": SentenceTemplate(
        "Odds of an error with {number}: {odds_ratios}",
        {"number": "age, per 10 years", "odds_ratios": "FNR x 1.2"},
    ),
    # full_tables
    "bt4vt_procedure": SentenceTemplate(
        "bt4vt 1.0.1 cuts each group's curve, reads rates and costs at the nearest threshold left "
        "on it, takes the larger rate where both are nearest for the EER, allocates by enrolment "
        "speaker and compares with all trials"
    ),
    "binned_scores": SentenceTemplate(
        "Scores were counted in bins: error counts at the thresholds shown are exact. EER, "
        "minimum cost, AUC and similar are within {rate:.2g} of the exact values in every group; "
        "score shifts are within {score:.2g} in units of score",
        {"rate": 0.0001, "score": 0.01},
    ),
    "no_confidence_intervals": SentenceTemplate(
        "No confidence intervals: {reason}. Every rate and ratio is an observed value: rates of "
        "groups with few speakers or errors differ by chance, often by a factor of two or more",
        {"reason": "too few speakers"},
    ),
    "same_list_checks": SentenceTemplate(
        "The list fails the same checks as the list of {system}", {"system": "L"}
    ),
    "trials_differ": SentenceTemplate(
        "The trials differ between groups ({check}): {words}",
        {"check": "G9", "words": "f has fewer trials"},
    ),
    "run_trials_check": SentenceTemplate("For details, run parivox trials check"),
    "no_verdicts_without_reference": SentenceTemplate(
        "At {point}: no verdicts, as this grouping has no group {reference}",
        {"point": "fpr=0.01", "reference": "m"},
    ),
    "table_legend": SentenceTemplate(
        "FNR (false rejects): % of target trials rejected. FPR (false accepts): % of nontarget "
        "trials accepted. {spoof}In brackets: {confidence:g} % confidence interval, "
        "{intervals}{threshold}{signs}. Ratio: relative to {reference}. p: adjusted (Holm) for all "
        "groups and {error_types}. Inconclusive: the data do not show whether the group is worse, "
        "better or equivalent. Equivalent: with {equivalence_confidence:g} % confidence, the ratio "
        "is between 1/{margin:g} and {margin:g}. {conditional}An asterisk (*) marks groups with "
        "{minimums}; spreads are computed over groups {groups}. Floor: the "
        "mean over simulated audits of these speakers with equal rates in all groups, and the "
        "value that 95 % of these audits do not exceed (or, where higher is fairer, do not fall "
        "below). p of a spread: the share of these audits with a value at least as unfair as the "
        "observed value. H (heterogeneity) tests whether groups differ at all; tau_log is the "
        "between-group SD of log rates, corrected for sampling noise. A value within the floor "
        "does not show fairness: with few speakers, large differences can go unnoticed. Floors "
        "assume that variation between speakers is similar in all groups",
        {
            "spoof": "",
            "confidence": 95.0,
            "intervals": "over speakers",
            "threshold": "",
            "signs": "",
            "reference": "all other groups combined",
            "error_types": "both error types",
            "margin": 1.25,
            "equivalence_confidence": 98.0,
            "conditional": "",
            "minimums": "fewer than 10 speakers",
            "groups": "without *",
        },
    ),
    "spoof_legend": SentenceTemplate(
        "SFAR (spoof accepts): % of spoof trials accepted, for the attacks of this list. Measures "
        "that join FNR and FPR, such as FDR, IR and GARBE, do not include spoof accepts"
    ),
    "better_not_without": SentenceTemplate(
        "Better, not without X: better, but not confirmed when group X is left out"
    ),
    "observed_rate_legend": SentenceTemplate(
        "Every group at {point}, {threshold}. FNR: target trials rejected (false rejects); FPR: "
        "nontarget trials accepted (false accepts); ratio: to all groups pooled",
        {"point": "fpr=0.01", "threshold": "threshold 0.5"},
    ),
    "alpha_measure_value": SentenceTemplate(
        "{measure} (alpha {alpha:g}) {value} ({fairer} is fairer)",
        {"measure": "FDR", "alpha": 0.5, "value": 0.98, "fairer": "higher"},
    ),
    "observed_spread": SentenceTemplate(
        "Spread over groups: {measures}", {"measures": "FDR (alpha 0.5) 0.98 (higher is fairer)"}
    ),
    "better_in_replicates": SentenceTemplate(
        "{metric}: share of replicates in which each system has {shares}",
        {"metric": "FPR", "shares": "fewer errors (V2 80 %, L 20 %)"},
    ),
    "differing_values": SentenceTemplate(
        "{values} differ from the exact values; largest differences:", {"values": 3}
    ),
    # html layout
    "equal_error_rates": SentenceTemplate("where both error rates of all trials are equal"),
    "least_cost_of_likelihood_ratios": SentenceTemplate(
        "where scores, read as likelihood ratios, cost least"
    ),
    "decisions_were_made": SentenceTemplate("as the decisions were made"),
    "nontarget_accepted": SentenceTemplate("nontarget trials are accepted"),
    "target_rejected": SentenceTemplate("target trials are rejected"),
    # identification
    "results_hold_for_gallery": SentenceTemplate(
        "All results hold for {galleries} only", {"galleries": "this gallery"}
    ),
    "mated_searches_without_person": SentenceTemplate(
        "of mated searches do not return their person{rank}", {"rank": " at rank 1"}
    ),
    "deployed_decisions": SentenceTemplate("decisions as they were made (deployed)"),
    # notebook
    "ratio_and_allocation": SentenceTemplate(
        "{ratio}. False accepts: {allocation}",
        {
            "ratio": "Ratio to all other groups combined",
            "allocation": "a nontarget trial counts for a group if both speakers belong to it",
        },
    ),
    "more_groups_below": SentenceTemplate(
        "The tables below contain {groups} more groups", {"groups": "12"}
    ),
    # overview
    "fewer_false_rejects": SentenceTemplate("falsely rejects fewer target trials"),
    "fewest_false_rejects": SentenceTemplate("falsely rejects the fewest target trials"),
    "fewer_false_accepts": SentenceTemplate("falsely accepts fewer nontarget trials"),
    "fewest_false_accepts": SentenceTemplate("falsely accepts the fewest nontarget trials"),
    "fewer_spoof_accepts": SentenceTemplate("accepts fewer spoof trials"),
    "fewest_spoof_accepts": SentenceTemplate("accepts the fewest spoof trials"),
    "fewer_missed_identifications": SentenceTemplate("misses fewer mated searches"),
    "fewest_missed_identifications": SentenceTemplate("misses the fewest mated searches"),
    "fewer_false_identifications": SentenceTemplate("returns someone in fewer non-mated searches"),
    "fewest_false_identifications": SentenceTemplate(
        "returns someone in the fewest non-mated searches"
    ),
    "inconclusive_share_and_reasons": SentenceTemplate(
        "{share}. Inconclusive does not mean equivalent. Reasons (number of comparisons): "
        "{reasons}",
        {"share": "3 of 8 comparisons", "reasons": "too few speakers (3)"},
    ),
    "better_but_not_confirmed": SentenceTemplate(
        "better, but not confirmed without {group}", {"group": "f"}
    ),
    "difference_beyond_chance_unknown": SentenceTemplate(
        "The audit does not show whether groups differ beyond chance"
    ),
    "no_group_is_reference": SentenceTemplate("No group is {reference}", {"reference": "m"}),
    "highest_observed_rate": SentenceTemplate(
        "Highest observed rate of {error_type}: {group}, {rate}{with_system}",
        {"error_type": "false rejects", "group": "f", "rate": "1.20 %", "with_system": ""},
    ),
    "only_one_group": SentenceTemplate(
        "There is one group{by_grouping}, {group}, and no other to compare it with",
        {"by_grouping": "", "group": "f"},
    ),
    "groups_equivalent_within_margin": SentenceTemplate(
        "All groups{by_grouping} are equivalent: no rate differs from the rate of {reference} by "
        "more than a factor of {margin:g}",
        {"by_grouping": "", "reference": "all other groups combined", "margin": 1.25},
    ),
    "better_but_for_worst_group": SentenceTemplate(
        "{groups} better, but not confirmed without the worst group", {"groups": 1}
    ),
    "no_group_worse_or_better": SentenceTemplate(
        "No group{by_grouping} is shown to be worse or better; {inconclusive_share}{better}",
        {
            "by_grouping": "",
            "inconclusive_share": "3 of 8 comparisons are inconclusive",
            "better": "",
        },
    ),
    "only_comparison_inconclusive": SentenceTemplate("the only comparison is inconclusive"),
    "comparisons_inconclusive": SentenceTemplate(
        "{share} comparisons are inconclusive", {"share": "3 of 8"}
    ),
    "may_not_hold_for_other_attacks": SentenceTemplate("This may not hold for other attacks"),
    "rates_not_equal": SentenceTemplate(
        "{systems}{rates} are not equal in all groups{by_grouping} (test of all groups together, "
        "{each}adjusted {p}{assumption}), but no single group is shown to differ",
        {
            "systems": "",
            "rates": "false reject rates",
            "by_grouping": "",
            "each": "",
            "p": "p = 0.021",
            "assumption": "",
        },
    ),
    "thresholds_of_rule_file": SentenceTemplate(
        "thresholds by {attribute} of a rule file (deployed)", {"attribute": "language"}
    ),
    "countermeasure_accepts": SentenceTemplate(
        "accepted if the countermeasure score is at least {thresholds}", {"thresholds": 0.5}
    ),
    "countermeasure_and_asv_score": SentenceTemplate(
        "{countermeasure} and the ASV score at least {thresholds}",
        {
            "countermeasure": "accepted if the countermeasure score is at least 0.5",
            "thresholds": 0.7,
        },
    ),
    "countermeasure_and_common_threshold": SentenceTemplate(
        "{countermeasure} and the ASV score reaches one common threshold: {operating_points}",
        {
            "countermeasure": "accepted if the countermeasure score is at least 0.5",
            "operating_points": "1 % of nontarget trials are accepted",
        },
    ),
    "nontarget_trials_accepted": SentenceTemplate(
        "{share} of nontarget trials are accepted", {"share": "1 %"}
    ),
    "target_trials_rejected": SentenceTemplate(
        "{share} of target trials are rejected", {"share": "1 %"}
    ),
    "spoof_trials_accepted": SentenceTemplate(
        "{share} of spoof trials are accepted", {"share": "1 %"}
    ),
    "mated_searches_missed": SentenceTemplate(
        "{share} of mated searches miss their person", {"share": "1 %"}
    ),
    "nonmated_searches_answered": SentenceTemplate(
        "{share} of non-mated searches return anyone", {"share": "1 %"}
    ),
    "error_types_equally_frequent": SentenceTemplate("both error types are equally frequent"),
    "lowest_cost": SentenceTemplate("the lowest cost"),
    "equal_fpr_and_fnr": SentenceTemplate("equal FPR and FNR"),
    "rate_in_short": SentenceTemplate("{rate} of {percent:g} %", {"rate": "FPR", "percent": 1.0}),
    "threshold_set_on_development": SentenceTemplate(
        "set on development trials for {aim}", {"aim": "FPR of 1 %"}
    ),
    "likelihood_ratio_threshold": SentenceTemplate(
        "the threshold that minimises the cost of scores that are likelihood ratios"
    ),
    "decisions_as_made": SentenceTemplate("decisions as they were made"),
    "error_without_trials": SentenceTemplate(
        "The audit says nothing about {error_type}: {reasons}",
        {"error_type": "false accepts", "reasons": "no nontarget trials"},
    ),
    "fairer_system": SentenceTemplate(
        "The gap in {error_type} between {group} and {reference} is smaller with {fairer} than "
        "with {less_fair}: ratio {lower_ratio} against {higher_ratio}, adjusted {p}{on_trials}",
        {
            "error_type": "false rejects",
            "group": "f",
            "reference": "m",
            "fairer": "L",
            "less_fair": "V2",
            "lower_ratio": 1.1,
            "higher_ratio": 1.6,
            "p": "p = 0.021",
            "on_trials": "",
        },
    ),
    "fairer_system_unknown": SentenceTemplate(
        "The data do not show whether {systems} is fairer{on_trials}",
        {"systems": "V2 or L", "on_trials": ""},
    ),
    "better_system_unknown": SentenceTemplate(
        "The data do not show whether {system} or {other_system} {claim}",
        {"system": "V2", "other_system": "L", "claim": "falsely accepts fewer nontarget trials"},
    ),
    "best_system_unknown": SentenceTemplate(
        "The data do not show which system {claim}; the lowest observed rate is that of {system}, "
        "{rate}",
        {"claim": "falsely accepts the fewest nontarget trials", "system": "V2", "rate": "1.20 %"},
    ),
    "best_of_all_systems": SentenceTemplate(
        "{system} {claim}, {rate}: fewer than each of {other_systems} other systems, {p}",
        {
            "system": "V2",
            "claim": "falsely accepts the fewest nontarget trials",
            "rate": "1.20 %",
            "other_systems": 3,
            "p": "adjusted p < 0.001",
        },
    ),
    "best_of_some_systems": SentenceTemplate(
        "{system} has the lowest observed rate, {rate}: {system} {claim} than {beaten} of "
        "{other_systems} other systems ({p}); inconclusive against {inconclusive}",
        {
            "system": "V2",
            "rate": "1.20 %",
            "claim": "falsely accepts fewer nontarget trials",
            "beaten": 2,
            "other_systems": 3,
            "p": "adjusted p < 0.001",
            "inconclusive": "L",
        },
    ),
    "each_group_compared_with": SentenceTemplate(
        "each group is compared with {reference}", {"reference": "all other groups combined"}
    ),
    # score_metrics
    "rates_at_one_threshold": SentenceTemplate(
        "Rates at one threshold, at which {fpr} of all nontarget trials are accepted:",
        {"fpr": "1.00 %"},
    ),
    # selection
    "verdicts_exploratory": SentenceTemplate(
        "These verdicts are exploratory. Only verdicts by {primary} may be confirmatory",
        {"primary": "gender at fpr=0.01"},
    ),
    # sheets workbook
    "fractions_at_full_precision": SentenceTemplate("fractions at full precision: 0.01 is 1 %"),
    # terminal
    "no_reasons_or_notes": SentenceTemplate("No table has a reason or a note"),
    "groups_of_probe_speaker": SentenceTemplate("Groups are those of the probe's speaker"),
    "adjusted_verdicts": SentenceTemplate(
        "Verdicts are adjusted for multiple comparisons (all groups of a grouping and "
        "{error_types}); intervals are not. A comparison marked ? can therefore have an interval "
        "that excludes 1",
        {"error_types": "both error types"},
    ),
    "shrinkage_estimates": SentenceTemplate(
        "Shrinkage estimates (with few data, ratios of groups found worse or better tend to be "
        "too far from 1): {estimates}",
        {"estimates": "f FNR 1.3"},
    ),
    # variation
    "variation_design": SentenceTemplate(
        "{variants} lists for each of {pairs} pairs per speaker and class, drawn with seed {seed} "
        "from the scored pairs of {speakers:,} speakers by {grouping}",
        {"variants": 20, "pairs": "10, 20", "seed": 1, "speakers": 400, "grouping": "gender"},
    ),
    "variation_excluded": SentenceTemplate(
        "Excluded: {speakers:,} speakers with fewer than {pairs:,} pairs of either class "
        "({counts})",
        {"speakers": 12, "pairs": 20, "counts": "f 3, m 2"},
    ),
    "variation_spread": SentenceTemplate(
        "SD / mean over the {variants} lists, then over {replicates} draws of speakers: more "
        "pairs reduce the former, more speakers the latter",
        {"variants": 20, "replicates": 1000},
    ),
    "other_groups_inconclusive": SentenceTemplate(_other_groups_inconclusive, {"groups": 3}),
}
"""Every sentence by its code."""
