"""Results as notebooks show them: of an audit what is seen first, other results in their words."""

from __future__ import annotations

import io
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from parivox.auditing import Audit
from parivox.errors import printable
from parivox.report.audit_queries import ERROR_TYPES
from parivox.report.findings import ALLOCATIONS, ratio_legend, reference_text
from parivox.report.overview import overview
from parivox.report.ratio_strips import SIGNS, svg_strip
from parivox.report.sheets.paper import first_rates
from parivox.report.words import capitalised, count_text, interval_text, percent, short_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.report.overview import GroupComparison, Overview
    from parivox.report.sheets.sheet import Sheet

_IN_WORDS = {
    "Calibration": ("calibration", "calibration_in_words"),
    "Checked": ("trials", "check_in_words"),
    "Description": ("trials", "description_in_words"),
    "Embedded": ("systems", "embedded"),
    "Graded": ("trials", "grades_in_words"),
    "Inspection": ("inspection", "plain_lines"),
    "Monitor": ("monitor", "monitor_in_words"),
    "Plan": ("plan", "plan_in_words"),
    "Scored": ("systems", "scored"),
    "Thresholds": ("thresholds", "thresholds_in_words"),
    "Variation": ("variation", "variation_in_words"),
}
"""What tells each result in the terminal: a module of this package and its function."""
_WIDTH = 100
_MOST_FOUND, _MOST_GROUPS = 5, 12


def Charts(audit: Audit) -> Any:  # noqa: N802 - as the class it makes
    """Every figure of an audit by name, as Altair charts to restyle."""
    from parivox.report.charts import chart_functions  # noqa: PLC0415 - what takes time to load

    return chart_functions.Charts(audit)


def html(result: Any) -> str:
    """An audit as HTML without scripts; any other result as the terminal prints it."""
    return "".join(_audit(result)) if isinstance(result, Audit) else _printed(result)


def _audit(audit: Audit) -> Iterator[str]:
    """What is seen first, and folded below it the groups at the first operating point."""
    of = overview(audit)
    headline, *others = of.finding_sentences[:_MOST_FOUND]
    yield f"<p><small>{_safe(of.data_sentence)}</small></p>"
    yield f"<p><strong>{_safe(headline)}</strong></p><ul>"
    yield from (f"<li>{_safe(sentence)}</li>" for sentence in (*others, *of.count_sentences))
    yield "</ul>"
    yield from _ratios(audit, of)
    for heading, words in of.notes.items():
        yield f"<p><strong>{_safe(heading)}.</strong> {_safe(capitalised(words))}</p>"
    if of.caveats:
        limitations = "; ".join(one.short for one in of.caveats)
        yield f"<p><strong>Limitations.</strong> {_safe(capitalised(limitations))}.</p>"
    for table in first_rates(audit):
        yield f"<details><summary>{_safe(table.title)}</summary>"
        yield f"<p>{_safe(table.reading)}</p>"
        yield from _table(table)
        yield "".join(f"<p>{_safe(note)}</p>" for note in table.notes)
        yield "</details>"


def _ratios(audit: Audit, of: Overview) -> Iterator[str]:
    """The groups that are seen first, with both errors in every system."""
    lines = of.leading_groups(_MOST_GROUPS)
    ratio = f"ratio to {_safe(reference_text(audit))}"
    heads = "".join(
        f'<th scope="col">{capitalised(words)} ({metric.upper()})</th>'
        f'<th scope="col" colspan="2">{ratio}</th>'
        for metric, words in ERROR_TYPES.items()
    )
    yield f'<table><thead><tr><th scope="col">group</th><th scope="col">system</th>{heads}</tr>'
    yield "</thead><tbody>"
    margin = audit.record["options"]["margin"]
    for line in lines:
        for place, of_system in enumerate(
            zip(*(line.comparisons[one] for one in ERROR_TYPES), strict=True)
        ):
            group = f"<th>{_safe('' if place else line.group)}</th>"
            cells = "".join(f"<td>{cell}</td>" for one in of_system for cell in _cells(one, margin))
            yield f"<tr>{group}<td>{_safe(of_system[0].system)}</td>{cells}</tr>"
    yield "</tbody></table>"
    whose = ALLOCATIONS[audit.record["options"]["allocate"][0]]
    yield f"<p>{_safe(capitalised(ratio_legend(audit)))}. False accepts: {whose}.</p>"
    if len(lines) < len(of.groups):
        yield (
            f"<p>{count_text(len(of.groups) - len(lines))} other groups are in the tables "
            "below.</p>"
        )


def _cells(one: GroupComparison, margin: float) -> Iterator[str]:
    """The rate, the ratio as drawn, and the ratio in figures, which are never parted."""
    yield percent(one.rate)
    ink = "gray" if one.repeats_other_group else ""  # it says again that the other group is worse
    yield svg_strip(one.ratio, one.low, one.high, one.verdict, margin=margin, ink=ink)
    interval = f" {interval_text(one.low, one.high)}" if one.high is not None else ""
    words = f"{SIGNS.get(one.verdict, '')} {short_number(one.ratio)}{interval}"
    yield words.strip().replace(" ", "\u00a0")


def _safe(text: str) -> str:
    return escape(printable(text))


def _table(table: Sheet) -> Iterator[str]:
    yield "<table><thead><tr>"
    for column in table.columns:
        head = f"{column.span_head}: {column.heading}" if column.span_head else column.heading
        yield f'<th scope="col">{_safe(head)}</th>'
    yield "</tr></thead><tbody>"
    for row in table.on_paper:
        yield f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>"
    yield "</tbody></table>"


def _printed(result: Any) -> str:
    """What the terminal prints of a result."""
    module, name = _IN_WORDS.get(type(result).__name__, ("", ""))
    if module:
        words = getattr(import_module(f"parivox.report.{module}"), name)(result)
    else:
        words = result.told
    if not hasattr(words, "__rich_console__"):
        return f"<pre>{escape(chr(10).join(printable(line) for line in words))}</pre>"
    from rich.console import Console  # noqa: PLC0415 - what takes time to load

    console = Console(record=True, file=io.StringIO(), width=_WIDTH, highlight=False)
    console.print(words)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
