"""The speakers and what is known about them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import DataError
from parivox.read.checks import DataNote
from parivox.read.metadata import (
    ID,
    column_called,
    coverage,
    id_columns,
    is_unnamed,
    known_values,
    merged,
    read_table,
    two_values,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Speakers", "read_speakers", "read_table", "speakers_of"]

_SAME = "\x1f"


class Speakers:
    """A table of speakers, each with the values of some attributes.

    Which column holds the ids is known once it is named, or once :meth:`choose_id` has seen the
    ids that are needed.
    """

    def __init__(
        self,
        table: pl.DataFrame,
        *,
        name: str,
        id: str | None,  # noqa: A002 - the command line's word
        conflicts: str,
        provenance: dict[str, Any],
    ) -> None:
        self.name = name
        self._table, self._conflicts = table, conflicts
        self._file = provenance
        self._id: str | None = None
        self._ids: tuple[str, ...] = ()
        self._kind: pl.Enum | None = None
        self._attributes = pl.DataFrame()
        self._aside: dict[str, int] = {}
        self._without_id = self._repeated = 0
        if id is not None:
            self._set_id_column(column_called(id, self.columns, name, "--id"))

    @property
    def columns(self) -> list[str]:
        """Columns of the table as the file names them."""
        return [column for column in self._table.columns if column != "row"]

    def table_column(self, column: str) -> pl.Series:
        """Distinct values of one column of the table."""
        return self._table[column].unique().drop_nulls()

    def places(self, names: pl.Series) -> pl.Series | None:
        """Place of each speaker among `ids`, null for others; None before the ids are known."""
        if self._id is None:
            return None
        if self._kind is None:
            self._kind = pl.Enum(self._ids)
        return names.cast(self._kind, strict=False).to_physical()

    def choose_id(self, needed: pl.Series) -> float:
        """Find the id column by the needed ids; give the share of these that it covers.

        The column stays the same from the first call on that found any id.
        """
        needed = needed.unique()
        if self._id is None:
            columns, shares = id_columns(needed, self._table.select(self.columns), ID)
            if not columns:
                return 0.0
            if len(columns) > 1:
                one, other = columns[:2]
                counts = " and ".join(f"{round(shares[c] * len(needed)):,}" for c in (one, other))
                msg = (
                    f"{self.name}: columns {one!r} and {other!r} may both be the ids of the "
                    f"speakers (they hold {counts} of {len(needed):,} that are needed); name the "
                    "right one with --id, or call it 'speaker'"
                )
                raise DataError(msg)
            self._set_id_column(columns[0])
        return coverage(needed, pl.Series(self._ids, dtype=pl.String))

    def _set_id_column(self, column: str) -> None:
        rest = [c for c in self.columns if c != column]
        known = known_values(self._table.filter(pl.col(column) != ""), rest)
        table, self._aside = merged(known, column, rest)
        if self._aside and self._conflicts == "error":
            raise self._two_values(known, column, next(iter(self._aside)))
        self._without_id = self._table.height - known.height
        self._repeated = known.height - table.height
        table = table.sort(column)
        self._id = column
        self._ids = tuple(table[column].to_list())
        self._attributes = table.select(rest)
        if not self._ids:
            msg = f"{self.name}: column {column!r} holds no id; name the id column with --id"
            raise DataError(msg)

    def _two_values(self, known: pl.DataFrame, column: str, attribute: str) -> DataError:
        one, other = two_values(known, column, attribute) or ({}, {})
        mend = "keep one, or make it unknown with --conflicts set-aside"
        of_one = known.group_by(column).len()["len"]
        if 2 * int((of_one > 1).sum()) > len(of_one) or known[attribute].is_unique().all():
            mend = f"it looks like a table of recordings, to be given as --utterances; else {mend}"
        return DataError(
            f"{self.name}: rows {one['row']} and {other['row']}, column {attribute!r}: speaker "
            f"{one[column]!r} is {one[attribute]!r} and {other[attribute]!r}; {mend}"
        )

    def _ensure_id_column(self) -> None:
        if self._id is None:
            unique = [c for c in self.columns if self._table[c].is_unique().all()]
            named = [c for c in unique if not is_unnamed(c)]
            self._set_id_column((named or unique or self.columns)[0])

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the speakers, in rising order."""
        self._ensure_id_column()
        return self._ids

    @property
    def attributes(self) -> pl.DataFrame:
        """Attributes as text, a row per speaker in the order of `ids`; null is unknown."""
        self._ensure_id_column()
        return self._attributes

    @property
    def content_sha256(self) -> str:
        """Hash of ids and attributes, whatever the order of rows and columns and the format."""
        self._ensure_id_column()
        table = self._attributes.select(sorted(self._attributes.columns))
        lines = [_SAME.join(table.columns)]
        rows = table.rows() or [()] * len(self._ids)  # without columns, a table has no rows
        for id_, row in zip(self._ids, rows, strict=True):
            lines.append(_SAME.join((id_, *("" if cell is None else cell for cell in row))))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def provenance(self) -> list[dict[str, Any]]:
        """What was read: one entry."""
        return [{**self._file, "columns": {"id": self._id}}] if self._file else []

    def notes(self, in_use: Iterable[int]) -> list[DataNote]:
        """Unknown attributes of these speakers, and those set aside."""
        used = self.attributes[list(in_use)] if self.attributes.width else self.attributes
        found = [
            DataNote("speakers", f"speakers with unknown {c}", used[c].null_count())
            for c in used.columns
            if used[c].null_count()
        ]
        if self._without_id:
            found.append(DataNote("speakers", "rows without id", self._without_id, "left out"))
        if self._repeated:
            found.append(
                DataNote("speakers", "rows that repeat a speaker", self._repeated, "merged")
            )
        return found + [
            DataNote("speakers", f"speakers with two values of {c}", n, "taken as unknown")
            for c, n in self._aside.items()
        ]

    def __repr__(self) -> str:
        return (
            f"Speakers({self.name!r}, {len(self.ids):,} speakers, {list(self.attributes.columns)})"
        )


def read_speakers(
    source: Any,
    *,
    id: str | None = None,  # noqa: A002 - the command line's word
    conflicts: str = "error",
) -> Speakers:
    """Read a table of speakers, one row a speaker, with any attributes.

    Blank, NA, n/a, unknown and the like mean unknown. Without `id`, the column that covers most of
    the ids needed holds them. Where a speaker has two values of one attribute, `conflicts` decides:
    ``"error"`` or ``"set-aside"``.

    Examples
    --------
    >>> speakers = read_speakers({"speaker": ["a", "b"], "gender": ["f", "NA"]})
    >>> speakers.ids, speakers.attributes["gender"].to_list()
    (('a', 'b'), ['f', None])
    """
    if isinstance(source, Speakers):
        return source
    table, name, provenance = read_table(source, "speakers")
    return Speakers(table, name=name, id=id, conflicts=conflicts, provenance=provenance)


def speakers_of(names: pl.Series) -> Speakers:
    """Speakers of whom nothing is known but their names, distinct and rising.

    Examples
    --------
    >>> speakers_of(pl.Series(["a", "b"])).ids
    ('a', 'b')
    """
    table = pl.DataFrame({"row": range(1, len(names) + 1), "speaker": names})
    return Speakers(table, name="the trials", id="speaker", conflicts="error", provenance={})
