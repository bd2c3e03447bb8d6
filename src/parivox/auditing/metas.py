"""One number for all groups: the rows of ``meta.csv`` and of the sweep."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.meta_intervals import meta_columns, meta_interval
from parivox.auditing.stack import RATES, Stack
from parivox.core.measures import MetaMeasure, meta_measures
from parivox.core.meta import fdr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.auditing.cells import Cells
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.replicated import Replicated
    from parivox.auditing.rows import Base, Key, Rows
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.bias import ZeroPolicy
    from parivox.core.counts import Counts, FloatArray
    from parivox.core.groupset import Meta

__all__ = [
    "AXES",
    "Call",
    "areas_drawn",
    "calls",
    "grid_stacks",
    "heights",
    "meta_rows",
    "sweep_rows",
]

AXES = ("log10", "linear")
"""Scales of FPR that the area under FDR is taken on."""


def meta_rows(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    own: Sequence[Mapping[Key, Base]],
    pooled: Mapping[Key, Base],
    grid: Sequence[Found],
    options: Options,
    sure: Uncertainty | None = None,
) -> None:
    """One number for all groups, by each meta-measure (docs/methods/meta-measures.md).

    With uncertainty told, once more for the groups that pass the gates.
    """
    whole, start = Stack.of(own, pooled), len(rows.cells["value"])
    _all_measures(rows, {**where, "gated": False}, cells, whole, grid, options, sure)
    if sure is None:
        return
    passed = sure.passed(whole.keys)
    if passed.all():  # the very same numbers
        rows.add(**{name: column[start:] for name, column in rows.cells.items()} | {"gated": True})
        return
    gated = {**where, "gated": True}
    _all_measures(rows, gated, cells, whole.only(passed), grid, options, sure, passed)


def _all_measures(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    stack: Stack,
    grid: Sequence[Found],
    options: Options,
    sure: Uncertainty | None,
    passed: NDArray[np.bool_] | None = None,
) -> None:
    """Rows of all groups, or of those that pass the gates."""
    for call in calls(stack, options):
        found = call.of(call.stack)
        more = {} if sure is None else meta_columns(sure, call, found, passed)
        rows.add(
            **where,
            metric=call.metrics,
            definition=call.definitions,
            operating_point=call.points,
            alpha=call.alphas,
            **_block(call.spec, call.zero, found, cells.grouping.groups),
            **more,
        )
    if sure is not None:
        _noise_corrected(rows, where, stack.where(*RATES), sure)
    _area(rows, where, cells, grid, options, sure)


def _noise_corrected(rows: Rows, where: Mapping[str, Any], rates: Stack, sure: Uncertainty) -> None:
    """Spread that is left once the noise of speakers is taken off.

    See docs/methods/noise-floors.md#tau-log.
    """
    for measure, found in sure.corrected(rates).items():
        rows.add(
            **where,
            metric=[key[0] for key in rates.keys],
            definition="",
            operating_point=[key[2] for key in rates.keys],
            alpha=None,
            measure=measure,
            zero="none",
            low_group="",
            high_group="",
            higher_is_fairer=False,
            **found,
        )


def _area(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    grid: Sequence[Found],
    options: Options,
    sure: Uncertainty | None,
) -> None:
    """Area under FDR over the sweep's false positive rates."""
    spec = meta_measures()["au_fdr"]
    stacks: Sequence[Stack] = grid_stacks(cells, grid)
    drawn = None
    if sure is not None:
        if where["gated"]:
            stacks = [one.only(sure.enough) for one in stacks]
        if sure.replicated is not None:
            drawn = areas_drawn(stacks, sure.replicated, options)
    points, n = heights(stacks, options)
    for axis in AXES:
        found = spec.of(*points, axis=axis)
        more: dict[str, Any] = {}
        if sure is not None and drawn is not None:
            more = dict(meta_interval(sure, spec, found.value, drawn[axis]))
        rows.add(
            **where,
            metric=spec.metric,
            definition=axis,
            operating_point=options.area_text,
            alpha=list(options.alpha),
            **{**_block(spec, "none", found, cells.grouping.groups), "groups": n},
            **more,
        )


def areas_drawn(
    stacks: Sequence[Stack], replicated: Replicated, options: Options
) -> dict[str, FloatArray]:
    """Area under FDR in each replicate, ``[replicate, alpha]``; NaN where a group is gone."""
    again = [replicated.stack(one.keys).only(~np.isnan(one.values)) for one in stacks]
    lost = np.stack([mine.lacks(one) for mine, one in zip(again, stacks, strict=True)])
    points, gone = heights(again, options)[0], np.asarray(lost.any(axis=(0, -1)))[:, None]
    area = meta_measures()["au_fdr"].of
    return {axis: np.where(gone, np.nan, area(*points, axis=axis).value.T) for axis in AXES}


def heights(stacks: Sequence[Stack], options: Options) -> tuple[tuple[FloatArray, FloatArray], int]:
    """FDR ``[alpha, ..., point]`` with the pooled FPR of each point, and of how few groups."""
    fpr, fnr = stacks
    found = fdr(fpr.values, fnr.values, alpha=np.array(options.alpha))
    return (found.value, fpr.pooled), int(np.min(found.groups))


def sweep_rows(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    grid: Sequence[Found],
    options: Options,
) -> None:
    """Meta-measures of the rates over a grid of operating points."""
    thresholds = [f.threshold for f in grid]
    fpr, fnr = grid_stacks(cells, grid)
    every = [*calls(fpr, options), *calls(fnr, options), *_joints(fpr.and_(fnr), options)]
    for call in every:
        rows.add(
            **where,
            metric=call.metrics,
            operating_point=call.points,
            threshold=thresholds * (len(call.points) // len(thresholds)),
            alpha=call.alphas,
            **_block(call.spec, call.zero, call.of(call.stack), cells.grouping.groups),
        )


@dataclass(frozen=True, eq=False)
class Call:
    """One meta-measure under one zero policy, of everything that it applies to.

    Attributes
    ----------
    spec, zero
        The measure and the policy.
    stack : Stack
        The keys that it takes: for measures that join both rates, FPR at every operating point
        and then FNR.
    of : callable
        The measure of a stack of these keys, also of one with an axis of replicates in front.
    metrics, definitions, points, alphas
        Of each row, in the order of the values; those of all alphas, each at every point.
    """

    spec: MetaMeasure
    zero: ZeroPolicy
    stack: Stack
    of: Callable[[Stack], Meta]
    metrics: list[str]
    definitions: list[str]
    points: list[str]
    alphas: list[float | None]


def calls(stack: Stack, options: Options) -> Iterator[Call]:
    """Every measure, those of one metric first."""
    rates = stack.where(*RATES)
    for spec, zero in _specs(options):
        if spec.is_joint:
            continue
        chosen = stack if zero == "none" else rates
        if spec.metric:
            chosen = chosen.where(spec.metric)
        if not chosen.keys:
            continue
        metrics, definitions, points = (list(column) for column in zip(*chosen.keys, strict=True))
        yield Call(
            spec,
            zero,
            chosen,
            partial(_single, spec, zero),
            metrics,
            definitions,
            points,
            [None] * len(points),
        )
    fpr, fnr = stack.where("fpr"), stack.where("fnr")
    if fpr.keys and fnr.keys:
        yield from _joints(fpr.and_(fnr), options)


def _joints(both: Stack, options: Options) -> Iterator[Call]:
    """Measures that join both rates, at every operating point and alpha."""
    n = len(both.keys) // 2
    texts = [point for _, _, point in both.keys[:n]]
    for spec, zero in _specs(options):
        if not spec.is_joint:
            continue
        alphas: tuple[float | None, ...] = options.alpha if spec.takes == "alpha" else (None,)
        size = n * len(alphas)
        yield Call(
            spec,
            zero,
            both,
            partial(_joint, spec, zero, options.alpha),
            [spec.metric] * size,
            [""] * size,
            texts * len(alphas),
            [alpha for alpha in alphas for _ in texts],
        )


def _specs(options: Options) -> Iterator[tuple[MetaMeasure, ZeroPolicy]]:
    for spec in meta_measures().values():
        if spec.compute is not None and spec.takes != "grid":
            yield from ((spec, zero) for zero in options.zero if zero in spec.zero_policies)


def _single(spec: MetaMeasure, zero: ZeroPolicy, stack: Stack) -> Meta:
    """A measure of one metric, ``[..., key]``."""
    values, average = stack.under(zero)
    more: dict[str, ArrayLike] = {}
    if zero == "nist":
        more["denominator"] = values
        values = stack.values
    arguments = (values, average) if spec.takes == "average" else (values,)
    return spec.of(*arguments, **more)


def _joint(spec: MetaMeasure, zero: ZeroPolicy, alpha: Sequence[float], both: Stack) -> Meta:
    """A measure of both rates, ``[alpha, ..., point]`` or without the first axis."""
    values = both.under(zero)[0]
    n = len(both.keys) // 2
    more: dict[str, Any] = {}
    rates = values[..., :n, :], values[..., n:, :]
    if zero == "nist":
        more["denominator"] = rates
        rates = both.values[..., :n, :], both.values[..., n:, :]
    if spec.takes == "alpha":
        more["alpha"] = np.array(alpha)
    return spec.of(*rates, **more)


def _block(spec: MetaMeasure, zero: str, found: Meta, groups: Sequence[str]) -> dict[str, Any]:
    """The columns that every row of a measure has."""
    names = (*groups, "")  # index -1: no witness
    return {
        "measure": spec.id,
        "zero": zero,
        "value": np.ravel(found.value).tolist(),
        "low_group": [names[i] for i in np.ravel(found.low).tolist()],
        "high_group": [names[i] for i in np.ravel(found.high).tolist()],
        "groups": np.ravel(found.groups).tolist(),
        "higher_is_fairer": spec.is_higher_fairer,
        "reason": np.ravel(found.reason).tolist(),
    }


def grid_stacks(cells: Cells, grid: Sequence[Found]) -> tuple[Stack, Stack]:
    """FPR and FNR of every group on a grid of operating points."""
    thresholds = [f.threshold for f in grid]
    lost = np.isnan(thresholds)
    everyone: Sequence[Counts] = (*cells.groups, cells.pooled)
    curves = [counts.at(thresholds) for counts in everyone]
    stacks = []
    for metric, counted in (("fpr", "fp"), ("fnr", "fn")):
        errors = np.array([getattr(curve, counted) for curve in curves])
        rates = np.array([getattr(curve, metric) for curve in curves])
        n = [int(c.n_nontarget if metric == "fpr" else c.n_target) for c in curves]
        trials = np.repeat(np.array(n)[:, None], lost.size, axis=1)
        rates = np.where(lost, np.nan, rates)
        keys = [(metric, "", f.point.text) for f in grid]
        columns = [a.T.astype(np.float64) for a in (rates, errors, trials)]
        stacks.append(
            Stack(
                keys,
                columns[0][:, :-1],
                columns[0][:, -1],
                columns[1][:, :-1],
                columns[2][:, :-1],
                columns[1][:, -1],
                columns[2][:, -1],
                [[""] * len(cells.groups)] * len(keys),
            )
        )
    return stacks[0], stacks[1]
