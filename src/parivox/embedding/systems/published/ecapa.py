"""ECAPA-TDNN as TaoRuijie published it.

Convolutions are rectified, then normalised. The last of the eight groups of a block passes
through. Modules are named as in the published checkpoint; features come in as (batch, frame, bin).
Needs torch; :mod:`parivox.embedding.systems.published` imports it when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from parivox.embedding.systems.published.checkpoint import size

if TYPE_CHECKING:
    from parivox.embedding.systems.published.checkpoint import Shapes

__all__ = ["ECAPA", "formed"]

_GROUPS = 8
_POOLED = 1536


class SqueezeExcitation(nn.Module):
    """Scales each channel by what its mean over time says."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.se = nn.Sequential(
            nn.AdaptiveAvgPool1d(1),
            nn.Conv1d(channels, 128, 1),
            nn.ReLU(),
            nn.Conv1d(128, channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        scale: Tensor = self.se(x)
        return x * scale


class Block(nn.Module):
    """A Res2Net block: seven groups convolved one after the other, the eighth as it is."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        width = channels // _GROUPS
        self.conv1 = nn.Conv1d(channels, channels, 1)
        self.bn1 = nn.BatchNorm1d(channels)
        self.convs = nn.ModuleList(
            nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
            for _ in range(_GROUPS - 1)
        )
        self.bns = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(_GROUPS - 1))
        self.conv3 = nn.Conv1d(channels, channels, 1)
        self.bn3 = nn.BatchNorm1d(channels)
        self.se = SqueezeExcitation(channels)

    def forward(self, x: Tensor) -> Tensor:
        grouped: Tensor = self.bn1(self.conv1(x).relu())
        out: Tensor = self.bn3(self.conv3(self.res2(grouped)).relu())
        out = self.se(out)
        return out + x

    def res2(self, x: Tensor) -> Tensor:
        """Each group convolved together with what came of the group before it."""
        *convolved, passed = x.chunk(_GROUPS, dim=1)
        done: list[Tensor] = []
        for conv, norm, group in zip(self.convs, self.bns, convolved, strict=True):
            entering = group + done[-1] if done else group
            done.append(norm(conv(entering).relu()))
        return torch.cat([*done, passed], dim=1)


class ECAPA(nn.Module):
    """ECAPA-TDNN of 512 or 1024 channels, from 80 bins to 192 dimensions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(80, channels, 5, padding=2)
        self.bn1 = nn.BatchNorm1d(channels)
        self.layer1 = Block(channels, 2)
        self.layer2 = Block(channels, 3)
        self.layer3 = Block(channels, 4)
        self.layer4 = nn.Conv1d(3 * channels, _POOLED, 1)
        self.attention = nn.Sequential(
            nn.Conv1d(3 * _POOLED, 256, 1),
            nn.ReLU(),
            nn.BatchNorm1d(256),
            nn.Tanh(),
            nn.Conv1d(256, _POOLED, 1),
            nn.Softmax(dim=2),
        )
        self.bn5 = nn.BatchNorm1d(2 * _POOLED)
        self.fc6 = nn.Linear(2 * _POOLED, 192)
        self.bn6 = nn.BatchNorm1d(192)

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of shape (batch, dimension), of features of shape (batch, frame, bin)."""
        x: Tensor = self.bn1(self.conv1(features.transpose(1, 2)).relu())
        first: Tensor = self.layer1(x)
        second: Tensor = self.layer2(x + first)
        third: Tensor = self.layer3(x + first + second)
        x = self.layer4(torch.cat([first, second, third], dim=1)).relu()
        out: Tensor = self.bn6(self.fc6(self.bn5(self.pooled(x))))
        return out

    def pooled(self, x: Tensor) -> Tensor:
        """Mean and deviation over time, weighted by attention that knows both of them."""
        mean = x.mean(dim=2, keepdim=True)
        deviation = x.var(dim=2, keepdim=True).clamp(min=1e-4).sqrt()
        context = torch.cat([x, mean.expand_as(x), deviation.expand_as(x)], dim=1)
        weights: Tensor = self.attention(context)
        mean = (x * weights).sum(dim=2)
        variance = (x**2 * weights).sum(dim=2) - mean**2
        return torch.cat([mean, variance.clamp(min=1e-4).sqrt()], dim=1)


def formed(shapes: Shapes) -> ECAPA:
    """The form that a checkpoint's shapes tell."""
    channels = size(shapes, "conv1.weight", otherwise=1024)
    return ECAPA(channels if channels == 512 else 1024)
