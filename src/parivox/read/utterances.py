"""Whose utterance is it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from parivox.errors import DataError
from parivox.read.joining import listed_ids, mend_of_ids, spreadsheet_damage
from parivox.read.metadata import (
    SPEAKER,
    UTTERANCE,
    check_filled,
    find_column,
    known_values,
    merged,
    read_table,
    two_values,
)


@dataclass(frozen=True, eq=False)
class Utterances:
    """Table of utterances, each of which is a recording: the speaker of each, and what else."""

    # columns ``row``, ``utterance`` and, if it is told, ``speaker``, each utterance once
    table: pl.DataFrame
    name: str
    provenance: dict[str, Any]
    attributes: pl.DataFrame  # every other column as text, in the same order; null is unknown
    repeated: int = 0  # how many rows tell of an utterance that a row above them tells of

    @property
    def tell_speakers(self) -> bool:
        """Whether the table says whose each utterance is."""
        return "speaker" in self.table.columns

    def speakers(self, ids: pl.Series, name: str, what: str = "utterance ids") -> pl.Series:
        """Speaker of each of these distinct ids of a file; one that the table lacks is an error."""
        found = pl.DataFrame({"utterance": ids}).join(
            self.table, on="utterance", how="left", maintain_order="left"
        )["speaker"]
        if found.null_count():
            missing, there = ids.filter(found.is_null()), self.table["utterance"]
            mend = spreadsheet_damage(missing, there, self.name) or mend_of_ids(missing, there)
            msg = f"{name}: {listed_ids(missing, ids, what)} are not in {self.name}; {mend}"
            raise DataError(msg)
        return found


def read_utterances(source: Any) -> Utterances:
    """Read a table of utterances: speaker, recording, and any attributes of the recording.

    Parameters
    ----------
    source
        CSV, TSV, XLSX, Parquet or Arrow file, a dataframe or a mapping of arrays.

    Raises
    ------
    DataError
        If there is no column of utterances, one of its cells is empty, or an utterance has two
        speakers or two values of an attribute.
    """
    if isinstance(source, Utterances):
        return source
    whole, name, provenance = read_table(source, "utterances")
    columns = {"utterance": find_column(whole, "utterance", UTTERANCE, name)}
    speaker = find_column(whole, "speaker", SPEAKER, "")
    if speaker:
        columns["speaker"] = speaker
    taken = {*columns.values(), "row"}
    rest = [column for column in whole.columns if column not in taken]
    table = whole.select("row", **columns)
    for role, column in columns.items():
        check_filled(table, role, column, name)
    if speaker and (odd := two_values(table, "utterance", "speaker")):
        one, other = odd
        msg = (
            f"{name}: rows {one['row']} and {other['row']}: utterance {one['utterance']!r} has the "
            f"speakers {one['speaker']!r} and {other['speaker']!r}; keep one"
        )
        raise DataError(msg)
    distinct = table.unique(list(columns), keep="first", maintain_order=True)
    known = known_values(table.select("row", "utterance").hstack(whole.select(rest)), rest)
    if distinct.height < known.height:
        each, differing = merged(known, "utterance", rest)
        for column in differing:
            one, other = two_values(known, "utterance", column) or ({}, {})
            msg = (
                f"{name}: rows {one['row']} and {other['row']}, column {column!r}: utterance "
                f"{one['utterance']!r} is {one[column]!r} and {other[column]!r}; keep one"
            )
            raise DataError(msg)
        known = each
    return Utterances(
        distinct,
        name,
        {**provenance, "columns": columns},
        known.select(rest),
        whole.height - distinct.height,
    )
