"""The network of GE2E in NumPy: three LSTMs, a linear layer, ReLU, unit length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

__all__ = ["LAYERS", "SIZE", "Network"]

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
