"""The measures that join both rates, over the weight of FPR and over the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.measures import meta_measures
from parivox.errors import ConfigError
from parivox.report.charts import curves
from parivox.report.charts.axes import as_logs, log_domain, ticks
from parivox.report.charts.chart import OF_ALL, Drawing, Words, chart
from parivox.report.charts.chosen import Chosen, Row, cut, rows_of, subjects
from parivox.report.charts.grammar import (
    Spec,
    amount,
    beside,
    heading,
    inline,
    layered,
    mark,
    scale,
    word,
)
from parivox.report.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.report.charts.theme import Theme

    Rates = tuple[NDArray[np.float64], NDArray[np.float64]]

_JOINT = ("fdr", "garbe", "ir")
_TERMS = {
    "range": ("fdr_fpd", "fdr_fnd", "range (FDR's terms)"),
    "gini": ("gini", "gini", "Gini (GARBE's terms)"),
    "ratio": ("ir_fpd", "ir_fnd", "max / min (IR's terms)"),
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
    rows = []
    for one, (fpr, fnr), _ in _audited(chosen):
        for measure in _JOINT:
            found = meta_measures()[measure].of(fpr, fnr, alpha=alphas).value
            rows += [_line(measure.upper(), one, "", alphas, found)]
    rows = [row for row in rows if row["x"]]
    if not rows:
        msg = f"fewer than two groups of {chosen.grouping} have both rates: nothing to weigh"
        raise ConfigError(msg)
    names = [*dict.fromkeys(row["c"] for row in rows)]
    steps = [0, 0.5, 1] if theme.is_narrow else [0, 0.25, 0.5, 0.75, 1]
    weight = amount(
        "x",
        title="alpha" if theme.is_narrow else "alpha: weight of FPR",
        scale={"domain": [0, 1]},
        axis={"values": steps, "format": ".2~f", "grid": False},
    )
    width = _width(theme)
    panels = []
    for measure in (m.upper() for m in _JOINT):
        own = [row for row in rows if row["p"] == measure]
        if own:
            panels.append(_panel(own, names, weight, measure, theme, width))
    return Drawing(theme.of(beside(panels, 16)), _words_over_alpha(chosen))


@chart("measures", per="grouping", asks=("by", "allocation"), name="over-fpr")
def over_fpr(chosen: Chosen, theme: Theme, *, alpha: float | None = None) -> Drawing:
    """The joint measures and their terms over pooled FPR, crossings of the terms marked."""
    weight = chosen.audit.record["options"]["alpha"][0] if alpha is None else alpha
    rows = [row for found in _swept(chosen) for row in _over_fpr(*found, weight) if row["x"]]
    if not rows:
        msg = f"fewer than two groups of {chosen.grouping} have both rates: nothing to draw"
        raise ConfigError(msg)
    low = min(min(row["x"]) for row in rows)
    high = max(max(row["x"]) for row in rows)
    names = [*dict.fromkeys(row["c"] for row in rows)]
    held = [
        row["fpr"]
        for row in rows_of(chosen.audit, "operating_points", within="")
        if row["fpr"] is not None and low <= row["fpr"] <= high
    ]
    held = sorted({float(f"{rate:.4g}") for rate in held})
    width = _width(theme)
    axis = as_logs("FPR of all (%)", low, high, grid=False)
    axis["axis"] = {
        "values": [tick for tick in ticks(low, high) if f"{tick:g}"[-1] == "1"],
        "labelExpr": "format(100 * datum.value, '~r')",
        "grid": False,
    }
    x = amount("x", **axis)
    lines = []
    for panels in ([m.upper() for m in _JOINT], [label for _, _, label in _TERMS.values()]):
        drawn = []
        for name in panels:
            own = [row for row in rows if row["p"] == name]
            if own:
                drawn.append(_panel(own, names, x, name, theme, width, held=held))
        if drawn:
            lines.append(beside(drawn, 16))
    apart = {"scale": {"strokeWidth": "independent"}}
    return Drawing(
        theme.of({"vconcat": lines, "spacing": 14, "resolve": apart}), _words_over_fpr(chosen)
    )


def _width(theme: Theme) -> int:
    """Of each of three panels, with labels at the left of each."""
    return (theme.width - _LABELS) // 3


def _over_fpr(one: str, rates: Rates, pooled: NDArray[np.float64], alpha: float) -> Iterator[Row]:
    """Lines of the measures and their terms, and where terms cross."""
    for measure in _JOINT:
        found = meta_measures()[measure].of(*rates, alpha=alpha).value
        yield _line(measure.upper(), one, "", pooled, found)
    for of_fpr, of_fnr, label in _TERMS.values():
        terms = _both(of_fpr, of_fnr, *rates)
        for line, term in zip(_WIDTHS, terms, strict=True):
            yield _line(label, one, line, pooled, term)
        for where, height in crossings(pooled, *terms):
            yield {"p": label, "c": one, "d": "", "x": [where], "y": [height], "k": 1}


def _words_over_alpha(chosen: Chosen) -> Words:
    """Words for the figure over alpha."""
    parts = []
    for one, (fpr, fnr), _ in _audited(chosen):
        ends = [
            f"{one.short} {_told(one.of(fpr, fnr, alpha=np.array([0.0, 1.0])).value)}"
            for one in map(meta_measures().__getitem__, _JOINT)
        ]
        parts.append(f"{one}, from alpha 0 to 1: {', '.join(ends)}")
    return Words(
        f"Which error counts how much: {cut(chosen.grouping)} at {cut(chosen.point)}",
        "On the left only locking people out counts, on the right only letting impostors in. "
        "Where lines cross, which system is fairer is a choice of alpha. FDR: higher is fairer; "
        "GARBE, IR: lower is fairer. A line ends where the measure is undefined. "
        + _of_whom(chosen),
        "; ".join(parts) + ".",
    )


def _words_over_fpr(chosen: Chosen) -> Words:
    """Words for the figure over FPR."""
    parts = []
    for one, (fpr, fnr), pooled in _swept(chosen):
        for of_fpr, of_fnr, label in _TERMS.values():
            found = [place for place, _ in crossings(pooled, *_both(of_fpr, of_fnr, fpr, fnr))]
            if found:
                places = ", ".join(percent(place) for place in found[:4])
                parts.append(f"{one}, {label}: the terms cross at an FPR of {places}")
    return Words(
        f"What the threshold does to the measures: {cut(chosen.grouping)}",
        "Above: each measure at every threshold, told by the share of impostors that come in. "
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


def _both(of_fpr: str, of_fnr: str, fpr: Any, fnr: Any) -> tuple[Any, Any]:
    return meta_measures()[of_fpr].of(fpr).value, meta_measures()[of_fnr].of(fnr).value


def _passed(chosen: Chosen, names: Sequence[str]) -> list[int]:
    """Groups that pass the gates, of the first point; all of them where fewer than two do."""
    passed = [i for i, name in enumerate(names) if name != "pooled" and name not in chosen.gates]
    every = [i for i, name in enumerate(names) if name != "pooled"]
    return passed if len(passed) > 1 else every


def _of_whom(chosen: Chosen) -> str:
    """A sentence on the groups that the lines are of."""
    gated = [len(set(one.groups) - set(one.gates)) > 1 for one in _each(chosen)]
    if not any(one.gates for one in _each(chosen)):
        return "Of all groups."
    if all(gated):
        return "Of the groups that pass the gates."
    short = "Fewer than two groups pass the gates" + (" in one of these" if any(gated) else "")
    return f"{short}, so the lines are of all groups there: take them for hints."


def _each(chosen: Chosen) -> Iterator[Chosen]:
    for system, listed in subjects(chosen.audit):
        yield Chosen(chosen.audit, system, listed, chosen.grouping, chosen.allocation, chosen.point)


def _audited(chosen: Chosen) -> Iterator[tuple[str, Rates, None]]:
    """Both rates of the groups of every system at the operating point."""
    for one in _each(chosen):
        fpr, fnr = one.rates("fpr"), one.rates("fnr")
        names = [name for name in fpr if name in fnr]
        names = [names[i] for i in _passed(one, names)]
        rates = [
            np.array([np.nan if of[n]["value"] is None else of[n]["value"] for n in names])
            for of in (fpr, fnr)
        ]
        yield cut(one.label, 24), (rates[0], rates[1]), None


def _swept(chosen: Chosen) -> Iterator[tuple[str, Rates, NDArray[np.float64]]]:
    """Both rates of the groups ``[threshold, group]`` and the pooled FPR, rising."""
    for one in _each(chosen):
        found = curves.of(one.audit, one.system, one.list, one.grouping, one.allocation)
        pooled = found.fpr[-1]
        wanted = np.geomspace(*_SPAN, _STEPS)
        if np.isnan(pooled).any():
            continue
        falling = -pooled  # thresholds rise, so the rate falls
        at = np.unique(np.clip(np.searchsorted(falling, -wanted), 0, pooled.size - 1))
        at = at[pooled[at] > 0][::-1]
        at = at[np.unique(pooled[at], return_index=True)[1]]
        chosen_groups = _passed(one, found.groups)
        fpr, fnr = (rates[chosen_groups][:, at].T for rates in (found.fpr, found.fnr))
        yield cut(one.label, 24), (fpr, fnr), pooled[at]


def _line(
    panel: str, system: str, line: str, x: NDArray[np.float64], y: NDArray[np.float64]
) -> Row:
    defined = np.isfinite(y)
    return {
        "p": panel,
        "c": system,
        "d": line,
        "x": [float(f"{v:.4g}") for v in x[defined]],
        "y": [float(f"{v:.5g}") for v in np.asarray(y)[defined]],
    }


def _told(values: NDArray[np.float64]) -> str:
    return " to ".join("–" if np.isnan(v) else f"{v:.3g}" for v in values)


def _panel(
    rows: Sequence[Row],
    names: Sequence[str],
    x: Spec,
    title: str,
    theme: Theme,
    width: float,
    *,
    held: Sequence[float] = (),
) -> Spec:
    if title.startswith(("IR", "max")):
        low, high = log_domain([value for row in rows for value in row["y"]])
        y = amount("y", **as_logs(None, low, high, percent=False))
    else:
        axis = {"tickCount": 4, "format": "~g"}
        y = amount("y", title=None, scale={"zero": False, "nice": True}, axis=axis)
    legend = {"symbolType": "stroke", "columns": theme.columns(names, beside=_LABELS / 3)}
    colour, dash = (
        word("c", title=None, scale=of(names), legend=legend)
        for of in (theme.colours, theme.dashes)
    )
    terms = {"symbolType": "stroke", "columns": theme.columns([*_WIDTHS], beside=_LABELS / 3)}
    wide = (
        word("d", title=None, scale=scale(_WIDTHS, _WIDTHS.values()), legend=terms)
        if any(row["d"] for row in rows)
        else {"value": 1.6}
    )
    drawn = {"x": x, "y": y, "color": colour, "strokeDash": dash, "strokeWidth": wide}
    layers = [mark("line", drawn, when="datum.k != 1")]
    if any(row.get("k") for row in rows):
        layers.append(
            mark(
                "point",
                {"x": x, "y": y, "color": colour},
                when="datum.k == 1",
                shape="cross",
                angle=45,
                size=60,
                filled=True,
                opacity=1,
            )
        )
    lines = layered(layers, data=inline(rows), transform=[{"flatten": ["x", "y"]}])
    points = mark(
        "rule",
        {"x": amount("h", title=x["title"])},
        rows=[{"h": rate} for rate in held],
        color=theme.inks.muted,
        strokeWidth=0.8,
    )
    return layered(
        [points, lines] if held else [lines], width=width, height=130, title=heading(title)
    )
