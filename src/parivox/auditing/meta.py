"""One number for all groups: the rows of ``meta.csv`` and of the sweep.

A measure is a function of :class:`~parivox.auditing.estimates.Estimates` with any leading axes:
of the data, of draws of the bootstrap over speakers (which tell how much it varies), and of draws
of a fair system (its noise floor).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from parivox.auditing.estimates import Estimates
from parivox.core.measures import BOTH, RATES, meta_measures
from parivox.core.meta import fdr
from parivox.core.noise import floor
from parivox.core.resampling import from_replicates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.auditing.cell_counts import Cells
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key, Rows
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import FloatArray
    from parivox.core.measures import MetaMeasure
    from parivox.core.registry import ZeroPolicy
    from parivox.core.spread import Meta

AXES = ("log10", "linear")
"""Scales of FPR that the area under FDR is taken on."""


@dataclass(frozen=True, eq=False)
class Block:
    """One meta-measure under one rule for rates of 0, of every metric that it applies to.

    Attributes
    ----------
    measure, zero
        The measure and the rule.
    stack : Estimates
        What it is computed of: for measures that join both rates, FPR at every operating point
        and then FNR. Of the area under FDR, nothing: it has its own points.
    of : callable
        The measure of such estimates, also of draws of them.
    found : Meta
        Its value of the data, ``[row]`` or ``[alpha, point]``.
    metrics, definitions, points, alphas
        Of each row, in the order of the values; those of all alphas, each at every point.
    """

    measure: MetaMeasure
    zero: ZeroPolicy
    stack: Estimates
    of: Callable[[Estimates], Meta]
    found: Meta
    metrics: list[str]
    definitions: list[str]
    points: list[str]
    alphas: Sequence[float | None]


def meta_blocks(data: Estimates, options: Options) -> Iterator[Block]:
    """Every measure of the data (docs/methods/meta-measures.md), those of one metric first."""
    rates = data.where(*RATES)
    for measure, zero in _under(options):
        if measure.is_joint:
            continue
        chosen = data if zero == "none" else rates
        if measure.metric:
            chosen = chosen.where(measure.metric)
        if chosen.keys:
            way = partial(_single, measure, zero)
            metrics, definitions, points = map(list, zip(*chosen.keys, strict=True))
            yield Block(
                *(measure, zero, chosen, way, way(chosen)),
                *(metrics, definitions, points, [None] * len(points)),
            )
    fpr, fnr = data.where("fpr"), data.where("fnr")
    if fpr.keys and fnr.keys:
        yield from _joint_blocks(fpr.and_(fnr), options)


def drawn_blocks(
    data: Estimates, draws: Estimates | None, options: Options, *, defined: bool
) -> Iterator[tuple[Block, Estimates | None]]:
    """Every measure of the data, and what it is computed of in each draw.

    Parameters
    ----------
    data, draws
        Base metrics that are errors, and the same in each draw.
    options
        What was asked for.
    defined
        Take groups in the draws only where the data define them, as where some are left out.
    """
    again: dict[tuple[Key, ...], Estimates] = {}  # many measures are of the same metrics
    for block in meta_blocks(data, options):
        keys = tuple(block.stack.keys)
        if draws is not None and keys not in again:
            drawn = draws.having(keys)
            again[keys] = drawn.only(~np.isnan(block.stack.groups)) if defined else drawn
        yield block, again.get(keys)


def _joint_blocks(both: Estimates, options: Options) -> Iterator[Block]:
    """Measures that join both rates, at every operating point and alpha."""
    n = len(both.keys) // 2
    texts = [point for _, _, point in both.keys[:n]]
    for measure, zero in _under(options):
        if not measure.is_joint:
            continue
        alphas: tuple[float | None, ...] = options.alpha if measure.takes == "alpha" else (None,)
        size = n * len(alphas)
        way = partial(_joint, measure, zero, options.alpha)
        yield Block(
            *(measure, zero, both, way, way(both)),
            *([measure.metric] * size, [""] * size, texts * len(alphas)),
            [alpha for alpha in alphas for _ in texts],
        )


def _under(options: Options) -> Iterator[tuple[MetaMeasure, ZeroPolicy]]:
    for measure in meta_measures().values():
        if measure.takes not in {"grid", "draws"}:
            yield from ((measure, zero) for zero in options.zero if zero in measure.zero_policies)


def _single(measure: MetaMeasure, zero: ZeroPolicy, stack: Estimates) -> Meta:
    """A measure of one metric, ``[..., key]``."""
    cells = stack.under(zero)
    values = cells[..., :-1]
    more: dict[str, ArrayLike] = {}
    if zero == "nist":
        more["denominator"] = values
        values = stack.groups
    arguments = (values, cells[..., -1]) if measure.takes == "average" else (values,)
    return measure.of(*arguments, **more)


def _joint(measure: MetaMeasure, zero: ZeroPolicy, alpha: Sequence[float], both: Estimates) -> Meta:
    """A measure of both rates, ``[alpha, ..., point]`` or without the first axis."""
    n = len(both.keys) // 2

    def halves(values: FloatArray) -> tuple[FloatArray, FloatArray]:
        return values[..., :n, :-1], values[..., n:, :-1]

    more: dict[str, Any] = {}
    rates = halves(both.under(zero))
    if zero == "nist":
        more["denominator"] = rates
        rates = halves(both.values)
    if measure.takes == "alpha":
        more["alpha"] = np.array(alpha)
    return measure.of(*rates, **more)


# --- the area under FDR --------------------------------------------------------------------------


def at_grid(cells: Cells, grid: Sequence[Found]) -> Estimates:
    """FPR of every cell on a grid of operating points, then FNR."""
    thresholds = [f.threshold for f in grid]
    lost = np.isnan(thresholds)
    curves = [counts.at(thresholds) for counts in (*cells.groups, cells.pooled)]
    keys = [(metric, "", f.point.text) for metric in RATES for f in grid]
    values, errors, trials = (
        np.concatenate([np.stack([take(one) for one in curves], axis=-1) for take in of_both])
        for of_both in (
            (lambda at: at.fpr, lambda at: at.fnr),
            (lambda at: at.fp, lambda at: at.fn),
            (
                lambda at: np.full(at.fp.shape, int(at.n_nontarget)),
                lambda at: np.full(at.fn.shape, int(at.n_target)),
            ),
        )
    )
    values = np.where(np.tile(lost, 2)[:, None], np.nan, values)
    reasons = [[""] * len(curves)] * len(keys)
    counted = errors.astype(np.float64), trials.astype(np.float64)
    return Estimates(keys, values, keys, *counted, reasons)


def area_blocks(
    area: Estimates, draws: Estimates | None, options: Options
) -> Iterator[tuple[Block, FloatArray | None, int]]:
    """Area under FDR over a grid of false positive rates, on either scale of FPR.

    With it come its draws, and how few groups have both rates at every point.
    """
    measure = meta_measures()["au_fdr"]
    heights, places = _heights(area, options)
    groups = int(np.min(heights.groups))
    again: tuple[FloatArray, FloatArray] | None = None
    gone: NDArray[np.bool_] = np.zeros(1, dtype=bool)
    if draws is not None:
        drawn = draws.having(area.keys).only(~np.isnan(area.groups))
        of_drawn, places_drawn = _heights(drawn, options)
        again = of_drawn.value, places_drawn
        gone = np.asarray(drawn.lacks(area).any(axis=-1))[:, None]
    for axis in AXES:
        found = measure.of(heights.value, places, axis=axis)
        of_draws = None
        if again is not None:
            of_draws = np.where(gone, np.nan, measure.of(*again, axis=axis).value.T)
        n = len(options.alpha)
        block = Block(
            *(measure, "none", area, _no_draws, found),
            *([measure.metric] * n, [axis] * n, [options.area_text] * n, [*options.alpha]),
        )
        yield block, of_draws, groups


def _no_draws(_: Estimates) -> Meta:
    """The area has no noise floor: no valid draws of whole curves are known."""
    raise NotImplementedError


def _heights(area: Estimates, options: Options) -> tuple[Meta, FloatArray]:
    """FDR ``[alpha, ..., point]``, and the pooled FPR of each point."""
    n = len(area.keys) // 2
    fpr, fnr = area.groups[..., :n, :], area.groups[..., n:, :]
    return fdr(fpr, fnr, alpha=np.array(options.alpha)), area.pooled[..., :n]


# --- rows ----------------------------------------------------------------------------------------


def meta_rows(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    data: Estimates,
    area: Estimates,
    draws: Estimates | None,
    options: Options,
    uncertainty: Uncertainty | None = None,
) -> None:
    """One number for all groups, by each measure.

    With intervals, once more for the groups that pass the gates.
    """
    start = len(rows.cells["value"])
    _all_measures(rows, {**where, "gated": False}, groups, data, area, draws, options, uncertainty)
    if uncertainty is None:
        return
    from parivox.auditing.uncertainty import groups_passed  # noqa: PLC0415 - not for --no-intervals

    passed = groups_passed(uncertainty, data.keys)
    if passed.all():  # the very same numbers
        rows.add(**{name: column[start:] for name, column in rows.cells.items()} | {"gated": True})
        return
    gated = {**where, "gated": True}
    area = area.only(np.broadcast_to(groups_passed(uncertainty), area.groups.shape))
    _all_measures(rows, gated, groups, data.only(passed), area, draws, options, uncertainty, passed)


def _all_measures(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    data: Estimates,
    area: Estimates,
    draws: Estimates | None,
    options: Options,
    uncertainty: Uncertainty | None,
    passed: NDArray[np.bool_] | None = None,
) -> None:
    """Rows of all groups, or of those that pass the gates."""
    for block, again in drawn_blocks(data, draws, options, defined=passed is not None):
        more = {} if uncertainty is None else _uncertain(uncertainty, block, again, passed)
        rows.add(**where, **_columns(block, groups), **more)
    if uncertainty is not None:
        _beyond_noise(rows, where, data.where(*RATES), uncertainty)
    for block, drawn, n in area_blocks(area, draws, options):
        ends: dict[str, Any] = {}
        if uncertainty is not None and drawn is not None:
            ends = dict(_interval(uncertainty, block, np.ravel(block.found.value), drawn))
        rows.add(**where, **{**_columns(block, groups), "groups": n}, **ends)


def _columns(block: Block, groups: Sequence[str]) -> dict[str, Any]:
    """The columns that every row of a measure has."""
    names = (*groups, "")  # index -1: no witness
    found = block.found
    return {
        "metric": block.metrics,
        "definition": block.definitions,
        "operating_point": block.points,
        "alpha": block.alphas,
        "measure": block.measure.id,
        "zero": block.zero,
        "value": np.ravel(found.value).tolist(),
        "low_group": [names[i] for i in np.ravel(found.low).tolist()],
        "high_group": [names[i] for i in np.ravel(found.high).tolist()],
        "groups": np.ravel(found.groups).tolist(),
        "higher_is_fairer": block.measure.is_higher_fairer,
        "reason": np.ravel(found.reason).tolist(),
    }


def _beyond_noise(
    rows: Rows, where: Mapping[str, Any], rates: Estimates, uncertainty: Uncertainty
) -> None:
    """Spread that is left once the noise of speakers is taken off.

    See docs/methods/noise-floors.md#tau-log.
    """
    from parivox.auditing.uncertainty import beyond_noise  # noqa: PLC0415 - not for --no-intervals

    for measure, found in beyond_noise(uncertainty, rates).items():
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
            higher_is_fairer=meta_measures()[measure].is_higher_fairer,
            **found,
        )


def sweep_rows(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    grid: Sequence[Found],
    options: Options,
) -> None:
    """Meta-measures of the rates over a grid of operating points."""
    thresholds = [f.threshold for f in grid]
    both = at_grid(cells, grid)
    blocks = [block for metric in RATES for block in meta_blocks(both.where(metric), options)]
    for block in (*blocks, *_joint_blocks(both, options)):
        columns = _columns(block, cells.grouping.groups)
        columns.pop("definition")
        times = len(block.points) // len(thresholds)
        rows.add(**where, threshold=thresholds * times, **columns)


# --- intervals and floors ------------------------------------------------------------------------


class _Ends(TypedDict):
    """Limits of rows, and why there are none."""

    low: FloatArray
    high: FloatArray
    note: NDArray[np.str_]


def _uncertain(
    uncertainty: Uncertainty,
    block: Block,
    draws: Estimates | None,
    passed: NDArray[np.bool_] | None,
) -> dict[str, Any]:
    """The columns of uncertainty of one measure, in the order of its rows.

    Parameters
    ----------
    uncertainty
        Uncertainty of the groups.
    block
        The measure and what it is of.
    draws
        What it is of in each draw; None if there are none.
    passed
        Whether only groups that pass the gates are taken: then not None.
    """
    measure, stack = block.measure, block.stack
    value = np.ravel(block.found.value)
    mean, q95, p = (np.full(value.shape, np.nan) for _ in range(3))
    none = np.full(value.shape, np.nan)
    why = np.full(value.shape, f"no interval: {uncertainty.why}")
    ends: _Ends = {"low": none, "high": none, "note": why}
    chosen = np.ones(stack.groups.shape, dtype=bool)
    if passed is not None:
        chosen = ~np.isnan(stack.groups)
    if draws is not None:
        ends = _interval(uncertainty, block, value, in_draws(block, draws))
    rates = [i for i, key in enumerate(stack.keys) if uncertainty.nulls.has(key)]
    if rates and (len(rates) == len(stack.keys) or not measure.is_joint):
        null = uncertainty.nulls.of([stack.keys[i] for i in rates], lifted=measure.takes_logs)
        fair = _by_row(block.of(null.only(chosen[rates])).value)
        rows = np.arange(value.size) if measure.is_joint else np.array(rates)
        at = floor(value[rows], fair, higher_is_fairer=measure.is_higher_fairer)
        mean[rows], q95[rows], p[rows] = at.mean, at.q95, at.p
        if not measure.has_p_of_fpr:
            p[[i for i in rates if stack.keys[i][0] == "fpr"]] = np.nan
        if measure.takes_logs and block.zero == "none":
            # draws hold half an error for none, which the observed rates do not
            silent = (stack.groups[rates] == 0).any(axis=-1)
            if measure.is_joint:
                silent = silent.reshape(2, -1).any(axis=0)
                silent = np.tile(silent, value.size // silent.size)
            p[rows] = np.where(silent, np.nan, p[rows])
    made = {"low": ends["low"], "high": ends["high"], "floor_mean": mean, "floor_95": q95, "p": p}
    missing = np.isnan(value)
    cells: dict[str, Any] = {name: np.where(missing, np.nan, one) for name, one in made.items()}
    return cells | {"note": np.where(missing, "", ends["note"])}


def in_draws(block: Block, draws: Estimates) -> FloatArray:
    """A measure of each draw, ``[draw, row]``; NaN where a group is gone."""
    drawn, lost = _by_row(block.of(draws).value), draws.lacks(block.stack)
    if block.measure.metric == BOTH:  # either rate
        either = lost.reshape(len(lost), 2, -1).any(axis=1)
        lost = np.tile(either, drawn.shape[1] // max(either.shape[1], 1))
    return np.where(lost, np.nan, drawn)


def _interval(
    uncertainty: Uncertainty, block: Block, value: FloatArray, drawn: FloatArray
) -> _Ends:
    """Limits on a logarithmic scale of how far a measure is from what is fair.

    Parameters
    ----------
    uncertainty, block
        Uncertainty of the groups, and the measure.
    value, drawn
        The measure, ``[row]``, and of each draw, ``[draw, row]``.
    """
    measure = block.measure
    df = uncertainty.speakers_behind(block.metrics)[:, -1] - 1.0
    sign = -1.0 if measure.is_higher_fairer else 1.0

    def far(values: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            if measure.scale == "ratio":
                return sign * np.log(values)
            return 1 - values if measure.scale == "one" else values

    found = from_replicates(far(value), far(drawn), df, confidence=uncertainty.options.confidence)
    ends: tuple[FloatArray, FloatArray] = found.low, found.high
    if measure.scale == "ratio":
        with np.errstate(over="ignore"):
            ends = np.exp(sign * ends[0]), np.exp(sign * ends[1])
    elif measure.scale == "one":
        ends = 1 - ends[0], 1 - ends[1]
    low, high = (np.clip(end, *measure.bounds) for end in (np.minimum(*ends), np.maximum(*ends)))
    note = np.where(np.isnan(high), np.strings.add("no interval: ", found.reason), "")
    return {"low": low, "high": high, "note": note}


def _by_row(values: FloatArray) -> FloatArray:
    """A measure of draws, ``[draw, ...]`` or ``[alpha, draw, ...]``, by row."""
    if values.ndim > 2:
        values = np.moveaxis(values, 0, 1)
    return values.reshape(len(values), -1)
