"""Groups against each other: the rows of ``bias.csv``.

Everything is stacked first (:mod:`~parivox.auditing.stack`), so that one call of a measure serves
every row of its kind, and the same call every replicate of it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parivox.auditing.crossfit import LEAST
from parivox.auditing.options import REFERENCES
from parivox.auditing.stack import OWN, RATES, Against, Stack
from parivox.core import bias
from parivox.core.costs import cdet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parivox.auditing.cells import Cells
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Base, Key, Rows
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.bias import ZeroPolicy
    from parivox.core.counts import FloatArray

__all__ = [
    "at_cheapest",
    "bias_rows",
    "measured",
    "subgroup_bias",
    "summary_rows",
    "threshold_bias",
]

_NOT_CROSSED = f"fewer than {LEAST} speakers to split, or no replicates"
_MEASURES: dict[str, Callable[[FloatArray, FloatArray], bias.Measured]] = {
    "difference": bias.difference,
    "ratio": bias.ratio,
    "neg_log_ratio": bias.neg_log_ratio,
}


def bias_rows(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    own: Sequence[Mapping[Key, Base]],
    pooled: Mapping[Key, Base],
    cheapest: Sequence[Found],
    options: Options,
    sure: Uncertainty | None = None,
) -> dict[tuple[str, str], Against]:
    """Each group against each reference, by each measure (METHODS 3.1).

    Of intersections, :func:`summary_rows` follow. Returned are ratios of the rates to the first
    reference, with their intervals, by metric and operating point.
    """
    groups = cells.grouping.groups
    start = len(rows.cells["value"])
    whole = Stack.of(own, pooled)
    rates = whole.where(*RATES)
    against: dict[tuple[str, str], Against] = {}
    for zero in options.zero:
        stack = whole if zero == "none" else rates
        for name in options.reference:
            if name not in REFERENCES and name not in groups:
                continue
            for measure in _MEASURES:
                if zero == "nist" and measure == "difference":
                    continue

                way = partial(measured, measure, name, zero, groups, options)
                found = way(stack)
                more: Mapping[str, Any] = {}
                if sure is not None:
                    more = sure.bias(
                        stack,
                        partial(_value, way),
                        found.value,
                        kind=measure,
                        reference=name,
                        names=groups,
                        is_plain=zero == "none",
                    )
                _add_bias(rows, where, groups, stack, measure, name, zero, found, more)
                if (name, measure, zero) == (options.reference[0], "ratio", "none") and more:
                    against = _against(stack.keys, found.value, more)
    _cheapest(rows, where, cells, whole, cheapest, sure)
    summary_rows(rows, where, start, cells.grouping.attributes, cells.grouping.parts)
    return against


def _value(way: Callable[[Stack], bias.Measured], stack: Stack) -> FloatArray:
    """A measure without its reasons."""
    return way(stack).value


def _against(
    keys: Sequence[Key], value: FloatArray, more: Mapping[str, Any]
) -> dict[tuple[str, str], Against]:
    """Ratios of the rates, by metric and operating point."""
    ends = (np.array(more[name], dtype=np.float64) for name in ("low", "high", "p"))
    columns = (value, *(one.reshape(value.shape) for one in ends))
    return {
        (metric, point): Against(*(one[i] for one in columns))
        for i, (metric, definition, point) in enumerate(keys)
        if metric in RATES and not definition
    }


def measured(
    measure: str,
    reference: str,
    zero: ZeroPolicy,
    groups: Sequence[str],
    options: Options,
    stack: Stack,
) -> bias.Measured:
    """One measure of every group against one reference, ``[..., key, group]``."""
    values, average = stack.under(zero)
    # nist adjusts what stands below the fraction bar only
    above = stack.values if zero == "nist" else values
    function = _MEASURES[measure]
    if reference == "others":  # which is another one for each group
        return function(above[..., None], stack.others(zero, options)).flat
    if reference == "pooled":
        return function(above, average)
    if reference in groups:
        return function(above, values[..., groups.index(reference)])
    return function(above, bias.reference(values, cast("bias.Reference", reference)))


def _cheapest(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    whole: Stack,
    cheapest: Sequence[Found],
    sure: Uncertainty | None,
) -> None:
    """Subgroup and threshold bias, each cost at its own smallest cost over all trials."""
    groups = cells.grouping.groups
    for i, found in enumerate(cheapest):
        both = at_cheapest(whole, cells, found)
        stack = both.select([0])

        for measure, reference, function in (
            ("subgroup_bias", "pooled", subgroup_bias),
            ("threshold_bias", "", threshold_bias),
        ):
            value = function(both)
            more: dict[str, Any] = {}
            if sure is not None:
                more |= sure.bias(
                    both,
                    partial(_value, function),
                    value.value,
                    kind="ratio",
                    reference=OWN if measure == "threshold_bias" else reference,
                )
                if measure == "threshold_bias":  # at least 1 by construction: no test of being 1
                    more |= dict.fromkeys(("p", "p_holm", "p_bh"), None)
            _add_bias(rows, where, groups, stack, measure, reference, "none", value, more)
            if sure is not None and measure == "threshold_bias":
                value_cv = np.where(sure.speakers[:-1] < LEAST, np.nan, sure.crossed(i))
                _crossed(rows, where, groups, both.keys[0], value, more, value_cv)


def at_cheapest(whole: Stack, cells: Cells, found: Found) -> Stack:
    """A cost of every group at its smallest over all trials, then each group's own smallest."""
    cost = found.point.cost
    assert cost is not None
    at, least = ("cdet_norm", cost.name, found.point.text), ("min_cdet_norm", cost.name, "")
    minima = whole.having([least])
    everyone = (*cells.groups, cells.pooled)
    costs = np.array([cdet(counts.at([found.threshold]), cost)[0] for counts in everyone])
    reasons = minima.reasons
    if found.reason:
        costs = np.full(costs.shape, np.nan)
        reasons = [[found.reason] * len(cells.groups)]
    here = replace(
        minima, keys=[at], values=costs[None, :-1], pooled=costs[None, -1], reasons=reasons
    )
    return here.and_(minima)


def subgroup_bias(both: Stack) -> bias.Measured:
    """A cost over the pooled one, at one threshold."""
    return bias.ratio(both.values[..., :1, :], both.pooled[..., :1])


def threshold_bias(both: Stack) -> bias.Measured:
    """A cost over the group's own smallest one."""
    return bias.threshold_bias(both.values[..., :1, :], both.values[..., 1:, :])


def _crossed(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    key: Key,
    plain: bias.Measured,
    more: Mapping[str, Any],
    value: FloatArray,
) -> None:
    """Threshold bias with own thresholds of other speakers, as wide as the plain one's interval."""
    with np.errstate(invalid="ignore"):
        low, high = (
            value * np.array(more[name], dtype=np.float64) / plain.value[0]
            for name in ("low", "high")
        )
    rows.add(
        **where,
        group=list(groups),
        metric=key[0],
        definition=key[1],
        operating_point=key[2],
        measure="threshold_bias_cv",
        reference="",
        zero="none",
        value=value,
        reason=[_NOT_CROSSED if missing else "" for missing in np.isnan(value).tolist()],
        low=np.where(np.isnan(value), np.nan, low),
        high=np.where(np.isnan(value), np.nan, high),
    )


def _add_bias(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    stack: Stack,
    measure: str,
    reference: str,
    zero: str,
    found: bias.Measured,
    more: Mapping[str, Any],
) -> None:
    n = len(groups)
    reasons = [
        mine if coded == "undefined_value" else coded
        for row, codes in zip(stack.reasons, found.reason.tolist(), strict=True)
        for mine, coded in zip(row, codes, strict=True)
    ]
    rows.add(
        **where,
        group=list(groups) * len(stack.keys),
        metric=[key[0] for key in stack.keys for _ in range(n)],
        definition=[key[1] for key in stack.keys for _ in range(n)],
        operating_point=[key[2] for key in stack.keys for _ in range(n)],
        measure=measure,
        reference=reference,
        zero=zero,
        value=found.value.reshape(-1).tolist(),
        reason=reasons,
        **more,
    )


def summary_rows(
    rows: Rows,
    where: Mapping[str, Any],
    start: int,
    attributes: Sequence[str],
    parts: Sequence[Sequence[str]],
) -> None:
    """Mean bias of intersections by the values of each of their attributes (paper 001).

    Each is the unweighted mean of one measure over the groups that share a value, as of
    threshold bias over the nationalities of one gender: group ``gender=f``, measure
    ``mean_threshold_bias``. Groups where the measure is undefined are left out of the mean, and
    its reason says so.

    Parameters
    ----------
    rows
        Of ``bias``; from `start` on, blocks of one row a group.
    where
        Columns that all of these rows share.
    start
        First of the rows to summarise.
    attributes
        What the groups intersect; there is nothing to summarise unless there are several.
    parts
        Of each group, its value of each attribute.
    """
    if len(attributes) < 2 or not parts:
        return
    n = len(parts)
    values = np.array(rows.cells["value"][start:], dtype=np.float64).reshape(-1, n)
    names = ("metric", "definition", "operating_point", "reference", "zero")
    shared = {name: rows.cells[name][start::n] for name in names}
    measures = [f"mean_{measure}" for measure in rows.cells["measure"][start::n]]
    for attribute, held in zip(attributes, zip(*parts, strict=True), strict=True):
        for value in dict.fromkeys(held):
            mean, reasons = _means(values[:, [one == value for one in held]])
            rows.add(
                **where,
                **shared,
                group=f"{attribute}={value}",
                measure=measures,
                value=mean,
                reason=reasons,
            )


def _means(values: FloatArray) -> tuple[FloatArray, list[str]]:
    """Means over the groups that have a value, ``[row]``, and what is amiss with each."""
    n = values.shape[1]
    used = (~np.isnan(values)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean = np.where(used > 0, np.nansum(values, axis=1) / np.maximum(used, 1), np.nan)
    told = {n: "", 0: "undefined in every group"}
    reasons = [
        told.get(k, f"mean over {k} of {n} groups; undefined in {n - k}") for k in used.tolist()
    ]
    for i in np.flatnonzero(np.isinf(values).any(axis=1)):
        reasons[i] = "; ".join(filter(None, (reasons[i], "infinite_value")))
    return mean, reasons
