"""Limits of rates all along the threshold, from those thresholds at which they were computed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parivox.auditing.result import Audit
    from parivox.core.counts import FloatArray, IntArray
    from parivox.report.binned import Binned

__all__ = ["LIMITS", "Bands"]

LIMITS = ("fpr_low", "fpr_high", "fnr_low", "fnr_high")
OF_RATIOS = ("fpr_ratio_low", "fpr_ratio_high", "fnr_ratio_low", "fnr_ratio_high")
MOST_RATIO = 1e6
"""Limits of ratios are kept as parts of this, below 1, so that they are mixed as rates are."""
FEW = 20
"""Up to so many errors, or trials without, what is mixed from nodes may be far off."""


@dataclass(frozen=True)
class Bands:
    """Limits of every group's rates at some of the thresholds.

    Attributes
    ----------
    nodes : int array of shape (node,)
        Places among the thresholds, rising.
    limits : float64 of shape (limit, group, node)
        Lower and upper limit of FPR, of FNR, of their ratios to all other groups; NaN where there
        is none.
    """

    nodes: IntArray
    limits: FloatArray

    @classmethod
    def of(cls, audit: Audit, one: Binned) -> Bands:
        """The bands of a grouping, of those thresholds that its bins have."""
        found = audit.bands.where(
            system=one.system, list=one.list, grouping=one.grouping, allocation=one.allocation
        ).to_dict()
        place = {threshold: k for k, threshold in enumerate(one.thresholds.tolist())}
        at = [place.get(threshold, -1) for threshold in found["threshold"]]
        nodes = sorted({k for k in at if k >= 0})
        column = {k: j for j, k in enumerate(nodes)}
        row = {group: i for i, group in enumerate(one.groups)}
        limits = np.full((len(LIMITS + OF_RATIOS), len(one.groups), len(nodes)), np.nan)
        for n, (group, k) in enumerate(zip(found["group"], at, strict=True)):
            if k >= 0 and group in row:
                cells = [found[name][n] for name in LIMITS + OF_RATIOS]
                limits[:, row[group], column[k]] = np.array(cells, dtype=np.float64)
        limits[len(LIMITS) :] = np.minimum(limits[len(LIMITS) :] / MOST_RATIO, 0.9999)
        return cls(np.array(nodes, dtype=np.int64), limits)

    def at(self, k: int, thresholds: FloatArray) -> FloatArray:
        """Limits at a threshold, ``[limit, group]``: between two nodes those of both, mixed.

        Mixed in logits, by where the threshold lies between them; plainly, where either limit is
        0 or 1. Beyond the nodes there are none.
        """
        j = int(np.searchsorted(self.nodes, k))
        if j < self.nodes.size and self.nodes[j] == k:
            return np.asarray(self.limits[..., j])
        if j in (0, self.nodes.size):
            return np.full(self.limits.shape[:-1], np.nan)
        before, after = thresholds[self.nodes[j - 1]], thresholds[self.nodes[j]]
        share = (thresholds[k] - before) / (after - before)
        low, high = self.limits[..., j - 1], self.limits[..., j]
        with np.errstate(divide="ignore", invalid="ignore"):
            logit = (1 - share) * np.log(low / (1 - low)) + share * np.log(high / (1 - high))
            mixed = 1 / (1 + np.exp(-logit))
        inside = (low > 0) & (low < 1) & (high > 0) & (high < 1)
        return np.asarray(np.where(inside, mixed, (1 - share) * low + share * high))

    def ratios_at(self, k: int, thresholds: FloatArray) -> FloatArray:
        """Limits of the ratios at a threshold, ``[limit, group]``: low and high of FPR, of FNR."""
        return self.at(k, thresholds)[len(LIMITS) :] * MOST_RATIO

    def is_rough(self, k: int, errors: int, trials: int) -> bool:
        """Whether limits at a threshold are mixed, and of so few errors that they may be off."""
        return k not in self.nodes and min(errors, trials - errors) <= FEW

    def codes(self) -> list[int]:
        """Every limit to four digits, as one integer: 0 for none, 1 for zero."""
        return [_code(limit) for limit in self.limits.ravel().tolist()]

    def exact(self, places: Iterable[int]) -> dict[str, list[float | None]]:
        """All digits of the limits at some of the nodes."""
        found = {}
        for j, k in enumerate(self.nodes.tolist()):
            if k in places:
                cells = self.limits[..., j].ravel().tolist()
                found[str(k)] = [None if math.isnan(cell) else cell for cell in cells]
        return found


def _code(limit: float) -> int:
    if math.isnan(limit):
        return 0
    mantissa, exponent = f"{limit:.3e}".split("e")
    if limit <= 0 or int(exponent) < -12:
        return 1
    return 2 - 9000 * int(exponent) + int(mantissa.replace(".", "")) - 1000
