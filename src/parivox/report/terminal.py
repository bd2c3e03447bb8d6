"""What a terminal prints of an audit: what is seen first, and on request every table before it."""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import chain
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from parivox.errors import printable
from parivox.report.audit_queries import ERROR_TYPES, VERDICTS
from parivox.report.findings import ALLOCATIONS, default_choices, ratio_legend
from parivox.report.overview import overview
from parivox.report.ratio_strips import SIGNS, axis_signs, sign_strip
from parivox.report.terminal_grid import Grid
from parivox.report.words import (
    STYLES,
    Paragraph,
    capitalised,
    count_of,
    count_text,
    interval_text,
    percent,
    print_text,
    short_number,
    shortened_names,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from parivox.auditing import Audit
    from parivox.report.overview import GroupComparison, GroupResult, Overview, PooledRates

_MOST_LINES = 6
"""Groups that are shown to differ in one error."""
_MOST_UNPROVEN = 3
"""Groups that are shown where none is shown to differ."""
_SHORT = 60
"""Letters of all systems' names together, beside which there is room for these."""
_MOST_BESIDE = 3
"""Systems whose rates stand beside each other."""
_ANY_WIDTH = 10_000


def print_summary(
    audit: Audit, *, out: Path | None = None, page: Path | None = None, details: bool = False
) -> None:
    """Print the summary: with colours in a terminal, plain lines elsewhere."""
    if details:
        from parivox.report.full_tables import every_table  # noqa: PLC0415 - what few ask for

        print_text(every_table(audit))
    print_text(summary(audit, out=out, page=page))


def summary(audit: Audit, *, out: Path | None = None, page: Path | None = None) -> Group:
    """What is seen first, as rich shows it; `out` and `page` are where files were written."""
    return Group(*_parts(audit, overview(audit), out, page))


def _parts(
    audit: Audit, of: Overview, out: Path | None, page: Path | None
) -> Iterator[RenderableType]:
    size = f"{', '.join(of.size)}. {capitalised(of.threshold)}."
    yield text(" ".join([size, *(f"{words}." for words in default_choices(audit))]))
    headline, *others = of.finding_sentences
    yield text(headline, style="bold", apart=True)
    yield from map(text, others)
    yield Text()
    if len(of.pooled_rates[0].rates) > _MOST_BESIDE:
        yield _every_system(of.pooled_rates)
    yield _Figures(of)
    if of.verdict_counts:
        yield _tally(of)
    if any(_shown(of)):
        legend = (
            f"Group (speakers), rate{', verdict' if of.verdict_counts else ''}, "
            f"{ratio_legend(audit)}."
        )
        whose = f"False accepts: {ALLOCATIONS[audit.record['options']['allocate'][0]]}."
        yield text(" ".join([legend, whose, *_not_among_so_many(of)]))
        yield from _likely(of)
    yield Text()
    weaken = {"Limitations": f"{'; '.join(one.short for one in of.caveats)}."} if of.caveats else {}
    for heading, words in (of.notes | weaken).items():
        yield Paragraph.assemble((f"{heading}: ", "bold"), printable(words))
    if page is not None:
        yield text(f"Report: {page}")
    yield text(
        "All groups: -v"
        if out is None
        else f"All results: {out} (one group: {program()} show {quote(str(out))} GROUP)"
    )


def program() -> str:
    """Return how Parivox is called here: by its name, or by its path where that is not found."""
    command = Path(sys.argv[0])
    if which("parivox") or command.name != "parivox":
        return "parivox"
    with suppress(ValueError):
        command = command.resolve().relative_to(Path.cwd())
    return quote(str(command))


def _every_system(whole: Sequence[PooledRates]) -> Grid:
    """Both errors of everyone, a row for each of many systems."""
    made = _grid()
    made.add_column()
    for _ in whole:
        made.add_column(justify="right", no_wrap=True)
    heads = (
        f"{capitalised(ERROR_TYPES[one.metric])} ({one.metric.upper()}), all trials"
        for one in whole
    )
    made.add_row("", *(text(head, style="bold") for head in heads))
    for same in zip(*(one.rates for one in whole), strict=True):
        made.add_row(text(f"  {same[0][0]}"), *(text(rate) for _, rate in same))
    return made


def _tally(of: Overview) -> Text:
    """How many comparisons came to which verdict."""
    n = sum(of.verdict_counts.values())
    words = Paragraph(f"{count_of(n, 'comparison')}:")
    for code, n_of in of.verdict_counts.items():
        words.append("  ").append(SIGNS[code], style=STYLES.get(code, ""))
        words.append(f" {count_text(n_of)} {VERDICTS[code]}")
    return words


def _shown(of: Overview) -> Iterator[tuple[GroupResult, GroupComparison]]:
    """The groups that have a row, and what was judged of each."""
    for metric in ERROR_TYPES:
        for line in _lines(of, metric)[:_MOST_LINES]:
            yield from ((line, one) for one in line.comparisons[metric])


def _lines(of: Overview, metric: str) -> list[GroupResult]:
    """The groups shown to differ in an error; if none is in any, some of most speakers."""
    names = [name for name, _ in of.pooled_rates[0].rates]
    if (
        of.differing_groups
        or not of.verdict_counts
        or len("".join(names)) > _SHORT
        or len(names) > _MOST_BESIDE
    ):
        return of.groups_differing_in(metric)
    first = of.leading_groups(_MOST_UNPROVEN)
    return [line for line in first if any(one.rate is not None for one in line.comparisons[metric])]


def _not_among_so_many(of: Overview) -> Iterator[str]:
    """Yield why a group is inconclusive although its interval excludes 1."""
    near = [one for _, one in _shown(of) if one.fails_only_after_holm]
    if any((one.low or 0) > 1 or (one.high or 1) < 1 for one in near):
        yield (
            "Intervals are not adjusted for multiple comparisons, verdicts are (all groups of a "
            "grouping and both error types), so a ? can have an interval that excludes 1."
        )


def _likely(of: Overview) -> Iterator[Text]:
    """The best guesses beside ratios that look too far off; the headline has those of its own."""
    told = [
        f"{line.name} {one.best_guess}{f' with {one.system}' * (len(of.pooled_rates[0].rates) > 1)}"
        for line, one in _shown(of)
        if one.best_guess
    ]
    if told:
        guesses = ", ".join(shortened_names(told, most=_MOST_BESIDE))
        yield text(
            f"Shrinkage estimates, as ratios of small samples tend to be overestimated: {guesses}."
        )


class _Figures:
    """Both errors of everyone, and of the groups that are shown to differ in them.

    Systems stand beside each other where there is room, and otherwise below; of many, a group has
    the one in which it differs most. Ratios are drawn where there is room.
    """

    def __init__(self, of: Overview) -> None:
        self.of = of
        self.systems = [name for name, _ in of.pooled_rates[0].rates]
        self.are_many = len(self.systems) > _MOST_BESIDE

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks it."""
        wide, made = options.update_width(_ANY_WIDTH), _grid()
        for is_beside in (False,) if self.are_many else (True, False):
            for is_drawn in (True, False):
                made = self._rows(is_beside=is_beside, is_drawn=is_drawn)
                if made.__rich_measure__(console, wide).maximum <= options.max_width:
                    yield made
                    return
        yield made

    def _rows(self, *, is_beside: bool, is_drawn: bool) -> Grid:
        """A row for each group, or for each group and system."""
        made, n_parts = _grid(), 2 + is_drawn
        made.add_column()
        for _ in range(len(self.systems) if is_beside else 1):
            made.add_column(justify="right", no_wrap=True)
            for _ in range(1, n_parts):
                made.add_column(no_wrap=True)
        for label, style, told in self._told(is_beside=is_beside):
            if is_beside:
                cells = chain.from_iterable(parts[:n_parts] for _, parts in told)
                made.add_row(text(label, style=style), *cells)
                continue
            for name, parts in told:
                whose = f" · {name}" * (len(self.systems) > 1 and bool(name))
                made.add_row(text(f"{label}{whose}", style=style), *parts[:n_parts])
        return made

    def _told(self, *, is_beside: bool) -> Iterator[tuple[str, str, list[tuple[str, list[Text]]]]]:
        """Everyone and each group, in which style, and with each system what is told of them."""
        for whole in self.of.pooled_rates:
            differ = _lines(self.of, whole.metric)
            error = f"{capitalised(ERROR_TYPES[whole.metric])} ({whole.metric.upper()})"
            rule = text(axis_signs() if differ else "")
            if not self.are_many:
                is_named = is_beside and len(self.systems) > 1
                n_columns = len(self.systems) if is_beside else 1
                names = self.systems if is_named else [""] * n_columns
                # the name is aligned with the rates, the axis stands above what is drawn
                heads = [("", [text(f" {name}"), Text(), rule]) for name in names]
                yield error, "bold", heads
                yield (
                    "  all trials",
                    "",
                    [(name, [text(f" {rate}"), Text(), Text()]) for name, rate in whole.rates],
                )
            elif differ:
                yield error, "bold", [("", [Text(), Text(), rule])]
            for line in differ[:_MOST_LINES]:
                judged = line.comparisons[whole.metric]
                told = [(one.system, _in_parts(one)) for one in judged]
                of_whom = "" if line.speakers is None else f" ({count_text(line.speakers)})"
                yield f"  {line.name}{of_whom}", "", [_of_many(judged)] if self.are_many else told
            if left := differ[_MOST_LINES:]:
                n = sum(
                    any(one.verdict == "worse" for one in of.comparisons[whole.metric])
                    for of in left
                )
                more = [f"{n} worse"] * (n > 0) + [f"{len(left) - n} better"] * (n < len(left))
                blank = [("", [Text()] * 3)] * (len(self.systems) if is_beside else 1)
                yield f"  and {', '.join(more)}", "", blank


def _of_many(judged: Sequence[GroupComparison]) -> tuple[str, list[Text]]:
    """The system in which a group differs most, and in how many others it does."""
    proven = [one for one in judged if one.is_shown_to_differ and not one.repeats_other_group]
    most, others = max(proven, key=lambda one: one.log_distance), len(proven) - 1
    more = f" and {others} other{'s' * (others > 1)}" * (others > 0)
    return f"{most.system}{more}", _in_parts(most)


def _in_parts(one: GroupComparison) -> list[Text]:
    """A rate; its ratio to the reference, with its interval; and that drawn."""
    ink = "" if one.repeats_other_group else STYLES.get(one.verdict, "")
    ratio = short_number(one.ratio)
    said = Text.assemble((SIGNS.get(one.verdict, " "), ink), f" {ratio:>4} ")
    drawn = sign_strip(one.ratio, one.low, one.high, one.verdict)
    return [
        text(f" {percent(one.rate)}"),
        said + Text(interval_text(one.low, one.high)),
        text(drawn, style=ink),
    ]


def _grid() -> Grid:
    """A table without heads."""
    return Grid(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
