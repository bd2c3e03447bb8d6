"""The speakers and their attributes."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.tables.notes import DataNote
from parivox.tables.sheet import read_sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.tables.sheet import Sheet

__all__ = ["UNKNOWN", "SpeakerSheet", "Speakers", "read_speakers"]

UNKNOWN = frozenset(("", "na", "n/a", "nan", "null", "unknown", "unk", "n.k.", "?"))
"""Spellings of an attribute that is not known, in small letters."""


@dataclass(frozen=True, eq=False)
class Speakers:
    """Speakers by id, one row each.

    Attributes
    ----------
    ids : Series of str
        In rising order; a speaker's place here is their number everywhere else.
    attributes : DataFrame
        One row per id; text, null where unknown.
    id_column : str
    name : str
        The file, for messages.
    rows : Series of int
        Row of each id in the file.
    notes : tuple of DataNote
    content_sha256 : str
        Of ids and attributes; the same whatever their order or format.
    provenance : list of dict
    """

    ids: pl.Series
    attributes: pl.DataFrame
    id_column: str
    name: str
    rows: pl.Series
    notes: tuple[DataNote, ...]
    content_sha256: str
    provenance: list[dict[str, Any]]


class SpeakerSheet:
    """A speaker table whose id column is not settled yet.

    Which column holds the ids shows when the trials' speakers are known: it is the one that
    holds most of them, unless the user names it.
    """

    def __init__(self, sheet: Sheet, id_column: str | None, conflicts: str) -> None:
        self.sheet, self.conflicts = sheet, conflicts
        self.id_column = None if id_column is None else _named(sheet, id_column)
        self._settled: dict[str, Speakers] = {}

    def settled(self, needed: Sequence[str] | pl.Series) -> Speakers:
        """The speakers, with ids from the column that holds most of those needed.

        Parameters
        ----------
        needed
            Ids that must be among the speakers; another call may bring others.
        """
        column = self.id_column or self._covering(pl.Series(needed, dtype=pl.String))
        if column not in self._settled:
            self._settled[column] = _speakers(self.sheet, column, self.conflicts)
        return self._settled[column]

    def _covering(self, needed: pl.Series) -> str:
        frame = self.sheet.frame
        covered = {
            column: int(needed.is_in(frame[column].drop_nulls().unique().to_list()).sum())
            for column in self.sheet.columns
        }
        best = max(covered.values())
        if not best:
            # nothing matches: the column with most distinct values makes the better message
            return max(self.sheet.columns, key=lambda column: frame[column].n_unique())
        return next(column for column, n in covered.items() if n == best)


def read_speakers(
    source: Any, *, id: str | None = None, conflicts: str = "error"  # noqa: A002
) -> SpeakerSheet:
    """Read a table of speakers.

    Parameters
    ----------
    source
        A path, ``-``, a dataframe or a mapping of arrays; any columns.
    id
        The column of ids, where it is not found by itself.
    conflicts
        ``"error"``, or ``"set-aside"``: an attribute with two values becomes unknown.

    Raises
    ------
    DataError
        If the table cannot be read.
    """
    return SpeakerSheet(read_sheet("speakers", source), id, conflicts)


def _named(sheet: Sheet, wanted: str) -> str:
    found = [c for c in sheet.columns if c == wanted] or [
        c for c in sheet.columns if c.lower() == wanted.lower()
    ]
    if not found:
        msg = f"--id {wanted!r}: {sheet.name} has no such column; it has {', '.join(sheet.columns)}"
        raise ConfigError(msg)
    return found[0]


def _speakers(sheet: Sheet, column: str, conflicts: str) -> Speakers:
    frame = sheet.frame
    blank = frame.filter(pl.col(column).is_null())
    if blank.height:
        msg = (
            f"{sheet.name}, row {blank[''][0]}, column {column}: the id is blank; fill it in or leave "
            "the row out"
        )
        raise DataError(msg)
    others = [c for c in sheet.columns if c != column]
    known = frame.with_columns(
        pl.when(~pl.col(c).str.to_lowercase().is_in(sorted(UNKNOWN))).then(pl.col(c)) for c in others
    )
    notes = []
    if known[column].n_unique() < known.height:
        known, told = _merged(sheet, known, column, others, conflicts)
        notes += told
    known = known.sort(column)
    ids, attributes = known[column], known.select(others)
    content = sha256(known.drop("").select(column, *sorted(others)).write_csv().encode())
    return Speakers(
        ids,
        attributes,
        column,
        sheet.name,
        known[""],
        tuple(notes),
        content.hexdigest(),
        [{**sheet.provenance, "id_column": column}],
    )


def _merged(
    sheet: Sheet, frame: pl.DataFrame, column: str, others: list[str], conflicts: str
) -> tuple[pl.DataFrame, list[DataNote]]:
    """One row a speaker: repeated rows must agree, blanks give way to values."""
    values = frame.group_by(column, maintain_order=True).agg(
        pl.col("").min(),
        *(pl.col(c).drop_nulls().n_unique().alias(f"n {c}") for c in others),
        *(pl.col(c).drop_nulls().first() for c in others),
    )
    n_conflicts = 0
    for c in others:
        torn = values.filter(pl.col(f"n {c}") > 1)
        if torn.height and conflicts != "set-aside":
            speaker = torn[column][0]
            here = frame.filter((pl.col(column) == speaker) & pl.col(c).is_not_null()).unique(
                c, keep="first", maintain_order=True
            )
            (row, one), (again, other) = here.select("", c).head(2).rows()
            msg = (
                f"{sheet.name}, rows {row} and {again}, column {c}: speaker {speaker} has the values "
                f"{one!r} and {other!r}; keep one of them, or use --conflicts set-aside"
            )
            raise DataError(msg)
        n_conflicts += torn.height
        values = values.with_columns(pl.when(pl.col(f"n {c}") <= 1).then(pl.col(c)).alias(c))
    notes = [DataNote("speakers", "repeated rows of a speaker, merged", frame.height - values.height)]
    if n_conflicts:
        notes.append(
            DataNote("speakers", "attributes with two values, taken as unknown", n_conflicts)
        )
    return values.select("", column, *others), notes
