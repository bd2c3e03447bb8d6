"""What is to be built: who takes part, why others do not, and how trials are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.errors import ConfigError
from parivox.read.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.trials.pairs import Draws, Ints
    from parivox.trials.pool import Pool

    Sides = tuple[Ints, Ints]

TOGETHER = 1 << 20
"""Trials written at once, about."""
_DIGITS = 100


class Block(NamedTuple):
    """Trials, by their utterances' places in the pool."""

    enrol: Ints
    test: Ints
    target: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Design:
    """A list that can be drawn again and again.

    Attributes
    ----------
    kind : {"inclusive", "balanced", "cross"}
    pool : Pool
    parameters : dict
        As :func:`design` of that kind takes them.
    draw : callable
        From random draws to the blocks of one list.
    trials : int
        How many one list holds.
    rows : str
        The order of its rows, in words.
    speakers : dict
        How many of each group take part.
    reasons : tuple of str
        Of each speaker, why it cannot take part; empty for those that can.
    notes : tuple of str
        What else there is to say of it.
    held_to : dict
        What the check of the list is to hold it against: thresholds, and a mix with what its
        grades are by.
    """

    kind: str
    pool: Pool
    parameters: Mapping[str, Any]
    draw: Callable[[Draws], Iterator[Block]]
    trials: int
    rows: str
    speakers: Mapping[str, int]
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()
    held_to: Mapping[str, Any] = field(default_factory=dict)

    def left_out(self, *, speaker_ids: bool = False) -> Table:
        """How many speakers of each group take no part, and why.

        Parameters
        ----------
        speaker_ids
            Whether to name them.
        """
        groups = (*self.pool.groups, None)
        found: dict[tuple[str | None, str], list[str]] = {}
        for speaker, group, reason in zip(
            self.pool.speakers, self.pool.group, self.reasons, strict=True
        ):
            if reason:
                found.setdefault((groups[group], reason), []).append(speaker)
        rows = sorted(found.items(), key=lambda row: (row[0][0] or "", row[0][1]))
        cells: dict[str, list[Any]] = {
            "group": [group for (group, _), _ in rows],
            "reason": [reason for (_, reason), _ in rows],
            "speakers": [len(ids) for _, ids in rows],
        }
        columns = {"group": "str", "reason": "str", "speakers": "int"}
        if speaker_ids:
            cells["ids"] = [", ".join(ids) for _, ids in rows]
            columns["ids"] = "str"
        return Table.of(cells, columns)


def taking_part(pool: Pool, is_in: NDArray[np.bool_]) -> dict[str, int]:
    """Speakers of each group among these."""
    groups = pool.group[is_in & (pool.group >= 0)]
    counts = np.bincount(groups, minlength=len(pool.groups)).tolist()
    return {group: n for group, n in zip(pool.groups, counts, strict=True) if n}


def speaker_by_speaker(target: Sides, nontarget: Sides) -> Iterator[Block]:
    """Trials of each speaker in turn, the target trials first.

    Parameters
    ----------
    target, nontarget : (ndarray of shape (speaker, n), ndarray of shape (speaker, n))
        Enrolment and test utterances.
    """
    n, m = target[0].shape[1], nontarget[0].shape[1]
    labels = np.arange(n + m) < n
    step = max(1, TOGETHER // (n + m))
    for at in range(0, len(target[0]), step):
        rows = slice(at, at + step)
        sides = (
            np.concatenate([one[rows], other[rows]], axis=1).ravel()
            for one, other in zip(target, nontarget, strict=True)
        )
        enrol, test = sides
        yield Block(enrol, test, np.tile(labels, enrol.size // (n + m)))


def whole_number(value: Any, option: str, least: int, most: int = 2**53, *, why: str = "") -> int:
    """An option that counts something: a number, or its digits.

    Parameters
    ----------
    value, option
        What was given, and for what.
    least, most
        The smallest and the largest that is taken.
    why
        Why there is nothing below, in words.

    Examples
    --------
    >>> whole_number(500, "per_speaker", 1), whole_number("12", "seed", 0)
    (500, 12)
    """
    name = "--" + option.replace("_", "-")
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < _DIGITS:
        value = int(value)
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:
        given = value if isinstance(value, str) else repr(value)
        msg = (
            f"{name} {given}: is no whole number from {least:,} on{why}; give one, as in {name} "
            f"{max(10, least)}"
        )
        raise ConfigError(msg)
    if value > most:
        msg = f"{name} {value}: is more than {most:,}; give a smaller number"
        raise ConfigError(msg)
    return int(value)


class Tally:
    """Counts what lists hold while they are drawn.

    Attributes
    ----------
    last : dict
        Trials of either kind in the last list.
    least, most : int
        Nontarget trials that a speaker is tested in, over all lists.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.last: dict[str, int] = {}
        self.least, self.most = math.inf, 0

    def of(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Pass a list on; then, `last` has its trials of either kind."""
        enrols, tests = np.zeros((2, self.pool.sizes.size), dtype=np.int64)
        target = total = 0
        for block in blocks:
            target, total = target + int(block.target.sum()), total + block.target.size
            enrols += self._speakers(block.enrol[~block.target])
            tests += self._speakers(block.test[~block.target])
            yield block
        self.last = {"target": target, "nontarget": total - target}
        times = tests[enrols + tests > 0]
        self.least = min([self.least, *times.tolist()])
        self.most = max([self.most, *times.tolist()])

    def _speakers(self, utterances: Ints) -> Ints:
        return np.bincount(self.pool.owner[utterances], minlength=self.pool.sizes.size)

    @property
    def notes(self) -> list[str]:
        """What is not the same for everybody."""
        if self.least >= self.most:
            return []
        return [f"speakers are tested in {self.least:,} to {self.most:,} nontarget trials each"]
