"""What lists are drawn from, and how: a pool of recordings with their speakers, and a design."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import polars as pl

from parivox.data.joining import listed_ids, utterance_speakers
from parivox.data.recording_names import recording_names
from parivox.data.recordings import Utterances, read_utterances
from parivox.data.requested_groupings import AttributeLookup, attributes_asked, make_groupings
from parivox.data.speakers import Speakers, read_speakers
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError, name_hint
from parivox.options.kinds import as_tuple
from parivox.trials.grades import grade_codes, hardest
from parivox.trials.lists import (
    agreement_codes,
    numbered_recordings,
    parse_difficulty,
    usual_difficulty,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import Attribute
    from parivox.trials.pairs import Draws, Ints

    Sides = tuple[Ints, Ints]
    """Enrolment and test utterances."""

TRIALS_PER_CHUNK = 1 << 20
"""Trials drawn and written at once, about."""


class DifficultyClasses(NamedTuple):
    """Speakers who agree in every attribute that defines difficulty."""

    of_speaker: Ints  # class of each speaker, -1 where an attribute is not known
    grade: NDArray[np.int8]  # of a nontarget pair: [class, class]


@dataclass(frozen=True, eq=False)
class Pool:
    """Utterances in order: of speakers by id, of each by recording, then by id."""

    ids: pl.Series  # of the utterances
    start: Ints  # where the utterances of each speaker begin; last, how many there are
    recording: NDArray[np.int32]  # of each utterance, rising
    speakers: tuple[str, ...]  # rising
    by: str  # the grouping
    groups: tuple[str, ...]
    group: NDArray[np.int32]  # of each speaker, an index into `groups`; -1 for unknown
    graded_by: tuple[str, ...]  # attributes that define difficulty
    usual: tuple[str, ...]  # those that define it for a check that names none
    values: NDArray[np.int32]  # of `graded_by`: [attribute, speaker], -1 for unknown
    texts: dict[str, list[str]]  # those values in words, by attribute
    people: Speakers
    table: Utterances
    warning: str  # why folders may be no recordings; empty where they are

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

        Without a table of speakers, their attributes are columns of the utterances; without
        `grade_by`, the attributes of `by` define difficulty.

        >>> pool = Pool.read({"utterance": ["b/y/1", "a/x/1"], "sex": ["f", "m"]}, by="sex")
        >>> pool.ids.to_list(), pool.start.tolist(), pool.groups
        (['a/x/1', 'b/y/1'], [0, 1, 2], ('f', 'm'))
        """
        if not isinstance(cast("Any", by), str):
            msg = f"by={by!r} is not a grouping; give one text, as in by='gender+nationality'"
            raise ConfigError(msg)
        table = read_utterances(utterances)
        if not table.table.height:
            msg = f"--utterances {table.name!r} is a pattern; give a table of what there is to draw"
            raise ConfigError(msg)
        if table.repeated:
            msg = (
                f"{table.name}: {table.repeated:,} of {table.table.height + table.repeated:,} rows "
                "repeat an utterance of a row above; keep each once"
            )
            raise DataError(msg)
        if speakers is None:
            table.refuse_nobody()
        graded = parse_difficulty(() if grade_by is None else as_tuple(grade_by))
        people = (
            _people(table, [*attributes_asked([by]), *graded])
            if speakers is None
            else read_speakers(speakers, id=id)
        )
        ids = table.table["utterance"]
        owner = utterance_speakers(ids, people, table, table.name)
        names = recording_names(ids, table, owner)
        recording = numbered_recordings(names, owner, is_asked=True)
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
        source = AttributeLookup(people, (), None, "--grade-by")
        attributes = [source.values(one) for one in graded or parse_difficulty(grouping.attributes)]
        order = np.lexsort((ids.rank("ordinal").to_numpy(), recording))
        counts = np.bincount(owner, minlength=len(people.ids))[present]
        usual = usual_difficulty(people, [grouping])
        # of speakers all of them: attributes of recordings or trials are not looked for here
        of_speaker = [cast("NDArray[np.int32]", one.of_speaker)[present] for one in attributes]
        return cls(
            ids.gather(order),
            np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            recording[order],
            tuple(people.ids[i] for i in present),
            by,
            grouping.groups,
            grouping.of_speaker[present],
            tuple(one.attribute.text for one in attributes),
            tuple(one.text.removeprefix("speaker.") for one in usual),
            np.array(of_speaker, dtype=np.int32),
            {one.attribute.text: one.values for one in attributes},
            people,
            table,
            names.warning,
        )

    @property
    def is_usual(self) -> bool:
        """Whether a check that names no attributes grades trials as this pool does."""
        return [one.lower() for one in self.usual] == [one.lower() for one in self.graded_by]

    @property
    def hardest(self) -> int:
        """The grade of pairs of one class."""
        return hardest(len(self.graded_by))

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
    def classes(self) -> DifficultyClasses:
        """Speakers by what defines difficulty."""
        known = (self.values >= 0).all(axis=0)
        distinct, codes = np.unique(self.values[:, known], axis=1, return_inverse=True)
        of_speaker = np.full(known.size, -1, dtype=np.int64)
        of_speaker[known] = codes.ravel()
        n = distinct.shape[1]
        one, other = (side.ravel() for side in np.indices((n, n)))
        shared = [agreement_codes(values[one], values[other]) for values in distinct]
        no = np.zeros(one.size, dtype=np.int8)
        return DifficultyClasses(of_speaker, grade_codes(no, no, shared).reshape(n, n))

    def ids_sha256(self) -> dict[str, str]:
        """Hashes of the ids that are drawn from, whatever the order and the format of the files.

        They travel with the lists, so they cover no attribute, which could be guessed.
        """
        utterances = hashlib.sha256("\n".join(self.ids.to_list()).encode())
        utterances.update(self.start.astype("<i8").tobytes())
        utterances.update(self.recording.astype("<i4").tobytes())
        speakers = hashlib.sha256("\n".join(self.speakers).encode())
        return {"utterances": utterances.hexdigest(), "speakers": speakers.hexdigest()}

    def speakers_by_group(self, is_in: NDArray[np.bool_]) -> dict[str, int]:
        """How many of these speakers each group has, where it has any."""
        groups = self.group[is_in & (self.group >= 0)]
        counts = np.bincount(groups, minlength=len(self.groups)).tolist()
        return {group: n for group, n in zip(self.groups, counts, strict=True) if n}


def group_positions(groups: Sequence[str], by: str, asked: Sequence[str] | str | None) -> Ints:
    """Places of the groups that take part: those asked for, or all.

    >>> group_positions(("f", "m"), "gender", "m").tolist()
    [1]
    """
    if asked is None:
        return np.arange(len(groups))
    names = as_tuple(asked)
    for one in names:
        if one not in groups:
            msg = f"--groups {one!r}: is not a group of {by}; {name_hint(str(one), groups)}"
            raise ConfigError(msg)
    return np.unique([groups.index(one) for one in names])


def _people(table: Utterances, asked: Sequence[Attribute]) -> Speakers:
    """Speakers as the table of utterances describes them."""
    ids = table.table["utterance"]
    speaker = table.table["speaker"] if table.tell_speakers else ids.str.split("/").list.first()
    lower = {one.name.lower() for one in asked}
    kept = [name for name in table.attributes.columns if name.lower() in lower]
    if "speaker" in kept or "row" in kept:
        msg = (
            f"--by: 'speaker' is not an attribute of {table.name}; name one of a speaker's "
            "attributes"
        )
        raise ConfigError(msg)
    rows = table.table.select("row", speaker.alias("speaker"))
    frame = rows.hstack(table.attributes.select(pl.col(kept).fill_null("")))
    return Speakers(frame, name=table.name, id="speaker", conflicts="error", provenance={})


class TrialChunk(NamedTuple):
    """Trials, by their utterances' places in the pool."""

    enrol: Ints
    test: Ints
    target: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Design:
    """A list that can be drawn again and again."""

    kind: str  # inclusive, balanced or cross
    pool: Pool
    parameters: Mapping[str, Any]  # as the options of that kind have them
    draw: Callable[[Draws], Iterator[TrialChunk]]  # the blocks of one list
    trials: int  # how many one list holds
    rows: str  # the order of its rows, in words
    speakers: Mapping[str, int]  # how many of each group take part
    reasons: tuple[str, ...]  # why each speaker cannot take part; empty for those that can
    notes: tuple[str, ...] = ()  # what else there is to say of it

    def left_out(self, *, speaker_ids: bool = False) -> Table:
        """How many speakers of each group take no part, and why; their ids, if asked for."""
        groups = (*self.pool.groups, None)
        left_out: dict[tuple[str | None, str], list[str]] = {}
        for speaker, group, reason in zip(
            self.pool.speakers, self.pool.group, self.reasons, strict=True
        ):
            if reason:
                left_out.setdefault((groups[group], reason), []).append(speaker)
        rows = sorted(left_out.items(), key=lambda row: (row[0][0] or "", row[0][1]))
        cells: dict[str, list[Any]] = {
            "group": [group for (group, _), _ in rows],
            "reason": [reason for (_, reason), _ in rows],
            "speakers": [len(ids) for _, ids in rows],
        }
        columns = {"group": "str", "reason": "str", "speakers": "int"}
        if speaker_ids:
            cells["ids"] = [", ".join(ids) for _, ids in rows]
            columns["ids"] = "str"
        return Table.of(cells, columns)


def speaker_by_speaker(target: Sides, nontarget: Sides) -> Iterator[TrialChunk]:
    """Trials of each speaker in turn, the target trials first; sides are [speaker, trial]."""
    n, m = target[0].shape[1], nontarget[0].shape[1]
    labels = np.arange(n + m) < n
    step = max(1, TRIALS_PER_CHUNK // (n + m))
    for at in range(0, len(target[0]), step):
        rows = slice(at, at + step)
        enrol, test = (
            np.concatenate([one[rows], other[rows]], axis=1).ravel()
            for one, other in zip(target, nontarget, strict=True)
        )
        yield TrialChunk(enrol, test, np.tile(labels, enrol.size // (n + m)))
