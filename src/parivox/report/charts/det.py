"""Detection error trade-off: what each group's errors would be at any threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.errors import ConfigError
from parivox.report.charts import curves
from parivox.report.charts.axes import probit_axis
from parivox.report.charts.chosen import Chosen, Row, choose, cut, kept, left_out, named, subjects
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.result import Audit
    from parivox.report.binned import Binned

__all__ = ["det", "together", "told", "told_together"]

MOST = 36
"""Groups drawn at most."""
_IN_ONE = 5
_ALL = "all groups"
_OWN = "own smallest cost"
_ACROSS = 4
_NARROW = 400


def det(
    audit: Audit,
    *,
    by: str | None = None,
    system: str | None = None,
    list: str | None = None,  # noqa: A002 - the audit's word
    allocation: str | None = None,
    theme: Theme = PAPER,
) -> Any:
    """DET curves on probit axes with interval bands and the audited thresholds.

    A grouping by several attributes has a panel for each value of one and a colour for each value
    of the others.

    Parameters
    ----------
    audit
        What to draw.
    by, system, list, allocation
        Of it; the first that it has where not told.
    theme
        How it looks.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit has no scores.
    """
    chosen = choose(audit, by=by, system=system, list=list, allocation=allocation)
    binned = curves.of(audit, chosen.system, chosen.list, chosen.grouping, chosen.allocation)
    domain = _domain([binned])
    places = _places(chosen)
    rows = [
        row
        for group, (panel, line) in places.items()
        if group in binned.groups
        for row in _rows(audit, binned, binned.groups.index(group), panel, line, domain)
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
    return _chart(rows, names, domain, audit, theme)


def together(audit: Audit, *, theme: Theme = PAPER) -> Any:
    """DET curves of all trials of every system and list in one panel.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit has no scores.
    """
    found = [(one, curves.of(audit, *one, "all")) for one in subjects(audit)]
    domain = _domain([one for _, one in found])
    rows = [row for one, its in found for row in _rows(audit, its, 0, "", cut(named(*one)), domain)]
    if not rows:
        msg = "no system has both kinds of trials: it takes both for a curve"
        raise ConfigError(msg)
    return _chart(rows, [cut(named(*one)) for one, _ in found], domain, audit, theme)


def told(chosen: Chosen) -> Told:
    """Words for the figure of one system's groups."""
    return Told(
        f"Every threshold at once: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Each curve is a group: to the left fewer impostors get in, below fewer people are locked "
        "out, so the lower curve is better served. Shades are intervals. Filled marks are the "
        "audited thresholds; where marks of one shape lie apart, one threshold does not treat "
        "groups alike. Hollow circles are where a group would cost least. "
        "Marks on the edge lie beyond it." + left_out(chosen, MOST),
        _words(chosen.audit, (chosen.system, chosen.list)),
    )


def told_together(chosen: Chosen) -> Told:
    """Words for the figure of all systems and lists."""
    audit = chosen.audit
    return Told(
        "Every threshold at once: all systems and lists",
        "Each curve is a system, or a list: to the left fewer impostors get in, below fewer people "
        "are locked out, so the lower curve errs less. Marks are the audited thresholds.",
        " ".join(_words(audit, one) for one in subjects(audit)),
    )


def _words(audit: Audit, of: tuple[str, str]) -> str:
    rows = audit.operating_points.where(system=of[0], list=of[1], within="").rows()
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
    nodes = audit.bands.where(**asked).rows()
    made: list[Row] = [
        {"k": "band", **where, **curves.band(nodes, domain)},
        {"k": "line", **where, "x": x, "y": y},
    ]
    of = {"system": binned.system, "list": binned.list, "within": ""}
    marks = {
        row["operating_point"]: int(np.searchsorted(binned.thresholds, row["threshold"]))
        for row in audit.operating_points.where(**of).rows()
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
) -> Any:
    alt = altair()
    inks = theme.inks
    panels = dict.fromkeys(row["p"] for row in rows)
    columns = min(len(panels), _ACROSS if theme.width > _NARROW else 2)
    side = min((theme.width - 46) / columns - 18, 0.6 * theme.width if columns == 1 else 260)
    points = [cut(row["operating_point"]) for row in audit.operating_points.where(within="").rows()]
    points = [*dict.fromkeys(points)]
    colours, dashes = theme.colours(names), theme.dashes(names)
    if _ALL in names:
        colours["range"][-1], dashes["range"][-1] = inks.muted, [2, 2]
    legend = alt.Legend(symbolType="stroke", symbolFillColor="transparent", symbolOpacity=1)
    colour = {
        "color": alt.Color("c:N", title=None, scale=alt.Scale(**colours), legend=legend),
        "strokeDash": alt.StrokeDash("c:N", title=None, scale=alt.Scale(**dashes)),
    }
    quiet = alt.Color("c:N", title=None, scale=alt.Scale(**colours), legend=legend)
    x = alt.X("x:Q", **probit_axis("impostors in (FPR, %)", *domain))
    y = alt.Y("y:Q", **probit_axis("locked out (FNR, %)", *domain))
    tooltip = [
        alt.Tooltip("p:N", title="panel"),
        alt.Tooltip("c:N", title="curve"),
        alt.Tooltip("m:N", title="at"),
        alt.Tooltip("t:N", title="rates"),
    ]
    base = alt.Chart()
    layers = [
        base.transform_filter("datum.k == 'band'")
        .mark_area(opacity=0.16, clip=True)
        .encode(x=x, y=y, y2="y2:Q", color=quiet, detail="c:N"),
        base.transform_filter("datum.k == 'line'")
        .mark_line(clip=True, strokeWidth=1.5)
        .encode(x=x, y=y, detail="c:N", **colour),
        base.transform_filter("datum.k == 'own'")
        .mark_point(size=38, strokeWidth=1.5, filled=False, fill=inks.paper, opacity=1)
        .encode(x=x, y=y, color=quiet, tooltip=tooltip),
        base.transform_filter("datum.k == 'at'")
        .mark_point(size=44, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=quiet,
            tooltip=tooltip,
            shape=alt.Shape(
                "m:N",
                title="threshold at",
                scale=alt.Scale(domain=points, range=[*_SHAPES][: len(points)] or ["square"]),
            ),
        ),
    ]
    data = inline([{"y2": [], **row} for row in rows])
    fields = ["x", "y", "y2"] if any(row.get("y2") for row in rows) else ["x", "y"]
    if fields == ["x", "y"]:
        del layers[0]
    panel = alt.layer(*layers).properties(width=side, height=side)
    if len(panels) == 1:
        chart = panel.properties(data=data).transform_flatten(fields)
    else:
        facet = alt.Facet("p:N", title=None, sort=[*panels])
        chart = panel.facet(facet, columns=columns, data=data, spacing=14).transform_flatten(fields)
    return theme.of(chart)


_SHAPES = ("square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")
