"""Names and order of measures wherever a report shows them; see ``parivox.core.meta.MEASURES``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Explored:
    """A row of the explorer's table of meta-measures.

    Attributes
    ----------
    id : str
    label, name : str
        What it tells, and what it is called.
    fair : str
        The value of a fair system.
    single : mapping of str to str
        The measure of each metric alone.
    joint : str
        The measure of both rates, empty where there is none.
    """

    id: str
    label: str
    name: str
    fair: str
    single: Mapping[str, str] = field(default_factory=dict)
    joint: str = ""

    def packed(self) -> dict[str, Any]:
        """As the page's script reads it."""
        words = {"id": self.id, "label": self.label, "name": self.name, "fair": self.fair}
        return {**words, "joint": self.joint, **self.single}


def _each(measure: str) -> dict[str, str]:
    return dict.fromkeys(("fpr", "fnr", "cost"), measure)


EXPLORED = (
    Explored(
        "fdr",
        "From the lowest group to the highest",
        "largest − smallest; both: FDR, 1 − weighted",
        "0; FDR 1",
        {"fpr": "fdr_fpd", "fnr": "fdr_fnd"},
        "fdr",
    ),
    Explored(
        "gini",
        "How unevenly errors are shared out",
        "Gini; both: GARBE",
        "0",
        _each("gini"),
        "garbe",
    ),
    Explored(
        "ir",
        "The highest group, in times the lowest",
        "largest / smallest; both: inequity rate, IR",
        "1",
        _each("max_min"),
        "ir",
    ),
    Explored(
        "min_max",
        "The lowest group, as a part of the highest",
        "smallest / largest",
        "1",
        _each("min_max"),
    ),
    Explored(
        "max_geomean",
        "The highest group, in times the typical one",
        "largest / geometric mean",
        "1",
        _each("max_geomean"),
    ),
    Explored(
        "max_mean",
        "The highest group, in times the average",
        "largest / mean",
        "1",
        _each("max_mean"),
    ),
    Explored(
        "nrb",
        "How far groups are from pooled, as a logarithm",
        "mean |ln(group / pooled)|, NRB",
        "0",
        _each("nrb"),
    ),
    Explored("sd", "How far groups are from their average", "standard deviation", "0", _each("sd")),
    Explored(
        "cv",
        "The same, as a part of the average",
        "standard deviation / mean",
        "0",
        _each("cv"),
    ),
    Explored(
        "eo_diff",
        "The larger of both gaps, lowest to highest",
        "equalised odds: difference",
        "0",
        joint="eo_diff",
    ),
    Explored(
        "eo_ratio",
        "The smaller part: of impostors in, of own let in",
        "equalised odds: ratio",
        "1",
        joint="eo_ratio",
    ),
)
"""Rows of the explorer's table of measures; its script leaves out what it has no function for."""
