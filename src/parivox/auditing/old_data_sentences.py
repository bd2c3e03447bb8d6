"""The sentences of the table ``data`` of 0.1 and 0.2, by the code that is in their place now.

`old_sentences` reads them. Notes that list what is in the data are shown as they were written.
"""

from __future__ import annotations

from itertools import product

_ALLOCATED = " (allocation {allocation})"
_SENTENCES = {
    # what was counted
    "rows": "rows",
    "trials": "trials",
    "target trials": "target_trials",
    "nontarget trials": "nontarget_trials",
    "models": "models",
    "recordings": "recordings",
    "trials without score": "trials_without_score",
    "trials without decision": "trials_without_decision",
    "decisions of trials without score": "decisions_without_score",
    "exact duplicates": "exact_duplicates",
    "contradicting rows": "contradicting_rows",
    "labels that contradict the speakers": "labels_against_speakers",
    "reversed pairs": "reversed_pairs",
    "trials of an utterance with itself": "trials_of_one_utterance",
    "infinite scores": "infinite_scores",
    "trials of a recording that failed": "trials_of_failed_recordings",
    "scores of trials that failed": "scores_of_failed_trials",
    "decisions that contradict score and threshold": "decisions_against_threshold",
    "scores that are in no trial": "scores_in_no_trial",
    "recordings that failed": "failed_recordings",
    "enrolments that failed and that no trial has": "failed_enrolments_without_trials",
    "test recordings that failed and that no trial has": "failed_tests_without_trials",
    "trials labelled by their speakers": "trials_labelled_by_speakers",
    "utterances with a speaker in a column": "utterances_in_column",
    "utterances with a speaker in the table": "utterances_in_table",
    "utterance ids that begin with their speaker": "ids_begin_with_speaker",
    "enrolments whose speaker a pattern tells": "enrolments_by_pattern",
    "enrolments that are models": "enrolments_by_models",
    "enrolments that have the name of their speaker": "enrolments_by_name",
    "rows without id": "rows_without_id",
    "rows that repeat a speaker": "repeated_speaker_rows",
    "rows that repeat an utterance": "repeated_utterance_rows",
    "rows that repeat a recording of a model": "repeated_model_rows",
    "rows whose column '{column}' is not used": "rows_with_unused_column",
    "speakers with unknown {attribute}": "speakers_with_unknown_value",
    "speakers with two values of {attribute}": "speakers_with_two_values",
    "{unit} whose {attribute} '{value}' is left out by the groups file": "left_out_by_groups_file",
    "speakers of these trials whose group is unknown or left out": "speakers_of_unknown_group",
    "utterances of these trials whose group is unknown or left out": (
        "utterances_of_unknown_group"
    ),
    "speakers of groups without any trial": "speakers_without_trials",
    f"trials of a {{unit}} whose group is unknown, in no group{_ALLOCATED}": (
        "trials_of_unknown_group"
    ),
    f"trials of a {{unit}} whose group is unknown{{or_withheld}}, in no group{_ALLOCATED}": (
        "trials_of_unknown_group"
    ),
    f"nontarget trials between two groups, in no group{_ALLOCATED}": (
        "nontarget_trials_between_two_groups"
    ),
    f"trials between two groups, in no group{_ALLOCATED}": "trials_between_two_groups",
    "trials in no level of --within, or between two": "trials_in_no_stratum",
    "trials without decision or threshold, not in deployed": "undecided_trials",
    f"trials without decision or threshold, not in deployed{_ALLOCATED}": "undecided_trials",
    "trials of a list too long for memory": "trials_beyond_memory",
    "trials at the deployed threshold {threshold}": "trials_at_deployed_threshold",
    "trials at the deployed threshold {threshold}; lowest and highest of {extremes_of}": (
        "trials_at_deployed_threshold"
    ),
    f"trials at the deployed threshold {{threshold}}{_ALLOCATED}": "trials_at_deployed_threshold",
    (
        f"trials at the deployed threshold {{threshold}}{_ALLOCATED}; lowest and highest of "
        "{extremes_of}"
    ): "trials_at_deployed_threshold",
    "contradicting rows set aside": "contradicting_rows_set_aside",
    f"contradicting rows set aside{_ALLOCATED}": "contradicting_rows_set_aside",
    "{item} (by enrolment speaker)": "counted_by_speaker",
    # files of counts
    "files of counts": "files_of_counts",
    "group withheld": "group_withheld",
    "level withheld: {stratum}": "stratum_withheld",
    "not known from counts: {content}": "not_in_counts",
    # what two systems or lists share
    "the same trials": "same_trials",
    "{common} of {first} and {second} trials in common, which are compared": (
        "compared_on_common_trials"
    ),
    (
        "{common} of {first} and {second} trials in common to all {systems} systems, which are "
        "compared"
    ): "compared_on_common_trials",
    "{common} of {first} and {second} trials in common, lists compared as wholes": (
        "common_trials_of_lists"
    ),
    "no trial in common, lists compared as wholes": "no_common_trial",
    "lists compared as wholes": "lists_compared_as_wholes",
    "no speaker in common": "no_common_speaker",
    "the same speakers, {speakers}": "same_speakers",
    "{common} of {first} and {second} speakers in common": "common_speakers",
    # what was done about it
    "left out": "left_out",
    "left out with their trials": "left_out_with_trials",
    "left out with their trials, as the others have scores": "left_out_as_others_are_scored",
    "counted once": "counted_once",
    "set aside": "set_aside",
    "kept": "kept",
    "kept as trials of their own": "kept_as_trials",
    "{trials} of them with another score, by up to {difference}": "other_scores",
    "merged": "merged",
    "taken as unknown": "taken_as_unknown",
    "counted as rejected in FRR and FAR": "counted_as_rejected",
    "counted in FTE or FTA alone": "counted_in_fte_or_fta",
    "each compared with all others": "compared_with_all_others",
    "the file has no labels": "no_labels",
    "there is no status": "no_status",
    "what became of a trial is told by the score file": "scores_tell_outcomes",
    "both sides must have one value; enrol.x or test.x takes that of one side": (
        "both_sides_must_have_one_value"
    ),
    "it takes the rows of the trials": "needs_rows",
    "counts hold sums of them": "counts_hold_sums",
    "not known of several files of counts: one may be in all of them": ("unknown_in_several_files"),
    "their keys differ, so that one at two sites is taken for two people": "keys_of_sites_differ",
    "only of each file by itself": "of_each_file_only",
    # what was noticed
    "different numbers of '{attribute}'": "range_of_numbers",
    "values of '{attribute}' that may be one": "values_that_may_be_one",
    "values of '{attribute}' that look unknown": "values_that_look_unknown",
    "values of '{attribute}' that look like dates": "values_that_look_like_dates",
    "numbers of '{attribute}' far from all others": "numbers_far_from_others",
    "ids as a spreadsheet shortens long numbers": "ids_shortened_by_spreadsheet",
    "ids as a spreadsheet writes numbers": "ids_like_numbers_of_spreadsheet",
    "ids as a spreadsheet makes dates of": "ids_like_dates_of_spreadsheet",
    "ids that differ in case only": "ids_alike_but_for_case",
    "ids that differ in slashes only": "ids_alike_but_for_slashes",
    "ids that differ in their ending only": "ids_alike_but_for_endings",
    "ids that differ in characters that look alike": "ids_with_similar_characters",
    "target trials, each of an utterance with itself": "target_trials_of_themselves",
    "as where ids are cut at the first full stop, which SpeechBrain does; write them whole": (
        "ids_may_be_cut"
    ),
    "target trials set aside, so that none is left": "no_target_trial_left",
    "they contradict": "contradictory",
    "trials that share one score": "trials_with_one_score",
    "target trials that score lower than 95 % of the nontarget trials": "low_target_scores",
    "signs may be turned, or labels": "signs_or_labels_may_be_turned",
    "{class} trials whose scores seem to be on another scale": "scores_on_another_scale",
    "development trials that are audited": "audited_development_trials",
    "thresholds fit them better than trials in use": "thresholds_fit_too_well",
    "neither the list nor ids and scores are checked; audit a random part of it to have them": (
        "list_and_scores_unchecked"
    ),
    "missed operating points": "missed_points",
    "infinite thresholds": "infinite_thresholds",
}
_METRICS = {
    f"{name} {rows} contradicting rows{allocation}": f"{rows}_contradicting_rows"
    for rows, name, allocation in product(
        ("without", "with"),
        ("{metric} at {operating_point}", "{metric} ({definition})"),
        (_ALLOCATED, ""),
    )
}
"""Metrics of the rows that are left, and of all rows."""
DATA_SENTENCES = {**_SENTENCES, **_METRICS}
"""The code of each sentence, with the names of its values."""
CONTENTS = {
    "anything by speaker or recording": "by_speaker_or_recording",
    "anything by recording": "by_recording",
    "median and quantile of seconds": "quantiles_of_seconds",
    "speakers": "speakers",
    "failure-to-enrol and failure-to-acquire rates": "failure_rates",
    "trials that are in several files": "trials_in_several_files",
    "speakers who are at several sites": "speakers_at_several_sites",
}
"""The code of what cannot be had from counts."""
