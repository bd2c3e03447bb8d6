"""The speakers and what is known of them; tables of people and recordings, a row an id."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.attributes import UNKNOWN
from parivox.data.columns import SPEAKER, plain
from parivox.data.formats import table_format
from parivox.data.formats.dataframes import dataframe_from
from parivox.data.formats.format import Chunk, has_text_cells
from parivox.data.ids import NumberedTexts
from parivox.data.kaldi import kaldi_table
from parivox.data.source_bytes import read_content
from parivox.data.trial_checks import DataNote
from parivox.errors import ConfigError, DataError, name_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.data.formats.format import NamedColumns, Rows
    from parivox.data.ids import Codes

_UTTERANCE = (
    "utterance utt utteranceid uttid file filename path segment segmentid recording recordingid "
    "call callid id"
)
UTTERANCE = tuple(_UTTERANCE.split())
ID = (*SPEAKER, "id")
"""Names of the id column of a table of speakers, in `plain` spelling, the surest first."""
_HALF = 0.5
_UNNAMED = re.compile(r"|unnamed[:_ ]*\d+.*|index|level_\d+|__index_level_\d+__")
"""An index that pandas wrote beside the data, in lower case."""
_SAME = "\x1f"
_OF_KALDI = ("speakers", "utterances", "table")  # what a folder of Kaldi's may be given as


class Speakers:
    """A table of speakers, each with the values of some attributes.

    Which column holds the ids is known once it is named, or once `choose_id` has seen the
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
        self._numbered = NumberedTexts()  # the ids, once they are sought
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
            f"{self.name}, rows {one['row']} and {other['row']}, column {attribute!r}: speaker "
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
    def ids_sha256(self) -> str:
        """Hash of the ids, whatever the order of rows and the format; attributes have none."""
        return hashlib.sha256("\n".join(self.ids).encode()).hexdigest()

    @property
    def content_sha256(self) -> str:
        """Hash of ids and attributes, whatever the order of rows and columns and the format.

        Attributes can be guessed from it: it is for tallies, which hold them, and for no file that
        is handed on.
        """
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
        if not self._file:
            return []
        file = {name: value for name, value in self._file.items() if name != "sha256"}
        return [{**file, "ids_sha256": self.ids_sha256, "columns": {"id": self._id}}]

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


def read_table(source: Any, what: str) -> tuple[pl.DataFrame, str, dict[str, Any]]:
    """A whole table as stripped text with a column ``row``, its name, and what was read.

    `what` is its role, by which messages call a source that has no name.
    """
    rows: Rows | None = None
    provenance: dict[str, Any] = {"role": what, "name": what, "format": "dataframe"}
    if not isinstance(source, (str, os.PathLike)):
        frame = dataframe_from(source, what)
    elif (
        source != ""
        and what in _OF_KALDI
        and (kaldi := kaldi_table(Path(source), what)) is not None
    ):
        frame, rows = kaldi[0].drop("row"), kaldi[0]["row"].to_numpy()
        provenance |= kaldi[1]
    else:
        content = read_content(source)
        kind = table_format(content)
        assert kind.table is not None
        frame, rows = _whole(kind.table(content), content.name)
        provenance |= {"name": content.name, "format": kind.name, **content.provenance}
    name = str(provenance["name"])
    frame = frame.rename({c: f"{c} (column)" for c in frame.columns if c == "row"})
    if not frame.width:
        msg = f"{name}: holds a header and nothing else; give a file with rows below it"
        raise DataError(msg)
    for column, type_ in frame.schema.items():
        if not has_text_cells(type_):
            msg = (
                f"{name}: column {column!r} holds {type_}, neither text nor numbers; "
                "save it as text, or leave it out"
            )
            raise DataError(msg)
    text = frame.select(pl.all().cast(pl.String).str.strip_chars())
    blank = pl.all_horizontal(pl.all().exclude("row").is_null())
    numbers = pl.Series("row", range(1, text.height + 1) if rows is None else rows, pl.Int64)
    text = text.insert_column(0, numbers).filter(~blank)
    if provenance.get("separator") == " " and what in {"table", "utterances"}:
        text = _utt2spk(text)
    if not text.height:
        msg = f"{name}: holds no row; give a file with rows below its header"
        raise DataError(msg)
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
    are_known = any(plain(name) in {*UTTERANCE, *SPEAKER} for name in names)
    if len(names) != 2 or are_known or names[1] not in table[names[1]]:
        return table
    first = pl.DataFrame({"row": [1], "utterance": names[:1], "speaker": names[1:]})
    return pl.concat((first, table.rename({names[0]: "utterance", names[1]: "speaker"})))


def _whole(table: NamedColumns, name: str) -> tuple[pl.DataFrame, Rows]:
    """The whole table, and the row of each record."""
    parts = list(table.chunks({f"f{at}": at for at in range(len(table.names))}))
    if not parts:
        return pl.DataFrame(), []
    frame = pl.concat([part for _, part in parts])
    # Excel adds columns without anything in them.
    kept = [at for at, one in enumerate(table.names) if one or frame[:, at].count()]
    names = [table.names[at] for at in kept]
    if len(set(names)) < len(names):
        twice = next(one for one in names if names.count(one) > 1)
        msg = f"{name}: has two columns named {twice!r}; rename one"
        raise DataError(msg)
    frame = frame.select(**{one: f"f{at}" for one, at in zip(names, kept, strict=True)})
    return frame, np.concatenate([np.asarray(rows) for rows, _ in parts])


def by_role(table: pl.DataFrame, columns: Mapping[str, str], name: str) -> Chunk:
    """The columns of some roles, and the column ``row``."""
    return Chunk(table.select("row", **columns), table["row"].to_numpy(), name, columns)


def find_column(table: pl.DataFrame, role: str, known: Sequence[str], name: str) -> str:
    """The column of a role by its known names; without `name`, one that is missing is empty."""
    columns = [column for column in table.columns if column != "row"]
    names = {plain(column): column for column in reversed(columns)}
    for word in known:
        if word in names:
            return names[word]
    if not name:
        return ""
    there = ", ".join(repr(column) if column else "one without a name" for column in columns)
    instead = f" but {there}" if columns else " besides"
    msg = f"{name}: has no column {role!r}{instead}; name it so"
    raise DataError(msg)


def known_values(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The table, whose cells that stand for an unknown value in some columns are null."""
    is_unknown = pl.col(columns).str.to_lowercase().is_in(UNKNOWN)
    return table.with_columns(pl.when(~is_unknown).then(pl.col(columns)))


def merged(
    table: pl.DataFrame, key: str, columns: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Each id once, in the order in which they appear, with what any of its rows says.

    A cell is null where rows differ; also gives how many ids differ so, of each column where any
    do.

    Examples
    --------
    >>> table = pl.DataFrame({"id": ["a", "b", "a"], "sex": ["f", "m", None], "n": ["1", "1", "2"]})
    >>> merged(table, "id", ["sex", "n"])[0].rows()
    [('a', 'f', None), ('b', 'm', '1')]
    """
    values = table.group_by(key, maintain_order=True).agg(pl.col(columns).drop_nulls().unique())
    differing = {c: int((values[c].list.len() > 1).sum()) for c in columns}
    one = (
        pl.when(pl.col(c).list.len() == 1).then(pl.col(c).list.first()).alias(c) for c in columns
    )
    return values.with_columns(*one), {c: n for c, n in differing.items() if n}


def two_values(
    table: pl.DataFrame, key: str, column: str
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The first two rows that say different things of one id, if there are any.

    Examples
    --------
    >>> table = pl.DataFrame({"row": [2, 3], "id": ["a", "a"], "sex": ["f", "m"]})
    >>> [row["row"] for row in two_values(table, "id", "sex")]
    [2, 3]
    """
    values = table.drop_nulls(column).unique([key, column], keep="first", maintain_order=True)
    odd = values.filter(pl.col(key).is_duplicated())
    if not odd.height:
        return None
    first = table.filter(pl.col(key).is_in(odd[key].implode()))[key][0]
    one, other = odd.filter(pl.col(key) == first)[:2].rows(named=True)
    return one, other


def id_columns(
    needed: pl.Series, table: pl.DataFrame, names: Sequence[str]
) -> tuple[list[str], dict[str, float]]:
    """The column of a table that holds these ids, and the share of them that each column covers.

    A running number covers numeric ids as well as the ids themselves do. So a column of a known
    name (in `plain` spelling, the surest first) goes before all others, and one without a
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
    shares = {column: coverage(needed, table[column]) for column in table.columns}
    most = max(shares.values(), default=0.0)
    if not most:
        return [], shares
    likely = [c for c, share in shares.items() if share == most or share > _HALF]
    found = [c for c in likely if plain(c) in names]
    if found:
        surest = min(names.index(plain(c)) for c in found)
        found = [c for c in found if plain(c) == names[surest]]
    else:
        found = [
            c
            for c in likely
            if not is_unnamed(c) and (shares[c] == most or table[c].is_unique().all())
        ] or [c for c in likely if shares[c] == most]
    first, ids = table[found[0]], needed.implode()
    others = []
    for column in found[1:]:  # unless it holds the ids in the same rows
        other = table[column]
        has_id = first.is_in(ids) | other.is_in(ids)
        if not (first.eq_missing(other) | ~has_id).all():
            others.append(column)
    return [found[0], *others], shares


def is_unnamed(column: str) -> bool:
    """Whether a column is an index that pandas wrote beside the data."""
    return _UNNAMED.fullmatch(column.strip().lower()) is not None


def coverage(needed: pl.Series, column: pl.Series) -> float:
    """Share of some ids that a column holds, in [0, 1]."""
    return float(needed.is_in(column.unique().drop_nulls().implode()).mean() or 0.0)  # type: ignore[arg-type]


def column_named(asked: str, columns: Sequence[str]) -> str:
    """The column of that name, whatever its case; empty if there is none or more than one."""
    same = [column for column in columns if column.lower() == asked.strip().lower()]
    return asked if asked in columns else same[0] if len(same) == 1 else ""


def column_called(asked: str, columns: list[str], name: str, option: str) -> str:
    """A column by its name, whatever its case; that there is none is an error."""
    found = column_named(asked, columns)
    if found or asked in columns:  # a column may have no name
        return found
    msg = f"{option} {asked!r} is not a column of {name}; {name_hint(asked, columns)}"
    raise ConfigError(msg)
