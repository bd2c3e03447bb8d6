"""Whose utterance is it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.tables.formats.scan import plain
from parivox.tables.speakers import read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.tables.speakers import Speakers

__all__ = ["Utterances", "matched", "owners", "read_utterances"]

_UTTERANCE = (
    *("utterance", "utt", "utteranceid", "uttid"),
    *("file", "path", "segment", "segmentid", "id"),
)
_SPEAKER = ("speaker", "spk", "speakerid", "spkid", "spkr")
_EXAMPLES = 3
_MOST = 0.5


@dataclass(frozen=True, eq=False)
class Utterances:
    """Table of utterances: the speaker of each.

    Attributes
    ----------
    table : DataFrame
        Columns ``row``, ``utterance`` and ``speaker``, each utterance once.
    name : str
    provenance : dict
    """

    table: pl.DataFrame
    name: str
    provenance: dict[str, Any]


def read_utterances(source: Any) -> Utterances:
    """Read a table of utterance, speaker and, if any, recording.

    Parameters
    ----------
    source
        CSV, TSV, Parquet or Arrow file, a dataframe or a mapping of arrays.

    Raises
    ------
    DataError
        If a column is missing, a cell is empty or an utterance has two speakers.
    """
    table, name, provenance = read_table(source, "utterances")
    columns = {role: _find(table, role, known, name) for role, known in
               (("utterance", _UTTERANCE), ("speaker", _SPEAKER))}  # fmt: skip
    table = table.select("row", **columns)
    for role, column in columns.items():
        empty = table.filter(pl.col(role).is_null() | (pl.col(role) == ""))
        if empty.height:
            msg = (
                f"{name}: row {empty['row'][0]}, column {column!r}: is empty; "
                "give the id, or remove the row"
            )
            raise DataError(msg)
    distinct = table.unique(["utterance", "speaker"], keep="first", maintain_order=True)
    odd = distinct.filter(pl.col("utterance").is_duplicated())
    if odd.height:
        first = odd.filter(pl.col("utterance") == odd["utterance"][0])
        rows, speakers = first["row"].to_list(), first["speaker"].to_list()
        msg = (
            f"{name}: rows {rows[0]} and {rows[1]}: utterance {first['utterance'][0]!r} has the "
            f"speakers {speakers[0]!r} and {speakers[1]!r}; keep one"
        )
        raise DataError(msg)
    return Utterances(distinct, name, {**provenance, "columns": columns})


def _find(table: pl.DataFrame, role: str, known: tuple[str, ...], name: str) -> str:
    columns = [column for column in table.columns if column != "row"]
    names = {plain(column): column for column in reversed(columns)}
    for word in known:
        if word in names:
            return names[word]
    msg = (
        f"{name}: has no column {role!r} but {', '.join(repr(c) for c in columns)}; "
        "give the columns utterance and speaker"
    )
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
    if utterances is not None:
        found = pl.DataFrame({"utterance": ids}).join(
            utterances.table, on="utterance", how="left", maintain_order="left"
        )["speaker"]
        if found.null_count():
            missing = ids.filter(found.is_null())
            msg = (
                f"{name}: {_some(missing, ids, 'utterance ids')} are not in {utterances.name}; "
                f"add them to it{_endings(missing, utterances.table['utterance'])}"
            )
            raise DataError(msg)
        return matched(found, speakers, utterances.name)
    components = ids.str.split_exact("/", 1).struct.field("field_0")
    share = speakers.choose_id(components)
    if share < _MOST and not known and not _headless(components, speakers).any():
        pattern = _pattern(ids, speakers, share)
        if pattern:
            missing = ids.filter(~components.is_in(_known(speakers, share)))
            msg = (
                f"{name}: the first components of {_some(missing, ids, 'utterance ids')} are no "
                f"speakers in {speakers.name}; {pattern}"
            )
            raise DataError(msg)
    return matched(components, speakers, name)


def matched(found: pl.Series, speakers: Speakers, name: str) -> NDArray[np.int32]:
    """Indices of speaker ids, all of which must be in the table of speakers."""
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
        msg = (
            f"{name}: {_some(missing, distinct, 'speakers')} are not in {speakers.name}; add them "
            "to it, check case and spelling, or name its id column with --id"
        )
        raise DataError(msg)
    place = found.cast(pl.Enum(speakers.ids)).to_physical()
    return place.to_numpy().astype(np.int32)


def _headless(found: pl.Series, speakers: Speakers) -> pl.Series:
    """Which speakers stand where the names of the columns should."""
    return found.is_in(pl.Series([speakers.columns], dtype=pl.List(pl.String)))


def _known(speakers: Speakers, share: float) -> pl.Series:
    """Ids of the speakers, if any was found, since only then their column is known."""
    return pl.Series([list(speakers.ids) if share else []], dtype=pl.List(pl.String))


def _some(missing: pl.Series, every: pl.Series, what: str) -> str:
    shown = ", ".join(repr(one) for one in missing[:_EXAMPLES])
    more = ", ..." if len(missing) > _EXAMPLES else ""
    return f"{len(missing):,} of {len(every):,} {what} ({shown}{more})"


def _endings(missing: pl.Series, known: pl.Series) -> str:
    """A hint where ids differ by folders and endings only."""

    def bare(ids: pl.Series) -> pl.Series:
        return ids.str.extract(r"([^/]*)$").str.replace(r"\.[A-Za-z0-9]{1,5}$", "")

    if bare(missing).is_in(bare(known).implode()).all():
        return ", where they differ by folder or ending only"
    return ""


def _pattern(ids: pl.Series, speakers: Speakers, share: float) -> str:
    """What the ids look like, and what mends it; nothing if first components fit better.

    They fit this share of the ids.
    """
    tried = {
        "the text before the first '-'": ids.str.split_exact("-", 1).struct.field("field_0"),
        "the text before the first '_'": ids.str.split_exact("_", 1).struct.field("field_0"),
        "the text before the first '.'": ids.str.split_exact(".", 1).struct.field("field_0"),
        "the second component of the path": ids.str.split("/").list.get(1, null_on_oob=True),
        "the third component of the path": ids.str.split("/").list.get(2, null_on_oob=True),
        "the folder of the file": ids.str.split("/").list.get(-2, null_on_oob=True),
        "the part of the file's name before '-'": ids.str.extract(r"([^/-]*)-[^/]*$"),
        "the part of the file's name before '_'": ids.str.extract(r"([^/_]*)_[^/]*$"),
    }
    table = [speakers.table_column(column) for column in speakers.columns]
    for column in table:  # ids of one length may begin the utterance's id, as s01u07 does
        lengths = column.str.len_chars().unique().to_list()
        if len(lengths) == 1 and len(column) > 1:
            tried[f"its first {lengths[0]} characters"] = ids.str.slice(0, lengths[0])
    best = ""
    for told, parts in tried.items():
        known = parts.drop_nulls()
        for column in table:
            now = float(known.is_in(column.implode()).sum() or 0) / max(len(ids), 1)
            if now > share:
                best, share = told, now
    mend = "give the speakers with --utterances, or as columns enrol_speaker and test_speaker"
    if share and not best:
        return ""
    if best:
        return f"the speaker seems to be {best} ({share:.0%} of the ids); {mend}"
    return (
        "no part of the ids is known as a speaker, so check that the tables belong together, "
        f"or {mend}"
    )
