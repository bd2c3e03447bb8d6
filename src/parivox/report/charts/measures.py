"""Charts of meta-measures against their noise floors, over base metrics, and against accuracy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parivox.core.measures import MEASURES, meta_measures
from parivox.errors import ConfigError
from parivox.report.audit_queries import (
    NOT_UNDER_REPRESENTED,
    covers_same_groups,
    groups_left_out,
    measured_groups_text,
    not_under_represented_text,
    omission_reasons,
)
from parivox.report.catalogue import full_sentence, sentence_text
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    RATES,
    ChartScope,
    Drawing,
    Row,
    Subject,
    chart,
    check_name,
    short_name,
    shortened,
    table_rows,
)
from parivox.report.charts.theme import text_width
from parivox.report.sheets.sheet import UNDEFINED
from parivox.report.words import capitalised, interval_text, p_value_cell, percent, short_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.core.registry import MetaMeasure
    from parivox.report.charts.theme import Theme


# ---- every meta-measure in units of its noise floor


_DRAWN_MEASURES = (
    "fdr",
    "ir",
    "garbe",
    "eo_diff",
    "eo_ratio",
    "tau_log",
    "gini",
    "max_min",
    "nrb",
    "cv",
    "sd",
)
"""Measures of the chart, which has one line for each measure and error type. It omits terms of a
joint measure, and measures that differ little from a drawn one, as `min_max` from `max_min`.
"""
_METRIC_LABELS = {"fpr+fnr": "both", "fnr": "FNR", "fpr": "FPR"}
_ROW_HEIGHT = 17
_MAX_FLOORS = 4.0
"""Where the axis ends, in noise floors; larger values are drawn there."""
_ABOVE_FLOOR, _WITHIN_FLOOR = "beyond the floor", "within the floor"


@chart("measures", drawn_per="grouping")
def measures(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw meta-measures of every system in units of their noise floors."""
    inks = theme.inks
    is_gated = covers_same_groups(scope.audit, scope.point_filters)
    systems = {
        short_name(subject): _measures_in_floors(scope, subject, is_gated=is_gated)
        for subject in scope.subjects
    }
    systems = {label: rows for label, rows in systems.items() if rows}
    if not systems:
        msg = (
            f"no measure of {scope.grouping} has a noise floor at {scope.operating_point}: a "
            "noise floor needs intervals and two groups that meet the sample-size minimums"
        )
        raise ConfigError(msg)
    all_rows = [row for rows in systems.values() for row in rows]
    measure_names = [*dict.fromkeys(row["name"] for row in all_rows)]
    axis_end = min(max(max(row["x"] for row in all_rows) * 1.08, 1.5), _MAX_FLOORS)
    n_columns = 1 if theme.is_narrow else len(systems)
    width = (theme.width - 120) // n_columns - 10
    omitted_groups = [*dict.fromkeys(name for row in all_rows for name in row["out"])]
    # a measure that omits groups is followed by its value for all groups
    figures_width = (84 if n_columns < 3 else 46) + (52 if omitted_groups else 0)
    domain = {"domain": [0, round(axis_end, 4)], "nice": False, "range": [0, width - figures_width]}
    x = vl.quantitative("x", title="times the floor", scale=domain, axis={"tickCount": 4})
    shared_title = {"title": x["title"]}  # one layer defines the axis, the others share it
    series_styles = ("triangle-right", "circle"), (inks.series[1], inks.ink)
    shape, colour = vl.series_channels("is", (_ABOVE_FLOOR, _WITHIN_FLOOR), *series_styles)
    tooltip_fields = {
        "name": "measure",
        "v": "value",
        "f": "floor (mean, 95 %)",
        "p": "p",
        "d": "fairer",
    }
    band_ends = {"x": vl.quantitative("a", **shared_title), "x2": {"field": "b"}}
    floor_band = vl.mark("rect", band_ends, rows=[{"a": 0, "b": min(1, axis_end)}], color=inks.band)
    tick_style: vl.Spec = {"color": inks.muted, "thickness": 2, "height": _ROW_HEIGHT * 0.6}
    panels, sentences = [], []
    for panel_index, (label, rows) in enumerate(systems.items()):
        above_floor = [row["name"] for row in rows if row["is"] == _ABOVE_FLOOR]
        names = ", ".join(above_floor) or "none"
        sentences.append(f"{label}: beyond the floor {names} (of {len(rows)})")
        for row in rows:
            row["x"] = min(row["x"], axis_end)
            row["words"] = row["v"] if n_columns > 2 else f"{row['v']}, p {row['p']}"
        y = vl.name_axis(
            measure_names, inks.ink if panel_index == 0 or theme.is_narrow else "", "name"
        )
        floor_mean = {"y": y, "x": vl.quantitative("m", **shared_title)}
        dot = {"y": y, "x": x, **vl.tooltip(tooltip_fields), "shape": shape, "color": colour}
        marks = [
            floor_band,
            vl.mark("tick", floor_mean, **tick_style),
            vl.mark("rule", {**floor_mean, "x2": {"field": "x"}}, strokeWidth=1, color=inks.muted),
            vl.dots(dot, 46),
            vl.text_beside("words", {"y": y}, width - figures_width, theme),
        ]
        panels.append(
            vl.panel(marks, rows, label, width=width, height=_ROW_HEIGHT * len(measure_names))
        )
    fewest, largest = min(row["n"] for row in all_rows), max(row["n"] for row in all_rows)
    n_groups = f"{fewest} to {largest}" if fewest < largest else str(fewest)
    lacks_p = any(row["p"] == "–" for row in all_rows)
    is_of_all = fewest == len(scope.groups) or not is_gated
    return Drawing(
        theme.styled(theme.arrange(panels, 10), view={"stroke": None}),
        f"Summary fairness measures: {shortened(scope.grouping)} at "
        f"{shortened(scope.operating_point)}",
        full_sentence("measures_by_floor"),
        sentence_text("range_of_equal_rates")
        + (" (" + sentence_text("dash_without_p") + ")" if lacks_p else "")
        + ". "
        + full_sentence("joint_measure_directions")
        + " "
        + _groups_sentence(scope, n_groups, omitted_groups, is_all=is_of_all),
        "; ".join(sentences) + ".",
    )


def _groups_sentence(
    scope: ChartScope, n_groups: str, omitted_groups: Sequence[str], *, is_all: bool
) -> str:
    """Return a sentence on the measured groups and on those left out."""
    if omitted_groups:
        reasons = ", ".join(omission_reasons(scope.audit, scope.point_filters, omitted_groups))
        condition = not_under_represented_text(scope.audit)
        return full_sentence(
            "groups_and_excluded", groups=n_groups, condition=condition, reasons=reasons
        )
    return (
        full_sentence("values_of_all_groups")
        if is_all
        else full_sentence("groups_that_are", groups=n_groups, condition=NOT_UNDER_REPRESENTED)
    )


def _value_of_all_groups(scope: ChartScope, row: Row) -> str:
    """Return the same measure of all groups in brackets; empty if no group is left out."""
    if not groups_left_out([row]):
        return ""
    key_names = (
        "system",
        "list",
        "grouping",
        "allocation",
        "metric",
        "definition",
        "operating_point",
    )
    filters = {name: row[name] for name in (*key_names, "measure", "alpha", "zero", "within")}
    (row_of_all,) = table_rows(scope.audit, "meta", **filters, gated=False)
    if row_of_all["value"] is None:
        return f" ({UNDEFINED})"
    return f" ({_figure(row_of_all['value'])})"


def _measures_in_floors(scope: ChartScope, subject: Subject, *, is_gated: bool) -> list[Row]:
    """Return measures of a system that have a value and a floor, in units of the floor."""
    alpha = scope.audit.record["options"]["alpha"][0]
    system, list_name = subject
    filters = {**scope.point_filters, "system": system, "list": list_name, "zero": "none"}
    row_by_measure = {
        (row["metric"], row["measure"]): row
        for row in table_rows(scope.audit, "meta", **filters, gated=is_gated)
        if row["alpha"] in {None, alpha}
    }
    drawn_rows = []
    for metric, metric_label in _METRIC_LABELS.items():
        for measure in _DRAWN_MEASURES:
            row = row_by_measure.get((metric, measure))
            if row is None:
                continue
            numbers = [row[name] for name in ("value", "floor_95", "floor_mean")]
            if any(number is None or not math.isfinite(number) for number in numbers):
                continue
            value, floor, mean = (_distance_from_equal_rates(measure, number) for number in numbers)
            if floor and math.isfinite(value):
                drawn_rows.append(
                    {
                        "name": f"{MEASURES[measure].short}, {metric_label}",
                        "x": round(value / floor, 4),
                        "m": round(mean / floor, 4),
                        "is": _WITHIN_FLOOR if value <= floor else _ABOVE_FLOOR,
                        "v": _figure(row["value"]) + _value_of_all_groups(scope, row),
                        "f": f"{_figure(row['floor_mean'])}, {_figure(row['floor_95'])}",
                        "p": p_value_cell(row["p"]),
                        "d": "higher" if row["higher_is_fairer"] else "lower",
                        "n": row["groups"],
                        "out": groups_left_out([row]),
                    }
                )
    return drawn_rows


def _figure(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else short_number(value)


def _distance_from_equal_rates(measure: str, value: float) -> float:
    """Return the distance of a value from that for equal rates."""
    scale = MEASURES[measure].scale
    if scale == "ratio":
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(1 - value) if scale == "one" else abs(value)


# ---- one meta-measure over base metrics


_OWN_THRESHOLD_METRICS = {"eer": "EER", "min_cdet_norm": "minimum cost"}
_METRIC_ROW_HEIGHT = 13


@chart("measures", drawn_per="asked")
def over_metrics(scope: ChartScope, theme: Theme, *, measure: str = "nrb") -> Drawing:
    """Draw a meta-measure of one base metric over EER, cost, and both rates at each point.

    As Fig. 2 of docs/references.md#paper-000, which has `nrb`.
    """
    inks = theme.inks
    meta_measure = _single_metric_measure(measure)
    rows = [row for subject in scope.subjects for row in _metric_rows(scope, subject, meta_measure)]
    if not rows:
        msg = (
            f"no metric of {scope.grouping} has a {meta_measure.label}: at least two groups must "
            "have errors"
        )
        raise ConfigError(msg)
    systems = [*dict.fromkeys(row["c"] for row in rows)]
    metric_labels = [*dict.fromkeys(row["m"] for row in rows)]
    names_width = text_width(metric_labels, theme.size)
    series_styles = theme.colours(len(systems)), theme.shapes(len(systems))
    legend = {"columns": theme.legend_columns(systems, reserved_width=names_width)}
    colour, shape = vl.series_channels("c", systems, *series_styles, legend=legend)
    drawn_values = vl.field_values(rows, "vlhf")
    finite_values = [value for value in drawn_values if math.isfinite(value)]
    if meta_measure.scale == "ratio":
        x = vl.log_axis(meta_measure.label, *vl.log_domain(finite_values), percent=False)
        low, high = x["scale"]["domain"]
    else:
        low, high = min(0.0, *finite_values), max(finite_values) * 1.05
        domain = {"domain": [low, high], "nice": False}
        x = {"title": meta_measure.label, "scale": domain, "axis": {"tickCount": 6, "format": "~g"}}
    for row in rows:
        # values beyond the axis are drawn at its end
        row |= {field: min(max(row[field], low), high) for field in "vlhf" if field in row}
    y = {
        "y": vl.name_axis(metric_labels, inks.ink, "m"),
        "yOffset": vl.nominal("c", scale={"domain": systems}),
    }
    tick_style: vl.Spec = {"thickness": 2, "height": _METRIC_ROW_HEIGHT * 0.7, "orient": "vertical"}
    tooltip_fields = {"c": "system", "m": "metric", "s": "value", "fs": "floor (95 %)", "ps": "p"}
    shared_title = {"title": meta_measure.label}
    dot = {
        **y,
        "x": vl.quantitative("v", **x),
        "color": colour,
        "shape": shape,
        **vl.tooltip(tooltip_fields),
    }
    floor = {**y, "x": vl.quantitative("f", **shared_title)}
    marks = [
        vl.mark("tick", floor, condition="isValid(datum.f)", color=inks.muted, **tick_style),
        vl.interval_mark({**y, "x": vl.quantitative("l", **shared_title), "color": colour}),
        vl.dots(dot, 46),
    ]
    width = theme.width - 30 - names_width
    height = _METRIC_ROW_HEIGHT * len(metric_labels) * max(len(systems), 1.4)
    panel = vl.layered(marks, data=vl.inline_data(rows), width=width, height=height)
    zero_rules = ", ".join(dict.fromkeys(row["z"] for row in rows if row["z"] != "none"))
    return Drawing(
        theme.styled(panel, view={"stroke": None}),
        f"{capitalised(meta_measure.label)} by base metric: {shortened(scope.grouping)}",
        f"{capitalised(meta_measure.definition)}.",
        full_sentence("measures_over_metrics", groups=_measured_groups(scope))
        + " "
        + (full_sentence("zero_rule_of_measures", rule=zero_rules) + " " if zero_rules else "")
        + (
            f"{capitalised(meta_measure.fairer)} is fairer."
            if meta_measure.fairer != "neither"
            else ""
        ),
        "; ".join(f"{row['c']}, {row['m']}: {row['s']}" for row in rows) + ".",
    )


def _single_metric_measure(name: str) -> MetaMeasure:
    """Return a meta-measure of a single metric by its id."""
    measures_by_id = {
        measure.id: measure for measure in meta_measures().values() if not measure.metric
    }
    check_name("measure", name, measures_by_id, "one of a single metric")
    return measures_by_id[name]


def _metric_rows(scope: ChartScope, subject: Subject, measure: MetaMeasure) -> list[Row]:
    """Return a measure of one system: of both rates at each point, then of EER and cost."""
    system, list_name = subject
    filters = {**scope.filters, "system": system, "list": list_name}
    options = scope.audit.record["options"]
    points = table_rows(scope.audit, "operating_points", system=system, list=list_name, within="")
    points = sorted(points, key=lambda row: -(row["fpr"] or 0))
    row_keys = [(metric, "", row["operating_point"]) for metric in RATES for row in points]
    row_keys += [("eer", options["eer"][0], ""), ("min_cdet_norm", options["cost"][0], "")]
    rows = table_rows(scope.audit, "meta", **filters, measure=measure.id)
    drawn_rows = []
    for metric, definition, point in row_keys:
        if point:
            label = f"{metric.upper()} at {shortened(point, 16)}"
        else:
            label = _OWN_THRESHOLD_METRICS[metric]
        key = metric, definition, point
        matching_rows = [
            candidate
            for candidate in rows
            if (candidate["metric"], candidate["definition"], candidate["operating_point"]) == key
        ]
        point_filters = (
            {**scope.filters, "operating_point": point} if point else scope.point_filters
        )
        if not covers_same_groups(scope.audit, point_filters):
            matching_rows = [candidate for candidate in matching_rows if not candidate["gated"]]
        row = _preferred_row(matching_rows)
        if row is None:
            continue
        figure = _figure(row["value"]) + _value_of_all_groups(scope, row)
        value_text = f"{figure} {interval_text(row['low'], row['high'])}, {row['groups']} groups"
        drawn_row: Row = {
            "c": short_name(subject),
            "m": label,
            "v": row["value"],
            "s": value_text,
            "z": row["zero"],
        }
        if row["low"] is not None and row["high"] is not None:
            drawn_row |= {"l": row["low"], "h": row["high"]}
        if row["floor_95"] is not None:
            floor = row["floor_95"]
            drawn_row |= {"f": floor, "fs": _figure(floor), "ps": p_value_cell(row["p"])}
        drawn_rows.append(drawn_row)
    return drawn_rows


def _measured_groups(scope: ChartScope) -> str:
    """Return the groups that measures at the operating point are of, in words."""
    if not covers_same_groups(scope.audit, scope.point_filters):
        return sentence_text("groups_small_elsewhere")
    rows = table_rows(scope.audit, "meta", **scope.point_filters, gated=True)
    omitted_groups = groups_left_out(rows)
    if omitted_groups:
        return f"the {measured_groups_text(scope.audit, omitted_groups)}"
    return f"the {NOT_UNDER_REPRESENTED}"


def _marks_text(scope: ChartScope, *, has_left_out: bool) -> str:
    """Return which groups the spread is over that marks show, filled and hollow ones."""
    if not has_left_out:
        return sentence_text("spread_of_all_marks", groups=_measured_groups(scope))
    return sentence_text("marks_of_spread", groups=_measured_groups(scope))


def _preferred_row(rows: Sequence[Row]) -> Row | None:
    """Return the first row with a finite value: of groups that meet the minimums, then of all.

    Of each, a row without a rule for groups without errors comes first.
    """
    by_rule = {(row["gated"], row["zero"]): row for row in rows if row["value"] is not None}
    for is_gated in (True, False):
        for zero_rule in ("none", "jeffreys"):
            row = by_rule.get((is_gated, zero_rule))
            if row is not None and math.isfinite(row["value"]):
                return row
    return None


# ---- accuracy of systems against the spread between their groups


_LABELS_WIDTH = 110
"""Pixels for the labels of two panels and the gap between them."""


@chart("compared", drawn_per="several")
def accuracy(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw the pooled rate against the spread between groups, for every system and list."""
    by_metric = _spreads(scope)
    all_rows = [row for rows in by_metric.values() for row in rows]
    names = [*dict.fromkeys(row["c"] for row in all_rows)]
    has_left_out = any("a" in row for row in all_rows)
    legend = {"columns": theme.legend_columns(names, reserved_width=_LABELS_WIDTH / 2)}
    series_styles = theme.colours(len(names)), theme.shapes(len(names))
    colour, shape = vl.series_channels("c", names, *series_styles, legend=legend)
    highest = max(max(float(row.get(field) or 0) for field in ("y", "yh", "a")) for row in all_rows)
    domain = {"domain": [0, round(highest * 1.08, 4) or 1], "nice": False}
    y = {"scale": domain, "title": "spread (tau_log)"}
    tick_style: vl.Spec = {
        "thickness": 2,
        "width": 16,
        "orient": "horizontal",
        "color": theme.inks.muted,
    }
    panels, sentences = [], []
    for metric, rows in by_metric.items():
        rates = vl.field_values(rows, ("x", "xl", "xh"))
        low, high = vl.log_domain(rates, most=1)
        x = vl.log_axis(f"{metric.upper()} of all (%)", low, high, labelOverlap=True)
        position = {"x": vl.quantitative("x", **x), "y": vl.quantitative("y", **y), "color": colour}
        rate_interval = {**position, "x": vl.quantitative("xl", **x), "x2": {"field": "xh"}}
        spread_interval = {**position, "y": vl.quantitative("yl", **y), "y2": {"field": "yh"}}
        floor = {"x": position["x"], "y": vl.quantitative("f", **y)}
        spread_of_all = {**position, "y": vl.quantitative("a", **y), "shape": shape}
        marks = [
            vl.mark("rule", rate_interval, condition="isValid(datum.xh)", strokeWidth=1.2),
            vl.mark("rule", spread_interval, condition="isValid(datum.yh)", strokeWidth=1.2),
            vl.mark("tick", floor, condition="isValid(datum.f)", **tick_style),
            vl.dots({**position, "shape": shape}, 70),
            vl.mark("point", spread_of_all, condition="isValid(datum.a)", size=70, strokeWidth=1.2),
        ]
        panel_size = {"width": (theme.width - _LABELS_WIDTH) // 2, "height": 170}
        panels.append(vl.panel(marks, rows, RATES[metric], **panel_size))
        sentences += [
            f"{row['c']}: {metric.upper()} of all {percent(row['x'])}, spread "
            f"{short_number(row['y'])} {interval_text(row.get('yl'), row.get('yh'))}, of {row['n']}"
            for row in rows
        ]
    return Drawing(
        theme.styled(vl.side_by_side(panels, 16)),
        f"Accuracy of systems and equality of groups: {shortened(scope.grouping)} at "
        f"{shortened(scope.operating_point)}",
        full_sentence("horizontal_pooled_rate"),
        full_sentence("accuracy_axes", marks=_marks_text(scope, has_left_out=has_left_out)),
        "; ".join(sentences) + ".",
    )


def _spreads(scope: ChartScope) -> dict[str, list[Row]]:
    """Return the pooled rate and the spread of every system, by metric."""
    by_metric: dict[str, list[Row]] = {}
    is_gated = covers_same_groups(scope.audit, scope.point_filters)
    for metric in RATES:
        for system, list_name in scope.subjects:
            filters = {
                **scope.point_filters,
                "system": system,
                "list": list_name,
                "metric": metric,
                "definition": "",
            }
            spreads = table_rows(scope.audit, "meta", **filters, measure="tau_log", gated=is_gated)
            pooled = table_rows(scope.audit, "groups", **filters, group="pooled")
            if not spreads or not pooled or spreads[0]["value"] is None or not pooled[0]["value"]:
                continue
            spread, pooled_row = spreads[0], pooled[0]
            row: Row = {
                "c": short_name((system, list_name)),
                "n": f"{spread['groups']} groups{_value_of_all_groups(scope, spread)}",
            }
            if groups_left_out([spread]):
                (row_of_all,) = table_rows(
                    scope.audit, "meta", **filters, measure="tau_log", gated=False
                )
                row["a"] = row_of_all["value"]
            for axis, estimate in (("x", pooled_row), ("y", spread)):
                row[axis] = estimate["value"]
                if estimate["low"] is not None and estimate["high"] is not None:
                    row |= {f"{axis}l": estimate["low"], f"{axis}h": estimate["high"]}
            if spread["floor_95"] is not None:
                row["f"] = spread["floor_95"]
            by_metric.setdefault(metric, []).append(row)
    if not by_metric:
        msg = (
            f"no system has a spread between groups of {scope.grouping} at {scope.operating_point}"
        )
        raise ConfigError(msg)
    return by_metric
