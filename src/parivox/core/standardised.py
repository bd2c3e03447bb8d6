"""Standardised rates: groups compared on the same mixture of strata.

See docs/methods/confounding.md#standardised-rates.

A directly standardised rate gives each stratum (a pairing, a band of durations, any attribute of
trials) the same weight in all groups, so that groups differ no longer in their mixture of strata.
Strata that some group lacks are left out for all groups, and :class:`Standardised` has their share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from parivox.core.moments import moments, over
from parivox.core.tallies import ByPair, BySpeaker, sum_by_cell

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray

Tally = TypeVar("Tally", bound=BySpeaker | ByPair)


@dataclass(frozen=True, eq=False)
class Standardised(Generic[Tally]):
    """Trials of each group on the common mixture of strata.

    Attributes
    ----------
    tally : BySpeaker or ByPair
        Cells are groups. Errors and trials are weighted so that rates, moments, intervals and
        ratios taken from it are those of the standardised rates; they are no counts, and errors
        of a speaker may be negative. Groups whose `reason` is not empty have no entries.
    weight : float64 of shape (stratum,)
        Common weights, adding up to 1; 0 for strata left out.
    left_out : float64 of shape (group,)
        Share of the group's trials that is in strata left out; NaN without trials.
    reason : str array of shape (group,)
        ``no_trials``, ``no_common_stratum`` or empty.
    """

    tally: Tally
    weight: FloatArray
    left_out: FloatArray
    reason: NDArray[np.str_]


def standardised(tally: Tally, group: ArrayLike, stratum: ArrayLike) -> Standardised[Tally]:
    """Directly standardised rates: sum over strata k of w_k * R_gk for each group g, w_k equal.

    Parameters
    ----------
    tally : BySpeaker or ByPair
        Its cells are (group, stratum), trials of shape (entry,).
    group, stratum : array_like of int, of shape (cell,)
        Group and stratum of each cell, each combination at most once.

    Returns
    -------
    Standardised
        Lower rates are better. A stratum is used if every group that has trials at all has some
        there, and not all of them with one speaker, whose luck could not be told from the group's
        rate. As in docs/methods/uncertainty.md#residuals-and-variances a speaker's residuals, here
        sum over k of w_k * (e_sk - R_gk n_sk) / N_gk, carry the variance; a group counts as 1 / sum
        of w_k ** 2 / N_gk trials. With one stratum all is as without strata.

    Examples
    --------
    Both groups have 1 % and 10 % in the two strata, in unlike shares:

    >>> errors, trials = np.array([1, 90, 9, 10]), np.array([100, 900, 900, 100])
    >>> cell, speaker = np.repeat(np.arange(4), 2), np.array([0, 1, 0, 1, 2, 3, 2, 3])
    >>> tally = BySpeaker(cell, speaker, errors[cell], trials[cell], 4)
    >>> found = standardised(tally, [0, 0, 1, 1], [0, 1, 0, 1])
    >>> moments(found.tally).rate.round(6).tolist()
    [0.055, 0.055]
    """
    groups, strata = np.asarray(group, dtype=np.intp), np.asarray(stratum, dtype=np.intp)
    trials = tally.by_cell(tally.trials)
    table = np.zeros((groups.max(initial=-1) + 1, strata.max(initial=-1) + 1))
    usable = np.zeros(table.shape, dtype=bool)
    table[groups, strata] = trials
    usable[groups, strata] = (trials > 0) & ~np.atleast_2d(moments(tally).shared).any(axis=0)
    total = table.sum(axis=1)
    used = usable[total > 0].all(axis=0) & (total > 0).any()
    weight = np.where(used, 1.0, 0.0)
    weight = over(weight, weight.sum(), 0)
    left_out = over(table @ ~used, total)
    by_trial = over(weight[strata], trials, 0)
    counts_as = over(1, np.bincount(groups, weight[strata] * by_trial, minlength=total.size))
    reason = np.select(
        [total == 0, np.full(total.shape, not used.any())],
        ["no_trials", "no_common_stratum"],
        default="",
    )
    return Standardised(_on_groups(tally, groups, by_trial, counts_as), weight, left_out, reason)


def _on_groups(
    tally: Tally, group: NDArray[np.intp], by_trial: FloatArray, counts_as: FloatArray
) -> Tally:
    """One cell per group, whose rate, residuals and trials are the weighted sums of its cells'."""
    n_groups = counts_as.size
    kept = by_trial[tally.cell] > 0
    cell = tally.cell[kept]
    names = ["speaker"] if isinstance(tally, BySpeaker) else ["one", "other"]
    people = [getattr(tally, name)[kept] for name in names]
    shape = (max(n_groups, 1), *(int(each.max(initial=0)) + 1 for each in people))
    codes, where = np.unique(
        np.ravel_multi_index((group[cell], *people), shape), return_inverse=True
    )
    order = np.argsort(where, kind="stable")
    groups, *people = np.unravel_index(codes, shape)
    by_group = np.argsort(group, kind="stable")

    def joined(values: NDArray[np.generic]) -> FloatArray:
        scaled = values * (by_trial[cell] * counts_as[group[cell]])
        return sum_by_cell(scaled[..., order], where[order], codes.size)

    def over_strata(values: FloatArray) -> FloatArray:
        return sum_by_cell(values[..., by_group], group[by_group], n_groups)

    total = tally.by_cell(tally.trials)
    rate, share = over(tally.by_cell(tally.errors), total, 0), by_trial * total
    # shares of a group add up to 1 but for their last bit, which a rate of 1 would show
    common = over(over_strata(share * rate), over_strata(share), 0)
    trials = joined(tally.trials[kept])
    residual = tally.errors[..., kept] - rate[..., cell] * tally.trials[kept]
    # on the group's own rate again, so that residuals taken from this tally are these
    errors = joined(residual) + common[..., groups] * trials
    who: dict[str, Any] = dict(zip(names, people, strict=True))
    return replace(tally, cell=groups, errors=errors, trials=trials, n_cells=n_groups, **who)
