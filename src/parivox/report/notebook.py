"""Results as notebooks show them: an audit's verdicts and groups, other results in their words."""

from __future__ import annotations

import io
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from parivox.auditing.result import Audit
from parivox.errors import shown
from parivox.report.findings import answers
from parivox.report.sheets.paper import first_rates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.report.sheets.sheet import Sheet

_IN_WORDS = {
    "Checked": ("trials", "check_in_words"),
    "Description": ("trials", "description_in_words"),
    "Embedded": ("systems", "embedded"),
    "Graded": ("trials", "grades_in_words"),
    "Inspection": ("inspection", "plain_lines"),
    "Plan": ("plan", "plan_in_words"),
    "Scored": ("systems", "scored"),
    "Variation": ("variation", "variation_in_words"),
}
"""What tells each result in the terminal: a module of this package and its function."""
_WIDTH = 100


def Charts(audit: Audit) -> Any:  # noqa: N802 - as the class it makes
    """Every figure of an audit by name, as Altair charts to restyle."""
    from parivox.report import charts  # noqa: PLC0415 - what takes time to load

    return charts.Charts(audit)


def html(result: Any) -> str:
    """An audit as HTML without scripts; any other result as the terminal prints it."""
    return "".join(_audit(result)) if isinstance(result, Audit) else _printed(result)


def _audit(audit: Audit) -> Iterator[str]:
    """Each system's verdicts, and its groups at the first operating point."""
    for answer in answers(audit):
        yield f"<p><strong>{_safe(answer.heading)}</strong></p><ul>"
        yield "".join(f"<li>{_safe(sentence)}</li>" for sentence in answer.sentences)
        yield "</ul>"
    for place, table in enumerate(first_rates(audit)):
        yield f"<details{'' if place else ' open'}><summary>{_safe(table.title)}</summary>"
        yield f"<p>{_safe(table.reading)}</p>"
        yield from _table(table)
        yield "".join(f"<p>{_safe(note)}</p>" for note in table.notes)
        yield "</details>"


def _safe(text: str) -> str:
    return escape(shown(text))


def _table(table: Sheet) -> Iterator[str]:
    yield "<table><thead><tr>"
    for column in table.columns:
        head = f"{column.over}: {column.heading}" if column.over else column.heading
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
        return f"<pre>{escape(chr(10).join(shown(line) for line in words))}</pre>"
    from rich.console import Console  # noqa: PLC0415 - what takes time to load

    console = Console(record=True, file=io.StringIO(), width=_WIDTH, highlight=False)
    console.print(words)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
