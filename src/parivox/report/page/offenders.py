"""The speakers behind most errors, by id: only where audit and page were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.page.views import Grid
from parivox.report.scopes import name_of

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = ["offenders"]


def offenders(audit: Audit) -> list[Grid]:
    """A table of each system, grouping and error."""
    made: dict[tuple[str, ...], Grid] = {}
    for row in audit.offenders.rows():
        keys = ("system", "list", "grouping", "allocation", "metric", "operating_point")
        label = tuple(row[key] for key in keys)
        if label not in made:
            made[label] = Grid(
                f"Speakers with most errors ({row['metric'].upper()}) of "
                f"{name_of(row['system'], row['list'])} by {row['grouping']} at "
                f"{row['operating_point']}",
                ("Group", "Speaker", "Errors", "Trials", "Share of the group's errors, %"),
                words=(1, 2),
                sortable=True,
            )
        made[label].add(
            row["group"],
            row["speaker"],
            f"{row['errors']:,}",
            f"{row['trials']:,}",
            "–" if row["share"] is None else f"{100 * row['share']:.0f}",
        )
    return list(made.values())
