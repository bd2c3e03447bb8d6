"""The four papers that Parivox stands on: what they print, what data say of it, and how sure.

>>> import parivox as pv
>>> ((_, found),) = pv.papers.run("000", table="4")
>>> found.claims[0].verdict
'does not hold'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.arguments import check_arguments
from parivox.errors import ConfigError, name_hint
from parivox.papers import paper000, paper001, paper002, paper003
from parivox.papers.items import MISSING, RUNS, Claim, Item, Paper, Reproduced
from parivox.papers.voxceleb import Voxceleb1H

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["PAPERS", "Claim", "Item", "Paper", "Reproduced", "paper_named", "run"]

PAPERS: dict[str, Paper] = {
    module.PAPER.name: module.PAPER for module in (paper000, paper001, paper002, paper003)
}
"""The papers by name."""


@check_arguments
def run(
    paper: str | None = None,
    *,
    table: str | None = None,
    figure: str | None = None,
    claim: str | None = None,
    data: str | os.PathLike[str] | None = None,
) -> list[tuple[Item, Reproduced]]:
    """Compute what papers print: all that runs here of all of them, of one, or items of one.

    Parameters
    ----------
    paper
        ``000``, ``001``, ``002`` or ``003``; without it, all.
    table, figure, claim
        Number of an item; of a claim, that of the section that makes it.
    data
        Folder of the data of bt4vt 1.0.1, where it is not installed; with ``veri_test.txt`` in it,
        VoxCeleb1's own test list is counted as well.

    Returns
    -------
    list of (Item, Reproduced)
        In the order of the papers.

    Raises
    ------
    ConfigError
        If there is no such item, or it cannot be computed.
    DataError
        If data that it needs are missing or are others.
    """
    asked_numbers = {"table": table, "figure": figure, "claim": claim}
    if paper is None and any(asked_numbers.values()):
        msg = "a table, figure or claim needs the name of its paper"
        hint = f"name the paper: {', '.join(PAPERS)}"
        raise ConfigError(msg, hint)
    names = PAPERS if paper is None else [paper]
    chosen_items = [item for name in names for item in _chosen_items(name, asked_numbers)]
    scores = Voxceleb1H.locate(data) if any(item.needs for item in chosen_items) else None
    return [(item, item.compute(scores)) for item in chosen_items if item.compute is not None]


@check_arguments
def paper_named(name: str) -> Paper:
    """A paper by its name; that there is none is an error."""
    if name not in PAPERS:
        msg = f"paper {name!r} is not known"
        hint = name_hint(name, PAPERS)
        raise ConfigError(msg, hint)
    return PAPERS[name]


def _chosen_items(paper: str, asked_numbers: dict[str, str | None]) -> Iterator[Item]:
    items = paper_named(paper).items
    if not any(asked_numbers.values()):
        yield from (item for item in items if item.state == RUNS)
        return
    for kind, number in asked_numbers.items():
        if number is None:
            continue
        items_by_number = {item.number: item for item in items if item.kind == kind}
        if number not in items_by_number:
            msg = f"paper {paper} has no {kind} {number!r}"
            hint = name_hint(number, items_by_number)
            raise ConfigError(msg, hint)
        if items_by_number[number].compute is None:
            item = items_by_number[number]
            reason = f"it needs {item.needs}" if item.state == MISSING else f"it is {item.needs}"
            msg = f"{item.name} of paper {paper} ({item.title}): {item.state}, {reason}"
            raise ConfigError(msg)
        yield items_by_number[number]
