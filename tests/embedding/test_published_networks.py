"""The published networks: their sizes and layouts, and what is known of their parts.

published.json holds, for seeded weights, what the publishers' own code gives in float64: layouts
(SHA-256 of the sorted lines "key shape") and the first six values of two embeddings. ERes2Net,
ERes2NetV2 and CAM++ ran as in modelscope 1.40.2, SpeechBrain's ECAPA-TDNN as in speechbrain 1.1.2;
clovaai's networks and TaoRuijie's were transcribed for it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from parivox.embedding.systems.published import PUBLISHED, recognised_system

PUBLISHED_VALUES = json.loads(
    Path(__file__).with_name("published.json").read_text(encoding="utf-8")
)
HUGE = {"conv1.weight": (64, 1, 3, 3), "layer1.0.convs.2.weight": (24, 24, 3, 3)}
WIDE = {"layer1.0.convs.3.weight": (24, 24, 3, 3)}
FORMS = {
    # what tells the form, and its parameters
    "resnetse34l": ({}, 1_437_078),
    "resnetse34l, ASP": ({"fc.weight": (512, 256)}, 1_502_614),
    "resnetse34v2": ({}, 8_028_492),
    "ecapa, 1024": ({}, 15_444_544),
    "ecapa, 512": ({"conv1.weight": (512, 80, 5)}, 6_978_176),
    "ecapa-speechbrain, 1024": ({}, 20_767_552),
    "ecapa-speechbrain, 512": ({"blocks.0.conv.conv.weight": (512, 80, 5)}, None),
    "campplus, 512": ({"xvector.dense.linear.weight": (512, 1024, 1)}, 7_176_224),
    "campplus, 192": ({"xvector.dense.linear.weight": (192, 1024, 1)}, 6_848_544),
    "eres2net, base 192": ({"seg_1.weight": (192, 10240)}, 6_610_688),
    "eres2net, base 512": ({"seg_1.weight": (512, 10240)}, 9_887_808),
    "eres2net, large": (
        {"conv1.weight": (64, 1, 3, 3), "seg_1.weight": (512, 20480)},
        29_016_704,
    ),
    "eres2net, huge": (HUGE, 55_165_024),
    "eres2netv2": ({}, 17_859_632),
    "eres2netv2, w24s4ep4": (WIDE, None),
}


@pytest.fixture(scope="module")
def torch(optional):
    return optional("torch")


def module(name):
    return importlib.import_module(f"parivox.embedding.systems.published.{name}")


def built(form):
    return PUBLISHED[form.partition(",")[0]].build(FORMS[form][0])


def filled(torch, shapes):
    """Seeded values of every tensor, in the order of the sorted keys."""
    random = np.random.default_rng(7)
    state = {}
    for key in sorted(shapes):
        shape = shapes[key]
        if key.endswith("num_batches_tracked"):
            state[key] = torch.zeros(shape, dtype=torch.int64)
            continue
        if key.endswith("running_var"):
            values = random.uniform(0.5, 1.5, shape)
        elif len(shape) > 1:
            values = random.standard_normal(shape) * np.sqrt(1.5 / np.prod(shape[1:]))
        elif key.endswith("weight"):
            values = random.uniform(0.7, 1.3, shape)
        else:
            values = random.standard_normal(shape) * 0.1
        state[key] = torch.from_numpy(values.astype(np.float32))
    return state


def shapes_of(network):
    return {key: tuple(value.shape) for key, value in network.state_dict().items()}


def test_every_form_was_given():
    assert FORMS.keys() == PUBLISHED_VALUES.keys()


@pytest.mark.parametrize("form", FORMS)
def test_parameters_layout_and_recognition(torch, form):
    network = built(form)
    shapes = shapes_of(network)
    parameters = FORMS[form][1]
    if parameters is not None:
        assert sum(parameter.numel() for parameter in network.parameters()) == parameters
    assert len(shapes) == PUBLISHED_VALUES[form]["keys"]
    lines = "\n".join(f"{key} {list(shapes[key])}" for key in sorted(shapes))
    assert hashlib.sha256(lines.encode()).hexdigest() == PUBLISHED_VALUES[form]["layout"]
    assert recognised_system(shapes) == form.partition(",")[0]
    assert shapes_of(PUBLISHED[form.partition(",")[0]].build(shapes)) == shapes


@pytest.mark.parametrize("form", FORMS)
def test_the_same_as_the_publishers_code(torch, form):
    network = built(form)
    network.load_state_dict(filled(torch, shapes_of(network)), strict=True, assign=True)
    network.double()  # with such weights the deepest network makes 0.2 % of a rounding of float32
    name = form.partition(",")[0]
    bins = {"resnetse34l": 40, "resnetse34v2": 64}.get(name, 80)
    frames = 203 if name == "campplus" else 40  # more than one of CAM++'s segments
    features = np.random.default_rng(8).standard_normal((2, frames, bins))
    with torch.inference_mode():
        vectors = network(torch.from_numpy(features)).numpy()
    expected = np.array(PUBLISHED_VALUES[form]["values"])
    assert vectors.shape == (2, PUBLISHED_VALUES[form]["dimension"])
    np.testing.assert_allclose(vectors[:, :6], expected, rtol=0, atol=1e-6)


def norm(name):
    return {
        f"{name}.{array_name}" for array_name in ("weight", "bias", "running_mean", "running_var")
    } | {f"{name}.num_batches_tracked"}


def affine(name):
    return {f"{name}.weight", f"{name}.bias"}


def residual(*, first_bias):
    keys = {"conv1.weight"} | norm("bn1") | affine("fc")
    keys |= {"conv1.bias"} if first_bias else set()
    for layer, blocks in enumerate((3, 4, 6, 3), start=1):
        for index in range(blocks):
            block = f"layer{layer}.{index}"
            keys |= {f"{block}.conv1.weight", f"{block}.conv2.weight"}
            keys |= norm(f"{block}.bn1") | norm(f"{block}.bn2")
            keys |= affine(f"{block}.se.fc.0") | affine(f"{block}.se.fc.2")
        if layer > 1:
            keys |= {f"layer{layer}.0.downsample.0.weight"} | norm(f"layer{layer}.0.downsample.1")
    return keys


def light():
    return residual(first_bias=False) | affine("sap_linear") | {"attention"}


def second():
    attention = affine("attention.0") | norm("attention.2") | affine("attention.3")
    return residual(first_bias=True) | attention


def ecapa():
    keys = affine("conv1") | norm("bn1") | affine("layer4") | norm("bn5") | affine("fc6")
    keys |= norm("bn6") | affine("attention.0") | norm("attention.2") | affine("attention.4")
    for layer in ("layer1", "layer2", "layer3"):
        for conv, bn in (("conv1", "bn1"), ("conv3", "bn3")):
            keys |= affine(f"{layer}.{conv}") | norm(f"{layer}.{bn}")
        for group in range(7):
            keys |= affine(f"{layer}.convs.{group}") | norm(f"{layer}.bns.{group}")
        keys |= affine(f"{layer}.se.se.1") | affine(f"{layer}.se.se.3")
    return keys


@pytest.mark.parametrize(
    ("form", "keys", "buffers", "total"),
    [
        # with the constants of torchaudio's front ends, that are not loaded
        ("resnetse34l", light, 2, 287),
        ("resnetse34v2", second, 3, 295),
        ("ecapa, 1024", ecapa, 3, 234),
    ],
)
def test_keys_as_they_are_described(torch, form, keys, buffers, total):
    assert set(shapes_of(built(form))) == keys()
    assert len(keys()) + buffers == total


@pytest.mark.parametrize(
    ("form", "shapes"),
    [
        (
            "resnetse34l",
            {
                "conv1.weight": (16, 1, 7, 7),
                "layer1.0.se.fc.0.weight": (2, 16),
                "layer4.2.se.fc.2.weight": (128, 16),
                "attention": (128, 1),
                "fc.weight": (512, 128),
            },
        ),
        (
            "resnetse34v2",
            {
                "conv1.bias": (32,),
                "attention.0.weight": (128, 2048, 1),
                "attention.3.weight": (2048, 128, 1),
                "fc.weight": (512, 4096),
            },
        ),
        (
            "ecapa, 1024",
            {
                "conv1.weight": (1024, 80, 5),
                "layer2.convs.6.weight": (128, 128, 3),
                "layer1.se.se.1.weight": (128, 1024, 1),
                "layer4.weight": (1536, 3072, 1),
                "attention.0.weight": (256, 4608, 1),
                "attention.4.weight": (1536, 256, 1),
                "fc6.weight": (192, 3072),
            },
        ),
        (
            "campplus, 512",  # widths 128 -> 512 -> 256 -> 1024 -> 512 -> 1024 -> 512
            {
                "xvector.tdnn.linear.weight": (128, 320, 5),
                "xvector.transit1.linear.weight": (256, 512, 1),
                "xvector.transit2.linear.weight": (512, 1024, 1),
                "xvector.transit3.linear.weight": (512, 1024, 1),
                "xvector.block3.tdnnd16.linear1.weight": (128, 992, 1),
                "xvector.dense.linear.weight": (512, 1024, 1),
            },
        ),
        ("eres2net, base 192", {"seg_1.weight": (192, 10_240)}),
    ],
)
def test_shapes_as_they_are_described(torch, form, shapes):
    shape_by_name = shapes_of(built(form))
    assert {key: shape_by_name[key] for key in shapes} == shapes


def test_the_two_ecapas_share_no_key(torch):
    assert not set(shapes_of(built("ecapa, 1024"))) & set(
        shapes_of(built("ecapa-speechbrain, 1024"))
    )


def test_the_last_group_passes_through_taoruijies_block_and_the_first_speechbrains(torch):
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 64, 30)).astype(np.float32))
    taoruijie_output = module("tdnns").TaoRuijieBlock(64, 2).eval().res2(x)
    speechbrain_output = module("tdnns").Res2(64, 2).eval()(x)
    torch.testing.assert_close(taoruijie_output[:, 56:], x[:, 56:], rtol=0, atol=0)
    assert not torch.isclose(taoruijie_output[:, :56], x[:, :56]).all(dim=2).any()
    torch.testing.assert_close(speechbrain_output[:, :8], x[:, :8], rtol=0, atol=0)
    assert not torch.isclose(speechbrain_output[:, 8:], x[:, 8:]).all(dim=2).any()


def test_a_signal_that_stays_the_same_is_pooled_as_itself(torch):
    steady = torch.linspace(-1, 1, 1536)[None, :, None].expand(2, 1536, 20)
    ecapa = module("tdnns").TaoRuijieECAPA(512).eval()
    mean, deviation = ecapa.pooled(steady).chunk(2, dim=1)
    torch.testing.assert_close(mean, steady[..., 0], rtol=0, atol=1e-5)
    torch.testing.assert_close(deviation, torch.full_like(mean, 0.01), rtol=0, atol=1e-4)
    light = module("resnets").ResNetSE34L(512, deviation=False).eval()
    frames = torch.linspace(-1, 1, 128).expand(2, 20, 128)
    torch.testing.assert_close(light.pooled(frames), frames[:, 0], rtol=0, atol=1e-5)


def test_attention_weighs_frames(torch):
    light = module("resnets").ResNetSE34L(512, deviation=False).eval()
    with torch.no_grad():
        light.sap_linear.weight.copy_(torch.eye(128))
        light.sap_linear.bias.zero_()
        light.attention.fill_(0.0)
        light.attention[0] = 1000.0  # whoever is highest in the first channel takes all
    frames = torch.randn(1, 20, 128, generator=torch.Generator().manual_seed(0)) / 10
    loudest_frame = frames[0, frames[0, :, 0].argmax()]
    torch.testing.assert_close(light.pooled(frames)[0], loudest_frame, rtol=0, atol=1e-3)


def test_squeeze_and_excitation_of_zero_weights_halves(torch):
    for scaling, shape in [
        (module("resnets").SqueezeExcitation(16), (2, 16, 5, 7)),
        (module("tdnns").SqueezeExcitation(16), (2, 16, 7)),
        (module("tdnns").SpeechBrainExcitation(16), (2, 16, 7)),
    ]:
        for parameter in scaling.parameters():
            torch.nn.init.zeros_(parameter)
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(scaling(x), x / 2)


def test_fusion_of_zero_weights_adds_and_of_large_ones_takes_the_first_twice(torch):
    fusion = module("resnets").Fusion(8).eval()
    first_input, second_input = torch.randn(
        2, 1, 8, 5, 6, generator=torch.Generator().manual_seed(0)
    )
    for parameter in fusion.parameters():
        torch.nn.init.zeros_(parameter)
    torch.testing.assert_close(fusion(first_input, second_input), first_input + second_input)
    torch.nn.init.constant_(fusion.local_att[4].bias, 50.0)
    torch.testing.assert_close(fusion(first_input, second_input), 2 * first_input)


def test_what_leaves_a_block_of_eres2net_is_cut_at_20(torch):
    block = built("eres2net, base 192").layer1[0]
    block = type(block)(32, 32, 1, module("resnets").BASE, fused=False).eval()
    x = 1000 * torch.randn(1, 32, 8, 9, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        out = block(x)
    assert (out.min(), out.max()) == (0, 20)


def test_segments_of_100_frames_and_a_partial_one(torch):
    x = torch.arange(250.0).expand(2, 3, 250)
    means = module("tdnns").segment_means(x)
    expected = torch.tensor([49.5] * 100 + [149.5] * 100 + [224.5] * 50).expand(2, 3, 250)
    torch.testing.assert_close(means, expected)
