"""Tables of identification: searches and persons, parts of FNIR, who is named, ranks, persons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.facts import Fact
from parivox.report.audit_queries import located_points, scopes, system_label, systems
from parivox.report.catalogue import fact_text, sentence_text
from parivox.report.identification import (
    conditions,
    gallery_text,
    measure_rows,
    rank_text,
)
from parivox.report.sheets.groups import errors_over_trials, group_rates
from parivox.report.sheets.sheet import UNDEFINED, Cell, Sheet
from parivox.report.words import capitalised, count_text, percent_figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing import Audit
    from parivox.report.words import Row

_SHOWN_RANKS = (1, 2, 3, 5, 10, 20)
"""Ranks of the cumulative match characteristic in a table."""


def search_sheets(audit: Audit) -> list[Sheet]:
    """Return every table of an audit of searches besides its two rates."""
    return [
        search_sheet(audit),
        *miss_sheets(audit),
        *person_sheets(audit),
        *named_sheets(audit),
        *candidate_sheets(audit),
        *failure_sheets(audit),
        *size_sheets(audit),
        *rank_sheets(audit),
    ]


def rate_sheets(audit: Audit) -> list[Sheet]:
    """Return both error rates of every group at every operating point."""
    sheets = []
    for scope in scopes(audit):
        for point in (row["operating_point"] for row in located_points(audit, scope.filters)):
            for metric in audit.record["error_types"]:
                sheet = group_rates(audit, scope.filters, metric, point)
                if metric == "fpir":
                    _add_unknown_speakers(audit, sheet, {**scope.filters, "operating_point": point})
                label = f"{metric.upper()}{rank_text(audit) if metric == 'fnir' else ''} at {point}"
                sheets.append(sheet.for_report(f"{label}, {scope.label}, {gallery_text(audit)}"))
    return sheets


def _add_unknown_speakers(audit: Audit, sheet: Sheet, filters: Row) -> None:
    """Add the rate of speakers without an id, who are in no group, above that of all groups."""
    names = ("system", "list", "operating_point")
    filters = {name: filters[name] for name in names}
    for row in measure_rows(audit, "fpir_of_unknown", **filters):
        cells = {
            "group": "unknown speakers (in no group)",
            "rate": percent_figure(row["value"]),
            "counts": errors_over_trials(row),
        }
        texts = [cells.get(column.key, UNDEFINED) for column in sheet.columns]
        sheet.rows.insert(len(sheet.rows) - sheet.sums, [Cell(text) for text in texts])


def miss_sheets(audit: Audit) -> list[Sheet]:
    """Return why mated searches are missed at rank 1: nobody returned, or another person.

    Empty at higher ranks, where another person first is no miss.
    """
    if conditions(audit)["rank"] > 1:
        return []
    sheets = [
        _measure_sheet(
            audit,
            f"Mated searches missed at rank 1, in parts ({label})",
            {"top_s_miss": "Nobody returned, %", "wrong_person": "Another person first, %"},
            filters,
        )
        for label, filters in _places(audit)
    ]
    return [sheet for sheet in sheets if sheet.rows]


def candidate_sheets(audit: Audit) -> list[Sheet]:
    """Return how many candidates non-mated searches return."""
    sheets = [
        _measure_sheet(
            audit,
            f"Candidates of non-mated searches ({label})",
            {
                "selectivity": "Candidates per 100 searches",
                "false_candidate_rate": "Per 100 searches and enrolled persons",
            },
            filters,
        )
        for label, filters in _places(audit)
    ]
    return [sheet for sheet in sheets if sheet.rows]


def failure_sheets(audit: Audit) -> list[Sheet]:
    """Return how many searches failed and are left out, by group."""
    sheets = [
        _measure_sheet(
            audit, f"Probes that could not be acquired ({label})", {"fta": "FTA, %"}, filters
        )
        for label, filters in _places(audit, first_point=True)
    ]
    return [sheet for sheet in sheets if sheet.rows]


def rank_sheets(audit: Audit) -> list[Sheet]:
    """Return the cumulative match characteristic, and EERs at thresholds of their own."""
    sheets = []
    for label, filters in _places(audit, first_point=True):
        rows = measure_rows(audit, "cmc", **filters)
        ranks = [rank for rank in _SHOWN_RANKS if any(row["rank"] == rank for row in rows)]
        if ranks:
            heads = ("Group", *(f"Rank {rank}, %" for rank in ranks))
            sheet = Sheet.with_heads(
                f"CMC: mated searches with the person within each rank, closed set ({label})", heads
            )
            for group in dict.fromkeys((row["grouping"], row["group"]) for row in rows):
                shares = {
                    row["rank"]: row["value"]
                    for row in rows
                    if (row["grouping"], row["group"]) == group
                }
                sheet.add(_group_name(*group), *(percent_figure(shares.get(r)) for r in ranks))
            sheets.append(sheet)
        sheets.append(
            _measure_sheet(
                audit,
                f"EER at a threshold of each group's own ({label})",
                {"top_1_eer": "Top-1 EER, %", "top_s_eer": "Top-S EER, %"},
                filters,
            )
        )
    return [sheet for sheet in sheets if sheet.rows]


def _measure_sheet(audit: Audit, title: str, heads: dict[str, str], filters: Row) -> Sheet:
    """Return measures of all searches and of each group."""
    rows: dict[str, dict[tuple[str, str], Row]] = {
        measure: {
            (row["grouping"], row["group"]): row for row in measure_rows(audit, measure, **filters)
        }
        for measure in heads
    }
    all_rows = [row for rows_of_group in rows.values() for row in rows_of_group.values()]
    has_counts = any(row["errors"] is not None for row in all_rows)
    columns = ["Group"]
    for head in heads.values():
        columns += [head, "Counts"] if has_counts else [head]
    sheet = Sheet.with_heads(title, columns)
    if all(row["value"] is None for row in all_rows):
        return sheet
    for group in next(iter(rows.values())):
        cells: list[str | Cell] = [_group_name(*group)]
        for measure in heads:
            row = rows[measure][group]
            reason = fact_text(Fact(row["reason"], {})) if row["reason"] else ""
            counts = ""
            if row["errors"] is not None:
                counts = f"{count_text(row['errors'])}/{count_text(row['trials'])}"
            cells.append(Cell(percent_figure(row["value"]), reason=reason))
            if has_counts:
                cells.append(counts)
        sheet.add(*cells)
    return sheet


def _group_name(grouping: str, group: str) -> str:
    return "all searches" if grouping == "all" else group


def named_sheets(audit: Audit) -> list[Sheet]:
    """Return who is named by non-mated searches: by group of the person, and by both groups."""
    sheets = []
    for label, filters in _places(audit):
        for grouping in audit.record["groupings"]:
            rows = measure_rows(audit, "gallery_share", **filters, grouping=grouping)
            if not rows:
                continue
            sheet = Sheet.with_heads(
                f"Persons named by non-mated searches, by group of the person ({label})",
                (
                    "Group",
                    "Enrolled",
                    "Share of list, %",
                    "Share of non-mated searches, %",
                    "Named",
                    "Per 100 searches and persons",
                ),
            )
            for row in rows:
                names = {**filters, "grouping": grouping, "group": row["group"]}
                probes = measure_rows(audit, "nonmated_share", **names)
                named = measure_rows(audit, "named_rate", **names)
                sheet.add(
                    row["group"],
                    count_text(row["errors"]),
                    percent_figure(row["value"]),
                    percent_figure(probes[0]["value"] if probes else None),
                    count_text(named[0]["errors"]) if named else UNDEFINED,
                    percent_figure(named[0]["value"] if named else None),
                )
            sheets.append(sheet)
            sheets += _named_by_groups(audit, label, {**filters, "grouping": grouping})
        most = measure_rows(audit, "named_most", **filters)
        if most:
            sheet = Sheet.with_heads(
                f"Persons named most often by non-mated searches ({label})",
                ("Person", "Named", "Of all named"),
            )
            for row in most:
                sheet.add(
                    row["person"] or f"No. {row['rank']}",
                    count_text(row["errors"]),
                    count_text(row["trials"]),
                )
            sheets.append(sheet)
    return sheets


def _named_by_groups(audit: Audit, label: str, filters: Row) -> Iterator[Sheet]:
    rows = measure_rows(audit, "named_rate_by_groups", **filters)
    if not rows:
        return
    groups = list(dict.fromkeys(row["other_group"] for row in rows))
    sheet = Sheet.with_heads(
        f"Persons named per 100 non-mated searches and enrolled persons; rows: group of the "
        f"probe, columns: group of the person ({label})",
        ("Probe", *groups),
    )
    for probe_group in dict.fromkeys(row["group"] for row in rows):
        row_of = {row["other_group"]: row for row in rows if row["group"] == probe_group}
        cells = [Cell(probe_group)]
        for group in groups:
            errors, trials = row_of[group]["errors"], row_of[group]["trials"]
            counts = f"{count_text(errors)}/{count_text(trials)}"
            cells.append(Cell(percent_figure(row_of[group]["value"]), below=counts))
        sheet.add(*cells)
    yield sheet


def size_sheets(audit: Audit) -> list[Sheet]:
    """Return the expected rates with smaller galleries, out of the persons enrolled."""
    sheets = []
    for label, filters in _places(audit):
        rows = measure_rows(audit, "expected_fpir", **filters)
        if not rows:
            continue
        sheet = Sheet.with_heads(
            f"Expected rates with fewer of these persons enrolled, at the same threshold ({label})",
            ("Group", "Persons", "FPIR, %", "FNIR, %"),
        )
        for row in rows:
            names = {name: row[name] for name in ("grouping", "group", "persons")}
            fnir = measure_rows(audit, "expected_fnir", **filters, **names)
            sheet.add(
                _group_name(row["grouping"], row["group"]),
                count_text(row["persons"]),
                percent_figure(row["value"]),
                percent_figure(fnir[0]["value"] if fnir else None),
            )
        sheets.append(sheet)
    return sheets


def person_sheets(audit: Audit) -> list[Sheet]:
    """Return the rates of each enrolled person, where too few are enrolled for groups."""
    sheets = []
    for label, filters in _places(audit):
        rows = measure_rows(audit, "fnir_of_person", **filters)
        if not rows:
            continue
        has_parts = conditions(audit)["rank"] == 1
        parts = "; " + sentence_text("another_profile_or_nobody") if has_parts else ""
        part_heads = ("As another person", "Not recognised") if has_parts else ()
        sheet = Sheet.with_heads(
            f"Missed identifications{rank_text(audit)} by person{parts} ({label})",
            ("Person", "Missed", *part_heads, "Searches"),
        )
        for row in rows:
            n_of_parts: tuple[int, ...] = ()
            if has_parts:
                wrong = measure_rows(audit, "wrong_of_person", **filters, rank=row["rank"])
                n_wrong = wrong[0]["errors"] if wrong else 0
                n_of_parts = (n_wrong, row["errors"] - n_wrong)
            sheet.add(
                row["person"] or f"No. {row['rank']}",
                count_text(row["errors"]),
                *map(count_text, n_of_parts),
                count_text(row["trials"]),
            )
        sheets.append(sheet)
    return sheets


def search_sheet(audit: Audit) -> Sheet:
    """Return how many searches, speakers and persons there are, and what was noticed."""
    sheet = Sheet.with_heads(
        f"Searches against {gallery_text(audit)}", ("What", "System", "Number"), words=(1, 2)
    )
    for row in audit.data.rows():
        if row["count"]:
            words = capitalised(fact_text(Fact(row["item"], {})))
            place = f" ({row['grouping']})" if row["grouping"] else ""
            sheet.add(
                f"{words}{place}",
                system_label(row["system"], row["list"]),
                count_text(row["count"]),
            )
    return sheet


def _places(audit: Audit, *, first_point: bool = False) -> Iterator[tuple[str, Row]]:
    """Yield each system and operating point in words, with what selects its rows."""
    has_several = len(systems(audit)) > 1
    for system in systems(audit):
        points = [row["operating_point"] for row in located_points(audit, system)]
        for point in points[:1] if first_point else points:
            label = system_label(system["system"], system["list"])
            words = f"{label}, {point}" if has_several else point
            if first_point:  # what does not depend on the threshold
                words = label
            yield words, {**system, "operating_point": point}
