"""Sentences on an audit, in words that the terminal, the report and papers share.

Each function looks at one thing in the tables of an audit and returns it in words: how sure the
verdicts are, what was read and excluded, which attributes are associated, which limits are met.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from parivox.auditing import (
    AT_DEPLOYED_THRESHOLD,
    COUNTED_AT,
    EQUAL_WEIGHT,
    FILES_OF_COUNTS,
    GROUP_WITHHELD,
    LIMITS,
    NO_SCORES,
    NOT_IN_COUNTS,
    POINT_WARNINGS,
    SAME_TRIALS,
    STRATUM_WITHHELD,
    TRIALS_OF_UNKNOWN_GROUP,
    WITH_CONFLICTS,
    WITHOUT_CONFLICTS,
    WITHOUT_TRIALS,
    parse_minimums,
)
from parivox.core.measures import BOTH, base_metric
from parivox.core.verdict import holm
from parivox.data.content_roles import roles_in_words
from parivox.data.score_bins import Bins
from parivox.data.trial_checks import (
    FAILED,
    PLACEHOLDER_SPEAKER,
    UNDECIDED,
    UNSCORED,
    WITHOUT_TEST_SPEAKER,
)
from parivox.data.value_warnings import RANGE_OF_NUMBERS, WARNING_SOURCE
from parivox.facts import Fact, facts_of_row
from parivox.report.associations import association, association_text, has_same_differences
from parivox.report.audit_queries import (
    ERROR_TYPES,
    PAIR_SIZE,
    POOLED,
    SPOOF_EERS,
    VERDICTS,
    error_types_of,
    first_point_name,
    grouping_attributes,
    located_points,
    system_label,
    systems,
)
from parivox.report.catalogue import (
    counted_text,
    fact_text,
    full_sentence,
    item_text,
    missing_interval_text,
    note_text,
    reason_text,
    sentence_text,
)
from parivox.report.data_sentences import content_text, metric_text
from parivox.report.identification import is_identification, unit_text
from parivox.report.labels import audit_with_ids
from parivox.report.limitation_sentences import Caveat, groups_without_trials_text
from parivox.report.verdict_sentences import equal_weight_text
from parivox.report.words import (
    count_of,
    count_text,
    interval_text,
    p_value,
    percent,
    share_of_speakers,
    short_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Shortfall, Verdicts
    from parivox.report.words import Row

CHECKS_BETWEEN_GROUPS = {
    "G8": ("FPRs", "false accepts", sentence_text("impostors_share_traits")),
    "G9": ("FNRs", "false rejects", sentence_text("samples_of_one_recording")),
    "G11": ("error rates", "error rates", sentence_text("recordings_longer")),
    "G12": ("error rates", "error rates", sentence_text("more_short_recordings")),
    "G13": ("FPRs", "false accepts", sentence_text("more_impostors")),
}
"""Checks of a list without which a difference between groups may be one between their trials.

Each with the rates and errors that it concerns, and what differs between groups.
"""
_MAX_LISTED_THRESHOLDS = 5
_MAX_UNKNOWN_SHARE = 0.05
"""Share of trials that may be in no group without a caveat."""
ALLOCATIONS = {
    "both": "counted over nontarget trials with both speakers in the group",
    "enrol": "counted over nontarget trials with the enrolment speaker in the group",
    "test": "counted over nontarget trials with the test speaker in the group",
    "either": "counted over nontarget trials with either speaker in the group",
}
"""Which nontarget trials are a group's, under each allocation."""
EXPLORATORY_SENTENCE = (
    "in simulations with equal error rates (three groupings, two thresholds), about 20 in 100 "
    "audits of one system reported at least one difference"
)
"""How often explored findings are wrong: docs/coverage.md#confirmatory-and-exploratory-findings."""
_MAX_DIFFERING_GROUPS = 6
"""Differing groups whose figures are shown."""
_SAME_KIND_RELATIONS = {"tells", "told", "alike"}
"""Relations of two attributes of which one determines the other, as age and bands of age."""
_INPUT_COUNTS = {
    "rows",
    "trials",
    "target_trials",
    "nontarget_trials",
    FILES_OF_COUNTS,
    "models",
    "recordings",
}
"""Entries of the table of data that count what was read, not what was excluded."""
_REFERENCE_NAMES = {
    "macro": "the mean of the groups",
    "geomean": "the geometric mean of the groups",
    "pooled": "all groups pooled",
}
LIMIT_VERDICTS = {"met": "met", "not_met": "not met", "inconclusive": VERDICTS["inconclusive"]}


# ---- the answer


def data_summary(audit: Audit, system: Row) -> str:
    """Return how many trials of how many speakers there are, with their EER and minimum costs."""
    pooled_rows = audit.groups.subset(**system, grouping="all", within="").rows()
    first_row = pooled_rows[0]
    n_target, n_nontarget = first_row["target_trials"], first_row["nontarget_trials"]
    of_speakers = ""
    if first_row["speakers"] is not None:
        of_speakers = f" of {count_of(first_row['speakers'], 'speaker')}"
    return sentence_text(
        "trials_of_speakers",
        target_trials=n_target,
        nontarget_trials=n_nontarget,
        speakers=of_speakers,
        metrics=pooled_metrics_text(pooled_rows),
    )


def primary_question_text(audit: Audit, unnamed_point: str | None = None) -> str:
    """Return where verdicts are confirmatory; empty if they are nowhere.

    An operating point that needs no name, as no other one is shown, is left out.
    """
    systems_of_question: dict[str, list[str]] = {}
    for system, grouping_at_point in audit.record.get("primary", {}).items():
        grouping, _, point = grouping_at_point.rpartition("@")
        question = grouping if point == unnamed_point else f"{grouping} at {point}"
        systems_of_question.setdefault(question, []).append(system)
    if len(systems_of_question) == 1:
        (question,) = systems_of_question
        return question
    return ", ".join(
        f"{question} ({', '.join(names)})" for question, names in systems_of_question.items()
    )


def confidence_statement(audit: Audit) -> str:
    """Return what is confirmatory, at which level, and how often the rest is wrong.

    How often the rest is wrong was simulated for three groupings, and so is stated only where
    there is more than one. Empty where there are no verdicts, and for audits of older versions,
    which do not record what is confirmatory.
    """
    if {row["confirmatory"] for row in audit.verdicts.rows()} <= {None}:
        return ""
    primary, level = primary_question_text(audit), 1 - audit.record["options"]["confidence"]
    if not primary:
        return full_sentence("all_findings_exploratory")
    words = full_sentence("confirmatory_verdicts", primary=primary, errors=100 * level)
    if len(audit.record["groupings"]) > 1:
        words += f" {EXPLORATORY_SENTENCE[0].upper()}{EXPLORATORY_SENTENCE[1:]}."
    if len(audit.comparison):
        words += " " + full_sentence("system_comparisons_exploratory")
    return words


def differing_groups_text(verdict_rows: Mapping[str, Row]) -> str:
    """Return which groups differ, and how many are inconclusive."""
    if not verdict_rows:
        return "–"
    outcomes = [
        f"{group} {verdict_text(row)} (ratio {short_number(row['ratio'])})"
        for group, row in verdict_rows.items()
        if row["verdict"] in {"worse", "better"}
    ]
    n_inconclusive = sum(row["verdict"] == "inconclusive" for row in verdict_rows.values())
    if n_inconclusive:
        outcomes.append(f"{n_inconclusive} inconclusive")
    if outcomes:
        return "; ".join(outcomes)
    return "all groups equivalent"


def verdict_text(row: Row) -> str:
    """Return the verdict on a group, with the group without which it is not shown."""
    # audits of older versions have no such column
    decisive_group = row.get("because_of")
    condition = f", not without {decisive_group}" if decisive_group else ""
    return f"{VERDICTS[row['verdict']]}{condition}"


def group_figures_text(verdicts: Verdicts, group: str, rates: Rates, point: str) -> str:
    """Return a group's joint sentence with the figures of what differs."""
    figures: dict[str, str] = {}
    for metric in error_types_of(verdicts):
        row = verdicts[metric][group]
        if row["verdict"] in {"worse", "better"}:
            rate = percent(rates[group][metric, point]["value"])
            interval = interval_text(row["low"], row["high"])
            figures[metric] = (
                f"{metric.upper()} {rate}, ratio {short_number(row['ratio'])} {interval}, "
                f"{p_value(row['p_holm'])}{_shrinkage_note(row)}"
            )
    (found, *_) = facts_of_row(verdicts[BOTH][group], "sentence")
    values = dict(found.values)
    for metric, words in figures.items():
        values[metric] = {**values.get(metric, {}), "figures": words}
    sentence = fact_text(Fact(found.code, values))
    if any(shrinkage_estimate_text(verdicts[metric][group]) for metric in error_types_of(verdicts)):
        sentence += ". " + sentence_text("shrinkage_not_used")
    return sentence


def equal_weight(row: Row) -> str:
    """Return what a verdict says of the ratio with equal weight for each attack; may be empty."""
    for verdict in facts_of_row(row, "sentence"):
        if EQUAL_WEIGHT in verdict.values:
            return equal_weight_text(verdict.values[EQUAL_WEIGHT])
    return ""


def shrinkage_estimate(row: Row) -> float | None:
    """Return the shrinkage estimate of a ratio called worse or better; None if power is not low.

    Ratios that are called worse or better with low power tend to be too far from 1.
    """
    from parivox.core.shrinkage import LOW_POWER  # noqa: PLC0415 - with intervals only

    power = row.get("power")
    if row["verdict"] not in {"worse", "better"} or (power is not None and power >= LOW_POWER):
        return None
    estimate: float | None = row.get("best_guess")
    return estimate


def shrinkage_estimate_text(row: Row) -> str:
    """Return the shrinkage estimate with its interval; empty if there is none."""
    estimate = shrinkage_estimate(row)
    if estimate is None:
        return ""
    interval = interval_text(row["best_guess_low"], row["best_guess_high"])
    return f"{short_number(estimate)} {interval}"


def _shrinkage_note(row: Row) -> str:
    """Return the shrinkage estimate as a clause; empty if there is none."""
    estimate = shrinkage_estimate_text(row)
    if not estimate:
        return ""
    return f", shrinkage estimate {estimate}"


def interaction_sentences(audit: Audit, scope_filters: Row) -> Iterator[str]:
    """Yield which rates of intersectional groups the attributes do not add up to, at which point.

    The p values are adjusted for the number of rates and points (Holm).
    """
    filters = {**scope_filters, "within": "", "measure": "interaction"}
    rows = [row for row in audit.meta.subset(**filters).rows() if row["p"] is not None]
    level = 1 - audit.record["options"]["confidence"]
    for row, p in zip(rows, holm([row["p"] for row in rows]).tolist(), strict=True):
        if p < level:
            yield full_sentence(
                "attributes_do_not_add_up",
                metric=row["metric"].upper(),
                operating_point=row["operating_point"],
                grouping=row["grouping"],
                p=p_value(p),
                highest=row["high_group"],
                lowest=row["low_group"],
            )


def groups_by_shortfall_text(shortfalls: Mapping[str, Sequence[Shortfall]]) -> str:
    """Return groups by what they have too little of, those of few speakers first."""
    words_of_group = {
        group: ", ".join(each.words for each in of_group) for group, of_group in shortfalls.items()
    }

    def sort_key(group: str) -> tuple[bool, float, str, str]:
        first = shortfalls[group][0]
        return not first.is_of_speakers, first.number, words_of_group[group], group

    return "; ".join(
        f"{', '.join(groups)} ({words})"
        for words, groups in groupby(
            sorted(shortfalls, key=sort_key), key=words_of_group.__getitem__
        )
    )


def reference_text(audit: Audit) -> str:
    """Return whom groups are compared with."""
    reference = str(audit.record["options"]["reference"][0])
    words = {"others": "all other groups combined", "pooled": "all groups pooled"}
    return words.get(reference, reference)


def minimums_text(audit: Audit) -> str:
    """Return below which sample sizes a group is under-represented."""
    minimums = parse_minimums(audit.record["options"]["gate"])
    return sentence_text(
        "minimums", speakers=minimums.speakers, errors=minimums.errors, pairs=minimums.pairs
    )


# ---- the data


def counts_files(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield what a system's files of counts cannot show, and how much they suppress, if any."""
    count_rows = audit.data.subset(**system, source="counts").rows()
    if not count_rows:
        return
    contents = [
        content_text(fact.values["content"])
        for row in count_rows
        for fact in facts_of_row(row, "item")
        if fact.code == NOT_IN_COUNTS
    ]
    values = {
        "files": next(row["count"] for row in count_rows if row["item"] == FILES_OF_COUNTS),
        "contents": contents,
        "suppressed": sum(row["item"] in {GROUP_WITHHELD, STRATUM_WITHHELD} for row in count_rows),
    }
    yield Caveat("counts_files", values)


def no_threshold_sentence(audit: Audit, system: Row) -> str:
    """Return why a system has no rates, and what to do."""
    pooled_row = audit.groups.subset(**system, grouping="all", within="").rows()[0]
    rows = audit.operating_points.subset(**system, within="").rows()
    reasons = dict.fromkeys(reason_text(row) for row in rows)
    if rows and all(row["reason"] == NO_SCORES for row in rows):
        return sentence_text("no_threshold_of_decisions", reasons="; ".join(reasons))
    facts = [
        fact
        for row in audit.data.subset(**system, source="counts").rows()
        for fact in facts_of_row(row, "item")
    ]
    counted_thresholds = [
        Bins("", tuple(fact.values["thresholds"])).thresholds_in_words
        for fact in facts
        if fact.code == COUNTED_AT and not fact.values["step"]
    ]
    has_both_classes = pooled_row["target_trials"] and pooled_row["nontarget_trials"]
    remedy = ""
    if counted_thresholds:
        remedy = ", " + sentence_text("x_is_counted_threshold", thresholds=counted_thresholds[0])
    elif has_both_classes and not is_identification(audit):
        remedy = ", or use eer"
    return sentence_text("no_threshold_no_rates", reasons="; ".join(reasons), remedy=remedy)


def default_choices(audit: Audit) -> Iterator[str]:
    """Yield what was chosen for the user: columns that no name tells, groups if none were given."""
    for source_file in audit.provenance:
        if source_file.get("role") == "speakers":
            column = source_file["columns"]["id"]
            words = f"column {column!r}" if column else "a column without a name"
            yield f"Speaker ids: {words}"
        elif roles := source_file.get("by_content"):
            sentence = roles_in_words(source_file["columns"], roles)
            yield f"{sentence[0].upper()}{sentence[1:]} ({source_file['name']})"
    if audit.record["groupings_chosen_by"] != "user":
        names = ", ".join(audit.record["groupings"])
        yield sentence_text(
            "grouped_by_default", groupings=names, chosen_by=audit.record["groupings_chosen_by"]
        )


def pooled_metrics_text(pooled_rows: list[Row]) -> str:
    """Return the EERs, with spoof trials three, and the minimum costs of all trials."""
    known_rows = [row for row in pooled_rows if row["value"] is not None]
    metrics = [
        f"EER {percent(row['value'])} ({row['definition']})"
        for row in known_rows
        if row["metric"] == "eer"
    ]
    metrics += [
        f"{base_metric(row['metric']).label} {percent(row['value'])}"
        for row in known_rows
        if row["metric"] in SPOOF_EERS and not row["definition"]
    ]
    metrics += [
        f"minimum cost {row['value']:.4f} ({row['definition']})"
        for row in known_rows
        if row["metric"] == "min_cdet_norm"
    ]
    reasons = {reason_text(row) for row in pooled_rows if row["metric"] == "eer"}
    return ", ".join(metrics) + "." if metrics else f"No EER: {', '.join(sorted(reasons))}."


def missing_interval_reason(audit: Audit, system: Row) -> str:
    """Return why there are no intervals; empty where there are."""
    if not audit.record["options"]["intervals"]:
        return sentence_text("no_intervals_given")
    pooled_rows = audit.groups.subset(**system, grouping="all", within="").rows()
    if any(row["interval"] for row in pooled_rows):
        return ""
    rows_with_value = (row for row in pooled_rows if row["value"] is not None)
    first_row = next(rows_with_value, None)
    return "" if first_row is None else missing_interval_text(first_row)


def ratio_legend(audit: Audit) -> str:
    """Return what the numbers next to a rate are."""
    options = audit.record["options"]
    interval = f" [{100 * options['confidence']:g} % CI over {unit_text(audit)}]"
    return f"ratio to {reference_text(audit)}{interval if options['intervals'] else ''}"


class SystemNote(NamedTuple):
    """A note on the data of one or several systems."""

    labels: tuple[str, ...]  # of the systems
    words: str

    @property
    def systems(self) -> str:
        """The labels as a list."""
        return ", ".join(self.labels)

    @property
    def sentence(self) -> str:
        """The note behind its systems."""
        return f"{self.systems}: {self.words}"


def data_notes(audit: Audit, system: Row) -> list[str]:
    """Return what was excluded, kept or counted once, but not how much was read."""
    return [
        _note_text(row)
        for row in audit.data.subset(**system).rows()
        if row["count"]
        and not row["group"]
        and row["source"] != "conflicts"
        and row["item"] not in _INPUT_COUNTS
    ]


def _note_text(row: Row) -> str:
    """Return a row of the table of data in words."""
    if row["item"] == WITHOUT_TRIALS:
        return groups_without_trials_text(_groups_without_trials(row).values)
    if row["source"] == POINT_WARNINGS:
        return f"{item_text(row)}: {note_text(row)}"
    by_grouping = f" [{row['grouping']}]" if row["grouping"] else ""
    note = f" ({note_text(row)})" if row["note"] else ""
    return f"{counted_text(row)}{by_grouping}{note}"


def n_trials_without_score(audit: Audit, system: Row) -> int:
    """Return how many trials of a system's list have no score, and so are not audited."""
    unscored_entries = {UNSCORED, FAILED}
    return sum(
        row["count"]
        for row in audit.data.subset(**system).rows()
        if row["item"] in unscored_entries and not row["grouping"]
    )


def groups_without_trials(audit: Audit) -> Iterator[Caveat]:
    """Yield which groups of each grouping have no trials."""
    rows = audit.data.subset(item=WITHOUT_TRIALS).rows()
    is_grouping_named = len({row["grouping"] for row in rows}) > 1
    for row in rows:
        caveat = _groups_without_trials(row)
        yield caveat._replace(values={**caveat.values, "is_grouping_named": is_grouping_named})


def _groups_without_trials(row: Row) -> Caveat:
    values = {
        "groups": None if row["value"] is None else int(row["value"]),
        "speakers": row["count"],
        "grouping": row["grouping"],
        "reason": note_text(row),
    }
    return Caveat("groups_without_trials", values)


def unusual_points(audit: Audit) -> list[SystemNote]:
    """Return operating points that miss their rate or have an infinite threshold, by system."""
    return list(_notes_by_system(audit, POINT_WARNINGS))


def threshold_sources(audit: Audit) -> set[str]:
    """Return where the thresholds of each system's first operating point come from."""
    points_of_systems = [located_points(audit, system) for system in systems(audit)]
    return {points[0]["source"] for points in points_of_systems if points}


def thresholds_set_here_text(audit: Audit) -> str:
    """Return which thresholds were set on the audited trials, to begin a sentence, or nothing."""
    rows = audit.operating_points.subset(within="").rows()
    points = [row["operating_point"] for row in rows if row["source"] == SAME_TRIALS]
    if len(points) in {0, len(rows)}:
        return "Thresholds" if points else ""
    return f"Thresholds of {', '.join(dict.fromkeys(points))}"


def data_warnings(audit: Audit) -> list[SystemNote]:
    """Return what is unusual about values, ids and scores, by system; without number ranges."""
    return list(_notes_by_system(audit, WARNING_SOURCE))


def _notes_by_system(audit: Audit, source: str) -> Iterator[SystemNote]:
    """Yield each note from one source, with the systems that it is about."""
    systems_of_note: dict[str, list[str]] = {}
    for row in audit.data.subset(source=source).rows():
        if row["item"] == RANGE_OF_NUMBERS:
            continue
        system = system_label(row["system"], row["list"])
        systems_of_note.setdefault(_note_text(row), []).append(system)
    for note, labels in systems_of_note.items():
        yield SystemNote(tuple(dict.fromkeys(labels)), note)


def recordings_text(audit: Audit, system: Row) -> str:
    """Return how many recordings, and models, are in the trials; empty where that is unknown."""
    rows = audit.data.subset(**system, source="scores").rows()
    counts = {row["item"]: row["count"] for row in rows}
    n_recordings, n_models = counts.get("recordings"), counts.get("models")
    if n_recordings is None:
        return ""
    if n_models is None:
        return f"{count_text(n_recordings)} recordings"
    return f"{count_text(n_models)} models and {count_text(n_recordings)} test recordings"


def deployed_thresholds_text(audit: Audit, system: Row) -> str:
    """Return the thresholds that trials were decided at; of many, the range."""
    rows = audit.data.subset(**system, grouping="all", group="all", within="").rows()
    thresholds = [row["value"] for row in rows if row["item"] == AT_DEPLOYED_THRESHOLD]
    if not thresholds:
        return "decisions"
    numbers = [f"{threshold:.6g}" for threshold in sorted(thresholds)]
    if len(numbers) <= _MAX_LISTED_THRESHOLDS:
        return ", ".join(numbers)
    return f"{numbers[0]} to {numbers[-1]}"


def contradictory_rows_text(audit: Audit, system: Row) -> str:
    """Return how the excluded contradictory rows would have changed the pooled metrics."""
    conflict_rows = audit.data.subset(**system, source="conflicts", grouping="all").rows()
    n_excluded = sum(row["count"] for row in conflict_rows if row["count"] is not None)
    if not n_excluded:
        return full_sentence("no_contradictory_rows")
    values_with_rows = _metrics_of_rows(conflict_rows, WITH_CONFLICTS)
    changes = []
    for name, (metric, without_rows) in _metrics_of_rows(conflict_rows, WITHOUT_CONFLICTS).items():
        with_rows = values_with_rows.get(name, (metric, None))[1]
        without_text, with_text = (
            _number_text(metric, number) for number in (without_rows, with_rows)
        )
        changes.append(f"{name} {without_text} / {with_text}")
    effect = (
        "; " + sentence_text("metrics_without_and_with_rows", metrics=", ".join(changes))
        if changes
        else ""
    )
    return full_sentence("contradictory_rows_excluded", rows=n_excluded, effect=effect)


def _metrics_of_rows(
    conflict_rows: Sequence[Row], code: str
) -> dict[str, tuple[str, float | None]]:
    """Return each metric, with its number, of the trials with or without contradictory rows.

    By the metric's name with its operating point or definition.
    """
    return {
        metric_text(fact.values): (fact.values["metric"], row["value"])
        for row in conflict_rows
        for fact in facts_of_row(row, "item")
        if fact.code == code and fact.values
    }


def _number_text(metric: str, number: float | None) -> str:
    """Return a metric's number: rates in percent, costs with four decimals."""
    is_rate = metric in {"fpr", "fnr", "eer"}
    return percent(number) if is_rate or number is None else f"{number:.4f}"


def unknown_test_speakers(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield what follows from nontarget trials without test speaker; nothing where all have one."""
    rows = audit.data.subset(**system, source="scores", item=WITHOUT_TEST_SPEAKER).rows()
    if rows:
        pooled_row = audit.groups.subset(**system, grouping="all", within="").rows()[0]
        values = {
            "trials": rows[0]["count"],
            "nontarget_trials": pooled_row["nontarget_trials"],
            "is_threshold_set_here": SAME_TRIALS in threshold_sources(audit),
            "allocations": audit.record["options"]["allocate"],
        }
        yield Caveat("test_speakers_unknown", values)


def excluded_trials(audit: Audit, system: Row, metric: str) -> Iterator[Caveat]:
    """Yield which exclusions change a pooled rate, with the rate without them."""
    conflict_rows = audit.data.subset(**system, grouping="all", source="conflicts").rows()
    n_excluded = sum(row["count"] for row in conflict_rows if row["count"] is not None)
    if not n_excluded:
        return
    rate_name = metric_text({"metric": metric, "operating_point": first_point_name(audit, system)})
    without_rows, with_rows = (
        _metrics_of_rows(conflict_rows, code).get(rate_name, (metric, None))[1]
        for code in (WITHOUT_CONFLICTS, WITH_CONFLICTS)
    )
    trial_class = base_metric(metric).trial_class
    if with_rows is None:
        pooled_rows = audit.groups.subset(**system, grouping="all", within="").rows()
        has_changed = bool(pooled_rows) and pooled_rows[0].get(f"{trial_class}_trials") == 0
    else:
        has_changed = percent(without_rows) != percent(with_rows)
    if has_changed:
        values = {
            "rows": n_excluded,
            "metric": metric,
            "trial_class": trial_class,
            "with_rows": with_rows,
            "without_rows": without_rows,
        }
        yield Caveat("excluded_trials", values)


def trials_in_no_group(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield how many trials are in no group of a grouping, where they are more than a few."""
    pooled_row = audit.groups.subset(**system, grouping="all", within="").rows()[0]
    n_trials = pooled_row["target_trials"] + pooled_row["nontarget_trials"]
    count_of_grouping: dict[str, int] = {}
    for row in audit.data.subset(**system, source="scores").rows():
        if row["item"] == TRIALS_OF_UNKNOWN_GROUP:
            count_of_grouping.setdefault(row["grouping"], row["count"])
    groupings_of_count: dict[int, list[str]] = {}
    for grouping, count in count_of_grouping.items():
        groupings_of_count.setdefault(count, []).append(grouping)
    for count, groupings in groupings_of_count.items():
        if count > _MAX_UNKNOWN_SHARE * n_trials:
            values = {"trials": count, "all_trials": n_trials, "groupings": groupings}
            yield Caveat("trials_in_no_group", values)


class NontargetTrials(NamedTuple):
    """Nontarget trials of known groups of speakers, and how many of them are within a group."""

    grouping: str
    n_groups: int
    n_trials: int
    n_trials_within_groups: int
    is_exact: bool
    """Whether no number is suppressed."""

    @property
    def is_within_groups_only(self) -> bool:
        """Whether there are several groups, and no trial is between two of them."""
        is_within_groups = 0 < self.n_trials == self.n_trials_within_groups
        return self.is_exact and self.n_groups > 1 and is_within_groups


def nontarget_trials(audit: Audit, filters: Row) -> Iterator[NontargetTrials]:
    """Yield how many nontarget trials are within groups of speakers, of the first system.

    Groups of recordings or trials are left out, as most of their speakers are in several groups.
    """
    for grouping in audit.record["groupings"]:
        rows = audit.matrix.subset(**filters, grouping=grouping, within="").rows()
        keys = ("system", "list", "operating_point")
        # counted once, for the first system, list and operating point
        first_rows = [row for row in rows if all(row[key] == rows[0][key] for key in keys)]
        if first_rows and _is_of_speakers(audit, first_rows[0]):
            yield NontargetTrials(
                grouping,
                len({row["enrol_group"] for row in first_rows}),
                sum(row["trials"] or 0 for row in first_rows),
                sum(
                    row["trials"] or 0
                    for row in first_rows
                    if row["enrol_group"] == row["test_group"]
                ),
                all(row["trials"] is not None for row in first_rows),
            )


def _is_of_speakers(audit: Audit, matrix_row: Row) -> bool:
    """Return whether each speaker is in one group of the grouping of that row only."""
    columns = ("system", "list", "grouping", "within")
    filters = {column: matrix_row[column] for column in columns}
    size_of_group = {
        row["group"]: row["speakers"]
        for row in audit.groups.subset(**filters, metric="fpr", definition="").rows()
    }
    n_speakers = size_of_group.pop(POOLED, None)
    return None not in size_of_group.values() and sum(size_of_group.values()) == n_speakers


def impostors_of_same_group(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield by which groupings all nontarget trials of a system are within groups.

    If these are within groups by several attributes, groups by fewer of these need no mention.
    """
    groupings = [
        trials.grouping
        for trials in nontarget_trials(audit, system)
        if trials.is_within_groups_only
    ]
    finest = [
        grouping
        for grouping in groupings
        if not any(
            {*grouping_attributes(grouping)} < {*grouping_attributes(finer)} for finer in groupings
        )
    ]
    if finest:
        yield Caveat("impostors_of_same_group", {"groupings": finest})


def unscored_trials_text(audit: Audit, system: Row) -> str:
    """Return how many trials have no score or decision; empty for none."""
    unscored_entries = (UNSCORED, UNDECIDED)
    rows = audit.data.subset(**system, grouping="", source="scores").rows()
    return ", ".join(counted_text(row) for row in rows if row["item"] in unscored_entries)


def placeholder_speakers(audit: Audit, system: Row) -> Iterator[Caveat]:
    """Yield how many trials name a placeholder for a speaker; nothing for none."""
    rows = audit.data.subset(**system, grouping="", item=PLACEHOLDER_SPEAKER).rows()
    n_trials = sum(row["count"] for row in rows)
    if n_trials:
        yield Caveat("placeholder_speakers", {"trials": n_trials})


def list_checks(audit: Audit, system: Row) -> tuple[str, list[Row]]:
    """Return which checks a system's list fails, behind the first system whose list fails the same.

    That is empty where the system is the first one, and where no check fails.
    """
    checks_of_system = audit.record.get("list_checks", {})
    label = "@".join(filter(None, system.values()))
    failed = checks_of_system.get(label, [])
    if not failed:
        return "", failed
    first_label = next(name for name, checks in checks_of_system.items() if checks == failed)
    return ("" if first_label == label else first_label), failed


def check_sentence(check: Row) -> str:
    """Return what a check of a list found, in words."""
    return "; ".join(fact_text(Fact(**each)) for each in check["facts"])


def failed_checks(audit: Audit) -> list[tuple[list[str], list[Row]]]:
    """Return which checks lists fail, each set of checks with all systems whose lists fail them."""
    labels_of_checks: list[tuple[list[str], list[Row]]] = []
    for label, failed in audit.record.get("list_checks", {}).items():
        for labels, checks in labels_of_checks:
            if checks == failed:
                labels.append(label)
                break
        else:
            labels_of_checks.append(([label], failed))
    return labels_of_checks


def confounding_sentences(audit: Audit, filters: Row) -> Iterator[str]:
    """Yield which attributes are associated with those of a grouping, and how to examine them."""
    return (f"{association_text(pair)}." for pair in associations(audit, filters))


def associations(audit: Audit, filters: Row) -> Iterator[Caveat]:
    """Yield which attributes are associated with those of a grouping, and how to examine them.

    Of attributes that determine each other, as ages and bands of age do, one is enough: that with
    the strongest association.
    """
    rows_of_system, options = audit.record.get("confounding", {}), audit.record["options"]
    label = "@".join(filter(None, (filters["system"], filters["list"])))
    rows = rows_of_system.get(label, [])
    # systems audited on the same speakers have the same associations: they are stated once
    first_label = next((name for name, others in rows_of_system.items() if others == rows), label)
    if first_label != label or filters["allocation"] != options["allocate"][0]:
        return
    grouping = filters["grouping"]
    # the name of a single attribute may hold a +
    is_single_attribute = any(row["attribute"] == grouping for row in rows)
    grouping_attributes = [grouping] if is_single_attribute else grouping.split("+")
    associated = [
        row
        for row in rows
        if row["attribute"] in grouping_attributes and row["other"] not in grouping_attributes
    ]
    if is_single_attribute:
        for row in associated:
            if row["relation"] in {"told", "alike"}:
                yield association(row, has_same_differences=False)
    same_kind_pairs = {
        (row["attribute"], row["other"]) for row in rows if row["relation"] in _SAME_KIND_RELATIONS
    }
    settled = {row["other"] for row in associated if row["relation"] in _SAME_KIND_RELATIONS}
    for row in sorted(associated, key=lambda row: -row["cramers_v"]):
        other_attribute = row["other"]
        if row["relation"] != "confounded" or other_attribute in settled:
            continue
        settled.add(other_attribute)
        settled |= {
            same_kind for attribute, same_kind in same_kind_pairs if attribute == other_attribute
        }
        is_examined = (
            other_attribute in (options["within"] or ())
            or other_attribute in options["standardise"]
        )
        # where names are shown as labels, options still take the names
        option = "" if is_examined else row.get("as_given", other_attribute)
        # decided by the names of the data, as labels may hide which attributes a grouping has
        names = (row.get("attribute_as_given", grouping), row.get("as_given", other_attribute))
        are_same = is_single_attribute and has_same_differences(
            audit_with_ids(audit), *names, filters["allocation"]
        )
        yield association(row, option, has_same_differences=are_same)


# ---- groups


class EerLine(NamedTuple):
    """What is shown of EERs at a threshold of each group's own."""

    label: str
    """The group, or what is compared."""
    words: str
    direction: str = ""
    """Whether the group is shown to be ``harder`` or ``easier``; empty if it is not."""
    is_shown: bool = False
    """Whether a difference is shown."""

    @property
    def text(self) -> str:
        """The words, after the direction if there is one."""
        return f"{self.direction}: {self.words}" if self.direction else self.words


def group_eer_lines(audit: Audit, scope_filters: Row) -> Iterator[EerLine]:
    """Yield each group's EER at a threshold of its own.

    It shows how hard a group is, whatever one threshold for all groups does to it.
    """
    group_eers = _compared_eers(audit, scope_filters)
    rows, rows_with_interval, reference = (
        group_eers.rows,
        group_eers.with_interval,
        group_eers.reference,
    )
    if len(rows_with_interval) < 2 or reference is None:
        unclear = [row["group"] for row in rows if row["high"] is None or not row["value"]]
        if rows_with_interval and unclear:
            names = ", ".join(unclear[:_MAX_DIFFERING_GROUPS])
            if len(unclear) > _MAX_DIFFERING_GROUPS:
                names += " and others"
            yield EerLine("inconclusive", sentence_text("no_eer_interval", groups=names))
        return
    level = 1 - audit.record["options"]["confidence"]
    if group_eers.is_pair:
        yield from _pair_eer_lines(rows_with_interval, group_eers.ratio_of_group, level)
    else:
        yield from _several_eer_lines(
            len(rows),
            rows_with_interval,
            group_eers.ratio_of_group,
            _REFERENCE_NAMES[reference],
            level,
        )


def groups_of_higher_eer(audit: Audit, scope_filters: Row) -> set[str]:
    """Return the groups whose EER is shown to be higher than their reference."""
    group_eers = _compared_eers(audit, scope_filters)
    level = 1 - audit.record["options"]["confidence"]
    # two groups are one comparison, so their p is not adjusted
    p_column = "p" if group_eers.is_pair else "p_holm"
    return {
        group
        for group, row in group_eers.ratio_of_group.items()
        if row["value"] > 1 and row[p_column] <= level
    }


class _ComparedEers(NamedTuple):
    """EERs of groups at thresholds of their own, and their ratios to a reference."""

    rows: list[Row]
    with_interval: list[Row]
    """The rows with an interval, the highest EER first."""
    reference: str | None
    """What groups are compared with; None if no ratio has an interval."""
    ratio_of_group: Mapping[str, Row]

    @property
    def is_pair(self) -> bool:
        """Whether two groups are compared with each other."""
        return len(self.rows) == PAIR_SIZE and self.reference == "geomean"


def _compared_eers(audit: Audit, scope_filters: Row) -> _ComparedEers:
    options = audit.record["options"]
    filters = {**scope_filters, "within": "", "metric": "eer", "definition": options["eer"][0]}
    rows = [row for row in audit.groups.subset(**filters).rows() if row["group"] != "pooled"]
    rows_with_interval = [row for row in rows if row["high"] is not None]
    rows_with_interval.sort(key=lambda row: -row["value"])
    ratios: dict[str, dict[str, Row]] = {}
    for row in audit.bias.subset(**filters, measure="ratio", zero="none").rows():
        if row["high"] is not None:
            ratios.setdefault(row["reference"], {})[row["group"]] = row
    # two groups are best compared with each other, several with their mean
    first_reference = "geomean" if len(rows) == PAIR_SIZE else "macro"
    reference_order = (first_reference, *_REFERENCE_NAMES)
    reference = next((name for name in reference_order if name in ratios), None)
    ratio_of_group = ratios[reference] if reference else {}
    return _ComparedEers(rows, rows_with_interval, reference, ratio_of_group)


def _pair_eer_lines(
    pair: Sequence[Row], ratio_of_group: Mapping[str, Row], level: float
) -> Iterator[EerLine]:
    """Yield which of two groups, the one with the higher EER first, is harder, and both EERs."""
    harder, easier = (row["group"] for row in pair)
    ratio_row = ratio_of_group[harder]
    # one group against the other is its ratio to the geometric mean, squared
    ratio, low, high = (float(ratio_row[name]) ** 2 for name in ("value", "low", "high"))
    words = sentence_text(
        "eer_of_pair",
        harder=harder,
        ratio=short_number(ratio),
        easier=easier,
        interval=interval_text(low, high),
        p=p_value(ratio_row["p"]),
    )
    if ratio_row["p"] <= level:
        yield EerLine("comparison", words, is_shown=True)
    else:
        yield EerLine("comparison", f"{words} (inconclusive)")
    yield from (EerLine(row["group"], _eer_text(row)) for row in pair)


def _several_eer_lines(
    n_groups: int,
    rows_with_interval: Sequence[Row],
    ratio_of_group: Mapping[str, Row],
    reference: str,
    level: float,
) -> Iterator[EerLine]:
    """Yield which groups' EERs differ from a reference; if none, the highest and the lowest."""
    differing_rows = [
        row
        for row in rows_with_interval
        if row["group"] in ratio_of_group and ratio_of_group[row["group"]]["p_holm"] <= level
    ]
    if not differing_rows:
        highest, lowest = rows_with_interval[0], rows_with_interval[-1]
        words = sentence_text("no_eer_differs", groups=n_groups, reference=reference)
        yield EerLine("comparison", words)
        yield EerLine(highest["group"], f"the highest: {_eer_text(highest)}")
        yield EerLine(lowest["group"], f"the lowest: {_eer_text(lowest)}")
        return
    words = sentence_text(
        "some_eers_differ", n_groups=len(differing_rows), all_groups=n_groups, reference=reference
    )
    n_inconclusive = n_groups - len(differing_rows)
    if n_inconclusive:
        words += "; " + sentence_text("other_groups_inconclusive", groups=n_inconclusive)
    yield EerLine("comparison", words)
    differing_rows.sort(key=lambda row: -abs(math.log(ratio_of_group[row["group"]]["value"])))
    for row in differing_rows[:_MAX_DIFFERING_GROUPS]:
        ratio_row = ratio_of_group[row["group"]]
        direction = "harder" if ratio_row["value"] > 1 else "easier"
        interval = interval_text(ratio_row["low"], ratio_row["high"])
        ratio = f"ratio {short_number(ratio_row['value'])} {interval}"
        p_text = p_value(ratio_row["p_holm"])
        yield EerLine(
            row["group"], f"{_eer_text(row)}, {ratio}, {p_text}", direction, is_shown=True
        )
    if len(differing_rows) > _MAX_DIFFERING_GROUPS:
        n_more = len(differing_rows) - _MAX_DIFFERING_GROUPS
        yield EerLine("", sentence_text("more_that_differ", more=n_more))


def _eer_text(row: Row) -> str:
    """Return an EER with its interval."""
    return f"EER {percent(row['value'])} {interval_text(row['low'], row['high'], times=100)}"


def limit_sentences(audit: Audit, filters: Row) -> Iterator[str]:
    """Yield which groups meet each limit at each point, and which are inconclusive."""
    verdicts_of_limit: dict[str, dict[str, list[str]]] = {}
    for row in limit_rows(audit, filters):
        groups_of_verdict = verdicts_of_limit.setdefault(limit_text(audit, row), {})
        name = row["group"]
        if row["verdict"] == "not_met":
            name += f" ({limited_value_text(row)})"
        groups_of_verdict.setdefault(row["verdict"], []).append(name)
    for limit, groups_of_verdict in verdicts_of_limit.items():
        answer = "; ".join(
            f"{words}: {', '.join(groups_of_verdict[verdict])}"
            for verdict, words in LIMIT_VERDICTS.items()
            if verdict in groups_of_verdict
        )
        yield f"{limit}: {answer}."


def limit_rows(audit: Audit, filters: Row) -> list[Row]:
    """Return what is held against a limit, without what is within strata."""
    rows = audit.limits.subset(**{**filters, "within": ""}).rows()
    return [row for row in rows if row["measure"] in LIMITS]


def limit_text(audit: Audit, row: Row) -> str:
    """Return what a limit is about."""
    at_point = f" at {row['operating_point']}" if row["operating_point"] else ""
    if row["measure"] == "limit":
        return sentence_text(
            "rate_limit", limit=100 * row["limit"], rate=limited_rate_text(row), at_point=at_point
        )
    times = f"{row['limit']:g} times that of {reference_text(audit)}"
    return sentence_text(
        "ratio_limit", limit=times, metric=row["metric"].upper(), at_point=at_point
    )


def limited_rate_text(row: Row) -> str:
    """Return which rate a limit is of: SFAR, or SFAR of A17 for one attack.

    Examples
    --------
    >>> limited_rate_text({"metric": "fnr"}), limited_rate_text({"metric": "sfar:clone-A"})
    ('FNR', 'SFAR of clone-A')
    """
    metric, _, attack = row["metric"].partition(":")
    return f"{metric.upper()} of {attack}" if attack else metric.upper()


def limited_value_text(row: Row) -> str:
    """Return what is compared with a limit, a rate or a ratio, and its interval if it has one."""
    if row["measure"] == "limit":
        figure = percent(row["value"])
        interval = interval_text(row["low"], row["high"], times=100)
    else:
        figure = f"{short_number(row['value'])} times"
        interval = interval_text(row["low"], row["high"])
    return f"{figure} {interval}".rstrip()


def worst_tenth_sentences(audit: Audit, scope_filters: Row, point: str) -> Iterator[str]:
    """Yield which share of the pooled false rejects the speakers with the most account for."""
    filters = {**scope_filters, "within": "", "operating_point": point, "group": "pooled"}
    worst_shares, equal_rates_shares = (
        [row["value"] for row in audit.limits.subset(**filters, measure=measure).rows()]
        for measure in ("worst_tenth", "worst_tenth_if_equal")
    )
    if worst_shares and worst_shares[0] is not None:
        yield full_sentence(
            "worst_tenth",
            point=point,
            share=share_of_speakers(worst_shares[0]),
            expected_share=share_of_speakers(equal_rates_shares[0]),
        )


def trend_sentences(audit: Audit, scope_filters: Row, point: str) -> Iterator[str]:
    """Yield whether errors rise or fall with a number, where groups are bands of one."""
    filters = {**scope_filters, "within": "", "measure": "trend", "operating_point": point}
    rows = audit.bias.subset(**filters).rows()
    if not rows:
        return
    odds_ratios = []
    for row in sorted(rows, key=lambda row: [*ERROR_TYPES].index(row["metric"])):
        name = row["metric"].upper()
        if row["value"] is None:
            odds_ratios.append(f"{name}: {reason_text(row)}")
            continue
        # the table has logarithms of odds ratios
        ratio, low, high = (
            None if row[column] is None else math.exp(row[column])
            for column in ("value", "low", "high")
        )
        interval = f" {interval_text(low, high)}, {p_value(row['p'])}" if low is not None else ""
        reason = f" ({reason_text(row)})" if row["reason"] else ""
        odds_ratios.append(f"{name} x {short_number(ratio)}{interval}{reason}")
    number = f"{rows[0]['group']}, {rows[0]['definition']}"
    yield full_sentence("trend", number=number, odds_ratios="; ".join(odds_ratios))
