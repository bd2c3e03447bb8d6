"""Sentences of the catalogue on what was read, excluded and noticed: the table ``data``.

An inspection of files shows them, too. Sentences on what was counted stand behind a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.data.content_roles import roles_in_words
from parivox.data.joining import ID_DIFFERENCES
from parivox.data.score_bins import Bins
from parivox.data.trial_values import columns_option, failure_words_text
from parivox.data.value_warnings import alike_words
from parivox.errors import printable
from parivox.report.sentence_template import SentenceTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Values = Mapping[str, Any]


GIVE_RECORDINGS = "give --utterances with a column recording"
"""What settles which utterances are of one recording."""
_MAX_NAMED_GROUPS = 10
SHARED_FOLDERS_EXAMPLE = {
    "n_names": 2,
    "examples": ["de", "en"],
    "most_speakers": 30,
    "n_speakers": 30,
    "are_numbered": False,
}
"""Values of a fact on names of folders that many speakers share."""


def _quoted_list(values: Iterable[str]) -> str:
    return ", ".join(f"'{printable(value)}'" for value in values)


def _number_list(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _examples(values: Values) -> str:
    return _quoted_list(values["values"])


def _leave_empty_if_unknown(values: Values) -> str:
    return f"{_examples(values)}; leave the cell empty if it means unknown"


def _numbers(values: Values) -> str:
    return _number_list(values["numbers"])


def _same_values(values: Values) -> str:
    return "; ".join(map(alike_words, values["values"]))


def _synonyms(values: Values) -> str:
    return "; ".join(
        " and ".join(f"'{printable(value)}'" for value in synonyms) for synonyms in values["values"]
    )


def _two_codings(values: Values) -> str:
    return f"{_quoted_list(values['codes'])} and {_quoted_list(values['words'])}"


def _changed_by_spreadsheet(values: Values) -> str:
    return f"{', '.join(values['values'])}: a spreadsheet may have changed these values"


def _codes_0_1_or_1_2(values: Values) -> str:
    return f"{_numbers(values)}: the codes may be 0 and 1, or 1 and 2 with 0 for unknown"


def _children_or_decades(values: Values) -> str:
    return f"{_numbers(values)}: these may be ages of children, or decades"


def _distant_numbers(values: Values) -> str:
    numbers = values["numbers"]
    more = ", ..." if values["more"] else ""
    others = f"{values['others_from']:g} to {values['others_to']:g}"
    return f"{_number_list(numbers)}{more}; all other numbers range from {others}"


def _ids(values: Values) -> str:
    return ", ".join(values["ids"])


def _two_ids(values: Values) -> str:
    return " and ".join(values["ids"])


def _share_of_score(values: Values) -> str:
    return f"{values['score']}, the score of {100 * values['share']:.3g} % of the trials"


def _with_span(words: str) -> Callable[[Values], str]:
    """Return a template of what scores of this range are like."""

    def sentence(values: Values) -> str:
        return f"the scores range from {values['low']:.4g} to {values['high']:.4g}, {words}"

    return sentence


def _threshold_beyond_scores(where: str, decided: str) -> Callable[[Values], str]:
    """Return a template on a Bayes threshold beyond all scores."""

    def sentence(values: Values) -> str:
        return (
            f"the threshold for {values['cost']} ({values['threshold']:.4g}) is {where} score "
            f"({values['extreme']:.4g}), so every trial is {decided}"
        )

    return sentence


def shared_folders_text(values: Values) -> str:
    """Return why folders may be no recordings: many speakers share their names."""
    shown = ", ".join(map(repr, values["examples"]))
    more = ", ..." if values["n_names"] > len(values["examples"]) else ""
    may_be = "look like values of an attribute (language, device, type of session)"
    if values["are_numbered"]:
        may_be = "may number the recordings of each speaker, or be values of an attribute"
    return (
        f"folder names {shown}{more}, shared by up to {values['most_speakers']:,} of "
        f"{values['n_speakers']:,} speakers, {may_be}"
    )


def _allocation(values: Values) -> str:
    """Return by which allocation trials are counted, if they are of groups."""
    return f" (allocation {values['allocation']})" if "allocation" in values else ""


def _with_allocation(words: str) -> Callable[[Values], str]:
    """Return a template of what is counted, with the allocation behind it."""
    counted = _with_number(words)

    def sentence(values: Values) -> str:
        return f"{counted(values)}{_allocation(values)}"

    return sentence


def _counted(words: str, example: Values | None = None) -> SentenceTemplate:
    """Return a template of what is counted, in the singular if the value ``count`` is 1.

    ``{s}`` is the ending of a noun, ``{v}`` that of a verb.
    """
    return SentenceTemplate(_with_number(words), example or {})


def _with_number(words: str) -> Callable[[Values], str]:
    """Return words in the plural, or in the singular if they stand behind the number 1."""

    def sentence(values: Values) -> str:
        endings = {"s": "s", "v": "", "are": "are"}
        if values.get("count") == 1:
            endings = {"s": "", "v": "s", "are": "is"}
        return words.format(**endings, **values)

    return sentence


def _trials_of_unknown_group(values: Values) -> str:
    withheld = " or suppressed" if values.get("or_withheld") else ""
    return (
        f"{_TRIALS(values)} in no group, because a {values['unit']}'s group is unknown{withheld}"
        f"{_allocation(values)}"
    )


def _trials_at_deployed_threshold(values: Values) -> str:
    words = (
        f"{_TRIALS(values)} at the deployed threshold {values['threshold']}{_allocation(values)}"
    )
    if "extremes_of" in values:
        words += f"; only the lowest and highest of {values['extremes_of']:,} thresholds are listed"
    return words


def _metric_of_rows(rows: str) -> Callable[[Values], str]:
    """Return a template on a metric with or without contradicting rows."""

    def sentence(values: Values) -> str:
        return f"{metric_text(values)} {rows} contradictory rows{_allocation(values)}"

    return sentence


def metric_text(values: Values) -> str:
    """Return the metric that a fact is about, with its operating point or definition."""
    if "operating_point" in values:
        return f"{values['metric']} at {values['operating_point']}"
    return f"{values['metric']} ({values['definition']})"


def _points(values: Values) -> str:
    return ", ".join(map(_point_text, values["points"]))


def _point_text(point: Values) -> str:
    """Return what is unusual about an operating point."""
    name = point["operating_point"]
    if "rate" in point:
        return f"{name} gives a rate of {100 * point['rate']:.3g} %"
    if "threshold" in point:
        return f"{name} has a threshold of {point['threshold']}"
    if "decision" in point:
        return f"{name} {point['decision']} all trials"
    if "fpr" in point:
        return f"{name} accepts {100 * point['fpr']:.3g} % of nontarget trials"
    return f"{name} rejects {100 * point['fnr']:.3g} % of target trials"


def _groups(values: Values) -> str:
    names = values["groups"]
    # audits of earlier releases name ten, and say how many more there are
    more = values["more"] + len(names[_MAX_NAMED_GROUPS:])
    return ", ".join(names[:_MAX_NAMED_GROUPS]) + (f" and {more} more" if more else "")


def _days(values: Values) -> str:
    more = ", ..." if values["more"] else ""
    return (
        f"{', '.join(values['days'])}{more}: nontarget trials are accepted more often than target "
        "trials"
    )


def _trials_not_selected(values: Values) -> str:
    conditions = (
        f"{condition['attribute']}={', '.join(condition['values'])}"
        for condition in values["conditions"]
    )
    verb = "does" if values.get("count") == 1 else "do"
    return f"{_TRIALS(values)} that {verb} not match {' and '.join(conditions)}"


def _share_of_few_speakers(values: Values) -> str:
    return (
        f"{100 * values['share']:.0f} % of all trials of this class ({values['speakers']} enrolled "
        "speakers)"
    )


def _bins(values: Values) -> str:
    bins = Bins(values["step"], tuple(values["thresholds"]))
    return f"trials are counted {'in' if bins.step else 'at'} {bins.in_words()}"


def _groups_suppressed(values: Values) -> str:
    groups = (f"{each['group']} ({each['grouping']})" for each in values["groups"])
    few_speakers = f"groups of fewer than {values['speakers']} speakers"
    return f"suppressed to protect {few_speakers}: {', '.join(groups)}"


def _speaker_counts(units: str, reader: str) -> Callable[[Values], str]:
    """Return a template of what speaker counts of these units disclose, to which reader."""

    def sentence(values: Values) -> str:
        trials = (
            "the number of trials of each pair in each bin of scores"
            if values["outcome"] == "scores"
            else "the outcomes of the trials of each pair"
        )
        return f"the file contains the groups of {units.format(**values)}, and {trials}{reader}"

    return sentence


def _groups_of_few_blocks(values: Values) -> str:
    groups = ", ".join(f"{n_blocks} of {group}" for group, n_blocks in values["blocks"].items())
    return f"few blocks give wide intervals: {groups}; a smaller --blocks gives more blocks"


def _size_of_counts(values: Values) -> str:
    groupings = ", ".join(values["groupings"])
    if values["within"]:
        groupings += f", within {', '.join(values['within'])}"
    return f"{values['trials']:,} trials as counts by {groupings}; {values['rows']:,} rows"


def _counted_text(code: str) -> str:
    """Return what was counted; a sentence of an earlier release as it is."""
    template = _COUNTED.get(code)
    return code if template is None else template.with_values({})


def _by_speaker(values: Values) -> str:
    return f"{_counted_text(values['counted'])} (by {values['side']} speaker)"


def _in_group(values: Values) -> str:
    counted = _counted_text(values["counted"])
    return f"{counted}: {values['group']} ({values['grouping']}), {100 * values['share']:.3g} %"


def _not_in_counts(values: Values) -> str:
    return f"not available from these score counts: {content_text(values['content'])}"


def content_text(content: str) -> str:
    """Return what cannot be had from counts; a sentence of an earlier release as it is."""
    template = CONTENTS.get(content)
    return content if template is None else template.with_values({})


def _columns_by_content(values: Values) -> str:
    return roles_in_words(values["columns"], [*values["columns"]])


def _attacks(values: Values) -> str:
    return ", ".join(values["attacks"])


def _share_difference(values: Values) -> str:
    return (
        f"the shares differ by up to {100 * values['difference']:.1f} percentage points: compare "
        "the SFAR with equal weight for each attack"
    )


def _spoof_share_difference(values: Values) -> str:
    return (
        f"the shares differ by up to {100 * values['difference']:.1f} percentage points: compare "
        "SASV-EERs at the same share of spoof trials"
    )


def _words_of_failures(values: Values) -> str:
    explanation = failure_words_text(values["words"])
    option = columns_option(values["columns"])
    return f"column {values['column']!r}: {explanation}; to audit, give {option}"


_TRIALS = _with_number("trial{s}")
_ATTRIBUTE = {"attribute": "gender"}
_ALLOCATED = {"allocation": "enrol"}
_FPR_POINT = {"operating_point": "fpr=0.01"}
_METRIC = {"metric": "fpr", **_FPR_POINT, **_ALLOCATED}
_SPAN = {"low": 0.02, "high": 0.97}

_COUNTED = {
    "rows": _counted("row{s}"),
    "trials": _counted("trial{s}"),
    "target_trials": _counted("target trial{s}"),
    "nontarget_trials": _counted("nontarget trial{s}"),
    "spoof_trials": _counted("spoof trial{s}"),
    "labels_of_espnet_spoof": _counted(
        "label{s} read as ESPnet codes for ASVspoof 5: 0 target, 1 nontarget, 2 spoof"
    ),
    "spoof_trials_of_other_speakers": _counted(
        "spoof trial{s} that imitate{v} a speaker other than the claimed one"
    ),
    "spoof_trials_without_attack": _counted("spoof trial{s} without attack"),
    "claimed_speakers_without_target_trials": _counted(
        "speaker{s} claimed in spoof trials but without any target trial"
    ),
    "spoofed_recordings_of_several_claims": _counted(
        "spoofed recording{s} whose trials claim several speakers"
    ),
    "trials_without_countermeasure_score": _counted("trial{s} without a countermeasure score"),
    "target_trials_rejected_by_countermeasure": _counted(
        "target trial{s} rejected by the countermeasure"
    ),
    "target_trials_rejected_by_verification": _counted(
        "target trial{s} rejected by the verification system alone"
    ),
    "tdcf": SentenceTemplate("t-DCF, normalised ({cost})", {"cost": "asvspoof5"}),
    "tdcf_raw": SentenceTemplate("t-DCF ({cost})", {"cost": "asvspoof5"}),
    "min_tdcf": SentenceTemplate("minimum t-DCF, normalised ({cost})", {"cost": "asvspoof5"}),
    "enrolments_of_every_test": _counted("enrolment{s} compared with every test recording"),
    "models": _counted("model{s}"),
    "recordings": _counted("recording{s}"),
    "trials_without_score": _counted("trial{s} without a score"),
    "trials_without_decision": _counted("trial{s} without a decision"),
    "target_trials_without_score": _counted("target trial{s} without a score"),
    "nontarget_trials_without_score": _counted("nontarget trial{s} without a score"),
    "tests_without_score": _counted("nontarget trial{s} without a score"),
    "missing_target_scores_differ": _counted(
        "target trial{s} without a score (the share differs between groups)"
    ),
    "missing_nontarget_scores_differ": _counted(
        "nontarget trial{s} without a score (the share differs between groups)"
    ),
    "rows_without_score_repeated": _counted(
        "row{s} without a score that repeat{v} the trial of another row"
    ),
    "trials_of_nobody": _counted("trial{s} of unknown speakers"),
    "decisions_without_score": _counted("decision{s} on trials without a score"),
    "exact_duplicates": _counted("exact duplicate{s}"),
    "contradicting_rows": _counted("contradictory row{s}"),
    "labels_against_speakers": _counted("label{s} that contradict{v} the speakers"),
    "reversed_pairs": _counted("reversed pair{s}"),
    "trials_of_one_utterance": _counted("trial{s} that compare{v} an utterance with itself"),
    "infinite_scores": _counted("infinite score{s}"),
    "nontarget_trials_without_test_speaker": _counted("nontarget trial{s} without a test speaker"),
    "trials_of_failed_recordings": _counted("trial{s} of failed recordings"),
    "scores_of_failed_trials": _counted("score{s} of failed trials"),
    "decisions_against_threshold": _counted(
        "decision{s} that contradict{v} the score and the threshold"
    ),
    "scores_in_no_trial": _counted("score{s} that belong{v} to no trial of the list"),
    "failed_recordings": _counted("failed recording{s}"),
    "failed_enrolments_without_trials": _counted("failed enrolment{s} that {are} in no trial"),
    "failed_tests_without_trials": _counted("failed test recording{s} that {are} in no trial"),
    "trials_labelled_by_speakers": _counted("trial{s} with a label inferred from the speakers"),
    "utterances_in_column": _counted(
        "utterance{s} whose speaker is named in a column of the trials"
    ),
    "utterances_in_table": _counted("utterance{s} whose speaker is named in the utterance table"),
    "ids_begin_with_speaker": _counted("utterance id{s} begin{v} with the speaker id"),
    "enrolments_by_pattern": _counted("enrolment{s} whose speaker is inferred by a pattern"),
    "enrolments_by_models": _counted("enrolment{s} that {are} models"),
    "enrolments_by_name": _counted("enrolment{s} whose id is the speaker id"),
    "rows_without_id": _counted("row{s} without id"),
    "repeated_speaker_rows": _counted("row{s} that repeat{v} a speaker"),
    "repeated_utterance_rows": _counted("row{s} that repeat{v} an utterance"),
    "repeated_model_rows": _counted("row{s} that repeat{v} a recording of a model"),
    "speakers_of_unknown_group": _counted(
        "speaker{s} with trials but with an unknown or excluded group"
    ),
    "utterances_of_unknown_group": _counted(
        "utterance{s} with trials but with an unknown or excluded group"
    ),
    "speakers_without_trials": _counted("speaker{s} whose group has no trials"),
    "trials_in_no_stratum": _counted("trial{s} in no stratum of --within, or between two strata"),
    "trials_beyond_memory": _counted("trial{s} of a list that does not fit in memory"),
    "files_of_counts": _counted("file{s} of score counts"),
    "group_withheld": SentenceTemplate("group suppressed"),
    "searches": SentenceTemplate("searches"),
    "mated_searches": SentenceTemplate("mated searches"),
    "nonmated_searches": SentenceTemplate("non-mated searches"),
    "enrolled_persons": SentenceTemplate("enrolled persons"),
    "searches_of_unknown_speakers": SentenceTemplate("searches of unknown speakers"),
    "searches_of_unlisted_speakers": SentenceTemplate(
        "searches of speakers who are not in the speaker table"
    ),
    "searches_of_unknown_group": SentenceTemplate("searches of unknown group"),
    "searches_without_candidates": SentenceTemplate("searches without any candidate"),
    "searches_with_missing_pairs": SentenceTemplate(
        "searches excluded because pairs with an enrolled person are missing"
    ),
    "lower_scores_of_models": SentenceTemplate(
        "scores from additional models of a person (each person's highest score counts)"
    ),
    "mates_in_ties": SentenceTemplate(
        "mated searches in which another person has the same score as the person sought"
    ),
    "few_false_positives_expected": SentenceTemplate(
        "non-mated searches, with fewer than 30 expected false positives"
    ),
}
"""What was counted, of which sentences do not depend on values."""
CONTENTS = {
    "by_speaker_or_recording": SentenceTemplate("results by speaker or recording"),
    "by_recording": SentenceTemplate("results by recording"),
    "quantiles_of_seconds": SentenceTemplate("median and 95 % quantile of the seconds per trial"),
    "speakers": SentenceTemplate("speakers"),
    "failure_rates": SentenceTemplate("failure-to-enrol and failure-to-acquire rates"),
    "trials_in_several_files": SentenceTemplate("trials that occur in several files"),
    "speakers_at_several_sites": SentenceTemplate("speakers who occur at several sites"),
    "other_thresholds": SentenceTemplate("EER, minimum costs and other thresholds"),
    "other_groups": SentenceTemplate("other groups"),
}
"""What cannot be had from counts."""
DATA_SENTENCES = {
    **_COUNTED,
    "counted_by_speaker": SentenceTemplate(
        _by_speaker, {"counted": "exact_duplicates", "side": "enrolment"}
    ),
    "in_group": SentenceTemplate(
        _in_group,
        {
            "counted": "missing_target_scores_differ",
            "group": "f",
            "grouping": "gender",
            "share": 0.125,
        },
    ),
    "trials_not_selected": SentenceTemplate(
        _trials_not_selected, {"conditions": [{"attribute": "device", "values": ["phone"]}]}
    ),
    "speakers_with_unknown_value": _counted("speaker{s} with unknown {attribute}", _ATTRIBUTE),
    "speakers_with_two_values": _counted("speaker{s} with two values for {attribute}", _ATTRIBUTE),
    "left_out_by_groups_file": SentenceTemplate(
        "{unit} whose {attribute} {value!r} is excluded by the groups file",
        {"unit": "speakers", **_ATTRIBUTE, "value": "x"},
    ),
    "rows_with_unused_column": _counted(
        "row{s} whose column {column!r} is not used", {"column": "stage"}
    ),
    "comments_above_data": SentenceTemplate(
        "comments above the data of {file}", {"file": "scores.csv"}
    ),
    "rows_over_several_lines": _counted(
        "row{s} of {file} with a cell that spans several lines", {"file": "scores.csv"}
    ),
    "scores_multiplied_by_log": _counted(
        "score{s} multiplied by ln {base} for Cllr and Bayes thresholds", {"base": "10"}
    ),
    "trials_of_unknown_group": SentenceTemplate(
        _trials_of_unknown_group, {"unit": "speaker", "or_withheld": False, **_ALLOCATED}
    ),
    "nontarget_trials_between_two_groups": SentenceTemplate(
        _with_allocation("nontarget trial{s} between two groups, counted for no group"),
        _ALLOCATED,
    ),
    "trials_between_two_groups": SentenceTemplate(
        _with_allocation("trial{s} between two groups, counted for no group"), _ALLOCATED
    ),
    "undecided_trials": SentenceTemplate(
        _with_allocation(
            "trial{s} without a decision or threshold, not counted at the operating point "
            "'deployed'"
        ),
        _ALLOCATED,
    ),
    "trials_at_deployed_threshold": SentenceTemplate(
        _trials_at_deployed_threshold, {"threshold": "0.5", **_ALLOCATED, "extremes_of": 60}
    ),
    "contradicting_rows_set_aside": SentenceTemplate(
        _with_allocation("contradictory row{s} excluded"), _ALLOCATED
    ),
    "without_contradicting_rows": SentenceTemplate(_metric_of_rows("without"), _METRIC),
    "with_contradicting_rows": SentenceTemplate(_metric_of_rows("with"), _METRIC),
    "counted_at": SentenceTemplate(_bins, {"step": "0.01", "thresholds": [0.5]}),
    "every_score_in_counts": SentenceTemplate(
        "the file contains every score unchanged; to count scores in bins, use --step WIDTH"
    ),
    "no_trial_in_any_group": SentenceTemplate(
        "no trial is in a group by {grouping}: {grouping} is unknown for all trials",
        {"grouping": "gender"},
    ),
    "groups_suppressed": SentenceTemplate(
        _groups_suppressed, {"speakers": 5, "groups": [{"grouping": "gender", "group": "f"}]}
    ),
    "subtraction_from_other_counts": SentenceTemplate(
        "another file that counts the same trials by other groups may reveal these counts by "
        "subtraction"
    ),
    "no_group_too_small_to_share": SentenceTemplate(
        "no group has fewer than {speakers} speakers, so no group is suppressed", {"speakers": 5}
    ),
    "groups_of_any_size": SentenceTemplate("no group is suppressed, however few speakers it has"),
    "rows_joinable": SentenceTemplate("rows of different groupings can be matched by rare scores"),
    "rows_rarely_joinable": SentenceTemplate(
        "rows of different groupings can be matched only by rare scores; at most a tenth of a "
        "group's trials have rare scores"
    ),
    "trials_as_counts": SentenceTemplate(
        _size_of_counts, {"trials": 9850, "groupings": ["gender"], "within": [], "rows": 412}
    ),
    "counts_of_numbered_speakers": SentenceTemplate(
        _speaker_counts(
            "{speakers:,} speakers, by their number in the speaker table",
            (
                ". These are personal data: share the file with nobody. The file adds up with all "
                "files of the same speaker table"
            ),
        ),
        {"speakers": 40, "outcome": "scores"},
    ),
    "counts_of_pseudonyms": SentenceTemplate(
        _speaker_counts(
            "{speakers:,} speakers, by pseudonyms that the key makes",
            (
                ". These are personal data: share the file only with those who may receive it. The "
                "file adds up with all files of the same key"
            ),
        ),
        {"speakers": 40, "outcome": "scores"},
    ),
    "counts_of_speaker_blocks": SentenceTemplate(
        _speaker_counts(
            "{blocks:,} blocks of at least {speakers} speakers",
            (
                ", but not which speaker of a block a trial is of. The file adds up with files of "
                "other keys, whose speakers count as different people"
            ),
        ),
        {"blocks": 20, "speakers": 3, "outcome": "scores"},
    ),
    "groups_of_few_blocks": SentenceTemplate(_groups_of_few_blocks, {"blocks": {"f (gender)": 4}}),
    "stratum_withheld": SentenceTemplate("stratum suppressed: {stratum}", {"stratum": "phone"}),
    "not_in_counts": SentenceTemplate(_not_in_counts, {"content": "by_recording"}),
    **CONTENTS,
    "scores_in_a_bin": _counted(
        "difference{s} between scores in the same bin (width {step})", {"step": "0.01"}
    ),
    # what was done about it, and what follows
    "left_out": SentenceTemplate("excluded"),
    "left_out_with_trials": SentenceTemplate("excluded with their trials"),
    "left_out_as_others_are_scored": SentenceTemplate(
        "excluded with their trials, because the other trials have scores"
    ),
    "left_out_for_placeholder": SentenceTemplate(
        "excluded because a speaker id is a placeholder, such as nan or unknown; if the id is "
        "real, list it in the speaker table"
    ),
    "counted_once": SentenceTemplate("counted once"),
    "sfar_may_be_too_low": SentenceTemplate("SFAR may be too low"),
    "set_aside": SentenceTemplate("excluded"),
    "kept": SentenceTemplate("kept"),
    "kept_as_trials": SentenceTemplate("kept as separate trials"),
    "other_scores": SentenceTemplate(
        "in {trials:,} of these pairs, the two scores differ by up to {difference:.1g}",
        {"trials": 12, "difference": 2e-06},
    ),
    "merged": SentenceTemplate("merged"),
    "skipped": SentenceTemplate("skipped"),
    "taken_as_unknown": SentenceTemplate("treated as unknown"),
    "counted_as_rejected": SentenceTemplate("counted as rejected in FRR and FAR"),
    "counted_in_fte_or_fta": SentenceTemplate("counted in FTE or FTA only"),
    "counted_for_enrolment_speaker": SentenceTemplate(
        "these trials count for the enrolment speaker's group, whose FPR has no interval; to "
        "obtain an interval, name the test speakers in a column test_speaker or with --utterances"
    ),
    "counted_for_both_speakers": SentenceTemplate("each trial counts for both speakers"),
    "p_of_exchanged_speakers": SentenceTemplate(
        "test of equal shares in all groups: p = {p:.2g}", {"p": 0.0012}
    ),
    "compared_with_all_others": SentenceTemplate("each recording is compared with all others"),
    "no_labels": SentenceTemplate("the file has no labels"),
    "no_labels_and_no_claims": SentenceTemplate(
        "the file has no labels and no claims: column {column!r} names both the caller and the "
        "claimed customer",
        {"column": "customer"},
    ),
    "no_status": SentenceTemplate("no status"),
    "scores_tell_outcomes": SentenceTemplate("the score file states the outcome of each trial"),
    "thresholds_in_units_of_scores": SentenceTemplate("thresholds are in the units of the scores"),
    "both_sides_must_have_one_value": SentenceTemplate(
        "both sides must have the same value; to use one side, name enrol.x or test.x"
    ),
    "first_such_row": SentenceTemplate("the first such row is row {row}", {"row": 7}),
    "groups": SentenceTemplate(_groups, {"groups": ["f+Chile", "m+Peru"], "more": 3}),
    "needs_rows": SentenceTemplate("individual trials are needed"),
    "counts_hold_sums": SentenceTemplate("score counts contain seconds only as sums"),
    "unknown_in_several_files": SentenceTemplate(
        "unknown: the same speaker or recording may be in more than one file of score counts"
    ),
    "keys_of_sites_differ": SentenceTemplate(
        "the keys of the sites differ, so a speaker at two sites counts as two people"
    ),
    "of_each_file_only": SentenceTemplate("counted within each file only"),
    **{code: SentenceTemplate(words) for code, words in ID_DIFFERENCES.items()},
    # data warnings: values of attributes
    "range_of_numbers": SentenceTemplate(
        "different numbers in {attribute!r}", {"attribute": "age"}
    ),
    "number_range": SentenceTemplate("from {low:g} to {high:g}", {"low": 18, "high": 81}),
    "values_that_may_be_one": SentenceTemplate(
        "values of {attribute!r} that may be the same", _ATTRIBUTE
    ),
    "same_values": SentenceTemplate(_same_values, {"values": [["F", "f"]]}),
    "values_that_look_unknown": SentenceTemplate(
        "values of {attribute!r} that may mean unknown", _ATTRIBUTE
    ),
    "examples": SentenceTemplate(_examples, {"values": ["?", "n.a."]}),
    "values_of_one_speaker": SentenceTemplate(
        "values of {attribute!r} with one speaker", _ATTRIBUTE
    ),
    "leave_empty_if_unknown": SentenceTemplate(
        _leave_empty_if_unknown, {"values": ["k.A.", "n.a."]}
    ),
    "values_that_look_like_dates": SentenceTemplate(
        "values of {attribute!r} that look like dates", {"attribute": "age group"}
    ),
    "changed_by_spreadsheet": SentenceTemplate(_changed_by_spreadsheet, {"values": ["12-Nov"]}),
    "values_that_may_mean_the_same": SentenceTemplate(
        "values of {attribute!r} that may mean the same", {"attribute": "country"}
    ),
    "synonyms": SentenceTemplate(_synonyms, {"values": [["UK", "United Kingdom"]]}),
    "values_in_two_codings": SentenceTemplate("values of {attribute!r} in two codings", _ATTRIBUTE),
    "two_codings": SentenceTemplate(_two_codings, {"codes": ["1", "2"], "words": ["f", "m"]}),
    "codes_of_two_codings": SentenceTemplate(
        "codes of {attribute!r} that may come from two codings", _ATTRIBUTE
    ),
    "codes_0_1_or_1_2": SentenceTemplate(_codes_0_1_or_1_2, {"numbers": [0, 1, 2]}),
    "decades_among_ages": SentenceTemplate(
        "values of {attribute!r} that are decades or bands, although others are single ages",
        {"attribute": "age"},
    ),
    "decades_not_ages": SentenceTemplate(
        "values of {attribute!r} that are all decades, not ages", {"attribute": "age"}
    ),
    "numbers": SentenceTemplate(_numbers, {"numbers": [20, 30, 50]}),
    "speakers_with_decades": _counted(
        "speaker{s} whose {attribute!r} is a multiple of 10", {"attribute": "age"}
    ),
    "years_may_be_mixed_with_decades": SentenceTemplate("years may be mixed with decades"),
    "speakers_with_low_ages": SentenceTemplate(
        "speakers whose {attribute!r} is below 10", {"attribute": "age"}
    ),
    "children_or_decades": SentenceTemplate(_children_or_decades, {"numbers": [2, 3, 4]}),
    "numbers_far_from_others": SentenceTemplate(
        "numbers in {attribute!r} that are far from all others", {"attribute": "age"}
    ),
    "distant_numbers": SentenceTemplate(
        _distant_numbers,
        {"numbers": [-1, 999], "more": 0, "others_from": 18, "others_to": 60},
    ),
    "speakers_under_two_spellings": SentenceTemplate(
        "speakers who may be one person under two spellings"
    ),
    "ids_differ_in_spelling": SentenceTemplate(
        "the ids differ only in case, spaces, punctuation, leading zeros, word order or look-alike "
        "characters"
    ),
    # data warnings: ids
    "ids_shortened_by_spreadsheet": SentenceTemplate(
        "ids that look like long numbers shortened by a spreadsheet"
    ),
    "ids_like_numbers_of_spreadsheet": SentenceTemplate(
        "ids that look like numbers written by a spreadsheet"
    ),
    "ids_like_dates_of_spreadsheet": SentenceTemplate(
        "ids that look like dates made by a spreadsheet"
    ),
    "ids": SentenceTemplate(_ids, {"ids": ["1E+05", "1E+06"]}),
    "inspection_quotes_ids": SentenceTemplate("`parivox inspect` quotes two of the ids"),
    "ids_alike_but_for_case": SentenceTemplate("ids that differ only in case"),
    "ids_alike_but_for_slashes": SentenceTemplate("ids that differ only in slashes"),
    "ids_alike_but_for_endings": SentenceTemplate("ids that differ only in their file extension"),
    "ids_with_similar_characters": SentenceTemplate(
        "ids that differ only in look-alike characters"
    ),
    "two_ids": SentenceTemplate(_two_ids, {"ids": ["a//1.wav", "a/1.wav"]}),
    "shared_folder_names": SentenceTemplate(
        "folder names shared by speakers and therefore not treated as recordings"
    ),
    "names_of_many_speakers": SentenceTemplate(shared_folders_text, SHARED_FOLDERS_EXAMPLE),
    "same_recordings_unknown": SentenceTemplate(
        f"same-recording trials are unknown: {GIVE_RECORDINGS}"
    ),
    # data warnings: trials and scores
    "repeated_trials": SentenceTemplate("trials that occur more than once"),
    "same_calls_counted_once": SentenceTemplate(
        "the same calls may be in two files or on two days; each call is counted once"
    ),
    "reversed_pairs_with_other_scores": SentenceTemplate(
        "pairs with different scores in the two orders"
    ),
    "symmetric_systems_give_one_score": SentenceTemplate(
        "a symmetric system gives both orders the same score"
    ),
    "target_trials_of_themselves": SentenceTemplate(
        "target trials that compare an utterance with itself"
    ),
    "ids_may_be_cut": SentenceTemplate(
        "the ids may have been cut at the first full stop, as SpeechBrain does; write complete ids"
    ),
    "no_target_trial_left": SentenceTemplate("target trials excluded, leaving no target trial"),
    "contradictory": SentenceTemplate("the rows contradict each other"),
    "trials_of_few_speakers": SentenceTemplate(
        "{trials} trials of only {speakers} enrolled speakers", {"trials": "target", "speakers": 2}
    ),
    "share_of_few_speakers": SentenceTemplate(
        _share_of_few_speakers, {"share": 0.85, "speakers": 40}
    ),
    "nontarget_trials_between_groups": SentenceTemplate(
        "nontarget trials, all between different groups of {grouping!r}", {"grouping": "gender"}
    ),
    "same_group_not_tested": SentenceTemplate(
        "false accepts of impostors from the same group are not tested"
    ),
    "attacks_of_few_speakers": _counted(
        "attack{s} with fewer than {speakers} claimed speakers", {"speakers": 5}
    ),
    "attacks_named": SentenceTemplate(_attacks, {"attacks": ["A07", "A08"]}),
    "attacks_of_unequal_shares": _counted(
        "attack{s} whose share of spoof trials differs between groups of {grouping!r}",
        {"grouping": "gender"},
    ),
    "attack_shares_differ": SentenceTemplate(_share_difference, {"difference": 0.107}),
    "groups_with_unequal_spoof_shares": SentenceTemplate(
        "groups by {grouping!r} whose shares of spoof trials differ", {"grouping": "gender"}
    ),
    "sasv_eers_not_comparable": SentenceTemplate(_spoof_share_difference, {"difference": 0.0909}),
    "claimed_speakers_may_be_other_people": SentenceTemplate(
        "FNR and SFAR refer to different sets of speakers"
    ),
    "gallery_makes_identification": SentenceTemplate(
        "to audit identification, name the enrolled persons with --gallery"
    ),
    "claims_are_dependent": SentenceTemplate("intervals for SFAR may be too narrow"),
    "recordings_follow_group": SentenceTemplate(
        "recordings whose {attribute!r} is determined by {grouping!r}",
        {"attribute": "device", "grouping": "gender"},
    ),
    "may_be_by_attribute": SentenceTemplate(
        "a difference by {grouping} may be due to {attribute}",
        {"attribute": "device", "grouping": "gender"},
    ),
    "trials_with_speakers_and_score_of_others": SentenceTemplate(
        "trials with the same speakers and score as another trial"
    ),
    "same_calls_with_other_ids": SentenceTemplate(
        "the same calls may be in two files or on two days, with different ids"
    ),
    "same_scores": SentenceTemplate("trials with the same scores as in {system}", {"system": "A"}),
    "same_scores_on_another_scale": SentenceTemplate(
        "trials with the same scores as in {system}, on another scale", {"system": "A"}
    ),
    "nearly_same_scores": SentenceTemplate(
        "trials with nearly the same scores as in {system}", {"system": "A"}
    ),
    "files_may_be_of_one_system": SentenceTemplate("the files may come from one system"),
    "trials_with_one_score": SentenceTemplate("trials that share one score"),
    "share_of_score": SentenceTemplate(_share_of_score, {"score": "-999", "share": 0.0481}),
    "low_target_scores": SentenceTemplate(
        "target trials that score lower than 95 % of the nontarget trials"
    ),
    "high_nontarget_scores": SentenceTemplate(
        "nontarget trials that score higher than 95 % of the target trials"
    ),
    "signs_or_labels_may_be_turned": SentenceTemplate("signs or labels may be reversed"),
    "scores_on_another_scale": SentenceTemplate(
        "{trials} trials whose scores seem to be on another scale", {"trials": "target"}
    ),
    "tenths_of_scores": SentenceTemplate(
        "in this class, a tenth of the scores are within {low:.3g} of zero and another tenth at "
        "least {high:.3g} away; few are in the middle third between these distances (log scale)",
        {"low": 0.5, "high": 50},
    ),
    "group_with_reversed_scores": SentenceTemplate(
        "trials of {group}, in which target trials score below nontarget trials", {"group": "f"}
    ),
    "signs_or_labels_of_group_may_be_turned": SentenceTemplate(
        "signs or labels of this group may be reversed"
    ),
    "decisions_against_scores": SentenceTemplate(
        "trials of {group}, whose decisions contradict the scores", {"group": "f"}
    ),
    "decisions_against_labels": SentenceTemplate(
        "trials of {group}, whose decisions contradict the labels", {"group": "f"}
    ),
    "nontargets_accepted_more_often": SentenceTemplate(
        "nontarget trials are accepted more often than target trials"
    ),
    "lower_scores_accepted_more_often": SentenceTemplate(
        "nontarget trials score lower than target trials, but are accepted more often"
    ),
    "trials_of_inverted_days": SentenceTemplate(
        "trials on days whose decisions contradict the labels"
    ),
    "days_with_inverted_decisions": SentenceTemplate(_days, {"days": ["2026-03-01"], "more": 0}),
    "audited_development_trials": SentenceTemplate("development trials that are audited"),
    "thresholds_fit_too_well": SentenceTemplate(
        "the thresholds fit these trials better than they will fit later trials"
    ),
    "list_and_scores_unchecked": SentenceTemplate(
        "the trial list, the ids and the scores were not checked; to check them, audit a random "
        "part of the list"
    ),
    "llrs_from_0_to_1": SentenceTemplate("log-likelihood ratios, all between 0 and 1"),
    "llrs_from_minus_1_to_1": SentenceTemplate("log-likelihood ratios, all between -1 and 1"),
    "llrs_none_negative": SentenceTemplate("log-likelihood ratios, none of which is negative"),
    "llrs_none_positive": SentenceTemplate("log-likelihood ratios, none of which is positive"),
    "like_probabilities": SentenceTemplate(
        _with_span("like probabilities or cosine similarities"), _SPAN
    ),
    "like_ratios_or_percentages": SentenceTemplate(
        _with_span("like percentages or likelihood ratios (not their logarithms)"),
        {"low": 0.2, "high": 99},
    ),
    "take_logarithm": SentenceTemplate("take the logarithm of ratios, and calibrate other scores"),
    "like_log_probabilities": SentenceTemplate(
        _with_span("like logarithms of probabilities"), {"low": -9, "high": -0.1}
    ),
    "like_cosine_similarities": SentenceTemplate("like cosine similarities"),
    "calibrate_scores": SentenceTemplate(
        "parivox calibrate converts scores to log-likelihood ratios"
    ),
    "scores_like_base_10_llrs": SentenceTemplate(
        "scores that look like log-likelihood ratios to base 10"
    ),
    "slope_of_base_10_llrs": SentenceTemplate(
        "calibration multiplies the LLRs by {slope:.2f}, as expected for base-10 LLRs (2 to 4); "
        "if the LLRs are to base 10, give --llr-base 10",
        {"slope": 2.28},
    ),
    "scores_like_natural_llrs": SentenceTemplate(
        "scores that look like natural log-likelihood ratios"
    ),
    "slope_of_natural_llrs": SentenceTemplate(
        "with --llr-base 10, calibration multiplies the LLRs by {slope:.2f}, so the LLRs may be "
        "natural; if so, give --llr without --llr-base",
        {"slope": 0.43},
    ),
    "trials_decided_alike": _counted("trial{s}, all with the same decision at a Bayes threshold"),
    "threshold_above_scores": SentenceTemplate(
        _threshold_beyond_scores("above the highest", "rejected"),
        {"threshold": 4.6, "cost": "sre", "extreme": 0.9},
    ),
    "threshold_below_scores": SentenceTemplate(
        _threshold_beyond_scores("below the lowest", "accepted"),
        {"threshold": -4.6, "cost": "door", "extreme": -0.9},
    ),
    # operating points
    "missed_points": SentenceTemplate("missed operating points"),
    "infinite_thresholds": SentenceTemplate("infinite thresholds"),
    "thresholds_outside_scores": SentenceTemplate(
        "thresholds outside the range of scores, possibly from another model or scale"
    ),
    "implausible_thresholds": SentenceTemplate(
        "thresholds that may belong to another model or scale"
    ),
    "operating_points": SentenceTemplate(
        _points,
        {
            "points": [
                {**_FPR_POINT, "rate": 0.034},
                {"operating_point": "fpr=0.001", "threshold": "inf"},
            ]
        },
    ),
    # a day of a monitor
    "impostor_trials": SentenceTemplate("impostor trials"),
    "day_trials_without_decision": SentenceTemplate("trials without a decision"),
    "contradicting_trials": SentenceTemplate("contradictory trials"),
    "failed_trials": SentenceTemplate("failed trials"),
    "trials_of_customers_without_group": SentenceTemplate(
        "trials of customers who are in no group"
    ),
    "moved_customers": SentenceTemplate(
        "customers whose group has changed; they remain in their first group"
    ),
    # an inspection alone
    "rows_without_an_id": _counted("row{s} without an id"),
    "as_in": SentenceTemplate("{text}", {"text": "yes"}),
    "such_as": SentenceTemplate("such as {text}", {"text": "id10001"}),
    "refused_or_set_aside": SentenceTemplate("an audit refuses or excludes contradictory rows"),
    "each_direction_is_a_trial": SentenceTemplate("each direction is a trial"),
    "speakers_with_several_rows": _counted("speaker{s} with several rows"),
    "utterances_with_several_rows": _counted("utterance{s} with several rows"),
    "rows_with_empty_cell": _counted("row{s} with no value in {column!r}", {"column": "id"}),
    "first_row_like_others": SentenceTemplate(
        "the header may be missing: the first row looks like the others"
    ),
    "columns_by_content": SentenceTemplate(
        _columns_by_content, {"columns": {"enrol": "first", "test": "second"}}
    ),
    "words_of_failures": SentenceTemplate(
        _words_of_failures,
        {"column": "outcome", "words": ["too short"], "columns": {"failed": "too short"}},
    ),
}
"""Every sentence on data by its code."""
