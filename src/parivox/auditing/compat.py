"""bt4vt's numbers beside the exact ones (``--compat bt4vt``): rows of definition "bt4vt"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parivox.auditing.base import Base
from parivox.core.compat import (
    bt4vt_cdet_at,
    bt4vt_eer,
    bt4vt_eer_ratio,
    bt4vt_min_cdet,
    bt4vt_rates_at,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from parivox.auditing.base import Key
    from parivox.auditing.cells import Cells
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.core.counts import Counts

__all__ = ["TOLD", "compat_metrics", "compat_ratios"]

TOLD = (
    "bt4vt 1.0.1 cuts each group's curve, reads its rates at the nearest threshold of that curve, "
    "allocates by enrolment speaker and compares with all trials"
)
POINT = "min-cdet"


def compat_metrics(counts: Counts, everything: Counts, options: Options) -> dict[Key, Base]:
    """EER, raw costs and rates of one cell by bt4vt's rules, as fractions.

    The operating point is bt4vt's: its minimum of each cost over all trials, named
    ``min-cdet`` for the first cost and ``min-cdet:NAME`` for the others.
    """
    target, nontarget = int(counts.n_target), int(counts.n_nontarget)
    trials = target + nontarget
    rows: dict[Key, Base] = {}

    def add(metric: str, definition: str, point: str, value: float, n: int, t: float) -> None:
        reason = "bt4vt needs trials of both classes" if math.isnan(value) else ""
        rows[metric, f"{definition} bt4vt".strip(), point] = Base(float(value), None, n, t, reason)

    eer = bt4vt_eer(counts)
    add("eer", "", "", eer.value, trials, eer.threshold)
    for i, cost in enumerate(options.costs):
        if len(cost.p_target) > 1:
            continue  # bt4vt averages no priors
        point = POINT if i == 0 else f"{POINT}:{cost.name}"
        threshold = bt4vt_min_cdet(everything, cost=cost).threshold
        cdet = bt4vt_cdet_at(counts, threshold, cost=cost)
        add("cdet_raw", cost.name, point, cdet.value, trials, cdet.threshold)
        rates = bt4vt_rates_at(counts, threshold)
        add("fpr", cost.name, point, rates.fpr, nontarget, rates.threshold)
        add("fnr", cost.name, point, rates.fnr, target, rates.threshold)
    return rows


def compat_ratios(
    rows: Rows,
    where: Mapping[str, Any],
    cells: Cells,
    own: Sequence[Mapping[Key, Base]],
    everything: Mapping[Key, Base],
) -> None:
    """bt4vt's ratios of groups to all trials."""
    for group, bases in zip(cells.grouping.groups, own, strict=True):
        for (metric, definition, point), base in bases.items():
            average = everything[metric, definition, point].value
            value, reason = math.nan, base.reason
            if not reason and average > 0:
                value = (
                    bt4vt_eer_ratio(base.value, average)
                    if metric == "eer"
                    else base.value / average
                )
            elif not reason:
                reason = "zero_reference"
            rows.add(
                **where,
                group=group,
                metric=metric,
                definition=definition,
                operating_point=point,
                measure="ratio",
                reference="all",
                zero="none",
                value=value,
                reason=reason,
            )
