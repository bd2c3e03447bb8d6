"""Groups against references: the rows of ``bias.csv``.

A measure is a function of :class:`~parivox.auditing.estimates.Estimates` with any leading axes, so
that one call serves every row of its kind, and the same call every draw of it. Intervals are told
from the draws of the bootstrap over speakers, or in closed form where there is one; floors from
draws of a fair system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parivox.auditing.crossfit import LEAST
from parivox.auditing.estimates import Estimates, place_of_rate
from parivox.auditing.options import REFERENCES
from parivox.core import bias
from parivox.core.costs import cdet
from parivox.core.measures import MEASURES, RATES, bias_measures
from parivox.core.resampling import from_replicates
from parivox.core.verdict import benjamini_hochberg, holm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import Cells
    from parivox.auditing.operating_points import Found, Points
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key, Rows
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import FloatArray
    from parivox.core.registry import ZeroPolicy
    from parivox.core.resampling import Scale
    from parivox.read.grouping import Grouping

    Columns = dict[str, NDArray[Any]]
    Bools = NDArray[np.bool_]
    Against = Callable[[FloatArray, FloatArray], bias.Measured]

_MADE_OF_ALL = {"macro", "geomean", "best"}
_TESTS = ("p", "p_holm", "p_bh")
_NOT_CROSSED = f"fewer than {LEAST} speakers to split, or no replicates"


@dataclass(frozen=True, eq=False)
class Block:
    """One bias measure against one reference, of every metric that it applies to.

    Attributes
    ----------
    measure, reference, zero : str
    keys : sequence of Key
        What its rows are of.
    stack : Estimates
        The base metrics that it is computed of.
    of : callable
        The measure of such estimates, also of draws of them.
    value : float64 ndarray of shape (key, group)
    reason : str ndarray of shape (key, group)
        Why a value is undefined, infinite or a convention; ``undefined_value`` where the metric
        itself is.
    drawn : float64 ndarray of shape (draw, key, group), or None
    """

    measure: str
    reference: str
    zero: ZeroPolicy
    keys: Sequence[Key]
    stack: Estimates
    of: Callable[[Estimates], FloatArray]
    value: FloatArray
    reason: NDArray[np.str_]
    drawn: FloatArray | None


def bias_blocks(
    data: Estimates,
    draws: Estimates | None,
    cheapest: Sequence[tuple[Estimates, FloatArray | None]],
    groups: Sequence[str],
    points: Points,
    options: Options,
) -> Iterator[Block]:
    """Every measure of each group against each reference (docs/methods/bias-measures.md).

    Parameters
    ----------
    data, draws
        Base metrics that are errors, and the same in each draw.
    cheapest
        Of each cost, :func:`at_cheapest`, and its threshold bias cross-fitted over speakers
        ``[group]`` or None.
    groups
        Their names.
    points, options
        What was asked for.
    """
    rates = data.where(*RATES)
    for zero in options.zero:
        stack = data if zero == "none" else rates
        again = None if draws is None else draws.having(stack.keys)
        for reference in options.reference:
            if reference not in REFERENCES and reference not in groups:
                continue
            for measure in bias_measures().values():
                if not measure.is_of_references or (zero, measure.id) == ("nist", "difference"):
                    continue
                way = partial(_against, measure.id, reference, zero, groups, points, options)
                yield _block(measure.id, reference, zero, stack.keys, stack, way, again)
    for both, crossed in cheapest:
        again = None if draws is None else draws.having(both.keys)
        at = both.keys[:1]
        yield _block("subgroup_bias", "pooled", "none", at, both, _subgroup, again)
        plain = _block("threshold_bias", "", "none", at, both, _threshold, again)
        yield plain
        if crossed is not None:
            yield _crossed(plain, crossed, again)


def _block(
    measure: str,
    reference: str,
    zero: ZeroPolicy,
    keys: Sequence[Key],
    stack: Estimates,
    way: Callable[[Estimates], bias.Measured],
    again: Estimates | None,
) -> Block:
    def of(estimates: Estimates) -> FloatArray:
        return way(estimates).value

    found, drawn = way(stack), None
    if again is not None:
        drawn = of(again)
        if reference in _MADE_OF_ALL:  # not of a draw in which the reference lacks a group
            drawn = np.where(again.lacks(stack)[..., None], np.nan, drawn)
    return Block(measure, reference, zero, keys, stack, of, found.value, found.reason, drawn)


def _against(
    measure: str,
    reference: str,
    zero: ZeroPolicy,
    groups: Sequence[str],
    points: Points,
    options: Options,
    stack: Estimates,
) -> bias.Measured:
    """One measure of every group against one reference, ``[..., key, group]``."""
    cells = stack.under(zero)
    values, average = cells[..., :-1], cells[..., -1]
    # nist adjusts what stands below the fraction bar only
    above = stack.groups if zero == "nist" else values
    function = cast("Against", MEASURES[measure].compute)
    if reference == "others":  # which is another one for each group
        return function(above[..., None], stack.others(zero, points, options)).flat
    if reference == "pooled":
        return function(above, average)
    if reference in groups:
        return function(above, values[..., groups.index(reference)])
    return function(above, bias.reference(values, cast("bias.Reference", reference)))


def at_cheapest(data: Estimates, cells: Cells, found: Found) -> Estimates:
    """A cost of every group at its smallest over all trials, then each group's own smallest."""
    cost = found.point.cost
    assert cost is not None
    minima = data.having([("min_cdet_norm", cost.name, "")])
    everyone = (*cells.groups, cells.pooled)
    costs = np.array([cdet(counts.at([found.threshold]), cost)[0] for counts in everyone])
    reasons = minima.reasons
    if found.reason:
        costs = np.full(costs.shape, np.nan)
        reasons = [[found.reason] * len(everyone)]
    at = ("cdet_norm", cost.name, found.point.text)
    return replace(minima, keys=[at], values=costs[None], reasons=reasons).and_(minima)


def _subgroup(both: Estimates) -> bias.Measured:
    """A cost over the pooled one, at one threshold."""
    return bias.ratio(both.groups[..., :1, :], both.pooled[..., :1])


def _threshold(both: Estimates) -> bias.Measured:
    """A cost over the group's own smallest one."""
    return bias.threshold_bias(both.groups[..., :1, :], both.groups[..., 1:, :])


def _crossed(plain: Block, crossed: FloatArray, again: Estimates | None) -> Block:
    """Threshold bias with thresholds of other speakers, which varies as the plain one does."""
    value = crossed[None]
    # unknown where the plain one has no bound, as the smallest cost is 0, or the other is 0
    is_known = np.isfinite(plain.value) & (value > 0)
    times = np.where(is_known, value, np.nan) / plain.value

    def of(both: Estimates) -> FloatArray:
        return _threshold(both).value * times

    return replace(
        plain,
        measure="threshold_bias_cv",
        of=of,
        value=value,
        reason=np.where(np.isnan(value), _NOT_CROSSED, ""),
        drawn=None if again is None else of(again),
    )


# --- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ratios:
    """Rates of all groups against one reference, each ``[group]``, and that of all together."""

    ratio: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    pooled: float


def bias_rows(
    rows: Rows,
    where: Mapping[str, Any],
    grouping: Grouping,
    blocks: Iterator[Block],
    options: Options,
    uncertainty: Uncertainty | None = None,
) -> dict[tuple[str, str], Ratios]:
    """Rows of every measure, with their intervals and floors; then means by attribute.

    Returned are ratios of the rates to the first reference, with their intervals, by metric and
    operating point.
    """
    groups, sharing = grouping.groups, shared_values(grouping)
    start = len(rows.cells["value"])
    ratios: dict[tuple[str, str], Ratios] = {}
    of_means: list[Columns] = []
    for block in blocks:
        more: Columns = {}
        if uncertainty is not None:
            more, means = _uncertain(uncertainty, block, groups, sharing)
            of_means.append(means)
        _add(rows, where, groups, block, more)
        is_headline = (block.reference, block.measure, block.zero)
        if is_headline == (options.reference[0], "ratio", "none") and more:
            ratios = {
                (key[0], key[2]): Ratios(
                    *(block.value[i], more["low"][i], more["high"][i], more["p"][i]),
                    float(block.stack.pooled[i]),
                )
                for i, key in enumerate(block.keys)
                if key[0] in RATES and not key[1]
            }
    mean_rows(rows, where, start, grouping, of_means)
    return ratios


def _add(
    rows: Rows, where: Mapping[str, Any], groups: Sequence[str], block: Block, more: Columns
) -> None:
    """The rows of one measure; an undefined metric tells its own reason."""
    n = len(groups)
    reasons = [
        mine if coded == "undefined_value" else coded
        for row, codes in zip(block.stack.reasons, block.reason.tolist(), strict=False)
        for mine, coded in zip(row, codes, strict=False)
    ]
    rows.add(
        **where,
        group=list(groups) * len(block.keys),
        metric=[key[0] for key in block.keys for _ in range(n)],
        definition=[key[1] for key in block.keys for _ in range(n)],
        operating_point=[key[2] for key in block.keys for _ in range(n)],
        measure=block.measure,
        reference=block.reference,
        zero=block.zero,
        value=block.value.reshape(-1).tolist(),
        reason=reasons,
        **{name: cells.ravel() for name, cells in more.items()},
    )


def shared_values(grouping: Grouping) -> list[dict[str, Bools]]:
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

    Each is the unweighted mean of one measure over the groups that share a value, as of
    threshold bias over the nationalities of one gender: group ``gender=f``, measure
    ``mean_threshold_bias``. Groups where the measure is undefined are left out of the mean, and
    its reason says so. There is none unless the grouping is of several attributes.
    See docs/methods/bias-measures.md#means-over-an-attribute.
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
    words = {n: "", 0: "undefined in every group"}
    reasons = [
        words.get(k, f"mean over {k} of {n} groups; undefined in {n - k}") for k in used.tolist()
    ]
    for i in np.flatnonzero(np.isinf(values).any(axis=1)):
        reasons[i] = "; ".join(filter(None, (reasons[i], "infinite_value")))
    return reasons


def mean_over(
    values: FloatArray, masks: Sequence[Bools], *, like: FloatArray | None = None
) -> FloatArray:
    """Means over groups, ``[..., key, mask]``; NaN where there is none.

    Parameters
    ----------
    values
        ``[..., key, group]``; groups that are NaN are left out.
    masks
        The groups of each mean.
    like
        ``[key, group]``: these groups are left out where it is NaN, and no others, so that a
        mean is NaN where a value lacks that stands here.
    """
    used = ~np.isnan(values if like is None else like)
    chosen = used[..., None] & np.stack(masks, axis=-1)  # [key, group, mask]
    n = chosen.sum(axis=-2)
    weights = np.where(chosen, 1 / np.maximum(n, 1)[..., None, :], 0)
    finite = np.isfinite(values)
    is_whole = bool(finite.all())  # as almost always: then nothing else is to be looked at
    means = _weighted(values if is_whole else np.where(finite, values, 0), weights)
    if not is_whole:
        with np.errstate(invalid="ignore"):
            for odd in (np.inf, -np.inf):
                means += np.where(_weighted(values == odd, weights) > 0, odd, 0)
        means[_weighted(np.isnan(values), weights) > 0] = np.nan
    return np.where(n > 0, means, np.nan)


def _weighted(values: NDArray[np.generic], weights: FloatArray) -> FloatArray:
    """Weighted sums over groups, ``[..., key, mask]``, of weights ``[key, group, mask]``."""
    by_key = np.moveaxis(values.astype(np.float64, copy=False), -2, 0)
    found: FloatArray = np.moveaxis(
        np.reshape(by_key, (len(weights), -1, weights.shape[1])) @ weights, 0, -2
    )
    return found.reshape(*values.shape[:-1], weights.shape[-1])


# --- intervals, tests and floors -----------------------------------------------------------------


def _uncertain(
    uncertainty: Uncertainty,
    block: Block,
    names: Sequence[str],
    sharing: Sequence[Mapping[str, Bools]],
) -> tuple[Columns, Columns]:
    """The columns of uncertainty of one measure, ``[key, group]``, and of its means.

    Means are over the groups that share each value of each attribute, where the measure is
    defined, ``[key, value]``; their degrees of freedom by Welch and Satterthwaite.
    """
    from parivox.auditing.nulls import away  # noqa: PLC0415 - not for --no-intervals

    df = _freedom(uncertainty, block.reference, names)
    own = _from_draws(uncertainty, block, block.value, block.drawn, df)
    if MEASURES[block.measure].id != "difference":
        _without_errors(own, uncertainty, block)
        if block.zero == "none":
            _in_closed_form(own, uncertainty, block, names)
    floors = list(_floors(uncertainty, block))
    for rows, draws in floors:
        own["floor_mean"][rows], own["floor_95"][rows] = away(draws, _kind(block))
    _finish(own, block.value, block)
    own |= {"p_holm": holm(own["p"]), "p_bh": benjamini_hochberg(own["p"])}
    means = []
    for masks in (list(of_value.values()) for of_value in sharing):
        value = mean_over(block.value, masks)
        again = None if block.drawn is None else mean_over(block.drawn, masks, like=block.value)
        of = _from_draws(uncertainty, block, value, again, _pooled_freedom(block, df, masks))
        for rows, draws in floors:
            of["floor_mean"][rows], of["floor_95"][rows] = away(
                mean_over(draws, masks, like=block.value[rows]), _kind(block)
            )
        _finish(of, value, block)
        _of_one(of, own, block.value, masks)
        means.append(of | {"p_holm": holm(of["p"]), "p_bh": benjamini_hochberg(of["p"])})
    joined = {name: np.concatenate([of[name] for of in means], axis=-1) for name in own if means}
    if block.measure == "threshold_bias_cv":  # varies as the plain one: no test
        for columns in filter(None, (own, joined)):
            columns |= {name: np.full(columns["p"].shape, np.nan) for name in _TESTS}
    return own, joined


def _kind(block: Block) -> str:
    """How the measure is far from par: as a ratio or as a difference."""
    return "ratio" if MEASURES[block.measure].scale == "ratio" else block.measure


def _freedom(uncertainty: Uncertainty, reference: str, names: Sequence[str]) -> FloatArray:
    """Speakers of each group or, if they are fewer, of what it is compared with, less one."""
    own = uncertainty.speakers[:-1]
    if reference in names:
        own = np.minimum(own, own[list(names).index(reference)])
    elif reference == "others" and uncertainty.intervals.are_disjoint:
        own = np.minimum(own, uncertainty.speakers[-1] - own)
    return np.where(own < uncertainty.options.gates.inference, np.nan, own - 1.0)


def _pooled_freedom(block: Block, df: FloatArray, masks: Sequence[Bools]) -> FloatArray:
    """Of a mean over groups, by Welch and Satterthwaite, ``[key, mask]``."""
    found, drawn = block.value, block.drawn
    if drawn is None:
        return np.full((len(found), len(masks)), np.nan)
    known = np.isfinite(drawn)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = np.where(known, drawn, 0).sum(axis=0) / known.sum(axis=0)
        off = np.where(known, drawn - mean, 0)
        variance = np.where(np.isnan(found), 0, (off**2).sum(axis=0) / known.sum(axis=0))
        shared = [
            (variance * mask).sum(axis=-1) ** 2
            / np.where(mask & ~np.isnan(found), variance**2 / df, 0).sum(axis=-1)
            for mask in masks
        ]
    return np.stack(shared, axis=-1)


def _from_draws(
    uncertainty: Uncertainty,
    block: Block,
    found: FloatArray,
    drawn: FloatArray | None,
    df: FloatArray,
) -> Columns:
    """Limits and p as the draws have them; floors unknown."""
    made = {
        name: np.full(found.shape, np.nan)
        for name in ("low", "high", "p", "p_holm", "p_bh", "floor_mean", "floor_95")
    }
    made["note"] = np.full(found.shape, f"no interval: {uncertainty.why}", dtype=object)
    if drawn is not None:
        scale: Scale = "log" if _kind(block) == "ratio" else "linear"
        at = from_replicates(
            found, drawn, df, scale=scale, confidence=uncertainty.options.confidence
        )
        for name in ("low", "high", "p"):
            made[name] = np.array(getattr(at, name), ndmin=2)
        none = np.strings.add("no interval: ", at.reason).astype(object)
        made["note"] = np.where(np.isnan(df), uncertainty.options.gates.too_few, none)
    return made


def _without_errors(own: Columns, uncertainty: Uncertainty, block: Block) -> None:
    """No interval from draws of a group without errors, which has none in any of them."""
    errors = block.stack.of_rates("errors")[..., :-1]
    for metric in RATES:
        rows, _ = _places(uncertainty, block.stack, metric)
        if not rows:
            continue
        silent = errors[rows] == 0
        for name in ("low", "high", "p"):
            own[name][rows] = np.where(silent, np.nan, own[name][rows])
        why = "no interval: no errors, nor in any replicate"
        own["note"][rows] = np.where(silent, why, own["note"][rows])


def _in_closed_form(
    own: Columns, uncertainty: Uncertainty, block: Block, names: Sequence[str]
) -> None:
    """Ratios of rates, in the place of what the draws say."""
    from parivox.auditing.intervals import ratio_to  # noqa: PLC0415 - not for --no-intervals

    for metric in RATES:
        rows, at = _places(uncertainty, block.stack, metric)
        closed = ratio_to(uncertainty.intervals, metric, block.reference, names) if rows else None
        if closed is None:
            continue
        ends = closed.low[at], closed.high[at]
        if block.measure == "neg_log_ratio":
            with np.errstate(divide="ignore"):
                ends = -np.log(ends[1]), -np.log(ends[0])
        own["low"][rows], own["high"][rows] = ends
        own["p"][rows] = closed.p[at]


def _floors(uncertainty: Uncertainty, block: Block) -> Iterator[tuple[list[int], FloatArray]]:
    """Where the rates stand, and the measure of draws of a fair system of them."""
    if not uncertainty.intervals.are_disjoint:
        return
    for metric in RATES:
        rows, _ = _places(uncertainty, block.stack, metric)
        if rows:
            keys = [block.stack.keys[i] for i in rows]
            yield rows, block.of(uncertainty.nulls.of(keys, lifted=block.measure != "difference"))


def _places(uncertainty: Uncertainty, stack: Estimates, metric: str) -> tuple[list[int], list[int]]:
    """Where a rate stands among keys, and at which operating point."""
    places = [place_of_rate(key, uncertainty.points) for key in stack.keys]
    found = {i: at for i, at in enumerate(places) if at is not None and stack.keys[i][0] == metric}
    return list(found), list(found.values())


def _finish(made: Columns, found: FloatArray, block: Block) -> None:
    """Nothing of what is undefined; no limit where no value can be."""
    measure = MEASURES[block.measure]
    if measure.scale == "ratio":
        made["low"] = np.maximum(made["low"], measure.bounds[0])
    if measure.bounds[0] == 1.0:  # at least 1 by construction: no test of being 1
        made["p"] = np.full(found.shape, np.nan)
    for name in ("low", "high", "p"):
        made[name] = np.where(np.isnan(found), np.nan, made[name])
    made["note"] = np.where(np.isnan(found) | ~np.isnan(made["high"]), "", made["note"])


def _of_one(means: Columns, own: Columns, found: FloatArray, masks: Sequence[Bools]) -> None:
    """A mean of one group is as uncertainty as the group."""
    for i, mask in enumerate(masks):
        chosen = mask & ~np.isnan(found)
        rows = np.flatnonzero(chosen.sum(axis=-1) == 1)
        at = chosen[rows].argmax(axis=-1)
        for name, cells in means.items():
            cells[rows, i] = own[name][rows, at]
