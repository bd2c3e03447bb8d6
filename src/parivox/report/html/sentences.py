"""Findings at every operating point, inconclusive groups, and who chose thresholds and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.report import findings
from parivox.report.audit_queries import (
    differing_groups,
    error_types,
    error_types_of,
    first_point_name,
    has_rate,
    heading_with_status,
    located_points,
    missing_rate_reason,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    shortfalls,
    system_label,
    systems,
    verdicts_by_metric,
)
from parivox.report.catalogue import finding_text, full_sentence, inconclusive_text, sentence_text
from parivox.report.context import HEADINGS, Choice, Context
from parivox.report.html.layout import NOT_SUPPLIED, join_single_sections, point_text
from parivox.report.limitation_sentences import Caveat
from parivox.report.sheets.groups import operating_points
from parivox.report.sheets.supplementary import failures
from parivox.report.words import capitalised, count_of, count_text, shortened_names, uncapitalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Scope, Verdicts
    from parivox.report.sheets.sheet import Sheet
    from parivox.report.words import Row

_MAX_GROUPS = 6


def findings_section(audit: Audit, context: Context | None) -> dict[str, Any]:
    """Return findings of every grouping, and the data behind them, for ``said.html.j2``."""
    all_scopes = list(scopes(audit))
    context_items = _context_items(context or Context())
    groupings = [
        [_scope_section(audit, scope) for scope in scopes_of_grouping]
        for scopes_of_grouping in scopes_by_grouping(all_scopes)
    ]
    deployed = {
        tuple(scope.values()): findings.deployed_thresholds_text(audit, scope)
        for scope in systems(audit)
    }
    return {
        "points": operating_points(audit, deployed),
        "chosen": list(_choice_sentences(audit, context or Context())),
        "systems": [_system_section(audit, scope) for scope in systems(audit)],
        "said": join_single_sections(groupings),
        "context": [
            (label, text) for label, text in (*context_items.items(), *_label_names(audit)) if text
        ],
        "lacking": [uncapitalised(label) for label, text in context_items.items() if not text],
        "context_sha256": context.sha256 if context else "",
        "failures": list(_failure_tables(audit, all_scopes)),
        "gates": findings.minimums_text(audit),
    }


def _label_names(audit: Audit) -> Iterator[tuple[str, str]]:
    """Return the names in the audit's files that labels replace."""
    labels = audit.record.get("labels", {})
    yield (
        "Names in the audit's files",
        "; ".join(f"{label}: {name}" for name, label in labels.items()),
    )


def _scope_section(audit: Audit, scope: Scope) -> dict[str, Any]:
    """Return the findings of one grouping of one system."""
    rates, point_rows = rates_by_group(audit, scope.filters), located_points(audit, scope.filters)
    point_sections = [
        _point_section(audit, scope, point_row, rates)
        for point_row in point_rows
        if len(audit.verdicts.subset(**scope.filters, operating_point=point_row["operating_point"]))
    ]
    missing_sentence = ""
    if not point_sections:
        no_interval_reason = findings.missing_interval_reason(
            audit, {"system": scope.system, "list": scope.list}
        )
        reference = audit.record["options"]["reference"][0]
        if no_interval_reason:
            missing_sentence = full_sentence("no_verdicts", reason=no_interval_reason)
        elif not point_rows:
            missing_sentence = full_sentence("no_verdicts_without_threshold")
        else:
            missing_sentence = full_sentence("no_verdicts_without_group", reference=reference)
    eer_lines = list(findings.group_eer_lines(audit, scope.filters))
    unusual_groups: dict[str, list[str]] = {}
    for line in eer_lines:
        if line.direction:
            relation = "higher" if line.direction == "harder" else "lower"
            unusual_groups.setdefault(relation, []).append(line.label)
    lists = [f"{relation} for {', '.join(names)}" for relation, names in unusual_groups.items()]
    first_line = eer_lines[0].text if eer_lines else ""
    own_thresholds_text = "; ".join(filter(None, (*lists, first_line)))
    head = heading_with_status(audit, "EER at group-specific thresholds", scope.filters)
    return {
        "label": scope.label,
        "points": point_sections,
        "own": own_thresholds_text and f"{head}: {own_thresholds_text}",
        "missing": missing_sentence,
    }


def _point_section(audit: Audit, scope: Scope, point_row: Row, rates: Rates) -> dict[str, Any]:
    """Return the findings of one grouping at one operating point."""
    point = point_row["operating_point"]
    filters = {**scope.filters, "operating_point": point}
    system_rows = {row["metric"]: row for row in audit.verdicts.subset(**filters, group="").rows()}
    verdicts = verdicts_by_metric(audit, filters)
    differing = differing_groups(verdicts)
    groups = [
        (group, findings.group_figures_text(verdicts, group, rates, point))
        for group in differing[:_MAX_GROUPS]
    ]
    if len(differing) > _MAX_GROUPS:
        n_more = len(differing) - _MAX_GROUPS
        verb = "differs" if n_more == 1 else "differ"
        groups.append((f"{n_more} more", sentence_text("see_table_of_groups", groups=verb)))
    summary, sentences = [], []
    for metric, words in error_types(audit).items():
        if has_rate(metric, point, rates):
            sentence = f"{capitalised(finding_text(system_rows[metric]))}."
            summary.append(
                f"{capitalised(words)}: {findings.differing_groups_text(verdicts[metric])}"
            )
        else:
            sentence = f"No {metric.upper()}: {missing_rate_reason(metric, point, rates)}."
        sentences.append((f"{capitalised(words)} ({metric.upper()})", sentence))
    return {
        "at": point,
        "head": heading_with_status(audit, f"At {point}", scope.filters, point),
        "where": point_text(point_row, says_reached="sfar" in error_types(audit)),
        "short": ". ".join(summary),
        "sentences": sentences,
        "groups": groups,
        "unknown": list(_inconclusive_groups(verdicts)),
        "reasons": "; ".join(_inconclusive_reasons(verdicts)),
        "lacking": findings.groups_by_shortfall_text(shortfalls(verdicts, rates, point)),
    }


def _inconclusive_groups(verdicts: Verdicts) -> Iterator[str]:
    """Return the inconclusive groups of each error type, by the reason."""
    for metric, words in error_types_of(verdicts).items():
        by_reason: dict[str, list[str]] = {}
        for group, row in verdicts.get(metric, {}).items():
            if row["verdict"] == "inconclusive":
                reason = inconclusive_text(row)
                by_reason.setdefault(reason, []).append(group)
        for reason, groups in by_reason.items():
            names = ", ".join(shortened_names(groups, most=12))
            yield f"{words} ({metric.upper()}) inconclusive ({reason}): {names}"


def _inconclusive_reasons(verdicts: Verdicts) -> list[str]:
    """Return all reasons for inconclusive verdicts, each once."""
    rows = [row for metric in error_types_of(verdicts) for row in verdicts.get(metric, {}).values()]
    return list(
        dict.fromkeys(inconclusive_text(row) for row in rows if row["verdict"] == "inconclusive")
    )


def _failure_tables(audit: Audit, all_scopes: Sequence[Scope]) -> Iterator[Sheet]:
    """Return tables of failed recordings, for each system and grouping that has any."""
    for scope in all_scopes:
        point = first_point_name(audit, scope.filters)
        if point is not None:
            for sheet in failures(
                audit, scope.filters, rates_by_group(audit, scope.filters), point
            ):
                label = scope.label if sheet.title else f"Time of a trial, {scope.label}"
                yield sheet.for_report(label)


def _choice_sentences(audit: Audit, context: Context) -> Iterator[str]:
    """Return who chose the operating points, the groups and the margin, as far as is known."""
    options = audit.record["options"]
    operating_points = options["operating_points"]
    origin = (
        sentence_text("choice_given", choice=", ".join(operating_points))
        if operating_points
        else "the defaults of Parivox"
    )
    yield f"Operating points: {origin}. {_chooser_text(context.threshold, 'operating points')}."
    if primary := findings.primary_question_text(audit):
        origin = (
            "named for the audit"
            if options["primary"]
            else sentence_text("primary_analysis_by_default")
        )
        yield f"Primary analysis: {primary} ({origin})."
    if points_text := findings.thresholds_set_here_text(audit):
        yield sentence_text("thresholds_set_here", points=points_text) + (
            "; " + full_sentence("other_thresholds_other_rates")
            if findings.unusual_points(audit)
            else ", " + full_sentence("rate_met_exactly")
        )
    chosen_by = audit.record["groupings_chosen_by"]
    names = ", ".join(audit.record["groupings"])
    origin = "specified for the audit" if chosen_by == "user" else f"by default, {chosen_by}"
    yield f"Groups: {names} ({origin}). {_chooser_text(context.groups, 'groups')}."
    margin, reference = f"{options['margin']:g}", findings.reference_text(audit)
    yield full_sentence(
        "equivalence_margin",
        margin=margin,
        reference=reference,
        chooser=_chooser_text(context.margin, "margin"),
    )


def _chooser_text(choice: Choice, subject: str) -> str:
    """Return who made a choice, by the context file."""
    choice_text = _choice_text(choice)
    if not choice_text:
        return sentence_text("choice_of_unknown", choice=subject, chooser=NOT_SUPPLIED)
    return sentence_text("chosen_according_to_context", chooser=choice_text)


def context_caveats(context: Context | None) -> list[Caveat]:
    """Return a caveat on the items that no context file supplies."""
    missing_labels = [
        label for label, words in _context_items(context or Context()).items() if not words
    ]
    if not missing_labels:
        return []
    entries = list(map(uncapitalised, missing_labels))
    return [Caveat("context_not_supplied", {"entries": entries})]


def _choice_text(choice: Choice) -> str:
    """Return who chose, when and why; empty if nothing is known."""
    if choice == Choice():
        return ""
    date_text = f", {choice.when}" if choice.when else ""
    reason_text = f": {choice.why}" if choice.why else ""
    return f"{choice.chosen_by or NOT_SUPPLIED}{date_text}{reason_text}"


def _context_items(context: Context) -> dict[str, str]:
    """Return each item of a context with its text, empty if not supplied."""
    contents = {label: getattr(context, name) for name, label in HEADINGS.items()}
    return {
        label: _choice_text(content) if isinstance(content, Choice) else content
        for label, content in contents.items()
    }


def _system_section(audit: Audit, name: Row) -> tuple[str, str, list[str]]:
    """Return a system's name, how much of it was audited, and notes on excluded data."""
    rows_of_all = audit.groups.subset(**name, grouping="all", within="").rows()
    first_row = rows_of_all[0]
    speakers = first_row["speakers"]
    speakers_text = "" if speakers is None else f" of {count_of(speakers, 'speaker')}"
    recordings_text = findings.recordings_text(audit, name)
    description = sentence_text(
        "trials_of_system",
        target_trials=count_text(first_row["target_trials"]),
        nontarget_trials=count_text(first_row["nontarget_trials"]),
        speakers=speakers_text,
        recordings=recordings_text and f" in {recordings_text}",
        metrics=findings.pooled_metrics_text(rows_of_all),
    )
    return system_label(*name.values()), description, findings.data_notes(audit, name)
