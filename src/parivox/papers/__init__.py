"""The four papers that Parivox stands on: what they print, what data say of it, and how sure.

>>> import parivox as pv
>>> ((_, found),) = pv.papers.run("000", table="4")
>>> found.claims[0].verdict
'does not hold'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import ConfigError, name_hint
from parivox.papers import paper000, paper001, paper002, paper003
from parivox.papers.items import MISSING, RUNS, Claim, Item, Paper, Reproduced
from parivox.papers.voxceleb import Voxceleb1H

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["PAPERS", "Claim", "Item", "Paper", "Reproduced", "paper_named", "run"]

PAPERS: dict[str, Paper] = {
    one.PAPER.name: one.PAPER for one in (paper000, paper001, paper002, paper003)
}
"""The papers by name."""


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
    asked = {"table": table, "figure": figure, "claim": claim}
    if paper is None and any(asked.values()):
        msg = f"a table, figure or claim is of one paper; name it: {', '.join(PAPERS)}"
        raise ConfigError(msg)
    names = PAPERS if paper is None else [paper]
    chosen = [one for name in names for one in _chosen(name, asked)]
    scores = Voxceleb1H.found(data) if any(one.needs for one in chosen) else None
    return [(one, one.compute(scores)) for one in chosen if one.compute is not None]


def paper_named(name: str) -> Paper:
    """A paper by its name; that there is none is an error."""
    if name not in PAPERS:
        msg = f"{name!r} is none of the papers; {name_hint(name, PAPERS)}"
        raise ConfigError(msg)
    return PAPERS[name]


def _chosen(paper: str, named: dict[str, str | None]) -> Iterator[Item]:
    items = paper_named(paper).items
    if not any(named.values()):
        yield from (one for one in items if one.state == RUNS)
        return
    for kind, number in named.items():
        if number is None:
            continue
        known = {one.number: one for one in items if one.kind == kind}
        if number not in known:
            msg = f"paper {paper} has no {kind} {number!r}; {name_hint(number, known)}"
            raise ConfigError(msg)
        if known[number].compute is None:
            one = known[number]
            why = f"it needs {one.needs}" if one.state == MISSING else f"it is {one.needs}"
            msg = f"{one.name} of paper {paper} ({one.title}): {one.state}, {why}"
            raise ConfigError(msg)
        yield known[number]
