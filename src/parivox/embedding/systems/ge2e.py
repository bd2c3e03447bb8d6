"""The embedded default: Resemblyzer's GE2E encoder, small and old, so that the chain runs anywhere.

The method is of 2018, and today's systems make far fewer errors. What it is for is to try the
whole chain, and to have one system that everybody can run and repeat. Its network, three LSTMs and
a linear layer, runs in NumPy, or as a graph in onnxruntime.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems.ge2e_weights import LAYERS, SIZE, hash_of, weights_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

FRONT = FRONTENDS["ge2e40"]
HOP = 160
"""Samples from one frame to the next."""
FRAMES, STEP = 160, 77
"""Frames of a window, and from one to the next: 1.6 s, 1.3 windows a second."""
COVERED = 0.75
"""Of a last window, the least part that the recording must cover."""


def load_ge2e(weights: str | os.PathLike[str] | None = None) -> GE2E:
    """The system, with onnxruntime where it is installed and NumPy elsewhere.

    The weights are of a file, or of the user's cache, which is filled through pip the first time.
    """
    weight_arrays = weights_of(weights)
    has_runtime = importlib.util.find_spec("onnxruntime") is not None
    network = OnnxNetwork(weight_arrays) if has_runtime else Network(weight_arrays)
    return GE2E(network, hash_of(weight_arrays))


class GE2E:
    """The encoder as an embedding system: no VAD, no change of level.

    `network` takes windows (window, 160, 40) to vectors (window, 256) before ReLU.
    """

    name = "ge2e"
    sample_rate = FRONT.sample_rate
    scoring = "cosine"
    least_seconds = FRAMES * HOP / FRONT.sample_rate / 4  # a quarter of a window

    def __init__(self, network: Network | OnnxNetwork, weights_sha256: str) -> None:
        self.network = network
        self.provenance: Mapping[str, Any] = {
            "system": "ge2e: Resemblyzer 0.1.4's GE2E encoder, without its VAD and change of level",
            "weights_sha256": weights_sha256,
            "frontend": FRONT.name,
            "windows": {"frames": FRAMES, "step": STEP, "least_covered": COVERED},
            "runtime": network.runtime,
        }

    def embed(self, waveforms: Sequence[Array]) -> Array:
        """Vectors of unit length, of shape (recording, 1, 256).

        A vector is the mean over a recording's windows, each of unit length. Windows of all
        recordings go through the network together.
        """
        views: list[Array] = []
        owners: list[int] = []
        for recording_index, waveform in enumerate(waveforms):
            starts = window_starts(len(waveform))
            lacking = max(0, (starts[-1] + FRAMES) * HOP - len(waveform))
            mel = FRONT(np.pad(waveform, (0, lacking)))
            views += [mel[start : start + FRAMES] for start in starts]
            owners += [recording_index] * len(starts)
        # Windows of all recordings are embedded together: the products are large enough to be fast.
        vectors = np.empty((len(views), SIZE), np.float32)
        for start in range(0, len(views), self.network.batch):
            window_slice = slice(start, start + self.network.batch)
            vectors[window_slice] = _unit(
                np.maximum(self.network(np.stack(views[window_slice])), 0)
            )
        sums = np.zeros((len(waveforms), SIZE), np.float32)
        np.add.at(sums, owners, vectors)
        return _unit(sums)[:, None]


def window_starts(samples: int) -> list[int]:
    """First frames of the windows of a recording; there is always one.

    >>> window_starts(16_000), window_starts(48_000)
    ([0], [0, 77, 154])
    """
    frames = samples // HOP + 1  # frames that begin before the end, or at it
    starts = list(range(0, max(1, frames - FRAMES + STEP + 1), STEP))
    covered = (samples - starts[-1] * HOP) / (FRAMES * HOP)
    return starts[:-1] if covered < COVERED and len(starts) > 1 else starts


def _unit(vectors: Array) -> Array:
    """Of length 1; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


_STEPS = 16  # frames whose inputs are multiplied at once, so that the products stay in the cache


class Network:
    """The network in NumPy.

    The four gates of a layer are one product and one hyperbolic tangent: a logistic function is
    a tangent of half its argument, and halving weights loses nothing.
    """

    batch = 64  # windows at once that are fastest
    runtime = f"numpy {np.__version__}"

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.layers = [_transposed_weights(weights, layer) for layer in range(LAYERS)]
        self.linear = weights["linear.weight"].T, weights["linear.bias"]

    def __call__(self, windows: Array) -> Array:
        """Vectors before ReLU, of shape (window, 256), of windows (window, frame, 40)."""
        states = np.ascontiguousarray(windows.transpose(1, 0, 2))
        for inputs, recurrent, bias in self.layers:
            states = _lstm_states(states, inputs, recurrent, bias)
        weight, bias = self.linear
        return np.asarray(states[-1] @ weight + bias, np.float32)


def _transposed_weights(weights: Mapping[str, Array], layer: int) -> tuple[Array, Array, Array]:
    """Transposed weights of one layer: input, forget and output gate (halved), then cell."""
    # torch orders gates as input, forget, cell, output; the three that are logistic stand together.
    order = np.concatenate([np.arange(SIZE) + gate * SIZE for gate in (0, 1, 3, 2)])
    scale = np.repeat(np.array([0.5, 0.5, 0.5, 1], np.float32), SIZE)
    inputs, recurrent = (
        np.ascontiguousarray(weights[f"lstm.weight_{kind}_l{layer}"][order].T * scale)
        for kind in ("ih", "hh")
    )
    bias = weights[f"lstm.bias_ih_l{layer}"] + weights[f"lstm.bias_hh_l{layer}"]
    return inputs, recurrent, bias[order] * scale


def _lstm_states(frames: Array, inputs: Array, recurrent: Array, bias: Array) -> Array:
    """States of one layer after each frame: (frame, window, 256) of (frame, window, input)."""
    steps, batch, width = frames.shape
    states = np.empty((steps, batch, SIZE), np.float32)
    cell, hidden = np.zeros((2, batch, SIZE), np.float32)
    gates, cell_input = np.empty((batch, 4 * SIZE), np.float32), np.empty((batch, SIZE), np.float32)
    for start in range(0, steps, _STEPS):
        frame_chunk = frames[start : start + _STEPS]
        input_drive = (frame_chunk.reshape(-1, width) @ inputs).reshape(len(frame_chunk), batch, -1)
        input_drive += bias
        for step, drive in enumerate(input_drive, start):
            np.matmul(hidden, recurrent, out=gates)
            gates += drive
            np.tanh(gates, out=gates)
            open_ = gates[:, : 3 * SIZE]
            open_ *= 0.5
            open_ += 0.5
            np.multiply(gates[:, :SIZE], gates[:, 3 * SIZE :], out=cell_input)
            cell *= gates[:, SIZE : 2 * SIZE]
            cell += cell_input
            hidden = states[step]
            np.tanh(cell, out=hidden)
            hidden *= gates[:, 2 * SIZE : 3 * SIZE]
    return states


# ONNX files are messages of protocol buffers: fields of a number, a kind and a value. Of these the
# graph needs few, so that neither the package ``onnx`` nor torch is needed to write them.

_IR_VERSION, _OPSET = 8, 13
_FLOAT, _INT64 = 1, 7
"""Types of elements."""
_BY_INT = 2  # the type of an attribute


class OnnxNetwork:
    """The same network in onnxruntime."""

    batch = 16

    def __init__(self, weights: Mapping[str, Array]) -> None:
        import onnxruntime  # noqa: PLC0415 - an extra

        self.runtime = f"onnxruntime {onnxruntime.__version__}"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            onnx_bytes(weights), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, windows: Array) -> Array:
        """Vectors before ReLU, of shape (window, 256), of windows (window, frame, 40)."""
        frames = np.ascontiguousarray(windows.transpose(1, 0, 2))
        return np.asarray(self.session.run(["vectors"], {"frames": frames})[0])


def onnx_bytes(weights: Mapping[str, Array]) -> bytes:
    """The network as an ONNX file: frames (frame, window, 40) to vectors (window, 256)."""
    nodes, tensors = [], [_tensor("axis", np.array([1])), _tensor("first", np.array([0]))]
    input_name = "frames"
    for layer in range(LAYERS):
        order = np.concatenate([np.arange(SIZE) + gate * SIZE for gate in (0, 3, 1, 2)])
        biases = [weights[f"lstm.bias_{kind}_l{layer}"][order] for kind in ("ih", "hh")]
        arrays = {  # gates as input, output, forget, cell; one direction in front
            f"inputs{layer}": weights[f"lstm.weight_ih_l{layer}"][order][None],
            f"recurrent{layer}": weights[f"lstm.weight_hh_l{layer}"][order][None],
            f"biases{layer}": np.concatenate(biases)[None],
        }
        tensors += [_tensor(name, array) for name, array in arrays.items()]
        size = _number(3, SIZE) + _number(20, _BY_INT)
        outputs = (f"all{layer}", f"last{layer}")
        nodes.append(_node("LSTM", [input_name, *arrays], outputs, _text(1, "hidden_size") + size))
        nodes.append(_node("Squeeze", [f"all{layer}", "axis"], [f"states{layer}"]))
        input_name = f"states{layer}"
    nodes.append(_node("Squeeze", [f"last{LAYERS - 1}", "first"], ["state"]))
    transposed = _text(1, "transB") + _number(3, 1) + _number(20, _BY_INT)
    tensors += [_tensor(name, weights[name]) for name in ("linear.weight", "linear.bias")]
    nodes.append(_node("Gemm", ["state", "linear.weight", "linear.bias"], ["vectors"], transposed))
    graph = b"".join(
        [
            b"".join(_message(1, node) for node in nodes),
            _text(2, "ge2e"),
            b"".join(_message(5, tensor) for tensor in tensors),
            _message(11, _value("frames", ["frame", "window", 40])),
            _message(12, _value("vectors", ["window", SIZE])),
        ]
    )
    opset = _message(8, _text(1, "") + _number(2, _OPSET))
    return _number(1, _IR_VERSION) + _message(7, graph) + opset


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], attribute: bytes = b""
) -> bytes:
    fields = [*(_text(1, name) for name in inputs), *(_text(2, name) for name in outputs)]
    fields.append(_text(4, kind))
    return b"".join([*fields, _message(5, attribute) if attribute else b""])


def _tensor(name: str, values: NDArray[np.generic]) -> bytes:
    type_, stored = (_INT64, "<i8") if values.dtype.kind == "i" else (_FLOAT, "<f4")
    shape = b"".join(_number(1, size) for size in values.shape)
    raw = np.ascontiguousarray(values, stored).tobytes()
    return shape + _number(2, type_) + _text(8, name) + _message(9, raw)


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = (_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape)
    dims = b"".join(_message(1, size) for size in sizes)
    return _text(1, name) + _message(2, _message(1, _number(1, _FLOAT) + _message(2, dims)))
