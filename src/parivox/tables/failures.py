"""Recordings of which no score could be made, and at which stage they failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from parivox.errors import DataError
from parivox.tables.outcomes import stage_of
from parivox.tables.speakers import read_table
from parivox.tables.utterances import UTTERANCE, check_filled, find_column
from parivox.tables.validation import ACQUIRE, ENROL

__all__ = ["Failures", "read_failures"]


@dataclass(frozen=True, eq=False)
class Failures:
    """Recordings that failed.

    Attributes
    ----------
    enrol, acquire : Series of str
        Enrolments (recordings or models) that failed; recordings that could not be acquired for
        a comparison. Each once, in rising order.
    name : str
    provenance : dict
    """

    enrol: pl.Series
    acquire: pl.Series
    name: str
    provenance: dict[str, Any]


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
    for role, column in columns.items():
        check_filled(table, role, column, name)
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

    return Failures(at(ENROL), at(ACQUIRE), name, {**provenance, "columns": columns})
