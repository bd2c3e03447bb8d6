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

BINS = 1 << 12

# of one chunk of replicates: counts, and weights of pairs
_CELLS, _PAIRS = 1 << 22, 1 << 23
_AT_ONCE = 1 << 14  # pairs whose weights are made at once
_CHUNK = 160  # replicates in a chunk: more would leave the cache


def curve_edges(counts: Counts, *, bins: int = BINS, thresholds: ArrayLike = ()) -> FloatArray:
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
    every, target, nontarget = (
        np.cumsum(n) for n in (counts.target + counts.nontarget, counts.target, counts.nontarget)
    )
    n, n_target, n_nontarget = (
        int(one[-1]) if one.size else 0 for one in (every, target, nontarget)
    )
    # trials in rising order of score; false accepts come from above
    tails = (
        (every, np.linspace(0, n - 1, bins // 2)),
        (target, np.geomspace(1, max(n_target, 1), bins // 4) - 1),
        (nontarget, n_nontarget - np.rint(np.geomspace(1, max(n_nontarget, 1), bins // 4))),
    )
    at = [np.searchsorted(up_to, np.rint(place), "right") for up_to, place in tails if up_to.any()]
    at.append(np.flatnonzero(every)[:1])
    finite = np.flatnonzero(np.isfinite(counts.values) & (counts.target + counts.nontarget > 0))
    at += [finite[:1], np.flatnonzero(every == n)[:1]]
    fixed = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    found = counts.values[np.concatenate(at).astype(np.intp)]
    return np.unique(np.concatenate((found, fixed[~np.isnan(fixed)]))) + 0.0


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
    at = np.searchsorted(edges, counts.values, side="right") - 1
    n = counts.target + counts.nontarget
    high = np.append(edges, np.inf)[1:]
    with np.errstate(invalid="ignore"):
        total = np.bincount(at, counts.values * n, minlength=edges.size)
        mean = total / np.bincount(at, n, minlength=edges.size)
        mean = np.clip(mean, edges, np.where(np.isfinite(high), np.nextafter(high, -np.inf), high))
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
        one: Codes,
        other: Codes,
        layouts: Sequence[tuple[Sequence[Codes], int]],
        edges: FloatArray | None,
        times: IntArray | None = None,
        means: FloatArray | None = None,
    ) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415 - only what resamples pays for it

        number = np.ones(score.size, dtype=np.int64) if times is None else times
        self.values, value = _binned(score, number, edges, means)
        n = self.values.size
        codes = [code for cells, _ in layouts for code in cells]
        atom_codes, atom = _atoms(codes, target.size)
        span = int(max(one.max(initial=0), other.max(initial=0))) + 1
        pairs, pair = _distinct(
            np.minimum(one, other).astype(np.int64) * span + np.maximum(one, other), span * span
        )
        self.pair = pairs // span, pairs % span
        # rows: class, atom, value
        n_atoms = atom_codes.shape[1]
        rows, row = _distinct((target * np.int64(n_atoms) + atom) * n + value, 2 * n_atoms * n)
        del value, atom  # as long as there are trials
        of_row = np.bincount(row, number, minlength=rows.size)
        most = int(of_row.max(initial=1))
        number = number.astype(_narrowest(most))
        self.trials = csr_array((number, (row, pair)), shape=(rows.size, pairs.size))
        del number, row, pair
        of_class, of_atom, of_value = rows // n // n_atoms, rows // n % n_atoms, rows % n
        # cells: layout, cell, value; first all nontarget, then all target rows
        first = np.concatenate(([0], np.cumsum([n_cells for _, n_cells in layouts])))
        where = [i for i, (cells, _) in enumerate(layouts) for _ in cells]
        keys, members = [], []
        for i, code in zip(where, atom_codes, strict=True):
            cell = code[of_atom]
            inside = np.flatnonzero(cell >= 0)
            keys.append((first[i] + cell[inside]) * n + of_value[inside])
            members.append(inside)
        key, member = (np.concatenate([np.zeros(0, np.int64), *a]) for a in (keys, members))
        used, at = _distinct(key, int(first[-1]) * n)
        self.size = used.size
        self.cells = csr_array(
            (np.ones(at.size, dtype=np.int32), (at + of_class[member] * self.size, member)),
            shape=(2 * self.size, rows.size),
        )
        self.used = used % n
        self.ends = np.searchsorted(used, np.arange(first[-1] + 1) * n)
        self.first = first
        self._most = int((self.cells @ of_row).max(initial=1)), most

    def original(self) -> list[list[Counts]]:
        """Counts of each cell of each layout, as they are, of shape (value,)."""
        everyone = np.ones((1, int(self.pair[1].max(initial=0)) + 1), dtype=np.int64)
        ((_, cells),) = self.replicates(everyone)
        return [
            [Counts(one.values, one.target[0], one.nontarget[0]) for one in layout]
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
        heaviest = int(weights.max(initial=1)) ** 2
        cells, trials = (
            matrix.astype(_narrowest(most * heaviest), copy=False)
            for matrix, most in zip((self.cells, self.trials), self._most, strict=True)
        )
        one, other = self.pair
        at_once = min(_CELLS // max(2 * self.size, 1), _PAIRS // max(one.size, 1), _CHUNK)
        step = chunk or max(at_once, 1)
        apart = (one != other)[:, None]
        for first in range(0, len(weights), step):
            part = slice(first, min(first + step, len(weights)))
            of_speaker = np.ascontiguousarray(weights[part].T, dtype=trials.dtype)
            of_pair = of_speaker[one]
            for start in range(0, one.size, _AT_ONCE):
                some = slice(start, start + _AT_ONCE)
                twice = of_pair[some]
                np.multiply(twice, of_speaker[other[some]], out=twice, where=apart[some])
            yield part, self._by_cell(cells @ (trials @ of_pair))

    def _by_cell(self, found: NDArray[np.signedinteger[Any]]) -> list[list[Counts]]:
        """From sums ``[class and value of a cell, replicate]`` to counts."""
        nontarget, target = found[: self.size].T, found[self.size :].T
        every = [
            Counts(
                self.values[self.used[here]],
                target[:, here].astype(np.int64, order="C"),
                nontarget[:, here].astype(np.int64, order="C"),
            )
            for here in map(slice, self.ends[:-1].tolist(), self.ends[1:].tolist())
        ]
        return [every[start:end] for start, end in pairwise(self.first.tolist())]


def _binned(
    score: FloatArray, times: IntArray, edges: FloatArray | None, means: FloatArray | None
) -> tuple[FloatArray, Codes]:
    """Value of each bin in use, rising, and the bin of each trial."""
    if edges is None:
        values, code = np.unique(score + 0.0, return_inverse=True)
        return values, code
    code = np.searchsorted(edges, score, side="right") - 1
    if code.min(initial=0) < 0:
        msg = f"the first edge is {edges[0]}; it must be at or below every score"
        raise ConfigError(msg)
    if means is None:
        nobody = np.zeros(score.size, dtype=np.int64)
        order = np.argsort(score)
        means = bin_means(Counts(score[order], times[order], nobody), edges)
    used, place = _distinct(code, edges.size)
    return means[used], place


def _atoms(codes: Sequence[Codes], size: int) -> tuple[IntArray, NDArray[np.int32]]:
    """Combinations of codes that occur, ``[code, atom]``, and that of each trial."""
    key, found = np.zeros(size, dtype=np.int32), np.zeros((0, 1), dtype=np.int64)
    for code in codes:
        span = int(code.max(initial=-1)) + 2
        used, key = _distinct(key * np.int64(span) + code + 1, found.shape[1] * span)
        found = np.vstack((found[:, used // span], used % span - 1))
    return found, key


def _distinct(key: Codes, span: int) -> tuple[IntArray, NDArray[np.int32]]:
    """Distinct keys, rising, and the place of each key among them; keys are in [0, span)."""
    if span > 16 * key.size + (1 << 20):
        distinct, at = np.unique(key, return_inverse=True)
        return distinct.astype(np.int64, copy=False), at.astype(np.int32)
    is_used = np.zeros(span, dtype=np.bool_)
    is_used[key] = True
    place = np.cumsum(is_used, dtype=np.int32)
    place -= 1
    return np.flatnonzero(is_used), place.take(key)


def _narrowest(most: int) -> type[np.signedinteger[Any]]:
    """Narrowest integers that hold `most`: what is narrower is faster."""
    return next(t for t in (np.int16, np.int32, np.int64) if most <= np.iinfo(t).max)
