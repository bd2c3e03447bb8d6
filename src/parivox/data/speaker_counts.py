"""Trials added up by who takes part in them: a table that adds up, and that a file can contain.

Once the thresholds are known, errors by speaker and by pair of speakers need nothing but
how many trials have the same class, speakers on both sides, groups of recordings and trials,
decision, and *step*: the number of thresholds at or below the score. Such a row is a trial that
weighs its number, so that it is placed in cells and counted as trials are. Speaker counts of
disjoint trials add up, whichever way the trials are dealt.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from parivox.core.counts import SPOOF
from parivox.core.key_sums import MAX_KEY_BITS, KeySums, RowCodec, needs_adding_up, sum_rows
from parivox.data.attributes import sorted_values
from parivox.data.counts_file import (
    COLUMN_DTYPES,
    MAX_TRIALS,
    SPEAKER_COUNTS,
    damaged_file_error,
    file_bytes,
    holds_spoof_trials,
    read_columns,
    read_header,
    write_over,
)
from parivox.data.metadata import (
    checked_count,
    checked_list,
    checked_text,
    checked_texts,
    grouping_from_metadata,
    grouping_metadata,
    require,
)
from parivox.data.trial_checks import ACQUIRE, ENROL, Trials, sorted_numbers
from parivox.data.trial_set import N_SCORE_PIECES
from parivox.data.units import MIN_BLOCKS_PER_GROUP, Units
from parivox.errors import ConfigError, ParivoxError
from parivox.facts import Fact
from parivox.frozen import frozen
from parivox.renamed import renamed_attribute

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.grouping import ExcludedValue, Grouping, Sides
    from parivox.data.site_key import SiteKey
    from parivox.data.trial_set import TrialSet

_Rows = TypeVar("_Rows")
_DTYPES = COLUMN_DTYPES[SPEAKER_COUNTS]
_KEY_COLUMNS = tuple(_DTYPES)[:-1]
"""Columns that tell rows apart."""
MAX_THRESHOLDS = (1 << 16) - 1
MAX_SIDE_COMBINATIONS = 1 << 62
"""Combinations of groups of recordings and trials on both sides: they are one number."""


@frozen
class SpeakerCounts:
    """Trials by class, attack, units of both sides, groups, step and decision.

    Members are speakers, by their number in the table of speakers, or blocks of them.
    """

    thresholds: FloatArray  # rising
    is_unit_used: NDArray[np.bool_]  # of each unit, whether any recording is of it
    score_keys: IntArray  # sums of the bits of each unit's scores: `TrialSet.score_keys`
    # those of speakers, with the group of each unit, and those of recordings or trials, whose
    # groups ``side_groups`` codes
    groupings: tuple[Grouping, ...]
    are_blocks: bool  # whether units are blocks of speakers
    speakers_sha256: str  # hash of the table of speakers
    sources: tuple[str, ...]  # hashes of the trials, rising
    # ``trial_class``; ``attack`` of spoof trials, an index into the names, -1 for none;
    # ``enrol_unit`` and ``test_unit``, of whom one more stands for unknown test
    # speakers; ``side_groups``; `step`, in [0, thresholds]; ``accepted``, 1, 0, or -1 where no
    # decision is known; `trials`, their number. Each combination once, in rising order.
    columns: Mapping[str, NDArray[Any]]
    # likewise trials of recordings that failed, with the stage in the place of the step; None
    # where no failures are known. No file contains them.
    failed: Mapping[str, NDArray[Any]] | None = None
    # where it leaves its site: names of the units by a key, rising, what tells keys apart, how
    # they were derived, and the fewest speakers of a unit
    names: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    kdf: str = ""
    min_speakers: int = 1
    name: str = "speaker counts"  # the file, for messages
    attacks: tuple[str, ...] = ()  # names that the column ``attack`` counts in

    def __len__(self) -> int:
        return int(self.columns["trials"].size)

    @property
    def n_trials(self) -> int:
        """All trials."""
        return int(self.columns["trials"].sum())

    def __add__(self, added_counts: SpeakerCounts) -> SpeakerCounts:
        """Add up those of two sets of trials, which share none: see `total`."""
        return SpeakerCounts.total([self, added_counts])

    @classmethod
    def total(cls, several_counts: Iterable[SpeakerCounts]) -> SpeakerCounts:
        """Add up those of several sets of trials, which share none; one is held at a time.

        Raises
        ------
        ConfigError
            If they were made at other thresholds, of other units or other groups.
        """
        several_counts = iter(several_counts)
        reference = next(several_counts)
        if reference.sites:
            reference, *several_counts = _aligned_by_name([reference, *several_counts])
        checked_counts, row_sums = (
            [],
            SpeakerCountSums(
                reference.is_unit_used.size,
                reference.groupings,
                reference.thresholds.size,
                len(reference.attacks),
            ),
        )
        for counts in chain([reference], several_counts):
            _check_kind(reference, counts)
            checked_counts.append(replace(counts, columns={}))
            properties = counts.shared_properties()
            for property_name, expected in reference.shared_properties().items():
                if expected != properties[property_name]:
                    msg = f"speaker counts that differ in {property_name} cannot be added up"
                    hint = "make all speaker counts with the same settings"
                    raise ConfigError(msg, hint)
            row_sums.add(counts.columns)
        sources = sorted(source for counts in checked_counts for source in counts.sources)
        if len(set(sources)) < len(sources):
            msg = "two files of speaker counts contain the same trials, which would count twice"
            hint = "leave out one of the files"
            raise ConfigError(msg, hint)
        groupings = tuple(
            _joined_grouping(checked_counts, index) for index in range(len(reference.groupings))
        )
        return replace(
            reference,
            groupings=groupings,
            is_unit_used=np.any([counts.is_unit_used for counts in checked_counts], axis=0),
            score_keys=np.sum([counts.score_keys for counts in checked_counts], axis=0),
            sources=tuple(sources),
            sites=tuple(sorted({site for counts in checked_counts for site in counts.sites})),
            min_speakers=min(counts.min_speakers for counts in checked_counts),
            columns=row_sums.total(),
            failed=None,
        )

    def shared_properties(self) -> dict[str, Any]:
        """What speaker counts that add up have in common."""
        groups = [
            (grouping.name, grouping.group_values, grouping.speaker_codes is None)
            for grouping in self.groupings
        ]
        return {
            "thresholds": self.thresholds.tolist(),
            "speakers": (self.is_unit_used.size, self.are_blocks, self.speakers_sha256),
            "groups": groups,
            "attacks": self.attacks,
        }

    def with_attacks(self, attacks: Sequence[str]) -> SpeakerCounts:
        """The same with the attacks of all that are to be added up."""
        new_codes = np.array([*map(attacks.index, self.attacks), -1], dtype=np.int32)
        return replace(
            self,
            attacks=tuple(attacks),
            columns={**self.columns, "attack": new_codes[self.columns["attack"]]},
        )

    def with_groupings(self, groupings: Sequence[Grouping]) -> SpeakerCounts:
        """The same by groupings whose groups are those of all that are to be added up.

        Raises
        ------
        ConfigError
            If it was made without one of them.
        """
        grouping_by_name = {grouping.name: grouping for grouping in self.groupings}
        new_groupings, side = [], np.broadcast_to(np.int64(0), len(self))
        for grouping in groupings:
            counted_grouping = grouping_by_name.get(grouping.name)
            if counted_grouping is None:
                msg = f"the speaker counts were made without {grouping.name}"
                hint = "make the speaker counts again with this grouping"
                raise ConfigError(msg, hint)
            group_indices = {group: i for i, group in enumerate(grouping.group_values)}
            new_codes = np.array(
                [*(group_indices.get(group, -1) for group in counted_grouping.group_values), -1],
                dtype=np.int32,
            )
            if counted_grouping.speaker_codes is not None:
                new_groupings.append(
                    replace(grouping, speaker_codes=new_codes[counted_grouping.speaker_codes])
                )
                continue
            new_groupings.append(replace(grouping, speaker_codes=None))
            (trials, _), *_ = self.partitions_by_layout(())
            for group in self.side_coder(counted_grouping)(trials):
                side = side * (len(grouping.groups) + 1) + new_codes[group] + 1
        return replace(
            self, groupings=tuple(new_groupings), columns={**self.columns, "side_groups": side}
        )

    def pseudonymised(
        self, units: NDArray[np.intp], names: NDArray[np.str_], key: SiteKey, min_speakers: int
    ) -> SpeakerCounts:
        """The same of these units alone, under names in the place of numbers of the table.

        `key` made them, `min_speakers` is the fewest speakers of a unit.
        """
        order = np.argsort(names)
        new_positions = np.full(self.is_unit_used.size, -1, dtype=np.int32)
        new_positions[units[order]] = np.arange(order.size)
        renumbered_counts = self.renumbered(new_positions, units[order], self.thresholds)
        # nothing that is finer than a step
        keys = np.zeros((N_SCORE_PIECES, order.size), dtype=np.int64)
        sorted_names = tuple(names[order].tolist())
        sha256 = hashlib.sha256("\n".join(sorted_names).encode()).hexdigest()
        return replace(
            renumbered_counts,
            score_keys=keys,
            speakers_sha256=sha256,
            names=sorted_names,
            sites=(key.site,),
            kdf=key.kdf,
            min_speakers=min_speakers,
        )

    def renumbered(
        self,
        new_positions: NDArray[np.int32],
        old_positions: NDArray[np.intp],
        thresholds: FloatArray,
    ) -> SpeakerCounts:
        """With units at other positions, and at more thresholds, none of which divides a step.

        `new_positions` are of the units counted here; `old_positions` say which of them each unit
        of the result is, -1 for those who are not here.
        """
        is_present = old_positions >= 0
        groupings = [
            grouping
            if grouping.speaker_codes is None
            else replace(
                grouping,
                speaker_codes=np.where(is_present, grouping.speaker_codes[old_positions], -1),
            )
            for grouping in self.groupings
        ]
        rows = dict(self.columns)
        positions_with_unknown = np.append(
            new_positions, np.int32(old_positions.size)
        )  # who is unknown
        for side in ("enrol_unit", "test_unit"):
            rows[side] = positions_with_unknown[rows[side]]
        step = np.searchsorted(thresholds, self.edges[rows["step"]], side="right")
        rows["step"] = step.astype(np.uint16)
        row_sums = SpeakerCountSums(
            old_positions.size, groupings, thresholds.size, len(self.attacks)
        )
        row_sums.add(rows)
        return replace(
            self,
            thresholds=thresholds,
            is_unit_used=is_present & self.is_unit_used[old_positions],
            score_keys=np.where(is_present, self.score_keys[:, old_positions], 0),
            groupings=tuple(groupings),
            columns=row_sums.total(),
            failed=None,
        )

    def disclosures(self) -> Iterator[Fact]:
        """Yield what the counts disclose to their reader, and what makes intervals of them wide."""
        outcome = {"outcome": "scores" if self.thresholds.size else "decisions"}
        if not self.sites:
            yield Fact(
                "counts_of_numbered_speakers", {"speakers": self.is_unit_used.size} | outcome
            )
        elif not self.are_blocks:
            yield Fact("counts_of_pseudonyms", {"speakers": len(self.names)} | outcome)
        else:
            blocks = {"blocks": len(self.names), "speakers": self.min_speakers}
            yield Fact("counts_of_speaker_blocks", blocks | outcome)
        small_groups = self.groups_of_few_blocks()
        if small_groups:
            yield Fact("groups_of_few_blocks", {"blocks": small_groups})

    def groups_of_few_blocks(self) -> dict[str, int]:
        """Groups of so few blocks that intervals are wider for it, and how many they are."""
        small_groups: dict[str, int] = {}
        for grouping in self.groupings if self.are_blocks else ():
            if grouping.speaker_codes is not None:
                n_blocks = np.bincount(
                    grouping.speaker_codes[grouping.speaker_codes >= 0],
                    minlength=len(grouping.groups),
                )
                named_sizes = zip(grouping.groups, n_blocks.tolist(), strict=True)
                small = {
                    name: size for name, size in named_sizes if 0 < size < MIN_BLOCKS_PER_GROUP
                }
                small_groups |= {f"{name} ({grouping.name})": size for name, size in small.items()}
        return small_groups

    @property
    def edges(self) -> FloatArray:
        """Lower edges of the steps."""
        return np.append(-np.inf, self.thresholds)

    # what is asked of trials: rows are trials that weigh their number

    fits_in_memory: ClassVar[bool] = True

    @cached_property
    def n_classes(self) -> int:
        """Classes of trials: target and nontarget trials and, where there are any, spoof trials."""
        return SPOOF + 1 if holds_spoof_trials(self.columns) else SPOOF

    @property
    def units(self) -> Units:
        """Whom uncertainty is measured over."""
        blocks = np.arange(self.is_unit_used.size, dtype=np.int32) if self.are_blocks else None
        return Units.of_utterances(self.utterance_speaker, blocks)

    @property
    def people(self) -> SpeakerCounts | None:
        """These rows, if each unit is one speaker; else None."""
        return None if self.are_blocks else self

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self)

    def rows_by_unit(
        self, keep: Callable[[SpeakerCounts], _Rows], _: Callable[[TrialSet], _Rows]
    ) -> _Rows:
        """Return what is made of these rows, which are of units."""
        return keep(self)

    def unit_groupings(self, groupings: Sequence[Grouping]) -> list[Grouping]:
        """Groupings, with the group of each unit."""
        by_name = {grouping.name: grouping for grouping in self.groupings}
        return [by_name.get(grouping.name, grouping) for grouping in groupings]

    def recording_codes(self, _: Grouping) -> None:
        """Groups of recordings are not known one by one."""

    def excluded_values(self, _: Grouping) -> list[ExcludedValue]:
        """Values that a grouping leaves out: none is known."""
        return []

    @cached_property
    def speakers_in_use(self) -> NDArray[np.intp]:
        """Members that any recording is of, rising."""
        return np.flatnonzero(self.is_unit_used)

    @cached_property
    def utterance_speaker(self) -> NDArray[np.int32]:
        """Every unit is the only recording of its own, up to the last in use.

        Where some test speakers are unknown, one more recording is of nobody.
        """
        if (self.columns["test_unit"] == self.is_unit_used.size).any():
            return np.append(np.arange(self.is_unit_used.size, dtype=np.int32), np.int32(-1))
        return np.arange(int(self.speakers_in_use.max(initial=-1)) + 1, dtype=np.int32)

    def partitions_by_layout(
        self, layouts: Sequence[object]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """The rows as trials with the highest threshold at or below their scores."""
        trials = _as_trials(self.columns, self.edges[self.columns["step"]])
        if self.failed is not None:
            no_scores = np.full(self.failed["step"].size, np.nan)
            trials = replace(trials, failed=_as_trials(self.failed, no_scores))
        yield trials, range(len(layouts))

    def decisions(self, trials: Trials) -> NDArray[np.int8]:
        """1 for accepted, 0 for rejected, -1 where it is not known."""
        return trials.extra_columns["accepted"]

    def side_coder(self, grouping: Grouping) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides of each row, -1 for none."""
        if grouping.speaker_codes is not None:
            group_of_speaker = np.append(grouping.speaker_codes, np.int32(-1)).astype(np.int32)
            return lambda trials: (group_of_speaker[trials.enrol], group_of_speaker[trials.test])
        trial_groupings = [
            candidate for candidate in self.groupings if candidate.speaker_codes is None
        ]
        names = [candidate.name for candidate in trial_groupings]
        if grouping.name not in names:
            msg = f"the speaker counts were made without {grouping.name}"
            hint = "make the speaker counts again with this grouping"
            raise ConfigError(msg, hint)
        position = names.index(grouping.name)
        sizes = [len(candidate.groups) + 1 for candidate in trial_groupings]
        base, n = np.prod(np.square(sizes[position + 1 :]), dtype=np.int64), sizes[position]

        def sides(trials: Trials) -> Sides:
            code = trials.extra_columns["side"] // base
            enrol, test = ((candidate % n - 1).astype(np.int32) for candidate in (code // n, code))
            return enrol, test

        return sides

    # files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it as one file, all of it or nothing; it is personal data.

        Raises
        ------
        ConfigError
            If the file cannot be written.
        """
        from parivox.version import __version__  # noqa: PLC0415 - the version of the whole

        groupings = [
            grouping_metadata(grouping)
            | {
                "unit_groups": None
                if grouping.speaker_codes is None
                else grouping.speaker_codes.tolist()
            }
            for grouping in self.groupings
        ]
        header = {
            "parivox": __version__,
            "sources": [*self.sources],
            "trials": self.n_trials,
            "thresholds": [repr(threshold) for threshold in self.thresholds.tolist()],
            "groupings": groupings,
            "is_unit_used": self.is_unit_used.astype(int).tolist(),
            "score_keys": self.score_keys.tolist(),
            "are_blocks": self.are_blocks,
            "min_speakers": self.min_speakers,
            "names": [*self.names],
            "sites": [*self.sites],
            "kdf": self.kdf,
            "speakers_sha256": self.speakers_sha256,
            "disclosures": [
                {"code": code, "values": values} for code, values in self.disclosures()
            ],
        }
        if holds_spoof_trials(self.columns):
            header["attacks"] = [*self.attacks]
        write_over(path, file_bytes(SPEAKER_COUNTS, self.columns, header))

    write = renamed_attribute("SpeakerCounts.write", "save")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SpeakerCounts:
        """Read what `write` wrote.

        Raises
        ------
        DataError
            If it is none, is damaged, or was made in another version.
        """
        _, header, columns = read_columns(path, SPEAKER_COUNTS)
        with _checked(path):
            counts = cls(
                np.array(
                    [float(text) for text in checked_texts(header["thresholds"])],
                    dtype=np.float64,
                ),
                np.array(checked_list(header["is_unit_used"]), dtype=np.bool_),
                np.array(header["score_keys"], dtype=np.int64),
                tuple(
                    replace(
                        grouping_from_metadata(entry_text),
                        speaker_codes=None
                        if entry_text["unit_groups"] is None
                        else np.array(entry_text["unit_groups"], dtype=np.int32),
                    )
                    for entry_text in checked_list(header["groupings"])
                ),
                bool(header["are_blocks"]),
                checked_text(header["speakers_sha256"]),
                checked_texts(header["sources"]),
                columns,
                names=checked_texts(header["names"]),
                sites=checked_texts(header["sites"]),
                kdf=checked_text(header["kdf"]),
                min_speakers=checked_count(header["min_speakers"]),
                name=Path(path).name,
                attacks=checked_texts(header.get("attacks", [])),
            )
            is_consistent = counts.n_trials == header["trials"] and _rows_fit(counts)
            require(is_consistent, "rows of other members")
        return counts


def read_attacks(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Names of all attacks of several files of speaker counts, in order.

    Raises
    ------
    DataError
        As `SpeakerCounts.read` does.
    """
    attacks: set[str] = set()
    for path in paths:
        header = read_header(path, SPEAKER_COUNTS)
        with _checked(path):
            attacks.update(checked_texts(header.get("attacks", [])))
    return sorted_values(attacks)


def read_sources(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Hashes of the trials of speaker counts, as their metadata have them.

    Raises
    ------
    DataError
        As `SpeakerCounts.read` does.
    """
    header = read_header(path, SPEAKER_COUNTS)
    with _checked(path):
        return checked_texts(header["sources"])


@contextmanager
def _checked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of which file it is that its metadata are wrong."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, ParivoxError) as error:
        raise damaged_file_error(str(path), f"its metadata: {error}", SPEAKER_COUNTS) from error


def _as_trials(rows: Mapping[str, NDArray[Any]], score: FloatArray) -> Trials:
    """Rows as trials that weigh their number; the step of failed ones is the stage."""
    extra_columns = {
        "count": rows["trials"],
        "accepted": rows["accepted"],
        "side": rows["side_groups"],
        "attack": rows["attack"],
    }
    extra_columns["failed"] = rows["step"]
    no_conflict = np.zeros(score.size, dtype=np.bool_)
    return Trials(
        rows["enrol_unit"],
        rows["test_unit"],
        rows["trial_class"],
        score,
        no_conflict,
        extra_columns,
    )


def _check_kind(reference: SpeakerCounts, compared: SpeakerCounts) -> None:
    """Refuse to add speaker counts of a site to those of the speakers of a table."""
    if bool(reference.sites) != bool(compared.sites):
        names = f"{reference.name} and {compared.name}"
        msg = f"{names}: only one of them was made with a key"
        hint = "make both with the same key"
        raise ConfigError(msg, hint)


def _aligned_by_name(several_counts: Sequence[SpeakerCounts]) -> list[SpeakerCounts]:
    """Speaker counts of several sites, with a number for each name and the thresholds of all."""
    reference = several_counts[0]
    for i, compared in enumerate(several_counts[1:], 1):
        pair_names = f"{reference.name} and {compared.name}"
        _check_kind(reference, compared)
        if reference.kdf != compared.kdf:
            derivations = " and ".join(
                counts.kdf or "none, as of Parivox 0.2.0" for counts in (reference, compared)
            )
            msg = (
                f"{pair_names}: their keys were derived in different ways ({derivations}), so "
                "speakers in both cannot be recognised"
            )
            hint = "count both with the same version of Parivox"
            raise ConfigError(msg, hint)
        if reference.are_blocks != compared.are_blocks:
            msg = f"{pair_names}: one describes speakers, the other blocks of speakers"
            hint = "make both with --blocks, or both without"
            raise ConfigError(msg, hint)
        if not reference.are_blocks and reference.sites != compared.sites:
            msg = (
                f"{pair_names}: were made with different keys, so speakers who are in both cannot "
                "be recognised"
            )
            hint = "make both with the same key or, if no speaker is in both, with --blocks"
            raise ConfigError(msg, hint)
        for counts in several_counts[:i] if reference.are_blocks else ():
            if set(counts.sites) & set(compared.sites) and counts.names != compared.names:
                msg = (
                    f"{counts.name} and {compared.name}: contain blocks of different speakers "
                    "made with one key, so a speaker in both would count as two speakers"
                )
                hint = (
                    "count the trials of "
                    "both in one file or, if no speaker is in both, with different keys"
                )
                raise ConfigError(msg, hint)
    names = np.unique(np.concatenate([counts.names for counts in several_counts]))
    sha256 = hashlib.sha256("\n".join(names.tolist()).encode()).hexdigest()
    thresholds = np.unique(np.concatenate([counts.thresholds for counts in several_counts]))
    aligned = []
    for counts in several_counts:
        new_positions = np.searchsorted(names, counts.names).astype(np.int32)
        old_positions = np.full(names.size, -1)
        old_positions[new_positions] = np.arange(new_positions.size)
        aligned.append(
            replace(
                counts.renumbered(new_positions, old_positions, thresholds),
                names=tuple(names.tolist()),
                speakers_sha256=sha256,
            )
        )
    return aligned


def _joined_grouping(several_counts: Sequence[SpeakerCounts], index: int) -> Grouping:
    """One grouping of several, which may know the groups of different units."""
    reference_grouping = several_counts[0].groupings[index]
    group = reference_grouping.speaker_codes
    for counts in several_counts[1:] if group is not None else ():
        unit_groups = counts.groupings[index].speaker_codes
        assert group is not None
        assert unit_groups is not None
        if ((group >= 0) & (unit_groups >= 0) & (group != unit_groups)).any():
            reference = (
                f"{several_counts[0].name} and others"
                if len(several_counts) > 2
                else several_counts[0].name
            )
            msg = (
                f"{counts.name}: the groups by {reference_grouping.name} differ from those of "
                f"{reference}"
            )
            hint = "make all speaker counts with the same speaker table"
            raise ConfigError(msg, hint)
        group = np.maximum(group, unit_groups)
    return replace(reference_grouping, speaker_codes=group)


class SpeakerCountSums:
    """Rows of tables that come in turn, added up; a row that does not say so is of one trial."""

    def __init__(
        self, n_units: int, groupings: Sequence[Grouping], n_thresholds: int, n_attacks: int = 0
    ) -> None:
        self.codec = RowCodec(
            {
                "trial_class": (0, SPOOF),
                "attack": (-1, n_attacks - 1),
                "enrol_unit": (0, n_units - 1),
                "test_unit": (0, n_units),
                "side_groups": (0, n_side_combinations(groupings) - 1),
                # of those that failed, stages
                "step": (0, max(n_thresholds, ACQUIRE, ENROL)),
                "accepted": (-1, 1),
            }
        )
        self.sums = KeySums(sorted_numbers)
        self.tables: list[Mapping[str, NDArray[Any]]] = []  # rows too wide for one number

    def add(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Add a table."""
        if self.codec.width <= MAX_KEY_BITS:
            self.sums.add(self.codec.encode(rows), rows.get("trials"))
            return
        one_trial_each = np.broadcast_to(np.int64(1), rows["trial_class"].size)
        self.tables.append({"trials": one_trial_each, **rows})
        if needs_adding_up([table["trials"].size for table in self.tables]):
            self.tables = [sum_rows(self.tables, _KEY_COLUMNS)]

    def total(self) -> dict[str, NDArray[Any]]:
        """Each combination once, in rising order."""
        if self.tables:
            total = sum_rows(self.tables, _KEY_COLUMNS)
            return {name: total[name] for name in _DTYPES}
        keys, trials = self.sums.total()
        return {**self.codec.decode(keys, _DTYPES), "trials": trials}


def n_side_combinations(groupings: Sequence[Grouping]) -> int:
    """Combinations of groups of recordings and trials, or of none, on both sides."""
    return math.prod(
        (len(grouping.groups) + 1) ** 2 for grouping in groupings if grouping.speaker_codes is None
    )


def _rows_fit(speaker_counts: SpeakerCounts) -> bool:
    """Whether all that the rows name is there."""
    rows, n_units = speaker_counts.columns, speaker_counts.is_unit_used.size
    limits = {
        "trial_class": (0, SPOOF),
        "attack": (-1, len(speaker_counts.attacks) - 1),
        "enrol_unit": (0, n_units - 1),
        "test_unit": (0, n_units),
        "side_groups": (0, n_side_combinations(speaker_counts.groupings) - 1),
        "step": (0, speaker_counts.thresholds.size),
        "accepted": (-1, 1),
        "trials": (1, MAX_TRIALS),
    }
    rises = bool((np.diff(speaker_counts.thresholds) > 0).all())
    are_groups = all(
        grouping.speaker_codes.shape == (n_units,)
        and ((grouping.speaker_codes >= -1) & (grouping.speaker_codes < len(grouping.groups))).all()
        for grouping in speaker_counts.groupings
        if grouping.speaker_codes is not None
    )
    are_named = bool(speaker_counts.sites) == bool(speaker_counts.names) and len(
        speaker_counts.names
    ) in {0, n_units}
    return (
        rises
        and are_groups
        and speaker_counts.score_keys.shape == (N_SCORE_PIECES, n_units)
        and are_named
        and all(low < high for low, high in pairwise(speaker_counts.names))
        and all(
            bool(low <= rows[name].min(initial=high) and rows[name].max(initial=low) <= high)
            for name, (low, high) in limits.items()
        )
    )
