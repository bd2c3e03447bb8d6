"""One trial list, read without its scores: who is compared with whom, from which recordings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.options.trials import DescribeOptions
from parivox.read.columns import plain
from parivox.read.groups import AttributeLookup, attributes_asked, make_groupings
from parivox.read.ids import places_in
from parivox.read.recordings import read_utterances
from parivox.read.speakers import read_speakers
from parivox.read.trials import read_trials
from parivox.trials.grades import Agreement, parse_difficulty, usual

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.read.checks import Trials
    from parivox.read.grouping import Grouping, OfAttribute
    from parivox.read.recordings import Utterances
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

RECORDING = ("recording", "video", "session", "call")
"""Columns of the table of utterances that tell what was recorded at once, best first."""
BLOCK = 1 << 18
"""Trials looked at together."""


@dataclass(frozen=True, eq=False)
class TrialList:
    """A list with its speakers and their recordings.

    Attributes
    ----------
    trials : TrialSet
    people : Speakers
    recording : int32 ndarray of shape (utterance,)
        As :func:`recordings_of` has it.
    groupings : tuple of Grouping
        By what the user asked for; without a choice, by every attribute with 2 to 50 values.
    agreements : tuple of Agreement
        Attributes that define difficulty, the one that weighs most first.
    """

    trials: TrialSet
    people: Speakers
    recording: NDArray[np.int32]
    groupings: tuple[Grouping, ...] = ()
    agreements: tuple[Agreement, ...] = ()

    @cached_property
    def attributes(self) -> tuple[OfAttribute, ...]:
        """Every attribute of speakers with 2 to 50 values."""
        found = _sensible(self.people, self.trials)
        return tuple(part for part in found if part.of_speaker is not None)

    @property
    def name(self) -> str:
        """What the file is called."""
        return str(self.trials.provenance[0]["name"])

    def blocks(self) -> Iterator[Trials]:
        """Every trial that contradicts no other, some at a time, in the order of the ids."""
        for part in self.trials.partitions():
            yield from part.without_conflicts().blocks(BLOCK)

    def same_recording(self, block: Trials) -> NDArray[np.int8]:
        """Whether both sides are of one recording: 1, 0, or -1 where it is not known."""
        one, other = self.recording.take(block.enrol), self.recording.take(block.test)
        found: NDArray[np.int8] = (one == other).astype(np.int8)
        found[((one < 0) | (other < 0)) & (block.enrol != block.test)] = -1
        return found


def read_list(
    source: Any,
    *,
    speakers: Any = None,
    utterances: Any = None,
    by: Sequence[str] | str | None = None,
    grade_by: Sequence[str] | str | None = None,
    id: str | None = None,  # noqa: A002 - the command line's word
    columns: Mapping[str, str] | None = None,
    conflicts: str = "error",
) -> TrialList:
    """Read a list of trials; scores in it do not count.

    Parameters
    ----------
    source
        A path, a dataframe or a mapping of arrays, with the columns enrol, test and, perhaps,
        label: without it, trials are labelled by their speakers.
    speakers
        Table of speakers; without it, their names are those of the paths or of the other tables.
    utterances
        Table of utterances: their speakers, their recordings and any attributes.
    by
        Groupings as in ``gender+nationality``; None for every attribute with 2 to 50 values.
    grade_by
        Attributes that define difficulty, the one that weighs most first; None for gender (or
        sex) and nationality where speakers have them, else for those of `by`.
    id, columns, conflicts
        As an audit reads them.

    Examples
    --------
    >>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"], "label": [1, 0]}
    >>> found = read_list(trials)
    >>> found.people.ids, found.recording.tolist()
    (('a', 'b'), [0, 0, 1])
    """
    asked = DescribeOptions.of(by=by, grade_by=grade_by, id=id, columns=columns)
    groups, graded = asked.by, asked.grade_by
    people = None if speakers is None else read_speakers(speakers, id=id, conflicts=conflicts)
    trials = read_trials(
        source,
        system="",
        list_="",
        speakers=people,
        utterances=None if utterances is None else read_utterances(utterances),
        attributes=[*attributes_asked(groups or ()), *parse_difficulty(graded or ())],
        columns=columns,
        conflicts=conflicts,
        unscored=True,
    )
    people = trials.people or people
    assert people is not None
    made: list[Grouping] = []
    if groups is not None or _sensible(people, trials):
        made = make_groupings(people, groups, sets=[trials])
    return list_of(trials, people, groupings=made, grade_by=graded)


def list_of(
    trials: TrialSet,
    people: Speakers,
    *,
    groupings: Sequence[Grouping] = (),
    grade_by: Sequence[str] | None = None,
) -> TrialList:
    """A list of trials that have been read; models have no recording.

    Parameters
    ----------
    trials, people, groupings
        The trials, whose they are, and by what they are grouped.
    grade_by
        As :func:`read_list` has it.
    """
    hard = usual(people, groupings) if grade_by is None else parse_difficulty(grade_by)
    source = AttributeLookup(people, [trials], None, "--grade-by")
    return TrialList(
        trials,
        people,
        recordings_in(trials),
        tuple(groupings),
        tuple(Agreement.of(source.values(one), trials) for one in hard),
    )


def _sensible(people: Speakers, trials: TrialSet) -> list[OfAttribute]:
    """Every attribute of speakers or recordings with 2 to 50 values; perhaps none."""
    return AttributeLookup(people, [trials], None, "--by").sensible(trials.in_use)


def recordings_in(trials: TrialSet) -> NDArray[np.int32]:
    """Recording of each utterance of trials, as :func:`recordings_of`; -1 for models."""
    table = None if trials.recordings is None else trials.recordings.table
    ids = trials.utterance_ids.series()[trials.n_models :]
    own = recordings_of(ids, table, trials.utterance_speaker[trials.n_models :])
    return np.concatenate((np.full(trials.n_models, -1, dtype=np.int32), own))


def recordings_of(
    ids: pl.Series, utterances: Utterances | None, speaker: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Recording of each utterance: what was recorded at once, of one speaker.

    Parameters
    ----------
    ids : Series of str, of shape (utterance,)
    utterances
        Their table: its column recording, video, session or call tells, else the path does. As
        in VoxCeleb's ``id10001/1zcIwhmdeo4/00001.wav``, the folder of the file is the recording,
        if it lies below the speaker's.
    speaker : int32 ndarray of shape (utterance,)
        Their speakers; recordings of two speakers are two, whatever they are called.

    Returns
    -------
    int32 ndarray of shape (utterance,)
        Numbered in the order of speakers and of the recordings' names; -1 for unknown.

    Examples
    --------
    >>> ids = pl.Series(["a/x/1.wav", "a/x/2.wav", "a/y/1.wav", "b.wav"])
    >>> recordings_of(ids, None, np.array([0, 0, 0, 1], dtype=np.int32)).tolist()
    [0, 0, 1, -1]
    """
    names = recording_names(ids, utterances, speaker)
    rank = names.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()
    known = rank >= 0
    key = speaker.astype(np.int64) * (rank.max(initial=0) + 1) + rank
    found = np.full(len(ids), -1, dtype=np.int32)
    found[known] = np.unique(key[known], return_inverse=True)[1]
    return found


def recording_names(
    ids: pl.Series, utterances: Utterances | None, speaker: NDArray[np.int32]
) -> pl.Series:
    """Name of the recording of each utterance, null where it is not known."""
    if utterances is not None:
        columns = {plain(name).removesuffix("id"): name for name in utterances.attributes.columns}
        told = next((columns[word] for word in RECORDING if word in columns), None)
        if told is not None:
            row = places_in(ids, utterances.table["utterance"])
            at = pl.Series(row, dtype=pl.Int64)
            return utterances.attributes[told].gather(at.set(at < 0, None)).alias("name")
    folder = ids.str.replace(r"/[^/]*$", "").alias("name")
    folder = folder.set(~folder.str.contains("/", literal=True), None)
    each = pl.DataFrame({"speaker": speaker, "name": folder}).drop_nulls().unique()
    if _part_alike(each["speaker"], each["name"]):
        first = each["name"].str.replace(r"/.*$", "")
        if not _part_alike(each["speaker"], first):
            return folder.clear(len(ids))  # folders are the speakers' own
    return folder


def _part_alike(one: pl.Series, other: pl.Series) -> bool:
    """Whether two columns part the rows alike."""
    n = one.n_unique()
    return n == other.n_unique() == pl.DataFrame({"one": one, "other": other}).n_unique()
