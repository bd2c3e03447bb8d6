"""What the trial list itself cannot carry, whatever the scores are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.trials.checks import failed_checks
from parivox.trials.lists import list_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.read.grouping import Grouping
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

__all__ = ["list_checks"]

_TOLD = ("id", "what", "statistic", "threshold", "offenders", "sentence")


def list_checks(
    trials: TrialSet, people: Speakers, groupings: Sequence[Grouping]
) -> list[dict[str, Any]]:
    """Checks that a list fails, as an audit records them; an infinite statistic is "inf".

    Lists too large for memory are not checked.
    """
    if not trials.is_exact or not trials.n_trials:
        return []
    found = []
    for one in failed_checks(list_of(trials, people, groupings=groupings)):
        row = {name: getattr(one, name) for name in _TOLD}
        if row["statistic"] == float("inf"):
            row["statistic"] = "inf"
        found.append(row)
    return found
