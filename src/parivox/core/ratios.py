"""Ratios of rates of groups without common speakers (docs/methods/uncertainty.md#ratios-of-rates).

A group is compared with another, or with all others together (`others`). Groups that share
speakers, or whose speakers meet in trials, are not independent; their ratio is resampled jointly
(`parivox.core.resampling`). Arrays are ``[..., cell]``, leading axes are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.core.cluster_errors import (
    ErrorsByPair,
    Moments,
    moments_by_point,
    reduce_by_cell,
    safe_divide,
    trials_without_speaker,
)
from parivox.core.intervals import Interval, level
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.cluster_errors import ErrorsBySpeaker
    from parivox.core.counts import FloatArray

# Numbers that `others` holds at once in a table of (cell, kind of speaker).
_AT_ONCE = 2**20
# Halvings of the angle on which p depends.
_STEPS = 45
_REASONS = [
    *("undefined_value", "undefined_reference", "zero_over_zero", "zero_reference"),
    "no_interval",
]


@dataclass(frozen=True, eq=False)
class Ratio:
    """Ratios with limits, on the scale of ratios, not of their logarithms; shape (..., cell)."""

    value: FloatArray
    """In [0, inf]; 1 is fair, above 1 is worse than the reference."""
    low: FloatArray
    high: FloatArray
    p: FloatArray
    """In [0, 1]: the level at which a limit is 1; NaN where it was not asked for."""
    reason: NDArray[np.str_]
    """Why the ratio or its limits are undefined: ``undefined_value``, ``undefined_reference``,
    ``zero_over_zero``, ``zero_reference``, or ``no_interval`` of one of the rates.
    """


def ratio_interval(one: Interval, other: Interval, *, with_p: bool = True) -> Ratio:
    """Ratio of two independent rates by the MOVER method, at the level of their intervals.

    Of numerators and references of one confidence, whose shapes (..., cell) broadcast. On the scale
    of logarithms, distances from the rates to their limits are added in quadrature. A rate of 0 has
    ratio 0, with limits 0 and its upper limit by the lower one of the reference. No limits for a
    reference of 0. docs/methods/uncertainty.md#ratios-of-rates; Zou & Donner (2008).

    p, which takes most of the time, is found without intervals of other levels: where 1 is a limit,
    the distances of both rates to theirs are the sides of a right triangle on the logarithm of the
    ratio, so that one angle is all that is sought.
    """
    r1, r2 = np.broadcast_arrays(one.rate, other.rate)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = r1 / r2
        down = np.hypot(np.log(r1 / one.low), np.log(other.high / r2))
        up = np.hypot(np.log(one.high / r1), np.log(r2 / other.low))
        low = np.where(r1 == 0, 0, value * np.exp(-down))
        high = np.where(r1 == 0, one.high / other.low, value * np.exp(up))
    missing = np.isnan(one.high) | np.isnan(other.high)
    reason = np.select(
        [np.isnan(r1), np.isnan(r2), (r1 == 0) & (r2 == 0), r2 == 0, missing],
        _REASONS,
        "",
    )
    defined = reason == ""
    p = _p(one, other) if with_p else np.nan
    low, high, p = (np.where(defined, x, np.nan) for x in (low, high, p))
    return Ratio(value, low, high, p, reason)


def to_pooled(ratio: Ratio, share: ArrayLike) -> Ratio:
    """From the ratio to all others to the ratio to everyone, the group itself among them.

    rho / (w rho + 1 - w), where w is the group's share of all trials, ``[..., cell]``, in [0, 1];
    at most 1 / w. p stays as it is.
    """
    w = np.asarray(share, dtype=np.float64)
    with np.errstate(divide="ignore"):
        value, low, high = (1 / (w + (1 - w) / x) for x in (ratio.value, ratio.low, ratio.high))
    return Ratio(value, low, high, ratio.p, ratio.reason)


def disjoint(tally: ErrorsBySpeaker | ErrorsByPair) -> bool:
    """Whether no speaker is in two cells, so that their rates are independent.

    Unknown speakers may be in several.

    Examples
    --------
    >>> cell, ones = np.array([0, 1]), np.array([1, 1])
    >>> disjoint(ErrorsByPair(cell, np.array([0, 0]), np.array([1, 2]), ones, ones, 2))
    False
    """
    who = tally.cell_speakers[1]
    return bool(np.unique(who).size == who.size) and not tally.has_unknown_speakers.any()


def others(tally: ErrorsBySpeaker | ErrorsByPair) -> Moments:
    """Moments of all other cells together, for each cell: what a group is compared with.

    Of shape (..., cell): those of the union of the other cells, without trials if there is one cell
    only. Speakers of equally many errors and trials are of one kind, of which only the number in
    the other cells matters: the cost grows with cells times kinds, not times speakers.

    Raises
    ------
    ConfigError
        A speaker is in two cells.
    """
    if not disjoint(tally):
        msg = (
            "a speaker is in two cells, so that a cell and all others are not independent; "
            "resample speakers to compare them"
        )
        raise ConfigError(msg)
    if tally.trials.ndim > 1:
        return moments_by_point(_others, tally)
    of_trials = _OtherTrials.of(tally)
    if tally.errors.ndim == 1:
        return _others(tally, of_trials)
    return moments_by_point(partial(_others, of_trials=of_trials), tally)


def worst(errors: ArrayLike, trials: ArrayLike) -> NDArray[np.intp]:
    """The cell without which all others together have the lowest rate, of shape (...).

    Of errors and trials of shape (..., cell). docs/methods/verdicts.md#better-than-whom.

    Examples
    --------
    >>> int(worst([5, 30, 6, 3], [100, 300, 20, 100]))
    1
    """
    e, n = (
        _sum_of_others(np.nan_to_num(np.asarray(one, dtype=np.float64))) for one in (errors, trials)
    )
    return np.asarray(safe_divide(e, n, np.inf).argmin(axis=-1))


class _OtherTrials(NamedTuple):
    """What follows from the trials alone, whatever the errors."""

    trials: FloatArray  # of all other cells, as all that is by cell
    speakers: FloatArray
    squares: FloatArray  # of the trials of each speaker
    pairs: FloatArray  # NaN of target trials, as what follows
    pair_squares: FloatArray
    own: FloatArray  # of each member
    own_pair_squares: FloatArray

    @classmethod
    def of(cls, tally: ErrorsBySpeaker | ErrorsByPair) -> _OtherTrials:
        """Those of trials of shape (entry,)."""
        cell, n_cells = tally.cell_speakers[0], tally.n_cells
        n = np.asarray(tally.trials, np.float64)
        own, nothing = tally.sum_by_speaker(n), np.full(n_cells, np.nan)
        trials = _sum_of_others(tally.sum_by_cell(n))
        speakers, squares = (
            _sum_of_others(reduce_by_cell(each, cell, n_cells)) for each in (own > 0, own**2)
        )
        if not isinstance(tally, ErrorsByPair):
            return cls(trials, speakers, squares, nothing, nothing, own, nothing)
        pairs, of_pairs = (_sum_of_others(tally.sum_by_cell(each)) for each in (n > 0, n**2))
        return cls(trials, speakers, squares, pairs, of_pairs, own, tally.sum_by_speaker(n**2))


def _others(
    tally: ErrorsBySpeaker | ErrorsByPair, of_trials: _OtherTrials | None = None
) -> Moments:
    """`others` at one operating point."""
    known = of_trials or _OtherTrials.of(tally)
    cell, n_cells = tally.cell_speakers[0], tally.n_cells
    e, n = np.asarray(tally.errors, np.float64), np.asarray(tally.trials, np.float64)
    errors, taken = _sum_of_others(tally.sum_by_cell(e)), tally.sum_by_speaker(e)
    largest = _max_of_others(reduce_by_cell(taken, cell, n_cells, np.maximum))
    per_speaker = [np.asarray(known.own > 0, np.float64)]
    pair_residuals = np.full(n_cells, np.nan)
    if isinstance(tally, ErrorsByPair):
        parts = (e**2, e * n)
        per_speaker += [*map(tally.sum_by_speaker, parts), known.own_pair_squares]
        ee, en = (_sum_of_others(tally.sum_by_cell(each)) for each in parts)
        rate = safe_divide(errors, known.trials, 0)
        pair_residuals = ee - 2 * rate * en + rate**2 * known.pair_squares
    kinds = _SpeakerKinds.of(cell, known.own, taken, per_speaker)
    step = max(1, _AT_ONCE // max(1, kinds.trials.size))
    chunks = [
        kinds.without(range(at, min(at + step, n_cells)), errors, known.trials)
        for at in range(0, n_cells, step)
    ]
    squares, fourths, deleted, shared, pair_deleted = map(np.concatenate, zip(*chunks, strict=True))
    return Moments(
        2 if isinstance(tally, ErrorsByPair) else 1,
        tally.in_blocks,
        errors,
        known.trials,
        known.speakers,
        squares,
        fourths,
        known.squares,
        deleted,
        largest,
        shared > 0,
        known.pairs,
        pair_residuals,
        known.pair_squares,
        pair_deleted,
    )


class _SpeakerKinds(NamedTuple):
    """Speakers by kind: as many errors and trials as each other."""

    cell: NDArray[np.integer[Any]]
    kind: NDArray[np.intp]
    errors: FloatArray
    trials: FloatArray
    per_speaker: list[FloatArray]

    @classmethod
    def of(
        cls,
        cell: NDArray[np.integer[Any]],
        trials: FloatArray,
        errors: FloatArray,
        per_speaker: list[FloatArray],
    ) -> _SpeakerKinds:
        levels, rank = np.unique(trials, return_inverse=True)
        counts, below = np.unique(errors, return_inverse=True)
        codes, kind = np.unique(rank * counts.size + below, return_inverse=True)
        of_rank, of_below = np.divmod(codes, max(1, counts.size))
        return cls(cell, kind, counts[of_below], levels[of_rank], per_speaker)

    def without(self, cells: range, errors: FloatArray, trials: FloatArray) -> list[FloatArray]:
        """Sums over the speakers of all cells but one, for some cells.

        `errors` and `trials` are those of all cells but each.
        """
        first, last = np.searchsorted(self.cell, [cells.start, cells.stop])
        at = (self.cell[first:last] - cells.start) * self.trials.size + self.kind[first:last]

        def rest(values: FloatArray) -> FloatArray:
            table = np.bincount(at, values[first:last], minlength=len(cells) * self.trials.size)
            whole = np.bincount(self.kind, values, minlength=self.trials.size)
            return np.asarray(whole - table.reshape(len(cells), -1))

        e, n = (x[cells.start : cells.stop, None] for x in (errors, trials))
        r, left = (
            safe_divide(self.errors * n - e * self.trials, n, 0),
            trials_without_speaker(n, self.trials),
        )
        count, *squares = map(rest, self.per_speaker)
        pair_deleted = np.full(len(cells), np.nan)
        if squares:
            ee, en, nn = squares
            q = np.where(
                count > 0, ee - 2 * safe_divide(e, n, 0) * en + safe_divide(e, n, 0) ** 2 * nn, 0
            )
            pair_deleted = safe_divide(q, 2 * left**2, 0).sum(axis=-1)
        return [
            (count * r**2).sum(axis=-1),
            (count * r**4).sum(axis=-1),
            (count * safe_divide(r, left, 0) ** 2).sum(axis=-1),
            ((count > 0) & (left == 0)).sum(axis=-1, dtype=np.float64),
            pair_deleted,
        ]


def _sum_of_others(values: FloatArray) -> FloatArray:
    return np.asarray(values.sum(axis=-1, keepdims=True) - values)


def _max_of_others(values: FloatArray) -> FloatArray:
    """Largest value of the other cells; 0 if there are none."""
    own = np.arange(values.shape[-1]) == values.argmax(axis=-1)[..., None]
    second = np.where(own, 0, values).max(axis=-1, keepdims=True)
    return np.asarray(np.where(own, second, values.max(axis=-1, keepdims=True)))


def _p(one: Interval, other: Interval) -> FloatArray:
    """The level at which a limit of the ratio is 1, by bisection of the angle; see there."""
    pairs = zip(vars(one).values(), vars(other).values(), strict=True)
    both = Interval(*(np.stack(np.broadcast_arrays(*pair)) for pair in pairs))
    r1, r2 = both.rate
    none = r1 == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        log = np.where((r1 > 0) & (r2 > 0), np.log(r1) - np.log(r2), 0)
    low, high = np.zeros(r1.shape), np.ones(r1.shape)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        angle = middle * (np.pi / 2)
        # with a rate of 0 there is no logarithm, but both limits are one rate
        at_one = np.where(none, (1 - middle) * r2, r1 * np.exp(-log * np.cos(angle)))
        at_other = np.where(none, at_one, r2 * np.exp(log * np.sin(angle)))
        levels = level(both, np.stack((at_one, at_other)))
        beyond = levels[0] > levels[1]
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.asarray(np.maximum(*levels))
