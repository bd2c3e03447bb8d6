"""Tables of groups: rates at operating points, at thresholds of their own, and by stratum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parivox.auditing import IS_REFERENCE, NO_TRIALS
from parivox.core.measures import MEASURES, RATES, base_metric
from parivox.facts import facts_of_row
from parivox.report.audit_queries import (
    POOLED,
    SPOOF_EERS,
    SPOOF_TRIALS_OF_GROUP,
    all_error_types,
    error_types,
    error_types_of,
    grouping_with_allocation,
    has_rate,
    heading_with_status,
    interval_marks,
    may_be_confirmatory,
    rate_error_types,
    rates_by_group,
    shortfalls,
    system_label,
    verdicts_by_metric,
)
from parivox.report.catalogue import (
    full_sentence,
    inconclusive_text,
    note_text,
    reason_text,
    sentence_text,
    without_cause_text,
)
from parivox.report.findings import (
    ALLOCATIONS,
    differing_groups_text,
    groups_by_shortfall_text,
    minimums_text,
    missing_interval_reason,
    reference_text,
    shrinkage_estimate_text,
    verdict_text,
)
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.verdict_sentences import INCONCLUSIVE_REASONS
from parivox.report.words import (
    capitalised,
    count_of,
    count_text,
    interval_text,
    p_value_cell,
    percent,
    percent_figure,
    short_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates, Shortfall
    from parivox.report.words import Row


OWN_THRESHOLD_METRICS = ("eer", *SPOOF_EERS, "min_cdet_norm")
"""Metrics of a group at a threshold of its own."""


def operating_points(audit: Audit, deployed: Mapping[tuple[str, str], str]) -> Sheet:
    """Return the operating points: threshold, rates and cost of all trials.

    `deployed` has the thresholds of decisions, in words, by system and list.
    """
    sheet = Sheet(
        "Operating points: common thresholds",
        (
            Column("System", key="system", is_words=True),
            Column("Operating point", key="point", is_words=True),
            Column("Threshold", key="threshold"),
            Column("FPR", unit="%", key="fpr"),
            Column("FNR", unit="%", key="fnr"),
            Column("Cost", key="cost"),
            Column("Set on", key="source", is_words=True),
        ),
    )
    for row in audit.operating_points.subset(within="").rows():
        subject = (row["system"], row["list"])
        threshold = UNDEFINED if row["reason"] else deployed.get(subject, UNDEFINED)
        if row["threshold"] is not None:
            threshold = f"{row['threshold']:.6g}"
        missing_reasons = {rate: INCONCLUSIVE_REASONS[NO_TRIALS[rate]] for rate in RATES}
        point_reasons = (
            {}
            if row["reason"]
            else {
                metric_name: words
                for metric_name, words in missing_reasons.items()
                if row[metric_name] is None
            }
        )
        cost = UNDEFINED if row["cdet_norm"] is None else f"{row['cdet_norm']:.4f}"
        sheet.add(
            system_label(*subject),
            row["operating_point"],
            threshold,
            *(
                Cell(percent_figure(row[metric]), reason=point_reasons.get(metric, ""))
                for metric in missing_reasons
            ),
            Cell(cost, reason="; ".join(point_reasons.values())),
            reason_text(row) or row["source"],
        )
    return sheet


def group_rates(audit: Audit, filters: Row, metric: str, point: str) -> Sheet:
    """Return an error rate of every group at an operating point, and its ratio to the reference.

    The highest rate comes first, that of all groups last. Without verdicts, ratios are those of
    the bias table.
    """
    rates, reference = rates_by_group(audit, filters), reference_text(audit)
    verdicts = verdicts_by_metric(audit, {**filters, "operating_point": point})
    ratio_rows = (verdicts or _measured_ratios(audit, filters, point)).get(metric, {})
    columns = (
        Column("Group", is_words=True, key="group"),
        Column("Verdict", is_words=True, key="verdict"),
        Column("Speakers", key="speakers"),
        Column(metric.upper(), unit="%", key="rate"),
        Column("Interval", key="interval"),
        Column("Errors / trials", key="counts"),
        Column("Design effect", key="deff"),
        Column("Effective trials", key="worth"),
        Column(f"Ratio to {reference}", key="ratio"),
        Column("Interval", key="ratio_interval"),
        Column("p, adjusted", key="p"),
        Column("Shrinkage estimate", key="best_guess"),
    )
    sheet = Sheet("", columns, sums=1 if POOLED in rates else 0, is_sortable=True)
    groups = sorted(
        rates,
        # groups without a rate come after all others
        key=lambda name: (name == POOLED, -(rates[name][metric, point]["value"] or -1)),
    )
    for group in groups:
        row, verdict_row = rates[group][metric, point], verdicts.get(metric, {}).get(group)
        ratio_row = ratio_rows.get(group)
        reason = ""
        if row["value"] is None:
            reason = inconclusive_text(row)
        sheet.add(
            Cell(group, "*" if verdict_row and verdict_row["gates"] else ""),
            _verdict_cell(verdict_row),
            count_text(row["speakers"]),
            Cell(percent_figure(row["value"]), reason=reason),
            interval_cell(row),
            Cell(errors_over_trials(row), reason=reason),
            *_design_effect_cells(row),
            *(_ratio_cells(ratio_row, reference) if ratio_row else (Cell(""),) * 3),
            shrinkage_estimate_text(verdict_row) if verdict_row else "",
        )
    return sheet


def errors_over_trials(row: Row) -> str:
    """Return the counts of a rate."""
    return UNDEFINED if row["trials"] is None else f"{count_text(row['errors'])}/{row['trials']:,}"


def interval_cell(row: Row) -> Cell:
    """Return a rate's interval in percent with its marks, or the reason why there is none."""
    if row["value"] is None:
        return Cell(UNDEFINED)
    return Cell(
        interval_text(row["low"], row["high"], times=100),
        "".join(interval_marks([row])),
        note_text(row),
    )


def _verdict_cell(row: Row | None) -> Cell:
    if row is None:
        return Cell("")
    if row["reason"] == IS_REFERENCE:
        return Cell("reference")
    return Cell(verdict_text(row), verdict="" if row.get("because_of") else row["verdict"])


def _design_effect_cells(row: Row) -> tuple[Cell, Cell]:
    """Return the design effect, and how many independent trials would be as informative."""
    if row["value"] is None:
        return Cell(""), Cell("")
    facts = facts_of_row(row, "note")
    reason = f"no design effect: {without_cause_text(facts[0])}" if facts else ""
    effective_trials = count_text(None if row["n_eff"] is None else round(row["n_eff"]))
    return Cell(short_number(row["deff"]), reason=reason), Cell(effective_trials, reason=reason)


def _ratio_cells(row: Row, reference: str) -> tuple[Cell, Cell, Cell]:
    """Return a group's ratio to the reference, its interval and p."""
    if row["reason"] == IS_REFERENCE:
        return Cell("1"), Cell(""), Cell("")
    if row["reason"] == "undefined_ratio":
        reason = sentence_text("no_ratio_of_reference", reference=reference)
    elif row["reason"] == "no_interval":
        reason = sentence_text("no_interval_of_ratio", reference=reference)
    else:
        reason = inconclusive_text(row if row["reason"] else {**row, "reason": "no_p"})
    ratio = None if row["ratio"] in {None, math.inf} else row["ratio"]
    limits = interval_text(row["low"], row["high"])
    return (
        Cell(short_number(ratio), reason=reason),
        Cell(limits, reason=reason),
        Cell(p_value_cell(row["p_holm"]), reason=reason),
    )


def _measured_ratios(audit: Audit, filters: Row, point: str) -> dict[str, dict[str, Row]]:
    """Return ratios to the first reference, for audits without verdicts."""
    reference = audit.record["options"]["reference"][0]
    bias_filters = {**filters, "operating_point": point, "measure": "ratio", "reference": reference}
    ratio_rows: dict[str, dict[str, Row]] = {}
    for row in audit.bias.subset(**bias_filters, zero="none", definition="").rows():
        ratio_rows.setdefault(row["metric"], {})[row["group"]] = {**row, "ratio": row["value"]}
    return ratio_rows


# ---- on paper: both rates next to each other


def rates_on_paper(audit: Audit, filters: Row, point: str, conditions: str = "") -> Sheet:
    """Return both rates of every group, sorted by name, each followed by its interval.

    A note states the `conditions` on which verdicts are confirmatory, if these are not elsewhere.
    """
    rates = rates_by_group(audit, filters)
    under_represented = shortfalls(
        verdicts_by_metric(audit, {**filters, "operating_point": point}), rates, point
    )
    columns = [Column("group", is_words=True), Column("speakers")]
    cells_by_group: dict[str, list[Cell]] = {
        group: [Cell(group, "*" if group in under_represented else "")]
        for group in sorted(rates, key=lambda group: (group == POOLED, group))
    }
    for metric_index, (metric, words) in enumerate(error_types(audit).items()):
        span_head = f"{words} ({metric.upper()})"
        columns += [Column(head, span_head) for head in ("errors/trials", "%", "ratio", "p")]
        sheet = group_rates(audit, filters, metric, point)
        keys = ("group", "speakers", "counts", "rate", "interval", "ratio", "ratio_interval", "p")
        for row in sheet.select(dict(zip(keys, keys, strict=True))).rows:
            group, speakers, counts, rate, interval, ratio, limits, p = row
            cells = [counts, _with_interval(rate, interval), _with_interval(ratio, limits), p]
            if ratio.text == "1" and not limits.text:
                cells[2] = Cell("reference")
            cells_by_group[group.text] += cells if metric_index else [speakers, *cells]
    name = system_label(filters["system"], filters["list"])
    label = grouping_with_allocation(filters["grouping"], filters["allocation"])
    notes = list(_notes(audit, rates, under_represented, point))
    if conditions and may_be_confirmatory(audit, filters, point):
        notes.append(f"Confidence: {conditions}")
    return Sheet(
        heading_with_status(audit, f"{name}: {label} at {point}", filters, point),
        columns,
        [*cells_by_group.values()],
        _reading_text(audit, filters, point),
        notes,
        sums=1 if POOLED in rates else 0,
    ).without_empty_columns()


def _with_interval(figure: Cell, interval: Cell) -> Cell:
    """Return a figure followed by its interval, if it has one."""
    if interval.text in {"", UNDEFINED}:
        return figure
    return Cell(f"{figure.text} {interval.text}", interval.mark)


def _spoof_reading(audit: Audit) -> str:
    return "; SFAR: spoof trials accepted" if "sfar" in error_types(audit) else ""


def _reading_text(audit: Audit, filters: Row, point: str) -> str:
    """Return how to read the table of both rates."""
    no_interval_reason = missing_interval_reason(
        audit, {name: filters[name] for name in ("system", "list")}
    )
    level = 100 * audit.record["options"]["confidence"]
    if no_interval_reason:
        interval_sentence = full_sentence("confidence_intervals_missing", reason=no_interval_reason)
    else:
        interval_sentence = full_sentence(
            "brackets_and_p", confidence=level, error_types=all_error_types(audit)
        )
    return sentence_text(
        "rates_and_ratio",
        spoof=_spoof_reading(audit),
        reference=reference_text(audit),
        intervals=interval_sentence,
        trials=trials_text(audit, [(filters, point)]),
    )


def trials_text(audit: Audit, system_points: Sequence[tuple[Row, str]]) -> str:
    """Return the numbers of trials of a table, which are a group's, and how many are in none.

    `system_points` are filters of groupings and operating points, as of several systems; empty if
    no system has an operating point.
    """
    if not system_points:
        return ""
    sentences: dict[str, list[str]] = {}
    for filters, point in system_points:
        label = system_label(filters["system"], filters["list"])
        sentences.setdefault(_trial_numbers_text(audit, filters, point), []).append(label)
    numbers = " ".join(
        words if len(sentences) == 1 else f"{' and '.join(labels)}: {words}"
        for words, labels in sentences.items()
    )
    allocation = system_points[0][0]["allocation"]
    spoof_text = ""
    if "sfar" in error_types(audit):
        spoof_text = " " + full_sentence("spoof_accepts_of_group", trials=SPOOF_TRIALS_OF_GROUP)
    return sentence_text(
        "false_accepts_of_group",
        numbers=numbers,
        allocation=ALLOCATIONS[allocation],
        spoof=spoof_text,
    )


def _trial_numbers_text(audit: Audit, filters: Row, point: str) -> str:
    """Return how many trials of either class are in a group, and how many in none."""
    system = {name: filters[name] for name in ("system", "list")}
    pooled = rates_by_group(audit, filters).get(POOLED, {})
    numbers, left_out = [], []
    for metric in error_types(audit):
        trial_class = base_metric(metric).trial_class
        pooled_row = pooled.get((metric, point))
        rows = audit.groups.subset(
            **system, grouping="all", within=filters["within"], metric=metric, operating_point=point
        ).rows()
        if pooled_row is None or not rows or None in {pooled_row["trials"], rows[0]["trials"]}:
            continue
        numbers.append(f"{pooled_row['trials']:,} {trial_class}")
        if n_left_out := rows[0]["trials"] - pooled_row["trials"]:
            left_out.append(f"{n_left_out:,} {trial_class}")
    if not numbers:
        return ""
    in_no_group = (
        "; " + sentence_text("trials_in_no_group_of_grouping", trials=" and ".join(left_out))
        if left_out
        else ""
    )
    return f"Trials: {' and '.join(numbers)}{in_no_group}."


def _notes(
    audit: Audit, rates: Rates, under_represented: Mapping[str, Sequence[Shortfall]], point: str
) -> Iterator[str]:
    """Return explanations of the marks and of missing rates."""
    if under_represented:
        yield f"* {minimums_text(audit)}: {groups_by_shortfall_text(under_represented)}."
    cells = [rows[metric, point] for rows in rates.values() for metric in error_types(audit)]
    yield from (f"{mark} {capitalised(words)}." for mark, words in interval_marks(cells).items())
    groups_by_sentence: dict[str, list[str]] = {}
    for row in cells:
        if row["value"] is None:
            cause = inconclusive_text(row)
            sentence = f"No {row['metric'].upper()} ({cause})"
            groups_by_sentence.setdefault(sentence, []).append(row["group"])
    yield from (
        f"{sentence}: {', '.join(groups)}." for sentence, groups in groups_by_sentence.items()
    )


# ---- at thresholds of their own, and by stratum


def own_thresholds(
    audit: Audit, filters: Row, metrics: Sequence[str] = OWN_THRESHOLD_METRICS
) -> Sheet | None:
    """Return EERs and minimum cost of each group, which show how hard it is for the system."""
    columns: list[Column] = []
    cells_by_column: list[dict[str, list[Cell]]] = []
    speakers: dict[str, str] = {}
    for metric in metrics:
        table = audit.groups.subset(**filters, metric=metric)
        factor, unit = (1, "") if metric == "min_cdet_norm" else (100, ", %")
        for definition in dict.fromkeys(row["definition"] for row in table.rows()):
            head = f"{MEASURES[metric].label}{unit}{f' ({definition})' if definition else ''}"
            columns += [Column(head), Column("Interval")]
            cells_by_column.append({})
            for row in table.subset(definition=definition).rows():
                speakers.setdefault(row["group"], count_text(row["speakers"]))
                rate = row["value"]
                figure = UNDEFINED if rate is None else f"{factor * rate:#.3g}".rstrip(".")
                limits = (
                    "" if rate is None else interval_text(row["low"], row["high"], times=factor)
                )
                cells = [Cell(figure, reason=reason_text(row)), Cell(limits, reason=note_text(row))]
                cells_by_column[-1][row["group"]] = cells
    if not columns:
        return None
    empty_cells = [Cell(""), Cell("")]
    return Sheet(
        "Each group at its group-specific threshold",
        [Column("Group", is_words=True), Column("Speakers"), *columns],
        [
            [
                Cell(group),
                Cell(n_speakers),
                *(cell for cells in cells_by_column for cell in cells.get(group, empty_cells)),
            ]
            for group, n_speakers in speakers.items()
        ],
        sums=1 if POOLED in speakers else 0,
        is_sortable=True,
    ).without_empty_columns(keeps_reasons=True)


def strata_table(
    audit: Audit, filters: Row, rates_by_stratum: Mapping[str, Rates], point: str
) -> Sheet | None:
    """Return which groups differ within each stratum of ``--within``; None without strata."""
    metrics = [
        metric
        for metric in error_types(audit)
        if any(
            has_rate(metric, point, stratum_rates) for stratum_rates in rates_by_stratum.values()
        )
    ]
    if not rates_by_stratum:
        return None
    columns = [Column("within", is_words=True, is_unbroken=True)]
    for metric in metrics:
        columns.append(Column(metric.upper()))
        columns.append(Column("groups that differ (x)", is_words=True, is_wide=True))
    sheet = Sheet("", columns)
    for stratum, rates in rates_by_stratum.items():
        verdicts = verdicts_by_metric(
            audit, {**filters, "within": stratum, "operating_point": point}
        )
        cells = []
        for metric in metrics:
            pooled = rates[POOLED][metric, point]
            interval = interval_cell(pooled)
            cells += [
                Cell(f"{percent(pooled['value'])} {interval.text}", interval.mark),
                Cell(differing_groups_text(verdicts.get(metric, {}))),
            ]
        sheet.add(stratum, *cells)
    return sheet


# ---- audits without intervals and so without verdicts


def both_rates(rates: Rates, point: str, title: str) -> Sheet:
    """Return the rates of every group, the highest FNR first, with ratios to the pooled rate."""
    heads = ["group", "speakers"]
    types = rate_error_types(rates)
    for metric in types:
        heads += [metric.upper(), "errors / trials", "ratio"]
    groups = [group for group in rates if group != POOLED]
    rows = []
    groups.sort(key=lambda group: -(rates[group]["fnr", point]["value"] or 0))
    for group in [*groups, POOLED]:
        cells = [group, count_text(rates[group]["fnr", point]["speakers"])]
        for metric in types:
            row, pooled = rates[group][metric, point], rates[POOLED][metric, point]["value"]
            if row["value"] is None:
                cells += (UNDEFINED, reason_text(row), UNDEFINED)
            else:
                ratio = _ratio_to_pooled(row["value"], pooled)
                cells += (percent(row["value"]), _spaced_counts(row), ratio)
        rows.append(cells)
    return Sheet.with_heads(title, heads, rows)


def _spaced_counts(row: Row) -> str:
    return f"{row['errors']:,} / {row['trials']:,}"


def _ratio_to_pooled(rate: float, pooled: float | None) -> str:
    return f"{rate / pooled:.2f}" if pooled else UNDEFINED


def group_sizes(rates: Rates) -> Sheet:
    """Return the speakers and trials of each group, for audits without rates."""
    keys = ("speakers", "target_trials", "nontarget_trials")
    # all rows of a group have the same sizes, so any of them will do
    size_rows = {group: next(iter(by_metric.values())) for group, by_metric in rates.items()}
    rows = [(group, *(count_text(row[key]) for key in keys)) for group, row in size_rows.items()]
    return Sheet.with_heads("", ("group", "speakers", "target trials", "nontarget trials"), rows)


def extreme_groups(rates: Rates, points: Iterable[Row]) -> Sheet:
    """Return the groups of highest and lowest rate at each point."""
    heads = ("at", "error", "group", "rate", "ratio to pooled", "errors / trials, speakers")
    sheet = Sheet.with_heads("", heads, words=(1, 2, 3, 6))
    for point_row in points:
        point = point_row["operating_point"]
        for metric, words in rate_error_types(rates).items():
            ranked_rows = _rows_by_rate(rates, metric, point)
            pooled = rates[POOLED][metric, point]["value"]
            if (
                len(ranked_rows) < 2
                or not pooled
                or ranked_rows[0]["value"] == ranked_rows[-1]["value"]
            ):
                continue
            for extreme, row in (("most", ranked_rows[-1]), ("fewest", ranked_rows[0])):
                speakers_text = (
                    "" if row["speakers"] is None else f", {count_of(row['speakers'], 'speaker')}"
                )
                rate_cells = (percent(row["value"]), _ratio_to_pooled(row["value"], pooled))
                label = f"{extreme} {words}"
                sheet.add(
                    point, label, row["group"], *rate_cells, f"{_spaced_counts(row)}{speakers_text}"
                )
    return sheet


def worst_groups_by_stratum(rates_by_stratum: Mapping[str, Rates], point: str) -> Sheet:
    """Return the group of highest rate within each stratum, against the stratum's pooled rate."""
    columns = [Column("within", is_words=True, is_unbroken=True)]
    types = error_types_of(
        metric for rates in rates_by_stratum.values() for metric in rate_error_types(rates)
    )
    for metric, words in types.items():
        columns += [
            Column(metric.upper()),
            Column(f"most {words}", is_words=True),
            Column("ratio"),
            Column("errors"),
        ]
    sheet = Sheet("", columns)
    for stratum, rates in rates_by_stratum.items():
        cells = []
        for metric in types:
            pooled, ranked_rows = (
                rates[POOLED][metric, point]["value"],
                _rows_by_rate(rates, metric, point),
            )
            cells.append(percent(pooled))
            if not ranked_rows or not pooled:
                cells += [UNDEFINED] * 3
                continue
            worst = ranked_rows[-1]
            cells += [
                worst["group"],
                _ratio_to_pooled(worst["value"], pooled),
                f"{worst['errors']:,}",
            ]
        sheet.add(stratum, *cells)
    return sheet


def _rows_by_rate(rates: Rates, metric: str, point: str) -> list[Row]:
    """Return the rows of groups that have a rate, the lowest first."""
    rows = [
        rates_by_metric[metric, point]
        for group, rates_by_metric in rates.items()
        if group != POOLED
    ]
    return sorted((row for row in rows if row["value"] is not None), key=lambda row: row["value"])
