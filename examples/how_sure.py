"""Draw docs/assets/how-sure.svg and write the tables of docs/uncertainty.md.

    python examples/how_sure.py

Needs the extra `demo`: real scores of two systems. The picture holds text, no fonts and no links.
Tables stand between comments, as in ``<!-- rates -->`` and ``<!-- /rates -->``.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import parivox as pv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Row = Mapping[str, Any]

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "uncertainty.md", DOCS / "assets" / "how-sure.svg"
GROUPING, POINTS = "gender+nationality", ("fpr=0.01", "fpr=0.001")
FLOORS = {"gini": ("fnr", "fpr"), "tau_log": ("fnr",)}
"""Measures whose noise floors are shown, and of which error rates."""
SHOWN = ("m+USA", "f+India", "m+Norway", "pooled")

WIDTH, TOP, STEP = 1000, 84, 25
RATES_X0, RATES_X1, GINI_X0, GINI_X1 = 130, 560, 720, 970
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-label="Intervals over trials and over speakers, and noise floors">
<style>
text {{ font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #222; }}
.h {{ font-size: 15px; font-weight: bold; }} .s {{ fill: #666; font-size: 12px; }}
.e {{ text-anchor: end; }} .m {{ text-anchor: middle; }}
.grid {{ stroke: #e2e2dc; }} .wide {{ stroke: #2f6fb0; stroke-width: 3; stroke-linecap: round; }}
.short {{ stroke: #d2691e; stroke-width: 7; }} .dot {{ fill: #222; }}
.floor {{ fill: #c9d8e8; }} .mean {{ stroke: #2f6fb0; stroke-width: 2; }}
.paper {{ fill: #fbfbf9; }}
@media (prefers-color-scheme: dark) {{
.paper {{ fill: #16181d; }} text, .dot {{ fill: #e6e6e1; }} .s {{ fill: #a3a8b1; }}
.grid {{ stroke: #3a3f49; }} .wide, .mean {{ stroke: #6ea8e0; }} .floor {{ fill: #2b4058; }}
}}
</style>
<rect width="100%" height="100%" rx="8" class="paper"/>
{body}
</svg>
"""


def audits() -> tuple[pv.Audit, pv.Audit]:
    """Two real systems over speakers; the first as if its trials were independent."""
    spec = find_spec("bt4vt")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data"
    systems = {
        "V2": data / "resnetse34v2_H-eval_scores.csv",
        "L": data / "resnetse34l_H-eval_scores.csv",
    }
    options: dict[str, Any] = {"speakers": data / "vox1_meta.csv", "by": GROUPING, "zero": "none"}
    over_speakers = pv.audit(
        systems, **options, operating_points=POINTS, limits="fnr=0.05", attempts=3
    )
    over_trials = pv.audit(
        {"V2": systems["V2"]},
        **options,
        operating_points=POINTS[0],
        reference="pooled",
        interval="wilson",
        replicates=50,
    )
    return over_speakers, over_trials


# ---- tables


def rates(sure: pv.Audit, naive: pv.Audit) -> Iterator[str]:
    """FNR of some groups, with both intervals and what the trials of each are worth."""
    intervals = "interval over trials | interval over speakers"
    worth = "design effect | effective sample size | degrees of freedom"
    yield f"| group | speakers | trials | FNR | {intervals} | {worth} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    over_trials = {row["group"]: row for row in fnr(naive)}
    for row in fnr(sure):
        if row["group"] not in SHOWN:
            continue
        naive_row = over_trials[row["group"]]
        yield (
            f"| {row['group']} | {row['speakers']:,} | {row['trials']:,} | "
            f"{percent(row['value'])} | {span(naive_row)} | {span(row)} | {row['deff']:.0f} | "
            f"{row['n_eff']:,.0f} | {row['df']:.0f} |"
        )


def floors(sure: pv.Audit, _: pv.Audit) -> Iterator[str]:
    """Some meta-measures of all groups, with their noise floors."""
    yield "| measure | of | value | mean under equal rates | noise floor (95 %) | p |"
    yield "|---|---|---|---|---|---|"
    for row in sure.meta.filter(system="V2", operating_point=POINTS[0], gated=False).rows():
        if row["metric"] in FLOORS.get(row["measure"], ()):
            yield (
                f"| `{row['measure']}` | {row['metric'].upper()} | {row['value']:.2f} | "
                f"{row['floor_mean']:.2f} | {row['floor_95']:.2f} | {p_value(row['p'])} |"
            )


def guesses(sure: pv.Audit, _: pv.Audit) -> Iterator[str]:
    """Observed ratios of some groups, and their shrinkage estimates."""
    reference = "all other groups combined"
    yield f"| group | speakers | FNR, ratio to {reference} | shrinkage estimate | power |"
    yield "|---|---|---|---|---|"
    speakers = {row["group"]: row["speakers"] for row in fnr(sure)}
    selection = {"system": "V2", "operating_point": POINTS[0], "metric": "fnr"}
    for row in sure.verdicts.filter(**selection).rows():
        if row["group"] in SHOWN:
            best = [row[f"best_guess{end}"] for end in ("", "_low", "_high")]
            raw = [row[name] for name in ("ratio", "low", "high")]
            intervals = (
                f"{estimate:.2g} [{low:.2g}, {high:.2g}]" for estimate, low, high in (raw, best)
            )
            yield (
                f"| {row['group']} | {speakers[row['group']]} | {' | '.join(intervals)} | "
                f"{row['power']:.2f} |"
            )


def people(sure: pv.Audit, _: pv.Audit) -> Iterator[str]:
    """Who bears the errors."""
    yield (
        "| group | FNR | at most 5 %? | speakers above 5 % | share of errors of the 10 % "
        "of speakers with the most errors, expected share | of 10,000 people, rejected three "
        "times in a row |"
    )
    yield "|---|---|---|---|---|---|"
    rows = sure.limits.filter(system="V2", operating_point=POINTS[0], metric="fnr").rows()
    limits = {(row["group"], row["measure"]): row for row in rows}
    for group in SHOWN:
        limit, above, locked = (
            limits[group, measure] for measure in ("limit", "speakers_above", "locked_out_people")
        )
        carried, alike = (
            limits[group, measure]["value"] for measure in ("worst_tenth", "worst_tenth_if_equal")
        )
        yield (
            f"| {group} | {percent(limit['value'])} | "
            f"{limit['verdict'].replace('_', ' ')} | "
            f"{above['value']:.0%} [{above['low']:.0%}, {above['high']:.0%}] | "
            f"{carried:.0%}, {alike:.0%} | {locked['value'] * 1e4:.1f} |"
        )


TABLES: dict[str, Callable[[pv.Audit, pv.Audit], Iterator[str]]] = {
    "rates": rates,
    "floors": floors,
    "guesses": guesses,
    "people": people,
}


def fresh(page: str, sure: pv.Audit, naive: pv.Audit) -> str:
    """The page with its tables made anew."""
    for name, table in TABLES.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, _, remainder = page.partition(start)
        _, closing, after = remainder.partition(end)
        assert closing, name
        page = before + start + "".join(f"{line}\n" for line in table(sure, naive)) + end + after
    return page


def fnr(audit: pv.Audit) -> list[Row]:
    """Rows of FNR at the first operating point, of every group and the pooled row."""
    selection = {
        "system": "V2",
        "grouping": GROUPING,
        "metric": "fnr",
        "operating_point": POINTS[0],
    }
    return list(audit.groups.filter(**selection, definition="").rows())


def span(row: Row) -> str:
    """An interval in per cent."""
    return f"{percent(row['low'])} to {percent(row['high'])}"


def percent(share: float) -> str:
    """In per cent, with one decimal."""
    return f"{100 * share:.1f} %"


def p_value(p: float | None) -> str:
    """A p value as people read it."""
    if p is None:
        return "–"
    if p < 0.001:
        return "< 0.001"
    return f"{p:.2f}" if p >= 0.1 else f"{p:.3f}"


# ---- picture


def picture(sure: pv.Audit, naive: pv.Audit) -> str:
    """Both panels."""
    height = TOP + 19 * STEP + 60
    body = "\n".join([*_intervals(sure, naive), *_floors(sure)])
    return SVG.format(width=WIDTH, height=height, body=body)


def _intervals(sure: pv.Audit, naive: pv.Audit) -> Iterator[str]:
    """False negative rates of all groups with both intervals, on a logarithmic axis."""
    low, high = math.log(0.005), math.log(0.6)

    def x(rate: float) -> float:
        return RATES_X0 + (RATES_X1 - RATES_X0) * (math.log(rate) - low) / (high - low)

    over_trials = {row["group"]: row for row in fnr(naive)}
    bottom = TOP + 19 * STEP - 8
    yield text(20, 28, "h", "Trials are not the sample")
    yield text(20, 47, "s", "False negative rate at FPR 1 %, 95 % intervals:")
    yield line("short", 320, 43, 344, 43) + text(350, 47, "s", "over trials")
    yield line("wide", 432, 43, 460, 43) + text(468, 47, "s", "over speakers")
    for rate in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        yield line("grid", x(rate), TOP - 12, x(rate), bottom)
        yield text(x(rate), bottom + 18, "s m", f"{rate:.0%}")
    for i, row in enumerate(sorted(fnr(sure), key=lambda row: row["group"] == "pooled")):
        y, short = TOP + i * STEP, over_trials[row["group"]]
        yield text(RATES_X0 - 10, y + 4, "e", row["group"])
        yield line("wide", x(row["low"]), y, x(row["high"]), y)
        yield line("short", x(short["low"]), y, x(short["high"]), y)
        yield dot(x(row["value"]), y)


def _floors(sure: pv.Audit) -> Iterator[str]:
    """Ginis and their noise floors."""

    def x(value: float) -> float:
        return GINI_X0 + (GINI_X1 - GINI_X0) * value / 0.8

    yield text(610, 28, "h", "Chance alone makes groups differ")
    yield text(610, 47, "s", "Gini of 18 groups:")
    yield dot(736, 43) + text(746, 47, "s", "measured")
    yield box("floor", 812, 36, 30, 14) + text(848, 47, "s", "noise floor (95 %)")
    panels = [(metric, point) for point in POINTS for metric in ("fnr", "fpr")]
    bottom = TOP + 3 * 62 + 44
    for value in (0.0, 0.2, 0.4, 0.6, 0.8):
        yield line("grid", x(value), TOP - 12, x(value), bottom)
        yield text(x(value), bottom + 18, "s m", f"{value:.1f}")
    for i, (metric, point) in enumerate(panels):
        (row,) = (
            row
            for row in sure.meta.filter(
                system="V2", measure="gini", metric=metric, operating_point=point
            ).rows()
            if not row["gated"]
        )
        y = TOP + i * 62 + 12
        share = point.removeprefix("fpr=")
        yield text(GINI_X0 - 12, y, "e", metric.upper())
        yield text(GINI_X0 - 12, y + 17, "s e", f"at FPR {float(share):.1%}")
        yield box("floor", x(0), y - 12, x(row["floor_95"]) - x(0), 30)
        yield line("mean", x(row["floor_mean"]), y - 12, x(row["floor_mean"]), y + 18)
        yield dot(x(row["value"]), y + 3)
        yield text(x(row["value"]) + 9, y + 7, "", f"p = {p_value(row['p'])}")
    for i, words in enumerate(
        (
            "With equal rates, Gini is not 0: groups of few",
            "speakers differ by chance. Line: mean under equal",
            "rates. Only a value beyond the shaded range",
            "indicates a difference between groups.",
        )
    ):
        yield text(610, bottom + 56 + 18 * i, "", words)


def text(x: float, y: float, kind: str, words: str) -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(words)}</text>'


def line(kind: str, *ends: float) -> str:
    """A line from x, y to x, y."""
    x1, y1, x2, y2 = (f"{end:.1f}" for end in ends)
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{kind}"/>'


def box(kind: str, *sides: float) -> str:
    """A box by x, y, width and height."""
    x, y, width, height = (f"{side:.1f}" for side in sides)
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{kind}"/>'


def dot(x: float, y: float) -> str:
    """A measured value."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="dot"/>'


def check(sure: pv.Audit, naive: pv.Audit) -> None:
    """What the page says in words."""
    pairs: Iterable[tuple[Row, Row]] = zip(fnr(sure), fnr(naive), strict=True)
    for over_speakers, over_trials in pairs:
        assert over_speakers["low"] < over_trials["low"]
        assert over_speakers["high"] > over_trials["high"]
        assert over_speakers["deff"] > 2


if __name__ == "__main__":
    audit_pair = audits()
    check(*audit_pair)
    PICTURE.write_text(picture(*audit_pair), encoding="utf-8")
    PAGE.write_text(fresh(PAGE.read_text(encoding="utf-8"), *audit_pair), encoding="utf-8")
