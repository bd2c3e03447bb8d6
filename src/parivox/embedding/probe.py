"""Is a system what it seems? The same audio twice, alone and in a batch, shuffled, quieter, longer.

A system that answers the same recording differently cannot be audited recording by recording. The
voices are synthetic, so that the answers say nothing of how good a system is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.embedding.audio import check_decoders
from parivox.embedding.systems import EmbeddingSystem
from parivox.embedding.voices import RATE, draw_voice, speak
from parivox.facts import Fact
from parivox.shown import CATALOGUE_MODULE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    code: str
    """What it means, with its values."""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What it means, in words."""
        return str(import_module(CATALOGUE_MODULE).fact_text(Fact(self.code, self.values)))


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
            "findings": [{**asdict(finding), "words": finding.words} for finding in self.findings]
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
    if unusable := _unusable_vectors(reference_vectors):
        return [ProbeFinding("finite", "fault", None, None, "vectors_unusable", unusable)]
    findings = [ProbeFinding("finite", "ok", None, None, "vectors_usable")]
    units = reference_vectors / np.linalg.norm(reference_vectors, axis=1, keepdims=True)
    nearest = float((units @ units.T)[~np.eye(len(units), dtype=bool)].max())
    if nearest > MAX_VOICE_COSINE:
        code = "same_vector_of_all_voices"
        findings.append(ProbeFinding("distinct", "fault", None, nearest, code))
    else:
        findings.append(ProbeFinding("distinct", "ok", None, nearest, "vectors_differ_by_voice"))
    for check, repeated_vectors in (
        ("repeated", embed_one_by_one(voices)),
        ("batched", _one_row_each(system.embed(voices))),
        ("shuffled", _one_row_each(system.embed(voices[::-1]))[::-1]),
        ("later", embed_one_by_one(voices)),
    ):
        findings.append(_comparison_finding(check, reference_vectors, repeated_vectors, TOLERANCE))
    # Level and length change what a system hears, so that a difference is worth a note, no fault.
    quieter = embed_one_by_one([voice * np.float32(0.5) for voice in voices])
    longer = embed_one_by_one([np.tile(voice, 2) for voice in voices])
    findings.append(_comparison_finding("quieter", reference_vectors, quieter, None))
    findings.append(_comparison_finding("longer", reference_vectors, longer, None))
    return findings


def _one_row_each(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Crops side by side, so that a recording is one row."""
    return np.asarray(vectors, np.float64).reshape(len(vectors), -1)


def _unusable_vectors(vectors: NDArray[np.float64]) -> dict[str, Any]:
    """Return how many are not finite, or zero, as values of a fact; empty if none is."""
    infinite = int((~np.isfinite(vectors).all(axis=1)).sum())
    zero = int((~vectors.any(axis=1)).sum())
    if not infinite and not zero:
        return {}
    fault = "not_finite" if infinite else "zero"
    return {"unusable": infinite or zero, "vectors": len(vectors), "fault": fault}


def _comparison_finding(
    check: str,
    reference_vectors: NDArray[np.float64],
    repeated_vectors: NDArray[np.float64],
    tolerance: float | None,
) -> ProbeFinding:
    """Compare vectors; without a tolerance they may differ, which is noted."""
    values: dict[str, Any] = {"repetition": check}
    if repeated_vectors.shape != reference_vectors.shape:
        values["shape"] = [*repeated_vectors.shape]
        values["expected_shape"] = [*reference_vectors.shape]
        return ProbeFinding(check, "fault", None, None, "vectors_of_other_shape", values)
    if unusable := _unusable_vectors(repeated_vectors):
        values |= unusable
        return ProbeFinding(check, "fault", None, None, "repeated_vectors_unusable", values)
    lengths = np.linalg.norm(reference_vectors, axis=1), np.linalg.norm(repeated_vectors, axis=1)
    difference = float(
        (np.linalg.norm(repeated_vectors - reference_vectors, axis=1) / np.maximum(*lengths)).max()
    )
    cosine = float(
        ((reference_vectors * repeated_vectors).sum(axis=1) / (lengths[0] * lengths[1])).min()
    )
    if tolerance is None:
        values["cosine"] = cosine
        if cosine >= MIN_SELF_COSINE:
            return ProbeFinding(check, "ok", difference, cosine, "vectors_stay_alike", values)
        return ProbeFinding(check, "note", difference, cosine, "vectors_move", values)
    values["difference"] = difference
    if difference <= tolerance:
        return ProbeFinding(check, "ok", difference, cosine, "vectors_repeated", values)
    return ProbeFinding(check, "fault", difference, cosine, "vectors_not_repeated", values)


def _verifying_findings(system: VerifyingSystem, voices: Sequence[Waveform]) -> list[ProbeFinding]:
    def scores(recordings: Sequence[Waveform]) -> NDArray[np.float64]:
        handles = [system.enrol([voice]) for voice in voices]
        return np.array([[float(system.verify(h, voice)) for voice in recordings] for h in handles])

    reference_scores = scores(voices)
    if not np.isfinite(reference_scores).all():
        return [ProbeFinding("finite", "fault", None, None, "scores_not_finite")]
    findings = [ProbeFinding("finite", "ok", None, None, "scores_finite")]
    if np.ptp(reference_scores) == 0:
        code = "same_score_of_all_pairs"
        findings.append(ProbeFinding("distinct", "fault", None, None, code))
    else:
        findings.append(ProbeFinding("distinct", "ok", None, None, "scores_differ_by_pair"))
    # Scores of a recording with itself show whether high means alike.
    is_similarity = (
        np.diag(reference_scores).mean()
        > reference_scores[~np.eye(len(reference_scores), dtype=bool)].mean()
    )
    if is_similarity:
        findings.append(ProbeFinding("oriented", "ok", None, None, "scores_are_similarities"))
    else:
        findings.append(ProbeFinding("oriented", "note", None, None, "scores_may_be_distances"))
    shuffled = scores(voices[::-1])[:, ::-1]
    for check, repetition, repeated_scores in (
        ("repeated", "repeated", scores(voices)),
        ("shuffled", "verified_in_other_order", shuffled),
    ):
        difference = float(np.abs(repeated_scores - reference_scores).max())
        passes = difference <= TOLERANCE * max(1.0, float(np.abs(reference_scores).max()))
        verdict = "ok" if passes else "fault"
        code = "scores_repeated" if passes else "scores_not_repeated"
        values = {"repetition": repetition, "difference": difference}
        findings.append(ProbeFinding(check, verdict, difference, None, code, values))
    quieter_scores = scores([waveform * np.float32(0.5) for waveform in voices])
    difference, spread = (
        float(np.abs(quieter_scores - reference_scores).max()),
        float(np.std(reference_scores)),
    )
    verdict = "ok" if difference <= spread else "note"
    values = {"repetition": "quieter", "difference": difference, "spread": spread}
    findings.append(ProbeFinding("quieter", verdict, difference, None, "scores_move", values))
    return findings
