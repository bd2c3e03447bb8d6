"""Whether groups fare alike within each level of --within, as channel or language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chosen import RATES, Chosen, Row, choose, cut, kept, left_out
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = ["levels", "told"]

MOST = 30
"""Groups drawn at most."""
_ROW = 12
_ALL = "all groups"
_LEVELS = 6


def levels(
    audit: Audit,
    *,
    by: str | None = None,
    system: str | None = None,
    list: str | None = None,  # noqa: A002 - the audit's word
    allocation: str | None = None,
    operating_point: str | None = None,
    theme: Theme = PAPER,
) -> Any:
    """FNR and FPR of every group within each level, side by side.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit was made without --within.
    """
    chosen = choose(
        audit,
        by=by,
        system=system,
        list=list,
        allocation=allocation,
        operating_point=operating_point,
    )
    alt = altair()
    inks = theme.inks
    found = _found(chosen)
    drawn = [*dict.fromkeys(row["c"] for rows in found.values() for row in rows)]
    groups = [name for name in (*kept(chosen, MOST), "pooled")]
    names = [_ALL if name == "pooled" else chosen.marked(name) for name in groups]
    width = (theme.width - 160) / len(found) - 12
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        low, high = log_domain(
            [row[n] for row in rows for n in ("v", "l", "h") if n in row], most=1
        )
        low = max(low, min(row["v"] for row in rows) / 10)
        for row in rows:
            if "l" in row:
                row["l"], row["h"] = max(row["l"], low), min(row["h"], high)
        axis = as_logs("%", low, high, labelOverlap=True)
        label = alt.Axis(labelLimit=140, labelColor=inks.ink, ticks=False, domain=False)
        y = alt.Y(
            "group:N",
            scale=alt.Scale(domain=names),
            title=None,
            axis=label if place == 0 else None,
        )
        scales = {
            "color": alt.Color("c:N", title=None, scale=alt.Scale(**theme.colours(drawn))),
            "shape": alt.Shape("c:N", title=None, scale=alt.Scale(**theme.shapes(drawn))),
        }
        offset = alt.YOffset("c:N", scale=alt.Scale(domain=drawn))
        base = alt.Chart(inline(rows)).encode(y=y, yOffset=offset)
        panels.append(
            alt.layer(
                base.transform_filter("isValid(datum.h)")
                .mark_rule(strokeWidth=1.2)
                .encode(x=alt.X("l:Q", **axis), x2="h:Q", color=scales["color"]),
                base.mark_point(size=34, filled=True, opacity=1).encode(
                    x=alt.X("v:Q", **axis), **scales
                ),
            ).properties(
                width=width,
                height=_ROW * len(names) * max(len(drawn), 1.5),
                title=alt.Title(RATES[metric], anchor="start", frame="group"),
            )
        )
    return theme.of(alt.hconcat(*panels, spacing=12), view={"stroke": None})


def told(chosen: Chosen) -> Told:
    """Words for the figure."""
    parts = [
        f"{RATES[metric]} of all, {row['c']}: {row['s']}"
        for metric, rows in _found(chosen).items()
        for row in rows
        if row["group"] == _ALL
    ]
    return Told(
        f"Level by level: {cut(chosen.label)} at {cut(chosen.point)}, by {cut(chosen.grouping)}",
        "Each group has a mark for every level, with interval, at the same threshold; further "
        "right is worse. Groups that differ in the same way at every level do not differ because "
        "of it. Groups without errors at a level have no mark there." + left_out(chosen, MOST),
        "; ".join(parts) + ".",
    )


def _found(chosen: Chosen) -> dict[str, list[Row]]:
    """Rates above 0 within each level, by metric."""
    found: dict[str, list[Row]] = {}
    groups = {*kept(chosen, MOST), "pooled"}
    asked = {name: value for name, value in chosen.at.items() if name != "within"}
    for metric in RATES:
        rows = chosen.audit.groups.where(**asked, metric=metric, definition="").rows()
        told = [row for row in rows if row["within"] and row["value"] and row["group"] in groups]
        first = [*dict.fromkeys(row["within"] for row in told)][:_LEVELS]
        for row in told:
            if row["within"] not in first:
                continue
            name = _ALL if row["group"] == "pooled" else chosen.marked(row["group"])
            made: Row = {"group": name, "c": cut(row["within"], 30), "v": row["value"]}
            made["s"] = f"{percent(row['value'])} {span(row['low'], row['high'], times=100)}"
            if row["low"] is not None and row["high"] is not None:
                made |= {"l": row["low"], "h": row["high"]}
            found.setdefault(metric, []).append(made)
    if not found:
        msg = "the audit has no levels; audit again with --within, as in --within channel"
        raise ConfigError(msg)
    return found
