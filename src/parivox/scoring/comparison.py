"""How vectors are compared: by what, after which mean, against which strangers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.data.joining import listed_ids
from parivox.errors import ConfigError, DataError
from parivox.facts import Fact
from parivox.scoring.normalisation import check_size, cohort_scores, read_cohort
from parivox.scoring.vectors import comparison_named, mean_of, pair_scores, prepare_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from parivox.scoring.normalisation import Cohort, CohortStatistics
    from parivox.scoring.vectors import VectorComparison, Vectors

TOP = 300
"""CohortStatistics that count in AS-norm, unless the user says otherwise."""


@dataclass(frozen=True, eq=False)
class ScoringMethod:
    """How vectors are compared."""

    vectors: Vectors
    comparison: VectorComparison
    cohort: Cohort | None  # of strangers that scores are set against
    top: int | None  # so many of its strangers count, None for all
    centre: Cohort | None  # whose mean is subtracted first

    @classmethod
    def from_options(
        cls,
        vectors: Vectors,
        *,
        scoring: str | None,
        as_norm: str | Path | None,
        s_norm: str | Path | None,
        top: int | None,
        subtract_mean: str | Path | None,
    ) -> ScoringMethod:
        """As the user says; what cannot be is refused."""
        comparison = comparison_named(scoring or vectors.scoring)
        strangers = as_norm or s_norm
        cohort = None if strangers is None else read_cohort(strangers, vectors)
        centre = None if subtract_mean is None else read_cohort(subtract_mean, vectors)
        if cohort is not None:
            # All of a cohort that is smaller than the usual number.
            top = min(TOP, len(cohort.places)) if as_norm and top is None else top
            check_size(len(cohort.places), top)
        comparison.prepare(vectors.values[:0])  # which refuses vectors that it is not for
        return cls(vectors, comparison, cohort, top, centre)

    @property
    def own_cohort(self) -> NDArray[np.int32]:
        """Places of the strangers, if they are among these vectors."""
        if self.cohort is None or self.cohort.vectors is not self.vectors:
            return np.empty(0, dtype=np.int32)
        return self.cohort.places

    def plan(self) -> dict[str, Any]:
        """What decides on the scores, as JSON can hold it."""
        norm = None
        if self.cohort is not None:
            norm = ["s" if self.top is None else "as", self.top, _record(self.cohort)]
        return {
            "system": self.vectors.provenance,
            "scoring": self.comparison.name,
            "mean": None if self.centre is None else _record(self.centre),
            "norm": norm,
        }

    def prepared(
        self, places: NDArray[np.integer], path: Path | None = None, more: int = 0
    ) -> NDArray[Any]:
        """What is kept of recordings that did not fail, as `prepare_vectors` has it."""
        return prepare_vectors(
            self.vectors,
            places,
            self.comparison,
            mean=self._mean,
            path=path,
            n_free_rows=more,
            precise=self.cohort is not None,
        )

    @property
    def _mean(self) -> NDArray[np.float64] | None:
        return None if self.centre is None else mean_of(self.centre.vectors, self.centre.places)

    def stranger_scores(self, prepared: NDArray[Any], ids: pl.Series) -> CohortStatistics | None:
        """What is kept against the cohort, if there is one.

        It is an error if what has these ids scores the same with all that counts of the cohort.
        """
        if self.cohort is None:
            return None
        prepared_cohort = prepare_vectors(
            self.cohort.vectors,
            self.cohort.places,
            self.comparison,
            mean=self._mean,
            precise=True,
        )
        strangers = cohort_scores(prepared, prepared_cohort, self.comparison, top=self.top)
        is_flat = strangers.is_flat[: len(ids)]
        if is_flat.any():
            flat = ids.gather(np.flatnonzero(is_flat))
            msg = (
                f"{self.cohort.name}: {listed_ids(flat, ids, 'recordings')} of the trials have "
                "the same score with all cohort recordings used, so their scores cannot be "
                "normalised"
            )
            hint = "remove repeated recordings from the cohort, or give a larger --top"
            raise DataError(msg, hint)
        return strangers

    def facts(self, averaged: str = "") -> Iterator[Fact]:
        """Yield how it is scored; `averaged` is what of a model's recordings is averaged."""
        centred_on = None if self.centre is None else len(self.centre.places)
        yield Fact("compared_by", {"comparison": self.comparison.name, "centred_on": centred_on})
        if averaged:
            yield Fact("models_averaged", {"averaged": averaged})
        if self.cohort is not None:
            cohort = {"cohort": len(self.cohort.places)}
            if self.top is None:
                yield Fact("s_norm", cohort)
            else:
                yield Fact("as_norm", {"nearest": self.top, **cohort})

    def notes(self, places: NDArray[np.integer]) -> Iterator[Fact]:
        """What the user should know of the cohorts, given the recordings that are scored."""
        for cohort in (self.cohort, self.centre):
            if cohort is not None and cohort.failed:
                failed = {"recordings": cohort.failed, "cohort": cohort.name}
                yield Fact("failed_recordings_of_cohort", failed)
        speaker = self.vectors.speaker
        cohort_speakers = None if self.cohort is None else self.cohort.vectors.speaker
        if self.cohort is not None and speaker is not None and cohort_speakers is not None:
            trial_speakers = speaker.gather(places).drop_nulls().unique()
            distinct_cohort_speakers = (
                cohort_speakers.gather(self.cohort.places).drop_nulls().unique()
            )
            n_in_both = int(distinct_cohort_speakers.is_in(trial_speakers.implode()).sum())
            if n_in_both:
                speakers = {"common": n_in_both, "cohort": len(distinct_cohort_speakers)}
                yield Fact("cohort_speakers_in_trials", speakers)


@dataclass(frozen=True, eq=False)
class Scorer:
    """What recordings are compared by."""

    prepared: NDArray[Any]  # (recording, ...), what the comparison keeps of each
    comparison: VectorComparison
    strangers: CohortStatistics | None = None  # that scores are set against

    def pairs(self, enrol: NDArray[np.integer], test: NDArray[np.integer]) -> NDArray[np.float64]:
        """Scores of pairs."""
        raw_scores = pair_scores(self.prepared, enrol, test, self.comparison)
        return (
            raw_scores
            if self.strangers is None
            else self.strangers.normalised(raw_scores, enrol, test)
        )

    @cached_property
    def normal(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slope and shift of each recording: ``score * (slopes) - (shifts)`` of both sides."""
        assert self.strangers is not None
        slope = 0.5 / self.strangers.sd
        return slope, slope * self.strangers.mean

    @cached_property
    def limits(self) -> tuple[float, float, float]:
        """Lowest and highest score that inner products can give; how far one may be rounded."""
        # No inner product exceeds the squared length of the longest vector.
        squares = np.vecdot(self.prepared, self.prepared, dtype=np.float64)
        most = float(squares.max(initial=0.0)) * (1 + 1e-9)
        exact = 8 * self.prepared.shape[1] * float(np.finfo(np.float64).eps)
        if self.strangers is None:
            return -most, most, exact * most
        slope, shift = self.normal
        low, high = float((-most * slope - shift).min()), float((most * slope - shift).max())
        return 2 * low, 2 * high, 2 * exact * max(-low, high)


def check_norms(as_norm: object, s_norm: object, top: int | None) -> None:
    """Refuse options that contradict each other."""
    if as_norm is not None and s_norm is not None:
        msg = "--as-norm and --s-norm contradict each other"
        hint = "give one of them"
        raise ConfigError(msg, hint)
    if top is not None and as_norm is None:
        msg = "--top applies only to --as-norm"
        hint = "add --as-norm COHORT"
        raise ConfigError(msg, hint)


def _record(cohort: Cohort) -> list[Any]:
    return [cohort.vectors.provenance, len(cohort.places), digest(cohort.ids)]


def digest(ids: Iterable[str], more: bytes = b"") -> str:
    """Hash of ids and of what else there is."""
    return hashlib.sha256("\n".join(ids).encode() + more).hexdigest()
