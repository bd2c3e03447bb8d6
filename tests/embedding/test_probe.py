"""The probe finds what it looks for, and nothing in a system that is sound."""

import json

import numpy as np
import pytest

from parivox.embedding.probe import probe
from parivox.embedding.systems.named import CallableSystem


class Spectrum:
    """A sound system: the mean log spectrum, whatever the level."""

    name, sample_rate, scoring, least_seconds = "spectrum", 16_000, "cosine", 0.1
    provenance = {}  # noqa: RUF012 - as the protocol has it

    def vector(self, waveform):
        frames = np.lib.stride_tricks.sliding_window_view(waveform, 512)[::512]
        spectrum = np.log(np.abs(np.fft.rfft(frames)) + 1e-4).mean(axis=0)
        return spectrum - spectrum.mean()

    def embed(self, waveforms):
        return np.array([self.vector(waveform) for waveform in waveforms], np.float32)[:, None]


def verdicts(system):
    report = probe(system)
    return {finding.check: finding.verdict for finding in report.findings}, report


def test_a_sound_system_has_no_finding():
    verdict_by_check, report = verdicts(Spectrum())
    assert set(verdict_by_check.values()) == {"ok"}
    assert set(verdict_by_check) == {"finite", "distinct", "repeated", "batched", "shuffled",
                                     "later", "quieter", "longer"}  # fmt: skip
    assert report.sound
    assert json.loads(json.dumps(report.to_json()))["findings"][2]["difference"] == 0


@pytest.mark.slow
def test_the_same_probe_twice_is_the_same():
    assert probe(Spectrum()) == probe(Spectrum())


class Random(Spectrum):
    def __init__(self):
        self.draw = np.random.default_rng(0)

    def vector(self, waveform):
        spectrum = super().vector(waveform)
        return spectrum + self.draw.normal(0, 1e-3, spectrum.shape)


class Drifting(Spectrum):
    calls = 0

    def vector(self, waveform):
        self.calls += 1
        spectrum = super().vector(waveform)
        return spectrum * np.linspace(1, 1 + self.calls * 1e-3, spectrum.size)


class OfItsBatch(Spectrum):
    def embed(self, waveforms):
        vectors = super().embed(waveforms)
        return vectors - 0.1 * vectors.mean(axis=0)


class Padded(Spectrum):
    def embed(self, waveforms):
        longest = max(map(len, waveforms))
        return super().embed(
            [np.pad(waveform, (0, longest - len(waveform))) for waveform in waveforms]
        )


class Ordered(Spectrum):
    def embed(self, waveforms):
        vectors = super().embed(waveforms)
        return vectors[np.argsort([len(waveform) for waveform in waveforms], kind="stable")]


@pytest.mark.parametrize(
    ("system", "faults"),
    [
        (Random, {"repeated", "batched", "shuffled", "later"}),
        (Drifting, {"repeated", "batched", "shuffled", "later"}),
        (OfItsBatch, {"batched", "shuffled"}),
        (Padded, {"batched", "shuffled"}),
        (Ordered, {"shuffled"}),
    ],
)
def test_faults(system, faults):
    verdict_by_check, report = verdicts(system())
    assert {check for check, verdict in verdict_by_check.items() if verdict == "fault"} == faults
    assert not report.sound


@pytest.mark.parametrize(
    ("value", "check", "words"),
    [
        (np.nan, "finite", "4 of 4 vectors are not finite"),
        (0.0, "finite", "4 of 4 vectors are zero"),
        (1.0, "distinct", "different voices have the same vector"),
    ],
)
def test_answers_that_say_nothing(value, check, words):
    report = probe(CallableSystem(lambda waveform, rate: np.full(8, value), "same"))
    (fault,) = [finding for finding in report.findings if finding.verdict == "fault"]
    assert (fault.check, fault.words) == (check, words)


def test_level_and_length_are_noted_but_no_fault():
    def turning(waveform, rate):
        angle = np.log2(np.sqrt(np.mean(waveform**2))) + len(waveform) / rate
        return np.array([np.cos(angle), np.sin(angle)])

    verdict_by_check, report = verdicts(CallableSystem(turning, "x"))
    assert {verdict_by_check.pop("quieter"), verdict_by_check.pop("longer")} == {"note"}
    assert set(verdict_by_check.values()) == {"ok"}
    assert report.sound


def test_audio_comes_at_the_systems_rate():
    lengths = []

    def heard(waveform, rate):
        lengths.append((len(waveform), rate))
        return np.fft.rfft(waveform, 64).real

    probe(CallableSystem(heard, "x", sample_rate=8_000))
    assert lengths[0] == (16_000, 8_000)


@pytest.mark.slow
def test_audio_is_as_long_as_the_system_needs():
    def strict(waveform, rate):
        assert len(waveform) >= 5 * rate
        return np.fft.rfft(waveform, 64).real

    strict.least_seconds = 5.0
    assert probe(CallableSystem(strict, "x")).findings[0].verdict == "ok"


class Verifier:
    name, sample_rate, least_seconds, provenance = "box", 16_000, 0.1, {}

    def __init__(self, sign=1.0, noise=0.0, constant=False):
        self.sign, self.noise, self.constant = sign, noise, constant
        self.draw, self.inner = np.random.default_rng(0), Spectrum()

    def enrol(self, recordings):
        return self.inner.embed(recordings).mean(axis=0)

    def verify(self, handle, recording):
        if self.constant:
            return True
        away = np.linalg.norm(handle - self.inner.embed([recording])[0])
        return float(-self.sign * away + self.draw.normal(0, 1) * self.noise)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verifier_options", "check", "verdict"),
    [
        ({"noise": 0.1}, "repeated", "fault"),
        ({"constant": True}, "distinct", "fault"),
        ({"sign": -1.0}, "oriented", "note"),
    ],
)
def test_verifying_systems(verifier_options, check, verdict):
    sound, report = verdicts(Verifier())
    assert set(sound.values()) == {"ok"}
    assert report.sound
    assert verdicts(Verifier(**verifier_options))[0][check] == verdict
