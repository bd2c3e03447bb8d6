"""Scores in units of what strangers score: AS-norm and S-norm, and the cohort of strangers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.columns import UTTERANCE_NAMES, plain_name
from parivox.data.formats.format import ENGINE_ERRORS
from parivox.data.joining import listed_ids, positions_of_speakers
from parivox.data.recordings import read_utterances
from parivox.data.source_bytes import read_content
from parivox.data.speakers import read_speakers
from parivox.embedding.systems.precomputed import SUFFIXES
from parivox.errors import ConfigError, DataError
from parivox.scoring.vectors import open_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.scoring.vectors import VectorComparison, Vectors
    from parivox.sources import SpeakerSource


# More values are names or numbers, not groups.
_MAX_VALUES = 20  # values of an attribute that are counted


@dataclass(frozen=True, eq=False)
class Cohort:
    """Recordings of other people, whose scores with a recording normalise its scores."""

    name: str
    vectors: Vectors  # those that it is part of
    places: NDArray[np.int32]  # which of them it is; those that failed are left out
    failed: int  # how many were left out

    @property
    def ids(self) -> pl.Series:
        """Utterance ids."""
        return self.vectors.ids.gather(self.places)

    def check_apart(self, recordings: pl.Series, trials: str) -> None:
        """Refuse a cohort with recordings of the trials, which score with themselves."""
        common_ids = self.ids.filter(self.ids.is_in(recordings.implode()))
        if len(common_ids):
            msg = (
                f"{self.name}: {listed_ids(common_ids, self.ids, 'recordings of the cohort')} "
                f"also occur in the trials of {trials}"
            )
            hint = "use other recordings for the cohort, preferably of other people"
            raise DataError(msg, hint)

    def composition(self, speakers: SpeakerSource) -> dict[str, dict[str, dict[str, int]]]:
        """Recordings and speakers of each value of each attribute, by a table of speakers.

        A cohort of one group is a bias of its own: it makes scores comparable for that group.
        """
        speaker_ids = self.ids.str.extract("^([^/]+)/").fill_null(self.ids)
        if self.vectors.speaker is not None:
            speaker_ids = self.vectors.speaker.gather(self.places).fill_null(speaker_ids)
        speaker_table = read_speakers(speakers)
        speaker_positions = positions_of_speakers(speaker_ids, speaker_table, self.name)
        counts_by_attribute: dict[str, dict[str, dict[str, int]]] = {}
        for attribute in speaker_table.attributes.get_columns():
            speaker_rows = pl.DataFrame(
                {"value": attribute.gather(speaker_positions), "speaker": speaker_positions}
            )
            counts = (
                speaker_rows.with_columns(pl.col("value").cast(pl.String).fill_null("unknown"))
                .group_by("value")
                .agg(recordings=pl.len(), speakers=pl.col("speaker").n_unique())
                .sort("value")
            )
            if counts.height <= _MAX_VALUES:
                counts_by_attribute[attribute.name] = {
                    row.pop("value"): row for row in counts.iter_rows(named=True)
                }
        return counts_by_attribute


def read_cohort(source: str | Path, vectors: Vectors) -> Cohort:
    """Read a cohort: vectors of its own, or ids among the vectors of the trials.

    The former are a folder or file of embeddings, of the same dimension; the latter a text with one
    utterance id a line, or a table with a column of utterances.
    """
    path, name = Path(source), str(source)
    if path.is_dir() or _holds_vectors(path):
        cohort_vectors = open_vectors(path)
        if cohort_vectors.values.shape[1:] != vectors.values.shape[1:]:
            ours, theirs = (
                " x ".join(map(str, v.values.shape[1:])) for v in (vectors, cohort_vectors)
            )
            msg = (
                f"{name}: the vectors have shape {theirs} (crops x dimension), but those of "
                f"{vectors.name} have {ours}"
            )
            hint = "make both with the same system"
            raise DataError(msg, hint)
        places = np.arange(len(cohort_vectors.ids), dtype=np.int32)
    else:
        cohort_vectors, ids = vectors, _ids(path)
        places = vectors.places(ids, name, "recordings of the cohort")
    is_ok = cohort_vectors.row[places] >= 0
    if not is_ok.any():
        msg = f"{name}: all {len(places):,} recordings failed"
        hint = "give other recordings"
        raise DataError(msg, hint)
    return Cohort(name, cohort_vectors, places[is_ok], int((~is_ok).sum()))


def _holds_vectors(path: Path) -> bool:
    """Whether a file is of embeddings; a table of Parquet may be of ids."""
    suffix = path.suffix.lower()
    if suffix != ".parquet":
        return suffix in SUFFIXES
    try:
        kinds = pl.read_parquet_schema(path).values()
    except ENGINE_ERRORS:
        return False  # whoever reads it tells why it cannot
    n_numeric = sum(kind.is_numeric() for kind in kinds)
    return any(isinstance(kind, (pl.List, pl.Array)) for kind in kinds) or (
        n_numeric > 1 and n_numeric == len(kinds) - 1
    )


def _ids(path: Path) -> pl.Series:
    """Distinct ids of a text, one a line with or without a header, or of a table."""
    content = read_content(str(path))
    lines = [
        line.strip() for line in (content.payload or b"").decode(errors="replace").splitlines()
    ]
    lines = [line for line in lines if line]
    if not lines or "\0" in lines[0] or any(sign in lines[0] for sign in ",;\t "):
        return read_utterances(str(path)).table["utterance"]
    if plain_name(lines[0]) in UTTERANCE_NAMES:
        lines = lines[1:]
    return pl.Series(lines, dtype=pl.String).unique(maintain_order=True)


_MAX_SCORES_AT_ONCE = 1 << 22  # scores against the cohort at once
# What rounding leaves of scores that are all the same.
_MIN_RELATIVE_SPREAD = (
    1e-9  # spread of scores, of the largest there is, below which they are all the same
)


@dataclass(frozen=True, eq=False)
class CohortStatistics:
    """What each recording scores with the nearest of the cohort, or with all: other people."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]  # of these scores themselves (divided by their number)

    def normalised(
        self, score: NDArray[np.float64], enrol: NDArray[np.integer], test: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Scores (pair,) in standard deviations above the strangers' mean, of both sides' mean.

        >>> both = CohortStatistics(np.array([0.1, 0.3]), np.array([0.1, 0.2]))
        >>> both.normalised(np.array([0.5]), np.array([0]), np.array([1]))
        array([2.5])
        """
        sides = ((score - self.mean[side]) / self.sd[side] for side in (enrol, test))
        return np.asarray(0.5 * sum(sides))

    @property
    def is_flat(self) -> NDArray[np.bool_]:
        """Of which recordings all strangers score the same, so that nothing can be told by them."""
        largest = max(np.abs(self.mean).max(initial=0), self.sd.max(initial=0))
        return np.asarray(self.sd <= _MIN_RELATIVE_SPREAD * largest)


def check_size(size: int, top: int | None) -> None:
    """Refuse a cohort of `size` recordings that is too small for its `top` nearest, or None."""
    if not 2 <= (size if top is None else top) <= size:
        if top is None or size < 2:
            msg = f"the cohort has {size:,} recordings"
            hint = "give 2 or more"
            raise ConfigError(msg, hint)
        msg = f"--top {top}: the cohort has {size:,} recordings"
        hint = f"give a number from 2 to {size}"
        raise ConfigError(msg, hint)


def cohort_scores(
    prepared: NDArray[Any],
    cohort: NDArray[Any],
    comparison: VectorComparison,
    *,
    top: int | None = None,
) -> CohortStatistics:
    """Mean and standard deviation of each recording's scores with a cohort.

    `prepared` is what the comparison keeps of each recording, `cohort` the same of the cohort. Only
    the highest `top` scores of each recording count (AS-norm); None for all (S-norm).

    S-norm: Kenny, Bayesian speaker verification with heavy-tailed priors, Odyssey 2010. AS-norm:
    Matějka et al., Interspeech 2017, pp. 1567-1571, where it is called adaptive S-norm, variant 1.
    """
    n_cohort = len(cohort)
    cohort = np.asarray(cohort, dtype=np.float64)
    mean, sd = np.empty((2, len(prepared)))
    step = max(_MAX_SCORES_AT_ONCE // n_cohort, 1)
    for start in range(0, len(prepared), step):
        chunk = np.asarray(prepared[start : start + step], dtype=np.float64)
        scores = comparison.matrix(chunk, cohort)
        # A partition finds the highest scores without sorting all of them.
        if top is not None and top < n_cohort:
            scores = np.partition(scores, n_cohort - top, axis=1)[:, n_cohort - top :]
        mean[start : start + step] = scores.mean(axis=1)
        sd[start : start + step] = scores.std(axis=1)
    return CohortStatistics(mean, sd)
