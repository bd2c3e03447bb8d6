"""The measures that join both rates, over the weight of FPR and over the threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.measures import BOTH, meta_measures
from parivox.errors import ConfigError
from parivox.report.audit_queries import (
    NOT_UNDER_REPRESENTED,
    covers_same_groups,
    groups_left_out,
    has_several_systems,
    omission_reasons,
)
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import (
    Chosen,
    Drawing,
    Row,
    chart,
    cut,
    rows_of,
    several,
)
from parivox.report.charts.curves import curves_of
from parivox.report.charts.theme import room
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.registry import MetaMeasure
    from parivox.report.charts.chart import Names
    from parivox.report.charts.theme import Theme

    Rates = tuple[NDArray[np.float64], NDArray[np.float64]]

_TERMS = {
    "fdr": "range (FDR's terms)",
    "garbe": "Gini (GARBE's terms)",
    "ir": "max / min (IR's terms)",
}
"""The joint measures, and what their terms are called."""
_SPAN = (0.0005, 0.2)
_STEPS = 36
_ALPHAS = 21
_LABELS = 140
"""Room for the labels of three panels and between them."""
_APART, _TIMES = 0.015, 1.08
"""Along alpha, and times FPR, between intervals of lines that would hide each other."""
_WITH_INTERVALS = 3
"""Lines up to which their intervals can be told apart."""
_LARGEST = 1e6
"""What an infinite limit is drawn as, off any axis."""
_INTERVALS = "Bars: confidence intervals, where available. Grey ticks: noise floors. "
_WIDTHS = {"of FPR (false accepts)": 2.8, "of FNR (false rejects)": 1.0}


@chart("measures", per="grouping", name="over-alpha")
def over_alpha(
    chosen: Chosen, theme: Theme, *, measures: Names = None, operating_points: Names = None
) -> Drawing:
    """FDR, GARBE and IR of every system over alpha, the weight of FPR.

    As Fig. 1 of docs/references.md#paper-000, which has several operating points.
    """
    alphas = np.linspace(0, 1, _ALPHAS)
    joint = _joint(measures)
    rows, known, parts = [], [], []
    lines = [*_audited(chosen, operating_points)]
    for place, (name, one, rates, rates_of_all) in enumerate(lines):
        ends = []
        for measure in joint:
            values = np.asarray(measure.evaluate(*rates, alpha=alphas).value)
            rows.append(_line(measure.id.upper(), name, "", alphas, values))
            ends.append(f"{measure.short} {_from_to(values)}")
            if rates_of_all is not None:
                values_of_all = np.asarray(measure.evaluate(*rates_of_all, alpha=alphas).value)
                faint = _line(measure.id.upper(), name, "", alphas, values_of_all)
                rows.append(faint | {"all": 1})
                ends[-1] += f" (of all groups {_from_to(values_of_all)})"
            for row in _estimates(one, measure):
                x = row["alpha"] + _APART * (place - (len(lines) - 1) / 2)
                known.append(_estimate(measure, name, x, row))
        parts.append(f"{name}, from alpha 0 to 1: {', '.join(ends)}")
    rows = [row for row in rows if row["x"]]
    if not rows:
        msg = f"fewer than two groups of {chosen.grouping} have both rates: nothing to weigh"
        raise ConfigError(msg)
    steps = [0, 0.5, 1] if theme.is_narrow else [0, 0.25, 0.5, 0.75, 1]
    axis = {"values": steps, "format": ".2~f", "grid": False}
    title = "alpha" if theme.is_narrow else "alpha: weight of FPR"
    x = vl.amount("x", title=title, scale={"domain": [0, 1]}, axis=axis)
    known = known if len(lines) <= _WITH_INTERVALS else []
    panels = _panels([one.id.upper() for one in joint], rows, x, theme, known=known)
    at = ", ".join(_points(chosen, operating_points) or (chosen.point,))
    return Drawing(
        theme.of(vl.in_a_row(panels, 16)),
        f"Fairness measures by weight: {cut(chosen.grouping)} at {cut(at)}",
        "Fairness measures by weight alpha: at 0 only false rejects count, at 1 only false "
        "accepts. Where lines cross, the ranking of the systems depends on alpha. "
        + _INTERVALS
        * bool(known)
        + "FDR: higher is fairer; "
        "GARBE, IR: lower is fairer. A line ends where the measure is undefined. "
        + _of_whom(chosen),
        "; ".join(parts) + ".",
    )


@chart("measures", per="grouping", name="over-fpr")
def over_fpr(
    chosen: Chosen, theme: Theme, *, measures: Names = None, alpha: float | None = None
) -> Drawing:
    """The joint measures and their terms over pooled FPR, crossings of the terms marked."""
    alpha = chosen.audit.record["options"]["alpha"][0] if alpha is None else alpha
    if not 0 <= alpha <= 1:
        msg = f"alpha is {alpha}; it is the weight of FPR, between 0 and 1"
        raise ConfigError(msg)
    joint = _joint(measures)
    terms_of = {_TERMS[one.id]: one.id for one in joint}
    rows, known, parts = [], [], []
    for place, (name, one, rates, rates_of_all, pooled) in enumerate(_swept(chosen)):
        aside = _TIMES ** (place - (len(chosen.subjects) - 1) / 2)
        for measure in joint:
            values = measure.evaluate(*rates, alpha=alpha).value
            rows.append(_line(measure.id.upper(), name, "", pooled, values))
            if rates_of_all is not None:
                values_of_all = measure.evaluate(*rates_of_all, alpha=alpha).value
                faint = _line(measure.id.upper(), name, "", pooled, values_of_all)
                rows.append(faint | {"all": 1})
            known += [
                _estimate(measure, name, x * aside, row)
                for x, row in _at_points(one, measure, alpha)
                if pooled[0] <= x <= pooled[-1]
            ]
        for label, joined in terms_of.items():
            terms = _terms(joined, rates)
            rows += [
                _line(label, name, line, pooled, term)
                for line, term in zip(_WIDTHS, terms, strict=True)
            ]
            met = crossings(pooled, *terms)
            rows += [
                {"p": label, "c": name, "d": "", "x": [place], "y": [height], "k": 1}
                for place, height in met
            ]
            if met:
                places = ", ".join(percent(place) for place, _ in met[:4])
                parts.append(f"{name}, {label}: the terms cross at an FPR of {places}")
    rows = [row for row in rows if row["x"]]
    if not rows:
        msg = f"fewer than two groups of {chosen.grouping} have both rates: nothing to draw"
        raise ConfigError(msg)
    low, high = min(min(row["x"]) for row in rows), max(max(row["x"]) for row in rows)
    points = {
        float(f"{row['fpr']:.4g}")
        for row in rows_of(chosen.audit, "operating_points", within="")
        if row["fpr"] is not None and low <= row["fpr"] <= high
    }
    axis = vl.as_logs("FPR of all (%)", low, high, grid=False)
    axis["axis"]["values"] = [tick for tick in vl.ticks(low, high) if f"{tick:g}"[-1] == "1"]
    x = vl.amount("x", **axis)
    known = known if len({row["c"] for row in known}) <= _WITH_INTERVALS else []
    lines = [
        _panels(titles, rows, x, theme, points=sorted(points), known=known)
        for titles in ([one.id.upper() for one in joint], [*terms_of])
    ]
    drawn = {"vconcat": [vl.in_a_row(panels, 16) for panels in lines if panels], "spacing": 14}
    return Drawing(
        theme.of({**drawn, "resolve": {"scale": {"strokeWidth": "independent"}}}),
        f"What the threshold does to the measures: {cut(chosen.grouping)}",
        "Above: each measure at every threshold, from few false accepts to many. "
        "Below: its two terms, thick of FPR, thin of FNR; a cross marks where one overtakes the "
        "other, so that the measure tells of another error to its right than to its left. Thin "
        "vertical lines are the audited points. "
        + _INTERVALS
        * bool(known)
        + "FDR: higher is fairer; all others: lower is "
        "fairer. " + _of_whom(chosen),
        ("; ".join(parts) or "The terms do not cross") + ".",
    )


def crossings(
    x: NDArray[np.float64], one: NDArray[np.float64], other: NDArray[np.float64]
) -> list[tuple[float, float]]:
    """Where one curve overtakes another: places on a logarithmic axis, with the height.

    Examples
    --------
    >>> import numpy as np
    >>> crossings(np.array([0.01, 0.1]), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    [(0.031623, 0.5)]
    """
    gap = one - other
    with np.errstate(invalid="ignore"):
        at = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    share = gap[at] / (gap[at] - gap[at + 1])
    places = np.exp(np.log(x[at]) + share * np.diff(np.log(x))[at])
    heights = one[at] + share * (one[at + 1] - one[at])
    return [(float(f"{p:.5g}"), float(f"{h:.5g}")) for p, h in zip(places, heights, strict=True)]


# ---- how far the measures and their terms range over all these choices


_RANGE = (0.001, 0.1)
"""FPR of all trials between which paper 003 looks."""
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_BINS = 40
_HEIGHT, _BOX = 90, 15


@chart("measures", per="asked")
def terms(chosen: Chosen, theme: Theme, *, measures: Names = None) -> Drawing:
    """Densities of FDR, GARBE and IR over alpha and threshold, above boxes of their terms.

    As Figs. 1 to 5 of docs/references.md#paper-003.
    """
    joint, alphas = _joint(measures), np.linspace(0, 1, _ALPHAS)
    hills: dict[str, dict[str, NDArray[np.float64]]] = {one.id: {} for one in joint}
    boxes: list[Row] = []
    parts = []
    for name, _, rates, _, pooled in _swept(chosen):
        within = (_RANGE[0] <= pooled) & (pooled <= _RANGE[1])
        fpr, fnr = (of[within] for of in rates)
        for measure in joint:
            every = np.stack(
                [np.asarray(measure.evaluate(fpr, fnr, alpha=alpha).value) for alpha in alphas]
            )
            hills[measure.id][name] = every[np.isfinite(every)]
            share = percent(float(np.isfinite(every).mean())) if every.size else "–"
            parts.append(f"{name}: {measure.short} is defined in {share} of choices")
            for kind, term in zip(_WIDTHS, _terms(measure.id, (fpr, fnr)), strict=True):
                if np.isfinite(term).any():
                    box = np.quantile(term[np.isfinite(term)], _QUANTILES)
                    row = dict(zip("labch", map(float, box), strict=True))
                    boxes.append(
                        {"p": measure.id, "group": f"{name}, {kind[:6]}", "k": kind, **row}
                    )
    drawn = [one for one in joint if any(values.size for values in hills[one.id].values())]
    if not drawn:
        msg = (
            f"no measure of {chosen.grouping} is defined between FPRs of {percent(_RANGE[0])} and "
            f"{percent(_RANGE[1])}: it takes two groups with both rates"
        )
        raise ConfigError(msg)
    names, rows_down = [*hills[drawn[0].id]], [*dict.fromkeys(row["group"] for row in boxes)]
    ways = theme.colours(len(names)), theme.dashes(len(names))
    legend = {"symbolType": "stroke", "columns": theme.columns(names)}
    colour, dash = vl.drawn_as("c", names, *ways, legend=legend)
    width = (theme.width - 20 - room(rows_down, theme.size)) // len(drawn) - 16
    above, below = [], []
    for place, measure in enumerate(drawn):
        is_log = measure.scale == "ratio"
        own = [row for row in boxes if row["p"] == measure.id]
        rows = _hills(hills[measure.id], is_log=is_log)
        x = _axis([value for row in rows for value in row["x"]], is_log=is_log)
        hill = {"x": x | {"field": "x"}, "y": vl.amount("y", title=None, axis=None)}
        line = vl.mark("line", {**hill, "color": colour, "strokeDash": dash}, strokeWidth=1.6)
        flat = [{"flatten": ["x", "y"]}]
        head = vl.heading(measure.id.upper())
        panel = vl.layered([line], data=vl.inline(rows), transform=flat, title=head)
        above.append({**panel, "width": width, "height": _HEIGHT})
        y = vl.names_down(rows_down, theme.inks.ink if place == 0 else "")
        x = _axis([row[end] for row in own for end in "labch"], is_log=is_log)
        size = {"width": width, "height": _BOX * len(rows_down)}
        label = _TERMS[measure.id].partition(" (")[0] if theme.is_narrow else _TERMS[measure.id]
        below.append(vl.panel(vl.boxes(x, y, theme), own, label, **size))
    panels = {"vconcat": [vl.in_a_row(above, 16), vl.in_a_row(below, 16)], "spacing": 14}
    return Drawing(
        theme.of(panels, view={"stroke": None}),
        f"How far the measures range: {cut(chosen.grouping)}",
        "Above: how often each measure takes which value, over every alpha from 0 to 1 and every "
        f"threshold with an FPR of {percent(_RANGE[0])} to {percent(_RANGE[1])}; each curve is as "
        "high as its peak. Below: its two terms over these thresholds, the box from a quarter to "
        "three quarters of them, lines from 5 to 95 of 100, the stroke in the middle the median. "
        "Terms of different size do not weigh alike, whatever alpha says. This is the range of "
        "choices, not of chance: speakers drawn anew would move it. "
        + _of_whom(chosen, has_faint=False),
        "; ".join(parts) + ".",
    )


def _axis(values: Sequence[float], *, is_log: bool) -> vl.Spec:
    if is_log:
        return {"type": "quantitative", **vl.as_logs(None, *vl.log_domain(values), percent=False)}
    axis = {"tickCount": 3, "format": "~g"}
    return {"type": "quantitative", "title": None, "scale": {"zero": False}, "axis": axis}


def _hills(of: dict[str, NDArray[np.float64]], *, is_log: bool) -> list[Row]:
    """Densities on one grid of values, each smoothed over three steps and of height 1."""
    every = np.concatenate([*of.values()])
    every = np.log(every[every > 0]) if is_log else every
    low, high = float(every.min()), float(every.max())
    edges = np.linspace(low, max(high, low + 1e-6), _BINS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    places = np.exp(middles) if is_log else middles
    rows = []
    for name, values in of.items():
        counts, _ = np.histogram(np.log(values) if is_log else values, edges)
        smooth = np.convolve(counts, [0.25, 0.5, 0.25], mode="same")
        if smooth.max() > 0:
            heights = (smooth / smooth.max()).round(4).tolist()
            rows.append({"c": name, "x": [float(f"{v:.5g}") for v in places], "y": heights})
    return rows


# ---- of which groups


def _each(chosen: Chosen) -> Iterator[Chosen]:
    for system, listed in chosen.subjects:
        yield replace(chosen, system=system, list=listed)


def _joint(asked: Names) -> list[MetaMeasure]:
    """The measures of both rates that are asked for, or all that have two terms."""
    names = several("measures", asked, _TERMS, "drawn here")
    return [meta_measures()[name] for name in names or _TERMS]


def _terms(joined: str, rates: Rates) -> list[NDArray[np.float64]]:
    """What a measure joins: of FPR, and of FNR."""
    every = meta_measures()
    terms = every[joined].terms or ()
    return [
        np.asarray(every[one].evaluate(rate).value) for one, rate in zip(terms, rates, strict=True)
    ]


def _points(chosen: Chosen, asked: Names) -> tuple[str, ...]:
    rows = rows_of(chosen.audit, "operating_points", within="")
    return several("operating_points", asked, [row["operating_point"] for row in rows])


def _left_out(chosen: Chosen) -> set[str]:
    """Groups that are under-represented for either rate, in this system or in another one."""
    rows = rows_of(chosen.audit, "meta", **chosen.at, metric=BOTH, measure="fdr", gated=True)
    return chosen.gates | set(groups_left_out(rows))


def _has_judged(chosen: Chosen) -> bool:
    """Whether two groups or more are judged in all systems that are drawn."""
    is_alike = covers_same_groups(chosen.audit, chosen.at)
    return is_alike and len(set(chosen.groups) - _left_out(chosen)) > 1


def _judged(chosen: Chosen, names: Sequence[str]) -> list[str]:
    """Groups that are judged in all systems; all of them where fewer than two are."""
    every = [name for name in names if name != "pooled"]
    left_out = _left_out(chosen)
    judged = [name for name in every if name not in left_out]
    return judged if _has_judged(chosen) and len(judged) > 1 else every


def _of_whom(chosen: Chosen, *, has_faint: bool = True) -> str:
    """A sentence on the groups that the lines are of, and on faint ones of all groups."""
    every = [*_each(chosen)]
    left_out = list(dict.fromkeys(name for one in every for name in sorted(_left_out(one))))
    if not left_out:
        return "Of all groups."
    if not covers_same_groups(chosen.audit, chosen.at):
        return "Of all groups, as other groups are under-represented in other systems."
    has_judged = [_has_judged(one) for one in every]
    if all(has_judged):
        reasons = ", ".join(omission_reasons(chosen.audit, chosen.at, left_out))
        whose = (
            "are under-represented in no system"
            if has_several_systems(chosen.audit)
            else NOT_UNDER_REPRESENTED
        )
        faint = "; faint: of all groups" if has_faint else ""
        return f"Of the groups that {whose}{faint}. Left out: {reasons}."
    short = "Fewer than two groups pass the gates"
    if any(has_judged):
        short += " in one of these"
    return f"{short}, so the lines are of all groups there: take them for hints."


def _audited(chosen: Chosen, points: Names) -> Iterator[tuple[str, Chosen, Rates, Rates | None]]:
    """Both rates of the groups of every system at the operating points.

    The last are those of all groups, where some are left out before.
    """
    asked = _points(chosen, points)
    for each in _each(chosen):
        for point in asked or (chosen.point,):
            one = replace(each, point=point)
            fpr, fnr = one.rates("fpr"), one.rates("fnr")
            every = [name for name in fpr if name in fnr and name != "pooled"]
            judged = _judged(one, every)
            rates, rates_of_all = (
                (_values(fpr, names), _values(fnr, names)) for names in (judged, every)
            )
            parts = [one.label] if len(chosen.subjects) > 1 or len(asked) < 2 else []
            parts += [point] if len(asked) > 1 else []
            yield cut(" at ".join(parts), 24), one, rates, rates_of_all if judged != every else None


def _from_to(values: NDArray[np.float64]) -> str:
    """The ends of a line in words."""
    first, last = ("–" if np.isnan(end) else f"{end:.3g}" for end in values[[0, -1]])
    return f"{first} to {last}"


def _values(rates: Mapping[str, Row], names: Sequence[str]) -> NDArray[np.float64]:
    """Rates of some groups, NaN where undefined."""
    return np.array([rates[name]["value"] for name in names], dtype=np.float64)


def _swept(
    chosen: Chosen,
) -> Iterator[tuple[str, Chosen, Rates, Rates | None, NDArray[np.float64]]]:
    """Both rates of the groups ``[threshold, group]``, of all groups, and pooled FPR, rising.

    Those of all groups are None where none is left out.
    """
    for one in _each(chosen):
        of = curves_of(one.audit, one.system, one.list, one.grouping, one.allocation)
        pooled = of.fpr[-1]
        wanted = np.geomspace(*_SPAN, _STEPS)
        if np.isnan(pooled).any():
            continue
        falling = -pooled  # thresholds rise, so the rate falls
        at = np.unique(np.clip(np.searchsorted(falling, -wanted), 0, pooled.size - 1))
        at = at[pooled[at] > 0][::-1]
        at = at[np.unique(pooled[at], return_index=True)[1]]
        every = [name for name in of.groups if name != "pooled"]
        judged = _judged(one, every)
        rates, rates_of_all = (
            (of.fpr[rows][:, at].T, of.fnr[rows][:, at].T)
            for rows in ([of.groups.index(name) for name in names] for names in (judged, every))
        )
        name = cut(one.label, 24)
        yield name, one, rates, rates_of_all if judged != every else None, pooled[at]


def _estimates(one: Chosen, measure: MetaMeasure) -> list[Row]:
    """What the audit says of a measure of the groups that the line is of, at each alpha."""
    asked = {**one.at, "metric": BOTH, "measure": measure.id, "zero": "none"}
    rows = rows_of(one.audit, "meta", **asked, gated=_has_judged(one))
    return [row for row in rows if row["value"] is not None and row["high"] is not None]


def _at_points(one: Chosen, measure: MetaMeasure, alpha: float) -> Iterator[tuple[float, Row]]:
    """The same at each operating point, with its pooled FPR, if the audit has the alpha."""
    where = {"system": one.system, "list": one.list, "within": ""}
    for point in rows_of(one.audit, "operating_points", **where):
        at = replace(one, point=point["operating_point"])
        if _left_out(at) != _left_out(one):
            continue  # the line is of other groups than the measure is there
        for row in _estimates(at, measure):
            if row["alpha"] == alpha and point["fpr"]:
                yield point["fpr"], row


def _estimate(measure: MetaMeasure, name: str, x: float, row: Row) -> Row:
    high = min(row["high"], _LARGEST)
    made = {"p": measure.id.upper(), "c": name, "x": x, "l": row["low"], "h": high}
    return made | ({} if row["floor_95"] is None else {"f": row["floor_95"]})


# ---- as they are drawn


def _line(panel: str, system: str, line: str, x: NDArray[np.float64], y: Any) -> Row:
    defined = np.isfinite(y)
    return {
        "p": panel,
        "c": system,
        "d": line,
        "x": [float(f"{v:.4g}") for v in x[defined]],
        "y": [float(f"{v:.5g}") for v in np.asarray(y)[defined]],
    }


def _panels(
    titles: Sequence[str],
    rows: Sequence[Row],
    x: vl.Spec,
    theme: Theme,
    *,
    points: Sequence[float] = (),
    known: Sequence[Row] = (),
) -> list[vl.Spec]:
    """A panel for each title that has lines, with the audited points and what is known there."""
    names = [*dict.fromkeys(row["c"] for row in rows)]
    legend = {"symbolType": "stroke", "columns": theme.columns(names, beside=_LABELS / 3)}
    ways = theme.colours(len(names)), theme.dashes(len(names))
    colour, dash = vl.drawn_as("c", names, *ways, legend=legend)
    terms = {"symbolType": "stroke", "columns": theme.columns([*_WIDTHS], beside=_LABELS / 3)}
    (width,) = vl.drawn_as("d", _WIDTHS, _WIDTHS.values(), legend=terms)
    size = {"width": (theme.width - _LABELS) // max(len(titles), 2), "height": 130}
    cross = {"shape": "cross", "angle": 45}
    at = {"x": vl.amount("h", title=x["title"])}
    behind = vl.mark(
        "rule",
        at,
        rows=[{"h": rate} for rate in points],
        color=theme.inks.muted,
        strokeWidth=0.8,
    )
    panels = []
    for title in titles:
        own, here_known = ([row for row in of if row["p"] == title] for of in (rows, known))
        if not own:
            continue
        if title.startswith(("IR", "max")):
            limits = [row[name] for row in here_known for name in "lhf" if name in row]
            limits = [limit for limit in limits if limit < _LARGEST]
            low, high = vl.log_domain([*(value for row in own for value in row["y"]), *limits])
            y = vl.amount("y", **vl.as_logs(None, low, high, percent=False))
        else:
            axis = {"tickCount": 4, "format": "~g"}
            y = vl.amount("y", title=None, scale={"zero": False, "nice": True}, axis=axis)
        here = {"x": x, "y": y, "color": colour}
        wide = width if any(row["d"] for row in own) else {"value": 1.6}
        line = {**here, "strokeDash": dash, "strokeWidth": wide}
        layers = [vl.mark("line", line, when="datum.k != 1 && datum.all != 1")]
        if any(row.get("all") for row in own):
            faint: vl.Spec = {"strokeWidth": 0.8, "opacity": 0.45}
            shown = {**here, "strokeDash": dash}
            layers.append(vl.mark("line", shown, when="datum.all == 1", **faint))
        if any(row.get("k") for row in own):
            layers.append(vl.dots(here, 60, when="datum.k == 1", **cross))
        flat = [{"flatten": ["x", "y"]}]
        lines = [vl.layered(layers, data=vl.inline(own), transform=flat)]
        marks = [behind, *lines] if points else lines
        if here_known:
            ends = {"y": {**y, "field": "l"}, "y2": {"field": "h"}}
            bar = {"x": x, **ends, "color": colour, "strokeDash": dash}
            tick = {"x": x, "y": {**y, "field": "f"}}
            look: vl.Spec = {"thickness": 2, "width": 9, "orient": "horizontal"}
            layers = [
                vl.mark("rule", bar, strokeWidth=1.2),
                vl.mark("tick", tick, when="isValid(datum.f)", **look, color=theme.inks.muted),
            ]
            marks.append(vl.layered(layers, data=vl.inline(here_known)))
        panels.append(vl.layered(marks, **size, title=vl.heading(title)))
    return panels
