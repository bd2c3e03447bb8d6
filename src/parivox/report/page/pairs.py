"""Section 5: false accepts between groups: who is taken for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.page.views import Grid
from parivox.report.scopes import first_point, name_of, systems
from parivox.report.words import percent

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = ["pairs"]

_MOST = 40
"""Pairs of groups in a table: the matrix of the audit has all of them."""


def pairs(audit: Audit) -> list[Grid]:
    """The pairs of groups with trials, the highest false accept rate first, of each system."""
    made = []
    for name in systems(audit):
        at = first_point(audit, name)
        for grouping in audit.record["groupings"]:
            asked = {**name, "grouping": grouping, "operating_point": at, "within": ""}
            rows = [row for row in audit.matrix.where(**asked).rows() if row["trials"]]
            if not rows:
                continue
            rows.sort(key=lambda row: -(row["value"] or 0))
            left = len(rows) - _MOST
            rest = f"; {left} more pairs with lower rates are left out" if left > 0 else ""
            grid = Grid(
                f"False accepts between groups of {name_of(*name.values())} by {grouping} at {at}, "
                f"without intervals, as pairs of speakers recur in several cells{rest}",
                ("Enrolled", "Test", "FPR, %", "Errors", "Trials"),
                words=(1, 2),
                sortable=True,
            )
            for row in rows[:_MOST]:
                grid.add(
                    row["enrol_group"],
                    row["test_group"],
                    percent(row["value"]).removesuffix(" %"),
                    "–" if row["errors"] is None else f"{row['errors']:,}",
                    f"{row['trials']:,}",
                )
            made.append(grid)
    return made
