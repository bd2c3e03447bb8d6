"""The four papers in words: which items run here, and what becomes of what they print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding

from parivox.disk import whole_folder, writing
from parivox.papers.items import FAILS, HOLDS, OPEN, RUNS
from parivox.report.words import add, chance, grid, show, text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.papers.items import Claim, Item, Paper, Reproduced

_STYLES = {HOLDS: "green", FAILS: "red", OPEN: "dim"}


def print_items(papers: Sequence[Paper]) -> None:
    """Print every item of some papers, and whether it runs here."""
    parts: list[RenderableType] = []
    for one in papers:
        parts.append(text(f"{one.name}  {one.authors} ({one.year}): {one.title}"))
        made = grid("item", "state", "what it shows", "needs", left=(0, 1, 2, 3))
        for item in one.items:
            add(made, item.name, item.state, item.title, item.needs, dim=item.state != RUNS)
        parts.append(Padding(made, (0, 0, 1, 2)))
    show(Group(*parts))


def print_reproduced(found: Sequence[tuple[Item, Reproduced]]) -> None:
    """Print what items come to: claims first, then every figure."""
    show(Group(*(part for item, one in found for part in _parts(item, one))))


def _parts(item: Item, found: Reproduced) -> Iterator[RenderableType]:
    yield text(f"{item.paper}, {item.name}: {item.title}", style="bold")
    for claim in found.claims:
        yield Padding(_claim(claim), (0, 0, 0, 2))
    for quantity, rows in _by_quantity(found).items():
        columns = {head: cells for head, cells in _cells(rows).items() if any(cells)}
        made = grid(quantity, *columns, left=(0,))
        for row, *cells in zip((row["row"] for row in rows), *columns.values(), strict=True):
            add(made, row, *cells)
        yield Padding(made, (0, 0, 0, 2))
    for note in found.notes:
        yield Padding(text(note, style="dim"), (0, 0, 0, 2))
    yield text("")


def _claim(claim: Claim) -> RenderableType:
    made = text("")
    made.append(f"{claim.verdict}: ", style=_STYLES[claim.verdict])
    made.append(f"{claim.sentence}. ")
    made.append(f"({claim.why})", style="dim")
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
        "p": [chance(p) if isinstance(p := row["p_holm"], float) else "" for row in rows],
        "what is printed": [str(row["verdict"]) for row in rows],
    }


def _figure(value: object) -> str:
    if not isinstance(value, float):
        return ""
    return f"{value:,.0f}" if value.is_integer() and abs(value) > 1 else f"{value:.4f}"


def _span(row: Mapping[str, object]) -> str:
    low, high = _figure(row["low"]), _figure(row["high"])
    return f"{low} to {high}" if low and high else ""


def write_reproduced(
    folder: str | os.PathLike[str], found: Sequence[tuple[Item, Reproduced]]
) -> None:
    """Write the figures of each item as CSV, and what becomes of the claims as Markdown."""
    lines = ["# What four papers say, and what holds", ""]
    with writing(str(folder), "folder"), whole_folder(folder) as aside:
        for item, one in found:
            name = f"{item.paper}-{item.kind}-{item.number}.csv"
            one.figures.write(aside / name)
            lines += [f"## {item.paper}, {item.name}: {item.title}", ""]
            lines += [f"- **{c.verdict}**: {c.sentence}. {c.why}." for c in one.claims]
            lines += [f"- {note}" for note in one.notes]
            lines += [f"- Figures: [{name}]({name})", ""]
        (aside / "README.md").write_text("\n".join(lines), encoding="utf-8")
