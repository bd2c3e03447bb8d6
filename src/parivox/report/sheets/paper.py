"""The tables of an audit that go on paper, in their order; Markdown and LaTeX write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.scopes import points, scopes, systems
from parivox.report.sheets.groups import by_system, crosstabs, operating_points, rates_on_paper
from parivox.report.sheets.measures import measures_on_paper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit
    from parivox.report.sheets.sheet import Sheet
    from parivox.report.words import Row

_POINTS = {
    "system": "system",
    "point": "operating point",
    "threshold": "threshold",
    "fnr": "FNR",
    "fpr": "FPR",
    "cost": "cost",
    "source": "found on",
}
_ONE_THRESHOLD = (
    "A trial is accepted if its score is at least the threshold, the same for all groups."
)


def paper(audit: Audit) -> Iterator[Sheet]:
    """Thresholds; rates, crosstabs and measures of each system; systems side by side."""
    every = systems(audit)
    known = operating_points(audit, {}).select(_POINTS, title="Thresholds", reading=_ONE_THRESHOLD)
    yield known.filled()
    for system in every:
        for where in _scopes(audit, system):
            for at in _points(audit, system):
                yield rates_on_paper(audit, where, at)
                yield from (one.filled() for one in crosstabs(audit, where, at))
                if (found := measures_on_paper(audit, where, at)).rows:
                    yield found
    if len(every) > 1:
        for where in _scopes(audit, every[0]):
            for at in _points(audit, every[0]):
                found_at = [({**where, **system}, at) for system in every]
                yield from (one.filled() for one in by_system(audit, where["grouping"], found_at))


def first_rates(audit: Audit) -> Iterator[Sheet]:
    """Rates of every grouping at the first operating point."""
    for system in systems(audit):
        for where in _scopes(audit, system):
            for at in _points(audit, system)[:1]:
                yield rates_on_paper(audit, where, at)


def _scopes(audit: Audit, system: Row) -> Iterator[Row]:
    """Every grouping and allocation of a system that has rates."""
    for scope in scopes(audit):
        if (scope.system, scope.list) == (system["system"], system["list"]):
            yield scope.where


def _points(audit: Audit, system: Row) -> list[str]:
    return [row["operating_point"] for row in points(audit, system)]
