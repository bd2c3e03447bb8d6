"""Groups against references: the rows of ``bias.csv``.

A measure is a function of `parivox.auditing.estimates.Estimates` with any leading axes, so
that one call serves every row of its kind, and the same call every draw of it. Intervals are told
from the draws of the bootstrap over speakers, or in closed form where there is one; floors from
draws of a fair system.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parivox.auditing.draws import MIN_SPLIT_SPEAKERS
from parivox.auditing.estimates import Estimates, key_columns, rate_point_index
from parivox.auditing.nulls import floor_distances
from parivox.auditing.options import REFERENCES
from parivox.core import bias
from parivox.core.costs import cdet
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.measures import MEASURES, RATES, bias_measures
from parivox.core.ratios import worst
from parivox.core.resampling import from_replicates
from parivox.core.verdict import benjamini_hochberg, holm, of_hypotheses
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import Cells
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.operating_points import LocatedPoint, OperatingPoints
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, Rows
    from parivox.core.counts import FloatArray
    from parivox.core.registry import ZeroPolicy
    from parivox.data.grouping import Grouping

    Columns = dict[str, NDArray[Any]]
    Bools = NDArray[np.bool_]
    Terms = Callable[[Estimates], tuple[FloatArray, FloatArray]]

_MADE_OF_ALL = {"macro", "geomean", "best"}
_TESTS = ("p", "p_holm", "p_bh")
_FEWEST = 3  # groups of which one can be left out
_NOT_CROSSED = f"fewer than {MIN_SPLIT_SPEAKERS} speakers to split, or no replicates"


@frozen
class BiasValues:
    """One bias measure against one reference, of every metric that it applies to."""

    measure: str
    reference: str
    zero: ZeroPolicy
    keys: Sequence[Key]  # what its rows are of
    estimates: Estimates  # the base metrics that it is computed of
    terms: Terms  # of such estimates, also of draws of them: the groups and what they are against
    biases: FloatArray  # [key, group]
    reasons: NDArray[np.str_]
    """``[key, group]``: why a value is undefined, infinite or a convention; ``undefined_value``
    where the metric itself is."""
    draw_estimates: Estimates | None  # the same as the stack, of each draw
    draw_biases: FloatArray | None  # [draw, key, group]: the measure of them
    is_constant: Bools
    """``[key, group]``: the group, or what it is against, is the same in all draws: these tell but
    one of both, so that nothing is told from them."""
    left_out_groups: NDArray[np.intp] | None = None
    """``[key]``: a group that the stack is without."""


def bias_values(
    data: Estimates,
    draws: Estimates | None,
    cheapest: Sequence[tuple[Estimates, FloatArray | None]],
    groups: Sequence[str],
    points: OperatingPoints,
    options: Options,
) -> Iterator[BiasValues]:
    """Every measure of each group against each reference (docs/methods/bias-measures.md).

    Parameters
    ----------
    data, draws
        Base metrics that are errors, and the same in each draw.
    cheapest
        Of each cost, `at_cheapest`, and its threshold bias cross-fitted over speakers
        ``[group]`` or None.
    groups
        Their names.
    """
    rates = data.with_metrics(*RATES)
    against = [one.id for one in bias_measures().values() if one.is_of_references]
    for zero in options.zero:
        stack = data if zero == "none" else rates
        again = None if draws is None else draws.with_keys(stack.keys)
        measures = [one for one in against if (zero, one) != ("nist", "difference")]
        for reference in options.reference:
            if reference in REFERENCES or reference in groups:
                terms = partial(_terms, reference, zero, groups, points, options)
                yield from _blocks(measures, reference, zero, stack.keys, stack, again, terms)
    for both, crossed in cheapest:
        again = None if draws is None else draws.with_keys(both.keys)
        at = both.keys[:1]
        yield from _blocks(["subgroup_bias"], "pooled", "none", at, both, again, _cost_and_pooled)
        (plain,) = _blocks(["threshold_bias"], "", "none", at, both, again, _cost_and_minimum)
        yield plain
        if crossed is not None:
            yield _crossed(plain, crossed)


def _blocks(
    measures: Sequence[str],
    reference: str,
    zero: ZeroPolicy,
    keys: Sequence[Key],
    stack: Estimates,
    again: Estimates | None,
    terms: Terms,
) -> Iterator[BiasValues]:
    """Measures that are computed of the same two terms, of the data and `again` of each draw."""
    of_data, of_draws = terms(stack), None if again is None else terms(again)
    still = np.zeros((len(keys), len(stack.values[0]) - 1), dtype=bool)
    if of_draws is not None:
        for one in map(does_not_vary, of_draws):
            still |= one.reshape(len(keys), -1)
    for measure in measures:
        compute = partial(_computed, measure, reference)
        found, drawn = compute(of_data), None
        if again is not None and of_draws is not None:
            drawn = compute(of_draws).value
            if reference in _MADE_OF_ALL:  # not of a draw in which the reference lacks a group
                drawn = np.where(again.lacks_group_values(stack)[..., None], np.nan, drawn)
        value, reason = found.value, found.reason
        yield BiasValues(
            *(measure, reference, zero, keys, stack, terms, value, reason, again, drawn, still)
        )


def does_not_vary(drawn: FloatArray) -> Bools:
    """Whether a value is the same in all draws, along the first axis, so that they tell nothing."""
    return np.asarray(np.fmin.reduce(drawn) >= np.fmax.reduce(drawn))


def _computed(measure: str, reference: str, terms: tuple[FloatArray, FloatArray]) -> bias.BiasValue:
    """A measure of the groups and what they are compared with."""
    found = cast("Callable[..., bias.BiasValue]", MEASURES[measure].compute)(*terms)
    return found.flat if reference == "others" else found


def _terms(
    reference: str,
    zero: ZeroPolicy,
    groups: Sequence[str],
    points: OperatingPoints,
    options: Options,
    stack: Estimates,
) -> tuple[FloatArray, FloatArray]:
    """The groups ``[..., key, group]`` and what they are compared with, ``[..., key]``."""
    cells = stack.values_under_policy(zero)
    values = cells[..., :-1]
    # nist adjusts what stands below the fraction bar only
    above = stack.groups if zero == "nist" else values
    if reference == "others":  # which is another one for each group
        return above[..., None], stack.other_groups_values(zero, points, options)
    if reference == "pooled":
        return above, cells[..., -1]
    if reference in groups:
        return above, values[..., groups.index(reference)]
    return above, bias.reference(values, cast("bias.Reference", reference))


def min_cost_estimates(data: Estimates, cells: Cells, found: LocatedPoint) -> Estimates:
    """A cost of every group at its smallest over all trials, then each group's own smallest."""
    cost = found.point.cost
    assert cost is not None
    minima = data.with_keys([("min_cdet_norm", cost.name, "")])
    everyone = (*cells.groups, cells.pooled)
    costs = np.array([cdet(counts.at([found.threshold]), cost)[0] for counts in everyone])
    reasons = minima.reasons
    if found.reason:
        costs = np.full(costs.shape, np.nan)
        reasons = [[found.reason] * len(everyone)]
    at = ("cdet_norm", cost.name, found.point.text)
    return replace(minima, keys=[at], values=costs[None], reasons=reasons).append_keys(minima)


def _cost_and_pooled(both: Estimates) -> tuple[FloatArray, FloatArray]:
    """A cost, and the pooled one at the same threshold."""
    return both.groups[..., :1, :], both.pooled[..., :1]


def _cost_and_minimum(both: Estimates) -> tuple[FloatArray, FloatArray]:
    """A cost, and the group's own smallest one."""
    return both.groups[..., :1, :], both.groups[..., 1:, :]


def _crossed(plain: BiasValues, crossed: FloatArray) -> BiasValues:
    """Threshold bias with thresholds of other speakers, which varies as the plain one does."""
    value = crossed[None]
    # unknown where the plain one has no bound, as the smallest cost is 0, or the other is 0
    is_known = np.isfinite(plain.biases) & (value > 0)
    times = np.where(is_known, value, np.nan) / plain.biases
    reason = np.where(np.isnan(value), _NOT_CROSSED, "")
    drawn = None if plain.draw_biases is None else plain.draw_biases * times
    # no floor: it is none of the rates, of which alone a fair system is drawn
    measure = "threshold_bias_cv"
    return replace(plain, measure=measure, biases=value, reasons=reason, draw_biases=drawn)


# --- rows ----------------------------------------------------------------------------------------


@frozen
class ReferenceRatios:
    """Rates of all groups against one reference, each ``[group]``, and that of all together."""

    ratio: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    pooled_rate: float
    worst_group: str = ""
    """The group without which the reference has the lowest rate, where another may be better."""
    without_worst: ReferenceRatios | None = None
    """What the others come to without that group."""
    has_shared_trials: bool = False
    """Trials count for two groups, so that no group can be left out alone."""


def add_bias_rows(
    rows: Rows,
    where: Mapping[str, Any],
    grouping: Grouping,
    blocks: Iterable[BiasValues],
    options: Options,
    uncertainty: Uncertainty | None = None,
) -> dict[tuple[str, str], ReferenceRatios]:
    """Rows of every measure, with their intervals and floors; then means by attribute.

    Returned are ratios of the rates to the first reference, with their intervals, by metric and
    operating point.
    """
    groups, shared = grouping.groups, groups_by_attribute_value(grouping)
    start = len(rows.cells["value"])
    ratios: dict[tuple[str, str], ReferenceRatios] = {}
    of_means: list[Columns] = []
    for block in blocks:
        more: Columns = {}
        if uncertainty is not None:
            more, means = _uncertain(uncertainty, block, groups, shared)
            of_means.append(means)
        reasons = [
            own if code == "undefined_value" else code  # an undefined metric tells its own reason
            for row, codes in zip(block.estimates.reasons, block.reasons.tolist(), strict=False)
            for own, code in zip(row, codes, strict=False)
        ]
        rows.add(
            **where,
            **key_columns(block.keys, len(groups)),
            group=list(groups) * len(block.keys),
            measure=block.measure,
            reference=block.reference,
            zero=block.zero,
            value=block.biases.ravel(),
            reason=reasons,
            **{name: cells.ravel() for name, cells in more.items()},
        )
        is_headline = (block.reference, block.measure, block.zero)
        if is_headline == (options.reference[0], "ratio", "none") and uncertainty is not None:
            ratios = _ratios(block, more)
            ratios |= _but_for_worst(uncertainty, block, groups, ratios)
    add_mean_rows(rows, where, start, grouping, of_means)
    return ratios


def _ratios(block: BiasValues, more: Columns) -> dict[tuple[str, str], ReferenceRatios]:
    """Ratios of the rates with their intervals, by metric and operating point."""
    return {
        (key[0], key[2]): ReferenceRatios(
            *(block.biases[i], more["low"][i], more["high"][i], more["p"][i]),
            float(block.estimates.pooled[i]),
        )
        for i, key in enumerate(block.keys)
        if key[0] in RATES and not key[1]
    }


def _but_for_worst(
    uncertainty: Uncertainty,
    block: BiasValues,
    groups: Sequence[str],
    ratios: Mapping[tuple[str, str], ReferenceRatios],
) -> dict[tuple[str, str], ReferenceRatios]:
    """Ratios with what they come to without the worst group, where one may be better.

    There is no such thing where trials count for two groups, which is noted.
    """
    rates = block.estimates.with_metrics(*RATES)
    errors, trials = rates.errors[:, :-1], rates.trials[:, :-1]
    alpha = 1 - uncertainty.options.confidence
    asked = [(metric, point) for metric, _, point in rates.keys]
    if len(groups) < _FEWEST or block.reference in (*groups, "best"):
        return {}
    may_be = [np.any((ratios[key].ratio < 1) & ~(ratios[key].p >= alpha)) for key in asked]
    is_shared = trials.sum(axis=-1) != rates.trials[:, -1]
    found = {
        key: replace(ratios[key], has_shared_trials=True)
        for key, is_better, shared in zip(asked, may_be, is_shared, strict=True)
        if is_better and shared
    }
    chosen = np.flatnonzero(may_be & ~is_shared).tolist()
    if not chosen:
        return found
    left_out = worst(errors, trials)
    if block.reference in _MADE_OF_ALL:
        left_out = np.nan_to_num(rates.groups, nan=-1).argmax(axis=-1)
    left_out = left_out[chosen]
    keys = [rates.keys[i] for i in chosen]
    draws = (
        None
        if block.draw_estimates is None
        else block.draw_estimates.with_keys(keys).without_group(left_out)
    )
    rest = rates.select_keys(chosen).without_group(left_out)
    (of,) = _blocks(["ratio"], block.reference, "none", keys, rest, draws, block.terms)
    of = replace(of, left_out_groups=left_out)
    df = _freedom(uncertainty, of, groups)
    but_for = _ratios(of, _intervals(uncertainty, of, groups, df))
    return found | {
        key: replace(ratios[key], worst_group=groups[at], without_worst=one)
        for (key, one), at in zip(but_for.items(), left_out.tolist(), strict=True)
    }


def groups_by_attribute_value(grouping: Grouping) -> list[dict[str, Bools]]:
    """Of each attribute of an intersection, the groups that share each of its values."""
    if len(grouping.attributes) < 2 or not grouping.parts:
        return []
    return [
        {
            f"{name}={value}": np.array([one == value for one in values])
            for value in dict.fromkeys(values)
        }
        for name, values in zip(grouping.attributes, zip(*grouping.parts, strict=True), strict=True)
    ]


def add_mean_rows(
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
    named = {
        name: mask for one in groups_by_attribute_value(grouping) for name, mask in one.items()
    }
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
    means = means_over_groups(values, list(named.values()))
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


def means_over_groups(
    values: FloatArray, masks: Sequence[Bools], *, like: FloatArray | None = None
) -> FloatArray:
    """Means of values ``[..., key, group]`` over the groups of each mask, ``[..., key, mask]``.

    Groups that are NaN are left out; a mean of none is NaN. With `like`, ``[key, group]``, groups
    are left out where that is NaN, and no others, so that a mean is NaN where a value lacks that
    stands there.
    """
    used = ~np.isnan(values if like is None else like)
    means = []
    for mask in masks:  # sums, whose order no processor changes as it does that of products
        chosen = used[..., mask]
        with np.errstate(invalid="ignore"):  # infinities of both signs
            total = np.where(chosen, values[..., mask], 0).sum(axis=-1)
        n = chosen.sum(axis=-1)
        means.append(np.where(n > 0, total / np.maximum(n, 1), np.nan))
    return np.stack(means, axis=-1)


# --- intervals, tests and floors -----------------------------------------------------------------


def _uncertain(
    uncertainty: Uncertainty,
    block: BiasValues,
    names: Sequence[str],
    shared: Sequence[Mapping[str, Bools]],
) -> tuple[Columns, Columns]:
    """The columns of uncertainty of one measure, ``[key, group]``, and of its means.

    Means are over the groups that share each value of each attribute, where the measure is
    defined, ``[key, value]``.
    """
    df = _freedom(uncertainty, block, names)
    own = _intervals(uncertainty, block, names, df)
    floors: list[tuple[list[int], FloatArray]] = []
    for metric in RATES:
        rows, _ = _places(uncertainty, block.estimates, metric)
        if rows and uncertainty.rate_intervals.are_disjoint[metric]:
            keys = [block.estimates.keys[i] for i in rows]
            null = uncertainty.equal_rates_draws.rate_draws(
                keys, lifted=block.measure != "difference"
            )
            fair = _computed(block.measure, block.reference, block.terms(null)).value
            floors.append((rows, fair))
            own["floor_mean"][rows], own["floor_95"][rows] = floor_distances(fair, _kind(block))
    means = [
        _of_means(uncertainty, block, names, own, floors, df, list(masks.values()))
        for masks in shared
    ]
    others = np.array([name != block.reference for name in names])
    for columns in (own, *means):
        p = np.where(others, columns["p"], np.nan) if columns is own else columns["p"]
        family = of_hypotheses(p, block.reference) if columns is own else p
        for name, adjusted in (("p_holm", holm), ("p_bh", benjamini_hochberg)):
            columns[name] = np.where(np.isnan(p), np.nan, adjusted(family))
        if block.measure == "threshold_bias_cv":  # varies as the plain one: no test
            columns |= {name: np.full(columns["p"].shape, np.nan) for name in _TESTS}
    joined = {name: np.concatenate([of[name] for of in means], axis=-1) for name in own if means}
    return own, joined


def _intervals(
    uncertainty: Uncertainty, block: BiasValues, names: Sequence[str], df: FloatArray
) -> Columns:
    """Limits and p of one measure, ``[key, group]``, in closed form where there is one."""
    own = _from_draws(uncertainty, block, block.biases, block.draw_biases, df)
    _without_still(own, block)
    if block.measure != "difference":
        for metric in RATES:
            rows, at = _places(uncertainty, block.estimates, metric)
            if rows:
                _of_rates(own, uncertainty, block, names, metric, rows, at)
    _say_who_is_unknown(own, _lacking(uncertainty, block, names))
    _finish(own, block.biases, block)
    return own


def _lacking(uncertainty: Uncertainty, block: BiasValues, names: Sequence[str]) -> Bools:
    """Whether test speakers of a group, or of what it is against, are unknown, ``[key, group]``."""
    lacking = uncertainty.metrics_lack_test_speakers([key[0] for key in block.keys])
    if block.reference in names:
        at = list(names).index(block.reference)
        return lacking[:, :-1] | lacking[:, at : at + 1]
    if block.reference:
        return np.broadcast_to(lacking.any(axis=-1, keepdims=True), block.biases.shape)
    return lacking[:, :-1]


def _say_who_is_unknown(columns: Columns, lacking: Bools) -> None:
    """Say why there is no interval where test speakers are unknown."""
    columns["note"] = np.where(lacking, NOTE_NO_TEST_SPEAKER, columns["note"])


def _of_means(
    uncertainty: Uncertainty,
    block: BiasValues,
    names: Sequence[str],
    own: Columns,
    floors: Sequence[tuple[list[int], FloatArray]],
    df: FloatArray,
    masks: Sequence[Bools],
) -> Columns:
    """The columns of uncertainty of means over some groups, ``[key, mask]``."""
    value = means_over_groups(block.biases, masks)
    drawn = (
        None
        if block.draw_biases is None
        else means_over_groups(block.draw_biases, masks, like=block.biases)
    )
    made = _from_draws(uncertainty, block, value, drawn, _pooled_freedom(block, df, masks))
    for rows, fair in floors:
        of_fair = means_over_groups(fair, masks, like=block.biases[rows])
        made["floor_mean"][rows], made["floor_95"][rows] = floor_distances(of_fair, _kind(block))
    lacking = _lacking(uncertainty, block, names)
    of_masks = [lacking[:, mask].any(axis=-1) for mask in masks]
    _say_who_is_unknown(made, np.stack(of_masks, axis=-1))
    _finish(made, value, block)
    for i, mask in enumerate(masks):  # a mean of one group is as uncertain as the group
        chosen = mask & ~np.isnan(block.biases)
        alone = np.flatnonzero(chosen.sum(axis=-1) == 1)
        group = chosen[alone].argmax(axis=-1)
        for name, cells in made.items():
            cells[alone, i] = own[name][alone, group]
    return made


def _kind(block: BiasValues) -> str:
    """How the measure is far from par: as a ratio or as a difference."""
    return "ratio" if MEASURES[block.measure].scale == "ratio" else block.measure


def _freedom(uncertainty: Uncertainty, block: BiasValues, names: Sequence[str]) -> FloatArray:
    """Speakers of each group or, if they are fewer, of what it is compared with, less one.

    Those behind each metric, ``[key, group]``.
    """
    metrics = [key[0] for key in block.keys]
    speakers = uncertainty.n_units_behind(metrics)
    own = speakers[:, :-1]
    if block.reference in names:
        at = list(names).index(block.reference)
        own = np.minimum(own, own[:, at : at + 1])
    elif block.reference == "others":
        are_apart = uncertainty.are_disjoint(metrics)[:, None]
        rest = speakers[:, -1:] - own
        if block.left_out_groups is not None:
            rest = rest - np.take_along_axis(own, block.left_out_groups[:, None], axis=-1)
        own = np.where(are_apart, np.minimum(own, rest), own)
    return np.where(own < uncertainty.options.minimums.inference, np.nan, own - 1.0)


def _pooled_freedom(block: BiasValues, df: FloatArray, masks: Sequence[Bools]) -> FloatArray:
    """Of a mean over groups, by Welch and Satterthwaite, ``[key, mask]``."""
    found, drawn = block.biases, block.draw_biases
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
    block: BiasValues,
    found: FloatArray,
    drawn: FloatArray | None,
    df: FloatArray,
) -> Columns:
    """Limits and p as the draws have them; floors unknown."""
    names = ("low", "high", "p", *_TESTS[1:], "floor_mean", "floor_95")
    made: Columns = {name: np.full(found.shape, np.nan) for name in names}
    made["note"] = np.full(found.shape, f"no interval: {uncertainty.no_draws_reason}", dtype=object)
    if drawn is not None:
        scale: Any = "log" if _kind(block) == "ratio" else "linear"
        confidence = uncertainty.options.confidence
        at = from_replicates(found, drawn, df, scale=scale, confidence=confidence)
        for name in ("low", "high", "p"):
            made[name] = np.array(getattr(at, name), ndmin=2)
        none = np.strings.add("no interval: ", at.reason).astype(object)
        made["note"] = np.where(np.isnan(df), uncertainty.options.minimums.no_interval_reason, none)
    return made


def _without_still(own: Columns, block: BiasValues) -> None:
    """No limit and no p from draws in which the group, or what it is against, does not vary."""
    silent = block.estimates.errors_by_key[: len(block.keys), :-1] == 0
    for holds, what in (
        (block.is_constant, "the group or its reference is the same in all replicates"),
        (silent, "no errors, nor in any replicate"),
    ):
        for name in ("low", "high", "p"):
            own[name] = np.where(holds, np.nan, own[name])
        own["note"] = np.where(holds, f"no interval: {what}", own["note"])


def _of_rates(
    own: Columns,
    uncertainty: Uncertainty,
    block: BiasValues,
    names: Sequence[str],
    metric: str,
    rows: list[int],
    at: list[int],
) -> None:
    """Ratios of a rate in closed form, if there is one, in the place of what the draws say."""
    if block.zero != "none":
        return
    left_out = None
    if block.left_out_groups is not None:
        left_out = np.zeros(len(uncertainty.point_indices), dtype=np.intp)
        left_out[at] = block.left_out_groups[rows]
    closed = uncertainty.reference_ratio(metric, block.reference, names, left_out)
    if closed is None:
        return
    ends = closed.low[at], closed.high[at]
    if block.measure == "neg_log_ratio":
        with np.errstate(divide="ignore"):
            ends = -np.log(ends[1]), -np.log(ends[0])
    own["low"][rows], own["high"][rows] = ends
    own["p"][rows] = closed.p[at]
    itself = [at for at, group in enumerate(names) if group == block.reference]
    for name in ("low", "high", "p"):
        own[name][np.ix_(rows, itself)] = np.nan


def _places(uncertainty: Uncertainty, stack: Estimates, metric: str) -> tuple[list[int], list[int]]:
    """Where a rate stands among keys, and at which operating point."""
    places = [rate_point_index(key, uncertainty.point_indices) for key in stack.keys]
    found = {i: at for i, at in enumerate(places) if at is not None and stack.keys[i][0] == metric}
    return list(found), list(found.values())


def _finish(made: Columns, found: FloatArray, block: BiasValues) -> None:
    """Nothing of what is undefined; no limit where no value can be."""
    measure = MEASURES[block.measure]
    if measure.scale == "ratio":
        made["low"] = np.maximum(made["low"], measure.bounds[0])
    if measure.bounds[0] == 1.0:  # at least 1 by construction: no test of being 1
        made["p"] = np.full(found.shape, np.nan)
    for name in ("low", "high", "p"):
        made[name] = np.where(np.isnan(found), np.nan, made[name])
    made["note"] = np.where(np.isnan(found) | ~np.isnan(made["high"]), "", made["note"])
