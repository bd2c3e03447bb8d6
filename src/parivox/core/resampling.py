"""Vertex bootstrap over speakers: weights, weighted rates, intervals.

See docs/methods/uncertainty.md#vertex-bootstrap.

Speakers are drawn with replacement within strata; a speaker drawn w times weighs w. A trial of
one speaker then weighs w_s, one between two speakers w_i * w_j. One matrix of weights serves
every grouping, measure and system: what is computed from it is resampled jointly. Replicates
are the first axis.

Weighted score curves are in `parivox.core.resampled_curves`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from parivox.core.cluster_errors import ErrorsByPair
from parivox.core.key_sums import index_codes
from parivox.core.spread import first_reason
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.cluster_errors import ErrorsBySpeaker
    from parivox.core.counts import FloatArray, IntArray

    Weights: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]

Scale: TypeAlias = Literal["log", "linear"]
SCALES = ("log", "linear")

MIN_STRATUM_SPEAKERS = 5
"""A stratum of fewer speakers varies too little to be drawn from alone."""

MAX_DROPPED_SHARE = 0.05
"""Share of undefined replicates above which no interval is given."""
OFTEN_UNDEFINED = "often_undefined"
"""Reason code: a value is undefined in a larger share of the replicates."""
SAME_IN_ALL_REPLICATES = "same_in_all_replicates"
"""Reason code: replicates do not differ."""

# Replicates that differ by less do so by rounding: relative to their size, and absolute.
_RELATIVE_ROUNDING, _MIN_SPREAD = 1e-12, 1e-15
# Limits of memory: speakers drawn at a time, and replicates times quantities of one interval.
_SPEAKERS_AT_ONCE = 1 << 22
_NUMBERS_AT_ONCE = 1 << 20
# Replicates weighted at a time: weights and products of most lists fit into the processor's cache.
_REPLICATES_AT_ONCE = 128
# Rows of a matrix of pairs are multiplied as a dense array if one number in so many is not 0: a
# sparse product takes four to five times as long for each number.
_DENSE_DIVISOR = 4
# Numbers of a block of rows, as a dense array.
_BLOCK_NUMBERS = 1 << 21


def pool_small_strata(strata: ArrayLike, least: int = MIN_STRATUM_SPEAKERS) -> NDArray[np.int64]:
    """Return strata with the small ones pooled, as a stratum of one speaker would never vary.

    Take the stratum of each speaker, -1 for speakers without one. Strata of fewer than `least`
    speakers are pooled; if all of them together are fewer still, with the smallest of the others.
    They get one new number, so that they are where this differs from what was given.

    Examples
    --------
    >>> pool_small_strata([0, 0, 0, 1, 2, 2, -1], least=3).tolist()
    [0, 0, 0, 3, 3, 3, -1]
    """
    stratum = np.array(strata, dtype=np.int64)
    sizes = np.bincount(stratum[stratum >= 0])
    is_small = (sizes > 0) & (sizes < least)
    large_strata = np.flatnonzero(sizes >= least)
    if 0 < sizes[is_small].sum() < least and large_strata.size:
        is_small[large_strata[np.argmin(sizes[large_strata])]] = True
    if is_small.sum() > 1:
        stratum[(stratum >= 0) & is_small[stratum]] = sizes.size
    return stratum


def speaker_weights(strata: ArrayLike, replicates: int, seed: int) -> NDArray[np.uint8]:
    """Return how often each speaker is drawn when strata are resampled with replacement.

    Of shape (replicate, speaker); each stratum's weights add up to its size. Strata are as in
    `pool_small_strata`, which comes first. The same seed gives the same weights; the first
    replicates do not depend on how many there are, nor those of one stratum on the other strata.
    Poh and Bengio (2007); Fogliato, Patil and Perona (2024).

    Examples
    --------
    >>> speaker_weights([0, 1, 0, -1, 1, 0], 2, seed=1).sum(axis=1).tolist()
    [5, 5]
    """
    stratum = np.asarray(strata)
    if replicates < 1:
        msg = f"replicates is {replicates}"
        hint = "give 1 or more"
        raise ConfigError(msg, hint)
    weights = np.zeros((replicates, stratum.size), dtype=np.uint8)
    order = np.argsort(stratum, kind="stable")
    order = order[np.searchsorted(stratum[order], 0) :]
    starts = np.flatnonzero(np.diff(stratum[order], prepend=-1))
    for start, end in pairwise([*starts.tolist(), order.size]):
        stratum_speakers, size = order[start:end], end - start
        stratum_rng = np.random.default_rng((seed, int(stratum[stratum_speakers[0]])))
        replicates_per_chunk = max(_SPEAKERS_AT_ONCE // size, 1)
        for start_replicate in range(0, replicates, replicates_per_chunk):
            n_replicates = min(replicates_per_chunk, replicates - start_replicate)
            drawn_speakers = stratum_rng.integers(0, size, (n_replicates, size))
            draw_codes = drawn_speakers + size * np.arange(n_replicates)[:, None]
            draw_counts = np.bincount(draw_codes.ravel(), minlength=n_replicates * size)
            # more than 255 draws of one speaker will not be seen: the chance is below 1 / 255!
            end_replicate = start_replicate + n_replicates
            weights[start_replicate:end_replicate, stratum_speakers] = draw_counts.reshape(
                n_replicates, size
            )
    return weights


def weighted(
    cluster_errors: ErrorsBySpeaker | ErrorsByPair, weights: Weights
) -> tuple[FloatArray, FloatArray]:
    """Return errors and trials of each cell in each replicate, at fixed thresholds (vector 4.5).

    Parameters
    ----------
    cluster_errors : ErrorsBySpeaker or ErrorsByPair
        With errors of shape (..., entry).
    weights : ndarray of shape (replicate, speaker)

    Returns
    -------
    errors, trials : float64 ndarrays of shape (replicate, ..., cell)
        Whole numbers where weights are. Axes that the trials of `cluster_errors` lack have length
        1, so that both divide. A cell whose speakers were not drawn has 0 trials: its rate is
        undefined.

    Notes
    -----
    Trials between speakers are sums of n_ij w_i w_j: one product of a sparse matrix, row i of
    a cell holding the n_ij, with the weights, and one sum over i. Errors are few, so that only
    entries with errors are multiplied.

    Examples
    --------
    >>> from parivox.core.cluster_errors import ErrorsBySpeaker
    >>> zero = np.zeros(2, dtype=int)
    >>> cluster_errors = ErrorsBySpeaker(
    ...     zero, np.array([0, 1]), np.array([1, 3]), np.array([10, 30]), 1
    ... )
    >>> [found.tolist() for found in weighted(cluster_errors, np.array([[1, 1], [2, 0]]))]
    [[[4.0], [2.0]], [[40.0], [20.0]]]
    """
    (errors_and_trials,) = weighted_by_each(cluster_errors, [weights])
    return errors_and_trials


def weighted_by_each(
    cluster_errors: ErrorsBySpeaker | ErrorsByPair, sets_of_weights: Sequence[Weights]
) -> list[tuple[FloatArray, FloatArray]]:
    """Return `weighted` for each of several sets of weights, which takes less time together."""
    errors, trials = cluster_errors.errors, cluster_errors.trials
    trials = trials.reshape(*[1] * (errors.ndim - trials.ndim), *trials.shape)
    # one matrix of both: they are multiplied by the same weights
    weighted_sums = _WeightedSums(cluster_errors, (errors, trials))
    n_error_sums = math.prod(errors.shape[:-1]) * cluster_errors.n_cells
    errors_and_trials = []
    for weights in sets_of_weights:
        sums = weighted_sums.weighted(weights)
        errors_and_trials.append(
            (
                sums[:, :n_error_sums].reshape(
                    len(sums), *errors.shape[:-1], cluster_errors.n_cells
                ),
                sums[:, n_error_sums:].reshape(
                    len(sums), *trials.shape[:-1], cluster_errors.n_cells
                ),
            )
        )
    return errors_and_trials


class _WeightedSums:
    """Sums over the entries of each cell and leading axis, ready to be weighted by speaker.

    A sum is that of a cell at one index of the leading axes of one table; tables come one after
    the other. For pairs of speakers, the matrix has a row for each sum and first speaker, whose
    weight is multiplied in afterwards.
    """

    def __init__(
        self,
        cluster_errors: ErrorsBySpeaker | ErrorsByPair,
        tables: Sequence[NDArray[np.generic]],
    ) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415 - only what resamples pays for it

        # of the numbers that are not 0
        table_numbers, table_entries, table_sums = [], [], []
        self.n_sums = 0
        for entry_values in tables:
            n_lead = math.prod(entry_values.shape[:-1])  # not -1, as there may be no entries
            flat_values = entry_values.reshape(n_lead, entry_values.shape[-1])
            lead_index, entry_index = np.nonzero(flat_values)
            table_numbers.append(flat_values[lead_index, entry_index].astype(np.float64))
            table_entries.append(entry_index)
            table_sums.append(
                self.n_sums + lead_index * cluster_errors.n_cells + cluster_errors.cell[entry_index]
            )
            self.n_sums += n_lead * cluster_errors.n_cells
        numbers, entry_index, sum_index = (
            np.concatenate(arrays) for arrays in (table_numbers, table_entries, table_sums)
        )
        self.are_pairs = isinstance(cluster_errors, ErrorsByPair)
        if isinstance(cluster_errors, ErrorsByPair):
            n_speakers = int(cluster_errors.second_speaker.max(initial=-1)) + 1
            sum_and_speaker = sum_index * n_speakers + cluster_errors.first_speaker[entry_index]
            row_members, row = index_codes(sum_and_speaker, self.n_sums * n_speakers)
            sum_of_row, first_speaker = row_members // n_speakers, row_members % n_speakers
            column = cluster_errors.second_speaker[entry_index]
        else:
            row, sum_of_row = sum_index, np.arange(self.n_sums)
            first_speaker = sum_of_row[:0]
            column = cluster_errors.speaker[entry_index]
        shape = (sum_of_row.size, int(column.max(initial=-1)) + 1)
        matrix = csr_array((numbers, (row, column)), shape=shape)
        # blocks of rows, with the columns they use: speakers of few groups and, as the first
        # speaker of a pair is below the second, none below those of the rows
        self.blocks: list[_MatrixRows] = []
        rows_per_block = max(_BLOCK_NUMBERS // max(shape[1], 1), 1)
        for start in range(0, shape[0], rows_per_block):
            rows = slice(start, start + rows_per_block)
            block = matrix[rows]
            speakers, columns = index_codes(block.indices, shape[1])
            block_shape = (block.shape[0], speakers.size)
            block = csr_array((block.data, columns, block.indptr), shape=block_shape)
            # adds up the rows of each sum
            sums, sum_rows = index_codes(sum_of_row[rows], self.n_sums)
            row_starts = np.arange(sum_rows.size + 1)
            adder = csr_array(
                (np.ones(sum_rows.size), sum_rows, row_starts), shape=(sum_rows.size, sums.size)
            ).T
            self.blocks.append(_MatrixRows(block, speakers, first_speaker[rows], sums, adder))

    def weighted(self, weights: Weights) -> FloatArray:
        """Return the sums ``[replicate, sum]`` for weights ``[replicate, speaker]``."""
        sums = np.zeros((len(weights), self.n_sums))
        # rows of speakers are read in one stretch
        speaker_weights = np.ascontiguousarray(weights.T)
        for block in self.blocks:
            factor = block.matrix
            if self.are_pairs and factor.nnz * _DENSE_DIVISOR > math.prod(factor.shape):
                factor = factor.toarray()
            for start in range(0, len(weights), _REPLICATES_AT_ONCE):
                chunk = slice(start, start + _REPLICATES_AT_ONCE)
                weights_of_chunk = speaker_weights[:, chunk]
                products = factor @ weights_of_chunk[block.speakers].astype(np.float64, copy=False)
                if self.are_pairs:
                    products *= weights_of_chunk[block.first_speaker]
                    products = block.adder @ products
                sums[chunk, block.sums] += products.T
        return sums


class _MatrixRows(NamedTuple):
    """Rows of the matrix of `_WeightedSums`."""

    matrix: Any  # [row, speaker]
    speakers: IntArray  # of the columns
    first_speaker: IntArray  # of the rows, for pairs of speakers
    sums: IntArray  # those that rows belong to
    adder: Any  # [sum, row], 1 where the row belongs to the sum


@dataclass(frozen=True, eq=False)
class BootstrapInterval:
    """Interval of an estimate from its replicates, of its shape; limits are NaN with a reason."""

    low: FloatArray
    high: FloatArray
    p: FloatArray
    """Two-sided, of the estimate being 1 (``log``) or 0 (``linear``)."""
    se: FloatArray
    """Standard deviation of the replicates, of their logarithms for ``log``."""
    dropped: FloatArray
    """Share of the replicates in which the quantity is undefined, in [0, 1]."""
    reason: NDArray[np.str_]
    """Why there is no interval; empty where there is one."""


def from_replicates(
    estimate: ArrayLike,
    replicates: ArrayLike,
    df: ArrayLike,
    *,
    scale: Scale = "log",
    confidence: float = 0.95,
) -> BootstrapInterval:
    """Return the interval and p value of an estimate from its bootstrap replicates.

    See docs/methods/uncertainty.md#intervals-from-replicates.

    Parameters
    ----------
    estimate : array_like of shape (...)
    replicates : array_like of shape (replicate, ...)
        NaN where the quantity is undefined: such replicates are dropped, and more than 5 % of
        them refuse the interval.
    df : array_like of shape (...)
        Degrees of freedom: speakers - 1.
    scale : {"log", "linear"}
        ``log``: estimate * exp(-+ t sd(ln)), for rates, costs and ratios; ``linear``:
        estimate -+ t sd, for signed quantities.
    confidence : float in (0, 1)

    Returns
    -------
    BootstrapInterval
        On the log scale a replicate of 0 (or infinity) counts as undefined; up to 5 % of them
        count as the smallest (largest) of the others, as leaving them out would make the
        interval narrower.

    Examples
    --------
    >>> found = from_replicates(2.0, [1.0, 2.0, 4.0], df=10)
    >>> round(float(found.low), 3), round(float(found.high), 3), round(float(found.p), 3)
    (0.427, 9.371, 0.341)
    """
    if scale not in SCALES:
        msg = f"scale {scale!r} is not known"
        hint = f"choose from {', '.join(SCALES)}"
        raise ConfigError(msg, hint)
    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}"
        hint = "give a number between 0 and 1, for example 0.95"
        raise ConfigError(msg, hint)
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - most of the import's time

    log_or_estimate, draws, t_df = (
        np.asarray(array, dtype=np.float64) for array in (estimate, replicates, df)
    )
    shape = np.broadcast_shapes(log_or_estimate.shape, draws.shape[1:], t_df.shape)
    draws = np.broadcast_to(draws, (len(draws), *shape))
    log_or_estimate, t_df = np.broadcast_to(log_or_estimate, shape), np.broadcast_to(t_df, shape)
    # intermediate arrays are as large as the replicates: many quantities are halved
    if draws.size > _NUMBERS_AT_ONCE and shape and shape[-1] > 1:
        return _join_intervals(
            [
                from_replicates(
                    log_or_estimate[..., half],
                    draws[..., half],
                    t_df[..., half],
                    scale=scale,
                    confidence=confidence,
                )
                for half in (slice(shape[-1] // 2), slice(shape[-1] // 2, None))
            ]
        )
    is_log = scale == "log"
    if is_log:
        log_or_estimate, draws = _logarithm(log_or_estimate), _logarithm(draws)
    lowest, highest = draws.min(axis=0), draws.max(axis=0)
    if np.isfinite(lowest).all() and np.isfinite(highest).all():
        # as almost always: then no replicate is masked below
        dropped, n_draws, is_defined = np.zeros(shape), np.array(len(draws)), None
    else:
        finite = np.isfinite(draws)
        dropped = (len(draws) - finite.sum(axis=0)) / len(draws)
        lowest = np.where(finite, draws, np.inf).min(axis=0)
        highest = np.where(finite, draws, -np.inf).max(axis=0)
        is_defined = ~np.isnan(draws)
        n_draws = is_defined.sum(axis=0)
        draws = np.clip(draws, lowest, highest)  # leaves NaN as it is
    reason = first_reason(
        [
            ~np.isfinite(log_or_estimate),
            dropped > MAX_DROPPED_SHARE,
            ~(t_df > 0),  # NaN as well
            ~(highest - lowest > _min_spread(lowest, highest, is_log=is_log)),
        ],
        [
            "no_log_estimate" if is_log else "no_estimate",
            "often_undefined_or_zero" if is_log else OFTEN_UNDEFINED,
            "fewer_than_two_speakers",
            SAME_IN_ALL_REPLICATES,
        ],
    )
    has_interval = reason == ""
    t_df = np.where(has_interval, t_df, 1.0)
    is_counted = None if is_defined is None else is_defined & has_interval
    sd = _standard_deviation(draws, is_counted, np.maximum(n_draws, 2))
    has_interval &= (sd > 0) & np.isfinite(sd)
    reason = first_reason([reason != "", ~has_interval], [reason, "beyond_number_range"])
    tail = (1 - confidence) / 2
    half_width = stdtrit(t_df, 1 - tail) * sd
    low, high = log_or_estimate - half_width, log_or_estimate + half_width
    p = 2 * stdtr(t_df, -np.abs(log_or_estimate) / np.where(has_interval, sd, 1.0))
    if is_log:
        with np.errstate(over="ignore"):
            low, high = np.exp(low), np.exp(high)
    low, high, p, sd = (np.where(has_interval, array, np.nan)[()] for array in (low, high, p, sd))
    return BootstrapInterval(low, high, p, sd, np.asarray(dropped)[()], reason)


def _join_intervals(parts: list[BootstrapInterval]) -> BootstrapInterval:
    """Return the intervals of all parts, joined along the last axis."""
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts], axis=-1)
        for field in fields(BootstrapInterval)
    }
    return BootstrapInterval(**columns)


def _standard_deviation(
    draws: FloatArray, is_counted: NDArray[np.bool_] | None, n_draws: NDArray[np.integer[Any]]
) -> FloatArray:
    """Return the standard deviation of draws ``[replicate, ...]``; `is_counted` None counts all."""
    with np.errstate(over="ignore"):
        if is_counted is None:
            deviations = draws - draws.mean(axis=0)
            squares = np.einsum("i...,i...->...", deviations, deviations)
        else:
            counted = np.where(is_counted, draws, 0.0)
            mean = counted.sum(axis=0) / n_draws
            deviations = np.subtract(counted, mean, out=counted, where=is_counted)
            squares = np.square(deviations, out=deviations).sum(axis=0)
        return np.asarray(np.sqrt(squares / (n_draws - 1)))


def _min_spread(lowest: FloatArray, highest: FloatArray, *, is_log: bool) -> FloatArray:
    """Return how much replicates must differ by, as smaller differences are rounding."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(lowest), np.abs(highest))
    return np.maximum(_RELATIVE_ROUNDING * size, _RELATIVE_ROUNDING if is_log else _MIN_SPREAD)


def _logarithm(numbers: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(numbers)
