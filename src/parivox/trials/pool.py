"""The recordings to draw trials from: whose they are, recorded when, and of what group."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.options.kinds import several
from parivox.read.groups import AttributeLookup, attributes_asked, make_groupings
from parivox.read.joining import listed_ids, utterance_speakers
from parivox.read.recordings import Utterances, read_utterances
from parivox.read.speakers import Speakers, read_speakers
from parivox.trials.grades import alike, grade_codes, hardest, parse_difficulty, usual
from parivox.trials.lists import recordings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.read.attributes import Attribute
    from parivox.read.grouping import OfAttribute
    from parivox.trials.pairs import Ints


@dataclass(frozen=True, eq=False)
class Classes:
    """Speakers who agree in every attribute that defines difficulty.

    Attributes
    ----------
    of_speaker : int64 ndarray of shape (speaker,)
        -1 where an attribute is unknown.
    grade : int8 ndarray of shape (class, class)
        Grade of a nontarget pair.
    hardest : int
        Grade of pairs of one class.
    """

    of_speaker: Ints
    grade: NDArray[np.int8]
    hardest: int


@dataclass(frozen=True, eq=False)
class Pool:
    """Utterances in order: of speakers by id, of each by recording, then by id.

    Attributes
    ----------
    ids : Series of str, of shape (utterance,)
    start : int64 ndarray of shape (speaker + 1,)
        Where the utterances of each speaker begin; last, how many there are.
    recording : int32 ndarray of shape (utterance,)
        Rising.
    speakers : tuple of str
        Rising.
    by : str
        The grouping.
    groups : tuple of str
    group : int32 ndarray of shape (speaker,)
        Index into `groups`, -1 for unknown.
    graded_by : tuple of str
        Attributes that define difficulty.
    usual : tuple of str
        Those that define it for a check that names none.
    values : int32 ndarray of shape (attribute, speaker)
        Value of each of them, -1 for unknown.
    texts : dict
        Those values in words, by attribute.
    people : Speakers
    table : Utterances
    """

    ids: pl.Series
    start: Ints
    recording: NDArray[np.int32]
    speakers: tuple[str, ...]
    by: str
    groups: tuple[str, ...]
    group: NDArray[np.int32]
    graded_by: tuple[str, ...]
    usual: tuple[str, ...]
    values: NDArray[np.int32]
    texts: dict[str, list[str]]
    people: Speakers
    table: Utterances

    @classmethod
    def read(
        cls,
        utterances: Any,
        speakers: Any = None,
        *,
        by: str,
        grade_by: Sequence[str] | str | None = None,
        id: str | None = None,  # noqa: A002 - the command line's word
    ) -> Pool:
        """Read what to draw from; the order of rows does not matter.

        Parameters
        ----------
        utterances
            Table with a column utterance; speaker and recording may come from the path.
        speakers
            Table of speakers; without it, attributes are columns of the utterances.
        by
            One grouping of speakers, as in ``gender+nationality``.
        grade_by
            Attributes that define difficulty, the one that weighs most first; by default those of
            `by`.
        id
            Id column of `speakers`.

        Raises
        ------
        DataError
            If an utterance stands in two rows, has no speaker or no recording.
        ConfigError
            If an attribute is not known.

        Examples
        --------
        >>> pool = Pool.read({"utterance": ["b/y/1", "a/x/1"], "sex": ["f", "m"]}, by="sex")
        >>> pool.ids.to_list(), pool.start.tolist(), pool.groups
        (['a/x/1', 'b/y/1'], [0, 1, 2], ('f', 'm'))
        """
        if not isinstance(cast("Any", by), str):
            msg = f"by={by!r} is no grouping; give one text, as in by='gender+nationality'"
            raise ConfigError(msg)
        table = read_utterances(utterances)
        if table.repeated:
            msg = (
                f"{table.name}: {table.repeated:,} of {table.table.height + table.repeated:,} rows "
                "repeat an utterance of a row above; keep each once"
            )
            raise DataError(msg)
        graded = parse_difficulty(() if grade_by is None else several(grade_by))
        people = (
            _people(table, [*attributes_asked([by]), *graded])
            if speakers is None
            else read_speakers(speakers, id=id)
        )
        ids = table.table["utterance"]
        owner = utterance_speakers(ids, people, table, table.name)
        recording = recordings_of(ids, table, owner)
        if (recording < 0).any():
            missing = ids.filter(pl.Series(recording < 0)).sort()
            msg = (
                f"{table.name}: {listed_ids(missing, ids, 'utterances')} have no recording; give a "
                "column 'recording' (or video, session, call), or ids like speaker/recording/file"
            )
            raise DataError(msg)
        present = np.unique(owner)
        grouping = make_groupings(people, [by], speakers_in_use=present)[0]
        assert grouping.of_speaker is not None
        graded = graded or parse_difficulty(grouping.attributes)
        source = AttributeLookup(people, (), None, "--grade-by")
        values = [source.values(one) for one in graded]
        order = np.lexsort((ids.rank("ordinal").to_numpy(), recording))
        counts = np.bincount(owner, minlength=len(people.ids))[present]
        return cls(
            ids.gather(order),
            np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            recording[order],
            tuple(people.ids[i] for i in present),
            by,
            grouping.groups,
            grouping.of_speaker[present],
            tuple(one.text for one in graded),
            tuple(one.text.removeprefix("speaker.") for one in usual(people, [grouping])),
            np.array([_known(one)[present] for one in values], dtype=np.int32),
            {one.attribute.text: one.values for one in values},
            people,
            table,
        )

    @property
    def is_usual(self) -> bool:
        """Whether a check that names no attributes grades trials as this pool does."""
        return [one.lower() for one in self.usual] == [one.lower() for one in self.graded_by]

    @cached_property
    def sizes(self) -> Ints:
        """Utterances of each speaker."""
        return np.diff(self.start)

    @cached_property
    def recording_end(self) -> Ints:
        """Where the utterances of each utterance's recording end."""
        return np.searchsorted(self.recording, self.recording, side="right")

    @cached_property
    def owner(self) -> Ints:
        """Speaker of each utterance."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    @cached_property
    def classes(self) -> Classes:
        """Speakers by what defines difficulty."""
        known = (self.values >= 0).all(axis=0)
        found, codes = np.unique(self.values[:, known], axis=1, return_inverse=True)
        of_speaker = np.full(known.size, -1, dtype=np.int64)
        of_speaker[known] = codes.ravel()
        n = found.shape[1]
        one, other = (side.ravel() for side in np.indices((n, n)))
        shared = [alike(of[one], of[other]) for of in found]
        no = np.zeros(one.size, dtype=np.int8)
        grade = grade_codes(no, no, shared).reshape(n, n)
        return Classes(of_speaker, grade, hardest(len(self.graded_by)))

    def sha256(self) -> dict[str, str]:
        """Hashes of what is drawn from, whatever the order and the format of the files."""
        told = hashlib.sha256("\n".join(self.ids.to_list()).encode())
        told.update(self.start.astype("<i8").tobytes())
        told.update(self.recording.astype("<i4").tobytes())
        known = hashlib.sha256("\n".join((*self.speakers, self.by, *self.groups)).encode())
        known.update(self.group.astype("<i4").tobytes())
        known.update("\n".join(("", *self.graded_by)).encode())
        known.update(self.values.astype("<i4").tobytes())
        return {"utterances": told.hexdigest(), "speakers": known.hexdigest()}


def _known(one: OfAttribute) -> NDArray[np.int32]:
    """Value of each speaker: attributes of recordings or trials are not looked for here."""
    assert one.of_speaker is not None
    return one.of_speaker


def _people(table: Utterances, asked: Sequence[Attribute]) -> Speakers:
    """Speakers as the table of utterances tells of them."""
    ids = table.table["utterance"]
    speaker = table.table["speaker"] if table.tell_speakers else ids.str.split("/").list.first()
    lower = {one.name.lower() for one in asked}
    kept = [name for name in table.attributes.columns if name.lower() in lower]
    rows = table.table.select("row", speaker.alias("speaker"))
    if "speaker" in kept or "row" in kept:
        msg = f"--by: 'speaker' is no attribute of {table.name}; name one of a speaker's attributes"
        raise ConfigError(msg)
    frame = rows.hstack(table.attributes.select(pl.col(kept).fill_null("")))
    return Speakers(frame, name=table.name, id="speaker", conflicts="error", provenance={})
