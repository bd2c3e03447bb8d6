"""What stands in a column: how many values, which, and what is odd about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.read.attributes import UNKNOWN
from parivox.read.inspection.findings import Column, Odd
from parivox.read.lookup import FEW, MANY

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Cells", "facts", "odd_ids"]

_FACTS = (
    *("compression", "encoding", "separator", "decimal", "sheet", "header_row"),
    *("hidden_rows", "other_sheets", "hidden_sheets"),
)
_EXAMPLES = 3
_MOST = 10_000
_FEW_NUMBERS = 12
_COUNTS = {"value": pl.String, "count": pl.Int64}
_DATED = r"(?i)group|band|range|class|bracket|age"
"""Columns of which a date alone is no sensible value."""
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_SHORT_DATE = rf"(?i)^(\d{{1,2}}[-. ]({_MONTHS})|({_MONTHS})[-. ]\d{{1,2}})$"
_DATE = r"^(\d{4}-\d\d-\d\d(T00:00:00)?|\d{1,2}[./]\d{1,2}[./]\d{4})$"
_REWRITTEN = {
    "ids as a spreadsheet shortens long numbers": r"^[+-]?\d+([.,]\d+)?[eE][+-]?\d+$",
    "ids as a spreadsheet writes numbers": r"^\d+[.,]0+$",
    "ids as a spreadsheet makes dates of": rf"(?i)^\d{{1,2}}[-. /]({_MONTHS})([-. /]\d{{2,4}})?$",
}


def facts(provenance: Mapping[str, Any]) -> dict[str, str]:
    """What it took to read a file, of all that is told of it.

    Examples
    --------
    >>> facts({"name": "p.csv", "encoding": "cp1252", "separator": ";", "compression": ""})
    {'encoding': 'cp1252', 'separator': ';'}
    """
    told = {fact: provenance[fact] for fact in _FACTS if provenance.get(fact)}
    return {
        fact: ", ".join(map(repr, one)) if isinstance(one, list) else str(one)
        for fact, one in told.items()
    }


class Cells:
    """The cells of one column, added part by part.

    Parameters
    ----------
    most
        With more distinct values than this they are no longer counted; None counts them all.
    """

    def __init__(self, most: int | None = _MOST) -> None:
        self._most = most
        self._counts: pl.DataFrame | None = pl.DataFrame(schema=_COUNTS)
        self._unknown = 0
        self._ends: list[float] | None = []

    def add(self, cells: pl.Series) -> None:
        """Count some cells."""
        text = cells.cast(pl.String, strict=False).str.strip_chars()
        known = text.filter(~(text.is_null() | text.str.to_lowercase().is_in(UNKNOWN)))
        self._unknown += len(cells) - len(known)
        counted = known.rename("value").value_counts().cast(_COUNTS)  # type: ignore[arg-type]
        if self._ends is not None and len(known):
            self._ends = None if (ends := _ends(counted["value"])) is None else [*self._ends, *ends]
        if self._counts is not None:
            both = pl.concat((self._counts, counted)).group_by("value").agg(pl.col("count").sum())
            self._counts = None if self._most and both.height > self._most else both

    def column(self, name: str, role: str = "") -> Column:
        """What they are."""
        numbers = (min(self._ends), max(self._ends)) if self._ends else None
        if self._counts is None:
            return Column(name, role, None, self._unknown, (), numbers)
        n = self._counts.height
        cells = int(self._counts["count"].sum())
        ordered = self._counts.sort(["count", "value"], descending=[True, False])["value"]
        is_name = n == cells > FEW
        examples = ordered.head(_EXAMPLES).to_list() if n <= MANY and not is_name else []
        is_many = numbers is not None and n > _FEW_NUMBERS and not is_name and not role
        bands = _bands(self._counts) if is_many else ""
        return Column(
            name,
            role,
            n,
            self._unknown,
            tuple(examples),
            numbers,
            () if numbers else _spellings(ordered),
            bool(bands) or (not role and FEW <= n <= MANY and not is_name),
            bands,
            dates=_dates(name, ordered) if not role and n <= MANY else (),
        )


def _bands(counts: pl.DataFrame) -> str:
    """Two edges of two digits that put the numbers into three bands of about one size."""
    number = pl.col("value").str.replace(",", ".", literal=True).cast(pl.Float64)
    ordered = counts.select(number, pl.col("count")).sort("value")
    up_to = ordered["count"].cum_sum() / int(ordered["count"].sum())
    edges = [float(ordered["value"].filter(up_to >= share)[0]) for share in (1 / 3, 2 / 3)]
    low, high = (f"{float(f'{edge:.2g}'):g}" for edge in edges)
    return f"{low},{high}" if float(low) < float(high) else ""


def _dates(name: str, values: pl.Series) -> tuple[str, ...]:
    """Values that look like dates where others do not, or where no date is expected.

    Examples
    --------
    >>> (
    ...     _dates("Age group", pl.Series(["19-30", "2024-10-18"])),
    ...     _dates("visit", pl.Series(["1.2.2024"])),
    ... )
    (('2024-10-18',), ())
    """
    is_short, is_date = (values.str.contains(pattern) for pattern in (_SHORT_DATE, _DATE))
    hits = values.filter(is_short | is_date)
    if len(hits) < len(values) or is_short.any() or re.search(_DATED, name):
        return tuple(hits.head(_EXAMPLES).to_list())
    return ()


def _ends(values: pl.Series) -> tuple[float, float] | None:
    """Lowest and highest value, if all are numbers; those with a zero in front are ids."""
    if values.str.contains(r"^0\d").any():
        return None
    numbers = values.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    known = numbers.filter(numbers.is_finite()).to_numpy()
    return (float(known.min()), float(known.max())) if known.size == len(values) else None


def _spellings(values: pl.Series) -> tuple[tuple[str, ...], ...]:
    """Values that differ in case and blanks only."""
    plain = values.str.to_lowercase().str.replace_all(r"\s+", " ")
    alike = pl.DataFrame({"value": values, "plain": plain}).filter(plain.is_duplicated())
    found = alike.group_by("plain", maintain_order=True).agg("value")["value"]
    return tuple(tuple(one) for one in found.head(_EXAMPLES).to_list())


def odd_ids(ids: pl.Series) -> list[Odd]:
    """What is odd about distinct ids.

    Examples
    --------
    >>> odd_ids(pl.Series(["1E+05", "1002", "a", "A"]))
    [Odd(what='ids as a spreadsheet shortens long numbers', count=1, note='1E+05'), ...]
    """
    found = []
    for what, pattern in _REWRITTEN.items():
        hits = ids.filter(ids.str.contains(pattern))
        if len(hits):
            found.append(Odd(what, len(hits), ", ".join(hits.head(2).to_list())))
    alike = ids.filter(ids.str.to_lowercase().is_duplicated()).sort()
    if len(alike):
        note = " and ".join(_spellings(alike)[0][:2])
        found.append(Odd("ids that differ in case only", len(alike), note))
    return found
