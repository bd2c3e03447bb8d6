"""Is a system what it seems? The same audio twice, alone and in a batch, shuffled, quieter, longer.

A system that answers the same recording differently cannot be audited recording by recording. The
voices are synthetic, so that the answers say nothing of how good a system is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.embedding.audio import check_decoders
from parivox.embedding.systems import EmbeddingSystem
from parivox.embedding.voices import RATE, draw_voice, speak

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.embedding.systems import VerifyingSystem, Waveform

TOLERANCE = 1e-5
"""Of vectors of the same recording, as a share of their length."""
LEAST_ALIKE = 0.9
"""Cosine between a recording and itself, quieter or longer; less is noted."""
MOST_ALIKE = 0.99999
"""Cosine between different voices; more is a constant answer."""
_SECONDS = (2.0, 2.0, 2.6, 3.4)
_SEEDS = (("f", 1), ("m", 2), ("f", 3), ("m", 4))


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: str
    verdict: str
    """``ok``; ``note``, which is worth knowing; ``fault``, which breaks what an audit rests on."""
    difference: float | None
    """The largest between two vectors, as a share of their length; between two scores as it is."""
    cosine: float | None
    """The least between two vectors of one recording; of ``distinct``, the least between voices."""
    words: str  # what it means


@dataclass(frozen=True)
class Probed:
    """What a probe of a system found."""

    name: str
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether there is no fault."""
        return all(one.verdict != "fault" for one in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        return {"name": self.name, "sound": self.sound} | {
            "findings": [asdict(one) for one in self.findings]
        }


def probe(system: EmbeddingSystem | VerifyingSystem) -> Probed:
    """Ask a system the same in several ways, and compare what it answers.

    Parameters
    ----------
    system
        Of either protocol.

    Raises
    ------
    ConfigError
        If the system fails on any of the recordings.
    """
    voices = _voices(system.sample_rate, system.least_seconds)
    if isinstance(system, EmbeddingSystem):
        return Probed(system.name, tuple(_embedding(system, voices)))
    return Probed(system.name, tuple(_verifying(system, voices)))


def _voices(rate: int, least_seconds: float) -> list[Waveform]:
    """Four seeded voices at a rate, two of them of the same length, none too short."""
    times = max(1.0, least_seconds / min(_SECONDS))
    said = [
        speak(draw_voice(seed, gender), seconds * times, seed)
        for seconds, (gender, seed) in zip(_SECONDS, _SEEDS, strict=True)
    ]
    if rate == RATE:
        return said
    check_decoders()
    import soxr  # noqa: PLC0415 - what takes time to load

    return [np.asarray(soxr.resample(one, RATE, rate), np.float32) for one in said]


def _embedding(system: EmbeddingSystem, voices: Sequence[Waveform]) -> list[Finding]:
    def alone(waveforms: Sequence[Waveform]) -> NDArray[np.float64]:
        return np.concatenate([_flat(system.embed([one])) for one in waveforms])

    first = alone(voices)
    if broken := _broken(first):
        return [Finding("finite", "fault", None, None, broken)]
    found = [Finding("finite", "ok", None, None, "every vector is finite and not zero")]
    units = first / np.linalg.norm(first, axis=1, keepdims=True)
    nearest = float((units @ units.T)[~np.eye(len(units), dtype=bool)].max())
    if nearest > MOST_ALIKE:
        words = "different voices have the same vector"
        found.append(Finding("distinct", "fault", None, nearest, words))
    else:
        words = "voices have vectors of their own"
        found.append(Finding("distinct", "ok", None, nearest, words))
    for check, again, how in (
        ("repeated", alone(voices), "the same audio twice"),
        ("batched", _flat(system.embed(voices)), "alone and in a batch"),
        ("shuffled", _flat(system.embed(voices[::-1]))[::-1], "in a batch of another order"),
        ("later", alone(voices), "the same audio after everything else"),
    ):
        found.append(_compared(check, first, again, how, TOLERANCE))
    quieter = alone([one * np.float32(0.5) for one in voices])
    longer = alone([np.tile(one, 2) for one in voices])
    found.append(_compared("quieter", first, quieter, "half as loud", None))
    found.append(_compared("longer", first, longer, "said twice", None))
    return found


def _flat(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Crops side by side, so that a recording is one row."""
    return np.asarray(vectors, np.float64).reshape(len(vectors), -1)


def _broken(vectors: NDArray[np.float64]) -> str:
    """That some are not finite, or zero; empty if none is."""
    infinite = int((~np.isfinite(vectors).all(axis=1)).sum())
    zero = int((~vectors.any(axis=1)).sum())
    if not infinite and not zero:
        return ""
    what = "not finite" if infinite else "zero"
    return f"{infinite or zero} of {len(vectors)} vectors are {what}"


def _compared(
    check: str,
    first: NDArray[np.float64],
    again: NDArray[np.float64],
    how: str,
    tolerance: float | None,
) -> Finding:
    """Compare vectors; without a tolerance they may differ, which is noted."""
    fault = _broken(again)
    if again.shape != first.shape:
        fault = f"are of shape {again.shape}, not {first.shape}"
    if fault:
        return Finding(check, "fault", None, None, f"{how}: the vectors: {fault}")
    lengths = np.linalg.norm(first, axis=1), np.linalg.norm(again, axis=1)
    away = float((np.linalg.norm(again - first, axis=1) / np.maximum(*lengths)).max())
    cosine = float(((first * again).sum(axis=1) / (lengths[0] * lengths[1])).min())
    if tolerance is None:
        ok = cosine >= LEAST_ALIKE
        words = f"the vectors {'stay alike' if ok else 'move'}, cosine from {cosine:.4f}"
        return Finding(check, "ok" if ok else "note", away, cosine, f"{how}: {words}")
    ok = away <= tolerance
    words = f"{'are the same, within' if ok else 'differ by'} {away:.2g} of their length"
    return Finding(check, "ok" if ok else "fault", away, cosine, f"{how}: the vectors {words}")


def _verifying(system: VerifyingSystem, voices: Sequence[Waveform]) -> list[Finding]:
    def scores(recordings: Sequence[Waveform]) -> NDArray[np.float64]:
        handles = [system.enrol([one]) for one in voices]
        return np.array([[float(system.verify(h, one)) for one in recordings] for h in handles])

    first = scores(voices)
    if not np.isfinite(first).all():
        return [Finding("finite", "fault", None, None, "some scores are not finite")]
    found = [Finding("finite", "ok", None, None, "every score is finite")]
    constant = bool(np.ptp(first) == 0)
    words = "every pair has the same score" if constant else "pairs have scores of their own"
    found.append(Finding("distinct", "fault" if constant else "ok", None, None, words))
    own = np.diag(first).mean() > first[~np.eye(len(first), dtype=bool)].mean()
    words = f"a recording is {'' if own else 'not '}more alike to itself than to others"
    words += "" if own else ": scores may be distances"
    found.append(Finding("oriented", "ok" if own else "note", None, None, words))
    shuffled = scores(voices[::-1])[:, ::-1]
    for check, again, how in (
        ("repeated", scores(voices), "the same audio twice"),
        ("shuffled", shuffled, "in another order"),
    ):
        away = float(np.abs(again - first).max())
        ok = away <= TOLERANCE * max(1.0, float(np.abs(first).max()))
        words = f"{how}: the scores {'are the same' if ok else f'differ by {away:.2g}'}"
        found.append(Finding(check, "ok" if ok else "fault", away, None, words))
    quiet = scores([one * np.float32(0.5) for one in voices])
    away, spread = float(np.abs(quiet - first).max()), float(np.std(first))
    words = f"half as loud: scores move by up to {away:.2g}, and vary by {spread:.2g} over pairs"
    found.append(Finding("quieter", "ok" if away <= spread else "note", away, None, words))
    return found
