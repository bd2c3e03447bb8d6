"""Noise floors: what a perfectly fair system would show on these speakers and trials.

Groups that a system serves alike still differ in their error rates, and measures of spread only
ever add such differences up. A floor is the distribution of a measure over draws of a system that
treats all groups alike (a `Null`), on the speakers and trials at hand
(docs/methods/noise-floors.md). All draws assume that variation between speakers is similar in all
groups. A measure that does not rise above its floor is not shown to be fair: with few speakers
little can be seen.

Arrays are ``[..., cell]``, draws ``[replicate, ..., cell]``; the cells are the groups of one
grouping. Draws depend on the seed and on their own operating point alone, not on which others
are asked for. `permuted` and `gamma_multinomial` make them.

Reasons of a refusal: ``no_errors``; ``few_errors`` (fewer than 20 errors, or fewer than 20
trials without one); ``few_groups`` (with enough speakers to tell how they vary);
``fixed_groups`` (no stratum has speakers of two groups to exchange).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from parivox.core.cluster_errors import safe_divide
from parivox.core.verdict import permutation_p
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.cluster_errors import ErrorsBySpeaker, Moments
    from parivox.core.counts import FloatArray, IntArray

_UNEQUAL = 2  # permutation from here on rejects too often: trials per speaker, largest : smallest
_MANY_SPEAKERS = 20_000  # permuting more takes seconds, and they leave little to choose
_LEVEL = 0.95
_UNDEFINED = 0.05  # share of draws that may lack a value
_AT_ONCE = 1 << 22  # numbers held at a time while permuting
_ERRORS, _GROUPS, _SPEAKERS = 20, 2, 4  # fewer tell nothing of how speakers vary
_LEAST_DF = 3
_ROUNDING = 1e-12
_LEAST_VARIANCE = 1e-14  # of a rate, so that the gamma's shape is finite


@dataclass(frozen=True, eq=False)
class EqualRatesDraws:
    """Draws of a system that treats all groups alike."""

    errors: IntArray
    """0 where refused. Of shape (replicate, ..., cell)."""
    trials: NDArray[np.generic]
    """Broadcasts against `errors`."""
    reason: NDArray[np.str_]
    """Why the data allow no valid draws, else empty. Of shape (...)."""

    @cached_property
    def rates(self) -> FloatArray:
        """Errors over trials, (replicate, ..., cell); NaN where refused or without trials."""
        return self._where_drawn(safe_divide(self.errors, self.trials))

    @cached_property
    def nonzero_rates(self) -> FloatArray:
        """`rates` by `without_zeros`, for measures of logarithms and ratios."""
        return self._where_drawn(without_zeros(self.errors, self.trials))

    def _where_drawn(self, values: FloatArray) -> FloatArray:
        return np.where((self.reason == "")[..., None], values, np.nan)


class NoiseFloor(NamedTuple):
    """Where a measure stands among its null draws, shape (...)."""

    mean: FloatArray
    """What fair systems show on average."""
    q95: FloatArray
    """What 95 % of fair systems do not exceed in unfairness: the 5 % quantile of what is fairer if
    higher.
    """
    p: FloatArray
    """Share of fair systems at least as unfair as the observed one, in (0, 1]."""
    undefined: FloatArray
    """Share of draws without a value."""


def floor(
    observed: ArrayLike, null: ArrayLike, *, higher_is_fairer: ArrayLike = False
) -> NoiseFloor:
    """Where an observed measure stands among null draws.

    Of a measure of the data, ``[...]``, and the same of null draws, ``[replicate, ...]``, of which
    NaN is left out. Low values are the unfair ones where `higher_is_fairer`, ``[...]``, as of FDR.
    NaN without draws, or if more than 5 % of them are undefined; p also for a NaN measure.

    Examples
    --------
    >>> found = floor(0.3, [0.1, 0.2, 0.3, 0.4])
    >>> float(found.mean), float(found.q95), float(found.p)
    (0.25, 0.4, 0.6)
    """
    unfair = np.where(higher_is_fairer, -1.0, 1.0)
    draws = unfair * np.asarray(null, dtype=np.float64)
    mean, q95, share = draw_summary(draws)
    p = permutation_p(unfair * np.asarray(observed, dtype=np.float64), draws)
    p = np.where(share <= _UNDEFINED, p, np.nan)[()]
    return NoiseFloor(unfair * mean, unfair * q95, p, share[()])


def draw_summary(draws: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What draws ``[replicate, ...]`` show: mean, what 95 % do not exceed, share without a value.

    NaN is left out; NaN if more than 5 % of them are.
    """
    if not draws.shape[0]:
        draws = np.full((1, *draws.shape[1:]), np.nan)
    missing = np.isnan(draws)
    n = (~missing).sum(axis=0)
    share = missing.mean(axis=0)
    # one of the draws, not a value between two: no arithmetic with infinite ones
    rising = np.sort(draws, axis=0)
    last = np.maximum(np.ceil(_LEVEL * n).astype(np.intp) - 1, 0)
    q95 = np.take_along_axis(rising, last[None], axis=0)[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(missing, 0, draws).sum(axis=0) / n
    mean, q95 = (np.where(share <= _UNDEFINED, each, np.nan)[()] for each in (mean, q95))
    return mean, q95, share


def without_zeros(errors: ArrayLike, trials: ArrayLike) -> FloatArray:
    """Error rates with half an error in the place of none, for logarithms and ratios.

    max(errors, 0.5) / trials, in (0, 1] but for trials of less than one; NaN without trials. Shapes
    broadcast. Data and null draws alike, or their comparison is none.

    Examples
    --------
    >>> without_zeros([0, 3], [100, 100]).tolist()
    [0.005, 0.03]
    """
    return safe_divide(np.maximum(errors, 0.5), trials)


def null_method(tally: ErrorsBySpeaker) -> Literal["permutation", "gamma_multinomial"]:
    """How null draws of FNR are best made.

    Permutation (`permuted`) where each speaker is in one group and groups have about as many
    trials to a speaker, up to 2 : 1 in the mean (a guess of
    docs/methods/noise-floors.md#permutation; at 8 : 1 it rejects 0.19 at 0.05), and where there are
    up to 20,000 speakers.
    """
    if np.unique(tally.speaker).size < tally.speaker.size or tally.speaker.size > _MANY_SPEAKERS:
        return "gamma_multinomial"
    with np.errstate(invalid="ignore"):
        each = (tally.sum_by_cell(tally.trials) / tally.n_speakers)[..., tally.n_speakers > 0]
    alike = each.max(initial=0) <= _UNEQUAL * each.min(initial=np.inf)
    return "permutation" if alike else "gamma_multinomial"


def permuted(
    tally: ErrorsBySpeaker, strata: ArrayLike | None, replicates: int, rng: np.random.Generator
) -> EqualRatesDraws:
    """Draws in which speakers, with all their trials, change groups at random.

    Each speaker must be in one group. Groups exchange speakers within a stratum (of each entry)
    only; so differences between strata are no part of what is tested. Each group keeps its number
    of speakers, in each stratum; an operating point keeps its errors and trials in all. The same
    permutations serve all operating points. docs/methods/noise-floors.md#permutation: rejects 0.03
    to 0.08 at 0.05 where `null_method` names it.

    Raises
    ------
    ConfigError
        A speaker is in several groups.
    """
    if np.unique(tally.speaker).size < tally.speaker.size:
        msg = "a speaker is in several groups; speakers can be permuted only if each is in one"
        raise ConfigError(msg)
    n = tally.cell.size
    stratum = np.zeros(n) if strata is None else np.unique(strata, return_inverse=True)[1]
    # Seats are entries in order of strata: whoever is j-th in a shuffle within strata takes the
    # seat, and so the group, of the j-th entry. The seats are then put in order of groups.
    seats = np.argsort(stratum, kind="stable")
    in_order = np.argsort(tally.cell[seats], kind="stable")
    errors, trials = _same_axes(tally.errors, tally.trials)
    found = [np.empty((replicates, *each.shape[:-1], tally.n_cells)) for each in (errors, trials)]
    step = max(1, _AT_ONCE // max(1, errors[..., :1].size * n))
    for first in range(0, replicates, step):
        here = slice(first, min(first + step, replicates))
        shuffled = np.argsort(stratum + rng.random((here.stop - first, n)), axis=-1)[:, in_order]
        for values, into in zip((errors, trials), found, strict=True):
            into[here] = np.moveaxis(tally.sum_by_cell(values[..., shuffled]), -2, 0)
    free = np.unique(np.stack((stratum, tally.cell)), axis=1)[0]
    fixed = np.unique(free).size == free.size
    reason = np.select([errors.sum(axis=-1) == 0, fixed], ["no_errors", "fixed_groups"], default="")
    return EqualRatesDraws(found[0].astype(np.int64), found[1], reason)


def gamma_multinomial(
    moments: Moments, replicates: int, rng: np.random.Generator
) -> EqualRatesDraws:
    """Draws in which groups share one rate and vary as their speakers make them.

    For FNR and FPR, any measure, any allotment of trials. From each group's variance over its
    speakers, within the group, come the variances that all groups share: between speakers and,
    for FPR, between pairs of speakers. A group's rate is then the common one times a gamma
    variable of the variance that its own speakers, pairs and trials give, and the errors found
    are dealt out anew in proportion.

    Each draw of an operating point has as many errors as the data have; where more than half of the
    trials are errors, those without one are dealt out, so that no rate exceeds 1. One number is
    taken from `rng`; every operating point draws from the same stream. Rejects at 0.05 in 0.03 to
    0.07 of fair systems in simulation; but 0.10 to 0.14 for max/min and standard deviations of
    logarithms if speakers vary four times as much in every other group.
    """
    fair = _shared_variation(moments)
    errors = np.zeros((replicates, *fair.errors.shape), dtype=np.int64)
    seed = int(rng.integers(2**63))
    for point in np.ndindex(fair.reason.shape):
        if not fair.reason[point]:
            errors[(slice(None), *point)] = _draw(fair, point, replicates, seed)
    trials = fair.trials.astype(np.int64)
    dealt = fair.mirrored & (fair.reason == "")
    return EqualRatesDraws(np.where(dealt[..., None], trials - errors, errors), trials, fair.reason)


def _same_axes(
    errors: NDArray[np.generic], trials: NDArray[np.generic]
) -> tuple[FloatArray, FloatArray]:
    """Both as floats with the axes of their broadcast, an axis of one where all are alike."""
    e, n = np.asarray(errors, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    axes = max(e.ndim, n.ndim)
    e, n = (each.reshape((1,) * (axes - each.ndim) + each.shape) for each in (e, n))
    return e, n


class _SharedVariation(NamedTuple):
    """What groups share in a fair system: shapes (..., cell), but df, mirrored, reason (...)."""

    errors: FloatArray
    trials: FloatArray
    excess: FloatArray
    df: FloatArray
    mirrored: NDArray[np.bool_]
    reason: NDArray[np.str_]


def _shared_variation(moments: Moments) -> _SharedVariation:
    """The variance of each group's rate in a fair system beyond the binomial one.

    See docs/methods/noise-floors.md#gamma-multinomial-draws.
    """
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
    return _SharedVariation(
        np.where(mirrored[..., None], trials - errors, errors),
        trials,
        np.where(trials > 0, excess, 0),
        _degrees(moments),
        mirrored,
        reason,
    )


def _of_speakers(moments: Moments, weights: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        each = (moments.jackknife - moments.variance_binomial) / moments.speaker_concentration
    return np.asarray(_mean(np.maximum(each, 0), weights) * moments.speaker_concentration)


def _of_pairs(moments: Moments, weights: FloatArray) -> FloatArray:
    """Speakers and pairs of speakers apart: the share of each differs with a group's trials.

    A pair's own trials are dependent, too: their variance beyond the binomial one is expected to
    be that of a pair's rate times ``fp - 1/N``; the binomial one of a group holds ``1/N`` of it.
    """
    beyond = moments.unbiased - moments.variance_binomial
    by_speakers = (
        moments.speaker_concentration - 2 * moments.pair_concentration
    )  # 0 if each speaker is in one pair only
    repeated = moments.pair_concentration - safe_divide(
        1, moments.trials
    )  # 0 if each pair has one trial
    pairs = np.where(weights > 0, moments.pairs, 0)
    of_pair = safe_divide(moments.pair_variance, np.where(repeated > _ROUNDING, repeated, 0))
    total = _mean(of_pair, pairs)
    first = np.maximum(_mean(safe_divide(beyond - moments.pair_variance, by_speakers), weights), 0)
    pair = np.maximum(total - 2 * first, 0)
    each = safe_divide(
        beyond + safe_divide(total, moments.trials) - pair * moments.pair_concentration,
        moments.speaker_concentration,
    )
    speaker = _mean(np.maximum(each, 0), weights)
    whole = speaker * moments.speaker_concentration + pair * moments.pair_concentration
    return np.asarray(whole - safe_divide(2 * speaker + pair, moments.trials))


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


def _draw(fair: _SharedVariation, point: tuple[int, ...], replicates: int, seed: int) -> IntArray:
    """Errors of each draw and cell at one operating point."""
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
