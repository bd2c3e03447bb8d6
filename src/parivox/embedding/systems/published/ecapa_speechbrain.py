"""ECAPA-TDNN as SpeechBrain published it; 3D-Speaker's own has the same layout.

Not the network of :mod:`parivox.embedding.systems.published.ecapa`: here the first of the eight
groups of a block passes through, signals are mirrored at their ends, a block's input is not the
sum of those before, and the pooling differs. Modules are named as in the published checkpoint;
features come in as (batch, frame, bin).
Needs torch; :mod:`parivox.embedding.systems.published` imports it when it is asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from parivox.embedding.systems.published.checkpoint import size

if TYPE_CHECKING:
    from parivox.embedding.systems.published.checkpoint import Shapes

__all__ = ["ECAPASpeechBrain", "formed"]

_GROUPS = 8


def _conv(entering: int, leaving: int, kernel: int = 1, dilation: int = 1) -> nn.Sequential:
    """A convolution of equal length, one level deeper in the names: ``conv``."""
    padding = dilation * (kernel - 1) // 2
    conv = nn.Conv1d(
        entering, leaving, kernel, padding=padding, dilation=dilation, padding_mode="reflect"
    )
    return nn.Sequential(OrderedDict(conv=conv))


def _norm(channels: int) -> nn.Sequential:
    return nn.Sequential(OrderedDict(norm=nn.BatchNorm1d(channels)))


class TDNN(nn.Module):
    """Convolution, rectified, then normalised."""

    def __init__(self, entering: int, leaving: int, kernel: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.conv = _conv(entering, leaving, kernel, dilation)
        self.norm = _norm(leaving)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(self.conv(x).relu())
        return out


class Res2(nn.Module):
    """Eight groups: the first as it is, the others convolved one after the other."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        width = channels // _GROUPS
        self.blocks = nn.ModuleList(TDNN(width, width, 3, dilation) for _ in range(_GROUPS - 1))

    def forward(self, x: Tensor) -> Tensor:
        passed, *convolved = x.chunk(_GROUPS, dim=1)
        done: list[Tensor] = []
        for block, group in zip(self.blocks, convolved, strict=True):
            done.append(block(group + done[-1] if done else group))
        return torch.cat([passed, *done], dim=1)


class SqueezeExcitation(nn.Module):
    """Scales each channel by what its mean over time says."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = _conv(channels, 128)
        self.conv2 = _conv(128, channels)

    def forward(self, x: Tensor) -> Tensor:
        scale: Tensor = self.conv2(self.conv1(x.mean(dim=2, keepdim=True)).relu())
        return x * scale.sigmoid()


class Block(nn.Module):
    """Pointwise, Res2, pointwise, squeeze-and-excitation, and the input added."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.tdnn1 = TDNN(channels, channels)
        self.res2net_block = Res2(channels, dilation)
        self.tdnn2 = TDNN(channels, channels)
        self.se_block = SqueezeExcitation(channels)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.se_block(self.tdnn2(self.res2net_block(self.tdnn1(x))))
        return out + x


def _statistics(x: Tensor, weights: Tensor | float) -> tuple[Tensor, Tensor]:
    """Weighted mean and standard deviation over time, each of shape (batch, channel, 1)."""
    mean = (x * weights).sum(dim=2, keepdim=True)
    variance = ((x - mean) ** 2 * weights).sum(dim=2, keepdim=True)
    return mean, variance.clamp(min=1e-12).sqrt()


class Pooling(nn.Module):
    """Attentive statistics; the attention knows the mean and deviation of the whole."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.tdnn = TDNN(3 * channels, 128)
        self.conv = _conv(128, channels)

    def forward(self, x: Tensor) -> Tensor:
        mean, deviation = _statistics(x, 1.0 / x.shape[2])
        context = torch.cat([x, mean.expand_as(x), deviation.expand_as(x)], dim=1)
        weights: Tensor = self.conv(self.tdnn(context).tanh())
        return torch.cat(_statistics(x, weights.softmax(dim=2)), dim=1)


class ECAPASpeechBrain(nn.Module):
    """ECAPA-TDNN of `channels` and three times as many pooled, from 80 bins to 192 dimensions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            [TDNN(80, channels, 5), *(Block(channels, dilation) for dilation in (2, 3, 4))]
        )
        self.mfa = TDNN(3 * channels, 3 * channels)
        self.asp = Pooling(3 * channels)
        self.asp_bn = _norm(6 * channels)
        self.fc = _conv(6 * channels, 192)

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of shape (batch, dimension), of features of shape (batch, frame, bin)."""
        x = features.transpose(1, 2)
        outs: list[Tensor] = []
        for block in self.blocks:
            x = block(x)
            outs.append(x)
        x = self.mfa(torch.cat(outs[1:], dim=1))
        out: Tensor = self.fc(self.asp_bn(self.asp(x)))
        return out.squeeze(2)


def formed(shapes: Shapes) -> ECAPASpeechBrain:
    """The form that a checkpoint's shapes tell."""
    channels = size(shapes, "blocks.0.conv.conv.weight", otherwise=1024)
    return ECAPASpeechBrain(channels if channels == 512 else 1024)
