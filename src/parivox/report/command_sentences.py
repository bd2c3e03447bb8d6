"""Sentences of the catalogue on what thresholds, calibrate, monitor, compare, gate and plan say."""

from __future__ import annotations

from parivox.report.sentence_template import SentenceTemplate

COMMAND_SENTENCES: dict[str, SentenceTemplate] = {
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
    "gain_over_all_trials": SentenceTemplate(
        "Over all trials, the gain {gain}: {cost}",
        {"gain": "is not tested", "cost": "0.01 [0.00, 0.02]"},
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
        "The gain in mean Cllr from group-specific calibrators {outcome}: {bits} bits",
        {"outcome": "is not tested", "bits": 0.01},
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
    # calibration
    "calibrator_differs_mark": SentenceTemplate(
        "* the group's own calibrator differs significantly from the common calibrator"
    ),
}
"""Every sentence by its code."""
