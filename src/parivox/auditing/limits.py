"""Rates and ratios against their limits, and how errors are spread over speakers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.intervals import attack_interval
from parivox.auditing.operating_points import NO_TRIALS
from parivox.auditing.outcomes import ATTEMPTS
from parivox.core.cluster_errors import ErrorsBySpeaker
from parivox.core.error_burden import (
    attempts_until,
    let_in,
    locked_out,
    locked_out_people,
    share_above,
    worst_tenth,
)
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.key_sums import sum_by_key
from parivox.core.measures import ALL_RATES
from parivox.core.verdict import meets_limit
from parivox.facts import Fact, fact
from parivox.options.limits import FAILURE_METRICS, RATIO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.attacks import GroupAttacks
    from parivox.auditing.bias import ReferenceRatios
    from parivox.auditing.estimates import Estimates
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.result import Audit
    from parivox.auditing.schema import TableBuilder
    from parivox.core.counts import FloatArray
    from parivox.options.limits import Limit

UNDEFINED_REASONS = {
    "no_trials": NO_TRIALS["fnr"],
    "few_trials": "few_trials_a_speaker",
    "all_errors": "only_errors",
    "few_apart": fact("no_interval", because="few_speakers_decide_slope"),
}
"""Why a measure of speakers, or a trend, is undefined, where the core calls it otherwise."""
NO_FAILURES_GIVEN = "failures_not_given"
"""Reason code: rates of failures are not known."""


def add_limit_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    group_names: Sequence[str],
    located_points: Sequence[LocatedPoint],
    ratios: Mapping[tuple[str, str], ReferenceRatios],
    base_metrics: Estimates,
    uncertainty: Uncertainty,
    options: Options,
) -> None:
    """Add every limit at every operating point, of each group and, last, of the pooled row.

    `ratios` are those to the first reference, by metric and operating point, `base_metrics` are of
    the same cells.
    """
    for limit in options.limits:
        # the pooled row, which is the last, has no ratio
        names_with_limit = group_names[:-1] if limit.is_ratio else group_names
        cell_indices = [i for i, group in enumerate(names_with_limit) if limit.group in {"", group}]
        if not cell_indices:
            continue
        for point, columns in _limited_values(
            limit, located_points, ratios, base_metrics, uncertainty, options
        ):
            limited, low, high, reasons = (column[cell_indices] for column in columns)
            rows.add(
                **audit_keys,
                group=[group_names[cell_index] for cell_index in cell_indices],
                metric=limit.metric,
                operating_point=point,
                measure="ratio_limit" if limit.is_ratio else "limit",
                limit=limit.maximum,
                value=limited,
                low=low,
                high=high,
                verdict=meets_limit(low, high, limit.maximum),
                reason=reasons,
            )


def add_attack_limit_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    group_names: Sequence[str],
    group_attacks: GroupAttacks | None,
    limits: Sequence[Limit],
    located_points: Sequence[LocatedPoint],
    options: Options,
) -> None:
    """Add each limit of one attack, of every group and, last, of the pooled row.

    Without trials of the attack, whether the limit is met is inconclusive.
    """
    for limit in limits:
        errors = None if group_attacks is None else group_attacks.errors_of_attacks.get(limit.group)
        interval = None if errors is None else attack_interval(errors, _pooled(errors), options)
        for i, located in enumerate(located_points):
            value = low = high = np.full(len(group_names), np.nan)
            reasons = np.full(len(group_names), "no_trials_of_attack", dtype=object)
            if interval is not None and not located.reason:
                value, low, high = interval.rate[i], interval.low[i], interval.high[i]
                reasons = np.where(np.isnan(value), reasons, interval.note[i])
            if located.reason:
                reasons = np.full(len(group_names), located.reason, dtype=object)
            rows.add(
                **audit_keys,
                group=list(group_names),
                metric=f"sfar:{limit.group}",
                operating_point=located.point.text,
                measure="limit",
                limit=limit.maximum,
                value=value,
                low=low,
                high=high,
                verdict=meets_limit(low, high, limit.maximum),
                reason=np.where(np.isnan(high), reasons, ""),
            )


def _pooled(errors: ErrorsBySpeaker) -> ErrorsBySpeaker:
    """Return the errors of all cells together, as one cell."""
    speaker, (n_trials, n_errors) = sum_by_key(
        errors.speaker.astype(np.int64),
        errors.trials.astype(np.int64),
        errors.errors.astype(np.int64),
    )
    return ErrorsBySpeaker(np.zeros_like(speaker), speaker, n_errors, n_trials, 1)


def failing_findings(audit: Audit, findings: Sequence[str]) -> list[Fact]:
    """Return which of the `findings`, each a choice of ``--fail-on``, an audit has.

    Limits and verdicts within strata do not count.
    """
    failing = []
    for name, table, verdict, code in (
        ("not-met", audit.limits, "not_met", "limit_not_met"),
        ("inconclusive", audit.limits, "inconclusive", "limit_inconclusive"),
        ("worse", audit.verdicts, "worse", "group_worse"),
    ):
        rows = table.subset(within="", verdict=verdict).rows() if name in findings else []
        groups = [*dict.fromkeys(row["group"] for row in rows)]
        if groups:
            failing.append(Fact(code, {"groups": groups}))
    return failing


def _limited_values(
    limit: Limit,
    located_points: Sequence[LocatedPoint],
    ratios: Mapping[tuple[str, str], ReferenceRatios],
    base_metrics: Estimates,
    uncertainty: Uncertainty,
    options: Options,
) -> Iterator[tuple[str, tuple[NDArray[Any], ...]]]:
    """Yield what is compared with a limit at each operating point, or at none for failures.

    Each has value, lower and upper limit, and why these are undefined, each ``[cell]``.
    """
    metric, n_cells = limit.metric, base_metrics.values.shape[-1]
    reason_by_point = {located.point.text: located.reason for located in located_points}
    if metric in FAILURE_METRICS:  # which have no operating point
        reason_by_point = {"": ""}
    if metric in ALL_RATES and metric not in uncertainty.group_errors.rates:
        reason_by_point = dict.fromkeys(reason_by_point, NO_TRIALS[metric])
    for point, reason in reason_by_point.items():
        value_and_limits = np.full((3, n_cells), np.nan)
        key = metric, "" if metric in (*RATIO_METRICS, *FAILURE_METRICS) else ATTEMPTS, point
        if reason or (key not in base_metrics.keys and not limit.is_ratio):
            yield (
                point,
                (*value_and_limits, np.full(n_cells, reason or NO_FAILURES_GIVEN, dtype=object)),
            )
        elif limit.is_ratio:
            if (metric, point) in ratios:
                ratio = ratios[metric, point]
                has_few_speakers = (
                    uncertainty.rate_intervals.n_units[metric][:-1] < options.minimums.inference
                )
                value_and_limits[0, :-1] = ratio.ratio
                value_and_limits[1, :-1] = np.where(has_few_speakers, np.nan, ratio.low)
                value_and_limits[2, :-1] = np.where(has_few_speakers, np.nan, ratio.high)
            no_interval_reasons = np.where(
                uncertainty.metrics_lack_test_speakers([metric])[0, -1],
                NOTE_NO_TEST_SPEAKER,
                "no_interval",
            )
            yield (
                point,
                (
                    *value_and_limits,
                    np.where(np.isnan(value_and_limits[2]), no_interval_reasons, ""),
                ),
            )
        else:
            metric_estimates = base_metrics.with_keys([key])
            columns = uncertainty.columns(metric_estimates)
            low, high, note = (columns[column][0] for column in ("low", "high", "note"))
            notes = np.where(note == "", "no_interval", note)
            no_interval_reasons = np.where(np.isnan(high), notes, "").astype(object)
            reasons = np.array(metric_estimates.reasons[0], dtype=object)
            yield (
                point,
                (
                    metric_estimates.values[0],
                    low,
                    high,
                    np.where(reasons == "", no_interval_reasons, reasons),
                ),
            )


def add_error_burden_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    group_names: Sequence[str],
    located_points: Sequence[LocatedPoint],
    uncertainty: Uncertainty,
    options: Options,
) -> None:
    """Add how errors are spread over speakers, and what several attempts come to.

    Rows are of each group and, last, of the pooled row.
    """
    intervals, confidence = uncertainty.point_intervals, options.confidence
    fnr, fpr = intervals["fnr"], intervals["fpr"]
    add = partial(_add_measure_rows, rows, audit_keys, group_names, located_points)
    speaker_errors = uncertainty.errors_of_speakers
    if speaker_errors is not None:
        for max_fnr in dict.fromkeys(
            limit.maximum
            for limit in options.limits
            if limit.metric == "fnr" and not limit.is_ratio
        ):
            share_above_limit = partial(share_above, limit=max_fnr, confidence=confidence)
            *value_and_limits, reasons = _speaker_measure(speaker_errors, share_above_limit)
            add("fnr", "speakers_above", value_and_limits, reasons, limit=max_fnr)
        fields = ("observed", "expected", "reason")
        observed, expected, reasons = _speaker_measure(speaker_errors, worst_tenth, fields)
        add("fnr", "worst_tenth", [observed], reasons)
        add("fnr", "worst_tenth_if_equal", [expected], reasons)
    n_attempts = options.attempts
    if n_attempts is None:
        return
    add(
        "fnr",
        "locked_out",
        [locked_out(rate, n_attempts) for rate in (fnr.rate, fnr.low, fnr.high)],
    )
    if speaker_errors is not None:
        locked_out_measure = partial(locked_out_people, attempts=n_attempts, confidence=confidence)
        *value_and_limits, reasons = _speaker_measure(speaker_errors, locked_out_measure)
        add("fnr", "locked_out_people", value_and_limits, reasons)
    lacks_test_speakers = uncertainty.metrics_lack_test_speakers(["fpr"])
    fpr_reasons = np.where(
        np.isnan(fpr.rate), "no_trials", np.where(lacks_test_speakers, NOTE_NO_TEST_SPEAKER, "")
    )
    add(
        "fpr",
        "impostors_in",
        [let_in(rate, n_attempts) for rate in (fpr.rate, fpr.low, fpr.high)],
        fpr_reasons,
    )
    # the more errors, the fewer attempts: the limits change places
    value_and_limits = [attempts_until(rate) for rate in (fpr.rate, fpr.high, fpr.low)]
    add(
        "fpr",
        "attempts_until",
        value_and_limits,
        np.where(np.isnan(value_and_limits[0]), "no_trials", fpr_reasons),
    )


def _speaker_measure(
    speaker_errors: Sequence[ErrorsBySpeaker],
    measure: Callable[[ErrorsBySpeaker], Any],
    fields: Sequence[str] = ("value", "low", "high", "reason"),
) -> list[NDArray[Any]]:
    """Return a measure of speakers: of the groups and, last, of all of them, ``[point, group]``."""
    columns_of_cells = []
    for unit_errors in speaker_errors:
        if unit_errors.trials.ndim == 1:
            columns_of_cells.append([getattr(measure(unit_errors), field) for field in fields])
            continue
        # other trials may have decisions than have scores, and some speakers have none of either
        measures_by_point = []
        for point_index in range(len(unit_errors.errors)):
            point_errors = unit_errors.operating_point(point_index)
            with_trials = point_errors.select(np.flatnonzero(point_errors.trials))
            measures_by_point.append(measure(with_trials))
        columns_of_cells.append(
            [
                np.stack([getattr(measured, field) for measured in measures_by_point])
                for field in fields
            ]
        )
    group_columns, pooled_columns = columns_of_cells
    return [
        np.concatenate(columns, axis=-1)
        for columns in zip(group_columns, pooled_columns, strict=True)
    ]


def _add_measure_rows(
    rows: TableBuilder,
    audit_keys: Mapping[str, Any],
    group_names: Sequence[str],
    located_points: Sequence[LocatedPoint],
    metric: str,
    measure: str,
    value_and_limits: Sequence[FloatArray],
    reasons_by_cell: NDArray[Any] | None = None,
    *,
    limit: float | None = None,
) -> None:
    """Add one measure, with or without an interval, ``[point, group]``, at every point."""
    measured = value_and_limits[0]
    low, high = value_and_limits[1:] or np.full((2, *measured.shape), np.nan)
    reasons = reasons_by_cell
    if reasons is None:
        reasons = np.where(np.isnan(measured), "no_trials", "")
    for point_index, located in enumerate(located_points):
        rows.add(
            **audit_keys,
            group=list(group_names),
            metric=metric,
            operating_point=located.point.text,
            measure=measure,
            limit=limit,
            value=None if located.reason else measured[point_index],
            low=None if located.reason else low[point_index],
            high=None if located.reason else high[point_index],
            reason=located.reason
            or [UNDEFINED_REASONS.get(text, text) for text in reasons[point_index].tolist()],
        )
