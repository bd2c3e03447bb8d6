"""Networks written as ONNX run without torch and give the same within 1e-4."""

from __future__ import annotations

import json

import numpy as np
import pytest

from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems.published import PUBLISHED, PublishedSystem
from parivox.embedding.systems.published import export as exporting
from parivox.embedding.systems.published.export import export_onnx
from parivox.errors import ConfigError, DataError

FORMS = [
    ("resnetse34l", {}),
    ("resnetse34v2", {}),
    ("ecapa", {"conv1.weight": (512, 80, 5)}),
    ("ecapa-speechbrain", {}),
    ("campplus", {}),
    ("eres2net", {}),
    ("eres2netv2", {}),
]


@pytest.fixture(scope="module")
def torch(optional):
    return optional("torch")


def seeded(torch, name, shapes):
    """A system with values by which no layer fades or explodes."""
    entry = PUBLISHED[name]
    network = entry.build(shapes).to_empty(device="cpu")
    random = torch.Generator().manual_seed(6)
    for key, value in network.state_dict().items():
        if key.endswith("num_batches_tracked"):
            value.zero_()
        elif key.endswith("running_var") or (key.endswith("weight") and value.ndim == 1):
            value.uniform_(0.7, 1.3, generator=random)
        else:
            scale = (1.0 / max(1, value[0].numel())) ** 0.5 if value.ndim > 1 else 0.1
            value.normal_(0.0, scale, generator=random)
    front = FRONTENDS[entry.frontend]
    return PublishedSystem(
        name, network, front, entry.recipe, device="cpu", provenance={"weights_sha256": "ab"}
    )


@pytest.mark.parametrize(("name", "shapes"), FORMS)
def test_onnxruntime_gives_what_torch_gives(torch, optional, tmp_path, name, shapes):
    runtime = optional("onnxruntime")
    system = seeded(torch, name, shapes)
    path = tmp_path / "model.onnx"
    assert export_onnx(system, path) <= 1e-4
    assert [node.name for node in tmp_path.iterdir()] == ["model.onnx"]
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    assert [node.name for node in session.get_inputs()] == ["features"]
    metadata = session.get_modelmeta().custom_metadata_map
    recipe = json.loads(metadata.pop("parivox.recipe"))
    assert recipe["crops"] == PUBLISHED[name].recipe.crops
    assert metadata == {
        "parivox.name": name,
        "parivox.frontend": PUBLISHED[name].frontend,
        "parivox.sample_rate": "16000",
        "parivox.scoring": PUBLISHED[name].recipe.scoring,
        "parivox.weights_sha256": "ab",
    }
    noise = np.random.default_rng(9).standard_normal((2, 16_000 * 2)).astype(np.float32)
    features = np.stack([system.frontend(0.1 * node) for node in noise])
    (vectors,) = session.run(None, {"features": features})
    with torch.inference_mode():
        expected = system.network(torch.from_numpy(features)).numpy()
    assert np.abs(expected[0] - expected[1]).max() > 1e-3 * np.abs(expected).max()
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_a_file_that_differs_is_not_written(torch, tmp_path, monkeypatch):
    system = seeded(torch, "resnetse34l", {})
    traced = exporting._trace

    def of_other_weights(system, aside):
        bias = system.network.fc.bias
        original_bias = bias.detach().clone()
        try:
            with torch.no_grad():
                bias += 0.1
            traced(system, aside)
        finally:
            with torch.no_grad():
                bias.copy_(original_bias)

    monkeypatch.setattr(exporting, "_trace", of_other_weights)
    with pytest.raises(DataError, match=r"would differ from torch by .*nothing was written"):
        export_onnx(system, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(torch, tmp_path):
    system = seeded(torch, "resnetse34l", {})
    with pytest.raises(ConfigError, match="cannot be written"):
        export_onnx(system, tmp_path / "no" / "model.onnx")


def test_what_is_not_installed_is_named(torch, tmp_path, monkeypatch):
    system = seeded(torch, "resnetse34l", {})
    for package, extra in (("onnxruntime", "onnx"), ("onnx", "torch")):
        monkeypatch.setitem(__import__("sys").modules, package, None)
        with pytest.raises(ConfigError, match=rf"needs {package}, .*'parivox\[{extra}\]'"):
            export_onnx(system, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
