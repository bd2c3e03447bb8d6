"""Noise floors: what a system with equal rates would show on these speakers and trials.

Groups that a system serves alike still differ in their error rates, and measures of spread only
ever add such differences up. A floor is the distribution of a measure over draws of a system that
treats all groups alike (`EqualRatesDraws`), on the speakers and trials at hand
(docs/methods/uncertainty.md#noise-floors). All draws assume that variation between speakers is
similar in all groups. A measure that does not rise above its floor is not shown to be fair: with
few speakers little can be seen.

Arrays are ``[..., cell]``, draws ``[replicate, ..., cell]``; the cells are the groups of one
grouping. Draws depend on the seed and on their own operating point alone, not on which others
are asked for. `permuted` and `gamma_multinomial` draw them.

Reasons of a refusal: ``no_errors``; ``few_errors`` (fewer than 20 errors, or fewer than 20
trials without one); ``few_groups`` (with enough speakers to estimate their variation);
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

_MAX_TRIALS_RATIO = (
    2  # permutation from here on rejects too often: trials per speaker, largest : smallest
)
# Permuting more speakers takes seconds, and with so many there is little to choose between methods.
_MAX_PERMUTED_SPEAKERS = 20_000
_FLOOR_QUANTILE = 0.95
# Share of draws that may lack a value.
_MAX_UNDEFINED_SHARE = 0.05
# Numbers held in memory at a time while permuting.
_NUMBERS_AT_ONCE = 1 << 22
# With fewer errors, groups, or speakers of a group, the variation of speakers is not known.
_MIN_ERRORS, _MIN_GROUPS, _MIN_SPEAKERS = 20, 2, 4
_MIN_DF = 3
_ROUNDING = 1e-12
# Least variance of a rate, so that the shape of the gamma distribution is finite.
_MIN_VARIANCE = 1e-14


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
        return self._mask_refused(safe_divide(self.errors, self.trials))

    @cached_property
    def nonzero_rates(self) -> FloatArray:
        """`rates` by `without_zeros`, for measures of logarithms and ratios."""
        return self._mask_refused(without_zeros(self.errors, self.trials))

    def _mask_refused(self, rates: FloatArray) -> FloatArray:
        return np.where((self.reason == "")[..., None], rates, np.nan)


class NoiseFloor(NamedTuple):
    """A measure's place among its draws under equal rates, shape (...)."""

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
    """Return the noise floor of a measure and its p value, from draws under equal rates.

    Takes a measure of the data, ``[...]``, and of the draws, ``[replicate, ...]``, of which NaN is
    left out. Low values are the unfair ones where `higher_is_fairer`, ``[...]``, as of FDR.
    NaN without draws, or if more than 5 % of them are undefined; p also for a NaN measure.

    Examples
    --------
    >>> found = floor(0.3, [0.1, 0.2, 0.3, 0.4])
    >>> float(found.mean), float(found.q95), float(found.p)
    (0.25, 0.4, 0.6)
    """
    sign = np.where(higher_is_fairer, -1.0, 1.0)
    signed_draws = sign * np.asarray(null, dtype=np.float64)
    mean, q95, undefined_share = draw_summary(signed_draws)
    p = permutation_p(sign * np.asarray(observed, dtype=np.float64), signed_draws)
    p = np.where(undefined_share <= _MAX_UNDEFINED_SHARE, p, np.nan)[()]
    return NoiseFloor(sign * mean, sign * q95, p, undefined_share[()])


def draw_summary(draws: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean, 95 % quantile and share without a value of draws ``[replicate, ...]``.

    Draws that are NaN are left out; the numbers are NaN if more than 5 % of the draws are.
    """
    if not draws.shape[0]:
        draws = np.full((1, *draws.shape[1:]), np.nan)
    is_missing = np.isnan(draws)
    if not is_missing.any():  # as almost always: then one rank is that of the quantile of all
        # one of the draws, not a number between two, as some may be infinite
        rank = _quantile_rank(len(draws))
        q95 = np.partition(draws, rank, axis=0)[rank]
        return draws.sum(axis=0) / len(draws), q95, np.zeros(q95.shape)
    n_defined = (~is_missing).sum(axis=0)
    undefined_share = is_missing.mean(axis=0)
    rising = np.sort(draws, axis=0)
    q95 = np.take_along_axis(rising, _quantile_rank(n_defined)[None], axis=0)[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(is_missing, 0, draws).sum(axis=0) / n_defined
    is_valid = undefined_share <= _MAX_UNDEFINED_SHARE
    mean, q95 = np.where(is_valid, mean, np.nan)[()], np.where(is_valid, q95, np.nan)[()]
    return mean, q95, undefined_share


def _quantile_rank(n_defined: int | IntArray) -> NDArray[np.intp]:
    """Return the rank of the 95 % quantile, from 0."""
    rank = np.ceil(_FLOOR_QUANTILE * np.asarray(n_defined)).astype(np.intp) - 1
    return np.asarray(np.maximum(rank, 0))


def without_zeros(errors: ArrayLike, trials: ArrayLike) -> FloatArray:
    """Return error rates with half an error in place of none, for logarithms and ratios.

    max(errors, 0.5) / trials, in (0, 1] but for trials of less than one; NaN without trials. Shapes
    broadcast. Data and null draws alike, or their comparison is none.

    Examples
    --------
    >>> without_zeros([0, 3], [100, 100]).tolist()
    [0.005, 0.03]
    """
    return safe_divide(np.maximum(errors, 0.5), trials)


def null_method(cluster_errors: ErrorsBySpeaker) -> Literal["permutation", "gamma_multinomial"]:
    """Return the method that suits draws of FNR under equal rates.

    Permutation (`permuted`) where each speaker is in one group and groups have about as many
    trials to a speaker, up to 2 : 1 in the mean (a guess of
    docs/methods/uncertainty.md#permutation; at 8 : 1 it rejects 0.19 at 0.05), and where there are
    up to 20,000 speakers.
    """
    is_in_several_groups = np.unique(cluster_errors.speaker).size < cluster_errors.speaker.size
    if is_in_several_groups or cluster_errors.speaker.size > _MAX_PERMUTED_SPEAKERS:
        return "gamma_multinomial"
    with np.errstate(invalid="ignore"):
        mean_trials = cluster_errors.sum_by_cell(cluster_errors.trials) / cluster_errors.n_speakers
    mean_trials = mean_trials[..., cluster_errors.n_speakers > 0]
    fewest, most = mean_trials.min(initial=np.inf), mean_trials.max(initial=0)
    return "permutation" if most <= _MAX_TRIALS_RATIO * fewest else "gamma_multinomial"


def permuted(
    cluster_errors: ErrorsBySpeaker,
    strata: ArrayLike | None,
    replicates: int,
    rng: np.random.Generator,
) -> EqualRatesDraws:
    """Return draws in which speakers, with all their trials, change groups at random.

    Each speaker must be in one group. Groups exchange speakers within a stratum (of each entry)
    only; so differences between strata are no part of what is tested. Each group keeps its number
    of speakers, in each stratum; an operating point keeps its errors and trials in all. The same
    permutations serve all operating points. docs/methods/uncertainty.md#permutation: rejects 0.03
    to 0.08 at 0.05 where `null_method` names it.

    Raises
    ------
    ConfigError
        A speaker is in several groups.
    """
    if np.unique(cluster_errors.speaker).size < cluster_errors.speaker.size:
        msg = "a speaker is in several groups"
        hint = "give each speaker one group: group labels are permuted over speakers"
        raise ConfigError(msg, hint)
    n_entries = cluster_errors.cell.size
    stratum = np.zeros(n_entries) if strata is None else np.unique(strata, return_inverse=True)[1]
    # Seats are entries in order of strata: whoever is j-th in a shuffle within strata takes the
    # seat, and so the group, of the j-th entry. The seats are then put in order of groups.
    seats = np.argsort(stratum, kind="stable")
    seat_order = np.argsort(cluster_errors.cell[seats], kind="stable")
    errors, trials = _align_axes(cluster_errors.errors, cluster_errors.trials)
    totals = [
        np.empty((replicates, *counts.shape[:-1], cluster_errors.n_cells))
        for counts in (errors, trials)
    ]
    replicates_per_chunk = max(1, _NUMBERS_AT_ONCE // max(1, errors[..., :1].size * n_entries))
    for start in range(0, replicates, replicates_per_chunk):
        chunk = slice(start, min(start + replicates_per_chunk, replicates))
        # sorting a stratum number plus a random fraction shuffles within strata
        shuffle_keys = stratum + rng.random((chunk.stop - start, n_entries))
        shuffled = np.argsort(shuffle_keys, axis=-1)[:, seat_order]
        for entry_counts, chunk_totals in zip((errors, trials), totals, strict=True):
            chunk_totals[chunk] = np.moveaxis(
                cluster_errors.sum_by_cell(entry_counts[..., shuffled]), -2, 0
            )
    # no two groups have speakers of one stratum
    strata_of_cells = np.unique(np.stack((stratum, cluster_errors.cell)), axis=1)[0]
    has_no_exchange = np.unique(strata_of_cells).size == strata_of_cells.size
    reason = np.select(
        [errors.sum(axis=-1) == 0, has_no_exchange], ["no_errors", "fixed_groups"], default=""
    )
    return EqualRatesDraws(totals[0].astype(np.int64), totals[1], reason)


def gamma_multinomial(
    moments: Moments, replicates: int, rng: np.random.Generator
) -> EqualRatesDraws:
    """Return draws in which groups share one rate and vary as their speakers make them.

    For FNR and FPR, any measure, any allotment of trials. From each group's variance over its
    speakers, within the group, come the variances that all groups share: between speakers and,
    for FPR, between pairs of speakers. A group's rate is then the common one times a gamma
    variable of the variance that its own speakers, pairs and trials give, and the errors found
    are distributed again in proportion.

    Each draw of an operating point has as many errors as the data have; where more than half of the
    trials are errors, those without one are dealt out, so that no rate exceeds 1. One number is
    taken from `rng`; every operating point draws from the same stream. Rejects at 0.05 in 0.03 to
    0.07 of fair systems in simulation; but 0.10 to 0.14 for max/min and standard deviations of
    logarithms if speakers vary four times as much in every other group.
    """
    shared_variation = _shared_variation(moments)
    errors = np.zeros((replicates, *shared_variation.errors.shape), dtype=np.int64)
    seed = int(rng.integers(2**63))
    for point_index in np.ndindex(shared_variation.reason.shape):
        if not shared_variation.reason[point_index]:
            errors[(slice(None), *point_index)] = _draw_errors(
                shared_variation, point_index, replicates, seed
            )
    trials = shared_variation.trials.astype(np.int64)
    is_mirrored = shared_variation.is_mirrored & (shared_variation.reason == "")
    errors = np.where(is_mirrored[..., None], trials - errors, errors)
    return EqualRatesDraws(errors, trials, shared_variation.reason)


def _align_axes(
    errors: NDArray[np.generic], trials: NDArray[np.generic]
) -> tuple[FloatArray, FloatArray]:
    """Return both as floats with equally many axes; new leading axes have length 1."""
    error_array = np.asarray(errors, dtype=np.float64)
    trial_array = np.asarray(trials, dtype=np.float64)
    n_axes = max(error_array.ndim, trial_array.ndim)
    error_axes = (1,) * (n_axes - error_array.ndim) + error_array.shape
    trial_axes = (1,) * (n_axes - trial_array.ndim) + trial_array.shape
    return error_array.reshape(error_axes), trial_array.reshape(trial_axes)


class _SharedVariation(NamedTuple):
    """Variation of groups if all share one rate and the same variation between speakers."""

    errors: FloatArray  # where mirrored, trials without an error, (..., cell)
    trials: FloatArray  # (..., cell)
    excess: FloatArray  # variance of the rate beyond the binomial one, (..., cell)
    df: FloatArray  # degrees of freedom of the variance between speakers, (...)
    is_mirrored: NDArray[np.bool_]  # more than half of the trials are errors, (...)
    reason: NDArray[np.str_]  # why nothing can be drawn, (...)


def _shared_variation(moments: Moments) -> _SharedVariation:
    """Return the variance of each group's rate beyond the binomial one, under equal rates.

    See docs/methods/uncertainty.md#gamma-multinomial-draws.
    """
    errors, trials = moments.errors, moments.trials
    total_errors, total_trials = errors.sum(axis=-1), trials.sum(axis=-1)
    is_mirrored = 2 * total_errors > total_trials
    has_known_variance = (moments.speakers >= _MIN_SPEAKERS) & np.isfinite(moments.jackknife)
    weights = np.where(has_known_variance, moments.speakers - 1, 0)
    has_few_errors = np.minimum(total_errors, total_trials - total_errors) < _MIN_ERRORS
    reason = np.select(
        [total_errors == 0, has_few_errors, (weights > 0).sum(axis=-1) < _MIN_GROUPS],
        ["no_errors", "few_errors", "few_groups"],
        default="",
    )
    if moments.speakers_per_trial == 1:
        excess = _excess_of_speakers(moments, weights)
    else:
        excess = _excess_of_pairs(moments, weights)
    return _SharedVariation(
        errors=np.where(is_mirrored[..., None], trials - errors, errors),
        trials=trials,
        excess=np.where(trials > 0, excess, 0),
        df=_speaker_variance_df(moments),
        is_mirrored=is_mirrored,
        reason=reason,
    )


def _excess_of_speakers(moments: Moments, weights: FloatArray) -> FloatArray:
    """Return the excess of target trials: one variance between speakers for all groups."""
    excess = moments.jackknife - moments.variance_binomial
    with np.errstate(invalid="ignore", divide="ignore"):
        speaker_variance = excess / moments.speaker_concentration
    shared_variance = _weighted_mean(np.maximum(speaker_variance, 0), weights)
    return np.asarray(shared_variance * moments.speaker_concentration)


def _excess_of_pairs(moments: Moments, weights: FloatArray) -> FloatArray:
    """Return the excess of nontarget trials, from variances between speakers and between pairs.

    They are estimated apart, as the share of each differs with a group's trials. A pair's own
    trials are dependent, too: their variance beyond the binomial one is expected to be that of a
    pair's rate times ``f_p - 1/N``; the binomial one of a group holds ``1/N`` of it.
    See docs/methods/uncertainty.md#gamma-multinomial-draws.
    """
    excess = moments.unbiased - moments.variance_binomial
    # 0 if each speaker is in one pair only
    speaker_weight = moments.speaker_concentration - 2 * moments.pair_concentration
    # 0 if each pair has one trial
    repeated_share = moments.pair_concentration - safe_divide(1, moments.trials)
    pair_weights = np.where(weights > 0, moments.pairs, 0)
    repeated_share = np.where(repeated_share > _ROUNDING, repeated_share, 0)
    pair_variance_of_cell = safe_divide(moments.pair_variance, repeated_share)
    # of a pair's rate: that of the pair itself and of both speakers
    mean_pair_variance = _weighted_mean(pair_variance_of_cell, pair_weights)
    speaker_variance_of_cell = safe_divide(excess - moments.pair_variance, speaker_weight)
    initial_speaker = np.maximum(_weighted_mean(speaker_variance_of_cell, weights), 0)
    pair_variance = np.maximum(mean_pair_variance - 2 * initial_speaker, 0)
    # speakers once more, now that the variance of pairs is known
    speaker_excess = (
        excess
        + safe_divide(mean_pair_variance, moments.trials)
        - pair_variance * moments.pair_concentration
    )
    cell_variance = safe_divide(speaker_excess, moments.speaker_concentration)
    speaker_variance = _weighted_mean(np.maximum(cell_variance, 0), weights)
    total_variance = (
        speaker_variance * moments.speaker_concentration
        + pair_variance * moments.pair_concentration
    )
    binomial_part = safe_divide(2 * speaker_variance + pair_variance, moments.trials)
    return np.asarray(total_variance - binomial_part)


def _weighted_mean(cell_values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean over cells, an axis of length 1; 0 without cells of any weight."""
    used_weights = np.where(np.isfinite(cell_values), weights, 0)
    total_weight = used_weights.sum(axis=-1, keepdims=True)
    used_values = np.where(used_weights > 0, cell_values, 0)
    weighted_sum = (used_weights * used_values).sum(axis=-1, keepdims=True)
    return np.asarray(weighted_sum / np.where(total_weight, total_weight, 1))


def _speaker_variance_df(moments: Moments) -> FloatArray:
    """Return degrees of freedom of the variance between speakers: fewer if few carry most of it."""
    n_speakers = moments.speakers.sum(axis=-1)
    squares, fourths = moments.squares.sum(axis=-1), moments.fourths.sum(axis=-1)
    n_independent = np.maximum(moments.speakers - 1, 0).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        kurtosis = np.maximum(n_speakers * fourths / squares**2 - 3, 0)
        excess_kurtosis = np.where(squares > 0, kurtosis, 0)
        df = 2 / (excess_kurtosis / n_speakers + 2 / n_independent)
    return np.asarray(np.maximum(np.nan_to_num(df), _MIN_DF))


def _draw_errors(
    shared_variation: _SharedVariation, point_index: tuple[int, ...], replicates: int, seed: int
) -> IntArray:
    """Return the errors of each draw and cell at one operating point, ``[draw, cell]``."""
    rng = np.random.default_rng(seed)
    errors = shared_variation.errors[point_index]
    trials = shared_variation.trials[point_index]
    df = shared_variation.df[point_index]
    total = int(errors.sum())
    rate = total / trials.sum()
    # the variance between speakers is itself uncertain, alike for all groups
    variance_factor = df / rng.chisquare(df, (replicates, 1))
    variance = variance_factor * shared_variation.excess[point_index]
    gamma_shape = rate**2 / np.maximum(variance, _MIN_VARIANCE)
    # ln of a gamma variable of shape + 1, lowered: with a small shape, variables would all be 0
    log_gamma = np.log(rng.standard_gamma(gamma_shape + 1)) - np.log(gamma_shape)
    log_gamma -= rng.standard_exponential(gamma_shape.shape) / gamma_shape
    with np.errstate(divide="ignore"):
        log_gamma += np.log(trials)
    share = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    drawn_errors = rng.multinomial(total, share / share.sum(axis=-1, keepdims=True))
    return np.asarray(np.minimum(drawn_errors, trials), dtype=np.int64)
