"""Sentences of the catalogue under charts."""

from __future__ import annotations

from parivox.report.sentence_template import SentenceTemplate

CHART_SENTENCES: dict[str, SentenceTemplate] = {
    # charts chart
    "groups_not_drawn": SentenceTemplate(
        "Only the {drawn} of {groups} groups with the most speakers are drawn",
        {"drawn": 12, "groups": 40},
    ),
    # charts comparison
    "triangles_at_edge": SentenceTemplate(
        "A triangle at an edge stands for a ratio of 0 (the group has no errors) or an infinite "
        "ratio"
    ),
    "dots_are_groups": SentenceTemplate(
        "Each dot shows a group: {value} in {first} (horizontal) and in {second} (vertical), with "
        "both intervals",
        {"value": "its false reject rate", "first": "V2", "second": "L"},
    ),
    "diagonal_of_equal_values": SentenceTemplate(
        "On the dashed diagonal, both systems have the same value. Groups at the upper right are "
        "worse in both systems; groups at the upper left or lower right are worse in one system. "
        "Hollow dots, marked *, are groups with too few speakers or errors"
    ),
    "fewer_errors_in_system": SentenceTemplate(
        "{groups} groups have fewer errors in {system}", {"groups": 5, "system": "V2"}
    ),
    "rate_divided_by_rate": SentenceTemplate(
        "For each group, a dot shows the rate with {first} divided by the rate with {second}, "
        "computed on the data in common, with its confidence interval",
        {"first": "V2", "second": "L"},
    ),
    "sides_of_equal_rates": SentenceTemplate(
        "Left of the dashed line, a group has fewer errors with {first}; right of the line, with "
        "{second}. A triangle means that the interval excludes 1, without adjustment for the "
        "number of groups. Hollow dots have no interval",
        {"first": "V2", "second": "L"},
    ),
    "ranks_if_other_speakers": SentenceTemplate(
        "The chart shows how often each system would make fewer errors, differ less between "
        "groups, or both, if other speakers were drawn"
    ),
    "bars_of_replicates": SentenceTemplate(
        "Each bar shows the percentage of bootstrap replicates in which a system is better: full "
        "for {first}, hollow for {second}. The closer a bar is to entirely full or entirely "
        "hollow, the more certain the rank is; the percentages are not a test. Grey parts show the "
        "replicates in which neither system is better (in the panel “both”: better in both "
        "respects). A row is empty if the operating point fixes its rate",
        {"first": "V2", "second": "L"},
    ),
    # charts det
    "shaded_monotonic_intervals": SentenceTemplate(
        "Shaded areas are confidence intervals, made monotonic along the threshold"
    ),
    "intervals_omitted": SentenceTemplate(
        "Intervals are omitted if a panel has more than {curves} curves; draw fewer groups to see "
        "the intervals",
        {"curves": 6},
    ),
    "horizontal_axis_of_panels": SentenceTemplate(
        "The horizontal axis is FPR in panels of nontarget trials. In panels of spoof trials, the "
        "horizontal axis is SFAR, for the attacks of this list, and no intervals are shaded"
    ),
    "det_of_groups": SentenceTemplate(
        "Each line is the DET curve of a group{condition}; lower curves are better",
        {"condition": ""},
    ),
    "marks_of_operating_points": SentenceTemplate(
        "Filled marks are audited operating points; if marks of the same shape lie apart, the "
        "common threshold gives the groups different error rates"
    ),
    "circles_of_group_costs": SentenceTemplate(
        "Hollow circles mark the minimum cost of each group"
    ),
    "marks_on_border": SentenceTemplate(
        "Marks on the border stand for values on or beyond the border"
    ),
    "det_of_systems": SentenceTemplate(
        "Each line is the DET curve of a system or trial list{condition}; lower curves are better",
        {"condition": ""},
    ),
    "shaded_intervals": SentenceTemplate("Shaded areas are confidence intervals"),
    "filled_marks": SentenceTemplate("Filled marks are audited operating points"),
    "circles_of_system_costs": SentenceTemplate(
        "Hollow circles mark the minimum cost of each system"
    ),
    "fnir_at_rank": SentenceTemplate("FNIR is the rate at the rank of the audit"),
    # charts groups
    "hollow_bars": SentenceTemplate(
        "Hollow bars, marked *, are groups below the sample-size minimum for at least one error "
        "type"
    ),
    "rates_with_intervals": SentenceTemplate(
        "Dots show the error rate of each group, and lines its confidence interval (logarithmic "
        "axis; further right is worse)"
    ),
    "forest_signs": SentenceTemplate(
        "The dashed line is the rate of all groups pooled. The grey band is the range that "
        "contains a group's rate in 95 % of audits if rates are equal in all groups. Triangles are "
        "verdicts of worse or better. Hollow dots are rates with too few speakers or errors; "
        "groups with such a rate are marked *. An arrow from the left means that no errors were "
        "observed; the arrow ends at the upper limit of the interval"
    ),
    "rates_in_strata": SentenceTemplate(
        "The dots show the error rate of each group in every stratum, with confidence interval, at "
        "the same threshold; further right is worse"
    ),
    "same_differences_in_strata": SentenceTemplate(
        "If groups differ in the same way in every stratum, the strata do not explain the "
        "difference. Groups without errors in a stratum have no mark"
    ),
    "failure_shares": SentenceTemplate(
        "Dots show the share of each group's recordings that could not be used, lines the "
        "confidence intervals, and numbers the failures / attempts"
    ),
    "further_right_is_worse": SentenceTemplate("Further right is worse"),
    "speakers_not_known": SentenceTemplate("speakers are not known"),
    # charts matrix
    "cells_are_pairs": SentenceTemplate(
        "Each cell is a pair of groups: the darker the cell (on a dark background: the brighter), "
        "the more often speakers of the row's group are accepted as speakers of the column's group"
    ),
    "matrix_steps": SentenceTemplate(
        "Steps between shades are equal ratios. A hatched cell means that the list has no trials "
        "of this pair"
    ),
    "pairs_with_trials": SentenceTemplate(
        "{pairs} of {all_pairs} pairs of groups have trials. Highest rates: {highest}",
        {"pairs": 4, "all_pairs": 4, "highest": "f and f 1.2 %"},
    ),
    # charts measures
    "measures_by_floor": SentenceTemplate(
        "Each fairness measure is shown as its distance from the value for equal rates, in units "
        "of its noise floor"
    ),
    "range_of_equal_rates": SentenceTemplate(
        "The grey area is the range that contains the measure in 95 % of audits of these speakers "
        "if error rates are equal; the tick is the mean over these audits. Only points to the "
        "right of the grey area indicate a difference between groups. The value and p are shown on "
        "the right"
    ),
    "joint_measure_directions": SentenceTemplate(
        "For FDR and EO ratio, higher values are fairer; for all other measures, lower values are "
        "fairer"
    ),
    "groups_and_excluded": SentenceTemplate(
        "The values are for the {groups} {condition}; the values in brackets are for "
        "all groups. Excluded: {reasons}",
        {
            "groups": 4,
            "condition": "groups that are not under-represented in any system",
            "reasons": "m (too few speakers)",
        },
    ),
    "groups_that_are": SentenceTemplate(
        "The values are for the {groups} {condition}",
        {"groups": 4, "condition": "groups that are not under-represented in any system"},
    ),
    "values_of_all_groups": SentenceTemplate("The values are for all groups"),
    "measures_over_metrics": SentenceTemplate(
        "Dots are systems, lines confidence intervals, and grey ticks noise floors, where known. "
        "The values are for {groups}, or for all groups if this leaves fewer than two. Rates use "
        "the common threshold, but EER and minimum cost use group-specific thresholds, so the rows "
        "are not comparable",
        {"groups": "the groups that are not under-represented"},
    ),
    "zero_rule_of_measures": SentenceTemplate(
        "Groups without errors are counted by the rule {rule}", {"rule": "jeffreys"}
    ),
    "groups_small_elsewhere": SentenceTemplate(
        "all groups, as other groups are under-represented in other systems"
    ),
    "spread_of_all_marks": SentenceTemplate(
        "Marks show the spread over {groups}",
        {"groups": "the groups that are not under-represented"},
    ),
    "marks_of_spread": SentenceTemplate(
        "Filled marks show the spread over {groups}; hollow marks show the spread over all groups",
        {"groups": "the groups that are not under-represented"},
    ),
    "accuracy_axes": SentenceTemplate(
        "The vertical axis is the between-group SD of log rates, corrected for sampling noise "
        "(0.69 corresponds to a twofold difference). {marks}. Lower left is best. Bars are "
        "confidence intervals, and a grey tick is a noise floor. The rate that defines the "
        "operating point is the same for all systems",
        {"marks": "Marks show the spread over the groups that are not under-represented"},
    ),
    "dash_without_p": SentenceTemplate("a dash: no p; the tables of measures give the reason"),
    # charts reliability
    "reliability_points": SentenceTemplate(
        "Each point stands for trials with similar log-likelihood ratios, of speakers on whom the "
        "calibrator was not fitted"
    ),
    "reliability_line": SentenceTemplate(
        "On the dashed line, the ratios are right; below the line, the ratios are too large. "
        "Lines are intervals. A name is followed by the number of speakers; * marks groups whose "
        "own calibrator differs significantly from the common one"
    ),
    "reliability_description": SentenceTemplate(
        "{points} points of {groups} groups and of all trials", {"points": 80, "groups": 4}
    ),
    # charts score_det
    "det_of_all_and_groups": SentenceTemplate(
        "DET curve of all trials and of each group; lower curves are better"
    ),
    "curves_without_intervals": SentenceTemplate(
        "Curves have no intervals, as the ids of speakers are unknown"
    ),
    # charts scores
    "score_distributions": SentenceTemplate(
        "The curves are the score distributions of target trials (filled) and nontarget trials "
        "(outlined) by group, each with the same area"
    ),
    "spoof_trials_not_drawn": SentenceTemplate("Spoof trials are not drawn"),
    "shifted_distributions": SentenceTemplate(
        "Trials to the right of a threshold are accepted. If the distributions of a group are "
        "shifted relative to other groups, a common threshold gives this group more errors of one "
        "type"
    ),
    "densities_of_groups": SentenceTemplate(
        "Densities of scores of {groups} groups and of all, with the audited thresholds",
        {"groups": 4},
    ),
    "boxes_of_scores": SentenceTemplate(
        "Each box contains the middle half of a group's scores; the lines reach from the 5th to "
        "the 95th percentile, and the stroke is the median"
    ),
    "medians_of_scores": SentenceTemplate(
        "The dashed line is the median of all trials. The thick bar is the confidence interval of "
        "the difference between the median of the group and the median of all trials; if the bar "
        "excludes the dashed line, the scores of the group are shifted. Target trials further left "
        "are rejected more often; nontarget trials further right are accepted more often. "
        "Positions are accurate to the steps of the shared thresholds"
    ),
    "diamonds_and_dots": SentenceTemplate(
        "Diamonds show the cost of a group's scores as log-likelihood ratios, dots the cost after "
        "calibration for this group, and lines the intervals"
    ),
    "grey_calibration_loss": SentenceTemplate(
        "The grey difference, with its value on the right, is the calibration loss. Scores without "
        "information cost 1 bit"
    ),
    "thresholds_of_smallest_cost": SentenceTemplate(
        "On the left, marks show the threshold at which each group has its minimum cost; the "
        "dashed line is the common threshold, at which the cost over all trials is lowest"
    ),
    "costs_at_common_threshold": SentenceTemplate(
        "On the right, dots show the cost of each group at the common threshold divided by the "
        "minimum cost of the group, with interval; 1 means no loss. Dots lie at 1 or above by "
        "construction, and further right for small groups. Diamonds show the ratio without this "
        "bias, at thresholds set on other speakers of the group. Hollow marks and * indicate "
        "groups with too few speakers or errors"
    ),
    "dots_without_interval": SentenceTemplate(
        "Reasons for dots without an interval: {reasons}", {"reasons": "too few speakers"}
    ),
    # charts sweep
    "bars_and_ticks": SentenceTemplate(
        "Bars are confidence intervals, where available; grey ticks are noise floors"
    ),
    "measures_by_alpha": SentenceTemplate(
        "The lines show fairness measures as functions of the weight alpha: at 0, only false "
        "rejects count; at 1, only false accepts count"
    ),
    "crossing_lines": SentenceTemplate(
        "Where lines cross, the ranking of the systems depends on alpha"
    ),
    "directions_by_alpha": SentenceTemplate(
        "For FDR, higher values are fairer; for GARBE and IR, lower values are fairer. A line ends "
        "where the measure is undefined"
    ),
    "measures_by_threshold": SentenceTemplate(
        "The upper part shows each measure at every threshold, in order of increasing FPR"
    ),
    "terms_below": SentenceTemplate(
        "The lower part shows the two terms of the measure (thick: FPR, thin: FNR); each "
        "cross marks a threshold at which the other term becomes larger and so determines the "
        "measure. Thin vertical lines are audited operating points"
    ),
    "directions_by_threshold": SentenceTemplate(
        "For FDR, higher values are fairer; for all other measures, lower values are fairer"
    ),
    "terms_do_not_cross": SentenceTemplate("The terms do not cross"),
    "distribution_over_choices": SentenceTemplate(
        "The upper part shows the distribution of each measure over all alpha from 0 to 1 and all "
        "thresholds with an FPR of {lowest} to {highest}, scaled to equal peaks",
        {"lowest": "0.10 %", "highest": "10.0 %"},
    ),
    "terms_over_choices": SentenceTemplate(
        "The lower part shows the two terms of each measure over these thresholds: quartiles "
        "(box), 5th to 95th percentile (lines) and median. The larger term has more weight than "
        "alpha suggests. The range is due to the choices of alpha and threshold, not to chance"
    ),
    "measure_defined_in": SentenceTemplate(
        "{system}: {measure} is defined in {share} of choices",
        {"system": "V2", "measure": "FDR", "share": "98 %"},
    ),
    "faint_lines": SentenceTemplate("faint lines are for all groups"),
    "lines_of_every_group": SentenceTemplate("The lines are for all groups"),
    "groups_small_elsewhere_all": SentenceTemplate(
        "The lines are for all groups, as other groups are under-represented in other systems"
    ),
    "groups_that_meet": SentenceTemplate(
        "The lines are for the {condition}{faint}. Excluded: {reasons}",
        {
            "condition": "groups that are not under-represented",
            "faint": "",
            "reasons": "m (too few speakers)",
        },
    ),
    "fewer_than_two_meet_minimums": SentenceTemplate("Fewer than two groups meet the minimums"),
    "lines_of_all_groups": SentenceTemplate(
        "{reason}, so its lines show all groups, as an indication only",
        {"reason": "Fewer than two groups meet the minimums"},
    ),
}
"""Every sentence by its code."""
