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
MIN_SELF_COSINE = 0.9
"""Cosine between a recording and itself, quieter or longer; less is noted."""
MAX_VOICE_COSINE = 0.99999
"""Cosine between different voices; more is a constant answer."""
# Two voices of one length and two of others: batches of both kinds are tried.
_SECONDS = (2.0, 2.0, 2.6, 3.4)
_SEEDS = (("f", 1), ("m", 2), ("f", 3), ("m", 4))


@dataclass(frozen=True)
class ProbeFinding:
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
    findings: tuple[ProbeFinding, ...]

    @property
    def sound(self) -> bool:
        """Whether there is no fault."""
        return all(finding.verdict != "fault" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        return {"name": self.name, "sound": self.sound} | {
            "findings": [asdict(finding) for finding in self.findings]
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
        return Probed(system.name, tuple(_embedding_findings(system, voices)))
    return Probed(system.name, tuple(_verifying_findings(system, voices)))


def _voices(rate: int, least_seconds: float) -> list[Waveform]:
    """Four seeded voices at a rate, two of them of the same length, none too short."""
    times = max(1.0, least_seconds / min(_SECONDS))
    sentences = [
        speak(draw_voice(seed, gender), seconds * times, seed)
        for seconds, (gender, seed) in zip(_SECONDS, _SEEDS, strict=True)
    ]
    if rate == RATE:
        return sentences
    check_decoders()
    import soxr  # noqa: PLC0415 - what takes time to load

    return [np.asarray(soxr.resample(sentence, RATE, rate), np.float32) for sentence in sentences]


def _embedding_findings(system: EmbeddingSystem, voices: Sequence[Waveform]) -> list[ProbeFinding]:
    def embed_one_by_one(waveforms: Sequence[Waveform]) -> NDArray[np.float64]:
        return np.concatenate([_one_row_each(system.embed([waveform])) for waveform in waveforms])

    reference_vectors = embed_one_by_one(voices)
    if fault := _unusable_vectors(reference_vectors):
        return [ProbeFinding("finite", "fault", None, None, fault)]
    findings = [ProbeFinding("finite", "ok", None, None, "every vector is finite and not zero")]
    units = reference_vectors / np.linalg.norm(reference_vectors, axis=1, keepdims=True)
    nearest = float((units @ units.T)[~np.eye(len(units), dtype=bool)].max())
    if nearest > MAX_VOICE_COSINE:
        words = "different voices have the same vector"
        findings.append(ProbeFinding("distinct", "fault", None, nearest, words))
    else:
        words = "voices have vectors of their own"
        findings.append(ProbeFinding("distinct", "ok", None, nearest, words))
    for check, repeated_vectors, description in (
        ("repeated", embed_one_by_one(voices), "the same audio twice"),
        ("batched", _one_row_each(system.embed(voices)), "alone and in a batch"),
        (
            "shuffled",
            _one_row_each(system.embed(voices[::-1]))[::-1],
            "in a batch of another order",
        ),
        ("later", embed_one_by_one(voices), "the same audio after everything else"),
    ):
        findings.append(
            _comparison_finding(check, reference_vectors, repeated_vectors, description, TOLERANCE)
        )
    # Level and length change what a system hears, so that a difference is worth a note, no fault.
    quieter = embed_one_by_one([voice * np.float32(0.5) for voice in voices])
    longer = embed_one_by_one([np.tile(voice, 2) for voice in voices])
    findings.append(
        _comparison_finding("quieter", reference_vectors, quieter, "half as loud", None)
    )
    findings.append(_comparison_finding("longer", reference_vectors, longer, "said twice", None))
    return findings


def _one_row_each(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Crops side by side, so that a recording is one row."""
    return np.asarray(vectors, np.float64).reshape(len(vectors), -1)


def _unusable_vectors(vectors: NDArray[np.float64]) -> str:
    """That some are not finite, or zero; empty if none is."""
    infinite = int((~np.isfinite(vectors).all(axis=1)).sum())
    zero = int((~vectors.any(axis=1)).sum())
    if not infinite and not zero:
        return ""
    fault = "not finite" if infinite else "zero"
    return f"{infinite or zero} of {len(vectors)} vectors are {fault}"


def _comparison_finding(
    check: str,
    reference_vectors: NDArray[np.float64],
    repeated_vectors: NDArray[np.float64],
    description: str,
    tolerance: float | None,
) -> ProbeFinding:
    """Compare vectors; without a tolerance they may differ, which is noted."""
    fault = _unusable_vectors(repeated_vectors)
    if repeated_vectors.shape != reference_vectors.shape:
        fault = f"are of shape {repeated_vectors.shape}, not {reference_vectors.shape}"
    if fault:
        return ProbeFinding(check, "fault", None, None, f"{description}: the vectors: {fault}")
    lengths = np.linalg.norm(reference_vectors, axis=1), np.linalg.norm(repeated_vectors, axis=1)
    difference = float(
        (np.linalg.norm(repeated_vectors - reference_vectors, axis=1) / np.maximum(*lengths)).max()
    )
    cosine = float(
        ((reference_vectors * repeated_vectors).sum(axis=1) / (lengths[0] * lengths[1])).min()
    )
    if tolerance is None:
        passes = cosine >= MIN_SELF_COSINE
        words = f"the vectors {'stay alike' if passes else 'move'}, cosine from {cosine:.4f}"
        return ProbeFinding(
            check, "ok" if passes else "note", difference, cosine, f"{description}: {words}"
        )
    passes = difference <= tolerance
    words = f"{'are the same, within' if passes else 'differ by'} {difference:.2g} of their length"
    return ProbeFinding(
        check,
        "ok" if passes else "fault",
        difference,
        cosine,
        f"{description}: the vectors {words}",
    )


def _verifying_findings(system: VerifyingSystem, voices: Sequence[Waveform]) -> list[ProbeFinding]:
    def scores(recordings: Sequence[Waveform]) -> NDArray[np.float64]:
        handles = [system.enrol([voice]) for voice in voices]
        return np.array([[float(system.verify(h, voice)) for voice in recordings] for h in handles])

    reference_scores = scores(voices)
    if not np.isfinite(reference_scores).all():
        return [ProbeFinding("finite", "fault", None, None, "some scores are not finite")]
    findings = [ProbeFinding("finite", "ok", None, None, "every score is finite")]
    constant = bool(np.ptp(reference_scores) == 0)
    words = "every pair has the same score" if constant else "pairs have scores of their own"
    findings.append(ProbeFinding("distinct", "fault" if constant else "ok", None, None, words))
    # Scores of a recording with itself show whether high means alike.
    is_similarity = (
        np.diag(reference_scores).mean()
        > reference_scores[~np.eye(len(reference_scores), dtype=bool)].mean()
    )
    words = f"a recording is {'' if is_similarity else 'not '}more alike to itself than to others"
    words += "" if is_similarity else ": scores may be distances"
    findings.append(ProbeFinding("oriented", "ok" if is_similarity else "note", None, None, words))
    shuffled = scores(voices[::-1])[:, ::-1]
    for check, repeated_scores, description in (
        ("repeated", scores(voices), "the same audio twice"),
        ("shuffled", shuffled, "in another order"),
    ):
        difference = float(np.abs(repeated_scores - reference_scores).max())
        passes = difference <= TOLERANCE * max(1.0, float(np.abs(reference_scores).max()))
        change = "are the same" if passes else f"differ by {difference:.2g}"
        words = f"{description}: the scores {change}"
        findings.append(ProbeFinding(check, "ok" if passes else "fault", difference, None, words))
    quieter_scores = scores([waveform * np.float32(0.5) for waveform in voices])
    difference, spread = (
        float(np.abs(quieter_scores - reference_scores).max()),
        float(np.std(reference_scores)),
    )
    words = (
        f"half as loud: scores move by up to {difference:.2g}, and vary by {spread:.2g} over pairs"
    )
    findings.append(
        ProbeFinding("quieter", "ok" if difference <= spread else "note", difference, None, words)
    )
    return findings
