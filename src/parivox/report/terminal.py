"""The summary of an audit in a terminal: what is seen first, after every table on request."""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from parivox.errors import printable
from parivox.report.audit_queries import (
    ERROR_TYPES,
    SPOOF_TRIALS_OF_GROUP,
    VERDICTS,
    all_error_types,
    attacks_text,
    error_types,
)
from parivox.report.catalogue import full_sentence
from parivox.report.error_names import SEARCH_ERRORS
from parivox.report.findings import ALLOCATIONS, default_choices, ratio_legend
from parivox.report.identification import error_condition, is_identification
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
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from parivox.auditing import Audit
    from parivox.report.overview import GroupComparison, GroupResult, Overview, PooledRates

    _SystemCells = tuple[str, list[Text]]
    """A system with its rate, its ratio and the ratio as drawn."""
    _LabelledRow = tuple[str, str, list[_SystemCells]]
    """A label, its style and the cells of each system."""

_MAX_SHOWN_GROUPS = 6
"""Groups that are shown to differ in one error, of which each has a row."""
_MAX_UNDECIDED_GROUPS = 3
"""Groups that have a row where none is shown to differ."""
_MAX_NAMES_LENGTH = 60
"""Letters of all systems' names together that leave room for groups that do not differ."""
_MAX_SYSTEMS_ABREAST = 3
"""Systems whose rates are side by side."""
_ANY_WIDTH = 10_000
"""Width at which a table is measured as if there were no limit."""


def print_summary(
    audit: Audit, *, out: Path | None = None, page: Path | None = None, details: bool = False
) -> None:
    """Print the summary: with colours in a terminal, plain lines elsewhere."""
    if details:
        from parivox.report.full_tables import every_table  # noqa: PLC0415 - what few ask for

        print_text(every_table(audit))
    print_text(Group(summary(audit), *_further_results(out, page)))


def print_notes(audit: Audit) -> None:
    """Print the reasons and notes of each table in words, with in how many rows they are."""
    print_text(Group(*_note_lines(audit)))


def _note_lines(audit: Audit) -> Iterator[RenderableType]:
    # what verdicts say is shown with their groups
    rows = [row for row in audit.sentences() if row["column"] != "sentence"]
    if not rows:
        yield text(full_sentence("no_reasons_or_notes"))
    for i, ((table, column), rows_of_column) in enumerate(
        groupby(rows, key=lambda row: (row["table"], row["column"]))
    ):
        heading = f"Texts in the column '{column}' of the table '{table}'"
        yield text(heading, style="bold", apart=i > 0)
        sentences = _headless_grid()
        for row in sorted(rows_of_column, key=lambda row: -row["rows"]):
            unit = "row" if row["rows"] == 1 else "rows"
            sentences.add_row("-", text(f"{row['sentence']} ({row['rows']:,} {unit})"))
        yield sentences


def summary(audit: Audit) -> Group:
    """Return what is seen first, for rich."""
    return Group(*_summary_blocks(audit, overview(audit)))


def _summary_blocks(audit: Audit, first_screen: Overview) -> Iterator[RenderableType]:
    """Yield the summary, block by block."""
    size = f"{', '.join(first_screen.size)}. {capitalised(first_screen.threshold)}."
    yield text(" ".join([size, *(f"{words}." for words in default_choices(audit))]))
    headline, *further_sentences = first_screen.finding_sentences
    yield text(headline, style="bold", apart=True)
    yield from map(text, further_sentences)
    yield Text()
    if len(first_screen.pooled_rates[0].rates) > _MAX_SYSTEMS_ABREAST:
        yield _pooled_rates_table(first_screen.pooled_rates)
    yield _RatesTable(first_screen, _rate_conditions(audit))
    if first_screen.verdict_counts:
        yield _verdict_counts_line(first_screen)
    has_ratios = first_screen.verdict_counts or not is_identification(audit)
    if has_ratios and any(_shown_comparisons(first_screen)):
        legend = (
            f"Group (speakers), rate{', verdict' if first_screen.verdict_counts else ''}, "
            f"{ratio_legend(audit)}."
        )
        allocation = f"False accepts: {ALLOCATIONS[audit.record['options']['allocate'][0]]}."
        if is_identification(audit):
            allocation = full_sentence("groups_of_probe_speaker")
        if "sfar" in error_types(audit):
            allocation += f" Spoof accepts: {SPOOF_TRIALS_OF_GROUP}."
        notes_on_p = _adjustment_note(first_screen, all_error_types(audit))
        yield text(" ".join([legend, allocation, *notes_on_p]))
        yield from _shrinkage_estimates_line(first_screen)
    yield Text()
    for heading, words in first_screen.notes.items():
        yield Paragraph.assemble((f"{heading}: ", "bold"), printable(words))
    if first_screen.caveats:
        yield text("Limitations:", style="bold")
        limitations = _headless_grid()
        for caveat in first_screen.caveats:
            limitations.add_row("-", text(caveat.short))
        yield limitations


def _rate_conditions(audit: Audit) -> dict[str, str]:
    """Return what each rate holds for, behind its name; nothing for rates of plain trials."""
    if is_identification(audit):
        return {metric: error_condition(audit, metric) for metric in error_types(audit)}
    return {"sfar": f", {attacks_text(audit)}"}


def _further_results(out: Path | None, page: Path | None) -> Iterator[RenderableType]:
    """Yield where all else is; `out` and `page` are where files were written."""
    if page is not None:
        yield text(f"Report: {page}")
    if out is None:
        yield text("All groups: -v")
    else:
        command = f"{program()} show {quote(str(out))} GROUP"
        yield text(f"All results: {out} (one group: {command})")


def program() -> str:
    """Return how Parivox is called here: by its name, or by its path where that is not found."""
    command = Path(sys.argv[0])
    if which("parivox") or command.name != "parivox":
        return "parivox"
    with suppress(ValueError):
        command = command.resolve().relative_to(Path.cwd())
    return quote(str(command))


def _pooled_rates_table(pooled_rates: Sequence[PooledRates]) -> Grid:
    """Return both pooled errors, a row for each of many systems."""
    table = _headless_grid()
    table.add_column()
    for _ in pooled_rates:
        table.add_column(justify="right", no_wrap=True)
    heads = (
        f"{capitalised(ERROR_TYPES[pooled.metric])} ({pooled.metric.upper()}), all trials"
        for pooled in pooled_rates
    )
    table.add_row("", *(text(head, style="bold") for head in heads))
    for rates_of_system in zip(*(pooled.detailed_rates for pooled in pooled_rates), strict=True):
        system, _ = rates_of_system[0]
        table.add_row(text(f"  {system}"), *(text(rate) for _, rate in rates_of_system))
    return table


def _verdict_counts_line(first_screen: Overview) -> Text:
    """Return how many comparisons came to which verdict."""
    n_comparisons = sum(first_screen.verdict_counts.values())
    words = Paragraph(f"{count_of(n_comparisons, 'comparison')}:")
    for code, n_with_verdict in first_screen.verdict_counts.items():
        words.append("  ").append(SIGNS[code], style=STYLES.get(code, ""))
        words.append(f" {count_text(n_with_verdict)} {VERDICTS[code]}")
    return words


def _shown_comparisons(first_screen: Overview) -> Iterator[tuple[GroupResult, GroupComparison]]:
    """Yield the groups that have a row, with each of their comparisons."""
    for metric in (pooled.metric for pooled in first_screen.pooled_rates):
        for group in _shown_groups(first_screen, metric)[:_MAX_SHOWN_GROUPS]:
            yield from ((group, comparison) for comparison in group.comparisons[metric])


def _shown_groups(first_screen: Overview, metric: str) -> list[GroupResult]:
    """Return the groups shown to differ in an error; if none is in any, some of the largest."""
    if metric in SEARCH_ERRORS and not first_screen.verdict_counts:
        return [
            group
            for group in first_screen.groups
            if any(comparison.rate is not None for comparison in group.comparisons[metric])
        ]
    system_names = [name for name, _ in first_screen.pooled_rates[0].rates]
    if (
        first_screen.differing_groups
        or not first_screen.verdict_counts
        or len("".join(system_names)) > _MAX_NAMES_LENGTH
        or len(system_names) > _MAX_SYSTEMS_ABREAST
    ):
        return first_screen.groups_differing_in(metric)
    leading = first_screen.leading_groups(_MAX_UNDECIDED_GROUPS)
    return [
        group
        for group in leading
        if any(comparison.rate is not None for comparison in group.comparisons[metric])
    ]


def _adjustment_note(first_screen: Overview, types: str) -> Iterator[str]:
    """Yield why a group is inconclusive although its interval excludes 1."""
    if any(
        comparison.fails_only_after_holm
        and ((comparison.low or 0) > 1 or (comparison.high or 1) < 1)
        for _, comparison in _shown_comparisons(first_screen)
    ):
        yield full_sentence("adjusted_verdicts", error_types=types)


def _shrinkage_estimates_line(first_screen: Overview) -> Iterator[Text]:
    """Yield the shrinkage estimates of ratios in the table; the headline has those of its own."""
    has_several_systems = len(first_screen.pooled_rates[0].rates) > 1
    estimates = []
    for group, comparison in _shown_comparisons(first_screen):
        if comparison.best_guess:
            with_system = f" with {comparison.system}" if has_several_systems else ""
            estimates.append(f"{group.name} {comparison.best_guess}{with_system}")
    if estimates:
        words = ", ".join(shortened_names(estimates, most=_MAX_SYSTEMS_ABREAST))
        yield text(full_sentence("shrinkage_estimates", estimates=words))


class _RatesTable:
    """Both pooled errors, and those of the groups that are shown to differ in them.

    Systems are side by side where there is room, and else below each other; of many, a group has
    the one in which it differs most. Ratios are drawn where there is room.
    """

    def __init__(self, first_screen: Overview, conditions: Mapping[str, str]) -> None:
        self.first_screen, self.conditions = first_screen, conditions
        self.systems = [name for name, _ in first_screen.pooled_rates[0].rates]
        self.has_many_systems = len(self.systems) > _MAX_SYSTEMS_ABREAST

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the widest layout that there is room for, or else the narrowest."""
        any_width, table = options.update_width(_ANY_WIDTH), _headless_grid()
        for is_abreast in (False,) if self.has_many_systems else (True, False):
            for is_drawn in (True, False):
                table = self._rows(is_abreast=is_abreast, is_drawn=is_drawn)
                if table.__rich_measure__(console, any_width).maximum <= options.max_width:
                    yield table
                    return
        yield table

    def _rows(self, *, is_abreast: bool, is_drawn: bool) -> Grid:
        """Return a table with a row for each group, or for each group and system."""
        table, n_columns = _headless_grid(), 3 if is_drawn else 2
        table.add_column()
        for _ in range(len(self.systems) if is_abreast else 1):
            table.add_column(justify="right", no_wrap=True)
            for _ in range(1, n_columns):
                table.add_column(no_wrap=True)
        for label, style, cells_of_systems in self._labelled_rows(is_abreast=is_abreast):
            if is_abreast:
                cells = chain.from_iterable(
                    system_cells[:n_columns] for _, system_cells in cells_of_systems
                )
                table.add_row(text(label, style=style), *cells)
                continue
            for system, system_cells in cells_of_systems:
                has_system = len(self.systems) > 1 and system
                row_label = f"{label} · {system}" if has_system else label
                table.add_row(text(row_label, style=style), *system_cells[:n_columns])
        return table

    def _labelled_rows(self, *, is_abreast: bool) -> Iterator[_LabelledRow]:
        """Yield the rows of both errors: heads, all trials, groups, and how many are hidden."""
        n_blocks = len(self.systems) if is_abreast else 1
        for pooled in self.first_screen.pooled_rates:
            shown_groups = _shown_groups(self.first_screen, pooled.metric)
            error_type = f"{capitalised(ERROR_TYPES[pooled.metric])} ({pooled.metric.upper()})"
            error_type += self.conditions.get(pooled.metric, "")
            has_axis = shown_groups and not shown_groups[0].comparisons[pooled.metric][0].details
            axis = text(axis_signs() if has_axis else "")
            if pooled.metric in SEARCH_ERRORS and not pooled.has_trials:
                # without a rate, the reason would widen the column of rates beyond the page
                yield error_type, "bold", [("", [Text()] * 3)] * n_blocks
                yield f"  {pooled.rates[0][1]}", "", [("", [Text()] * 3)] * n_blocks
                continue
            if not self.has_many_systems:
                is_named = is_abreast and len(self.systems) > 1
                names = self.systems if is_named else [""] * n_blocks
                # the name is aligned with the rates, the axis stands above what is drawn
                heads = [("", [text(f" {name}"), Text(), axis]) for name in names]
                yield error_type, "bold", heads
                rates = [
                    (name, [text(f" {rate}"), text(f" ({details})" if details else ""), Text()])
                    for (name, rate), details in zip(pooled.rates, pooled.details, strict=True)
                ]
                unit = "searches" if pooled.metric in SEARCH_ERRORS else "trials"
                yield f"  all {unit}", "", rates
            elif shown_groups:
                yield error_type, "bold", [("", [Text(), Text(), axis])]
            for group in shown_groups[:_MAX_SHOWN_GROUPS]:
                yield self._group_row(group, pooled.metric)
            if hidden_groups := shown_groups[_MAX_SHOWN_GROUPS:]:
                blank_cells = [("", [Text()] * 3)] * n_blocks
                words = _hidden_groups_text(hidden_groups, pooled.metric)
                yield f"  and {words}", "", blank_cells

    def _group_row(self, group: GroupResult, metric: str) -> _LabelledRow:
        """Return the row of a group, of many systems with the one in which it differs most."""
        comparisons = group.comparisons[metric]
        # systems with searches of other speakers have other numbers of these
        numbers = [each.speakers for each in comparisons if each.speakers is not None]
        n_speakers = max(numbers, default=group.speakers)
        label = f"  {group.name}"
        if n_speakers is not None:
            label += f" ({count_text(n_speakers)})"
        if self.has_many_systems:
            return label, "", [_furthest_system_cells(comparisons)]
        cells_of_systems = [(each.system, _comparison_cells(each)) for each in comparisons]
        return label, "", cells_of_systems


def _hidden_groups_text(groups: Sequence[GroupResult], metric: str) -> str:
    """Return how many differing groups have no row, by verdict."""
    n_worse = sum(
        any(comparison.verdict == "worse" for comparison in group.comparisons[metric])
        for group in groups
    )
    n_better = len(groups) - n_worse
    counts = []
    if n_worse:
        counts.append(f"{n_worse} worse")
    if n_better:
        counts.append(f"{n_better} better")
    return ", ".join(counts)


def _furthest_system_cells(comparisons: Sequence[GroupComparison]) -> tuple[str, list[Text]]:
    """Return the system in which a group differs most, with the number of others, and its cells."""
    differing = [
        comparison
        for comparison in comparisons
        if comparison.is_shown_to_differ and not comparison.worse_group
    ]
    furthest = max(differing, key=lambda comparison: comparison.log_distance)
    label, n_others = furthest.system, len(differing) - 1
    if n_others:
        label += f" and {n_others} {'other' if n_others == 1 else 'others'}"
    return label, _comparison_cells(furthest)


def _comparison_cells(comparison: GroupComparison) -> list[Text]:
    """Return a rate; its ratio to the reference, with its interval; and the ratio as drawn."""
    if comparison.details:
        return [text(f" {percent(comparison.rate)}"), text(f" ({comparison.details})"), Text()]
    ink = "" if comparison.worse_group else STYLES.get(comparison.verdict, "")
    ratio = short_number(comparison.ratio)
    ratio_cell = Text.assemble((SIGNS.get(comparison.verdict, " "), ink), f" {ratio:>4} ")
    strip = sign_strip(comparison.ratio, comparison.low, comparison.high, comparison.verdict)
    return [
        text(f" {percent(comparison.rate)}"),
        ratio_cell + Text(interval_text(comparison.low, comparison.high)),
        text(strip, style=ink),
    ]


def _headless_grid() -> Grid:
    """Return a table without heads."""
    return Grid(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
