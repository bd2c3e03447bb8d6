"""One figure of a page: a chart with the words that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from parivox.report.charts.grammar import Spec

__all__ = ["Figure", "Told"]


class Told(NamedTuple):
    """What is said of a chart: its title, how to read it, and what it shows in words."""

    title: str
    reading: str
    description: str


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with its words.

    Attributes
    ----------
    id : str
        Fit for a file name and an anchor.
    section : str
        Of the page: answer, groups, explorer, det, pairs, measures, compared or list.
    title, reading, description : str
        What it is; how to read it; what it shows, for those who do not see it. They hold
        names from users' files: escape them.
    chart : dict
        What Vega-Lite draws it from; :func:`parivox.report.charts.svg` and its kin take it.
    live : bool
        Whether a page gains by a chart that answers to the pointer.
    """

    id: str
    section: str
    title: str
    reading: str
    description: str
    chart: Spec
    live: bool = False
