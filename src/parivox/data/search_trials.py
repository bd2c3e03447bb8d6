"""Searches as trials: a mated search as a target trial of the probe's speaker, others as nontarget.

Both sides of such a trial are the probe, so that everything that is counted by speaker counts for
the speaker of the probe.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from parivox.core.counts import NONTARGET, SPOOF
from parivox.data.search_columns import DECISIONS
from parivox.data.trial_shards import TrialShards
from parivox.data.trials import read_trials
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import Attribute
    from parivox.data.candidate_lists import SearchList
    from parivox.data.gallery import Gallery
    from parivox.data.recordings import Utterances
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet

NOBODY = "(unknown speaker)"
"""Id that stands for all probes whose speakers nobody knows."""


def with_probe_speakers(
    speakers: Speakers, lists: Iterable[SearchList]
) -> tuple[Speakers, set[str]]:
    """Return a table of speakers with a row for all probes, and the ids that it lacked.

    Raises
    ------
    DataError
        If it has none of the speakers of the probes.
    """
    named = sorted({name for searches in lists for name in searches.speakers if name})
    if not named or not speakers.choose_id_column(pl.Series(named, dtype=pl.String)):
        names = ", ".join(named[:2]) or "none"
        msg = (
            f"{speakers.name}: contains none of the speakers of the probes ({names}); name its id "
            "column with --id, or give their table"
        )
        raise DataError(msg)
    unlisted = {*named} - {*speakers.ids}
    return speakers.with_unlisted([*sorted(unlisted), NOBODY]), unlisted


def search_trials(
    searches: SearchList,
    gallery: Gallery,
    rank: int,
    *,
    system: str,
    list_: str,
    speakers: Speakers | None,
    utterances: Utterances | None,
    attributes: Sequence[Attribute],
) -> TrialSet:
    """Return searches as trials, with the speakers of their probes.

    A mated search has the score of its person, if it is within the rank, and a non-mated search its
    highest score; of decisions, they are accepted or rejected.
    """
    trials = read_trials(
        _trial_columns(searches, rank),
        system=system,
        list_=list_,
        speakers=speakers,
        utterances=utterances,
        attributes=attributes,
        orientation="similarity",
        takes_spoof=True,
    )
    partitions = [
        replace(
            partition,
            trial_class=np.where(
                partition.trial_class == SPOOF, NONTARGET, partition.trial_class
            ).astype(np.int8),
        )
        for partition in trials.partitions()
    ]
    unknown_speaker = -1
    if "" in searches.speakers:
        unknown_speaker = int(cast("Any", speaker_positions(trials, [NOBODY]))[0])
    return replace(
        trials,
        _shards=TrialShards.held(partitions),
        n_spoof=0,
        attacks=(),
        are_searches=True,
        unknown_speaker=unknown_speaker,
        content_sha256=searches.content_sha256,
        data_notes=[],
        counts_by_speaker={},
        provenance=[*searches.provenance, *gallery.provenance, *trials.provenance[1:]],
    )


def _trial_columns(searches: SearchList, rank: int) -> pl.DataFrame:
    """Return searches as trials of the probe's speaker with itself.

    Non-mated searches are called spoof trials until they have been read: like these, they count for
    one speaker, who stands on both sides.
    """
    array, speakers = searches.searches, [name or NOBODY for name in searches.speakers]
    columns: dict[str, Any] = {
        "enrol": searches.ids,
        "test": searches.ids,
        "enrol_speaker": speakers,
        "test_speaker": speakers,
        "label": np.where(array.is_mated, "target", "spoof"),
    }
    if searches.form == DECISIONS:
        is_accepted = np.where(
            array.is_mated, np.isfinite(array.mate_score), np.isfinite(array.top_score)
        )
        columns["decision"] = np.where(is_accepted, "accept", "reject")
    else:
        mate_rank = array.mate_rank()
        is_found = (mate_rank > 0) & (mate_rank <= rank)
        mated_score = np.where(is_found, array.mate_score, -np.inf)
        columns["score"] = np.where(array.is_mated, mated_score, array.top_score)
    return pl.DataFrame(columns)


def speaker_positions(trials: TrialSet, names: Sequence[str]) -> NDArray[np.int32] | None:
    """Return the places of speakers in the table of trials, -1 for others; None without a table."""
    if trials.speaker_table is None:
        return None
    return trials.speaker_table.positions(pl.Series(names, dtype=pl.String))
