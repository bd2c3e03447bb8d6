"""Write the tables of docs/papers.md: what four papers say, and what holds.

    python examples/papers.py

Takes the scores of the extra `demo`, and about 25 s.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import parivox as pv

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"


def claims() -> Iterator[str]:
    """What the papers say, and what becomes of it."""
    yield "| paper | it says | that | because |"
    yield "|---|---|---|---|"
    for paper in pv.papers.PAPERS:
        for item, found in pv.papers.run(paper):
            for one in found.claims:
                yield f"| {paper}, {item.name} | {one.sentence} | **{one.verdict}** | {one.why} |"


def items() -> Iterator[str]:
    """Every item, and whether it runs."""
    yield "| paper | item | what it shows | state | needs |"
    yield "|---|---|---|---|---|"
    for paper in pv.papers.PAPERS.values():
        for one in paper.items:
            yield f"| {one.paper} | {one.name} | {one.title} | {one.state} | {one.needs or '–'} |"


def put(text: str, name: str, lines: Iterator[str]) -> str:
    """The text with other lines between the marks of that name."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    head, _, rest = text.partition(start)
    _, _, tail = rest.partition(end)
    return "".join([head, start, *(f"{line}\n" for line in lines), end, tail])


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in (("claims", claims()), ("items", items())):
        text = put(text, name, lines)
    PAGE.write_text(text, encoding="utf-8")
