"""Failures by speaker: recordings that could not be enrolled or acquired, and their trials."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.draws import with_stranger_weights
from parivox.auditing.layout import Layout, Units, cell_layouts, cells_of_side, walk
from parivox.auditing.outcomes import ATTEMPTS, SHARES
from parivox.auditing.speaker_errors import count_speaker_errors
from parivox.core.cluster_errors import ErrorsBySpeaker, moments, safe_divide
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER, rate_interval
from parivox.core.resampling import weighted
from parivox.data.trial_checks import ACQUIRE, ENROL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.cell_counts import Attempts, CellCounts
    from parivox.auditing.estimates import Estimates
    from parivox.auditing.inputs import Design
    from parivox.auditing.layout import PlacedTrials
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import SampleSizeMinimums
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.auditing.speaker_counts import SpeakerCounts
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.cluster_errors import ErrorsByPair
    from parivox.core.counts import FloatArray, IntArray
    from parivox.core.intervals import Interval
    from parivox.data.trial_set import TrialSet

_SLICE = 4_000_000  # utterances at once
MAX_COUNTED_RECORDINGS = 20_000_000
"""Of more recordings, what failed is not tallied by speaker: it would take another gigabyte."""
_OF_ATTEMPTS = {"fpr": "far", "fnr": "frr"}
STAGES = {"fte": "enrol", "fta": "test"}
"""Rates of failures, with the side of a trial that they are of."""


class SpeakerFailures(NamedTuple):
    """Recordings tried and failed, and all attempts, of each cell; None where none is told."""

    fte: ErrorsBySpeaker | None = None  # enrolments; None also where they cannot be told by group
    fta: ErrorsBySpeaker | None = None  # likewise test recordings
    # trials that were scored with those of a recording that failed, as rejections: first of test
    # recordings that could not be acquired, then of failed enrolments too
    attempts: tuple[SpeakerErrors, SpeakerErrors] | None = None

    def cell_range(self, start: int, stop: int) -> SpeakerFailures:
        """Cells `start` to `stop`, the latter excluded."""
        fte, fta = (None if one is None else one.cell_range(start, stop) for one in self[:2])
        attempts = self.attempts
        if attempts is not None:
            attempts = attempts[0].cell_slice(start, stop), attempts[1].cell_slice(start, stop)
        return SpeakerFailures(fte, fta, attempts)

    def interval(
        self, metric: str, confidence: float, gates: SampleSizeMinimums
    ) -> Interval | None:
        """Interval of one of the rates, ``[point, cell]``; none of too few speakers."""
        tally: ErrorsBySpeaker | ErrorsByPair | None = None
        if metric in STAGES:
            tally = getattr(self, metric)
        elif self.attempts is not None:
            every = self.attempts[int(metric.startswith("g"))]
            tally = every.target if metric.endswith("frr") else every.nontarget
        if tally is None:
            return None
        found = rate_interval(moments(tally), confidence)
        found = found.without_limits(tally.n_speakers < gates.inference, gates.no_interval_reason)
        return found.without_spread(tally.has_unknown_speakers, NOTE_NO_TEST_SPEAKER)


def count_failures(
    trials: TrialSet | SpeakerCounts,
    layouts: Sequence[Layout],
    placed: Callable[[], Iterable[PlacedTrials]],
    members: Units,
    found: Sequence[LocatedPoint],
    scored: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
    counts: CellCounts,
    design: Design,
) -> list[tuple[SpeakerFailures, SpeakerFailures]]:
    """Tally what failed of every layout, by cell and by level; of none if nothing is told.

    As `parivox.auditing.speaker_errors.count_speaker_errors` does, which gives `scored`, the trials
    that have a score, from where they are `placed`; `counts` tell what was attempted, and what
    failed. Layouts are of the members; `design` has the same ones of the speakers that recordings
    are of.
    """
    attempts, failed = counts.attempts, counts.strata[0].outcomes.failed_trials
    if attempts is None or failed is None:
        return [(SpeakerFailures(), SpeakerFailures())] * len(layouts)
    stages = {stage for stage, lost in zip((ACQUIRE, ENROL), failed, strict=True) if lost.any()}
    # where no trial was lost, those with a score are all that were tried
    attempted: list[Sequence[tuple[SpeakerErrors, SpeakerErrors]]] = [] if stages else [scored]
    for some in ((ACQUIRE,), (ACQUIRE, ENROL)):
        if not attempted or ENROL in stages:
            blocks = chain(placed(), walk(trials, layouts, failed=some, scored=False))
            attempted.append(count_speaker_errors(trials, layouts, blocks, found, members))
    are_many = attempts.trials.utterance_speaker.size > MAX_COUNTED_RECORDINGS
    made = []
    of_recordings = Units.from_trials(attempts.trials, design.speaker_block)
    own = cell_layouts(design.groupings, design.options.allocate, design.within)
    for i, one in enumerate(own):
        parts = []
        for k, groups in enumerate((one.n_groups, 0)):
            shares: list[ErrorsBySpeaker | None] = [
                None if are_many else _tally(one, attempts, of_recordings, at, groups)
                for at in range(len(STAGES))
            ]
            for at, tally in enumerate(shares):
                if tally is not None and (tally.speaker == of_recordings.n_units).any():
                    shares[at] = None  # recordings of people whom nobody knows
            parts.append(
                SpeakerFailures(shares[0], shares[1], (attempted[0][i][k], attempted[-1][i][k]))
            )
        made.append((parts[0], parts[1]))
    return made


def add_failure_rates(
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
        tally: ErrorsBySpeaker | None = getattr(failed, name)
        if tally is not None:
            errors, trials = weighted(tally, weights)
            lost[name] = safe_divide(errors, trials)[:, 0]
    found: dict[Key, FloatArray] = {(name, "", ""): share for name, share in lost.items()}
    place = {key: i for i, key in enumerate(drawn.keys)}
    for key in drawn.rate_keys:
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
            metric: weighted(tally, with_stranger_weights(weights, tally))[1]
            for metric, tally in (("fpr", every.nontarget), ("fnr", every.target))
        }
        for i, key in enumerate(drawn.rate_keys):
            metric, _, point = key
            every_trial = all_trials[metric]
            trials = every_trial[:, points.index(point) if every_trial.shape[1] > 1 else 0]
            lost = trials - drawn.trials[:, i]
            wrong = drawn.errors[:, i] + (lost if metric == "fnr" else 0)
            found[general + _OF_ATTEMPTS[metric], ATTEMPTS, point] = safe_divide(wrong, trials)
    return found


def add_cause_rows(
    rows: TableBuilder,
    name: Mapping[str, str],
    attempts: Attempts | None,
    design: Design,
) -> None:
    """Why recordings of each group and, last, of all groups failed, at either stage.

    Nothing is told by groups of trials, which recordings do not belong to.
    """
    causes = None if attempts is None else attempts.trials.causes
    if attempts is None or causes is None:
        return
    options, members = design.options, Units.from_trials(attempts.trials, design.speaker_block)
    names = np.array([*causes.names, ""], dtype=object)
    stages = list(zip(("enrol", "acquire"), causes[1:], strict=True))
    for grouping, (at, (stage, told)) in product((None, *design.groupings), enumerate(stages)):
        layout = Layout(grouping, "", None)
        kind = np.where(attempts.failed[at], np.where(told < 0, len(causes.names), told), -1)
        where = {**name, "grouping": "all" if grouping is None else grouping.name, "stage": stage}
        whole = ["all" if grouping is None else "pooled"]
        for cells in (whole,) if grouping is None else ([*grouping.groups], whole):
            n = 0 if cells is whole else layout.n_groups
            tally = _tally(layout, attempts, members, at, n, kind, names.size)
            if tally is None:
                continue
            failed, tried = tally.sum_by_cell(tally.errors), tally.sum_by_cell(tally.trials)
            found = rate_interval(moments(tally), options.confidence)
            found = found.without_limits(
                tally.n_speakers < options.minimums.inference, options.minimums.no_interval_reason
            )
            unknown = np.isin(
                np.arange(tally.n_cells), tally.cell[tally.speaker == members.n_units]
            )
            if unknown.any():
                found = found.without_spread(unknown, NOTE_NO_TEST_SPEAKER)
            is_told = options.intervals
            for k in np.unique(kind[kind >= 0]):
                rows.add(
                    **where,
                    group=cells,
                    cause=names[k],
                    failed=failed[k].astype(np.int64),
                    tried=tried.astype(np.int64),
                    value=found.rate[k],
                    low=found.low[k] if is_told else None,
                    high=found.high[k] if is_told else None,
                    reason=np.where(tried == 0, "none was attempted", ""),
                    note=found.note[k] if is_told else "",
                )


def _tally(
    layout: Layout,
    attempts: Attempts,
    members: Units,
    at: int,
    groups: int,
    kind: NDArray[np.integer[Any]] | None = None,
    kinds: int = 1,
) -> ErrorsBySpeaker | None:
    """Recordings of one stage by speaker and cell or, for no groups, by speaker and level.

    Those that failed are told apart by their `kind`, -1 for those that did not. Recordings of
    unknown speakers are of one more, ``members.n``.
    """
    trials, unknown = attempts.trials, members.n_units
    cell_of = cells_of_side(layout, trials, tuple(STAGES.values())[at])
    if cell_of is None:
        return None
    n, n_cells = unknown + 1, layout.n_cells if groups else layout.n_strata

    def numbered(some: slice | IntArray) -> IntArray:
        cell, speaker = cell_of[some].astype(np.int64), trials.utterance_speaker[some]
        member = np.where(speaker < 0, unknown, members.unit_numbers(speaker))
        return (cell if groups else cell // layout.n_groups) * n + member

    tried = attempts.tried[at] & (cell_of >= 0)
    total = np.zeros(n_cells * n, dtype=np.int64)
    for first in range(0, cell_of.size, _SLICE):
        part = slice(first, first + _SLICE)
        total += np.bincount(numbered(part)[tried[part]], minlength=total.size)
    code = np.flatnonzero(total)
    lost = np.flatnonzero(attempts.failed[at] & tried)
    place = np.searchsorted(code, numbered(lost))
    if kind is not None:
        place += kind[lost] * code.size
    wrong = np.bincount(place, minlength=kinds * code.size).reshape(kinds, code.size)
    return ErrorsBySpeaker(code // n, code % n, wrong, total[code], n_cells, members.are_blocks)
