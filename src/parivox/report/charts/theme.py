"""Inks, sizes and fonts of every chart, for the HTML report and for paper.

The inks of the report are variables of its stylesheet, which has values for light, dark and print.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_PAGE_WIDTH = 640
_PIXELS_PER_INCH = 96
_NARROW_WIDTH = 400
_MAX_INCHES = 20
_SYMBOL_WIDTH = 26
"""Pixels for the symbol of a legend's name, and for the gap between names."""
_LETTER_WIDTH = 0.57
"""Average width of a letter, as a share of the font size."""
_WIDE_CHARACTERS = {"W", "F"}


def text_width(words: Iterable[str], size: float) -> float:
    """Return the approximate width of the longest of some words, in pixels.

    Examples
    --------
    >>> text_width(["f", "m+India*"], 10) < 60 < text_width(["f+New Zealand"], 10)
    True
    """
    n_letters = max((_width_in_letters(word) for word in words), default=0)
    return _LETTER_WIDTH * size * n_letters


def _width_in_letters(word: str) -> int:
    # wide East Asian characters take the room of two letters
    return sum(2 if east_asian_width(letter) in _WIDE_CHARACTERS else 1 for letter in word)


_SINGLE_INKS = ("ink", "muted", "grid", "paper", "band", "bad", "good")


@dataclass(frozen=True)
class Inks:
    """The colours of a chart, by what they are used for."""

    ink: str
    """Text and the main marks."""
    muted: str
    """Secondary text and marks."""
    grid: str
    paper: str
    band: str
    """Range of values if error rates were equal."""
    bad: str
    """For verdicts only."""
    good: str
    series: tuple[str, ...]
    """Groups, systems or lists, in order.

    Colour is never the only difference: shape, dash or position differ too.
    """
    heat: tuple[str, ...]
    """Classes of a rate in a heat map, from low to high."""

    def by_variable(self) -> dict[str, str]:
        """Return every ink by the name of its CSS variable, without the leading dashes."""
        single = {name: getattr(self, name) for name in _SINGLE_INKS}
        numbered = {
            f"{name}-{i}": ink
            for name in ("series", "heat")
            for i, ink in enumerate(getattr(self, name), 1)
        }
        return single | numbered


LIGHT = Inks(
    ink="#1c1f24",
    muted="#5b626d",
    grid="#dde0e5",
    paper="#ffffff",
    band="#e3e6eb",
    bad="#a02c00",
    good="#00654b",
    series=("#0072b2", "#a23b80", "#6b5b00", "#3d3d8f", "#7a6a9c", "#4d5560"),
    heat=("#fdf1c9", "#f9d58b", "#f2ad5c", "#dd7c4e", "#b94f55", "#83305f", "#45195a"),
)
"""Every series and text colour has a contrast of at least 4.5 with its background."""

DARK = Inks(
    ink="#eceef1",
    muted="#a5adb8",
    grid="#3a404a",
    paper="#16191e",
    band="#2b3038",
    bad="#ff9d72",
    good="#5cd3ad",
    series=("#5cb3ee", "#e58cc6", "#d6c24a", "#a6a6f5", "#b9a6d6", "#c3c9d1"),
    heat=("#33254a", "#5a2d6b", "#8b3a72", "#bd5168", "#e27a56", "#f5ae5b", "#fde7a0"),
)


INKS = Inks(
    ink="var(--ink)",
    muted="var(--muted)",
    grid="var(--grid)",
    paper="var(--paper)",
    band="var(--band)",
    bad="var(--bad)",
    good="var(--good)",
    series=tuple(f"var(--series-{i})" for i in range(1, 1 + len(LIGHT.series))),
    heat=tuple(f"var(--heat-{i})" for i in range(1, 1 + len(LIGHT.heat))),
)
"""CSS variables; the stylesheet of the report gives each a value for light, dark and print."""

_DASHES: tuple[list[int], ...] = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3])
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


@dataclass(frozen=True)
class Theme:
    """Inks, width and font size of charts."""

    inks: Inks
    width: int
    """Width of the whole chart, labels and legends included, in pixels."""
    size: float
    """Font size in pixels."""

    def colours(self, n: int) -> list[str]:
        """Return `n` series inks; they recur where there are many."""
        series = self.inks.series
        return [series[i % len(series)] for i in range(n)]

    def dashes(self, n: int) -> list[list[int]]:
        """Return `n` dash patterns; a different one wherever colours recur."""
        return _cycled(_DASHES, n)

    def shapes(self, n: int) -> list[str]:
        """Return `n` shapes; a different one wherever colours recur."""
        return _cycled(_SHAPES, n)

    def legend_columns(self, names: Sequence[str], *, reserved_width: float = 0) -> int:
        """Return how many names of a legend fit in a row, with some width taken at its left."""
        # a column of a legend is as wide as its longest name
        for n_columns in range(len(names), 1, -1):
            widths = [
                text_width(names[column::n_columns], self.size) + _SYMBOL_WIDTH
                for column in range(n_columns)
            ]
            if sum(widths) <= self.width - reserved_width:
                return n_columns
        return 1

    @property
    def is_narrow(self) -> bool:
        """Whether panels with text on both sides do not fit next to each other."""
        return self.width < _NARROW_WIDTH

    def arrange(self, panels: Sequence[dict[str, Any]], spacing: int) -> dict[str, Any]:
        """Return panels next to each other, or one below the other in a narrow chart."""
        direction = "vconcat" if self.is_narrow else "hconcat"
        return {direction: [*panels], "spacing": spacing}

    def styled(
        self, chart: dict[str, Any], *, view: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the chart in this theme; `view` styles the frame of each panel.

        No text has a width limit, because Vega measures limited text again and again: names are
        shortened before they are drawn.
        """
        inks, size = self.inks, self.size
        axis = {
            "labelColor": inks.muted,
            "titleColor": inks.ink,
            "gridColor": inks.grid,
            "domainColor": inks.muted,
            "tickColor": inks.muted,
            "labelFontSize": size,
            "titleFontSize": size,
            "titleFontWeight": "normal",
            "labelFontWeight": "normal",
            "labelLimit": 0,
            "titleLimit": 0,
            "tickSize": 4,
            "gridWidth": 0.7,
        }
        legend = {
            "orient": "top",
            "labelLimit": 0,
            "titleLimit": 0,
            "labelColor": inks.ink,
            "titleColor": inks.muted,
            "labelFontSize": size,
            "titleFontSize": size,
            "titleFontWeight": "normal",
            "symbolStrokeWidth": 2,
            "symbolBaseFillColor": inks.muted,
            "symbolBaseStrokeColor": inks.muted,
            "columnPadding": 12,
            "rowPadding": 2,
            "titleOrient": "left",
            "titlePadding": 8,
        }
        title = {
            "color": inks.ink,
            "fontSize": size,
            "fontWeight": "bold",
            "subtitleColor": inks.muted,
            "subtitleFontSize": size,
            "offset": 6,
            "limit": 0,
        }
        header = {
            "labelColor": inks.ink,
            "labelFontSize": size,
            "labelFontWeight": "bold",
            "titleColor": inks.muted,
            "labelPadding": 4,
            "labelLimit": 0,
        }
        config = {
            "background": "transparent" if inks is INKS else inks.paper,
            "font": "Helvetica, Arial, Liberation Sans, sans-serif",  # three of one width
            "padding": 4,
            "axis": axis,
            "legend": legend,
            "title": title,
            "header": header,
            "view": {"stroke": inks.grid, "strokeWidth": 1, **(view or {})},
            "text": {"color": inks.ink, "fontSize": size},
            "point": {"size": 40, "filled": True},
        }
        return {"$schema": _SCHEMA, **chart, "config": config}


def _cycled(kinds: Sequence[Any], n: int) -> list[Any]:
    """Return `n` of these, each new round shifted by one, so that colours and shapes differ."""
    return [kinds[(i + i // len(kinds)) % len(kinds)] for i in range(n)]


PAGE = Theme(INKS, _PAGE_WIDTH, 12)
PAPER = Theme(LIGHT, 7 * _PIXELS_PER_INCH, 10)


def theme(*, for_page: bool, width: float = 7) -> Theme:
    """Return the theme of the report, or of a paper's column of a width in inches, as 3.5 or 7.

    Examples
    --------
    >>> theme(for_page=True).inks.ink, theme(for_page=False, width=3.5).width
    ('var(--ink)', 336)
    """
    if for_page:
        return PAGE
    if not 1 <= width <= _MAX_INCHES:
        msg = f"width is {width} inches"
        hint = f"give a width of 1 to {_MAX_INCHES} inches, for example 3.5 or 7"
        raise ConfigError(msg, hint)
    return replace(PAPER, width=round(width * _PIXELS_PER_INCH))
