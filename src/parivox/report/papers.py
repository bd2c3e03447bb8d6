"""The four papers in words: which items run here, and what becomes of what they print."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding

from parivox.errors import ConfigError
from parivox.papers.items import FAILS, HOLDS, OPEN
from parivox.report.charts.draw import png, svg
from parivox.report.report_files import check_installed
from parivox.report.words import STYLES, add_row, capitalised, grid, p_value_cell, print_text, text
from parivox.runtime.disk import atomic_folder, explain_write_errors
from parivox.runtime.progress import stage, with_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.papers.items import Claim, Item, Paper, Reproduced

_STYLES = {HOLDS: STYLES["better"], FAILS: STYLES["worse"], OPEN: ""}


def print_items(papers: Sequence[Paper]) -> None:
    """Print every item of some papers, and whether it runs here."""
    parts: list[RenderableType] = []
    for one in papers:
        parts.append(text(f"{one.name}  {one.authors} ({one.year}): {one.title}"))
        made = grid("item", "state", "what it shows", "needs", left=(0, 1, 2, 3))
        for item in one.items:
            add_row(made, item.name, item.reach, item.title, item.needs)
        parts.append(Padding(made, (0, 0, 1, 2)))
    print_text(Group(*parts))


def print_reproduced(found: Sequence[tuple[Item, Reproduced]]) -> None:
    """Print what items come to: claims first, then every figure."""
    print_text(Group(*(part for item, one in found for part in _parts(item, one))))


def _parts(item: Item, found: Reproduced) -> Iterator[RenderableType]:
    yield text(f"{item.paper}, {item.name}: {item.title}", style="bold")
    for claim in found.claims:
        yield Padding(_claim(claim), (0, 0, 0, 2))
    for quantity, rows in _by_quantity(found).items():
        columns = {head: cells for head, cells in _cells(rows).items() if any(cells)}
        made = grid(quantity, *columns, left=(0,))
        for row, *cells in zip((row["row"] for row in rows), *columns.values(), strict=True):
            add_row(made, row, *cells)
        yield Padding(made, (0, 0, 0, 2))
    for note in found.notes:
        yield Padding(text(note), (0, 0, 0, 2))
    yield text("")


def _claim(claim: Claim) -> RenderableType:
    made = text("")
    made.append(f"{claim.told}: ", style=_STYLES[claim.verdict])
    made.append(f"{claim.sentence}. ")
    made.append(f"({claim.why})")
    return made


def _by_quantity(found: Reproduced) -> dict[str, list[Mapping[str, object]]]:
    rows: dict[str, list[Mapping[str, object]]] = {}
    for row in found.figures.rows():
        rows.setdefault(str(row["quantity"]), []).append(row)
    return rows


def _cells(rows: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Cells of every column by its head; those of a column without any are empty."""
    return {
        "printed": [_figure(row["printed"]) for row in rows],
        "authors' steps": [_figure(row["authors"]) for row in rows],
        "exact": [_figure(row["exact"]) for row in rows],
        "95 % interval": [_span(row) for row in rows],
        "95 % of fair": [_figure(row["floor_95"]) for row in rows],
        "p": [p_value_cell(p) if isinstance(p := row["p_holm"], float) else "" for row in rows],
        "verdict": [str(row["verdict"]) for row in rows],
    }


def _figure(value: object) -> str:
    if not isinstance(value, float):
        return ""
    return f"{value:,.0f}" if value.is_integer() and abs(value) > 1 else f"{value:.4f}"


def _span(row: Mapping[str, object]) -> str:
    low, high = _figure(row["low"]), _figure(row["high"])
    return f"{low} to {high}" if low and high else ""


def check_reproduced(folder: str | os.PathLike[str]) -> None:
    """Refuse, before anything is computed, a folder that cannot be made, or charts not drawn.

    Raises
    ------
    ConfigError
        If the folder is a file, or what draws charts is not installed.
    """
    check_installed("charts", "altair", "vl_convert")
    if Path(folder).exists() and not Path(folder).is_dir():
        msg = f"{os.fsdecode(folder)}: is a file, not a folder; name a folder"
        raise ConfigError(msg)


def write_reproduced(
    folder: str | os.PathLike[str], found: Sequence[tuple[Item, Reproduced]]
) -> None:
    """Write the figures of items as CSV, their charts as SVG and PNG, the claims as Markdown."""
    with stage(f"writing {os.fsdecode(folder)}"):
        made = dict(
            file
            for item, one in with_progress(found, "items", "items")
            for file in _files(item, one)
        )
    made["README.md"] = "\n".join(_lines(found)).encode()
    with explain_write_errors(os.fsdecode(folder), "folder"), atomic_folder(folder) as aside:
        for name, data in made.items():
            (aside / name).write_bytes(data)
        for item, one in found:
            one.figures.write(aside / f"{_name(item)}.csv")


def _name(item: Item) -> str:
    """What the files of an item begin with."""
    return f"{item.paper}-{item.kind}-{item.number}"


def _charts(item: Item, found: Reproduced) -> list[str]:
    """Names of the charts of an item, without ending."""
    one, several = _name(item), len(found.charts) > 1
    return [f"{one}-{i + 1}" if several else one for i in range(len(found.charts))]


def _files(item: Item, found: Reproduced) -> Iterator[tuple[str, bytes]]:
    about = f"Paper {item.paper}, {item.name}: {item.title}"
    for name, draw in zip(_charts(item, found), found.charts, strict=True):
        chart = draw()
        yield f"{name}.svg", svg(chart, title=about).encode()
        yield f"{name}.png", png(chart)


def _lines(found: Sequence[tuple[Item, Reproduced]]) -> Iterator[str]:
    yield from ("# What four papers say, and what holds", "")
    for item, one in found:
        yield from (f"## {item.paper}, {item.name}: {item.title}", "")
        yield from (f"- **{c.told}**: {c.sentence}. {capitalised(c.why)}." for c in one.claims)
        yield from (f"- {note}" for note in one.notes)
        yield from (f"- Figures: [{_name(item)}.csv]({_name(item)}.csv)", "")
        for name in _charts(item, one):
            yield from (f"![{item.title}]({name}.svg)", "")
