"""Everything that trials are scored with, prepared once; then a chunk of trials after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.ids import places_in
from parivox.read.joining import listed_ids
from parivox.scoring.enrolments import Enrolments
from parivox.scoring.lists import CHUNK
from parivox.scoring.normalisation import against_cohort
from parivox.scoring.pairs import pair_scores
from parivox.scoring.vectors import keep

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from parivox.scoring.cohort import Cohort
    from parivox.scoring.comparisons import Comparison
    from parivox.scoring.lists import TrialList
    from parivox.scoring.normalisation import Strangers
    from parivox.scoring.vectors import Vectors

__all__ = ["Job"]


@dataclass(frozen=True, eq=False)
class Job:
    """Everything that a chunk of trials is scored with.

    Attributes
    ----------
    kept
        What the comparison keeps of each recording that did not fail, then of each model.
    enrol
        Places in `kept` of the members of each enrolment.
    test
        Place in `kept` of each test recording, -1 where it failed.
    enrol_status, test_status
        Of each id.
    """

    listed: TrialList
    kept: NDArray[Any]
    comparison: Comparison
    strangers: Strangers | None
    enrol: Enrolments
    test: NDArray[np.int64]
    enrol_status: pl.Series
    test_status: pl.Series

    @classmethod
    def prepared(
        cls,
        listed: TrialList,
        vectors: Vectors,
        recordings: pl.Series,
        places: NDArray[np.int32],
        enrolments: Enrolments,
        way: str,
        comparison: Comparison,
        *,
        mean: NDArray[np.float64] | None,
        cohort: Cohort | None,
        top: int | None,
        path: Path,
    ) -> Job:
        """Keep what the comparison needs of every recording and model, and meet the strangers.

        Parameters
        ----------
        listed, vectors
            The trials, and all vectors there are.
        recordings, places
            Distinct recordings of the trials, and their places among the vectors.
        enrolments, way
            What is enrolled, and what of a model's recordings is averaged (empty: no models).
        comparison
            Of two recordings.
        mean
            Subtracted from every vector first, of shape (dimension,).
        cohort, top
            Whom scores are set against, and how many of them are near; None for all.
        path
            A scratch file.
        """
        is_good = vectors.row[places] >= 0
        slot = np.where(is_good, np.cumsum(is_good) - 1, -1)
        status = vectors.status.gather(places)
        at = places_in(enrolments.recordings, recordings)
        good = enrolments.of_good(is_good[at])
        n = int(is_good.sum())
        averaged = np.flatnonzero(np.diff(good.first)) if way == "embeddings" else np.empty(0, int)
        kept = keep(
            vectors,
            places[is_good],
            comparison,
            mean=mean,
            path=path,
            more=averaged.size,
            precise=cohort is not None,
        )
        members, first = slot[at][good.members], good.first
        if averaged.size:
            assert comparison.model is not None
            for number, one in enumerate(averaged):
                own = np.asarray(kept[members[first[one] : first[one + 1]]], dtype=np.float64)
                kept[n + number] = comparison.model(own.mean(axis=0))
            members = n + np.arange(averaged.size)
            first = np.concatenate(([0], np.cumsum(np.diff(first) > 0)))
        strangers = None
        if cohort is not None:
            others = keep(cohort.vectors, cohort.places, comparison, mean=mean, precise=True)
            strangers = against_cohort(kept, others, comparison, top=top)
            names = [recordings.filter(pl.Series(is_good)), listed.enrol.gather(averaged)]
            _check_spread(strangers, pl.concat(names), cohort)
        test = places_in(listed.test, recordings)
        return cls(
            listed,
            kept,
            comparison,
            strangers,
            Enrolments(enrolments.recordings, first, members, enrolments.are_models),
            slot[test],
            status.gather(at[enrolments.witness]),
            status.gather(test),
        )

    def scored(self, chunk: pl.DataFrame) -> pl.DataFrame:
        """The chunk with score, status and stage."""
        enrol = _codes(chunk["enrol"], self.listed.enrol)
        test = _codes(chunk["test"], self.listed.test)
        lost_enrol = np.diff(self.enrol.first)[enrol] == 0
        lost_test = self.test[test] < 0
        ok = ~(lost_enrol | lost_test)
        value = np.full(chunk.height, np.nan)
        value[ok] = self._values(enrol[ok], self.test[test[ok]])
        status = np.where(lost_enrol, 0, np.where(lost_test, 1, 2))
        frame = pl.DataFrame({"outcome": status, "e": enrol, "t": test})
        told = frame.select(
            status=pl.when(pl.col("outcome") == 2).then(pl.lit("ok"))
            .when(pl.col("outcome") == 0).then(self.enrol_status.gather(enrol))
            .otherwise(self.test_status.gather(test)),
            stage=pl.when(pl.col("outcome") == 0).then(pl.lit("enrol"))
            .when(pl.col("outcome") == 1).then(pl.lit("acquire")),
        )  # fmt: skip
        return chunk.with_columns(pl.Series("score", value, nan_to_null=True), *told.get_columns())

    def _values(self, enrol: NDArray[np.int64], test: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores of enrolments with recordings, the mean over what an enrolment is made of."""
        first, members = self.enrol.first, self.enrol.members
        count = np.diff(first)[enrol]
        most = int(count.max(initial=0))
        if most <= 1:
            return self._pairs(members[first[enrol]], test)
        found = np.empty(enrol.size)
        step = max(CHUNK // most, 1)
        for start in range(0, enrol.size, step):
            mine, n = enrol[start : start + step], count[start : start + step]
            begin = np.concatenate(([0], np.cumsum(n)[:-1]))
            each = np.arange(n.sum()) + np.repeat(first[mine] - begin, n)
            values = self._pairs(members[each], np.repeat(test[start : start + step], n))
            found[start : start + step] = np.add.reduceat(values, begin) / n
        return found

    def _pairs(self, enrol: NDArray[Any], test: NDArray[Any]) -> NDArray[np.float64]:
        plain = pair_scores(self.kept, enrol, test, self.comparison)
        return plain if self.strangers is None else self.strangers.normalised(plain, enrol, test)


def _codes(ids: pl.Series, known: pl.Series) -> NDArray[np.int64]:
    """Place of each id among those that are known."""
    return places_in(ids, known).astype(np.int64)


def _check_spread(strangers: Strangers, ids: pl.Series, cohort: Cohort) -> None:
    """Refuse a cohort whose scores with a recording are all the same."""
    is_flat = strangers.is_flat[: len(ids)]
    if is_flat.any():
        flat = ids.filter(pl.Series(is_flat))
        msg = (
            f"{cohort.name}: {listed_ids(flat, ids, 'recordings')} of the trials score the same "
            "with "
            "every recording of the cohort that counts, so no score is normal for them; keep one "
            "of each recording in it, or give a larger --top"
        )
        raise DataError(msg)
