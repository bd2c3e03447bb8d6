"""Enrolment models: whose each is, and of which recordings it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.tables.speakers import read_table
from parivox.tables.utterances import SPEAKER, UTTERANCE, check_filled, find_column, some

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.tables.utterances import Utterances

__all__ = ["Models", "read_models"]

_MODEL = (
    "model",
    "modelid",
    "enrol",
    "enrolment",
    "enroll",
    "enrollment",
    "enrolmentid",
    "template",
)


@dataclass(frozen=True, eq=False)
class Models:
    """Table of enrolment models, a row for each recording of one.

    Attributes
    ----------
    table : DataFrame
        Columns ``row``, ``model``, ``speaker`` and ``recording``, each pair of model and
        recording once.
    speaker_of : DataFrame
        Columns ``model`` and ``speaker``, each model once.
    name : str
    provenance : dict
    """

    table: pl.DataFrame
    speaker_of: pl.DataFrame
    name: str
    provenance: dict[str, Any]

    def speakers(self, ids: pl.Series, scores: str) -> pl.Series:
        """Speaker of each model; one that the table lacks is an error."""
        found = pl.DataFrame({"model": ids}).join(
            self.speaker_of, on="model", how="left", maintain_order="left"
        )["speaker"]
        if found.null_count():
            missing = ids.filter(found.is_null())
            msg = (
                f"{scores}: {some(missing, ids, 'enrolment ids')} are no models in {self.name}; "
                "add them to it"
            )
            raise DataError(msg)
        return found

    def recordings(self, ids: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
        """Recordings of these models: the place of the model, and the recording, a pair a row."""
        place = pl.DataFrame({"model": ids, "place": np.arange(len(ids), dtype=np.int32)})
        pairs = self.table.join(place, on="model").sort("place", "recording")
        return pairs["place"].to_numpy(), pairs["recording"]

    def failed(self, enrol: pl.Series) -> pl.Series:
        """Models that failed: listed themselves, or with all of their recordings.

        Examples
        --------
        >>> rows = {"model": ["m", "m", "n"], "speaker": ["a"] * 3, "recording": ["1", "2", "2"]}
        >>> read_models(rows).failed(pl.Series(["2"])).to_list()
        ['n']
        """
        lost = self.table.select("model", lost=pl.any_horizontal(
            pl.col("model", "recording").is_in(enrol.implode())
        ))  # fmt: skip
        return lost.group_by("model").agg(pl.col("lost").all()).filter("lost")["model"].sort()

    def check_speakers(self, utterances: Utterances) -> None:
        """Refuse a recording that is of another speaker in the table of utterances."""
        if not utterances.tell_speakers:
            return
        told = utterances.table.select(recording="utterance", other="row", theirs="speaker")
        odd = self.table.join(told, on="recording").filter(pl.col("speaker") != pl.col("theirs"))
        if odd.height:
            first = odd.sort("row").row(0, named=True)
            msg = (
                f"{self.name}: row {first['row']}: recording {first['recording']!r} of model "
                f"{first['model']!r} is of speaker {first['speaker']!r} here and of "
                f"{first['theirs']!r} in row {first['other']} of {utterances.name}; correct one"
            )
            raise DataError(msg)


def read_models(source: Any) -> Models:
    """Read a table of model, speaker and recording, one row a recording.

    Parameters
    ----------
    source
        CSV, TSV, XLSX, Parquet or Arrow file, a dataframe or a mapping of arrays.

    Raises
    ------
    DataError
        If a column is missing, a cell is empty or a model has two speakers.

    Examples
    --------
    >>> rows = {"model": ["m", "m"], "speaker": ["a", "a"], "recording": ["a/1", "a/2"]}
    >>> read_models(rows).table["recording"].to_list()
    ['a/1', 'a/2']
    """
    if isinstance(source, Models):
        return source
    whole, name, provenance = read_table(source, "models")
    columns = {"model": find_column(whole, "model", _MODEL, name)}
    for role, words in (("speaker", SPEAKER), ("recording", UTTERANCE)):
        rest = whole.select(pl.exclude(*columns.values()))
        columns[role] = find_column(rest, role, words, name)
    table = whole.select("row", **columns)
    for role, column in columns.items():
        check_filled(table, role, column, name)
    speaker_of = table.unique(["model", "speaker"], keep="first", maintain_order=True)
    odd = speaker_of.filter(pl.col("model").is_duplicated())
    if odd.height:
        first = odd.filter(pl.col("model") == odd["model"][0])
        rows, speakers = first["row"].to_list(), first["speaker"].to_list()
        msg = (
            f"{name}: rows {rows[0]} and {rows[1]}: model {first['model'][0]!r} has recordings of "
            f"the speakers {speakers[0]!r} and {speakers[1]!r}; a model is one speaker's, so "
            "correct one"
        )
        raise DataError(msg)
    pairs = table.unique(["model", "recording"], keep="first", maintain_order=True)
    return Models(
        pairs, speaker_of.select("model", "speaker"), name, {**provenance, "columns": columns}
    )
