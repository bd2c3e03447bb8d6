"""Score counts of each replicate of the vertex bootstrap, for measures that read whole curves.

`ResampledCurves` turns weights of speakers into `parivox.core.counts.Counts`
with a leading axis of replicates, so that every function above them - EER, minimum cost,
thresholds found on the data - answers for all replicates at once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parivox.core.counts import Counts
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

    Codes: TypeAlias = NDArray[np.integer[Any]]

N_BINS = 1 << 12

# of one chunk of replicates: counts, and weights of pairs
_MAX_COUNTS, _MAX_PAIR_WEIGHTS = 1 << 22, 1 << 23
_PAIRS_AT_ONCE = 1 << 14  # pairs whose weights are made at once
_MAX_REPLICATES = 160  # replicates in a chunk: more would leave the cache


def curve_edges(counts: Counts, *, bins: int = N_BINS, thresholds: ArrayLike = ()) -> FloatArray:
    """Lower edges of bins that all cells share, dense where errors are rare.

    Parameters
    ----------
    counts : Counts
        All trials by score, of shape (value,).
    bins : int
        About so many: half of the edges at even quantiles of all scores, a quarter at false
        positive rates and a quarter at false negative rates that are evenly spaced on a
        logarithmic scale.
    thresholds : array_like
        Scores that must be edges as well, so that counts there are exact; NaN is left out.

    Returns
    -------
    float64 of shape (edge,)
        Rising; each is a score or one of `thresholds`. Infinite scores have bins of their own.

    Examples
    --------
    >>> counts = Counts.from_scores([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1])
    >>> curve_edges(counts, bins=4, thresholds=[0.25]).tolist()
    [0.1, 0.2, 0.25, 0.3, 0.4]
    """
    if bins < 4:
        msg = f"bins is {bins}; it must be 4 or more"
        raise ConfigError(msg)
    cumulative_trials, cumulative_target, cumulative_nontarget = (
        np.cumsum(n_trials)
        for n_trials in (counts.target + counts.nontarget, counts.target, counts.nontarget)
    )
    n_trials, n_target, n_nontarget = (
        int(cumulative[-1]) if cumulative.size else 0
        for cumulative in (cumulative_trials, cumulative_target, cumulative_nontarget)
    )
    # trials in rising order of score; false accepts come from above
    rank_grids = (
        (cumulative_trials, np.linspace(0, n_trials - 1, bins // 2)),
        (cumulative_target, np.geomspace(1, max(n_target, 1), bins // 4) - 1),
        (
            cumulative_nontarget,
            n_nontarget - np.rint(np.geomspace(1, max(n_nontarget, 1), bins // 4)),
        ),
    )
    value_indices = [
        np.searchsorted(cumulative, np.rint(trial_ranks), "right")
        for cumulative, trial_ranks in rank_grids
        if cumulative.any()
    ]
    value_indices.append(np.flatnonzero(cumulative_trials)[:1])
    finite = np.flatnonzero(np.isfinite(counts.values) & (counts.target + counts.nontarget > 0))
    value_indices += [finite[:1], np.flatnonzero(cumulative_trials == n_trials)[:1]]
    extra_edges = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    edge_scores = counts.values[np.concatenate(value_indices).astype(np.intp)]
    return np.unique(np.concatenate((edge_scores, extra_edges[~np.isnan(extra_edges)]))) + 0.0


def bin_means(counts: Counts, edges: FloatArray) -> FloatArray:
    """Mean score of the trials in each bin, within it; its lower edge where there are none.

    Parameters
    ----------
    counts : Counts
        All trials by score, of shape (value,), none below the first edge.
    edges : float64 ndarray of shape (edge,)
        Rising.

    Examples
    --------
    >>> bin_means(Counts.from_scores([0.1, 0.3, 0.9], [0, 1, 1]), np.array([0, 0.5])).tolist()
    [0.2, 0.9]
    """
    bin_indices = np.searchsorted(edges, counts.values, side="right") - 1
    n_trials = counts.target + counts.nontarget
    upper_edges = np.append(edges, np.inf)[1:]
    with np.errstate(invalid="ignore"):
        total = np.bincount(bin_indices, counts.values * n_trials, minlength=edges.size)
        mean = total / np.bincount(bin_indices, n_trials, minlength=edges.size)
        mean = np.clip(
            mean,
            edges,
            np.where(np.isfinite(upper_edges), np.nextafter(upper_edges, -np.inf), upper_edges),
        )
    return np.where(np.isfinite(mean), mean, edges)


def largest_share(counts: Counts) -> FloatArray:
    """Largest share of a class of trials in one bin, of the bins that hold both classes.

    How far binning may move a rate at a threshold found on the curve (EER, minimum cost, FNR
    at an FPR) or the AUC: no threshold inside a bin of one class beats both of its ends.

    In [0, 1]; 0 for a cell without mixed bins.

    Examples
    --------
    >>> float(largest_share(Counts.from_scores([1.0, 1.0, 2.0, 0.0], [1, 0, 1, 0])))
    0.5
    """
    mixed = (counts.target > 0) & (counts.nontarget > 0)
    shares = [
        np.where(mixed, trials, 0).max(axis=-1, initial=0) / np.maximum(total, 1)
        for trials, total in (
            (counts.target, counts.n_target),
            (counts.nontarget, counts.n_nontarget),
        )
    ]
    return np.asarray(np.maximum(*shares))[()]


class ResampledCurves:
    """Trials of one system and list, ready to be weighted by speakers.

    Parameters
    ----------
    score : ndarray of shape (trial,)
        In any order, without NaN.
    target : bool ndarray of shape (trial,)
    one, other : integer ndarrays of shape (trial,)
        Speakers of both sides, known for every trial.
    layouts : sequence of (cells, n_cells)
        Where trials count: one or two integer arrays of shape (trial,), -1 for nowhere, and
        how many cells there are. A trial counts once in each of the cells named.
    edges : ndarray of shape (edge,) or None
        Lower edges of the bins (`curve_edges`), the first at or below every score; None
        counts every distinct score, which takes as long as there are scores.
    times : integer ndarray of shape (trial,), optional
        How many trials each row stands for.
    means : ndarray of shape (edge,), optional
        What stands for the scores of each bin (`bin_means`); without it, the mean of these rows'.

    Notes
    -----
    A trial of one speaker weighs w_s, one between two w_i * w_j. Trials are first counted by
    combination of cells, class and bin (rows) and by pair of speakers (columns), in one sparse
    matrix; a chunk of replicates is its product with the weights of the pairs; cells are then
    sums of its rows. All in integers, so that weights of 1 give the counts themselves.

    Each bin is represented by the mean of its scores, which lies in it: counts at any edge are
    exact, and a threshold found on one cell may be read on another.

    What is computed grows with the pairs of speakers that have trials. Where there are millions
    of speakers, blocks of speakers (by a hash) may stand for them: a trial within a block then
    weighs w_b.
    """

    def __init__(
        self,
        score: FloatArray,
        target: NDArray[np.bool_],
        enrol_speaker: Codes,
        test_speaker: Codes,
        layouts: Sequence[tuple[Sequence[Codes], int]],
        edges: FloatArray | None,
        times: IntArray | None = None,
        means: FloatArray | None = None,
    ) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415 - only what resamples pays for it

        trials_of_trial = np.ones(score.size, dtype=np.int64) if times is None else times
        self.values, bin_index = _binned(score, trials_of_trial, edges, means)
        n_values = self.values.size
        codes = [code for cells, _ in layouts for code in cells]
        combination_cells, combination = _cell_combinations(codes, target.size)
        span = int(max(enrol_speaker.max(initial=0), test_speaker.max(initial=0))) + 1
        pairs, pair = _index_keys(
            np.minimum(enrol_speaker, test_speaker).astype(np.int64) * span
            + np.maximum(enrol_speaker, test_speaker),
            span * span,
        )
        self.pair = pairs // span, pairs % span
        # rows: class, atom, value
        n_combinations = combination_cells.shape[1]
        rows, row = _index_keys(
            (target * np.int64(n_combinations) + combination) * n_values + bin_index,
            2 * n_combinations * n_values,
        )
        del bin_index, combination  # as long as there are trials
        trials_of_row = np.bincount(row, trials_of_trial, minlength=rows.size)
        max_row_trials = int(trials_of_row.max(initial=1))
        trials_of_trial = trials_of_trial.astype(_narrowest_integer(max_row_trials))
        self.trials = csr_array((trials_of_trial, (row, pair)), shape=(rows.size, pairs.size))
        del trials_of_trial, row, pair
        row_class, row_combination, row_value = (
            rows // n_values // n_combinations,
            rows // n_values % n_combinations,
            rows % n_values,
        )
        # cells: layout, cell, value; first all nontarget, then all target rows
        layout_starts = np.concatenate(([0], np.cumsum([n_cells for _, n_cells in layouts])))
        layout_of_code = [
            layout_index for layout_index, (cells, _) in enumerate(layouts) for _ in cells
        ]
        keys, member_rows = [], []
        for layout_index, code in zip(layout_of_code, combination_cells, strict=True):
            cell = code[row_combination]
            rows_inside = np.flatnonzero(cell >= 0)
            keys.append(
                (layout_starts[layout_index] + cell[rows_inside]) * n_values
                + row_value[rows_inside]
            )
            member_rows.append(rows_inside)
        key, member_row = (
            np.concatenate([np.zeros(0, np.int64), *arrays]) for arrays in (keys, member_rows)
        )
        cell_value_keys, cell_value_index = _index_keys(key, int(layout_starts[-1]) * n_values)
        self.size = cell_value_keys.size
        self.cells = csr_array(
            (
                np.ones(cell_value_index.size, dtype=np.int32),
                (cell_value_index + row_class[member_row] * self.size, member_row),
            ),
            shape=(2 * self.size, rows.size),
        )
        self.used = cell_value_keys % n_values
        self.ends = np.searchsorted(cell_value_keys, np.arange(layout_starts[-1] + 1) * n_values)
        self.first = layout_starts
        self._most = int((self.cells @ trials_of_row).max(initial=1)), max_row_trials

    def original(self) -> list[list[Counts]]:
        """Counts of each cell of each layout, as they are, of shape (value,)."""
        weights_of_one = np.ones((1, int(self.pair[1].max(initial=0)) + 1), dtype=np.int64)
        ((_, cells),) = self.replicates(weights_of_one)
        return [
            [Counts(counts.values, counts.target[0], counts.nontarget[0]) for counts in layout]
            for layout in cells
        ]

    def replicates(
        self, weights: Codes, *, chunk: int | None = None
    ) -> Iterator[tuple[slice, list[list[Counts]]]]:
        """Counts of each cell of each layout in each replicate.

        Parameters
        ----------
        weights : integer ndarray of shape (replicate, speaker)
        chunk : int, optional
            Replicates at once; by default up to 160, fewer where one replicate is large. The
            counts do not depend on it.

        Yields
        ------
        (slice, list of list of Counts)
            Which replicates, and by layout and cell the counts of shape (replicate, value), on
            the values in use in that cell.
        """
        max_pair_weight = int(weights.max(initial=1)) ** 2
        cells, trials = (
            matrix.astype(_narrowest_integer(max_count * max_pair_weight), copy=False)
            for matrix, max_count in zip((self.cells, self.trials), self._most, strict=True)
        )
        pair_first, pair_second = self.pair
        default_chunk = min(
            _MAX_COUNTS // max(2 * self.size, 1),
            _MAX_PAIR_WEIGHTS // max(pair_first.size, 1),
            _MAX_REPLICATES,
        )
        replicates_per_chunk = chunk or max(default_chunk, 1)
        are_different = (pair_first != pair_second)[:, None]
        for start_replicate in range(0, len(weights), replicates_per_chunk):
            chunk_slice = slice(
                start_replicate, min(start_replicate + replicates_per_chunk, len(weights))
            )
            speaker_weights = np.ascontiguousarray(weights[chunk_slice].T, dtype=trials.dtype)
            pair_weights = speaker_weights[pair_first]
            for start_pair in range(0, pair_first.size, _PAIRS_AT_ONCE):
                pair_slice = slice(start_pair, start_pair + _PAIRS_AT_ONCE)
                chunk_weights = pair_weights[pair_slice]
                np.multiply(
                    chunk_weights,
                    speaker_weights[pair_second[pair_slice]],
                    out=chunk_weights,
                    where=are_different[pair_slice],
                )
            yield chunk_slice, self._by_cell(cells @ (trials @ pair_weights))

    def _by_cell(self, sums: NDArray[np.signedinteger[Any]]) -> list[list[Counts]]:
        """From sums ``[class and value of a cell, replicate]`` to counts."""
        nontarget, target = sums[: self.size].T, sums[self.size :].T
        cell_counts = [
            Counts(
                self.values[self.used[cell_slice]],
                target[:, cell_slice].astype(np.int64, order="C"),
                nontarget[:, cell_slice].astype(np.int64, order="C"),
            )
            for cell_slice in map(slice, self.ends[:-1].tolist(), self.ends[1:].tolist())
        ]
        return [cell_counts[start:end] for start, end in pairwise(self.first.tolist())]


def _binned(
    score: FloatArray, times: IntArray, edges: FloatArray | None, means: FloatArray | None
) -> tuple[FloatArray, Codes]:
    """Value of each bin in use, rising, and the bin of each trial."""
    if edges is None:
        distinct_scores, bin_codes = np.unique(score + 0.0, return_inverse=True)
        return distinct_scores, bin_codes
    bin_codes = np.searchsorted(edges, score, side="right") - 1
    if bin_codes.min(initial=0) < 0:
        msg = f"the first edge is {edges[0]}; it must be at or below every score"
        raise ConfigError(msg)
    if means is None:
        no_trials = np.zeros(score.size, dtype=np.int64)
        order = np.argsort(score)
        means = bin_means(Counts(score[order], times[order], no_trials), edges)
    used, bin_indices = _index_keys(bin_codes, edges.size)
    return means[used], bin_indices


def _cell_combinations(codes: Sequence[Codes], size: int) -> tuple[IntArray, NDArray[np.int32]]:
    """Combinations of codes that occur, ``[code, atom]``, and that of each trial."""
    combination_of_trial, combination_cells = (
        np.zeros(size, dtype=np.int32),
        np.zeros((0, 1), dtype=np.int64),
    )
    for code in codes:
        span = int(code.max(initial=-1)) + 2
        used_keys, combination_of_trial = _index_keys(
            combination_of_trial * np.int64(span) + code + 1, combination_cells.shape[1] * span
        )
        combination_cells = np.vstack(
            (combination_cells[:, used_keys // span], used_keys % span - 1)
        )
    return combination_cells, combination_of_trial


def _index_keys(key: Codes, span: int) -> tuple[IntArray, NDArray[np.int32]]:
    """Distinct keys, rising, and the place of each key among them; keys are in [0, span)."""
    if span > 16 * key.size + (1 << 20):
        distinct, key_indices = np.unique(key, return_inverse=True)
        return distinct.astype(np.int64, copy=False), key_indices.astype(np.int32)
    is_used = np.zeros(span, dtype=np.bool_)
    is_used[key] = True
    key_indices_ = np.cumsum(is_used, dtype=np.int32)
    key_indices_ -= 1
    return np.flatnonzero(is_used), key_indices_.take(key)


def _narrowest_integer(largest: int) -> type[np.signedinteger[Any]]:
    """Narrowest integers that hold `most`: what is narrower is faster."""
    return next(
        integer_type
        for integer_type in (np.int16, np.int32, np.int64)
        if largest <= np.iinfo(integer_type).max
    )
