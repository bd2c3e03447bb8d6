"""Balanced lists: paper 003's design, without what nobody could see in it.

So many speakers of each group, so many utterances of each, as many nontarget as target pairs, all
within the group. Mended by default:

* Half of each group's speakers are women, or whatever values an attribute has.
* Utterances are spread over as many recordings as there are, and target pairs are of two of them.
* Nontarget pairs agree in that attribute as well. A share that is the same in all groups would do;
  all of them is the one share at which the rate of each group is of the hardest pairs only.
* Everybody enrols, and is tested, equally often, and meets each other one in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.errors import ConfigError, DataError
from parivox.tables.attributes import parse_by
from parivox.tables.formats.scan import plain
from parivox.tables.speakers import read_speakers
from parivox.tables.utterances import read_utterances
from parivox.trials.design import Design, several, speaker_by_speaker, whole_number
from parivox.trials.draws import ordered, spans
from parivox.trials.manifest import Built, make
from parivox.trials.pairs import Meetings, mated, meet_each_other, utterances_of
from parivox.trials.pool import Pool

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.trials.design import Block
    from parivox.trials.draws import Draws, Ints, Words

__all__ = ["build_balanced", "design"]

ROWS = (
    "speaker by speaker in the order of their ids; of each first the target, then the nontarget "
    "trials"
)
NONE = "none"
"""Stands for no attribute to balance."""
_GENDER = ("gender", "sex")
_SPEAKERS, _SPREAD, _TARGET, _UTTERANCES = range(4)  # keys of the streams of one list
_GATE = 10


def build_balanced(
    utterances: Any,
    *,
    by: str,
    speakers_per_group: int,
    utterances_per_speaker: int,
    speakers: Any = None,
    out: str | os.PathLike[str] | None = None,
    pairs: int | None = None,
    groups: Sequence[str] | str | None = None,
    balance: str | None = None,
    variants: int = 1,
    seed: int = 0,
    format: str = "voxceleb",  # noqa: A002 - the option's name
    id: str | None = None,  # noqa: A002 - the option's name
    speaker_ids: bool = False,
) -> Built:
    """Build lists with equally many speakers, utterances and pairs of every group.

    Parameters
    ----------
    utterances
        Table with a column utterance; speaker and recording may come from the path.
    by
        Groups of speakers, as in ``nationality``.
    speakers_per_group, utterances_per_speaker
        How many to draw.
    speakers
        Table of speakers and their attributes; without it, columns of `utterances`.
    out
        New files are put into this folder; without it, lists are tables in memory.
    pairs
        Target pairs, and nontarget pairs, that each speaker enrols for; by default as many as
        every group can give.
    groups
        Those to take part; by default all.
    balance
        Attribute of which each group has equally many speakers of each value, by default gender
        (or sex) if there is one; ``"none"`` for no attribute.
    variants
        How many lists, with seeds spawned from `seed`; speakers are drawn for each of them.
    format : {"voxceleb", "kaldi", "nist", "csv", "parquet"}
    id
        Id column of `speakers`.
    speaker_ids
        Whether the table of those left out, and the manifest, name them.

    Raises
    ------
    DataError
        If a group is too small; the sentence tells by how much, and the largest design that fits.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> ids = [f"{s}/{r}/{u}" for s in "abcd" for r in "xy" for u in "12"]
    >>> table = {"utterance": ids, "accent": [*("n" * 8), *("s" * 8)]}
    >>> built = build_balanced(
    ...     table, by="accent", speakers_per_group=2, utterances_per_speaker=3, balance="none"
    ... )
    >>> built.manifest["lists"]
    [{'target': 8, 'nontarget': 8}]
    """
    table = read_utterances(utterances)
    people = None if speakers is None else read_speakers(speakers, id=id)
    columns = table.attributes.columns if people is None else people.columns
    within = [one.text for one in parse_by(by)]
    if balance is None:
        balance = next((name for name in columns if plain(name) in _GENDER), NONE)
    is_told = balance != NONE and balance.lower() not in {one.lower() for one in within}
    grade_by = [balance, *within] if is_told else within
    pool = Pool.read(table, people, by=by, grade_by=grade_by)
    return make(
        design(
            pool,
            speakers_per_group=speakers_per_group,
            utterances_per_speaker=utterances_per_speaker,
            pairs=pairs,
            groups=groups,
        ),
        inputs={"utterances": utterances, "speakers": speakers},
        id=id,
        out=out,
        variants=variants,
        seed=seed,
        format=format,
        speaker_ids=speaker_ids,
    )


def design(
    pool: Pool,
    *,
    speakers_per_group: int,
    utterances_per_speaker: int,
    pairs: int | None = None,
    groups: Sequence[str] | str | None = None,
) -> Design:
    """See who can be drawn; parameters as those of :func:`build_balanced`.

    Groups are balanced in what defines difficulty.
    """
    asked = _Asked(
        pool,
        _groups(pool, groups),
        whole_number(speakers_per_group, "speakers_per_group", 2),
        whole_number(utterances_per_speaker, "utterances_per_speaker", 2),
        None if pairs is None else whole_number(pairs, "pairs", 1),
    )
    asked.check()
    asked = replace(asked, pairs=asked.pairs or asked.most_pairs)
    asked.check()
    each = (
        f"each of {asked.speakers} speakers a group enrols for {asked.pairs:,} target and "
        f"{asked.pairs:,} nontarget trials with {asked.utterances} utterances"
    )
    notes = [each]
    if asked.speakers < _GATE:
        notes.append(
            f"check G7 asks for {_GATE} speakers in each group, more than the {asked.speakers} "
            "asked for"
        )
    return Design(
        "balanced",
        pool,
        {
            "speakers_per_group": asked.speakers,
            "utterances_per_speaker": asked.utterances,
            "pairs": asked.pairs,
            "groups": [pool.groups[i] for i in asked.groups],
        },
        asked.blocks,
        ROWS,
        {pool.groups[i]: asked.speakers for i in asked.groups},
        tuple(asked.reasons()),
        tuple(notes),
        {"thresholds": {"G2": asked.pairs}},
    )


def _groups(pool: Pool, asked: Sequence[str] | str | None) -> tuple[int, ...]:
    """Places of the groups that take part."""
    if asked is None:
        return tuple(range(len(pool.groups)))
    names = several(asked)
    for one in names:
        if one not in pool.groups:
            near = get_close_matches(one, pool.groups, n=3, cutoff=0.3) or pool.groups[:8]
            msg = f"--groups {one!r}: is no group of {pool.by}; nearest: {', '.join(near)}"
            raise ConfigError(msg)
    return tuple(sorted({pool.groups.index(one) for one in names}))


@dataclass(frozen=True, eq=False)
class _Asked:
    """What each group is to have."""

    pool: Pool
    groups: tuple[int, ...]
    speakers: int
    utterances: int
    pairs: int | None

    @cached_property
    def parts(self) -> list[tuple[int, tuple[int, ...], Ints]]:
        """Every group and value to balance, and who can be drawn: the value as codes."""
        pool = self.pool
        within = {one.text.lower() for one in parse_by(pool.by)}
        balanced = [i for i, name in enumerate(pool.graded_by) if name.lower() not in within]
        known = np.isin(pool.group, self.groups)
        values = pool.values[balanced].T
        kinds = np.unique(values[known & (values >= 0).all(axis=1)], axis=0)
        can = self._can
        return [
            (g, tuple(kind), np.flatnonzero(can & (pool.group == g) & (values == kind).all(axis=1)))
            for g in self.groups
            for kind in kinds.tolist() or [[]]
        ]

    @property
    def kinds(self) -> int:
        """Values of which each group has equally many."""
        return len(self.parts) // len(self.groups)

    @property
    def each(self) -> int:
        """Speakers of each group and value."""
        return self.speakers // self.kinds

    @cached_property
    def across(self) -> Ints:
        """Target pairs across recordings that each speaker can give."""
        pool = self.pool
        spread = self._spread(np.zeros(len(pool.ids), dtype=np.uint64))
        counts = np.bincount(pool.recording[spread], minlength=int(pool.recording[-1]) + 1)
        within = np.zeros(pool.sizes.size, dtype=np.int64)
        first = np.searchsorted(pool.recording, np.arange(counts.size))
        np.add.at(within, pool.owner[first], counts * (counts - 1) // 2)
        drawn = np.minimum(pool.sizes, self.utterances)
        return np.asarray(drawn * (drawn - 1) // 2 - within)

    @property
    def _can(self) -> NDArray[np.bool_]:
        pool = self.pool
        return np.array([not reason for reason in self.reasons()]) & (pool.group >= 0)

    def reasons(self) -> list[str]:
        """Why speakers of these groups cannot be drawn; empty for those who can, and others."""
        pool = self.pool
        found = np.full(pool.sizes.size, "", dtype=object)
        least = self.pairs or 1
        found[self.across < least] = f"fewer than {least:,} target pairs across recordings"
        found[pool.sizes < self.utterances] = f"fewer than {self.utterances} utterances"
        found[pool.classes.of_speaker < 0] = f"{' or '.join(pool.graded_by)} is not known"
        found[(pool.group >= 0) & ~np.isin(pool.group, self.groups)] = ""  # who is not asked for
        found[pool.group < 0] = f"{pool.by} is not known"
        return [str(one) for one in found]

    @property
    def most_pairs(self) -> int:
        """Pairs that every group can give, if the right speakers are drawn."""
        across = [np.sort(self.across[who])[-self.each] for _, _, who in self.parts]
        return int(min(*across, self._met))

    @property
    def _met(self) -> int:
        """Nontarget pairs of each speaker, as partners take turns in both directions."""
        return self.utterances**2 * (self.each - 1) // 2

    def check(self) -> None:
        """Refuse a design that does not fit."""
        if self.speakers % self.kinds or self.each < 2:
            names = " and ".join(self._balanced)
            msg = (
                f"--speakers-per-group {self.speakers}: cannot be shared out to {self.kinds} "
                f"values of {names} with 2 speakers each; give a multiple of {self.kinds} from "
                f"{2 * self.kinds} on, or --balance none"
            )
            raise ConfigError(msg)
        if self.pairs is not None and self.pairs > self._met:
            msg = (
                f"--pairs {self.pairs:,}: {self.each} speakers who meet each other with "
                f"{self.utterances} utterances give {self._met:,} nontarget pairs each at most; "
                "ask for fewer"
            )
            raise ConfigError(msg)
        short = [(g, kind, who.size) for g, kind, who in self.parts if who.size < self.each]
        if short:
            lacking = ", ".join(f"{self._named(g, kind)} has {n}" for g, kind, n in short)
            needs = f"{self.utterances} utterances from two recordings or more"
            if self.pairs:
                needs = f"{self.utterances} utterances and {self.pairs:,} target pairs across "
                needs += "recordings"
            msg = (
                f"{self.pool.table.name}: too few speakers with {needs}, of whom {self.each} are "
                f"needed: {lacking}; {'; '.join(self._fitting({g for g, _, _ in short}))}"
            )
            raise DataError(msg)

    @property
    def _balanced(self) -> list[str]:
        within = {one.text.lower() for one in parse_by(self.pool.by)}
        return [name for name in self.pool.graded_by if name.lower() not in within]

    def _named(self, group: int, kind: tuple[int, ...]) -> str:
        texts = (
            self.pool.texts[name][code] for name, code in zip(self._balanced, kind, strict=True)
        )
        return " ".join((self.pool.groups[group], *texts))

    def _fitting(self, short: set[int]) -> list[str]:
        """The largest designs that fit: of all groups, and of those with enough speakers."""
        fewest = min(who.size for _, _, who in self.parts)
        found = []
        if fewest >= 2:
            found.append(f"--speakers-per-group {self.kinds * fewest} fits all groups")
        for utterances in range(self.utterances - 1, 1, -1):
            other = replace(self, utterances=utterances)
            if all(who.size >= self.each for _, _, who in other.parts):
                found.append(f"--utterances-per-speaker {utterances} fits all groups")
                break
        rest = [self.pool.groups[g] for g in self.groups if g not in short]
        if rest:
            found.append(f"{self.speakers} speakers fit --groups {','.join(rest)}")
        return found or ["no design of these groups fits"]

    def _spread(self, words: Words) -> Ints:
        """The first utterances of each speaker, from as many recordings as there are: rising."""
        pool = self.pool
        within = ordered(words, pool.recording)
        starts = np.searchsorted(pool.recording, pool.recording)
        turn = np.empty(within.size, dtype=np.int64)
        turn[within] = np.arange(within.size) - starts[within]
        of_recording = words[starts]
        order = np.lexsort((of_recording, turn, pool.owner))
        return np.sort(order[spans(pool.sizes) < self.utterances])

    def blocks(self, draws: Draws) -> Iterator[Block]:
        """Draw one list."""
        pool, n = self.pool, self.pairs
        assert n is not None
        words = draws.child(_SPEAKERS).words([0], [pool.sizes.size])
        chosen = [who[np.argsort(words[who], kind="stable")][: self.each] for *_, who in self.parts]
        every = np.sort(np.concatenate(chosen))
        spread = self._spread(draws.child(_SPREAD).words([0], [len(pool.ids)]))
        spread = spread[np.isin(pool.owner[spread], every)]
        start = np.arange(every.size + 1) * self.utterances
        recording = pool.recording[spread]
        pairs = mated(start, np.searchsorted(recording, recording, side="right"))
        wanted = np.full(every.size, n)
        numbers = draws.child(_TARGET).distinct(pairs.within(start), wanted, every)
        partner = np.empty((every.size, n), dtype=np.int64)
        for who in chosen:
            own = np.searchsorted(every, who)
            met = meet_each_other(own.size, n * own.size)[1]
            partner[own] = own[met].reshape(n, -1).T
        turn = np.tile(np.arange(n), every.size)
        meetings = Meetings(np.repeat(np.arange(every.size), n), partner.ravel(), turn)
        sides = pairs.at(numbers), utterances_of(meetings, start, draws.child(_UTTERANCES))
        target, nontarget = (
            (spread[one].reshape(-1, n), spread[other].reshape(-1, n)) for one, other in sides
        )
        return speaker_by_speaker(target, nontarget)
