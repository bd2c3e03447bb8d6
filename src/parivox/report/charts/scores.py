"""Charts of scores by group: distributions, calibration, and the cost of the common threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.report.audit_queries import error_types
from parivox.report.catalogue import full_sentence, missing_interval_text
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    ChartScope,
    Drawing,
    Row,
    chart,
    groups_to_draw,
    shortened,
    table_rows,
    undrawn_sentence,
)
from parivox.report.charts.curves import grouping_curves
from parivox.report.charts.theme import text_width
from parivox.report.words import interval_text, short_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.report.charts.theme import Theme


# ---- densities of target and nontarget scores


_MAX_HILLS = 23
_TARGET_TRIALS = "own trials"
_TRIAL_KINDS = (_TARGET_TRIALS, "impostor trials")
_N_SCORES = 35
_NO_FRAME = {"stroke": None}
_MIN_VISIBLE = 0.002
"""Lower ends of densities, as a share of the peak, are not drawn."""
_ALL = "all groups"
_AUDITED_POINT = "threshold at"


def _without_spoof_trials(scope: ChartScope) -> str:
    """Return that spoof trials are not drawn, as a sentence with a space before it, if so."""
    if "sfar" not in error_types(scope.audit):
        return ""
    return " " + full_sentence("spoof_trials_not_drawn")


@chart("det", drawn_per="widest", name="scores")
def distributions(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw densities of target and nontarget scores of each group, with the audited thresholds."""
    inks = theme.inks
    curves = grouping_curves(
        scope.audit, scope.system, scope.list, scope.grouping, scope.allocation
    )
    finite_thresholds = curves.thresholds[np.isfinite(curves.thresholds)]
    if finite_thresholds.size < 2 or finite_thresholds[0] == finite_thresholds[-1]:
        msg = f"{scope.label} has fewer than two different scores: nothing to draw"
        raise ConfigError(msg)
    scores = np.linspace(finite_thresholds[0], finite_thresholds[-1], _N_SCORES)
    groups = groups_to_draw(scope, _MAX_HILLS)
    panels = {"pooled": _ALL} | {name: shortened(scope.group_label(name), 24) for name in groups}
    rows: list[Row] = []
    for name, panel in panels.items():
        if name not in curves.groups:
            continue
        group_index = curves.groups.index(name)
        counts_below = (
            curves.fn[group_index],
            curves.n_nontarget[group_index] - curves.fp[group_index],
        )
        sizes = curves.n_target[group_index], curves.n_nontarget[group_index]
        for trial_kind, counts, n_trials in zip(_TRIAL_KINDS, counts_below, sizes, strict=True):
            if n_trials:
                middles, heights = _density(scores, curves.thresholds, counts / n_trials)
                rows.append({"p": panel, "c": trial_kind, "x": middles, "y": heights})
    filters = {"system": scope.system, "list": scope.list, "within": ""}
    points = {
        shortened(row["operating_point"]): row["threshold"]
        for row in table_rows(scope.audit, "operating_points", **filters)
        if row["threshold"] is not None and np.isfinite(row["threshold"])
    }
    rows += [
        {"p": panel, "c": name, "k": "at", "x": [threshold], "y": [0]}
        for panel in panels.values()
        for name, threshold in points.items()
    ]
    score_range = {
        "domain": [float(f"{end:.5g}") for end in finite_thresholds[[0, -1]]],
        "nice": False,
    }
    axis = {"tickCount": 4, "grid": False}
    x = vl.quantitative("x", title="score", scale={**score_range, "zero": False}, axis=axis)
    fills = inks.series[0], "transparent"
    fill, stroke = vl.series_channels("c", _TRIAL_KINDS, fills, inks.series[:2])
    hill_channels = {"x": x, "y": vl.quantitative("y", title=None, axis=None, stack=None)}
    hill_channels |= {"fill": fill, "stroke": stroke}
    layers = [
        vl.mark(
            "area", hill_channels, condition="datum.k != 'at'", fillOpacity=0.4, strokeWidth=1.2
        )
    ]
    if points:
        legend = {
            "columns": theme.legend_columns(
                [*points], reserved_width=text_width([_AUDITED_POINT], theme.size)
            )
        }
        dashes = theme.dashes(len(points))
        (dash,) = vl.series_channels("c", points, dashes, title=_AUDITED_POINT, legend=legend)
        rule_style: vl.Spec = {"strokeWidth": 1.2, "color": inks.ink}
        layers.append(
            vl.mark("rule", {"x": x, "strokeDash": dash}, condition="datum.k == 'at'", **rule_style)
        )
    columns = vl.panel_columns(len(panels), theme)
    hills = vl.layered(layers, width=(theme.width - 20) // columns - 14, height=64)
    facets = vl.facets(hills, "p", panels.values(), columns, 12)
    return Drawing(
        theme.styled(
            {**facets, "data": vl.inline_data(rows), "transform": [{"flatten": ["x", "y"]}]}
        ),
        f"Score distributions: {shortened(scope.label)} by {shortened(scope.grouping)}",
        full_sentence("score_distributions"),
        full_sentence("shifted_distributions")
        + _without_spoof_trials(scope)
        + undrawn_sentence(scope, _MAX_HILLS),
        full_sentence("densities_of_groups", groups=len(groups)),
    )


def _density(
    scores: NDArray[np.float64], thresholds: NDArray[np.float64], share_below: NDArray[np.float64]
) -> tuple[list[float], list[float]]:
    """Return a smoothed density of scores: the middles of even steps and the share in each."""
    is_finite = np.isfinite(thresholds)
    # steps are even, so heights are proportional to densities
    step = scores[1] - scores[0]  # trials at the last threshold and above are drawn in this step
    known_scores = np.append(thresholds[is_finite], thresholds[is_finite][-1] + step)
    share_below_scores = np.interp(
        np.append(scores, known_scores[-1]), known_scores, np.append(share_below[is_finite], 1.0)
    )
    share = np.diff(share_below_scores)
    padded = np.concatenate([share[:1], share, share[-1:]])
    smooth = (
        padded[:-2] + 2 * padded[1:-1] + padded[2:]
    ) / 4  # a group can have no trials between two shared thresholds
    if not smooth.max() > 0:
        return [], []
    middles = scores + step / 2
    visible = np.flatnonzero(smooth > _MIN_VISIBLE * smooth.max())
    visible_range = slice(max(visible[0] - 1, 0), visible[-1] + 2)
    x = [float(f"{middle:.5g}") for middle in middles[visible_range]]
    y = [round(float(height), 4) for height in smooth[visible_range]]
    return x, y


# ---- quantiles of scores as boxes


_MAX_BOXES = 40
_QUANTILE_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_SHIFTS = ("shift_target", "shift_nontarget")
_BOX_ROW_HEIGHT = 18


@chart("det", drawn_per="asked")
def boxes(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw quantiles of target and nontarget scores of each group, with the audited thresholds."""
    inks = theme.inks
    curves = grouping_curves(
        scope.audit, scope.system, scope.list, scope.grouping, scope.allocation
    )
    if np.unique(curves.thresholds[np.isfinite(curves.thresholds)]).size < 2:
        msg = f"{scope.label} has fewer than two different scores: nothing to draw"
        raise ConfigError(msg)
    names = {"pooled": _ALL} | {
        name: scope.group_label(name) for name in groups_to_draw(scope, _MAX_BOXES)
    }
    panels, sentences = [], []
    names_width = text_width(names.values(), theme.size)
    width = (theme.width - 40 - names_width) // (1 if theme.is_narrow else 2)
    for panel_index, (trial_kind, shift) in enumerate(zip(_TRIAL_KINDS, _SHIFTS, strict=True)):
        if trial_kind == _TARGET_TRIALS:
            counts_below, sizes = curves.fn, curves.n_target
        else:
            counts_below, sizes = curves.n_nontarget[:, None] - curves.fp, curves.n_nontarget
        quantiles_by_group = {
            group: _quantiles(curves.thresholds, counts_below[group_index] / sizes[group_index])
            for group_index, group in enumerate(curves.groups)
            if group in names and sizes[group_index]
        }
        if "pooled" not in quantiles_by_group:
            continue
        pooled_median = quantiles_by_group["pooled"][2]
        shifts = scope.metric_rows(shift, "q50")
        rows = []
        for group, quantiles in quantiles_by_group.items():
            row: Row = {"group": names[group], **dict(zip("labch", quantiles, strict=True))}
            shift_row = shifts.get(group)
            if (
                shift_row is not None
                and shift_row["low"] is not None
                and shift_row["high"] is not None
            ):
                row |= {"ml": pooled_median + shift_row["low"]}
                row |= {"mh": pooled_median + shift_row["high"]}
            rows.append(row)
        y = vl.name_axis(names.values(), inks.ink if panel_index == 0 or theme.is_narrow else "")
        score_scale = {"zero": False, "nice": True}
        x = vl.quantitative(
            "l", title="score", scale=score_scale, axis={"tickCount": 4, "grid": False}
        )
        shared_title = {"title": "score"}
        shift_interval = {"y": y, "x": vl.quantitative("ml", **shared_title), "x2": {"field": "mh"}}
        median = vl.datum(float(f"{pooled_median:.5g}"), **shared_title)
        marks = [
            vl.dashed_rule({"x": median}, inks.muted),
            *vl.box_marks(x, y, theme, ink=inks.series[panel_index]),
            vl.mark(
                "rule", shift_interval, condition="isValid(datum.mh)", color=inks.ink, strokeWidth=3
            ),
        ]
        panel_size = {"width": width, "height": _BOX_ROW_HEIGHT * len(names)}
        panels.append(vl.panel(marks, rows, trial_kind, **panel_size))
        ranked = sorted(
            (group_quantiles[2], names[group])
            for group, group_quantiles in quantiles_by_group.items()
            if group != "pooled"
        )
        sentence = f"{trial_kind}, median {pooled_median:.4g}"
        if ranked:
            (low, low_group), (high, high_group) = ranked[0], ranked[-1]
            sentence += f", lowest {low_group} {low:.4g}, highest {high_group} {high:.4g}"
        sentences.append(sentence)
    return Drawing(
        theme.styled(theme.arrange(panels, 12), view={"stroke": None}),
        f"Score quantiles: {shortened(scope.label)} by {shortened(scope.grouping)}",
        full_sentence("boxes_of_scores"),
        full_sentence("medians_of_scores")
        + _without_spoof_trials(scope)
        + undrawn_sentence(scope, _MAX_BOXES),
        "; ".join(sentences) + ".",
    )


def _quantiles(thresholds: NDArray[np.float64], share_below: NDArray[np.float64]) -> list[float]:
    """Return the scores of `_QUANTILE_LEVELS`, interpolated between the shared thresholds."""
    is_finite = np.isfinite(thresholds)
    # interpolation needs shares that strictly rise
    rising, indices = np.unique(np.append(share_below[is_finite], 1.0), return_index=True)
    scores = np.append(thresholds[is_finite], thresholds[is_finite][-1])[indices]
    return [float(f"{score:.5g}") for score in np.interp(_QUANTILE_LEVELS, rising, scores)]


# ---- cost of miscalibration


_MAX_CALIBRATED = 60
_CALIBRATION_LOSS = "lost to calibration"
_CLLR_LABELS = {"min_cllr": "calibrated for the group (min Cllr)", "cllr": "as scored (Cllr)"}


@chart("det", drawn_per="asked")
def calibration(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw Cllr of each group as scored and after a calibration of its own, with intervals."""
    inks = theme.inks
    rows_by_metric = {metric: scope.metric_rows(metric) for metric in (*_CLLR_LABELS, "cal_loss")}
    names = {name: scope.group_label(name) for name in groups_to_draw(scope, _MAX_CALIBRATED)}
    names["pooled"] = _ALL
    rows: list[Row] = []
    sentences = []
    for group, name in names.items():
        group_rows = [rows_by_metric[metric].get(group, {}) for metric in rows_by_metric]
        if any(group_row.get("value") is None for group_row in group_rows):
            continue
        min_cllr, cllr, loss = group_rows
        loss_text = f"{short_number(loss['value'])} {interval_text(loss['low'], loss['high'])}"
        cllr_text = short_number(cllr["value"])
        sentences.append(f"{name}: Cllr {cllr_text}, {_CALIBRATION_LOSS} {loss_text}")
        loss_fields = {"a": min_cllr["value"], "b": cllr["value"], "s": loss_text}
        for metric, row in zip(_CLLR_LABELS, group_rows, strict=False):
            drawn_row: Row = {
                "group": name,
                "k": _CLLR_LABELS[metric],
                "v": row["value"],
                **loss_fields,
            }
            if row["low"] is not None and row["high"] is not None:
                drawn_row |= {"l": row["low"], "h": row["high"]}
            rows.append(drawn_row)
    if not rows:
        msg = "the audit has no Cllr"
        hint = "audit scores that are log-likelihood ratios again with --llr"
        raise ConfigError(msg, hint)
    drawn_names = [name for name in names.values() if any(row["group"] == name for row in rows)]
    names_width = text_width(drawn_names, theme.size)
    width = theme.width - 30 - names_width - _FIGURES_WIDTH
    highest = max(vl.field_values(rows, "vh"))
    cost_scale = {"domain": [0, float(f"{1.03 * highest:.4g}")], "nice": False, "range": [0, width]}
    x = {"title": "bits", "scale": cost_scale, "axis": {"tickCount": 5, "format": "~g"}}
    shared_title = {"title": x["title"]}
    y = vl.name_axis(drawn_names, inks.ink)
    row_position = {"y": y, "yOffset": vl.nominal("k", scale={"domain": [*_CLLR_LABELS.values()]})}
    legend = {"columns": theme.legend_columns([*_CLLR_LABELS.values()], reserved_width=names_width)}
    series_styles = ("circle", "diamond"), (inks.series[0], inks.series[1])
    shape, colour = vl.series_channels("k", _CLLR_LABELS.values(), *series_styles, legend=legend)
    loss_bar = {"y": y, "x": vl.quantitative("a", **shared_title), "x2": {"field": "b"}}
    marks = [
        vl.mark("bar", loss_bar, color=inks.band, height={"band": 0.8}),
        vl.interval_mark(
            {**row_position, "x": vl.quantitative("l", **shared_title), "color": colour}
        ),
        vl.dots(
            {**row_position, "x": vl.quantitative("v", **x), "shape": shape, "color": colour}, 42
        ),
        vl.text_beside("s", {"y": y}, width, theme),
    ]
    panel_size = {"width": width + _FIGURES_WIDTH, "height": 1.5 * _ROW_HEIGHT * len(drawn_names)}
    return Drawing(
        theme.styled(vl.panel(marks, rows, "cost of the scores", **panel_size), view=_NO_FRAME),
        f"Calibration loss of each group: {shortened(scope.label)} by {shortened(scope.grouping)}",
        full_sentence("diamonds_and_dots"),
        full_sentence("grey_calibration_loss") + undrawn_sentence(scope, _MAX_CALIBRATED),
        "; ".join(sentences) + ".",
    )


# ---- thresholds of minimum cost by group, and the cost of the common threshold


_MAX_OWN_THRESHOLDS = 60
_ROW_HEIGHT = 17
_FIGURES_WIDTH = 100
"""Pixels for the figures next to a panel."""
_OWN_THRESHOLD = "own threshold found"
_BIAS_LABELS = {"v": "on the same people", "cv": "on other people"}


@chart("explorer", drawn_per="widest")
def thresholds(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw each group's threshold of minimum cost, and its threshold bias.

    See docs/methods/bias-measures.md#threshold-bias.
    """
    inks = theme.inks
    rows, common = _own_thresholds(scope)
    with_bias = [row for row in rows if "v" in row]
    most_biased = sorted(with_bias, key=lambda row: -float(row["v"]))[:3]
    sentences = [f"common threshold {common:.4g}"]
    for row in most_biased:
        cost_text = f"{short_number(row['v'])} times {row['s']}"
        sentences.append(f"{shortened(row['g'])}: own threshold {row['t']:.4g}, cost {cost_text}")
    missing_reasons = "; ".join(dict.fromkeys(row["why"] for row in rows if "why" in row))
    common = float(f"{common:.5g}")
    names = [row["group"] for row in rows]
    names_width = text_width(names, theme.size)
    width = (theme.width - 132 - names_width) // (1 if theme.is_narrow else 2)
    height = _ROW_HEIGHT * len(rows)
    y = vl.name_axis(names, inks.ink)
    # side by side, both panels share the names at the left
    y_without_names = y if theme.is_narrow else {**y, "axis": None}
    drawn_thresholds = [row["t"] for row in rows] + [common]
    margin = (max(drawn_thresholds) - min(drawn_thresholds)) * 0.08 or abs(common) * 0.1 or 0.1
    score_range = [
        float(f"{end:.5g}")
        for end in (min(drawn_thresholds) - margin, max(drawn_thresholds) + margin)
    ]
    domain = {"domain": score_range, "nice": False, "zero": False}
    x = vl.quantitative("t", title="score", scale=domain, axis={"tickCount": 4})
    hollow = {"test": "datum.few", "value": inks.paper}
    fill = {"condition": hollow, "value": inks.series[0]}
    dot_style: vl.Spec = {"size": 42, "strokeWidth": 1.3, "stroke": inks.series[0], "opacity": 1}
    to_common = {"y": y, "x": x, "x2": {"datum": common}}
    threshold_marks = [
        vl.dashed_rule({"x": vl.datum(common, title="score")}, inks.ink),
        vl.mark("rule", to_common, color=inks.muted),
        vl.mark("point", {"y": y, "x": x, "fill": fill}, **dot_style, shape="diamond"),
    ]
    costs = vl.field_values(rows, ("v", "l", "h", "cv"))
    low, high = vl.log_domain([*costs, 1.0])
    cost = vl.log_axis("times", max(low, 0.2), max(min(high, 20), 1.5), percent=False)
    cost["scale"]["range"] = [0, width]
    cost_dots: list[Row] = []
    for field, threshold_kind in _BIAS_LABELS.items():
        cost_dots += [
            {"group": row["group"], "x": row[field], "kind": threshold_kind, "few": row["few"]}
            for row in rows
            if field in row
        ]
    legend = {
        "columns": theme.legend_columns(
            [*_BIAS_LABELS.values()],
            reserved_width=names_width + text_width([_OWN_THRESHOLD], theme.size),
        )
    }
    colours = (inks.ink, inks.series[1])
    shape, stroke, fill_by_kind = vl.series_channels(
        "kind",
        _BIAS_LABELS.values(),
        ("circle", "diamond"),
        colours,
        colours,
        title=_OWN_THRESHOLD,
        legend=legend,
    )
    cost_dot = {
        "y": y_without_names,
        "x": vl.quantitative("x", **cost),
        "shape": shape,
        "stroke": stroke,
    }
    cost_dot["fill"] = {**fill_by_kind, "condition": hollow}
    cost_marks = [
        vl.dashed_rule({"x": vl.datum(1, title="times")}, inks.ink),
        vl.interval_mark(
            {"y": y_without_names, "x": vl.quantitative("l", **cost)}, width=1.2, color=inks.ink
        ),
        vl.mark("point", cost_dot, rows=cost_dots, size=42, strokeWidth=1.3, opacity=1),
        vl.text_beside("s", {"y": y_without_names}, width, theme),
    ]
    panels = [
        vl.layered(marks, width=panel_width, height=height, title=vl.heading(title))
        for marks, panel_width, title in (
            (threshold_marks, width, "own best threshold"),
            (cost_marks, width + _FIGURES_WIDTH, "cost at the common one over own"),
        )
    ]
    panels_and_data = {**theme.arrange(panels, 12), "data": vl.inline_data(rows)}
    return Drawing(
        theme.styled(panels_and_data, view={"stroke": None}),
        f"Common and group-specific thresholds: {shortened(scope.label)} by "
        f"{shortened(scope.grouping)}",
        full_sentence("thresholds_of_smallest_cost"),
        full_sentence("costs_at_common_threshold")
        + (
            " " + full_sentence("dots_without_interval", reasons=missing_reasons)
            if missing_reasons
            else ""
        )
        + undrawn_sentence(scope, _MAX_OWN_THRESHOLDS),
        "; ".join(sentences) + ".",
    )


def _own_thresholds(scope: ChartScope) -> tuple[list[Row], float]:
    """Return groups with their own thresholds, and the common threshold."""
    model = scope.audit.record["options"]["cost"][0]
    own_rows = scope.metric_rows("min_cdet_norm", model)
    all_filters = {"system": scope.system, "list": scope.list, "grouping": "all", "within": ""}
    rows_of_all = table_rows(
        scope.audit, "groups", **all_filters, metric="min_cdet_norm", definition=model
    )
    common = rows_of_all[0]["threshold"] if rows_of_all else None
    bias = _bias_by_group(scope, "threshold_bias", model)
    bias_cv = _bias_by_group(scope, "threshold_bias_cv", model)
    rows: list[Row] = []
    for group in groups_to_draw(scope, _MAX_OWN_THRESHOLDS):
        if own_rows.get(group, {}).get("threshold") is None:
            continue
        row: Row = {"g": group, "group": scope.group_label(group), "s": "–"}
        row["few"] = group in scope.small_groups
        row["t"] = float(f"{own_rows[group]['threshold']:.5g}")
        if group in bias:
            bias_row = bias[group]
            row["v"] = bias_row["value"]
            if bias_row["high"] is None:
                row["s"] = f"{short_number(bias_row['value'])} (no interval)"
                row["why"] = missing_interval_text(bias_row)
            else:
                interval = interval_text(bias_row["low"], bias_row["high"])
                row["s"] = f"{short_number(bias_row['value'])} {interval}"
                row |= {"l": bias_row["low"], "h": bias_row["high"]}
        if group in bias_cv:
            row["cv"] = bias_cv[group]["value"]
        rows.append(row)
    if common is None or not rows:
        msg = f"no group of {scope.grouping} has a smallest cost at a threshold: nothing to draw"
        raise ConfigError(msg)
    return rows, float(common)


def _bias_by_group(scope: ChartScope, measure: str, model: str) -> dict[str, Row]:
    """Return the rows of a bias measure of one cost model that have a value."""
    rows = table_rows(scope.audit, "bias", **scope.filters, measure=measure, definition=model)
    return {row["group"]: row for row in rows if row["value"] is not None}
