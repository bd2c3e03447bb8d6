"""Recordings that could not be enrolled or acquired, by group, where the audit knows of any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report import beside
from parivox.report.judged import rates_of
from parivox.report.page.views import of_sheet
from parivox.report.scopes import first_point, scopes

if TYPE_CHECKING:
    from parivox.auditing.result import Audit
    from parivox.report.page.views import Grid

__all__ = ["failures"]


def failures(audit: Audit) -> list[Grid]:
    """Tables of each system and grouping; none where no failures were told of."""
    return [
        of_sheet(sheet, scope.label if sheet.told else f"Time of a trial, {scope.label}")
        for scope in scopes(audit)
        if (at := first_point(audit, scope.where)) is not None
        for sheet in beside.failures(audit, scope.where, rates_of(audit, scope.where), at)
    ]
