"""Judge rules on the trials of speakers that they were not made on.

See docs/methods/gates.md#cross-fitting. A set of folds is an integer, each fold a bit.
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
    """Scores of the trials, and a threshold of every rule for each set of excluded folds."""

    score: FloatArray  # shape (trial,)
    thresholds: dict[int, FloatArray]  # [rule, group + 1]


@dataclass(frozen=True, eq=False)
class RuleEstimates:
    """A figure of each rule, and how it differs from that of the first: shape (rule, ...)."""

    estimate: FloatArray
    limits: Limits
    change: FloatArray
    change_limits: Limits

    @classmethod
    def from_leave_out(
        cls, figures: FloatArray, confidence: float, moves: FloatArray | None = None
    ) -> RuleEstimates:
        """Take figures of all trials, and without each fold, ``[1 + fold, rule, ...]``.

        `moves`, ``[fold, fold, rule, ...]``, is as of `jackknife`.
        """
        changes = figures - figures[:, :1]
        change_moves = None if moves is None else moves - moves[:, :, :1]
        return cls(
            estimate=figures[0],
            limits=jackknife(figures[0], figures[1:], confidence, moves),
            change=changes[0],
            change_limits=jackknife(changes[0], changes[1:], confidence, change_moves),
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
    n_trials: dict[str, IntArray]  # [cell]
    n_speakers: dict[str, IntArray]  # [cell]


def judge_rules(
    trials: FittingTrials,
    fits: Sequence[CrossFitThresholds],
    aim: ThresholdAim,
    confidence: float,
) -> RuleJudgements:
    """Judge the rules of one or several kinds of scores, in this order.

    See docs/methods/gates.md#intervals-of-a-change.
    """
    is_wrong = np.concatenate([_wrong_decisions(trials, fit) for fit in fits])
    fold_counts = _FoldCounts.from_trials(trials)
    n_trials = fold_counts.count(np.ones((1, trials.score.size), dtype=np.bool_))
    rates, moves = _leave_out_rates(trials, fits, is_wrong, fold_counts, n_trials)
    weights = rate_weights(aim.cost_model, normalised=True)
    costs, cost_moves = (
        weights.false_accept * figures[..., 0, :, :] + weights.miss * figures[..., 1, :, :]
        for figures in (rates, moves)
    )
    has_both_classes = np.flatnonzero(~np.isnan(costs[0, 0, :-1]))
    return RuleJudgements(
        rates={rate: _rate_intervals(trials, rate, is_wrong, confidence) for rate in RATES},
        changes={
            rate: RuleEstimates.from_leave_out(rates[:, label], confidence, moves[:, :, label])
            for label, rate in enumerate(RATES)
        },
        cost=RuleEstimates.from_leave_out(costs, confidence, cost_moves),
        mean_cost=RuleEstimates.from_leave_out(
            costs[..., has_both_classes].mean(axis=-1),
            confidence,
            cost_moves[..., has_both_classes].mean(axis=-1),
        ),
        n_trials={rate: n_trials[0, :, label].sum(axis=0) for label, rate in enumerate(RATES)},
        n_speakers={
            rate: np.append(
                trials.n_enrolled[label].sum(axis=-1),
                np.max(trials.pooled[rate].clusters.n_speakers),
            )
            for label, rate in enumerate(RATES)
        },
    )


def _leave_out_rates(
    trials: FittingTrials,
    fits: Sequence[CrossFitThresholds],
    is_wrong: NDArray[np.bool_],
    fold_counts: _FoldCounts,
    n_trials: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return rates on all trials and without each fold, and by how much they move.

    Shapes ``[1 + fold, class, rule, cell]`` and ``[fold, fold, class, rule, cell]``: the fold that
    is left out of the fit, and, in the second, the fold that is left out of the judgement, too.
    """
    n_errors = fold_counts.count(is_wrong)
    all_sets = np.ones(n_errors.shape[1], dtype=np.bool_)
    rates, moves = [_rates(n_errors, n_trials, all_sets)], []
    # thresholds are moved by this many times what leaving out a fold does, in both directions
    step = math.sqrt(trials.n_folds - 1)
    for fold, is_outside in enumerate(fold_counts.is_outside):
        rows = np.flatnonzero(outside(trials.fold_bits, 1 << fold))
        error_moves = np.zeros(n_errors.shape)
        for signed_step in (step, -step):
            moved = [_wrong_decisions(trials, fit, rows, 1 << fold, signed_step) for fit in fits]
            error_moves += 0.5 / signed_step * fold_counts.count(np.concatenate(moved), rows)
        rates.append(_rates(n_errors + error_moves, n_trials, is_outside))
        moves.append(_rates(error_moves, n_trials, is_outside & fold_counts.is_outside))
    return np.stack(rates), np.stack(moves)


def _rate_intervals(
    trials: FittingTrials, rate: str, is_wrong: NDArray[np.bool_], confidence: float
) -> Interval:
    """Return a rate of each rule in each group, then in all together, ``[rule, cell]``."""
    intervals = []
    for trial_clusters, n_cells in (
        (trials.by_group[rate], len(trials.groups)),
        (trials.pooled[rate], 1),
    ):
        rule_clusters = [trial_clusters.with_errors(rule_is_wrong) for rule_is_wrong in is_wrong]
        errors = np.stack([clusters.errors for clusters in rule_clusters])
        all_rules = rule_clusters[0].select(errors=errors)
        intervals.append(rate_interval(moments(all_rules.cell_range(0, n_cells)), confidence))
    return _joined_intervals(*intervals)


@dataclass(frozen=True, eq=False)
class _FoldCounts:
    """Trials by the folds of both speakers, so that they are counted without any of them."""

    cell: IntArray  # of each trial: of a set of folds, a class and a group
    shape: tuple[int, int, int]
    is_outside: NDArray[np.bool_]  # no speaker of the set is in the fold, [fold, set]

    @classmethod
    def from_trials(cls, trials: FittingTrials) -> _FoldCounts:
        """Number the trials."""
        fold_sets = np.flatnonzero(np.bincount(trials.fold_bits))
        shape = (fold_sets.size, 2, len(trials.groups) + 1)
        index_of_set = np.zeros(1 << trials.n_folds, dtype=np.int64)
        index_of_set[fold_sets] = np.arange(fold_sets.size)
        class_of_trial = index_of_set[trials.fold_bits] * 2 + trials.target
        cell = class_of_trial * shape[2] + trials.group
        folds = 1 << np.arange(trials.n_folds)
        return cls(cell, shape, (fold_sets & folds[:, None]) == 0)

    def count(
        self, masks: NDArray[np.bool_], rows: NDArray[np.intp] | slice = slice(None)
    ) -> IntArray:
        """Count the trials of each mask, ``[mask, set, class, group + 1]``.

        The last group is all groups together.
        """
        cell, n_cells = self.cell[rows], math.prod(self.shape)
        counts = np.stack([np.bincount(cell[mask], minlength=n_cells) for mask in masks])
        counts = counts.reshape(-1, *self.shape)
        # trials of unknown group, which come last, are counted in all groups only
        return np.concatenate((counts[..., :-1], counts.sum(axis=-1, keepdims=True)), axis=-1)


def _rates(
    n_errors: FloatArray | IntArray, n_trials: IntArray, is_included: NDArray[np.bool_]
) -> FloatArray:
    """Return rates over some sets of folds, ``[..., class, rule, cell]``; 0 / 0 is NaN."""
    errors = np.einsum("...s,rsck->...crk", is_included, n_errors)
    trials = np.einsum("...s,rsck->...crk", is_included, n_trials)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(errors / trials)


def _wrong_decisions(
    trials: FittingTrials,
    fit: CrossFitThresholds,
    rows: NDArray[np.intp] | slice = slice(None),
    left_out_fold: int = 0,
    step: float = 0.0,
) -> NDArray[np.bool_]:
    """Return trials that each rule decides wrongly by thresholds of other speakers, [rule, trial].

    Thresholds are moved by `step` times what leaving out a fold, as a bit, moves them by.
    """
    fold_sets = np.array(list(fit.thresholds))
    index_of_set = np.zeros(1 << trials.n_folds, dtype=np.int64)
    index_of_set[fold_sets] = np.arange(fold_sets.size)
    thresholds = np.stack(list(fit.thresholds.values()), axis=1)  # [rule, set, group + 1]
    if left_out_fold:
        excluded = held_out(trials.n_folds)
        excluded = excluded[outside(excluded, left_out_fold)]
        thresholds_before = thresholds[:, index_of_set[excluded]]
        thresholds_after = thresholds[:, index_of_set[excluded | left_out_fold]]
        # an infinite threshold stays one: the difference of two infinite ones would be NaN
        move = np.where(
            thresholds_after == thresholds_before, 0, thresholds_after - thresholds_before
        )
        thresholds[:, index_of_set[excluded]] = thresholds_before + step * move
    positions = index_of_set[trials.fold_bits[rows]] * thresholds.shape[-1] + trials.group[rows]
    score, target = fit.score[rows], trials.target[rows]
    return np.stack(
        [(score >= rule_thresholds.ravel()[positions]) != target for rule_thresholds in thresholds]
    )


def _joined_intervals(groups: Interval, pooled: Interval) -> Interval:
    """Return intervals of groups, then of all together."""
    columns = [
        np.concatenate([getattr(groups, name), getattr(pooled, name)], axis=-1)
        for name in groups.__dataclass_fields__
    ]
    return type(groups)(*columns)
