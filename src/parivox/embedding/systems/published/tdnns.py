"""Time-delay networks: ECAPA-TDNN of TaoRuijie and of SpeechBrain, and 3D-Speaker's CAM++.

The two ECAPAs are two networks, and 3D-Speaker's own has the layout of SpeechBrain's. TaoRuijie's
lets the last of the eight groups of a block pass through, and a block takes the sum of those
before; SpeechBrain's lets the first pass, mirrors signals at their ends, and pools otherwise. In
both, convolutions are rectified, then normalised. CAM++ is a densely connected TDNN with
context-aware masking, behind convolutions on the plane of mel and time.

Modules are named as in the published checkpoints. All take features (batch, frame, bin) to vectors
(batch, dimension). Needs torch; `parivox.embedding.systems.published` imports it when it is
asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from parivox.embedding.systems.published.resnets import plane, shortcut, size

if TYPE_CHECKING:
    from parivox.embedding.systems.published.resnets import Shapes

_GROUPS = 8
_POOLED = 1536


def _channels(shapes: Shapes, first_key: str) -> int:
    """ECAPA-TDNN comes with 512 or 1024, as the weights of its first convolution tell."""
    return 512 if size(shapes, first_key, otherwise=1024) == 512 else 1024


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


class TaoRuijieBlock(nn.Module):
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


class TaoRuijieECAPA(nn.Module):
    """ECAPA-TDNN of 512 or 1024 channels, from 80 bins to 192 dimensions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(80, channels, 5, padding=2)
        self.bn1 = nn.BatchNorm1d(channels)
        self.layer1 = TaoRuijieBlock(channels, 2)
        self.layer2 = TaoRuijieBlock(channels, 3)
        self.layer3 = TaoRuijieBlock(channels, 4)
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

    @classmethod
    def of_shapes(cls, shapes: Shapes) -> Self:
        """The form that a checkpoint's shapes tell."""
        return cls(_channels(shapes, "conv1.weight"))

    def forward(self, features: Tensor) -> Tensor:
        x: Tensor = self.bn1(self.conv1(features.transpose(1, 2)).relu())
        features1: Tensor = self.layer1(x)
        features2: Tensor = self.layer2(x + features1)
        features3: Tensor = self.layer3(x + features1 + features2)
        x = self.layer4(torch.cat([features1, features2, features3], dim=1)).relu()
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


class SpeechBrainECAPA(nn.Module):
    """ECAPA-TDNN of `channels` and three times as many pooled, from 80 bins to 192 dimensions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([TDNN(80, channels, 5)])
        self.blocks.extend(SpeechBrainBlock(channels, dilation) for dilation in (2, 3, 4))
        self.mfa = TDNN(3 * channels, 3 * channels)
        self.asp = Pooling(3 * channels)
        self.asp_bn = _norm(6 * channels)
        self.fc = _conv(6 * channels, 192)

    @classmethod
    def of_shapes(cls, shapes: Shapes) -> Self:
        """The form that a checkpoint's shapes tell."""
        return cls(_channels(shapes, "blocks.0.conv.conv.weight"))

    def forward(self, features: Tensor) -> Tensor:
        x = features.transpose(1, 2)
        outs: list[Tensor] = []
        for block in self.blocks:
            x = block(x)
            outs.append(x)
        x = self.mfa(torch.cat(outs[1:], dim=1))
        out: Tensor = self.fc(self.asp_bn(self.asp(x)))
        return out.squeeze(2)


_GROWTH = 32
_BOTTLENECK = 128
_BLOCKS = ((12, 1), (24, 2), (16, 2))  # layers and dilation of each dense block
_SEGMENT = 100  # frames of a segment of context: 2 s, since the stride before it is 2


def segment_means(x: Tensor) -> Tensor:
    """Each frame's mean over its segment of 100 frames, of the shape of `x`; the last is partial.

    Written in sums, since runtimes differ on the mean of a partial window.
    """
    length = x.shape[-1]
    count = (length + _SEGMENT - 1) // _SEGMENT
    missing = count * _SEGMENT - length
    shape = (x.shape[0], x.shape[1], count, _SEGMENT)
    sums = functional.pad(x, (0, missing)).reshape(shape).sum(dim=3)
    counted = functional.pad(torch.ones_like(x[:1, :1]), (0, missing)).reshape(
        1, 1, count, _SEGMENT
    )
    means = (sums / counted.sum(dim=3)).unsqueeze(3).expand(shape)
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
        self.shortcut = shortcut(width, width, 1 if stride == 1 else (stride, 1))

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
        x: Tensor = self.bn1(self.conv1(plane(features))).relu()
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
        for block_number, (count, dilation) in enumerate(_BLOCKS, start=1):
            layers[f"block{block_number}"] = nn.Sequential(
                OrderedDict(
                    (f"tdnnd{layer + 1}", DenseLayer(width + layer * _GROWTH, dilation))
                    for layer in range(count)
                )
            )
            width += count * _GROWTH
            layers[f"transit{block_number}"] = _transit(width)
            width //= 2
        layers["out_nonlinear"] = _rectified(width)
        layers["stats"] = Statistics()
        norm = nn.Sequential(OrderedDict(batchnorm=nn.BatchNorm1d(embedding, affine=False)))
        layers["dense"] = nn.Sequential(
            OrderedDict(linear=nn.Conv1d(2 * width, embedding, 1, bias=False), nonlinear=norm)
        )
        self.xvector = nn.Sequential(layers)

    @classmethod
    def of_shapes(cls, shapes: Shapes) -> Self:
        """With the embedding that a checkpoint's shapes tell."""
        return cls(size(shapes, "xvector.dense.linear.weight", otherwise=512))

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.xvector(self.head(features))
        return out.squeeze(2)
