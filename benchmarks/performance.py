"""Put what the benchmarks found into docs/performance.md: `python -m benchmarks.performance`.

A block ``<!-- found in FILE: SECTION -->`` of the page holds that section of that file, or what
stands below its title.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "docs" / "performance.md"
BLOCK = re.compile(r"(<!-- found in (\S+?)(?:: (.+?))? -->\n).*?(<!-- /found -->)", flags=re.DOTALL)


def section(file: str, title: str | None) -> str:
    """Return what a file of results says under a title, or after its own."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    start = f"## {title}" if title else "# "
    sections = re.split(r"^(?=#+ )", text, flags=re.MULTILINE)
    (body,) = (candidate for candidate in sections if candidate.startswith(start))
    return body.partition("\n")[2].strip()


def render(page: str) -> str:
    """Return the page with the results as they are now."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{section(block[2], block[3])}\n\n{block[4]}", page)


def write() -> None:
    """Write the page anew."""
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
