"""The README shows what the demo prints, to the letter."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def printed_by_the_demo():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.split("<!-- demo:start -->\n```text\n")[1].split("\n```\n<!-- demo:end -->")[0]


def test_an_index_page_shows_no_picture_or_link_that_is_not_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    for substitution in hook["substitutions"]:
        shown = re.sub(substitution["pattern"], substitution["replacement"], shown)
    assert "parivox audit scores.csv --speakers speakers.csv" in shown
    assert re.findall(r"<img|<source|\]\((?!http)|\]\(docs", shown) == []


def test_the_excerpt_is_what_the_demo_prints_and_it_writes_an_audit_and_its_page(demo):
    block = printed_by_the_demo()
    text = (demo / "printed").read_text(encoding="utf-8")
    printed = text.splitlines()
    shown = [line for line in block.splitlines() if line != "..."]
    assert len(shown) > 30
    position = 0
    for line in shown:
        assert line in printed[position:], line
        position += printed[position:].index(line) + 1
    assert "550,894 trials, 1,190 speakers, 2 systems" in text
    assert printed[-1].startswith("Your own data: parivox inspect SCORES SPEAKERS")
    assert (demo / "out" / "report.html").stat().st_size > 100_000
    assert (demo / "out" / "audit" / "groups.csv").is_file()
