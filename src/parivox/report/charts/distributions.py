"""How scores lie: those of the right speakers and those of impostors, beside the thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError
from parivox.report.charts import curves
from parivox.report.charts.axes import across
from parivox.report.charts.chart import OF_ONE, Drawing, Words, chart
from parivox.report.charts.chosen import Chosen, Row, cut, kept, left_out, rows_of
from parivox.report.charts.grammar import (
    amount,
    facets,
    inline,
    layered,
    mark,
    scale,
    word,
)
from parivox.report.charts.theme import room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.report.charts.theme import Theme

    Rows = list[Row]

MOST = 23
"""Groups drawn at most."""
_KINDS = ("own trials", "impostor trials")
_PLACES = 35
_SEEN = 0.002
_ALL = "all groups"
_AT = "threshold at"


@chart("det", per="widest", asks=OF_ONE, name="scores")
def distributions(chosen: Chosen, theme: Theme) -> Drawing:
    """Densities of target and nontarget scores of each group, with the audited thresholds."""
    inks = theme.inks
    found = curves.of(chosen.audit, chosen.system, chosen.list, chosen.grouping, chosen.allocation)
    finite = found.thresholds[np.isfinite(found.thresholds)]
    if finite.size < 2 or finite[0] == finite[-1]:
        msg = f"{chosen.label} has fewer than two different scores: nothing to draw"
        raise ConfigError(msg)
    places = np.linspace(finite[0], finite[-1], _PLACES)
    panels = {"pooled": _ALL} | {name: cut(chosen.marked(name), 24) for name in kept(chosen, MOST)}
    rows: Rows = []
    for name, panel in panels.items():
        if name not in found.groups:
            continue
        at = found.groups.index(name)
        below = found.fn[at], found.n_nontarget[at] - found.fp[at]
        for kind, counts, n in zip(
            _KINDS, below, (found.n_target[at], found.n_nontarget[at]), strict=True
        ):
            if n:
                seen, heights = _density(places, found.thresholds, counts / n)
                rows.append({"p": panel, "c": kind, "x": seen, "y": heights})
    points = {
        cut(row["operating_point"]): row["threshold"]
        for row in rows_of(
            chosen.audit, "operating_points", system=chosen.system, list=chosen.list, within=""
        )
        if row["threshold"] is not None and np.isfinite(row["threshold"])
    }
    rows += [
        {"p": panel, "c": name, "k": "at", "x": [threshold], "y": [0]}
        for panel in panels.values()
        for name, threshold in points.items()
    ]
    colours = scale(_KINDS, inks.series[:2])
    ends = [float(f"{end:.5g}") for end in finite[[0, -1]]]
    x = amount(
        "x",
        title="score",
        scale={"domain": ends, "nice": False, "zero": False},
        axis={"tickCount": 4, "grid": False},
    )
    hollow = scale(_KINDS, [inks.series[0], "transparent"])
    hill = {
        "x": x,
        "y": amount("y", title=None, axis=None, stack=None),
        "fill": word("c", title=None, scale=hollow),
        "stroke": word("c", title=None, scale=colours),
    }
    layers = [mark("area", hill, when="datum.k != 'at'", fillOpacity=0.4, strokeWidth=1.2)]
    if points:
        legend = {"columns": theme.columns([*points], beside=room([_AT], theme.size))}
        dash = word("c", title=_AT, scale=theme.dashes([*points]), legend=legend)
        layers.append(
            mark(
                "rule",
                {"x": x, "strokeDash": dash},
                when="datum.k == 'at'",
                strokeWidth=1.2,
                color=inks.ink,
            )
        )
    columns = across(len(panels), theme)
    hills = layered(layers, width=(theme.width - 20) // columns - 14, height=64)
    return Drawing(
        theme.of(
            {
                **facets(hills, "p", panels.values(), columns, 12),
                "data": inline(rows),
                "transform": [{"flatten": ["x", "y"]}],
            }
        ),
        _words(chosen),
    )


def _words(chosen: Chosen) -> Words:
    """Words for the figure."""
    n = len(kept(chosen, MOST))
    return Words(
        f"Where scores lie: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Two hills for each group: scores of the right speakers (filled, on the right) and of "
        "impostors (hollow, on the left). What lies left of a threshold is locked out, what lies "
        "right of it comes in. A group whose hills lie further left or right than others is served "
        "worse by a common threshold. Each hill has the same area." + left_out(chosen, MOST),
        f"Densities of scores of {n} groups and of all, with the audited thresholds.",
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
    seen = np.flatnonzero(smooth > _SEEN * smooth.max())
    drawn = slice(max(seen[0] - 1, 0), seen[-1] + 2)
    return [float(f"{x:.5g}") for x in middles[drawn]], [round(float(y), 4) for y in smooth[drawn]]
