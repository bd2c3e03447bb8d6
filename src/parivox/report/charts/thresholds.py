"""Each group's own best threshold against the common one, and what the common one costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chosen import Chosen, Row, choose, cut, kept, left_out
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline
from parivox.report.words import short, span

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = ["thresholds", "told"]

MOST = 60
"""Groups drawn at most."""
_ROW = 17
_KINDS = {"threshold_bias": "on the same people", "threshold_bias_cv": "on other people"}


def thresholds(
    audit: Audit,
    *,
    by: str | None = None,
    system: str | None = None,
    list: str | None = None,  # noqa: A002 - the audit's word
    allocation: str | None = None,
    theme: Theme = PAPER,
) -> Any:
    """Own thresholds of smallest cost, and threshold bias (paper 001, eq. 3).

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit has no smallest costs.
    """
    chosen = choose(audit, by=by, system=system, list=list, allocation=allocation)
    alt = altair()
    inks = theme.inks
    rows, common = _rows(chosen)
    names = [chosen.marked(row["g"]) for row in rows]
    for row, name in zip(rows, names, strict=True):
        row["group"] = name
    width = (theme.width - 250) / 2
    base = alt.Chart(inline(rows))
    label = alt.Axis(labelLimit=140, labelColor=inks.ink, ticks=False, domain=False)
    y = alt.Y("group:N", sort=names, title=None, axis=label)
    bare = alt.Y("group:N", sort=names, title=None, axis=None)
    places = [row["t"] for row in rows] + [common]
    pad = (max(places) - min(places)) * 0.08 or abs(common) * 0.1 or 0.1
    scale = alt.Scale(domain=[min(places) - pad, max(places) + pad], nice=False, zero=False)
    x = alt.X("t:Q", title="score", scale=scale, axis=alt.Axis(tickCount=4))
    point = {"size": 46, "filled": True, "opacity": 1}
    left = alt.layer(
        alt.Chart(inline([{"c": common}]))
        .mark_rule(color=inks.ink, strokeDash=[4, 3])
        .encode(x=alt.X("c:Q", scale=scale)),
        base.mark_rule(color=inks.muted).encode(y=y, x=x, x2=alt.datum(common)),
        base.mark_point(color=inks.series[0], shape="diamond", **point).encode(y=y, x=x),
    ).properties(width=width, height=_ROW * len(rows), title=_title("own best threshold"))
    costs = [row[name] for row in rows for name in ("v", "l", "h", "cv") if name in row]
    low, high = log_domain([*costs, 1.0])
    low, high = max(low, 0.2), max(min(high, 20), 1.5)
    cost = as_logs("times", low, high, percent=False)
    places_of = {"domain": [*_KINDS.values()], "range": ["circle", "diamond"]}
    inked = {"domain": [*_KINDS.values()], "range": [inks.ink, inks.series[1]]}
    right_layers = [
        alt.Chart(inline([{"c": 1}]))
        .mark_rule(color=inks.ink, strokeDash=[4, 3])
        .encode(x=alt.X("c:Q", **cost)),
        base.transform_filter("isValid(datum.h)")
        .mark_rule(color=inks.ink, strokeWidth=1.2)
        .encode(y=bare, x=alt.X("l:Q", **cost), x2="h:Q"),
    ]
    for name, kind in (("v", "threshold_bias"), ("cv", "threshold_bias_cv")):
        right_layers.append(
            base.transform_filter(f"isValid(datum.{name})")
            .transform_calculate(kind=f"'{_KINDS[kind]}'")
            .mark_point(**point)
            .encode(
                y=bare,
                x=alt.X(f"{name}:Q", **cost),
                shape=alt.Shape(
                    "kind:N", title="own threshold found", scale=alt.Scale(**places_of)
                ),
                color=alt.Color("kind:N", title="own threshold found", scale=alt.Scale(**inked)),
            )
        )
    right_layers.append(
        base.mark_text(align="left", color=inks.muted, fontSize=theme.size - 1.5).encode(
            y=bare, x=alt.value(width + 6), text="s:N"
        )
    )
    right = alt.layer(*right_layers).properties(
        width=width, height=_ROW * len(rows), title=_title("cost at the common one over own")
    )
    return theme.of(alt.hconcat(left, right, spacing=12), view={"stroke": None})


def told(chosen: Chosen) -> Told:
    """Words for the figure."""
    rows, common = _rows(chosen)
    most = [row for row in rows if "v" in row][:3]
    parts = [f"common threshold {common:.4g}"] + [
        f"{cut(row['g'])}: own threshold {row['t']:.4g}, cost {short(row['v'])} times {row['s']}"
        for row in most
    ]
    return Told(
        f"One threshold for all, or each its own: {cut(chosen.label)} by {cut(chosen.grouping)}",
        "Left: the score at which each group would cost least; the dashed line is the common "
        "threshold. Right: how many times its smallest cost a group has at the common one, with "
        "interval; 1 means that the common threshold costs it nothing. Dots are at least 1 by "
        "construction, and further right for small groups; diamonds, with the own threshold found "
        "on other people of the group, are free of that." + left_out(chosen, MOST),
        "; ".join(parts) + ".",
    )


def _title(text: str) -> Any:
    return altair().Title(text, anchor="start", frame="group")


def _rows(chosen: Chosen) -> tuple[list[Row], float]:
    """Groups with their own thresholds, the highest cost of the common one first."""
    model = chosen.audit.record["options"]["cost"][0]
    own = chosen.metric("min_cdet_norm", model)
    asked = {"system": chosen.system, "list": chosen.list, "grouping": "all", "within": ""}
    whole = chosen.audit.groups.where(**asked, metric="min_cdet_norm", definition=model).rows()
    common = whole[0]["threshold"] if whole else None
    bias: dict[str, dict[str, Row]] = {}
    for measure in _KINDS:
        for found in chosen.audit.bias.where(
            **chosen.where, measure=measure, definition=model
        ).rows():
            bias.setdefault(found["group"], {})[measure] = found
    rows: list[Row] = []
    for name in kept(chosen, MOST):
        if own.get(name, {}).get("threshold") is None:
            continue
        row: Row = {"g": name, "t": float(f"{own[name]['threshold']:.5g}"), "s": "–"}
        of = bias.get(name, {})
        main, other = (of.get(measure, {}) for measure in _KINDS)
        if main.get("value") is not None:
            row |= {"v": main["value"], "s": f"{short(main['value'])} "}
            row["s"] += span(main["low"], main["high"])
            if main["high"] is not None:
                row |= {"l": main["low"], "h": main["high"]}
        if other.get("value") is not None:
            row["cv"] = other["value"]
        rows.append(row)
    if common is None or not rows:
        msg = f"no group of {chosen.grouping} has a smallest cost at a threshold: nothing to draw"
        raise ConfigError(msg)
    rows.sort(key=lambda row: -row.get("v", 0))
    return rows, float(common)
