"""Read what lists are drawn from, and say how: a pool of recordings with their speakers, a design.

Every kind of list (`inclusive`, `balanced`, `cross`) makes a `ListDesign` of a `Pool`;
`parivox.trials.building` draws it and writes the lists.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import polars as pl

from parivox.data.joining import listed_ids, utterance_speakers
from parivox.data.lists.grades import grade_codes, hardest
from parivox.data.lists.trial_list import (
    agreement_codes,
    numbered_recordings,
    parse_difficulty,
    usual_difficulty,
)
from parivox.data.recording_names import recording_names
from parivox.data.recordings import Utterances, read_utterances
from parivox.data.requested_groupings import AttributeLookup, make_groupings, parsed_attributes
from parivox.data.speakers import Speakers, read_speakers
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError, name_hint
from parivox.facts import VALUES_COLUMN, fact, table_cells
from parivox.options.kinds import as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import Attribute
    from parivox.trials.pairs import Ints, RandomStreams

    Sides = tuple[Ints, Ints]
    """Enrolment and test utterances."""

TRIALS_PER_CHUNK = 1 << 20
"""Trials drawn and written at once, about."""


class DifficultyClasses(NamedTuple):
    """Speakers who agree in every attribute that defines difficulty."""

    class_of_speaker: Ints  # class of each speaker, -1 where an attribute is not known
    pair_grades: NDArray[np.int8]  # of a nontarget pair: [class, class]


@dataclass(frozen=True, eq=False)
class Pool:
    """Utterances in order: of speakers by id, of each by recording, then by id."""

    utterance_ids: pl.Series
    utterance_starts: Ints  # where the utterances of each speaker begin; last, how many there are
    recording_indices: NDArray[np.int32]  # of each utterance, rising
    speaker_ids: tuple[str, ...]  # rising
    grouping: str
    groups: tuple[str, ...]
    group_of_speaker: NDArray[np.int32]  # of each speaker, an index into `groups`; -1 for unknown
    graded_by: tuple[str, ...]  # attributes that define difficulty
    usual_attributes: tuple[str, ...]  # those that define it for a check that names none
    attribute_codes: NDArray[np.int32]  # of `graded_by`: [attribute, speaker], -1 for unknown
    attribute_texts: dict[str, list[str]]  # those values in words, by attribute
    speakers: Speakers
    utterances: Utterances
    warning: str  # why folders may be no recordings, as a fact; empty where they are

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
        >>> pool.utterance_ids.to_list(), pool.utterance_starts.tolist(), pool.groups
        (['a/x/1', 'b/y/1'], [0, 1, 2], ('f', 'm'))
        """
        if not isinstance(cast("Any", by), str):
            msg = f"by={by!r} is not a grouping"
            hint = "give one text, for example by='gender+nationality'"
            raise ConfigError(msg, hint)
        table = _read_distinct_utterances(utterances)
        if speakers is None:
            table.refuse_nobody()
        named_attributes = parse_difficulty(() if grade_by is None else as_tuple(grade_by))
        if speakers is None:
            attributes_in_use = [*parsed_attributes([by]), *named_attributes]
            speaker_table = _speakers_of_utterances(table, attributes_in_use)
        else:
            speaker_table = read_speakers(speakers, id=id)
        ids = table.table["utterance"]
        speaker = utterance_speakers(ids, speaker_table, table, table.name)
        names = recording_names(ids, table, speaker)
        recording = numbered_recordings(names, speaker, is_asked=True)
        if (recording < 0).any():
            missing = ids.filter(pl.Series(recording < 0)).sort()
            msg = f"{table.name}: {listed_ids(missing, ids, 'utterances')} have no recording"
            hint = (
                "give a "
                "column 'recording' (or video, session, call), or ids like speaker/recording/file"
            )
            raise DataError(msg, hint)
        present = np.unique(speaker)
        grouping = make_groupings(speaker_table, [by], speakers_in_use=present)[0]
        assert grouping.speaker_codes is not None
        lookup = AttributeLookup(speaker_table, (), None, "--grade-by")
        attributes = [
            lookup.values(attribute)
            for attribute in named_attributes or parse_difficulty(grouping.attributes)
        ]
        # recordings are numbered in the order of speakers, so that this sorts by speaker first
        order = np.lexsort((ids.rank("ordinal").to_numpy(), recording))
        n_utterances = np.bincount(speaker, minlength=len(speaker_table.ids))[present]
        usual_attributes = usual_difficulty(speaker_table, [grouping])
        # all are of speakers: attributes of recordings or trials are not looked for here
        attribute_codes = [
            cast("NDArray[np.int32]", attribute.speaker_codes)[present] for attribute in attributes
        ]
        return cls(
            utterance_ids=ids.gather(order),
            utterance_starts=np.concatenate(([0], np.cumsum(n_utterances))).astype(np.int64),
            recording_indices=recording[order],
            speaker_ids=tuple(speaker_table.ids[i] for i in present),
            grouping=by,
            groups=grouping.groups,
            group_of_speaker=grouping.speaker_codes[present],
            graded_by=tuple(attribute.attribute.text for attribute in attributes),
            usual_attributes=tuple(
                attribute.text.removeprefix("speaker.") for attribute in usual_attributes
            ),
            attribute_codes=np.array(attribute_codes, dtype=np.int32),
            attribute_texts={
                attribute.attribute.text: attribute.values for attribute in attributes
            },
            speakers=speaker_table,
            utterances=table,
            warning=names.warning,
        )

    @property
    def has_usual_difficulty(self) -> bool:
        """Whether a check that names no attributes grades trials as this pool does."""
        usual = [name.lower() for name in self.usual_attributes]
        return usual == [name.lower() for name in self.graded_by]

    @property
    def unknown_group(self) -> str:
        """Why a speaker without a group takes no part, as a fact."""
        return fact("attribute_not_known", attributes=[self.grouping])

    @property
    def unknown_difficulty(self) -> str:
        """Why a speaker without an attribute that defines difficulty takes no part, as a fact."""
        return fact("attribute_not_known", attributes=[*self.graded_by])

    @property
    def hardest(self) -> int:
        """The grade of pairs of one class."""
        return hardest(len(self.graded_by))

    @cached_property
    def n_utterances(self) -> Ints:
        """Utterances of each speaker."""
        return np.diff(self.utterance_starts)

    @cached_property
    def recording_ends(self) -> Ints:
        """Where the utterances of each utterance's recording end."""
        return np.searchsorted(self.recording_indices, self.recording_indices, side="right")

    @cached_property
    def speaker_of_utterance(self) -> Ints:
        """Speaker of each utterance."""
        return np.repeat(np.arange(self.n_utterances.size), self.n_utterances)

    @cached_property
    def difficulty_classes(self) -> DifficultyClasses:
        """Speakers by what defines difficulty."""
        is_known = (self.attribute_codes >= 0).all(axis=0)
        class_codes, class_indices = np.unique(
            self.attribute_codes[:, is_known], axis=1, return_inverse=True
        )
        class_of_speaker = np.full(is_known.size, -1, dtype=np.int64)
        class_of_speaker[is_known] = class_indices.ravel()
        n_classes = class_codes.shape[1]
        enrol, test = (side.ravel() for side in np.indices((n_classes, n_classes)))
        agreements = [agreement_codes(codes[enrol], codes[test]) for codes in class_codes]
        # graded as nontarget trials
        zeros = np.zeros(enrol.size, dtype=np.int8)
        pair_grades = grade_codes(zeros, zeros, agreements).reshape(n_classes, n_classes)
        return DifficultyClasses(class_of_speaker, pair_grades)

    def ids_sha256(self) -> dict[str, str]:
        """Hashes of the ids that are drawn from, whatever the order and the format of the files.

        They travel with the lists, so they cover no attribute, which could be guessed.
        """
        utterances = hashlib.sha256("\n".join(self.utterance_ids.to_list()).encode())
        # in one byte order, as hashes are compared between machines
        utterances.update(self.utterance_starts.astype("<i8").tobytes())
        utterances.update(self.recording_indices.astype("<i4").tobytes())
        speakers = hashlib.sha256("\n".join(self.speaker_ids).encode())
        return {"utterances": utterances.hexdigest(), "speakers": speakers.hexdigest()}

    def speakers_by_group(self, takes_part: NDArray[np.bool_]) -> dict[str, int]:
        """Count the speakers of each group who take part, where there are any."""
        group = self.group_of_speaker[takes_part & (self.group_of_speaker >= 0)]
        counts = np.bincount(group, minlength=len(self.groups)).tolist()
        return {name: count for name, count in zip(self.groups, counts, strict=True) if count}


def group_positions(groups: Sequence[str], by: str, names: Sequence[str] | str | None) -> Ints:
    """Return the positions of the groups that take part: those that are named, or all.

    >>> group_positions(("f", "m"), "gender", "m").tolist()
    [1]
    """
    if names is None:
        return np.arange(len(groups))
    group_names = as_tuple(names)
    for name in group_names:
        if name not in groups:
            msg = f"--groups {name!r}: is not a group of {by}"
            hint = name_hint(str(name), groups)
            raise ConfigError(msg, hint)
    return np.unique([groups.index(name) for name in group_names])


def _read_distinct_utterances(source: Any) -> Utterances:
    """Return the table of utterances, in which no utterance may stand twice."""
    table = read_utterances(source)
    if not table.table.height:
        msg = f"--utterances {table.name!r} is a pattern, not a table"
        hint = "give a table of the utterances to draw from"
        raise ConfigError(msg, hint)
    if table.n_repeated_rows:
        n_rows = table.table.height + table.n_repeated_rows
        msg = (
            f"{table.name}: {table.n_repeated_rows:,} of {n_rows:,} rows "
            "repeat an utterance of a row above"
        )
        hint = "keep each utterance once"
        raise DataError(msg, hint)
    return table


def _speakers_of_utterances(table: Utterances, attributes: Sequence[Attribute]) -> Speakers:
    """Return the speakers as the table of utterances describes them."""
    ids = table.table["utterance"]
    speaker = table.table["speaker"] if table.names_speakers else ids.str.split("/").list.first()
    lower_names = {attribute.name.lower() for attribute in attributes}
    columns = [name for name in table.attributes.columns if name.lower() in lower_names]
    if "speaker" in columns or "row" in columns:
        msg = f"--by: 'speaker' is not an attribute of {table.name}"
        hint = "name an attribute of speakers"
        raise ConfigError(msg, hint)
    rows = table.table.select("row", speaker.alias("speaker"))
    frame = rows.hstack(table.attributes.select(pl.col(columns).fill_null("")))
    return Speakers(frame, name=table.name, id="speaker", conflicts="error", provenance={})


class TrialChunk(NamedTuple):
    """Trials, by their utterances' positions in the pool."""

    enrol: Ints
    test: Ints
    target: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ListDesign:
    """A list that can be drawn again and again."""

    kind: str  # inclusive, balanced or cross
    pool: Pool
    parameters: Mapping[str, Any]  # as the options of that kind have them
    draw: Callable[[RandomStreams], Iterator[TrialChunk]]  # the blocks of one list
    n_trials: int  # how many one list holds
    row_order: str  # the order of its rows, in words
    n_speakers_by_group: Mapping[str, int]  # how many of each group take part
    exclusion_reasons: tuple[
        str, ...
    ]  # why each speaker cannot take part, as facts; empty for those that can
    notes: tuple[str, ...] = ()  # what else there is to say of it, as facts

    def excluded_speakers(self, *, speaker_ids: bool = False) -> Table:
        """Count the speakers of each group who take no part, with why; their ids, if asked for."""
        groups = (*self.pool.groups, None)  # last, of speakers without a group, whose code is -1
        ids_by_reason: dict[tuple[str | None, str], list[str]] = {}
        for speaker_id, group, reason in zip(
            self.pool.speaker_ids, self.pool.group_of_speaker, self.exclusion_reasons, strict=True
        ):
            if reason:
                ids_by_reason.setdefault((groups[group], reason), []).append(speaker_id)
        rows = sorted(ids_by_reason.items(), key=lambda row: (row[0][0] or "", row[0][1]))
        codes, values = table_cells([reason for (_, reason), _ in rows])
        cells: dict[str, list[Any]] = {
            "group": [group for (group, _), _ in rows],
            "reason": codes,
            "speakers": [len(ids) for _, ids in rows],
        }
        columns = {"group": "str", "reason": "str", "speakers": "int"}
        if speaker_ids:
            cells["ids"] = [", ".join(ids) for _, ids in rows]
            columns["ids"] = "str"
        return Table.of({**cells, VALUES_COLUMN: values}, {**columns, VALUES_COLUMN: "str"})


def speaker_by_speaker(target: Sides, nontarget: Sides) -> Iterator[TrialChunk]:
    """Yield trials of each speaker in turn, target trials first; sides are [speaker, trial]."""
    n_target, n_nontarget = target[0].shape[1], nontarget[0].shape[1]
    n_trials = n_target + n_nontarget
    labels = np.arange(n_trials) < n_target
    n_speakers = max(1, TRIALS_PER_CHUNK // n_trials)
    for start in range(0, len(target[0]), n_speakers):
        rows = slice(start, start + n_speakers)
        enrol, test = (
            np.concatenate([target_side[rows], nontarget_side[rows]], axis=1).ravel()
            for target_side, nontarget_side in zip(target, nontarget, strict=True)
        )
        yield TrialChunk(enrol, test, np.tile(labels, enrol.size // n_trials))
