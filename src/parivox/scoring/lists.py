"""Trials to be scored: a list in any format, in chunks of one size, and what it enrols."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.core.counts import TRIAL_CLASSES
from parivox.data.columns import RequestedColumns
from parivox.data.formats import scan
from parivox.data.ids import positions_in
from parivox.data.joining import listed_ids
from parivox.data.recordings import read_models
from parivox.data.trial_rows import trial_chunks
from parivox.data.trial_values import labels
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.data.formats.format import Scan


CHUNK = 1 << 18
"""Trials at once: what memory depends on, in place of the length of the list."""


@dataclass(frozen=True, eq=False)
class ListToScore:
    """Trials in the order of their list."""

    name: str
    sha256: str  # of what the list holds
    rows: int  # trials
    enrol: pl.Series  # distinct ids of enrolments, in rising order
    test: pl.Series  # distinct ids of test recordings, in rising order
    _scan: Scan = field(repr=False)

    def chunks(self, size: int = CHUNK) -> Iterator[pl.DataFrame]:
        """Columns ``enrol``, ``test`` and perhaps ``label``, so many rows at once."""
        # Chunks of one size, whatever those of the reader: parts of a run are numbered by them.
        frames, height = [], 0
        for frame in _frames(self._scan):
            frames.append(frame)
            height += frame.height
            if height >= size:
                collected = pl.concat(frames)
                n_complete = height - height % size
                yield from (collected[start : start + size] for start in range(0, n_complete, size))
                frames, height = [collected[n_complete:]], height - n_complete
        if height:
            yield pl.concat(frames)


def read_list(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002 - the option's name
    columns: Mapping[str, str] | None = None,
) -> ListToScore:
    """Read a list of trials; scores in it do not count.

    It is a path, ``-`` for standard input, a dataframe or a mapping of arrays, in the `format` that
    its content tells unless given, and with the user's `columns` of enrol, test and label. No
    trial, an empty cell, or a label that is none is an error.

    >>> rows = {"enrol": ["a/1", "b/1"], "test": ["a/2", "a/2"], "label": [1, 0]}
    >>> trials = read_list(rows)
    >>> trials.rows, trials.test.to_list(), next(trials.chunks())["label"].to_list()
    (2, ['a/2'], ['target', 'nontarget'])
    """
    user_columns = RequestedColumns(dict(columns or {}), option="--trials-format")
    scanned = scan(source, columns=user_columns, format=format, name="trials")
    digest = hashlib.sha256(repr(sorted(scanned.columns.items())).encode())
    if scanned.content is not None:
        digest.update(scanned.content.sha256.encode())
    rows = 0
    distinct: dict[str, list[pl.Series]] = {"enrol": [], "test": []}
    # Only distinct ids stay in memory: a list may have 100 million rows.
    for frame in _frames(scanned):
        rows += frame.height
        for side, id_chunks in distinct.items():
            id_chunks.append(frame[side].unique())
            if len(id_chunks) > 8:
                id_chunks[:] = [pl.concat(id_chunks).unique()]
        if scanned.content is None:
            content = io.BytesIO()
            frame.write_ipc(content)
            digest.update(content.getbuffer())
    enrol, test = (pl.concat(id_chunks).unique().sort() for id_chunks in distinct.values())
    return ListToScore(scanned.name, digest.hexdigest(), rows, enrol, test, scanned)


def _frames(scanned: Scan) -> Iterator[pl.DataFrame]:
    """The list in the pieces that it is read in."""
    for chunk in trial_chunks(scanned):
        frame = pl.DataFrame({role: chunk.ids(role) for role in ("enrol", "test")})
        if "label" in chunk.columns:
            words = pl.Series(TRIAL_CLASSES).gather(labels(chunk))
            frame = frame.with_columns(label=words)
        yield frame


def recording_places(
    ids: pl.Series,
    known_ids: pl.Series,
    *,
    asking: str,
    source: str,
    mend: str,
    plural: str = "recordings",
) -> NDArray[np.int32]:
    """Place of each of some distinct ids among those of a source; one that it lacks is an error."""
    positions = positions_in(ids, known_ids)
    if (positions < 0).any():
        missing = ids.filter(pl.Series(positions < 0))
        mend = f"{mend}, or make the ids alike"
        if missing.is_in(known_ids.str.replace_all("@", "/").implode()).any():
            mend = "save the ids with / instead of @, which NeMo writes"
        msg = f"{asking}: {listed_ids(missing, ids, plural)} are not in {source}"
        raise DataError(msg, mend)
    return positions


@dataclass(frozen=True, eq=False)
class Enrolments:
    """The recordings of each enrolment id."""

    recordings: pl.Series  # distinct ids of the recordings, in rising order
    member_starts: NDArray[np.int64]
    """Where the members of each enrolment begin, and where the last one's end."""
    members: NDArray[np.int32]  # places in `recordings`
    are_models: bool  # whether a table of models told

    def recordings_with(self, test: pl.Series) -> pl.Series:
        """Distinct ids of the recordings of either side, in rising order."""
        return pl.concat([self.recordings, test]).unique().sort()

    def without_failed(self, is_good: NDArray[np.bool_]) -> Enrolments:
        """The same without the recordings that failed; an enrolment may have none left."""
        is_good_member = is_good[self.members]
        n_good_members = np.add.reduceat(is_good_member.astype(np.int64), self.member_starts[:-1])
        member_starts = np.concatenate(([0], np.cumsum(n_good_members)))
        return Enrolments(
            self.recordings, member_starts, self.members[is_good_member], self.are_models
        )


def read_enrolments(trials: ListToScore, models: Any = None) -> Enrolments:
    """The recordings of each enrolment id of a list, in the order of its ``enrol``.

    They stand in a table of models, which must have them all; without it, each id is that of one
    recording.
    """
    ids = trials.enrol
    if models is None:
        everyone = np.arange(len(ids), dtype=np.int32)
        return Enrolments(ids, np.arange(len(ids) + 1), everyone, are_models=False)
    model_table = read_models(models)
    if not model_table.table.height:
        msg = (
            f"{model_table.name}: has no column 'recording', but models are scored by their "
            "recordings"
        )
        hint = "rename or add the column"
        raise DataError(msg, hint)
    enrolment_positions, recording = model_table.recordings(ids)
    n_members = np.bincount(enrolment_positions, minlength=len(ids))
    if (n_members == 0).any():
        missing = ids.filter(pl.Series(n_members == 0))
        msg = (
            f"{trials.name}: {listed_ids(missing, ids, 'enrolment ids')} are not models in "
            f"{model_table.name}"
        )
        hint = "add the models to this table"
        raise DataError(msg, hint)
    recordings = recording.unique().sort()
    member_starts = np.concatenate(([0], np.cumsum(n_members)))
    return Enrolments(
        recordings, member_starts, positions_in(recording, recordings), are_models=True
    )
