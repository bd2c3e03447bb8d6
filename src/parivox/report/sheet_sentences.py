"""Sentences of the catalogue around the tables of reports, papers and workbooks."""

from __future__ import annotations

from parivox.report.sentence_template import SentenceTemplate

SHEET_SENTENCES: dict[str, SentenceTemplate] = {
    # sheets comparison
    "no_p_valid_method_unknown": SentenceTemplate("no p: no valid method is known"),
    "no_such_group": SentenceTemplate("there is no such group"),
    "rates_are_of_trials": SentenceTemplate(
        "FNR: target trials rejected; FPR: nontarget trials accepted"
    ),
    "brackets_are_intervals": SentenceTemplate(
        "In brackets: {confidence:g} % confidence intervals over speakers", {"confidence": 95.0}
    ),
    "parentheses_are_counts": SentenceTemplate(
        "In parentheses, where there is no interval: errors/trials"
    ),
    "cells_are_rates": SentenceTemplate(
        "Each cell: rate in percent with its interval or, without interval, with errors/trials. "
        "*: under-represented; {undefined}: no such group, or no trials",
        {"undefined": "–"},
    ),
    "no_margin_for_attribute": SentenceTemplate(
        "There is no row or column “all” for {attribute}, as {attribute} alone is not a grouping "
        "of the audit: add --by {attribute}",
        {"attribute": "age"},
    ),
    # sheets groups
    "no_ratio_of_reference": SentenceTemplate(
        "no ratio, as {reference} has no errors or no trials",
        {"reference": "all other groups combined"},
    ),
    "no_interval_of_ratio": SentenceTemplate(
        "no interval, as the group or {reference} has too few speakers or errors",
        {"reference": "all other groups combined"},
    ),
    "confidence_intervals_missing": SentenceTemplate(
        "No confidence intervals: {reason}", {"reason": "too few speakers"}
    ),
    "brackets_and_p": SentenceTemplate(
        "In brackets: {confidence:g} % confidence intervals over speakers; p: adjusted (Holm) for "
        "all groups and {error_types}",
        {"confidence": 95.0, "error_types": "both error types"},
    ),
    "rates_and_ratio": SentenceTemplate(
        "FNR: target trials rejected; FPR: nontarget trials accepted{spoof}; ratio: the rate "
        "divided by the rate of {reference}. {intervals} {trials}",
        {
            "spoof": "",
            "reference": "all other groups combined",
            "intervals": "In brackets: 95 % confidence intervals over speakers.",
            "trials": "1,200 trials",
        },
    ),
    "spoof_accepts_of_group": SentenceTemplate(
        "Spoof accepts of a group: {trials}",
        {"trials": "counted over spoof trials that claim a speaker of the group"},
    ),
    "false_accepts_of_group": SentenceTemplate(
        "{numbers} False accepts of a group: {allocation}.{spoof}",
        {
            "numbers": "1,200 trials.",
            "allocation": "a nontarget trial counts for a group if both speakers belong to it",
            "spoof": " Spoof accepts of a group: spoof trials that claim a speaker of the group",
        },
    ),
    "trials_in_no_group_of_grouping": SentenceTemplate(
        "{trials} trials are in no group", {"trials": "120 target and 30 nontarget"}
    ),
    # sheets identification
    "another_profile_or_nobody": SentenceTemplate(
        "another person’s profile was used, or nobody was recognised"
    ),
    # sheets measures
    "chance_unknown_without_intervals": SentenceTemplate(
        "Without intervals, the part due to chance is unknown"
    ),
    "equal_rates_and_floor": SentenceTemplate(
        "Equal: mean and noise floor (95 %) if rates were equal in all groups, for these speakers "
        "and trials; p: probability, in this case, of a value at least as unfair as the observed "
        "value. A value within the floor does not show fairness"
    ),
    "no_valid_noise_floor": SentenceTemplate("no valid noise floor is known"),
    "logarithm_of_no_errors": SentenceTemplate(
        "a group has no errors, so the logarithm is undefined"
    ),
    "no_interval_valid_method_unknown": SentenceTemplate("no interval: no valid method is known"),
    "too_few_for_spread": SentenceTemplate(
        "Too few groups are {condition} to compute a spread. For all groups",
        {"condition": "judged in all systems"},
    ),
    "groups_not_judged_everywhere": SentenceTemplate(
        "Groups not judged in every system: {groups}", {"groups": 4}
    ),
    # sheets paper
    "accepted_at_common_threshold": SentenceTemplate(
        "A trial is accepted if its score is at least the threshold, the same for all groups"
    ),
    "rates_at_common_threshold": SentenceTemplate(
        "Error rates of each group at a common threshold: false rejects (FNR: target trials "
        "rejected) and false accepts (FPR: nontarget trials accepted)"
    ),
    "letters_that_pdflatex_lacks": SentenceTemplate(
        "% contains letters that pdfLaTeX lacks: use LuaLaTeX and a font with them"
    ),
    # sheets supplementary
    "failures_are_attempts": SentenceTemplate("each trial of a failed recording is an attempt"),
    "failures_by_share": SentenceTemplate(
        "by the share of failed recordings, as the list contains no trials of them"
    ),
    "failures_are_rejections": SentenceTemplate(
        "recordings that could not be acquired are rejections ({rule})",
        {"rule": "each trial of a failed recording is an attempt"},
    ),
    "speaker_error_shares": SentenceTemplate(
        "Speakers at {point}: share of speakers whose own FNR is above the limit (corrected for "
        "the noise of few trials), and share of false rejects that come from the 10 % of speakers "
        "with the most",
        {"point": "fpr=0.01"},
    ),
    "success_of_attempts": SentenceTemplate(
        "Per {speakers:,} in {attempts} attempts at {point}, if attempts are independent: "
        "speakers rejected (if all have the same rate, or if rates differ as they do between "
        "these speakers) and impostors accepted. Last column: attempts until an impostor is "
        "accepted with 95 % probability",
        {"speakers": 1000, "attempts": 3, "point": "fpr=0.01"},
    ),
    # sheets workbook
    "sheet_omitted": SentenceTemplate("omitted, as a sheet cannot have so many rows"),
}
"""Every sentence by its code."""
