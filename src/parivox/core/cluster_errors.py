"""Errors and trials by speaker or pair of speakers, and the variance of rates that follows.

Trials that share a speaker are dependent, so that speakers, not trials, are the sample
(docs/methods/uncertainty.md#why-speakers). Target trials are counted by speaker, nontarget trials
by unordered pair of speakers, each within its cell (a group under one allocation);
`moments` reduces such a table to a few sums of the deviations by speaker and by pair
(docs/methods/uncertainty.md#residuals-and-variances).

Layout: one flat axis of *entries* in rising order of their cells, one for each speaker, or
pair, that has trials in the cell. Leading axes are free: operating points, replicates.
"""

from __future__ import annotations

from copy import copy
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from parivox.core.key_sums import index_codes
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

# With more numbers of errors than this, operating points are taken one by one, to save memory.
_MAX_ERRORS_AT_ONCE = 2**22
# Degrees of freedom of a variance above which speaker blocks need less of the jackknife.
_STEADY_DF = 10


class _ClusterErrors:
    """What tables of errors by speaker and by pair of speakers have in common."""

    speaker_fields: ClassVar[tuple[str, ...]]
    """Names of the fields that hold the speakers of an entry."""

    cell: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int
    in_blocks: bool

    def sum_by_cell(self, entry_values: NDArray[np.generic]) -> FloatArray:
        """Return sums over the entries of each cell: ``[..., entry]`` to ``[..., cell]``."""
        numbers = np.asarray(entry_values, dtype=np.float64)
        sums = np.zeros((*numbers.shape[:-1], self.n_cells))
        # of empty cells, `reduceat` would return a number of the next one
        used_cells = np.flatnonzero(np.diff(self._cell_bounds))
        if used_cells.size:
            starts = self._cell_bounds[used_cells]
            sums[..., used_cells] = np.add.reduceat(numbers, starts, axis=-1)
        return sums

    @cached_property
    def _cell_bounds(self) -> IntArray:
        """Where the entries of each cell begin and, last, end."""
        return np.searchsorted(self.cell, np.arange(self.n_cells + 1))

    def sum_by_speaker(self, entry_values: NDArray[np.generic]) -> FloatArray:
        """Return sums over the entries of each speaker: ``[..., entry]`` to ``[..., member]``."""
        raise NotImplementedError

    @cached_property
    def cell_trials(self) -> FloatArray:
        """Trials of each cell, ``[..., cell]``."""
        return self.sum_by_cell(self.trials)

    @cached_property
    def speaker_trials(self) -> FloatArray:
        """Trials of each speaker of each cell, ``[..., member]``."""
        return self.sum_by_speaker(self.trials)

    def select(self, entries: slice | NDArray[Any] = slice(None), **changed: Any) -> Self:
        """Return some of the entries, with the fields in `changed` replaced."""
        field_names = [
            name
            for name in ("cell", *self.speaker_fields, "errors", "trials")
            if name not in changed
        ]
        columns = {name: getattr(self, name)[..., entries] for name in field_names}
        selection: Self = replace(cast("Any", self), **columns, **changed)
        return selection

    def cell_range(self, start: int, stop: int) -> Self:
        """Return cells `start` to `stop`, the latter excluded."""
        entries = slice(*np.searchsorted(self.cell, [start, stop]).tolist())
        return self.select(entries, cell=self.cell[entries] - start, n_cells=stop - start)

    def operating_point(self, point_index: int) -> Self:
        """Return one operating point of those on the only leading axis."""
        trials = self.trials if self.trials.ndim == 1 else np.asarray(self.trials[point_index])
        return self.select(errors=self.errors[point_index], trials=trials)

    def excluding_cell(self, excluded_cells: NDArray[np.integer[Any]]) -> Self:
        """Return a copy without the errors and trials of one cell at each operating point."""
        is_excluded = self.cell == excluded_cells[:, None]
        columns = {
            name: np.where(is_excluded, 0, getattr(self, name)) for name in ("errors", "trials")
        }
        return self.select(**columns)


@frozen
class ErrorsBySpeaker(_ClusterErrors):
    """Target trials of each cell by speaker.

    Attributes
    ----------
    cell : integer ndarray of shape (entry,)
        Rising, in [0, n_cells).
    speaker : integer ndarray of shape (entry,)
        Each at most once in a cell.
    errors, trials : ndarrays of shapes (..., entry), broadcasting against each other
        Trials rejected, and all of them.
    n_cells : int
    in_blocks : bool
        Whether speakers are blocks of many, each a random sample of its group.
    unknown_speaker : int
        Number that stands for all people whom nobody knows; -1 where there is none.
    """

    speaker_fields = ("speaker",)

    cell: NDArray[np.integer[Any]]
    speaker: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int
    in_blocks: bool = False
    unknown_speaker: int = -1

    @property
    def has_unknown_speakers(self) -> NDArray[np.bool_]:
        """Whether some speakers of each cell are unknown, shape (cell,)."""
        is_incomplete = np.zeros(self.n_cells, dtype=np.bool_)
        if self.unknown_speaker >= 0:
            is_incomplete[self.cell[np.equal(self.speaker, self.unknown_speaker)]] = True
        return is_incomplete

    @property
    def n_pairs(self) -> IntArray:
        """Pairs of speakers of each cell, shape (cell,): none, as trials are of one speaker."""
        return np.zeros(self.n_cells, dtype=np.int64)

    @property
    def cell_speakers(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Cell and speaker of each entry."""
        return self.cell, self.speaker

    def sum_by_speaker(self, entry_values: NDArray[np.generic]) -> FloatArray:
        """Return the values unchanged, as each entry is one speaker's."""
        return np.asarray(entry_values, dtype=np.float64)

    @cached_property
    def n_speakers(self) -> IntArray:
        """Speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell, minlength=self.n_cells)


@frozen
class ErrorsByPair(_ClusterErrors):
    """Nontarget trials of each cell by unordered pair of speakers.

    Attributes
    ----------
    cell : integer ndarray of shape (entry,)
        Rising, in [0, n_cells).
    first_speaker, second_speaker : integer ndarrays of shape (entry,)
        The two speakers, the first below the second; each pair at most once in a cell. Both are
        equal for the trials of an enrolled speaker whose test speaker is unknown.
    errors, trials : ndarrays of shapes (..., entry), broadcasting against each other
        Trials accepted, and all of them, in either order of enrolment and test.
    n_cells : int
    in_blocks : bool
        As in `ErrorsBySpeaker`.
    """

    speaker_fields = ("first_speaker", "second_speaker")

    cell: NDArray[np.integer[Any]]
    first_speaker: NDArray[np.integer[Any]]
    second_speaker: NDArray[np.integer[Any]]
    errors: NDArray[np.generic]
    trials: NDArray[np.generic]
    n_cells: int
    in_blocks: bool = False

    def sum_by_speaker(self, entry_values: NDArray[np.generic]) -> FloatArray:
        """Return sums over the pairs of each speaker: ``[..., entry]`` to ``[..., member]``.

        Members are (cell, speaker), in rising order; see `cell_speakers`.
        """
        n_members = self.cell_speakers[0].size
        leading_shape = entry_values.shape[:-1]
        n_rows = int(np.prod(leading_shape))  # not -1, as there may be no entries
        contiguous = np.ascontiguousarray(entry_values, dtype=np.float64)
        rows = contiguous.reshape(n_rows, entry_values.shape[-1])
        sums = np.empty((n_rows, n_members))
        unknown_pairs = np.flatnonzero(self.is_unknown_pair)
        first_members, second_members = self._pair_members
        for i, row in enumerate(rows):
            sums[i] = np.bincount(first_members, row, minlength=n_members)
            sums[i] += np.bincount(second_members, row, minlength=n_members)
            # a pair whose test speaker is unknown names its speaker twice, but counts once
            if unknown_pairs.size:
                twice_counted = second_members.take(unknown_pairs)
                unknown_amounts = row.take(unknown_pairs)
                sums[i] -= np.bincount(twice_counted, unknown_amounts, minlength=n_members)
        return sums.reshape(*leading_shape, n_members)

    @cached_property
    def error_sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums of errors, of their squares and of errors times trials.

        Over the pairs of each cell, ``[3, ..., cell]``, and of each speaker of each cell,
        ``[3, ..., member]``. Few pairs have errors: only these are added up.
        """
        shape = np.broadcast_shapes(self.errors.shape, self.trials.shape)
        n_rows = int(np.prod(shape[:-1]))  # not -1, as there may be no entries
        errors_of_rows, trials_of_rows = (
            np.broadcast_to(counts, shape).reshape(n_rows, shape[-1])
            for counts in (self.errors, self.trials)
        )
        n_members = self.cell_speakers[0].size
        first_sums, speaker_sums = np.zeros((2, 3, n_rows, n_members))
        for i in range(n_rows):
            entries = np.flatnonzero(errors_of_rows[i])
            errors = errors_of_rows[i].take(entries).astype(np.float64)
            trials = trials_of_rows[i].take(entries)
            # of the type that `bincount` converts to
            first_members, second_members = (
                members.take(entries).astype(np.intp) for members in self._pair_members
            )
            # a pair whose test speaker is unknown names its speaker twice, but counts once
            is_known = first_members != second_members
            for j, terms in enumerate((errors, errors**2, errors * trials)):
                first_sums[j, i] = np.bincount(first_members, terms, minlength=n_members)
                speaker_sums[j, i] = first_sums[j, i] + np.bincount(
                    second_members, terms * is_known, minlength=n_members
                )
        # each pair has one first speaker: their sums add up to those of the cell
        cell_sums = reduce_by_cell(first_sums, self.cell_speakers[0], self.n_cells)
        leading_shape = (3, *shape[:-1])
        return (
            cell_sums.reshape(*leading_shape, self.n_cells),
            speaker_sums.reshape(*leading_shape, n_members),
        )

    @cached_property
    def pair_counts(self) -> FloatArray:
        """Pairs with trials of each cell, ``[..., cell]``."""
        return self.sum_by_cell(np.greater(self.trials, 0))

    @cached_property
    def squared_trials(self) -> tuple[FloatArray, FloatArray]:
        """Sums of squared trials over the pairs of each cell and of each speaker of each cell.

        Of shapes ``[..., cell]`` and ``[..., member]``.
        """
        squares = np.asarray(self.trials, dtype=np.float64) ** 2
        return self.sum_by_cell(squares), self.sum_by_speaker(squares)

    @cached_property
    def is_unknown_pair(self) -> NDArray[np.bool_]:
        """Whether the test speaker is unknown, shape (entry,)."""
        return np.asarray(self.first_speaker == self.second_speaker)

    @cached_property
    def has_unknown_speakers(self) -> NDArray[np.bool_]:
        """Whether some test speakers of each cell are unknown, shape (cell,)."""
        is_incomplete = np.zeros(self.n_cells, dtype=np.bool_)
        is_incomplete[self.cell[self.is_unknown_pair]] = True
        return is_incomplete

    @cached_property
    def cell_speakers(self) -> tuple[IntArray, IntArray]:
        """Cell and speaker of each member: each speaker once in each cell where it has pairs."""
        codes, _ = self._member_codes
        return codes // self._n_speaker_codes, codes % self._n_speaker_codes

    @cached_property
    def n_speakers(self) -> IntArray:
        """Speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell_speakers[0], minlength=self.n_cells)

    @cached_property
    def n_pairs(self) -> IntArray:
        """Pairs of known speakers of each cell, shape (cell,)."""
        return np.bincount(self.cell[~self.is_unknown_pair], minlength=self.n_cells)

    @cached_property
    def _n_speaker_codes(self) -> int:
        return int(self.second_speaker.max(initial=0)) + 1

    @cached_property
    def _member_codes(self) -> tuple[IntArray, NDArray[np.integer[Any]]]:
        """Rising codes of the members, and the member of each entry's first and second speaker.

        The second array has shape (2 * entry,): all first speakers, then all second ones.
        """
        cell_offsets = self.cell.astype(np.int64) * self._n_speaker_codes
        codes = np.concatenate(
            (cell_offsets + self.first_speaker, cell_offsets + self.second_speaker)
        )
        return index_codes(codes, self.n_cells * self._n_speaker_codes)

    @cached_property
    def _pair_members(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Members that the first and the second speaker of each entry are, shapes (entry,)."""
        member_indices = self._member_codes[1]
        return member_indices[: self.cell.size], member_indices[self.cell.size :]


def reduce_by_cell(
    entry_values: ArrayLike,
    cell: NDArray[np.integer[Any]],
    n_cells: int,
    reducer: np.ufunc = np.add,
    default: float = 0.0,
) -> FloatArray:
    """Return sums over the entries of each cell, or another reduction, such as ``np.maximum``.

    From values ``[..., entry]``, whose cells rise, to ``[..., cell]``; `default` without entries.

    Examples
    --------
    >>> reduce_by_cell([1, 2, 4], np.array([0, 0, 2]), 3).tolist()
    [3.0, 0.0, 4.0]
    """
    numbers = np.asarray(entry_values, dtype=np.float64)
    reduced = np.full((*numbers.shape[:-1], n_cells), default)
    if cell.size:
        starts = np.flatnonzero(np.concatenate(([True], cell[1:] != cell[:-1])))
        reduced[..., cell[starts]] = reducer.reduceat(numbers, starts, axis=-1)
    return reduced


@frozen
class Moments:
    """Sums over the speakers, and pairs of speakers, of each cell, and variances from them.

    With r = errors - rate * trials, of one speaker's target trials or of one pair's nontarget
    trials; R_s is the sum of r, Q_s of r ** 2, N_s of trials over the pairs with speaker s. For
    target trials R_s is r and N_s the speaker's trials. All are of shape (..., cell); those of
    pairs are NaN for target trials.
    """

    speakers_per_trial: int
    """Speakers of a trial: 1 for target trials, 2 for nontarget ones."""
    in_blocks: bool
    """Speakers are blocks of many."""
    errors: FloatArray
    trials: FloatArray
    speakers: FloatArray
    squares: FloatArray
    """Sum over speakers of R_s ** 2."""
    fourths: FloatArray
    """Sum over speakers of R_s ** 4."""
    trial_squares: FloatArray
    """Sum over speakers of N_s ** 2."""
    deleted_squares: FloatArray
    """Sum over speakers of [R_s / (trials - N_s)] ** 2, by how much the rate falls without s."""
    largest_errors: FloatArray
    """Largest number of errors in which one speaker takes part."""
    has_common_speaker: NDArray[np.bool_]
    """One speaker takes part in every trial, so that other speakers cannot be compared."""
    pairs: FloatArray
    pair_squares: FloatArray
    """Sum over pairs of r ** 2."""
    pair_trial_squares: FloatArray
    """Sum over pairs of trials ** 2."""
    pair_deleted_squares: FloatArray
    """Sum over speakers of Q_s / [2 (trials - N_s) ** 2]."""

    @cached_property
    def rate(self) -> FloatArray:
        """Errors by trials, in [0, 1], lower is better; NaN without trials."""
        # weighted errors and trials are added up in different orders, and may differ in a last bit
        return np.minimum(safe_divide(self.errors, self.trials), 1)

    @cached_property
    def variance_binomial(self) -> FloatArray:
        """V_B, as if trials were independent: R (1 - R) / N."""
        return safe_divide(self.rate * (1 - self.rate), self.trials)

    @cached_property
    def jackknife(self) -> FloatArray:
        """V_J, V_jk: each speaker left out in turn; NaN where `has_common_speaker`."""
        return np.where(
            self.has_common_speaker,
            np.nan,
            safe_divide(self.speakers - 1, self.speakers) * self.deleted_squares,
        )

    @cached_property
    def unbiased(self) -> FloatArray:
        """V_U of nontarget trials: unbiased for additive effects of speakers and pairs.

        In a balanced and complete design (docs/methods/uncertainty.md#residuals-and-variances). May
        be negative; NaN for fewer than 4 speakers and for target trials.
        """
        s = self.speakers
        scale = safe_divide((s - 2) * (s - 1), (s - 3) * s)
        return np.where(
            self.has_common_speaker,
            np.nan,
            scale * (self.deleted_squares - self.pair_deleted_squares),
        )

    @cached_property
    def robust(self) -> FloatArray:
        """Cluster-robust variance of target trials, dyadic-robust one of nontarget trials.

        docs/methods/uncertainty.md#residuals-and-variances, Fafchamps & Gubert (2007); for
        comparison. The second may be negative.
        """
        common = self.squares - (self.pair_squares if self.speakers_per_trial == 2 else 0)
        return safe_divide(self.speakers, self.speakers - 1) * safe_divide(common, self.trials**2)

    @cached_property
    def pair_variance(self) -> FloatArray:
        """W: variance by pairs beyond the binomial one; may be negative.

        See docs/methods/uncertainty.md#gamma-multinomial-draws.

        NaN for fewer than 2 pairs and for target trials.
        """
        clustered = safe_divide(self.pairs, self.pairs - 1) * safe_divide(
            self.pair_squares, self.trials**2
        )
        return clustered - self.variance_binomial

    @cached_property
    def speaker_concentration(self) -> FloatArray:
        """Sum over speakers of (N_s / N) ** 2.

        Of target trials it is the factor f of the pooled variance. Its inverse is the number of
        equally active speakers (times 4 for nontarget trials).
        """
        return safe_divide(self.trial_squares, self.trials**2)

    @cached_property
    def pair_concentration(self) -> FloatArray:
        """Sum over pairs of (trials of the pair / N) ** 2; NaN for target trials."""
        return safe_divide(self.pair_trial_squares, self.trials**2)

    @cached_property
    def kurtosis(self) -> FloatArray:
        """Excess kurtosis of R_s over speakers, at least 0; 0 if all are 0."""
        fourth = safe_divide(self.speakers * self.fourths, self.squares**2)
        return np.where(self.squares > 0, np.fmax(fourth - 3, 0), 0.0)

    @cached_property
    def df(self) -> FloatArray:
        """Degrees of freedom of the variance, at least 1; NaN for fewer than 2 speakers.

        Fewer than speakers - 1 where a few speakers have most of the trials or of the
        deviation (docs/methods/uncertainty.md#degrees-of-freedom).
        """
        by_trials = np.fmax(
            safe_divide((self.speakers_per_trial * self.trials) ** 2, self.trial_squares) - 1, 1
        )
        spread = self.kurtosis / np.fmax(self.speakers, 1) + safe_divide(2, self.speakers - 1)
        return np.minimum(by_trials, safe_divide(2, spread))

    @cached_property
    def variance(self) -> FloatArray:
        """V, never below the binomial; 0 without errors, or if all are errors.

        See docs/methods/uncertainty.md#residuals-and-variances.

        Target trials: the jackknife. Nontarget trials: `unbiased`, at least a share of the
        jackknife, `min_jackknife_share`; the whole jackknife for 3 speakers. NaN where one
        speaker takes part in every trial, so with 1 speaker, or with a single pair.
        """
        over_speakers = self.jackknife
        if self.speakers_per_trial == 2:
            min_share = min_jackknife_share(self.df, in_blocks=self.in_blocks)
            pair_variance = np.fmax(self.unbiased, min_share * self.jackknife)
            over_speakers = np.where(self.speakers > 3, pair_variance, self.jackknife)
        is_constant = (self.variance_binomial == 0) & ~self.has_common_speaker
        return np.where(is_constant, 0, np.maximum(over_speakers, self.variance_binomial))

    @cached_property
    def largest_share(self) -> FloatArray:
        """Share of the errors in which one speaker takes part, in [0, 1]; NaN without errors."""
        return safe_divide(self.largest_errors, self.errors)


def min_jackknife_share(df: FloatArray, *, in_blocks: bool) -> FloatArray:
    """Return the share of the jackknife's variance that the variance over pairs is never below.

    See docs/methods/uncertainty.md#residuals-and-variances. The unbiased variance of few, uneven
    speakers is too noisy to be taken alone: three quarters. Of blocks of speakers, which are even,
    it is steady; the more so, the nearer to one half, which is what it is of independent pairs.

    Parameters
    ----------
    df : ndarray
        Degrees of freedom of the variance; NaN counts as few.
    in_blocks : bool
        Whether speakers are blocks of many.

    Examples
    --------
    >>> min_jackknife_share(np.array([10.0, 20.0, 100.0]), in_blocks=True).tolist()
    [0.75, 0.5625, 0.5025]
    >>> min_jackknife_share(np.array([10.0, 20.0, 100.0]), in_blocks=False).tolist()
    [0.75, 0.75, 0.75]
    """
    if not in_blocks:
        return np.full(df.shape, 0.75)
    return np.asarray(0.5 + 0.25 * np.fmin(safe_divide(_STEADY_DF, df) ** 2, 1))


def moments(cluster_errors: ErrorsBySpeaker | ErrorsByPair) -> Moments:
    """Reduce each cell to the sums that intervals and noise floors rest on.

    Speakers without trials do not count; their names and the order of entries do not matter.

    Examples
    --------
    >>> errors, trials = np.array([1, 0, 6, 2]), np.array([50, 50, 40, 60])
    >>> found = moments(ErrorsBySpeaker(np.zeros(4, int), np.arange(4), errors, trials, 1))
    >>> found.rate.round(6).tolist(), found.robust.round(9).tolist()
    ([0.045], [0.000825167])
    """
    if cluster_errors.errors.ndim > 1 and cluster_errors.errors.size > _MAX_ERRORS_AT_ONCE:
        return moments_by_point(moments, cluster_errors)
    cell, n_cells = cluster_errors.cell_speakers[0], cluster_errors.n_cells
    trials = cluster_errors.cell_trials
    # [..., cell], and [..., member]: each speaker of each cell
    if isinstance(cluster_errors, ErrorsByPair):
        error_sums, speaker_error_sums = cluster_errors.error_sums
        errors, speaker_errors = error_sums[0], speaker_error_sums[0]
    else:
        errors = cluster_errors.sum_by_cell(cluster_errors.errors)
        speaker_errors = cluster_errors.sum_by_speaker(cluster_errors.errors)
    speaker_trials = cluster_errors.speaker_trials
    # Deviations times N are whole numbers, exact below 2**53: equal rates leave exactly 0.
    deviations = speaker_errors * trials[..., cell] - errors[..., cell] * speaker_trials
    residuals = safe_divide(deviations, trials[..., cell], 0)
    other_trials = trials_without_speaker(trials[..., cell], speaker_trials)
    speaker_sums = [
        reduce_by_cell(terms, cell, n_cells)
        for terms in (speaker_trials > 0, residuals**2, residuals**4, speaker_trials**2)
    ]
    deleted_squares = reduce_by_cell(safe_divide(residuals, other_trials, 0) ** 2, cell, n_cells)
    largest_errors = reduce_by_cell(speaker_errors, cell, n_cells, np.maximum)
    is_common_speaker = (other_trials == 0) & (speaker_trials > 0)
    has_common_speaker = reduce_by_cell(is_common_speaker, cell, n_cells, np.maximum) > 0
    pair_sums = [np.array(np.nan)] * 4
    if isinstance(cluster_errors, ErrorsByPair):
        # The squared residual of a pair, (e - E / N n) ** 2, is added up term by term: squares of
        # trials are the same at every threshold, and few pairs have errors.
        cell_squares, speaker_squares = cluster_errors.squared_trials
        pair_squares = _squared_residuals(error_sums, cell_squares, trials)
        speaker_pair_squares = _squared_residuals(
            np.stack((errors[..., cell], *speaker_error_sums[1:])),
            speaker_squares,
            trials[..., cell],
        )
        pair_deleted = safe_divide(speaker_pair_squares, 2 * other_trials**2, 0)
        pair_sums = [
            cluster_errors.pair_counts,
            pair_squares,
            cell_squares,
            reduce_by_cell(pair_deleted, cell, n_cells),
        ]
    shape = np.broadcast_shapes(errors.shape, trials.shape)
    all_sums = (
        errors,
        trials,
        *speaker_sums,
        deleted_squares,
        largest_errors,
        has_common_speaker,
        *pair_sums,
    )
    speakers_per_trial = 2 if isinstance(cluster_errors, ErrorsByPair) else 1
    broadcast_sums = [np.broadcast_to(terms, shape) for terms in all_sums]
    return Moments(speakers_per_trial, cluster_errors.in_blocks, *broadcast_sums)


def _squared_residuals(
    error_sums: FloatArray, squared_trials: FloatArray, trials: FloatArray
) -> FloatArray:
    """Return sums of (e - E / N n) ** 2 from those of n ** 2; 0 without trials.

    `error_sums` are E, the errors of all trials N, and sums of e ** 2 and of e n. Times N ** 2 all
    terms are whole numbers, so that equal rates leave exactly 0 if they are below 2 ** 53. Above,
    what rounding leaves of terms that cancel is set to 0.
    """
    errors, squared_errors, products = error_sums
    # trials that are no errors have the same residuals but for the sign, and smaller terms if few
    is_mostly_errors = errors > trials / 2
    squared_errors = np.where(
        is_mostly_errors, squared_trials - 2 * products + squared_errors, squared_errors
    )
    products = np.where(is_mostly_errors, squared_trials - products, products)
    errors = np.where(is_mostly_errors, trials - errors, errors)
    positive_terms = squared_errors * trials**2 + squared_trials * errors**2
    squares = positive_terms - 2 * products * errors * trials
    return safe_divide(np.where(squares > 1e-14 * positive_terms, squares, 0), trials**2, 0)


def moments_by_point(
    moments_of: Callable[[ErrorsBySpeaker | ErrorsByPair], Moments],
    cluster_errors: ErrorsBySpeaker | ErrorsByPair,
) -> Moments:
    """Return the moments of all operating points, each computed by itself to save memory."""
    shape = np.broadcast_shapes(cluster_errors.errors.shape, cluster_errors.trials.shape)
    n_points = int(np.prod(shape[:-1]))  # not -1, as there may be no entries
    point_errors = np.broadcast_to(cluster_errors.errors, shape).reshape(n_points, shape[-1])
    point_trials = np.broadcast_to(cluster_errors.trials, shape).reshape(n_points, shape[-1])
    # computed once here, as copies below keep cached properties; and often cached before
    _ = cluster_errors.cell_speakers
    error_sums = None
    if isinstance(cluster_errors, ErrorsByPair):
        error_sums = [
            sums.reshape(3, n_points, sums.shape[-1]) for sums in cluster_errors.error_sums
        ]
    if cluster_errors.trials.ndim == 1:
        _ = cluster_errors.cell_trials, cluster_errors.speaker_trials
        if isinstance(cluster_errors, ErrorsByPair):
            _ = cluster_errors.pair_counts, cluster_errors.squared_trials
    point_moments = []
    for i, (errors, trials) in enumerate(zip(point_errors, point_trials, strict=True)):
        point = copy(cluster_errors)
        vars(point).update(errors=errors, trials=trials)
        if error_sums is not None:
            vars(point)["error_sums"] = tuple(sums[:, i] for sums in error_sums)
        if cluster_errors.trials.ndim > 1:  # each point has trials of its own
            for name in ("cell_trials", "speaker_trials", "pair_counts", "squared_trials"):
                vars(point).pop(name, None)
        point_moments.append(moments_of(point))
    sums: dict[str, Any] = {}
    for name in [moments_field.name for moments_field in fields(Moments)]:
        arrays = [getattr(one_point, name) for one_point in point_moments]
        if isinstance(arrays[0], np.ndarray):
            sums[name] = np.stack(arrays).reshape(*shape[:-1], cluster_errors.n_cells)
    return replace(point_moments[0], **sums)


def trials_without_speaker(total: FloatArray, speaker_trials: FloatArray) -> FloatArray:
    """Return the trials of a cell without those of one speaker."""
    other_trials = total - speaker_trials
    # weighted trials leave a rounding error where one speaker has all of them
    return np.where(other_trials > 1e-12 * total, other_trials, 0.0)


def safe_divide(a: ArrayLike, b: ArrayLike, otherwise: float = np.nan) -> FloatArray:
    """Return quotients where the divisor is greater than 0, and `otherwise` elsewhere."""
    numerator, denominator = np.asarray(a, np.float64), np.asarray(b, np.float64)
    quotients = np.full(np.broadcast(numerator, denominator).shape, otherwise, dtype=np.float64)
    np.divide(numerator, denominator, out=quotients, where=denominator > 0)
    return quotients
