"""A ratio with its interval on a fixed axis from a quarter to sixteen times: as signs, as SVG."""

from __future__ import annotations

import math

LOWEST, HIGHEST = 1 / 4, 16
TICKS = {1 / 4: "1/4", 1: "1", 4: "4", 16: "16"}
"""Marks of the axis and what stands at them."""
SIGNS = {"worse": "▲", "better": "▼", "no_difference": "=", "cannot_tell": "?"}
"""What stands for a verdict beside a number."""
SHAPES = {
    "worse": "M-5 4L0 -5L5 4Z",
    "better": "M-5 -4L0 5L5 -4Z",
    "no_difference": "M-5 -3H5V-1H-5ZM-5 1H5V3H-5Z",
    "cannot_tell": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
}
"""What stands for a verdict on an axis, as paths around its place."""
_POINTS = SIGNS | {"cannot_tell": "○"}
INKS = {"worse": "#d04a00", "better": "#00855f"}
"""Read on light and on dark ground alike."""
_WIDTH, _HEIGHT = 160, 14


def axis_position(ratio: float) -> float:
    """Where a ratio stands on the axis: 0 at its left end or beyond, 1 at its right end or beyond.

    Examples
    --------
    >>> [round(axis_position(ratio), 3) for ratio in (0, 0.25, 1, 16, 100)]
    [0.0, 0.0, 0.333, 1.0, 1.0]
    """
    if ratio <= LOWEST:
        return 0.0
    return min(1.0, math.log(ratio / LOWEST) / math.log(HIGHEST / LOWEST))


def sign_strip(
    ratio: float | None, low: float | None, high: float | None, verdict: str, *, width: int = 19
) -> str:
    """A strip as signs of one width: the interval as a line, the ratio as the sign of its verdict.

    Examples
    --------
    >>> sign_strip(2.0, 1.0, 4.0, "worse")
    '      ┼──▲───      '
    """
    signs = [" "] * width

    def at(value: float) -> int:
        return round(axis_position(value) * (width - 1))

    if low is not None and high is not None:
        for i in range(at(low), at(high) + 1):
            signs[i] = "─"
    signs[at(1)] = "┼" if signs[at(1)] == "─" else "│"
    if ratio is not None:
        signs[at(ratio)] = _POINTS.get(verdict, "○")
    return "".join(signs)


def axis_signs(width: int = 19) -> str:
    """The marks over strips of that width, as far as there is room for them."""
    signs = [" "] * width
    for ratio, words in TICKS.items():
        start = min(round(axis_position(ratio) * (width - 1)), width - len(words))
        signs[start : start + len(words)] = words
    return "".join(signs)


def svg_strip(
    ratio: float | None,
    low: float | None,
    high: float | None,
    verdict: str,
    *,
    margin: float,
    ink: str = "",
) -> str:
    """A strip as SVG that needs no stylesheet: grey within the margin, the rest in the ink of text.

    The ratio is in the ink of its verdict, unless in another one.

    Examples
    --------
    >>> svg_strip(2, 1, 4, "worse", margin=1.25).count("<path")
    3
    """

    def at(value: float) -> float:
        return round(axis_position(value) * _WIDTH, 1)

    ink, middle = ink or INKS.get(verdict, "currentColor"), _HEIGHT / 2
    start, end, one = at(1 / margin), at(margin), at(1)
    grey = 'fill="gray" fill-opacity="0.25"'
    drawn = [
        f'<rect x="{start}" width="{end - start:.1f}" height="{_HEIGHT}" {grey}/>',
        f'<path d="M{one} 0V{_HEIGHT}" stroke="currentColor"/>',
    ]
    if low is not None and high is not None:
        drawn.append(f'<path d="M{at(low)} {middle:g}H{at(high)}" stroke="{ink}"/>')
    if ratio is not None:
        shape = SHAPES.get(verdict, SHAPES["cannot_tell"])
        fill = ink if verdict in SHAPES and verdict != "cannot_tell" else "none"
        moved = f'transform="translate({at(ratio)} {middle:g})"'
        drawn.append(f'<path d="{shape}" {moved} fill="{fill}" stroke="{ink}"/>')
    box = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="-6 0 {_WIDTH + 12} {_HEIGHT}"'
    return f'<svg {box} aria-hidden="true">{"".join(drawn)}</svg>'
