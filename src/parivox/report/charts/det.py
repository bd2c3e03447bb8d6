"""Detection error trade-off: what each group's errors would be at any threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.report.charts import curves
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    OF_ONE,
    Chosen,
    Drawing,
    Row,
    Subject,
    chart,
    cut,
    kept,
    left_out,
    rows_of,
    short_name,
    subjects,
)
from parivox.report.charts.theme import room
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.result import Audit
    from parivox.report.charts.curves import Binned
    from parivox.report.charts.theme import Theme

    Domain = tuple[float, float]

MOST = 36
"""Groups drawn at most."""
_IN_ONE = 5
_ALL = "all groups"
_OWN = "own smallest cost"
_AT = "threshold at"
_LABELS = 46
"""Room for the labels at the left of panels."""
_EDGE = 0.03
"""Of an axis: half a mark in a small panel."""
_SHAPES = ("square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")


@chart("det", per="system", asks=OF_ONE)
def det(chosen: Chosen, theme: Theme) -> Drawing:
    """DET curves on probit axes with interval bands and the audited thresholds.

    A grouping by several attributes has a panel for each value of one and a colour for each value
    of the others.
    """
    audit, subject = chosen.audit, (chosen.system, chosen.list)
    binned = curves.curves_of(audit, *subject, chosen.grouping, chosen.allocation)
    domain = _domain([binned])
    places = _places(chosen)
    rows = [
        row
        for group, (panel, line) in places.items()
        if group in binned.groups
        for row in _rows(audit, binned, binned.groups.index(group), panel, line, domain)
    ]
    x, y = curves.line(binned.fpr[-1], binned.fnr[-1], domain)
    rows += [
        {"k": "line", "p": panel, "c": _ALL, "x": x, "y": y}
        for panel in dict.fromkeys(panel for panel, _ in places.values())
    ]
    if not any(row["x"] for row in rows):
        msg = f"no group of {chosen.grouping} has both kinds of trials: it takes both for a curve"
        raise ConfigError(msg)
    names = [*dict.fromkeys(line for _, line in places.values()), _ALL]
    return Drawing(
        _drawn(rows, names, domain, audit, theme),
        f"Every threshold at once: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Each curve is a group: to the left fewer impostors get in, below fewer people are locked "
        "out, so the lower curve is better served. Shades are intervals, without "
        "steps back: a limit at one threshold holds for stricter ones too, or for looser ones. "
        "Filled marks are the audited thresholds; where marks of one shape lie apart, one "
        "threshold does not treat groups alike. Hollow circles are where a group would cost least. "
        "Marks at the edge lie there or beyond." + left_out(chosen, MOST),
        _points_in_words(audit, subject),
    )


@chart("det", per="audit", name="det-systems")
def together(chosen: Chosen, theme: Theme) -> Drawing:
    """DET curves of all trials of every system and list in one panel."""
    audit = chosen.audit
    names = {one: short_name(one, 40) for one in subjects(audit)}
    every = {one: curves.curves_of(audit, *one, "all") for one in names}
    domain = _domain([*every.values()])
    rows = [
        row for one, name in names.items() for row in _rows(audit, every[one], 0, "", name, domain)
    ]
    if not rows:
        msg = "no system has both kinds of trials: it takes both for a curve"
        raise ConfigError(msg)
    return Drawing(
        _drawn(rows, [*names.values()], domain, audit, theme),
        "Every threshold at once: all systems and lists",
        "Each curve is a system, or a list: to the left fewer impostors get in, below fewer people "
        "are locked out, so the lower curve errs less. Shades are intervals. Filled marks are the "
        "audited thresholds, hollow circles where a system would cost least.",
        " ".join(_points_in_words(audit, one) for one in names),
    )


def _points_in_words(audit: Audit, of: Subject) -> str:
    rows = rows_of(audit, "operating_points", system=of[0], list=of[1], within="")
    points = [
        f"at {cut(row['operating_point'])} FPR {percent(row['fpr'])} and FNR {percent(row['fnr'])}"
        for row in rows
    ]
    return f"{short_name(of, 40)}, all trials: {'; '.join(points)}."


def _domain(every: Sequence[Binned]) -> Domain:
    """Rates that the axes span: where most groups still have some errors."""
    sizes = [n for one in every for n in (*one.n_target, *one.n_nontarget) if n]
    least = 3 / float(np.median(sizes)) if sizes else 0.001
    return float(np.clip(least, 2e-5, 0.02)), 0.5


def _places(chosen: Chosen) -> dict[str, tuple[str, str]]:
    """The panel and the line of each group."""
    groups = kept(chosen, MOST)
    if len(groups) <= _IN_ONE:
        return {group: ("", cut(group)) for group in groups}
    n = len(chosen.grouping.split("+"))
    parts = [group.split("+") for group in groups]
    if n > 1 and all(len(part) == n for part in parts):
        sizes = [len(set(values)) for values in zip(*parts, strict=True)]
        panels = [part.pop(sizes.index(max(sizes))) for part in parts]
        lines = ["+".join(part) for part in parts]
        if len({*lines}) <= _IN_ONE:
            return {
                group: (cut(panel, 24), cut(line))
                for group, panel, line in zip(groups, panels, lines, strict=True)
            }
    return {group: (cut(chosen.marked(group), 24), "this group") for group in groups}


def _rows(audit: Audit, of: Binned, at: int, panel: str, name: str, domain: Domain) -> list[Row]:
    """The line of one group, its band, and its marks."""
    fpr, fnr = of.fpr[at], of.fnr[at]
    where = {"p": panel, "c": name}
    x, y = curves.line(fpr, fnr, domain)
    if not x:
        return []
    subject = {"system": of.system, "list": of.list}
    nodes = rows_of(audit, "bands", **of.where, group=of.groups[at])
    made: list[Row] = [
        {"k": "band", **where, **curves.band(nodes, domain)},
        {"k": "line", **where, "x": x, "y": y},
    ]
    marks = {
        row["operating_point"]: int(np.searchsorted(of.thresholds, row["threshold"]))
        for row in rows_of(audit, "operating_points", **subject, within="")
        if row["threshold"] is not None
    }
    best = curves.own_minimum(of, audit.record["options"]["cost"][0])
    if best is not None:
        marks[_OWN] = int(best[at])
    for what, place in marks.items():
        k = min(place, of.thresholds.size - 1)
        rates = (
            f"FPR {percent(float(fpr[k]))} ({of.fp[at, k]:,} of {of.n_nontarget[at]:,}), "
            f"FNR {percent(float(fnr[k]))} ({of.fn[at, k]:,} of {of.n_target[at]:,})"
        )
        kind = {"k": "own" if what == _OWN else "at", **where, "m": cut(what)}
        px, py = (_within(curves.place(one[k : k + 1], domain), domain) for one in (fpr, fnr))
        made.append({**kind, "x": px, "y": py, "t": rates})
    return made


def _within(places: Sequence[float], domain: Domain) -> list[float]:
    """Places so far from the edge that a mark lies within its panel, whose title keeps its own."""
    least, most = vl.probit(domain)
    off = _EDGE * (most - least)
    return [float(one) for one in np.clip(places, least + off, most - off).round(4)]


def _drawn(
    rows: Sequence[Row], names: Sequence[str], domain: Domain, audit: Audit, theme: Theme
) -> vl.Spec:
    """Lines, bands and marks in their panels; a line of all groups is muted."""
    inks = theme.inks
    panels = [*dict.fromkeys(row["p"] for row in rows)]
    columns = vl.across(len(panels), theme)
    most = (0.6 if not theme.is_narrow else 1) * theme.width if columns == 1 else 260
    side = min((theme.width - _LABELS) // columns - 18, most)
    every = rows_of(audit, "operating_points", within="")
    points = [*dict.fromkeys(cut(row["operating_point"]) for row in every)]
    colours, dashes = theme.colours(len(names)), theme.dashes(len(names))
    if _ALL in names:
        colours[-1], dashes[-1] = inks.muted, [2, 2]
    stroke = {"symbolType": "stroke", "symbolFillColor": "transparent", "symbolOpacity": 1}
    legend = {**stroke, "columns": theme.columns(names, beside=_LABELS)}
    colour, dash = vl.drawn_as("c", names, colours, dashes, legend=legend)
    shapes = vl.scale(points, _SHAPES[: len(points)] or ["square"])
    held_at = {"columns": theme.columns(points, beside=_LABELS + room([_AT], theme.size))}
    shape = vl.word("m", title=_AT, scale=shapes, legend=held_at)
    fields = {"p": "panel", "c": "curve", "m": "at", "t": "rates"}
    tooltip = [vl.word(field, title=title) for field, title in fields.items()]
    here = {
        "x": vl.amount("x", **vl.probit_axis("impostors in (FPR, %)", *domain)),
        "y": vl.amount("y", **vl.probit_axis("locked out (FNR, %)", *domain)),
        "color": colour,
    }
    detail = {"field": "c"}
    band = {**here, "y2": {"field": "y2"}, "detail": detail}
    line = {**here, "strokeDash": dash, "detail": detail}
    at = {**here, "tooltip": tooltip}
    hollow: vl.Spec = {"filled": False, "fill": inks.paper, "opacity": 1}
    layers = [
        vl.mark("area", band, when="datum.k == 'band'", opacity=0.16, clip=True),
        vl.mark("line", line, when="datum.k == 'line'", clip=True, strokeWidth=1.5),
        vl.mark("point", at, when="datum.k == 'own'", size=38, strokeWidth=1.5, **hollow),
        vl.dots({**at, "shape": shape}, 44, when="datum.k == 'at'"),
    ]
    has_bands = any(row.get("y2") for row in rows)
    fields_of_lines = ["x", "y", "y2"] if has_bands else ["x", "y"]
    panel = vl.layered(layers if has_bands else layers[1:], width=side, height=side)
    drawn = panel if len(panels) == 1 else vl.facets(panel, "p", panels, columns, 14)
    data = vl.inline([{"y2": [], **row} for row in rows])
    return theme.of({**drawn, "data": data, "transform": [{"flatten": fields_of_lines}]})
