"""Errors of every group at every shared threshold: what moves with the threshold is told of it.

An audit keeps the trials of each cell between thresholds that all cells of one system and list
share. Added up, they are the exact counts of errors at each of these thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.counts import Curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.result import Audit
    from parivox.core.counts import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Binned:
    """The groups of one grouping of one system and list under one allocation.

    Attributes
    ----------
    system, list, grouping, allocation : str
        Of all trials, the grouping is ``all`` and the allocation empty.
    groups : tuple of str
        ``pooled`` last; of all trials only ``all``.
    thresholds : float64 ndarray of shape (threshold,)
        Rising; the first is -inf, which accepts everything.
    fp, fn : int64 ndarrays of shape (group, threshold)
        Nontarget trials accepted and target trials rejected, if those with score >= threshold are
        accepted.
    n_target, n_nontarget : int64 ndarrays of shape (group,)
    """

    system: str
    list: str
    grouping: str
    allocation: str
    groups: tuple[str, ...]
    thresholds: FloatArray
    fp: IntArray
    fn: IntArray
    n_target: IntArray
    n_nontarget: IntArray

    @property
    def curve(self) -> Curve:
        """The errors as the functions of ``core`` take them, at falling thresholds."""
        fp, fn = self.fp[:, ::-1], self.fn[:, ::-1]
        return Curve(self.thresholds[::-1], fp, fn, self.n_target, self.n_nontarget)

    @property
    def fpr(self) -> FloatArray:
        """FPR in [0, 1], shape (group, threshold); NaN without nontarget trials."""
        return self.curve.fpr[:, ::-1]

    @property
    def fnr(self) -> FloatArray:
        """FNR in [0, 1], shape (group, threshold); NaN without target trials."""
        return self.curve.fnr[:, ::-1]


def binned(audit: Audit) -> list[Binned]:
    """Every grouping of an audit, system by system, in the audit's order.

    Empty without scores. Groups of which nothing is known (withheld ones of a file of counts)
    are left out.
    """
    cells = audit.bins.to_dict()
    key = ("system", "list", "grouping", "allocation")
    names = [(a, b, c, d) for a, b, c, d in zip(*(cells[name] for name in key), strict=True)]
    if not names:
        return []
    numbers = {name: np.array(cells[name]) for name in ("threshold", "target", "nontarget")}
    starts = [i for i, one in enumerate(names) if not i or one != names[i - 1]]
    return [
        _binned(names[start], cells["group"][start:stop], numbers, slice(start, stop))
        for start, stop in zip(starts, [*starts[1:], len(names)], strict=True)
    ]


def _binned(
    key: tuple[str, str, str, str],
    group: Sequence[str],
    numbers: Mapping[str, NDArray[Any]],
    at: slice,
) -> Binned:
    groups = tuple(dict.fromkeys(group))
    thresholds, target, nontarget = (
        numbers[name][at].reshape(len(groups), -1) for name in ("threshold", "target", "nontarget")
    )
    accepted = np.cumsum(nontarget[:, ::-1], axis=-1)[:, ::-1]
    rejected = np.cumsum(target, axis=-1) - target
    return Binned(
        *key, groups, thresholds[0], accepted, rejected, target.sum(axis=-1), nontarget.sum(axis=-1)
    )
