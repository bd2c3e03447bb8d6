"""Two systems or lists: bias of one against the other, accuracy against spread, and how sure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.charts.axes import as_logs, log_domain
from parivox.report.charts.chosen import RATES, Chosen, Row, choose, cut, kept, named, subjects
from parivox.report.charts.figure import Told
from parivox.report.charts.theme import PAPER, Theme, altair, inline
from parivox.report.words import percent, short, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing.result import Audit

    Pair = tuple[tuple[str, str], tuple[str, str]]

__all__ = [
    "accuracy",
    "against",
    "differences",
    "ranks",
    "told_accuracy",
    "told_against",
    "told_differences",
    "told_ranks",
]

MOST = 40
"""Groups drawn at most."""
_APART = 1.0
"""So far in logarithms a name reaches; a quarter of it upwards."""
_ROW = 17
_RANKS = {
    "p_more_accurate": "errs less",
    "p_less_spread": "groups differ less",
    "p_both": "both",
}
_RANKED = ("eer", "min_cdet_norm", "fnr", "fpr")
_CALLED = {"eer": "EER", "min_cdet_norm": "min cost", "fnr": "FNR", "fpr": "FPR"}


def against(
    audit: Audit,
    *,
    by: str | None = None,
    operating_point: str | None = None,
    allocation: str | None = None,
    pair: Pair | None = None,
    theme: Theme = PAPER,
) -> Any:
    """Each group's ratio to the reference in one system against that in another (001, Fig. 5).

    Parameters
    ----------
    audit
        What to draw.
    by, operating_point, allocation
        Of it; the first that it has where not told.
    pair
        Two of its systems and lists, as ``(("V2", ""), ("L", ""))``; the first two if not told.
    theme
        How it looks.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit has one system and list only, or no ratios.
    """
    chosen = choose(audit, by=by, operating_point=operating_point, allocation=allocation)
    alt = altair()
    inks = theme.inks
    one, other = _pair(chosen, pair)
    found = _ratios(chosen, (one, other))
    values = [row[axis] for rows in found.values() for row in rows for axis in "xy"]
    low, high = log_domain([*(value / 1.7 for value in values), *(1.7 * v for v in values)])
    low, high = max(low, 0.05), min(high, 20)
    for rows in found.values():
        for row in rows:
            for name in ("x", "y", "xl", "xh", "yl", "yh"):
                if name in row:
                    row[name] = min(max(row[name], low), high)
    panels = []
    side = min((theme.width - 90) / 2, 300)
    words = f"times {_reference(chosen)}"
    for metric, rows in found.items():
        x = as_logs(f"{cut(named(*one), 20)}: {words}", low, high, percent=False, labelOverlap=True)
        y = as_logs(
            f"{cut(named(*other), 20)}: {words}", low, high, percent=False, labelOverlap=True
        )
        base = alt.Chart(inline(rows))
        cross = {"color": inks.muted, "strokeWidth": 1}
        faint = alt.condition("datum.few", alt.value(0.35), alt.value(0.9))
        lines = [{"a": low, "b": high, "c": 1}]
        extent = alt.Chart(inline(lines))
        thin = {"color": inks.muted, "strokeWidth": 0.8}
        tooltip = [alt.Tooltip("group:N"), alt.Tooltip("s:N", title="ratios")]
        panels.append(
            alt.layer(
                extent.mark_rule(color=inks.ink, strokeDash=[4, 3]).encode(
                    x=alt.X("a:Q", **x), x2="b:Q", y=alt.Y("a:Q", **y), y2="b:Q"
                ),
                extent.mark_rule(**thin).encode(x=alt.X("c:Q", **x)),
                extent.mark_rule(**thin).encode(y=alt.Y("c:Q", **y)),
                base.mark_rule(**cross).encode(
                    x=alt.X("xl:Q", **x), x2="xh:Q", y=alt.Y("y:Q", **y), opacity=faint
                ),
                base.mark_rule(**cross).encode(
                    x=alt.X("x:Q", **x), y=alt.Y("yl:Q", **y), y2="yh:Q", opacity=faint
                ),
                base.transform_filter("!datum.few")
                .mark_point(size=44, filled=True, opacity=1, color=inks.series[0])
                .encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), tooltip=tooltip),
                base.transform_filter("datum.few")
                .mark_point(size=36, filled=False, opacity=1, fill=inks.paper, color=inks.series[0])
                .encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), tooltip=tooltip),
                base.transform_filter("datum.near")
                .mark_text(align="left", dx=6, dy=-5, fontSize=theme.size - 1.5)
                .encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), text="group:N"),
            ).properties(
                width=side,
                height=side,
                title=alt.Title(RATES[metric], anchor="start", frame="group"),
            )
        )
    return theme.of(alt.hconcat(*panels, spacing=16))


def told_against(chosen: Chosen, pair: Pair | None = None) -> Told:
    """Words for the figure of ratios."""
    one, other = _pair(chosen, pair)
    parts = []
    for metric, rows in _ratios(chosen, (one, other)).items():
        far = sorted(rows, key=lambda row: -abs(math.log(row["x"] / row["y"])))[:2]
        parts.append(
            f"{RATES[metric]}, furthest apart: "
            + "; ".join(f"{row['group']} {row['s']}" for row in far)
        )
    a, b = cut(named(*one)), cut(named(*other))
    return Told(
        f"Bias of {a} against {b}: {cut(chosen.grouping)} at {cut(chosen.point)}",
        f"A dot is a group: how many times the rate of {_reference(chosen)} it has in {a} (to the "
        f"right) and in {b} (upwards), with both intervals. On the dashed diagonal both systems "
        "treat it alike; upper right: worse off in both; upper left or lower right: only one of "
        "them disfavours it. Hollow dots, marked *, rest on too few people or errors."
        + (
            f" Of {len(chosen.groups)} groups, the {MOST} with the most speakers are drawn."
            if len(chosen.groups) > MOST
            else ""
        ),
        ". ".join(parts) + ".",
    )


def accuracy(
    audit: Audit,
    *,
    by: str | None = None,
    operating_point: str | None = None,
    allocation: str | None = None,
    theme: Theme = PAPER,
) -> Any:
    """Rate of all against the spread between groups, of every system and list.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If no system has a spread.
    """
    chosen = choose(audit, by=by, operating_point=operating_point, allocation=allocation)
    alt = altair()
    inks = theme.inks
    found = _spreads(chosen)
    names = [*dict.fromkeys(row["c"] for rows in found.values() for row in rows)]
    side = (theme.width - 110) / 2
    most = max(
        float(row["yh"] if "yh" in row else row["y"]) for rows in found.values() for row in rows
    )
    scale = alt.Scale(domain=[0, most * 1.08 or 1], nice=False)
    y = {"scale": scale, "title": "spread (tau_log)"}
    panels = []
    for metric, rows in found.items():
        low, high = log_domain(
            [row[n] for row in rows for n in ("x", "xl", "xh") if n in row], most=1
        )
        x = as_logs(f"{metric.upper()} of all (%)", low, high, labelOverlap=True)
        base = alt.Chart(inline(rows))
        scales = {
            "color": alt.Color("c:N", title=None, scale=alt.Scale(**theme.colours(names))),
            "shape": alt.Shape("c:N", title=None, scale=alt.Scale(**theme.shapes(names))),
        }
        panels.append(
            alt.layer(
                base.mark_rule(strokeWidth=1.2).encode(
                    x=alt.X("xl:Q", **x), x2="xh:Q", y=alt.Y("y:Q", **y), color=scales["color"]
                ),
                base.mark_rule(strokeWidth=1.2).encode(
                    x=alt.X("x:Q", **x), y=alt.Y("yl:Q", **y), y2="yh:Q", color=scales["color"]
                ),
                base.mark_tick(thickness=2, width=16, orient="horizontal").encode(
                    x=alt.X("x:Q", **x), y=alt.Y("f:Q", **y), color=alt.value(inks.muted)
                ),
                base.mark_point(size=70, filled=True, opacity=1).encode(
                    x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), **scales
                ),
            ).properties(
                width=side,
                height=170,
                title=alt.Title(RATES[metric], anchor="start", frame="group"),
            )
        )
    return theme.of(alt.hconcat(*panels, spacing=16))


def told_accuracy(chosen: Chosen) -> Told:
    """Words for the figure of accuracy and spread."""
    parts = [
        f"{row['c']}: {metric.upper()} of all {percent(row['x'])}, spread {short(row['y'])} "
        f"{span(row.get('yl'), row.get('yh'))}, of {row['n']} groups"
        for metric, rows in _spreads(chosen).items()
        for row in rows
    ]
    return Told(
        f"Accurate and even? {cut(chosen.grouping)} at {cut(chosen.point)}",
        "To the left a system errs less, further down its groups differ less: the lower left is "
        "best on both. Bars are intervals; the grey tick is what 95 of 100 fair systems stay "
        "below. The spread is that of the logarithm of rates beyond what speakers make of it "
        "(0.69 is as if groups differed twofold), of the groups that pass the gates. A rate that "
        "the operating point holds is the same in all systems.",
        "; ".join(parts) + ".",
    )


def differences(
    audit: Audit,
    *,
    by: str | None = None,
    operating_point: str | None = None,
    allocation: str | None = None,
    pair: Pair | None = None,
    theme: Theme = PAPER,
) -> Any:
    """Paired comparison of two systems group by group: one's rate over the other's.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit compares nothing.
    """
    chosen = choose(audit, by=by, operating_point=operating_point, allocation=allocation)
    alt = altair()
    inks = theme.inks
    one, other = _pair(chosen, pair)
    found = _differences(chosen, one, other)
    names = [*dict.fromkeys(row["group"] for rows in found.values() for row in rows)]
    values = [
        row[n] for rows in found.values() for row in rows for n in ("v", "l", "h") if n in row
    ]
    low, high = log_domain([*values, 1.0])
    low, high = max(low, 0.02), min(high, 50)
    width = (theme.width - 160) / len(found) - 12
    panels = []
    for place, (metric, rows) in enumerate(found.items()):
        for row in rows:
            for name in ("v", "l", "h"):
                if name in row:
                    row[name] = min(max(row[name], low), high)
        axis = as_logs("times", low, high, percent=False, labelOverlap=True)
        label = alt.Axis(labelLimit=140, labelColor=inks.ink, ticks=False, domain=False)
        y = alt.Y(
            "group:N",
            scale=alt.Scale(domain=names),
            title=None,
            axis=label if place == 0 else None,
        )
        base = alt.Chart(inline(rows))
        states = [_better(one), "no sure difference", _better(other)]
        scales = {
            "color": alt.Color(
                "is:N",
                title=None,
                scale=alt.Scale(domain=states, range=[inks.series[0], inks.muted, inks.series[1]]),
            ),
            "shape": alt.Shape(
                "is:N",
                title=None,
                scale=alt.Scale(domain=states, range=["triangle-left", "circle", "triangle-right"]),
            ),
        }
        panels.append(
            alt.layer(
                alt.Chart(inline([{"c": 1}]))
                .mark_rule(color=inks.ink, strokeDash=[4, 3])
                .encode(x=alt.X("c:Q", **axis)),
                base.transform_filter("isValid(datum.h)")
                .mark_rule(strokeWidth=1.3)
                .encode(y=y, x=alt.X("l:Q", **axis), x2="h:Q", color=scales["color"]),
                base.transform_filter("isValid(datum.h)")
                .mark_point(size=46, filled=True, opacity=1)
                .encode(y=y, x=alt.X("v:Q", **axis), **scales),
                base.transform_filter("!isValid(datum.h)")
                .mark_point(size=30, filled=False, fill=inks.paper, color=inks.muted, opacity=1)
                .encode(y=y, x=alt.X("v:Q", **axis)),
            ).properties(
                width=width,
                height=_ROW * len(names),
                title=alt.Title(RATES[metric], anchor="start", frame="group"),
            )
        )
    return theme.of(alt.hconcat(*panels, spacing=12), view={"stroke": None})


def told_differences(chosen: Chosen, pair: Pair | None = None) -> Told:
    """Words for the figure of paired differences."""
    one, other = _pair(chosen, pair)
    a, b = cut(named(*one)), cut(named(*other))
    parts = []
    for metric, rows in _differences(chosen, one, other).items():
        counts = [
            f"{sum(row['is'] == _better(of) for row in rows)} groups err less in {cut(named(*of))}"
            for of in (one, other)
        ]
        parts.append(f"{RATES[metric]}: {', '.join(counts)}, of {len(rows)}")
    return Told(
        f"{a} over {b}, group by group: {cut(chosen.grouping)} at {cut(chosen.point)}",
        f"How many times the rate in {b} a group's rate in {a} is, compared on what both share, "
        f"with interval. Left of the dashed line the group fares better in {a}, right of it in "
        f"{b}; triangles are sure by themselves, without correction for the number of groups; "
        "a hollow dot has no interval, so nothing follows from it.",
        "; ".join(parts) + ".",
    )


def ranks(
    audit: Audit,
    *,
    by: str | None = None,
    operating_point: str | None = None,
    allocation: str | None = None,
    pair: Pair | None = None,
    theme: Theme = PAPER,
) -> Any:
    """How often one system comes out better than another when speakers are drawn anew.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ConfigError
        If the audit was made without replicates or compares nothing.
    """
    chosen = choose(audit, by=by, operating_point=operating_point, allocation=allocation)
    alt = altair()
    inks = theme.inks
    one, other = _pair(chosen, pair)
    found = _ranks(chosen, one, other)
    names = [cut(named(*one), 24), cut(named(*other), 24)]
    order = [*dict.fromkeys(row["metric"] for row in found)]
    rows = []
    for row in found:
        first, second = row["value"], row["other"] or 0
        place = {"m": row["metric"], "p": row["what"]}
        ends = ((names[0], 0, first), (_NEITHER, first, 1 - second), (names[1], 1 - second, 1))
        rows += [
            {**place, "c": name, "a": a, "b": b, "s": f"{100 * (b - a):.0f}"}
            for name, a, b in ends
            if b - a > 1e-9
        ]
    domain = [names[0], _NEITHER, names[1]]
    base = alt.Chart()
    y = alt.Y("m:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False))
    axis = alt.Axis(format="%", values=[0, 0.5, 1], grid=False)
    x = alt.X("a:Q", title="of draws", axis=axis, scale=alt.Scale(domain=[0, 1]))
    panels = [name for name in _RANKS.values() if any(row["p"] == name for row in rows)]
    width = (theme.width - 70) / len(panels) - 18
    layers = alt.layer(
        base.mark_bar(height={"band": 0.72}, stroke=inks.paper).encode(
            y=y,
            x=x,
            x2="b:Q",
            color=alt.Color(
                "c:N",
                title="better",
                scale=alt.Scale(domain=domain, range=[inks.series[0], inks.grid, inks.series[1]]),
            ),
        ),
        base.transform_filter(f"datum.b - datum.a > 0.14 && datum.c != '{_NEITHER}'")
        .transform_calculate(mid="(datum.a + datum.b) / 2")
        .mark_text(color=inks.paper, fontSize=theme.size - 1.5)
        .encode(y=y, x=alt.X("mid:Q"), text="s:N"),
    ).properties(width=width, height=22 * len(order))
    chart = layers.facet(
        alt.Facet("p:N", title=None, sort=panels),
        columns=len(panels),
        data=inline(rows),
        spacing=14,
    )
    return theme.of(chart)


_NEITHER = "neither"


def told_ranks(chosen: Chosen, pair: Pair | None = None) -> Told:
    """Words for the figure of ranks."""
    one, other = _pair(chosen, pair)
    a, b = cut(named(*one)), cut(named(*other))
    parts = [
        f"{row['what']}, by {row['metric']}: {a} {percent(row['value'])}, "
        f"{b} {percent(row['other'])}"
        for row in _ranks(chosen, one, other)
    ]
    return Told(
        f"Which is better, and how sure that is: {a} or {b}, by {cut(chosen.grouping)}",
        "Had other speakers been tested, which system would have come out better? Each bar is "
        "split by how often either did when speakers were drawn anew, in percent. A bar of one "
        "colour is a firm rank; one that is split in the middle is none. Grey: better on one but "
        "not on both. An empty row: the operating point holds that rate, so none can win.",
        "; ".join(parts) + ".",
    )


def _pair(chosen: Chosen, pair: Pair | None) -> Pair:
    known = subjects(chosen.audit)
    if pair is not None and not set(pair) <= set(known):
        msg = f"pair {pair} is not in this audit; it has {known}"
        raise ConfigError(msg)
    if len(known) < 2:
        msg = "the audit is of one system and list; there is nothing to compare it with"
        raise ConfigError(msg)
    return pair or (known[0], known[1])


def _reference(chosen: Chosen) -> str:
    first = chosen.audit.record["options"]["reference"][0]
    return {"others": "everyone else", "pooled": "all"}.get(first, cut(first))


def _ratios(chosen: Chosen, pair: Pair) -> dict[str, list[Row]]:
    """Groups with a ratio in both, by metric."""
    audit = chosen.audit
    reference = audit.record["options"]["reference"][0]
    found: dict[str, list[Row]] = {}
    for metric in RATES:
        asked = {**chosen.at, "metric": metric, "definition": "", "measure": "ratio"}
        asked |= {"reference": reference, "zero": "none"}
        by = [
            {
                row["group"]: row
                for row in audit.bias.where(**{**asked, "system": s, "list": listed}).rows()
                if row["value"] is not None and 0 < row["value"] < math.inf
            }
            for s, listed in pair
        ]
        rows: list[Row] = []
        for name in kept(chosen, MOST):
            if name not in by[0] or name not in by[1]:
                continue
            row: Row = {"group": chosen.marked(cut(name, 30)), "few": name in chosen.gates}
            row["group"] = cut(name, 30) + ("*" if row["few"] else "")
            for axis, of in zip("xy", by, strict=True):
                row |= {axis: of[name]["value"]} | _limits(axis, of[name])
            row["s"] = " and ".join(
                f"{short(of[name]['value'])} {span(of[name]['low'], of[name]['high'])}" for of in by
            )
            rows.append(row)
        if rows:
            _name(rows)
            found[metric] = rows
    if not found:
        msg = f"no group of {chosen.grouping} has a ratio in both at {chosen.point}"
        raise ConfigError(msg)
    return found


def _name(rows: Sequence[Row]) -> None:
    """Mark the groups to be named: those furthest off, as far as names do not meet."""
    placed: list[tuple[float, float]] = []
    for row in sorted(
        (row for row in rows if not row["few"]),
        key=lambda r: -max(abs(math.log(r["x"])), abs(math.log(r["y"]))),
    ):
        across, up = math.log(row["x"]), math.log(row["y"])
        if all(abs(across - a) > _APART or abs(up - b) > _APART / 4 for a, b in placed):
            placed.append((across, up))
            row["near"] = True


def _limits(axis: str, row: Mapping[str, Any]) -> Row:
    if row["low"] is None or row["high"] is None:
        return {}
    return {f"{axis}l": max(row["low"], 1e-6), f"{axis}h": min(row["high"], 1e6)}


def _spreads(chosen: Chosen) -> dict[str, list[Row]]:
    """Pooled rate and spread of every system, by metric."""
    audit = chosen.audit
    found: dict[str, list[Row]] = {}
    for metric in RATES:
        for system, listed in subjects(audit):
            at = {**chosen.at, "system": system, "list": listed, "metric": metric, "definition": ""}
            spread = audit.meta.where(**at, measure="tau_log", gated=True).rows()
            whole = audit.groups.where(**at, group="pooled").rows()
            if not spread or not whole or spread[0]["value"] is None or not whole[0]["value"]:
                continue
            row: Row = {"c": cut(named(system, listed), 24), "x": whole[0]["value"]}
            row |= {"y": spread[0]["value"], "n": spread[0]["groups"]}
            for axis, of in (("x", whole[0]), ("y", spread[0])):
                if of["low"] is not None and of["high"] is not None:
                    row |= {f"{axis}l": of["low"], f"{axis}h": of["high"]}
            if spread[0]["floor_95"] is not None:
                row["f"] = spread[0]["floor_95"]
            found.setdefault(metric, []).append(row)
    if not found:
        msg = f"no system has a spread between groups of {chosen.grouping} at {chosen.point}"
        raise ConfigError(msg)
    return found


def _better(of: tuple[str, str]) -> str:
    return f"{cut(named(*of), 24)} errs less"


def _differences(
    chosen: Chosen, one: tuple[str, str], other: tuple[str, str]
) -> dict[str, list[Row]]:
    """Log ratios of two systems by group, by metric."""
    found: dict[str, list[Row]] = {}
    asked = _between(one, other) | {"grouping": chosen.grouping, "allocation": chosen.allocation}
    asked |= {"operating_point": chosen.point, "measure": "value", "definition": "", "within": ""}
    names = kept(chosen, MOST)
    for metric in RATES:
        rows = chosen.audit.comparison.where(**asked, metric=metric).rows()
        by = {row["group"]: row for row in rows if row["log_ratio"] is not None}
        for name in [name for name in names if name in by]:
            row = by[name]
            drawn: Row = {"group": chosen.marked(name), "v": math.exp(row["log_ratio"])}
            state = "no sure difference"
            if row["log_low"] is not None and row["log_high"] is not None:
                limits = (math.exp(max(min(row[n], 14), -14)) for n in ("log_low", "log_high"))
                drawn["l"], drawn["h"] = limits
                if drawn["h"] < 1 or drawn["l"] > 1:
                    state = _better(one if drawn["h"] < 1 else other)
            found.setdefault(metric, []).append({**drawn, "is": state})
    if not found:
        msg = f"the audit compares no group of {chosen.grouping}; audit again with --compare"
        raise ConfigError(msg)
    return found


def _ranks(chosen: Chosen, one: tuple[str, str], other: tuple[str, str]) -> Sequence[Row]:
    asked = _between(one, other) | {"grouping": chosen.grouping, "allocation": chosen.allocation}
    rows = []
    for metric in _RANKED:
        for measure, words in _RANKS.items():
            for row in chosen.audit.comparison.where(
                **asked, metric=metric, measure=measure, within=""
            ).rows():
                if row["value"] is None or row["operating_point"] not in {"", chosen.point}:
                    continue
                at = f" at {cut(row['operating_point'], 12)}" if row["operating_point"] else ""
                told = {"metric": _CALLED[metric] + at, "what": words}
                rows.append({**told, "value": row["value"], "other": row["other"] or 0})
    if not rows:
        msg = "the audit has no ranks; audit again with --compare and intervals"
        raise ConfigError(msg)
    return rows


def _between(one: tuple[str, str], other: tuple[str, str]) -> dict[str, str]:
    return {
        "system": one[0],
        "list": one[1],
        "other_system": other[0],
        "other_list": other[1],
    }
