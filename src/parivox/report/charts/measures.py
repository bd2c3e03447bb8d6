"""Measures of spread side by side, each against what fair systems would show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from parivox.core.meta import MEASURES
from parivox.errors import ConfigError
from parivox.report.charts.chosen import Chosen, Row, choose, cut, named, subjects
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline
from parivox.report.words import chance, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.auditing.result import Audit

__all__ = ["LABELS", "measures", "told"]

LABELS = {
    "fdr": "FDR",
    "ir": "IR",
    "garbe": "GARBE",
    "eo_diff": "EO difference",
    "eo_ratio": "EO ratio",
    "tau_log": "tau_log",
    "gini": "Gini",
    "max_min": "max / min",
    "nrb": "NRB",
    "cv": "CV",
    "sd": "SD",
}
"""Measures that are drawn, with their names."""
_METRICS = {"fpr+fnr": "both", "fnr": "FNR", "fpr": "FPR"}
_ROW = 17
_MOST_TIMES = 4.0


def measures(
    audit: Audit,
    *,
    by: str | None = None,
    operating_point: str | None = None,
    allocation: str | None = None,
    theme: Theme = PAPER,
) -> Any:
    """Meta-measures of every system, in units of their noise floors.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit has no floors.
    """
    chosen = choose(audit, by=by, operating_point=operating_point, allocation=allocation)
    alt = altair()
    inks = theme.inks
    found = _found(chosen)
    order = [*dict.fromkeys(name for rows in found.values() for name in rows)]
    most = max((row["x"] for rows in found.values() for row in rows.values()), default=1)
    high = min(max(most * 1.08, 1.5), _MOST_TIMES)
    width = (theme.width - 120) / len(found) - 10
    room = 84 if len(found) < 3 else 46
    panels = []
    for place, (label, rows) in enumerate(found.items()):
        cells = [{**row, "x": min(row["x"], high), "name": name} for name, row in rows.items()]
        for cell in cells:
            cell["told"] = cell["v"] if len(found) > 2 else f"{cell['v']}, p {cell['p']}"
        base = alt.Chart(inline(cells))
        y = alt.Y(
            "name:N",
            sort=order,
            scale=alt.Scale(domain=order),
            title=None,
            axis=alt.Axis(labelLimit=120, labelColor=inks.ink, ticks=False, domain=False)
            if place == 0
            else None,
        )
        scale = alt.Scale(domain=[0, high], nice=False)
        x = alt.X("x:Q", title="times the floor", scale=scale, axis=alt.Axis(tickCount=4))
        tooltip = [
            alt.Tooltip("name:N", title="measure"),
            alt.Tooltip("v:N", title="value"),
            alt.Tooltip("f:N", title="floor (mean, 95 %)"),
            alt.Tooltip("p:N", title="p"),
            alt.Tooltip("d:N", title="fairer"),
        ]
        layers = [
            alt.Chart(inline([{"a": 0, "b": min(1, high)}]))
            .mark_rect(color=inks.band)
            .encode(x=alt.X("a:Q", scale=scale), x2="b:Q"),
            base.mark_tick(color=inks.muted, thickness=2, height=_ROW * 0.6).encode(
                y=y, x=alt.X("m:Q", scale=scale)
            ),
            base.mark_rule(strokeWidth=1, color=inks.muted).encode(
                y=y, x=alt.X("m:Q", scale=scale), x2="x:Q"
            ),
            base.mark_point(filled=True, size=46, opacity=1).encode(
                y=y,
                x=x,
                tooltip=tooltip,
                shape=alt.Shape(
                    "is:N",
                    title=None,
                    scale=alt.Scale(domain=[*_STATES], range=["triangle-right", "circle"]),
                ),
                color=alt.Color(
                    "is:N",
                    title=None,
                    scale=alt.Scale(domain=[*_STATES], range=[inks.series[1], inks.ink]),
                ),
            ),
            base.mark_text(align="left", color=inks.muted, fontSize=theme.size - 1.5).encode(
                y=y, x=alt.value(width - room + 6), text="told:N"
            ),
        ]
        panels.append(
            alt.layer(*layers).properties(
                width=width - room,
                height=_ROW * len(order),
                title=alt.Title(label, anchor="start", frame="group"),
            )
        )
    return theme.of(alt.hconcat(*panels, spacing=10), view={"stroke": None})


_STATES = ("above the floor", "not above it")


def told(chosen: Chosen) -> Told:
    """Words for the figure."""
    parts = []
    groups: list[int] = []
    for label, rows in _found(chosen).items():
        above = [name for name, row in rows.items() if row["is"] == _STATES[0]]
        parts.append(f"{label}: above the floor {', '.join(above) or 'none'} (of {len(rows)})")
        groups += [row["n"] for row in rows.values()]
    few = f"{min(groups)} to {max(groups)}" if min(groups) < max(groups) else str(groups[0])
    return Told(
        f"How unequal, by every measure: {cut(chosen.grouping)} at {cut(chosen.point)}",
        "Each measure's distance from fair, in units of its noise floor: the grey area is what 95 "
        "of 100 fair systems stay within on these very speakers, the tick what they show on "
        "average. Only what lies to the right of the grey says that groups differ; beside it stand "
        "the value and its p. FDR, EO ratio: higher is fairer; all others: lower is fairer. "
        f"Of the {few} groups that pass the gates.",
        "; ".join(parts) + ".",
    )


def _found(chosen: Chosen) -> dict[str, dict[str, Row]]:
    """By system and list, every measure that has a value and a floor."""
    found: dict[str, dict[str, Row]] = {}
    alpha = chosen.audit.record["options"]["alpha"][0]
    for system, listed in subjects(chosen.audit):
        asked = {**chosen.at, "system": system, "list": listed, "zero": "none", "gated": True}
        rows = chosen.audit.meta.where(**asked).rows()
        kept = {
            f"{LABELS[measure]}, {words}": drawn
            for metric, words in _METRICS.items()
            for measure in LABELS
            for row in rows
            if row["metric"] == metric
            and row["measure"] == measure
            and row["alpha"] in {None, alpha}
            and (drawn := _row(row))
        }
        if kept:
            found[cut(named(system, listed), 24)] = kept
    if not found:
        msg = (
            f"no measure of {chosen.grouping} has a noise floor at {chosen.point}: it takes "
            "intervals and two groups that pass the gates"
        )
        raise ConfigError(msg)
    return found


def _row(row: Mapping[str, Any]) -> Row:
    """A measure in units of its floor; empty without either."""
    numbers = [row[name] for name in ("value", "floor_95", "floor_mean")]
    if any(number is None or not math.isfinite(number) for number in numbers):
        return {}
    value, floor, mean = (_from_fair(row["measure"], number) for number in numbers)
    if not floor or not math.isfinite(value):
        return {}
    return {
        "x": round(value / floor, 4),
        "m": round(mean / floor, 4),
        "is": _STATES[value <= floor],
        "v": _short(row["value"]),
        "f": f"{_short(row['floor_mean'])}, {_short(row['floor_95'])}",
        "p": chance(row["p"]),
        "d": "higher" if row["higher_is_fairer"] else "lower",
        "n": row["groups"],
    }


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else short(value)


def _from_fair(measure: str, value: float) -> float:
    """How far a value is from that of a fair system."""
    scale = MEASURES[measure].scale if measure in MEASURES else "zero"
    if scale == "ratio":
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(1 - value) if scale == "one" else abs(value)
