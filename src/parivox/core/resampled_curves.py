"""Score counts of each replicate of the vertex bootstrap, for measures that read whole curves.

`ResampledCurves` turns weights of speakers into `parivox.core.counts.Counts`
with a leading axis of replicates, so that every function above them - EER, minimum cost,
thresholds found on the data - answers for all replicates at once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parivox.core.counts import TARGET, Counts
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

    Codes: TypeAlias = NDArray[np.integer[Any]]

N_BINS = 1 << 12

# Limits of one chunk of replicates: its sums, for memory, and its replicates, for speed: with more,
# sums leave the processor's cache.
_MAX_SUMS = 1 << 22
_MAX_REPLICATES = 128
# Least pairs of speakers whose trials are weighted at a time. Each block is added to the sums of
# the chunk, which would take longer than its product if it had fewer pairs than there are sums.
_MIN_PAIRS_PER_BLOCK = 1 << 16


def curve_edges(counts: Counts, *, bins: int = N_BINS, thresholds: ArrayLike = ()) -> FloatArray:
    """Return lower edges of bins that all cells share, dense where errors are rare.

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
        msg = f"bins is {bins}"
        hint = "give 4 or more"
        raise ConfigError(msg, hint)
    cumulative_target, cumulative_nontarget = np.cumsum(counts.target), np.cumsum(counts.nontarget)
    trials_by_value = sum(counts.by_class)
    cumulative_trials = np.cumsum(trials_by_value)
    n_target, n_nontarget, n_trials = (
        int(cumulative[-1]) if cumulative.size else 0
        for cumulative in (cumulative_target, cumulative_nontarget, cumulative_trials)
    )
    # ranks of trials in rising order of score at which bins begin; false rejects are counted from
    # the lowest score, false accepts from the highest
    trial_grid = np.linspace(0, n_trials - 1, bins // 2)
    target_grid = np.geomspace(1, max(n_target, 1), bins // 4) - 1
    nontarget_grid = n_nontarget - np.rint(np.geomspace(1, max(n_nontarget, 1), bins // 4))
    rank_grids = (
        (cumulative_trials, trial_grid),
        (cumulative_target, target_grid),
        (cumulative_nontarget, nontarget_grid),
    )
    value_indices = [
        np.searchsorted(cumulative, np.rint(trial_ranks), "right")
        for cumulative, trial_ranks in rank_grids
        if cumulative.any()
    ]
    # the first and the last score, and the first finite one: infinite scores have their own bins
    finite = np.flatnonzero(np.isfinite(counts.values) & (trials_by_value > 0))
    value_indices += [
        np.flatnonzero(cumulative_trials)[:1],
        finite[:1],
        np.flatnonzero(cumulative_trials == n_trials)[:1],
    ]
    extra_edges = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    edge_scores = counts.values[np.concatenate(value_indices).astype(np.intp)]
    return np.unique(np.concatenate((edge_scores, extra_edges[~np.isnan(extra_edges)]))) + 0.0


def bin_means(counts: Counts, edges: FloatArray) -> FloatArray:
    """Return the mean score of the trials in each bin; its lower edge where there are none.

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
    n_trials = sum(counts.by_class)
    upper_edges = np.append(edges, np.inf)[1:]
    with np.errstate(invalid="ignore"):
        total = np.bincount(bin_indices, counts.values * n_trials, minlength=edges.size)
        mean = total / np.bincount(bin_indices, n_trials, minlength=edges.size)
        # a rounded mean may lie outside its bin, and would then be counted in another one
        below_upper = np.nextafter(upper_edges, -np.inf)
        mean = np.clip(mean, edges, np.where(np.isfinite(upper_edges), below_upper, upper_edges))
    return np.where(np.isfinite(mean), mean, edges)


def largest_share(counts: Counts) -> FloatArray:
    """Return the largest share of a class of trials in one bin that holds both classes.

    How far binning may move a rate at a threshold found on the curve (EER, minimum cost, FNR
    at an FPR) or the AUC: no threshold inside a bin of one class beats both of its ends.

    In [0, 1]; 0 for a cell without mixed bins.

    Examples
    --------
    >>> float(largest_share(Counts.from_scores([1.0, 1.0, 2.0, 0.0], [1, 0, 1, 0])))
    0.5
    """
    mixed = sum((trials > 0).astype(np.int8) for trials in counts.by_class) > 1
    shares = [
        np.where(mixed, trials, 0).max(axis=-1, initial=0) / np.maximum(total, 1)
        for trials, total in zip(counts.by_class, counts.n_by_class, strict=True)
    ]
    return np.asarray(np.maximum.reduce(shares))[()]


class ResampledCurves:
    """Trials of one system and list, ready to be weighted by speakers.

    Parameters
    ----------
    score : ndarray of shape (trial,)
        In any order, without NaN.
    trial_class : integer ndarray of shape (trial,)
        Codes of `parivox.core.counts.TRIAL_CLASSES`; or whether each is a target trial.
    enrol_speaker, test_speaker : integer ndarrays of shape (trial,)
        Speakers of both sides, in either order, known for every trial.
    layouts : sequence of (cells, n_cells)
        Where trials count: one or two integer arrays of shape (trial,), -1 for nowhere, and
        how many cells there are. A trial counts once in each of the cells named.
    edges : ndarray of shape (edge,) or None
        Lower edges of the bins (`curve_edges`), the first at or below every score; None
        counts every distinct score, which takes as long as there are scores.
    times : integer ndarray of shape (trial,), optional
        How many trials each row counts as.
    means : ndarray of shape (edge,), optional
        Score that represents each bin (`bin_means`); by default the mean score of these rows.

    Notes
    -----
    A trial of one speaker weighs w_s, one between two w_i * w_j. Trials are first counted by
    combination of cells, class and bin (rows) and by pair of speakers (columns), in a sparse
    matrix; a chunk of replicates is its product with the weights of the pairs, block by block of
    columns, so that weights are read in their order; cells are then sums of its rows. All in
    integers, so that weights of 1 give the counts themselves.

    Each bin is represented by the mean of its scores, which lies in it: counts at any edge are
    exact, and a threshold found on one cell may be read on another.

    What is computed grows with the pairs of speakers that have trials. Where there are millions
    of speakers, blocks of speakers (by a hash) may replace them: a trial within a block then
    weighs w_b.
    """

    def __init__(
        self,
        score: FloatArray,
        trial_class: NDArray[np.int8 | np.bool_],
        enrol_speaker: Codes,
        test_speaker: Codes,
        layouts: Sequence[tuple[Sequence[Codes], int]],
        edges: FloatArray | None,
        times: IntArray | None = None,
        means: FloatArray | None = None,
    ) -> None:
        from scipy.sparse import csc_array, csr_array  # noqa: PLC0415 - only what resamples pays

        row_trials = np.ones(score.size, dtype=np.int64) if times is None else times
        self.values, bin_index = _bin_scores(score, row_trials, edges, means)
        n_values = self.values.size
        # combinations of cells (one of each layout) that trials are in
        codes = [code for cells, _ in layouts for code in cells]
        combination_cells, combination = _cell_combinations(codes, trial_class.size)
        self.pair, pair = _index_pairs(enrol_speaker, test_speaker)
        # rows of the sparse matrix: class, combination of cells, value; computed in place, as the
        # keys are as long as there are trials
        n_combinations = combination_cells.shape[1]
        self.n_classes = int(trial_class.max(initial=TARGET)) + 1
        row_keys = trial_class * np.int64(n_combinations)
        row_keys += combination
        row_keys *= n_values
        row_keys += bin_index
        del bin_index, combination
        rows, row = _index_keys(row_keys, self.n_classes * n_combinations * n_values)
        del row_keys
        matrix_row_trials = np.bincount(row, row_trials, minlength=rows.size)
        max_row_trials = int(matrix_row_trials.max(initial=1))
        row_trials = row_trials.astype(_narrowest_integer(max_row_trials))
        trials = csc_array((row_trials, (row, pair)), shape=(rows.size, self.pair[0].size))
        del row_trials, row, pair
        pairs_per_block = max(rows.size, _MIN_PAIRS_PER_BLOCK)
        self.pair_blocks = [
            slice(start, min(start + pairs_per_block, self.pair[0].size))
            for start in range(0, self.pair[0].size, pairs_per_block)
        ]
        self.trials = [trials[:, block] for block in self.pair_blocks]
        del trials
        row_class = rows // n_values // n_combinations
        row_combination = rows // n_values % n_combinations
        row_value = rows % n_values
        # sums of rows: layout, cell, value; first all nontarget, then all target rows, then spoof
        n_cells_of_layouts = [n_cells for _, n_cells in layouts]
        self.layout_starts = layout_starts = np.cumsum([0, *n_cells_of_layouts])
        layout_of_code = np.repeat(np.arange(len(layouts)), [len(cells) for cells, _ in layouts])
        keys, member_rows = [], []
        for layout_index, code in zip(layout_of_code, combination_cells, strict=True):
            cell = code[row_combination]
            rows_inside = np.flatnonzero(cell >= 0)
            cell_of_layouts = layout_starts[layout_index] + cell[rows_inside]
            keys.append(cell_of_layouts * n_values + row_value[rows_inside])
            member_rows.append(rows_inside)
        no_keys = np.zeros(0, np.int64)  # without layouts there are no keys
        key = np.concatenate([no_keys, *keys])
        member_row = np.concatenate([no_keys, *member_rows])
        cell_value_keys, cell_value_index = _index_keys(key, int(layout_starts[-1]) * n_values)
        self.size = cell_value_keys.size
        unit_entries = np.ones(cell_value_index.size, dtype=np.int32)
        sum_index = cell_value_index + row_class[member_row] * self.size
        self.cells = csr_array(
            (unit_entries, (sum_index, member_row)), shape=(self.n_classes * self.size, rows.size)
        )
        self.used_values = cell_value_keys % n_values
        cell_starts = np.arange(layout_starts[-1] + 1) * n_values
        self.cell_bounds = np.searchsorted(cell_value_keys, cell_starts)
        max_cell_trials = int((self.cells @ matrix_row_trials).max(initial=1))
        self._max_counts = (
            max_cell_trials,
            max_row_trials,
            max((int(block.sum(axis=1).max(initial=1)) for block in self.trials), default=1),
        )

    @property
    def default_chunk(self) -> int:
        """Replicates that are counted at once: up to 128, fewer where one replicate is large."""
        n_sums: int = max(*self.cells.shape, 1)
        return max(min(_MAX_SUMS // n_sums, _MAX_REPLICATES), 1)

    def original(self) -> list[list[Counts]]:
        """Return the counts of each cell of each layout, not resampled, of shape (value,)."""
        weights_of_one = np.ones((1, int(self.pair[1].max(initial=0)) + 1), dtype=np.int64)
        ((_, cells),) = self.replicates(weights_of_one)
        return [
            [
                Counts.from_classes(counts.values, [trials[0] for trials in counts.by_class])
                for counts in layout
            ]
            for layout in cells
        ]

    @np.errstate(divide="ignore", invalid="ignore")  # of one speaker, and of infinite terms: NaN
    def speaker_covariances(self, terms: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return the covariance over speakers of two sums over the trials of each cell.

        Trials vary together where they share a speaker. Each pair of speakers counts once, whereas
        replicates of the bootstrap count the variance of pairs three times: these covariances
        suit tests whose level matters. Aronow, Samii and Assenova (2015), Cluster-robust variance
        estimation for dyadic data.

        Parameters
        ----------
        terms : sequence of float64 ndarray of shape (2, class, value)
            Of each cell of all layouts: what a nontarget and a target trial adds to both sums at
            each value in use in the cell, less the mean of the class.

        Returns
        -------
        covariances : float64 ndarray of shape (cell, 2, 2)
        n_effective : float64 ndarray of shape (cell,)
            How many equal speakers would vary as these do: the squared sum of the speakers'
            contributions to the variance of both sums over the sum of their squares. Few where few
            speakers have most of it; about half of the speakers where contributions are normal.
        """
        from scipy.sparse import csr_array  # noqa: PLC0415 - only what resamples pays

        n_cells, n_speakers = len(terms), int(self.pair[1].max(initial=-1)) + 1
        cell_of_key = np.repeat(np.arange(n_cells), np.diff(self.cell_bounds))
        n_bona_fide = 2 * self.size  # spoof trials, which come last, have no terms
        positions = np.tile(cell_of_key, 2), np.arange(n_bona_fide)
        no_terms = np.zeros((2, 2, 0))  # without cells
        sum_terms = np.concatenate([no_terms, *terms], axis=-1).reshape(2, -1)
        row_terms = [
            csr_array((figure, positions), shape=(n_cells, n_bona_fide)) @ self.cells[:n_bona_fide]
            for figure in sum_terms
        ]
        speaker_sums = [csr_array((n_cells, n_speakers)) for _ in row_terms]
        pair_products = np.zeros((n_cells, 2, 2))
        for block, trials in zip(self.pair_blocks, self.trials, strict=True):
            pair_sums = [figure @ trials for figure in row_terms]
            first_speaker, second_speaker = (speakers[block] for speakers in self.pair)
            is_pair = first_speaker != second_speaker
            pairs = np.flatnonzero(is_pair)
            takes_part = csr_array(
                (
                    np.ones(first_speaker.size + pairs.size),
                    (
                        np.concatenate((np.arange(first_speaker.size), pairs)),
                        np.concatenate((first_speaker, second_speaker[pairs])),
                    ),
                ),
                shape=(first_speaker.size, n_speakers),
            )
            for i, sums_of_pairs in enumerate(pair_sums):
                speaker_sums[i] = speaker_sums[i] + sums_of_pairs @ takes_part
            pair_products += _row_products([pairs_sum.multiply(is_pair) for pairs_sum in pair_sums])
        speaker_products = _row_products(speaker_sums)
        shares = _speaker_shares(speaker_sums, speaker_products)
        n_used = np.diff(shares.indptr)
        correction = n_used / (n_used - 1)
        n_effective = shares.sum(axis=1) ** 2 / shares.multiply(shares).sum(axis=1)
        covariances = (speaker_products - pair_products) * correction[:, None, None]
        return covariances, n_effective

    def replicates(
        self, weights: Codes, *, chunk: int | None = None
    ) -> Iterator[tuple[slice, list[list[Counts]]]]:
        """Yield the counts of each cell of each layout, for chunks of replicates.

        Parameters
        ----------
        weights : integer ndarray of shape (replicate, speaker)
        chunk : int, optional
            Replicates at once; by default `default_chunk`. The counts do not depend on it.

        Yields
        ------
        (slice, list of list of Counts)
            Which replicates, and by layout and cell the counts of shape (replicate, value), on
            the values in use in that cell.
        """
        # a pair of speakers drawn w times each weighs w ** 2
        max_pair_weight = int(weights.max(initial=1)) ** 2
        cells_type, row_type, block_type = (
            _narrowest_integer(max_count * max_pair_weight) for max_count in self._max_counts
        )
        cells = self.cells.astype(cells_type, copy=False)
        replicates_per_chunk = chunk or self.default_chunk
        for start_replicate in range(0, len(weights), replicates_per_chunk):
            end_replicate = min(start_replicate + replicates_per_chunk, len(weights))
            chunk_slice = slice(start_replicate, end_replicate)
            # products of two weights mostly fit into one byte, so that little memory is read
            speaker_weights = np.ascontiguousarray(
                weights[chunk_slice].T, dtype=np.min_scalar_type(max_pair_weight)
            )
            row_sums = self._row_sums(speaker_weights, row_type, block_type)
            yield chunk_slice, self._counts_by_cell(cells @ row_sums)

    def _row_sums(
        self,
        speaker_weights: Codes,
        row_type: type[np.signedinteger[Any]],
        block_type: type[np.signedinteger[Any]],
    ) -> NDArray[np.signedinteger[Any]]:
        """Return weighted trials ``[row, replicate]`` for weights ``[speaker, replicate]``.

        The type of `speaker_weights` holds the product of any two, `block_type` the sums of one
        block of pairs: mostly of 16 bits, which are added up almost three times as fast as 32.
        """
        n_rows, n_replicates = self.cells.shape[1], speaker_weights.shape[1]
        # a trial of one speaker weighs as the speaker does, not twice: its second weight is 1
        weight_of_one = np.ones((1, n_replicates), dtype=speaker_weights.dtype)
        weights = np.concatenate((speaker_weights, weight_of_one))
        n_pairs = max((block.stop - block.start for block in self.pair_blocks), default=0)
        first_weights, second_weights = np.empty((2, n_pairs, n_replicates), dtype=weights.dtype)
        pair_weights = np.empty((n_pairs, n_replicates), dtype=block_type)
        row_sums = np.zeros((n_rows, n_replicates), dtype=row_type)
        for block, trials in zip(self.pair_blocks, self.trials, strict=True):
            first_speaker, second_speaker = (speakers[block] for speakers in self.pair)
            second_speaker = np.where(
                first_speaker == second_speaker, len(speaker_weights), second_speaker
            )
            n_pairs = first_speaker.size
            # numpy copies through a buffer unless positions outside are clipped
            np.take(weights, first_speaker, 0, out=first_weights[:n_pairs], mode="clip")
            np.take(weights, second_speaker, 0, out=second_weights[:n_pairs], mode="clip")
            first_weights[:n_pairs] *= second_weights[:n_pairs]
            pair_weights[:n_pairs] = first_weights[:n_pairs]
            row_sums += trials.astype(block_type, copy=False) @ pair_weights[:n_pairs]
        return row_sums

    def _counts_by_cell(self, sums: NDArray[np.signedinteger[Any]]) -> list[list[Counts]]:
        """Return counts from sums ``[class and value of a cell, replicate]``."""
        sums_by_class = [class_sums.T for class_sums in np.split(sums, self.n_classes)]
        cell_counts = [
            Counts.from_classes(
                self.values[self.used_values[start:end]],
                [
                    class_sums[:, start:end].astype(np.int64, order="C")
                    for class_sums in sums_by_class
                ],
            )
            for start, end in pairwise(self.cell_bounds.tolist())
        ]
        return [cell_counts[start:end] for start, end in pairwise(self.layout_starts.tolist())]


def _row_products(sums: Sequence[Any]) -> FloatArray:
    """Return the products of the rows of two sparse matrices, ``[row, 2, 2]``."""
    products = [[first.multiply(second).sum(axis=1) for second in sums] for first in sums]
    return np.moveaxis(np.array(products), -1, 0)


def _speaker_shares(speaker_sums: Sequence[Any], products: FloatArray) -> Any:
    """Return what each speaker contributes to the variance of each cell, ``[cell, speaker]``.

    The square of the speaker's two sums, measured by the inverse of `products`, but for a factor
    of the cell; a sparse matrix.
    """
    from scipy.sparse import diags_array  # noqa: PLC0415 - only what resamples pays

    offset_sums, factor_sums = speaker_sums
    scaled_terms = (
        (products[:, 1, 1], offset_sums.multiply(offset_sums)),
        (-2 * products[:, 0, 1], offset_sums.multiply(factor_sums)),
        (products[:, 0, 0], factor_sums.multiply(factor_sums)),
    )
    return sum(diags_array(scale).tocsr() @ product.tocsr() for scale, product in scaled_terms)


def _index_pairs(
    enrol_speaker: Codes, test_speaker: Codes
) -> tuple[tuple[IntArray, IntArray], NDArray[np.int32]]:
    """Return both speakers of each pair that has trials, and the pair of each trial."""
    span = int(max(enrol_speaker.max(initial=0), test_speaker.max(initial=0))) + 1
    keys = np.minimum(enrol_speaker, test_speaker).astype(np.int64)
    keys *= span
    keys += np.maximum(enrol_speaker, test_speaker)
    pairs, pair = _index_keys(keys, span * span)
    return (pairs // span, pairs % span), pair


def _bin_scores(
    score: FloatArray, times: IntArray, edges: FloatArray | None, means: FloatArray | None
) -> tuple[FloatArray, Codes]:
    """Return the score of each bin in use, rising, and the bin of each trial."""
    if edges is None:
        distinct_scores, bin_codes = np.unique(score + 0.0, return_inverse=True)
        return distinct_scores, bin_codes
    bin_codes = np.searchsorted(edges, score, side="right") - 1
    if bin_codes.min(initial=0) < 0:
        msg = f"the first edge is {edges[0]}"
        hint = "give an edge at or below every score"
        raise ConfigError(msg, hint)
    if means is None:
        no_trials = np.zeros(score.size, dtype=np.int64)
        order = np.argsort(score)
        means = bin_means(Counts(score[order], times[order], no_trials), edges)
    used, bin_indices = _index_keys(bin_codes, edges.size)
    return means[used], bin_indices


def _cell_combinations(codes: Sequence[Codes], size: int) -> tuple[IntArray, NDArray[np.int32]]:
    """Return combinations of codes that occur, ``[code, combination]``, and that of each trial."""
    combination_of_trial = np.zeros(size, dtype=np.int32)
    combination_cells = np.zeros((0, 1), dtype=np.int64)
    for code in codes:
        span = int(code.max(initial=-1)) + 2
        keys = combination_of_trial * np.int64(span) + code + 1  # codes begin with -1
        used_keys, combination_of_trial = _index_keys(keys, combination_cells.shape[1] * span)
        earlier_cells = combination_cells[:, used_keys // span]
        combination_cells = np.vstack((earlier_cells, used_keys % span - 1))
    return combination_cells, combination_of_trial


def _index_keys(key: Codes, span: int) -> tuple[IntArray, NDArray[np.int32]]:
    """Return distinct keys, rising, and the index of each key among them; all in [0, span)."""
    # marking keys in an array of all possible ones is faster than sorting, if it is not too long
    if span > 16 * key.size + (1 << 20):
        distinct, key_indices = np.unique(key, return_inverse=True)
        return distinct.astype(np.int64, copy=False), key_indices.astype(np.int32)
    is_used = np.zeros(span, dtype=np.bool_)
    is_used[key] = True
    index_of_key = np.cumsum(is_used, dtype=np.int32)
    index_of_key -= 1
    return np.flatnonzero(is_used), index_of_key.take(key)


def _narrowest_integer(largest: int) -> type[np.signedinteger[Any]]:
    """Return the narrowest integer type that holds `largest`, as narrower ones are faster."""
    if largest <= np.iinfo(np.int16).max:
        return np.int16
    if largest <= np.iinfo(np.int32).max:
        return np.int32
    return np.int64
