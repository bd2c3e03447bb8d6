"""Pages of docs/ that are written from the files in results/, so that figures cannot drift.

A file of pages/ is the page of that name with a query in the place of each figure:
``<<study column label=value>>`` is the range of a column over the rows with that label.
``label=a|b`` is either value, ``label!=value`` any other, quotes hold what has blanks. In front,
``max`` gives the highest figure alone, ``percent`` gives shares in percent, and ``max-percent``
gives the highest share alone, in percent.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.coverage import findings
from benchmarks.coverage.records import Row, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DOCS = Path(__file__).parents[2] / "docs"
TEMPLATES = {
    file.name: file.read_text(encoding="utf-8")
    for file in sorted(Path(__file__).with_name("pages").glob("*.md"))
}
ABOUT = "about"
NO_FIGURE = "not yet run"
_QUERY = re.compile(r"<<(.+?)>>")
_MANNERS = ("max", "percent", "max-percent")
_CONDITION = re.compile(r"(\w+?)(!?=)(.*)")


def write(folder: Path = DOCS) -> None:
    """Write the pages from what is kept."""
    studies = read()
    for name, template in TEMPLATES.items():
        (folder / name).write_text(render(template, studies), encoding="utf-8")


def line(row: Row) -> str:
    """Return a row for the terminal."""
    left_out = {"cell", "about", "minutes", "draws"}
    return ", ".join(f"{name} {figure}" for name, figure in row.items() if name not in left_out)


def render(template: str, studies: Mapping[str, Sequence[Row]]) -> str:
    """Return a template with figures in place of its queries."""
    rows_by_study = {study: _with_shares(rows) for study, rows in studies.items()}
    return _QUERY.sub(lambda query: _answer(query[1], rows_by_study), template)


def _with_shares(rows: Sequence[Row]) -> list[Row]:
    """Return rows with shares of lists in the place of numbers of lists that report a difference.

    The lists of one design lie in several cells.
    """
    counted_rows = [row for row in rows if "said" in row and "said_error" not in row]
    other_rows = [row for row in rows if "said" not in row or "said_error" in row]
    return [*other_rows, *findings.shares(counted_rows)]


def _answer(query: str, rows_by_study: Mapping[str, Sequence[Row]]) -> str:
    if query == ABOUT:
        rows = [row for study_rows in rows_by_study.values() for row in study_rows]
        runs: dict[str, set[str]] = {}
        for row in rows:
            if ABOUT in row:
                run, _, packages = row[ABOUT].partition(", Python ")
                runs.setdefault(packages, set()).add(run)
        lines = (f"- Python {name}: {'; '.join(sorted(run))}" for name, run in sorted(runs.items()))
        return "\n".join(lines) or NO_FIGURE
    manner, _, rest = query.partition(" ")
    study, column, *conditions = shlex.split(rest if manner in _MANNERS else query)
    rows = [
        row
        for row in rows_by_study.get(study, [])
        if row.get(column) is not None and all(_meets(row, text) for text in conditions)
    ]
    if manner in {"percent", "max-percent"}:
        return _percentages(rows, column, is_max=manner == "max-percent")
    return _figures(rows, column, is_max=manner == "max")


def _meets(row: Row, condition: str) -> bool:
    parts = _CONDITION.fullmatch(condition)
    if parts is None:
        msg = f"{condition!r} is no condition: write label=value or label!=value"
        raise ValueError(msg)
    label, comparison, values = parts.groups()
    figure = row.get(label)
    text = f"{figure:g}" if isinstance(figure, float) else str("" if figure is None else figure)
    return (text in values.split("|")) == (comparison == "=")


def _figures(rows: Sequence[Row], column: str, *, is_max: bool) -> str:
    """Return `.922 to .973`, or `.951 ± .004` for one row whose error is known."""
    if not rows:
        return NO_FIGURE
    figures = sorted(row[column] for row in rows)
    low, high = _text(figures[0]), _text(figures[-1])
    if is_max:
        return high
    error = rows[0].get(f"{column}_error")
    if len(rows) == 1 and error is not None:
        return f"{low} ± {_text(error)}"
    return low if low == high else f"{low} to {high}"


def _percentages(rows: Sequence[Row], column: str, *, is_max: bool) -> str:
    """Return `93.5 to 100 %`, or `6.3 ± 0.8 %` for one row whose error is known."""
    if not rows:
        return NO_FIGURE
    shares = [row[column] for row in rows]
    low, high = _percent(min(shares)), _percent(max(shares))
    if is_max:
        return f"{high} %"
    error = rows[0].get(f"{column}_error")
    if len(rows) == 1 and error is not None:
        return f"{low} ± {_percent(error)} %"
    return f"{low if low == high else f'{low} to {high}'} %"


def _percent(share: float) -> str:
    """Return a share in percent, with the digits of `_text`."""
    return f"{100 * float(_text(share)):.4g}"


def _text(figure: float) -> str:
    if isinstance(figure, int):
        return str(figure)
    if not figure:
        return "0"
    places = 3 if figure >= 0.0005 else 5
    return f"{figure:.{places}f}".removeprefix("0")
