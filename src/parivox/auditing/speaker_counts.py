"""Trials added up by who takes part in them: a table that adds up, and that a file can hold.

Once the thresholds are known, errors by speaker and by pair of speakers are told from nothing but
how many trials have the same class, speakers on both sides, groups of recordings and trials,
decision, and *step*: the number of thresholds at or below the score. Such a row is a trial that
weighs its number, so that it is placed in cells and tallied as trials are. Tallies of disjoint
trials add up, whichever way the trials are dealt.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.layout import MIN_BLOCKS_PER_GROUP, Layout, Units, block_groups, walk
from parivox.core.cluster_errors import CodeSums, RowCodec, needs_adding_up, sum_by_code
from parivox.core.counts import EdgeSearch
from parivox.data.counts_file import (
    MAX_TRIALS,
    TALLY_KEY,
    TALLY_KEYS,
    TALLY_TYPES,
    damaged_file_error,
    read_header,
    read_tally,
    write_tally,
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
from parivox.data.trial_checks import ACQUIRE, ENROL, Trials
from parivox.data.trial_set import N_SCORE_PIECES
from parivox.errors import ConfigError, ParivoxError
from parivox.frozen import frozen

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.grouping import Grouping, Sides
    from parivox.data.site_key import SiteKey
    from parivox.data.trial_set import TrialSet

MAX_THRESHOLDS = (1 << 16) - 1
_MOST, _MOST_SIDES = 1 << 44, 1 << 62
"""Combinations of groups of recordings and trials: in a number with step and decision; in all."""
_AT_ONCE = 1 << 17
"""Rows, so that all that is made of them stays near the processor."""
_BITS = 62
"""Of a number that tells rows apart."""


@frozen
class SpeakerCounts:
    """Trials by class, members of both sides, groups, step and decision.

    Members are speakers, by their number in the table of speakers, or blocks of them.
    """

    thresholds: FloatArray  # rising
    is_unit_used: NDArray[np.bool_]  # of each member, whether any recording is of it
    keys: IntArray  # sums of the bits of each member's scores: `TrialSet.score_keys`
    # those of speakers, with the group of each member, and those of recordings or trials, whose
    # groups `side` codes
    groupings: tuple[Grouping, ...]
    are_blocks: bool  # whether members are blocks of speakers
    members_sha256: str  # hash of the table of speakers
    sources: tuple[str, ...]  # hashes of the trials, rising
    # `target`; `enrol` and `test`, members, of whom one more stands for unknown test speakers;
    # `side`; `step`, in [0, thresholds]; `accepted`, 1, 0, or -1 where no decision is known;
    # `trials`, their number. Each combination once, in rising
    # order.
    columns: Mapping[str, NDArray[Any]]
    # likewise trials of recordings that failed, with the stage in the place of the step; None
    # where no failure is told. No file holds them.
    failed: Mapping[str, NDArray[Any]] | None = None
    # where it leaves its site: names of the members by a key, rising, what tells keys apart, how
    # they were derived, and the fewest speakers of a member
    names: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    kdf: str = ""
    least: int = 1
    name: str = "a tally"  # the file, for messages

    def __len__(self) -> int:
        return int(self.columns["trials"].size)

    @property
    def n_trials(self) -> int:
        """All trials."""
        return int(self.columns["trials"].sum())

    def __add__(self, other: SpeakerCounts) -> SpeakerCounts:
        """The tally of both sets of trials, which share none: see `total`."""
        return SpeakerCounts.total([self, other])

    @classmethod
    def total(cls, tallies: Iterable[SpeakerCounts]) -> SpeakerCounts:
        """The tally of several sets of trials, which share none; one is held at a time.

        Raises
        ------
        ConfigError
            If they were made at other thresholds, of other members or other groups.
        """
        tallies = iter(tallies)
        first = next(tallies)
        if first.sites:
            first, *tallies = _recognised([first, *tallies])
        checked_list, rows = (
            [],
            _Rows(first.is_unit_used.size, first.groupings, first.thresholds.size),
        )
        for one in chain([first], tallies):
            _check_kind(first, one)
            checked_list.append(replace(one, columns={}))
            others = one.shared_properties()
            for what, mine in first.shared_properties().items():
                if mine != others[what]:
                    msg = f"tallies of other {what} do not add up; make all with the same"
                    raise ConfigError(msg)
            rows.add(one.columns)
        sources = sorted(source for one in checked_list for source in one.sources)
        if len(set(sources)) < len(sources):
            msg = "two tallies are of the same trials, which would count twice; leave out one"
            raise ConfigError(msg)
        groupings = tuple(_joined(checked_list, at) for at in range(len(first.groupings)))
        return replace(
            first,
            groupings=groupings,
            is_unit_used=np.any([one.is_unit_used for one in checked_list], axis=0),
            keys=np.sum([one.keys for one in checked_list], axis=0),
            sources=tuple(sources),
            sites=tuple(sorted({site for one in checked_list for site in one.sites})),
            least=min(one.least for one in checked_list),
            columns=rows.total(),
            failed=None,
        )

    def shared_properties(self) -> dict[str, Any]:
        """What tallies that add up have in common."""
        groups = [(one.name, one.group_values, one.speaker_codes is None) for one in self.groupings]
        return {
            "thresholds": self.thresholds.tolist(),
            "speakers": (self.is_unit_used.size, self.are_blocks, self.members_sha256),
            "groups": groups,
        }

    def with_groupings(self, groupings: Sequence[Grouping]) -> SpeakerCounts:
        """The same by groupings whose groups are those of all tallies that are to be added up.

        Raises
        ------
        ConfigError
            If it was made without one of them.
        """
        own = {one.name: one for one in self.groupings}
        made, side = [], np.broadcast_to(np.int64(0), len(self))
        for one in groupings:
            mine = own.get(one.name)
            if mine is None:
                msg = f"the tally was made without {one.name}; make it again with that grouping"
                raise ConfigError(msg)
            known = {group: i for i, group in enumerate(one.group_values)}
            place = np.array(
                [*(known.get(group, -1) for group in mine.group_values), -1], dtype=np.int32
            )
            if mine.speaker_codes is not None:
                made.append(replace(one, speaker_codes=place[mine.speaker_codes]))
                continue
            made.append(replace(one, speaker_codes=None))
            (part, _), *_ = self.partitions_by_layout(())
            for group in self.side_coder(mine)(part):
                side = side * (len(one.groups) + 1) + place[group] + 1
        return replace(self, groupings=tuple(made), columns={**self.columns, "side": side})

    def pseudonymised(
        self, members: NDArray[np.intp], names: NDArray[np.str_], key: SiteKey, least: int
    ) -> SpeakerCounts:
        """The same of these members alone, under names in the place of numbers of the table.

        `key` made them, `least` is the fewest speakers of a member.
        """
        order = np.argsort(names)
        place = np.full(self.is_unit_used.size, -1, dtype=np.int32)
        place[members[order]] = np.arange(order.size)
        made = self.renumbered(place, members[order], self.thresholds)
        # nothing that is finer than a step
        keys = np.zeros((N_SCORE_PIECES, order.size), dtype=np.int64)
        known = tuple(names[order].tolist())
        sha256 = hashlib.sha256("\n".join(known).encode()).hexdigest()
        return replace(
            made,
            keys=keys,
            members_sha256=sha256,
            names=known,
            sites=(key.site,),
            kdf=key.kdf,
            least=least,
        )

    def renumbered(
        self, place: NDArray[np.int32], known: NDArray[np.intp], thresholds: FloatArray
    ) -> SpeakerCounts:
        """With members at other places, and at more thresholds, none of which parts a step.

        `known` is who the members at the new places are, -1 for those who are not here.
        """
        is_here = known >= 0
        groupings = [
            one
            if one.speaker_codes is None
            else replace(one, speaker_codes=np.where(is_here, one.speaker_codes[known], -1))
            for one in self.groupings
        ]
        rows = dict(self.columns)
        last = np.append(place, np.int32(known.size))  # who is unknown
        for side in ("enrol", "test"):
            rows[side] = last[rows[side]]
        step = np.searchsorted(thresholds, self.edges[rows["step"]], side="right")
        rows["step"] = step.astype(np.uint16)
        made = _Rows(known.size, groupings, thresholds.size)
        made.add(rows)
        return replace(
            self,
            thresholds=thresholds,
            is_unit_used=is_here & self.is_unit_used[known],
            keys=np.where(is_here, self.keys[:, known], 0),
            groupings=tuple(groupings),
            columns=made.total(),
            failed=None,
        )

    @property
    def reveals(self) -> str:
        """What it tells its reader, in sentences."""
        what = "their groups, and how many trials each two have in each bin of scores"
        if not self.thresholds.size:
            what = "their groups, and how the trials of each two went"
        if not self.sites:
            return (
                f"It tells, of {self.is_unit_used.size:,} speakers by number in the table, {what}: "
                "personal data, for nobody else. It adds up with all of the same table."
            )
        if not self.are_blocks:
            return (
                f"It tells, of {len(self.names):,} speakers by names that the key makes, {what}: "
                "personal data, for a reader who may have them. It adds up with all of this key."
            )
        return (
            f"It tells, of {len(self.names):,} blocks of at least {self.least} speakers, {what}; "
            "not who of a block a trial is of. It adds up with those of other keys, whose speakers "
            "are taken for other people."
        )

    def groups_of_few_blocks(self) -> dict[str, int]:
        """Groups of so few blocks that intervals are wider for it, and how many they are."""
        found: dict[str, int] = {}
        for one in self.groupings if self.are_blocks else ():
            if one.speaker_codes is not None:
                n = np.bincount(
                    one.speaker_codes[one.speaker_codes >= 0], minlength=len(one.groups)
                )
                both = zip(one.groups, n.tolist(), strict=True)
                few = {name: of for name, of in both if 0 < of < MIN_BLOCKS_PER_GROUP}
                found |= {f"{name} ({one.name})": of for name, of in few.items()}
        return found

    @property
    def edges(self) -> FloatArray:
        """Lower edges of the steps."""
        return np.append(-np.inf, self.thresholds)

    @property
    def units(self) -> Units:
        """Who the speakers are."""
        n = self.is_unit_used.size
        if self.are_blocks:  # as many again for the strangers of pairs within a block
            return Units(2 * n, np.arange(n, dtype=np.int32))
        return Units(n)

    # what is asked of trials: rows are trials that weigh their number

    @cached_property
    def speakers_in_use(self) -> NDArray[np.intp]:
        """Members that any recording is of, rising."""
        return np.flatnonzero(self.is_unit_used)

    @cached_property
    def utterance_speaker(self) -> NDArray[np.int32]:
        """Every member is the only recording of its own, up to the last in use.

        Where some test speakers are unknown, one more recording is of nobody.
        """
        if (self.columns["test"] == self.is_unit_used.size).any():
            return np.append(np.arange(self.is_unit_used.size, dtype=np.int32), np.int32(-1))
        return np.arange(int(self.speakers_in_use.max(initial=-1)) + 1, dtype=np.int32)

    def partitions_by_layout(
        self, layouts: Sequence[object]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """The rows as trials with the highest threshold at or below their scores."""
        part = _as_trials(self.columns, self.edges[self.columns["step"]])
        if self.failed is not None:
            none = np.full(self.failed["step"].size, np.nan)
            part = replace(part, failed=_as_trials(self.failed, none))
        yield part, range(len(layouts))

    def decisions(self, part: Trials) -> NDArray[np.int8]:
        """1 for accepted, 0 for rejected, -1 where it is not known."""
        return part.extra_columns["accepted"]

    def side_coder(self, grouping: Grouping) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides of each row, -1 for none."""
        if grouping.speaker_codes is not None:
            of_speaker = np.append(grouping.speaker_codes, np.int32(-1)).astype(np.int32)
            return lambda part: (of_speaker[part.enrol], of_speaker[part.test])
        sided = [one for one in self.groupings if one.speaker_codes is None]
        names = [one.name for one in sided]
        if grouping.name not in names:
            msg = f"the tally was made without {grouping.name}; make it again with that grouping"
            raise ConfigError(msg)
        at = names.index(grouping.name)
        sizes = [len(one.groups) + 1 for one in sided]
        base, n = np.prod(np.square(sizes[at + 1 :]), dtype=np.int64), sizes[at]

        def sides(part: Trials) -> Sides:
            code = part.extra_columns["side"] // base
            enrol, test = ((one % n - 1).astype(np.int32) for one in (code // n, code))
            return enrol, test

        return sides

    # files

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write it as one file, all of it or nothing; it is personal data.

        Raises
        ------
        ConfigError
            If the file cannot be written.
        """
        header = {
            "thresholds": [one.hex() for one in self.thresholds.tolist()],
            "used": self.is_unit_used.astype(int).tolist(),
            "keys": self.keys.tolist(),
            "groupings": [
                grouping_metadata(one)
                | {"members": None if one.speaker_codes is None else one.speaker_codes.tolist()}
                for one in self.groupings
            ],
            "blocks": self.are_blocks,
            "names": [*self.names],
            "sites": [*self.sites],
            **({"kdf": self.kdf} if self.kdf else {}),
            "least": self.least,
            "reveals": self.reveals,
            "members": self.members_sha256,
            "sources": [*self.sources],
            "trials": self.n_trials,
        }
        write_tally(path, self.columns, header)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SpeakerCounts:
        """Read what `write` wrote.

        Raises
        ------
        DataError
            If it is none, is damaged, or was made in another version.
        """
        columns, header = read_tally(path)
        with _checked(path):
            made = cls(
                np.array([float.fromhex(one) for one in header["thresholds"]], dtype=np.float64),
                np.array(checked_list(header["used"]), dtype=np.bool_),
                np.array(header["keys"], dtype=np.int64),
                tuple(
                    replace(
                        grouping_from_metadata(one),
                        speaker_codes=None
                        if one["members"] is None
                        else np.array(one["members"], dtype=np.int32),
                    )
                    for one in checked_list(header["groupings"])
                ),
                bool(header["blocks"]),
                checked_text(header["members"]),
                checked_texts(header["sources"]),
                columns,
                names=checked_texts(header.get("names", [])),
                sites=checked_texts(header.get("sites", [])),
                kdf=checked_text(header.get("kdf", "")),
                least=checked_count(header.get("least", 1)),
                name=Path(path).name,
            )
            is_whole = made.n_trials == header["trials"] and _fits(made)
            require(is_whole, "rows of other members")
        return made


def read_sources(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Hashes of the trials of a tally, as its metadata have them.

    Raises
    ------
    DataError
        As `SpeakerCounts.read` does.
    """
    header = read_header(path, TALLY_KEY)
    with _checked(path):
        return checked_texts(header["sources"])


@contextmanager
def _checked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of which file it is that its metadata are wrong."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, ParivoxError) as error:
        raise damaged_file_error(str(path), f"its metadata: {error}", TALLY_KEY) from error


def count_by_speaker(
    trials: TrialSet,
    thresholds: FloatArray,
    groupings: Sequence[Grouping] = (),
    block: NDArray[np.int32] | None = None,
    *,
    scored: bool = True,
) -> SpeakerCounts:
    """Add up the trials of one list that contradict nothing, by who takes part in them.

    Parameters
    ----------
    thresholds : float64 ndarray of shape (threshold,)
        Rising; at most `MOST_THRESHOLDS`.
    groupings
        What cells are to be made of: each once.
    block
        Of each speaker of the table, all of them of one group by any grouping of speakers; without
        it, each stands for itself.
    scored
        Whether trials with a score are added up; else those of recordings that failed, alone.

    Raises
    ------
    ConfigError
        If there are too many thresholds, or more combinations of groups than can be numbered.
    """
    people = trials.speaker_table
    assert people is not None
    member = np.arange(len(people.ids), dtype=np.int32) if block is None else block
    n = int(member.max(initial=-1)) + 1
    of_utterance = np.append(member, np.int32(n))[trials.utterance_speaker]  # `n`: unknown
    stages = () if trials.failures is None else (ACQUIRE, ENROL)
    sided = [one for one in groupings if one.speaker_codes is None]
    sizes = [len(one.groups) + 1 for one in sided]
    if thresholds.size > MAX_THRESHOLDS or _sides(groupings) > _MOST_SIDES:
        msg = (
            f"a tally of {thresholds.size} thresholds by {len(sided)} groupings of recordings and "
            f"trials is too large; take at most {MAX_THRESHOLDS} thresholds, and fewer groupings"
        )
        raise ConfigError(msg)
    sums, failed = (_Rows(n, groupings, thresholds.size) for _ in range(2))
    steps = EdgeSearch(thresholds)
    layouts = [Layout(one, "both", None) for one in sided]
    for here in walk(trials, layouts, failed=stages, scored=scored):
        part = here.trials
        side = np.broadcast_to(np.int64(0), len(part))
        for one, size in zip(sided, sizes, strict=True):
            for group in here.groups_of_sides(one):
                side = side * size + group + 1
        accepted = np.broadcast_to(np.int8(-1), len(part))
        rows = {
            "target": part.target,
            "enrol": of_utterance.take(part.enrol),
            "test": of_utterance.take(part.test),
            "side": side,
            "step": part.extra_columns["failed"].astype(np.uint16)
            if here.are_failed
            else steps.step_indices(part.score).astype(np.uint16),
            "accepted": trials.decisions(part)
            if trials.has_decisions and not here.are_failed
            else accepted,
        }
        if "count" in part.extra_columns:
            rows["trials"] = part.extra_columns["count"]
        (failed if here.are_failed else sums).add(rows)
    used = trials.speakers_in_use
    is_used = np.zeros(n, dtype=np.bool_)
    is_used[member[used]] = True
    made: list[Grouping] = []
    for one in groupings:
        if one.speaker_codes is not None:
            group = block_groups(one.speaker_codes, member, used)
            one = replace(one, speaker_codes=group)  # noqa: PLW2901 - the same by member
        made.append(one)
    of_member = np.zeros((n, N_SCORE_PIECES), dtype=np.int64)
    keys = trials.score_keys
    np.add.at(of_member, member[: keys.shape[1]], keys.T)
    lost = failed.total()
    return SpeakerCounts(
        thresholds,
        is_used,
        of_member.T.copy(),
        tuple(made),
        block is not None,
        people.content_sha256,
        (trials.content_sha256,),
        sums.total(),
        lost if lost["trials"].size else None,
    )


def with_failed_trials(trials: TrialSet, tally: SpeakerCounts) -> SpeakerCounts:
    """A tally that a file held, with the trials of recordings that failed, which no file holds."""
    if trials.failures is None:
        return tally
    alone = count_by_speaker(trials, tally.thresholds, tally.groupings, scored=False)
    return replace(tally, failed=alone.failed)


def _as_trials(rows: Mapping[str, NDArray[Any]], score: FloatArray) -> Trials:
    """Rows as trials that weigh their number; the step of failed ones is the stage."""
    more = {"count": rows["trials"], "accepted": rows["accepted"], "side": rows["side"]}
    more["failed"] = rows["step"]
    none = np.zeros(score.size, dtype=np.bool_)
    return Trials(rows["enrol"], rows["test"], rows["target"], score, none, more)


def _check_kind(first: SpeakerCounts, other: SpeakerCounts) -> None:
    """Refuse a tally of a site beside one that tells of the speakers of a table."""
    if bool(first.sites) != bool(other.sites):
        both = f"{first.name} and {other.name}"
        msg = f"{both}: tell of speakers in different ways; make both with one key"
        raise ConfigError(msg)


def _recognised(tallies: Sequence[SpeakerCounts]) -> list[SpeakerCounts]:
    """Tallies that left their sites, with one number for each name and the thresholds of all."""
    first = tallies[0]
    for i, other in enumerate(tallies[1:], 1):
        both = f"{first.name} and {other.name}"
        _check_kind(first, other)
        if first.kdf != other.kdf:
            hows = " and ".join(one.kdf or "none, as of Parivox 0.2.0" for one in (first, other))
            msg = (
                f"{both}: their keys were derived in different ways ({hows}), so that nobody is "
                "known to be in both; count both with one version of Parivox"
            )
            raise ConfigError(msg)
        if first.are_blocks != other.are_blocks:
            msg = (
                f"{both}: one tells of speakers, the other of blocks of them; make both with "
                "--blocks, or both without"
            )
            raise ConfigError(msg)
        if not first.are_blocks and first.sites != other.sites:
            msg = (
                f"{both}: were made with different keys, so that nobody is known to be in both; "
                "make both with one key, or, where nobody is, with --blocks"
            )
            raise ConfigError(msg)
        for one in tallies[:i] if first.are_blocks else ():
            if set(one.sites) & set(other.sites) and one.names != other.names:
                msg = (
                    f"{one.name} and {other.name}: are blocks of other speakers by one key, so "
                    "that who is in both would be two people; count the trials of both in one "
                    "file, or, where nobody is in both, with different keys"
                )
                raise ConfigError(msg)
    names = np.unique(np.concatenate([one.names for one in tallies]))
    sha256 = hashlib.sha256("\n".join(names.tolist()).encode()).hexdigest()
    thresholds = np.unique(np.concatenate([one.thresholds for one in tallies]))
    made = []
    for one in tallies:
        place = np.searchsorted(names, one.names).astype(np.int32)
        known = np.full(names.size, -1)
        known[place] = np.arange(place.size)
        made.append(
            replace(
                one.renumbered(place, known, thresholds),
                names=tuple(names.tolist()),
                members_sha256=sha256,
            )
        )
    return made


def _joined(tallies: Sequence[SpeakerCounts], at: int) -> Grouping:
    """One grouping of several tallies, which may know the groups of others of the members."""
    first = tallies[0].groupings[at]
    group = first.speaker_codes
    for one in tallies[1:] if group is not None else ():
        own = one.groupings[at].speaker_codes
        assert group is not None
        assert own is not None
        if ((group >= 0) & (own >= 0) & (group != own)).any():
            reference = f"{tallies[0].name} and others" if len(tallies) > 2 else tallies[0].name
            msg = (
                f"{one.name}: tells other groups by {first.name} of speakers than {reference}; "
                "make all tallies with one table"
            )
            raise ConfigError(msg)
        group = np.maximum(group, own)
    return replace(first, speaker_codes=group)


class _Rows:
    """Rows of tables that come in turn, added up; a row that does not say so is of one trial."""

    def __init__(self, members: int, groupings: Sequence[Grouping], thresholds: int) -> None:
        steps = max(thresholds, ACQUIRE, ENROL)  # of those that failed, stages
        most = (1, members - 1, members, _sides(groupings) - 1, steps)
        ranges = {name: (0, n) for name, n in zip(TALLY_KEYS[:-1], most, strict=True)}
        self.fields = RowCodec({**ranges, "accepted": (-1, 1)})
        self.sums = CodeSums(1 << self.fields.width) if self.fields.width <= _BITS else None
        self.tables: list[Mapping[str, NDArray[Any]]] = []  # too wide for one number

    def add(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Add a table."""
        if self.sums is not None:
            self.sums.add(self.fields.encode(rows), rows.get("trials"))
            return
        ones = {"trials": np.ones(rows["target"].size, dtype=np.int64)}
        self.tables.append(_total([{**ones, **rows}]))
        if needs_adding_up([one["trials"].size for one in self.tables]):
            self.tables = [_total(self.tables)]

    def total(self) -> dict[str, NDArray[Any]]:
        """Each combination once, in rising order."""
        if self.sums is None:
            return _total(self.tables)
        ranges, trials = self.sums.ranges, np.empty(self.sums.n_codes, dtype=np.int64)

        def codes() -> Iterator[IntArray]:
            at = 0
            for some, sums in ranges():
                trials[at : (at := at + some.size)] = sums
                yield some

        return {**self.fields.decode(codes(), trials.size, TALLY_TYPES), "trials": trials}


def _total(checked_list: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The sum of tables whose rows are told apart by two numbers: people; groups and the rest."""
    checked_list = [one for one in checked_list if one["trials"].size]
    if not checked_list:
        return {name: np.empty(0, dtype=kind) for name, kind in TALLY_TYPES.items()}
    joined = {name: np.concatenate([one[name] for one in checked_list]) for name in TALLY_TYPES}
    sides, joined["side"] = np.unique(joined["side"], return_inverse=True)  # few of so many
    halves = [RowCodec.from_tables([joined], names) for names in (TALLY_KEYS[:3], TALLY_KEYS[3:])]
    (one, first), (other, second) = (
        np.unique(fields.encode(joined), return_inverse=True) for fields in halves
    )
    found, (trials,) = sum_by_code(
        first * other.size + second, one.size * other.size, joined["trials"]
    )
    places = np.divmod(found, other.size)
    made: dict[str, NDArray[Any]] = {}
    for fields, codes, place in zip(halves, (one, other), places, strict=True):
        made |= fields.decode([codes[place]], found.size, TALLY_TYPES)
    return {**made, "side": sides[made["side"]], "trials": trials}


def _sides(groupings: Sequence[Grouping]) -> int:
    """Combinations of groups of recordings and trials, or of none, on both sides."""
    return math.prod((len(one.groups) + 1) ** 2 for one in groupings if one.speaker_codes is None)


def _fits(tally: SpeakerCounts) -> bool:
    """Whether all that the rows name is there."""
    rows, n = tally.columns, tally.is_unit_used.size
    limits = {
        "enrol": (0, n - 1),
        "test": (0, n),
        "side": (0, _sides(tally.groupings) - 1),
        "step": (0, tally.thresholds.size),
        "accepted": (-1, 1),
        "trials": (1, MAX_TRIALS),
    }
    rises = bool((np.diff(tally.thresholds) > 0).all())
    are_groups = all(
        one.speaker_codes.shape == (n,)
        and ((one.speaker_codes >= -1) & (one.speaker_codes < len(one.groups))).all()
        for one in tally.groupings
        if one.speaker_codes is not None
    )
    are_named = bool(tally.sites) == bool(tally.names) and len(tally.names) in {0, n}
    return (
        rises
        and are_groups
        and tally.keys.shape == (N_SCORE_PIECES, n)
        and are_named
        and all(low < high for low, high in pairwise(tally.names))
        and all(
            bool(low <= rows[name].min(initial=high) and rows[name].max(initial=low) <= high)
            for name, (low, high) in limits.items()
        )
    )
