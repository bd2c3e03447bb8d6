"""Numbers, names and tables in words: one way to write each, for terminals and sentences."""

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
BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=%|times\b|worse\b|better\b|equivalent\b|inconclusive\b)|(?<=[▲▼=?<≤]) (?=\d)"
    r"|(?<=\bp) (?=[=<≤] \d)"
)
"""Blanks between a number and its unit or sign, and those of a p value."""
_UNBREAKABLE_BLANK = "\u2800"
"""As wide as a blank, but not one, as rich wraps also at no-break spaces."""
LARGEST_RATIO = 9999.5
"""Larger ratios are shown as larger than 9,999."""


def terminal(**options: Any) -> Console:
    """Return a rich console, without colour where the terminal chooses the colours itself."""
    from rich.console import Console  # noqa: PLC0415 - what takes time to load

    # names of groups and files are no markup and no emoji
    console = Console(highlight=False, markup=False, emoji=False, **options)
    console.no_color |= console.color_system == "standard"
    return console


def print_text(renderable: RenderableType) -> None:
    """Print with colours in a terminal, as plain lines elsewhere."""
    if sys.stdout.isatty():
        terminal().print(renderable)
        return
    for printed_line in plain_lines(renderable):
        sys.stdout.write(printed_line + "\n")


def plain_lines(renderable: RenderableType) -> list[str]:
    """Return what is printed, without colours: as wide as ``COLUMNS`` says, or 100 columns."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) > 0 else _PLAIN_WIDTH
    plain = terminal(width=width, no_color=True)
    with plain.capture() as captured:
        plain.print(renderable)
    # plain blanks, so that the text can be searched, and split at blanks
    printed = captured.get().replace(GAP, " ")
    if plain.options.ascii_only:
        printed = printed.translate(_ASCII)
    return [printed_line.rstrip() for printed_line in printed.split("\n")[:-1]]


class Paragraph(Text):
    """Text that is never wrapped between a number and its unit."""

    def wrap(self, *arguments: Any, **options: Any) -> Lines:
        """Return the lines that rich makes of the text."""
        joined = self.copy()
        joined.plain = BEFORE_UNIT.sub(_UNBREAKABLE_BLANK, self.plain)
        wrapped = joined.wrap(*arguments, **options)
        for wrapped_line in wrapped:
            wrapped_line.plain = wrapped_line.plain.replace(_UNBREAKABLE_BLANK, " ")
        return wrapped


def text(words: str, *, style: str = "", apart: bool = False) -> Text:
    """Return words that may hold any name, shown unchanged; after an empty line if `apart`."""
    words = printable(words)
    return Paragraph(f"\n{words}" if apart else words, style=style)


def grid(*columns: str, left_aligned: tuple[int, ...] = (0,), fixed: tuple[int, ...] = ()) -> Grid:
    """Return a table with these headings.

    Columns of words are aligned to the left, those of numbers to the right. If any columns are
    `fixed`, these keep their width, the others wrap, and all are close together.
    """
    gap = (0, 0) if fixed else (0, 1)
    table = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=gap)
    for i, name in enumerate(columns):
        table.add_column(
            Text(name), justify="left" if i in left_aligned else "right", no_wrap=i in fixed
        )
    return table


def add_row(table: Grid, row_name: str, *cells: str | Text) -> None:
    """Add a row of cells that may hold any name."""
    other_cells = (cell if isinstance(cell, Text) else text(cell) for cell in cells)
    table.add_row(text(row_name), *other_cells)


def count_text(count: int | None) -> str:
    """Return a count, or a dash."""
    return "–" if count is None else f"{count:,}"


def count_of(count: int | None, noun: str) -> str:
    """Return a count with its noun in the singular or plural.

    >>> count_of(1, "speaker"), count_of(1200, "trial")
    ('1 speaker', '1,200 trials')
    """
    return f"{count_text(count)} {noun if count == 1 else f'{noun}s'}"


def percent(fraction: float | None) -> str:
    """Return a fraction in percent with three digits."""
    return "–" if fraction is None else f"{percent_figure(fraction)} %"


def percent_figure(fraction: float | None) -> str:
    """Return a fraction in percent with three digits, without the percent sign."""
    if fraction is None:
        return "–"
    return "0" if fraction == 0 else f"{100 * fraction:#.3g}".rstrip(".")


def share_of_speakers(share: float | None) -> str:
    """Return a share of speakers in percent; they are too few for more digits."""
    return "–" if share is None else f"{100 * share:.0f} %"


def short_number(number: float | None) -> str:
    """Return a number with two digits: 0, 0.077, 0.77, 4.3, 13, 129.

    Examples
    --------
    >>> [short_number(x) for x in (0, 0.0768, 0.3, 4.25, 12.9, 1234.5, 1e9)]
    ['0', '0.077', '0.30', '4.2', '13', '1,234', '>9,999']
    """
    if number is None:
        return "–"
    if number >= LARGEST_RATIO:
        return ">9,999"
    if number == 0 or abs(number) >= 9.95:
        return f"{number:,.0f}"
    if abs(number) < 0.0995:
        return f"{number:.2g}"
    return f"{number:.1f}" if abs(number) >= 0.995 else f"{number:.2f}"


def interval_text(low: float | None, high: float | None, *, times: float = 1) -> str:
    """Return an interval, or a dash where there is none; `times` 100 shows fractions in percent."""
    if high is None:
        return "–"
    return f"[{short_number(None if low is None else times * low)}, {short_number(times * high)}]"


def p_value_cell(p: float | None) -> str:
    """Return a p value for a table.

    Examples
    --------
    >>> [p_value_cell(p) for p in (1e-9, 0.0713, 1.0, None)]
    ['<0.001', '0.071', '1', '–']
    """
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def p_value(p: float | None, *, is_largest: bool = False) -> str:
    """Return a p value for a sentence; `is_largest` if it is the largest of several.

    Examples
    --------
    >>> [p_value(p) for p in (1e-9, 0.0713, None)]
    ['p < 0.001', 'p = 0.071', 'p undefined']
    """
    if p is None:
        return "p undefined"
    return "p < 0.001" if p < 0.001 else f"p {'≤' if is_largest else '='} {p:.2g}"


def shortened_names(names: Sequence[str], *, most: int) -> list[str]:
    """Return the first `most` names, and how many more there are."""
    n_more = len(names) - most
    return [*names[:most], f"and {n_more} more"] if n_more > 0 else list(names)


def capitalised(words: str) -> str:
    """Return words with a capital, as a sentence begins."""
    return f"{words[:1].upper()}{words[1:]}"


def uncapitalised(words: str) -> str:
    """Return words without a capital, as they stand within a sentence."""
    return f"{words[:1].lower()}{words[1:]}"
