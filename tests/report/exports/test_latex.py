"""LaTeX that compiles whatever names hold, as far as that can be seen without a TeX."""

import re

import pytest

from parivox.report.sheets.paper import latex, latex_escaped, latex_table

COMMANDS = {
    *("begin", "end", "centering", "footnotesize", "setlength", "tabcolsep", "caption", "label"),
    *("toprule", "midrule", "bottomrule", "cmidrule", "multicolumn", "textit", "ref", "par"),
    *("smallskip", "textbackslash", "textasciitilde", "textasciicircum", "textless"),
    *("textgreater", "textbar", "char", "textasciigrave", "times"),
}


def check(text):
    """Refuse braces and environments that do not match, and commands that nobody wrote."""
    open_ones, depth = [], 0
    tokens = re.findall(r"\\[a-zA-Z]+|\\.|[{}%&$#_^~]|[^\\{}%&$#_^~]+", text, flags=re.DOTALL)
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token in {r"\begin", r"\end"}:
            name = tokens[i + 2]
            if token == r"\begin":
                open_ones.append(name)
            else:
                assert open_ones.pop() == name
            i += 3
        elif re.fullmatch(r"\\[a-zA-Z]+", token):
            assert token[1:] in COMMANDS, token
        elif token in "{}":
            depth += 1 if token == "{" else -1
            assert depth >= 0
        elif token == "~":
            assert tokens[i + 1] == r"\ref"
        else:
            assert token not in {"#", "_", "^"}, token
        i += 1
    assert (open_ones, depth) == ([], 0)


def body(text):
    return "\n".join(line for line in text.split("\n") if not line.startswith("%"))


@pytest.mark.slow
def test_everything_that_opens_closes_and_no_name_is_a_command(odd):
    text = body(latex(odd))
    check(text)
    assert "end\\{table\\}" in text  # the group that would end a table


@pytest.mark.slow
def test_rows_have_as_many_cells_as_the_table_has_columns(odd):
    for table in re.findall(
        r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", latex(odd), re.DOTALL
    ):
        columns, rows = table
        for row in re.findall(r"^\{\}(.*) \\\\$", rows, flags=re.MULTILINE):
            assert len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1
        for line in rows.splitlines():
            spans = re.findall(r"\\multicolumn\{(\d+)\}", line)
            assert sum(map(int, spans)) in {0, len(columns)}


@pytest.mark.slow
def test_no_row_can_begin_what_the_row_before_would_take_for_its_argument(odd):
    rows = re.findall(r"\\\\\n(.)", latex(odd))
    assert not set(rows) & {"[", "*"}
    assert r"{}[x](y)" in latex(odd)


@pytest.mark.slow
def test_a_paper_says_what_brackets_and_marks_stand_for(odd):
    text = latex(odd)
    assert r"In brackets: 95 \% confidence intervals over speakers" in text
    assert r"\usepackage{booktabs}" in text
    assert "LuaLaTeX" in text  # for the emoji


def test_latin_names_need_no_other_engine(unsure):
    assert "LuaLaTeX" not in latex(unsure)


def test_long_tables_are_cut_where_a_page_ends(odd):
    from parivox.report.sheets.sheet import Column, Sheet

    table = Sheet("T", (Column("group", is_words=True), Column("%")), reading="R", sums=1)
    for group in (*(f"g{i}" for i in range(100)), "pooled"):
        table.add(group, "1")
    pieces = list(latex_table(7, table))
    assert len(pieces) == 3
    assert sum(piece.count(r"\caption") for piece in pieces) == 1
    assert [piece.count("continued") for piece in pieces] == [0, 1, 1]
    assert [piece.count(r"\midrule") for piece in pieces] == [1, 1, 2]
    for piece in pieces:
        check(piece)


def test_escapes():
    assert latex_escaped("a--b") == "a-{}-b"
    assert latex_escaped("“50 %”, ~5") == r"“50 \%”, \textasciitilde{}5"
    assert latex_escaped("?`'") == r"?\textasciigrave{}\char39{}"


@pytest.mark.slow
def test_the_same_audit_gives_the_same_text(odd):
    assert latex(odd) == latex(odd)


@pytest.mark.slow
def test_both_rates_stand_one_below_the_other_so_that_the_table_fits_a_column(odd):
    tables = re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", latex(odd), re.DOTALL)
    rates = [
        (columns, rows) for columns, rows in tables if "(FNR)}} " in rows and "(FPR)}} " in rows
    ]
    assert rates
    for columns, rows in rates:
        assert len(columns) <= 6
        assert rows.index("false rejects (FNR)") < rows.index("false accepts (FPR)")
