"""Whose recordings fail before anything is compared: failures to enrol and to acquire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.chosen import Chosen, Row, choose, cut, kept, left_out
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = ["failures", "told"]

MOST = 60
"""Groups drawn at most."""
_ROW = 17
_KINDS = {"fte": "cannot enrol (FTE)", "fta": "cannot be recorded (FTA)"}


def failures(
    audit: Audit,
    *,
    by: str | None = None,
    system: str | None = None,
    list: str | None = None,  # noqa: A002 - the audit's word
    allocation: str | None = None,
    theme: Theme = PAPER,
) -> Any:
    """FTE and FTA of every group with intervals.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit was made without failures.
    """
    chosen = choose(audit, by=by, system=system, list=list, allocation=allocation)
    alt = altair()
    inks = theme.inks
    found = _found(chosen)
    names = [chosen.marked(name) for name in kept(chosen, MOST)]
    width = (theme.width - 150) / len(found) - 100
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        most = max(float(row["h"] if "h" in row else row["v"]) for row in rows) or 0.01
        scale = alt.Scale(domain=[0, most * 1.05], nice=False)
        axis = alt.Axis(tickCount=4, labelExpr="format(100 * datum.value, '~r')")
        label = alt.Axis(labelLimit=140, labelColor=inks.ink, ticks=False, domain=False)
        base = alt.Chart(inline(rows)).encode(
            y=alt.Y(
                "group:N",
                scale=alt.Scale(domain=names),
                title=None,
                axis=label if place == 0 else None,
            )
        )
        panels.append(
            alt.layer(
                base.transform_filter("isValid(datum.h)")
                .mark_rule(color=inks.ink, strokeWidth=1.3)
                .encode(x=alt.X("l:Q", scale=scale), x2="h:Q"),
                base.mark_point(size=44, filled=True, opacity=1, color=inks.series[0]).encode(
                    x=alt.X("v:Q", title="%", scale=scale, axis=axis)
                ),
                base.mark_text(align="left", color=inks.muted, fontSize=theme.size - 1.5).encode(
                    x=alt.value(width + 6), text="n:N"
                ),
            ).properties(
                width=width,
                height=_ROW * len(names),
                title=alt.Title(_KINDS[metric], anchor="start", frame="group"),
            )
        )
    return theme.of(alt.hconcat(*panels, spacing=12), view={"stroke": None})


def told(chosen: Chosen) -> Told:
    """Words for the figure."""
    parts = []
    for metric, rows in _found(chosen).items():
        worst = max(rows, key=lambda row: row["v"])
        parts.append(f"{_KINDS[metric]}, highest: {cut(worst['group'])} {worst['s']}")
    return Told(
        f"Whose recordings fail: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "A dot is the share of a group's recordings that could not be used at all, its line the "
        "interval; beside it failures and attempts. Further right is worse."
        + left_out(chosen, MOST),
        "; ".join(parts) + ".",
    )


def _found(chosen: Chosen) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for metric in _KINDS:
        by = chosen.metric(metric)
        for name in kept(chosen, MOST):
            row = by.get(name)
            if row is None or row["value"] is None:
                continue
            made: Row = {"group": chosen.marked(name), "v": row["value"]}
            made["n"] = f"{row['errors'] or 0:,} / {row['trials'] or 0:,}"
            made["s"] = f"{percent(row['value'])} {span(row['low'], row['high'], times=100)}"
            if row["low"] is not None and row["high"] is not None:
                made |= {"l": row["low"], "h": row["high"]}
            found.setdefault(metric, []).append(made)
    if not found:
        msg = "the audit knows of no failures; audit again with --failures"
        raise ConfigError(msg)
    return found
