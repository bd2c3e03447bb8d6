"""Null draws for any rate, measure and allotment of trials: gamma-multinomial.

See docs/methods/noise-floors.md#gamma-multinomial-draws.

See :mod:`parivox.core.noise` for what null draws are, and for the reasons of a refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parivox.core.noise import Null

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.core.moments import Moments

__all__ = ["gamma_multinomial"]

_ERRORS, _GROUPS, _SPEAKERS = 20, 2, 4  # fewer tell nothing of how speakers vary
_LEAST_DF = 3
_LEAST_VARIANCE = 1e-14  # of a rate, so that the gamma's shape is finite


def gamma_multinomial(moments: Moments, replicates: int, rng: np.random.Generator) -> Null:
    """Draws in which groups share one rate and vary as their speakers make them.

    For FNR and FPR, any measure, any allotment of trials. From each group's variance over its
    speakers, within the group, come the variances that all groups share: between speakers and,
    for FPR, between pairs of speakers. A group's rate is then the common one times a gamma
    variable of the variance that its own speakers, pairs and trials give, and the errors found
    are dealt out anew in proportion.

    Parameters
    ----------
    moments : Moments
        Of the groups to compare.
    replicates : int
    rng : Generator
        One number is taken; every operating point draws from the same stream.

    Returns
    -------
    Null
        Each draw of an operating point has as many errors as the data have. Rejects at 0.05 in
        0.03 to 0.07 of fair systems in simulation; but 0.10 to 0.14 for max/min and standard
        deviations of logarithms if speakers vary four times as much in every other group.

    Notes
    -----
    Where more than half of the trials are errors, those without one are dealt out, so that no rate
    exceeds 1.
    """
    fair = _fair(moments)
    errors = np.zeros((replicates, *fair.errors.shape), dtype=np.int64)
    seed = int(rng.integers(2**63))
    for point in np.ndindex(fair.reason.shape):
        if not fair.reason[point]:
            errors[(slice(None), *point)] = _draw(fair, point, replicates, seed)
    trials = fair.trials.astype(np.int64)
    dealt = fair.mirrored & (fair.reason == "")
    return Null(np.where(dealt[..., None], trials - errors, errors), trials, fair.reason)


class _Fair(NamedTuple):
    """What groups share in a fair system: shapes (..., cell), but df, mirrored, reason (...)."""

    errors: FloatArray
    trials: FloatArray
    excess: FloatArray
    df: FloatArray
    mirrored: NDArray[np.bool_]
    reason: NDArray[np.str_]


def _fair(moments: Moments) -> _Fair:
    """The variance of each group's rate in a fair system beyond the binomial one (4.6a, 1-4)."""
    errors, trials = moments.errors, moments.trials
    total, of = errors.sum(axis=-1), trials.sum(axis=-1)
    mirrored = 2 * total > of
    known = (moments.speakers >= _SPEAKERS) & np.isfinite(moments.jackknife)
    telling = np.where(known, moments.speakers - 1, 0)
    few = np.minimum(total, of - total) < _ERRORS
    reason = np.select(
        [total == 0, few, (telling > 0).sum(axis=-1) < _GROUPS],
        ["no_errors", "few_errors", "few_groups"],
        default="",
    )
    excess = _of_speakers(moments, telling) if moments.sides == 1 else _of_pairs(moments, telling)
    return _Fair(
        np.where(mirrored[..., None], trials - errors, errors),
        trials,
        np.where(trials > 0, excess, 0),
        _degrees(moments),
        mirrored,
        reason,
    )


def _of_speakers(moments: Moments, weights: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        each = (moments.jackknife - moments.variance_binomial) / moments.fs
    return np.asarray(_mean(np.maximum(each, 0), weights) * moments.fs)


def _of_pairs(moments: Moments, weights: FloatArray) -> FloatArray:
    """Speakers and pairs of speakers apart: the share of each differs with a group's trials."""
    beyond = moments.unbiased - moments.variance_binomial
    by_speakers = moments.fs - 2 * moments.fp  # 0 if each speaker is in one pair only
    pairs = np.where(weights > 0, moments.pairs, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.where(by_speakers > 0, (beyond - moments.pair_variance) / by_speakers, np.nan)
        first = np.maximum(_mean(apart, weights), 0)
        pair = np.maximum(_mean(moments.pair_variance / moments.fp, pairs) - 2 * first, 0)
        each = (beyond - pair * moments.fp) / moments.fs
    speaker = _mean(np.maximum(each, 0), weights)
    return np.asarray(speaker * moments.fs + pair * moments.fp)


def _mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted mean over cells, kept as an axis of one; 0 where no cell tells."""
    w = np.where(np.isfinite(values), weights, 0)
    total = w.sum(axis=-1, keepdims=True)
    summed = (w * np.where(w > 0, values, 0)).sum(axis=-1, keepdims=True)
    return np.asarray(summed / np.where(total, total, 1))


def _degrees(moments: Moments) -> FloatArray:
    """How well the variance between speakers is known: fewer if few carry most of it."""
    n = moments.speakers.sum(axis=-1)
    squares, fourths = moments.squares.sum(axis=-1), moments.fourths.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        heavy = np.where(squares > 0, np.maximum(n * fourths / squares**2 - 3, 0), 0)
        df = 2 / (heavy / n + 2 / np.maximum(moments.speakers - 1, 0).sum(axis=-1))
    return np.asarray(np.maximum(np.nan_to_num(df), _LEAST_DF))


def _draw(fair: _Fair, point: tuple[int, ...], replicates: int, seed: int) -> IntArray:
    """Errors of each draw and cell at one operating point (4.6a, 5)."""
    rng = np.random.default_rng(seed)
    errors, trials, df = fair.errors[point], fair.trials[point], fair.df[point]
    total = int(errors.sum())
    rate = total / trials.sum()
    # the variance between speakers is itself uncertain, alike for all groups
    stretch = df / rng.chisquare(df, (replicates, 1))
    shape = rate**2 / np.maximum(stretch * fair.excess[point], _LEAST_VARIANCE)
    # ln of a gamma variable by way of shape + 1: a small shape does not end in zeros only
    log_x = np.log(rng.standard_gamma(shape + 1)) - np.log(shape)
    log_x -= rng.standard_exponential(shape.shape) / shape
    with np.errstate(divide="ignore"):
        log_x += np.log(trials)
    share = np.exp(log_x - log_x.max(axis=-1, keepdims=True))
    dealt = rng.multinomial(total, share / share.sum(axis=-1, keepdims=True))
    return np.asarray(np.minimum(dealt, trials), dtype=np.int64)
