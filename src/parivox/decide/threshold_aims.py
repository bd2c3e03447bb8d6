"""What a threshold is to reach: for one group by itself, and for all groups with one threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing import parse_point
from parivox.core.costs import cdet
from parivox.core.resampled_curves import curve_edges
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing import OperatingPoint
    from parivox.core.costs import CostModel
    from parivox.core.counts import Counts

POOLED, STRICTEST, LEAST_WORST = "pooled", "max-fpr", "least-worst"


@dataclass(frozen=True)
class ThresholdAim:
    """What a threshold is to reach (docs/methods/thresholds.md#aims)."""

    text: str  # what the user wrote
    point: OperatingPoint  # what the threshold of one group reaches on its trials
    common: str  # how one for all is made of that: `POOLED`, `STRICTEST` or `LEAST_WORST`
    cost: CostModel  # what gains are told in

    @property
    def rates(self) -> tuple[str, ...]:
        """Rates that tell whether a group needs another threshold."""
        return (self.point.rule,) if self.point.rule in {"fpr", "fnr"} else ("fpr", "fnr")

    def common_of(self, everything: Counts, groups: Sequence[Counts]) -> float:
        """The one threshold for all, from all trials and those of each group."""
        told = [
            one for one in groups if one.n_nontarget and (one.n_target or self.common == STRICTEST)
        ]
        if self.common == POOLED or not told:
            return float(self.point.threshold(everything))
        if self.common == STRICTEST:
            return max(float(self.point.threshold(one)) for one in told)
        edges = curve_edges(everything)[::-1]
        costs = [cdet(one.at(edges), self.cost) for one in told]
        return float(edges[np.argmin(np.max(costs, axis=0))])


def parse_aim(text: str, cost: CostModel) -> ThresholdAim:
    """Read an aim as a user writes it.

    Raises
    ------
    ConfigError
        If it is none, or its rate is out of range.

    Examples
    --------
    >>> from parivox.core.costs import parse_cost
    >>> parse_aim("max-fpr=0.01", parse_cost("voxsrc")).point.text
    'fpr=0.01'
    """
    written = text.strip()
    common, as_point = POOLED, written
    for name, point in ((STRICTEST, "fpr"), (LEAST_WORST, "min-cdet")):
        if written.lower().startswith(name):
            common, as_point = name, point + written[len(name) :]
    if as_point.lower().split("=")[0].split(":")[0] not in {"fpr", "fnr", "min-cdet"}:
        msg = (
            f"--aim {text!r} is not known; write fpr=X, fnr=X, min-cdet, min-cdet:COST, max-fpr=X "
            "or least-worst"
        )
        raise ConfigError(msg)
    point_found = parse_point(as_point, [cost])
    return ThresholdAim(written, point_found, common, point_found.cost or cost)
