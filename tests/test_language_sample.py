"""The sample by which the language is judged: what is a sentence, and one draw for one seed."""

import pytest
from benchmarks import language_sample
from benchmarks.language_sample import (
    sentences,
    sentences_of_markdown,
    sentences_of_report,
    sentences_of_terminal,
)

HELP = """\
usage: parivox show AUDIT [GROUP ...] [options]

Print the summary of a saved audit, or all results for selected groups.

options:
  --by GROUPING         show this grouping only, and no other one of
                        the audit: `gender+nationality`
  --quiet               show no progress

examples:
  parivox show audit/ with all of its options and more words
"""


def test_a_sentence_has_six_words_most_of_them_letters():
    text = "Too short. This sentence has more than six words. 1 2 3 4 a b c d e f g 5 6 7 8 9 10."
    assert list(sentences(text)) == ["This sentence has more than six words."]


def test_an_abbreviation_ends_no_sentence():
    text = "Name the attribute of speakers, e.g. Gender or accent, of each group."
    assert list(sentences(text)) == [text]


def test_wrapped_lines_of_a_help_text_are_joined_and_examples_left_out():
    assert list(sentences_of_terminal(HELP)) == [
        "Print the summary of a saved audit, or all results for selected groups.",
        "show this grouping only, and no other one of the audit: `gender+nationality`",
    ]


def test_cells_are_sentences_and_code_is_none():
    row, code = "| name | what the column holds for each of the groups |", "no prose in this block"
    page = f"{row}\n\n```\n{code} at all\n```\n"
    assert list(sentences_of_markdown(page)) == ["what the column holds for each of the groups"]


def test_directives_that_insert_docstrings_are_no_sentences():
    page = "::: parivox.core.metrics\n    options:\n"
    page += "      members: [one, two, three, four, five, six]\n"
    page += "\nEvery metric is a function of target and nontarget scores.\n"
    assert [*sentences_of_markdown(page)] == [
        "Every metric is a function of target and nontarget scores."
    ]


def test_sentences_of_a_template_count_once():
    rates = {"f+UK": 2.5, "m+USA": 0.3}
    page = "".join(f"<p>{g} has {rate} % of all the false accepts</p>" for g, rate in rates.items())
    assert len(list(sentences_of_report(page))) == 1


@pytest.mark.slow
def test_a_seed_draws_the_same_sample(monkeypatch):
    words = [
        f"Sentence number {chr(97 + i // 26)}{chr(97 + i % 26)} of the terminal stands here."
        for i in range(60)
    ]
    paragraphs = "".join(
        f"<p>The report says this of {word[16:18]} in plain words.</p>" for word in words
    )
    monkeypatch.setattr(
        language_sample, "terminal_and_report", lambda _: ("\n\n".join(words), paragraphs)
    )
    first, second = (language_sample.draw_sample("12345678") for _ in range(2))
    assert first == second
    assert len(first) == 100
    assert first != language_sample.draw_sample("87654321")
