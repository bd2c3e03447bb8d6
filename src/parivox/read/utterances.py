"""Whose utterance is it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.attributes import UNKNOWN
from parivox.read.columns import plain
from parivox.read.metadata import read_table
from parivox.read.rewritten import rewritten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from parivox.read.speakers import Speakers

__all__ = [
    "SPEAKER",
    "UTTERANCE",
    "Utterances",
    "check_filled",
    "find_column",
    "matched",
    "owners",
    "pattern_of_speakers",
    "read_utterances",
    "some",
]

UTTERANCE = (
    *("utterance", "utt", "utteranceid", "uttid"),
    *("file", "path", "segment", "segmentid", "recording", "recordingid", "call", "callid", "id"),
)
SPEAKER = (
    *("speaker", "spk", "speakerid", "spkid", "spkr", "subject", "subjectid"),
    *("customer", "customerid", "client", "clientid"),
)
_EXAMPLES = 3
_MOST = 0.5


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
            mend = rewritten(missing, there, self.name) or _differing(missing, there)
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


def check_filled(
    table: pl.DataFrame, role: str, column: str, name: str, *, give: str = "give the id"
) -> None:
    """Refuse a table with an empty cell where an id, or what else to give, must be."""
    empty = table.filter(pl.col(role).is_null() | (pl.col(role) == ""))
    if empty.height:
        msg = (
            f"{name}: row {empty['row'][0]}, column {column!r}: is empty; {give}, or remove the row"
        )
        raise DataError(msg)


def find_column(table: pl.DataFrame, role: str, known: tuple[str, ...], name: str) -> str:
    """The column of a role by its known names; without `name`, one that is missing is empty."""
    columns = [column for column in table.columns if column != "row"]
    names = {plain(column): column for column in reversed(columns)}
    for word in known:
        if word in names:
            return names[word]
    if not name:
        return ""
    seen = ", ".join(repr(column) if column else "one without a name" for column in columns)
    told = f" but {seen}" if columns else " besides"
    msg = f"{name}: has no column {role!r}{told}; name it so"
    raise DataError(msg)


def owners(
    ids: pl.Series,
    speakers: Speakers,
    utterances: Utterances | None,
    name: str,
    *,
    known: bool = False,
) -> NDArray[np.int32]:
    """Speaker of every utterance, as an index into ``speakers.ids``, shape (utterance,).

    Parameters
    ----------
    ids
        Distinct utterance ids.
    speakers
        Who there is.
    utterances
        Table of utterances; without it, the speaker is the first component of the path.
    name
        Of the file that holds the ids, for messages.
    known
        Whether other ids have shown that this is where the speaker stands.

    Raises
    ------
    DataError
        If any utterance has no speaker in the table of speakers.
    """
    if utterances is not None and utterances.tell_speakers:
        return matched(utterances.speakers(ids, name), speakers, utterances.name)
    components = ids.str.split_exact("/", 1).struct.field("field_0")
    place = speakers.places(components) if known else None
    if place is not None and not place.null_count():
        return place.to_numpy().astype(np.int32)
    share = speakers.choose_id(components)
    odd = _headless(components, speakers).any()
    if share < _MOST and not known and not odd and not _rewritten(components, speakers, share):
        pattern = _cased(components, speakers) or pattern_of_speakers(ids, speakers, share)
        if pattern:
            missing = ids.filter(~components.is_in(_known(speakers, share)))
            msg = (
                f"{name}: the first components of {some(missing, ids, 'utterance ids')} are no "
                f"speakers in {speakers.name}; {pattern}"
            )
            if utterances is not None:
                msg += f"; {utterances.name} has no column 'speaker'"
            raise DataError(msg)
    return matched(components, speakers, name)


def matched(found: pl.Series, speakers: Speakers, name: str) -> NDArray[np.int32]:
    """Indices of speaker ids, all of which must be in the table of speakers."""
    place = speakers.places(found)
    if place is not None and not place.null_count():
        return place.to_numpy().astype(np.int32)
    share = speakers.choose_id(found)
    if share < 1.0:
        distinct = found.unique().sort()
        missing = distinct.filter(~distinct.is_in(_known(speakers, share)))
        headless = missing.filter(_headless(missing, speakers))
        if len(headless):
            msg = (
                f"{speakers.name}: has no header, as its first row holds the speaker "
                f"{headless[0]!r}; put a row with names of the columns above it"
            )
            raise DataError(msg)
        mend = _rewritten(missing, speakers, share) or (
            "add them to it, check case and spelling, or name its id column with --id"
        )
        msg = f"{name}: {some(missing, distinct, 'speakers')} are not in {speakers.name}; {mend}"
        raise DataError(msg)
    place = speakers.places(found)
    assert place is not None
    return place.to_numpy().astype(np.int32)


def _headless(found: pl.Series, speakers: Speakers) -> pl.Series:
    """Which speakers stand where the names of the columns should."""
    return found.is_in(pl.Series([speakers.columns], dtype=pl.List(pl.String)))


def _known(speakers: Speakers, share: float) -> pl.Series:
    """Ids of the speakers, if any was found, since only then their column is known."""
    return pl.Series([list(speakers.ids) if share else []], dtype=pl.List(pl.String))


def _rewritten(found: pl.Series, speakers: Speakers, share: float) -> str:
    """What a spreadsheet did to ids of which this share is known, if it did anything."""
    if share:
        missing = found.filter(~found.is_in(_known(speakers, share)))
        return rewritten(missing.unique().sort(), speakers.ids, speakers.name)
    there = [one for column in speakers.columns for one in speakers.table_column(column)]
    return rewritten(found.unique().sort(), there, speakers.name)


def some(missing: pl.Series, every: pl.Series, what: str) -> str:
    """How many of the ids are missing, and which, for messages."""
    shown = ", ".join(repr(one) for one in missing[:_EXAMPLES])
    more = ", ..." if len(missing) > _EXAMPLES else ""
    return f"{len(missing):,} of {len(every):,} {what} ({shown}{more})"


def _differing(missing: pl.Series, known: pl.Series) -> str:
    """The mend: alike, if folders in front or an ending are all that sets each of them apart."""
    ours, theirs = (ids.str.replace(r"\.[A-Za-z0-9]{1,5}$", "") for ids in (missing, known))

    def behind(ids: pl.Series) -> list[pl.Series]:
        """The ids, each time with one folder more at most."""
        parts = ids.str.split("/")
        most = int(parts.list.len().max() or 1)  # type: ignore[arg-type]
        return [parts.list.tail(n).list.join("/") for n in range(1, most + 1)]

    is_met = ours.is_in(pl.concat(behind(theirs)).unique().implode())
    for tail in behind(ours):
        is_met |= tail.is_in(theirs.implode())
    if is_met.all():
        return "they differ from ids there by folder or ending only, so make them alike"
    return "add them to it"


def _cased(found: pl.Series, speakers: Speakers) -> str:
    """What to say of speakers that differ from those of the table in case only; else nothing."""
    for column in speakers.columns:
        ours, theirs = (
            pl.DataFrame({name: one, "plain": one.str.to_lowercase()})
            for name, one in (("mine", found), ("theirs", speakers.table_column(column)))
        )
        both = ours.join(theirs.unique("plain"), on="plain", maintain_order="left")
        odd = both.filter(pl.col("mine") != pl.col("theirs"))
        if 2 * odd.height > len(found):
            pair = f"{odd['mine'][0]!r} is {odd['theirs'][0]!r}"
            return f"they differ in upper and lower case ({pair}), so make them alike"
    return ""


def _parts(ids: pl.Series, columns: Iterable[pl.Series]) -> dict[str, pl.Series]:
    """Parts of the ids that may be speakers; null where an id has no such part."""
    path = ids.str.split("/")
    found = {
        "the text before the first '-'": ids.str.extract(r"^([^-]*)-"),
        "the text before the first '_'": ids.str.extract(r"^([^_]*)_"),
        "the text before the first '.'": ids.str.extract(r"^([^.]*)\."),
        "the second component of the path": path.list.get(1, null_on_oob=True),
        "the third component of the path": path.list.get(2, null_on_oob=True),
        "the folder of the file": path.list.get(-2, null_on_oob=True),
        "the part of the file's name before '-'": ids.str.extract(r"([^/-]*)-[^/]*$"),
        "the part of the file's name before '_'": ids.str.extract(r"([^/_]*)_[^/]*$"),
    }
    for cells in columns:  # ids of one length may begin the utterance's id, as s01u07 does
        lengths = cells.str.len_chars().unique().to_list()
        if len(lengths) == 1 and len(cells) > 1:
            beginning = ids.str.extract(rf"(?s)^(.{{{lengths[0]}}}).")
            found[f"its first {lengths[0]} characters"] = beginning
    return found


def pattern_of_speakers(ids: pl.Series, speakers: Speakers, share: float) -> str:
    """What the ids look like, and what mends it; nothing if first components fit better.

    They fit this share of the ids.
    """
    table = {column: speakers.table_column(column) for column in speakers.columns}
    best, most = "", share
    for told, parts in _parts(ids, table.values()).items():
        known = parts.drop_nulls()
        for cells in table.values():
            now = float(known.is_in(cells.implode()).sum() or 0) / max(len(ids), 1)
            if now > most:
                best, most = told, now
    mend = "give the speakers with --utterances, or as columns enrol_speaker and test_speaker"
    if best and most >= _MOST:
        return f"the speaker seems to be {best} ({most:.0%} of the ids); {mend}"
    if share:
        return ""
    for column, cells in table.items():
        if float(ids.is_in(cells.implode()).mean() or 0.0) >= _MOST:  # type: ignore[arg-type]
            return (
                f"column {column!r} there holds the utterance ids themselves, so it seems to be "
                f"no table of speakers; {mend}"
            )
    few = "no part of most of" if best else "no part of"
    return (
        f"{few} the ids is known as a speaker, so check that the tables belong together, or {mend}"
    )
