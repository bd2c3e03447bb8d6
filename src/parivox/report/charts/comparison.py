"""Charts that compare two systems or lists: by bias, group by group, and by rank."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from parivox.core.measures import bias_measures
from parivox.errors import ConfigError, name_hint
from parivox.report.audit_queries import VERDICTS
from parivox.report.catalogue import full_sentence, sentence_text
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    RATES,
    ChartScope,
    Drawing,
    Pair,
    Row,
    Subject,
    chart,
    groups_to_draw,
    short_name,
    shortened,
    systems_to_compare,
    table_rows,
    undrawn_sentence,
)
from parivox.report.charts.theme import text_width
from parivox.report.words import capitalised, interval_text, percent, short_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.core.registry import BiasMeasure
    from parivox.report.charts.theme import Theme

    Box = tuple[float, float, float, float]

MAX_GROUPS = 40


def _comparison_rows(scope: ChartScope, pair: Pair, **more_filters: str) -> list[Row]:
    """Return rows of the comparison of two systems by one grouping."""
    (system, list_name), (other_system, other_list) = pair
    filters = {
        "system": system,
        "list": list_name,
        "other_system": other_system,
        "other_list": other_list,
    }
    filters |= {"grouping": scope.grouping, "allocation": scope.allocation, "within": ""}
    return table_rows(scope.audit, "comparison", **filters, **more_filters)


# ---- bias of each group in both systems


_LABELS_WIDTH = 10.4
"""Width of the labels of two panels and the gap between them, in font sizes."""
_MAX_SIDE = 300
"""Pixels of a side of a panel at most."""
_MIN_GROUP_SIDE = 8
"""Pixels of a side for each group at least, so that a narrow chart of many groups grows."""
_EDGE_SHAPES = {
    ("x", 0.0): "triangle-left",
    ("y", 0.0): "triangle-down",
    ("x", math.inf): "triangle-right",
    ("y", math.inf): "triangle-up",
}
"""Shapes at the edge for values that have no position on a logarithmic axis."""
_DOT_RADIUS, _NAME_DISTANCE = 4, 7
"""Pixels from the middle of a dot to its edge, and to its name."""


_NO_ERRORS = " " + full_sentence("triangles_at_edge")


@chart("compared", drawn_per="pair")
def against(scope: ChartScope, theme: Theme, *, measure: str = "ratio") -> Drawing:
    """Draw each group's bias in one system against that in another.

    As Fig. 5 of docs/references.md#paper-001, which has `subgroup_bias`.
    """
    pair = systems_to_compare(scope)
    bias_measure = _bias_measure(measure)
    by_title = _biases_by_panel(scope, pair, bias_measure)
    all_rows = [row for rows in by_title.values() for row in rows]
    values = vl.field_values(all_rows, "xy")
    positive_values = [value for value in values if 0 < value < math.inf]
    # a margin of 1.7 times on either side leaves room for dots at the ends and their names
    padded = [value / 1.7 for value in positive_values] + [1.7 * value for value in positive_values]
    low, high = vl.log_domain(padded)
    # single extreme ratios must not squeeze all others together
    low, high = max(low, 0.05), min(high, 20)
    side = min((theme.width - _LABELS_WIDTH * theme.size) // len(by_title), _MAX_SIDE)
    if theme.is_narrow:
        side = max(side, *(_MIN_GROUP_SIDE * len(rows) for rows in by_title.values()))
    reference = scope.audit.record["options"]["reference"][0]
    reference = {"others": "other groups", "pooled": "all"}.get(reference, shortened(reference))
    axis_title = f"ratio to {reference}" if bias_measure.is_of_references else bias_measure.label
    axis_titles = [f"{short_name(subject, 20)}: {axis_title}" for subject in pair]
    marks = _against_marks(axis_titles, low, high, theme)
    panels, sentences = [], []
    for title, rows in by_title.items():
        for row in rows:
            row["edge"] = _dot_shape(row)
            drawn_fields = row.keys() & {"x", "y", "xl", "xh", "yl", "yh"}
            row |= {name: min(max(row[name], low), high) for name in drawn_fields}
        _name_groups(rows, (low, high), side, theme.size - 1.5)
        furthest_apart = sorted(rows, key=lambda row: -abs(math.log(row["x"] / row["y"])))[:2]
        furthest = "; ".join(f"{row['group']} {row['s']}" for row in furthest_apart)
        sentences.append(f"{title}, furthest apart: {furthest}")
        rows.sort(key=lambda row: not row["few"])
        panels.append(vl.panel(marks, rows, title, width=side, height=side))
    first_name, second_name = (short_name(subject, 40) for subject in pair)
    measure_label = "Bias" if bias_measure.is_of_references else capitalised(bias_measure.label)
    if bias_measure.is_of_references:
        dots_show = f"its ratio to {reference}"
    else:
        dots_show = f"{bias_measure.definition},"
    return Drawing(
        theme.styled(vl.side_by_side(panels, 16)),
        f"{measure_label} of {first_name} against {second_name}: "
        f"{shortened(scope.grouping)}"
        + (f" at {shortened(scope.operating_point)}" if bias_measure.is_of_references else ""),
        full_sentence("dots_are_groups", value=dots_show, first=first_name, second=second_name),
        full_sentence("diagonal_of_equal_values")
        + (_NO_ERRORS if any(row["edge"] != "circle" for row in all_rows) else "")
        + undrawn_sentence(scope, MAX_GROUPS),
        ". ".join(sentences) + ".",
    )


def _dot_shape(row: Row) -> str:
    """Return a triangle for a value that a logarithmic axis cannot show, else a circle."""
    for axis in "xy":
        if (axis, row[axis]) in _EDGE_SHAPES:
            return _EDGE_SHAPES[axis, row[axis]]
    return "circle"


def _bias_measure(name: str) -> BiasMeasure:
    """Return a bias measure that is a ratio, so that both axes have the same scale."""
    ratio_measures = {
        measure.id: measure for measure in bias_measures().values() if measure.scale == "ratio"
    }
    group_measures = [
        measure_id for measure_id in ratio_measures if not measure_id.startswith("mean_")
    ]
    if name not in group_measures:
        msg = f"measure {name!r} is not a ratio of a group"
        hint = name_hint(name, group_measures)
        raise ConfigError(msg, hint)
    return ratio_measures[name]


def _against_marks(titles: Sequence[str], low: float, high: float, theme: Theme) -> list[vl.Spec]:
    """Return dots with both intervals, over the diagonal and the lines of no bias."""
    inks = theme.inks
    x, y = (vl.log_axis(title, low, high, percent=False, labelOverlap=True) for title in titles)
    x_title, y_title = ({"title": title} for title in titles)  # one layer defines the axes
    position = {"x": vl.quantitative("x", **x), "y": vl.quantitative("y", **y)}
    diagonal = {
        "x": vl.quantitative("a", **x_title),
        "x2": {"field": "b"},
        "y": vl.quantitative("a", **y_title),
        "y2": {"field": "b"},
    }
    faint = {"strokeOpacity": {"condition": {"test": "datum.few", "value": 0.35}, "value": 0.9}}
    hollow = {"condition": {"test": "datum.few", "value": inks.paper}, "value": inks.series[0]}
    tooltip = vl.tooltip({"group": "group", "s": "ratios"})
    x_interval = {**position, "x": vl.quantitative("xl", **x_title), "x2": {"field": "xh"}, **faint}
    y_interval = {**position, "y": vl.quantitative("yl", **y_title), "y2": {"field": "yh"}, **faint}
    interval_style: vl.Spec = {"color": inks.muted, "strokeWidth": 1}
    no_bias_style: vl.Spec = {"rows": [{"c": 1}], "color": inks.muted, "strokeWidth": 0.8}
    diagonal_ends = [{"a": low * 1.0001, "b": high / 1.0001}]
    dot_style: vl.Spec = {"size": 42, "opacity": 1, "stroke": inks.series[0], "strokeWidth": 1.5}
    shape = vl.nominal("edge", scale=None, legend=None)
    name_style: vl.Spec = {
        "align": {"expr": "datum.near"},
        "dx": {"expr": f"datum.near == 'left' ? {_NAME_DISTANCE} : -{_NAME_DISTANCE}"},
        "dy": -_NAME_DISTANCE,
        "fontSize": theme.size - 1.5,
    }
    return [
        vl.mark("rule", diagonal, rows=diagonal_ends, color=inks.ink, strokeDash=[4, 3]),
        vl.mark("rule", {"x": vl.quantitative("c", **x_title)}, **no_bias_style),
        vl.mark("rule", {"y": vl.quantitative("c", **y_title)}, **no_bias_style),
        vl.mark("rule", x_interval, condition="isValid(datum.xh)", **interval_style),
        vl.mark("rule", y_interval, condition="isValid(datum.yh)", **interval_style),
        vl.mark("point", {**position, "fill": hollow, "shape": shape, **tooltip}, **dot_style),
        vl.mark(
            "text", {**position, "text": {"field": "group"}}, condition="datum.near", **name_style
        ),
    ]


def _bias_rows(scope: ChartScope, measure: BiasMeasure, metric: str) -> dict[str, Row]:
    """Return the measure of one system by group: of a rate at the point, or of the cost."""
    options = scope.audit.record["options"]
    filters = scope.point_filters if metric else scope.filters
    rows = table_rows(scope.audit, "bias", **filters, measure=measure.id, zero="none")
    reference, cost = options["reference"][0], options["cost"][0]
    if metric:
        rows = [row for row in rows if (row["metric"], row["reference"]) == (metric, reference)]
    else:
        rows = [row for row in rows if row["definition"] == cost]
    return {row["group"]: row for row in rows if row["value"] is not None}


def _biases_by_panel(scope: ChartScope, pair: Pair, measure: BiasMeasure) -> dict[str, list[Row]]:
    """Return groups that have the measure in both systems, by the title of their panel."""
    scopes = [replace(scope, system=system, list=list_name) for system, list_name in pair]
    by_title: dict[str, list[Row]] = {}
    for metric in RATES if measure.is_of_references else ("",):
        x_rows, y_rows = (_bias_rows(system_scope, measure, metric) for system_scope in scopes)
        small_groups: set[str] = set()
        for system_scope in scopes:
            small_groups |= (
                system_scope.groups_below_minimum(metric) if metric else system_scope.small_groups
            )
        for group in groups_to_draw(scope, MAX_GROUPS):
            if group not in x_rows or group not in y_rows:
                continue
            drawn_row: Row = {"group": scope.group_label(group), "few": group in small_groups}
            ratios = []
            for axis, row in (("x", x_rows[group]), ("y", y_rows[group])):
                drawn_row[axis] = row["value"]
                if row["low"] is not None and row["high"] is not None:
                    drawn_row[f"{axis}l"] = max(row["low"], 1e-6)
                    drawn_row[f"{axis}h"] = min(row["high"], 1e6)
                ratios.append(
                    f"{short_number(row['value'])} {interval_text(row['low'], row['high'])}"
                )
            drawn_row["s"] = " and ".join(ratios)
            by_title.setdefault(RATES.get(metric, measure.label), []).append(drawn_row)
    if not by_title:
        where = f" at {scope.operating_point}" if measure.is_of_references else ""
        msg = f"no group of {scope.grouping} has a {measure.label} in both{where}"
        raise ConfigError(msg)
    return by_title


def _name_groups(rows: Sequence[Row], ends: tuple[float, float], side: float, size: float) -> None:
    """Name groups next to their dots, the most biased first, where no name or dot is in the way."""
    axis_start, axis_end = map(math.log, ends)
    scale = side / (axis_end - axis_start)
    positions = [[scale * (math.log(row[axis]) - axis_start) for axis in "xy"] for row in rows]
    occupied: list[Box] = [
        (x - _DOT_RADIUS, x + _DOT_RADIUS, y - _DOT_RADIUS, y + _DOT_RADIUS) for x, y in positions
    ]
    by_distance = sorted(
        range(len(rows)), key=lambda i: -max(abs(math.log(rows[i][axis])) for axis in "xy")
    )
    for i in by_distance:
        x, y = positions[i]
        name_width = text_width([rows[i]["group"]], size)
        bottom = y + _NAME_DISTANCE - size / 2
        other_boxes = occupied[:i] + occupied[i + 1 :]
        for align, left in (
            ("left", x + _NAME_DISTANCE),
            ("right", x - _NAME_DISTANCE - name_width),
        ):
            box = (left, left + name_width, bottom, y + _NAME_DISTANCE + size / 2)
            is_in_panel = left >= 0 and box[1] <= side
            if is_in_panel and not any(_overlap(box, other_box) for other_box in other_boxes):
                occupied.append(box)
                rows[i]["near"] = align
                break


def _overlap(box: Box, other_box: Box) -> bool:
    left, right, bottom, top = box
    other_left, other_right, other_bottom, other_top = other_box
    return left < other_right and other_left < right and bottom < other_top and other_bottom < top


# ---- paired comparison, group by group


_ROW_HEIGHT = 17
_INCONCLUSIVE = VERDICTS["inconclusive"]


@chart("compared", drawn_per="pair")
def differences(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw the ratio of two systems' rates for each group, on the trials of both."""
    inks = theme.inks
    pair = systems_to_compare(scope)
    by_metric = _ratios_by_metric(scope, pair)
    all_rows = [row for rows in by_metric.values() for row in rows]
    names = [*dict.fromkeys(row["group"] for row in all_rows)]
    ratios = vl.field_values(all_rows, "vlh")
    low, high = vl.log_domain([*ratios, 1.0])
    # single extreme ratios must not squeeze all others together
    low, high = max(low, 0.02), min(high, 50)
    names_width = text_width(names, theme.size)
    size = {
        "width": (theme.width - 20 - names_width) // len(by_metric) - 12,
        "height": _ROW_HEIGHT * len(names),
    }
    states = [_fewer_errors_label(pair[0]), _INCONCLUSIVE, _fewer_errors_label(pair[1])]
    legend = {"columns": theme.legend_columns(states, reserved_width=names_width)}
    colours = inks.series[0], inks.muted, inks.series[1]
    shapes = ("triangle-left", "circle", "triangle-right")
    colour, shape = vl.series_channels("is", states, colours, shapes, legend=legend)
    x = vl.log_axis("times", low, high, percent=False, labelOverlap=True)
    shared_title = {"title": x["title"]}
    hollow: vl.Spec = {"filled": False, "fill": inks.paper, "color": inks.muted, "opacity": 1}
    panels, sentences = [], []
    for panel_index, (metric, rows) in enumerate(by_metric.items()):
        for row in rows:
            row |= {field: min(max(row[field], low), high) for field in "vlh" if field in row}
        y = vl.name_axis(names, inks.ink if panel_index == 0 else "")
        dot = {"y": y, "x": vl.quantitative("v", **x), "color": colour, "shape": shape}
        hollow_dot = {"y": y, "x": vl.quantitative("v", **shared_title)}
        marks = [
            vl.dashed_rule({"x": vl.datum(1, **shared_title)}, inks.ink),
            vl.interval_mark({"y": y, "x": vl.quantitative("l", **shared_title), "color": colour}),
            vl.dots(dot, 46, condition="isValid(datum.h)"),
            vl.mark("point", hollow_dot, condition="!isValid(datum.h)", size=30, **hollow),
        ]
        panels.append(vl.panel(marks, rows, RATES[metric], **size))
        counts = [
            sentence_text(
                "fewer_errors_in_system",
                groups=[row["is"] for row in rows].count(_fewer_errors_label(subject)),
                system=short_name(subject, 40),
            )
            for subject in pair
        ]
        sentences.append(f"{RATES[metric]}: {', '.join(counts)}, of {len(rows)}")
    first_name, second_name = (short_name(subject, 40) for subject in pair)
    return Drawing(
        theme.styled(vl.side_by_side(panels, 12), view={"stroke": None}),
        f"Rates of {first_name} divided by rates of {second_name}: {shortened(scope.grouping)} at "
        f"{shortened(scope.operating_point)}",
        full_sentence("rate_divided_by_rate", first=first_name, second=second_name),
        full_sentence("sides_of_equal_rates", first=first_name, second=second_name),
        "; ".join(sentences) + ".",
    )


def _fewer_errors_label(subject: Subject) -> str:
    """Return the label where this system has fewer errors."""
    return f"{short_name(subject)} errs less"


def _ratios_by_metric(scope: ChartScope, pair: Pair) -> dict[str, list[Row]]:
    """Return ratios of two systems by group, by metric."""
    by_metric: dict[str, list[Row]] = {}
    for metric in RATES:
        filters = {"operating_point": scope.operating_point, "measure": "value", "definition": ""}
        rows = _comparison_rows(scope, pair, **filters, metric=metric)
        by_group = {row["group"]: row for row in rows if row["log_ratio"] is not None}
        for group in groups_to_draw(scope, MAX_GROUPS):
            if group not in by_group:
                continue
            row = by_group[group]
            drawn_row: Row = {"group": scope.group_label(group), "v": math.exp(row["log_ratio"])}
            drawn_row["is"] = _INCONCLUSIVE
            if row["log_low"] is not None and row["log_high"] is not None:
                for end in ("low", "high"):
                    # beyond 14 in either direction a ratio is off any axis
                    drawn_row[end[0]] = math.exp(max(min(row[f"log_{end}"], 14), -14))
                if drawn_row["h"] < 1:
                    drawn_row["is"] = _fewer_errors_label(pair[0])
                elif drawn_row["l"] > 1:
                    drawn_row["is"] = _fewer_errors_label(pair[1])
            by_metric.setdefault(metric, []).append(drawn_row)
    if not by_metric:
        msg = f"the audit compares no group of {scope.grouping}"
        hint = "audit again with --compare"
        raise ConfigError(msg, hint)
    return by_metric


# ---- ranks of two systems over draws of speakers


_RANK_NAMES = {
    "p_more_accurate": "errs less",
    "p_less_spread": "more even",
    "p_both": "both",
}
_METRIC_NAMES = {"eer": "EER", "min_cdet_norm": "min cost", "fnr": "FNR", "fpr": "FPR"}
_NEITHER = "neither"


@chart("compared", drawn_per="pair")
def ranks(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw how often one system is better than another when speakers are resampled."""
    inks = theme.inks
    pair = systems_to_compare(scope)
    first_name, second_name = (short_name(subject, 40) for subject in pair)
    states = [short_name(pair[0]), _NEITHER, short_name(pair[1])]
    shares = _rank_shares(scope, pair)
    metrics = [*dict.fromkeys(row["m"] for row in shares)]
    sentences = [
        f"{row['p']}, by {row['m']}: {first_name} {percent(row['value'])}, "
        f"{second_name} {percent(row['other'])}"
        for row in shares
    ]
    rows = _bar_parts(shares, states)
    names_width = text_width(metrics, theme.size)
    columns = theme.legend_columns(
        states, reserved_width=names_width + text_width(["better"], theme.size)
    )
    fills = (inks.series[0], inks.grid, inks.paper)
    strokes = (inks.series[0], inks.grid, inks.series[1])
    fill, stroke = vl.series_channels(
        "c", states, fills, strokes, title="better", legend={"columns": columns}
    )
    y = vl.name_axis(metrics, inks.muted, "m")
    axis = {"format": "%", "values": [0, 0.5, 1], "grid": False}
    x = vl.quantitative("a", title="of draws", axis=axis, scale={"domain": [0, 1]})
    panels = [title for title in _RANK_NAMES.values() if any(row["p"] == title for row in rows)]
    width = (theme.width - 24 - names_width) // len(panels) - 16
    bar = {"y": y, "x": x, "x2": {"field": "b"}, "fill": fill, "stroke": stroke}
    middle = {"y": y, "x": vl.quantitative("mid", title=x["title"])}
    marks = [vl.mark("bar", bar, height={"band": 0.72}, strokeWidth=1.2)]
    has_room = f"datum.b - datum.a > {text_width(['00'], theme.size) / width:.3f}"
    for i, ink in ((0, inks.paper), (2, inks.ink)):
        condition = f"{has_room} && datum.i === {i}"
        marks.append(
            vl.text_mark("s", middle, size=theme.size - 1.5, condition=condition, color=ink)
        )
    panel = vl.layered(marks, width=width, height=22 * len(metrics))
    return Drawing(
        theme.styled(
            {**vl.facets(panel, "p", panels, len(panels), 14), "data": vl.inline_data(rows)}
        ),
        f"Certainty of the ranking: {first_name} and {second_name}, by {shortened(scope.grouping)}",
        full_sentence("ranks_if_other_speakers"),
        full_sentence("bars_of_replicates", first=first_name, second=second_name),
        "; ".join(sentences) + ".",
    )


def _bar_parts(shares: Sequence[Row], states: Sequence[str]) -> list[Row]:
    """Return the parts of each bar: the first system better, neither, the second better."""
    parts: list[Row] = []
    for row in shares:
        edges = (0, row["value"], 1 - row["other"], 1)
        for i, state in enumerate(states):
            start, stop = edges[i], edges[i + 1]
            share = stop - start
            if share > 1e-9:
                parts.append(
                    {
                        "m": row["m"],
                        "p": row["p"],
                        "c": state,
                        "i": i,
                        "s": f"{100 * share:.0f}",
                        "a": start,
                        "b": stop,
                        "mid": (start + stop) / 2,
                    }
                )
    return parts


def _rank_shares(scope: ChartScope, pair: Pair) -> list[Row]:
    """Return shares of draws in which each system is better, by rank (``p``) and metric (``m``)."""
    compared = _comparison_rows(scope, pair)
    rows = []
    for metric, metric_name in _METRIC_NAMES.items():
        for measure, rank_name in _RANK_NAMES.items():
            for row in compared:
                point = row["operating_point"]
                is_asked = (row["metric"], row["measure"]) == (metric, measure)
                if is_asked and row["value"] is not None and point in {"", scope.operating_point}:
                    label = f"{metric_name} at {shortened(point, 12)}" if point else metric_name
                    shares = {"value": row["value"], "other": row["other"] or 0}
                    rows.append({"m": label, "p": rank_name, **shares})
    if not rows:
        msg = "the audit has no ranks"
        hint = "audit again with --compare and intervals"
        raise ConfigError(msg, hint)
    return rows
