"""The measures that join both rates, over the weight of FPR and over the threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.measures import meta_measures
from parivox.errors import ConfigError
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import OF_ALL, Chosen, Drawing, Row, chart, cut, rows_of, subjects
from parivox.report.charts.curves import curves_of
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.report.charts.theme import Theme

    Rates = tuple[NDArray[np.float64], NDArray[np.float64]]

_JOINT = ("fdr", "garbe", "ir")
_TERMS = {
    "range (FDR's terms)": ("fdr_fpd", "fdr_fnd"),
    "Gini (GARBE's terms)": ("gini", "gini"),
    "max / min (IR's terms)": ("ir_fpd", "ir_fnd"),
}
_SPAN = (0.0005, 0.2)
_STEPS = 36
_ALPHAS = 21
_LABELS = 140
"""Room for the labels of three panels and between them."""
_WIDTHS = {"of FPR (impostors in)": 2.8, "of FNR (locked out)": 1.0}


@chart("measures", per="grouping", asks=OF_ALL, name="over-alpha")
def over_alpha(chosen: Chosen, theme: Theme) -> Drawing:
    """FDR, GARBE and IR of every system over alpha, the weight of FPR."""
    alphas = np.linspace(0, 1, _ALPHAS)
    rows, parts = [], []
    for name, rates in _audited(chosen):
        ends = []
        for measure in (meta_measures()[one] for one in _JOINT):
            values = np.asarray(measure.of(*rates, alpha=alphas).value)
            rows.append(_line(measure.id.upper(), name, "", alphas, values))
            low, high = ("–" if np.isnan(end) else f"{end:.3g}" for end in values[[0, -1]])
            ends.append(f"{measure.short} {low} to {high}")
        parts.append(f"{name}, from alpha 0 to 1: {', '.join(ends)}")
    rows = [row for row in rows if row["x"]]
    if not rows:
        msg = f"fewer than two groups of {chosen.grouping} have both rates: nothing to weigh"
        raise ConfigError(msg)
    steps = [0, 0.5, 1] if theme.is_narrow else [0, 0.25, 0.5, 0.75, 1]
    axis = {"values": steps, "format": ".2~f", "grid": False}
    title = "alpha" if theme.is_narrow else "alpha: weight of FPR"
    x = vl.amount("x", title=title, scale={"domain": [0, 1]}, axis=axis)
    panels = _panels([*map(str.upper, _JOINT)], rows, x, theme)
    return Drawing(
        theme.of(vl.in_a_row(panels, 16)),
        f"Which error counts how much: {cut(chosen.grouping)} at {cut(chosen.point)}",
        "On the left only locking people out counts, on the right only letting impostors in. "
        "Where lines cross, which system is fairer is a choice of alpha. FDR: higher is fairer; "
        "GARBE, IR: lower is fairer. A line ends where the measure is undefined. "
        + _of_whom(chosen),
        "; ".join(parts) + ".",
    )


@chart("measures", per="grouping", asks=("by", "allocation"), name="over-fpr")
def over_fpr(chosen: Chosen, theme: Theme, *, alpha: float | None = None) -> Drawing:
    """The joint measures and their terms over pooled FPR, crossings of the terms marked."""
    alpha = chosen.audit.record["options"]["alpha"][0] if alpha is None else alpha
    rows, parts = [], []
    for name, rates, pooled in _swept(chosen):
        for measure in (meta_measures()[one] for one in _JOINT):
            values = measure.of(*rates, alpha=alpha).value
            rows.append(_line(measure.id.upper(), name, "", pooled, values))
        for label, measures in _TERMS.items():
            terms = [
                np.asarray(meta_measures()[one].of(rate).value)
                for one, rate in zip(measures, rates, strict=True)
            ]
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
    lines = [
        _panels(titles, rows, x, theme, sorted(points))
        for titles in ([*map(str.upper, _JOINT)], [*_TERMS])
    ]
    drawn = {"vconcat": [vl.in_a_row(panels, 16) for panels in lines if panels], "spacing": 14}
    return Drawing(
        theme.of({**drawn, "resolve": {"scale": {"strokeWidth": "independent"}}}),
        f"What the threshold does to the measures: {cut(chosen.grouping)}",
        "Above: each measure at every threshold, from few impostors let in to many. "
        "Below: its two terms, thick of FPR, thin of FNR; a cross marks where one overtakes the "
        "other, so that the measure tells of another error to its right than to its left. Thin "
        "vertical lines are the audited points. FDR: higher is fairer; all others: lower is "
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


# ---- of which groups


def _each(chosen: Chosen) -> Iterator[Chosen]:
    for system, listed in subjects(chosen.audit):
        yield replace(chosen, system=system, list=listed)


def _passed(chosen: Chosen, names: Sequence[str]) -> list[str]:
    """Groups that pass the gates, of the first point; all of them where fewer than two do."""
    every = [name for name in names if name != "pooled"]
    passed = [name for name in every if name not in chosen.gates]
    return passed if len(passed) > 1 else every


def _of_whom(chosen: Chosen) -> str:
    """A sentence on the groups that the lines are of."""
    every = [*_each(chosen)]
    gated = [len(set(one.groups) - one.gates) > 1 for one in every]
    if not any(one.gates for one in every):
        return "Of all groups."
    if all(gated):
        return "Of the groups that pass the gates."
    short = "Fewer than two groups pass the gates" + (" in one of these" if any(gated) else "")
    return f"{short}, so the lines are of all groups there: take them for hints."


def _audited(chosen: Chosen) -> Iterator[tuple[str, Rates]]:
    """Both rates of the groups of every system at the operating point."""
    for one in _each(chosen):
        fpr, fnr = one.rates("fpr"), one.rates("fnr")
        names = _passed(one, [name for name in fpr if name in fnr])
        rates = [np.array([of[n]["value"] for n in names], dtype=float) for of in (fpr, fnr)]
        yield cut(one.label, 24), (rates[0], rates[1])


def _swept(chosen: Chosen) -> Iterator[tuple[str, Rates, NDArray[np.float64]]]:
    """Both rates of the groups ``[threshold, group]`` and the pooled FPR, rising."""
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
        rows = [of.groups.index(name) for name in _passed(one, of.groups)]
        fpr, fnr = (rates[rows][:, at].T for rates in (of.fpr, of.fnr))
        yield cut(one.label, 24), (fpr, fnr), pooled[at]


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
    points: Sequence[float] = (),
) -> list[vl.Spec]:
    """A panel for each title that has lines, with the audited points behind them."""
    names = [*dict.fromkeys(row["c"] for row in rows)]
    legend = {"symbolType": "stroke", "columns": theme.columns(names, beside=_LABELS / 3)}
    ways = theme.colours(len(names)), theme.dashes(len(names))
    colour, dash = vl.drawn_as("c", names, *ways, legend=legend)
    terms = {"symbolType": "stroke", "columns": theme.columns([*_WIDTHS], beside=_LABELS / 3)}
    (width,) = vl.drawn_as("d", _WIDTHS, _WIDTHS.values(), legend=terms)
    size = {"width": (theme.width - _LABELS) // 3, "height": 130}
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
        own = [row for row in rows if row["p"] == title]
        if not own:
            continue
        if title.startswith(("IR", "max")):
            low, high = vl.log_domain([value for row in own for value in row["y"]])
            y = vl.amount("y", **vl.as_logs(None, low, high, percent=False))
        else:
            axis = {"tickCount": 4, "format": "~g"}
            y = vl.amount("y", title=None, scale={"zero": False, "nice": True}, axis=axis)
        here = {"x": x, "y": y, "color": colour}
        wide = width if any(row["d"] for row in own) else {"value": 1.6}
        line = {**here, "strokeDash": dash, "strokeWidth": wide}
        layers = [vl.mark("line", line, when="datum.k != 1")]
        if any(row.get("k") for row in own):
            layers.append(vl.dots(here, 60, when="datum.k == 1", **cross))
        flat = [{"flatten": ["x", "y"]}]
        lines = [vl.layered(layers, data=vl.inline(own), transform=flat)]
        marks = [behind, *lines] if points else lines
        panels.append(vl.layered(marks, **size, title=vl.heading(title)))
    return panels
