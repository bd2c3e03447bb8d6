"""One batch: its recordings decoded, each once, and embedded a few minutes of audio at a time.

This is what a worker process does; with a system that compares recordings itself, no more than to
decode them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.embedding.audio import Decoded, decode
from parivox.embedding.seen import hash_or_none
from parivox.embedding.systems.protocol import SystemFailed
from parivox.errors import DataError, ParivoxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.embedding.audio import Excerpt
    from parivox.embedding.systems.protocol import EmbeddingSystem

    Vector = NDArray[np.float32]

    InHand = Callable[[int | None], None]
    """Told the place of each recording before it is decoded, and None before any are embedded."""

__all__ = ["Batch", "Done", "decode_batch", "embed_batch"]

SECONDS_AT_ONCE = 600.0
"""Of audio that is held before it is embedded."""
_NOTHING = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Batch:
    """Recordings that a worker has in hand together.

    Attributes
    ----------
    number : int
    recordings : sequence of Excerpt
    longest_seconds : float
        Recordings that are longer are not read.
    crashed : mapping
        Why recordings, by their place, are not to be decoded again.
    """

    number: int
    recordings: Sequence[Excerpt]
    longest_seconds: float
    crashed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Done:
    """A batch that is done.

    Attributes
    ----------
    number : int
    found : list of dict
        Of each recording: what :data:`parivox.embedding.store.FOUND` names; its ``row`` counts
        within ``vectors``, and it has no hash where another run may fare better.
    vectors : ndarray of shape (row, crop, dimension), float32
    """

    number: int
    found: list[dict[str, Any]]
    vectors: NDArray[np.float32]


def decode_batch(
    batch: Batch, rate: int, least_seconds: float, in_hand: InHand = lambda _: None
) -> Iterator[Decoded]:
    """Decode the recordings of a batch, in turn.

    Parameters
    ----------
    batch
        What to decode.
    rate, least_seconds
        As of :func:`parivox.embedding.audio.decode`.
    in_hand
        Told the place of each recording before it is decoded.

    Raises
    ------
    DataError
        If the channels of a recording differ.
    """
    for place, recording in enumerate(batch.recordings):
        if place in batch.crashed:
            yield Decoded("unreadable", batch.crashed[place], is_passing=True)
            continue
        in_hand(place)
        yield decode(
            recording, rate, least_seconds=least_seconds, longest_seconds=batch.longest_seconds
        )


def embed_batch(batch: Batch, system: EmbeddingSystem, in_hand: InHand = lambda _: None) -> Done:
    """Decode and embed the recordings of a batch.

    Parameters
    ----------
    batch
        What to embed.
    system
        What makes the embeddings.
    in_hand
        Told the place of each recording before it is decoded, and None before any are embedded.

    Raises
    ------
    DataError
        If the channels of a recording differ, or the system does not do what it must.
    """
    outcomes: list[Decoded] = []
    vectors: dict[int, Vector] = {}
    held: dict[int, Vector] = {}

    def embed_held() -> None:
        in_hand(None)
        for place, result in _embedded(system, held).items():
            if isinstance(result, Decoded):
                outcomes[place] = replace(result, attributes=outcomes[place].attributes)
            else:
                vectors[place] = result
        held.clear()

    heard = decode_batch(batch, system.sample_rate, system.least_seconds, in_hand)
    for place, decoded in enumerate(heard):
        if decoded.status == "ok":
            held[place] = decoded.waveform
        outcomes.append(replace(decoded, waveform=_NOTHING))
        if sum(map(len, held.values())) > SECONDS_AT_ONCE * system.sample_rate:
            embed_held()
    embed_held()
    rows = {place: row for row, place in enumerate(sorted(vectors))}
    found = [
        {
            "audio_sha256": None if outcome.is_passing else hash_or_none(recording.path),
            "status": outcome.status,
            "reason": outcome.reason,
            "row": rows.get(place, -1),
            **outcome.attributes,
        }
        for place, (recording, outcome) in enumerate(zip(batch.recordings, outcomes, strict=True))
    ]
    return Done(batch.number, found, _stacked(system, [vectors[place] for place in sorted(rows)]))


def _embedded(system: EmbeddingSystem, held: dict[int, Vector]) -> dict[int, Vector | Decoded]:
    """Embedding of each waveform, or what became of it instead."""
    if not held:
        return {}
    try:
        made = _checked(system, list(held.values()))
    except Exception as error:  # whatever a foreign system raises
        if isinstance(error, ParivoxError) and not isinstance(error, SystemFailed):
            raise
        cause = error.__cause__ if isinstance(error, SystemFailed) and error.__cause__ else error
        if len(held) == 1:
            told = f"the system raised {type(cause).__name__}: {str(cause)[:200]}"
            return dict.fromkeys(held, Decoded("unreadable", told))
        alone = {place: _embedded(system, {place: wave})[place] for place, wave in held.items()}
        if all(isinstance(one, Decoded) for one in alone.values()):
            msg = (
                f"{system.name}: raised {type(cause).__name__} for {len(held)} recordings in turn: "
                f"{str(cause)[:300]}; try parivox systems check"
            )
            raise DataError(msg) from error
        return alone
    found: dict[int, Vector | Decoded] = {}
    for place, vector in zip(held, made, strict=True):
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


def _stacked(system: EmbeddingSystem, vectors: list[Vector]) -> Vector:
    shapes = {vector.shape for vector in vectors}
    if len(shapes) > 1:
        msg = (
            f"{system.name}: makes embeddings of different shapes, {sorted(shapes)}; those of a "
            "system must be alike"
        )
        raise DataError(msg)
    return np.stack(vectors) if vectors else np.empty((0, 1, 0), dtype=np.float32)
