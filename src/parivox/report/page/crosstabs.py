"""Section 4: two attributes against each other with margins, and groups by system."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from parivox.report import crossed
from parivox.report.judged import RATES
from parivox.report.page.views import Cell, Grid
from parivox.report.scopes import first_point, scopes, systems
from parivox.report.words import percent, span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parivox.auditing.result import Audit
    from parivox.report.crossed import Crossed, Rate

__all__ = ["Beside", "by_system", "crosstabs"]


class Beside(NamedTuple):
    """Tables of both errors, which stand beside each other."""

    label: str
    grids: list[Grid]
    notes: tuple[str, ...] = ()


def crosstabs(audit: Audit) -> list[Beside]:
    """FNR and FPR of every grouping of two attributes at the first operating point."""
    made = []
    for scope in scopes(audit):
        at = first_point(audit, scope.where)
        if at is not None:
            told = f"of {scope.label} at {at}"
            tables = list(crossed.crosstabs(audit, scope.where, at))
            if tables:
                label = f"{scope.label} at {at}"
                made.append(Beside(label, _grids(tables, told), tables[0].notes))
    return made


def by_system(audit: Audit) -> list[Beside]:
    """Groups down, systems and lists across, where there are several of either."""
    names = systems(audit)
    made: list[Beside] = []
    if len(names) == 1:
        return made
    kinds = sorted(scopes(audit), key=lambda one: audit.record["groupings"].index(one.grouping))
    for (grouping, allocation), same in groupby(kinds, key=lambda one: one[2:]):
        own = list(same)
        asked = [
            ({**name, "grouping": grouping, "allocation": allocation, "within": ""}, at)
            for name in names
            if (at := first_point(audit, name)) is not None
        ]
        points = ", ".join(dict.fromkeys(at for _, at in asked))
        grids = _grids(crossed.by_system(audit, asked), f"of {own[0].of} by system at {points}")
        made.append(Beside(f"{own[0].of} at {points}", grids))
    return made


def _grids(tables: Iterable[Crossed], told: str) -> list[Grid]:
    made = []
    for one in tables:
        over = f"; {one.down} down, {one.across} across" if one.across else ""
        grid = Grid(
            f"{one.metric.upper()} ({RATES[one.metric]}), %, {told}{over}",
            (one.down[:1].upper() + one.down[1:], *one.heads),
            last=int(one.has_sum),
            sortable=True,
        )
        for name, cells in one.rows:
            grid.add(name, *map(_cell, cells))
        made.append(grid)
    return made


def _cell(found: Rate) -> str | Cell:
    """A rate and its interval above its counts; or that there is no one in it."""
    row = found.row
    if row is None:
        return "no one"
    if row["value"] is None:
        return f"– ({row['reason']})"
    counts = [] if row["trials"] is None else [f"{row['errors']:,}\u00a0/\u00a0{row['trials']:,}"]
    counts += [] if row["speakers"] is None else [f"{row['speakers']:,}\u00a0sp."]
    interval = "" if row["high"] is None else f" {span(row['low'], row['high'], times=100)}"
    star = " *" if found.is_small else ""
    rate = percent(row["value"]).removesuffix(" %")
    return Cell(f"{rate}{interval}{star}", "", ", ".join(counts))
