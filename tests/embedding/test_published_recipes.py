"""What the published systems embed of a recording, and that a batch changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems import EmbeddingSystem
from parivox.embedding.systems.published import PUBLISHED, load_published
from parivox.errors import ConfigError, DataError

NAMES = ["resnetse34l", "ecapa", "ecapa-speechbrain", "campplus", "eres2net"]
SHAPES = {"resnetse34l": (10, 512), "ecapa": (6, 192), "campplus": (1, 512)}


@pytest.fixture(scope="module")
def torch(optional):
    return optional("torch")


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    """Where the checkpoint of a system is kept."""
    return tmp_path_factory.mktemp("weights").joinpath


@pytest.fixture(scope="module")
def load(torch, folder_of):
    """A published system with seeded weights."""
    loaded = {}

    def load(name):
        if name not in loaded:
            shapes = {"conv1.weight": (512, 80, 5)} if name == "ecapa" else {}
            network = PUBLISHED[name].build(shapes).to_empty(device="cpu")
            random = np.random.default_rng(5)
            for key, value in network.state_dict().items():
                value.zero_()
                if key.endswith("running_var") or (key.endswith("weight") and value.ndim == 1):
                    value.fill_(1.0)
                elif value.ndim > 1:
                    scale = (2.0 / value[0].numel()) ** 0.5
                    values = scale * random.standard_normal(value.shape)
                    value.copy_(torch.from_numpy(values))
            torch.save(network.state_dict(), folder_of(name))
            loaded[name] = load_published(name, folder_of(name))
        return loaded[name]

    return load


def voice(samples, seed):
    random = np.random.default_rng(seed)
    noise = random.standard_normal(samples)
    tone = np.sin(2 * np.pi * (100 + 50 * seed) * np.arange(samples) / 16_000)
    return (0.05 * noise + 0.1 * tone).astype(np.float32)


@pytest.mark.parametrize("samples", [5_000, 64_239, 64_240, 64_241, 100_003])
def test_ten_crops_of_400_frames(samples):
    audio = np.arange(samples, dtype=np.float32)
    crops = PUBLISHED["resnetse34v2"].recipe.excerpts(audio)
    if samples <= 64_240:  # repeated to one sample more than a crop
        audio = np.pad(audio, (0, 64_241 - samples), mode="wrap")
    starts = [int(start) for start in np.linspace(0, len(audio) - 64_240, 10)]
    assert starts[-1] == len(audio) - 64_240
    np.testing.assert_array_equal(crops, [audio[start : start + 64_240] for start in starts])
    frames = {len(FRONTENDS["clova64"](crop)) for crop in crops[:1]}
    assert frames == {402}


@pytest.mark.parametrize("samples", [5_000, 48_240, 48_241, 100_003])
def test_the_whole_and_five_crops_of_300_frames(samples):
    audio = np.arange(samples, dtype=np.float32)
    full_excerpt, *crops = PUBLISHED["ecapa"].recipe.excerpts(audio)
    np.testing.assert_array_equal(full_excerpt, audio)
    if samples < 48_240:
        audio = np.pad(audio, (0, 48_240 - samples), mode="wrap")
    starts = [int(start) for start in np.linspace(0, len(audio) - 48_240, 5)]
    np.testing.assert_array_equal(crops, [audio[start : start + 48_240] for start in starts])


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_gives_what_each_gives_alone(load, name):
    system = load(name)
    lengths = [24_000, 4_000, 24_000, 70_001]
    waveforms = [voice(samples, seed) for seed, samples in enumerate(lengths)]
    together = system.embed(waveforms)
    alone = np.concatenate([system.embed([waveform]) for waveform in waveforms])
    assert together.dtype == np.float32
    assert together.shape[1:] == SHAPES.get(name, (1, 192))
    scale = np.linalg.norm(together, axis=-1).max()
    assert np.abs(together - alone).max() <= 1e-5 * max(scale, 1.0)
    # and it is the recordings that make the difference
    assert np.abs(together[0] - together[2]).max() > 1e-3 * scale


@pytest.mark.parametrize("frames", [10, 150, 350])
def test_batches_of_any_size_give_the_same(load, monkeypatch, frames):
    system = load("campplus")
    waveforms = [voice(16_000, seed) for seed in range(5)]
    expected = system.embed(waveforms)
    monkeypatch.setattr("parivox.embedding.systems.published._MAX_FRAMES_AT_ONCE", frames)
    np.testing.assert_allclose(system.embed(waveforms), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_systems_keep_the_protocol_and_say_what_they_are(load, name):
    system = load(name)
    assert isinstance(system, EmbeddingSystem)
    assert (system.name, system.sample_rate, system.least_seconds) == (name, 16_000, 0.25)
    assert system.scoring == PUBLISHED[name].recipe.scoring
    assert system.provenance["frontend"] == PUBLISHED[name].frontend
    least = voice(int(system.least_seconds * 16_000), 1)
    assert np.isfinite(system.embed([least])).all()


@pytest.mark.parametrize("name", ["resnetse34l", "ecapa"])
def test_crops_are_scaled_to_length_1_as_published(load, name):
    lengths = np.linalg.norm(load(name).embed([voice(70_000, 1)]), axis=-1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_ecapa_embeds_the_whole_before_its_crops(torch, load):
    system, audio = load("ecapa"), voice(70_000, 1)
    with torch.inference_mode():
        features = torch.from_numpy(FRONTENDS["ecapa80"](audio))[None]
        full_vector = system.network(features)[0].numpy()
    vectors = system.embed([audio])[0]
    np.testing.assert_allclose(vectors[0], full_vector / np.linalg.norm(full_vector), atol=1e-6)
    crop = system.embed([audio[-48_240:]])[0, 0]
    np.testing.assert_allclose(vectors[-1], crop, atol=1e-6)


def test_speechbrains_layout_takes_kaldis_features_as_3d_speaker_trained_it(load, tmp_path, torch):
    published = load("ecapa-speechbrain")
    torch.save(published.network.state_dict(), tmp_path / "w")
    kaldi_system = load_published("ecapa-speechbrain", tmp_path / "w", frontend="kaldi80")
    assert kaldi_system.provenance["frontend"] == "kaldi80"
    audio = [voice(16_000, 1)]
    assert np.abs(kaldi_system.embed(audio) - published.embed(audio)).max() > 1e-3


def test_a_device_without_memory_stops_the_run_and_fails_no_recording(torch, load, monkeypatch):
    system = load("resnetse34l")

    def full(features):
        msg = "CUDA out of memory"
        raise torch.cuda.OutOfMemoryError(msg)

    monkeypatch.setattr(system, "network", full)
    with pytest.raises(
        DataError, match=r"the memory of the device cpu is too small for 10 x 402 fr"
    ):
        system.embed([voice(70_000, 1)])


@pytest.fixture
def cuda(torch):
    """Where there is no such device, nothing can be said of it."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device is here")


ON_CUDA = 1e-4
"""Of the length of a vector, what may lie between devices."""


@pytest.mark.parametrize("name", NAMES)
def test_cuda_gives_what_the_cpu_gives_and_the_same_every_time(cuda, load, folder_of, name):
    cpu_system = load(name)
    cuda_system = load_published(name, folder_of(name), device="cuda")
    assert cuda_system.provenance == cpu_system.provenance | {"device": "cuda"}
    waves = [voice(samples, seed) for seed, samples in enumerate((20_000, 64_000, 64_000, 90_001))]
    cpu_vectors, cuda_vectors = cpu_system.embed(waves), cuda_system.embed(waves)
    away = np.linalg.norm(cpu_vectors - cuda_vectors, axis=-1) / np.linalg.norm(
        cpu_vectors, axis=-1
    )
    assert away.max() <= ON_CUDA
    np.testing.assert_array_equal(cuda_system.embed(waves), cuda_vectors)


def test_cuda_where_there_is_none_is_refused(torch, load, folder_of):
    if torch.cuda.is_available():
        pytest.skip("a CUDA device is here")
    load("resnetse34l")
    with pytest.raises(ConfigError, match="no CUDA device is available to torch; leave device out"):
        load_published("resnetse34l", folder_of("resnetse34l"), device="cuda")
