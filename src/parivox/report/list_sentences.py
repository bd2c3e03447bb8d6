"""Sentences of the catalogue on trial lists: what checks find, remarks, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.data.lists.findings import percent
from parivox.report.data_sentences import (
    GIVE_RECORDINGS,
    SHARED_FOLDERS_EXAMPLE,
    shared_folders_text,
)
from parivox.report.sentence_template import SentenceTemplate
from parivox.report.words import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Values = Mapping[str, Any]


def _recording_source_text(values: Values) -> str:
    """Return what gives the recordings; empty if nothing does."""
    if values["column"]:
        return f"column {values['column']!r} of --utterances"
    return "folder of the path" if values["are_folders"] else ""


def _share_text(share: float | None) -> str:
    return "unknown" if share is None else percent(share)


def _range_text(numbers: Sequence[int]) -> str:
    """Return the smallest and the largest of some counts."""
    minimum, maximum = numbers
    return f"{minimum:,}" if minimum == maximum else f"{minimum:,} to {maximum:,}"


def _shares_text(shares: Sequence[Values]) -> str:
    """Return the lowest and the highest share, and whose they are, if they differ."""
    low, high = shares
    if low["share"] == high["share"]:
        return f"{percent(low['share'])} (every group)"
    return f"{percent(low['share'])} ({low['group']}) to {percent(high['share'])} ({high['group']})"


def _shares_clause(shares: Sequence[Values]) -> str:
    """Return the verb of a sentence on shares of groups, with the lowest and the highest."""
    if shares[0]["share"] == shares[1]["share"]:
        return f"is {percent(shares[0]['share'])} in every group"
    return f"ranges from {_shares_text(shares)}"


def _figures_text(values: Values, figure: Callable[[float], str], noun: str) -> str:
    """Return the lowest and the highest figure, with their groups and how large these are."""
    first, last = (
        f"{figure(extreme['figure'])} ({extreme['group']}, {extreme['size']:,} {noun})"
        for extreme in values["extremes"]
    )
    return f"{first} to {last}"


def _ratio_text(values: Values) -> str:
    """Return the ratio of the highest figure to the lowest, with three digits."""
    return f"{float(format(float(values['ratio']), '.3g')):,g}"


def _unequal_numbers_of_classes(values: Values) -> str:
    return (
        f"{values['unequal']:,} of {values['speakers']:,} enrolment speakers have unequal "
        f"numbers of target and nontarget trials (over all speakers: "
        f"{_range_text(values['target'])} target and {_range_text(values['nontarget'])} nontarget "
        "trials)"
    )


def _few_nontarget_trials(values: Values) -> str:
    return (
        f"{values['few']:,} of {values['speakers']:,} enrolment speakers have fewer than "
        f"{values['minimum']:,.0f} nontarget trials (over all speakers: "
        f"{_range_text(values['nontarget'])})"
    )


def _trials_for_each_speaker(values: Values) -> str:
    return (
        f"{_range_text(values['enrolled'])} trials per enrolment speaker "
        f"({_range_text(values['tested'])} per test speaker)"
    )


def _shares_of_grades_differ(values: Values) -> str:
    return (
        f"for {values['off']:,} of {values['speakers']:,} speakers, the share of at least one "
        f"grade differs by more than {100 * values['gap']:g} percentage points from its share in "
        f"the list; the largest difference is in {values['trials']} trials of grade "
        f"{values['grade']}: {_share_text(values['speaker_share'])} against "
        f"{_share_text(values['list_share'])}"
    )


def _grades_of_trials(values: Values) -> str:
    grades = ", ".join(
        f"{'an unknown share' if grade['share'] is None else percent(grade['share'])} "
        f"{'of grade ' + str(grade['grade']) if grade['grade'] else 'of unknown grade'} "
        f"(requested {_share_text(grade['wished'])})"
        for grade in values["grades"]
    )
    return f"{values['trials']} trials: {grades}"


def _give_mix(values: Values) -> str:
    grade, target = values["max_grade"], values["target"]
    return f"give a mix, such as --mix cat{grade}=0.5,cat{grade - 1}=0.5,target{target}=1"


def _eer_text(eers: Sequence[float]) -> str:
    return f"{100 * eers[0]:.2f} to {100 * eers[1]:.2f} %"


def _eers_of_lists(values: Values) -> str:
    words = f"the EER of the lists is {_eer_text(values['eers'])}"
    if "group" not in values:
        return words
    return f"{words}; it varies most for {values['group']}: {_eer_text(values['eers_of_group'])}"


def _groups_with_few_speakers(values: Values) -> str:
    smallest = ", ".join(f"{size['group']} {size['speakers']:,}" for size in values["smallest"])
    have = "has" if values["few"] == 1 else "have"
    # audits of older versions do not record how many groupings there are
    groupings = " (all groupings)" if values.get("n_groupings", 1) > 1 else ""
    return (
        f"{values['few']:,} of {values['number']:,} groups{groupings} {have} fewer than "
        f"{values['minimum']:g} speakers; smallest groups: {smallest}"
    )


def _same_value(values: Values) -> str:
    if values.get("is_within_groups"):
        return (
            "among nontarget trials with both speakers in the group, the share with the same "
            f"{values['attribute']} {_shares_clause(values['shares'])}"
        )
    return (
        f"the share of nontarget trials with the same {values['attribute']} "
        f"{_shares_clause(values['shares'])}"
    )


def _same_recording(values: Values) -> str:
    source = _recording_source_text(values)
    return (
        f"the share of same-recording target trials, which may be easier, "
        f"{_shares_clause(values['shares'])}; recordings are identified by the {source}"
    )


def _trials_that_occur_twice(values: Values) -> str:
    target, nontarget = values["reversed_target"], values["reversed_nontarget"]
    return (
        f"{count_of(values['duplicates'], 'exact duplicate')}; "
        f"{count_of(nontarget + target, 'reversed trial')} "
        f"({target:,} target, {nontarget:,} nontarget); "
        f"{count_of(values['same_utterance'], 'trial')} of an utterance with itself"
    )


def _durations(values: Values) -> str:
    strength = " (a large difference)" if values["is_strong"] else ""
    durations = _figures_text(values, lambda seconds: f"{seconds:.1f} s", "recordings")
    return (
        f"the median duration of recordings, by {values['grouping']}, ranges from {durations}, a "
        f"ratio of {_ratio_text(values)}{strength}"
    )


def _short_recordings(values: Values) -> str:
    return (
        f"{values['short']:,} of {values['recordings']:,} recordings are under "
        f"{values['seconds']:g} s; by {values['grouping']}, the share ranges from "
        f"{_figures_text(values, percent, 'recordings')}"
    )


def _impostor_speakers(values: Values) -> str:
    medians = _figures_text(values, lambda median: f"{median:,g}", "enrolled")
    return (
        f"the median number of impostor speakers per enrolled speaker, by {values['grouping']}, "
        f"ranges from {medians}, a ratio of {_ratio_text(values)}"
    )


def _class_ratios(values: Values) -> str:
    ratios = _figures_text(values, lambda figure: f"{figure:.3g}", "enrolled")
    return (
        f"the number of target trials per nontarget trial, by {values['grouping']}, ranges from "
        f"{ratios}, a ratio of {_ratio_text(values)}"
    )


def _sides_of_speakers(values: Values) -> str:
    words = (
        f"nontarget trials: {_range_text(values['enrolled'])} per enrolment speaker, "
        f"{_range_text(values['tested'])} per test speaker; never enrolled: "
        f"{count_of(values['never_enrol'], 'speaker')}, never tested: "
        f"{count_of(values['never_test'], 'speaker')}"
    )
    for never in values["by_grouping"]:
        numbers = f"{_range_text(never['never_enrol'])} and {_range_text(never['never_test'])}"
        words += f" (in each group of {never['grouping']}: {numbers})"
    return words


def _uses(subject: str, unit: str) -> Callable[[Values], str]:
    """Return a template on how often something is used."""

    def sentence(values: Values) -> str:
        return f"{subject} {_range_text(values['numbers'])} {unit} (median {values['median']:,.0f})"

    return sentence


def _recordings_of_speakers(values: Values) -> str:
    return f"{_range_text(values['numbers'])} (median {values['median']:g})"


def _speakers_with_one_recording(values: Values) -> str:
    noun = "speaker" if values["speakers"] == 1 else "speakers"
    source = _recording_source_text(values)
    return f"{values['speakers']:,} {noun} with only one recording (recording: {source})"


def _graded_by(values: Values) -> str:
    return f"graded by {' and '.join(values['attributes']) or 'no attribute'}"


def _share_of_unknown_grade(values: Values) -> str:
    return f"{values['trials']:,} trials ({_share_text(values['share'])}) are of unknown grade"


def _shares_within_and_across(values: Values) -> str:
    same, different = percent(values["share"]), percent(1 - values["share"])
    return f"{same} with the same value, {different} with different values"


def _shares_by_grouping(values: Values) -> str:
    return f"by {values['grouping']}: {_shares_text(values['shares'])}"


def _shares_of_group(values: Values) -> str:
    words = f"{values['group']} has {_share_text(values['speaker_share'])} of the speakers, "
    if values["utterance_share"] is not None:
        words += f"{percent(values['utterance_share'])} of the utterances, "
    return f"{words}{_share_text(values['trial_share'])} of the trials"


def _shared_with_development(values: Values) -> str:
    recordings = "an unknown number of recordings"
    if values["recordings"] is not None:
        recordings = f"{values['recordings']:,} recordings"
    return (
        f"{values['speakers']:,} speakers, {recordings}, {values['utterances']:,} utterances, "
        f"{values['trials']:,} trials"
    )


def _variation_not_in_pilot(values: Values) -> str:
    return f"the pilot does not show how {values['metric'].upper()} of these groups varies"


def _detectable_ratios(values: Values) -> str:
    low, high = values["ratios"]
    return (
        f"from {low['ratio']:.2f} times ({low['group']}) to {high['ratio']:.2f} times "
        f"({high['group']}) at a power of {values['power']:g}"
    )


def _not_known(values: Values) -> str:
    return f"{' or '.join(values['attributes'])} is not known"


def _doubtful_recordings(values: Values) -> str:
    source = _recording_source_text(values)
    doubt = shared_folders_text(values["folders"])
    return f"recordings are taken from the {source}, but {doubt}; {GIVE_RECORDINGS}"


def _folders_may_be_no_recordings(values: Values) -> str:
    return f"unknown: {shared_folders_text(values)}; {GIVE_RECORDINGS}"


def _lists_drawn(values: Values) -> str:
    lists = f"{values['lists']} lists, each of " if values["lists"] > 1 else ""
    trials = f"{values['target']:,} target + {values['nontarget']:,} nontarget trials"
    speakers = f"{values['speakers']:,} speakers in {count_of(values['groups'], 'group')}"
    return f"{lists}{trials} of {speakers} ({values['grouping']})"


def _failed_checks(values: Values) -> str:
    """Return which checks a list fails; only trials with a score were checked in an audit."""
    subject = "the list"
    if values.get("trials_without_score"):
        unscored = f"{values['trials_without_score']:,} trials that have no score"
        subject = f"the list without its {unscored}"
    if not values["checks"]:
        return f"{subject} fails no check"
    verb = "also fails" if values.get("after_others") else "fails"
    return f"{subject} {verb} {', '.join(values['checks'])}. Run parivox trials check for details"


def _list_converted(values: Values) -> str:
    trials = count_of(values["target"] + values["nontarget"], "trial")
    return (
        f"{trials} in {values['path']} ({values['format']}): {values['target']:,} target, "
        f"{values['nontarget']:,} nontarget"
    )


def _columns_left_out(values: Values) -> str:
    return (
        f"left out, as they have no place in {values['format']} or no name: "
        f"{', '.join(values['columns'])}"
    )


def _mix_in_whole_trials(values: Values) -> str:
    counts = ", ".join(f"{each['trials']:,} of grade {each['grade']}" for each in values["grades"])
    return (
        f"of {values['pairs']:,} nontarget trials, the mix gives {counts} for each speaker; a "
        f"multiple of {values['multiple']:,} gives it exactly"
    )


def _graded_unlike_check(values: Values) -> str:
    return (
        f"the list is graded by {' and '.join(values['attributes'])}, its check by "
        f"{' and '.join(values['of_check'])}; name attributes with --grade-by to grade both alike"
    )


def _fixed_by_design(values: Values) -> str:
    clauses = []
    if values["attributes"]:
        clauses.append(f"trials are graded by {' and '.join(values['attributes'])}")
    for mix in values["mix"]:
        shares = (f"{100 * each['share']:g} % of grade {each['grade']}" for each in mix["grades"])
        clauses.append(f"{mix['trials']} trials: {', '.join(shares)}")
    lists = "one list"
    if values["lists"] > 1:
        lists = f"{values['lists']:,} lists drawn by the same rules"
    clauses.append(lists)
    return f"{values['manifest']} states: {'; '.join(clauses)}"


_SHARES = [{"group": "m", "share": 0.25}, {"group": "f", "share": 0.5}]
_BY_GENDER = {
    "grouping": "gender",
    "extremes": [
        {"group": "f", "figure": 2.0, "size": 40},
        {"group": "m", "figure": 4.0, "size": 60},
    ],
}
_FOLDERS = {"column": "", "are_folders": True}
LIST_SENTENCES: dict[str, SentenceTemplate] = {
    # what checks find
    "unequal_numbers_of_classes": SentenceTemplate(
        _unequal_numbers_of_classes,
        {"unequal": 3, "speakers": 40, "target": [2, 9], "nontarget": [500, 1200]},
    ),
    "few_nontarget_trials": SentenceTemplate(
        _few_nontarget_trials, {"few": 3, "speakers": 40, "minimum": 500.0, "nontarget": [20, 600]}
    ),
    "trials_for_each_speaker": SentenceTemplate(
        _trials_for_each_speaker, {"enrolled": [10, 40], "tested": [0, 90]}
    ),
    "same_share_of_each_grade": SentenceTemplate("every speaker has the same share of each grade"),
    "shares_of_grades_differ": SentenceTemplate(
        _shares_of_grades_differ,
        {
            "off": 3,
            "speakers": 40,
            "gap": 0.02,
            "trials": "nontarget",
            "grade": 4,
            "speaker_share": 0.5,
            "list_share": 0.25,
        },
    ),
    "trials_of_unknown_grade": SentenceTemplate(
        "{trials:,} trials of unknown grade", {"trials": 12}
    ),
    "grades_of_trials": SentenceTemplate(
        _grades_of_trials,
        {"trials": "nontarget", "grades": [{"grade": 4, "share": 0.45, "wished": 0.5}]},
    ),
    "different_lists": SentenceTemplate("{lists:,} different lists", {"lists": 5}),
    "scores_show_differences": SentenceTemplate(
        "add scores to see how much results differ between the lists"
    ),
    "eers_of_lists": SentenceTemplate(
        _eers_of_lists,
        {
            "eers": [0.02, 0.025],
            "grouping": "gender",
            "group": "f",
            "eers_of_group": [0.02, 0.03],
        },
    ),
    "groups_with_few_speakers": SentenceTemplate(
        _groups_with_few_speakers,
        {
            "few": 1,
            "number": 8,
            "minimum": 10.0,
            "grouping": "nationality",
            "n_groupings": 2,
            "smallest": [{"group": "Peru", "speakers": 4}],
        },
    ),
    "same_value_of_nontarget_trials": SentenceTemplate(
        _same_value, {"attribute": "nationality", "grouping": "gender", "shares": _SHARES}
    ),
    "same_recording_target_trials": SentenceTemplate(
        _same_recording, {"attribute": "", "grouping": "gender", "shares": _SHARES, **_FOLDERS}
    ),
    "trials_that_occur_twice": SentenceTemplate(
        _trials_that_occur_twice,
        {"duplicates": 2, "reversed_target": 3, "reversed_nontarget": 4, "same_utterance": 1},
    ),
    "durations_by_group": SentenceTemplate(
        _durations, {**_BY_GENDER, "ratio": 2.0, "is_strong": True}
    ),
    "short_recordings_by_group": SentenceTemplate(
        _short_recordings,
        {
            "short": 12,
            "recordings": 100,
            "seconds": 2.0,
            "grouping": "gender",
            "extremes": [
                {"group": "f", "figure": 0.1, "size": 40},
                {"group": "m", "figure": 0.3, "size": 60},
            ],
        },
    ),
    "impostor_speakers_by_group": SentenceTemplate(
        _impostor_speakers, {**_BY_GENDER, "ratio": 2.0}
    ),
    "enrolments_as_tests": SentenceTemplate(
        "{returning:,} of {enrolled:,} enrolment recordings are also test recordings",
        {"returning": 3, "enrolled": 40},
    ),
    "list_of_pairs": SentenceTemplate("a list of pairs, whose sides are interchangeable"),
    "class_ratios_by_group": SentenceTemplate(_class_ratios, {**_BY_GENDER, "ratio": 2.0}),
    # lists that were built or written in another format
    "lists_drawn": SentenceTemplate(
        _lists_drawn,
        {
            "lists": 2,
            "target": 1200,
            "nontarget": 3600,
            "speakers": 40,
            "groups": 2,
            "grouping": "gender",
        },
    ),
    "failed_checks": SentenceTemplate(_failed_checks, {"checks": ["G2", "G7"]}),
    "list_converted": SentenceTemplate(
        _list_converted, {"path": "list.txt", "format": "kaldi", "target": 40, "nontarget": 1200}
    ),
    "labels_from_speakers": SentenceTemplate(
        "the list has no labels: target trials are those of one speaker"
    ),
    "columns_left_out": SentenceTemplate(
        _columns_left_out, {"format": "kaldi", "columns": ["score", "call"]}
    ),
    # what gives the recordings
    "recordings_in_column": SentenceTemplate(
        "column {column!r} of --utterances", {"column": "call"}
    ),
    "recordings_in_folders": SentenceTemplate("folder of the path"),
    "recordings_not_given": SentenceTemplate(f"unknown; {GIVE_RECORDINGS}"),
    "folders_may_be_no_recordings": SentenceTemplate(
        _folders_may_be_no_recordings, SHARED_FOLDERS_EXAMPLE
    ),
    # why a check cannot be made
    "no_groups_in_list": SentenceTemplate("no groups"),
    "no_grade_known": SentenceTemplate("no grade is known"),
    "no_mix_wished": SentenceTemplate("no mix was requested"),
    "no_trials_of_class": SentenceTemplate("there are no {trials} trials", {"trials": "target"}),
    "no_recording_known": SentenceTemplate("no recording is known"),
    "one_list": SentenceTemplate("one list was given"),
    "no_difficulty_attribute": SentenceTemplate(
        "no attribute that defines difficulty is known in two or more groups"
    ),
    "no_recordings_in_two_groups": SentenceTemplate(
        "no two groups have target trials with known recordings"
    ),
    "groups_of_what_is_checked": SentenceTemplate("the groups are formed by the checked property"),
    "one_group_only": SentenceTemplate("one group only"),
    "no_duration_known": SentenceTemplate("no duration of recordings is known"),
    "few_recordings_in_groups": SentenceTemplate(
        "no two groups have {recordings} recordings of known duration", {"recordings": 20}
    ),
    "few_enrolled_in_groups": SentenceTemplate(
        "no two groups have {speakers} enrolled speakers with trials of both classes",
        {"speakers": 5},
    ),
    "enrolment_recordings_unknown": SentenceTemplate("the recordings of enrolments are unknown"),
    # remarks
    "sides_of_speakers": SentenceTemplate(
        _sides_of_speakers,
        {
            "enrolled": [10, 40],
            "tested": [5, 90],
            "never_enrol": 2,
            "never_test": 0,
            "by_grouping": [{"grouping": "gender", "never_enrol": [0, 2], "never_test": [0, 0]}],
        },
    ),
    "speakers_compared_with_a_speaker": SentenceTemplate(
        _uses("each speaker is compared with", "other speakers"),
        {"numbers": [4, 39], "median": 20.0},
    ),
    "trials_of_an_utterance": SentenceTemplate(
        _uses("each utterance is in", "trials"), {"numbers": [1, 90], "median": 12.0}
    ),
    "uses_of_a_recording": SentenceTemplate(
        _uses("each recording is used", "times"), {"numbers": [1, 90], "median": 12.0}
    ),
    "effective_speakers": SentenceTemplate(
        "the trials of {speakers:,} speakers are as concentrated as those of {effective:,.1f} "
        "equally frequent speakers",
        {"effective": 31.5, "speakers": 40},
    ),
    "group_with_fewest_effective_speakers": SentenceTemplate(
        "lowest share in {group}: {effective:.1f} of {speakers:,} speakers",
        {"grouping": "gender", "group": "f", "effective": 9.5, "speakers": 20},
    ),
    "recordings_of_speakers": SentenceTemplate(
        _recordings_of_speakers, {"numbers": [1, 12], "median": 4.0}
    ),
    "speakers_with_one_recording": SentenceTemplate(
        _speakers_with_one_recording, {"speakers": 3, **_FOLDERS}
    ),
    "speakers_with_unknown_recordings": SentenceTemplate(
        "the recordings of {speakers:,} of the speakers are not all known", {"speakers": 2}
    ),
    "graded_by": SentenceTemplate(_graded_by, {"attributes": ["gender", "nationality"]}),
    "share_of_unknown_grade": SentenceTemplate(
        _share_of_unknown_grade, {"trials": 12, "share": 0.012}
    ),
    "known_of_no_nontarget_trial": SentenceTemplate("unknown for all nontarget trials"),
    "shares_within_and_across": SentenceTemplate(_shares_within_and_across, {"share": 0.4}),
    "shares_by_grouping": SentenceTemplate(
        _shares_by_grouping, {"grouping": "gender", "shares": _SHARES}
    ),
    "unknown_trials": SentenceTemplate("{trials:,} unknown", {"trials": 12}),
    "same_share_of_speakers_and_trials": SentenceTemplate(
        "every group has the same share of speakers and of trials"
    ),
    "shares_of_group": SentenceTemplate(
        _shares_of_group,
        {
            "grouping": "gender",
            "group": "f",
            "speaker_share": 0.4,
            "utterance_share": 0.35,
            "trial_share": 0.3,
        },
    ),
    "others_less_far_off": SentenceTemplate("the other groups differ less"),
    "shared_with_development_list": SentenceTemplate(
        _shared_with_development, {"speakers": 3, "recordings": 5, "utterances": 9, "trials": 0}
    ),
    "variation_not_in_pilot": SentenceTemplate(_variation_not_in_pilot, {"metric": "fnr"}),
    "no_detectable_ratio": SentenceTemplate(
        "no ratio is detectable at a power of {power:g}", {"power": 0.8}
    ),
    "detectable_ratios": SentenceTemplate(
        _detectable_ratios,
        {
            "grouping": "gender",
            "ratios": [{"group": "m", "ratio": 1.4}, {"group": "f", "ratio": 1.9}],
            "power": 0.8,
        },
    ),
    "undetectable_in_groups": SentenceTemplate(
        "no ratio, however large, is detectable in {number:,} of the groups", {"number": 2}
    ),
    "fixed_by_design": SentenceTemplate(
        _fixed_by_design,
        {
            "manifest": "list.json",
            "attributes": ["gender"],
            "mix": [{"trials": "nontarget", "grades": [{"grade": 2, "share": 1.0}]}],
            "lists": 5,
        },
    ),
    # what to do
    "give_speakers_and_by": SentenceTemplate("give --speakers and --by"),
    "give_speakers_and_utterances": SentenceTemplate("give --speakers and --utterances"),
    "give_speakers_and_grade_by": SentenceTemplate("give --speakers and --grade-by"),
    "give_speakers_or_grade_by": SentenceTemplate(
        "give --speakers, or name attributes with --grade-by"
    ),
    "give_recordings": SentenceTemplate(GIVE_RECORDINGS),
    "give_mix": SentenceTemplate(_give_mix, {"max_grade": 4, "target": 3}),
    "give_variants": SentenceTemplate("give other lists of the same design with --variants"),
    "give_groups_of_speakers": SentenceTemplate("give --by with groups of speakers"),
    "give_more_groups": SentenceTemplate("give --by with more groups"),
    "give_larger_groups": SentenceTemplate("give --by with larger groups"),
    "give_durations": SentenceTemplate("give --utterances with a column duration, in seconds"),
    "give_models": SentenceTemplate("give --models"),
    "draw_pairs_of_both_classes": SentenceTemplate(
        "draw equal numbers of target and nontarget pairs for each speaker: parivox trials build "
        "inclusive"
    ),
    "draw_more_pairs": SentenceTemplate(
        "draw more pairs per speaker, or state the lowest error rate that these pairs can support"
    ),
    "draw_same_number_for_each_speaker": SentenceTemplate(
        "draw the same number of trials per speaker, or weight speakers equally"
    ),
    "draw_same_number_of_each_grade": SentenceTemplate(
        "draw the same number of trials of each grade for each speaker"
    ),
    "build_inclusive_with_mix": SentenceTemplate(
        "draw the requested mix with parivox trials build inclusive and its options --mix and "
        "--target-grades"
    ),
    "draw_more_lists": SentenceTemplate(
        "draw more lists with other seeds, and report how results vary between lists"
    ),
    "find_speakers_or_merge_groups": SentenceTemplate(
        "find more speakers, or merge groups: groups with so few speakers are rarely shown to "
        "differ"
    ),
    "fix_share_of_same_value": SentenceTemplate(
        "make the share of same-{attribute} nontarget trials equal in all groups: parivox trials "
        "build balanced",
        {"attribute": "nationality"},
    ),
    "draw_across_recordings": SentenceTemplate(
        "draw target trials across recordings only, or compare groups within one grade"
    ),
    "keep_each_pair_once": SentenceTemplate(
        "keep each unordered pair once: most systems give both orders the same score"
    ),
    "equal_durations": SentenceTemplate(
        "cut recordings to equal durations, or compare groups within bands of duration"
    ),
    "leave_short_recordings_out": SentenceTemplate(
        "exclude short recordings, or compare groups within bands of duration"
    ),
    "sample_equal_impostor_speakers": SentenceTemplate(
        "sample equal numbers of impostor speakers for the speakers of every group"
    ),
    "test_with_other_recordings": SentenceTemplate(
        "test with recordings that are not used for enrolment"
    ),
    "sample_classes_in_one_ratio": SentenceTemplate(
        "sample target and nontarget trials in the same ratio for the speakers of every group"
    ),
    "use_speakers_on_both_sides": SentenceTemplate("use every speaker equally often on both sides"),
    "complete_tables": SentenceTemplate("complete the tables of speakers and of utterances"),
    "weight_speakers_equally": SentenceTemplate(
        "weight speakers equally, or draw the same number of trials per speaker"
    ),
    "leave_shared_parts_out": SentenceTemplate("exclude the shared items from one of the lists"),
    "make_pilot_of_groups": SentenceTemplate("audit a pilot with these groups"),
    "more_speakers_in_groups": SentenceTemplate(
        "add speakers to these groups: parivox plan computes how many"
    ),
    # lists that are built: what a reader must know, and why a speaker takes no part
    "trials_of_each_enrolled": SentenceTemplate(
        "{speakers} speakers per group are enrolled with {utterances} utterances each, and each "
        "has {pairs:,} target and {pairs:,} nontarget trials",
        {"speakers": 10, "pairs": 20, "utterances": 4},
    ),
    "fewer_speakers_than_check": SentenceTemplate(
        "check {check} requires {minimum:g} speakers in each group, more than the {speakers} "
        "requested",
        {"check": "G7", "minimum": 10, "speakers": 5},
    ),
    "made_for_false_accepts": SentenceTemplate(
        "the list is made for false accepts within every group and between every two groups; "
        "checks G1 to G4 are meant for other lists"
    ),
    "no_false_rejects_without_target_trials": SentenceTemplate(
        "there are no target trials, so false rejects cannot be measured"
    ),
    "graded_unlike_check": SentenceTemplate(
        _graded_unlike_check, {"attributes": ["age"], "of_check": ["gender", "nationality"]}
    ),
    "most_trials_of_same_speakers": SentenceTemplate(
        "with --per-speaker up to {pairs:,}, the same speakers take part", {"pairs": 40}
    ),
    "mix_in_whole_trials": SentenceTemplate(
        _mix_in_whole_trials,
        {
            "pairs": 3,
            "grades": [{"grade": 2, "trials": 2}, {"grade": 1, "trials": 1}],
            "multiple": 2,
        },
    ),
    "tested_unequally": SentenceTemplate(
        "speakers are tested in {trials[0]:,} to {trials[1]:,} nontarget trials each",
        {"trials": [18, 24]},
    ),
    "doubtful_recordings": SentenceTemplate(
        _doubtful_recordings,
        {
            "column": "",
            "are_folders": True,
            "folders": SHARED_FOLDERS_EXAMPLE,
        },
    ),
    "attribute_not_known": SentenceTemplate(_not_known, {"attributes": ["gender"]}),
    "group_not_asked_for": SentenceTemplate("the group was not requested"),
    "only_speaker_of_group": SentenceTemplate(
        "the only speaker of the group, with no nontarget pairs within it"
    ),
    "few_utterances": SentenceTemplate("fewer than {utterances:,} utterances", {"utterances": 4}),
    "few_target_pairs": SentenceTemplate(
        "fewer than {pairs:,} target pairs across recordings", {"pairs": 20}
    ),
    "few_target_pairs_of_grade": SentenceTemplate(
        "fewer than {pairs:,} target pairs of grade {grade}", {"pairs": 20, "grade": 3}
    ),
    "few_nontarget_pairs_of_grade": SentenceTemplate(
        "fewer than {pairs:,} distinct nontarget pairs of grade {grade}", {"pairs": 20, "grade": 4}
    ),
    "no_partner_of_grade": SentenceTemplate("no partner of grade {grade}", {"grade": 4}),
    # scores of recordings
    "models_of_fewer_recordings": SentenceTemplate(
        "models made of fewer recordings, as some of their recordings failed: {models:,}",
        {"models": 3},
    ),
    "failed_recordings_in_no_pair": SentenceTemplate(
        "recordings that failed and are in no pair: {recordings:,}", {"recordings": 2}
    ),
    "cohort_in_no_pair": SentenceTemplate(
        "recordings of the cohort, which are in no pair: {recordings:,}",
        {"recordings": 24},
    ),
    "failed_recordings_of_cohort": SentenceTemplate(
        "recordings of {cohort} that failed and are excluded: {recordings:,}",
        {"cohort": "cohort", "recordings": 1},
    ),
    "cohort_speakers_in_trials": SentenceTemplate(
        "{common:,} of {cohort:,} speakers of the cohort are also in the trials; use other people "
        "for the cohort",
        {"common": 3, "cohort": 120},
    ),
    # what `parivox trials` prints
    "use_details": SentenceTemplate("For details of each check and further statistics, use -v"),
    "checks_failed": SentenceTemplate(
        "fails {failed} of {checks} checks ({names})",
        {"failed": 2, "checks": 12, "names": "G1, G9"},
    ),
    "checks_passed": SentenceTemplate("passes all {checks} checks", {"checks": 12}),
    "every_trial_written": SentenceTemplate("Every trial is in {path}", {"path": "graded.csv"}),
    "list_size": SentenceTemplate(
        "{trials} ({target:,} target, {nontarget:,} nontarget) of {parts}",
        {"trials": "1,200 trials", "target": 100, "nontarget": 1100, "parts": "40 speakers"},
    ),
    "list_could_not_be_checked": SentenceTemplate("could not be checked"),
    "no_attribute_known": SentenceTemplate("no attribute is known"),
    "no_trial_of_known_speakers": SentenceTemplate("no trial has known speakers on both sides"),
    "name_test_speakers": SentenceTemplate("name the speakers of the test recordings"),
    # titles of checks and remarks
    "check_equal_classes": SentenceTemplate(
        "equal numbers of target and nontarget trials per speaker"
    ),
    "check_nontarget_trials": SentenceTemplate("nontarget trials per speaker"),
    "check_equal_trials": SentenceTemplate("equal numbers of trials per speaker"),
    "check_equal_grades": SentenceTemplate("same mix of grades for every speaker"),
    "check_requested_grades": SentenceTemplate("requested mix of grades"),
    "check_variants": SentenceTemplate("variants of the list"),
    "check_speakers_of_groups": SentenceTemplate("speakers in each group"),
    "check_equal_compositions": SentenceTemplate(
        "same composition of nontarget trials in all groups"
    ),
    "check_equal_same_recordings": SentenceTemplate(
        "same share of same-recording target trials in all groups"
    ),
    "check_no_repeated_trials": SentenceTemplate("no duplicate or reversed trials"),
    "check_equal_durations": SentenceTemplate("equally long recordings in all groups"),
    "check_equal_short_recordings": SentenceTemplate(
        "same share of short recordings in all groups"
    ),
    "check_equal_impostor_speakers": SentenceTemplate(
        "equal numbers of impostor speakers in all groups"
    ),
    "check_no_returning_enrolments": SentenceTemplate(
        "no enrolment recordings among the test recordings"
    ),
    "check_equal_class_ratios": SentenceTemplate(
        "same ratio of target to nontarget trials in all groups"
    ),
    "remark_design": SentenceTemplate("what its design fixed"),
    "remark_sides": SentenceTemplate("speakers by side"),
    "remark_reuse": SentenceTemplate("how often things are used"),
    "remark_effective_speakers": SentenceTemplate("effective number of speakers"),
    "remark_recordings": SentenceTemplate("recordings for each speaker"),
    "remark_leakage": SentenceTemplate("shared with the development list"),
    "remark_known_grades": SentenceTemplate("grades that are known"),
    "remark_same_attribute": SentenceTemplate(
        "nontarget trials with the same {attribute}", {"attribute": "country"}
    ),
    "remark_shares": SentenceTemplate("shares of {grouping}", {"grouping": "gender"}),
    "remark_detectable_ratio": SentenceTemplate(
        "least {metric} ratio of {grouping} to be detected", {"metric": "FNR", "grouping": "gender"}
    ),
}
"""Every sentence on trial lists by its code."""
