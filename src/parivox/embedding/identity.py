"""Whose recordings are: whether the names of folders can be people, and audio with two names."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.embedding.audio import Excerpt
from parivox.embedding.batches import Batch, decode_batch
from parivox.embedding.recordings import AUDIO, EXCERPT, with_hashes_of_files
from parivox.errors import DataError
from parivox.runtime.workers import Processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from parivox.embedding.recordings import Source
    from parivox.embedding.store import Store
    from parivox.runtime.workers import AnnounceItem

FEW_SPEAKERS, MANY_RECORDINGS = 10, 20
"""Fewer folders with as many recordings each, on average, hardly are people."""
# Names of folders in which corpora keep groups, subsets or formats.
_NOT_A_PERSON = frozenset({
    "male", "males", "female", "females", "men", "women", "man", "woman", "boys", "girls",
    "m", "f", "gender", "sex", "child", "children", "adult", "adults", "kids",
    "train", "training", "test", "testing", "dev", "development", "eval", "evaluation",
    "val", "valid", "validation", "enrol", "enroll", "enrolment", "enrollment", "trial",
    "wav", "wavs", "wave", "flac", "mp3", "ogg", "audio", "audios", "sound", "sounds",
    "clip", "clips", "data", "dataset", "corpus", "recording", "recordings", "record",
    "speech", "voice", "voices", "speaker", "speakers", "utterance", "utterances",
    "clean", "noisy", "other", "raw", "target", "nontarget", "impostor", "genuine",
})  # fmt: skip
_RATE = 16_000  # at which audio with two names is listened to


def no_people(source: Source) -> list[str]:
    """Speakers, guessed from folders, whose names are no person's: ``female_audio``, ``train``.

    Of few speakers names with a number count, too: ``train-clean-100``.
    """
    if not source.is_guess:
        return []
    is_few = len(source.speakers) < FEW_SPEAKERS
    return [
        name
        for name in source.speakers
        if (words := re.findall("[a-z]+", name.lower()))
        and _NOT_A_PERSON.issuperset(words)
        and (is_few or not re.search("[0-9]", name))
    ]


def are_few(source: Source) -> bool:
    """Whether speakers, guessed from folders, are few for so many recordings."""
    speakers = len(source.speakers)
    recordings_per_speaker = source.table.height / max(speakers, 1)
    return source.is_guess and speakers < FEW_SPEAKERS and recordings_per_speaker >= MANY_RECORDINGS


def check_one_speaker(
    recordings: pl.DataFrame,
    known_hashes: pl.DataFrame,
    store: Store | None,
    *,
    longest: float,
    name: str,
) -> None:
    """Refuse audio that is of two speakers, here or in a store.

    Recordings are as `parivox.embedding.recordings.with_stat` gives them; of files in
    `known_hashes` there is a hash. Files without sound may be alike, and do no harm.
    """
    compared_columns = ("utterance", "speaker", "file", *AUDIO)
    # Only files of one size can be the same audio: most are never hashed.
    excerpt = pl.struct("_size", "channel", "start", "end")
    may_be_twice = excerpt.is_duplicated()
    stored = pl.DataFrame(schema=recordings.select(*compared_columns[:3], *AUDIO[1:]).schema)
    if store is not None:
        sizes = known_hashes["_size"]
        may_be_twice |= pl.col("_size").is_in(sizes.implode()) | pl.lit(not len(sizes))
        stored = store.table.filter(pl.col("row") >= 0)
        stored = stored.join(recordings, on="utterance", how="anti")
    hashed_recordings = with_hashes_of_files(recordings, known_hashes, needs_hash=may_be_twice)
    all_recordings = pl.concat([hashed_recordings, stored], how="diagonal_relaxed")
    all_recordings = (
        all_recordings.select(*compared_columns, "path")
        .drop_nulls(("audio_sha256", "speaker"))
        .sort("utterance")
    )
    speakers = pl.col("speaker").n_unique().over(AUDIO)
    shared_audio = all_recordings.filter(speakers > 1)
    if shared_audio.height:
        _refuse(shared_audio, longest, name)


def _refuse(shared_audio: pl.DataFrame, longest: float, name: str) -> None:
    """Refuse audio of two speakers, unless it is silent; ``path`` is null in the store."""
    candidates = shared_audio.filter(pl.col("path").is_null().any().over(AUDIO).not_()).unique(
        AUDIO
    )
    excerpts = [Excerpt(*row) for row in candidates.select(EXCERPT).rows()]
    shared_audio = shared_audio.join(
        candidates.filter(~_have_sound(excerpts, longest)), on=AUDIO, how="anti", nulls_equal=True
    )
    if not shared_audio.height:
        return
    same_audio = shared_audio.join(shared_audio[:1], on=AUDIO, how="semi", nulls_equal=True)
    pair = same_audio.unique("speaker", keep="first", maintain_order=True)[:2].rows(named=True)
    recording, other_recording = (
        f"{_recording_name(row)} of speaker {row['speaker']!r}" for row in pair
    )
    cases = shared_audio.unique(AUDIO).height
    case_note = f" (the first of {cases:,} such cases)" if cases > 1 else ""
    stored_names = [_recording_name(row) for row in pair if row["path"] is None]
    remedy = "keep the recording of the right speaker, or correct the speakers"
    if stored_names:
        remedy += (
            f"; {stored_names[0]} is from an earlier run: --prune removes recordings that are no "
            "longer named"
        )
    msg = f"{name}: {recording} and {other_recording} contain the same audio{case_note}"
    raise DataError(msg, remedy)


def _recording_name(row: dict[str, Any]) -> str:
    """A recording by its id, and its file where that is another name."""
    file = "" if row["file"] == row["utterance"] else f" ({row['file']})"
    return f"{row['utterance']!r}{file}"


def _have_sound(excerpts: list[Excerpt], longest: float) -> pl.Series:
    """Whether there is something to embed in each, as another process finds, which may crash."""
    # A file that crashes its decoder must not end this process.
    batches = [Batch(n, [excerpt], longest) for n, excerpt in enumerate(excerpts)]
    with Processes().open(partial(_sound_finder, _RATE)) as run_batches:
        has_sound = dict(run_batches(batches))
    return pl.Series([has_sound[n] for n in range(len(excerpts))], dtype=pl.Boolean)


def _sound_finder(rate: int) -> Callable[[Batch, AnnounceItem], tuple[int, bool]]:
    def listen(batch: Batch, in_hand: AnnounceItem) -> tuple[int, bool]:
        decoded = next(decode_batch(batch, rate, 0.0, in_hand))
        return batch.number, decoded.status == "ok" or decoded.channels > 1

    return listen
