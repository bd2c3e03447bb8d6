"""Detection error trade-off: what each group's errors would be at any threshold."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.report.charts import curves
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    Chosen,
    Drawing,
    Row,
    Subject,
    chart,
    check,
    cut,
    kept,
    left_out,
    rows_of,
    short_name,
)
from parivox.report.charts.theme import room
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing import Audit
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
_SHADES = (
    "Shades are intervals, without steps back: a limit at one threshold holds for stricter ones "
    "too, or for looser ones. "
)
_NO_SHADES = (
    f"Without intervals, as more than {_IN_ONE} in a panel would hide each other: how sure a curve "
    "is shows a chart of fewer groups. "
)
_PANELS = ("group", "system", "all")
"""What may have a panel of its own, besides the values of an attribute."""
_EDGE = 0.03
"""Of an axis: half a mark in a small panel."""
_SHAPES = ("square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")


@chart("det", per="system")
def det(chosen: Chosen, theme: Theme, *, panel: str | None = None) -> Drawing:
    """DET curves on probit axes with interval bands and the audited thresholds.

    Of one system, a grouping by several attributes has a panel for each value of one and a colour
    for each value of the others; of several systems, each group has one.
    """
    audit, of = chosen.audit, chosen.asked or ((chosen.system, chosen.list),)
    every = {one: curves.curves_of(audit, *one, chosen.grouping, chosen.allocation) for one in of}
    domain = _domain([*every.values()])
    places = _places(chosen, panel)
    rows = [
        row
        for (one, group), (where, line) in places.items()
        if group in every[one].groups
        for row in _rows(audit, every[one], every[one].groups.index(group), where, line, domain)
    ]
    names = [*dict.fromkeys(line for _, line in places.values())]
    has_shades = max(Counter(where for where, _ in places.values()).values()) <= _IN_ONE
    rows = [row for row in rows if has_shades or row["k"] != "band"]
    systems_of = dict.fromkeys((where, one) for (one, _), (where, _) in places.items())
    if len(systems_of) == len({where for where, _ in systems_of}):  # a panel is of one system
        names.append(_ALL)
        for where, one in systems_of:
            x, y = curves.line(every[one].fpr[-1], every[one].fnr[-1], domain)
            rows.append({"k": "line", "p": where, "c": _ALL, "x": x, "y": y})
    if not any(row["x"] for row in rows):
        msg = f"no group of {chosen.grouping} has both kinds of trials: it takes both for a curve"
        raise ConfigError(msg)
    systems = " and ".join(short_name(one, 40) for one in of)
    return Drawing(
        _drawn(rows, names, domain, audit, theme),
        f"DET curves: {systems} by {cut(chosen.grouping)}",
        "DET curve of each group; lower curves are better. "
        + (_SHADES if has_shades else _NO_SHADES)
        + "Filled marks: audited operating points; if marks of the same shape lie apart, the "
        "common threshold gives the groups different error rates. Hollow circles: minimum cost of "
        "each group. Marks on the border lie on or beyond it." + left_out(chosen, MOST),
        " ".join(_points_in_words(audit, one) for one in of),
    )


@chart("det", per="audit", name="det-systems")
def together(chosen: Chosen, theme: Theme) -> Drawing:
    """DET curves of all trials of every system and list in one panel."""
    audit = chosen.audit
    names = {one: short_name(one, 40) for one in chosen.subjects}
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
        "DET curves: all systems and lists",
        "DET curve of each system or trial list; lower curves are better. Shaded: confidence "
        "intervals. Filled marks: audited operating points. Hollow circles: minimum cost of each "
        "system.",
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


def _places(chosen: Chosen, asked: str | None = None) -> dict[tuple[Subject, str], tuple[str, str]]:
    """The panel and the line of each group of each system."""
    of, groups = chosen.asked or ((chosen.system, chosen.list),), kept(chosen, MOST)
    parts = _parts(chosen.grouping, groups)
    check("panel", asked, (*parts, *_PANELS))
    panel = asked or _panel(groups, parts, len(of))
    places = {}
    for one, group in product(of, groups):
        values = {name: values[group] for name, values in parts.items()}
        titles = {"group": chosen.marked(group), "system": short_name(one), "all": "", **values}
        rest = "+".join(value for name, value in values.items() if name != panel)
        line = rest if panel in values else "" if panel == "group" else group
        names = [cut(line), short_name(one) if len(of) > 1 and panel != "system" else ""]
        places[one, group] = cut(titles[panel], 24), ", ".join(filter(None, names)) or "this group"
    return places


def _parts(grouping: str, groups: Sequence[str]) -> dict[str, dict[str, str]]:
    """The value that each group has of each attribute, if they are made of several."""
    attributes = grouping.split("+")
    values = {group: group.split("+") for group in groups}
    if len(attributes) < 2 or any(len(one) != len(attributes) for one in values.values()):
        return {}
    return {
        name: {group: of[place] for group, of in values.items()}
        for place, name in enumerate(attributes)
    }


def _panel(groups: Sequence[str], parts: Mapping[str, dict[str, str]], systems: int) -> str:
    """What has a panel of its own where nothing is asked for."""
    if systems > 1:
        return "group"
    if len(groups) <= _IN_ONE:
        return "all"
    most = max(parts, key=lambda name: len({*parts[name].values()}), default="group")
    lines = {tuple(of[g] for name, of in parts.items() if name != most) for g in groups}
    return most if parts and len(lines) <= _IN_ONE else "group"


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
    here = {
        "x": vl.amount("x", **vl.probit_axis("false accepts (FPR, %)", *domain)),
        "y": vl.amount("y", **vl.probit_axis("false rejects (FNR, %)", *domain)),
        "color": colour,
    }
    detail = {"field": "c"}
    band = {**here, "y2": {"field": "y2"}, "detail": detail}
    line = {**here, "strokeDash": dash, "detail": detail}
    at = {**here, **vl.told(fields)}
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
