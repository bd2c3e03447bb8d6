"""Every table of an audit, as a terminal prints it on request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding

from parivox.auditing import SAME_TRIALS
from parivox.core.measures import BOTH
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.report.audit_queries import (
    ERROR_TYPES,
    POOLED,
    differing_groups,
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
from parivox.report.findings import (
    CHECKS_BETWEEN_GROUPS,
    confounding_sentences,
    contradictory_rows_text,
    counts_file_sentences,
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
from parivox.report.sheets.comparison import pairs
from parivox.report.sheets.groups import (
    both_rates,
    extreme_groups,
    group_rates,
    group_sizes,
    operating_points,
    strata_table,
    worst_groups_by_stratum,
)
from parivox.report.sheets.measures import measure_of, spread_table, undefined_reason
from parivox.report.sheets.people import attempts, failures, speaker_errors, standardised_rates
from parivox.report.sheets.sheet import Cell, Sheet, terminal_table
from parivox.report.terminal_grid import Grid
from parivox.report.words import GAP, add_row, percent, text
from parivox.trials.guidelines import failed_checks_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates
    from parivox.report.words import Row

_MOST_DIFFERING = 10
"""Groups that differ whose figures stand under the answer, at each operating point."""
_IN_CLOSED_FORM = {"", "speakers", "zero-errors"}
_POINTS = {
    "point": "operating point",
    "threshold": "threshold",
    "fpr": "FPR",
    "fnr": "FNR",
    "cost": "cost",
    "source": "found on",
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
"""Heads of a table of groups, or of one group, at an operating point."""


def every_table(audit: Audit) -> Group:
    """Every group in every grouping of every system, and what else is known, as rich shows it."""
    return Group(*_parts(audit))


def _parts(audit: Audit) -> Iterator[RenderableType]:
    for name in systems(audit):
        yield from _system(audit, name)
    yield from _comparison(audit)
    if not all(missing_interval_reason(audit, name) for name in systems(audit)):
        yield text(_legend(audit), apart=True)
    if not audit.record["resolution"]["exact"]:
        bounds = audit.record["resolution"]["bounds"].values()
        rate, score = (max(bound[kind] for bound in bounds) for kind in ("rate", "score"))
        yield text(
            "Scores were counted in bins: error counts at the thresholds shown are exact. EER, "
            f"minimum cost, AUC and the like are within {rate:.2g} of the exact ones in every "
            f"group, score shifts within {score:.2g} of a score."
        )


def _system(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """One system on one list: its data, operating points and groupings."""
    key = (name["system"], name["list"])
    yield text(system_label(*key), style="bold", apart=True)
    yield from _data(audit, name)
    points = audit.operating_points.where(**name, within="").rows()
    yield text(
        "Thresholds, common to all groups, set on all trials:"
        if all(point["source"] == SAME_TRIALS for point in points)
        else "Thresholds, common to all groups:"
    )
    thresholds = operating_points(audit, {key: deployed_thresholds_text(audit, name)})
    own = [row for row in thresholds.rows if row[0].text == system_label(*key)]
    yield from terminal_table(replace(thresholds, rows=own, title="").select(_POINTS))
    known = [point for point in points if not point["reason"]]
    if not known:
        yield text(no_threshold_sentence(audit, name))
    for grouping in audit.record["groupings"]:
        for allocation in audit.record["options"]["allocate"]:
            where = {**name, "grouping": grouping, "allocation": allocation}
            rates = rates_by_group(audit, {**where, "within": ""})
            if not rates:
                continue
            how = "" if allocation == "both" else f", nontarget trials allocated by {allocation}"
            n = len(rates.keys() - {POOLED})
            yield text(f"{grouping}: {n} groups{how}", style="bold", apart=True)
            if known:
                yield from _grouping(audit, where, rates, points, known)
            else:
                yield from terminal_table(group_sizes(rates))
    if "compat" in audit.record:
        yield from _compat(audit, name)


def _data(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """What was read, what was left out, and what the list fails."""
    yield text(data_summary(audit, name))
    if unsure := missing_interval_reason(audit, name):
        yield text(
            f"No confidence intervals: {unsure}. Every rate and ratio is an observed value: "
            "groups of few speakers or few errors differ by chance alone, often by a factor of two "
            "or more.",
        )
    yield from map(text, counts_file_sentences(audit, name))
    aside = data_notes(audit, name)
    if aside:
        yield text("Noted: " + "; ".join(aside) + ".")
    if audit.record["options"].get("conflicts") == "set-aside":
        yield text(contradictory_rows_text(audit, name))
    twin, failed = list_checks(audit, name)
    if twin:
        yield text(f"The list fails the same checks as that of {twin}.")
    elif failed:
        apart = [row for row in failed if row["id"] in CHECKS_BETWEEN_GROUPS]
        words = [
            f"The trials differ between groups ({row['id']}): {row['sentence']}." for row in apart
        ]
        others = [row["id"] for row in failed if row not in apart]
        if others:
            unscored = n_trials_without_score(audit, name)
            words.append(failed_checks_sentence(others, unscored=unscored, also=bool(apart)))
        else:
            words.append("For details run parivox trials check.")
        yield text(" ".join(words))


def _grouping(
    audit: Audit, where: Row, rates: Rates, points: list[Row], known: list[Row]
) -> Iterator[RenderableType]:
    """One grouping under one allocation, where there are rates; `known` points have a threshold."""
    at = known[0]["operating_point"]
    is_sure = not missing_interval_reason(audit, {"system": where["system"], "list": where["list"]})
    if is_sure:
        yield from _verdicts(audit, where, rates, known)
        yield from _own_thresholds(audit, where)
        yield from map(
            text, (*confounding_sentences(audit, where), *interaction_sentences(audit, where))
        )
        yield from _every_group(audit, where, rates, known[0])
        yield from map(text, limit_sentences(audit, where))
        for sheet in speaker_errors(audit, where, at):
            yield from terminal_table(sheet)
        yield from map(text, worst_tenth_sentences(audit, where, at))
        for sheet in attempts(audit, where, at):
            yield from terminal_table(sheet)
        yield from map(text, trend_sentences(audit, where, at))
        attributes = audit.record["options"]["standardise"]
        for sheet in standardised_rates(audit, where, rates, at, attributes):
            yield from terminal_table(sheet)
    else:
        yield from _as_counted(audit, where, rates, points, known[0])
    for sheet in failures(audit, where, rates, at):
        yield from terminal_table(sheet)
    names = filter(None, dict.fromkeys(row["within"] for row in audit.operating_points.rows()))
    by_level = {level: rates_by_group(audit, {**where, "within": level}) for level in names}
    by_level = {level: of_level for level, of_level in by_level.items() if of_level}
    if by_level:
        versus = "" if is_sure else ", x the level's own pooled row"
        yield text(f"Within each level at {at}, same thresholds{versus}:")
        found = (
            strata_table(audit, where, by_level, at)
            if is_sure
            else worst_groups_by_stratum(by_level, at)
        )
        if found:
            yield from terminal_table(found)


# ---- where intervals are known


def _verdicts(audit: Audit, where: Row, rates: Rates, known: list[Row]) -> Iterator[RenderableType]:
    """The verdict on the system at each point, and on the groups that differ."""
    for point in known:
        at = point["operating_point"]
        here = {**where, "within": "", "operating_point": at}
        system = {row["metric"]: row for row in audit.verdicts.where(**here, group="").rows()}
        if not system:
            reference = audit.record["options"]["reference"][0]
            yield text(f"At {at}: no verdicts, as {reference} is no group of this grouping.")
            continue
        yield text(f"{heading_with_status(audit, f'At {at}', here, at)}:", style="bold")
        lines = _two_columns(is_close=True)
        by_sentence: dict[str, list[str]] = {}
        for metric, words in ERROR_TYPES.items():
            if has_rate(metric, at, rates):
                label = f"{words} ({metric.upper()})"
                by_sentence.setdefault(system[metric]["sentence"], []).append(label)
        for sentence, labels in by_sentence.items():
            add_row(lines, labels[0] if len(labels) == 1 else "FNR and FPR", sentence)
        of = verdicts_by_metric(audit, here)
        differ = differing_groups(of)
        for group in differ[:_MOST_DIFFERING]:
            add_row(lines, group, group_figures_text(of, group, rates, at))
        if len(differ) > _MOST_DIFFERING:
            add_row(lines, "", f"and {len(differ) - _MOST_DIFFERING} more that differ")
        yield Padding(lines, (0, 0, 0, 2))


def _own_thresholds(audit: Audit, where: Row) -> Iterator[RenderableType]:
    """Each group's own EER."""
    lines = _two_columns()
    for words, sentence in group_eer_lines(audit, where):
        add_row(lines, words, sentence)
    if lines.row_count:
        head = heading_with_status(audit, "EER at group-specific thresholds", where)
        yield text(f"{head}:", style="bold")
        yield Padding(lines, (0, 0, 0, 2))


def _two_columns(*, is_close: bool = False) -> Grid:
    """Two columns without heads, of which the second wraps."""
    gap = {"collapse_padding": True} if is_close else {"padding": (0, 2, 0, 0)}
    made = Grid(box=None, show_header=False, pad_edge=False, **gap)
    made.add_column(no_wrap=True, max_width=30)
    made.add_column()
    return made


def _every_group(audit: Audit, where: Row, rates: Rates, point: Row) -> Iterator[RenderableType]:
    """Every group's figures at one point, and how much groups differ."""
    at, here = point["operating_point"], {**where, "within": ""}
    yield text(f"Every group at {at}, {_threshold(point)}:", apart=True)
    for metric in ERROR_TYPES:
        if has_rate(metric, at, rates):
            sheet = group_rates(audit, here, metric, at)
            heads = {**GROUP_RATES, "rate": metric.upper()}
            if sheet.has("best_guess"):
                heads["best_guess"] = f"{GAP}shrinkage estimate"
            sheet = sheet.select(heads)
            for row in sheet.rows:
                if row[4].reason:
                    row[4] = Cell(row[4].reason)
            yield from terminal_table(sheet, is_compact=True)
        else:
            yield text(f"No {metric.upper()}: {missing_rate_reason(metric, at, rates)}.")
    at_point = {**here, "operating_point": at}
    lacking = shortfalls(verdicts_by_metric(audit, at_point), rates, at)
    if lacking:
        yield text(f"* under-represented: {groups_by_shortfall_text(lacking)}.")
    found, notes = spread_table(audit, at_point)
    if found:
        yield from terminal_table(found, is_compact=True, lines_above=1)
    yield from map(text, notes)


def _threshold(point: Row) -> str:
    threshold = point["threshold"]
    return "as decided" if threshold is None else f"threshold {threshold:.6g}"


def _legend(audit: Audit) -> str:
    """What stands in the tables of groups and of meta-measures, once for all of them."""
    options = audit.record["options"]
    rows = [row for metric in ERROR_TYPES for row in audit.groups.where(metric=metric).rows()]
    names = {row["interval"] for row in rows}
    signs = "".join(f"; {mark} {words}" for mark, words in interval_marks(rows).items())
    how = ", ".join(sorted(names - _IN_CLOSED_FORM)) or "over speakers"
    at = "" if options["interval"] == "bootstrap" else ", at this threshold"
    is_shared = has_several_systems(audit) and groups_left_out(audit.meta.rows())
    whose = "judged in all systems and lists" if is_shared else "without *"
    return (
        "FNR: target trials rejected (false rejects); FPR: nontarget trials accepted (false "
        f"accepts); in %. In brackets: {100 * options['confidence']:g} % confidence interval, "
        f"{how}{at}{signs}. Ratio: to {reference_text(audit)}. p: adjusted (Holm) for all "
        "groups and both error types. Inconclusive: the data do not show whether the group is "
        "worse, better or equivalent. Equivalent: the ratio is within "
        f"1/{options['margin']:g} to {options['margin']:g}, shown at "
        f"{100 * EQUIVALENCE_CONFIDENCE:g} %. "
        f"{_not_without(audit)}* {minimums_text(audit)}: left out of the spread {whose}. Floor: "
        "what a system with equal rates in all groups would show on these speakers, on average and "
        "at most in 95 %; p: how often as much. H (heterogeneity) asks whether groups differ at "
        "all; tau_log is the spread beyond that of speakers. A value within the floor does not "
        "show fairness, as few speakers hide large differences; floors assume that speakers vary "
        "alike in all groups."
    )


def _not_without(audit: Audit) -> str:
    """How to read a group that is better because of another one, if there is any."""
    has_any = any(row.get("because_of") for row in audit.verdicts)
    if not has_any:
        return ""
    return "Better, not without X: not confirmed when X is left out of the other groups. "


# ---- where nothing is known of chance


def _as_counted(
    audit: Audit, where: Row, rates: Rates, points: list[Row], point: Row
) -> Iterator[RenderableType]:
    """Who fares worst and best at each point, then every group at the first point."""
    found = extreme_groups(rates, points)
    if found.rows:
        yield from terminal_table(found, lines_below=1)
    at = point["operating_point"]
    title = (
        f"Every group at {at}, {_threshold(point)}. FNR: target trials rejected "
        "(false rejects); FPR: nontarget trials accepted (false accepts); ratio: to all groups "
        "pooled"
    )
    yield from terminal_table(both_rates(rates, at, title))
    alpha = audit.record["options"]["alpha"][0]
    here = {**where, "within": "", "operating_point": at, "metric": BOTH}
    measures = []
    for row in audit.meta.where(**here, zero="none", alpha=alpha).rows():
        one = measure_of(row)
        if one.shown == "first":
            is_undefined = row["value"] is None
            value = (
                f"undefined ({undefined_reason(row['reason'])})"
                if is_undefined
                else f"{row['value']:.4g}"
            )
            measures.append(f"{one.short} (alpha {alpha:g}) {value} ({one.fairer} is fairer)")
    if measures:
        yield text(f"Spread over groups: {', '.join(measures)}.")


# ---- two systems, or lists


def _comparison(audit: Audit) -> Iterator[RenderableType]:
    """Every pair of systems and lists that was compared."""
    for pair in pairs(audit):
        yield text(f"{pair.label}: {pair.speakers}", style="bold", apart=True)
        yield from terminal_table(pair.all_trials)
        for split in pair.groupings:
            if split.spreads.rows:
                yield from terminal_table(split.spreads)
            for metric in dict.fromkeys(metric for metric, *_ in split.ranks):
                shares = [
                    f"{what} {percent(one)} / {percent(other)}"
                    for of, what, one, other in split.ranks
                    if of == metric
                ]
                yield text(
                    f"  {metric}, share of replicates in which {' / '.join(pair.names)} is better: "
                    f"{', '.join(shares)}."
                )


# ---- another tool's rules


def _compat(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """Where another tool's rules give another number, and by how much."""
    rows = [
        row
        for row in audit.groups.where(**name).rows()
        if row["definition"].endswith("bt4vt") and row["value"] is not None
    ]
    others = [
        (row, float(row["value"]), float(row["reason"].removeprefix("exact: ")))
        for row in rows
        if row["reason"]
    ]
    others.sort(key=lambda one: -abs(one[1] - one[2]) / max(one[1:]))
    yield text(f"{audit.record['compat']}.", apart=True)
    title = f"{len(others)} of its {len(rows)} values differ from the exact ones; most:"
    most = [
        (row["group"], row["metric"], f"{value:.6g}", f"{exact:.6g}")
        for row, value, exact in others[:5]
    ]
    yield from terminal_table(Sheet.with_heads(title, ("group", "metric", "bt4vt", "exact"), most))
