"""How scores lie: those of the right speakers and those of impostors, beside the thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.errors import ConfigError
from parivox.report.charts import curves
from parivox.report.charts.chosen import Chosen, Row, choose, cut, kept, left_out
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.auditing.result import Audit

    Rows = list[Row]

__all__ = ["distributions", "told"]

MOST = 23
"""Groups drawn at most."""
_KINDS = ("own trials", "impostor trials")
_PLACES = 35
_SEEN = 0.002
_ALL = "all groups"
_ACROSS = 4
_NARROW = 400


def distributions(
    audit: Audit,
    *,
    by: str | None = None,
    system: str | None = None,
    list: str | None = None,  # noqa: A002 - the audit's word
    allocation: str | None = None,
    theme: Theme = PAPER,
) -> Any:
    """Densities of target and nontarget scores of each group, with the audited thresholds.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit has no scores.
    """
    chosen = choose(audit, by=by, system=system, list=list, allocation=allocation)
    alt = altair()
    inks = theme.inks
    found = curves.of(audit, chosen.system, chosen.list, chosen.grouping, chosen.allocation)
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
                x, y = _density(places, found.thresholds, counts / n)
                rows.append({"p": panel, "c": kind, "x": x, "y": y})
    points = {
        cut(row["operating_point"]): row["threshold"]
        for row in audit.operating_points.where(
            system=chosen.system, list=chosen.list, within=""
        ).rows()
        if row["threshold"] is not None and np.isfinite(row["threshold"])
    }
    rows += [
        {"p": panel, "c": name, "k": "at", "x": [threshold], "y": [0]}
        for panel in panels.values()
        for name, threshold in points.items()
    ]
    colours = alt.Scale(domain=[*_KINDS], range=[inks.series[0], inks.series[1]])
    dashes = theme.dashes([*points])
    x = alt.X(
        "x:Q",
        title="score",
        scale=alt.Scale(domain=[float(finite[0]), float(finite[-1])], nice=False, zero=False),
        axis=alt.Axis(tickCount=4, grid=False),
    )
    y = alt.Y("y:Q", title=None, axis=None, stack=None)
    base = alt.Chart()
    curve = base.transform_filter("datum.k != 'at'")
    layers = [
        curve.mark_area(fillOpacity=0.3, strokeWidth=1).encode(
            x=x,
            y=y,
            fill=alt.Fill("c:N", title=None, scale=colours),
            stroke=alt.Stroke("c:N", title=None, scale=colours),
        ),
    ]
    if points:
        layers.append(
            base.transform_filter("datum.k == 'at'")
            .mark_rule(strokeWidth=1.2, color=inks.ink)
            .encode(
                x=x,
                strokeDash=alt.StrokeDash("c:N", title="threshold at", scale=alt.Scale(**dashes)),
            )
        )
    columns = min(len(panels), _ACROSS if theme.width > _NARROW else 2)
    width = (theme.width - 20) / columns - 14
    chart = (
        alt.layer(*layers)
        .properties(width=width, height=64)
        .facet(
            alt.Facet("p:N", title=None, sort=[*panels.values()]),
            columns=columns,
            data=inline(rows),
            spacing=12,
        )
        .transform_flatten(["x", "y"])
    )
    return theme.of(chart)


def told(chosen: Chosen) -> Told:
    """Words for the figure."""
    n = len(kept(chosen, MOST))
    return Told(
        f"Where scores lie: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Two hills for each group: scores of the right speakers (right hill) and of impostors "
        "(left hill). What lies left of a threshold is locked out, what lies right of it comes "
        "in. A group whose hills lie further left or right than others is served worse by a "
        "common threshold. Each hill has the same area." + left_out(chosen, MOST),
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
