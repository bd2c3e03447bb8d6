"""Queries on the tables of an audit: scopes, operating points, rates, verdicts, small groups.

For everything that shows an audit: the terminal, the report, charts, tables and exports.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from parivox.auditing import PAIRS_BELOW_MINIMUM, SPEAKERS_BELOW_MINIMUM, THRESHOLD_VARIES
from parivox.core.measures import ALL_RATES, BOTH, IDENTIFICATION_RATES, RATES
from parivox.errors import ConfigError
from parivox.facts import Fact, facts_of_row
from parivox.report.catalogue import fact_text, full_sentence, inconclusive_text, sentence_text
from parivox.report.error_names import SEARCH_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.words import Row

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]
    Verdicts = Mapping[str, Mapping[str, Row]]

TRIAL_ERRORS = {"fnr": "false rejects", "fpr": "false accepts", "sfar": "spoof accepts"}
"""Error types of verification in words, in the order in which they are shown."""
ERROR_TYPES = TRIAL_ERRORS | SEARCH_ERRORS
"""Those of identification too."""
BONA_FIDE_ERRORS = {metric: ERROR_TYPES[metric] for metric in ("fnr", "fpr")}
"""Those of every audit, which measures of two error types join."""
WITHOUT_SPOOF = full_sentence("measures_without_spoof_accepts")
"""What is said next to measures that join two error types, in audits with spoof trials."""
SPOOF_EERS = ("spf_eer", "sasv_eer")
"""Equal error rates that only lists with spoof trials have."""
SPOOF_TRIALS_OF_GROUP = "counted over spoof trials that claim a speaker of the group"
VERDICTS = {
    "worse": "worse",
    "better": "better",
    "equivalent": "equivalent",
    "inconclusive": "inconclusive",
}
NOT_UNDER_REPRESENTED = sentence_text("not_under_represented")
"""The groups that headline measures are computed on."""
_NO_VALUE = "no value in some system"
_MAX_NAMED_GROUPS = 3
"""Omitted groups that are named next to a number; of more, the count is given."""
PAIR_SIZE = 2
"""Two groups are compared with each other, and so only once."""
POOLED = "pooled"
_INTERVAL_MARKS = {
    "~": (
        "interval_may_be_short",
        sentence_text("interval_may_be_too_narrow"),
    ),
    "+": (THRESHOLD_VARIES, sentence_text("interval_includes_threshold")),
}
"""Marks behind intervals, each with the note that it stands for and its explanation."""


class Scope(NamedTuple):
    """One grouping of one system on one list, under one allocation."""

    system: str
    list: str
    grouping: str
    allocation: str

    @property
    def filters(self) -> Row:
        """What selects its rows in a table of the audit."""
        # without strata, whose rows have a value in this column
        return {**self._asdict(), "within": ""}

    @property
    def grouping_label(self) -> str:
        """The grouping in words, with its allocation if that is not the usual one."""
        return grouping_with_allocation(self.grouping, self.allocation)

    @property
    def label(self) -> str:
        """The system and the grouping in words."""
        return f"{system_label(self.system, self.list)}, {self.grouping_label}"


def grouping_with_allocation(grouping: str, allocation: str) -> str:
    """Return a grouping in words, with its allocation if that is not the usual one."""
    return grouping if allocation == "both" else f"{grouping}, nontarget trials by {allocation}"


def interval_marks(rows: Iterable[Row]) -> dict[str, str]:
    """Return the marks of the intervals of these rates, with their explanations."""
    codes = {
        fact.code for row in rows if row["high"] is not None for fact in facts_of_row(row, "note")
    }
    return {mark: words for mark, (code, words) in _INTERVAL_MARKS.items() if code in codes}


def system_label(system: str, list_: str) -> str:
    """Return a system's name with the list it was audited on."""
    return f"{system} on {list_}" if list_ else system


def error_types(audit: Audit) -> dict[str, str]:
    """Return the error types of an audit in words: with spoof trials, three."""
    return error_types_of(audit.record.get("error_types", RATES))


def all_error_types(audit: Audit) -> str:
    """Return how many error types an audit has, as words of a sentence."""
    return "both error types" if len(error_types(audit)) == len(RATES) else "all three error types"


def attacks_text(audit: Audit) -> str:
    """Return for which attacks spoof accepts hold."""
    return these_attacks_text(len(audit.record.get("attacks", ())))


def these_attacks_text(n_attacks: int) -> str:
    """Return for how many attacks something holds; without a number if none is known."""
    if not n_attacks:
        return "for the attacks of this list"
    return f"for these {n_attacks} attacks" if n_attacks > 1 else "for this attack"


def error_types_of(metrics: Iterable[str]) -> dict[str, str]:
    """Return those of some metrics that are error types, in words."""
    named = set(metrics)
    return {metric: words for metric, words in ERROR_TYPES.items() if metric in named}


def rate_error_types(rates: Rates) -> dict[str, str]:
    """Return the error types that groups have rates of, in words."""
    return error_types_of(metric for rate_of in rates.values() for metric, _ in rate_of)


def systems(audit: Audit) -> list[Row]:
    """Return every system and list, as filters on the tables of the audit."""
    return [
        {"system": inputs["system"], "list": inputs["list"]} for inputs in audit.record["inputs"]
    ]


def has_several_systems(audit: Audit) -> bool:
    """Return whether the audit has several systems or lists."""
    return len(systems(audit)) > 1


def has_lists_only(audit: Audit) -> bool:
    """Return whether the audit has one system, on several lists."""
    return has_several_systems(audit) and len({row["system"] for row in systems(audit)}) == 1


def in_some_systems(audit: Audit, is_differing: bool) -> str:  # noqa: FBT001
    """Return that something holds in some systems only, if these differ; else empty."""
    if not is_differing:
        return ""
    return " on at least one list" if has_lists_only(audit) else " in at least one system"


def in_all_systems(audit: Audit) -> str:
    """Return that something holds in all of several systems or lists."""
    return " on all lists" if has_lists_only(audit) else " in all systems"


def at_first_point(audit: Audit) -> str:
    """Return at which operating point results are shown first: its name, if systems share it."""
    first_points = {first_point_name(audit, system) for system in systems(audit)} - {None}
    if len(first_points) == 1:
        return f" at {first_points.pop()}"
    kind = "list" if has_lists_only(audit) else "system"
    return f" at the first operating point of each {kind}"


def scopes(audit: Audit) -> Iterator[Scope]:
    """Yield every system, grouping and allocation that has rates, in the order of the audit."""
    first_error = next(iter(error_types(audit)))
    scopes_with_rates = {
        Scope(row["system"], row["list"], row["grouping"], row["allocation"])
        for row in audit.groups.subset(metric=first_error, definition="", within="").rows()
    }
    for system in systems(audit):
        for grouping in audit.record["groupings"]:
            for allocation in audit.record["options"]["allocate"]:
                scope = Scope(system["system"], system["list"], grouping, allocation)
                if scope in scopes_with_rates:
                    yield scope


def located_points(audit: Audit, scope_filters: Row) -> list[Row]:
    """Return the operating points of a system that have a threshold, or decisions."""
    filters = {"system": scope_filters["system"], "list": scope_filters["list"], "within": ""}
    # a point that could not be located has a reason instead of a threshold
    return [row for row in audit.operating_points.subset(**filters).rows() if not row["reason"]]


def point_as_given(row: Row) -> str:
    """Return an operating point as the audit was given it, also where a label replaces it."""
    return str(row.get("as_given") or row["operating_point"])


def first_point_name(audit: Audit, filters: Row) -> str | None:
    """Return the name of a system's first located point, at which results are shown first."""
    return next((str(row["operating_point"]) for row in located_points(audit, filters)), None)


def scopes_by_grouping(all_scopes: Sequence[Scope]) -> list[list[Scope]]:
    """Return scopes by grouping and allocation: those of the systems that are shown together."""
    by_grouping: dict[tuple[str, str], list[Scope]] = {}
    for scope in all_scopes:
        by_grouping.setdefault((scope.grouping, scope.allocation), []).append(scope)
    return list(by_grouping.values())


def grouping_attributes(grouping: str) -> list[str]:
    """Return the attributes of a grouping, as far as their names hold no plus sign."""
    return grouping.split("+")


def attribute_values(audit: Audit, filters: Row) -> dict[str, list[str]]:
    """Return the values of each attribute of an intersection.

    They are read from the mean differences, which are named by attribute and value: names of groups
    cannot be split at plus signs, because values may contain plus signs.
    """
    values_by_attribute: dict[str, dict[str, None]] = {
        attribute: {} for attribute in grouping_attributes(filters["grouping"])
    }
    for row in audit.bias.subset(**filters, measure="mean_difference").rows():
        attribute, _, value = row["group"].partition("=")
        values_by_attribute.setdefault(attribute, {})[value] = None
    return {attribute: sorted(values) for attribute, values in values_by_attribute.items()}


def rates_by_group(audit: Audit, filters: Row) -> dict[str, dict[tuple[str, str], Row]]:
    """Return the rates of each group by metric and operating point."""
    rates: dict[str, dict[tuple[str, str], Row]] = {}
    for metric in (*ALL_RATES, *IDENTIFICATION_RATES):
        # rates with a definition follow the rules of another tool
        for row in audit.groups.subset(**filters, metric=metric, definition="").rows():
            rates.setdefault(row["group"], {})[metric, row["operating_point"]] = row
    return rates


def has_rate(metric: str, point: str, rates: Rates) -> bool:
    """Return whether any group has a rate."""
    return any(rate_of[metric, point]["value"] is not None for rate_of in rates.values())


def missing_rate_reason(metric: str, point: str, rates: Rates) -> str:
    """Return why no group has a rate at an operating point."""
    reasons = dict.fromkeys(inconclusive_text(rate_of[metric, point]) for rate_of in rates.values())
    return ", ".join(reasons)


def verdicts_by_metric(audit: Audit, filters: Row) -> dict[str, dict[str, Row]]:
    """Return the verdicts on groups by metric and group."""
    verdicts: dict[str, dict[str, Row]] = {}
    for row in audit.verdicts.subset(**filters).rows():
        if row["group"]:
            verdicts.setdefault(row["metric"], {})[row["group"]] = row
    return verdicts


def heading_with_status(audit: Audit, heading: str, filters: Row, point: str | None = None) -> str:
    """Return a heading with whether verdicts at that point may be confirmatory, or are exploratory.

    No audit shows that the conditions hold which `findings.confidence_statement` names.
    It is unchanged where there are no verdicts, and for audits of older versions, which do not
    record this.
    """
    statuses = {row["confirmatory"] for row in audit.verdicts.rows()} - {None}
    if not statuses:
        return heading
    if may_be_confirmatory(audit, filters, point):
        return f"{heading}, {sentence_text('confirmatory_on_conditions')}"
    return f"{heading}, exploratory"


def may_be_confirmatory(audit: Audit, filters: Row, point: str | None) -> bool:
    """Return whether verdicts at that point are confirmatory if the conditions hold."""
    point_filters = {**filters, "operating_point": point}
    return len(audit.verdicts.subset(**point_filters, confirmatory=True)) > 0


class Shortfall(NamedTuple):
    """What a group has too little of: facts on minimums, each with the error types concerned."""

    fact: Fact
    metric: str = ""
    system: str = ""
    """The system whose number it is, if the group is not small in every system."""

    @property
    def words(self) -> str:
        """The number that is too small, and of what."""
        return f"{self._number_text} with {self.system}" if self.system else self._number_text

    @property
    def _number_text(self) -> str:
        if self.fact.code == "errors_below_minimum" and self.metric in ERROR_TYPES:
            values = {**self.fact.values, "metric": self.metric}
            return fact_text(Fact(self.fact.code, values))
        of_metric = f" of {self.metric.upper()}" if self.metric else ""
        return f"{fact_text(self.fact)}{of_metric}"

    @property
    def number(self) -> float:
        """The number that is too small, as it is shown."""
        (exact_number,) = self.fact.values.values()
        is_rounded = isinstance(exact_number, float)
        return float(f"{exact_number:.2g}") if is_rounded else float(exact_number)

    @property
    def is_of_speakers(self) -> bool:
        """Whether the group has too few speakers."""
        return self.fact.code == SPEAKERS_BELOW_MINIMUM

    @property
    def names_speakers(self) -> bool:
        """Whether the words tell of speakers or their pairs, and so need no error type."""
        return self.fact.code in {SPEAKERS_BELOW_MINIMUM, PAIRS_BELOW_MINIMUM}

    @property
    def without_metric(self) -> Shortfall:
        """The same without the error type."""
        return self._replace(metric="")


def small_groups(audit: Audit, filters: Row, metric: str | None = None) -> dict[str, Shortfall]:
    """Return the groups that are too small to count, with the first minimum that they miss.

    For one error, or without `metric` for any.
    """
    row_filters = filters if metric is None else {**filters, "metric": metric}
    rows = audit.verdicts.subset(**row_filters).rows()
    return {
        row["group"]: Shortfall(facts_of_row(row, "gates")[0])
        for row in rows
        if row["group"] and row["gates"]
    }


def groups_small_at_first_point(
    audit: Audit, scope: Scope, metric: str | None = None
) -> dict[str, Shortfall]:
    """Return the groups that are too small to count at the first operating point of a system."""
    point = first_point_name(audit, scope.filters)
    return small_groups(audit, {**scope.filters, "operating_point": point}, metric)


def differing_groups(verdicts: Verdicts) -> list[str]:
    """Return the groups that differ, the worse before the better, by the ratio of that verdict.

    Groups are left out that are not shown to differ without the worst of the others.
    """

    def signed_ratio(group: str) -> float:
        # positive where a group is worse, so that worse groups are sorted before better ones
        rows = [verdicts[metric][group] for metric in error_types_of(verdicts)]
        worse = [float(row["ratio"]) for row in rows if row["verdict"] == "worse"]
        better = [-float(row["ratio"]) for row in rows if row["verdict"] == "better"]
        return max(worse + better)

    differing = [
        group
        for group, row in verdicts[BOTH].items()
        if row["verdict"] == "differs" and not row.get("because_of")
    ]
    return sorted(differing, key=lambda group: -signed_ratio(group))


def shortfalls(verdicts: Verdicts, rates: Rates, point: str) -> dict[str, list[Shortfall]]:
    """Return what each under-represented group has too little of: its first missed minimum.

    The error type is named unless the group has too little for both, or too few speakers.
    """
    shortfall_of = {}
    for group in rates:
        first_missed: list[Shortfall] = []
        concerns_both_errors = False
        for metric in error_types_of(verdicts):
            if (
                group not in verdicts.get(metric, {})
                or rates[group][metric, point]["value"] is None
            ):
                continue
            missed = [Shortfall(fact) for fact in facts_of_row(verdicts[metric][group], "gates")]
            concerns_both_errors |= any(each.names_speakers for each in missed)
            first_missed += [each._replace(metric=metric) for each in missed[:1]]
        concerns_both_errors |= len(first_missed) > 1
        if len({each.without_metric.words for each in first_missed}) == 1 and concerns_both_errors:
            shortfall_of[group] = [first_missed[0].without_metric]
        elif first_missed:
            shortfall_of[group] = first_missed
    return shortfall_of


def check_speaker_ids(audit: Audit, speaker_ids: str) -> None:
    """Refuse an option that is not known, and to name speakers that the audit did not note."""
    if speaker_ids not in {"never", "offenders"}:
        msg = f"--speaker-ids {speaker_ids!r} is not known"
        hint = "choose never or offenders"
        raise ConfigError(msg, hint)
    if speaker_ids == "offenders" and audit.record["options"].get("speaker_ids") != "offenders":
        msg = "--speaker-ids offenders: the audit contains no speaker ids"
        hint = "audit again with --speaker-ids offenders"
        raise ConfigError(msg, hint)


def covers_same_groups(audit: Audit, filters: Row) -> bool:
    """Return whether headline measures cover the same groups in all systems and lists.

    Audits of this version leave out groups that are under-represented in any system. Older ones do
    not name the groups that they left out; there it holds where the same groups are large enough.
    `filters` has an operating point.
    """
    if "meta.left_out" not in audit.record.get("other_version", {}):
        return True
    shared_filters = {
        column: cell for column, cell in filters.items() if column not in {"system", "list"}
    }
    groups_of_system: dict[tuple[str, str], set[tuple[str, str, bool]]] = {}
    for row in audit.verdicts.subset(**shared_filters).rows():
        groups = groups_of_system.setdefault((row["system"], row["list"]), set())
        groups.add((row["metric"], row["group"], bool(row["gates"])))
    return len(set(map(frozenset, groups_of_system.values()))) < 2


def not_under_represented_text(audit: Audit) -> str:
    """Return which groups headline measures cover if these leave some out."""
    if has_several_systems(audit):
        return sentence_text("not_under_represented_in_any")
    return NOT_UNDER_REPRESENTED


def measured_groups_text(audit: Audit, left_out: Sequence[str]) -> str:
    """Return which groups headline measures cover that leave some out."""
    return f"{not_under_represented_text(audit)} (excluded: {left_out_groups_text(left_out)})"


def groups_left_out(rows: Iterable[Row]) -> list[str]:
    """Return the groups that have a value and are left out of some headline measures."""
    names = (json.loads(row.get("left_out") or "[]") for row in rows)
    return list(dict.fromkeys(name for row_names in names for name in row_names))


def without_groups_text(names: Sequence[str]) -> str:
    """Return which groups a number leaves out, or how many of them.

    Examples
    --------
    >>> without_groups_text(["c"]), without_groups_text(["a", "b", "c", "d"])
    ('without c', 'without 4 groups')
    """
    return f"without {left_out_groups_text(names)}"


def left_out_groups_text(names: Sequence[str]) -> str:
    """Return the names of groups that a number leaves out, or how many they are."""
    if len(names) > _MAX_NAMED_GROUPS:
        return f"{len(names)} groups"
    return ", ".join(names)


def omission_reasons(audit: Audit, filters: Row, names: Sequence[str]) -> list[str]:
    """Return, of each group left out of the headline measures, what it has too little of.

    `filters` has an operating point. Of several systems or lists, each is named in which the group
    is under-represented.
    """
    shared_filters = {
        column: cell for column, cell in filters.items() if column not in {"system", "list"}
    }
    is_system_named = has_several_systems(audit)
    reasons_of_group: dict[str, dict[str, None]] = {name: {} for name in names}
    for row in audit.verdicts.subset(**shared_filters).rows():
        if (
            row["group"] not in reasons_of_group
            or not row["gates"]
            or row["metric"] not in ERROR_TYPES
        ):
            continue
        shortfall = Shortfall(facts_of_row(row, "gates")[0], row["metric"])
        # speakers are the same for both errors
        if shortfall.names_speakers:
            shortfall = shortfall.without_metric
        reason = shortfall.words
        if is_system_named:
            reason += f" in {system_label(row['system'], row['list'])}"
        reasons_of_group[row["group"]][reason] = None
    return [
        f"{name} ({', '.join(reasons) or _NO_VALUE})" for name, reasons in reasons_of_group.items()
    ]
