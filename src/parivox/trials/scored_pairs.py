"""Scored pairs and whose each pair is; lists of so many for every speaker, drawn or scored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parivox.errors import ConfigError, DataError
from parivox.options.trials import InclusiveOptions
from parivox.read.groups import attributes_asked, make_groupings
from parivox.read.speakers import read_speakers
from parivox.trials.lists import read_with_speakers, recordings_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

    Codes = NDArray[np.int32]
    Scorer: TypeAlias = Callable[[NDArray[np.object_], NDArray[np.object_]], Any]
    """From the enrolment and the test ids of a list to its scores."""


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs that lists may be drawn from, each in one order only."""

    by: str  # what groups are made of
    groups: tuple[str, ...]
    group_of_speaker: Codes  # index into `groups`, -1 for speakers without pairs
    speaker: Codes  # whose each pair is
    partner: Codes  # who the other is: the speaker again in same-speaker pairs
    group: Codes  # of both
    target: NDArray[np.bool_]
    score: NDArray[np.float64]

    def speakers_of_groups(self) -> NDArray[np.int64]:
        """How many speakers each group has."""
        return _count(self.group_of_speaker, self.groups)

    def keep(self, n: int) -> ScoredPairs:
        """The pairs of speakers with `n` of either class."""
        size = self.group_of_speaker.size
        least = np.minimum(
            np.bincount(self.speaker[self.target], minlength=size),
            np.bincount(self.speaker[~self.target], minlength=size),
        )
        has_all = least >= n
        if not has_all.any():
            msg = (
                f"no speaker has {n:,} same-speaker pairs of two recordings and {n:,} "
                "different-speaker pairs within the group; ask for at most "
                f"{int(least.max(initial=0)):,}, which one speaker has (half of them have "
                f"{int(np.median(least[self.group_of_speaker >= 0])):,})"
            )
            raise DataError(msg)
        kept = self.take(np.flatnonzero(has_all[self.speaker]))
        return replace(
            kept, group_of_speaker=np.where(has_all, self.group_of_speaker, np.int32(-1))
        )

    def take(self, rows: NDArray[np.intp]) -> ScoredPairs:
        """Some of the pairs."""
        names = ("speaker", "partner", "group", "target", "score")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def draw(self, n: int, seed: tuple[int, ...]) -> NDArray[np.intp]:
        """Rows of `n` pairs of either class for every speaker, drawn without replacement."""
        key = np.random.default_rng(seed).random(self.score.size)
        owner = 2 * self.speaker.astype(np.int64) + self.target
        order = np.lexsort((key, owner))
        sorted_owner = owner[order]
        rank = np.arange(order.size) - np.searchsorted(sorted_owner, sorted_owner)
        return np.sort(order[rank < n])


def _count(group_of_speaker: Codes, groups: Sequence[str]) -> NDArray[np.int64]:
    return np.bincount(group_of_speaker[group_of_speaker >= 0], minlength=len(groups))


class Lists(NamedTuple):
    """Lists to be measured."""

    reference: ScoredPairs  # what the common threshold is found on
    speakers: NDArray[np.int64]  # how many of each group there were to draw from
    lists: Iterator[tuple[int, int, ScoredPairs]]
    """Pairs per speaker, number of the variant from 1 on, and the list."""


def lists_drawn(pairs: ScoredPairs, each: Sequence[int], variants: int, seed: int) -> Lists:
    """Lists drawn from scored pairs, all of the speakers who have enough for the largest."""
    kept = pairs.keep(each[-1])
    lists = (
        (n, variant + 1, kept.take(kept.draw(n, (seed, n, variant))))
        for n in each
        for variant in range(variants)
    )
    return Lists(kept, pairs.speakers_of_groups(), lists)


def lists_scored(
    utterances: Any,
    scorer: Scorer,
    each: Sequence[int],
    variants: int,
    seed: int,
    *,
    speakers: Any,
    by: str,
    id: str | None,  # noqa: A002 - the option's name
) -> Lists:
    """Inclusive lists built from a table of utterances, each scored as a whole."""
    from parivox.trials.inclusive import design  # noqa: PLC0415 - where lists are built
    from parivox.trials.pairs import Draws  # noqa: PLC0415
    from parivox.trials.pool import Pool  # noqa: PLC0415

    pool = Pool.read(utterances, speakers, by=by, id=id)
    ids, owner = pool.ids.to_numpy().astype(object), pool.owner.astype(np.int32)

    def scored(n: int, variant: int) -> ScoredPairs:
        inclusive = design(pool, InclusiveOptions(per_speaker=n))
        blocks = list(inclusive.draw(Draws(seed).child(variant)))
        enrol, test, target = (np.concatenate(cells) for cells in zip(*blocks, strict=True))
        score = np.asarray(scorer(ids[enrol], ids[test]), dtype=np.float64)
        if score.shape != enrol.shape or np.isnan(score).any():
            what = f"NaN among {score.size:,}" if score.shape == enrol.shape else score.shape
            msg = f"the scorer gave {what} for {enrol.size:,} trials; give a score for each"
            raise DataError(msg)
        speaker, partner = owner[enrol], owner[test]
        is_in = np.bincount(speaker, minlength=pool.group.size) > 0
        of_speaker = np.where(is_in, pool.group, np.int32(-1))
        group = pool.group[speaker]
        return ScoredPairs(pool.by, pool.groups, of_speaker, speaker, partner, group, target, score)

    first = scored(each[-1], 0)
    lists = (
        (n, variant + 1, first if (n, variant) == (each[-1], 0) else scored(n, variant))
        for n in each
        for variant in range(variants)
    )
    return Lists(first, _count(pool.group, pool.groups), lists)


def read_scored_pairs(
    source: Any,
    *,
    speakers: Any,
    utterances: Any,
    by: str,
    columns: Mapping[str, str] | None,
    orientation: str | None,
    id: str | None,  # noqa: A002 - the option's name
) -> ScoredPairs:
    """Pairs of two recordings of one speaker, and of two speakers of one group.

    A different-speaker pair is the enrolment speaker's. Where some speaker never enrols in such
    pairs, as in a triangle of all pairs, every second pair is the other speaker's.
    """
    people = None if speakers is None else read_speakers(speakers, id=id)
    how: dict[str, Any] = {"columns": columns, "orientation": orientation}
    trials, people = read_with_speakers(source, people, utterances, attributes_asked([by]), **how)
    (grouping,) = make_groupings(people, [by], sets=[trials])
    if grouping.of_speaker is None:
        msg = f"--by {by}: lists are drawn by speaker, so name an attribute of speakers"
        raise ConfigError(msg)
    return _pairs(trials, grouping, grouping.of_speaker.astype(np.int32))


def _pairs(trials: TrialSet, grouping: Grouping, of_speaker: Codes) -> ScoredPairs:
    parts = [part.without_conflicts() for part in trials.partitions()]
    columns = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("enrol", "test", "target", "score")
    ]
    enrol, test = columns[:2]
    size = np.int64(trials.utterance_speaker.size)
    _, once = np.unique(np.minimum(enrol, test) * size + np.maximum(enrol, test), return_index=True)
    enrol, test, target, score = (column[once] for column in columns)
    speaker, partner = trials.utterance_speaker[enrol], trials.utterance_speaker[test]
    group, recording = of_speaker[speaker], recordings_in(trials)
    is_new = (recording[enrol] != recording[test]) | (recording[enrol] < 0)
    fits = (group >= 0) & np.where(target, is_new, group == of_speaker[partner])
    for label, words in (
        (True, "same-speaker pair of two recordings"),
        (False, f"different-speaker pair within a group of {grouping.name}"),
    ):
        if not (fits & (target == label)).any():
            msg = f"{trials.provenance[0]['name']}: holds no {words}; give scores of such pairs"
            raise DataError(msg)
    enrol, test, target, score, speaker, partner, group = (
        column[fits] for column in (enrol, test, target, score, speaker, partner, group)
    )
    n = of_speaker.size
    enrols, tests = (np.bincount(side[~target], minlength=n) for side in (speaker, partner))
    if ((enrols == 0) & (tests > 0)).any():
        turned = ~target & ((enrol + test) % 2 == 1)
        speaker, partner = np.where(turned, partner, speaker), np.where(turned, speaker, partner)
    of_speaker = np.where(np.isin(np.arange(n), speaker), of_speaker, np.int32(-1))
    return ScoredPairs(
        grouping.name, grouping.groups, of_speaker, speaker, partner, group, target, score
    )
