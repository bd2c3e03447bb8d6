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

SECONDS_AT_ONCE = 600.0
"""Of audio that is held before it is embedded."""
_NOTHING = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Batch:
    """Recordings that a worker has in hand together."""

    number: int
    recordings: Sequence[Excerpt]
    longest_seconds: float  # recordings that are longer are not read
    crashed: Mapping[int, str] = field(default_factory=dict)
    """Why recordings, by their place, are not to be decoded again."""

    def without(self, place: int, why: str) -> Self:
        """The same, but a recording that is not to be decoded again."""
        return replace(self, crashed={**self.crashed, place: f"decoding it {why}"})


@dataclass(frozen=True, eq=False)
class Done:
    """A batch that is done."""

    number: int
    found: list[dict[str, Any]]
    """Of each recording: what `parivox.embedding.store.FOUND` names; its ``row`` counts
    within ``vectors``, and it has no hash where another run may fare better. ``_channels`` counts
    those of a file that differ, where none is chosen."""
    vectors: NDArray[np.float32]  # of shape (row, crop, dimension)


def decode_batch(
    batch: Batch, rate: int, least_seconds: float, in_hand: AnnounceItem = lambda _: None
) -> Iterator[Decoded]:
    """Decode the recordings of a batch in turn; `in_hand` is told the place of each before that."""
    for place, recording in enumerate(batch.recordings):
        if place in batch.crashed:
            yield Decoded("unreadable", batch.crashed[place], is_passing=True)
            continue
        in_hand(place)
        yield decode(
            recording, rate, least_seconds=least_seconds, longest_seconds=batch.longest_seconds
        )


def embed_batch(
    batch: Batch, system: EmbeddingSystem, in_hand: AnnounceItem = lambda _: None
) -> Done:
    """Decode and embed the recordings of a batch.

    `in_hand` is told the place of each recording before it is decoded, and None before any are
    embedded. It is an error if the system does not do what it must.
    """
    outcomes: list[Decoded] = []
    vectors: dict[int, Vector] = {}
    waveforms: dict[int, Vector] = {}

    def embed_waveforms() -> None:
        in_hand(None)
        for place, result in _embedded(system, waveforms).items():
            if isinstance(result, Decoded):
                outcomes[place] = replace(result, attributes=outcomes[place].attributes)
            else:
                vectors[place] = result
        waveforms.clear()

    every = decode_batch(batch, system.sample_rate, system.least_seconds, in_hand)
    for place, decoded in enumerate(every):
        if decoded.status == "ok":
            waveforms[place] = decoded.waveform
        outcomes.append(replace(decoded, waveform=_NOTHING))
        if sum(map(len, waveforms.values())) > SECONDS_AT_ONCE * system.sample_rate:
            embed_waveforms()
    embed_waveforms()
    rows = {place: row for row, place in enumerate(sorted(vectors))}
    found = [
        {
            "audio_sha256": None if outcome.is_passing else audio_sha256(recording.path),
            "status": outcome.status,
            "reason": outcome.reason,
            "row": rows.get(place, -1),
            "_channels": outcome.channels or None,
            **outcome.attributes,
        }
        for place, (recording, outcome) in enumerate(zip(batch.recordings, outcomes, strict=True))
    ]
    shapes = {vector.shape for vector in vectors.values()}
    if len(shapes) > 1:
        msg = (
            f"{system.name}: makes embeddings of different shapes, {sorted(shapes)}; those of a "
            "system must be alike"
        )
        raise DataError(msg)
    none = np.empty((0, 1, 0), dtype=np.float32)
    stacked = np.stack([vectors[place] for place in rows]) if rows else none
    return Done(batch.number, found, stacked)


def _embedded(system: EmbeddingSystem, waveforms: dict[int, Vector]) -> dict[int, Vector | Decoded]:
    """Embedding of each waveform, or what became of it instead."""
    if not waveforms:
        return {}
    try:
        made = _checked(system, list(waveforms.values()))
    except Exception as error:  # whatever a foreign system raises
        if isinstance(error, ParivoxError) and not isinstance(error, SystemFailed):
            raise
        cause = error.__cause__ if isinstance(error, SystemFailed) and error.__cause__ else error
        if len(waveforms) == 1:
            reason = f"the system raised {type(cause).__name__}: {str(cause)[:200]}"
            return dict.fromkeys(waveforms, Decoded("unreadable", reason))
        alone = {at: _embedded(system, {at: one})[at] for at, one in waveforms.items()}
        if all(isinstance(one, Decoded) for one in alone.values()):
            msg = (
                f"{system.name}: raised {type(cause).__name__} for {len(waveforms)} recordings in "
                f"turn: {str(cause)[:300]}; try parivox systems check"
            )
            raise DataError(msg) from error
        return alone
    found: dict[int, Vector | Decoded] = {}
    for place, vector in zip(waveforms, made, strict=True):
        if not np.isfinite(vector).all():
            found[place] = Decoded("non_finite", "the system made a vector that is not finite")
        elif not vector.any(axis=-1).all():
            found[place] = Decoded("no_speech", "the system made a vector of zeros")
        else:
            found[place] = vector
    return found


def _checked(system: EmbeddingSystem, waveforms: list[Vector]) -> Vector:
    with np.errstate(all="ignore"):  # what comes of numbers that are too large is told of each
        made = np.asarray(system.embed(waveforms), dtype=np.float32)
    if made.ndim != 3 or len(made) != len(waveforms) or not made.size:
        msg = (
            f"{system.name}: made embeddings of shape {made.shape} of {len(waveforms)} recordings; "
            "it must make (recording, crop, dimension)"
        )
        raise DataError(msg)
    return made
