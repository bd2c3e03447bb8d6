"""What a terminal prints of an audit: what is seen first, and on request every table before it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from parivox.errors import shown
from parivox.report.findings import read_as, reference_in_words
from parivox.report.grids import Grid
from parivox.report.overview import overview
from parivox.report.scopes import RATES, VERDICTS
from parivox.report.strips import SIGNS, axis, in_signs
from parivox.report.words import capital, chance, number, percent, short, show, span, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from parivox.auditing.result import Audit
    from parivox.report.overview import Judged, Line, Overview, Sentence

_MORE_OFTEN = {"fnr": "Locked out more often", "fpr": "Impostors get in more often"}
_STYLES = {"worse": "red", "better": "green", "no_difference": "", "cannot_tell": "dim"}
_MOST_LINES = 6
"""Groups that are shown to fare worse in one error."""
_MOST_BESIDE = 3
"""Systems whose rates stand beside each other."""
_INDENT = 2
_ANY_WIDTH = 10_000
_SHORT = 16
"""Letters of a system's name that stands beside figures; a longer one has a line of its own."""


def print_summary(
    audit: Audit, *, out: Path | None = None, page: Path | None = None, details: bool = False
) -> None:
    """Print the summary: with colours in a terminal, plain lines elsewhere."""
    if details:
        from parivox.report.details import every_table  # noqa: PLC0415 - what few ask for

        show(every_table(audit))
    show(summary(audit, out=out, page=page))


def summary(audit: Audit, *, out: Path | None = None, page: Path | None = None) -> Group:
    """What is seen first, as rich shows it; `out` and `page` are where files were written."""
    return Group(*_parts(audit, overview(audit), out, page))


def _parts(
    audit: Audit, of: Overview, out: Path | None, page: Path | None
) -> Iterator[RenderableType]:
    yield text(" · ".join((*of.size, of.threshold)), style="dim")
    yield from (text(f"{words}.", style="dim") for words in read_as(audit))
    yield Text()
    yield _sentence(of.headline, style="bold")
    yield from map(_sentence, of.below)
    yield Text()
    yield from _whole(of)
    if of.tally:
        yield text(of.compared)
        yield _tally(of)
    for metric in RATES:
        yield from _more_often(of.proven, metric)
    if of.caveats:
        weaken = " · ".join(one.short for one in of.caveats)
        yield text(f"! {capital(weaken)}.", style="yellow", apart=True)
    yield Text()
    if of.tally:
        yield how_to_read(audit)
        if any(one.best_guess for line in of.proven for one in line.every()):
            yield text(
                "likely: the best guess, as few speakers make ratios look large", style="dim"
            )
    yield from (text(f"{heading}: {words}", style="dim") for heading, words in of.notes.items())
    if page is not None:
        yield text(f"The page, which opens in any browser: {page}")
    if out is not None:
        yield text(f"Every number: {out}, as tables and as audit.json")
    yield text("Every group: -v" if out is None else f"Any group: parivox show {quote(str(out))}")


def how_to_read(audit: Audit) -> Text:
    """What stands for what beside a rate."""
    options = audit.record["options"]
    sure = (
        f"; [ ]: {100 * options['confidence']:g} % interval over speakers; p: allows for all groups"
    )
    times = f"x: times as often as {reference_in_words(audit)}"
    return text(times + sure * options["intervals"], style="dim")


def _sentence(sentence: Sentence, style: str = "") -> Text:
    words = Text(style=style)
    for part in sentence:
        words.append(shown(part.text), style=_STYLES.get(part.verdict, ""))
    return words.append(".")


def _whole(of: Overview) -> Iterator[RenderableType]:
    """Both errors of everyone, a line each; or a line for each system of many, or of long names."""
    made, rates = _grid(n_left=1), of.whole[0].rates
    if len(rates) <= _MOST_BESIDE and max(len(name) for name, _ in rates) <= _SHORT:
        for one in of.whole:
            cells = [text(RATES[one.metric])]
            for name, rate in one.rates:
                whose = f"{name} " if len(one.rates) > 1 else ""
                cells.append(text(f"{whose}{rate}"))
            made.add_row(*cells, text(one.compared))
        yield made
        return
    made.add_row(text(""), *(text(RATES[one.metric]) for one in of.whole))
    for same in zip(*(one.rates for one in of.whole), strict=True):
        made.add_row(text(same[0][0]), *(text(rate) for _, rate in same))
    yield made
    for one in of.whole:
        if one.compared:
            yield text(f"{RATES[one.metric]}: {one.compared}")


def _tally(of: Overview) -> Text:
    words = Text()
    for code, n in of.tally.items():
        words.append("  ")
        words.append(f"{SIGNS[code]} {number(n)} {VERDICTS[code]}", style=_STYLES[code])
    return words


def _more_often(proven: Sequence[Line], metric: str) -> Iterator[RenderableType]:
    """Groups that an error hits more, in every system."""
    worse = [line for line in proven if any(one.verdict == "worse" for one in line.of[metric])]
    if worse:
        yield Text()
        yield _Ratios(_MORE_OFTEN[metric].upper(), metric, worse[:_MOST_LINES])
        left = len(worse) - _MOST_LINES
        if left > 0:
            yield text(f"  and {left} more group{'s' * (left > 1)}", style="dim")


class _Ratios:
    """Groups with their rates and ratios in each system, drawn where there is room."""

    def __init__(self, title: str, metric: str, lines: Sequence[Line]) -> None:
        self.title, self.metric, self.lines = title, metric, lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks it."""
        names = [one.system for one in self.lines[0].of[self.metric]]
        made = self._rows(names, is_drawn=True)
        title, room = text(self.title, style="bold"), options.max_width - _INDENT
        width = made.__rich_measure__(console, options.update_width(_ANY_WIDTH)).maximum
        if width <= room:
            before = width + _INDENT - len(axis())
            title.append(" " * (before - len(title))).append(axis(), style="dim")
        else:
            made = self._rows(names, is_drawn=False)
        yield title
        yield Padding(made, (0, 0, 0, _INDENT))

    def _rows(self, names: Sequence[str], *, is_drawn: bool) -> Grid:
        """A row for each group and system; long names of systems stand below those of groups."""
        is_beside = len(names) > 1 and max(map(len, names)) <= _SHORT
        is_below = len(names) > 1 and not is_beside
        made = _grid(n_left=1 + is_beside)
        for line in self.lines:
            judged = line.of[self.metric]
            if len(judged) > _MOST_BESIDE:  # the others behind -v
                judged = [one for one in judged if one.is_proven][:_MOST_BESIDE]
            if is_below:
                made.add_row(text(line.name, style="bold"))
            for place, one in enumerate(judged):
                style = _STYLES.get(one.verdict, "dim")
                times = "–" if one.ratio is None else f"{short(one.ratio)}x"
                group = "" if place else line.name
                cells = [text(one.system) if is_below else text(group, style="bold")]
                cells += [text(one.system)] if is_beside else []
                cells += [
                    text(percent(one.rate)),
                    text(f"{SIGNS.get(one.verdict, '')} {times}", style=style),
                    text(span(one.low, one.high), style=style),
                    text(_chance(one), style="dim"),
                ]
                if is_drawn:
                    drawn = in_signs(one.ratio, one.low, one.high, one.verdict)
                    cells.append(text(drawn, style=style))
                made.add_row(*cells)
        return made


def _chance(one: Judged) -> str:
    """The p of what is shown or nearly, and the likely ratio where that looks too large."""
    guess = f", likely {one.best_guess}x" if one.best_guess else ""
    return f"p {chance(one.p)}{guess}" if one.is_proven or one.is_near else ""


def _grid(n_left: int) -> Grid:
    """Columns without heads, those of names to the left."""
    made = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for place in range(7):
        made.add_column(no_wrap=True, justify="left" if place < n_left or place > 3 else "right")
    return made
