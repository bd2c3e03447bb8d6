"""The rows of one measure, and their intervals from draws: the way that every measure takes.

Base metrics, bias measures, meta-measures and differences of systems are all values with the same
values in each draw of speakers. Which distance varies evenly in the draws is a matter of the
measure (`parivox.core.registry.Measure`); everything else is the same for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.resampling import from_replicates
from parivox.facts import caused_cells
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key
    from parivox.core.counts import FloatArray
    from parivox.core.registry import Measure, ZeroPolicy

    Columns = dict[str, NDArray[Any]]
    Bools = NDArray[np.bool_]

_ROUNDING = 1e-12


@frozen(kw_only=True)
class MeasureRows:
    """One measure of every metric that it applies to, of the data and of each draw."""

    measure: Measure
    keys: Sequence[Key]  # metric, definition and operating point, for each index of the first axis
    values: FloatArray  # [key, ...]: of groups, or of all of them
    reasons: NDArray[np.str_]  # [key, ...]: why a value is undefined
    draw_values: FloatArray | None  # [draw, key, ...]; NaN where a draw lacks a group
    zero: ZeroPolicy = "none"  # the rule for rates of 0
    # [key, ...]: a term of the value is the same in all draws, which then show the variation of
    # the other term alone: there is no interval
    is_constant: Bools | bool = False

    @property
    def metrics(self) -> list[str]:
        """Return the metric of each key."""
        return [key[0] for key in self.keys]


def interval_columns(
    measure: Measure, values: FloatArray, draw_values: FloatArray, df: FloatArray, options: Options
) -> Columns:
    """Return limits, p and why there are none, from the draws.

    See docs/methods/uncertainty.md#intervals-from-replicates.

    Parameters
    ----------
    measure
        Whose scale and bounds the interval has.
    values, draw_values
        Of the data, of any shape, and of the draws, with the draws as first axis.
    df
        Degrees of freedom of each value; NaN where there are too few speakers for an interval.
    options
        The confidence, and the least number of speakers, which the note names.

    Returns
    -------
    dict of ndarray
        ``low``, ``high`` (within the bounds of the measure), ``p`` (of the value being at par),
        ``dropped`` (the share of draws in which it is undefined) and ``note`` (why there is no
        interval; empty where there is one).
    """
    interval = from_replicates(
        _without_rounding(measure.distance(values)),
        _without_rounding(measure.distance(draw_values)),
        df,
        scale=measure.interval_scale,
        confidence=options.confidence,
    )
    limits = [measure.value_at_distance(limit) for limit in (interval.low, interval.high)]
    low, high = np.clip((np.minimum(*limits), np.maximum(*limits)), *measure.bounds)
    reasons = np.where(
        np.isnan(df),
        options.minimums.no_interval_reason,
        caused_cells("no_interval", interval.reason),
    )
    return {
        "low": low,
        "high": high,
        "p": np.asarray(interval.p),
        "dropped": np.asarray(interval.dropped),
        "note": np.where(np.isnan(high), reasons, "").astype(object),
    }


def _without_rounding(distances: FloatArray) -> FloatArray:
    """Return distances, 0 where they are no more than rounding.

    Equal rates may come out 1e-16 apart, and the logarithm of that would rule the interval.
    """
    is_rounding = np.abs(distances) < _ROUNDING
    return np.where(is_rounding, 0.0, distances) if is_rounding.any() else distances


def undefined_columns(shape: tuple[int, ...], note: str) -> Columns:
    """Return the columns of values that have no draws, and why."""
    columns: Columns = {name: np.full(shape, np.nan) for name in ("low", "high", "p", "dropped")}
    return columns | {"note": np.full(shape, note, dtype=object)}


def does_not_vary(draw_values: FloatArray) -> Bools:
    """Return whether a value is the same in all draws, along the first axis."""
    return np.asarray(np.fmin.reduce(draw_values) >= np.fmax.reduce(draw_values))
