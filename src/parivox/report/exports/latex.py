r"""An audit's tables for a paper: LaTeX with booktabs, captions that say how to read them."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from parivox.errors import shown
from parivox.report.exports.document import tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.exports.printed import Column, Printed

__all__ = ["escaped", "latex"]

_MOST_ROWS = 45
"""Of a table on one page."""
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "`": r"\textasciigrave{}",
    "'": r"\char39{}",
    "–": "--",
    "—": "---",
    "×": r"$\times$",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
_SIGNS = re.compile("|".join(map(re.escape, _ESCAPES)) + "|(?<=-)-|(?<=[?!])`")
_BEYOND = re.compile("[^\u0000-\u017f–—×]")
"""What pdfLaTeX has no letters for."""


def latex(audit: Audit) -> str:
    """One ``table*`` a table, cut where a page ends."""
    made = [
        lines for number, table in enumerate(tables(audit), 1) for lines in _parts(number, table)
    ]
    body = "\n".join(made)
    version = audit.record["versions"]["parivox"]
    head = [f"% Parivox {version}: parivox report --format latex", r"% needs \usepackage{booktabs}"]
    if _BEYOND.search(body):
        head.append("% holds letters that pdfLaTeX lacks: use LuaLaTeX and a font with them")
    return "\n".join([*head, body, ""])


def escaped(text: str) -> str:
    r"""Text that LaTeX prints as it is, anywhere but in an address or a listing.

    Examples
    --------
    >>> print(escaped(r"50 % of {a_b} \ & c--d"))
    50 \% of \{a\_b\} \textbackslash{} \& c-{}-d
    """
    return _SIGNS.sub(lambda found: _ESCAPES.get(found[0], f"{{}}{found[0]}"), shown(text))


def _parts(number: int, table: Printed) -> Iterator[str]:
    rows = list(table.rows)
    for start in range(0, max(len(rows), 1), _MOST_ROWS):
        part = rows[start : start + _MOST_ROWS]
        is_last = start + _MOST_ROWS >= len(rows)
        yield "\n".join(_float(number, table, part, start=start, is_last=is_last))


def _float(
    number: int, table: Printed, rows: Sequence[Sequence[str]], *, start: int, is_last: bool
) -> Iterator[str]:
    """One part of a table; only the first has a number and a label."""
    told = [f"{table.title}.", table.reading, *table.notes]
    caption = escaped(" ".join(told))
    yield ""
    yield r"\begin{table*}[p]"
    yield r"\centering\footnotesize\setlength{\tabcolsep}{4pt}"
    if start:
        yield rf"\textit{{Table~\ref{{tab:parivox-{number}}}, continued}}\par\smallskip"
    else:
        yield rf"\caption{{{caption}}}\label{{tab:parivox-{number}}}"
    yield rf"\begin{{tabular}}{{{''.join('l' if one.is_words else 'r' for one in table.columns)}}}"
    yield r"\toprule"
    yield from _heads(table.columns)
    yield r"\midrule"
    for place, row in enumerate(rows):
        if table.last_apart and is_last and place == len(rows) - 1 and place:
            yield r"\midrule"
        yield _row(row)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table*}"


def _heads(columns: Sequence[Column]) -> Iterator[str]:
    """Headings, with those that span several columns above them."""
    if any(one.over for one in columns):
        cells, rules, at = [], [], 1
        for over, same in groupby(columns, key=lambda one: one.over):
            n = len(list(same))
            cells.append(rf"\multicolumn{{{n}}}{{{'c' if over else 'l'}}}{{{escaped(over)}}}")
            rules += [rf"\cmidrule(lr){{{at}-{at + n - 1}}}"] if over else []
            at += n
        yield " & ".join(cells) + r" \\"
        yield " ".join(rules)
    yield _row([one.head for one in columns])


def _row(cells: Sequence[str]) -> str:
    # a bracket or a star after the end of the row before would be taken for its argument
    return "{}" + " & ".join(map(escaped, cells)) + r" \\"
