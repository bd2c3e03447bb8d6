"""The speakers behind the trials of one system on one list: the uncertainty of every cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.bands import Band, audited, band_rows, bands
from parivox.auditing.cells import Layout
from parivox.auditing.failed import Failed, failed, with_failures
from parivox.auditing.involved import Involved, People, Seated, involve, seated
from parivox.auditing.limits import limit_rows
from parivox.auditing.offenders import offender_rows
from parivox.auditing.replicated import Draws, Points, Replicated, replicate
from parivox.auditing.standardising import standardised_rows
from parivox.auditing.trends import trend_rows
from parivox.auditing.uncertainty import Uncertainty
from parivox.auditing.verdicts import verdict_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from parivox.auditing.cells import Cells, Level, Tally
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.auditing.stack import Against
    from parivox.core.counts import Curve, FloatArray
    from parivox.read.grouping import Grouping
    from parivox.read.trialset import TrialSet

__all__ = ["Sample"]

_NONE: FloatArray = np.empty(0)


class Sample:
    """Everything that the uncertainty of one system on one list is told from.

    Parameters
    ----------
    trials, groupings, within, tally
        The trials, what they are grouped by, and their counts.
    points
        Operating points.
    options, metrics
        What to measure.
    draws
        The speakers drawn for replicates; None for no replicates.
    why
        Why there are none.
    strata
        What rates are standardised over.
    nodes
        Thresholds at which intervals are told beside those of the operating points.

    Attributes
    ----------
    bound : float
        What the bins of scores in replicates cost: no rate of a replicate at a threshold found
        on its curve is further than this from the exact one.
    strata : list of (Layout, Involved)
        Every grouping with the strata that its rates are standardised over, and who is involved.
    """

    def __init__(
        self,
        trials: TrialSet,
        groupings: Sequence[Grouping],
        within: Sequence[Grouping],
        tally: Tally,
        points: Points,
        options: Options,
        metrics: Mapping[str, Callable[[Curve], ArrayLike]],
        draws: Draws | None,
        why: str = "",
        strata: Sequence[Grouping] = (),
        nodes: FloatArray = _NONE,
    ) -> None:
        outer = (None, *within)
        rules = options.allocate
        layouts = [
            *(Layout(None, "", level) for level in outer),
            *(Layout(g, rule, level) for level in outer for g in groupings for rule in rules),
        ]
        n = len(layouts)
        layouts += [Layout(g, rule, one) for one in strata for g in groupings for rule in rules]
        self.points, self.options, self.why, self.bound = points, options, why, 0.0
        self.ids = None if trials.people is None else trials.people.ids
        self.rank = None if draws is None else draws.rank
        seats: Iterable[Seated] = seated(trials, layouts)
        if trials.is_exact:
            seats = held = list(seats)
        everyone = People.of_list(trials, None)
        self.are_blocks = everyone.are_blocks
        of_groups = {
            id(g): People.of_list(trials, g) if self.are_blocks else everyone for g in groupings
        }
        people = [(of_groups.get(id(one.grouping), everyone), everyone) for one in layouts]
        involved = involve(trials, layouts, seats, points.found, people)
        replicated: Sequence[tuple[Replicated, Replicated]] = []
        if draws is not None:
            seat = Seated(held[0].part, held[0].at[:n])
            replicated, self.bound = replicate(
                trials, layouts[:n], seat, involved[:n], points, draws, options, metrics
            )
        self.points_at = audited(points.found)
        self._bands: dict[tuple[str, str], Band] = {}
        nodes = nodes[~np.isin(nodes, list(self.points_at))]
        if trials.is_exact and nodes.size and options.interval != "bootstrap":
            pairs = max(cells.nontarget.cell.size for cells, _ in involved)
            self._bands = self._between(trials, layouts[:n], held, people, nodes, pairs)
        self.strata = list(zip(layouts[n:], (cells for cells, _ in involved[n:]), strict=True))
        lost = failed(trials, layouts[:n], people[:n], points.found, involved[:n])
        if draws is not None and trials.failures is not None:
            texts = [one.point.text for one in points.found]
            replicated = [
                (
                    with_failures(one, of, draws.weights, texts),
                    with_failures(other, of_levels, draws.weights, texts),
                )
                for (one, other), (of, of_levels) in zip(replicated, lost, strict=True)
            ]
        self._levels: list[Uncertainty] = []
        self._cells: list[Uncertainty] = []
        for i, (one, tallies, of) in enumerate(zip(layouts, involved, lost, strict=False)):
            drawn = replicated[i] if replicated else None
            into = self._levels if one.grouping is None else self._cells
            into += [self._of(one, at, tallies, drawn, of) for at in range(one.levels)]
        self._home = {id(one): i for i, one in enumerate((*tally.levels, *tally.cells))}

    def _between(
        self,
        trials: TrialSet,
        layouts: Sequence[Layout],
        held: Sequence[Seated],
        people: Sequence[tuple[People, People]],
        nodes: FloatArray,
        pairs: int,
    ) -> dict[tuple[str, str], Band]:
        """Intervals at thresholds that are no operating point's, of all layouts without levels."""
        which = [i for i, one in enumerate(layouts) if one.within is None]
        here = [Seated(one.part, [one.at[i] for i in which]) for one in held]
        own = [layouts[i] for i in which]
        made = bands(trials, own, here, [people[i] for i in which], nodes, self.options, pairs)
        return {
            (one.grouping.name if one.grouping else "all", one.allocation): band
            for one, band in zip(own, made, strict=True)
        }

    def _of(
        self,
        layout: Layout,
        at: int,
        involved: tuple[Involved, Involved],
        drawn: tuple[Replicated, Replicated] | None,
        lost: tuple[Failed, Failed],
    ) -> Uncertainty:
        """One level of a layout."""
        first, last = at * layout.groups, (at + 1) * layout.groups
        cells, levels = involved
        replicated = None
        if drawn is not None:
            replicated = Replicated.joined([drawn[0].part(first, last), drawn[1].part(at, at + 1)])
        return Uncertainty(
            cells.part(first, last),
            levels.part(at, at + 1),
            replicated,
            (lost[0].part(first, last), lost[1].part(at, at + 1)),
            self.points.found,
            self.options,
            self.why,
            in_blocks=self.are_blocks,
            rank=self.rank,
        )

    def of(self, one: Level | Cells) -> Uncertainty:
        """That of a level, as its own only group, or of the cells of a grouping."""
        return (*self._levels, *self._cells)[self._home[id(one)]]

    def add_to(
        self,
        rows: Mapping[str, Rows],
        where: Mapping[str, Any],
        cells: Cells,
        against: Mapping[tuple[str, str], Against],
    ) -> None:
        """Add trends, verdicts and limits of one grouping's cells.

        Parameters
        ----------
        rows
            By table.
        where
            Columns that all of these rows share.
        cells
            What they are of.
        against
            Ratios to the reference of the verdicts, by metric and operating point.
        """
        sure, found, options = self.of(cells), self.points.found, self.options
        groups = cells.grouping.groups
        if not self.are_blocks:
            whole = self.of(cells.level)  # trials between bands too
            trend_rows(rows["bias"], where, cells.grouping, found, whole, options)
        verdict_rows(rows["verdicts"], where, groups, found, against, sure, options)
        limit_rows(rows["limits"], where, (*groups, "pooled"), found, sure, options)

    def add_bands(
        self, rows: Rows, where: Mapping[str, str], groups: Sequence[str], one: Level | Cells
    ) -> None:
        """Add intervals along the threshold of one grouping's cells, or of all trials."""
        told = [Band.of(self.of(one), self.points_at, len(groups))]
        told += [
            band
            for key, band in self._bands.items()
            if key == (where["grouping"], where["allocation"])
        ]
        band_rows(rows, where, groups, told)

    def add_offenders(
        self, rows: Rows, where: Mapping[str, str], groups: Sequence[str], one: Level | Cells
    ) -> None:
        """Add who is behind most errors of one grouping's cells, or of all trials."""
        if self.are_blocks or self.ids is None:
            return
        sure = self.of(one)
        found, ids = self.points.found, self.ids
        if groups[:-1]:
            offender_rows(rows, where, groups[:-1], sure.groups, found, ids)
        offender_rows(rows, where, groups[-1:], sure.pooled, found, ids)

    def add_standardised(self, rows: Rows, name: Mapping[str, str]) -> None:
        """Add the standardised rates of every grouping."""
        for layout, involved in self.strata:
            assert layout.grouping is not None
            assert layout.within is not None
            where = {
                **name,
                "grouping": layout.grouping.name,
                "allocation": layout.allocation,
                "within": "",
            }
            strata, found = layout.within, self.points.found
            standardised_rows(rows, where, layout.grouping, strata, involved, found, self.options)
