"""DET charts: the error rates of each group, or of each system, at any threshold."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.report.audit_queries import error_types
from parivox.report.catalogue import full_sentence
from parivox.report.charts import curves
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    ChartScope,
    Drawing,
    Row,
    Subject,
    chart,
    check_name,
    groups_to_draw,
    short_name,
    shortened,
    table_rows,
    undrawn_sentence,
)
from parivox.report.charts.theme import text_width
from parivox.report.identification import gallery_text, is_identification
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.charts.curves import ErrorCurves
    from parivox.report.charts.theme import Theme

    Domain = tuple[float, float]

MAX_GROUPS = 36
_MAX_LINES_PER_PANEL = 5
_ALL = "all groups"
_OWN_MINIMUM = "minimum cost"
_AUDITED_POINT = "threshold at"
_AXIS_WIDTH = 46
"""Pixels for the labels at the left of panels."""
_SHADES = full_sentence("shaded_monotonic_intervals") + " "
_NO_SHADES = full_sentence("intervals_omitted", curves=_MAX_LINES_PER_PANEL) + " "
_SPOOF_GUIDE = full_sentence("horizontal_axis_of_panels") + " "
_RATE = "rate"
"""In a row: the rate on the horizontal axis of its panel, which is not drawn itself."""
_PANELS = ("group", "system", "all")
"""What may have a panel of its own, besides the values of an attribute."""
_EDGE = 0.03
"""Distance of marks from the ends of an axis, as a share of it: half a mark in a small panel."""
_SHAPES = ("square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")


@chart("det", drawn_per="system", has_searches=True)
def det(scope: ChartScope, theme: Theme, *, panel: str | None = None) -> Drawing:
    """Draw DET curves on probit axes with interval bands and the audited thresholds.

    For one system, a grouping by several attributes has a panel for each value of one attribute
    and a colour for each value of the others. For several systems, each group has a panel.
    """
    audit, subjects = scope.audit, scope.asked_systems or ((scope.system, scope.list),)
    curves_by_subject = {
        subject: curves.grouping_curves(audit, *subject, scope.grouping, scope.allocation)
        for subject in subjects
    }
    domain = _domain([*curves_by_subject.values()])
    placements = _placements(scope, panel)
    rows: list[Row] = []
    for (subject, group), (panel_name, line_name) in placements.items():
        subject_curves = curves_by_subject[subject]
        if group in subject_curves.groups:
            rows += _rows(audit, subject_curves, group, panel_name, line_name, domain)
    line_names = [*dict.fromkeys(line_name for _, line_name in placements.values())]
    lines_per_panel = Counter(panel_name for panel_name, _ in placements.values())
    has_shades = max(lines_per_panel.values()) <= _MAX_LINES_PER_PANEL
    # more bands than a few in one panel would hide each other
    rows = [row for row in rows if has_shades or row["k"] != "band"]
    pooled_rows = _pooled_rows(audit, placements, curves_by_subject, domain)
    if pooled_rows:
        line_names.append(_ALL)
        rows += pooled_rows
    if not any(row["x"] for row in rows):
        msg = f"no group of {scope.grouping} has both kinds of trials: a curve needs both"
        raise ConfigError(msg)
    systems = " and ".join(short_name(subject, 40) for subject in subjects)
    shades = _SHADES if has_shades else _NO_SHADES
    return Drawing(
        _spec(rows, line_names, domain, audit, theme),
        f"DET curves: {systems} by {shortened(scope.grouping)}",
        full_sentence("det_of_groups", condition=_condition_text(audit)),
        _kinds_text(audit, shades)
        + full_sentence("marks_of_operating_points")
        + " "
        + ("" if is_identification(audit) else full_sentence("circles_of_group_costs") + " ")
        + full_sentence("marks_on_border")
        + undrawn_sentence(scope, MAX_GROUPS),
        " ".join(_points_sentence(audit, subject) for subject in subjects),
    )


@chart("det", drawn_per="audit", name="det-systems", has_searches=True)
def det_of_systems(scope: ChartScope, theme: Theme) -> Drawing:
    """Draw DET curves of all trials of every system and list in one panel."""
    audit = scope.audit
    names = {subject: short_name(subject, 40) for subject in scope.subjects}
    curves_by_subject = {
        subject: curves.grouping_curves(audit, *subject, "all") for subject in names
    }
    domain = _domain([*curves_by_subject.values()])
    rows = [
        row
        for subject, name in names.items()
        for row in _rows(audit, curves_by_subject[subject], "all", "", name, domain)
    ]
    if not rows:
        msg = "no system has both kinds of trials: a curve needs both"
        raise ConfigError(msg)
    return Drawing(
        _spec(rows, [*names.values()], domain, audit, theme),
        "DET curves: all systems and lists",
        full_sentence("det_of_systems", condition=_condition_text(audit)),
        _kinds_text(audit, full_sentence("shaded_intervals") + " ")
        + full_sentence("filled_marks")
        + ("" if is_identification(audit) else " " + full_sentence("circles_of_system_costs")),
        " ".join(_points_sentence(audit, subject) for subject in names),
    )


def _points_sentence(audit: Audit, subject: Subject) -> str:
    """Return a sentence on the rates of all trials at each operating point."""
    system, list_name = subject
    filters = {"system": system, "list": list_name, "within": ""}
    # those of bona fide trials are in the table of operating points, too
    rate_rows = table_rows(audit, "groups", **filters, grouping="all", definition="")
    rates = {(row["operating_point"], row["metric"]): row["value"] for row in rate_rows}
    points = []
    for row in table_rows(audit, "operating_points", **filters):
        point = row["operating_point"]
        *leading, last = (
            f"{metric.upper()} {percent(row.get(metric, rates.get((point, metric))))}"
            for metric in _rate_names(audit)
        )
        points.append(f"at {shortened(point)} {', '.join(leading)} and {last}")
    noun = "searches" if is_identification(audit) else "trials"
    return f"{short_name(subject, 40)}, all {noun}: {'; '.join(points)}."


def _rate_names(audit: Audit) -> list[str]:
    """Return the error rates that curves show, false rejects last."""
    metrics = [metric for metric in error_types(audit) if metric != "sfar" or len(audit.spoof_bins)]
    return sorted(metrics, key=lambda metric: metric.startswith("fn"))


def _condition_text(audit: Audit) -> str:
    """Return what else a caption says of curves: those of identification hold for a gallery."""
    return f", against {gallery_text(audit)}" if is_identification(audit) else ""


def _kinds_text(audit: Audit, shades: str) -> str:
    """Return what panels and shades show; curves of identification have no shades."""
    if is_identification(audit):
        return full_sentence("fnir_at_rank") + " "
    return shades + (_SPOOF_GUIDE if len(audit.spoof_bins) else "")


def _curve_kinds(subject_curves: ErrorCurves, panel_name: str) -> Iterator[tuple[ErrorCurves, str]]:
    """Yield curves of each kind of false accepts, with its panel: of spoof trials, one more."""
    spoof_curves = subject_curves.spoof_curves
    if spoof_curves is None:
        yield subject_curves, panel_name
        return
    titles = ("nontarget trials (FPR)", "spoof trials (SFAR)")
    if panel_name:
        titles = (f"{panel_name}: FPR", f"{panel_name}: SFAR")
    yield from zip((subject_curves.nontarget_curves, spoof_curves), titles, strict=True)


def _domain(all_curves: Sequence[ErrorCurves]) -> Domain:
    """Return the rates that the axes span: where most groups still have some errors."""
    sizes: list[int] = []
    for subject_curves in all_curves:
        n_trials = (*subject_curves.n_target, *subject_curves.n_nontarget)
        if subject_curves.n_spoof is not None:
            n_trials += tuple(subject_curves.n_spoof)
        sizes += [size for size in n_trials if size]
    # at three errors in a group of median size, most groups still have some errors
    lowest = 3 / float(np.median(sizes)) if sizes else 0.001
    return float(np.clip(lowest, 2e-5, 0.02)), 0.5


def _pooled_rows(
    audit: Audit,
    placements: Mapping[tuple[Subject, str], tuple[str, str]],
    curves_by_subject: Mapping[Subject, ErrorCurves],
    domain: Domain,
) -> list[Row]:
    """Return the pooled line of each panel; none where a panel has several systems."""
    panels_and_subjects = dict.fromkeys(
        (panel_name, subject) for (subject, _), (panel_name, _) in placements.items()
    )
    # a panel of several systems has no single pooled line
    if len(panels_and_subjects) != len({panel_name for panel_name, _ in panels_and_subjects}):
        return []
    *false_accepts, _ = _rate_names(audit)
    rows: list[Row] = []
    for panel_name, subject in panels_and_subjects:
        kinds = _curve_kinds(curves_by_subject[subject], panel_name)
        for (kind_curves, kind_panel), rate_name in zip(kinds, false_accepts, strict=False):
            x, y = curves.det_line(kind_curves.fpr[-1], kind_curves.fnr[-1], domain)
            rows.append({"k": "line", "p": kind_panel, _RATE: rate_name, "c": _ALL, "x": x, "y": y})
    return rows


def _placements(
    scope: ChartScope, asked_panel: str | None = None
) -> dict[tuple[Subject, str], tuple[str, str]]:
    """Return the panel and the line of each group of each system."""
    subjects = scope.asked_systems or ((scope.system, scope.list),)
    groups = groups_to_draw(scope, MAX_GROUPS)
    attribute_values = _attribute_values(scope.grouping, groups)
    check_name("panel", asked_panel, (*attribute_values, *_PANELS))
    panel = asked_panel or _default_panel(groups, attribute_values, len(subjects))
    placements = {}
    for subject, group in product(subjects, groups):
        values = {
            name: values_by_group[group] for name, values_by_group in attribute_values.items()
        }
        titles = {
            "group": scope.group_label(group),
            "system": short_name(subject),
            "all": "",
            **values,
        }
        if panel in values:
            line = "+".join(value for name, value in values.items() if name != panel)
        else:
            line = "" if panel == "group" else group
        has_system = len(subjects) > 1 and panel != "system"
        names = [shortened(line), short_name(subject) if has_system else ""]
        line_name = ", ".join(filter(None, names)) or "this group"
        placements[subject, group] = shortened(titles[panel], 24), line_name
    return placements


def _attribute_values(grouping: str, groups: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the value of each attribute for each group; empty for a single attribute."""
    attributes = grouping.split("+")
    group_values = {group: group.split("+") for group in groups}
    if len(attributes) < 2 or any(
        len(values) != len(attributes) for values in group_values.values()
    ):
        return {}
    return {
        name: {group: values[i] for group, values in group_values.items()}
        for i, name in enumerate(attributes)
    }


def _default_panel(
    groups: Sequence[str], attribute_values: Mapping[str, dict[str, str]], n_systems: int
) -> str:
    """Return what has a panel of its own where the user names nothing."""
    if n_systems > 1:
        return "group"
    if len(groups) <= _MAX_LINES_PER_PANEL:
        return "all"
    if not attribute_values:
        return "group"
    largest = max(attribute_values, key=lambda name: len({*attribute_values[name].values()}))
    lines = {
        tuple(
            values_by_group[group]
            for name, values_by_group in attribute_values.items()
            if name != largest
        )
        for group in groups
    }
    return largest if len(lines) <= _MAX_LINES_PER_PANEL else "group"


def _rows(
    audit: Audit,
    subject_curves: ErrorCurves,
    group: str,
    panel: str,
    line_name: str,
    domain: Domain,
) -> list[Row]:
    """Return the lines of one group, of each kind of false accepts, with its band and marks."""
    group_index = subject_curves.groups.index(group)
    marks = _marked_thresholds(audit, subject_curves, group_index)
    *false_accepts, false_rejects = _rate_names(audit)
    rows: list[Row] = []
    for (kind_curves, kind_panel), rate_name in zip(
        _curve_kinds(subject_curves, panel), false_accepts, strict=False
    ):
        placement = {"p": kind_panel, _RATE: rate_name, "c": line_name}
        fpr, fnr = kind_curves.fpr[group_index], kind_curves.fnr[group_index]
        x, y = curves.det_line(fpr, fnr, domain)
        if not x:
            continue
        if kind_curves.n_nontarget is not subject_curves.n_spoof:
            nodes = table_rows(audit, "bands", **subject_curves.filters, group=group)
            rows.append({"k": "band", **placement, **curves.det_band(nodes, domain)})
        rows.append({"k": "line", **placement, "x": x, "y": y})
        rates = (rate_name.upper(), false_rejects.upper())
        rows += [
            {**placement, **mark}
            for mark in _mark_rows(kind_curves, group_index, marks, rates, domain)
        ]
    return rows


def _mark_rows(
    kind_curves: ErrorCurves,
    group_index: int,
    marks: Mapping[str, int],
    rate_names: tuple[str, str],
    domain: Domain,
) -> Iterator[Row]:
    """Yield the marks of one line, each with both rates in words."""
    fpr, fnr = kind_curves.fpr[group_index], kind_curves.fnr[group_index]
    for name, index in marks.items():
        # a threshold above all scores has no point on the curve; the last one is drawn
        k = min(index, kind_curves.thresholds.size - 1)
        false_accepts = kind_curves.fp[group_index, k]
        false_rejects = kind_curves.fn[group_index, k]
        rates = (
            f"{rate_names[0]} {percent(float(fpr[k]))} ({false_accepts:,} of "
            f"{kind_curves.n_nontarget[group_index]:,}), "
            f"{rate_names[1]} {percent(float(fnr[k]))} ({false_rejects:,} of "
            f"{kind_curves.n_target[group_index]:,})"
        )
        kind = "own" if name == _OWN_MINIMUM else "at"
        mark_x, mark_y = (
            _inside_panel(curves.axis_positions(curve[k : k + 1], domain), domain)
            for curve in (fpr, fnr)
        )
        yield {"k": kind, "m": shortened(name), "x": mark_x, "y": mark_y, "t": rates}


def _marked_thresholds(
    audit: Audit, subject_curves: ErrorCurves, group_index: int
) -> dict[str, int]:
    """Return the threshold index of each audited point and of the group's minimum cost."""
    subject = {"system": subject_curves.system, "list": subject_curves.list}
    indices = {
        row["operating_point"]: int(np.searchsorted(subject_curves.thresholds, row["threshold"]))
        for row in table_rows(audit, "operating_points", **subject, within="")
        if row["threshold"] is not None
    }
    if is_identification(audit):  # has no default cost
        return indices
    minima = curves.minimum_cost_indices(subject_curves, audit.record["options"]["cost"][0])
    if minima is not None:
        indices[_OWN_MINIMUM] = int(minima[group_index])
    return indices


def _axis_title(audit: Audit, metric: str) -> str:
    """Return the title of the axis of an error type."""
    return f"{error_types(audit)[metric]} ({metric.upper()}, %)"


def _panels_of_kinds(
    audit: Audit,
    layers: Sequence[vl.Spec],
    rate_of_panel: Mapping[str, str],
    domain: Domain,
    columns: int,
) -> list[vl.Spec]:
    """Return a panel of each kind of false accepts, which is on the horizontal axis of its own."""
    panels = []
    for i, (name, rate) in enumerate(rate_of_panel.items()):
        x = vl.quantitative("x", **vl.probit_axis(_axis_title(audit, rate), *domain))
        own_layers = []
        for layer in layers:
            channels = {**layer["encoding"], "x": x}
            if i % columns:  # panels in a row have the same axis of false rejects
                y = channels["y"]
                channels["y"] = {**y, "title": None, "axis": {**y["axis"], "labelOpacity": 0}}
            own_layers.append({**layer, "encoding": channels})
        rows = [{"filter": {"field": "p", "equal": name}}]
        panels.append(vl.layered(own_layers, transform=rows, title=vl.heading(name)))
    return panels


def _inside_panel(positions: Sequence[float], domain: Domain) -> list[float]:
    """Move marks away from the edge, so that they lie within the panel and off its title."""
    axis_start, axis_end = vl.probit(domain)
    margin = _EDGE * (axis_end - axis_start)
    clipped = np.clip(positions, axis_start + margin, axis_end - margin)
    return [float(position) for position in clipped.round(4)]


def _spec(
    rows: Sequence[Row], line_names: Sequence[str], domain: Domain, audit: Audit, theme: Theme
) -> vl.Spec:
    """Return lines, bands and marks in their panels; the line of all groups is muted."""
    inks = theme.inks
    rate_of_panel = {row["p"]: row[_RATE] for row in rows}
    panels = list(rate_of_panel)
    columns = vl.panel_columns(len(panels), theme)
    max_side: float = 260
    if columns == 1:
        max_side = (1 if theme.is_narrow else 0.6) * theme.width
    *false_accepts, false_rejects = _rate_names(audit)
    gap = 18 if len(false_accepts) == 1 else _AXIS_WIDTH  # panels with axes of their own
    side = min((theme.width - _AXIS_WIDTH) // columns - gap, max_side)
    point_rows = table_rows(audit, "operating_points", within="")
    points = [*dict.fromkeys(shortened(row["operating_point"]) for row in point_rows)]
    colours, dashes = theme.colours(len(line_names)), theme.dashes(len(line_names))
    if _ALL in line_names:
        colours[-1], dashes[-1] = inks.muted, [2, 2]
    stroke = {"symbolType": "stroke", "symbolFillColor": "transparent", "symbolOpacity": 1}
    legend = {
        **stroke,
        "columns": theme.legend_columns(line_names, reserved_width=_AXIS_WIDTH),
    }
    colour, dash = vl.series_channels("c", line_names, colours, dashes, legend=legend)
    shapes = vl.scale(points, _SHAPES[: len(points)] or ["square"])
    title_width = text_width([_AUDITED_POINT], theme.size)
    point_legend = {
        "columns": theme.legend_columns(points, reserved_width=_AXIS_WIDTH + title_width)
    }
    shape = vl.nominal("m", title=_AUDITED_POINT, scale=shapes, legend=point_legend)
    position = {
        axis: vl.quantitative(axis, **vl.probit_axis(_axis_title(audit, metric), *domain))
        for axis, metric in (("x", false_accepts[0]), ("y", false_rejects))
    }
    position["color"] = colour
    detail = {"field": "c"}
    band = {**position, "y2": {"field": "y2"}, "detail": detail}
    line = {**position, "strokeDash": dash, "detail": detail}
    tooltip_fields = {"p": "panel", "c": "curve", "m": "at", "t": "rates"}
    point = {**position, **vl.tooltip(tooltip_fields)}
    hollow: vl.Spec = {"filled": False, "fill": inks.paper, "opacity": 1}
    layers = [
        vl.mark("area", band, condition="datum.k == 'band'", opacity=0.16, clip=True),
        vl.mark("line", line, condition="datum.k == 'line'", clip=True, strokeWidth=1.5),
        vl.mark("point", point, condition="datum.k == 'own'", size=38, strokeWidth=1.5, **hollow),
        vl.dots({**point, "shape": shape}, 44, condition="datum.k == 'at'"),
    ]
    has_bands = any(row.get("y2") for row in rows)
    flattened = ["x", "y", "y2"] if has_bands else ["x", "y"]
    drawn_layers = layers if has_bands else layers[1:]
    drawn = vl.layered(drawn_layers, width=side, height=side)
    if len(false_accepts) > 1:
        own_axes = _panels_of_kinds(audit, drawn_layers, rate_of_panel, domain, columns)
        sizes = {"width": side, "height": side}
        drawn = {"concat": [panel | sizes for panel in own_axes], "columns": columns, "spacing": 14}
    elif len(panels) > 1:
        drawn = vl.facets(drawn, "p", panels, columns, 14)
    data = vl.inline_data(
        [{"y2": [], **{name: row[name] for name in row if name != _RATE}} for row in rows]
    )
    return theme.styled({**drawn, "data": data, "transform": [{"flatten": flattened}]})
