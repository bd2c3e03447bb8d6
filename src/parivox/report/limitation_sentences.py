"""Sentences of the catalogue on what limits an audit: each in a few words and in full.

`caveats` and the limitations of searches say which of them hold, and with which values. A value
that is a text is a name, or words of other facts of the catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.report.sentence_template import SentenceTemplate
from parivox.report.words import capitalised, count_of, count_text, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Values = Mapping[str, Any]
    Words = str | Callable[[Values], str]

MIN_MEDIUM_CRAMERS_V = 0.3
"""Below this Cramér's V, attributes are associated weakly, as Cohen's medium effect has it."""
_MIN_SHOWN_P = 0.001
_BOTH_GROUPS = 2


class LimitationTemplate(NamedTuple):
    """A limitation in a few words and in a sentence, and the section that tells more."""

    short: SentenceTemplate
    sentence: SentenceTemplate
    anchor: str


class Caveat(NamedTuple):
    """What weakens a finding: a code of `LIMITATIONS`, with its values."""

    code: str
    values: Mapping[str, Any] = {}
    named_systems: str = ""
    """Systems that it is about, if these are not all of the audit; the few words name them."""

    @property
    def short(self) -> str:
        """The limitation in a few words."""
        words = LIMITATIONS[self.code].short.with_values(self.values)
        return f"{self.named_systems}: {words}" if self.named_systems else words

    @property
    def sentence(self) -> str:
        """The limitation in a sentence, without its end."""
        sentence = LIMITATIONS[self.code].sentence.with_values(self.values)
        # some sentences name their systems themselves
        if self.named_systems and "systems" not in self.values:
            return f"{self.named_systems}: {sentence}"
        return sentence

    @property
    def anchor(self) -> str:
        """The section that tells more."""
        return LIMITATIONS[self.code].anchor


def _limitation(
    short: Words, sentence: Words, anchor: str, example: Values | None = None
) -> LimitationTemplate:
    values = example or {}
    return LimitationTemplate(
        SentenceTemplate(short, values), SentenceTemplate(sentence, values), anchor
    )


# ---- missing and excluded trials


def _without_countermeasure_score(values: Values) -> str:
    excluded = [
        f"{count_of(row['trials'], row['trial_class'] + ' trial')} ({percent(row['share'])})"
        for row in values["classes"]
    ]
    *leading_classes, last_class = excluded
    listed = f"{', '.join(leading_classes)} and {last_class}" if leading_classes else last_class
    return f"{listed} excluded, without a countermeasure score"


def _effect_of_countermeasure_scores(values: Values) -> str:
    sentence = _without_countermeasure_score(values)
    if not values["rates_if_rejected"]:
        return sentence
    (rates,) = values["rates_if_rejected"]
    return (
        f"{sentence}; if all were rejected, the FNR would be {percent(rates['if_rejected'])} "
        f"instead of {percent(rates['rate'])} (operating point {values['operating_point']})"
    )


def _missing_scores(values: Values) -> str:
    highest, lowest = values["highest"], values["lowest"]
    system = f"{values['system']}: " if values["system"] else ""
    sentence = (
        f"{system}Missing scores differ by {values['grouping']}: {percent(highest['share'])} of "
        f"the {values['trial_class']} trials of {highest['group']} have no score, "
        f"{percent(lowest['share'])} of {lowest['group']}"
    )
    if values["trial_class"] != "target":
        return f"{sentence}; FPRs count only trials with a score and may be too high or too low"
    if not values["rates_if_rejected"]:
        return sentence
    rates = " and ".join(
        f"the FNR of {each['group']} would be {percent(each['if_rejected'])} instead of "
        f"{percent(each['rate'])}"
        for each in values["rates_if_rejected"]
    )
    return (
        f"{sentence}; if all were rejected, {rates} (operating point {values['operating_point']})"
    )


def _trials_without_speaker(values: Values) -> str:
    return (
        f"{count_text(values['trials'])} of {count_text(values['nontarget_trials'])} nontarget "
        "trials have no test speaker"
    )


def _unknown_test_speakers(values: Values) -> str:
    sentences = [
        (
            f"{_trials_without_speaker(values)}, so the number of speakers behind these trials is "
            "unknown: where these trials count, FPR has no interval, verdict or noise floor"
        )
    ]
    if values["is_threshold_set_here"]:
        sentences.append("Intervals of FNR treat the threshold as fixed")
    allocation_sentences = {
        "enrol": "These trials count for the group of the enrolled speaker (allocation enrol)",
        "either": (
            "Under allocation either, these trials count only for the group of the enrolled speaker"
        ),
    }
    for allocation in values["allocations"]:
        in_no_group = (
            f"Under allocation {allocation}, these trials count for no group of speakers; "
            "--allocate enrol counts them for the enrolled speaker"
        )
        sentences.append(allocation_sentences.get(allocation, in_no_group))
    sentences.append(
        "To get an interval and a verdict for FPR, name the caller of each attempt in a column "
        "test_speaker"
    )
    return ". ".join(sentences)


def _placeholder_speakers(values: Values) -> str:
    return f"{count_of(values['trials'], 'trial')} of unknown speakers excluded"


def _excluded_trials(values: Values) -> str:
    rows_excluded = f"{count_of(values['rows'], 'contradictory row')} excluded"
    if values["with_rows"] is None:
        return f"{rows_excluded}: no {values['trial_class']} trials are left"
    with_text = f"{values['metric'].upper()} is {percent(values['with_rows'])} with these rows"
    without_rows = values["without_rows"]
    without_text = "" if without_rows is None else f" and {percent(without_rows)} without them"
    return f"{rows_excluded}: {with_text}{without_text}"


def _trials_in_no_group(values: Values) -> str:
    return (
        f"{count_text(values['trials'])} of {count_of(values['all_trials'], 'trial')} in no group "
        f"by {' or '.join(values['groupings'])}, as the group of a speaker is unknown"
    )


def counts_files_text(values: Values) -> str:
    """Return what files of counts cannot show, and how much they suppress, if any."""
    n_suppressed = values["suppressed"]
    suppressed = f". {n_suppressed} groups or strata are suppressed" if n_suppressed else ""
    files = "files" if values["files"] > 1 else "file"
    return (
        f"from {values['files']} {files} of score counts, which do not contain: "
        f"{'; '.join(values['contents'])}{suppressed}"
    )


def _same_group(values: Values) -> str:
    return f"of the same group (by {' and '.join(values['groupings'])})"


# ---- groups


def groups_without_trials_text(values: Values) -> str:
    """Return which groups of a grouping have no trials, and why."""
    have = "has" if values["groups"] == 1 else "have"
    speakers = count_of(values["speakers"], "speaker")
    return (
        f"{_number_of_groups(values)} by {values['grouping']} ({speakers} in the speaker table) "
        f"{have} no trials and cannot be assessed: {values['reason']}"
    )


def _few_groups_without_trials(values: Values) -> str:
    have = "has" if values["groups"] == 1 else "have"
    speakers = count_of(values["speakers"], "speaker")
    by_grouping = f" by {values['grouping']}" if values.get("is_grouping_named") else ""
    return f"{_number_of_groups(values)}{by_grouping} {have} no trials ({speakers})"


def _number_of_groups(values: Values) -> str:
    return "groups" if values["groups"] is None else count_of(values["groups"], "group")


def _under_represented_share(values: Values) -> str:
    (first_metric, n_small), *other_counts = values["small_groups"].items()
    share = _share_of_groups(n_small, values["groups"], values["kind"])
    words = f"{share} under-represented{values['in_systems']} (too few speakers, errors or pairs)"
    if values["differ_by_metric"]:
        words += f" for {first_metric.upper()}"
        words += "".join(f", and {n} for {metric.upper()}" for metric, n in other_counts)
    return words


def _under_represented(values: Values) -> str:
    details = ". ".join(
        f"Under-represented for {metric.upper()}: {numbers}"
        for metric, numbers in values["numbers"].items()
    )
    return (
        f"{capitalised(_under_represented_share(values))}{values['at_point']}. "
        f"{details}. A group with {values['minimums']} is under-represented"
    )


def _share_of_groups(n_small: int, n_groups: int, kind: str) -> str:
    """Return how many of the groups are small, as the beginning of a sentence."""
    if n_small < n_groups:
        verb = "is" if n_small == 1 else "are"
        return f"{n_small} of {n_groups} {kind}groups {verb}"
    if n_groups == 1:
        return f"the one {kind}group is"
    if n_groups == _BOTH_GROUPS:
        return f"both {kind}groups are"
    return f"all {n_groups} {kind}groups are"


# ---- associations


def _association_strength(values: Values) -> str:
    is_weak = values["cramers_v"] < MIN_MEDIUM_CRAMERS_V
    strength = "weakly associated" if is_weak else "associated"
    return f"{values['attribute']} and {values['other']} are {strength}"


def _association_statistics(values: Values) -> str:
    p = "< 0.001" if values["p_holm"] < _MIN_SHOWN_P else f"= {values['p_holm']:.2g}"
    return f"Cramér's V {values['cramers_v']:.2f}, adjusted p {p}, {values['speakers']:,} speakers"


def _association(values: Values) -> str:
    attribute, other = values["attribute"], values["other"]
    consequence = f"a difference by {attribute} may be partly or entirely due to {other}"
    if values["has_same_differences"]:
        consequence = f"part of a difference by {attribute} may be due to {other}"
    return (
        f"{_association_strength(values)}{_shares_text(values)} "
        f"({_association_statistics(values)}), so {consequence}"
    )


def _association_not_shown(values: Values) -> str:
    return (
        f"{values['attribute']} and {values['other']} are not shown to be associated "
        f"({_association_statistics(values)})"
    )


def _shares_text(values: Values) -> str:
    """Return how often two groups have the value that they differ most in; empty if unknown."""
    shares = values["shares"]
    if not shares:
        return ""
    first_group, second_group = shares["groups"]
    return (
        f": {_share_text(first_group)} of the speakers with {values['attribute']} "
        f"{first_group['group']} and {_share_text(second_group)} of those with "
        f"{values['attribute']} {second_group['group']} have {values['other']} {shares['value']}"
    )


def _share_text(group: Values) -> str:
    """Return a share in percent; of few speakers, only that they are few."""
    if "fewer_than" in group:
        return f"fewer than {group['fewer_than']}"
    if "all_but_fewer_than" in group:
        return f"all but fewer than {group['all_but_fewer_than']}"
    return f"{100 * group['share']:.0f} %"


def _with_consequence(words: Words) -> Callable[[Values], str]:
    """Return a template of an association in a few words, with what follows from it."""

    def short(values: Values) -> str:
        association = SentenceTemplate(words).with_values(values)
        return f"{association} (so groups by one may differ because of the other)"

    return short


def _with_remedy(words: Words) -> Callable[[Values], str]:
    """Return a template of a sentence on an association, with options that examine it, if any."""

    def sentence(values: Values) -> str:
        association = SentenceTemplate(words).with_values(values)
        option = values.get("option")
        if not option:
            return association
        remedy = f"use --within {option} or --standardise {option}"
        return f"{association}. To account for {option}, {remedy}"

    return sentence


_ATTRIBUTES = {"attribute": "accent", "other": "country"}
_ASSOCIATED = {
    **_ATTRIBUTES,
    "cramers_v": 0.54,
    "p_holm": 0.0002,
    "speakers": 1190,
    "shares": {
        "value": "India",
        "groups": [{"group": "north", "share": 0.7}, {"group": "south", "share": 0.1}],
    },
    "option": "country",
    "has_same_differences": False,
}
_ASSOCIATION_WORDS: dict[str, tuple[Words, Words, Values]] = {
    "attributes_coincide": (
        _with_consequence("{attribute} and {other} coincide"),
        (
            "{attribute} and {other} coincide: a difference by one cannot be separated from a "
            "difference by the other"
        ),
        _ATTRIBUTES,
    ),
    "attribute_determines": (
        _with_consequence("{attribute} determines {other}"),
        (
            "{attribute} determines {other}: a difference by {attribute} may be a difference by "
            "{other}"
        ),
        _ATTRIBUTES,
    ),
    "attribute_determined": (
        _with_consequence("{attribute} is determined by {other}"),
        (
            "{attribute} is determined by {other}: each value of {other} occurs with one value of "
            "{attribute} only, so a difference by {attribute} cannot be separated from a "
            "difference by {other}"
        ),
        _ATTRIBUTES,
    ),
    "association_not_shown": (_association_not_shown, _association_not_shown, _ASSOCIATED),
    "attributes_associated": (
        _with_consequence(_association_strength),
        _association,
        _ASSOCIATED,
    ),
}
ASSOCIATIONS = {
    code: _limitation(short, _with_remedy(sentence), "groups", example)
    for code, (short, sentence, example) in _ASSOCIATION_WORDS.items()
}
"""Associations of attributes, each in words that begin with the name of an attribute."""


def _capitalised(template: SentenceTemplate) -> Callable[[Values], str]:
    """Return a template of the same sentence, with a capital."""
    return lambda values: capitalised(template.with_values(values))


# ---- attacks and searches


def _tested_attacks(values: Values) -> str:
    few_attacks = ""
    if values["is_few"]:
        attacks = count_of(values["attacks"], "attack")
        few_attacks = f" ({attacks}: too few to generalise to other attacks)"
    return f"spoof accepts hold for the attacks of this list only{few_attacks}"


_ATTACKS = (
    "Spoof accepts (SFAR) are for the attacks of this list. Other attacks may be accepted more "
    "often, and how often attacks occur in use is unknown. A difference between groups may be due "
    "to differences between the spoofed recordings. FDR, IR and GARBE do not include spoof accepts"
)


def persons_text(gallery_sizes: Any) -> str:
    """Return how many persons are enrolled: in the only gallery, or in each of several."""
    if len(gallery_sizes) == 1:
        return count_of(gallery_sizes[0], "person")
    span = count_text(min(gallery_sizes))
    if max(gallery_sizes) > min(gallery_sizes):
        span += f" to {count_text(max(gallery_sizes))}"
    return f"{span} persons in each of {count_text(len(gallery_sizes))} galleries"


def _rates_of_gallery(values: Values) -> str:
    return (
        "False positive identifications grow with the number of enrolled persons. These rates are "
        f"for {persons_text(values['gallery_sizes'])}; they do not show the rates for a longer "
        "list or for other persons"
    )


def _gallery_sizes(values: Values) -> str:
    sizes = values["gallery_sizes"]
    return f"gallery sizes differ ({min(sizes)} to {max(sizes)})"


def _on_searches(words: str) -> Callable[[Values], str]:
    """Return a template of words on a number of searches, in the singular or plural."""

    def sentence(values: Values) -> str:
        n_searches = values["count"]
        noun = "search" if n_searches == 1 else "searches"
        return words.format(
            searches=f"{count_text(n_searches)} {noun}",
            mated=f"{count_text(n_searches)} mated {noun}",
            nonmated=f"{count_text(n_searches)} non-mated {noun}",
            ties=count_of(n_searches, "tie"),
            are="is" if n_searches == 1 else "are",
            expected=values.get("value"),
        )

    return sentence


def _search_limitation(short: str, sentence: str, **value: float) -> LimitationTemplate:
    return _limitation(
        _on_searches(short), _on_searches(sentence), "gallery", {"count": 12, **value}
    )


SEARCH_WARNINGS = {
    "searches_without_candidates": _search_limitation(
        "{searches} without candidates",
        (
            "{searches} returned no list. Such a search counts as a miss if it is mated, and not "
            "as a false positive if it is non-mated, so failures lower the FPIR"
        ),
    ),
    "searches_of_unknown_speakers": _search_limitation(
        "{searches} of unknown speakers",
        (
            "{searches} {are} of speakers without an id. Such searches count in the rates of all "
            "searches, in no group, and give no interval"
        ),
    ),
    "searches_of_unlisted_speakers": _search_limitation(
        "{searches} of speakers outside the speaker table",
        "{searches} {are} of speakers who are not in the speaker table, and so {are} in no group",
    ),
    "mates_in_ties": _search_limitation(
        "{ties} at the rank of the person sought",
        (
            "In {mated} another person has the same score as the one sought. The other person is "
            "ranked first"
        ),
    ),
    "few_false_positives_expected": _search_limitation(
        "few false positives expected at the operating point",
        (
            "With {nonmated}, the operating point leads to {expected:.3g} false positive "
            "identifications at most. With fewer than 30, threshold and FPIR are uncertain"
        ),
        value=4.2,
    ),
}
"""What was noticed in the searches, by the item of the table of data."""


def _differing_shares(values: Values) -> str:
    return (
        f"{percent(values['gallery_share'])} of the enrolled persons and "
        f"{percent(values['search_share'])} of the non-mated searches are of {values['group']}. "
        "Speakers of the same group sound more alike than others, so the FPIR of a group grows "
        "with its share of the list"
    )


def _share_of_one_person(values: Values) -> str:
    return (
        f"At {values['operating_point']}, {percent(values['share'])} of the false positive "
        "identifications return one and the same person. Some voices resemble many others; the "
        "result says nothing else about the person"
    )


_NOTE = {"systems": "V2, L", "note": "values with the same spelling but for case: 'UK' and 'uk'"}
_CHECK = {
    "rates": "FNRs",
    "errors": "false rejects",
    "systems": ["V2"],
    "check": "1 of 48 enrolment recordings are also test recordings",
    "effect": "scores of trials that share a recording are dependent",
}

LIMITATIONS: dict[str, LimitationTemplate] = {
    "missing_scores_differ": _limitation(
        "missing scores differ by group",
        _missing_scores,
        "data",
        {
            "system": "",
            "grouping": "gender",
            "trial_class": "target",
            "highest": {"group": "f", "share": 0.12},
            "lowest": {"group": "m", "share": 0.03},
            "rates_if_rejected": [{"group": "f", "rate": 0.05, "if_rejected": 0.17}],
            "operating_point": "fpr=0.01",
        },
    ),
    "trials_without_countermeasure_score": _limitation(
        _without_countermeasure_score,
        _effect_of_countermeasure_scores,
        "data",
        {
            "classes": [{"trial_class": "target", "trials": 152, "share": 0.21}],
            "rates_if_rejected": [{"group": "all", "rate": 0.079, "if_rejected": 0.274}],
            "operating_point": "threshold=1",
        },
    ),
    "common_trials_only": _limitation(
        "{systems}: {shared}",
        "{systems}: {shared}",
        "data",
        {"systems": "V2 against L", "shared": "both systems have 9,850 trials in common"},
    ),
    "unusual_operating_point": _limitation("{note}", "{systems}: {note}", "points", _NOTE),
    "operating_point_without_threshold": _limitation(
        "{operating_point} has no threshold ({reason})",
        "The operating point {operating_point} has no threshold and no error rates ({reason})",
        "points",
        {"operating_point": "fpr=0.001", "reason": "no nontarget trials"},
    ),
    "thresholds_set_on_audited_trials": _limitation(
        "thresholds set on the audited trials (error rates on other trials may differ)",
        (
            "The thresholds were set on the audited trials. On other trials the same thresholds "
            "may give other error rates, and deployed thresholds may differ from these thresholds"
        ),
        "points",
    ),
    "rules_fitted_on_audited_trials": _limitation(
        "threshold rules set on the audited trials",
        (
            "The threshold rules were fitted on the audited trials. Results for other speakers are "
            "likely to be worse"
        ),
        "points",
    ),
    "test_speakers_unknown": _limitation(
        lambda values: f"{_trials_without_speaker(values)}: no interval of their FPR",
        _unknown_test_speakers,
        "data",
        {
            "trials": 300,
            "nontarget_trials": 9000,
            "is_threshold_set_here": True,
            "allocations": ["both"],
        },
    ),
    "placeholder_speakers": _limitation(
        _placeholder_speakers,
        lambda values: (
            f"{_placeholder_speakers(values)}: the speaker of a side is a placeholder, such as nan "
            "or unknown"
        ),
        "data",
        {"trials": 12},
    ),
    "excluded_trials": _limitation(
        _excluded_trials,
        _excluded_trials,
        "data",
        {
            "rows": 12,
            "metric": "fpr",
            "trial_class": "nontarget",
            "with_rows": 0.012,
            "without_rows": 0.01,
        },
    ),
    "trials_in_no_group": _limitation(
        _trials_in_no_group,
        _trials_in_no_group,
        "data",
        {"trials": 900, "all_trials": 9850, "groupings": ["gender"]},
    ),
    "counts_files": _limitation(
        counts_files_text,
        lambda values: capitalised(counts_files_text(values)),
        "data",
        {"files": 2, "contents": ["groups by recording"], "suppressed": 1},
    ),
    "impostors_of_same_group": _limitation(
        lambda values: f"false accepts only by impostors {_same_group(values)}",
        lambda values: (
            f"All nontarget trials of known groups are between speakers {_same_group(values)}, so "
            "false accepts show nothing about impostors of other groups"
        ),
        "list",
        {"groupings": ["gender"]},
    ),
    "trials_differ_between_groups": _limitation(
        "{rates} of groups may not be comparable: {check}",
        lambda values: (
            f"The trials differ between groups ({', '.join(values['systems'])}): "
            f"{values['check']}. If groups differ in {values['errors']}, part of the difference "
            "may be due to their trials"
        ),
        "list",
        _CHECK,
    ),
    "design_of_trials": _limitation(
        "{check}",
        lambda values: (
            f"{capitalised(values['check'])} ({', '.join(values['systems'])}): {values['effect']}"
        ),
        "list",
        _CHECK,
    ),
    **{
        code: each._replace(
            sentence=SentenceTemplate(_capitalised(each.sentence), each.sentence.example)
        )
        for code, each in ASSOCIATIONS.items()
    },
    "groups_without_trials": _limitation(
        _few_groups_without_trials,
        lambda values: capitalised(groups_without_trials_text(values)),
        "data",
        {"groups": 2, "speakers": 3, "grouping": "gender", "reason": "in no trial: x, y"},
    ),
    "data_warning": _limitation("data warning: {note}", "{systems}: {note}", "data", _NOTE),
    "groups_under_represented": _limitation(
        _under_represented_share,
        _under_represented,
        "groups",
        {
            "small_groups": {"fnr": 3, "fpr": 2},
            "differ_by_metric": True,
            "in_systems": "",
            "groups": 9,
            "kind": "",
            "at_point": " at fpr=0.01",
            "numbers": {"fnr": "x (7 speakers)", "fpr": "x (7 speakers)"},
            "minimums": "fewer than 10 speakers, 10 effective errors or 45 pairs of speakers",
        },
    ),
    "attacks_of_list": _limitation(
        _tested_attacks, _ATTACKS, "attacks", {"attacks": 3, "is_few": True}
    ),
    "spoof_trials_of_list": _limitation(
        _tested_attacks, _ATTACKS, "groups", {"attacks": 0, "is_few": False}
    ),
    "acquisition_failures_not_supplied": _limitation(
        "acquisition failures (unusable recordings) not supplied",
        (
            "Failures to enrol and to acquire were not supplied (--failures). If such failures "
            "occurred, speakers were rejected more often than the FNR shows"
        ),
        "failures",
    ),
    "context_not_supplied": _limitation(
        "intended use and population not supplied",
        lambda values: (
            f"These items of the audit context were not supplied: {'; '.join(values['entries'])}. "
            "Add them with --context"
        ),
        "context",
        {"entries": ["intended use", "population"]},
    ),
    # searches in a gallery
    "rates_of_gallery_only": _limitation(
        lambda values: f"rates hold for {persons_text(values['gallery_sizes'])} only",
        _rates_of_gallery,
        "gallery",
        {"gallery_sizes": [50]},
    ),
    "gallery_sizes_differ": _limitation(
        _gallery_sizes,
        lambda values: (
            f"{capitalised(_gallery_sizes(values))}, so a difference in false positive "
            "identifications may be due to gallery size"
        ),
        "gallery",
        {"gallery_sizes": [2, 5]},
    ),
    "threshold_set_on_audited_searches": _limitation(
        "threshold set on the audited searches",
        (
            "The threshold was set on the audited searches. On other searches, this threshold "
            "may give other error rates"
        ),
        "gallery",
    ),
    **SEARCH_WARNINGS,
    "shares_differ_between_list_and_searches": _limitation(
        "share of {group} differs between list and searches",
        _differing_shares,
        "named",
        {"group": "f", "gallery_share": 0.2, "search_share": 0.5},
    ),
    "false_positives_of_one_person": _limitation(
        "false positives depend on one enrolled person",
        _share_of_one_person,
        "named",
        {"operating_point": "fpir=0.01", "share": 0.31},
    ),
}
"""Every limitation by its code."""
