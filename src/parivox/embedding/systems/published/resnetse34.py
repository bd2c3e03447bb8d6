"""clovaai's two residual networks with squeeze-and-excitation: ResNetSE34L and ResNetSE34V2.

Modules are named as in the published checkpoints. Features come in as (batch, frame, bin).
Needs torch; :mod:`parivox.embedding.systems.published` imports it when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from parivox.embedding.systems.published.checkpoint import size

if TYPE_CHECKING:
    from parivox.embedding.systems.published.checkpoint import Shapes


class SqueezeExcitation(nn.Module):
    """Scales each channel by what its mean over both axes says."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        hidden = channels // 8
        self.fc = nn.Sequential(
            nn.Linear(channels, hidden), nn.ReLU(), nn.Linear(hidden, channels), nn.Sigmoid()
        )

    def forward(self, x: Tensor) -> Tensor:
        scale: Tensor = self.fc(x.mean(dim=(2, 3)))
        return x * scale[:, :, None, None]


class Block(nn.Module):
    """Two convolutions and a shortcut; the first is rectified before it is normalised."""

    def __init__(self, entering: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(entering, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.se = SqueezeExcitation(width)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or entering != width:
            self.downsample = nn.Sequential(
                nn.Conv2d(entering, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.bn1(self.conv1(x).relu())
        out = self.se(self.bn2(self.conv2(out)))
        return torch.relu(out + self.downsample(x))


class _Trunk(nn.Module):
    """The four stages of 3, 4, 6 and 3 blocks that both networks have."""

    def __init__(self, width: int, last_stride: int) -> None:
        super().__init__()
        entering = width
        for at, (count, stride) in enumerate([(3, 1), (4, 2), (6, 2), (3, last_stride)]):
            leaving = width << at
            first = Block(entering, leaving, stride)
            rest = [Block(leaving, leaving, 1) for _ in range(count - 1)]
            self.add_module(f"layer{at + 1}", nn.Sequential(first, *rest))
            entering = leaving

    def stages(self, x: Tensor) -> Tensor:
        for at in range(1, 5):
            x = self.get_submodule(f"layer{at}")(x)
        return x


def statistics(x: Tensor, weights: Tensor, time: int) -> Tensor:
    """Weighted mean and standard deviation over the axis `time`, side by side."""
    mean = (x * weights).sum(time)
    variance = (x**2 * weights).sum(time) - mean**2
    return torch.cat([mean, variance.clamp(min=1e-5).sqrt()], dim=1)


class ResNetSE34L(_Trunk):
    """Fast ResNet-34: 16 to 128 channels, mean over mel bins, one attention weight a frame.

    Parameters
    ----------
    embedding : int
    deviation : bool
        Pool the standard deviation beside the mean (ASP), not the mean alone (SAP, as published).
    """

    def __init__(self, embedding: int, *, deviation: bool) -> None:
        super().__init__(16, last_stride=1)
        self.conv1 = nn.Conv2d(1, 16, 7, (2, 1), padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.deviation = deviation
        self.sap_linear = nn.Linear(128, 128)
        self.attention = nn.Parameter(torch.empty(128, 1))
        nn.init.xavier_normal_(self.attention)
        self.fc = nn.Linear(256 if deviation else 128, embedding)

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of shape (batch, dimension), of features of shape (batch, frame, bin)."""
        x: Tensor = self.bn1(self.conv1(features.transpose(1, 2).unsqueeze(1))).relu()
        out: Tensor = self.fc(self.pooled(self.stages(x).mean(dim=2).transpose(1, 2)))
        return out

    def pooled(self, x: Tensor) -> Tensor:
        """What is left of (batch, frame, channel) when the frames are weighted and summed."""
        hidden: Tensor = self.sap_linear(x).tanh()
        weights = (hidden @ self.attention).softmax(dim=1)
        return statistics(x, weights, 1) if self.deviation else (x * weights).sum(1)


class ResNetSE34V2(_Trunk):
    """32 to 256 channels; attentive statistics of each channel and mel bin."""

    def __init__(self, embedding: int) -> None:
        super().__init__(32, last_stride=2)
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(32)
        self.attention = nn.Sequential(
            nn.Conv1d(2048, 128, 1),
            nn.ReLU(),
            nn.BatchNorm1d(128),
            nn.Conv1d(128, 2048, 1),
            nn.Softmax(dim=2),
        )
        self.fc = nn.Linear(4096, embedding)

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of shape (batch, dimension), of features of shape (batch, frame, bin)."""
        x: Tensor = self.bn1(self.conv1(features.transpose(1, 2).unsqueeze(1)).relu())
        x = self.stages(x).flatten(1, 2)
        out: Tensor = self.fc(statistics(x, self.attention(x), 2))
        return out


def light(shapes: Shapes) -> ResNetSE34L:
    """The form of ResNetSE34L that a checkpoint's shapes tell."""
    pooled = size(shapes, "fc.weight", axis=1, otherwise=128)
    embedding = size(shapes, "fc.weight", otherwise=512)
    return ResNetSE34L(embedding, deviation=pooled == 256)


def second(shapes: Shapes) -> ResNetSE34V2:
    """ResNetSE34V2 with the embedding that a checkpoint's shapes tell."""
    return ResNetSE34V2(size(shapes, "fc.weight", otherwise=512))
