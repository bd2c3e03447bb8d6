"""Sentences of the catalogue on what thresholds, calibrate, monitor, compare, gate and plan say."""

from __future__ import annotations

from parivox.report.sentence_template import SentenceTemplate

COMMAND_SENTENCES: dict[str, SentenceTemplate] = {
    # calibration
    "calibration_loss": SentenceTemplate(
        "Calibration loss: Cllr minus minimum Cllr, corrected because minimum Cllr is fitted to "
        "the same trials. The minimum is 0"
    ),
    "no_group_for_calibrator": SentenceTemplate(
        "No group is large enough for a group-specific calibrator"
    ),
    "calibrators_differ": SentenceTemplate(
        "The calibrators of {differing} of {groups} groups {verb} from the common one: "
        "{group_names}",
        {"differing": 2, "groups": 8, "verb": "differ", "group_names": "f, m"},
    ),
    "one_common_calibrator": SentenceTemplate(
        "One common calibrator: no group's calibrator is shown to differ from it"
    ),
    "calibration_gain": SentenceTemplate(
        "The gain in mean Cllr from group-specific calibrators is {outcome}: {bits} bits",
        {"outcome": "not tested", "bits": 0.01},
    ),
    "gains_tested_if_calibrator_differs": SentenceTemplate(
        "Gains are tested only if a calibrator is shown to differ"
    ),
    "calibrator_not_shown_to_differ": SentenceTemplate(
        "not shown to differ from the common calibrator"
    ),
    "too_few_for_difference": SentenceTemplate("too few speakers to show a difference"),
    "keep_common_calibrator": SentenceTemplate(
        "Keep the common calibrator for {groups}: {reason}",
        {"groups": 4, "reason": "too few speakers"},
    ),
    "keep_common_calibrator_by_reason": SentenceTemplate(
        "Keep the common calibrator for {groups} ({reason})",
        {"groups": 4, "reason": "too few speakers"},
    ),
    "apply_calibrator": SentenceTemplate(
        "{calibrator}. To apply it: {command}. To audit the result: parivox audit llr.csv --llr",
        {
            "calibrator": "Calibrator: calibrator.json",
            "command": "parivox calibrate new.csv --apply calibrator.json --out llr.csv",
        },
    ),
    "calibrator_differs_mark": SentenceTemplate(
        "* the group's own calibrator differs significantly from the common calibrator"
    ),
    # gate
    "inconclusive_does_not_pass": SentenceTemplate(
        "Inconclusive conditions do not pass. To resolve such conditions, audit more speakers "
        "(parivox plan --pilot AUDIT --policy FILE calculates how many), or accept the groups in "
        "the policy with a reason and an end date"
    ),
    "groups_of_one_audit_do_not_pass": SentenceTemplate(
        "Groups that are in only one of the two audits do not pass. Audit both releases with "
        "these groups, or accept the groups in the policy with a reason and an end date"
    ),
    "groups_without_trials_do_not_pass": SentenceTemplate(
        "Groups without trials do not pass. Audit trials of these groups, name the groups of the "
        "condition in the policy (groups:), or leave the speakers out of the speaker table"
    ),
    "gate_audit_options": SentenceTemplate(
        "Options of the audit: {options}",
        {"options": "--confidence 0.95 --interval speakers --margin 1.25"},
    ),
    "no_group_examined": SentenceTemplate("no group was examined"),
    "rate_at_most": SentenceTemplate(
        "{rate} must be at most {limit:g} %",
        {"rate": "FNR at fpr=0.01", "limit": 5.0},
    ),
    "rate_not_worse_than": SentenceTemplate(
        "{rate} must not be worse than that of {reference}",
        {"rate": "FPR at fpr=0.01", "reference": "all other groups combined"},
    ),
    "rate_at_most_times": SentenceTemplate(
        "{rate} must be at most {limit:g} times that of {reference}",
        {"rate": "FPR at fpr=0.01", "limit": 1.5, "reference": "all other groups combined"},
    ),
    "rate_at_most_times_baseline": SentenceTemplate(
        "{rate} must be at most {limit:g} times that of the baseline ({pairing})",
        {"rate": "FNR at fpr=0.01", "limit": 1.5, "pairing": "paired"},
    ),
    "baseline_not_used": SentenceTemplate(
        "The baseline is not used: no condition of the policy has than: baseline"
    ),
    "no_longer_accepted": SentenceTemplate(
        "No longer accepted: {groups}", {"groups": "f at fpr=0.01"}
    ),
    # monitor
    "no_group_judged": SentenceTemplate(
        "No alarm, as no group is judged: {reasons}", {"reasons": "too few speakers"}
    ),
    "no_alarm": SentenceTemplate(
        "No alarm: no group is shown to have {rates}",
        {"rates": "more than 1.25 times the false reject rate of all other groups combined"},
    ),
    "alarm_against_limit": SentenceTemplate(
        "false reject rate of {group} {ratio} times the limit", {"group": "f", "ratio": "1.4"}
    ),
    "alarm_against_rate": SentenceTemplate(
        "false rejects {ratio} times as frequent among {group} as {reference}",
        {"ratio": "1.4", "group": "f", "reference": "all other groups combined"},
    ),
    "rise_no_longer_shown": SentenceTemplate("The data up to today no longer show this rise"),
    "group_not_judged_today": SentenceTemplate(
        "The group is not judged today ({reason})", {"reason": "too few speakers"}
    ),
    "alarm_above_limit": SentenceTemplate(
        "The false reject rate of {group} is {fnr} [{low}, {high}], above the limit of "
        "{reference} {counts}",
        {
            "group": "f",
            "fnr": "1.20 %",
            "low": "1.0 %",
            "high": "1.6 %",
            "reference": "0.8 %",
            "counts": "(12 of 900 trials of 40 speakers since 2026-01-05)",
        },
    ),
    "alarm_of_group": SentenceTemplate(
        "False rejects are {times} {relation}: {fnr} {counts}, against {reference}",
        {
            "times": "1.9 times [1.3, 2.8]",
            "relation": "as frequent among f as among all other groups",
            "fnr": "1.20 %",
            "counts": "(12 of 900 trials of 40 speakers since 2026-01-05)",
            "reference": "0.8 %",
        },
    ),
    "other_groups_rise": SentenceTemplate(
        "In all other groups combined, false rejects are {times} times as frequent as before",
        {"times": 1.2},
    ),
    "alarm_paragraph": SentenceTemplate(
        "{sentence} The rise began about {day}, and the alarm was raised on {alarm_day}.{state} "
        "There would be no alarm with {errors} errors or fewer, or if {impostors} of these trials "
        "were rejected impostors",
        {
            "sentence": "False rejects are 1.9 times as frequent among f.",
            "day": "2026-01-05",
            "alarm_day": "2026-02-02",
            "state": "",
            "errors": 9,
            "impostors": "0.40 %",
        },
    ),
    "no_group_is_judged": SentenceTemplate("No group is judged"),
    "impostor_assumption": SentenceTemplate(
        "Assumption: at most {impostors:g} % of the trials of any group were made by impostors",
        {"impostors": 1.0},
    ),
    "trials_excluded_or_repeated": SentenceTemplate(
        "Trials excluded or repeated on the last day: {counts}", {"counts": "12 repeated"}
    ),
    "late_rises": SentenceTemplate(
        "Rises that begin after the first year are tested from the last week of that year on. "
        "Begin a new state"
    ),
    "state_size": SentenceTemplate(
        "The state has {size} bytes, {size_per_speaker:.0f} per speaker",
        {"size": "12,000", "size_per_speaker": 300},
    ),
    "alarm_margin": SentenceTemplate(
        "An alarm requires a rate of more than {margin:g} times the reference rate; a limit "
        "applies without this margin",
        {"margin": 1.5},
    ),
    "no_daily_variation": SentenceTemplate("rates do not vary from day to day"),
    "daily_variation": SentenceTemplate(
        "rates vary from day to day by at most {percent:g} % of their mean (standard deviation)",
        {"percent": 10},
    ),
    "false_alarm_chance": SentenceTemplate(
        "If speakers err independently of each other, and {variation}, the chance of any false "
        "alarm is at most {alarm_percent:g} %, however often you check. Under the same "
        "conditions, all intervals hold at once with at least {interval_percent:g} % probability. "
        "Groups with more variation from day to day are not judged.{margin}",
        {
            "variation": "rates do not vary from day to day",
            "alarm_percent": 5,
            "interval_percent": 90,
            "margin": " An alarm requires a rate of more than 1.5 times the reference rate",
        },
    ),
    "small_groups_not_watched": SentenceTemplate(
        "Not watched, because fewer than {speakers} speakers were known at the start: {groups}",
        {"speakers": 5, "groups": 4},
    ),
    # plan
    "attacks_of_pilot": SentenceTemplate(
        "Numbers for SFAR are for the attacks of the pilot: more speakers show nothing about "
        "other attacks"
    ),
    "aim_of_plan": SentenceTemplate(
        "Aim: to detect, with probability {power:g}, a group whose rate is {detect_ratio:g} times "
        "that of all other groups combined (two-sided test at {confidence:g} % confidence)",
        {"power": 0.8, "detect_ratio": 1.5, "confidence": 95.0},
    ),
    "not_shown_here": SentenceTemplate(
        "Further results with --json: {tables}", {"tables": "pairs"}
    ),
    "assumptions_of_plan": SentenceTemplate(
        "Required numbers are per group and assume groups of equal size. All numbers assume that "
        "a single group is tested and that speakers vary as in the pilot"
    ),
    "confidence_for_several_groups": SentenceTemplate(
        "To test {rates} of {groups} groups together (Holm), use --confidence "
        "{adjusted_confidence:.4f}",
        {"rates": "both error rates", "groups": 4, "adjusted_confidence": 0.9937},
    ),
    "speakers_to_fail_and_pass": SentenceTemplate(
        "Speakers per group that are needed, with probability {power:g}, to fail a group at "
        "{detect_ratio:g} times the allowed value, and to pass a group with the rates of all "
        "other groups:",
        {"power": 0.8, "detect_ratio": 1.5},
    ),
    "dash_is_no_number": SentenceTemplate("–: no number of speakers is enough"),
    "variation_of_all_groups": SentenceTemplate(
        "* computed with the variation between the speakers of all groups, as the group has fewer "
        "than 10 speakers or fewer than 30 errors"
    ),
    "speakers_and_trials_needed": SentenceTemplate(
        "{title}, {groups} groups of equal size: each group needs {speakers:,} speakers and "
        "{trials:,} trials, with {trials_each} trials per speaker{counted_twice} (rate {rate}, "
        "correlation within speakers {icc:.2g}, {icc_source})",
        {
            "title": "To detect 1.5 times the FNR",
            "groups": 4,
            "speakers": 120,
            "trials": 6000,
            "trials_each": 50,
            "counted_twice": "",
            "rate": "1.20 %",
            "icc": 0.12,
            "icc_source": "of the pilot",
        },
    ),
    "more_trials_per_speaker": SentenceTemplate(
        "{more_trials} instead of {trials_each} trials per speaker would {saving}: {advice}",
        {
            "more_trials": 100,
            "trials_each": 50,
            "saving": "reduce the number of speakers needed by 10 %",
            "advice": "record more speakers",
        },
    ),
    # releases
    "trials_compared_paired": SentenceTemplate("paired, as both audits have the same trials"),
    "trials_compared_unpaired": SentenceTemplate(
        "unpaired, with wider intervals, as the trials are not shown to be the same"
    ),
    "releases_with_same_scores": SentenceTemplate(
        "{release} and {before} have the same scores{of_system}, so no rate changed",
        {"release": "new", "before": "old", "of_system": ""},
    ),
    "error_types_not_compared": SentenceTemplate(
        "{error_types} ({metric}) are not compared",
        {"error_types": "Spoof accepts", "metric": "SFAR"},
    ),
    "only_some_audits_have_them": SentenceTemplate(
        "{error_types}, as only some of the audits have them",
        {"error_types": "Spoof accepts (SFAR) are not compared"},
    ),
    "attacks_differ": SentenceTemplate(
        "The attacks differ, so changes in spoof accepts may come from the attacks"
    ),
    "speakers_changed_group": SentenceTemplate(
        "Between {before} and {release}, at least {speakers} changed group by {grouping}. The "
        "rates of {groups} are compared unpaired, as the speakers of these groups differ",
        {
            "before": 1.0,
            "release": 1.1,
            "speakers": "2 speakers",
            "grouping": "gender",
            "groups": 4,
        },
    ),
    "rate_fixed_by_point": SentenceTemplate(
        "{error_type}: the pooled rate is fixed by {point}",
        {"error_type": "False rejects", "point": "fpr=0.01"},
    ),
    "use_json_for_other_points": SentenceTemplate(
        "For other operating points ({points}), use --json", {"points": "fpr=0.001"}
    ),
    "no_trend_shown": SentenceTemplate("No group is shown to have a trend"),
    # thresholds
    "no_group_for_threshold": SentenceTemplate(
        "No group is large enough for a group-specific threshold"
    ),
    "one_common_threshold": SentenceTemplate(
        "One common threshold: {reason}", {"reason": "no group is shown to miss the aim"}
    ),
    "groups_differ_at_threshold": SentenceTemplate(
        "At the common threshold, {difference}: {groups}",
        {"difference": "2 of 8 groups miss the aim fpr=0.01", "groups": 4},
    ),
    "mean_gain": SentenceTemplate(
        "The gain in cost from group-specific thresholds, averaged over groups, is {gain}: {cost}",
        {"gain": "not tested", "cost": "0.01 [0.00, 0.02]"},
    ),
    "gain_of_costliest_group": SentenceTemplate(
        "For {group}, the group with the largest cost, the gain is {gain}: {cost}",
        {"group": "f", "gain": "not tested", "cost": "0.01 [0.00, 0.02]"},
    ),
    "gain_over_all_trials": SentenceTemplate(
        "Over all trials, the gain is {gain}: {cost}",
        {"gain": "not tested", "cost": "0.01 [0.00, 0.02]"},
    ),
    "gains_tested_if_group_differs": SentenceTemplate(
        "Gains are tested only if a group is shown to differ"
    ),
    "fpr_of_groups_differs": SentenceTemplate(
        "the FPR of {groups} is not {rate}", {"groups": "2 of 8 groups", "rate": 0.01}
    ),
    "error_rates_of_groups_differ": SentenceTemplate(
        "error rates of {groups} differ from those of all trials", {"groups": "2 of 8 groups"}
    ),
    "no_group_misses_aim": SentenceTemplate("no group is shown to miss the aim"),
    "no_group_with_other_fpr": SentenceTemplate(
        "no group is shown to have an FPR other than {rate}", {"rate": 0.01}
    ),
    "no_group_with_other_rates": SentenceTemplate(
        "no group is shown to have error rates other than those of all trials"
    ),
    "threshold_rules": SentenceTemplate(
        "Cost ({cost}), mean over groups and of {group}, the group with the largest cost at the "
        "common threshold, on speakers held out on both sides:",
        {"cost": "min-cdet", "group": "f"},
    ),
    "threshold_not_needed": SentenceTemplate("not shown to need another threshold"),
    "too_few_for_threshold": SentenceTemplate(
        "too few speakers for a group-specific threshold, so the gain is unknown"
    ),
    "keep_common_threshold": SentenceTemplate(
        "Keep the common threshold for {groups}: {reason}",
        {"groups": 4, "reason": "too few speakers"},
    ),
    "group_known_in_every_trial": SentenceTemplate(
        "the group is known in every trial here; trials without a group use the common {noun}",
        {"noun": "threshold"},
    ),
    "group_unknown_in_trials": SentenceTemplate(
        "the group is unknown in {unknown} of {trials} trials, which use the common {noun}",
        {"unknown": 12, "trials": "1,200", "noun": "threshold"},
    ),
    "group_needed": SentenceTemplate(
        "Note: a group-specific {noun} needs the group of the {side} at every decision: "
        "{coverage}. Groups predicted from the voice are wrong more often for some groups than "
        "for others, and so are their {noun}s",
        {
            "noun": "threshold",
            "side": "enrolment speaker",
            "coverage": "the group is known in every trial here",
        },
    ),
    "rule_written": SentenceTemplate(
        "Rule: {path}. To audit it: parivox audit ... --thresholds {path}", {"path": "rules.yaml"}
    ),
    "write_rule": SentenceTemplate(
        "To write the rule, add --out rules.yaml. To audit it: parivox audit ... --thresholds "
        "rules.yaml"
    ),
}
"""Every sentence by its code."""
