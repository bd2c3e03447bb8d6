"""Ratios of rates of groups without common speakers (docs/methods/uncertainty.md#ratios-of-rates).

A group is compared with another, or with all others together (`moments_of_others`). Groups that
share speakers, or whose speakers meet in trials, are not independent; their ratio is resampled
jointly (`parivox.core.resampling`). Arrays are ``[..., cell]``, leading axes are free.
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

# Numbers of a table of (cell, kind of speaker) that `moments_of_others` holds at once, to save
# memory.
_MAX_TABLE_SIZE = 2**20
# Halvings of the angle on which p depends: the angle is then known to 2**-45 of a right angle.
_N_BISECTIONS = 45
_UNDEFINED_REASONS = [
    "undefined_value",
    "undefined_reference",
    "zero_over_zero",
    "zero_reference",
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
    """In [0, 1]: the level at which a limit is 1; NaN without `with_p`."""
    reason: NDArray[np.str_]
    """Why the ratio or its limits are undefined: ``undefined_value``, ``undefined_reference``,
    ``zero_over_zero``, ``zero_reference``, or ``no_interval`` of one of the rates.
    """


def ratio_interval(numerator: Interval, denominator: Interval, *, with_p: bool = True) -> Ratio:
    """Return the ratio of two independent rates, by the MOVER method, at their intervals' level.

    Numerators and denominators have one confidence; their shapes (..., cell) broadcast. On the
    scale of logarithms, distances from the rates to their limits are added in quadrature. A rate of
    0 has ratio 0, with limits 0 and its upper limit by the lower one of the reference. No limits
    for a reference of 0. docs/methods/uncertainty.md#ratios-of-rates; Zou & Donner (2008).

    p, which takes most of the time, is found without intervals of other levels: where 1 is a limit,
    the distances of both rates to theirs are the sides of a right triangle on the logarithm of the
    ratio, so that only one angle is sought.
    """
    group_rate, reference_rate = np.broadcast_arrays(numerator.rate, denominator.rate)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = group_rate / reference_rate
        group_below = np.log(group_rate / numerator.low)
        group_above = np.log(numerator.high / group_rate)
        reference_below = np.log(reference_rate / denominator.low)
        reference_above = np.log(denominator.high / reference_rate)
        # a low ratio: the group at its low limit, the reference at its high one
        low_ratio = value * np.exp(-np.hypot(group_below, reference_above))
        high_ratio = value * np.exp(np.hypot(group_above, reference_below))
        low = np.where(group_rate == 0, 0, low_ratio)
        high = np.where(group_rate == 0, numerator.high / denominator.low, high_ratio)
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
    """Return the ratio to all groups pooled from the ratio to all other groups.

    rho / (w rho + 1 - w), where w is the group's share of all trials, ``[..., cell]``, in [0, 1];
    at most 1 / w. p is unchanged.
    """
    group_share = np.asarray(share, dtype=np.float64)
    with np.errstate(divide="ignore"):
        value, low, high = (
            1 / (group_share + (1 - group_share) / limit)
            for limit in (ratio.value, ratio.low, ratio.high)
        )
    return Ratio(value, low, high, ratio.p, ratio.reason)


def disjoint(cluster_errors: ErrorsBySpeaker | ErrorsByPair) -> bool:
    """Whether no speaker is in two cells, so that their rates are independent.

    Unknown speakers may be in several.

    Examples
    --------
    >>> cell, ones = np.array([0, 1]), np.array([1, 1])
    >>> disjoint(ErrorsByPair(cell, np.array([0, 0]), np.array([1, 2]), ones, ones, 2))
    False
    """
    speakers = cluster_errors.cell_speakers[1]
    return (
        bool(np.unique(speakers).size == speakers.size)
        and not cluster_errors.has_unknown_speakers.any()
    )


def moments_of_others(cluster_errors: ErrorsBySpeaker | ErrorsByPair) -> Moments:
    """Return the moments of all other cells together, for each cell, to compare the cell with.

    Of shape (..., cell): those of the union of the other cells, without trials if there is one cell
    only. Speakers with equally many errors and trials are of one kind, of which only the number in
    the other cells matters: the cost grows with cells times kinds, not times speakers.

    Raises
    ------
    ConfigError
        A speaker is in two cells.
    """
    if not disjoint(cluster_errors):
        msg = "a speaker is in two groups, so a group and all others are not independent"
        hint = "resample speakers to compare them"
        raise ConfigError(msg, hint)
    if cluster_errors.trials.ndim > 1:
        return moments_by_point(_other_moments, cluster_errors)
    other_trials = _OtherTrials.from_errors(cluster_errors)
    if cluster_errors.errors.ndim == 1:
        return _other_moments(cluster_errors, other_trials)
    return moments_by_point(partial(_other_moments, known_trials=other_trials), cluster_errors)


def worst_cell(errors: ArrayLike, trials: ArrayLike) -> NDArray[np.intp]:
    """Return the cell without which all others together have the lowest rate, of shape (...).

    Errors and trials are of shape (..., cell). docs/methods/verdicts.md#better-than-which-groups.

    Examples
    --------
    >>> int(worst_cell([5, 30, 6, 3], [100, 300, 20, 100]))
    1
    """
    other_errors, other_trials = (
        _sum_of_others(np.nan_to_num(np.asarray(counts, dtype=np.float64)))
        for counts in (errors, trials)
    )
    return np.asarray(safe_divide(other_errors, other_trials, np.inf).argmin(axis=-1))


class _OtherTrials(NamedTuple):
    """Sums over all other cells that follow from the trials alone, whatever the errors.

    Computed once for all operating points. Numbers of pairs are NaN for target trials.
    """

    trials: FloatArray  # of all other cells, [cell]
    speakers: FloatArray  # [cell]
    trial_squares: FloatArray  # sum over speakers of the squares of their trials, [cell]
    pairs: FloatArray  # [cell]
    pair_trial_squares: FloatArray  # sum over pairs of the squares of their trials, [cell]
    speaker_trials: FloatArray  # of each speaker of each cell itself, [member]
    speaker_pair_squares: FloatArray  # sum over the speaker's pairs, [member]

    @classmethod
    def from_errors(cls, cluster_errors: ErrorsBySpeaker | ErrorsByPair) -> _OtherTrials:
        """Return the sums of trials of shape (entry,)."""
        cell, n_cells = cluster_errors.cell_speakers[0], cluster_errors.n_cells
        speaker_trials = cluster_errors.speaker_trials
        speakers = reduce_by_cell(speaker_trials > 0, cell, n_cells)
        trial_squares = reduce_by_cell(speaker_trials**2, cell, n_cells)
        pairs = pair_trial_squares = speaker_pair_squares = np.full(n_cells, np.nan)
        if isinstance(cluster_errors, ErrorsByPair):
            pairs = _sum_of_others(cluster_errors.pair_counts)
            cell_squares, speaker_pair_squares = cluster_errors.squared_trials
            pair_trial_squares = _sum_of_others(cell_squares)
        return cls(
            trials=_sum_of_others(cluster_errors.cell_trials),
            speakers=_sum_of_others(speakers),
            trial_squares=_sum_of_others(trial_squares),
            pairs=pairs,
            pair_trial_squares=pair_trial_squares,
            speaker_trials=speaker_trials,
            speaker_pair_squares=speaker_pair_squares,
        )


def _other_moments(
    cluster_errors: ErrorsBySpeaker | ErrorsByPair, known_trials: _OtherTrials | None = None
) -> Moments:
    """Return the moments of all other cells together, for each cell, at one operating point."""
    other_trials = known_trials or _OtherTrials.from_errors(cluster_errors)
    cell, n_cells = cluster_errors.cell_speakers[0], cluster_errors.n_cells
    # numbers of each member that are added up by kind
    speaker_numbers = [np.asarray(other_trials.speaker_trials > 0, np.float64)]
    pair_squares = np.full(n_cells, np.nan)
    if isinstance(cluster_errors, ErrorsByPair):
        cell_sums, (speaker_errors, *speaker_squares) = cluster_errors.error_sums
        speaker_numbers += [*speaker_squares, other_trials.speaker_pair_squares]
        errors, squared_errors, products = (_sum_of_others(sums) for sums in cell_sums)
        # sum over pairs of (errors - rate * trials) ** 2
        rate = safe_divide(errors, other_trials.trials, 0)
        pair_squares = (
            squared_errors - 2 * rate * products + rate**2 * other_trials.pair_trial_squares
        )
    else:
        errors = _sum_of_others(cluster_errors.sum_by_cell(cluster_errors.errors))
        speaker_errors = cluster_errors.sum_by_speaker(cluster_errors.errors)
    largest_errors = _max_of_others(reduce_by_cell(speaker_errors, cell, n_cells, np.maximum))
    kinds = _SpeakerKinds.from_speakers(
        cell, other_trials.speaker_trials, speaker_errors, speaker_numbers
    )
    cells_per_chunk = max(1, _MAX_TABLE_SIZE // max(1, kinds.trials.size))
    chunks = []
    for first_cell in range(0, n_cells, cells_per_chunk):
        chunk_cells = range(first_cell, min(first_cell + cells_per_chunk, n_cells))
        chunks.append(kinds.sums_of_other_cells(chunk_cells, errors, other_trials.trials))
    sums = [np.concatenate(arrays) for arrays in zip(*chunks, strict=True)]
    squares, fourths, deleted_squares, n_common_speakers, pair_deleted_squares = sums
    return Moments(
        speakers_per_trial=2 if isinstance(cluster_errors, ErrorsByPair) else 1,
        in_blocks=cluster_errors.in_blocks,
        errors=errors,
        trials=other_trials.trials,
        speakers=other_trials.speakers,
        squares=squares,
        fourths=fourths,
        trial_squares=other_trials.trial_squares,
        deleted_squares=deleted_squares,
        largest_errors=largest_errors,
        has_common_speaker=n_common_speakers > 0,
        pairs=other_trials.pairs,
        pair_squares=pair_squares,
        pair_trial_squares=other_trials.pair_trial_squares,
        pair_deleted_squares=pair_deleted_squares,
    )


class _SpeakerKinds(NamedTuple):
    """Speakers by kind; speakers of one kind have equally many errors and trials.

    There are few kinds, as errors are few: sums over speakers of a power of their residuals are
    sums over kinds of that power times the number of speakers.
    """

    cell: NDArray[np.integer[Any]]  # [member], rising
    kind: NDArray[np.intp]  # [member]
    errors: FloatArray  # [kind]
    trials: FloatArray  # [kind]
    speaker_numbers: list[FloatArray]  # 1 for speakers with trials, then sums of pairs, [member]

    @classmethod
    def from_speakers(
        cls,
        cell: NDArray[np.integer[Any]],
        trials: FloatArray,
        errors: FloatArray,
        speaker_numbers: list[FloatArray],
    ) -> _SpeakerKinds:
        """Return the kinds of speakers with these errors and trials, all of shape (member,)."""
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
            speaker_numbers,
        )

    def sums_of_other_cells(
        self, cells: range, errors: FloatArray, trials: FloatArray
    ) -> list[FloatArray]:
        """Return sums over the speakers of all cells but one, for each of some cells.

        Parameters
        ----------
        cells : range
            The cells for which the others are added up.
        errors, trials : FloatArray of shape (cell,)
            Of all other cells together, for each cell.

        Returns
        -------
        list of FloatArray of shape (len(cells),)
            Sums of squared and fourth powers of residuals, of squared changes of the rate, number
            of speakers who take part in all trials, and `Moments.pair_deleted_squares`.
        """
        first_entry, end_entry = np.searchsorted(self.cell, [cells.start, cells.stop])
        n_kinds = self.trials.size
        chunk_cell = self.cell[first_entry:end_entry] - cells.start
        table_indices = chunk_cell * n_kinds + self.kind[first_entry:end_entry]

        def sum_by_kind(speaker_values: FloatArray) -> FloatArray:
            """Return sums over the speakers of all other cells, ``[cell, kind]``."""
            chunk_values = speaker_values[first_entry:end_entry]
            cell_sums = np.bincount(table_indices, chunk_values, minlength=len(cells) * n_kinds)
            total_sums = np.bincount(self.kind, speaker_values, minlength=n_kinds)
            return np.asarray(total_sums - cell_sums.reshape(len(cells), -1))

        other_errors = errors[cells.start : cells.stop, None]
        other_trials = trials[cells.start : cells.stop, None]
        deviations = self.errors * other_trials - other_errors * self.trials
        residuals = safe_divide(deviations, other_trials, 0)
        remaining_trials = trials_without_speaker(other_trials, self.trials)
        n_speakers, *pair_sums = map(sum_by_kind, self.speaker_numbers)
        pair_deleted = np.full(len(cells), np.nan)
        if pair_sums:
            error_squares, error_trials, trial_squares = pair_sums
            rate = safe_divide(other_errors, other_trials, 0)
            squares = error_squares - 2 * rate * error_trials + rate**2 * trial_squares
            pair_residuals = np.where(n_speakers > 0, squares, 0)
            pair_deleted = safe_divide(pair_residuals, 2 * remaining_trials**2, 0).sum(axis=-1)
        return [
            (n_speakers * residuals**2).sum(axis=-1),
            (n_speakers * residuals**4).sum(axis=-1),
            (n_speakers * safe_divide(residuals, remaining_trials, 0) ** 2).sum(axis=-1),
            ((n_speakers > 0) & (remaining_trials == 0)).sum(axis=-1, dtype=np.float64),
            pair_deleted,
        ]


def _sum_of_others(cell_values: FloatArray) -> FloatArray:
    """Return the sum of the other cells' values, for each cell."""
    return np.asarray(cell_values.sum(axis=-1, keepdims=True) - cell_values)


def _max_of_others(cell_values: FloatArray) -> FloatArray:
    """Return the largest value of the other cells, for each cell; 0 if there are none."""
    is_largest = np.arange(cell_values.shape[-1]) == cell_values.argmax(axis=-1)[..., None]
    second_largest = np.where(is_largest, 0, cell_values).max(axis=-1, keepdims=True)
    return np.asarray(np.where(is_largest, second_largest, cell_values.max(axis=-1, keepdims=True)))


def _p_value(numerator: Interval, denominator: Interval) -> FloatArray:
    """Return the level at which a limit of the ratio is 1, by bisection; see `ratio_interval`.

    Where 1 is a limit, the squared distances of both rates to their limits add up to the squared
    log ratio: they are its cosine and sine for some angle. The angle is sought at which both limits
    have the same level.
    """
    pairs = zip(vars(numerator).values(), vars(denominator).values(), strict=True)
    stacked = Interval(*(np.stack(np.broadcast_arrays(*pair)) for pair in pairs))
    group_rate, reference_rate = stacked.rate
    has_no_errors = group_rate == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        both_positive = (group_rate > 0) & (reference_rate > 0)
        log_ratio = np.where(both_positive, np.log(group_rate) - np.log(reference_rate), 0)
    low, high = np.zeros(group_rate.shape), np.ones(group_rate.shape)
    for _ in range(_N_BISECTIONS):
        middle = (low + high) / 2
        angle = middle * (np.pi / 2)
        # with a rate of 0 there is no logarithm, but both limits are one rate
        common_limit = (1 - middle) * reference_rate
        group_at_angle = group_rate * np.exp(-log_ratio * np.cos(angle))
        reference_at_angle = reference_rate * np.exp(log_ratio * np.sin(angle))
        group_limit = np.where(has_no_errors, common_limit, group_at_angle)
        reference_limit = np.where(has_no_errors, common_limit, reference_at_angle)
        levels = level(stacked, np.stack((group_limit, reference_limit)))
        is_beyond = levels[0] > levels[1]
        low, high = np.where(is_beyond, low, middle), np.where(is_beyond, middle, high)
    return np.asarray(np.maximum(*levels))
