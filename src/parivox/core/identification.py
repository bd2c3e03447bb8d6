"""Open-set identification: who of a gallery is speaking, or nobody of it.

A search compares a probe with every person of its gallery and returns candidates, the persons with
a score at or above the threshold. A search is mated if the speaker of the probe (the mate) is in
the gallery of that search, and non-mated otherwise. A gallery of N persons gives a non-mated search
N chances of a false positive identification: every rate holds for its gallery only.
See docs/methods/identification.md.

Searches count as trials do: a mated search is a target trial with the score of its mate, a
non-mated search a nontarget trial with its highest score. So FNIR is the false reject rate and FPIR
the false accept rate of these counts, at one threshold for all groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parivox.core.counts import Counts
from parivox.core.eer import eer
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray, IntArray

    Ties = Literal["pessimistic", "optimistic"]

NO_MATE = -1
"""Mate of a non-mated search."""


@dataclass(frozen=True, eq=False)
class Searches:
    """Searches of one system, and the candidates on their lists.

    Attributes
    ----------
    mate : integer ndarray of shape (search,)
        Person of the probe's speaker, `NO_MATE` for non-mated searches.
    gallery_size : integer ndarray of shape (search,)
        Persons enrolled in the gallery of each search.
    candidate_search, candidate : integer ndarrays of shape (entry,)
        Search and person of each entry of the candidate lists.
    candidate_score : float64 ndarray of shape (entry,)
        Higher means more alike.
    list_lengths : integer ndarray of shape (search,) or None
        Longest candidate list that the system returns; None if every list has the whole gallery.
    candidate_rank : integer ndarray of shape (entry,) or None
        Rank that the system gives each entry; None where the scores alone tell it.
    """

    mate: IntArray
    gallery_size: IntArray
    candidate_search: IntArray
    candidate: IntArray
    candidate_score: FloatArray
    list_lengths: IntArray | None = None
    candidate_rank: IntArray | None = None

    @classmethod
    def from_lists(
        cls,
        search: ArrayLike,
        candidate: ArrayLike,
        score: ArrayLike,
        *,
        mate: ArrayLike,
        gallery_size: ArrayLike,
        list_length: ArrayLike | None = None,
        rank: ArrayLike | None = None,
    ) -> Searches:
        """Check candidate lists and return them as searches.

        Parameters
        ----------
        search, candidate : array_like of int, shape (entry,)
            Number of the search, and of the person named, of each entry in any order.
        score : array_like of shape (entry,)
            Higher means more alike.
        mate : array_like of int, shape (search,)
            Person of the probe's speaker; -1 for a non-mated search. Searches without an entry
            (failed recordings) count: as missed if mated, as no false positive if non-mated.
        gallery_size : int or array_like of int, shape (search,)
            Persons enrolled in the gallery of the search.
        list_length : int or array_like of int, shape (search,), optional
            Longest list that the system returns, unless all lists have the whole gallery.
        rank : array_like of int, shape (entry,), optional
            Ranks that the system itself gives, which then count in ties.

        Raises
        ------
        DataError
            If shapes differ, a score is not finite, a person is twice on a list, or a list is
            longer than `list_length` or its gallery, or shorter than its gallery without
            `list_length`.

        Examples
        --------
        Person 0 is found, and the search of a stranger returns person 1 at a threshold of 1:

        >>> searches = Searches.from_lists(
        ...     [0, 0, 1, 1], [0, 1, 0, 1], [2.5, 0.5, 0.0, 1.0], mate=[0, -1], gallery_size=2
        ... )
        >>> searches.fnir([1.0]).tolist(), searches.fpir([1.0]).tolist()
        ([0.0], [1.0])
        """
        mates = np.asarray(mate, dtype=np.int64)
        sizes = np.broadcast_to(np.asarray(gallery_size, dtype=np.int64), mates.shape)
        searches, candidates = (np.asarray(codes, dtype=np.int64) for codes in (search, candidate))
        scores = np.asarray(score, dtype=np.float64) + 0.0  # zero has no sign
        if mates.ndim != 1 or not searches.shape == candidates.shape == scores.shape:
            msg = "search, candidate and score are not one-dimensional arrays of the same length"
            hint = (
                f"give arrays of the same length (found shapes {searches.shape}, "
                f"{candidates.shape} and {scores.shape})"
            )
            raise DataError(msg, hint)
        if not np.isfinite(scores).all():
            entry = int(np.flatnonzero(~np.isfinite(scores))[0])
            msg = f"score {entry} is {scores[entry]}"
            hint = "remove candidates without a score first"
            raise DataError(msg, hint)
        if searches.size and not 0 <= searches.min() <= searches.max() < mates.size:
            msg = (
                f"search numbers must lie between 0 and {mates.size - 1}: each is a position in "
                "mate"
            )
            raise DataError(msg)
        order = np.lexsort((candidates, searches))
        is_repeated = np.zeros(order.size, dtype=np.bool_)
        is_repeated[1:] = (np.diff(searches[order]) == 0) & (np.diff(candidates[order]) == 0)
        if is_repeated.any():
            entry = int(order[is_repeated.argmax()])
            msg = f"search {searches[entry]} names person {candidates[entry]} twice"
            hint = "keep the higher score of a person with several models"
            raise DataError(msg, hint)
        lengths = np.bincount(searches, minlength=mates.size)
        list_lengths = None
        if list_length is not None:
            list_lengths = np.broadcast_to(np.asarray(list_length, dtype=np.int64), mates.shape)
        longest = sizes if list_lengths is None else np.minimum(sizes, list_lengths)
        is_incomplete = (lengths > 0) & (lengths < sizes) & (list_lengths is None)
        wrong_lists = np.flatnonzero((lengths > longest) | is_incomplete)
        if wrong_lists.size:
            number = int(wrong_lists[0])
            msg = (
                f"search {number} has {lengths[number]} candidates, but {longest[number]} are "
                "expected"
            )
            hint = "give list_length if the lists do not contain the whole gallery"
            raise DataError(msg, hint)
        ranks = None if rank is None else np.asarray(rank, dtype=np.int64)
        return cls(mates, sizes, searches, candidates, scores, list_lengths, ranks)

    @property
    def is_mated(self) -> NDArray[np.bool_]:
        """Whether the probe's speaker is in the gallery, shape (search,)."""
        return np.not_equal(self.mate, NO_MATE)

    @property
    def list_length(self) -> int | None:
        """Ranks that every list tells, however large its gallery; None if that is all of them."""
        if self.list_lengths is None:
            return None
        is_cut = self.list_lengths < self.gallery_size
        return int(self.list_lengths[is_cut].min()) if is_cut.any() else None

    @property
    def n_mated(self) -> int:
        """Mated searches."""
        return int(self.is_mated.sum())

    @property
    def n_nonmated(self) -> int:
        """Non-mated searches."""
        return self.mate.size - self.n_mated

    @cached_property
    def _entry_is_mate(self) -> NDArray[np.bool_]:
        return np.equal(self.candidate, self.mate[self.candidate_search])

    @cached_property
    def top_score(self) -> FloatArray:
        """Highest score of each search, shape (search,); -inf for an empty list."""
        return self._highest_scores(np.ones_like(self._entry_is_mate))

    @cached_property
    def mate_score(self) -> FloatArray:
        """Score of each search's mate, shape (search,); -inf without a mate on the list."""
        return self._highest_scores(self._entry_is_mate)

    def _highest_scores(self, is_counted: NDArray[np.bool_]) -> FloatArray:
        highest = np.full(self.mate.size, -np.inf)
        np.maximum.at(highest, self.candidate_search[is_counted], self.candidate_score[is_counted])
        return highest

    def mate_rank(self, ties: Ties = "pessimistic") -> IntArray:
        """Return the rank of each search's mate, shape (search,); 0 without a mate on the list.

        Parameters
        ----------
        ties : {"pessimistic", "optimistic"}
            Whether candidates with the score of the mate stand before or behind it; without effect
            where the system itself gives ranks.
        """
        if self.candidate_rank is not None:
            own_ranks = np.zeros(self.mate.size, dtype=np.int64)
            mate_entries = np.flatnonzero(self._entry_is_mate)
            own_ranks[self.candidate_search[mate_entries]] = self.candidate_rank[mate_entries]
            return own_ranks
        mate_scores = self.mate_score[self.candidate_search]
        stands_before = self.candidate_score > mate_scores
        if ties == "pessimistic":
            stands_before |= (self.candidate_score == mate_scores) & ~self._entry_is_mate
        n_before = np.bincount(self.candidate_search[stands_before], minlength=self.mate.size)
        return np.where(np.isfinite(self.mate_score), n_before + 1, 0)

    def subset(self, is_kept: ArrayLike) -> Searches:
        """Return the searches for which `is_kept`, of shape (search,), is true.

        Such as those of one group of probe speakers; galleries stay as they are.
        """
        is_search_kept = np.asarray(is_kept, dtype=np.bool_)
        search_numbers = np.cumsum(is_search_kept) - 1
        is_entry_kept = is_search_kept[self.candidate_search]
        return Searches(
            self.mate[is_search_kept],
            self.gallery_size[is_search_kept],
            search_numbers[self.candidate_search[is_entry_kept]],
            self.candidate[is_entry_kept],
            self.candidate_score[is_entry_kept],
            None if self.list_lengths is None else self.list_lengths[is_search_kept],
            None if self.candidate_rank is None else self.candidate_rank[is_entry_kept],
        )

    def counts(self, rank: int = 1) -> Counts:
        """Return mated searches as target, non-mated searches as nontarget trials.

        A mated search has the score of its mate, -inf if the mate is not within `rank`; a non-mated
        search has its highest score. Every score on a list is a value, so that thresholds may be
        set on any of them.

        Raises
        ------
        ConfigError
            If `rank` is below 1 or beyond the length of the lists.
        """
        self._check_rank(rank)
        ranks = self.mate_rank()
        is_found = (ranks > 0) & (ranks <= rank)
        return self._counts_of(np.where(is_found, self.mate_score, -np.inf))

    def top_s_counts(self) -> Counts:
        """Return the same counts for detection (Top-S): anyone returned is a hit."""
        return self._counts_of(self.top_score)

    def _counts_of(self, mated_scores: FloatArray) -> Counts:
        scores = np.where(self.is_mated, mated_scores, self.top_score)
        values = np.unique(np.concatenate((scores, self.candidate_score)))
        value_index = np.searchsorted(values, scores)
        target, nontarget = (
            np.bincount(value_index[is_in_class], minlength=values.size).astype(np.int64)
            for is_in_class in (self.is_mated, ~self.is_mated)
        )
        return Counts(values, target, nontarget)

    def fnir(self, thresholds: ArrayLike, rank: int = 1) -> FloatArray:
        """Return the false negative identification rate at thresholds, shape (threshold,).

        Mated searches whose mate is not returned within `rank`, of all mated searches; in [0, 1],
        lower is better. NaN without mated searches.
        """
        return self.counts(rank).at(_finite_thresholds(thresholds)).fnr

    def fpir(self, thresholds: ArrayLike) -> FloatArray:
        """Return the false positive identification rate at thresholds, shape (threshold,).

        Non-mated searches that return anyone, of all non-mated searches; in [0, 1], lower is
        better. NaN without non-mated searches. It grows with the gallery.
        """
        return self.top_s_counts().at(_finite_thresholds(thresholds)).fpr

    def top_s_miss(self, thresholds: ArrayLike) -> FloatArray:
        """Return the share of mated searches that return no one, shape (threshold,)."""
        return self.top_s_counts().at(_finite_thresholds(thresholds)).fnr

    def wrong_person(self, thresholds: ArrayLike) -> FloatArray:
        """Return the share of mated searches with another person first, shape (threshold,).

        ``fnir(thresholds, 1)`` less ``top_s_miss``, exactly; a tie counts as another person.
        """
        curve, top_s_curve = (
            counts.at(_finite_thresholds(thresholds))
            for counts in (self.counts(1), self.top_s_counts())
        )
        return _share(curve.fn - top_s_curve.fn, self.n_mated)

    def selectivity(self, thresholds: ArrayLike) -> FloatArray:
        """Return the candidates returned per non-mated search, shape (threshold,).

        At least 0, lower is better. NaN without non-mated searches, and at thresholds that a
        candidate list of full length does not fall below: how many more would be returned is not
        known.
        """
        limits = _finite_thresholds(thresholds)
        is_nonmated_entry = ~self.is_mated[self.candidate_search]
        n_returned = _n_at_or_above(self.candidate_score[is_nonmated_entry], limits)
        is_known = limits > self._highest_cut
        return np.where(is_known, _share(n_returned, self.n_nonmated), np.nan)

    @cached_property
    def _highest_cut(self) -> float:
        """Highest score at which a list of a non-mated search is cut off, -inf without any."""
        if self.list_lengths is None:
            return -np.inf
        last_scores = np.full(self.mate.size, np.inf)
        np.minimum.at(last_scores, self.candidate_search, self.candidate_score)
        lengths = np.bincount(self.candidate_search, minlength=self.mate.size)
        is_cut = (lengths == self.list_lengths) & (lengths < self.gallery_size) & ~self.is_mated
        return float(last_scores[is_cut].max(initial=-np.inf))

    def cmc(self, max_rank: int, ties: Ties = "pessimistic") -> FloatArray:
        """Return the cumulative match characteristic, shape (rank,), from rank 1.

        Share of mated searches with the mate within each rank, whatever its score; in [0, 1],
        higher is better. It is a closed-set measure and says nothing about persons who are not
        enrolled. NaN without mated searches and beyond the length of the lists.
        """
        ranks = self.mate_rank(ties)[self.is_mated]
        limits = np.arange(1, max_rank + 1)
        n_within = ((ranks > 0) & (ranks <= limits[:, None])).sum(axis=1)
        shares = _share(n_within, self.n_mated)
        known_ranks = self.list_length
        return shares if known_ranks is None else np.where(limits <= known_ranks, shares, np.nan)

    def threshold_at_fpir(self, target: float) -> float:
        """Return the lowest score on any list as threshold with an FPIR of at most `target`.

        NaN without non-mated searches, or if `target` is below one of them.
        """
        if not 0 <= target <= 1:
            msg = f"fpir is {target!r}"
            hint = "give a number between 0 and 1"
            raise ConfigError(msg, hint)
        if self.n_nonmated == 0 or target * self.n_nonmated < 1:
            return float("nan")
        thresholds = np.append(np.unique(self.candidate_score), np.inf)
        within = thresholds[self.fpir(thresholds) <= target]
        return float(within[0])

    def top_1_eer(self) -> float:
        """Return the rate at which FNIR at rank 1 and FPIR are equal, at an own threshold.

        By the definition ``linear``. NaN without mated or non-mated searches, and where FNIR
        exceeds FPIR at every threshold.
        """
        return _identification_eer(self.counts(1))

    def top_s_eer(self) -> float:
        """Return the same for detection: mated searches that return no one count as missed."""
        return _identification_eer(self.top_s_counts())

    def _is_false_candidate(self, threshold: float) -> NDArray[np.bool_]:
        """Return whether a non-mated search returns the person, shape (entry,)."""
        is_nonmated_entry = ~self.is_mated[self.candidate_search]
        return is_nonmated_entry & (self.candidate_score >= threshold)

    def false_candidates(self, threshold: float) -> IntArray:
        """Return how often each person is returned by a non-mated search, shape (person,).

        Persons are numbered as the candidates are; those after the last one named are left out.
        """
        is_false = self._is_false_candidate(threshold)
        return np.bincount(self.candidate[is_false]).astype(np.int64)

    def fpir_without_person(self, threshold: float, n_persons: int) -> FloatArray:
        """Return the FPIR with one person fewer in the gallery, shape (person,).

        At a fixed threshold: persons on whom the FPIR depends stand out.

        Parameters
        ----------
        threshold : float
        n_persons : int
            Persons in the gallery, numbered from 0, the same gallery for all searches.
        """
        is_false = self._is_false_candidate(threshold)
        n_returned = np.bincount(self.candidate_search[is_false], minlength=self.mate.size)
        names_only_one = is_false & (n_returned[self.candidate_search] == 1)
        n_saved = np.bincount(self.candidate[names_only_one], minlength=n_persons)
        return _share((n_returned > 0).sum() - n_saved, self.n_nonmated)

    def expected_fpir(self, threshold: float, sizes: ArrayLike) -> FloatArray:
        """Return the expected FPIR with random galleries of fewer persons, shape (size,).

        Exact expectation over all sub-galleries of each size; never a statement on larger ones.
        NaN for sizes above the smallest gallery.
        """
        is_false = self._is_false_candidate(threshold)
        n_returned = np.bincount(self.candidate_search[is_false], minlength=self.mate.size)
        n_nonmated_returned = n_returned[~self.is_mated]
        gallery_sizes = self.gallery_size[~self.is_mated]
        expected = [
            (1 - _chance_of_none(gallery_sizes, n_nonmated_returned, size)).mean()
            if gallery_sizes.size and 1 <= size <= gallery_sizes.min()
            else np.nan
            for size in np.atleast_1d(np.asarray(sizes, dtype=np.int64)).tolist()
        ]
        return np.array(expected)

    def expected_fnir(self, threshold: float, sizes: ArrayLike, rank: int = 1) -> FloatArray:
        """Return the expected FNIR with random galleries of fewer persons, shape (size,).

        The mate stays enrolled; NaN for sizes above the smallest gallery.
        """
        from scipy.stats import hypergeom  # noqa: PLC0415 - imports most of SciPy

        self._check_rank(rank)
        is_returned = (self.mate_score >= threshold)[self.is_mated]
        n_before = (self.mate_rank() - 1)[self.is_mated]
        gallery_sizes = self.gallery_size[self.is_mated]
        expected = []
        for size in np.atleast_1d(np.asarray(sizes, dtype=np.int64)).tolist():
            if not gallery_sizes.size or not 1 <= size <= gallery_sizes.min():
                expected.append(np.nan)
                continue
            is_within = hypergeom.cdf(
                rank - 1, gallery_sizes - 1, np.maximum(n_before, 0), size - 1
            )
            expected.append(float((1 - np.where(is_returned, is_within, 0.0)).mean()))
        return np.array(expected)

    def _check_rank(self, rank: int) -> None:
        if rank < 1:
            msg = f"rank is {rank}"
            hint = "give a rank of 1 or more"
            raise ConfigError(msg, hint)
        if self.list_length is not None and rank > self.list_length:
            msg = f"rank is {rank}, but candidate lists have {self.list_length} candidates"
            raise ConfigError(msg)


def _finite_thresholds(thresholds: ArrayLike) -> FloatArray:
    """Return thresholds, the lowest finite number for -inf: what is not on a list is not found."""
    limits = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    return np.maximum(limits, np.finfo(np.float64).min)


def _n_at_or_above(scores: FloatArray, thresholds: FloatArray) -> NDArray[Any]:
    return scores.size - np.searchsorted(np.sort(scores), thresholds, side="left")


def _share(numerator: Any, n_searches: int) -> FloatArray:
    values = np.asarray(numerator, dtype=np.float64)
    return values / n_searches if n_searches else np.full(values.shape, np.nan)


def _identification_eer(counts: Counts) -> float:
    lowest = counts.at([np.finfo(np.float64).min])
    if not (lowest.fnr <= lowest.fpr).all():
        return float("nan")
    return float(eer(counts))


def _chance_of_none(gallery_sizes: IntArray, n_returned: IntArray, size: int) -> FloatArray:
    """Return the chance that a random sub-gallery has none of the persons returned, (search,)."""
    from scipy.stats import hypergeom  # noqa: PLC0415 - imports most of SciPy

    return np.asarray(hypergeom.pmf(0, gallery_sizes, n_returned, size), dtype=np.float64)
