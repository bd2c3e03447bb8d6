"""Residual networks: clovaai's ResNetSE34L and ResNetSE34V2, 3D-Speaker's ERes2Net and ERes2NetV2.

Modules are named as in the published checkpoints. All take features (batch, frame, bin) to vectors
(batch, dimension). Needs torch; `parivox.embedding.systems.published` imports it when it is
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
    """The shape of each tensor of a checkpoint, by its key."""


def size(shapes: Shapes, key: str, *, axis: int = 0, otherwise: int) -> int:
    """How long a tensor is along an axis; `otherwise` where there is no such tensor or axis.

    >>> size({"fc.weight": (192, 3072)}, "fc.weight", otherwise=512)
    192
    >>> size({}, "fc.weight", otherwise=512)
    512
    """
    return next(iter(shapes.get(key, ())[axis : axis + 1]), 0) or otherwise


def shortcut(entering: int, leaving: int, stride: int | tuple[int, int]) -> nn.Module:
    """The way around a block: as it is, or a projection where the block changes the size."""
    if stride == 1 and entering == leaving:
        return nn.Identity()
    projection = nn.Conv2d(entering, leaving, 1, stride, bias=False)
    return nn.Sequential(projection, nn.BatchNorm2d(leaving))


def plane(features: Tensor) -> Tensor:
    """The features (batch, frame, bin) as an image of one channel, (batch, 1, bin, frame)."""
    return features.transpose(1, 2).unsqueeze(1)


class _ResNet34(nn.Module):
    """The four stages of 3, 4, 6 and 3 blocks that all these networks have."""

    def add_stages(
        self,
        width: int,
        block: Callable[[int, int, int], nn.Module],
        *,
        expansion: int = 1,
        last_stride: int = 2,
    ) -> None:
        """Add ``layer1`` to ``layer4``; `block` is of channels that enter, planes and stride.

        Stages have 1, 2, 4 and 8 times `width` planes, and `expansion` channels for each.
        """
        entering = width
        for stage, (count, stride) in enumerate([(3, 1), (4, 2), (6, 2), (3, last_stride)]):
            planes = width << stage
            blocks = []
            for number in range(count):
                blocks.append(block(entering, planes, 1 if number else stride))
                entering = planes * expansion
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))

    def stages(self, x: Tensor) -> list[Tensor]:
        """What leaves each of the four, of shape (batch, channel, mel, time)."""
        outs: list[Tensor] = []
        for stage in range(1, 5):
            x = self.get_submodule(f"layer{stage}")(x)
            outs.append(x)
        return outs


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


class SEBlock(nn.Module):
    """Two convolutions and a shortcut; the first is rectified before it is normalised."""

    def __init__(self, entering: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(entering, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.se = SqueezeExcitation(width)
        self.downsample = shortcut(entering, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.bn1(self.conv1(x).relu())
        out = self.se(self.bn2(self.conv2(out)))
        return torch.relu(out + self.downsample(x))


def statistics(x: Tensor, weights: Tensor, time: int) -> Tensor:
    """Weighted mean and standard deviation over the axis `time`, side by side."""
    mean = (x * weights).sum(time)
    variance = (x**2 * weights).sum(time) - mean**2
    return torch.cat([mean, variance.clamp(min=1e-5).sqrt()], dim=1)


class ResNetSE34L(_ResNet34):
    """Fast ResNet-34: 16 to 128 channels, mean over mel bins, one attention weight a frame.

    With `deviation` it pools the standard deviation beside the mean (ASP), else the mean alone
    (SAP, as published).
    """

    def __init__(self, embedding: int, *, deviation: bool) -> None:
        super().__init__()
        self.add_stages(16, SEBlock, last_stride=1)
        self.conv1 = nn.Conv2d(1, 16, 7, (2, 1), padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.deviation = deviation
        self.sap_linear = nn.Linear(128, 128)
        self.attention = nn.Parameter(torch.empty(128, 1))
        nn.init.xavier_normal_(self.attention)
        self.fc = nn.Linear(256 if deviation else 128, embedding)

    @classmethod
    def of_shapes(cls, shapes: Shapes) -> Self:
        """The form that a checkpoint's shapes tell."""
        pooled = size(shapes, "fc.weight", axis=1, otherwise=128)
        return cls(size(shapes, "fc.weight", otherwise=512), deviation=pooled == 256)

    def forward(self, features: Tensor) -> Tensor:
        x: Tensor = self.bn1(self.conv1(plane(features))).relu()
        out: Tensor = self.fc(self.pooled(self.stages(x)[-1].mean(dim=2).transpose(1, 2)))
        return out

    def pooled(self, x: Tensor) -> Tensor:
        """What is left of (batch, frame, channel) when the frames are weighted and summed."""
        hidden: Tensor = self.sap_linear(x).tanh()
        weights = (hidden @ self.attention).softmax(dim=1)
        return statistics(x, weights, 1) if self.deviation else (x * weights).sum(1)


class ResNetSE34V2(_ResNet34):
    """32 to 256 channels; attentive statistics of each channel and mel bin."""

    def __init__(self, embedding: int) -> None:
        super().__init__()
        self.add_stages(32, SEBlock)
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

    @classmethod
    def of_shapes(cls, shapes: Shapes) -> Self:
        """With the embedding that a checkpoint's shapes tell."""
        return cls(size(shapes, "fc.weight", otherwise=512))

    def forward(self, features: Tensor) -> Tensor:
        x: Tensor = self.bn1(self.conv1(plane(features)).relu())
        x = self.stages(x)[-1].flatten(1, 2)
        out: Tensor = self.fc(statistics(x, self.attention(x), 2))
        return out


class Form(NamedTuple):
    """What makes one size of ERes2Net."""

    channels: int  # of the first convolution; the stages have 1, 2, 4 and 8 times as many planes
    base: int  # width of a sub-band for 64 planes
    scale: int  # sub-bands of a block
    expansion: int  # channels that leave a block, for each plane


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

    def forward(self, features: Tensor, added: Tensor) -> Tensor:
        weight: Tensor = 1.0 + self.local_att(torch.cat([features, added], dim=1)).tanh()
        return features * weight + added * (2.0 - weight)


class Res2Block(nn.Module):
    """Sub-bands convolved one after the other, each joined to the one before.

    They are joined by addition, or in the last two stages (`fused`) by `Fusion`.
    """

    def __init__(self, entering: int, planes: int, stride: int, form: Form, *, fused: bool) -> None:
        super().__init__()
        width, leaving = planes * form.base // 64, planes * form.expansion
        bands = range(form.scale)
        self.conv1 = nn.Conv2d(entering, width * form.scale, 1, stride, bias=False)
        self.bn1 = nn.BatchNorm2d(width * form.scale)
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in bands)
        self.bns = nn.ModuleList(nn.BatchNorm2d(width) for _ in bands)
        self.fuse_models = nn.ModuleList(Fusion(width) for _ in bands[1:] if fused)
        self.conv3 = nn.Conv2d(width * form.scale, leaving, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(leaving)
        self.shortcut = shortcut(entering, leaving, stride)

    def forward(self, x: Tensor) -> Tensor:
        bands = _clipped(self.bn1(self.conv1(x))).chunk(len(self.convs), dim=1)
        convolved: list[Tensor] = []
        for band_index, (conv, norm, band) in enumerate(
            zip(self.convs, self.bns, bands, strict=True)
        ):
            entering = band
            if convolved:
                fused = len(self.fuse_models) > 0
                entering = (
                    self.fuse_models[band_index - 1](convolved[-1], band)
                    if fused
                    else convolved[-1] + band
                )
            convolved.append(_clipped(norm(conv(entering))))
        out: Tensor = self.bn3(self.conv3(torch.cat(convolved, dim=1)))
        return _clipped(out + self.shortcut(x))


def _downsampling(entering: int) -> nn.Conv2d:
    return nn.Conv2d(entering, 2 * entering, 3, stride=2, padding=1, bias=False)


class _Res2Net34(_ResNet34):
    """First convolution and stages of both; mean and deviation of each channel and mel bin."""

    def __init__(self, form: Form, embedding: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, form.channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(form.channels)

        def block(entering: int, planes: int, stride: int) -> Res2Block:
            return Res2Block(entering, planes, stride, form, fused=planes >= 4 * form.channels)

        self.add_stages(form.channels, block, expansion=form.expansion)
        self.seg_1 = nn.Linear(2 * 10 * 8 * form.channels * form.expansion, embedding)

    def bottom_up(self, features: Tensor) -> list[Tensor]:
        """What leaves each stage, of shape (batch, channel, mel, time)."""
        return self.stages(self.bn1(self.conv1(plane(features))).relu())

    def embedded(self, x: Tensor) -> Tensor:
        """Mean and unbiased deviation over time of each channel and mel bin, made a vector."""
        deviation = (x.var(dim=-1) + 1e-8).sqrt()
        pooled = torch.cat([x.mean(dim=-1).flatten(1), deviation.flatten(1)], dim=1)
        out: Tensor = self.seg_1(pooled)
        return out


class ERes2Net(_Res2Net34):
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

    @classmethod
    def of_shapes(cls, shapes: Shapes) -> Self:
        """The form that a checkpoint's shapes tell."""
        channels = size(shapes, "conv1.weight", otherwise=32)
        if "layer1.0.convs.2.weight" in shapes:  # three sub-bands
            form = HUGE
        else:
            form = LARGE if channels == LARGE.channels else BASE
        return cls(form, size(shapes, "seg_1.weight", otherwise=192))

    def forward(self, features: Tensor) -> Tensor:
        x, *above = self.bottom_up(features)
        x = self.fuse_mode12(above[0], self.layer1_downsample(x))
        x = self.fuse_mode123(above[1], self.layer2_downsample(x))
        x = self.fuse_mode1234(above[2], self.layer3_downsample(x))
        return self.embedded(x)


class ERes2NetV2(_Res2Net34):
    """Its last two stages are fused."""

    def __init__(self, form: Form, embedding: int) -> None:
        super().__init__(form, embedding)
        width = form.channels * form.expansion
        self.layer3_ds = _downsampling(4 * width)
        self.fuse34 = Fusion(8 * width)

    @classmethod
    def of_shapes(cls, shapes: Shapes) -> Self:
        """The form that a checkpoint's shapes tell."""
        wide = "layer1.0.convs.3.weight" in shapes
        return cls(V2_WIDE if wide else V2, size(shapes, "seg_1.weight", otherwise=192))

    def forward(self, features: Tensor) -> Tensor:
        *_, third, fourth = self.bottom_up(features)
        return self.embedded(self.fuse34(fourth, self.layer3_ds(third)))
