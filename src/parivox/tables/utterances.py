"""Whose voice an utterance is, and which recording it is from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.tables.sheet import read_sheet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.tables.sheet import Sheet
    from parivox.tables.speakers import Speakers, SpeakerSheet

__all__ = ["UtteranceTable", "read_utterances", "speakers_of"]

_NAMES = {
    "utterance": "utterance utt utterance_id utt_id uttid file path wav segment segment_id id".split(),
    "speaker": "speaker spk speaker_id spk_id spkid speakerid".split(),
    "recording": "recording recording_id session session_id video rec".split(),
}


@dataclass(frozen=True, eq=False)
class UtteranceTable:
    """Speaker and recording of utterances: columns utterance, speaker, recording (or not)."""

    name: str
    frame: pl.DataFrame
    provenance: dict[str, Any]


def read_utterances(source: Any) -> UtteranceTable:
    """Read a table of utterances.

    Raises
    ------
    DataError
        If it lacks a column, or gives an utterance two speakers.
    """
    sheet = read_sheet("utterances", source)
    columns = {role: _column(sheet, role) for role in _NAMES}
    for role in ("utterance", "speaker"):
        if columns[role] is None:
            msg = (
                f"{sheet.name}: no column for the {role} among {', '.join(sheet.columns)}; call it "
                f"{role}"
            )
            raise DataError(msg)
    frame = sheet.frame.select(
        "", *(pl.col(column).alias(role) for role, column in columns.items() if column)
    )
    blank = frame.filter(pl.col("utterance").is_null() | pl.col("speaker").is_null())
    if blank.height:
        msg = f"{sheet.name}, row {blank[''][0]}: the utterance or its speaker is blank; fill it in"
        raise DataError(msg)
    frame = frame.unique([c for c in frame.columns if c], keep="first", maintain_order=True)
    if frame["utterance"].n_unique() < frame.height:
        first = frame.filter(pl.col("utterance").is_duplicated())["utterance"][0]
        rows = frame.filter(pl.col("utterance") == first)
        msg = (
            f"{sheet.name}, rows {rows[''][0]} and {rows[''][1]}: utterance {first} has two speakers "
            "or recordings; keep one of them"
        )
        raise DataError(msg)
    return UtteranceTable(sheet.name, frame.drop(""), sheet.provenance)


def _column(sheet: Sheet, role: str) -> str | None:
    plain = {re.sub(r"[\s\-]+", "_", column.lower()): column for column in sheet.columns}
    return next((plain[name] for name in _NAMES[role] if name in plain), None)


def speakers_of(
    name: str,
    ids: pl.Series,
    people: SpeakerSheet,
    *,
    explicit: pl.DataFrame | None = None,
    utterances: UtteranceTable | None = None,
) -> tuple[Speakers, NDArray[np.int32], str]:
    """Speaker of every utterance.

    Parameters
    ----------
    name
        The score file, for messages.
    ids
        Utterance ids, each once.
    people
        The speaker table.
    explicit
        Columns utterance and speaker, where the score file itself tells.
    utterances
        The table of utterances, where there is one.

    Returns
    -------
    speakers : Speakers
    index : int32 ndarray of shape (utterance,)
        Place of each utterance's speaker among ``speakers.ids``.
    how : str
        In words, for the record.

    Raises
    ------
    DataError
        If an utterance has no speaker, or a speaker is not in the table.
    """
    if explicit is not None:
        told, how = explicit, "columns of the score file"
    elif utterances is not None:
        told, how = utterances.frame, f"the table {utterances.name}"
    else:
        told, how = None, "the first part of the path"
    if told is None:
        owner = _component(ids, 0)
    else:
        owner = ids.to_frame("utterance").join(
            told.select("utterance", "speaker"), on="utterance", how="left", maintain_order="left"
        )["speaker"]
        if owner.null_count():
            lost = ids.filter(owner.is_null())
            msg = (
                f"{name}: {len(lost):,} of {len(ids):,} utterances are not in {how}, such as "
                f"{_examples(lost)}; add them, or write ids as that table does"
            )
            raise DataError(msg)
    candidates = owner.unique()
    speakers = people.settled(candidates)
    place = pl.DataFrame({"id": speakers.ids, "place": np.arange(len(speakers.ids), dtype=np.int32)})
    found = owner.to_frame("id").join(place, on="id", how="left", maintain_order="left")["place"]
    if found.null_count():
        raise _unmatched(name, ids, owner, found.is_null(), speakers, how)
    return speakers, found.to_numpy().astype(np.int32), how


def _component(ids: pl.Series, place: int) -> pl.Series:
    """One part of a path, counted from its beginning."""
    plain = ids.str.replace(r"^(\./)+", "")
    return plain.str.split("/").list.get(place, null_on_oob=True)


def _examples(ids: pl.Series) -> str:
    return ", ".join(ids.head(3).to_list())


def _unmatched(
    name: str, ids: pl.Series, owner: pl.Series, lost: pl.Series, speakers: Speakers, how: str
) -> DataError:
    missing = owner.filter(lost).drop_nulls().unique().sort()
    hint = _pattern(ids, speakers) or (
        f"give a table with --utterances (utterance, speaker, recording), or name the id column of "
        f"{speakers.name} with --id (it has {', '.join((speakers.id_column, *speakers.attributes.columns))})"
    )
    return DataError(
        f"{name}: {len(missing):,} of {owner.n_unique():,} speakers, taken from {how}, are not in column "
        f"{speakers.id_column} of {speakers.name}, such as {_examples(missing)}; {hint}"
    )


def _pattern(ids: pl.Series, speakers: Speakers) -> str:
    """The pattern that ids seem to follow, if another one matches the speakers."""
    sample = ids.head(2000)
    known = speakers.ids.implode()
    tries = {
        **{f"part {i + 1} of the path": _component(sample, i) for i in range(1, 6)},
        **{
            f"the text before the first {sign!r}": sample.str.split(sign).list.get(0)
            for sign in ("-", "_", ".", "+")
        },
        "the file's name without its ending": sample.str.extract(r"([^/]+?)(?:\.\w+)?$"),
    }
    best, share = "", 0.0
    for words, found in tries.items():
        matched = float(found.is_in(known).fill_null(value=False).mean() or 0.0)  # type: ignore[arg-type]
        if matched > share:
            best, share = words, matched
    if share < 0.5:
        return ""
    return (
        f"{best} seems to be the speaker ({100 * share:.0f} % match): give a table with --utterances "
        "(utterance, speaker, recording) that says so"
    )
