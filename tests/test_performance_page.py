"""What README and docs say of time and memory is what the benchmarks found."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
FIGURE = re.compile(r"(\d[\d.,]*) (?:[GM]B|CPU s|processor seconds)\b")
MARK = re.compile(r"<!-- measured: (.+?) -->")


@pytest.fixture
def results():
    folder = ROOT / "benchmarks"
    if not folder.is_dir():
        pytest.skip("the benchmarks are not part of this copy")
    return "".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("[A-Z]*S.md")))


def claims(file):
    """Paragraphs, list items and rows with a figure of time or memory, and what they rest on."""
    text = file.read_text(encoding="utf-8")
    for paragraph in re.split(r"\n(?=\n|- |\|)", text):
        if figures := FIGURE.findall(MARK.sub("", paragraph)):
            yield paragraph, figures, MARK.findall(paragraph)


def test_figures_rest_on_results(results):
    elsewhere = PAGE.read_text(encoding="utf-8").split("\nOther numbers: ")[1]
    apart = {PAGE.parent / name for name in re.findall(r"\]\(([\w-]+\.md)", elsewhere)}
    files = {ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - apart
    stated_claims = [claim for file in sorted(files) for claim in claims(file)]
    assert len(stated_claims) > 10
    for paragraph, figures, marks in stated_claims:
        assert [mark for mark in marks if mark not in results] == []
        quoted = " ".join(marks)
        assert [figure for figure in figures if figure not in quoted] == [], paragraph
