"""Rates of all groups on one mixture of strata, beside the crude ones.

See docs/methods/confounding.md#standardised-rates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.confounding import standardised
from parivox.core.intervals import rate_interval
from parivox.core.measures import RATES
from parivox.core.tallies import moments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.read.grouping import Grouping

STANDARDISED = "standardised"
_WHY = {
    "no_trials": "no trials",
    "no_common_stratum": "no stratum in which every group has trials of several speakers",
}


def standardised_rows(
    rows: Rows,
    where: Mapping[str, Any],
    grouping: Grouping,
    strata: Grouping,
    tallied: SpeakerErrors,
    found: Sequence[Found],
    options: Options,
) -> None:
    """Rates that give each stratum the same weight in every group.

    Parameters
    ----------
    rows, where
        The table of groups and the columns that all rows share.
    grouping, strata
        What the cells are of: ``stratum * groups + group``.
    tallied
        Their errors and trials by speaker and by pair.
    found, options
        Operating points, and the confidence.
    """
    n = len(grouping.groups)
    cell = np.arange(n * len(strata.groups))
    for metric in RATES:
        whole = tallied.target if metric == "fnr" else tallied.nontarget
        for i, one in enumerate(found):
            made = standardised(whole.at_point(i), cell % n, cell // n)
            spread = moments(made.tally)
            n_speakers = spread.speakers
            at = rate_interval(spread, options.confidence)
            reason = [one.reason or _WHY.get(text, text) for text in made.reason.tolist()]
            is_missing = np.array([bool(text) for text in reason])
            has_none = is_missing | (n_speakers < options.gates.inference)
            low, high = (np.where(has_none, np.nan, limit) for limit in (at.low, at.high))
            used = [g for g, w in zip(strata.groups, made.weight.tolist(), strict=True) if w]
            notes = [
                "; ".join(filter(None, (f"{share:.1%} of the trials left out", note)))
                for share, note in zip(
                    np.nan_to_num(made.left_out).tolist(), at.note.tolist(), strict=True
                )
            ]
            rows.add(
                **where,
                group=list(grouping.groups),
                metric=metric,
                definition=f"{STANDARDISED} {strata.name}",
                operating_point=one.point.text,
                value=np.where(is_missing, np.nan, at.rate),
                speakers=n_speakers.astype(np.int64),
                threshold=one.threshold,
                reason=reason,
                low=low,
                high=high,
                interval=np.where(np.isnan(high), "", at.method).tolist(),
                df=np.where(is_missing, np.nan, at.df),
                se=np.where(is_missing, np.nan, at.se),
                note=[f"equal weights: {', '.join(used)}; {note}" for note in notes],
            )
