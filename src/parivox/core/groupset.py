"""The groups that a meta-measure uses, their extremes, and the form of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

__all__ = ["GroupSet", "Meta"]


@dataclass(frozen=True, eq=False)
class Meta:
    """A meta-measure with its witnesses and its reason.

    Attributes
    ----------
    value : float64 of shape (...)
    low, high : int64 of shape (...)
        Groups with the lowest and the highest value, the first of equals; -1 without groups
        and for measures that join two rates.
    groups : int64 of shape (...)
        How many groups were used; -1 for `au_fdr`, which sees no groups.
    reason : str array of shape (...)
        Why the value is undefined, infinite or a convention; else empty.
    """

    value: FloatArray
    low: IntArray
    high: IntArray
    groups: IntArray
    reason: NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class GroupSet:
    """Values with the groups that count, and their extremes."""

    values: FloatArray
    used: NDArray[np.bool_]
    n: IntArray
    low: IntArray
    high: IntArray
    low_value: FloatArray
    high_value: FloatArray

    @classmethod
    def of(cls, values: ArrayLike, used: NDArray[np.bool_] | None = None) -> GroupSet:
        """Group set of values; by default all groups whose value is not NaN."""
        x = np.atleast_1d(np.asarray(values, dtype=np.float64))
        used = ~np.isnan(x) if used is None else used
        n = np.asarray(used.sum(axis=-1), dtype=np.int64)
        if x.shape[-1] == 0:
            nowhere, nothing = np.full(n.shape, -1), np.full(n.shape, np.nan)
            return cls(x, used, n, nowhere, nowhere, nothing, nothing)
        from_below, from_above = np.where(used, x, np.inf), np.where(used, x, -np.inf)
        smallest, largest = from_below.min(axis=-1), from_above.max(axis=-1)
        # among used groups that are all infinite the first one is the lowest
        lowest = np.where(
            np.isinf(smallest), np.argmax(used, axis=-1), np.argmin(from_below, axis=-1)
        )
        return cls(
            np.where(used, x, np.nan),
            used,
            n,
            np.where(n > 0, lowest, -1),
            np.where(n > 0, np.argmax(from_above, axis=-1), -1),
            np.where(n > 0, smallest, np.nan),
            np.where(n > 0, largest, np.nan),
        )

    def range(self) -> FloatArray:
        """Largest minus smallest value."""
        with np.errstate(invalid="ignore"):
            return self.high_value - self.low_value

    def worst_to_best(self, below: ArrayLike) -> tuple[FloatArray, NDArray[np.str_]]:
        """Largest value over the smallest of `below`."""
        smallest = GroupSet.of(below, self.used).low_value
        empty = self.high_value == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(empty, 1.0, self.high_value / smallest)
        reason = np.select([empty, smallest == 0], ["zero_over_zero", "zero_cell"], default="")
        return np.where(reason == "zero_cell", np.nan, value), reason

    def best_to_worst(self) -> tuple[FloatArray, NDArray[np.str_]]:
        """Smallest over largest value; 1 if all are 0."""
        empty = self.high_value == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(empty, 1.0, self.low_value / self.high_value)
        return value, np.where(empty, "zero_over_zero", "")

    def gini(self) -> FloatArray:
        """Normalised Gini; 0 if all values are 0.

        With sorted values the sum of all absolute differences is a sum over gaps, each passed
        by k * (n - k) pairs: no term is negative, so equal values give exactly 0.
        """
        rising = np.sort(self.values, axis=-1)
        k = np.arange(1, rising.shape[-1])
        n = self.n[..., None]
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = np.where(k < n, k * (n - k) * np.diff(rising, axis=-1), 0).sum(axis=-1)
            total = np.where(self.used, self.values, 0).sum(axis=-1)
            value = gaps / ((self.n - 1) * total)
        return np.where(total == 0, 0.0, np.minimum(value, 1.0))

    def mean(self) -> FloatArray:
        """Unweighted mean."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(self.used, self.values, 0).sum(axis=-1) / self.n)

    def sd(self, ddof: int) -> FloatArray:
        """Standard deviation with n - `ddof` below the sum of squares."""
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.where(self.used, self.values - self.mean()[..., None], 0)
            return np.where(self.n > ddof, np.sqrt((off**2).sum(axis=-1) / (self.n - ddof)), np.nan)

    def per_mean(self, numerator: FloatArray) -> Meta:
        """A number in units of the mean; NaN if all values are 0."""
        mean = self.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(mean == 0, np.nan, numerator / mean)
        return self.meta(value, np.where(mean == 0, "no_errors", ""))

    def meta(self, value: FloatArray, reason: NDArray[np.str_] | str = "") -> Meta:
        """The result, with the reasons that hold for every measure put first."""
        infinite = np.isinf(self.values).any(axis=-1) & ~np.isfinite(value)
        reason = np.select(
            [self.n == 0, self.n == 1, np.asarray(reason) != "", infinite],
            ["no_groups", "one_group", reason, "infinite_value"],
            default="",
        )
        value = np.where(self.n > 1, value, np.nan)
        return Meta(value[()], self.low[()], self.high[()], self.n[()], reason[()])
