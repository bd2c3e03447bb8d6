"""Inks, sizes and type of every chart; the inks of a page are variables of its stylesheet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_PAGE_WIDTH = 640
_PER_INCH = 96
_NARROW = 400
_WIDEST = 20
_SYMBOL = 26
"""Room for the symbol of a legend's name, and between names."""
_LETTER = 0.57
"""Width of a letter, of its size."""
_WIDE = {"W", "F"}


def room(words: Iterable[str], size: float) -> float:
    """Pixels that the longest of some words takes, about.

    Examples
    --------
    >>> room(["f", "m+India*"], 10) < 60 < room(["f+New Zealand"], 10)
    True
    """
    letters = (sum(1 + (east_asian_width(c) in _WIDE) for c in word) for word in words)
    return _LETTER * size * max(letters, default=0)


_NAMED = ("ink", "muted", "grid", "paper", "band", "bad", "good")


@dataclass(frozen=True)
class Inks:
    """What is drawn in which ink."""

    ink: str
    """Words and marks that matter."""
    muted: str
    """What is beside them."""
    grid: str
    paper: str
    band: str
    """What a fair system would show."""
    bad: str
    """Verdicts, and nothing else."""
    good: str
    series: tuple[str, ...]
    """Groups, systems or lists, in order. Never the only difference: shape, dash or place too."""
    heat: tuple[str, ...]
    """Classes of a rate, from low to high."""

    def named(self) -> dict[str, str]:
        """Every ink by the name of its variable, without the dashes before it."""
        plain = {name: getattr(self, name) for name in _NAMED}
        numbered = {
            f"{name}-{i}": ink
            for name in ("series", "heat")
            for i, ink in enumerate(getattr(self, name), 1)
        }
        return plain | numbered


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
"""Every series and word has a contrast of at least 4.5 on its ground."""

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
"""As a page names them; its stylesheet gives each name a value for light, dark and print."""

_DASHES: tuple[list[int], ...] = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3])
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


@dataclass(frozen=True)
class Theme:
    """How charts look."""

    inks: Inks
    width: int
    """Of the whole chart with its labels and legends, in pixels."""
    size: float
    """Of type, in pixels."""

    def colours(self, n: int) -> list[str]:
        """Inks of so many names; they recur where there are many."""
        series = self.inks.series
        return [series[i % len(series)] for i in range(n)]

    def dashes(self, n: int) -> list[list[int]]:
        """Dashes of so many names; another one wherever colours recur."""
        return _shifted(_DASHES, n)

    def shapes(self, n: int) -> list[str]:
        """Shapes of so many names; another one wherever colours recur."""
        return _shifted(_SHAPES, n)

    def columns(self, names: Sequence[str], *, beside: float = 0) -> int:
        """How many names of a legend stand in a row, with so much room taken at its left."""
        for n in range(len(names), 1, -1):
            if sum(room(names[i::n], self.size) + _SYMBOL for i in range(n)) <= self.width - beside:
                return n
        return 1

    @property
    def is_narrow(self) -> bool:
        """Whether panels with words on both sides have no room beside each other."""
        return self.width < _NARROW

    def arranged(self, panels: Sequence[dict[str, Any]], spacing: int) -> dict[str, Any]:
        """Panels beside each other, or one below the other where there is no room."""
        how = "vconcat" if self.is_narrow else "hconcat"
        return {how: [*panels], "spacing": spacing}

    def of(self, chart: dict[str, Any], *, view: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The chart in this theme; `view` is what is around each panel.

        No word has a limit of width, at which it would be measured again and again: names are cut
        before they are drawn.
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


def _shifted(kinds: Sequence[Any], n: int) -> list[Any]:
    """So many of these, which recur one place further on each time."""
    return [kinds[(i + i // len(kinds)) % len(kinds)] for i in range(n)]


PAGE = Theme(INKS, _PAGE_WIDTH, 12)
PAPER = Theme(LIGHT, 7 * _PER_INCH, 10)


def theme(*, for_page: bool, width: float = 7) -> Theme:
    """The theme of the page, or of a paper's column of so many inches, as 3.5 or 7.

    Examples
    --------
    >>> theme(for_page=True).inks.ink, theme(for_page=False, width=3.5).width
    ('var(--ink)', 336)
    """
    if for_page:
        return PAGE
    if not 1 <= width <= _WIDEST:
        msg = f"width is {width} inches; charts are 1 to {_WIDEST} inches wide, as 3.5 or 7"
        raise ConfigError(msg)
    return replace(PAPER, width=round(width * _PER_INCH))
