"""Rules judged on the trials of speakers that they were not made on.

See docs/methods/thresholds.md#cross-fitting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.costs import cdet
from parivox.core.counts import Curve
from parivox.core.crossfit import Limits, held_out, jackknife, outside
from parivox.core.intervals import rate_interval
from parivox.core.tallies import moments
from parivox.mitigation.material import RATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.core.intervals import Interval
    from parivox.core.tallies import Moments
    from parivox.mitigation.aims import Aim
    from parivox.mitigation.material import Material


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of the trials of a material, and a threshold of every rule for each set held out."""

    score: FloatArray  # shape (trial,)
    thresholds: dict[int, FloatArray]  # [rule, group + 1]


@dataclass(frozen=True, eq=False)
class Measured:
    """Something of each rule, and how it differs from that of the first: shape (rule, ...)."""

    value: FloatArray
    limits: Limits
    change: FloatArray
    change_limits: Limits

    @classmethod
    def of(cls, every: FloatArray, confidence: float, once: float = 1.0) -> Measured:
        """From values of all trials, and of those without each fold, ``[1 + fold, rule, ...]``.

        `once` is as of `jackknife`.
        """
        change = every - every[:, :1]
        return cls(
            *(every[0], jackknife(every[0], every[1:], confidence, once)),
            *(change[0], jackknife(change[0], change[1:], confidence, once)),
        )


@dataclass(frozen=True, eq=False)
class Judged:
    """What every rule comes to on held-out speakers; groups, then everyone, are the last axis."""

    rates: dict[str, Interval]
    """Of those thresholds on other speakers, ``[rule, cell]``."""
    changes: dict[str, Measured]
    """Of the rates, with intervals of the whole procedure, ``[rule, cell]``."""
    cost: Measured  # [rule, cell]
    mean_cost: Measured  # mean over the groups that have both classes, [rule]
    trials: dict[str, IntArray]  # [cell]
    speakers: dict[str, IntArray]  # [cell]


def judge(material: Material, scored: Sequence[Scored], aim: Aim, confidence: float) -> Judged:
    """Judge the rules of one or several kinds of scores, in this order.

    See docs/methods/thresholds.md#intervals.
    """
    n_groups = len(material.groups)
    counted = []  # errors [1 + fold, class, rule, group + 1]
    numbers = []  # trials [1 + fold, class, group + 1]
    wrong = np.concatenate([_wrong(material, one) for one in scored])
    step = math.sqrt(material.folds - 1)
    for left_out in (None, *range(material.folds)):
        rows, weighed = np.arange(material.score.size), [(wrong, 1.0)]
        if left_out is not None:
            rows = np.flatnonzero(outside(material.bits, 1 << left_out))
            weighed = [(wrong[:, rows], 1.0)]
            for way in (step, -step):
                moved = [_wrong(material, one, rows, 1 << left_out, way) for one in scored]
                weighed.append((np.concatenate(moved), 0.5 / way))
        cell = material.target[rows].astype(np.int64) * (n_groups + 1) + material.group[rows]
        size = 2 * (n_groups + 1)
        numbers.append(np.bincount(cell, minlength=size).reshape(2, -1))
        each = [
            weight * np.stack([np.bincount(cell[row], minlength=size) for row in decided])
            for decided, weight in weighed
        ]
        counted.append(np.sum(each, axis=0).reshape(len(wrong), 2, -1).swapaxes(0, 1))
    trials, errors = _with_everyone(np.stack(numbers)), _with_everyone(np.stack(counted))
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = dict(zip(RATES, (errors / trials[:, :, None]).swapaxes(0, 1), strict=True))
    fp, fn = (errors[:, k].swapaxes(-1, -2) for k in (0, 1))
    curve = Curve(np.empty(fp.shape[-1]), fp, fn, trials[:, 1], trials[:, 0])
    costs = cdet(curve, aim.cost).swapaxes(-1, -2)
    of_whole = costs[:, :, :-1][:, :, ~np.isnan(costs[0, 0, :-1])]
    told = {}
    for rate in RATES:
        parts = []
        for behind, first, last in (
            (material.by_group[rate], 0, n_groups),
            (material.everyone[rate], 0, 1),
        ):
            tallies = [behind.with_errors(one) for one in wrong]
            tally = tallies[0].chosen(errors=np.stack([one.errors for one in tallies]))
            parts.append(moments(tally.part(first, last)))
        told[rate] = parts
    sure = {rate: [rate_interval(one, confidence) for one in parts] for rate, parts in told.items()}
    once = _once(told["fpr"][-1]) if aim.rates == ("fpr",) else 1.0
    speakers = {
        rate: np.append(
            material.enrolled[int(rate == "fnr")].sum(axis=-1),
            np.max(material.everyone[rate].tally.speakers),
        )
        for rate in RATES
    }
    return Judged(
        {rate: _joined(*both) for rate, both in sure.items()},
        {rate: Measured.of(rates[rate], confidence, once) for rate in RATES},
        Measured.of(costs, confidence, once),
        Measured.of(of_whole.mean(axis=-1), confidence, once),
        {rate: trials[0, k] for k, rate in enumerate(RATES)},
        speakers,
    )


def _wrong(
    material: Material,
    scored: Scored,
    rows: NDArray[np.intp] | slice = slice(None),
    left_out: int = 0,
    step: float = 0.0,
) -> NDArray[np.bool_]:
    """Trials that each rule decides wrongly by thresholds of other speakers, ``[rule, trial]``.

    Thresholds are moved by so many times what leaving out a fold, as a bit, moves them by.
    """
    sets = np.array(list(scored.thresholds))
    place = np.zeros(1 << material.folds, dtype=np.int64)
    place[sets] = np.arange(sets.size)
    every = np.stack(list(scored.thresholds.values()), axis=1)  # [rule, set, group + 1]
    if left_out:
        held = held_out(material.folds)
        held = held[outside(held, left_out)]
        whole, again = every[:, place[held]], every[:, place[held | left_out]]
        # an infinite threshold stays one
        every[:, place[held]] = whole + step * np.where(again == whole, 0, again - whole)
    at = place[material.bits[rows]] * every.shape[-1] + material.group[rows]
    score, target = scored.score[rows], material.target[rows]
    return np.stack([(score >= one.ravel()[at]) != target for one in every])


def _once(fpr: Moments) -> float:
    """The share of a variance by leaving out speakers that chance of pairs does not count twice in.

    As of the FPR of all trials at the first rule; 1 where that is not known.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (fpr.unbiased / fpr.jackknife)[0, 0]
    return float(np.clip(np.nan_to_num(share, nan=1.0), 0.5, 1.0))


def _with_everyone(counts: IntArray) -> IntArray:
    """Groups, then all trials, those of unknown group among them."""
    return np.concatenate((counts[..., :-1], counts.sum(axis=-1, keepdims=True)), axis=-1)


def _joined(groups: Interval, everyone: Interval) -> Interval:
    names = groups.__dataclass_fields__
    return type(groups)(
        *(np.concatenate([getattr(x, n) for x in (groups, everyone)], axis=-1) for n in names)
    )
