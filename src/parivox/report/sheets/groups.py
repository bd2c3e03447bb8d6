"""Tables of groups: rates at one threshold, each with its interval or as counted; at their own."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from parivox.auditing import NO_TRIALS
from parivox.core import verdict
from parivox.core.measures import MEASURES
from parivox.report.audit_queries import (
    ERROR_TYPES,
    IS_REFERENCE,
    POOLED,
    has_rate,
    heading_with_status,
    interval_marks,
    rates_by_group,
    shortfalls,
    system_label,
    verdicts_by_metric,
)
from parivox.report.findings import (
    differing_groups_text,
    groups_by_shortfall_text,
    minimums_text,
    missing_interval_reason,
    reference_text,
    shrinkage_estimate_text,
    verdict_text,
)
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.words import (
    capitalised,
    count_of,
    count_text,
    interval_text,
    p_value_cell,
    percent,
    short_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates
    from parivox.report.words import Row


def operating_points(audit: Audit, deployed: Mapping[tuple[str, str], str]) -> Sheet:
    """Each operating point: its threshold, and what it does to all trials.

    `deployed` has the thresholds, in words, that the trials of a system and list were decided at.
    """
    made = Sheet(
        "Operating points: one threshold for everyone",
        (
            Column("System", key="system", is_words=True),
            Column("Operating point", key="point", is_words=True),
            Column("Threshold", key="threshold"),
            Column("FPR", unit="%", key="fpr"),
            Column("FNR", unit="%", key="fnr"),
            Column("Cost", key="cost"),
            Column("Found on", key="source", is_words=True),
        ),
    )
    for row in audit.operating_points.where(within="").rows():
        name = (row["system"], row["list"])
        threshold = UNDEFINED if row["reason"] else deployed.get(name, UNDEFINED)
        if row["threshold"] is not None:
            threshold = f"{row['threshold']:.6g}"
        missing = {metric: verdict.INCONCLUSIVE_REASONS[why] for metric, why in NO_TRIALS.items()}
        lack = {} if row["reason"] else {k: w for k, w in missing.items() if row[k] is None}
        cost = UNDEFINED if row["cdet_norm"] is None else f"{row['cdet_norm']:.4f}"
        made.add(
            system_label(*name),
            row["operating_point"],
            threshold,
            *(Cell(percent_figure(row[metric]), reason=lack.get(metric, "")) for metric in missing),
            Cell(cost, reason="; ".join(lack.values())),
            row["reason"] or row["source"],
        )
    return made


def group_rates(audit: Audit, where: Row, metric: str, at: str) -> Sheet:
    """A rate of every group at an operating point, and each group against the first reference.

    The highest rate comes first, that of all groups last. Where nothing was judged, ratios are
    those that were measured.
    """
    rates, others = rates_by_group(audit, where), reference_text(audit)
    of = verdicts_by_metric(audit, {**where, "operating_point": at})
    against = (of or _measured(audit, where, at)).get(metric, {})
    columns = (
        Column("Group", is_words=True, key="group"),
        Column("Verdict", is_words=True, key="verdict"),
        Column("Speakers", key="speakers"),
        Column(metric.upper(), unit="%", key="rate"),
        Column("Interval", key="interval"),
        Column("Errors / trials", key="counts"),
        Column("Design effect", key="deff"),
        Column("Effective trials", key="worth"),
        Column(f"Ratio to {others}", key="ratio"),
        Column("Interval", key="ratio_interval"),
        Column("p, adjusted", key="p"),
        Column("Shrinkage estimate", key="best_guess"),
    )
    made = Sheet("", columns, sums=int(POOLED in rates), is_sortable=True)
    order = sorted(rates, key=lambda g: (g == POOLED, -(rates[g][metric, at]["value"] or -1)))
    for group in order:
        row, verdict_ = rates[group][metric, at], of.get(metric, {}).get(group)
        compared = against.get(group)
        why = (
            ""
            if row["value"] is not None
            else str(verdict.INCONCLUSIVE_REASONS.get(row["reason"], row["reason"]))
        )
        made.add(
            Cell(group, "*" if verdict_ and verdict_["gates"] else ""),
            _verdict(verdict_),
            count_text(row["speakers"]),
            Cell(percent_figure(row["value"]), reason=why),
            interval_cell(row),
            Cell(errors_over_trials(row), reason=why),
            *_worth(row),
            *(_against(compared, others) if compared else (Cell(""),) * 3),
            shrinkage_estimate_text(verdict_) if verdict_ else "",
        )
    return made


def percent_figure(value: float | None) -> str:
    """A fraction in percent, without the sign."""
    return percent(value).removesuffix(" %")


def errors_over_trials(row: Row) -> str:
    """The counts of a rate."""
    return UNDEFINED if row["trials"] is None else f"{count_text(row['errors'])}/{row['trials']:,}"


def interval_cell(row: Row) -> Cell:
    """A rate's interval in percent with its marks, or why there is none."""
    if row["value"] is None:
        return Cell(UNDEFINED)
    return Cell(
        interval_text(row["low"], row["high"], times=100),
        "".join(interval_marks([row])),
        row["note"],
    )


def _verdict(row: Row | None) -> Cell:
    if row is None:
        return Cell("")
    if row["reason"] == IS_REFERENCE:
        return Cell("reference")
    return Cell(verdict_text(row), verdict="" if row.get("because_of") else row["verdict"])


def _worth(row: Row) -> tuple[Cell, Cell]:
    """How much less the trials tell than so many independent ones would."""
    if row["value"] is None:
        return Cell(""), Cell("")
    why = re.split("[:;]", row["note"])[0]
    why = why and f"no design effect: {why}"
    worth = count_text(None if row["n_eff"] is None else round(row["n_eff"]))
    return Cell(short_number(row["deff"]), reason=why), Cell(worth, reason=why)


def _against(row: Row, others: str) -> tuple[Cell, Cell, Cell]:
    """A group's ratio to the others, its interval and p."""
    if row["reason"] == IS_REFERENCE:
        return Cell("1"), Cell(""), Cell("")
    why = {
        "undefined_ratio": f"no ratio: {others} has no errors, or no trials",
        "no_interval": f"no interval: the group or {others} has too few speakers or errors",
    }.get(row["reason"]) or str(
        verdict.INCONCLUSIVE_REASONS.get(row["reason"] or "no_p", row["reason"])
    )
    ratio = None if row["ratio"] in {None, math.inf} else row["ratio"]
    limits = interval_text(row["low"], row["high"])
    return (
        Cell(short_number(ratio), reason=why),
        Cell(limits, reason=why),
        Cell(p_value_cell(row["p_holm"]), reason=why),
    )


def _measured(audit: Audit, where: Row, at: str) -> dict[str, dict[str, Row]]:
    """Ratios to the first reference, where nothing was judged."""
    reference = audit.record["options"]["reference"][0]
    asked = {**where, "operating_point": at, "measure": "ratio", "reference": reference}
    found: dict[str, dict[str, Row]] = {}
    for row in audit.bias.where(**asked, zero="none", definition="").rows():
        found.setdefault(row["metric"], {})[row["group"]] = {**row, "ratio": row["value"]}
    return found


# ---- on paper: both rates beside each other


def rates_on_paper(audit: Audit, where: Row, at: str) -> Sheet:
    """Both rates of every group by name, each with its interval behind it."""
    rates = rates_by_group(audit, where)
    lacking = shortfalls(verdicts_by_metric(audit, {**where, "operating_point": at}), rates, at)
    columns = [Column("group", is_words=True), Column("speakers")]
    of_group: dict[str, list[Cell]] = {
        group: [Cell(group, "*" * (group in lacking))]
        for group in sorted(rates, key=lambda group: (group == POOLED, group))
    }
    for place, (metric, words) in enumerate(ERROR_TYPES.items()):
        over = f"{words} ({metric.upper()})"
        columns += [Column(head, over) for head in ("errors/trials", "%", "ratio", "p")]
        sheet = group_rates(audit, where, metric, at)
        keys = ("group", "speakers", "counts", "rate", "interval", "ratio", "ratio_interval", "p")
        for row in sheet.select(dict(zip(keys, keys, strict=True))).rows:
            group, speakers, counts, rate, interval, ratio, limits, p = row
            cells = [counts, _with(rate, interval), _with(ratio, limits), p]
            if ratio.text == "1" and not limits.text:
                cells[2] = Cell("reference")
            of_group[group.text] += cells if place else [speakers, *cells]
    name = system_label(where["system"], where["list"])
    how = "" if where["allocation"] == "both" else f", allocated by {where['allocation']}"
    return Sheet(
        heading_with_status(audit, f"{name}: {where['grouping']}{how} at {at}", where, at),
        columns,
        [*of_group.values()],
        _reading(audit, where),
        list(_notes(audit, rates, lacking, at)),
        sums=int(POOLED in rates),
    ).without_empty_columns()


def _with(figure: Cell, interval: Cell) -> Cell:
    """A figure with its interval behind it, if it has one."""
    if interval.text in {"", UNDEFINED}:
        return figure
    return Cell(f"{figure.text} {interval.text}", interval.mark)


def _reading(audit: Audit, where: Row) -> str:
    unsure = missing_interval_reason(audit, {name: where[name] for name in ("system", "list")})
    level = 100 * audit.record["options"]["confidence"]
    how = (
        f"No confidence intervals: {unsure}."
        if unsure
        else f"In brackets: {level:g} % confidence intervals over speakers; p: adjusted (Holm) for "
        "all groups and both error types."
    )
    return (
        "FNR: target trials rejected; FPR: nontarget trials accepted; ratio: the rate divided by "
        f"that of {reference_text(audit)}. {how}"
    )


def _notes(audit: Audit, rates: Rates, lacking: Mapping[str, str], at: str) -> Iterator[str]:
    """What the marks stand for, and which rates are missing."""
    if lacking:
        yield f"* {minimums_text(audit)}: {groups_by_shortfall_text(lacking)}."
    cells = [rows[metric, at] for rows in rates.values() for metric in ERROR_TYPES]
    yield from (f"{mark} {capitalised(words)}." for mark, words in interval_marks(cells).items())
    missing: dict[str, list[str]] = {}
    for row in cells:
        if row["value"] is None:
            why = verdict.INCONCLUSIVE_REASONS.get(row["reason"], row["reason"])
            reason = f"No {row['metric'].upper()}, as there are {why}"
            missing.setdefault(reason, []).append(row["group"])
    yield from (f"{reason}: {', '.join(groups)}." for reason, groups in missing.items())


# ---- at thresholds of their own, and within levels


def own_thresholds(audit: Audit, where: Row) -> Sheet | None:
    """EER and minimum cost of each group: how hard it is for the system."""
    columns: list[Column] = []
    of_column: list[dict[str, list[Cell]]] = []
    speakers: dict[str, str] = {}
    for metric in ("eer", "min_cdet_norm"):
        table = audit.groups.where(**where, metric=metric)
        times, unit = (100, ", %") if metric == "eer" else (1, "")
        for definition in dict.fromkeys(row["definition"] for row in table.rows()):
            head = f"{MEASURES[metric].label}{unit} ({definition})"
            columns += [Column(head), Column("Interval")]
            of_column.append({})
            for row in table.where(definition=definition).rows():
                speakers.setdefault(row["group"], count_text(row["speakers"]))
                value = row["value"]
                figure = UNDEFINED if value is None else f"{times * value:#.3g}".rstrip(".")
                limits = (
                    "" if value is None else interval_text(row["low"], row["high"], times=times)
                )
                cells = [Cell(figure, reason=row["reason"]), Cell(limits, reason=row["note"])]
                of_column[-1][row["group"]] = cells
    if not columns:
        return None
    none = [Cell(""), Cell("")]
    return Sheet(
        "Each group at the threshold that suits it best",
        [Column("Group", is_words=True), Column("Speakers"), *columns],
        [
            [
                Cell(group),
                Cell(n),
                *(cell for cells in of_column for cell in cells.get(group, none)),
            ]
            for group, n in speakers.items()
        ],
        sums=int(POOLED in speakers),
        is_sortable=True,
    ).without_empty_columns(keeps_reasons=True)


def strata_table(audit: Audit, where: Row, of: Mapping[str, Rates], at: str) -> Sheet | None:
    """Which groups differ within each level of ``--within``, of which the rates are given."""
    known = [
        metric for metric in ERROR_TYPES if any(has_rate(metric, at, one) for one in of.values())
    ]
    if not of:
        return None
    columns = [Column("within", is_words=True, is_unbroken=True)]
    for metric in known:
        columns.append(Column(metric.upper()))
        columns.append(Column("groups that differ (x)", is_words=True, is_wide=True))
    made = Sheet("", columns)
    for level, rates in of.items():
        verdicts = verdicts_by_metric(audit, {**where, "within": level, "operating_point": at})
        cells = []
        for metric in known:
            pooled = rates[POOLED][metric, at]
            interval = interval_cell(pooled)
            cells += [
                Cell(f"{percent(pooled['value'])} {interval.text}", interval.mark),
                Cell(differing_groups_text(verdicts.get(metric, {}))),
            ]
        made.add(level, *cells)
    return made


# ---- where nothing is known but rates: no intervals, and so no verdicts


def both_rates(rates: Rates, at: str, title: str) -> Sheet:
    """Every group at a point, the highest FNR first, each rate in times that of all together."""
    heads = ["group", "speakers"]
    for name in ("FNR", "FPR"):
        heads += [name, "errors / trials", "ratio"]
    groups = [group for group in rates if group != POOLED]
    rows = []
    for group in [*sorted(groups, key=lambda g: -(rates[g]["fnr", at]["value"] or 0)), POOLED]:
        cells = [group, count_text(rates[group]["fnr", at]["speakers"])]
        for metric in ("fnr", "fpr"):
            row, pooled = rates[group][metric, at], rates[POOLED][metric, at]["value"]
            cells += (
                (UNDEFINED, row["reason"], UNDEFINED)
                if row["value"] is None
                else (percent(row["value"]), _spaced_counts(row), _times(row["value"], pooled))
            )
        rows.append(cells)
    return Sheet.with_heads(title, heads, rows)


def _spaced_counts(row: Row) -> str:
    return f"{row['errors']:,} / {row['trials']:,}"


def _times(value: float, pooled: float | None) -> str:
    return f"{value / pooled:.2f}" if pooled else UNDEFINED


def group_sizes(rates: Rates) -> Sheet:
    """How many speakers and trials each group has, where there are no rates."""
    keys = ("speakers", "target_trials", "nontarget_trials")
    first = {group: next(iter(found.values())) for group, found in rates.items()}
    rows = [(group, *(count_text(row[key]) for key in keys)) for group, row in first.items()]
    return Sheet.with_heads("", ("group", "speakers", "target trials", "nontarget trials"), rows)


def extreme_groups(rates: Rates, points: Iterable[Row]) -> Sheet:
    """Who fares worst and best at each point."""
    heads = ("at", "error", "group", "rate", "ratio to pooled", "errors / trials, speakers")
    made = Sheet.with_heads("", heads, words=(1, 2, 3, 6))
    for point in points:
        at = point["operating_point"]
        for metric, words in ERROR_TYPES.items():
            ranked = _ranked(rates, metric, at)
            pooled = rates[POOLED][metric, at]["value"]
            if len(ranked) < 2 or not pooled or ranked[0]["value"] == ranked[-1]["value"]:
                continue
            for word, row in (("most", ranked[-1]), ("fewest", ranked[0])):
                whom = (
                    "" if row["speakers"] is None else f", {count_of(row['speakers'], 'speaker')}"
                )
                rate = (percent(row["value"]), _times(row["value"], pooled))
                who = f"{word} {words}"
                made.add(at, who, row["group"], *rate, f"{_spaced_counts(row)}{whom}")
    return made


def worst_groups_by_stratum(of: Mapping[str, Rates], at: str) -> Sheet:
    """Who fares worst within each level, against the level's own pooled row."""
    columns = [Column("within", is_words=True, is_unbroken=True)]
    for metric, words in (("FNR", "most false rejects"), ("FPR", "most false accepts")):
        columns += [Column(metric), Column(words, is_words=True), Column("ratio"), Column("errors")]
    made = Sheet("", columns)
    for level, rates in of.items():
        cells = []
        for metric in ERROR_TYPES:
            pooled, ranked = rates[POOLED][metric, at]["value"], _ranked(rates, metric, at)
            cells.append(percent(pooled))
            if not ranked or not pooled:
                cells += [UNDEFINED] * 3
                continue
            worst = ranked[-1]
            cells += [worst["group"], _times(worst["value"], pooled), f"{worst['errors']:,}"]
        made.add(level, *cells)
    return made


def _ranked(rates: Rates, metric: str, at: str) -> list[Row]:
    """Rows of the groups that have a rate, the lowest first."""
    rows = [one[metric, at] for group, one in rates.items() if group != POOLED]
    return sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
