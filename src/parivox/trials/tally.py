"""What lists turn out to hold, counted as they are drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parivox.trials.design import Block
    from parivox.trials.draws import Ints
    from parivox.trials.pool import Pool

__all__ = ["Tally"]


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
