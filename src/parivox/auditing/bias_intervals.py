"""How sure bias measures are, and their means over the groups that share a value.

Intervals are told from the replicates of the bootstrap over speakers, or in closed form where
there is one; floors from draws of a fair system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parivox.auditing.fair import away
from parivox.auditing.stack import OWN, RATES, place_of_rate
from parivox.core.multiplicity import benjamini_hochberg, holm
from parivox.core.resampling import from_replicates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.replicated import Replicated
    from parivox.auditing.stack import Stack
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import FloatArray
    from parivox.core.resampling import Scale

    Columns: TypeAlias = dict[str, NDArray[Any]]
    Bools: TypeAlias = NDArray[np.bool_]

__all__ = ["bias_columns", "mean_over", "replicates"]

_MADE_OF_ALL = {"macro", "geomean", "best"}


def bias_columns(
    sure: Uncertainty,
    stack: Stack,
    measure: Callable[[Stack], FloatArray],
    found: FloatArray,
    *,
    kind: str,
    reference: str = "",
    names: Sequence[str] = (),
    is_plain: bool = True,
    sharing: Sequence[Mapping[str, Bools]] = (),
) -> tuple[Columns, Columns]:
    """The columns of uncertainty of one bias measure, and of its means.

    Parameters
    ----------
    sure
        Uncertainty of the groups.
    stack
        The base metrics, ``[key, group]``.
    measure
        What the measure is of a stack, also of one with an axis in front.
    found
        The measure itself, ``[key, group]``.
    kind : {"ratio", "neg_log_ratio", "difference"}
        On which scale it is: a ratio, minus its logarithm, or a difference.
    reference, names
        What groups are compared with, and the groups.
    is_plain
        Whether rates are as counted, so that their ratios have intervals in closed form.
    sharing
        Of each attribute, the groups that share each of its values, by name.

    Returns
    -------
    dict of str to ndarray of shape (key, group)
        Numbers and, as ``note``, why there is no interval.
    dict of str to ndarray of shape (key, value)
        Of the unweighted means over the groups with each value of each attribute, where the
        measure is defined; degrees of freedom by Welch and Satterthwaite.
    """
    drawn = replicates(sure.replicated, stack, measure, reference)
    df = _freedom(sure, reference, names)
    own = _from_replicates(sure, found, drawn, df, kind)
    if kind != "difference":
        _without_errors(own, sure, stack)
        if is_plain:
            _in_closed_form(own, sure, stack, kind, reference, names)
    floors = list(_floors(sure, stack, measure, kind))
    for rows, draws in floors:
        own["floor_mean"][rows], own["floor_95"][rows] = away(draws, kind)
    _finish(own, found, reference, kind)
    own |= {"p_holm": holm(own["p"]), "p_bh": benjamini_hochberg(own["p"])}
    means = []
    for masks in (list(of_value.values()) for of_value in sharing):
        value = mean_over(found, masks)
        again = None if drawn is None else mean_over(drawn, masks, like=found)
        of = _from_replicates(sure, value, again, _pooled_freedom(drawn, df, found, masks), kind)
        for rows, draws in floors:
            of["floor_mean"][rows], of["floor_95"][rows] = away(
                mean_over(draws, masks, like=found[rows]), kind
            )
        _finish(of, value, reference, kind)
        _of_one(of, own, found, masks)
        means.append(of | {"p_holm": holm(of["p"]), "p_bh": benjamini_hochberg(of["p"])})
    joined = {name: np.concatenate([of[name] for of in means], axis=-1) for name in own if means}
    return own, joined


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
    means = _shared(values if is_whole else np.where(finite, values, 0), weights)
    if not is_whole:
        with np.errstate(invalid="ignore"):
            for odd in (np.inf, -np.inf):
                means += np.where(_shared(values == odd, weights) > 0, odd, 0)
        means[_shared(np.isnan(values), weights) > 0] = np.nan
    return np.where(n > 0, means, np.nan)


def _shared(values: NDArray[np.generic], weights: FloatArray) -> FloatArray:
    """Weighted sums over groups, ``[..., key, mask]``, of weights ``[key, group, mask]``."""
    by_key = np.moveaxis(values.astype(np.float64, copy=False), -2, 0)
    found: FloatArray = np.moveaxis(
        np.reshape(by_key, (len(weights), -1, weights.shape[1])) @ weights, 0, -2
    )
    return found.reshape(*values.shape[:-1], weights.shape[-1])


def replicates(
    replicated: Replicated | None,
    stack: Stack,
    measure: Callable[[Stack], FloatArray],
    reference: str,
) -> FloatArray | None:
    """A measure in each replicate; NaN in those in which the reference lacks a group."""
    if replicated is None:
        return None
    again = replicated.stack(stack.keys)
    drawn = measure(again)
    if reference not in _MADE_OF_ALL:
        return drawn
    return np.where(again.lacks(stack)[..., None], np.nan, drawn)


def _freedom(sure: Uncertainty, reference: str, names: Sequence[str]) -> FloatArray:
    """Speakers of each group or, if they are fewer, of what it is compared with, less one."""
    own = sure.speakers[:-1]
    if reference in names:
        own = np.minimum(own, own[list(names).index(reference)])
    elif reference == "others" and sure.are_disjoint:
        own = np.minimum(own, sure.speakers[-1] - own)
    return np.where(own < sure.options.gates.inference, np.nan, own - 1.0)


def _pooled_freedom(
    drawn: FloatArray | None, df: FloatArray, found: FloatArray, masks: Sequence[Bools]
) -> FloatArray:
    """Of a mean over groups, by Welch and Satterthwaite, ``[key, mask]``."""
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


def _from_replicates(
    sure: Uncertainty, found: FloatArray, drawn: FloatArray | None, df: FloatArray, kind: str
) -> Columns:
    """Limits and p as the replicates have them; floors unknown."""
    made = {
        name: np.full(found.shape, np.nan)
        for name in ("low", "high", "p", "p_holm", "p_bh", "floor_mean", "floor_95")
    }
    made["note"] = np.full(found.shape, f"no interval: {sure.why}", dtype=object)
    if drawn is not None:
        scale: Scale = "log" if kind == "ratio" else "linear"
        told = from_replicates(found, drawn, df, scale=scale, confidence=sure.options.confidence)
        for name in ("low", "high", "p"):
            made[name] = np.array(getattr(told, name), ndmin=2)
        none = np.strings.add("no interval: ", told.reason).astype(object)
        made["note"] = np.where(np.isnan(df), sure.options.gates.too_few, none)
    return made


def _without_errors(own: Columns, sure: Uncertainty, stack: Stack) -> None:
    """No interval from replicates of a group without errors, which has none in any of them."""
    for metric in RATES:
        rows, _ = _rows(sure, stack, metric)
        if not rows:
            continue
        silent = stack.errors[rows] == 0
        for name in ("low", "high", "p"):
            own[name][rows] = np.where(silent, np.nan, own[name][rows])
        told = "no interval: no errors, nor in any replicate"
        own["note"][rows] = np.where(silent, told, own["note"][rows])


def _in_closed_form(
    own: Columns, sure: Uncertainty, stack: Stack, kind: str, reference: str, names: Sequence[str]
) -> None:
    """Ratios of rates, in the place of what the replicates say."""
    for metric in RATES:
        rows, at = _rows(sure, stack, metric)
        closed = sure.ratio(metric, reference, names) if rows else None
        if closed is None:
            continue
        ends = closed.low[at], closed.high[at]
        if kind == "neg_log_ratio":
            with np.errstate(divide="ignore"):
                ends = -np.log(ends[1]), -np.log(ends[0])
        own["low"][rows], own["high"][rows] = ends
        own["p"][rows] = closed.p[at]


def _floors(
    sure: Uncertainty, stack: Stack, measure: Callable[[Stack], FloatArray], kind: str
) -> Iterator[tuple[list[int], FloatArray]]:
    """Where the rates stand, and the measure of draws of a fair system of them."""
    if not sure.are_disjoint:
        return
    for metric in RATES:
        rows, _ = _rows(sure, stack, metric)
        if rows:
            keys = [stack.keys[i] for i in rows]
            yield rows, measure(sure.fair.of(keys, lifted=kind != "difference"))


def _rows(sure: Uncertainty, stack: Stack, metric: str) -> tuple[list[int], list[int]]:
    """Where a rate stands among keys, and at which operating point."""
    places = [place_of_rate(key, sure.points) for key in stack.keys]
    found = {i: at for i, at in enumerate(places) if at is not None and stack.keys[i][0] == metric}
    return list(found), list(found.values())


def _finish(made: Columns, found: FloatArray, reference: str, kind: str) -> None:
    """Nothing of what is undefined; no limit where no ratio can be."""
    if kind == "ratio":
        made["low"] = np.maximum(made["low"], 1.0 if reference == OWN else 0.0)
    if reference == OWN:  # at least 1 by construction: no test of being 1
        made["p"] = np.full(found.shape, np.nan)
    for name in ("low", "high", "p"):
        made[name] = np.where(np.isnan(found), np.nan, made[name])
    made["note"] = np.where(np.isnan(found) | ~np.isnan(made["high"]), "", made["note"])


def _of_one(means: Columns, own: Columns, found: FloatArray, masks: Sequence[Bools]) -> None:
    """A mean of one group is as sure as the group."""
    for i, mask in enumerate(masks):
        chosen = mask & ~np.isnan(found)
        rows = np.flatnonzero(chosen.sum(axis=-1) == 1)
        at = chosen[rows].argmax(axis=-1)
        for name, cells in means.items():
            cells[rows, i] = own[name][rows, at]
