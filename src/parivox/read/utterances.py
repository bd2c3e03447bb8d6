"""Whose utterance is it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from parivox.errors import DataError
from parivox.read.attributes import UNKNOWN
from parivox.read.joining import mend_of_ids, rewritten, some
from parivox.read.metadata import SPEAKER, UTTERANCE, check_filled, find_column, read_table

__all__ = [
    "Utterances",
    "read_utterances",
]


@dataclass(frozen=True, eq=False)
class Utterances:
    """Table of utterances, each of which is a recording: the speaker of each, and what else.

    Attributes
    ----------
    table : DataFrame
        Columns ``row``, ``utterance`` and, if it is told, ``speaker``, each utterance once.
    name : str
    provenance : dict
    attributes : DataFrame
        Every other column as text, in the same order; null is unknown.
    repeated : int
        How many rows tell of an utterance that a row above them tells of.
    """

    table: pl.DataFrame
    name: str
    provenance: dict[str, Any]
    attributes: pl.DataFrame
    repeated: int = 0

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
            mend = rewritten(missing, there, self.name) or mend_of_ids(missing, there)
            msg = f"{name}: {some(missing, ids, what)} are not in {self.name}; {mend}"
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
    told = find_column(whole, "speaker", SPEAKER, "")
    if told:
        columns["speaker"] = told
    taken = {*columns.values(), "row"}
    rest = [column for column in whole.columns if column not in taken]
    table = whole.select("row", **columns)
    for role, column in columns.items():
        check_filled(table, role, column, name)
    distinct = table.unique(list(columns), keep="first", maintain_order=True)
    odd = distinct.filter(pl.col("utterance").is_duplicated())
    if odd.height:
        first = odd.filter(pl.col("utterance") == odd["utterance"][0])
        rows, speakers = first["row"].to_list(), first["speaker"].to_list()
        msg = (
            f"{name}: rows {rows[0]} and {rows[1]}: utterance {first['utterance'][0]!r} has the "
            f"speakers {speakers[0]!r} and {speakers[1]!r}; keep one"
        )
        raise DataError(msg)
    is_unknown = pl.col(rest).str.to_lowercase().is_in(UNKNOWN)
    known = whole.select("row", pl.col(columns["utterance"]).alias("utterance")).with_columns(
        whole.select(pl.when(~is_unknown).then(pl.col(rest))) if rest else []
    )
    if distinct.height < known.height:
        known = _once(known, rest, name)
    return Utterances(
        distinct,
        name,
        {**provenance, "columns": columns},
        known.select(rest),
        whole.height - distinct.height,
    )


def _once(known: pl.DataFrame, rest: list[str], name: str) -> pl.DataFrame:
    """Each utterance once, with what any of its rows says."""
    merged = known.group_by("utterance", maintain_order=True).agg(
        *(pl.col(c).drop_nulls().unique(maintain_order=True) for c in rest)
    )
    for column in rest:
        odd = merged.filter(pl.col(column).list.len() > 1)
        if odd.height:
            first = odd["utterance"][0]
            rows = known.filter((pl.col("utterance") == first) & pl.col(column).is_not_null())
            rows = rows.unique(column, keep="first", maintain_order=True)
            msg = (
                f"{name}: rows {rows['row'][0]} and {rows['row'][1]}, column {column!r}: utterance "
                f"{first!r} is {rows[column][0]!r} and {rows[column][1]!r}; keep one"
            )
            raise DataError(msg)
    return merged.with_columns(pl.col(rest).list.first())
