"""What stands on the enrolment side of a list: recordings, or models made of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.read.ids import places_in
from parivox.read.joining import listed_ids
from parivox.read.models import read_models

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.scoring.comparisons import Comparison
    from parivox.scoring.lists import TrialList

__all__ = ["WAYS", "Enrolments", "read_enrolments", "way_of"]

WAYS = {
    "embeddings": "the mean of its recordings' embeddings",
    "scores": "the mean of its recordings' scores",
}
"""How a model of several recordings is compared."""


@dataclass(frozen=True, eq=False)
class Enrolments:
    """The recordings of each enrolment id.

    Attributes
    ----------
    recordings : Series
        Distinct ids of the recordings, in rising order.
    first : ndarray of int64 of shape (enrolment + 1,)
        Where the members of each enrolment begin, and where the last one's end.
    members : ndarray of int32
        Places in `recordings`.
    are_models : bool
        Whether a table of models told.
    """

    recordings: pl.Series
    first: NDArray[np.int64]
    members: NDArray[np.int32]
    are_models: bool

    @property
    def witness(self) -> NDArray[np.int32]:
        """The first recording of each enrolment: if all failed, its status is the enrolment's."""
        return self.members[self.first[:-1]]

    def of_good(self, is_good: NDArray[np.bool_]) -> Enrolments:
        """The same without the recordings that failed; an enrolment may have none left."""
        good = is_good[self.members]
        count = np.add.reduceat(good.astype(np.int64), self.first[:-1])
        first = np.concatenate(([0], np.cumsum(count)))
        return Enrolments(self.recordings, first, self.members[good], self.are_models)


def read_enrolments(trials: TrialList, models: Any = None) -> Enrolments:
    """The recordings of each enrolment id of a list, in the order of its ``enrol``.

    Parameters
    ----------
    trials
        The list.
    models
        Table of model and recording; without it, each id is that of one recording.

    Raises
    ------
    DataError
        If the table lacks a model.
    """
    ids = trials.enrol
    if models is None:
        everyone = np.arange(len(ids), dtype=np.int32)
        return Enrolments(ids, np.arange(len(ids) + 1), everyone, are_models=False)
    known = read_models(models)
    place = pl.DataFrame({"model": ids, "place": np.arange(len(ids), dtype=np.int32)})
    pairs = known.table.join(place, on="model").sort("place", "recording")
    count = np.bincount(pairs["place"].to_numpy(), minlength=len(ids))
    if (count == 0).any():
        missing = ids.filter(pl.Series(count == 0))
        msg = (
            f"{trials.name}: {listed_ids(missing, ids, 'enrolment ids')} are no models in "
            f"{known.name}; add them to it"
        )
        raise DataError(msg)
    recordings = pairs["recording"].unique().sort()
    first = np.concatenate(([0], np.cumsum(count)))
    return Enrolments(recordings, first, places_in(pairs["recording"], recordings), are_models=True)


def way_of(asked: str | None, comparison: Comparison) -> str:
    """How models are compared: as asked for, or as the comparison allows."""
    if asked is None:
        return "scores" if comparison.model is None else "embeddings"
    if asked not in WAYS:
        msg = f"--models-by {asked!r} is not known; choose from {', '.join(WAYS)}"
        raise ConfigError(msg)
    if asked == "embeddings" and comparison.model is None:
        msg = (
            f"--models-by embeddings: with --scoring {comparison.name} crops of several recordings "
            "have no mean; give --models-by scores"
        )
        raise ConfigError(msg)
    return asked
