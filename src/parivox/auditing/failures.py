"""Failures by speaker: recordings that could not be enrolled or acquired, and their trials."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.layout import Layout, cell_layouts, cells_of_side, place_trials
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
    from parivox.auditing.inputs import AuditDesign
    from parivox.auditing.layout import PlacedTrials
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import SampleSizeMinimums
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.cluster_errors import ErrorsByPair
    from parivox.core.counts import FloatArray, IntArray
    from parivox.core.intervals import Interval
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet
    from parivox.data.units import Units

_CHUNK_UTTERANCES = 4_000_000  # counted at once
MAX_COUNTED_RECORDINGS = 20_000_000
"""With more recordings, failures are not counted by speaker: it would take another gigabyte."""
_ATTEMPT_METRICS = {"fpr": "far", "fnr": "frr"}
STAGES = {"fte": "enrol", "fta": "test"}
"""Rates of failures, with the side of a trial whose recordings they count."""


class SpeakerFailures(NamedTuple):
    """Recordings tried and failed, and all attempts, of each cell; None where not supplied."""

    fte: ErrorsBySpeaker | None = None  # enrolments; None also where they have no group
    fta: ErrorsBySpeaker | None = None  # test recordings; None also where they have no group
    # scored trials with those of a recording that failed, as rejections: first of test
    # recordings that could not be acquired, then of failed enrolments too
    attempts: tuple[SpeakerErrors, SpeakerErrors] | None = None

    def cell_range(self, start: int, stop: int) -> SpeakerFailures:
        """Return the cells from `start` to before `stop`."""
        fte, fta = (
            None if errors is None else errors.cell_range(start, stop) for errors in self[:2]
        )
        attempts = self.attempts
        if attempts is not None:
            attempts = attempts[0].cell_slice(start, stop), attempts[1].cell_slice(start, stop)
        return SpeakerFailures(fte, fta, attempts)

    def interval(
        self, metric: str, confidence: float, minimums: SampleSizeMinimums
    ) -> Interval | None:
        """Return the interval of one of the rates, ``[point, cell]``; few speakers have no limits.

        None where the failures behind the rate were not supplied.
        """
        unit_errors: ErrorsBySpeaker | ErrorsByPair | None = None
        if metric in STAGES:
            unit_errors = getattr(self, metric)
        elif self.attempts is not None:
            of_scored, of_enrolled = self.attempts
            # generalised rates, as GFRR, count failed enrolments too
            attempts = of_enrolled if metric.startswith("g") else of_scored
            unit_errors = attempts.target if metric.endswith("frr") else attempts.nontarget
        if unit_errors is None:
            return None
        rate_intervals = rate_interval(moments(unit_errors), confidence)
        rate_intervals = rate_intervals.without_limits(
            unit_errors.n_speakers < minimums.inference, minimums.no_interval_reason
        )
        return rate_intervals.without_spread(unit_errors.has_unknown_speakers, NOTE_NO_TEST_SPEAKER)


def count_failures(
    trials: TrialSet | SpeakerCounts,
    layouts: Sequence[Layout],
    placed: Callable[[], Iterable[PlacedTrials]],
    units: Units,
    located_points: Sequence[LocatedPoint],
    scored_errors: Sequence[tuple[SpeakerErrors, SpeakerErrors]],
    counts: CellCounts,
    design: AuditDesign,
) -> list[tuple[SpeakerFailures, SpeakerFailures]]:
    """Count the failures of every layout, by cell and by stratum; none if none were supplied.

    They are counted as `parivox.auditing.speaker_errors.count_speaker_errors` counts
    `scored_errors`, the errors of trials with a score. `placed` yields these trials with their
    cells, and `counts` have what was attempted and what failed. Layouts are of the units; `design`
    has the same layouts of the speakers that recordings are of.
    """
    attempts, failed = counts.attempts, counts.strata[0].outcomes.failed_trials
    if attempts is None or failed is None:
        return [(SpeakerFailures(), SpeakerFailures())] * len(layouts)
    stages = {stage for stage, lost in zip((ACQUIRE, ENROL), failed, strict=True) if lost.any()}
    attempted_errors: list[Sequence[tuple[SpeakerErrors, SpeakerErrors]]] = []
    if not stages:  # no trial was lost: those with a score are all attempts
        attempted_errors.append(scored_errors)
    for failed_stages in ((ACQUIRE,), (ACQUIRE, ENROL)):
        if not attempted_errors or ENROL in stages:
            placed_trials = chain(
                placed(), place_trials(trials, layouts, failed=failed_stages, scored=False)
            )
            attempted_errors.append(
                list(count_speaker_errors(trials, layouts, placed_trials, located_points, units))
            )
    has_too_many_recordings = attempts.trials.utterance_speaker.size > MAX_COUNTED_RECORDINGS
    failures_of_layouts = []
    units_of_recordings = attempts.trials.units
    recording_layouts = cell_layouts(design.groupings, design.options.allocate, design.within)
    for i, layout in enumerate(recording_layouts):
        cells_and_strata = []
        # first the cells, then the strata, which have no groups
        for kind_index, n_groups in enumerate((layout.n_cells_per_stratum, 0)):
            shares: list[ErrorsBySpeaker | None] = [None] * len(STAGES)
            for stage_index in range(len(STAGES)):
                if has_too_many_recordings:
                    continue
                unit_errors = _recordings_by_unit(
                    layout, attempts, units_of_recordings, stage_index, n_groups
                )
                # the uncertainty of recordings of unknown speakers is unknown
                unknown_unit = units_of_recordings.n_units
                if unit_errors is not None and not (unit_errors.speaker == unknown_unit).any():
                    shares[stage_index] = unit_errors
            attempts_by_rule = (
                attempted_errors[0][i][kind_index],
                attempted_errors[-1][i][kind_index],
            )
            fte, fta = shares
            cells_and_strata.append(SpeakerFailures(fte, fta, attempts_by_rule))
        failures_of_layouts.append((cells_and_strata[0], cells_and_strata[1]))
    return failures_of_layouts


def add_failure_rates(
    draw_estimates: Estimates,
    failures: SpeakerFailures,
    weights: NDArray[np.integer[Any]],
    point_texts: Sequence[str],
) -> Estimates:
    """Return the cells in each draw with the rates that count failures, by either rule.

    `failures` are of the same cells, `weights` how often each speaker is drawn,
    ``[draw, speaker]``, and `point_texts` the operating points in the order of the errors.
    """
    attempt_rates = _rates_by_attempts(draw_estimates, failures, weights, point_texts)
    failure_rates = {**_rates_by_shares(draw_estimates, failures, weights), **attempt_rates}
    if not failure_rates:
        return draw_estimates
    values = np.concatenate(
        (draw_estimates.values, np.stack(list(failure_rates.values()), axis=1)), axis=1
    )
    return replace(draw_estimates, keys=[*draw_estimates.keys, *failure_rates], values=values)


def _rates_by_shares(
    draw_estimates: Estimates, failures: SpeakerFailures, weights: NDArray[np.integer[Any]]
) -> dict[Key, FloatArray]:
    """Return rates of comparisons joined with the shares of recordings that failed."""
    failed_shares: dict[str, FloatArray] = {}
    for name in STAGES:
        unit_errors: ErrorsBySpeaker | None = getattr(failures, name)
        if unit_errors is not None:
            errors, trials = weighted(unit_errors, weights)
            failed_shares[name] = safe_divide(errors, trials)[:, 0]
    rates_by_key: dict[Key, FloatArray] = {
        (name, "", ""): share for name, share in failed_shares.items()
    }
    key_index = {key: i for i, key in enumerate(draw_estimates.keys)}
    for key in draw_estimates.rate_keys:
        metric, _, point = key
        if metric not in _ATTEMPT_METRICS:
            continue
        rate = draw_estimates.values[:, key_index[key]]
        for prefix, stages in (("", ("fta",)), ("g", ("fta", "fte"))):
            if all(stage in failed_shares for stage in stages):
                acquired_share = np.prod([1 - failed_shares[stage] for stage in stages], axis=0)
                rejected_share = 1 - acquired_share if metric == "fnr" else 0
                rates_by_key[prefix + _ATTEMPT_METRICS[metric], SHARES, point] = (
                    rate * acquired_share + rejected_share
                )
    return rates_by_key


def _rates_by_attempts(
    draw_estimates: Estimates,
    failures: SpeakerFailures,
    weights: NDArray[np.integer[Any]],
    point_texts: Sequence[str],
) -> dict[Key, FloatArray]:
    """Return rates of all attempts, with those that failed as rejections."""
    from parivox.auditing.draws import with_stranger_weights  # noqa: PLC0415 - with intervals only

    rates_by_key: dict[Key, FloatArray] = {}
    for prefix, attempts in zip(("", "g"), failures.attempts or (), strict=False):
        all_trials = {
            metric: weighted(unit_errors, with_stranger_weights(weights, unit_errors))[1]
            for metric, unit_errors in (("fpr", attempts.nontarget), ("fnr", attempts.target))
        }
        for rate_index, key in enumerate(draw_estimates.rate_keys):
            metric, _, point = key
            if metric not in _ATTEMPT_METRICS:
                continue
            trials_by_point = all_trials[metric]
            trials = trials_by_point[
                :, point_texts.index(point) if trials_by_point.shape[1] > 1 else 0
            ]
            n_failed = trials - draw_estimates.trials[:, rate_index]
            n_errors = draw_estimates.errors[:, rate_index] + (n_failed if metric == "fnr" else 0)
            rates_by_key[prefix + _ATTEMPT_METRICS[metric], ATTEMPTS, point] = safe_divide(
                n_errors, trials
            )
    return rates_by_key


def add_cause_rows(
    rows: TableBuilder,
    system_keys: Mapping[str, str],
    attempts: Attempts | None,
    design: AuditDesign,
) -> None:
    """Add why recordings of each group and, last, of all groups failed, at either stage.

    Groups of trials have no rows, as recordings do not belong to them.
    """
    causes = None if attempts is None else attempts.trials.causes
    if attempts is None or causes is None:
        return
    options = design.options
    units = attempts.trials.units
    cause_names = np.array([*causes.names, ""], dtype=object)
    stages = list(zip(("enrol", "acquire"), causes[1:], strict=True))
    for grouping, (stage_index, (stage, cause_of_recording)) in product(
        (None, *design.groupings), enumerate(stages)
    ):
        layout = Layout(grouping, "", None)
        kind = np.where(
            attempts.failed[stage_index],
            np.where(cause_of_recording < 0, len(causes.names), cause_of_recording),
            -1,
        )
        row_keys = {
            **system_keys,
            "grouping": "all" if grouping is None else grouping.name,
            "stage": stage,
        }
        pooled_name = ["all" if grouping is None else "pooled"]
        for cell_names in (pooled_name,) if grouping is None else ([*grouping.groups], pooled_name):
            n_groups = 0 if cell_names is pooled_name else layout.n_cells_per_stratum
            unit_errors = _recordings_by_unit(
                layout, attempts, units, stage_index, n_groups, kind, cause_names.size
            )
            if unit_errors is None:
                continue
            failed = unit_errors.sum_by_cell(unit_errors.errors)
            tried = unit_errors.sum_by_cell(unit_errors.trials)
            interval = rate_interval(moments(unit_errors), options.confidence)
            interval = interval.without_limits(
                unit_errors.n_speakers < options.minimums.inference,
                options.minimums.no_interval_reason,
            )
            has_unknown_speakers = np.isin(
                np.arange(unit_errors.n_cells),
                unit_errors.cell[unit_errors.speaker == units.n_units],
            )
            if has_unknown_speakers.any():
                interval = interval.without_spread(has_unknown_speakers, NOTE_NO_TEST_SPEAKER)
            has_intervals = options.intervals
            for cause_index in np.unique(kind[kind >= 0]):
                rows.add(
                    **row_keys,
                    group=cell_names,
                    cause=cause_names[cause_index],
                    failed=failed[cause_index].astype(np.int64),
                    tried=tried.astype(np.int64),
                    value=interval.rate[cause_index],
                    low=interval.low[cause_index] if has_intervals else None,
                    high=interval.high[cause_index] if has_intervals else None,
                    reason=np.where(tried == 0, "none_attempted", ""),
                    note=interval.note[cause_index] if has_intervals else "",
                )


def _recordings_by_unit(
    layout: Layout,
    attempts: Attempts,
    units: Units,
    stage_index: int,
    n_groups: int,
    kind: NDArray[np.integer[Any]] | None = None,
    n_kinds: int = 1,
) -> ErrorsBySpeaker | None:
    """Return recordings of one stage by unit and cell or, for no groups, by unit and stratum.

    Recordings that failed are counted by `kind`, which is -1 for those that did not fail.
    Recordings of unknown speakers are of the unit ``units.n_units``. None where recordings belong
    to no cell.
    """
    trials, unknown_unit = attempts.trials, units.n_units
    cell_of = cells_of_side(layout, trials, tuple(STAGES.values())[stage_index])
    if cell_of is None:
        return None
    n_units, n_cells = unknown_unit + 1, layout.n_cells if n_groups else layout.n_strata

    def cell_unit_codes(utterances: slice | IntArray) -> IntArray:
        cell, speaker = cell_of[utterances].astype(np.int64), trials.utterance_speaker[utterances]
        unit = np.where(speaker < 0, unknown_unit, units.unit_numbers(speaker))
        return (cell if n_groups else cell // layout.n_cells_per_stratum) * n_units + unit

    tried = attempts.attempted[stage_index] & (cell_of >= 0)
    total = np.zeros(n_cells * n_units, dtype=np.int64)
    for start in range(0, cell_of.size, _CHUNK_UTTERANCES):
        chunk = slice(start, start + _CHUNK_UTTERANCES)
        total += np.bincount(cell_unit_codes(chunk)[tried[chunk]], minlength=total.size)
    cell_units = np.flatnonzero(total)
    failed_recordings = np.flatnonzero(attempts.failed[stage_index] & tried)
    positions = np.searchsorted(cell_units, cell_unit_codes(failed_recordings))
    if kind is not None:
        positions += kind[failed_recordings] * cell_units.size
    n_failed = np.bincount(positions, minlength=n_kinds * cell_units.size).reshape(
        n_kinds, cell_units.size
    )
    return units.errors_by_unit(
        cell_units // n_units, cell_units % n_units, n_failed, total[cell_units], n_cells
    )
