"""Checkpoints of every published container load; anything else is one sentence."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

from parivox.embedding.systems.published import PUBLISHED, load_published
from parivox.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def torch(optional):
    return optional("torch")


@pytest.fixture(scope="module")
def light(torch):
    """A seeded state of ResNetSE34L."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = importlib.import_module("parivox.embedding.systems.published.resnets")
        return module.ResNetSE34L(512, deviation=False).state_dict()


@pytest.fixture
def saved(torch, tmp_path):
    def save(content, **save_options):
        path = tmp_path / "weights.model"
        torch.save(content, path, **save_options)
        return path

    return save


def voice(seconds=1.0):
    return (0.1 * np.random.default_rng(3).standard_normal(int(16_000 * seconds))).astype(
        np.float32
    )


def prefixed(state, prefix):
    return {prefix + key: value for key, value in state.items()}


CONTAINERS = {
    "bare": lambda state, extra: state,
    "legacy": lambda state, extra: prefixed(state, "__S__.") | {"__L__.w": extra},
    "multi-GPU": lambda state, extra: (
        prefixed(state, "module.__S__.") | {"module.__L__.fc.weight": extra}
    ),
    "model": lambda state, extra: {"model": state, "epoch": 3},
    "model_state_dict": lambda state, extra: {
        "model_state_dict": prefixed(state, "__S__.") | {"__L__.b": extra},
        "optimizer_state_dict": {"state": {}, "param_groups": [{"lr": 0.1}]},
        "scheduler_state_dict": {},
        "epoch": 3,
    },
    "with torchaudio's constants": lambda state, extra: (
        prefixed(state, "__S__.")
        | {"__S__.torchfb.spectrogram.window": extra, "__S__.torchfb.mel_scale.fb": extra}
    ),
    "speaker_encoder": lambda state, extra: (
        prefixed(state, "speaker_encoder.")
        | {"speaker_encoder.torchfbank.0.flipped_filter": extra, "speaker_loss.weight": extra}
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("zipped", [True, False])
def test_every_container_gives_the_same_network(torch, light, saved, container, zipped):
    checkpoint = CONTAINERS[container](light, torch.zeros(400))
    path = saved(checkpoint, _use_new_zipfile_serialization=zipped)
    system = load_published("resnetse34l", path)
    loaded = system.network.state_dict()
    assert loaded.keys() == light.keys()
    assert all(torch.equal(loaded[key], light[key]) for key in light)
    assert system.name == "resnetse34l"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert system.provenance["weights_sha256"] == digest
    assert system.provenance["parameters"] == 1_437_078


def test_half_precision_is_widened(torch, light, saved):
    half = {key: v.half() if v.is_floating_point() else v for key, v in light.items()}
    system = load_published("resnetse34l", saved(half))
    assert {p.dtype for p in system.network.parameters()} == {torch.float32}
    assert np.isfinite(system.embed([voice()])).all()


def without(state, *keys):
    return {key: value for key, value in state.items() if key not in keys}


WRONG = {
    "lacks 'fc.bias' of shape (512,);": lambda s, t: without(s, "fc.bias"),
    "lacks 'bn1.weight' of shape (16,) (and 1 more);": (
        lambda s, t: without(s, "bn1.weight", "bn1.bias")
    ),
    "contains the unknown 'fc2.weight' of shape (3, 4);": (
        lambda s, t: s | {"fc2.weight": t.zeros(3, 4)}
    ),
    "contains 'conv1.weight' of shape (16, 1, 5, 5), expected (16, 1, 7, 7);": (
        lambda s, t: s | {"conv1.weight": t.zeros(16, 1, 5, 5)}
    ),
    "contains 'fc.weight' of shape (512,), expected (512, 128);": (
        lambda s, t: s | {"fc.weight": t.zeros(512)}
    ),
    "lacks 'fc.bias' of shape (512,); contains 'attention' of shape (3, 1), expected (128, 1);": (
        lambda s, t: without(s, "fc.bias") | {"attention": t.zeros(3, 1)}
    ),
    "'fc.bias' contains torch.int64, expected torch.float32;": (
        lambda s, t: s | {"fc.bias": t.zeros(512, dtype=t.int64)}
    ),
    "'fc.bias' contains values that are not finite; download the file again": (
        lambda s, t: s | {"fc.bias": t.full((512,), float("nan"))}
    ),
    "'epoch' is int, expected a tensor": lambda s, t: s | {"epoch": 3},
    "contains 'fc.bias' twice, the second time as '__S__.fc.bias'": (
        lambda s, t: s | {"__S__.fc.bias": t.zeros(512)}
    ),
    "contains keys of an unknown system, such as 'a.weight', expected ResNetSE34L (resnetse34l);": (
        lambda s, t: {"a.weight": t.zeros(1)}
    ),
    "contains ECAPA-TDNN (TaoRuijie) (ecapa), expected ResNetSE34L (resnetse34l); name the": (
        lambda s, t: {"fc6.weight": t.zeros(192, 3072)}
    ),
    "contains list, expected a state dict": lambda s, t: [t.zeros(1)],
    "contains dict, expected a state dict": lambda s, t: {},
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_wrong_is_named(torch, light, saved, sentence):
    path = saved(WRONG[sentence](dict(light), torch))
    with pytest.raises(DataError) as error_info:
        load_published("resnetse34l", path)
    assert sentence in str(error_info.value)
    assert str(error_info.value).startswith(str(path))


class Runs:
    def __reduce__(self):
        return os.system, ("touch ran",)


def test_code_in_a_file_is_not_run(torch, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = saved({"fc.weight": Runs()})
    with pytest.raises(DataError, match="not a checkpoint that torch can read as tensors only"):
        load_published("resnetse34l", path)
    assert not (tmp_path / "ran").exists()


def test_damaged_files_are_sentences(light, saved, tmp_path):
    content = saved(light).read_bytes()
    for number, damaged in enumerate(
        [b"", b"text", content[:100], content[: len(content) // 2], content[:-30], content[100:]]
    ):
        path = tmp_path / f"{number}.model"
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="not a checkpoint that torch can read"):
            load_published("resnetse34l", path)
    with pytest.raises(DataError, match="file not found"):
        load_published("resnetse34l", tmp_path / "missing.model")
    with pytest.raises(DataError, match="is a folder"):
        load_published("resnetse34l", tmp_path)


def test_names_that_are_not_known(tmp_path, light, saved):
    with pytest.raises(ConfigError, match="no system 'eresnet2'; did you mean 'eres2net"):
        load_published("eresnet2", tmp_path)
    with pytest.raises(ConfigError, match="no front end 'kaldi40'; did you mean"):
        load_published("campplus", tmp_path, frontend="kaldi40")
    with pytest.raises(ConfigError, match="clova40 makes 40 features per frame, but CAM"):
        load_published("campplus", tmp_path, frontend="clova40")
    with pytest.raises(
        ConfigError, match="no device 'abacus' is available to torch; leave device out"
    ):
        load_published("resnetse34l", saved(light), device="abacus")


def test_without_torch_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"needs torch; install it with: pip install 'parivox\["):
        load_published("eres2net", tmp_path)


@pytest.mark.slow
def test_nothing_is_imported_before_it_is_asked_for():
    code = (
        "import sys, parivox.embedding.systems.published as p; p.PUBLISHED['ecapa'];"
        "sys.exit(bool({'torch', 'onnx', 'onnxruntime', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_catalogue_is_whole():
    assert list(PUBLISHED) == [
        "resnetse34l",
        "resnetse34v2",
        "ecapa",
        "ecapa-speechbrain",
        "campplus",
        "eres2net",
        "eres2netv2",
    ]
    assert len({system.telling for system in PUBLISHED.values()}) == len(PUBLISHED)
