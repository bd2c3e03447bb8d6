"""Say what a threshold is to reach: for one group, and for all groups with one threshold."""

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
    """What a threshold is to reach (docs/methods/gates.md#aims)."""

    text: str  # what the user wrote
    operating_point: OperatingPoint  # what the threshold of one group reaches on its trials
    common_rule: str
    """How one threshold for all is made of that: `POOLED`, `STRICTEST` or `LEAST_WORST`."""
    cost_model: CostModel  # of the gains

    @property
    def rates(self) -> tuple[str, ...]:
        """Rates that show whether a group needs another threshold."""
        rule = self.operating_point.rule
        return (rule,) if rule in {"fpr", "fnr"} else ("fpr", "fnr")

    def common_threshold(self, all_trials: Counts, groups: Sequence[Counts]) -> float:
        """Return the one threshold for all, from all trials and those of each group."""
        # the largest of the groups' thresholds for an FPR takes no target trials
        usable = [
            counts
            for counts in groups
            if counts.n_nontarget and (counts.n_target or self.common_rule == STRICTEST)
        ]
        if self.common_rule == POOLED or not usable:
            return float(self.operating_point.threshold(all_trials))
        if self.common_rule == STRICTEST:
            return max(float(self.operating_point.threshold(counts)) for counts in usable)
        edges = curve_edges(all_trials)[::-1]
        costs = [cdet(counts.at(edges), self.cost_model) for counts in usable]
        return float(edges[np.argmin(np.max(costs, axis=0))])


def parse_aim(text: str, cost_model: CostModel) -> ThresholdAim:
    """Read an aim as a user writes it.

    Raises
    ------
    ConfigError
        If it is none, or its rate is out of range.

    Examples
    --------
    >>> from parivox.core.costs import parse_cost
    >>> parse_aim("max-fpr=0.01", parse_cost("voxsrc")).operating_point.text
    'fpr=0.01'
    """
    aim = text.strip()
    common_rule, point_text = POOLED, aim
    for rule, point_rule in ((STRICTEST, "fpr"), (LEAST_WORST, "min-cdet")):
        if aim.lower().startswith(rule):
            common_rule, point_text = rule, point_rule + aim[len(rule) :]
    if point_text.lower().split("=")[0].split(":")[0] not in {"fpr", "fnr", "min-cdet"}:
        msg = f"--aim {text!r} is not known"
        hint = "write fpr=X, fnr=X, min-cdet, min-cdet:COST, max-fpr=X or least-worst"
        raise ConfigError(msg, hint)
    operating_point = parse_point(point_text, [cost_model])
    return ThresholdAim(aim, operating_point, common_rule, operating_point.cost or cost_model)
