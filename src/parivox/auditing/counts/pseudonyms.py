"""Speaker counts that leave a site: of speakers renamed by a key, or of blocks of them.

A name is a keyed hash of the speaker's id, or of all ids of a block, by a key that stays at the
site. Files made with one key give one speaker one name, so that their speaker counts add up; other
keys are other sites.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.counts.suppression import without_suppressed_groups
from parivox.auditing.speaker_counts import count_by_speaker
from parivox.data.units import speaker_blocks
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.inputs import GroupedTrials
    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.site_key import SiteKey
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.speakers import Speakers
    from parivox.options.audit import CountOptions


def check_disclosure(inputs: GroupedTrials, count_options: CountOptions, *, is_exact: bool) -> None:
    """Refuse speaker counts that would tell more than their form is for."""
    if count_options.key is None:
        if count_options.blocks is not None:
            msg = "--blocks needs a secret key, by which speakers are assigned to blocks"
            hint = "give the key with --key FILE"
            raise ConfigError(msg, hint)
        return
    if inputs.trial_sets[0].is_scored and is_exact:
        msg = "--key: without bins, the speaker counts would contain every score"
        hint = "give --step WIDTH, or --threshold"
        raise ConfigError(msg, hint)
    if count_options.blocks is None:
        if count_options.withhold:
            msg = (
                "--key: the speaker counts describe each speaker under a pseudonym, so no group "
                "can be withheld"
            )
            hint = "give --blocks 20 or, if the recipient may receive personal data, --withhold 0"
            raise ConfigError(msg, hint)
        return
    trial_groupings = [
        grouping.name
        for grouping in (*inputs.groupings, *inputs.within)
        if grouping.speaker_codes is None
    ]
    if trial_groupings or inputs.within:
        names = ", ".join(
            dict.fromkeys([*trial_groupings, *(grouping.name for grouping in inputs.within)])
        )
        msg = (
            f"--blocks {count_options.blocks}: by {names}, the trials of one block may come from "
            "only a few speakers"
        )
        hint = "group by attributes of speakers only, without --within"
        raise ConfigError(msg, hint)


def speaker_counts_to_share(
    inputs: GroupedTrials, counts: TrialCounts, key: SiteKey, min_speakers: int | None
) -> SpeakerCounts:
    """Speaker counts in the bins of counts: of names, or of blocks of at least so many speakers.

    Raises
    ------
    DataError
        If there are fewer speakers of some groups than a block has.
    """
    trials, speakers = inputs.only_list, inputs.speakers
    assert speakers is not None
    used_speakers = trials.speakers_in_use
    groupings = [
        without_suppressed_groups(grouping, counts.withheld)
        for grouping in (*inputs.groupings, *inputs.within)
    ]
    names = np.array(key.pseudonyms([speakers.ids[i] for i in used_speakers.tolist()]))
    block = None
    if min_speakers is not None:
        combinations = _group_combinations(groupings, used_speakers)
        _check_block_sizes(combinations, groupings, used_speakers, min_speakers, speakers)
        blocks_of_used = speaker_blocks(
            combinations, min_size=min_speakers, order=np.argsort(np.argsort(names))
        )
        order = np.lexsort((names, blocks_of_used))
        starts = np.flatnonzero(np.diff(blocks_of_used[order], prepend=-1))
        names = np.array(
            [key.block_pseudonym(grouping) for grouping in np.split(names[order], starts[1:])]
        )
        block = np.zeros(len(speakers.ids), dtype=np.int32)
        block[used_speakers] = blocks_of_used
        used_speakers = np.arange(names.size)
    speaker_counts = count_by_speaker(trials, _count_edges(counts), groupings, block)
    return speaker_counts.pseudonymised(used_speakers, names, key, min_speakers or 1)


def _count_edges(counts: TrialCounts) -> FloatArray:
    """Every edge from the lowest score to the highest, so that both counts are as fine."""
    if not counts.is_scored:
        return np.empty(0)
    value = counts.columns["score"][counts.columns["failed"] == 0]
    finite = value[np.isfinite(value)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    edges = counts.bins.edges_between(low, high)
    given_thresholds = np.array(counts.bins.thresholds, dtype=np.float64)
    all_edges = np.concatenate((edges, given_thresholds, value[np.isposinf(value)]))
    return np.unique(all_edges[~np.isneginf(all_edges)] + 0.0)


def _group_combinations(
    groupings: Sequence[Grouping], used_speakers: NDArray[np.intp]
) -> NDArray[np.int64]:
    """A number for each combination of groups by all groupings."""
    codes = [
        grouping.speaker_codes[used_speakers]
        for grouping in groupings
        if grouping.speaker_codes is not None
    ]
    _, combination = np.unique(np.stack(codes), axis=1, return_inverse=True)
    return combination.reshape(-1).astype(np.int64)


def _check_block_sizes(
    combinations: NDArray[np.int64],
    groupings: Sequence[Grouping],
    used_speakers: NDArray[np.intp],
    min_speakers: int,
    speakers: Speakers,
) -> None:
    """Refuse combinations of groups that no block can be made of."""
    sizes = np.bincount(combinations)
    smallest = int(sizes.argmin())
    if sizes[smallest] >= min_speakers:
        return
    example_speaker = used_speakers[np.flatnonzero(combinations == smallest)[0]]
    group_by_name = {
        grouping.name: int(grouping.speaker_codes[example_speaker])
        for grouping in groupings
        if grouping.speaker_codes is not None
    }
    names = {grouping.name: grouping.groups for grouping in groupings}
    words = ", ".join(
        f"{name} {names[name][group]}" if group >= 0 else f"of no group by {name}"
        for name, group in group_by_name.items()
    )
    remedy = (
        "give a single --by, merge values with --groups"
        if len(group_by_name) > 1
        else "leave these speakers out"
    )
    msg = (
        f"{speakers.name}: only {sizes[smallest]} speakers of the trials are {words}, but a block "
        f"needs {min_speakers}"
    )
    hint = f"{remedy}, or give --blocks {max(int(sizes[smallest]), 2)}"
    raise DataError(msg, hint)
