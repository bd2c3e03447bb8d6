"""Sections of the HTML report on groups, crosstabs, pairs, measures, comparisons, trial lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parivox.auditing import parse_minimums
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.data.lists.guidelines import CHECKS
from parivox.report import findings
from parivox.report.audit_queries import (
    POOLED,
    error_types,
    first_point_name,
    grouping_attributes,
    has_rate,
    heading_with_status,
    interval_marks,
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
from parivox.report.catalogue import cell_text, full_sentence, sentence_text
from parivox.report.disagreements import disagreements
from parivox.report.html.layout import join_single_sections, point_text
from parivox.report.sheets import comparison
from parivox.report.sheets import groups as tables
from parivox.report.sheets.attacks import attack_sentences, attack_table
from parivox.report.sheets.measures import measures_in_report
from parivox.report.sheets.sheet import Sheet
from parivox.report.sheets.supplementary import (
    attempts,
    rejecting_stages,
    speaker_errors,
    standardised_rates,
    tandem_costs,
)
from parivox.report.words import capitalised, percent_figure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Scope
    from parivox.report.sheets.comparison import ComparedPair
    from parivox.report.words import Row


_MAX_PAIRS = 40
"""Pairs of groups in a table; the matrix of the audit has all of them."""


def groups_section(audit: Audit) -> dict[str, Any]:
    """Return tables of every system and grouping for ``groups.html.j2``."""
    options = audit.record["options"]
    rows = [
        row for metric in error_types(audit) for row in audit.groups.subset(metric=metric).rows()
    ]
    return {
        "scopes": [_scope_section(audit, scope) for scope in scopes(audit)],
        "others": findings.reference_text(audit),
        "gates": findings.minimums_text(audit),
        "inference": parse_minimums(options["gate"]).inference,
        "confidence": f"{100 * options['confidence']:g}",
        "marks": "".join(f" {mark}: {words}." for mark, words in interval_marks(rows).items()),
        "margin": f"{options['margin']:g}",
        "alike": f"{100 * EQUIVALENCE_CONFIDENCE:g}",
    }


def _scope_section(audit: Audit, scope: Scope) -> dict[str, Any]:
    """Return all groups of one grouping of one system."""
    filters, rates = scope.filters, rates_by_group(audit, scope.filters)
    point_rows = located_points(audit, filters)
    point = first_point_name(audit, filters) or ""
    further_tables = [
        *rejecting_stages(audit, filters, rates),
        *tandem_costs(audit, filters),
        *speaker_errors(audit, filters, point),
        *attempts(audit, filters, point),
        *standardised_rates(audit, filters, rates, point, audit.record["options"]["standardise"]),
    ]
    own_threshold_table = tables.own_thresholds(audit, filters)
    return {
        "label": scope.label,
        "n": len(rates.keys() - {POOLED}),
        "is_first": scope.grouping == audit.record["groupings"][0],
        "points": [_point_section(audit, scope, point_row, rates) for point_row in point_rows],
        "sentences": [
            *findings.confounding_sentences(audit, filters),
            *findings.interaction_sentences(audit, filters),
            *findings.limit_sentences(audit, filters),
            *findings.worst_tenth_sentences(audit, filters, point),
            *findings.trend_sentences(audit, filters, point),
        ],
        "own_head": heading_with_status(audit, "EER of each group at its own threshold", filters),
        "own_in_words": list(findings.group_eer_lines(audit, filters)),
        "own": own_threshold_table
        and replace(own_threshold_table, title=f"{own_threshold_table.title}: {scope.label}"),
        "more": [
            *(table.for_report(scope.label) for table in further_tables),
            *_strata_tables(audit, scope, point),
        ],
    }


def _point_section(audit: Audit, scope: Scope, point_row: Row, rates: Rates) -> dict[str, Any]:
    """Return all groups at one operating point."""
    point = point_row["operating_point"]
    verdicts = verdicts_by_metric(audit, {**scope.filters, "operating_point": point})
    sheets, missing_sentences = [], []
    for metric, words in error_types(audit).items():
        if has_rate(metric, point, rates):
            sheet = tables.group_rates(audit, scope.filters, metric, point)
            title = f"{metric.upper()} ({words}): {scope.label} at {point}"
            sheets.append(replace(sheet, title=title).without_empty_columns(keeps_reasons=True))
        else:
            missing_sentences.append(
                f"No {metric.upper()} ({words}): {missing_rate_reason(metric, point, rates)}."
            )
    return {
        "at": point,
        "where": point_text(point_row, says_reached="sfar" in error_types(audit)),
        "sheets": sheets,
        "missing": missing_sentences,
        "lacking": findings.groups_by_shortfall_text(shortfalls(verdicts, rates, point)),
    }


def _strata_tables(audit: Audit, scope: Scope, point: str) -> list[Sheet]:
    """Return which groups differ within each stratum of ``--within``."""
    rows = audit.operating_points.subset(operating_point=point).rows()
    strata = filter(None, dict.fromkeys(row["within"] for row in rows))
    rates = {
        stratum: rates_by_group(audit, {**scope.filters, "within": stratum}) for stratum in strata
    }
    known_rates = {
        stratum: stratum_rates for stratum, stratum_rates in rates.items() if stratum_rates
    }
    table = tables.strata_table(audit, scope.filters, known_rates, point)
    title = f"{scope.label} within each stratum, at {point} and the same thresholds"
    return [replace(table, title="").for_report(title)] if table else []


# ---- crosstabs of two attributes, and systems side by side


def crosstab_sections(audit: Audit) -> list[dict[str, Any]]:
    """Return FNR and FPR of every grouping of two attributes at the first operating point."""
    sections = []
    for scope in scopes(audit):
        point = first_point_name(audit, scope.filters)
        sheets = [] if point is None else comparison.crosstabs(audit, scope.filters, point)
        if sheets:
            sections.append(_crosstab_section(f"{scope.label} at {point}", sheets))
    return sections


def system_sections(audit: Audit) -> list[dict[str, Any]]:
    """Return tables of groups by system and list; empty for a single system and list."""
    all_systems = systems(audit)
    sections: list[dict[str, Any]] = []
    if len(all_systems) == 1:
        return sections
    first_scopes = [
        scopes_of_grouping[0] for scopes_of_grouping in scopes_by_grouping(list(scopes(audit)))
    ]
    groupings = audit.record["groupings"]
    for first_scope in sorted(first_scopes, key=lambda scope: groupings.index(scope.grouping)):
        system_points = [
            ({**first_scope.filters, **system}, point)
            for system in all_systems
            if (point := first_point_name(audit, system)) is not None
        ]
        point = ", ".join(dict.fromkeys(point for _, point in system_points))
        sheets = comparison.by_system(audit, first_scope.grouping_label, system_points)
        sections.append(_crosstab_section(f"{first_scope.grouping_label} at {point}", sheets))
    return sections


def _crosstab_section(label: str, sheets: Iterable[Sheet]) -> dict[str, Any]:
    """Return tables of both error types with capital heads, and notes on missing margins."""
    crossed_sheets = []
    for sheet in sheets:
        first_column, *other_columns = sheet.columns
        capitalised_column = first_column._replace(head=capitalised(first_column.head))
        crossed_sheets.append(replace(sheet, columns=[capitalised_column, *other_columns]))
    notes = dict.fromkeys(note for sheet in crossed_sheets for note in sheet.notes)
    return {"label": label, "sheets": crossed_sheets, "notes": [*notes]}


# ---- spoof accepts by attack


def attacks_section(audit: Audit) -> list[dict[str, Any]]:
    """Return spoof accepts by attack of each system and grouping; empty if no attack is known."""
    sections = []
    for scope in scopes(audit):
        point = first_point_name(audit, scope.filters)
        if scope.allocation != audit.record["options"]["allocate"][0] or point is None:
            continue
        sheet = attack_table(audit, scope.filters, point)
        if sheet is not None:
            sentences = list(attack_sentences(audit, scope.filters, point))
            sections.append({"label": scope.label, "sentences": sentences, "sheet": sheet})
    return sections


# ---- false accepts between groups


def pair_tables(audit: Audit) -> list[Sheet]:
    """Return pairs of groups with trials for each system, the highest false accept rate first."""
    sheets = []
    for system in systems(audit):
        point = first_point_name(audit, system)
        for grouping in audit.record["groupings"]:
            filters = {**system, "grouping": grouping, "operating_point": point, "within": ""}
            rows = [row for row in audit.matrix.subset(**filters).rows() if row["trials"]]
            if all(row["enrol_group"] == row["test_group"] for row in rows):
                continue
            rows.sort(key=lambda row: -(row["value"] or 0))
            n_omitted = len(rows) - _MAX_PAIRS
            omission = "; " + sentence_text("more_pairs", pairs=n_omitted) if n_omitted > 0 else ""
            sheet = Sheet.with_heads(
                sentence_text(
                    "false_accepts_between_groups",
                    system=system_label(*system.values()),
                    grouping=grouping,
                    point=point,
                    omission=omission,
                ),
                ("Enrolled", "Test", "FPR, %", "Errors", "Trials"),
                words=(1, 2),
                is_sortable=True,
            )
            for row in rows[:_MAX_PAIRS]:
                sheet.add(
                    row["enrol_group"],
                    row["test_group"],
                    percent_figure(row["value"]),
                    "–" if row["errors"] is None else f"{row['errors']:,}",
                    f"{row['trials']:,}",
                )
            sheets.append(sheet)
    return sheets


def offender_tables(audit: Audit) -> list[Sheet]:
    """Return a table of speakers with most errors for each system, grouping and error type."""
    sheet_by_key: dict[tuple[str, ...], Sheet] = {}
    for row in audit.offenders.rows():
        key_columns = ("system", "list", "grouping", "allocation", "metric", "operating_point")
        key = tuple(row[column] for column in key_columns)
        if key not in sheet_by_key:
            sheet_by_key[key] = Sheet.with_heads(
                f"Speakers with the most errors ({row['metric'].upper()}) of "
                f"{system_label(row['system'], row['list'])} by {row['grouping']} at "
                f"{row['operating_point']}",
                ("Group", "Speaker", "Errors", "Trials", "Share of the group's errors, %"),
                words=(1, 2),
                is_sortable=True,
            )
        sheet_by_key[key].add(
            row["group"],
            row["speaker"],
            f"{row['errors']:,}",
            f"{row['trials']:,}",
            "–" if row["share"] is None else f"{100 * row['share']:.0f}",
        )
    return list(sheet_by_key.values())


# ---- summary fairness measures


def measures_section(audit: Audit) -> dict[str, Any]:
    """Return tables of meta-measures, and their disagreements."""
    within, between = disagreements(audit)
    rows_of_sections = []
    for scopes_of_grouping in scopes_by_grouping(list(scopes(audit))):
        sections = []
        for scope in scopes_of_grouping:
            point = first_point_name(audit, scope.filters) or ""
            sheets = [
                replace(sheet, title=f"{sheet.title}: {scope.label} at {point}")
                for sheet in measures_in_report(audit, scope.filters, point)
            ]
            is_first = scope.grouping == audit.record["groupings"][0]
            scope_disagreements = within.get(scope, [])
            sections.append(
                {
                    "label": scope.label,
                    "is_first": is_first,
                    "sheets": sheets,
                    "disagree": scope_disagreements,
                }
            )
        rows_of_sections.append(sections)
    return {
        "scopes": join_single_sections(rows_of_sections),
        "between": between,
        "has_disagreements": any(
            section["disagree"] for sections in rows_of_sections for section in sections
        ),
        "gates": findings.minimums_text(audit),
    }


# ---- comparisons of systems or lists, if requested


def comparison_sections(audit: Audit) -> list[dict[str, Any]]:
    """Return every pair that was compared."""
    return [_comparison_section(pair) for pair in comparison.pairs(audit)]


def _comparison_section(pair: ComparedPair) -> dict[str, Any]:
    """Return the comparison of two systems, or of one on two lists."""
    sheets = [replace(pair.all_trials, title="").for_report(f"All trials, {pair.label}")]
    ranks = Sheet.with_heads(
        "Certainty of the order: replicates in which each system is better, %",
        ("Compared", "Better in", *pair.names),
        words=(1, 2),
    )
    for grouping in pair.groupings:
        title = f"Differences between groups: {grouping.label}"
        sheets.append(replace(grouping.spreads, title="").for_report(title))
        for sheet in grouping.groups:
            title = f"{sheet.title}: {grouping.label}"
            sheets.append(replace(sheet.for_report(""), title=title, is_sortable=True))
        for metric, rank_name, *shares in grouping.ranks:
            cells = [f"{100 * share:.0f}" for share in shares]
            ranks.add(f"{grouping.label}, {metric}", rank_name, *cells)
    return {
        "label": pair.label,
        "speakers": pair.shared,
        "sheets": [sheet for sheet in sheets if sheet.rows],
        "ranks": ranks if ranks.rows else None,
    }


# ---- checks of the trial list, and differences between the groups' trials


def trial_list_section(audit: Audit) -> dict[str, Any]:
    """Return findings of the trial check, each list once, for ``list.html.j2``."""
    lists = []
    for list_names, failed in findings.failed_checks(audit):
        label = f"The list of {', '.join(list_names)}"
        sheet = Sheet.with_heads(
            f"Trial list of {', '.join(list_names)}: failed checks",
            ("Check", "What is required", "Found"),
            [
                (
                    failed_check["id"],
                    cell_text(CHECKS[failed_check["id"]].title),
                    findings.check_sentence(failed_check),
                )
                for failed_check in failed
            ],
            words=(1, 2, 3),
            wide=(2, 3),
        )
        between_groups = [
            f"{findings.check_sentence(failed_check)} ({failed_check['id']})"
            for failed_check in failed
            if failed_check["id"] in findings.CHECKS_BETWEEN_GROUPS
        ]
        lists.append({"label": label, "apart": between_groups, "sheet": sheet if failed else None})
    not_checked = full_sentence("list_not_checked")
    return {
        "lists": lists,
        "pairing": _pairing_text(audit),
        "grades": _grades_text(audit),
        "missing": "" if lists else not_checked,
    }


def _pairing_text(audit: Audit) -> str:
    """Return a sentence on who is compared with whom, from the matrix of the groupings."""
    if not len(audit.matrix):
        return full_sentence("pairs_within_groups_unknown")
    shares, is_within_groups_only = [], True
    for trials in findings.nontarget_trials(audit, {}):
        if trials.n_trials:
            n_within_groups = trials.n_trials_within_groups
            is_within_groups_only &= n_within_groups == trials.n_trials
            shares.append(
                sentence_text(
                    "share_within_groups",
                    grouping=trials.grouping,
                    percent=100 * n_within_groups / trials.n_trials,
                )
            )
    if not shares:
        return ""
    if is_within_groups_only:
        consequence = full_sentence("nothing_about_other_groups")
    else:
        consequence = full_sentence("other_groups_easier_to_reject")
    return sentence_text("trials_within_groups", shares="; ".join(shares), consequence=consequence)


def _grades_text(audit: Audit) -> str:
    """Return a sentence on whether difficulty grades were audited."""
    groupings = [*audit.record["groupings"], *(audit.record["options"]["within"] or ())]
    if any("grade" in grouping_attributes(grouping) for grouping in groupings):
        return full_sentence("graded_by_difficulty")
    return full_sentence("not_graded_by_difficulty")
