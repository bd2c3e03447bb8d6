"""The tables of an audit on paper: a section of a model card (Markdown), or LaTeX (booktabs)."""

from __future__ import annotations

import re
from itertools import groupby, islice
from typing import TYPE_CHECKING

from parivox.errors import printable
from parivox.report.audit_queries import located_points, scopes, systems
from parivox.report.overview import overview
from parivox.report.sheets.comparison import by_system, crosstabs
from parivox.report.sheets.groups import operating_points, rates_on_paper
from parivox.report.sheets.measures import measures_on_paper
from parivox.report.words import capitalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parivox.auditing import Audit
    from parivox.report.sheets.sheet import Column, Sheet
    from parivox.report.words import Row

_POINTS = {
    "system": "system",
    "point": "operating point",
    "threshold": "threshold",
    "fnr": "FNR",
    "fpr": "FPR",
    "cost": "cost",
    "source": "found on",
}
_ONE_THRESHOLD = (
    "A trial is accepted if its score is at least the threshold, the same for all groups."
)
_MARKUP = re.compile(
    r"[\\`*_{}#|~$^]"
    r"|\[(?![\d.,>–\- ]+\](?![\[(:]))|\](?=[\[(:])"  # but not the brackets of an interval
    r"|<(?=[A-Za-z/!?])|&(?=[#\w])|(?<=:)//|(?i:(?<=www)\.)"
)
_ENTITIES = {"&": "&amp;", "<": "&lt;"}
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


def paper(audit: Audit) -> Iterator[Sheet]:
    """Thresholds; rates, crosstabs and measures of each system; systems side by side."""
    every = systems(audit)
    known = operating_points(audit, {}).select(_POINTS, title="Thresholds", reading=_ONE_THRESHOLD)
    yield known.without_empty_columns()
    for system in every:
        for where, at in _scopes_at_points(audit, system):
            yield rates_on_paper(audit, where, at)
            yield from (one.without_empty_columns() for one in crosstabs(audit, where, at))
            if (measures := measures_on_paper(audit, where, at)).rows:
                yield measures
    if len(every) > 1:
        for where, at in _scopes_at_points(audit, every[0]):
            of_each = [({**where, **system}, at) for system in every]
            yield from (
                one.without_empty_columns() for one in by_system(audit, where["grouping"], of_each)
            )


def first_rates(audit: Audit) -> Iterator[Sheet]:
    """Rates of every grouping at the first operating point."""
    for system in systems(audit):
        for where, at in _scopes_at_points(audit, system, most=1):
            yield rates_on_paper(audit, where, at)


def _scopes_at_points(
    audit: Audit, system: Row, *, most: int | None = None
) -> Iterator[tuple[Row, str]]:
    """Every grouping and allocation of a system that has rates, at its (first) operating points."""
    for scope in scopes(audit):
        if (scope.system, scope.list) == (system["system"], system["list"]):
            for point in located_points(audit, system)[:most]:
                yield scope.filters, point["operating_point"]


# ---- Markdown


def markdown(audit: Audit) -> str:
    """A section of a model card: what is seen first, then the tables; headings from ``##``."""
    return "\n".join(_section(audit)) + "\n"


def markdown_escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, in a cell of a table and elsewhere.

    Examples
    --------
    >>> print(markdown_escaped("a|b <i> [x](y) 1.7 [1.3, 2.3]"))
    a\|b &lt;i> \[x\](y) 1.7 [1.3, 2.3]
    """
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), printable(text))


def _section(audit: Audit) -> Iterator[str]:
    version = audit.record["versions"]["parivox"]
    yield f"<!-- Parivox {version}: parivox report --format markdown -->"
    yield from ("", "## Error rates by group", "")
    yield (
        "Error rates of each group at a common threshold: false rejects (FNR: target trials "
        "rejected) and false accepts (FPR: nontarget trials accepted)."
    )
    of = overview(audit)
    headline, *others = map(markdown_escaped, (*of.finding_sentences, *of.count_sentences))
    yield from ("", f"**{headline}**", "")
    yield from (f"- {sentence}" for sentence in others)
    yield from ("", markdown_escaped(of.data_sentence))
    for heading, words in of.notes.items():
        yield from ("", f"**{heading}.** {markdown_escaped(capitalised(words))}")
    if of.caveats:
        yield from ("", "### Limitations", "")
        yield from (f"- {markdown_escaped(one.sentence)}." for one in of.caveats)
    yield from ("", "### Tables")
    for table in paper(audit):
        title, reading = markdown_escaped(table.title), markdown_escaped(table.reading)
        yield from ("", f"**{title}.** {reading}", "")
        heads = (
            f"{one.span_head}: {one.heading}" if one.span_head else one.heading
            for one in table.columns
        )
        yield _markdown_row(map(markdown_escaped, heads))
        yield _markdown_row(":---" if one.is_words else "---:" for one in table.columns)
        yield from (_markdown_row(map(markdown_escaped, row)) for row in table.on_paper)
        for note in table.notes:
            yield from ("", markdown_escaped(note))


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


# ---- LaTeX


def latex(audit: Audit) -> str:
    """One ``table*`` a table, cut where a page ends, with captions that say how to read it."""
    tables = enumerate(paper(audit), 1)
    body = "\n".join(part for number, table in tables for part in latex_table(number, table))
    version = audit.record["versions"]["parivox"]
    head = [f"% Parivox {version}: parivox report --format latex", r"% needs \usepackage{booktabs}"]
    if _BEYOND.search(body):
        head.append("% holds letters that pdfLaTeX lacks: use LuaLaTeX and a font with them")
    return "\n".join([*head, body, ""])


def latex_escaped(text: str) -> str:
    r"""Text that LaTeX prints as it is, anywhere but in an address or a listing.

    Examples
    --------
    >>> print(latex_escaped(r"50 % of {a_b} \ & c--d"))
    50 \% of \{a\_b\} \textbackslash{} \& c-{}-d
    """
    return _SIGNS.sub(lambda found: _ESCAPES.get(found[0], f"{{}}{found[0]}"), printable(text))


def latex_table(number: int, table: Sheet) -> Iterator[str]:
    """The parts of a table, of which only the first has a number and a label."""
    caption = latex_escaped(" ".join([f"{table.title}.", table.reading, *table.notes]))
    columns, rows = _panels(table)
    for start in range(0, max(len(rows), 1), _MOST_ROWS):
        named = (
            rf"\textit{{Table~\ref{{tab:parivox-{number}}}, continued}}\par\smallskip"
            if start
            else rf"\caption{{{caption}}}\label{{tab:parivox-{number}}}"
        )
        sides = "".join("l" if one.is_words else "r" for one in columns)
        lines = [
            "",
            r"\begin{table*}[p]",
            r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
            named,
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            *_latex_heads(columns),
            r"\midrule",
            *rows[start : start + _MOST_ROWS],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table*}",
        ]
        yield "\n".join(lines)


def _panels(table: Sheet) -> tuple[list[Column], list[str]]:
    """Columns and rows: what stands twice side by side, as both rates do, one below the other."""
    overs = dict.fromkeys(one.span_head for one in table.columns if one.span_head)
    heads = [[one.head for one in table.columns if one.span_head == over] for over in overs]
    if len(overs) < 2 or any(of != heads[0] for of in heads):
        return list(table.columns), list(_latex_rows(table, range(len(table.columns))))
    lines: list[str] = []
    for over in overs:
        chosen = [at for at, one in enumerate(table.columns) if one.span_head in {"", over}]
        rule = [r"\midrule"] if lines else []
        title = rf"\multicolumn{{{len(chosen)}}}{{l}}{{\textit{{{latex_escaped(over)}}}}} \\"
        rows = _latex_rows(table, chosen)
        # a heading stays with its first row where a page ends
        lines += ["\n".join([*rule, title, *islice(rows, 1)]), *rows]
    return [table.columns[at]._replace(span_head="") for at in chosen], lines


def _latex_rows(table: Sheet, chosen: Sequence[int]) -> Iterator[str]:
    for place, row in enumerate(table.on_paper, 1):
        is_apart = table.sums and place == len(table.rows) > 1
        rule = "\\midrule\n" if is_apart else ""
        yield rule + _latex_row([row[at] for at in chosen])


def _latex_heads(columns: Sequence[Column]) -> Iterator[str]:
    """Headings, with those that span several columns above them."""
    if any(one.span_head for one in columns):
        cells, rules, at = [], [], 1
        for over, same in groupby(columns, key=lambda one: one.span_head):
            n = len(list(same))
            side = "c" if over else "l"
            cells.append(rf"\multicolumn{{{n}}}{{{side}}}{{{latex_escaped(over)}}}")
            rules += [rf"\cmidrule(lr){{{at}-{at + n - 1}}}"] if over else []
            at += n
        yield " & ".join(cells) + r" \\"
        yield " ".join(rules)
    yield _latex_row([one.heading for one in columns])


def _latex_row(cells: Sequence[str]) -> str:
    # a bracket or a star after the end of the row before would be taken for its argument
    return "{}" + " & ".join(map(latex_escaped, cells)) + r" \\"
