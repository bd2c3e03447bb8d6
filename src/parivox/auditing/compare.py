"""Groups against each other: the rows of ``bias.csv``.

Everything is stacked first (:mod:`~parivox.auditing.stack`), so that one call of a measure serves
every row of its kind, and the same call every replicate of it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parivox.auditing.bias_intervals import bias_columns, mean_over
from parivox.auditing.crossfit import LEAST
from parivox.auditing.options import REFERENCES
from parivox.auditing.stack import OWN, RATES, Against, Stack
from parivox.core import bias
from parivox.core.costs import cdet
from parivox.core.measures import bias_measures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.bias_intervals import Columns
    from parivox.auditing.cells import Cells
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Base, Key, Rows
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.bias import ZeroPolicy
    from parivox.core.counts import FloatArray
    from parivox.core.measures import BiasMeasure
    from parivox.read.grouping import Grouping

    Compared = Callable[[FloatArray, FloatArray], bias.Measured]

__all__ = [
    "against",
    "as_plain",
    "at_cheapest",
    "bias_rows",
    "left_out",
    "mean_rows",
    "measured",
    "shared_values",
    "subgroup_bias",
    "threshold_bias",
    "times_plain",
]

_TESTS = ("p", "p_holm", "p_bh")
_NOT_CROSSED = f"fewer than {LEAST} speakers to split, or no replicates"


def against() -> list[BiasMeasure]:
    """The measures that are taken against each reference."""
    return [one for one in bias_measures().values() if one.is_of_references]


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
    """Each group against each reference, by each measure (docs/methods/bias-measures.md).

    Of intersections, :func:`mean_rows` follow. Returned are ratios of the rates to the first
    reference, with their intervals, by metric and operating point.
    """
    groups, sharing = cells.grouping.groups, shared_values(cells.grouping)
    start = len(rows.cells["value"])
    whole = Stack.of(own, pooled)
    rates = whole.where(*RATES)
    ratios: dict[tuple[str, str], Against] = {}
    of_means: list[Columns] = []
    for zero in options.zero:
        stack = whole if zero == "none" else rates
        for name in options.reference:
            if name not in REFERENCES and name not in groups:
                continue
            for measure in (one.id for one in against()):
                if zero == "nist" and measure == "difference":
                    continue

                way = partial(measured, measure, name, zero, groups, options)
                found = way(stack)
                more: Columns = {}
                if sure is not None:
                    more, means = bias_columns(
                        sure,
                        stack,
                        partial(_value, way),
                        found.value,
                        kind=measure,
                        reference=name,
                        names=groups,
                        is_plain=zero == "none",
                        sharing=sharing,
                    )
                    of_means.append(means)
                _add_bias(rows, where, groups, stack, measure, name, zero, found, more)
                if (name, measure, zero) == (options.reference[0], "ratio", "none") and more:
                    ratios = _against(stack, found.value, more)
    of_means += _cheapest(rows, where, cells, whole, cheapest, sure)
    mean_rows(rows, where, start, cells.grouping, of_means)
    return ratios


def _value(way: Callable[[Stack], bias.Measured], stack: Stack) -> FloatArray:
    """A measure without its reasons."""
    return way(stack).value


def _against(stack: Stack, value: FloatArray, more: Columns) -> dict[tuple[str, str], Against]:
    """Ratios of the rates, by metric and operating point."""
    return {
        (metric, point): Against(
            value[i], more["low"][i], more["high"][i], more["p"][i], float(stack.pooled[i])
        )
        for i, (metric, definition, point) in enumerate(stack.keys)
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
    function = cast("Compared", bias_measures()[measure].compute)
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
) -> list[Columns]:
    """Subgroup and threshold bias, each cost at its own smallest cost over all trials.

    Returned is how sure their means are, in the order of the rows.
    """
    groups, sharing = cells.grouping.groups, shared_values(cells.grouping)
    of_means: list[Columns] = []
    for i, found in enumerate(cheapest):
        both = at_cheapest(whole, cells, found)
        stack = both.select([0])
        for measure, reference, function in (
            ("subgroup_bias", "pooled", subgroup_bias),
            ("threshold_bias", "", threshold_bias),
        ):
            value = function(both)
            more: Columns = {}
            means: Columns = {}
            if sure is not None:
                more, means = bias_columns(
                    sure,
                    both,
                    partial(_value, function),
                    value.value,
                    kind="ratio",
                    reference=reference or OWN,
                    sharing=sharing,
                )
                of_means.append(means)
            _add_bias(rows, where, groups, stack, measure, reference, "none", value, more)
        if sure is not None:  # of the threshold bias, which came last
            crossed = np.where(sure.speakers[:-1] < LEAST, np.nan, sure.crossed(i))[None]
            more, means = bias_columns(
                sure,
                both,
                partial(as_plain, times_plain(crossed, value.value)),
                crossed,
                kind="ratio",
                sharing=sharing,
            )
            for columns in filter(None, (more, means)):  # varies as the plain one: no test
                columns |= {name: np.full(columns["p"].shape, np.nan) for name in _TESTS}
            of_means.append(means)
            told = bias.Measured(crossed, partial(_unknown, crossed))
            _add_bias(rows, where, groups, stack, "threshold_bias_cv", "", "none", told, more)
    return of_means


def _unknown(crossed: FloatArray) -> dict[str, NDArray[np.bool_]]:
    """Why there is no threshold bias of other speakers' thresholds, and where."""
    return {_NOT_CROSSED: np.isnan(crossed)}


def times_plain(crossed: FloatArray, plain: FloatArray) -> FloatArray:
    """How many times as large the cross-fitted threshold bias is as the plain one.

    Unknown where the plain one has no bound, as the smallest cost is 0, or the other is 0.
    """
    is_known = np.isfinite(plain) & (crossed > 0)
    return np.where(is_known, crossed, np.nan) / plain


def as_plain(times: FloatArray, both: Stack) -> FloatArray:
    """Threshold bias, so many times as large."""
    return threshold_bias(both).value * times


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


def _add_bias(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    stack: Stack,
    measure: str,
    reference: str,
    zero: str,
    found: bias.Measured,
    more: Columns,
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
        **{name: cells.ravel() for name, cells in more.items()},
    )


def shared_values(grouping: Grouping) -> list[dict[str, NDArray[np.bool_]]]:
    """Of each attribute of an intersection, the groups that share each of its values."""
    if len(grouping.attributes) < 2 or not grouping.parts:
        return []
    return [
        {
            f"{name}={value}": np.array([one == value for one in held])
            for value in dict.fromkeys(held)
        }
        for name, held in zip(grouping.attributes, zip(*grouping.parts, strict=True), strict=True)
    ]


def mean_rows(
    rows: Rows,
    where: Mapping[str, Any],
    start: int,
    grouping: Grouping,
    of_means: Sequence[Columns] = (),
) -> None:
    """Mean bias of intersections by the values of each of their attributes.

    See docs/methods/bias-measures.md#means-over-an-attribute.

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
    grouping
        There is nothing to summarise unless it is of several attributes.
    of_means
        How sure they are, as :func:`~parivox.auditing.bias_intervals.bias_columns` has it, in the
        order of the blocks.
    """
    named = {name: mask for one in shared_values(grouping) for name, mask in one.items()}
    if not named:
        return
    n = len(grouping.groups)
    values = np.array(rows.cells["value"][start:], dtype=np.float64).reshape(-1, n)
    names = ("metric", "definition", "operating_point", "reference", "zero")
    shared = {name: rows.cells[name][start::n] for name in names}
    measures = [f"mean_{measure}" for measure in rows.cells["measure"][start::n]]
    more = {
        name: np.concatenate([of[name] for of in of_means])
        for name in (of_means[0] if of_means else ())
    }
    means = mean_over(values, list(named.values()))
    for i, (group, mask) in enumerate(named.items()):
        rows.add(
            **where,
            **shared,
            group=group,
            measure=measures,
            value=means[:, i],
            reason=left_out(values[:, mask]),
            **{name: cells[:, i] for name, cells in more.items()},
        )


def left_out(values: FloatArray) -> list[str]:
    """What is amiss with the means over some groups, ``[row, group]``."""
    n = values.shape[1]
    used = (~np.isnan(values)).sum(axis=1)
    told = {n: "", 0: "undefined in every group"}
    reasons = [
        told.get(k, f"mean over {k} of {n} groups; undefined in {n - k}") for k in used.tolist()
    ]
    for i in np.flatnonzero(np.isinf(values).any(axis=1)):
        reasons[i] = "; ".join(filter(None, (reasons[i], "infinite_value")))
    return reasons
