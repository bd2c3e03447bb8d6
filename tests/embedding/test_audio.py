"""Recordings of every kind become the samples they hold, a status and attributes."""

import io
from dataclasses import replace

import numpy as np
import pytest
import soundfile
import soxr

from parivox.embedding.audio import ATTRIBUTES, MIX, Excerpt, decode
from parivox.embedding.recordings import audio_sha256

RATE = 16_000


def speech(seconds=1.0, rate=RATE, seed=0):
    """Noise that comes and goes, as loud as speech."""
    time = np.arange(round(seconds * rate)) / rate
    noise = np.random.default_rng(seed).normal(size=time.size)
    return (0.1 * noise * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * time))).astype("f4")


def written(path, samples, rate=RATE, **format_options):
    soundfile.write(path, samples, rate, **format_options)
    return Excerpt(str(path))


@pytest.mark.parametrize(
    ("kind", "subtype", "most"),
    [
        ("WAV", "PCM_16", 4e-5),
        ("WAV", "PCM_24", 2e-7),
        ("WAV", "FLOAT", 0.0),
        ("WAV", "ALAW", 0.02),
        ("WAV", "ULAW", 0.02),
        ("NIST", "PCM_16", 4e-5),
        ("NIST", "ULAW", 0.02),
        ("FLAC", "PCM_16", 4e-5),
        ("AIFF", "PCM_16", 4e-5),
    ],
)
def test_every_kind_gives_the_samples_it_holds(tmp_path, kind, subtype, most):
    wave = speech()
    decoding = decode(written(tmp_path / "x.raw", wave, format=kind, subtype=subtype), RATE)
    assert (decoding.status, decoding.reason) == ("ok", "")
    assert decoding.waveform.dtype == np.float32
    np.testing.assert_allclose(decoding.waveform, wave, rtol=0, atol=most)


@pytest.mark.parametrize(
    ("kind", "subtype"), [("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III")]
)
def test_lossy_kinds_keep_length_and_level(tmp_path, kind, subtype):
    wave = speech(2.0)
    decoding = decode(written(tmp_path / "x", wave, format=kind, subtype=subtype), RATE)
    assert decoding.status == "ok"
    assert decoding.waveform.size == pytest.approx(wave.size, abs=1200)
    assert np.sqrt(np.mean(decoding.waveform**2)) == pytest.approx(
        np.sqrt(np.mean(wave**2)), rel=0.3
    )


@pytest.mark.parametrize("native", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000])
def test_resampling_in_blocks_equals_resampling_at_once(tmp_path, native):
    wave = speech(4.0, native)
    decoding = decode(written(tmp_path / "x.wav", wave, native, subtype="FLOAT"), RATE)
    np.testing.assert_allclose(decoding.waveform, soxr.resample(wave, native, RATE), atol=2e-6)
    assert decoding.attributes["native_rate"] == native
    assert decoding.attributes["duration"] == pytest.approx(4.0)


def test_an_excerpt_is_the_samples_between_its_seconds(tmp_path):
    wave = speech(3.0)
    path = written(tmp_path / "x.flac", wave, subtype="PCM_24").path
    decoding = decode(Excerpt(path, start=1.0, end=1.75), RATE)
    np.testing.assert_allclose(decoding.waveform, wave[16_000:28_000], atol=2e-7)
    assert decode(Excerpt(path, start=2.5), RATE).attributes["duration"] == 0.5
    assert decode(Excerpt(path, start=2.5, end=9.0), RATE).attributes["duration"] == 0.5
    beyond = decode(Excerpt(path, start=4.0), RATE)
    assert (beyond.status, beyond.reason) == (
        "too_short",
        "ends before 4 s, where the excerpt begins",
    )


def test_a_channel_counts_from_1_and_must_be_there(tmp_path):
    left_wave, right_wave = speech(seed=1), speech(seed=2)
    path = written(
        tmp_path / "x.wav", np.stack([left_wave, right_wave], axis=1), subtype="FLOAT"
    ).path
    np.testing.assert_array_equal(decode(Excerpt(path, channel=2), RATE).waveform, right_wave)
    third = decode(Excerpt(path, channel=3), RATE)
    assert (third.status, third.reason) == (
        "unreadable",
        "has 2 channels, so none with number 3",
    )


def test_channels_that_differ_need_a_choice_and_alike_ones_do_not(tmp_path):
    wave = speech()
    pair = written(tmp_path / "same.wav", np.stack([wave, wave], axis=1), subtype="FLOAT")
    np.testing.assert_array_equal(decode(pair, RATE).waveform, wave)
    apart = written(tmp_path / "x.wav", np.stack([wave, wave, 0 * wave], axis=1))
    decoding = decode(apart, RATE)
    assert (decoding.status, decoding.channels, decoding.is_passing) == ("unreadable", 3, False)
    assert decoding.reason == "has 3 channels, and channel 3 differs from the first"
    mixed = decode(replace(apart, channel=MIX), RATE)
    assert (mixed.status, mixed.channels) == ("ok", 0)
    np.testing.assert_allclose(mixed.waveform, wave * 2 / 3, atol=2e-4)


def test_what_fails_has_a_status_and_a_reason(tmp_path):
    wave, nan = speech(), speech()
    nan[100:103] = np.nan
    click = np.zeros(RATE, "f4")
    click[5000] = 0.5
    cases = {
        "too_short": (wave[:100], "lasts 0.00625 s, of 0.5 s that the system needs"),
        "silent": (np.full(RATE, 0.25, "f4"), "its level is below -80 dBFS"),
        "no_speech": (click, "0.02 s are as loud as speech"),
        "non_finite": (nan, "3 samples are not finite"),
    }
    for status, (samples, reason) in cases.items():
        recording = written(tmp_path / f"{status}.wav", samples, subtype="FLOAT")
        decoding = decode(recording, RATE, least_seconds=0.5)
        assert (decoding.status, decoding.reason, decoding.waveform.size) == (status, reason, 0)
    (tmp_path / "text.wav").write_text("no sound at all, though its name says so\n" * 20)
    (tmp_path / "empty.wav").write_bytes(b"")
    assert decode(Excerpt(str(tmp_path / "empty.wav")), RATE).reason == "the file is empty"
    for name in ("text.wav", "nosuch.wav", "."):
        decoding = decode(Excerpt(str(tmp_path / name)), RATE)
        assert decoding.status == "unreadable"
        assert decoding.reason
        assert str(tmp_path) not in decoding.reason


@pytest.mark.slow
def test_hours_of_silence_are_not_taken_into_memory(tmp_path):
    path = tmp_path / "long.flac"
    with soundfile.SoundFile(path, "w", 8_000, 1, format="FLAC", subtype="PCM_16") as file:
        for _ in range(100):
            file.write(np.zeros(8_000 * 60, "i2"))
    assert path.stat().st_size < 200_000
    decoding = decode(Excerpt(str(path)), RATE)
    assert decoding.status == "unreadable"
    assert decoding.reason.startswith("lasts 6,000 s, of at most 3,600 s; cut it")
    assert decode(Excerpt(str(path), start=10, end=12), RATE).status == "silent"
    assert decode(Excerpt(str(path)), RATE, longest_seconds=7_000).status == "silent"


def test_a_header_that_claims_an_odd_rate_is_not_believed(tmp_path):
    buffer = io.BytesIO()
    soundfile.write(buffer, speech(), RATE, format="WAV")
    for rate in (3, 2_000_000_000):
        path = tmp_path / f"{rate}.wav"
        path.write_bytes(
            buffer.getvalue()[:24] + rate.to_bytes(4, "little") + buffer.getvalue()[28:]
        )
        decoding = decode(Excerpt(str(path)), RATE)
        assert decoding.status == "unreadable"
        assert f"{rate:,} samples per second" in decoding.reason


def test_level_clipping_and_net_speech_are_those_of_the_samples(tmp_path):
    wave = np.zeros(4 * RATE, "f4")
    wave[RATE : 2 * RATE] = 3.0 * speech()
    clipped = np.clip(wave * 8, -1, 1)
    decoding = decode(written(tmp_path / "x.wav", clipped, subtype="FLOAT"), RATE).attributes
    assert tuple(decoding) == ATTRIBUTES
    assert decoding["level"] == pytest.approx(20 * np.log10(clipped.std()), abs=1e-3)
    assert decoding["clipping"] == pytest.approx((np.abs(clipped) >= 0.999).mean())
    assert decoding["net_speech"] == pytest.approx(1.0, abs=0.04)


@pytest.mark.parametrize("edge", [3_400, 7_000])
def test_bandwidth_is_where_the_sound_ends_whatever_the_rate(tmp_path, edge):
    wave = speech(4.0, 2 * edge)
    wide = soxr.resample(wave, 2 * edge, 48_000)
    decoding = decode(written(tmp_path / "x.wav", wide, 48_000, subtype="FLOAT"), RATE).attributes
    assert decoding["bandwidth"] == pytest.approx(edge, rel=0.06)
    full = decode(written(tmp_path / "y.wav", speech(4.0, 48_000), 48_000), RATE).attributes
    assert full["bandwidth"] == pytest.approx(24_000, rel=0.02)


def test_attributes_do_not_depend_on_blocks(tmp_path, monkeypatch):
    recording = written(tmp_path / "x.wav", speech(3.0), subtype="FLOAT")
    decoding = decode(recording, 8_000)
    monkeypatch.setattr("parivox.embedding.audio._CHUNK_SAMPLES", 777)
    blockwise_decoding = decode(recording, 8_000)
    np.testing.assert_allclose(blockwise_decoding.waveform, decoding.waveform, atol=1e-6)
    for name in ATTRIBUTES:
        assert blockwise_decoding.attributes[name] == pytest.approx(
            decoding.attributes[name], rel=1e-5
        )


def test_a_file_that_changes_is_hashed_again(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    first_hash = audio_sha256(str(path))
    path.write_bytes(b"another")
    assert len(first_hash) == 64
    assert audio_sha256(str(path)) != first_hash
