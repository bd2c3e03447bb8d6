"""ONNX files: what they take is known or asked for, and never guessed wrongly."""

import contextlib
import hashlib
import json
import sys

import numpy as np
import pytest

from parivox.cli import main
from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems.onnx import load_onnx
from parivox.errors import ConfigError, DataError, ParivoxError

BINS, SIZE = 80, 6
FRONT = FRONTENDS["kaldi80"]


@pytest.fixture(scope="module")
def onnx(optional):
    optional("onnxruntime")
    return optional("onnx")


@pytest.fixture(scope="module")
def waveforms():
    draw = np.random.default_rng(5)
    return [draw.normal(0, 0.1, n).astype(np.float32) for n in (16_000, 8_000, 16_000, 20_001)]


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(1).normal(0, 1, (BINS, SIZE)).astype(np.float32)


@pytest.fixture
def make(onnx, weights, tmp_path):
    """Write an encoder: the mean over time, times a matrix."""

    def write_model(axes="rtb", *, sizes=None, lengths=None, extra_output=False, metadata=None):
        helper, proto = onnx.helper, onnx.TensorProto
        names = {"r": "batch", "t": "time", "b": BINS, "1": 1} | (sizes or {})
        shape = [names[axis] for axis in axes]
        time = axes.index("t")
        nodes = [helper.make_node("ReduceMean", ["x"], ["mean"], axes=[time], keepdims=0)]
        if "1" in axes:
            nodes.append(helper.make_node("Squeeze", ["mean", "one"], ["flat"]))
        output_name = "product" if lengths else "y"
        nodes.append(
            helper.make_node("MatMul", ["flat" if "1" in axes else "mean", "w"], [output_name])
        )
        inputs = [helper.make_tensor_value_info("x", proto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info("y", proto.FLOAT, ["batch", SIZE])]
        if lengths:
            inputs.append(helper.make_tensor_value_info("n", lengths, ["batch"]))
            nodes.append(helper.make_node("Cast", ["n"], ["float"], to=proto.FLOAT))
            nodes.append(helper.make_node("Unsqueeze", ["float", "one"], ["column"]))
            nodes.append(helper.make_node("Add", ["product", "column"], ["y"]))
        if extra_output:
            outputs.insert(0, helper.make_tensor_value_info("mean", proto.FLOAT, None))
        graph = helper.make_graph(
            nodes, "encoder", inputs, outputs,
            [onnx.numpy_helper.from_array(weights, "w"),
             onnx.numpy_helper.from_array(np.array([1]), "one")],
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        helper.set_model_props(model, metadata or {})
        onnx.save(model, tmp_path / "model.onnx")
        return tmp_path / "model.onnx"

    return write_model


def expected(waveforms, weights):
    return np.stack([FRONT(waveform).mean(axis=0) @ weights for waveform in waveforms])[:, None]


@pytest.mark.parametrize("axes", ["rtb", "rbt", "r1tb", "r1bt"])
def test_features_in_any_order_of_axes(make, waveforms, weights, axes):
    system = load_onnx(make(axes), frontend="kaldi80")
    vectors = system.embed(waveforms)
    np.testing.assert_allclose(vectors, expected(waveforms, weights), rtol=1e-4, atol=1e-4)
    alone = np.concatenate([system.embed([waveform]) for waveform in waveforms])
    np.testing.assert_allclose(vectors, alone, atol=1e-5)
    assert (system.sample_rate, system.scoring, system.name) == (16_000, "cosine", "model.onnx")


def test_files_that_take_one_recording_at_a_time(make, waveforms, weights):
    system = load_onnx(make("rtb", sizes={"r": 1}), frontend="kaldi80")
    vectors = system.embed(waveforms)
    np.testing.assert_allclose(vectors, expected(waveforms, weights), rtol=1e-4, atol=1e-4)


def test_the_file_says_what_it_takes(make, waveforms):
    recipe = {"scoring": "crops-euclidean", "whole": False, "crops": 3, "crop_samples": 4_000,
              "least_samples": 4_001, "unit": True}  # fmt: skip
    path = make(metadata={
        "parivox.frontend": "kaldi80", "parivox.recipe": json.dumps(recipe), "author": "me",
        "parivox.weights_sha256": "of where it came from",
    })  # fmt: skip
    system = load_onnx(path)
    assert system.scoring == "crops-euclidean"
    vectors = system.embed(waveforms)
    assert vectors.shape == (4, 3, SIZE)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1, atol=1e-6)
    crops = [waveforms[0][start : start + 4_000] for start in (0, 6_000, 12_000)]
    again = load_onnx(make(), frontend="kaldi80").embed(crops)[:, 0]
    np.testing.assert_allclose(
        vectors[0], again / np.linalg.norm(again, axis=1)[:, None], atol=1e-5
    )


@pytest.mark.parametrize(("kind", "value"), [("INT64", 98), ("INT32", 98), ("FLOAT", 1)])
def test_lengths_are_given_where_they_are_taken(onnx, make, waveforms, weights, kind, value):
    path = make(lengths=getattr(onnx.TensorProto, kind))
    path.with_suffix(".onnx.json").write_text(
        '{"frontend": "kaldi80", "input": "x", "lengths": "n"}'
    )
    vectors = load_onnx(path).embed(waveforms[:1])
    np.testing.assert_allclose(vectors, expected(waveforms[:1], weights) + value, rtol=1e-4)


def test_waveforms(onnx, make, waveforms, tmp_path):
    helper, proto = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("ReduceMax", ["audio"], ["loud"], axes=[1], keepdims=1)],
        "loudest",
        [helper.make_tensor_value_info("audio", proto.FLOAT, ["batch", "samples"])],
        [helper.make_tensor_value_info("loud", proto.FLOAT, ["batch", 1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "loud.onnx")
    system = load_onnx(tmp_path / "loud.onnx", frontend="waveform", sample_rate=8_000)
    assert system.sample_rate == 8_000
    np.testing.assert_array_equal(system.embed(waveforms)[:, 0, 0], [w.max() for w in waveforms])
    with pytest.raises(ConfigError, match="does not take 80 bins of kaldi80 of any length"):
        load_onnx(tmp_path / "loud.onnx", frontend="kaldi80")


def test_one_waveform_without_an_axis_for_recordings(onnx, waveforms, tmp_path):
    helper, proto = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("ReduceMax", ["audio"], ["loud"], axes=[0], keepdims=1)],
        "loudest",
        [helper.make_tensor_value_info("audio", proto.FLOAT, ["samples"])],
        [helper.make_tensor_value_info("loud", proto.FLOAT, [1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "loud.onnx")
    vectors = load_onnx(tmp_path / "loud.onnx", frontend="waveform").embed(waveforms)
    np.testing.assert_array_equal(vectors[:, 0, 0], [w.max() for w in waveforms])


@pytest.mark.parametrize(
    ("model_options", "options", "words"),
    [
        ({}, {}, r"its front end is not declared; give .*takes 'x' \(batch, time, 80\) tensor\(fl"),
        ({}, {}, "give frontend with one of waveform, kaldi80"),
        ({}, {"frontend": "kaldi8"}, "front end 'kaldi8' is not known"),
        ({}, {"frontend": "clova40"}, "which does not take 40 bins of clova40 of any length"),
        ({}, {"frontend": "waveform"}, "which does not take waveforms"),
        ({"sizes": {"t": 200}}, {"frontend": "kaldi80"}, "which does not take 80 bins of kaldi80"),
        ({}, {"frontend": "kaldi80", "sample_rate": 8_000}, "8,000 Hz do not match the front en"),
        ({}, {"frontend": "kaldi80", "device": "tpu"}, "no TPU device is available to on"),
        ({"lengths": 7}, {"frontend": "kaldi80"}, r"takes 'x' \(.*\) tensor\(float\), 'n' \(batch"),
        ({"lengths": 7}, {"frontend": "kaldi80"}, 'but 1 of them are expected; .*"lengths": "n"'),
        ({"extra_output": True}, {"frontend": "kaldi80"}, "outputs 'mean' .*, 'y' .*\"output"),
    ],
)  # fmt: skip
def test_what_is_not_declared_is_shown_and_asked_for(make, model_options, options, words):
    with pytest.raises(ConfigError, match=words):
        load_onnx(make(**model_options), **options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "the declarations cannot be read"),
        ("[1]", "the declarations cannot be read"),
        (
            '{"fronted": "kaldi80"}',
            "declares 'fronted', which is not known; choose from frontend, input",
        ),
        ('{"sample_rate": "high"}', "cannot be read"),
        ('{"recipe": {"crops": 1}}', "cannot be read"),
    ],
)
def test_declarations_that_cannot_be_read(make, text, words):
    path = make()
    path.with_suffix(".onnx.json").write_text(text)
    with pytest.raises(DataError, match=words):
        load_onnx(path, frontend="kaldi80")


def test_names_that_the_file_does_not_have(make):
    path = make()
    path.with_suffix(".onnx.json").write_text('{"output": "z"}')
    with pytest.raises(ConfigError, match=r"has no 'z' \(found: 'y' \(batch, 6\)"):
        load_onnx(path, frontend="kaldi80")


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (
            ("Add", ["x", "w"]),
            r"failed on \(2, 98, 80\) in 'x': .*the file takes 'x' \(batch, time, 80\)",
        ),
        (
            ("ReduceMean", ["x"]),
            r"returned \(\) of float32 in 'y' for 2 recordings; declare",
        ),
    ],
)
def test_networks_that_fail_or_give_something_else(onnx, weights, waveforms, tmp_path, node, words):
    helper, proto = onnx.helper, onnx.TensorProto
    more = {"keepdims": 0} if node[0] == "ReduceMean" else {}
    graph = helper.make_graph(
        [helper.make_node(*node, ["y"], **more)],
        "odd",
        [helper.make_tensor_value_info("x", proto.FLOAT, ["batch", "time", BINS])],
        [helper.make_tensor_value_info("y", proto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.ones((7, BINS), np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "odd.onnx")
    system = load_onnx(tmp_path / "odd.onnx", frontend="kaldi80")
    with pytest.raises(ConfigError, match=words):
        system.embed([waveforms[0], waveforms[2]])


def test_another_output_than_the_first(make, waveforms):
    path = make("rtb", extra_output=True)
    path.with_suffix(".onnx.json").write_text('{"output": "mean"}')
    vectors = load_onnx(path, frontend="kaldi80").embed(waveforms)
    assert vectors.shape == (4, 1, BINS)


def test_files_that_are_no_onnx(onnx, tmp_path):
    (tmp_path / "x.onnx").write_bytes(b"not at all")
    with pytest.raises(DataError, match=r"is not an ONNX file that onnxruntime [\d.]+ can run"):
        load_onnx(tmp_path / "x.onnx", frontend="kaldi80")


def test_without_onnxruntime_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"pip install 'parivox\[onnx\]'"):
        load_onnx(tmp_path / "x.onnx", frontend="kaldi80")


def test_other_weights_are_another_system(make, onnx):
    path = make()
    first_provenance = load_onnx(path, frontend="kaldi80").provenance
    assert load_onnx(path, frontend="kaldi80").provenance == first_provenance
    assert json.loads(json.dumps(first_provenance)) == first_provenance
    model = onnx.load(path)
    model.graph.initializer[0].raw_data = bytes(BINS * SIZE * 4)
    onnx.save(model, path)
    second = load_onnx(path, frontend="kaldi80").provenance
    assert second["weights_sha256"] != first_provenance["weights_sha256"]


@pytest.fixture
def split(onnx, make):
    """A model whose weights stand in files of any name beside it, in a tensor of a node, too."""

    def split_model(*locations):
        path = make()
        model = onnx.load(path)
        constant = onnx.helper.make_node(
            "Constant", [], ["zero"], value=onnx.numpy_helper.from_array(np.zeros(SIZE, "f4"))
        )
        model.graph.node[-1].output[0] = "product"
        add = onnx.helper.make_node("Add", ["product", "zero"], ["y"])
        model.graph.node.extend([constant, add])
        tensors = (model.graph.initializer[0], model.graph.node[-2].attribute[0].t)
        for tensor, location in zip(tensors, locations, strict=False):
            (path.parent / location).parent.mkdir(exist_ok=True)
            (path.parent / location).write_bytes(tensor.raw_data)
            onnx.external_data_helper.set_external_data(tensor, location)
            tensor.ClearField("raw_data")
        onnx.save(model, path)
        return path

    return split_model


@pytest.mark.parametrize("replaced", ["weights.bin", "more/bias"])
def test_weights_in_files_of_any_name_are_part_of_the_system(split, waveforms, replaced):
    path = split("weights.bin", "more/bias")
    system = load_onnx(path, frontend="kaldi80")
    assert load_onnx(path, frontend="kaldi80").provenance == system.provenance
    vectors = system.embed(waveforms)
    weights = path.parent / replaced
    weights.write_bytes((np.frombuffer(weights.read_bytes(), "f4") + 1).tobytes())
    second = load_onnx(path, frontend="kaldi80")
    assert not np.allclose(vectors, second.embed(waveforms))
    assert system.provenance["weights_sha256"] != second.provenance["weights_sha256"]


@pytest.mark.slow
def test_replaced_weights_are_not_mixed_into_a_store(split, folder, tmp_path, capsys):
    path = split("weights.bin")
    words = ["embed", str(folder), "--system", str(path), "--frontend", "kaldi80", "--quiet"]
    words += ["--out", str(tmp_path / "store")]
    main(words)
    weights = tmp_path / "weights.bin"
    weights.write_bytes(weights.read_bytes()[::-1])
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(words)
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "store: was made by 'model.onnx' with weights_sha256 " in sentence
    assert sentence.endswith("choose another --out, because these embeddings cannot be compared")


def test_weights_without_files_of_their_own_are_hashed_as_ever(make):
    path = make()
    (path.parent / "model.onnx.data").write_bytes(b"of another model")
    of_file = hashlib.sha256(hashlib.sha256(path.read_bytes()).digest()).hexdigest()
    assert load_onnx(path, frontend="kaldi80").provenance["weights_sha256"] == of_file


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("../weights.bin", "outside its folder"),
        ("more/../../weights.bin", "outside its folder"),
        ("/etc/hostname", "outside its folder"),
        ("C:\\weights.bin", "outside its folder"),
        ("gone.bin", "a file that does not exist"),
        ("", "a file that does not exist"),
    ],
)
def test_weights_that_are_not_beside_the_model_are_refused(split, onnx, location, reason):
    path = split("weights.bin")
    model = onnx.load(path, load_external_data=False)
    (entry,) = [e for e in model.graph.initializer[0].external_data if e.key == "location"]
    entry.value = location
    onnx.save(model, path)
    with pytest.raises(DataError, match=f"keeps weights in .*, {reason}; export it again"):
        load_onnx(path, frontend="kaldi80")


def test_damaged_files_are_refused_in_a_sentence(split):
    path = split("weights.bin")
    content = path.read_bytes()
    draw = np.random.default_rng(3)
    for _ in range(200):
        damaged = bytearray(content)
        for position in draw.integers(0, len(content), 3):
            damaged[position] = draw.integers(256)
        path.write_bytes(damaged[: draw.integers(1, len(content) + 1)])
        with contextlib.suppress(ConfigError, DataError):
            load_onnx(path, frontend="kaldi80")
    for data in (b"", b"\x3a\xff\xff\xff\xff\x0f", b"\x80" * 20, nested(500)):
        path.write_bytes(data)
        with pytest.raises(DataError, match="is not an ONNX file that onnxruntime"):
            load_onnx(path, frontend="kaldi80")


def nested(depth):
    """A graph in an attribute of a node of a graph, and so on."""
    message = b""
    for _ in range(depth):
        for tag in (0x32, 0x2A, 0x0A):
            length, varint = len(message), b""
            while length > 127:
                varint, length = varint + bytes([length & 127 | 128]), length >> 7
            message = bytes([tag]) + varint + bytes([length]) + message
    return b"\x3a" + message[1:]


@pytest.mark.slow
def test_an_exported_system_is_the_same_system(onnx, optional, waveforms, tmp_path):
    """With its front end, its crops and its scoring, and without a word on how to run it."""
    torch = optional("torch")
    from parivox.embedding.systems.published import PUBLISHED, PublishedSystem
    from parivox.embedding.systems.published.export import export_onnx
    from parivox.embedding.systems.published.resnets import ResNetSE34L

    torch.manual_seed(3)
    recipe = PUBLISHED["resnetse34l"].recipe
    network = ResNetSE34L(512, deviation=False).eval()
    front = FRONTENDS["clova40"]
    theirs = PublishedSystem("resnetse34l", network, front, recipe, device="cpu", provenance={})
    export_onnx(theirs, tmp_path / "light.onnx")
    mine = load_onnx(tmp_path / "light.onnx")
    assert (mine.scoring, mine.sample_rate) == (theirs.scoring, theirs.sample_rate)
    assert mine.declared.recipe == recipe
    vectors = mine.embed(waveforms)
    assert vectors.shape == (4, 10, 512)
    np.testing.assert_allclose(vectors, theirs.embed(waveforms), atol=1e-5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"sample_rate": 1e400}', "the declarations cannot be read"),
        (
            '{"sample_rate": 1e12}',
            "the sample rate 1000000000000 is not a whole number of Hz from 1",
        ),
        ('{"sample_rate": -5}', "the sample rate -5 is not a whole number"),
        (
            '{"least_seconds": NaN}',
            "least_seconds is nan, not a number of seconds from 0 to 86,400",
        ),
        ('{"least_seconds": -5}', "least_seconds is -5.0, not a number of seconds"),
        ('{"least_seconds": 1e400}', "least_seconds is inf, not a number of seconds"),
        ('{"recipe": ' + "[" * 100_000, "the declarations cannot be read"),
        ('{"recipe": ' + "[" * 5_000 + "]" * 5_000 + "}", "the declarations cannot be read"),
    ],
)
def test_numbers_that_no_recording_has_and_deep_json_are_refused(make, text, words):
    path = make()
    path.with_suffix(".onnx.json").write_text(text)
    with pytest.raises(ParivoxError, match=words):
        load_onnx(path, frontend="kaldi80")
