"""Groups, attributes crossed, pairs, measures, comparisons, the list of trials."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parivox.auditing import parse_minimums
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.report import findings
from parivox.report.audit_queries import (
    ERROR_TYPES,
    POOLED,
    first_point_name,
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
from parivox.report.disagreements import disagreements
from parivox.report.html.layout import abreast, point_in_words
from parivox.report.sheets import comparison
from parivox.report.sheets import groups as tables
from parivox.report.sheets.measures import measures_on_page
from parivox.report.sheets.people import attempts, speaker_errors, standardised_rates
from parivox.report.sheets.sheet import Sheet
from parivox.report.words import capitalised, percent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Scope
    from parivox.report.sheets.comparison import ComparedPair
    from parivox.report.words import Row


_MOST_PAIRS = 40
"""Pairs of groups in a table: the matrix of the audit has all of them."""


def groups(audit: Audit) -> dict[str, Any]:
    """Tables of every system and grouping, as ``groups.html.j2`` takes them."""
    options = audit.record["options"]
    rows = [row for metric in ERROR_TYPES for row in audit.groups.where(metric=metric).rows()]
    return {
        "scopes": [_scope(audit, one) for one in scopes(audit)],
        "others": findings.reference_text(audit),
        "gates": findings.minimums_text(audit),
        "inference": parse_minimums(options["gate"]).inference,
        "confidence": f"{100 * options['confidence']:g}",
        "marks": "".join(f" {mark} {words}." for mark, words in interval_marks(rows).items()),
        "margin": f"{options['margin']:g}",
        "alike": f"{100 * EQUIVALENCE_CONFIDENCE:g}",
    }


def _scope(audit: Audit, scope: Scope) -> dict[str, Any]:
    """All groups of one grouping of one system."""
    where, rates = scope.filters, rates_by_group(audit, scope.filters)
    known = located_points(audit, where)
    at = first_point_name(audit, where) or ""
    more = [
        *speaker_errors(audit, where, at),
        *attempts(audit, where, at),
        *standardised_rates(audit, where, rates, at, audit.record["options"]["standardise"]),
    ]
    own = tables.own_thresholds(audit, where)
    return {
        "label": scope.label,
        "n": len(rates.keys() - {POOLED}),
        "is_first": scope.grouping == audit.record["groupings"][0],
        "points": [_at_point(audit, scope, point, rates) for point in known],
        "sentences": [
            *findings.confounding_sentences(audit, where),
            *findings.interaction_sentences(audit, where),
            *findings.limit_sentences(audit, where),
            *findings.worst_tenth_sentences(audit, where, at),
            *findings.trend_sentences(audit, where, at),
        ],
        "own_head": heading_with_status(audit, "At thresholds of their own", where),
        "own_in_words": list(findings.group_eer_lines(audit, where)),
        "own": own and replace(own, title=f"{own.title}, {scope.label}"),
        "more": [*(one.for_report(scope.label) for one in more), *_levels(audit, scope, at)],
    }


def _at_point(audit: Audit, scope: Scope, point: Row, rates: Rates) -> dict[str, Any]:
    """All groups at one operating point."""
    at = point["operating_point"]
    of = verdicts_by_metric(audit, {**scope.filters, "operating_point": at})
    sheets, missing = [], []
    for metric, words in ERROR_TYPES.items():
        if has_rate(metric, at, rates):
            sheet = tables.group_rates(audit, scope.filters, metric, at)
            title = f"{metric.upper()}, {words}, of {scope.label} at {at}"
            sheets.append(replace(sheet, title=title).without_empty_columns(keeps_reasons=True))
        else:
            missing.append(
                f"No {metric.upper()} ({words}): {missing_rate_reason(metric, at, rates)}."
            )
    return {
        "at": at,
        "where": point_in_words(point),
        "sheets": sheets,
        "missing": missing,
        "lacking": findings.groups_by_shortfall_text(shortfalls(of, rates, at)),
    }


def _levels(audit: Audit, scope: Scope, at: str) -> list[Sheet]:
    """Which groups differ within each level of ``--within``."""
    rows = audit.operating_points.where(operating_point=at).rows()
    names = filter(None, dict.fromkeys(row["within"] for row in rows))
    rates = {level: rates_by_group(audit, {**scope.filters, "within": level}) for level in names}
    known = {level: of for level, of in rates.items() if of}
    found = tables.strata_table(audit, scope.filters, known, at)
    title = f"{scope.label} within each level, at {at} and the same thresholds"
    return [replace(found, title="").for_report(title)] if found else []


# ---- two attributes, and systems beside each other


def crosstabs(audit: Audit) -> list[dict[str, Any]]:
    """FNR and FPR of every grouping of two attributes at the first operating point."""
    made = []
    for scope in scopes(audit):
        at = first_point_name(audit, scope.filters)
        sheets = [] if at is None else comparison.crosstabs(audit, scope.filters, at)
        if sheets:
            made.append(_crossed(f"{scope.label} at {at}", sheets))
    return made


def by_system(audit: Audit) -> list[dict[str, Any]]:
    """Groups down, systems and lists across, where there are several of either."""
    names = systems(audit)
    made: list[dict[str, Any]] = []
    if len(names) == 1:
        return made
    kinds = [same[0] for same in scopes_by_grouping(list(scopes(audit)))]
    for first in sorted(kinds, key=lambda one: audit.record["groupings"].index(one.grouping)):
        asked = [
            ({**first.filters, **name}, at)
            for name in names
            if (at := first_point_name(audit, name)) is not None
        ]
        at = ", ".join(dict.fromkeys(at for _, at in asked))
        sheets = comparison.by_system(audit, first.grouping_label, asked)
        made.append(_crossed(f"{first.grouping_label} at {at}", sheets))
    return made


def _crossed(label: str, sheets: Iterable[Sheet]) -> dict[str, Any]:
    """Tables of both errors, with a capital over the names of rows, and why margins are missing."""
    made = []
    for sheet in sheets:
        first, *rest = sheet.columns
        named = first._replace(head=capitalised(first.head))
        made.append(replace(sheet, columns=[named, *rest]))
    notes = dict.fromkeys(note for sheet in made for note in sheet.notes)
    return {"label": label, "sheets": made, "notes": [*notes]}


# ---- who is taken for whom


def pairs(audit: Audit) -> list[Sheet]:
    """The pairs of groups with trials, the highest false accept rate first, of each system."""
    made = []
    for name in systems(audit):
        at = first_point_name(audit, name)
        for grouping in audit.record["groupings"]:
            asked = {**name, "grouping": grouping, "operating_point": at, "within": ""}
            rows = [row for row in audit.matrix.where(**asked).rows() if row["trials"]]
            if all(row["enrol_group"] == row["test_group"] for row in rows):
                continue
            rows.sort(key=lambda row: -(row["value"] or 0))
            left = len(rows) - _MOST_PAIRS
            rest = f"; {left} more pairs with lower rates are left out" if left > 0 else ""
            sheet = Sheet.with_heads(
                f"False accepts between groups of {system_label(*name.values())} by "
                f"{grouping} at {at}, "
                f"without intervals, as pairs of speakers recur in several cells{rest}",
                ("Enrolled", "Test", "FPR, %", "Errors", "Trials"),
                words=(1, 2),
                is_sortable=True,
            )
            for row in rows[:_MOST_PAIRS]:
                sheet.add(
                    row["enrol_group"],
                    row["test_group"],
                    percent(row["value"]).removesuffix(" %"),
                    "–" if row["errors"] is None else f"{row['errors']:,}",
                    f"{row['trials']:,}",
                )
            made.append(sheet)
    return made


def offenders(audit: Audit) -> list[Sheet]:
    """A table of each system, grouping and error."""
    made: dict[tuple[str, ...], Sheet] = {}
    for row in audit.offenders.rows():
        keys = ("system", "list", "grouping", "allocation", "metric", "operating_point")
        label = tuple(row[key] for key in keys)
        if label not in made:
            made[label] = Sheet.with_heads(
                f"Speakers with most errors ({row['metric'].upper()}) of "
                f"{system_label(row['system'], row['list'])} by {row['grouping']} at "
                f"{row['operating_point']}",
                ("Group", "Speaker", "Errors", "Trials", "Share of the group's errors, %"),
                words=(1, 2),
                is_sortable=True,
            )
        made[label].add(
            row["group"],
            row["speaker"],
            f"{row['errors']:,}",
            f"{row['trials']:,}",
            "–" if row["share"] is None else f"{100 * row['share']:.0f}",
        )
    return list(made.values())


# ---- measures of fairness


def measures(audit: Audit) -> dict[str, Any]:
    """Tables of meta-measures, and where they contradict each other."""
    within, between = disagreements(audit)
    made = []
    for of in scopes_by_grouping(list(scopes(audit))):
        row = []
        for scope in of:
            at = first_point_name(audit, scope.filters) or ""
            sheets = [
                replace(sheet, title=f"{sheet.title}, {scope.label} at {at}")
                for sheet in measures_on_page(audit, scope.filters, at)
            ]
            is_first = scope.grouping == audit.record["groupings"][0]
            disagree = within.get(scope, [])
            row.append(
                {
                    "label": scope.label,
                    "is_first": is_first,
                    "sheets": sheets,
                    "disagree": disagree,
                }
            )
        made.append(row)
    return {
        "scopes": abreast(made),
        "between": between,
        "has_disagreements": any(one["disagree"] for row in made for one in row),
        "gates": findings.minimums_text(audit),
    }


# ---- systems or lists against each other, where there are several and it was asked for


_RANKS = {"more accurate": "fewer errors"}


def compared(audit: Audit) -> list[dict[str, Any]]:
    """Every pair that was compared."""
    return [_pair(one) for one in comparison.pairs(audit)]


def _pair(pair: ComparedPair) -> dict[str, Any]:
    """Two systems, or one on two lists."""
    sheets = [replace(pair.all_trials, title="").for_report(f"All trials, {pair.label}")]
    ranks = Sheet.with_heads(
        "How sure the order is: share of the draws of speakers in which either is better, %",
        ("Of", "Better in", *pair.names),
        words=(1, 2),
    )
    for split in pair.groupings:
        title = f"How much groups differ, {split.label}"
        sheets.append(replace(split.spreads, title="").for_report(title))
        for sheet in split.groups:
            title = f"{sheet.title}, {split.label}"
            sheets.append(replace(sheet.for_report(""), title=title, is_sortable=True))
        for metric, what, *shares in split.ranks:
            cells = [f"{100 * share:.0f}" for share in shares]
            ranks.add(f"{split.label}, {metric}", _RANKS.get(what, what), *cells)
    return {
        "label": pair.label,
        "speakers": pair.speakers,
        "sheets": [sheet for sheet in sheets if sheet.rows],
        "ranks": ranks if ranks.rows else None,
    }


# ---- what the list of trials can show, and where groups are not compared alike


def checked(audit: Audit) -> dict[str, Any]:
    """Findings of the trial check, each list once, as ``list.html.j2`` takes them."""
    lists = []
    for names, failed in findings.failed_checks(audit):
        label = f"The list of {', '.join(names)}"
        sheet = Sheet.with_heads(
            f"What the list of {', '.join(names)} fails",
            ("Check", "What it asks for", "Found"),
            [(one["id"], one["what"], one["sentence"]) for one in failed],
            words=(1, 2, 3),
            wide=(2, 3),
        )
        apart = [
            f"{one['sentence']} ({one['id']})"
            for one in failed
            if one["id"] in findings.CHECKS_BETWEEN_GROUPS
        ]
        lists.append({"label": label, "apart": apart, "sheet": sheet if failed else None})
    missing = (
        "The list was not checked: it is too large for memory, or of "
        "counts. parivox trials check checks it by itself."
    )
    return {
        "lists": lists,
        "pairing": _pairing(audit),
        "grades": _grades(audit),
        "missing": "" if lists else missing,
    }


def _pairing(audit: Audit) -> str:
    """Who is compared with whom, from the matrix of the groupings."""
    shares, is_alike = [], True
    for grouping in audit.record["groupings"]:
        rows = audit.matrix.where(grouping=grouping, within="").rows()
        if not rows:
            continue
        keys = ("system", "list", "operating_point")
        own = [row for row in rows if all(row[key] == rows[0][key] for key in keys)]
        total = sum(row["trials"] or 0 for row in own)
        alike = sum(row["trials"] or 0 for row in own if row["enrol_group"] == row["test_group"])
        if total:
            is_alike &= alike == total
            shares.append(
                f"by {grouping}, {100 * alike / total:.3g} % of the nontarget trials compare "
                "speakers of one group"
            )
    if not shares:
        return "Who is compared with whom: not known of this audit."
    rest = (
        "Nothing is known of impostors of another group, whom a system mostly tells apart more "
        "easily."
        if is_alike
        else "Impostors of another group are mostly told apart more easily, so the fewer of them "
        "a list holds, the higher is its FPR: compare rates only of lists that are paired alike."
    )
    return f"Who is compared with whom: {'; '.join(shares)}. {rest}"


def _grades(audit: Audit) -> str:
    names = {*audit.record["groupings"], *(audit.record["options"]["within"] or ())}
    if "grade" in names:
        return "Trials were graded by how hard they are: see the groups by grade."
    return (
        "Trials were not graded by how hard they are (--by grade, or parivox trials grade): where "
        "groups have trials of unlike difficulty, their rates are not comparable."
    )
