"""Results in notebooks, and printed: of an audit what is seen first, others as in the terminal."""

from __future__ import annotations

import io
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from parivox.auditing import Audit
from parivox.errors import printable
from parivox.report.audit_queries import error_types
from parivox.report.catalogue import full_sentence
from parivox.report.findings import ALLOCATIONS, ratio_legend, reference_text
from parivox.report.overview import overview
from parivox.report.ratio_strips import SIGNS, svg_strip
from parivox.report.sheets.paper import first_rates
from parivox.report.words import (
    capitalised,
    count_text,
    interval_text,
    percent,
    plain_lines,
    short_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.report.overview import GroupComparison, Overview
    from parivox.report.sheets.sheet import Sheet

_PRINTERS = {
    "Audit": ("terminal", "summary"),
    "Calibration": ("calibration", "calibration_summary"),
    "Checked": ("trials", "check_details"),
    "Comparison": ("releases", "comparison_summary"),
    "Criteria": ("criteria", "criteria_summary"),
    "Description": ("trials", "description_summary"),
    "Embedded": ("systems", "embedding_lines"),
    "Gate": ("gate", "gate_summary"),
    "Graded": ("trials", "grades_summary"),
    "Inspection": ("inspection", "plain_lines"),
    "Labelled": ("terminal", "summary"),
    "Monitor": ("monitor", "monitor_summary"),
    "Plan": ("plan", "plan_summary"),
    "ScoreMetrics": ("score_metrics", "score_metrics_summary"),
    "Scored": ("systems", "scoring_lines"),
    "Thresholds": ("thresholds", "thresholds_summary"),
    "Variation": ("variation", "variation_summary"),
}
"""What prints each type of result in the terminal: a module of this package and its function.

By name, so that a notebook loads only what it shows.
"""
_TERMINAL_WIDTH = 100
_MAX_FINDINGS, _MAX_GROUPS = 5, 12


def Charts(audit: Audit) -> Any:  # noqa: N802 - as the class it makes
    """Every figure of an audit by name, as Altair charts to restyle."""
    from parivox.report.charts import chart_functions  # noqa: PLC0415 - what takes time to load

    return chart_functions.Charts(audit)


def html(analysis: Any) -> str:
    """Return an audit as HTML without scripts; any other result as the terminal prints it."""
    if isinstance(analysis, Audit):
        return "".join(_audit_html(analysis))
    return _printed_html(analysis)


def _audit_html(audit: Audit) -> Iterator[str]:
    """Yield what is seen first, and folded below it the groups at the first operating point."""
    first_screen = overview(audit)
    headline, *further_sentences = first_screen.finding_sentences[:_MAX_FINDINGS]
    yield f"<p><small>{_escaped(first_screen.data_sentence)}</small></p>"
    yield f"<p><strong>{_escaped(headline)}</strong></p><ul>"
    yield from (
        f"<li>{_escaped(sentence)}</li>"
        for sentence in (*further_sentences, *first_screen.count_sentences)
    )
    yield "</ul>"
    yield from _ratio_table(audit, first_screen)
    for heading, words in first_screen.notes.items():
        yield f"<p><strong>{_escaped(heading)}.</strong> {_escaped(capitalised(words))}</p>"
    if first_screen.caveats:
        limitations = "; ".join(caveat.short for caveat in first_screen.caveats)
        yield f"<p><strong>Limitations.</strong> {_escaped(capitalised(limitations))}.</p>"
    for table in first_rates(audit):
        yield f"<details><summary>{_escaped(table.title)}</summary>"
        yield f"<p>{_escaped(table.reading)}</p>"
        yield from _table_html(table)
        yield "".join(f"<p>{_escaped(note)}</p>" for note in table.notes)
        yield "</details>"


def _ratio_table(audit: Audit, first_screen: Overview) -> Iterator[str]:
    """Yield the groups that are seen first, with both errors in every system."""
    groups = first_screen.leading_groups(_MAX_GROUPS)
    ratio = f"ratio to {_escaped(reference_text(audit))}"
    heads = "".join(
        f'<th scope="col">{capitalised(words)} ({metric.upper()})</th>'
        f'<th scope="col" colspan="2">{ratio}</th>'
        for metric, words in error_types(audit).items()
    )
    yield f'<table><thead><tr><th scope="col">group</th><th scope="col">system</th>{heads}</tr>'
    yield "</thead><tbody>"
    margin = audit.record["options"]["margin"]
    for group in groups:
        of_metrics = (group.comparisons[metric] for metric in error_types(audit))
        for row_index, of_system in enumerate(zip(*of_metrics, strict=True)):
            group_cell = f"<th>{_escaped('' if row_index else group.group)}</th>"
            cells = "".join(
                f"<td>{cell}</td>"
                for comparison in of_system
                for cell in _comparison_cells(comparison, margin)
            )
            yield f"<tr>{group_cell}<td>{_escaped(of_system[0].system)}</td>{cells}</tr>"
    yield "</tbody></table>"
    allocation_text = ALLOCATIONS[audit.record["options"]["allocate"][0]]
    legend = full_sentence(
        "ratio_and_allocation",
        ratio=_escaped(capitalised(ratio_legend(audit))),
        allocation=allocation_text,
    )
    yield f"<p>{legend}</p>"
    n_hidden = len(first_screen.groups) - len(groups)
    if n_hidden:
        yield f"<p>{full_sentence('more_groups_below', groups=count_text(n_hidden))}</p>"


def _comparison_cells(comparison: GroupComparison, margin: float) -> Iterator[str]:
    """Yield the rate, the ratio as drawn, and the ratio with its interval on one line."""
    yield percent(comparison.rate)
    # grey where it says again that the other group is worse
    ink = "gray" if comparison.worse_group else ""
    yield svg_strip(
        comparison.ratio,
        comparison.low,
        comparison.high,
        comparison.verdict,
        margin=margin,
        ink=ink,
    )
    words = f"{SIGNS.get(comparison.verdict, '')} {short_number(comparison.ratio)}"
    if comparison.high is not None:
        words += f" {interval_text(comparison.low, comparison.high)}"
    yield words.strip().replace(" ", "\u00a0")


def _escaped(text: str) -> str:
    return escape(printable(text))


def _table_html(table: Sheet) -> Iterator[str]:
    yield "<table><thead><tr>"
    for column in table.columns:
        head = f"{column.span_head}: {column.heading}" if column.span_head else column.heading
        yield f'<th scope="col">{_escaped(head)}</th>'
    yield "</tr></thead><tbody>"
    for row in table.on_paper:
        yield f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in row)}</tr>"
    yield "</tbody></table>"


def plain_text(analysis: Any) -> str:
    """Return what the terminal prints of a result, without colours."""
    printed = _printed(analysis)
    return "\n".join(
        plain_lines(printed)
        if hasattr(printed, "__rich_console__")
        else [printable(line) for line in printed]
    )


def _printed(analysis: Any) -> Any:
    """Return what the terminal prints of a result: for rich, or as lines."""
    module, name = _PRINTERS.get(type(analysis).__name__, ("", ""))
    if module:
        return getattr(import_module(f"parivox.report.{module}"), name)(analysis)
    # what was scored in all pairs says all in its representation
    return getattr(analysis, "told", [repr(analysis)])


def _printed_html(analysis: Any) -> str:
    """Return what the terminal prints of a result, as HTML."""
    printed = _printed(analysis)
    if not hasattr(printed, "__rich_console__"):
        lines = "\n".join(printable(line) for line in printed)
        return f"<pre>{escape(lines)}</pre>"
    from rich.console import Console  # noqa: PLC0415 - what takes time to load

    console = Console(record=True, file=io.StringIO(), width=_TERMINAL_WIDTH, highlight=False)
    console.print(printed)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
