"""Attributes as users name them: of a speaker, of a recording or of a trial."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "LEVELS",
    "UNKNOWN",
    "Attribute",
    "Bands",
    "has_bands",
    "number",
    "parse_attribute",
    "parse_by",
]

LEVELS = ("speaker", "recording", "trial")
UNKNOWN = ("", "na", "n/a", "unknown", "nan", "none", "null")
"""What stands for an unknown attribute, in lower case."""


@dataclass(frozen=True)
class Attribute:
    """One attribute of a grouping.

    Attributes
    ----------
    text : str
        As the user writes it; with bands, as in ``age:18,30``.
    name : str
        The column.
    side : {"", "enrol", "test", "same"}
        Of which side of a trial the value counts: each side's own, one side's for the whole
        trial, or whether both are equal.
    level : {"", "speaker", "recording", "trial"}
        Where the column stands, if the user says so.
    edges : tuple of float
        Edges of bands of a number; empty for values as they are.
    """

    text: str
    name: str
    side: str = ""
    level: str = ""
    edges: tuple[float, ...] = ()

    @property
    def own(self) -> str:
        """The attribute without the bands, as a column might be called itself."""
        return self.text.rpartition(":")[0] if self.edges else self.text

    @property
    def bands(self) -> Bands | None:
        """The bands, if there are any."""
        ends = [part.strip() for part in self.text.rpartition(":")[2].split(",")]
        return Bands(self.edges, tuple(ends)) if self.edges else None


@dataclass(frozen=True)
class Bands:
    """Bands of a number; each holds its lower edge.

    Examples
    --------
    >>> bands = Bands((18.0, 60.0), ("18", "60"))
    >>> bands.names(whole=True), bands.of(np.array([17.0, 18.0, np.nan])).tolist()
    (['<18', '18-59', '60+'], [0, 1, -1])
    """

    edges: tuple[float, ...]
    ends: tuple[str, ...]

    def names(self, *, whole: bool) -> list[str]:
        """Names in order; `whole` where every number is a whole one."""
        whole = whole and all(edge.is_integer() for edge in self.edges)
        between = []
        for (low, start), (high, end) in pairwise(zip(self.edges, self.ends, strict=True)):
            last = str(int(high) - 1) if whole else f"<{end}"
            between.append(start if whole and high - low == 1 else f"{start}-{last}")
        return [f"<{self.ends[0]}", *between, f"{self.ends[-1]}+"]

    def of(self, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
        """Band of each number; -1 where it is NaN."""
        band = np.searchsorted(self.edges, numbers, side="right").astype(np.int32)
        band[np.isnan(numbers)] = -1
        return band

    def numbers(self, cells: Sequence[str | None], what: str, where: str) -> NDArray[np.float64]:
        """Cells as numbers, NaN for what is unknown; any other text is an error."""
        found = np.array([math.nan if cell is None else number(cell) for cell in cells])
        for cell, one in zip(cells, found.tolist(), strict=True):
            if cell is not None and math.isnan(one):
                name = what.rpartition(":")[0]
                msg = (
                    f"{what}: {where} holds {cell!r} for {name}, which is no number; "
                    f"use {name} without bands"
                )
                raise ConfigError(msg)
        return found


def number(text: str) -> float:
    """Read a finite number, NaN for anything else; a comma may stand for the point.

    Examples
    --------
    >>> number("1.5"), number("1,5"), number("1_000")
    (1.5, 1.5, nan)
    """
    try:
        found = float(text.replace(",", ".", 1)) if "_" not in text else math.nan
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def parse_by(text: str, option: str = "--by") -> list[Attribute]:
    """Read a grouping: attributes joined by ``+``."""
    parts = [part.strip() for part in text.split("+")]
    if not all(parts) or len({part.lower() for part in parts}) < len(parts):
        msg = (
            f"{option} {text!r} names no attribute or one twice; write it as in gender+nationality"
        )
        raise ConfigError(msg)
    return [parse_attribute(part, option) for part in parts]


def has_bands(text: str) -> bool:
    """Whether an attribute, or the name of a column, asks for bands of a number.

    Examples
    --------
    >>> has_bands("age:18,30"), has_bands("age"), has_bands("sex: f or m")
    (True, False, False)
    """
    try:
        return bool(parse_attribute(text).edges)
    except ConfigError:
        return False


def parse_attribute(text: str, option: str = "--by") -> Attribute:
    """Read ``language``, ``age:18,30``, ``enrol.language``, ``same:device``, ``speaker.age:18``.

    Examples
    --------
    >>> parse_attribute("same:age:18,30")
    Attribute(text='same:age:18,30', name='age', side='same', level='', edges=(18.0, 30.0))
    """
    rest, side, level = text, "", ""
    found = re.match(r"same:(?=.*[^\d\s,.:+-])(?=\s*\S)", rest)
    if found:
        side, rest = "same", rest[found.end() :].strip()
    for prefix in ("enrol", "test") if not side else ():
        if rest.startswith(f"{prefix}.") and len(rest) > len(prefix) + 1:
            side, rest = prefix, rest[len(prefix) + 1 :]
            break
    for prefix in LEVELS:
        if rest.startswith(f"{prefix}.") and len(rest) > len(prefix) + 1:
            level, rest = prefix, rest[len(prefix) + 1 :]
            break
    name, colon, ends = rest.partition(":")
    name = name.strip()
    if name == "same" and not ends.strip() and colon:
        msg = f"{option} {text}: an attribute must follow same:, as in same:device"
        raise ConfigError(msg)
    if not colon:
        return Attribute(text, name, side, level)
    edges = tuple(number(end.strip()) if "," not in end else math.nan for end in ends.split(","))
    if any(math.isnan(e) for e in edges) or any(a >= b for a, b in pairwise(edges)):
        msg = f"{option} {text}: edges of bands are rising numbers, as in {name}:18,30,60"
        if all(math.isnan(edge) for edge in edges):
            msg += f"; if {text!r} is the name of a column, rename it"
        raise ConfigError(msg)
    head = text[: len(text) - len(rest)]
    told = ",".join(end.strip() for end in ends.split(","))
    return Attribute(f"{head}{name}:{told}", name, side, level, edges)
