"""Functional fairness criteria in the terminal: what each measure comes to on an audit."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import group

from parivox.core.measures import BOTH, RATES, meta_measures
from parivox.report.audit_queries import Scope
from parivox.report.catalogue import full_sentence, sentence_text
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

_MAX_LISTED_CHANGES = 3
"""Operating points at which terms change places that are listed; of more, the count is given."""
_TERM_NAMES = {"fpr": "FPR term", "fnr": "FNR term"}


def print_criteria(criteria: Criteria) -> None:
    """Print the criteria: with colours in a terminal, plain lines elsewhere."""
    print_text(criteria_summary(criteria))


@group()
def criteria_summary(criteria: Criteria) -> Iterator[RenderableType]:
    """Yield, of each system and grouping, every measure, criterion by criterion."""
    floors = criteria.floors.rows()
    for scope, rows in groupby(criteria.measures.rows(), key=_scope_of_row):
        yield from _criteria_blocks(*scope, [*rows])
        yield text("")
        yield from _floor_blocks([row for row in floors if _scope_of_row(row) == scope])
        yield text("")
    yield text(
        full_sentence("paper_criteria"),
    )


def _scope_of_row(row: Row) -> tuple[Scope, str]:
    """Return the scope and the stratum of a row."""
    return Scope(*(row[name] for name in Scope._fields)), row["within"]


def _criteria_blocks(scope: Scope, within: str, rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Yield the first three criteria of one scope: a column for each measure."""
    first_row = rows[0]
    heading = f"{scope.label}, within {within}" if within else scope.label
    yield text(heading, style="bold")
    yield text(
        f"{count_text(first_row['groups'])} groups, {count_text(first_row['thresholds'])} "
        f"thresholds, {count_text(first_row['weights'])} weights of FPR (alpha)"
    )
    table = grid("", *(row["measure"].upper() for row in rows))

    def line(name: str, *cells: str) -> None:
        add_row(table, name, *cells)

    blank_cells = [""] * len(rows)
    line("FFMC.1 both rates count", *blank_cells)
    line("  FPR term, median", *(short_number(row["fpr_term"]) for row in rows))
    line("  FNR term, median", *(short_number(row["fnr_term"]) for row in rows))
    line("  larger over smaller, median", *(_ratio_text(row["log10_apart"]) for row in rows))
    line("  they are equal at FPR", *(_change_places_text(row["change_places"]) for row in rows))
    line("  moves with alpha by, median", *(short_number(row["moved"]) for row in rows))
    line("FFMC.2 bounded", *(row["bounded"] for row in rows))
    line("  by definition", *(_bounds_text(row["measure"]) for row in rows))
    line("  seen", *(_range_text(row["least"], row["most"]) for row in rows))
    line("FFMC.3 computable without errors", *(row["computable"] for row in rows))
    line("  thresholds with a group without errors", *(count_text(row["silent"]) for row in rows))
    line("  values defined there", *(percent(row["defined_silent"]) for row in rows))
    line("  values defined in all", *(percent(row["defined"]) for row in rows))
    yield table


def _ratio_text(log10: float | None) -> str:
    """Return a ratio from its decimal logarithm."""
    return "–" if log10 is None else f"{short_number(10**log10)}x"


def _change_places_text(points: str) -> str:
    """Return at which FPRs the two terms change places, or how often."""
    if not points:
        return "never"
    settings = [point.removeprefix("fpr=") for point in points.split(", ")]
    if len(settings) > _MAX_LISTED_CHANGES:
        return f"{len(settings)} times"
    # points of other kinds, as eer, are named as they are
    return ", ".join(
        percent(float(setting)) if setting.replace(".", "").isdigit() else setting
        for setting in settings
    )


def _bounds_text(measure: str) -> str:
    """Return the range of a measure by its definition."""
    low, high = meta_measures()[measure].bounds
    return "no upper limit" if high == float("inf") else f"{low:g} to {high:g}"


def _range_text(low: float | None, high: float | None) -> str:
    """Return the range of values that were seen."""
    return "–" if low is None or high is None else f"{short_number(low)} to {short_number(high)}"


def _floor_blocks(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """Yield the fourth criterion: terms with their floors, and how often measures exceed theirs."""
    if not any(row["p"] is not None for row in rows):
        yield text(sentence_text("criterion_without_floors"))
        return
    measures = [*dict.fromkeys(row["measure"] for row in rows)]
    table = grid("FFMC.4 more than chance", *(measure.upper() for measure in measures))
    for point, same_point in groupby(sorted(rows, key=_point_of_row), key=_point_of_row):
        point_rows = [*same_point]
        for metric in RATES:
            terms = [_term_with_floor(row) for row in point_rows if row["term"] == metric]
            add_row(table, f"  {point}, {_TERM_NAMES[metric]}", *terms)
        joint_rows = [row for row in point_rows if row["term"] == BOTH]
        counts = [
            _n_beyond_chance([row for row in joint_rows if row["measure"] == measure])
            for measure in measures
        ]
        add_row(table, f"  {point}, alphas with p <0.05", *counts)
    yield table


def _point_of_row(row: Row) -> str:
    """Return the operating point of a row."""
    return str(row["operating_point"])


def _term_with_floor(row: Row) -> str:
    """Return a term with what 95 % of systems with equal rates are below, and its p."""
    if row["value"] is None:
        return "–"
    floor = f" ({short_number(row['floor_95'])})" if row["floor_95"] is not None else ""
    return f"{short_number(row['value'])}{floor} {p_value(row['p'])}"


def _n_beyond_chance(rows: Sequence[Row]) -> str:
    """Return at how many weights a measure exceeds its floor."""
    p_values = [row["p"] for row in rows if row["p"] is not None]
    return f"{sum(p < 0.05 for p in p_values)} of {len(p_values)}" if p_values else "–"
