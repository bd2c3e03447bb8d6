"""Tables besides error rates.

Limits, failed recordings, errors by speaker, attempts, and standardised rates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.auditing import CASCADE_SOURCE, REJECTED_FIRST, REJECTED_SECOND, TANDEM_ITEMS
from parivox.facts import facts_of_row
from parivox.report.audit_queries import (
    POOLED,
    error_types,
    first_point_name,
    grouping_with_allocation,
    has_several_systems,
    system_label,
)
from parivox.report.catalogue import full_sentence, note_text, reason_text, sentence_text
from parivox.report.findings import (
    LIMIT_VERDICTS,
    limit_rows,
    limited_rate_text,
    limited_value_text,
    reference_text,
)
from parivox.report.sheets.sheet import UNDEFINED, Cell, Sheet
from parivox.report.words import (
    interval_text,
    percent,
    percent_figure,
    share_of_speakers,
    short_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Rates
    from parivox.report.words import Row

_RULE_TEXTS = {
    "attempts": sentence_text("failures_are_attempts"),
    "shares": sentence_text("failures_by_share"),
}
_FAILURE_METRICS = ("fte", "fta")
_MAX_CAUSES = 24
"""More rows of reasons than this are replaced by those of all groups together."""
_PER_TRIALS = 10_000
"""Results of attempts are given per this number of speakers or impostors."""


def limits(audit: Audit) -> Iterator[Sheet]:
    """Return the verdict on every group at each limit, of each system and grouping."""
    rows_by_grouping: dict[tuple[str, ...], list[Row]] = {}
    for row in limit_rows(audit, {}):
        key = (row["system"], row["list"], row["grouping"], row["allocation"])
        rows_by_grouping.setdefault(key, []).append(row)
    for (system, trial_list, grouping, allocation), rows in rows_by_grouping.items():
        label = grouping_with_allocation(grouping, allocation)
        if has_several_systems(audit):
            label = f"{system_label(system, trial_list)}: {label}"
        heads = list(dict.fromkeys(_limit_head(audit, row) for row in rows))
        cells_by_group: dict[str, dict[str, Cell]] = {}
        for row in sorted(rows, key=lambda row: (row["group"] == POOLED, row["group"])):
            cells = cells_by_group.setdefault(row["group"], {})
            cells[_limit_head(audit, row)] = _limit_cell(row)
        yield Sheet.with_heads(
            f"Limits by {label}, each group judged separately",
            ["Group", *heads],
            [
                [Cell(group), *(cells.get(head, Cell("")) for head in heads)]
                for group, cells in cells_by_group.items()
            ],
            words=range(1, len(heads) + 2),
            is_sortable=True,
        )


def _limit_head(audit: Audit, row: Row) -> str:
    """Return a limit as the head of a column."""
    maximum = f"{100 * row['limit']:g} %"
    if row["measure"] != "limit":
        maximum = f"{row['limit']:g} times the rate of {reference_text(audit)}"
    at_point = f" at {row['operating_point']}" if row["operating_point"] else ""
    return f"{limited_rate_text(row)}{at_point}: at most {maximum}"


def _limit_cell(row: Row) -> Cell:
    """Return the verdict on a limit above the value with its interval."""
    below = reason_text(row) if row["value"] is None else limited_value_text(row)
    return Cell(LIMIT_VERDICTS[row["verdict"]], below=below)


def failures(audit: Audit, filters: Row, rates: Rates, point: str) -> Iterator[Sheet]:
    """Return failures to enrol and acquire, the rates that count them, and times of trials."""
    rows_by_group: dict[str, dict[str, Row]] = {group: {} for group in rates}
    for metric, operating_point in (
        ("fte", ""),
        ("fta", ""),
        ("seconds", ""),
        ("frr", point),
        ("far", point),
    ):
        metric_filters = {
            **filters,
            "within": "",
            "metric": metric,
            "operating_point": operating_point,
        }
        for row in audit.groups.subset(**metric_filters).rows():
            rows_by_group[row["group"]][f"{metric} {row['definition']}".strip()] = row
    # every group has the same metrics
    first_group = next(iter(rates))
    first_rows = rows_by_group[first_group]
    if "fte" in first_rows:
        attempt_rates = [
            rows.get("frr attempts", {}).get("value") for rows in rows_by_group.values()
        ]
        # attempts are counted if the list has trials of the recordings that failed
        rule = "shares" if all(rate is None for rate in attempt_rates) else "attempts"
        yield _rates(
            rows_by_group, {"fte": "to enrol (FTE)", "fta": "to acquire (FTA)"}, "Failures {}"
        )
        yield from _causes(audit, filters, list(rows_by_group))
        note = sentence_text("failures_are_rejections", rule=_RULE_TEXTS[rule])
        title = f"{{}}: {note}"
        yield _rates(rows_by_group, {f"frr {rule}": "FRR", f"far {rule}": "FAR"}, title)
    if "seconds mean" in first_rows:
        time_rows = []
        for group, rows in rows_by_group.items():
            times = [rows[f"seconds {name}"]["value"] for name in ("mean", "q50", "q95")]
            seconds = (UNDEFINED if time is None else f"{time:.3g}" for time in times)
            time_rows.append((group, f"{rows['seconds mean']['trials']:,}", *seconds))
        heads = ("group", "trials timed", "mean s", "median s", "95 % within s")
        yield Sheet.with_heads("", heads, time_rows)


def _rates(
    rows_by_group: Mapping[str, Mapping[str, Row]], metrics: Mapping[str, str], title: str
) -> Sheet:
    """Return rates of each group, with the reason for rates that no group has.

    Failure rates have their counts.
    """
    metrics_by_reason: dict[str, list[str]] = {}
    known_metrics, heads = [], ["group"]
    for metric in metrics:
        rows = [group_rows[metric] for group_rows in rows_by_group.values()]
        name = metric.partition(" ")[0].upper()
        if any(row["value"] is not None for row in rows):
            known_metrics.append(metric)
            heads += [name, "[interval]"]
            if metric in _FAILURE_METRICS:
                heads.append("failed / tried")
        else:
            reason = "; ".join(dict.fromkeys(reason_text(row) for row in rows))
            metrics_by_reason.setdefault(reason, []).append(name)
    missing_sentences = " ".join(
        f"No {' and no '.join(names)}: {reason}." for reason, names in metrics_by_reason.items()
    )
    if not known_metrics:
        return Sheet.with_heads(missing_sentences, ("group",))
    title = title.format(" and ".join(metrics[metric] for metric in known_metrics))
    return Sheet.with_heads(
        f"{title}. {missing_sentences}" if missing_sentences else title,
        heads,
        [
            (group, *(cell for metric in known_metrics for cell in _rate_cells(rows[metric])))
            for group, rows in rows_by_group.items()
        ],
        title_end="" if missing_sentences else ":",
    )


def _causes(audit: Audit, filters: Row, groups: Sequence[str]) -> Iterator[Sheet]:
    """Return reasons for failures of each group; of many, those of all groups together."""
    table_filters = {name: filters[name] for name in ("system", "list", "grouping")}
    table = audit.failures.subset(**table_filters).rows()
    rows = [row for group in groups for row in table if row["group"] == group]
    title = "Reasons of failures"
    if len(rows) > _MAX_CAUSES:
        rows = [row for row in rows if row["group"] == POOLED]
        title = "Reasons of failures, all groups pooled (by group: failures.csv)"
    if rows:
        yield Sheet.with_heads(
            title,
            ("group", "at", "reason", "failed / tried", "share", "[interval]"),
            [
                (
                    row["group"],
                    row["stage"],
                    row["cause"] or "none given",
                    f"{row['failed']:,} / {row['tried']:,}",
                    percent(row["value"]),
                    interval_text(row["low"], row["high"], times=100),
                )
                for row in rows
            ],
            words=(1, 2, 3),
            title_end=":",
        )


def _rate_cells(row: Row) -> Iterator[str | Cell]:
    """Return a rate, its interval and, for a failure rate, its counts."""
    if row["value"] is None:
        yield Cell(UNDEFINED, reason=reason_text(row))
    else:
        yield percent(row["value"])
    yield interval_text(row["low"], row["high"], times=100)
    if row["metric"] in _FAILURE_METRICS:
        yield "" if row["value"] is None else f"{row['errors']:,} / {row['trials']:,}"


def speaker_errors(audit: Audit, filters: Row, point: str) -> Iterator[Sheet]:
    """Return how unequally false rejects are spread over the speakers of each group."""
    table = audit.limits.subset(**{**filters, "within": "", "operating_point": point})
    worst_tenth, expected_tenth = (
        {row["group"]: row["value"] for row in table.subset(measure=measure).rows()}
        for measure in ("worst_tenth", "worst_tenth_if_equal")
    )
    limit_rows = table.subset(measure="speakers_above").rows()
    for limit in dict.fromkeys(row["limit"] for row in limit_rows):
        yield Sheet.with_heads(
            sentence_text("speaker_error_shares", point=point),
            (
                "group",
                f"FNR above {percent(limit)}",
                "[interval]",
                "worst 10 %",
                "if rates were equal",
            ),
            [
                (
                    row["group"],
                    reason_text(row) or share_of_speakers(row["value"]),
                    interval_text(row["low"], row["high"], times=100),
                    share_of_speakers(worst_tenth[row["group"]]),
                    share_of_speakers(expected_tenth[row["group"]]),
                )
                for row in limit_rows
                if row["limit"] == limit
            ],
            topic=f"Speakers at {point}",
            title_end=":",
        )


def rejecting_stages(audit: Audit, filters: Row, rates: Rates) -> Iterator[Sheet]:
    """Return how many target trials each stage of a cascade rejects, by group and over all."""
    table_filters = {name: filters[name] for name in ("system", "list")}
    table = audit.data.subset(**table_filters, source=CASCADE_SOURCE)
    rows: dict[str, dict[str, Row]] = {}
    for grouping in (filters["grouping"], "all"):
        for row in table.subset(grouping=grouping).rows():
            rows.setdefault(row["group"], {})[row["item"]] = row
    if not rows:
        return
    point = first_point_name(audit, filters)
    cells_by_group: dict[str, list[str]] = {}
    for group, rows_of_group in rows.items():
        if group in rates or group == "all":
            for item in (REJECTED_FIRST, REJECTED_SECOND):
                cells = [UNDEFINED, UNDEFINED]  # no operating point has a threshold
                if item in rows_of_group:
                    row = rows_of_group[item]
                    cells = [f"{row['count']:,}", percent_figure(row["value"])]
                cells_by_group.setdefault(group, []).extend(cells)
    yield Sheet.with_heads(
        f"Target trials that each stage rejects{f' at {point}' if point else ''}, the "
        "countermeasure first",
        ("group", "countermeasure", "%", "verification alone", "%"),
        [(group, *cells) for group, cells in cells_by_group.items()],
        topic="Target trials that each stage rejects",
        title_end=":",
    )


def tandem_costs(audit: Audit, filters: Row) -> Iterator[Sheet]:
    """Return the t-DCF of all trials of a cascade, with the tables of the first grouping."""
    if filters["grouping"] != audit.record["groupings"][0]:
        return
    table_filters = {name: filters[name] for name in ("system", "list")}
    table = audit.data.subset(**table_filters, source=CASCADE_SOURCE)
    rows = {row["item"]: row for row in table.rows() if row["item"] in TANDEM_ITEMS}
    # an audit of before, one without a countermeasure, or one without spoof trials
    if not rows or "sfar" not in error_types(audit):
        return
    costs = [
        Cell(_cost(rows[item]["value"]), reason=note_text(rows[item])) for item in TANDEM_ITEMS
    ]
    (cost,) = facts_of_row(rows[TANDEM_ITEMS[0]], "item")
    yield Sheet.with_heads(
        "t-DCF of all trials, which assumes that the two systems err independently",
        ("cost model", "normalised", "raw", "smallest, normalised"),
        [(cost.values["cost"], *costs)],
        topic="t-DCF",
        title_end=":",
    )


def _cost(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.4f}"


def attempts(audit: Audit, filters: Row, point: str) -> Iterator[Sheet]:
    """Return false rejects and false accepts after several attempts."""
    table = audit.limits.subset(**{**filters, "within": "", "operating_point": point})
    cells_by_group: dict[str, list[str]] = {}
    for measure in ("locked_out", "locked_out_people", "impostors_in", "attempts_until"):
        factor = 1 if measure == "attempts_until" else _PER_TRIALS
        for row in table.subset(measure=measure).rows():
            figure = None if row["value"] is None else factor * row["value"]
            is_many = figure is not None and figure >= _PER_TRIALS - 1
            cells = cells_by_group.setdefault(row["group"], [])
            cells.append(f"{figure:,.0f}" if is_many else short_number(figure))
            if measure != "locked_out_people":
                cells.append(interval_text(row["low"], row["high"], times=factor))
    if cells_by_group:
        yield Sheet.with_heads(
            full_sentence(
                "success_of_attempts",
                speakers=_PER_TRIALS,
                attempts=audit.record["options"]["attempts"],
                point=point,
            ),
            (
                "group",
                "rejected",
                "[interval]",
                "rates differ",
                "accepted",
                "[interval]",
                "attempts",
                "[interval]",
            ),
            [(group, *cells) for group, cells in cells_by_group.items()],
            topic=f"{audit.record['options']['attempts']} attempts at {point}",
        )


def standardised_rates(
    audit: Audit, filters: Row, rates: Rates, point: str, attributes: Sequence[str]
) -> Iterator[Sheet]:
    """Return rates with equal weight for every stratum of an attribute, next to the crude ones."""
    for attribute in attributes:
        cells: dict[str, list[str]] = {}
        notes = []
        table_filters = {**filters, "within": "", "operating_point": point}
        table = audit.groups.subset(**table_filters, definition=f"standardised {attribute}")
        for metric in error_types(audit):
            for row in table.subset(metric=metric).rows():
                crude = rates[row["group"]][metric, point]["value"]
                interval = interval_text(row["low"], row["high"], times=100)
                rate_figures = (percent_figure(rate) for rate in (crude, row["value"]))
                cells.setdefault(row["group"], []).extend(
                    [*rate_figures, reason_text(row) or interval]
                )
                notes += [
                    f"{metric.upper()}: {', '.join(fact.values['strata'])}"
                    for fact in facts_of_row(row, "note")
                    if fact.code == "equal_weights" and not row["reason"]
                ]
        if cells:
            weights_text = f" ({'; '.join(dict.fromkeys(notes))})" if notes else ""
            yield Sheet.with_heads(
                f"At {point} with equal weight for each stratum of {attribute}{weights_text}",
                (
                    "group",
                    "FNR, %",
                    "standardised",
                    "[interval]",
                    "FPR, %",
                    "standardised",
                    "[interval]",
                ),
                [(group, *figures) for group, figures in cells.items()],
                topic=f"At {point} with equal weight for each stratum of {attribute}",
                title_end=":",
            )
