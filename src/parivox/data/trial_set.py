"""All trials of one system on one list, encoded and checked; what several have in common.

A trial is its pair of ids, in their order, and its label. Systems on one list are compared on the
trials that all of them have; lists are other trials on purpose, and are compared as wholes.
"""

from __future__ import annotations

import hashlib
from dataclasses import field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
import polars as pl

from parivox.data.score_bins import Bins
from parivox.data.speakers import speakers_of
from parivox.data.spilled_rows import CheckedParts
from parivox.data.trial_checks import (
    UNSCORED_OF_CLASS,
    UNSCORED_TESTS,
    WITHOUT_TEST_SPEAKER,
    DataNote,
)
from parivox.errors import ConfigError, DataError, name_hint
from parivox.frozen import frozen
from parivox.runtime.disk import ScratchFolder
from parivox.runtime.progress import with_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import AttributeValues
    from parivox.data.ids import MergedIds
    from parivox.data.recordings import Utterances
    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import Trials

    Sides = tuple[NDArray[np.int32], NDArray[np.int32]]

_SLICE = 100_000  # cells hashed at once
_TRIALS = 50_000  # trials whose scores are summed at once: they stay in the processor's cache
_BITS = 22
PIECES = 3
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

    def utterance_codes(self, of_row: NDArray[np.int32]) -> NDArray[np.int32]:
        """Value of each utterance from that of each row; -1 for models whose recordings differ."""
        known = np.append(of_row, np.int32(-1))
        found = known[self.row]
        if self.model.size:
            several = known[self.model_row]
            n = int(self.model.max()) + 1
            low, high = np.full(n, np.iinfo(np.int32).max, dtype=np.int32), np.full(n, -1, np.int32)
            np.minimum.at(low, self.model, several)
            np.maximum.at(high, self.model, several)
            at = np.unique(self.model)
            found[at] = np.where(low[at] == high[at], high[at], -1)
        return found


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
    _partitions: Sequence[Trials] | CheckedParts = field(repr=False)
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

    has_speakers: ClassVar[Literal[True]] = True  # and ids of recordings; counts have neither
    is_llr, is_similarity, llr_base = False, False, None  # is for the options to say
    has_speaker_blocks: ClassVar[bool] = False  # speakers stand for themselves
    bins = Bins()  # each score is one of its own
    has_times = True  # each trial's own, where seconds are told

    @property
    def name(self) -> str:
        """What was read, for messages."""
        return str(self.provenance[0]["name"])

    @property
    def key(self) -> tuple[str, str]:
        """System and list: what tells it from the others of an audit, some of its trials too."""
        return self.system, self.list

    @property
    def trials_by_speaker(self) -> TrialSet:
        """The trials by who takes part in them."""
        return self

    @cached_property
    def score_keys(self) -> NDArray[np.int64]:
        """Sums of the bits of each speaker's scores, in three exact pieces, ``[3, speaker]``.

        Speakers are drawn in their order, which follows from no name. They add up over trials.
        Rows that weigh their number have no scores of their own: these speakers are in the order
        of names.
        """
        n = int(self.utterance_speaker.max(initial=-1)) + 1
        keys, speaker = np.zeros((PIECES, n)), self.utterance_speaker.astype(np.intp)
        speaker[speaker < 0] = n  # whom nobody knows
        for part in self.partitions():
            if "count" in part.extra_columns:
                continue
            for kept in part.without_conflicts().chunks(_TRIALS):
                bits = (kept.score + 0.0).view(np.uint64)
                sides = [speaker.take(side) for side in (kept.enrol, kept.test)]
                for i in range(PIECES):
                    shift = np.uint64((PIECES - 1 - i) * _BITS)
                    piece = (bits >> shift) & np.uint64((1 << _BITS) - 1)
                    if piece.any():  # of numbers of 32 bits, the last one is 0
                        weight = piece.astype(np.float64)
                        for side in sides:
                            keys[i] += np.bincount(side, weight, minlength=n + 1)[:n]
        return keys.astype(np.int64)

    @cached_property
    def n_without_test_speaker(self) -> int:
        """Nontarget trials whose test speaker is unknown; 0 if speakers were not asked for."""
        is_unknown = self.utterance_speaker < 0
        if self.speaker_table is None or is_unknown.all() or not is_unknown.any():
            return 0
        kept = (part.without_conflicts() for part in self.partitions())
        return sum(int(is_unknown.take(part.test).sum()) for part in kept)

    def utterance_codes(self, of_speaker: NDArray[np.int32]) -> NDArray[np.int32]:
        """The code of each utterance from that of its speaker, -1 where this is unknown."""
        return np.append(of_speaker, np.int32(-1)).astype(np.int32).take(self.utterance_speaker)

    @cached_property
    def list_digest(self) -> bytes:
        """Hash of the pairs and labels of all trials, whatever their scores."""
        return _digest(self)

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
        return len(self._partitions) == 1

    @property
    def n_partitions(self) -> int:
        """Partitions: one for trials in memory."""
        return len(self._partitions)

    def partitions(self) -> Iterator[Trials]:
        """The trials, one partition after the other; may be called again."""
        return (
            iter(self._partitions)
            if self.n_partitions == 1
            else with_progress(self._partitions, "parts", "parts")
        )

    def partitions_by_layout(
        self, layouts: Sequence[object]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """Partitions, each with the numbers of the layouts that its trials count in: all."""
        return ((part, range(len(layouts))) for part in self.partitions())

    def side_coder(self, grouping: GroupsTrials) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides of each trial of a partition, -1 for none."""
        return grouping.side_coder(self)

    def with_trial_columns(
        self,
        change: Callable[[Trials], Trials],
        *,
        more: Collection[str],
        levels: Mapping[str, AttributeValues],
    ) -> TrialSet:
        """The same trials with further columns, which `change` gives a partition.

        `more` are their names, and `levels` the values of attributes among them.
        """
        parts: list[Trials] | CheckedParts = (
            [] if isinstance(self._partitions, list) else CheckedParts(ScratchFolder())
        )
        for part in self.partitions():
            parts.append(change(part))
        columns = self.extra_columns | frozenset(more)
        return replace(
            self,
            _partitions=parts,
            attribute_values={**self.attribute_values, **levels},
            extra_columns=columns,
        )

    def with_rows(self, rows: NDArray[np.bool_]) -> TrialSet:
        """Some of the trials that contradict nothing, held in memory; what failed is kept."""
        (part,) = self.partitions()
        kept = part.without_conflicts().take(rows)
        return replace(self, _partitions=[kept], n_trials=len(kept))

    def with_values(
        self, values: Mapping[str, Collection[str]], groupings: Sequence[GroupsTrials]
    ) -> TrialSet:
        """The trials of which both sides have some of these values of each grouping.

        Raises
        ------
        ConfigError
            If there is no such value, or no such trial.
        """
        wished = []
        for one in groupings:
            for value in values[one.name]:
                if value not in one.groups:
                    msg = f"--only {one.name}={value}: {name_hint(value, one.groups)}"
                    raise ConfigError(msg)
            codes = [i for i, group in enumerate(one.groups) if group in values[one.name]]
            wished.append((one.side_coder(self), codes))

        def some(part: Trials) -> Trials:
            sides = [np.isin(side, codes) for on, codes in wished for side in on(part)]
            kept = part.take(np.logical_and.reduce(sides))
            return replace(kept, failed=None if part.failed is None else some(part.failed))

        parts: list[Trials] | CheckedParts = (
            [] if self.fits_in_memory else CheckedParts(ScratchFolder())
        )
        used, n, low, high = np.zeros(len(self.utterance_ids), dtype=bool), 0, np.inf, -np.inf
        for part in self.partitions():
            parts.append(made := some(part))
            for rows in (made, made.failed):
                if rows is not None:
                    used[rows.enrol] = used[rows.test] = True
            scores = made.score[~made.conflict]
            n += scores.size
            finite = scores[np.isfinite(scores)]
            low, high = finite.min(initial=low), finite.max(initial=high)
        asked = " and ".join(f"{name}={', '.join(every)}" for name, every in values.items())
        if not n:
            msg = f"--only {asked}: none of the {self.n_trials:,} trials of {self.name} is so"
            raise ConfigError(msg)
        of_all = (*UNSCORED_OF_CLASS, UNSCORED_TESTS)
        note = DataNote("scores", f"trials that are not {asked}", self.n_trials - n, "set aside")
        return replace(
            self,
            _partitions=parts,
            n_trials=n,
            score_range=(float(low), float(high)) if np.isfinite(low) else (0.0, 0.0),
            utterance_speaker=np.where(used, self.utterance_speaker, np.int32(-1)),
            data_notes=[*self.data_notes, note],
            # counted over all trials, which are not those that are left
            counts_by_speaker={k: v for k, v in self.counts_by_speaker.items() if k not in of_all},
            content_sha256=hashlib.sha256(f"{self.content_sha256}\0{asked}".encode()).hexdigest(),
        )

    def with_weighted_rows(
        self, parts: Sequence[Trials], sha256: str, data: Sequence[DataNote]
    ) -> TrialSet:
        """Other trials of the same utterances, as rows that weigh their number."""
        n = sum(int(part.extra_columns["count"].sum()) for part in parts)
        return replace(
            self,
            _partitions=list(parts),
            n_trials=n,
            content_sha256=sha256,
            data_notes=data,
            counts_by_speaker={},
        )

    @property
    def has_decisions(self) -> bool:
        """Whether decisions are known: told as such, or by a threshold for each trial."""
        return "accepted" in self.extra_columns or (
            "threshold" in self.extra_columns and self.is_scored
        )

    def decisions(self, part: Trials) -> NDArray[np.int8]:
        """1 for trials that were accepted, 0 for rejected ones, -1 where it is not known."""
        found = np.full(len(part), -1, dtype=np.int8)
        if "threshold" in part.extra_columns and self.is_scored:
            level = self.thresholds[part.extra_columns["threshold"]]
            found = np.where(np.isnan(level), -1, part.score >= level).astype(np.int8)
        decision = part.extra_columns.get("accepted")
        return found if decision is None else np.where(decision < 0, found, decision)


def check_test_speakers(trials: TrialSet, why: str) -> None:
    """Refuse trials without a test speaker where, as `why` says, all must be known."""
    n = trials.n_without_test_speaker
    if n:
        msg = (
            f"{trials.name}: holds {n:,} {WITHOUT_TEST_SPEAKER}, but {why}; name it in a column "
            "test_speaker, or remove these rows"
        )
        raise DataError(msg)


def speakers_in(speaker: NDArray[np.int32]) -> NDArray[np.intp]:
    """Speakers that any utterance is of, rising; -1 stands for none."""
    used = np.zeros(int(speaker.max(initial=-1)) + 2, dtype=bool)
    used[speaker] = True
    return np.flatnonzero(used[:-1])


def with_common_speakers(
    people: Speakers | None, sets: Sequence[TrialSet]
) -> tuple[Speakers, list[TrialSet]]:
    """Trials whose speakers count in one table; where none was given, it is made of their names."""
    if people is not None:
        return people, list(sets)
    own = [one.speaker_table for one in sets if one.speaker_table is not None]
    if len(own) == 1:
        return own[0], list(sets)
    names = np.unique(np.concatenate([np.array(one.ids, dtype=object) for one in own]))
    whole = speakers_of(pl.Series(names.tolist(), dtype=pl.String))
    made = []
    for one, mine in zip(sets, own, strict=True):
        place = np.searchsorted(names, np.array(mine.ids, dtype=object)).astype(np.int32)
        aside = {}
        for item, counts in one.counts_by_speaker.items():
            aside[item] = np.zeros(names.size, dtype=np.int64)
            aside[item][place] = counts
        speaker = np.append(place, np.int32(-1))[one.utterance_speaker]
        made.append(
            replace(one, utterance_speaker=speaker, counts_by_speaker=aside, speaker_table=whole)
        )
    return whole, made


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
        digests = [one.list_digest for one in sets]
        on_list: dict[str, list[int]] = {}
        for i, one in enumerate(sets):
            on_list.setdefault(one.list, []).append(i)
        differing = [of for of in on_list.values() if len({digests[i] for i in of}) > 1]
        for i in (i for of in differing for i in of if not sets[i].is_exact):
            msg = (
                f"--compare: {_names(sets, differing[0])} have different trials, too many "
                f"({sets[i].n_trials:,}) to be matched with each other; give each system the same "
                "trials"
            )
            raise ConfigError(msg)
        is_matched = len(set(digests)) > 1 and all(one.is_exact for one in sets)
        keys = _trial_keys(sets) if is_matched else []
        restricted: dict[int, TrialSet] = {}
        for of in differing:
            common = reduce(np.intersect1d, [keys[i] for i in of])
            if not common.size:
                msg = (
                    f"--compare: {_names(sets, of)} have no trial in common (the same two ids and "
                    "label); give them the same trials, or name their lists, as in A@x=a.csv "
                    "B@y=b.csv, to compare these as wholes"
                )
                raise ConfigError(msg)
            restricted |= {i: sets[i].with_rows(np.isin(keys[i], common)) for i in of}
        return cls(sets, restricted, digests, keys)

    def is_restricted(self, i: int, j: int) -> bool:
        """Whether two sets are compared on the trials that they have in common."""
        is_one_list = self.sets[i].list == self.sets[j].list
        return is_one_list and self._digests[i] != self._digests[j]

    def in_words(self, i: int, j: int) -> str:
        """What two sets have in common and which trials are compared, in words."""
        if self._digests[i] == self._digests[j]:
            return "the same trials"
        one, other = self.sets[i], self.sets[j]
        sizes = f"{one.n_trials:,} and {other.n_trials:,}"
        if self.is_restricted(i, j):
            n = sum(self.sets[k].list == one.list for k in self.restricted)
            whose = f" to all {n} systems" if n > 2 else ""
            common = self.restricted[i].n_trials
            return f"{common:,} of {sizes} trials in common{whose}, which are compared"
        speakers = _speakers_in_common(one, other)
        if not self._keys:
            return f"{speakers}; lists compared as wholes"
        common = np.intersect1d(self._keys[i], self._keys[j]).size
        trials = f"{common:,} of {sizes} trials" if common else "no trial"
        return f"{trials} in common, lists compared as wholes; {speakers}"


def _names(sets: Sequence[TrialSet], of: Sequence[int]) -> str:
    return " and ".join(sets[i].system for i in of)


def _digest(trials: TrialSet) -> bytes:
    used = np.zeros(len(trials.utterance_ids), dtype=bool)
    for part in trials.partitions():
        kept = part.without_conflicts()
        used[kept.enrol] = used[kept.test] = True
    place = np.cumsum(used, dtype=np.int64)
    names, *columns = (hashlib.sha256() for _ in range(4))
    start = 0
    for _, ids in trials.utterance_ids.chunks():
        names.update("\0".join(ids.filter(used[start : start + len(ids)]).to_list()).encode())
        names.update(b"\0")
        start += len(ids)
    for part in trials.partitions():
        kept = part.without_conflicts()
        for digest, cells in zip(
            columns, (place[kept.enrol], place[kept.test], kept.target), strict=True
        ):
            digest.update(cells.tobytes())
    return b"".join(digest.digest() for digest in (names, *columns))


def _speakers_in_common(one: TrialSet, other: TrialSet) -> str:
    """How many speakers two sets have in common, in words."""
    n, m = one.speakers_in_use.size, other.speakers_in_use.size
    shared = np.intersect1d(one.speakers_in_use, other.speakers_in_use).size
    if not shared:
        return "no speaker in common"
    if shared == n == m:
        return f"the same speakers, {n}"
    return f"{shared} of {n} and {m} speakers in common"


def trials_in_common(one: TrialSet, other: TrialSet) -> int:
    """How many trials two sets share; 0 where either is too large to be matched."""
    if not (one.is_exact and other.is_exact):
        return 0
    mine, theirs = _trial_keys((one, other))
    return int(np.intersect1d(mine, theirs).size)


def _trial_keys(sets: Sequence[TrialSet]) -> list[NDArray[np.int64]]:
    """Number of each trial that contradicts nothing, of sets that are held in memory.

    The same two ids and label have the same number.
    """
    ids = [one.utterance_ids.series() for one in sets]
    ends = np.cumsum([len(own) for own in ids])
    numbers = pl.concat(ids).rank("dense").to_numpy().astype(np.int64)
    n = int(numbers.max()) + 1
    keys = []
    for one, number in zip(sets, np.split(numbers, ends[:-1]), strict=True):
        (part,) = one.partitions()
        kept = part.without_conflicts()
        keys.append((number[kept.enrol] * n + number[kept.test]) * 2 + kept.target)
    return keys
