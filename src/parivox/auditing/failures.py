"""Failures by speaker: recordings that could not be enrolled or acquired, and their trials."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.layout import cells_of_side, walk
from parivox.auditing.outcomes import ATTEMPTS, SHARES
from parivox.auditing.speaker_errors import tally_errors
from parivox.core.intervals import rate_interval
from parivox.core.resampling import weighted
from parivox.core.tallies import BySpeaker, moments, over
from parivox.read.checks import ACQUIRE, ENROL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import Attempts, CellCounts
    from parivox.auditing.estimates import Estimates
    from parivox.auditing.layout import Layout, Members
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Gates
    from parivox.auditing.schema import Key
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import FloatArray
    from parivox.core.intervals import Interval
    from parivox.core.tallies import ByPair
    from parivox.read.trialset import TrialSet

_SLICE = 4_000_000  # utterances at once
MOST_RECORDINGS = 20_000_000
"""Of more recordings, what failed is not tallied by speaker: it would take another gigabyte."""
_OF_ATTEMPTS = {"fpr": "far", "fnr": "frr"}
STAGES = {"fte": "enrol", "fta": "test"}
"""Rates of failures, with the side of a trial that they are of."""


class SpeakerFailures(NamedTuple):
    """Recordings tried and failed, and all attempts, of each cell; None where none is told."""

    fte: BySpeaker | None = None  # enrolments; None also where they cannot be told by group
    fta: BySpeaker | None = None  # likewise test recordings
    # trials that were scored with those of a recording that failed, as rejections: first of test
    # recordings that could not be acquired, then of failed enrolments too
    attempts: tuple[SpeakerErrors, SpeakerErrors] | None = None

    def part(self, start: int, stop: int) -> SpeakerFailures:
        """Cells `start` to `stop`, the latter excluded."""
        fte, fta = (None if one is None else one.part(start, stop) for one in self[:2])
        attempts = self.attempts
        if attempts is not None:
            attempts = attempts[0].part(start, stop), attempts[1].part(start, stop)
        return SpeakerFailures(fte, fta, attempts)

    def interval(self, metric: str, confidence: float, gates: Gates) -> Interval | None:
        """Interval of one of the rates, ``[point, cell]``; none of too few speakers."""
        tally: BySpeaker | ByPair | None = None
        if metric in STAGES:
            tally = getattr(self, metric)
        elif self.attempts is not None:
            every = self.attempts[int(metric.startswith("g"))]
            tally = every.target if metric.endswith("frr") else every.nontarget
        if tally is None:
            return None
        found = rate_interval(moments(tally), confidence)
        return found.without(tally.speakers < gates.inference, gates.too_few)


def tally_failures(
    trials: TrialSet,
    layouts: Sequence[Layout],
    members: Sequence[tuple[Members, Members]],
    found: Sequence[Found],
    scored: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
    counts: CellCounts,
) -> list[tuple[SpeakerFailures, SpeakerFailures]]:
    """Tally what failed of every layout, by cell and by level; of none if nothing is told.

    As :func:`~parivox.auditing.speaker_errors.tally_errors` does, which gives `scored`, the trials
    that have a score; `counts` tell what was attempted, and what failed.
    """
    attempts, failed = counts.attempts, counts.levels[0].outcomes.failed
    if attempts is None or failed is None:
        return [(SpeakerFailures(), SpeakerFailures())] * len(layouts)
    stages = {stage for stage, lost in zip((ACQUIRE, ENROL), failed, strict=True) if lost.any()}
    # where no trial was lost, those with a score are all that were tried
    attempted: list[Sequence[tuple[SpeakerErrors, SpeakerErrors]]] = [] if stages else [scored]
    for some in ((ACQUIRE,), (ACQUIRE, ENROL)):
        if not attempted or ENROL in stages:
            blocks = walk(trials, layouts, failed=some)
            attempted.append(tally_errors(trials, layouts, blocks, found, members))
    are_many = trials.utterance_speaker.size > MOST_RECORDINGS
    made = []
    for i, (one, both) in enumerate(zip(layouts, members, strict=True)):
        parts = []
        for k, (who, groups) in enumerate(zip(both, (one.groups, 0), strict=True)):
            shares: list[BySpeaker | None] = [
                None if are_many else _tally(one, attempts, who, at, groups)
                for at in range(len(STAGES))
            ]
            parts.append(
                SpeakerFailures(shares[0], shares[1], (attempted[0][i][k], attempted[-1][i][k]))
            )
        made.append((parts[0], parts[1]))
    return made


def draws_with_failures(
    drawn: Estimates,
    failed: SpeakerFailures,
    weights: NDArray[np.integer[Any]],
    points: Sequence[str],
) -> Estimates:
    """Cells in each draw with the rates that count failures, by either rule.

    `failed` is of the same cells, `weights` how often each speaker is drawn, ``[draw, speaker]``,
    and `points` are as the tallies have them.
    """
    by_attempts = _by_attempts(drawn, failed, weights, points)
    more = {**_by_shares(drawn, failed, weights), **by_attempts}
    if not more:
        return drawn
    values = np.concatenate((drawn.values, np.stack(list(more.values()), axis=1)), axis=1)
    return replace(drawn, keys=[*drawn.keys, *more], values=values)


def _by_shares(
    drawn: Estimates, failed: SpeakerFailures, weights: NDArray[np.integer[Any]]
) -> dict[Key, FloatArray]:
    """Rates of comparisons joined with the shares of recordings that failed."""
    lost: dict[str, FloatArray] = {}
    for name in STAGES:
        tally: BySpeaker | None = getattr(failed, name)
        if tally is not None:
            errors, trials = weighted(tally, weights)
            lost[name] = over(errors, trials)[:, 0]
    found: dict[Key, FloatArray] = {(name, "", ""): share for name, share in lost.items()}
    place = {key: i for i, key in enumerate(drawn.keys)}
    for key in drawn.rates:
        metric, _, point = key
        rate = drawn.values[:, place[key]]
        for general, stages in (("", ("fta",)), ("g", ("fta", "fte"))):
            if all(stage in lost for stage in stages):
                made = np.prod([1 - lost[stage] for stage in stages], axis=0)
                adds = 1 - made if metric == "fnr" else 0
                found[general + _OF_ATTEMPTS[metric], SHARES, point] = rate * made + adds
    return found


def _by_attempts(
    drawn: Estimates,
    failed: SpeakerFailures,
    weights: NDArray[np.integer[Any]],
    points: Sequence[str],
) -> dict[Key, FloatArray]:
    """Rates of all attempts, those that failed as rejections."""
    found: dict[Key, FloatArray] = {}
    for general, every in zip(("", "g"), failed.attempts or (), strict=False):
        all_trials = {
            "fpr": weighted(every.nontarget, weights)[1],
            "fnr": weighted(every.target, weights)[1],
        }
        for i, key in enumerate(drawn.rates):
            metric, _, point = key
            every_trial = all_trials[metric]
            trials = every_trial[:, points.index(point) if every_trial.shape[1] > 1 else 0]
            lost = trials - drawn.trials[:, i]
            wrong = drawn.errors[:, i] + (lost if metric == "fnr" else 0)
            found[general + _OF_ATTEMPTS[metric], ATTEMPTS, point] = over(wrong, trials)
    return found


def _tally(
    layout: Layout, attempts: Attempts, members: Members, at: int, groups: int
) -> BySpeaker | None:
    """Recordings of one stage by speaker and cell or, for no groups, by speaker and level."""
    trials = attempts.trials
    cell_of = cells_of_side(layout, trials, tuple(STAGES.values())[at])
    if cell_of is None:
        return None
    n, n_cells = members.n, layout.cells if groups else layout.levels
    wrong, total = np.zeros((2, n_cells * n), dtype=np.int64)
    for first in range(0, cell_of.size, _SLICE):
        part = slice(first, first + _SLICE)
        tried = attempts.tried[at][part] & (cell_of[part] >= 0)
        cell = cell_of[part][tried].astype(np.int64)
        if not groups:
            cell //= layout.groups
        code = cell * n + members.of(trials.utterance_speaker[part][tried])
        total += np.bincount(code, minlength=total.size)
        wrong += np.bincount(code[attempts.failed[at][part][tried]], minlength=total.size)
    code = np.flatnonzero(total)
    return BySpeaker(code // n, code % n, wrong[None, code], total[code], n_cells)
