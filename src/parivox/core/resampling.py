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
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from parivox.core.cluster_errors import ErrorsBySpeaker, reduce_by_cell
from parivox.core.spread import first_reason
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.cluster_errors import ErrorsByPair
    from parivox.core.counts import FloatArray

    Weights: TypeAlias = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]

Scale: TypeAlias = Literal["log", "linear"]
SCALES = ("log", "linear")

MIN_STRATUM_SPEAKERS = 5
"""A stratum of fewer speakers varies too little to be drawn from alone."""

MAX_DROPPED_SHARE = 0.05
"""Share of undefined replicates above which no interval is given."""

_ROUNDING, _LEAST = 1e-12, 1e-15
_DRAWN = 1 << 22  # speakers drawn at once
_AT_ONCE = 1 << 22  # replicates of quantities that intervals are made of at once
_CHUNK = 128  # replicates weighted at once: their weights fit the cache


def pool_small_strata(strata: ArrayLike, least: int = MIN_STRATUM_SPEAKERS) -> NDArray[np.int64]:
    """Strata with the small ones made one, as a stratum of one speaker would never vary.

    Of the stratum of each speaker, -1 for those who take no part. Strata of fewer than `least`
    speakers are pooled; if all of them together are fewer still, with the smallest of the others.
    They get one new number, so that they are where this differs from what was given.

    Examples
    --------
    >>> pool_small_strata([0, 0, 0, 1, 2, 2, -1], least=3).tolist()
    [0, 0, 0, 3, 3, 3, -1]
    """
    stratum = np.array(strata, dtype=np.int64)
    sizes = np.bincount(stratum[stratum >= 0])
    small = (sizes > 0) & (sizes < least)
    others = np.flatnonzero(sizes >= least)
    if 0 < sizes[small].sum() < least and others.size:
        small[others[np.argmin(sizes[others])]] = True
    if small.sum() > 1:
        stratum[(stratum >= 0) & small[stratum]] = sizes.size
    return stratum


def speaker_weights(strata: ArrayLike, replicates: int, seed: int) -> NDArray[np.uint8]:
    """How often each speaker is drawn when every stratum is drawn anew, with replacement.

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
        msg = f"replicates is {replicates}; it must be 1 or more"
        raise ConfigError(msg)
    weights = np.zeros((replicates, stratum.size), dtype=np.uint8)
    order = np.argsort(stratum, kind="stable")
    order = order[np.searchsorted(stratum[order], 0) :]
    starts = np.flatnonzero(np.diff(stratum[order], prepend=-1))
    for start, end in pairwise([*starts.tolist(), order.size]):
        members, size = order[start:end], end - start
        own = np.random.default_rng((seed, int(stratum[members[0]])))
        step = max(_DRAWN // size, 1)
        for first in range(0, replicates, step):
            n = min(step, replicates - first)
            drawn = own.integers(0, size, (n, size)) + size * np.arange(n)[:, None]
            # more than 255 draws of one speaker will not be seen: the chance is below 1 / 255!
            times = np.bincount(drawn.ravel(), minlength=n * size).reshape(n, size)
            weights[first : first + n, members] = times
    return weights


def weighted(
    tally: ErrorsBySpeaker | ErrorsByPair, weights: Weights
) -> tuple[FloatArray, FloatArray]:
    """Errors and trials of each cell in each replicate, at fixed thresholds (vector 4.5).

    Parameters
    ----------
    tally : ErrorsBySpeaker or ErrorsByPair
        With errors of shape (..., entry).
    weights : ndarray of shape (replicate, speaker)

    Returns
    -------
    errors, trials : float64 ndarrays of shape (replicate, ..., cell)
        Whole numbers where weights are. Axes that the trials of the tally lack have length 1,
        so that both divide. A cell whose speakers were not drawn has 0 trials: its rate is
        undefined.

    Notes
    -----
    Trials between speakers are sums of n_ij w_i w_j: one product of a sparse matrix, row i of
    a cell holding the n_ij, with the weights, and one sum over i. Errors are few, so that only
    entries with errors are multiplied.

    Examples
    --------
    >>> zero = np.zeros(2, dtype=int)
    >>> tally = ErrorsBySpeaker(zero, np.array([0, 1]), np.array([1, 3]), np.array([10, 30]), 1)
    >>> [found.tolist() for found in weighted(tally, np.array([[1, 1], [2, 0]]))]
    [[[4.0], [2.0]], [[40.0], [20.0]]]
    """
    errors, trials = (np.asarray(a, dtype=np.float64) for a in (tally.errors, tally.trials))
    trials = trials.reshape(*[1] * (errors.ndim - trials.ndim), *trials.shape)
    found = tuple(
        np.empty((len(weights), *values.shape[:-1], tally.n_cells)) for values in (errors, trials)
    )
    sums = [_WeightedSums(tally, values) for values in (errors, trials)]
    for first in range(0, len(weights), _CHUNK):
        part = slice(first, first + _CHUNK)
        of_speaker = np.ascontiguousarray(weights[part].T, dtype=np.float64)
        for into, one in zip(found, sums, strict=True):
            into[part] = one.weighted(of_speaker).T.reshape(-1, *into.shape[1:])
    return found[0], found[1]


class _WeightedSums:
    """Sums over the entries of each cell and leading axis, ready to be weighted."""

    def __init__(self, tally: ErrorsBySpeaker | ErrorsByPair, values: FloatArray) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415 - only what resamples pays for it

        n_lead = math.prod(values.shape[:-1])
        flat = values.reshape(n_lead, -1) if values.size else np.zeros((n_lead, 0))
        lead, entry = np.nonzero(flat)
        self.rows = n_lead * tally.n_cells
        row, value = lead * tally.n_cells + tally.cell[entry], flat[lead, entry]
        if isinstance(tally, ErrorsBySpeaker):
            self.cell, self.speaker = np.arange(self.rows), None
            across, size, n = tally.speaker[entry], self.rows, int(tally.speaker.max(initial=-1))
        else:
            n = int(tally.second_speaker.max(initial=-1))
            members, row = np.unique(
                row * (n + 1) + tally.first_speaker[entry], return_inverse=True
            )
            self.cell, self.speaker = members // (n + 1), members % (n + 1)
            across, size = tally.second_speaker[entry], members.size
        self.n_speakers = n + 1
        self.matrix = csr_array((value, (row, across)), shape=(size, self.n_speakers))

    def weighted(self, of_speaker: FloatArray) -> FloatArray:
        """From weights ``[speaker, replicate]`` to sums ``[row, replicate]``."""
        found = self.matrix @ of_speaker[: self.n_speakers]
        if self.speaker is None:
            return np.asarray(found)
        found *= of_speaker[self.speaker]
        return reduce_by_cell(found.T, self.cell, self.rows).T


@dataclass(frozen=True, eq=False)
class BootstrapInterval:
    """What replicates say about an estimate, of its shape; limits are NaN with a reason."""

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
    """Interval and p value of an estimate from its bootstrap replicates.

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
        stand as the smallest (largest) of the others, as leaving them out would make the
        interval narrower.

    Examples
    --------
    >>> found = from_replicates(2.0, [1.0, 2.0, 4.0], df=10)
    >>> round(float(found.low), 3), round(float(found.high), 3), round(float(found.p), 3)
    (0.427, 9.371, 0.341)
    """
    if scale not in SCALES:
        msg = f"scale is {scale!r}; it is one of {', '.join(SCALES)}"
        raise ConfigError(msg)
    if not 0 < confidence < 1:
        msg = f"confidence is {confidence}; it must lie between 0 and 1, as in 0.95"
        raise ConfigError(msg)
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - most of the import's time

    centre, drawn, freedom = (np.asarray(a, dtype=np.float64) for a in (estimate, replicates, df))
    shape = np.broadcast_shapes(centre.shape, drawn.shape[1:], freedom.shape)
    drawn = np.broadcast_to(drawn, (len(drawn), *shape))
    centre, freedom = np.broadcast_to(centre, shape), np.broadcast_to(freedom, shape)
    if drawn.size > _AT_ONCE and shape and shape[-1] > 1:  # what lies between is as large
        parts = zip(*(np.array_split(a, 2, axis=-1) for a in (centre, drawn, freedom)), strict=True)
        one, other = (from_replicates(*part, scale=scale, confidence=confidence) for part in parts)
        return BootstrapInterval(
            *(
                np.concatenate((getattr(one, field.name), getattr(other, field.name)), axis=-1)
                for field in fields(BootstrapInterval)
            )
        )
    is_log = scale == "log"
    if is_log:
        centre, drawn = _log(centre), _log(drawn)
    finite = np.isfinite(drawn)
    is_whole = bool(finite.all())  # as almost always: then nothing is to be left out
    kept = finite.sum(axis=0)
    dropped = (len(drawn) - kept) / len(drawn)
    lowest = (drawn if is_whole else np.where(finite, drawn, np.inf)).min(axis=0)
    highest = (drawn if is_whole else np.where(finite, drawn, -np.inf)).max(axis=0)
    known = finite if is_whole else ~np.isnan(drawn)
    if not is_whole:
        drawn = np.where(known, np.clip(drawn, lowest, highest), np.nan)
    reason = first_reason(
        [
            ~np.isfinite(centre),
            dropped > MAX_DROPPED_SHARE,
            ~(freedom > 0),  # NaN as well
            ~(highest - lowest > _least_spread(lowest, highest, is_log=is_log)),
        ],
        [
            "no logarithm of the estimate" if is_log else "no estimate",
            f"undefined{' or 0' if is_log else ''} in more than 5 % of the replicates",
            "fewer than two speakers",
            "the same in all replicates",
        ],
    )
    fine = reason == ""
    freedom, n = np.where(fine, freedom, 1.0), np.maximum(known.sum(axis=0), 2)
    with np.errstate(over="ignore"):
        if is_whole:
            off = drawn - drawn.mean(axis=0)
            sd = np.sqrt(np.einsum("i...,i...->...", off, off) / (n - 1))
        else:
            at = np.where(fine, np.where(known, drawn, 0.0), 0.0)
            mean = at.sum(axis=0) / n
            sd = np.sqrt(np.where(known & fine, np.square(at - mean), 0.0).sum(axis=0) / (n - 1))
    fine &= (sd > 0) & np.isfinite(sd)
    reason = first_reason([reason != "", ~fine], [reason, "beyond what numbers can hold"])
    share = (1 - confidence) / 2
    half = stdtrit(freedom, 1 - share) * sd
    low, high = centre - half, centre + half
    p = 2 * stdtr(freedom, -np.abs(centre) / np.where(fine, sd, 1.0))
    if is_log:
        with np.errstate(over="ignore"):
            low, high = np.exp(low), np.exp(high)
    low, high, p, sd = (np.where(fine, a, np.nan)[()] for a in (low, high, p, sd))
    return BootstrapInterval(low, high, p, sd, np.asarray(dropped)[()], reason)


def _least_spread(lowest: FloatArray, highest: FloatArray, *, is_log: bool) -> FloatArray:
    """What replicates differ by at least: what is less is rounding."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(lowest), np.abs(highest))
    return np.maximum(_ROUNDING * size, _ROUNDING if is_log else _LEAST)


def _log(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(values)
