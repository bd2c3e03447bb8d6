"""Searches as trials: a mated search as a target trial of the probe's speaker, others as nontarget.

Both sides of such a trial are the probe, so that everything that is counted by speaker counts for
the speaker of the probe.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.core.counts import NONTARGET, SPOOF
from parivox.data.recordings import read_utterances
from parivox.data.search_columns import DECISIONS
from parivox.data.speakers import speakers_of
from parivox.data.trial_shards import TrialShards
from parivox.data.trials import read_trials
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.data.attributes import Attribute
    from parivox.data.candidate_lists import SearchList
    from parivox.data.gallery import Gallery
    from parivox.data.recordings import Failures, Utterances
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet

NOBODY = "(unknown speaker)"
"""Id that stands for all probes whose speakers nobody knows."""


def with_probe_speakers(
    speakers: Speakers, lists: Iterable[SearchList], gallery: Gallery
) -> tuple[Speakers, set[str]]:
    """Return a table of speakers with a row for all probes, and the ids that it lacked.

    Where all probes are of guests without ids, the table is one of enrolled persons.

    Raises
    ------
    DataError
        If it has none of the speakers of the probes.
    """
    named = sorted({name for searches in lists for name in searches.speakers if name})
    expected = named or sorted(gallery.persons)
    if not speakers.choose_id_column(pl.Series(expected, dtype=pl.String)):
        kind = "speakers of the probes" if named else "enrolled persons"
        msg = f"{speakers.name}: contains none of the {kind} ({', '.join(expected[:2])})"
        hint = "name the id column with --id, or give the table of these speakers"
        raise DataError(msg, hint)
    unlisted = {*named} - {*speakers.ids}
    return speakers.with_unlisted([*sorted(unlisted), NOBODY]), unlisted


def are_in_one_gallery(lists: Iterable[SearchList]) -> bool:
    """Return whether every known speaker is searched in one of several galleries only."""
    gallery_of: dict[str, int] = {}
    for searches in lists:
        for speaker, gallery in zip(searches.speakers, searches.gallery.tolist(), strict=True):
            if speaker and gallery_of.setdefault(speaker, gallery) != gallery:
                return False
    return True


def probe_attributes(
    searches: SearchList, speakers: Speakers | None, utterances: Utterances | None
) -> Utterances:
    """Return what is known of each probe, as attributes of the recording: of its speaker, too.

    So searches can be grouped by speakers, while another unit stands for them.
    """
    table = pl.DataFrame({"utterance": searches.ids, "speaker": searches.speakers})
    if speakers is not None:
        attributes = speakers.attributes.with_columns(pl.Series("speaker", speakers.ids))
        names = [name for name in attributes.columns if name != "utterance"]
        of_speakers = attributes.select(names)
        table = table.join(of_speakers, on="speaker", how="left", maintain_order="left")
    if utterances is not None:
        rows = utterances.table.select("utterance").hstack(utterances.attributes)
        names = [name for name in rows.columns if name == "utterance" or name not in table.columns]
        table = table.join(rows.select(names), on="utterance", how="left", maintain_order="left")
    return read_utterances(table.drop("speaker"))


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
    are_galleries_units: bool = False,
) -> TrialSet:
    """Return searches as trials, with the speakers of their probes.

    A mated search has the score of its person, if it is within the rank, and a non-mated search its
    highest score; of decisions, they are accepted or rejected. With `are_galleries_units`, a
    gallery stands for its speakers, whose attributes are then those of the recordings.
    """
    units = [name or NOBODY for name in searches.speakers]
    if are_galleries_units:
        utterances = probe_attributes(searches, speakers, utterances)
        units = [gallery.names[number] for number in searches.gallery.tolist()]
        speakers = speakers_of(pl.Series(sorted({*units}), dtype=pl.String))
    trials = read_trials(
        _trial_columns(searches, rank, units),
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
    return replace(
        trials,
        _shards=TrialShards.held(partitions),
        n_spoof=0,
        attacks=(),
        are_searches=True,
        content_sha256=searches.content_sha256,
        data_notes=[],
        counts_by_speaker={},
        provenance=[*searches.provenance, *gallery.provenance, *trials.provenance[1:]],
    )


def failed_searches(searches: SearchList, failures: Failures) -> NDArray[np.bool_]:
    """Return which probes could not be acquired, shape (search,).

    Raises
    ------
    DataError
        If an enrolment failed, who then belongs into no gallery, or a recording is no search.
    """
    if len(failures.enrol):
        msg = f"{failures.name}: {failures.enrol[0]!r} failed at the stage enrol"
        hint = "leave the person out of the gallery instead"
        raise DataError(msg, hint)
    unknown = failures.acquire.filter(~failures.acquire.is_in([*searches.ids]))
    if len(unknown):
        msg = f"{failures.name}: {unknown[0]!r} is not a search of {searches.name}"
        hint = "correct the id"
        raise DataError(msg, hint)
    return pl.Series(searches.ids, dtype=pl.String).is_in(failures.acquire.implode()).to_numpy()


def without_failed(trials: TrialSet, is_failed: NDArray[np.bool_]) -> TrialSet:
    """Return the trials of the other searches, of which each is a trial in the same order."""
    speakers = np.where(is_failed, np.int32(-1), trials.utterance_speaker)
    return replace(trials.with_rows(~is_failed), utterance_speaker=speakers)


def search_positions(trials: TrialSet, searches: SearchList) -> NDArray[np.int64]:
    """Return the place of each search among the recordings of the trials, shape (search,)."""
    position = {name: i for i, name in enumerate(trials.utterance_ids.series())}
    return np.array([position[name] for name in searches.ids], dtype=np.int64)


def _trial_columns(searches: SearchList, rank: int, units: Sequence[str]) -> pl.DataFrame:
    """Return searches as trials of a unit with itself: of the probe's speaker, or a gallery.

    Non-mated searches are called spoof trials until they have been read: like these, they count for
    one speaker, who stands on both sides.
    """
    array = searches.searches
    columns: dict[str, Any] = {
        "enrol": searches.ids,
        "test": searches.ids,
        "enrol_speaker": units,
        "test_speaker": units,
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


def with_unknown_speaker(trials: TrialSet) -> TrialSet:
    """Return the trials with the place of whoever stands for unknown speakers, if anybody does."""
    positions = speaker_positions(trials, [NOBODY])
    place = -1 if positions is None else int(positions[0])
    is_used = place in trials.speakers_in_use
    return replace(trials, unknown_speaker=place if is_used else -1)


def speaker_positions(trials: TrialSet, names: Sequence[str]) -> NDArray[np.int32] | None:
    """Return the places of speakers in the table of trials, -1 for others; None without a table."""
    if trials.speaker_table is None:
        return None
    return trials.speaker_table.positions(pl.Series(names, dtype=pl.String))
