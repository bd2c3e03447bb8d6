"""ERes2Net and ERes2NetV2 as 3D-Speaker published them, in all their sizes.

Modules are named as in the published checkpoints; features come in as (batch, frame, bin).
Needs torch; :mod:`parivox.embedding.systems.published` imports it when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from parivox.embedding.systems.published.checkpoint import size

if TYPE_CHECKING:
    from parivox.embedding.systems.published.checkpoint import Shapes


class Form(NamedTuple):
    """What makes one size of the networks."""

    channels: int
    """Of the first convolution; the stages have 1, 2, 4 and 8 times as many planes."""
    base: int
    """Width of a sub-band for 64 planes."""
    scale: int
    """Sub-bands of a block."""
    expansion: int
    """Channels that leave a block, for each plane."""


BASE = Form(32, 32, 2, 2)
LARGE = Form(64, 32, 2, 2)
HUGE = Form(64, 24, 3, 4)
V2 = Form(64, 26, 2, 2)
V2_WIDE = Form(64, 24, 4, 4)


def _clipped(x: Tensor) -> Tensor:
    """Rectified, and cut at 20."""
    return x.clamp(0.0, 20.0)


class Fusion(nn.Module):
    """Attentive feature fusion: weights a of the one and 2 - a of the other, a in (0, 2)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        hidden = channels // 4
        self.local_att = nn.Sequential(
            nn.Conv2d(2 * channels, hidden, 1),
            nn.BatchNorm2d(hidden),
            nn.SiLU(),
            nn.Conv2d(hidden, channels, 1),
            nn.BatchNorm2d(channels),
        )

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        weight: Tensor = 1.0 + self.local_att(torch.cat([one, other], dim=1)).tanh()
        return one * weight + other * (2.0 - weight)


class Block(nn.Module):
    """Sub-bands convolved one after the other, each joined to the one before.

    They are joined by addition, or in the last two stages (`fused`) by :class:`Fusion`.
    """

    def __init__(self, entering: int, planes: int, stride: int, form: Form, *, fused: bool) -> None:
        super().__init__()
        width, leaving = planes * form.base // 64, planes * form.expansion
        self.conv1 = nn.Conv2d(entering, width * form.scale, 1, stride, bias=False)
        self.bn1 = nn.BatchNorm2d(width * form.scale)
        self.convs = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(form.scale)
        )
        self.bns = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(form.scale))
        joins = form.scale - 1 if fused else 0
        self.fuse_models = nn.ModuleList(Fusion(width) for _ in range(joins))
        self.conv3 = nn.Conv2d(width * form.scale, leaving, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(leaving)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or entering != leaving:
            self.shortcut = nn.Sequential(
                nn.Conv2d(entering, leaving, 1, stride, bias=False), nn.BatchNorm2d(leaving)
            )

    def forward(self, x: Tensor) -> Tensor:
        bands = _clipped(self.bn1(self.conv1(x))).chunk(len(self.convs), dim=1)
        done: list[Tensor] = []
        for at, (conv, norm, band) in enumerate(zip(self.convs, self.bns, bands, strict=True)):
            entering = self._joined(at, done[-1], band) if done else band
            done.append(_clipped(norm(conv(entering))))
        out: Tensor = self.bn3(self.conv3(torch.cat(done, dim=1)))
        return _clipped(out + self.shortcut(x))

    def _joined(self, at: int, before: Tensor, band: Tensor) -> Tensor:
        if not len(self.fuse_models):
            return before + band
        out: Tensor = self.fuse_models[at - 1](before, band)
        return out


class _Stages(nn.Module):
    """First convolution, the four stages of 3, 4, 6 and 3 blocks, and the pooled statistics."""

    def __init__(self, form: Form, embedding: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, form.channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(form.channels)
        entering = form.channels
        for at, count in enumerate((3, 4, 6, 3)):
            planes = form.channels << at
            blocks = []
            for block in range(count):
                stride = 2 if at and not block else 1
                blocks.append(Block(entering, planes, stride, form, fused=at >= 2))
                entering = planes * form.expansion
            self.add_module(f"layer{at + 1}", nn.Sequential(*blocks))
        self.seg_1 = nn.Linear(2 * 10 * entering, embedding)

    def stages(self, features: Tensor) -> list[Tensor]:
        """What leaves each of the four, of shape (batch, channel, mel, time)."""
        x: Tensor = self.bn1(self.conv1(features.transpose(1, 2).unsqueeze(1))).relu()
        outs: list[Tensor] = []
        for at in range(1, 5):
            x = self.get_submodule(f"layer{at}")(x)
            outs.append(x)
        return outs

    def embedded(self, x: Tensor) -> Tensor:
        """Mean and unbiased deviation over time of each channel and mel bin, made a vector."""
        deviation = (x.var(dim=-1) + 1e-8).sqrt()
        pooled = torch.cat([x.mean(dim=-1).flatten(1), deviation.flatten(1)], dim=1)
        out: Tensor = self.seg_1(pooled)
        return out


def _downsampling(entering: int) -> nn.Conv2d:
    return nn.Conv2d(entering, 2 * entering, 3, stride=2, padding=1, bias=False)


class ERes2Net(_Stages):
    """Its four stages are fused from the bottom up."""

    def __init__(self, form: Form, embedding: int) -> None:
        super().__init__(form, embedding)
        width = form.channels * form.expansion
        self.layer1_downsample = _downsampling(width)
        self.layer2_downsample = _downsampling(2 * width)
        self.layer3_downsample = _downsampling(4 * width)
        self.fuse_mode12 = Fusion(2 * width)
        self.fuse_mode123 = Fusion(4 * width)
        self.fuse_mode1234 = Fusion(8 * width)

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of shape (batch, dimension), of features of shape (batch, frame, bin)."""
        x, *above = self.stages(features)
        x = self.fuse_mode12(above[0], self.layer1_downsample(x))
        x = self.fuse_mode123(above[1], self.layer2_downsample(x))
        x = self.fuse_mode1234(above[2], self.layer3_downsample(x))
        return self.embedded(x)


class ERes2NetV2(_Stages):
    """Its last two stages are fused."""

    def __init__(self, form: Form, embedding: int) -> None:
        super().__init__(form, embedding)
        width = form.channels * form.expansion
        self.layer3_ds = _downsampling(4 * width)
        self.fuse34 = Fusion(8 * width)

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of shape (batch, dimension), of features of shape (batch, frame, bin)."""
        *_, third, fourth = self.stages(features)
        return self.embedded(self.fuse34(fourth, self.layer3_ds(third)))


def _embedding(shapes: Shapes) -> int:
    return size(shapes, "seg_1.weight", otherwise=192)


def first(shapes: Shapes) -> ERes2Net:
    """The form of ERes2Net that a checkpoint's shapes tell."""
    channels = size(shapes, "conv1.weight", otherwise=32)
    huge = "layer1.0.convs.2.weight" in shapes
    form = HUGE if huge else LARGE if channels == LARGE.channels else BASE
    return ERes2Net(form, _embedding(shapes))


def second(shapes: Shapes) -> ERes2NetV2:
    """The form of ERes2NetV2 that a checkpoint's shapes tell."""
    wide = "layer1.0.convs.3.weight" in shapes
    return ERes2NetV2(V2_WIDE if wide else V2, _embedding(shapes))
