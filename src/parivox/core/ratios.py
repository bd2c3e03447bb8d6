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
_MAX_TABLE_SIZE = 2**20
# Halvings of the angle on which p depends.
_N_BISECTIONS = 45
_UNDEFINED_REASONS = [
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


def ratio_interval(numerator: Interval, denominator: Interval, *, with_p: bool = True) -> Ratio:
    """Ratio of two independent rates by the MOVER method, at the level of their intervals.

    Of numerators and references of one confidence, whose shapes (..., cell) broadcast. On the scale
    of logarithms, distances from the rates to their limits are added in quadrature. A rate of 0 has
    ratio 0, with limits 0 and its upper limit by the lower one of the reference. No limits for a
    reference of 0. docs/methods/uncertainty.md#ratios-of-rates; Zou & Donner (2008).

    p, which takes most of the time, is found without intervals of other levels: where 1 is a limit,
    the distances of both rates to theirs are the sides of a right triangle on the logarithm of the
    ratio, so that one angle is all that is sought.
    """
    group_rate, reference_rate = np.broadcast_arrays(numerator.rate, denominator.rate)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = group_rate / reference_rate
        distance_below = np.hypot(
            np.log(group_rate / numerator.low), np.log(denominator.high / reference_rate)
        )
        distance_above = np.hypot(
            np.log(numerator.high / group_rate), np.log(reference_rate / denominator.low)
        )
        low = np.where(group_rate == 0, 0, value * np.exp(-distance_below))
        high = np.where(
            group_rate == 0, numerator.high / denominator.low, value * np.exp(distance_above)
        )
    lacks_limits = np.isnan(numerator.high) | np.isnan(denominator.high)
    reason = np.select(
        [
            np.isnan(group_rate),
            np.isnan(reference_rate),
            (group_rate == 0) & (reference_rate == 0),
            reference_rate == 0,
            lacks_limits,
        ],
        _UNDEFINED_REASONS,
        "",
    )
    defined = reason == ""
    p = _p_value(numerator, denominator) if with_p else np.nan
    low, high, p = (np.where(defined, array, np.nan) for array in (low, high, p))
    return Ratio(value, low, high, p, reason)


def to_pooled(ratio: Ratio, share: ArrayLike) -> Ratio:
    """From the ratio to all others to the ratio to everyone, the group itself among them.

    rho / (w rho + 1 - w), where w is the group's share of all trials, ``[..., cell]``, in [0, 1];
    at most 1 / w. p stays as it is.
    """
    group_share = np.asarray(share, dtype=np.float64)
    with np.errstate(divide="ignore"):
        value, low, high = (
            1 / (group_share + (1 - group_share) / limit)
            for limit in (ratio.value, ratio.low, ratio.high)
        )
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
    speakers = tally.cell_speakers[1]
    return bool(np.unique(speakers).size == speakers.size) and not tally.has_unknown_speakers.any()


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
        return moments_by_point(_other_moments, tally)
    other_trials = _OtherTrials.of(tally)
    if tally.errors.ndim == 1:
        return _other_moments(tally, other_trials)
    return moments_by_point(partial(_other_moments, known_trials=other_trials), tally)


def worst(errors: ArrayLike, trials: ArrayLike) -> NDArray[np.intp]:
    """The cell without which all others together have the lowest rate, of shape (...).

    Of errors and trials of shape (..., cell). docs/methods/verdicts.md#better-than-whom.

    Examples
    --------
    >>> int(worst([5, 30, 6, 3], [100, 300, 20, 100]))
    1
    """
    other_errors, other_trials = (
        _sum_of_others(np.nan_to_num(np.asarray(counts, dtype=np.float64)))
        for counts in (errors, trials)
    )
    return np.asarray(safe_divide(other_errors, other_trials, np.inf).argmin(axis=-1))


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
        trials_of_entry = np.asarray(tally.trials, np.float64)
        speaker_trials, nan_cells = tally.sum_by_speaker(trials_of_entry), np.full(n_cells, np.nan)
        trials = _sum_of_others(tally.sum_by_cell(trials_of_entry))
        speakers, squares = (
            _sum_of_others(reduce_by_cell(terms, cell, n_cells))
            for terms in (speaker_trials > 0, speaker_trials**2)
        )
        if not isinstance(tally, ErrorsByPair):
            return cls(trials, speakers, squares, nan_cells, nan_cells, speaker_trials, nan_cells)
        pairs, pair_squares = (
            _sum_of_others(tally.sum_by_cell(terms))
            for terms in (trials_of_entry > 0, trials_of_entry**2)
        )
        return cls(
            trials,
            speakers,
            squares,
            pairs,
            pair_squares,
            speaker_trials,
            tally.sum_by_speaker(trials_of_entry**2),
        )


def _other_moments(
    tally: ErrorsBySpeaker | ErrorsByPair, known_trials: _OtherTrials | None = None
) -> Moments:
    """`others` at one operating point."""
    other_trials = known_trials or _OtherTrials.of(tally)
    cell, n_cells = tally.cell_speakers[0], tally.n_cells
    errors_of_entry, trials_of_entry = (
        np.asarray(tally.errors, np.float64),
        np.asarray(tally.trials, np.float64),
    )
    errors, speaker_errors = (
        _sum_of_others(tally.sum_by_cell(errors_of_entry)),
        tally.sum_by_speaker(errors_of_entry),
    )
    largest = _max_of_others(reduce_by_cell(speaker_errors, cell, n_cells, np.maximum))
    speaker_numbers = [np.asarray(other_trials.own > 0, np.float64)]
    pair_residuals = np.full(n_cells, np.nan)
    if isinstance(tally, ErrorsByPair):
        pair_products = (errors_of_entry**2, errors_of_entry * trials_of_entry)
        speaker_numbers += [
            *map(tally.sum_by_speaker, pair_products),
            other_trials.own_pair_squares,
        ]
        error_squares, error_trials = (
            _sum_of_others(tally.sum_by_cell(products)) for products in pair_products
        )
        rate = safe_divide(errors, other_trials.trials, 0)
        pair_residuals = (
            error_squares - 2 * rate * error_trials + rate**2 * other_trials.pair_squares
        )
    kinds = _SpeakerKinds.of(cell, other_trials.own, speaker_errors, speaker_numbers)
    cells_per_chunk = max(1, _MAX_TABLE_SIZE // max(1, kinds.trials.size))
    chunks = [
        kinds.without(
            range(first_cell, min(first_cell + cells_per_chunk, n_cells)),
            errors,
            other_trials.trials,
        )
        for first_cell in range(0, n_cells, cells_per_chunk)
    ]
    squares, fourths, deleted, shared, pair_deleted = map(np.concatenate, zip(*chunks, strict=True))
    return Moments(
        2 if isinstance(tally, ErrorsByPair) else 1,
        tally.in_blocks,
        errors,
        other_trials.trials,
        other_trials.speakers,
        squares,
        fourths,
        other_trials.squares,
        deleted,
        largest,
        shared > 0,
        other_trials.pairs,
        pair_residuals,
        other_trials.pair_squares,
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
        distinct_trials, trial_indices = np.unique(trials, return_inverse=True)
        distinct_errors, error_indices = np.unique(errors, return_inverse=True)
        kind_codes, kind_indices = np.unique(
            trial_indices * distinct_errors.size + error_indices, return_inverse=True
        )
        kind_trial_indices, kind_error_indices = np.divmod(kind_codes, max(1, distinct_errors.size))
        return cls(
            cell,
            kind_indices,
            distinct_errors[kind_error_indices],
            distinct_trials[kind_trial_indices],
            per_speaker,
        )

    def without(self, cells: range, errors: FloatArray, trials: FloatArray) -> list[FloatArray]:
        """Sums over the speakers of all cells but one, for some cells.

        `errors` and `trials` are those of all cells but each.
        """
        first_entry, end_entry = np.searchsorted(self.cell, [cells.start, cells.stop])
        table_indices = (
            self.cell[first_entry:end_entry] - cells.start
        ) * self.trials.size + self.kind[first_entry:end_entry]

        def sum_of_other_cells(speaker_values: FloatArray) -> FloatArray:
            own_sums = np.bincount(
                table_indices,
                speaker_values[first_entry:end_entry],
                minlength=len(cells) * self.trials.size,
            )
            total_sums = np.bincount(self.kind, speaker_values, minlength=self.trials.size)
            return np.asarray(total_sums - own_sums.reshape(len(cells), -1))

        other_errors, other_trials = (
            counts[cells.start : cells.stop, None] for counts in (errors, trials)
        )
        residuals, remaining_trials = (
            safe_divide(self.errors * other_trials - other_errors * self.trials, other_trials, 0),
            trials_without_speaker(other_trials, self.trials),
        )
        n_speakers, *pair_sums = map(sum_of_other_cells, self.per_speaker)
        pair_deleted = np.full(len(cells), np.nan)
        if pair_sums:
            error_squares, error_trials, trial_squares = pair_sums
            pair_residuals = np.where(
                n_speakers > 0,
                error_squares
                - 2 * safe_divide(other_errors, other_trials, 0) * error_trials
                + safe_divide(other_errors, other_trials, 0) ** 2 * trial_squares,
                0,
            )
            pair_deleted = safe_divide(pair_residuals, 2 * remaining_trials**2, 0).sum(axis=-1)
        return [
            (n_speakers * residuals**2).sum(axis=-1),
            (n_speakers * residuals**4).sum(axis=-1),
            (n_speakers * safe_divide(residuals, remaining_trials, 0) ** 2).sum(axis=-1),
            ((n_speakers > 0) & (remaining_trials == 0)).sum(axis=-1, dtype=np.float64),
            pair_deleted,
        ]


def _sum_of_others(cell_values: FloatArray) -> FloatArray:
    return np.asarray(cell_values.sum(axis=-1, keepdims=True) - cell_values)


def _max_of_others(cell_values: FloatArray) -> FloatArray:
    """Largest value of the other cells; 0 if there are none."""
    is_largest = np.arange(cell_values.shape[-1]) == cell_values.argmax(axis=-1)[..., None]
    second_largest = np.where(is_largest, 0, cell_values).max(axis=-1, keepdims=True)
    return np.asarray(np.where(is_largest, second_largest, cell_values.max(axis=-1, keepdims=True)))


def _p_value(numerator: Interval, denominator: Interval) -> FloatArray:
    """The level at which a limit of the ratio is 1, by bisection of the angle; see there."""
    pairs = zip(vars(numerator).values(), vars(denominator).values(), strict=True)
    stacked = Interval(*(np.stack(np.broadcast_arrays(*pair)) for pair in pairs))
    group_rate, reference_rate = stacked.rate
    has_no_errors = group_rate == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        log_ratio = np.where(
            (group_rate > 0) & (reference_rate > 0), np.log(group_rate) - np.log(reference_rate), 0
        )
    low, high = np.zeros(group_rate.shape), np.ones(group_rate.shape)
    for _ in range(_N_BISECTIONS):
        middle = (low + high) / 2
        angle = middle * (np.pi / 2)
        # with a rate of 0 there is no logarithm, but both limits are one rate
        rate_of_group = np.where(
            has_no_errors,
            (1 - middle) * reference_rate,
            group_rate * np.exp(-log_ratio * np.cos(angle)),
        )
        rate_of_reference = np.where(
            has_no_errors, rate_of_group, reference_rate * np.exp(log_ratio * np.sin(angle))
        )
        levels = level(stacked, np.stack((rate_of_group, rate_of_reference)))
        is_beyond = levels[0] > levels[1]
        low, high = np.where(is_beyond, low, middle), np.where(is_beyond, middle, high)
    return np.asarray(np.maximum(*levels))
