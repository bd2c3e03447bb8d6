"""Errors and trials of every cell: by speaker, by pair of speakers, and between groups.

One more walk over the trials, once the thresholds are known. The sample of uncertainty are the
speakers (target trials) and pairs of speakers (nontarget trials).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.layout import CROSS, MAX_LAYOUTS_TOGETHER, Layout, walk
from parivox.auditing.operating_points import DEPLOYED
from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, index_codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.layout import PlacedTrials, Units
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.speaker_counts import SpeakerCounts
    from parivox.core.counts import IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

    Bools = NDArray[np.bool_]


_AT_ONCE = 1 << 16  # trials whose pairs of groups are counted together: they fit the cache


class SpeakerErrors(NamedTuple):
    """Errors and trials of some cells at every operating point."""

    target: ErrorsBySpeaker
    nontarget: ErrorsByPair

    def for_rate(self, rate: str) -> ErrorsBySpeaker | ErrorsByPair:
        """Who the trials of FPR or FNR are of."""
        return self.target if rate == "fnr" else self.nontarget

    def cell_slice(self, start: int, stop: int) -> SpeakerErrors:
        """Cells `start` to `stop`, the latter excluded."""
        if (start, stop) == (0, self.target.n_cells):
            return self
        return SpeakerErrors(
            self.target.cell_range(start, stop), self.nontarget.cell_range(start, stop)
        )


def count_speaker_errors(
    trials: TrialSet | SpeakerCounts,
    layouts: Sequence[Layout],
    blocks: Iterable[PlacedTrials],
    found: Sequence[LocatedPoint],
    members: Units,
) -> list[tuple[SpeakerErrors, SpeakerErrors]]:
    """Tally the trials of every layout, by cell (``level * groups + group``) and by level.

    A level has every trial that counts in one of its cells, once; where that is all trials, it is
    the very tally of the first layout.

    Parameters
    ----------
    trials
        The encoded trials, or a tally of them whose thresholds include those of the points.
    layouts, blocks
        What the cells are of, the first of all trials; `parivox.auditing.layout.walk`.
    found
        Operating points: trials are accepted at their thresholds or, at ``deployed``, as decided.
        Where a point was not found, errors mean nothing.
    members
        Who the speakers are.
    """
    cells = [_Gathering(one.n_cells, members) for one in layouts]
    levels = [_Gathering(one.n_strata, members) for one in layouts]
    for here in blocks:
        accepted = _Acceptances.of(trials, here, found)
        classes = _by_class(trials, here, members)
        for i, at in here.cells_by_layout.items():
            cells[i].add(classes, at.cells, accepted)
            if layouts[i].allocation == "either":  # cells share trials
                levels[i].add(classes, [at.stratum], accepted)
    for one in (*cells, *levels):
        one.join()
    every, n_every = cells[0].finish(), cells[0].n_trials()
    made = [(every, every)]
    for layout, many, few in zip(layouts[1:], cells[1:], levels[1:], strict=True):
        if layout.allocation != "either":
            few.pieces = many.rolled_up(layout.n_groups)
        is_all = layout.n_strata == 1 and few.n_trials() == n_every
        made.append((many.finish(), every if is_all else few.finish()))
    return made


class Matrix(NamedTuple):
    """False accepts and trials of nontarget pairs, ``[point, enrol group, test group]``."""

    errors: IntArray
    trials: IntArray


def count_matrices(
    trials: TrialSet | TrialCounts | SpeakerCounts,
    groupings: Sequence[Grouping],
    found: Sequence[LocatedPoint],
    within: Sequence[Grouping] = (),
) -> list[tuple[Grouping, str, Matrix]]:
    """False accepts and trials of nontarget pairs, by group of either side.

    See docs/methods/rates.md#cross-group-matrix. Each grouping comes for all trials first, then
    within every level, named as the column ``within`` has it.
    """
    layouts = [Layout(g, CROSS, w) for w in (None, *within) for g in groupings]
    sums = [np.zeros((2, len(found), one.n_cells), dtype=np.int64) for one in layouts]
    for here in walk(trials, layouts, at_once=_AT_ONCE, layouts_at_once=MAX_LAYOUTS_TOGETHER):
        accepted = _Acceptances.of(trials, here, found)
        nontarget = np.flatnonzero(~here.trials.target)
        for i, at in here.cells_by_layout.items():
            cell = at.cells[0].take(nontarget)
            inside = np.flatnonzero(cell >= 0)
            n, errors = accepted.counted(
                cell.take(inside), nontarget.take(inside), layouts[i].n_cells, is_target=False
            )
            sums[i][0] += errors
            sums[i][1] += n
    made = []
    for one, both in zip(layouts, sums, strict=True):
        assert one.grouping is not None
        n_groups = len(one.grouping.groups)
        by_level = both.reshape(2, len(found), one.n_strata, n_groups, n_groups)
        for level, name in enumerate(one.stratum_names()):
            made.append((one.grouping, name, Matrix(*by_level[:, :, level])))
    return made


class _Acceptances(NamedTuple):
    """How the trials of one block went at the operating points."""

    points: int
    order: NDArray[np.intp]  # those of the points that are thresholds, in rising order of these
    passed: IntArray  # at how many of the thresholds, the lowest first, each trial is accepted
    # which point is the decisions that were made; which trials were accepted, of which it is known
    decided: tuple[int, Bools, Bools] | None
    weight: IntArray | None  # how many trials each of them stands for; None for one

    @classmethod
    def of(
        cls,
        trials: TrialSet | TrialCounts | SpeakerCounts,
        here: PlacedTrials,
        found: Sequence[LocatedPoint],
    ) -> _Acceptances:
        """Those of one block; of trials that failed, nobody is let in."""
        part = here.trials
        scored = [i for i, one in enumerate(found) if one.point.rule != DEPLOYED]
        levels = np.array([found[i].threshold for i in scored])
        order = np.argsort(levels)  # NaN, which lets nobody in, last
        passed = np.searchsorted(levels[order], part.score, side="right")
        if here.are_failed:
            passed[:] = 0
        decided = None
        if len(scored) < len(found):
            at = next(i for i, one in enumerate(found) if one.point.rule == DEPLOYED)
            rejected = np.zeros(len(part), dtype=np.int8)
            decisions = rejected if here.are_failed else trials.decisions(part)
            decided = at, decisions == 1, decisions >= 0
        points = np.array(scored, dtype=np.intp)[order]
        return cls(len(found), points, passed, decided, part.extra_columns.get("count"))

    def counted(
        self, at: NDArray[np.integer[Any]], row: NDArray[np.intp], n: int, *, is_target: bool
    ) -> tuple[IntArray, IntArray]:
        """Trials, of all points or of each, and errors ``[point, entry]``.

        Trial `row` counts in entry `at` of `n`.
        """
        steps = self.order.size + 1
        code = at.astype(np.int64) * steps
        code += self.passed.take(row)
        up_to = self._count(code, row, n * steps).reshape(n, steps)
        np.cumsum(up_to, axis=1, out=up_to)
        trials = up_to[:, -1].copy()
        errors = np.empty((self.points, n), dtype=np.int64)
        rejected = up_to[:, :-1].T
        errors[self.order] = rejected if is_target else trials - rejected
        if self.decided is None:
            return trials, errors
        point, accepted, known = self.decided
        wrong = (~accepted if is_target else accepted) & known
        errors[point] = self._count(at, row, n, wrong)
        if known.all():
            return trials, errors
        each = np.repeat(trials[None], self.points, axis=0)
        each[point] = self._count(at, row, n, known)
        return each, errors

    def _count(
        self,
        at: NDArray[np.integer[Any]],
        row: NDArray[np.intp],
        n: int,
        chosen: Bools | None = None,
    ) -> IntArray:
        """How many of the chosen trials are in each of `n` places."""
        if chosen is not None:
            inside = chosen[row]
            at, row = at[inside], row[inside]
        weight = None if self.weight is None else self.weight[row]
        return np.bincount(at, weight, minlength=n).astype(np.int64, copy=False)


class _Class(NamedTuple):
    """Target trials by speaker, or nontarget trials by pair of speakers."""

    rows: NDArray[np.intp]
    # speaker or pair of each row, by its number among those that occur
    number: NDArray[np.integer[Any]]
    codes: IntArray  # those that occur, rising


def _by_class(trials: TrialSet | SpeakerCounts, here: PlacedTrials, members: Units) -> list[_Class]:
    """Nontarget trials by pair, target trials by speaker."""
    part, speaker = here.trials, trials.utterance_speaker
    target, nontarget = np.flatnonzero(part.target), np.flatnonzero(~part.target)
    pair = members.pair_numbers(*(speaker[side[nontarget]] for side in (part.enrol, part.test)))
    made = []
    for rows, code, size in (
        (nontarget, pair, members.n_units * members.n_units),
        (target, members.unit_numbers(speaker[part.enrol[target]]), members.n_units),
    ):
        codes, number = index_codes(code, size)
        made.append(_Class(rows, number, codes))
    return made


class _Piece(NamedTuple):
    """Trials and errors by the code of (cell, member): of scored trials, of failed ones, of all."""

    code: IntArray
    trials: IntArray
    errors: IntArray

    @classmethod
    def joined(cls, pieces: Sequence[_Piece]) -> _Piece:
        """The sum of several, or of one in which a code occurs more than once."""
        first = pieces[0]
        if len(pieces) == 1 and (first.code[1:] > first.code[:-1]).all():
            return first
        trials = [one.trials for one in pieces]
        if len({one.ndim for one in trials}) > 1:  # some decisions are known of all trials
            trials = [np.broadcast_to(one.trials, one.errors.shape) for one in pieces]
        code = np.concatenate([one.code for one in pieces])
        order = np.argsort(code, kind="stable")
        code = code[order]
        starts = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))[: code.size]

        def sums(tables: Sequence[IntArray]) -> IntArray:
            made = np.empty((*tables[0].shape[:-1], starts.size), dtype=np.int64)
            for point in np.ndindex(made.shape[:-1]):  # one by one, to save memory
                whole = np.concatenate([one[point] for one in tables])
                np.add.reduceat(whole[order], starts, out=made[point])
            return made

        return cls(code[starts], sums(trials), sums([one.errors for one in pieces]))


class _Gathering:
    """The tallies of one layout in the making, block by block: nontarget trials, then target."""

    def __init__(self, n_cells: int, members: Units) -> None:
        self.n_cells, self.in_blocks = n_cells, members.are_blocks
        self.reach = members.n_units * members.n_units, members.n_units
        self.pieces: tuple[list[_Piece], list[_Piece]] = [], []

    def add(
        self,
        classes: Sequence[_Class],
        cells: Sequence[NDArray[np.int32]],
        accepted: _Acceptances,
    ) -> None:
        """Add the trials of both classes; each may be in a second cell too."""
        for is_target, (one, reach) in enumerate(zip(classes, self.reach, strict=True)):
            span = one.codes.size
            code, which = [], []
            for cell in cells:
                here = cell[one.rows]
                inside = np.flatnonzero(here >= 0)
                code.append(here[inside].astype(np.int64) * span + one.number[inside])
                which.append(one.rows[inside])
            used, at = index_codes(np.concatenate(code), self.n_cells * span)
            n, errors = accepted.counted(
                at, np.concatenate(which), used.size, is_target=bool(is_target)
            )
            whole_code = used // span * reach + one.codes[used % span]
            self.pieces[is_target].append(_Piece(whole_code, n, errors))

    def join(self) -> None:
        """Add up the parts of each class."""
        for pieces in self.pieces:
            pieces[:] = [_Piece.joined(pieces)] if pieces else []

    def n_trials(self) -> list[int | list[int]]:
        """How many of either class, at each point if they differ."""
        each = (
            sum((one.trials.sum(axis=-1) for one in pieces), np.array(0)) for pieces in self.pieces
        )
        return [n.tolist() for n in each]

    def rolled_up(self, groups: int) -> tuple[list[_Piece], list[_Piece]]:
        """The same by level, of which each has so many cells."""
        nontarget, target = (
            [one._replace(code=one.code // n // groups * n + one.code % n) for one in pieces]
            for n, pieces in zip(np.maximum(self.reach, 1).tolist(), self.pieces, strict=True)
        )
        return nontarget, target

    def finish(self) -> SpeakerErrors:
        """The tallies."""
        nontarget, target = map(_Piece.joined, self.pieces)
        (_, n), size = np.maximum(self.reach, 1).tolist(), (self.n_cells, self.in_blocks)
        cell, pair = np.divmod(nontarget.code, n * n)
        return SpeakerErrors(
            ErrorsBySpeaker(target.code // n, target.code % n, target.errors, target.trials, *size),
            ErrorsByPair(cell, pair // n, pair % n, nontarget.errors, nontarget.trials, *size),
        )
