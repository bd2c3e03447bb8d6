"""The speakers and what is known of them; tables of people and recordings, a row an id."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.attributes import unknown_cells
from parivox.data.columns import SPEAKER_NAMES, UTTERANCE_NAMES, plain_name
from parivox.data.formats import table_format
from parivox.data.formats.dataframes import dataframe_from
from parivox.data.formats.format import Chunk, has_text_cells
from parivox.data.ids import NumberedTexts
from parivox.data.kaldi import kaldi_table
from parivox.data.source_bytes import SourceBytes, read_content
from parivox.data.table_kinds import is_pandas_index, likely_id_column, table_kind
from parivox.data.trial_checks import LEFT_OUT, MERGED, DataNote
from parivox.errors import ConfigError, DataError, name_hint
from parivox.facts import fact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.data.formats.format import NamedColumns, Rows
    from parivox.data.ids import Codes

SPEAKER_ID_NAMES = (*SPEAKER_NAMES, "id")
"""Names of the id column of a table of speakers, in `plain_name` spelling, the surest first."""
_MIN_ID_SHARE = 0.5
_CELL_SEPARATOR = "\x1f"
_KALDI_ROLES = ("speakers", "utterances", "table")  # what a folder of Kaldi's may be given as


class Speakers:
    """A table of speakers, each with the values of some attributes.

    Which column contains the ids is known once it is named, or once
    `choose_id_column` has seen the ids that are needed.
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
        self._numbered = NumberedTexts()  # the ids, once they are sought
        self._attributes = pl.DataFrame()
        self._aside: dict[str, int] = {}
        self._without_id = self._repeated = 0
        if id is not None:
            self._set_id_column(requested_column(id, self.columns, name, "--id"))

    @property
    def columns(self) -> list[str]:
        """Columns of the table as the file names them."""
        return [column for column in self._table.columns if column != "row"]

    def table_column(self, column: str) -> pl.Series:
        """Distinct values of one column of the table."""
        return self._table[column].unique().drop_nulls()

    def positions(self, names: pl.Series) -> Codes | None:
        """Place of each speaker among `ids`, -1 for others; None before the ids are known."""
        if self._id is None:
            return None
        if not self._numbered.size:
            self._numbered.read(pl.Series(self._ids, dtype=pl.String))
        return self._numbered.find(names)

    def choose_id_column(self, needed: pl.Series) -> float:
        """Find the id column by the needed ids; give the share of these that it covers.

        The column stays the same from the first call on that found any id.
        """
        needed = needed.unique()
        if self._id is None:
            columns, shares = id_columns(needed, self._table.select(self.columns), SPEAKER_ID_NAMES)
            if not columns:
                return 0.0
            if len(columns) > 1:
                first_column, second_column = columns[:2]
                counts = " and ".join(
                    f"{round(shares[column] * len(needed)):,}"
                    for column in (first_column, second_column)
                )
                msg = (
                    f"{self.name}: columns {first_column!r} and {second_column!r} may both be the "
                    f"speaker ids (they contain {counts} of the {len(needed):,} required ids)"
                )
                hint = "choose one with --id, or name it 'speaker'"
                raise DataError(msg, hint)
            self._set_id_column(columns[0])
        return id_coverage(needed, pl.Series(self._ids, dtype=pl.String))

    def with_unlisted(self, names: Sequence[str]) -> Speakers:
        """Return a table with further speakers, of whom nothing is known, once ids are known."""
        self._ensure_id_column()
        first_row = int(self._table["row"].max() or 0) + 1  # type: ignore[arg-type]
        further_rows = pl.DataFrame(
            {"row": range(first_row, first_row + len(names)), str(self._id): names},
            schema={"row": pl.Int64, str(self._id): pl.String},
        )
        return Speakers(
            pl.concat((self._table, further_rows), how="diagonal"),
            name=self.name,
            id=self._id,
            conflicts=self._conflicts,
            provenance=self._file,
        )

    def _set_id_column(self, column: str) -> None:
        attribute_columns = [name for name in self.columns if name != column]
        known_rows = known_values(self._table.filter(pl.col(column) != ""), attribute_columns)
        table, self._aside = merged_rows(known_rows, column, attribute_columns)
        if self._aside and self._conflicts == "error":
            raise self._two_values(known_rows, column, next(iter(self._aside)))
        self._without_id = self._table.height - known_rows.height
        self._repeated = known_rows.height - table.height
        table = table.sort(column)
        self._id = column
        self._ids = tuple(table[column].to_list())
        self._attributes = table.select(attribute_columns)
        if not self._ids:
            msg = f"{self.name}: column {column!r} contains no ids"
            hint = "name the id column with --id"
            raise DataError(msg, hint)

    def _two_values(self, known_rows: pl.DataFrame, column: str, attribute: str) -> DataError:
        first_row, second_row = contradictory_rows(known_rows, column, attribute) or ({}, {})
        remedy = "keep one value, or treat it as unknown with --conflicts exclude"
        if table_kind(self._table)[0] == "utterances":
            remedy = (
                f"if this is a table of recordings, give it with --utterances; otherwise {remedy}"
            )
        msg = (
            f"{self.name}, rows {first_row['row']} and {second_row['row']}, column "
            f"{attribute!r}: speaker "
            f"{first_row[column]!r} is {first_row[attribute]!r} and "
            f"{second_row[attribute]!r}"
        )
        return DataError(msg, remedy)

    def _ensure_id_column(self) -> None:
        if self._id is None:
            self._set_id_column(
                likely_id_column(self._table.select(self.columns)) or self.columns[0]
            )

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
    def ids_sha256(self) -> str:
        """Hash of the ids, whatever the order of rows and the format; attributes have none."""
        return hashlib.sha256("\n".join(self.ids).encode()).hexdigest()

    @property
    def content_sha256(self) -> str:
        """Hash of ids and attributes, whatever the order of rows and columns and the format.

        Attributes can be guessed from it: it is for speaker counts, which contain them, and for no
        file that is handed on.
        """
        self._ensure_id_column()
        table = self._attributes.select(sorted(self._attributes.columns))
        lines = [_CELL_SEPARATOR.join(table.columns)]
        rows = table.rows() or [()] * len(self._ids)  # without columns, a table has no rows
        for id_, row in zip(self._ids, rows, strict=True):
            lines.append(
                _CELL_SEPARATOR.join((id_, *("" if cell is None else cell for cell in row)))
            )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def provenance(self) -> list[dict[str, Any]]:
        """What was read: one entry."""
        if not self._file:
            return []
        file = {name: recorded for name, recorded in self._file.items() if name != "sha256"}
        return [{**file, "ids_sha256": self.ids_sha256, "columns": {"id": self._id}}]

    def notes(self, in_use: Iterable[int]) -> list[DataNote]:
        """Unknown attributes of these speakers, and those set aside."""
        used_attributes = (
            self.attributes[list(in_use)] if self.attributes.width else self.attributes
        )
        speaker_notes = [
            DataNote(
                "speakers",
                fact("speakers_with_unknown_value", attribute=attribute),
                used_attributes[attribute].null_count(),
            )
            for attribute in used_attributes.columns
            if used_attributes[attribute].null_count()
        ]
        if self._without_id:
            speaker_notes.append(
                DataNote("speakers", "rows_without_id", self._without_id, LEFT_OUT)
            )
        if self._repeated:
            speaker_notes.append(
                DataNote("speakers", "repeated_speaker_rows", self._repeated, MERGED)
            )
        return speaker_notes + [
            DataNote(
                "speakers",
                fact("speakers_with_two_values", attribute=attribute),
                count,
                "taken_as_unknown",
            )
            for attribute, count in self._aside.items()
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
    ``"error"`` or ``"exclude"``.

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


def read_table(source: Any, role: str) -> tuple[pl.DataFrame, str, dict[str, Any]]:
    """A whole table as stripped text with a column ``row``, its name, and what was read.

    Messages call a source that has no name by its `role`.
    """
    rows: Rows | None = None
    provenance: dict[str, Any] = {"role": role, "name": role, "format": "dataframe"}
    if not isinstance(source, (str, os.PathLike, SourceBytes)):
        frame = dataframe_from(source, role)
    elif (
        not isinstance(source, SourceBytes)
        and source != ""
        and role in _KALDI_ROLES
        and (kaldi := kaldi_table(Path(source), role)) is not None
    ):
        frame, rows = kaldi[0].drop("row"), kaldi[0]["row"].to_numpy()
        provenance |= kaldi[1]
    else:
        content = source if isinstance(source, SourceBytes) else read_content(source)
        kind = table_format(content)
        assert kind.table is not None
        frame, rows = _frame_with_rows(kind.table(content), content.name)
        provenance |= {"name": content.name, "format": kind.name, **content.provenance}
    name = str(provenance["name"])
    frame = frame.rename({c: f"{c} (column)" for c in frame.columns if c == "row"})
    if not frame.width:
        msg = f"{name}: contains only a header"
        hint = "give a file with rows below it"
        raise DataError(msg, hint)
    for column, type_ in frame.schema.items():
        if not has_text_cells(type_):
            msg = f"{name}: column {column!r} contains {type_}, neither text nor numbers"
            hint = "save the column as text, or leave it out"
            raise DataError(msg, hint)
    text = frame.select(pl.all().cast(pl.String).str.strip_chars())
    blank = pl.all_horizontal(pl.all().exclude("row").is_null())
    numbers = pl.Series("row", range(1, text.height + 1) if rows is None else rows, pl.Int64)
    text = text.insert_column(0, numbers).filter(~blank)
    if provenance.get("separator") == " " and role in {"table", "utterances"}:
        text = _utt2spk(text)
    if not text.height:
        msg = f"{name}: contains no rows"
        hint = "give a file with rows below its header"
        raise DataError(msg, hint)
    return text, name, provenance


def _utt2spk(table: pl.DataFrame) -> pl.DataFrame:
    """The table with names of its columns, if it is one of Kaldi's, which have no header.

    The first speaker then stands where a name should, and again below it.

    Examples
    --------
    >>> _utt2spk(pl.DataFrame({"row": [2], "a-1": ["a-2"], "a": ["a"]})).rows()
    [(1, 'a-1', 'a'), (2, 'a-2', 'a')]
    """
    _, *names = table.columns
    are_known = any(plain_name(name) in {*UTTERANCE_NAMES, *SPEAKER_NAMES} for name in names)
    if len(names) != 2 or are_known or names[1] not in table[names[1]]:
        return table
    first_row = pl.DataFrame({"row": [1], "utterance": names[:1], "speaker": names[1:]})
    return pl.concat((first_row, table.rename({names[0]: "utterance", names[1]: "speaker"})))


def _frame_with_rows(table: NamedColumns, name: str) -> tuple[pl.DataFrame, Rows]:
    """The whole table, and the row of each record."""
    chunks = list(table.chunks({f"f{position}": position for position in range(len(table.names))}))
    if not chunks:
        return pl.DataFrame(), []
    frame = pl.concat([frame_chunk for _, frame_chunk in chunks])
    # Excel adds columns without anything in them.
    kept_positions = [
        position
        for position, column_name in enumerate(table.names)
        if column_name or frame[:, position].count()
    ]
    names = [table.names[position] for position in kept_positions]
    if len(set(names)) < len(names):
        repeated = next(column_name for column_name in names if names.count(column_name) > 1)
        msg = f"{name}: has two columns named {repeated!r}"
        hint = "rename one of them"
        raise DataError(msg, hint)
    frame = frame.select(
        **{
            column_name: f"f{position}"
            for column_name, position in zip(names, kept_positions, strict=True)
        }
    )
    return frame, np.concatenate([np.asarray(rows) for rows, _ in chunks])


def role_columns(table: pl.DataFrame, columns: Mapping[str, str], name: str) -> Chunk:
    """The columns of some roles, and the column ``row``."""
    return Chunk(table.select("row", **columns), table["row"].to_numpy(), name, columns)


def known_values(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The table, whose cells that represent an unknown value in some columns are null."""
    is_known = ~unknown_cells(pl.col(columns))
    return table.with_columns(pl.when(is_known).then(pl.col(columns)))


def merged_rows(
    table: pl.DataFrame, key: str, columns: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Each id once, in the order in which they appear, with what any of its rows says.

    A cell is null where rows differ; also gives how many ids differ so, of each column where any
    do.

    Examples
    --------
    >>> table = pl.DataFrame({"id": ["a", "b", "a"], "sex": ["f", "m", None], "n": ["1", "1", "2"]})
    >>> merged_rows(table, "id", ["sex", "n"])[0].rows()
    [('a', 'f', None), ('b', 'm', '1')]
    """
    values = table.group_by(key, maintain_order=True).agg(pl.col(columns).drop_nulls().unique())
    differing = {c: int((values[c].list.len() > 1).sum()) for c in columns}
    one = (
        pl.when(pl.col(c).list.len() == 1).then(pl.col(c).list.first()).alias(c) for c in columns
    )
    return values.with_columns(*one), {c: n for c, n in differing.items() if n}


def contradictory_rows(
    table: pl.DataFrame, key: str, column: str
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The first two rows that say different things of one id, if there are any.

    Examples
    --------
    >>> table = pl.DataFrame({"row": [2, 3], "id": ["a", "a"], "sex": ["f", "m"]})
    >>> [row["row"] for row in contradictory_rows(table, "id", "sex")]
    [2, 3]
    """
    values = table.drop_nulls(column).unique([key, column], keep="first", maintain_order=True)
    differing = values.filter(pl.col(key).is_duplicated())
    if not differing.height:
        return None
    first_key = table.filter(pl.col(key).is_in(differing[key].implode()))[key][0]
    first_row, second_row = differing.filter(pl.col(key) == first_key)[:2].rows(named=True)
    return first_row, second_row


def id_columns(
    needed: pl.Series, table: pl.DataFrame, names: Sequence[str]
) -> tuple[list[str], dict[str, float]]:
    """The column of a table that contains these ids, and the share of them that each column covers.

    A running number covers numeric ids as well as the ids themselves do. So a column of a known
    name (in `plain_name` spelling, the surest first) goes before all others, and one without a
    name, as pandas writes its index, behind them, as long as they cover more than half of the ids,
    or as many as any. Columns of any other names are told apart by what they cover only if no other
    one of distinct cells covers half, too. No column is given where none holds any of the distinct
    ids, and several that differ in the rows of the ids where any of them may be meant.

    Examples
    --------
    >>> table = pl.DataFrame({"": ["0", "1"], "speaker": ["1", "0"], "no": ["0", "1"]})
    >>> id_columns(pl.Series(["0", "1"]), table, ["speaker"])[0]
    ['speaker']
    >>> id_columns(pl.Series(["0", "1"]), table.select("", "no"), ["speaker"])[0]
    ['no']
    """
    shares = {column: id_coverage(needed, table[column]) for column in table.columns}
    highest_share = max(shares.values(), default=0.0)
    if not highest_share:
        return [], shares
    likely = [
        candidate
        for candidate, share in shares.items()
        if share == highest_share or share > _MIN_ID_SHARE
    ]
    candidates = [candidate for candidate in likely if plain_name(candidate) in names]
    if candidates:
        surest = min(names.index(plain_name(candidate)) for candidate in candidates)
        candidates = [
            candidate for candidate in candidates if plain_name(candidate) == names[surest]
        ]
    else:
        candidates = [
            candidate
            for candidate in likely
            if not is_pandas_index(candidate)
            and (shares[candidate] == highest_share or table[candidate].is_unique().all())
        ] or [candidate for candidate in likely if shares[candidate] == highest_share]
    first_column, ids = table[candidates[0]], needed.implode()
    differing_columns = []
    for column in candidates[1:]:  # unless it holds the ids in the same rows
        second_column = table[column]
        has_id = first_column.is_in(ids) | second_column.is_in(ids)
        if not (first_column.eq_missing(second_column) | ~has_id).all():
            differing_columns.append(column)
    return [candidates[0], *differing_columns], shares


def id_coverage(needed: pl.Series, column: pl.Series) -> float:
    """Share of some ids that a column contains, in [0, 1]."""
    return float(needed.is_in(column.unique().drop_nulls().implode()).mean() or 0.0)  # type: ignore[arg-type]


def matching_column(name: str, columns: Sequence[str]) -> str:
    """The column of that name, whatever its case; empty if there is none or more than one."""
    if name in columns:
        return name
    matches = [column for column in columns if column.lower() == name.strip().lower()]
    return matches[0] if len(matches) == 1 else ""


def requested_column(requested: str, columns: list[str], name: str, option: str) -> str:
    """A column by its name, whatever its case; that there is none is an error."""
    column = matching_column(requested, columns)
    if column or requested in columns:  # a column may have no name
        return column
    msg = f"{option} {requested!r} is not a column of {name}"
    hint = name_hint(requested, columns)
    raise ConfigError(msg, hint)
