"""Limitations of an audit: each rule looks for one thing that weakens what the audit finds.

`caveats` applies `RULES` in the order in which a reader meets them: first what concerns all trials,
then groups, then what was not supplied. A new limitation is one more rule in this tuple.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from parivox.auditing import MISSING_SCORES, MISSING_TARGETS, SAME_TRIALS
from parivox.core.attacks import MIN_ATTACKS
from parivox.report import findings
from parivox.report.audit_queries import (
    POOLED,
    error_types,
    first_point_name,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    small_groups,
    system_label,
    systems,
)
from parivox.report.identification import is_identification, limitations
from parivox.report.sheets.comparison import pairs
from parivox.report.words import capitalised, count_of, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Scope, Shortfall
    from parivox.report.words import Row

    Shortfalls = dict[str, dict[str, Shortfall]]
    """By metric and group: the first minimum that a group misses."""

_MAX_SMALL_GROUPS = 10
"""Small groups that are named with what they have too little of."""
_BOTH_GROUPS = 2
_EFFECT_OF_CHECK = {
    "G14": "scores of trials that share a recording are dependent",
    "G15": "thresholds, costs and calibration over all trials weigh the groups unequally",
}
"""By check of a list that does not make rates of groups differ: what it limits."""


class Caveat(NamedTuple):
    """What weakens a finding: in a few words, in a sentence, and the section that tells more."""

    short: str
    sentence: str
    anchor: str


def caveats(audit: Audit) -> list[Caveat]:
    """Return what a reader must know before relying on the finding, each limitation once."""
    rules = SEARCH_RULES if is_identification(audit) else RULES
    by_short = {caveat.short: caveat for rule in rules for caveat in rule(audit)}
    return list(by_short.values())


# ---- missing scores


def missing_score_sentences(audit: Audit) -> Iterator[str]:
    """Yield where missing scores differ by group, with the FNR if all of them were rejected."""
    has_several_systems = len(systems(audit)) > 1
    for system in systems(audit):
        rows = audit.data.subset(**system, source=MISSING_SCORES).rows()
        for (grouping, trials), group_rows in groupby(
            rows, key=lambda row: (row["grouping"], row["item"])
        ):
            sentence = _missing_scores_of_grouping(
                audit, system, grouping, trials, list(group_rows)
            )
            if has_several_systems:
                sentence = f"{system_label(system['system'], system['list'])}: {sentence}"
            yield sentence


def _missing_scores_of_grouping(
    audit: Audit, system: Row, grouping: str, trials: str, group_rows: Sequence[Row]
) -> str:
    """Return the largest and smallest share of trials without score, and what may follow."""
    highest, *_, lowest = sorted(group_rows, key=lambda row: -row["value"])
    trial_class = "target" if trials == MISSING_TARGETS else "nontarget"
    sentence = (
        f"Missing scores differ by {grouping}: {percent(highest['value'])} of the {trial_class} "
        f"trials of {highest['group']} have no score, "
        f"{percent(lowest['value'])} of {lowest['group']}"
    )
    if trials != MISSING_TARGETS:
        return f"{sentence}; FPRs count only trials with a score and may be too high or too low"
    rates_if_rejected = [
        _fnr_if_rejected(audit, system, row) for row in (highest, lowest) if row["count"]
    ]
    if not all(rates_if_rejected):
        return sentence
    consequence = f"if all were rejected, {' and '.join(rates_if_rejected)}"
    return f"{sentence}; {consequence} (operating point {first_point_name(audit, system)})"


def _fnr_if_rejected(audit: Audit, system: Row, missing_row: Row) -> str:
    """Return the FNR of a group if its unscored target trials were rejected; empty if unknown."""
    filters = {"grouping": missing_row["grouping"], "group": missing_row["group"], "within": ""}
    point = first_point_name(audit, system)
    rates = audit.groups.subset(**system, **filters, metric="fnr", operating_point=point).rows()
    if not rates or not rates[0]["trials"] or rates[0]["errors"] is None:
        return ""
    rate, n_missing = rates[0], missing_row["count"]
    rate_if_rejected = (rate["errors"] + n_missing) / (rate["trials"] + n_missing)
    return (
        f"the FNR of {missing_row['group']} would be {percent(rate_if_rejected)} "
        f"instead of {percent(rate['value'])}"
    )


def missing_scores(audit: Audit) -> Iterator[Caveat]:
    """Yield where the share of trials without score differs by group."""
    for sentence in missing_score_sentences(audit):
        yield Caveat("missing scores differ by group", sentence, "data")


# ---- trials and thresholds


def trials_in_common(audit: Audit) -> Iterator[Caveat]:
    """Yield which systems are compared on only some of their trials."""
    for pair in pairs(audit):
        if pair.is_on_common_trials:
            words = f"{pair.label}: {pair.shared}"
            yield Caveat(words, words, "data")


def unusual_operating_points(audit: Audit) -> Iterator[Caveat]:
    """Yield which operating points miss their rate or have an infinite threshold."""
    for note in findings.unusual_points(audit):
        yield Caveat(note.words, note.sentence, "points")


def thresholds_set_on_audited_trials(audit: Audit) -> Iterator[Caveat]:
    """Yield that thresholds were set on the audited trials, if they were."""
    if SAME_TRIALS in findings.threshold_sources(audit):
        yield Caveat(
            "thresholds set on the audited trials (error rates on other trials may differ)",
            "The thresholds were set on the audited trials. On other trials the same thresholds "
            "may give other error rates, and deployed thresholds may differ from these thresholds",
            "points",
        )


def rules_fitted_on_audited_trials(audit: Audit) -> Iterator[Caveat]:
    """Yield that a rule file was fitted on the audited trials, if it was."""
    threshold_rules = audit.record.get("thresholds", {})
    fitted_trials = threshold_rules.get("trials_sha256")
    audited_trials = [inputs.get("content_sha256") for inputs in audit.record["inputs"]]
    if fitted_trials and fitted_trials in audited_trials:
        yield Caveat(
            "threshold rules set on the audited trials",
            "The threshold rules were fitted on the audited trials. Results for other speakers are "
            "likely to be worse",
            "points",
        )


def trials_of_each_system(audit: Audit) -> Iterator[Caveat]:
    """Yield what `SYSTEM_RULES` find, system by system."""
    for system in systems(audit):
        for rule in SYSTEM_RULES:
            yield from rule(audit, system)


def unknown_test_speakers(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield how many nontarget trials have no test speaker, and what follows."""
    short, sentences = findings.unknown_test_speakers_text(audit, system)
    if short:
        yield Caveat(short, sentences, "data")


def placeholder_speakers(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield how many trials name a placeholder for a speaker."""
    words = findings.placeholder_speakers_text(audit, system)
    if words:
        reason = "the speaker of a side is a placeholder, such as nan or unknown"
        yield Caveat(words, f"{words}: {reason}", "data")


def excluded_trials(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield which exclusions change a pooled rate."""
    for metric in error_types(audit):
        words = findings.excluded_trials_text(audit, system, metric)
        if words:
            yield Caveat(words, words, "data")


def trials_in_no_group(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield how many trials are in no group, where they are more than a few."""
    for words in findings.unknown_group_sentences(audit, system):
        yield Caveat(words, words, "data")


def counts_files(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield what files of counts cannot show."""
    for words in findings.counts_file_sentences(audit, system):
        yield Caveat(f"{words[:1].lower()}{words[1:]}", words, "data")


def trials_that_differ_between_groups(audit: Audit) -> Iterator[Caveat]:
    """Yield which lists have trials that differ between groups in difficulty."""
    systems_with_unknown_speakers = {
        "@".join(filter(None, system.values()))
        for system in systems(audit)
        if findings.unknown_test_speakers_text(audit, system)[0]
    }
    for names, failed_checks in findings.failed_checks(audit):
        for check in failed_checks:
            if check["id"] not in findings.CHECKS_BETWEEN_GROUPS:
                continue
            rates, errors = findings.CHECKS_BETWEEN_GROUPS[check["id"]]
            sentence = findings.check_sentence(check)
            # G8 compares nontarget trials, and knows only those whose two speakers are known
            if check["id"] == "G8" and systems_with_unknown_speakers.intersection(names):
                sentence += " whose speakers are known"
            yield Caveat(
                f"{rates} of groups may not be comparable: {sentence}",
                f"The trials differ between groups ({', '.join(names)}): {sentence}. Part of a "
                f"difference in {errors} may be due to this difference between trials",
                "list",
            )


def trial_design(audit: Audit) -> Iterator[Caveat]:
    """Yield how enrolments and the two kinds of trials of a list limit what its scores show."""
    for names, failed_checks in findings.failed_checks(audit):
        for check in failed_checks:
            effect = _EFFECT_OF_CHECK.get(check["id"])
            if effect:
                sentence = findings.check_sentence(check)
                yield Caveat(
                    sentence, f"{capitalised(sentence)} ({', '.join(names)}): {effect}", "list"
                )


# ---- groups


def associated_attributes(audit: Audit) -> Iterator[Caveat]:
    """Yield which attributes are associated with those that groups are made of."""
    associations = (
        association
        for scope in scopes(audit)
        for association in findings.associations(audit, scope.filters)
    )
    # the same association is stated for every system
    for short, sentence in dict.fromkeys(associations):
        yield Caveat(short, capitalised(sentence), "groups")


def groups_without_trials(audit: Audit) -> Iterator[Caveat]:
    """Yield how many groups of each grouping have no trials."""
    for sentence, words in findings.groups_without_trials(audit).items():
        yield Caveat(words, capitalised(sentence), "data")


def data_warnings(audit: Audit) -> Iterator[Caveat]:
    """Yield what is unusual about values, ids and scores."""
    for note in findings.data_warnings(audit):
        yield Caveat(f"data warning: {note.words}", note.sentence, "data")


def under_represented_groups(audit: Audit) -> Iterator[Caveat]:
    """Yield which groups of each grouping miss a minimum, and of which error, with the number."""
    groupings = scopes_by_grouping(list(scopes(audit)))
    stated: list[tuple[str, Shortfalls]] = []
    for scopes_of_grouping in groupings:
        first_scope = scopes_of_grouping[0]
        point = first_point_name(audit, first_scope.filters)
        shortfalls = _smallest_shortfalls(audit, scopes_of_grouping, point)
        # another allocation may leave the same groups small: say so once
        if not shortfalls or (first_scope.grouping, shortfalls) in stated:
            continue
        stated.append((first_scope.grouping, shortfalls))
        n_groups = len(rates_by_group(audit, first_scope.filters).keys() - {POOLED})
        kind = f"{first_scope.grouping_label} " if len(groupings) > 1 else ""
        words = _small_group_shares(shortfalls, n_groups, kind)
        details = ". ".join(
            f"{metric.upper()}: {_shortfall_numbers(by_group)}"
            for metric, by_group in shortfalls.items()
        )
        sentence = (
            f"{capitalised(words)} at {point}. {details}. A group with "
            f"{findings.minimums_text(audit)} is under-represented"
        )
        yield Caveat(words, sentence, "groups")


def _smallest_shortfalls(audit: Audit, same_grouping: Sequence[Scope], point: object) -> Shortfalls:
    """Return what small groups have too little of; of several systems, the smallest number."""
    shortfalls: Shortfalls = {}
    for metric in error_types(audit):
        for scope in same_grouping:
            at_point = {**scope.filters, "operating_point": point}
            for group, missed in small_groups(audit, at_point, metric).items():
                by_group = shortfalls.setdefault(metric, {})
                smallest = by_group.get(group, missed)
                by_group[group] = missed if missed.number <= smallest.number else smallest
    return shortfalls


def _small_group_shares(shortfalls: Shortfalls, n_groups: int, kind: str) -> str:
    """Return how many groups are small, and for which error where the errors differ in that."""
    counts = {metric: len(by_group) for metric, by_group in shortfalls.items()}
    (first_metric, n_small), *other_counts = counts.items()
    share = _share_of_groups(n_small, n_groups, kind)
    words = f"{share} under-represented (too few speakers, errors or pairs)"
    if shortfalls.get("fnr", {}).keys() != shortfalls.get("fpr", {}).keys():
        words += f" for {first_metric.upper()}"
        words += "".join(f", and {n} for {metric.upper()}" for metric, n in other_counts)
    return words


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


def _shortfall_numbers(by_group: Mapping[str, Shortfall]) -> str:
    """Return what each group has too little of, in one number; of many groups, the first."""
    named = {group: [by_group[group]] for group in [*by_group][:_MAX_SMALL_GROUPS]}
    sentence = findings.groups_by_shortfall_text(named)
    n_more = len(by_group) - _MAX_SMALL_GROUPS
    return f"{sentence}; and {n_more} more" if n_more > 0 else sentence


# ---- what was not supplied


def acquisition_failures_not_supplied(audit: Audit) -> Iterator[Caveat]:
    """Yield that failures to enrol and to acquire are not counted, if none were supplied."""
    if not len(audit.groups.subset(metric="fta")):
        yield Caveat(
            "acquisition failures (unusable recordings) not supplied and so not counted",
            "Failures to enrol and to acquire were not supplied (--failures). If there were such "
            "failures, speakers are rejected more often than the FNR shows",
            "failures",
        )


def tested_attacks(audit: Audit) -> Iterator[Caveat]:
    """Yield what spoof accepts do not show."""
    if "sfar" in error_types(audit):
        n_attacks = len(audit.record.get("attacks", ()))
        few_attacks = ""
        if 0 < n_attacks < MIN_ATTACKS:
            few_attacks = (
                f" ({count_of(n_attacks, 'attack')}: too few for a statement about other attacks)"
            )
        yield Caveat(
            f"spoof accepts hold for the attacks of this list only{few_attacks}",
            "Spoof accepts (SFAR) are for the attacks of this list. Other attacks may be "
            "accepted more often, and how often attacks occur in use is unknown. A difference "
            "between groups may be due to differences between the spoofed recordings. FDR, IR "
            "and GARBE do not include spoof accepts",
            "attacks" if n_attacks else "groups",
        )


def search_limitations(audit: Audit) -> Iterator[Caveat]:
    """Yield what limits rates of identification."""
    yield from (Caveat(*limitation) for limitation in limitations(audit))


SYSTEM_RULES: tuple[Callable[[Audit, Row], Iterator[Caveat]], ...] = (
    unknown_test_speakers,
    placeholder_speakers,
    excluded_trials,
    trials_in_no_group,
    counts_files,
)
"""Rules on the trials of one system."""
RULES: tuple[Callable[[Audit], Iterator[Caveat]], ...] = (
    missing_scores,
    trials_in_common,
    unusual_operating_points,
    thresholds_set_on_audited_trials,
    rules_fitted_on_audited_trials,
    trials_of_each_system,
    trials_that_differ_between_groups,
    trial_design,
    associated_attributes,
    groups_without_trials,
    data_warnings,
    under_represented_groups,
    tested_attacks,
    acquisition_failures_not_supplied,
)
"""All rules, in the order in which a report lists what they find."""
SEARCH_RULES: tuple[Callable[[Audit], Iterator[Caveat]], ...] = (
    search_limitations,
    associated_attributes,
    under_represented_groups,
)
"""Those on searches in a gallery."""
