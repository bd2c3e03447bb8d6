"""Groups against each other: the rows of ``bias.csv``, ``meta.csv`` and the sweep.

Everything is stacked first, ``[key, group]`` with a key for each metric, definition and
operating point, so that one call of a measure serves every row of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parivox.auditing.base import is_lower_better
from parivox.auditing.options import REFERENCES
from parivox.core import bias
from parivox.core.costs import cdet
from parivox.core.meta import MEASURES, MeasureSpec, Meta

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from parivox.auditing.cells import Cells
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Base, Key, Rows
    from parivox.core.bias import Reference, ZeroPolicy
    from parivox.core.counts import Counts, FloatArray

__all__ = ["bias_rows", "meta_rows", "summary_rows", "sweep_rows"]

RATES = ("fpr", "fnr")
_MEASURES = {
    "difference": bias.difference,
    "ratio": bias.ratio,
    "neg_log_ratio": bias.neg_log_ratio,
}


@dataclass(frozen=True, eq=False)
class _Stack:
    """Base metrics of all groups and of the pooled row, ``[key, group]``."""

    keys: Sequence[Key]
    values: FloatArray
    pooled: FloatArray
    errors: FloatArray
    trials: FloatArray
    pooled_errors: FloatArray
    pooled_trials: FloatArray
    reasons: Sequence[Sequence[str]]

    @classmethod
    def of(cls, own: Sequence[Mapping[Key, Base]], pooled: Mapping[Key, Base]) -> _Stack:
        keys = [key for key in pooled if is_lower_better(key[0])]
        rows = [[bases[key] for bases in (*own, pooled)] for key in keys]

        def column(take: Any) -> tuple[FloatArray, FloatArray]:
            cells = np.array([[take(base) for base in row] for row in rows], dtype=np.float64)
            cells = cells.reshape(len(keys), len(own) + 1)
            return cells[:, :-1], cells[:, -1]

        values, average = column(lambda base: base.value)
        errors, pooled_errors = column(lambda base: np.nan if base.errors is None else base.errors)
        trials, pooled_trials = column(lambda base: base.trials)
        reasons = [[base.reason for base in row[:-1]] for row in rows]
        return cls(keys, values, average, errors, trials, pooled_errors, pooled_trials, reasons)

    def select(self, chosen: list[int]) -> _Stack:
        return _Stack(
            [self.keys[i] for i in chosen],
            self.values[chosen],
            self.pooled[chosen],
            self.errors[chosen],
            self.trials[chosen],
            self.pooled_errors[chosen],
            self.pooled_trials[chosen],
            [self.reasons[i] for i in chosen],
        )

    def where(self, *metrics: str) -> _Stack:
        return self.select([i for i, key in enumerate(self.keys) if key[0] in metrics])

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


def bias_rows(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    own: Sequence[Mapping[Key, Base]],
    pooled: Mapping[Key, Base],
    cheapest: Sequence[Found],
    options: Options,
) -> None:
    """Each group against each reference, by each measure (METHODS 3.1).

    Of intersections, :func:`summary_rows` follow.
    """
    groups = cells.grouping.groups
    start = len(rows.cells["value"])
    whole = _Stack.of(own, pooled)
    rates = whole.where(*RATES)
    for zero in options.zero:
        stack = whole if zero == "none" else rates
        values, average = stack.under(zero)
        # nist adjusts what stands below the fraction bar only
        above = stack.values if zero == "nist" else values
        for name in options.reference:
            reference = _reference(name, values, average, groups)
            if reference is None:
                continue
            for measure, function in _MEASURES.items():
                if zero == "nist" and measure == "difference":
                    continue
                found = function(above, reference)
                _add_bias(rows, where, groups, stack, measure, name, zero, found)
    _cheapest(rows, where, cells, whole, cheapest)
    summary_rows(rows, where, start, cells.grouping.attributes, cells.grouping.parts)


def _cheapest(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    whole: _Stack,
    cheapest: Sequence[Found],
) -> None:
    """Subgroup and threshold bias, each cost at its own smallest cost over all trials."""
    groups = cells.grouping.groups
    own = {key[1]: i for i, key in enumerate(whole.keys) if key[0] == "min_cdet_norm"}
    for found in cheapest:
        cost = found.point.cost
        assert cost is not None
        minima = whole.select([own[cost.name]])
        costs = np.array(
            [
                cdet(counts.at([found.threshold]), cost)[0]
                for counts in (*cells.groups, cells.pooled)
            ]
        )
        stack = replace(minima, keys=[("cdet_norm", cost.name, found.point.text)])
        if found.reason:
            costs = np.full(costs.shape, np.nan)
            stack = replace(stack, reasons=[[found.reason] * len(groups)])
        here, average = costs[None, :-1], costs[None, -1]
        subgroup = bias.ratio(here, average)
        _add_bias(rows, where, groups, stack, "subgroup_bias", "pooled", "none", subgroup)
        threshold = bias.threshold_bias(here, minima.values)
        _add_bias(rows, where, groups, stack, "threshold_bias", "", "none", threshold)


def _reference(
    name: str, values: FloatArray, average: FloatArray, groups: Sequence[str]
) -> FloatArray | None:
    """What groups are compared with, ``[key]``; None for a group of another grouping."""
    if name == "pooled":
        return average
    if name in REFERENCES:
        return bias.reference(values, cast("Reference", name))
    return values[:, groups.index(name)] if name in groups else None


def _add_bias(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    stack: _Stack,
    measure: str,
    reference: str,
    zero: str,
    found: bias.Measured,
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


def meta_rows(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    own: Sequence[Mapping[Key, Base]],
    pooled: Mapping[Key, Base],
    grid: Sequence[Found],
    options: Options,
) -> None:
    """One number for all groups, by each meta-measure (METHODS 3.2)."""
    groups = cells.grouping.groups
    stack = _Stack.of(own, pooled)
    for spec, zero, chosen, found in _singles(stack, options):
        block = _block(spec, zero, found, groups)
        keys = chosen.keys
        rows.add(
            **where,
            metric=[key[0] for key in keys],
            definition=[key[1] for key in keys],
            operating_point=[key[2] for key in keys],
            alpha=None,
            **block,
        )
    both = (stack.where("fpr"), stack.where("fnr"))
    texts = [point for _, _, point in both[0].keys]
    for spec, zero, alphas, found in _joints(*both, options):
        rows.add(
            **where,
            metric=spec.metric,
            definition="",
            operating_point=texts * len(alphas),
            alpha=[alpha for alpha in alphas for _ in texts],
            **_block(spec, zero, found, groups),
        )
    _area(rows, where, cells, grid, options)


def _area(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    grid: Sequence[Found],
    options: Options,
) -> None:
    """Area under FDR over the sweep's false positive rates."""
    spec = MEASURES["au_fdr"]
    fpr, fnr = _grid_stacks(cells, grid)
    heights = MEASURES["fdr"].function(fpr.values, fnr.values, alpha=np.array(options.alpha))
    n = int(heights.groups.min())
    for axis in ("log10", "linear"):
        found = spec.function(heights.value, fpr.pooled, axis=axis)
        rows.add(
            **where,
            metric=spec.metric,
            definition=axis,
            operating_point=options.area_text,
            alpha=list(options.alpha),
            **{**_block(spec, "none", found, cells.grouping.groups), "groups": n},
        )


def sweep_rows(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    grid: Sequence[Found],
    options: Options,
) -> None:
    """Meta-measures of the rates over a grid of operating points (papers 000 and 003)."""
    groups = cells.grouping.groups
    texts, thresholds = [f.point.text for f in grid], [f.threshold for f in grid]
    stacks = _grid_stacks(cells, grid)
    for stack in stacks:
        for spec, zero, chosen, found in _singles(stack, options):
            rows.add(
                **where,
                metric=chosen.keys[0][0],
                operating_point=texts,
                threshold=thresholds,
                alpha=None,
                **_block(spec, zero, found, groups),
            )
    for spec, zero, alphas, found in _joints(*stacks, options):
        rows.add(
            **where,
            metric=spec.metric,
            operating_point=texts * len(alphas),
            threshold=thresholds * len(alphas),
            alpha=[alpha for alpha in alphas for _ in texts],
            **_block(spec, zero, found, groups),
        )


def _singles(stack: _Stack, options: Options) -> Iterator[tuple[MeasureSpec, str, _Stack, Meta]]:
    """Measures of one metric, for every key that they apply to."""
    rates = stack.where(*RATES)
    for spec in MEASURES.values():
        if spec.joint:
            continue
        for zero in options.zero:
            if zero not in spec.zero_policies:
                continue
            chosen = stack if zero == "none" else rates
            if spec.metric:
                chosen = chosen.where(spec.metric)
            if not chosen.keys:
                continue
            values, average = chosen.under(zero)
            more: dict[str, ArrayLike] = {}
            if zero == "nist":
                more["denominator"] = values
                values = chosen.values
            arguments = (values, average) if spec.uses_average else (values,)
            yield spec, zero, chosen, spec.function(*arguments, **more)


def _joints(
    fpr: _Stack, fnr: _Stack, options: Options
) -> Iterator[tuple[MeasureSpec, str, tuple[float | None, ...], Meta]]:
    """Measures that join both rates, at every operating point and alpha."""
    for spec in MEASURES.values():
        if not spec.joint or spec.id == "au_fdr":
            continue
        for zero in options.zero:
            if zero not in spec.zero_policies:
                continue
            rates = fpr.under(zero)[0], fnr.under(zero)[0]
            more: dict[str, Any] = {}
            if zero == "nist":
                more["denominator"] = rates
                rates = fpr.values, fnr.values
            alphas: tuple[float | None, ...] = (None,)
            if spec.uses_alpha:
                alphas = options.alpha
                more["alpha"] = np.array(options.alpha)
            yield spec, zero, alphas, spec.function(*rates, **more)


def _block(spec: MeasureSpec, zero: str, found: Meta, groups: Sequence[str]) -> dict[str, Any]:
    """The columns that every row of a measure has."""
    names = (*groups, "")  # index -1: no witness
    return {
        "measure": spec.id,
        "zero": zero,
        "value": np.ravel(found.value).tolist(),
        "low_group": [names[i] for i in np.ravel(found.low).tolist()],
        "high_group": [names[i] for i in np.ravel(found.high).tolist()],
        "groups": np.ravel(found.groups).tolist(),
        "higher_is_fairer": spec.higher_is_fairer,
        "reason": np.ravel(found.reason).tolist(),
    }


def _grid_stacks(cells: Cells, grid: Sequence[Found]) -> tuple[_Stack, _Stack]:
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
            _Stack(
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
