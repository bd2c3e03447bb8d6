"""Who the audit is of: speakers and trials of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.chosen import Chosen, choose, cut, kept
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = ["speakers", "told"]

_COUNTS = {
    "speakers": "speakers",
    "target_trials": "own trials",
    "nontarget_trials": "impostor trials",
}
_MOST = 80
_ROW = 17


def speakers(
    audit: Audit,
    *,
    by: str | None = None,
    system: str | None = None,
    list: str | None = None,  # noqa: A002 - the audit's word
    allocation: str | None = None,
    theme: Theme = PAPER,
) -> Any:
    """Bars of speakers, target trials and nontarget trials of each group.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit does not have what is asked for.
    """
    chosen = choose(audit, by=by, system=system, list=list, allocation=allocation)
    alt = altair()
    sizes = _sizes(chosen)
    names = kept(chosen, _MOST)
    order = [chosen.marked(name) for name in names]
    panels = []
    width = (theme.width - 190) / len(_COUNTS)
    for place, (count, title) in enumerate(_COUNTS.items()):
        rows = [
            {
                "group": chosen.marked(name),
                "n": int(sizes[name][count] or 0),
                "few": name in chosen.gates,
                "told": "–" if sizes[name][count] is None else f"{sizes[name][count]:,}",
            }
            for name in names
        ]
        most = max((int(sizes[name][count] or 0) for name in names), default=1) or 1
        base = alt.Chart(inline(rows)).encode(
            y=alt.Y(
                "group:N",
                sort=order,
                title=None,
                axis=alt.Axis(labelLimit=150, labelColor=theme.inks.ink, ticks=False, domain=False)
                if place == 0
                else None,
            )
        )
        x = alt.X(
            "n:Q",
            title=None,
            axis=None,
            scale=alt.Scale(domain=[0, most * 1.45], nice=False),
        )
        bars = base.mark_bar(height={"band": 0.66}, strokeWidth=1.2).encode(
            x=x,
            color=alt.condition(
                "datum.few", alt.value(theme.inks.paper), alt.value(theme.inks.series[0])
            ),
            stroke=alt.value(theme.inks.series[0]),
        )
        figures = base.mark_text(align="left", dx=4, color=theme.inks.muted).encode(
            x=x, text="told:N"
        )
        panels.append(
            alt.layer(bars, figures).properties(
                width=width,
                height=_ROW * len(names),
                title=alt.Title(title, anchor="start", frame="group"),
            )
        )
    chart = alt.hconcat(*panels, spacing=10)
    return theme.of(chart, view={"stroke": None})


def told(chosen: Chosen) -> Told:
    """Words for the figure."""
    sizes = _sizes(chosen)
    order = sorted(sizes, key=lambda name: sizes[name]["speakers"] or 0)
    few, many = order[0], order[-1]
    parts = [
        f"{len(order)} groups by {cut(chosen.grouping)}",
        f"most speakers: {cut(many)} ({sizes[many]['speakers']:,})"
        if sizes[many]["speakers"] is not None
        else "speakers are not known",
        f"fewest: {cut(few)} ({sizes[few]['speakers']:,})"
        if sizes[few]["speakers"] is not None
        else "",
        f"too few for a firm statement: {len(chosen.gates)}" if chosen.gates else "",
    ]
    return Told(
        f"Who was tested, by {cut(chosen.grouping)}",
        "Longer bars mean more people and more trials. Hollow bars, marked *, are groups with "
        "too few speakers or errors for a firm statement.",
        "; ".join(part for part in parts if part) + ".",
    )


def _sizes(chosen: Chosen) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in chosen.audit.groups.where(**chosen.where).rows():
        if row["group"] != "pooled":
            found.setdefault(row["group"], row)
    if not found:
        msg = f"no group of {chosen.grouping} has trials; audit again with groups that have"
        raise ConfigError(msg)
    return found
