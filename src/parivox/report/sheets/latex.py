r"""An audit's tables for a paper: LaTeX with booktabs, captions that say how to read them."""

from __future__ import annotations

import re
from itertools import groupby, islice
from typing import TYPE_CHECKING

from parivox.errors import shown
from parivox.report.sheets.paper import paper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.sheets.sheet import Column, Sheet

_MOST_ROWS = 40
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
        lines for number, table in enumerate(paper(audit), 1) for lines in _parts(number, table)
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


def _parts(number: int, table: Sheet) -> Iterator[str]:
    columns, lines = _panels(table)
    for start in range(0, max(len(lines), 1), _MOST_ROWS):
        part = lines[start : start + _MOST_ROWS]
        yield "\n".join(_float(number, table, columns, part, is_first=not start))


def _panels(table: Sheet) -> tuple[list[Column], list[str]]:
    """Columns and rows: what stands twice side by side, as both rates do, one below the other."""
    overs = dict.fromkeys(one.over for one in table.columns if one.over)
    heads = [[one.head for one in table.columns if one.over == over] for over in overs]
    if len(overs) < 2 or any(of != heads[0] for of in heads):
        return list(table.columns), list(_lines(table, range(len(table.columns))))
    lines: list[str] = []
    for over in overs:
        chosen = [at for at, one in enumerate(table.columns) if one.over in {"", over}]
        rule = [r"\midrule"] if lines else []
        title = rf"\multicolumn{{{len(chosen)}}}{{l}}{{\textit{{{escaped(over)}}}}} \\"
        own = _lines(table, chosen)
        # a heading stays with its first row where a page ends
        lines += ["\n".join([*rule, title, *islice(own, 1)]), *own]
    return [table.columns[at]._replace(over="") for at in chosen], lines


def _lines(table: Sheet, chosen: Sequence[int]) -> Iterator[str]:
    for place, row in enumerate(table.on_paper, 1):
        is_apart = table.sums and place == len(table.rows) > 1
        told = _row([row[at] for at in chosen])
        yield "\\midrule\n" + told if is_apart else told


def _float(
    number: int,
    table: Sheet,
    columns: Sequence[Column],
    lines: Sequence[str],
    *,
    is_first: bool,
) -> Iterator[str]:
    """One part of a table; only the first has a number and a label."""
    told = [f"{table.title}.", table.reading, *table.notes]
    caption = escaped(" ".join(told))
    yield ""
    yield r"\begin{table*}[p]"
    yield r"\centering\footnotesize\setlength{\tabcolsep}{3pt}"
    if is_first:
        yield rf"\caption{{{caption}}}\label{{tab:parivox-{number}}}"
    else:
        yield rf"\textit{{Table~\ref{{tab:parivox-{number}}}, continued}}\par\smallskip"
    yield rf"\begin{{tabular}}{{{''.join('l' if one.is_words else 'r' for one in columns)}}}"
    yield r"\toprule"
    yield from _heads(columns)
    yield r"\midrule"
    yield from lines
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
    yield _row([one.heading for one in columns])


def _row(cells: Sequence[str]) -> str:
    # a bracket or a star after the end of the row before would be taken for its argument
    return "{}" + " & ".join(map(escaped, cells)) + r" \\"
