"""Numbers, names and tables as a person reads them in a terminal."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.text import Text

from parivox.errors import printable
from parivox.report.ratio_strips import INKS
from parivox.report.terminal_grid import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType
    from rich.containers import Lines

Row = dict[str, Any]
GAP = "\u00a0"
"""Between columns that do not belong together, in tables with little room."""
_PLAIN_WIDTH = 100
_ASCII = str.maketrans("–×·─│┼○▲▼", "-x--|+o^v")
STYLES = {verdict: f"bold {ink}" for verdict, ink in INKS.items()}
"""How marks and single words stand out: what is worse or fails, what is better; all else is plain.

No colour can be read as text on every ground: these are seen on light and on dark ones.
"""
_ITEMS = r"\b(id|pair|recording|row|speaker|trial|utterance)s\b"
BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=%|times\b|worse\b|better\b|equivalent\b|inconclusive\b)|(?<=[▲▼=?<]) (?=\d)"
)
"""Blanks between a number and its unit or sign."""
_JOINT = "\u2800"
"""As wide as a blank, and none: rich wraps at no-break spaces, too."""
LARGEST = 9999.5
"""Ratios above it are told as larger than 9,999."""


def terminal(**options: Any) -> Console:
    """A terminal as rich has it; without colour where it has sixteen, of its own choice."""
    from rich.console import Console  # noqa: PLC0415 - what takes time to load

    made = Console(highlight=False, **options)
    made.no_color |= made.color_system == "standard"
    return made


def print_text(words: RenderableType) -> None:
    """Print: with colours in a terminal, plain lines elsewhere."""
    if sys.stdout.isatty():
        terminal().print(words)
        return
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) > 0 else _PLAIN_WIDTH
    plain = terminal(width=width, no_color=True)
    with plain.capture() as captured:
        plain.print(words)
    lines = captured.get().replace(GAP, " ")  # so that it can be searched, and split at blanks
    if plain.options.ascii_only:
        lines = lines.translate(_ASCII)
    for line in lines.split("\n")[:-1]:
        sys.stdout.write(line.rstrip() + "\n")


class Paragraph(Text):
    """Text that is never wrapped between a number and its unit."""

    def wrap(self, *arguments: Any, **options: Any) -> Lines:
        """Return the lines that rich makes of the text."""
        joined = self.copy()
        joined.plain = BEFORE_UNIT.sub(_JOINT, self.plain)
        lines = joined.wrap(*arguments, **options)
        for line in lines:
            line.plain = line.plain.replace(_JOINT, " ")
        return lines


def text(words: str, *, style: str = "", apart: bool = False) -> Text:
    """Words that may hold any name, shown as they are; perhaps after an empty line."""
    return Paragraph(("\n" if apart else "") + printable(words), style=style)


def grid(*columns: str, left: tuple[int, ...] = (0,), fixed: tuple[int, ...] = ()) -> Grid:
    """A table with these headings.

    Columns of words stand to the left, those of numbers to the right. If any columns are `fixed`,
    these keep their width, the others wrap, and all stand close together.
    """
    gap = (0, 0) if fixed else (0, 1)
    made = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=gap)
    for i, name in enumerate(columns):
        made.add_column(Text(name), justify="left" if i in left else "right", no_wrap=i in fixed)
    return made


def add_row(to: Grid, first: str, *cells: str | Text) -> None:
    """Add a row of cells that may hold any name."""
    others = (cell if isinstance(cell, Text) else text(cell) for cell in cells)
    to.add_row(text(first), *others)


def count_text(count: int | None) -> str:
    """A count."""
    return "–" if count is None else f"{count:,}"


def count_of(count: int | None, what: str) -> str:
    """A count of things, which are one at times.

    >>> count_of(1, "speaker"), count_of(1200, "trial")
    ('1 speaker', '1,200 trials')
    """
    return f"{count_text(count)} {what}{'s' * (count != 1)}"


def counted_item(count: int, item: str) -> str:
    """A count of what an item of the table of data names.

    >>> counted_item(1, "speakers with unknown age"), counted_item(7, "trials without score")
    ('1 speaker with unknown age', '7 trials without score')
    """
    if count == 1 and " that " not in item:
        item = re.sub(_ITEMS, r"\1", item, count=1)
    return f"{count_text(count)} {item}"


def percent(value: float | None) -> str:
    """A fraction as a percentage of three digits."""
    if value is None:
        return "–"
    if value == 0:
        return "0 %"
    return f"{100 * value:#.3g}".rstrip(".") + " %"


def share_of_speakers(value: float | None) -> str:
    """A share of people in percent, who are too few for more digits."""
    return "–" if value is None else f"{100 * value:.0f} %"


def short_number(value: float | None) -> str:
    """A number of two digits: 0, 0.077, 0.77, 4.3, 13, 129.

    Examples
    --------
    >>> [short_number(x) for x in (0, 0.0768, 0.3, 4.25, 12.9, 1234.5, 1e9)]
    ['0', '0.077', '0.30', '4.2', '13', '1,234', '>9,999']
    """
    if value is None:
        return "–"
    if value >= LARGEST:
        return ">9,999"
    if value == 0 or abs(value) >= 9.95:
        return f"{value:,.0f}"
    if abs(value) < 0.0995:
        return f"{value:.2g}"
    return f"{value:.1f}" if abs(value) >= 0.995 else f"{value:.2f}"


def interval_text(low: float | None, high: float | None, *, times: float = 1) -> str:
    """An interval, or a dash where there is none; fractions are told in percent by `times` 100."""
    if high is None:
        return "–"
    return f"[{short_number(None if low is None else times * low)}, {short_number(times * high)}]"


def p_value_cell(p: float | None) -> str:
    """A p value.

    Examples
    --------
    >>> [p_value_cell(p) for p in (1e-9, 0.0713, 1.0, None)]
    ['<0.001', '0.071', '1', '–']
    """
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def p_value(p: float | None) -> str:
    """A p value in a sentence.

    Examples
    --------
    >>> [p_value(p) for p in (1e-9, 0.0713, None)]
    ['p < 0.001', 'p = 0.071', 'p undefined']
    """
    if p is None:
        return "p undefined"
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def shortened_names(names: Sequence[str], *, most: int) -> list[str]:
    """Names, but not more than can be read."""
    left = len(names) - most
    return [*names[:most], f"and {left} more"] if left > 0 else list(names)


def capitalised(words: str) -> str:
    """Words as a sentence begins."""
    return f"{words[:1].upper()}{words[1:]}"
