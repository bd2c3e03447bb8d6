"""The tables of an audit for papers: a Markdown section of a model card, or LaTeX with booktabs."""

from __future__ import annotations

import re
from itertools import groupby, islice
from typing import TYPE_CHECKING

from parivox.errors import printable
from parivox.report.audit_queries import grouping_with_allocation, located_points, scopes, systems
from parivox.report.catalogue import full_sentence, sentence_text
from parivox.report.findings import confidence_statement
from parivox.report.overview import overview
from parivox.report.sheets.comparison import crosstabs, rates_side_by_side
from parivox.report.sheets.groups import operating_points, rates_on_paper
from parivox.report.sheets.measures import measures_on_paper
from parivox.report.words import capitalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parivox.auditing import Audit
    from parivox.report.sheets.sheet import Column, Sheet
    from parivox.report.words import Row

_POINT_HEADS = {
    "system": "system",
    "point": "operating point",
    "threshold": "threshold",
    "fnr": "FNR",
    "fpr": "FPR",
    "cost": "cost",
    "source": "set on",
}
PAPER_TABLES = {
    "thresholds": "operating points of all systems",
    "rates": "both error rates of each group, systems side by side",
    "groups": "each group of one system with counts, ratio and adjusted p",
    "crosstabs": "rates of two attributes crossed",
    "measures": "meta-measures with their noise floors",
}
"""What each table shows, in the order of a paper."""
_ONE_THRESHOLD = full_sentence("accepted_at_common_threshold")
_MARKDOWN_SPECIAL = re.compile(
    r"[\\`*_{}#|~$^]"
    r"|\[(?![\d.,>–\- ]+\](?![\[(:]))|\](?=[\[(:])"  # but not the brackets of an interval
    r"|<(?=[A-Za-z/!?])|&(?=[#\w])|(?<=:)//|(?i:(?<=www)\.)"
)
_ENTITIES = {"&": "&amp;", "<": "&lt;"}
_MAX_LINE = 105
"""Letters of a row that fit across a page of two columns at footnote size."""
_MAX_ROWS_PER_PAGE = 40
"""Rows of a LaTeX table on one page."""
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
_LATEX_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)) + "|(?<=-)-|(?<=[?!])`")
_NOT_IN_PDFLATEX = re.compile("[^\u0000-\u017f–—×]")
"""Characters that pdfLaTeX cannot print."""


def paper(audit: Audit, tables: Sequence[str] = (), conditions: str = "") -> Iterator[Sheet]:
    """Return the tables of a paper, or those of these names alone: see `PAPER_TABLES`.

    Of one system, `rates` is left out unless it is named: `groups` has the same rates. A table of
    verdicts that are confirmatory only on `conditions` states these.
    """
    chosen = tables or PAPER_TABLES
    all_systems = systems(audit)
    if "thresholds" in chosen:
        yield (
            operating_points(audit, {})
            .select(_POINT_HEADS, title="Thresholds", reading=_ONE_THRESHOLD)
            .without_empty_columns()
        )
    if "rates" in tables or ("rates" in chosen and len(all_systems) > 1):
        yield from _rates_of_all_systems(audit)
    for system in all_systems:
        for filters, point in _scopes_at_points(audit, system):
            if "groups" in chosen:
                yield rates_on_paper(audit, filters, point, conditions)
            if "crosstabs" in chosen:
                yield from (
                    sheet.without_empty_columns() for sheet in crosstabs(audit, filters, point)
                )
            if "measures" in chosen:
                measures = measures_on_paper(audit, filters, point)
                yield from [measures] if measures.rows else []


def _rates_of_all_systems(audit: Audit) -> Iterator[Sheet]:
    """Return both rates of all systems side by side, for each grouping and operating point.

    Operating points that systems have in common share a table; decisions of each system have one.
    """
    systems_by_scope: dict[tuple[str, ...], list[tuple[Row, str]]] = {}
    for system in systems(audit):
        for filters, point in _scopes_at_points(audit, system):
            scope = (filters["grouping"], filters["allocation"], filters["within"], point)
            systems_by_scope.setdefault(scope, []).append((filters, point))
    for (grouping, allocation, _, _), system_points in systems_by_scope.items():
        words = grouping_with_allocation(grouping, allocation)
        yield rates_side_by_side(audit, words, system_points)


def first_rates(audit: Audit) -> Iterator[Sheet]:
    """Return rates of every grouping at the first operating point."""
    for system in systems(audit):
        for filters, point in _scopes_at_points(audit, system, max_points=1):
            yield rates_on_paper(audit, filters, point)


def _scopes_at_points(
    audit: Audit, system: Row, *, max_points: int | None = None
) -> Iterator[tuple[Row, str]]:
    """Return every grouping and allocation of a system with rates, at its (first) points."""
    for scope in scopes(audit):
        if (scope.system, scope.list) == (system["system"], system["list"]):
            for point in located_points(audit, system)[:max_points]:
                yield scope.filters, point["operating_point"]


# ---- Markdown


def markdown(audit: Audit, tables: Sequence[str] = ()) -> str:
    """Return a section of a model card: findings, then tables; headings begin at ``##``.

    Of these tables alone, if any are named: no findings and no headings.
    """
    if tables:
        lines = _markdown_table_lines(paper(audit, tables, confidence_statement(audit)))
    else:
        lines = _markdown_lines(audit)
    return "\n".join(lines).strip("\n") + "\n"


def markdown_escaped(text: str) -> str:
    r"""Return text that Markdown shows unchanged, in a cell of a table and elsewhere.

    Examples
    --------
    >>> print(markdown_escaped("a|b <i> [x](y) 1.7 [1.3, 2.3]"))
    a\|b &lt;i> \[x\](y) 1.7 [1.3, 2.3]
    """
    return _MARKDOWN_SPECIAL.sub(
        lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), printable(text)
    )


def _markdown_lines(audit: Audit) -> Iterator[str]:
    version = audit.record["versions"]["parivox"]
    yield f"<!-- Parivox {version}: parivox report --format markdown -->"
    yield from ("", "## Error rates by group", "")
    yield full_sentence("rates_at_common_threshold")
    audit_overview = overview(audit)
    headline, *other_findings = map(
        markdown_escaped, (*audit_overview.finding_sentences, *audit_overview.count_sentences)
    )
    yield from ("", f"**{headline}**", "")
    yield from (f"- {sentence}" for sentence in other_findings)
    yield from ("", markdown_escaped(audit_overview.data_sentence))
    for heading, words in audit_overview.notes.items():
        yield from ("", f"**{heading}.** {markdown_escaped(capitalised(words))}")
    if audit_overview.caveats:
        yield from ("", "### Limitations", "")
        yield from (f"- {markdown_escaped(caveat.sentence)}." for caveat in audit_overview.caveats)
    yield from ("", "### Tables")
    yield from _markdown_table_lines(paper(audit))


def _markdown_table_lines(tables: Iterable[Sheet]) -> Iterator[str]:
    for table in tables:
        title, reading = markdown_escaped(table.title), markdown_escaped(table.reading)
        yield from ("", f"**{title}.** {reading}", "")
        heads = [
            f"{column.span_head}: {column.heading}" if column.span_head else column.heading
            for column in table.columns
        ]
        yield _markdown_row(map(markdown_escaped, heads))
        yield _markdown_row(":---" if column.is_words else "---:" for column in table.columns)
        yield from (_markdown_row(map(markdown_escaped, row)) for row in table.on_paper)
        for note in table.notes:
            yield from ("", markdown_escaped(note))


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


# ---- LaTeX


def latex(audit: Audit, tables: Sequence[str] = ()) -> str:
    """Return a ``table*`` for each table, split at page ends, with captions on how to read it."""
    numbered_tables = enumerate(paper(audit, tables, confidence_statement(audit)), 1)
    text = "\n".join(
        section for number, table in numbered_tables for section in latex_table(number, table)
    )
    version = audit.record["versions"]["parivox"]
    head = [f"% Parivox {version}: parivox report --format latex", r"% needs \usepackage{booktabs}"]
    if _NOT_IN_PDFLATEX.search(text):
        head.append(sentence_text("letters_that_pdflatex_lacks"))
    return "\n".join([*head, text, ""])


def latex_escaped(text: str) -> str:
    r"""Return text that LaTeX prints unchanged, except in an address or a listing.

    Examples
    --------
    >>> print(latex_escaped(r"50 % of {a_b} \ & c--d"))
    50 \% of \{a\_b\} \textbackslash{} \& c-{}-d
    """
    return _LATEX_SPECIAL.sub(
        lambda match: _ESCAPES.get(match[0], f"{{}}{match[0]}"), printable(text)
    )


def latex_table(number: int, table: Sheet) -> Iterator[str]:
    """Return the parts of a table; only the first has a number and a label."""
    caption = latex_escaped(" ".join([f"{table.title}.", table.reading, *table.notes]))
    columns, rows = _stacked_panels(table)
    for start in range(0, max(len(rows), 1), _MAX_ROWS_PER_PAGE):
        heading = (
            rf"\textit{{Table~\ref{{tab:parivox-{number}}}, continued}}\par\smallskip"
            if start
            else rf"\caption{{{caption}}}\label{{tab:parivox-{number}}}"
        )
        alignment = "".join("l" if column.is_words else "r" for column in columns)
        lines = [
            "",
            r"\begin{table*}[p]",
            r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
            heading,
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            *_latex_heads(columns),
            r"\midrule",
            *rows[start : start + _MAX_ROWS_PER_PAGE],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table*}",
        ]
        yield "\n".join(lines)


def _stacked_panels(table: Sheet) -> tuple[list[Column], list[str]]:
    """Return columns and rows; wide blocks with the same heads are put one below the other."""
    span_heads = dict.fromkeys(column.span_head for column in table.columns if column.span_head)
    heads_by_span = [
        [column.head for column in table.columns if column.span_head == span_head]
        for span_head in span_heads
    ]
    has_other_heads = any(heads != heads_by_span[0] for heads in heads_by_span)
    if len(span_heads) < 2 or has_other_heads or _line_length(table) <= _MAX_LINE:
        return list(table.columns), list(_latex_rows(table, range(len(table.columns))))
    lines: list[str] = []
    for span_head in span_heads:
        column_indices = [
            column_index
            for column_index, column in enumerate(table.columns)
            if column.span_head in {"", span_head}
        ]
        rule = [r"\midrule"] if lines else []
        name = latex_escaped(span_head)
        title = rf"\multicolumn{{{len(column_indices)}}}{{l}}{{\textit{{{name}}}}} \\"
        rows = _latex_rows(table, column_indices)
        # a heading stays with its first row where a page ends
        lines += ["\n".join([*rule, title, *islice(rows, 1)]), *rows]
    return [
        table.columns[column_index]._replace(span_head="") for column_index in column_indices
    ], lines


def _line_length(table: Sheet) -> int:
    """Return the letters of a row as long as the longest cells, with gaps."""
    columns = zip(*table.on_paper, strict=True)
    widths = [max(len(cell) for cell in cells) for cells in columns]
    return sum(widths) + 2 * len(widths)


def _latex_rows(table: Sheet, column_indices: Sequence[int]) -> Iterator[str]:
    for row_number, row in enumerate(table.on_paper, 1):
        is_apart = table.sums and row_number == len(table.rows) > 1
        rule = "\\midrule\n" if is_apart else ""
        yield rule + _latex_row([row[column_index] for column_index in column_indices])


def _latex_heads(columns: Sequence[Column]) -> Iterator[str]:
    """Return the rows of heads, those that span several columns first."""
    if any(column.span_head for column in columns):
        cells, rules, column_number = [], [], 1
        for span_head, columns_below in groupby(columns, key=lambda column: column.span_head):
            n_columns = len(list(columns_below))
            alignment = "c" if span_head else "l"
            cells.append(
                rf"\multicolumn{{{n_columns}}}{{{alignment}}}{{{latex_escaped(span_head)}}}"
            )
            if span_head:
                last_column = column_number + n_columns - 1
                rules.append(rf"\cmidrule(lr){{{column_number}-{last_column}}}")
            column_number += n_columns
        yield " & ".join(cells) + r" \\"
        yield " ".join(rules)
    yield _latex_row([column.heading for column in columns])


def _latex_row(cells: Sequence[str]) -> str:
    # a bracket or a star after the end of the row before would be taken for its argument
    return "{}" + " & ".join(map(latex_escaped, cells)) + r" \\"
