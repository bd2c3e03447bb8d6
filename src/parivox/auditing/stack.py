"""Base metrics of all groups at once, so that one call of a measure serves every row of its kind.

Axes: ``[key, group]`` with a key for each metric, definition and operating point. Replicates of
the bootstrap, and draws of what a fair system would show, are one more axis in front.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.core import bias
from parivox.core.costs import cdet
from parivox.core.counts import Curve
from parivox.core.measures import RATES, base_metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.options import Options
    from parivox.auditing.rows import Base, Key
    from parivox.core.bias import ZeroPolicy
    from parivox.core.counts import FloatArray

__all__ = ["OWN", "RATES", "Against", "Stack", "place_of_rate"]

OWN = "own"
"""What threshold bias is against: the group's own threshold, so that it is at least 1."""
_LINEAR = {"hter", "cdet_raw", "cdet_norm"}
"""Metrics that are sums of the two rates at the operating point."""


def place_of_rate(key: Key, points: Mapping[str, int]) -> int | None:
    """Place of the operating point that it is a rate at; None of anything else."""
    metric, definition, point = key
    return points.get(point) if metric in RATES and not definition else None


@dataclass(frozen=True, eq=False)
class Stack:
    """Base metrics of all groups and of the pooled row.

    Attributes
    ----------
    keys : sequence of Key
    values, errors, trials : float64 ndarrays of shape (..., key, group)
        NaN where undefined; errors also where no threshold is involved.
    pooled, pooled_errors, pooled_trials : float64 ndarrays of shape (..., key)
    reasons : sequence of sequence of str
        Why a value is undefined, ``[key][group]``; empty for replicates.
    """

    keys: Sequence[Key]
    values: FloatArray
    pooled: FloatArray
    errors: FloatArray
    trials: FloatArray
    pooled_errors: FloatArray
    pooled_trials: FloatArray
    reasons: Sequence[Sequence[str]] = ()

    @classmethod
    def of(cls, own: Sequence[Mapping[Key, Base]], pooled: Mapping[Key, Base]) -> Stack:
        """Stack what was measured of each group and of the pooled row, if lower is better."""
        keys = [key for key in pooled if base_metric(key[0]).is_error]
        rows = [[bases[key] for bases in (*own, pooled)] for key in keys]

        def column(take: Any) -> FloatArray:
            cells = np.array([[take(base) for base in row] for row in rows], dtype=np.float64)
            return cells.reshape(len(keys), len(own) + 1)

        return cls.joined(
            keys,
            column(lambda base: base.value),
            column(lambda base: np.nan if base.errors is None else base.errors),
            column(lambda base: base.trials),
            [[base.reason for base in row[:-1]] for row in rows],
        )

    @classmethod
    def joined(
        cls,
        keys: Sequence[Key],
        values: FloatArray,
        errors: FloatArray,
        trials: FloatArray,
        reasons: Sequence[Sequence[str]] = (),
    ) -> Stack:
        """Stack arrays whose last group is the pooled row."""
        return cls(
            keys,
            values[..., :-1],
            values[..., -1],
            errors[..., :-1],
            trials[..., :-1],
            errors[..., -1],
            trials[..., -1],
            reasons,
        )

    def select(self, chosen: Sequence[int]) -> Stack:
        """Some of the keys."""
        return Stack(
            [self.keys[i] for i in chosen],
            self.values[..., chosen, :],
            self.pooled[..., chosen],
            self.errors[..., chosen, :],
            self.trials[..., chosen, :],
            self.pooled_errors[..., chosen],
            self.pooled_trials[..., chosen],
            [self.reasons[i] for i in chosen] if self.reasons else (),
        )

    def where(self, *metrics: str) -> Stack:
        """The keys of some metrics."""
        return self.select([i for i, key in enumerate(self.keys) if key[0] in metrics])

    def having(self, keys: Sequence[Key]) -> Stack:
        """These keys in this order."""
        place = {key: i for i, key in enumerate(self.keys)}
        return self.select([place[key] for key in keys])

    def and_(self, other: Stack) -> Stack:
        """These keys, then those of another."""
        axes = dict.fromkeys(("values", "errors", "trials"), -2)
        axes |= dict.fromkeys(("pooled", "pooled_errors", "pooled_trials"), -1)
        joined = {
            name: np.concatenate((getattr(self, name), getattr(other, name)), axis=axis)
            for name, axis in axes.items()
        }
        keys, reasons = [*self.keys, *other.keys], [*self.reasons, *other.reasons]
        return Stack(keys, reasons=reasons, **joined)

    def only(self, groups: NDArray[np.bool_]) -> Stack:
        """Values of some groups, ``[key, group]``; the others are undefined."""
        return replace(self, values=np.where(groups, self.values, np.nan))

    def lacks(self, other: Stack) -> NDArray[np.bool_]:
        """Where a group has no value that has one in another stack, ``[..., key]``."""
        gone = np.isnan(self.values) & ~np.isnan(other.values)
        return np.asarray(gone.any(axis=-1))

    def under(self, zero: ZeroPolicy) -> tuple[FloatArray, FloatArray]:
        """Values and pooled values under a zero policy."""
        if zero == "none":
            return self.values, self.pooled
        rates = bias.smoothed(self.errors, self.trials, zero)
        average = bias.smoothed(self.pooled_errors, self.pooled_trials, zero)
        return (
            np.where(np.isnan(self.values), np.nan, rates),
            np.where(np.isnan(self.pooled), np.nan, average),
        )

    def others(self, zero: ZeroPolicy, options: Options) -> FloatArray:
        """What each group's value is of all trials but its own, ``[..., key, group]``.

        Known of the rates and of what is a sum of them; NaN for all else.
        """
        errors = self.pooled_errors[..., None] - self.errors
        trials = self.pooled_trials[..., None] - self.trials
        found = np.full(self.values.shape, np.nan)
        place = {key: i for i, key in enumerate(self.keys)}
        costs = {cost.name: cost for cost in options.costs}
        rates = [i for i, key in enumerate(self.keys) if key[0] in RATES]
        found[..., rates, :] = bias.smoothed(errors[..., rates, :], trials[..., rates, :], zero)
        for i, (metric, definition, point) in enumerate(self.keys):
            of = [place[key] for rate in RATES if (key := (rate, "", point)) in place]
            if metric not in _LINEAR or len(of) < len(RATES):
                continue
            rates_of = found[..., of, :]
            if metric == "hter":
                found[..., i, :] = rates_of.mean(axis=-2)
                continue
            # no error counts where the point was not found, nor then a rate
            wrong = np.nan_to_num(errors[..., of, :]).astype(np.int64)[..., None]
            n = trials[..., of, :].astype(np.int64)
            curve = Curve(np.zeros(1), *np.moveaxis(wrong, -3, 0), *np.moveaxis(n, -2, 0)[::-1])
            cost = cdet(curve, costs[definition], normalised=metric == "cdet_norm")[..., 0]
            found[..., i, :] = np.where(np.isnan(rates_of).any(axis=-2), np.nan, cost)
        return found


class Against(NamedTuple):
    """Rates of all groups against one reference, each ``[group]``, and that of all together."""

    ratio: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    pooled: float
