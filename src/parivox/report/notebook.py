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

_TOLD_BY = {
    "Checked": ("trials", "check_in_words"),
    "Description": ("trials", "description_in_words"),
    "Embedded": ("systems", "embedded"),
    "Graded": ("trials", "grades_in_words"),
    "Inspection": ("inspection", "told"),
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
    """A result as HTML without scripts.

    Parameters
    ----------
    result
        An audit; or any other result, which is shown as the terminal prints it.
    """
    return "".join(_audit(result)) if isinstance(result, Audit) else _printed(result)


def _audit(audit: Audit) -> Iterator[str]:
    """Each system's verdicts, and its groups at the first operating point."""
    for answer in answers(audit):
        yield f"<p><strong>{escape(shown(answer.heading))}</strong></p><ul>"
        yield "".join(f"<li>{escape(shown(sentence))}</li>" for sentence in answer.sentences)
        yield "</ul>"
    for place, table in enumerate(first_rates(audit)):
        yield f"<details{'' if place else ' open'}><summary>{escape(shown(table.title))}</summary>"
        yield f"<p>{escape(shown(table.reading))}</p>"
        yield from _table(table)
        yield "".join(f"<p>{escape(shown(note))}</p>" for note in table.notes)
        yield "</details>"


def _table(table: Sheet) -> Iterator[str]:
    yield "<table><thead><tr>"
    for column in table.columns:
        head = f"{column.over}: {column.heading}" if column.over else column.heading
        yield f'<th scope="col">{escape(shown(head))}</th>'
    yield "</tr></thead><tbody>"
    for row in table.on_paper:
        yield f"<tr>{''.join(f'<td>{escape(shown(cell))}</td>' for cell in row)}</tr>"
    yield "</tbody></table>"


def _printed(result: Any) -> str:
    """What the terminal prints of a result."""
    module, name = _TOLD_BY.get(type(result).__name__, ("", ""))
    tell = getattr(import_module(f"parivox.report.{module}"), name) if module else _own_lines
    told = tell(result)
    if not hasattr(told, "__rich_console__"):
        return f"<pre>{escape(chr(10).join(shown(line) for line in told))}</pre>"
    from rich.console import Console  # noqa: PLC0415 - what takes time to load

    console = Console(record=True, file=io.StringIO(), width=_WIDTH, highlight=False)
    console.print(told)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def _own_lines(result: Any) -> list[str]:
    return list(result.told)
