"""ECAPA-TDNN as TaoRuijie and as SpeechBrain published it.

They are two networks, and 3D-Speaker's own has the layout of SpeechBrain's. TaoRuijie's lets the
last of the eight groups of a block pass through, and a block takes the sum of those before;
SpeechBrain's lets the first pass, mirrors signals at their ends, and pools otherwise. In both,
convolutions are rectified, then normalised. Modules are named as in the published checkpoints;
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


def taoruijie(shapes: Shapes) -> ECAPA:
    """The form of TaoRuijie's network that a checkpoint's shapes tell."""
    channels = size(shapes, "conv1.weight", otherwise=1024)
    return ECAPA(channels if channels == 512 else 1024)


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


class SpeechBrainExcitation(nn.Module):
    """Scales each channel by what its mean over time says."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = _conv(channels, 128)
        self.conv2 = _conv(128, channels)

    def forward(self, x: Tensor) -> Tensor:
        scale: Tensor = self.conv2(self.conv1(x.mean(dim=2, keepdim=True)).relu())
        return x * scale.sigmoid()


class SpeechBrainBlock(nn.Module):
    """Pointwise, Res2, pointwise, squeeze-and-excitation, and the input added."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.tdnn1 = TDNN(channels, channels)
        self.res2net_block = Res2(channels, dilation)
        self.tdnn2 = TDNN(channels, channels)
        self.se_block = SpeechBrainExcitation(channels)

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
            [
                TDNN(80, channels, 5),
                *(SpeechBrainBlock(channels, dilation) for dilation in (2, 3, 4)),
            ]
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


def speechbrain(shapes: Shapes) -> ECAPASpeechBrain:
    """The form of SpeechBrain's network that a checkpoint's shapes tell."""
    channels = size(shapes, "blocks.0.conv.conv.weight", otherwise=1024)
    return ECAPASpeechBrain(channels if channels == 512 else 1024)
