"""bt4vt's numbers beside the exact ones (``--compat bt4vt``): rows of definition "bt4vt"."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from parivox.auditing.schema import BaseValue
from parivox.core.bt4vt import (
    LocatedValue,
    bt4vt_cdet_at,
    bt4vt_eer,
    bt4vt_eer_ratio,
    bt4vt_min_cdet,
    bt4vt_rates_at,
)
from parivox.core.costs import cdet, min_cdet
from parivox.core.eer import eer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.core.counts import Counts

DIFFERENCES = (
    "bt4vt 1.0.1 cuts each group's curve, reads rates and costs at the nearest threshold left on "
    "it, takes the larger rate where both are nearest for the EER, allocates by enrolment speaker "
    "and compares with all trials"
)
POINT = "min-cdet"


def compat_metrics(counts: Counts, everything: Counts, options: Options) -> dict[Key, BaseValue]:
    """EER, raw costs and rates of one cell by bt4vt's rules, as fractions.

    Where the exact value is another one, the reason says it. The operating point is bt4vt's: its
    minimum of each cost over all trials, ``min-cdet`` for the first cost and ``min-cdet:NAME`` for
    the others. The cell's own minimum of each cost has none.
    """
    target, nontarget = int(counts.n_target), int(counts.n_nontarget)
    rows: dict[Key, BaseValue] = {}

    def add(key: Key, found: LocatedValue, exact: float, n: int) -> None:
        value = float(found.value)
        reason = "" if value == exact else f"exact: {exact:.9g}"
        if math.isnan(value):
            reason = "bt4vt needs trials of both classes"
        rows[key] = BaseValue(value, None, n, float(found.threshold), reason)

    trials = target + nontarget
    exact = float(eer(counts)) if target and nontarget else math.nan
    add(("eer", "bt4vt", ""), bt4vt_eer(counts), exact, trials)
    for i, cost in enumerate(options.costs):
        if len(cost.p_target) > 1:
            continue  # bt4vt averages no priors
        at_cost = f"{cost.name} bt4vt", POINT if i == 0 else f"{POINT}:{cost.name}"
        threshold = bt4vt_min_cdet(everything, cost=cost).threshold
        at = counts.at([threshold])
        raw = bt4vt_cdet_at(counts, threshold, cost=cost)
        least = float(min_cdet(counts, cost=cost, normalised=False).value)
        own = bt4vt_min_cdet(counts, cost=cost)
        add(("min_cdet_raw", at_cost[0], ""), own, least, trials)
        add(("cdet_raw", *at_cost), raw, float(cdet(at, cost, normalised=False)[0]), trials)
        fpr, fnr, nearest = bt4vt_rates_at(counts, threshold)
        add(("fpr", *at_cost), LocatedValue(fpr, nearest), float(at.fpr[0]), nontarget)
        add(("fnr", *at_cost), LocatedValue(fnr, nearest), float(at.fnr[0]), target)
    return rows


def add_compat_ratios(
    rows: TableBuilder,
    where: Mapping[str, Any],
    groups: Sequence[str],
    own: Sequence[Mapping[Key, BaseValue]],
    references: Mapping[str, Mapping[Key, BaseValue]],
) -> None:
    """bt4vt's ratios of groups to all trials, and to groups that are named as references."""
    for (group, bases), (reference, others) in product(
        zip(groups, own, strict=True), references.items()
    ):
        for (metric, definition, point), base in bases.items():
            average = others[metric, definition, point].value
            value, reason = math.nan, base.reason if math.isnan(base.value) else ""
            if not reason and average > 0:
                is_eer = metric == "eer"
                value = bt4vt_eer_ratio(base.value, average) if is_eer else base.value / average
            elif not reason:
                reason = "zero_reference"
            rows.add(
                **where,
                group=group,
                metric=metric,
                definition=definition,
                operating_point=point,
                measure="ratio",
                reference=reference,
                zero="none",
                value=value,
                reason=reason,
            )
