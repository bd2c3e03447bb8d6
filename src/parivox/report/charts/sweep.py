"""Charts of the measures of both rates, over the weight of FPR and over the threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.measures import BOTH, meta_measures
from parivox.errors import ConfigError
from parivox.report.audit_queries import (
    covers_same_groups,
    groups_left_out,
    not_under_represented_text,
    omission_reasons,
)
from parivox.report.catalogue import full_sentence, sentence_text
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    ChartScope,
    Drawing,
    Row,
    chart,
    checked_names,
    shortened,
    table_rows,
)
from parivox.report.charts.curves import grouping_curves
from parivox.report.charts.theme import text_width
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.registry import MetaMeasure
    from parivox.report.charts.chart import Names
    from parivox.report.charts.curves import ErrorCurves
    from parivox.report.charts.theme import Theme

    Rates = tuple[NDArray[np.float64], NDArray[np.float64]]

_TERMS = {"fdr": "range", "garbe": "Gini", "ir": "max / min"}
"""What each joint measure takes of either rate."""
_TERM_LABELS = {name: f"{term} ({name.upper()}'s terms)" for name, term in _TERMS.items()}
"""Labels of the terms of each joint measure."""
_RATIO_PANELS = {"IR", _TERM_LABELS["ir"]}
"""Panels of ratios, whose axis is logarithmic."""
_FPR_SPAN = (0.0005, 0.2)
"""Pooled FPR over which measures are drawn."""
_N_RATES = 36
_N_ALPHAS = 21
_LABELS_WIDTH = 140
"""Pixels for the labels of three panels and the gaps between them."""
_ALPHA_OFFSET, _RATE_OFFSET = 0.015, 1.08
"""Distance between intervals that would hide each other: along alpha, and as a factor of FPR."""
_MAX_LINES_WITH_INTERVALS = 3
"""More lines than this have no intervals, which would be indistinguishable."""
_DRAWN_INFINITY = 1e6
"""Position of infinite limits, beyond any axis."""
_INTERVALS_SENTENCE = full_sentence("bars_and_ticks") + " "
_TERM_WIDTHS = {"of FPR (false accepts)": 2.8, "of FNR (false rejects)": 1.0}


@chart("measures", drawn_per="grouping", name="over-alpha")
def over_alpha(
    scope: ChartScope, theme: Theme, *, measures: Names = None, operating_points: Names = None
) -> Drawing:
    """Draw FDR, GARBE and IR of every system over alpha, the weight of FPR.

    As Fig. 1 of docs/references.md#paper-000, which has several operating points.
    """
    alphas = np.linspace(0, 1, _N_ALPHAS)
    joint_measures = _joint_measures(measures)
    rows, estimates, sentences = [], [], []
    lines = [*_rates_at_points(scope, operating_points)]
    for line_index, (name, line_scope, rates, rates_of_all) in enumerate(lines):
        line_ends = []
        for measure in joint_measures:
            values = np.asarray(measure.evaluate(*rates, alpha=alphas).value)
            rows.append(_line_row(measure.id.upper(), name, "", alphas, values))
            line_ends.append(f"{measure.short} {_line_ends(values)}")
            if rates_of_all is not None:
                values_of_all = np.asarray(measure.evaluate(*rates_of_all, alpha=alphas).value)
                faint = _line_row(measure.id.upper(), name, "", alphas, values_of_all)
                rows.append(faint | {"all": 1})
                line_ends[-1] += f" (of all groups {_line_ends(values_of_all)})"
            for row in _estimates(line_scope, measure):
                # intervals of several lines at one alpha would hide each other
                x = row["alpha"] + _ALPHA_OFFSET * (line_index - (len(lines) - 1) / 2)
                estimates.append(_estimate_row(measure, name, x, row))
        sentences.append(f"{name}, from alpha 0 to 1: {', '.join(line_ends)}")
    rows = [row for row in rows if row["x"]]
    if not rows:
        msg = f"fewer than two groups of {scope.grouping} have both rates: nothing to weigh"
        raise ConfigError(msg)
    steps = [0, 0.5, 1] if theme.is_narrow else [0, 0.25, 0.5, 0.75, 1]
    axis = {"values": steps, "format": ".2~f", "grid": False}
    title = "alpha" if theme.is_narrow else "alpha: weight of FPR"
    x = vl.quantitative("x", title=title, scale={"domain": [0, 1]}, axis=axis)
    if len(lines) > _MAX_LINES_WITH_INTERVALS:
        estimates = []
    panels = _panels(
        [measure.id.upper() for measure in joint_measures], rows, x, theme, estimates=estimates
    )
    points = ", ".join(_points(scope, operating_points) or (scope.operating_point,))
    return Drawing(
        theme.styled(vl.side_by_side(panels, 16)),
        f"Fairness measures by weight: {shortened(scope.grouping)} at {shortened(points)}",
        full_sentence("measures_by_alpha"),
        full_sentence("crossing_lines")
        + " "
        + (_INTERVALS_SENTENCE if estimates else "")
        + full_sentence("directions_by_alpha")
        + " "
        + _groups_sentence(scope),
        "; ".join(sentences) + ".",
    )


@chart("measures", drawn_per="grouping", name="over-fpr")
def over_fpr(
    scope: ChartScope, theme: Theme, *, measures: Names = None, alpha: float | None = None
) -> Drawing:
    """Draw the joint measures and their terms over pooled FPR, with crossings of the terms."""
    alpha = scope.audit.record["options"]["alpha"][0] if alpha is None else alpha
    if not 0 <= alpha <= 1:
        msg = f"alpha is {alpha}"
        hint = "give a weight of FPR between 0 and 1"
        raise ConfigError(msg, hint)
    joint_measures = _joint_measures(measures)
    measure_by_label = {_TERM_LABELS[measure.id]: measure.id for measure in joint_measures}
    rows, estimates, sentences = [], [], []
    lines = enumerate(_rates_over_fpr(scope))
    for line_index, (name, line_scope, rates, rates_of_all, pooled) in lines:
        # intervals of several lines at one FPR would hide each other
        factor = _RATE_OFFSET ** (line_index - (len(scope.subjects) - 1) / 2)
        for measure in joint_measures:
            values = measure.evaluate(*rates, alpha=alpha).value
            rows.append(_line_row(measure.id.upper(), name, "", pooled, values))
            if rates_of_all is not None:
                values_of_all = measure.evaluate(*rates_of_all, alpha=alpha).value
                faint = _line_row(measure.id.upper(), name, "", pooled, values_of_all)
                rows.append(faint | {"all": 1})
            estimates += [
                _estimate_row(measure, name, x * factor, row)
                for x, row in _estimates_over_fpr(line_scope, measure, alpha)
                if pooled[0] <= x <= pooled[-1]
            ]
        for label, measure_id in measure_by_label.items():
            terms = _term_values(measure_id, rates)
            rows += [
                _line_row(label, name, line, pooled, term)
                for line, term in zip(_TERM_WIDTHS, terms, strict=True)
            ]
            crossing_points = crossings(pooled, *terms)
            rows += [
                {"p": label, "c": name, "d": "", "x": [rate], "y": [height], "k": 1}
                for rate, height in crossing_points
            ]
            if crossing_points:
                crossing_rates = ", ".join(percent(rate) for rate, _ in crossing_points[:4])
                sentences.append(f"{name}, {label}: the terms cross at an FPR of {crossing_rates}")
    rows = [row for row in rows if row["x"]]
    if not rows:
        msg = f"fewer than two groups of {scope.grouping} have both rates: nothing to draw"
        raise ConfigError(msg)
    low, high = min(min(row["x"]) for row in rows), max(max(row["x"]) for row in rows)
    points = {
        float(f"{row['fpr']:.4g}")
        for row in table_rows(scope.audit, "operating_points", within="")
        if row["fpr"] is not None and low <= row["fpr"] <= high
    }
    axis = vl.log_axis("FPR of all (%)", low, high, grid=False)
    # only powers of ten are labelled, as panels are small
    axis["axis"]["values"] = [tick for tick in vl.ticks(low, high) if f"{tick:g}"[-1] == "1"]
    x = vl.quantitative("x", **axis)
    if len({row["c"] for row in estimates}) > _MAX_LINES_WITH_INTERVALS:
        estimates = []
    panel_rows = [
        _panels(titles, rows, x, theme, points=sorted(points), estimates=estimates)
        for titles in ([measure.id.upper() for measure in joint_measures], [*measure_by_label])
    ]
    stacked = [vl.side_by_side(panels, 16) for panels in panel_rows if panels]
    all_panels = {"vconcat": stacked, "spacing": 14}
    return Drawing(
        theme.styled({**all_panels, "resolve": {"scale": {"strokeWidth": "independent"}}}),
        f"Fairness measures by threshold: {shortened(scope.grouping)}",
        full_sentence("measures_by_threshold"),
        full_sentence("terms_below")
        + " "
        + (_INTERVALS_SENTENCE if estimates else "")
        + full_sentence("directions_by_threshold")
        + " "
        + _groups_sentence(scope),
        ("; ".join(sentences) or sentence_text("terms_do_not_cross")) + ".",
    )


def crossings(
    x: NDArray[np.float64], first_curve: NDArray[np.float64], second_curve: NDArray[np.float64]
) -> list[tuple[float, float]]:
    """Return where one curve overtakes another: positions on a logarithmic axis and heights.

    Examples
    --------
    >>> import numpy as np
    >>> crossings(np.array([0.01, 0.1]), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    [(0.031623, 0.5)]
    """
    gap = first_curve - second_curve
    with np.errstate(invalid="ignore"):
        indices = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    share = gap[indices] / (gap[indices] - gap[indices + 1])
    positions = np.exp(np.log(x[indices]) + share * np.diff(np.log(x))[indices])
    heights = first_curve[indices] + share * (first_curve[indices + 1] - first_curve[indices])
    return [
        (float(f"{position:.5g}"), float(f"{height:.5g}"))
        for position, height in zip(positions, heights, strict=True)
    ]


# ---- ranges of the measures and their terms over alpha and threshold


_FPR_RANGE = (0.001, 0.1)
"""Pooled FPR that paper 003 examines."""
_QUANTILE_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_N_BINS = 40
_HILL_HEIGHT, _BOX_HEIGHT = 90, 15


@chart("measures", drawn_per="asked")
def terms(scope: ChartScope, theme: Theme, *, measures: Names = None) -> Drawing:
    """Draw densities of FDR, GARBE and IR over alpha and threshold, above boxes of their terms.

    As Figs. 1 to 5 of docs/references.md#paper-003.
    """
    joint_measures = _joint_measures(measures)
    hills, boxes, sentences = _measure_ranges(scope, joint_measures)
    drawn_measures = [
        measure
        for measure in joint_measures
        if any(values.size for values in hills[measure.id].values())
    ]
    if not drawn_measures:
        msg = (
            f"no measure of {scope.grouping} is defined between FPRs of {percent(_FPR_RANGE[0])} "
            f"and {percent(_FPR_RANGE[1])}: at least two groups must have both rates"
        )
        raise ConfigError(msg)
    names = [*hills[drawn_measures[0].id]]
    row_names = [*dict.fromkeys(row["group"] for row in boxes)]
    series_styles = theme.colours(len(names)), theme.dashes(len(names))
    legend = {"symbolType": "stroke", "columns": theme.legend_columns(names)}
    colour, dash = vl.series_channels("c", names, *series_styles, legend=legend)
    names_width = text_width(row_names, theme.size)
    width = (theme.width - 20 - names_width) // len(drawn_measures) - 16
    hill_panels, box_panels = [], []
    for panel_index, measure in enumerate(drawn_measures):
        is_log = measure.scale == "ratio"
        rows = _hills(hills[measure.id], is_log=is_log)
        x = _axis([value for row in rows for value in row["x"]], is_log=is_log)
        hill = {"x": x | {"field": "x"}, "y": vl.quantitative("y", title=None, axis=None)}
        line = vl.mark("line", {**hill, "color": colour, "strokeDash": dash}, strokeWidth=1.6)
        panel = vl.layered(
            [line],
            data=vl.inline_data(rows),
            transform=[{"flatten": ["x", "y"]}],
            title=vl.heading(measure.id.upper()),
        )
        hill_panels.append({**panel, "width": width, "height": _HILL_HEIGHT})
        measure_boxes = [row for row in boxes if row["p"] == measure.id]
        y = vl.name_axis(row_names, theme.inks.ink if panel_index == 0 else "")
        x = _axis([row[field] for row in measure_boxes for field in "labch"], is_log=is_log)
        panel_size = {"width": width, "height": _BOX_HEIGHT * len(row_names)}
        label = (_TERMS if theme.is_narrow else _TERM_LABELS)[measure.id]
        box_panels.append(vl.panel(vl.box_marks(x, y, theme), measure_boxes, label, **panel_size))
    panels = {
        "vconcat": [vl.side_by_side(hill_panels, 16), vl.side_by_side(box_panels, 16)],
        "spacing": 14,
    }
    return Drawing(
        theme.styled(panels, view={"stroke": None}),
        f"Range of fairness measures: {shortened(scope.grouping)}",
        full_sentence(
            "distribution_over_choices",
            lowest=percent(_FPR_RANGE[0]),
            highest=percent(_FPR_RANGE[1]),
        ),
        full_sentence("terms_over_choices") + " " + _groups_sentence(scope, has_faint=False),
        "; ".join(sentences) + ".",
    )


def _measure_ranges(
    scope: ChartScope, joint_measures: Sequence[MetaMeasure]
) -> tuple[dict[str, dict[str, NDArray[np.float64]]], list[Row], list[str]]:
    """Return each measure's finite values by system, boxes of its terms, and sentences."""
    alphas = np.linspace(0, 1, _N_ALPHAS)
    hills: dict[str, dict[str, NDArray[np.float64]]] = {
        measure.id: {} for measure in joint_measures
    }
    boxes: list[Row] = []
    sentences = []
    for name, _, rates, _, pooled in _rates_over_fpr(scope):
        is_in_range = (_FPR_RANGE[0] <= pooled) & (pooled <= _FPR_RANGE[1])
        fpr, fnr = rates[0][is_in_range], rates[1][is_in_range]
        for measure in joint_measures:
            values = np.stack(
                [np.asarray(measure.evaluate(fpr, fnr, alpha=alpha).value) for alpha in alphas]
            )
            hills[measure.id][name] = values[np.isfinite(values)]
            share = percent(float(np.isfinite(values).mean())) if values.size else "–"
            sentences.append(
                sentence_text("measure_defined_in", system=name, measure=measure.short, share=share)
            )
            terms_of_rates = _term_values(measure.id, (fpr, fnr))
            for kind, term in zip(_TERM_WIDTHS, terms_of_rates, strict=True):
                if np.isfinite(term).any():
                    quantiles = np.quantile(term[np.isfinite(term)], _QUANTILE_LEVELS)
                    box = dict(zip("labch", map(float, quantiles), strict=True))
                    boxes.append(
                        {"p": measure.id, "group": f"{name}, {kind[:6]}", "k": kind, **box}
                    )
    return hills, boxes, sentences


def _axis(values: Sequence[float], *, is_log: bool) -> vl.Spec:
    if is_log:
        return {"type": "quantitative", **vl.log_axis(None, *vl.log_domain(values), percent=False)}
    axis = {"tickCount": 3, "format": "~g"}
    return {"type": "quantitative", "title": None, "scale": {"zero": False}, "axis": axis}


def _hills(values_by_name: dict[str, NDArray[np.float64]], *, is_log: bool) -> list[Row]:
    """Return densities on one grid of values, each smoothed over three steps and of height 1."""
    all_values = np.concatenate([*values_by_name.values()])
    all_values = np.log(all_values[all_values > 0]) if is_log else all_values
    low, high = float(all_values.min()), float(all_values.max())
    edges = np.linspace(low, max(high, low + 1e-6), _N_BINS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    grid = np.exp(middles) if is_log else middles
    rows = []
    for name, values in values_by_name.items():
        counts, _ = np.histogram(np.log(values) if is_log else values, edges)
        smooth = np.convolve(counts, [0.25, 0.5, 0.25], mode="same")
        if smooth.max() > 0:
            heights = (smooth / smooth.max()).round(4).tolist()
            rows.append(
                {"c": name, "x": [float(f"{position:.5g}") for position in grid], "y": heights}
            )
    return rows


# ---- the groups that measures are of


def _scopes_of_subjects(scope: ChartScope) -> Iterator[ChartScope]:
    """Return the scope of each system and list."""
    for system, list_name in scope.subjects:
        yield replace(scope, system=system, list=list_name)


def _joint_measures(asked_names: Names) -> list[MetaMeasure]:
    """Return the measures of both rates that are named, or all that have two terms."""
    measure_ids = checked_names("measures", asked_names, _TERM_LABELS, "drawn here")
    return [meta_measures()[name] for name in measure_ids or _TERM_LABELS]


def _term_values(measure_id: str, rates: Rates) -> list[NDArray[np.float64]]:
    """Return the terms of a measure: that of FPR and that of FNR."""
    measures = meta_measures()
    terms = measures[measure_id].terms or ()
    return [
        np.asarray(measures[term_id].evaluate(rate).value)
        for term_id, rate in zip(terms, rates, strict=True)
    ]


def _points(scope: ChartScope, asked_points: Names) -> tuple[str, ...]:
    """Return the operating points that are named; empty for none."""
    rows = table_rows(scope.audit, "operating_points", within="")
    return checked_names("operating_points", asked_points, [row["operating_point"] for row in rows])


def _groups_not_judged(scope: ChartScope) -> set[str]:
    """Return groups below a minimum for FNR or FPR, in this system or another one."""
    rows = table_rows(
        scope.audit, "meta", **scope.point_filters, metric=BOTH, measure="fdr", gated=True
    )
    return scope.small_groups | set(groups_left_out(rows))


def _has_judged_groups(scope: ChartScope) -> bool:
    """Return whether two or more groups are judged in all systems that are drawn."""
    is_alike = covers_same_groups(scope.audit, scope.point_filters)
    return is_alike and len(set(scope.groups) - _groups_not_judged(scope)) > 1


def _judged_groups(scope: ChartScope, names: Sequence[str]) -> list[str]:
    """Return the groups that are judged in all systems; all groups if fewer than two are."""
    groups = [name for name in names if name != "pooled"]
    small_groups = _groups_not_judged(scope)
    judged_groups = [name for name in groups if name not in small_groups]
    return judged_groups if _has_judged_groups(scope) and len(judged_groups) > 1 else groups


def _groups_sentence(scope: ChartScope, *, has_faint: bool = True) -> str:
    """Return a sentence on the groups of the lines, and on faint lines of all groups."""
    scopes = [*_scopes_of_subjects(scope)]
    small_groups = list(
        dict.fromkeys(
            group for each_scope in scopes for group in sorted(_groups_not_judged(each_scope))
        )
    )
    if not small_groups:
        return full_sentence("lines_of_every_group")
    if not covers_same_groups(scope.audit, scope.point_filters):
        return full_sentence("groups_small_elsewhere_all")
    has_judged = [_has_judged_groups(each_scope) for each_scope in scopes]
    if all(has_judged):
        reasons = ", ".join(omission_reasons(scope.audit, scope.point_filters, small_groups))
        condition = not_under_represented_text(scope.audit)
        faint = "; " + sentence_text("faint_lines") if has_faint else ""
        return full_sentence("groups_that_meet", condition=condition, faint=faint, reasons=reasons)
    sentence = sentence_text("fewer_than_two_meet_minimums")
    if any(has_judged):
        sentence += " in a system"
    return full_sentence("lines_of_all_groups", reason=sentence)


def _rates_at_points(
    scope: ChartScope, points: Names
) -> Iterator[tuple[str, ChartScope, Rates, Rates | None]]:
    """Return a name, a scope and both rates of judged groups for every system and point.

    The last element has the rates of all groups; None if all groups are judged.
    """
    asked_points = _points(scope, points)
    for subject_scope in _scopes_of_subjects(scope):
        for point in asked_points or (scope.operating_point,):
            point_scope = replace(subject_scope, operating_point=point)
            fpr, fnr = point_scope.rate_rows("fpr"), point_scope.rate_rows("fnr")
            groups = [name for name in fpr if name in fnr and name != "pooled"]
            judged_groups = _judged_groups(point_scope, groups)
            rates = _rate_values(fpr, judged_groups), _rate_values(fnr, judged_groups)
            rates_of_all = None
            if judged_groups != groups:
                rates_of_all = _rate_values(fpr, groups), _rate_values(fnr, groups)
            label_parts = []
            if len(scope.subjects) > 1 or len(asked_points) < 2:
                label_parts.append(point_scope.label)
            if len(asked_points) > 1:
                label_parts.append(point)
            yield shortened(" at ".join(label_parts), 24), point_scope, rates, rates_of_all


def _line_ends(values: NDArray[np.float64]) -> str:
    """Return the first and the last value of a line, in words."""
    start, stop = ("–" if np.isnan(end) else f"{end:.3g}" for end in values[[0, -1]])
    return f"{start} to {stop}"


def _rate_values(rates: Mapping[str, Row], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the rates of some groups, shape (group,); NaN where undefined."""
    return np.array([rates[name]["value"] for name in names], dtype=np.float64)


def _rates_over_fpr(
    scope: ChartScope,
) -> Iterator[tuple[str, ChartScope, Rates, Rates | None, NDArray[np.float64]]]:
    """Return for every system a name, a scope and both rates over pooled FPR, which rises.

    Rates are those of judged groups, shape (threshold, group), then those of all groups, which are
    None if all groups are judged. The last element is pooled FPR, shape (threshold,).
    """
    for subject_scope in _scopes_of_subjects(scope):
        curves = grouping_curves(
            subject_scope.audit,
            subject_scope.system,
            subject_scope.list,
            subject_scope.grouping,
            subject_scope.allocation,
        )
        pooled = curves.fpr[-1]
        wanted_rates = np.geomspace(*_FPR_SPAN, _N_RATES)
        if np.isnan(pooled).any():
            continue
        falling = -pooled  # thresholds rise, so the rate falls
        indices = np.unique(np.clip(np.searchsorted(falling, -wanted_rates), 0, pooled.size - 1))
        indices = indices[pooled[indices] > 0][::-1]
        # thresholds of the same pooled FPR would be one point
        indices = indices[np.unique(pooled[indices], return_index=True)[1]]
        groups = [name for name in curves.groups if name != "pooled"]
        judged_groups = _judged_groups(subject_scope, groups)
        rates_of_all = None
        if judged_groups != groups:
            rates_of_all = _curve_rates(curves, groups, indices)
        yield (
            shortened(subject_scope.label, 24),
            subject_scope,
            _curve_rates(curves, judged_groups, indices),
            rates_of_all,
            pooled[indices],
        )


def _curve_rates(
    curves: ErrorCurves, groups: Sequence[str], threshold_indices: NDArray[np.intp]
) -> Rates:
    """Return FPR and FNR of some groups, shape (threshold, group)."""
    rows = [curves.groups.index(group) for group in groups]
    return curves.fpr[rows][:, threshold_indices].T, curves.fnr[rows][:, threshold_indices].T


def _estimates(scope: ChartScope, measure: MetaMeasure) -> list[Row]:
    """Return the audit's rows of a measure for the groups of the line, at each alpha."""
    filters = {**scope.point_filters, "metric": BOTH, "measure": measure.id, "zero": "none"}
    rows = table_rows(scope.audit, "meta", **filters, gated=_has_judged_groups(scope))
    return [row for row in rows if row["value"] is not None and row["high"] is not None]


def _estimates_over_fpr(
    scope: ChartScope, measure: MetaMeasure, alpha: float
) -> Iterator[tuple[float, Row]]:
    """Return pooled FPR and the measure at each operating point, if the audit has the alpha."""
    filters = {"system": scope.system, "list": scope.list, "within": ""}
    for point in table_rows(scope.audit, "operating_points", **filters):
        point_scope = replace(scope, operating_point=point["operating_point"])
        if _groups_not_judged(point_scope) != _groups_not_judged(scope):
            continue  # the line and the measure at this point are of different groups
        for row in _estimates(point_scope, measure):
            if row["alpha"] == alpha and point["fpr"]:
                yield point["fpr"], row


def _estimate_row(measure: MetaMeasure, name: str, x: float, row: Row) -> Row:
    high = min(row["high"], _DRAWN_INFINITY)
    drawn_row = {"p": measure.id.upper(), "c": name, "x": x, "l": row["low"], "h": high}
    if row["floor_95"] is not None:
        drawn_row["f"] = row["floor_95"]
    return drawn_row


# ---- lines and panels


def _line_row(panel: str, system: str, line: str, x: NDArray[np.float64], y: Any) -> Row:
    defined = np.isfinite(y)
    return {
        "p": panel,
        "c": system,
        "d": line,
        "x": [float(f"{number:.4g}") for number in x[defined]],
        "y": [float(f"{number:.5g}") for number in np.asarray(y)[defined]],
    }


def _panels(
    titles: Sequence[str],
    rows: Sequence[Row],
    x: vl.Spec,
    theme: Theme,
    *,
    points: Sequence[float] = (),
    estimates: Sequence[Row] = (),
) -> list[vl.Spec]:
    """Return a panel for each title that has lines, with the audited points and estimates there."""
    names = [*dict.fromkeys(row["c"] for row in rows)]
    legend = {
        "symbolType": "stroke",
        "columns": theme.legend_columns(names, reserved_width=_LABELS_WIDTH / 3),
    }
    series_styles = theme.colours(len(names)), theme.dashes(len(names))
    colour, dash = vl.series_channels("c", names, *series_styles, legend=legend)
    terms = {
        "symbolType": "stroke",
        "columns": theme.legend_columns([*_TERM_WIDTHS], reserved_width=_LABELS_WIDTH / 3),
    }
    (width,) = vl.series_channels("d", _TERM_WIDTHS, _TERM_WIDTHS.values(), legend=terms)
    panel_size = {"width": (theme.width - _LABELS_WIDTH) // max(len(titles), 2), "height": 130}
    cross_style = {"shape": "cross", "angle": 45}
    point_rule = {"x": vl.quantitative("h", title=x["title"])}
    point_lines = vl.mark(
        "rule",
        point_rule,
        rows=[{"h": rate} for rate in points],
        color=theme.inks.muted,
        strokeWidth=0.8,
    )
    panels = []
    for title in titles:
        panel_rows, panel_estimates = (
            [row for row in source_rows if row["p"] == title] for source_rows in (rows, estimates)
        )
        if not panel_rows:
            continue
        if title in _RATIO_PANELS:
            limits = vl.field_values(panel_estimates, "lhf")
            # infinite limits must not stretch the axis
            limits = [limit for limit in limits if limit < _DRAWN_INFINITY]
            low, high = vl.log_domain(
                [*(number for row in panel_rows for number in row["y"]), *limits]
            )
            y = vl.quantitative("y", **vl.log_axis(None, low, high, percent=False))
        else:
            axis = {"tickCount": 4, "format": "~g"}
            y = vl.quantitative("y", title=None, scale={"zero": False, "nice": True}, axis=axis)
        position = {"x": x, "y": y, "color": colour}
        line_width = width if any(row["d"] for row in panel_rows) else {"value": 1.6}
        line_channels = {**position, "strokeDash": dash, "strokeWidth": line_width}
        layers = [vl.mark("line", line_channels, condition="datum.k != 1 && datum.all != 1")]
        if any(row.get("all") for row in panel_rows):
            faint_style: vl.Spec = {"strokeWidth": 0.8, "opacity": 0.45}
            faint_line = {**position, "strokeDash": dash}
            layers.append(vl.mark("line", faint_line, condition="datum.all == 1", **faint_style))
        if any(row.get("k") for row in panel_rows):
            layers.append(vl.dots(position, 60, condition="datum.k == 1", **cross_style))
        flatten = [{"flatten": ["x", "y"]}]
        line_layers = [vl.layered(layers, data=vl.inline_data(panel_rows), transform=flatten)]
        marks = [point_lines, *line_layers] if points else line_layers
        if panel_estimates:
            interval_ends = {"y": {**y, "field": "l"}, "y2": {"field": "h"}}
            interval_bar = {"x": x, **interval_ends, "color": colour, "strokeDash": dash}
            tick = {"x": x, "y": {**y, "field": "f"}}
            tick_style: vl.Spec = {"thickness": 2, "width": 9, "orient": "horizontal"}
            layers = [
                vl.mark("rule", interval_bar, strokeWidth=1.2),
                vl.mark(
                    "tick", tick, condition="isValid(datum.f)", **tick_style, color=theme.inks.muted
                ),
            ]
            marks.append(vl.layered(layers, data=vl.inline_data(panel_estimates)))
        panels.append(vl.layered(marks, **panel_size, title=vl.heading(title)))
    return panels
