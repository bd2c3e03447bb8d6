"""Front ends against the rules of the tools whose networks they serve, computed by other means."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from parivox.embedding.frontends import FRONTENDS, hz_of_mel, mel_of_hz
from parivox.errors import DataError

RATE = 16_000
SPEECH = Path(__file__).parents[3] / "shared" / "data" / "speechocean762" / "audio"
TORCHAUDIO = {
    # pre-emphasis, bins, lowest and highest Hz; SYSTEMS: how far float32 takes them apart
    "clova40": (False, 40, 0.0, 8000.0, 7e-5),
    "clova64": (True, 64, 0.0, 8000.0, 9e-5),
    "ecapa80": (True, 80, 20.0, 7600.0, 1.3e-4),
}


def voice(seconds, seed=0):
    """Harmonics that glide under an envelope of syllables, and noise 40 dB below."""
    random = np.random.default_rng(seed)
    seconds_axis = np.arange(int(seconds * RATE)) / RATE
    phase = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 0.7 * seconds_axis)) / RATE
    harmonics = sum(np.sin(k * phase + random.uniform(0, 6)) / k for k in range(1, 40))
    envelope = 0.1 * (0.2 + np.sin(2 * np.pi * 2.5 * seconds_axis) ** 2)
    return (envelope * harmonics + 1e-3 * random.standard_normal(seconds_axis.size)).astype(
        np.float32
    )


@pytest.fixture(scope="module")
def torch(optional):
    return optional("torch")


def spectrum(torch, samples, points, mode):
    """torch's own transform: of `points`, in frames of 400 every 160, power."""
    window = torch.hamming_window(400, dtype=samples.dtype)
    complex_ = torch.stft(
        samples, points, 160, 400, window, center=True, pad_mode=mode, return_complex=True
    )
    return complex_.abs() ** 2


def torchaudio_rules(torch, waveform, name, dtype):
    """As the published systems' front ends compute it: (frame, bin), before normalisation."""
    emphasised, bins, low, high, _ = TORCHAUDIO[name]
    samples = torch.from_numpy(waveform).to(dtype)
    if emphasised:
        kernel = torch.tensor([[[-0.97, 1.0]]], dtype=dtype)
        padded = torch.nn.functional.pad(samples[None, None], (1, 0), mode="reflect")
        samples = torch.nn.functional.conv1d(padded, kernel)[0, 0]
    filters = np.zeros((257, bins))
    mels = np.linspace(
        2595 * math.log10(1 + low / 700), 2595 * math.log10(1 + high / 700), bins + 2
    )
    hertz = 700 * (10 ** (mels / 2595) - 1)
    for band in range(bins):
        lower_edge, centre, upper_edge = hertz[band : band + 3]
        for k in range(257):
            f = k * RATE / 512
            if lower_edge < f <= centre:
                filters[k, band] = (f - lower_edge) / (centre - lower_edge)
            elif centre < f < upper_edge:
                filters[k, band] = (upper_edge - f) / (upper_edge - centre)
    mel = spectrum(torch, samples, 512, "reflect").T @ torch.from_numpy(filters).to(dtype)
    return torch.log(mel + 1e-6)


def normalised(torch, features, name):
    if name == "ecapa80":
        return features - features.mean(dim=0)
    norm = torch.nn.InstanceNorm1d(features.shape[1])
    return norm(features.T[None])[0].T


@pytest.mark.parametrize("name", TORCHAUDIO)
@pytest.mark.parametrize("seconds", [0.25, 3.0, 45.0])  # the last is more than one block of frames
def test_torchaudios_rules(torch, name, seconds):
    waveform = voice(seconds)
    features = FRONTENDS[name](waveform)
    exact = normalised(torch, torchaudio_rules(torch, waveform, name, torch.float64), name)
    np.testing.assert_allclose(features, exact.numpy(), rtol=0, atol=2e-6)
    single = normalised(torch, torchaudio_rules(torch, waveform, name, torch.float32), name)
    assert np.abs(features - single.numpy()).max() < TORCHAUDIO[name][-1]
    assert features.shape == (len(waveform) // 160 + 1, TORCHAUDIO[name][1])


def kaldis(knf, waveform):
    """Kaldi's features by kaldi-native-fbank, as 3D-Speaker asks for them."""
    options = knf.FbankOptions()
    options.frame_opts.dither = 0.0
    options.frame_opts.snip_edges = True
    options.mel_opts.num_bins = 80
    options.mel_opts.high_freq = 0.0
    kaldi = knf.OnlineFbank(options)
    kaldi.accept_waveform(RATE, waveform.tolist())
    kaldi.input_finished()
    features = np.stack([kaldi.get_frame(i) for i in range(kaldi.num_frames_ready)])
    return features - features.mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.025, 3.0, 45.0])
def test_kaldis_rules(optional, seconds):
    waveform = voice(seconds)
    expected = kaldis(optional("kaldi_native_fbank"), waveform)
    features = FRONTENDS["kaldi80"](waveform)
    assert features.shape == expected.shape == (1 + (len(waveform) - 400) // 160, 80)
    assert np.abs(features - expected).max() < 9e-4


@pytest.mark.skipif(not SPEECH.is_dir(), reason="speechocean762 is not beside the repository")
def test_real_recordings(torch, optional):
    """A cell 100 dB below its frame is rounding in float32, so the rest is held to a share."""
    import soundfile

    knf = optional("kaldi_native_fbank")
    apart = {name: [] for name in (*TORCHAUDIO, "kaldi80")}
    for path in sorted(SPEECH.rglob("*.opus"))[::200]:
        waveform, _ = soundfile.read(path, dtype="float32")
        for name in TORCHAUDIO:
            rules = torchaudio_rules(torch, waveform, name, torch.float64)
            exact = normalised(torch, rules, name).numpy()
            apart[name].append(np.abs(FRONTENDS[name](waveform) - exact).ravel())
        features = FRONTENDS["kaldi80"](waveform)
        apart["kaldi80"].append(np.abs(features - kaldis(knf, waveform)).ravel())
    for name in TORCHAUDIO:
        assert np.concatenate(apart[name]).max() < 2e-6
    assert np.quantile(np.concatenate(apart["kaldi80"]), 0.9999) < 9e-4


@pytest.mark.parametrize("seconds", [0.25, 3.0, 45.0])
def test_speechbrains_rules(torch, seconds):
    waveform = voice(seconds)
    mels = torch.linspace(0, 2595 * math.log10(1 + 8000 / 700), 82, dtype=torch.float64)
    hertz = 700 * (10 ** (mels / 2595) - 1)
    # the distance to the next corner is the width on both sides of a centre
    widths = (hertz[1:] - hertz[:-1])[:-1]
    slope = (torch.linspace(0, 8000, 201, dtype=torch.float64)[:, None] - hertz[1:-1]) / widths
    filters = torch.clamp(torch.minimum(1 + slope, 1 - slope), min=0)
    power = spectrum(torch, torch.from_numpy(waveform).double(), 400, "constant")
    decibels = 10 * torch.log10(torch.clamp(power.T @ filters, min=1e-10))
    decibels = torch.maximum(decibels, decibels.max() - 80)
    expected = (decibels - decibels.mean(dim=0)).numpy()
    np.testing.assert_allclose(FRONTENDS["speechbrain80"](waveform), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["kaldi80", "speechbrain80"])
def test_a_louder_recording_has_the_same_features(name):
    waveform = voice(2.0) + 0.02 * np.random.default_rng(1).standard_normal(2 * RATE)
    quiet, loud = FRONTENDS[name](waveform), FRONTENDS[name](4 * waveform)
    assert np.abs(quiet - loud).max() < 0.02
    assert np.abs(quiet).max() > 1


@pytest.mark.parametrize("name", ["clova40", "clova64"])
def test_instance_normalisation(name):
    features = FRONTENDS[name](voice(2.0)).astype(np.float64)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(features.var(axis=0), 1, atol=1e-3)


@pytest.mark.parametrize("name", FRONTENDS)
def test_silence_has_finite_features_and_names_hold(name):
    frontend = FRONTENDS[name]
    features = frontend(np.zeros(RATE, np.float32))
    assert frontend.name == name
    assert features.dtype == np.float32
    assert features.shape[1] == frontend.bins
    assert np.isfinite(features).all()


@pytest.mark.parametrize("name", ["kaldi80", "clova40", "speechbrain80"])
def test_too_little_and_too_many_channels(name):
    with pytest.raises(DataError, match=f"{name} got 399 samples and needs at least 400"):
        FRONTENDS[name](np.zeros(399, np.float32))
    with pytest.raises(DataError, match=r"of shape \(2, 800\); give it one channel"):
        FRONTENDS[name](np.zeros((2, 800), np.float32))


def test_mel_and_back():
    hertz = np.linspace(0, 8000, 101)
    np.testing.assert_allclose(hz_of_mel(mel_of_hz(hertz)), hertz, atol=1e-9)
