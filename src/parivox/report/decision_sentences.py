"""Sentences of the catalogue on thresholds, calibrators, plans, monitoring and score metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.report.sentence_template import SentenceTemplate

if TYPE_CHECKING:
    from collections.abc import Mapping


def _without_speakers(values: Mapping[str, Any]) -> str:
    words = "no intervals, because the speakers are unknown"
    if values["groups"]:
        words += "; to test whether groups differ beyond chance, run parivox audit with speaker ids"
    return words


def _scores_calibrated(values: Mapping[str, Any]) -> str:
    words = f"{values['rows']:,} rows in {values['path']}: natural-log likelihood ratios"
    if values["of_own_calibrator"]:
        words += f", {values['of_own_calibrator']:,} of them from group-specific calibrators"
    return words


def _llrs_on_one_side(values: Mapping[str, Any]) -> str:
    """Return that no ratio is on the other side of 0; some may be 0."""
    other_side = "below" if values["side"] == "above" else "above"
    return (
        f"data warning: no log-likelihood ratio is {other_side} 0. The calibrator may belong to "
        "another model or score scale"
    )


DECISION_SENTENCES: dict[str, SentenceTemplate] = {
    # why a group has no threshold or calibrator of its own
    "few_speakers_to_fit": SentenceTemplate(
        "{speakers} speakers remain for the fit; {needed} are needed",
        {"speakers": 3, "needed": 5},
    ),
    "few_trials_to_fit": SentenceTemplate(
        "{operating_point} corresponds to less than one error in the {trials} trials left for the "
        "fit",
        {"operating_point": "fpr=0.001", "trials": 500},
    ),
    "equal_scores": SentenceTemplate("all scores are equal"),
    "separate_classes": SentenceTemplate(
        "every target trial outscores all nontarget trials, so the slope is unlimited"
    ),
    "inverted_classes": SentenceTemplate("every nontarget trial outscores all target trials"),
    "falling_line": SentenceTemplate("higher scores do not make a target trial more likely"),
    "without_folds": SentenceTemplate(
        "fitted without the speakers in {left_out} of {folds} folds", {"left_out": 1, "folds": 5}
    ),
    # scores that a calibrator was applied to
    "scores_calibrated": SentenceTemplate(
        _scores_calibrated, {"rows": 1200, "of_own_calibrator": 300, "path": "llr.csv"}
    ),
    "all_llrs_on_one_side": SentenceTemplate(_llrs_on_one_side, {"side": "above"}),
    # why something is not planned
    "no_number_suffices": SentenceTemplate("no number of speakers is enough"),
    "not_in_plan": SentenceTemplate(
        "the plan does not cover this rate, grouping and operating point"
    ),
    # why a group is not monitored
    "few_earlier_weeks": SentenceTemplate("fewer than {weeks} weeks of earlier data", {"weeks": 4}),
    "varying_rates": SentenceTemplate("rates vary from day to day for many speakers"),
    # metrics of scores
    "infinite_ratio": SentenceTemplate(
        "the metric is infinite: a trial has an infinite log-likelihood ratio with the wrong sign"
    ),
    "trials_without_score_left_out": SentenceTemplate(
        "{trials:,} trials without a score were excluded", {"trials": 120}
    ),
    "trials_in_no_group": SentenceTemplate("{trials:,} trials are in no group", {"trials": 120}),
    "group_without_trials": SentenceTemplate(
        "{group} has no {trials} trials, so most metrics are undefined",
        {"group": "f", "trials": "target"},
    ),
    "speakers_not_given": SentenceTemplate(_without_speakers, {"groups": True}),
}
"""Every sentence by its code."""
PLAN_REASONS = {
    "one_group": "there is no other group",
    "shared_trials": "groups share trials",
    "unknown_speakers": "the number of speakers is unknown",
    "no_trials": "the group has no trials",
    "no_errors_of_others": "the other groups have no errors",
    "unknown_icc": "too few errors to estimate how the group's speakers vary",
    "few_speakers": "fewer than 5 speakers",
    "rate_above_one": "the requested ratio gives a rate above 1",
    "none_detectable": "no ratio is detectable",
    "too_many_speakers": "more than a billion speakers are needed",
    "unknown_trials": "the number of trials is unknown",
    "few_trials": "too few trials to expect 30 independent errors at any rate",
}
"""Why a plan has no figure, where another table says it in other words."""
