"""Detection error trade-off: what each group's errors would be at any threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.report.charts import curves
from parivox.report.charts.axes import across, probit_axis
from parivox.report.charts.chart import OF_ONE, Drawing, Words, chart
from parivox.report.charts.chosen import (
    Chosen,
    Row,
    cut,
    kept,
    left_out,
    named,
    rows_of,
    subjects,
)
from parivox.report.charts.grammar import (
    Spec,
    amount,
    facets,
    inline,
    layered,
    mark,
    scale,
    word,
)
from parivox.report.charts.theme import room
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.result import Audit
    from parivox.report.binned import Binned
    from parivox.report.charts.theme import Theme

MOST = 36
"""Groups drawn at most."""
_IN_ONE = 5
_ALL = "all groups"
_OWN = "own smallest cost"
_AT = "threshold at"
_LABELS = 46
"""Room for the labels at the left of panels."""


@chart("det", per="system", asks=OF_ONE)
def det(chosen: Chosen, theme: Theme) -> Drawing:
    """DET curves on probit axes with interval bands and the audited thresholds.

    A grouping by several attributes has a panel for each value of one and a colour for each value
    of the others.
    """
    binned = curves.of(chosen.audit, chosen.system, chosen.list, chosen.grouping, chosen.allocation)
    domain = _domain([binned])
    places = _places(chosen)
    rows = [
        row
        for group, (panel, line) in places.items()
        if group in binned.groups
        for row in _rows(chosen.audit, binned, binned.groups.index(group), panel, line, domain)
    ]
    last = len(binned.groups) - 1
    x, y = curves.line(binned.fpr[last], binned.fnr[last], domain)
    rows += [
        {"k": "line", "p": panel, "c": _ALL, "x": x, "y": y}
        for panel in dict.fromkeys(panel for panel, _ in places.values())
    ]
    if not any(row["x"] for row in rows):
        msg = f"no group of {chosen.grouping} has both kinds of trials: it takes both for a curve"
        raise ConfigError(msg)
    names = [*dict.fromkeys(line for _, line in places.values()), _ALL]
    return Drawing(_chart(rows, names, domain, chosen.audit, theme), _words(chosen))


@chart("det", per="audit", name="det-systems")
def together(chosen: Chosen, theme: Theme) -> Drawing:
    """DET curves of all trials of every system and list in one panel."""
    found = [(one, curves.of(chosen.audit, *one, "all")) for one in subjects(chosen.audit)]
    domain = _domain([one for _, one in found])
    rows = [
        row
        for one, its in found
        for row in _rows(chosen.audit, its, 0, "", cut(named(*one)), domain)
    ]
    if not rows:
        msg = "no system has both kinds of trials: it takes both for a curve"
        raise ConfigError(msg)
    return Drawing(
        _chart(rows, [cut(named(*one)) for one, _ in found], domain, chosen.audit, theme),
        _words_together(chosen),
    )


def _words(chosen: Chosen) -> Words:
    """Words for the figure of one system's groups."""
    return Words(
        f"Every threshold at once: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Each curve is a group: to the left fewer impostors get in, below fewer people are locked "
        "out, so the lower curve is better served. Shades are intervals, without "
        "steps back: a limit at one threshold holds for stricter ones too, or for looser ones. "
        "Filled marks are the audited thresholds; where marks of one shape lie apart, one "
        "threshold does not treat groups alike. Hollow circles are where a group would cost least. "
        "Marks on the edge lie beyond it." + left_out(chosen, MOST),
        _points_told(chosen.audit, (chosen.system, chosen.list)),
    )


def _words_together(chosen: Chosen) -> Words:
    """Words for the figure of all systems and lists."""
    audit = chosen.audit
    return Words(
        "Every threshold at once: all systems and lists",
        "Each curve is a system, or a list: to the left fewer impostors get in, below fewer people "
        "are locked out, so the lower curve errs less. Shades are intervals. Filled marks are the "
        "audited thresholds, hollow circles where a system would cost least.",
        " ".join(_points_told(audit, one) for one in subjects(audit)),
    )


def _points_told(audit: Audit, of: tuple[str, str]) -> str:
    rows = rows_of(audit, "operating_points", system=of[0], list=of[1], within="")
    told = [
        f"at {cut(row['operating_point'])} FPR {percent(row['fpr'])} and FNR {percent(row['fnr'])}"
        for row in rows
    ]
    return f"{cut(named(*of))}, all trials: {'; '.join(told)}."


def _domain(found: Sequence[Binned]) -> tuple[float, float]:
    """Rates that the axes span: where most groups still have some errors."""
    sizes = [n for one in found for n in (*one.n_target, *one.n_nontarget) if n]
    least = 3 / float(np.median(sizes)) if sizes else 0.001
    return float(np.clip(least, 2e-5, 0.02)), 0.5


def _places(chosen: Chosen) -> dict[str, tuple[str, str]]:
    """The panel and the line of each group."""
    groups = kept(chosen, MOST)
    parts = [tuple(group.split("+")) for group in groups]
    if len(groups) <= _IN_ONE:
        return {group: ("", cut(group)) for group in groups}
    if len(chosen.attributes) > 1 and all(len(part) == len(chosen.attributes) for part in parts):
        sizes = [len(set(values)) for values in zip(*parts, strict=True)]
        across = sizes.index(max(sizes))
        lines = {"+".join(part[:across] + part[across + 1 :]) for part in parts}
        if len(lines) <= _IN_ONE:
            return {
                group: (cut(part[across], 24), cut("+".join(part[:across] + part[across + 1 :])))
                for group, part in zip(groups, parts, strict=True)
            }
    return {group: (cut(chosen.marked(group), 24), "this group") for group in groups}


def _rows(
    audit: Audit, binned: Binned, at: int, panel: str, name: str, domain: tuple[float, float]
) -> list[Row]:
    """The line of one group, its band, and its marks."""
    fpr, fnr = binned.fpr[at], binned.fnr[at]
    where = {"p": panel, "c": name}
    x, y = curves.line(fpr, fnr, domain)
    if not x:
        return []
    asked = {
        "system": binned.system,
        "list": binned.list,
        "grouping": binned.grouping,
        "allocation": binned.allocation,
        "group": binned.groups[at],
    }
    nodes = rows_of(audit, "bands", **asked)
    made: list[Row] = [
        {"k": "band", **where, **curves.band(nodes, domain)},
        {"k": "line", **where, "x": x, "y": y},
    ]
    of = {"system": binned.system, "list": binned.list, "within": ""}
    marks = {
        row["operating_point"]: int(np.searchsorted(binned.thresholds, row["threshold"]))
        for row in rows_of(audit, "operating_points", **of)
        if row["threshold"] is not None
    }
    best = curves.own_minimum(binned, audit.record["options"]["cost"][0])
    marks |= {} if best is None else {_OWN: int(best[at])}
    for what, place in marks.items():
        k = min(place, binned.thresholds.size - 1)
        made.append(
            {
                "k": "own" if what == _OWN else "at",
                **where,
                "m": cut(what),
                "x": curves.place(fpr[k : k + 1], domain),
                "y": curves.place(fnr[k : k + 1], domain),
                "t": f"FPR {percent(float(fpr[k]))} ({binned.fp[at, k]:,} of "
                f"{binned.n_nontarget[at]:,}), FNR {percent(float(fnr[k]))} "
                f"({binned.fn[at, k]:,} of {binned.n_target[at]:,})",
            }
        )
    return made


def _chart(
    rows: Sequence[Row],
    names: Sequence[str],
    domain: tuple[float, float],
    audit: Audit,
    theme: Theme,
) -> Spec:
    inks = theme.inks
    panels = [*dict.fromkeys(row["p"] for row in rows)]
    columns = across(len(panels), theme)
    most = (0.6 if not theme.is_narrow else 1) * theme.width if columns == 1 else 260
    side = min((theme.width - _LABELS) // columns - 18, most)
    held = rows_of(audit, "operating_points", within="")
    points = [*dict.fromkeys(cut(row["operating_point"]) for row in held)]
    colours, dashes = theme.colours(names), theme.dashes(names)
    if _ALL in names:
        colours["range"][-1], dashes["range"][-1] = inks.muted, [2, 2]
    legend = {
        "symbolType": "stroke",
        "symbolFillColor": "transparent",
        "symbolOpacity": 1,
        "columns": theme.columns(names, beside=_LABELS),
    }
    colour = word("c", title=None, scale=colours, legend=legend)
    dash = word("c", title=None, scale=dashes, legend=legend)
    shapes = scale(points, [*_SHAPES][: len(points)] or ["square"])
    x = amount("x", **probit_axis("impostors in (FPR, %)", *domain))
    y = amount("y", **probit_axis("locked out (FNR, %)", *domain))
    tooltip = [
        word("p", title="panel"),
        word("c", title="curve"),
        word("m", title="at"),
        word("t", title="rates"),
    ]
    at = {"x": x, "y": y, "color": colour, "tooltip": tooltip}
    held_at = {"columns": theme.columns(points, beside=_LABELS + room([_AT], theme.size))}
    shape = word("m", title=_AT, scale=shapes, legend=held_at)
    detail = {"field": "c"}
    layers = [
        mark(
            "area",
            {"x": x, "y": y, "y2": {"field": "y2"}, "color": colour, "detail": detail},
            when="datum.k == 'band'",
            opacity=0.16,
            clip=True,
        ),
        mark(
            "line",
            {"x": x, "y": y, "color": colour, "strokeDash": dash, "detail": detail},
            when="datum.k == 'line'",
            clip=True,
            strokeWidth=1.5,
        ),
        mark(
            "point",
            at,
            when="datum.k == 'own'",
            size=38,
            strokeWidth=1.5,
            filled=False,
            fill=inks.paper,
            opacity=1,
        ),
        mark(
            "point",
            {**at, "shape": shape},
            when="datum.k == 'at'",
            size=44,
            filled=True,
            opacity=1,
        ),
    ]
    has_bands = any(row.get("y2") for row in rows)
    fields = ["x", "y", "y2"] if has_bands else ["x", "y"]
    panel = layered(layers if has_bands else layers[1:], width=side, height=side)
    chart = panel if len(panels) == 1 else facets(panel, "p", panels, columns, 14)
    data = inline([{"y2": [], **row} for row in rows])
    return theme.of({**chart, "data": data, "transform": [{"flatten": fields}]})


_SHAPES = ("square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")
