"""All trials of one system on one list, encoded and checked; what several have in common.

A trial is its pair of ids, in their order, and its label. Systems on one list are compared on the
trials that all of them have; lists are other trials on purpose, and are compared as wholes.
"""

from __future__ import annotations

import hashlib
from dataclasses import field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl

from parivox.core.counts import SPOOF, TRIAL_CLASSES
from parivox.data.recording_names import recording_names
from parivox.data.score_bins import Bins, even_edges
from parivox.data.speakers import speakers_of
from parivox.data.trial_checks import (
    EXCLUDED,
    UNSCORED_OF_CLASS,
    UNSCORED_TESTS,
    DataNote,
)
from parivox.data.trial_shards import TrialShards
from parivox.data.units import Units
from parivox.errors import ConfigError, DataError, name_hint
from parivox.facts import fact, joined_facts
from parivox.frozen import frozen
from parivox.runtime.progress import with_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import AttributeValues
    from parivox.data.ids import MergedIds
    from parivox.data.recording_names import RecordingNames
    from parivox.data.recordings import Utterances
    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import Trials
    from parivox.data.units import UnitAssignment

    Sides = tuple[NDArray[np.int32], NDArray[np.int32]]

_Rows = TypeVar("_Rows")
GroupingT = TypeVar("GroupingT", bound="GroupsTrials")

COMMON_TRIALS = "compared_on_common_trials"
"""The code of what systems share that have only some of their trials in common."""
_MAX_SUMMED_TRIALS = (
    50_000  # trials whose scores are summed at once: they stay in the processor's cache
)
_PIECE_BITS = 22
N_SCORE_PIECES = 3
"""Of the 64 bits of a score: sums of each are exact."""


class FailureCauses(NamedTuple):
    """Why recordings failed."""

    names: tuple[str, ...]
    # place in the names of that of each utterance as an enrolment, and as a test recording; -1
    # where it did not fail, or no reason is told
    enrol: NDArray[np.int32]
    test: NDArray[np.int32]


@frozen
class UtteranceRows:
    """Where each utterance stands in the table of utterances."""

    table: Utterances
    # index of each utterance into `table.attributes`, -1 where it is not in the table
    row: NDArray[np.int32]
    model: NDArray[np.int32]  # model of each recording that models are made of
    model_row: NDArray[np.int32]  # where that recording stands

    def utterance_codes(self, row_codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Value of each utterance from that of each row; -1 for models whose recordings differ."""
        codes_or_unknown = np.append(row_codes, np.int32(-1))
        codes = codes_or_unknown[self.row]
        if self.model.size:
            recording_codes = codes_or_unknown[self.model_row]
            n = int(self.model.max()) + 1
            low, high = np.full(n, np.iinfo(np.int32).max, dtype=np.int32), np.full(n, -1, np.int32)
            np.minimum.at(low, self.model, recording_codes)
            np.maximum.at(high, self.model, recording_codes)
            models = np.unique(self.model)
            codes[models] = np.where(low[models] == high[models], high[models], -1)
        return codes


class EnrolmentRecordings(NamedTuple):
    """The recordings that models are made of."""

    n_recordings: int
    in_trials: NDArray[np.intp]  # those of them that are utterances of the trials


class GroupsTrials(Protocol):
    """A grouping, as far as trials ask for it."""

    @property
    def name(self) -> str:
        """As the user writes it."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Its groups."""

    def side_coder(self, trials: TrialSet) -> Callable[[Trials], Sides]:
        """What gives the group of either side of each trial of a partition, -1 for none."""

    def utterance_codes(self, trials: TrialSet) -> NDArray[np.int32]:
        """Group of each utterance."""

    def excluded_values(self, trials: TrialSet) -> Sequence[Any]:
        """Values that are no group."""


class NamedTrials(Protocol):
    """Trials, or counts of trials, of a system on a list."""

    @property
    def system(self) -> str:
        """Name of the system."""

    @property
    def list(self) -> str:
        """Name of the list."""

    @property
    def n_trials(self) -> int:
        """Number of trials."""

    @property
    def content_sha256(self) -> str:
        """Hash of ids, labels and scores."""


def content_record(trials: NamedTrials) -> dict[str, Any]:
    """Return what the trials are, for the record of an audit: names, number and hash."""
    return {
        "system": trials.system,
        "list": trials.list,
        "trials": trials.n_trials,
        "content_sha256": trials.content_sha256,
    }


@frozen
class TrialSet:
    """All trials of one system on one list."""

    system: str
    list: str  # may be empty
    utterance_ids: MergedIds  # rising; enrolment models, if there are any, come before all others
    # index into `Speakers.ids`; -1 for unknown test speakers of nontarget trials, for recordings in
    # no trial, and for all of them if they were not asked for
    utterance_speaker: NDArray[np.int32]
    n_trials: int  # trials with a score, each once, without those set aside
    score_range: tuple[float, float]  # lowest and highest finite score; (0, 0) if none is finite
    data_notes: Sequence[DataNote]  # what was counted, derived and set aside
    # hash of the trials, whatever the order of rows, format, compression and partitions
    content_sha256: str
    # what was read: name, format, compression, columns, hash of the bytes
    provenance: Sequence[dict[str, Any]]
    # by item of `data`, the number of such trials whose enrolment is of each speaker of
    # `Speakers.ids`: trials without score (in either file), exact duplicates, contradicting rows,
    # infinite scores, trials of an utterance with itself, reversed pairs (by the enrolment whose id
    # is the higher one). Only what occurs.
    counts_by_speaker: dict[str, NDArray[np.int64]]
    _shards: TrialShards = field(repr=False)
    n_models: int = 0  # so many of the first utterances are models of one or several recordings
    # where the table of utterances tells what is known of them
    recordings: UtteranceRows | None = None
    # values of each attribute that stands in the rows of trials, as `Trials.extra_columns` codes it
    attribute_values: Mapping[str, AttributeValues] = field(default_factory=dict)
    # deployed thresholds, rising, then NaN: what `Trials.extra_columns["threshold"]` counts in
    thresholds: NDArray[np.float64] = field(default_factory=lambda: np.array([np.nan]))
    # which utterances are said to have failed as enrolments and as test recordings; None where no
    # failure is told of, by a table or by a column of status
    failures: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None
    # why they failed, where a table tells it
    causes: FailureCauses | None = None
    # whether the trials have scores; if not, the score is the decision: 1 or 0
    is_scored: bool = True
    # what the trials hold besides ids, label and score, as `Trials.extra_columns` has it
    extra_columns: frozenset[str] = frozenset()
    # what `utterance_speaker` counts in; None if speakers were not asked for
    speaker_table: Speakers | None = None
    # trials of each day of a log with decisions, [nontarget or target, rejected or accepted]
    decisions_by_day: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    # what models are made of, where that is told
    enrolment_recordings: EnrolmentRecordings | None = None
    # whether trials are searches: mated ones are target, non-mated ones nontarget trials, and both
    # sides are the probe
    are_searches: bool = False
    # place of the speaker that stands for probes whose speakers nobody knows, -1 without any
    unknown_speaker: int = -1
    n_spoof: int = 0  # spoof trials among the trials as they were read
    attacks: tuple[str, ...] = ()  # what `Trials.extra_columns["attack"]` counts in
    # the block of speakers that stands for each speaker in all that is said of chance, assigned
    # once all lists are read; None where each stands for itself
    unit_block: NDArray[np.int32] | None = None

    # threshold of the countermeasure that decides before the scores do; None without any
    first_stage_threshold: float | None = None
    first_stage_rule: str = ""  # of that threshold, as the user writes it

    # what shards of these trials add up to, by which scores and errors are counted instead
    shard_sum: Any = None

    is_llr, is_similarity, llr_base = False, False, None  # is for the options to say
    participants: ClassVar[None] = None  # to be counted from the ids
    bins = Bins()  # each score is one of its own
    edges: ClassVar[NDArray[np.float64] | None] = None  # lower edges of bins of scores: none
    has_times = True  # each trial's own, where seconds are told

    @property
    def n_classes(self) -> int:
        """Classes of trials: target and nontarget trials and, where there are any, spoof trials."""
        return SPOOF + 1 if self.n_spoof else SPOOF

    @property
    def n_failed_spoof(self) -> int:
        """Spoof trials of recordings that failed."""
        if self.failures is None:
            return 0
        failed = (partition.failed for partition in self.partitions())
        return sum(int(trials.spoof.sum()) for trials in failed if trials is not None)

    @property
    def name(self) -> str:
        """What was read, for messages."""
        return str(self.provenance[0]["name"])

    @property
    def key(self) -> tuple[str, str]:
        """System and list: what tells it from the others of an audit, some of its trials too."""
        return self.system, self.list

    # What readers ask for: a table has it or not, and none needs to know of what kind a table is.

    @property
    def identified(self) -> TrialSet:
        """The trials with the ids of their recordings and speakers."""
        return self

    @property
    def whole_list(self) -> TrialSet | None:
        """All trials with their ids, at once; None if they are too many."""
        return self if self.fits_in_memory else None

    @property
    def people(self) -> TrialSet:
        """Trials of which each speaker is known."""
        return self

    @property
    def score_source(self) -> Any:
        """What scores are counted from: these trials, or what their shards add up to."""
        return self if self.shard_sum is None else self.shard_sum

    @property
    def speaker_source(self) -> TrialSet:
        """What is known of speakers: these trials themselves."""
        return self

    @property
    def error_source(self) -> Any:
        """What errors by speaker are counted from: as `score_source`."""
        return self if self.shard_sum is None else self.shard_sum.speaker_source

    @property
    def attack_source(self) -> TrialSet:
        """What spoof accepts by attack are counted from: these trials themselves."""
        return self

    @property
    def speaker_ids(self) -> Sequence[str] | None:
        """Ids of speakers by number; None where none is told apart from others."""
        if self.unit_block is not None or self.speaker_table is None:
            return None
        return self.speaker_table.ids

    @property
    def units(self) -> Units:
        """Whom uncertainty is measured over."""
        units = Units.of_utterances(self.utterance_speaker, self.unit_block)
        return replace(
            units, are_probe_speakers=self.are_searches, unknown_unit=self.unknown_speaker
        )

    def with_units(self, assignment: UnitAssignment) -> TrialSet:
        """The same trials with the unit of each speaker."""
        return replace(self, unit_block=assignment.speaker_block)

    def rows_by_unit(
        self, keep: Callable[[TrialSet], _Rows], add_up: Callable[[TrialSet], _Rows]
    ) -> _Rows:
        """Return what is made of these rows or, if too many or of speaker blocks, of their sums."""
        return (keep if self.fits_in_memory and self.unit_block is None else add_up)(self)

    def unit_groupings(self, groupings: Sequence[GroupingT]) -> Sequence[GroupingT]:
        """Groupings, with the group of each unit: rows are of speakers."""
        return groupings

    def recording_codes(self, grouping: GroupsTrials) -> NDArray[np.int32]:
        """The group of each recording, -1 for none."""
        return grouping.utterance_codes(self)

    def excluded_values(self, grouping: GroupsTrials) -> Sequence[Any]:
        """Values that a grouping leaves out, and of how many trials or recordings."""
        return grouping.excluded_values(self)

    def bin_edges(self, thresholds: Iterable[float]) -> NDArray[np.float64] | None:
        """Lower edges of the bins that scores are counted in; None where each score is counted.

        `thresholds` are among them.
        """
        return None if self.fits_in_memory else even_edges(self.score_range, thresholds)

    def is_exact_at(self, threshold: float) -> bool:
        """Whether scores are told apart at a threshold that none was counted at on purpose."""
        return self.fits_in_memory and self.bins.has_threshold(threshold)

    def account(self) -> Iterator[dict[str, Any]]:
        """What was read: rows of the audit's data."""
        for note in self.data_notes:
            yield {name: getattr(note, name) for name in ("source", "item", "count", "note")}

    def content(self) -> dict[str, Any]:
        """What the trials are: ids, labels and scores as a hash."""
        return content_record(self)

    @cached_property
    def recording_names(self) -> RecordingNames:
        """The recording of each utterance that is no model."""
        table = None if self.recordings is None else self.recordings.table
        ids = self.utterance_ids.series()[self.n_models :]
        return recording_names(ids, table, self.utterance_speaker[self.n_models :])

    @cached_property
    def score_keys(self) -> NDArray[np.int64]:
        """Sums of the bits of each speaker's scores, in three exact pieces, ``[3, speaker]``.

        Speakers are drawn in their order, which follows from no name. They add up over trials.
        Rows that weigh their number have no scores of their own: these speakers are in the order
        of names.
        """
        n = int(self.utterance_speaker.max(initial=-1)) + 1
        keys, speaker = np.zeros((N_SCORE_PIECES, n)), self.utterance_speaker.astype(np.intp)
        speaker[speaker < 0] = n  # whom nobody knows
        for partition in self.partitions():
            if "count" in partition.extra_columns:
                continue
            for chunk in partition.without_conflicts().chunks(_MAX_SUMMED_TRIALS):
                bits = (chunk.score + 0.0).view(np.uint64)
                sides = [speaker.take(side) for side in (chunk.enrol, chunk.test)]
                for i in range(N_SCORE_PIECES):
                    shift = np.uint64((N_SCORE_PIECES - 1 - i) * _PIECE_BITS)
                    bit_piece = (bits >> shift) & np.uint64((1 << _PIECE_BITS) - 1)
                    if bit_piece.any():  # of numbers of 32 bits, the last one is 0
                        weights = bit_piece.astype(np.float64)
                        for side in sides:
                            keys[i] += np.bincount(side, weights, minlength=n + 1)[:n]
        return keys.astype(np.int64)

    @cached_property
    def n_without_test_speaker(self) -> int:
        """Nontarget trials whose test speaker is unknown; 0 if speakers were not asked for."""
        is_unknown = self.utterance_speaker < 0
        if self.speaker_table is None or is_unknown.all() or not is_unknown.any():
            return 0
        partitions = (partition.without_conflicts() for partition in self.partitions())
        return sum(
            int((is_unknown.take(partition.test) & partition.nontarget).sum())
            for partition in partitions
        )

    def utterance_codes(self, speaker_codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The code of each utterance from that of its speaker, -1 where this is unknown."""
        return np.append(speaker_codes, np.int32(-1)).astype(np.int32).take(self.utterance_speaker)

    @cached_property
    def list_digest(self) -> bytes:
        """Hash of the pairs and labels of all trials, whatever their scores."""
        return _list_digest(self)

    @property
    def is_exact(self) -> bool:
        """Whether every distinct score can be counted by itself."""
        return self.fits_in_memory

    @property
    def speakers_in_use(self) -> NDArray[np.intp]:
        """Speakers that any utterance is of, as indices, rising."""
        return speakers_in(self.utterance_speaker)

    @property
    def fits_in_memory(self) -> bool:
        """Whether all trials are in memory at once."""
        return len(self._shards) == 1

    @property
    def n_rows(self) -> int:
        """Rows that are not set aside."""
        return self.n_trials

    @property
    def n_partitions(self) -> int:
        """Partitions: one for trials in memory."""
        return len(self._shards)

    def partitions(self) -> Iterator[Trials]:
        """The trials, one partition after the other; may be called again."""
        return (
            iter(self._shards)
            if self.n_partitions == 1
            else with_progress(self._shards, "parts", "parts")
        )

    def partitions_by_layout(
        self, layouts: Sequence[object]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """Partitions, each with the numbers of the layouts that its trials count in: all."""
        return ((partition, range(len(layouts))) for partition in self.partitions())

    def side_coder(self, grouping: GroupsTrials) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides of each trial of a partition, -1 for none.

        Spoof trials are of the group of the claimed speaker on both sides.
        """
        coder = grouping.side_coder(self)
        return lambda partition: coder(partition.by_claim())

    def with_trial_columns(
        self,
        add_columns: Callable[[Trials], Trials],
        *,
        column_names: Collection[str],
        added_values: Mapping[str, AttributeValues],
    ) -> TrialSet:
        """The same trials with further columns, which `add_columns` gives a partition.

        `column_names` are their names, and `added_values` the values of attributes among them.
        """
        shards = self._shards.without_trials()
        for partition in self.partitions():
            shards.append(add_columns(partition))
        columns = self.extra_columns | frozenset(column_names)
        return replace(
            self,
            _shards=shards,
            attribute_values={**self.attribute_values, **added_values},
            extra_columns=columns,
        )

    def with_scores(self, score_again: Callable[[Trials], Trials]) -> TrialSet:
        """The same list with other scores, which `score_again` gives a partition.

        It may leave out trials, and add columns.
        """
        shards = self._shards.without_trials()
        n_trials, n_spoof, lowest, highest = 0, 0, np.inf, -np.inf
        columns: frozenset[str] = frozenset()
        for partition in self.partitions():
            shards.append(trials := score_again(partition))
            used = trials.without_conflicts()
            n_trials, n_spoof = n_trials + len(used), n_spoof + int(used.spoof.sum())
            finite = used.score[np.isfinite(used.score)]
            lowest, highest = finite.min(initial=lowest), finite.max(initial=highest)
            columns |= trials.extra_columns.keys() - partition.extra_columns.keys()
        return replace(
            self,
            _shards=shards,
            n_trials=n_trials,
            n_spoof=n_spoof,
            score_range=(float(lowest), float(highest)) if np.isfinite(lowest) else (0.0, 0.0),
            extra_columns=self.extra_columns | columns,
        )

    def with_rows(self, rows: NDArray[np.bool_]) -> TrialSet:
        """Some of the trials that contradict nothing, held in memory; what failed is kept."""
        (partition,) = self.partitions()
        trials = partition.without_conflicts().take(rows)
        return replace(self, _shards=TrialShards.held([trials]), n_trials=len(trials))

    def with_values(
        self, values: Mapping[str, Collection[str]], groupings: Sequence[GroupsTrials]
    ) -> TrialSet:
        """The trials of which both sides have some of these values of each grouping.

        Raises
        ------
        ConfigError
            If there is no such value, or no such trial.
        """
        coders = []
        for grouping in groupings:
            for value in values[grouping.name]:
                if value not in grouping.groups:
                    msg = (
                        f"--only {grouping.name}={value}: value not found; "
                        f"{name_hint(value, grouping.groups)}"
                    )
                    raise ConfigError(msg)
            codes = [i for i, group in enumerate(grouping.groups) if group in values[grouping.name]]
            coders.append((self.side_coder(grouping), codes))

        def restricted(partition: Trials) -> Trials:
            sides = [
                np.isin(side, codes)
                for side_coder, codes in coders
                for side in side_coder(partition)
            ]
            matching = partition.take(np.logical_and.reduce(sides))
            return replace(
                matching, failed=None if partition.failed is None else restricted(partition.failed)
            )

        shards = self._shards.without_trials()
        is_used, n, lowest, highest = (
            np.zeros(len(self.utterance_ids), dtype=bool),
            0,
            np.inf,
            -np.inf,
        )
        for partition in self.partitions():
            shards.append(matching_trials := restricted(partition))
            for rows in (matching_trials, matching_trials.failed):
                if rows is not None:
                    is_used[rows.enrol] = is_used[rows.test] = True
            scores = matching_trials.score[~matching_trials.conflict]
            n += scores.size
            finite = scores[np.isfinite(scores)]
            lowest, highest = finite.min(initial=lowest), finite.max(initial=highest)
        condition = " and ".join(f"{name}={', '.join(wanted)}" for name, wanted in values.items())
        conditions = [{"attribute": name, "values": [*wanted]} for name, wanted in values.items()]
        if not n:
            msg = f"--only {condition}: none of the {self.n_trials:,} trials of {self.name} matches"
            raise ConfigError(msg)
        unscored_notes = (*UNSCORED_OF_CLASS, UNSCORED_TESTS)
        note = DataNote(
            "scores",
            fact("trials_not_selected", conditions=conditions),
            self.n_trials - n,
            EXCLUDED,
        )
        return replace(
            self,
            _shards=shards,
            n_trials=n,
            score_range=(float(lowest), float(highest)) if np.isfinite(lowest) else (0.0, 0.0),
            utterance_speaker=np.where(is_used, self.utterance_speaker, np.int32(-1)),
            data_notes=[*self.data_notes, note],
            # counted over all trials, which are not those that are left
            counts_by_speaker={
                note_name: counts
                for note_name, counts in self.counts_by_speaker.items()
                if note_name not in unscored_notes
            },
            content_sha256=hashlib.sha256(
                f"{self.content_sha256}\0{condition}".encode()
            ).hexdigest(),
        )

    def with_weighted_rows(
        self, partitions: Sequence[Trials], sha256: str, data_notes: Sequence[DataNote]
    ) -> TrialSet:
        """Other trials of the same utterances, as rows that weigh their number."""
        n = sum(int(partition.extra_columns["count"].sum()) for partition in partitions)
        return replace(
            self,
            _shards=TrialShards.held(partitions),
            n_trials=n,
            content_sha256=sha256,
            data_notes=data_notes,
            counts_by_speaker={},
        )

    @property
    def bona_fide(self) -> TrialSet:
        """The trials, held in memory, without spoof trials."""
        if not self.n_spoof:
            return self
        (partition,) = self.partitions()
        return replace(self.with_rows(~partition.without_conflicts().spoof), n_spoof=0)

    @property
    def has_decisions(self) -> bool:
        """Whether decisions are known: told as such, or by a threshold for each trial."""
        return "accepted" in self.extra_columns or (
            "threshold" in self.extra_columns and self.is_scored
        )

    def decisions(self, partition: Trials) -> NDArray[np.int8]:
        """1 for trials that were accepted, 0 for rejected ones, -1 where it is not known."""
        accepted = np.full(len(partition), -1, dtype=np.int8)
        if "threshold" in partition.extra_columns and self.is_scored:
            threshold = self.thresholds[partition.extra_columns["threshold"]]
            accepted = np.where(np.isnan(threshold), -1, partition.score >= threshold).astype(
                np.int8
            )
        decision = partition.extra_columns.get("accepted")
        return accepted if decision is None else np.where(decision < 0, accepted, decision)


def check_test_speakers(trials: TrialSet, reason: str) -> None:
    """Refuse trials without a test speaker where, as `reason` says, all must be known."""
    n = trials.n_without_test_speaker
    if n:
        msg = f"{trials.name}: contains {n:,} nontarget trials without a test speaker, but {reason}"
        hint = "name the speakers in a column test_speaker, or remove these rows"
        raise DataError(msg, hint)


def speakers_in(speaker: NDArray[np.int32]) -> NDArray[np.intp]:
    """Speakers that any utterance is of, rising; -1 means none."""
    is_used = np.zeros(int(speaker.max(initial=-1)) + 2, dtype=bool)
    is_used[speaker] = True
    return np.flatnonzero(is_used[:-1])


def with_common_speakers(
    speaker_table: Speakers | None, sets: Sequence[TrialSet]
) -> tuple[Speakers, list[TrialSet]]:
    """Trials whose speakers count in one table; where none was given, it is made of their names."""
    if speaker_table is not None:
        return speaker_table, list(sets)
    speaker_tables = [table.speaker_table for table in sets if table.speaker_table is not None]
    if len(speaker_tables) == 1:
        return speaker_tables[0], list(sets)
    names = np.unique(
        np.concatenate([np.array(table.ids, dtype=object) for table in speaker_tables])
    )
    common_table = speakers_of(pl.Series(names.tolist(), dtype=pl.String))
    trial_sets = []
    for table, own_table in zip(sets, speaker_tables, strict=True):
        positions = np.searchsorted(names, np.array(own_table.ids, dtype=object)).astype(np.int32)
        counts_by_speaker = {}
        for item, counts in table.counts_by_speaker.items():
            counts_by_speaker[item] = np.zeros(names.size, dtype=np.int64)
            counts_by_speaker[item][positions] = counts
        speaker = np.append(positions, np.int32(-1))[table.utterance_speaker]
        trial_sets.append(
            replace(
                table,
                utterance_speaker=speaker,
                counts_by_speaker=counts_by_speaker,
                speaker_table=common_table,
            )
        )
    return common_table, trial_sets


@frozen
class CommonTrials:
    """What each two of several sets of trials have in common."""

    sets: Sequence[TrialSet]
    # of each set whose list has other trials too: those that all systems on the list have
    restricted: Mapping[int, TrialSet]
    _digests: Sequence[bytes]
    _keys: Sequence[NDArray[np.int64]]

    @classmethod
    def of(cls, sets: Sequence[TrialSet]) -> CommonTrials:
        """Match the trials of every set with those of every other.

        Raises
        ------
        ConfigError
            If systems on one list have no trial in common, or too many to be matched.
        """
        digests = [trials.list_digest for trials in sets]
        sets_by_list: dict[str, list[int]] = {}
        for i, trials in enumerate(sets):
            sets_by_list.setdefault(trials.list, []).append(i)
        differing = [
            set_indices
            for set_indices in sets_by_list.values()
            if len({digests[i] for i in set_indices}) > 1
        ]
        for i in (i for set_indices in differing for i in set_indices if not sets[i].is_exact):
            msg = (
                f"--compare: {_names(sets, differing[0])} have different trials, and too many "
                f"({sets[i].n_trials:,}) to match them"
            )
            hint = "give each system the same trials"
            raise ConfigError(msg, hint)
        is_matched = len(set(digests)) > 1 and all(trials.is_exact for trials in sets)
        keys = _trial_keys(sets) if is_matched else []
        restricted: dict[int, TrialSet] = {}
        for set_indices in differing:
            common = reduce(np.intersect1d, [keys[i] for i in set_indices])
            if not common.size:
                msg = (
                    f"--compare: {_names(sets, set_indices)} have no trials in common (trials "
                    "with the same two ids and label)"
                )
                hint = (
                    "give the systems the same trials or, to compare whole lists, name the "
                    "lists: A@x=a.csv B@y=b.csv"
                )
                raise ConfigError(msg, hint)
            restricted |= {i: sets[i].with_rows(np.isin(keys[i], common)) for i in set_indices}
        return cls(sets, restricted, digests, keys)

    def is_restricted(self, i: int, j: int) -> bool:
        """Whether two sets are compared on the trials that they have in common."""
        share_list = self.sets[i].list == self.sets[j].list
        return share_list and self._digests[i] != self._digests[j]

    def facts(self, i: int, j: int) -> str:
        """What two sets have in common and which trials are compared, as facts."""
        if self._digests[i] == self._digests[j]:
            return "same_trials"
        first_set, second_set = self.sets[i], self.sets[j]
        sizes = {"first": first_set.n_trials, "second": second_set.n_trials}
        if self.is_restricted(i, j):
            n_systems = sum(self.sets[k].list == first_set.list for k in self.restricted)
            common = self.restricted[i].n_trials
            return fact(COMMON_TRIALS, common=common, **sizes, systems=n_systems)
        speakers = _speakers_in_common(first_set, second_set)
        if not self._keys:
            return joined_facts(speakers, "lists_compared_as_wholes")
        common = int(np.intersect1d(self._keys[i], self._keys[j]).size)
        trials = "no_common_trial"
        if common:
            trials = fact("common_trials_of_lists", common=common, **sizes)
        return joined_facts(trials, speakers)


def _names(sets: Sequence[TrialSet], set_indices: Sequence[int]) -> str:
    return " and ".join(sets[i].system for i in set_indices)


def _list_digest(trials: TrialSet) -> bytes:
    is_used = np.zeros(len(trials.utterance_ids), dtype=bool)
    for partition in trials.partitions():
        clean_trials = partition.without_conflicts()
        is_used[clean_trials.enrol] = is_used[clean_trials.test] = True
    rank = np.cumsum(is_used, dtype=np.int64)
    id_digest, *column_digests = (hashlib.sha256() for _ in range(4))
    start = 0
    for _, ids in trials.utterance_ids.chunks():
        id_digest.update(
            "\0".join(ids.filter(is_used[start : start + len(ids)]).to_list()).encode()
        )
        id_digest.update(b"\0")
        start += len(ids)
    for partition in trials.partitions():
        clean_trials = partition.without_conflicts()
        columns: list[NDArray[Any]] = [
            rank[clean_trials.enrol],
            rank[clean_trials.test],
            clean_trials.trial_class,
        ]
        for digest, cells in zip(column_digests, columns, strict=True):
            digest.update(cells.tobytes())
    return b"".join(digest.digest() for digest in (id_digest, *column_digests))


def _speakers_in_common(first_set: TrialSet, second_set: TrialSet) -> str:
    """How many speakers two sets have in common, as a fact."""
    n_first, n_second = first_set.speakers_in_use.size, second_set.speakers_in_use.size
    n_shared = np.intersect1d(first_set.speakers_in_use, second_set.speakers_in_use).size
    if not n_shared:
        return "no_common_speaker"
    if n_shared == n_first == n_second:
        return fact("same_speakers", speakers=n_first)
    return fact("common_speakers", common=int(n_shared), first=n_first, second=n_second)


def n_trials_in_common(first_set: TrialSet, second_set: TrialSet) -> int:
    """How many trials two sets share; 0 where either is too large to be matched."""
    if not (first_set.is_exact and second_set.is_exact):
        return 0
    first_keys, second_keys = _trial_keys((first_set, second_set))
    return int(np.intersect1d(first_keys, second_keys).size)


def _trial_keys(sets: Sequence[TrialSet]) -> list[NDArray[np.int64]]:
    """Number of each trial that contradicts nothing, of sets that are held in memory.

    The same two ids and label have the same number.
    """
    ids = [trials.utterance_ids.series() for trials in sets]
    ends = np.cumsum([len(set_ids) for set_ids in ids])
    numbers = pl.concat(ids).rank("dense").to_numpy().astype(np.int64)
    n = int(numbers.max()) + 1
    keys = []
    for trials, number in zip(sets, np.split(numbers, ends[:-1]), strict=True):
        (partition,) = trials.partitions()
        clean_trials = partition.without_conflicts()
        keys.append(
            (number[clean_trials.enrol] * n + number[clean_trials.test]) * len(TRIAL_CLASSES)
            + clean_trials.trial_class
        )
    return keys
