"""Tables of meta-measures with their noise floors, for the HTML report, papers and terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parivox.core.measures import BOTH, MEASURES, MetaMeasure, meta_measures
from parivox.report.audit_queries import (
    ERROR_TYPES,
    NOT_UNDER_REPRESENTED,
    covers_same_groups,
    groups_left_out,
    has_several_systems,
    measured_groups_text,
    omission_reasons,
    system_label,
    without_groups_text,
)
from parivox.report.catalogue import full_sentence, measure_reason_text, note_text, sentence_text
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.words import GAP, count_text, p_value_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.words import Row

_METRIC_LABELS = {"fnr": "FNR", "fpr": "FPR", BOTH: "both"}
_UNMARKED, _JUDGED_IN_ALL, _OF_ALL = "without *", "judged in all", "of all"
"""Blocks of columns in the terminal: groups that meet the minimums here, in all systems, or all."""
_NO_FLOORS = full_sentence("chance_unknown_without_intervals")
_FLOORS = full_sentence("equal_rates_and_floor")


def row_measure(row: Row) -> MetaMeasure:
    """Return the meta-measure of a row; one that is no longer registered keeps its id."""
    measure = MEASURES.get(row["measure"])
    if isinstance(measure, MetaMeasure):
        return measure
    return MetaMeasure(id=row["measure"], label=row["measure"], definition="a user-defined measure")


def _undefined_reason(row: Row) -> str:
    """Return why a meta-measure has no value; empty if it has one."""
    return "" if row["value"] is not None else measure_reason_text(row)


def _missing_p_reason(row: Row) -> str:
    """Return why a meta-measure with a value has no p; empty if it has one."""
    if row["value"] is None or row["p"] is not None:
        return ""
    if row["floor_95"] is None:
        return sentence_text("no_valid_noise_floor")
    return sentence_text("logarithm_of_no_errors")


def _sort_key(row: Row) -> tuple[bool, int, int]:
    """Return the sort key: the spread to quote first, then the order of registration."""
    measure, measure_ids = row_measure(row), list(meta_measures())
    is_quoted = measure.shown == "first" and not measure.is_joint
    position = measure_ids.index(measure.id) if measure.id in measure_ids else len(measure_ids)
    return not is_quoted, position, [*_METRIC_LABELS].index(row["metric"])


def _rows_of_one_alpha(audit: Audit, filters: Row) -> list[Row]:
    """Return rows of measures in order; weighted measures only with the first alpha."""
    alpha = audit.record["options"]["alpha"][0]
    rows = audit.meta.subset(**{**filters, "zero": "none"}).rows()
    alpha_rows = [
        row for row in rows if row["metric"] in _METRIC_LABELS and row["alpha"] in {None, alpha}
    ]
    return sorted(alpha_rows, key=_sort_key)


def _with_alpha(name: str, row: Row) -> str:
    """Return a name with the weight alpha, if the measure has one."""
    return name if row["alpha"] is None else f"{name}, alpha {row['alpha']:g}"


def _fairer(row: Row) -> str:
    return "higher" if row["higher_is_fairer"] else "lower"


def _figure(number: float | None) -> str:
    """Return a measure, which has no unit, with three digits."""
    if number is None:
        return UNDEFINED
    return f"{number:,.0f}" if abs(number) >= 999.5 else f"{number:#.3g}".rstrip(".")


# ---- in the HTML report


def measures_in_report(audit: Audit, filters: Row, point: str) -> list[Sheet]:
    """Return measures to quote and further ones, of all groups and of those above the minimums."""
    rows = [
        row
        for row in audit.meta.subset(**filters, zero="none").rows()
        if row["metric"] in _METRIC_LABELS
    ]
    point_rows = [
        row
        for row in rows
        if row["operating_point"] == point or row_measure(row).extra_input == "grid"
    ]
    drawn_rows = [
        row for row in point_rows if not row["gated"] or _has_other_groups(row, point_rows)
    ]
    drawn_rows.sort(
        key=lambda drawn_row: (
            _sort_key(drawn_row),
            -1 if drawn_row["alpha"] is None else drawn_row["alpha"],
            drawn_row["gated"],
        )
    )
    omitted_groups = groups_left_out(
        row for row in drawn_rows if row_measure(row).extra_input != "grid"
    )
    omission_sentences = omission_reasons(
        audit, {**filters, "operating_point": point}, omitted_groups
    )
    sheets = []
    for title, importance in (
        ("Measures", ("first", "quoted")),
        ("Further measures", ("further",)),
    ):
        sheet = Sheet.with_heads(
            f"{title} of differences between groups",
            (
                "Measure",
                "Groups",
                "Value",
                "Varies within",
                "Equal rates: mean",
                "95 % within",
                "p",
                "Fairer",
                "Least",
                "Most",
            ),
            (_cells(row) for row in drawn_rows if row_measure(row).shown in importance),
            words=(1, 8, 9, 10),
        )
        if omission_sentences and sheet.rows:
            sheet = replace(
                sheet, notes=[*sheet.notes, f"Excluded: {', '.join(omission_sentences)}."]
            )
        if sheet.rows:
            sheets.append(sheet.without_empty_columns())
    return sheets


def _has_other_groups(row: Row, rows: Sequence[Row]) -> bool:
    """Return whether a gated row is of other groups than its counterpart of all groups."""
    key_names = ("metric", "measure", "alpha", "operating_point")
    return any(
        not other_row["gated"]
        and all(other_row[key] == row[key] for key in key_names)
        and other_row["groups"] != row["groups"]
        for other_row in rows
    )


def _cells(row: Row) -> Iterator[str | Cell]:
    """Return a measure with its interval and noise floor, or the reasons why it lacks them."""
    measure, number = row_measure(row), row["value"]
    label = measure.label
    if row["metric"] in ERROR_TYPES:
        label = f"{label} of {row['metric'].upper()}"
    if measure.extra_input == "grid":
        label = f"{label} over {row['operating_point']}"
    if row["definition"]:
        label = f"{label} ({row['definition']})"
    yield _with_alpha(label, row)
    yield f"{count_text(row['groups'])} ({_groups_label(row)})"
    yield Cell(_figure(number), reason=measure_reason_text(row))
    if row["high"] is not None:
        yield f"[{_figure(row['low'])}, {_figure(row['high'])}]"
    elif number is None:
        yield ""
    else:
        yield Cell(
            UNDEFINED, reason=note_text(row) or sentence_text("no_interval_valid_method_unknown")
        )
    if number is None:
        yield from ("", "", "")
    else:
        reason = sentence_text("no_valid_noise_floor")
        floor, is_fairer_above = row["floor_95"], row["higher_is_fairer"]
        is_beyond = floor is not None and (number < floor if is_fairer_above else number > floor)
        yield Cell(_figure(row["floor_mean"] if floor is not None else None), reason=reason)
        exceeded = " ▲ exceeded" if is_beyond else ""
        yield Cell(f"{_figure(floor)}{exceeded}", reason=reason)
        reason = _missing_p_reason(row)
        yield Cell(UNDEFINED, reason=f"no p: {reason}") if reason else p_value_cell(row["p"])
    yield _fairer(row)
    yield row["low_group"] or ""
    yield row["high_group"] or ""


def _groups_label(row: Row) -> str:
    """Return which groups a measure is of, to follow their number."""
    if not row["gated"]:
        return "all"
    omitted_groups = groups_left_out([row])
    return without_groups_text(omitted_groups) if omitted_groups else "without *"


# ---- on paper


def measures_on_paper(audit: Audit, filters: Row, point: str) -> Sheet:
    """Return every meta-measure of both rates at an operating point, of one set of groups."""
    point_filters = {**filters, "operating_point": point}
    all_rows = _rows_of_one_alpha(audit, point_filters)
    is_gated = any(row["gated"] and row["value"] is not None for row in all_rows)
    groups_text = NOT_UNDER_REPRESENTED if is_gated else "all groups"
    if is_gated and not covers_same_groups(audit, point_filters):
        # an audit of an earlier version, whose systems were measured on different groups
        is_gated = False
        groups_text = sentence_text("groups_small_elsewhere")
    rows = [row for row in all_rows if row["gated"] == is_gated]
    omitted_groups = groups_left_out(rows)
    rows_of_all = {}
    if omitted_groups:
        groups_text = measured_groups_text(audit, omitted_groups)
        rows_of_all = {_measure_key(row): row for row in all_rows if not row["gated"]}
    system = system_label(filters["system"], filters["list"])
    heads = ["groups", "value", "equal, mean", "equal, 95 %", "p"]
    if omitted_groups:
        heads += ["all groups", "value of all"]
    notes = []
    if omitted_groups:
        reasons = ", ".join(omission_reasons(audit, point_filters, omitted_groups))
        notes.append(f"Excluded: {reasons}.")
    notes += _missing_on_paper(rows)
    return Sheet(
        f"{system}: spread over {filters['grouping']} at {point}, {groups_text}",
        (
            Column("measure", is_words=True),
            Column("of", is_words=True),
            *(Column(head) for head in heads),
            Column("fairer", is_words=True),
        ),
        [
            [
                Cell(_with_alpha(row_measure(row).label, row)),
                Cell(_METRIC_LABELS[row["metric"]]),
                Cell(count_text(row["groups"])),
                *(Cell(_figure(row[name])) for name in ("value", "floor_mean", "floor_95")),
                Cell(p_value_cell(row["p"])),
                *(_cells_of_all(rows_of_all.get(_measure_key(row))) if omitted_groups else ()),
                Cell(_fairer(row)),
            ]
            for row in rows
            if row["value"] is not None
        ],
        _FLOORS if any(row["floor_mean"] is not None for row in rows) else _NO_FLOORS,
        notes,
    ).without_empty_columns()


def _missing_on_paper(rows: Sequence[Row]) -> list[str]:
    """Return sentences on measures without a value or without p, by the reason."""
    labels_by_reason: dict[str, list[str]] = {}

    def add_label(reason: str, row: Row) -> None:
        label = f"{row_measure(row).short} of {_METRIC_LABELS[row['metric']]}"
        labels_by_reason.setdefault(reason, []).append(label)

    for row in rows:
        if row["value"] is None:
            add_label(f"Undefined ({measure_reason_text(row) or note_text(row)})", row)
    # without any noise floor no measure has p, which the reading of the table says already
    if any(row["floor_95"] is not None for row in rows):
        for row in rows:
            reason = _missing_p_reason(row)
            if reason:
                add_label(f"No p ({reason})", row)
    return [f"{reason}: {', '.join(labels)}." for reason, labels in labels_by_reason.items()]


def _measure_key(row: Row) -> tuple[str, str, str, float | None]:
    """Return the key of a measure, the same for all groups and for groups above the minimums."""
    return row["metric"], row["definition"], row["measure"], row["alpha"]


def _cells_of_all(row: Row | None) -> Iterator[Cell]:
    """Return the number of all groups and the measure's value for them."""
    yield Cell(UNDEFINED if row is None else count_text(row["groups"]))
    yield Cell(UNDEFINED if row is None else _figure(row["value"]))


# ---- in the terminal


def spread_table(audit: Audit, filters: Row) -> tuple[Sheet | None, list[str]]:
    """Return the main measures, of groups above the minimums and of all; and notes.

    `filters` include an operating point. The sheet is None if no measure has a value. The notes
    list measures without a value or without p.
    """
    rows_by_measure: dict[str, dict[bool, Row]] = {}
    for row in _rows_of_one_alpha(audit, filters):
        if row_measure(row).shown == "first":
            name = row_measure(row).short
            label = name if row["metric"] == BOTH else f"{name} of {_METRIC_LABELS[row['metric']]}"
            rows_by_measure.setdefault(label, {})[row["gated"]] = row
    if not rows_by_measure:
        return None, []
    column_blocks = {_OF_ALL: False}
    title = ""
    omitted_groups = groups_left_out(by_gate[True] for by_gate in rows_by_measure.values())
    is_shared = bool(omitted_groups) and has_several_systems(audit)
    if any(
        by_gate[True]["groups"] != by_gate[False]["groups"] for by_gate in rows_by_measure.values()
    ):
        if any(by_gate[True]["value"] is not None for by_gate in rows_by_measure.values()):
            column_blocks = {_JUDGED_IN_ALL if is_shared else _UNMARKED: True, _OF_ALL: False}
        else:
            groups_text = "judged in all systems" if is_shared else "above the minimums"
            title = sentence_text("too_few_for_spread", condition=groups_text)
    heads = [GAP + head for name in column_blocks for head in ("n", name, "floor, 95 %", "p")]
    sheet = Sheet.with_heads(title, ("spread", *heads, f"{GAP}fairer"), title_end=":")
    n_block_columns = len(heads) // len(column_blocks)
    span_heads = [""]
    for name in column_blocks:
        span_heads += [name] * n_block_columns
    span_heads.append("")
    columns = [
        column._replace(span_head=name)
        for column, name in zip(sheet.columns, span_heads, strict=True)
    ]
    sheet = replace(sheet, columns=columns)
    for label, by_gate in rows_by_measure.items():
        rows = [by_gate[is_gated] for is_gated in column_blocks.values()]
        if any(row["value"] is not None for row in rows):
            cells = [cell for row in rows for cell in _floor_cells(row)]
            sheet.add(_with_alpha(label, by_gate[False]), *cells, _fairer(by_gate[False]))
    notes = [*_missing_sentences(rows_by_measure, column_blocks, _undefined_reason, "Undefined")]
    notes += _missing_sentences(rows_by_measure, column_blocks, _missing_p_reason, "No p")
    if is_shared:
        notes.append(
            full_sentence(
                "groups_not_judged_everywhere",
                groups=", ".join(omission_reasons(audit, filters, omitted_groups)),
            )
        )
    return (sheet if sheet.rows else None), notes


def _floor_cells(row: Row) -> tuple[str, str, str, str]:
    """Return the number of groups, a meta-measure, its noise floor and its p-value."""
    n_groups = count_text(row["groups"])
    if row["value"] is None:
        return n_groups, UNDEFINED, UNDEFINED, UNDEFINED
    floor = UNDEFINED
    if row["floor_mean"] is not None:
        floor = f"{_decimals(row['floor_mean'])}, {_decimals(row['floor_95'])}"
    return n_groups, _decimals(row["value"]), floor, p_value_cell(row["p"])


def _decimals(number: float) -> str:
    return f"{number:.3f}" if abs(number) < 1 else f"{number:.3g}"


def _missing_sentences(
    rows_by_measure: Mapping[str, Mapping[bool, Row]],
    blocks: Mapping[str, bool],
    find_reason: Callable[[Row], str],
    prefix: str,
) -> Iterator[str]:
    """Return sentences on which measures lack something, by the reason."""
    labels_by_reason: dict[str, dict[str, list[str]]] = {}
    for label, by_gate in rows_by_measure.items():
        for block, is_gated in blocks.items():
            reason = find_reason(by_gate[is_gated])
            if reason:
                labels_by_reason.setdefault(reason, {}).setdefault(block, []).append(label)
    for reason, by_block in labels_by_reason.items():
        is_same = len(by_block) == len(blocks) and len(set(map(tuple, by_block.values()))) == 1
        block_suffixes = {
            _UNMARKED: " without *",
            _JUDGED_IN_ALL: " judged in all",
            _OF_ALL: " of all groups",
        }
        labels = (
            ", ".join(block_labels) + ("" if is_same else block_suffixes[block])
            for block, block_labels in by_block.items()
        )
        yield f"{prefix} ({reason}): {'; '.join(dict.fromkeys(labels))}."
