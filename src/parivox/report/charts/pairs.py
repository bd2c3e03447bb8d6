"""Two systems, or lists, of an audit that a chart sets against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.errors import ConfigError
from parivox.report.charts.chosen import cut, named, subjects

if TYPE_CHECKING:
    from parivox.report.charts.chosen import Chosen

__all__ = ["Pair", "better", "between", "paired"]

Subject = tuple[str, str]
Pair = tuple[Subject, Subject]


def paired(chosen: Chosen, pair: Pair | None) -> Pair:
    """The pair that is asked for, or the first two that the audit has."""
    known = subjects(chosen.audit)
    if pair is not None and not set(pair) <= set(known):
        msg = f"pair {pair} is not in this audit; it has {known}"
        raise ConfigError(msg)
    if len(known) < 2:
        msg = "the audit is of one system and list; there is nothing to compare it with"
        raise ConfigError(msg)
    return pair or (known[0], known[1])


def better(of: Subject) -> str:
    """What is said where this one is better."""
    return f"{cut(named(*of), 24)} errs less"


def between(one: Subject, other: Subject) -> dict[str, str]:
    """To ask the table of comparisons with."""
    return {
        "system": one[0],
        "list": one[1],
        "other_system": other[0],
        "other_list": other[1],
    }
