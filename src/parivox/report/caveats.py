"""Limitations of an audit: each rule looks for one thing that weakens what the audit finds.

`caveats` applies `RULES` in the order in which a reader meets them: first what concerns all trials,
then groups, then what was not supplied. A new limitation is one more rule in this tuple.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from parivox.auditing import (
    CASCADE_SOURCE,
    MISSING_SCORES,
    MISSING_TARGETS,
    SAME_TRIALS,
    WITHOUT_FIRST_SCORE,
    system_name,
)
from parivox.core.attacks import MIN_ATTACKS
from parivox.core.measures import ERROR_TYPES, base_metric
from parivox.facts import facts_of_row
from parivox.report import findings
from parivox.report.audit_queries import (
    POOLED,
    at_first_point,
    error_types,
    first_point_name,
    groups_small_at_first_point,
    in_some_systems,
    located_points,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    system_label,
    systems,
)
from parivox.report.catalogue import inconclusive_text, sentence_text
from parivox.report.identification import is_identification, limitations
from parivox.report.limitation_sentences import Caveat
from parivox.report.sheets.comparison import pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Scope, Shortfall
    from parivox.report.words import Row

    Shortfalls = dict[str, dict[str, Shortfall]]
    """By metric and group: the first minimum that a group misses."""

_MAX_SMALL_GROUPS = 10
"""Small groups that are named with what they have too little of."""
_MAX_UNSCORED_SHARE = 0.05
"""Share of the trials of a class that may lack a score of the countermeasure without a remark."""
_EFFECT_OF_CHECK = {
    "G14": sentence_text("scores_of_shared_recordings_dependent"),
    "G15": sentence_text("groups_weighed_unequally"),
}
"""By check of a list that does not make rates of groups differ: what it limits."""


def caveats(audit: Audit) -> list[Caveat]:
    """Return what a reader must know before relying on the finding, each limitation once."""
    rules = SEARCH_RULES if is_identification(audit) else RULES
    by_short = {caveat.short: caveat for rule in rules for caveat in rule(audit)}
    return list(by_short.values())


def _systems_to_name(audit: Audit, labels: Sequence[str]) -> str:
    """Return labels of systems as a list; empty if they are those of all systems."""
    all_labels = {system_label(system["system"], system["list"]) for system in systems(audit)}
    return "" if all_labels <= {*labels} else ", ".join(labels)


def _labels_of_names(audit: Audit, names: Sequence[str]) -> list[str]:
    """Return labels of systems that the record names."""
    label_of_name = {
        system_name(system["system"], system["list"]): system_label(
            system["system"], system["list"]
        )
        for system in systems(audit)
    }
    return [label_of_name.get(name, name) for name in names]


# ---- missing scores


def missing_scores(audit: Audit) -> Iterator[Caveat]:
    """Yield where missing scores differ by group, with the FNR if all of them were rejected."""
    has_several_systems = len(systems(audit)) > 1
    for system in systems(audit):
        label = system_label(system["system"], system["list"]) if has_several_systems else ""
        rows = audit.data.subset(**system, source=MISSING_SCORES).rows()
        for (grouping, trials), group_rows in groupby(
            rows, key=lambda row: (row["grouping"], row["item"])
        ):
            values = {
                "system": label,
                "grouping": grouping,
                "trial_class": "target" if trials == MISSING_TARGETS else "nontarget",
                **_missing_scores_of_groups(audit, system, list(group_rows)),
            }
            yield Caveat("missing_scores_differ", values)


def _missing_scores_of_groups(
    audit: Audit, system: Row, group_rows: Sequence[Row]
) -> dict[str, Any]:
    """Return the largest and smallest share of trials without score, and what may follow."""
    highest, *_, lowest = sorted(group_rows, key=lambda row: -row["value"])
    rates = [_fnr_if_rejected(audit, system, row) for row in (highest, lowest) if row["count"]]
    return {
        "highest": {"group": highest["group"], "share": highest["value"]},
        "lowest": {"group": lowest["group"], "share": lowest["value"]},
        "rates_if_rejected": rates if all(rates) else [],
        "operating_point": first_point_name(audit, system),
    }


def _fnr_if_rejected(audit: Audit, system: Row, missing_row: Row) -> dict[str, Any]:
    """Return the FNR of a group if its unscored target trials were rejected; empty if unknown."""
    filters = {"grouping": missing_row["grouping"], "group": missing_row["group"], "within": ""}
    point = first_point_name(audit, system)
    rates = audit.groups.subset(**system, **filters, metric="fnr", operating_point=point).rows()
    if not rates or not rates[0]["trials"] or rates[0]["errors"] is None:
        return {}
    rate, n_missing = rates[0], missing_row["count"]
    return {
        "group": missing_row["group"],
        "rate": rate["value"],
        "if_rejected": (rate["errors"] + n_missing) / (rate["trials"] + n_missing),
    }


def trials_without_countermeasure_score(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield which classes lack scores of the countermeasure, where they are more than a few."""
    rows = audit.data.subset(**system, source=CASCADE_SOURCE, item=WITHOUT_FIRST_SCORE).rows()
    for row in rows:
        (missing,) = facts_of_row(row, "item")
        scored_trials: dict[str, int] = {
            base_metric(rate_row["metric"]).trial_class: rate_row["trials"]
            for rate_row in _pooled_rates(audit, system)
        }
        classes = []
        for error_type in ERROR_TYPES:
            trial_class = error_type.trial_class
            n_missing = missing.values.get(trial_class, 0)
            if not n_missing:
                continue
            share = n_missing / (n_missing + scored_trials.get(trial_class, 0))
            if share > _MAX_UNSCORED_SHARE:
                classes.append({"trial_class": trial_class, "trials": n_missing, "share": share})
        if classes:
            everyone = {"grouping": "all", "group": "all"}
            n_missing = missing.values["target"]
            rates = _fnr_if_rejected(audit, system, {**everyone, "count": n_missing})
            yield Caveat(
                WITHOUT_FIRST_SCORE,
                {
                    "classes": classes,
                    "rates_if_rejected": [rates] if rates and n_missing else [],
                    "operating_point": first_point_name(audit, system),
                },
            )


def _pooled_rates(audit: Audit, system: Row) -> list[Row]:
    """Return the rate of each error type of all trials at the first operating point."""
    filters = {**system, "grouping": "all", "within": "", "definition": ""}
    filters["operating_point"] = first_point_name(audit, system)
    return [
        row
        for metric in error_types(audit)
        for row in audit.groups.subset(**filters, metric=metric).rows()[:1]
    ]


# ---- trials and thresholds


def trials_in_common(audit: Audit) -> Iterator[Caveat]:
    """Yield which systems are compared on only some of their trials."""
    for pair in pairs(audit):
        if pair.is_on_common_trials:
            yield Caveat("common_trials_only", {"systems": pair.label, "shared": pair.shared})


def unusual_operating_points(audit: Audit) -> Iterator[Caveat]:
    """Yield which operating points miss their rate or have an infinite threshold."""
    for note in findings.unusual_points(audit):
        yield Caveat(
            "unusual_operating_point",
            {"systems": note.systems, "note": note.words},
            _systems_to_name(audit, note.labels),
        )


def operating_points_without_threshold(audit: Audit) -> Iterator[Caveat]:
    """Yield which operating points have no threshold, if others have one."""
    if not any(located_points(audit, system) for system in systems(audit)):
        return  # which is the headline
    labels_of_point: dict[tuple[str, str], list[str]] = {}
    for row in audit.operating_points.subset(within="").rows():
        if row["reason"]:
            key = row["operating_point"], inconclusive_text(row)
            labels_of_point.setdefault(key, []).append(system_label(row["system"], row["list"]))
    for (point, reason), labels in labels_of_point.items():
        yield Caveat(
            "operating_point_without_threshold",
            {"operating_point": point, "reason": reason},
            _systems_to_name(audit, tuple(labels)),
        )


def thresholds_set_on_audited_trials(audit: Audit) -> Iterator[Caveat]:
    """Yield that thresholds were set on the audited trials, if they were."""
    if SAME_TRIALS in findings.threshold_sources(audit):
        yield Caveat("thresholds_set_on_audited_trials")


def rules_fitted_on_audited_trials(audit: Audit) -> Iterator[Caveat]:
    """Yield that a rule file was fitted on the audited trials, if it was."""
    threshold_rules = audit.record.get("thresholds", {})
    fitted_trials = threshold_rules.get("trials_sha256")
    audited_trials = [inputs.get("content_sha256") for inputs in audit.record["inputs"]]
    if fitted_trials and fitted_trials in audited_trials:
        yield Caveat("rules_fitted_on_audited_trials")


def trials_of_each_system(audit: Audit) -> Iterator[Caveat]:
    """Yield what `SYSTEM_RULES` find, system by system."""
    return _caveats_of_systems(audit, SYSTEM_RULES)


def impostors_of_same_group(audit: Audit) -> Iterator[Caveat]:
    """Yield which systems have nontarget trials within groups only."""
    return _caveats_of_systems(audit, [findings.impostors_of_same_group])


def _caveats_of_systems(
    audit: Audit, rules: Iterable[Callable[[Audit, Row], Iterator[Caveat]]]
) -> Iterator[Caveat]:
    """Yield what rules on one system find, with the systems that it is about if not all."""
    labels_of_limitation: dict[str, list[str]] = {}
    first_caveats: dict[str, Caveat] = {}
    for system in systems(audit):
        label = system_label(system["system"], system["list"])
        for rule in rules:
            for caveat in rule(audit, system):
                first_caveats.setdefault(caveat.short, caveat)
                labels_of_limitation.setdefault(caveat.short, []).append(label)
    for words, caveat in first_caveats.items():
        yield caveat._replace(named_systems=_systems_to_name(audit, labels_of_limitation[words]))


def excluded_trials(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield which exclusions change a pooled rate."""
    for metric in error_types(audit):
        yield from findings.excluded_trials(audit, system, metric)


def trials_that_differ_between_groups(audit: Audit) -> Iterator[Caveat]:
    """Yield which lists have trials that differ between groups in difficulty."""
    systems_with_unknown_speakers = {
        system_name(system["system"], system["list"])
        for system in systems(audit)
        if any(findings.unknown_test_speakers(audit, system))
    }
    for names, failed_checks in findings.failed_checks(audit):
        for check in failed_checks:
            if check["id"] not in findings.CHECKS_BETWEEN_GROUPS:
                continue
            rates, errors, difference = findings.CHECKS_BETWEEN_GROUPS[check["id"]]
            sentence = findings.check_sentence(check)
            # G8 compares nontarget trials, and knows only those whose two speakers are known
            if check["id"] == "G8" and systems_with_unknown_speakers.intersection(names):
                sentence += " (" + sentence_text("of_trials_of_known_speakers") + ")"
            values = {
                "rates": rates,
                "errors": errors,
                "difference": difference,
                "systems": names,
                "check": sentence,
            }
            yield Caveat(
                "trials_differ_between_groups",
                values,
                _systems_to_name(audit, _labels_of_names(audit, names)),
            )


def trial_design(audit: Audit) -> Iterator[Caveat]:
    """Yield how enrolments and the two kinds of trials of a list limit what its scores show."""
    for names, failed_checks in findings.failed_checks(audit):
        for check in failed_checks:
            effect = _EFFECT_OF_CHECK.get(check["id"])
            if effect:
                sentence = findings.check_sentence(check)
                values = {"check": sentence, "systems": names, "effect": effect}
                yield Caveat(
                    "design_of_trials",
                    values,
                    _systems_to_name(audit, _labels_of_names(audit, names)),
                )


# ---- groups


def associated_attributes(audit: Audit) -> Iterator[Caveat]:
    """Yield which attributes are associated with those that groups are made of."""
    for scope in scopes(audit):
        yield from findings.associations(audit, scope.filters)


def data_warnings(audit: Audit) -> Iterator[Caveat]:
    """Yield what is unusual about values, ids and scores."""
    for note in findings.data_warnings(audit):
        yield Caveat(
            "data_warning",
            {"systems": note.systems, "note": note.words},
            _systems_to_name(audit, note.labels),
        )


def under_represented_groups(audit: Audit) -> Iterator[Caveat]:
    """Yield which groups of each grouping miss a minimum, and of which error, with the number."""
    groupings = scopes_by_grouping(list(scopes(audit)))
    earlier_shortfalls: list[tuple[str, Shortfalls]] = []
    for scopes_of_grouping in groupings:
        first_scope = scopes_of_grouping[0]
        shortfalls = _smallest_shortfalls(audit, scopes_of_grouping)
        # another allocation may leave the same groups small: say so once
        if not shortfalls or (first_scope.grouping, shortfalls) in earlier_shortfalls:
            continue
        earlier_shortfalls.append((first_scope.grouping, shortfalls))
        n_groups = len(rates_by_group(audit, first_scope.filters).keys() - {POOLED})
        kind = f"{first_scope.grouping_label} " if len(groupings) > 1 else ""
        groups_of_errors = [shortfalls.get(metric, {}).keys() for metric in error_types(audit)]
        values = {
            "small_groups": {metric: len(by_group) for metric, by_group in shortfalls.items()},
            "differ_by_metric": any(groups != groups_of_errors[0] for groups in groups_of_errors),
            "in_systems": in_some_systems(audit, _small_groups_differ(audit, scopes_of_grouping)),
            "groups": n_groups,
            "kind": kind,
            "at_point": at_first_point(audit),
            "numbers": {
                metric: _shortfall_numbers(by_group) for metric, by_group in shortfalls.items()
            },
            "minimums": findings.minimums_text(audit),
        }
        yield Caveat("groups_under_represented", values)


def _small_groups_differ(audit: Audit, scopes_of_grouping: Sequence[Scope]) -> bool:
    """Return whether systems differ in which groups are small for some error type."""
    return any(
        groups_small_at_first_point(audit, scope, metric).keys()
        != groups_small_at_first_point(audit, scopes_of_grouping[0], metric).keys()
        for metric in error_types(audit)
        for scope in scopes_of_grouping
    )


def _smallest_shortfalls(audit: Audit, scopes_of_grouping: Sequence[Scope]) -> Shortfalls:
    """Return what small groups have too little of; of several systems, the smallest number.

    The system is named where the group is not small in every system.
    """
    shortfalls: Shortfalls = {}
    for metric in error_types(audit):
        system_shortfalls: dict[str, list[Shortfall]] = {}
        for scope in scopes_of_grouping:
            label = system_label(scope.system, scope.list)
            for group, missed in groups_small_at_first_point(audit, scope, metric).items():
                system_shortfalls.setdefault(group, []).append(missed._replace(system=label))
        for group, group_shortfalls in system_shortfalls.items():
            smallest = min(group_shortfalls, key=lambda missed: missed.number)
            if len(group_shortfalls) == len(scopes_of_grouping):
                smallest = smallest._replace(system="")
            shortfalls.setdefault(metric, {})[group] = smallest
    return shortfalls


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
        yield Caveat("acquisition_failures_not_supplied")


def tested_attacks(audit: Audit) -> Iterator[Caveat]:
    """Yield what spoof accepts do not show."""
    if "sfar" in error_types(audit):
        n_attacks = len(audit.record.get("attacks", ()))
        values = {"attacks": n_attacks, "is_few": 0 < n_attacks < MIN_ATTACKS}
        yield Caveat("attacks_of_list" if n_attacks else "spoof_trials_of_list", values)


SYSTEM_RULES: tuple[Callable[[Audit, Row], Iterator[Caveat]], ...] = (
    findings.unknown_test_speakers,
    findings.placeholder_speakers,
    excluded_trials,
    trials_without_countermeasure_score,
    findings.trials_in_no_group,
    findings.counts_files,
)
"""Rules on the trials of one system."""
RULES: tuple[Callable[[Audit], Iterator[Caveat]], ...] = (
    missing_scores,
    trials_in_common,
    unusual_operating_points,
    operating_points_without_threshold,
    thresholds_set_on_audited_trials,
    rules_fitted_on_audited_trials,
    trials_of_each_system,
    trials_that_differ_between_groups,
    trial_design,
    associated_attributes,
    findings.groups_without_trials,
    data_warnings,
    under_represented_groups,
    impostors_of_same_group,
    tested_attacks,
    acquisition_failures_not_supplied,
)
"""All rules, in the order in which a report lists what they find."""
SEARCH_RULES: tuple[Callable[[Audit], Iterator[Caveat]], ...] = (
    limitations,
    operating_points_without_threshold,
    associated_attributes,
    under_represented_groups,
)
"""Those on searches in a gallery."""
