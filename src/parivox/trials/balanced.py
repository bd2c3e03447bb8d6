"""Balanced lists: paper 003's design, without what nobody could see in it.

See docs/methods/trial-lists.md#balanced-lists.

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
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from parivox.data.attributes import parse_attribute, parse_by
from parivox.data.columns import plain
from parivox.data.recordings import read_utterances
from parivox.data.source_bytes import in_encoding_given
from parivox.data.speakers import read_speakers
from parivox.errors import ConfigError, DataError, name_hint
from parivox.options.trials import BalancedOptions
from parivox.runtime.progress import reports_progress
from parivox.trials.building import Built, build_lists
from parivox.trials.guidelines import CHECKS
from parivox.trials.pairs import (
    Meetings,
    meet_each_other,
    numbers_within,
    target_pairs,
    utterances_of,
)
from parivox.trials.pool import Design, Pool, group_positions, speaker_by_speaker

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.options.types import OtherBuildOptions
    from parivox.trials.pairs import Draws, Ints, Words
    from parivox.trials.pool import TrialChunk


ROWS = (
    "speaker by speaker in the order of their ids; of each first the target, then the nontarget "
    "trials"
)
NONE = "none"
"""Stands for no attribute to balance."""
_GENDER = ("gender", "sex")
_SPEAKERS, _SPREAD, _TARGET, _UTTERANCES = range(4)  # keys of the streams of one list


@reports_progress
@in_encoding_given
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
    **options: Unpack[OtherBuildOptions],
) -> Built:
    """Build lists with equally many speakers, utterances and pairs of every group.

    Parameters
    ----------
    utterances, by, speakers, out, **options
        As `parivox.trials.build_inclusive` takes them.
    speakers_per_group, utterances_per_speaker
        How many to draw.
    pairs
        Target pairs, and nontarget pairs, that each speaker enrols for; by default as many as
        every group can give.
    groups
        Those to take part; by default all.
    balance
        Attribute of which each group has equally many speakers of each value, by default gender
        (or sex) if there is one; ``"none"`` for no attribute.

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
    asked = BalancedOptions.of(
        utterances=utterances,
        by=by,
        speakers_per_group=speakers_per_group,
        utterances_per_speaker=utterances_per_speaker,
        speakers=speakers,
        out=out,
        pairs=pairs,
        groups=groups,
        balance=balance,
        **options,
    )
    table = read_utterances(utterances)
    people = None if speakers is None else read_speakers(speakers, id=asked.id)
    columns = table.attributes.columns if people is None else people.columns
    balanced = _balance(balance, by, columns)
    within = [one.text for one in parse_by(by)]
    grade_by = within if balanced == NONE else [balanced, *within]
    pool = Pool.read(table, people, by=by, grade_by=grade_by)
    asked = replace(asked, balance=balanced)
    return build_lists(design(pool, asked), asked)


def design(pool: Pool, asked: BalancedOptions) -> Design:
    """The design of balanced lists: who can be drawn, and how.

    Groups are balanced in what defines difficulty: `balance` is asked for the manifest.
    """
    groups = group_positions(pool.groups, pool.grouping, asked.groups)
    speakers, utterances = asked.speakers_per_group, asked.utterances_per_speaker
    wanted = _Wanted(pool, groups, speakers, utterances, asked.pairs)
    wanted.check()
    n = asked.pairs or wanted.most_pairs()
    wanted = replace(wanted, pairs=n)
    names = [pool.groups[i] for i in wanted.groups]
    each = (
        f"each of {wanted.speakers} speakers a group enrols for {n:,} target and {n:,} nontarget "
        f"trials with {wanted.utterances} utterances"
    )
    notes = [each]
    least = CHECKS["G7"].threshold
    if wanted.speakers < least:
        notes.append(
            f"check G7 asks for {least:g} speakers in each group, more than the {wanted.speakers} "
            "asked for"
        )
    return Design(
        "balanced",
        pool,
        {
            "speakers_per_group": wanted.speakers,
            "utterances_per_speaker": wanted.utterances,
            "pairs": n,
            "groups": names,
            "balance": asked.balance,
        },
        lambda draws: _drawn(wanted, n, draws),
        2 * n * wanted.speakers * len(names),
        ROWS,
        dict.fromkeys(names, wanted.speakers),
        tuple(wanted.reasons()),
        tuple(notes),
    )


def _balance(asked: str | None, by: str, columns: Sequence[str]) -> str:
    """The attribute to balance, or none."""
    within = {plain(one.name) for one in parse_by(by)}
    if asked is None:
        usual = next((name for name in columns if plain(name) in _GENDER), NONE)
        return NONE if plain(usual) in within else usual
    if asked == NONE:
        return NONE
    if not isinstance(cast("Any", asked), str):
        msg = f"balance={asked!r} is not text; name an attribute, as in balance='gender', or 'none'"
        raise ConfigError(msg)
    name = plain(parse_attribute(asked, "--balance").name)
    if name in within:
        msg = (
            f"--balance {asked}: is what --by {by} makes groups of, so that there is nothing to "
            "balance; name another attribute, or none"
        )
        raise ConfigError(msg)
    known = {plain(one): one for one in columns}
    if name not in known:
        msg = (
            f"--balance {asked!r}: is not an attribute of speakers; "
            f"{name_hint(name, known.values())}"
        )
        raise ConfigError(msg)
    return asked


def _drawn(wanted: _Wanted, n: int, draws: Draws) -> Iterator[TrialChunk]:
    """Draw one list, of n pairs of either class for each speaker."""
    pool, utterances = wanted.pool, wanted.utterances
    can = wanted.can(utterances, n)
    able = [np.flatnonzero(can & (wanted.cell == at)) for at in range(wanted.cells)]
    words = draws.child(_SPEAKERS).words([0], [pool.n_utterances.size])
    chosen = [who[np.argsort(words[who], kind="stable")][: wanted.each] for who in able]
    every = np.sort(np.concatenate(chosen))
    order, _ = _spread_over_recordings(
        pool, draws.child(_SPREAD).words([0], [len(pool.utterance_ids)])
    )
    own = np.sort(order[numbers_within(pool.n_utterances) < utterances])
    own = own[np.isin(pool.speaker_of_utterance[own], every)]
    start = np.arange(every.size + 1) * utterances
    recording = pool.recording_indices[own]
    pairs = target_pairs(start, np.searchsorted(recording, recording, side="right"))
    numbers = draws.child(_TARGET).distinct_numbers(
        pairs.count_by_speaker(start), np.full(every.size, n), every
    )
    partner = np.empty((every.size, n), dtype=np.int64)
    for who in chosen:
        at = np.searchsorted(every, who)
        j = meet_each_other(at.size, n * at.size)[1]
        partner[at] = at[j].reshape(n, -1).T
    turn = np.tile(np.arange(n), every.size)
    meetings = Meetings(np.repeat(np.arange(every.size), n), partner.ravel(), turn)
    sides = pairs.utterances_at(numbers), utterances_of(meetings, start, draws.child(_UTTERANCES))
    target, nontarget = (
        (own[one].reshape(-1, n), own[other].reshape(-1, n)) for one, other in sides
    )
    return speaker_by_speaker(target, nontarget)


@dataclass(frozen=True, eq=False)
class _Wanted:
    """Speakers, utterances and pairs wanted of some groups of a pool, and what these can give.

    Of every group, equally many speakers of each stratum take part: of each value of the attributes
    that are balanced, those which define difficulty beside the groups. A group and a stratum are a
    cell.
    """

    pool: Pool
    groups: Ints  # places of those that take part
    speakers: int
    utterances: int
    pairs: int | None  # None for any

    @cached_property
    def balanced(self) -> tuple[str, ...]:
        """Attributes that are balanced."""
        within = {one.text.lower() for one in parse_by(self.pool.grouping)}
        return tuple(name for name in self.pool.graded_by if name.lower() not in within)

    @cached_property
    def strata(self) -> Ints:
        """Values that are balanced, of shape (stratum, attribute)."""
        values = self._values
        known = np.isin(self.pool.group_of_speaker, self.groups) & (values >= 0).all(axis=1)
        if not (self.balanced and known.any()):
            return np.empty((1, 0), dtype=np.int64)
        return np.unique(values[known], axis=0).astype(np.int64)

    @property
    def _values(self) -> NDArray[np.int32]:
        return self.pool.attribute_codes[
            [self.pool.graded_by.index(one) for one in self.balanced]
        ].T

    @property
    def each(self) -> int:
        """Speakers wanted of each cell."""
        return self.speakers // len(self.strata)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.groups.size * len(self.strata)

    @cached_property
    def cell(self) -> Ints:
        """Cell of each speaker; -1 for those who cannot take part."""
        pool, stratum = self.pool, np.full(self.pool.n_utterances.size, -1, dtype=np.int64)
        for at, values in enumerate(self.strata):
            stratum[(self._values[:, : values.size] == values).all(axis=1)] = at
        place = np.searchsorted(self.groups, pool.group_of_speaker)
        is_in = (
            np.isin(pool.group_of_speaker, self.groups)
            & (pool.difficulty_classes.class_of_speaker >= 0)
            & (stratum >= 0)
        )
        return np.where(is_in, place * len(self.strata) + stratum, -1)

    @cached_property
    def _across(self) -> Ints:
        """Target pairs across recordings within the first utterances of a speaker, by how many."""
        pool = self.pool
        _, turn = _spread_over_recordings(pool, np.zeros(len(pool.utterance_ids), dtype=np.uint64))
        total = np.cumsum(numbers_within(pool.n_utterances) - turn)
        before = np.concatenate(([0], total))[pool.utterance_starts[:-1]]
        return np.asarray(total - np.repeat(before, pool.n_utterances))

    def across(self, utterances: int) -> Ints:
        """Target pairs across recordings that so many utterances of each speaker give."""
        pool = self.pool
        return self._across[
            pool.utterance_starts[:-1] + np.minimum(pool.n_utterances, utterances) - 1
        ]

    def can(self, utterances: int, pairs: int | None) -> NDArray[np.bool_]:
        """Which speakers have so many utterances, with so many target pairs (or any)."""
        is_rich = (self.pool.n_utterances >= utterances) & (self.across(utterances) >= (pairs or 1))
        return is_rich & (self.cell >= 0)

    def counts(self, utterances: int, pairs: int | None) -> Ints:
        """How many can, of shape (group, stratum)."""
        can = self.cell[self.can(utterances, pairs)]
        return np.bincount(can, minlength=self.cells).reshape(self.groups.size, -1)

    def _largest(self, values: Ints) -> int:
        """The largest value that enough speakers of each cell reach; 0 if they are too few."""
        each, cells = self.each, (values[self.cell == at] for at in range(self.cells))
        return min(int(np.sort(one)[-each]) if one.size >= each else 0 for one in cells)

    def most_speakers(self) -> int:
        """The largest number of speakers in each group; 0 if there is none."""
        each = int(self.counts(self.utterances, self.pairs).min())
        is_enough = each > 1 and _nontarget_pairs(each, self.utterances) >= (self.pairs or 1)
        return each * len(self.strata) if is_enough else 0

    def most_utterances(self) -> int:
        """The largest number of utterances for as many speakers; 0 if there is none."""
        most = self._largest(self.pool.n_utterances)
        sizes = np.unique(
            self.pool.n_utterances[(self.cell >= 0) & (self.pool.n_utterances <= most)]
        )
        for utterances in sizes[sizes > 1][::-1].tolist():
            if _nontarget_pairs(self.each, utterances) < (self.pairs or 1):
                return 0
            if (self.counts(utterances, self.pairs) >= self.each).all():
                return int(utterances)
        return 0

    def most_pairs(self) -> int:
        """The largest number of pairs for as many speakers and utterances; 0 if there is none."""
        across = np.where(self.can(self.utterances, None), self.across(self.utterances), 0)
        return min(self._largest(across), _nontarget_pairs(self.each, self.utterances))

    def reasons(self) -> list[str]:
        """Why speakers of these groups cannot be drawn; empty for those who can, and others."""
        pool = self.pool
        reasons = np.full(pool.n_utterances.size, "", dtype=object)
        least = self.pairs or 1
        is_poor = self.across(self.utterances) < least
        reasons[is_poor] = f"fewer than {least:,} target pairs across recordings"
        reasons[pool.n_utterances < self.utterances] = f"fewer than {self.utterances} utterances"
        reasons[pool.difficulty_classes.class_of_speaker < 0] = (
            f"{' or '.join(pool.graded_by)} is not known"
        )
        is_other = (pool.group_of_speaker >= 0) & ~np.isin(pool.group_of_speaker, self.groups)
        reasons[is_other] = ""  # who is not asked for
        reasons[pool.group_of_speaker < 0] = f"{pool.grouping} is not known"
        return [str(one) for one in reasons]

    def check(self) -> None:
        """Refuse what the groups cannot give."""
        n = len(self.strata)
        if self.speakers % n or self.each < 2:
            most = self.most_speakers()
            names = " and ".join(self.balanced) or "one"
            until = f" to {most:,}, the most that fit" if most else " on"
            msg = (
                f"--speakers-per-group {self.speakers}: cannot be shared out to {n} values of "
                f"{names} with 2 speakers each; give a multiple of {n} from {2 * n}{until}, or "
                "--balance none"
            )
            raise ConfigError(msg)
        most = _nontarget_pairs(self.each, self.utterances)
        if self.pairs is not None and self.pairs > most:
            msg = (
                f"--pairs {self.pairs:,}: {self.each} speakers who meet each other with "
                f"{self.utterances} utterances give {most:,} nontarget pairs each at most; "
                f"{self._fitting(np.empty(0, dtype=np.int64))}"
            )
            raise ConfigError(msg)
        counts = self.counts(self.utterances, self.pairs)
        is_short = counts < self.each
        if not is_short.any():
            return
        lacking = ", ".join(
            f"{self._named(*at)} has {counts[at]:,}" for at in zip(*is_short.nonzero(), strict=True)
        )
        needs = f"{self.utterances} utterances from two recordings or more"
        if self.pairs:
            needs = f"{self.utterances} utterances and {self.pairs:,} target pairs across "
            needs += "recordings"
        fits = self._fitting(self.groups[~is_short.any(axis=1)])
        msg = (
            f"{self.pool.utterances.name}: too few speakers with {needs}, of whom {self.each} are "
            f"needed: {lacking}; {fits}"
        )
        raise DataError(msg)

    def _named(self, group: int, stratum: int) -> str:
        codes = zip(self.balanced, self.strata[stratum], strict=True)
        texts = (self.pool.attribute_texts[name][code] for name, code in codes)
        return " ".join((self.pool.groups[self.groups[group]], *texts))

    def _fitting(self, enough: Ints) -> str:
        """The largest designs that fit: one number changed, or some groups left out."""
        designs = []
        if speakers := self.most_speakers():
            designs.append(f"--speakers-per-group {speakers} fits all groups")
        if utterances := self.most_utterances():
            designs.append(f"--utterances-per-speaker {utterances} fits all groups")
        if self.pairs and (pairs := self.most_pairs()):
            designs.append(f"--pairs {pairs} fits all groups")
        if enough.size:
            designs.append(f"{self.speakers} speakers fit {replace(self, groups=enough).option}")
        return "; ".join(designs or self._fitting_some() or ["give other speakers"])

    def _fitting_some(self) -> list[str]:
        """Designs of those groups that can take part at all, and of the two largest."""
        designs = []
        fewest = self.counts(self.utterances, self.pairs).min(axis=1)
        rich = np.argsort(-fewest, kind="stable")[: (fewest > 1).sum()]
        for k in dict.fromkeys((rich.size, min(2, rich.size))):
            some = replace(self, groups=np.sort(self.groups[rich[:k]]))
            if k and (most := some.most_speakers()):
                designs.append(f"--speakers-per-group {most} fits {some.option}")
        for each in () if designs else (self.each, 2):
            is_rich = (self.counts(2, None) >= each).all(axis=1)
            some = replace(self, groups=self.groups[is_rich])
            some = replace(some, speakers=each * len(some.strata))
            if is_rich.any() and (most := some.most_utterances()):
                speakers = f"--speakers-per-group {some.speakers}"
                return [f"{speakers} --utterances-per-speaker {most} fits {some.option}"]
        return designs

    @property
    def option(self) -> str:
        """The option that names these groups."""
        return "--groups " + ",".join(self.pool.groups[g] for g in self.groups)


def _nontarget_pairs(speakers: int, utterances: int) -> int:
    """Nontarget pairs that each of so many speakers can have, if all meet equally often.

    >>> _nontarget_pairs(2, 24)
    288
    """
    return utterances**2 * (speakers - 1) // 2


def _spread_over_recordings(pool: Pool, words: Words) -> tuple[Ints, Ints]:
    """Utterances of each speaker in an order whose first are of as many recordings as there are.

    Random words, one for each utterance, decide where nothing else does. Returned are places,
    speaker by speaker, and how many before are of the same recording.
    """
    within = np.lexsort((words, pool.recording_indices))
    starts = np.searchsorted(pool.recording_indices, pool.recording_indices)
    turn = np.empty(within.size, dtype=np.int64)
    turn[within] = np.arange(within.size) - starts[within]
    order = np.lexsort((words[starts], turn, pool.speaker_of_utterance))
    return order, turn[order]
