"""What is kept of one system on one list, so that it can be compared with others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.cells import Level
from parivox.auditing.compare import at_cheapest, shared_values
from parivox.auditing.metas import grid_stacks
from parivox.auditing.stack import Stack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cells import Cells
    from parivox.auditing.operating_points import Found
    from parivox.auditing.replicated import Replicated
    from parivox.auditing.rows import Base, Key
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import FloatArray
    from parivox.read.trialset import TrialSet

__all__ = ["Compared", "Part"]


@dataclass(frozen=True, eq=False)
class Part:
    """What is compared: the cells of one grouping, or all trials, within one level.

    Attributes
    ----------
    where : dict
        Its grouping, allocation and level.
    cells : sequence of str
        Names of the groups, then of the pooled row; of all trials, that row only.
    keys : sequence of Key
    values : float64 ndarray of shape (key, cell)
    reasons : sequence of sequence of str
        Why a value is undefined, ``[key][cell]``.
    area : list of Stack
        FPR and FNR of the groups at the points that the area under FDR is taken over.
    stack : Stack
        Metrics that are lower for better, and costs at their own smallest costs.
    cheapest : sequence of (Key, Key)
        Of each cost, which keys are that at its own smallest cost, and a group's own minimum.
    passed : bool ndarray of shape (key, group)
        Which groups pass the gates, by key of the stack.
    speakers : int64 ndarray of shape (cell,)
        Speakers behind the smaller class of trials.
    shared : dict of str to bool ndarray of shape (group,)
        Groups of an intersection that share a value of one attribute, as in ``gender=f``.
    sure : Uncertainty or None
    replicated : Replicated or None
        The cells in each replicate.
    why : str
        Why there are none.
    """

    where: Mapping[str, str]
    cells: Sequence[str]
    keys: Sequence[Key]
    values: FloatArray
    reasons: Sequence[Sequence[str]]
    area: Sequence[Stack]
    stack: Stack
    cheapest: Sequence[tuple[Key, Key]]
    passed: NDArray[np.bool_]
    speakers: NDArray[np.int64]
    shared: Mapping[str, NDArray[np.bool_]]
    sure: Uncertainty | None
    replicated: Replicated | None
    why: str

    @classmethod
    def of(
        cls,
        measured: Level | Cells,
        own: Sequence[Mapping[Key, Base]],
        pooled: Mapping[Key, Base],
        cheapest: Sequence[Found],
        grid: Sequence[Found],
        sure: Uncertainty | None,
        why: str,
    ) -> Part:
        """See :meth:`Compared.keep`."""
        n = len(own)
        names: tuple[str, ...] = ("all",)
        where = {"grouping": "all", "allocation": ""}
        level = measured if isinstance(measured, Level) else measured.level
        if not isinstance(measured, Level):
            names = (*measured.grouping.groups, "pooled")
            where = {"grouping": measured.grouping.name, "allocation": measured.allocation}
        keys = list(pooled)
        rows = [[bases[key] for bases in (*own, pooled)] for key in keys]
        stack = Stack.of(own, pooled)
        pairs: list[tuple[Key, Key]] = []
        shared = {}
        area: Sequence[Stack] = ()
        if not isinstance(measured, Level):
            area = grid_stacks(measured, grid)
            stack, pairs = _with_cheapest(stack, measured, cheapest)
            shared = {k: v for one in shared_values(measured.grouping) for k, v in one.items()}
        replicated, passed = None, np.zeros((len(stack.keys), n), dtype=bool)
        speakers = np.zeros(n + 1, dtype=np.int64)
        if sure is not None:
            why, speakers = sure.why, sure.speakers[-n - 1 :]
            if sure.replicated is not None:
                last = sure.replicated.values.shape[-1]
                replicated = sure.replicated.part(last - n - 1, last)
            if n:
                passed = sure.passed(stack.keys)
        return cls(
            {**where, "within": level.name},
            names,
            keys,
            np.array([[base.value for base in row] for row in rows], dtype=np.float64),
            [[base.reason for base in row] for row in rows],
            area,
            stack,
            pairs,
            passed,
            speakers,
            shared,
            sure,
            replicated,
            why,
        )

    def drawn(self, stack: Stack) -> Stack | None:
        """A stack's groups and keys in each replicate."""
        if self.replicated is None:
            return None
        return self.replicated.stack(stack.keys).only(~np.isnan(stack.values))


def _with_cheapest(
    stack: Stack, cells: Cells, cheapest: Sequence[Found]
) -> tuple[Stack, list[tuple[Key, Key]]]:
    """A stack with each cost at its own smallest cost over all trials."""
    pairs = []
    for found in cheapest:
        both = at_cheapest(stack, cells, found)
        at, least = both.keys
        pairs.append((at, least))
        if at not in stack.keys:
            stack = stack.and_(both.select([0]))
    return stack, pairs


@dataclass(frozen=True, eq=False)
class Compared:
    """One system on one list, as far as it is compared with others."""

    trials: TrialSet
    points: Sequence[str]
    parts: list[Part] = field(default_factory=list)

    def keep(
        self,
        measured: Level | Cells,
        own: Sequence[Mapping[Key, Base]],
        pooled: Mapping[Key, Base],
        cheapest: Sequence[Found],
        grid: Sequence[Found],
        sure: Uncertainty | None,
        why: str,
    ) -> None:
        """Keep what is compared of cells that were measured.

        Parameters
        ----------
        measured
            The counts: the cells of a grouping, or a level as one pooled row.
        own, pooled
            Base metrics of each group, none for a level, and of the pooled row.
        cheapest, grid
            Points of the smallest costs, and those that the area under FDR is taken over.
        sure
            Their uncertainty; None, and `why` tells why, if it is not known.
        """
        self.parts.append(Part.of(measured, own, pooled, cheapest, grid, sure, why))

    @property
    def name(self) -> str:
        """As the user names it."""
        return (
            f"{self.trials.system}@{self.trials.list}" if self.trials.list else self.trials.system
        )
