"""Section of systems or lists against each other, where there are several and it was asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parivox.report.sheets.comparison import Pair, pairs
from parivox.report.sheets.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit

__all__ = ["Compared", "compared"]

_RANKS = {"more accurate": "fewer errors"}


@dataclass(frozen=True)
class OfPair:
    """Two systems, or one on two lists."""

    label: str
    speakers: str
    sheets: list[Sheet]
    ranks: Sheet | None


@dataclass(frozen=True)
class Compared:
    """The section."""

    pairs: list[OfPair]
    missing: str


def compared(audit: Audit) -> Compared:
    """Every pair that was compared, or why there is none."""
    made = [_pair(one) for one in pairs(audit)]
    missing = ""
    if not made:
        n = len(audit.record["inputs"])
        why = "one system on one list was audited" if n == 1 else "--compare was not asked for"
        missing = f"Nothing was compared: {why}."
    return Compared(made, missing)


def _pair(pair: Pair) -> OfPair:
    ranks = Sheet.headed(
        "How sure the order is: share of the draws of speakers in which either is better, %",
        ("Of", "Better in", *pair.names),
        _ranks(pair),
        words=(1, 2),
    )
    sheets = [one for one in _sheets(pair) if one.rows]
    return OfPair(pair.label, pair.speakers, sheets, ranks if ranks.rows else None)


def _sheets(pair: Pair) -> Iterator[Sheet]:
    yield replace(pair.whole, title="").of(f"All trials, {pair.label}")
    for split in pair.splits:
        yield replace(split.spreads, title="").of(f"How much groups differ, {split.label}")
        for one in split.groups:
            yield replace(one.of(""), title=f"{one.title}, {split.label}", is_sortable=True)


def _ranks(pair: Pair) -> Iterator[tuple[str, ...]]:
    for split in pair.splits:
        for metric, what, one, other in split.ranks:
            shares = (f"{100 * share:.0f}" for share in (one, other))
            yield f"{split.label}, {metric}", _RANKS.get(what, what), *shares
