"""Batches of recordings, decoded and embedded; a recording that ends the process gets a status.

A decoder of foreign bytes may crash or never end. A worker says which recording it has in hand
before it decodes it, so that its batch is done again without that one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from parivox.embedding.audio import Decoded, decode
from parivox.embedding.recordings import audio_sha256
from parivox.embedding.systems import SystemFailed
from parivox.errors import DataError, ParivoxError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.embedding.audio import Excerpt
    from parivox.embedding.systems import EmbeddingSystem
    from parivox.runtime.workers import AnnounceItem

    Vector = NDArray[np.float32]

# About 38 MB of samples at 16 kHz for each worker process.
SECONDS_AT_ONCE = 600.0
"""Of audio that is held before it is embedded."""
_NO_SAMPLES = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Batch:
    """Recordings that a worker has in hand together."""

    number: int
    recordings: Sequence[Excerpt]
    longest_seconds: float  # recordings that are longer are not read
    crashed: Mapping[int, str] = field(default_factory=dict)
    """Why recordings, by their place, are not to be decoded again."""

    def without(self, position: int, reason: str) -> Self:
        """The same, but a recording that is not to be decoded again."""
        return replace(self, crashed={**self.crashed, position: f"decoding it {reason}"})


@dataclass(frozen=True, eq=False)
class EmbeddedBatch:
    """A batch that is done."""

    number: int
    rows: list[dict[str, Any]]
    """Of each recording: what `parivox.embedding.store.DECODED_COLUMNS` names; its ``row`` counts
    within ``vectors``, and it has no hash where another run may fare better. ``_channels`` counts
    those of a file that differ, where none is chosen."""
    vectors: NDArray[np.float32]  # of shape (row, crop, dimension)


def decode_batch(
    batch: Batch, rate: int, least_seconds: float, in_hand: AnnounceItem = lambda _: None
) -> Iterator[Decoded]:
    """Decode the recordings of a batch in turn; `in_hand` is told the place of each before that."""
    for position, recording in enumerate(batch.recordings):
        if position in batch.crashed:
            yield Decoded("unreadable", batch.crashed[position], is_passing=True)
            continue
        in_hand(position)
        yield decode(
            recording, rate, least_seconds=least_seconds, longest_seconds=batch.longest_seconds
        )


def embed_batch(
    batch: Batch, system: EmbeddingSystem, in_hand: AnnounceItem = lambda _: None
) -> EmbeddedBatch:
    """Decode and embed the recordings of a batch.

    `in_hand` is told the place of each recording before it is decoded, and None before any are
    embedded. It is an error if the system does not do what it must.
    """
    outcomes: list[Decoded] = []
    vectors: dict[int, Vector] = {}
    waveforms: dict[int, Vector] = {}

    def embed_waveforms() -> None:
        in_hand(None)
        for position, result in _embed_or_explain(system, waveforms).items():
            if isinstance(result, Decoded):
                outcomes[position] = replace(result, attributes=outcomes[position].attributes)
            else:
                vectors[position] = result
        waveforms.clear()

    decoded_recordings = decode_batch(batch, system.sample_rate, system.least_seconds, in_hand)
    for recording_index, decoded in enumerate(decoded_recordings):
        if decoded.status == "ok":
            waveforms[recording_index] = decoded.waveform
        outcomes.append(replace(decoded, waveform=_NO_SAMPLES))
        if sum(map(len, waveforms.values())) > SECONDS_AT_ONCE * system.sample_rate:
            embed_waveforms()
    embed_waveforms()
    rows = {recording_index: row for row, recording_index in enumerate(sorted(vectors))}
    rows_of_recordings = [
        {
            "audio_sha256": None if outcome.is_passing else audio_sha256(recording.path),
            "status": outcome.status,
            "reason": outcome.reason,
            "row": rows.get(recording_index, -1),
            "_channels": outcome.channels or None,
            **outcome.attributes,
        }
        for recording_index, (recording, outcome) in enumerate(
            zip(batch.recordings, outcomes, strict=True)
        )
    ]
    # Shapes are compared here, before anything is stored: a store is one array.
    shapes = {vector.shape for vector in vectors.values()}
    if len(shapes) > 1:
        msg = f"{system.name}: makes embeddings of different shapes, {sorted(shapes)}"
        hint = "return embeddings of the same shape"
        raise DataError(msg, hint)
    no_vectors = np.empty((0, 1, 0), dtype=np.float32)
    stacked = (
        np.stack([vectors[recording_index] for recording_index in rows]) if rows else no_vectors
    )
    return EmbeddedBatch(batch.number, rows_of_recordings, stacked)


def _embed_or_explain(
    system: EmbeddingSystem, waveforms: dict[int, Vector]
) -> dict[int, Vector | Decoded]:
    """Embedding of each waveform, or what became of it instead."""
    if not waveforms:
        return {}
    try:
        stacked_vectors = _embed_checked(system, list(waveforms.values()))
    # One bad recording must not cost its batch: the others are embedded one by one.
    except Exception as error:  # whatever a foreign system raises
        if isinstance(error, ParivoxError) and not isinstance(error, SystemFailed):
            raise
        cause = error.__cause__ if isinstance(error, SystemFailed) and error.__cause__ else error
        if len(waveforms) == 1:
            reason = f"the system raised {type(cause).__name__}: {str(cause)[:200]}"
            return dict.fromkeys(waveforms, Decoded("unreadable", reason))
        results_one_by_one = {
            position: _embed_or_explain(system, {position: waveform})[position]
            for position, waveform in waveforms.items()
        }
        if all(isinstance(waveform, Decoded) for waveform in results_one_by_one.values()):
            msg = (
                f"{system.name}: raised {type(cause).__name__} for {len(waveforms)} recordings in "
                f"a row: {str(cause)[:300]}"
            )
            hint = "check the system with parivox systems check"
            raise DataError(msg, hint) from error
        return results_one_by_one
    results: dict[int, Vector | Decoded] = {}
    for position, vector in zip(waveforms, stacked_vectors, strict=True):
        if not np.isfinite(vector).all():
            results[position] = Decoded("non_finite", "the system made a vector that is not finite")
        elif not vector.any(axis=-1).all():
            results[position] = Decoded("no_speech", "the system made a vector of zeros")
        else:
            results[position] = vector
    return results


def _embed_checked(system: EmbeddingSystem, waveforms: list[Vector]) -> Vector:
    with np.errstate(all="ignore"):  # what comes of numbers that are too large is told of each
        vectors = np.asarray(system.embed(waveforms), dtype=np.float32)
    if vectors.ndim != 3 or len(vectors) != len(waveforms) or not vectors.size:
        msg = (
            f"{system.name}: made embeddings of shape {vectors.shape} for {len(waveforms)} "
            "recordings"
        )
        hint = "return an array of shape (recording, crop, dimension)"
        raise DataError(msg, hint)
    return vectors
