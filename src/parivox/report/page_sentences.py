"""Sentences of the catalogue on what the sections of a report say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.report.sentence_template import SentenceTemplate

if TYPE_CHECKING:
    from collections.abc import Mapping

_BOTH = 2


def _inconclusive_comparisons(values: Mapping[str, Any]) -> str:
    n_inconclusive, n_comparisons = values["inconclusive"], values["comparisons"]
    if n_comparisons == 1:
        share = "the only comparison is"
    elif n_inconclusive == n_comparisons == _BOTH:
        share = "both comparisons are"
    elif n_inconclusive == n_comparisons:
        share = f"all {n_comparisons:,} comparisons are"
    else:
        verb = "is" if n_inconclusive == 1 else "are"
        share = f"{n_inconclusive:,} of {n_comparisons:,} comparisons {verb}"
    return f"{share} inconclusive: a difference is neither shown nor ruled out"


PAGE_SENTENCES: dict[str, SentenceTemplate] = {
    # html first_screen
    "no_verdict_of_worse_or_better": SentenceTemplate(
        "{selection}; no group has a verdict of worse or better than {reference}",
        {"selection": "The groups with most speakers", "reference": "all other groups combined"},
    ),
    "false_accepts_put_others_at_risk": SentenceTemplate(
        "false accept: an impostor passes as the speaker and puts the speaker at risk"
    ),
    "range_in_brackets": SentenceTemplate(
        "[ ]: plausible range ({confidence:g} % confidence interval)",
        {"confidence": 95.0},
    ),
    "nothing_judged": SentenceTemplate(
        "no comparison of groups has a verdict, so a difference is neither shown nor ruled out; "
        "error rates are observed values"
    ),
    "differences_shown": SentenceTemplate(
        "in {different} of {comparisons}, a group is shown to be worse or better (p adjusted for "
        "each grouping and system)",
        {"different": 10, "comparisons": "76 comparisons"},
    ),
    "nothing_shown": SentenceTemplate(
        "in {comparisons}, neither a difference nor equivalence is shown",
        {"comparisons": "76 comparisons"},
    ),
    "no_difference_shown": SentenceTemplate(
        "in {comparisons}, no group is shown to be worse or better (p adjusted for "
        "each grouping and system)",
        {"comparisons": "76 comparisons"},
    ),
    "equivalent_comparisons": SentenceTemplate(
        "{equivalent} of {comparisons} {verb} equivalence: with {equivalence_confidence:g} % "
        "confidence in each case, any difference is smaller than a factor of {margin:g}",
        {
            "equivalent": 3,
            "comparisons": "76 comparisons",
            "verb": "show",
            "equivalence_confidence": 98,
            "margin": 1.25,
        },
    ),
    "strong_evidence": SentenceTemplate("strong evidence"),
    "some_evidence": SentenceTemplate("evidence"),
    "p_of_headline": SentenceTemplate("headline: {p}", {"p": "p < 0.001"}),
    "adjusted_p_of_headline": SentenceTemplate("headline: adjusted {p}", {"p": "p < 0.001"}),
    "named_headline": SentenceTemplate(
        "{evidence}, confirmed only if the main comparison, by {primary}, was named before anyone "
        "saw the data, which Parivox cannot check",
        {"evidence": "strong evidence", "primary": "gender"},
    ),
    "unnamed_headline": SentenceTemplate(
        "{evidence}, but unconfirmed: no record here that comparing by {primary} was planned "
        "before anyone saw the data",
        {"evidence": "strong evidence", "primary": "gender"},
    ),
    "named_comparison_confirmed": SentenceTemplate(
        "the main comparison, by {primary}, was named for this audit: differences are confirmed "
        "only if it was named before anyone saw the data",
        {"primary": "gender"},
    ),
    "unnamed_comparison_confirmed": SentenceTemplate(
        "differences by {primary} are confirmed only if this comparison was planned before anyone "
        "saw the data, which this audit does not record",
        {"primary": "gender"},
    ),
    "other_findings_exploratory": SentenceTemplate("any other findings may be due to chance"),
    "findings_of_grouping_exploratory": SentenceTemplate(
        "any findings by {grouping} may be due to chance", {"grouping": "gender+nationality"}
    ),
    "nothing_confirmed": SentenceTemplate(
        "All findings are exploratory, as the main comparison has no threshold: some may be due "
        "to chance, so confirm them on new speakers"
    ),
    "headline_exploratory_for": SentenceTemplate(
        "the headline is exploratory for {systems}, as the main comparison has no threshold there",
        {"systems": "L"},
    ),
    "rates_without_verdict": SentenceTemplate(
        "{rates} could not be judged", {"rates": "3 error rates"}
    ),
    "inconclusive_comparisons": SentenceTemplate(
        _inconclusive_comparisons, {"inconclusive": 66, "comparisons": 76}
    ),
    "groups_without_comparison": SentenceTemplate(
        "{groups}{by_grouping} ({speakers}) {verb} not tested",
        {
            "groups": "38 more groups",
            "speakers": "61 speakers",
            "verb": "were",
            "by_grouping": "",
        },
    ),
    "no_comparison_inconclusive": SentenceTemplate("no comparison is inconclusive"),
    "trials_of_groups_unlike": SentenceTemplate(
        "tests differed between groups (in some, {differences}), so true gaps may be larger or "
        "smaller",
        {"differences": "speakers face more impostors"},
    ),
    "impostors_share_traits": SentenceTemplate("impostors more often share a trait"),
    "samples_of_one_recording": SentenceTemplate(
        "both voice samples are more often from one recording"
    ),
    "recordings_longer": SentenceTemplate("recordings are longer"),
    "more_short_recordings": SentenceTemplate("more recordings are short"),
    "more_impostors": SentenceTemplate("speakers face more impostors"),
    "impostors_of_speakers_group": SentenceTemplate(
        "all tested impostors were of the same group as the speaker (by {by_grouping})",
        {"by_grouping": "gender"},
    ),
    "thresholds_of_these_trials": SentenceTemplate(
        "the acceptance cut-off (threshold) was chosen on this data, so error rates on "
        "new data may differ"
    ),
    "band_in_short": SentenceTemplate(
        "Grey band: factors below {margin:g}",
        {"margin": 1.25},
    ),
    "adjusted_in_short": SentenceTemplate(
        "Lines unadjusted; adjusted p: how often chance gives any such gap"
    ),
    "observed_rates_only": SentenceTemplate(
        "observed rates, errors/trials below; without intervals there are no verdicts"
    ),
    "classes_of_trials": SentenceTemplate(
        "trial: two recordings, of one speaker (target trial) or of two speakers (nontarget trial)"
    ),
    "adjusted_p": SentenceTemplate(
        "adjusted p: how often a difference at least as large would occur if error rates were "
        "equal in all groups, adjusted for all comparisons of one system by one grouping at one "
        "operating point"
    ),
    "worse_and_better_signs": SentenceTemplate(
        "▲ worse, ▼ better: significant after adjustment for all groups and {error_types}, and "
        "not equivalent",
        {"error_types": "both error types"},
    ),
    "inconclusive_sign": SentenceTemplate(
        "○ ? inconclusive: a difference is neither shown nor excluded; if an adjusted p is "
        "shown, the difference is significant only without the adjustment"
    ),
    "p_between_systems": SentenceTemplate(
        "p between systems (exploratory): the same if the systems did not differ{of_gap}",
        {"of_gap": ""},
    ),
    "p_of_gap": SentenceTemplate(
        "; of a gap, adjusted for all groups and {error_types}",
        {"error_types": "both error types"},
    ),
    "comparison_seen_elsewhere": SentenceTemplate(
        "“see” names the worse group, whose row shows the verdict of the same comparison"
    ),
    "ratio_of_rates": SentenceTemplate(
        "ratio: error rate divided by the rate of {reference}",
        {"reference": "all other groups combined"},
    ),
    "asterisk_in_ratios": SentenceTemplate(
        "*: under-represented ({minimums})", {"minimums": "fewer than 10 speakers"}
    ),
    "rates_hold_for_gallery": SentenceTemplate(
        "all rates hold for {gallery}; groups of probe speakers",
        {"gallery": "a gallery of 50 persons"},
    ),
    "lines_are_intervals": SentenceTemplate(
        "lines and [ ]: {confidence:g} % confidence intervals over {unit}, not adjusted for "
        "multiple comparisons; an arrow means that the interval extends beyond the axis",
        {"confidence": 95.0, "unit": "speakers"},
    ),
    "equivalence_band": SentenceTemplate(
        "grey band: the equivalence margin, ratios from 1/{margin:g} to {margin:g}; a group is "
        "equivalent if the {equivalence_confidence:g} % interval of its ratio lies inside the band",
        {"margin": 1.25, "equivalence_confidence": 98},
    ),
    # html groups
    "more_pairs": SentenceTemplate(
        "{pairs} more pairs with lower rates are not shown", {"pairs": 12}
    ),
    "false_accepts_between_groups": SentenceTemplate(
        "False accepts between groups of {system} by {grouping} at {point} (no intervals, as the "
        "same pairs of speakers are in several cells){omission}",
        {"system": "V2", "grouping": "gender", "point": "fpr=0.01", "omission": ""},
    ),
    "list_not_checked": SentenceTemplate(
        "The list was not checked, as it does not fit in memory or consists of score counts. To "
        "check a trial list, run parivox trials check"
    ),
    "share_within_groups": SentenceTemplate(
        "by {grouping}, {percent:.3g} %", {"grouping": "gender", "percent": 50}
    ),
    "pairs_within_groups_unknown": SentenceTemplate(
        "Nontarget trials within and between groups: unknown for this audit"
    ),
    "nothing_about_other_groups": SentenceTemplate(
        "The audit shows nothing about impostors of other groups, who are usually easier to reject"
    ),
    "other_groups_easier_to_reject": SentenceTemplate(
        "Impostors of other groups are usually easier to reject, so a list with fewer such "
        "impostors has a higher FPR: compare rates only between lists with similar shares"
    ),
    "trials_within_groups": SentenceTemplate(
        "Share of nontarget trials between speakers of the same group: {shares}. {consequence}",
        {
            "shares": "by gender, 50 %",
            "consequence": "Compare rates only between lists with similar shares",
        },
    ),
    "graded_by_difficulty": SentenceTemplate(
        "Trials were graded by difficulty: see the groups by grade"
    ),
    "not_graded_by_difficulty": SentenceTemplate(
        "Rates are not shown by grade of difficulty (--by grade, or parivox trials grade): rates "
        "are not comparable between groups whose trials differ in difficulty"
    ),
    # html layout
    "threshold_at_most": SentenceTemplate(
        "one threshold, at which at most {target_rate:g} % of all {trials}; here {reached}",
        {"target_rate": 1, "trials": "nontarget trials are accepted", "reached": "0.98 %"},
    ),
    "threshold_at_rate": SentenceTemplate(
        "one threshold, at which {target_rate:g} % of all {trials}",
        {"target_rate": 1, "trials": "nontarget trials are accepted"},
    ),
    "threshold_chosen_for_rate": SentenceTemplate(
        "one threshold, chosen so that {target_rate:g} % of all {trials}; here {reached}",
        {"target_rate": 1, "trials": "nontarget trials are accepted", "reached": "0.98 %"},
    ),
    "threshold_given": SentenceTemplate("one threshold, given as {threshold}", {"threshold": 0.5}),
    "threshold_of_smallest_cost": SentenceTemplate(
        "one threshold, at which errors of all trials cost least"
    ),
    "threshold_described": SentenceTemplate(
        "one threshold, {words}", {"words": "where both error rates of all trials are equal"}
    ),
    # html method
    "not_shown_by_report": SentenceTemplate(
        "This report does not show: that a difference is discrimination, or its cause; error rates "
        "in use; errors under {attacks}; or that groups are alike where a comparison is "
        "inconclusive",
        {"attacks": "spoofed speech"},
    ),
    "lists_no_ids": SentenceTemplate("the report lists no speaker ids"),
    "lists_ids_of_offenders": SentenceTemplate(
        "the report lists ids of the speakers with the most errors"
    ),
    "lists_ids_of_persons": SentenceTemplate("the report lists ids of enrolled persons"),
    "figures_of_speakers": SentenceTemplate(
        ", and figures of single speakers among the checks of the trial list,"
    ),
    "figures_of_persons": SentenceTemplate(", and results by person,"),
    "personal_data": SentenceTemplate(
        "Personal data: {ids}. Names and results of groups with few speakers{figures} may "
        "concern identifiable persons",
        {"ids": "the report lists no speaker ids", "figures": ""},
    ),
    "historical_harm": SentenceTemplate("the data reflect existing inequalities"),
    "representation_harm": SentenceTemplate(
        "the data contain too few people of some groups to serve or assess these groups as well "
        "as others"
    ),
    "measurement_harm": SentenceTemplate(
        "recordings or labels differ from what they are meant to represent, more for some people "
        "than for others"
    ),
    "aggregation_harm": SentenceTemplate("one model or threshold is used for people who differ"),
    "learning_harm": SentenceTemplate("choices in the training of the system widen differences"),
    "evaluation_harm": SentenceTemplate(
        "the trial list or the measure does not represent real use"
    ),
    "deployment_harm": SentenceTemplate("the system is used differently from how it was audited"),
    "recruitment_unknown": SentenceTemplate(
        "Scores do not show how speakers were recruited, or who was never recorded"
    ),
    "recruitment": SentenceTemplate(
        "How the speakers were recruited: {recruitment}",
        {"recruitment": "volunteers, asked by letter"},
    ),
    "group_sizes": SentenceTemplate(
        "By {grouping}{on_list}: {groups}, from {smallest} with {smallest_size} to {largest} with "
        "{largest_size}",
        {
            "grouping": "gender",
            "on_list": "",
            "groups": 4,
            "smallest": "f",
            "smallest_size": "20 speakers",
            "largest": "m",
            "largest_size": 25,
        },
    ),
    "under_represented_groups": SentenceTemplate(
        "Under-represented groups by {grouping}{at_point}{in_systems} ({minimums}): {groups}. No "
        "interval accounts for people who are missing from the data",
        {
            "grouping": "gender",
            "at_point": " at fpr=0.01",
            "in_systems": "",
            "minimums": "fewer than 10 speakers",
            "groups": "f, m",
        },
    ),
    "speakers_without_group": SentenceTemplate(
        "Speakers in no group, because their group is unknown or excluded: {speakers}",
        {"speakers": 40},
    ),
    "attributes_from_table": SentenceTemplate(
        "Groups are taken from the speaker table and the options. The data do not show how an "
        "attribute was determined (stated by the person, or guessed from a name, a face or a "
        "voice)"
    ),
    "failures_not_counted": SentenceTemplate(
        "Failures to enrol and to acquire were not supplied (--failures): recordings that the "
        "system refuses are not counted as errors"
    ),
    "conditions_examined": SentenceTemplate(
        "Recording conditions were examined within strata of {within}", {"within": "channel"}
    ),
    "conditions_not_examined": SentenceTemplate(
        "Recording conditions (device, channel, noise) were not examined; to examine such "
        "conditions, use --within"
    ),
    "one_threshold_for_all": SentenceTemplate(
        "One threshold is used for all groups. Groups were examined by {groupings}; groups by "
        "other attributes may also differ",
        {"groupings": "gender"},
    ),
    "interval_of_largest_ratio": SentenceTemplate(
        "The interval is for this group alone and is not adjusted for the selection of the largest "
        "ratio"
    ),
    "intervals_of_largest_ratios": SentenceTemplate(
        "Each of these intervals is for one group alone and is not adjusted for the selection of "
        "the largest ratio"
    ),
    "largest_ratio": SentenceTemplate(
        ", the largest ratio among {n_groups} groups", {"n_groups": 4}
    ),
    "large_groups_at_all_points": SentenceTemplate(
        "that are not under-represented at any operating point"
    ),
    "cost_of_common_threshold": SentenceTemplate(
        "{system}: for {group}, the cost at the common threshold is {ratio} times the cost at a "
        "group-specific threshold{interval}{selection}",
        {
            "system": "V2",
            "group": "f",
            "ratio": "1.4",
            "interval": " [1.1, 1.8]",
            "selection": ", the largest ratio among 4 groups",
        },
    ),
    "one_system_audited": SentenceTemplate(
        "One system was audited; another design may give other results"
    ),
    "several_systems_audited": SentenceTemplate(
        "{systems} systems were audited: tables by system show how the systems differ",
        {"systems": 2},
    ),
    "training_unknown": SentenceTemplate(
        "Scores do not show how a system was trained, or on which data"
    ),
    "trials_of_groups_differ": SentenceTemplate(
        "The trials of groups differ: {differences}", {"differences": "f has fewer trials"}
    ),
    "list_fails_checks": SentenceTemplate(
        "The list of {systems} fails the checks {checks}.{differences}",
        {
            "systems": "V2, L",
            "checks": "G1, G9",
            "differences": " The trials of groups differ: f has fewer trials",
        },
    ),
    "set_on_audited_trials": SentenceTemplate(
        "{points} were set on the audited trials: other trials would give other thresholds",
        {"points": "Thresholds"},
    ),
    "difference_not_shown": SentenceTemplate(
        "{system}: the audit does not show whether groups differ beyond chance ({reason})",
        {"system": "V2", "reason": "too few speakers"},
    ),
    "inconclusive_groups": SentenceTemplate(
        "{label}: {groups} of {all_groups} groups {verb} inconclusive for at least one error type "
        "or operating point",
        {"label": "gender", "groups": 3, "all_groups": 8, "verb": "are"},
    ),
    "purpose_of_system": SentenceTemplate(
        "Purpose of the system: {purpose}", {"purpose": "unlocking a phone"}
    ),
    "population_of_system": SentenceTemplate(
        "Population on which the system will be used: {population}",
        {"population": "tenants, 18 to 95 years old"},
    ),
    "audited_at_points": SentenceTemplate(
        "Audited at {points}. Who chose the operating point for deployment: {chooser}. Another "
        "threshold may give other results",
        {"points": "fpr=0.01", "chooser": "not supplied"},
    ),
    "rates_for_single_trials": SentenceTemplate("Rates are for single trials"),
    "spoof_accepts_of_listed_attacks": SentenceTemplate(
        "Spoof accepts are for the attacks of this list; other attacks may be accepted more often"
    ),
    "spoofed_speech_not_covered": SentenceTemplate(
        "The audit does not cover spoofed or replayed speech"
    ),
    # html sentences
    "no_verdicts": SentenceTemplate(
        "No verdicts: {reason}. Rates are observed values", {"reason": "too few speakers"}
    ),
    "no_verdicts_without_threshold": SentenceTemplate(
        "No verdicts: no operating point has a threshold"
    ),
    "no_verdicts_without_group": SentenceTemplate(
        "No verdicts, as this grouping has no group {reference}", {"reference": "m"}
    ),
    "see_table_of_groups": SentenceTemplate("{groups}: see the table of groups", {"groups": 4}),
    "choice_given": SentenceTemplate("specified for the audit: {choice}", {"choice": "3 groups"}),
    "primary_analysis_by_default": SentenceTemplate(
        "the first grouping and operating point, as no primary analysis was named"
    ),
    "thresholds_set_here": SentenceTemplate(
        "{points} were set on the audited trials", {"points": "Thresholds"}
    ),
    "other_thresholds_other_rates": SentenceTemplate(
        "thresholds from other data would give other rates"
    ),
    "rate_met_exactly": SentenceTemplate(
        "so the rate over all trials at each threshold is close to the rate that defines the "
        "threshold; thresholds from other data may give other rates"
    ),
    "equivalence_margin": SentenceTemplate(
        "Equivalence margin: 1/{margin} to {margin}, for the ratio of a group to {reference}. "
        "{chooser}",
        {
            "margin": 1.25,
            "reference": "all other groups combined",
            "chooser": "Who chose the margin: not supplied",
        },
    ),
    "choice_of_unknown": SentenceTemplate(
        "Who chose the {choice}: {chooser}", {"choice": "margin", "chooser": "not supplied"}
    ),
    "chosen_according_to_context": SentenceTemplate(
        "According to the context file, chosen by {chooser}", {"chooser": "the product team"}
    ),
    "trials_of_system": SentenceTemplate(
        "{target_trials} target trials and {nontarget_trials} nontarget "
        "trials{speakers}{recordings}. Over all trials: {metrics}",
        {
            "target_trials": "1,200",
            "nontarget_trials": "9,000",
            "speakers": " of 40 speakers",
            "recordings": "",
            "metrics": "EER 1.20 %",
        },
    ),
    # html stream
    "weekly_rates_chart": SentenceTemplate(
        "Share of target trials of each group that were rejected in each week; dashed: all other "
        "groups combined"
    ),
    "weekly_rates_note": SentenceTemplate(
        "Vertical line: estimated beginning of a rise. Weeks with few trials vary by chance: only "
        "an alarm shows that a rate has risen"
    ),
    "more_groups_in_table": SentenceTemplate(
        "{groups} more groups are in the table", {"groups": 4}
    ),
    "weekly_rates_title": SentenceTemplate("FNR by week of {groups}", {"groups": 4}),
}
"""Every sentence by its code."""
