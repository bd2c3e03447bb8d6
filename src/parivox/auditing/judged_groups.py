"""Which groups count in the headline meta-measures: those that are judged in every system.

A measure over the groups that happen to be large enough in one system cannot be set beside that of
another system: the group with the most errors may be missing from one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.schema import Key

    Mask = NDArray[np.bool_]
    """Of metrics and groups, ``[key, group]``."""


class MeasuredCells(Protocol):
    """The cells of one grouping, with their metrics and how sure these are."""

    @property
    def key_columns(self) -> dict[str, str]:
        """Grouping, allocation and level."""

    @property
    def error_estimates(self) -> Estimates:
        """Metrics that are errors."""

    @property
    def area_estimates(self) -> Estimates | None:
        """Both rates at the points that the area under FDR is taken over."""

    @property
    def uncertainty(self) -> Uncertainty | None:
        """Which groups are large enough to be judged."""


class JudgedGroups(NamedTuple):
    """The groups of one system that are judged in all systems and lists, ``[key, group]``."""

    metrics: Mask
    """By each metric that is an error."""
    area: Mask
    """By both rates at the operating points that the area under FDR is taken over."""


class _Judged(NamedTuple):
    """What is judged of some metrics in one system by itself."""

    keys: Sequence[Key]
    passed: Mask
    has_value: Mask

    @classmethod
    def of(cls, estimates: Estimates, passed: Mask) -> _Judged:
        has_value = ~np.isnan(estimates.groups)
        return cls(estimates.keys, np.broadcast_to(passed, has_value.shape), has_value)

    def and_in(self, systems: Sequence[_Judged]) -> Mask:
        """Return the groups that are judged in these systems, too."""
        judged = self.passed.copy()
        for system in systems:
            row_of_key = {key: row for row, key in enumerate(system.keys)}
            for row, key in enumerate(self.keys):
                other_row = row_of_key.get(key)
                # a metric that the other system lacks altogether is not compared
                if other_row is not None and system.has_value[other_row].any():
                    judged[row] &= system.passed[other_row] & system.has_value[other_row]
        return judged


def judged_groups(systems: Sequence[Sequence[MeasuredCells]]) -> list[list[JudgedGroups | None]]:
    """Tell which groups are judged in every system and list, for each metric.

    Parameters
    ----------
    systems
        Of each system and list, its cells of each grouping, allocation and level.

    Returns
    -------
    list of list of JudgedGroups or None
        Of the same cells of the same systems; None where there are no groups or no intervals.
    """
    alike: dict[tuple[str, ...], list[tuple[int, _Judged, _Judged]]] = {}
    for system, parts in enumerate(systems):
        for part in parts:
            if part.area_estimates is None or part.uncertainty is None:
                continue
            metrics = _Judged.of(
                part.error_estimates, part.uncertainty.meets_minimums(part.error_estimates.keys)
            )
            area = _Judged.of(part.area_estimates, part.uncertainty.meets_minimums())
            alike.setdefault(tuple(part.key_columns.values()), []).append((system, metrics, area))
    judged: dict[tuple[int, tuple[str, ...]], JudgedGroups] = {}
    for place, same in alike.items():
        for system, metrics, area in same:
            others = [other for other in same if other[0] != system]
            judged[system, place] = JudgedGroups(
                metrics.and_in([other_metrics for _, other_metrics, _ in others]),
                area.and_in([other_area for _, _, other_area in others]),
            )
    return [
        [judged.get((system, tuple(part.key_columns.values()))) for part in parts]
        for system, parts in enumerate(systems)
    ]
