"""How scores lie beside the thresholds, and what the common threshold costs each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    Chosen,
    Drawing,
    Row,
    chart,
    cut,
    kept,
    left_out,
    rows_of,
)
from parivox.report.charts.curves import curves_of
from parivox.report.charts.theme import room
from parivox.report.words import interval_text, short_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.report.charts.theme import Theme


# ---- scores of the right speakers and of impostors


_MOST_HILLS = 23
"""Groups drawn at most."""
_KINDS = ("own trials", "impostor trials")
_PLACES = 35
_BARE = {"stroke": None}
_VISIBLE = 0.002
_ALL = "all groups"
_AT = "threshold at"


@chart("det", per="widest", name="scores")
def distributions(chosen: Chosen, theme: Theme) -> Drawing:
    """Densities of target and nontarget scores of each group, with the audited thresholds."""
    inks = theme.inks
    of = curves_of(chosen.audit, chosen.system, chosen.list, chosen.grouping, chosen.allocation)
    finite = of.thresholds[np.isfinite(of.thresholds)]
    if finite.size < 2 or finite[0] == finite[-1]:
        msg = f"{chosen.label} has fewer than two different scores: nothing to draw"
        raise ConfigError(msg)
    places = np.linspace(finite[0], finite[-1], _PLACES)
    groups = kept(chosen, _MOST_HILLS)
    panels = {"pooled": _ALL} | {name: cut(chosen.marked(name), 24) for name in groups}
    rows: list[Row] = []
    for name, panel in panels.items():
        if name not in of.groups:
            continue
        at = of.groups.index(name)
        below = of.fn[at], of.n_nontarget[at] - of.fp[at]
        sizes = of.n_target[at], of.n_nontarget[at]
        for kind, counts, n in zip(_KINDS, below, sizes, strict=True):
            if n:
                at_scores, heights = _density(places, of.thresholds, counts / n)
                rows.append({"p": panel, "c": kind, "x": at_scores, "y": heights})
    where = {"system": chosen.system, "list": chosen.list, "within": ""}
    points = {
        cut(row["operating_point"]): row["threshold"]
        for row in rows_of(chosen.audit, "operating_points", **where)
        if row["threshold"] is not None and np.isfinite(row["threshold"])
    }
    rows += [
        {"p": panel, "c": name, "k": "at", "x": [threshold], "y": [0]}
        for panel in panels.values()
        for name, threshold in points.items()
    ]
    ends = {"domain": [float(f"{end:.5g}") for end in finite[[0, -1]]], "nice": False}
    axis = {"tickCount": 4, "grid": False}
    x = vl.amount("x", title="score", scale={**ends, "zero": False}, axis=axis)
    fills = inks.series[0], "transparent"
    fill, stroke = vl.drawn_as("c", _KINDS, fills, inks.series[:2])
    hill = {"x": x, "y": vl.amount("y", title=None, axis=None, stack=None)}
    hill |= {"fill": fill, "stroke": stroke}
    layers = [vl.mark("area", hill, when="datum.k != 'at'", fillOpacity=0.4, strokeWidth=1.2)]
    if points:
        legend = {"columns": theme.columns([*points], beside=room([_AT], theme.size))}
        dashes = theme.dashes(len(points))
        (dash,) = vl.drawn_as("c", points, dashes, title=_AT, legend=legend)
        rule: vl.Spec = {"strokeWidth": 1.2, "color": inks.ink}
        layers.append(vl.mark("rule", {"x": x, "strokeDash": dash}, when="datum.k == 'at'", **rule))
    columns = vl.across(len(panels), theme)
    hills = vl.layered(layers, width=(theme.width - 20) // columns - 14, height=64)
    drawn = vl.facets(hills, "p", panels.values(), columns, 12)
    return Drawing(
        theme.of({**drawn, "data": vl.inline(rows), "transform": [{"flatten": ["x", "y"]}]}),
        f"Score distributions: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Score distributions of target trials (filled) and nontarget trials (outline) by group, "
        "each with the same area. Trials to the right of a threshold are accepted. If the "
        "distributions of a group are shifted against those of other groups, a common threshold "
        "gives it more errors of one type." + left_out(chosen, _MOST_HILLS),
        f"Densities of scores of {len(groups)} groups and of all, with the audited thresholds.",
    )


def _density(
    places: NDArray[np.float64], thresholds: NDArray[np.float64], share_below: NDArray[np.float64]
) -> tuple[list[float], list[float]]:
    """Shares of trials between even places, at their middles, of the highest of them all."""
    finite = np.isfinite(thresholds)
    step = places[1] - places[0]  # what lies at the last threshold and above is drawn there
    known = np.append(thresholds[finite], thresholds[finite][-1] + step)
    below = np.interp(np.append(places, known[-1]), known, np.append(share_below[finite], 1.0))
    share = np.diff(below)
    padded = np.concatenate([share[:1], share, share[-1:]])
    smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4  # shared thresholds cut groups up
    if not smooth.max() > 0:
        return [], []
    middles = places + step / 2
    visible = np.flatnonzero(smooth > _VISIBLE * smooth.max())
    drawn = slice(max(visible[0] - 1, 0), visible[-1] + 2)
    return [float(f"{x:.5g}") for x in middles[drawn]], [round(float(y), 4) for y in smooth[drawn]]


# ---- the same as boxes


_MOST_BOXES = 40
"""Groups drawn at most."""
_SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95)
_SHIFTS = ("shift_target", "shift_nontarget")
_ROW_OF_BOXES = 18


@chart("det", per="asked")
def boxes(chosen: Chosen, theme: Theme) -> Drawing:
    """Quantiles of target and nontarget scores of each group, with the audited thresholds."""
    inks = theme.inks
    of = curves_of(chosen.audit, chosen.system, chosen.list, chosen.grouping, chosen.allocation)
    if np.unique(of.thresholds[np.isfinite(of.thresholds)]).size < 2:
        msg = f"{chosen.label} has fewer than two different scores: nothing to draw"
        raise ConfigError(msg)
    names = {"pooled": _ALL} | {name: chosen.marked(name) for name in kept(chosen, _MOST_BOXES)}
    panels, parts = [], []
    beside = room(names.values(), theme.size)
    width = (theme.width - 40 - beside) // (1 if theme.is_narrow else 2)
    for place, (kind, shift) in enumerate(zip(_KINDS, _SHIFTS, strict=True)):
        below = of.n_nontarget[:, None] - of.fp if place else of.fn
        sizes = of.n_nontarget if place else of.n_target
        found = {
            group: _quantiles(of.thresholds, below[at] / sizes[at])
            for at, group in enumerate(of.groups)
            if group in names and sizes[at]
        }
        if "pooled" not in found:
            continue
        shifts = chosen.metric(shift, "q50")
        rows = []
        for group, quantiles in found.items():
            row: Row = {"group": names[group], **dict(zip("labch", quantiles, strict=True))}
            moved = shifts.get(group)
            if moved is not None and moved["low"] is not None and moved["high"] is not None:
                row |= {"ml": found["pooled"][2] + moved["low"]}
                row |= {"mh": found["pooled"][2] + moved["high"]}
            rows.append(row)
        y = vl.names_down(names.values(), inks.ink if place == 0 or theme.is_narrow else "")
        ends = {"zero": False, "nice": True}
        x = vl.amount("l", title="score", scale=ends, axis={"tickCount": 4, "grid": False})
        same = {"title": "score"}
        interval = {"y": y, "x": vl.amount("ml", **same), "x2": {"field": "mh"}}
        median = vl.datum(float(f"{found['pooled'][2]:.5g}"), **same)
        marks = [
            vl.dashed({"x": median}, inks.muted),
            *vl.boxes(x, y, theme, ink=inks.series[place]),
            vl.mark("rule", interval, when="isValid(datum.mh)", color=inks.ink, strokeWidth=3),
        ]
        size = {"width": width, "height": _ROW_OF_BOXES * len(names)}
        panels.append(vl.panel(marks, rows, kind, **size))
        ranked = sorted((q[2], names[group]) for group, q in found.items() if group != "pooled")
        parts.append(
            f"{kind}, median {found['pooled'][2]:.4g}, lowest {ranked[0][1]} {ranked[0][0]:.4g}, "
            f"highest {ranked[-1][1]} {ranked[-1][0]:.4g}"
            if ranked
            else f"{kind}, median {found['pooled'][2]:.4g}"
        )
    return Drawing(
        theme.of(theme.arranged(panels, 12), view={"stroke": None}),
        f"How scores spread: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "The box holds the middle half of a group's scores, lines reach from the 5th to the 95th "
        "percentile, the stroke is the median. Dashed line: the median of all trials. Thick bar: "
        "confidence interval of the difference between the group's median and that of all trials; "
        "if it excludes the dashed line, the scores of the group are shifted. Target trials "
        "further left are rejected more often, nontarget trials further right are accepted more "
        "often. Positions are read to within the steps of the shared thresholds."
        + left_out(chosen, _MOST_BOXES),
        "; ".join(parts) + ".",
    )


def _quantiles(thresholds: NDArray[np.float64], below: NDArray[np.float64]) -> list[float]:
    """Scores that these shares of trials lie below, between the shared thresholds."""
    finite = np.isfinite(thresholds)
    rising, first = np.unique(np.append(below[finite], 1.0), return_index=True)
    scores = np.append(thresholds[finite], thresholds[finite][-1])[first]
    return [float(f"{q:.5g}") for q in np.interp(_SPREAD, rising, scores)]


# ---- what a calibration for each group would mend


_MOST_CALIBRATED = 60
"""Groups drawn at most."""
_LEFT = "lost to calibration"
_PARTS = {"min_cllr": "calibrated for the group (min Cllr)", "cllr": "as scored (Cllr)"}


@chart("det", per="asked")
def calibration(chosen: Chosen, theme: Theme) -> Drawing:
    """Cllr of each group as scored and after a calibration of its own, with intervals."""
    inks = theme.inks
    found = {metric: chosen.metric(metric) for metric in (*_PARTS, "cal_loss")}
    names = {name: chosen.marked(name) for name in kept(chosen, _MOST_CALIBRATED)}
    names["pooled"] = _ALL
    rows: list[Row] = []
    parts = []
    for group, name in names.items():
        of = [found[metric].get(group, {}) for metric in found]
        if any(one.get("value") is None for one in of):
            continue
        least, actual, loss = of
        words = f"{short_number(loss['value'])} {interval_text(loss['low'], loss['high'])}"
        parts.append(f"{name}: Cllr {short_number(actual['value'])}, {_LEFT} {words}")
        between = {"a": least["value"], "b": actual["value"], "s": words}
        for metric, row in zip(_PARTS, of, strict=False):
            made: Row = {"group": name, "k": _PARTS[metric], "v": row["value"], **between}
            if row["low"] is not None and row["high"] is not None:
                made |= {"l": row["low"], "h": row["high"]}
            rows.append(made)
    if not rows:
        msg = "the audit has no Cllr; audit scores that are log-likelihood ratios again with --llr"
        raise ConfigError(msg)
    drawn = [name for name in names.values() if any(row["group"] == name for row in rows)]
    beside = room(drawn, theme.size)
    width = theme.width - 30 - beside - _FIGURES
    most = max(row[end] for row in rows for end in "vh" if end in row)
    ends = {"domain": [0, float(f"{1.03 * most:.4g}")], "nice": False, "range": [0, width]}
    x = {"title": "bits", "scale": ends, "axis": {"tickCount": 5, "format": "~g"}}
    same = {"title": x["title"]}
    y = vl.names_down(drawn, inks.ink)
    dodge = {"y": y, "yOffset": vl.word("k", scale={"domain": [*_PARTS.values()]})}
    legend = {"columns": theme.columns([*_PARTS.values()], beside=beside)}
    ways = ("circle", "diamond"), (inks.series[0], inks.series[1])
    shape, colour = vl.drawn_as("k", _PARTS.values(), *ways, legend=legend)
    loss_of = {"y": y, "x": vl.amount("a", **same), "x2": {"field": "b"}}
    marks = [
        vl.mark("bar", loss_of, color=inks.band, height={"band": 0.8}),
        vl.interval({**dodge, "x": vl.amount("l", **same), "color": colour}),
        vl.dots({**dodge, "x": vl.amount("v", **x), "shape": shape, "color": colour}, 42),
        vl.words_beside("s", {"y": y}, width, theme),
    ]
    size = {"width": width + _FIGURES, "height": 1.5 * _ROW * len(drawn)}
    return Drawing(
        theme.of(vl.panel(marks, rows, "cost of the scores as they are", **size), view=_BARE),
        f"What calibration costs each group: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "A diamond is what a group's scores cost when read as log-likelihood ratios, a dot what "
        "they would cost after a calibration for this group alone, lines are intervals. The grey "
        "between them, in figures at the right, is lost to calibration. Scores that tell nothing "
        "cost 1 bit." + left_out(chosen, _MOST_CALIBRATED),
        "; ".join(parts) + ".",
    )


# ---- each group's own best threshold against the common one, and what the common one costs


_MOST_OWN = 60
"""Groups drawn at most."""
_ROW = 17
_FIGURES = 100
"""Room for the figures beside a panel."""
_FOUND = "own threshold found"
_ON = {"v": "on the same people", "cv": "on other people"}


@chart("explorer", per="widest")
def thresholds(chosen: Chosen, theme: Theme) -> Drawing:
    """Own thresholds of smallest cost, and threshold bias.

    See docs/methods/bias-measures.md#threshold-bias.
    """
    inks = theme.inks
    rows, common = _own_thresholds(chosen)
    parts = [f"common threshold {common:.4g}"] + [
        f"{cut(row['g'])}: own threshold {row['t']:.4g}, cost {short_number(row['v'])} times "
        f"{row['s']}"
        for row in sorted((row for row in rows if "v" in row), key=lambda row: -float(row["v"]))[:3]
    ]
    lacking = "; ".join(dict.fromkeys(row["why"] for row in rows if "why" in row))
    common = float(f"{common:.5g}")
    names = [row["group"] for row in rows]
    beside = room(names, theme.size)
    width = (theme.width - 132 - beside) // (1 if theme.is_narrow else 2)
    height = _ROW * len(rows)
    y = vl.names_down(names, inks.ink)
    bare = y if theme.is_narrow else {**y, "axis": None}
    places = [row["t"] for row in rows] + [common]
    pad = (max(places) - min(places)) * 0.08 or abs(common) * 0.1 or 0.1
    ends = [float(f"{end:.5g}") for end in (min(places) - pad, max(places) + pad)]
    domain = {"domain": ends, "nice": False, "zero": False}
    x = vl.amount("t", title="score", scale=domain, axis={"tickCount": 4})
    hollow = {"test": "datum.few", "value": inks.paper}
    fill = {"condition": hollow, "value": inks.series[0]}
    dot: vl.Spec = {"size": 42, "strokeWidth": 1.3, "stroke": inks.series[0], "opacity": 1}
    to_common = {"y": y, "x": x, "x2": {"datum": common}}
    left = [
        vl.dashed({"x": vl.datum(common, title="score")}, inks.ink),
        vl.mark("rule", to_common, color=inks.muted),
        vl.mark("point", {"y": y, "x": x, "fill": fill}, **dot, shape="diamond"),
    ]
    costs = [row[n] for row in rows for n in ("v", "l", "h", "cv") if n in row]
    low, high = vl.log_domain([*costs, 1.0])
    cost = vl.as_logs("times", max(low, 0.2), max(min(high, 20), 1.5), percent=False)
    cost["scale"]["range"] = [0, width]
    found = [
        {"group": row["group"], "x": row[field], "kind": kind, "few": row["few"]}
        for field, kind in _ON.items()
        for row in rows
        if field in row
    ]
    legend = {"columns": theme.columns([*_ON.values()], beside=beside + room([_FOUND], theme.size))}
    ways = ("circle", "diamond"), *2 * [(inks.ink, inks.series[1])]
    shape, stroke, full = vl.drawn_as("kind", _ON.values(), *ways, title=_FOUND, legend=legend)
    costly = {"y": bare, "x": vl.amount("x", **cost), "shape": shape, "stroke": stroke}
    costly["fill"] = {**full, "condition": hollow}
    right = [
        vl.dashed({"x": vl.datum(1, title="times")}, inks.ink),
        vl.interval({"y": bare, "x": vl.amount("l", **cost)}, width=1.2, color=inks.ink),
        vl.mark("point", costly, rows=found, size=42, strokeWidth=1.3, opacity=1),
        vl.words_beside("s", {"y": bare}, width, theme),
    ]
    panels = [
        vl.layered(marks, width=wide, height=height, title=vl.heading(title))
        for marks, wide, title in (
            (left, width, "own best threshold"),
            (right, width + _FIGURES, "cost at the common one over own"),
        )
    ]
    drawn = {**theme.arranged(panels, 12), "data": vl.inline(rows)}
    return Drawing(
        theme.of(drawn, view={"stroke": None}),
        f"One threshold for all, or each its own: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Left: the score at which each group would cost least; the dashed line is the common "
        "threshold, at which all trials together cost least. Right: how many times its smallest "
        "cost a group has at the common one, with "
        "interval; 1 means that the common threshold costs it nothing. Dots are at least 1 by "
        "construction, and further right for small groups; diamonds, with the own threshold found "
        "on other people of the group, are free of that. Hollow, marked *: too few people or "
        "errors."
        + (f" Without interval where it is {lacking}." if lacking else "")
        + left_out(chosen, _MOST_OWN),
        "; ".join(parts) + ".",
    )


def _own_thresholds(chosen: Chosen) -> tuple[list[Row], float]:
    """Groups with their own thresholds, and the common one."""
    model = chosen.audit.record["options"]["cost"][0]
    own = chosen.metric("min_cdet_norm", model)
    asked = {"system": chosen.system, "list": chosen.list, "grouping": "all", "within": ""}
    whole = rows_of(chosen.audit, "groups", **asked, metric="min_cdet_norm", definition=model)
    common = whole[0]["threshold"] if whole else None
    bias, bias_cv = (
        {
            row["group"]: row
            for row in rows_of(
                chosen.audit, "bias", **chosen.where, measure=measure, definition=model
            )
            if row["value"] is not None
        }
        for measure in ("threshold_bias", "threshold_bias_cv")
    )
    rows: list[Row] = []
    for group in kept(chosen, _MOST_OWN):
        if own.get(group, {}).get("threshold") is None:
            continue
        row: Row = {"g": group, "group": chosen.marked(group), "s": "–"}
        row["few"] = group in chosen.gates
        row["t"] = float(f"{own[group]['threshold']:.5g}")
        if group in bias:
            of = bias[group]
            row["v"] = of["value"]
            if of["high"] is None:
                row["s"] = f"{short_number(of['value'])} (no interval)"
                row["why"] = of["note"].removeprefix("no interval: ")
            else:
                row["s"] = f"{short_number(of['value'])} {interval_text(of['low'], of['high'])}"
                row |= {"l": of["low"], "h": of["high"]}
        if group in bias_cv:
            row["cv"] = bias_cv[group]["value"]
        rows.append(row)
    if common is None or not rows:
        msg = f"no group of {chosen.grouping} has a smallest cost at a threshold: nothing to draw"
        raise ConfigError(msg)
    return rows, float(common)
