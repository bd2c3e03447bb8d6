"""What a development list and a list of trials have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.trials.lists import read_list, recording_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.trials.lists import TrialList

__all__ = ["Shared", "shared"]


class Shared(NamedTuple):
    """How much of a list is in the other one, too."""

    speakers: int
    recordings: int
    utterances: int
    trials: int


def shared(found: TrialList, other: Any, **beside: Any) -> Shared:
    """Count what two lists have in common; a trial and its reverse are one.

    Parameters
    ----------
    found
        The list.
    other
        The development list; its ids name speakers as those of `found` do.
    beside
        Tables that tell its speakers and recordings where its ids do not.

    Examples
    --------
    >>> one = read_list({"enrol": ["a/x/1", "a/x/1"], "test": ["a/x/2", "b/y/1"]})
    >>> shared(one, {"enrol": ["c/z/1", "a/x/3"], "test": ["c/z/2", "c/z/1"]})
    Shared(speakers=1, recordings=1, utterances=0, trials=0)
    """
    try:
        theirs = read_list(other, by=(), columns=beside.get("columns"))
    except DataError:  # as the ids do not name their speakers
        theirs = read_list(other, by=(), **beside)
    place = found.trials.utterance_ids.where(theirs.trials.utterance_ids.series())
    n = len(found.trials.utterance_ids)
    pairs = np.unique(np.concatenate([_pairs(one.enrol, one.test, n) for one in found.blocks()]))
    met = [_pairs(place[one.enrol], place[one.test], n) for one in theirs.blocks()]
    return Shared(
        _in_both(found, theirs, ["speaker"]),
        _in_both(found, theirs, ["speaker", "recording"]),
        int((place >= 0).sum()),
        int(np.isin(pairs, np.concatenate(met)).sum()),
    )


def _in_both(found: TrialList, theirs: TrialList, columns: list[str]) -> int:
    """How many distinct and known values some columns share."""
    mine, yours = (_named(one).select(columns).drop_nulls().unique() for one in (found, theirs))
    return mine.join(yours, on=columns, how="semi").height


def _named(found: TrialList) -> pl.DataFrame:
    """Names of the speaker and of the recording of each utterance."""
    trials = found.trials
    table = None if trials.recordings is None else trials.recordings.table
    speaker = trials.utterance_speaker
    ids = trials.utterance_ids.series()
    names = pl.Series(found.people.ids, dtype=pl.String).gather(speaker)
    return pl.DataFrame({"speaker": names, "recording": recording_names(ids, table, speaker)})


def _pairs(enrol: NDArray[np.int32], test: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """One number for each pair, whichever side is which; -1 where a side is unknown."""
    low, high = np.minimum(enrol, test).astype(np.int64), np.maximum(enrol, test)
    return np.where(low < 0, -1, low * n + high)
