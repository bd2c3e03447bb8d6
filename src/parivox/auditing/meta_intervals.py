"""How sure meta-measures are: intervals from replicates, and what a fair system would show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from parivox.core.noise import floor
from parivox.core.resampling import from_replicates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.auditing.metas import Call
    from parivox.auditing.stack import Stack
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import FloatArray
    from parivox.core.groupset import Meta
    from parivox.core.measures import MetaMeasure

__all__ = ["in_replicates", "meta_columns", "meta_interval"]


class Ends(TypedDict):
    """Limits of rows, and why there are none."""

    low: FloatArray
    high: FloatArray
    note: NDArray[np.str_]


def meta_columns(
    sure: Uncertainty, call: Call, found: Meta, passed: NDArray[np.bool_] | None
) -> dict[str, Any]:
    """The columns of uncertainty of one meta-measure, in the order of its rows.

    Parameters
    ----------
    sure
        Uncertainty of the groups.
    call
        The measure and its stack.
    found
        Its value on the trials.
    passed
        Groups that pass the gates, ``[key, group]`` of all keys of the pooled row's stack;
        None to take every group.
    """
    value = np.ravel(found.value)
    mean, q95, p = (np.full(value.shape, np.nan) for _ in range(3))
    none = np.full(value.shape, np.nan)
    ends: Ends = {
        "low": none,
        "high": none,
        "note": np.full(value.shape, f"no interval: {sure.why}"),
    }
    keys = call.stack.keys
    chosen = np.ones(call.stack.values.shape, dtype=bool)
    if passed is not None:
        chosen = ~np.isnan(call.stack.values)
    if sure.replicated is not None:
        drawn = in_replicates(call, sure.replicated.stack(keys).only(chosen))
        ends = meta_interval(sure, call.spec, value, drawn)
    rates = [i for i, key in enumerate(keys) if sure.fair.has(key)]
    if rates and (len(rates) == len(keys) or not call.spec.is_joint):
        null = sure.fair.of([keys[i] for i in rates], lifted=call.spec.takes_logs)
        draws = rows_of(call.of(null.only(chosen[rates])).value)
        rows = np.arange(value.size) if call.spec.is_joint else np.array(rates)
        told = floor(value[rows], draws, higher_is_fairer=call.spec.is_higher_fairer)
        mean[rows], q95[rows], p[rows] = told.mean, told.q95, told.p
        if not call.spec.has_p_of_fpr:
            p[[i for i in rates if keys[i][0] == "fpr"]] = np.nan
        if call.spec.takes_logs and call.zero == "none":
            # draws hold half an error for none, which the observed rates do not
            none = (call.stack.values[rates] == 0).any(axis=-1)
            if call.spec.is_joint:
                none = np.tile(none.reshape(2, -1).any(axis=0), value.size // (none.size // 2))
            p[rows] = np.where(none, np.nan, p[rows])
    made = {"low": ends["low"], "high": ends["high"], "floor_mean": mean, "floor_95": q95, "p": p}
    missing = np.isnan(value)
    cells: dict[str, Any] = {name: np.where(missing, np.nan, one) for name, one in made.items()}
    return cells | {"note": np.where(missing, "", ends["note"])}


def in_replicates(call: Call, again: Stack) -> FloatArray:
    """A meta-measure of each replicate, ``[replicate, row]``; NaN where a group is gone."""
    drawn, lost = rows_of(call.of(again).value), again.lacks(call.stack)
    if call.spec.is_joint:  # either rate
        either = lost.reshape(len(lost), 2, -1).any(axis=1)
        lost = np.tile(either, drawn.shape[1] // max(either.shape[1], 1))
    return np.where(lost, np.nan, drawn)


def meta_interval(
    sure: Uncertainty, spec: MetaMeasure, value: FloatArray, drawn: FloatArray
) -> Ends:
    """Limits on a logarithmic scale of how far a measure is from what is fair.

    Parameters
    ----------
    sure, spec
        Uncertainty of the groups, and the measure.
    value, drawn
        The measure, ``[row]``, and of each replicate, ``[replicate, row]``.
    """
    df = float(sure.speakers[-1] - 1)
    sign = -1.0 if spec.is_higher_fairer else 1.0

    def far(values: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            if spec.scale == "ratio":
                return sign * np.log(values)
            return 1 - values if spec.scale == "one" else values

    found = from_replicates(far(value), far(drawn), df, confidence=sure.options.confidence)
    ends: tuple[FloatArray, FloatArray] = found.low, found.high
    if spec.scale == "ratio":
        with np.errstate(over="ignore"):
            ends = np.exp(sign * ends[0]), np.exp(sign * ends[1])
    elif spec.scale == "one":
        ends = 1 - ends[0], 1 - ends[1]
    low, high = np.minimum(*ends), np.maximum(*ends)
    low, high = np.clip(low, *spec.bounds), np.clip(high, *spec.bounds)
    note = np.where(np.isnan(high), np.strings.add("no interval: ", found.reason), "")
    return {"low": low, "high": high, "note": note}


def rows_of(values: FloatArray) -> FloatArray:
    """A measure of replicates, ``[replicate, ...]`` or ``[alpha, replicate, ...]``, by row."""
    if values.ndim > 2:
        values = np.moveaxis(values, 0, 1)
    return values.reshape(len(values), -1)
