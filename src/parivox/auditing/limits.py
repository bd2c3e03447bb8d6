"""Limits and people: whether a rate is low enough, whom its errors fall on, what attempts meet.

The speakers behind most errors are told by their ids, and only where that is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.measures import RATES
from parivox.core.people import (
    attempts_until,
    let_in,
    locked_out,
    locked_out_people,
    share_above,
    worst_tenth,
)
from parivox.core.verdict import meets_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import FloatArray
    from parivox.core.tallies import BySpeaker

LIMIT_MEASURES = {
    "limit": "the rate against the limit: met if its whole interval is at or below, not_met above",
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

MOST_OFFENDERS = 10
"""Speakers told of one group, error and operating point."""

_WHY = {
    "no_trials": "no target trials",
    "few_speakers": "too few speakers",
    "few_trials": "too few trials a speaker",
    "no_errors": "no errors",
    "all_errors": "nothing but errors",
}


def limit_rows(
    rows: Rows,
    where: Mapping[str, Any],
    names: Sequence[str],
    found: Sequence[Found],
    uncertainty: Uncertainty,
    options: Options,
) -> None:
    """Every limit, and whom errors fall on, of each group and the pooled row.

    Parameters
    ----------
    rows, where
        The table and the columns that all rows share.
    names
        Names of the groups, the pooled row last.
    found
        Operating points.
    uncertainty
        Errors and trials by speaker, and the intervals of the rates.
    options
        The limits, the attempts and the confidence.
    """
    confidence = options.confidence
    making = _Making(rows, where, names, found)
    for metric, limit in options.limits:
        of = uncertainty.intervals.rates[metric]
        why = np.where(np.isnan(of.high), np.where(of.note == "", "no interval", of.note), "")
        making.add(
            metric, "limit", of.rate, of.low, of.high, limit=limit, reason=why, is_judged=True
        )
        if metric == "fnr" and not uncertainty.in_blocks:
            above = partial(share_above, limit=limit, confidence=confidence)
            value, low, high, reason = _of_people(uncertainty, above)
            making.add(metric, "speakers_above", value, low, high, limit=limit, reason=reason)
    if not uncertainty.in_blocks:
        observed, expected, reason = _of_people(
            uncertainty, worst_tenth, ("observed", "expected", "reason")
        )
        making.add("fnr", "worst_tenth", observed, reason=reason)
        making.add("fnr", "worst_tenth_if_equal", expected, reason=reason)
    n = options.attempts
    if n is not None:
        _attempts(making, uncertainty, n, confidence)


def _attempts(making: _Making, uncertainty: Uncertainty, n: int, confidence: float) -> None:
    """What `n` tries of a person, or of an impostor, come to."""
    fnr, fpr = uncertainty.intervals.rates["fnr"], uncertainty.intervals.rates["fpr"]
    making.add("fnr", "locked_out", *(locked_out(x, n) for x in (fnr.rate, fnr.low, fnr.high)))
    if not uncertainty.in_blocks:
        of_all = partial(locked_out_people, attempts=n, confidence=confidence)
        value, low, high, reason = _of_people(uncertainty, of_all)
        making.add("fnr", "locked_out_people", value, low, high, reason=reason)
    making.add("fpr", "impostors_in", *(let_in(x, n) for x in (fpr.rate, fpr.low, fpr.high)))
    # more errors, fewer attempts
    making.add("fpr", "attempts_until", *(attempts_until(x) for x in (fpr.rate, fpr.high, fpr.low)))


def _of_people(
    uncertainty: Uncertainty,
    measure: Callable[[BySpeaker], Any],
    names: Sequence[str] = ("value", "low", "high", "reason"),
) -> list[NDArray[Any]]:
    """A measure of speakers: of the groups and, last, of all of them, ``[point, group]``."""
    found = []
    for tally in (uncertainty.groups.target, uncertainty.pooled.target):
        if tally.trials.ndim == 1:
            found.append([getattr(measure(tally), name) for name in names])
            continue
        # decisions are known of other trials than scores are
        rows = [
            measure(replace(tally, errors=errors, trials=trials))
            for errors, trials in zip(tally.errors, tally.trials, strict=True)
        ]
        found.append([np.stack([getattr(row, name) for row in rows]) for name in names])
    return [np.concatenate(both, axis=-1) for both in zip(*found, strict=True)]


class _Making:
    """Rows of one grouping in the making."""

    def __init__(
        self, rows: Rows, where: Mapping[str, Any], names: Sequence[str], found: Sequence[Found]
    ) -> None:
        self.rows, self.where, self.names, self.found = rows, where, names, found

    def add(
        self,
        metric: str,
        measure: str,
        value: FloatArray,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        *,
        limit: float | None = None,
        reason: NDArray[Any] | None = None,
        is_judged: bool = False,
    ) -> None:
        """Add a measure, ``[point, group]``, at every operating point that was found."""
        lows, highs = (np.full(value.shape, np.nan) if x is None else x for x in (low, high))
        missing = np.where(np.isnan(value), "no trials" if reason is None else "", "")
        why = missing if reason is None else reason
        for i, one in enumerate(self.found):
            reasons = [_WHY.get(text, text) for text in why[i].tolist()]
            judged = meets_limit(lows[i], highs[i], limit).tolist() if is_judged and limit else ""
            self.rows.add(
                **self.where,
                group=list(self.names),
                metric=metric,
                operating_point=one.point.text,
                measure=measure,
                limit=limit,
                value=None if one.reason else value[i],
                low=None if one.reason else lows[i],
                high=None if one.reason else highs[i],
                verdict="cannot_tell" if one.reason and is_judged else judged,
                reason=one.reason or reasons,
            )


def offender_rows(
    rows: Rows,
    where: Mapping[str, str],
    groups: Sequence[str],
    tallied: SpeakerErrors,
    found: Sequence[Found],
    ids: Sequence[str],
) -> None:
    """The speakers with most errors of each cell at each operating point, by their ids.

    Parameters
    ----------
    rows, where
        Of the table, and columns that all of them share.
    groups, tallied
        Names of the cells, and who takes part in their trials.
    found
        Operating points, as the tallies have them.
    ids
        Of the speakers by number, rising.
    """
    for metric in RATES:
        tally = tallied.target if metric == "fnr" else tallied.nontarget
        # of whoever takes part, in the order of sums over them
        cell, speaker = tally.members
        shape = np.broadcast_shapes(tally.errors.shape, tally.trials.shape)
        errors, trials = (np.broadcast_to(x, shape) for x in (tally.errors, tally.trials))
        totals = tally.by_cell(errors)
        for point, one in enumerate(found):
            if one.reason:
                continue
            wrong, tried = (tally.by_speaker(x[point]) for x in (errors, trials))
            for i, group in enumerate(groups):
                here = np.flatnonzero((cell == i) & (wrong > 0))
                first = here[np.lexsort((speaker[here], -wrong[here]))][:MOST_OFFENDERS]
                rows.add(
                    **where,
                    group=group,
                    metric=metric,
                    operating_point=one.point.text,
                    speaker=[ids[k] for k in speaker[first]],
                    errors=wrong[first].astype(np.int64),
                    trials=tried[first].astype(np.int64),
                    share=wrong[first] / max(totals[point, i], 1),
                )
