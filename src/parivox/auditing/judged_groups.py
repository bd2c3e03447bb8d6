"""Which groups count in the headline meta-measures: those that are judged in every system.

A measure over the groups that happen to be large enough in one system cannot be compared with that
of another system: the group with the most errors may be missing from one of the two.
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


# A protocol: the class is in `parivox.auditing.system`, which imports this module by way of
# `parivox.auditing.meta`.
class MeasuredCells(Protocol):
    """The cells of one grouping, with their metrics and how sure these are."""

    @property
    def key_columns(self) -> dict[str, str]:
        """Return grouping, allocation and stratum."""

    @property
    def error_estimates(self) -> Estimates:
        """Return the metrics that are errors."""

    @property
    def area_estimates(self) -> Estimates | None:
        """Return both rates at the points that the area under FDR is taken over."""

    @property
    def uncertainty(self) -> Uncertainty | None:
        """Return the uncertainty, which decides which groups are large enough to be judged."""


class JudgedGroups(NamedTuple):
    """The groups of one system that are judged in all systems and lists, ``[key, group]``."""

    metrics: Mask
    """By each metric that is an error."""
    area: Mask
    """By both rates at the operating points that the area under FDR is taken over."""


class _JudgedMetrics(NamedTuple):
    """The groups that are judged in one system by itself, for some metrics."""

    keys: Sequence[Key]
    meets_minimums: Mask
    has_value: Mask

    @classmethod
    def from_estimates(cls, estimates: Estimates, meets_minimums: Mask) -> _JudgedMetrics:
        has_value = ~np.isnan(estimates.groups)
        return cls(estimates.keys, np.broadcast_to(meets_minimums, has_value.shape), has_value)

    def judged_in_all(self, systems: Sequence[_JudgedMetrics]) -> Mask:
        """Return the groups that are judged here and in these systems."""
        is_judged = self.meets_minimums.copy()
        for system in systems:
            row_of_key = {key: row for row, key in enumerate(system.keys)}
            for row, key in enumerate(self.keys):
                other_row = row_of_key.get(key)
                # a metric that the other system lacks altogether is not compared
                if other_row is not None and system.has_value[other_row].any():
                    is_judged[row] &= system.meets_minimums[other_row]
                    is_judged[row] &= system.has_value[other_row]
        return is_judged


def judged_groups(
    cells_by_system: Sequence[Sequence[MeasuredCells]],
) -> list[list[JudgedGroups | None]]:
    """Return which groups are judged in every system and list, for each metric.

    Parameters
    ----------
    cells_by_system
        For each system and list, its cells of each grouping, allocation and stratum.

    Returns
    -------
    list of list of JudgedGroups or None
        Of the same cells of the same systems; None where there are no groups or no intervals.
    """
    cells_by_place: dict[tuple[str, ...], list[tuple[int, _JudgedMetrics, _JudgedMetrics]]] = {}
    for system, system_cells in enumerate(cells_by_system):
        for measured in system_cells:
            if measured.area_estimates is None or measured.uncertainty is None:
                continue
            metrics = _JudgedMetrics.from_estimates(
                measured.error_estimates,
                measured.uncertainty.meets_minimums(measured.error_estimates.keys),
            )
            area = _JudgedMetrics.from_estimates(
                measured.area_estimates, measured.uncertainty.meets_minimums()
            )
            cells_by_place.setdefault(tuple(measured.key_columns.values()), []).append(
                (system, metrics, area)
            )
    judged: dict[tuple[int, tuple[str, ...]], JudgedGroups] = {}
    for place, judged_in_systems in cells_by_place.items():
        for system, metrics, area in judged_in_systems:
            other_systems = [
                other_system for other_system in judged_in_systems if other_system[0] != system
            ]
            judged[system, place] = JudgedGroups(
                metrics.judged_in_all([other_metrics for _, other_metrics, _ in other_systems]),
                area.judged_in_all([other_area for _, _, other_area in other_systems]),
            )
    return [
        [judged.get((system, tuple(measured.key_columns.values()))) for measured in system_cells]
        for system, system_cells in enumerate(cells_by_system)
    ]
