"""Errors and trials of every cell by speaker (target trials) and by pair of speakers (nontarget).

The counterpart of :mod:`~parivox.auditing.cell_counts` for uncertainty, whose sample are the
speakers: one more walk over the trials, once the thresholds are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.operating_points import DEPLOYED
from parivox.core.tallies import ByPair, BySpeaker, numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.layout import Layout, Members, PlacedTrials
    from parivox.auditing.operating_points import Found
    from parivox.auditing.tally import Tally
    from parivox.core.counts import IntArray
    from parivox.read.checks import Trials
    from parivox.read.trialset import TrialSet

    Bools = NDArray[np.bool_]

_HELD = 1 << 21
"""Entries of several partitions that are held before they are added up."""


class SpeakerErrors(NamedTuple):
    """Errors and trials of some cells at every operating point."""

    target: BySpeaker
    nontarget: ByPair

    def part(self, start: int, stop: int) -> SpeakerErrors:
        """Cells `start` to `stop`, the latter excluded."""
        return SpeakerErrors(self.target.part(start, stop), self.nontarget.part(start, stop))


def tally_errors(
    trials: TrialSet | Tally,
    layouts: Sequence[Layout],
    walk: Iterable[PlacedTrials],
    found: Sequence[Found],
    members: Sequence[tuple[Members, Members]],
) -> list[tuple[SpeakerErrors, SpeakerErrors]]:
    """Tally the trials of every layout, by cell and by level.

    Parameters
    ----------
    trials
        The encoded trials, or a tally of them whose thresholds include those of the points.
    layouts
        What the cells are of; the first is of all trials.
    walk
        The trials, partition by partition, with where they count.
    found
        Operating points: trials are accepted at their thresholds or, at ``deployed``, as decided.
        Where a point was not found, errors mean nothing.
    members
        Of each layout, who the speakers of its cells are, and of its levels.

    Returns
    -------
    list of (SpeakerErrors, SpeakerErrors)
        Of each layout, its cells (``level * groups + group``), and its levels: every trial that
        counts in one of its cells, once.
    """
    cells = [_Gathering(one.cells, own.n) for one, (own, _) in zip(layouts, members, strict=True)]
    levels = [_Gathering(one.levels, of.n) for one, (_, of) in zip(layouts, members, strict=True)]
    every = {id(one): one for both in members for one in both}
    apart = [
        one.allocation == "either" or own is not whole  # cells share trials, or not their speakers
        for one, (own, whole) in zip(layouts, members, strict=True)
    ]
    for here in walk:
        accepted = _Acceptances.of(trials, here.part, found)
        classes = {key: _classes(trials, here.part, one) for key, one in every.items()}
        for i, at in here.at.items():
            adding = [(cells[i], at.cells, members[i][0])]
            if apart[i]:
                adding.append((levels[i], [at.level], members[i][1]))
            for into, placed_in, who in adding:
                for rows, member, is_target in classes[id(who)]:
                    into.add(rows, member, placed_in, accepted, is_target=is_target)
    made = []
    for one, many, few, is_apart in zip(layouts, cells, levels, apart, strict=True):
        if not is_apart:
            few.pieces = many.pieces if one.groups == 1 else many.rolled_up(one.groups)
        made.append((many.finish(), few.finish()))
    return made


class _Acceptances(NamedTuple):
    """How the trials of one partition went at the operating points.

    Attributes
    ----------
    points : int
        How many there are.
    order : intp ndarray of shape (threshold,)
        Those that are thresholds, in rising order of these.
    passed : int64 ndarray of shape (trial,)
        At how many of the thresholds, the lowest first, each trial is accepted.
    decided : (int, bool ndarray, bool ndarray) or None
        Which point is the decisions that were made; which trials were accepted, of which it is
        known.
    weight : int64 ndarray of shape (trial,), or None
        How many trials each of them stands for; None for one.
    """

    points: int
    order: NDArray[np.intp]
    passed: IntArray
    decided: tuple[int, Bools, Bools] | None
    weight: IntArray | None

    @classmethod
    def of(cls, trials: TrialSet | Tally, part: Trials, found: Sequence[Found]) -> _Acceptances:
        """Those of one partition; of trials that failed, nobody is let in."""
        failed = part.more.get("failed", np.zeros(1, np.int8)) > 0
        scored = [i for i, one in enumerate(found) if one.point.rule != DEPLOYED]
        levels = np.array([found[i].threshold for i in scored])
        order = np.argsort(levels)  # NaN, which lets nobody in, last
        passed = np.searchsorted(levels[order], part.score, side="right")
        passed[np.broadcast_to(failed, passed.shape)] = 0
        decided = None
        if len(scored) < len(found):
            told = trials.decided(part)
            at = next(i for i, one in enumerate(found) if one.point.rule == DEPLOYED)
            decided = at, (told == 1) & ~failed, (told >= 0) | failed
        weight = part.more.get("count")
        return cls(len(found), np.array(scored, dtype=np.intp)[order], passed, decided, weight)

    def counted(
        self, at: NDArray[np.integer[Any]], row: NDArray[np.intp], n: int, *, is_target: bool
    ) -> tuple[IntArray, IntArray]:
        """Trials, of all points or of each, and errors ``[point, entry]``.

        Trial `row` counts in entry `at` of `n`.
        """
        steps = self.order.size + 1
        code = at.astype(np.int64) * steps
        code += self.passed[row]
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


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Speaker or pair of each trial: its number among those that occur, and their codes."""

    index: NDArray[np.integer[Any]]
    codes: IntArray


def _classes(
    trials: TrialSet | Tally, part: Trials, members: Members
) -> list[tuple[NDArray[np.intp], _Numbered, bool]]:
    """Target trials by speaker, nontarget trials by pair."""
    speaker = trials.utterance_speaker
    target, nontarget = np.flatnonzero(part.target), np.flatnonzero(~part.target)
    own = members.of(speaker[part.enrol[target]])
    pair = members.of_pairs(*(speaker[side[nontarget]] for side in (part.enrol, part.test)))
    return [
        (target, _numbered(own, members.n), True),
        (nontarget, _numbered(pair, members.n * members.n), False),
    ]


def _numbered(codes: IntArray, size: int) -> _Numbered:
    """Codes below `size`, numbered in rising order of those that occur."""
    distinct, index = numbered(codes, size)
    return _Numbered(index, distinct)


class _Piece(NamedTuple):
    """Trials and errors of (cell, member), in rising order; of one partition or of all."""

    code: IntArray
    trials: IntArray
    errors: IntArray

    @classmethod
    def of(cls, code: IntArray, trials: IntArray, errors: IntArray) -> _Piece:
        """Add up what has one code."""
        order = np.argsort(code, kind="stable")
        code = code[order]
        first = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))[: code.size]
        if first.size == code.size:
            return cls(code, trials[..., order], errors[:, order])
        n, wrong = (np.add.reduceat(a[..., order], first, axis=-1) for a in (trials, errors))
        return cls(code[first], n, wrong)


class _Gathering:
    """The tallies of one layout in the making, partition by partition."""

    def __init__(self, n_cells: int, n_speakers: int) -> None:
        self.n_cells, self.n_speakers = n_cells, n_speakers
        self.pieces: dict[bool, list[_Piece]] = {True: [], False: []}

    def add(
        self,
        rows: NDArray[np.intp],
        members: _Numbered,
        cells: Sequence[NDArray[np.int32]],
        accepted: _Acceptances,
        *,
        is_target: bool,
    ) -> None:
        """Add the trials of one class; each may be in a second cell too."""
        span = members.codes.size
        size = self.n_cells * span
        code, which = [], []
        for cell in cells:
            here = cell[rows]
            inside = np.flatnonzero(here >= 0)
            code.append(here[inside].astype(np.int64) * span + members.index[inside])
            which.append(rows[inside])
        at, row = np.concatenate(code), np.concatenate(which)
        used, at = numbered(at, size)
        n, errors = accepted.counted(at, row, used.size, is_target=is_target)
        reach = self._reach(is_target=is_target)
        global_code = used // span * reach + members.codes[used % span]
        pieces = self.pieces[is_target]
        pieces.append(_Piece(global_code, n, errors))
        if len(pieces) > 1 and sum(one.code.size for one in pieces) > _HELD:
            pieces[:] = [self._joined(is_target=is_target)]

    def rolled_up(self, groups: int) -> dict[bool, list[_Piece]]:
        """The same by level, of which each has so many cells."""
        found = {}
        for is_target, pieces in self.pieces.items():
            reach = max(self._reach(is_target=is_target), 1)
            found[is_target] = [
                _Piece.of(code // reach // groups * reach + code % reach, n, errors)
                for code, n, errors in pieces
            ]
        return found

    def _reach(self, *, is_target: bool) -> int:
        """Codes of members are below this."""
        return self.n_speakers if is_target else self.n_speakers * self.n_speakers

    def finish(self) -> SpeakerErrors:
        """The tallies."""
        target, nontarget = (self._joined(is_target=kind) for kind in (True, False))
        n = max(self.n_speakers, 1)
        cell, pair = np.divmod(nontarget.code, n * n)
        return SpeakerErrors(
            BySpeaker(
                *(target.code // n, target.code % n, target.errors, target.trials, self.n_cells)
            ),
            ByPair(cell, pair // n, pair % n, nontarget.errors, nontarget.trials, self.n_cells),
        )

    def _joined(self, *, is_target: bool) -> _Piece:
        pieces = self.pieces[is_target]
        if len(pieces) == 1:
            return pieces[0]
        return _Piece.of(
            np.concatenate([one.code for one in pieces]),
            np.concatenate([one.trials for one in pieces], axis=-1),
            np.concatenate([one.errors for one in pieces], axis=-1),
        )
