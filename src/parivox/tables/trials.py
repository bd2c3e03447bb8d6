"""Scored trials, encoded: two utterance numbers, a label and a score each.

Ids become numbers once, here; everything later works on these. The trials stand in canonical
order (by the ids of both sides), so that nothing depends on the order of rows in a file. Files
with more than :data:`LARGE` trials are not held in memory: they are spilt into partitions by a
hash of the pair of ids, each of which is then checked and put in order by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.tables.canonical import Encoded, Trials, canonical
from parivox.tables.formats import read_raw
from parivox.tables.notes import DataNote
from parivox.tables.roles import LABELS
from parivox.tables.spill import Spill
from parivox.tables.utterances import read_utterances, speakers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.tables.formats.raw import Raw
    from parivox.tables.speakers import Speakers, SpeakerSheet
    from parivox.tables.utterances import UtteranceTable

__all__ = ["LARGE", "TrialSet", "Trials", "read_trials"]

LARGE = 20_000_000
"""Trials beyond which a Parquet or Arrow file is read bit by bit."""


@dataclass(frozen=True, eq=False)
class TrialSet:
    """The trials of one system on one list.

    Attributes
    ----------
    system, list : str
    speakers : Speakers
    utterance_ids : Series of str
        In rising order.
    utterance_speaker : int32 ndarray of shape (utterance,)
        Place of each utterance's speaker among the speakers.
    n_trials : int
        Trials that have a score, contradicting ones included.
    n_partitions : int
    score_range : pair of float
        Smallest and largest finite score.
    data : list of DataNote
    content_sha256 : str
        Of the encoded trials; the same whatever the order or format of the file.
    provenance : list of dict
    """

    system: str
    list: str
    speakers: Speakers
    utterance_ids: pl.Series
    utterance_speaker: NDArray[np.int32]
    n_trials: int
    n_partitions: int
    score_range: tuple[float, float]
    data: list[DataNote]
    content_sha256: str
    provenance: list[dict[str, Any]]
    _parts: tuple[Trials, ...] = field(default=(), repr=False)
    _spill: Spill | None = field(default=None, repr=False)

    def partitions(self) -> Iterator[Trials]:
        """The trials, partition by partition; may be called again."""
        return iter(self._parts) if self._spill is None else self._spill.partitions()


def read_trials(
    source: Any,
    *,
    system: str,
    list_: str,
    speakers: SpeakerSheet,
    trials: Any = None,
    utterances: UtteranceTable | None = None,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    orientation: str | None = None,
    conflicts: str = "error",
) -> TrialSet:
    """Read, join, check and encode the scores of one system on one list.

    Parameters
    ----------
    source
        Scores: a path, ``-``, a dataframe or a mapping of arrays.
    system, list_
        What they are called.
    speakers
        The speaker table.
    trials
        A separate trial list; trials are those of the list, joined on the pair of ids.
    utterances
        Whose voice utterances are, where their ids do not tell.
    format, columns
        Of the score file, where they are not found by themselves.
    orientation
        ``"distance"`` negates the scores.
    conflicts
        ``"error"`` or ``"set-aside"``.

    Raises
    ------
    DataError
        If the files do not hold what they must.
    """
    scores = read_raw(source, format=format, columns=columns)
    roles = scores.frame.collect_schema().names()
    if "score" not in roles:
        msg = (
            f"{scores.name}: has no column of scores (found {', '.join(roles)}); name it with "
            "--columns score=..., or give the scores as SCORES and this file as --trials"
        )
        raise DataError(msg)
    listed = None if trials is None else read_raw(trials)
    raws = [raw for raw in (scores, listed) if raw is not None]
    ids = _all_ids(raws)
    people, owner, how = speakers_of(
        scores.name, ids, speakers, explicit=_explicit(raws), utterances=utterances
    )
    strict = conflicts != "set-aside"
    sign = -1.0 if orientation == "distance" else 1.0
    provenance = [_told(raw, kind) for raw, kind in zip(raws, ("scores", "trials"), strict=False)]
    provenance[0]["speakers_from"] = how
    if utterances is not None:
        provenance.append(utterances.provenance)
    base = {
        "system": system,
        "list": list_,
        "speakers": people,
        "utterance_ids": ids,
        "utterance_speaker": owner,
        "provenance": provenance,
    }
    ignored = [
        DataNote("scores", f"columns without a role: {', '.join(raw.ignored)}", len(raw.ignored), "not read")
        for raw in raws
        if raw.ignored
    ]
    n_rows = int(scores.frame.select(pl.len()).collect().item())
    if not n_rows:
        msg = f"{scores.name}: has a header but no rows; give one trial a row"
        raise DataError(msg)
    if listed is None and n_rows > LARGE:
        spill = Spill(n_rows, ids, owner, scores, strict=strict)
        for start in range(0, n_rows, Spill.SLICE):
            frame = scores.frame.slice(start, Spill.SLICE).collect()
            spill.add(_encoded(scores, frame, ids, sign, first=start))
        found = spill.finish()
        digest, parts = spill.content_sha256(ids), ()
        n_partitions = spill.n_partitions
    else:
        encoded = _encoded(scores, scores.frame.collect(), ids, sign)
        joined: list[DataNote] = []
        if listed is not None:
            encoded, joined = _joined(encoded, scores, listed, ids, owner, strict=strict)
        part, found = canonical(encoded, ids, owner, listed or scores, strict=strict)
        found = [*joined, *found]
        spill, parts, n_partitions = None, (part,), 1
        digest = _digest(ids, part)
    score_range = spill.score_range if spill is not None else _range(parts[0].score)
    n_trials = spill.n_trials if spill is not None else parts[0].score.size
    if not n_trials:
        msg = f"{scores.name}: no trial has a score; give the scores that belong to these trials"
        raise DataError(msg)
    notes = [
        DataNote("scores", "rows read", n_rows),
        *(note for note in (*found, *ignored, *people.notes) if note.count),
    ]
    return TrialSet(
        **base,
        n_trials=n_trials,
        n_partitions=n_partitions,
        score_range=score_range,
        data=notes,
        content_sha256=digest,
        _parts=parts,
        _spill=spill,
    )


def _told(raw: Raw, kind: str) -> dict[str, Any]:
    return {
        "name": raw.name,
        "kind": kind,
        "format": raw.format,
        "compression": raw.compression,
        "sha256": raw.sha256,
        "columns": raw.columns,
    }


def _all_ids(raws: list[Raw]) -> pl.Series:
    """Every utterance id of every file, once, in rising order."""
    found = [
        raw.frame.select(pl.col(side).unique()).collect(engine="streaming")[side].rename("id")
        for raw in raws
        for side in ("enrol", "test")
    ]
    ids = pl.concat(found).unique().sort()
    blank = ids.filter(ids.is_null() | (ids.str.strip_chars() == ""))
    if len(blank) and any(_blank_rows(raw) for raw in raws):
        raw, row, side = next(hit for raw in raws if (hit := _first_blank(raw)))
        msg = f"{raw.at(row, side)}: the id is blank; fill it in or leave the row out"
        raise DataError(msg)
    return ids.filter(ids.is_not_null() & (ids.str.strip_chars() != ""))


def _blank_rows(raw: Raw) -> bool:
    return _first_blank(raw) is not None


def _first_blank(raw: Raw) -> tuple[Raw, int, str] | None:
    """The first row that lacks an id but is not a blank line."""
    frame = raw.frame.with_row_index("#").filter(~_blank_line(raw)).collect()
    for side in ("enrol", "test"):
        lost = frame.filter(pl.col(side).is_null() | (pl.col(side).str.strip_chars() == ""))
        if lost.height:
            return raw, int(lost["#"][0]), side
    return None


def _blank_line(raw: Raw) -> pl.Expr:
    return pl.all_horizontal(
        pl.col(role).is_null() for role in raw.frame.collect_schema().names()
    )


def _explicit(raws: list[Raw]) -> pl.DataFrame | None:
    """Speakers that the files name beside the utterances."""
    found = []
    for raw in raws:
        names = raw.frame.collect_schema().names()
        if "enrol_speaker" not in names or "test_speaker" not in names:
            continue
        for side in ("enrol", "test"):
            pairs = raw.frame.select(
                pl.col(side).alias("utterance"), pl.col(f"{side}_speaker").alias("speaker")
            )
            found.append(pairs.unique().collect(engine="streaming"))
    if not found:
        return None
    both = pl.concat(found).drop_nulls().unique().sort("utterance", "speaker")
    torn = both.filter(pl.col("utterance").is_duplicated())
    if torn.height:
        one, other = torn["speaker"][0], torn["speaker"][1]
        msg = (
            f"{raws[0].name}: utterance {torn['utterance'][0]} is given the speakers {one} and {other}; "
            "keep one of them"
        )
        raise DataError(msg)
    return both


def _encoded(
    raw: Raw, frame: pl.DataFrame, ids: pl.Series, sign: float, first: int = 0
) -> Encoded:
    """Numbers for ids, labels and scores; blank lines left out."""
    row = np.arange(first, first + frame.height, dtype=np.uint32)
    blank = frame["enrol"].is_null() & frame["test"].is_null()
    if blank.any():
        keep = ~blank
        frame, row = frame.filter(keep), row[keep.to_numpy()]
    places = pl.Enum(ids)
    enrol, test = (
        frame[side].cast(places).to_physical().to_numpy().astype(np.int32)
        for side in ("enrol", "test")
    )
    score = np.full(row.size, np.nan) if "score" not in frame.columns else _scores(raw, frame, row)
    label = np.full(row.size, -1, dtype=np.int8)
    if "label" in frame.columns:
        label = _labels(raw, frame["label"], row)
    return Encoded(enrol, test, label, sign * score + 0.0, row)


def _scores(raw: Raw, frame: pl.DataFrame, row: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Scores as numbers; an empty cell is NaN, the word nan or a text is an error."""
    cells = frame["score"]
    if cells.dtype == pl.String:
        empty = cells.is_null()
        numbers = cells.cast(pl.Float64, strict=False)
        if (numbers.is_null() & ~empty).any():
            cells = cells.str.strip_chars()
            empty = empty | (cells == "").fill_null(value=False)
            numbers = cells.cast(pl.Float64, strict=False)
    else:
        empty = cells.is_null()
        numbers = cells.cast(pl.Float64)
    odd = (numbers.is_null() | numbers.is_nan()) & ~empty
    if odd.any():
        at = int(odd.arg_max() or 0)
        msg = (
            f"{raw.at(int(row[at]), 'score')}: {cells[at]!r} is not a score; write a number, or leave "
            "the cell empty for a trial without score"
        )
        raise DataError(msg)
    return numbers.fill_null(np.nan).to_numpy().astype(np.float64)


def _labels(raw: Raw, cells: pl.Series, row: NDArray[np.uint32]) -> NDArray[np.int8]:
    """Labels as 1 and 0."""
    spelt = cells.unique()
    known = {
        text: LABELS[text.strip().lower()]
        for text in spelt.drop_nulls().to_list()
        if text.strip().lower() in LABELS
    }
    found = cells.replace_strict(
        list(known), [int(label) for label in known.values()], default=None, return_dtype=pl.Int8
    ) if known else pl.Series([None] * len(cells), dtype=pl.Int8)
    if found.null_count():
        at = int(found.is_null().arg_max() or 0)
        msg = (
            f"{raw.at(int(row[at]), 'label')}: {cells[at]!r} is not a label; write 1 or target, 0 or "
            "nontarget"
        )
        raise DataError(msg)
    return found.to_numpy().astype(np.int8)


def _joined(
    scored: Encoded,
    scores: Raw,
    listed: Raw,
    ids: pl.Series,
    owner: NDArray[np.int32],
    *,
    strict: bool,
) -> tuple[Encoded, list[DataNote]]:
    """Give the trials of a list the scores of the same pair of ids."""
    names = listed.frame.collect_schema().names()
    if "score" in names:
        listed = replace(listed, frame=listed.frame.drop("score"))
    wanted = _encoded(listed, listed.frame.collect(), ids, 1.0)
    part, notes = canonical(scored, ids, owner, scores, strict=strict, check_labels=False)
    n = len(ids)
    have = part.enrol.astype(np.int64) * n + part.test
    want = wanted.enrol.astype(np.int64) * n + wanted.test
    if have.size:
        place = np.minimum(np.searchsorted(have, want), have.size - 1)
        hit = have[place] == want
        wanted.score[hit] = part.score[place[hit]]
        wanted.torn[hit] = part.conflict[place[hit]]
        if (scored.label >= 0).any():
            _agree(scores, listed, part, wanted, place, hit, ids)
    unused = int((~np.isin(have, want)).sum()) if have.size else 0
    notes = [note for note in notes if note.count] + [
        DataNote("scores", "scores of pairs that the trial list does not hold", unused, "set aside")
    ]
    return wanted, notes


def _agree(
    scores: Raw,
    listed: Raw,
    part: Trials,
    wanted: Encoded,
    place: NDArray[np.intp],
    hit: NDArray[np.bool_],
    ids: pl.Series,
) -> None:
    """Labels of both files must be the same."""
    both = hit & (wanted.label >= 0)
    torn = both & (wanted.label != part.target[place])
    if torn.any():
        at = int(torn.argmax())
        msg = (
            f"{listed.at(int(wanted.row[at]), 'label')}: the trial {ids[int(wanted.enrol[at])]} "
            f"{ids[int(wanted.test[at])]} has another label in {scores.name}; mend one of the files"
        )
        raise DataError(msg)


def _digest(ids: pl.Series, part: Trials) -> str:
    digest = sha256("\n".join(ids.to_list()).encode())
    digest.update(part.digest())
    return digest.hexdigest()


def _range(score: NDArray[np.float64]) -> tuple[float, float]:
    finite = score[np.isfinite(score)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
