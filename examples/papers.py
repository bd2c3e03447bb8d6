"""Write the tables and figures of docs/papers.md: what four papers say, and what holds.

    python examples/papers.py

Takes the scores of the extra `demo`, and about a minute and a half. All comes from one run of
`parivox.papers`; tables stand between comments, as in ``<!-- tally -->`` and ``<!-- /tally -->``.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chart_pictures import draw  # type: ignore[import-not-found]

import parivox as pv
from parivox.papers.items import FAILS, HOLDS, OPEN
from parivox.papers.paper003_tables import POOLED_EER
from parivox.report.charts import LIGHT
from parivox.report.words import p_value_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.papers import Reproduced

    Row = Mapping[str, Any]
    Reproductions = Mapping[tuple[str, str], Reproduced]

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"


def rows(reproductions: Reproductions, paper: str, item: str, quantity: str) -> list[Row]:
    """Figures of one quantity."""
    return [row for row in reproductions[paper, item].figures.rows() if row["quantity"] == quantity]


# ---- tables


def tally(reproductions: Reproductions) -> Iterator[str]:
    """How many claims hold, of each paper."""
    other_data = "hold on other or partial data"
    yield f"| paper | claims checked | hold | {other_data} | do not hold | inconclusive |"
    yield "|---|---|---|---|---|---|"
    for paper in pv.papers.PAPERS.values():
        verdicts = Counter(
            (claim.verdict, bool(claim.on) and claim.verdict == HOLDS)
            for (name, _), reproduction in reproductions.items()
            if name == paper.name
            for claim in reproduction.claims
        )
        kinds = (HOLDS, False), (HOLDS, True), (FAILS, False), (OPEN, False)
        counts = " | ".join(str(verdicts[kind]) for kind in kinds)
        link = f"[{paper.name}](references.md#paper-{paper.name})"
        yield f"| {link} | {verdicts.total()} | {counts} |"


def in_order(reproductions: Reproductions) -> list[Row]:
    """Subgroup biases of paper 001 as its table 4 has them, the best first."""
    return sorted(
        rows(reproductions, "001", "table 4", "subgroup bias"),
        key=lambda row: float(row["printed"]),
    )


def fairest(reproductions: Reproductions) -> Iterator[str]:
    """Return table 1 of paper 003: each measure of five systems, and its noise floor."""
    under_equal_rates = "mean under equal rates | noise floor (95 %) | p, by itself"
    yield f"| system | EER as printed | FDR | IR | GARBE | {under_equal_rates} |"
    yield "|---|---|---|---|---|---|---|---|"
    ratios = {
        name: {row["row"]: row["exact"] for row in rows(reproductions, "003", "claim 5", name)}
        for name in ("FDR", "IR")
    }
    for row in rows(reproductions, "003", "claim 5", "GARBE"):
        ir = ratios["IR"][row["row"]]
        mean = json.loads(row["values"])["mean_of_fair_systems"]["mean"]
        yield (
            f"| {row['row']} | {POOLED_EER[row['row']]:.2f} % | {ratios['FDR'][row['row']]:.3f} | "
            f"{'undefined' if ir is None else f'{ir:.1f}'} | {row['exact']:.3f} | {mean:.2f} | "
            f"{row['floor_95']:.2f} | {p_value_cell(row['p_holm'])} |"
        )


TABLES: dict[str, Callable[[Reproductions], Iterator[str]]] = {
    "tally": tally,
    "fairest": fairest,
}


def page(reproductions: Reproductions, text: str) -> str:
    """The page with every table as it is now."""
    for name, table in TABLES.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        head, _, remainder = text.partition(start)
        _, closing, tail = remainder.partition(end)
        assert closing, name
        text = "".join([head, start, *(f"{line}\n" for line in table(reproductions)), end, tail])
    return text


# ---- figures


def panel(chart_rows: Sequence[Row], layers: Sequence[Any], **size: Any) -> dict[str, Any]:
    """A chart of rows in the inks of all charts."""
    axis = {
        "gridColor": LIGHT.grid,
        **{f"{element}Color": LIGHT.muted for element in ("domain", "tick", "label", "title")},
    }
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": [*chart_rows]},
        "layer": [*layers],
        "config": {"axis": axis, "view": {"stroke": None}, "legend": {"labelColor": LIGHT.ink}},
        **size,
    }


def dotted(
    chart_rows: Sequence[Row], axis: dict[str, Any], fair: float, words: str
) -> dict[str, Any]:
    """A line for each row: printed hollow, counted with its interval, in its order."""
    names = [row["name"] for row in chart_rows]
    y = {"field": "name", "type": "nominal", "sort": names, "axis": {"title": None}}
    return panel(
        chart_rows,
        [
            _layer("rule", LIGHT.muted, x={"datum": fair}),
            _layer("rule", LIGHT.series[0], x=axis | {"field": "low"}, x2={"field": "high"}, y=y),
            _layer(
                "point", LIGHT.series[0], x=axis | {"field": "exact"}, y=y, filled=True, size=60
            ),
            _layer("point", LIGHT.series[1], x=axis | {"field": "printed"}, y=y, size=60),
        ],
        width=430,
        height={"step": 19},
        title={"text": words, "color": LIGHT.ink, "fontSize": 12, "anchor": "start"},
    )


def _layer(mark: str, colour: str, **channels: Any) -> dict[str, Any]:
    look = {
        name: channels.pop(name) for name in ("filled", "size", "strokeDash") if name in channels
    }
    return {"mark": {"type": mark, "color": colour, **look}, "encoding": channels}


def figures(reproductions: Reproductions) -> Iterator[tuple[str, Any]]:
    """Every figure by its name."""
    axis = {
        "type": "quantitative",
        "scale": {"type": "log", "domain": [0.12, 16], "nice": False},
        "axis": {"values": [0.125, 0.25, 0.5, 1, 2, 4, 8, 16], "format": "~g"},
        "title": "cost over that of everyone",
    }
    named = [
        {
            **row,
            "name": f"{row['row']} ({json.loads(row['values'])['number_of_speakers']['speakers']})",
        }
        for row in in_order(reproductions)
    ]
    words = "hollow: printed; solid: counted, with 95 % interval; in brackets: speakers"
    yield "papers-subgroups", dotted(named, axis, 1.0, words)
    yield "papers-spread", _ways(reproductions)
    yield "papers-fairest", _bars(rows(reproductions, "003", "claim 5", "GARBE"))
    yield "papers-disputes", _over_fpr(reproductions)


def _ways(reproductions: Reproductions) -> dict[str, Any]:
    """How far results move when pairs, and when people, are drawn anew: a panel for each group."""
    ways = {"sd over lists, %": "pairs drawn anew", "sd over speakers, %": "people drawn anew"}
    chart_rows = []
    for quantity, words in ways.items():
        for row in rows(reproductions, "002", "figure 3", quantity):
            group, n = row["row"].split(", n = ")
            chart_rows.append({"group": group, "n": int(n), "way": words, "sd": row["exact"]})
    colour = {"field": "way", "scale": {"range": list(LIGHT.series[:2])}}
    line = {
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "n", "type": "ordinal", "title": "pairs per speaker"},
            "y": {"field": "sd", "type": "quantitative", "title": "sd of the cost, %"},
            "color": colour | {"type": "nominal", "legend": {"title": None, "orient": "top"}},
            "column": {"field": "group", "title": None, "header": {"labelColor": LIGHT.ink}},
        },
    }
    chart = panel(chart_rows, [], width=150, height=130)
    del chart["layer"]
    chart["config"]["axis"]["labelAngle"] = 0
    return {**chart, **line}


def _bars(chart_rows: Sequence[Row]) -> dict[str, Any]:
    y = {"field": "row", "type": "nominal", "sort": None, "axis": {"title": None}}
    axis = {"type": "quantitative", "scale": {"domain": [0, 0.6]}, "title": "GARBE, 0 is fair"}
    axis["axis"] = {"tickCount": 6}
    return panel(
        chart_rows,
        [
            _layer("bar", LIGHT.band, x=axis | {"field": "floor_95"}, y=y, size=16),
            _layer(
                "point", LIGHT.series[0], x=axis | {"field": "exact"}, y=y, filled=True, size=70
            ),
        ],
        width=430,
        height={"step": 26},
    )


def _over_fpr(reproductions: Reproductions) -> dict[str, Any]:
    """Distance of FDR from 1, and NRB, over FPR, with what 95 % of fair systems stay within."""
    panels = []
    for item, name, title, fair, sign in (
        ("figure 1", "FDR, alpha 1", "1 - FDR, all weight on FPR", 1, -1),
        ("figure 2", "NRB of FPR", "NRB of FPR", 0, 1),
    ):
        chart_rows = [
            {
                "fpr": float(row["row"].removeprefix("FPR ")),
                "value": fair + sign * row["exact"],
                "floor": fair + sign * row["floor_95"],
            }
            for row in rows(reproductions, "000", item, name)
        ]
        x = {"field": "fpr", "type": "quantitative", "scale": {"type": "log"}}
        x |= {"title": "FPR of all", "axis": {"values": [row["fpr"] for row in chart_rows]}}
        y = {"type": "quantitative", "title": title}
        area = {"type": "area", "color": LIGHT.band}
        of_fair = {"mark": area, "encoding": {"x": x, "y": y | {"field": "floor"}}}
        dots = _layer("line", LIGHT.series[0], x=x, y=y | {"field": "value"})
        dots["mark"]["point"] = {"color": LIGHT.series[0], "size": 50}
        panels.append(panel(chart_rows, [of_fair, dots], width=230, height=170))
    shared = {name: panels[0].pop(name) for name in ("$schema", "config")}
    for later_panel in panels[1:]:
        del later_panel["$schema"], later_panel["config"]
    return {**shared, "hconcat": panels}


if __name__ == "__main__":
    reproductions = {
        (item.paper, item.name): reproduction for item, reproduction in pv.papers.run()
    }
    PAGE.write_text(page(reproductions, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    for name, chart in figures(reproductions):
        draw(name, chart)
