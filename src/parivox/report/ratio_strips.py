"""Strips: a ratio with its interval on a fixed axis from 1/4 to 16, as signs or as SVG."""

from __future__ import annotations

import math

LOWEST, HIGHEST = 1 / 4, 16
TICKS = {1 / 4: "1/4", 1: "1", 4: "4", 16: "16"}
"""Marks of the axis with their labels."""
SIGNS = {"worse": "▲", "better": "▼", "equivalent": "=", "inconclusive": "?"}
"""The sign of a verdict next to a number."""
SHAPES = {
    "worse": "M-5 4L0 -5L5 4Z",
    "better": "M-5 -4L0 5L5 -4Z",
    "equivalent": "M-5 -3H5V-1H-5ZM-5 1H5V3H-5Z",
    "inconclusive": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
}
"""The shape of a verdict on an axis, as an SVG path around the position of the ratio."""
_AXIS_SIGNS = SIGNS | {"inconclusive": "○"}
INKS = {"worse": "#d04a00", "better": "#00855f"}
"""Colours that can be read on light and on dark backgrounds."""
_WIDTH, _HEIGHT = 160, 14


def axis_position(ratio: float) -> float:
    """Return the position of a ratio on the axis: 0 at its left end or beyond, 1 at its right end.

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
    """Return a strip as signs: the interval as a line, the ratio as the sign of its verdict.

    Examples
    --------
    >>> sign_strip(2.0, 1.0, 4.0, "worse")
    '      ┼──▲───      '
    """
    signs = [" "] * width

    def column_of(axis_ratio: float) -> int:
        return round(axis_position(axis_ratio) * (width - 1))

    if low is not None and high is not None:
        for i in range(column_of(low), column_of(high) + 1):
            signs[i] = "─"
    signs[column_of(1)] = "┼" if signs[column_of(1)] == "─" else "│"
    if ratio is not None:
        signs[column_of(ratio)] = _AXIS_SIGNS.get(verdict, "○")
    return "".join(signs)


def axis_signs(width: int = 19) -> str:
    """Return the marks over strips of that width, as far as there is room for them."""
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
    """Return a strip as SVG that needs no stylesheet: grey within the margin, the rest as text.

    The ratio has the colour of its verdict, unless `ink` is given.

    Examples
    --------
    >>> svg_strip(2, 1, 4, "worse", margin=1.25).count("<path")
    3
    """

    def x_of(axis_ratio: float) -> float:
        return round(axis_position(axis_ratio) * _WIDTH, 1)

    ink, middle = ink or INKS.get(verdict, "currentColor"), _HEIGHT / 2
    start, end, equal_rates_x = x_of(1 / margin), x_of(margin), x_of(1)
    grey = 'fill="gray" fill-opacity="0.25"'
    elements = [
        f'<rect x="{start}" width="{end - start:.1f}" height="{_HEIGHT}" {grey}/>',
        f'<path d="M{equal_rates_x} 0V{_HEIGHT}" stroke="currentColor"/>',
    ]
    if low is not None and high is not None:
        elements.append(f'<path d="M{x_of(low)} {middle:g}H{x_of(high)}" stroke="{ink}"/>')
    if ratio is not None:
        shape = SHAPES.get(verdict, SHAPES["inconclusive"])
        fill = ink if verdict in SHAPES and verdict != "inconclusive" else "none"
        transform = f'transform="translate({x_of(ratio)} {middle:g})"'
        elements.append(f'<path d="{shape}" {transform} fill="{fill}" stroke="{ink}"/>')
    box = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="-6 0 {_WIDTH + 12} {_HEIGHT}"'
    return f'<svg {box} aria-hidden="true">{"".join(elements)}</svg>'
