"""Recordings of other people that scores are set against, and who these people are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.embedding.systems.precomputed import SUFFIXES
from parivox.errors import DataError
from parivox.read.columns import plain
from parivox.read.content import read_content
from parivox.read.formats.format import ENGINE_ERRORS
from parivox.read.joining import listed_ids, speaker_indices
from parivox.read.metadata import UTTERANCE
from parivox.read.speakers import read_speakers
from parivox.read.utterances import read_utterances
from parivox.scoring.vectors import open_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.scoring.vectors import Vectors

__all__ = ["Cohort", "read_cohort"]

_MOST = 20
"""Values of an attribute that are counted."""


@dataclass(frozen=True, eq=False)
class Cohort:
    """A cohort.

    Attributes
    ----------
    name : str
    vectors : Vectors
        Those that it is part of.
    places : ndarray of int of shape (recording,)
        Which of them it is; those that failed are left out.
    failed : int
        How many were left out.
    """

    name: str
    vectors: Vectors
    places: NDArray[np.int32]
    failed: int

    @property
    def ids(self) -> pl.Series:
        """Utterance ids."""
        return self.vectors.ids.gather(self.places)

    def check_apart(self, recordings: pl.Series, trials: str) -> None:
        """Refuse a cohort with recordings of the trials, which score with themselves."""
        both = self.ids.filter(self.ids.is_in(recordings.implode()))
        if len(both):
            msg = (
                f"{self.name}: {listed_ids(both, self.ids, 'recordings of the cohort')} are in the "
                f"trials of {trials}; a cohort is of other recordings, best of other people"
            )
            raise DataError(msg)

    def composition(self, speakers: str | Path) -> dict[str, dict[str, dict[str, int]]]:
        """Recordings and speakers of each value of each attribute, by a table of speakers.

        A cohort of one group is a bias of its own: it makes scores comparable for that group.
        """
        owner = self.ids.str.extract("^([^/]+)/").fill_null(self.ids)
        if self.vectors.speaker is not None:
            owner = self.vectors.speaker.gather(self.places).fill_null(owner)
        known = read_speakers(str(speakers))
        place = speaker_indices(owner, known, self.name)
        found: dict[str, dict[str, dict[str, int]]] = {}
        for attribute in known.attributes.get_columns():
            mine = pl.DataFrame({"value": attribute.gather(place), "speaker": place})
            counts = (
                mine.with_columns(pl.col("value").cast(pl.String).fill_null("unknown"))
                .group_by("value")
                .agg(recordings=pl.len(), speakers=pl.col("speaker").n_unique())
                .sort("value")
            )
            if counts.height <= _MOST:
                found[attribute.name] = {
                    row.pop("value"): row for row in counts.iter_rows(named=True)
                }
        return found


def read_cohort(source: str | Path, vectors: Vectors) -> Cohort:
    """Read a cohort: ids among the vectors at hand, or vectors of its own.

    Parameters
    ----------
    source
        A folder or file of embeddings; or a text with one utterance id a line, or a table with a
        column of utterances.
    vectors
        Those of the trials.

    Raises
    ------
    DataError
        If an id is not among the vectors, or vectors of its own are of another dimension.
    """
    path, name = Path(source), str(source)
    if path.is_dir() or _holds_vectors(path):
        own = open_vectors(path)
        if own.values.shape[1:] != vectors.values.shape[1:]:
            ours, theirs = (" x ".join(map(str, v.values.shape[1:])) for v in (vectors, own))
            msg = (
                f"{name}: its vectors are of crops x dimension {theirs}, those of {vectors.name} "
                f"of {ours}; make both with one system"
            )
            raise DataError(msg)
        places = np.arange(len(own.ids), dtype=np.int32)
    else:
        own, ids = vectors, _ids(path)
        places = vectors.places(ids, name, "recordings of the cohort")
    is_ok = own.row[places] >= 0
    if not is_ok.any():
        msg = f"{name}: all of its {len(places):,} recordings failed; give others"
        raise DataError(msg)
    return Cohort(name, own, places[is_ok], int((~is_ok).sum()))


def _holds_vectors(path: Path) -> bool:
    """Whether a file is of embeddings; a table of Parquet may be of ids."""
    suffix = path.suffix.lower()
    if suffix != ".parquet":
        return suffix in SUFFIXES
    try:
        kinds = pl.read_parquet_schema(path).values()
    except ENGINE_ERRORS:
        return False  # whoever reads it tells why it cannot
    numbers = sum(kind.is_numeric() for kind in kinds)
    return any(isinstance(kind, (pl.List, pl.Array)) for kind in kinds) or (
        numbers > 1 and numbers == len(kinds) - 1
    )


def _ids(path: Path) -> pl.Series:
    """Distinct ids of a text, one a line with or without a header, or of a table."""
    content = read_content(str(path))
    lines = [line.strip() for line in (content.data or b"").decode(errors="replace").splitlines()]
    lines = [line for line in lines if line]
    if not lines or "\0" in lines[0] or any(sign in lines[0] for sign in ",;\t "):
        return read_utterances(str(path)).table["utterance"]
    if plain(lines[0]) in UTTERANCE:
        lines = lines[1:]
    return pl.Series(lines, dtype=pl.String).unique(maintain_order=True)
