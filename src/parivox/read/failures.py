"""Recordings of which no score could be made, and at which stage they failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import DataError
from parivox.read.cells import stage_of
from parivox.read.checks import ACQUIRE, ENROL
from parivox.read.joining import spreadsheet_damage
from parivox.read.metadata import UTTERANCE, check_filled, find_column, read_table

if TYPE_CHECKING:
    from parivox.read.models import Models
    from parivox.read.speakers import Speakers
    from parivox.read.utterances import Utterances


@dataclass(frozen=True, eq=False)
class Failures:
    """Recordings that failed."""

    # enrolments (recordings or models) that failed; recordings that could not be acquired for a
    # comparison. Each once, in rising order.
    enrol: pl.Series
    acquire: pl.Series
    name: str
    provenance: dict[str, Any]
    table: pl.DataFrame  # columns ``row``, ``recording`` and ``stage``

    def check_speakers(
        self,
        recordings: pl.Series,
        speakers: Speakers | None,
        utterances: Utterances | None,
        models: Models | None,
    ) -> None:
        """Refuse recordings that stand in no trial, where one of them is of no known speaker.

        Without a table of speakers, the first component of a path is one.
        """
        mend = ""
        if utterances is not None and utterances.tell_speakers:
            there = utterances.table["utterance"]
            odd = recordings.filter(~recordings.is_in(there.implode()))
            mend = spreadsheet_damage(odd, there, utterances.name)
        elif speakers is not None:
            whose = recordings.str.split_exact("/", 1).struct.field("field_0")
            known = list(speakers.ids if speakers.choose_id(whose) else ())
            odd = recordings.filter(~whose.is_in(pl.Series([known], dtype=pl.List(pl.String))))
        else:
            odd = recordings.filter(~recordings.str.contains("/", literal=True))
        if not len(odd):
            return
        at = self.table.filter(pl.col("recording").is_in(odd.implode())).sort("row").row(0)
        row, recording, _ = at
        others = f" ({len(odd):,} such recordings)" if len(odd) > 1 else ""
        if models is not None and recording in models.speaker_of["model"]:
            mend = f"it is a model of {models.name}, which can fail at the stage enrol only"
        msg = (
            f"{self.name}: row {row}: recording {recording!r} is in no trial and of no known "
            f"speaker{others}; {mend or 'correct the id, or give its speaker with --utterances'}"
        )
        raise DataError(msg)


def read_failures(source: Any) -> Failures:
    """Read a table of recording, stage (enrol or acquire) and, perhaps, reason.

    Parameters
    ----------
    source
        CSV, TSV, XLSX, Parquet or Arrow file, a dataframe or a mapping of arrays.

    Raises
    ------
    DataError
        If a column is missing, a cell is empty or a stage is neither enrol nor acquire.

    Examples
    --------
    >>> rows = {"recording": ["a/1", "a/2"], "stage": ["enrol", "acquire"]}
    >>> failures = read_failures(rows)
    >>> failures.enrol.to_list(), failures.acquire.to_list()
    (['a/1'], ['a/2'])
    """
    if isinstance(source, Failures):
        return source
    whole, name, provenance = read_table(source, "failures")
    columns = {
        "recording": find_column(whole, "recording", (*UTTERANCE, "model", "modelid"), name),
        "stage": find_column(whole, "stage", ("stage", "failurestage", "step"), name),
    }
    table = whole.select("row", **columns)
    check_filled(table, "recording", columns["recording"], name)
    check_filled(table, "stage", columns["stage"], name, give="give enrol or acquire")
    words = table["stage"].unique().to_list()
    stages = {word: stage_of(word) for word in words}
    odd = table.filter(pl.col("stage").is_in([word for word in words if stages[word] is None]))
    if odd.height:
        msg = (
            f"{name}: row {odd['row'][0]}, column {columns['stage']!r}: {odd['stage'][0]!r} is no "
            "stage; use enrol or acquire"
        )
        raise DataError(msg)

    def at(stage: int) -> pl.Series:
        mine = [word for word in words if stages[word] == stage]
        return table.filter(pl.col("stage").is_in(mine))["recording"].unique().sort()

    return Failures(at(ENROL), at(ACQUIRE), name, {**provenance, "columns": columns}, table)
