"""Rates and ratios against what they may be at most, and whom errors fall on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.outcomes import ATTEMPTS
from parivox.core.error_burden import (
    attempts_until,
    let_in,
    locked_out,
    locked_out_people,
    share_above,
    worst_tenth,
)
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.verdict import meets_limit
from parivox.options.limits import FAILURE_METRICS, RATIO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.bias import ReferenceRatios
    from parivox.auditing.estimates import Estimates
    from parivox.auditing.intervals import Uncertainty
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.auditing.options import Options
    from parivox.auditing.result import Audit
    from parivox.auditing.schema import TableBuilder
    from parivox.core.cluster_errors import ErrorsBySpeaker
    from parivox.core.counts import FloatArray
    from parivox.options.limits import Limit

LIMITS = ("limit", "ratio_limit")
"""Measures with a verdict: of a rate, and of its ratio to the first reference."""
LIMIT_MEASURES = {
    "limit": "the rate against the limit: met if its whole interval is at or below, not_met above",
    "ratio_limit": "the ratio to the first reference against the limit, likewise",
    "speakers_above": (
        "share of speakers whose own FNR exceeds the limit, the noise of few trials removed"
    ),
    "worst_tenth": "share of the errors carried by the tenth of speakers with the most errors",
    "worst_tenth_if_equal": "the same if all speakers of the group had one rate",
    "locked_out": (
        "share of people rejected in all attempts, if attempts are independent and people alike"
    ),
    "locked_out_people": (
        "the same if people differ as these speakers do, each person's attempts being independent"
    ),
    "impostors_in": "share of impostors accepted in one of the attempts, if these are independent",
    "attempts_until": (
        "attempts after which an impostor has succeeded with probability 0.95, if these are "
        "independent"
    ),
}
"""What the table of limits tells, by its id; shares in [0, 1]."""
UNDEFINED_REASONS = {
    "no_trials": "no target trials",
    "few_speakers": "too few speakers",
    "few_trials": "too few trials a speaker",
    "no_errors": "no errors",
    "all_errors": "nothing but errors",
    "one_value": "all speakers have one number",
    "separated": "errors lie all above, or all below, some number",
    "few_apart": "no interval: the slope hangs on one or two speakers",
}
"""Why something of people, or a trend, is undefined, in words."""
_NO_FAILURES_GIVEN = "nothing is told of failures"


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
    """Every limit at every operating point, of each group and, last and for rates, the pooled row.

    `ratios` are those to the first reference, by metric and operating point, `data` the base
    metrics of the same cells.
    """
    for limit in options.limits:
        cell_indices = [
            cell_index for cell_index, group in enumerate(group_names) if limit.group in {"", group}
        ]
        if limit.is_ratio:
            cell_indices = [
                cell_index for cell_index in cell_indices if cell_index < len(group_names) - 1
            ]
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
                measure=LIMITS[limit.is_ratio],
                limit=limit.maximum,
                value=limited,
                low=low,
                high=high,
                verdict=meets_limit(low, high, limit.maximum),
                reason=reasons,
            )


def failing(audit: Audit, findings: Sequence[str]) -> list[str]:
    """Which of some findings an audit has, of `options.audit.FAIL_ON`, each in words.

    Limits within levels are not looked at, nor verdicts there.
    """
    sentences = []
    for name, table, code, problem in (
        ("not-met", audit.limits, "not_met", "a limit is not met"),
        ("cannot-tell", audit.limits, "cannot_tell", "a limit is not known to be met"),
        ("worse", audit.verdicts, "worse", "a group is shown worse"),
    ):
        rows = table.where(within="", verdict=code).rows() if name in findings else []
        sentences += [f"{problem} ({table_row['group']})" for table_row in rows[:1]]
    return sentences


def _limited_values(
    limit: Limit,
    found: Sequence[LocatedPoint],
    ratios: Mapping[tuple[str, str], ReferenceRatios],
    data: Estimates,
    uncertainty: Uncertainty,
    options: Options,
) -> Iterator[tuple[str, tuple[NDArray[Any], ...]]]:
    """What is held against a limit at each operating point, if it is of any.

    Value, lower and upper limit, and why there is none of these, each ``[cell]``.
    """
    metric, n = limit.metric, data.values.shape[-1]
    points = (
        {"": ""} if metric in FAILURE_METRICS else {one.point.text: one.reason for one in found}
    )
    for point, reason in points.items():
        none = np.full((3, n), np.nan)
        key = metric, "" if metric in (*RATIO_METRICS, *FAILURE_METRICS) else ATTEMPTS, point
        if reason or (key not in data.keys and not limit.is_ratio):
            yield point, (*none, np.full(n, reason or _NO_FAILURES_GIVEN, dtype=object))
        elif limit.is_ratio:
            if (metric, point) in ratios:
                of = ratios[metric, point]
                few = uncertainty.rate_intervals.n_units[metric][:-1] < options.minimums.inference
                none[:, :-1] = of.ratio, *(np.where(few, np.nan, end) for end in (of.low, of.high))
            why = np.where(
                uncertainty.metrics_lack_test_speakers([metric])[0, -1],
                NOTE_NO_TEST_SPEAKER,
                "no interval",
            )
            yield point, (*none, np.where(np.isnan(none[2]), why, ""))
        else:
            own = data.with_keys([key])
            of_all = uncertainty.columns(own)
            low, high, note = (of_all[name][0] for name in ("low", "high", "note"))
            words = np.where(note == "", "no interval", note)
            why = np.where(np.isnan(high), words, "").astype(object)
            reasons = np.array(own.reasons[0], dtype=object)
            yield point, (own.values[0], low, high, np.where(reasons == "", why, reasons))


def add_error_burden_rows(
    rows: TableBuilder,
    where: Mapping[str, Any],
    names: Sequence[str],
    found: Sequence[LocatedPoint],
    uncertainty: Uncertainty,
    options: Options,
) -> None:
    """Whom errors fall on, and what attempts come to, of each group and, last, the pooled row."""
    rates, confidence = uncertainty.point_intervals, options.confidence
    fnr, fpr = rates["fnr"], rates["fpr"]
    add = partial(_add_measure_rows, rows, where, names, found)
    if not uncertainty.has_speaker_blocks:
        for most in dict.fromkeys(
            one.maximum for one in options.limits if one.metric == "fnr" and not one.is_ratio
        ):
            above = partial(share_above, limit=most, confidence=confidence)
            *ends, why = _speaker_measure(uncertainty, above)
            add("fnr", "speakers_above", ends, why, limit=most)
        names_of = ("observed", "expected", "reason")
        observed, expected, why = _speaker_measure(uncertainty, worst_tenth, names_of)
        add("fnr", "worst_tenth", [observed], why)
        add("fnr", "worst_tenth_if_equal", [expected], why)
    n = options.attempts
    if n is None:
        return
    add("fnr", "locked_out", [locked_out(x, n) for x in (fnr.rate, fnr.low, fnr.high)])
    if not uncertainty.has_speaker_blocks:
        of_all = partial(locked_out_people, attempts=n, confidence=confidence)
        *ends, why = _speaker_measure(uncertainty, of_all)
        add("fnr", "locked_out_people", ends, why)
    lacking = uncertainty.metrics_lack_test_speakers(["fpr"])
    words = np.where(np.isnan(fpr.rate), "no trials", np.where(lacking, NOTE_NO_TEST_SPEAKER, ""))
    add("fpr", "impostors_in", [let_in(x, n) for x in (fpr.rate, fpr.low, fpr.high)], words)
    # more errors, fewer attempts
    ends = [attempts_until(x) for x in (fpr.rate, fpr.high, fpr.low)]
    add("fpr", "attempts_until", ends, np.where(np.isnan(ends[0]), "no trials", words))


def _speaker_measure(
    uncertainty: Uncertainty,
    measure: Callable[[ErrorsBySpeaker], Any],
    fields: Sequence[str] = ("value", "low", "high", "reason"),
) -> list[NDArray[Any]]:
    """A measure of speakers: of the groups and, last, of all of them, ``[point, group]``."""
    columns_of_cells = []
    for unit_errors in (uncertainty.group_errors.target, uncertainty.pooled_errors.target):
        if unit_errors.trials.ndim == 1:
            columns_of_cells.append([getattr(measure(unit_errors), field) for field in fields])
            continue
        # decisions are known of other trials than scores are, of some speakers of none
        points = map(unit_errors.operating_point, range(len(unit_errors.errors)))
        rows = [
            measure(point_errors.select(np.flatnonzero(point_errors.trials)))
            for point_errors in points
        ]
        columns_of_cells.append(
            [np.stack([getattr(measured, field) for measured in rows]) for field in fields]
        )
    return [
        np.concatenate(cells_and_pooled, axis=-1)
        for cells_and_pooled in zip(*columns_of_cells, strict=True)
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
    """One measure, with an interval or without, ``[point, group]``, at every point found."""
    measured = value_and_limits[0]
    low, high = value_and_limits[1:] or np.full((2, *measured.shape), np.nan)
    reasons = (
        np.where(np.isnan(measured), "no trials", "")
        if reasons_by_cell is None
        else reasons_by_cell
    )
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
