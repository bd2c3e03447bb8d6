"""Scores of a countermeasure, which tells spoofed from bona fide speech, by recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.cell_words import is_number
from parivox.data.columns import UTTERANCE_NAMES, plain_name
from parivox.data.formats.asvspoof5 import NOT_SUPPLIED
from parivox.data.speakers import read_table
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_TEST_NAMES = (*UTTERANCE_NAMES, "test", "testid")
_RECORDING_WORDS = ("file", "utt", "record", "wav", "path", "audio")
_SCORE_WORDS = ("cm", "countermeasure", "bonafide", "spoof", "liveness", "pad")
"""Words in the names of columns that may be those of recordings, and of countermeasure scores."""
_N_FIELDS_WITHOUT_HEADER = (2, 4)
"""Fields of lines of ASVspoof 2021 and 2019."""


@frozen
class CountermeasureScores:
    """A score of each recording: higher is more like bona fide speech."""

    table: pl.DataFrame  # columns ``utterance`` and ``score``, each recording once
    provenance: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The file, for messages."""
        return str(self.provenance["name"])

    def of_recordings(self, ids: pl.Series) -> NDArray[np.float64]:
        """Return the score of each recording; NaN where there is none."""
        utterances = pl.DataFrame({"utterance": ids})
        joined = utterances.join(self.table, on="utterance", how="left", maintain_order="left")
        return joined["score"].fill_null(np.nan).to_numpy().astype(np.float64)


def read_countermeasure_scores(source: Any) -> CountermeasureScores:
    """Read scores of a countermeasure: a table by recording, or lines of ASVspoof.

    Raises
    ------
    DataError
        If the table has no column of recordings or scores, or a recording has two scores.
    """
    table, name, provenance = read_table(source, "cm")
    columns = [column for column in table.columns if column != "row"]
    if len(columns) in _N_FIELDS_WITHOUT_HEADER and is_number(columns[-1]):
        # of ASVspoof 2019 and 2021, whose first line stands where names should
        first = pl.DataFrame({"utterance": [columns[0]], "score": [columns[-1]]})
        rows = table.select(utterance=columns[0], score=columns[-1])
        rows = pl.concat((first, rows))
        roles = {"utterance": columns[0], "score": columns[-1]}
    else:
        roles = _roles(columns, name)
        rows = table.select(utterance=roles["utterance"], score=roles["score"])
    text = pl.when(pl.col("score") != NOT_SUPPLIED).then("score")
    scores = rows.select("utterance", text=text).drop_nulls().unique(maintain_order=True)
    scores = scores.with_columns(score=pl.col("text").cast(pl.Float64, strict=False))
    wrong = scores.filter(pl.col("score").is_null() | pl.col("score").is_nan())
    if wrong.height:
        msg = f"{name}, column {roles['score']!r}: {wrong['text'][0]!r} is not a score"
        hint = "correct the score"
        raise DataError(msg, hint)
    scores = scores.select("utterance", "score").unique(maintain_order=True)
    repeated = scores.filter(pl.col("utterance").is_duplicated())
    if repeated.height:
        msg = f"{name}: {repeated['utterance'][0]!r} has two scores"
        hint = "keep one score"
        raise DataError(msg, hint)
    if not scores.height:
        msg = f"{name}, column {roles['score']!r}: contains no scores"
        hint = "give another file"
        raise DataError(msg, hint)
    return CountermeasureScores(scores, {**provenance, "columns": roles})


def _roles(columns: Sequence[str], name: str) -> dict[str, str]:
    """Return the columns of recordings and of scores."""
    names = {plain_name(column): column for column in reversed(columns)}
    score_columns = [column for column in columns if plain_name(column).endswith("score")]
    utterance = next((names[word] for word in _TEST_NAMES if word in names), "")
    score = names.get("cmscore", score_columns[0] if len(score_columns) == 1 else "")
    for column, role, words in (
        (utterance, "utterance", _RECORDING_WORDS),
        (score, "cm-score", _SCORE_WORDS),
    ):
        if not column:
            msg = f"{name}: has no column {role!r} (found: {', '.join(columns)})"
            likely_column = _likely_column(columns, words)
            hint = "rename or add the column"
            if likely_column:
                hint = f"rename the column {likely_column!r} to {role}"
            raise DataError(msg, hint)
    return {"utterance": utterance, "score": score}


def _likely_column(columns: Sequence[str], words: Sequence[str]) -> str:
    """Return the first column with one of these words in its name, the surest word first."""
    names = ((word, column) for word in words for column in columns)
    return next((column for word, column in names if word in plain_name(column)), "")
