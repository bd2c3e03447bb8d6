"""What every system of an audit is measured by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.draws import Draws
    from parivox.auditing.estimates import Metrics
    from parivox.auditing.options import Options
    from parivox.read.grouping import Grouping


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """What every system is audited by.

    Attributes
    ----------
    groupings
        Groups of speakers.
    options
        What to measure.
    metrics
        The user's own metrics by name.
    within
        Groupings within whose levels all is measured again, at the same thresholds.
    strata
        What rates are standardised over.
    draws
        The speakers drawn for replicates; None for no replicates.
    """

    groupings: Sequence[Grouping]
    options: Options
    metrics: Metrics
    within: Sequence[Grouping] = ()
    strata: Sequence[Grouping] = ()
    draws: Draws | None = None
