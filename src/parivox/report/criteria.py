"""The criteria of fairness measures in words: what each comes to on an audit."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import group

from parivox.core.measures import BOTH, RATES, meta_measures
from parivox.report.audit_queries import Scope
from parivox.report.words import (
    add_row,
    count_text,
    grid,
    p_value,
    percent,
    print_text,
    short_number,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.auditing import Criteria
    from parivox.report.words import Row

_MOST = 3
"""Places at which terms change places that are told one by one."""
_AT = {"fpr": "FPR term", "fnr": "FNR term"}


def print_criteria(criteria: Criteria) -> None:
    """Print them: with colours in a terminal, plain lines elsewhere."""
    print_text(criteria_in_words(criteria))


@group()
def criteria_in_words(criteria: Criteria) -> Iterator[RenderableType]:
    """Of each system and grouping what every measure comes to, criterion by criterion."""
    floors = criteria.floors.rows()
    for scope, rows in groupby(criteria.measures.rows(), key=_scope):
        yield from _criteria(*scope, [*rows])
        yield text("")
        yield from _floors([row for row in floors if _scope(row) == scope])
        yield text("")
    yield text(
        "FFMC.1 has no verdict: the paper names no limit. FFMC.2 is of definitions, FFMC.3 of "
        "these trials. In brackets what 95 % of fair systems are below; p is of each by itself.",
    )


def _scope(row: Row) -> tuple[Scope, str]:
    return Scope(*(row[name] for name in Scope._fields)), row["within"]


def _criteria(scope: Scope, within: str, rows: Sequence[Row]) -> Iterator[RenderableType]:
    one = rows[0]
    yield text(f"{scope.label}{f', within {within}' if within else ''}", style="bold")
    yield text(
        f"{count_text(one['groups'])} groups, {count_text(one['thresholds'])} thresholds, "
        f"{count_text(one['weights'])} weights of FPR (alpha)"
    )
    made = grid("", *(row["measure"].upper() for row in rows))

    def line(name: str, *cells: str) -> None:
        add_row(made, name, *cells)

    blank = [""] * len(rows)
    line("FFMC.1 both rates count", *blank)
    line("  FPR term, median", *(short_number(row["fpr_term"]) for row in rows))
    line("  FNR term, median", *(short_number(row["fnr_term"]) for row in rows))
    line("  larger over smaller, median", *(_times(row["log10_apart"]) for row in rows))
    line("  they change places at FPR", *(_places(row["change_places"]) for row in rows))
    line("  moves with alpha by, median", *(short_number(row["moved"]) for row in rows))
    line("FFMC.2 bounded", *(row["bounded"] for row in rows))
    line("  by definition", *(_bounds(row["measure"]) for row in rows))
    line("  seen", *(_span(row["least"], row["most"]) for row in rows))
    line("FFMC.3 computable without errors", *(row["computable"] for row in rows))
    line("  thresholds with such a group", *(count_text(row["silent"]) for row in rows))
    line("  values defined there", *(percent(row["defined_silent"]) for row in rows))
    line("  values defined in all", *(percent(row["defined"]) for row in rows))
    yield made


def _times(log10: float | None) -> str:
    return "–" if log10 is None else f"{short_number(10**log10)}x"


def _places(points: str) -> str:
    at = [point.removeprefix("fpr=") for point in points.split(", ")] if points else []
    if len(at) > _MOST:
        return f"{len(at)} times"
    rates = [percent(float(one)) if one.replace(".", "").isdigit() else one for one in at]
    return ", ".join(rates) or "never"


def _bounds(measure: str) -> str:
    low, high = meta_measures()[measure].bounds
    return "no upper limit" if high == float("inf") else f"{low:g} to {high:g}"


def _span(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{short_number(low)} to {short_number(high)}"


def _floors(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Terms beside what a fair system shows, and at how many weights the measure is beyond it."""
    if not any(row["p"] is not None for row in rows):
        yield text("FFMC.4 more than chance: not known, as the audit has no noise floors")
        return
    measures = [*dict.fromkeys(row["measure"] for row in rows)]
    made = grid("FFMC.4 more than chance", *(measure.upper() for measure in measures))
    for point, some in groupby(sorted(rows, key=_point), key=_point):
        at = [*some]
        for metric in RATES:
            cells = [row for row in at if row["term"] == metric]
            add_row(made, f"  {point}, {_AT[metric]}", *map(_beside, cells))
        each = [[r for r in at if r["measure"] == m and r["term"] == BOTH] for m in measures]
        add_row(made, f"  {point}, alphas with p <0.05", *map(_beyond, each))
    yield made


def _point(row: Row) -> str:
    return str(row["operating_point"])


def _beside(row: Row) -> str:
    if row["value"] is None:
        return "–"
    fair = f" ({short_number(row['floor_95'])})" if row["floor_95"] is not None else ""
    return f"{short_number(row['value'])}{fair} {p_value(row['p'])}"


def _beyond(rows: Sequence[Row]) -> str:
    known = [row["p"] for row in rows if row["p"] is not None]
    return f"{sum(p < 0.05 for p in known)} of {len(known)}" if known else "–"
