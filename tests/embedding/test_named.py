"""What stands after ``--system``: every form of it, and sentences for what is none."""

import importlib.util
import sys

import numpy as np
import pytest

from parivox.embedding.systems import SCORINGS, EmbeddingSystem, VerifyingSystem, named
from parivox.embedding.systems.named import known_systems, load, system_of
from parivox.errors import ConfigError, DataError
from parivox.scoring.vectors import COMPARISONS

MODULE = '''
import numpy as np

def embed(waveform, sample_rate):
    return np.array([len(waveform), sample_rate, waveform.sum(), 1.0])

def telephone(waveform, sample_rate):
    return np.ones(3)
telephone.sample_rate, telephone.scoring = 8_000, "euclidean"
telephone.provenance = {"weights_sha256": "abc"}

def batched(waveforms, sample_rate):
    return np.array([[len(one), sample_rate] for one in waveforms])
batched.batched = True

def crops(waveform, sample_rate):
    return np.outer([1, 2, 3], [4, 5])

class Encoder:
    name, sample_rate, scoring, least_seconds = "mine", 16_000, "cosine", 0.1
    provenance = {}
    def embed(self, waveforms):
        return np.ones((len(waveforms), 1, 4), np.float32)

class Verifier:
    name, sample_rate, least_seconds, provenance = "box", 16_000, 0.1, {}
    def enrol(self, recordings):
        return len(recordings)
    def verify(self, handle, recording):
        return 0.5

class Half:
    name = "half"
    def embed(self, waveforms):
        return None

class Broken:
    def __init__(self):
        raise OSError("no weights")

def make():
    return Encoder()

ready, table, loose = Encoder(), {"a": 1}, lambda waveform: 1
ready.inner = ready

class Callable:
    """As torch modules are: an object that is called."""
    sample_rate = 16_000
    def __call__(self, waveform, sample_rate):
        return np.ones(2)
called = Callable()

class OnDevice(Encoder):
    """As torch modules that are moved."""
    def __init__(self, device):
        self.provenance = {"device": device}

class Silent(Encoder):
    def __init__(self, device):
        pass

def placed(device="cuda"):
    return lambda waveform, sample_rate: np.ones(len(device))

def fails(waveform, sample_rate):
    raise ValueError("kernel size\\nis greater")
def text(waveform, sample_rate):
    return "a vector"
def nothing(waveform, sample_rate):
    return None
def ragged(waveform, sample_rate):
    return [[1.0], [1.0, 2.0]]
def growing(waveform, sample_rate):
    return np.ones(len(waveform))
def cube(waveform, sample_rate):
    return np.ones((2, 2, 2))
def lost(waveforms, sample_rate):
    return np.ones((len(waveforms) + 1, 4))
lost.batched = True
'''
WAVES = [np.full(n, 0.5, np.float32) for n in (10, 30)]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A working folder with a module `encoders`, not on any path."""
    (tmp_path / "encoders.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "encoders", raising=False)
    yield tmp_path
    sys.modules.pop("encoders", None)


def test_no_file_of_the_working_folder_stands_for_what_is_installed(home):
    (home / "this.py").write_text("raise SystemExit('not the one of Python')")
    load("encoders:embed")
    assert str(home) == sys.path[-1]
    assert str(home) not in importlib.util.find_spec("this").origin


def test_functions_of_one_waveform(home):
    system = load("encoders:embed")
    assert isinstance(system, EmbeddingSystem)
    assert (system.name, system.sample_rate, system.scoring) == ("encoders:embed", 16_000, "cosine")
    np.testing.assert_array_equal(
        system.embed(WAVES), [[[10, 16_000, 5, 1]], [[30, 16_000, 15, 1]]]
    )
    assert load("encoders:embed", sample_rate=8_000).embed(WAVES)[0, 0, 1] == 8_000
    assert system.embed([]).shape[0] == 0


def test_what_takes_a_device_is_given_it_and_it_is_recorded(home):
    for device in ("cpu", "cuda"):
        assert load("encoders:OnDevice", device=device).provenance == {"device": device}
        system = load("encoders:placed", device=device)
        assert system.provenance["device"] == device
        assert system.embed(WAVES).shape == (2, 1, len(device))
    assert load("encoders:OnDevice").provenance == {"device": "cpu"}
    assert "device" not in load("encoders:embed").provenance


@pytest.mark.parametrize(
    ("text", "device", "words"),
    [
        (
            "encoders:embed",
            "cuda",
            r"embed does not accept device \(cuda\); leave out device, or name a cl",
        ),
        ("encoders:ready", "cuda", "ready does not accept device"),
        (
            "encoders:Silent",
            "cuda",
            "its provenance does not name the device; add 'device': 'cuda'",
        ),
        ("encoders:OnDevice", "gpu", "device='gpu' is not known; give cpu or cuda"),
        ("ge2e", "cuda", r"system ge2e does not accept device \(cuda\); leave it out"),
    ],
)
def test_a_device_that_cannot_be_had_is_refused(home, text, device, words):
    with pytest.raises(ConfigError, match=words):
        load(text, device=device)


def test_functions_say_what_they_take(home):
    system = load("encoders:telephone")
    assert (system.sample_rate, system.scoring) == (8_000, "euclidean")
    assert system.provenance["weights_sha256"] == "abc"
    before = load("encoders:embed").provenance
    assert load("encoders:embed").provenance == before
    sys.modules.pop("encoders")
    (home / "encoders.py").write_text(MODULE + "# another day\n")
    assert load("encoders:embed").provenance != before


def test_batches_and_crops(home):
    np.testing.assert_array_equal(
        load("encoders:batched").embed(WAVES), [[[10, 16_000]], [[30, 16_000]]]
    )
    assert load("encoders:crops").embed(WAVES).shape == (2, 3, 2)


def test_tensors_are_vectors_too(home, optional):
    torch = optional("torch")
    (home / "nets.py").write_text(
        "import torch\nlayer = torch.nn.Linear(1, 5)\n"
        "def embed(waveform, rate):\n    return layer(torch.from_numpy(waveform[:1]))[None, None]\n"
    )
    vectors = load("nets:embed").embed(WAVES)
    assert vectors.shape == (2, 1, 5)
    assert not torch.is_tensor(vectors)


@pytest.mark.parametrize("name", ["Encoder", "make", "ready", "ready.inner"])
def test_objects_classes_and_makers(home, name):
    system = load(f"encoders:{name}")
    assert isinstance(system, EmbeddingSystem)
    assert system.name == "mine"


def test_objects_that_are_called(home):
    assert load("encoders:called").embed(WAVES).shape == (2, 1, 2)


def test_verifying_systems(home):
    system = load("encoders:Verifier")
    assert isinstance(system, VerifyingSystem)
    assert system.verify(system.enrol(WAVES), WAVES[0]) == 0.5


def test_a_scoring_that_is_not_known_is_refused_before_anything_runs(home):
    def function(waveform, rate):
        return waveform[:2]

    assert set(SCORINGS) == set(COMPARISONS)
    function.scoring = "crops"
    with pytest.raises(ConfigError, match=r"mine: scoring 'crops' is not known; give cosine"):
        system_of(function, "mine")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Half", "has embed, but lacks sample_rate, scoring, least_seconds, provenance"),
        ("Broken", "cannot be created: OSError: no weights"),
        ("table", r"is a dict; name a function of \(waveform, sample_rate\)"),
        ("loose", "is a function of one argument"),
        ("embeds", r"encoders \(.*encoders.py\) has no 'embeds'; did you mean 'embed"),
    ],
)
def test_objects_that_are_no_system(home, name, words):
    with pytest.raises(ConfigError, match=words):
        load(f"encoders:{name}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fails", r"failed on 10 samples at 16,000 Hz: ValueError: kernel size\\x0ais greater"),
        ("text", "returned an array of <U8, not of real numbers"),
        ("nothing", "returned an array of object, not of real numbers"),
        ("ragged", "returned a list that is not an array"),
        ("growing", r"returned vectors of different shapes, \(1, 10\) and \(1, 30\)"),
        ("cube", r"returned an array of shape \(2, 2, 2\); return a vector"),
        ("lost", r"returned an array of shape \(3, 4\); return .* a row for each waveform"),
    ],
)
def test_functions_that_give_something_else(home, name, words):
    with pytest.raises(ConfigError, match=words):
        load(f"encoders:{name}").embed(WAVES)


def test_vectors_keep_their_size_from_batch_to_batch(home):
    system = load("encoders:growing")
    system.embed(WAVES[:1])
    with pytest.raises(ConfigError, match="vectors of different shapes"):
        system.embed(WAVES[1:])


def test_modules_that_cannot_be_imported(home):
    with pytest.raises(ConfigError, match="module nowhere cannot be imported"):
        load("nowhere:embed")
    (home / "stuck.py").write_text("1 / 0")
    with pytest.raises(ConfigError, match=r"stuck cannot be imported \(ZeroDivisionError"):
        load("stuck:embed")


def test_installed_packages_register_systems(home, monkeypatch):
    folder = home / "theirs-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[parivox.systems]\ntheirs = encoders:Encoder\nlost = gone.away:x\n"
    )
    monkeypatch.syspath_prepend(str(home))
    assert load("theirs").name == "mine"
    system_by_name = {system.name: system for system in known_systems()}
    assert system_by_name["theirs"].runs
    assert system_by_name["theirs"].what == "registered by theirs"
    assert not system_by_name["lost"].runs
    with pytest.raises(ConfigError, match=r"system lost of gone\.away:x cannot be loaded"):
        load("lost")
    with pytest.raises(ConfigError, match="nearest: theirs"):
        load("their")


def test_published_systems_by_name_and_checkpoint(home, optional):
    optional("torch")
    (home / "x.ckpt").write_bytes(b"nothing")
    for arguments in ({"text": "eres2net:x.ckpt"}, {"text": "eres2net", "weights": "x.ckpt"}):
        with pytest.raises(DataError, match=r"x\.ckpt"):
            load(**arguments)
    with pytest.raises(ConfigError, match="names a file, and weights another"):
        load("eres2net:x.ckpt", weights="y.ckpt")
    with pytest.raises(ConfigError, match="eres2net needs the checkpoint that its authors publish"):
        load("eres2net")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"system='' is not known; give ge2e, model\.onnx"),
        ("ge2", "nearest: ge2e; give it as system ge2e$"),
        ("ecappa:w.ckpt", r"nearest: ecapa, .*; give it as system ecapa:CHECKPOINT"),
        ("x-vector", "is not known; give ge2e"),
        ("gone.onnx", "file not found"),
        (
            "kept.npz",
            r"contains embeddings, not a system; .* parivox score TRIALS --embeddings kept",
        ),
        ("folder", "contains embeddings, not a system"),
        (
            "weights.ckpt",
            "is a file whose name does not show its system; name the system, for example r",
        ),
    ],
)
def test_what_names_nothing(home, text, words):
    (home / "folder").mkdir()
    for name in ("kept.npz", "weights.ckpt"):
        (home / name).write_bytes(b"")
    with pytest.raises(ConfigError, match=words):
        load(text)


def test_what_to_install_is_said(home, monkeypatch):
    monkeypatch.setattr(named, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"eres2net needs torch: pip install 'parivox\[torch\]'"):
        load("eres2nett")
    system_by_name = {system.name: system for system in known_systems()}
    assert system_by_name["ge2e"].note == "needs soundfile: pip install 'parivox[audio]'"
    assert not system_by_name["campplus:CHECKPOINT"].runs
    assert system_by_name["FILE.onnx"].note == "needs onnxruntime: pip install 'parivox[onnx]'"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (
            "ge2e",
            {"frontend": "kaldi80"},
            r"ge2e does not accept frontend \(kaldi80\); leave it out",
        ),
        ("ge2e", {"sample_rate": 8_000}, "does not accept sample_rate"),
        ("encoders:embed", {"weights": "x"}, "does not accept weights"),
        ("encoders:embed", {"sample_rate": 10}, "the sample rate 10 is not a whole number of Hz"),
        ("encoders:ready", {"sample_rate": 8_000}, "needs 16,000 Hz; leave out sample_rate"),
        ("x.onnx", {"weights": "x"}, "does not accept weights"),
    ],
)
def test_options_that_do_not_go_with_a_system(home, text, options, words):
    with pytest.raises(ConfigError, match=words):
        load(text, **options)


@pytest.mark.parametrize("least", [float("nan"), -5, float("inf"), "1", None])
def test_least_seconds_that_are_no_length_are_refused(least):
    def function(waveform, rate):
        return waveform[:3]

    function.least_seconds = least
    with pytest.raises(
        ConfigError, match=r"system f: least_seconds is .*, not a number of seconds from 0"
    ):
        system_of(function, "f")
