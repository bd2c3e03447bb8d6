"""Tables of several systems, lists, operating points or attributes side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parivox.core.measures import meta_measures
from parivox.data.trial_set import COMMON_TRIALS
from parivox.report.audit_queries import (
    ERROR_TYPES,
    POOLED,
    attribute_values,
    error_types,
    grouping_with_allocation,
    has_rate,
    interval_marks,
    rates_by_group,
    system_label,
    verdicts_by_metric,
)
from parivox.report.catalogue import full_sentence, reason_text, sentence_text, shared_text
from parivox.report.findings import minimums_text
from parivox.report.sheets.groups import (
    errors_over_trials,
    interval_cell,
    trials_text,
)
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.words import (
    capitalised,
    count_text,
    interval_text,
    p_value_cell,
    percent,
    percent_figure,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing import Audit
    from parivox.data.table import Table
    from parivox.report.audit_queries import Rates, Verdicts
    from parivox.report.words import Row

_PAIR_KEYS = ("system", "list", "other_system", "other_list")
_METRIC_LABELS = {
    "eer": "EER",
    "min_cdet_norm": "min cost",
    "fnr": "FNR",
    "fpr": "FPR",
    "sfar": "SFAR",
}
_RANK_NAMES = {"p_more_accurate": "fewer errors", "p_less_spread": "less spread", "p_both": "both"}


class GroupingComparison(NamedTuple):
    """A grouping of two systems at the first operating point of both."""

    label: str
    spreads: Sheet
    """Spread between groups in both systems."""
    groups: list[Sheet]
    """Each group's rate in both systems, on the same draws of speakers."""
    ranks: list[tuple[str, str, float, float]]
    """Metric, rank name, and the share of draws of speakers in which each system is better."""


class ComparedPair(NamedTuple):
    """Two systems, or one on two lists: all trials, and each grouping."""

    names: tuple[str, str]
    shared: str  # what both have in common, in words
    is_on_common_trials: bool  # whether they have only some of their trials in common
    all_trials: Sheet
    groupings: list[GroupingComparison]

    @property
    def label(self) -> str:
        """The names of both."""
        return " against ".join(self.names)


def pairs(audit: Audit) -> Iterator[ComparedPair]:
    """Return every pair of systems and lists that was compared."""
    row_of_pair = {tuple(row[key] for key in _PAIR_KEYS): row for row in audit.comparison.rows()}
    for pair, row in row_of_pair.items():
        rows = audit.comparison.subset(**dict(zip(_PAIR_KEYS, pair, strict=True)), within="")
        names = (system_label(*pair[:2]), system_label(*pair[2:]))
        groupings = []
        for grouping in audit.record["groupings"]:
            for allocation in audit.record["options"]["allocate"]:
                comparison = _grouping_comparison(audit, rows, grouping, allocation, names)
                if comparison is not None:
                    groupings.append(comparison)
        yield ComparedPair(
            names,
            shared_text(row),
            row["speakers"] == COMMON_TRIALS,
            _comparison_sheet("", "all trials", names, _all_trials_rows(rows)),
            groupings,
        )


def _comparison_sheet(
    title: str, row_head: str, names: tuple[str, str], rows: Iterator[list[Cell]]
) -> Sheet:
    return Sheet.with_heads(title, (row_head, *names, "difference", "[interval]", "p"), rows)


def _all_trials_rows(table: Table) -> Iterator[list[Cell]]:
    """Return rows of all trials; a metric with several definitions has a row for each."""
    rows = table.subset(grouping="all", measure="value").rows()
    rows = [row for row in rows if row["metric"] in _METRIC_LABELS]
    points = [(row["metric"], row["operating_point"]) for row in rows]
    for row in rows:
        metric, operating_point = row["metric"], row["operating_point"]
        point_text = f" at {operating_point}" if operating_point else ""
        definition_text = (
            "" if points.count((metric, operating_point)) == 1 else f" ({row['definition']})"
        )
        yield _cells(
            row,
            f"{_METRIC_LABELS[metric]}{point_text}{definition_text}",
            is_share=metric != "min_cdet_norm",
        )


def _grouping_comparison(
    audit: Audit, comparison_rows: Table, grouping: str, allocation: str, names: tuple[str, str]
) -> GroupingComparison | None:
    rows = comparison_rows.subset(grouping=grouping, allocation=allocation)
    points = [row["operating_point"] for row in rows.subset(metric="fnr", definition="").rows()]
    if not points:
        return None
    label = f"{grouping_with_allocation(grouping, allocation)} at {points[0]}"
    point_rows = rows.subset(operating_point=points[0])
    spreads = _comparison_sheet("", label, names, _spread_rows(audit, point_rows))
    groups = [
        _comparison_sheet(
            f"{metric.upper()} ({words}) of each group",
            "group",
            names,
            _group_rows(point_rows, metric),
        )
        for metric, words in error_types(audit).items()
    ]
    ranks = []
    for metric in error_types(audit):
        for measure, rank_name in _RANK_NAMES.items():
            rows_of_rank = point_rows.subset(metric=metric, measure=measure).rows()
            ranks += [
                (metric.upper(), rank_name, row["value"], row["other"])
                for row in rows_of_rank
                if row["value"] is not None
            ]
    return GroupingComparison(label, spreads, [sheet for sheet in groups if sheet.rows], ranks)


def _spread_rows(audit: Audit, rows: Table) -> Iterator[list[Cell]]:
    alpha = audit.record["options"]["alpha"][0]
    for measure in meta_measures().values():
        if measure.is_joint and measure.shown == "first":
            for row in rows.subset(measure=measure.id, alpha=alpha, zero="none").rows():
                yield _cells(row, measure.short, is_share=False)
    for metric in error_types(audit):
        for row in rows.subset(measure="spread", metric=metric).rows():
            if row["value"] is not None:
                yield _cells(row, f"variance of log {metric.upper()}", is_share=False)


def _group_rows(rows: Table, metric: str) -> Iterator[list[Cell]]:
    """Return rows of a rate of each group, the pooled rate last."""
    group_rows = rows.subset(measure="value", metric=metric, definition="").rows()
    for row in sorted(group_rows, key=lambda row: row["group"] == POOLED):
        yield _cells(row, row["group"], is_share=True)


def _cells(row: Row, label: str, *, is_share: bool) -> list[Cell]:
    """Return both systems' values, their difference, its interval and p; shares in percent."""
    factor, difference, reason = 100 if is_share else 1, row["difference"], reason_text(row)

    def figure(number: float | None) -> str:
        return percent(number) if is_share or number is None else f"{number:.4g}"

    no_p = sentence_text("no_p_valid_method_unknown") if row["high"] is not None else reason
    return [
        Cell(label),
        Cell(figure(row["value"]), reason=reason),
        Cell(figure(row["other"]), reason=reason),
        Cell(UNDEFINED if difference is None else f"{factor * difference:+.3g}", reason=reason),
        Cell(interval_text(row["low"], row["high"], times=factor), reason=reason),
        Cell(p_value_cell(row["p"]), reason=no_p),
    ]


# ---- groups in systems, at operating points, and of two attributes


class _PointRates(NamedTuple):
    """Rates and verdicts of a grouping at an operating point."""

    rates: Rates
    verdicts: Verdicts
    point: str

    @classmethod
    def from_audit(cls, audit: Audit, filters: Row, point: str) -> _PointRates:
        return cls(
            rates_by_group(audit, filters),
            verdicts_by_metric(audit, {**filters, "operating_point": point}),
            point,
        )

    def rows_at_point(self, metrics: Sequence[str]) -> list[Row]:
        """Return the rows of these rates of all groups."""
        keys = [(metric, self.point) for metric in metrics]
        return [rows[key] for rows in self.rates.values() for key in keys if key in rows]

    def cell(self, group: str, metric: str) -> Cell:
        """Return a rate with its interval or else its counts, and a star below a minimum."""
        row = self.rates.get(group, {}).get((metric, self.point))
        if row is None:
            return Cell(UNDEFINED, reason=sentence_text("no_such_group"))
        if row["value"] is None:
            return Cell(UNDEFINED, reason=reason_text(row))
        verdict_row = self.verdicts.get(metric, {}).get(group)
        star = "*" if verdict_row and verdict_row["gates"] else ""
        speakers = "" if row["speakers"] is None else f"{row['speakers']:,}\u00a0sp."
        if row["high"] is None:
            return Cell(
                f"{percent_figure(row['value'])} ({errors_over_trials(row)})", star, below=speakers
            )
        interval = interval_cell(row)
        below = f"{errors_over_trials(row)}, {speakers}" if speakers else errors_over_trials(row)
        rate = f"{percent_figure(row['value'])} {interval.text}{interval.mark}"
        return Cell(rate, star, below=below)


def audited_points(audit: Audit, filters: Row, points: Sequence[str]) -> Sheet:
    """Return both rates of every group at each of several operating points."""
    point_rates = [_PointRates.from_audit(audit, filters, point) for point in points]
    groups = sorted(rates_by_group(audit, filters), key=lambda group: (group == POOLED, group))
    rate_columns = [
        Column(f"{metric.upper()}, %, at {point}")
        for point in points
        for metric in error_types(audit)
    ]
    rows = []
    for group in groups:
        rate_cells = [
            rates.cell(group, metric) for rates in point_rates for metric in error_types(audit)
        ]
        rows.append([Cell(group), *rate_cells])
    return Sheet(
        "",
        [Column("group", is_words=True), *rate_columns],
        rows,
        sums=1 if POOLED in groups else 0,
    )


def rates_side_by_side(
    audit: Audit, grouping: str, system_points: Sequence[tuple[Row, str]]
) -> Sheet:
    """Return both rates of each group, all systems and lists next to each other."""
    system_rates = [
        _PointRates.from_audit(audit, filters, point) for filters, point in system_points
    ]
    labels = [system_label(filters["system"], filters["list"]) for filters, _ in system_points]
    metrics = [
        metric
        for metric in error_types(audit)
        if any(has_rate(metric, rates.point, rates.rates) for rates in system_rates)
    ]
    rate_columns = [
        Column(label, f"{ERROR_TYPES[metric]} ({metric.upper()}), %")
        for metric in metrics
        for label in labels
    ]
    groups = {group for rates in system_rates for group in rates.rates}
    rows = []
    for group in sorted(groups, key=lambda group: (group == POOLED, group)):
        cells = [rates.cell(group, metric) for metric in metrics for rates in system_rates]
        rows.append([Cell(group), Cell(_speakers_text(system_rates, group)), *cells])
    cell_rows = [row for rates in system_rates for row in rates.rows_at_point(metrics)]
    notes = [f"{mark} {capitalised(words)}." for mark, words in interval_marks(cell_rows).items()]
    if any("*" in cell.mark for cells in rows for cell in cells):
        notes.insert(0, f"* {minimums_text(audit)}.")
    points_text = ", ".join(dict.fromkeys(point for _, point in system_points))
    return Sheet(
        f"{grouping}: error rates of {' and '.join(labels)} at {points_text}",
        [Column("group", is_words=True), Column("speakers"), *rate_columns],
        rows,
        f"{_rates_reading(audit, cell_rows)} {trials_text(audit, system_points)}",
        notes,
        sums=1 if POOLED in groups else 0,
    ).without_empty_columns()


def _speakers_text(system_rates: Sequence[_PointRates], group: str) -> str:
    """Return the speakers of a group, of each system where systems have others."""
    numbers = [
        count_text(row["speakers"])
        for rates in system_rates
        for row in [rates.rates.get(group, {}).get(("fnr", rates.point))]
        if row is not None
    ]
    return ", ".join(dict.fromkeys(numbers))


def _rates_reading(audit: Audit, cell_rows: Sequence[Row]) -> str:
    """Return how to read the cells of `rates_side_by_side`."""
    sentences = [full_sentence("rates_are_of_trials")]
    if any(row["high"] is not None for row in cell_rows):
        level = 100 * audit.record["options"]["confidence"]
        sentences.append(full_sentence("brackets_are_intervals", confidence=level))
    if any(row["value"] is not None and row["high"] is None for row in cell_rows):
        sentences.append(full_sentence("parentheses_are_counts"))
    return " ".join(sentences)


_CELL_READING = full_sentence("cells_are_rates", undefined=UNDEFINED)


def crosstabs(audit: Audit, filters: Row, point: str) -> list[Sheet]:
    """Return both rates of an intersection of two attributes, with margins that were audited.

    The attribute with more values is in the rows.
    """
    values = attribute_values(audit, filters)
    if len(values) != 2 or not all(values.values()):
        return []
    row_attribute, column_attribute = sorted(values, key=lambda name: -len(values[name]))
    first_attribute, _ = values
    # names of groups have the attributes in the order of the grouping
    is_transposed = first_attribute != row_attribute
    intersection = _PointRates.from_audit(audit, filters, point)
    margins = {
        attribute: _PointRates.from_audit(audit, {**filters, "grouping": attribute}, point)
        for attribute in values
    }
    missing_margins = [
        attribute for attribute in (row_attribute, column_attribute) if not margins[attribute].rates
    ]
    has_row_margin = row_attribute not in missing_margins
    has_column_margin = column_attribute not in missing_margins
    column_heads = [*values[column_attribute], *(["all"] if has_row_margin else [])]
    system = system_label(filters["system"], filters["list"])
    sheets = []
    for metric in error_types(audit):
        rows = []
        for row_value in values[row_attribute]:
            cells = [Cell(row_value)]
            for column_value in values[column_attribute]:
                pair = (row_value, column_value)
                group = "+".join(pair[::-1] if is_transposed else pair)
                cells.append(intersection.cell(group, metric))
            if has_row_margin:
                cells.append(margins[row_attribute].cell(row_value, metric))
            rows.append(cells)
        if has_column_margin:
            cells = [Cell("all")]
            for column_value in values[column_attribute]:
                cells.append(margins[column_attribute].cell(column_value, metric))
            if has_row_margin:
                cells.append(intersection.cell(POOLED, metric))
            rows.append(cells)
        sheets.append(
            Sheet(
                f"{system}: {ERROR_TYPES[metric]} ({metric.upper()}, %), "
                f"{row_attribute} by {column_attribute} at {point}",
                [
                    Column(row_attribute, is_words=True),
                    *(Column(head, column_attribute) for head in column_heads),
                ],
                rows,
                f"{_CELL_READING} {trials_text(audit, [(filters, point)])}",
                [
                    full_sentence("no_margin_for_attribute", attribute=attribute)
                    for attribute in missing_margins
                ],
                sums=1 if has_column_margin else 0,
                is_sortable=True,
            )
        )
    return sheets


def by_system(
    audit: Audit, grouping: str, system_points: Sequence[tuple[Row, str]]
) -> Iterator[Sheet]:
    """Return both rates of each group in every system and list, each at its operating point."""
    system_rates = [
        _PointRates.from_audit(audit, filters, point) for filters, point in system_points
    ]
    groups = {group for rates in system_rates for group in rates.rates}
    groups_in_order = sorted(groups, key=lambda group: (group == POOLED, group))
    points_text = ", ".join(dict.fromkeys(point for _, point in system_points))
    for metric, words in error_types(audit).items():
        yield Sheet(
            f"{grouping}: {words} ({metric.upper()}, %), by system at {points_text}",
            [
                Column("group", is_words=True),
                *(
                    Column(system_label(filters["system"], filters["list"]))
                    for filters, _ in system_points
                ),
            ],
            [
                [Cell(group), *(rates.cell(group, metric) for rates in system_rates)]
                for group in groups_in_order
            ],
            f"{_CELL_READING} {trials_text(audit, system_points)}",
            sums=1 if POOLED in groups else 0,
            is_sortable=True,
        )
