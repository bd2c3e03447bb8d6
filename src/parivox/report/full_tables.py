"""Every table of an audit in the terminal: what ``parivox audit -v`` and ``show -v`` print.

Of each system its data and operating points, then each grouping; at the end the comparisons of
systems and a legend for all tables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding

from parivox.auditing import SAME_TRIALS
from parivox.core.measures import BOTH
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.facts import Fact, facts_of_row
from parivox.report.audit_queries import (
    POOLED,
    SPOOF_EERS,
    all_error_types,
    differing_groups,
    error_types,
    grouping_with_allocation,
    groups_left_out,
    has_rate,
    has_several_systems,
    heading_with_status,
    interval_marks,
    missing_rate_reason,
    rates_by_group,
    shortfalls,
    system_label,
    systems,
    verdicts_by_metric,
)
from parivox.report.catalogue import (
    finding_text,
    full_sentence,
    full_sentences,
    measure_reason_text,
    sentence_text,
)
from parivox.report.findings import (
    CHECKS_BETWEEN_GROUPS,
    check_sentence,
    confounding_sentences,
    contradictory_rows_text,
    counts_files,
    data_notes,
    data_summary,
    deployed_thresholds_text,
    group_eer_lines,
    group_figures_text,
    groups_by_shortfall_text,
    interaction_sentences,
    limit_sentences,
    list_checks,
    minimums_text,
    missing_interval_reason,
    n_trials_without_score,
    no_threshold_sentence,
    reference_text,
    trend_sentences,
    worst_tenth_sentences,
)
from parivox.report.identification import is_identification
from parivox.report.sheets.attacks import attack_sentences, attack_table
from parivox.report.sheets.comparison import pairs
from parivox.report.sheets.groups import (
    both_rates,
    extreme_groups,
    group_rates,
    group_sizes,
    operating_points,
    own_thresholds,
    strata_table,
    worst_groups_by_stratum,
)
from parivox.report.sheets.identification import rate_sheets, search_sheets
from parivox.report.sheets.measures import row_measure, spread_table
from parivox.report.sheets.sheet import Cell, Sheet, terminal_table
from parivox.report.sheets.supplementary import (
    attempts,
    failures,
    rejecting_stages,
    speaker_errors,
    standardised_rates,
    tandem_costs,
)
from parivox.report.terminal_grid import Grid
from parivox.report.words import GAP, add_row, capitalised, percent, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates
    from parivox.report.words import Row

_MAX_DIFFERING_GROUPS = 10
"""Groups that differ whose figures stand under the answer, at each operating point."""
_BT4VT_DIFFERENCES = sentence_text("bt4vt_procedure")
_MAX_COMPATIBILITY_ROWS = 5
"""Values that differ most under another tool's rules."""
_CLOSED_FORM_INTERVALS = {"", "speakers", "zero-errors"}
_POINT_HEADS = {
    "point": "operating point",
    "threshold": "threshold",
    "fpr": "FPR",
    "fnr": "FNR",
    "cost": "cost",
    "source": "set on",
}
GROUP_RATES = {
    "group": "group",
    "speakers": "speakers",
    "rate": "",
    "interval": f"[ ]{GAP}",
    "counts": f"{GAP}errors/trials",
    "ratio": f"{GAP}ratio",
    "ratio_interval": "[ ]",
    "p": f"{GAP}p",
    "verdict": "verdict",
}
"""Heads of a table of groups, or of one group, at an operating point.

A gap stands before columns that begin a new subject.
"""


def every_table(audit: Audit) -> Group:
    """Return every group in every grouping of every system, and what else is known, for rich."""
    return Group(*_table_blocks(audit))


def _table_blocks(audit: Audit) -> Iterator[RenderableType]:
    """Yield all systems, their comparisons, and what explains the tables."""
    if is_identification(audit):
        for sheet in rate_sheets(audit):
            yield from terminal_table(sheet.select(GROUP_RATES), lines_below=1)
        for sheet in search_sheets(audit):
            yield from terminal_table(sheet, lines_below=1)
        return
    for system in systems(audit):
        yield from _system_blocks(audit, system)
    yield from _comparison_blocks(audit)
    if not all(missing_interval_reason(audit, system) for system in systems(audit)):
        yield text(_legend(audit), apart=True)
    if not audit.record["resolution"]["exact"]:
        bounds = audit.record["resolution"]["bounds"].values()
        rate, score = (max(bound[kind] for bound in bounds) for kind in ("rate", "score"))
        yield text(full_sentence("binned_scores", rate=rate, score=score))


def _system_blocks(audit: Audit, system: Row) -> Iterator[RenderableType]:
    """Yield one system on one list: its data, operating points and groupings."""
    key = (system["system"], system["list"])
    yield text(system_label(*key), style="bold", apart=True)
    yield from _data_blocks(audit, system)
    points = audit.operating_points.subset(**system, within="").rows()
    yield text(
        "Thresholds, common to all groups, set on all trials:"
        if all(point["source"] == SAME_TRIALS for point in points)
        else "Thresholds, common to all groups:"
    )
    thresholds = operating_points(audit, {key: deployed_thresholds_text(audit, system)})
    system_rows = [row for row in thresholds.rows if row[0].text == system_label(*key)]
    yield from terminal_table(replace(thresholds, rows=system_rows, title="").select(_POINT_HEADS))
    located = [point for point in points if not point["reason"]]
    if not located:
        yield text(f"{no_threshold_sentence(audit, system)}.")
    for grouping in audit.record["groupings"]:
        for allocation in audit.record["options"]["allocate"]:
            filters = {**system, "grouping": grouping, "allocation": allocation}
            rates = rates_by_group(audit, {**filters, "within": ""})
            if not rates:
                continue
            label = grouping_with_allocation(grouping, allocation)
            heading = f"{label}: {len(rates.keys() - {POOLED})} groups"
            yield text(heading, style="bold", apart=True)
            if located:
                yield from _grouping_blocks(audit, filters, rates, points, located)
            else:
                yield from terminal_table(group_sizes(rates))
    if audit.record["options"]["compat"]:
        yield from _compatibility_blocks(audit, system)


def _data_blocks(audit: Audit, system: Row) -> Iterator[RenderableType]:
    """Yield what was read, what was excluded, and which checks the list fails."""
    yield text(data_summary(audit, system))
    if no_interval_reason := missing_interval_reason(audit, system):
        yield text(
            full_sentence("no_confidence_intervals", reason=no_interval_reason),
        )
    yield from (text(f"{caveat.sentence}.") for caveat in counts_files(audit, system))
    notes = data_notes(audit, system)
    if notes:
        yield text("Noted:")
        yield from (Padding(text(f"{capitalised(note)}."), (0, 0, 0, 2)) for note in notes)
    if audit.record["options"].get("conflicts", "error") != "error":
        yield text(contradictory_rows_text(audit, system))
    same_list_system, failed = list_checks(audit, system)
    if same_list_system:
        yield text(full_sentence("same_list_checks", system=same_list_system))
    elif failed:
        group_checks = [row for row in failed if row["id"] in CHECKS_BETWEEN_GROUPS]
        words = [
            full_sentence("trials_differ", check=row["id"], words=check_sentence(row))
            for row in group_checks
        ]
        other_checks = [row["id"] for row in failed if row not in group_checks]
        if other_checks:
            values = {
                "checks": other_checks,
                "trials_without_score": n_trials_without_score(audit, system),
                "after_others": bool(group_checks),
            }
            words += full_sentences([Fact("failed_checks", values)])
        else:
            words.append(full_sentence("run_trials_check"))
        yield from map(text, words)


def _grouping_blocks(
    audit: Audit, filters: Row, rates: Rates, points: list[Row], located: list[Row]
) -> Iterator[RenderableType]:
    """Yield one grouping under one allocation; `located` points are those with a threshold."""
    # tables that are about one point are about the first one
    point_name = located[0]["operating_point"]
    has_intervals = not missing_interval_reason(
        audit, {"system": filters["system"], "list": filters["list"]}
    )
    if has_intervals:
        yield from _verdict_blocks(audit, filters, rates, located)
        yield from _group_eer_blocks(audit, filters)
        yield from map(
            text, (*confounding_sentences(audit, filters), *interaction_sentences(audit, filters))
        )
        yield from _group_rate_blocks(audit, filters, rates, located[0])
        yield from map(text, limit_sentences(audit, filters))
        for sheet in speaker_errors(audit, filters, point_name):
            yield from terminal_table(sheet)
        yield from map(text, worst_tenth_sentences(audit, filters, point_name))
        for sheet in attempts(audit, filters, point_name):
            yield from terminal_table(sheet)
        yield from map(text, trend_sentences(audit, filters, point_name))
        attributes = audit.record["options"]["standardise"]
        for sheet in standardised_rates(audit, filters, rates, point_name, attributes):
            yield from terminal_table(sheet)
    else:
        yield from _observed_rate_blocks(audit, filters, rates, points, located[0])
    yield from _spoof_blocks(audit, filters, rates, point_name)
    for sheet in failures(audit, filters, rates, point_name):
        yield from terminal_table(sheet)
    rates_of_stratum = {}
    for stratum in dict.fromkeys(row["within"] for row in audit.operating_points.rows()):
        stratum_rates = rates_by_group(audit, {**filters, "within": stratum}) if stratum else {}
        if stratum_rates:
            rates_of_stratum[stratum] = stratum_rates
    if rates_of_stratum:
        versus = "" if has_intervals else ", with ratios to the pooled row of the stratum"
        yield text(f"Within each stratum at {point_name}, same thresholds{versus}:")
        stratum_sheet = (
            strata_table(audit, filters, rates_of_stratum, point_name)
            if has_intervals
            else worst_groups_by_stratum(rates_of_stratum, point_name)
        )
        if stratum_sheet:
            yield from terminal_table(stratum_sheet)


# ---- where intervals are known


def _verdict_blocks(
    audit: Audit, filters: Row, rates: Rates, located: list[Row]
) -> Iterator[RenderableType]:
    """Yield the verdict on the system at each point, and on the groups that differ."""
    for point_row in located:
        point_name = point_row["operating_point"]
        point_filters = {**filters, "within": "", "operating_point": point_name}
        system_verdicts = {
            row["metric"]: row for row in audit.verdicts.subset(**point_filters, group="").rows()
        }
        if not system_verdicts:
            reference = audit.record["options"]["reference"][0]
            yield text(
                full_sentence(
                    "no_verdicts_without_reference", point=point_name, reference=reference
                )
            )
            continue
        yield text(
            f"{heading_with_status(audit, f'At {point_name}', point_filters, point_name)}:",
            style="bold",
        )
        table = _two_column_grid()
        metrics_of_sentence: dict[str, list[str]] = {}
        words_of_metric = error_types(audit)
        for metric in words_of_metric:
            if has_rate(metric, point_name, rates):
                finding = finding_text(system_verdicts[metric])
                metrics_of_sentence.setdefault(finding, []).append(metric)
        for sentence, metrics in metrics_of_sentence.items():
            *leading, last = (metric.upper() for metric in metrics)
            label = f"{words_of_metric[metrics[0]]} ({last})"
            if leading:
                label = f"{', '.join(leading)} and {last}"
            add_row(table, f"{label}:", sentence)
        verdicts = verdicts_by_metric(audit, point_filters)
        differing = differing_groups(verdicts)
        for group in differing[:_MAX_DIFFERING_GROUPS]:
            add_row(table, f"{group}:", group_figures_text(verdicts, group, rates, point_name))
        if len(differing) > _MAX_DIFFERING_GROUPS:
            add_row(
                table,
                "",
                sentence_text("more_that_differ", more=len(differing) - _MAX_DIFFERING_GROUPS),
            )
        yield Padding(table, (0, 0, 0, 2))


def _spoof_blocks(audit: Audit, filters: Row, rates: Rates, point: str) -> Iterator[RenderableType]:
    """Yield spoof accepts by attack, if any is known, what they show, and stages of a cascade."""
    for stages in (*rejecting_stages(audit, filters, rates), *tandem_costs(audit, filters)):
        yield from terminal_table(stages)
    is_usual = filters["allocation"] == audit.record["options"]["allocate"][0]
    sheet = attack_table(audit, filters, point) if is_usual else None
    if sheet is not None:
        yield from terminal_table(sheet)
        yield text(" ".join(f"{words}." for words in attack_sentences(audit, filters, point)))


def _group_eer_blocks(audit: Audit, filters: Row) -> Iterator[RenderableType]:
    """Yield each group's EER at a threshold of its own."""
    table = _two_column_grid()
    for line in group_eer_lines(audit, filters):
        # a line without a label says that there are more
        add_row(table, line.label and f"{line.label}:", line.text)
    if table.row_count:
        head = heading_with_status(audit, "EER at group-specific thresholds", filters)
        yield text(f"{head}:", style="bold")
        yield Padding(table, (0, 0, 0, 2))
    spoof_eers = own_thresholds(audit, {**filters, "within": ""}, SPOOF_EERS)
    if spoof_eers is not None:
        yield from terminal_table(spoof_eers)


def _two_column_grid() -> Grid:
    """Return a table of two columns without heads, of which the second wraps."""
    table = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, max_width=30)
    table.add_column()
    return table


def _group_rate_blocks(
    audit: Audit, filters: Row, rates: Rates, point_row: Row
) -> Iterator[RenderableType]:
    """Yield every group's figures at one point, and how much groups differ."""
    point_name, scope_filters = point_row["operating_point"], {**filters, "within": ""}
    yield text(f"Every group at {point_name}, {_threshold_text(point_row)}:", apart=True)
    for metric in error_types(audit):
        if has_rate(metric, point_name, rates):
            sheet = group_rates(audit, scope_filters, metric, point_name)
            heads = {**GROUP_RATES, "rate": metric.upper()}
            if sheet.has("best_guess"):
                heads["best_guess"] = f"{GAP}shrinkage estimate"
            sheet = sheet.select(heads)
            # a reason is of no use in a footnote of the terminal: it replaces the counts
            for cells in sheet.rows:
                if cells[4].reason:
                    cells[4] = Cell(cells[4].reason)
            yield from terminal_table(sheet, is_compact=True)
        else:
            yield text(f"No {metric.upper()}: {missing_rate_reason(metric, point_name, rates)}.")
    point_filters = {**scope_filters, "operating_point": point_name}
    shortfall_of = shortfalls(verdicts_by_metric(audit, point_filters), rates, point_name)
    if shortfall_of:
        yield text(f"* under-represented: {groups_by_shortfall_text(shortfall_of)}.")
    spread, notes = spread_table(audit, point_filters)
    if spread:
        yield from terminal_table(spread, is_compact=True, lines_above=1)
    yield from map(text, notes)


def _threshold_text(point_row: Row) -> str:
    """Return a point's threshold, which decisions that were made do not have."""
    threshold = point_row["threshold"]
    return "as decided" if threshold is None else f"threshold {threshold:.6g}"


def _legend(audit: Audit) -> str:
    """Return what the tables of groups and of meta-measures show, once for all of them."""
    options = audit.record["options"]
    rows = [
        row for metric in error_types(audit) for row in audit.groups.subset(metric=metric).rows()
    ]
    interval_methods = {row["interval"] for row in rows}
    signs = "".join(f". {mark}: {words}" for mark, words in interval_marks(rows).items())
    interval_names = ", ".join(sorted(interval_methods - _CLOSED_FORM_INTERVALS)) or "over speakers"
    threshold_text = "" if options["interval"] == "bootstrap" else ", at this threshold"
    omits_groups = has_several_systems(audit) and groups_left_out(audit.meta.rows())
    covered_groups = "judged in every system and list" if omits_groups else "without *"
    return full_sentence(
        "table_legend",
        spoof=_spoof_legend(audit),
        confidence=100 * options["confidence"],
        intervals=interval_names,
        threshold=threshold_text,
        signs=signs,
        reference=reference_text(audit),
        error_types=all_error_types(audit),
        margin=options["margin"],
        equivalence_confidence=100 * EQUIVALENCE_CONFIDENCE,
        conditional=_because_of_note(audit),
        minimums=minimums_text(audit),
        groups=covered_groups,
    )


def _spoof_legend(audit: Audit) -> str:
    """Return what SFAR is, and which measures leave it out, where there are spoof trials."""
    if "sfar" not in error_types(audit):
        return ""
    return full_sentence("spoof_legend") + " "


def _because_of_note(audit: Audit) -> str:
    """Return how to read a group that is better only because of another one, if there is any."""
    has_any = any(row.get("because_of") for row in audit.verdicts)
    if not has_any:
        return ""
    return full_sentence("better_not_without") + " "


# ---- where there are no intervals


def _observed_rate_blocks(
    audit: Audit, filters: Row, rates: Rates, points: list[Row], point_row: Row
) -> Iterator[RenderableType]:
    """Yield the worst and best group at each point, then every group at the first point."""
    extremes = extreme_groups(rates, points)
    if extremes.rows:
        yield from terminal_table(extremes, lines_below=1)
    point_name = point_row["operating_point"]
    title = sentence_text(
        "observed_rate_legend", point=point_name, threshold=_threshold_text(point_row)
    )
    yield from terminal_table(both_rates(rates, point_name, title))
    alpha = audit.record["options"]["alpha"][0]
    point_filters = {**filters, "within": "", "operating_point": point_name, "metric": BOTH}
    measures = []
    for row in audit.meta.subset(**point_filters, zero="none", alpha=alpha).rows():
        measure = row_measure(row)
        if measure.shown == "first":
            if row["value"] is None:
                number = f"undefined ({measure_reason_text(row)})"
            else:
                number = f"{row['value']:.4g}"
            measures.append(
                sentence_text(
                    "alpha_measure_value",
                    measure=measure.short,
                    alpha=alpha,
                    value=number,
                    fairer=measure.fairer,
                )
            )
    if measures:
        yield text(full_sentence("observed_spread", measures=", ".join(measures)))


# ---- two systems, or lists


def _comparison_blocks(audit: Audit) -> Iterator[RenderableType]:
    """Yield every pair of systems and lists that was compared."""
    for pair in pairs(audit):
        yield text(f"{pair.label}: {pair.shared}", style="bold", apart=True)
        yield from terminal_table(pair.all_trials)
        for split in pair.groupings:
            if split.spreads.rows:
                yield from terminal_table(split.spreads)
            for metric in dict.fromkeys(metric for metric, *_ in split.ranks):
                shares = [
                    _rank_text(
                        quantity, dict(zip(pair.names, (first_share, second_share), strict=True))
                    )
                    for rank_metric, quantity, first_share, second_share in split.ranks
                    if rank_metric == metric
                ]
                words = full_sentence(
                    "better_in_replicates", metric=metric, shares=", ".join(shares)
                )
                yield Padding(text(words), (0, 0, 0, 2))


def _rank_text(quantity: str, share_of_name: Mapping[str, float]) -> str:
    """Return in which share of replicates each of two systems is better."""
    shares = ", ".join(f"{name} {percent(share)}" for name, share in share_of_name.items())
    return f"{quantity} ({shares})"


# ---- another tool's rules


def _compatibility_blocks(audit: Audit, system: Row) -> Iterator[RenderableType]:
    """Yield where another tool's rules give another number, and by how much."""
    rows = [
        row
        for row in audit.groups.subset(**system).rows()
        if row["definition"].endswith("bt4vt") and row["value"] is not None
    ]
    # the other tool's number, with the exact one behind it where they differ
    differing = [
        (row, float(row["value"]), float(fact.values["exact"]))
        for row in rows
        for fact in facts_of_row(row, "reason")
        if fact.code == "exact_value"
    ]
    differing.sort(key=lambda numbers: -abs(numbers[1] - numbers[2]) / max(numbers[1:]))
    yield text(f"{_BT4VT_DIFFERENCES}.", apart=True)
    n_differing = f"{len(differing)} of its {len(rows)} values"
    title = sentence_text("differing_values", values=n_differing)
    cells = [
        (row["group"], row["metric"], f"{compatible:.6g}", f"{exact:.6g}")
        for row, compatible, exact in differing[:_MAX_COMPATIBILITY_ROWS]
    ]
    yield from terminal_table(Sheet.with_heads(title, ("group", "metric", "bt4vt", "exact"), cells))
