"""Rules judged on the trials of speakers that they were not made on.

See docs/methods/thresholds.md#cross-fitting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.cluster_errors import moments
from parivox.core.costs import rate_weights
from parivox.core.crossfit import Limits, held_out, jackknife, outside
from parivox.core.intervals import rate_interval
from parivox.decide.fitting_trials import RATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.core.intervals import Interval
    from parivox.decide.fitting_trials import FittingTrials
    from parivox.decide.threshold_aims import ThresholdAim


@dataclass(frozen=True, eq=False)
class CrossFitThresholds:
    """Scores of the trials of a material, and a threshold of every rule for each set held out."""

    score: FloatArray  # shape (trial,)
    thresholds: dict[int, FloatArray]  # [rule, group + 1]


@dataclass(frozen=True, eq=False)
class RuleEstimates:
    """Something of each rule, and how it differs from that of the first: shape (rule, ...)."""

    value: FloatArray
    limits: Limits
    change: FloatArray
    change_limits: Limits

    @classmethod
    def of(
        cls, every: FloatArray, confidence: float, moved: FloatArray | None = None
    ) -> RuleEstimates:
        """From values of all trials, and of those without each fold, ``[1 + fold, rule, ...]``.

        `moved`, ``[fold, fold, rule, ...]``, is as of `jackknife`.
        """
        change = every - every[:, :1]
        apart = None if moved is None else moved - moved[:, :, :1]
        return cls(
            *(every[0], jackknife(every[0], every[1:], confidence, moved)),
            *(change[0], jackknife(change[0], change[1:], confidence, apart)),
        )


@dataclass(frozen=True, eq=False)
class RuleJudgements:
    """What every rule comes to on held-out speakers; groups, then everyone, are the last axis."""

    rates: dict[str, Interval]
    """Of those thresholds on other speakers, ``[rule, cell]``."""
    changes: dict[str, RuleEstimates]
    """Of the rates, with intervals of the whole procedure, ``[rule, cell]``."""
    cost: RuleEstimates  # [rule, cell]
    mean_cost: RuleEstimates  # mean over the groups that have both classes, [rule]
    trials: dict[str, IntArray]  # [cell]
    speakers: dict[str, IntArray]  # [cell]


def judge_rules(
    material: FittingTrials,
    scored: Sequence[CrossFitThresholds],
    aim: ThresholdAim,
    confidence: float,
) -> RuleJudgements:
    """Judge the rules of one or several kinds of scores, in this order.

    See docs/methods/thresholds.md#intervals.
    """
    n_groups = len(material.groups)
    wrong = np.concatenate([_wrong(material, one) for one in scored])
    by_folds = _ByFolds.of(material)
    trials = by_folds.count(np.ones((1, material.score.size), dtype=np.bool_))
    errors = by_folds.count(wrong)
    whole = np.ones(errors.shape[1], dtype=np.bool_)
    rates, moved = [_rates(errors, trials, whole)], []
    step = math.sqrt(material.folds - 1)
    for fold, kept in enumerate(by_folds.outside):
        rows, moves = np.flatnonzero(outside(material.bits, 1 << fold)), np.zeros(errors.shape)
        for way in (step, -step):
            decided = [_wrong(material, one, rows, 1 << fold, way) for one in scored]
            moves += 0.5 / way * by_folds.count(np.concatenate(decided), rows)
        rates.append(_rates(errors + moves, trials, kept))
        moved.append(_rates(moves, trials, kept & by_folds.outside))
    of_rates, of_moves = np.stack(rates), np.stack(moved)  # [1 + fold, ...], [fold, fold, ...]
    miss, false_accept = rate_weights(aim.cost, normalised=True)
    costs, dearer = (
        false_accept * one[..., 0, :, :] + miss * one[..., 1, :, :] for one in (of_rates, of_moves)
    )
    compared = np.flatnonzero(~np.isnan(costs[0, 0, :-1]))
    told = {}
    for rate in RATES:
        parts = []
        for behind, first, last in (
            (material.by_group[rate], 0, n_groups),
            (material.everyone[rate], 0, 1),
        ):
            tallies = [behind.with_errors(one) for one in wrong]
            tally = tallies[0].select(errors=np.stack([one.errors for one in tallies]))
            parts.append(moments(tally.cell_range(first, last)))
        told[rate] = parts
    sure = {rate: [rate_interval(one, confidence) for one in parts] for rate, parts in told.items()}
    speakers = {
        rate: np.append(
            material.enrolled[int(rate == "fnr")].sum(axis=-1),
            np.max(material.everyone[rate].tally.n_speakers),
        )
        for rate in RATES
    }
    return RuleJudgements(
        {rate: _joined(*both) for rate, both in sure.items()},
        {
            rate: RuleEstimates.of(of_rates[:, k], confidence, of_moves[:, :, k])
            for k, rate in enumerate(RATES)
        },
        RuleEstimates.of(costs, confidence, dearer),
        RuleEstimates.of(
            costs[..., compared].mean(axis=-1), confidence, dearer[..., compared].mean(axis=-1)
        ),
        {rate: trials[0, :, k].sum(axis=0) for k, rate in enumerate(RATES)},
        speakers,
    )


@dataclass(frozen=True, eq=False)
class _ByFolds:
    """Trials by the folds of both speakers, so that they are counted without any of them."""

    cell: IntArray  # of each trial: of a set of folds, a class and a group
    shape: tuple[int, int, int]
    outside: NDArray[np.bool_]  # no speaker of the set is in the fold, [fold, set]

    @classmethod
    def of(cls, material: FittingTrials) -> _ByFolds:
        """Number the trials."""
        sets = np.flatnonzero(np.bincount(material.bits))
        shape = (sets.size, 2, len(material.groups) + 1)
        place = np.zeros(1 << material.folds, dtype=np.int64)
        place[sets] = np.arange(sets.size)
        cell = (place[material.bits] * 2 + material.target) * shape[2] + material.group
        held = 1 << np.arange(material.folds)
        return cls(cell, shape, (sets & held[:, None]) == 0)

    def count(
        self, chosen: NDArray[np.bool_], rows: NDArray[np.intp] | slice = slice(None)
    ) -> IntArray:
        """Trials chosen by each rule, ``[rule, set, class, group + 1]``; everyone comes last."""
        cell, size = self.cell[rows], math.prod(self.shape)
        counted = np.stack([np.bincount(cell[one], minlength=size) for one in chosen])
        counted = counted.reshape(-1, *self.shape)
        return np.concatenate((counted[..., :-1], counted.sum(axis=-1, keepdims=True)), axis=-1)


def _rates(errors: FloatArray | IntArray, trials: IntArray, kept: NDArray[np.bool_]) -> FloatArray:
    """Rates over the sets of folds that are kept, ``[..., class, rule, cell]``; 0 / 0 is NaN."""
    each = [np.einsum("...s,rsck->...crk", kept, one) for one in (errors, trials)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(each[0] / each[1])


def _wrong(
    material: FittingTrials,
    scored: CrossFitThresholds,
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


def _joined(groups: Interval, everyone: Interval) -> Interval:
    names = groups.__dataclass_fields__
    return type(groups)(
        *(np.concatenate([getattr(x, n) for x in (groups, everyone)], axis=-1) for n in names)
    )
