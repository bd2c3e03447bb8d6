"""Types of what functions read: trials, tables and documents.

Editors and type checkers see them in signatures; no value is checked against them. What a table may
hold is on the page "Bring your data".
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ArrowTable",
    "ColumnTable",
    "DocumentSource",
    "FilePath",
    "HubTable",
    "LazyTable",
    "ScoreSource",
    "SpeakerSource",
    "TableSource",
    "UtteranceSource",
]

FilePath: TypeAlias = str | os.PathLike[str]
"""A file or a folder; in a few places ``-`` for standard input."""


class ArrowTable(Protocol):
    """A table with the Arrow PyCapsule interface, as Polars, pandas, PyArrow and narwhals have."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a capsule."""


class LazyTable(Protocol):
    """A table that is computed when it is read, as a ``LazyFrame`` of Polars or narwhals."""

    def collect_schema(self) -> object:
        """Return names and types of the columns."""

    def collect(self) -> object:
        """Return the rows."""


class ColumnTable(Protocol):
    """A table whose columns are found by their names, as those of any other dataframe library."""

    @property
    def columns(self) -> Iterable[object]:
        """Names of the columns."""

    def __getitem__(self, name: str, /) -> object:
        """Return one column."""


class HubTable(Protocol):
    """A dataset of Hugging Face, of one split."""

    def select_columns(self, column_names: list[str]) -> object:
        """Return the dataset with these columns only."""


TableSource: TypeAlias = (
    FilePath
    | ArrowTable
    | LazyTable
    | ColumnTable
    | HubTable
    | NDArray[np.void]
    | Sequence[Mapping[str, object]]
    | Mapping[str, Iterable[object]]
)
"""A file, a dataframe of any library, a structured array, rows, or arrays by the names of columns.

The arrays are of NumPy, or lists, or columns of a dataframe.
"""

SpeakerSource: TypeAlias = TableSource | Mapping[int, Mapping[str, object] | str]
"""A table of speakers; also the attributes of each speaker by id, ``{"anna": {"gender": "f"}}``."""

UtteranceSource: TypeAlias = TableSource | Sequence[str]
"""A table of utterances, or one or several patterns of their ids such as ``{speaker}-**``."""

ScoreSource: TypeAlias = (
    TableSource
    | Sequence[FilePath]
    | Mapping[str, TableSource | Sequence[FilePath]]
    | Mapping[tuple[str, str], TableSource | Sequence[FilePath]]
)
"""The trials of one system, or of each system by name.

A list of files holds the trials of one system; a name is a system, ``system@list`` or a pair.
"""

DocumentSource: TypeAlias = FilePath | Mapping[str, object]
"""A YAML or JSON file, or what it would hold."""
