"""The four papers in the terminal and as files: which items run here, and what they come to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding

from parivox.errors import ConfigError
from parivox.papers.items import FAILS, HOLDS, OPEN
from parivox.report.catalogue import fact_text
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
    blocks: list[RenderableType] = []
    for paper in papers:
        blocks.append(text(f"{paper.name}  {paper.authors} ({paper.year}): {paper.title}"))
        table = grid("item", "state", "what it shows", "needs", left_aligned=(0, 1, 2, 3))
        for paper_item in paper.items:
            add_row(table, paper_item.name, paper_item.reach, paper_item.title, paper_item.needs)
        blocks.append(Padding(table, (0, 0, 1, 2)))
    print_text(Group(*blocks))


def print_reproduced(reproduced: Sequence[tuple[Item, Reproduced]]) -> None:
    """Print what items come to: claims first, then every figure."""
    blocks: list[RenderableType] = []
    for paper_item, reproduction in reproduced:
        blocks += _item_blocks(paper_item, reproduction)
    print_text(Group(*blocks))


def _item_blocks(paper_item: Item, reproduction: Reproduced) -> Iterator[RenderableType]:
    """Yield an item's claims, figures and notes."""
    yield text(f"{paper_item.paper}, {paper_item.name}: {paper_item.title}", style="bold")
    for claim in reproduction.claims:
        yield Padding(_claim_line(claim), (0, 0, 0, 2))
    for quantity, rows in _rows_by_quantity(reproduction).items():
        columns = {head: cells for head, cells in _columns_of_cells(rows).items() if any(cells)}
        table = grid(quantity, *columns, left_aligned=(0,))
        for row, *cells in zip((row["row"] for row in rows), *columns.values(), strict=True):
            add_row(table, row, *cells)
        yield Padding(table, (0, 0, 0, 2))
    for note in reproduction.notes:
        yield Padding(text(f"{capitalised(fact_text(note))}."), (0, 0, 0, 2))
    yield text("")


def _claim_line(claim: Claim) -> RenderableType:
    """Return what becomes of a claim, the claim, and the reason."""
    words = text("")
    words.append(f"{claim.told}: ", style=_STYLES[claim.verdict])
    words.append(f"{claim.sentence}. ")
    words.append(f"({claim.why})")
    return words


def _rows_by_quantity(reproduction: Reproduced) -> dict[str, list[Mapping[str, object]]]:
    """Return the figures of an item by what they measure."""
    rows: dict[str, list[Mapping[str, object]]] = {}
    for row in reproduction.figures.rows():
        rows.setdefault(str(row["quantity"]), []).append(row)
    return rows


def _columns_of_cells(rows: Sequence[Mapping[str, object]]) -> dict[str, list[str]]:
    """Return the cells of every column by its head; a column may have only empty ones."""
    return {
        "printed": [_figure_text(row["printed"]) for row in rows],
        "authors' steps": [_figure_text(row["authors"]) for row in rows],
        "exact": [_figure_text(row["exact"]) for row in rows],
        "95 % interval": [_interval_cell(row) for row in rows],
        "95 % of fair": [_figure_text(row["floor_95"]) for row in rows],
        "p": [p_value_cell(p) if isinstance(p := row["p_holm"], float) else "" for row in rows],
        "verdict": [str(row["verdict"]) for row in rows],
    }


def _figure_text(number: object) -> str:
    """Return a count without decimals, any other number with four, and nothing for no number."""
    if not isinstance(number, float):
        return ""
    return f"{number:,.0f}" if number.is_integer() and abs(number) > 1 else f"{number:.4f}"


def _interval_cell(row: Mapping[str, object]) -> str:
    """Return an interval, if there is one."""
    low, high = _figure_text(row["low"]), _figure_text(row["high"])
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
        msg = f"{os.fsdecode(folder)}: is a file, not a folder"
        hint = "name a folder"
        raise ConfigError(msg, hint)


def write_reproduced(
    folder: str | os.PathLike[str], reproduced: Sequence[tuple[Item, Reproduced]]
) -> None:
    """Write the figures of items as CSV, their charts as SVG and PNG, the claims as Markdown."""
    with stage(f"writing {os.fsdecode(folder)}"):
        content_of_file: dict[str, bytes] = {}
        for paper_item, reproduction in with_progress(reproduced, "items", "items"):
            content_of_file.update(_chart_files(paper_item, reproduction))
    content_of_file["README.md"] = "\n".join(_readme_lines(reproduced)).encode()
    with (
        explain_write_errors(os.fsdecode(folder), "folder"),
        atomic_folder(folder) as temporary_folder,
    ):
        for name, content in content_of_file.items():
            (temporary_folder / name).write_bytes(content)
        for paper_item, reproduction in reproduced:
            reproduction.figures.write(temporary_folder / f"{_base_name(paper_item)}.csv")


def _base_name(paper_item: Item) -> str:
    """Return what the names of an item's files begin with."""
    return f"{paper_item.paper}-{paper_item.kind}-{paper_item.number}"


def _chart_names(paper_item: Item, reproduction: Reproduced) -> list[str]:
    """Return the names of an item's charts, without ending."""
    base_name, n_charts = _base_name(paper_item), len(reproduction.charts)
    if n_charts > 1:
        return [f"{base_name}-{i + 1}" for i in range(n_charts)]
    return [base_name] * n_charts


def _chart_files(paper_item: Item, reproduction: Reproduced) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each chart's files."""
    title = f"Paper {paper_item.paper}, {paper_item.name}: {paper_item.title}"
    for name, draw in zip(_chart_names(paper_item, reproduction), reproduction.charts, strict=True):
        chart = draw()
        yield f"{name}.svg", svg(chart, title=title).encode()
        yield f"{name}.png", png(chart)


def _readme_lines(reproduced: Sequence[tuple[Item, Reproduced]]) -> Iterator[str]:
    """Yield the claims of all items, with links to their figures and charts."""
    yield from ("# What four papers say, and what holds", "")
    for paper_item, reproduction in reproduced:
        yield from (f"## {paper_item.paper}, {paper_item.name}: {paper_item.title}", "")
        yield from (
            f"- **{claim.told}**: {claim.sentence}. {capitalised(claim.why)}."
            for claim in reproduction.claims
        )
        yield from (f"- {capitalised(fact_text(note))}." for note in reproduction.notes)
        yield from (f"- Figures: [{_base_name(paper_item)}.csv]({_base_name(paper_item)}.csv)", "")
        for name in _chart_names(paper_item, reproduction):
            yield from (f"![{paper_item.title}]({name}.svg)", "")
