"""The speakers behind the trials of one system on one list: the uncertainty of every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parivox.auditing.bands import Band, band_rows, bands, points_by_threshold
from parivox.auditing.draws import Replicated, replicate
from parivox.auditing.failures import SpeakerFailures, draws_with_failures, tally_failures
from parivox.auditing.intervals import rate_intervals
from parivox.auditing.layout import Layout, Members, cell_layouts, walk
from parivox.auditing.limits import offender_rows
from parivox.auditing.nulls import draw_nulls
from parivox.auditing.speaker_errors import SpeakerErrors, tally_errors
from parivox.auditing.uncertainty import Uncertainty, crossed_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parivox.auditing.cell_counts import CellCounts
    from parivox.auditing.inputs import Design
    from parivox.auditing.layout import PlacedTrials
    from parivox.auditing.operating_points import Found, Points
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.core.counts import FloatArray
    from parivox.read.trialset import TrialSet


@dataclass(frozen=True, eq=False)
class Sample:
    """Everything that the uncertainty of one system on one list is told from."""

    # of all trials and each level, as their own only group, in the order of the counts'
    levels: list[Uncertainty]
    cells: list[Uncertainty]  # of each grouping's cells, likewise
    # what the bins of scores in replicates cost: no rate of a replicate at a threshold found on its
    # curve is further than this from the exact one
    bound: float
    # every grouping with the strata that its rates are standardised over, and their errors
    strata: list[tuple[Layout, SpeakerErrors]]
    points_at: dict[float, int]  # thresholds of operating points, and which point is at each
    # intervals at thresholds that are no operating point's, by grouping and allocation
    between: dict[tuple[str, str], Band]
    found: Sequence[Found]  # the operating points
    # of the speakers by number; None where they are not known, or taken in blocks
    ids: Sequence[str] | None

    def add_bands(
        self, rows: Rows, where: Mapping[str, str], names: Sequence[str], uncertainty: Uncertainty
    ) -> None:
        """Add intervals along the threshold of one grouping's cells, or of all trials."""
        parts = [Band.of(uncertainty.intervals, self.points_at, len(names))]
        between = self.between.get((where["grouping"], where["allocation"]))
        band_rows(rows, where, names, parts if between is None else [*parts, between])

    def add_offenders(
        self, rows: Rows, where: Mapping[str, str], names: Sequence[str], uncertainty: Uncertainty
    ) -> None:
        """Add who is behind most errors of one grouping's cells, or of all trials."""
        if self.ids is None:
            return
        if names[:-1]:
            offender_rows(rows, where, names[:-1], uncertainty.groups, self.found, self.ids)
        offender_rows(rows, where, names[-1:], uncertainty.pooled, self.found, self.ids)


def sample_speakers(
    trials: TrialSet, design: Design, tally: CellCounts, points: Points, nodes: FloatArray
) -> Sample:
    """Tally who is behind the trials at every threshold, and draw replicates of them.

    In the order of `tally`, the counts of the trials; `nodes` are thresholds at which intervals are
    told beside those of the operating points.
    """
    options, draws = design.options, design.draws
    why = ""
    if not trials.is_exact:
        draws, why = None, "too many trials to hold in memory"
    elif draws is None:
        why = "too many speakers to draw from"
    groupings, rules = design.groupings, options.allocate
    layouts = cell_layouts(groupings, rules, design.within)
    n = len(layouts)
    layouts += [Layout(g, rule, one) for one in design.strata for g in groupings for rule in rules]
    blocks: Iterable[PlacedTrials] = walk(trials, layouts)
    held: list[PlacedTrials] = []
    if trials.is_exact:
        blocks = held = list(blocks)
    everyone = Members.of_list(trials, None)
    of_groups = {
        id(g): Members.of_list(trials, g) if everyone.are_blocks else everyone for g in groupings
    }
    members = [(of_groups.get(id(one.grouping), everyone), everyone) for one in layouts]
    tallied = tally_errors(trials, layouts, blocks, points.found, members)
    lost = tally_failures(trials, layouts[:n], members[:n], points.found, tallied[:n], tally)
    replicated: Sequence[tuple[Replicated, Replicated]] = []
    bound = 0.0
    if draws is not None:
        replicated, bound = replicate(
            *(
                trials,
                layouts[:n],
                held[0].only(range(n)),
                tallied[:n],
                points,
                draws,
                options,
                design.metrics,
            )
        )
        if trials.failures is not None:
            texts = [one.point.text for one in points.found]
            replicated = [
                (
                    draws_with_failures(one, of, draws.weights, texts),
                    draws_with_failures(other, of_levels, draws.weights, texts),
                )
                for (one, other), (of, of_levels) in zip(replicated, lost, strict=True)
            ]
    points_at = points_by_threshold(points.found)
    between: dict[tuple[str, str], Band] = {}
    nodes = nodes[~np.isin(nodes, list(points_at))]
    if trials.is_exact and nodes.size and options.interval != "bootstrap":
        pairs = max(cells.nontarget.cell.size for cells, _ in tallied)
        between = _between(trials, layouts[:n], held, members, nodes, options, pairs)
    levels: list[Uncertainty] = []
    cells_of: list[Uncertainty] = []
    for i, (one, of, failures) in enumerate(zip(layouts, tallied, lost, strict=False)):
        into = levels if one.grouping is None else cells_of
        again = replicated[i] if replicated else None
        into += [
            _uncertainty(one, at, of, failures, again, points, design, why, everyone)
            for at in range(one.levels)
        ]
    assert (len(levels), len(cells_of)) == (len(tally.levels), len(tally.cells))
    ids = None if trials.people is None or everyone.are_blocks else trials.people.ids
    strata = list(zip(layouts[n:], (cells for cells, _ in tallied[n:]), strict=True))
    return Sample(levels, cells_of, bound, strata, points_at, between, points.found, ids)


def _uncertainty(
    layout: Layout,
    at: int,
    tallied: tuple[SpeakerErrors, SpeakerErrors],
    lost: tuple[SpeakerFailures, SpeakerFailures],
    replicated: tuple[Replicated, Replicated] | None,
    points: Points,
    design: Design,
    why: str,
    everyone: Members,
) -> Uncertainty:
    """Intervals and draws of the cells of one level of a layout."""
    options, draws = design.options, design.draws
    first, last = at * layout.groups, (at + 1) * layout.groups
    groups, pooled = tallied[0].part(first, last), tallied[1].part(at, at + 1)
    again = None
    if replicated is not None:
        again = Replicated.joined([replicated[0].part(first, last), replicated[1].part(at, at + 1)])
    estimates = None if again is None else again.estimates()
    intervals = rate_intervals(groups, pooled, options, estimates, in_blocks=everyone.are_blocks)
    return Uncertainty(
        groups=groups,
        pooled=pooled,
        intervals=intervals,
        nulls=draw_nulls(
            *(groups, intervals, points.found, options, None if draws is None else draws.rank),
            is_drawn=layout.grouping is not None,
        ),
        draws=estimates,
        crossed=crossed_of(
            None if again is None else again.crossed, len(points.cheapest), intervals.fewest
        ),
        failed=(lost[0].part(first, last), lost[1].part(at, at + 1)),
        points={f.point.text: i for i, f in enumerate(points.found)},
        options=options,
        why=why,
        in_blocks=everyone.are_blocks,
    )


def _between(
    trials: TrialSet,
    layouts: Sequence[Layout],
    held: Sequence[PlacedTrials],
    members: Sequence[tuple[Members, Members]],
    nodes: FloatArray,
    options: Options,
    pairs: int,
) -> dict[tuple[str, str], Band]:
    """Intervals at thresholds that are no operating point's, of all layouts without levels."""
    which = [i for i, one in enumerate(layouts) if one.within is None]
    here = [one.only(which) for one in held]
    own = [layouts[i] for i in which]
    made = bands(trials, own, here, [members[i] for i in which], nodes, options, pairs)
    return {
        (one.grouping.name if one.grouping else "all", one.allocation): band
        for one, band in zip(own, made, strict=True)
    }
