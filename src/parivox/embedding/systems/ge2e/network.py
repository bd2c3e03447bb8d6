"""The network of GE2E: three LSTMs and a linear layer, in NumPy, and as a graph for onnxruntime.

ONNX files are messages of protocol buffers: fields of a number, a kind and a value. Of these the
graph needs few, so that neither the package ``onnx`` nor torch is needed to write them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

LAYERS, SIZE = 3, 256
_STEPS = 16
"""Frames whose inputs are multiplied at once, so that the products stay in the cache."""


class Network:
    """The network in NumPy.

    The four gates of a layer are one product and one hyperbolic tangent: a logistic function is
    a tangent of half its argument, and halving weights loses nothing.

    Parameters
    ----------
    weights
        Arrays by the names of the published file.

    Attributes
    ----------
    runtime : str
        What multiplies, and its version.
    batch : int
        Windows at once that are fastest.
    """

    batch = 64
    runtime = f"numpy {np.__version__}"

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.layers = [_layer(weights, at) for at in range(LAYERS)]
        self.linear = weights["linear.weight"].T, weights["linear.bias"]

    def __call__(self, windows: Array) -> Array:
        """Vectors before ReLU, of shape (window, 256), of windows (window, frame, 40)."""
        states = np.ascontiguousarray(windows.transpose(1, 0, 2))
        for inputs, recurrent, bias in self.layers:
            states = _run(states, inputs, recurrent, bias)
        weight, bias = self.linear
        return np.asarray(states[-1] @ weight + bias, np.float32)


def _layer(weights: Mapping[str, Array], at: int) -> tuple[Array, Array, Array]:
    """Transposed weights of one layer: input, forget and output gate (halved), then cell."""
    order = np.concatenate([np.arange(SIZE) + gate * SIZE for gate in (0, 1, 3, 2)])
    scale = np.repeat(np.array([0.5, 0.5, 0.5, 1], np.float32), SIZE)
    inputs, recurrent = (
        np.ascontiguousarray(weights[f"lstm.weight_{kind}_l{at}"][order].T * scale)
        for kind in ("ih", "hh")
    )
    bias = weights[f"lstm.bias_ih_l{at}"] + weights[f"lstm.bias_hh_l{at}"]
    return inputs, recurrent, bias[order] * scale


def _run(frames: Array, inputs: Array, recurrent: Array, bias: Array) -> Array:
    """States of one layer after each frame: (frame, window, 256) of (frame, window, input)."""
    steps, batch, width = frames.shape
    states = np.empty((steps, batch, SIZE), np.float32)
    cell, hidden = np.zeros((2, batch, SIZE), np.float32)
    gates, fresh = np.empty((batch, 4 * SIZE), np.float32), np.empty((batch, SIZE), np.float32)
    for start in range(0, steps, _STEPS):
        block = frames[start : start + _STEPS]
        driven = (block.reshape(-1, width) @ inputs).reshape(len(block), batch, -1)
        driven += bias
        for at, given in enumerate(driven, start):
            np.matmul(hidden, recurrent, out=gates)
            gates += given
            np.tanh(gates, out=gates)
            open_ = gates[:, : 3 * SIZE]
            open_ *= 0.5
            open_ += 0.5
            np.multiply(gates[:, :SIZE], gates[:, 3 * SIZE :], out=fresh)
            cell *= gates[:, SIZE : 2 * SIZE]
            cell += fresh
            hidden = states[at]
            np.tanh(cell, out=hidden)
            hidden *= gates[:, 2 * SIZE : 3 * SIZE]
    return states


_IR_VERSION, _OPSET = 8, 13
_FLOAT, _INT64 = 1, 7
"""Types of elements."""
_BY_INT = 2
"""The type of an attribute."""


class OnnxNetwork:
    """The network of :class:`~parivox.embedding.systems.ge2e.network.Network` in onnxruntime."""

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
    last = "frames"
    for at in range(LAYERS):
        arrays = _lstm(weights, at)
        tensors += [_tensor(name, array) for name, array in arrays.items()]
        size = _number(3, SIZE) + _number(20, _BY_INT)
        outputs = (f"all{at}", f"last{at}")
        nodes.append(_node("LSTM", [last, *arrays], outputs, _text(1, "hidden_size") + size))
        nodes.append(_node("Squeeze", [f"all{at}", "axis"], [f"states{at}"]))
        last = f"states{at}"
    nodes.append(_node("Squeeze", [f"last{LAYERS - 1}", "first"], ["state"]))
    transposed = _text(1, "transB") + _number(3, 1) + _number(20, _BY_INT)
    tensors += [_tensor(name, weights[name]) for name in ("linear.weight", "linear.bias")]
    nodes.append(_node("Gemm", ["state", "linear.weight", "linear.bias"], ["vectors"], transposed))
    graph = b"".join(
        [
            *(_message(1, node) for node in nodes),
            _text(2, "ge2e"),
            *(_message(5, tensor) for tensor in tensors),
            _message(11, _value("frames", ["frame", "window", 40])),
            _message(12, _value("vectors", ["window", SIZE])),
        ]
    )
    opset = _message(8, _text(1, "") + _number(2, _OPSET))
    return _number(1, _IR_VERSION) + _message(7, graph) + opset


def _lstm(weights: Mapping[str, Array], at: int) -> dict[str, Array]:
    """What ONNX's LSTM takes: gates as input, output, forget, cell; one direction in front."""
    order = np.concatenate([np.arange(SIZE) + gate * SIZE for gate in (0, 3, 1, 2)])
    biases = [weights[f"lstm.bias_{kind}_l{at}"][order] for kind in ("ih", "hh")]
    return {
        f"inputs{at}": weights[f"lstm.weight_ih_l{at}"][order][None],
        f"recurrent{at}": weights[f"lstm.weight_hh_l{at}"][order][None],
        f"biases{at}": np.concatenate(biases)[None],
    }


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], attribute: bytes = b""
) -> bytes:
    parts = [*(_text(1, name) for name in inputs), *(_text(2, name) for name in outputs)]
    parts.append(_text(4, kind))
    return b"".join([*parts, _message(5, attribute) if attribute else b""])


def _tensor(name: str, values: NDArray[np.generic]) -> bytes:
    type_, stored = (_INT64, "<i8") if values.dtype.kind == "i" else (_FLOAT, "<f4")
    shape = b"".join(_number(1, size) for size in values.shape)
    raw = np.ascontiguousarray(values, stored).tobytes()
    return shape + _number(2, type_) + _text(8, name) + _message(9, raw)


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = (_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape)
    dims = b"".join(_message(1, size) for size in sizes)
    return _text(1, name) + _message(2, _message(1, _number(1, _FLOAT) + _message(2, dims)))
