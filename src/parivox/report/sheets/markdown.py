"""An audit as a section of a model card: the answer in sentences, then the tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parivox.errors import shown
from parivox.report.findings import answers
from parivox.report.sheets.paper import paper

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parivox.auditing.result import Audit
    from parivox.report.sheets.sheet import Sheet

_MARKUP = re.compile(
    r"[\\`*_{}#|~$^]"
    r"|\[(?![\d.,>–\- ]+\](?![\[(:]))|\](?=[\[(:])"  # but not the brackets of an interval
    r"|<(?=[A-Za-z/!?])|&(?=[#\w])|(?<=:)//|(?i:(?<=www)\.)"
)
_ENTITIES = {"&": "&amp;", "<": "&lt;"}


def markdown(audit: Audit) -> str:
    """The text of the section, headings from the second level on."""
    return "\n".join(_lines(audit)) + "\n"


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, in a cell of a table and elsewhere.

    Examples
    --------
    >>> print(escaped("a|b <i> [x](y) 1.7 [1.3, 2.3]"))
    a\|b &lt;i> \[x\](y) 1.7 [1.3, 2.3]
    """
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), shown(text))


def _lines(audit: Audit) -> Iterator[str]:
    version = audit.record["versions"]["parivox"]
    yield f"<!-- Parivox {version}: parivox report --format markdown -->"
    yield from ("", "## Groups of people", "")
    yield (
        "How each group of people fares at a common threshold: who is locked out (their own trials "
        "are rejected, FNR) and whose account impostors enter (their trials are accepted, FPR)."
    )
    for answer in answers(audit):
        yield from ("", f"### {escaped(answer.heading)}", "")
        yield from (f"- {escaped(sentence)}" for sentence in answer.sentences)
    yield from ("", "### Tables")
    for table in paper(audit):
        yield from ("", f"**{escaped(table.title)}.** {escaped(table.reading)}", "")
        yield from _table(table)
        for note in table.notes:
            yield from ("", escaped(note))


def _table(table: Sheet) -> Iterator[str]:
    heads = [f"{one.over}: {one.heading}" if one.over else one.heading for one in table.columns]
    yield _row(map(escaped, heads))
    yield _row(":---" if one.is_words else "---:" for one in table.columns)
    for row in table.on_paper:
        yield _row(map(escaped, row))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
