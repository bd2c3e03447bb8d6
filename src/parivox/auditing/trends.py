"""Numbers of speakers beside their bands: whether errors rise or fall with age."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.confounding import trend
from parivox.core.measures import RATES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import FloatArray
    from parivox.read.grouping import Grouping

TREND = "trend"
_WHY = {
    "few_speakers": "too few speakers",
    "one_value": "all speakers have one number",
    "no_errors": "no errors",
    "all_errors": "nothing but errors",
    "separated": "errors lie all above, or all below, some number",
    "few_apart": "no interval: the slope hangs on one or two speakers",
}


def trend_rows(
    rows: Rows,
    where: Mapping[str, Any],
    grouping: Grouping,
    found: Sequence[Found],
    uncertainty: Uncertainty,
    options: Options,
) -> None:
    """Log odds of an error per unit of the number that a grouping's bands are made of.

    The unit is the power of ten that fits into the range of the numbers: ten years of age. The
    group is then the attribute itself, and the definition the unit.
    """
    if grouping.numbers is None:
        return
    numbers, name = grouping.numbers, grouping.attributes[0].rpartition(":")[0]
    unit = _unit(numbers[np.unique(uncertainty.pooled.target.speaker)])
    for metric in RATES:
        tally = uncertainty.pooled.target if metric == "fnr" else uncertainty.pooled.nontarget
        for i, one in enumerate(found):
            own = tally.at_point(i)
            made = trend(own, numbers / unit, options.confidence)
            reason = one.reason or _WHY.get(str(made.reason[0]), str(made.reason[0]))
            values = made.slope, made.low, made.high, made.p
            slope, low, high, p = (None if one.reason else float(value[0]) for value in values)
            rows.add(
                **where,
                group=name,
                metric=metric,
                definition=f"per {unit:g}",
                operating_point=one.point.text,
                measure=TREND,
                zero="none",
                value=slope,
                reason=reason,
                low=low,
                high=high,
                p=p,
            )


def _unit(numbers: FloatArray) -> float:
    """The power of ten that fits into the range of most numbers."""
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        return 1.0
    low, high = np.quantile(known, [0.05, 0.95])
    return float(10.0 ** np.floor(np.log10(high - low))) if high > low else 1.0
