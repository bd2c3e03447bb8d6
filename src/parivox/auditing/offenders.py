"""The speakers behind most of the errors of each group, by their ids: only where asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.core.measures import RATES
from parivox.core.moments import of_speakers
from parivox.core.tallies import ByPair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing.operating_points import Found
    from parivox.auditing.rows import Rows
    from parivox.auditing.speaker_errors import SpeakerErrors
    from parivox.core.counts import IntArray
    from parivox.core.tallies import BySpeaker

__all__ = ["offender_rows"]

MOST = 10
"""Speakers told of one group, error and operating point."""


def offender_rows(
    rows: Rows,
    where: Mapping[str, str],
    groups: Sequence[str],
    tallied: SpeakerErrors,
    found: Sequence[Found],
    ids: Sequence[str],
) -> None:
    """Add the speakers with most errors of each cell at each operating point.

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
        cell, speaker = _who(tally)
        shape = np.broadcast_shapes(tally.errors.shape, tally.trials.shape)
        errors, trials = (np.broadcast_to(x, shape) for x in (tally.errors, tally.trials))
        totals = tally.by_cell(errors)
        for point, one in enumerate(found):
            if one.reason:
                continue
            wrong, tried = (of_speakers(tally, x[point]) for x in (errors, trials))
            for i, group in enumerate(groups):
                here = np.flatnonzero((cell == i) & (wrong > 0))
                first = here[np.lexsort((speaker[here], -wrong[here]))][:MOST]
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


def _who(tally: BySpeaker | ByPair) -> tuple[IntArray, IntArray]:
    """Cell and speaker of whoever takes part, in the order of sums over them."""
    if isinstance(tally, ByPair):
        return tally.members
    return tally.cell.astype(np.int64), tally.speaker.astype(np.int64)
