"""Rates of groups in two directions: two attributes with margins, and groups by system."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parivox.report.judged import RATES, judged, rates_of
from parivox.report.scopes import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.words import Row

    Rates = Mapping[str, Mapping[tuple[str, str], Row]]

__all__ = ["Crossed", "Rate", "by_system", "crosstabs", "in_order"]

_TWO = 2


class Rate(NamedTuple):
    """A row of the groups, if there is such a group, and whether it has too little to count."""

    row: Row | None
    is_small: bool


class Crossed(NamedTuple):
    """One error rate in two directions.

    Attributes
    ----------
    metric : fnr or fpr
    down, across : what the rows and the columns are values of
    heads : the columns
    rows : the name of each, and a rate for each column
    has_sum : whether the last row is of all the others together
    lacks : attributes that were not audited by themselves, and so have no margin
    """

    metric: str
    down: str
    across: str
    heads: tuple[str, ...]
    rows: list[tuple[str, list[Rate]]]
    has_sum: bool
    lacks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Why margins are missing."""
        return tuple(
            f"No margin of {name}, which was not audited by itself: add --by {name}."
            for name in self.lacks
        )


def crosstabs(audit: Audit, where: Row, at: str) -> Iterator[Crossed]:
    """Both rates of an intersection of two attributes; its margins, where they were audited.

    The attribute of more values runs down.
    """
    values = _values(audit, where)
    if len(values) != _TWO or not all(values.values()):
        return
    down, across = sorted(values, key=lambda name: -len(values[name]))
    is_turned = next(iter(values)) != down
    own = _Rates(audit, where, at)
    margin = {name: _Rates(audit, {**where, "grouping": name}, at) for name in values}
    lacks = tuple(name for name in (down, across) if not margin[name].rates)
    heads = (*values[across], *(() if down in lacks else ("all",)))
    for metric in RATES:
        rows = []
        for value in values[down]:
            pairs = [(value, other) for other in values[across]]
            names = ["+".join(pair[::-1] if is_turned else pair) for pair in pairs]
            cells = [own.rate(name, metric) for name in names]
            rows.append((value, [*cells, margin[down].rate(value, metric)][: len(heads)]))
        if across not in lacks:
            total = [margin[across].rate(other, metric) for other in values[across]]
            rows.append(("all", [*total, own.rate("pooled", metric)][: len(heads)]))
        yield Crossed(metric, down, across, heads, rows, across not in lacks, lacks)


def by_system(audit: Audit, found: Sequence[tuple[Row, str]]) -> Iterator[Crossed]:
    """Both rates of each group in every system and list, each at an operating point."""
    each = [_Rates(audit, where, at) for where, at in found]
    every = {group: rows for one in each for group, rows in one.rates.items()}
    heads = tuple(name_of(where["system"], where["list"]) for where, _ in found)
    for metric in RATES:
        rows = [(group, [one.rate(group, metric) for one in each]) for group in in_order(every)]
        yield Crossed(metric, "group", "", heads, rows, has_sum="pooled" in every)


def in_order(rates: Rates) -> list[str]:
    """Groups by name, all of them together last."""
    return sorted(rates, key=lambda group: (group == "pooled", group))


def _values(audit: Audit, where: Row) -> dict[str, list[str]]:
    """Values of each attribute of an intersection, whatever signs stand in them.

    The means over one attribute are told by attribute and value, so that names of groups, which
    may hold a plus sign of their own, need not be taken apart.
    """
    found: dict[str, dict[str, None]] = {name: {} for name in where["grouping"].split("+")}
    for row in audit.bias.where(**where, measure="mean_difference").rows():
        name, _, value = row["group"].partition("=")
        found.setdefault(name, {})[value] = None
    return {name: sorted(values) for name, values in found.items()}


class _Rates:
    """Rates of a grouping at an operating point, and which groups have too little for them."""

    def __init__(self, audit: Audit, where: Row, at: str) -> None:
        self.rates, self.at = rates_of(audit, where), at
        self._judged = judged(audit, {**where, "operating_point": at})

    def rate(self, group: str, metric: str) -> Rate:
        """One of them."""
        verdict = self._judged.get(metric, {}).get(group)
        is_small = verdict is not None and bool(verdict["gates"])
        return Rate(self.rates.get(group, {}).get((metric, self.at)), is_small)
