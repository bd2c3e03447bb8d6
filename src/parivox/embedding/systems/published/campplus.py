"""CAM++ as 3D-Speaker published it: a densely connected TDNN with context-aware masking.

Modules are named as in the published checkpoints; features come in as (batch, frame, bin).
Needs torch; :mod:`parivox.embedding.systems.published` imports it when it is asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from parivox.embedding.systems.published.checkpoint import size

if TYPE_CHECKING:
    from parivox.embedding.systems.published.checkpoint import Shapes

_GROWTH = 32
_BOTTLENECK = 128
_BLOCKS = ((12, 1), (24, 2), (16, 2))
"""Layers and dilation of each dense block."""
_SEGMENT = 100
"""Frames of a segment of context: 2 s, since the stride before it is 2."""


def segment_means(x: Tensor) -> Tensor:
    """Each frame's mean over its segment of 100 frames, of the shape of `x`; the last is partial.

    Written in sums, since runtimes differ on the mean of a partial window.
    """
    length = x.shape[-1]
    count = (length + _SEGMENT - 1) // _SEGMENT
    missing = count * _SEGMENT - length
    shape = (x.shape[0], x.shape[1], count, _SEGMENT)
    sums = functional.pad(x, (0, missing)).reshape(shape).sum(dim=3)
    held = functional.pad(torch.ones_like(x[:1, :1]), (0, missing)).reshape(1, 1, count, _SEGMENT)
    means = (sums / held.sum(dim=3)).unsqueeze(3).expand(shape)
    return means.reshape(x.shape[0], x.shape[1], count * _SEGMENT)[..., :length]


def _rectified(channels: int) -> nn.Sequential:
    return nn.Sequential(OrderedDict(batchnorm=nn.BatchNorm1d(channels), relu=nn.ReLU()))


class HeadBlock(nn.Module):
    """Two convolutions and a shortcut; strides are of the mel axis alone."""

    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, (stride, 1), padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(width, width, 1, (stride, 1), bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.bn1(self.conv1(x)).relu()
        out = self.bn2(self.conv2(out))
        return torch.relu(out + self.shortcut(x))


class Head(nn.Module):
    """Convolutions on the plane of mel and time; the mel axis becomes an eighth."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = nn.Sequential(HeadBlock(width, 2), HeadBlock(width, 1))
        self.layer2 = nn.Sequential(HeadBlock(width, 2), HeadBlock(width, 1))
        self.conv2 = nn.Conv2d(width, width, 3, (2, 1), padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of shape (batch, dimension), of features of shape (batch, frame, bin)."""
        x: Tensor = self.bn1(self.conv1(features.transpose(1, 2).unsqueeze(1))).relu()
        x = self.layer2(self.layer1(x))
        x = self.bn2(self.conv2(x)).relu()
        return x.flatten(1, 2)


class Mask(nn.Module):
    """A local convolution, scaled by what the whole and the segment around it say."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        hidden = _BOTTLENECK // 2
        self.linear_local = nn.Conv1d(
            _BOTTLENECK, _GROWTH, 3, padding=dilation, dilation=dilation, bias=False
        )
        self.linear1 = nn.Conv1d(_BOTTLENECK, hidden, 1)
        self.linear2 = nn.Conv1d(hidden, _GROWTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        context = x.mean(dim=2, keepdim=True) + segment_means(x)
        mask: Tensor = self.linear2(self.linear1(context).relu())
        local: Tensor = self.linear_local(x)
        return local * mask.sigmoid()


class DenseLayer(nn.Module):
    """Down to the bottleneck, and from it the channels that the layer adds."""

    def __init__(self, entering: int, dilation: int) -> None:
        super().__init__()
        self.nonlinear1 = _rectified(entering)
        self.linear1 = nn.Conv1d(entering, _BOTTLENECK, 1, bias=False)
        self.nonlinear2 = _rectified(_BOTTLENECK)
        self.cam_layer = Mask(dilation)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.cam_layer(self.nonlinear2(self.linear1(self.nonlinear1(x))))
        return torch.cat([x, out], dim=1)


def _transit(entering: int) -> nn.Sequential:
    linear = nn.Conv1d(entering, entering // 2, 1, bias=False)
    return nn.Sequential(OrderedDict(nonlinear=_rectified(entering), linear=linear))


class Statistics(nn.Module):
    """Mean and unbiased standard deviation over time, of shape (batch, 2 x channel, 1)."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.mean(dim=2), x.std(dim=2)], dim=1).unsqueeze(2)


class CAMPlusPlus(nn.Module):
    """CAM++ from 80 bins to an embedding of 512 (VoxCeleb) or 192 (Chinese) dimensions."""

    def __init__(self, embedding: int) -> None:
        super().__init__()
        self.head = Head()
        width = 128
        entry = nn.Conv1d(320, width, 5, stride=2, padding=2, bias=False)
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            tdnn=nn.Sequential(OrderedDict(linear=entry, nonlinear=_rectified(width)))
        )
        for at, (count, dilation) in enumerate(_BLOCKS, start=1):
            layers[f"block{at}"] = nn.Sequential(
                OrderedDict(
                    (f"tdnnd{layer + 1}", DenseLayer(width + layer * _GROWTH, dilation))
                    for layer in range(count)
                )
            )
            width += count * _GROWTH
            layers[f"transit{at}"] = _transit(width)
            width //= 2
        layers["out_nonlinear"] = _rectified(width)
        layers["stats"] = Statistics()
        norm = nn.Sequential(OrderedDict(batchnorm=nn.BatchNorm1d(embedding, affine=False)))
        layers["dense"] = nn.Sequential(
            OrderedDict(linear=nn.Conv1d(2 * width, embedding, 1, bias=False), nonlinear=norm)
        )
        self.xvector = nn.Sequential(layers)

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of shape (batch, dimension), of features of shape (batch, frame, bin)."""
        out: Tensor = self.xvector(self.head(features))
        return out.squeeze(2)


def formed(shapes: Shapes) -> CAMPlusPlus:
    """CAM++ with the embedding that a checkpoint's shapes tell."""
    return CAMPlusPlus(size(shapes, "xvector.dense.linear.weight", otherwise=512))
