"""Tallies that leave a site: of speakers under names that a key makes, or of blocks of them.

A name is a keyed hash of the speaker's id, or of all ids of a block, by a key that stays at the
site. Files made with one key give one speaker one name, so that their tallies add up; other keys
are other sites.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.counts.suppression import without_suppressed_groups
from parivox.auditing.layout import speaker_blocks
from parivox.auditing.speaker_counts import count_by_speaker
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.inputs import GroupedTrials
    from parivox.auditing.speaker_counts import SpeakerCounts
    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.site_key import SiteKey
    from parivox.data.speakers import Speakers
    from parivox.options.audit import CountOptions


def check_disclosure(read: GroupedTrials, asked: CountOptions, *, is_exact: bool) -> None:
    """Refuse to tell more by a tally than its form is for."""
    if asked.key is None:
        if asked.blocks is not None:
            msg = "--blocks: deals speakers by a key of the site's own; give it with --key FILE"
            raise ConfigError(msg)
        return
    if read.trial_sets[0].is_scored and is_exact:
        msg = (
            "--key: the tally has the bins of the counts, and without any it would hold every "
            "score; give --step WIDTH, or --threshold"
        )
        raise ConfigError(msg)
    if asked.blocks is None:
        if asked.withhold:
            msg = (
                "--key: tells of every single speaker, under a name, so that no group can be "
                "withheld; give --blocks 20, or, for a reader who may have personal data, "
                "--withhold 0"
            )
            raise ConfigError(msg)
        return
    sided = [one.name for one in (*read.groupings, *read.within) if one.speaker_codes is None]
    if sided or read.within:
        names = ", ".join(dict.fromkeys([*sided, *(one.name for one in read.within)]))
        msg = (
            f"--blocks {asked.blocks}: are of speakers, of whom a few may be behind the trials of "
            f"one block by {names}; group by attributes of speakers alone, without --within"
        )
        raise ConfigError(msg)


def speaker_counts_to_share(
    read: GroupedTrials, counts: TrialCounts, key: SiteKey, least: int | None
) -> SpeakerCounts:
    """The tally of counts, in the same bins: of names, or of blocks of at least so many speakers.

    Raises
    ------
    DataError
        If there are fewer speakers of some groups than a block has.
    """
    trials, people = read.trial_sets[0], read.speakers
    assert trials.has_speakers
    assert people is not None
    used = trials.speakers_in_use
    groupings = [
        without_suppressed_groups(one, counts.withheld) for one in (*read.groupings, *read.within)
    ]
    names = np.array(key.pseudonyms([people.ids[i] for i in used.tolist()]))
    block = None
    if least is not None:
        finest = _finest(groupings, used)
        _check_sizes(finest, groupings, used, least, people)
        own = speaker_blocks(finest, min_size=least, order=np.argsort(np.argsort(names)))
        order = np.lexsort((names, own))
        starts = np.flatnonzero(np.diff(own[order], prepend=-1))
        names = np.array([key.block_pseudonym(one) for one in np.split(names[order], starts[1:])])
        block = np.zeros(len(people.ids), dtype=np.int32)
        block[used] = own
        used = np.arange(names.size)
    made = count_by_speaker(trials, _steps(counts), groupings, block)
    return made.pseudonymised(used, names, key, least or 1)


def _steps(counts: TrialCounts) -> FloatArray:
    """Every edge from the lowest score to the highest: the tally is as fine as the counts."""
    if not counts.is_scored:
        return np.empty(0)
    value = counts.columns["value"][counts.columns["failed"] == 0]
    finite = value[np.isfinite(value)]
    edges = counts.bins.edges_between(
        *((finite.min(), finite.max()) if finite.size else (0.0, 0.0))
    )
    given = np.array(counts.bins.thresholds, dtype=np.float64)
    made = np.concatenate((edges, given, value[np.isposinf(value)]))
    return np.unique(made[~np.isneginf(made)] + 0.0)


def _finest(groupings: Sequence[Grouping], used: NDArray[np.intp]) -> NDArray[np.int64]:
    """A number for each combination of groups by all groupings."""
    codes = [one.speaker_codes[used] for one in groupings if one.speaker_codes is not None]
    _, found = np.unique(np.stack(codes), axis=1, return_inverse=True)
    return found.reshape(-1).astype(np.int64)


def _check_sizes(
    finest: NDArray[np.int64],
    groupings: Sequence[Grouping],
    used: NDArray[np.intp],
    least: int,
    people: Speakers,
) -> None:
    """Refuse combinations of groups that no block can be made of."""
    sizes = np.bincount(finest)
    smallest = int(sizes.argmin())
    if sizes[smallest] >= least:
        return
    who = used[np.flatnonzero(finest == smallest)[0]]
    of = {
        one.name: int(one.speaker_codes[who]) for one in groupings if one.speaker_codes is not None
    }
    names = {one.name: one.groups for one in groupings}
    words = ", ".join(
        f"{name} {names[name][group]}" if group >= 0 else f"of no group by {name}"
        for name, group in of.items()
    )
    mend = "give a single --by, or join values with --groups" if len(of) > 1 else "leave them out"
    msg = (
        f"{people.name}: {sizes[smallest]} speakers of the trials are {words}, fewer than a block "
        f"of {least}; {mend}, or give --blocks {max(int(sizes[smallest]), 2)}"
    )
    raise DataError(msg)
