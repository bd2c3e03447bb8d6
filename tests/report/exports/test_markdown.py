"""The section of a model card: the answer, then tables that no name can break."""

import re

import pytest

from parivox.report.overview import overview
from parivox.report.sheets.paper import markdown, markdown_escaped


def tables(text):
    """Rows of each table."""
    blocks = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            blocks[-1].append(re.split(r"(?<!\\)\|", line)[1:-1])
        elif blocks[-1]:
            blocks.append([])
    return [rows for rows in blocks if rows]


@pytest.mark.slow
def test_every_table_has_as_many_cells_in_each_row(odd):
    table_rows = tables(markdown(odd))
    assert len(table_rows) > 10
    for rows in table_rows:
        assert {len(row) for row in rows} == {len(rows[0])}


@pytest.mark.slow
def test_no_name_becomes_markup(odd):
    text = markdown(odd)
    body = text.partition("-->")[2]
    assert not re.search(r"<[a-zA-Z/!]", body)
    assert "](" not in body.replace(r"\](", "")
    assert "\u202e" not in text
    assert r"a\|b" in text


@pytest.mark.slow
def test_what_is_seen_first_comes_first(odd):
    text = markdown(odd)
    odd_overview = overview(odd)
    places = [
        text.index(markdown_escaped(words))
        for words in (odd_overview.finding_sentences[0], odd_overview.count_sentences[0])
    ]
    weak = [
        text.index(f"- {markdown_escaped(caveat.sentence)}.") for caveat in odd_overview.caveats
    ]
    assert [*places, *weak] == sorted([*places, *weak])
    assert max(places) < text.index("### Limitations") < weak[0]
    assert weak[-1] < text.index("### Tables")


@pytest.mark.slow
def test_tables_have_figures_and_counts(odd):
    heads = [[cell.strip() for cell in rows[0]] for rows in tables(markdown(odd))]
    side_by_side, *_ = (head for head in heads if head[:2] == ["group", "speakers"])
    groups, *_ = (head for head in heads if any("errors/trials" in cell for cell in head))
    assert side_by_side[2:4] == [r"false rejects (FNR), %: A\|B", "false rejects (FNR), %: C"]
    assert "false rejects (FNR): errors/trials" in groups
    assert "false accepts (FPR): ratio" in groups


@pytest.mark.slow
def test_figures_are_those_of_the_audit(odd):
    conditions = {
        "system": "A|B",
        "grouping": "sex",
        "group": "f",
        "metric": "fnr",
        "definition": "",
    }
    (row,) = odd.groups.subset(**conditions, within="").rows()
    assert f"| {row['errors']:,}/{row['trials']:,} | {100 * row['value']:#.3g} [" in markdown(odd)


@pytest.mark.slow
def test_a_value_with_the_sign_that_joins_attributes_stands_in_the_crosstab(odd):
    crossed = [rows for rows in tables(markdown(odd)) if rows[0][0].strip() == "kind"]
    assert len(crossed) == 4  # both rates of two systems
    for rows in crossed:
        named = {row[0].strip(): row[1:] for row in rows[2:]}
        assert "60+" in named
        assert all(cell.strip() != "–" for cell in named["60+"])
        assert "all" in named


def test_without_intervals_it_says_so_and_gives_counts(unsure):
    text = markdown(unsure)
    assert "The audit does not show whether groups differ beyond chance" in text
    assert "- --no-intervals was given." in text
    assert "[" not in text.partition("-->")[2]
    assert "errors/trials" in text


@pytest.mark.slow
def test_the_same_audit_gives_the_same_text(odd):
    assert markdown(odd) == markdown(odd)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.7 [1.3, 2.3], p <0.001", "1.7 [1.3, 2.3], p <0.001"),
        ("0 [0, >9,999]", "0 [0, >9,999]"),
        ("a_b*", r"a\_b\*"),
        ("see http://x.y", r"see http:\//x.y"),
        ("www.x.y", r"www\.x.y"),
        ("[1, 2](x)", r"\[1, 2\](x)"),
        ("line\nbreak", r"line\\x0abreak"),
    ],
)
def test_escapes(text, shown):
    assert markdown_escaped(text) == shown


@pytest.mark.slow
def test_a_measure_without_p_is_named_with_the_reason(odd):
    conditions = {"measure": "min_max", "metric": "fnr", "zero": "none", "gated": False}
    rows = odd.meta.subset(**conditions, grouping="kind+sex").rows()
    assert all(row["p"] is None and row["floor_95"] is not None for row in rows)
    names_of_rows = re.findall(r"No p \(a group has no errors[^:]*: (.*)", markdown(odd))
    assert len(names_of_rows) == len(rows) == 2
    assert all("min / max of FNR" in names for names in names_of_rows)
