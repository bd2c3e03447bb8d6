"""Recordings that could not be enrolled or acquired, by group, where the audit knows of any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.page.views import Grid, rate_cells, scopes

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = ["failures"]

_SHARES = {"fte": "FTE (failed to enrol)", "fta": "FTA (failed to acquire)"}


def failures(audit: Audit) -> list[Grid]:
    """A table of each system and grouping; none where no failures were told of."""
    made = []
    for scope in scopes(audit):
        by_group: dict[str, list[str]] = {}
        for metric in _SHARES:
            for row in audit.groups.where(**scope.where, metric=metric).rows():
                by_group.setdefault(row["group"], []).extend(rate_cells(row))
        if by_group:
            heads = [f"{words}, %" for words in _SHARES.values()]
            grid = Grid(
                f"Failures of {scope.label}",
                ("Group", heads[0], "Interval", "Failed / tried", heads[1], "Interval", "Failed"),
                last=1,
            )
            for group, cells in by_group.items():
                grid.add(group, *cells, *["–"] * (6 - len(cells)))
            made.append(grid)
    return made
