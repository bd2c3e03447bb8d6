"""Definitions, provenance, limitations, and where each item of a standard is found.

Sources of harm are those of Suresh and Guttag, in the order in which data and systems are made;
see docs/references.md#paper-001. Items are in the words of what is publicly known of ISO/IEC
19795-10 and of Annex IV of the European AI Act; nothing here says that either applies or is met.
"""

from __future__ import annotations

import hashlib
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.auditing import (
    CHOICE_ROLES,
    PRIVATE,
    SAME_TRIALS,
    SPEAKERS_OF_UNKNOWN_GROUP,
    Options,
    system_name,
)
from parivox.options.audit import AuditOptions
from parivox.options.kinds import option_fields
from parivox.report import findings
from parivox.report.audit_queries import (
    at_first_point,
    error_types,
    groups_small_at_first_point,
    in_some_systems,
    scopes,
    small_groups,
    system_label,
)
from parivox.report.catalogue import full_sentence, recorded_text, sentence_text
from parivox.report.caveats import impostors_of_same_group
from parivox.report.context import Choice, Context
from parivox.report.definitions import definitions
from parivox.report.html.layout import NOT_SUPPLIED
from parivox.report.identification import measure_rows
from parivox.report.labels import audit_with_ids
from parivox.report.sheets.sheet import Sheet
from parivox.report.words import (
    count_of,
    count_text,
    interval_text,
    short_number,
    shortened_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing import Audit

REFERENCES = {
    "Hutiri and Ding 2022, Bias in Automated Speaker Recognition": (
        "subgroup and threshold bias; sources of harm in speaker recognition"
    ),
    "Hutiri, Gorce and Ding 2022, Design Guidelines for Inclusive Speaker Verification Evaluation "
    "Datasets": "requirements for trial lists",
    "Hutiri, Patel, Ding and Scharenborg, As Biased as You Measure": (
        "base metrics, bias measures and meta-measures, and where they disagree"
    ),
    "Chouchane, Busch, Galdi, Evans and Todisco, A Comparison of Differential Performance Metrics "
    "for the Evaluation of Automatic Speaker Verification Fairness": (
        "comparison of FDR, IR and GARBE"
    ),
    "de Freitas Pereira and Marcel 2022; Grother (NIST); Howard et al. 2022": "FDR; IR; GARBE",
    "Suresh and Guttag": "seven sources of harm in the life cycle of machine learning",
    "ISO/IEC 19795-1; the public scope of ISO/IEC 19795-10": "error rates; what to report",
}
"""Works, and what is taken from each."""


_CHECKS_OF_SPEAKERS = {"G1", "G2", "G3", "G4"}
"""Checks of a list that tell the largest or smallest figure of a speaker."""
_NONE_GIVEN = "none given"
_ALL_GROUP_FIGURES = "all results by group"


def method_section(
    audit: Audit, context: Context | None, *, lists_ids: bool = False
) -> dict[str, Any]:
    """Return what an audit is based on for ``method.html.j2``.

    `lists_ids` is whether the report has the tables of speakers with the most errors.
    """
    return {
        "definitions": [
            (_spaced(name), list(_flat_texts(definition)))
            for name, definition in definitions(audit_with_ids(audit)).items()
        ],
        "options": _options_sheet(audit_with_ids(audit)),
        "hashes": _hashes_sheet(audit, context),
        "has_keyed_hashes": any(
            file_entry.get(field)
            for file_entry in audit.provenance
            for field in ("ids_hmac", "bytes_hmac")
        ),
        "has_hashes_of_ids": any(file_entry.get("ids_hmac") for file_entry in audit.provenance),
        "versions": list(_versions(audit)),
        "references": REFERENCES,
        "command": command(audit_with_ids(audit)),
        "standard": item_places(audit, context),
        "not_shown": _not_shown(audit),
        "personal_data": _personal_data(audit, lists_ids=lists_ids),
        "harms": harms(audit, context),
        "sha256": _sha256(audit),
    }


def _versions(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yield the versions that the audit is of, and what another version lacks or does not know."""
    for name, version in audit.record["versions"].items():
        yield _spaced(name), str(version)
    for name, reason in audit.record.get("other_version", {}).items():
        yield name, recorded_text(reason)


def _sha256(audit: Audit) -> str:
    """Return the SHA-256 of ``audit.json``."""
    # in pieces, as the record of a large audit need not be held as one text
    digest = hashlib.sha256()
    for piece in audit_with_ids(audit).json_pieces():
        digest.update(piece.encode())
    return digest.hexdigest()


def _flat_texts(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Return nested values as pairs of a name and a text; a measure is one pair."""
    if isinstance(value, dict) and "says" in value:
        fairer = "higher is fairer" if value["higher_is_fairer"] else "lower is fairer"
        joins = "combines both rates" if value["joins_both_rates"] else ""
        parts = (value["says"], fairer, joins, value["source"])
        yield prefix, "; ".join(part for part in parts if part)
    elif isinstance(value, dict):
        for key, nested in value.items():
            yield from _flat_texts(nested, f"{prefix}, {key}" if prefix else str(key))
    elif isinstance(value, (list, tuple)):
        yield prefix, ", ".join(map(_cell_text, value))
    else:
        yield prefix, _cell_text(value)


def _cell_text(value: Any) -> str:
    if value is None:
        return _NONE_GIVEN
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _options_sheet(audit: Audit) -> Sheet:
    sheet = Sheet.with_heads("Options of the audit", ("Option", "Value"), words=(1, 2))
    for name, value in audit.record["options"].items():
        for key, text in _flat_texts(value, _spaced(name)):
            sheet.add(key, text or _NONE_GIVEN)
    return sheet


def _hashes_sheet(audit: Audit, context: Context | None) -> Sheet:
    """Return hashes of contents; files are named by their content, not by file names."""
    sheet = Sheet.with_heads(
        "Input data: hashes of contents (independent of the order of rows) and of files",
        ("Input", "SHA-256, or HMAC where named"),
        words=(1, 2),
    )
    for source in audit.record["inputs"]:
        label = system_label(source["system"], source["list"])
        sheet.add(f"{label}: contents of {source['trials']:,} trials", source["content_sha256"])
    for i, file_entry in enumerate(audit.provenance, 1):
        kind = ", ".join(
            str(file_entry[field])
            for field in ("role", "format", "compression")
            if file_entry.get(field)
        )
        if file_entry.get("role") in CHOICE_ROLES and file_entry.get("sha256"):
            sheet.add(f"File {i} ({kind}): bytes", file_entry["sha256"])
        for field, hashed in (("ids_hmac", "speaker ids"), ("bytes_hmac", "bytes")):
            if file_entry.get(field):
                sheet.add(
                    f"File {i} ({kind}): HMAC of the {hashed}, with the key in {PRIVATE}",
                    file_entry[field],
                )
    if context is not None:
        sheet.add("Context file: bytes", context.sha256)
    return sheet


# ---- the command that repeats the audit


def command(audit: Audit) -> str:
    """Return the command of the audit, with placeholders for files.

    Only options that are not the default are named. The names of columns, and the format of a
    file, are left out, as they follow from the files.
    """
    record = audit.record
    described_options, recorded_options = option_fields(AuditOptions), record["options"]
    words = ["parivox", "audit"]
    for i, source in enumerate(record["inputs"], 1):
        words.append(f"{system_name(source['system'], source['list'])}=SCORES_{i}")
    roles = {file_entry.get("role") for file_entry in audit.provenance}
    for name, option in described_options.items():
        if name in roles:
            words += [option.flag, name.upper()]
    for i, _ in enumerate(record.get("development", []), 1):
        words += ["--threshold-from", f"DEVELOPMENT_SCORES_{i}"]
    for name, default in Options().recorded().items():
        chosen = recorded_options.get(name, default)
        chosen = tuple(chosen) if isinstance(chosen, list) else chosen  # as a loaded audit has it
        is_by_default = name == "by" and record["groupings_chosen_by"] != "user"
        if chosen not in (default, None) and not is_by_default:
            words += described_options[name].command_line_words(chosen)
    if rule := record.get("countermeasure_rule"):
        words += described_options["cm_threshold"].command_line_words(rule)
    rank = record.get("identification", {}).get("rank", 1)
    if rank > 1:
        words += described_options["rank"].command_line_words(rank)
    return shlex.join(words)


# ---- what the audit cannot show


STANDARD = "ISO/IEC 19795-10"
ACT = "AI Act, Annex IV"
_HARM_MEANINGS = {
    "Historical": sentence_text("historical_harm"),
    "Representation": sentence_text("representation_harm"),
    "Measurement": sentence_text("measurement_harm"),
    "Aggregation": sentence_text("aggregation_harm"),
    "Learning": sentence_text("learning_harm"),
    "Evaluation": sentence_text("evaluation_harm"),
    "Deployment": sentence_text("deployment_harm"),
}


class Harm(NamedTuple):
    """A source of harm, its meaning, and what this audit can and cannot say about it."""

    name: str
    meaning: str
    sentences: list[str]


def harms(audit: Audit, context: Context | None) -> list[Harm]:
    """Return the seven sources of harm, filled from the data."""
    context = context or Context()
    sentences = (
        _historical(context),
        _representation(audit),
        _measurement(audit),
        _aggregation(audit),
        _learning(audit),
        _evaluation(audit),
        _deployment(audit, context),
    )
    return [
        Harm(*name_and_meaning, list(harm_sentences))
        for name_and_meaning, harm_sentences in zip(_HARM_MEANINGS.items(), sentences, strict=True)
    ]


def _not_shown(audit: Audit) -> str:
    """Return what may be read into a report, and does not follow from any."""
    has_spoof_trials = "sfar" in error_types(audit)
    attacks = "other attacks" if has_spoof_trials else "spoofed speech"
    return full_sentence("not_shown_by_report", attacks=attacks)


def _personal_data(audit: Audit, *, lists_ids: bool) -> str:
    """Return what a report contains that may concern a person."""
    measures = ("fnir_of_person", "named_most")
    person_rows = [row for measure in measures for row in measure_rows(audit, measure)]
    ids_text = sentence_text("lists_no_ids")
    if lists_ids:
        ids_text = sentence_text("lists_ids_of_offenders")
    elif any(row["person"] for row in person_rows):
        ids_text = sentence_text("lists_ids_of_persons")
    failed_ids = {check["id"] for _, failed in findings.failed_checks(audit) for check in failed}
    figures_text = ""
    if person_rows:
        figures_text = sentence_text("figures_of_persons")
    elif failed_ids & _CHECKS_OF_SPEAKERS:
        figures_text = sentence_text("figures_of_speakers")
    return full_sentence("personal_data", ids=ids_text, figures=figures_text)


def _historical(context: Context) -> Iterator[str]:
    yield full_sentence("recruitment_unknown")
    yield full_sentence("recruitment", recruitment=context.recruitment or NOT_SUPPLIED)


def _representation(audit: Audit) -> Iterator[str]:
    """Return sentences on the smallest and largest group, on small groups and unknown ones."""
    seen = set()
    for scope in scopes(audit):
        if (scope.list, scope.grouping) in seen or scope.allocation != "both":
            continue
        seen.add((scope.list, scope.grouping))
        rows = audit.groups.subset(**scope.filters, metric="fnr", definition="").rows()
        sizes = {row["group"]: row["speakers"] for row in rows if row["speakers"] is not None}
        sizes.pop("pooled", None)
        if sizes:
            smallest, largest = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
            list_text = f" on {scope.list}" if scope.list else ""
            yield full_sentence(
                "group_sizes",
                grouping=scope.grouping,
                on_list=list_text,
                groups=count_of(len(sizes), "group"),
                smallest=smallest,
                smallest_size=count_of(sizes[smallest], "speaker"),
                largest=largest,
                largest_size=count_text(sizes[largest]),
            )
        # a group may have too few errors of one system only
        small_groups_of_systems = [
            {*groups_small_at_first_point(audit, system_scope)}
            for system_scope in scopes(audit)
            if system_scope._replace(system="") == scope._replace(system="")
        ]
        all_small_groups = sorted(set.union(*small_groups_of_systems))
        if all_small_groups:
            is_differing = any(
                groups != small_groups_of_systems[0] for groups in small_groups_of_systems
            )
            yield full_sentence(
                "under_represented_groups",
                grouping=scope.grouping,
                at_point=at_first_point(audit),
                in_systems=in_some_systems(audit, is_differing),
                minimums=findings.minimums_text(audit),
                groups=", ".join(shortened_names(all_small_groups, most=12)),
            )
    # the same groups are stated once for all systems
    sentences = (caveat.sentence for caveat in findings.groups_without_trials(audit))
    yield from (f"{sentence}." for sentence in dict.fromkeys(sentences))
    unknown_rows = audit.data.subset(item=SPEAKERS_OF_UNKNOWN_GROUP).rows()
    n_unknown = max((row["count"] or 0 for row in unknown_rows), default=0)
    if n_unknown:
        yield full_sentence("speakers_without_group", speakers=count_text(n_unknown))


def _measurement(audit: Audit) -> Iterator[str]:
    yield full_sentence("attributes_from_table")
    if not len(audit.groups.subset(metric="fta")):
        yield full_sentence("failures_not_counted")
    within = audit.record["options"]["within"]
    yield (
        full_sentence("conditions_examined", within=", ".join(within))
        if within
        else full_sentence("conditions_not_examined")
    )


def _aggregation(audit: Audit) -> Iterator[str]:
    """Return sentences on the cost of the common threshold, and on confounded attributes."""
    names = " and ".join(audit.record["groupings"])
    yield full_sentence("one_threshold_for_all", groupings=names)
    n_selected_intervals = 0
    for scope in scopes(audit):
        # thresholds of this measure belong to no operating point
        groups_with_shortfall = small_groups(audit, scope.filters)
        # thresholds found on other speakers are free of optimism, so they come first
        for measure in ("threshold_bias_cv", "threshold_bias"):
            rows = audit.bias.subset(**scope.filters, measure=measure).rows()
            bias_rows = [
                bias_row
                for bias_row in rows
                if bias_row["value"] is not None and bias_row["group"] not in groups_with_shortfall
            ]
            if bias_rows:
                largest = max(bias_rows, key=lambda row: float(row["value"]))
                interval = ""
                if largest["high"] is not None:
                    interval = f" {interval_text(largest['low'], largest['high'])}"
                    n_selected_intervals += len(bias_rows) > 1
                selection = ""
                if len(bias_rows) > 1:
                    selection = sentence_text("largest_ratio", n_groups=len(bias_rows))
                    if groups_with_shortfall:
                        selection += " " + sentence_text("large_groups_at_all_points")
                yield full_sentence(
                    "cost_of_common_threshold",
                    system=scope.label,
                    group=largest["group"],
                    ratio=short_number(largest["value"]),
                    interval=interval,
                    selection=selection,
                )
                break
    if n_selected_intervals == 1:
        yield full_sentence("interval_of_largest_ratio")
    elif n_selected_intervals:
        yield full_sentence("intervals_of_largest_ratios")
    sentences = (
        sentence
        for scope in scopes(audit)
        for sentence in findings.confounding_sentences(audit, scope.filters)
    )
    yield from dict.fromkeys(sentences)


def _learning(audit: Audit) -> Iterator[str]:
    n_systems = len({source["system"] for source in audit.record["inputs"]})
    if n_systems == 1:
        yield full_sentence("one_system_audited")
    else:
        yield full_sentence("several_systems_audited", systems=n_systems)
    yield full_sentence("training_unknown")


def _evaluation(audit: Audit) -> Iterator[str]:
    for names, failed_checks in findings.failed_checks(audit):
        if failed_checks:
            between_group_sentences = [
                findings.check_sentence(source)
                for source in failed_checks
                if source["id"] in findings.CHECKS_BETWEEN_GROUPS
            ]
            check_ids = ", ".join(source["id"] for source in failed_checks)
            difference_text = (
                " "
                + full_sentence(
                    "trials_of_groups_differ", differences="; ".join(between_group_sentences)
                )
                if between_group_sentences
                else ""
            )
            yield sentence_text(
                "list_fails_checks",
                systems=", ".join(names),
                checks=check_ids,
                differences=difference_text,
            )
    yield from (f"{caveat.sentence}." for caveat in impostors_of_same_group(audit))
    if points_text := findings.thresholds_set_here_text(audit):
        yield full_sentence("set_on_audited_trials", points=points_text)
    for source in audit.record["inputs"]:
        system = {"system": source["system"], "list": source["list"]}
        reason = findings.missing_interval_reason(audit, system)
        if reason:
            label = system_label(*system.values())
            yield full_sentence("difference_not_shown", system=label, reason=reason)
    for scope in scopes(audit):
        rows = [
            row
            for row in audit.verdicts.subset(**scope.filters).rows()
            if row["group"] and row["metric"] in error_types(audit)
        ]
        inconclusive = {row["group"] for row in rows if row["verdict"] == "inconclusive"}
        all_groups = {row["group"] for row in rows}
        if inconclusive:
            verb = "is" if len(inconclusive) == 1 else "are"
            yield full_sentence(
                "inconclusive_groups",
                label=scope.label,
                groups=len(inconclusive),
                all_groups=len(all_groups),
                verb=verb,
            )


def _deployment(audit: Audit, context: Context) -> Iterator[str]:
    yield full_sentence("purpose_of_system", purpose=context.purpose or NOT_SUPPLIED)
    yield full_sentence("population_of_system", population=context.population or NOT_SUPPLIED)
    points = " and ".join(dict.fromkeys(row["operating_point"] for row in audit.operating_points))
    chooser = context.threshold.chosen_by or NOT_SUPPLIED
    yield full_sentence("audited_at_points", points=points, chooser=chooser)
    yield (
        full_sentence("rates_for_single_trials")
        + " "
        + (
            full_sentence("spoof_accepts_of_listed_attacks")
            if "sfar" in error_types(audit)
            else full_sentence("spoofed_speech_not_covered")
        )
    )


# ---- items of a standard and a law, and where the report has them


class ContextPlace(NamedTuple):
    """An item, its source, and where it is in the report; the anchor is empty if it is missing."""

    item: str
    asked_in: str
    where: str
    anchor: str


def item_places(audit: Audit, context: Context | None) -> dict[str, list[ContextPlace]]:
    """Return every item by its source."""
    context = context or Context()
    places_by_source = {}
    for asked_in, rows in (
        (STANDARD, _standard_items(audit, context)),
        (ACT, _act_items(audit, context)),
    ):
        places_by_source[asked_in] = [
            ContextPlace(item_name, asked_in, where, anchor)
            if is_there
            else ContextPlace(item_name, asked_in, NOT_SUPPLIED, "")
            for item_name, where, anchor, is_there in rows
        ]
    return places_by_source


Item = tuple[str, str, str, bool]
"""An item, the section and anchor where it would be, and whether it is there."""


def _standard_items(audit: Audit, context: Context) -> list[Item]:
    is_of_known_people = bool(context.recruitment and context.population)
    has_shifts = _has_metrics(audit, "shift_target", "shift_nontarget")
    # thresholds found on these trials are in nobody's use yet
    is_in_use = context.threshold != Choice() or bool(
        findings.threshold_sources(audit) - {SAME_TRIALS}
    )
    has_intervals = any(audit.groups.to_dict()["interval"])
    shift_section = "definitions (values in groups.csv of the audit)"
    return [
        ("Who was tested: speakers, groups, trials", "the data", "data", True),
        (
            "How the speakers were recruited, and from which population",
            "the context",
            "context",
            is_of_known_people,
        ),
        (
            "Failures to enrol, by group",
            "failures to enrol and to acquire",
            "failures",
            _has_metrics(audit, "fte"),
        ),
        (
            "Failures to acquire, by group",
            "failures to enrol and to acquire",
            "failures",
            _has_metrics(audit, "fta"),
        ),
        (
            "Error rates by group",
            _ALL_GROUP_FIGURES,
            "groups",
            _has_metrics(audit, "fnr", "fpr"),
        ),
        (
            "Differences in comparison scores between groups (score shifts)",
            shift_section,
            "definitions",
            has_shifts,
        ),
        (
            "Time per trial, by group",
            "failures to enrol and to acquire",
            "failures",
            _has_metrics(audit, "seconds"),
        ),
        ("Threshold in operation", "the operating point", "points", is_in_use),
        ("Uncertainty of the reported results", _ALL_GROUP_FIGURES, "groups", has_intervals),
        ("Differential measures", _ALL_GROUP_FIGURES, "groups", len(audit.bias) > 0),
        ("Aggregate measures", "measures of fairness", "measures", len(audit.meta) > 0),
    ]


def _act_items(audit: Audit, context: Context) -> list[Item]:
    has_rates = _has_metrics(audit, "fnr") or _has_metrics(audit, "fpr")
    has_reasons = bool(context.threshold.why or context.margin.why)
    context_file, not_in_audit = ("the context file", "context"), ("", "", False)
    validation = "2 Validation and testing: "
    return [
        ("1 General description: intended purpose", *context_file, bool(context.purpose)),
        ("1 General description: system and its version", *context_file, bool(context.system)),
        ("2 Development: methods, design, training data, human oversight", *not_in_audit),
        (
            f"{validation}data used and their characteristics",
            "the data; the list",
            "data",
            has_rates,
        ),
        (
            f"{validation}measures of accuracy",
            f"{_ALL_GROUP_FIGURES}; measures",
            "groups",
            has_rates,
        ),
        (
            f"{validation}potentially discriminatory impacts",
            "the finding",
            "answer",
            has_rates,
        ),
        (
            "2 Test reports, dated and signed",
            "the sign-off, blank until signed",
            "signature",
            has_rates,
        ),
        ("2 Robustness and cybersecurity", *not_in_audit),
        (
            "3 Accuracy for specific groups of persons, and overall",
            _ALL_GROUP_FIGURES,
            "groups",
            has_rates,
        ),
        (
            "3 Persons on whom the system is meant to be used",
            *context_file,
            bool(context.population),
        ),
        (
            "3 Limitations, and sources of risk of discrimination",
            "limits of this audit",
            "harms",
            has_rates,
        ),
        (
            "4 Why the measures suit the system",
            "definitions; the reasons: context file",
            "context",
            has_reasons,
        ),
        ("5 Risk management", *not_in_audit),
        ("6 Changes over the life cycle", *not_in_audit),
        ("7 Standards applied", *not_in_audit),
        ("8 Declaration of conformity", *not_in_audit),
        ("9 Monitoring after the system is placed on the market", *not_in_audit),
    ]


def _has_metrics(audit: Audit, *metrics: str) -> bool:
    """Return whether some group has a value of each of these metrics."""
    return all(
        any(value is not None for value in audit.groups.subset(metric=metric).to_dict()["value"])
        for metric in metrics
    )
