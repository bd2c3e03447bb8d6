"""docs/papers.md says what the papers' items come to now."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import parivox as pv

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"


@pytest.fixture(scope="module")
def written_by():
    """`examples/papers.py`, which writes its tables."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        spec = importlib.util.spec_from_file_location("papers", ROOT / "examples" / "papers.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "examples"))
    return module


def test_its_tables_are_of_today(reproduced, written_by):
    text = PAGE.read_text(encoding="utf-8")
    assert written_by.page(reproduced, text) == text, "mend with: python examples/papers.py"


def test_its_figures_are_there_and_drawn(reproduced, written_by):
    shown = set(re.findall(r"assets/(papers-\w+)\.svg", PAGE.read_text(encoding="utf-8")))
    assert shown == {name for name, _ in written_by.figures(reproduced)}
    assert all((PAGE.parent / "assets" / f"{name}.svg").is_file() for name in shown)


@pytest.mark.minimal
def test_every_paper_stands_under_its_title_and_authors():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for paper in pv.papers.PAPERS.values():
        assert f"## {paper.title} {paper.authors}, {paper.year}" in text
